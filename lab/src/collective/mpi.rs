//! Workers as processes, on one machine or many, which MPI has started and carries bytes between.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use mpi::{
    collective::{CommunicatorCollectives, Root},
    environment::Universe,
    request::{Request, Scope, scope},
    topology::{Color, Communicator, SimpleCommunicator},
};

use super::{interface::Collective, lost::Lost};

/// The processes that MPI has started. MPI ends when this is dropped, once all of them come to that.
pub struct Processes {
    // Before the universe, without which it cannot be given back.
    world: Mpi,
    _universe: Universe,
}

impl fmt::Debug for Processes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.world.fmt(f)
    }
}

/// For how long a process waits for others, as other threads of it see.
#[derive(Clone, Debug)]
pub struct Waiting {
    begun: Instant,
    /// In milliseconds after the beginning; 0 for not at all.
    since: Arc<AtomicU64>,
}

impl Waiting {
    fn new() -> Self {
        Self { begun: Instant::now(), since: Arc::default() }
    }

    fn now(&self) -> u64 {
        self.begun.elapsed().as_millis() as u64
    }

    /// It waits until what this gives is dropped.
    fn begin(&self) -> Ended<'_> {
        self.since.store(self.now().max(1), Ordering::Relaxed);
        Ended(&self.since)
    }

    /// For how long it waits now, if it does.
    pub fn time(&self) -> Option<Duration> {
        let since = self.since.load(Ordering::Relaxed);
        (since > 0).then(|| Duration::from_millis(self.now().saturating_sub(since)))
    }
}

/// The end of a time of waiting.
struct Ended<'a>(&'a AtomicU64);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

/// One of several workers that are processes.
pub struct Mpi {
    communicator: SimpleCommunicator,
    waiting: Waiting,
}

impl fmt::Debug for Mpi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "worker {} of {}", self.rank(), self.size())
    }
}

/// What one call may receive: MPI counts in 32 bits.
const MOST: usize = 1 << 30;
/// For how long to wait without sleeping, and for how long to sleep then: another worker may need the
/// core.
const AWAKE: Duration = Duration::from_micros(100);
const ASLEEP: Duration = Duration::from_micros(100);

impl Processes {
    /// Starts MPI. Nothing if it was started before.
    pub fn start() -> Option<Self> {
        let universe = mpi::initialize()?;
        let communicator = universe.world();
        let world = Mpi { communicator, waiting: Waiting::new() };
        // So that each is connected with each: one that finds no other to connect with ends at once, and
        // without a word.
        world.all_to_all(&vec![0; world.size()]).ok()?;
        Some(Self { world, _universe: universe })
    }

    /// For how long this process waits for others. MPI may wait in a way that nothing but the end of
    /// the process ends, so that another thread has to see to it.
    pub fn waiting(&self) -> Waiting {
        self.world.waiting.clone()
    }

    /// All of them.
    pub fn world(&self) -> &Mpi {
        &self.world
    }
}

impl Mpi {
    fn wait<'a, D: ?Sized, S: Scope<'a>>(request: Request<'a, D, S>) {
        let since = Instant::now();
        let mut pending = request.test();
        while let Err(request) = pending {
            if since.elapsed() > AWAKE {
                thread::sleep(ASLEEP);
            }
            pending = request.test();
        }
    }
}

impl Collective for Mpi {
    fn rank(&self) -> usize {
        self.communicator.rank() as usize
    }

    fn size(&self) -> usize {
        self.communicator.size() as usize
    }

    fn all_gather(&self, mine: &[u8]) -> Result<Vec<u8>, Lost> {
        // What begins an exchange may wait too.
        let _waiting = self.waiting.begin();
        let mut all = vec![0; mine.len() * self.size()];
        let most = MOST / self.size();
        for (at, part) in (0..).step_by(most).zip(mine.chunks(most)) {
            let mut parts = vec![0; part.len() * self.size()];
            scope(|scope| {
                let into = parts.as_mut_slice();
                Self::wait(self.communicator.immediate_all_gather_into(scope, part, into));
            });
            for (rank, part) in parts.chunks_exact(part.len()).enumerate() {
                let at = rank * mine.len() + at;
                all[at..at + part.len()].copy_from_slice(part);
            }
        }
        Ok(all)
    }

    fn all_to_all(&self, mine: &[u8]) -> Result<Vec<u8>, Lost> {
        // What begins an exchange may wait too.
        let _waiting = self.waiting.begin();
        let each = mine.len() / self.size();
        let mut all = vec![0; mine.len()];
        let most = MOST / self.size();
        for at in (0..each).step_by(most) {
            let part = at..each.min(at + most);
            let of = |rank: usize| rank * each + part.start..rank * each + part.end;
            let said: Vec<u8> =
                (0..self.size()).flat_map(|rank| &mine[of(rank)]).copied().collect();
            let mut heard = vec![0; said.len()];
            scope(|scope| {
                let into = heard.as_mut_slice();
                let said = said.as_slice();
                Self::wait(self.communicator.immediate_all_to_all_into(scope, said, into));
            });
            for (rank, heard) in heard.chunks_exact(part.len()).enumerate() {
                all[of(rank)].copy_from_slice(heard);
            }
        }
        Ok(all)
    }

    fn broadcast(&self, words: &mut Vec<u8>) -> Result<(), Lost> {
        // Workers that have no part in a training may listen for long.
        let first = self.communicator.process_at_rank(0);
        let mut count = [words.len() as u64];
        scope(|scope| {
            Self::wait(first.immediate_broadcast_into(scope, count.as_mut_slice()));
        });
        words.resize(count[0] as usize, 0);
        for part in words.chunks_mut(MOST) {
            scope(|scope| {
                Self::wait(first.immediate_broadcast_into(scope, part));
            });
        }
        Ok(())
    }

    fn first(&self, size: usize) -> Result<Option<Box<dyn Collective + '_>>, Lost> {
        let _waiting = self.waiting.begin();
        let within = self.rank() < size;
        let color = if within { Color::with_value(0) } else { Color::undefined() };
        let communicator = self.communicator.split_by_color(color);
        let waiting = self.waiting.clone();
        Ok(communicator
            .map(|communicator| Box::new(Mpi { communicator, waiting }) as Box<dyn Collective>))
    }
}
