//! The lengths that are planned: the same in every run and on every machine.

use lengthwise::{Example, Lengths, Purpose, Rng};

/// `count` lengths with the distribution of a built-in example, in no order: its own lengths are
/// the quantiles, with straight lines between.
pub(crate) fn lengths(example: Example, count: u32) -> Lengths {
    let drawn: Vec<u32> = drawn(example, count).collect();
    Lengths::new(drawn).expect("the quantiles are above zero")
}

/// The same one by one.
pub(crate) fn drawn(example: Example, count: u32) -> impl Iterator<Item = u32> {
    let mut quantiles = example.lengths().as_slice().to_vec();
    quantiles.sort_unstable();
    let last = quantiles.len() - 1;
    let mut stream = rng().stream(Purpose::Own(example as u16));
    (0..count).map(move |_| {
        let place = f64::from(stream.next_u32()) / 4_294_967_296.0 * last as f64;
        let (low, high) = (quantiles[place as usize], quantiles[place as usize + 1]);
        (f64::from(low) + f64::from(high - low) * place.fract() + 0.5) as u32
    })
}

/// `count` lengths whose logarithms are normal: a median of 500, and one in six above 900.
pub(crate) fn lognormal(count: u32) -> Lengths {
    let mut stream = rng().stream(Purpose::Own(101));
    let drawn: Vec<u32> = (0..count)
        .map(|_| {
            // The sum of twelve uniform numbers has variance 1, and is normal enough.
            let sum: f64 = (0..12).map(|_| f64::from(stream.next_u32()) / 4_294_967_296.0).sum();
            (500.0 * (0.6 * (sum - 6.0)).exp()).max(1.0) as u32
        })
        .collect();
    Lengths::new(drawn).expect("all are at least 1")
}

/// `count` lengths with a very heavy tail: from 16 on, one in 2^1.2 is twice as long as another,
/// up to 65,536.
pub(crate) fn pareto(count: u32) -> Lengths {
    let mut stream = rng().stream(Purpose::Own(102));
    let drawn: Vec<u32> = (0..count)
        .map(|_| {
            let uniform = (f64::from(stream.next_u32()) + 0.5) / 4_294_967_296.0;
            (16.0 * uniform.powf(-1.0 / 1.2)).min(65_536.0) as u32
        })
        .collect();
    Lengths::new(drawn).expect("all are at least 16")
}

/// Lengths of which exactly `distinct` differ, with uneven gaps, each taken 1 to 16 times.
pub(crate) fn distinct(distinct: u32) -> Lengths {
    let mut stream = rng().stream(Purpose::Own(100));
    let mut length = 0;
    let mut lengths = Vec::new();
    for _ in 0..distinct {
        length += 1 + stream.below(8);
        let times = 1 + stream.below(16) as usize;
        lengths.resize(lengths.len() + times, length);
    }
    Lengths::new(lengths).expect("the first length is at least 1")
}

fn rng() -> Rng {
    Rng::new(20_261_115, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_stay_in_the_range_of_their_example() {
        for example in Example::ALL {
            let (own, drawn) = (example.lengths(), lengths(example, 50_000));
            assert!(own.min() <= drawn.min() && drawn.max() <= own.max(), "{example}");
            assert!((drawn.mean() / own.mean() - 1.0).abs() < 0.05, "{example}");
        }
    }

    #[test]
    fn distinct_lengths_are_as_many_as_asked_for() {
        assert_eq!(distinct(777).histogram().len(), 777);
    }
}
