//! How many sequences have which length.

use lengthwise::Lengths;
use serde::Serialize;

/// How many sequences have a length in an interval, of which both ends are in it.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Bin {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) count: u64,
}

impl Bin {
    /// The interval in words.
    pub(crate) fn range(&self) -> String {
        let &Self { from, to, .. } = self;
        if from == to { from.to_string() } else { format!("{from} to {to}") }
    }
}

/// About so many intervals of lengths, and whether they grow with them because of a long tail.
pub(crate) fn bins(lengths: &Lengths, about: u32) -> (Vec<Bin>, bool) {
    let logarithmic = lengths.max() / 10 > length_at(lengths, lengths.len() as u64 / 2 + 1);
    let mut bins: Vec<Bin> = Vec::new();
    let mut from = lengths.min();
    for to in ends(lengths, about, logarithmic) {
        bins.push(Bin { from, to, count: 0 });
        from = to.saturating_add(1);
    }
    for &(length, count) in lengths.histogram() {
        let bin = bins.partition_point(|bin| bin.to < length);
        bins[bin].count += u64::from(count);
    }
    (bins, logarithmic)
}

/// The length of the sequence at this place, from 1, of all sorted by length.
pub(crate) fn length_at(lengths: &Lengths, place: u64) -> u32 {
    let mut below = 0;
    let reached = lengths.histogram().iter().find(|&&(_, count)| {
        below += u64::from(count);
        below >= place
    });
    reached.map_or(lengths.max(), |&(length, _)| length)
}

/// Where the intervals of a histogram end, rising to the longest length.
fn ends(lengths: &Lengths, about: u32, logarithmic: bool) -> Vec<u32> {
    let (min, max) = (lengths.min(), lengths.max());
    let mut ends: Vec<u32> = if logarithmic {
        let ratio = f64::from(max) / f64::from(min);
        let end = |bin: u32| f64::from(min) * ratio.powf(f64::from(bin) / f64::from(about));
        (1..=about).map(|bin| end(bin) as u32).collect()
    } else {
        let width = (max - min) / about + 1;
        (1..=about).map(|bin| min.saturating_add(bin.saturating_mul(width) - 1)).collect()
    };
    ends.retain(|&end| end < max);
    ends.push(max);
    ends.dedup();
    ends
}
