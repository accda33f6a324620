//! One training from the parts of it that several processes or machines did.

use std::collections::BTreeSet;

use super::{
    records::Training,
    row::{diverged, last_epoch},
};
use crate::Error;

const SAME: &str =
    "give parts that were trained on the same data, with the same model and settings";

impl Training {
    /// Adds the runs of another part of the same experiment: other seeds, or other ways to batch.
    ///
    /// # Errors
    ///
    /// If it is another experiment, was trained on other data or with other settings as far as its header says, or
    /// has a run with a seed that is there already.
    pub fn join(&mut self, mut other: Self) -> Result<(), Error> {
        let names =
            |of: &Self| of.runs.iter().map(|run| run.name.clone()).collect::<BTreeSet<String>>();
        let same_runs = names(self) == names(&other);
        // What was not begun in one part may have been done in another.
        for part in [&mut *self, &mut other] {
            part.runs.retain(|run| !run.epochs.is_empty());
        }
        for (what, own, its) in
            [("title", &self.title, &other.title), ("error", &self.error, &other.error)]
        {
            if own != its {
                return Err(Error::new(
                    format!("the {what} is {its:?}, and {own:?} in the first results"),
                    "give the results of one experiment, with other seeds or runs",
                ));
            }
        }
        self.same_about(&other, same_runs)?;
        self.join_about(&other);
        for run in &other.runs {
            if let Some(own) = self.runs.iter().find(|own| own.name == run.name) {
                if own.settings != run.settings {
                    return Err(Error::new(
                        format!(
                            "run {:?} has the settings {:?}, and {:?} in the first results",
                            run.name, run.settings, own.settings
                        ),
                        "give the results of one experiment, with other seeds or runs",
                    ));
                }
                if let (Some(its), Some(own)) = (&run.digest, &own.digest)
                    && its != own
                {
                    return Err(Error::new(
                        format!(
                            "run {:?} was trained on other data, with another model or with other settings than in \
                             the first results",
                            run.name
                        ),
                        SAME,
                    ));
                }
                // Other runs may have other numbers of epochs.
                if let (Some(last), Some(own_last)) = (other.goal(&run.name), self.goal(&run.name))
                    && last != own_last
                {
                    return Err(Error::new(
                        format!(
                            "the last epoch of run {:?} is {last}, and {own_last} in the first results",
                            run.name
                        ),
                        "train all parts of a run for as many epochs",
                    ));
                }
            }
            if self.runs.iter().any(|own| own.name == run.name && own.seed == run.seed) {
                return Err(Error::new(
                    format!("run {:?} with seed {} is there twice", run.name, run.seed),
                    "give every part once",
                ));
            }
        }
        self.runs.extend(other.runs);
        merge(&mut self.notes, other.notes);
        merge(&mut self.pairs, other.pairs);
        merge(&mut self.scaling, other.scaling);
        merge(&mut self.higher, other.higher);
        Ok(())
    }

    /// Refuses a part that says something else of the data, the model or the learning.
    fn same_about(&self, other: &Self, same_runs: bool) -> Result<(), Error> {
        let mut all = self.about.iter().chain(&other.about);
        let pytorch = all.any(|(what, value)| what == "engine" && value.contains("PyTorch"));
        for (what, own) in &self.about {
            let its = other.about.iter().find(|(key, _)| key == what).map(|(_, value)| value);
            let told = |value| common(what, value, pytorch, same_runs);
            if let (Some(own), Some(its)) = (told(own), its.and_then(|its| told(its)))
                && own != its
            {
                return Err(Error::new(
                    format!("expected the {what} of the first results, {own:?}, got {its:?}"),
                    SAME,
                ));
            }
        }
        Ok(())
    }

