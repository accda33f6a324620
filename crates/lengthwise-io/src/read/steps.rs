//! Measured training steps, from a CSV table with a header: batch size, batch length and seconds.
//! Other columns are passed over.

use std::{io::Read, path::Path};

use crate::error::Error;
use crate::read::number::{self, Reason};
use crate::read::records::{Dialect, Records, clean, text};
use crate::read::{columns, open::open};
use crate::text::quote;

/// One measured training step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredStep {
    /// The line of the file that it begins on.
    pub line: u64,
    /// How many sequences the batch had, at least 1.
    pub batch_size: u32,
    /// What they were padded to, at least 1.
    pub batch_length: u32,
    /// How long the step took, above 0.
    pub seconds: f64,
}

const NAMES: [&str; 3] = ["batch_size", "batch_length", "seconds"];
const HEADER: &str = "the first line names the columns, among them `batch_size`, `batch_length` \
                      and `seconds`";
const WHOLE: &str = "batch sizes and batch lengths are whole numbers from 1 to 4294967295";
const POSITIVE: &str = "times are seconds above 0";

/// Reads measured training steps from the CSV file at `path`, which has the columns `batch_size`,
/// `batch_length` and `seconds`.
pub fn read_steps(path: &Path) -> Result<Vec<MeasuredStep>, Error> {
    open(path).and_then(read).map_err(|error| error.of(path))
}

/// Reads measured training steps as CSV from any reader. Messages call it `source`.
///
/// ```
/// use lengthwise_io::read_steps_from;
///
/// let table = "batch_size,batch_length,seconds\n16,400,0.0125\n";
/// let steps = read_steps_from(table.as_bytes(), "stdin")?;
/// assert_eq!((steps[0].batch_size, steps[0].batch_length), (16, 400));
/// # Ok::<(), lengthwise_io::Error>(())
/// ```
pub fn read_steps_from(reader: impl Read, source: &str) -> Result<Vec<MeasuredStep>, Error> {
    read(reader).map_err(|error| error.in_source(source))
}

fn read<R: Read>(reader: R) -> Result<Vec<MeasuredStep>, Error> {
    let mut records = Records::new(reader, Dialect::Csv)?;
    let mut steps = Vec::new();
    if !records.advance()? {
        return Err(Error::new("holds no measured steps").hint_to(HEADER));
    }
    let width = records.fields.len();
    let names: Vec<&str> = records.fields.iter().map(|field| text(clean(field))).collect();
    let mut places = [0; 3];
    for (place, name) in places.iter_mut().zip(NAMES) {
        *place = columns::by_name(&names, name)
            .map_err(|error| error.hint_to("give each column a name of its own"))?
            .ok_or_else(|| columns::unknown("column", &names, name).hint_to(HEADER))?;
    }
    while records.advance()? {
        if records.fields.len() != width {
            return Err(records.uneven(width));
        }
        let line = records.line();
        let [size, length, seconds] = places.map(|place| clean(&records.fields[place]));
        let whole = |name: &str, field| {
            number::from_bytes(field).map_err(|reason| {
                reason
                    .error(&format!("column {}", quote(name)), text(field))
                    .hint_to(WHOLE)
                    .at(line)
            })
        };
        steps.push(MeasuredStep {
            line,
            batch_size: whole(NAMES[0], size)?,
            batch_length: whole(NAMES[1], length)?,
            seconds: time(text(seconds)).map_err(|error| error.at(line))?,
        });
    }
    if steps.is_empty() {
        return Err(Error::new("holds no measured steps").hint_to("add a line for each step"));
    }
    Ok(steps)
}

fn time(field: &str) -> Result<f64, Error> {
    let reason = match field.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds.is_finite() => return Ok(seconds),
        Ok(seconds) if !seconds.is_finite() => Reason::NotFinite,
        Ok(seconds) if seconds < 0.0 => Reason::Negative,
        Ok(_) => {
            let message = format!("column `seconds` holds {}, which is not above 0", quote(field));
            return Err(Error::new(message).hint_to(POSITIVE));
        }
        Err(_) if field.is_empty() => Reason::Empty,
        Err(_) => Reason::NotNumber,
    };
    Err(reason.error("column `seconds`", field).hint_to(POSITIVE))
}
