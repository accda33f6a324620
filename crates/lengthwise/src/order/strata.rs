//! Strata of neighbouring lengths of which every optimizer step takes its share.

use crate::data::lengths::Lengths;
use crate::limit::resolved::ResolvedBudget;

/// The maximum number of places where one stratum may end and the next begin.
const PLACES: u32 = 128;

/// A micro-batch costs as much as this part of all that a rank has in a step, besides its own cells.
pub(crate) const OVERHEAD: f64 = 1.0 / 48.0;

/// How many sequences everyone takes of all: each rank in each optimizer step.
#[derive(Clone, Copy)]
pub(crate) struct Share {
    pub(crate) takers: u32,
    each: u32,
    pub(crate) left: u32,
}

impl Share {
    pub(crate) fn new(lengths: &Lengths, limit: &ResolvedBudget) -> Self {
        let takers = (limit.optimizer_steps(lengths) * limit.ranks()).min(lengths.count());
        let (each, left) = (lengths.count() / takers, lengths.count() % takers);
        Self { takers, each, left }
    }

    /// How many sequences everyone takes at least.
    pub(crate) fn each(&self) -> u32 {
        self.each
    }
}

/// Sequences of neighbouring lengths: `size` of them are in every share, in as many batches as the budget
/// needs.
#[derive(Clone, Copy)]
pub(crate) struct Stratum {
    pub(crate) size: u32,
    pub(crate) batches: u32,
    /// Whether the first batch can take one of the sequences that equal shares leave over.
    pub(crate) takes_more: bool,
}

impl Stratum {
    /// Of so many sequences of a share, where a full batch has `full`. The first batch takes one more, if that is
    /// wanted and a batch has room for it.
    pub(crate) fn new(size: u32, full: u32, more: bool) -> Self {
        let with_more = (size + 1).div_ceil(full);
        let takes_more = more && with_more <= size;
        let batches = if takes_more { with_more } else { size.div_ceil(full) };
        Self { size, batches, takes_more }
    }

    /// Divides the largest batches until there are so many; or says how many there are, if these are more.
    pub(crate) fn exactly(strata: &mut [Self], asked: u32) -> Result<(), u32> {
        let batches = strata.iter().map(|stratum| stratum.batches).sum::<u32>();
        if batches > asked {
            return Err(batches);
        }
        for _ in batches..asked {
            let divisible = strata.iter_mut().filter(|stratum| stratum.batches < stratum.size);
            if let Some(stratum) = divisible.max_by_key(|stratum| stratum.largest()) {
                stratum.batches += 1;
            }
        }
        Ok(())
    }

    /// How many sequences its batches have, which are strata of their own.
    pub(crate) fn batches(&self) -> impl Iterator<Item = u32> {
        let Self { size, batches, .. } = *self;
        (0..batches).map(move |batch| (size + batch) / batches)
    }

    pub(crate) fn largest(&self) -> u32 {
        self.size.div_ceil(self.batches)
    }
}

/// The strata that take the least time, from the shortest; or those of so many batches, if that can be, and
/// otherwise how many the budget needs at least.
pub(crate) fn strata(
    share: Share,
    rising: &[u32],
    limit: &ResolvedBudget,
    asked: Option<u32>,
) -> Result<Vec<Stratum>, u32> {
    let choice = Choice::new(share, rising, limit);
    let Some(asked) = asked.map(|batches| batches.min(share.each)) else {
        return Ok(choice.best(OVERHEAD * choice.time / limit.part));
    };
    let batches = |strata: &[Stratum]| strata.iter().map(|stratum| stratum.batches).sum::<u32>();
    // The more a batch costs, the fewer there are.
    let (mut low, mut high) = (0.0, choice.time);
    let mut strata = choice.best(high);
    if batches(&strata) > asked {
        return Err(batches(&strata));
    }
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        let tried = choice.best(middle);
        if batches(&tried) <= asked {
            (high, strata) = (middle, tried);
        } else {
            low = middle;
        }
    }
    Stratum::exactly(&mut strata, asked).map(|()| strata)
}

/// Every stratum that there could be.
struct Choice {
    /// How long the sequences of a share take without padding and without the overhead of batches.
    time: f64,
    /// By the place where they end and the one where they begin, each with how long its batches take.
    strata: Vec<Vec<(Stratum, f64)>>,
}

impl Choice {
    fn new(share: Share, rising: &[u32], limit: &ResolvedBudget) -> Self {
        let coarse = share.each.div_ceil(PLACES) as usize;
        // The sequences of a share up to each place, and what the longest of them is padded to.
        let sizes: Vec<u32> = (0..share.each).step_by(coarse).chain([share.each]).collect();
        let last = |&size: &u32| (share.left + size * share.takers).max(1) as usize - 1;
        let padded: Vec<u32> =
            sizes.iter().map(|size| limit.padded_length(rising[last(size)])).collect();
        let stratum = |from: usize, to: usize| {
            let (size, full) = (sizes[to] - sizes[from], limit.full(padded[to]));
            let stratum = Stratum::new(size, full, from == 0 && share.left > 0);
            let length = expected_longest(&padded[from + 1..=to], stratum.largest());
            (stratum, f64::from(stratum.batches) * limit.cost(stratum.largest(), length))
        };
        let strata: Vec<Vec<_>> =
            (1..sizes.len()).map(|to| (0..to).map(|from| stratum(from, to)).collect()).collect();
        let time = strata.iter().filter_map(|ending| ending.last()).map(|(_, time)| time).sum();
        Self { time, strata }
    }

    /// The strata of least time, where each batch costs `overhead` besides its own.
    fn best(&self, overhead: f64) -> Vec<Stratum> {
        let mut best = vec![(0.0, 0)];
        for ending in &self.strata {
            let all = ending.iter().enumerate().map(|(from, (stratum, time))| {
                (best[from].0 + time + f64::from(stratum.batches) * overhead, from)
            });
            let least = all.min_by(|a, b| a.0.total_cmp(&b.0));
            best.extend(least);
        }
        let (mut strata, mut to) = (Vec::new(), self.strata.len());
        while to > 0 {
            let from = best[to].1;
            strata.push(self.strata[to - 1][from].0);
            to = from;
        }
        strata.reverse();
        strata
    }
}

/// What a batch of so many sequences is padded to on average, if they are drawn from as many of each of
/// these rising lengths.
fn expected_longest(rising: &[u32], size: u32) -> u32 {
    let below = |place: usize| power(place as f64 / rising.len() as f64, size);
    let each = rising.iter().enumerate();
    let longest: f64 =
        each.map(|(at, &length)| f64::from(length) * (below(at + 1) - below(at))).sum();
    longest.round() as u32
}

/// By multiplications alone, so that it is the same on every machine.
pub(crate) fn power(mut base: f64, mut exponent: u32) -> f64 {
    let mut result = 1.0;
    while exponent > 0 {
        if exponent % 2 == 1 {
            result *= base;
        }
        base *= base;
        exponent /= 2;
    }
    result
}
