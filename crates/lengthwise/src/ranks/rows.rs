//! Steps of packed rows, by how long each row takes.
//!
//! All rows are about equally long, and yet one that holds a long sequence takes far longer than one of short
//! sequences: attention counts pairs of positions. Ranks that are to finish together need rows of like times. A
//! step should also be a sample of the data. So a step takes one row from each stratum of a band of times, and the
//! bands are as few as the idle time allows.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::Range;

use crate::base::rng::{Purpose, Rng};
use crate::cut::batches::{Batches, Span, split_costliest};
use crate::data::lengths::Pad;
use crate::limit::capacity::Row;
use crate::math;
use crate::order::pack::{Filled, Piece, evenly};
use crate::plan::arrange::{Clock, Part};
use crate::plan::settings::Provenance;
use crate::shape::shapes::Shapes;

/// Bands are divided while ranks would wait for a larger share of their time.
const MOST_IDLE: f64 = 0.02;

/// A band that wastes less of its time is not divided: its rows are alike, and steps of all of them the better samples.
const LITTLE: f64 = 0.01;

/// What the last step may add to that.
const TAIL_IDLE: f64 = 0.005;

/// Steps of `per_step` rows for so many ranks, one after another. `kept` has the rows by time, and a whole number
/// of steps of them.
pub(crate) fn matched(
    kept: &[u32],
    parts: &[Part],
    (per_step, ranks): (usize, usize),
    rng: &Rng,
) -> Vec<u32> {
    let steps = kept.len() / per_step;
    if steps == 0 {
        return Vec::new();
    }
    let words = rng.words(Purpose::Match, kept.len() as u32).collect();
    let mut sums = vec![0.0];
    sums.extend(kept.iter().scan(0.0, |sum, &row| {
        *sum += parts[row as usize].time;
        Some(*sum)
    }));
    let slots = kept.to_vec();
    let mut matching = Matching { kept, parts, words, sums, per_step, ranks, slots };
    let work = matching.work(0..steps);
    // Times are not negative: their bits have their order.
    let mut bands = BinaryHeap::from([(matching.band(0..steps), Reverse(0), steps)]);
    let mut wasted = f64::from_bits(bands.iter().map(|band| band.0).sum());
    while wasted > MOST_IDLE * (work + wasted) {
        // The band that wastes most; a single step cannot be divided.
        let Some((own, Reverse(start), end)) = bands.pop() else { break };
        if end - start < 2 || f64::from_bits(own) < LITTLE * matching.work(start..end) {
            continue;
        }
        wasted -= f64::from_bits(own);
        let middle = matching.divide(start..end);
        for band in [start..middle, middle..end] {
            let own = matching.band(band.clone());
            wasted += f64::from_bits(own);
            bands.push((own, Reverse(band.start), band.end));
        }
    }
    matching.slots
}

struct Matching<'a> {
    kept: &'a [u32],
    parts: &'a [Part],
    /// A random number for every row.
    words: Vec<u32>,
    /// The time of all rows before each one.
    sums: Vec<f64>,
    per_step: usize,
    ranks: usize,
    slots: Vec<u32>,
}

