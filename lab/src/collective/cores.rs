//! Cores that workers take turns on.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Cores that workers take turns on.
#[derive(Debug)]
pub(super) struct Cores {
    free: Mutex<usize>,
    freed: Condvar,
}

/// A core that a worker has for itself. It is free again when this is dropped.
#[derive(Debug)]
pub struct Core<'a>(Option<&'a Cores>);

impl Cores {
    /// So many cores, and at least one.
    pub(super) fn new(count: usize) -> Self {
        Self { free: Mutex::new(count.max(1)), freed: Condvar::new() }
    }

    /// Waits for a free core.
    pub(super) fn take(&self) -> Core<'_> {
        let mut free = locked(&self.free);
        while *free == 0 {
            free = self.freed.wait(free).unwrap_or_else(PoisonError::into_inner);
        }
        *free -= 1;
        Core(Some(self))
    }
}

impl Core<'_> {
    /// Where every worker has a core of its own.
    pub(super) fn unlimited() -> Self {
        Core(None)
    }
}

impl Drop for Core<'_> {
    fn drop(&mut self) {
        if let Some(cores) = self.0 {
            *locked(&cores.free) += 1;
            cores.freed.notify_one();
        }
    }
}

/// Locks, also after a panic elsewhere: every value is replaced in one piece.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
