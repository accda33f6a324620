//! JSON lines: one object or one bare number a line. The first line settles which, and which field holds the
//! lengths. The parser keeps its limit on nesting, so that a hostile line is an error and not a crash.
//!
//! A field that was asked for by name may also hold a list or a string, which are counted. One that was found
//! by its usual name must hold a number: one object with all `lengths` in a list is not one sequence.

mod kept;
mod surrogates;

use std::{borrow::Cow, io::Read};

use serde_json::{Map, Number, Value};

use crate::error::Error;
use crate::read::columns::{self, IdColumn};
use crate::read::number::{self, Reason};
use crate::read::request::{Measure, Request};
use crate::read::{column::Column, jsonl::kept::Kept, lines::Lines};
use crate::text::quote;

pub(crate) fn read<R: Read>(reader: R, request: &Request) -> Result<Column, Error> {
    let mut lines = Lines::new(reader);
    let Some((line, bytes)) = lines.next()? else {
        return Ok(request.column(None));
    };
    let first = parse(line, bytes, whole)?;
    let shape = Shape::of(&first, request).map_err(|error| error.at(line))?;
    let id = request.ids.map(|wanted| choose_id(&first, wanted)).transpose();
    let id = id.map_err(|error| error.at(line))?;
    let mut column = request.column(shape.0.clone());
    let mut keep = |value: &Value, line| {
        column.push(shape.length(value, request).map_err(|error| error.at(line))?)?;
        if let Some(field) = &id {
            column.push_id(&name_of(value, field).map_err(|error: Error| error.at(line))?)?;
        }
        Ok::<_, Error>(())
    };
    let kept = Kept::new(shape.fields(request).chain(id.as_deref()));
    // Again, so that no line is read in another way.
    keep(&parse(line, bytes, |text| kept.parse(text))?, line)?;
    while let Some((line, bytes)) = lines.next()? {
        keep(&parse(line, bytes, |text| kept.parse(text))?, line)?;
    }
    lines.blanks.note(&mut column);
    Ok(column)
}

/// All of a value. Python writes texts that are not quite Unicode, with one half of a pair of escapes;
/// in fields that are not read they do no harm.
fn whole(text: &str) -> serde_json::Result<Value> {
    serde_json::from_str(text).or_else(|error| {
        let mended = surrogates::replaced(text);
        mended.and_then(|text| serde_json::from_str(&text).ok()).ok_or(error)
    })
}

fn parse(
    line: u64,
    bytes: &[u8],
    value: impl Fn(&str) -> serde_json::Result<Value>,
) -> Result<Value, Error> {
    let text = str::from_utf8(bytes).map_err(|_| Error::not_utf8(line))?;
    value(text).map_err(|error| {
        // The parser counts lines from the start of its text, which is this one line; its own
        // place is cut off and only the column is kept.
        let reason = error.to_string();
        let reason = reason.split(" at line ").next().unwrap_or_default();
        let column = error.column();
        if error.is_data() {
            return Error::new(reason).at(line).hint_to("write every field once");
        }
        let hint = match bytes.first() {
            Some(b'[') => ARRAY,
            _ => "write one JSON object or one number per line",
        };
        Error::new(format!("the line is not valid JSON: {reason} at column {column}"))
            .at(line)
            .hint_to(hint)
    })
}

/// What to do about a file that is one list.
const ARRAY: &str =
    "write one JSON object or one number per line; `jq -c '.[]'` makes such lines of a list";

/// What every line holds, as the first line shows: an object with this field, or a bare number.
struct Shape(Option<String>);

impl Shape {
    fn of(first: &Value, request: &Request) -> Result<Shape, Error> {
        match (first, request.column) {
            (Value::Object(object), wanted) => {
                choose(object, wanted, request.measure.habit()).map(|name| Shape(Some(name)))
            }
            (_, Some(wanted)) => Err(no_object(first, wanted)),
            (_, None) => Ok(Shape(None)),
        }
    }

