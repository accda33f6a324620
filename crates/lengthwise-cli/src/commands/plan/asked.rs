//! What was asked for: the settings, the shard of a corpus, the ranks and steps of an epoch.

use std::{path::Path, sync::Arc};

use lengthwise::{
    Cursor, Error, Lengths, Plan, Planner, Settings, Shapes, Steps, Strategy, Workspace,
    shard::{Shard, Statistics},
    tune::{Like, batches_only_in, recommend_in},
};
use lengthwise_io::{Ranks, read_cursor, read_statistics, save_statistics};
use lengthwise_report::{Recommended, noun};

use crate::args::planning;
use crate::commands::plan::output::say_some;
use crate::commands::statistics::check_name;
use crate::failure::Failure;
use crate::input::Sequences;
use crate::{cost_model, printer, signals};

/// What was typed. A strategy and shapes that were not are chosen once the lengths are known.
pub(super) struct Given {
    strategy: Option<Strategy>,
    shapes: Option<Shapes>,
    settings: Settings,
}

impl Given {
    pub(super) fn read(args: &planning::Plan) -> Result<Self, Failure> {
        let strategy: Option<Strategy> = args.strategy.as_deref().map(str::parse).transpose()?;
        let own = strategy.as_ref().and_then(Strategy::own_budget);
        let like = args.advice.like()?;
        let given = args.budget.as_deref().map(cost_model::budget).transpose()?;
        let budget = given.or(like.map(Like::budget)).or(own).ok_or_else(|| {
            let what = "there is no budget, and batches have no other size";
            Failure::new(what, "give one, as in `--budget padded:20000`")
        })?;
        let shapes = args.shapes.as_deref().map(str::parse).transpose()?;
        let settings = Settings {
            arrange: args.settings.arrange.parse()?,
            over_long: args.settings.over_long.parse()?,
            steps: args.ranks.steps.as_deref().map(str::parse).transpose()?,
            tail: args.ranks.tail.parse()?,
            cost_model: args.part.cost_model.as_deref().map(cost_model::named).transpose()?,
            accumulate: args.ranks.accumulate.unwrap_or(1),
            canonical_ranks: args.part.canonical_ranks,
            update: args
                .ranks
                .update()?
                .or(like.and_then(|like| like.update(args.ranks.world_size))),
            share: args.settings.share.parse()?,
            one_kind: args.settings.one_kind.parse()?,
            seed: args.settings.seed,
            ..Settings::new("", budget)
        };
        Ok(Self { strategy, shapes, settings })
    }

    /// The planner, and what is to be said of what was recommended.
    pub(super) fn planner(
        self,
        args: &planning::Plan,
        begin: Option<&Cursor>,
        lengths: &Lengths,
        input: &Sequences,
        workspace: &Workspace,
    ) -> Result<(Planner<Strategy>, Vec<String>), Failure> {
        let Self { strategy, shapes, mut settings } = self;
        settings.mix = input.groups.mix(args.settings.mix.as_deref())?;
        // Steps that were planned stay as they are, whatever the number of ranks is now.
        let kept = settings.canonical_ranks.or(begin.and_then(Cursor::planned_ranks));
        let ranks = kept.unwrap_or(args.ranks.world_size);
        // Steps are planned where all lengths are at hand.
        let steps = args.shards.statistics.is_none() && args.memory.is_none();
        let (planner, lines) = if strategy.is_none() && steps {
            let mut wanted = args.advice.wanted(Settings { accumulate: 1, ..settings }, ranks)?;
            (wanted.shapes, wanted.micro_batches) = (shapes, args.ranks.accumulate);
            let found = recommend_in(workspace, lengths, &wanted);
            let found = found.map_err(|error| input.named(error))?;
            let recommended = Recommended::new(&found, None, wanted.ranks);
            let nearest = || {
                let broken = found.best().broken.join(" and ");
                vec![format!("nothing keeps the limits on {broken}: this is the nearest")]
            };
            let lines = recommended.map_or_else(nearest, |recommended| recommended.lines());
            (Planner::named(found.best().settings.clone())?, lines)
        } else {
            let chosen = batches_only_in(workspace, lengths, settings.budget, strategy, shapes);
            let (strategy, shapes) = chosen.map_err(|error| input.named(error))?;
            let planner = Planner::with(strategy, Settings { shapes, ..settings });
            (planner.for_ranks(ranks), Vec::new())
        };
        // Shards always have as many.
        let constant = args.part.constant_steps && args.shards.shard.is_none();
        let planner = if constant { planner.constant_steps(lengths) } else { Ok(planner) };
        Ok((planner.map_err(|error| input.named(error))?, lines))
    }
}

