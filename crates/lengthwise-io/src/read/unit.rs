//! What a text is measured in, and the counting. Only what was asked for is counted: a reader
//! takes the number in a file for a length, unless a [`Unit`] says that the file holds texts.

use std::{fmt, path::PathBuf, str::FromStr};

use crate::error::Error;
use crate::read::number::{self, Reason};
#[cfg(feature = "tokenizers")]
use crate::read::tokens;
use crate::text::quote;

/// What the length of a text counts.
///
/// The string forms are `words`, `characters`, `bytes` and `tokens:FILE`.
///
/// ```
/// # use lengthwise_io::Unit;
/// assert_eq!("words".parse(), Ok(Unit::Words));
/// let unit: Unit = "tokens:bert/tokenizer.json".parse()?;
/// assert_eq!(unit.to_string(), "tokens:bert/tokenizer.json");
/// # Ok::<(), lengthwise_io::UnknownUnit>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unit {
    /// Runs of anything but white space, by Unicode's list of white space.
    Words,
    /// Unicode scalar values, which is what Python's `len` counts.
    Characters,
    /// Bytes of UTF-8.
    Bytes,
    /// Tokens of the Hugging Face tokenizer in this `tokenizer.json`, with the special tokens
    /// that it puts round a sequence. Its own truncation and padding are switched off.
    Tokens(PathBuf),
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unit::Words => f.pad("words"),
            Unit::Characters => f.pad("characters"),
            Unit::Bytes => f.pad("bytes"),
            Unit::Tokens(path) => write!(f, "tokens:{}", path.display()),
        }
    }
}

impl FromStr for Unit {
    type Err = UnknownUnit;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match (name, name.strip_prefix("tokens:")) {
            ("words", _) => Ok(Unit::Words),
            ("characters", _) => Ok(Unit::Characters),
            ("bytes", _) => Ok(Unit::Bytes),
            (_, Some(path)) if !path.is_empty() => Ok(Unit::Tokens(path.into())),
            _ => Err(UnknownUnit { name: name.to_owned() }),
        }
    }
}

/// A unit that is none of `words`, `characters`, `bytes` and `tokens:FILE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownUnit {
    name: String,
}

impl fmt::Display for UnknownUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = quote(&self.name);
        write!(f, "there is no unit {name}; the units are words, characters, bytes and tokens:FILE")
    }
}

impl std::error::Error for UnknownUnit {}

/// A unit that is ready to count.
#[derive(Debug)]
pub(crate) enum Counter {
    Words,
    Characters,
    Bytes,
    #[cfg(feature = "tokenizers")]
    Tokens(Box<tokenizers::Tokenizer>),
}

impl Counter {
    pub(crate) fn new(unit: &Unit) -> Result<Self, Error> {
        match unit {
            Unit::Words => Ok(Counter::Words),
            Unit::Characters => Ok(Counter::Characters),
            Unit::Bytes => Ok(Counter::Bytes),
            #[cfg(feature = "tokenizers")]
            Unit::Tokens(path) => Ok(Counter::Tokens(Box::new(tokens::load(path)?))),
            #[cfg(not(feature = "tokenizers"))]
            Unit::Tokens(_) => Err(Error::not_built("count tokens", "tokenizers")),
        }
    }

    /// The length of a text that `holder` holds.
    pub(crate) fn length(&self, text: &str, holder: &str) -> Result<u32, Error> {
        if text.trim().is_empty() {
            return Err(Reason::Empty.error(holder, text));
        }
        let count = match self {
            Counter::Words => text.split_whitespace().count() as u64,
            Counter::Characters => text.chars().count() as u64,
            Counter::Bytes => text.len() as u64,
            #[cfg(feature = "tokenizers")]
            Counter::Tokens(tokenizer) => match tokens::count(tokenizer, text)? {
                0 => {
                    let message = format!("the tokenizer finds nothing in {}", quote(text));
                    return Err(
                        Error::new(message).hint_to("leave such texts out: lengths start at 1")
                    );
                }
                count => count,
            },
        };
        number::from_u64(count).map_err(|reason| reason.error(holder, &count.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_each_unit_counts() {
        let text = "zwölf  Boxkämpfer\u{2003}jagen 🥊";
        for (unit, length) in [(Unit::Words, 4), (Unit::Characters, 25), (Unit::Bytes, 32)] {
            let counter = Counter::new(&unit).unwrap();
            assert_eq!(counter.length(text, "the line").unwrap(), length, "{unit}");
            let error = counter.length(" \u{a0}", "the line").unwrap_err();
            assert_eq!(error.to_string(), ": the line is empty");
        }
    }

    #[test]
    fn names_go_both_ways() {
        for name in ["words", "characters", "bytes", "tokens:a:b.json"] {
            assert_eq!(name.parse::<Unit>().unwrap().to_string(), name);
        }
        for name in ["", "tokens", "tokens:", "Words", "letters"] {
            let error = name.parse::<Unit>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("there is no unit `{name}`; the units are words")));
        }
    }
}
