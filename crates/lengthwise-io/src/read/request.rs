//! What a reader is asked for, in the form that readers need, and where they put what they find.

use crate::error::Error;
use crate::ids::Ids;
use crate::read::column::{Column, Spool};
use crate::read::columns::{self, IdColumn};
use crate::read::number::{self, Reason};
use crate::read::{time::Time, unit::Counter};
use crate::text::quote;

/// What the values of a file are.
#[derive(Debug)]
pub(crate) enum Measure {
    /// Lengths.
    Numbers,
    /// Lengths, and no texts: those are refused even where their column was asked for.
    NumbersOnly,
    /// Durations.
    Seconds(Time),
    /// Texts, whose length is counted.
    Texts(Counter),
}

impl Measure {
    /// The length that a field of digits stands for.
    #[inline]
    pub(crate) fn bytes(&self, field: &[u8]) -> Result<u32, Reason> {
        match self {
            Measure::Seconds(time) => time.frames(number::real(field)?),
            _ => number::from_bytes(field),
        }
    }

    pub(crate) fn unsigned(&self, value: u64) -> Result<u32, Reason> {
        match self {
            Measure::Seconds(time) => time.frames(value as f64),
            _ => number::from_u64(value),
        }
    }

    pub(crate) fn signed(&self, value: i64) -> Result<u32, Reason> {
        match self {
            Measure::Seconds(time) => time.frames(value as f64),
            _ => number::from_i64(value),
        }
    }

    pub(crate) fn real(&self, value: f64) -> Result<u32, Reason> {
        match self {
            Measure::Seconds(time) => time.frames(value),
            _ => number::from_f64(value),
        }
    }

    /// The length of a string: what a unit counts in it, or its characters if the column was asked
    /// for by name. A string that is a number was hardly meant to be counted.
    pub(crate) fn string(
        &self,
        text: &str,
        named: bool,
        holder: impl Fn() -> String,
    ) -> Result<u32, Error> {
        let digits = number::is_number(text.as_bytes());
        match self {
            Measure::Texts(counter) => return counter.length(text, &holder()),
            Measure::Numbers if named && !digits => {
                let count = text.chars().count() as u64;
                return number::counted(count, holder, "holds an empty string");
            }
            _ => {}
        }
        let error =
            Error::new(format!("{} holds the string {}, not a number", holder(), quote(text)))
                .of_texts();
        Err(match (digits, named) {
            (true, false) => error.hint_to("write the number without quotes"),
            (true, true) => error
                .hint_to("write the number without quotes")
                .also("to count its characters, say {unit=characters}"),
            _ => Reason::NotNumber.advise(error).also("choose another one with {column}"),
        })
    }

    /// The names that a column of such values usually has, and what it holds, for messages.
    pub(crate) fn habit(&self) -> (&'static str, &'static str) {
        match self {
            Measure::Numbers | Measure::NumbersOnly => (columns::LENGTHS, "lengths"),
            Measure::Seconds(_) => (columns::DURATIONS, "seconds"),
            Measure::Texts(_) => (columns::TEXTS, "text"),
        }
    }
}

/// What becomes of blank lines in a file of texts. In files of numbers they are left out and counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BlankLines {
    /// They are refused: a blank line may be a sequence that was lost.
    #[default]
    Refuse,
    /// They are left out and counted; training texts often separate documents by them.
    Skip,
}

pub(crate) struct Request<'a> {
    pub(crate) column: Option<&'a str>,
    pub(crate) ids: Option<&'a IdColumn>,
    pub(crate) measure: Measure,
    pub(crate) blank_lines: BlankLines,
    /// Whether lengths go to a file rather than stay in memory.
    pub(crate) spooled: bool,
    /// Whether numbers are lengths even where their column is named like seconds.
    pub(crate) any_name: bool,
}

impl Request<'_> {
    /// Refuses a column of a format that has none; ignoring it would hide a mistaken file name.
    pub(crate) fn refuse_column(&self, what: &str) -> Result<(), Error> {
        if self.column.is_none() {
            return Ok(());
        }
        Err(Error::new(format!("{what} has no columns to choose from"))
            .hint_to("leave out {column}, or say {format=csv} if it is a table"))
    }

    /// Refuses whole numbers from a column that is named like seconds: they are no lengths yet.
    pub(crate) fn refuse_seconds(&self, name: Option<&str>) -> Result<(), Error> {
        let Some(name) = name.filter(|_| !self.any_name) else { return Ok(()) };
        let last = name.rsplit('.').next().unwrap_or(name).to_lowercase();
        let seconds = columns::DURATIONS.split(' ').any(|known| known == last);
        if !seconds || !matches!(self.measure, Measure::Numbers | Measure::NumbersOnly) {
            return Ok(());
        }
        Err(Error::new(format!("{} holds seconds, by its name", quote(name))).hint_to(
            "say how many frames they make with {frame-shift=0.01} or {rate=100}; {rate=1} takes the \
             numbers as they are",
        ))
    }

    /// Refuses a unit for a format without texts.
    pub(crate) fn refuse_texts(&self, what: &str) -> Result<(), Error> {
        if !matches!(self.measure, Measure::Texts(_)) {
            return Ok(());
        }
        Err(Error::new(format!("{what} holds no texts to count in")).hint_to("leave out {unit}"))
    }

    #[cfg(test)]
    pub(crate) fn plain(column: Option<&str>) -> Request<'_> {
        let (measure, blank_lines) = (Measure::Numbers, BlankLines::Refuse);
        Request { column, ids: None, measure, blank_lines, spooled: false, any_name: false }
    }

    pub(crate) fn column(&self, name: Option<String>) -> Column {
        let (ids, spool) = (self.ids.map(|_| Ids::default()), self.spooled.then(Spool::default));
        Column { name, ids, spool, ..Column::default() }
    }
}
