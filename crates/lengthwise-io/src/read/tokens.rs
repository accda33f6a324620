//! Tokens, as a model's own `tokenizer.json` makes them. Truncation and padding in that file are
//! switched off: they would make every long text as long as the limit.

use std::{fs::File, io::Read, path::Path};

use tokenizers::Tokenizer;

use crate::error::Error;
use crate::guard::guarded;
use crate::read::open::open;
use crate::text::quote;

/// The largest tokenizers have vocabularies of some ten megabytes.
const LARGEST: u64 = 1 << 29;

pub(crate) fn load(path: &Path) -> Result<Tokenizer, Error> {
    open(path).and_then(parse).map_err(|error| error.of(path))
}

fn damaged() -> Error {
    Error::damaged_data("tokenizer")
}

fn parse(file: File) -> Result<Tokenizer, Error> {
    let mut bytes = Vec::new();
    file.take(LARGEST).read_to_end(&mut bytes).map_err(Error::io)?;
    let read = || {
        let mut tokenizer = Tokenizer::from_bytes(&bytes).map_err(|cause| {
            Error::new(format!("is not a tokenizer: {}", quote(&cause.to_string())))
                .hint_to("name the `tokenizer.json` of a Hugging Face model")
        })?;
        tokenizer.with_padding(None);
        tokenizer.with_truncation(None).map_err(|_| damaged())?;
        Ok(tokenizer)
    };
    guarded(read, damaged)
}

/// How many tokens a text has, with those that the tokenizer puts round it.
pub(crate) fn count(tokenizer: &Tokenizer, text: &str) -> Result<u64, Error> {
    let encoded = || {
        tokenizer.encode_fast(text, true).map_err(|cause| {
            Error::new(format!("the tokenizer refuses it: {}", quote(&cause.to_string())))
                .hint_to("check that the tokenizer supports these texts")
        })
    };
    Ok(guarded(encoded, damaged)?.len() as u64)
}
