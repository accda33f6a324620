//! What is printed and said of a plan.

use std::io::{self, Write};

use lengthwise::{Measures, OverLong, Provenance};

use crate::input::Sequences;
use crate::printer;

pub(super) fn write_lines<'a>(
    batches: impl Iterator<Item = &'a [u32]>,
    output: &mut impl Write,
) -> io::Result<()> {
    for batch in batches {
        let mut separator = "";
        for sequence in batch {
            write!(output, "{separator}{sequence}")?;
            separator = " ";
        }
        writeln!(output)?;
    }
    Ok(())
}

/// Says what a plan is like, which column was taken if none was named, and what is over-long.
pub(super) fn say_plan(
    measures: &Measures,
    made: &Provenance,
    digest: u64,
    over_long: &[u32],
    input: &Sequences,
) {
    let sides = measures.sides.map_or_else(String::new, |[first, second]| {
        let [first, second] = [first, second].map(|side| 100.0 * side.padding_rate);
        format!(" ({first:.2} % of the first, {second:.2} % of the second)")
    });
    printer::say(&format!(
        "{} {} in {} {} ({}, shapes {}), {:.2} % padding{sides}, digest {digest:016x}",
        measures.sequences,
        match (input.chunks.is_some(), measures.sequences == 1) {
            (false, false) => "sequences",
            (false, true) => "sequence",
            (true, false) => "pieces of sequences",
            (true, true) => "piece of a sequence",
        },
        measures.batches,
        if measures.batches == 1 { "batch" } else { "batches" },
        made.strategy,
        made.shapes,
        100.0 * measures.padding_rate,
    ));
    if let Some(name) = input.chosen.as_deref().map(printer::safe) {
        printer::say(&format!("lengths are those of `{name}`; `--column` chooses others"));
    }
    let done = match made.over_long {
        OverLong::Drop => "left out",
        OverLong::Truncate => "to be truncated",
        _ => "alone in a batch over the budget",
    };
    say_some(over_long, &format!("over-long, {done}"));
}

/// Says how many sequences met with what, and which, if there are any.
pub(super) fn say_some(sequences: &[u32], what: &str) {
    if sequences.is_empty() {
        return;
    }
    let few = printer::few(sequences);
    let all = if few.ends_with('…') { " (all of them in the JSON)" } else { "" };
    printer::say(&format!("{} {what}: {few}{all}", sequences.len()));
}
