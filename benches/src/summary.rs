//! One line per strategy and number of sequences, over the three sets of lengths.

use crate::{
    plans::{Row, Setting},
    stats::{Spread, grouped, line, short},
};

/// The summary, in Markdown.
pub(crate) fn table(rows: &[Row]) -> String {
    let mut text = "## Summary\n\n\
        | sequences | strategy | plan/sort, 16 sequences | padded | padded, ladder | \
        ns/seq, 16 sequences | padded | padded, ladder | peak B/seq | plan B/seq |\n\
        |--:|---|--:|--:|--:|--:|--:|--:|--:|--:|\n"
        .to_owned();
    for group in grouped_rows(rows) {
        let under = |setting: Setting| group.iter().filter(move |row| row.setting == setting);
        let ratio = |setting| {
            let median = Spread::of(under(setting).map(|row| row.ratio.median)).median;
            let min = Spread::of(under(setting).map(|row| row.ratio.min)).min;
            let max = Spread::of(under(setting).map(|row| row.ratio.max)).max;
            format!("{} ({}–{})", short(median), short(min), short(max))
        };
        let best = |setting| short(Spread::of(under(setting).map(|row| row.best)).median);
        let highest =
            |value: fn(&Row) -> f64| short(Spread::of(group.iter().map(|row| value(row))).max);
        let mut cells = vec![grouped(u64::from(group[0].sequences)), group[0].strategy.clone()];
        cells.extend(Setting::ALL.map(ratio));
        cells.extend(Setting::ALL.map(best));
        cells.extend([highest(|row| row.peak), highest(|row| row.plan)]);
        text += &line(&cells);
    }
    text + "\n"
}

/// The rows with the same number of sequences and the same strategy, together.
fn grouped_rows(rows: &[Row]) -> Vec<Vec<&Row>> {
    let mut groups: Vec<Vec<&Row>> = Vec::new();
    for row in rows {
        let key = |row: &Row| (row.sequences, row.strategy.clone());
        match groups.iter_mut().find(|group| key(group[0]) == key(row)) {
            Some(group) => group.push(row),
            None => groups.push(vec![row]),
        }
    }
    groups
}
