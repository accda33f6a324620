//! The two promises that everything else rests on, under random settings of every kind: no batch
//! exceeds its budget, and every sequence comes exactly once, or is listed.
//!
//! Budgets are checked by their definitions, not by the code that plans. The settings follow from
//! their number, so a number in a message is enough to run them again.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may panic, and says what it saw"
)]

use std::{collections::BTreeSet, sync::Arc};

use xxhash_rust::xxh3::Xxh3;

mod groups;
mod kept;
mod random;

use self::groups::Groups;
use self::random::{
    alone, chance, cost_model, kind, lengths, one_of, rungs, scaled, shapes_of_one, sides_of,
};
use crate::common::{in_digits, of_batches, strategies};
use lengthwise::{
    Arrange, Budget, CostModel, Error, Lengths, OverLong, Pairs, Plan, Planner, Rule, Schedule,
    Shapes, Sides, Steps, Strategy, Tail, Update,
    custom::{Group as _, Purpose, Rng, Stream},
    groups::{OneKind, Together},
    shard::{Shard, Statistics},
    stream::{Arrival, Feed, Streamer},
};

#[test]
fn twenty_thousand_random_settings_keep_their_promises() {
    check_all(0..20_000, false);
}

/// No group is split, no batch and no step has two kinds, and the other promises hold as well.
#[test]
fn ten_thousand_random_settings_of_groups_and_kinds_keep_their_promises() {
    check_all(20_000..30_000, true);
}

/// What is left at a rung does not climb to one that a single sequence cannot afford, though the rung
/// is given and climbing would pad little. Only a cost can be so, where full batches of a rung hold
/// several sequences and one of the next rung is too much: most of it follows the length.
#[test]
fn what_is_left_never_climbs_beyond_the_budget() {
    let one = Lengths::new([780; 105]).unwrap();
    let two = Pairs::new(one.clone(), Lengths::new([90; 105]).unwrap()).unwrap().into();
    let cases: [(&Lengths, &str, &str); 3] = [
        (&one, "cost:recurrent,limit=0.155", "ladder:800/900"),
        (&one, "cost:a=1,b=0.01,c=0.0001,limit=9.5", "ladder:800/860/900"),
        (&two, "cost:recurrent,limit=0.166", "ladder:800/+ladder:92/200"),
    ];
    for (lengths, budget, shapes) in cases {
        for strategy in of_batches() {
            let planner = Planner::new(strategy.clone(), budget.parse().unwrap());
            let planner = planner.shapes(shapes.parse().unwrap());
            let plan = planner.plan(lengths, 0).unwrap();
            for (at, batch) in plan.iter().enumerate() {
                let second = plan.second_batch_lengths().map_or(0, |seconds| seconds[at]);
                let pad = (plan.batch_lengths()[at], second);
                let what = format!("{strategy} {budget} {shapes}: {} at {pad:?}", batch.len());
                assert!(plan.provenance().admits_pair(batch, pad, lengths), "{what}");
                assert!(pad.0 == 800 && second <= 92, "{what}");
            }
        }
    }
}

/// What was checked.
#[derive(Default)]
struct Tally {
    plans: u32,
    schedules: u32,
    resumed: u32,
    shards: u32,
    streams: u32,
    batches: u64,
    refused: u32,
    wrong: Vec<String>,
    /// All that was seen.
    seen: Xxh3,
}

impl Tally {
    fn see(&mut self, what: &impl std::fmt::Debug) {
        self.seen.update(in_digits(what).as_bytes());
    }
}

fn check_all(numbers: std::ops::Range<u64>, grouped: bool) -> Tally {
    let mut tally = Tally::default();
    for number in numbers {
        let case = Case::draw(number, grouped, &mut tally);
        if let Err(what) = case.check(&mut tally) {
            tally.wrong.push(format!("{number}: {what}\n  {case}"));
        }
    }
    println!(
        "{} settings: {} schedules, {} resumed, {} with shards, {} streams, {} batches in all; {} \
         settings drawn anew because they were refused",
        tally.plans,
        tally.schedules,
        tally.resumed,
        tally.shards,
        tally.streams,
        tally.batches,
        tally.refused
    );
    let wrong = &tally.wrong;
    let count = |what: &str| wrong.iter().filter(|wrong| wrong.contains(what)).count();
    let [over, split, mixed] = ["over budget", "is split", "two kinds"].map(count);
    let some = wrong.iter().take(8).cloned().collect::<Vec<_>>().join("\n");
    assert!(
        wrong.is_empty(),
        "{} wrong, {over} of them over budget, {split} split, {mixed} mixed:\n{some}",
        wrong.len()
    );
    tally
}

