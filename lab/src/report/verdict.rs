//! The sentences that sum a training up, and claim no more than the seeds can show.

use super::{
    compare::{Compared, Comparison, Difference, Measure, Untested},
    differences::smallest,
    records::Training,
    row::{Outcome, Row},
    table::decimals_of_loss,
    workers::Count,
};
use lengthwise_report::parts::text::{counted, fixed, one_line, percent, time};

/// A row and what it is ranked by: the least is the best.
struct Rival<'a> {
    name: &'a str,
    value: f64,
}

/// The rows with a value, and how they compare with the first row.
struct Field<'a> {
    first: &'a str,
    rivals: Vec<Rival<'a>>,
    compared: Option<&'a Compared<'a>>,
}

/// How differences are put into words.
struct Words<'a> {
    what: &'a str,
    /// Of one row and of several.
    verbs: [&'a str; 2],
    lower: &'a str,
    higher: &'a str,
}

/// What the seeds say of the rows that are compared with the first.
#[derive(Default)]
struct Sides {
    lower: Vec<String>,
    higher: Vec<String>,
    unclear: Vec<String>,
    /// Those that every seed shows the same difference of, which cannot be tested.
    same: Vec<String>,
    /// How many seeds the comparisons have: the least and the most.
    seeds: Option<(usize, usize)>,
}

impl Training {
    /// Which way to batch is fastest, whether errors differ, which way reaches the error of the first row
    /// first, and what to do: short sentences. Differences that the seeds cannot show are called that: runs of
    /// the same seed are compared with the first row, at 5 % for all comparisons on a measure. Numbers and units
    /// have a space between them that does not break.
    pub fn verdict(&self) -> Vec<String> {
        let rows = self.rows();
        if rows.is_empty() {
            return vec!["Nothing was trained.".to_owned()];
        }
        if rows.iter().all(|row| row.last_epoch() == 0) {
            return vec!["No epoch is over yet.".to_owned()];
        }
        let compared = self.compared(&rows);
        let on = |measure| compared.iter().find(|one| one.measure == measure);
        let times = Field::new(&rows, on(Measure::Seconds), Row::seconds);
        let errors =
            Field::new(&rows, on(Measure::Error), |row| row.outcome(|v| Some(v.error)).mean());
        let losses =
            Field::new(&rows, on(Measure::Loss), |row| row.outcome(|v| Some(v.loss)).mean());
        let mut sentences = speed(&times);
        sentences.extend(self.came_to(&rows, &errors, &losses));
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
            sentences.extend(race(&rows, &times, &errors, &losses).unwrap_or_default());
        }
        if rows.len() == 1 {
            sentences.push("There is no other strategy to compare it with.".to_owned());
        }
        sentences
    }

    /// Which rows have the lowest error, or the lowest loss if errors were not counted, and which diverged.
    fn came_to(&self, rows: &[Row<'_>], errors: &Field<'_>, losses: &Field<'_>) -> Vec<String> {
        let lost: Vec<String> = rows
            .iter()
            .filter_map(|row| match row.outcome(|v| Some(v.error)) {
                Outcome::Diverged(all, runs) if all == runs => Some(one_line(row.name)),
                Outcome::Diverged(some, runs) => {
                    Some(format!("{} ({some} of {runs} runs)", one_line(row.name)))
                }
                _ => None,
            })
            .collect();
        let lost = (!lost.is_empty()).then(|| format!("{} diverged.", lost.join(", ")));
        let mut told = if errors.rivals.is_empty() {
            let plain = |value: f64| fixed(value, decimals_of_loss(value));
            lowest(losses, "validation loss", plain, plain, "")
        } else {
            let points = |share: f64| format!("{:.2}", 100.0 * share);
            lowest(errors, &one_line(&self.error), percent, points, "\u{a0}points")
        };
        told.extend(lost);
        if told.is_empty() {
            told.push("No errors were measured.".to_owned());
        }
        told
    }
}

