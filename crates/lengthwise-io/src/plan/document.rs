//! What the forms of a plan file have in common, as it is written.

use lengthwise::Counts;
use serde::{Deserialize, Serialize};

use crate::cursor;
use crate::error::Error;
use crate::hex::from_hex;
use crate::plan::file::Ranks;
use crate::text::quote;

/// The number of a fingerprint.
pub(super) fn digest(name: &str, text: &str) -> Result<u64, String> {
    let given = || format!("`{name}` {} is no fingerprint", quote(text));
    from_hex(text).ok_or_else(given)
}

/// How the batches were dealt.
#[derive(Serialize)]
pub(super) struct Assigned<'a> {
    world_size: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    rank: Option<u32>,
    accumulate: u32,
    steps: u64,
    #[serde(skip_serializing_if = "is_zero")]
    steps_left: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<cursor::Document<'a>>,
    step_counts: StepCounts,
    #[serde(skip_serializing_if = "<[u32]>::is_empty")]
    dropped: &'a [u32],
    #[serde(skip_serializing_if = "<[u32]>::is_empty")]
    repeated: &'a [u32],
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde asks for")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl<'a> Assigned<'a> {
    pub(super) fn new(ranks: &'a Ranks) -> Self {
        Self {
            world_size: ranks.world_size,
            rank: ranks.rank,
            accumulate: ranks.accumulate,
            steps: ranks.steps,
            steps_left: ranks.steps_left,
            cursor: ranks.cursor.as_ref().map(Into::into),
            step_counts: StepCounts {
                sequences: ranks.step_counts.iter().map(|step| step.sequences).collect(),
                positions: ranks.step_counts.iter().map(|step| step.positions).collect(),
                second_positions: (ranks.step_counts.iter().any(|step| step.second_positions > 0))
                    .then(|| ranks.step_counts.iter().map(|step| step.second_positions).collect()),
            },
            dropped: &ranks.dropped,
            repeated: &ranks.repeated,
        }
    }
}

#[derive(Serialize, Deserialize)]
struct StepCounts {
    sequences: Vec<u64>,
    positions: Vec<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    second_positions: Option<Vec<u64>>,
}

/// The same as it is read.
#[derive(Deserialize)]
#[serde(expecting = "an object of ranks")]
pub(super) struct AssignedRead {
    world_size: u32,
    rank: Option<u32>,
    accumulate: u32,
    steps: u64,
    #[serde(default)]
    steps_left: u64,
    cursor: Option<serde_json::Value>,
    step_counts: StepCounts,
    #[serde(default)]
    dropped: Vec<u32>,
    #[serde(default)]
    repeated: Vec<u32>,
}

impl AssignedRead {
    pub(super) fn ranks(self, batches: usize) -> Result<Ranks, Error> {
        let wrong = |what: String| Err(Error::not_a_plan(&what));
        let StepCounts { sequences, positions, second_positions } = self.step_counts;
        let second_positions = second_positions.unwrap_or_else(|| vec![0; sequences.len()]);
        let counted = sequences.len() as u64;
        if counted != self.steps
            || [positions.len(), second_positions.len()] != [sequences.len(); 2]
        {
            return wrong(format!("it counts {counted} steps of {}", self.steps));
        }
        let counts = sequences.into_iter().zip(positions).zip(second_positions);
        let ranks = Ranks {
            world_size: self.world_size,
            rank: self.rank,
            accumulate: self.accumulate,
            steps: self.steps,
            steps_left: self.steps_left,
            cursor: self.cursor.as_ref().map(cursor::from_value).transpose()?,
            step_counts: counts
                .map(|((sequences, positions), second_positions)| Counts {
                    sequences,
                    positions,
                    second_positions,
                })
                .collect(),
            dropped: self.dropped,
            repeated: self.repeated,
        };
        if ranks.world_size == 0 || ranks.accumulate == 0 {
            return wrong("it has no ranks, or no batches for them".to_owned());
        }
        if let Some(rank) = ranks.rank.filter(|&rank| rank >= ranks.world_size) {
            return wrong(format!("it is of rank {rank} of {}", ranks.world_size));
        }
        if ranks.batches() != Some(batches as u64) {
            return wrong(format!("it has {batches} batches in {} steps", ranks.steps));
        }
        Ok(ranks)
    }
}
