//! The command: what was typed, and what is done about it.

mod args;
mod device;
#[cfg(feature = "mpi")]
mod processes;
mod progress;
mod workers;

use std::{
    fmt::Write as _,
    fs,
    io::{self, Write as _},
    num::NonZero,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

pub(crate) use args::Args;
use args::{CheckArgs, Chosen, Command, ReportArgs, RunArgs, ShowArgs};
use lengthwise_lab::{EXPERIMENTS, Error, Experiment, Outcome, Session, data::Task};
use lengthwise_report::{Look, training::Training};
use progress::Stop;

/// The exit code of an experiment that was stopped, as shells have it for Ctrl-C.
const STOPPED: u8 = 130;
/// That of what could not be done.
const FAILED: u8 = 2;

/// Does what was asked for.
pub(crate) fn run(args: Args) -> ExitCode {
    let command = args.command.unwrap_or_else(|| Command::Run(RunArgs::default()));
    let done = match &command {
        Command::Run(args) => train(args),
        Command::Check(args) => check(args),
        Command::Show(args) => show(args),
        Command::Report(args) => report(args),
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            complain(&error);
            ExitCode::from(FAILED)
        }
    }
}

/// Says what is wrong, and what to do about it.
fn complain(error: &Error) {
    let hint = error.hint().map(|hint| format!("\n\nhint: {hint}")).unwrap_or_default();
    _ = writeln!(io::stderr(), "error: {error}{hint}");
}

/// Prints, unless whoever reads has had enough.
fn print(text: &str) -> Result<(), Error> {
    match io::stdout().write_all(text.as_bytes()).and_then(|()| io::stdout().flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Error::new(format!("cannot write the output: {error}"), "check where it goes"))
        }
        _ => Ok(()),
    }
}

/// An experiment and its short name: by the name of one that is built in, or from a file.
fn experiment(chosen: &Chosen) -> Result<(String, Experiment), Error> {
    let given = &chosen.experiment;
    if let Some((name, text)) = EXPERIMENTS.iter().find(|(name, _)| name == given) {
        return Ok(((*name).to_owned(), altered(Experiment::parse(name, text)?, chosen)?));
    }
    let path = Path::new(given);
    let text = fs::read_to_string(path).map_err(|error| {
        let names: Vec<&str> = EXPERIMENTS.iter().map(|(name, _)| *name).collect();
        Error::new(
            format!("{given}: {error}"),
            format!("give a file, or one of these: {}", names.join(", ")),
        )
    })?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok((name, altered(Experiment::parse(given, &text)?, chosen)?))
}

/// With what was said on the command line.
fn altered(mut experiment: Experiment, chosen: &Chosen) -> Result<Experiment, Error> {
    if let Some(epochs) = chosen.epochs {
        experiment.epochs = epochs.get();
    }
    let size = &mut experiment.model;
    size.layers = chosen.layers.map_or(size.layers, |layers| layers.get() as usize);
    size.units = chosen.units.map_or(size.units, |units| units.get() as usize);
    if !chosen.seeds.is_empty() {
        experiment.seeds.clone_from(&chosen.seeds);
    }
    let together = &mut experiment.together;
    together.workers = chosen.workers.map(NonZero::get).or(together.workers);
    together.mode = chosen.mode.or(together.mode);
    if !chosen.only.is_empty() {
        for name in &chosen.only {
            if !experiment.runs.iter().any(|run| run.name == *name) {
                let names: Vec<String> =
                    experiment.runs.iter().map(|run| format!("{:?}", run.name)).collect();
                return Err(Error::new(
                    format!("no run is called {name:?}"),
                    format!("there are {}", names.join(", ")),
                ));
            }
        }
        experiment.runs.retain(|run| chosen.only.contains(&run.name));
    }
    Ok(experiment)
}

/// What is learnt, checked.
fn task(experiment: &Experiment, chosen: &Chosen) -> Result<Task, Error> {
    // Paths in a file begin where the file is.
    let folder = Path::new(&chosen.experiment).parent().unwrap_or(Path::new(""));
    experiment.task(chosen.data.as_deref(), folder)
}

