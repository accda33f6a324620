//! The formats lengths come in, their names on the command line, and how a file name gives its
//! format away. A file without a telling name is known by how it begins.

use std::{fmt, path::Path, str::FromStr};

/// A file format that lengths can be read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// A table with commas between the fields, with or without a header.
    Csv,
    /// A table with tabs between the fields, with or without a header.
    Tsv,
    /// One JSON object or one number a line, as in speech manifests.
    Jsonl,
    /// One length a line.
    Text,
    /// A one-dimensional `NumPy` array of numbers.
    Npy,
    /// Kaldi's `utt2num_frames`: an utterance and its frames on every line.
    Utt2NumFrames,
    /// Kaldi's `utt2dur`: an utterance and its seconds on every line.
    Utt2Dur,
    /// WAV and FLAC files, one or a directory of them; only their headers are read.
    Audio,
    /// A Parquet file (feature `parquet`).
    Parquet,
    /// Arrow IPC, as a file, which is Feather version 2, or as a stream (feature `arrow`).
    Arrow,
}

impl Format {
    /// Every format, in the order in which they are listed to the user.
    pub const ALL: [Format; 10] = [
        Format::Csv,
        Format::Tsv,
        Format::Jsonl,
        Format::Text,
        Format::Npy,
        Format::Utt2NumFrames,
        Format::Utt2Dur,
        Format::Audio,
        Format::Parquet,
        Format::Arrow,
    ];

    /// The format that the name of `path` stands for; [`Format::Text`] if it stands for none. An
    /// ending that only says how the file is compressed, such as `.gz`, is looked through.
    ///
    /// ```
    /// # use lengthwise_io::Format;
    /// # use std::path::Path;
    /// assert_eq!(Format::from_path(Path::new("train_manifest.json")), Format::Jsonl);
    /// assert_eq!(Format::from_path(Path::new("lengths")), Format::Text);
    /// ```
    pub fn from_path(path: &Path) -> Format {
        Self::of_name(path).unwrap_or(Format::Text)
    }

    /// The format that the name of `path` stands for, if it stands for one.
    pub(crate) fn of_name(path: &Path) -> Option<Format> {
        let extension = |path: &Path| {
            let extension = path.extension().and_then(|extension| extension.to_str());
            extension.unwrap_or("").to_ascii_lowercase()
        };
        let inner = match extension(path).as_str() {
            "gz" | "gzip" | "zst" | "zstd" => path.with_extension(""),
            _ => path.to_owned(),
        };
        match inner.file_name().and_then(|name| name.to_str()) {
            Some("utt2num_frames") => return Some(Format::Utt2NumFrames),
            Some("utt2dur" | "reco2dur") => return Some(Format::Utt2Dur),
            _ => {}
        }
        Some(match extension(&inner).as_str() {
            "csv" => Format::Csv,
            "tsv" => Format::Tsv,
            "jsonl" | "ndjson" | "json" => Format::Jsonl,
            "npy" => Format::Npy,
            "wav" | "wave" | "flac" => Format::Audio,
            "parquet" | "pq" => Format::Parquet,
            "arrow" | "arrows" | "feather" | "ipc" => Format::Arrow,
            "txt" => Format::Text,
            _ => return None,
        })
    }

    fn name(self) -> &'static str {
        match self {
            Format::Csv => "csv",
            Format::Tsv => "tsv",
            Format::Jsonl => "jsonl",
            Format::Text => "txt",
            Format::Npy => "npy",
            Format::Utt2NumFrames => "utt2num_frames",
            Format::Utt2Dur => "utt2dur",
            Format::Audio => "audio",
            Format::Parquet => "parquet",
            Format::Arrow => "arrow",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Format::ALL.into_iter().find(|format| format.name() == name);
        found.ok_or_else(|| UnknownFormat { name: name.to_owned() })
    }
}

/// A name that no format has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownFormat {
    name: String,
}

impl fmt::Display for UnknownFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, all) = (crate::text::quote(&self.name), Format::ALL.map(Format::name));
        let [others @ .., last] = &all;
        let others = others.join(", ");
        write!(f, "there is no format {name}; the formats are {others} and {last}")
    }
}

impl std::error::Error for UnknownFormat {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_both_ways() {
        for format in Format::ALL {
            assert_eq!(format.to_string().parse(), Ok(format));
            let file = match format {
                Format::Utt2NumFrames | Format::Utt2Dur => format!("data/train/{format}"),
                Format::Audio => "a.flac".to_owned(),
                _ => format!("a.b.{format}"),
            };
            for end in ["", ".gz", ".ZST"] {
                assert_eq!(Format::from_path(Path::new(&format!("{file}{end}"))), format);
            }
            assert!(UnknownFormat { name: String::new() }.to_string().contains(format.name()));
        }
    }

    #[test]
    fn extensions() {
        let formats = ["x.NDJSON", "x.json", ".csv", "x.csv.gz", "x.", "dir.csv/x", "-"];
        let formats = formats.map(|path| Format::from_path(Path::new(path)).name());
        assert_eq!(formats, ["jsonl", "jsonl", "txt", "csv", "txt", "txt", "txt"]);
    }

    #[test]
    fn an_unknown_name_is_quoted() {
        let error = "xml".parse::<Format>().unwrap_err();
        let text = "there is no format `xml`; the formats are csv, tsv, jsonl, txt, npy, \
                    utt2num_frames, utt2dur, audio, parquet and arrow";
        assert_eq!(error.to_string(), text);
    }
}
