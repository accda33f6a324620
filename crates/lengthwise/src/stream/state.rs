//! Where a stream stands, small enough to be in every checkpoint.

use crate::base::setting::difference;
use crate::error::Error;
use crate::stream::streamer::Streamer;

/// Where a stream stands: what was read, and which of it is still held.
///
/// It is the same on every rank. [`Feed::state`](crate::stream::Feed::state) gives one, and
/// [`Streamer::resume`] goes on from it, with the same number of ranks or another. The sequences that
/// are held are not in it: the source is read again from [`from`](StreamState::from) on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamState {
    /// The settings that batches depend on, as `name=value` with spaces between.
    pub settings: String,
    /// The seed of all randomness.
    pub seed: u64,
    /// The epoch.
    pub epoch: u64,
    /// How many steps were made.
    pub steps: u64,
    /// How many sequences were read.
    pub read: u64,
    /// How many of them were left out because they are over-long.
    pub left_out: u64,
    /// How many of them were truncated because they are over-long.
    pub truncated: u64,
    /// The rungs of a ladder that was learned from the stream; empty if there is none.
    pub rungs: Vec<u32>,
    /// The positions of the sequences that are held, rising.
    pub held: Vec<u64>,
    /// A digest of their positions and lengths.
    pub lengths: u64,
}

impl StreamState {
    /// The version of states that this release makes and reads.
    pub const VERSION: u32 = 1;

    /// The position from which the source must be read to go on.
    pub fn from(&self) -> u64 {
        self.held.first().copied().unwrap_or(self.read)
    }

    /// Refuses a state of another stream, or one that no stream can have.
    pub(crate) fn check(&self, streamer: &Streamer) -> Result<(), Error> {
        // Where it is an error nothing over-long has been read: it may be treated otherwise from here on.
        let state = match self.settings.strip_suffix("over_long=error") {
            Some(others) => format!("{others}over_long={}", streamer.over_long),
            None => self.settings.clone(),
        };
        let now = streamer.settings();
        let settings = difference(&state, &now).map(|(what, both)| (what, both.map(str::to_owned)));
        let numbers =
            [("seed", [self.seed, streamer.seed]), ("epoch", [self.epoch, streamer.epoch])];
        let mut numbers = numbers.into_iter().filter(|(_, [state, now])| state != now);
        let number = || numbers.next().map(|(what, both)| (what, both.map(|n| n.to_string())));
        if let Some((what, [state, now])) = settings.or_else(number) {
            return Err(Error::OtherStream { what: what.to_owned(), state, now });
        }
        let Self { read, held, rungs, .. } = self;
        let what = match held.last() {
            _ if held.len() > streamer.window as usize => {
                format!("{} sequences held in a window of {}", held.len(), streamer.window)
            }
            _ if !held.is_sorted_by(|one, other| one < other) => {
                "positions that do not rise".to_owned()
            }
            Some(last) if last >= read => format!("position {last} held of {read} that were read"),
            _ if rungs.first() == Some(&0) || !rungs.is_sorted_by(|one, other| one < other) => {
                "rungs that do not rise".to_owned()
            }
            _ => return Ok(()),
        };
        Err(Error::BadState { what })
    }
}
