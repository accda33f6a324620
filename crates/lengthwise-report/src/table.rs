//! The comparison as a table of text.

use std::fmt::Write as _;

use crate::compare::{Comparison, Row, Settings};
use crate::text::{command_lines, one_line, percent_within, plural, wrapped};
use crate::text_table::{Look, TextColumn, TextTable, stars_of_best};

/// Which end of a column is the good one.
#[derive(Clone, Copy)]
enum Best {
    Low,
    High,
    Neither,
}

struct Column(
    /// Two lines of heading: what it is, and its unit.
    [&'static str; 2],
    /// Columns of the highest number go first where there is no room for all.
    u8,
    Best,
    fn(&Row) -> Option<f64>,
    Show,
);

/// How a value is written.
#[derive(Clone, Copy)]
enum Show {
    Alone(fn(f64) -> String),
    /// A share in percent, with the digits that this error allows.
    Within(fn(&Row) -> Option<f64>),
}

impl Show {
    fn text(self, row: &Row, value: f64) -> String {
        match self {
            Show::Alone(text) => text(value),
            Show::Within(error) => percent_within(value, error(row).unwrap_or_default()),
        }
    }
}

const COLUMNS: [Column; 17] = {
    use Best::{High, Low, Neither};
    use Show::{Alone, Within};
    const PERCENT: Show = Alone(times::<100, 2>);
    const TENTHS: Show = Alone(times::<100, 1>);
    [
        Column(["", "batches"], 0, Low, |row| Some(row.mean.batches), Alone(tenths)),
        Column(["padding", "%"], 0, Low, |row| Some(row.mean.padding_rate), PERCENT),
        Column(["first", "%"], 0, Low, |row| row.mean.first_padding_rate, PERCENT),
        Column(["second", "%"], 0, Low, |row| row.mean.second_padding_rate, PERCENT),
        Column(["sd", "%"], 4, Neither, |row| Some(row.sd.padding_rate), PERCENT),
        Column(
            ["batch", "length"],
            2,
            Neither,
            |row| Some(row.mean.mean_batch_length),
            Alone(times::<1, 1>),
        ),
        Column(["sequential", "steps"], 3, Low, |row| Some(row.mean.steps), Alone(short)),
        Column(["", "shapes"], 0, Low, |row| Some(row.mean.shapes), Alone(tenths)),
        Column(
            ["mixing", "%"],
            0,
            High,
            |row| row.mean.mixing,
            Within(|row| row.mean.mixing_error),
        ),
        Column(
            ["error", "%"],
            6,
            Neither,
            |row| row.mean.mixing_error,
            Within(|row| row.mean.mixing_error),
        ),
        Column(["step", "mix"], 1, Low, |row| Some(row.mean.step_mix), Alone(mix)),
        Column(
            ["lag-1", "corr."],
            5,
            Neither,
            |row| Some(row.mean.lag1_correlation),
            Alone(correlation),
        ),
        Column(
            ["optimizer", "steps"],
            3,
            Neither,
            |row| Some(row.mean.optimizer_steps),
            Alone(tenths),
        ),
        Column(["idle", "%"], 0, Low, |row| Some(row.mean.idle_share), TENTHS),
        Column(["idle", "at least"], 4, Neither, |row| Some(row.mean.idle_bound), TENTHS),
        Column(["epoch", "s"], 0, Low, |row| row.mean.predicted_seconds, Alone(seconds)),
        Column(
            ["plan", "ms"],
            3,
            Neither,
            |row| Some(row.mean.plan_seconds),
            Alone(times::<1000, 2>),
        ),
    ]
};

impl Comparison {
    /// A table with one row for every strategy, at most `width` characters wide if that can be done
    /// by leaving columns out; idle time only where there is more than one rank, the time of an epoch
    /// only where there is a cost model, the padding of each side only where there are two lengths.
    pub fn table(&self, look: Look, width: usize) -> String {
        let columns = COLUMNS.iter().filter(|column| self.has_column(column.0[0]));
        let shown = TextTable {
            corner: "strategy",
            names: self.rows.iter().map(|row| row.label().to_owned()).collect(),
            columns: columns.map(|column| column.shown(&self.rows)).collect(),
            star: "best of its column",
        };
        let mut table: String = self.heading().iter().map(|line| wrapped(line, width)).collect();
        table.push('\n');
        table += &shown.text(look, width);
        if let Some(recommended) = &self.recommended {
            table.push('\n');
            table.extend(recommended.lines().iter().map(|line| wrapped(line, width)));
            table.extend(
                recommended
                    .command
                    .iter()
                    .map(|command| format!("\n{}", command_lines(command, width))),
            );
        }
        table
    }

    /// Two lines: what was planned, and under which settings.
    fn heading(&self) -> [String; 2] {
        let (input, settings) = (&self.input, &self.settings);
        let planned = format!(
            "{}: {} sequence{} of length {} to {}, mean {:.1}",
            one_line(&input.source),
            input.sequences,
            plural(input.sequences),
            input.min,
            input.max,
            input.mean
        );
        let Settings { budget, shapes, arrange, seed, epochs, .. } = settings;
        let mut heading = format!(
            "budget {budget}, shapes {shapes}, arrange {arrange}, seed {seed}, {epochs} epoch{}",
            plural(*epochs as usize)
        );
        if settings.world_size > 1 {
            let (ranks, each) = (settings.world_size, settings.batches_of_a_rank());
            let Settings { steps, tail, time, .. } = settings;
            _ = write!(
                heading,
                ", {ranks} ranks{each} in {steps} steps, tail {tail}, time by {time}"
            );
        }
        if let Some(update) = &settings.update {
            _ = write!(heading, ", update {update}");
        }
        if let Some(model) = &settings.cost_model {
            _ = write!(heading, ", cost model {model}");
        }
        for (name, value) in settings.of_groups() {
            _ = write!(heading, ", {name} {value}");
        }
        if let Some(row) = self.rows.iter().find(|row| row.over_long > 0) {
            _ = write!(heading, ", over-long {}: {}", settings.over_long, row.over_long);
        }
        [planned, heading]
    }
}

impl Column {
    /// The column of these rows.
    fn shown(&self, rows: &[Row]) -> TextColumn {
        let &Self(heading, dispensable, best, value, show) = self;
        let text = |row: &Row| value(row).map(|value| show.text(row, value));
        let cells: Vec<String> =
            rows.iter().map(|row| text(row).unwrap_or_else(|| "-".to_owned())).collect();
        let known = rows.iter().filter_map(|row| Some((value(row)?, row)));
        let best = match best {
            Best::Low => known.min_by(|a, b| a.0.total_cmp(&b.0)),
            Best::High => known.max_by(|a, b| a.0.total_cmp(&b.0)),
            Best::Neither => None,
        };
        // Values that look equal to the best are as good as it.
        let starred = stars_of_best(best.and_then(|(_, row)| text(row)).as_ref(), &cells);
        TextColumn { dispensable, heading: heading.map(str::to_owned), cells, starred }
    }
}

/// So many times a number, as in percent, with so many decimals.
fn times<const TIMES: u16, const DECIMALS: usize>(value: f64) -> String {
    format!("{:.DECIMALS$}", f64::from(TIMES) * value)
}

/// A ratio of variances, with two digits.
fn mix(value: f64) -> String {
    match value {
        ..0.995 => format!("{value:.2}"),
        ..9.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// Adding zero turns a rounded -0.00 into 0.00.
fn correlation(value: f64) -> String {
    format!("{:.2}", (value * 100.0).round() / 100.0 + 0.0)
}

/// A number with one decimal, or none if that is zero.
fn tenths(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

fn seconds(value: f64) -> String {
    match value {
        ..0.001 => format!("{value:.1e}"),
        0.001..1.0 => format!("{value:.4}"),
        1.0..100.0 => format!("{value:.2}"),
        _ => short(value),
    }
}

/// A large number in thousands or millions.
fn short(value: f64) -> String {
    match value {
        ..1e5 => format!("{value:.0}"),
        1e5..1e7 => format!("{:.1}k", value / 1e3),
        _ => format!("{:.1}M", value / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        compare::{Figures, Input},
        text::visible_width,
    };

    fn row(strategy: &str, batches: f64, padding_rate: f64, mixing: Option<[f64; 2]>) -> Row {
        let mean = Figures {
            batches,
            padding_rate,
            mixing: mixing.map(|[mixing, _]| mixing),
            mixing_error: mixing.map(|[_, error]| error),
            steps: 123_456.0,
            ..Figures::default()
        };
        let strategy = strategy.to_owned();
        let sd = Figures::default();
        Row { strategy, recommended: false, mean, shapes_over_epochs: 0, over_long: 0, sd }
    }

    fn comparison(world_size: u32) -> Comparison {
        let rows = vec![
            row("shuffled", 655.0, 0.32, Some([1.0, 0.031])),
            row("sorted", 655.0, 0.001, Some([0.002_843, 0.000_02])),
            row("neighbours", 655.4, 0.004, None),
        ];
        let input = Input {
            source: "example `speech`".to_owned(),
            unit: None,
            sequences: 10_480,
            min: 88,
            mean: 525.2,
            max: 800,
        };
        let text = |text: &str| text.to_owned();
        let settings = Settings {
            budget: text("sequences:16"),
            shapes: text("exact"),
            arrange: text("shuffled"),
            over_long: text("error"),
            seed: 0,
            epochs: 5,
            world_size,
            accumulate: 1,
            update: None,
            steps: "stratified".to_owned(),
            time: "cells".to_owned(),
            tail: "split".to_owned(),
            cost_model: None,
            share: None,
            one_kind: None,
            mix: None,
        };
        Comparison { version: 1, input, settings, recommended: None, rows }
    }

    #[test]
    fn the_best_of_a_column_has_a_star() {
        let expected = expect_test::expect![[r#"
            example `speech`: 10480 sequences of length 88 to 800, mean 525.2
            budget sequences:16, shapes exact, arrange shuffled, seed 0, 5 epochs, 8 ranks in stratified steps, tail split, time by cells

                                  padding     sd    batch   sequential            mixing   error   step   lag-1   optimizer   idle       idle   plan
            strategy    batches         %      %   length        steps   shapes        %       %    mix   corr.       steps      %   at least     ms
            shuffled        655     32.00   0.00      0.0       123.5k        0      100*      3   0.00    0.00           0    0.0        0.0   0.00
            sorted          655      0.10*  0.00      0.0       123.5k        0    0.284   0.002   0.00    0.00           0    0.0        0.0   0.00
            neighbours    655.4      0.40   0.00      0.0       123.5k        0        -       -   0.00    0.00           0    0.0        0.0   0.00

            * best of its column
        "#]];
        expected.assert_eq(&comparison(8).table(Look::Starred, usize::MAX));
    }

    #[test]
    fn a_narrow_table_has_fewer_columns() {
        for look in [Look::Plain, Look::Starred, Look::Coloured] {
            for width in [72, 80, 110] {
                let table = comparison(8).table(look, width);
                let rows = table.lines().skip(3);
                assert!(rows.clone().all(|line| visible_width(line) <= width), "{table}");
                assert!(table.contains("mixing"), "{table}");
                // Nor does it hide that.
                assert!(table.contains("not shown: sd %, ") == (width < 110), "{table}");
            }
        }
    }

    #[test]
    fn a_cost_model_adds_the_time_of_an_epoch() {
        let mut comparison = comparison(1);
        comparison.settings.cost_model = Some("a=0,b=0,c=1,d=0".to_owned());
        for (row, seconds) in comparison.rows.iter_mut().zip([1925.61, 12.345, 0.012_345]) {
            row.mean.predicted_seconds = Some(seconds);
        }
        let expected = expect_test::expect![[r#"
            example `speech`: 10480 sequences of length 88 to 800, mean 525.2
            budget sequences:16, shapes exact, arrange shuffled, seed 0, 5 epochs, cost model a=0,b=0,c=1,d=0

                                  padding     sd    batch   sequential            mixing   error   step   lag-1   optimizer    epoch   plan
            strategy    batches         %      %   length        steps   shapes        %       %    mix   corr.       steps        s     ms
            shuffled        655     32.00   0.00      0.0       123.5k        0      100*      3   0.00    0.00           0     1926   0.00
            sorted          655      0.10*  0.00      0.0       123.5k        0    0.284   0.002   0.00    0.00           0    12.35   0.00
            neighbours    655.4      0.40   0.00      0.0       123.5k        0        -       -   0.00    0.00           0   0.0123*  0.00

            * best of its column
        "#]];
        expected.assert_eq(&comparison.table(Look::Starred, usize::MAX));
    }

    #[test]
    fn colour_adds_nothing_but_colour() {
        let coloured = comparison(1).table(Look::Coloured, 80);
        assert!(coloured.contains("\x1b[1;32m   0.10*\x1b[0m"), "{coloured}");
        let mut plain = coloured;
        for code in ["\x1b[1;32m", "\x1b[1m", "\x1b[0m"] {
            plain = plain.replace(code, "");
        }
        assert_eq!(plain, comparison(1).table(Look::Starred, 80));
    }
}
