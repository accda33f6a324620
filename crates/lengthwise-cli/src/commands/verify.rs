//! `lengthwise verify`

mod bounded;
mod checks;
mod groups;

use lengthwise::{Chunks, measure::Counts};
use lengthwise_io::{Exact, Ids, PlanFile, Reader, read_plan_exact};
use lengthwise_report::{noun, one_line, wrapped};
use serde::Serialize;

use crate::args::planning::Verify;
use crate::commands::verify::checks::{
    BatchChecks, LONG_ENOUGH, Verified, expect_none, failed, refused, same_digest,
};
use crate::failure::Failure;
use crate::input::Sequences;
use crate::{memory, printer};

#[derive(Serialize)]
struct Answer<'a> {
    version: u32,
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    checks: Option<&'a [&'static str]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<&'a str>,
}

pub(crate) fn run(args: &Verify) -> Result<(), Failure> {
    let right = args.memory.map_or_else(|| verify(args), |bound| bounded::verify(args, bound));
    let (checks, failed) = match &right {
        Ok(right) => (Some(&right.checks[..]), None),
        Err(Failure::CheckFailed { what, .. }) => (None, Some(what.as_str())),
        Err(_) => return right.map(|_| ()),
    };
    if args.json {
        printer::print_json(&Answer { version: 1, ok: failed.is_none(), checks, failed })?;
        return right.map(|_| ());
    }
    let right = right?;
    let (sequences, batches) = (right.sequences, right.batches);
    let line = format!(
        "{}: {sequences} {} in {batches} {}; {}",
        one_line(&args.plan.display().to_string()),
        noun(sequences, "sequence", "sequences"),
        noun(batches, "batch", "batches"),
        right.sentence()
    );
    printer::print(&wrapped(&line, printer::width()))
}

fn verify(args: &Verify) -> Result<Verified, Failure> {
    let (file, exact) = read_plan_exact(&args.plan).map_err(refused)?;
    let mut checks = vec!["checksum", "digest"];
    match exact {
        Exact::Bytes => checks.push("bytes"),
        Exact::Content { version } => printer::say(&format!(
            "{}: version {version} wrote it, perhaps in other bytes; what it says is checked",
            args.plan.display()
        )),
        _ => {}
    }
    if args.source.is_named() {
        // The pieces say how long they may be: of a sequence that was cut, the first is that long.
        let chunk = file.chunks.as_ref().map(|chunks| chunks.lengths().max());
        let input = args.source.sequences(chunk, memory::VERIFY, Reader::new().own_ids())?;
        let named = file.ids.is_some() && input.ids.is_some();
        // Each relies on those before it.
        same_lengths(&file, &input)
            .and_then(|()| every_sequence(&file, &input))
            .and_then(|()| if named { same_ids(&file, &input) } else { Ok(()) })
            .and_then(|()| every_batch(&file, &input))
            .and_then(|()| groups::whole(&file, &input.groups))
            .and_then(|()| groups::unmixed(&file, &input.groups))
            .map_err(|what| failed(&args.plan, &what))?;
        checks.extend(["lengths", "sequences"]);
        checks.extend(named.then_some("ids"));
        checks.extend([LONG_ENOUGH, "budget", "counts"]);
        checks.extend(input.groups.together.is_some().then_some("groups"));
        checks.extend(input.groups.kinds.is_some().then_some("kinds"));
        checks.extend(file.plan.provenance().mix.is_some().then_some("mix"));
    }
    let plan = &file.plan;
    let (sequences, batches) = (plan.indices().len() as u64, plan.len() as u64);
    Ok(Verified { sequences, batches, truncated: !plan.truncated().is_empty(), checks })
}

fn same_lengths(file: &PlanFile, input: &Sequences) -> Result<(), String> {
    let (planned, given) = (file.plan.provenance().lengths, input.lengths().digest());
    let (two, one) = (file.plan.second_batch_lengths(), input.lengths().second().is_none());
    let source = &input.source;
    if planned != given && two.is_some() && one {
        return Err(format!("was made for two lengths, and {source} has one"));
    }
    match (file.plan.provenance().grouped, input.groups.is_given()) {
        (true, false) => {
            return Err(format!("was made for groups or kinds, and {source} has none"));
        }
        (false, true) => return Err("was made without groups and kinds".to_owned()),
        _ => {}
    }
    same_digest(planned, given, source)?;
    let pieces = |chunks: &Chunks| -> Vec<_> {
        (0..chunks.len() as u32).map(|piece| chunks.get(piece)).collect()
    };
    let same = file.chunks.as_ref().map(pieces) == input.chunks.as_ref().map(pieces);
    same.then_some(())
        .ok_or_else(|| format!("was made for pieces of other sequences than {source}"))
}

