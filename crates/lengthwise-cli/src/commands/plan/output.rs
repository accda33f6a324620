//! What is printed and said of a plan.

use std::io::{self, Write};

use lengthwise::{Measures, OverLong, Provenance};

use crate::{input::Sequences, printer};

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

pub(super) fn say_measures(measures: &Measures, what: &str, made: &Provenance, digest: u64) {
    let sides = measures.sides.map_or_else(String::new, |[first, second]| {
        let [first, second] = [first, second].map(|side| 100.0 * side.padding_rate);
        format!(" ({first:.2} % of the first, {second:.2} % of the second)")
    });
    printer::say(&format!(
        "{} {what} in {} batches ({}, shapes {}), {:.2} % padding{sides}, digest {digest:016x}",
        measures.sequences,
        measures.batches,
        made.strategy,
        made.shapes,
        100.0 * measures.padding_rate,
    ));
}

/// Says which column was taken where nobody named one.
pub(super) fn say_chosen(input: &Sequences) {
    if let Some(name) = &input.chosen {
        let name = printer::safe(name);
        printer::say(&format!("lengths are those of `{name}`; `--column` chooses others"));
    }
}

pub(super) fn say_over_long((treatment, sequences): (OverLong, &[u32])) {
    let done = match treatment {
        OverLong::Drop => "left out",
        OverLong::Truncate => "to be truncated",
        _ => "alone in a batch over the budget",
    };
    say_some(sequences, &format!("over-long, {done}"));
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
