//! The headers of WAV and FLAC files.

use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

use crate::error::Error;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// Samples of one channel.
    pub(super) samples: u64,
    /// Samples a second, at least 1.
    pub(super) rate: u32,
}

/// The two containers, by extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Wav,
    Flac,
}

impl Kind {
    pub(super) fn of(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?;
        match extension.to_ascii_lowercase().as_str() {
            "wav" | "wave" => Some(Kind::Wav),
            "flac" => Some(Kind::Flac),
            _ => None,
        }
    }
}

/// The header is not what its format says it should be.
fn damaged(kind: &str) -> Error {
    Error::new(format!("the {kind} header is cut short or damaged"))
        .hint_to("copy the file again, or leave it out")
}

/// Exactly as many bytes as the array has.
fn bytes<const N: usize>(reader: &mut impl Read, kind: &str) -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    reader.read_exact(&mut bytes).map_err(|cause| match cause.kind() {
        ErrorKind::UnexpectedEof => damaged(kind),
        _ => Error::io(cause),
    })?;
    Ok(bytes)
}

/// FLAC: the stream information, which always comes first, counts the samples in 36 bits.
pub(super) fn flac<R: Read + Seek>(reader: &mut R) -> Result<Header, Error> {
    let mut magic: [u8; 4] = bytes(reader, "FLAC")?;
    if magic.starts_with(b"ID3") {
        // A tag of another format that some programs put before the file: its size is in four
        // bytes of seven bits.
        let rest: [u8; 6] = bytes(reader, "FLAC")?;
        let size = rest[2..].iter().fold(0, |sum, &byte| sum << 7 | i64::from(byte & 0x7f));
        reader.seek(SeekFrom::Current(size)).map_err(|_| damaged("FLAC"))?;
        magic = bytes(reader, "FLAC")?;
    }
    if magic != *b"fLaC" {
        return Err(Error::new("is not a FLAC file: it does not begin with `fLaC`")
            .hint_to("give the file its right extension, or take it out of the directory"));
    }
    let block: [u8; 4] = bytes(reader, "FLAC")?;
    // Kind 0 is the stream information, which has 34 bytes. The first bit says if it is the last.
    if block[0] & 0x7f != 0 || block[1..] != [0, 0, 34] {
        return Err(damaged("FLAC"));
    }
    let info: [u8; 34] = bytes(reader, "FLAC")?;
    // Of 64 bits: 20 of the rate, 3 of the channels, 5 of the sample size, 36 of the samples.
    let bits = info[10..18].iter().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
    let (rate, samples) = ((bits >> 44) as u32, bits & ((1 << 36) - 1));
    if rate == 0 {
        return Err(damaged("FLAC"));
    }
    if samples == 0 {
        return Err(Error::new("does not say how many samples it has")
            .hint_to("it was written to a pipe: encode it again to a file, or leave it out"));
    }
    Ok(Header { samples, rate })
}

/// No real file has as many chunks before its samples.
const MOST_CHUNKS: usize = 1000;

/// The largest size that is taken at its word when the file is shorter. Programs that write to a
/// pipe put 0xFFFFFFFF or a number just below 0x7FFFFFFF.
const PLACEHOLDER: u64 = 0x7fff_0000;

/// The sizes that RF64 keeps in 64 bits.
#[derive(Clone, Copy, Debug)]
struct Large {
    data: u64,
    samples: u64,
}

/// What the `fmt ` chunk says.
#[derive(Clone, Copy, Debug)]
struct Coding {
    tag: u64,
    channels: u64,
    rate: u32,
    /// Bytes of one sample of every channel.
    block: u64,
}

/// WAV: RIFF, and RF64 and BW64, its forms for more than 4 GiB. The length comes from the size of the `data`
/// chunk. A program that writes to a pipe cannot know that size and writes a placeholder; then everything up
/// to the end of the file is samples.
pub(super) fn wav<R: Read + Seek>(reader: &mut R, size: u64) -> Result<Header, Error> {
    let start: [u8; 12] = bytes(reader, "WAV")?;
    let large_form = matches!(&start[..4], b"RF64" | b"BW64");
    if !(start.starts_with(b"RIFF") || large_form) || &start[8..] != b"WAVE" {
        return Err(Error::new("is not a WAV file: it does not begin with `RIFF` and `WAVE`")
            .hint_to("give the file its right extension, or take it out of the directory"));
    }
    let riff = number::<4>(&start[4..]);
    let mut large = None;
    let mut coding: Option<Coding> = None;
    let mut fact = None;
    let mut at = start.len() as u64;
    for _ in 0..MOST_CHUNKS {
        let head: [u8; 8] = bytes(reader, "WAV")?;
        at += 8;
        let length = number::<4>(&head[4..]);
        let read = match &head[..4] {
            b"ds64" if large_form && length >= 28 => {
                let chunk: [u8; 24] = bytes(reader, "WAV")?;
                large = Some(Large {
                    data: number::<8>(&chunk[8..]),
                    samples: number::<8>(&chunk[16..]),
                });
                24
            }
            b"fmt " if length >= 16 => {
                let (read, found) = coding_of(reader, length)?;
                coding = Some(found);
                read
            }
            b"fact" if length >= 4 => {
                fact = Some(number::<4>(&bytes::<4>(reader, "WAV")?));
                4
            }
            b"data" => {
                let coding = coding.ok_or_else(|| damaged("WAV"))?;
                let there = size.saturating_sub(at);
                let data = data_size(length, there, riff < at, large)?;
                return samples(coding, data, fact, large);
            }
            _ => 0,
        };
        // Chunks begin at even places.
        let next = length + (length & 1);
        reader.seek(SeekFrom::Current((next - read).cast_signed())).map_err(|_| damaged("WAV"))?;
        at += next;
        if at > size {
            return Err(damaged("WAV"));
        }
    }
    Err(damaged("WAV"))
}

