//! Which part of a corpus a node plans.

use std::fmt;

use crate::error::Error;

#[doc = include_str!("shards.md")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Which one, from 0.
    pub number: u32,
    /// How many there are.
    pub of: u32,
}

impl Shard {
    /// Shard `number`, from 0, of so many.
    pub fn new(number: u32, of: u32) -> Result<Self, Error> {
        if number >= of {
            return Err(Error::BadShard { shard: number, of });
        }
        Ok(Self { number, of })
    }

    /// The manual page of shards, in Markdown.
    pub const fn explain() -> &'static str {
        include_str!("shards.md")
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}