    /// The fields that [`length`](Self::length) looks at.
    fn fields(&self, request: &Request) -> impl Iterator<Item = &str> {
        let field = self.0.as_deref();
        let cut = field.filter(|name| is_of_cut(name, request));
        field.into_iter().chain(cut.into_iter().flat_map(|_| CUT))
    }

    fn length(&self, value: &Value, request: &Request) -> Result<u32, Error> {
        match (&self.0, value) {
            (None, Value::Object(_)) => {
                Err(Error::new("the line holds an object, but the first holds a number")
                    .hint_to("write every line the same way, as an object or as a number"))
            }
            (None, Value::Array(_)) => {
                Err(Error::new("the line holds an array, not a number").hint_to(ARRAY))
            }
            (None, value) => length(value, &request.measure, false, || "the line".to_owned()),
            (Some(name), Value::Object(object)) => {
                let Some(value) = find(object, name) else {
                    let error = Error::new(format!("the object has no field {}", quote(name)));
                    return Err(Reason::Empty.advise(error));
                };
                if is_of_cut(name, request) {
                    cut_fits(object)?;
                }
                let named = request.column.is_some();
                length(value, &request.measure, named, || format!("field {}", quote(name)))
            }
            (Some(name), value) => Err(no_object(value, name)),
        }
    }
}

/// Whether the lengths are those of the features of a Lhotse cut, which may be longer than the cut.
fn is_of_cut(name: &str, request: &Request) -> bool {
    request.column.is_none() && name == "features.num_frames"
}

/// The field that was asked for, or the first that has one of the usual names; `what` is what it holds.
fn choose(
    object: &Map<String, Value>,
    wanted: Option<&str>,
    (habit, what): (&str, &str),
) -> Result<String, Error> {
    let field = match wanted {
        Some(wanted) => find(object, wanted).map(|_| wanted),
        None => habit.split(' ').find(|known| find(object, known).is_some()),
    };
    field.map(str::to_owned).ok_or_else(|| {
        let names: Vec<&str> = object.keys().map(String::as_str).collect();
        match wanted {
            Some(wanted) => columns::unknown("field", &names, wanted),
            None => columns::undecided("field", &names, what),
        }
    })
}

/// The field that names the sequences, from the first line.
fn choose_id(first: &Value, wanted: &IdColumn) -> Result<String, Error> {
    let Value::Object(object) = first else { return Err(Error::no_ids("a file of bare numbers")) };
    let wanted = match wanted {
        IdColumn::Named(name) => Some(name.as_str()),
        IdColumn::Usual => None,
    };
    choose(object, wanted, (columns::IDS, "ids"))
        .map_err(|error| error.hint_to("choose one with {ids=NAME}"))
}

/// The id of a sequence: a string, or a number as it is written.
fn name_of<'a>(value: &'a Value, field: &str) -> Result<Cow<'a, str>, Error> {
    let found = value.as_object().and_then(|object| find(object, field));
    let holder = || format!("field {}", quote(field));
    match found {
        Some(Value::String(id)) => columns::check_id(id, holder).map(Cow::Borrowed),
        Some(Value::Number(id)) => Ok(Cow::Owned(id.to_string())),
        Some(other) => Err(Error::new(format!("{} holds {}, not an id", holder(), kind(other)))
            .hint_to("name every sequence by a string or a number")),
        None => Err(Error::new(format!("the object has no field {}", quote(field)))
            .hint_to("name every sequence, or choose another field with {ids}")),
    }
}

fn no_object(value: &Value, name: &str) -> Error {
    let name = quote(name);
    let hint = match value {
        Value::Array(_) => ARRAY,
        _ => "write every line as an object, or leave out {column} if all are numbers",
    };
    Error::new(format!("the line holds {}, not an object with the field {name}", kind(value)))
        .hint_to(hint)
}

