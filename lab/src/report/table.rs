//! The table of rows: as text, as Markdown, and what the page shows of it.

use std::fmt::{Display, Write as _};

use super::{
    compare::Measure,
    differences::Differences,
    records::{Training, Validation},
    remarks::remarks,
    row::{Outcome, Row, last_epoch},
    workers::{Count, any_together},
};
use lengthwise_report::parts::{
    table::{Look, TextColumn, TextTable, stars_of_best},
    text::{compact, fixed, one_line, time, wrapped},
};

/// One row for each name, with what its runs took and what they came to.
#[derive(Clone, Debug)]
pub struct TrainingTable {
    heading: Vec<String>,
    pub(super) names: Vec<String>,
    pub(super) columns: Vec<Column>,
    pub(super) differences: Option<Differences>,
    pub(super) remarks: Vec<String>,
}

/// What a star says.
const STAR: &str = "best of its column; results: better than those of the first row beyond chance";

/// Which end of a column is the good one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Best {
    Low,
    High,
    Neither,
}

/// A column for text and for the page.
#[derive(Clone, Debug)]
pub(super) struct Column {
    dispensable: u8,
    /// Two lines, for narrow tables: what it is, and its unit.
    short: [String; 2],
    /// Its name in one line.
    pub(super) heading: String,
    /// What it means, shown when pointed at.
    pub(super) meaning: String,
    best: Best,
    pub(super) cells: Vec<Cell>,
}

/// What a row has in a column.
#[derive(Clone, Debug, Default)]
pub(super) struct Cell {
    /// The number, or a word in its place; empty where there is nothing.
    pub(super) text: String,
    /// Half of the 95 % confidence interval.
    pub(super) spread: Option<String>,
    /// The number to sort by.
    pub(super) value: Option<f64>,
    /// Of a result: whether it is better than that of the first row beyond chance.
    better: Option<bool>,
}

impl Training {
    /// One row for each name: its runs of several seeds together.
    ///
    /// Time and rates are medians over epochs and seeds. Results are means over seeds after the last
    /// epoch, ± half of the 95 % confidence interval by Student's t where there are two seeds or more.
    pub fn table(&self) -> TrainingTable {
        let rows = self.rows();
        let mut heading = vec![one_line(&self.title)];
        let about = |(what, value): &(String, String)| one_line(&format!("{what} {value}"));
        if !self.about.is_empty() {
            heading.push(self.about.iter().map(about).collect::<Vec<_>>().join(", "));
        }
        let mut columns = costs(&rows);
        columns.extend(self.results(&rows));
        columns.retain(|column| column.cells.iter().any(|cell| !cell.text.is_empty()));
        let remarks = remarks(&rows).into_iter().chain(self.notes.iter().cloned());
        TrainingTable {
            heading,
            names: rows.iter().map(|row| row.name.to_owned()).collect(),
            columns,
            differences: self.differences(&rows),
            remarks: remarks.collect(),
        }
    }

    /// Whether more is better.
    fn is_higher_better(&self, measure: Measure<'_>) -> bool {
        matches!(measure, Measure::More(name) if self.higher.iter().any(|higher| higher == name))
    }

