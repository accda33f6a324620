//! `lengthwise plan`

mod part;

use std::{
    io::{self, BufWriter, Stdout, Write},
    path::Path,
};

use lengthwise::{
    Arrange, Budget, CostModel, OverLong, Plan, Planner, Shapes, Steps, Strategy, Tail, recommended,
};
use lengthwise_files::{Form, PlanFile, Written, model_file_of_budget, save, to_json};

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
    spare_what_is_read(args)?;
    let settings = Settings::read(args)?;
    let begin = part::begin(&args.part)?;
    let input = args.input.read(memory::PLAN)?;
    let planner = settings.planner(args, &input)?;
    let whole = planner.plan(input.lengths(), args.epoch).map_err(|error| input.named(error))?;
    let part = part::take(args, &whole, begin, input.lengths())
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
        (_, None) => print(|output| write_lines(plan, output))?,
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

    fn planner(self, args: &args::Plan, input: &Sequences) -> Result<Planner<Strategy>, Failure> {
        let lengths = input.lengths();
        let (strategy, shapes) = recommended(lengths, self.budget, self.strategy, self.shapes)
            .map_err(|error| input.named(error))?;
        let mut planner = Planner::new(strategy, self.budget)
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
        if args.part.constant_steps {
            return planner.constant_steps(lengths).map_err(|error| input.named(error));
        }
        Ok(planner)
    }
}

/// Refuses to write over a file that is read. A cursor may take the place of the one before.
fn spare_what_is_read(args: &args::Plan) -> Result<(), Failure> {
    let refused = |path: &Path, is: &str, written: &str| {
        let what = format!("{}: is {is}", path.display());
        Err(Failure::new(what, format!("write the {written} to another file")))
    };
    let input = args.input.source.path.as_deref();
    let model = args.part.cost_model.as_deref().map(Path::new);
    let limit = args.budget.as_deref().and_then(model_file_of_budget);
    for (path, written) in [(&args.output, "plan"), (&args.part.cursor, "cursor")] {
        let Some(path) = path else { continue };
        for (read, is) in
            [(input, "the input"), (model, "the cost model"), (limit, "the cost model")]
        {
            if read.is_some_and(|read| same_file(path, read)) {
                return refused(path, is, written);
            }
        }
    }
    if let Some(output) = &args.output {
        if args.part.cursor.as_ref().is_some_and(|path| path == output || same_file(path, output)) {
            return refused(output, "the file of the plan", "cursor");
        }
        if args.part.resume.iter().any(|path| same_file(path, output)) {
            return refused(output, "the cursor to go on from", "plan");
        }
    }
    Ok(())
}

fn same_file(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    real(one).is_some_and(|path| Some(path) == real(other))
}

fn print(write: impl FnOnce(&mut BufWriter<Stdout>) -> io::Result<()>) -> Result<(), Failure> {
    let mut output = printer::output();
    write(&mut output)?;
    output.flush()?;
    Ok(())
}

/// The indices of a batch on a line.
fn write_lines(plan: &Plan, output: &mut impl Write) -> io::Result<()> {
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

fn say(plan: &Plan, input: &Sequences) {
    let measures = plan.measure(input.lengths());
    let what = if input.chunks.is_some() { "pieces of sequences" } else { "sequences" };
    let sides = measures.sides.map_or_else(String::new, |[first, second]| {
        let [first, second] = [first, second].map(|side| 100.0 * side.padding_rate);
        format!(" ({first:.2} % of the first, {second:.2} % of the second)")
    });
    printer::say(&format!(
        "{} {what} in {} batches ({}, shapes {}), {:.2} % padding{sides}, digest {:016x}",
        measures.sequences,
        measures.batches,
        plan.made().strategy,
        plan.made().shapes,
        100.0 * measures.padding_rate,
        plan.digest()
    ));
    let (treatment, sequences) = plan.over_long();
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
