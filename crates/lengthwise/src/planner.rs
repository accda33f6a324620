//! The settings of a plan, and the one step that makes it.

use std::sync::Arc;

use crate::{
    base::{
        error::Error,
        rng::{Purpose, Rng},
        workspace::Workspace,
    },
    cut::{
        batches::weighed,
        in_order::{cut, rows},
        refine,
        spans::Loose,
    },
    data::{
        lengths::{Lengths, is_small_table},
        over_long::OverLong,
        pad::Pad,
        shard::Shard,
        statistics::Statistics,
    },
    limit::{admitted::Admitted, budget::Budget, cost::CostModel, resolved::Room, row::Row},
    order::{
        groups::{Dealing, Drawn},
        pack::pack,
        sort,
    },
    pipeline::{
        footprint,
        footprint::{OF_CUT, OF_EQUALS},
    },
    plan::{
        arrange,
        arrange::Arrange,
        epoch::Plan,
        in_step::in_step,
        provenance::{Corpus, Made, brief},
        span_plan::{LoosePlan, OF_BATCH},
        steps::{Steps, Tail, Time},
    },
    shape::{
        ladder::ladder,
        rounding::{Rounding, Staircase},
        shapes::Shapes,
    },
    strategy::{group::Group, packed::LongestFirst, paired::Paired, sorted::Sorted},
};

/// Plans epochs: the same lengths, settings, seed and epoch give the same plan on every machine.
///
/// ```
/// use lengthwise::{Arrange, Budget, Lengths, Planner, SemiSorted, Shapes};
///
/// let lengths = Lengths::new((1..=1000).collect::<Vec<u32>>())?;
/// let planner = Planner::new(SemiSorted { noise: 0.1 }, Budget::padded(20_000).at_most(128))
///     .shapes(Shapes::Multiple(8))
///     .arrange(Arrange::Shuffled)
///     .seed(42);
/// let plan = planner.plan(&lengths, 0)?;
/// assert!(plan.measure(&lengths).padding_rate < 0.15);
/// assert_ne!(plan, planner.plan(&lengths, 1)?); // a fresh plan per epoch
/// # Ok::<(), lengthwise::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Planner<S> {
    strategy: S,
    budget: Budget,
    shapes: Shapes,
    arrange: Arrange,
    over_long: OverLong,
    steps: Option<Steps>,
    tail: Tail,
    cost_model: Option<CostModel>,
    accumulate: u32,
    canonical_ranks: Option<u32>,
    batches: Option<u32>,
    shard: Option<Shard>,
    seed: u64,
}

impl<S: Group> Planner<S> {
    /// A planner with exact shapes, batches spread over the epoch, over-long sequences refused,
    /// seed 0.
    pub fn new(strategy: S, budget: Budget) -> Self {
        Self {
            strategy,
            budget,
            shapes: Shapes::default(),
            arrange: Arrange::default(),
            over_long: OverLong::default(),
            steps: None,
            tail: Tail::default(),
            cost_model: None,
            accumulate: 1,
            canonical_ranks: None,
            batches: None,
            shard: None,
            seed: 0,
        }
    }

    /// With these shapes.
    #[must_use]
    pub fn shapes(mut self, shapes: Shapes) -> Self {
        self.shapes = shapes;
        self
    }

    /// With the batches in this order.
    #[must_use]
    pub fn arrange(mut self, arrange: Arrange) -> Self {
        self.arrange = arrange;
        self
    }

    /// With over-long sequences treated in this way.
    #[must_use]
    pub fn over_long(mut self, over_long: OverLong) -> Self {
        self.over_long = over_long;
        self
    }

    /// With steps of ranks made in this way. If it is not given: `in-order` for batches as built,
    /// `aligned` for short ones first, and otherwise `stratified` if full batches of all lengths
    /// take nearly the same time (by the cost model, or in cells), and `aligned` if they do not.
    #[must_use]
    pub fn steps(mut self, steps: Steps) -> Self {
        self.steps = Some(steps);
        self
    }