    /// The columns of what runs came to.
    fn results(&self, rows: &[Row<'_>]) -> Vec<Column> {
        let loss = column(1, ["validation", "loss"], Best::Low, "mean loss on validation data")
            .cells(rows, |row| row.outcome(|v| Some(v.loss)).cell(decimals_of_loss, 1.0));
        let error = share(0, &self.error, rows, |v| Some(v.error));
        let compared = self.compared(rows);
        // Which rows the seeds show to be better than the first.
        let marked = |mut column: Column, measure: Measure<'_>| {
            let compared = compared.iter().find(|one| one.measure == measure);
            for (row, cell) in rows.iter().zip(&mut column.cells) {
                let found = compared.and_then(|all| all.difference(rows[0].name, row.name));
                let more_is_better = self.is_higher_better(measure);
                let better = found.is_some_and(|found| {
                    found.beyond_chance() && (found.value > 0.0) == more_is_better
                });
                cell.better = Some(better);
            }
            column
        };
        let mut columns = vec![marked(loss, Measure::Loss), marked(error, Measure::Error)];
        for name in self.more() {
            let value = |v: &Validation| v.more.iter().find(|one| one.0 == name).map(|one| one.1);
            let measure = Measure::More(name);
            let column = if measure.is_share() {
                share(4, name, rows, value)
            } else {
                let best = if self.is_higher_better(measure) { Best::High } else { Best::Low };
                let mut column = column(4, ["", ""], best, "");
                (column.heading, column.meaning) = (name.to_owned(), name.to_owned());
                column.short = two_lines(name);
                column.cells(rows, |row| row.outcome(value).cell(decimals_of_loss, 1.0))
            };
            columns.push(marked(column, measure));
        }
        if let (Some(target), Some(first)) = (Self::target(rows), rows.first()) {
            let meaning = format!(
                "seconds of training until the mean over seeds had no more errors than {} in the end",
                first.name
            );
            let mut column = column(0, ["to target", "s"], Best::Low, &meaning);
            "seconds to target".clone_into(&mut column.heading);
            columns.push(column.cells(rows, |row| match row.seconds_to(target) {
                Some(seconds) => Cell::new(seconds, time(seconds)),
                None if row.outcome(|v| Some(v.error)) == Outcome::Unknown => Cell::default(),
                None => Cell { text: "not reached".to_owned(), ..Cell::default() },
            }));
        }
        columns
    }
}

