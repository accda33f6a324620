//! The command: what was typed, and what is done about it.

mod args;
mod device;
mod display;
mod output;
mod prepared;
#[cfg(feature = "mpi")]
mod processes;
mod workers;

use std::{fmt::Write as _, fs, path::Path, process::ExitCode};

pub(crate) use args::Args;
use args::{CheckArgs, Command, ReportArgs, RunArgs, ShowArgs};
use display::Stop;
use lengthwise_lab::{EXPERIMENTS, Error, Experiment, report::Training};
use output::{FAILED, complain, print, summary};
use prepared::{Prepared, experiment, task};

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

fn train(args: &RunArgs) -> Result<ExitCode, Error> {
    let stop = Stop::on_signals()?;
    if workers::under_mpi() {
        workers::has_mpi(cfg!(feature = "mpi"))?;
        #[cfg(feature = "mpi")]
        return processes::train(args, &stop);
    }
    if let Some(threads) = args.threads {
        workers::limit_threads(threads.into())?;
    }
    let prepared = Prepared::new(args)?;
    let outcome = workers::threads(&prepared, args, &stop)?;
    prepared.tell(&outcome)
}

fn check(args: &CheckArgs) -> Result<ExitCode, Error> {
    let (_, mut experiment) = experiment(&args.chosen)?;
    let task = task(&mut experiment, &args.chosen)?;
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

/// The results in a folder or a file.
fn results(given: &Path) -> Result<Training, Error> {
    let path =
        if given.is_dir() { given.join(lengthwise_lab::RESULTS) } else { given.to_path_buf() };
    let text = fs::read_to_string(&path).map_err(|error| {
        Error::new(format!("{}: {error}", path.display()), "give the folder of an experiment")
    })?;
    Training::from_jsonl(&text).map_err(|error| {
        Error::new(
            format!("{}: {error}", path.display()),
            "give the results.jsonl that an experiment wrote",
        )
    })
}

fn report(args: &ReportArgs) -> Result<ExitCode, Error> {
    let mut training: Option<Training> = None;
    for path in &args.results {
        let part = results(path)?;
        match &mut training {
            None => training = Some(part),
            Some(training) => {
                training.join(part).map_err(|error| error.within(&path.display().to_string()))?;
            }
        }
    }
    let Some(training) = training else {
        return Err(Error::new("there are no results", "give the folder of an experiment"));
    };
    if let Some(output) = &args.results_output {
        lengthwise_lab::save_file(output, training.to_jsonl().as_bytes())?;
    }
    if let Some(output) = &args.output {
        lengthwise_lab::save_file(output, training.page().as_bytes())?;
    }
    print(&if args.json {
        training.summary()
    } else if args.markdown {
        training.table().markdown()
    } else {
        summary(&training)
    })?;
    Ok(ExitCode::SUCCESS)
}
