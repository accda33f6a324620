#![doc = include_str!("semi_sorted.md")]

use super::{Group, Inner, Strategy, bad};
use crate::{Error, Groups, Lengths, Purpose, Rng, Room, settings::Setting, sort};

#[doc = include_str!("semi_sorted.md")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SemiSorted {
    /// The full width of the noise, as a share of the range of lengths: paper 2's LRF.
    pub noise: f64,
}

const EXPECTED: &str = "a number from 0 to 1000000000";

impl SemiSorted {
    pub(super) fn read(setting: &mut Setting) -> Result<Self, Error> {
        let noise = setting.number("noise", EXPECTED)?;
        Ok(Self { noise: noise.unwrap_or(Self::default().noise) })
    }
}

impl Default for SemiSorted {
    fn default() -> Self {
        Self { noise: 0.1 }
    }
}

impl Inner for SemiSorted {
    fn parameters(&self) -> String {
        format!(":noise={}", self.noise)
    }

    fn check(&self) -> Result<(), Error> {
        if (0.0..=1e9).contains(&self.noise) {
            return Ok(());
        }
        Err(bad("semi-sorted", "noise", self.noise, EXPECTED))
    }
}

impl Group for SemiSorted {
    fn describe(&self) -> String {
        Strategy::from(*self).to_string()
    }

    fn group(&self, lengths: &Lengths, _: &Room, rng: &Rng) -> Result<Groups, Error> {
        self.check()?;
        let range = f64::from(lengths.max() - lengths.min());
        let width = self.noise * range;
        // length + U(−width/2, width/2), moved to begin at 0 and stretched over the integers of
        // 32 bits: neither changes the order. Without noise distinct lengths stay distinct.
        let stretch = f64::from(u32::MAX) / (range + width).max(1.0);
        let keys: Vec<u32> = rng
            .words(Purpose::Noise, lengths.count())
            .zip(lengths.as_slice())
            .map(|(word, &length)| {
                let noise = width * (f64::from(word) / 4_294_967_296.0);
                ((f64::from(length - lengths.min()) + noise) * stretch) as u32
            })
            .collect();
        let mut order = sort::shuffled(lengths.count(), rng, Purpose::Shuffle);
        sort::by_key(&mut order, |sequence| keys[sequence as usize]);
        Ok(Groups::one(order))
    }
}
