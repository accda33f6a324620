//! Kaldi's tables of lengths: on every line an utterance and its number of frames, as in
//! `utt2num_frames`, or its seconds, as in `utt2dur`. The file name says which of the two.

use std::{
    io::Read,
    path::{Path, PathBuf},
};

use crate::error::Error;
use crate::read::request::{Measure, Request};
use crate::read::{
    column::Column, columns::IdColumn, format::Format, lines::Lines, number::Reason,
};
use crate::text::quote;

/// What the second field of a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Table {
    Frames,
    Seconds,
}

pub(crate) fn read<R: Read>(reader: R, table: Table, request: &Request) -> Result<Column, Error> {
    check(table, request)?;
    let mut lines = Lines::new(reader);
    let mut column = request.column(None);
    while let Some((line, bytes)) = lines.next()? {
        let text = str::from_utf8(bytes).map_err(|_| Error::not_utf8(line))?;
        let mut fields = text.split_ascii_whitespace();
        let (Some(id), Some(value), None) = (fields.next(), fields.next(), fields.next()) else {
            let count = text.split_ascii_whitespace().count();
            let fields = if count == 1 { "field" } else { "fields" };
            return Err(Error::new(format!("the line has {count} {fields}, expected 2"))
                .at(line)
                .hint_to("write the utterance, a space and its length on every line"));
        };
        let refuse =
            |reason: Reason| reason.error(&format!("utterance {}", quote(id)), value).at(line);
        column.push(request.measure.bytes(value.as_bytes()).map_err(refuse)?)?;
        column.push_id(id)?;
    }
    lines.blanks.note(&mut column);
    Ok(column)
}

/// The table of lengths in a data folder of Kaldi, if the folder is one: frames, or seconds where they are
/// asked for or where there is nothing else.
pub(crate) fn table_in(
    folder: &Path,
    wanted: Option<Format>,
    seconds: bool,
) -> Result<Option<(PathBuf, Format)>, Error> {
    let there = |format: Format| {
        let file = folder.join(format.to_string());
        (wanted.is_none_or(|wanted| wanted == format) && file.is_file()).then_some((file, format))
    };
    let (frames, durations) = (there(Format::Utt2NumFrames), there(Format::Utt2Dur));
    let found = if seconds { durations.or(frames) } else { frames.or(durations) };
    if found.is_none() && wanted.is_none() && folder.join("wav.scp").is_file() {
        return Err(Error::new("is a data folder of Kaldi without utt2num_frames and utt2dur")
            .hint_with(
                "make one of them with Kaldi: `utils/data/get_utt2num_frames.sh {}`",
                &[&folder.display().to_string()],
            ));
    }
    Ok(found)
}

fn check(table: Table, request: &Request) -> Result<(), Error> {
    request.refuse_column("a Kaldi table")?;
    if let Some(IdColumn::Named(_)) = request.ids {
        return Err(Error::new("a Kaldi table names its utterances in the first field")
            .hint_to("ask for ids without naming a column"));
    }
    match (table, &request.measure) {
        (Table::Frames, Measure::Numbers | Measure::NumbersOnly)
        | (Table::Seconds, Measure::Seconds(_)) => Ok(()),
        (Table::Seconds, Measure::Numbers | Measure::NumbersOnly) => {
            Err(Error::new("utt2dur holds seconds, but a plan needs whole numbers")
                .hint_to("convert them to frames with {frame-shift=0.01} or {rate=100}"))
        }
        (Table::Frames, Measure::Seconds(_)) => {
            Err(Error::new("utt2num_frames holds frames, not seconds")
                .hint_to("leave out {frame-shift} and {rate}, or say {format=utt2dur} for seconds"))
        }
        (_, Measure::Texts(_)) => request.refuse_texts("a Kaldi table"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::time::Time;

    #[test]
    fn frames_and_seconds() {
        let mut request = Request { ids: Some(&IdColumn::Usual), ..Request::plain(None) };
        let column = read(&b"utt-1 470\nutt-2\t312\n"[..], Table::Frames, &request).unwrap();
        assert_eq!(column.lengths, [470, 312]);
        assert!(column.ids.unwrap().iter().eq(["utt-1", "utt-2"]));
        request.measure = Measure::Seconds(Time::FrameShift(0.01));
        let column = read(&b"utt-1 1.29\r\nutt-2 3\n"[..], Table::Seconds, &request).unwrap();
        assert_eq!(column.lengths, [129, 300]);
    }

    #[test]
    fn what_is_refused() {
        let error = |text: &str, table, request: &Request| {
            read(text.as_bytes(), table, request).unwrap_err().in_source("f").to_string()
        };
        let mut request = Request::plain(None);
        assert_eq!(error("a\n", Table::Frames, &request), "f:1: the line has 1 field, expected 2");
        assert_eq!(
            error("a 1\n\na b 2", Table::Frames, &request),
            "f:3: the line has 3 fields, expected 2"
        );
        assert_eq!(
            error("a 0\n", Table::Frames, &request),
            "f:1: utterance `a` holds `0`, which is less than 1"
        );
        assert!(error("a 1", Table::Seconds, &request).contains("holds seconds"));
        request.measure = Measure::Seconds(Time::Rate(100.0));
        assert!(error("a 1", Table::Frames, &request).contains("holds frames"));
        assert_eq!(
            error("a nan", Table::Seconds, &request),
            "f:1: utterance `a` holds `nan`, which is not a finite number"
        );
    }
}