/// The limit of a batch, as a definition.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Sequences(u32),
    Padded(u64),
    Sides(Sides),
    Dynamic(u32, Rule),
    Cost(CostModel, f64),
}

impl Kind {
    fn budget(self) -> Budget {
        match self {
            Kind::Sequences(count) => Budget::sequences(count),
            Kind::Padded(cells) => Budget::padded(cells),
            Kind::Sides(sides) => Budget::sides(sides),
            Kind::Dynamic(count, rule) => Budget::dynamic(count).rule(rule),
            Kind::Cost(model, limit) => Budget::cost(model, limit),
        }
    }
}

/// Whether settings are refused because of the lengths, and others are drawn.
fn is_refused(error: &Error, share: Together) -> bool {
    match error {
        Error::OverBudget { .. }
        | Error::OverBudgetSeconds { .. }
        | Error::OverBudgetPair { .. }
        | Error::OverBudgetShape { .. }
        | Error::OverBudgetGroup { .. }
        | Error::OverCapacity { .. }
        | Error::LadderTooShort { .. }
        | Error::SecondLengths { .. } => true,
        // Too few sequences for as many batches on every rank.
        Error::BadValue { .. } => share == Together::Rank,
        _ => false,
    }
}

struct Case {
    lengths: Lengths,
    strategy: Strategy,
    kind: Kind,
    at_most: Option<u32>,
    shapes: Shapes,
    over_long: OverLong,
    planner: Planner<Strategy>,
    /// Whether the size of an update is given.
    sized: bool,
    tail: Tail,
    world_size: u32,
    places: u32,
    epoch: u64,
    plan: Plan,
    random: Stream,
    /// The group of every sequence, and its kind.
    groups: Groups,
    one_kind: OneKind,
    share: Together,
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Case { strategy, shapes, over_long, tail, world_size, places, epoch, .. } = self;
        let made = self.plan.provenance();
        write!(
            f,
            "{} sequences, {strategy} {} {shapes} over-long {over_long}, {} {} tail {tail}, {places} \
             places on {world_size} ranks, batches {:?}, update {:?}, epoch {epoch}, lengths {:?} {:?}, \
             groups {:?}, kinds {:?}, one per {}",
            self.lengths.len(),
            made.budget,
            made.arrange,
            made.steps,
            made.batches,
            made.update,
            &self.lengths.as_slice()[..self.lengths.len().min(24)],
            self.lengths.second().map(|second| &second.as_slice()[..second.len().min(24)]),
            &self.groups.of[..self.groups.of.len().min(24)],
            &self.groups.kinds[..self.groups.kinds.len().min(24)],
            format_args!("{}, together in a {}", self.one_kind, self.share),
        )
    }
}

/// Draws how many batches a step has, and how many places that is on this number of ranks.
fn with_steps(
    planner: Planner<Strategy>,
    random: &mut Stream,
    lengths: &Lengths,
    world_size: u32,
) -> (Planner<Strategy>, u32) {
    match random.below(4) {
        0 => {
            let more = 1 + random.below(3);
            (planner.accumulate(more), more * world_size)
        }
        1 => {
            let more = 1 + random.below(3);
            (planner.canonical_ranks(more * world_size), more * world_size)
        }
        2 => {
            let update = match (random.below(2), u64::from(scaled(random, 400))) {
                (0, sequences) => Update::Sequences(sequences),
                (_, longest) => Update::Tokens(longest * u64::from(lengths.max())),
            };
            (planner.update(update).for_ranks(world_size), world_size)
        }
        _ => (planner, world_size),
    }
}

impl Case {
    /// The settings of this number: the first ones from it on that are not refused.
    fn draw(number: u64, grouped: bool, tally: &mut Tally) -> Self {
        let mut random = Rng::new(18, number).stream(Purpose::Own(18));
        loop {
            if let Some(case) = Self::try_draw(&mut random, grouped) {
                tally.plans += 1;
                return case;
            }
            tally.refused += 1;
        }
    }

