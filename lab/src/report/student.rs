//! What a few seeds can show: Student's t distribution, intervals of means, and differences of them.

/// The mean of some values, and how far the true one may be from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Mean {
    pub(super) mean: f64,
    /// Half the width of the 95 % confidence interval; one value alone has none.
    pub(super) half_width: Option<f64>,
}

impl Mean {
    /// `None` of no values.
    pub(super) fn of(values: &[f64]) -> Option<Self> {
        let mean = mean(values)?;
        let half_width = (values.len() > 1 && mean.is_finite()).then(|| {
            let count = values.len() as f64;
            quantile(0.975, count - 1.0) * (variance(values, mean) / count).sqrt()
        });
        Some(Self { mean, half_width })
    }
}

/// Whether the means of two samples differ by more than chance explains: by Welch's test at 5 %,
/// divided by the number of pairs of rows that these two could have been picked from (Bonferroni).
/// Fewer than two values on a side show nothing.
pub(super) fn differ(one: &[f64], other: &[f64], pairs: usize) -> bool {
    let (Some(mean_1), Some(mean_2)) = (mean(one), mean(other)) else { return false };
    let gap = (mean_1 - mean_2).abs();
    if one.len() < 2 || other.len() < 2 || !gap.is_finite() {
        return false;
    }
    let part = |values: &[f64], mean: f64| variance(values, mean) / values.len() as f64;
    let (part_1, part_2) = (part(one, mean_1), part(other, mean_2));
    let whole = part_1 + part_2;
    if whole <= 0.0 {
        return gap > 0.0;
    }
    let freedom = whole * whole
        / (part_1 * part_1 / (one.len() - 1) as f64 + part_2 * part_2 / (other.len() - 1) as f64);
    gap > quantile(1.0 - 0.025 / pairs.max(1) as f64, freedom) * whole.sqrt()
}

/// `None` of no values.
pub(super) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The middle one, or the mean of the two in the middle; `None` of no values.
pub(super) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    let even = values.len().is_multiple_of(2);
    Some(if even { f64::midpoint(values[values.len() / 2 - 1], upper) } else { upper })
}

/// The unbiased variance of at least two values around their mean.
fn variance(values: &[f64], mean: f64) -> f64 {
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64
}

/// The value that a t-distributed number stays below with this probability, from one half on.
fn quantile(probability: f64, freedom: f64) -> f64 {
    let tail = 1.0 - probability;
    let (mut low, mut high) = (0.0, 1.0);
    while upper_tail(high, freedom) > tail && high < 1e12 {
        high *= 2.0;
    }
    // As many halvings as a number has bits, and some.
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if upper_tail(middle, freedom) > tail { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// How probable a t-distributed number above this one is, which is not negative.
fn upper_tail(t: f64, freedom: f64) -> f64 {
    0.5 * incomplete_beta(freedom / (freedom + t * t), 0.5 * freedom, 0.5)
}

/// The regularised incomplete beta function, by its continued fraction (DLMF 8.17.22).
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    // The fraction converges fast on this side only.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(1.0 - x, b, a);
    }
    let front = ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p();
    // The method of Lentz: numerators over denominators, none of which may be zero.
    let safe = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    let (mut numerator, mut denominator) = (1.0, 1.0 / safe(1.0 - (a + b) * x / (a + 1.0)));
    let mut fraction = denominator;
    for step in 1..1000 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let before = fraction;
        for term in [even, odd] {
            denominator = 1.0 / safe(1.0 + term * denominator);
            numerator = safe(1.0 + term / numerator);
            fraction *= numerator * denominator;
        }
        if (fraction - before).abs() < 1e-15 * fraction.abs() {
            break;
        }
    }
    front.exp() * fraction / a
}

