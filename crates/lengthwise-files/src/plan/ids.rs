//! The ids of what is in the batches. All of them lie in one buffer, end to end; ten million short
//! strings of their own would cost more than the strings.

use std::{fmt, ops::Range};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{DeserializeSeed, SeqAccess, Visitor},
};

use super::document::Wrong;

/// The ids of a plan: one for each index in its batches, in the order of the plan.
///
/// ```
/// # use lengthwise_files::Ids;
/// let ids: Ids = ["utt-7", "utt-3"].into_iter().collect();
/// assert_eq!(ids.get(1), Some("utt-3"));
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

    /// The id at this place of the plan, if there is one.
    pub fn get(&self, place: usize) -> Option<&str> {
        let end = *self.ends.get(place)? as usize;
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        self.text.get(start..end)
    }

    /// All ids in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        self.range(0..self.len())
    }

    /// Those at some places, which must be there.
    pub(super) fn range(&self, places: Range<usize>) -> impl ExactSizeIterator<Item = &str> {
        places.map(|place| self.get(place).unwrap_or_default())
    }

    pub(super) fn push(&mut self, id: &str) {
        self.text.push_str(id);
        self.ends.push(self.text.len() as u64);
    }

    /// The bytes of all ids.
    pub(super) fn bytes(&self) -> &[u8] {
        self.text.as_bytes()
    }

    /// Where each ends in the bytes.
    pub(super) fn ends(&self) -> &[u64] {
        &self.ends
    }

    /// Ids from their bytes and where each ends: they follow each other, each is text, and nothing
    /// is left.
    pub(super) fn of_bytes(bytes: Vec<u8>, ends: Vec<u64>) -> Result<Self, Wrong> {
        let text = String::from_utf8(bytes).map_err(|_| "its ids are no text".to_owned())?;
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

/// The ids of each batch, as lists in a list.
pub(super) struct OfBatches<'a>(pub(super) &'a Ids, pub(super) &'a [u32]);

impl Serialize for OfBatches<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut start = 0;
        serializer.collect_seq(self.1.iter().map(|&end| {
            let places = start..end as usize;
            start = places.end;
            OfBatch(self.0, places)
        }))
    }
}

/// The ids of one batch, as a list.
pub(super) struct OfBatch<'a>(pub(super) &'a Ids, pub(super) Range<usize>);

impl Serialize for OfBatch<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.range(self.1.clone()))
    }
}

/// The list of a line.
impl<'de> Deserialize<'de> for Ids {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut ids = Self::default();
        deserializer.deserialize_seq(List(&mut ids))?;
        Ok(ids)
    }
}

struct List<'a>(&'a mut Ids);

impl<'de> Visitor<'de> for List<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a list of ids")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(One(self.0))?.is_some() {}
        Ok(())
    }
}

/// Reads one id behind those that are there, without a string of its own.
pub(super) struct One<'a>(pub(super) &'a mut Ids);

impl<'de> DeserializeSeed<'de> for One<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for One<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("an id")
    }

    fn visit_str<E>(self, id: &str) -> Result<(), E> {
        self.0.push(id);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_and_out() {
        let names = ["", "ä\n", "utt-1", "", "x\0"];
        let ids: Ids = names.into_iter().collect();
        assert!(ids.iter().eq(names));
        assert_eq!((ids.len(), ids.get(5)), (5, None));
        assert!(Ids::default().is_empty());
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
}
