//! Units of work on ranks, and exchanges of them until all ranks work equally long.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, binary_heap::PeekMut};
use std::ops::Range;

use crate::balance::bins::{Bin, Item, packed};

/// What is divided, and by which limits.
#[derive(Clone, Copy)]
pub(crate) struct Work<'a> {
    pub(crate) items: &'a [Item],
    /// What stays on one rank: the items of each unit are one after another, the largest first.
    pub(crate) units: &'a [Unit],
    /// The positions of a micro-batch.
    pub(crate) capacity: u64,
    /// Whether all items can share a micro-batch.
    pub(crate) one_kind: bool,
    /// How fast each rank is.
    pub(crate) speeds: &'a [f64],
    /// Whether every rank has the same number of units.
    pub(crate) equal: bool,
}

/// Items that stay on one rank.
#[derive(Clone, Debug)]
pub(crate) struct Unit {
    pub(crate) items: Range<usize>,
    pub(crate) cost: f64,
}

/// Where everything is.
pub(crate) struct Loads<'a> {
    work: Work<'a>,
    /// Micro-batches of a rank.
    each: usize,
    /// The bin of each item; those of a rank come one after another.
    pub(crate) bin_of: Vec<u32>,
    bins: Vec<Bin>,
    /// The cost of all items of each rank, and of what it had before.
    pub(crate) costs: Vec<f64>,
    /// How many micro-batches of each rank are taken already: its first ones.
    taken: Vec<usize>,
    /// Whether everything has space everywhere.
    is_unlimited: bool,
    /// The units of each rank, the costliest first.
    members: Vec<Vec<u32>>,
    scratch: Vec<Bin>,
    /// Where the items of a unit would go.
    found: Vec<u32>,
}

/// A unit of one rank for none or one of another, and how long the slower of both takes then.
struct Exchange {
    gives: u32,
    takes: Option<u32>,
    slower: f64,
}

/// A time this near to the least possible one is good enough.
pub(crate) const NEAR: f64 = 5e-4;
/// So many ranks are tried as partners of the slowest one, and so many units around the best one.
const PARTNERS: usize = 12;
const AROUND: usize = 6;
/// A smaller gain is one of rounding.
const GAIN: f64 = 1e-12;

/// What the ranks have already: work, and micro-batches that nothing else can join.
#[derive(Clone, Debug, Default)]
pub(crate) struct Before {
    pub(crate) costs: Vec<f64>,
    pub(crate) taken: Vec<usize>,
}

impl Before {
    /// Nothing.
    pub(crate) fn nothing(ranks: usize) -> Self {
        Self { costs: vec![0.0; ranks], taken: vec![0; ranks] }
    }
}

impl<'a> Loads<'a> {
    pub(crate) fn new(work: Work<'a>, each: usize, before: Before) -> Self {
        let ranks = work.speeds.len();
        Self {
            work,
            each,
            bin_of: vec![u32::MAX; work.items.len()],
            bins: vec![Bin::default(); each * ranks],
            is_unlimited: work.one_kind
                && work.capacity == u64::MAX
                && before.taken.iter().all(|&taken| taken < each),
            costs: before.costs,
            taken: before.taken,
            members: vec![Vec::new(); ranks],
            scratch: Vec::with_capacity(each),
            found: Vec::new(),
        }
    }

    pub(crate) fn time(&self, rank: usize) -> f64 {
        self.costs[rank] / self.work.speeds[rank]
    }

    /// How long the slowest rank takes.
    pub(crate) fn slowest(&self) -> f64 {
        (0..self.costs.len()).map(|rank| self.time(rank)).fold(0.0, f64::max)
    }

    /// The micro-batches of a rank that can be filled.
    fn open(&self, rank: usize) -> Range<usize> {
        rank * self.each + self.taken[rank]..(rank + 1) * self.each
    }

    /// Whether the items of a unit have space on a rank without another unit of it; finds where, each in the
    /// micro-batch in which it leaves the least.
    fn finds(&mut self, rank: usize, unit: u32, without: Option<u32>) -> bool {
        let own = self.open(rank);
        let first = own.start;
        let Work { items, units, capacity, .. } = self.work;
        let unit = &items[units[unit as usize].items.clone()];
        self.found.clear();
        if let (None, [item]) = (without, unit) {
            let bin = best_bin(&self.bins[own], item, capacity);
            self.found.extend(bin.map(|bin| (first + bin) as u32));
            return bin.is_some();
        }
        self.scratch.clear();
        self.scratch.extend_from_slice(&self.bins[own]);
        for item in without.into_iter().flat_map(|unit| units[unit as usize].items.clone()) {
            self.scratch[self.bin_of[item] as usize - first].remove(&items[item]);
        }
        for item in unit {
            let Some(bin) = best_bin(&self.scratch, item, capacity) else { return false };
            self.scratch[bin].add(item);
            self.found.push((first + bin) as u32);
        }
        true
    }

