use std::iter;
use std::ops::Range;

use crate::base::rng::{Purpose, Rng};
use crate::base::setting::Setting;
use crate::base::workspace::Workspace;
use crate::data::lengths::Lengths;
use crate::error::Error;
use crate::limit::resolved::ResolvedBudget;
use crate::order::groups::Groups;
use crate::order::keyed::{Flat, flat_in};
use crate::order::keys::Random;
use crate::order::pair_strata::pair_strata;
use crate::order::shuffle::shuffle;
use crate::order::sort;
use crate::order::strata::{Share, Stratum, strata};
use crate::strategy::group::{AT_LEAST_ONE, Group, Inner, at_least_one, bad};

#[doc = include_str!("proportional.md")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Proportional {
    /// Micro-batches per rank and optimizer step; without it, as many as take the least time.
    pub batches: Option<u32>,
}

impl Inner for Proportional {
    fn read(setting: &mut Setting) -> Result<Self, Error> {
        Ok(Self { batches: setting.number("batches", AT_LEAST_ONE)? })
    }

    fn check(&self) -> Result<(), Error> {
        at_least_one("proportional", "batches", self.batches.unwrap_or(1))
    }
}

impl Group for Proportional {
    fn describe(&self) -> String {
        match self.batches {
            None => "proportional".to_owned(),
            Some(batches) => format!("proportional:batches={batches}"),
        }
    }

    fn group(&self, lengths: &Lengths, limit: &ResolvedBudget, rng: &Rng) -> Result<Groups, Error> {
        self.check()?;
        let share = Share::new(lengths, limit);
        let mut rising: Flat;
        let strata = if lengths.second().is_some() {
            if limit.is_on_ladder() {
                // It may have no shape for a batch of the longest first and the longest second length.
                lengths.only_one("strategy `proportional` on a ladder")?;
            }
            rising = (0..lengths.count()).collect::<Vec<u32>>().into();
            pair_strata(share, &mut rising.order, limit, self.batches)
        } else {
            let shortest = lengths.min();
            let place = |length: u32| length - shortest;
            let keys = Random::within(place(lengths.max()), place, rng, Purpose::Shuffle);
            rising = flat_in(lengths, limit.workspace, None, &limit.rounding, &keys)?;
            strata(share, &rising.order, limit, self.batches)
        };
        let strata = strata.map_err(|least| {
            let (asked, expected) =
                (self.batches.unwrap_or(0), format!("at least {least}, which the budget needs"));
            bad("proportional", "batches", &asked, &expected)
        })?;
        let sizes: Vec<u32> = strata.iter().flat_map(Stratum::batches).collect();
        // The sequences left over by equal shares are the shortest; which steps get one more is random.
        let mut more = vec![0; share.takers as usize];
        if strata[0].takes_more {
            for &taker in &sort::shuffled(share.takers, rng, Purpose::Draw)[..share.left as usize] {
                more[taker as usize] = 1;
            }
        }
        let mut stratum_ends = Vec::with_capacity(sizes.len());
        let mut end = share.left as usize;
        for size in &sizes {
            end += (size * share.takers) as usize;
            stratum_ends.push(end);
        }
        let at_turn = |stratum: usize| rng.at_turn(STRATA + stratum as u32);
        shuffle(&mut rising, &stratum_ends, limit.workspace, at_turn, Purpose::Draw);
        let shortest = stratum_ends[0];
        let mut starts: Vec<usize> = iter::once(0).chain(stratum_ends).collect();
        let per_step = sizes.len() as u32 * limit.ranks();
        let mut batches = Batches::new(&rising, limit.workspace);
        let mut batch = |start: &mut usize, size: u32| {
            batches.push(*start..*start + size as usize);
            *start += size as usize;
        };
        for ranks in more.chunks(limit.ranks() as usize) {
            // The longest first, so that the largest need of memory comes at once.
            for (at, (start, &size)) in starts.iter_mut().zip(&sizes).enumerate().rev() {
                for more in ranks {
                    batch(start, size + if at == 0 { *more } else { 0 });
                }
            }
        }
        // If no batch can take one more, each is a batch of its own.
        while starts[0] < shortest {
            batch(&mut starts[0], 1);
        }
        let Batches { order, padded, ends, .. } = batches;
        rising.keep(limit.workspace);
        Ok(Groups::trusted(Flat { order, padded }, ends).in_steps(per_step))
    }
}

/// Turns of the randomness for the order inside each stratum.
const STRATA: u32 = 3000;

/// Stretches of an order, one after another.
struct Batches<'a> {
    from: &'a Flat,
    order: Vec<u32>,
    padded: Option<Vec<u32>>,
    ends: Vec<u32>,
}

impl<'a> Batches<'a> {
    fn new(from: &'a Flat, workspace: &Workspace) -> Self {
        let empty = || {
            let mut list = workspace.indices(from.order.len());
            list.clear();
            list
        };
        let padded = from.padded.as_ref().map(|_| empty());
        Self { from, order: empty(), padded, ends: Vec::new() }
    }

    fn push(&mut self, places: Range<usize>) {
        if let (Some(list), Some(padded)) = (&mut self.padded, &self.from.padded) {
            list.extend_from_slice(&padded[places.clone()]);
        }
        self.order.extend_from_slice(&self.from.order[places]);
        self.ends.push(self.order.len() as u32);
    }
}