/// Which rows have the lowest value of what they came to: in one format, and differences in another one and
/// with their unit. Nothing if there are none.
fn lowest(
    field: &Field<'_>,
    what: &str,
    show: impl Fn(f64) -> String,
    gap: impl Fn(f64) -> String,
    unit: &str,
) -> Vec<String> {
    let Some(best) = field.best() else { return Vec::new() };
    let headline = |best: &Rival<'_>, against: &str| {
        format!("{} has the lowest {what}: {}{against}.", one_line(best.name), show(best.value))
    };
    if field.rivals.len() == 1 {
        return vec![format!("{} has a {what} of {}.", one_line(best.name), show(best.value))];
    }
    let Some(sides) = field.sides() else {
        return vec![headline(best, &field.against(best, &show)), field.untested()];
    };
    let words = Words {
        what,
        verbs: ["has", "have"],
        lower: &format!("a lower {what}"),
        higher: &format!("a higher {what}"),
    };
    let less = |found: Difference| {
        format!(
            "{}{unit} less than {} (95\u{a0}% interval: {} to {})",
            gap(-found.value),
            one_line(field.first),
            gap(-found.high),
            gap(-found.low)
        )
    };
    field.told(&sides, &words, &show, headline, less)
}

/// Which row is fastest.
fn speed(field: &Field<'_>) -> Vec<String> {
    let Some(best) = field.best() else { return Vec::new() };
    let (name, seconds) = (one_line(best.name), |value: f64| format!("{}\u{a0}s", time(value)));
    if field.rivals.len() == 1 {
        return vec![format!("An epoch of {name} takes {}.", seconds(best.value))];
    }
    let fastest = |best: &Rival<'_>, against: &str| {
        format!(
            "{} is the fastest: {} per epoch{against}.",
            one_line(best.name),
            seconds(best.value)
        )
    };
    let Some(sides) = field.sides() else {
        return vec![fastest(best, &field.against(best, seconds))];
    };
    let less = |found: Difference| {
        format!(
            "{} less than {} (95\u{a0}% interval: {} to {})",
            percent(1.0 - found.value),
            one_line(field.first),
            percent(1.0 - found.high).trim_end_matches("\u{a0}%"),
            percent(1.0 - found.low)
        )
    };
    let words = Words {
        what: "time of an epoch",
        verbs: ["takes", "take"],
        lower: "less time",
        higher: "more time",
    };
    field.told(&sides, &words, seconds, fastest, less)
}

impl<'a> Field<'a> {
    fn new(
        rows: &'a [Row<'a>],
        compared: Option<&'a Compared<'a>>,
        of: impl Fn(&Row<'a>) -> Option<f64>,
    ) -> Self {
        let rival = |row: &'a Row<'a>| {
            let value = of(row).filter(|value| value.is_finite())?;
            Some(Rival { name: row.name, value })
        };
        Self {
            first: rows.first().map_or("", |row| row.name),
            rivals: rows.iter().filter_map(rival).collect(),
            compared,
        }
    }

