//! Random groups and kinds, and whether batches keep them.

#![expect(clippy::unwrap_used, reason = "what is drawn here is right")]

use std::collections::{BTreeMap, BTreeSet};

use lengthwise::{Lengths, custom::Stream, groups::Together};

/// Ids of groups and kinds, and the sequences of every group.
#[derive(Default)]
pub(super) struct Groups {
    pub(super) of: Vec<u32>,
    pub(super) kinds: Vec<u32>,
    pub(super) members: BTreeMap<u32, Vec<u32>>,
}

impl Groups {
    pub(super) fn draw(random: &mut Stream, count: u32, of_kinds: bool) -> Self {
        let most = 1 + random.below(6);
        let some = 1 + random.below(count);
        let mut id = 0;
        let of: Vec<u32> = match random.below(4) {
            0 => (0..count).collect(),
            1 => (0..count).map(|at| at / 2).collect(),
            2 => (0..count).map(|_| random.below(some)).collect(),
            _ => (0..count)
                .map(|_| {
                    id += u32::from(random.below(most) == 0);
                    id
                })
                .collect(),
        };
        let mut members: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (sequence, &id) in (0..).zip(&of) {
            members.entry(id).or_default().push(sequence);
        }
        let kinds = 1 + random.below(4);
        let own: BTreeMap<u32, u32> = members.keys().map(|&id| (id, random.below(kinds))).collect();
        let kinds = if of_kinds { of.iter().map(|id| own[id]).collect() } else { Vec::new() };
        Self { of, kinds, members }
    }

    pub(super) fn of(&self, sequence: u32) -> &[u32] {
        &self.members[&self.of[sequence as usize]]
    }

    /// The groups of a batch.
    pub(super) fn ids(&self, batch: &[u32]) -> BTreeSet<u32> {
        batch.iter().map(|&one| self.of[one as usize]).collect()
    }

    pub(super) fn kind(&self, sequence: u32) -> u32 {
        self.kinds.get(sequence as usize).copied().unwrap_or(0)
    }

    /// Whether all sequences of every group are in the batch, and all are of one kind.
    pub(super) fn check(&self, batch: &[u32], share: Together) -> Result<(), String> {
        let mut found: BTreeMap<u32, usize> = BTreeMap::new();
        for &one in batch {
            *found.entry(self.of[one as usize]).or_default() += 1;
        }
        let is_split = |(id, count): &(&u32, &usize)| self.members[*id].len() != **count;
        if let Some((id, count)) = found.iter().find(is_split).filter(|_| share == Together::Batch)
        {
            return Err(format!("group {id} is split: {count} of {}", self.members[id].len()));
        }
        let kind = self.kind(batch[0]);
        match batch.iter().find(|&&one| self.kind(one) != kind) {
            Some(one) => Err(format!("a batch has two kinds, of {} and {one}", batch[0])),
            None => Ok(()),
        }
    }

    /// The lengths with these ids, of all sequences or of some.
    pub(super) fn added(&self, lengths: Lengths, range: std::ops::Range<usize>) -> Lengths {
        let lengths = lengths.together(&self.of[range.clone()]).unwrap();
        if self.kinds.is_empty() { lengths } else { lengths.kinds(&self.kinds[range]).unwrap() }
    }
}
