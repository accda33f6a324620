//! `lengthwise plan`

use std::{
    io::{self, Write},
    path::Path,
};

use lengthwise::{Chunks, Planner, Strategy};
use serde::Serialize;

use crate::{args::Plan, cost_model, failure::Failure, printer, save::save};

/// In which form a plan is written.
#[derive(Clone, Copy)]
enum Form {
    /// One object.
    Json,
    /// One object a batch.
    JsonLines,
    /// The indices of a batch on a line.
    Lines,
}

#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    digest: String,
    batches: Vec<&'a [u32]>,
    batch_lengths: &'a [u32],
    #[serde(skip_serializing_if = "<[u32]>::is_empty")]
    left_out: &'a [u32],
    #[serde(skip_serializing_if = "<[u32]>::is_empty")]
    truncated: &'a [u32],
    #[serde(skip_serializing_if = "Option::is_none")]
    chunks: Option<Pieces>,
}

/// Where the pieces are from that the batches name by index.
#[derive(Serialize)]
struct Pieces {
    sequences: Vec<u32>,
    offsets: Vec<u32>,
    lengths: Vec<u32>,
}

#[derive(Serialize)]
struct Batch<'a> {
    sequences: &'a [u32],
    batch_length: u32,
}

pub(crate) fn run(args: &Plan) -> Result<(), Failure> {
    let planner =
        Planner::new(args.strategy.parse::<Strategy>()?, cost_model::budget(&args.budget)?)
            .shapes(args.settings.shapes.parse()?)
            .arrange(args.settings.arrange.parse()?)
            .over_long(args.settings.over_long.parse()?)
            .seed(args.settings.seed);
    let form = match &args.output {
        Some(path) => form_of(path)?,
        None if args.json => Form::Json,
        None => Form::Lines,
    };
    let input = args.input.read()?;
    let plan = planner.plan(input.lengths(), args.epoch)?;
    match &args.output {
        None => {
            let mut output = printer::output();
            write(&plan, input.chunks.as_ref(), form, &mut output)?;
            output.flush()?;
        }
        Some(path) => save(path, |file| write(&plan, input.chunks.as_ref(), form, file))?,
    }
    let measures = plan.measure(input.lengths());
    let what = if input.chunks.is_some() { "pieces of sequences" } else { "sequences" };
    printer::say(&format!(
        "{} {what} in {} batches, {:.2} % padding, digest {:016x}",
        measures.sequences,
        measures.batches,
        100.0 * measures.padding_rate,
        plan.digest()
    ));
    for (what, list) in [("left out", plan.left_out()), ("truncated", plan.truncated())] {
        if let Some(first) = list.first() {
            printer::say(&format!("{} over-long sequences {what}, first {first}", list.len()));
        }
    }
    Ok(())
}

fn form_of(path: &Path) -> Result<Form, Failure> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("json") => Ok(Form::Json),
        Some("jsonl") => Ok(Form::JsonLines),
        _ => Err(Failure::new(
            format!("{}: unknown format of a plan", path.display()),
            "name the file .json or .jsonl",
        )),
    }
}

fn write(
    plan: &lengthwise::Plan,
    chunks: Option<&Chunks>,
    form: Form,
    output: &mut impl Write,
) -> io::Result<()> {
    match form {
        Form::Json => {
            let document = Document {
                version: 1,
                digest: format!("{:016x}", plan.digest()),
                batches: plan.iter().collect(),
                batch_lengths: plan.batch_lengths(),
                left_out: plan.left_out(),
                truncated: plan.truncated(),
                chunks: chunks.map(Pieces::new),
            };
            serde_json::to_writer(&mut *output, &document)?;
            writeln!(output)
        }
        Form::JsonLines => {
            for (sequences, &batch_length) in plan.iter().zip(plan.batch_lengths()) {
                serde_json::to_writer(&mut *output, &Batch { sequences, batch_length })?;
                writeln!(output)?;
            }
            Ok(())
        }
        Form::Lines => {
            for batch in plan {
                let mut separator = "";
                for sequence in batch {
                    write!(output, "{separator}{sequence}")?;
                    separator = " ";
                }
                writeln!(output)?;
            }
            Ok(())
        }
    }
}

impl Pieces {
    fn new(chunks: &Chunks) -> Self {
        let pieces = (0..chunks.len() as u32).filter_map(|piece| chunks.get(piece));
        Self {
            sequences: pieces.clone().map(|piece| piece.sequence).collect(),
            offsets: pieces.map(|piece| piece.offset).collect(),
            lengths: chunks.lengths().as_slice().to_vec(),
        }
    }
}
