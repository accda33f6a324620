//! Random settings that property tests share.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use lengthwise::{Arrange, Budget, CostModel, Lengths, Plan, Planner, Rule, Shapes, Strategy};
use proptest::{collection::vec, prelude::*, sample::select, strategy::Strategy as Strategy_};

/// Every strategy with its default parameters, and with others that are extreme for small inputs.
pub(crate) fn strategies() -> Vec<Strategy> {
    let more = [
        "semi-sorted:noise=0",
        "semi-sorted:noise=3",
        "alternated:bins=1",
        "alternated:bins=3",
        "bucketed:size=1",
        "bucketed:size=7",
        "length-buckets:width=1",
        "length-buckets:edges=5/50",
        "optimal-buckets:count=1",
        "optimal-buckets:count=1000",
        "pooled:batches=1",
        "blurred:blur=0",
        "blurred:blur=2",
        "rotating:epochs=1",
        "rotating:epochs=40",
        "pooled:batches=3",
        "packed:window=9",
        "packed:at-most=3",
    ];
    Strategy::all_of_one_length()
        .into_iter()
        .chain(more.map(|given| given.parse().unwrap()))
        .collect()
}

/// The strategies with default parameters that pad, and make batches only: whatever makes steps has other
/// promises.
pub(crate) fn of_batches() -> impl Iterator<Item = Strategy> {
    Strategy::all_padded().into_iter().filter(|strategy| !strategy.makes_steps())
}

/// A value as text, with nine decimals of every number: logarithms of other systems may differ in the last ones.
pub(crate) fn in_digits(value: &impl std::fmt::Debug) -> String {
    let (mut text, mut decimals) = (String::new(), None);
    for letter in format!("{value:?}").chars() {
        decimals = match decimals {
            _ if letter == '.' => Some(0),
            Some(count) if letter.is_ascii_digit() => Some(count + 1),
            _ => None,
        };
        if decimals.is_none_or(|count| count <= 9) {
            text.push(letter);
        }
    }
    text
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Sequences(u32),
    Padded(u64),
    Dynamic(u32, Rule),
    Cost(CostModel, f64),
}

/// Models of every mix of terms, with room for the longest sequence as above.
pub(crate) fn costs(longest: u32) -> impl Strategy_<Value = Kind> {
    let terms = [(1e-3, 0.0), (1e-3, 1e-6), (0.0, 2e-4)];
    let cells = [(1e-6, 0.0), (0.0, 1e-9), (1e-6, 1e-9), (0.0, 0.0)];
    (select(terms.to_vec()), select(cells.to_vec()), 1.0..30.0).prop_map(
        move |((a, b), (c, d), times)| {
            let model = CostModel::new(a, b, c, d).unwrap();
            Kind::Cost(model, times * model.seconds(1, longest + 7))
        },
    )
}

pub(crate) fn kinds(longest: u32) -> impl Strategy_<Value = Kind> {
    let costs = costs(longest);
    let longest = u64::from(longest);
    prop_oneof![
        costs,
        (1_u32..40).prop_map(Kind::Sequences),
        // ResolvedBudget for the longest sequence when it is rounded up to a multiple of 8.
        (longest + 7..20 * longest + 8).prop_map(Kind::Padded),
        (1_u32..40).prop_map(|count| Kind::Dynamic(count, Rule::Printed)),
        (1_u32..40).prop_map(|count| Kind::Dynamic(count, Rule::Over)),
    ]
}

#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub lengths: Lengths,
    pub strategy: Strategy,
    pub kind: Kind,
    pub at_most: Option<u32>,
    pub multiple_of: u32,
    pub shapes: Shapes,
    pub arrange: Arrange,
    pub seed: u64,
    pub epoch: u64,
}

impl Case {
    pub(crate) fn budget(&self) -> Budget {
        let budget = match self.kind {
            Kind::Sequences(count) => Budget::sequences(count),
            Kind::Padded(cells) => Budget::padded(cells),
            Kind::Dynamic(count, rule) => Budget::dynamic(count).rule(rule),
            Kind::Cost(model, limit) => Budget::cost(model, limit),
        };
        let budget = self.at_most.map_or(budget, |at_most| budget.at_most(at_most));
        budget.multiple_of(self.multiple_of)
    }

    pub(crate) fn planner(&self) -> Planner<Strategy> {
        Planner::new(self.strategy.clone(), self.budget())
            .shapes(self.shapes.clone())
            .arrange(self.arrange)
            .seed(self.seed)
    }

    pub(crate) fn plan(&self) -> Plan {
        self.planner().plan(&self.lengths, self.epoch).unwrap()
    }
}

pub(crate) fn cases() -> impl Strategy_<Value = Case> {
    let lengths = prop_oneof![
        vec(1_u32..60, 1..120),
        vec(prop_oneof![9 => 1_u32..40, 1 => 1000_u32..3000], 1..120),
        vec(Just(7_u32), 1..60),
        vec(1_u32..6000, 1600..1700), // enough for the radix sort
    ];
    lengths
        .prop_map(|lengths| Lengths::new(lengths).unwrap())
        .prop_flat_map(|lengths| {
            let kinds = kinds(lengths.max());
            let settings = (
                select(strategies()),
                select(vec![
                    Shapes::Exact,
                    Shapes::Multiple(8),
                    Shapes::Ladder(1),
                    Shapes::Ladder(4),
                    Shapes::Ladder(500),
                ]),
                select(Arrange::ALL.to_vec()),
                proptest::option::of(1_u32..30),
                prop_oneof![Just(1_u32), Just(4), Just(8)],
            );
            (Just(lengths), kinds, settings, any::<u64>(), any::<u64>())
        })
        .prop_map(
            |(lengths, kind, (strategy, shapes, arrange, at_most, multiple_of), seed, epoch)| {
                Case { lengths, strategy, kind, at_most, multiple_of, shapes, arrange, seed, epoch }
            },
        )
}
