//! Built-in length distributions, so that everything can be tried without a file.

use crate::base::rng::{Purpose, Rng};
use crate::base::setting::names;
use crate::data::lengths::Lengths;
use crate::order::sort;

/// A built-in set of lengths, generated from a table of quantiles: the same on every machine.
///
/// ```
/// use lengthwise::Example;
///
/// let lengths = Example::Speech.lengths();
/// assert_eq!((lengths.len(), lengths.min(), lengths.max()), (10_480, 88, 800));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Example {
    /// 10,480 read sentences in frames of 12.5 ms: many long ones, none very long. Its quantiles
    /// follow a beta distribution fitted to paper 2's figures for LJSpeech.
    #[default]
    Speech,
    /// 6,000 web documents in tokens: a median of 240 and a tail to 12,000.
    Documents,
    /// 8,000 recordings in frames: short commands and long dictation, and little between.
    Bimodal,
}

impl Example {
    /// The names, as in string forms.
    pub const NAMES: [&str; 3] = ["speech", "documents", "bimodal"];

    /// Every example.
    pub const ALL: [Example; 3] = [Example::Speech, Example::Documents, Example::Bimodal];

    /// What it is like, in one line.
    pub const fn describe(self) -> &'static str {
        match self {
            Example::Speech => "10,480 read sentences in frames, like LJSpeech",
            Example::Documents => "6,000 web documents in tokens, with a heavy tail",
            Example::Bimodal => "8,000 recordings in frames: short commands and long dictation",
        }
    }

    /// How many sequences, the shares of them and the length at each; straight lines between.
    const fn quantiles(self) -> (u32, &'static [f64], &'static [f64]) {
        match self {
            Example::Speech => (
                10_480,
                &[0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0],
                &[
                    88.0, 138.0, 211.0, 270.0, 358.0, 429.0, 491.0, 547.0, 599.0, 649.0, 698.0,
                    746.0, 771.0, 793.0, 800.0,
                ],
            ),
            Example::Documents => (
                6_000,
                &[0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.998, 1.0],
                &[
                    12.0, 48.0, 74.0, 132.0, 240.0, 480.0, 1_020.0, 1_690.0, 3_040.0, 4_500.0,
                    8_200.0, 12_000.0,
                ],
            ),
            Example::Bimodal => (
                8_000,
                &[0.0, 0.1, 0.3, 0.5, 0.58, 0.6, 0.62, 0.7, 0.85, 0.97, 1.0],
                &[30.0, 62.0, 88.0, 120.0, 180.0, 400.0, 900.0, 1_080.0, 1_200.0, 1_330.0, 1_500.0],
            ),
        }
    }

    /// Its lengths, in no order.
    #[expect(clippy::missing_panics_doc, reason = "all quantiles are above zero")]
    pub fn lengths(self) -> Lengths {
        let (count, marks, quantiles) = self.quantiles();
        // Never the purpose of a plan: a plan of the same seed would then undo this shuffle.
        let [rng, places] = [0, 1].map(|what| Rng::new(self as u64, what));
        // One length from each of `count` equal shares, so that every share is represented.
        let shares = rng
            .words(Purpose::Example, count)
            .zip(0..count)
            .map(|(word, i)| (f64::from(i) + f64::from(word) / 4_294_967_296.0) / f64::from(count));
        let mut lengths = vec![0; count as usize];
        for (share, place) in shares.zip(sort::shuffled(count, &places, Purpose::Example)) {
            lengths[place as usize] = (interpolate(marks, quantiles, share) + 0.5) as u32;
        }
        Lengths::new(lengths).expect("quantiles are above zero")
    }
}

fn interpolate(shares: &[f64], lengths: &[f64], share: f64) -> f64 {
    let after = shares.partition_point(|&at| at <= share).min(shares.len() - 1);
    let (x0, y0) = (shares[after - 1], lengths[after - 1]);
    y0 + (lengths[after] - y0) * ((share - x0) / (shares[after] - x0))
}

names!(Example, "example");