impl Matching<'_> {
    /// Makes the steps of a band: each takes a random row from each of its strata. Gives the time that ranks wait, as
    /// its bits.
    fn band(&mut self, steps: Range<usize>) -> u64 {
        let (count, first) = (steps.len(), steps.start * self.per_step);
        for stratum in 0..self.per_step {
            let rows = first + stratum * count..first + (stratum + 1) * count;
            let mut drawn: Vec<(u32, u32)> =
                rows.map(|at| (self.words[at], self.kept[at])).collect();
            drawn.sort_unstable();
            for (step, (_, row)) in drawn.into_iter().enumerate() {
                self.slots[first + step * self.per_step + stratum] = row;
            }
        }
        let mut waiting = 0.0;
        let time = |row: u32| self.parts[row as usize].time;
        for step in self.slots[first..first + count * self.per_step].chunks(self.per_step) {
            let mut times: Vec<(f64, u32)> = step.iter().map(|&row| (time(row), row)).collect();
            let mut ranks = in_rounds(&mut times, self.ranks, 0);
            exchange(&mut ranks, time);
            let loads =
                ranks.iter().map(|(_, rows)| rows.iter().map(|&row| time(row)).sum::<f64>());
            let slowest = loads.clone().fold(0.0, f64::max);
            waiting += loads.map(|load| slowest - load).sum::<f64>();
        }
        waiting.to_bits()
    }

    /// The time of all rows of a band.
    fn work(&self, steps: Range<usize>) -> f64 {
        self.sums[steps.end * self.per_step] - self.sums[steps.start * self.per_step]
    }

    /// Where to divide a band, so that ranks wait least if each takes one row: a step waits for the row of the highest
    /// stratum.
    fn divide(&self, steps: Range<usize>) -> usize {
        let slowest = |from: usize, to: usize| {
            let rows = from * self.per_step..to * self.per_step;
            self.sums[rows.end] - self.sums[rows.end - (to - from)]
        };
        let waits = |&at: &usize| slowest(steps.start, at) + slowest(at, steps.end);
        let inner = steps.start + 1..steps.end;
        let best = inner.min_by(|a, b| waits(a).total_cmp(&waits(b)));
        best.unwrap_or(steps.end)
    }
}

/// The batches of each rank, and its number.
type OfRanks = Vec<(usize, Vec<u32>)>;

/// Divides the batches of a step among ranks, round by round: in each round, the slowest batch goes to the rank
/// with the least work so far. Among ranks with the same work, the one of this number comes first.
pub(crate) fn in_rounds(batches: &mut [(f64, u32)], ranks: usize, first: usize) -> OfRanks {
    batches.sort_by(|a, b| b.0.total_cmp(&a.0));
    let rounds = batches.len().div_ceil(ranks);
    let mut all: Vec<(f64, usize, Vec<u32>)> =
        (0..ranks).map(|rank| (0.0, (rank + first) % ranks, Vec::with_capacity(rounds))).collect();
    for batches in batches.chunks(ranks) {
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (&(time, batch), (load, _, own)) in batches.iter().zip(&mut all) {
            own.push(batch);
            *load += time;
        }
    }
    all.into_iter().map(|(_, rank, own)| (rank, own)).collect()
}

/// Exchanges batches between the slowest rank and the fastest, as long as that makes the slowest faster.
pub(crate) fn exchange(ranks: &mut OfRanks, time: impl Fn(u32) -> f64) {
    if ranks.iter().all(|(_, own)| own.len() < 2) {
        return;
    }
    let load = |own: &[u32]| own.iter().map(|&batch| time(batch)).sum::<f64>();
    let mut loads: Vec<f64> = ranks.iter().map(|(_, own)| load(own)).collect();
    for _ in 0..2 * ranks.len() {
        let by_load = |a: &usize, b: &usize| loads[*a].total_cmp(&loads[*b]);
        let (Some(slow), Some(fast)) =
            ((0..ranks.len()).max_by(by_load), (0..ranks.len()).min_by(by_load))
        else {
            return;
        };
        let apart = loads[slow] - loads[fast];
        // The exchange that leaves least between the two.
        let mut best = (apart, None);
        for (a, &gives) in ranks[slow].1.iter().enumerate() {
            for (b, &takes) in ranks[fast].1.iter().enumerate() {
                let left = (apart - 2.0 * (time(gives) - time(takes))).abs();
                if left < best.0 {
                    best = (left, Some((a, b)));
                }
            }
        }
        let Some((a, b)) = best.1.filter(|_| best.0 < 0.999 * apart) else { return };
        let (gives, takes) = (ranks[slow].1[a], ranks[fast].1[b]);
        (ranks[slow].1[a], ranks[fast].1[b]) = (takes, gives);
        (loads[slow], loads[fast]) = (load(&ranks[slow].1), load(&ranks[fast].1));
    }
}

