//! Lengths, one a line, read as they come.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, IsTerminal, Read},
    path::Path,
};

use crate::failure::Failure;
use crate::printer;

/// No length has as many digits.
const LONGEST_LINE: u64 = 1000;

/// The lengths of a text, one a line. Blank lines are passed over, and a first line that is no number.
pub(crate) struct Lines {
    name: String,
    input: Box<dyn BufRead>,
    line: u64,
    text: Vec<u8>,
    /// Whether a line was there that is not blank.
    begun: bool,
}

impl Lines {
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        let name = printer::safe(&path.display().to_string());
        let unreadable = |error: io::Error| {
            let what = match error.kind() {
                io::ErrorKind::NotFound => format!("{name}: there is no such file"),
                kind => format!("{name}: cannot be read: {kind}"),
            };
            Failure::new(what, "name a file with a length on each line; `-` is standard input")
        };
        let file = File::open(path).map_err(unreadable)?;
        match file.metadata() {
            Ok(about) if about.is_dir() => Err(unreadable(io::ErrorKind::IsADirectory.into())),
            // What is packed is a file; bytes of anything else are not waited for.
            Ok(about) if about.is_file() => {
                let unpacked = lengthwise_io::unpacked(file).map_err(unreadable)?;
                Ok(Self::new(name.clone(), BufReader::new(unpacked)))
            }
            _ => Ok(Self::new(name.clone(), BufReader::new(file))),
        }
    }

    pub(crate) fn of_standard_input() -> Result<Self, Failure> {
        if io::stdin().is_terminal() {
            return Err(Failure::new(
                "no input",
                "pipe lengths into it, one a line, name a file, or try `--example speech`",
            ));
        }
        Ok(Self::new("standard input".to_owned(), io::stdin().lock()))
    }

    fn new(name: String, input: impl BufRead + 'static) -> Self {
        Self { name, input: Box::new(input), line: 0, text: Vec::new(), begun: false }
    }

    /// Whether the line is the name of a column cut out of a table, which may come first.
    fn is_header(&self) -> bool {
        let text = str::from_utf8(&self.text).unwrap_or("0").trim();
        !self.begun && text.parse::<f64>().is_err()
    }

    fn length(&self) -> Result<u32, Failure> {
        let text = String::from_utf8_lossy(self.text.trim_ascii());
        text.parse().ok().filter(|&length| length > 0).ok_or_else(|| {
            Failure::new(
                format!("{}:{}: `{}` is no length", self.name, self.line, printer::safe(&text)),
                format!(
                    "a stream has one length a line, a whole number from 1 to {}; take the column \
                     out of a table first, as with `cut -d, -f2`",
                    u32::MAX
                ),
            )
        })
    }
}

impl Iterator for Lines {
    type Item = Result<u32, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            self.text.clear();
            let input = &mut self.input;
            match input.take(LONGEST_LINE).read_until(b'\n', &mut self.text) {
                Ok(0) => return None,
                Ok(_) => self.line += 1,
                Err(error) => {
                    let what = format!("{}: cannot be read: {}", self.name, error.kind());
                    return Some(Err(Failure::new(what, "check where the lengths come from")));
                }
            }
            if self.text.len() as u64 == LONGEST_LINE && !self.text.ends_with(b"\n") {
                let what = format!("{}:{}: the line is too long", self.name, self.line);
                let hint =
                    format!("a length and blanks around it have {LONGEST_LINE} bytes at most");
                return Some(Err(Failure::new(what, hint)));
            }
            if self.text.trim_ascii().is_empty() {
                continue;
            }
            if !self.begun && lengthwise_io::is_packed(&self.text) {
                let what = format!("{}: is packed", self.name);
                let hint =
                    "unpack it first, as with `zcat FILE | lengthwise stream`, or name the file";
                return Some(Err(Failure::new(what, hint)));
            }
            let is_header = self.is_header();
            self.begun = true;
            if !is_header {
                return Some(self.length());
            }
            let (name, line) = (&self.name, self.line);
            let text = printer::safe(String::from_utf8_lossy(&self.text).trim());
            printer::say(&format!("{name}:{line}: `{text}` is no number, and passed over"));
        }
    }
}
