//! Divides whole sequences, and costs.

use crate::balance::bins::{Item, least};
use crate::balance::loads::{Before, Loads, Unit, Work, costliest_first};
use crate::balance::settings::{Balance, check_count};
use crate::balance::split::split;
use crate::balance::step::{Slots, Step};
use crate::data::units::Together;
use crate::error::Error;

/// Divides the sequences of one step over ranks and micro-batches: the same number of micro-batches on every rank,
/// none over the capacity, the fewest that fit, and about the same work for every rank. A length can be 0. With
/// [`Balance::split`] there can be more micro-batches than the fewest, if that makes the step shorter.
pub fn balance(lengths: &[u32], wanted: &Balance) -> Result<Step, Error> {
    let cost = |length: u32| match wanted.cost {
        None => f64::from(length),
        Some(model) => model.of_sequence(length),
    };
    wanted.check(lengths)?;
    let costs: Vec<f64> = lengths.iter().map(|&length| cost(length)).collect();
    if wanted.split.is_some() {
        return split(lengths, &costs, wanted);
    }
    let speeds = wanted.speeds.clone().unwrap_or_else(|| vec![1.0; wanted.ranks as usize]);
    let capacity = wanted.capacity.map_or(u64::MAX, u64::from);
    let parts = wanted.parts(lengths, &costs);
    check_capacity(&parts, lengths, wanted.capacity)?;
    let Parts { items, units, .. } = &parts;
    let one_kind = wanted.kinds.is_none();
    let work = Work { items, units, capacity, one_kind, speeds: &speeds, equal: false };
    let bound = lower_bound(work);
    let fewest = if wanted.capacity.is_none() && wanted.kinds.is_none() {
        1
    } else {
        least(items, capacity)
    };
    let fewest = fewest.div_ceil(u64::from(wanted.ranks)).max(1);
    let alone = units.len() == items.len();
    // A unit has all its items on one rank.
    let of_unit = |unit: &Unit| least(&items[unit.items.clone()], capacity);
    let of_units = if alone { 1 } else { units.iter().map(of_unit).max().unwrap_or(1) };
    let mut each = fewest.max(of_units).max(u64::from(wanted.least)) as usize;
    let order = costliest_first(units);
    let loads = loop {
        if let Some(most) = wanted.most.filter(|&most| each > most as usize) {
            let expected = format!("at least {each}: fewer cannot hold all sequences");
            return Err(Error::bad_value("the largest number of micro-batches", &most, expected));
        }
        wanted.check_micro_batches(each as u64, lengths.len())?;
        let before = Before::nothing(wanted.ranks as usize);
        let mut loads = Loads::new(work, each, before.clone());
        let filled = loads.fill(&order) || {
            loads = Loads::new(work, each, before);
            alone && loads.fill_packed()
        };
        if filled {
            loads.refine(&order, bound);
            loads.share_out(f64::INFINITY);
            loads.even_out();
            break loads;
        }
        each += 1;
    };
    let slots = unshared(&loads.bin_of, &parts, each, speeds.len());
    Ok(Step::new(slots, |sequence| costs[sequence as usize], &speeds, bound))
}

/// Divides costs into parts of about the same sum; if `equal`, the numbers of costs in two parts differ by at most
/// one. Returns the indices of each part, in rising order.
///
/// ```
/// let parts = lengthwise::balance::partitions(&[5.0, 4.0, 3.0, 2.0, 2.0], 2, false)?;
/// assert_eq!(parts, [vec![1, 3, 4], vec![0, 2]]); // 8 and 8
/// # Ok::<(), lengthwise::Error>(())
/// ```
pub fn partitions(costs: &[f64], parts: u32, equal: bool) -> Result<Vec<Vec<u32>>, Error> {
    check_count("the number of parts", parts, costs.len())?;
    let bad = costs.iter().position(|cost| !(cost.is_finite() && *cost >= 0.0));
    if let Some(index) = bad {
        return Err(Error::bad_value(format!("cost {index}"), &costs[index], "a number from 0"));
    }
    let items: Vec<Item> = costs.iter().map(|&cost| Item { tokens: 0, cost, kind: 0 }).collect();
    let unit = |(at, item): (usize, &Item)| Unit { items: at..at + 1, cost: item.cost };
    let units: Vec<Unit> = items.iter().enumerate().map(unit).collect();
    let speeds = vec![1.0; parts as usize];
    let (capacity, one_kind) = (u64::MAX, true);
    let work = Work { items: &items, units: &units, capacity, one_kind, speeds: &speeds, equal };
    let order = costliest_first(&units);
    let mut loads = Loads::new(work, 1, Before::nothing(parts as usize));
    loads.fill(&order);
    loads.refine(&order, lower_bound(work));
    loads.share_out(f64::INFINITY);
    let mut found = vec![Vec::new(); parts as usize];
    for (index, &part) in (0..).zip(&loads.bin_of) {
        found[part as usize].push(index);
    }
    Ok(found)
}

