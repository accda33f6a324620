//! Sequences that stay together, and kinds of sequences that do not mix.

use std::collections::HashMap;

use crate::base::setting::names;
use crate::error::Error;

/// What sequences that [stay together](crate::Lengths::together) share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Together {
    /// A batch, or a packed row.
    #[default]
    Batch,
    /// A rank: they are in the batches of one rank in one optimizer step.
    Rank,
}

impl Together {
    /// The names, as in string forms.
    pub const NAMES: [&str; 2] = ["batch", "rank"];

    /// Both.
    pub const ALL: [Together; 2] = [Together::Batch, Together::Rank];

    /// The manual page of groups and kinds, in Markdown.
    pub const fn explain() -> &'static str {
        include_str!("groups.md")
    }
}

/// What has sequences of one [kind](crate::Lengths::kinds) only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OneKind {
    /// Every batch, or packed row.
    #[default]
    Batch,
    /// Every step of all ranks, too.
    Step,
}

impl OneKind {
    /// The names, as in string forms.
    pub const NAMES: [&str; 2] = ["batch", "step"];

    /// Both.
    pub const ALL: [OneKind; 2] = [OneKind::Batch, OneKind::Step];
}

names!(Together, "share");
names!(OneKind, "value of one-kind");

/// Groups of sequences, and their kinds. Groups are numbered by their first sequences, and kinds as well.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Units {
    /// The group of every sequence.
    pub(crate) of: Vec<u32>,
    /// The sequences group by group, rising in each, and where every group ends.
    members: Vec<u32>,
    ends: Vec<u32>,
    /// The kind of every group; none if kinds were not given.
    kinds: Vec<u32>,
    pub(crate) kind_count: u32,
}

impl Units {
    /// Groups and kinds by the ids of all sequences. Without ids of groups, each sequence is a group of its own.
    pub(crate) fn new(
        groups: Option<&[u32]>,
        kinds: Option<&[u32]>,
        count: usize,
    ) -> Result<Self, Error> {
        let (of, group_count) = match groups {
            Some(ids) => numbered(ids),
            None => ((0..count as u32).collect(), count),
        };
        let mut ends = vec![0; group_count];
        for &group in &of {
            ends[group as usize] += 1;
        }
        let mut end = 0;
        for start in &mut ends {
            (*start, end) = (end, end + *start);
        }
        let mut members = vec![0; count];
        for (sequence, &group) in (0..).zip(&of) {
            members[ends[group as usize] as usize] = sequence;
            ends[group as usize] += 1;
        }
        let (own, kind_count) = kinds.map_or((Vec::new(), 1), numbered);
        let mut units =
            Self { of, members, ends, kinds: Vec::new(), kind_count: kind_count as u32 };
        if let Some(ids) = kinds {
            units.check_kinds(ids)?;
            units.kinds = (0..units.count()).map(|unit| own[units.first(unit) as usize]).collect();
        }
        Ok(units)
    }

    /// Refuses a group of several kinds.
    fn check_kinds(&self, ids: &[u32]) -> Result<(), Error> {
        let kind = |sequence: u32| ids[sequence as usize];
        for unit in 0..self.count() {
            let first = self.first(unit);
            if let Some(&other) = self.get(unit).iter().find(|&&other| kind(other) != kind(first)) {
                let expected =
                    format!("{}, that of sequence {first}, which is in its group", kind(first));
                let of = format!("the kind of sequence {other}");
                return Err(Error::bad_value(of, &kind(other), expected));
            }
        }
        Ok(())
    }

    /// The number of groups.
    pub(crate) fn count(&self) -> u32 {
        self.ends.len() as u32
    }

    /// The sequences of a group.
    pub(crate) fn get(&self, unit: u32) -> &[u32] {
        let at = unit as usize;
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.members[start as usize..self.ends[at] as usize]
    }

    fn first(&self, unit: u32) -> u32 {
        self.get(unit)[0]
    }

    /// How many sequences a group has.
    pub(crate) fn size(&self, unit: u32) -> u32 {
        self.get(unit).len() as u32
    }

    /// Whether some group has several sequences.
    pub(crate) fn has_groups(&self) -> bool {
        self.ends.len() < self.of.len()
    }

    /// The kind of a group; 0 if kinds were not given.
    pub(crate) fn kind(&self, unit: u32) -> u32 {
        self.kinds.get(unit as usize).copied().unwrap_or(0)
    }

    /// The kind of a sequence.
    pub(crate) fn kind_of(&self, sequence: u32) -> u32 {
        self.kind(self.of[sequence as usize])
    }

