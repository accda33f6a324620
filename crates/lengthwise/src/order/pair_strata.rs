//! Strata of sequences that have two lengths, of which every optimizer step takes its share.
//!
//! A stratum is a rectangle of first and second lengths. All sequences begin in one; then the rectangle whose
//! division saves the most is divided in two, at a first or a second length, again and again. The least cells of
//! so many rectangles cannot be found quickly; rectangles that are found so pad less than stretches of any order
//! of the pairs that was tried.

use crate::data::lengths::Pad;
use crate::limit::resolved::ResolvedBudget;
use crate::math::evenly;
use crate::order::sort;
use crate::order::strata::{OVERHEAD, Share, Stratum, power};

/// The maximum number of places where a stratum may be divided, along each of both lengths.
const PLACES: u32 = 128;

/// What a batch is padded to is estimated from so many sequences of its stratum.
const SAMPLE: usize = 256;

/// Chances below this are not counted.
const RARE: f64 = 1e-3;

/// The strata that take the least time, or those of so many batches, if that can be, and otherwise how many the
/// budget needs at least. They are stretches of `order`, one after another; the first has what equal shares leave
/// over.
pub(crate) fn pair_strata(
    share: Share,
    order: &mut [u32],
    limit: &ResolvedBudget,
    asked: Option<u32>,
) -> Result<Vec<Stratum>, u32> {
    let of = Of { share, limit };
    let mut regions = vec![of.region(0, order)];
    let asked = asked.map(|batches| batches.min(share.each()));
    // About as long as a share takes without padding.
    let positions: u64 = order.iter().map(|&one| limit.lengths_of(one).cells(1)).sum();
    let mean = (positions as f64 / order.len() as f64).round() as u32;
    let overhead = OVERHEAD * limit.cost(share.each(), mean) / limit.part;
    loop {
        let batches: u32 = regions.iter().map(|region| region.stratum.batches).sum();
        let divided = |region: &Region| {
            let split = region.split.as_ref()?;
            let [low, high] = split.batches;
            let more = i64::from(low) + i64::from(high) - i64::from(region.stratum.batches);
            let after = i64::from(batches) + more;
            let saving = split.saving;
            match asked.map(i64::from) {
                None => Some(saving - more as f64 * overhead).filter(|&saving| saving > 0.0),
                // First fewer batches, then less padding.
                Some(asked) if i64::from(batches) > asked => (more < 0).then_some(-more as f64),
                Some(asked) => Some(saving).filter(|&saving| saving > 0.0 && after <= asked),
            }
        };
        let best = (0..regions.len()).filter_map(|at| Some((at, divided(&regions[at])?)));
        let Some((at, _)) = best.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0))) else {
            break;
        };
        let Region { start, stratum, split } = regions.swap_remove(at);
        let Some(Split { low, along, .. }) = split else { continue };
        let end = start + of.count(start, stratum.size);
        let middle = start + of.count(start, low);
        along.sort(&mut order[start..end], limit);
        regions.push(of.region(start, &mut order[start..middle]));
        regions.push(of.region(middle, &mut order[middle..end]));
    }
    regions.sort_unstable_by_key(|region| region.start);
    let mut strata: Vec<Stratum> = regions.into_iter().map(|region| region.stratum).collect();
    match asked {
        Some(asked) => Stratum::exactly(&mut strata, asked).map(|()| strata),
        None => Ok(strata),
    }
}

/// Along which of both lengths sequences are sorted.
#[derive(Clone, Copy)]
enum Along {
    First,
    Second,
}

impl Along {
    fn of(self, pad: Pad) -> [u32; 2] {
        match self {
            Along::First => [pad.first, pad.second],
            Along::Second => [pad.second, pad.first],
        }
    }

    /// By this length, then by the other, whatever the order was.
    fn sort(self, order: &mut [u32], limit: &ResolvedBudget) {
        order.sort_unstable();
        sort::by_key(order, |sequence| self.of(limit.lengths_of(sequence))[1]);
        sort::by_key(order, |sequence| self.of(limit.lengths_of(sequence))[0]);
    }
}

/// A stretch of the order that is a stratum, and how it is best divided.
struct Region {
    start: usize,
    stratum: Stratum,
    split: Option<Split>,
}

struct Split {
    /// The sequences of a share that are in the lower part.
    low: u32,
    along: Along,
    /// How much less time the batches of a share take.
    saving: f64,
    batches: [u32; 2],
}

struct Of<'a> {
    share: Share,
    limit: &'a ResolvedBudget<'a>,
}