    /// The row of the least.
    fn best(&self) -> Option<&Rival<'a>> {
        self.rivals.iter().min_by(|a, b| a.value.total_cmp(&b.value))
    }

    /// What was found for this row in comparison with the first.
    fn difference(&self, name: &str) -> Option<Difference> {
        self.found(name)?.ok()
    }

    /// The same, or why nothing was.
    fn found(&self, name: &str) -> Option<Result<Difference, Untested>> {
        self.compared?.with_first(self.first, name).map(|one| one.found)
    }

    /// Whether this row has less than the first one, beyond chance.
    fn is_lower(&self, name: &str) -> bool {
        self.difference(name)
            .is_some_and(|found| found.beyond_chance() && found.value < self.none())
    }

    /// Whether this row has more than the first one, beyond chance.
    fn is_higher(&self, name: &str) -> bool {
        self.difference(name)
            .is_some_and(|found| found.beyond_chance() && found.value > self.none())
    }

    /// What stands for no difference: of ratios, one.
    fn none(&self) -> f64 {
        let ratio = self.compared.is_some_and(|compared| compared.measure.is_ratio());
        if ratio { 1.0 } else { 0.0 }
    }

    /// `None` if nothing was tested.
    fn sides(&self) -> Option<Sides> {
        let mut sides = Sides::default();
        for rival in &self.rivals {
            let found = match self.found(rival.name) {
                Some(Ok(found)) => found,
                Some(Err(Untested::NoSpread)) => {
                    sides.same.push(one_line(rival.name));
                    continue;
                }
                _ => continue,
            };
            let side = match found.beyond_chance() {
                true if found.value < self.none() => &mut sides.lower,
                true => &mut sides.higher,
                false => &mut sides.unclear,
            };
            side.push(one_line(rival.name));
            let (least, most) = sides.seeds.unwrap_or((found.seeds, found.seeds));
            sides.seeds = Some((least.min(found.seeds), most.max(found.seeds)));
        }
        sides.seeds.map(|_| sides)
    }

    /// The value of the first row, where the best is another.
    fn against(&self, best: &Rival<'_>, show: impl Fn(f64) -> String) -> String {
        let first = self.rivals.iter().find(|rival| rival.name == self.first);
        first
            .filter(|first| first.name != best.name)
            .map(|first| format!(", against {} with {}", show(first.value), one_line(first.name)))
            .unwrap_or_default()
    }

    /// Why chance cannot be judged.
    fn untested(&self) -> String {
        let any = |why: Untested| {
            let mut all = self.compared.iter().flat_map(|all| &all.comparisons);
            all.any(|one| one.found == Err(why))
        };
        if any(Untested::Seeds(0)) {
            "Runs with different seeds are not compared, so this may be chance.".to_owned()
        } else if any(Untested::NoSpread) {
            "Every seed has the same difference: without spread, chance cannot be tested."
                .to_owned()
        } else {
            "One seed cannot show whether that is chance.".to_owned()
        }
    }

    /// The best row, how all others compare with the first, and what could be seen.
    fn told(
        &self,
        sides: &Sides,
        words: &Words<'_>,
        show: impl Fn(f64) -> String,
        headline: impl Fn(&Rival<'_>, &str) -> String,
        less: impl Fn(Difference) -> String,
    ) -> Vec<String> {
        let Some(best) = self.best() else { return Vec::new() };
        let first = one_line(self.first);
        let seeds = sides.seeds();
        let mut told = Vec::new();
        if [&sides.lower, &sides.higher, &sides.same].iter().all(|rows| rows.is_empty()) {
            let highest = self.rivals.iter().map(|rival| rival.value).fold(best.value, f64::max);
            let range = range(&one_line(best.name), &show(best.value), &show(highest));
            let what = words.what;
            told.push(format!("The {what} does not differ by more than {seeds} show: {range}."));
        } else {
            let beyond = self.difference(best.name).filter(Difference::beyond_chance);
            let against = match beyond {
                Some(found) => format!(", {}", less(found)),
                None if best.name == self.first => String::new(),
                None if sides.same.contains(&one_line(best.name)) => self.against(best, &show),
                None => format!("{}; that may be chance", self.against(best, &show)),
            };
            told.push(headline(best, &against));
            // With two rows the headline says it all.
            let others = |names: &[String]| -> Vec<String> {
                names.iter().filter(|name| **name != one_line(best.name)).cloned().collect()
            };
            for (side, says) in [(&sides.lower, words.lower), (&sides.higher, words.higher)] {
                let names = others(side);
                if !names.is_empty() && self.rivals.len() > 2 {
                    let verb = words.verbs[usize::from(names.len() > 1)];
                    let names = listed(&names);
                    told.push(format!("{names} {verb} {says} than {first}, beyond chance."));
                }
            }
            let unclear = others(&sides.unclear);
            if !unclear.is_empty() {
                told.push(format!(
                    "{} cannot tell {} from {first}.",
                    begun(&seeds),
                    listed(&unclear)
                ));
            }
        }
        if !sides.same.is_empty() {
            let differ = if sides.same.len() > 1 { "differ" } else { "differs" };
            told.push(format!(
                "{} {differ} from {first} by the same amount with every seed: without spread, chance cannot be tested.",
                listed(&sides.same)
            ));
        }
        // Of the rows that may differ from the first after all.
        let chance = |one: &Comparison<'_>| {
            one.from == self.first && one.found.is_ok_and(|found| !found.beyond_chance())
        };
        let effect = self.compared.and_then(|compared| smallest(compared, chance));
        told.extend(effect.map(|effect| {
            // If only what is over 100 % is seen, nothing below 100 % is.
            let effect = effect.replace("over ", "");
            format!("Differences from {first} below {effect} could not be seen.")
        }));
        told
    }
}

