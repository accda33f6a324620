//! Training in this process, with one thread or several.

use std::{env, num::NonZero, thread};

use lengthwise_lab::{
    Error, Outcome,
    collective::{Alone, Collective, on_threads},
};

use super::{
    args::RunArgs,
    device::Machine,
    display::{Display, Stop, Unseen},
    prepared::Prepared,
};

/// The variables in which launchers of MPI give the number of processes.
const SIZES: [&str; 3] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE"];

/// Whether MPI has started this process.
pub(super) fn under_mpi() -> bool {
    SIZES.iter().any(|name| env::var_os(name).is_some())
}

/// Refuses the processes of MPI where this program is not built for it.
pub(super) fn has_mpi(built: bool) -> Result<(), Error> {
    if built {
        return Ok(());
    }
    Err(Error::new(
        "this program was built without MPI, and each process would train by itself",
        "build it with `--features mpi`, or start it without mpirun and say `--workers`",
    ))
}

/// How many threads of the processor there are for all workers.
pub(super) fn threads_of(args: &RunArgs) -> usize {
    let all = || thread::available_parallelism().map_or(1, NonZero::get);
    args.threads.map_or_else(all, usize::from)
}

fn cannot_start(error: &rayon::ThreadPoolBuildError) -> Error {
    Error::new(format!("cannot start threads: {error}"), "give fewer `--threads`")
}

/// Uses so many threads for all that this process computes.
pub(super) fn limit_threads(threads: usize) -> Result<(), Error> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    pool.build_global().map_err(|error| cannot_start(&error))
}

/// Trains in this process, as many threads as there are workers.
pub(super) fn threads(prepared: &Prepared, args: &RunArgs, stop: &Stop) -> Result<Outcome, Error> {
    let trainings = prepared.experiment.trainings()?;
    let workers = trainings.iter().map(|training| training.workers).max().unwrap_or(1);
    // What all workers would refuse is refused before there are any.
    lengthwise_lab::describe(&prepared.experiment, &prepared.task)?;
    let session = prepared.session(args);
    let machine = Machine::new(args.device, 0..workers)?;
    if args.fresh {
        session.forget()?;
    }
    let train = |world: &dyn Collective| -> Result<Option<Outcome>, Error> {
        if world.rank() > 0 {
            return machine.run(&session, world, &mut Unseen(stop.clone()));
        }
        let name = match world.size() {
            1 => machine.name(),
            several => format!("{several} workers, each on {}", machine.name()),
        };
        let mut display = Display::new(&prepared.experiment, &name, args.quiet, stop)?;
        let outcome = machine.run(&session, world, &mut display)?;
        display.end();
        Ok(outcome)
    };
    let outcome = if workers == 1 {
        train(&Alone)?
    } else {
        let threads = threads_of(args);
        let each = (threads / workers).max(1);
        let done = on_threads(workers, machine.places(threads, each), |collective| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(each).build();
            pool.map_err(|error| cannot_start(&error))?.install(|| train(&collective))
        });
        done.map_err(|(rank, error)| error.of_worker(rank))?
    };
    outcome.ok_or_else(|| Error::new("no worker returned results", "report this"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_of_mpi_do_not_train_each_by_itself() {
        assert!(has_mpi(true).is_ok());
        assert!(has_mpi(false).unwrap_err().to_string().contains("built without MPI"));
    }
}
