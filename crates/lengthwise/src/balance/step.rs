//! One step, divided.

use std::{collections::BTreeMap, ops::Range};

/// The sequences of a step, divided over ranks and micro-batches.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "Stored"))]
pub struct Step {
    /// The sequences, one micro-batch after another: those of the first rank, then those of the second, and so on.
    order: Vec<u32>,
    /// Where each micro-batch ends in the order.
    ends: Vec<u32>,
    /// How many ranks share each micro-batch.
    degrees: Vec<u32>,
    micro_batches: u32,
    /// The micro-batches of the first rank, then those of the second, and so on.
    batch_of: Vec<u32>,
    /// When each of these starts.
    starts: Vec<f64>,
    loads: Vec<f64>,
    times: Vec<f64>,
    bound: f64,
}

/// A step as it was written, before its parts are known to agree.
#[cfg(feature = "serde")]
#[derive(serde::Deserialize)]
struct Stored {
    order: Vec<u32>,
    ends: Vec<u32>,
    degrees: Vec<u32>,
    micro_batches: u32,
    batch_of: Vec<u32>,
    starts: Vec<f64>,
    loads: Vec<f64>,
    times: Vec<f64>,
    bound: f64,
}

#[cfg(feature = "serde")]
impl TryFrom<Stored> for Step {
    type Error = &'static str;

    fn try_from(stored: Stored) -> Result<Self, Self::Error> {
        let Stored { order, ends, degrees, micro_batches, batch_of, starts, loads, times, bound } =
            stored;
        let mut sequences = order.clone();
        sequences.sort_unstable();
        let slots = loads.len() as u64 * u64::from(micro_batches);
        let do_agree = sequences.into_iter().eq(0..order.len() as u32)
            && ends.is_sorted()
            && ends.last().map_or(0, |&end| end as usize) == order.len()
            && degrees.len() == ends.len()
            && batch_of.iter().all(|&batch| (batch as usize) < ends.len())
            && [batch_of.len(), starts.len()].iter().all(|&count| count as u64 == slots)
            && times.len() == loads.len();
        if !do_agree {
            return Err("its parts do not agree");
        }
        Ok(Self { order, ends, degrees, micro_batches, batch_of, starts, loads, times, bound })
    }
}

impl Step {
    /// How many ranks there are.
    pub fn ranks(&self) -> u32 {
        self.loads.len() as u32
    }

    /// How many micro-batches each rank has.
    pub fn micro_batches(&self) -> u32 {
        self.micro_batches
    }

    /// One micro-batch of a rank: the indices of its sequences. It is empty if there are too few sequences, or
    /// none of that number.
    pub fn micro_batch(&self, rank: u32, number: u32) -> &[u32] {
        let Some(slot) = self.slot(rank, number) else { return &[] };
        let batch = self.batch_of[slot] as usize;
        let start = if batch == 0 { 0 } else { self.ends[batch - 1] };
        &self.order[start as usize..self.ends[batch] as usize]
    }

    /// How many ranks share a micro-batch: 1, or a degree of [`Balance::split`](crate::balance::Balance::split). The ranks of a group have it under
    /// the same number. It is 0 if there is none of that number.
    pub fn degree(&self, rank: u32, number: u32) -> u32 {
        self.slot(rank, number).map_or(0, |slot| self.degrees[self.batch_of[slot] as usize])
    }

    /// How many sequences there are of each degree: those that so many ranks share.
    pub fn sequences_by_degree(&self) -> BTreeMap<u32, u32> {
        let (mut counts, mut start) = (BTreeMap::new(), 0);
        for (&degree, &end) in self.degrees.iter().zip(&self.ends) {
            *counts.entry(degree).or_default() += end - start;
            start = end;
        }
        counts
    }

    /// When a rank starts a micro-batch, and when it is done with it, from the start of the step. All ranks that
    /// share a micro-batch start it together.
    pub fn span(&self, rank: u32, number: u32) -> Range<f64> {
        let end = self.times.get(rank as usize).copied().unwrap_or(0.0);
        let start = |number| self.slot(rank, number).map_or(end, |slot| self.starts[slot]);
        start(number)..start(number.saturating_add(1))
    }

    fn slot(&self, rank: u32, number: u32) -> Option<usize> {
        let is_there = rank < self.ranks() && number < self.micro_batches;
        is_there.then(|| rank as usize * self.micro_batches as usize + number as usize)
    }

