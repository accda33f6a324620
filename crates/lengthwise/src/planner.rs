//! The settings of a plan, and the one step that makes it.

use crate::{
    Arrange, Budget, Drawn, Error, Group, Lengths, OverLong, Plan, Purpose, Rng, Shapes, arrange,
    cut::{Batches, cut},
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

    /// With this seed.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The plan of one epoch.
    pub fn plan(&self, lengths: &Lengths, epoch: u64) -> Result<Plan, Error> {
        let rng = Rng::new(self.seed, epoch);
        let admitted = self.over_long.admit(lengths, &self.budget, &self.shapes)?;
        let mut batches = match &admitted.kept {
            None => self.build(&admitted.lengths, &rng)?,
            Some(kept) if kept.is_empty() => Batches::default(),
            Some(kept) => {
                let mut batches = self.build(&admitted.lengths, &rng)?;
                for sequence in &mut batches.indices {
                    *sequence = kept[*sequence as usize];
                }
                batches
            }
        };
        if self.over_long == OverLong::Alone {
            for &sequence in &admitted.over {
                let length = lengths.of(sequence);
                let padded = u32::try_from(self.shapes.alone(length)).unwrap_or(length);
                batches.push(&[sequence], padded);
            }
        }
        batches = self.arrange.apply(batches, &rng);
        Ok(Plan::new(batches, self.over_long, admitted.over))
    }

    /// The batches as the strategy built them, of sequences that all fit the budget.
    fn build(&self, lengths: &Lengths, rng: &Rng) -> Result<Batches, Error> {
        let rounding = self.shapes.resolve(lengths, &self.budget)?;
        let room = self.budget.resolve(lengths, rounding.apply(lengths))?;
        let groups = self.strategy.group(lengths, &room, rng)?;
        if groups.order().len() != lengths.len() {
            return Err(Error::BadGroups {
                what: format!("it holds {} sequences of {}", groups.order().len(), lengths.len()),
            });
        }
        let drawn = groups.how_drawn();
        let batches = cut(groups, &room, &rounding);
        Ok(match drawn {
            Drawn::InOrder => batches,
            Drawn::AtRandom => arrange::shuffle(&batches, rng, Purpose::Draw),
        })
    }
}
