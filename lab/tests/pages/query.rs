//! What is asked of kept results, and the answer as text.

use std::{collections::HashMap, fs, path::Path};

use lengthwise_lab::report::{Training, TrainingRun, Validation};
use serde::Deserialize;
use serde_json::Value;

/// What a number is.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Query {
    /// The name of a file.
    file: Option<String>,
    run: Option<String>,
    /// Runs whose mean, seed by seed, is compared with `than`: one comparison, and so no correction.
    runs: Option<Vec<String>>,
    /// The end of the name of the run, after `run`.
    suffix: Option<String>,
    /// A key of the summary: of a run, or of its measures.
    show: Option<String>,
    /// Measures whose mean is shown or compared, seed by seed: one comparison, and so no correction.
    shows: Option<Vec<String>>,
    /// The run that it is compared with.
    than: Option<String>,
    /// The epoch of the first run at whose end losses are shown.
    at: Option<u32>,
    /// The epoch of the run that counts as its last; without it, `seconds` are those of all epochs.
    epoch: Option<u32>,
    /// The same of the run that it is compared with.
    than_epoch: Option<u32>,
    /// Whether the smallest difference is shown that could have been seen, instead of what was found.
    smallest: Option<bool>,
    /// The mode and the number of workers that an epoch was computed for, with `idle`, `seconds` or `steps`.
    mode: Option<String>,
    workers: Option<u32>,
    /// Whether a comparison is shown relative to the other run.
    relative: Option<bool>,
    /// What numbers are multiplied by, such as 100 for percent.
    times: Option<f64>,
    /// How numbers look, such as `0.0 ± 0.0`, `+0.0 %` or `0.00 (0.00 to 0.00)`.
    #[serde(rename = "as")]
    pattern: Option<String>,
}

impl Query {
    pub(crate) fn is_empty(&self) -> bool {
        *self == Query::default()
    }

    /// What both say; the first wins.
    pub(crate) fn and(&self, other: &Query) -> Query {
        let (one, other) = (self.clone(), other.clone());
        Query {
            file: one.file.or(other.file),
            run: one.run.or(other.run),
            runs: one.runs.or(other.runs),
            suffix: one.suffix.or(other.suffix),
            show: one.show.or(other.show),
            shows: one.shows.or(other.shows),
            than: one.than.or(other.than),
            at: one.at.or(other.at),
            epoch: one.epoch.or(other.epoch),
            than_epoch: one.than_epoch.or(other.than_epoch),
            smallest: one.smallest.or(other.smallest),
            mode: one.mode.or(other.mode),
            workers: one.workers.or(other.workers),
            relative: one.relative.or(other.relative),
            times: one.times.or(other.times),
            pattern: one.pattern.or(other.pattern),
        }
    }
}

/// The summaries of the files that a page names.
#[derive(Debug, Default)]
pub(crate) struct Results {
    summaries: HashMap<String, Value>,
    trainings: HashMap<String, Training>,
}

/// The numbers of an answer, and whether a difference may be chance.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) chance: bool,
}