    /// With the batches that fill no step of ranks treated in this way.
    #[must_use]
    pub fn tail(mut self, tail: Tail) -> Self {
        self.tail = tail;
        self
    }

    /// With the time that batches take, so that ranks wait little for each other. A budget of
    /// seconds brings its own.
    #[must_use]
    pub fn cost_model(mut self, model: CostModel) -> Self {
        self.cost_model = Some(model);
        self
    }

    /// With so many batches for each rank in a step: gradients are accumulated over them. Replaces
    /// canonical ranks.
    #[must_use]
    pub fn accumulate(mut self, batches: u32) -> Self {
        (self.accumulate, self.canonical_ranks) = (batches, None);
        self
    }

    /// With steps of so many batches on any number of ranks that divides it: each rank then takes
    /// several, and every step of the model is the same on one machine as on many. Replaces
    /// accumulation.
    #[must_use]
    pub fn canonical_ranks(mut self, ranks: u32) -> Self {
        (self.accumulate, self.canonical_ranks) = (1, Some(ranks));
        self
    }

    /// With exactly so many batches in every epoch: batches are halved until there are as many.
    #[must_use]
    pub fn batches(mut self, batches: u32) -> Self {
        self.batches = Some(batches);
        self
    }

    /// With the same number of batches in every epoch, and so the same number of steps on any number
    /// of ranks: many trainers ask for it once. The number follows from the lengths, the settings
    /// and the seed: the most that the first few epochs need. An epoch that would need more is drawn
    /// anew, and as a last resort sorted; one that needs fewer has its largest batches halved.
    ///
    /// Of a [shard](Planner::shard) every epoch has as many as the statistics say, and it stays as it is.
    pub fn constant_steps(self, lengths: &Lengths) -> Result<Self, Error> {
        if self.shard.is_some() {
            return Ok(self);
        }
        let most = self.most_batches(lengths)?;
        Ok(self.batches(most))
    }

    /// As one shard of a corpus: its lengths are a [part](Lengths::part_of) of the statistics of all
    /// shards, which say how many batches every shard takes. Its randomness differs from that of other
    /// shards, and yet all keep in step: see [`Shard`].
    #[must_use]
    pub fn shard(mut self, shard: Shard) -> Self {
        self.shard = Some(shard);
        self
    }

    /// How many batches this shard needs in every epoch, to be merged into the statistics with what
    /// all others need.
    pub fn needs(&self, lengths: &Lengths) -> Result<Statistics, Error> {
        self.check_shard(lengths)?;
        let (shard, statistics) = match (self.shard, lengths.statistics()) {
            (Some(shard), Some(statistics)) => (shard, statistics),
            (Some(_), None) => return Err(Error::NoStatistics),
            (None, _) => return Err(Error::NoShard),
        };
        let batches = self.most_batches(lengths)?;
        Ok(statistics.of_one(self.counted_settings(), shard, batches))
    }

    /// The settings that decide how many batches a shard needs.
    fn counted_settings(&self) -> String {
        let settings = [
            ("strategy", self.strategy.describe()),
            ("budget", self.budget.to_string()),
            ("shapes", self.shapes.to_string()),
            ("over-long", self.over_long.to_string()),
        ];
        settings.map(|(name, value)| format!("{name}={}", brief(value))).join(" ")
    }

    /// How many batches every epoch has, if that is fixed.
    fn fixed_batches(&self, lengths: &Lengths) -> Result<Option<u32>, Error> {
        self.check_shard(lengths)?;
        match (self.shard, self.batches, lengths.statistics()) {
            (Some(_), _, None) => Err(Error::NoStatistics),
            (Some(shard), None, Some(statistics)) => {
                statistics.batches(&self.counted_settings(), shard.of).map(Some)
            }
            (_, batches, _) => Ok(batches),
        }
    }

    /// Refuses shards of sequences with two lengths, which statistics do not know.
    fn check_shard(&self, lengths: &Lengths) -> Result<(), Error> {
        self.shard.map_or(Ok(()), |shard| lengths.only_one(&format!("shard {shard}")))
    }

