//! Strategies with one knob, from the least padding to the freshest company.

use crate::{
    data::lengths::Lengths,
    math::digits,
    strategy::{
        Strategy, alternated::Alternated, blurred::Blurred, bucketed::Bucketed,
        length_buckets::LengthBuckets, optimal_buckets::OptimalBuckets, pooled::Pooled,
        semi_sorted::SemiSorted,
    },
};

/// A strategy whose one parameter leads from sorted to random batches.
///
/// ```
/// use lengthwise::{Example, tune::Family};
///
/// let lengths = Example::Speech.lengths();
/// assert_eq!(Family::Alternated.at(0.0, &lengths, 655).to_string(), "alternated:bins=1");
/// assert_eq!(Family::Alternated.at(1.0, &lengths, 655).to_string(), "alternated:bins=655");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Family {
    /// `blurred`, by its blur.
    Blurred,
    /// `semi-sorted`, by its noise.
    SemiSorted,
    /// `alternated`, by its bins.
    Alternated,
    /// `bucketed`, by the size of its buckets.
    Bucketed,
    /// `length-buckets`, by their width.
    LengthBuckets,
    /// `optimal-buckets`, by their count.
    OptimalBuckets,
    /// `pooled`, by the batches of a pool.
    Pooled,
}

impl Family {
    /// Every family, ours first.
    pub const ALL: [Family; 7] = [
        Family::Blurred,
        Family::SemiSorted,
        Family::Alternated,
        Family::Bucketed,
        Family::LengthBuckets,
        Family::OptimalBuckets,
        Family::Pooled,
    ];

    /// The name of its strategy.
    pub const fn name(self) -> &'static str {
        match self {
            Family::Blurred => "blurred",
            Family::SemiSorted => "semi-sorted",
            Family::Alternated => "alternated",
            Family::Bucketed => "bucketed",
            Family::LengthBuckets => "length-buckets",
            Family::OptimalBuckets => "optimal-buckets",
            Family::Pooled => "pooled",
        }
    }

    /// The strategy at `knob`, from 0 (sorted, or nearly) to 1 (random, or nearly), where there are
    /// about so many batches. The parameter goes up or down by equal factors, and is rounded to
    /// three digits.
    pub fn at(self, knob: f64, lengths: &Lengths, batches: usize) -> Strategy {
        // Three digits are enough for a parameter, and do not depend on the last bit of a power.
        let between = |from: f64, to: f64| digits(from * (to / from).powf(knob), 2);
        let whole = |from: f64, to: f64| between(from, to).round().max(1.0) as u32;
        let (count, batches) = (lengths.len() as f64, batches.max(1) as f64);
        match self {
            Family::Blurred => Blurred { blur: between(1e-4, 1.0) }.into(),
            Family::SemiSorted => SemiSorted { noise: between(1e-4, 4.0) }.into(),
            Family::Alternated => Alternated { bins: whole(1.0, batches) }.into(),
            Family::Bucketed => Bucketed { size: whole(count / batches, count) }.into(),
            Family::LengthBuckets => {
                LengthBuckets::Width(whole(1.0, f64::from(lengths.max()))).into()
            }
            Family::OptimalBuckets => {
                let most = batches.min(lengths.histogram().len() as f64);
                OptimalBuckets { count: whole(most, 1.0) }.into()
            }
            Family::Pooled => Pooled { batches: whole(batches, 1.0) }.into(),
        }
    }
}
