//! The ids of sequences. All of them lie in one buffer, end to end: ten million short strings of their
//! own would take more memory than their text.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::{collections::TryReserveError, ops::Range};

/// One id for each sequence: those that were read, in the order of the lengths; or those of a plan, one
/// for each index in its batches.
///
/// ```
/// # use lengthwise_io::Ids;
/// let ids: Ids = ["a", "b", "a"].into_iter().collect();
/// assert_eq!(ids.get(1), Some("b"));
/// assert_eq!(ids.first_duplicate(), Some((0, 2)));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ids {
    text: String,
    /// Where each id ends in the text; it begins where the one before ends.
    ends: Vec<u64>,
}

impl Ids {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The id at this index, if there is one.
    pub fn get(&self, index: usize) -> Option<&str> {
        let end = *self.ends.get(index)? as usize;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        self.text.get(start..end)
    }

    /// All ids in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        self.range(0..self.len())
    }

    /// The ids in a range of indices, which must exist.
    pub(crate) fn range(&self, indices: Range<usize>) -> impl ExactSizeIterator<Item = &str> {
        indices.map(|index| self.get(index).unwrap_or_default())
    }

    /// The first id that was there before, as the indices of both sequences.
    pub fn first_duplicate(&self) -> Option<(usize, usize)> {
        self.duplicates().first().copied()
    }

    /// Every sequence whose id was there before, with the last that had it, as indices: that one,
    /// and the sequence, by which they are sorted.
    ///
    /// Takes 16 bytes a sequence while it runs, and time like sorting as many numbers.
    pub fn duplicates(&self) -> Vec<(usize, usize)> {
        // Fixed keys: the result does not depend on them, only which ids are compared in full.
        let keys = BuildHasherDefault::<DefaultHasher>::new();
        let mut hashed: Vec<(u64, u32)> =
            self.iter().enumerate().map(|(index, id)| (keys.hash_one(id), index as u32)).collect();
        let id = |index: u32| self.get(index as usize);
        hashed.sort_unstable_by(|a, b| {
            a.0.cmp(&b.0).then_with(|| id(a.1).cmp(&id(b.1))).then(a.1.cmp(&b.1))
        });
        let same = |pair: &&[(u64, u32)]| pair[0].0 == pair[1].0 && id(pair[0].1) == id(pair[1].1);
        let pairs = hashed.windows(2).filter(same);
        let mut found: Vec<(usize, usize)> =
            pairs.map(|pair| (pair[0].1 as usize, pair[1].1 as usize)).collect();
        found.sort_unstable_by_key(|pair| pair.1);
        found
    }

    /// Adds an id, if there is memory for it.
    pub(crate) fn add(&mut self, id: &str) -> Result<(), TryReserveError> {
        self.text.try_reserve(id.len())?;
        self.ends.try_reserve(1)?;
        self.push(id);
        Ok(())
    }

    pub(crate) fn push(&mut self, id: &str) {
        self.text.push_str(id);
        self.ends.push(self.text.len() as u64);
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.text.as_bytes()
    }

    pub(crate) fn ends(&self) -> &[u64] {
        &self.ends
    }

    /// Ids from their bytes and where each ends: they follow each other, each is text, and nothing
    /// is left.
    pub(crate) fn of_bytes(bytes: Vec<u8>, ends: Vec<u64>) -> Result<Self, String> {
        let text =
            String::from_utf8(bytes).map_err(|_| "its ids are not valid UTF-8".to_owned())?;
        let mut before = 0;
        for &end in &ends {
            let within = usize::try_from(end).is_ok_and(|end| text.is_char_boundary(end));
            if end < before || !within {
                return Err(format!("an id ends at {end}, after {before} of {}", text.len()));
            }
            before = end;
        }
        if before != text.len() as u64 {
            return Err(format!("its ids end at {before} of {}", text.len()));
        }
        Ok(Self { text, ends })
    }
}

impl<'a> FromIterator<&'a str> for Ids {
    fn from_iter<I: IntoIterator<Item = &'a str>>(ids: I) -> Self {
        let mut all = Self::default();
        ids.into_iter().for_each(|id| all.push(id));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn in_and_out() {
        let names = ["", "ä\n", "utt-1", "", "x\0"];
        let ids: Ids = names.into_iter().collect();
        assert!(ids.iter().eq(names));
        assert_eq!((ids.len(), ids.get(5)), (5, None));
        assert!(Ids::default().is_empty());
        assert_eq!(Ids::default().first_duplicate(), None);
        let again = Ids::of_bytes(ids.bytes().to_vec(), ids.ends().to_vec());
        assert_eq!(again, Ok(ids));
    }

    #[test]
    fn wrong_ends_are_refused() {
        let ids = |ends: &[u64]| Ids::of_bytes("aäb".as_bytes().to_vec(), ends.to_vec());
        assert!(ids(&[1, 3, 4]).is_ok() && ids(&[0, 4, 4]).is_ok());
        for wrong in [&[1, 2, 4][..], &[3, 1, 4], &[1, 5], &[1, 3], &[4, u64::MAX], &[]] {
            assert!(ids(wrong).is_err(), "{wrong:?}");
        }
        assert!(Ids::of_bytes(vec![0xff], vec![1]).is_err());
    }

    proptest! {
        #[test]
        fn the_first_duplicate_is_found(names in prop::collection::vec("[ab]{0,4}", 0..20)) {
            let ids: Ids = names.iter().map(String::as_str).collect();
            let expected = (0..names.len()).find_map(|late| {
                (0..late).rev().find(|&early| names[early] == names[late]).map(|early| (early, late))
            });
            prop_assert_eq!(ids.first_duplicate(), expected);
        }
    }
}