    /// The randomness of what one shard draws.
    fn rng(&self, epoch: u64) -> Rng {
        let rng = Rng::new(self.seed, epoch);
        self.shard.map_or(rng, |shard| rng.at_shard(shard.number))
    }

    /// The most batches that the first few epochs need.
    fn most_batches(&self, lengths: &Lengths) -> Result<u32, Error> {
        self.check()?;
        let admitted = self.admit(lengths)?;
        let workspace = Workspace::new();
        let resolved = self.resolve(&admitted, &workspace, None)?;
        let count = |strategy: &dyn Group, epoch: u64| {
            let rng = self.rng(epoch);
            let batches = self.grouped(strategy, lengths, &admitted, resolved.as_ref(), &rng)?;
            Ok(batches.0.len() as u32)
        };
        let mut most = count(self.last_resort(lengths), 0)?;
        for epoch in 0..4 {
            most = most.max(count(&self.strategy, epoch)?);
        }
        Ok(most)
    }

    /// The batch lengths that can occur, rising, if the shapes are a ladder.
    pub fn rungs(&self, lengths: &Lengths) -> Result<Option<Vec<u32>>, Error> {
        let admitted = self.admit(lengths)?;
        Ok(match self.resolve(&admitted, &Workspace::new(), None)? {
            Some((rounding, _)) => match &*rounding {
                Rounding::Rungs(rungs) => Some(rungs.edges().to_vec()),
                _ => None,
            },
            None => None,
        })
    }

    /// How many batches there are in every epoch at least, as far as that is seen at once: as if all
    /// sequences were as short as the shortest.
    pub(crate) fn least_batches(&self, lengths: &Lengths) -> Result<u64, Error> {
        self.check()?;
        self.budget.check()?;
        let longest = self.budget.limit_of_one().map_or(u32::MAX, |limit| limit.longest_alone());
        if lengths.max() > longest {
            return Ok(1);
        }
        let room = self.budget.resolve(lengths, vec![lengths.max()].into())?;
        // The last batch need not be a multiple.
        let most = u64::from(room.full(lengths.min())) + u64::from(self.budget.multiple()) - 1;
        Ok((lengths.len() as u64).div_ceil(most.max(1)))
    }

    /// How many batches there are if sequences are sorted, at most `most`. None is made: how often each
    /// length occurs decides, so this takes no memory for each sequence.
    pub(crate) fn sorted_batches(
        &self,
        workspace: &Workspace,
        lengths: &Lengths,
        most: usize,
    ) -> Result<usize, Error> {
        self.check()?;
        self.memory(workspace, lengths)?;
        let admitted = self.admit(lengths)?;
        let alone = if self.over_long == OverLong::Alone { admitted.over.len() } else { 0 };
        let Some((rounding, room)) = self.resolve(&admitted, workspace, None)? else {
            return Ok(alone.min(most));
        };
        let mut end = 0;
        let ends = admitted.lengths.histogram().iter().map(|&(length, count)| {
            end += count as usize;
            (end, rounding.of(length))
        });
        let ends: Vec<(usize, u32)> = ends.collect();
        Ok(footprint::sorted_batches(&ends, &room, most.saturating_sub(alone)) + alone.min(most))
    }

    /// The most batches of any epoch.
    #[cfg(test)]
    pub(crate) fn most_in_any_epoch(&self, lengths: &Lengths) -> Result<u64, Error> {
        let (admitted, workspace) = (self.admit(lengths)?, Workspace::new());
        let resolved = self.resolve(&admitted, &workspace, None)?;
        let most = resolved.map(|(rounding, room)| self.most_of(&admitted, &rounding, &room));
        Ok(most.unwrap_or(admitted.over.len() as u64))
    }

    /// With this seed.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The plan of one epoch.
    pub fn plan(&self, lengths: &Lengths, epoch: u64) -> Result<Plan, Error> {
        self.plan_in(&Workspace::new(), lengths, epoch)
    }