/// The shard that is planned, and the statistics of all shards, if they were named.
pub(super) fn corpus(
    args: &planning::Shards,
) -> Result<(Option<Shard>, Option<Arc<Statistics>>), Failure> {
    let shard = args.shard.zip(args.of).map(|(number, of)| Shard::new(number, of)).transpose()?;
    args.needs.as_deref().map_or(Ok(()), check_name)?;
    let statistics = args.statistics.as_deref().map(read_statistics).transpose()?;
    Ok((shard, statistics.map(Arc::new)))
}

/// Writes what one shard needs, and says it.
pub(super) fn save_needs(path: &Path, needs: &Statistics) -> Result<(), Failure> {
    signals::writing(path);
    save_statistics(path, needs)?;
    if let Some(needs) = needs.needs() {
        let (shard, of) = (needs.shards[0][0], needs.of);
        let batches = noun(needs.most.into(), "batch", "batches");
        printer::say(&format!("shard {shard} of {of} needs {} {batches}", needs.most));
    }
    Ok(())
}

/// Says what a shard has in common with all others.
pub(super) fn say_shard(shard: Shard, plan: &Plan) {
    let batches = plan.provenance().batches.unwrap_or_default();
    printer::say(&format!(
        "shard {} of {}: every shard takes {batches} batches, ranked by {}",
        shard.number,
        shard.of,
        plan.provenance().time_follows()
    ));
}

/// Batches assigned to ranks.
pub(super) struct Part {
    pub(super) plan: Plan,
    pub(super) ranks: Ranks,
    /// Where the epoch stands after these steps.
    pub(super) end: Cursor,
    /// How the steps are made, the share of time that ranks wait, and what it is at least.
    waiting: (Steps, f64, f64),
    /// How much the steps differ in length, compared with random ones.
    step_mix: f64,
}

/// Where to go on from, if anywhere.
pub(super) fn begin(args: &planning::Part) -> Result<Option<Cursor>, Failure> {
    if args.resume.is_empty() {
        return Ok(None);
    }
    let cursors = args.resume.iter().map(|path| read_cursor(path));
    let cursors: Vec<Cursor> = cursors.collect::<Result<_, _>>()?;
    Cursor::of_ranks(&cursors).map(Some).map_err(|error| {
        // Ranks are known here by their files.
        let (Error::RanksApart { rank, .. } | Error::RanksOfOtherRuns { rank, .. }) = error else {
            return error.into();
        };
        let [first, other] = [0, rank].map(|rank| args.resume[rank].display().to_string());
        let what = error
            .to_string()
            .replace("the cursor of rank 0", &first)
            .replace("that of rank ", "rank ")
            .replace("rank 0", &first)
            .replace(&format!("rank {rank}"), &other);
        Failure::of_plan(what, &error)
    })
}

pub(super) fn refused(args: &planning::Part, error: Error) -> Failure {
    use Error::{BadCursor, CursorBeyondEnd, OtherRun};
    let of_cursor = matches!(error, OtherRun { .. } | CursorBeyondEnd { .. } | BadCursor { .. });
    match args.resume.first().filter(|_| of_cursor) {
        Some(path) => Failure::of_plan(format!("{}: {error}", path.display()), &error),
        None => error.into(),
    }
}