    /// All micro-batches with the rank of each: those of the first rank, then those of the second, and so on. One
    /// that several ranks share comes once for each of them.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &[u32])> {
        let numbers =
            (0..self.ranks()).flat_map(|rank| (0..self.micro_batches).map(move |of| (rank, of)));
        numbers.map(|(rank, number)| (rank, self.micro_batch(rank, number)))
    }

    /// The sequences, one micro-batch after another. A micro-batch that several ranks share is there once, with
    /// those of the first of them.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// Where each micro-batch ends in [`order`](Step::order).
    pub fn ends(&self) -> &[u32] {
        &self.ends
    }

    /// The place of every sequence in [`order`](Step::order): `results[restore[i]]` belongs to sequence `i` if the
    /// results come in that order.
    pub fn restore(&self) -> Vec<u32> {
        let mut restore = vec![0; self.order.len()];
        for (place, &sequence) in (0..).zip(&self.order) {
            restore[sequence as usize] = place;
        }
        restore
    }

    /// The sum of the costs of each rank's sequences: of one that several ranks share, what this rank takes for it.
    pub fn loads(&self) -> &[f64] {
        &self.loads
    }

    /// How long the slowest rank takes: the largest load divided by its rank's speed.
    pub fn time(&self) -> f64 {
        self.times.iter().copied().fold(0.0, f64::max)
    }

    /// No division takes less: the mean over ranks, or the time of what cannot be divided further.
    pub fn lower_bound(&self) -> f64 {
        self.bound
    }

    /// The share of the ranks' time that is spent waiting for the slowest one.
    pub fn idle_share(&self) -> f64 {
        let (slowest, worked) = (self.time(), self.times.iter().sum::<f64>());
        let all = slowest * self.times.len() as f64;
        if all > 0.0 { (1.0 - worked / all).max(0.0) } else { 0.0 }
    }
}

/// The micro-batches, and those of each rank.
pub(super) struct Slots {
    order: Vec<u32>,
    ends: Vec<u32>,
    degrees: Vec<u32>,
    /// Micro-batches of a rank.
    each: usize,
    /// The micro-batches of the first rank, then those of the second, and so on.
    pub(super) batch_of: Vec<u32>,
}

impl Slots {
    pub(super) fn new(each: usize) -> Self {
        let (order, ends, degrees, batch_of) = Default::default();
        Self { order, ends, degrees, each, batch_of }
    }

    /// Adds a micro-batch that so many ranks share. Returns its number.
    pub(super) fn add(&mut self, sequences: &[u32], degree: u32) -> u32 {
        let start = self.order.len();
        self.order.extend_from_slice(sequences);
        self.order[start..].sort_unstable();
        self.ends.push(self.order.len() as u32);
        self.degrees.push(degree);
        self.ends.len() as u32 - 1
    }
}

impl Step {
    /// A step of these micro-batches, given the time of a sequence on a rank of speed 1.
    pub(super) fn new(
        slots: Slots,
        time_of: impl Fn(u32) -> f64,
        speeds: &[f64],
        bound: f64,
    ) -> Self {
        let Slots { order, ends, degrees, each, batch_of } = slots;
        let (mut starts, mut loads) = (Vec::with_capacity(batch_of.len()), Vec::new());
        for (own, speed) in batch_of.chunks(each).zip(speeds) {
            // From the sequences themselves: sums that changed with every exchange would be off by their rounding.
            let mut load = 0.0;
            for &batch in own {
                starts.push(load / speed);
                let start = if batch == 0 { 0 } else { ends[batch as usize - 1] };
                let sequences = &order[start as usize..ends[batch as usize] as usize];
                load = sequences.iter().fold(load, |load, &sequence| load + time_of(sequence));
            }
            loads.push(load);
        }
        let times: Vec<f64> = loads.iter().zip(speeds).map(|(load, speed)| load / speed).collect();
        // The two are sums in different orders, so the bound can be above by a rounding.
        let bound = times.iter().copied().fold(0.0, f64::max).min(bound);
        Self {
            order,
            ends,
            degrees,
            micro_batches: each as u32,
            batch_of,
            starts,
            loads,
            times,
            bound,
        }
    }
}
