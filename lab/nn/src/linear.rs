//! A linear layer.

use crate::{
    batch::Frame,
    buffer::Buffer,
    matmul::{Matrix, add_rows, matmul},
    packed::Packing,
};

/// A linear layer: `y = x · weight + bias`.
///
/// Its parameters are a slice that the caller owns: the weight, `inputs` rows of `outputs` columns, then
/// the bias.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Linear {
    /// The width of what comes in.
    pub inputs: usize,
    /// The width of what goes out.
    pub outputs: usize,
}

impl Linear {
    /// How many parameters it has.
    pub fn parameters(&self) -> usize {
        (self.inputs + 1) * self.outputs
    }

    /// The output for all rows of the input.
    ///
    /// # Panics
    ///
    /// When a slice has another size.
    pub fn forward(&self, parameters: &[f32], x: &[f32]) -> Buffer {
        let mut y = Buffer::any(x.len() / self.inputs * self.outputs);
        self.write(parameters, x, &mut y);
        y
    }

    /// The output for every place of a batch; zero where there is padding, for which nothing is computed.
    ///
    /// # Panics
    ///
    /// When a slice has another size.
    pub fn forward_batch(&self, parameters: &[f32], frame: &Frame, x: &[f32]) -> Buffer {
        let packing = Packing::new(frame);
        let x = packing.pack(x, self.inputs);
        packing.spread_from(self.outputs, |y| self.write(parameters, &x, y))
    }

    fn write(&self, parameters: &[f32], x: &[f32], y: &mut [f32]) {
        assert_eq!(parameters.len(), self.parameters(), "parameters of another layer");
        let (weight, bias) = parameters.split_at(self.inputs * self.outputs);
        let rows = x.len() / self.inputs;
        for row in y.chunks_exact_mut(self.outputs) {
            row.copy_from_slice(bias);
        }
        let weight = Matrix::new(weight, self.inputs, self.outputs);
        matmul(y, Matrix::new(x, rows, self.inputs), weight, 1.0);
    }

    /// Adds the gradient of the parameters to `gradient`, and gives that of the input.
    ///
    /// # Panics
    ///
    /// When a slice has another size.
    pub fn backward(
        &self,
        parameters: &[f32],
        gradient: &mut [f32],
        x: &[f32],
        dy: &[f32],
    ) -> Buffer {
        let mut dx = Buffer::any(x.len());
        self.write_backward(parameters, gradient, x, dy, &mut dx);
        dx
    }

    /// The way back of [`forward_batch`](Linear::forward_batch). Gradients where there is padding are not
    /// looked at.
    ///
    /// # Panics
    ///
    /// When a slice has another size.
    pub fn backward_batch(
        &self,
        parameters: &[f32],
        gradient: &mut [f32],
        frame: &Frame,
        x: &[f32],
        dy: &[f32],
    ) -> Buffer {
        let packing = Packing::new(frame);
        let (x, dy) = (packing.pack(x, self.inputs), packing.pack(dy, self.outputs));
        packing.spread_from(self.inputs, |dx| {
            self.write_backward(parameters, gradient, &x, &dy, dx);
        })
    }

    fn write_backward(
        &self,
        parameters: &[f32],
        gradient: &mut [f32],
        x: &[f32],
        dy: &[f32],
        dx: &mut [f32],
    ) {
        let Self { inputs, outputs } = *self;
        assert_eq!(parameters.len(), self.parameters(), "parameters of another layer");
        assert_eq!(gradient.len(), parameters.len(), "gradients of another layer");
        let (weight, _) = parameters.split_at(inputs * outputs);
        let (dweight, dbias) = gradient.split_at_mut(inputs * outputs);
        let rows = x.len() / inputs;
        let dy_of_rows = Matrix::new(dy, rows, outputs);
        matmul(dweight, Matrix::new(x, rows, inputs).transposed(), dy_of_rows, 1.0);
        add_rows(dbias, dy);
        matmul(dx, dy_of_rows, Matrix::new(weight, inputs, outputs).transposed(), 0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "gradients of another layer")]
    fn gradients_of_another_layer_are_refused() {
        let layer = Linear { inputs: 2, outputs: 3 };
        let parameters = vec![0.0; layer.parameters()];
        layer.backward(&parameters, &mut [0.0; 12], &[0.0; 2], &[0.0; 3]);
    }
}
