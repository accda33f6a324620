//! The one recommendation: how to batch these lengths for this model.

use crate::base::workspace::Workspace;
use crate::data::lengths::Lengths;
use crate::data::over_long::OverLong;
use crate::data::pairs::Pairs;
use crate::data::population::sample;
use crate::data::units::Together;
use crate::error::Error;
use crate::limit::budget::Budget;
use crate::limit::cost::CostModel;
use crate::limit::update::Update;
use crate::math::{digits, evenly};
use crate::order::sort;
use crate::plan::settings::Settings;
use crate::planner::Planner;
use crate::shape::shapes::Shapes;
use crate::strategy::Strategy;
use crate::strategy::blurred::Blurred;
use crate::strategy::packed::Packed;
use crate::strategy::paired::Paired;
use crate::strategy::proportional::Proportional;
use crate::strategy::shuffled::Shuffled;
use crate::strategy::sorted::Sorted;
use crate::tune::like::Like;
use crate::tune::limits::Limits;
use crate::tune::model::{Kind, Model};
use crate::tune::offer::{Offer, Ruler};

/// The input of a recommendation.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    /// All settings except the strategy and the shapes. By default, an update has as much data as a
    /// full batch of every rank.
    pub settings: Settings,
    /// Shapes, if they are decided.
    pub shapes: Option<Shapes>,
    /// Micro-batches of each rank in an optimizer step, if they are decided: 1 for a loop that updates after
    /// every batch.
    pub micro_batches: Option<u32>,
    /// How many ranks share a step.
    pub ranks: u32,
    /// The model that is trained.
    pub model: Model,
    /// What plans must keep.
    pub limits: Limits,
    /// How you batch today, if that is given: optimizer steps are compared with it.
    pub like: Option<Like>,
}

impl Wanted {
    /// The default input for a budget.
    pub fn new(budget: Budget) -> Self {
        Self {
            settings: Settings::new("", budget),
            shapes: None,
            micro_batches: None,
            ranks: 1,
            model: Model::default(),
            limits: Limits::default(),
            like: None,
        }
    }
}

/// The recommended settings, and the other candidates.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Recommendation {
    /// Every candidate that was measured, the recommended one first; those that break a limit come
    /// last.
    pub offers: Vec<Offer>,
    /// Random batches with the same size of an update: what all times are compared with.
    pub random: Offer,
    /// Packed rows, if the model was not said to take them.
    pub packed: Option<Offer>,
    /// The recommendation if the number of micro-batches were free.
    pub undecided: Option<Offer>,
    /// Optimizer steps of an epoch today: with the given batch size, otherwise with random batches
    /// under the budget, one per rank in a step.
    pub steps_before: u64,
    /// How long batches take, which all times follow.
    pub cost: CostModel,
    /// Why, in a sentence.
    pub reason: String,
    /// Whether sequences have two lengths.
    pub two_lengths: bool,
}

impl Recommendation {
    /// The recommended settings, or the nearest ones if none are within the limits.
    pub fn best(&self) -> &Offer {
        &self.offers[0]
    }

    /// Whether the recommended settings are within all limits.
    pub fn within_limits(&self) -> bool {
        self.best().broken.is_empty()
    }

    /// How many times larger an update is than one random batch per rank, in sequences.
    pub fn update_growth(&self) -> f64 {
        self.steps_before as f64 / self.best().optimizer_steps.max(1) as f64
    }
}

/// The most lengths that are measured, unless steps are so large that more are needed.
const SAMPLE: usize = 1 << 14;
/// The least number of steps that are measured, if there are enough.
const STEPS: usize = 32;
/// No sample is larger.
const MOST: usize = 1 << 16;
/// Micro-batches of a rank in a step that are tried.
const MICRO_BATCHES: [u32; 10] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32];
/// The capacity of packed rows, as a multiple of the data that they hold on average.
const ROOM: f64 = 1.01;
/// Candidates within this factor of the fastest count as equally fast.
const AS_FAST: f64 = 1.02;

/// Recommends how to batch: the fastest settings within the limits.
///
/// ```
/// use lengthwise::{Budget, Example, tune::{Wanted, recommend}};
///
/// let lengths = Example::Documents.lengths();
/// let found = recommend(&lengths, &Wanted::new(Budget::dynamic(16)))?;
/// assert!(found.best().settings.strategy.starts_with("proportional"));
/// assert!(found.best().time < 0.5 && found.best().step_mix < 1.0);
/// # Ok::<(), lengthwise::Error>(())
/// ```
pub fn recommend(lengths: &Lengths, wanted: &Wanted) -> Result<Recommendation, Error> {
    recommend_in(&Workspace::new(), lengths, wanted)
}

