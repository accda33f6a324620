//! Workers as processes, on one machine or many, which MPI has started and carries bytes between.

use std::{
    fmt, panic,
    rc::Rc,
    thread,
    time::{Duration, Instant},
};

use mpi::{
    collective::{CommunicatorCollectives, Root},
    environment::Universe,
    request::{Request, Scope, scope},
    topology::{Color, Communicator, SimpleCommunicator},
};

use super::{Lost, Team};

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

/// Called again and again while a worker waits for others, with its rank and how long it does. It may
/// end the process.
type Waiting = Rc<dyn Fn(usize, Duration)>;

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
    /// Starts MPI. `waiting` is called again and again while this process waits for others, with its
    /// rank and how long it does, and may end the process. Nothing if MPI was started before.
    pub fn start(waiting: impl Fn(usize, Duration) + 'static) -> Option<Self> {
        let universe = mpi::initialize()?;
        let communicator = universe.world();
        Some(Self { world: Mpi { communicator, waiting: Rc::new(waiting) }, _universe: universe })
    }

    /// All of them.
    pub fn world(&self) -> &Mpi {
        &self.world
    }
}

impl Mpi {
    fn wait<'a, D: ?Sized, S: Scope<'a>>(&self, request: Request<'a, D, S>) {
        let since = Instant::now();
        let mut pending = request.test();
        while let Err(request) = pending {
            let waited = since.elapsed();
            // To leave from here otherwise, all numbers would have to stay where MPI writes them.
            let told = panic::catch_unwind(panic::AssertUnwindSafe(|| {
                (self.waiting)(self.rank(), waited)
            }));
            if told.is_err() {
                std::process::abort();
            }
            if waited > AWAKE {
                thread::sleep(ASLEEP);
            }
            pending = request.test();
        }
    }
}

impl Team for Mpi {
    fn rank(&self) -> usize {
        self.communicator.rank() as usize
    }

    fn size(&self) -> usize {
        self.communicator.size() as usize
    }

    fn all_gather(&self, mine: &[u8]) -> Result<Vec<u8>, Lost> {
        let mut all = vec![0; mine.len() * self.size()];
        let most = MOST / self.size();
        for (at, part) in (0..).step_by(most).zip(mine.chunks(most)) {
            let mut parts = vec![0; part.len() * self.size()];
            scope(|scope| {
                let into = parts.as_mut_slice();
                self.wait(self.communicator.immediate_all_gather_into(scope, part, into));
            });
            for (rank, part) in parts.chunks_exact(part.len()).enumerate() {
                let at = rank * mine.len() + at;
                all[at..at + part.len()].copy_from_slice(part);
            }
        }
        Ok(all)
    }

    fn all_to_all(&self, mine: &[u8]) -> Result<Vec<u8>, Lost> {
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
                self.wait(self.communicator.immediate_all_to_all_into(scope, said, into));
            });
            for (rank, heard) in heard.chunks_exact(part.len()).enumerate() {
                all[of(rank)].copy_from_slice(heard);
            }
        }
        Ok(all)
    }

    fn broadcast(&self, words: &mut Vec<u8>) -> Result<(), Lost> {
        let first = self.communicator.process_at_rank(0);
        let mut count = [words.len() as u64];
        scope(|scope| {
            self.wait(first.immediate_broadcast_into(scope, count.as_mut_slice()));
        });
        words.resize(count[0] as usize, 0);
        for part in words.chunks_mut(MOST) {
            scope(|scope| {
                self.wait(first.immediate_broadcast_into(scope, part));
            });
        }
        Ok(())
    }

    fn first(&self, size: usize) -> Result<Option<Box<dyn Team + '_>>, Lost> {
        let within = self.rank() < size;
        let color = if within { Color::with_value(0) } else { Color::undefined() };
        let communicator = self.communicator.split_by_color(color);
        let waiting = Rc::clone(&self.waiting);
        Ok(communicator
            .map(|communicator| Box::new(Mpi { communicator, waiting }) as Box<dyn Team>))
    }
}
