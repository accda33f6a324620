//! `lengthwise verify`

mod bounded;
mod problems;

use lengthwise::{Chunks, Counts, OverLong};
use lengthwise_io::{Exact, Ids, PlanFile, read_plan_exact};
use serde::Serialize;

use crate::{
    args::planning::Verify,
    commands::verify::problems::{LONG_ENOUGH, Verified, expect_none, refused, same_digest},
    failure::Failure,
    input::Sequences,
    memory, printer,
};

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
    let right = match args.memory {
        Some(bound) => bounded::verify(args, bound),
        None => verify(args).map(|(file, checks)| Verified {
            sequences: file.plan.indices().len() as u64,
            batches: file.plan.len() as u64,
            truncated: !file.plan.truncated().is_empty(),
            checks,
        }),
    };
    let answer = match &right {
        Ok(right) => Answer { version: 1, ok: true, checks: Some(&right.checks), failed: None },
        Err(Failure::CheckFailed(what)) => {
            Answer { version: 1, ok: false, checks: None, failed: Some(what) }
        }
        Err(_) => return right.map(|_| ()),
    };
    if args.json {
        printer::print_json(&answer)?;
    }
    let right = right?;
    if args.json {
        return Ok(());
    }
    printer::print(&format!(
        "{}: {} sequences in {} batches; {}\n",
        args.plan.display(),
        right.sequences,
        right.batches,
        right.sentence()
    ))
}

fn verify(args: &Verify) -> Result<(PlanFile, Vec<&'static str>), Failure> {
    let (file, exact) = read_plan_exact(&args.plan).map_err(refused)?;
    let mut done = vec!["checksum", "digest"];
    match exact {
        Exact::Bytes => done.push("bytes"),
        Exact::Content { version } => printer::say(&format!(
            "{}: version {version} wrote it, perhaps in other bytes; what it says is checked",
            args.plan.display()
        )),
        _ => {}
    }
    if args.source.is_named() {
        // The pieces say how long they may be: of a sequence that was cut, the first is that long.
        let chunk = file.chunks.as_ref().map(|chunks| chunks.lengths().max());
        let input = args.source.read_with_own_ids(chunk, memory::VERIFY)?;
        let named = file.ids.is_some() && input.ids.is_some();
        for (name, check) in CHECKS.into_iter().filter(|&(name, _)| named || name != IDS) {
            check(&file, &input)
                .map_err(|what| Failure::CheckFailed(format!("{}: {what}", args.plan.display())))?;
            done.push(name);
        }
    }
    Ok((file, done))
}

/// A check finds nothing, or says what is wrong.
type Check = fn(&PlanFile, &Sequences) -> Result<(), String>;

/// The one check that needs ids in the plan and in the input.
const IDS: &str = "ids";

/// Each relies on those before it.
const CHECKS: [(&str, Check); 6] = [
    ("lengths", same_lengths),
    ("sequences", every_sequence),
    (IDS, same_ids),
    (LONG_ENOUGH, long_enough),
    ("budget", within_budget),
    ("counts", right_counts),
];

