//! The batches that fill no step: repeated, or broken up.

use crate::cut::batches::Batches;
use crate::cut::spans::Span;
use crate::cut::split::split_costliest;
use crate::plan::settings::Provenance;
use crate::plan::steps::{Steps, Time};

/// Takes `count` batches out of the order: the last ones, the fastest ones, or every so many of all
/// lengths. By place and not at random, so that on a ladder the shapes are the same in every epoch.
pub(crate) fn hold_out(mut order: Vec<u32>, count: usize, steps: Steps) -> (Vec<u32>, Vec<u32>) {
    match steps {
        Steps::InOrder => {
            let held = order.split_off(order.len() - count);
            (order, held)
        }
        Steps::Aligned => (order.split_off(count), order),
        Steps::Stratified => {
            let mut next = (0..count).map(|at| evenly(at, count, order.len())).peekable();
            let (mut kept, mut held) = (Vec::with_capacity(order.len()), Vec::new());
            for (place, &batch) in order.iter().enumerate() {
                let chosen = next.next_if_eq(&place).is_some();
                if chosen { &mut held } else { &mut kept }.push(batch);
            }
            (kept, held)
        }
    }
}

/// One of `count` places among `among`, evenly spaced.
fn evenly(at: usize, count: usize, among: usize) -> usize {
    (2 * at + 1) * among / (2 * count)
}

/// The held batches and as many of the kept ones again as fill a step with them.
pub(crate) fn filled(kept: &[u32], held: &[u32], per_step: usize, steps: Steps) -> Vec<u32> {
    let from = if kept.is_empty() { held } else { kept };
    let missing = per_step - held.len();
    let again = (0..missing).map(|at| match steps {
        // From the beginning, over and over.
        Steps::InOrder | Steps::Aligned => at % from.len(),
        Steps::Stratified => evenly(at, missing, from.len()),
    });
    held.iter().copied().chain(again.map(|at| from[at])).collect()
}

/// The batches to break up: those that fill no step, and whole steps besides until every place of
/// these steps can have a sequence. If that cannot be, all of them: then each sequence is a piece, and
/// as few as possible are repeated.
pub(crate) fn held_to_split(
    order: &[u32],
    parts: &[(u32, u32)],
    per_step: usize,
    steps: Steps,
) -> (Vec<u32>, Vec<u32>) {
    let left = order.len() % per_step;
    let whole = order.len() / per_step;
    // Twice as many each time, so that there are few attempts.
    let more = std::iter::once(0).chain((0..).map(|power| 1 << power));
    for more in more.take_while(|&more| more < 2 * whole.max(1)).map(|more| whole.min(more)) {
        let (kept, held) = hold_out(order.to_vec(), left + more * per_step, steps);
        let sequences: u64 = held.iter().map(|&batch| u64::from(parts[batch as usize].0)).sum();
        if sequences >= ((more + 1) * per_step) as u64 {
            return (kept, held);
        }
    }
    hold_out(order.to_vec(), order.len(), steps)
}

/// Breaks batches up into `count` pieces of nearly equal cost; with fewer sequences than that, one
/// each, and then the first again. Puts the pieces behind those that are there and returns their
/// numbers, short ones first.
///
/// A piece that has sequences of two batches is not larger than the second, which is the longer: so
/// it keeps the budget as that one did.
pub(crate) fn split(
    batches: &Batches,
    held: &[u32],
    count: usize,
    made: &Provenance,
    pieces: &mut Batches,
) -> Vec<u32> {
    let mut held = held.to_vec();
    if !made.packed {
        held.sort_by_key(|&batch| batches.pad(batch as usize).joint());
    }
    let mut pool = Batches::default();
    for batch in held {
        pool.push(batches.get(batch as usize), batches.pad(batch as usize));
    }
    let chosen =
        if made.packed { split_rows(&pool, count) } else { split_batches(&pool, count, made) };
    let first = (batches.len() + pieces.len()) as u32;
    for piece in &chosen {
        let sequences = piece.start as usize..(piece.start + piece.size) as usize;
        pieces.push(&pool.indices[sequences], piece.pad);
    }
    (0..count as u32).map(|at| first + at % chosen.len() as u32).collect()
}

fn split_batches(pool: &Batches, count: usize, made: &Provenance) -> Vec<Span> {
    let cost = |size: u32, length: u32| match made.time() {
        // All sizes of a length take the same time, and yet half a batch is better than none.
        Time::Length => Time::Cells.of(size, length),
        time => time.of(size, length),
    };
    let most = pool.shapes().map(|(size, length)| cost(size, length)).fold(0.0, f64::max);
    let (mut low, mut high) = (0.0, most);
    // Of two lengths neither batch need be the longer.
    let together = made.together || !pool.seconds.is_empty();
    let mut best = cut(pool, most, together, &cost);
    for _ in 0..30 {
        let middle = f64::midpoint(low, high);
        let tried = cut(pool, middle, together, &cost);
        if tried.len() <= count {
            (high, best) = (middle, tried);
        } else {
            low = middle;
        }
    }
    split_costliest(best, count, 1, &cost)
}

/// Breaks rows up into `count`, between sequences; those of most sequences are split. A part keeps
/// the batch length of its row, and with it the shape.
fn split_rows(rows: &Batches, count: usize) -> Vec<Span> {
    let sequences = |size: u32, _| f64::from(size);
    let mut chosen = split_costliest(rows.spans().collect(), count, 1, &sequences);
    chosen.sort_by_key(|piece| piece.pad.first.div_ceil(piece.size));
    chosen
}

/// Cuts the pool from the front into pieces of at most `limit`, or of one sequence. Batches that
/// belong `together` are cut, but never mixed.
fn cut(pool: &Batches, limit: f64, together: bool, cost: &impl Fn(u32, u32) -> f64) -> Vec<Span> {
    let mut pieces: Vec<Span> = Vec::new();
    let mut open: Option<Span> = None;
    let mut start = 0;
    for (at, (whole, length)) in pool.shapes().enumerate() {
        let mut left = whole;
        while left > 0 {
            let had = open.map_or(0, |piece| piece.size);
            // The most that the piece can have at this length.
            let (mut low, mut high) = (0, whole.saturating_sub(had).min(left));
            while low < high {
                let middle = low + (high - low).div_ceil(2);
                if cost(had + middle, length) <= limit { low = middle } else { high = middle - 1 }
            }
            let more = if had == 0 { low.max(1) } else { low };
            if more > 0 {
                let begun = open.map_or(start, |piece| piece.start);
                let size = had + more;
                open = Some(Span { start: begun, size, pad: pool.pad(at) });
                start += more;
                left -= more;
            }
            if left > 0 || together {
                pieces.extend(open.take());
            }
        }
    }
    pieces.extend(open);
    pieces
}
