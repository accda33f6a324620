//! From arguments to lengths.

use std::{fmt::Write as _, io, path::Path};

use lengthwise::{Chunks, Error, Example, Lengths};
use lengthwise_input::{
    BlankLines, Column, Format, IdColumn, Ids, Progress as Far, Reader, Time, UnknownUnit,
};

use crate::{
    args::{Input, Source},
    failure::Failure,
    printer::{self, Progress},
};

/// The lengths to plan with, and how pieces map back if sequences were cut into them.
pub(crate) struct Sequences {
    /// What they are, for people.
    pub(crate) source: String,
    lengths: Lengths,
    pub(crate) chunks: Option<Chunks>,
    pub(crate) ids: Option<Ids>,
}

impl Sequences {
    /// The id of what is planned by this index: a sequence, or a piece of one.
    pub(crate) fn id(&self, index: u32) -> Option<&str> {
        let sequence = match &self.chunks {
            Some(chunks) => chunks.get(index)?.sequence,
            None => index,
        };
        self.ids.as_ref()?.get(sequence as usize)
    }

    /// An error that names a sequence by its index, with its id if there are ids.
    pub(crate) fn named(&self, error: lengthwise::Error) -> Failure {
        let index = match error {
            Error::OverBudget { index, .. }
            | Error::OverBudgetSeconds { index, .. }
            | Error::LadderTooShort { index, .. } => index as u32,
            other => return other.into(),
        };
        let Some(id) = self.id(index) else { return error.into() };
        let plain = format!("sequence {index} ");
        let what =
            error.to_string().replacen(&plain, &format!("{plain}(`{}`) ", printer::safe(id)), 1);
        Failure::new(what, error.hint().unwrap_or_default())
    }

    pub(crate) fn lengths(&self) -> &Lengths {
        self.chunks.as_ref().map_or(&self.lengths, Chunks::lengths)
    }
}

impl Input {
    /// Reads the file, or makes the example; the default example if neither was named.
    pub(crate) fn read_or_default(&self) -> Result<Sequences, Failure> {
        self.source.read(self.chunk)
    }

    /// Reads the file, or makes the example; one of them must have been named. A plan is exported with
    /// the ids that a format has by itself: without them its indices mean little to anybody.
    pub(crate) fn read(&self) -> Result<Sequences, Failure> {
        if !self.source.is_named() {
            return Err(Failure::new(
                "no input",
                "name a file of lengths, or try built-in ones with `--example speech`",
            ));
        }
        self.source.read_with_own_ids(self.chunk)
    }

    /// The arguments that give this input again.
    pub(crate) fn as_typed(&self) -> String {
        let source = &self.source;
        let mut typed = match (&source.path, &source.example) {
            (Some(path), _) => quoted(&path.display().to_string()),
            (None, Some(name)) => format!("--example {name}"),
            (None, None) => format!("--example {}", Example::default()),
        };
        for (name, value) in [
            ("column", source.column.clone()),
            ("format", source.format.clone()),
            ("frame-shift", source.frame_shift.map(|seconds| seconds.to_string())),
            ("rate", source.rate.map(|rate| rate.to_string())),
            ("unit", source.unit.clone()),
            ("chunk", self.chunk.map(|size| size.to_string())),
        ] {
            if let Some(value) = value {
                _ = write!(typed, " --{name} {}", quoted(&value));
            }
        }
        if source.skip_blank {
            typed += " --skip-blank";
        }
        typed
    }
}

impl Source {
    /// Whether a file or an example was named.
    pub(crate) fn is_named(&self) -> bool {
        self.path.is_some() || self.example.is_some()
    }

    /// Reads the file, or makes the example; the default example if neither was named. Cuts
    /// sequences into pieces of at most `chunk`.
    pub(crate) fn read(&self, chunk: Option<u32>) -> Result<Sequences, Failure> {
        self.sequences(chunk, Reader::new())
    }

    /// The same, with the ids that the format has by itself, if none are asked for.
    pub(crate) fn read_with_own_ids(&self, chunk: Option<u32>) -> Result<Sequences, Failure> {
        self.sequences(chunk, Reader::new().own_ids())
    }

