//! The third and the fourth stage: sequences are grouped, and groups are cut into batches.

use crate::base::rng::{Purpose, Rng};
use crate::cut::batches::Spans;
use crate::cut::in_order::{cut, rows};
use crate::data::lengths::{Lengths, Pad};
use crate::data::over_long::OverLong;
use crate::error::Error;
use crate::limit::too_long::Admitted;
use crate::order::groups::{Drawn, GroupKind};
use crate::pipeline::job::Job;
use crate::pipeline::resolve::Resolved;
use crate::plan::arrange::shuffle;
use crate::strategy::group::Group;

/// Turns of the randomness for epochs that need more batches than there are to be.
const REDRAWS: std::ops::Range<u32> = 2000..2016;

/// Batches in the order they were made, and what the groups were that they are cut from.
pub(crate) struct Grouped {
    pub(crate) batches: Spans,
    pub(crate) kind: GroupKind,
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
            let kind = if packed { GroupKind::Row } else { GroupKind::Loose };
            Grouped { batches: Spans::default(), kind }
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
        let shapes = self.settings.shapes.sides();
        for &sequence in over {
            let Pad { first, second } = self.lengths.both(sequence);
            let alone = |side: usize, length: u32| match length {
                0 => 0,
                _ => u32::try_from(shapes[side].alone(length)).unwrap_or(length),
            };
            batches.push(&[sequence], Pad { first: alone(0, first), second: alone(1, second) });
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
        let split = match (grouped.kind, resolved) {
            (GroupKind::Row, Some(Resolved { rounding, .. })) => {
                let sum = |row: &[u32]| row.iter().map(|&sequence| self.lengths.of(sequence)).sum();
                gathered.split_to(fixed, 1, Some(&|row| rounding.of(sum(row))))?
            }
            _ => gathered.split_to(fixed, self.settings.budget.multiple(), None)?,
        };
        Ok(Grouped { batches: split.into(), kind: grouped.kind })
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
    let (drawn, kind) = (groups.drawn, groups.kind);
    let batches = limit.workspace.stage("cut", || match kind {
        GroupKind::Row => rows(groups, lengths, limit.row(), rounding).map(Spans::from),
        _ => Ok(cut(groups, limit, rounding)),
    })?;
    let batches = match drawn {
        Drawn::InOrder => batches,
        Drawn::AtRandom => shuffle(batches, rng, Purpose::Draw),
    };
    Ok(Grouped { batches, kind })
}
