//! The memory that a planner keeps from one epoch to the next: to ask the system for new memory takes as long as
//! planning does.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use lengthwise::{Plan, Workspace};

use crate::interrupt::Stop;

/// Memory for one plan at a time. If two are made at once, one of them has new memory.
#[derive(Debug, Default)]
pub(crate) struct Memory(Mutex<Workspace>);

impl Memory {
    /// Works with the memory that is there, and keeps what is there then.
    pub(crate) fn lend<T>(&self, stop: &Stop, work: impl FnOnce(&Workspace) -> T) -> T {
        let workspace = stop.stops(std::mem::take(&mut *self.lock()));
        let result = work(&workspace);
        *self.lock() = workspace;
        result
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Workspace> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Gives the memory of a plan back to the planner that made it, once nothing shares it and if the planner still
/// exists. Whoever holds the plan itself drops it first.
#[derive(Debug, Default)]
pub(crate) struct Return(Option<(Plan, Weak<Memory>)>);

impl Return {
    pub(crate) fn new(plan: &Plan, memory: &Arc<Memory>) -> Self {
        Self(Some((plan.clone(), Arc::downgrade(memory))))
    }

    /// The same for another plan, which may share its memory.
    pub(crate) fn with(&self, plan: &Plan) -> Self {
        Self(self.0.as_ref().map(|(_, memory)| (plan.clone(), Weak::clone(memory))))
    }
}

impl Drop for Return {
    fn drop(&mut self) {
        if let Some((plan, memory)) = self.0.take()
            && let Some(memory) = memory.upgrade()
        {
            memory.lock().reclaim(plan);
        }
    }
}