    /// Puts a unit where it was found to have space.
    fn put_found(&mut self, unit: u32) {
        let found = std::mem::take(&mut self.found);
        self.put(unit, &found);
        self.found = found;
    }

    /// Puts a unit into these bins.
    fn put(&mut self, unit: u32, places: &[u32]) {
        let Work { items, units, .. } = self.work;
        let unit = &units[unit as usize];
        for (item, &bin) in unit.items.clone().zip(places) {
            self.bins[bin as usize].add(&items[item]);
            self.bin_of[item] = bin;
        }
        if let Some(&bin) = places.first() {
            self.costs[bin as usize / self.each] += unit.cost;
        }
    }

    /// Puts every unit, the costliest first, on the rank that has the least to do and space for it. Stops if
    /// there is none. `order` has the costliest first.
    pub(crate) fn fill(&mut self, order: &[u32]) -> bool {
        if self.work.equal {
            return self.fill_in_rounds(order);
        }
        let mut full: Vec<Reverse<(u64, u32)>> = Vec::new();
        // Numbers that are not negative have the order of their bits.
        let start = |rank: u32| Reverse((self.time(rank as usize).to_bits(), rank));
        let mut ranks: BinaryHeap<_> = (0..self.costs.len() as u32).map(start).collect();
        for &unit in order {
            loop {
                let Some(mut least) = ranks.peek_mut() else { return false };
                let rank = least.0.1 as usize;
                if self.finds(rank, unit, None) {
                    let cost = self.costs[rank] + self.work.units[unit as usize].cost;
                    least.0.0 = (cost / self.work.speeds[rank]).to_bits();
                    break;
                }
                full.push(PeekMut::pop(least));
            }
            ranks.extend(full.drain(..));
            self.put_found(unit);
        }
        true
    }

    /// The same with one unit for every rank in each round.
    fn fill_in_rounds(&mut self, order: &[u32]) -> bool {
        let mut ranks: Vec<usize> = (0..self.costs.len()).collect();
        for round in order.chunks(ranks.len()) {
            ranks.sort_unstable_by(|&a, &b| self.time(a).total_cmp(&self.time(b)).then(a.cmp(&b)));
            for (&unit, &rank) in round.iter().zip(&ranks) {
                if !self.finds(rank, unit, None) {
                    return false;
                }
                self.put_found(unit);
            }
        }
        true
    }

    /// The same for units of one item, if it failed: packs micro-batches as full as they can be, and puts them on
    /// ranks.
    pub(crate) fn fill_packed(&mut self) -> bool {
        let count = self.bins.len() - self.taken.iter().sum::<usize>();
        let found = packed(self.work.items, self.work.capacity, count);
        found.is_some_and(|packed| {
            self.fill_from(&packed, count);
            true
        })
    }

    /// Takes micro-batches as they were packed, for units of one item: the costliest first, each on the rank that
    /// is done first with it.
    fn fill_from(&mut self, packed: &[u32], count: usize) {
        let Work { items, speeds, .. } = self.work;
        let mut costs: Vec<(f64, usize)> = (0..count).map(|bin| (0.0, bin)).collect();
        for (item, &bin) in items.iter().zip(packed) {
            costs[bin as usize].0 += item.cost;
        }
        costs.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let (mut filled, mut loads) = (self.taken.clone(), self.costs.clone());
        let mut renamed = vec![0; count];
        for (cost, bin) in costs {
            let open = (0..speeds.len()).filter(|&rank| filled[rank] < self.each);
            let time = |rank: usize| (loads[rank] + cost) / speeds[rank];
            let Some(rank) = open.min_by(|&a, &b| time(a).total_cmp(&time(b))) else { break };
            renamed[bin] = (rank * self.each + filled[rank]) as u32;
            filled[rank] += 1;
            loads[rank] += cost;
        }
        for unit in 0..self.work.units.len() as u32 {
            let item = self.work.units[unit as usize].items.start;
            self.put(unit, &[renamed[packed[item] as usize]]);
        }
    }