    /// The plan of one epoch, made with the threads and the memory of a workspace.
    pub fn plan_in(
        &self,
        workspace: &Workspace,
        lengths: &Lengths,
        epoch: u64,
    ) -> Result<Plan, Error> {
        self.loose_in(workspace, lengths, epoch)?.gathered(workspace)
    }

    /// The plan of one epoch with its batches where they were built, which takes four bytes less for
    /// each sequence than [`plan_in`](Planner::plan_in).
    pub fn loose_in(
        &self,
        workspace: &Workspace,
        lengths: &Lengths,
        epoch: u64,
    ) -> Result<LoosePlan, Error> {
        self.check()?;
        workspace.check_stop()?;
        let rng = self.rng(epoch);
        let memory = self.memory(workspace, lengths)?;
        let fixed = self.fixed_batches(lengths)?;
        let admitted = self.admit(lengths)?;
        let mut resolved =
            workspace.stage("resolve", || self.resolve(&admitted, workspace, memory))?;
        let memory = match (workspace.bound(), &mut resolved) {
            (Some(bound), Some((rounding, room))) if self.strategy.in_passes() => {
                let left =
                    self.check_footprint(lengths, &admitted, (rounding, room), &rng, bound)?;
                *room = room.clone().with_memory(Some(left));
                Some(left)
            }
            _ => memory,
        };
        let drawn = |strategy: &dyn Group, rng: &Rng| {
            workspace.check_stop()?;
            let grouped = self.grouped(strategy, lengths, &admitted, resolved.as_ref(), rng);
            grouped.map_err(|error| match (workspace.bound(), memory) {
                (Some(bound), Some(left)) => error.with_memory(bound - left),
                _ => error,
            })
        };
        let (mut batches, mut dealing) = drawn(&self.strategy, &rng)?;
        if let Some(fixed) = fixed {
            let left_out = if self.over_long == OverLong::Drop { admitted.over.len() } else { 0 };
            let sequences = lengths.len() - left_out;
            if let Some(shard) = self.shard.filter(|_| sequences < fixed as usize) {
                return Err(Error::SmallShard { shard: shard.number, sequences, batches: fixed });
            }
            for turn in REDRAWS {
                if batches.len() <= fixed as usize {
                    break;
                }
                (batches, dealing) = drawn(&self.strategy, &rng.at_turn(turn))?;
            }
            if batches.len() > fixed as usize {
                (batches, dealing) = drawn(self.last_resort(lengths), &rng)?;
            }
            if self.shard.is_some() && batches.len() > fixed as usize {
                let [counted, given] = [fixed as usize, batches.len()].map(|it| it.to_string());
                return Err(Error::OtherNeeds { what: "batches".to_owned(), counted, given });
            }
            let gathered = batches.gathered(workspace);
            let halved = match (dealing, &resolved) {
                (Dealing::Packed, Some((rounding, _))) => gathered.halved_rows(fixed, |row| {
                    rounding.of(row.iter().map(|&sequence| lengths.of(sequence)).sum())
                })?,
                _ => gathered.halved_to(fixed, self.budget.multiple())?,
            };
            batches = halved.into();
        }
        let packed = dealing == Dealing::Packed;
        let cost_model = self.cost_model.or(self.budget.model());
        let steps = match (self.steps, &resolved) {
            (Some(steps), _) => steps,
            (None, Some((rounding, room))) => {
                self.suitable_steps(&admitted.lengths, rounding, room, cost_model)
            }
            (None, None) => Steps::Aligned,
        };
        let made = Made {
            strategy: self.strategy.describe(),
            budget: self.budget,
            shapes: self.shapes.clone(),
            arrange: self.arrange,
            over_long: self.over_long,
            batches: fixed,
            together: dealing == Dealing::Together,
            packed,
            steps,
            tail: self.tail,
            cost_model,
            accumulate: self.accumulate,
            canonical_ranks: self.canonical_ranks,
            shard: self.shard,
            corpus: lengths.statistics().map(|statistics| Corpus {
                statistics: statistics.digest(),
                longest: statistics.max(),
            }),
            seed: self.seed,
            epoch,
            lengths: workspace.stage("digest", || lengths.digest()),
        };
        self.check_batches(workspace, lengths, batches.len())?;
        let batches = workspace.stage("arrange", || match self.shard {
            None => self.arrange.apply(batches, packed, &rng),
            Some(shard) => {
                let rng = Rng::new(self.seed, epoch);
                let items = arrange::items(&batches, packed);
                let shapes = batches.shapes().map(|shape| weighed(shape, packed));
                let work = shapes.map(|(size, length)| made.time().of(size, length));
                let work: Vec<f64> = work.collect();
                let order = in_step(&items, &work, (self.arrange, steps), shard, &rng);
                batches.reordered(&order)
            }
        });
        Ok(LoosePlan::new(batches, admitted.over, made))
    }