/// The length that a value is; `holder` says where it was, and is only asked when it is none.
/// `named` is whether the field was asked for, so that its lists and strings are meant.
fn length(
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
            number::counted(list.len() as u64, holder, "holds an empty list")
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

#[cold]
fn refuse(value: &Value, holder: &str) -> Error {
    let error = Error::new(format!("{holder} holds {}, not a number", kind(value)));
    match value {
        Value::Null => Reason::Empty.advise(error),
        Value::Array(_) => error.hint_to(
            "write one length per line; for a list of tokens, name its field with {column}",
        ),
        _ => Reason::NotNumber.advise(error).also("choose another one with {column}"),
    }
}

/// The fields of a Lhotse cut that [`cut_fits`] looks at.
const CUT: [&str; 3] = ["duration", "features.duration", "features.frame_shift"];

/// Whether a Lhotse cut is as long as the features that it points to. The features belong to the
/// whole recording; a cut of a part of it has the duration of the part, but their frames.
fn cut_fits(object: &Map<String, Value>) -> Result<(), Error> {
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
fn kind(value: &Value) -> String {
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
fn find<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    if let Some(value) = object.get(name) {
        return Some(value);
    }
    let (first, rest) = name.split_once('.')?;
    rest.split('.').try_fold(object.get(first)?, |value, key| value.as_object()?.get(key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::request::Measure;

    fn column(text: &str, wanted: Option<&str>) -> (Option<String>, Vec<u32>) {
        let column = read(text.as_bytes(), &Request::plain(wanted)).unwrap();
        (column.name, column.lengths)
    }

    #[test]
    fn manifests_and_bare_numbers() {
        let manifest = "{\"duration\": 3, \"num_frames\": 300}\r\n\n{\"num_frames\": 2.0}\n";
        assert_eq!(column(manifest, None), (Some("num_frames".into()), vec![300, 2]));
        assert_eq!(column("\u{feff}12\n13.0\n1e2", None), (None, vec![12, 13, 100]));
    }

    #[test]
    fn paths_with_dots() {
        let nested = r#"{"a": {"b": {"c": 7}}}"#;
        assert_eq!(column(nested, Some("a.b.c")), (Some("a.b.c".into()), vec![7]));
        let exact = r#"{"a": {"b": 7}, "a.b": 8}"#;
        assert_eq!(column(exact, Some("a.b")).1, [8]);
    }

    #[test]
    fn lists_and_strings_only_by_name() {
        let line = r#"{"tokens": [5, 6, 7], "text": "zwölf", "code": "12"}"#;
        assert_eq!(column(line, Some("tokens")).1, [3]);
        assert_eq!(column(line, Some("text")).1, [5]);
        let fail = |text: &str, wanted| {
            let error = read(text.as_bytes(), &Request::plain(wanted)).unwrap_err();
            (error.to_string(), error.hint().unwrap_or_default())
        };
        assert!(fail(line, None).0.contains("holds an array, not a number"));
        let (text, hint) = fail(line, Some("code"));
        assert_eq!(text, ":1: field `code` holds the string `12`, not a number");
        assert!(hint.contains("`Reader::unit(\"characters\".parse()?)`"), "{hint}");
        assert!(fail(r#"{"a": []}"#, Some("a")).0.ends_with("holds an empty list"));
        assert!(fail(r#"{"a": ""}"#, Some("a")).0.ends_with("holds an empty string"));
    }

    #[test]
    fn cuts_of_lhotse() {
        let cut = |duration: f64| {
            format!(
                r#"{{"id": "c", "duration": {duration}, "features": {{"num_frames": 1440,
                "duration": 14.4, "frame_shift": 0.01}}}}"#
            )
            .replace('\n', " ")
        };
        let whole = column(&cut(14.4), None);
        assert_eq!(whole, (Some("features.num_frames".into()), vec![1440]));
        // A part of a recording does not have the frames of the whole.
        let error = read(cut(3.2).as_bytes(), &Request::plain(None)).unwrap_err();
        assert_eq!(error.to_string(), ":1: the cut lasts 3.2 s and its features last 14.4 s");
        let mut request = Request::plain(None);
        request.measure = Measure::Seconds(crate::read::time::Time::FrameShift(0.01));
        let part = read(cut(3.2).as_bytes(), &request).unwrap();
        assert_eq!((part.name.as_deref(), part.lengths), (Some("duration"), vec![320]));
    }

    #[test]
    fn seconds_do_not_take_frames_for_seconds() {
        let mut request = Request::plain(None);
        request.measure = Measure::Seconds(crate::read::time::Time::Rate(100.0));
        let error = read(&b"{\"num_frames\": 3}"[..], &request).unwrap_err().to_string();
        assert_eq!(error, ":1: the only field, `num_frames`, is not known to hold seconds");
        let whole = read(&b"{\"duration\": 3}\n{\"duration\": 1.29}"[..], &request).unwrap();
        assert_eq!(whole.lengths, [300, 129]);
    }

    #[test]
    fn ids_are_strings_or_numbers() {
        let usual = IdColumn::Usual;
        let request = Request { ids: Some(&usual), ..Request::plain(None) };
        let lines = "{\"id\": \"a\", \"len\": 1}\n{\"id\": 7, \"len\": 2}";
        let ids = read(lines.as_bytes(), &request).unwrap().ids.unwrap();
        assert!(ids.iter().eq(["a", "7"]));
        for (line, message) in [
            (r#"{"len": 1}"#, ":1: the only field, `len`, is not known to hold ids"),
            (r#"{"len": 1, "id": ""}"#, ":1: field `id` is empty and should name the sequence"),
            (r#"{"len": 1, "id": null}"#, ":1: field `id` holds null, not an id"),
            ("1", ":1: a file of bare numbers has no ids"),
        ] {
            let error = read(line.as_bytes(), &request).unwrap_err().to_string();
            assert_eq!(error, message);
        }
    }

    #[test]
    fn a_field_that_is_there_twice() {
        for text in [
            "{\"len\": 1, \"len\": 2}",
            "{\"len\": 1}\n{\"len\": 2, \"x\": 0, \"x\": 1}\n{\"len\": 3, \"len\": 3}",
        ] {
            let error = read(text.as_bytes(), &Request::plain(None)).unwrap_err();
            let line = text.lines().count();
            assert_eq!(error.to_string(), format!(":{line}: field `len` is there twice"));
            assert_eq!(error.hint().as_deref(), Some("write every field once"));
        }
    }

    #[test]
    fn half_a_pair_of_escapes() {
        let lines = "{\"text\": \"a\\ud800b\", \"len\": 1}\n{\"text\": \"\\udc00\", \"len\": 2}";
        assert_eq!(column(lines, None).1, [1, 2]);
        let error = read(lines.as_bytes(), &Request::plain(Some("text"))).unwrap_err().to_string();
        assert!(error.starts_with(":1: the line is not valid JSON: "), "{error}");
    }

    #[test]
    fn a_list_has_a_hint() {
        let list = ["[5, 7]", "[{\"len\": 5}]", "[\n5,\n7\n]"];
        for (text, wanted) in
            list.map(|text| (text, None)).into_iter().chain([(list[1], Some("len"))])
        {
            let error = read(text.as_bytes(), &Request::plain(wanted)).unwrap_err();
            assert!(
                error.hint().is_some_and(|hint| hint.contains("jq -c '.[]'")),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn deep_nesting_is_an_error() {
        for opening in ["[", "{\"length\":"] {
            let text = opening.repeat(100_000);
            let error = read(text.as_bytes(), &Request::plain(None)).unwrap_err().to_string();
            assert!(error.contains("recursion limit exceeded"), "{error}");
        }
    }
}
