//! Workers as threads of one process.

use std::{
    collections::BTreeMap,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{Arc, Condvar, Mutex, OnceLock, PoisonError},
    thread,
};

use super::{
    cores::{Core, Cores, locked},
    interface::Collective,
    lost::Lost,
};
use crate::error::Error;

/// One of several workers that are threads of this process.
pub struct Threads {
    rank: usize,
    group: Arc<Group>,
    all: Arc<All>,
}

impl fmt::Debug for Threads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "worker {} of {}", self.rank, self.group.size)
    }
}

/// What all threads have in common.
struct All {
    /// Groups of workers, by their size.
    groups: Mutex<BTreeMap<usize, Arc<Group>>>,
    /// The first that failed.
    lost: OnceLock<usize>,
    cores: Cores,
}

/// The first so many workers.
struct Group {
    size: usize,
    round: Mutex<Round>,
    /// Notified when all have arrived, or when one never will.
    news: Condvar,
}

struct Round {
    /// The messages of the workers that have arrived.
    messages: Vec<Vec<u8>>,
    arrived: usize,
    /// How many rounds are over, and the messages of the last.
    finished: u64,
    last: Arc<Vec<Vec<u8>>>,
}

impl Group {
    fn new(size: usize) -> Self {
        let messages = vec![Vec::new(); size];
        let round = Round { messages, arrived: 0, finished: 0, last: Arc::default() };
        Self { size, round: Mutex::new(round), news: Condvar::new() }
    }
}

impl All {
    fn group(&self, size: usize) -> Arc<Group> {
        let mut groups = locked(&self.groups);
        Arc::clone(groups.entry(size).or_insert_with(|| Arc::new(Group::new(size))))
    }

    fn lose(&self, rank: usize) {
        _ = self.lost.set(rank);
        for group in locked(&self.groups).values() {
            // A thread that is about to wait has not looked yet, or waits already.
            let _round = locked(&group.round);
            group.news.notify_all();
        }
    }
}

impl Threads {
    /// Waits until all workers of the group have given a message; returns all messages.
    fn exchange(&self, mine: Vec<u8>) -> Result<Arc<Vec<Vec<u8>>>, Lost> {
        let group = &self.group;
        let mut round = locked(&group.round);
        round.messages[self.rank] = mine;
        round.arrived += 1;
        if round.arrived == group.size {
            let messages = std::mem::replace(&mut round.messages, vec![Vec::new(); group.size]);
            round.last = Arc::new(messages);
            round.arrived = 0;
            round.finished += 1;
            group.news.notify_all();
            return Ok(Arc::clone(&round.last));
        }
        let before = round.finished;
        while round.finished == before {
            if let Some(&rank) = self.all.lost.get() {
                return Err(Lost { rank: Some(rank) });
            }
            round = group.news.wait(round).unwrap_or_else(PoisonError::into_inner);
        }
        // The next round cannot finish before this worker has joined it.
        Ok(Arc::clone(&round.last))
    }
}

impl Collective for Threads {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.group.size
    }

    fn all_gather(&self, mine: &[u8]) -> Result<Vec<u8>, Lost> {
        Ok(self.exchange(mine.to_vec())?.concat())
    }

    fn all_to_all(&self, mine: &[u8]) -> Result<Vec<u8>, Lost> {
        let part = mine.len() / self.size();
        let all = self.exchange(mine.to_vec())?;
        let to_me = self.rank * part..(self.rank + 1) * part;
        Ok(all.iter().flat_map(|said| &said[to_me.clone()]).copied().collect())
    }

    fn broadcast(&self, words: &mut Vec<u8>) -> Result<(), Lost> {
        let mine = if self.rank == 0 { words.clone() } else { Vec::new() };
        words.clone_from(&self.exchange(mine)?[0]);
        Ok(())
    }

    fn first(&self, size: usize) -> Result<Option<Box<dyn Collective + '_>>, Lost> {
        if self.rank >= size {
            return Ok(None);
        }
        let (group, all) = (self.all.group(size), Arc::clone(&self.all));
        Ok(Some(Box::new(Threads { rank: self.rank, group, all })))
    }

    fn core(&self) -> Core<'_> {
        self.all.cores.take()
    }
}