    fn try_draw(random: &mut Stream, grouped: bool) -> Option<Self> {
        let mut lengths = lengths(random);
        let mut strategy = one_of(random, &strategies());
        let equal_cost = strategy.row().is_some() && chance(random, 3);
        if equal_cost {
            strategy = "packed:balance=cost".parse().unwrap();
        }
        let mut shapes = shapes_of_one(random, lengths.max());
        if strategy.row().is_none() && chance(random, 4) {
            let most = scaled(random, 400);
            let second: Vec<u32> = (0..lengths.len()).map(|_| 1 + random.below(most)).collect();
            let second = Lengths::new(second).unwrap();
            if chance(random, 2) || matches!(shapes, Shapes::Rungs(_)) {
                let of_second = shapes_of_one(random, second.max());
                shapes = Shapes::Each(Box::new(shapes), Box::new(of_second));
            }
            lengths = Pairs::new(lengths, second).unwrap().into();
            if chance(random, 3) {
                strategy = one_of(random, &["paired", "paired:blur=0"]).parse().unwrap();
            }
        }
        if matches!(shapes, Shapes::Rungs(_)) && strategy.row().is_some() && chance(random, 2) {
            // Rows are longer than any sequence.
            shapes = rungs(random, 4 * lengths.max());
        }
        let kind = kind(random, &lengths, &shapes);
        let mut groups = Groups::default();
        let (mut one_kind, mut share) = (OneKind::Batch, Together::Batch);
        if grouped {
            let of_kinds = chance(random, 2);
            groups = Groups::draw(random, lengths.len() as u32, of_kinds);
            lengths = groups.added(lengths.clone(), 0..lengths.len());
            one_kind = one_of(random, &OneKind::ALL);
            if chance(random, 8) {
                share = Together::Rank;
                if strategy.row().is_none() {
                    strategy = "proportional".parse().unwrap();
                }
            }
        }
        let at_most = chance(random, 4).then(|| scaled(random, 30));
        let multiple_of = one_of(random, &[1, 1, 1, 2, 4, 8]);
        let budget = kind.budget();
        let budget = at_most.map_or(budget, |most| budget.at_most(most)).multiple_of(multiple_of);
        let over_long =
            one_of(random, &[OverLong::Error, OverLong::Alone, OverLong::Drop, OverLong::Truncate]);
        let tail = one_of(random, &Tail::ALL);
        let (epoch, seed) = (u64::from(random.below(1000)), u64::from(random.next_u32()));
        let mut planner = Planner::new(strategy.clone(), budget)
            .shapes(shapes.clone())
            .arrange(one_of(random, &Arrange::ALL))
            .over_long(over_long)
            .tail(tail)
            .one_kind(one_kind)
            .share(share)
            .seed(seed);
        if chance(random, 2) {
            planner = planner.steps(one_of(random, &Steps::ALL));
        }
        if equal_cost || chance(random, 4) {
            planner = planner.cost_model(cost_model(random));
        }
        let world_size = 1 + random.below(8);
        let (mut planner, places) = with_steps(planner, random, &lengths, world_size);
        if share == Together::Rank {
            planner = planner.accumulate(1).for_ranks(world_size);
        }
        let sized = planner.settings().update.is_some() || share == Together::Rank;
        if !sized && chance(random, 4) {
            planner = planner.constant_steps(&lengths).ok()?;
        }
        let plan = match planner.plan(&lengths, epoch) {
            Ok(plan) => plan,
            Err(error) if is_refused(&error, share) => return None,
            Err(other) => panic!("{strategy} {budget} {shapes}: {other}"),
        };
        // Planned steps have as many places as they take.
        let places = match plan.schedule(world_size) {
            Ok(schedule) if sized => schedule.accumulate() * world_size,
            _ if sized => u32::MAX,
            _ => places,
        };
        let random = random.clone();
        Some(Self {
            lengths,
            strategy,
            kind,
            at_most,
            shapes,
            over_long,
            planner,
            sized,
            tail,
            world_size,
            places,
            epoch,
            plan,
            random,
            groups,
            one_kind,
            share,
        })
    }

    fn both(&self, sequence: u32) -> [u32; 2] {
        let second = self.lengths.second().map_or(0, |second| second.as_slice()[sequence as usize]);
        [self.lengths.as_slice()[sequence as usize], second]
    }