    /// Exchanges units of the slowest rank, until it takes about `least`, or nothing helps.
    pub(crate) fn refine(&mut self, order: &[u32], least: f64) {
        self.list_members(order);
        let ranks = self.costs.len();
        let mut by_time: Vec<usize> = (0..ranks).collect();
        for _ in 0..40 + 8 * ranks {
            by_time
                .sort_unstable_by(|&a, &b| self.time(a).total_cmp(&self.time(b)).then(a.cmp(&b)));
            let Some((&slowest, others)) = by_time.split_last() else { return };
            if self.time(slowest) <= (1.0 + NEAR) * least {
                return;
            }
            // The fastest ones, and others that are evenly spaced.
            let (fastest, rest) = others.split_at(PARTNERS.min(others.len()));
            let spaced = rest.iter().step_by(1 + rest.len() / PARTNERS);
            let mut best: Option<(usize, Exchange)> = None;
            for &other in fastest.iter().chain(spaced) {
                if let Some(found) = self.exchange(slowest, other)
                    && best.as_ref().is_none_or(|(_, best)| found.slower < best.slower)
                {
                    let enough = found.slower <= f64::midpoint(self.time(slowest), least);
                    best = Some((other, found));
                    if enough {
                        break;
                    }
                }
            }
            let Some((other, exchange)) = best else { return };
            self.carry_out([slowest, other], &exchange);
        }
    }

    fn list_members(&mut self, order: &[u32]) {
        self.members.iter_mut().for_each(Vec::clear);
        for &unit in order {
            let item = self.work.units[unit as usize].items.start;
            self.members[self.bin_of[item] as usize / self.each].push(unit);
        }
    }

    fn cost(&self, unit: u32) -> f64 {
        self.work.units[unit as usize].cost
    }

    /// The best exchange between a slow rank and a faster one, if any makes the slower of both faster.
    fn exchange(&mut self, slow: usize, fast: usize) -> Option<Exchange> {
        let before = self.time(slow);
        let [s, f] = [slow, fast].map(|rank| self.work.speeds[rank]);
        // Both would take equally long if the slow rank had so much less to do, and the other so much more.
        let wanted = (before - self.time(fast)) * s * f / (s + f);
        let mut best: Option<Exchange> = None;
        let (mut given, mut last) = (0, f64::NAN);
        while let Some(&gives) = self.members[slow].get(given) {
            given += 1;
            let cost = self.cost(gives);
            // A unit of the same cost can do no more, unless there may be space for one and not for the other.
            if self.is_unlimited && cost.total_cmp(&last).is_eq() {
                continue;
            }
            last = cost;
            let ideal = cost - wanted;
            let place = self.members[fast].partition_point(|&unit| self.cost(unit) > ideal);
            let from = place.saturating_sub(AROUND / 2);
            let alone = (!self.work.equal).then_some(None);
            let around = (from..self.members[fast].len().min(from + AROUND)).map(Some);
            for at in alone.into_iter().chain(around) {
                let takes = at.map(|at| self.members[fast][at]);
                let more = cost - takes.map_or(0.0, |unit| self.cost(unit));
                let slower = f64::max((self.costs[slow] - more) / s, (self.costs[fast] + more) / f);
                let limit = best.as_ref().map_or(before * (1.0 - GAIN), |best| best.slower);
                if slower < limit
                    && (self.is_unlimited
                        || self.finds(fast, gives, takes)
                            && takes.is_none_or(|unit| self.finds(slow, unit, Some(gives))))
                {
                    best = Some(Exchange { gives, takes, slower });
                }
            }
        }
        best
    }

    fn carry_out(&mut self, [slow, fast]: [usize; 2], &Exchange { gives, takes, .. }: &Exchange) {
        self.finds(fast, gives, takes);
        let into = self.found.clone();
        let mut back = Vec::new();
        if let Some(unit) = takes {
            self.finds(slow, unit, Some(gives));
            back.clone_from(&self.found);
            self.take(unit, fast);
        }
        self.take(gives, slow);
        for (unit, rank, places) in [(Some(gives), fast, into), (takes, slow, back)] {
            let Some(unit) = unit else { continue };
            self.put(unit, &places);
            let cost = self.cost(unit);
            let at = self.members[rank].partition_point(|&member| self.cost(member) > cost);
            self.members[rank].insert(at, unit);
        }
    }

