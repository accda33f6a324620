use crate::base::rng::{Purpose, Rng};
use crate::base::setting::Setting;
use crate::data::lengths::Lengths;
use crate::error::Error;
use crate::limit::resolved::ResolvedBudget;
use crate::order::groups::Groups;
use crate::order::pair_strata::pair_strata;
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
        let mut rising: Vec<u32>;
        let strata = if lengths.second().is_some() {
            if limit.is_on_ladder() {
                // It may have no shape for a batch of the longest first and the longest second length.
                lengths.only_one("strategy `proportional` on a ladder")?;
            }
            rising = (0..lengths.count()).collect();
            pair_strata(share, &mut rising, limit, self.batches)
        } else {
            rising = sort::shuffled(lengths.count(), rng, Purpose::Shuffle);
            sort::by_key(&mut rising, |sequence| lengths.of(sequence));
            strata(share, &rising, limit, self.batches)
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
        let (mut starts, mut end) = (Vec::with_capacity(sizes.len()), 0);
        for (turn, size) in (STRATA..).zip(&sizes) {
            let start = end;
            end += (size * share.takers) as usize;
            end += if start == 0 { share.left as usize } else { 0 };
            shuffle(&mut rising[start..end], &rng.at_turn(turn));
            starts.push(start);
        }
        let per_step = sizes.len() as u32 * limit.ranks();
        let shortest = starts.get(1).copied().unwrap_or(end);
        let (mut order, mut ends) = (Vec::with_capacity(rising.len()), Vec::new());
        let mut batch = |start: &mut usize, size: u32| {
            order.extend_from_slice(&rising[*start..*start + size as usize]);
            *start += size as usize;
            ends.push(order.len() as u32);
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
        Ok(Groups::trusted(order, ends).in_steps(per_step))
    }
}

/// Turns of the randomness for the order inside each stratum.
const STRATA: u32 = 3000;

/// A random order of these sequences.
fn shuffle(sequences: &mut [u32], rng: &Rng) {
    let order = sort::shuffled(sequences.len() as u32, rng, Purpose::Draw);
    let shuffled: Vec<u32> = order.iter().map(|&at| sequences[at as usize]).collect();
    sequences.copy_from_slice(&shuffled);
}
