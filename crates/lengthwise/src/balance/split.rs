//! Sequences that several ranks share: how many share each, and when.

use crate::balance::degrees::{Choice, members};
use crate::balance::loads::{Before, Loads, NEAR, Unit, Work, costliest_first};
use crate::balance::settings::Balance;
use crate::balance::step::{Slots, Step};
use crate::error::Error;

/// The step with the degrees that take the least time, of those that were tried.
pub(super) fn split(lengths: &[u32], costs: &[f64], wanted: &Balance) -> Result<Step, Error> {
    let choice = Choice::new(lengths, costs, wanted)?;
    let bound = choice.lower_bound();
    let mut search = Search::new(&choice, bound)?;
    search.explore();
    search.use_fewer_micro_batches();
    let best = search.best;
    let time_of = |sequence: u32| choice.time(sequence as usize, best.levels[sequence as usize]);
    Ok(Step::new(best.slots(&choice), time_of, &vec![1.0; wanted.ranks as usize], bound))
}

impl Choice<'_> {
    /// Every sequence at its level, with at most this many micro-batches on each rank.
    fn divided(&self, levels: &[u8], most: usize, bound: f64) -> Option<Division> {
        (self.start(levels).min(most)..=most).find_map(|each| self.divided_by(levels, each, bound))
    }

    /// The sequences of the highest degree come first, so that all ranks of a group are always done at once with
    /// what they share: no rank waits before the end.
    fn divided_by(&self, levels: &[u8], each: usize, bound: f64) -> Option<Division> {
        let mut batches = Vec::new();
        let mut before = Before::nothing(self.ranks);
        for level in self.levels().rev() {
            let sequences = members(levels, level);
            if sequences.is_empty() {
                continue;
            }
            let degree = self.degree(level);
            let groups = Before {
                costs: before.costs.iter().copied().step_by(degree).collect(),
                taken: before.taken.iter().copied().step_by(degree).collect(),
            };
            let items = self.items(&sequences, level);
            let units: Vec<Unit> = items
                .iter()
                .zip(0..)
                .map(|(item, at)| Unit { items: at..at + 1, cost: item.cost })
                .collect();
            let speeds = vec![1.0; groups.costs.len()];
            let work = Work {
                items: &items,
                units: &units,
                capacity: self.capacity,
                one_kind: self.kinds.is_none(),
                speeds: &speeds,
                equal: false,
            };
            let order = costliest_first(&units);
            let mut loads = Loads::new(work, each, groups.clone());
            if !loads.fill(&order) {
                loads = Loads::new(work, each, groups.clone());
                if !loads.fill_packed() {
                    return None;
                }
            }
            loads.refine(&order, bound);
            if level == 0 {
                loads.share_out(loads.slowest());
                loads.even_out();
            }
            let mut filled: Vec<Batch> = Vec::new();
            let mut number_of = vec![usize::MAX; each * speeds.len()];
            for (item, &bin) in loads.bin_of.iter().enumerate() {
                let number = &mut number_of[bin as usize];
                if *number == usize::MAX {
                    *number = filled.len();
                    let first = bin as usize / each * degree;
                    filled.push(Batch { first, level, time: 0.0, sequences: Vec::new() });
                }
                filled[*number].time += items[item].cost;
                filled[*number].sequences.push(sequences[item]);
            }
            for batch in &filled {
                before.taken[batch.first..batch.first + degree]
                    .iter_mut()
                    .for_each(|own| *own += 1);
            }
            for (group, &cost) in loads.costs.iter().enumerate() {
                before.costs[group * degree..(group + 1) * degree].fill(cost);
            }
            // Ranks that wait for each other after every micro-batch wait least if all have the longest first.
            filled.sort_by(|a, b| a.first.cmp(&b.first).then(b.time.total_cmp(&a.time)));
            batches.append(&mut filled);
        }
        for first in (0..self.ranks).step_by(self.degree(0)) {
            let empty = || Batch { first, level: 0, time: 0.0, sequences: Vec::new() };
            batches.extend((before.taken[first]..each).map(|_| empty()));
        }
        let time = before.costs.iter().copied().fold(0.0, f64::max);
        Some(Division { levels: levels.to_vec(), batches, each, costs: before.costs, time })
    }
}

/// A micro-batch of the group of ranks that starts with `first`.
#[derive(Clone)]
struct Batch {
    first: usize,
    level: u8,
    time: f64,
    sequences: Vec<u32>,
}

/// All sequences at their levels.
#[derive(Clone)]
struct Division {
    levels: Vec<u8>,
    /// Those of the highest degree first.
    batches: Vec<Batch>,
    each: usize,
    /// How long each rank takes.
    costs: Vec<f64>,
    time: f64,
}

impl Division {
    /// The sequences of the slowest rank, the costliest first: one of each length, and only the first ones.
    fn costliest_of_slowest(&self, choice: &Choice) -> Vec<usize> {
        let slowest = (0..choice.ranks).max_by(|&a, &b| self.costs[a].total_cmp(&self.costs[b]));
        let slowest = slowest.unwrap_or(0);
        let has = |batch: &&Batch| {
            (batch.first..batch.first + choice.degree(batch.level)).contains(&slowest)
        };
        let sequences = self.batches.iter().filter(has).flat_map(|batch| &batch.sequences);
        let mut own: Vec<usize> = sequences.map(|&sequence| sequence as usize).collect();
        let time = |at: usize| choice.time(at, self.levels[at]);
        own.sort_unstable_by(|&a, &b| time(b).total_cmp(&time(a)).then(a.cmp(&b)));
        own.dedup_by_key(|at| (choice.lengths[*at], self.levels[*at]));
        own.truncate(MOVED);
        own
    }