/// The same with the threads and the memory of a workspace, which can
/// [stop it](Workspace::stopped_by).
pub fn recommend_in(
    workspace: &Workspace,
    lengths: &Lengths,
    wanted: &Wanted,
) -> Result<Recommendation, Error> {
    let full = full_batches(workspace, lengths, wanted)?;
    let data = Data::new(lengths, wanted, full);
    let some = sampled(lengths, data.sampled())?;
    let ruler = Ruler {
        workspace,
        lengths: &some,
        times: lengths.len() as f64 / some.len() as f64,
        ranks: wanted.ranks,
        cost: wanted.model.times(data.tokens),
        measured: wanted.model.cost.is_some(),
    };
    let (mut offers, random) = offers(&ruler, wanted, &data)?;
    // Without batch-mates, none can change.
    let lone = (random.mixing == 0.0).then_some(0.0);
    let limits = Limits { min_mixing: wanted.limits.min_mixing.or(lone), ..wanted.limits };
    let mut packed = packed_offers(&ruler, wanted, &data, lengths.longest_place());
    let finish = |offer: &mut Offer| {
        offer.time /= random.time.max(f64::MIN_POSITIVE);
        if offer.settings.update.is_some() {
            offer.optimizer_steps = data.steps;
        }
        offer.broken = limits.broken(offer).into_iter().map(|(name, _)| name).collect();
    };
    let mut random_offer = random.clone();
    offers.iter_mut().chain(&mut packed).chain([&mut random_offer]).for_each(finish);
    if wanted.model.takes_rows() {
        offers.append(&mut packed);
    }
    ranked(&mut offers, &limits);
    let free = wanted.micro_batches.map(|_| Wanted { micro_batches: None, ..wanted.clone() });
    let undecided = free.map(|free| recommend_in(workspace, lengths, &free)).transpose()?;
    Ok(Recommendation {
        reason: reason(&offers[0], &random_offer),
        two_lengths: lengths.second().is_some(),
        offers,
        steps_before: steps_before(&ruler, wanted, lengths.len())?,
        random: random_offer,
        cost: ruler.cost,
        packed: packed.into_iter().min_by(|a, b| a.time.total_cmp(&b.time)),
        undecided: undecided.and_then(|found| found.offers.into_iter().next()),
    })
}

/// How many full batches there are, if they have as little padding as can be.
fn full_batches(workspace: &Workspace, lengths: &Lengths, wanted: &Wanted) -> Result<usize, Error> {
    let settings = wanted.settings.clone();
    let count = if lengths.second().is_some() {
        let alone = Settings { update: None, ..settings };
        Planner::with(Paired { blur: 0.0, stripes: None }, alone)
            .plan_in(workspace, lengths, 0)?
            .len()
    } else {
        Planner::with(Sorted, settings).job(lengths, workspace).sorted_batches(usize::MAX)?
    };
    Ok(count.max(1))
}

/// So many of the lengths; of sequences that stay together or have kinds, so many with what they stay together with.
fn sampled(lengths: &Lengths, count: usize) -> Result<Lengths, Error> {
    let chosen = match (lengths.units(), lengths.second()) {
        (None, None) => return Lengths::new(sample(lengths.histogram(), lengths.len(), count)),
        _ if lengths.len() <= count => return Ok(lengths.clone()),
        (Some(units), _) => units.sampled(lengths.as_slice(), count),
        // As many of each sum of both lengths.
        (None, Some(_)) => {
            let mut rising: Vec<u32> = (0..lengths.count()).collect();
            sort::by_key(&mut rising, |sequence| lengths.of(sequence));
            sort::by_key(&mut rising, |sequence| lengths.both(sequence).joint());
            (0..count).map(|at| rising[evenly(at, count, rising.len())]).collect()
        }
    };
    let of = |values: &[u32]| -> Vec<u32> {
        chosen.iter().map(|&sequence| values[sequence as usize]).collect()
    };
    let mut some = Lengths::new(of(lengths.as_slice()))?;
    if let Some(second) = lengths.second() {
        some = Pairs::new(some, Lengths::new(of(second.as_slice()))?)?.into();
    }
    let Some(units) = lengths.units() else { return Ok(some) };
    let some = some.together(&of(&units.of))?;
    let kinds = units.sequence_kinds();
    if kinds.is_empty() { Ok(some) } else { some.kinds(&of(&kinds)) }
}

