//! Audio files, one or a directory of them, by their headers alone. The length of a file is its number of
//! samples, each channel counted once, at its own rate. That only compares files of one rate, so a directory
//! with several needs a [`Time`](crate::read::Time): a rate, which resamples, or a frame shift.

mod header;

use std::io::BufReader;
use std::path::{MAIN_SEPARATOR, Path, PathBuf};
use std::{collections::BTreeMap, fs};

use crate::error::Error;
use crate::read::audio::header::{Header, Kind};
use crate::read::open::{Progress, open};
use crate::read::request::{Measure, Request};
use crate::read::{column::Column, columns::IdColumn, number};
use crate::text::quote;

pub(crate) fn file(path: &Path, request: &Request) -> Result<Column, Error> {
    check(request)?;
    let mut column = request.column(None);
    column.push(length(read(path)?, &request.measure)?)?;
    column.push_id(&path.file_name().unwrap_or_default().to_string_lossy())?;
    Ok(column)
}

/// The audio files below a folder that its lengths are read from, in the order of their paths.
pub fn audio_files(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let (found, _) = files(folder, |_| {})?;
    Ok(found.into_iter().map(|name| folder.join(name)).collect())
}

/// The lengths of all audio files below a directory, in the order of their paths.
pub(crate) fn directory(
    root: &Path,
    request: &Request,
    progress: &mut dyn FnMut(Progress),
) -> Result<Column, Error> {
    check(request)?;
    let (found, others) = files(root, |found| progress(Progress::Files { done: 0, found }))?;
    let total = found.len() as u64;
    if total == 0 {
        return Err(Error::new("is a directory without .wav or .flac files")
            .hint_to("name a directory of audio, or a file of lengths"));
    }
    let mut column = request.column(None);
    column.skipped = others;
    let mut first: Option<(&str, u32)> = None;
    for (done, name) in found.iter().enumerate() {
        let path = root.join(name);
        let header = read(&path).map_err(|error| error.of(&path))?;
        let (other, rate) = *first.get_or_insert((name, header.rate));
        let counts_samples = matches!(request.measure, Measure::Numbers | Measure::NumbersOnly);
        if rate != header.rate && counts_samples {
            return Err(mixed(other, rate, header.rate).of(&path));
        }
        let length = length(header, &request.measure).map_err(|error| error.of(&path))?;
        column.push(length)?;
        column.push_id(name)?;
        progress(Progress::Files { done: done as u64 + 1, found: total });
    }
    Ok(column)
}

fn check(request: &Request) -> Result<(), Error> {
    request.refuse_column("audio")?;
    if let Some(IdColumn::Named(_)) = request.ids {
        return Err(Error::new("the ids of audio files are their paths")
            .hint_to("ask for ids without naming a column"));
    }
    request.refuse_texts("audio")
}

fn read(path: &Path) -> Result<Header, Error> {
    let kind = Kind::of(path).ok_or_else(|| {
        Error::new("is not named like an audio file").hint_to("audio files end in .wav or .flac")
    })?;
    // A named pipe would wait for a writer that may never come.
    let about = path.metadata().map_err(Error::io)?;
    if !about.is_file() && !about.is_dir() {
        return Err(Error::new("is not a plain file").hint_to("take it out of the directory"));
    }
    // Headers are short; a larger buffer would read ahead into the samples.
    let mut reader = BufReader::with_capacity(512, open(path)?);
    match kind {
        Kind::Wav => header::wav(&mut reader, about.len()),
        Kind::Flac => header::flac(&mut reader),
    }
}

fn length(header: Header, measure: &Measure) -> Result<u32, Error> {
    let length = match measure {
        Measure::Seconds(time) => time.resample(header.samples, header.rate),
        _ => number::from_u64(header.samples),
    };
    length.map_err(|reason| match reason {
        number::Reason::Zero => reason.advise(Error::new("holds no samples")),
        _ => reason
            .error("the header", &header.samples.to_string())
            .hint_to("count frames instead of samples with {frame-shift=0.01} or {rate=100}"),
    })
}

fn mixed(other: &str, rate: u32, found: u32) -> Error {
    Error::new(format!("has {found} samples per second, but {} has {rate}", quote(other))).hint_with(
        "samples of two rates cannot be compared: resample with {rate=}, or count frames with {frame-shift=0.01}",
        &[&rate.to_string()],
    )
}

/// The audio files below a directory, in an order that does not depend on the machine: by the bytes of their
/// paths. Links are followed. A directory that is reached a second time is an error: it is a loop of links,
/// or its files would be counted twice. Paths are from the directory on, with `/` between the parts; behind them
/// is how many other files there are.
fn files(root: &Path, mut progress: impl FnMut(u64)) -> Result<(Vec<String>, u64), Error> {
    let (mut found, mut others) = (Vec::new(), 0);
    let mut seen = BTreeMap::new();
    let mut waiting = vec![PathBuf::new()];
    while let Some(inside) = waiting.pop() {
        let folder = root.join(&inside);
        let refuse = |cause| Error::io(cause).of(&folder);
        let real = folder.canonicalize().map_err(refuse)?;
        if let Some(before) = seen.insert(real, inside.clone()) {
            return Err(twice(&folder, &before));
        }
        for entry in fs::read_dir(&folder).map_err(refuse)? {
            let path = inside.join(entry.map_err(refuse)?.file_name());
            let whole = root.join(&path);
            match whole.metadata() {
                Ok(about) if about.is_dir() => waiting.push(path),
                // A broken link is only in the way if it should be audio.
                Err(cause) if Kind::of(&path).is_some() => {
                    return Err(Error::io(cause).of(&whole));
                }
                _ if Kind::of(&path).is_some() => {
                    found.push(name(&path).map_err(|error| error.of(&whole))?);
                }
                _ => others += 1,
            }
        }
        progress(found.len() as u64);
    }
    found.sort_unstable();
    Ok((found, others))
}

fn name(path: &Path) -> Result<String, Error> {
    let name = path
        .to_str()
        .ok_or_else(|| Error::new("the name is not valid UTF-8").hint_to("rename the file"))?;
    Ok(if MAIN_SEPARATOR == '/' { name.to_owned() } else { name.replace(MAIN_SEPARATOR, "/") })
}

fn twice(folder: &Path, before: &Path) -> Error {
    let before = if before.as_os_str().is_empty() {
        "the directory itself".to_owned()
    } else {
        quote(&before.display().to_string())
    };
    Error::new(format!("leads back to {before}, which was already read"))
        .hint_to("remove the link: every directory is read once")
        .of(folder)
}
