//! `lengthwise plan`

use std::{
    io::{self, Write},
    path::Path,
};

use lengthwise::{
    Blurred, Chunks, OverLong, Planner, Shapes, Shuffled, Strategy, recommended_shapes,
};
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
    /// Over-long sequences in batches of their own, which exceed the budget.
    #[serde(skip_serializing_if = "<[u32]>::is_empty")]
    alone: &'a [u32],
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

/// A line of JSON lines. Of pieces it names the sequences they are from, and where they begin.
#[derive(Serialize)]
#[expect(clippy::struct_field_names, reason = "the names of the JSON")]
struct Batch {
    sequences: Vec<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    offsets: Option<Vec<u32>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lengths: Option<Vec<u32>>,
    batch_length: u32,
}

/// The last line of JSON lines, where sequences exceed the budget alone.
#[derive(Serialize)]
struct OverLongs<'a> {
    over_long: String,
    sequences: &'a [u32],
}

pub(crate) fn run(args: &Plan) -> Result<(), Failure> {
    let strategy = args.strategy.as_deref().map(str::parse::<Strategy>).transpose()?;
    let shapes = args.shapes.as_deref().map(str::parse::<Shapes>).transpose()?;
    let budget = cost_model::budget(&args.budget)?;
    let arrange = args.settings.arrange.parse()?;
    let over_long = args.settings.over_long.parse()?;
    let form = match &args.output {
        Some(path) => form_of(path)?,
        None if args.json => Form::Json,
        None => Form::Lines,
    };
    if let (Form::Lines, Some(_)) = (form, args.input.chunk) {
        return Err(Failure::new(
            "lines of indices cannot say where pieces are from",
            "print the plan with `--json`, or write it to a file with `-o`",
        ));
    }
    let input = args.input.read()?;
    // Where nothing is said: the recommended shapes, and on a ladder random order. Where shapes are
    // free, `blurred` pads least for the company it gives.
    let shapes = match (shapes, &strategy) {
        (Some(shapes), _) => shapes,
        (None, Some(_)) => Shapes::Exact,
        (None, None) => recommended_shapes(input.lengths(), budget)?,
    };
    let strategy = strategy.unwrap_or_else(|| match shapes {
        Shapes::Ladder(_) | Shapes::Rungs(_) => Shuffled.into(),
        _ => Blurred::default().into(),
    });
    let planner = Planner::new(strategy, budget)
        .shapes(shapes)
        .arrange(arrange)
        .over_long(over_long)
        .seed(args.settings.seed);
    let plan = planner.plan(input.lengths(), args.epoch)?;
    match &args.output {
        None => {
            let mut output = printer::output();
            write(&plan, input.chunks.as_ref(), form, &mut output)?;
            output.flush()?;
        }
        Some(path) if same_file(path, args.input.path.as_deref()) => {
            return Err(Failure::new(
                format!("{}: is the input", path.display()),
                "write the plan to another file",
            ));
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
    let (treatment, sequences) = plan.over_long();
    if !sequences.is_empty() {
        let first: Vec<String> = sequences.iter().take(10).map(u32::to_string).collect();
        let done = match treatment {
            OverLong::Drop => "left out",
            OverLong::Truncate => "to be truncated",
            _ => "alone in a batch over the budget",
        };
        let more =
            if sequences.len() > first.len() { ", … (all of them in the JSON)" } else { "" };
        printer::say(&format!("{} over-long, {done}: {}{more}", sequences.len(), first.join(", ")));
    }
    Ok(())
}

fn form_of(path: &Path) -> Result<Form, Failure> {
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
    match extension.as_deref() {
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
                alone: match plan.over_long() {
                    (OverLong::Alone, sequences) => sequences,
                    _ => &[],
                },
                chunks: chunks.map(Pieces::new),
            };
            serde_json::to_writer(&mut *output, &document)?;
            writeln!(output)
        }
        Form::JsonLines => {
            for (batch, &batch_length) in plan.iter().zip(plan.batch_lengths()) {
                serde_json::to_writer(&mut *output, &Batch::new(batch, batch_length, chunks))?;
                writeln!(output)?;
            }
            let (treatment, sequences) = plan.over_long();
            if !sequences.is_empty() {
                let over_long = treatment.to_string();
                serde_json::to_writer(&mut *output, &OverLongs { over_long, sequences })?;
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

impl Batch {
    fn new(batch: &[u32], batch_length: u32, chunks: Option<&Chunks>) -> Self {
        let Some(chunks) = chunks else {
            return Self { sequences: batch.to_vec(), offsets: None, lengths: None, batch_length };
        };
        let pieces = batch.iter().filter_map(|&piece| chunks.get(piece));
        Self {
            sequences: pieces.clone().map(|piece| piece.sequence).collect(),
            offsets: Some(pieces.clone().map(|piece| piece.offset).collect()),
            lengths: Some(pieces.map(|piece| piece.length).collect()),
            batch_length,
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

fn same_file(path: &Path, input: Option<&Path>) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    input.is_some_and(|input| real(input).is_some() && real(input) == real(path))
}