/// How much data an update has.
struct Data {
    update: Update,
    /// Optimizer steps of an epoch.
    steps: u64,
    /// Tokens of a rank in a step.
    tokens: f64,
    /// Sequences of all ranks in a step.
    sequences: usize,
    /// Tokens of a full batch.
    full: f64,
}

impl Data {
    /// For an epoch with this many full batches.
    fn new(lengths: &Lengths, wanted: &Wanted, full: usize) -> Self {
        let (total, ranks) = (lengths.positions() as f64, f64::from(wanted.ranks));
        let update = wanted.settings.update.unwrap_or_else(|| {
            let sequences = wanted.settings.budget.only_sequences();
            sequences.map_or_else(
                || Update::Tokens(digits(total * ranks / full as f64, 2).max(1.0) as u64),
                |count| Update::Sequences(u64::from(count) * u64::from(wanted.ranks)),
            )
        });
        let steps = update.steps(lengths).round().max(1.0);
        Self {
            update,
            steps: steps as u64,
            tokens: total / (steps * ranks),
            sequences: (lengths.len() as f64 / steps).ceil() as usize,
            full: total / full as f64,
        }
    }

    /// How many sequences are measured.
    fn sampled(&self) -> usize {
        SAMPLE.max(STEPS * self.sequences).min(MOST.max(3 * self.sequences))
    }
}

/// The settings of offers that make batches: with an update of this size, or as many batches a step as the
/// loop takes.
fn settings(wanted: &Wanted, update: Update) -> Settings {
    // This decides the time of ranks, and the strata of proportional steps.
    let recurrent = wanted.model.kind == Kind::Recurrent;
    let own = recurrent.then(|| wanted.model.times(1.0));
    Settings {
        cost_model: wanted.settings.cost_model.or(wanted.model.cost).or(own),
        update: wanted.micro_batches.is_none().then_some(update),
        accumulate: wanted.micro_batches.unwrap_or(1),
        canonical_ranks: None,
        ..wanted.settings.clone()
    }
}

/// All offers but packed rows, random batches first; and these once more.
fn offers(ruler: &Ruler, wanted: &Wanted, data: &Data) -> Result<(Vec<Offer>, Offer), Error> {
    let settings = settings(wanted, data.update);
    // A loop that is fixed has steps of full batches, but for strategies that make steps themselves.
    let in_steps = Settings { update: Some(data.update), accumulate: 1, ..settings.clone() };
    let given = wanted.shapes.clone().unwrap_or(Shapes::Exact);
    // Groups that share a batch share a rank as well.
    let alone = Settings { share: Together::Batch, ..settings.clone() };
    let by_rank = settings.share == Together::Rank;
    let first = match ruler.measure(Shuffled.into(), given.clone(), &alone) {
        // They may be too large to share a batch.
        Err(_) if by_rank => ruler.measure(Proportional::default().into(), given, &in_steps)?,
        first => first?,
    };
    let mut offers = vec![first];
    // On a ladder, random order makes batches of one length each, which shuffled batches are not.
    let random = match &wanted.shapes {
        Some(Shapes::Ladder(_) | Shapes::Rungs(_)) => {
            ruler.measure(Shuffled.into(), Shapes::Exact, &alone)?
        }
        _ => offers[0].clone(),
    };
    for (strategy, shapes) in ways(wanted, data.sequences, ruler.lengths.second().is_some()) {
        let settings = if strategy.makes_steps() { &in_steps } else { &settings };
        match ruler.measure(strategy, shapes, settings) {
            Ok(offer) => offers.push(offer),
            Err(error @ Error::Stopped) => return Err(error),
            // Too few micro-batches for the budget, or rungs that it does not allow.
            Err(_) => {}
        }
    }
    Ok((offers, random))
}

/// Rows of several sequences, with several numbers of shapes; none for models that take no rows.
fn packed_offers(ruler: &Ruler, wanted: &Wanted, data: &Data, longest: u32) -> Vec<Offer> {
    if wanted.model.kind == Kind::Recurrent || ruler.lengths.second().is_some() {
        return Vec::new();
    }
    // A row holds no more than a full batch.
    let rows = (data.tokens / data.full - 0.05).ceil();
    let rows = wanted.micro_batches.map_or(rows, f64::from).max(1.0);
    // With some free space in each, all data fits into this number of rows, and no row of few sequences
    // is left.
    let capacity = ((ROOM * (data.tokens / rows).min(data.full)).round() as u32).max(longest);
    let packed = Packed { capacity: Some(capacity), ..Packed::default() };
    let settings =
        Settings { update: None, accumulate: rows as u32, ..settings(wanted, data.update) };
    let mut strategies = vec![packed];
    // Ranks that take one row each wait for the costliest.
    if wanted.ranks > 1 && settings.cost_model.is_some() {
        strategies.push(Packed { equal_cost: true, ..packed });
    }
    let shapes = or(wanted, &[Shapes::Ladder(1), Shapes::Ladder(4), Shapes::Exact]);
    let measure = |(strategy, shapes): (Packed, &Shapes)| {
        ruler.measure(strategy.into(), shapes.clone(), &settings).ok()
    };
    let ways =
        strategies.into_iter().flat_map(|strategy| shapes.iter().map(move |s| (strategy, s)));
    ways.filter_map(measure).collect()
}

