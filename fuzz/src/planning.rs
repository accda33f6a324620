//! Plans of an epoch from any settings: batches, ranks, resuming, shards and files.

use std::sync::Arc;

use lengthwise::groups::{OneKind, Together};
use lengthwise::shard::{Shard, Statistics};
use lengthwise::{
    Arrange, Budget, Error, Lengths, OverLong, Pairs, Plan, Planner, Schedule, Shapes, Steps,
    Strategy, Tail, Update,
};
use lengthwise_io::{Form, PlanFile, Ranks, from_json, read_plan_from, to_json};

use crate::settings::check_refusal;
use crate::source::Source;

pub(crate) fn run(data: &[u8]) {
    let mut source = Source(data);
    if let Err(error) = planned(&mut source) {
        check_refusal(&error);
    }
}

fn planned(source: &mut Source) -> Result<(), Error> {
    let strategy = strategy(source)?;
    let planner = planner(source, strategy)?;
    let (epoch, ranks, others) =
        (u64::from(source.byte()), 1 + source.below(6), 1 + source.below(6));
    let (form, shards) = (
        *source.one_of(&[Form::Json, Form::JsonLines, Form::Npz, Form::Parquet]),
        1 + source.below(4),
    );
    let more = source.byte();
    let mut lengths = Lengths::new(source.lengths(200))?;
    let count = lengths.len();
    match more % 6 {
        1 => {
            let second: Vec<u32> = (0..count).map(|_| 1 + u32::from(source.byte())).collect();
            lengths = Pairs::new(lengths, Lengths::new(second)?)?.into_lengths();
        }
        2 => {
            lengths =
                lengths.together(&(0..count).map(|_| source.below(40)).collect::<Vec<_>>())?;
        }
        3 => lengths = lengths.kinds(&(0..count).map(|_| source.below(3)).collect::<Vec<_>>())?,
        _ => {}
    }
    let planner = if more & 64 > 0 { planner.for_ranks(ranks) } else { planner };
    let plan = planner.plan(&lengths, epoch)?;
    check_batches(&plan, &lengths);
    assert_eq!(planner.plan(&lengths, epoch).as_ref(), Ok(&plan));
    let schedule = plan.schedule(ranks)?;
    resumed(&plan, &schedule, others, source.below(1 + schedule.len() as u32) as usize, count)?;
    let file =
        PlanFile::new(schedule.all_ranks(), &lengths).ranks(Ranks::of(&schedule, None, &lengths));
    for file in [PlanFile::new(plan, &lengths), file] {
        let mut bytes = Vec::new();
        file.write(form, &mut bytes).expect("memory takes it");
        let again = read_plan_from(&bytes, form).unwrap_or_else(|error| panic!("{error}"));
        assert!(again == file);
    }
    if lengths.second().is_none() {
        in_shards(&planner, lengths.as_slice(), shards, epoch)
    } else {
        Ok(())
    }
}

fn strategy(source: &mut Source) -> Result<Strategy, Error> {
    let all = Strategy::all();
    let at = source.below(all.len() as u32 + 8) as usize;
    if let Some(strategy) = all.get(at) {
        return Ok(strategy.clone());
    }
    let [one, other] = [source.number(), source.number()];
    match at - all.len() {
        0 => format!("semi-sorted:noise={}", f64::from(one) / 100.0),
        1 => format!("alternated:bins={one}"),
        2 => format!("bucketed:size={one}"),
        3 => format!("length-buckets:edges={one}/{other}"),
        4 => format!("optimal-buckets:count={one}"),
        5 => format!("pooled:batches={one}"),
        6 => format!("packed:at-most={one},window={other}"),
        _ => format!("proportional:batches={one}"),
    }
    .parse()
}

pub(crate) fn budget(source: &mut Source) -> Result<Budget, Error> {
    let number = source.number();
    let text = match source.below(6) {
        0 => format!("sequences:{number}"),
        1 => format!("padded:{}", u64::from(number) * 16),
        2 => format!("dynamic:{number}"),
        3 => format!("dynamic:{number},rule=over"),
        4 => format!("cost:a=0.001,b=1e-5,c=1e-6,d=1e-8,limit={}", f64::from(number) / 1000.0),
        _ => format!(
            "padded:{number},at-most={},multiple-of={}",
            1 + source.number() / 2,
            1 + source.below(9)
        ),
    };
    text.parse()
}

pub(crate) fn shapes(source: &mut Source) -> Result<Shapes, Error> {
    let number = source.number();
    match source.below(5) {
        0 | 1 => "exact".to_owned(),
        2 => format!("multiple:{number}"),
        3 => format!("ladder:{number}"),
        _ => format!("ladder:{number}/{}", source.number()),
    }
    .parse()
}

