//! What differs between systems: files that are mapped, the order of bytes, and the permissions of new files. Everything else
//! in the crate is the same everywhere.
#![expect(unsafe_code, reason = "a file that is mapped, and its bytes as numbers; nothing else")]

use std::{
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
};

use memmap2::Mmap;

/// Little-endian `u32` in a file as if they were in memory.
#[derive(Debug)]
pub(crate) struct Map(Held);

#[derive(Debug)]
enum Held {
    Mapped {
        bytes: Mmap,
        offset: usize,
        count: usize,
    },
    /// Where a system maps no files, or has the highest byte first.
    Read(Vec<u32>),
}

impl Map {
    /// Maps `count` numbers from `offset` on, a multiple of four. The file must have as many.
    pub(crate) fn new(file: &File, offset: u64, count: u64) -> io::Result<Self> {
        let short = || io::Error::from(io::ErrorKind::UnexpectedEof);
        let end = count.checked_mul(4).and_then(|size| size.checked_add(offset));
        let end = end.filter(|_| offset.is_multiple_of(4)).ok_or_else(short)?;
        if cfg!(target_endian = "big") {
            return Self::read(file, offset, count);
        }
        // SAFETY: the map is for reading alone, and every value of its bytes is valid. Rust requires
        // that they do not change while they are borrowed. No other program can change a temporary file
        // without a name. A named file cannot be protected: the documentation says not to write to it
        // meanwhile, and `Mapped::check` finds out afterwards whether that was done. All numbers are
        // checked wherever they are positions in a list. If the file is cut short, the system ends this
        // program when it touches what is gone.
        let bytes = match unsafe { Mmap::map(file) } {
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                return Self::read(file, offset, count);
            }
            mapped => mapped?,
        };
        if end > bytes.len() as u64 {
            return Err(short());
        }
        // Both are at most the length of what is mapped.
        let (offset, count) = (offset as usize, count as usize);
        Ok(Self(Held::Mapped { bytes, offset, count }))
    }

    /// The same in memory, for every system.
    fn read(mut file: &File, offset: u64, count: u64) -> io::Result<Self> {
        file.seek(SeekFrom::Start(offset))?;
        let mut bytes = Vec::new();
        file.take(4 * count).read_to_end(&mut bytes)?;
        if bytes.len() as u64 != 4 * count {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let (numbers, _) = bytes.as_chunks::<4>();
        Ok(Self(Held::Read(numbers.iter().map(|&number| u32::from_le_bytes(number)).collect())))
    }

    pub(crate) fn as_slice(&self) -> &[u32] {
        match &self.0 {
            Held::Mapped { bytes, offset, count } => {
                let bytes = &bytes[*offset..*offset + 4 * count];
                // SAFETY: any four bytes are a `u32`. A map begins at a page, so nothing is left over before
                // or after; if it were, it would be left out, and that is all.
                let (_, numbers, _) = unsafe { bytes.align_to::<u32>() };
                numbers
            }
            Held::Read(numbers) => numbers,
        }
    }
}

/// Gives a temporary file the permissions of other new files: it will be the output.
pub(crate) fn as_other_files(builder: &mut tempfile::Builder) {
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    // Elsewhere it has them.
    #[cfg(not(unix))]
    let _ = builder;
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn numbers_are_the_same_mapped_and_read() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[9, 9, 9, 9, 7, 0, 0, 0, 1, 2, 3, 4]).unwrap();
        let expected = [7, 0x0403_0201];
        assert_eq!(Map::new(&file, 4, 2).unwrap().as_slice(), expected);
        assert_eq!(Map::read(&file, 4, 2).unwrap().as_slice(), expected);
        assert!(Map::read(&file, 4, 3).is_err());
        for (offset, count) in [(4, 3), (2, 2), (4, 1 << 62), (1 << 62, 1), (u64::MAX - 3, 1)] {
            assert!(Map::new(&file, offset, count).is_err(), "{offset} {count}");
        }
    }
}
