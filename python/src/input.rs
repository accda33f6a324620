//! Lengths from files.

use lengthwise::Example;
use lengthwise_input::{Format, Reader, Time, Unit};
use numpy::PyArray1;
use pyo3::prelude::*;

use crate::{
    error::{Failure, Result},
    settings::{FilePath, Number, Parsed, Text},
};

/// Reads the lengths in a file: .csv, .tsv, .jsonl, .npy, .txt, Kaldi's `utt2num_frames` or
/// `utt2dur`, packed by gzip or zstd or not, or a folder of WAV and FLAC files.
#[pyfunction]
#[pyo3(signature = (path, *, column = None, format = None, frame_shift = None, rate = None, unit = None))]
pub(crate) fn read_lengths(
    py: Python<'_>,
    path: FilePath,
    column: Option<Text>,
    format: Option<Text>,
    frame_shift: Option<Number>,
    rate: Option<Number>,
    unit: Option<Text>,
) -> PyResult<Bound<'_, PyArray1<u32>>> {
    let read = || -> Result<Vec<u32>> {
        let setting = |what: String| {
            Failure::Own("SettingError", what, "see `lengthwise compare --help`".to_owned())
        };
        let mut reader = Reader::new();
        if let Some(column) = column {
            reader = reader.column(column.0);
        }
        if let Some(format) = format {
            let format: Format = format.0.parse().map_err(|error| {
                let error: lengthwise_input::UnknownFormat = error;
                setting(error.to_string())
            })?;
            reader = reader.format(format);
        }
        if let Some(unit) = unit {
            let unit: Unit = unit.0.parse().map_err(|error| {
                let error: lengthwise_input::UnknownUnit = error;
                setting(error.to_string())
            })?;
            reader = reader.unit(unit);
        }
        match (frame_shift, rate) {
            (Some(_), Some(_)) => {
                return Err(setting("`frame_shift` and `rate` are both given".to_owned()));
            }
            (Some(seconds), None) => reader = reader.time(Time::FrameShift(seconds.0)),
            (None, Some(rate)) => reader = reader.time(Time::Rate(rate.0)),
            (None, None) => {}
        }
        Ok(reader.read_path(&path.0)?.lengths)
    };
    Ok(PyArray1::from_vec(py, py.detach(read)?))
}

/// Built-in lengths to try things with: "speech", "documents" or "bimodal".
#[pyfunction]
#[pyo3(signature = (name = Parsed(Example::Speech)))]
pub(crate) fn example(py: Python<'_>, name: Parsed<Example>) -> Bound<'_, PyArray1<u32>> {
    PyArray1::from_slice(py, name.0.lengths().as_slice())
}
