//! `lengthwise plan`

mod bounded;
mod part;
mod shard;

use std::io::{self, BufWriter, Stdout, Write};

use lengthwise::{
    Arrange, Budget, CostModel, Lengths, Made, Measures, OverLong, Plan, Planner, Shapes, Steps,
    Strategy, Tail, Workspace, recommended_in,
};
use lengthwise_io::{Form, PlanFile, Written, save, to_json};

use crate::{args, cost_model, failure::Failure, input::Sequences, interrupt, memory, printer};

pub(crate) fn run(args: &args::Plan) -> Result<(), Failure> {
    let form = match &args.output {
        Some(path) => Some(Form::of_path(path)?),
        None => args.json.then_some(Form::Json),
    };
    if form.is_none() && args.input.chunk.is_some() {
        return Err(Failure::new(
            "lines of indices cannot say where pieces are from",
            "print the plan with `--json`, or write it to a file with `-o`",
        ));
    }
    let settings = Settings::read(args)?;
    if let Some(bound) = args.memory {
        return bounded::run(args, form, settings, bound);
    }
    if args.shards.statistics.is_some() && args.input.source.second.is_some() {
        return Err(Failure::new(
            "statistics are of one length, and sequences of two have no shards",
            "leave out `--second`, or `--statistics`",
        ));
    }
    let begin = part::begin(&args.part)?;
    let corpus = shard::Corpus::read(&args.shards)?;
    let input = args.input.read(memory::PLAN)?;
    let lengths = corpus.of(input.lengths()).map_err(|error| input.named(error))?;
    let planner = settings.planner(args, &lengths, &input, &Workspace::new())?;
    let planner = corpus.planner(planner);
    if let Some(path) = &args.shards.needs {
        let needs = planner.needs(&lengths).map_err(|error| input.named(error))?;
        return shard::save_needs(path, &needs);
    }
    let whole = planner.plan(&lengths, args.epoch).map_err(|error| input.named(error))?;
    let part = part::take(args, &whole, begin, &lengths)
        .map_err(|error| part::refused(&args.part, error))?;
    let plan = part.as_ref().map_or(&whole, |part| &part.plan);

    let mut file = PlanFile::new(plan.clone(), input.lengths());
    file.chunks.clone_from(&input.chunks);
    file.ranks = part.as_ref().map(|part| part.ranks.clone());
    if input.ids.is_some() {
        file = file.ids(|index| input.id(index).unwrap_or_default());
    }
    for path in [&args.output, &args.part.cursor].into_iter().flatten() {
        interrupt::writing(path);
    }
    // Both are written before one of them appears.
    let cursor = match (&args.part.cursor, &part) {
        (Some(path), Some(part)) => {
            Some(Written::new(path, |output| writeln!(output, "{}", to_json(&part.end)))?)
        }
        _ => None,
    };
    match (&args.output, form) {
        (Some(path), Some(form)) => save(path, |output| file.write(form, output))?,
        (_, Some(form)) => print(|output| file.write(form, output))?,
        (_, None) => print(|output| write_lines(plan.iter(), output))?,
    }
    cursor.map_or(Ok(()), Written::keep)?;
    say(plan, &input);
    if let Some(part) = &part {
        part.say();
    }
    Ok(())
}

/// The settings that were typed as text.
struct Settings {
    strategy: Option<Strategy>,
    shapes: Option<Shapes>,
    budget: Budget,
    arrange: Arrange,
    over_long: OverLong,
    steps: Option<Steps>,
    tail: Tail,
    cost_model: Option<CostModel>,
}

impl Settings {
    fn read(args: &args::Plan) -> Result<Self, Failure> {
        let strategy: Option<Strategy> = args.strategy.as_deref().map(str::parse).transpose()?;
        let budget = match (&args.budget, strategy.as_ref().and_then(Strategy::own_budget)) {
            (Some(given), _) => cost_model::budget(given)?,
            (None, Some(own)) => own,
            (None, None) => {
                return Err(Failure::new(
                    "there is no budget, and batches have no other size".to_owned(),
                    "give one, as in `--budget padded:20000`",
                ));
            }
        };
        Ok(Self {
            strategy,
            shapes: args.shapes.as_deref().map(str::parse).transpose()?,
            budget,
            arrange: args.settings.arrange.parse()?,
            over_long: args.settings.over_long.parse()?,
            steps: args.ranks.steps.as_deref().map(str::parse).transpose()?,
            tail: args.ranks.tail.parse()?,
            cost_model: args.part.cost_model.as_deref().map(cost_model::named).transpose()?,
        })
    }

    fn planner(
        self,
        args: &args::Plan,
        lengths: &Lengths,
        input: &Sequences,
        workspace: &Workspace,
    ) -> Result<Planner<Strategy>, Failure> {
        let Self { budget, strategy, shapes, .. } = self;
        let (strategy, shapes) = recommended_in(workspace, lengths, budget, strategy, shapes)
            .map_err(|error| input.named(error))?;
        let mut planner = Planner::new(strategy, budget)
            .shapes(shapes)
            .arrange(self.arrange)
            .over_long(self.over_long)
            .tail(self.tail)
            .accumulate(args.ranks.accumulate)
            .seed(args.settings.seed);
        if let Some(ranks) = args.part.canonical_ranks {
            planner = planner.canonical_ranks(ranks);
        }
        if let Some(steps) = self.steps {
            planner = planner.steps(steps);
        }
        if let Some(model) = self.cost_model {
            planner = planner.cost_model(model);
        }
        // Shards always have as many.
        if args.part.constant_steps && args.shards.shard.is_none() {
            return planner.constant_steps(lengths).map_err(|error| input.named(error));
        }
        Ok(planner)
    }
}

fn print(write: impl FnOnce(&mut BufWriter<Stdout>) -> io::Result<()>) -> Result<(), Failure> {
    let mut output = printer::output();
    write(&mut output)?;
    output.flush()?;
    Ok(())
}

/// The indices of a batch on a line.
fn write_lines<'a>(
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

fn say(plan: &Plan, input: &Sequences) {
    let what = if input.chunks.is_some() { "pieces of sequences" } else { "sequences" };
    say_measures(&plan.measure(input.lengths()), what, plan.made(), plan.digest());
    say_chosen(input);
    say_over_long(plan.over_long());
    if let Some(shard) = plan.made().shard {
        shard::say(shard, plan);
    }
}

fn say_measures(measures: &Measures, what: &str, made: &Made, digest: u64) {
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
fn say_chosen(input: &Sequences) {
    if let Some(name) = &input.chosen {
        let name = printer::safe(name);
        printer::say(&format!("lengths are those of `{name}`; `--column` chooses others"));
    }
}

fn say_over_long((treatment, sequences): (OverLong, &[u32])) {
    let done = match treatment {
        OverLong::Drop => "left out",
        OverLong::Truncate => "to be truncated",
        _ => "alone in a batch over the budget",
    };
    say_some(sequences, &format!("over-long, {done}"));
}

/// Says how many sequences met with what, and which, if there are any.
fn say_some(sequences: &[u32], what: &str) {
    if sequences.is_empty() {
        return;
    }
    let few = printer::few(sequences);
    let all = if few.ends_with('…') { " (all of them in the JSON)" } else { "" };
    printer::say(&format!("{} {what}: {few}{all}", sequences.len()));
}
