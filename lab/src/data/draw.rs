//! What generated sequences are drawn from: random numbers that are the same on every machine.
//!
//! Nothing here uses more than additions, multiplications, divisions and square roots, which IEEE 754
//! defines to the bit.

use lengthwise::custom::{Purpose, Rng, Stream};

/// What is drawn. No two share numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Subject {
    Handwriting = 0,
    Speech = 1,
    Voice = 2,
    Documents = 3,
    Tags = 4,
    Lines = 5,
    HeldOut = 6,
}

/// Which part of a task a sequence is in, or what all of them have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Common = 0,
    Training = 1,
    Validation = 2,
}

impl Part {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Common => "common",
            Self::Training => "training",
            Self::Validation => "validation",
        }
    }
}

/// How often places come.
#[derive(Clone, Debug)]
pub(crate) struct Weights {
    sums: Vec<u32>,
    whole: u32,
}

impl Weights {
    /// At least one weight must be above zero.
    pub(crate) fn new(weights: impl IntoIterator<Item = u32>) -> Self {
        let mut whole = 0;
        let sums = weights
            .into_iter()
            .map(|weight| {
                whole += weight;
                whole
            })
            .collect();
        Self { sums, whole }
    }

    /// The first place comes most often, the second half as often, and so on, as words of a language
    /// do; the head is as flat as if so many places before it had been left out.
    pub(crate) fn zipf(count: u32, head: u32) -> Self {
        Self::new((1..=count).map(|rank| 1_000_000 / (rank + head)))
    }
}

/// The first of the purposes that are for data.
const FIRST: u16 = 0xDA00;

/// A stream of random numbers of every kind.
#[derive(Debug)]
pub(crate) struct Draw(Stream);

impl Draw {
    /// The stream of one sequence: it depends on no other sequence, nor on how many there are.
    pub(crate) fn new(seed: u64, subject: Subject, part: Part, index: u64) -> Self {
        let purpose = Purpose::Own(FIRST + 4 * subject as u16 + part as u16);
        Self(Rng::new(seed, index).stream(purpose))
    }

    /// A number from 0 up to, but not including, 1.
    pub(crate) fn share(&mut self) -> f64 {
        f64::from(self.0.next_u32()) / 4_294_967_296.0
    }

    /// A number from `low` to `high`.
    pub(crate) fn within(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.share()
    }

    /// A whole number from `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: u32, high: u32) -> u32 {
        low + self.0.below(high - low + 1)
    }

    /// Whether something of this chance happens.
    pub(crate) fn happens(&mut self, chance: f64) -> bool {
        self.share() < chance
    }

    /// A number of mean 0 and variance 1, nearly normal: the sum of four uniform ones of 16 bits.
    pub(crate) fn normal(&mut self) -> f64 {
        let [one, other] = [self.0.next_u32(), self.0.next_u32()];
        let sum = (one >> 16) + (one & 0xFFFF) + (other >> 16) + (other & 0xFFFF);
        (f64::from(sum) - 131_070.0) / 65_536.0 * 3_f64.sqrt()
    }

    /// A place, as often as its weight says.
    pub(crate) fn place(&mut self, weights: &Weights) -> usize {
        let at = self.0.below(weights.whole);
        weights.sums.partition_point(|&sum| sum <= at)
    }

    /// A whole number from a table of quantiles: the share below, and the number there, with
    /// straight lines between.
    pub(crate) fn quantile(&mut self, table: &[(f64, f64)]) -> u32 {
        let share = self.share();
        let after = table.partition_point(|(at, _)| *at <= share).clamp(1, table.len() - 1);
        let ((x0, y0), (x1, y1)) = (table[after - 1], table[after]);
        (y0 + (y1 - y0) * ((share - x0) / (x1 - x0)) + 0.5) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw() -> Draw {
        Draw::new(7, Subject::Tags, Part::Training, 3)
    }

    #[test]
    fn normal_numbers_have_mean_0_and_variance_1() {
        let mut draw = draw();
        let numbers: Vec<f64> = (0..40_000).map(|_| draw.normal()).collect();
        let mean = numbers.iter().sum::<f64>() / 40_000.0;
        let variance = numbers.iter().map(|x| x * x).sum::<f64>() / 40_000.0;
        assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.03, "{mean} {variance}");
    }

    #[test]
    fn places_come_as_often_as_their_weights_say() {
        let (mut draw, weights) = (draw(), Weights::new([3, 0, 5, 2]));
        let mut counts = [0_i32; 4];
        for _ in 0..10_000 {
            counts[draw.place(&weights)] += 1;
        }
        assert_eq!(counts[1], 0);
        for (count, expected) in counts.iter().zip([3000, 0, 5000, 2000]) {
            assert!((count - expected).abs() < 200, "{counts:?}");
        }
    }

    #[test]
    fn quantiles_stay_in_their_table() {
        let (mut draw, table) = (draw(), [(0.0, 2.0), (0.5, 10.0), (1.0, 90.0)]);
        let mut numbers: Vec<u32> = (0..10_001).map(|_| draw.quantile(&table)).collect();
        numbers.sort_unstable();
        assert!(numbers[0] >= 2 && numbers[10_000] <= 90);
        assert!((9..=11).contains(&numbers[5000]), "{}", numbers[5000]);
        assert!((48..=52).contains(&numbers[7500]), "{}", numbers[7500]);
    }

    #[test]
    fn subjects_parts_and_sequences_share_nothing() {
        let first = |subject, part, index| Draw::new(1, subject, part, index).share().to_bits();
        let one = first(Subject::Speech, Part::Training, 0);
        assert_ne!(one, first(Subject::Speech, Part::Validation, 0));
        assert_ne!(one, first(Subject::Voice, Part::Training, 0));
        assert_ne!(one, first(Subject::Speech, Part::Training, 1));
        assert_eq!(one, first(Subject::Speech, Part::Training, 0));
    }
}