    /// Whether a batch that is padded to this keeps the budget.
    fn holds(&self, batch: &[u32], pad: [u32; 2], packed: bool) -> bool {
        let (size, [a, b]) = (batch.len() as u64, pad.map(u64::from));
        let rows = if packed { 1 } else { size };
        let longest = |of: &Lengths, shapes: &Shapes| u64::from(alone(shapes, of.max()));
        let [first, second] = sides_of(&self.shapes);
        let capacity = |count: u32| {
            let second = self.lengths.second().map_or(0, |of| longest(of, second));
            u64::from(count) * (longest(&self.lengths, first) + second)
        };
        let within =
            |limit: Option<u64>, length: u64| limit.is_none_or(|most| rows * length <= most);
        let fits = match self.kind {
            Kind::Sequences(count) => size <= u64::from(count),
            Kind::Padded(cells) => rows * (a + b) <= cells,
            Kind::Sides(sides) => {
                within(sides.sum, a + b)
                    && within(sides.first, a)
                    && within(sides.second, b)
                    && within(sides.max, a.max(b))
            }
            Kind::Dynamic(count, Rule::Over) if !packed => {
                // Without the one that joined last, which may have been any.
                let joint = |&one: &u32| self.both(one).map(u64::from).iter().sum::<u64>();
                let shortest = batch.iter().map(joint).min().unwrap();
                let of = |&one: &u32| if self.is_grouped() { self.groups.of(one).len() } else { 1 };
                let last = batch.iter().map(of).max().unwrap();
                size.saturating_sub(last as u64) * shortest <= capacity(count)
            }
            Kind::Dynamic(count, _) => rows * (a + b) <= capacity(count),
            Kind::Cost(model, limit) if packed => {
                // Every sequence attends to itself, and padding to nothing.
                let held = batch.iter().map(|&one| f64::from(self.both(one)[0].min(pad[0])));
                let [a, b, c, d] = model.coefficients();
                let [longest, squares] = held.fold([0.0; 2], |[longest, squares], length| {
                    [f64::max(longest, length), squares + length * length]
                });
                let row = a + b * longest + c * f64::from(pad[0]) + d * squares;
                row.max(model.launch()) <= limit * (1.0 + 1e-12)
            }
            Kind::Cost(model, limit) => model.seconds(rows as u32, pad[0] + pad[1]) <= limit,
        };
        fits && self.at_most.is_none_or(|most| size <= u64::from(most))
    }

    fn is_grouped(&self) -> bool {
        !self.groups.of.is_empty()
    }

    /// Whether the sequences of a batch, with all that stay together with them, exceed the budget alone.
    fn is_spared(&self, batch: &[u32]) -> bool {
        if !self.is_grouped() {
            return batch.len() == 1 && self.is_over_long(batch[0]);
        }
        let group = match self.share {
            Together::Rank if batch.len() == 1 && self.over_long == OverLong::Alone => batch,
            _ => self.groups.of(batch[0]),
        };
        if self.share == Together::Rank && self.over_long == OverLong::Drop {
            // A group without one of its sequences is not complete.
            return group.iter().any(|&one| self.is_over_long(one));
        }
        if batch.len() > group.len() {
            return false;
        }
        let [first, second] = sides_of(&self.shapes);
        let both = group.iter().map(|&one| self.both(one));
        let [a, b] = both.clone().fold([0; 2], |[a, b], [c, d]| [a.max(c), b.max(d)]);
        if !self.plan.is_packed() {
            let pad = [alone(first, a), if b == 0 { 0 } else { alone(second, b) }];
            return !self.holds(group, pad, false);
        }
        let sum = alone(first, both.map(|[length, _]| length).sum());
        let row = self.strategy.row().unwrap();
        let top = match first {
            Shapes::Rungs(rungs) => rungs[rungs.len() - 1],
            _ => u32::MAX,
        };
        let own = row.capacity.min(top) < sum || (row.at_most as usize) < group.len();
        if let (Kind::Cost(model, limit), false) = (self.kind, self.shapes == Shapes::Exact) {
            return own || model.seconds(1, sum) > limit || !self.holds(group, [sum, 0], true);
        }
        own || !self.holds(group, [sum, 0], true)
    }

    /// Whether a sequence exceeds the budget alone, so that `alone` may give it a batch above it.
    fn is_over_long(&self, sequence: u32) -> bool {
        let [first, second] = sides_of(&self.shapes);
        let [a, b] = self.both(sequence);
        let pad = [alone(first, a), if b == 0 { 0 } else { alone(second, b) }];
        let own = self.strategy.row().is_some_and(|row| row.capacity < pad[0]);
        if let (Kind::Cost(model, limit), true) = (self.kind, self.plan.is_packed()) {
            // A row that is rounded up counts as one sequence of its length.
            return own || model.seconds(1, pad[0]) > limit;
        }
        own || !self.holds(&[sequence], pad, self.plan.is_packed())
    }

