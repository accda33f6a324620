//! What a few seeds can show: Student's t distribution, intervals of means, differences of pairs, and the
//! smallest difference that could be found.

use super::compare::Untested;

/// Up to which share of their mean differences vary by rounding alone. Of error rates of a million symbols, equal
/// differences vary less than that.
const ROUNDING: f64 = 1e-9;

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

/// Differences of pairs, such as of two runs from the same seed: their mean, and whether it may be chance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Paired {
    pub(super) count: usize,
    pub(super) mean: f64,
    /// The standard error of the mean.
    pub(super) error: f64,
    /// Half the width of the 95 % confidence interval.
    pub(super) half_width: f64,
    /// How probable a mean at least this far from zero is where there is no difference: the paired t-test,
    /// two-sided.
    pub(super) p: f64,
}

impl Paired {
    /// Fewer than two differences show nothing, nor do some that are no numbers. Where all are the same, it is not
    /// known how much others would vary.
    pub(super) fn of(differences: &[f64]) -> Result<Self, Untested> {
        let count = differences.len();
        let mean = mean(differences).filter(|_| count > 1).ok_or(Untested::Seeds(count))?;
        let freedom = (count - 1) as f64;
        let error = (variance(differences, mean) / count as f64).sqrt();
        if !(mean.is_finite() && error.is_finite()) {
            return Err(Untested::NoNumbers);
        }
        if mean != 0.0 && error <= ROUNDING * mean.abs() {
            return Err(Untested::NoSpread);
        }
        // Where nothing differs, nothing is found.
        let p = if error > 0.0 { 2.0 * upper_tail(mean.abs() / error, freedom) } else { 1.0 };
        Ok(Self { count, mean, error, half_width: quantile(0.975, freedom) * error, p })
    }
}

/// P-values such that all below 5 % together are wrong with a probability of at most 5 % (Holm 1979): the
/// smallest times their number, the next times one less, and so on, never falling.
pub(super) fn holm(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let (mut corrected, mut least) = (vec![0.0; values.len()], 0.0_f64);
    for (rank, &at) in order.iter().enumerate() {
        least = least.max((values.len() - rank) as f64 * values[at]).min(1.0);
        corrected[at] = least;
    }
    corrected
}

