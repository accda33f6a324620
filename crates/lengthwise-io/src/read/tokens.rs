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

pub(crate) struct Tokens {
    tokenizer: Tokenizer,
}

impl Tokens {
    pub(crate) fn load(path: &Path) -> Result<Self, Error> {
        let source = path.display().to_string();
        open(path).and_then(Self::parse).map_err(|error| error.in_source(&source))
    }

    fn parse(file: File) -> Result<Self, Error> {
        let mut bytes = Vec::new();
        let read = file.take(LARGEST).read_to_end(&mut bytes);
        read.map_err(Error::io)?;
        let tokenizer = guarded(
            || {
                let mut tokenizer = Tokenizer::from_bytes(&bytes).map_err(|cause| {
                    let reason = cause.to_string();
                    Error::new(format!("is not a tokenizer: {}", quote(&reason)))
                        .hint_to("name the `tokenizer.json` of a Hugging Face model")
                })?;
                tokenizer.with_padding(None);
                tokenizer.with_truncation(None).map_err(|_| Error::damaged_data("tokenizer"))?;
                Ok(tokenizer)
            },
            || Error::damaged_data("tokenizer"),
        )?;
        Ok(Self { tokenizer })
    }

    /// How many tokens a text has, with those that the tokenizer puts round it.
    pub(crate) fn count(&self, text: &str) -> Result<u64, Error> {
        guarded(
            || {
                let tokens = self.tokenizer.encode_fast(text, true).map_err(|cause| {
                    Error::new(format!("the tokenizer refuses it: {}", quote(&cause.to_string())))
                        .hint_to("check that the tokenizer is made for such texts")
                })?;
                Ok(tokens.len() as u64)
            },
            || Error::damaged_data("tokenizer"),
        )
    }
}
