//! Parts of the device's memory, and matrices in them, which know their size.

use std::marker::PhantomData;

/// Numbers of four bytes in the device's memory, borrowed from what owns them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span<'a> {
    address: u64,
    count: usize,
    owner: PhantomData<&'a ()>,
}

impl Span<'_> {
    /// So many numbers at an address.
    ///
    /// # Safety
    ///
    /// They must be there for as long as the lifetime says.
    #[expect(unsafe_code, reason = "only the owner of the memory can say how long it is there")]
    pub(super) unsafe fn new(address: u64, count: usize) -> Self {
        Self { address, count, owner: PhantomData }
    }

    /// Where it begins.
    pub(super) fn address(self) -> u64 {
        self.address
    }

    /// How many numbers it has.
    pub(super) fn count(self) -> usize {
        self.count
    }

    /// All but the first so many numbers.
    ///
    /// # Panics
    ///
    /// When there are fewer.
    pub(super) fn skip(self, numbers: usize) -> Self {
        assert!(numbers <= self.count, "{numbers} numbers of {}", self.count);
        Self { address: self.address + 4 * numbers as u64, count: self.count - numbers, ..self }
    }

    /// The first so many numbers.
    ///
    /// # Panics
    ///
    /// When there are fewer.
    pub(super) fn first(self, numbers: usize) -> Self {
        assert!(numbers <= self.count, "{numbers} numbers of {}", self.count);
        Self { count: numbers, ..self }
    }

    /// Whether it holds so many rows of this width, which begin so many numbers apart.
    pub(super) fn holds_rows(self, rows: usize, width: usize, apart: usize) -> bool {
        rows == 0 || (rows - 1) * apart + width <= self.count
    }
}

/// Matrices in row-major order, one after another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Matrix<'a> {
    /// Where the first begins.
    pub(super) at: Span<'a>,
    /// The numbers between the beginnings of two rows.
    pub(super) apart: usize,
    /// Whether it is read the other way.
    pub(super) transposed: bool,
    /// The numbers between the beginnings of two matrices.
    pub(super) stride: usize,
}

impl<'a> Matrix<'a> {
    /// One matrix whose rows are so many numbers apart.
    pub(super) fn new(at: Span<'a>, apart: usize) -> Self {
        Self { at, apart, transposed: false, stride: 0 }
    }

    /// The same numbers read the other way.
    pub(super) fn transposed(self) -> Self {
        Self { transposed: !self.transposed, ..self }
    }

    /// Several matrices, so many numbers apart.
    pub(super) fn every(self, stride: usize) -> Self {
        Self { stride, ..self }
    }

    /// The same so many numbers further.
    pub(super) fn skip(self, numbers: usize) -> Self {
        Self { at: self.at.skip(numbers), ..self }
    }

    /// Whether there are so many matrices of so many rows and columns, as they are read.
    pub(super) fn holds(&self, rows: usize, columns: usize, count: usize) -> bool {
        let (rows, columns) = if self.transposed { (columns, rows) } else { (rows, columns) };
        if rows * columns * count == 0 {
            return true;
        }
        (count - 1) * self.stride + (rows - 1) * self.apart + columns <= self.at.count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(unsafe_code, reason = "nothing is read or written there")]
    fn span(count: usize) -> Span<'static> {
        // SAFETY: nothing is read or written there.
        unsafe { Span::new(1024, count) }
    }

    #[test]
    fn what_is_left_is_counted() {
        let rest = span(10).skip(3);
        assert_eq!((rest.address(), rest.count()), (1036, 7));
        assert_eq!(span(10).skip(10).count(), 0);
        let first = span(10).first(3);
        assert_eq!((first.address(), first.count()), (1024, 3));
        assert!(span(11).holds_rows(3, 3, 4) && !span(10).holds_rows(3, 3, 4));
        assert!(span(0).holds_rows(0, 3, 4));
    }

    #[test]
    #[should_panic(expected = "11 numbers of 10")]
    fn there_is_nothing_beyond_the_end() {
        _ = span(10).skip(11);
    }

    #[test]
    fn matrices_are_within_their_memory() {
        // Two matrices of three rows and two columns, side by side.
        let both = Matrix::new(span(12), 4).every(2);
        assert!(both.holds(3, 2, 2) && both.transposed().holds(2, 3, 2));
        assert!(!both.holds(4, 2, 2) && !both.holds(3, 2, 3) && !both.holds(2, 3, 2).eq(&false));
        assert!(!both.skip(1).holds(3, 2, 2) && both.skip(12).holds(0, 2, 2));
    }
}
