//! From arguments to lengths.

use std::{fmt::Write as _, io, path::Path};

use lengthwise::{Chunks, Example, Lengths};
use lengthwise_input::{Format, Options};

use crate::{
    args::{Input, Source},
    failure::Failure,
};

/// The lengths to plan with, and how pieces map back if sequences were cut into them.
pub(crate) struct Sequences {
    /// What they are, for people.
    pub(crate) source: String,
    lengths: Lengths,
    pub(crate) chunks: Option<Chunks>,
}

impl Sequences {
    pub(crate) fn lengths(&self) -> &Lengths {
        self.chunks.as_ref().map_or(&self.lengths, Chunks::lengths)
    }
}

impl Input {
    /// Reads the file, or makes the example; the default example if neither was named.
    pub(crate) fn read_or_default(&self) -> Result<Sequences, Failure> {
        self.source.read(self.chunk)
    }

    /// Reads the file, or makes the example; one of them must have been named.
    pub(crate) fn read(&self) -> Result<Sequences, Failure> {
        if !self.source.is_named() {
            return Err(Failure::new(
                "no input",
                "name a file of lengths, or try built-in ones with `--example speech`",
            ));
        }
        self.read_or_default()
    }

    /// The arguments that give this input again.
    pub(crate) fn as_typed(&self) -> String {
        let source = &self.source;
        let mut typed = match (&source.path, &source.example) {
            (Some(path), _) => quoted(&path.display().to_string()),
            (None, Some(name)) => format!("--example {name}"),
            (None, None) => format!("--example {}", Example::default()),
        };
        for (name, value) in [
            ("column", source.column.clone()),
            ("format", source.format.clone()),
            ("chunk", self.chunk.map(|size| size.to_string())),
        ] {
            if let Some(value) = value {
                _ = write!(typed, " --{name} {}", quoted(&value));
            }
        }
        typed
    }
}

impl Source {
    /// Whether a file or an example was named.
    pub(crate) fn is_named(&self) -> bool {
        self.path.is_some() || self.example.is_some()
    }

    /// Reads the file, or makes the example; the default example if neither was named. Cuts
    /// sequences into pieces of at most `chunk`.
    pub(crate) fn read(&self, chunk: Option<u32>) -> Result<Sequences, Failure> {
        let (mut source, lengths) = match (&self.path, &self.example) {
            (Some(path), _) => self.read_path(path)?,
            (None, name) => {
                let example = name.as_deref().map_or(Ok(Example::default()), str::parse)?;
                (format!("example `{example}`"), example.lengths())
            }
        };
        let chunks = chunk.map(|size| Chunks::new(&lengths, size)).transpose()?;
        if let Some(size) = chunk {
            _ = write!(source, " in pieces of at most {size}");
        }
        Ok(Sequences { source, lengths, chunks })
    }

    fn read_path(&self, path: &Path) -> Result<(String, Lengths), Failure> {
        let format = self.format.as_deref().map(str::parse::<Format>).transpose()?;
        let options = Options { column: self.column.clone(), format };
        let column = if path == Path::new("-") {
            let format = format.unwrap_or(Format::Text);
            lengthwise_input::read_from(io::stdin().lock(), "standard input", format, &options)?
        } else {
            lengthwise_input::read_path(path, &options)?
        };
        let mut source = path.display().to_string();
        if let Some(name) = column.name {
            _ = write!(source, ", `{name}`");
        }
        Ok((source, Lengths::new(column.lengths)?))
    }
}

/// In quotes, if a shell would read it otherwise.
pub(crate) fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@+%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}
