//! Where results go besides standard output.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

/// Numbers as a list of JSON.
pub(crate) fn list(numbers: impl Iterator<Item = u128>) -> String {
    format!("[{}]", numbers.map(|number| number.to_string()).collect::<Vec<_>>().join(","))
}

/// The folder of `--out`, if there is one.
#[derive(Debug)]
pub(crate) struct Output {
    kept: Option<(PathBuf, BufWriter<File>)>,
}

impl Output {
    /// Makes the folder and opens its raw file.
    pub(crate) fn new(folder: Option<&Path>) -> io::Result<Self> {
        let Some(folder) = folder else { return Ok(Self { kept: None }) };
        let named = |error: io::Error| {
            io::Error::new(error.kind(), format!("cannot write to {}: {error}", folder.display()))
        };
        fs::create_dir_all(folder).map_err(named)?;
        let raw = File::create(folder.join("raw.jsonl")).map_err(named)?;
        Ok(Self { kept: Some((folder.to_owned(), BufWriter::new(raw))) })
    }

    /// Adds one line of JSON.
    pub(crate) fn raw(&mut self, line: &str) -> io::Result<()> {
        match &mut self.kept {
            Some((_, raw)) => writeln!(raw, "{line}"),
            None => Ok(()),
        }
    }

    /// Writes a file beside the raw lines.
    pub(crate) fn file(&self, name: &str, text: &str) -> io::Result<()> {
        match &self.kept {
            Some((folder, _)) => fs::write(folder.join(name), text),
            None => Ok(()),
        }
    }

    /// Writes the table, and what is left of the raw lines.
    pub(crate) fn finish(self, table: &str) -> io::Result<()> {
        let Some((folder, mut raw)) = self.kept else { return Ok(()) };
        raw.flush()?;
        fs::write(folder.join("table.md"), table)
    }
}
