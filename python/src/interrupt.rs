//! Long work that Ctrl-C ends.

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{RecvTimeoutError, channel},
    },
    thread,
    time::Duration,
};

use lengthwise::Workspace;
use pyo3::prelude::*;

/// How often the thread that waits asks Python for signals.
const ASK: Duration = Duration::from_millis(50);

/// Does the work on a thread of its own, while this thread lets others run Python and asks for signals.
/// If one of them raises an exception, as Ctrl-C does, this raises it at once. The work is then told to
/// stop through its workspace, and nothing waits for it.
pub(crate) fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&Workspace) -> T + Send + 'static,
) -> PyResult<T> {
    let stop = Arc::new(AtomicBool::new(false));
    let workspace = Workspace::new().stopped_by(Arc::clone(&stop));
    let (sender, mut results) = channel();
    thread::Builder::new().spawn(move || {
        let result = catch_unwind(AssertUnwindSafe(|| work(&workspace)));
        // After an exception, nothing receives it.
        _ = sender.send(result);
    })?;
    loop {
        let come;
        (results, come) = py.detach(move || {
            let come = results.recv_timeout(ASK);
            (results, come)
        });
        match come {
            Ok(Ok(result)) => return Ok(result),
            Ok(Err(panic)) => resume_unwind(panic),
            Err(RecvTimeoutError::Timeout) => py.check_signals().inspect_err(|_| {
                stop.store(true, Ordering::Relaxed);
            })?,
            Err(RecvTimeoutError::Disconnected) => unreachable!("the thread sends before it ends"),
        }
    }
}
