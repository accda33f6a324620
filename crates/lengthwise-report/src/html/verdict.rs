//! The one sentence that sums a comparison up.

use crate::compare::{Comparison, Row};
use crate::text::{mixing, percent};

/// What random batching costs, and which strategy does better and still mixes.
pub(super) fn verdict(comparison: &Comparison) -> String {
    let rows = &comparison.rows;
    let Some(best) = best(comparison) else { return "Nothing was compared.".to_owned() };
    let input = &comparison.input;
    if input.sequences == 1 {
        return "There is one sequence only: it has no batch-mates, and there is nothing to compare."
            .to_owned();
    }
    if input.min == input.max && rows.iter().all(|row| row.mean.padding_rate == 0.0) {
        return format!(
            "All sequences have length {}: nothing is padded, and random batches are as good as any.",
            input.max
        );
    }
    let random = rows.iter().find(|row| row.strategy == "shuffled");
    let Some(random) = random.filter(|random| random.strategy != best.strategy) else {
        return format!("{}.", spends(best, " of its cells on padding"));
    };
    let time = match (random.mean.predicted_seconds, best.mean.predicted_seconds) {
        (Some(slow), Some(fast)) if fast < slow => {
            format!(", and an epoch takes {} less time", percent(1.0 - fast / slow))
        }
        _ => String::new(),
    };
    format!(
        "Random batches spend {} of their cells on padding; {}{time}.",
        percent(random.mean.padding_rate),
        spends(best, "")
    )
}

/// The least padding, or time, among strategies that mix; among all if none does.
fn best(comparison: &Comparison) -> Option<&Row> {
    let cost = |row: &Row| row.mean.predicted_seconds.unwrap_or(row.mean.padding_rate);
    let least = |a: &&Row, b: &&Row| cost(a).total_cmp(&cost(b));
    let mixes = |row: &&Row| row.mean.mixing.is_some_and(|mixing| mixing >= 0.05);
    let rows = comparison.rows.iter();
    rows.clone().filter(mixes).min_by(least).or_else(|| rows.min_by(least))
}

fn spends(row: &Row, of_what: &str) -> String {
    let mixed = row.mean.mixing.zip(row.mean.mixing_error);
    let mixed = mixed.map_or_else(String::new, |(share, error)| {
        format!(", with {} of the mixing of random shuffling", mixing(share, error))
    });
    format!("{} spends {}{of_what}{mixed}", row.strategy, percent(row.mean.padding_rate))
}