    /// The sequences of several groups, one after another.
    pub(crate) fn expanded<'a>(
        &'a self,
        units: &'a [u32],
    ) -> impl Iterator<Item = u32> + Clone + 'a {
        units.iter().flat_map(|&unit| self.get(unit)).copied()
    }

    /// The groups of a batch that has them one after another.
    pub(crate) fn collapsed(&self, batch: &[u32]) -> Vec<u32> {
        let (mut units, mut at) = (Vec::new(), 0);
        while let Some(&sequence) = batch.get(at) {
            let unit = self.of[sequence as usize];
            units.push(unit);
            at += self.size(unit) as usize;
        }
        units
    }
}

/// Ids as numbers from 0 in the order of their appearance, and how many there are.
fn numbered(ids: &[u32]) -> (Vec<u32>, usize) {
    let mut known: HashMap<u32, u32> = HashMap::new();
    let numbers = ids.iter().map(|&id| {
        let next = known.len() as u32;
        *known.entry(id).or_insert(next)
    });
    let numbers = numbers.collect();
    (numbers, known.len())
}

impl Units {
    /// The kind of every sequence; none if kinds were not given.
    pub(crate) fn sequence_kinds(&self) -> Vec<u32> {
        if self.kinds.is_empty() {
            return Vec::new();
        }
        self.of.iter().map(|&unit| self.kind(unit)).collect()
    }

    /// The sequences of some groups, about `count`: of every kind its share, of all lengths, and at least the first
    /// group, so that kinds have the same numbers.
    pub(crate) fn sampled(&self, lengths: &[u32], count: usize) -> Vec<u32> {
        let long = |unit: u32| {
            self.get(unit).iter().map(|&at| u64::from(lengths[at as usize])).sum::<u64>()
        };
        let mut order: Vec<u32> = (0..self.count()).collect();
        order.sort_by_cached_key(|&unit| (self.kind(unit), long(unit)));
        let mut chosen = vec![false; order.len()];
        // The products take 64 bits, which a `usize` may not have.
        let all = order.len() as u64;
        let wanted = (all * count as u64).div_ceil(self.of.len().max(1) as u64);
        for place in 1..=wanted.min(all) {
            // The last of each stretch, so that the largest of all is among them.
            chosen[order[(place * all / wanted) as usize - 1] as usize] = true;
        }
        let mut next = 0;
        for unit in 0..self.count() {
            // Kinds are numbered as they appear.
            if self.kind(unit) == next {
                chosen[unit as usize] = true;
                next += 1;
            }
        }
        (0..).zip(&self.of).filter(|&(_, &unit)| chosen[unit as usize]).map(|(at, _)| at).collect()
    }

    /// What a fingerprint of lengths has of them.
    pub(crate) fn digested(&self) -> [Vec<u32>; 2] {
        [self.of.clone(), self.sequence_kinds()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_numbered_by_their_first_sequences() {
        let units = Units::new(Some(&[9, 4, 9, 7, 4]), Some(&[2, 3, 2, 2, 3]), 5).unwrap();
        let groups: Vec<&[u32]> = (0..3).map(|unit| units.get(unit)).collect();
        assert_eq!(groups, [&[0, 2][..], &[1, 4], &[3]]);
        assert_eq!((units.of.as_slice(), units.kind_count), (&[0, 1, 0, 2, 1][..], 2));
        assert_eq!([0, 1, 2].map(|unit| units.kind(unit)), [0, 1, 0]);
        assert!(units.expanded(&[2, 0]).eq([3, 0, 2]));
        assert_eq!(units.collapsed(&[3, 0, 2]), [2, 0]);
    }

    #[test]
    fn a_sample_has_whole_groups_of_every_kind() {
        let groups: Vec<u32> = (0..4000).map(|at| at / 2).collect();
        let kinds: Vec<u32> =
            groups.iter().map(|&group| if group == 1999 { 7 } else { group % 2 }).collect();
        let lengths: Vec<u32> = (0..4000).map(|at| 1 + at * 7919 % 500).collect();
        let units = Units::new(Some(&groups), Some(&kinds), 4000).unwrap();
        let some = units.sampled(&lengths, 200);
        assert!((200..=210).contains(&some.len()), "{}", some.len());
        assert!(some.chunks(2).all(|pair| pair[0] / 2 == pair[1] / 2));
        assert!(some.starts_with(&[0, 1, 2, 3]) && some.ends_with(&[3998, 3999]));
        let of_first = some.iter().filter(|&&at| kinds[at as usize] == 0).count();
        assert!((98..=106).contains(&of_first), "{of_first}");
        let mean = |all: &mut dyn Iterator<Item = u32>| {
            let all: Vec<u32> = all.collect();
            f64::from(all.iter().sum::<u32>()) / all.len() as f64
        };
        let [whole, part] = [
            mean(&mut lengths.iter().copied()),
            mean(&mut some.iter().map(|&at| lengths[at as usize])),
        ];
        assert!((part / whole - 1.0).abs() < 0.03, "{part} of {whole}");
    }
}
