//! Tables with named columns: the index of a folder.

use std::{fs, path::Path, path::PathBuf};

use super::error::{Error, quote, quote_all};

/// A CSV file with a header.
#[derive(Debug)]
pub(crate) struct Table {
    path: PathBuf,
    columns: Vec<String>,
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    line: u64,
    /// Its place in the file.
    number: usize,
    fields: Vec<String>,
}

impl Table {
    pub(crate) fn read(path: &Path) -> Result<Self, Error> {
        let bytes = fs::read(path).map_err(|cause| Error::io(path, &cause))?;
        let mut reader = csv::Reader::from_reader(bytes.as_slice());
        let fields = |record: &csv::StringRecord| -> Vec<String> {
            record.iter().map(|field| field.trim().to_owned()).collect()
        };
        let columns = reader.headers().map(fields).map_err(|cause| refuse(path, &cause))?;
        let mut rows = Vec::new();
        for record in reader.records() {
            let record = record.map_err(|cause| refuse(path, &cause))?;
            let line = record.position().map_or(0, csv::Position::line);
            rows.push(Row { line, number: rows.len(), fields: fields(&record) });
        }
        if rows.is_empty() {
            return Err(Error::new(
                "names no sequences",
                "write one line for each, after the header",
            )
            .in_file(path));
        }
        Ok(Self { path: path.to_owned(), columns, rows })
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Leaves out the rows whose field in a column is none of these.
    pub(crate) fn keep(&mut self, name: &str, values: &[String]) -> Result<(), Error> {
        let column = self.column(name)?;
        let there = self.values(name)?;
        if let Some(value) = values.iter().find(|value| !there.contains(&value.as_str())) {
            let mut there = there;
            there.sort_unstable();
            there.dedup();
            return Err(self.error(
                format!(
                    "no row has {} in column {}; there are {}",
                    quote(value),
                    quote(name),
                    quote_all(there),
                ),
                "name values that are there",
            ));
        }
        self.rows.retain(|row| values.contains(&row.fields[column]));
        if self.rows.is_empty() {
            return Err(self.error(
                format!("no value of column {} is used", quote(name)),
                "name at least one, or leave the column out",
            ));
        }
        Ok(())
    }

    /// The place of a row in the file, from 0.
    pub(crate) fn place(&self, row: usize) -> usize {
        self.rows[row].number
    }

    /// The place of a column.
    pub(crate) fn column(&self, name: &str) -> Result<usize, Error> {
        self.one_of(&[name])
    }

    /// The place of the first of these columns that is there.
    pub(crate) fn one_of(&self, names: &[&str]) -> Result<usize, Error> {
        names.iter().find_map(|name| self.find(name)).ok_or_else(|| {
            let wanted: Vec<String> = names.iter().map(|name| quote(name)).collect();
            let there = quote_all(self.columns.iter().map(String::as_str));
            self.error(
                format!("has no column {}; there are {there}", wanted.join(" or ")),
                "name one of these, or add the column",
            )
            .at(1)
        })
    }

    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }

    pub(crate) fn name(&self, column: usize) -> &str {
        &self.columns[column]
    }

    pub(crate) fn field(&self, row: usize, column: usize) -> &str {
        &self.rows[row].fields[column]
    }

    /// All values of a column.
    pub(crate) fn values(&self, name: &str) -> Result<Vec<&str>, Error> {
        let column = self.column(name)?;
        Ok((0..self.len()).map(|row| self.field(row, column)).collect())
    }

    /// A whole number.
    pub(crate) fn number(&self, row: usize, column: usize) -> Result<usize, Error> {
        let field = self.field(row, column);
        field.parse().map_err(|_| {
            let name = quote(&self.columns[column]);
            let message = format!("column {name} holds {}, not a whole number", quote(field));
            self.wrong(row, message, "write how many rows, in digits")
        })
    }

    /// An error about a row.
    pub(crate) fn wrong(&self, row: usize, message: impl Into<String>, hint: &str) -> Error {
        self.error(message, hint).at(self.rows[row].line)
    }

    /// An error about the table.
    pub(crate) fn error(&self, message: impl Into<String>, hint: &str) -> Error {
        Error::new(message, hint).in_file(&self.path)
    }
}

fn refuse(path: &Path, cause: &csv::Error) -> Error {
    let line = cause.position().map(csv::Position::line);
    let (message, hint) = match cause.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => (
            format!("has {len} fields, and the header {expected_len}"),
            "put fields with commas in quotes",
        ),
        csv::ErrorKind::Utf8 { .. } => ("is not valid UTF-8".into(), "save the file as UTF-8 text"),
        _ => ("is no CSV table".into(), "save it as comma-separated values"),
    };
    let error = Error::new(message, hint).in_file(path);
    line.map_or(error.clone(), |line| error.at(line))
}
