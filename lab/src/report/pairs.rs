//! Rows that are set against each other, such as with and without something.

use super::{
    records::Training,
    row::Row,
    student::{differ, mean},
};
use lengthwise_report::parts::text::one_line;

impl Training {
    /// A sentence for each pair: how the time of an epoch and the validation loss change from one to the
    /// other. Pairs of rows that are not there have none.
    pub(super) fn set_against(&self, rows: &[Row<'_>]) -> Vec<String> {
        let row = |name: &str| rows.iter().find(|row| row.name == name);
        self.pairs
            .iter()
            .filter_map(|(from, to)| Some((row(from)?, row(to)?)))
            .filter_map(|(from, to)| sentence(from, to))
            .collect()
    }
}

fn sentence(from: &Row<'_>, to: &Row<'_>) -> Option<String> {
    let seconds = change(from.seconds()?, to.seconds()?)?;
    let loss = |row: &Row<'_>| row.outcome(|v| Some(v.loss)).values().to_vec();
    let (before, after) = (loss(from), loss(to));
    let losses = mean(&before).zip(mean(&after)).and_then(|(before, after)| change(before, after));
    let unsure = if before.len() < 2 || after.len() < 2 || differ(&before, &after, 1) {
        ""
    } else {
        " (within chance)"
    };
    let losses =
        losses.map_or_else(String::new, |losses| format!(", validation loss {losses}{unsure}"));
    Some(format!(
        "From {} to {}: time of an epoch {seconds}{losses}.",
        one_line(from.name),
        one_line(to.name)
    ))
}

/// How much more or less it is, in percent.
fn change(before: f64, after: f64) -> Option<String> {
    let change = 100.0 * (after / before - 1.0);
    // A minus that is as wide as a plus.
    change.is_finite().then(|| format!("{change:+.1} %").replace('-', "\u{2212}"))
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;

    #[test]
    fn pairs_are_set_against_each_other() {
        let mut training = training();
        let names: Vec<String> = training.runs.iter().map(|run| run.name.clone()).collect();
        let other = names.iter().find(|name| **name != names[0]).unwrap().clone();
        training.pairs =
            vec![(names[0].clone(), other.clone()), (other.clone(), "nobody".to_owned())];
        let sentences = training.set_against(&training.rows());
        assert_eq!(sentences.len(), 1);
        let begin = format!("From {} to {other}: time of an epoch ", names[0]);
        assert!(sentences[0].starts_with(&begin), "{}", sentences[0]);
        assert!(training.table().markdown().contains(&sentences[0]));
    }
}