impl Results {
    /// Reads a kept file under a name.
    pub(crate) fn add(&mut self, name: &str, file: &str) -> Result<(), String> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("experiments/results");
        let text = fs::read_to_string(folder.join(file)).map_err(|why| format!("{file}: {why}"))?;
        let training = Training::from_jsonl(&text).map_err(|why| format!("{file}: {why}"))?;
        self.put(name, training);
        Ok(())
    }

    pub(crate) fn put(&mut self, name: &str, training: Training) {
        let summary = serde_json::from_str(&training.summary()).unwrap();
        self.summaries.insert(name.to_owned(), summary);
        self.trainings.insert(name.to_owned(), training);
    }

    /// The seconds of an epoch, or of all epochs, as the mean over seeds, if there are any.
    fn seconds(&self, file: &str, run: &str, epoch: Option<u32>) -> Option<f64> {
        let runs = self.trainings[file].runs.iter().filter(|one| one.name == run);
        let of = |one: &TrainingRun| -> Option<f64> {
            let found =
                one.epochs.iter().filter(|one| epoch.is_none_or(|epoch| one.epoch == epoch));
            found.map(|one| one.seconds).reduce(|all, seconds| all + seconds)
        };
        let seconds: Vec<f64> = runs.filter_map(of).collect();
        (!seconds.is_empty()).then(|| seconds.iter().sum::<f64>() / seconds.len() as f64)
    }

    /// What the mean of several runs, seed by seed, is compared with another one.
    fn of_mean(&self, query: &Query, runs: &[String]) -> Result<Answer, String> {
        let (Some(file), Some(than)) = (&query.file, &query.than) else {
            return Err(format!("expected `file` and `than` with `runs`, got {query:?}"));
        };
        let training = self.training(file)?;
        let of = |name: &str, seed: u64| {
            training.runs.iter().find(|one| one.name == name && one.seed == seed)
        };
        let name = runs.join(", ");
        let mut both = Training { pairs: Vec::new(), ..training.clone() };
        both.runs.retain(|one| one.name == *than);
        for base in both.runs.clone() {
            let all: Option<Vec<&TrainingRun>> =
                runs.iter().map(|run| of(run, base.seed)).collect();
            let Some(all) = all else { continue };
            let last = |one: &TrainingRun| one.epochs.last()?.validation.clone();
            let all: Option<Vec<Validation>> = all.into_iter().map(last).collect();
            let all =
                all.ok_or_else(|| format!("{file}: {name} are not validated at their end"))?;
            let mut one = TrainingRun { name: name.clone(), ..base };
            if let Some(last) = one.epochs.last_mut() {
                last.validation = Some(mean(&all)?);
            }
            both.runs.push(one);
        }
        Self::of(file, both).answer(&Query { run: Some(name), runs: None, ..query.clone() })
    }

    /// The mean of several measures after the last epochs of a run, or how it compares with another one.
    fn of_measures(&self, query: &Query, shows: &[String]) -> Result<Answer, String> {
        let (Some(file), Some(run)) = (&query.file, &query.run) else {
            return Err(format!("expected `file` and `run` with `shows`, got {query:?}"));
        };
        let mut both = Training { pairs: Vec::new(), ..self.training(file)?.clone() };
        both.runs.retain(|one| one.name == *run || query.than.as_ref() == Some(&one.name));
        both.runs.sort_by_key(|one| query.than.as_ref() != Some(&one.name));
        let name = shows.join(", ");
        for one in &mut both.runs {
            let last = one.epochs.last_mut().and_then(|last| last.validation.as_mut());
            let last = last.ok_or_else(|| format!("{file}: {} is not validated", one.name))?;
            let found = last.more.iter().filter(|(name, _)| shows.contains(name));
            let found: Vec<f64> = found.map(|&(_, value)| value).collect();
            if found.len() < shows.len() {
                return Err(format!("{file}: {} has not all of {name}", one.name));
            }
            last.more.push((name.clone(), found.iter().sum::<f64>() / found.len() as f64));
        }
        let show = Some(name);
        Self::of(file, both).answer(&Query { show, shows: None, ..query.clone() })
    }

    /// What a run came to after some of its epochs, or how two runs compare then.
    fn after(&self, query: &Query, epoch: u32) -> Result<Answer, String> {
        let (Some(file), Some(run)) = (&query.file, &query.run) else {
            return Err(format!("expected `file` and `run` with `epoch`, got {query:?}"));
        };
        let is_than = |one: &TrainingRun| query.than.as_ref() == Some(&one.name);
        let mut both = Training { pairs: Vec::new(), ..self.training(file)?.clone() };
        both.runs.retain(|one| one.name == *run || is_than(one));
        // The first run is what others are compared with.
        both.runs.sort_by_key(|one| !is_than(one));
        for one in &mut both.runs {
            let last = if one.name == *run { epoch } else { query.than_epoch.unwrap_or(epoch) };
            one.planned_epochs = None;
            one.epochs.retain(|one| one.epoch <= last);
            if one.epochs.last().is_none_or(|one| one.epoch != last) {
                return Err(format!("{file}: {} has no epoch {last}", one.name));
            }
        }
        Self::of(file, both).answer(&Query { epoch: None, than_epoch: None, ..query.clone() })
    }

    fn of(file: &str, training: Training) -> Self {
        let mut results = Self::default();
        results.put(file, training);
        results
    }

    fn training(&self, file: &str) -> Result<&Training, String> {
        self.trainings.get(file).ok_or_else(|| format!("expected a name in `files`, got {file:?}"))
    }

    /// What an epoch would take with so many workers. Where all runs batch alike, it is that of each of them.
    fn scaling(
        &self,
        (file, run): (&str, &str),
        mode: &str,
        workers: u32,
        show: &str,
    ) -> Result<f64, String> {
        let names = [format!("{run}, {mode}"), mode.to_owned()];
        let mut all = self.trainings[file].scaling.iter();
        let one = all.find(|one| one.workers == workers && names.contains(&one.name));
        let one = one
            .ok_or_else(|| format!("{file}: {run} has no scaling to {workers} workers, {mode}"))?;
        match show {
            "idle" => Ok(one.idle),
            "seconds" => Ok(one.seconds),
            "steps" => Ok(one.steps as f64),
            _ => Err(format!(
                "expected `show` of idle, seconds or steps with `workers`, got {show:?}"
            )),
        }
    }

    pub(crate) fn answer(&self, query: &Query) -> Result<Answer, String> {
        if let Some(runs) = &query.runs {
            return self.of_mean(query, runs);
        }
        if let Some(shows) = &query.shows {
            return self.of_measures(query, shows);
        }
        if let Some(epoch) = query.epoch.filter(|_| query.show.as_deref() != Some("seconds")) {
            return self.after(query, epoch);
        }
        let (Some(file), Some(run), Some(show), Some(pattern)) =
            (&query.file, &query.run, &query.show, &query.pattern)
        else {
            return Err(format!("expected `file`, `run`, `show` and `as`, got {query:?}"));
        };
        let run = &(run.clone() + query.suffix.as_deref().unwrap_or_default());
        self.training(file)?;
        let summary = &self.summaries[file];
        let named = |list: &str| summary[list].as_array().cloned().unwrap_or_default();
        let found = named("runs").into_iter().find(|one| one["name"] == **run);
        let found = found.ok_or_else(|| format!("expected a run of {file}, got {run:?}"))?;
        let at = match query.at {
            Some(_) if show != "loss" => {
                return Err(format!("expected `show = \"loss\"` with `at`, got {show:?}"));
            }
            Some(epoch) => {
                let at = named("equal_time").into_iter().find(|one| one["epoch"] == epoch);
                Some(at.ok_or_else(|| format!("{file}: no losses are compared at epoch {epoch}"))?)
            }
            None => None,
        };
        if query.mode.is_some() != query.workers.is_some() {
            return Err(format!("expected `mode` and `workers` together, got {query:?}"));
        }
        let measure = if at.is_some() { "loss_at_equal_time" } else { show.as_str() };
        let (values, chance) = if show == "seconds" && query.workers.is_none() {
            let of = |run: &str| self.seconds(file, run, query.epoch);
            let ratio = |than: &String| Some(of(run)? / of(than)?);
            (query.than.as_ref().map_or_else(|| of(run), ratio).into_iter().collect(), false)
        } else if let (Some(mode), Some(workers)) = (&query.mode, query.workers) {
            (vec![self.scaling((file, run), mode, workers, show)?], false)
        } else if let Some(than) = &query.than {
            let is = |one: &Value| {
                let epoch = query.at.map_or(Value::Null, Value::from);
                one["measure"] == *measure
                    && one["from"] == **than
                    && one["to"] == **run
                    && one["epoch"] == epoch
            };
            if than == run && pattern.contains('±') {
                // There is no interval around no difference: the cell stays empty.
                (Vec::new(), false)
            } else if than == run {
                let same = f64::from(u8::from(
                    show == "seconds_per_epoch" && query.relative != Some(true),
                ));
                (vec![same; 3], false)
            } else if let Some(one) = named("comparisons").iter().find(|one| is(one)) {
                if query.smallest == Some(true) {
                    (one["smallest_effect"].as_f64().into_iter().collect(), false)
                } else {
                    (compared(one, query.relative == Some(true)), one["beyond_chance"] == false)
                }
            } else if at.is_some() {
                (Vec::new(), false)
            } else {
                return Err(format!("{file}: {run} is not compared with {than} on {show}"));
            }
        } else if let Some(at) = &at {
            let losses = at["losses"].as_array().cloned().unwrap_or_default();
            let loss = losses.iter().find(|one| one["name"] == **run);
            (loss.and_then(|one| one["mean"].as_f64()).into_iter().collect(), false)
        } else if let Some(value) = found.get(show).filter(|value| value.is_number()) {
            (value.as_f64().into_iter().collect(), false)
        } else {
            let measure = found["measures"].get(show);
            let measure = measure.ok_or_else(|| format!("{file}: {run} has no {show:?}"))?;
            let values = ["mean", "half_width"].map(|key| measure[key].as_f64());
            (values.into_iter().flatten().collect(), false)
        };
        let values: Vec<f64> =
            values.iter().map(|value| value * query.times.unwrap_or(1.0)).collect();
        // What there is nothing of, such as a loss after the last epoch, leaves its cell empty.
        let text = if values.is_empty() { String::new() } else { filled(pattern, &values)? };
        Ok(Answer { text, chance })
    }
}

