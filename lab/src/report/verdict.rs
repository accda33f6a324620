//! The sentences that sum a training up, and claim no more than the seeds can show.

use super::{
    records::Training,
    row::{Outcome, Row},
    student::{differ, mean},
    table::pairs,
    workers::Count,
};
use lengthwise_report::parts::text::{counted, one_line, percent, time};

/// A row and what is compared of it: a value for each seed.
struct Rival<'a> {
    name: &'a str,
    value: f64,
    sample: Vec<f64>,
}

impl Training {
    /// Which way to batch is fastest, whether errors differ, which way reaches the error of the first row
    /// first, and what to do: short sentences. Differences that the seeds cannot show are called that: they
    /// are tested by Welch's test at 5 % over all pairs of rows. Numbers and units have a space between them
    /// that does not break.
    pub fn verdict(&self) -> Vec<String> {
        let rows = self.rows();
        if rows.is_empty() {
            return vec!["Nothing was trained.".to_owned()];
        }
        if rows.iter().all(|row| row.last_epoch() == 0) {
            return vec!["No epoch is over yet.".to_owned()];
        }
        let mut sentences = speed(&rows);
        sentences.extend(self.errors(&rows));
        sentences.extend(more_workers(&rows));
        let most = rows.iter().map(Row::last_epoch).max().unwrap_or(0);
        let (least, most) = rows
            .iter()
            .filter(|row| row.last_epoch() == most || row.behind(most).next().is_some())
            .map(Row::last_epoch)
            .fold((u32::MAX, 0), |(low, high), at| (low.min(at), high.max(at)));
        if least < most {
            sentences
                .push(format!("Not all runs are done: rows have from {least} to {most} epochs."));
        } else {
            sentences.extend(race(&rows).unwrap_or_default());
        }
        if rows.len() == 1 {
            sentences.push("There is no other strategy to compare it with.".to_owned());
        }
        sentences
    }

