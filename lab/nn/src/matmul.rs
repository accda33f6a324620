//! Matrix products of slices.

use gemm::{Parallelism, gemm};

/// A matrix in row-major order, perhaps read as its transpose.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matrix<'a> {
    values: &'a [f32],
    rows: usize,
    columns: usize,
    transposed: bool,
}

impl<'a> Matrix<'a> {
    /// So many rows, each of so many columns.
    pub(crate) fn new(values: &'a [f32], rows: usize, columns: usize) -> Self {
        // Checked, since the product trusts it: a size that wraps around is no size.
        let size = rows.checked_mul(columns);
        assert_eq!(size, Some(values.len()), "a matrix of {rows} by {columns}");
        Self { values, rows, columns, transposed: false }
    }

    /// The same values read the other way.
    pub(crate) fn transposed(self) -> Self {
        let Self { values, rows, columns, transposed } = self;
        Self { values, rows: columns, columns: rows, transposed: !transposed }
    }

    /// The distances between columns and between rows.
    fn strides(&self) -> (isize, isize) {
        let (rows, columns) = (self.rows.cast_signed(), self.columns.cast_signed());
        if self.transposed { (rows, 1) } else { (1, columns) }
    }
}

/// `out = keep · out + a · b`, where `out` is only written if `keep` is 0.
pub(crate) fn matmul(out: &mut [f32], a: Matrix, b: Matrix, keep: f32) {
    let (m, k, n) = (a.rows, a.columns, b.columns);
    assert_eq!(k, b.rows, "inner sizes differ");
    assert_eq!(m.checked_mul(n), Some(out.len()), "the product has another size");
    #[cfg(test)]
    crate::work::add(m * n * k);
    let ((a_columns, a_rows), (b_columns, b_rows)) = (a.strides(), b.strides());
    // SAFETY: the strides stay inside the slices, whose sizes `Matrix::new` and the lines above have
    // checked, and nothing else uses `out`.
    #[expect(unsafe_code, reason = "the product takes pointers")]
    unsafe {
        gemm(
            m,
            n,
            k,
            out.as_mut_ptr(),
            1,
            n.cast_signed(),
            keep != 0.0,
            a.values.as_ptr(),
            a_columns,
            a_rows,
            b.values.as_ptr(),
            b_columns,
            b_rows,
            keep,
            1.0,
            false,
            false,
            false,
            Parallelism::Rayon(0),
        );
    }
}

/// Adds all rows to a vector.
pub(crate) fn add_rows(vector: &mut [f32], rows: &[f32]) {
    for row in rows.chunks_exact(vector.len()) {
        for (sum, &value) in vector.iter_mut().zip(row) {
            *sum += value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "a matrix of 4 by")]
    fn a_matrix_is_not_larger_than_its_values() {
        Matrix::new(&[], 4, usize::MAX / 4 + 1);
    }

    #[test]
    #[should_panic(expected = "the product has another size")]
    fn a_product_is_not_larger_than_its_place() {
        let many = usize::MAX / 4 + 1;
        matmul(&mut [], Matrix::new(&[], 4, 0), Matrix::new(&[], 0, many), 0.0);
    }

    #[test]
    fn products_of_no_depth_are_zero() {
        let mut out = [1.0_f32; 6];
        matmul(&mut out, Matrix::new(&[], 2, 0), Matrix::new(&[], 0, 3), 1.0);
        assert!(out.iter().all(|value| value.to_bits() == 1.0_f32.to_bits()));
        matmul(&mut out, Matrix::new(&[], 2, 0), Matrix::new(&[], 0, 3), 0.0);
        assert!(out.iter().all(|&value| value == 0.0));
    }

    #[test]
    fn products_are_those_of_the_definition() {
        let (m, k, n) = (3, 4, 5);
        let a: Vec<f32> = (0..m * k).map(|i| (i as f32).sin()).collect();
        let b: Vec<f32> = (0..k * n).map(|i| (i as f32).cos()).collect();
        let at = |i: usize, j: usize| (0..k).map(|x| a[i * k + x] * b[x * n + j]).sum::<f32>();
        let mut plain = vec![0.0; m * n];
        matmul(&mut plain, Matrix::new(&a, m, k), Matrix::new(&b, k, n), 0.0);
        let turned: Vec<f32> = (0..k * m).map(|i| a[i % m * k + i / m]).collect();
        let mut again = vec![1.0; m * n];
        matmul(&mut again, Matrix::new(&turned, k, m).transposed(), Matrix::new(&b, k, n), 1.0);
        for i in 0..m {
            for j in 0..n {
                assert!((plain[i * n + j] - at(i, j)).abs() < 1e-6);
                assert!((again[i * n + j] - 1.0 - at(i, j)).abs() < 1e-6);
            }
        }
    }
}