/// Every sequence is in one batch or listed as left out. Of one rank, or of a part of the epoch, none
/// is there that should not be.
fn every_sequence(file: &PlanFile, input: &Sequences) -> Result<(), String> {
    let count = input.lengths().len();
    let plan = &file.plan;
    let (dropped, repeated) = match &file.ranks {
        Some(ranks) => (&ranks.dropped[..], &ranks.repeated[..]),
        None => Default::default(),
    };
    let named = [plan.indices(), plan.over_long().1, dropped, repeated].concat();
    let beyond = named.into_iter().filter(|&sequence| sequence as usize >= count);
    expect_none(beyond, &format!("sequences that are not among the {count} of the input"))?;

    if let Some(mix) = &plan.provenance().mix {
        return groups::mixed(file, &input.groups, mix, is_whole(file));
    }
    let mut due = vec![1_u64; count];
    for &sequence in repeated {
        due[sequence as usize] += 1;
    }
    for &sequence in plan.left_out().iter().chain(dropped) {
        due[sequence as usize] = 0;
    }
    let mut met = vec![0_u64; count];
    for &sequence in plan.indices() {
        met[sequence as usize] += 1;
    }
    let none = |wrong: fn(u64, u64) -> bool, what| {
        let all = (0..).zip(met.iter().zip(&due));
        expect_none(all.filter(|&(_, (&met, &due))| wrong(met, due)).map(|(at, _)| at), what)
    };
    let left_out = "sequences that are listed as left out, and yet in a batch";
    none(|met, due| met > 0 && due == 0, left_out)?;
    none(|met, due| met > due, "sequences that are there too often")?;
    if is_whole(file) { none(|met, due| met < due, "sequences that are missing") } else { Ok(()) }
}

fn same_ids(file: &PlanFile, input: &Sequences) -> Result<(), String> {
    let planned = file.ids.iter().flat_map(Ids::iter);
    let given = |&index: &u32| input.id(index).unwrap_or_default();
    let mut both = file.plan.indices().iter().zip(planned);
    let Some((index, planned)) = both.find(|&(index, planned)| planned != given(index)) else {
        return Ok(());
    };
    let what = if file.chunks.is_some() { "piece" } else { "sequence" };
    let [planned, given] = [planned, given(index)].map(printer::safe);
    let source = &input.source;
    Err(format!("has the id `{planned}` for {what} {index}, which is `{given}` in {source}"))
}

fn is_whole(file: &PlanFile) -> bool {
    file.ranks.as_ref().is_none_or(|ranks| {
        let from_the_start = ranks.cursor.as_ref().is_none_or(|cursor| cursor.steps() == 0);
        ranks.rank.is_none() && ranks.steps_left == 0 && from_the_start
    })
}

/// The lengths, budget and positions of every batch, and of all ranks the counts of every step.
fn every_batch(file: &PlanFile, input: &Sequences) -> Result<(), String> {
    let plan = &file.plan;
    let groups = input.groups.together.as_ref().map(|column| &column.of[..]);
    let mut checks = BatchChecks::new(plan.provenance(), input.lengths(), groups);
    plan.over_long().1.iter().for_each(|&sequence| checks.over_long.set(sequence));
    let seconds = plan.second_batch_lengths().unwrap_or_default();
    for (at, batch) in plan.iter().enumerate() {
        let padded = [plan.batch_lengths()[at], seconds.get(at).copied().unwrap_or(0)];
        let second_listed = file.second_positions.get(at).copied().unwrap_or(0);
        checks.add(at as u32, batch, padded, [file.positions[at], second_listed]);
    }
    checks.finish()?;
    let Some(ranks) = file.ranks.as_ref().filter(|ranks| ranks.rank.is_none()) else {
        return Ok(());
    };
    let counts = plan.counts(input.lengths());
    let per_step = counts.len() / ranks.step_counts.len().max(1);
    let steps = counts.chunks(per_step.max(1)).map(|step| step.iter().copied().sum::<Counts>());
    let both = (0..).zip(steps.zip(&ranks.step_counts));
    let other = both.filter(|(_, (right, listed))| right != *listed).map(|(step, _)| step);
    expect_none(other, "steps with other counts than are listed")
}
