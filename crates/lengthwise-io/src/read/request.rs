//! What a reader is asked for, in the form that readers need, and where they put what they find.

use crate::error::Error;
use crate::ids::Ids;
use crate::read::ids::IdColumn;
use crate::read::number::{self, Reason};
use crate::read::spool::Spool;
use crate::read::time::Time;
use crate::read::unit::Counter;
use crate::read::{BlankLines, Column, columns};
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
                return number::from_u64(count).map_err(|reason| match reason {
                    Reason::Zero => {
                        reason.advise(Error::new(format!("{} holds an empty string", holder())))
                    }
                    _ => reason.error(&holder(), &count.to_string()),
                });
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

    /// The names that a column of such values usually has.
    pub(crate) fn habit(&self) -> &'static [&'static str] {
        match self {
            Measure::Numbers | Measure::NumbersOnly => columns::LENGTHS,
            Measure::Seconds(_) => columns::DURATIONS,
            Measure::Texts(_) => columns::TEXTS,
        }
    }

    /// What such a column holds, for messages.
    pub(crate) fn noun(&self) -> &'static str {
        match self {
            Measure::Numbers | Measure::NumbersOnly => "lengths",
            Measure::Seconds(_) => "seconds",
            Measure::Texts(_) => "text",
        }
    }
}

/// What a reader is asked for.
pub(crate) struct Request<'a> {
    pub(crate) column: Option<&'a str>,
    pub(crate) ids: Option<&'a IdColumn>,
    pub(crate) measure: Measure,
    pub(crate) blank_lines: BlankLines,
    /// Whether lengths go to a file rather than stay in memory.
    pub(crate) spooled: bool,
}

impl Request<'_> {
    /// Plain lengths from this column.
    #[cfg(test)]
    pub(crate) fn plain(column: Option<&str>) -> Request<'_> {
        let (measure, blank_lines) = (Measure::Numbers, BlankLines::Refuse);
        Request { column, ids: None, measure, blank_lines, spooled: false }
    }

    pub(crate) fn column(&self, name: Option<String>) -> Column {
        let (ids, spool) = (self.ids.map(|_| Ids::default()), self.spooled.then(Spool::default));
        Column { name, ids, spool, ..Column::default() }
    }
}

/// How many lengths a list begins with room for.
const FIRST: usize = 1 << 10;

/// How many lengths are in memory before they go to a file, if they do.
const SPOOLED: usize = 1 << 20;

impl Column {
    /// How many lengths there are so far, wherever they are.
    pub(crate) fn count(&self) -> usize {
        self.spool.as_ref().map_or(0, Spool::count) + self.lengths.len()
    }

    /// Keeps one more length.
    #[inline]
    pub(crate) fn push(&mut self, length: u32) -> Result<(), Error> {
        if self.lengths.len() == self.lengths.capacity() {
            self.grow()?;
        }
        self.lengths.push(length);
        Ok(())
    }

    /// Makes room where nobody knows how many lengths there will be: for twice as many, so that it
    /// is seldom made, or else for some more. The planner counts sequences in 32 bits.
    #[cold]
    fn grow(&mut self) -> Result<(), Error> {
        let held = self.lengths.len();
        let left = (u32::MAX as usize).saturating_sub(self.count());
        if left == 0 {
            return Err(Error::too_many());
        }
        if held >= SPOOLED
            && let Some(spool) = &mut self.spool
        {
            spool.add(&self.lengths)?;
            self.lengths.clear();
            return Ok(());
        }
        let [twice, some] = [held, held / 8].map(|more| more.max(FIRST).min(left));
        let made = self.lengths.try_reserve_exact(twice);
        made.or_else(|_| self.lengths.try_reserve_exact(some))
            .map_err(|_| Error::no_memory("lengths", held + some, 4))
    }

    /// Makes room for `more` lengths, if there is none, of `all` that the file promises: never for
    /// more than those, nor for more than twice what is there and comes now, as a promise may be
    /// false.
    pub(crate) fn make_room(&mut self, more: u64, all: u64) -> Result<(), Error> {
        if self.spool.is_some() {
            return Ok(());
        }
        let held = self.lengths.len() as u64;
        let needed = held.saturating_add(more);
        if needed <= self.lengths.capacity() as u64 {
            return Ok(());
        }
        if needed > u64::from(u32::MAX) {
            return Err(Error::too_many());
        }
        let all = all.max(needed);
        let wanted = needed.max(2 * held).min(all);
        let made = self.lengths.try_reserve_exact((wanted - held) as usize);
        made.map_err(|_| Error::no_memory("lengths", all as usize, 4))
    }

    /// Keeps the id of the last sequence, where ids are kept.
    pub(crate) fn push_id(&mut self, id: &str) -> Result<(), Error> {
        let Some(ids) = &mut self.ids else { return Ok(()) };
        ids.add(id).map_err(|_| {
            let count = ids.len() + 1;
            let each = (ids.bytes().len() + id.len()) / count + size_of::<u64>();
            Error::no_memory("ids", count, each)
        })
    }
}
