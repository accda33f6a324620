//! Where a stream stands, small enough to be in every checkpoint.

use crate::{error::Error, stream::streamer::Streamer};

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
        let differ = |what: &str, state: &str, now: &str| {
            let [what, state, now] = [what, state, now].map(str::to_owned);
            Err(Error::OtherStream { what, state, now })
        };
        let settings = streamer.settings();
        // Nothing that was over-long has been read where it is an error, so it may be treated in another
        // way from here on.
        let state = match self.settings.strip_suffix("over_long=error") {
            Some(others) => format!("{others}over_long={}", streamer.over_long),
            None => self.settings.clone(),
        };
        let [ours, theirs] = [&state, &settings].map(|text| text.split(' '));
        for (state, now) in ours.zip(theirs) {
            if state != now {
                let value = |text| str::split_once(text, '=').map_or(text, |(_, value)| value);
                let name = now.split('=').next().unwrap_or_default();
                return differ(name, value(state), value(now));
            }
        }
        if state != settings {
            return differ("settings", &state, &settings);
        }
        let numbers = [("seed", self.seed, streamer.seed), ("epoch", self.epoch, streamer.epoch)];
        for (what, state, now) in numbers {
            if state != now {
                return differ(what, &state.to_string(), &now.to_string());
            }
        }
        let bad = |what: String| Err(Error::BadState { what });
        if self.held.len() > streamer.window as usize {
            return bad(format!(
                "{} sequences held in a window of {}",
                self.held.len(),
                streamer.window
            ));
        }
        if !self.held.is_sorted_by(|one, other| one < other) {
            return bad("positions that do not rise".to_owned());
        }
        if let Some(&last) = self.held.last().filter(|&&last| last >= self.read) {
            return bad(format!("position {last} held of {} that were read", self.read));
        }
        if self.rungs.first() == Some(&0) || !self.rungs.is_sorted_by(|one, other| one < other) {
            return bad("rungs that do not rise".to_owned());
        }
        Ok(())
    }
}