fn coding_of<R: Read>(reader: &mut R, length: u64) -> Result<(u64, Coding), Error> {
    let chunk: [u8; 16] = bytes(reader, "WAV")?;
    let mut read = 16;
    let mut tag = number::<2>(&chunk);
    if tag == 0xfffe && length >= 40 {
        // The extensible form has the real tag at the start of an identifier.
        tag = number::<2>(&bytes::<24>(reader, "WAV")?[8..]);
        read += 24;
    }
    let coding = Coding {
        tag,
        channels: number::<2>(&chunk[2..]),
        rate: number::<4>(&chunk[4..]) as u32,
        block: number::<2>(&chunk[12..]),
    };
    Ok((read, coding))
}

/// How many bytes of samples there are, of `there` bytes that are left of the file. `unfinished`
/// is whether the file claims to end before its samples, as it does until a recorder closes it.
fn data_size(
    length: u64,
    there: u64,
    unfinished: bool,
    large: Option<Large>,
) -> Result<u64, Error> {
    let promised = match large {
        Some(large) if length == u64::from(u32::MAX) => large.data,
        _ => length,
    };
    let unknown = large.is_none() && promised >= PLACEHOLDER && promised > there;
    if unknown || (promised == 0 && unfinished) {
        return Ok(there);
    }
    if promised > there {
        return Err(Error::new(format!(
            "the header promises {promised} bytes of samples, but only {there} are there"
        ))
        .hint_to("the file is cut short: copy it again, or leave it out"));
    }
    Ok(promised)
}

fn samples(
    coding: Coding,
    data: u64,
    fact: Option<u64>,
    large: Option<Large>,
) -> Result<Header, Error> {
    let Coding { tag, channels, rate, block } = coding;
    if channels == 0 || rate == 0 || block == 0 {
        return Err(damaged("WAV"));
    }
    // PCM, floats, A-law and µ-law have whole samples side by side.
    if matches!(tag, 1 | 3 | 6 | 7) {
        if block % channels != 0 {
            return Err(damaged("WAV"));
        }
        return Ok(Header { samples: data / block, rate });
    }
    let counted = match (fact, large) {
        (Some(count), Some(large)) if count == u64::from(u32::MAX) => Some(large.samples),
        (count, _) => count,
    };
    let samples = counted.ok_or_else(|| {
        Error::new(format!("is compressed (format {tag}) and does not say how many samples it has"))
            .hint_to("convert it to PCM or FLAC, or leave it out")
    })?;
    Ok(Header { samples, rate })
}

