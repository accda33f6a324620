//! CSV and TSV tables. The first record is a header when any of its fields is not a number; the
//! column is then chosen by name, otherwise by number. Every record must be as wide as the first:
//! a stray separator would shift the columns, and a shifted column may well hold numbers too.

use std::io::Read;

use csv::ByteRecord;

use crate::error::Error;
use crate::read::number::{Reason, is_number};
use crate::read::records::{Dialect, Records, clean, text};
use crate::read::request::{Measure, Request};
use crate::read::{column::Column, columns, lines::Blanks};
use crate::text::quote;

pub(crate) fn read<R: Read>(
    reader: R,
    dialect: Dialect,
    request: &Request,
) -> Result<Column, Error> {
    let mut records = Records::new(reader, dialect)?;
    let mut more = records.advance()?;
    if !more {
        return Ok(request.column(None));
    }
    let width = records.fields.len();
    let choice = choose(&records.fields, request)?;
    let names: Vec<&str> = records.fields.iter().map(|field| text(clean(field))).collect();
    let id = request.ids.map(|wanted| columns::ids("column", &names, wanted)).transpose()?;
    if !choice.first_is_data {
        // Before the header nothing can be missing.
        records.blanks = Blanks::default();
        more = records.advance()?;
    }
    let mut column = request.column(choice.name.clone());
    let holder = choice.holder();
    while more {
        if records.fields.len() != width {
            return Err(records.uneven(width));
        }
        let field = clean(&records.fields[choice.index]);
        let length = match &request.measure {
            Measure::Texts(counter) => counter.length(text(field), &holder),
            measure => measure.bytes(field).map_err(|reason| match (reason, column.count()) {
                // Among numbers it is a mistake, and no text.
                (Reason::NotNumber, 0) => choice.refuse(field, width, reason).of_texts(),
                _ => choice.refuse(field, width, reason),
            }),
        };
        column.push(length.map_err(|error| error.at(records.line()))?)?;
        if let Some(index) = id {
            let id = text(clean(&records.fields[index]));
            let holder = || format!("column {}", index + 1);
            let id = columns::check_id(id, holder).map_err(|error| error.at(records.line()))?;
            column.push_id(id)?;
        }
        more = records.advance()?;
    }
    records.blanks.note(&mut column);
    Ok(column)
}

struct Choice {
    index: usize,
    name: Option<String>,
    first_is_data: bool,
}

impl Choice {
    fn holder(&self) -> String {
        match &self.name {
            Some(name) => format!("column {}", quote(name)),
            None => format!("column {}", self.index + 1),
        }
    }

    #[cold]
    fn refuse(&self, field: &[u8], width: usize, reason: Reason) -> Error {
        let error = reason.error(&self.holder(), text(field));
        match reason {
            // With one column there is no other to choose.
            Reason::NotNumber if width > 1 => error.also("choose another column with {column}"),
            _ => error,
        }
    }
}

/// Chooses the column from the first record.
fn choose(first: &ByteRecord, request: &Request) -> Result<Choice, Error> {
    let (wanted, width) = (request.column, first.len());
    let (habit, what) = request.measure.habit();
    let names: Vec<&str> = first.iter().map(|field| text(clean(field))).collect();
    // Texts are chosen by name alone: a header is a text too, and a table without one would lose its first row.
    let texts = matches!(request.measure, Measure::Texts(_));
    let numbers = first.iter().filter(|field| !texts && is_number(clean(field))).count();
    if numbers == width {
        let index = match wanted {
            None => (width == 1).then_some(0),
            Some(wanted) => columns::by_number(wanted, width),
        };
        let index = index.ok_or_else(|| no_header(width, wanted))?;
        return Ok(Choice { index, name: None, first_is_data: true });
    }
    let index = match wanted {
        None if width == 1 && !texts => Some(0),
        None => Some(columns::by_habit(&names, habit)?.ok_or_else(|| {
            let error = columns::undecided("column", &names, what);
            if numbers == 0 {
                return error;
            }
            error.hint_to(
                "choose one with {column=NAME}, or by its number if the first line is not a header",
            )
        })?),
        Some(wanted) => columns::by_name(&names, wanted)?,
    };
    if let Some(index) = index {
        return Ok(Choice { index, name: Some(names[index].to_owned()), first_is_data: false });
    }
    let wanted = wanted.unwrap_or_default();
    let index = columns::by_number(wanted, width)
        .filter(|_| !texts)
        .ok_or_else(|| columns::unknown("column", &names, wanted))?;
    // A column chosen by number whose first cell is a number: the table has no header, but it has
    // a column of text, such as an id. That cell is a length, and must not go missing.
    let first_is_data = is_number(clean(&first[index]));
    let name = (!first_is_data).then(|| names[index].to_owned());
    Ok(Choice { index, name, first_is_data })
}

