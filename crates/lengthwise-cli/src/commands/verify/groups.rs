//! The checks of what stays together, what does not mix, and how much of every kind there is.

use std::collections::HashMap;

use lengthwise::{
    OverLong, Plan,
    groups::{Mix, OneKind, Together},
};
use lengthwise_io::PlanFile;

use crate::commands::verify::checks::expect_none;
use crate::groups::Groups;

/// How many ranks share the batches of a step, and how many these are.
struct Steps {
    ranks: usize,
    batches: usize,
}

/// The steps that a file has: those that it was written for, or those that the plan is made of.
fn steps_of(file: &PlanFile) -> Option<Steps> {
    let made = file.plan.provenance();
    let (per_step, ranks) = if let Some(ranks) = &file.ranks {
        let here = if ranks.rank.is_some() { 1 } else { ranks.world_size };
        (here.saturating_mul(ranks.accumulate), here)
    } else {
        (made.batches_per_step?, made.canonical_ranks.unwrap_or(1))
    };
    Some(Steps { ranks: ranks.max(1) as usize, batches: per_step.max(1) as usize })
}

/// The sequences of every step, rank after rank.
fn by_rank(plan: &Plan, steps: &Steps) -> Vec<Vec<u32>> {
    let all: Vec<&[u32]> = plan.iter().collect();
    let step = |step: &[&[u32]]| -> Vec<Vec<u32>> {
        let of_rank = |rank| step.iter().skip(rank).step_by(steps.ranks);
        (0..steps.ranks).map(|rank| of_rank(rank).copied().flatten().copied().collect()).collect()
    };
    all.chunks(steps.batches).flat_map(step).collect()
}

/// No batch, or no rank in a step, has a part of a group.
pub(super) fn whole(file: &PlanFile, groups: &Groups) -> Result<(), String> {
    let Some(of) = groups.together.as_ref().map(|column| &column.of) else { return Ok(()) };
    let mut sizes: HashMap<u32, usize> = HashMap::new();
    for &group in of {
        *sizes.entry(group).or_default() += 1;
    }
    let is_split = |sequences: &[u32]| {
        let (mut often, mut members) = (HashMap::new(), HashMap::new());
        for &sequence in sequences {
            *often.entry(sequence).or_insert(0) += 1;
            *members.entry(of[sequence as usize]).or_insert(0) += 1;
        }
        // A group may be there twice where a mix repeats it.
        often.iter().any(|(&sequence, &times)| {
            let group = of[sequence as usize];
            members[&group] != times * sizes[&group]
        })
    };
    let plan = &file.plan;
    if plan.provenance().share == Together::Batch {
        let split = (0..).zip(plan).filter(|(_, batch)| is_split(batch)).map(|(at, _)| at);
        return expect_none(split, "batches with a part of a group that stays together");
    }
    let Some(steps) = steps_of(file) else { return Ok(()) };
    let shares = by_rank(plan, &steps);
    let split = (0..).zip(shares.chunks(steps.ranks));
    let split = split.filter(|(_, step)| step.iter().any(|share| is_split(share)));
    let what = "steps in which a rank has a part of a group that stays together";
    expect_none(split.map(|(step, _)| step), what)
}

/// No batch, or no step, has sequences of two kinds.
pub(super) fn unmixed(file: &PlanFile, groups: &Groups) -> Result<(), String> {
    let Some(kinds) = &groups.kinds else { return Ok(()) };
    let is_mixed = |sequences: &[u32]| {
        let mut own = sequences.iter().map(|&sequence| kinds.of()[sequence as usize]);
        own.next().is_some_and(|first| own.any(|other| other != first))
    };
    let plan = &file.plan;
    let mixed = (0..).zip(plan).filter(|(_, batch)| is_mixed(batch)).map(|(at, _)| at);
    expect_none(mixed, "batches with sequences of several kinds")?;
    match steps_of(file).filter(|_| plan.provenance().one_kind == OneKind::Step) {
        None => Ok(()),
        Some(steps) => {
            let shares = by_rank(plan, &steps);
            let mixed = (0..).zip(shares.chunks(steps.ranks));
            let mixed = mixed.filter(|(_, step)| is_mixed(&step.concat()));
            expect_none(mixed.map(|(at, _)| at), "steps with sequences of several kinds")
        }
    }
}