/// How many standard errors a true difference must have for so many pairs to find it with a probability of
/// 80 %, in a two-sided paired t-test at this level. At least two pairs.
pub(super) fn findable(pairs: usize, level: f64) -> f64 {
    let freedom = pairs as f64 - 1.0;
    let bound = quantile(1.0 - 0.5 * level, freedom);
    // Where the true difference is at the bound, about half of all trials find it.
    let (mut low, mut high) = (0.0, 2.0 * bound + 2.0);
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        if power(middle, bound, freedom) < 0.8 { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// How probable it is that a mean is more than `bound` estimated standard errors above zero if it is
/// `shift` true ones above: the tail of the noncentral t distribution, as an integral over the estimate.
fn power(shift: f64, bound: f64, freedom: f64) -> f64 {
    /// Enough for four digits from one degree of freedom on.
    const PARTS: u32 = 1000;
    let normal = |x: f64| 0.5 * libm::erfc(-x / std::f64::consts::SQRT_2);
    let scale = std::f64::consts::LN_2 * (1.0 - 0.5 * freedom) - ln_gamma(0.5 * freedom);
    // The root of a chi-squared number: its density, and where nearly all of it is.
    let density = |root: f64| {
        if root > 0.0 {
            (scale + (freedom - 1.0) * root.ln() - 0.5 * root * root).exp()
        } else if freedom > 1.0 {
            0.0
        } else {
            scale.exp()
        }
    };
    let (from, to) = ((freedom.sqrt() - 7.0).max(0.0), freedom.sqrt() + 7.0);
    let width = (to - from) / f64::from(PARTS);
    let value = |part: u32| {
        let root = from + width * f64::from(part);
        density(root) * normal(shift - bound * root / freedom.sqrt())
    };
    // Simpson's rule.
    let inner: f64 =
        (1..PARTS).map(|part| if part % 2 == 1 { 4.0 } else { 2.0 } * value(part)).sum();
    (value(0) + inner + value(PARTS)) * width / 3.0
}

/// `None` of no values.
pub(super) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The standard deviation; `None` of fewer than two values.
pub(super) fn deviation(values: &[f64]) -> Option<f64> {
    let mean = mean(values)?;
    (values.len() > 1).then(|| variance(values, mean).sqrt())
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

    /// What `SciPy` computes (`ttest_1samp`).
    #[test]
    fn pairs_are_tested_as_elsewhere() {
        let ten = [-0.12, -0.31, -0.05, -0.22, -0.4, -0.18, 0.02, -0.27, -0.09, -0.33];
        for (differences, mean, p, half_width) in [
            (&[1.0, 1.5, -0.5, 2.0, 0.25][..], 0.85, 0.128_353_486_516_9, 1.233_879_194_200),
            (&[0.3, -0.1, 0.2], 0.133_333_333_333, 0.382_786_600_151_6, 0.517_114_501_254),
            (&[1.0, 3.0], 2.0, 0.295_167_235_300_9, 12.706_204_736_175),
            (&ten, -0.195, 0.001_346_563_191_8, 0.096_521_651_085),
        ] {
            let found = Paired::of(differences).unwrap();
            assert_eq!(found.count, differences.len());
            assert!((found.mean - mean).abs() < 1e-11, "{found:?}");
            assert!((found.p - p).abs() < 1e-10, "{found:?}");
            assert!((found.half_width - half_width).abs() < 1e-9, "{found:?}");
        }
        // No pair or one shows nothing, nor does what is no number.
        for nothing in [&[][..], &[1.0]] {
            assert_eq!(Paired::of(nothing), Err(Untested::Seeds(nothing.len())));
        }
        for wrong in [[1.0, f64::NAN], [f64::INFINITY, 1.0], [1e300, -1e300]] {
            assert_eq!(Paired::of(&wrong), Err(Untested::NoNumbers), "{wrong:?}");
        }
    }

    /// Of error rates, which are shares of a few thousand symbols, two seeds can differ by the same number.
    #[test]
    fn pairs_without_spread_are_not_tested() {
        let same = |values: &[f64]| Paired::of(values) == Err(Untested::NoSpread);
        assert!(same(&[0.001_660_21; 2]) && same(&[-0.5; 3]));
        // The same up to rounding.
        assert!(same(&[0.3 - 0.1, 0.7 - 0.5, 0.2]));
        assert!(!same(&[0.2, 0.200_01]));
        let nothing = Paired::of(&[0.0; 3]).unwrap();
        assert_eq!((nothing.p, nothing.half_width), (1.0, 0.0));
    }

    #[test]
    fn many_comparisons_are_corrected() {
        let near = |found: Vec<f64>, expected: &[f64]| {
            assert_eq!(found.len(), expected.len());
            let gap = found.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(gap < 1e-12, "{found:?}");
        };
        near(holm(&[0.01, 0.04, 0.03, 0.005, 0.2]), &[0.04, 0.09, 0.09, 0.025, 0.2]);
        near(holm(&[0.5, 0.6, 0.7]), &[1.0; 3]);
        near(holm(&[0.03]), &[0.03]);
        near(holm(&[]), &[]);
    }

    /// What `SciPy` computes from the noncentral t distribution.
    #[test]
    fn the_smallest_difference_that_is_found() {
        for (pairs, level, expected) in [
            (2, 0.05, 16.334_009),
            (3, 0.05, 5.653_489),
            (5, 0.05, 3.761_060),
            (10, 0.05, 3.149_636),
            (20, 0.05, 2.953_588),
            (20, 0.01, 3.749_640),
            (20, 0.05 / 45.0, 4.775_274),
            (100, 0.05, 2.829_130),
            (3, 0.05 / 9.0, 17.014_706),
            (2, 0.05 / 9.0, 146.856_856),
        ] {
            let found = findable(pairs, level);
            assert!((found / expected - 1.0).abs() < 1e-4, "{pairs}, {level}: {found}");
        }
    }

    #[test]
    fn a_median_is_in_the_middle() {
        assert_eq!(median(vec![]), None);
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }
}
