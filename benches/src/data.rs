//! The lengths that are planned: the same in every run and on every machine.

use lengthwise::{
    Example, Lengths, Pairs,
    custom::{Purpose, Rng},
};

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

/// `count` pairs like those of speech recognition: frames whose logarithms are normal around 600, from
/// 100 to 2,000, and a token for every 8 to 16 of them, give or take a few.
pub(crate) fn speech_pairs(count: u32) -> Pairs {
    pairs(count, 103, |normal, uniform| {
        let frames = (600.0 * (0.55 * normal()).exp()).clamp(100.0, 2000.0);
        let tokens = frames / (8.0 + 8.0 * uniform) + 2.0 * normal();
        [frames, tokens]
    })
}

/// `count` pairs like those of translation: a median of 22 tokens, at most 250, and targets about as
/// long as their sources: the logarithm of the ratio is normal, two in three between 0.82 and 1.22.
pub(crate) fn translation_pairs(count: u32) -> Pairs {
    pairs(count, 104, |normal, _| {
        let source = (22.0 * (0.65 * normal()).exp()).min(250.0);
        let target = (source * (0.2 * normal()).exp() + normal()).min(250.0);
        [source, target]
    })
}

/// Pairs of lengths, each from normal numbers and one uniform from 0 to 1.
fn pairs(
    count: u32,
    purpose: u16,
    draw: impl Fn(&mut dyn FnMut() -> f64, f64) -> [f64; 2],
) -> Pairs {
    let mut stream = rng().stream(Purpose::Own(purpose));
    let mut uniform = move || f64::from(stream.next_u32()) / 4_294_967_296.0;
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let own = uniform();
        // The sum of twelve uniform numbers has variance 1, and is normal enough.
        let mut normal = || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
        let [a, b] = draw(&mut normal, own).map(|length| length.max(1.0) as u32);
        first.push(a);
        second.push(b);
    }
    let [first, second] =
        [first, second].map(|lengths| Lengths::new(lengths).expect("all are at least 1"));
    Pairs::new(first, second).expect("there are as many of both")
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