/// The rows to divide among the last steps, where `order` has all rows by time: those that do not fill a step, and
/// whole steps besides until every slot can have a sequence. They are of all times, as far as no sequence in them
/// makes a step so long that ranks wait. Nothing if all rows have too few sequences.
pub(crate) fn held_to_split(
    order: &[u32],
    parts: &[Part],
    per_step: usize,
) -> Option<(Vec<u32>, Vec<u32>)> {
    let of = |at: usize| parts[order[at] as usize];
    let (whole, left) = (order.len() / per_step, order.len() % per_step);
    let work: f64 = (0..order.len()).map(|at| of(at).time).sum();
    let mean = work / order.len() as f64;
    // Twice as many each time, so that there are few attempts.
    let more = std::iter::once(0).chain((0..).map(|power| 1 << power));
    let chosen = more.take_while(|&more| more <= whole).find_map(|more| {
        let (count, slots) = (left + more * per_step, (more + 1) * per_step);
        let most = (mean * count as f64 + TAIL_IDLE * work) / slots as f64;
        let mut fitting: Vec<usize> =
            (0..order.len()).filter(|&at| of(at).largest <= most).collect();
        if fitting.len() < count {
            fitting = (0..order.len()).collect();
            fitting.sort_by(|&a, &b| of(a).largest.total_cmp(&of(b).largest));
            fitting.truncate(count);
            fitting.sort_unstable();
        }
        let place = |at: usize| fitting[math::evenly(at, count, fitting.len())];
        let chosen: Vec<usize> = (0..count).map(place).collect();
        let sequences: u64 = chosen.iter().map(|&at| u64::from(of(at).pieces)).sum();
        (sequences >= slots as u64).then_some(chosen)
    })?;
    let mut next = chosen.into_iter().peekable();
    let (held, kept) =
        (0..order.len()).partition::<Vec<usize>, _>(|at| next.next_if_eq(at).is_some());
    let rows = |places: Vec<usize>| places.into_iter().map(|at| order[at]).collect();
    Some((rows(kept), rows(held)))
}

/// The rows that fill steps, and a last step of the others and of rows again, where `order` has all rows by time: rows
/// of the middle, which take about the same time.
pub(crate) fn repeated(order: Vec<u32>, left: usize, per_step: usize) -> (Vec<u32>, Vec<u32>) {
    let start = (order.len() - left) / 2;
    let mut kept = order;
    let mut last: Vec<u32> = kept.drain(start..start + left).collect();
    let from = if kept.is_empty() { last.clone() } else { kept.clone() };
    let first = start.saturating_sub((per_step - left) / 2);
    last.extend((0..per_step - left).map(|at| from[(first + at) % from.len()]));
    (kept, last)
}

