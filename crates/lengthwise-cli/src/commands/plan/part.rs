//! The ranks and steps of an epoch that were asked for.

use lengthwise::{Cursor, Error, Lengths, Plan, Steps};
use lengthwise_io::{Ranks, read_cursor};

use crate::{args::planning, commands::plan::output::say_some, failure::Failure, printer};

/// Batches dealt to ranks.
pub(super) struct Part {
    pub(super) plan: Plan,
    pub(super) ranks: Ranks,
    /// Where the epoch stands after these steps.
    pub(super) end: Cursor,
    /// How the steps are made, the share of time that ranks wait, and what it is at least.
    waiting: (Steps, f64, f64),
}

/// Where to go on from, if anywhere.
pub(super) fn begin(args: &planning::Part) -> Result<Option<Cursor>, Failure> {
    let Some(first) = args.resume.first() else { return Ok(None) };
    let cursors: Vec<Cursor> =
        args.resume.iter().map(|path| read_cursor(path)).collect::<Result<_, _>>()?;
    match Cursor::of_ranks(&cursors) {
        Ok(cursor) => Ok(Some(cursor)),
        Err(error) => {
            // Ranks are known here by their files.
            let (Error::RanksApart { rank, .. } | Error::RanksOfOtherRuns { rank, .. }) = error
            else {
                return Err(error.into());
            };
            let named = |rank: usize| args.resume[rank].display().to_string();
            let what = error
                .to_string()
                .replace("the cursor of rank 0", &named(0))
                .replace("that of rank ", "rank ")
                .replace("rank 0", &first.display().to_string())
                .replace(&format!("rank {rank}"), &named(rank));
            Err(Failure::of_plan(what, &error))
        }
    }
}

pub(super) fn refused(args: &planning::Part, error: Error) -> Failure {
    match (&error, args.resume.first()) {
        (
            Error::OtherRun { .. } | Error::CursorBeyondEnd { .. } | Error::BadCursor { .. },
            Some(path),
        ) => Failure::of_plan(format!("{}: {error}", path.display()), &error),
        _ => error.into(),
    }
}

/// Deals the batches to ranks, and takes what was asked for; nothing if all of it is for one rank.
pub(super) fn take(
    args: &planning::Plan,
    plan: &Plan,
    begin: Option<Cursor>,
    lengths: &Lengths,
) -> Result<Option<Part>, Error> {
    let &planning::Part { rank, take, canonical_ranks, ref cursor, .. } = &args.part;
    let world_size = args.ranks.world_size;
    let one_each = world_size == 1 && args.ranks.accumulate == 1 && canonical_ranks.is_none();
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
    }))
}

impl Part {
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
            printer::say("the epoch is finished: nothing is left of it");
            return;
        }
        printer::say(&format!(
            "{who}{each} in {steps} {mode} {noun}{place}, {:.1} % idle (at least {:.1} %), time by {}",
            100.0 * idle,
            100.0 * bound,
            self.plan.provenance().time_follows()
        ));
        let places = world_size * accumulate;
        let before = cursor.as_ref().and_then(|cursor| cursor.segments.last());
        if let Some(before) = before.filter(|before| before.ranks != places) {
            printer::say(&format!(
                "a step has {places} batches from here on; it had {} before",
                before.ranks
            ));
        }
        say_some(&self.ranks.dropped, "dropped with the tail");
        say_some(&self.ranks.repeated, "repeated with the tail");
    }
}
