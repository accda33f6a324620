//! Records as JSON lines: the first says what was trained and which runs there are, and then every
//! epoch of every run has a line.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::records::{Scaling, Training, TrainingEpoch, TrainingRun};

/// The version of the lines.
const VERSION: u32 = 1;

/// Why lines are no records of a training.
///
/// [`Display`](fmt::Display) gives one line, `line 3: message`; [`hint`](ReadError::hint) says what to
/// do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError {
    line: usize,
    what: String,
    hint: &'static str,
}

impl ReadError {
    /// The line, from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// What is wrong with it, without the line.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// What to do about it, in one line, without the word "hint".
    pub fn hint(&self) -> Option<String> {
        Some(self.hint.to_owned())
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl std::error::Error for ReadError {}

#[derive(Serialize, Deserialize)]
struct Head {
    version: u32,
    title: String,
    about: Vec<(String, String)>,
    error: String,
    runs: Vec<HeadRun>,
    notes: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pairs: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    scaling: Vec<Scaling>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    higher: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct HeadRun {
    name: String,
    settings: String,
    seed: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    epochs: Option<u32>,
    #[serde(default, skip_serializing_if = "is_false")]
    ended: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's way to call it")]
fn is_false(value: &bool) -> bool {
    !value
}

/// The name and the seed make a line readable on its own.
#[derive(Serialize)]
struct Line<'a> {
    run: usize,
    name: &'a str,
    seed: u64,
    #[serde(flatten)]
    epoch: &'a TrainingEpoch,
}

#[derive(Deserialize)]
struct ReadLine {
    run: usize,
    name: Option<String>,
    seed: Option<u64>,
    #[serde(flatten)]
    epoch: TrainingEpoch,
}

impl Training {
    /// One line that says what was trained and lists the runs, and one for each epoch of each run.
    pub fn to_jsonl(&self) -> String {
        let head = Head {
            version: VERSION,
            title: self.title.clone(),
            about: self.about.clone(),
            error: self.error.clone(),
            runs: self.runs.iter().map(HeadRun::of).collect(),
            notes: self.notes.clone(),
            pairs: self.pairs.clone(),
            scaling: self.scaling.clone(),
            higher: self.higher.clone(),
        };
        let mut lines = serde_json::to_string(&head).unwrap_or_default();
        lines.push('\n');
        for (number, run) in self.runs.iter().enumerate() {
            for epoch in &run.epochs {
                let line = Line { run: number, name: &run.name, seed: run.seed, epoch };
                lines += &serde_json::to_string(&line).unwrap_or_default();
                lines.push('\n');
            }
        }
        lines
    }

    /// What [`to_jsonl`](Self::to_jsonl) wrote, to the last bit. Lines of several runs may be mixed, as
    /// they are where runs take turns; blank lines are passed over.
    pub fn from_jsonl(lines: &str) -> Result<Self, ReadError> {
        let mut lines = (1..).zip(lines.lines()).filter(|(_, line)| !line.trim().is_empty());
        let Some((number, head)) = lines.next() else {
            return Err(ReadError {
                line: 1,
                what: "there is nothing: a training begins with a line that says what it is"
                    .to_owned(),
                hint: "give the file that a training has written",
            });
        };
        let mut training = head_of(number, head)?;
        for (number, line) in lines {
            let read: ReadLine = parsed(number, line)?;
            add(&mut training, number, read)?;
        }
        Ok(training)
    }
}

impl HeadRun {
    fn of(run: &TrainingRun) -> Self {
        let TrainingRun { name, settings, seed, digest, planned_epochs, ended, .. } = run;
        Self {
            name: name.clone(),
            settings: settings.clone(),
            seed: *seed,
            digest: digest.clone(),
            epochs: *planned_epochs,
            ended: *ended,
        }
    }
}

fn head_of(number: usize, line: &str) -> Result<Training, ReadError> {
    #[derive(Deserialize)]
    struct Version {
        version: u32,
    }

    // The version first: a later one may have other fields.
    let Version { version } = parsed(number, line)?;
    if version != VERSION {
        return Err(ReadError {
            line: number,
            what: format!("the training has version {version}, and this release reads {VERSION}"),
            hint: "use the release of lengthwise that wrote it",
        });
    }
    let Head { title, about, error, runs, notes, pairs, scaling, higher, .. } =
        parsed(number, line)?;
    let runs = runs.into_iter().map(|run| TrainingRun {
        name: run.name,
        settings: run.settings,
        seed: run.seed,
        digest: run.digest,
        planned_epochs: run.epochs,
        epochs: Vec::new(),
        ended: run.ended,
    });
    Ok(Training { title, about, error, runs: runs.collect(), notes, pairs, scaling, higher })
}

/// A line of JSON.
fn parsed<'a, T: Deserialize<'a>>(number: usize, line: &'a str) -> Result<T, ReadError> {
    serde_json::from_str(line).map_err(|error| {
        let cut = error.is_eof();
        // Which line it is, we know; the parser sees one only.
        let why = error.to_string().replace(" at line 1 column ", ", at character ");
        let why = lengthwise_report::one_line(&why);
        ReadError {
            line: number,
            what: if cut { format!("the line is cut off: {why}") } else { why },
            hint: if cut {
                "leave the line out if the training was interrupted while it wrote it"
            } else {
                "give lines as a training writes them: a head with `runs`, then one for each epoch"
            },
        }
    })
}

/// Puts an epoch where it belongs, if it can be one.
fn add(training: &mut Training, number: usize, line: ReadLine) -> Result<(), ReadError> {
    let wrong = |what: String, hint: &'static str| Err(ReadError { line: number, what, hint });
    let runs = training.runs.len();
    let Some(run) = training.runs.get_mut(line.run) else {
        let what = format!("run {} is not one of the {runs} runs of the first line", line.run);
        return wrong(what, "runs count from 0, in the order of `runs` in the first line");
    };
    let epoch = line.epoch;
    let name = line.name.unwrap_or_else(|| run.name.clone());
    let seed = line.seed.unwrap_or(run.seed);
    if (&name, seed) != (&run.name, run.seed) {
        let (name, own) =
            (lengthwise_report::one_line(&name), lengthwise_report::one_line(&run.name));
        let what = format!(
            "run {} is `{own}` with seed {} in the first line, and `{name}` with seed {seed} here",
            line.run, run.seed
        );
        return wrong(what, "do not mix the lines of two trainings");
    }
    let before = run.epochs.last().map_or(0, |last| last.epoch);
    if epoch.epoch <= before {
        let what = format!("run {} has epoch {} after epoch {before}", line.run, epoch.epoch);
        return wrong(what, "epochs count from 1, and every run has each once, in order");
    }
    if !(epoch.seconds.is_finite() && epoch.seconds >= 0.0) {
        let what = format!("an epoch cannot take {} seconds", epoch.seconds);
        return wrong(what, "`seconds` is how long training took, 0 or more");
    }
    if epoch.frames > epoch.cells {
        let what = format!("there are {} frames in {} cells", epoch.frames, epoch.cells);
        return wrong(what, "`cells` counts frames with padding, `frames` without");
    }
    run.epochs.push(epoch);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use crate::report::testing::{epoch, run, training};

    #[test]
    fn what_was_written_is_read_again() {
        let mut training = training();
        // Numbers whose digits are many, or that are nearly none; names that are odd; no epochs.
        let values = [0.1 + 0.2, f64::MIN_POSITIVE, 5e-324, f64::MAX, 1.0 / 3.0, -0.0, 1e22];
        for (number, value) in values.into_iter().enumerate() {
            let mut odd = epoch(1, value.abs(), value);
            odd.validation.as_mut().unwrap().more.push(("\u{1b}[31m\"\n".to_owned(), value));
            odd.peak_bytes = u64::MAX;
            training.runs.push(run("\u{202e}</script>\n", number as u64, vec![odd]));
        }
        training.runs.push(run("none", u64::MAX, vec![]));
        let mut silent = epoch(7, 0.0, 0.0);
        silent.validation = None;
        training.runs.push(run("none", u64::MAX, vec![silent]));
        let mut measured = epoch(1, 1.0, 0.5);
        measured.step_mix = Some(0.1 + 0.2);
        training.runs.push(run("mixed", 0, vec![measured]));
        training.higher = vec!["BLEU".to_owned()];
        let lines = training.to_jsonl();
        assert_eq!(Training::from_jsonl(&lines).unwrap(), training);
        // The zero below zero is one too.
        assert_eq!(Training::from_jsonl(&lines).unwrap().to_jsonl(), lines);
    }

    #[test]
    fn numbers_that_are_none_are_read_again() {
        let mut wrong = epoch(1, 1.0, f64::NAN);
        wrong.loss = f64::INFINITY;
        wrong.validation.as_mut().unwrap().loss = f64::NEG_INFINITY;
        wrong.validation.as_mut().unwrap().more.push(("x".to_owned(), f64::NAN));
        let training = Training { runs: vec![run("a", 0, vec![wrong])], ..training() };
        let again = Training::from_jsonl(&training.to_jsonl()).unwrap();
        assert_eq!(format!("{again:?}"), format!("{training:?}"));
    }

    /// As of a language model, of which only the loss is known.
    #[test]
    fn errors_need_not_be_counted() {
        let mut silent = epoch(1, 1.0, 0.5);
        silent.validation.as_mut().unwrap().error = f64::NAN;
        let training = Training { runs: vec![run("a", 0, vec![silent])], ..training() };
        let lines = training.to_jsonl();
        assert!(lines.contains(r#""validation":{"loss":2.0,"more":[]}"#), "{lines}");
        let read = Training::from_jsonl(&lines).unwrap();
        assert!(read.runs[0].epochs[0].validation.as_ref().unwrap().error.is_nan());
        let table = read.table().markdown();
        assert!(!table.contains("diverged") && !table.contains("error rate"), "{table}");
    }

    #[test]
    fn the_lines_are_these() {
        let mut training = training();
        training.runs.truncate(1);
        training.runs[0].epochs.truncate(2);
        training.runs[0].epochs[1].validation = None;
        training.runs[0].epochs[1].loss = f64::NAN;
        let expected = expect_test::expect![[r#"
            {"version":1,"title":"a small model on `speech`","about":[["model","2 layers of 128"],["device","CPU, 2 threads"]],"error":"character error rate","runs":[{"name":"shuffled","settings":"shuffled, budget sequences:16","seed":0}],"notes":["The data were made by a program."]}
            {"run":0,"name":"shuffled","seed":0,"epoch":1,"seconds":10.0,"steps":655,"batches":655,"sequences":10480,"frames":5504096,"cells":8000000,"shapes":420,"peak_bytes":1234567890,"loss":1.7999999999999998,"validation":{"loss":2.4,"error":0.6,"more":[["word error rate",1.5]]}}
            {"run":0,"name":"shuffled","seed":0,"epoch":2,"seconds":10.0,"steps":655,"batches":655,"sequences":10480,"frames":5504096,"cells":8000000,"shapes":420,"peak_bytes":1234567890,"loss":"nan"}
        "#]];
        expected.assert_eq(&training.to_jsonl());
    }

    #[test]
    fn errors_name_the_line() {
        let training = training();
        let good = training.to_jsonl();
        let lines: Vec<&str> = good.lines().collect();
        let reads = |changed: &[String]| Training::from_jsonl(&changed.join("\n"));
        let with = |at: usize, line: String| {
            let mut changed: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
            changed[at] = line;
            reads(&changed).unwrap_err()
        };
        let mut told = String::new();
        for (at, line) in [
            (0, "{}".to_owned()),
            (0, lines[0].replace("\"version\":1", "\"version\":2")),
            (0, lines[1].to_owned()),
            (2, lines[2][..40].to_owned()),
            (2, lines[2].replace("\"run\":0", "\"run\":6")),
            (2, lines[2].replace("\"seed\":0", "\"seed\":1")),
            (2, lines[2].replace("shuffled", "\\u001b[31m")),
            (2, lines[2].replace("\"seconds\":10.0", "\"seconds\":-1")),
            (2, lines[2].replace("\"seconds\":10.0", "\"seconds\":\"nan\"")),
            (2, lines[2].replace("\"seconds\":10.0", "\"seconds\":\"soon\"")),
            (2, lines[2].replace("\"seconds\":10.0,", "")),
            (2, lines[2].replace("\"cells\":8000000", "\"cells\":10")),
            (3, lines[2].to_owned()),
            (5, "no JSON \u{1b}[31m".to_owned()),
        ] {
            let error = with(at, line);
            _ = writeln!(told, "{error}\n  {}", error.hint);
            assert_eq!(error.line(), at + 1, "{error}");
        }
        let expected = expect_test::expect![[r#"
            line 1: missing field `version`, at character 2
              give lines as a training writes them: a head with `runs`, then one for each epoch
            line 1: the training has version 2, and this release reads 1
              use the release of lengthwise that wrote it
            line 1: missing field `version`, at character 272
              give lines as a training writes them: a head with `runs`, then one for each epoch
            line 3: the line is cut off: EOF while parsing a string, at character 40
              leave the line out if the training was interrupted while it wrote it
            line 3: run 6 is not one of the 6 runs of the first line
              runs count from 0, in the order of `runs` in the first line
            line 3: run 0 is `shuffled` with seed 0 in the first line, and `shuffled` with seed 1 here
              do not mix the lines of two trainings
            line 3: run 0 is `shuffled` with seed 0 in the first line, and `\u{1b}[31m` with seed 0 here
              do not mix the lines of two trainings
            line 3: an epoch cannot take -1 seconds
              `seconds` is how long training took, 0 or more
            line 3: an epoch cannot take NaN seconds
              `seconds` is how long training took, 0 or more
            line 3: invalid value: string "soon", expected a number, or one of "nan", "inf", "-inf", at character 274
              give lines as a training writes them: a head with `runs`, then one for each epoch
            line 3: missing field `seconds`, at character 257
              give lines as a training writes them: a head with `runs`, then one for each epoch
            line 3: there are 5504096 frames in 10 cells
              `cells` counts frames with padding, `frames` without
            line 4: run 0 has epoch 2 after epoch 2
              epochs count from 1, and every run has each once, in order
            line 6: expected ident, at character 2
              give lines as a training writes them: a head with `runs`, then one for each epoch
        "#]];
        expected.assert_eq(&told);
        assert_eq!(Training::from_jsonl("\n \n").unwrap_err().line(), 1);
    }

    /// Runs that take turns write in turns, and people leave blank lines.
    #[test]
    fn lines_of_runs_may_be_mixed() {
        let training = training();
        let text = training.to_jsonl();
        let mut lines: Vec<&str> = text.lines().collect();
        lines[1..].sort_by_key(|line| line.find("\"epoch\":3").is_some());
        lines.insert(2, "");
        let read = Training::from_jsonl(&lines.join("\n"));
        assert_eq!(read.unwrap_err().what(), "run 0 has epoch 3 after epoch 4");
        lines[1..].sort_by_key(|line| (1..5).find(|n| line.contains(&format!("\"epoch\":{n},"))));
        assert_eq!(Training::from_jsonl(&lines.join("\r\n")).unwrap(), training);
    }
}
