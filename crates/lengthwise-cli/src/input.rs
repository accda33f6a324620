//! From arguments to lengths.

use std::{fmt::Write as _, io, path::Path, sync::Arc};

use lengthwise::{Chunks, Example, Lengths, Pairs};
use lengthwise_io::{
    BlankLines, Column, Format, IdColumn, Ids, Mapped, Progress as ReadProgress, Reader, Time,
    UnknownUnit,
};
use lengthwise_report::is_unsafe_to_print;

use crate::args::shared::{Input, Settings, Source};
use crate::failure::Failure;
use crate::groups::Groups;
use crate::memory::{self, PerSequence};
use crate::printer::{self, Progress};
use crate::remedies;

/// The lengths to plan with, and how pieces map back if sequences were cut into them.
pub(crate) struct Sequences {
    /// What they are, for people.
    pub(crate) source: String,
    /// The column that was chosen because none was named.
    pub(crate) chosen: Option<String>,
    /// What the lengths count, if that is known.
    pub(crate) unit: Option<&'static str>,
    lengths: Lengths,
    /// The lengths of pieces, if these have kinds.
    pieces: Option<Lengths>,
    pub(crate) chunks: Option<Chunks>,
    pub(crate) ids: Option<Ids>,
    /// What stays together and what does not mix.
    pub(crate) groups: Groups,
    /// The lengths once more, if they are not in memory.
    mapped: Option<Arc<Mapped>>,
}

impl Sequences {
    fn new(source: String, lengths: Lengths) -> Self {
        let (chosen, unit, chunks, ids, mapped) = (None, None, None, None, None);
        let groups = Groups::default();
        Self { source, chosen, unit, lengths, pieces: None, chunks, ids, groups, mapped }
    }

    /// Refuses lengths that changed while they were used.
    pub(crate) fn unchanged(&self) -> Result<(), Failure> {
        self.mapped.as_ref().map_or(Ok(()), |mapped| mapped.check())?;
        Ok(())
    }

    /// The id of what is planned by this index: a sequence, or a piece of one.
    pub(crate) fn id(&self, index: u32) -> Option<&str> {
        let piece = |chunks: &Chunks| chunks.get(index).map(|piece| piece.sequence);
        let sequence = self.chunks.as_ref().map_or(Some(index), piece)?;
        self.ids.as_ref()?.get(sequence as usize)
    }

    /// An error that names a sequence by its index, with its id if there are ids.
    pub(crate) fn named(&self, error: lengthwise::Error) -> Failure {
        let with_id = |index| Some((index, printer::safe(self.id(u32::try_from(index).ok()?)?)));
        let Some((index, id)) = error.index().and_then(with_id) else {
            return self.groups.named(error);
        };
        let plain = format!("sequence {index} ");
        let what = error.to_string().replacen(&plain, &format!("{plain}(`{id}`) "), 1);
        Failure::of_plan(what, &error)
    }

    /// Refuses two lengths for what is about one.
    pub(crate) fn of_one_length(self, command: &str) -> Result<Self, Failure> {
        if self.lengths().second().is_none() {
            return Ok(self);
        }
        Err(Failure::new(
            format!("`lengthwise {command}` is for sequences of one length"),
            "leave out `--second`; `plan`, `tune`, `compare`, `report` and `verify` take two",
        ))
    }

    /// Refuses groups and kinds for what is about lengths alone.
    pub(crate) fn without_groups(self, command: &str) -> Result<Self, Failure> {
        let option = match &self.groups {
            Groups { together: Some(_), .. } => "--together",
            Groups { kinds: Some(_), .. } => "--kind",
            _ => return Ok(self),
        };
        Err(Failure::new(
            format!("`lengthwise {command}` makes no batches, and `{option}` is about batches"),
            format!("leave out `{option}`; `plan`, `compare` and `tune` take it"),
        ))
    }

    pub(crate) fn lengths(&self) -> &Lengths {
        let cut = || self.chunks.as_ref().map(Chunks::lengths);
        self.pieces.as_ref().or_else(cut).unwrap_or(&self.lengths)
    }
}

impl Input {
    /// Reads the file, or makes the example; the default example if neither was named.
    pub(crate) fn read_or_default(&self, takes: PerSequence) -> Result<Sequences, Failure> {
        self.source.sequences(self.chunk, takes, Reader::new())
    }

    /// Reads the file, or makes the example; one of them must have been named. A plan is exported with
    /// the ids that a format has by itself: without them its indices mean little to anybody.
    pub(crate) fn read(&self, takes: PerSequence) -> Result<Sequences, Failure> {
        self.given()?.sequences(self.chunk, takes, Reader::new().own_ids())
    }

