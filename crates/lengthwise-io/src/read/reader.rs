//! One reading: what is asked for, by a builder, and the one fallible step that does it.

use std::{
    io::Read,
    path::{Path, PathBuf},
};

use crate::error::Error;
use crate::read::guess::{self, peeked};
use crate::read::open::{Progress, Told, is_directory, open};
use crate::read::request::{BlankLines, Measure, Request};
use crate::read::unit::{Counter, Unit};
use crate::read::{
    audio, column::Column, columns::IdColumn, delimited, format::Format, jsonl, kaldi,
    kaldi::Table, mapped::MappedColumn, npy, packed::unpacked, records::Dialect, text, time::Time,
};

/// Where in a file the lengths are. A [`Reader`] takes these and more.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The column of a table or the field of a JSON object that holds the lengths; a table also
    /// takes the number of the column, from 1, and JSON a path with dots. `None` takes the only
    /// column, or the first that has one of the usual names.
    pub column: Option<String>,
    /// The format; `None` goes by the file name. [`read_from`] has its own and ignores this one.
    pub format: Option<Format>,
}

/// Reads lengths, and ids if asked, from files of every format.
///
/// ```
/// use lengthwise_io::{Format, IdColumn, Reader, Time};
///
/// let manifest = r#"{"id": "a", "duration": 1.29}"#;
/// let reader = Reader::new().time(Time::FrameShift(0.01)).ids(IdColumn::Usual);
/// let column = reader.read_from(manifest.as_bytes(), "manifest", Format::Jsonl)?;
/// assert_eq!(column.lengths, [129]);
/// assert_eq!(column.ids.unwrap().get(0), Some("a"));
/// # Ok::<(), lengthwise_io::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Reader {
    column: Option<String>,
    format: Option<Format>,
    ids: Option<IdColumn>,
    own_ids: bool,
    time: Option<Time>,
    unit: Option<Unit>,
    numbers_only: bool,
    any_name: bool,
    blank_lines: BlankLines,
}

impl From<&Options> for Reader {
    fn from(options: &Options) -> Self {
        Self { column: options.column.clone(), format: options.format, ..Self::default() }
    }
}

impl Reader {
    /// A reader of lengths under a usual name, in the format that the file name stands for.
    pub fn new() -> Self {
        Self::default()
    }

    /// The column or field to read, as in [`Options`].
    #[must_use]
    pub fn column(self, name: impl Into<String>) -> Self {
        Self { column: Some(name.into()), ..self }
    }

    /// The format of files, whatever they are called.
    #[must_use]
    pub fn format(self, format: Format) -> Self {
        Self { format: Some(format), ..self }
    }

    /// Keeps the ids too. Kaldi tables, text files and audio have theirs without a column: the
    /// utterance, the number of the line, and the path below the directory, with `/`.
    #[must_use]
    pub fn ids(self, column: IdColumn) -> Self {
        Self { ids: Some(column), ..self }
    }

    /// Keeps the ids of formats that name every sequence without a column, if no other ids are asked
    /// for: the utterances of Kaldi tables, and the paths of audio. Other formats then have none.
    #[must_use]
    pub fn own_ids(self) -> Self {
        Self { own_ids: true, ..self }
    }

    /// The numbers are seconds, all of them, and become frames; see [`Time`]. Without a column
    /// name, only columns that are named like durations are looked for. The samples of audio
    /// become frames in the same way.
    #[must_use]
    pub fn time(self, time: Time) -> Self {
        Self { time: Some(time), ..self }
    }

    /// The values are texts, and this is what to count in them. A text file then holds one
    /// sequence a line.
    #[must_use]
    pub fn unit(self, unit: Unit) -> Self {
        Self { unit: Some(unit), ..self }
    }

    /// Refuses texts even in a column that was asked for by name, whose characters are counted
    /// otherwise. Use it to find out whether a column holds lengths or texts.
    #[must_use]
    pub fn numbers_only(self) -> Self {
        Self { numbers_only: true, ..self }
    }

    /// Takes whole numbers as lengths even from a column that is named like seconds, such as `duration`.
    /// They are refused otherwise, because [`time`](Self::time) should say how many frames they make.
    #[must_use]
    pub fn any_name(self) -> Self {
        Self { any_name: true, ..self }
    }

    /// What becomes of blank lines in a file of texts.
    #[must_use]
    pub fn blank_lines(self, blank_lines: BlankLines) -> Self {
        Self { blank_lines, ..self }
    }

    /// Reads the file or the directory of audio at `path`.
    pub fn read_path(&self, path: &Path) -> Result<Column, Error> {
        self.read_path_with(path, |_| {})
    }

