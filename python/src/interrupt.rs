//! Long work that Ctrl-C ends.

use std::{
    fs,
    io::{self, Write},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{RecvTimeoutError, channel},
    },
    thread,
    time::Duration,
};

use lengthwise::Workspace;
use lengthwise_io::Written;
use pyo3::prelude::*;

use crate::error::Result;

/// How often the thread that waits asks Python for signals.
const ASK: Duration = Duration::from_millis(40);

/// How long work that was told to stop is waited for.
const LEAVE: Duration = Duration::from_millis(100);

/// So many sequences take long enough for Ctrl-C to be noticed. Fewer are not worth a thread.
const LONG: usize = 1 << 18;

/// Whether the work is no longer wanted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop {
    set: Arc<AtomicBool>,
    /// The file that the work has begun to write, under its temporary name.
    begun: Arc<Mutex<Option<PathBuf>>>,
}

impl Stop {
    pub(crate) fn is_set(&self) -> bool {
        self.set.load(Ordering::Relaxed)
    }

    /// A workspace that stops with it.
    pub(crate) fn workspace(&self) -> Workspace {
        self.stops(Workspace::new())
    }

    /// The same workspace, which from now on stops with it.
    pub(crate) fn stops(&self, workspace: Workspace) -> Workspace {
        workspace.stopped_by(Arc::clone(&self.set))
    }

    /// Tells the work to stop. After this it begins no file.
    fn set(&self) {
        let _begun = self.begun();
        self.set.store(true, Ordering::Relaxed);
    }

    fn begun(&self) -> MutexGuard<'_, Option<PathBuf>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes the unfinished file of work that has not stopped: on a slow disk, it may go on for minutes.
    fn clear(&self) {
        if let Some(file) = self.begun().take() {
            // If the work has done that itself, it is gone.
            _ = fs::remove_file(file);
        }
    }

    /// Leaves the work once it is no longer wanted, for callbacks that cannot return an error.
    pub(crate) fn check(&self) {
        if self.is_set() {
            // Without a panic's message: nothing is wrong.
            resume_unwind(Box::new("stopped"));
        }
    }

    /// Writes a file whole or not at all, and not if it is no longer wanted.
    pub(crate) fn save(
        &self,
        path: &Path,
        write: impl FnOnce(&mut Wanted<'_>) -> io::Result<()>,
    ) -> Result<Written> {
        let mut begun = self.begun();
        self.check();
        let file = Written::begin(path)?;
        *begun = Some(file.temporary().to_owned());
        drop(begun);
        let written = file.filled(|output| write(&mut Wanted { output, stop: self }))?;
        self.check();
        Ok(written)
    }
}

/// An output that fails once it is no longer wanted.
pub(crate) struct Wanted<'a> {
    output: &'a mut (dyn Write + Send),
    stop: &'a Stop,
}

impl Write for Wanted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.stop.is_set() {
            return Err(io::Error::other("stopped"));
        }
        self.output.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

/// Does the work on a thread of its own, while this thread lets others run Python and asks for signals.
/// If one of them raises an exception, as Ctrl-C does, this raises it. The work is then told to stop, and
/// hardly waited for.
pub(crate) fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&Stop) -> T + Send + 'static,
) -> PyResult<T> {
    let result = Arc::new(Mutex::new(None));
    let slot = Arc::clone(&result);
    wait_for(
        py,
        Box::new(move |stop| {
            let done = work(stop);
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(done);
        }),
    )?;
    let result = result.lock().unwrap_or_else(PoisonError::into_inner).take();
    Ok(result.expect("the work left its result"))
}

/// [`interruptible`] for all kinds of work: compiled once, and not for each of them.
fn wait_for(py: Python<'_>, work: Box<dyn FnOnce(&Stop) + Send>) -> PyResult<()> {
    let stop = Stop::default();
    let (sender, mut ends) = channel();
    let own = stop.clone();
    thread::Builder::new().spawn(move || {
        let end = catch_unwind(AssertUnwindSafe(|| work(&own)));
        // After an exception, nothing receives it.
        _ = sender.send(end);
    })?;
    loop {
        let come;
        (ends, come) = py.detach(move || {
            let come = ends.recv_timeout(ASK);
            (ends, come)
        });
        match come {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(panic)) => resume_unwind(panic),
            Err(RecvTimeoutError::Timeout) => {
                if let Err(error) = py.check_signals() {
                    py.detach(move || {
                        stop.set();
                        if ends.recv_timeout(LEAVE).is_err() {
                            stop.clear();
                        }
                    });
                    return Err(error);
                }
            }
            Err(RecvTimeoutError::Disconnected) => unreachable!("the thread sends before it ends"),
        }
    }
}

/// Does work on so many sequences: on a thread of its own if they are many.
pub(crate) fn perhaps_long<T: Send + 'static>(
    py: Python<'_>,
    sequences: usize,
    work: impl FnOnce(&Stop) -> T + Send + 'static,
) -> PyResult<T> {
    if sequences < LONG {
        return Ok(py.detach(|| work(&Stop::default())));
    }
    interruptible(py, work)
}