impl Sides {
    fn seeds(&self) -> String {
        match self.seeds {
            Some((least, most)) if least == most => format!("{most}\u{a0}seeds"),
            _ => "these seeds".to_owned(),
        }
    }
}

/// Which row is the first to have no more errors than the first row ended with, and so what to do.
fn race(
    rows: &[Row<'_>],
    times: &Field<'_>,
    errors: &Field<'_>,
    losses: &Field<'_>,
) -> Option<Vec<String>> {
    let (target, first) = (Training::target(rows)?, rows.first()?);
    let own = first.seconds_to(target)?;
    // Less data is sooner done, whatever is learned from it.
    let same = rows.iter().filter(|row| row.has_the_data_of(first));
    let reached = same.filter_map(|row| Some((row.seconds_to(target)?, row.name)));
    let (soonest, winner) = reached.min_by(|a, b| a.0.total_cmp(&b.0))?;
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
        told.extend(nearly(rows, own, errors));
        match better(errors) {
            Some(better) => format!("use {better} for fewer errors"),
            None => format!("keep {name}"),
        }
    } else {
        // Of several rows one is always the first.
        let shown = times.is_lower(winner) || errors.is_lower(winner);
        let worse = losses.is_higher(winner);
        let winner = one_line(winner);
        told.push(format!(
            "{winner} is the first to reach the final error of {name} ({target}): after {}\u{a0}s of \
             training, where {name} takes {took}\u{a0}s.",
            time(soonest),
        ));
        if worse {
            told.push(format!("Its validation loss is higher than that of {name}, beyond chance."));
            format!("keep {name}, or train both for longer to see whether the loss matters")
        } else if shown {
            format!("use {winner}")
        } else {
            format!("train with more seeds; that {winner} is sooner may be chance")
        }
    };
    told.push(if errors.rivals.len() > 1 && errors.sides().is_none() {
        "What to do: train with more seeds before you choose, such as `--seeds 1,2,3`.".to_owned()
    } else {
        format!("What to do: {choice}.")
    });
    Some(told)
}

/// The row of the lowest error, if that is lower than the error of the first beyond chance.
fn better(field: &Field<'_>) -> Option<String> {
    let lowest = field.best()?;
    field.is_lower(lowest.name).then(|| one_line(lowest.name))
}

