//! The third and the fourth stage: sequences are grouped, and groups are cut into batches.

use crate::{
    base::rng::{Purpose, Rng},
    cut::{
        in_order::{cut, rows},
        spans::Spans,
    },
    data::{lengths::Lengths, over_long::OverLong, pad::Pad},
    error::Error,
    limit::admitted::Admitted,
    order::groups::{Drawn, Regroup},
    pipeline::{job::Job, resolve::Resolved},
    plan::arrange,
    shape::shapes::Shapes,
    strategy::group::Group,
};

/// Turns of the randomness for epochs that need more batches than there are to be.
const REDRAWS: std::ops::Range<u32> = 2000..2016;

/// Batches in the order they were made, and whether they may be mixed.
pub(crate) struct Grouped {
    pub(crate) batches: Spans,
    pub(crate) regroup: Regroup,
}

impl Job<'_> {
    /// The batches of an epoch by the given strategy, as they were made.
    pub(crate) fn group(
        &self,
        strategy: &dyn Group,
        admitted: &Admitted,
        resolved: Option<&Resolved>,
        rng: &Rng,
    ) -> Result<Grouped, Error> {
        self.workspace.check_stop()?;
        let mut grouped = if let Some(resolved) = resolved {
            build(strategy, &admitted.lengths, resolved, rng)?
        } else {
            // Each sequence is a batch of its own, or a row.
            let packed = self.strategy.row().is_some();
            let regroup = if packed { Regroup::Packed } else { Regroup::Free };
            Grouped { batches: Spans::default(), regroup }
        };
        if let Some(kept) = &admitted.kept {
            grouped.batches.rename(|sequence| kept[sequence as usize]);
        }
        if self.settings.over_long == OverLong::Alone {
            self.add_alone(&mut grouped.batches, &admitted.over);
        }
        Ok(grouped)
    }

    /// Adds each of these sequences as a batch of its own.
    fn add_alone(&self, batches: &mut Spans, over: &[u32]) {
        let [first, second] = self.settings.shapes.sides();
        let alone =
            |shapes: &Shapes, length: u32| u32::try_from(shapes.alone(length)).unwrap_or(length);
        for &sequence in over {
            let Pad { first: a, second: b } = self.lengths.both(sequence);
            let second = if b == 0 { 0 } else { alone(second, b) };
            batches.push(&[sequence], Pad { first: alone(first, a), second });
        }
    }

    /// The same sequences in exactly so many batches: an epoch that needs more is drawn anew, and as a
    /// last resort sorted; of one that needs fewer the largest batches are split.
    pub(crate) fn group_fixed(
        &self,
        fixed: u32,
        admitted: &Admitted,
        resolved: Option<&Resolved>,
        rng: &Rng,
    ) -> Result<Grouped, Error> {
        let too_many = |grouped: &Grouped| grouped.batches.len() > fixed as usize;
        let draw = |strategy: &dyn Group, rng: &Rng| self.group(strategy, admitted, resolved, rng);
        let mut grouped = draw(self.strategy, rng)?;
        self.check_small_shard(admitted, fixed)?;
        for turn in REDRAWS {
            if !too_many(&grouped) {
                break;
            }
            grouped = draw(self.strategy, &rng.at_turn(turn))?;
        }
        if too_many(&grouped) {
            grouped = draw(self.last_resort(), rng)?;
        }
        if self.settings.shard.is_some() && too_many(&grouped) {
            let [counted, given] = [fixed as usize, grouped.batches.len()].map(|n| n.to_string());
            return Err(Error::OtherNeeds { what: "batches".to_owned(), counted, given });
        }
        let gathered = grouped.batches.gathered(self.workspace);
        let split = match (grouped.regroup, resolved) {
            (Regroup::Packed, Some(Resolved { rounding, .. })) => gathered
                .split_rows_to(fixed, |row| {
                    rounding.of(row.iter().map(|&sequence| self.lengths.of(sequence)).sum())
                })?,
            _ => gathered.split_to(fixed, self.settings.budget.multiple())?,
        };
        Ok(Grouped { batches: split.into(), regroup: grouped.regroup })
    }

    /// Refuses a shard with fewer sequences than batches.
    fn check_small_shard(&self, admitted: &Admitted, fixed: u32) -> Result<(), Error> {
        let dropped = self.settings.over_long == OverLong::Drop;
        let sequences = self.lengths.len() - if dropped { admitted.over.len() } else { 0 };
        match self.settings.shard {
            Some(shard) if sequences < fixed as usize => {
                Err(Error::SmallShard { shard: shard.number, sequences, batches: fixed })
            }
            _ => Ok(()),
        }
    }
}

/// The batches as the strategy built them, of sequences that all fit the budget.
fn build(
    strategy: &dyn Group,
    lengths: &Lengths,
    resolved: &Resolved,
    rng: &Rng,
) -> Result<Grouped, Error> {
    let Resolved { rounding, limit } = resolved;
    let groups = strategy.group(lengths, limit, rng)?;
    if groups.count() != lengths.len() {
        return Err(Error::BadGroups {
            what: format!("it holds {} sequences of {}", groups.count(), lengths.len()),
        });
    }
    let (drawn, regroup) = (groups.how_drawn(), groups.regroup());
    let batches = limit.workspace().stage("cut", || match regroup {
        Regroup::Packed => rows(groups, lengths, limit.row(), rounding).map(Spans::from),
        _ => Ok(cut(groups, limit, rounding)),
    })?;
    let batches = match drawn {
        Drawn::InOrder => batches,
        Drawn::AtRandom => arrange::shuffle(batches, rng, Purpose::Draw),
    };
    Ok(Grouped { batches, regroup })
}
