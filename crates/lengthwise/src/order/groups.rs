//! What a strategy hands over: an order of all sequences, and places that no batch may cross.

use crate::base::rng::Rng;
use crate::base::setting::setters;
use crate::data::lengths::Lengths;
use crate::error::Error;
use crate::limit::resolved::ResolvedBudget;
use crate::order::fill::AnyKeys;
use crate::order::keyed::{AtRungs, Flat, at_rungs, flat};

/// An order of all sequences in groups; a batch never takes from two groups.
///
/// ```
/// use lengthwise::custom::Groups;
///
/// let groups = Groups::new(vec![2, 0, 1], vec![1, 3])?; // {2}, {0, 1}
/// assert!(Groups::new(vec![2, 0, 0], vec![3]).is_err());
/// # let _ = groups;
/// # Ok::<(), lengthwise::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Groups {
    pub(crate) order: Order,
    pub(crate) ends: Vec<u32>,
    pub(crate) drawn: Drawn,
    pub(crate) kind: GroupKind,
    /// What places of short batches are drawn from, if they are.
    pub(crate) short: Option<Rng>,
    /// How many groups make an optimizer step, if they come step by step.
    pub(crate) per_step: Option<u32>,
}

/// All sequences in an order, or already at the rungs of the ladder.
#[derive(Clone, Debug)]
pub(crate) enum Order {
    Flat(Flat),
    AtRungs(AtRungs),
}

/// What each group is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GroupKind {
    /// Sequences that come one after another: a ladder sorts them onto its rungs, in any group.
    Loose,
    /// One batch, or several: a ladder rounds it up to a rung, and keeps it.
    Batch,
    /// One row.
    Row,
}

/// In which order the batches come that were cut from the groups, before they are arranged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Drawn {
    /// As they were cut.
    #[default]
    InOrder,
    /// Each one is drawn at random from those that are left.
    AtRandom,
}

impl Groups {
    /// Checks that `order` holds each index below its length once, and that `ends` rises to it.
    pub fn new(order: Vec<u32>, ends: Vec<u32>) -> Result<Self, Error> {
        let bad = |what: String| Err(Error::BadGroups { what });
        let mut seen = vec![false; order.len()];
        for &sequence in &order {
            match seen.get_mut(sequence as usize) {
                Some(seen) if !*seen => *seen = true,
                Some(_) => return bad(format!("sequence {sequence} is in it twice")),
                None => {
                    let held = format!("it holds only {} sequences", order.len());
                    return bad(format!("sequence {sequence} is in it, but {held}"));
                }
            }
        }
        let last = ends.last().copied().unwrap_or(0);
        if last as usize != order.len() {
            return bad(format!("the last group ends at {last} of {} sequences", order.len()));
        }
        if let Some(at) = ends.windows(2).position(|pair| pair[0] > pair[1]) {
            return bad(format!("group {} ends before group {at}", at + 1));
        }
        Ok(Self::trusted(order, ends))
    }

    /// One group of all sequences, by their keys; on a ladder, sorted onto its rungs.
    pub(crate) fn one(
        lengths: &Lengths,
        limit: &ResolvedBudget,
        keys: &dyn AnyKeys,
    ) -> Result<Self, Error> {
        Self::keyed(lengths, limit, keys, || vec![lengths.count()])
    }

    /// Groups of all sequences by their keys, which end where `ends` says; on a ladder, sorted onto its
    /// rungs across all groups.
    pub(crate) fn keyed(
        lengths: &Lengths,
        limit: &ResolvedBudget,
        keys: &dyn AnyKeys,
        ends: impl FnOnce() -> Vec<u32>,
    ) -> Result<Self, Error> {
        Ok(match at_rungs(lengths, limit, keys)? {
            Some(sorted) => Self::of(Order::AtRungs(sorted), Vec::new()),
            None => Self::trusted(flat(lengths, limit, keys)?, ends()),
        })
    }

    /// Groups that are right by construction.
    pub(crate) fn trusted(order: impl Into<Flat>, ends: Vec<u32>) -> Self {
        Self::of(Order::Flat(order.into()), ends)
    }

    fn of(order: Order, ends: Vec<u32>) -> Self {
        Self {
            order,
            ends,
            drawn: Drawn::InOrder,
            kind: GroupKind::Loose,
            short: None,
            per_step: None,
        }
    }

    /// With what is left at the rungs of a ladder anywhere in the order, where groups are random inside but
    /// come one after another: otherwise the last group at a rung would have what is left there.
    pub(crate) fn left_anywhere(self, limit: &ResolvedBudget, rng: &Rng) -> Self {
        if limit.is_on_ladder() { self.short_anywhere(rng) } else { self }
    }

    /// With groups that are batches already, and that come step by step: so many are an optimizer step over
    /// all ranks. The order stays as it is, whatever arrangement was asked for.
    #[must_use]
    pub fn in_steps(mut self, of: u32) -> Self {
        self.per_step = Some(of);
        self.together()
    }

    /// How many sequences there are.
    pub(crate) fn count(&self) -> usize {
        match &self.order {
            Order::Flat(flat) => flat.order.len(),
            Order::AtRungs(sorted) => sorted.indices.len(),
        }
    }
}

setters! {
impl Groups {
    /// Sets how batches are drawn.
    pub fn drawn(mut self, drawn: Drawn) -> Self { self.drawn = drawn }
    /// Puts the short batch of each group, or the sequences left at a rung of a ladder, at a random
    /// position of the order, drawn anew in every epoch. By default the short batch is the last. Use
    /// this for orders that change little between epochs, such as sorted ones: otherwise the same
    /// sequences would be in the short batch each time.
    pub fn short_anywhere(mut self, rng: &Rng) -> Self { self.short = Some(*rng) }
    /// Treats groups as finished batches: a ladder rounds their lengths up and does not sort their
    /// sequences onto its rungs.
    pub fn together(mut self) -> Self { self.kind = GroupKind::Batch }
    /// Treats groups as rows: the sequences of each come one after another in one row. The strategy
    /// must define what a row may hold ([`Group::row`](crate::custom::Group::row)).
    pub fn packed(mut self) -> Self { self.kind = GroupKind::Row }
}
}
