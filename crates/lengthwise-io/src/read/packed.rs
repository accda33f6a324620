//! Compressed input, told by its first bytes: gzip and zstd are unpacked as they stream past, and
//! everything else goes through untouched. However much a small file unpacks to, no more than a
//! window of it is held here; what the readers keep of a line is bounded by them.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use crate::error::does_not_unpack;

const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Whether bytes begin as those of gzip and zstd do.
pub fn is_packed(start: &[u8]) -> bool {
    start.starts_with(&GZIP) || start.starts_with(&ZSTD)
}

/// How much of a zstd frame is unpacked at a time.
const PIECE: usize = 1 << 17;

/// What a reader has, unpacked if it is packed by gzip or zstd. Its first four bytes are waited for.
pub fn unpacked<'a>(mut reader: impl Read + 'a) -> io::Result<impl Read + 'a> {
    let mut head = Vec::with_capacity(ZSTD.len());
    reader.by_ref().take(ZSTD.len() as u64).read_to_end(&mut head)?;
    let (gzip, zstd) = (head.starts_with(&GZIP), head == ZSTD);
    let whole = Cursor::new(head).chain(reader);
    let buffered = |whole| BufReader::with_capacity(1 << 16, whole);
    let unpacked: Box<dyn Read + 'a> = if gzip {
        Box::new(Gzip(MultiGzDecoder::new(buffered(whole))))
    } else if zstd {
        let decoder = FrameDecoder::new();
        Box::new(Zstd { source: buffered(whole), decoder, inside: false })
    } else {
        Box::new(whole)
    };
    Ok(unpacked)
}

struct Gzip<R>(MultiGzDecoder<R>);

impl<R: BufRead> Read for Gzip<R> {
    /// The decoder's complaint, unless it only passes on that the input itself cannot be read.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
        self.0.read(buffer).map_err(|cause| match cause.kind() {
            InvalidInput | InvalidData | UnexpectedEof => does_not_unpack("gzip"),
            _ => cause,
        })
    }
}

/// The frames of a zstd file, one after the other, each with its checksum verified. The library
/// unpacks one frame, and leaves both of these to its caller.
struct Zstd<R> {
    source: R,
    decoder: FrameDecoder,
    inside: bool,
}

impl<R: BufRead> Zstd<R> {
    /// Begins the next frame; false at the end of the input.
    fn next_frame(&mut self) -> io::Result<bool> {
        while !self.source.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.source) {
                Ok(()) => return Ok(true),
                // Skippable frames hold what other programs noted down.
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let mut skipped = self.source.by_ref().take(u64::from(length));
                    if io::copy(&mut skipped, &mut io::sink())? != u64::from(length) {
                        return Err(does_not_unpack("zstd"));
                    }
                }
                Err(_) => return Err(does_not_unpack("zstd")),
            }
        }
        Ok(false)
    }
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.inside && !self.next_frame()? {
                return Ok(0);
            }
            self.inside = true;
            let read = self.decoder.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            if self.decoder.is_finished() {
                let written = self.decoder.get_checksum_from_data();
                if written.is_some() && written != self.decoder.get_calculated_checksum() {
                    return Err(does_not_unpack("zstd"));
                }
                self.inside = false;
                continue;
            }
            let piece = BlockDecodingStrategy::UptoBytes(PIECE);
            self.decoder
                .decode_blocks(&mut self.source, piece)
                .map_err(|_| does_not_unpack("zstd"))?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    use flate2::{Compression, write::GzEncoder};
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(text: &[u8]) -> Vec<u8> {
        compress_to_vec(text, CompressionLevel::Fastest)
    }

    fn unpack(packed: &[u8]) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        unpacked(packed)?.read_to_end(&mut out)?;
        Ok(out)
    }

    #[test]
    fn plain_bytes_go_through() {
        for text in [&b""[..], b"1", b"12\n", b"\x1f", b"(\xb5/", b"12345678"] {
            assert_eq!(unpack(text).unwrap(), text);
        }
    }

    #[test]
    fn packed_bytes_come_back_also_in_parts() {
        let text: Vec<u8> = (0..400_000_u32).flat_map(u32::to_le_bytes).collect();
        let (start, rest) = text.split_at(1_000_000);
        assert_eq!(unpack(&[gzip(start), gzip(rest)].concat()).unwrap(), text);
        let skipped = b"\x50\x2a\x4d\x18\x03\x00\x00\x00abc".to_vec();
        assert_eq!(unpack(&[zstd(start), skipped, zstd(rest)].concat()).unwrap(), text);
    }

    #[test]
    fn damage_is_found_wherever_it_is() {
        let text = b"12\n34\n56\n".repeat(40);
        for packed in [gzip(&text), zstd(&text)] {
            for cut in 4..packed.len() {
                let error = unpack(&packed[..cut]).unwrap_err();
                assert!(error.to_string().contains("cut short or damaged"), "{cut}: {error}");
            }
            for index in 4..packed.len() {
                let mut flipped = packed.clone();
                flipped[index] ^= 0x10;
                // Some bits of a header carry no meaning; no flip may give other text.
                assert!(unpack(&flipped).is_ok_and(|out| out == text) || unpack(&flipped).is_err());
            }
        }
    }
}
