//! The natural logarithm, the same to the last bit on every machine, and rounding to an integer: both
//! without a branch, so that loops over them become vectors. And other arithmetic.

/// ln x for a positive, normal x.
///
/// It is computed here, from additions, multiplications and one division, because that of a
/// system's library may differ in the last bit from machine to machine. It is right to 10⁻⁹.
#[inline(always)]
pub(crate) fn ln(x: f64) -> f64 {
    const FRACTION: u64 = (1 << 52) - 1;
    let bits = x.to_bits();
    // x = mantissa · 2^exponent with the mantissa near 1.
    let exponent = f64::from_bits(bits >> 52 | TWO_52.to_bits()) - TWO_52 - 1023.0;
    let mantissa = f64::from_bits(bits & FRACTION | 1.0_f64.to_bits());
    let above = mantissa > std::f64::consts::SQRT_2;
    let mantissa = if above { mantissa * 0.5 } else { mantissa };
    let exponent = if above { exponent + 1.0 } else { exponent };
    // ln m = 2 artanh((m − 1) / (m + 1))
    let z = (mantissa - 1.0) / (mantissa + 1.0);
    let square = z * z;
    let series = 1.0 / 7.0 + square * (1.0 / 9.0 + square * (1.0 / 11.0));
    let series = 1.0 + square * (1.0 / 3.0 + square * (1.0 / 5.0 + square * series));
    exponent * std::f64::consts::LN_2 + 2.0 * z * series
}

/// 2⁵²: a number of this size has no fraction, and the lowest bits of its form are an integer.
const TWO_52: f64 = 4_503_599_627_370_496.0;

/// `x as u32`, for x from 0 to below 2³².
#[inline(always)]
pub(crate) fn whole(x: f64) -> u32 {
    let moved = x + TWO_52;
    let rounded_up = moved - TWO_52 > x;
    (moved.to_bits() as u32).wrapping_sub(u32::from(rounded_up))
}

/// The shortest text that is read back as the same number.
pub(crate) fn short(value: f64) -> String {
    // Debug writes 1e-9 where Display writes 0.000000001.
    let text = format!("{value:?}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// A number rounded to so many digits after the first.
pub(crate) fn digits(value: f64, more: usize) -> f64 {
    format!("{value:.more$e}").parse().unwrap_or(value)
}

/// One of `count` places among `among`, evenly spaced. The products take 64 bits, which a `usize` may not have.
pub(crate) fn evenly(at: usize, count: usize, among: usize) -> usize {
    ((2 * at as u64 + 1) * among as u64 / (2 * count as u64)) as usize
}

/// The largest number up to `most` that `fits`, where all below it fit too; 0 if none does.
pub(crate) fn largest(most: u32, fits: impl Fn(u32) -> bool) -> u32 {
    let (mut low, mut high) = (0, most);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if fits(middle) { low = middle } else { high = middle - 1 }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_cut_off_as_by_a_cast() {
        let ends = [0.0, 0.49, 0.5, 0.51, 1.0, 1.5, 2.5, 4_294_967_295.0, 4_294_967_295.999_999];
        for x in (0..2_000_000).map(|i| f64::from(i) * 2_147.483_1).chain(ends) {
            assert_eq!(whole(x), x as u32, "{x}");
            assert_eq!(whole(x.next_down().max(0.0)), x.next_down() as u32, "{x}");
        }
    }

    #[test]
    fn places_are_evenly_spaced() {
        assert_eq!([0, 1, 2].map(|at| evenly(at, 3, 12)), [2, 6, 10]);
        // The same where a `usize` has 32 bits.
        assert_eq!(evenly(16_383, 16_384, 1 << 31), (1 << 31) - (1 << 16));
    }

    #[test]
    fn the_logarithm_is_right() {
        for x in (1..2_000_000).map(|i| f64::from(i) * 0.731).chain([0.5, 1.0, 4_294_967_295.0]) {
            assert!((ln(x) - x.ln()).abs() < 1e-9, "{x}");
        }
    }
}