fn train(args: &RunArgs) -> Result<ExitCode, Error> {
    let stop = Stop::on_signals()?;
    if workers::under_mpi() {
        #[cfg(feature = "mpi")]
        return processes::train(args, &stop);
        #[cfg(not(feature = "mpi"))]
        return Err(Error::new(
            "this program was built without MPI, and each process would train by itself",
            "build it with `--features mpi`, or start it without mpirun and say `--workers`",
        ));
    }
    if let Some(threads) = args.threads {
        workers::limit_threads(threads.into())?;
    }
    let prepared = Prepared::new(args)?;
    let outcome = workers::threads(&prepared, args, &stop)?;
    prepared.tell(&outcome)
}

/// An experiment that can begin.
struct Prepared {
    experiment: Experiment,
    task: Task,
    /// Where its results are kept.
    folder: PathBuf,
}

impl Prepared {
    fn new(args: &RunArgs) -> Result<Self, Error> {
        let (name, experiment) = experiment(&args.chosen)?;
        let task = task(&experiment, &args.chosen)?;
        let data = args.chosen.data.as_deref().and_then(Path::file_name);
        let folder = args.out.clone().unwrap_or_else(|| {
            let of = data.map(|data| format!("-{}", data.to_string_lossy())).unwrap_or_default();
            PathBuf::from("runs").join(format!("{name}{of}"))
        });
        Ok(Self { experiment, task, folder })
    }

    fn session(&self, args: &RunArgs) -> Session<'_> {
        let every = Duration::from_secs_f64(args.save_every);
        Session::new(&self.experiment, &self.task, &self.folder, every).trace(args.trace.clone())
    }

    /// Says what came of it.
    fn tell(&self, outcome: &Outcome) -> Result<ExitCode, Error> {
        let Outcome { training, finished } = outcome;
        let folder = &self.folder;
        if !finished {
            _ = writeln!(
                io::stderr(),
                "stopped; the same command goes on from here (kept in {})",
                folder.display()
            );
            return Ok(ExitCode::from(STOPPED));
        }
        print(&summary(training))?;
        let page = folder.join(lengthwise_lab::PAGE);
        _ = writeln!(io::stderr(), "\nCurves and tables: {}", page.display());
        Ok(ExitCode::SUCCESS)
    }
}

/// The table and what it says, for a terminal or a pipe.
fn summary(training: &Training) -> String {
    let (look, width) = match terminal_size::terminal_size_of(io::stdout()) {
        Some((width, _)) => (Look::Starred, width.0.into()),
        None => (Look::Plain, 200),
    };
    format!("{}\n{}\n", training.table().text(look, width), training.verdict())
}

fn check(args: &CheckArgs) -> Result<ExitCode, Error> {
    let (_, experiment) = experiment(&args.chosen)?;
    let task = task(&experiment, &args.chosen)?;
    print(&lengthwise_lab::describe(&experiment, &task)?)?;
    Ok(ExitCode::SUCCESS)
}

fn show(args: &ShowArgs) -> Result<ExitCode, Error> {
    match &args.experiment {
        None => {
            let mut text = String::new();
            for (name, file) in EXPERIMENTS {
                let title = Experiment::parse(name, file)?.title;
                _ = writeln!(text, "{name:16} {title}");
            }
            print(&text)?;
        }
        Some(given) => match EXPERIMENTS.iter().find(|(name, _)| name == given) {
            Some((_, file)) => print(file)?,
            None => {
                return Err(Error::new(
                    format!("no experiment is called {given:?}"),
                    "`lengthwise-lab show` lists them",
                ));
            }
        },
    }
    Ok(ExitCode::SUCCESS)
}

fn report(args: &ReportArgs) -> Result<ExitCode, Error> {
    let path = if args.results.is_dir() {
        args.results.join(lengthwise_lab::RESULTS)
    } else {
        args.results.clone()
    };
    let text = fs::read_to_string(&path).map_err(|error| {
        Error::new(format!("{}: {error}", path.display()), "give the folder of an experiment")
    })?;
    let training = Training::from_jsonl(&text).map_err(|error| {
        Error::new(
            format!("{}: {error}", path.display()),
            "give the results.jsonl that an experiment wrote",
        )
    })?;
    if let Some(output) = &args.output {
        let page = training.page();
        lengthwise_io::save(output, |file| file.write_all(page.as_bytes()))?;
    }
    print(&if args.markdown { training.table().markdown() } else { summary(&training) })?;
    Ok(ExitCode::SUCCESS)
}
