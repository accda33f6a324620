//! A line of JSON with only the fields that are read. All of it is parsed, and invalid JSON is refused
//! anywhere; but texts and lists in other fields are not kept, which is most of the work on a manifest
//! with transcripts.

use std::{borrow::Cow, fmt};

use serde::de::{Error as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer as _};
use serde_json::{Map, Value};

use crate::text::quote;

/// The fields of an object that are kept, by name.
pub(super) struct Kept(Vec<String>);

impl Kept {
    /// What `find` looks at for these names: each itself, and the first part of one
    /// with dots.
    pub(super) fn new<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        let mut kept = Vec::new();
        for name in names {
            for part in [Some(name), name.split_once('.').map(|(first, _)| first)] {
                let part = part.map(str::to_owned);
                kept.extend(part.filter(|part| !kept.contains(part)));
            }
        }
        Self(kept)
    }

    /// The value of a text; of an object, these fields alone.
    pub(super) fn parse(&self, text: &str) -> serde_json::Result<Value> {
        if !text.starts_with('{') {
            return serde_json::from_str(text);
        }
        let mut parser = serde_json::Deserializer::from_str(text);
        let value = parser.deserialize_map(self)?;
        parser.end()?;
        Ok(value)
    }
}

/// The name of a field, without a string of its own where nothing in it is escaped.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de> Visitor<'de> for &Kept {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut kept = Map::new();
        while let Some(Name(name)) = fields.next_key()? {
            if !self.0.iter().any(|kept| *kept == name) {
                fields.next_value::<IgnoredAny>()?;
                continue;
            }
            // Most readers take the last of two; which of them is right is not known.
            if kept.insert(name.clone().into_owned(), fields.next_value()?).is_some() {
                return Err(A::Error::custom(format!("field {} is there twice", quote(&name))));
            }
        }
        Ok(Value::Object(kept))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_looked_at() {
        let kept = Kept::new(["a.b", "id"].into_iter());
        let parsed = |text: &str| kept.parse(text).map(|value| value.to_string());
        let line = r#" "a": {"b": [1], "c": {}}, "x": [{"id": 0}], "a.b": 2, "id": 3, "x": 4}"#;
        let expected = r#"{"a":{"b":[1],"c":{}},"a.b":2,"id":3}"#;
        assert_eq!(parsed(&format!("{{{line}")).unwrap(), expected);
        let twice = parsed(r#"{"id": 3, "\u0069d": 3}"#).unwrap_err();
        assert!(twice.is_data() && twice.to_string().starts_with("field `id` is there twice"));
        assert_eq!(parsed(r#"{"\u0069d": 4}"#).unwrap(), r#"{"id":4}"#);
        assert_eq!(parsed("[1, 2]").unwrap(), "[1,2]");
        assert_eq!(parsed("7").unwrap(), "7");
    }

    /// What breaks the grammar is refused as it is when everything is kept.
    #[test]
    fn nothing_broken_is_passed_over() {
        let kept = Kept::new(["id"].into_iter());
        let whole = r#"{"x": ["a\u00e4\n", 1.5e-3, true, null, {"y": []}], "id": 3}"#;
        assert!(kept.parse(whole).is_ok());
        for end in 0..whole.len() {
            assert!(kept.parse(&whole[..end]).is_err(), "{end}");
        }
        for at in 0..whole.len() {
            for other in ["\"", "{", "]", "\\", ",", ":", "0", "-", ".", "e", "\u{1}", "x", " "] {
                let changed = [&whole[..at], other, &whole[at + 1..]].concat();
                let kept = kept.parse(&changed);
                assert_eq!(
                    kept.is_ok(),
                    serde_json::from_str::<Value>(&changed).is_ok(),
                    "{changed}"
                );
            }
        }
    }
}
