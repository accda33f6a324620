//! Lengths that need not be in memory.

use std::fs::{File, Metadata};
use std::{path::PathBuf, time::SystemTime};

use crate::error::Error;
use crate::ids::Ids;
use crate::read::column::Column;
use crate::system::Map;

/// Lengths as read, in the order of the file, as [`Column`] has them, but not in memory unless they are
/// few.
#[derive(Debug)]
#[non_exhaustive]
pub struct MappedColumn {
    /// The header or the JSON field they were under, if there was one.
    pub name: Option<String>,
    /// One length per sequence, each at least 1; never empty.
    pub lengths: Mapped,
    /// One id per sequence, if ids were asked for; these are in memory.
    pub ids: Option<Ids>,
    /// What was left out without being refused, as in [`Column`].
    pub skipped: u64,
    /// If blank lines were left out, the number of the first, from 1.
    pub first_skipped: Option<u64>,
}

impl MappedColumn {
    /// Whatever was read, the rest of it sent to the file that the beginning is in.
    pub(crate) fn of(column: Column) -> Result<Self, Error> {
        let Column { name, lengths, ids, skipped, first_skipped, spool } = column;
        let mut spool = spool.unwrap_or_default();
        let held = if spool.count == 0 {
            Held::Memory(lengths)
        } else {
            spool.add(&lengths)?;
            spool.map()?.map_or_else(|| Held::Memory(Vec::new()), Held::Spooled)
        };
        Ok(Self { name, lengths: Mapped(held), ids, skipped, first_skipped })
    }

    /// The lengths of a file, where they are.
    pub(crate) fn in_place(map: Map, file: File, path: PathBuf) -> Result<Self, Error> {
        let about = file.metadata().map_err(Error::io)?;
        let held = Held::InPlace { map, stamp: stamp(&about), file, path };
        let (name, lengths, ids) = (None, Mapped(held), None);
        Ok(Self { name, lengths, ids, skipped: 0, first_skipped: None })
    }
}

/// Lengths in a file that is mapped: they are read when they are looked at, and take memory only as
/// long as the system has it to spare.
#[derive(Debug)]
pub struct Mapped(Held);

#[derive(Debug)]
enum Held {
    Memory(Vec<u32>),
    /// In a temporary file without a name, which no other program can change.
    Spooled(Map),
    /// In the file that was named.
    InPlace {
        map: Map,
        file: File,
        path: PathBuf,
        stamp: Stamp,
    },
}

/// How large a file is, and when it was last changed.
type Stamp = (u64, Option<SystemTime>);

fn stamp(about: &Metadata) -> Stamp {
    (about.len(), about.modified().ok())
}

impl Mapped {
    /// Refuses lengths that are used in place, where the file was written to since it was opened: what
    /// was made of them may be of some lengths before and some after. Ask it last.
    ///
    /// A file that is made shorter is worse: the system ends a program that looks at what is no longer
    /// there. A file that is replaced by another of the same name is neither.
    pub fn check(&self) -> Result<(), Error> {
        let Held::InPlace { file, path, stamp: before, .. } = &self.0 else { return Ok(()) };
        let about = file.metadata().map_err(|cause| Error::io(cause).of(path))?;
        if stamp(&about) == *before {
            return Ok(());
        }
        Err(Error::new("was written to while its lengths were used")
            .hint_to("try again when no other program writes to the file")
            .of(path))
    }

    /// Whether they are in memory because they are few.
    pub fn is_in_memory(&self) -> bool {
        matches!(self.0, Held::Memory(_))
    }
}

impl AsRef<[u32]> for Mapped {
    fn as_ref(&self) -> &[u32] {
        match &self.0 {
            Held::Memory(lengths) => lengths,
            Held::Spooled(map) | Held::InPlace { map, .. } => map.as_slice(),
        }
    }
}