    /// Reads like [`read_path`](Self::read_path), and often calls `progress`, which decides how
    /// often to show it.
    pub fn read_path_with(
        &self,
        path: &Path,
        mut progress: impl FnMut(Progress),
    ) -> Result<Column, Error> {
        let mut read = || {
            let (file, format) = self.located(path)?;
            let request = self.request(format.unwrap_or(Format::Text))?;
            let mut column = read_format(&file, format, &request, &mut progress)?;
            if file != path {
                column.name = file.file_name().map(|name| name.to_string_lossy().into_owned());
            }
            Ok(column)
        };
        read().map_err(|error: Error| error.of(path))
    }

    /// Reads lengths from any reader, such as standard input. Messages call it `source`.
    ///
    /// A Parquet file begins at its end, and audio lies in files, so these two need a path.
    pub fn read_from(
        &self,
        reader: impl Read,
        source: &str,
        format: Format,
    ) -> Result<Column, Error> {
        let column = self.request(format);
        let column = column.and_then(|request| stream(reader, Some(format), &request));
        column.map_err(|error| error.in_source(source))
    }

    /// Reads lengths from a reader without a telling name: in the format that was asked for, or in the one
    /// that it begins like.
    pub fn read_unnamed(&self, reader: impl Read, source: &str) -> Result<Column, Error> {
        let request = self.request(self.format.unwrap_or(Format::Text));
        let column = request.and_then(|request| stream(reader, self.format, &request));
        column.map_err(|error| error.in_source(source))
    }

    /// Reads like [`read_path_with`](Self::read_path_with), but does not hold the lengths in memory,
    /// unless they are few; ids, if there are any, it does.
    ///
    /// A `NumPy` array of little-endian `uint32` that is not packed is used where it is. Whatever
    /// else there is goes, piece by piece, through a temporary file without a name, in the folder for
    /// such files (`TMPDIR`).
    pub fn map_path_with(
        &self,
        path: &Path,
        mut progress: impl FnMut(Progress),
    ) -> Result<MappedColumn, Error> {
        let mut map = || {
            let (path, format) = self.located(path)?;
            let request = self.request(format.unwrap_or(Format::Text))?;
            let request = Request { spooled: true, ..request };
            // A pipe must not be opened twice.
            if format == Some(Format::Npy) && path.is_file() {
                let file = open(&path)?;
                if let Some(map) = npy::in_place(&file, &request)? {
                    return MappedColumn::in_place(map, file, path);
                }
            }
            MappedColumn::of(read_format(&path, format, &request, &mut progress)?)
        };
        map().map_err(|error: Error| error.of(path))
    }

    /// Reads like [`read_from`](Self::read_from), and keeps the lengths as
    /// [`map_path_with`](Self::map_path_with) does.
    pub fn map_from(
        &self,
        reader: impl Read,
        source: &str,
        format: Format,
    ) -> Result<MappedColumn, Error> {
        self.spooled(reader, source, Some(format))
    }

    /// Reads like [`read_unnamed`](Self::read_unnamed), and keeps the lengths as
    /// [`map_path_with`](Self::map_path_with) does.
    pub fn map_unnamed(&self, reader: impl Read, source: &str) -> Result<MappedColumn, Error> {
        self.spooled(reader, source, self.format)
    }

    fn spooled(
        &self,
        reader: impl Read,
        source: &str,
        format: Option<Format>,
    ) -> Result<MappedColumn, Error> {
        let request = self.request(format.unwrap_or(Format::Text));
        let request = request.map(|request| Request { spooled: true, ..request });
        let column = request.and_then(|request| stream(reader, format, &request));
        column.and_then(MappedColumn::of).map_err(|error| error.in_source(source))
    }

    /// The file to read, which is in the folder at `path` if that is one of Kaldi, and its format unless
    /// only how it begins can tell.
    fn located(&self, path: &Path) -> Result<(PathBuf, Option<Format>), Error> {
        let known = self.format.or_else(|| Format::of_name(path));
        if path.is_dir() {
            return Ok(match kaldi::table_in(path, self.format, self.time.is_some())? {
                Some((table, format)) => (table, Some(format)),
                None => (path.to_owned(), Some(self.format.unwrap_or(Format::Audio))),
            });
        }
        if known.is_some() || self.unit.is_some() || !path.is_file() {
            return Ok((path.to_owned(), known));
        }
        let opened = unpacked(open(path)?).map_err(Error::io)?;
        let (start, _) = peeked(opened).map_err(Error::io)?;
        Ok((path.to_owned(), Some(guess::format(&start)?)))
    }

