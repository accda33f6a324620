//! Work on several threads, in parts that do not depend on how many threads there are.

use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;

/// More threads than this gain little: memory is the limit.
const MOST: usize = 8;

/// As many threads as this machine has for us.
pub(crate) fn available() -> usize {
    // Asking reads files on some systems.
    static AVAILABLE: OnceLock<usize> = OnceLock::new();
    *AVAILABLE.get_or_init(|| thread::available_parallelism().map_or(1, |n| n.get().min(MOST)))
}

/// Does all jobs on so many threads, this one among them, and gives the results in their order. If a
/// thread cannot be started the others do its work.
pub(crate) fn each<J: Send, R: Send>(
    threads: usize,
    jobs: Vec<J>,
    work: impl Fn(J) -> R + Sync,
) -> Vec<R> {
    // Compiled once, and called from two places.
    let work: &(dyn Fn(J) -> R + Sync) = &work;
    if threads < 2 || jobs.len() < 2 {
        return jobs.into_iter().map(work).collect();
    }
    let count = jobs.len();
    let queue = Mutex::new(jobs.into_iter().enumerate());
    let done: Mutex<Vec<Option<R>>> = Mutex::new((0..count).map(|_| None).collect());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    let worker = || {
        while let Some((place, job)) = next() {
            let result = work(job);
            done.lock().unwrap_or_else(PoisonError::into_inner)[place] = Some(result);
        }
    };
    together(threads.min(count), &worker);
    done.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().flatten().collect()
}

/// Runs the same worker on so many threads.
fn together(threads: usize, worker: &(dyn Fn() + Sync)) {
    thread::scope(|scope| {
        for _ in 1..threads {
            if thread::Builder::new().spawn_scoped(scope, worker).is_err() {
                break;
            }
        }
        worker();
    });
}

/// `0..count` in `parts` ranges of nearly equal size, each but the last a multiple of `multiple`.
pub(crate) fn ranges(count: usize, parts: usize, multiple: usize) -> Vec<std::ops::Range<usize>> {
    let size = count.div_ceil(parts).next_multiple_of(multiple).max(multiple);
    (0..count).step_by(size).map(|start| start..(start + size).min(count)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_jobs() {
        for threads in [1, 2, 7, 300] {
            let squares = each(threads, (0..100_u32).collect(), |job| job * job);
            assert_eq!(squares, (0..100).map(|job| job * job).collect::<Vec<u32>>());
        }
    }

    #[test]
    fn ranges_cover_everything_once() {
        for (count, parts) in [(0, 3), (1, 3), (64, 2), (65, 2), (1000, 7), (1000, 1)] {
            let ranges = ranges(count, parts, 64);
            assert!(ranges.len() <= parts);
            let all: Vec<usize> = ranges.into_iter().flatten().collect();
            assert_eq!(all, (0..count).collect::<Vec<_>>());
        }
    }
}