/// The little-endian number in the first `N` bytes.
fn number<const N: usize>(bytes: &[u8]) -> u64 {
    bytes.iter().take(N).rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn chunk(name: &[u8], size: u32, body: &[u8]) -> Vec<u8> {
        [name, &size.to_le_bytes()[..], body].concat()
    }

    fn coding(tag: u16, channels: u16, rate: u32, block: u16) -> Vec<u8> {
        let mut body = [tag.to_le_bytes(), channels.to_le_bytes()].concat();
        body.extend([rate.to_le_bytes(), (rate * u32::from(block)).to_le_bytes()].concat());
        body.extend([block.to_le_bytes(), 16_u16.to_le_bytes()].concat());
        chunk(b"fmt ", 16, &body)
    }

    fn file(form: &[u8], riff: u32, chunks: &[Vec<u8>]) -> Vec<u8> {
        [form, &riff.to_le_bytes()[..], b"WAVE", &chunks.concat()].concat()
    }

    fn read(file: &[u8]) -> Result<(u64, u32), String> {
        let found = wav(&mut Cursor::new(file), file.len() as u64);
        found.map(|header| (header.samples, header.rate)).map_err(|error| error.to_string())
    }

    #[test]
    fn sizes_known_and_unknown() {
        let stereo = coding(1, 2, 16000, 4);
        let odd = chunk(b"LIST", 3, b"abc\0");
        let good = [odd.clone(), stereo.clone(), odd, chunk(b"data", 8, &[0; 8])];
        assert_eq!(read(&file(b"RIFF", 100, &good)), Ok((2, 16000)));
        for size in [0xffff_ffff, 0x7fff_ffff, 0x7fff_f000] {
            let chunks = [stereo.clone(), chunk(b"data", size, &[0; 13])];
            assert_eq!(read(&file(b"RIFF", size, &chunks)), Ok((3, 16000)), "{size:x}");
        }
        let open = [stereo.clone(), chunk(b"data", 0, &[0; 12])];
        assert_eq!(read(&file(b"RIFF", 0, &open)), Ok((3, 16000)));
        let empty = [stereo.clone(), chunk(b"data", 0, &[]), chunk(b"LIST", 4, b"abcd")];
        assert_eq!(read(&file(b"RIFF", 56, &empty)), Ok((0, 16000)));
        let short = [stereo, chunk(b"data", 400, &[0; 13])];
        let error = ": the header promises 400 bytes of samples, but only 13 are there";
        assert_eq!(read(&file(b"RIFF", 436, &short)), Err(error.to_owned()));
    }

    #[test]
    fn the_form_for_large_files() {
        let sizes = [&[0; 8][..], &8_u64.to_le_bytes(), &4_u64.to_le_bytes(), &[0; 4]].concat();
        let data = chunk(b"data", u32::MAX, &[0; 8]);
        let chunks = [chunk(b"ds64", 28, &sizes), coding(1, 1, 48000, 2), data.clone()];
        assert_eq!(read(&file(b"RF64", u32::MAX, &chunks)), Ok((4, 48000)));
        let sizes = [&[0; 8][..], &u64::MAX.to_le_bytes(), &[0; 12]].concat();
        let chunks = [chunk(b"ds64", 28, &sizes), coding(1, 1, 48000, 2), data];
        assert!(read(&file(b"BW64", u32::MAX, &chunks)).unwrap_err().contains("promises 1844"));
    }

    #[test]
    fn codings() {
        let data = chunk(b"data", 8, &[0; 8]);
        let with = |coding: Vec<u8>| read(&file(b"RIFF", 0, &[coding, data.clone()]));
        assert_eq!(with(coding(3, 1, 8000, 4)), Ok((2, 8000)));
        assert_eq!(with(coding(7, 2, 8000, 2)), Ok((4, 8000)));
        let error = with(coding(17, 1, 8000, 4)).unwrap_err();
        assert_eq!(error, ": is compressed (format 17) and does not say how many samples it has");
        let fact =
            [coding(17, 1, 8000, 4), chunk(b"fact", 4, &505_u32.to_le_bytes()), data.clone()];
        assert_eq!(read(&file(b"RIFF", 0, &fact)), Ok((505, 8000)));
        for wrong in
            [coding(1, 0, 8000, 4), coding(1, 1, 0, 4), coding(1, 1, 8000, 0), coding(1, 3, 8, 4)]
        {
            assert_eq!(with(wrong).unwrap_err(), ": the WAV header is cut short or damaged");
        }
    }

    #[test]
    fn endless_chunks_are_not_followed() {
        let chunks = vec![chunk(b"LIST", 0, &[]); 5000];
        assert!(read(&file(b"RIFF", 0, &chunks)).is_err());
        assert!(read(&file(b"RIFF", 0, &[chunk(b"LIST", u32::MAX, b"")])).is_err());
    }

    fn flac_file(rate: u64, samples: u64) -> Vec<u8> {
        let bits = rate << 44 | 15 << 36 | samples;
        [b"fLaC\x80\x00\x00\x22", &[0; 10][..], &bits.to_be_bytes(), &[0; 16]].concat()
    }

    fn read_flac(file: &[u8]) -> Result<(u64, u32), String> {
        let found = flac(&mut Cursor::new(file));
        found.map(|header| (header.samples, header.rate)).map_err(|error| error.to_string())
    }

    #[test]
    fn counts_of_36_bits() {
        assert_eq!(read_flac(&flac_file(16000, 5)), Ok((5, 16000)));
        assert_eq!(read_flac(&flac_file(655_350, (1 << 36) - 1)), Ok(((1 << 36) - 1, 655_350)));
        let tagged =
            [b"ID3\x04\x00\x00\x00\x00\x01\x02", &[0; 130][..], &flac_file(8000, 7)].concat();
        assert_eq!(read_flac(&tagged), Ok((7, 8000)));
    }

    #[test]
    fn what_flac_is_refused() {
        assert_eq!(
            read_flac(&flac_file(16000, 0)).unwrap_err(),
            ": does not say how many samples it has"
        );
        let whole = flac_file(16000, 5);
        for cut in 0..42 {
            assert_eq!(
                read_flac(&whole[..cut]).unwrap_err(),
                ": the FLAC header is cut short or damaged"
            );
        }
        assert!(read_flac(&flac_file(0, 5)).is_err());
        assert!(read_flac(b"OggS............................................").is_err());
        assert!(read_flac(&[b"fLaC\x04\x00\x00\x22", &[0; 34][..]].concat()).is_err());
    }
}