    fn sequences(&self, chunk: Option<u32>, reader: Reader) -> Result<Sequences, Failure> {
        let (mut source, lengths, ids) = match (&self.path, &self.example) {
            (Some(path), _) => self.read_path(path, reader)?,
            (None, name) => {
                let example = name.as_deref().map_or(Ok(Example::default()), str::parse)?;
                (format!("example `{example}`"), example.lengths(), None)
            }
        };
        let chunks = chunk.map(|size| Chunks::new(&lengths, size)).transpose()?;
        if let Some(size) = chunk {
            _ = write!(source, " in pieces of at most {size}");
        }
        Ok(Sequences { source, lengths, chunks, ids })
    }

    fn read_path(
        &self,
        path: &Path,
        reader: Reader,
    ) -> Result<(String, Lengths, Option<Ids>), Failure> {
        let format = self.format.as_deref().map(str::parse::<Format>).transpose()?;
        let reader = self.reader(reader, format)?;
        let column = if path == Path::new("-") {
            reader.read_from(
                io::stdin().lock(),
                "standard input",
                format.unwrap_or(Format::Text),
            )?
        } else {
            let mut progress = Progress::start();
            let name = printer::safe(&path.display().to_string());
            reader.read_path_with(path, |far| progress.often(|| format!("{name}: {}", bar(far))))?
        };
        if column.skipped > 0 {
            printer::say(&format!("{}: {} left out", path.display(), self.skipped(&column)));
        }
        let mut source = path.display().to_string();
        if let Some(name) = column.name {
            _ = write!(source, ", `{name}`");
        }
        if let Some(unit) = &self.unit {
            _ = write!(source, ", {unit}");
        }
        Ok((source, Lengths::new(column.lengths)?, column.ids))
    }

    /// The reader with what was asked for.
    fn reader(&self, mut reader: Reader, format: Option<Format>) -> Result<Reader, Failure> {
        if let Some(column) = &self.column {
            reader = reader.column(column);
        }
        if let Some(format) = format {
            reader = reader.format(format);
        }
        if let Some(seconds) = self.frame_shift {
            reader = reader.time(Time::FrameShift(seconds));
        }
        if let Some(rate) = self.rate {
            reader = reader.time(Time::Rate(rate));
        }
        if let Some(unit) = &self.unit {
            let unit = unit.parse().map_err(|error: UnknownUnit| {
                Failure::new(error.to_string(), "count words, for example: `--unit words`")
            })?;
            reader = reader.unit(unit);
        }
        if self.skip_blank {
            reader = reader.blank_lines(BlankLines::Skip);
        }
        match self.ids.as_deref() {
            None => {}
            Some("") => reader = reader.ids(IdColumn::Usual),
            Some(name) => reader = reader.ids(IdColumn::Named(name.to_owned())),
        }
        Ok(reader)
    }

    /// What was left out of a file, in words.
    fn skipped(&self, column: &Column) -> String {
        match (self.skip_blank, column.skipped) {
            (true, 1) => "1 blank line".to_owned(),
            (true, count) => format!("{count} blank lines"),
            (false, 1) => "1 file that is not audio".to_owned(),
            (false, count) => format!("{count} files that are not audio"),
        }
    }
}

/// How far a reading is, in a few words; of one file, with a bar.
fn bar(far: Far) -> String {
    const WIDTH: u64 = 20;
    let megabytes = |bytes: u64| format!("{:.1} MB", bytes as f64 / 1e6);
    match far {
        Far::Files { done, found } => format!("{done} of {found} files"),
        Far::Bytes { done, of } if of > 0 => {
            let done = done.min(of) as f64 / of as f64;
            let full = (done * WIDTH as f64) as usize;
            let bar = "#".repeat(full) + &".".repeat(WIDTH as usize - full);
            format!("[{bar}] {:.0} % of {}", 100.0 * done, megabytes(of))
        }
        Far::Bytes { done, .. } => megabytes(done),
        _ => String::new(),
    }
}

/// In quotes, if a shell would read it otherwise.
pub(crate) fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@+%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars() {
        let bytes = |done, of| bar(Far::Bytes { done, of });
        assert_eq!(bytes(0, 2_000_000), "[....................] 0 % of 2.0 MB");
        assert_eq!(bytes(1_500_000, 2_000_000), "[###############.....] 75 % of 2.0 MB");
        // A file that grows while it is read.
        assert_eq!(bytes(3_000_000, 2_000_000), "[####################] 100 % of 2.0 MB");
        assert_eq!(bytes(3_000_000, 0), "3.0 MB");
        assert_eq!(bar(Far::Files { done: 3, found: 7 }), "3 of 7 files");
    }
}
