//! Optimizer steps in which every rank has whole groups, in as many batches as it needs.

use crate::base::rng::{Purpose, Rng};
use crate::cut::batches::Spans;
use crate::cut::in_order::{cut, rows};
use crate::data::lengths::{Lengths, Pad};
use crate::error::Error;
use crate::limit::resolved::ResolvedBudget;
use crate::order::groups::Groups;
use crate::order::pack::pack;
use crate::order::sort;
use crate::pipeline::classes::{Batch, Classes, Shares, raise};
use crate::strategy::Strategy;
use crate::strategy::group::Group;

/// Refuses strategies that do not leave it open which sequences share a batch.
pub(super) fn check_by_rank(strategy: &dyn Group) -> Result<(), Error> {
    let given = strategy.describe();
    if let Ok(Strategy::Proportional(_) | Strategy::Packed(_)) = given.parse() {
        return Ok(());
    }
    let expected = "`proportional` or `packed` for groups that share a rank";
    Err(Error::bad_value("the strategy", &given, expected))
}

impl Classes<'_> {
    /// The batches of every rank in every step, of sequences, for the groups of these classes. Nothing if there are too
    /// few groups, or if some ranks had fewer sequences than others need batches.
    pub(super) fn shares_by_rank(
        &self,
        division: &[usize],
        rng: &Rng,
    ) -> Result<Option<Shares>, Error> {
        let ranks = self.ranks();
        let mut groups: Vec<u32> = self.groups_of(division).collect();
        let side = |of: fn(&Pad) -> u32| {
            Lengths::new(self.admitted.lengths.iter().map(of).collect::<Vec<_>>())
        };
        let mut all = side(|pad| pad.first)?;
        if self.job.lengths.second().is_some() {
            all = all.with_second(side(|pad| pad.second)?);
        }
        let limit = self.limit_of_sequences(&all)?;
        let order = sort::shuffled(groups.len() as u32, rng, Purpose::Shuffle);
        groups = order.iter().map(|&at| groups[at as usize]).collect();
        groups.sort_by_key(|&group| self.tokens(group));
        let mut steps = self.optimizer_steps(division)?.min(groups.len() as u32 / ranks);
        while steps > 0 {
            let mut shares = Vec::new();
            for own in dealt(&groups, (steps * ranks) as usize, rng) {
                shares.push(self.batches_of(&own, &all, &limit)?);
            }
            let most = shares.iter().map(Vec::len).max().unwrap_or(0);
            if shares.iter_mut().all(|share| raise(share, most)) {
                if self.job.strategy.row().is_some() {
                    // A row that was halved is shorter.
                    let rows = shares.iter_mut().flatten().filter(|row| row.groups.len() > 1);
                    rows.for_each(|row| {
                        let sum = row.groups.iter().map(|&sequence| all.of(sequence)).sum();
                        row.pad = Pad::one(self.rounding.of(sum));
                    });
                }
                return Ok(Some((shares, Vec::new())));
            }
            steps /= 2;
        }
        Ok(None)
    }

    /// The sequences of some groups in batches, the longest first.
    fn batches_of(
        &self,
        groups: &[u32],
        lengths: &Lengths,
        limit: &ResolvedBudget,
    ) -> Result<Vec<Batch>, Error> {
        let mut batches = Vec::new();
        let mut order: Vec<u32> = Vec::new();
        for sequence in self.units.expanded(groups) {
            if self.is_alone(sequence) {
                let pad = self.pad_of(std::iter::once(sequence));
                batches.push(Batch { groups: vec![sequence], pad });
            } else {
                order.push(sequence);
            }
        }
        order.sort_by_key(|&sequence| {
            let longest = limit.pad(sequence, lengths.of(sequence)).joint();
            (self.units.kind_of(sequence), std::cmp::Reverse(longest))
        });
        let same = |a: &u32, b: &u32| self.units.kind_of(*a) == self.units.kind_of(*b);
        for own in order.chunk_by(same) {
            let made: Spans = if self.job.strategy.row().is_some() {
                let (order, ends) = pack(own, lengths, limit);
                let groups = Groups::trusted(order, ends).packed();
                rows(groups, lengths, limit, &self.rounding)?.into()
            } else {
                let groups = Groups::trusted(own.to_vec(), vec![own.len() as u32]).together();
                cut(groups, limit, &self.rounding)
            };
            let own = made.iter().map(|(batch, pad)| Batch { groups: batch.to_vec(), pad });
            batches.extend(own.collect::<Vec<Batch>>());
        }
        Ok(batches)
    }
}

/// Groups from the smallest to the largest, dealt to so many takers: each has one of every stratum, so that all have
/// about as much. What is left over are the smallest, and random takers have one of them.
fn dealt(groups: &[u32], takers: usize, rng: &Rng) -> Vec<Vec<u32>> {
    let (left, strata) = groups.split_at(groups.len() % takers);
    let mut dealt = vec![Vec::new(); takers];
    for (turn, stratum) in (0..).zip(std::iter::once(left).chain(strata.chunks(takers))) {
        let order = sort::shuffled(takers as u32, &rng.at_turn(DEALT + turn), Purpose::Draw);
        for (&group, &taker) in stratum.iter().zip(&order) {
            dealt[taker as usize].push(group);
        }
    }
    dealt
}

/// Turns of the randomness for the order in which strata are dealt.
const DEALT: u32 = 5000;
