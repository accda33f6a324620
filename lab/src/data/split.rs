//! Which sequences are to learn from, and which to be examined on.

use serde::Deserialize;

use super::draw::{Draw, Part, Subject};
use super::error::{Error, quote, quote_all};
use super::table::Table;

/// A rule by the values of a column.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Split {
    /// The column.
    pub column: String,
    /// The values of what to learn from. When there are none: all that are not for examination.
    #[serde(default)]
    pub training: Vec<String>,
    /// The values of what to be examined on.
    pub validation: Vec<String>,
}

impl Default for Split {
    /// `train` and `test` in the column `split`.
    fn default() -> Self {
        Self {
            column: "split".into(),
            training: vec!["train".into()],
            validation: vec!["test".into()],
        }
    }
}

impl Split {
    /// The part of every row; rows of neither are left out.
    pub(crate) fn parts(&self, table: &Table) -> Result<Vec<Option<Part>>, Error> {
        let column = table.column(&self.column)?;
        let has = |values: &[String], field: &str| values.iter().any(|value| value == field);
        let parts: Vec<Option<Part>> = (0..table.len())
            .map(|row| {
                let field = table.field(row, column);
                if has(&self.validation, field) {
                    Some(Part::Validation)
                } else if self.training.is_empty() || has(&self.training, field) {
                    Some(Part::Training)
                } else {
                    None
                }
            })
            .collect();
        for (part, wanted) in
            [(Part::Training, &self.training), (Part::Validation, &self.validation)]
        {
            if !parts.contains(&Some(part)) {
                return Err(self.nothing(table, column, part, wanted));
            }
        }
        Ok(parts)
    }

    fn nothing(&self, table: &Table, column: usize, part: Part, wanted: &[String]) -> Error {
        let mut there: Vec<&str> = (0..table.len()).map(|row| table.field(row, column)).collect();
        there.sort_unstable();
        there.dedup();
        let wanted: Vec<String> = wanted.iter().map(|value| quote(value)).collect();
        let wanted = if wanted.is_empty() { "another value".into() } else { wanted.join(" or ") };
        table.error(
            format!(
                "the {} part is empty: no row has {wanted} in column {}; there are {}",
                part.name(),
                quote(&self.column),
                quote_all(there),
            ),
            "name values that are there",
        )
    }
}

/// What is held out by chance, where no column says it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum HoldOut {
    /// Such a share of the sequences.
    Share(f64),
    /// All sequences of some groups, such as speakers.
    Groups(Groups),
}

/// Groups that are held out.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Groups {
    /// The column in which the sequences of a group are the same.
    pub by: String,
    /// How many groups are held out. Which is drawn.
    #[serde(default = "one")]
    pub count: u32,
}

fn one() -> u32 {
    1
}

impl HoldOut {
    /// The part of every one of so many sequences. `column` gives the values of a column.
    pub(crate) fn parts<'a>(
        &self,
        seed: u64,
        sequences: usize,
        column: impl Fn(&str) -> Result<Vec<&'a str>, Error>,
    ) -> Result<Vec<Option<Part>>, Error> {
        match self {
            Self::Share(share) if (0.0..1.0).contains(share) => {
                Ok(held_out(*share, seed, sequences))
            }
            Self::Share(share) => Err(Error::new(
                format!("`hold_out` is {share}"),
                "say what share to hold out, from 0 up to 1",
            )),
            Self::Groups(groups) => groups.parts(seed, &column(&groups.by)?),
        }
    }
}

impl Groups {
    fn parts(&self, seed: u64, values: &[&str]) -> Result<Vec<Option<Part>>, Error> {
        let mut names = values.to_vec();
        names.sort_unstable();
        names.dedup();
        let count = self.count as usize;
        if count == 0 || count >= names.len() {
            return Err(Error::new(
                format!(
                    "`hold_out` has a count of {count}, and column {} has {} values: {}",
                    quote(&self.by),
                    names.len(),
                    quote_all(names),
                ),
                "hold out at least one, and keep at least one to learn from",
            ));
        }
        let mut draw = Draw::new(seed, Subject::HeldOut, Part::Validation, 0);
        for place in 0..count {
            let other = draw.between(place as u32, names.len() as u32 - 1) as usize;
            names.swap(place, other);
        }
        let out = &names[..count];
        let part = |value| if out.contains(value) { Part::Validation } else { Part::Training };
        Ok(values.iter().map(|value| Some(part(value))).collect())
    }
}

/// A part for every sequence: so large a share, drawn from the seed, is for examination.
pub(crate) fn held_out(share: f64, seed: u64, count: usize) -> Vec<Option<Part>> {
    (0..count as u64)
        .map(|index| {
            let out = Draw::new(seed, Subject::HeldOut, Part::Common, index).happens(share);
            Some(if out { Part::Validation } else { Part::Training })
        })
        .collect()
}
