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

/// A part for every sequence: so large a share, drawn from the seed, is for examination.
pub(crate) fn held_out(share: f64, seed: u64, count: usize) -> Vec<Option<Part>> {
    (0..count as u64)
        .map(|index| {
            let out = Draw::new(seed, Subject::HeldOut, Part::Common, index).happens(share);
            Some(if out { Part::Validation } else { Part::Training })
        })
        .collect()
}
