//! The experiment that was named, with the settings of the command line.

use std::{
    env, fs,
    io::{self, Write as _},
    num::NonZero,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use lengthwise_lab::{EXPERIMENTS, Error, Experiment, Outcome, Session, data::Task};

use super::{
    args::{Chosen, RunArgs},
    output::{STOPPED, print, summary},
};

/// An experiment and its short name: by the name of one that is built in, or from a file.
pub(super) fn experiment(chosen: &Chosen) -> Result<(String, Experiment), Error> {
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
        for run in &mut experiment.runs {
            run.epochs = None;
        }
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

/// Reads and checks the data, and decides how to batch it where that is to be recommended.
pub(super) fn task(experiment: &mut Experiment, chosen: &Chosen) -> Result<Task, Error> {
    // Paths in a file begin where the file is.
    let folder = Path::new(&chosen.experiment).parent().unwrap_or(Path::new(""));
    let task = experiment.task(chosen.data.as_deref(), folder)?;
    experiment.recommend(&task)?;
    Ok(task)
}

/// The command that was typed, with `--fresh`.
fn again(args: impl Iterator<Item = String>, by_cargo: bool) -> String {
    const PLAIN: &str = "-_./,:=+@%";
    let quoted = |arg: String| {
        let plain =
            arg.chars().all(|c| c.is_alphanumeric() || PLAIN.contains(c)) && !arg.is_empty();
        if plain { arg } else { format!("'{}'", arg.replace('\'', r"'\''")) }
    };
    let mut words: Vec<String> = args.map(quoted).collect();
    if words.is_empty() {
        words.push("run".to_owned());
    }
    let program = if by_cargo {
        "cargo run --release --manifest-path lab/Cargo.toml --"
    } else {
        "lengthwise-lab"
    };
    format!("{program} {} --fresh", words.join(" "))
}

/// An experiment that can begin.
pub(super) struct Prepared {
    pub(super) experiment: Experiment,
    pub(super) task: Task,
    /// Where its results are kept.
    pub(super) folder: PathBuf,
}

impl Prepared {
    pub(super) fn new(args: &RunArgs) -> Result<Self, Error> {
        let (name, mut experiment) = experiment(&args.chosen)?;
        let task = task(&mut experiment, &args.chosen)?;
        let data = args.chosen.data.as_deref().and_then(Path::file_name);
        let folder = args.out.clone().unwrap_or_else(|| {
            let of = data.map(|data| format!("-{}", data.to_string_lossy())).unwrap_or_default();
            PathBuf::from("runs").join(format!("{name}{of}"))
        });
        Ok(Self { experiment, task, folder })
    }

    pub(super) fn session(&self, args: &RunArgs) -> Session<'_> {
        let every = Duration::from_secs_f64(args.save_every);
        Session::new(&self.experiment, &self.task, &self.folder, every).trace(args.trace.clone())
    }

    /// Says what came of it.
    pub(super) fn tell(&self, outcome: &Outcome) -> Result<ExitCode, Error> {
        let Outcome { training, finished, trained } = outcome;
        let folder = &self.folder;
        if !finished {
            _ = writeln!(
                io::stderr(),
                "stopped; the same command continues from here (saved in {})",
                folder.display()
            );
            return Ok(ExitCode::from(STOPPED));
        }
        print(&summary(training))?;
        let page = folder.join(lengthwise_lab::PAGE);
        _ = writeln!(io::stderr(), "\nReport with all curves: {}", page.display());
        if !trained {
            _ = writeln!(
                io::stderr(),
                "\nNothing was trained: these results were kept from an earlier run.\n\
                 To train anew: {}",
                again(env::args().skip(1), env::var_os("CARGO").is_some())
            );
        }
        Ok(ExitCode::SUCCESS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_to_train_anew_can_be_pasted() {
        let told = |args: &[&str], by_cargo| again(args.iter().map(ToString::to_string), by_cargo);
        assert_eq!(
            told(&[], true),
            "cargo run --release --manifest-path lab/Cargo.toml -- run --fresh"
        );
        assert_eq!(
            told(&["run", "workers", "--only", "serial,sync 4"], false),
            "lengthwise-lab run workers --only 'serial,sync 4' --fresh"
        );
    }
}
