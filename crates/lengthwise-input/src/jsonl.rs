//! JSON lines: a manifest with one object a line, or one bare number a line. The first line
//! settles which, and which field holds the lengths; all later lines must follow it. The parser
//! keeps its limit on nesting, so that a hostile line is an error and not a crash.

use std::io::Read;

use serde_json::{Map, Value};

use crate::error::{Error, quote};
use crate::lines::Lines;
use crate::{Column, columns, number};

pub(crate) fn read<R: Read>(reader: R, wanted: Option<&str>) -> Result<Column, Error> {
    let mut lines = Lines::new(reader);
    let mut lengths = Vec::new();
    let Some((line, bytes)) = lines.next()? else {
        return Ok(Column { name: None, lengths });
    };
    let first = parse(line, bytes)?;
    let shape = Shape::of(&first, wanted).map_err(|error| error.at(line))?;
    lengths.push(shape.length(&first).map_err(|error| error.at(line))?);
    while let Some((line, bytes)) = lines.next()? {
        let value = parse(line, bytes)?;
        let length = shape.length(&value).map_err(|error| error.at(line))?;
        number::push(&mut lengths, length)?;
    }
    let name = match shape {
        Shape::Bare => None,
        Shape::Field(name) => Some(name),
    };
    Ok(Column { name, lengths })
}

fn parse(line: u64, bytes: &[u8]) -> Result<Value, Error> {
    let text = str::from_utf8(bytes).map_err(|_| Error::not_utf8(line))?;
    serde_json::from_str(text).map_err(|error| {
        // The parser counts lines from the start of its text, which is this one line; its own
        // place is cut off and only the column is kept.
        let reason = error.to_string();
        let reason = reason.split(" at line ").next().unwrap_or_default();
        let column = error.column();
        Error::new(format!("the line is not valid JSON: {reason} at column {column}"))
            .at(line)
            .hint_to("write one JSON object or one number a line")
    })
}

/// What every line holds, as the first line shows.
enum Shape {
    Bare,
    Field(String),
}

impl Shape {
    fn of(first: &Value, wanted: Option<&str>) -> Result<Shape, Error> {
        let Value::Object(object) = first else {
            return match wanted {
                Some(wanted) => Err(no_object(first, wanted)),
                None => Ok(Shape::Bare),
            };
        };
        let field = match wanted {
            Some(wanted) => find(object, wanted).map(|_| wanted),
            None => columns::KNOWN.into_iter().find(|&known| object.contains_key(known)),
        };
        field.map(|name| Shape::Field(name.to_owned())).ok_or_else(|| {
            let names: Vec<&str> = object.keys().map(String::as_str).collect();
            match wanted {
                Some(wanted) => columns::unknown("field", &names, wanted),
                None => columns::undecided("field", &names),
            }
        })
    }

    fn length(&self, value: &Value) -> Result<u32, Error> {
        match (self, value) {
            (Shape::Bare, Value::Object(_)) => {
                Err(Error::new("the line holds an object where the first holds a number")
                    .hint_to("write every line the same way, as an object or as a number"))
            }
            (Shape::Bare, value) => length(value, || "the line".to_owned()),
            (Shape::Field(name), Value::Object(object)) => match find(object, name) {
                Some(value) => length(value, || format!("field {}", quote(name))),
                None => Err(Error::new(format!("the object has no field {}", quote(name)))
                    .hint_to("write the length there, or leave out the sequences without one")),
            },
            (Shape::Field(name), value) => Err(no_object(value, name)),
        }
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

/// The length that a value is; `holder` says where it was, and is only asked when it is none.
fn length(value: &Value, holder: impl Fn() -> String) -> Result<u32, Error> {
    if let Value::Number(found) = value {
        let length = match (found.as_u64(), found.as_i64(), found.as_f64()) {
            (Some(whole), _, _) => number::from_u64(whole),
            (_, Some(whole), _) => number::from_i64(whole),
            (_, _, Some(real)) => number::from_f64(real),
            _ => Err(number::Reason::TooLarge),
        };
        return length.map_err(|reason| reason.error(&holder(), &found.to_string()));
    }
    let error = Error::new(format!("{} holds {}, not a number", holder(), kind(value)));
    Err(match value {
        Value::Null => number::Reason::Empty.advise(error),
        Value::Array(_) => error.hint_to(
            "write one length a line; for a list of tokens, write how many there are into a field",
        ),
        Value::String(text) if number::is_number(text.as_bytes()) => {
            error.hint_to("write the number without quotes")
        }
        _ => number::Reason::NotNumber.advise(error).also("choose another field with `--column`"),
    })
}

fn no_object(value: &Value, name: &str) -> Error {
    let name = quote(name);
    Error::new(format!("the line holds {}, not an object with the field {name}", kind(value)))
        .hint_to("write every line as an object, or leave out `--column` if all are numbers")
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

#[cfg(test)]
mod tests {
    use super::*;

    fn column(text: &str, wanted: Option<&str>) -> (Option<String>, Vec<u32>) {
        let column = read(text.as_bytes(), wanted).unwrap();
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
    fn deep_nesting_is_an_error() {
        for opening in ["[", "{\"length\":"] {
            let text = opening.repeat(100_000);
            let error = read(text.as_bytes(), None).unwrap_err().to_string();
            assert!(error.contains("recursion limit exceeded"), "{error}");
        }
    }
}