/// Assigns the batches to ranks, and takes what was asked for; nothing if all of it is for one rank.
pub(super) fn take(
    args: &planning::Plan,
    plan: &Plan,
    begin: Option<Cursor>,
    lengths: &Lengths,
) -> Result<Option<Part>, Error> {
    let &planning::Part { rank, take, ref cursor, .. } = &args.part;
    let world_size = args.ranks.world_size;
    let made = plan.provenance();
    let one_each = world_size == 1
        && made.accumulate == 1
        && made.canonical_ranks.is_none()
        && made.batches_per_step.is_none();
    let all = rank.is_none() && take.is_none() && cursor.is_none() && begin.is_none();
    if one_each && all {
        return Ok(None);
    }
    let whole = match &begin {
        Some(cursor) => plan.resume(cursor, world_size)?,
        None => plan.schedule(world_size)?,
    };
    let left = whole.len();
    let schedule = whole.first(take.map_or(left, |steps| steps as usize))?;
    let mine = match rank {
        Some(rank) => schedule.for_rank(rank)?,
        None => schedule.all_ranks(),
    };
    let mut ranks = Ranks::of(&schedule, rank, lengths);
    ranks.steps_left = (left - schedule.len()) as u64;
    ranks.cursor = begin;
    Ok(Some(Part {
        plan: mine,
        ranks,
        end: schedule.cursor(schedule.len())?,
        waiting: (plan.provenance().steps, schedule.idle_share(), schedule.idle_bound()),
        step_mix: schedule.step_mix(lengths).log_length,
    }))
}

/// Steps that differ more in length are said to be biased.
const BIASED: f64 = 4.0;

fn step_mix_text(step_mix: f64) -> String {
    format!("step mix {step_mix:.2} (1 is as random steps, 0 all steps alike)")
}

fn say_if_biased(step_mix: f64) {
    if step_mix > BIASED {
        printer::say(
            "models can learn less from steps of similar lengths: `lengthwise tune` finds steps that look like the data",
        );
    }
}

/// Says how much the batches differ in length, for a loop that takes an optimizer step after each.
pub(super) fn say_batches_as_steps(plan: &Plan, lengths: &Lengths) -> Result<(), Error> {
    if printer::is_quiet() || plan.len() < 2 {
        return Ok(());
    }
    let step_mix = plan.schedule(1)?.step_mix(lengths).log_length;
    printer::say(&format!("one batch is one step: {}", step_mix_text(step_mix)));
    say_if_biased(step_mix);
    Ok(())
}

impl Part {
    fn tokens_per_step(&self) -> u64 {
        let counts = &self.ranks.step_counts;
        counts.iter().map(|step| step.positions + step.second_positions).sum::<u64>()
            / counts.len().max(1) as u64
    }

    pub(super) fn say(&self) {
        let &Ranks { world_size, rank, accumulate, steps, steps_left, ref cursor, .. } =
            &self.ranks;
        let (mode, idle, bound) = self.waiting;
        let who = match (rank, world_size) {
            (Some(rank), ranks) => format!("rank {rank} of {ranks}"),
            (None, 1) => "1 rank".to_owned(),
            (None, ranks) => format!("{ranks} ranks"),
        };
        let each = match accumulate {
            1 => String::new(),
            each => format!(" with {each} batches each"),
        };
        let noun = if steps == 1 { "step" } else { "steps" };
        let before = cursor.as_ref().map_or(0, Cursor::steps);
        let place = match (before, steps_left) {
            (0, 0) => String::new(),
            (before, 0) => format!(" ({before} before)"),
            (0, left) => format!(" ({left} to come)"),
            (before, left) => format!(" ({before} before, {left} to come)"),
        };
        if steps == 0 && steps_left == 0 {
            return printer::say("the epoch is finished: nothing is left of it");
        }
        printer::say(&format!(
            "{who}{each} in {steps} {mode} {noun}{place}, {:.1} % idle (at least {:.1} %), time by {}",
            100.0 * idle,
            100.0 * bound,
            self.plan.provenance().time_follows()
        ));
        printer::say(&format!(
            "{}, about {} tokens a step",
            step_mix_text(self.step_mix),
            self.tokens_per_step()
        ));
        say_if_biased(self.step_mix);
        let places = world_size * accumulate;
        let before = cursor.as_ref().and_then(|cursor| cursor.segments.last());
        if let Some(had) = before.map(|before| before.ranks).filter(|&had| had != places) {
            let now = format!("a step has {places} batches from here on");
            printer::say(&format!("{now}; it had {had} before"));
        }
        say_some(&self.ranks.dropped, "dropped with the tail");
        say_some(&self.ranks.repeated, "repeated with the tail");
    }
}