/// What is placed: the items, which sequences each of them has, and what stays on one rank.
struct Parts {
    items: Vec<Item>,
    /// The sequences of the first item, then those of the second, and so on; and where those of each end.
    sequences: Vec<u32>,
    ends: Vec<u32>,
    units: Vec<Unit>,
}

impl Parts {
    /// The sequences of an item.
    fn of(&self, item: usize) -> &[u32] {
        let start = if item == 0 { 0 } else { self.ends[item - 1] };
        &self.sequences[start as usize..self.ends[item] as usize]
    }
}

impl Balance {
    fn parts(&self, lengths: &[u32], costs: &[f64]) -> Parts {
        let kind = |sequence: usize| self.kinds.as_ref().map_or(0, |kinds| kinds[sequence]);
        let count = lengths.len();
        let Some((share, groups)) = &self.together else {
            let item = |(at, (&length, &cost)): (usize, (&u32, &f64))| Item {
                tokens: u64::from(length),
                cost,
                kind: kind(at),
            };
            return Parts {
                items: lengths.iter().zip(costs).enumerate().map(item).collect(),
                sequences: (0..count as u32).collect(),
                ends: (1..=count as u32).collect(),
                units: costs
                    .iter()
                    .zip(0..)
                    .map(|(&cost, at)| Unit { items: at..at + 1, cost })
                    .collect(),
            };
        };
        let mut order: Vec<usize> = (0..count).collect();
        let group = |sequence: usize| groups[sequence];
        order.sort_by_key(|&sequence| (group(sequence), std::cmp::Reverse(lengths[sequence])));
        let mut parts =
            Parts { items: Vec::new(), sequences: Vec::new(), ends: Vec::new(), units: Vec::new() };
        for members in order.chunk_by(|&a, &b| group(a) == group(b)) {
            let start = parts.items.len();
            let cost = members.iter().map(|&sequence| costs[sequence]).sum();
            let item = |members: &[usize]| Item {
                tokens: members.iter().map(|&sequence| u64::from(lengths[sequence])).sum(),
                cost: members.iter().map(|&sequence| costs[sequence]).sum(),
                kind: members.first().map_or(0, |&sequence| kind(sequence)),
            };
            let one = match share {
                Together::Batch => members.len(),
                Together::Rank => 1,
            };
            for members in members.chunks(one) {
                parts.items.push(item(members));
                parts.sequences.extend(members.iter().map(|&sequence| sequence as u32));
                parts.ends.push(parts.sequences.len() as u32);
            }
            parts.units.push(Unit { items: start..parts.items.len(), cost });
        }
        parts
    }
}

/// Refuses what no micro-batch can hold.
fn check_capacity(parts: &Parts, lengths: &[u32], capacity: Option<u32>) -> Result<(), Error> {
    let Some(capacity) = capacity else { return Ok(()) };
    let largest = parts.items.iter().map(|item| item.tokens).max().unwrap_or(0);
    if largest <= u64::from(capacity) {
        return Ok(());
    }
    let over = |item: &usize| parts.items[*item].tokens > u64::from(capacity);
    let all = (0..parts.items.len()).filter(over);
    let count = all.clone().count();
    let Some(item) = all.min_by_key(|&item| parts.of(item).first()) else { return Ok(()) };
    let (members, tokens) = (parts.of(item), parts.items[item].tokens);
    if let [sequence] = *members {
        let index = sequence as usize;
        return Err(Error::OverCapacity {
            index,
            length: lengths[index],
            cells: tokens,
            capacity,
            count,
            largest,
            treatment: "balance",
        });
    }
    let expected = format!(
        "at least {largest}: the {} sequences in the group of sequence {} have {tokens} positions",
        members.len(),
        members.iter().min().copied().unwrap_or_default(),
    );
    Err(Error::bad_value("the capacity", &capacity, expected))
}

fn lower_bound(work: Work) -> f64 {
    let (all, largest) = work
        .units
        .iter()
        .fold((0.0, 0.0), |(all, largest), unit| (all + unit.cost, f64::max(largest, unit.cost)));
    let fastest = work.speeds.iter().copied().fold(0.0, f64::max);
    f64::max(all / work.speeds.iter().sum::<f64>(), largest / fastest)
}

/// Micro-batches that no ranks share.
fn unshared(bin_of: &[u32], parts: &Parts, each: usize, ranks: usize) -> Slots {
    let mut batches: Vec<(f64, Vec<u32>)> = vec![(0.0, Vec::new()); each * ranks];
    for (item, &bin) in bin_of.iter().enumerate() {
        let (cost, sequences) = &mut batches[bin as usize];
        *cost += parts.items[item].cost;
        sequences.extend_from_slice(parts.of(item));
    }
    let mut slots = Slots::new(each);
    for rank in batches.chunks_mut(each) {
        // Ranks that wait for each other after every micro-batch wait least if all have the longest first.
        rank.sort_by(|a, b| b.0.total_cmp(&a.0));
        for (_, sequences) in rank {
            let number = slots.add(sequences, 1);
            slots.batch_of.push(number);
        }
    }
    slots
}