    fn take(&mut self, unit: u32, rank: usize) {
        let Work { items, units, .. } = self.work;
        for item in units[unit as usize].items.clone() {
            self.bins[self.bin_of[item] as usize].remove(&items[item]);
        }
        self.costs[rank] -= self.cost(unit);
        self.members[rank].retain(|&member| member != unit);
    }

    /// Gives ranks that have fewer units than micro-batches some of the cheapest of others, as long as these have
    /// more: an empty micro-batch is work for nothing. No rank takes longer than `longest` by that.
    pub(crate) fn share_out(&mut self, longest: f64) {
        if self.work.equal {
            return;
        }
        for poor in 0..self.costs.len() {
            while self.members[poor].len() < self.open(poor).len() {
                let ranks = 0..self.costs.len();
                let rich = ranks.filter(|&rank| self.members[rank].len() > self.open(rank).len());
                let Some(rich) = rich.max_by(|&a, &b| self.time(a).total_cmp(&self.time(b))) else {
                    return;
                };
                let cheapest = self.members[rich].iter().rev().copied();
                let cheapest: Vec<u32> = cheapest.take(AROUND).collect();
                let found = cheapest.into_iter().find(|&unit| {
                    let time = (self.costs[poor] + self.cost(unit)) / self.work.speeds[poor];
                    time <= longest && self.finds(poor, unit, None)
                });
                let Some(gives) = found else { break };
                let slower = 0.0;
                self.carry_out([rich, poor], &Exchange { gives, takes: None, slower });
            }
        }
    }

    /// Divides the items of each rank evenly among its micro-batches: the largest first, each into the one with
    /// the fewest positions. Where they do not fit like that, they stay, and no micro-batch is empty if another
    /// one can give.
    pub(crate) fn even_out(&mut self) {
        if self.each == 1 {
            return;
        }
        let Work { items, capacity, .. } = self.work;
        let mut of_rank: Vec<Vec<usize>> = vec![Vec::new(); self.costs.len()];
        for (item, &bin) in self.bin_of.iter().enumerate() {
            of_rank[bin as usize / self.each].push(item);
        }
        for (rank, mut own) in of_rank.into_iter().enumerate() {
            own.sort_by_key(|&item| Reverse(items[item].tokens));
            let open = self.open(rank);
            let mut bins = vec![Bin::default(); open.len()];
            let even: Option<Vec<usize>> = own
                .iter()
                .map(|&item| {
                    let fits =
                        (0..bins.len()).filter(|&bin| bins[bin].takes(&items[item], capacity));
                    let bin = fits.min_by_key(|&bin| (bins[bin].tokens, bins[bin].items, bin))?;
                    bins[bin].add(&items[item]);
                    Some(bin)
                })
                .collect();
            if let Some(places) = even {
                for (item, bin) in own.into_iter().zip(places) {
                    self.bin_of[item] = (open.start + bin) as u32;
                }
            } else {
                self.fill_empty(rank, &own);
            }
        }
    }

    /// Gives each empty micro-batch of a rank an item of the one with the most.
    fn fill_empty(&mut self, rank: usize, own: &[usize]) {
        let bins = self.open(rank);
        for empty in bins.clone() {
            if self.bins[empty].items > 0 {
                continue;
            }
            let Some(fullest) = bins.clone().max_by_key(|&bin| self.bins[bin].items) else {
                return;
            };
            let Some(&item) = own.iter().find(|&&item| self.bin_of[item] as usize == fullest)
            else {
                return;
            };
            if self.bins[fullest].items < 2 {
                return;
            }
            self.bins[fullest].remove(&self.work.items[item]);
            self.bins[empty].add(&self.work.items[item]);
            self.bin_of[item] = empty as u32;
        }
    }
}

/// The bin in which the item leaves the least space, if it fits into any; an empty one last.
fn best_bin(bins: &[Bin], item: &Item, capacity: u64) -> Option<usize> {
    let fits = (0..bins.len()).filter(|&bin| bins[bin].takes(item, capacity));
    fits.max_by_key(|&bin| (bins[bin].tokens, Reverse(bin)))
}

/// Units in the order in which they are placed.
pub(crate) fn costliest_first(units: &[Unit]) -> Vec<u32> {
    // Numbers that are not negative have the order of their bits.
    let mut keys: Vec<(u64, u32)> =
        units.iter().zip(0..).map(|(unit, at)| (!unit.cost.to_bits(), at)).collect();
    keys.sort_unstable();
    keys.into_iter().map(|(_, at)| at).collect()
}
