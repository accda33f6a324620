//! Which column holds the ids of sequences, and what is refused of them.

use crate::error::Error;

/// The column or field that names the sequences.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IdColumn {
    /// The first that has one of the usual names: `id`, `utt_id`, `utterance_id`, `utt`, `key`,
    /// `audio_filepath`, `audio_path`, `path`, `file`, `filename`, `file_name`, `name`.
    Usual,
    /// The one of this name. A table also takes its number, from 1, and JSON a path with dots.
    Named(String),
}

/// An id that is empty tells nothing apart.
pub(crate) fn check(id: &str, holder: impl Fn() -> String) -> Result<&str, Error> {
    if id.is_empty() {
        return Err(Error::new(format!("{} is empty and should name the sequence", holder()))
            .hint_to("name every sequence, or choose another column with {ids}"));
    }
    Ok(id)
}