#[cold]
fn no_header(width: usize, wanted: Option<&str>) -> Error {
    let columns = if width == 1 { "column" } else { "columns" };
    let message = match wanted {
        None => format!("there are {width} columns and no header to choose by"),
        Some(wanted) => {
            format!("there is no column {}, only {width} {columns} without a header", quote(wanted))
        }
    };
    let error = Error::new(message);
    if width == 1 {
        return error.hint_to("leave out {column}");
    }
    let hint = "choose one by its number, from {column=1} to {column=}";
    error.hint_with(hint, &[&width.to_string()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::columns::IdColumn;

    fn column(text: &str, wanted: Option<&str>) -> (Option<String>, Vec<u32>) {
        let column = read(text.as_bytes(), Dialect::Csv, &Request::plain(wanted)).unwrap();
        (column.name, column.lengths)
    }

    #[test]
    fn the_column_by_name_by_habit_or_alone() {
        let table = "\u{feff}id,Words,\"frames\"\r\na,3,470\r\n\r\nb, 4 ,312.0";
        assert_eq!(column(table, None), (Some("frames".into()), vec![470, 312]));
        assert_eq!(column(table, Some("words")), (Some("Words".into()), vec![3, 4]));
        assert_eq!(column(table, Some("2")), (Some("Words".into()), vec![3, 4]));
        assert_eq!(column("anything\n5\n", None), (Some("anything".into()), vec![5]));
        assert_eq!(column("5\n6\n", None), (None, vec![5, 6]));
        assert_eq!(column("5,7\n6,8\n", Some("2")), (None, vec![7, 8]));
    }

    #[test]
    fn blank_lines_between_records_are_counted() {
        for (table, skipped) in [
            ("a\n1\n2\n\n\n", (0, None)),
            ("\n\na\n1\n2", (0, None)),
            ("a\n\n1\n2\n", (1, Some(2))),
            ("\n1\n2\n", (1, Some(1))),
            ("a,b\r\n1,\"x\n\ny\"\r\n \r\n\r\n2,\r\n\r\n3,\"\n\"", (3, Some(5))),
        ] {
            let request = Request::plain(table.starts_with("a,").then_some("a"));
            let column = read(table.as_bytes(), Dialect::Csv, &request).unwrap();
            assert_eq!((column.skipped, column.first_skipped), skipped, "{table:?}");
        }
    }

    #[test]
    fn blank_lines_without_end_are_refused() {
        for line in [&b"\n"[..], b" \r\n"] {
            let text = b"a\n1\n".chain(Endless(line));
            let error = read(text, Dialect::Csv, &Request::plain(None)).unwrap_err().to_string();
            assert!(
                error.ends_with("more than 64 MiB of blank lines follow one another"),
                "{error}"
            );
        }
        let error = read(b"a\n\"".chain(Endless(b"\n")), Dialect::Csv, &Request::plain(None));
        assert!(error.unwrap_err().to_string().ends_with("the record is longer than 64 MiB"));
    }

    /// One line, again and again.
    struct Endless(&'static [u8]);

    impl Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let whole = buffer.len() / self.0.len();
            buffer.chunks_exact_mut(self.0.len()).for_each(|line| line.copy_from_slice(self.0));
            Ok(whole * self.0.len())
        }
    }

    #[test]
    fn a_name_that_is_a_number_comes_before_the_number() {
        assert_eq!(column("2,x,1\n7,8,9\n", Some("2")), (Some("2".into()), vec![7]));
    }

    #[test]
    fn a_table_of_ids_without_header_loses_no_row() {
        assert_eq!(column("utt1,470\nutt2,312\n", Some("2")), (None, vec![470, 312]));
    }

    #[test]
    fn tabs_with_stray_quotes() {
        let table = "text\tframes\n\"So he said\t12\nno\"\t\"13\"\n";
        let column = read(table.as_bytes(), Dialect::Tsv, &Request::plain(None)).unwrap();
        assert_eq!(column.lengths, [12, 13]);
    }

    #[test]
    fn ids_by_name_by_number_or_by_habit() {
        let ids = |table: &str, wanted: Option<&str>, id: &IdColumn| {
            let request = Request { ids: Some(id), ..Request::plain(wanted) };
            let column = read(table.as_bytes(), Dialect::Csv, &request);
            column.map(|column| column.ids.unwrap().iter().collect::<Vec<_>>().join("|"))
        };
        let named = |name: &str| IdColumn::Named(name.to_owned());
        let table = "path,frames,Utt_ID\n\"a,b\",1,x\nc,2,y\n";
        assert_eq!(ids(table, None, &IdColumn::Usual).unwrap(), "x|y");
        assert_eq!(ids(table, None, &named("path")).unwrap(), "a,b|c");
        assert_eq!(ids("utt1,470\nutt2,312\n", Some("2"), &named("1")).unwrap(), "utt1|utt2");
        let error = ids("id,frames\na,1\n,2\n", None, &IdColumn::Usual).unwrap_err();
        assert_eq!(error.to_string(), ":3: column 1 is empty and should name the sequence");
        let error = ids(table, None, &named("speaker")).unwrap_err();
        assert_eq!(
            error.hint().as_deref(),
            Some("choose one with `Reader::ids(IdColumn::Named(\"NAME\".to_owned()))`")
        );
    }
}