    /// Says of what differs between the runs of both parts that it does.
    fn join_about(&mut self, other: &Self) {
        for (what, own) in &mut self.about {
            let its = other.about.iter().find(|(key, _)| key == what).map(|(_, value)| value);
            if its.is_none_or(|its| its == own) || matches!(what.as_str(), "engine" | "task") {
                continue;
            }
            let settings = |of: &str| of.rsplit_once(", ").map(|(settings, _)| settings.to_owned());
            *own = match (settings(own), its.and_then(|its| settings(its))) {
                (Some(own), Some(its)) if own == its && what == "learning" => {
                    format!("{own}, epochs differ by run")
                }
                _ => "differs by run".to_owned(),
            };
        }
    }

    /// The most epochs of this run from any seed, but for those that ended early.
    fn goal(&self, name: &str) -> Option<u32> {
        let of_run = self.runs.iter().filter(|run| run.name == name);
        of_run.filter(|run| !run.ended && !diverged(run)).map(last_epoch).max()
    }
}

/// What all parts of an experiment must say in an entry of `about`, if they must say the same.
fn common<'a>(what: &str, value: &'a str, pytorch: bool, same_runs: bool) -> Option<&'a str> {
    match what {
        "engine" => None,
        // Other machines can have the data in other folders.
        "task" if !value.contains(" generated with seed ") => None,
        // There, every run can have its own model and its own rate, and this is about the runs that were chosen.
        _ if pytorch && (!same_runs || value.contains(" by run")) => None,
        // Epochs are those of the runs that were chosen, and are compared run by run.
        "learning" => value.rsplit_once(", ").map(|(settings, _epochs)| settings),
        _ => Some(value),
    }
}

