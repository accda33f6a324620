//! The one sentence that sums a comparison up.

use crate::advice::Recommended;
use crate::compare::{Comparison, Row};
use crate::text::percent;

/// What random batching costs, and what is recommended instead.
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
    let random = rows.iter().find(|row| row.strategy == "shuffled" && !row.recommended);
    let spent = random.map_or_else(String::new, |random| {
        format!(
            "Random batches spend {} of their cells on padding. ",
            percent(random.mean.padding_rate)
        )
    });
    let Some(recommended) = &comparison.recommended else {
        return format!(
            "{spent}{} spends least: {}.",
            best.label(),
            percent(best.mean.padding_rate)
        );
    };
    let accumulated = match recommended.micro_batches {
        1 => String::new(),
        count => format!(", {count} micro-batches per update"),
    };
    let Recommended { strategy, shapes, reason, .. } = recommended;
    format!("{spent}Recommended: {strategy}, shapes {shapes}{accumulated}: {reason}.")
}

/// The least padding of all rows.
fn best(comparison: &Comparison) -> Option<&Row> {
    let least = |a: &&Row, b: &&Row| a.mean.padding_rate.total_cmp(&b.mean.padding_rate);
    comparison.rows.iter().min_by(least)
}
