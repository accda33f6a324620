//! Built-in length distributions, so that everything can be tried without a file.

use crate::{
    base::{
        rng::{Purpose, Rng},
        setting::names,
    },
    data::lengths::Lengths,
    order::sort,
};

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

    /// How many sequences, and the length at each share of them; straight lines between.
    const fn quantiles(self) -> (u32, &'static [(f64, f64)]) {
        match self {
            Example::Speech => (
                10_480,
                &[
                    (0.0, 88.0),
                    (0.01, 138.0),
                    (0.05, 211.0),
                    (0.1, 270.0),
                    (0.2, 358.0),
                    (0.3, 429.0),
                    (0.4, 491.0),
                    (0.5, 547.0),
                    (0.6, 599.0),
                    (0.7, 649.0),
                    (0.8, 698.0),
                    (0.9, 746.0),
                    (0.95, 771.0),
                    (0.99, 793.0),
                    (1.0, 800.0),
                ],
            ),
            Example::Documents => (
                6_000,
                &[
                    (0.0, 12.0),
                    (0.05, 48.0),
                    (0.1, 74.0),
                    (0.25, 132.0),
                    (0.5, 240.0),
                    (0.75, 480.0),
                    (0.9, 1_020.0),
                    (0.95, 1_690.0),
                    (0.98, 3_040.0),
                    (0.99, 4_500.0),
                    (0.998, 8_200.0),
                    (1.0, 12_000.0),
                ],
            ),
            Example::Bimodal => (
                8_000,
                &[
                    (0.0, 30.0),
                    (0.1, 62.0),
                    (0.3, 88.0),
                    (0.5, 120.0),
                    (0.58, 180.0),
                    (0.6, 400.0),
                    (0.62, 900.0),
                    (0.7, 1_080.0),
                    (0.85, 1_200.0),
                    (0.97, 1_330.0),
                    (1.0, 1_500.0),
                ],
            ),
        }
    }

    /// Its lengths, in no order.
    #[expect(clippy::missing_panics_doc, reason = "all quantiles are above zero")]
    pub fn lengths(self) -> Lengths {
        let (count, quantiles) = self.quantiles();
        // Never the purpose of a plan: a plan of the same seed would then undo this shuffle.
        let [rng, places] = [0, 1].map(|what| Rng::new(self as u64, what));
        // One length from each of `count` equal shares, so that every share is represented.
        let shares = rng
            .words(Purpose::Example, count)
            .zip(0..count)
            .map(|(word, i)| (f64::from(i) + f64::from(word) / 4_294_967_296.0) / f64::from(count));
        let mut lengths = vec![0; count as usize];
        for (share, place) in shares.zip(sort::shuffled(count, &places, Purpose::Example)) {
            lengths[place as usize] = (interpolate(quantiles, share) + 0.5) as u32;
        }
        Lengths::new(lengths).expect("quantiles are above zero")
    }
}

fn interpolate(quantiles: &[(f64, f64)], share: f64) -> f64 {
    let after = quantiles.partition_point(|(at, _)| *at <= share).min(quantiles.len() - 1);
    let ((x0, y0), (x1, y1)) = (quantiles[after - 1], quantiles[after]);
    y0 + (y1 - y0) * ((share - x0) / (x1 - x0))
}

names!(Example, "example");
