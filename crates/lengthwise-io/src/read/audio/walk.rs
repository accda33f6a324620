//! The audio files below a directory, in an order that does not depend on the machine: by the
//! bytes of their paths. Links are followed. A directory that is reached a second time is an
//! error: it is a loop of links, or its files would be counted twice.

use std::path::{MAIN_SEPARATOR, Path, PathBuf};
use std::{collections::BTreeMap, fs};

use crate::error::Error;
use crate::read::audio::header::Kind;
use crate::text::quote;

pub(super) struct Found {
    /// Paths of audio files from the directory on, with `/` between the parts.
    pub(super) files: Vec<String>,
    /// How many other files there are.
    pub(super) others: u64,
}

pub(super) fn files(root: &Path, mut progress: impl FnMut(u64)) -> Result<Found, Error> {
    let mut found = Found { files: Vec::new(), others: 0 };
    let mut seen = BTreeMap::new();
    let mut waiting = vec![PathBuf::new()];
    while let Some(inside) = waiting.pop() {
        let folder = root.join(&inside);
        let refuse = |cause| Error::io(cause).of(&folder);
        let real = folder.canonicalize().map_err(refuse)?;
        if let Some(before) = seen.insert(real, inside.clone()) {
            return Err(twice(&folder, &before));
        }
        for entry in fs::read_dir(&folder).map_err(refuse)? {
            let path = inside.join(entry.map_err(refuse)?.file_name());
            let whole = root.join(&path);
            match whole.metadata() {
                Ok(about) if about.is_dir() => waiting.push(path),
                // A broken link is only in the way if it should be audio.
                Err(cause) if Kind::of(&path).is_some() => {
                    return Err(Error::io(cause).of(&whole));
                }
                _ if Kind::of(&path).is_some() => {
                    found.files.push(name(&path).map_err(|error| error.of(&whole))?);
                }
                _ => found.others += 1,
            }
        }
        progress(found.files.len() as u64);
    }
    found.files.sort_unstable();
    Ok(found)
}

fn name(path: &Path) -> Result<String, Error> {
    let name = path
        .to_str()
        .ok_or_else(|| Error::new("the name is not valid UTF-8").hint_to("rename the file"))?;
    Ok(if MAIN_SEPARATOR == '/' { name.to_owned() } else { name.replace(MAIN_SEPARATOR, "/") })
}

fn twice(folder: &Path, before: &Path) -> Error {
    let before = if before.as_os_str().is_empty() {
        "the directory itself".to_owned()
    } else {
        quote(&before.display().to_string())
    };
    Error::new(format!("leads back to {before}, which was read already"))
        .hint_to("remove the link: every directory is read once")
        .of(folder)
}