    /// The bytes that are left for grouping, if memory is bounded; refused if there are too few.
    fn memory(&self, workspace: &Workspace, lengths: &Lengths) -> Result<Option<u64>, Error> {
        let Some(bound) = workspace.bound() else { return Ok(None) };
        lengths.only_one("a bound on memory")?;
        let (count, held) = (lengths.len() as u64, self.held(lengths));
        if !self.strategy.in_passes() {
            Error::check_memory(held + OTHERS * count, bound, || self.what_is_planned(lengths))?;
        } else if held > bound.max(SMALL) {
            // The tables that would say how much it takes are too large themselves.
            let most = held + (4 + OF_EQUALS + OF_BATCH) * count;
            Error::check_memory(most, bound, || self.what_is_planned(lengths))?;
        }
        Ok(Some(bound.saturating_sub(held)))
    }

    /// Refuses to go on once the work is to be stopped, and batches that are too many to be arranged and
    /// written within a bound on memory. Strategies that sort in passes were asked before they were made.
    fn check_batches(
        &self,
        workspace: &Workspace,
        lengths: &Lengths,
        count: usize,
    ) -> Result<(), Error> {
        workspace.check_stop()?;
        let Some(bound) = workspace.bound() else { return Ok(()) };
        let needed = 4 * lengths.len() as u64 + OF_BATCH * count as u64 + self.held(lengths);
        Error::check_memory(needed, bound, || format!("a plan of {count} batches"))?;
        Ok(())
    }

    fn what_is_planned(&self, lengths: &Lengths) -> String {
        format!("planning {} sequences by `{}`", lengths.len(), self.strategy.describe())
    }

    /// Refuses a plan that does not keep a bound on memory, before anything large is allocated, with a
    /// number that is enough. Gives the bytes that are left for grouping.
    fn check_footprint(
        &self,
        lengths: &Lengths,
        admitted: &Admitted,
        (rounding, room): (&Rounding, &Room),
        rng: &Rng,
        bound: u64,
    ) -> Result<u64, Error> {
        let (held, batches) = (self.held(lengths), self.most_of(admitted, rounding, room));
        let while_cut = OF_CUT * batches;
        let needed = held + 4 * lengths.len() as u64 + OF_BATCH * batches;
        if needed <= bound {
            return Ok(bound.saturating_sub(held + while_cut));
        }
        // What sorting takes is asked of sorting itself, which counts before it begins: first what the
        // order takes, then what it takes to make it.
        let mut sorting = 0;
        for _ in 0..2 {
            let room = room.clone().with_memory(Some(sorting));
            match self.strategy.group(&admitted.lengths, &room, rng) {
                Err(Error::OverMemory { needed, .. }) => sorting = needed,
                _ => break,
            }
        }
        let needed = needed.max(held + while_cut + sorting);
        Err(Error::OverMemory { what: self.what_is_planned(lengths), needed, bound })
    }

    /// The most batches of any epoch.
    fn most_of(&self, admitted: &Admitted, rounding: &Rounding, room: &Room) -> u64 {
        let lengths = &*admitted.lengths;
        let groups = self.strategy.most_groups(lengths);
        let multiple = self.budget.multiple();
        let alone = if self.over_long == OverLong::Alone { admitted.over.len() } else { 0 };
        footprint::most_batches(lengths, rounding, room, multiple, groups) + alone as u64
    }

