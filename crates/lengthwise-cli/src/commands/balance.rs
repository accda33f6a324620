//! `lengthwise balance`

use std::{fmt::Write as _, io::Write as _};

use lengthwise::balance::{Balance, Step, balance};
use lengthwise::groups::Together;
use lengthwise_io::save;
use lengthwise_report::{noun, one_line, wrapped};
use serde::Serialize;

use crate::args::planning::{self, Share};
use crate::failure::Failure;
use crate::input::Sequences;
use crate::{cost_model, memory, printer, signals};

#[derive(Serialize)]
struct Answer<'a> {
    version: u32,
    /// For each rank its micro-batches, for each of these its sequences.
    ranks: Vec<Vec<&'a [u32]>>,
    micro_batches: u32,
    idle_share: f64,
    time: f64,
    lower_bound: f64,
    loads: &'a [f64],
    order: &'a [u32],
    restore: Vec<u32>,
    /// How ranks share sequences, if they may.
    #[serde(flatten)]
    split: Option<Split>,
}

/// For each rank, for each of its micro-batches.
#[derive(Serialize)]
struct Split {
    degrees: Vec<Vec<u32>>,
    starts: Vec<Vec<f64>>,
}

pub(crate) fn run(args: &planning::Balance) -> Result<(), Failure> {
    if let Some(path) = &args.output
        && path.extension().is_none_or(|extension| extension != "json")
    {
        let what = format!("{}: unknown format of a step", path.display());
        return Err(Failure::new(what, "name the file .json"));
    }
    let mut wanted = Balance::new(args.world_size).min_micro_batches(args.min_micro_batches);
    if let Some(capacity) = args.capacity {
        wanted = wanted.capacity(capacity);
    }
    if let Some(model) = &args.cost_model {
        wanted = wanted.cost(cost_model::named(model)?);
    }
    if let Some(most) = args.max_micro_batches {
        wanted = wanted.max_micro_batches(most);
    }
    if !args.speeds.is_empty() {
        wanted = wanted.speeds(args.speeds.clone());
    }
    if !args.split.is_empty() {
        wanted = wanted.split(args.split.clone());
    }
    if let Some(cost) = args.communication {
        wanted = wanted.communication(cost);
    }
    let input = args.input.read_or_default(memory::BALANCE)?.of_one_length("balance")?;
    if let Some(groups) = &input.groups.together {
        let share = match args.share {
            Share::Batch => Together::Batch,
            Share::Rank => Together::Rank,
        };
        wanted = wanted.together(groups.of.clone(), share);
    }
    if let Some(kinds) = &input.groups.kinds {
        wanted = wanted.kinds(kinds.of().to_vec());
    }
    let lengths = input.lengths().as_slice();
    let step = balance(lengths, &wanted).map_err(|error| input.named(error))?;
    let json = || answer(&step, !args.split.is_empty());
    if let Some(path) = &args.output {
        signals::writing(path);
        let text = serde_json::to_string(&json())
            .map_err(|error| Failure::new(error.to_string(), "report this"))?;
        save(path, |file| writeln!(file, "{text}"))?;
    }
    if args.json {
        printer::print_json(&json())
    } else {
        printer::print(&readable(&step, args, &input))
    }
}

fn answer(step: &Step, is_split: bool) -> Answer<'_> {
    let numbers = 0..step.micro_batches();
    let of_rank = |rank| numbers.clone().map(|at| step.micro_batch(rank, at)).collect();
    let degrees = |rank| numbers.clone().map(|at| step.degree(rank, at)).collect();
    let starts = |rank| numbers.clone().map(|at| step.span(rank, at).start).collect();
    Answer {
        version: 1,
        ranks: (0..step.ranks()).map(of_rank).collect(),
        micro_batches: step.micro_batches(),
        idle_share: step.idle_share(),
        time: step.time(),
        lower_bound: step.lower_bound(),
        loads: step.loads(),
        order: step.order(),
        restore: step.restore(),
        split: is_split.then(|| Split {
            degrees: (0..step.ranks()).map(degrees).collect(),
            starts: (0..step.ranks()).map(starts).collect(),
        }),
    }
}

fn readable(step: &Step, args: &planning::Balance, input: &Sequences) -> String {
    let lengths = input.lengths();
    let (ranks, each) = (u64::from(step.ranks()), u64::from(step.micro_batches()));
    let mut divided = format!(
        "{ranks} {}, {each} {} each",
        noun(ranks, "rank", "ranks"),
        noun(each, "micro-batch", "micro-batches")
    );
    if let Some(capacity) = args.capacity {
        _ = write!(divided, " of at most {capacity} positions");
    }
    let (slowest, bound) = (step.time(), step.lower_bound());
    let over = if bound > 0.0 { 100.0 * (slowest / bound - 1.0) } else { 0.0 };
    let mut lines = vec![
        format!(
            "{}: {} {}, {} positions in all",
            one_line(&input.source),
            lengths.len(),
            noun(lengths.len() as u64, "sequence", "sequences"),
            lengths.total()
        ),
        divided,
        format!(
            "the slowest rank takes {over:.2} % longer than any division must; ranks wait {:.2} % of the time",
            100.0 * step.idle_share()
        ),
        "`--json` prints the sequences of every micro-batch".to_owned(),
    ];
    if !args.split.is_empty() {
        lines.insert(2, shared(step));
    }
    lines.iter().map(|line| wrapped(line, printer::width())).collect()
}

/// How many sequences are split over how many ranks.
fn shared(step: &Step) -> String {
    let mut counts = step.sequences_by_degree();
    counts.retain(|&degree, count| degree > 1 && *count > 0);
    if counts.is_empty() {
        return "no sequence is split".to_owned();
    }
    let split = counts.iter().rev().map(|(degree, &count)| {
        format!("{count} {} over {degree} ranks", noun(u64::from(count), "sequence", "sequences"))
    });
    format!("split: {}", split.collect::<Vec<_>>().join(", "))
}
