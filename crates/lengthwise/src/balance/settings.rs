//! The settings of one step, and what is refused of them.

use crate::data::units::Together;
use crate::error::Error;
use crate::limit::cost::CostModel;

/// How the sequences of one step are divided.
///
/// ```
/// use lengthwise::balance::{Balance, balance};
///
/// let lengths = [900, 20, 480, 33, 512, 77, 640, 250];
/// let step = balance(&lengths, &Balance::new(2).capacity(1000))?;
/// assert_eq!(step.micro_batches(), 2); // on each rank: the fewest of at most 1000 positions
/// assert!(step.iter().all(|(_, batch)| batch.iter().map(|&i| lengths[i as usize]).sum::<u32>() <= 1000));
/// assert!(step.idle_share() < 0.01);
/// # Ok::<(), lengthwise::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Balance {
    pub(super) ranks: u32,
    pub(super) capacity: Option<u32>,
    pub(super) cost: Option<CostModel>,
    pub(super) together: Option<(Together, Vec<u32>)>,
    pub(super) kinds: Option<Vec<u32>>,
    pub(super) least: u32,
    pub(super) most: Option<u32>,
    pub(super) speeds: Option<Vec<f64>>,
    pub(super) split: Option<Vec<u32>>,
    pub(super) communication: Option<f64>,
}

impl Balance {
    /// The manual page, in Markdown.
    pub const fn explain() -> &'static str {
        include_str!("balance.md")
    }

    /// Divides over this many ranks; the time of a sequence is its length, and a rank has one micro-batch.
    pub fn new(ranks: u32) -> Self {
        Self {
            ranks,
            capacity: None,
            cost: None,
            together: None,
            kinds: None,
            least: 1,
            most: None,
            speeds: None,
            split: None,
            communication: None,
        }
    }

    /// No micro-batch has more positions than this. Ranks have as many micro-batches as that needs.
    #[must_use]
    pub fn capacity(self, positions: u32) -> Self {
        Self { capacity: Some(positions), ..self }
    }

    /// The time of a sequence by this cost model: c·L + d·L², or proportional to its length if the model has neither.
    /// What a model says of batches as a whole is the same for every rank.
    #[must_use]
    pub fn cost(self, model: CostModel) -> Self {
        Self { cost: Some(model), ..self }
    }

    /// Keeps sequences that have the same id in `groups` on one rank, or in one micro-batch.
    #[must_use]
    pub fn together(self, groups: Vec<u32>, share: Together) -> Self {
        Self { together: Some((share, groups)), ..self }
    }

    /// A micro-batch has sequences of one kind only, given the kind of each sequence.
    #[must_use]
    pub fn kinds(self, kinds: Vec<u32>) -> Self {
        Self { kinds: Some(kinds), ..self }
    }

    /// Gives each rank at least this many micro-batches.
    #[must_use]
    pub fn min_micro_batches(self, count: u32) -> Self {
        Self { least: count, ..self }
    }

    /// Refuses to give a rank more micro-batches than this.
    #[must_use]
    pub fn max_micro_batches(self, count: u32) -> Self {
        Self { most: Some(count), ..self }
    }

    /// Lets ranks share a sequence: each is split over as many of them as one of these degrees says, which is chosen
    /// to make the step short. Each degree must divide the next one, and the last one the number of ranks. Ranks
    /// k·s to k·s + s − 1 share what is split over s ranks.
    ///
    /// ```
    /// use lengthwise::balance::{Balance, balance};
    ///
    /// let lengths = [8000, 700, 500, 900, 1100, 300, 500, 1000];
    /// let whole = balance(&lengths, &Balance::new(4))?;
    /// let split = balance(&lengths, &Balance::new(4).split(vec![1, 2, 4]))?;
    /// assert_eq!((whole.time(), split.time()), (8000.0, 3250.0));
    /// # Ok::<(), lengthwise::Error>(())
    /// ```
    #[must_use]
    pub fn split(self, degrees: Vec<u32>) -> Self {
        Self { split: Some(degrees), ..self }
    }

    /// What ranks that share a sequence take for each position that they receive from others, by the unit of the
    /// costs. A sequence of length L and cost C takes C/s + communication·L·(s − 1)/s on each of s ranks. The default
    /// is 0.
    #[must_use]
    pub fn communication(self, cost: f64) -> Self {
        Self { communication: Some(cost), ..self }
    }

    /// How fast each rank is: one of speed 2 gets twice as much to do as one of speed 1.
    #[must_use]
    pub fn speeds(self, speeds: Vec<f64>) -> Self {
        Self { speeds: Some(speeds), ..self }
    }
}

/// There can be so many micro-batches on all ranks together, empty ones included, or four for each sequence if
/// that is more. Others are a mistake, and would only take memory.
const MOST: u64 = 1 << 20;

impl Balance {
    /// Refuses settings that cannot be.
    pub(super) fn check(&self, lengths: &[u32]) -> Result<(), Error> {
        check_count("the number of ranks", self.ranks, lengths.len())?;
        check_positive("the capacity", self.capacity)?;
        check_positive("the number of micro-batches", Some(self.least))?;
        self.check_micro_batches(u64::from(self.least), lengths.len())?;
        if let Some(most) = self.most.filter(|&most| most > 0 && most < self.least) {
            let expected = format!("at least {}, the smallest number", self.least);
            return Err(Error::bad_value("the largest number of micro-batches", &most, expected));
        }
        let groups = self.together.as_ref().map(|(_, groups)| groups);
        check_ids("the number of ids of groups", groups, lengths)?;
        check_ids("the number of ids of kinds", self.kinds.as_ref(), lengths)?;
        if let (Some((Together::Batch, groups)), Some(kinds)) = (&self.together, &self.kinds) {
            check_kinds_of_groups(groups, kinds)?;
        }
        self.speeds.as_ref().map_or(Ok(()), |speeds| check_speeds(speeds, self.ranks))?;
        self.check_split()
    }

