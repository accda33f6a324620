use crate::base::rng::{Purpose, Rng};
use crate::base::setting::Setting;
use crate::data::lengths::Lengths;
use crate::error::Error;
use crate::limit::resolved::ResolvedBudget;
use crate::order::groups::{Drawn, Groups};
use crate::order::keys::Random;
use crate::shape::rounding::Staircase;
use crate::strategy::group::{AT_LEAST_ONE, Group, Inner, at_least_one, bad};

#[doc = include_str!("length_buckets.md")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LengthBuckets {
    /// Intervals of this width: 1 to `width`, `width` + 1 to 2 · `width`, …
    Width(u32),
    /// Intervals that end at these lengths, and one more for longer sequences.
    Edges(Vec<u32>),
}

const EDGES: &str = "rising lengths as in `edges=100/200/400`";

impl Default for LengthBuckets {
    fn default() -> Self {
        Self::Width(250)
    }
}

impl Inner for LengthBuckets {
    fn read(setting: &mut Setting) -> Result<Self, Error> {
        let width = setting.number("width", AT_LEAST_ONE)?;
        let Some(text) = setting.text("edges") else {
            return Ok(width.map_or_else(Self::default, Self::Width));
        };
        if width.is_some() {
            return Err(bad("length-buckets", "edges", text, "given without `width`"));
        }
        text.split('/')
            .map(|edge| edge.trim().parse())
            .collect::<Result<Vec<u32>, _>>()
            .map(Self::Edges)
            .map_err(|_| bad("length-buckets", "edges", text, EDGES))
    }

    fn check(&self) -> Result<(), Error> {
        match self {
            Self::Width(width) => at_least_one("length-buckets", "width", *width),
            Self::Edges(edges) => {
                if edges.is_empty() || edges[0] == 0 || !edges.is_sorted_by(|a, b| a < b) {
                    return Err(bad("length-buckets", "edges", &text(edges), EDGES));
                }
                Ok(())
            }
        }
    }
}

fn text(edges: &[u32]) -> String {
    edges.iter().map(u32::to_string).collect::<Vec<_>>().join("/")
}

impl Group for LengthBuckets {
    fn describe(&self) -> String {
        match self {
            Self::Width(width) => format!("length-buckets:width={width}"),
            Self::Edges(edges) => format!("length-buckets:edges={}", text(edges)),
        }
    }

    fn in_passes(&self) -> bool {
        true
    }

    fn most_groups(&self, lengths: &Lengths) -> u64 {
        lengths.histogram().len() as u64
    }

    fn group(&self, lengths: &Lengths, limit: &ResolvedBudget, rng: &Rng) -> Result<Groups, Error> {
        self.check()?;
        let groups = match self {
            Self::Width(width) => by_length(lengths, limit, rng, |length| (length - 1) / width),
            Self::Edges(edges) => {
                let steps = Staircase::new(edges.clone(), lengths);
                by_length(lengths, limit, rng, |length| steps.of(length))
            }
        };
        Ok(groups?.drawn(Drawn::AtRandom))
    }
}

/// Groups by the bucket of each length, which rises with it, in a random order inside each.
pub(crate) fn by_length(
    lengths: &Lengths,
    limit: &ResolvedBudget,
    rng: &Rng,
    bucket_of: impl Fn(u32) -> u32 + Sync,
) -> Result<Groups, Error> {
    let keys = Random::within(bucket_of(lengths.max()), &bucket_of, rng, Purpose::Shuffle);
    let groups = Groups::keyed(lengths, limit, &keys, || {
        let same = |a: &(u32, u32), b: &(u32, u32)| bucket_of(a.0) == bucket_of(b.0);
        let mut end = 0;
        let ends = lengths.histogram().chunk_by(same).map(|bucket| {
            end += bucket.iter().map(|&(_, count)| count).sum::<u32>();
            end
        });
        ends.collect()
    })?;
    Ok(groups.left_anywhere(limit, rng))
}
