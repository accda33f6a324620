//! Workers as threads of one process.

use std::{
    collections::BTreeMap,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError},
    thread,
};

use super::{Core, Lost, Team};
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
    /// Those that meet, by how many they are.
    groups: Mutex<BTreeMap<usize, Arc<Group>>>,
    /// The first that failed.
    lost: OnceLock<usize>,
    cores: Cores,
}

/// The first so many workers.
struct Group {
    size: usize,
    meeting: Mutex<Meeting>,
    /// All have come, or one never will.
    news: Condvar,
}

struct Meeting {
    /// What those say who have come.
    said: Vec<Vec<u8>>,
    come: usize,
    /// How many meetings are over, and what was said in the last.
    over: u64,
    last: Arc<Vec<Vec<u8>>>,
}

/// Cores that workers take turns on.
pub(super) struct Cores {
    free: Mutex<usize>,
    news: Condvar,
}

impl fmt::Debug for Cores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cores")
    }
}

impl Drop for Core<'_> {
    fn drop(&mut self) {
        if let Some(cores) = self.0 {
            *locked(&cores.free) += 1;
            cores.news.notify_one();
        }
    }
}

/// What a panic elsewhere has left is as good as before: all is set in one piece.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Group {
    fn new(size: usize) -> Self {
        let said = vec![Vec::new(); size];
        let meeting = Meeting { said, come: 0, over: 0, last: Arc::default() };
        Self { size, meeting: Mutex::new(meeting), news: Condvar::new() }
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
            // Whoever is about to wait has not looked yet, or waits already.
            let _meeting = locked(&group.meeting);
            group.news.notify_all();
        }
    }
}

impl Threads {
    /// Waits until all have said something.
    fn meet(&self, mine: Vec<u8>) -> Result<Arc<Vec<Vec<u8>>>, Lost> {
        let group = &self.group;
        let mut meeting = locked(&group.meeting);
        meeting.said[self.rank] = mine;
        meeting.come += 1;
        if meeting.come == group.size {
            let said = std::mem::replace(&mut meeting.said, vec![Vec::new(); group.size]);
            meeting.last = Arc::new(said);
            meeting.come = 0;
            meeting.over += 1;
            group.news.notify_all();
            return Ok(Arc::clone(&meeting.last));
        }
        let before = meeting.over;
        while meeting.over == before {
            if let Some(&rank) = self.all.lost.get() {
                return Err(Lost { rank: Some(rank) });
            }
            meeting = group.news.wait(meeting).unwrap_or_else(PoisonError::into_inner);
        }
        // Nobody comes to the next meeting before this one is left.
        Ok(Arc::clone(&meeting.last))
    }
}

impl Team for Threads {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.group.size
    }

    fn all_gather(&self, mine: &[u8]) -> Result<Vec<u8>, Lost> {
        Ok(self.meet(mine.to_vec())?.concat())
    }

    fn all_to_all(&self, mine: &[u8]) -> Result<Vec<u8>, Lost> {
        let part = mine.len() / self.size();
        let all = self.meet(mine.to_vec())?;
        let to_me = self.rank * part..(self.rank + 1) * part;
        Ok(all.iter().flat_map(|said| &said[to_me.clone()]).copied().collect())
    }

    fn broadcast(&self, words: &mut Vec<u8>) -> Result<(), Lost> {
        let mine = if self.rank == 0 { words.clone() } else { Vec::new() };
        words.clone_from(&self.meet(mine)?[0]);
        Ok(())
    }

    fn first(&self, size: usize) -> Result<Option<Box<dyn Team + '_>>, Lost> {
        if self.rank >= size {
            return Ok(None);
        }
        let (group, all) = (self.all.group(size), Arc::clone(&self.all));
        Ok(Some(Box::new(Threads { rank: self.rank, group, all })))
    }

    fn core(&self) -> Core<'_> {
        let cores = &self.all.cores;
        let mut free = locked(&cores.free);
        while *free == 0 {
            free = cores.news.wait(free).unwrap_or_else(PoisonError::into_inner);
        }
        *free -= 1;
        Core(Some(cores))
    }
}

/// Runs `work` as each of `workers` threads, of which at most `cores` compute at a time. Gives what the
/// first made; if any failed, who failed first, and why.
pub fn on_threads<T: Send>(
    workers: usize,
    cores: usize,
    work: impl Fn(Threads) -> Result<T, Error> + Sync,
) -> Result<T, (usize, Error)> {
    let all = Arc::new(All {
        groups: Mutex::default(),
        lost: OnceLock::new(),
        cores: Cores { free: Mutex::new(cores.max(1)), news: Condvar::new() },
    });
    let group = all.group(workers);
    let mut done: Vec<Result<T, Error>> = thread::scope(|scope| {
        let start = |rank: usize| {
            let (work, all) = (&work, Arc::clone(&all));
            let team = Threads { rank, group: Arc::clone(&group), all: Arc::clone(&all) };
            thread::Builder::new().spawn_scoped(scope, move || {
                let done = catch_unwind(AssertUnwindSafe(|| work(team)));
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
                // Those who have begun would wait for this one.
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
            on_threads(workers, 2, |team| {
                for _ in 0..20 {
                    let mut sum = values(team.rank(), count);
                    team.sum(&mut sum)?;
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
        let heard = on_threads(5, 1, |team| {
            let mut words = format!("from {}", team.rank()).into_bytes();
            team.broadcast(&mut words)?;
            assert_eq!(words, b"from 0");
            let said = match team.first(3)? {
                Some(three) => {
                    assert_eq!(three.size(), 3);
                    three.share(&[team.rank() as f64])?
                }
                None => Vec::new(),
            };
            assert_eq!(said.len(), if team.rank() < 3 { 3 } else { 0 });
            Ok(team.share(&[said.iter().sum()])?)
        });
        assert_eq!(heard, Ok(vec![3.0, 3.0, 3.0, 0.0, 0.0]));
    }

    #[test]
    fn a_worker_that_fails_is_noticed_by_all() {
        let noticed = Mutex::new(Vec::new());
        let failed = on_threads(4, 2, |team| {
            team.share(&[1.0])?;
            if team.rank() == 2 {
                return Err(Error::new("no memory", "buy some"));
            }
            let lost = team.all_gather(&[0]).unwrap_err();
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
            on_threads(3, 1, |team| {
                let core = team.core();
                assert!(team.rank() != 1, "worker 1 panics");
                drop(core);
                team.share(&[0.0]).map(drop).map_err(Error::from)
            })
        });
        assert!(done.is_err());
    }
}
