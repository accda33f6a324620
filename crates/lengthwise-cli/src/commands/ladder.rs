//! `lengthwise ladder`

use std::fmt::Write as _;

use lengthwise::{ladder, measure::ladder_padding_rate};
use serde::Serialize;

use crate::args::comparing::Ladder;
use crate::failure::Failure;
use crate::{memory, printer};

#[derive(Serialize)]
struct Answer {
    version: u32,
    rungs: Vec<u32>,
    /// How many sequences are padded to each rung.
    sequences: Vec<u32>,
    padding_rate: f64,
}

pub(crate) fn run(args: &Ladder) -> Result<(), Failure> {
    let input = args.input.read_or_default(memory::LADDER)?.of_one_length("ladder")?;
    let input = input.without_groups("ladder")?;
    let lengths = input.lengths();
    let rungs = ladder(lengths, args.rungs);
    let mut sequences = vec![0; rungs.len()];
    for &(length, count) in lengths.histogram() {
        sequences[rungs.partition_point(|&rung| rung < length)] += count;
    }
    let padding_rate = ladder_padding_rate(lengths, &rungs);
    let answer = Answer { version: 1, rungs, sequences, padding_rate };
    if args.json {
        return printer::print_json(&answer);
    }
    let mut text = String::from("      rung   sequences\n");
    for (rung, count) in answer.rungs.iter().zip(&answer.sequences) {
        _ = writeln!(text, "{rung:>10}  {count:>10}");
    }
    _ = writeln!(text, "\npadding {:.2} %", 100.0 * answer.padding_rate);
    printer::print(&text)
}
