//! The length that one JSON value stands for: a number, seconds, or a text or a list to count.

use serde_json::{Map, Number, Value};

use crate::read::number::{self, Reason};
use crate::{error::Error, read::request::Measure, text::quote};

/// The length that a value is; `holder` says where it was, and is only asked when it is none.
/// `named` is whether the field was asked for, so that its lists and strings are meant.
pub(super) fn length(
    value: &Value,
    measure: &Measure,
    named: bool,
    holder: impl Fn() -> String,
) -> Result<u32, Error> {
    match (measure, value) {
        (_, Value::String(text)) => measure.string(text, named, holder),
        (Measure::Texts(_), other) => {
            Err(Error::new(format!("{} holds {}, not a text", holder(), kind(other)))
                .hint_to("leave out {unit}, or choose another field with {column}"))
        }
        (_, Value::Number(found)) => from_number(found, measure)
            .map_err(|reason| reason.error(&holder(), &found.to_string())),
        (Measure::Numbers | Measure::NumbersOnly, Value::Array(list)) if named => {
            count(list.len(), &holder())
        }
        _ => Err(refuse(value, &holder())),
    }
}

fn from_number(found: &Number, measure: &Measure) -> Result<u32, Reason> {
    match (found.as_u64(), found.as_i64(), found.as_f64()) {
        (Some(whole), _, _) => measure.unsigned(whole),
        (_, Some(whole), _) => measure.signed(whole),
        (_, _, Some(real)) => measure.real(real),
        _ => Err(Reason::TooLarge),
    }
}

fn count(found: usize, holder: &str) -> Result<u32, Error> {
    number::from_u64(found as u64).map_err(|reason| match reason {
        Reason::Zero => reason.advise(Error::new(format!("{holder} holds an empty list"))),
        _ => reason.error(holder, &found.to_string()),
    })
}

#[cold]
fn refuse(value: &Value, holder: &str) -> Error {
    let error = Error::new(format!("{holder} holds {}, not a number", kind(value)));
    match value {
        Value::Null => Reason::Empty.advise(error),
        Value::Array(_) => error
            .hint_to("write one length a line; for a list of tokens, name its field with {column}"),
        _ => Reason::NotNumber.advise(error).also("choose another one with {column}"),
    }
}

/// The fields of a Lhotse cut that [`cut_fits`] looks at.
pub(super) const CUT: [&str; 3] = ["duration", "features.duration", "features.frame_shift"];

/// Whether a Lhotse cut is as long as the features that it points to. The features belong to the
/// whole recording; a cut of a part of it has the duration of the part, but their frames.
pub(super) fn cut_fits(object: &Map<String, Value>) -> Result<(), Error> {
    let number = |name| find(object, name).and_then(Value::as_f64);
    let (Some(cut), Some(features)) = (number(CUT[0]), number(CUT[1])) else {
        return Ok(());
    };
    let shift = number(CUT[2]).unwrap_or(0.01);
    // Written so that a frame shift that is no number refuses too.
    if (cut - features).abs() <= shift {
        return Ok(());
    }
    Err(Error::new(format!("the cut lasts {cut} s and its features last {features} s"))
        .hint_to("go by the duration of the cut with {frame-shift}, such as {frame-shift=0.01}"))
}

/// The type of a value, and a string or a boolean itself: those are short, or are cut short.
pub(super) fn kind(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => format!("the boolean `{value}`"),
        Value::Number(number) => format!("the number `{number}`"),
        Value::String(text) => format!("the string {}", quote(text)),
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

/// The field called `name`. A name with dots is a path, unless a field has that very name.
pub(super) fn find<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    if let Some(value) = object.get(name) {
        return Some(value);
    }
    let (first, rest) = name.split_once('.')?;
    rest.split('.').try_fold(object.get(first)?, |value, key| value.as_object()?.get(key))
}
