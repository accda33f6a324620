//! The shard of a corpus that is planned.

use std::{borrow::Cow, path::Path, sync::Arc};

use lengthwise::{
    Error, Lengths, Plan, Planner, Strategy,
    shard::{Shard, Statistics},
};
use lengthwise_io::{read_statistics, save_statistics};

use crate::{
    args::planning::Shards, commands::statistics::check_name, failure::Failure, printer, signals,
};

/// What the lengths are a part of, if anything was said of it.
pub(super) struct Corpus {
    statistics: Option<Arc<Statistics>>,
    shard: Option<Shard>,
}

impl Corpus {
    pub(super) fn read(args: &Shards) -> Result<Self, Failure> {
        let shard = match (args.shard, args.of) {
            (Some(number), Some(of)) => Some(Shard::new(number, of)?),
            _ => None,
        };
        if let Some(path) = &args.needs {
            check_name(path)?;
        }
        let statistics = args.statistics.as_deref().map(read_statistics).transpose()?;
        Ok(Self { statistics: statistics.map(Arc::new), shard })
    }

    pub(super) fn of<'a>(&self, lengths: &'a Lengths) -> Result<Cow<'a, Lengths>, Error> {
        match &self.statistics {
            None => Ok(Cow::Borrowed(lengths)),
            Some(all) => lengths.clone().part_of(Arc::clone(all)).map(Cow::Owned),
        }
    }

    pub(super) fn planner(&self, planner: Planner<Strategy>) -> Planner<Strategy> {
        match self.shard {
            Some(shard) => planner.shard(shard),
            None => planner,
        }
    }
}

/// Writes what one shard needs, and says it.
pub(super) fn save_needs(path: &Path, needs: &Statistics) -> Result<(), Failure> {
    signals::writing(path);
    save_statistics(path, needs)?;
    if let Some(needs) = needs.needs() {
        let (shard, of) = (needs.shards[0][0], needs.of);
        printer::say(&format!("shard {shard} of {of} needs {} batches", needs.most));
    }
    Ok(())
}

/// Says what a shard has in common with all others.
pub(super) fn say(shard: Shard, plan: &Plan) {
    let batches = plan.provenance().batches.unwrap_or_default();
    printer::say(&format!(
        "shard {} of {}: every shard takes {batches} batches, ranked by {}",
        shard.number,
        shard.of,
        plan.provenance().time_follows()
    ));
}
