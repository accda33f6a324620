//! What a strategy hands over: an order of all sequences, and places that no batch may cross.

use crate::Error;

/// An order of all sequences in groups; a batch never takes from two groups.
///
/// ```
/// use lengthwise::Groups;
///
/// let groups = Groups::new(vec![2, 0, 1], vec![1, 3])?; // {2}, {0, 1}
/// assert!(Groups::new(vec![2, 0, 0], vec![3]).is_err());
/// # let _ = groups;
/// # Ok::<(), lengthwise::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Groups {
    order: Vec<u32>,
    ends: Vec<u32>,
    drawn: Drawn,
    dealing: Dealing,
}

/// What a ladder may do with the groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dealing {
    /// Deal the sequences to the rungs, whatever group they are in.
    Free,
    /// Round groups up to a rung, but keep them.
    Together,
    /// Keep the groups: each is one row.
    Packed,
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
                    return bad(format!(
                        "sequence {sequence} is in it, but it holds only {} sequences",
                        order.len()
                    ));
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

    /// One group of all sequences.
    pub(crate) fn one(order: Vec<u32>) -> Self {
        let end = order.len() as u32;
        Self::trusted(order, vec![end])
    }

    /// Groups that are right by construction.
    pub(crate) fn trusted(order: Vec<u32>, ends: Vec<u32>) -> Self {
        Self { order, ends, drawn: Drawn::InOrder, dealing: Dealing::Free }
    }

    /// With the batches drawn in the given way.
    #[must_use]
    pub fn drawn(mut self, drawn: Drawn) -> Self {
        self.drawn = drawn;
        self
    }

    /// With groups that are batches already: a ladder rounds their lengths up and does not deal
    /// their sequences to its rungs.
    #[must_use]
    pub fn together(mut self) -> Self {
        self.dealing = Dealing::Together;
        self
    }

    /// With groups that are rows: the sequences of each come one after another in one row. The
    /// strategy must say what a row may hold ([`Group::row`](crate::Group::row)).
    #[must_use]
    pub fn packed(mut self) -> Self {
        self.dealing = Dealing::Packed;
        self
    }

    pub(crate) fn dealing(&self) -> Dealing {
        self.dealing
    }

    pub(crate) fn how_drawn(&self) -> Drawn {
        self.drawn
    }

    pub(crate) fn order(&self) -> &[u32] {
        &self.order
    }

    pub(crate) fn into_parts(self) -> (Vec<u32>, Vec<u32>) {
        (self.order, self.ends)
    }
}
