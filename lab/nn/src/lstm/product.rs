//! The product of a few rows and a panel of weights, whose sums stay in registers.
#![expect(clippy::inline_always, reason = "compiled again for each kind of processor")]

use crate::simd::Processor;

/// The sums of a row.
pub(super) type Sums<P> = [<P as Processor>::Lanes; 4];

/// `sums[row] + rows[row] · panel`, where each row is `width` after the one before.
#[inline(always)]
pub(super) fn product<P: Processor, const N: usize>(
    p: P,
    mut sums: [Sums<P>; N],
    rows: &[f32],
    width: usize,
    panel: &[f32],
) -> [Sums<P>; N] {
    let depth = panel.len() / (4 * P::LANES);
    #[cfg(test)]
    crate::work::add(N * panel.len());
    let mut of = [&rows[..depth]; N];
    for (row, of) in of.iter_mut().enumerate() {
        *of = &rows[row * width..][..depth];
    }
    for (at, weights) in panel.chunks_exact(4 * P::LANES).enumerate() {
        let mut parts = [p.all(0.0); 4];
        for (part, weights) in parts.iter_mut().zip(weights.chunks_exact(P::LANES)) {
            *part = p.load(weights);
        }
        for row in 0..N {
            let value = p.all(of[row][at]);
            for part in 0..4 {
                sums[row][part] = p.mul_add(value, parts[part], sums[row][part]);
            }
        }
    }
    sums
}

/// Calls a function for blocks of rows, of the most rows whose sums fit in the registers and then of
/// what is left: `blocks!(P, rows, row => function::<P, N>(arguments))`.
macro_rules! blocks {
    ($p:ty, $rows:expr, $row:ident => $function:ident($($argument:expr),* $(,)?)) => {
        // Other blocks would be taken for blocks of one row.
        const { assert!(<$p>::ROWS == 3 || <$p>::ROWS == 6) };
        let mut $row = 0;
        while $row < $rows {
            let block = <$p>::ROWS.min($rows - $row);
            match block {
                // A processor without so many registers has no such blocks.
                6 if <$p>::ROWS >= 6 => $function::<$p, 6>($($argument),*),
                5 if <$p>::ROWS >= 6 => $function::<$p, 5>($($argument),*),
                4 if <$p>::ROWS >= 6 => $function::<$p, 4>($($argument),*),
                3 => $function::<$p, 3>($($argument),*),
                2 => $function::<$p, 2>($($argument),*),
                _ => $function::<$p, 1>($($argument),*),
            }
            $row += block;
        }
    };
}
pub(super) use blocks;
