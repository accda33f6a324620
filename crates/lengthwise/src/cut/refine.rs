//! The ladder that suits the batches that are made on it.

use crate::cut::rungs::climbs;
use crate::data::lengths::Lengths;
use crate::data::pad::Pad;
use crate::error::Error;
use crate::limit::budget::Budget;
use crate::limit::resolved::ResolvedBudget;
use crate::shape::ladder::ladder;
use crate::shape::rounding::{Rounding, Staircase};
use crate::shape::shapes::Shapes;

/// What all batches on these rungs cost together, in the units of the budget: cells or seconds. It
/// follows from how many sequences each rung has, and is what [`of_order`](crate::cut::rungs::of_order) comes to for every order.
pub(crate) fn executed(rungs: &[u32], limit: &ResolvedBudget, upto: impl Fn(u32) -> u64) -> f64 {
    let mut below = 0;
    let own =
        |&rung: &u32| u64::from(rung) * (upto(rung) - std::mem::replace(&mut below, upto(rung)));
    let all = rungs.iter().map(own).sum();
    let (mut cost, mut left, mut below) = (0.0, 0, 0);
    for (at, &rung) in rungs.iter().enumerate() {
        let (full, count) = (limit.full(rung), upto(rung));
        let total = left + (count - below);
        below = count;
        cost += (total / u64::from(full)) as f64 * limit.cost(full, rung);
        left = total % u64::from(full);
        let climbs = |&next: &u32| climbs(left, Pad::one(rung), Pad::one(next), limit, all);
        if left > 0 && !rungs.get(at + 1).is_some_and(climbs) {
            cost += limit.cost(left as u32, rung);
            left = 0;
        }
    }
    cost
}

/// The rule for these lengths. A ladder that is to be chosen suits the batches of the budget.
pub(crate) fn rounding(
    shapes: &Shapes,
    lengths: &Lengths,
    budget: &Budget,
) -> Result<Rounding, Error> {
    let Shapes::Ladder(rungs @ 1..) = *shapes else { return shapes.rounding(lengths) };
    let limit = budget.resolve(lengths.longest())?;
    let choose = || refined(ladder(lengths, rungs), lengths, &limit);
    let rungs = lengths.remembered(&format!("{shapes} {budget}"), choose);
    Ok(Rounding::Rungs(Staircase::new(rungs, lengths)))
}

/// More rungs than this are left as they are: there is little to gain.
const MOST_RUNGS: usize = 64;

/// Moves the rungs of a ladder to where the batches that are really made cost least: full batches of
/// whole sizes, what climbs, and what is left. The ladder stays as it is unless that saves at least
/// one part in a hundred.
///
/// One rung after another is tried at other lengths, near and far, as long as anything improves.
pub(crate) fn refined(rungs: Vec<u32>, lengths: &Lengths, limit: &ResolvedBudget) -> Vec<u32> {
    let histogram = lengths.population();
    if rungs.len() < 2 || rungs.len() > MOST_RUNGS || rungs.len() == histogram.len() {
        return rungs;
    }
    let mut counts = Vec::with_capacity(histogram.len());
    let mut count = 0;
    for &(_, of_length) in histogram {
        count += u64::from(of_length);
        counts.push(count);
    }
    let place = |length: u32| histogram.partition_point(|&(other, _)| other < length);
    let cost = |rungs: &[u32]| executed(rungs, limit, |rung| counts[place(rung)]);
    let before = cost(&rungs);
    let (mut best, mut least) = (rungs.clone(), before);
    for _ in 0..8 {
        let start = least;
        for at in 0..best.len() - 1 {
            let here = place(best[at]);
            let bounds = if at == 0 { 0 } else { place(best[at - 1]) + 1 }..place(best[at + 1]);
            let steps = (0..10).map(|power| 1_usize << power);
            let moves = steps.flat_map(|step| [here.checked_sub(step), here.checked_add(step)]);
            for there in moves.flatten().filter(|there| bounds.contains(there)) {
                let mut tried = best.clone();
                tried[at] = histogram[there].0;
                let found = cost(&tried);
                if found < least {
                    (best, least) = (tried, found);
                }
            }
        }
        if least > start * 0.999 {
            break;
        }
    }
    if least < 0.99 * before { best } else { rungs }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::statistics::Statistics,
        example::Example,
        limit::budget::Budget,
        planner::Planner,
        shape::{ladder::ladder, shapes::Shapes},
        strategy::shuffled::Shuffled,
    };

    /// The cost of a ladder is that of the batches on it, and refining it never makes it larger.
    #[test]
    fn executed_is_what_dealing_comes_to() {
        for example in Example::ALL {
            let lengths = example.lengths();
            for (budget, cells) in [
                (Budget::sequences(16), true),
                (Budget::padded(3 * u64::from(lengths.max())), true),
                (Budget::padded(64 * u64::from(lengths.max())).multiple_of(8), true),
                ("cost:recurrent,limit=3,at-most=300".parse().unwrap(), false),
            ] {
                let limit = budget.resolve(lengths.max()).unwrap();
                for count in [1, 2, 5, 16, 40] {
                    let usual = ladder(&lengths, count);
                    let better = refined(usual.clone(), &lengths, &limit);
                    assert_eq!(better.len(), usual.len());
                    let upto = |rung: u32| {
                        lengths.as_slice().iter().filter(|&&length| length <= rung).count() as u64
                    };
                    let [before, after] =
                        [&usual, &better].map(|rungs| executed(rungs, &limit, upto));
                    assert!(after <= before);
                    let plan = Planner::new(Shuffled, budget)
                        .shapes(Shapes::Rungs(better))
                        .plan(&lengths, 0)
                        .unwrap();
                    let sum: f64 = plan
                        .iter()
                        .zip(plan.batch_lengths())
                        .map(|(batch, &length)| limit.cost(batch.len() as u32, length))
                        .sum();
                    assert!((sum / after - 1.0).abs() < 1e-9, "{example} {budget} {count}");
                    if cells {
                        assert!((plan.measure(&lengths).cells as f64 - after).abs() < 0.5);
                    }
                }
            }
        }
    }

    /// A ladder that is known is not taken for one of other settings, or of a whole.
    #[test]
    fn a_ladder_is_kept_for_its_own_settings() {
        let lengths = Example::Speech.lengths();
        let fresh = |lengths: &Lengths| match lengths.statistics() {
            None => Lengths::new(lengths.as_slice()).unwrap(),
            Some(all) => Lengths::new(lengths.as_slice()).unwrap().part_of(all.clone()).unwrap(),
        };
        let settings = [(8, 50_000), (4, 50_000), (8, 5000), (8, 50_000)];
        let check = |lengths: &Lengths| {
            settings.map(|(rungs, cells)| {
                let (shapes, budget) = (Shapes::Ladder(rungs), Budget::padded(cells));
                let edges = |lengths: &Lengths| match rounding(&shapes, lengths, &budget).unwrap() {
                    Rounding::Rungs(rungs) => rungs.edges().to_vec(),
                    other => panic!("{other:?}"),
                };
                assert_eq!(edges(lengths), edges(&fresh(lengths)), "{rungs} {cells}");
                edges(lengths)
            })
        };
        let own = check(&lengths);
        let all = Statistics::of(&Lengths::new([3000, 2000, 4000]).unwrap());
        let part = check(&lengths.part_of(all.into()).unwrap());
        assert!(own[0] != own[1] && own[0] == own[3] && own[0] != part[0]);
    }
}
