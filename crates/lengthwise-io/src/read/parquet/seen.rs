//! Long texts whose length is known. A dictionary has each once, and any number of rows may mean it;
//! forty megabytes should not be counted twenty thousand times.

use std::collections::HashMap;

use ::parquet::data_type::ByteArray;

use crate::error::Error;

/// Shorter texts are counted sooner than looked up.
const LONG: usize = 1 << 8;

/// How many bytes of texts are remembered, or a few more; those of a dictionary are there anyway.
const MOST_BYTES: usize = 1 << 28;

/// The texts that came last. By where a text is and how long, it is known again: it is kept, so that
/// nothing else can be there.
#[derive(Default)]
pub(super) struct Seen {
    now: Generation,
    before: Generation,
}

#[derive(Default)]
struct Generation {
    lengths: HashMap<(usize, usize), (ByteArray, u32)>,
    bytes: usize,
}

impl Seen {
    /// The length of a text, which `count` counts if it is not known.
    pub(super) fn length(
        &mut self,
        text: &ByteArray,
        count: impl FnOnce(&[u8]) -> Result<u32, Error>,
    ) -> Result<u32, Error> {
        let data = text.data();
        if data.len() < LONG {
            return count(data);
        }
        let key = (data.as_ptr().addr(), data.len());
        if let Some(&(_, length)) = self.now.lengths.get(&key) {
            return Ok(length);
        }
        let length = match self.before.lengths.get(&key) {
            Some(&(_, length)) => length,
            None => count(data)?,
        };
        self.now.bytes += data.len();
        self.now.lengths.insert(key, (text.clone(), length));
        if self.now.bytes > MOST_BYTES {
            self.before = std::mem::take(&mut self.now);
        }
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_counted_once() {
        let mut seen = Seen::default();
        let mut counted = 0;
        let texts = [vec![b'a'; LONG], vec![b'b'; LONG], vec![b'c'; LONG - 1]].map(ByteArray::from);
        for round in 0..3 {
            for (index, text) in texts.iter().enumerate() {
                let length = seen.length(&text.clone(), |_| {
                    counted += 1;
                    Ok(index as u32)
                });
                assert_eq!(length.unwrap(), index as u32);
            }
            assert_eq!(counted, 3 + round, "the short one every time");
        }
        // Another text of the same content is another.
        let other = ByteArray::from(vec![b'a'; LONG]);
        assert_eq!(seen.length(&other, |_| Ok(7)).unwrap(), 7);
    }

    #[test]
    fn not_everything_is_remembered() {
        let mut seen = Seen::default();
        let large = ByteArray::from(vec![b'a'; MOST_BYTES / 2]);
        for _ in 0..5 {
            assert_eq!(seen.length(&ByteArray::from(large.data().to_vec()), |_| Ok(1)).unwrap(), 1);
            assert!(seen.now.bytes <= MOST_BYTES && seen.before.lengths.len() <= 3);
        }
    }
}
