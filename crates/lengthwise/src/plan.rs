//! All batches of one epoch.

use std::fmt;

use xxhash_rust::xxh3::Xxh3;

use crate::{Lengths, Measures, OverLong, cut::Batches};

/// All batches of one epoch, in order; it never changes once made.
///
/// ```
/// use lengthwise::{Budget, Lengths, Planner, Sorted};
///
/// let lengths = Lengths::new([31, 7, 12, 90])?;
/// let plan = Planner::new(Sorted, Budget::padded(100)).seed(42).plan(&lengths, 0)?;
/// for batch in &plan {
///     println!("{batch:?}"); // the indices of its sequences
/// }
/// assert_eq!(plan.len(), 2);
/// # Ok::<(), lengthwise::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Plan {
    indices: Vec<u32>,
    ends: Vec<u32>,
    batch_lengths: Vec<u32>,
    treatment: OverLong,
    over_long: Vec<u32>,
}

impl Plan {
    pub(crate) fn new(batches: Batches, treatment: OverLong, over_long: Vec<u32>) -> Self {
        let Batches { indices, ends, lengths: batch_lengths } = batches;
        Self { indices, ends, batch_lengths, treatment, over_long }
    }

    /// The number of batches.
    #[expect(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// The sequences of one batch.
    pub fn get(&self, batch: usize) -> Option<&[u32]> {
        let end = *self.ends.get(batch)? as usize;
        let start = if batch == 0 { 0 } else { self.ends[batch - 1] as usize };
        Some(&self.indices[start..end])
    }

    /// What one batch is padded to.
    pub fn batch_length(&self, batch: usize) -> Option<u32> {
        self.batch_lengths.get(batch).copied()
    }

    /// What every batch is padded to.
    pub fn batch_lengths(&self) -> &[u32] {
        &self.batch_lengths
    }

    /// The batches, in order.
    pub fn iter(&self) -> Iter<'_> {
        Iter { plan: self, next: 0, end: self.len() }
    }

    /// The sequences of all batches, one batch after another.
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// Where each batch ends in [`indices`](Plan::indices).
    pub fn ends(&self) -> &[u32] {
        &self.ends
    }

    /// The sequences that exceed the budget even alone, and how they were treated: in batches of
    /// their own, left out, or to be truncated to their batch length.
    pub fn over_long(&self) -> (OverLong, &[u32]) {
        (self.treatment, &self.over_long)
    }

    /// The over-long sequences that are in no batch.
    pub fn left_out(&self) -> &[u32] {
        if self.treatment == OverLong::Drop { &self.over_long } else { &[] }
    }

    /// The over-long sequences that are to be cut to their batch length.
    pub fn truncated(&self) -> &[u32] {
        if self.treatment == OverLong::Truncate { &self.over_long } else { &[] }
    }

    /// What the plan costs.
    ///
    /// # Panics
    ///
    /// When `lengths` has fewer sequences than the lengths that the plan was made for.
    pub fn measure(&self, lengths: &Lengths) -> Measures {
        Measures::of(self, lengths)
    }

    /// A fingerprint of the batches, their order and their lengths: XXH3 (64 bits) of the number of
    /// batches, the ends, the batch lengths, then the indices, each as a little-endian `u32`. Equal
    /// plans have equal digests on every machine.
    pub fn digest(&self) -> u64 {
        let mut hash = Xxh3::new();
        let mut bytes = Vec::with_capacity(4 * CHUNK);
        for part in [&[self.len() as u32][..], &self.ends, &self.batch_lengths, &self.indices] {
            for chunk in part.chunks(CHUNK) {
                bytes.clear();
                bytes.extend(chunk.iter().flat_map(|number| number.to_le_bytes()));
                hash.update(&bytes);
            }
        }
        hash.digest()
    }
}

const CHUNK: usize = 1024;

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan")
            .field("batches", &self.len())
            .field("sequences", &self.indices.len())
            .field("digest", &format_args!("{:016x}", self.digest()))
            .finish_non_exhaustive()
    }
}

impl<'a> IntoIterator for &'a Plan {
    type Item = &'a [u32];
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

/// The batches of a [`Plan`], in order.
#[derive(Clone, Debug)]
pub struct Iter<'a> {
    plan: &'a Plan,
    next: usize,
    end: usize,
}

impl<'a> Iterator for Iter<'a> {
    type Item = &'a [u32];

    fn next(&mut self) -> Option<&'a [u32]> {
        if self.next == self.end {
            return None;
        }
        self.next += 1;
        self.plan.get(self.next - 1)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.end - self.next, Some(self.end - self.next))
    }
}

impl DoubleEndedIterator for Iter<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        if self.next == self.end {
            return None;
        }
        self.end -= 1;
        self.plan.get(self.end)
    }
}

impl ExactSizeIterator for Iter<'_> {}
