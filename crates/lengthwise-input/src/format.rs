//! The formats lengths come in, their names on the command line, and how a file name gives its
//! format away. A file without a telling name is plain text: that reader takes the least for
//! granted, and says on the first line when it was the wrong guess.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

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
}

impl Format {
    /// Every format, in the order in which they are listed to the user.
    const ALL: [Format; 5] = [Format::Csv, Format::Tsv, Format::Jsonl, Format::Text, Format::Npy];

    /// The format that the extension of `path` stands for; [`Format::Text`] if it stands for none.
    ///
    /// ```
    /// # use lengthwise_input::Format;
    /// # use std::path::Path;
    /// assert_eq!(Format::from_path(Path::new("train_manifest.json")), Format::Jsonl);
    /// assert_eq!(Format::from_path(Path::new("lengths")), Format::Text);
    /// ```
    pub fn from_path(path: &Path) -> Format {
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or("");
        match extension.to_ascii_lowercase().as_str() {
            "csv" => Format::Csv,
            "tsv" => Format::Tsv,
            "jsonl" | "ndjson" | "json" => Format::Jsonl,
            "npy" => Format::Npy,
            _ => Format::Text,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Format::Csv => "csv",
            Format::Tsv => "tsv",
            Format::Jsonl => "jsonl",
            Format::Text => "txt",
            Format::Npy => "npy",
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

/// A format name that is none of `csv`, `tsv`, `jsonl`, `txt` and `npy`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownFormat {
    name: String,
}

impl fmt::Display for UnknownFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = crate::error::quote(&self.name);
        write!(f, "there is no format {name}; the formats are csv, tsv, jsonl, txt and npy")
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
            let file = format!("a.b.{format}");
            assert_eq!(Format::from_path(Path::new(&file)), format);
            assert!(UnknownFormat { name: String::new() }.to_string().contains(format.name()));
        }
    }

    #[test]
    fn extensions() {
        let formats = ["x.NDJSON", "x.json", ".csv", "x.csv.gz", "x.", "dir.csv/x", "-"];
        let formats = formats.map(|path| Format::from_path(Path::new(path)).name());
        assert_eq!(formats, ["jsonl", "jsonl", "txt", "txt", "txt", "txt", "txt"]);
    }

    #[test]
    fn an_unknown_name_is_quoted() {
        let error = "parquet".parse::<Format>().unwrap_err();
        let text = "there is no format `parquet`; the formats are csv, tsv, jsonl, txt and npy";
        assert_eq!(error.to_string(), text);
    }
}
