//! What the readers of audio headers share.

use std::{io::Read, path::Path};

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
pub(super) fn damaged(kind: &str) -> Error {
    Error::new(format!("the {kind} header is cut short or damaged"))
        .hint_to("copy the file again, or leave it out")
}

/// Exactly as many bytes as the array has.
pub(super) fn bytes<const N: usize>(reader: &mut impl Read, kind: &str) -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    reader.read_exact(&mut bytes).map_err(|cause| match cause.kind() {
        std::io::ErrorKind::UnexpectedEof => damaged(kind),
        _ => Error::io(cause),
    })?;
    Ok(bytes)
}