fn planner(source: &mut Source, strategy: Strategy) -> Result<Planner<Strategy>, Error> {
    let mut planner = Planner::new(strategy, budget(source)?)
        .shapes(shapes(source)?)
        .arrange(*source.one_of(&Arrange::ALL))
        .over_long(source.one_of(&OverLong::NAMES).parse()?)
        .tail(*source.one_of(&Tail::ALL))
        .seed(u64::from(source.byte()));
    if source.chance(2) {
        planner = planner.steps(*source.one_of(&Steps::ALL));
    }
    planner = match source.below(8) {
        1 => planner.accumulate(source.number()),
        2 => planner.canonical_ranks(source.number()),
        3 => planner.update(Update::Sequences(source.number().into())),
        4 => planner.update(Update::Tokens(source.number().into())),
        5 => planner.batches(source.number()),
        6 => planner.share(*source.one_of(&Together::ALL)),
        7 => planner.one_kind(*source.one_of(&OneKind::ALL)),
        _ => planner,
    };
    Ok(planner)
}

/// Each sequence is in one batch or left out, and each batch is within the budget.
fn check_batches(plan: &Plan, lengths: &Lengths) {
    let (treatment, over_long) = plan.over_long();
    let mut all = plan.indices().to_vec();
    all.extend_from_slice(plan.left_out());
    all.sort_unstable();
    assert!(all.into_iter().eq(0..lengths.len() as u32));
    let made = plan.provenance();
    let seconds = plan.second_batch_lengths();
    for (at, (batch, &length)) in plan.iter().zip(plan.batch_lengths()).enumerate() {
        let is_alone = treatment == OverLong::Alone
            && batch.iter().any(|sequence| over_long.contains(sequence));
        let admitted = match seconds {
            Some(seconds) => made.admits_pair(batch, (length, seconds[at]), lengths),
            None => made.admits(batch, length, lengths),
        };
        assert!(admitted || is_alone, "{batch:?} of {length}: {made:?}");
    }
}

/// Stopped anywhere, and resumed with another number of ranks: nothing is lost, and what is repeated is listed.
fn resumed(
    plan: &Plan,
    schedule: &Schedule,
    ranks: u32,
    steps: usize,
    count: usize,
) -> Result<(), Error> {
    let cursor = schedule.cursor(steps)?;
    let cursor = from_json(&to_json(&cursor)).unwrap_or_else(|error| panic!("{error}"));
    let rest = plan.resume(&cursor, ranks)?;
    let mut times = vec![0_usize; count];
    let taken = steps * (schedule.world_size() * schedule.accumulate()) as usize;
    let first = schedule.all_ranks();
    let all = rest.all_ranks();
    for &sequence in first.iter().take(taken).flatten().chain(all.indices()) {
        times[sequence as usize] += 1;
    }
    for &sequence in plan.left_out().iter().chain(&rest.dropped()) {
        times[sequence as usize] += 1;
    }
    assert!(
        times.iter().all(|&times| times > 0),
        "sequence {:?} is lost",
        times.iter().position(|&times| times == 0)
    );
    let again: usize = times.iter().map(|times| times - 1).sum();
    assert!(again <= schedule.repeated().len() + rest.repeated().len(), "{again} are repeated");
    Ok(())
}

/// Each shard plans its own lengths, and has each of them once.
fn in_shards(
    planner: &Planner<Strategy>,
    lengths: &[u32],
    of: u32,
    epoch: u64,
) -> Result<(), Error> {
    let parts: Vec<Lengths> = lengths
        .chunks(lengths.len().div_ceil(of as usize))
        .map(Lengths::new)
        .collect::<Result<_, _>>()?;
    let of = parts.len() as u32;
    let mut all = Statistics::of(&parts[0]);
    for part in &parts[1..] {
        all = all.merge(&Statistics::of(part))?;
    }
    let known = Arc::new(all.clone());
    for (number, part) in (0..).zip(&parts) {
        let part = part.clone().part_of(Arc::clone(&known))?;
        all = all.merge(&planner.clone().shard(Shard { number, of }).needs(&part)?)?;
    }
    let all = Arc::new(all);
    let mut batches = None;
    for (number, part) in (0..).zip(parts) {
        let count = part.len();
        let plan = planner
            .clone()
            .shard(Shard { number, of })
            .plan(&part.part_of(Arc::clone(&all))?, epoch)?;
        let mut seen: Vec<u32> = plan.indices().iter().chain(plan.left_out()).copied().collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), count, "of shard {number}");
        assert_eq!(*batches.get_or_insert(plan.len()), plan.len(), "shards have as many batches");
    }
    Ok(())
}