/// Every kind has its share of the epoch, and its sequences occur equally often over the epochs: each kind is gone
/// through again and again, and an epoch is a part of that.
pub(super) fn mixed(
    file: &PlanFile,
    groups: &Groups,
    mix: &Mix,
    is_whole: bool,
) -> Result<(), String> {
    let (plan, made) = (&file.plan, file.plan.provenance());
    let kinds = groups.kinds.as_ref().ok_or("has a mix of kinds, and `--kind` is not given")?;
    if mix.weights().len() != kinds.count() {
        let weights = mix.weights().len();
        return Err(format!("has a mix of {weights} kinds, and there are {}", kinds.count()));
    }
    let count = kinds.of().len();
    // By sequences, less what a tail repeats, and with what it drops.
    let mut met = vec![0_i64; count];
    let (dropped, repeated) = match &file.ranks {
        Some(ranks) => (&ranks.dropped[..], &ranks.repeated[..]),
        None => Default::default(),
    };
    for &sequence in plan.indices().iter().chain(dropped) {
        met[sequence as usize] += 1;
    }
    for &sequence in repeated {
        met[sequence as usize] -= 1;
    }
    // Groups that are left out are no part of the mix; those that are alone come on top of it.
    let mut apart = vec![false; count];
    let alone = made.over_long == OverLong::Alone && made.share == Together::Batch;
    let left_out = plan.left_out();
    let listed = if alone { plan.over_long().1 } else { left_out };
    for &sequence in listed {
        apart[sequence as usize] = true;
    }
    // Of a group, its first sequence stands for all.
    let mut seen = vec![false; count];
    let mut is_first = |at: usize| {
        let group = groups.together.as_ref().map_or(at, |column| column.of[at] as usize);
        !std::mem::replace(&mut seen[group], true)
    };
    let (mut own, mut found) = (vec![0_u32; kinds.count()], vec![0_i64; kinds.count()]);
    for at in (0..count).filter(|&at| is_first(at) && !apart[at]) {
        own[kinds.of()[at] as usize] += 1;
        found[kinds.of()[at] as usize] += met[at];
    }
    let expected = mix.counts(own.iter().sum());
    let bounds: Vec<[i64; 2]> =
        expected.iter().zip(&own).map(|(&part, &all)| often(part, all, made.epoch)).collect();
    let due = |at: usize| {
        if apart[at] { [i64::from(alone); 2] } else { bounds[kinds.of()[at] as usize] }
    };
    let all = || (0..).zip(&met);
    let too_often = all().filter(|&(at, &met)| met > due(at as usize)[1]).map(|(at, _)| at);
    expect_none(too_often, "sequences that are there too often")?;
    if !is_whole {
        return Ok(());
    }
    let too_rarely = all().filter(|&(at, &met)| met < due(at as usize)[0]).map(|(at, _)| at);
    expect_none(too_rarely, "sequences that are there too rarely")?;
    let what = if groups.together.is_some() { "groups" } else { "sequences" };
    match (0..kinds.count()).find(|&kind| found[kind] != i64::from(expected[kind])) {
        None => Ok(()),
        Some(kind) => Err(format!(
            "has {} {what} of the kind `{}`, and by the mix it should have {}",
            found[kind],
            kinds.name(kind),
            expected[kind]
        )),
    }
}

/// How often at least and at most each of `all` occurs in an epoch of `part`. Each pass through all has an order of its
/// own, and an epoch goes on where the one before it ended.
fn often(part: u32, all: u32, epoch: u64) -> [i64; 2] {
    if all == 0 || part == 0 {
        return [0, 0];
    }
    let start = (u128::from(part) * u128::from(epoch) % u128::from(all)) as u32;
    let first = if start > 0 { part.min(all - start) } else { 0 };
    let (passes, rest) = ((part - first) / all, (part - first) % all);
    let least = i64::from(passes);
    [least, least + i64::from(first > 0) + i64::from(rest > 0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_is_a_part_of_passes_through_a_kind() {
        assert_eq!(often(6, 10, 0), [0, 1]);
        assert_eq!(often(6, 10, 1), [0, 2]);
        assert_eq!(often(10, 10, 7), [1, 1]);
        assert_eq!(often(25, 10, 0), [2, 3]);
        assert_eq!(often(25, 10, 1), [2, 3]);
        assert_eq!(often(0, 10, 3), [0, 0]);
        assert_eq!(often(4, 0, 3), [0, 0]);
    }
}
