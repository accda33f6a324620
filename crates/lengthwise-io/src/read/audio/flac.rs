//! FLAC headers: the stream information, which always comes first, counts the samples in 36 bits.

use std::io::{Read, Seek, SeekFrom};

use crate::error::Error;
use crate::read::audio::header::{Header, bytes, damaged};

pub(super) fn header<R: Read + Seek>(reader: &mut R) -> Result<Header, Error> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn file(rate: u64, samples: u64) -> Vec<u8> {
        let bits = rate << 44 | 15 << 36 | samples;
        [b"fLaC\x80\x00\x00\x22", &[0; 10][..], &bits.to_be_bytes(), &[0; 16]].concat()
    }

    fn read(file: &[u8]) -> Result<(u64, u32), String> {
        let found = header(&mut Cursor::new(file));
        found.map(|header| (header.samples, header.rate)).map_err(|error| error.to_string())
    }

    #[test]
    fn counts_of_36_bits() {
        assert_eq!(read(&file(16000, 5)), Ok((5, 16000)));
        assert_eq!(read(&file(655_350, (1 << 36) - 1)), Ok(((1 << 36) - 1, 655_350)));
        let tagged = [b"ID3\x04\x00\x00\x00\x00\x01\x02", &[0; 130][..], &file(8000, 7)].concat();
        assert_eq!(read(&tagged), Ok((7, 8000)));
    }

    #[test]
    fn what_is_refused() {
        assert_eq!(read(&file(16000, 0)).unwrap_err(), ": does not say how many samples it has");
        let whole = file(16000, 5);
        for cut in 0..42 {
            assert_eq!(
                read(&whole[..cut]).unwrap_err(),
                ": the FLAC header is cut short or damaged"
            );
        }
        assert!(read(&file(0, 5)).is_err());
        assert!(read(b"OggS............................................").is_err());
        assert!(read(&[b"fLaC\x04\x00\x00\x22", &[0; 34][..]].concat()).is_err());
    }
}
