//! Workers that are processes, which MPI has started.

use std::{
    env,
    path::PathBuf,
    process::ExitCode,
    thread,
    time::{Duration, Instant},
};

use lengthwise_lab::{
    Error,
    collective::{Collective, Lost, Processes, Waiting},
};
use signal_hook::{consts::SIGTERM, iterator::Signals, low_level::exit};

use super::{
    args::RunArgs,
    device::Machine,
    display::{Display, Stop, Unseen},
    output::{FAILED, STOPPED, complain},
    prepared::Prepared,
    workers::{limit_threads, threads_of},
};

/// For how long to wait for another worker when all are to stop. Open MPI asks them to a second after one
/// of them is gone, and gives them another.
const PATIENCE: Duration = Duration::from_millis(500);
/// How many of the workers say that one is lost.
const SPEAKERS: usize = 3;
/// How often to look.
const LOOK: Duration = Duration::from_millis(20);

/// Trains as one of the processes that MPI has started.
pub(super) fn train(args: &RunArgs, stop: &Stop) -> Result<ExitCode, Error> {
    let processes = Processes::start();
    let processes = processes.ok_or_else(|| Error::new("MPI does not start", "report this"))?;
    let (world, rank) = (processes.world(), processes.world().rank());
    let prepared = Prepared::of_process(args, world);
    // Often all have the same to say, and then the first of them says it.
    let failed = world.all_gather(&[u8::from(prepared.is_err())])?;
    let speaker = failed.iter().position(|failed| *failed > 0);
    let prepared = match (prepared, speaker) {
        (Ok(prepared), None) => prepared,
        (Err(error), Some(speaker)) if speaker == rank => {
            complain(&error.of_worker(rank));
            return Ok(ExitCode::from(FAILED));
        }
        _ => return Ok(ExitCode::from(FAILED)),
    };
    watch_over(processes.waiting(), rank, prepared.folder.clone())?;
    prepared.as_worker(args, stop, world).or_else(|error| {
        let since = Instant::now();
        while rank > 0 && since.elapsed() < PATIENCE && !stop.asked() {
            thread::sleep(LOOK);
        }
        if !stop.asked() {
            complain(&error.of_worker(rank));
        }
        // MPI would wait for the others before it ended.
        exit(FAILED.into())
    })
}

/// Ends this process when it waits for another in vain while all are to stop: that one is gone.
fn watch_over(waiting: Waiting, rank: usize, folder: PathBuf) -> Result<(), Error> {
    let mut signals = Signals::new([SIGTERM]).map_err(|error| {
        Error::new(format!("cannot listen for the end of others: {error}"), "try again")
    })?;
    thread::spawn(move || {
        // At once: there is little time until this process is ended by force.
        signals.forever().next();
        let asked = Instant::now();
        while waiting.time().is_none_or(|time| time.min(asked.elapsed()) < PATIENCE) {
            thread::sleep(LOOK);
        }
        // A few say it for all, as one of them may be gone.
        if rank < SPEAKERS {
            complain(&Error::from(Lost { rank: None }).within(&folder.display().to_string()));
        }
        // Without what MPI does at the end of a process.
        exit(FAILED.into());
    });
    Ok(())
}

impl Prepared {
    fn of_process(args: &RunArgs, world: &dyn Collective) -> Result<Self, Error> {
        let here = of_this_machine("SIZE").unwrap_or(1);
        limit_threads((threads_of(args) / here).max(1))?;
        let mut prepared = Self::new(args)?;
        let together = &mut prepared.experiment.together;
        together.workers = together.workers.or(Some(world.size() as u32));
        Ok(prepared)
    }

    fn as_worker(
        &self,
        args: &RunArgs,
        stop: &Stop,
        world: &dyn Collective,
    ) -> Result<ExitCode, Error> {
        let session = self.session(args);
        let number = of_this_machine("RANK").unwrap_or(world.rank());
        let machine = Machine::new(args.device, number..number + 1)?;
        if world.rank() > 0 {
            machine.run(&session, world, &mut Unseen(stop.clone()))?;
            return Ok(ExitCode::from(if stop.asked() { STOPPED } else { 0 }));
        }
        if args.fresh {
            session.forget()?;
        }
        let name = format!("{} processes, {}", world.size(), machine.name());
        let mut display = Display::new(&self.experiment, &name, args.quiet, stop)?;
        let outcome = machine.run(&session, world, &mut display)?;
        display.end();
        let outcome =
            outcome.ok_or_else(|| Error::new("no worker returned results", "report this"))?;
        self.tell(&outcome)
    }
}

/// How many processes there are on this machine, or which of them this is, where that is known.
fn of_this_machine(what: &str) -> Option<usize> {
    let names = ["OMPI_COMM_WORLD_LOCAL", "MPI_LOCAL"].map(|of| format!("{of}_{what}"));
    names.iter().find_map(|name| env::var(name).ok()?.parse().ok())
}