impl Of<'_> {
    /// How many sequences a stratum has that begins there: those of all shares, and what is left over.
    fn count(&self, start: usize, size: u32) -> usize {
        let left = if start == 0 { self.share.left } else { 0 };
        (size * self.share.takers + left) as usize
    }

    /// A stratum of so many sequences of a share, none longer than this.
    fn stratum(&self, start: usize, size: u32, longest: Pad) -> Stratum {
        let full = self.limit.full_of(self.limit.covered(longest));
        Stratum::new(size, full, start == 0 && self.share.left > 0)
    }

    /// How long the batches of a stratum take that are padded to this.
    fn time(&self, stratum: Stratum, pad: Pad) -> f64 {
        f64::from(stratum.batches) * self.limit.cost(stratum.largest(), pad.joint())
    }

    fn region(&self, start: usize, order: &mut [u32]) -> Region {
        let size = order.len() as u32 / self.share.takers;
        let lengths = |&sequence: &u32| self.limit.lengths_of(sequence);
        let longest = order.iter().map(lengths).fold(Pad::one(0), Pad::over);
        let stratum = self.stratum(start, size, longest);
        let both = [Along::First, Along::Second].map(|along| self.split(start, order, along));
        let split = both.into_iter().flatten();
        let split = split.reduce(|a, b| if b.saving > a.saving { b } else { a });
        Region { start, stratum, split }
    }

    /// The best division at one of both lengths.
    fn split(&self, start: usize, order: &mut [u32], along: Along) -> Option<Split> {
        along.sort(order, self.limit);
        let size = order.len() as u32 / self.share.takers;
        let pads: Vec<Pad> = order.iter().map(|&one| self.limit.lengths_of(one)).collect();
        // The longest of both lengths from each place on.
        let mut after = pads.clone();
        for at in (1..after.len()).rev() {
            after[at - 1] = after[at - 1].over(after[at]);
        }
        let sample = Sample::new(&pads, along, self.limit);
        let whole = self.stratum(start, size, *after.first()?);
        let undivided = self.time(whole, sample.padded(0..pads.len(), whole.largest()));
        let (mut below, mut upto) = (Pad::one(0), 0);
        let mut best: Option<Split> = None;
        let coarse = size.div_ceil(PLACES).max(1);
        for low in (coarse..size).step_by(coarse as usize) {
            let middle = self.count(start, low);
            below = pads[upto..middle].iter().copied().fold(below, Pad::over);
            upto = middle;
            let parts = [
                (self.stratum(start, low, below), 0..middle),
                (self.stratum(start + middle, size - low, after[middle]), middle..pads.len()),
            ];
            let times = parts.clone().map(|(stratum, places)| {
                self.time(stratum, sample.padded(places, stratum.largest()))
            });
            let saving = undivided - times[0] - times[1];
            if best.as_ref().is_none_or(|best| saving > best.saving) {
                let batches = parts.map(|(stratum, _)| stratum.batches);
                best = Some(Split { low, along, saving, batches });
            }
        }
        best
    }
}

/// Some of the sequences of a stratum, by which of them are where in the order.
struct Sample {
    along: Along,
    /// Places in the order, and what the lengths there are padded to.
    rising: Vec<(usize, u32)>,
    /// The same by the other length.
    other: Vec<(usize, u32)>,
}

impl Sample {
    fn new(pads: &[Pad], along: Along, limit: &ResolvedBudget) -> Self {
        let count = pads.len().min(SAMPLE);
        let places = (0..count).map(|at| evenly(at, count, pads.len()));
        let [rising, mut other] = [0, 1].map(|side| {
            let padded = |place: usize| along.of(limit.covered(pads[place]))[side];
            places.clone().map(|place| (place, padded(place))).collect::<Vec<_>>()
        });
        other.sort_by_key(|&(_, length)| length);
        Self { along, rising, other }
    }

    /// What a batch of so many sequences of these places is padded to on average.
    fn padded(&self, places: std::ops::Range<usize>, size: u32) -> Pad {
        let inside = |&&(place, _): &&(usize, u32)| places.contains(&place);
        let count = self.rising.iter().filter(inside).count() as f64;
        let [one, two] = [&self.rising, &self.other].map(|rising| {
            // The chance that a batch has none that is longer, from the longest on.
            let (mut longest, mut upto, mut at) = (0.0, 1.0, count);
            for &(_, length) in rising.iter().rev().filter(inside) {
                at -= 1.0;
                let below = power(at / count, size);
                let rare = below < RARE;
                longest += f64::from(length) * if rare { upto } else { upto - below };
                if rare {
                    break;
                }
                upto = below;
            }
            longest.round() as u32
        });
        let [first, second] = self.along.of(Pad { first: one, second: two });
        Pad { first, second }
    }
}
