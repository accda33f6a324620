//! The names of sequences, kept only when asked for. All of them lie in one buffer, end to end;
//! ten million short strings of their own would cost more than the strings.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use crate::error::Error;

/// The column or field that names the sequences.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IdColumn {
    /// The first that has one of the usual names: `id`, `utt_id`, `utterance_id`, `utt`, `key`,
    /// `audio_filepath`, `audio_path`, `path`, `file`, `filename`, `file_name`, `name`.
    Usual,
    /// The one of this name. A table also takes its number, from 1, and JSON a path with dots.
    Named(String),
}

/// The ids of all sequences, in the order of the lengths.
///
/// ```
/// # use lengthwise_input::Ids;
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

    /// The id of the sequence with this index.
    pub fn get(&self, index: usize) -> Option<&str> {
        let end = *self.ends.get(index)? as usize;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        self.text.get(start..end)
    }

    /// All ids in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.len()).map(|index| self.get(index).unwrap_or_default())
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
    pub(crate) fn add(&mut self, id: &str) -> Result<(), Error> {
        let room = self.text.try_reserve(id.len()).and_then(|()| self.ends.try_reserve(1));
        room.map_err(|_| {
            let count = self.len() + 1;
            Error::no_memory("ids", count, (self.text.len() + id.len()) / count + size_of::<u64>())
        })?;
        self.push(id);
        Ok(())
    }

    fn push(&mut self, id: &str) {
        self.text.push_str(id);
        self.ends.push(self.text.len() as u64);
    }
}

impl<'a> FromIterator<&'a str> for Ids {
    fn from_iter<I: IntoIterator<Item = &'a str>>(ids: I) -> Self {
        let mut all = Self::default();
        ids.into_iter().for_each(|id| all.push(id));
        all
    }
}

/// An id that is empty tells nothing apart.
pub(crate) fn check(id: &str, holder: impl Fn() -> String) -> Result<&str, Error> {
    if id.is_empty() {
        return Err(Error::new(format!("{} is empty and should name the sequence", holder()))
            .hint_to("name every sequence, or choose another column with `--ids`"));
    }
    Ok(id)
}

/// Ids were asked of a format that has none.
pub(crate) fn none_in(what: &str) -> Error {
    Error::new(format!("{what} has no ids")).hint_to("leave out `--ids`, or use a table")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn in_and_out() {
        let names = ["", "ä", "utt-1", "", "x"];
        let ids: Ids = names.into_iter().collect();
        assert!(ids.iter().eq(names));
        assert_eq!((ids.len(), ids.get(5)), (5, None));
        assert!(Ids::default().is_empty());
        assert_eq!(Ids::default().first_duplicate(), None);
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