    fn request(&self, format: Format) -> Result<Request<'_>, Error> {
        let measure = match (&self.unit, self.time) {
            (Some(_), Some(_)) => {
                return Err(Error::new("texts have no seconds")
                    .hint_to("leave out {unit}, or {frame-shift} and {rate}"));
            }
            (Some(unit), None) => Measure::Texts(Counter::new(unit)?),
            (None, Some(time)) => {
                time.check()?;
                Measure::Seconds(time)
            }
            (None, None) if self.numbers_only => Measure::NumbersOnly,
            (None, None) => Measure::Numbers,
        };
        let named = matches!(format, Format::Utt2NumFrames | Format::Utt2Dur | Format::Audio);
        let own = (self.own_ids && named).then_some(&IdColumn::Usual);
        let (column, ids) = (self.column.as_deref(), self.ids.as_ref().or(own));
        let blank_lines = self.blank_lines;
        Ok(Request { column, ids, measure, blank_lines, spooled: false, any_name: self.any_name })
    }
}

fn read_format(
    path: &Path,
    format: Option<Format>,
    request: &Request,
    progress: &mut dyn FnMut(Progress),
) -> Result<Column, Error> {
    if path.is_dir() {
        return match format {
            Some(Format::Audio) => audio::directory(path, request, progress),
            _ => Err(is_directory()),
        };
    }
    match format {
        Some(Format::Audio) => audio::file(path, request),
        #[cfg(feature = "parquet")]
        Some(Format::Parquet) => {
            filled(crate::read::parquet::read(open(path)?, request, progress)?, request)
        }
        _ => {
            let reader = open(path)?;
            let of = reader.metadata().map_or(0, |about| about.len());
            stream(Told { reader, done: 0, of, progress }, format, request)
        }
    }
}

/// Reads in a format; without one, in that which the stream begins like.
fn stream(reader: impl Read, format: Option<Format>, request: &Request) -> Result<Column, Error> {
    let reader = unpacked(reader).map_err(Error::io)?;
    let texts = matches!(request.measure, Measure::Texts(_));
    let (mut reader, format, start): (Box<dyn Read>, _, _) = match format {
        None if texts => (Box::new(reader), Format::Text, Vec::new()),
        None | Some(Format::Csv) => {
            let (start, whole) = peeked(reader).map_err(|cause| Error::io(cause).at(1))?;
            let format = format.map_or_else(|| guess::format(&start), Ok)?;
            (Box::new(whole), format, start)
        }
        Some(format) => (Box::new(reader), format, Vec::new()),
    };
    // One copy of every reader is enough; they read pieces of 64 KiB.
    let reader: &mut dyn Read = &mut reader;
    let column = match format {
        Format::Csv => delimited::read(reader, guess::dialect(&start), request),
        Format::Tsv => delimited::read(reader, Dialect::Tsv, request),
        Format::Jsonl => jsonl::read(reader, request),
        Format::Text => text::read(reader, request),
        Format::Npy => npy::read(reader, request),
        Format::Utt2NumFrames => kaldi::read(reader, Table::Frames, request),
        Format::Utt2Dur => kaldi::read(reader, Table::Seconds, request),
        #[cfg(feature = "arrow")]
        Format::Arrow => crate::read::arrow::read(reader, request),
        #[cfg(not(feature = "arrow"))]
        Format::Arrow => Err(Error::not_built("read Arrow and Feather files", "arrow")),
        #[cfg(not(feature = "parquet"))]
        Format::Parquet => Err(Error::not_built("read Parquet files", "parquet")),
        #[cfg(feature = "parquet")]
        Format::Parquet => Err(needs_path("a Parquet file is read from its end")),
        Format::Audio => Err(needs_path("audio is read from files")),
    }?;
    filled(column, request)
}

fn filled(mut column: Column, request: &Request) -> Result<Column, Error> {
    if column.count() == 0 {
        return Err(Error::no_lengths());
    }
    request.refuse_seconds(column.name.as_deref())?;
    // A list that grows holds up to twice what it needs.
    column.lengths.shrink_to_fit();
    Ok(column)
}

fn needs_path(why: &str) -> Error {
    Error::new(format!("{why}, not from a stream")).hint_to("save it, and name the file")
}

/// Reads the lengths in the file at `path`.
///
/// ```
/// # use std::path::Path;
/// # use lengthwise_io::{Options, read_path};
/// let error = read_path(Path::new("no/such/file.csv"), &Options::default()).unwrap_err();
/// assert!(error.to_string().starts_with("no/such/file.csv: "));
/// ```
pub fn read_path(path: &Path, options: &Options) -> Result<Column, Error> {
    Reader::from(options).read_path(path)
}

/// Reads lengths from any reader, such as standard input. Messages call it `source`.
pub fn read_from(
    reader: impl Read,
    source: &str,
    format: Format,
    options: &Options,
) -> Result<Column, Error> {
    Reader::from(options).read_from(reader, source, format)
}