/// The mean of each measure.
fn mean(all: &[Validation]) -> Result<Validation, String> {
    let mean = |of: &dyn Fn(&Validation) -> Option<f64>| -> Option<f64> {
        let values: Option<Vec<f64>> = all.iter().map(of).collect();
        Some(values?.iter().sum::<f64>() / all.len() as f64)
    };
    let mut one = all.first().ok_or("expected runs, got none")?.clone();
    one.loss = mean(&|of| Some(of.loss)).unwrap_or(f64::NAN);
    one.error = mean(&|of| Some(of.error)).unwrap_or(f64::NAN);
    for (name, value) in &mut one.more {
        let found = |of: &Validation| of.more.iter().find(|one| one.0 == *name).map(|one| one.1);
        *value = mean(&found).ok_or_else(|| format!("not all runs have {name:?}"))?;
    }
    Ok(one)
}

/// The ratio and its interval, or the difference and half of its interval.
fn compared(one: &Value, relative: bool) -> Vec<f64> {
    let number = |key: &str| one[key].as_f64();
    let all = || {
        let (value, low, high) = (number("value")?, number("low")?, number("high")?);
        Some(match (one["kind"] == "ratio", relative) {
            (true, false) => vec![value, low, high],
            (true, true) => vec![value - 1.0, low - 1.0, high - 1.0],
            (false, false) => vec![value, 0.5 * (high - low)],
            (false, true) => vec![number("relative")?, 0.5 * (high - low) / number("from_mean")?],
        })
    };
    all().unwrap_or_default()
}