/// Puts the recommended offer first, then the others by time; those that break limits come last.
fn ranked(offers: &mut [Offer], limits: &Limits) {
    let order = |offer: &Offer| {
        let broken = limits.broken(offer).into_iter().map(|(_, by)| by);
        (broken.fold(0.0, f64::max), offer.time)
    };
    offers.sort_by(|a, b| {
        let ((broken, time), (other_broken, other_time)) = (order(a), order(b));
        broken.total_cmp(&other_broken).then(time.total_cmp(&other_time))
    });
    // Of those that are equally fast, prefer the fewest micro-batches, in which batch-mates come from
    // more sequences.
    let fastest = offers[0].time;
    // Nothing is recommended that takes longer than random batches, if these are within the limits.
    let most = if fastest <= 1.0 { (AS_FAST * fastest).min(1.0) } else { AS_FAST * fastest };
    let as_fast = |offer: &&Offer| offer.broken.is_empty() && offer.time <= most;
    let few = |offer: &Offer| (offer.micro_batches, offer.shape_count as u64);
    let fewest = offers.iter().take_while(as_fast).enumerate().min_by_key(|(_, offer)| few(offer));
    if let Some((place, _)) = fewest {
        offers[..=place].rotate_right(1);
    }
}

/// How many optimizer steps an epoch has today.
fn steps_before(ruler: &Ruler, wanted: &Wanted, sequences: usize) -> Result<u64, Error> {
    if let Some(like) = wanted.like {
        return Ok(like.steps(sequences, wanted.ranks));
    }
    let alone = Settings {
        update: None,
        accumulate: 1,
        canonical_ranks: None,
        share: Together::Batch,
        ..wanted.settings.clone()
    };
    let exact = wanted.shapes.clone().unwrap_or(Shapes::Exact);
    Ok(ruler.measure(Shuffled.into(), exact, &alone)?.optimizer_steps)
}

/// The shapes that are decided, or these.
fn or(wanted: &Wanted, shapes: &[Shapes]) -> Vec<Shapes> {
    wanted.shapes.as_ref().map_or_else(|| shapes.to_vec(), |given| vec![given.clone()])
}

/// The ways to batch that are measured, besides random batches and packed rows.
fn ways(wanted: &Wanted, per_step: usize, pairs: bool) -> Vec<(Strategy, Shapes)> {
    let each = per_step as u32 / wanted.ranks;
    let tried = MICRO_BATCHES.into_iter().filter(|&count| count <= each.max(1));
    let counts = wanted.micro_batches.map_or(tried.collect(), |count| vec![count]);
    let mut ways = Vec::new();
    for shapes in or(wanted, &shapes_to_try(wanted.limits.max_shapes, pairs)) {
        for &count in &counts {
            ways.push((Proportional { batches: Some(count) }.into(), shapes.clone()));
        }
    }
    if pairs {
        for shapes in or(wanted, &[Shapes::Exact]) {
            for blur in [0.1, 1.0] {
                ways.push((Paired { blur, stripes: None }.into(), shapes.clone()));
            }
        }
        return ways;
    }
    if wanted.shapes.is_none() {
        ways.extend([4, 8, 16, 32].map(|rungs| (Shuffled.into(), Shapes::Ladder(rungs))));
    }
    for shapes in or(wanted, &[Shapes::Exact]) {
        for blur in [0.005, 0.02, 0.05, 0.1, 0.3] {
            ways.push((Blurred { blur }.into(), shapes.clone()));
        }
    }
    ways
}

