//! Statistics as a few bytes for every distinct length.
//!
//! A mark of eight bytes, the version, then whole numbers in as few bytes as they need (seven bits in
//! each, the lowest first), and XXH3 of all that as eight bytes. Equal statistics have equal bytes.

use std::io::{Read, Write};
use std::{fs::File, path::Path};

use lengthwise::shard::{Needs, Statistics};
use xxhash_rust::xxh3::xxh3_64;

use crate::error::Error;
use crate::record::bounded;
use crate::save::save;

const MARK: [u8; 8] = *b"\x93lwstats";

/// The version of statistics that this release writes and reads.
const VERSION: u8 = 1;

/// No statistics have more bytes: 65,536 classes take at most a million, and shards that are not yet
/// all counted a few each.
const MOST_BYTES: u64 = 1 << 25;

/// The statistics as bytes: the same for equal statistics.
///
/// ```
/// use lengthwise::{Example, shard::Statistics};
/// use lengthwise_io::{statistics_from_bytes, statistics_to_bytes};
///
/// let statistics = Statistics::of(&Example::Speech.lengths());
/// let mut bytes = statistics_to_bytes(&statistics);
/// assert!(bytes.len() < 3000);
/// assert_eq!(statistics_from_bytes(&bytes)?, statistics);
///
/// bytes[99] ^= 1;
/// assert!(statistics_from_bytes(&bytes).is_err());
/// # Ok::<(), lengthwise_io::Error>(())
/// ```
pub fn statistics_to_bytes(statistics: &Statistics) -> Vec<u8> {
    let mut bytes = MARK.to_vec();
    bytes.push(VERSION);
    let classes = statistics.histogram();
    put(&mut bytes, [statistics.is_exact().into(), classes.len() as u128]);
    let mut before = 0;
    for &(end, count) in classes {
        put(&mut bytes, [(end - before).into(), count.into()]);
        before = end;
    }
    put(&mut bytes, [statistics.total(), statistics.min().into(), statistics.max().into()]);
    put(&mut bytes, [statistics.needs().is_some().into()]);
    if let Some(needs) = statistics.needs() {
        put(&mut bytes, [needs.settings.len() as u128]);
        bytes.extend_from_slice(needs.settings.as_bytes());
        put(&mut bytes, [needs.statistics.into(), needs.of.into(), needs.shards.len() as u128]);
        put(&mut bytes, needs.shards.iter().flatten().map(|&number| number.into()));
        put(&mut bytes, [needs.most.into(), needs.least.into(), needs.sum.into()]);
    }
    let checksum = xxh3_64(&bytes);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    bytes
}

fn put(bytes: &mut Vec<u8>, numbers: impl IntoIterator<Item = u128>) {
    for mut number in numbers {
        while number >= 0x80 {
            bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        bytes.push(number as u8);
    }
}

/// The statistics that [`statistics_to_bytes`] gave.
pub fn statistics_from_bytes(bytes: &[u8]) -> Result<Statistics, Error> {
    let Some(rest) = bytes.strip_prefix(&MARK) else {
        return Err(cut_off("it does not begin with their mark"));
    };
    match rest.first() {
        Some(&VERSION) => {}
        Some(other) => {
            let known = format!("version {VERSION}");
            return Err(Error::version(SUBJECT, &other.to_string(), &known));
        }
        None => return Err(cut_off("it ends after its mark")),
    }
    let Some((content, checksum)) = bytes.split_last_chunk::<8>() else {
        return Err(cut_off("it has no checksum"));
    };
    let (written, found) = (u64::from_le_bytes(*checksum), xxh3_64(content));
    if written != found {
        return Err(Error::altered(SUBJECT, written, found));
    }
    let mut numbers = Numbers(&content[MARK.len() + 1..]);
    let statistics = numbers.statistics()?;
    if !numbers.0.is_empty() {
        return Err(cut_off("there are bytes after its end"));
    }
    Ok(statistics)
}

/// Whether a file begins as statistics do.
pub fn is_statistics(path: &Path) -> bool {
    let mut start = [0; MARK.len()];
    File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == MARK
}

/// Reads the statistics in a file.
pub fn read_statistics(path: &Path) -> Result<Statistics, Error> {
    let bytes = bounded(SUBJECT, path, MOST_BYTES, "statistics");
    bytes.and_then(|bytes| statistics_from_bytes(&bytes)).map_err(|error| error.of(path))
}

/// Writes statistics to a file, whole or not at all.
pub fn save_statistics(path: &Path, statistics: &Statistics) -> Result<(), Error> {
    save(path, |file| file.write_all(&statistics_to_bytes(statistics)))
}

const SUBJECT: &str = "file of statistics";

fn cut_off(why: &str) -> Error {
    Error::cut_off(SUBJECT, why)
}

/// What is left to read.
struct Numbers<'a>(&'a [u8]);

impl<'a> Numbers<'a> {
    fn statistics(&mut self) -> Result<Statistics, Error> {
        let exact = self.flag()?;
        let count: usize = self.number()?;
        // A class has two bytes at least, so a count that is too high asks for no memory.
        let mut classes = Vec::with_capacity(count.min(self.0.len() / 2));
        let mut before = 0_u32;
        for _ in 0..count {
            let more: u32 = self.number()?;
            before = before.checked_add(more).ok_or_else(|| cut_off("a length is too high"))?;
            classes.push((before, self.number()?));
        }
        let total = self.number()?;
        let ends = [self.number()?, self.number()?];
        let needs = if self.flag()? { Some(self.needs()?) } else { None };
        Statistics::restore(classes, exact, total, ends, needs)
            .map_err(|error| cut_off(&error.to_string()))
    }

    fn needs(&mut self) -> Result<Needs, Error> {
        let text: usize = self.number()?;
        let settings =
            str::from_utf8(self.take(text)?).map_err(|_| cut_off("it is not valid UTF-8"))?;
        let statistics = self.number()?;
        let of = self.number()?;
        let stretches: usize = self.number()?;
        let mut shards = Vec::with_capacity(stretches.min(self.0.len() / 2));
        for _ in 0..stretches {
            shards.push([self.number()?, self.number()?]);
        }
        let (most, least, sum) = (self.number()?, self.number()?, self.number()?);
        let settings = settings.to_owned();
        Ok(Needs { settings, statistics, of, shards, most, least, sum })
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], Error> {
        let (taken, rest) =
            self.0.split_at_checked(count).ok_or_else(|| cut_off("it ends too early"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn flag(&mut self) -> Result<bool, Error> {
        match self.number::<u8>()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(cut_off("a flag is neither 0 nor 1")),
        }
    }

    fn number<T: TryFrom<u128>>(&mut self) -> Result<T, Error> {
        let mut number = 0_u128;
        for shift in (0..u128::BITS).step_by(7) {
            let byte = self.take(1)?[0];
            let bits = u128::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                break;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return number.try_into().map_err(|_| cut_off("a number is too high"));
            }
        }
        Err(cut_off("a number is too high"))
    }
}
