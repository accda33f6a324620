//! Ids as lists in JSON.

use std::{fmt, ops::Range};

use serde::de::{DeserializeSeed, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::ids::Ids;

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