/// The pattern with numbers in place of its zeros, with as many decimals.
fn filled(pattern: &str, values: &[f64]) -> Result<String, String> {
    let (mut text, mut rest, mut values) = (String::new(), pattern, values.iter());
    while let Some(at) = rest.find('0') {
        let (before, number) = rest.split_at(at);
        let end = number.find(|c: char| c != '0' && c != '.').unwrap_or(number.len());
        let decimals = number[..end].split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let value =
            values.next().ok_or_else(|| format!("there are fewer numbers than in {pattern:?}"))?;
        let signed = before.ends_with('+');
        text += before.trim_end_matches('+');
        let digits = format!("{:.decimals$}", value.abs());
        let zero = !digits.contains(|digit: char| ('1'..='9').contains(&digit));
        text += match value {
            _ if zero => "",
            ..0.0 => "−",
            _ if signed => "+",
            _ => "",
        };
        text += &digits;
        rest = &number[end..];
    }
    Ok(text + rest)
}

#[test]
fn numbers_look_as_the_pattern_does() {
    let show = |pattern: &str, values: &[f64]| filled(pattern, values).unwrap();
    assert_eq!(show("0.0 ± 0.00", &[1.25, 0.126]), "1.2 ± 0.13");
    assert_eq!(show("+0.0 %", &[2.44]), "+2.4 %");
    assert_eq!(show("+0.0 %", &[-2.44]), "−2.4 %");
    assert_eq!(show("+0.0", &[-0.01]), "0.0");
    assert_eq!(show("0.0k", &[10.26]), "10.3k");
    assert_eq!(show("0", &[5754.4, 9.0]), "5754");
    assert!(filled("0 ± 0", &[1.0]).is_err());
}