/// Runs `work` as each of `workers` threads, of which at most `cores` compute at a time. Gives what the
/// first made; if any failed, which failed first, and why.
pub fn on_threads<T: Send>(
    workers: usize,
    cores: usize,
    work: impl Fn(Threads) -> Result<T, Error> + Sync,
) -> Result<T, (usize, Error)> {
    let all =
        Arc::new(All { groups: Mutex::default(), lost: OnceLock::new(), cores: Cores::new(cores) });
    let group = all.group(workers);
    let mut done: Vec<Result<T, Error>> = thread::scope(|scope| {
        let start = |rank: usize| {
            let (work, all) = (&work, Arc::clone(&all));
            let collective = Threads { rank, group: Arc::clone(&group), all: Arc::clone(&all) };
            thread::Builder::new().spawn_scoped(scope, move || {
                let done = catch_unwind(AssertUnwindSafe(|| work(collective)));
                if !matches!(done, Ok(Ok(_))) {
                    all.lose(rank);
                }
                done
            })
        };
        let mut threads = Vec::new();
        for rank in 0..workers {
            let thread = start(rank);
            let there = thread.is_ok();
            threads.push(thread);
            if !there {
                // Threads that have begun would wait for this one.
                all.lose(rank);
                break;
            }
        }
        let results = threads.into_iter().map(|thread| match thread {
            Ok(thread) => match thread.join().and_then(|done| done) {
                Ok(done) => done,
                Err(panic) => resume_unwind(panic),
            },
            Err(error) => Err(Error::new(
                format!("cannot start {workers} workers: {error}"),
                "give fewer `--workers`",
            )),
        });
        results.collect()
    });
    // Those that failed later did so as one was lost.
    let which = all.lost.get().copied().unwrap_or(0);
    done.swap_remove(which).map_err(|error| (which, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sums that depend on their order.
    fn values(rank: usize, count: usize) -> Vec<f32> {
        (0..count)
            .map(|at| ((rank * 31 + at * 7) as f32).sin() * [1e-4, 1.0, 1e4][at % 3])
            .collect()
    }

    #[test]
    fn sums_are_made_in_the_order_of_ranks_and_are_the_same_for_all() {
        for (workers, count) in [(1, 5), (2, 0), (2, 7), (3, 1), (4, 1000), (7, 50)] {
            let sums = Mutex::new(Vec::new());
            on_threads(workers, 2, |collective| {
                for _ in 0..20 {
                    let mut sum = values(collective.rank(), count);
                    collective.sum(&mut sum)?;
                    locked(&sums).push(sum);
                }
                Ok(())
            })
            .unwrap();
            let mut expected = values(0, count);
            for rank in 1..workers {
                expected.iter_mut().zip(values(rank, count)).for_each(|(sum, value)| *sum += value);
            }
            let bits = |values: &[f32]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            for sum in sums.into_inner().unwrap() {
                assert_eq!(bits(&sum), bits(&expected), "{workers} workers, {count} values");
            }
        }
    }

    #[test]
    fn the_first_speaks_to_all_and_some_meet_without_the_others() {
        let heard = on_threads(5, 1, |collective| {
            let mut words = format!("from {}", collective.rank()).into_bytes();
            collective.broadcast(&mut words)?;
            assert_eq!(words, b"from 0");
            let said = match collective.first(3)? {
                Some(three) => {
                    assert_eq!(three.size(), 3);
                    three.share(&[collective.rank() as f64])?
                }
                None => Vec::new(),
            };
            assert_eq!(said.len(), if collective.rank() < 3 { 3 } else { 0 });
            Ok(collective.share(&[said.iter().sum()])?)
        });
        assert_eq!(heard, Ok(vec![3.0, 3.0, 3.0, 0.0, 0.0]));
    }

    #[test]
    fn a_worker_that_fails_is_noticed_by_all() {
        let noticed = Mutex::new(Vec::new());
        let failed = on_threads(4, 2, |collective| {
            collective.share(&[1.0])?;
            if collective.rank() == 2 {
                return Err(Error::new("no memory", "buy some"));
            }
            let lost = collective.all_gather(&[0]).unwrap_err();
            locked(&noticed).push(lost.rank);
            Err::<(), Error>(lost.into())
        });
        let (rank, error) = failed.unwrap_err();
        assert_eq!((rank, error.to_string().as_str()), (2, "no memory"));
        assert_eq!(noticed.into_inner().unwrap(), [Some(2); 3]);
    }

    #[test]
    fn a_panic_is_not_lost_and_nobody_waits_for_it() {
        let done = catch_unwind(|| {
            on_threads(3, 1, |collective| {
                let core = collective.core();
                assert!(collective.rank() != 1, "worker 1 panics");
                drop(core);
                collective.share(&[0.0]).map(drop).map_err(Error::from)
            })
        });
        assert!(done.is_err());
    }
}