    /// What is held in memory beside the order of sequences and their batches: tables by length, the
    /// lengths without those that fit no batch, and orders that are drawn again or cut further.
    fn held(&self, lengths: &Lengths) -> u64 {
        let count = lengths.len() as u64;
        let tables = if is_small_table(lengths.max(), lengths.len()) {
            32 * (u64::from(lengths.max()) + 1)
        } else {
            20 * count
        };
        // Without a limit, or with one above every length, all are admitted.
        let longest = self.budget.limit_of_one().map_or(u32::MAX, |limit| limit.longest_alone());
        let copies = match self.over_long {
            OverLong::Error => 0,
            _ if lengths.max() <= self.shapes.longest_within(longest) => 0,
            OverLong::Truncate => 8,
            _ => 16,
        };
        tables + count * (copies + if self.batches.is_some() { 8 } else { 0 })
    }

    /// The lengths without those that fit no batch, or no row.
    fn admit<'a>(&self, lengths: &'a Lengths) -> Result<Admitted<'a>, Error> {
        let setting = || format!("strategy `{}`", self.strategy.describe());
        match lengths.second() {
            None if self.budget.is_of_sides() => {
                return Err(Error::NoSecond { what: format!("budget `{}`", self.budget) });
            }
            None if matches!(self.shapes, Shapes::Each(..)) => {
                return Err(Error::NoSecond { what: format!("shapes `{}`", self.shapes) });
            }
            Some(_) if self.strategy.row().is_some() => {
                return Err(Error::SecondLengths { what: setting() });
            }
            _ => {}
        }
        self.over_long.admit(lengths, &self.budget, &self.shapes, self.strategy.row())
    }

    /// What makes few batches, where the strategy makes too many.
    fn last_resort(&self, lengths: &Lengths) -> &'static dyn Group {
        match lengths.second() {
            Some(_) => &Paired { spread: 0.0, stripes: None },
            None if self.strategy.row().is_some() => &LongestFirst,
            None => &Sorted,
        }
    }

    /// Refuses numbers that make no sense.
    fn check(&self) -> Result<(), Error> {
        for (of, given) in [
            ("the number of batches that each rank accumulates", Some(self.accumulate)),
            ("the number of canonical ranks", self.canonical_ranks),
            ("the fixed number of batches", self.batches),
        ] {
            if given == Some(0) {
                let expected = "a whole number from 1".to_owned();
                return Err(Error::BadValue { of: of.to_owned(), given: "0".to_owned(), expected });
            }
        }
        Ok(())
    }

    /// Shapes and budget made definite; nothing where every sequence stands alone.
    fn resolve<'a>(
        &self,
        admitted: &'a Admitted<'_>,
        workspace: &'a Workspace,
        memory: Option<u64>,
    ) -> Result<Option<(Arc<Rounding>, Room<'a>)>, Error> {
        if admitted.kept.as_ref().is_some_and(Vec::is_empty) {
            return Ok(None);
        }
        let lengths = &admitted.lengths;
        if let Some(row) = self.strategy.row() {
            let (rounding, room) = self.resolve_rows(lengths, row)?;
            return Ok(Some((rounding, room.within(workspace).with_memory(memory))));
        }
        if let Some(second) = lengths.second() {
            let room = self.resolve_pairs(lengths, second)?.within(workspace);
            return Ok(Some((Arc::new(Rounding::Exact), room)));
        }
        let rounding = Arc::new(refine::rounding(&self.shapes, lengths, &self.budget)?);
        // Rounding keeps the order of lengths, so the longest decides.
        let longest = rounding.of(lengths.longest());
        let room = self.budget.resolve(lengths, vec![longest].into())?;
        let room = room.rounded(lengths, Arc::clone(&rounding)).within(workspace);
        Ok(Some((rounding, room.with_memory(memory))))
    }

    /// The same where sequences have two lengths. On ladders a sequence can exceed the budget that
    /// would not by itself.
    fn resolve_pairs<'a>(
        &self,
        lengths: &'a Lengths,
        second: &'a Lengths,
    ) -> Result<Room<'a>, Error> {
        let cover = self.shapes.cover(lengths, second)?;
        let room = self.budget.resolve(lengths, vec![cover.top(lengths, second).joint()].into())?;
        let room = room.paired(lengths, Arc::new(cover));
        let over = |&sequence: &u32| !room.holds_one(room.pad_of(sequence));
        let mut over = (0..lengths.count()).filter(over);
        let Some(index) = over.next() else { return Ok(room) };
        let pad = room.pad_of(index);
        Err(Error::OverBudgetShape {
            index: index as usize,
            lengths: [lengths.of(index), second.of(index)],
            padded: [pad.first, pad.second],
            budget: self.budget.to_string(),
            count: 1 + over.count(),
        })
    }

    /// The same where several sequences share a row. A ladder has the rungs that pad the rows of an
    /// epoch of its own least, and the longest row that there can be: so it is the same in every
    /// epoch.
    fn resolve_rows<'a>(
        &self,
        lengths: &'a Lengths,
        row: Row,
    ) -> Result<(Arc<Rounding>, Room<'a>), Error> {
        let Shapes::Ladder(rungs) = self.shapes else {
            let rounding = Arc::new(refine::rounding(&self.shapes, lengths, &self.budget)?);
            let longest = rounding.of(lengths.longest());
            let room = self.budget.resolve(lengths, vec![longest].into())?;
            let row = row.within(&room, &self.shapes);
            let room = room.rounded(lengths, Arc::clone(&rounding));
            return Ok((rounding, room.with_row(row)));
        };
        if rungs == 0 {
            refine::rounding(&self.shapes, lengths, &self.budget)?;
        }
        let room = self.budget.resolve(lengths, lengths.as_slice().into())?;
        let row = row.within(&room, &self.shapes);
        let sample = lengths.part().map(|all| Lengths::new(all.sample(SAMPLE))).transpose()?;
        let all = sample.as_ref().unwrap_or(lengths);
        let order = sort::shuffled(all.count(), &Rng::new(0, 0), Purpose::Shuffle);
        let (order, ends) = pack(&order, all, row);
        let starts = std::iter::once(&0).chain(&ends);
        let sums = starts.zip(&ends).map(|(&start, &end)| {
            order[start as usize..end as usize].iter().map(|&sequence| all.of(sequence)).sum()
        });
        let sums = Lengths::new(sums.collect::<Vec<u32>>())?;
        let count = lengths.part().map_or(lengths.count(), |all| all.count() as u32);
        let most = u64::from(lengths.longest()) * u64::from(row.at_most.min(count));
        let top = u64::from(row.capacity).min(most) as u32;
        let mut edges = match rungs - u32::from(sums.max() < top) {
            0 => Vec::new(),
            rungs => ladder(&sums, rungs),
        };
        if sums.max() < top {
            edges.push(top);
        }
        Ok((Arc::new(Rounding::Rungs(Staircase::new(edges, lengths))), room.with_row(row)))
    }

    /// All batches in the order they were made, and whether they must not be mixed.
    fn grouped(
        &self,
        strategy: &dyn Group,
        lengths: &Lengths,
        admitted: &Admitted,
        resolved: Option<&(Arc<Rounding>, Room)>,
        rng: &Rng,
    ) -> Result<(Loose, Dealing), Error> {
        let (mut batches, dealing) = match resolved {
            // Each over-long sequence is a row of its own.
            None if self.strategy.row().is_some() => (Loose::default(), Dealing::Packed),
            None => (Loose::default(), Dealing::Free),
            Some((rounding, room)) => build(strategy, &admitted.lengths, rounding, room, rng)?,
        };
        if let Some(kept) = &admitted.kept {
            batches.rename(|sequence| kept[sequence as usize]);
        }
        if self.over_long == OverLong::Alone {
            for &sequence in &admitted.over {
                let [first, second] = self.shapes.sides();
                let alone = |shapes: &Shapes, length: u32| {
                    u32::try_from(shapes.alone(length)).unwrap_or(length)
                };
                let Pad { first: a, second: b } = lengths.both(sequence);
                let second = if b == 0 { 0 } else { alone(second, b) };
                batches.push(&[sequence], Pad { first: alone(first, a), second });
            }
        }
        Ok((batches, dealing))
    }

    /// How steps are made if nothing was said about it. Depends on the lengths and the settings, not
    /// on the epoch.
    fn suitable_steps(
        &self,
        lengths: &Lengths,
        rounding: &Rounding,
        room: &Room,
        cost_model: Option<CostModel>,
    ) -> Steps {
        match self.arrange {
            Arrange::AsBuilt => return Steps::InOrder,
            Arrange::ShortFirst => return Steps::Aligned,
            // All rows are about as long as the capacity.
            _ if self.strategy.row().is_some() => return Steps::Stratified,
            _ => {}
        }
        let time = cost_model.map_or(Time::Cells, Time::Seconds);
        if room.sides().is_some() {
            return suitable_for_pairs(lengths, room, time);
        }
        let (histogram, count) = (lengths.population(), lengths.population_count() as u32);
        let (mut batches, mut work, mut slowest) = (0.0, 0.0, 0.0_f64);
        // The longest, and about a thousand others.
        for &(length, of_length) in histogram.iter().rev().step_by(1 + histogram.len() / 1000) {
            let length = rounding.of(length);
            let size = room.full(length).min(count);
            let seconds = time.of(size, length);
            let full = f64::from(of_length) / f64::from(size);
            batches += full;
            work += full * seconds;
            slowest = slowest.max(seconds);
        }
        if work >= EVEN * batches * slowest { Steps::Stratified } else { Steps::Aligned }
    }
}