    fn check_split(&self) -> Result<(), Error> {
        if let Some(cost) = self.communication.filter(|cost| !(cost.is_finite() && *cost >= 0.0)) {
            return Err(Error::bad_value("the cost of communication", &cost, "a number from 0"));
        }
        let Some(degrees) = &self.split else {
            return match self.communication {
                Some(cost) => {
                    let expected = "left out without degrees of a split: no ranks share a sequence";
                    Err(Error::bad_value("the cost of communication", &cost, expected))
                }
                None => Ok(()),
            };
        };
        check_degrees(degrees, self.ranks)?;
        let refused = [(self.together.is_some(), "together"), (self.speeds.is_some(), "speeds")];
        match refused.into_iter().find(|&(is_given, _)| is_given) {
            Some((_, what)) => {
                let expected = format!("left out with `{what}`, which needs whole sequences");
                Err(Error::bad_value("the degrees of a split", &listed(degrees), expected))
            }
            None => Ok(()),
        }
    }

    /// The most micro-batches of a rank.
    pub(super) fn most_micro_batches(&self, sequences: usize) -> u64 {
        let most = most(sequences) / u64::from(self.ranks);
        self.most.map_or(most, |own| most.min(u64::from(own)))
    }

    /// Refuses more micro-batches of each rank than there can be on all ranks together.
    pub(super) fn check_micro_batches(&self, each: u64, sequences: usize) -> Result<(), Error> {
        let in_all = most(sequences);
        let most = in_all / u64::from(self.ranks);
        if each <= most {
            return Ok(());
        }
        let expected = format!("at most {most}: all ranks together have at most {in_all}");
        Err(Error::bad_value("the number of micro-batches of a rank", &each, expected))
    }
}

/// The most micro-batches of all ranks together.
fn most(sequences: usize) -> u64 {
    MOST.max(4 * sequences as u64).min(u64::from(u32::MAX))
}

/// Refuses a number of ranks or parts that is 0, or far above the number of sequences.
pub(super) fn check_count(of: &str, count: u32, sequences: usize) -> Result<(), Error> {
    check_positive(of, Some(count))?;
    let most = most(sequences);
    if u64::from(count) <= most {
        return Ok(());
    }
    Err(Error::bad_value(of, &count, format!("at most {most} for {sequences} sequences")))
}

/// Refuses degrees whose groups of ranks do not lie in each other.
fn check_degrees(degrees: &[u32], ranks: u32) -> Result<(), Error> {
    let of = "the degrees of a split";
    let do_nest =
        |pair: &[u32]| pair[0] > 0 && pair[0] < pair[1] && pair[1].is_multiple_of(pair[0]);
    let Some(&widest) = degrees.last() else {
        return Err(Error::bad_value(of, "", "at least one, as in 1,2,4,8"));
    };
    if widest == 0 || !degrees.windows(2).all(do_nest) {
        let expected = "rising numbers from 1, each a multiple of the one before, as in 1,2,4,8";
        return Err(Error::bad_value(of, &listed(degrees), expected));
    }
    if !ranks.is_multiple_of(widest) {
        let expected = format!("a multiple of {widest}, the largest degree of a split");
        return Err(Error::bad_value("the number of ranks", &ranks, expected));
    }
    Ok(())
}

fn listed(numbers: &[u32]) -> String {
    numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

fn check_positive(of: &str, number: Option<u32>) -> Result<(), Error> {
    match number {
        Some(0) => Err(Error::bad_value(of, &0, "a number from 1")),
        _ => Ok(()),
    }
}

fn check_ids(of: &str, ids: Option<&Vec<u32>>, lengths: &[u32]) -> Result<(), Error> {
    match ids {
        Some(ids) if ids.len() != lengths.len() => {
            let expected = format!("one for each of the {} sequences", lengths.len());
            Err(Error::bad_value(of, &ids.len(), expected))
        }
        _ => Ok(()),
    }
}

/// Refuses a group of several kinds, which no micro-batch can have.
fn check_kinds_of_groups(groups: &[u32], kinds: &[u32]) -> Result<(), Error> {
    let mut by_group: Vec<(u32, u32, usize)> =
        (0..groups.len()).map(|at| (groups[at], kinds[at], at)).collect();
    by_group.sort_unstable();
    let mut pairs = by_group.windows(2);
    match pairs.find(|pair| pair[0].0 == pair[1].0 && pair[0].1 != pair[1].1) {
        Some(&[(_, kind, first), (_, other, second)]) => {
            let expected = format!("{kind}, that of sequence {first}, which is in its group");
            Err(Error::bad_value(format!("the kind of sequence {second}"), &other, expected))
        }
        _ => Ok(()),
    }
}

fn check_speeds(speeds: &[f64], ranks: u32) -> Result<(), Error> {
    if speeds.len() != ranks as usize {
        let expected = format!("one for each of the {ranks} ranks");
        return Err(Error::bad_value("the number of speeds", &speeds.len(), expected));
    }
    // Beyond, times could be infinite.
    match speeds.iter().position(|speed| !(1e-9..=1e9).contains(speed)) {
        Some(rank) => {
            let of = format!("the speed of rank {rank}");
            Err(Error::bad_value(of, &speeds[rank], "a number from 1e-9 to 1e9"))
        }
        None => Ok(()),
    }
}
