//! The natural logarithm, the same to the last bit on every machine.

/// ln x for a positive, normal x.
///
/// It is computed here, from additions, multiplications and one division, because that of a
/// system's library may differ in the last bit from machine to machine. It is right to 10⁻⁹.
pub(crate) fn ln(x: f64) -> f64 {
    const FRACTION: u64 = (1 << 52) - 1;
    let bits = x.to_bits();
    // x = mantissa · 2^exponent with the mantissa near 1.
    let mut exponent = f64::from((bits >> 52) as u32) - 1023.0;
    let mut mantissa = f64::from_bits(bits & FRACTION | 1.0_f64.to_bits());
    if mantissa > std::f64::consts::SQRT_2 {
        mantissa *= 0.5;
        exponent += 1.0;
    }
    // ln m = 2 artanh((m − 1) / (m + 1))
    let z = (mantissa - 1.0) / (mantissa + 1.0);
    let square = z * z;
    let series = 1.0 / 7.0 + square * (1.0 / 9.0 + square * (1.0 / 11.0));
    let series = 1.0 + square * (1.0 / 3.0 + square * (1.0 / 5.0 + square * series));
    exponent * std::f64::consts::LN_2 + 2.0 * z * series
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_logarithm_is_right() {
        for x in (1..2_000_000).map(|i| f64::from(i) * 0.731).chain([0.5, 1.0, 4_294_967_295.0]) {
            assert!((ln(x) - x.ln()).abs() < 1e-9, "{x}");
        }
    }
}
