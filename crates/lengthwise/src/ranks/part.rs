//! Batches that take part in steps, and which of them are held back.

use crate::plan::steps::{Steps, Time};

/// A batch that takes part.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    pub(crate) size: u32,
    pub(crate) length: u32,
}

impl Part {
    pub(crate) fn time(self, time: Time) -> f64 {
        time.of(self.size, self.length)
    }
}

/// Takes `count` batches out of the order: the last ones, the fastest ones, or every so many of all
/// lengths. By place and not at random, so that on a ladder the shapes are the same in every epoch.
pub(crate) fn hold_out(mut order: Vec<u32>, count: usize, steps: Steps) -> (Vec<u32>, Vec<u32>) {
    match steps {
        Steps::InOrder => {
            let held = order.split_off(order.len() - count);
            (order, held)
        }
        Steps::Aligned => {
            let kept = order.split_off(count);
            (kept, order)
        }
        Steps::Stratified => {
            let mut next = evenly(count, order.len()).peekable();
            let (mut kept, mut held) = (Vec::with_capacity(order.len()), Vec::new());
            for (place, batch) in order.into_iter().enumerate() {
                let chosen = next.next_if_eq(&place).is_some();
                if chosen { &mut held } else { &mut kept }.push(batch);
            }
            (kept, held)
        }
    }
}

/// `count` places among `among`, evenly spaced.
pub(crate) fn evenly(count: usize, among: usize) -> impl Iterator<Item = usize> {
    (0..count).map(move |at| (2 * at + 1) * among / (2 * count))
}
