//! One training from the parts of it that several processes or machines did.

use super::{
    records::Training,
    row::{diverged, last_epoch},
};
use crate::Error;

impl Training {
    /// Adds the runs of another part of the same experiment: other seeds, or other ways to batch.
    ///
    /// # Errors
    ///
    /// If it is another experiment, or has a run with a seed that is there already.
    pub fn join(&mut self, mut other: Self) -> Result<(), Error> {
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

    /// The most epochs of this run from any seed, but for those that ended early.
    fn goal(&self, name: &str) -> Option<u32> {
        let of_run = self.runs.iter().filter(|run| run.name == name);
        of_run.filter(|run| !run.ended && !diverged(run)).map(last_epoch).max()
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