/// The columns of what runs take.
fn costs(rows: &[Row<'_>]) -> Vec<Column> {
    let cell = |value: Option<f64>, show: fn(f64) -> String| {
        value.map_or_else(Cell::default, |value| Cell::new(value, show(value)))
    };
    let whole = |value: f64| compact(value.round());
    let one_decimal = |value: f64| format!("{value:.1}");
    // Where every step has one batch, neither of two columns says anything new.
    let accumulated = rows.iter().filter_map(Row::batches_per_step).any(|each| each > 1.001);
    let mut speed = column(0, ["epoch", "s"], Best::Low, "median time of training in an epoch");
    "seconds per epoch".clone_into(&mut speed.heading);
    let [workers, waiting, by_plan] = together(rows);
    vec![
        column(3, ["", "seeds"], Best::Neither, "runs that differ in their seed only")
            .cells(rows, |row| cell(Some(row.runs.len() as f64), |seeds| seeds.to_string())),
        column(2, ["", "epochs"], Best::Neither, "epochs that the runs have")
            .cells(rows, |row| Cell::new(row.last_epoch().into(), epochs(row))),
        workers,
        speed.cells(rows, |row| cell(row.seconds(), time)),
        waiting,
        by_plan,
        column(2, ["sequences", "per s"], Best::High, "median over the epochs")
            .cells(rows, |row| cell(row.rate(|epoch| epoch.sequences), rate)),
        column(3, ["frames", "per s"], Best::High, "median over the epochs, without padding")
            .cells(rows, |row| cell(row.rate(|epoch| epoch.frames), rate)),
        column(1, ["optimizer", "steps"], Best::Neither, "optimizer steps in an epoch")
            .cells(rows, |row| cell(row.steps().filter(|_| accumulated), whole)),
        column(
            2,
            ["batches", "per step"],
            Best::Neither,
            "batches of an optimizer step, on each worker",
        )
        .cells(rows, |row| cell(row.batches_per_step().filter(|_| accumulated), one_decimal)),
        column(0, ["padding", "%"], Best::Low, "empty cells of all cells").cells(rows, |row| {
            cell(row.padding().map(|share| 100.0 * share), |p| format!("{p:.2}"))
        }),
        column(
            1,
            ["", "shapes"],
            Best::Low,
            "different pairs of batch size and batch length in an epoch",
        )
        .cells(rows, |row| cell(row.shapes(), whole)),
        column(
            2,
            ["step", "mix"],
            Best::Neither,
            "how much the lengths of optimizer steps vary, compared with random steps",
        )
        .cells(rows, |row| cell(row.step_mix(), |mix| format!("{mix:.2}"))),
        column(2, ["peak", "MB"], Best::Low, "the most memory in use at any time")
            .cells(rows, |row| cell(row.peak_bytes().map(|bytes| bytes / 1e6), megabytes)),
    ]
}

/// The columns of workers, which are empty if no row has several.
fn together(rows: &[Row<'_>]) -> [Column; 3] {
    let any = any_together(rows);
    let share = |share: Option<f64>| match share {
        Some(share) => Cell::new(100.0 * share, format!("{:.1}", 100.0 * share)),
        None => Cell::default(),
    };
    [
        column(1, ["", "workers"], Best::Neither, "workers that train together").cells(
            rows,
            |row| match row.workers().filter(|_| any) {
                Some(Count { least, most }) => Cell::new(most as f64, range(least, most)),
                None => Cell::default(),
            },
        ),
        column(
            1,
            ["waiting", "%"],
            Best::Low,
            "time that workers wait for slower ones, of all their time; with a core or a device for each",
        )
        .cells(rows, |row| share(row.idle())),
        column(
            3,
            ["by plan", "%"],
            Best::Low,
            "time that workers have to wait by the plan, of all their time: a prediction",
        )
        .cells(rows, |row| share(row.predicted())),
    ]
}

/// The epochs of a row's runs: one number, or the least and the most.
fn epochs(row: &Row<'_>) -> String {
    let least = row.runs.iter().map(|run| last_epoch(run)).min().unwrap_or(0);
    range(least, row.last_epoch())
}

/// One number, or the least and the most.
pub(super) fn range<T: Copy + PartialOrd + Display>(least: T, most: T) -> String {
    if least < most { format!("{least} to {most}") } else { most.to_string() }
}

fn column(dispensable: u8, short: [&str; 2], best: Best, meaning: &str) -> Column {
    let heading = match short[1] {
        unit @ ("%" | "MB") => format!("{}, {unit}", short[0]),
        _ => short.join(" ").trim().to_owned(),
    };
    let (short, meaning) = (short.map(str::to_owned), meaning.to_owned());
    Column { dispensable, short, heading, meaning, best, cells: Vec::new() }
}

/// A column of shares, in percent.
fn share(
    dispensable: u8,
    name: &str,
    rows: &[Row<'_>],
    of: impl Fn(&Validation) -> Option<f64>,
) -> Column {
    let mut column = column(dispensable, ["", ""], Best::Low, name);
    column.heading = format!("{name}, %");
    column.short = two_lines(&column.heading);
    column.cells(rows, |row| row.outcome(&of).cell(|_| 2, 100.0))
}

impl Column {
    fn cells(mut self, rows: &[Row<'_>], cell: impl Fn(&Row<'_>) -> Cell) -> Self {
        self.cells = rows.iter().map(cell).collect();
        self
    }

    /// Whether it is no measure, and the same for all rows.
    pub(super) fn is_idle(&self) -> bool {
        self.best == Best::Neither && self.cells.windows(2).all(|pair| pair[0].text == pair[1].text)
    }

    /// Which cells stand out: those that look like the best, and of results those that the seeds show to be
    /// better than the first.
    fn starred(&self) -> Vec<bool> {
        if self.cells.iter().any(|cell| cell.better.is_some()) {
            return self.cells.iter().map(|cell| cell.better == Some(true)).collect();
        }
        let known = || self.cells.iter().filter(|cell| cell.value.is_some());
        let by = |a: &&Cell, b: &&Cell| a.value.unwrap_or(0.0).total_cmp(&b.value.unwrap_or(0.0));
        let best = match self.best {
            Best::Low => known().min_by(by),
            Best::High => known().max_by(by),
            Best::Neither => None,
        };
        // One alone is not the best of any.
        let best = best.filter(|_| known().count() > 1).map(|best| &best.text);
        let texts: Vec<String> = self.cells.iter().map(|cell| cell.text.clone()).collect();
        best.map_or_else(|| vec![false; texts.len()], |best| stars_of_best(Some(best), &texts))
    }
}

impl Cell {
    pub(super) fn new(value: f64, text: String) -> Self {
        Self { text, value: Some(value), ..Self::default() }
    }

    /// The number and its interval in one line.
    fn line(&self) -> String {
        match &self.spread {
            _ if self.text.is_empty() => "-".to_owned(),
            Some(spread) => format!("{} ± {spread}", self.text),
            None => self.text.clone(),
        }
    }
}

impl Outcome {
    /// The mean in some unit, with so many decimals as it needs.
    fn cell(&self, decimals: impl Fn(f64) -> usize, unit: f64) -> Cell {
        match self {
            Outcome::Unknown => Cell::default(),
            Outcome::Diverged(all, runs) if all == runs => {
                Cell { text: "diverged".to_owned(), ..Cell::default() }
            }
            Outcome::Diverged(some, runs) => {
                Cell { text: format!("{some} of {runs} diverged"), ..Cell::default() }
            }
            Outcome::Values(_) => match self.interval() {
                Some(of) if of.mean.is_finite() => {
                    let decimals = decimals(of.mean);
                    let show = |value: f64| fixed(unit * value, decimals);
                    Cell {
                        text: show(of.mean),
                        spread: of.half_width.map(show),
                        value: Some(unit * of.mean),
                        better: None,
                    }
                }
                Some(of) if of.mean == f64::INFINITY => {
                    Cell { text: "infinite".to_owned(), ..Cell::default() }
                }
                _ => Cell { text: "no number".to_owned(), ..Cell::default() },
            },
        }
    }
}

impl TrainingTable {
    /// The table for a terminal or a file, at most `width` characters wide if that can be done by
    /// leaving columns out.
    pub fn text(&self, look: Look, width: usize) -> String {
        let shown_table = TextTable {
            corner: "strategy",
            names: self.names.iter().map(|name| one_line(name)).collect(),
            columns: self.columns.iter().map(shown).collect(),
            star: STAR,
        };
        let mut text: String = self.heading.iter().map(|line| wrapped(line, width)).collect();
        text.push('\n');
        if self.names.is_empty() {
            text.push_str("there are no runs\n");
        } else {
            text += &shown_table.text(look, width);
        }
        if let Some(differences) = &self.differences {
            if let Some(table) = differences.text_table() {
                let about = format!(
                    "Compared with {}, seed by seed, with 95 % intervals",
                    differences.first
                );
                text.push('\n');
                text += &wrapped(&about, width);
                text += &table.text(Look::Plain, width);
            }
            text.push('\n');
            for line in differences.legend().iter().chain(&differences.untested) {
                text += &wrapped(line, width);
            }
        }
        if !self.remarks.is_empty() {
            text.push('\n');
            text.extend(self.remarks.iter().map(|remark| wrapped(&one_line(remark), width)));
        }
        text
    }

    /// The table in Markdown, with what must be known about it as a list below.
    pub fn markdown(&self) -> String {
        let mut text = "| strategy |".to_owned();
        let mut rule = "|---|".to_owned();
        for column in &self.columns {
            _ = write!(text, " {} |", marked_down(&column.heading));
            rule.push_str("---:|");
        }
        _ = writeln!(text, "\n{rule}");
        for (number, name) in self.names.iter().enumerate() {
            _ = write!(text, "| {} |", marked_down(name));
            for column in &self.columns {
                _ = write!(text, " {} |", column.cells[number].line());
            }
            text.push('\n');
        }
        if let Some(differences) = &self.differences {
            differences.markdown(&mut text);
        }
        if !self.remarks.is_empty() {
            text.push('\n');
            for remark in &self.remarks {
                _ = writeln!(text, "- {}", marked_down(remark));
            }
        }
        text
    }
}

/// A column of the table of text.
fn shown(column: &Column) -> TextColumn {
    TextColumn {
        dispensable: column.dispensable,
        heading: column.short.clone(),
        cells: column.cells.iter().map(Cell::line).collect(),
        starred: column.starred(),
    }
}

/// Text that stays text in Markdown, on one line.
pub(super) fn marked_down(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in one_line(text).chars() {
        if "\\`*_[]<>|&#~$".contains(character) {
            safe.push('\\');
        }
        safe.push(character);
    }
    safe
}

/// A name in two lines of about the same length.
pub(super) fn two_lines(name: &str) -> [String; 2] {
    let name = one_line(name);
    let longer = |at: usize| at.max(name.len() - at - 1);
    match name.match_indices(' ').map(|(at, _)| at).min_by_key(|at| longer(*at)) {
        Some(at) => [name[..at].to_owned(), name[at + 1..].to_owned()],
        None => [String::new(), name],
    }
}

pub(super) fn decimals_of_loss(loss: f64) -> usize {
    match loss.abs() {
        ..0.1 => 4,
        ..100.0 => 3,
        _ => 1,
    }
}

fn rate(value: f64) -> String {
    if value < 100.0 { format!("{value:.1}") } else { compact(value.round()) }
}

fn megabytes(value: f64) -> String {
    if value < 100.0 { format!("{value:.1}") } else { format!("{value:.0}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing::{epoch, run, shared, training};

    #[test]
    fn the_table_as_text() {
        let expected = expect_test::expect![[r#"
            a small model on `speech`
            model 2 layers of 128, device CPU, 2 threads

                                          epoch   sequences   frames   padding            peak      validation       character     word error   to target
            strategy     seeds   epochs       s       per s    per s         %   shapes     MB            loss   error rate, %        rate, %           s
            shuffled         3        4    10.1        1038     545k     31.20      420   1235   0.816 ± 0.040    20.40 ± 0.99   51.00 ± 2.48        40.4
            semi-sorted      3        4    6.10*       1718*    902k*     1.71*     420   1235   0.738 ± 0.045*   18.45 ± 1.12*  46.12 ± 2.79*       18.3*

            * best of its column; results: better than those of the first row beyond chance

            Compared with shuffled, seed by seed, with 95 % intervals
                                     time of an        validation    character error      word error
            strategy               epoch, ratio              loss       rate, points    rate, points
            semi-sorted  0.604 (0.594 to 0.614)    −0.078 ± 0.005       −1.95 ± 0.12    −4.88 ± 0.31

            The smallest differences that these seeds find with a probability of 80 %: time of an epoch 2.1 %, validation loss 0.0065, character error rate 0.16 points, word error rate 0.41 points.

            The data were made by a program.
        "#]];
        expected.assert_eq(&training().table().text(Look::Starred, usize::MAX));
    }

    /// As of translations: more is better. And the step mix, where it was measured.
    #[test]
    fn more_may_be_better() {
        let mut training = training();
        for run in &mut training.runs {
            let epoch = run.epochs.last_mut().unwrap();
            epoch.step_mix = Some(if run.name == "shuffled" { 0.9 } else { 243.0 });
            let validation = epoch.validation.as_mut().unwrap();
            validation.more = vec![("BLEU".to_owned(), 40.0 - 100.0 * validation.error)];
        }
        let row = |training: &Training| {
            let text = training.table().text(Look::Starred, usize::MAX);
            text.lines().find(|line| line.starts_with("semi-sorted")).unwrap().to_owned()
        };
        let shown = row(&training);
        assert!(shown.contains(" 21.550 ± 1.118 ") && shown.contains(" 243.00 "), "{shown}");
        training.higher = vec!["BLEU".to_owned()];
        assert!(row(&training).contains(" 21.550 ± 1.118*"), "{}", row(&training));
    }

    #[test]
    fn the_table_as_markdown() {
        let expected = expect_test::expect![[r#"
            | strategy | seeds | epochs | seconds per epoch | sequences per s | frames per s | padding, % | shapes | peak, MB | validation loss | character error rate, % | word error rate, % | seconds to target |
            |---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|
            | shuffled | 3 | 4 | 10.1 | 1038 | 545k | 31.20 | 420 | 1235 | 0.816 ± 0.040 | 20.40 ± 0.99 | 51.00 ± 2.48 | 40.4 |
            | semi-sorted | 3 | 4 | 6.10 | 1718 | 902k | 1.71 | 420 | 1235 | 0.738 ± 0.045 | 18.45 ± 1.12 | 46.12 ± 2.79 | 18.3 |

            | compared with shuffled | time of an epoch, ratio | validation loss | character error rate, points | word error rate, points |
            |---|---:|---:|---:|---:|
            | semi-sorted | 0.604 (0.594 to 0.614) | −0.078 ± 0.005 | −1.95 ± 0.12 | −4.88 ± 0.31 |

            - The smallest differences that these seeds find with a probability of 80 %: time of an epoch 2.1 %, validation loss 0.0065, character error rate 0.16 points, word error rate 0.41 points.

            - The data were made by a program.
        "#]];
        expected.assert_eq(&training().table().markdown());
    }

    /// Error rates of few symbols: two seeds differ by the same, and nothing can be tested.
    #[test]
    fn what_differs_by_the_same_has_no_star() {
        let mut training = training();
        training.runs.retain(|run| run.seed < 2);
        for epoch in training.runs.iter_mut().flat_map(|run| &mut run.epochs) {
            let validation = epoch.validation.as_mut().unwrap();
            validation.more.clear();
            validation.error = (400.0 * validation.error).round() / 400.0;
        }
        let note = "The character error rate of semi-sorted differs from that of shuffled by the same amount with \
                    every seed. Without spread there is no test and no star: train with more seeds.";
        let text = training.table().text(Look::Starred, usize::MAX);
        let row = text.lines().find(|line| line.starts_with("semi-sorted")).unwrap();
        assert!(row.contains(" 18.25 ± 3.18 "), "{row}");
        assert!(text.contains(note) && training.table().markdown().contains(note), "{text}");
        assert!(training.page().contains(note));
        // So on the page at equal time.
        for run in &mut training.runs {
            for validation in run.epochs.iter_mut().flat_map(|epoch| &mut epoch.validation) {
                validation.loss = if run.name == "shuffled" { 2.0 } else { 1.0 };
            }
        }
        assert!(training.page().contains("differs by the same with every seed: not tested"));
    }

    /// Runs that are not done, that diverged, that have nothing; and memory that was not measured.
    #[test]
    fn a_table_of_what_is_not_whole() {
        let mut wrong = epoch(2, 3.0, f64::NAN);
        wrong.loss = f64::NAN;
        let mut silent = epoch(1, 5.0, 0.5);
        silent.validation = None;
        let mut runs = vec![
            run("plain", 0, vec![epoch(1, 2.0, 0.5), epoch(2, 2.1, 0.4), epoch(3, 2.2, 0.31)]),
            run("plain", 1, vec![epoch(1, 2.0, 0.5)]),
            run("wild", 0, vec![epoch(1, 3.0, 0.5), wrong]),
            run("wild", 1, vec![epoch(1, 3.0, 0.5), epoch(2, 3.0, 0.4), epoch(3, 3.0, 0.3)]),
            run("silent", 0, vec![silent]),
            run("waiting", 0, vec![]),
        ];
        for epoch in runs.iter_mut().flat_map(|run| &mut run.epochs) {
            epoch.peak_bytes = 0;
        }
        let training = Training { runs, ..training() };
        let expected = expect_test::expect![[r#"
            a small model on `speech`
            model 2 layers of 128, device CPU, 2 threads

                               epoch   padding                 validation         character     to target
            strategy  epochs       s         %   shapes              loss     error rate, %             s
            plain     1 to 3    2.05*    31.20      420             1.240             31.00          6.30
            wild      2 to 3    3.00     31.20      420   1 of 2 diverged   1 of 2 diverged   not reached
            silent         1    5.00     31.20      420                 -                 -             -
            waiting        0       -         -        -                 -                 -             -

            * best of its column; results: better than those of the first row beyond chance
            not shown: seeds, sequences per s, frames per s; a wider terminal or JSON has them

            Compared with plain, seed by seed, with 95 % intervals
                                  time of an
            strategy            epoch, ratio
            wild      1.464 (1.074 to 1.996)
            silent                         -
            waiting                        -

            The smallest differences that these seeds find with a probability of 80 %: time of an epoch 49 %.
            plain and silent have one seed in common, which cannot show whether a difference is chance.

            plain, seed 1: has 1 of 3 epochs; only its time and padding count.
            wild, seed 0: diverged in epoch 2.
            silent, seed 0: has 1 of 3 epochs; its results are those so far.
            waiting, seed 0: has 0 of 3 epochs.
            The data were made by a program.
        "#]];
        expected.assert_eq(&training.table().text(Look::Starred, 100));
    }

    /// Six workers, one, some of several numbers, and none yet.
    #[test]
    fn a_table_of_workers() {
        let six = |number| shared(number, &[(4.0, 0.5, 0.1), (4.5, 0.0, 0.0)].repeat(3));
        let mut odd = shared(1, &[(1.0, f64::NAN, f64::NAN); 2]);
        odd.seconds = 3.0;
        let runs = vec![
            run("one", 0, vec![epoch(1, 20.0, 0.5), epoch(2, 20.0, 0.4)]),
            run("six", 0, vec![six(1), six(2)]),
            run("fewer", 0, vec![six(1), shared(2, &[(9.0, 1.0, 0.1), (10.0, 0.0, 0.0)])]),
            run("odd", 0, vec![odd]),
            run("waiting", 0, vec![]),
        ];
        let training = Training { runs, notes: Vec::new(), ..training() };
        let expected = expect_test::expect![[r#"
            a small model on `speech`
            model 2 layers of 128, device CPU, 2 threads

                                         epoch   waiting   sequences   padding            validation       character     to target
            strategy  epochs   workers       s         %       per s         %   shapes         loss   error rate, %             s
            one            2         1    20.0         -         524     31.20      420        1.600           40.00          40.0
            six            2         6    4.50       5.6        2329     31.20      420        2.000           50.00   not reached
            fewer          2    2 to 6    7.25       5.4*       1688     31.20      420        2.000           50.00   not reached
            odd            1         2    3.00*        -        3493*    31.20      420        2.000           50.00   not reached
            waiting        0         -       -         -           -         -        -            -               -             -

            * best of its column; results: better than those of the first row beyond chance
            not shown: seeds, by plan %, frames per s, peak MB; a wider terminal or JSON has them

            One seed cannot show whether differences are chance: train with more, such as `--seeds 1,2,3`.

            odd, seed 0: has 1 of 2 epochs; its results are those so far.
            waiting, seed 0: has 0 of 2 epochs.
        "#]];
        expected.assert_eq(&training.table().text(Look::Starred, 120));
        // A single worker in a record does not count as several.
        let alone = shared(1, &[(4.0, 0.0, 0.0)]);
        let training = Training { runs: vec![run("a", 0, vec![alone])], ..training };
        assert!(!training.table().markdown().contains("work"));
    }

    #[test]
    fn names_stay_names() {
        let hostile = "\u{1b}[31mred\n| <b>\u{202e}*x*";
        let mut training = training();
        hostile.clone_into(&mut training.title);
        hostile.clone_into(&mut training.error);
        training.about.push((hostile.to_owned(), hostile.to_owned()));
        training.notes.push(hostile.to_owned());
        for run in &mut training.runs {
            run.name += hostile;
            let validations = run.epochs.iter_mut().filter_map(|epoch| epoch.validation.as_mut());
            validations.for_each(|v| v.more.push((hostile.to_owned(), 1.0)));
        }
        let table = training.table();
        let plain = table.text(Look::Plain, usize::MAX);
        assert!(
            plain.lines().all(|line| !line.chars().any(lengthwise_report::is_unsafe_to_print)),
            "{plain}"
        );
        let markdown = table.markdown();
        assert!(
            markdown.lines().all(|line| !line.chars().any(lengthwise_report::is_unsafe_to_print)),
            "{markdown}"
        );
        // As many cells in every row, and no element.
        let cells = |line: &str| line.replace("\\|", "").matches('|').count();
        let rows: Vec<&str> = markdown.lines().take_while(|line| !line.is_empty()).collect();
        assert_eq!(rows.len(), 4, "{markdown}");
        assert!(rows.iter().all(|row| cells(row) == cells(rows[0])), "{markdown}");
        assert!(!markdown.replace("\\<", "").contains('<'), "{markdown}");
    }

    #[test]
    fn a_narrow_table_says_what_it_leaves_out() {
        for look in [Look::Plain, Look::Starred, Look::Coloured] {
            let table = training().table().text(look, 80);
            let visible = lengthwise_report::parts::table::visible_width;
            assert!(table.lines().all(|line| visible(line) <= 80), "{table}");
            assert!(table.contains("not shown: seeds, "), "{table}");
        }
    }

    #[test]
    fn without_runs_there_is_no_table() {
        let training = Training { runs: Vec::new(), notes: Vec::new(), ..training() };
        let text = training.table().text(Look::Starred, 80);
        assert!(text.ends_with("\n\nthere are no runs\n"), "{text}");
        assert_eq!(training.table().markdown(), "| strategy |\n|---|\n");
    }
}