/// The sequences of these rows in up to `count` rows of about the same time, none of them longer, or of more
/// sequences, than the largest that there was. If they do not fit that way, the rows with the most sequences are
/// split. Groups stay together, and kinds apart.
pub(crate) fn divided(rows: &Batches, count: usize, made: &Provenance, clock: Clock) -> Batches {
    let lengths = clock.rows.unwrap_or_default();
    let longest = rows.padded().flat_map(|(row, pad)| clock.held(row, pad, lengths)).max();
    let limit = made.budget.row_cost(longest.unwrap_or(0)).filter(|_| made.shapes == Shapes::Exact);
    let piece = |(sequence, pad): (&u32, Pad)| {
        let held = clock.held(std::slice::from_ref(sequence), pad, lengths);
        let cost = held.clone().map(|length| clock.time.of_sequence(length)).sum();
        let part = limit.map_or(0.0, |limit| held.clone().map(|length| limit.part(length)).sum());
        let (length, size) = (held.clone().sum(), held.count() as u32);
        Piece { cost, key: cost, part, sequence: *sequence, length, size }
    };
    // A truncated sequence is cut to its row, and stays alone in it. So does what exceeds the budget.
    let is_cut = |(row, pad): &(&[u32], Pad)| {
        let whole = Pad { first: u32::MAX, ..*pad };
        let held: Vec<u32> = clock.held(row, whole, lengths).collect();
        let is_over = || row.len() == 1 && !made.admits_row_of(&held, pad.first, lengths);
        held.iter().any(|&length| length > pad.first) || is_over()
    };
    let (cut, whole): (Vec<_>, Vec<_>) = rows.padded().partition(is_cut);
    let mut paddings: Vec<u32> = whole.iter().map(|(_, pad)| pad.first).collect();
    paddings.sort_unstable();
    let capacity = paddings.last().copied().unwrap_or(0);
    let at_most = whole.iter().map(|(row, _)| clock.size(row)).max().unwrap_or(0);
    let mut kinds: BTreeMap<u32, OfKind> = BTreeMap::new();
    for &(row, pad) in &whole {
        let kind = kinds.entry(clock.kind(row)).or_default();
        kind.rows += 1;
        kind.pieces.extend(row.iter().map(|sequence| piece((sequence, pad))));
    }
    let row = Row { capacity, at_most };
    let left = count.saturating_sub(cut.len());
    let kinds = OfKind::share(kinds.into_values().collect(), left).into_iter();
    let parts = kinds.map(|mut kind| evenly(&mut kind.pieces, kind.rows, row));
    let parts = parts.collect::<Option<Vec<Vec<Filled>>>>().map(|parts| parts.concat());
    let parts = parts.unwrap_or_else(|| halves(&whole, left, clock));
    let mut divided = Batches::default();
    for part in parts.iter().filter(|part| !part.sequences.is_empty()) {
        let sum = part.positions as u32;
        let first = match &made.shapes {
            // Which rungs there are is known from the rows.
            Shapes::Ladder(_) => paddings[paddings.partition_point(|&padding| padding < sum)],
            shapes => shapes.alone(sum).min(capacity.into()) as u32,
        };
        divided.push(&part.sequences, Pad { first, second: 0 });
    }
    for (row, pad) in cut {
        divided.push(row, pad);
    }
    divided
}

/// Halves the rows with the most sequences until there are `count`.
fn halves(rows: &[(&[u32], Pad)], count: usize, clock: Clock) -> Vec<Filled> {
    let mut all = Batches::default();
    for &(row, pad) in rows {
        all.push(row, pad);
    }
    let halves = split_costliest(all.spans().collect(), count, 1, &|span| f64::from(span.size));
    let part = |half: Span| {
        let sequences = all.sequences(half);
        let held = clock.held(sequences, half.pad, clock.rows.unwrap_or_default());
        let positions = held.map(u64::from).sum();
        Filled { positions, sequences: sequences.to_vec(), ..Filled::default() }
    };
    halves.into_iter().map(part).collect()
}

/// The sequences of one kind that are to be divided, and among how many rows.
#[derive(Default)]
struct OfKind {
    pieces: Vec<Piece>,
    rows: usize,
}

impl OfKind {
    /// Raises the numbers of rows to `count` in all, for the kinds whose rows would take longest.
    fn share(mut kinds: Vec<Self>, count: usize) -> Vec<Self> {
        if let [one] = &mut kinds[..] {
            one.rows = count;
            return kinds;
        }
        let costs = kinds.iter().map(|kind| kind.pieces.iter().map(|piece| piece.cost).sum());
        let costs: Vec<f64> = costs.collect();
        for _ in kinds.iter().map(|kind| kind.rows).sum()..count {
            let each = |at: &usize| costs[*at] / kinds[*at].rows as f64;
            let divisible = (0..kinds.len()).filter(|&at| kinds[at].rows < kinds[at].pieces.len());
            let Some(most) = divisible.max_by(|a, b| each(a).total_cmp(&each(b))) else { break };
            kinds[most].rows += 1;
        }
        kinds
    }
}