/// Batches are even enough for stratified steps if ranks would work at least so much of the time.
const EVEN: f64 = 0.8;

/// Tables of so many bytes are made under every bound: to say what is enough takes them.
const SMALL: u64 = 4_000_000;

/// How many bytes strategies that do not sort in passes take for each sequence, at most.
const OTHERS: u64 = 56;

/// So many sequences decide the rungs of rows, where they are a part of more.
const SAMPLE: usize = 1 << 16;

/// How steps of batches of two lengths are made if nothing was said about it, by about a thousand
/// sequences.
fn suitable_for_pairs(lengths: &Lengths, room: &Room, time: Time) -> Steps {
    let (mut batches, mut work, mut slowest) = (0.0, 0.0, 0.0_f64);
    for sequence in (0..lengths.count()).step_by(1 + lengths.len() / 1000) {
        let pad = room.pad_of(sequence);
        let size = room.full_of(pad).min(lengths.count());
        let (seconds, full) = (time.of(size, pad.joint()), 1.0 / f64::from(size));
        batches += full;
        work += full * seconds;
        slowest = slowest.max(seconds);
    }
    if work >= EVEN * batches * slowest { Steps::Stratified } else { Steps::Aligned }
}

/// Turns of the randomness for epochs that need more batches than there are to be.
const REDRAWS: std::ops::Range<u32> = 2000..2016;

/// The batches as the strategy built them, of sequences that all fit the budget, and whether they
/// must not be mixed.
fn build(
    strategy: &dyn Group,
    lengths: &Lengths,
    rounding: &Rounding,
    room: &Room,
    rng: &Rng,
) -> Result<(Loose, Dealing), Error> {
    let groups = strategy.group(lengths, room, rng)?;
    if groups.count() != lengths.len() {
        return Err(Error::BadGroups {
            what: format!("it holds {} sequences of {}", groups.count(), lengths.len()),
        });
    }
    let (drawn, dealing) = (groups.how_drawn(), groups.dealing());
    let batches = room.workspace().stage("cut", || match dealing {
        Dealing::Packed => rows(groups, lengths, room.row(), rounding).map(Loose::from),
        _ => Ok(cut(groups, room, rounding)),
    })?;
    let batches = match drawn {
        Drawn::InOrder => batches,
        Drawn::AtRandom => arrange::shuffle(batches, rng, Purpose::Draw),
    };
    Ok((batches, dealing))
}
