//! What a plan is made of, and the checks before it.

use crate::base::rng::Rng;
use crate::base::workspace::Workspace;
use crate::data::lengths::Lengths;
use crate::error::Error;
use crate::limit::too_long::Admitted;
use crate::plan::settings::{Settings, brief};
use crate::shape::shapes::Shapes;
use crate::strategy::group::Group;
use crate::strategy::packed::Packed;
use crate::strategy::paired::Paired;
use crate::strategy::sorted::Sorted;

/// One strategy, its settings and the lengths: what every stage of a plan knows.
#[derive(Clone, Copy)]
pub(crate) struct Job<'a> {
    pub(crate) strategy: &'a dyn Group,
    pub(crate) settings: &'a Settings,
    pub(crate) lengths: &'a Lengths,
    pub(crate) workspace: &'a Workspace,
}

impl<'a> Job<'a> {
    /// The randomness of what one shard draws.
    pub(crate) fn rng(&self, epoch: u64) -> Rng {
        let rng = Rng::new(self.settings.seed, epoch);
        self.settings.shard.map_or(rng, |shard| rng.at_shard(shard.number))
    }

    /// The first stage: the lengths without those that fit no batch, or no row.
    pub(crate) fn admit(&self) -> Result<Admitted<'a>, Error> {
        let Settings { budget, shapes, over_long, .. } = self.settings;
        match self.lengths.second() {
            None if budget.is_of_sides() => {
                return Err(Error::NoSecond { what: format!("budget `{budget}`") });
            }
            None if matches!(shapes, Shapes::Each(..)) => {
                return Err(Error::NoSecond { what: format!("shapes `{shapes}`") });
            }
            Some(_) if self.strategy.row().is_some() => {
                let what = format!("strategy `{}`", self.strategy.describe());
                return Err(Error::SecondLengths { what });
            }
            _ => {}
        }
        over_long.admit(self.lengths, budget, shapes, self.strategy.row())
    }

    /// The settings that decide how many batches a shard needs.
    pub(crate) fn counted_settings(&self) -> String {
        let Settings { budget, shapes, over_long, .. } = self.settings;
        let settings = [
            ("strategy", self.strategy.describe()),
            ("budget", budget.to_string()),
            ("shapes", shapes.to_string()),
            ("over-long", over_long.to_string()),
        ];
        settings.map(|(name, value)| format!("{name}={}", brief(value))).join(" ")
    }

    /// Refuses shards of sequences with two lengths, which statistics do not know.
    pub(crate) fn check_shard(&self) -> Result<(), Error> {
        let shard = self.settings.shard;
        shard.map_or(Ok(()), |shard| self.lengths.only_one(&format!("shard {shard}")))
    }

    /// How many batches every epoch has, if that is fixed.
    pub(crate) fn fixed_batches(&self) -> Result<Option<u32>, Error> {
        self.check_shard()?;
        match (self.settings.shard, self.settings.batches, self.lengths.statistics()) {
            (Some(_), _, None) => Err(Error::NoStatistics),
            (Some(shard), None, Some(statistics)) => {
                statistics.batches(&self.counted_settings(), shard.of).map(Some)
            }
            (_, batches, _) => Ok(batches),
        }
    }

    /// What makes few batches, where the strategy makes too many.
    pub(crate) fn last_resort(&self) -> &'static dyn Group {
        match self.lengths.second() {
            Some(_) => &Paired { blur: 0.0, stripes: None },
            None if self.strategy.row().is_some() => &Packed::LONGEST_FIRST,
            None => &Sorted,
        }
    }
}
