//! The threads and the memory that plans are made with.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::base::pool::Pool;
use crate::base::setting::setters;
use crate::base::threads;
use crate::error::Error;

/// The threads and the memory that plans are made with. No plan depends on it.
///
/// Keep one from epoch to epoch to avoid asking the system for memory each time; give it back the plans
/// that you no longer need ([`reclaim`](Workspace::reclaim)).
///
/// ```
/// use lengthwise::{Budget, Lengths, Planner, Workspace, strategy::Blurred};
///
/// let lengths = Lengths::new((1..=1000).collect::<Vec<u32>>())?;
/// let planner = Planner::new(Blurred::default(), Budget::padded(20_000));
/// let workspace = Workspace::new().threads(2);
/// for epoch in 0..3 {
///     let plan = planner.plan_in(&workspace, &lengths, epoch)?;
///     assert_eq!(plan, planner.plan(&lengths, epoch)?);
///     workspace.reclaim(plan);
/// }
/// # Ok::<(), lengthwise::Error>(())
/// ```
#[derive(Default)]
pub struct Workspace {
    threads: Option<usize>,
    pub(crate) memory: Option<u64>,
    stop: Option<Arc<AtomicBool>>,
    kept: Mutex<Kept>,
    on_stage: Option<Box<OnStage>>,
}

/// Told the name of a stage when it begins, and once more when it has ended.
type OnStage = dyn Fn(&'static str, bool) + Send + Sync;

/// Memory that is kept from plan to plan.
#[derive(Debug, Default)]
struct Kept {
    pools: Vec<Pool>,
    indices: Vec<Vec<u32>>,
}

/// Fewer sequences than this are planned on one thread by default: starting a thread takes as long as
/// planning some thousands.
const WORTH_THREADS: usize = 1 << 17;

/// So many lists of numbers are kept: an order and what it is padded to, and the same of batches.
const MOST_KEPT: usize = 4;

impl Workspace {
    /// Returns a workspace with as many threads as suit the machine and the lengths, and no memory yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns an error once the work is to be stopped.
    pub fn check_stop(&self) -> Result<(), Error> {
        match &self.stop {
            Some(stop) if stop.load(Ordering::Relaxed) => Err(Error::Stopped),
            _ => Ok(()),
        }
    }

    /// How many threads work on so many sequences.
    pub(crate) fn threads_for(&self, count: usize) -> usize {
        match self.threads {
            Some(threads) => threads,
            None if count < WORTH_THREADS => 1,
            None => threads::available(),
        }
    }

    /// Does one stage of a plan.
    pub(crate) fn stage<T>(&self, name: &'static str, work: impl FnOnce() -> T) -> T {
        let Some(on_stage) = &self.on_stage else { return work() };
        on_stage(name, false);
        let result = work();
        on_stage(name, true);
        result
    }

    /// So many pools; kept ones first.
    pub(crate) fn pools(&self, count: usize) -> Vec<Pool> {
        let mut kept = self.kept();
        let mut pools: Vec<Pool> = kept.pools.drain(..).take(count).collect();
        pools.resize_with(count, Pool::default);
        pools
    }

    pub(crate) fn keep_pools(&self, pools: Vec<Pool>) {
        if self.memory.is_none() {
            self.kept().pools = pools;
        }
    }

    /// So many numbers, of any value.
    pub(crate) fn indices(&self, count: usize) -> Vec<u32> {
        let kept = &mut self.kept().indices;
        let Some(fitting) = kept.iter().position(|indices| indices.capacity() >= count) else {
            // Zeros from the system are free until they are written; copies are not.
            return vec![0; count];
        };
        let mut indices = kept.swap_remove(fitting);
        indices.resize(count, 0);
        indices
    }

    /// Keeps numbers for the next plan: those of orders, of what sequences are padded to in them, and of a plan that is
    /// made of them.
    pub(crate) fn keep_indices(&self, indices: Vec<u32>) {
        if self.memory.is_some() {
            return;
        }
        let kept = &mut self.kept().indices;
        kept.push(indices);
        if kept.len() > MOST_KEPT {
            kept.sort_unstable_by_key(Vec::capacity);
            kept.swap_remove(0);
        }
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

setters! {
impl Workspace {
    /// Sets the number of threads; 0 means 1.
    pub fn threads(mut self, threads: usize) -> Self { self.threads = Some(threads.max(1)) }

    /// Sets the most bytes of memory for a plan and for making it, without the lengths. No plan depends
    /// on it.
    ///
    /// Strategies that sort by keys then sort in several passes: `shuffled`, `sorted`, `semi-sorted`,
    /// `blurred`, `length-buckets` and `optimal-buckets`. They stay within the bound for any number of
    /// sequences, as long as the order of all sequences fits (four bytes each), and the sequences of
    /// any one length can be sorted together (64 bytes each). Otherwise you get [`Error::OverMemory`],
    /// which says how much is needed. [`Planner::spans_in`](crate::Planner::spans_in) takes four bytes
    /// less per sequence than [`plan_in`](crate::Planner::plan_in). Memory is not kept for the next
    /// plan.
    pub fn memory(mut self, bytes: u64) -> Self { self.memory = Some(bytes) }

    /// Stops work with this workspace once the flag is set: between the stages of a plan, and between
    /// plans. The work then ends with [`Error::Stopped`].
    ///
    /// ```
    /// use std::sync::{Arc, atomic::{AtomicBool, Ordering}};
    /// use lengthwise::{Budget, Error, Lengths, Planner, Workspace, strategy::Shuffled};
    ///
    /// let stop = Arc::new(AtomicBool::new(false));
    /// let workspace = Workspace::new().stopped_by(Arc::clone(&stop));
    /// let planner = Planner::new(Shuffled, Budget::sequences(2));
    /// let lengths = Lengths::new(vec![3, 4, 5])?;
    /// assert!(planner.plan_in(&workspace, &lengths, 0).is_ok());
    /// stop.store(true, Ordering::Relaxed);
    /// assert_eq!(planner.plan_in(&workspace, &lengths, 1), Err(Error::Stopped));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn stopped_by(mut self, stop: Arc<AtomicBool>) -> Self { self.stop = Some(stop) }

    /// Calls `on_stage` with the name of each stage of a plan when it begins, and, with `true`, when it
    /// has ended. To time the stages, read a clock in it.
    pub fn on_stage(
        mut self,
        on_stage: impl Fn(&'static str, bool) + Send + Sync + 'static,
    ) -> Self {
        self.on_stage = Some(Box::new(on_stage))
    }
}
}

impl fmt::Debug for Workspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workspace")
            .field("threads", &self.threads)
            .field("memory", &self.memory)
            .finish_non_exhaustive()
    }
}
