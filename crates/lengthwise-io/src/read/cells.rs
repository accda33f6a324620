//! The cells of a typed column, as Parquet and Arrow files have them; errors name the row. Floats are lengths
//! where they are whole, and seconds where a frame shift or a rate is given. A list counts its elements, binary
//! data its bytes, and a string its characters if the column was asked for by name, or whatever the unit says.

use crate::error::Error;
use crate::ids::Ids;
use crate::read::number::{self, Reason};
use crate::read::request::{Measure, Request};
use crate::read::{column::Column, columns};
use crate::text::quote;

pub(crate) struct Cells<'a> {
    request: &'a Request<'a>,
    pub(crate) column: Column,
    name: String,
}

impl<'a> Cells<'a> {
    pub(crate) fn new(request: &'a Request<'a>, name: &str) -> Self {
        Self { request, column: request.column(Some(name.to_owned())), name: name.to_owned() }
    }

    #[cfg(feature = "arrow")]
    pub(crate) fn text(&mut self, value: Option<&str>) -> Result<(), Error> {
        let length = self.length(value.ok_or_else(|| self.null())?)?;
        self.column.push(length)
    }

    /// The length of a text in the cell that comes next.
    pub(crate) fn length(&self, text: &str) -> Result<u32, Error> {
        let named = self.request.column.is_some();
        self.request.measure.string(text, named, || self.holder())
    }

    /// A list with so many elements, or binary data with so many bytes.
    pub(crate) fn count(&mut self, count: Option<u64>, what: &str) -> Result<(), Error> {
        let count = count.ok_or_else(|| self.null())?;
        if !matches!(self.request.measure, Measure::Numbers | Measure::NumbersOnly) {
            return Err(Error::new(format!("column {} holds {what}", quote(&self.name)))
                .hint_to("leave out {unit}, {frame-shift} and {rate}: its elements are counted"));
        }
        let length = number::counted(count, || self.holder(), "is empty")?;
        self.column.push(length)
    }

    #[cold]
    pub(crate) fn null(&self) -> Error {
        Reason::Empty.advise(Error::new(format!("{} is null", self.holder())))
    }

    /// The id of one more sequence, from the column `name`; `None` is a null.
    pub(crate) fn id(&mut self, name: &str, id: Option<&str>) -> Result<(), Error> {
        let row = self.column.ids.as_ref().map_or(0, Ids::len) + 1;
        let holder = || format!("row {row} of column {}", quote(name));
        let id = columns::check_id(id.unwrap_or_default(), holder)?;
        self.column.push_id(id)
    }

    /// A number; `length` is the measure of such numbers.
    pub(crate) fn number<T: Copy + std::fmt::Display>(
        &mut self,
        value: Option<T>,
        length: impl Fn(&Measure, T) -> Result<u32, Reason>,
    ) -> Result<(), Error> {
        let value = value.ok_or_else(|| self.null())?;
        if matches!(self.request.measure, Measure::Texts(_)) {
            let message = format!("column {} holds numbers, not texts", quote(&self.name));
            return Err(Error::new(message)
                .hint_to("leave out {unit}, or choose another column with {column}"));
        }
        let length = length(&self.request.measure, value)
            .map_err(|reason| reason.error(&self.holder(), &value.to_string()))?;
        self.column.push(length)
    }

    /// The cell that comes next, by its row from 1.
    fn holder(&self) -> String {
        format!("row {} of column {}", self.column.count() + 1, quote(&self.name))
    }
}

/// A column of a type that names nothing.
pub(crate) fn no_names(name: &str) -> Error {
    Error::new(format!("column {} cannot name sequences", quote(name)))
        .hint_to("choose a column of strings or whole numbers with {ids}")
}

/// A column of a type that has no length.
pub(crate) fn wrong_type(name: &str, kind: &str) -> Error {
    Error::new(format!("column {} holds {kind}, which has no length", quote(name)))
        .hint_to("choose a column of numbers, lists or strings with {column}")
}