    /// Every batch keeps the budget and is long enough for its sequences.
    fn check_batches(&self, plan: &Plan, tally: &mut Tally) -> Result<(), String> {
        for (at, batch) in plan.iter().enumerate() {
            let second = plan.second_batch_lengths().map_or(0, |seconds| seconds[at]);
            let pad = [plan.batch_lengths()[at], second];
            if batch.is_empty() {
                return Err(format!("batch {at} is empty"));
            }
            if self.is_grouped() {
                self.groups.check(batch, self.share)?;
            }
            let spared = self.over_long == OverLong::Alone && self.is_spared(batch);
            if !spared && !self.holds(batch, pad, plan.is_packed()) {
                return Err(format!("over budget: batch {at} of {} at {pad:?}", batch.len()));
            }
            if !spared && !plan.provenance().admits_pair(batch, (pad[0], pad[1]), &self.lengths) {
                return Err(format!("not admitted: batch {at} of {} at {pad:?}", batch.len()));
            }
            let longer = |&&one: &&u32| {
                let [a, b] = self.both(one);
                (a > pad[0] || b > pad[1]) && !plan.truncated().contains(&one)
            };
            if let Some(one) = batch.iter().find(longer) {
                return Err(format!("batch {at} is too short for sequence {one}"));
            }
        }
        tally.batches += plan.len() as u64;
        tally.see(&(plan.digest(), plan.over_long(), plan.measure(&self.lengths)));
        Ok(())
    }

