//! What a kind of processor can do, and what is computed on it.

/// What a kind of processor does with numbers side by side. Its values exist only on processors of the
/// kind.
pub(crate) trait Processor: Copy {
    /// Numbers side by side.
    type Lanes: Copy;
    /// How many.
    const LANES: usize;
    /// Rows whose sums fit in the registers, with four lanes each.
    const ROWS: usize;

    /// The same number in all lanes.
    fn all(self, value: f32) -> Self::Lanes;
    /// The first numbers of a slice; zero beyond its end.
    fn load(self, from: &[f32]) -> Self::Lanes;
    /// To the beginning of a slice, as far as it goes.
    fn store(self, to: &mut [f32], lanes: Self::Lanes);
    /// `a + b`.
    fn add(self, a: Self::Lanes, b: Self::Lanes) -> Self::Lanes;
    /// `a - b`.
    fn sub(self, a: Self::Lanes, b: Self::Lanes) -> Self::Lanes;
    /// `a · b`.
    fn mul(self, a: Self::Lanes, b: Self::Lanes) -> Self::Lanes;
    /// `a / b`.
    fn div(self, a: Self::Lanes, b: Self::Lanes) -> Self::Lanes;
    /// `a · b + c`.
    fn mul_add(self, a: Self::Lanes, b: Self::Lanes, c: Self::Lanes) -> Self::Lanes;
    /// `c - a · b`.
    fn take(self, a: Self::Lanes, b: Self::Lanes, c: Self::Lanes) -> Self::Lanes;
    /// The lesser of each two; `b` where one is not a number.
    fn min(self, a: Self::Lanes, b: Self::Lanes) -> Self::Lanes;
    /// The greater of each two; `b` where one is not a number.
    fn max(self, a: Self::Lanes, b: Self::Lanes) -> Self::Lanes;
    /// The square root.
    fn sqrt(self, a: Self::Lanes) -> Self::Lanes;
    /// The nearest whole number.
    fn round(self, a: Self::Lanes) -> Self::Lanes;
    /// 2 to the power of a whole number from -126 to 127; 0 for -127.
    fn power(self, whole: Self::Lanes) -> Self::Lanes;
}

/// Something to compute on any kind of processor.
pub(crate) trait Job {
    /// What it gives.
    type Output;

    /// Computes it.
    fn run<P: Processor>(self, p: P) -> Self::Output;
}