    /// Which rows have the lowest error, and which diverged.
    fn errors(&self, rows: &[Row<'_>]) -> Vec<String> {
        let error = one_line(&self.error);
        let of = |row: &Row<'_>| row.outcome(|v| Some(v.error));
        let mut rivals = of_errors(rows);
        let lost: Vec<String> = rows
            .iter()
            .filter_map(|row| match of(row) {
                Outcome::Diverged(all, runs) if all == runs => Some(one_line(row.name)),
                Outcome::Diverged(some, runs) => {
                    Some(format!("{} ({some} of {runs} runs)", one_line(row.name)))
                }
                _ => None,
            })
            .collect();
        let lost = (!lost.is_empty()).then(|| format!("{} diverged.", lost.join(", ")));
        let Some(at) = best(&rivals) else {
            return vec![lost.unwrap_or_else(|| "No errors were measured.".to_owned())];
        };
        let one_seed = one_seed(&rivals);
        let best = rivals.swap_remove(at);
        let name = one_line(best.name);
        let found = percent(best.value);
        let first = rivals.iter().find(|rival| rival.name == rows[0].name);
        let against = first
            .map(|first| {
                format!(", against {} with {}", percent(first.value), one_line(first.name))
            })
            .unwrap_or_default();
        let alike = alike(&best, &rivals, rows.len());
        let mut told = Vec::new();
        if rivals.is_empty() {
            told.push(format!("{name} has a {error} of {found}."));
        } else if one_seed {
            told.push(format!("{name} has the lowest {error}: {found}{against}."));
            told.push("One seed cannot show whether that is chance.".to_owned());
        } else if alike.len() == rivals.len() {
            let highest = rivals.iter().map(|rival| rival.value).fold(best.value, f64::max);
            told.push(format!(
                "The {error} does not differ by more than {} show: {}.",
                seeds(&best, &rivals),
                range(&name, &found, &percent(highest))
            ));
        } else {
            told.push(format!("{name} has the lowest {error}: {found}{against}."));
            if !alike.is_empty() {
                let with = listed(&alike);
                let seeds = begun(&seeds(&best, &rivals));
                told.push(format!("{seeds} show no difference from {with}."));
            }
        }
        told.extend(lost);
        told
    }
}

/// The rows that have errors, by their mean.
fn of_errors<'a>(rows: &'a [Row<'a>]) -> Vec<Rival<'a>> {
    rivals(rows, |row| {
        let sample = row.outcome(|v| Some(v.error)).values().to_vec();
        Some((mean(&sample).filter(|mean| mean.is_finite())?, sample))
    })
}

/// The rows that have a time, by their median.
fn of_seconds<'a>(rows: &'a [Row<'a>]) -> Vec<Rival<'a>> {
    rivals(rows, |row| Some((row.seconds()?, row.seconds_of_runs())))
}

/// Which row is fastest.
fn speed(rows: &[Row<'_>]) -> Vec<String> {
    let mut rivals = of_seconds(rows);
    let Some(at) = best(&rivals) else { return Vec::new() };
    let several = !one_seed(&rivals);
    let best = rivals.swap_remove(at);
    let (name, took) = (one_line(best.name), time(best.value));
    if rivals.is_empty() {
        return vec![format!("An epoch of {name} takes {took}\u{a0}s.")];
    }
    let against = match rivals.iter().find(|rival| rival.name == rows[0].name) {
        Some(first) if first.value > 0.0 => {
            let less = percent(1.0 - best.value / first.value);
            format!(", {less} less than {} ({}\u{a0}s)", one_line(first.name), time(first.value))
        }
        _ => String::new(),
    };
    let alike = alike(&best, &rivals, rows.len());
    if several && alike.len() == rivals.len() {
        let slowest = rivals.iter().map(|rival| rival.value).fold(best.value, f64::max);
        return vec![format!(
            "The time of an epoch does not differ by more than {} show: {}.",
            seeds(&best, &rivals),
            range(&name, &format!("{took}\u{a0}s"), &format!("{}\u{a0}s", time(slowest)))
        )];
    }
    let mut told = vec![format!("{name} is the fastest: {took}\u{a0}s per epoch{against}.")];
    if several && !alike.is_empty() {
        told.push(format!(
            "{} show no difference in time from {}.",
            begun(&seeds(&best, &rivals)),
            listed(&alike)
        ));
    }
    told
}

/// Which row is the first to have no more errors than the first row ended with, and so what to do.
fn race(rows: &[Row<'_>]) -> Option<Vec<String>> {
    let (target, first) = (Training::target(rows)?, rows.first()?);
    let own = first.seconds_to(target)?;
    let times = rows.iter().filter_map(|row| Some((row.seconds_to(target)?, row.name)));
    let (soonest, winner) = times.min_by(|a, b| a.0.total_cmp(&b.0))?;
    if rows.len() == 1 {
        return None;
    }
    let (name, took) = (one_line(first.name), time(own));
    let target = percent(target);
    let mut told = Vec::new();
    let choice = if winner == first.name || soonest >= own {
        told.push(format!(
            "No other way reaches the final error of {name} ({target}) sooner than {name} itself, after \
             {took}\u{a0}s of training."
        ));
        told.extend(nearly(rows, own));
        match better(rows) {
            Some(better) => format!("use {better} for fewer errors"),
            None => format!("keep {name}"),
        }
    } else {
        let winner = one_line(winner);
        told.push(format!(
            "{winner} is the first to reach the final error of {name} ({target}): after {}\u{a0}s of \
             training, where {name} takes {took}\u{a0}s.",
            time(soonest),
        ));
        format!("use {winner}")
    };
    told.push(if one_seed(&of_errors(rows)) {
        "What to do: train with more seeds before you choose, such as `--seeds 1,2,3`.".to_owned()
    } else {
        format!("What to do: {choice}.")
    });
    Some(told)
}

/// The row of the lowest error, if that is measurably lower than the error of the first.
fn better(rows: &[Row<'_>]) -> Option<String> {
    let rivals = of_errors(rows);
    let (lowest, first) = (&rivals[best(&rivals)?], rivals.first()?);
    differ(&first.sample, &lowest.sample, pairs(rows.len())).then(|| one_line(lowest.name))
}

/// Which row is done sooner than the first one, and ends with more errors only by what may be chance.
fn nearly(rows: &[Row<'_>], own: f64) -> Option<String> {
    let of = |row: &Row<'_>| row.outcome(|v| Some(v.error)).values().to_vec();
    let first = of(rows.first()?);
    let done = rows[1..].iter().filter_map(|row| {
        let (end, sample) = (*row.curve(|v| v.error).last()?, of(row));
        let chance =
            first.len() > 1 && sample.len() > 1 && !differ(&first, &sample, pairs(rows.len()));
        (chance && end.seconds < own).then_some((end, row.name))
    });
    let (end, name) = done.min_by(|a, b| a.0.seconds.total_cmp(&b.0.seconds))?;
    Some(format!(
        "{} ends with {} after {}\u{a0}s; the difference may be chance.",
        one_line(name),
        percent(end.mean),
        time(end.seconds)
    ))
}

/// The rows that have what is compared.
fn rivals<'a>(
    rows: &'a [Row<'a>],
    of: impl Fn(&Row<'a>) -> Option<(f64, Vec<f64>)>,
) -> Vec<Rival<'a>> {
    let rival = |row: &'a Row<'a>| {
        let (value, sample) = of(row)?;
        Some(Rival { name: row.name, value, sample })
    };
    rows.iter().filter_map(rival).collect()
}

/// The place of the least.
fn best(rivals: &[Rival<'_>]) -> Option<usize> {
    (0..rivals.len()).min_by(|&a, &b| rivals[a].value.total_cmp(&rivals[b].value))
}

/// What the most workers take, against the fewest. Rows whose number changed are none of them.
fn more_workers(rows: &[Row<'_>]) -> Option<String> {
    let known = |row: &'_ &Row<'_>| row.seconds().is_some_and(|seconds| seconds > 0.0);
    let count = |row: &Row<'_>| match row.workers()? {
        Count { least, most } if least == most => Some(most),
        _ => None,
    };
    let counts = || rows.iter().filter(known).filter_map(count);
    let (fewest, most) = (counts().min()?, counts().max()?);
    if fewest == most {
        return None;
    }
    let of = |number| rows.iter().filter(known).filter(move |row| count(row) == Some(number));
    let by = |a: &&Row<'_>, b: &&Row<'_>| {
        a.seconds().unwrap_or_default().total_cmp(&b.seconds().unwrap_or_default())
    };
    let (many, few) = (of(most).min_by(by)?, of(fewest).min_by(by)?);
    let waits = match (many.idle(), many.predicted()) {
        (Some(idle), Some(plan)) => {
            format!("; they wait for {} of it ({} by the plan)", percent(idle), percent(plan))
        }
        (Some(idle), None) => format!("; they wait for {} of it", percent(idle)),
        (None, _) => String::new(),
    };
    // A row needs its name where its number is not enough.
    let told = |row: &Row<'_>, number: usize| {
        let (name, workers) = (one_line(row.name), counted(number as u64, "worker"));
        let enough = of(number).count() == 1 || name == workers.replace('\u{a0}', " ");
        if enough { workers } else { format!("{workers} ({name})") }
    };
    Some(format!(
        "With {} an epoch takes {} of the time of {}{waits}.",
        told(many, most),
        percent(many.seconds()? / few.seconds()?),
        told(few, fewest),
    ))
}

/// Those that seeds cannot tell from the best.
fn alike(best: &Rival<'_>, others: &[Rival<'_>], rows: usize) -> Vec<String> {
    let same = |rival: &&Rival<'_>| !differ(&best.sample, &rival.sample, pairs(rows));
    others.iter().filter(same).map(|rival| one_line(rival.name)).collect()
}

/// Whether a row has a single seed, which shows nothing of chance.
fn one_seed(rivals: &[Rival<'_>]) -> bool {
    rivals.iter().any(|rival| rival.sample.len() < 2)
}

/// How many seeds all rows have.
fn seeds(best: &Rival<'_>, others: &[Rival<'_>]) -> String {
    let count = best.sample.len();
    if others.iter().all(|rival| rival.sample.len() == count) {
        format!("{count}\u{a0}seeds")
    } else {
        "these seeds".to_owned()
    }
}

/// With a capital letter, as a sentence begins.
fn begun(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// From the best, with the name of its row, to the worst.
fn range(name: &str, best: &str, worst: &str) -> String {
    if best == worst { format!("all have {best}") } else { format!("{best} ({name}) to {worst}") }
}

/// Names as a sentence lists them: so many, where they are many.
pub(super) fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        many if many.len() > 4 => format!("{} others", many.len()),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing::{epoch, run, shared, training};

    /// Rows of so many seconds an epoch that come to these errors, one for each seed.
    fn rows(given: &[(&str, f64, &[f64])]) -> Training {
        let runs = given.iter().flat_map(|(name, seconds, errors)| {
            (0..).zip(*errors).map(move |(seed, error)| {
                let seconds = seconds + 0.01 * seed as f64;
                run(name, seed, vec![epoch(1, seconds, error + 0.2), epoch(2, seconds, *error)])
            })
        });
        Training { runs: runs.collect(), ..training() }
    }

    #[test]
    fn the_verdict_in_sentences() {
        let mut wild = rows(&[("a", 2.0, &[0.3, 0.31]), ("b", 1.0, &[0.2, f64::NAN])]);
        wild.runs[3].epochs[1].loss = f64::NAN;
        let mut behind = rows(&[("a", 2.0, &[0.3, 0.31]), ("b", 1.0, &[0.2, 0.21])]);
        for run in &mut behind.runs[2..] {
            run.epochs.truncate(1);
        }
        let mut silent = rows(&[("a", 2.0, &[0.3]), ("b", 1.0, &[0.2])]);
        for epoch in silent.runs.iter_mut().flat_map(|run| &mut run.epochs) {
            epoch.validation = None;
        }
        let none = Training { runs: Vec::new(), ..training() };
        let waiting = Training { runs: vec![run("a", 0, Vec::new())], ..training() };
        let hostile = rows(&[("\u{1b}[31m", 2.0, &[0.3]), ("b\n", 1.0, &[0.2])]);
        let mut told = String::new();
        for training in [
            training(),
            rows(&[("a", 2.0, &[0.30, 0.31, 0.32]), ("b", 1.0, &[0.20, 0.21, 0.22])]),
            rows(&[("a", 2.0, &[0.30, 0.31, 0.32]), ("b", 1.0, &[0.29, 0.31, 0.33])]),
            rows(&[("a", 2.0, &[0.30, 0.31, 0.32]), ("b", 1.0, &[0.30, 0.32, 0.33])]),
            rows(&[("a", 1.0, &[0.20, 0.21, 0.22]), ("b", 2.0, &[0.30, 0.31, 0.32])]),
            rows(&[
                ("a", 2.0, &[0.3, 0.31, 0.32]),
                ("b", 2.01, &[0.2, 0.21, 0.22]),
                ("c", 9.0, &[0.21; 3]),
            ]),
            rows(&[("a", 2.0, &[0.3]), ("b", 1.0, &[0.2])]),
            rows(&[("a", 2.0, &[0.3, 0.31]), ("b", 1.0, &[0.2, 0.21, 0.22])]),
            rows(&[("a", 2.0, &[0.3])]),
            wild,
            behind,
            silent,
            none,
            waiting,
            hostile,
        ] {
            told += &training.verdict().join("\n").replace('\u{a0}', " ");
            told.push_str("\n\n");
        }
        let expected = expect_test::expect![[r#"
            semi-sorted is the fastest: 6.10 s per epoch, 39.6 % less than shuffled (10.1 s).
            semi-sorted has the lowest character error rate: 18.4 %, against 20.4 % with shuffled.
            semi-sorted is the first to reach the final error of shuffled (20.4 %): after 18.3 s of training, where shuffled takes 40.4 s.
            What to do: use semi-sorted.

            b is the fastest: 1.01 s per epoch, 49.8 % less than a (2.01 s).
            b has the lowest character error rate: 21.0 %, against 31.0 % with a.
            b is the first to reach the final error of a (31.0 %): after 2.02 s of training, where a takes 4.02 s.
            What to do: use b.

            b is the fastest: 1.01 s per epoch, 49.8 % less than a (2.01 s).
            The character error rate does not differ by more than 3 seeds show: all have 31.0 %.
            b is the first to reach the final error of a (31.0 %): after 2.02 s of training, where a takes 4.02 s.
            What to do: use b.

            b is the fastest: 1.01 s per epoch, 49.8 % less than a (2.01 s).
            The character error rate does not differ by more than 3 seeds show: 31.0 % (a) to 31.7 %.
            No other way reaches the final error of a (31.0 %) sooner than a itself, after 4.02 s of training.
            b ends with 31.7 % after 2.02 s; the difference may be chance.
            What to do: keep a.

            a is the fastest: 1.01 s per epoch.
            a has the lowest character error rate: 21.0 %.
            No other way reaches the final error of a (21.0 %) sooner than a itself, after 2.02 s of training.
            What to do: keep a.

            a is the fastest: 2.01 s per epoch.
            3 seeds show no difference in time from b.
            b has the lowest character error rate: 21.0 %, against 31.0 % with a.
            3 seeds show no difference from c.
            No other way reaches the final error of a (31.0 %) sooner than a itself, after 4.02 s of training.
            What to do: use b for fewer errors.

            b is the fastest: 1.00 s per epoch, 50.0 % less than a (2.00 s).
            b has the lowest character error rate: 20.0 %, against 30.0 % with a.
            One seed cannot show whether that is chance.
            b is the first to reach the final error of a (30.0 %): after 2.00 s of training, where a takes 4.00 s.
            What to do: train with more seeds before you choose, such as `--seeds 1,2,3`.

            b is the fastest: 1.01 s per epoch, 49.6 % less than a (2.00 s).
            b has the lowest character error rate: 21.0 %, against 30.5 % with a.
            b is the first to reach the final error of a (30.5 %): after 2.02 s of training, where a takes 4.01 s.
            What to do: use b.

            An epoch of a takes 2.00 s.
            a has a character error rate of 30.0 %.
            There is no other strategy to compare it with.

            b is the fastest: 1.00 s per epoch, 50.1 % less than a (2.00 s).
            a has a character error rate of 30.5 %.
            b (1 of 2 runs) diverged.
            No other way reaches the final error of a (30.5 %) sooner than a itself, after 4.01 s of training.
            What to do: keep a.

            b is the fastest: 1.00 s per epoch, 49.9 % less than a (2.00 s).
            a has the lowest character error rate: 30.5 %.
            Not all runs are done: rows have from 1 to 2 epochs.

            b is the fastest: 1.00 s per epoch, 50.0 % less than a (2.00 s).
            No errors were measured.

            Nothing was trained.

            No epoch is over yet.

            b\n is the fastest: 1.00 s per epoch, 50.0 % less than \u{1b}[31m (2.00 s).
            b\n has the lowest character error rate: 20.0 %, against 30.0 % with \u{1b}[31m.
            One seed cannot show whether that is chance.
            b\n is the first to reach the final error of \u{1b}[31m (30.0 %): after 2.00 s of training, where \u{1b}[31m takes 4.00 s.
            What to do: train with more seeds before you choose, such as `--seeds 1,2,3`.

        "#]];
        expected.assert_eq(&told);
    }

    #[test]
    fn more_workers_are_told_from_fewer() {
        let six = |seconds: f64| {
            let workers = [(seconds - 0.2, 0.2, 0.03), (seconds, 0.0, 0.03)].repeat(3);
            vec![shared(1, &workers), shared(2, &workers)]
        };
        let told = |runs: Vec<(&str, Vec<_>)>| {
            let runs = runs.into_iter().map(|(name, epochs)| run(name, 0, epochs));
            let training = Training { runs: runs.collect(), ..training() };
            more_workers(&training.rows()).unwrap_or_default().replace('\u{a0}', " ")
        };
        let one = || vec![epoch(1, 20.0, 0.5), epoch(2, 20.0, 0.4)];
        assert_eq!(
            told(vec![("one", one()), ("six", six(5.0)), ("faster\n", six(4.0))]),
            "With 6 workers (faster\\n) an epoch takes 20.0 % of the time of 1 worker; they wait for 2.5 % \
             of it (3.0 % by the plan)."
        );
        // No names where the numbers are enough.
        for others in [vec![], vec![("six", six(5.0))]] {
            let rows = [("one", one()), ("6 workers", six(4.0))].into_iter().chain(others);
            assert!(told(rows.collect()).starts_with("With 6 workers an epoch "));
        }
        // Nothing to tell: equal numbers, numbers that changed, no time, nothing yet.
        assert_eq!(told(vec![("a", six(5.0)), ("b", six(4.0))]), "");
        let fewer = vec![six(5.0).remove(0), epoch(2, 20.0, 0.4)];
        assert_eq!(told(vec![("a", six(5.0)), ("fewer", fewer)]), "");
        assert_eq!(told(vec![("a", six(5.0)), ("still", vec![epoch(1, 0.0, 0.5)])]), "");
        assert_eq!(told(vec![("a", six(5.0)), ("none", vec![])]), "");
    }
}
