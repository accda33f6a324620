//! Workers that are processes, which MPI has started.

use std::{
    cell::OnceCell,
    env,
    path::PathBuf,
    process::{self, ExitCode},
    rc::Rc,
    thread,
    time::{Duration, Instant},
};

use lengthwise_lab::{
    Error, Watch as _,
    team::{Lost, Processes, Team},
};

use super::{
    FAILED, Prepared, STOPPED,
    args::RunArgs,
    complain,
    device::Machine,
    progress::{Progress, Stop, Unseen},
    workers::{limit_threads, threads_of},
};

/// For how long to wait for another worker when all are to stop. MPI gives them a second: it asks
/// them to stop as soon as one of them is gone.
const PATIENCE: Duration = Duration::from_millis(400);

/// Trains as one of the processes that MPI has started.
pub(super) fn train(args: &RunArgs, stop: &Stop) -> Result<ExitCode, Error> {
    let (asked, kept) = (stop.clone(), Rc::new(OnceCell::new()));
    let kept_in = Rc::clone(&kept);
    let processes = Processes::start(move |rank, waited| {
        if waited > PATIENCE && asked.asked() {
            lost(rank, kept_in.get());
        }
    });
    let processes = processes.ok_or_else(|| Error::new("MPI does not start", "report this"))?;
    let world = processes.world();
    let rank = world.rank();
    match as_worker(args, stop, world, &kept) {
        Ok(code) => Ok(code),
        Err(error) => {
            // Often all have the same to say: it is enough if the first does, whom the others
            // would wait for in vain otherwise.
            let since = Instant::now();
            while rank > 0 && since.elapsed() < PATIENCE && !stop.asked() {
                thread::sleep(Duration::from_millis(10));
            }
            if rank == 0 {
                complain(&error);
            } else if !stop.asked() {
                complain(&error.within(&format!("worker {rank}")));
            }
            // MPI would wait for the others before it ended.
            process::exit(FAILED.into());
        }
    }
}

fn as_worker(
    args: &RunArgs,
    stop: &Stop,
    world: &dyn Team,
    kept: &OnceCell<PathBuf>,
) -> Result<ExitCode, Error> {
    let local = |name: &str| env::var(name).ok().and_then(|value| value.parse().ok());
    let here: usize = local("OMPI_COMM_WORLD_LOCAL_SIZE").unwrap_or(1);
    let number: usize = local("OMPI_COMM_WORLD_LOCAL_RANK").unwrap_or(world.rank());
    limit_threads((threads_of(args) / here).max(1))?;
    let mut prepared = Prepared::new(args)?;
    let together = &mut prepared.experiment.together;
    together.workers = together.workers.or(Some(world.size() as u32));
    _ = kept.set(prepared.folder.clone());
    let session = prepared.session(args);
    let machine = Machine::new(args.device, number..number + 1)?;
    if world.rank() > 0 {
        let mut unseen = Unseen(stop.clone());
        machine.run(&session, world, &mut unseen)?;
        let code = if unseen.stop() { STOPPED } else { 0 };
        return Ok(ExitCode::from(code));
    }
    if args.fresh {
        session.forget()?;
    }
    let name = format!("{} processes, {}", world.size(), machine.name());
    let mut progress = Progress::new(&prepared.experiment, &name, args.quiet, stop)?;
    let outcome = machine.run(&session, world, &mut progress)?;
    progress.end();
    let outcome = outcome.ok_or_else(|| Error::new("nobody leads", "report this"))?;
    prepared.tell(&outcome)
}

/// Ends this process: another is gone, or too slow to stop together.
fn lost(rank: usize, kept: Option<&PathBuf>) -> ! {
    // One says it for all, and another in case it is that one.
    if rank < 2 {
        let error = Error::from(Lost { rank: None });
        complain(&match kept {
            Some(folder) => error.within(&folder.display().to_string()),
            None => error,
        });
    }
    process::exit(FAILED.into());
}
