//! The settings of a plan, and the one step that makes it.

use std::sync::Arc;

use crate::{
    Arrange, Budget, CostModel, Drawn, Error, Group, Lengths, Made, OverLong, Paired, Plan,
    Purpose, Rng, Room, Row, Shapes, Sorted, Steps, Tail, Workspace, arrange,
    cut::{Loose, cut, rows},
    groups::Dealing,
    ladder::{Staircase, ladder},
    over_long::Admitted,
    pack::pack,
    pairs::Pad,
    shapes::Rounding,
    sort,
    steps::Time,
    strategy::packed::LongestFirst,
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
    pub fn constant_steps(self, lengths: &Lengths) -> Result<Self, Error> {
        self.check()?;
        let admitted = self.admit(lengths)?;
        let workspace = Workspace::new();
        let resolved = self.resolve(&admitted, &workspace)?;
        let count = |strategy: &dyn Group, epoch: u64| {
            let rng = Rng::new(self.seed, epoch);
            let batches = self.grouped(strategy, lengths, &admitted, resolved.as_ref(), &rng)?;
            Ok(batches.0.len() as u32)
        };
        let mut most = count(self.last_resort(lengths), 0)?;
        for epoch in 0..4 {
            most = most.max(count(&self.strategy, epoch)?);
        }
        Ok(self.batches(most))
    }

    /// The batch lengths that can occur, rising, if the shapes are a ladder.
    pub fn rungs(&self, lengths: &Lengths) -> Result<Option<Vec<u32>>, Error> {
        let admitted = self.admit(lengths)?;
        Ok(match self.resolve(&admitted, &Workspace::new())? {
            Some((rounding, _)) => match &*rounding {
                Rounding::Rungs(rungs) => Some(rungs.edges().to_vec()),
                _ => None,
            },
            None => None,
        })
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
        self.check()?;
        let rng = Rng::new(self.seed, epoch);
        let admitted = self.admit(lengths)?;
        let resolved = workspace.stage("resolve", || self.resolve(&admitted, workspace))?;
        let drawn = |strategy: &dyn Group, rng: &Rng| {
            self.grouped(strategy, lengths, &admitted, resolved.as_ref(), rng)
        };
        let (mut batches, mut dealing) = drawn(&self.strategy, &rng)?;
        if let Some(fixed) = self.batches {
            for turn in REDRAWS {
                if batches.len() <= fixed as usize {
                    break;
                }
                (batches, dealing) = drawn(&self.strategy, &rng.at_turn(turn))?;
            }
            if batches.len() > fixed as usize {
                (batches, dealing) = drawn(self.last_resort(lengths), &rng)?;
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
            batches: self.batches,
            together: dealing == Dealing::Together,
            packed,
            steps,
            tail: self.tail,
            cost_model,
            accumulate: self.accumulate,
            canonical_ranks: self.canonical_ranks,
            seed: self.seed,
            epoch,
            lengths: workspace.stage("digest", || lengths.digest()),
        };
        let batches = workspace.stage("arrange", || self.arrange.apply(batches, packed, &rng));
        let batches = workspace.stage("gather", || batches.gathered(workspace));
        Ok(Plan::new(batches, admitted.over, made))
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
    ) -> Result<Option<(Arc<Rounding>, Room<'a>)>, Error> {
        if admitted.kept.as_ref().is_some_and(Vec::is_empty) {
            return Ok(None);
        }
        let lengths = &admitted.lengths;
        if let Some(row) = self.strategy.row() {
            let (rounding, room) = self.resolve_rows(lengths, row)?;
            return Ok(Some((rounding, room.within(workspace))));
        }
        if let Some(second) = lengths.second() {
            let room = self.resolve_pairs(lengths, second)?.within(workspace);
            return Ok(Some((Arc::new(Rounding::Exact), room)));
        }
        let rounding = Arc::new(self.shapes.resolve(lengths, &self.budget)?);
        // Rounding keeps the order of lengths, so the longest decides.
        let longest = rounding.of(lengths.max());
        let room = self.budget.resolve(lengths, vec![longest].into())?;
        Ok(Some((Arc::clone(&rounding), room.rounded(lengths, rounding).within(workspace))))
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
            let rounding = Arc::new(self.shapes.resolve(lengths, &self.budget)?);
            let longest = rounding.of(lengths.max());
            let room = self.budget.resolve(lengths, vec![longest].into())?;
            let row = row.within(&room, &self.shapes);
            let room = room.rounded(lengths, Arc::clone(&rounding));
            return Ok((rounding, room.with_row(row)));
        };
        if rungs == 0 {
            self.shapes.resolve(lengths, &self.budget)?;
        }
        let room = self.budget.resolve(lengths, lengths.as_slice().into())?;
        let row = row.within(&room, &self.shapes);
        let order = sort::shuffled(lengths.count(), &Rng::new(0, 0), Purpose::Shuffle);
        let (order, ends) = pack(&order, lengths, row);
        let starts = std::iter::once(&0).chain(&ends);
        let sums = starts.zip(&ends).map(|(&start, &end)| {
            order[start as usize..end as usize].iter().map(|&sequence| lengths.of(sequence)).sum()
        });
        let sums = Lengths::new(sums.collect::<Vec<u32>>())?;
        let most = u64::from(lengths.max()) * u64::from(row.at_most.min(lengths.count()));
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
        let histogram = lengths.histogram();
        let (mut batches, mut work, mut slowest) = (0.0, 0.0, 0.0_f64);
        // The longest, and about a thousand others.
        for &(length, count) in histogram.iter().rev().step_by(1 + histogram.len() / 1000) {
            let length = rounding.of(length);
            let size = room.full(length).min(lengths.count());
            let seconds = time.of(size, length);
            let full = f64::from(count) / f64::from(size);
            batches += full;
            work += full * seconds;
            slowest = slowest.max(seconds);
        }
        if work >= EVEN * batches * slowest { Steps::Stratified } else { Steps::Aligned }
    }
}

/// Batches are even enough for stratified steps if ranks would work at least so much of the time.
const EVEN: f64 = 0.8;

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
