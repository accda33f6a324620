//! Settings in JSON and the like: in the string forms that people type.

use std::fmt::Display;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::data::mix::Mix;
use crate::data::over_long::OverLong;
use crate::data::shard::Shard;
use crate::data::units::{OneKind, Together};
use crate::limit::budget::Budget;
use crate::limit::cost::CostModel;
use crate::limit::update::Update;
use crate::plan::arrange::{Arrange, Steps, Tail};
use crate::shape::shapes::Shapes;

macro_rules! string_forms {
    ($($name:ty)*) => {$(
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
            }
        }
    )*};
}

string_forms! {
    Arrange Budget CostModel Mix OneKind OverLong Shapes Steps Tail Together Update
}

/// Its number, and how many there are.
impl Serialize for Shard {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        [self.number, self.of].serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Shard {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let [number, of] = Deserialize::deserialize(deserializer)?;
        Shard::new(number, of).map_err(D::Error::custom)
    }
}

/// Fingerprints as sixteen hexadecimal digits.
pub(crate) mod hex {
    use super::*;

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde asks for")]
    pub(crate) fn serialize<S: Serializer>(digest: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{digest:016x}") as &dyn Display)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digits = text.len() == 16
            && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        let number = u64::from_str_radix(&text, 16).ok().filter(|_| digits);
        number.ok_or_else(|| D::Error::custom(format!("{text:?} is not a fingerprint")))
    }
}
