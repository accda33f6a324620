//! Numbers in a file as if they were in memory.
#![expect(unsafe_code, reason = "a file that is mapped, and its bytes as numbers; nothing else")]

use std::{fs::File, io};

use memmap2::Mmap;

/// Little-endian `u32` in a file, where they are.
#[derive(Debug)]
pub(crate) struct Map {
    bytes: Mmap,
    offset: usize,
    count: usize,
}

impl Map {
    /// Maps `count` numbers from `offset` on, a multiple of four. The file must have as many.
    pub(crate) fn new(file: &File, offset: usize, count: usize) -> io::Result<Self> {
        // SAFETY: the map is for reading alone, and every value of its bytes is valid. Rust requires
        // that they do not change while they are borrowed. No other program can change a temporary file
        // without a name. A named file cannot be protected: the documentation says not to write to it
        // meanwhile, and `Mapped::check` finds out afterwards whether that was done. All numbers are
        // checked wherever they are positions in a list. If the file is cut short, the system ends this
        // program when it touches what is gone.
        let bytes = unsafe { Mmap::map(file)? };
        let enough = count.checked_mul(4).and_then(|size| size.checked_add(offset));
        if enough.is_none_or(|end| end > bytes.len()) || !offset.is_multiple_of(4) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(Self { bytes, offset, count })
    }

    pub(crate) fn as_slice(&self) -> &[u32] {
        let bytes = &self.bytes[self.offset..self.offset + 4 * self.count];
        // SAFETY: any four bytes are a `u32`. A map begins at a page, so nothing is left over before
        // or after; if it were, it would be left out, and that is all.
        let (_, numbers, _) = unsafe { bytes.align_to::<u32>() };
        numbers
    }
}