/// Which row is done sooner than the first one, and ends with more errors only by what may be chance.
fn nearly(rows: &[Row<'_>], own: f64, field: &Field<'_>) -> Option<String> {
    let done = rows[1..].iter().filter_map(|row| {
        let end = *row.curve(|v| v.error).last()?;
        let chance = field.difference(row.name).is_some_and(|found| !found.beyond_chance());
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
    fn a_row_that_learns_less_is_not_recommended() {
        let choice = |of: &Training| of.verdict().pop().unwrap();
        let mut sooner = rows(&[("a", 2.0, &[0.30, 0.31, 0.32]), ("b", 1.0, &[0.29, 0.32, 0.31])]);
        assert_eq!(choice(&sooner), "What to do: use b.");
        let half = Training {
            runs: sooner
                .runs
                .clone()
                .into_iter()
                .map(|mut run| {
                    let is_less = run.name == "b";
                    run.epochs.iter_mut().filter(|_| is_less).for_each(|epoch| epoch.frames /= 2);
                    run
                })
                .collect(),
            ..training()
        };
        assert_eq!(choice(&half), "What to do: keep a.");
        for run in sooner.runs.iter_mut().filter(|run| run.name == "b") {
            run.epochs[1].validation.as_mut().unwrap().loss += 0.5;
        }
        let told = sooner.verdict().join("\n");
        assert!(
            told.contains("Its validation loss is higher than that of a, beyond chance."),
            "{told}"
        );
        assert!(
            choice(&sooner).starts_with("What to do: keep a, or train both for longer"),
            "{told}"
        );
    }

    #[test]
    fn few_seeds_see_no_small_difference() {
        let told = rows(&[("a", 2.0, &[0.30, 0.31]), ("b", 1.0, &[0.10, 0.39])]).verdict();
        let below = "Differences from a below 100\u{a0}points could not be seen.".to_owned();
        assert!(told.contains(&below), "{told:?}");
    }

    #[test]
    #[expect(clippy::too_many_lines, reason = "a list of results, and what is said of each")]
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
            rows(&[("a", 2.0, &[0.30, 0.31, 0.32]), ("b", 1.0, &[0.20, 0.22, 0.21])]),
            rows(&[("a", 2.0, &[0.30, 0.31, 0.32]), ("b", 1.0, &[0.29, 0.31, 0.33])]),
            rows(&[("a", 2.0, &[0.30, 0.31, 0.32]), ("b", 1.0, &[0.30, 0.32, 0.33])]),
            rows(&[("a", 1.0, &[0.20, 0.21, 0.22]), ("b", 2.0, &[0.30, 0.32, 0.31])]),
            rows(&[
                ("a", 2.0, &[0.3, 0.31, 0.32]),
                ("b", 2.01, &[0.2, 0.22, 0.21]),
                ("c", 9.0, &[0.21; 3]),
            ]),
            // Every seed has the same difference: of one row, of the best of two, of all.
            rows(&[
                ("a", 2.0, &[0.3, 0.31, 0.32]),
                ("b", 2.01, &[0.31, 0.29, 0.32]),
                ("c", 9.0, &[0.2, 0.21, 0.22]),
            ]),
            rows(&[
                ("a", 2.0, &[0.3, 0.31, 0.32]),
                ("b", 2.01, &[0.2, 0.22, 0.21]),
                ("c", 9.0, &[0.19, 0.2, 0.21]),
                ("d", 9.0, &[0.31, 0.32, 0.33]),
            ]),
            rows(&[("a", 2.0, &[0.3, 0.31, 0.32]), ("b", 1.0, &[0.2, 0.21, 0.22])]),
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
            semi-sorted is the fastest: 6.10 s per epoch, 39.6 % less than shuffled (95 % interval: 38.6 to 40.6 %).
            semi-sorted has the lowest character error rate: 18.4 %, 1.95 points less than shuffled (95 % interval: 1.83 to 2.07).
            semi-sorted is the first to reach the final error of shuffled (20.4 %): after 18.3 s of training, where shuffled takes 40.4 s.
            What to do: use semi-sorted.

            b is the fastest: 1.01 s per epoch, 49.8 % less than a (95 % interval: 49.1 to 50.4 %).
            b has the lowest character error rate: 21.0 %, 10.00 points less than a (95 % interval: 7.52 to 12.48).
            b is the first to reach the final error of a (31.0 %): after 2.02 s of training, where a takes 4.02 s.
            What to do: use b.

            b is the fastest: 1.01 s per epoch, 49.8 % less than a (95 % interval: 49.1 to 50.4 %).
            The character error rate does not differ by more than 3 seeds show: all have 31.0 %.
            Differences from a below 3.3 points could not be seen.
            b is the first to reach the final error of a (31.0 %): after 2.02 s of training, where a takes 4.02 s.
            What to do: use b.

            b is the fastest: 1.01 s per epoch, 49.8 % less than a (95 % interval: 49.1 to 50.4 %).
            The character error rate does not differ by more than 3 seeds show: 31.0 % (a) to 31.7 %.
            Differences from a below 1.9 points could not be seen.
            No other way reaches the final error of a (31.0 %) sooner than a itself, after 4.02 s of training.
            b ends with 31.7 % after 2.02 s; the difference may be chance.
            What to do: keep a.

            a is the fastest: 1.01 s per epoch.
            a has the lowest character error rate: 21.0 %.
            No other way reaches the final error of a (21.0 %) sooner than a itself, after 2.02 s of training.
            What to do: keep a.

            a is the fastest: 2.01 s per epoch.
            b and c take more time than a, beyond chance.
            b has the lowest character error rate: 21.0 %, 10.00 points less than a (95 % interval: 7.52 to 12.48).
            c has a lower character error rate than a, beyond chance.
            No other way reaches the final error of a (31.0 %) sooner than a itself, after 4.02 s of training.
            What to do: use b for fewer errors.

            a is the fastest: 2.01 s per epoch.
            b and c take more time than a, beyond chance.
            c has the lowest character error rate: 21.0 %, against 31.0 % with a.
            3 seeds cannot tell b from a.
            c differs from a by the same amount with every seed: without spread, chance cannot be tested.
            Differences from a below 5.0 points could not be seen.
            No other way reaches the final error of a (31.0 %) sooner than a itself, after 4.02 s of training.
            What to do: keep a.

            a is the fastest: 2.01 s per epoch.
            b, c and d take more time than a, beyond chance.
            c has the lowest character error rate: 20.0 %, against 31.0 % with a.
            b has a lower character error rate than a, beyond chance.
            c and d differ from a by the same amount with every seed: without spread, chance cannot be tested.
            No other way reaches the final error of a (31.0 %) sooner than a itself, after 4.02 s of training.
            What to do: keep a.

            b is the fastest: 1.01 s per epoch, 49.8 % less than a (95 % interval: 49.1 to 50.4 %).
            b has the lowest character error rate: 21.0 %, against 31.0 % with a.
            Every seed has the same difference: without spread, chance cannot be tested.
            b is the first to reach the final error of a (31.0 %): after 2.02 s of training, where a takes 4.02 s.
            What to do: train with more seeds before you choose, such as `--seeds 1,2,3`.

            b is the fastest: 1.00 s per epoch, against 2.00 s with a.
            b has the lowest character error rate: 20.0 %, against 30.0 % with a.
            One seed cannot show whether that is chance.
            b is the first to reach the final error of a (30.0 %): after 2.00 s of training, where a takes 4.00 s.
            What to do: train with more seeds before you choose, such as `--seeds 1,2,3`.

            b is the fastest: 1.01 s per epoch, 49.9 % less than a (95 % interval: 48.3 to 51.4 %).
            b has the lowest character error rate: 21.0 %, against 30.5 % with a.
            Every seed has the same difference: without spread, chance cannot be tested.
            b is the first to reach the final error of a (30.5 %): after 2.02 s of training, where a takes 4.01 s.
            What to do: train with more seeds before you choose, such as `--seeds 1,2,3`.

            An epoch of a takes 2.00 s.
            a has a character error rate of 30.0 %.
            There is no other strategy to compare it with.

            b is the fastest: 1.00 s per epoch, against 2.00 s with a.
            a has a character error rate of 30.5 %.
            b (1 of 2 runs) diverged.
            No other way reaches the final error of a (30.5 %) sooner than a itself, after 4.01 s of training.
            What to do: keep a.

            b is the fastest: 1.00 s per epoch, 49.9 % less than a (95 % interval: 48.3 to 51.4 %).
            a has the lowest character error rate: 30.5 %.
            Every seed has the same difference: without spread, chance cannot be tested.
            Not all runs are done: rows have from 1 to 2 epochs.

            b is the fastest: 1.00 s per epoch, against 2.00 s with a.
            No errors were measured.

            Nothing was trained.

            No epoch is over yet.

            b\n is the fastest: 1.00 s per epoch, against 2.00 s with \u{1b}[31m.
            b\n has the lowest character error rate: 20.0 %, against 30.0 % with \u{1b}[31m.
            One seed cannot show whether that is chance.
            b\n is the first to reach the final error of \u{1b}[31m (30.0 %): after 2.00 s of training, where \u{1b}[31m takes 4.00 s.
            What to do: train with more seeds before you choose, such as `--seeds 1,2,3`.

        "#]];
        expected.assert_eq(&told);
    }

    /// Sooner in the mean only, and seeds that no other run has.
    #[test]
    fn what_may_be_chance_is_no_advice() {
        let mut chance = rows(&[("a", 2.0, &[0.30, 0.31, 0.32]), ("b", 2.0, &[0.31, 0.30, 0.31])]);
        for (run, seconds) in chance.runs[3..].iter_mut().zip([1.2, 2.4, 1.6]) {
            run.epochs[0].seconds = seconds;
        }
        let mut apart = rows(&[("a", 2.0, &[0.30, 0.31]), ("b", 1.0, &[0.20, 0.21])]);
        apart.runs[2..].iter_mut().for_each(|run| run.seed += 7);
        let told = [chance, apart].map(|training| training.verdict().join("\n"));
        let expected = expect_test::expect![[r#"
            The time of an epoch does not differ by more than 3 seeds show: 2.00 s (b) to 2.01 s.
            Differences from a below 69 % could not be seen.
            The character error rate does not differ by more than 3 seeds show: 30.7 % (b) to 31.0 %.
            Differences from a below 3.8 points could not be seen.
            b is the first to reach the final error of a (31.0 %): after 3.74 s of training, where a takes 4.02 s.
            What to do: train with more seeds; that b is sooner may be chance.

            b is the fastest: 1.00 s per epoch, against 2.00 s with a.
            b has the lowest character error rate: 20.5 %, against 30.5 % with a.
            Runs with different seeds are not compared, so this may be chance.
            b is the first to reach the final error of a (30.5 %): after 2.01 s of training, where a takes 4.01 s.
            What to do: train with more seeds before you choose, such as `--seeds 1,2,3`."#]];
        expected.assert_eq(&told.join("\n\n").replace('\u{a0}', " "));
    }

    /// Where errors are not counted, the loss is what rows come to.
    #[test]
    fn losses_stand_for_errors() {
        let training = rows(&[
            ("a", 2.0, &[0.30, 0.31, 0.32]),
            ("b", 1.0, &[0.20, 0.22, 0.21]),
            ("c", 1.0, &[0.31, 0.31, 0.31]),
        ]);
        let rows = training.rows();
        let compared = training.compared(&rows);
        let on = |measure| compared.iter().find(|one| one.measure == measure);
        let losses =
            Field::new(&rows, on(Measure::Loss), |row| row.outcome(|v| Some(v.loss)).mean());
        let none = Field::new(&rows, None, |_| None);
        let told = training.came_to(&rows, &none, &losses).join("\n");
        let expected = expect_test::expect![[r#"
            b has the lowest validation loss: 0.840, 0.400 less than a (95 % interval: 0.301 to 0.499).
            3 seeds cannot tell c from a.
            Differences from a below 0.18 could not be seen."#]];
        expected.assert_eq(&told.replace('\u{a0}', " "));
        assert_eq!(training.came_to(&rows, &none, &none), ["No errors were measured."]);
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