fn same_lengths(file: &PlanFile, input: &Sequences) -> Result<(), String> {
    let (planned, given) = (file.plan.provenance().lengths, input.lengths().digest());
    let (two, one) = (file.plan.second_batch_lengths(), input.lengths().second().is_none());
    if planned != given && two.is_some() && one {
        let source = &input.source;
        return Err(format!("was made for two lengths, and {source} is one; say `--second`"));
    }
    same_digest(planned, given, &input.source)?;
    let pieces = |chunks: &Chunks| -> Vec<_> {
        (0..chunks.len() as u32).map(|piece| chunks.get(piece)).collect()
    };
    if file.chunks.as_ref().map(pieces) != input.chunks.as_ref().map(pieces) {
        return Err(format!("was made for pieces of other sequences than {}", input.source));
    }
    Ok(())
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
    let all = || (0..).zip(met.iter().copied().zip(due.iter().copied()));
    let where_both = |wrong: fn(u64, u64) -> bool| {
        all().filter(move |&(_, (met, due))| wrong(met, due)).map(|(sequence, _)| sequence)
    };
    expect_none(
        where_both(|met, due| met > 0 && due == 0),
        "sequences that are listed as left out, and yet in a batch",
    )?;
    expect_none(where_both(|met, due| met > due), "sequences that are there too often")?;
    if is_whole(file) {
        expect_none(where_both(|met, due| met < due), "sequences that are missing")?;
    }
    Ok(())
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

fn long_enough(file: &PlanFile, input: &Sequences) -> Result<(), String> {
    let lengths = input.lengths().as_slice();
    let cut = &marked(file.plan.truncated(), lengths.len());
    let batches = file.plan.iter().zip(file.plan.batch_lengths());
    if file.plan.is_packed() {
        let longer = (0..).zip(batches).filter(|&(_, (row, &batch_length))| {
            let own = |&at: &u32| u64::from(lengths[at as usize]);
            let whole = row.iter().filter(|&&at| !cut[at as usize]).map(own).sum::<u64>();
            whole > u64::from(batch_length)
        });
        let longer = longer.map(|(row, _)| row);
        return expect_none(
            longer,
            "rows whose sequences are longer together than the batch length",
        );
    }
    let longer = |lengths: &[u32], padded: &[u32], what| {
        let longer = file.plan.iter().zip(padded).flat_map(|(batch, &length)| {
            let longer = move |at: usize| !cut[at] && lengths[at] > length;
            batch.iter().copied().filter(move |&sequence| longer(sequence as usize))
        });
        expect_none(longer, what)
    };
    let what = "sequences that are longer than the batch length";
    longer(lengths, file.plan.batch_lengths(), what)?;
    let Some((second, padded)) = input.lengths().second().zip(file.plan.second_batch_lengths())
    else {
        return Ok(());
    };
    let what = "sequences whose second length is longer than that of the batch";
    longer(second.as_slice(), padded, what)
}

fn within_budget(file: &PlanFile, input: &Sequences) -> Result<(), String> {
    let (plan, made) = (&file.plan, file.plan.provenance());
    let over_long = match plan.over_long() {
        (OverLong::Alone, sequences) => sequences,
        _ => &[],
    };
    let alone = marked(over_long, input.lengths().len());
    let seconds = plan.second_batch_lengths().unwrap_or_default();
    let over =
        (0..).zip(plan.iter().zip(plan.batch_lengths())).filter(|&(at, (batch, &length))| {
            let listed = matches!(batch, &[sequence] if alone[sequence as usize]);
            let pair = (length, seconds.get(at).copied().unwrap_or(0));
            !listed && !made.admits_pair(batch, pair, input.lengths())
        });
    expect_none(
        over.map(|(batch, _)| batch as u32),
        &format!("batches that exceed the budget {}", made.budget),
    )
}

/// The positions of every batch, and in a file of all ranks the counts of every step.
fn right_counts(file: &PlanFile, input: &Sequences) -> Result<(), String> {
    let counts = file.plan.counts(input.lengths());
    let first = counts.iter().map(|counts| counts.positions);
    let second = counts.iter().map(|counts| counts.second_positions);
    let other = differing(first, &file.positions);
    expect_none(other, "batches with other positions than are listed")?;
    let other = differing(second, &file.second_positions);
    expect_none(other, "batches with other second positions than are listed")?;
    let Some(ranks) = file.ranks.as_ref().filter(|ranks| ranks.rank.is_none()) else {
        return Ok(());
    };
    let per_step = counts.len() / ranks.step_counts.len().max(1);
    let steps = counts.chunks(per_step.max(1)).map(|step| step.iter().copied().sum::<Counts>());
    expect_none(differing(steps, &ranks.step_counts), "steps with other counts than are listed")
}

/// The numbers of those that are not what is listed.
fn differing<T: PartialEq>(
    right: impl Iterator<Item = T>,
    listed: &[T],
) -> impl Iterator<Item = u32> {
    let both = (0..).zip(right.zip(listed));
    both.filter(|(_, (right, listed))| right != *listed).map(|(number, _)| number)
}

fn marked(listed: &[u32], count: usize) -> Vec<bool> {
    let mut marked = vec![false; count];
    for &sequence in listed {
        marked[sequence as usize] = true;
    }
    marked
}