    /// Which micro-batches each rank has.
    fn slots(&self, choice: &Choice) -> Slots {
        let mut of_rank: Vec<Vec<usize>> = vec![Vec::with_capacity(self.each); choice.ranks];
        for (number, batch) in self.batches.iter().enumerate() {
            let sharing = &mut of_rank[batch.first..][..choice.degree(batch.level)];
            for own in sharing {
                own.push(number);
            }
        }
        let mut slots = Slots::new(self.each);
        let mut numbers: Vec<Option<u32>> = vec![None; self.batches.len()];
        for number in of_rank.into_iter().flatten() {
            let Batch { sequences, level, .. } = &self.batches[number];
            let add = || slots.add(sequences, choice.degrees[*level as usize]);
            let known = *numbers[number].get_or_insert_with(add);
            slots.batch_of.push(known);
        }
        slots
    }
}

/// The best division so far.
struct Search<'a> {
    choice: &'a Choice<'a>,
    bound: f64,
    /// How many may still be tried.
    left: usize,
    best: Division,
}

impl<'a> Search<'a> {
    /// Begins with each sequence on as few ranks as the capacity allows. Refuses what needs more micro-batches than
    /// there can be.
    fn new(choice: &'a Choice<'a>, bound: f64) -> Result<Self, Error> {
        if let Some(best) = choice.divided(&choice.lowest, choice.most, bound) {
            return Ok(Self { choice, bound, left: choice.tries(), best });
        }
        let (of, expected) =
            ("the largest number of micro-batches", "more: so few cannot hold all sequences");
        Err(Error::bad_value(of, &choice.most, expected))
    }

    fn is_good_enough(&self, time: f64) -> bool {
        time <= (1.0 + NEAR) * self.bound
    }

    /// Tries limits of the time of a sequence. What is found with each is improved if there are many tries.
    fn explore(&mut self) {
        let each = self.left / (2 * SHARES.len());
        let mut last = self.best.levels.clone();
        self.improve_best(each);
        for share in SHARES {
            let levels = self.choice.within(share * self.bound);
            if levels == last || self.is_good_enough(self.best.time) {
                continue;
            }
            if let Some(found) = self.attempt(&levels) {
                let found = self.improved(found, each);
                // More sequences are split only if it is worth it.
                self.keep(found, 1.0 - NEAR);
            }
            last = levels;
        }
        self.improve_best(self.left);
    }

    fn improve_best(&mut self, tries: usize) {
        let found = self.improved(self.best.clone(), tries);
        self.keep(found, 1.0 - NEAR);
    }

    fn attempt(&mut self, levels: &[u8]) -> Option<Division> {
        self.left = self.left.checked_sub(1)?;
        self.choice.divided(levels, self.choice.most, self.bound)
    }

    /// Keeps a division that takes at most this share of the time of the best one.
    fn keep(&mut self, found: Division, share: f64) -> bool {
        let is_better = found.time <= share * self.best.time;
        if is_better {
            self.best = found;
        }
        is_better
    }

    /// Tries other levels for one sequence after another of the slowest rank, as long as it becomes faster.
    fn improved(&mut self, mut division: Division, tries: usize) -> Division {
        let least = self.left.saturating_sub(tries);
        while let Some(found) = self.next(&division, least) {
            division = found;
        }
        division
    }

    /// The first division that takes less time with one sequence at another level.
    fn next(&mut self, division: &Division, least: usize) -> Option<Division> {
        let choice = self.choice;
        let mut levels = division.levels.clone();
        for at in division.costliest_of_slowest(choice) {
            let own = levels[at];
            for level in [own + 1, own.wrapping_sub(1)] {
                let can_be = (choice.lowest[at]..choice.degrees.len() as u8).contains(&level);
                if !can_be || self.left <= least || self.is_good_enough(division.time) {
                    continue;
                }
                levels[at] = level;
                let found = self.attempt(&levels);
                if let Some(found) = found.filter(|found| found.time < GAIN * division.time) {
                    return Some(found);
                }
            }
            levels[at] = own;
        }
        None
    }

    /// The same levels with fewer micro-batches, as long as that takes no longer.
    fn use_fewer_micro_batches(&mut self) {
        let fewest = self.choice.fewest(&self.best.levels).max(self.choice.least);
        while self.best.each > fewest {
            let each = self.best.each - 1;
            let fewer = self.choice.divided_by(&self.best.levels, each, self.bound);
            if !fewer.is_some_and(|fewer| self.keep(fewer, 1.0)) {
                return;
            }
        }
    }
}

/// What a sequence may take at most, as a share of the least time of the step: what takes longer is split further.
const SHARES: [f64; 12] =
    [1.3, 1.1, 1.02, 1.0 + 2.0 * NEAR, 1.0, 0.9, 0.75, 0.6, 0.5, 0.35, 0.25, 0.12];
/// So many sequences of the slowest rank are tried at other levels.
const MOVED: usize = 12;
/// A time above this share of another one is the same.
const GAIN: f64 = 1.0 - 1e-6;