    fn check(&self, tally: &mut Tally) -> Result<(), String> {
        let plan = &self.plan;
        self.check_batches(plan, tally)?;
        let all: Vec<u32> = (0..self.lengths.len() as u32).collect();
        let listed = plan.left_out();
        if !listed.is_empty() && self.over_long != OverLong::Drop {
            return Err(format!("{listed:?} left out"));
        }
        if let Some(one) = listed.iter().find(|&&one| !self.is_spared(&[one])) {
            return Err(format!("{one} left out, though it fits"));
        }
        exactly_once(plan.indices().iter().chain(listed), &all)?;
        self.check_pairs()?;
        self.check_ranks(tally)?;
        if self.lengths.second().is_none() && !self.sized && self.share == Together::Batch {
            match self.random.clone().below(if self.is_grouped() { 4 } else { 12 }) {
                0 => self.check_shards(tally)?,
                1 => self.check_stream(tally)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// A ladder has no more batch lengths, or pairs of them, than it was asked for. Over-long
    /// sequences alone have their own.
    fn check_pairs(&self) -> Result<(), String> {
        let (Shapes::Ladder(most), OverLong::Error) = (&self.shapes, self.over_long) else {
            return Ok(());
        };
        if self.is_grouped() {
            // Groups of other sizes may need rungs of their own.
            return Ok(());
        }
        let seconds = self.plan.second_batch_lengths();
        let pads = self.plan.batch_lengths().iter().enumerate();
        let pads = pads.map(|(at, &first)| (first, seconds.map_or(0, |seconds| seconds[at])));
        let found: BTreeSet<(u32, u32)> = pads.collect();
        if found.len() > *most as usize {
            return Err(format!("{} batch lengths on ladder:{most}: {found:?}", found.len()));
        }
        Ok(())
    }

    fn check_ranks(&self, tally: &mut Tally) -> Result<(), String> {
        let schedule = match self.plan.schedule(self.world_size) {
            Ok(schedule) => schedule,
            Err(Error::TooFewForRanks { .. }) => {
                let groups =
                    self.groups.ids(if self.is_grouped() { self.plan.indices() } else { &[] });
                let count =
                    if self.is_grouped() { groups.len() } else { self.plan.indices().len() };
                let enough = count >= self.places as usize && !self.planner.plans_steps();
                return if enough { Err("too few for ranks".to_owned()) } else { Ok(()) };
            }
            Err(Error::NoFullStep { .. }) => {
                let enough = self.plan.len() >= self.places as usize || self.tail != Tail::Drop;
                // Steps that the strategy makes are larger.
                let enough =
                    enough && self.one_kind == OneKind::Batch && !self.planner.plans_steps();
                return if enough { Err("no full step".to_owned()) } else { Ok(()) };
            }
            Err(other) => return Err(other.to_string()),
        };
        tally.schedules += 1;
        self.check_schedule(&schedule, self.plan.indices(), tally)?;
        // Another number of ranks goes on from somewhere.
        let mut random = self.random.clone();
        let taken = random.below(schedule.len() as u32 + 1) as usize;
        let cursor = schedule.cursor(taken).map_err(|error| error.to_string())?;
        let first = schedule.clone().first(taken).map_err(|error| error.to_string())?.all_ranks();
        let seen: BTreeSet<u32> = first.indices().iter().copied().collect();
        let unseen = self.plan.indices().iter().copied().filter(|one| !seen.contains(one));
        let unseen: Vec<u32> = unseen.collect();
        let ranks = if chance(&mut random, 3) { self.world_size } else { 1 + random.below(8) };
        match self.plan.resume(&cursor, ranks) {
            Err(Error::BadValue { .. })
                if self.share == Together::Rank && !self.world_size.is_multiple_of(ranks) =>
            {
                Ok(())
            }
            Ok(rest) => {
                tally.resumed += 1;
                if ranks == self.world_size && self.tail == Tail::Repeat {
                    // What was seen may be repeated, and is listed.
                    return self.check_batches(&rest.all_ranks(), tally);
                }
                self.check_schedule(&rest, &unseen, tally)
            }
            Err(Error::TooFewForRanks { .. }) => Ok(()),
            Err(other) => Err(other.to_string()),
        }
    }

    /// The batches of all ranks have `sequences`, each once but for what is listed; a tail that is
    /// split repeats no more than it must.
    fn check_schedule(
        &self,
        schedule: &Schedule,
        sequences: &[u32],
        tally: &mut Tally,
    ) -> Result<(), String> {
        let all = schedule.all_ranks();
        self.check_batches(&all, tally)?;
        let (mut repeated, dropped) = (schedule.repeated(), schedule.dropped());
        let steps = (schedule.len(), schedule.accumulate(), schedule.step_mix(&self.lengths));
        let model = self.planner.settings().cost_model;
        let model = model.unwrap_or_else(|| CostModel::preset("encoder").unwrap());
        let idle = [schedule.idle_share(), schedule.idle_bound(), schedule.idle_share_by(&model)];
        let seconds = [schedule.duration_by(&model), schedule.seconds(&model)];
        tally.see(&(&repeated, &dropped, steps, idle, seconds, schedule.counts(&self.lengths)));
        if !dropped.is_empty() && self.tail != Tail::Drop {
            return Err(format!("{} dropped", dropped.len()));
        }
        if self.tail == Tail::Drop && !repeated.is_empty() {
            return Err(format!("{} repeated", repeated.len()));
        }
        let per_step = (schedule.accumulate() * schedule.world_size()) as usize;
        let batches: Vec<&[u32]> = all.iter().collect();
        if self.share == Together::Rank {
            for step in batches.chunks(per_step) {
                for rank in 0..schedule.world_size() as usize {
                    let own = step[rank..].iter().step_by(schedule.world_size() as usize);
                    let own: Vec<u32> = own.copied().flatten().copied().collect();
                    let ids = self.groups.ids(&own).into_iter();
                    if own.len() != ids.map(|id| self.groups.members[&id].len()).sum::<usize>() {
                        return Err("a group is split between ranks".to_owned());
                    }
                }
            }
        }
        if self.is_grouped() && self.one_kind == OneKind::Step {
            for step in batches.chunks(per_step) {
                let kind = self.groups.kind(step[0][0]);
                if step.iter().any(|batch| self.groups.kind(batch[0]) != kind) {
                    return Err("a step has two kinds".to_owned());
                }
            }
        } else if self.tail == Tail::Split && self.share == Together::Rank {
            if !repeated.is_empty() {
                return Err(format!("{} repeated", repeated.len()));
            }
        } else if self.tail == Tail::Split && self.is_grouped() {
            let least = all.len().saturating_sub(self.groups.ids(sequences).len());
            let again: f64 =
                repeated.iter().map(|&one| 1.0 / self.groups.of(one).len() as f64).sum();
            if again.round() as usize != least {
                return Err(format!("{again} groups repeated where {least} would do"));
            }
        } else if self.tail == Tail::Split {
            let least = all.len().saturating_sub(sequences.len());
            if repeated.len() != least {
                return Err(format!("{} repeated where {least} would do", repeated.len()));
            }
        }
        let once = all.indices().iter().filter(|one| {
            match repeated.iter().position(|again| again == *one) {
                Some(at) => {
                    repeated.swap_remove(at);
                    false
                }
                None => true,
            }
        });
        let once: Vec<u32> = once.copied().chain(dropped).collect();
        exactly_once(&once, sequences)
    }

    /// The same lengths in shards that are planned apart.
    fn check_shards(&self, tally: &mut Tally) -> Result<(), String> {
        if self.is_grouped() && self.planner.settings().batches.is_some() {
            // A group in two shards is two, so that other groups are over-long.
            return Ok(());
        }
        let mut random = self.random.clone();
        let of = 2 + random.below(2);
        let parts = self.lengths.as_slice().chunks(self.lengths.len().div_ceil(of as usize));
        let parts: Vec<Lengths> = parts.map(|part| Lengths::new(part).unwrap()).collect();
        let mut start = 0;
        let parts = parts.into_iter().map(|part| {
            let range = start..start + part.len();
            start = range.end;
            if self.is_grouped() { self.groups.added(part, range) } else { part }
        });
        let parts: Vec<Lengths> = parts.collect();
        if parts.len() < of as usize {
            return Ok(());
        }
        let merge = |parts: Vec<Statistics>| {
            parts.into_iter().reduce(|one, other| one.merge(&other).unwrap()).unwrap()
        };
        let all = Arc::new(merge(parts.iter().map(Statistics::of).collect()));
        let part_of = |part: &Lengths, all: &Arc<Statistics>| part.clone().part_of(all.clone());
        let planner = |number: u32| self.planner.clone().shard(Shard { number, of });
        let needs: Result<Vec<Statistics>, Error> = (0..)
            .zip(&parts)
            .map(|(number, part)| planner(number).needs(&part_of(part, &all)?))
            .collect();
        // A shard may be all over-long, or too small.
        let Ok(needs) = needs else { return Ok(()) };
        tally.see(&needs.iter().map(Statistics::digest).collect::<Vec<_>>());
        let all = Arc::new(all.merge(&merge(needs)).unwrap());
        for (number, part) in (0..).zip(&parts) {
            let part = part_of(part, &all).unwrap();
            let plan = match planner(number).plan(&part, self.epoch) {
                Ok(plan) => plan,
                Err(Error::SmallShard { .. }) => return Ok(()),
                Err(other) => return Err(format!("shard {number}: {other}")),
            };
            for (at, batch) in plan.iter().enumerate() {
                let pad = plan.batch_lengths()[at];
                let first = self.lengths.len().div_ceil(of as usize) as u32 * number;
                let own: Vec<u32> = batch.iter().map(|&one| first + one).collect();
                if self.is_grouped() {
                    let whole = |one: &u32| parts[number as usize].len() as u32 + first > *one;
                    let ids = self.groups.ids(&own).into_iter();
                    let all = ids.flat_map(|id| &self.groups.members[&id]);
                    let all = all.filter(|one| **one >= first && whole(one)).count();
                    if all != own.len() {
                        return Err(format!("a group of shard {number} is split"));
                    }
                }
                // What is over-long as a part of a group in this shard is checked in whole plans.
                let spared = self.over_long == OverLong::Alone
                    && (self.is_grouped() || own.len() == 1 && self.is_over_long(own[0]));
                if !spared && !self.holds(&own, [pad, 0], plan.is_packed()) {
                    return Err(format!(
                        "over budget: shard {number}, batch {at} of {} at {pad}",
                        own.len()
                    ));
                }
            }
            let all: Vec<u32> = (0..part.len() as u32).collect();
            exactly_once(plan.indices().iter().chain(plan.left_out()), &all)?;
            tally.batches += plan.len() as u64;
            tally.see(&plan.digest());
        }
        tally.shards += 1;
        Ok(())
    }

    /// The same lengths as a stream.
    fn check_stream(&self, tally: &mut Tally) -> Result<(), String> {
        if self.plan.is_packed() || matches!(self.kind, Kind::Dynamic(..)) {
            return Ok(());
        }
        if self.is_grouped() {
            return self.check_stream_of_groups(tally);
        }
        let mut random = self.random.clone();
        let streamer = Streamer::new(self.plan.provenance().budget)
            .shapes(self.shapes.clone())
            .over_long(self.over_long)
            .tail(self.tail)
            .window(self.world_size + scaled(&mut random, 300))
            .rank(0, self.world_size);
        let mut feed = match streamer.feed() {
            Ok(feed) => feed,
            Err(other) => return Err(format!("stream: {other}")),
        };
        let mut source = self.lengths.as_slice().iter();
        let mut seen: Vec<u32> = Vec::new();
        loop {
            while feed.needs() {
                let pushed = match source.next() {
                    Some(&length) => feed.push(length).map(|_| ()),
                    None => feed.end(),
                };
                pushed.map_err(|error| format!("stream: {error}"))?;
            }
            let Some(step) = feed.step().map_err(|error| format!("stream: {error}"))? else {
                break;
            };
            seen.extend(step.left_out().iter().map(|&at| at as u32));
            for batch in step.batches() {
                let own: Vec<u32> = batch.positions.iter().map(|&at| at as u32).collect();
                let spared = self.over_long == OverLong::Alone
                    && own.len() == 1
                    && self.is_over_long(own[0]);
                if !spared && !self.holds(&own, [batch.length, 0], false) {
                    return Err(format!(
                        "over budget: stream, batch of {} at {}",
                        own.len(),
                        batch.length
                    ));
                }
                tally.batches += 1;
                tally.see(&(&own, batch.length));
                seen.extend(own);
            }
        }
        tally.streams += 1;
        if self.tail == Tail::Split || self.world_size == 1 {
            let all: Vec<u32> = (0..self.lengths.len() as u32).collect();
            seen.sort_unstable();
            seen.dedup();
            if self.over_long != OverLong::Drop && seen != all {
                return Err(format!("stream: {} of {} seen", seen.len(), all.len()));
            }
        }
        Ok(())
    }
}

impl Case {
    /// The same groups as items of a stream, and a resume in the middle.
    fn check_stream_of_groups(&self, tally: &mut Tally) -> Result<(), String> {
        let mut random = self.random.clone();
        let streamer = Streamer::new(self.plan.provenance().budget)
            .shapes(self.shapes.clone())
            .over_long(match self.over_long {
                // Groups of more sequences than a batch may have are not truncated.
                OverLong::Truncate => OverLong::Drop,
                other => other,
            })
            .window(self.world_size + scaled(&mut random, 300))
            .rank(0, self.world_size);
        let items: Vec<&[u32]> = self.groups.members.values().map(Vec::as_slice).collect();
        let failed = |error: Error| format!("stream: {error}");
        let all = self.stream_of(&items, streamer.feed().map_err(failed)?, usize::MAX)?;
        let (mut seen, feed) =
            self.stream_of(&items, streamer.feed().map_err(failed)?, 1 + all.0.len() / 9)?;
        let resumed = streamer.resume(&feed.state()).map_err(failed)?;
        seen.extend(self.stream_of(&items, resumed, usize::MAX)?.0);
        if seen != all.0 {
            return Err("a stream that was resumed has other batches".to_owned());
        }
        tally.streams += 1;
        tally.batches += all.0.len() as u64;
        tally.see(&all.0);
        let found: BTreeSet<u64> = all.0.into_iter().flatten().collect();
        if found.len() != items.len() && self.over_long == OverLong::Alone {
            return Err(format!("stream: {} of {} items", found.len(), items.len()));
        }
        Ok(())
    }

    /// The positions of every batch of at most so many steps of a stream of groups.
    fn stream_of(
        &self,
        items: &[&[u32]],
        mut feed: Feed,
        most: usize,
    ) -> Result<(Vec<Vec<u64>>, Feed), String> {
        let failed = |error: Error| format!("stream: {error}");
        let mut batches = Vec::new();
        for _ in 0..most {
            while feed.needs() {
                let Some(item) = items.get(feed.position() as usize) else {
                    feed.end().map_err(failed)?;
                    break;
                };
                let length = item.iter().map(|&one| self.both(one)[0]).max().unwrap();
                let (sequences, kind) = (item.len() as u32, self.groups.kind(item[0]).into());
                feed.push(Arrival { length, sequences, kind }).map_err(failed)?;
            }
            let Some(step) = feed.step().map_err(failed)? else { break };
            for batch in step.batches() {
                let own = batch.positions.iter().flat_map(|&at| items[at as usize]).copied();
                let own: Vec<u32> = own.collect();
                self.groups.check(&own, Together::Batch)?;
                let spared = self.over_long == OverLong::Alone && self.is_spared(&own);
                if !spared && !self.holds(&own, [batch.length, 0], false) {
                    return Err(format!("over budget: stream, {} at {}", own.len(), batch.length));
                }
                batches.push(batch.positions.to_vec());
            }
        }
        Ok((batches, feed))
    }
}

/// That these are the expected ones, in any order.
fn exactly_once<'a>(
    found: impl IntoIterator<Item = &'a u32>,
    expected: &[u32],
) -> Result<(), String> {
    let mut found: Vec<u32> = found.into_iter().copied().collect();
    let mut expected = expected.to_vec();
    found.sort_unstable();
    expected.sort_unstable();
    if found == expected {
        return Ok(());
    }
    let missing = expected.iter().filter(|one| found.binary_search(one).is_err());
    let missing: Vec<&u32> = missing.take(5).collect();
    Err(format!(
        "{} sequences where {} should be; missing {missing:?}",
        found.len(),
        expected.len()
    ))
}
