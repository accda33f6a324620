//! Attention.
#![expect(unsafe_code, reason = "kernels are launched on memory whose sizes are checked")]

use super::{
    base::Cuda,
    kernels::{Kernel, arguments},
    memory::CudaBuffer,
    span::Matrix,
};
use crate::{
    check,
    engine::{Attention, EngineError},
};

/// The sizes of a shape.
struct Sizes {
    rows: usize,
    asks: usize,
    answers: usize,
    scale: f32,
}

impl Cuda {
    fn sizes(
        shape: &Attention,
        queries: &CudaBuffer,
        keys: &CudaBuffer,
        values: &CudaBuffer,
    ) -> Result<Sizes, EngineError> {
        let counts = [queries, keys, values].map(CudaBuffer::count);
        check::attention(shape, counts)?;
        let (asking, asked) = (&shape.queries, &shape.keys);
        let scale = 1.0 / (shape.width as f32).sqrt();
        Ok(Sizes { rows: asking.rows(), asks: asking.steps(), answers: asked.steps(), scale })
    }

    pub(super) fn attend_forward(
        &self,
        shape: &Attention,
        queries: &CudaBuffer,
        keys: &CudaBuffer,
        values: &CudaBuffer,
    ) -> Result<(CudaBuffer, CudaBuffer), EngineError> {
        let Sizes { rows, asks, answers, scale } = Self::sizes(shape, queries, keys, values)?;
        let Attention { width, value_width, .. } = *shape;
        let device = &self.device;
        let weights = CudaBuffer::new(device, rows * asks * answers)?;
        let found = CudaBuffer::new(device, asks * rows * value_width)?;
        let of_rows = Matrix::new(weights.at(), answers).every(asks * answers);
        let (asking, asked) = (self.lengths(&shape.queries)?, self.lengths(&shape.keys)?);
        device.product(
            (asks, width, answers),
            column(queries, rows, width),
            column(keys, rows, width).transposed(),
            of_rows,
            0.0,
            rows,
        )?;
        // SAFETY: there are `answers` weights for each of the `asks` of every row, and a length for every row.
        unsafe {
            device.launch(
                Kernel::Attend,
                [(rows * asks).div_ceil(8), 1, 1],
                [256, 1],
                0,
                arguments![rows, asks, answers, asking.at(), asked.at(), scale, weights.at()],
            )
        }?;
        let sizes = (asks, answers, value_width);
        let out = column(&found, rows, value_width);
        device.product(sizes, of_rows, column(values, rows, value_width), out, 0.0, rows)?;
        Ok((found, weights))
    }

    pub(super) fn attend_back(
        &self,
        shape: &Attention,
        queries: &CudaBuffer,
        keys: &CudaBuffer,
        values: &CudaBuffer,
        weights: &CudaBuffer,
        dy: &CudaBuffer,
    ) -> Result<[CudaBuffer; 3], EngineError> {
        let Sizes { rows, asks, answers, scale } = Self::sizes(shape, queries, keys, values)?;
        let Attention { width, value_width, .. } = *shape;
        weights.is(rows * asks * answers, "weights")?;
        dy.is(asks * rows * value_width, "the gradient of attention")?;
        let device = &self.device;
        let scores = CudaBuffer::new(device, weights.count())?;
        let [dq, dk, dv] = [queries, keys, values].map(|of| CudaBuffer::new(device, of.count()));
        let (dq, dk, dv) = (dq?, dk?, dv?);
        let [of_weights, of_scores] =
            [weights, &scores].map(|of| Matrix::new(of.at(), answers).every(asks * answers));
        device.product(
            (answers, asks, value_width),
            of_weights.transposed(),
            column(dy, rows, value_width),
            column(&dv, rows, value_width),
            0.0,
            rows,
        )?;
        device.product(
            (asks, value_width, answers),
            column(dy, rows, value_width),
            column(values, rows, value_width).transposed(),
            of_scores,
            0.0,
            rows,
        )?;
        // SAFETY: there are `answers` weights and scores for each of the `asks` of every row.
        unsafe {
            device.launch(
                Kernel::AttendBackward,
                [(rows * asks).div_ceil(8), 1, 1],
                [256, 1],
                0,
                arguments![rows * asks, answers, weights.at(), scale, scores.at()],
            )
        }?;
        let (out, sizes) = (column(&dq, rows, width), (asks, answers, width));
        device.product(sizes, of_scores, column(keys, rows, width), out, 0.0, rows)?;
        device.product(
            (answers, asks, width),
            of_scores.transposed(),
            column(queries, rows, width),
            column(&dk, rows, width),
            0.0,
            rows,
        )?;
        Ok([dq, dk, dv])
    }
}

/// The steps of each row, one row after another.
fn column(values: &CudaBuffer, rows: usize, width: usize) -> Matrix<'_> {
    Matrix::new(values.at(), rows * width).every(width)
}