/// The shapes that proportional steps are measured with; for a limit on their number, also fewer.
fn shapes_to_try(most: Option<u32>, pairs: bool) -> Vec<Shapes> {
    if pairs {
        let multiples: &[u32] = if most.is_some() { &[8, 16, 32, 64, 128] } else { &[8] };
        return multiples.iter().copied().map(Shapes::Multiple).chain([Shapes::Exact]).collect();
    }
    let mut rungs = vec![16, 32];
    // A rung has one shape for all full batches, and few others.
    if let Some(most @ ..=32) = most {
        for fewer in [most, most * 3 / 4, most / 2, most / 4] {
            if fewer > 0 && !rungs.contains(&fewer) {
                rungs.push(fewer);
            }
        }
    }
    rungs.into_iter().map(Shapes::Ladder).chain([Shapes::Exact]).collect()
}

/// Why this way, in a sentence.
fn reason(best: &Offer, random: &Offer) -> String {
    let percent = |share: f64| format!("{:.*} %", usize::from(share < 0.1), 100.0 * share);
    let time = format!("an epoch takes {:.2} of the time of random batches", best.time);
    let padding = format!(
        "{} of all cells are padding instead of {}",
        percent(best.padding_rate),
        percent(random.padding_rate)
    );
    let steps = if best.packed {
        "sequences share rows in random order".to_owned()
    } else if best.step_mix < 0.9 {
        format!("every optimizer step looks like the data (step mix {:.2})", best.step_mix)
    } else {
        format!("optimizer steps differ in length as step mix {:.1} says", best.step_mix)
    };
    if (best.settings.strategy.as_str(), &best.settings.shapes)
        == ("shuffled", &random.settings.shapes)
    {
        return format!(
            "no faster way to batch is within the limits: {} of all cells are padding",
            percent(best.padding_rate)
        );
    }
    format!("{time}: {padding}, and {steps}")
}

/// The strategy and the shapes of plans without optimizer steps: for [shards](crate::shard) and for bounded
/// memory. The default is random order on a ladder of 16 rungs, or of as many rungs as there are batches if they are fewer; for two lengths it is `paired`
/// with exact shapes. If a strategy is given, the default shapes are exact; if only shapes are given,
/// the strategy is `blurred`.
///
/// ```
/// use lengthwise::{Budget, Example, Shapes, tune::batches_only};
///
/// let lengths = Example::Speech.lengths();
/// let (strategy, shapes) = batches_only(&lengths, Budget::dynamic(16), None, None)?;
/// assert_eq!((strategy.to_string(), shapes), ("shuffled".to_owned(), Shapes::Ladder(16)));
/// # Ok::<(), lengthwise::Error>(())
/// ```
pub fn batches_only(
    lengths: &Lengths,
    budget: Budget,
    strategy: Option<Strategy>,
    shapes: Option<Shapes>,
) -> Result<(Strategy, Shapes), Error> {
    batches_only_in(&Workspace::new(), lengths, budget, strategy, shapes)
}

/// The same, found with the threads and the memory of a workspace.
pub fn batches_only_in(
    workspace: &Workspace,
    lengths: &Lengths,
    budget: Budget,
    strategy: Option<Strategy>,
    shapes: Option<Shapes>,
) -> Result<(Strategy, Shapes), Error> {
    let shapes = match (shapes, &strategy) {
        (Some(shapes), _) => shapes,
        (None, Some(_)) => Shapes::Exact,
        (None, None) if lengths.second().is_some() => Shapes::Exact,
        (None, None) => ladder_in(workspace, lengths, budget)?,
    };
    let strategy = strategy.unwrap_or_else(|| match shapes {
        _ if lengths.second().is_some() => Paired::default().into(),
        Shapes::Ladder(_) | Shapes::Rungs(_) => Shuffled.into(),
        _ => Blurred::default().into(),
    });
    Ok((strategy, shapes))
}

/// A ladder of 16 rungs, or of as many as there are batches if they are fewer.
fn ladder_in(workspace: &Workspace, lengths: &Lengths, budget: Budget) -> Result<Shapes, Error> {
    const MOST: usize = 16;
    let planner = Planner::new(Sorted, budget).over_long(OverLong::Alone);
    if let Some(all) = lengths.part() {
        // As many as a plan of the whole would have, or as far as a sample of it shows.
        let sample = Lengths::new(all.sample(1 << 18))?;
        let times = all.count() / sample.len();
        return Ok(Shapes::Ladder((planner.plan(&sample, 0)?.len() * times).min(MOST) as u32));
    }
    // Where it is certain that there are enough, they need not be made.
    let batches = match planner.job(lengths, workspace).least_batches()? {
        certain if certain >= MOST as u64 => MOST,
        _ => planner.job(lengths, workspace).sorted_batches(MOST)?,
    };
    Ok(Shapes::Ladder(batches as u32))
}