/// The logarithm of the gamma function of a number above zero: raised to where Stirling's series has
/// all digits after five terms.
fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut lowered) = (x, 0.0);
    while x < 12.0 {
        lowered += x.ln();
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    let series =
        1.0 / 12.0 - y * (1.0 / 360.0 - y * (1.0 / 1260.0 - y * (1.0 / 1680.0 - y / 1188.0)));
    (x - 0.5) * x.ln() - x + 0.5 * std::f64::consts::TAU.ln() + series / x - lowered
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tables of Student's distribution, to the digits they print.
    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (probability, freedom, expected) in [
            (0.975, 1.0, 12.7062),
            (0.975, 2.0, 4.3027),
            (0.975, 3.0, 3.1824),
            (0.975, 4.0, 2.7764),
            (0.975, 9.0, 2.2622),
            (0.975, 30.0, 2.0423),
            (0.975, 120.0, 1.9799),
            (0.995, 1.0, 63.6567),
            (0.995, 4.0, 4.6041),
            (0.9995, 2.0, 31.5991),
            (0.9995, 10.0, 4.5869),
            (0.95, 5.0, 2.0150),
            // The normal distribution in the end.
            (0.975, 1e7, 1.9600),
        ] {
            let found = quantile(probability, freedom);
            assert!((found - expected).abs() < 6e-5, "{probability}, {freedom}: {found}");
        }
        // With one degree of freedom the quantile is a tangent, with two a root.
        let exact = (std::f64::consts::PI * (0.999 - 0.5)).tan();
        assert!((quantile(0.999, 1.0) / exact - 1.0).abs() < 1e-11);
        let exact = |p: f64| (2.0 * p - 1.0) / (2.0 * p * (1.0 - p)).sqrt();
        assert!((quantile(0.9, 2.0) / exact(0.9) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_gamma_function_is_a_factorial() {
        for (x, factorial) in
            [(1.0, 1.0_f64), (2.0, 1.0), (6.0, 120.0), (21.0, 2.432_902_008_176_64e18)]
        {
            assert!((ln_gamma(x) - factorial.ln()).abs() < 1e-12, "{x}");
        }
        assert!((ln_gamma(0.5) - 0.5 * std::f64::consts::PI.ln()).abs() < 1e-13);
    }

    #[test]
    fn an_interval_is_wide_with_few_values() {
        let of = |values: &[f64]| Mean::of(values).unwrap();
        assert_eq!(of(&[3.0]), Mean { mean: 3.0, half_width: None });
        assert_eq!(Mean::of(&[]), None);
        // 4.3027 times a standard deviation of 1 over the root of 3.
        let three = of(&[1.0, 2.0, 3.0]);
        assert!((three.half_width.unwrap() - 2.4841).abs() < 1e-4);
        assert!((of(&[1.0, 2.0]).half_width.unwrap() - 12.7062 * 0.5).abs() < 1e-4);
        assert_eq!(of(&[2.0, 2.0]).half_width, Some(0.0));
        assert_eq!(of(&[2.0, f64::INFINITY]).half_width, None);
    }

    #[test]
    fn only_differences_beyond_chance_are_differences() {
        let (low, high) = ([1.0, 1.1, 0.9], [2.0, 2.1, 1.9]);
        assert!(differ(&low, &high, 1) && differ(&high, &low, 1));
        // What one pair shows, the best of very many pairs may show by chance.
        assert!(!differ(&low, &high, 1000));
        assert!(!differ(&low, &[1.1, 1.2, 1.0], 1));
        assert!(!differ(&[1.0], &high, 1) && !differ(&[], &high, 1));
        assert!(differ(&[1.0, 1.0], &[2.0, 2.0], 1) && !differ(&[1.0, 1.0], &[1.0, 1.0], 1));
        assert!(!differ(&[f64::NAN, 1.0], &high, 1));
        // Of unequal spread: t is 2.83 with 3.7 degrees of freedom and must be 2.88; then it is 4.29.
        assert!(!differ(&[1.0, 2.0, 3.0, 4.0], &[4.0, 4.5, 5.0, 4.2], 1));
        assert!(differ(&[1.0, 2.0, 3.0, 4.0], &[5.0, 5.5, 6.0, 5.2], 1));
    }

    #[test]
    fn a_median_is_in_the_middle() {
        assert_eq!(median(vec![]), None);
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }
}
