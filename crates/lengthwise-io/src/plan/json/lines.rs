//! JSON lines that are read batch by batch.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Take};

use lengthwise::Provenance;
use xxhash_rust::xxh3::Xxh3;

use crate::error::Error;
use crate::plan::batchwise::{About, MORE, StreamedBatch, unreadable, whole};
use crate::plan::seal::{check_content, parsed};
use crate::plan::{header::Unchecked, json::read::Line};

pub(in crate::plan) struct Lines {
    /// All lines but the last.
    others: Take<BufReader<File>>,
    pub(in crate::plan) last: Vec<u8>,
    hash: Xxh3,
    number: u64,
    text: Vec<u8>,
    pub(in crate::plan) longest: u64,
}

/// The last line is looked for in so many bytes.
const LONGEST_LAST: u64 = 1 << 26;

impl Lines {
    pub(in crate::plan) fn open(mut file: File) -> Result<(About, Self), Error> {
        let (start, last) = last_line(&mut file).map_err(|error| unreadable(&error))?;
        let header = Unchecked::new(&last)?;
        header.check_one_length()?;
        let about = About { over_long: Vec::new(), ..About::new(&header)? };
        file.rewind().map_err(|error| unreadable(&error))?;
        let others = BufReader::with_capacity(1 << 20, file).take(start);
        let (hash, text) = (Xxh3::new(), Vec::new());
        let lines = Self { others, last, hash, number: 0, text, longest: u64::MAX };
        Ok((about, lines))
    }

    /// The next batch; nothing at the end, if the checksum is right.
    pub(in crate::plan) fn next(
        &mut self,
        made: &Provenance,
        over_long: &mut Vec<u32>,
    ) -> Result<Option<StreamedBatch>, Error> {
        loop {
            self.text.clear();
            let read = (&mut self.others).take(self.longest).read_until(b'\n', &mut self.text);
            let read = read.map_err(|error| unreadable(&error))?;
            if read as u64 == self.longest && !self.text.ends_with(b"\n") {
                return Err(self.too_long().at(self.number + 1));
            }
            if read == 0 {
                check_content(&self.last, self.hash.clone())?;
                return Ok(None);
            }
            self.hash.update(&self.text);
            self.number += 1;
            let number = self.number;
            let line: Line = parsed(&self.text).map_err(|error| error.at(number))?;
            if line.ids.is_some() || line.offsets.is_some() || line.second_batch_length.is_some() {
                return Err(whole(MORE));
            }
            match (line.over_long, line.batch_length, line.positions) {
                (Some(treatment), ..) if treatment == made.over_long.to_string() => {
                    *over_long = line.sequences;
                }
                (None, Some(length), Some(positions))
                    if length > 0 && !line.sequences.is_empty() =>
                {
                    let sequences = line.sequences;
                    return Ok(Some(StreamedBatch { sequences, length, positions }));
                }
                _ => {
                    let why = "a line is neither a batch nor the over-long sequences";
                    return Err(Error::not_a_plan(why).at(number));
                }
            }
        }
    }

    /// How long the line is that was begun, and what memory it takes.
    fn too_long(&mut self) -> Error {
        let rest = self.others.skip_until(b'\n').unwrap_or_default() as u64;
        let all = self.longest + rest;
        let [all, more] = [all, 3 * rest].map(|bytes| bytes.div_ceil(100_000) as f64 / 10.0);
        let what = format!("has a line of {all} MB, which the bound on memory leaves no room for");
        Error::of_plan(what)
            .hint_with("raise the bound by {} MB or more ({memory})", &[&more.to_string()])
    }
}

/// Where the last line begins, and the line.
fn last_line(file: &mut File) -> io::Result<(u64, Vec<u8>)> {
    let size = file.metadata()?.len();
    let mut window = 1 << 16;
    loop {
        let start = size.saturating_sub(window);
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        file.take(size - start).read_to_end(&mut bytes)?;
        let without_end = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        let found = without_end.iter().rposition(|&byte| byte == b'\n').map(|at| at + 1);
        if let Some(at) = found.or((start == 0).then_some(0)) {
            return Ok((start + at as u64, bytes.split_off(at)));
        }
        if window >= LONGEST_LAST {
            // No last line is that long where no ranks are in it.
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        window *= 16;
    }
}
