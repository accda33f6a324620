//! Lengths from files.

use std::path::PathBuf;

use lengthwise::Example;
use lengthwise_io::{Reader, Time, UnknownFormat, UnknownUnit};
use numpy::PyArray1;
use pyo3::prelude::*;

use crate::error::{Failure, Result};
use crate::interrupt::{Stop, interruptible};
use crate::settings::{Given, text};

/// Reads lengths from a file or a folder.
///
/// Args:
///     `path`: A .csv, .tsv, .jsonl, .npy or .txt file, Kaldi's `utt2num_frames` or `utt2dur`, any of
///         these compressed with gzip or zstd, a .parquet file, or a folder of WAV and FLAC files.
///     `column`: The column or field that has the lengths. By default, it is found by its usual names.
///     `format`: The format of the file: "csv", "tsv", "jsonl", "txt", "npy", "parquet", "`utt2num_frames`"
///         or "utt2dur". By default, the name of the file decides.
///     `frame_shift`: Seconds per frame, if the file has seconds. Do not combine it with `rate`. By default,
///         the numbers are lengths.
///     `rate`: Frames or samples per second, if the file has seconds. By default, the numbers are lengths.
///     `unit`: What is counted if the column holds texts: "words", "characters" or "bytes". By default, the
///         column holds numbers; one of JSON lines or of a .parquet file may also hold texts or lists, whose
///         characters or elements are counted.
#[pyfunction]
#[pyo3(signature = (path, *, column = None, format = None, frame_shift = None, rate = None, unit = None))]
pub(crate) fn read_lengths(
    py: Python<'_>,
    path: Given<PathBuf>,
    column: Option<Given<String>>,
    format: Option<Given<String>>,
    frame_shift: Option<Given<f64>>,
    rate: Option<Given<f64>>,
    unit: Option<Given<String>>,
) -> PyResult<Bound<'_, PyArray1<u32>>> {
    let reader = reader(column, format, frame_shift, rate, unit)?;
    let read = move |stop: &Stop| -> Result<Vec<u32>> {
        Ok(reader.read_path_with(&path.0, |_| stop.check())?.lengths)
    };
    Ok(PyArray1::from_vec(py, interruptible(py, read)??))
}

/// What reads a file as arguments say.
pub(crate) fn reader(
    column: Option<Given<String>>,
    format: Option<Given<String>>,
    frame_shift: Option<Given<f64>>,
    rate: Option<Given<f64>>,
    unit: Option<Given<String>>,
) -> Result<Reader> {
    let setting = |what: String| Failure::setting(what, "see `lengthwise compare --help`");
    let mut reader = Reader::new();
    if let Some(column) = column {
        reader = reader.column(column.0);
    }
    if let Some(format) = format {
        let format = format.0.parse();
        reader = reader.format(format.map_err(|error: UnknownFormat| setting(error.to_string()))?);
    }
    if let Some(unit) = unit {
        let unit = unit.0.parse();
        reader = reader.unit(unit.map_err(|error: UnknownUnit| setting(error.to_string()))?);
    }
    match (frame_shift, rate) {
        (Some(_), Some(_)) => Err(setting("`frame_shift` and `rate` are both given".to_owned())),
        (Some(seconds), None) => Ok(reader.time(Time::FrameShift(seconds.0))),
        (None, Some(rate)) => Ok(reader.time(Time::Rate(rate.0))),
        (None, None) => Ok(reader),
    }
}

/// Returns built-in lengths to try things with.
///
/// Args:
///     `name`: "speech" (10,480 sentences in frames), "documents" (6,000 web documents in tokens) or
///         "bimodal" (8,000 recordings in frames). The default is "speech".
#[pyfunction]
#[pyo3(signature = (name: "str" = "speech"))]
pub(crate) fn example<'py>(
    py: Python<'py>,
    #[pyo3(from_py_with = text)] name: &str,
) -> Result<Bound<'py, PyArray1<u32>>> {
    let example: Example = name.parse()?;
    Ok(PyArray1::from_slice(py, example.lengths().as_slice()))
}
