//! The command: what was typed, and what is done about it.

mod args;
mod device;
mod display;
mod output;
mod prepared;
#[cfg(feature = "mpi")]
mod processes;
mod workers;

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

pub(crate) use args::Args;
use args::{CheckArgs, Command, ReportArgs, RunArgs, ShowArgs};
use display::Stop;
use lengthwise_lab::{EXPERIMENTS, Error, Experiment, report::Training};
use output::{FAILED, complain, print, summary};
use prepared::{Prepared, experiment, task};

/// Does what was asked for.
pub(crate) fn run(args: Args) -> ExitCode {
    // A file that grows over a limit is then a write that fails. Nothing reads the flag.
    #[cfg(unix)]
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, std::sync::Arc::default());
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
            let width = EXPERIMENTS.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
            for (name, file) in EXPERIMENTS {
                let title = Experiment::parse(name, file)?.title;
                _ = writeln!(text, "{name:width$} {title}");
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

/// The file of what was given: a folder, or the file itself.
fn file_of(given: &Path) -> PathBuf {
    if given.is_dir() { given.join(lengthwise_lab::RESULTS) } else { given.to_path_buf() }
}

/// Refuses to write over what is read, or over what is written.
fn check_outputs(args: &ReportArgs) -> Result<(), Error> {
    let whole = |path: &Path| {
        let folder = match path.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        path.canonicalize()
            .ok()
            .or_else(|| Some(folder.canonicalize().ok()?.join(path.file_name()?)))
    };
    let mut taken: Vec<Option<PathBuf>> =
        args.results.iter().map(|given| whole(&file_of(given))).collect();
    for output in [&args.output, &args.results_output].into_iter().flatten() {
        let path = whole(output);
        if path.is_some() && taken.contains(&path) {
            return Err(Error::new(
                format!("{}: this file is read, or is written already", output.display()),
                "give each output a file of its own",
            ));
        }
        taken.push(path);
    }
    Ok(())
}

/// The results in a folder or a file.
fn results(given: &Path) -> Result<Training, Error> {
    let path = file_of(given);
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
    check_outputs(args)?;
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
