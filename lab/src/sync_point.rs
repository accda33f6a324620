//! What workers exchange at a sync point, and what all of them know afterwards.

use std::time::Duration;

use crate::report::{Together, WorkerEpoch};

use crate::{
    collective::{Collective, Lost},
    progress::Progress,
};

/// What a worker did since the last sync point.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Done {
    /// For how many seconds it computed.
    pub(crate) work: f64,
    /// How long its part in the last exchange took.
    pub(crate) exchange: f64,
    pub(crate) loss: f64,
    pub(crate) counted: u64,
    pub(crate) sequences: u64,
    pub(crate) frames: u64,
    pub(crate) cells: u64,
    pub(crate) peak_bytes: u64,
    pub(crate) batches: u64,
}

/// What a worker requests at the next sync point.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Requests {
    /// To stop, as soon as all is kept. One is enough to ask for it.
    pub stop: bool,
    /// To keep all that there is. What the first worker says counts.
    pub keep: bool,
    /// The longest time until the next sync point. What the first worker says counts.
    pub within: Duration,
}

/// What the workers agreed on at a sync point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Agreement {
    /// To stop.
    pub stop: bool,
    /// To keep all that there is.
    pub keep: bool,
    /// The mean loss over all workers since the last sync point.
    pub loss: f64,
    /// The part of all that was counted that this worker has counted.
    pub(crate) part: f64,
    /// The most steps until the next sync point.
    pub(crate) interval: u64,
}

const NUMBERS: usize = 12;

/// Exchanges what each worker did and requests, and adds the work of all to the progress.
pub(crate) fn synchronize(
    collective: &dyn Collective,
    done: &Done,
    requests: Requests,
    steps: u64,
    progress: &mut Progress,
) -> Result<Agreement, Lost> {
    // Steps that take no time need a bound, too.
    let step = (done.work / steps.max(1) as f64).max(1e-6);
    let next = (requests.within.as_secs_f64() / step).clamp(1.0, 1e6).floor();
    let mine: [f64; NUMBERS] = [
        done.work,
        done.exchange,
        done.loss,
        done.counted as f64,
        done.sequences as f64,
        done.frames as f64,
        done.cells as f64,
        done.peak_bytes as f64,
        f64::from(u8::from(requests.stop)),
        f64::from(u8::from(requests.keep)),
        next,
        done.batches as f64,
    ];
    let all = collective.share(&mine)?;
    let (all, _) = all.as_chunks::<NUMBERS>();
    let total = |number: usize| all.iter().map(|one| one[number]).sum::<f64>();
    let most = |number: usize| all.iter().map(|one| one[number]).fold(0.0, f64::max);
    let slowest = most(0);
    // The last to come does not wait, and so takes no longer than the exchange itself.
    let exchange = all.iter().map(|one| one[1]).fold(f64::INFINITY, f64::min);
    let current = &mut progress.current;
    current.seconds += slowest + exchange;
    let before = current.loss;
    for one in all {
        current.loss += one[2];
    }
    progress.counted += total(3) as u64;
    current.sequences += total(4) as u64;
    current.frames += total(5) as u64;
    current.cells += total(6) as u64;
    current.batches += total(11) as u64;
    current.peak_bytes = current.peak_bytes.max(most(7) as u64);
    // One worker may end what several began.
    if collective.size() > 1 || current.together.is_some() {
        let works = all.iter().map(|one| one[0]);
        add_work(current.together.get_or_insert_with(no_workers), works, slowest, exchange);
    }
    let counted = total(3);
    Ok(Agreement {
        stop: all.iter().any(|one| one[8] > 0.0),
        keep: all[0][9] > 0.0,
        loss: (current.loss - before) / counted.max(1.0),
        part: done.counted as f64 / counted.max(1.0),
        interval: all[0][10] as u64,
    })
}

/// Adds what each worker worked since the last sync point, and what it waited for the slowest.
fn add_work(
    together: &mut Together,
    works: impl ExactSizeIterator<Item = f64>,
    slowest: f64,
    exchange: f64,
) {
    together.exchange += exchange;
    let workers = &mut together.workers;
    // The number of workers may be another than at the beginning of the epoch.
    workers.resize(workers.len().max(works.len()), no_work());
    for (worker, work) in workers.iter_mut().zip(works) {
        worker.work += work;
        worker.wait += slowest - work;
    }
}

fn no_workers() -> Together {
    Together { wall: 0.0, exchange: 0.0, workers: Vec::new() }
}

fn no_work() -> WorkerEpoch {
    WorkerEpoch { work: 0.0, wait: 0.0, predicted: 0.0 }
}
