//! Groups that exceed the budget even alone, and which groups an epoch has.

use std::sync::Arc;

use crate::base::rng::{Purpose, Rng};
use crate::data::lengths::Pad;
use crate::data::mix::Mix;
use crate::data::over_long::OverLong;
use crate::data::units::{Together, Units};
use crate::error::Error;
use crate::limit::resolved::ResolvedBudget;
use crate::limit::too_long::cut_pair;
use crate::order::sort;
use crate::pipeline::job::Job;
use crate::plan::settings::Settings;

/// The groups of an epoch, and the lengths to plan them with.
pub(crate) struct AdmittedUnits {
    /// The groups, by number. With a mix, some of them may occur several times, and others not.
    pub(crate) kept: Vec<u32>,
    /// The groups that they are drawn from, each once.
    pub(crate) whole: Vec<u32>,
    /// Groups that exceed the budget and are batches of their own.
    pub(crate) alone: Vec<u32>,
    /// The over-long sequences.
    pub(crate) over: Vec<u32>,
    /// Both lengths of every sequence, after some were cut.
    pub(crate) lengths: Vec<Pad>,
}

impl Job<'_> {
    /// The first stage where sequences stay together or have kinds: the groups without those that fit no batch, or
    /// no row.
    pub(crate) fn admit_units(
        &self,
        units: &Arc<Units>,
        limit: &ResolvedBudget,
        rng: &Rng,
    ) -> Result<AdmittedUnits, Error> {
        let over_long = self.settings.over_long;
        if self.settings.share == Together::Rank {
            return self.admit_members(units, limit, rng);
        }
        let mut lengths: Vec<Pad> =
            (0..self.lengths.count()).map(|at| self.lengths.both(at)).collect();
        let (mut kept, out): (Vec<u32>, Vec<u32>) = (0..units.count()).partition(|&unit| {
            self.fits(units.get(unit).iter().map(|&at| lengths[at as usize]), limit)
        });
        let refuse = || Err(self.refusal(units, &out, &lengths));
        let (mut alone, mut over) = (Vec::new(), Vec::new());
        match over_long {
            _ if out.is_empty() => {}
            OverLong::Error => return refuse(),
            OverLong::Drop if kept.is_empty() => return refuse(),
            OverLong::Drop => over = units.expanded(&out).collect(),
            OverLong::Alone => {
                over = units.expanded(&out).collect();
                alone.clone_from(&out);
            }
            OverLong::Truncate => {
                let mut cut = lengths.clone();
                for &sequence in out.iter().flat_map(|&unit| units.get(unit)) {
                    let size = units.size(units.of[sequence as usize]);
                    let own = lengths[sequence as usize];
                    let Some(short) = self.cut(own, size, limit) else { return refuse() };
                    if short != own {
                        over.push(sequence);
                        cut[sequence as usize] = short;
                    }
                }
                let fits = |&unit: &u32| {
                    self.fits(units.get(unit).iter().map(|&at| cut[at as usize]), limit)
                };
                if !out.iter().all(fits) {
                    return refuse();
                }
                kept = (0..units.count()).collect();
                lengths = cut;
            }
        }
        over.sort_unstable();
        let whole = kept.clone();
        if let Some(mix) = &self.settings.mix {
            // What exceeds the budget is a part of the mix as well.
            let mut all = [&kept[..], &alone].concat();
            all.sort_unstable();
            let is_alone = |unit: &u32| alone.binary_search(unit).is_ok();
            let (drawn_alone, drawn) =
                drawn(mix, units, &all, rng)?.into_iter().partition(is_alone);
            (alone, kept) = (drawn_alone, drawn);
        }
        Ok(AdmittedUnits { kept, whole, alone, over, lengths })
    }

    /// The same where each sequence of a group can have a batch of its own.
    fn admit_members(
        &self,
        units: &Arc<Units>,
        limit: &ResolvedBudget,
        rng: &Rng,
    ) -> Result<AdmittedUnits, Error> {
        let count = self.lengths.count();
        let mut lengths: Vec<Pad> = (0..count).map(|at| self.lengths.both(at)).collect();
        let is_over = |&at: &u32| !self.fits(std::iter::once(lengths[at as usize]), limit);
        let mut over: Vec<u32> = (0..count).filter(is_over).collect();
        let mut kept: Vec<u32> = (0..units.count()).collect();
        match self.settings.over_long {
            OverLong::Drop => {
                // A group is complete or not there.
                let is_out =
                    |unit: u32| units.get(unit).iter().any(|at| over.binary_search(at).is_ok());
                let out: Vec<u32> = kept.extract_if(.., |unit| is_out(*unit)).collect();
                if kept.is_empty() {
                    return Err(self.refusal(units, &out, &lengths));
                }
                over = units.expanded(&out).collect();
                over.sort_unstable();
            }
            OverLong::Truncate => {
                for &sequence in &over {
                    let own = &mut lengths[sequence as usize];
                    *own = self.cut(*own, 1, limit).unwrap_or(*own);
                }
            }
            OverLong::Error | OverLong::Alone => {}
        }
        let whole = kept.clone();
        if let Some(mix) = &self.settings.mix {
            kept = drawn(mix, units, &kept, rng)?;
        }
        Ok(AdmittedUnits { kept, whole, alone: Vec::new(), over, lengths })
    }

    /// Whether a group of these lengths keeps the budget in a batch, or a row, of its own.
    fn fits(&self, lengths: impl Iterator<Item = Pad> + Clone, limit: &ResolvedBudget) -> bool {
        if self.strategy.row().is_some() {
            return limit.holds_row(lengths.map(|pad| pad.first));
        }
        let size = lengths.clone().count() as u32;
        let [first, second] = self.alone_as(lengths.fold(Pad::default(), Pad::over));
        let pad = u32::try_from(first).ok().zip(u32::try_from(second).ok());
        pad.is_some_and(|(first, second)| limit.holds_group(size, Pad { first, second }))
    }

    /// What a batch of these longest lengths is padded to if nothing else decides it.
    fn alone_as(&self, pad: Pad) -> [u64; 2] {
        let of = self.settings.shapes.sides();
        [of[0].alone(pad.first), if pad.second == 0 { 0 } else { of[1].alone(pad.second) }]
    }

    /// A sequence of a group of so many, cut to what fits, if that is something.
    fn cut(&self, own: Pad, size: u32, limit: &ResolvedBudget) -> Option<Pad> {
        let Settings { budget, shapes, .. } = self.settings;
        if let Some(row) = self.strategy.row() {
            let longest = shapes.longest_within(row.capacity.min(budget.longest_alone()));
            return (size == 1).then_some(Pad { first: own.first.min(longest), ..own });
        }
        if own.second > 0 {
            let sides = budget.sides_of_one().of_groups(size);
            let cut = cut_pair([own.first, own.second], &sides, shapes.sides())?;
            return Some(Pad { first: cut[0], second: cut[1] });
        }
        let longest = shapes.longest_within(limit.longest_of_group(size));
        (longest > 0).then_some(Pad { first: own.first.min(longest), ..own })
    }

    /// The error for groups that exceed the budget alone.
    fn refusal(&self, units: &Units, out: &[u32], lengths: &[Pad]) -> Error {
        let group = units.get(out[0]);
        let held = group.iter().map(|&sequence| lengths[sequence as usize]);
        let sequences = group.len() as u32;
        let budget = &self.settings.budget;
        let (takes, budget) = match (self.strategy.row(), budget.model()) {
            (Some(row), model) => {
                let positions: u64 = held.map(|pad| u64::from(pad.first)).sum();
                let of_row = u64::from(row.capacity) < positions;
                let what =
                    if of_row { format!("the row of {}", row.capacity) } else { named(budget) };
                let unit = if model.is_some() && !of_row { " in one row" } else { "" };
                (format!("{positions} positions{unit}"), what)
            }
            (None, Some(model)) => {
                let [first, second] = self.alone_as(held.fold(Pad::default(), Pad::over));
                let seconds = model.seconds(sequences, (first + second) as u32);
                (format!("{seconds:.4} seconds"), named(budget))
            }
            (None, None) => {
                let [first, second] = self.alone_as(held.fold(Pad::default(), Pad::over));
                let cells = u64::from(sequences) * (first + second);
                (format!("{cells} cells"), named(budget))
            }
        };
        let (index, count, treatment) =
            (group[0] as usize, out.len(), self.settings.over_long.name());
        Error::OverBudgetGroup { index, sequences, takes, budget, count, treatment }
    }
}