fn merge<T: PartialEq>(own: &mut Vec<T>, more: Vec<T>) {
    for one in more {
        if !own.contains(&one) {
            own.push(one);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{TrainingRun, testing::training};

    /// The same with other seeds.
    fn other() -> Training {
        let mut other = training();
        for run in &mut other.runs {
            run.seed += 100;
        }
        other
    }

    #[test]
    fn parts_become_one() {
        let mut whole = training();
        let rows = |of: &Training| of.table().markdown().matches("\n| semi-sorted").count();
        let (runs, before) = (whole.runs.len(), rows(&whole));
        let mut part = other();
        part.notes.push("More.".to_owned());
        part.runs.push(TrainingRun { epochs: Vec::new(), ..training().runs[0].clone() });
        whole.join(part).unwrap();
        assert_eq!(whole.runs.len(), 2 * runs);
        assert_eq!(whole.notes.len(), training().notes.len() + 1);
        // A row for each name, of twice as many seeds.
        assert_eq!(rows(&whole), before);
        assert_eq!(Training::from_jsonl(&whole.to_jsonl()).unwrap(), whole);
    }

    #[test]
    fn parts_have_the_same_digest() {
        let with = |mut of: Training, digest: Option<&str>| {
            for run in &mut of.runs {
                run.digest = digest.map(str::to_owned);
            }
            of
        };
        let join = |own: Option<&str>, its: Option<&str>| {
            with(training(), own).join(with(other(), its)).map_err(|error| error.to_string())
        };
        for (own, its) in [(Some("a"), Some("a")), (None, Some("a")), (Some("a"), None)] {
            join(own, its).unwrap();
        }
        let error = join(Some("a"), Some("b")).unwrap_err();
        assert!(error.starts_with("run \"shuffled\" was trained on other data"), "{error}");
    }

    #[test]
    fn parts_are_of_the_same_data_and_model() {
        // The runs of one part are all or only the second; it was trained by this program or with PyTorch.
        let join = |entry: (&str, &str), its: &str, all: bool, engine: &str| {
            let about = |value: &str| {
                let entries = [("engine", engine), (entry.0, value)];
                entries.map(|(what, value)| (what.to_owned(), value.to_owned())).to_vec()
            };
            let mut part = Training { about: about(its), ..other() };
            part.runs.retain(|run| all || run.name != "shuffled");
            Training { about: about(entry.1), ..training() }
                .join(part)
                .map_err(|error| error.to_string())
        };
        let (here, torch) = ("the processor, 1 thread", "NVIDIA H200, PyTorch 2.11.0");
        let sequences = ("sequences", "540 for training, 318 for validation");
        let fewer = "540 for training, 31 for validation";
        let error = join(sequences, fewer, true, here).unwrap_err();
        let expected = "expected the sequences of the first results, \"540 for training, 318 for validation\", got \"540 ";
        assert!(error.starts_with(expected), "{error}");
        for all in [true, false] {
            for (what, own, its) in [
                ("sequences", sequences.1, fewer),
                (
                    "model",
                    "1 LSTM layer of 48 units, both directions",
                    "1 LSTM layer of 49 units, both directions",
                ),
                (
                    "learning",
                    "adam, rate 0.005, constant, 5 epochs",
                    "adam, rate 0.01, constant, 5 epochs",
                ),
                (
                    "task",
                    "voice (voice generated with seed 1)",
                    "voice (voice generated with seed 2)",
                ),
            ] {
                assert!(join((what, own), own, all, here).is_ok(), "{what}");
                let error = join((what, own), its, all, here).unwrap_err();
                assert!(error.starts_with(&format!("expected the {what} of ")), "{error}");
                assert_eq!(join((what, own), its, all, torch).is_ok(), !all, "{what}");
            }
            // The same data can be in another folder.
            join(("task", "digits (data/digits)"), "digits (/tmp/digits)", all, here).unwrap();
        }
        // Runs may have other numbers of epochs, and in PyTorch other rates, of which the first part has only some.
        for (its, engine) in [
            ("adam, rate 0.005, constant, 3 to 5 epochs", here),
            ("adam, rates differ by run, constant, 3 epochs", torch),
        ] {
            for all in [true, false] {
                join(("learning", "adam, rate 0.005, constant, 3 epochs"), its, all, engine)
                    .unwrap();
            }
        }
        // Then the whole does not say what is true of the first part only.
        let joined = |own: &str, its: &str| {
            let about = |value: &str| {
                let entries = [("engine", torch), ("learning", value)];
                entries.map(|(what, value)| (what.to_owned(), value.to_owned())).to_vec()
            };
            let mut part = Training { about: about(its), ..other() };
            part.runs.retain(|run| run.name != "shuffled");
            let mut whole = Training { about: about(own), ..training() };
            whole.join(part).unwrap();
            whole.about[1].1.clone()
        };
        let one = "adam, rate 0.005, constant, 3 epochs";
        assert_eq!(joined(one, one), one);
        let longer = "adam, rate 0.005, constant, 3 to 5 epochs";
        assert_eq!(joined(one, longer), "adam, rate 0.005, constant, epochs differ by run");
        assert_eq!(joined(one, "adam, rate 0.01, constant, 3 epochs"), "differs by run");
    }

    #[test]
    fn what_is_no_part_is_refused() {
        let refused = |part: Training| training().join(part).unwrap_err().to_string();
        assert!(refused(training()).contains("is there twice"));
        assert!(refused(Training { title: "x".to_owned(), ..other() }).contains("the title is"));
        let mut part = other();
        part.runs[0].settings = "x".to_owned();
        assert!(refused(part).contains("has the settings"));
        let mut part = other();
        for run in &mut part.runs {
            run.epochs.truncate(1);
        }
        assert!(refused(part).contains("the last epoch of run \"shuffled\" is 1, and "));
        // A run that diverged may be shorter, whichever part it is in.
        for at in 0..2 {
            let mut parts = [training(), other()];
            let [first, ..] = &mut parts[at].runs[..] else { panic!("no runs") };
            first.epochs.truncate(1);
            first.epochs[0].loss = f64::NAN;
            let [mut whole, part] = parts;
            whole.join(part).unwrap();
        }
        // Another run may be shorter.
        let mut part = other();
        part.runs.truncate(1);
        part.runs[0].name = "another".to_owned();
        part.runs[0].epochs.truncate(1);
        training().join(part).unwrap();
    }
}