    /// What was named to be read.
    pub(crate) fn given(&self) -> Result<&Source, Failure> {
        let hint = "name a file of lengths, or try built-in ones with `--example speech`";
        Some(&self.source).filter(|it| it.is_named()).ok_or_else(|| Failure::new("no input", hint))
    }

    pub(crate) fn as_typed(&self) -> String {
        let source = &self.source;
        let mut typed = match (&source.path, &source.example) {
            (Some(path), _) => quoted(&path.display().to_string()),
            (None, Some(name)) => format!("--example {name}"),
            (None, None) => format!("--example {}", Example::default()),
        };
        for (name, value) in [
            ("column", source.column.clone()),
            ("second", source.second.clone()),
            ("together", source.together.clone()),
            ("kind", source.kind.clone()),
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

impl Settings {
    /// The options about groups and kinds as they are typed, each with a space before it.
    pub(crate) fn as_typed(&self) -> String {
        let or_default = |given: &str| Some(given.to_owned()).filter(|given| given != "batch");
        let mut typed = String::new();
        for (name, value) in [
            ("share", or_default(&self.share)),
            ("one-kind", or_default(&self.one_kind)),
            ("mix", self.mix.clone()),
        ] {
            if let Some(value) = value {
                _ = write!(typed, " --{name} {}", quoted(&value));
            }
        }
        typed
    }
}

impl Source {
    pub(crate) fn is_named(&self) -> bool {
        self.path.is_some() || self.example.is_some()
    }

    /// Reads the file, or makes the example; the default example if neither was named. Cuts sequences
    /// into pieces of at most `chunk`. `takes` is for what is to be done with them.
    pub(crate) fn sequences(
        &self,
        chunk: Option<u32>,
        takes: PerSequence,
        reader: Reader,
    ) -> Result<Sequences, Failure> {
        let mut read = match (&self.path, &self.example) {
            (Some(path), _) => self.read_path(path, reader)?,
            (None, name) => {
                let example = name.as_deref().map_or(Ok(Example::default()), str::parse)?;
                Sequences::new(format!("example `{example}`"), example.lengths())
            }
        };
        let lengths = read.lengths.as_slice();
        let (count, what) = match chunk.filter(|&size| size > 0) {
            None => (lengths.len() as u64, "sequences"),
            Some(size) => {
                let pieces = lengths.iter().map(|length| u64::from(length.div_ceil(size)));
                (pieces.sum(), "pieces of sequences")
            }
        };
        memory::check(count, takes, what)?;
        if let Some(size) = chunk {
            if read.lengths.second().is_some() {
                let what = "sequences of two lengths cannot be cut into pieces";
                return Err(Failure::new(what, "leave out `--chunk` or `--second`"));
            }
            if read.groups.together.is_some() {
                let what = "sequences that stay together cannot be cut into pieces";
                return Err(Failure::new(what, "leave out `--chunk` or `--together`"));
            }
            let chunks = Chunks::new(&read.lengths, size)?;
            _ = write!(read.source, " in pieces of at most {size}");
            if let Some(kinds) = &mut read.groups.kinds {
                // A piece has the kind of its sequence.
                let pieces = (0..chunks.len() as u32).filter_map(|piece| chunks.get(piece));
                kinds.of_pieces(pieces.map(|piece| piece.sequence));
                read.pieces = Some(chunks.lengths().clone().kinds(kinds.of())?);
            }
            read.chunks = Some(chunks);
        }
        Ok(read)
    }

    /// Maps the file, or makes the example: lengths that are many are not in memory, and have no ids.
    pub(crate) fn map(&self) -> Result<Sequences, Failure> {
        let Some(path) = &self.path else {
            return self.sequences(None, memory::LADDER, Reader::new());
        };
        if self.ids.is_some() {
            let what = "names of sequences are kept in memory, which `--memory` bounds";
            return Err(Failure::new(what, "leave out `--ids`, or `--memory`"));
        }
        if self.second.is_some() {
            let what = "sequences of two lengths are planned with both in memory, which `--memory` \
                        does not bound";
            return Err(Failure::new(what, "leave out `--second`, or `--memory`"));
        }
        for (option, given) in [("--together", &self.together), ("--kind", &self.kind)] {
            if given.is_some() {
                let what = "groups and kinds of sequences are kept in memory, which `--memory` does not bound";
                return Err(Failure::new(what, format!("leave out `{option}`, or `--memory`")));
            }
        }
        let reader = self.reader(Reader::new())?;
        let column = if path == Path::new("-") {
            reader.map_unnamed(io::stdin().lock(), "standard input")?
        } else {
            reader.map_path_with(path, telling(path))?
        };
        let mapped = Arc::new(column.lengths);
        let lengths = Lengths::shared(Arc::<Mapped>::clone(&mapped))?;
        say_skipped(path, column.skipped, column.first_skipped);
        Ok(Sequences { mapped: Some(mapped), ..self.described(path, column.name, true, lengths) })
    }

    fn read_path(&self, path: &Path, reader: Reader) -> Result<Sequences, Failure> {
        let is_pipe = || path.metadata().is_ok_and(|about| !about.is_file() && !about.is_dir());
        let what = match path.display() {
            _ if [&self.second, &self.together, &self.kind].iter().all(|it| it.is_none()) => None,
            _ if path == Path::new("-") => Some("standard input".to_owned()),
            name => is_pipe().then(|| format!("{name}: is no file, and")),
        };
        if let Some(what) = what {
            let what = format!("{what} cannot be read twice, as several columns are");
            return Err(Failure::new(what, "save it, and name the file"));
        }
        let (column, counted) = if path == Path::new("-") {
            let column = self.reader(reader)?.read_unnamed(io::stdin().lock(), "standard input")?;
            (column, true)
        } else {
            self.read_side(path, reader)?
        };
        let lengths = Lengths::new(column.lengths)?;
        say_skipped(path, column.skipped, column.first_skipped);
        let mut read =
            Sequences { ids: column.ids, ..self.described(path, column.name, counted, lengths) };
        if let Some(name) = &self.second {
            let (second, texts) = self.read_second(path, name)?;
            _ = write!(read.source, " and `{name}`");
            if let (Some(unit), false, false) = (&self.unit, counted, texts) {
                let what = format!("{}: both are numbers, with no {unit} to count", read.source);
                return Err(Failure::new(what, "leave out `--unit`, or choose a column of texts"));
            }
            read.lengths = Pairs::new(read.lengths, second)?.into();
        }
        read.groups = self.read_groups(path)?;
        for (what, name) in [("groups", &self.together), ("kinds", &self.kind)] {
            if let Some(name) = name {
                _ = write!(read.source, ", {what} `{name}`");
            }
        }
        read.lengths = read.groups.given_to(read.lengths)?;
        Ok(read)
    }

    /// Reads one column of a file, and tells whether it holds texts that were counted. Of two columns,
    /// the unit is for those that hold texts.
    pub(crate) fn read_side(&self, path: &Path, reader: Reader) -> Result<(Column, bool), Failure> {
        let mut tell = telling(path);
        let mut read = |reader: Reader| reader.read_path_with(path, &mut tell);
        let texts = self.unit.is_some() && !self.is_timed();
        let counting = self.reader(reader.clone())?;
        if self.second.is_none() || !texts {
            return Ok((read(counting)?, texts));
        }
        let numbers = Self { unit: None, ..self.clone() }.reader(reader.numbers_only())?;
        if self.column.is_some() {
            return match read(numbers) {
                Ok(column) => Ok((column, false)),
                Err(error) if error.is_of_texts() => Ok((read(counting)?, true)),
                Err(error) => Err(error.into()),
            };
        }
        match read(counting) {
            Ok(column) => Ok((column, true)),
            Err(error) => Ok((read(numbers).map_err(|_| error)?, false)),
        }
    }

    /// The lengths of a column with what they are and what they count; `counted` if they are of texts.
    fn described(
        &self,
        path: &Path,
        column: Option<String>,
        counted: bool,
        lengths: Lengths,
    ) -> Sequences {
        let mut source = path.display().to_string();
        if let Some(name) = &column {
            _ = write!(source, ", `{name}`");
        }
        if let Some(unit) = self.unit.as_ref().filter(|_| counted) {
            _ = write!(source, ", {unit}");
        }
        let unit = self.counts(column.as_deref(), counted);
        let chosen = column.filter(|_| self.column.is_none());
        Sequences { chosen, unit, ..Sequences::new(source, lengths) }
    }

    /// Reads the second lengths, which are in the same file, and tells whether they are of texts.
    fn read_second(&self, path: &Path, name: &str) -> Result<(Lengths, bool), Failure> {
        let column = Some(name.to_owned());
        let second = Self { column, frame_shift: None, rate: None, ids: None, ..self.clone() };
        let (read, texts) =
            second.read_side(path, Reader::new().any_name()).map_err(|failure| match failure {
                // The option that was wrong.
                Failure::File(error) => {
                    let hint = error.remedy().map(remedies::of_second).unwrap_or_default();
                    Failure::new(error.to_string(), hint)
                }
                other => other,
            })?;
        Ok((Lengths::new(read.lengths)?, texts))
    }

    /// Whether the first lengths are made of seconds.
    fn is_timed(&self) -> bool {
        self.frame_shift.is_some() || self.rate.is_some()
    }

    /// What the lengths of a column count, where that is said or its name tells.
    fn counts(&self, column: Option<&str>, counted: bool) -> Option<&'static str> {
        if self.is_timed() {
            return self.frame_shift.map(|_| "frames");
        }
        let unit = self.unit.as_deref().filter(|_| counted);
        let name = unit.or(column)?.to_ascii_lowercase();
        let units = [
            ("frame", "frames"),
            ("token", "tokens"),
            ("sample", "samples"),
            ("word", "words"),
            ("char", "characters"),
            ("byte", "bytes"),
        ];
        units.into_iter().find_map(|(part, unit)| name.contains(part).then_some(unit))
    }

    fn format(&self) -> Result<Option<Format>, Failure> {
        Ok(self.format.as_deref().map(str::parse).transpose()?)
    }

    pub(crate) fn reader(&self, mut reader: Reader) -> Result<Reader, Failure> {
        if let Some(column) = &self.column {
            reader = reader.column(column);
        }
        if let Some(format) = self.format()? {
            reader = reader.format(format);
        }
        if let Some(time) = self.frame_shift.map(Time::FrameShift).or(self.rate.map(Time::Rate)) {
            reader = reader.time(time);
        }
        // Of two columns, seconds are in the first, and what is counted is in the second.
        let counted = self.unit.as_ref().filter(|_| self.second.is_none() || !self.is_timed());
        if let Some(unit) = counted {
            let unit = unit.parse().map_err(|error: UnknownUnit| {
                Failure::new(error.to_string(), "count words, for example: `--unit words`")
            })?;
            reader = reader.unit(unit);
        }
        if self.skip_blank {
            reader = reader.blank_lines(BlankLines::Skip);
        }
        Ok(match self.ids.as_deref() {
            None => reader,
            Some("") => reader.ids(IdColumn::Usual),
            Some(name) => reader.ids(IdColumn::Named(name.to_owned())),
        })
    }
}

fn say_skipped(path: &Path, count: u64, first: Option<u64>) {
    let skipped = match (first, count) {
        (_, 0) => return,
        (Some(line), 1) => format!("1 blank line left out, line {line}"),
        (Some(line), count) => format!("{count} blank lines left out, the first is line {line}"),
        (None, 1) => "1 file that is not audio left out".to_owned(),
        (None, count) => format!("{count} files that are not audio left out"),
    };
    printer::say(&format!("{}: {skipped}", path.display()));
}

/// Shows how far the reading of a file is.
fn telling(path: &Path) -> impl FnMut(ReadProgress) {
    let (mut progress, name) = (Progress::start(), printer::safe(&path.display().to_string()));
    move |far| progress.often(|| format!("{name}: {}", bar(far)))
}

/// How far a reading is, in a few words; of one file, with a bar.
fn bar(far: ReadProgress) -> String {
    const WIDTH: u64 = 20;
    let megabytes = |bytes: u64| format!("{:.1} MB", bytes as f64 / 1e6);
    match far {
        ReadProgress::Files { done, found } => format!("{done} of {found} files"),
        ReadProgress::Bytes { done, of } if of > 0 => {
            let done = done.min(of) as f64 / of as f64;
            let full = (done * WIDTH as f64) as usize;
            let bar = "#".repeat(full) + &".".repeat(WIDTH as usize - full);
            format!("[{bar}] {:.0} % of {}", 100.0 * done, megabytes(of))
        }
        ReadProgress::Bytes { done, .. } => megabytes(done),
        _ => String::new(),
    }
}

/// An argument as a shell reads it: in quotes where it must be, and safe to print.
pub(crate) fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@+%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    if !text.contains(is_unsafe_to_print) {
        return format!("'{}'", text.replace('\'', r"'\''"));
    }
    let mut quoted = String::from("$'");
    for character in text.chars() {
        match character {
            '\'' | '\\' => quoted.extend(['\\', character]),
            '\n' => quoted.push_str("\\n"),
            other if is_unsafe_to_print(other) => _ = write!(quoted, "\\u{:04x}", other as u32),
            other => quoted.push(other),
        }
    }
    quoted.push('\'');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_can_be_pasted() {
        assert_eq!(quoted("a/b-1.csv"), "a/b-1.csv");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted("a'\n\u{1b}\\\u{202e}"), r"$'a\'\n\u001b\\\u202e'");
    }

    #[test]
    fn bars() {
        let bytes = |done, of| bar(ReadProgress::Bytes { done, of });
        assert_eq!(bytes(0, 2_000_000), "[....................] 0 % of 2.0 MB");
        assert_eq!(bytes(1_500_000, 2_000_000), "[###############.....] 75 % of 2.0 MB");
        // A file that grows while it is read.
        assert_eq!(bytes(3_000_000, 2_000_000), "[####################] 100 % of 2.0 MB");
        assert_eq!(bytes(3_000_000, 0), "3.0 MB");
        assert_eq!(bar(ReadProgress::Files { done: 3, found: 7 }), "3 of 7 files");
    }
}