fn named(budget: &impl ToString) -> String {
    format!("the budget `{}`", budget.to_string())
}

/// The groups of one epoch by a mix of kinds: each kind goes through its groups in a random order, and through all of
/// them before any occurs again.
fn drawn(mix: &Mix, units: &Units, kept: &[u32], rng: &Rng) -> Result<Vec<u32>, Error> {
    let weights = mix.weights().len();
    if weights != units.kind_count as usize {
        let expected = format!("one for each of {} kinds", units.kind_count);
        return Err(Error::bad_value(
            "the number of weights in the mix of kinds",
            &weights,
            expected,
        ));
    }
    let mut drawn = Vec::with_capacity(kept.len());
    for (kind, count) in (0..).zip(mix.counts(kept.len() as u32)) {
        let own: Vec<u32> = kept.iter().copied().filter(|&unit| units.kind(unit) == kind).collect();
        if count > 0 && own.is_empty() {
            let expected = "0: the kind has no sequences that fit the budget";
            let of = format!("the weight of kind {kind}");
            return Err(Error::bad_value(of, &mix.weights()[kind as usize], expected));
        }
        let (mut place, all) = (u128::from(count) * u128::from(rng.epoch()), own.len() as u128);
        let end = place + u128::from(count);
        while place < end {
            // One pass through the kind after another, each with an order of its own.
            let pass = rng.at_epoch((place / all) as u64).at_class(1 + kind);
            let order = sort::shuffled(own.len() as u32, &pass, Purpose::Mix);
            let start = (place % all) as usize;
            let taken = (all - place % all).min(end - place);
            drawn.extend(order[start..start + taken as usize].iter().map(|&at| own[at as usize]));
            place += taken;
        }
    }
    Ok(drawn)
}
