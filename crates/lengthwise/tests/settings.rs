//! String forms, and every error with its hint.

use expect_test::expect;
use lengthwise::{
    Arrange, Budget, Chunks, CostModel, Error, Example, Lengths, OverLong, Planner, Shapes,
    Strategy,
    custom::{Group, Groups, ResolvedBudget, Rng},
    strategy::{Packed, Shuffled},
};
use proptest::prelude::*;

#[test]
fn strategies_print_as_they_are_parsed() {
    for strategy in Strategy::all() {
        assert_eq!(strategy.name().parse(), Ok(strategy.clone()), "defaults may be left out");
        assert_eq!(strategy.to_string().parse(), Ok(strategy));
    }
    for given in [
        "semi-sorted:noise=0.25",
        "alternated:bins=8",
        "bucketed:size=64",
        "length-buckets:width=10",
        "length-buckets:edges=100/200/400",
        "optimal-buckets:count=3",
        "pooled:batches=100",
        "blurred:blur=0.005",
        "rotating:epochs=8",
        "proportional:batches=8",
        "packed:capacity=4096",
        "packed:capacity=4096,at-most=64",
        "packed:at-most=64,window=256",
    ] {
        assert_eq!(given.parse::<Strategy>().unwrap().to_string(), given);
    }
}

#[test]
fn other_settings_print_as_they_are_parsed() {
    assert_eq!("16".parse(), Ok(Budget::sequences(16)));
    for given in [
        "sequences:16",
        "sequences:16,multiple-of=8",
        "padded:12928",
        "padded:12928,at-most=64,multiple-of=8",
        "dynamic:16",
        "dynamic:16,rule=over,at-most=64",
    ] {
        assert_eq!(given.parse::<Budget>().unwrap().to_string(), given);
    }
    for given in ["exact", "multiple:8", "ladder:16", "ladder:100/200/400", "ladder:400/"] {
        assert_eq!(given.parse::<Shapes>().unwrap().to_string(), given);
    }
    for given in Arrange::NAMES {
        assert_eq!(given.parse::<Arrange>().unwrap().to_string(), given);
    }
    for given in OverLong::NAMES {
        assert_eq!(given.parse::<OverLong>().unwrap().to_string(), given);
    }
    for given in Example::NAMES {
        assert_eq!(given.parse::<Example>().unwrap().to_string(), given);
    }
}

/// Whatever a key is, its message is one line that steers no terminal.
#[test]
fn keys_are_quoted() {
    let text = said("a=1,\u{1b}[2J\n=1,\u{1b}[2J\n=2".parse::<CostModel>());
    expect![[r#"
        `\u{1b}[2J` of the cost model cannot be `2`
          it must be given only once
    "#]]
    .assert_eq(&text);
    let text = said(format!("padded:1{}", ",000".repeat(1000)).parse::<Budget>());
    assert!(text.lines().count() == 2 && text.len() < 300, "{text}");
}

/// A part for each of two lengths, and no more: parsed one inside the other, so many would overflow the stack.
#[test]
fn shapes_of_many_lengths_are_refused() {
    let text = said(("exact+".repeat(200_000) + "exact").parse::<Shapes>());
    assert!(text.contains("one for each of two lengths"), "{text}");
}

proptest! {
    #[test]
    fn no_text_makes_a_parser_panic(text in "(sequences|padded|dynamic|ladder|multiple|semi-sorted|length-buckets|pooled)?[:=,/a-z0-9.-]{0,20}") {
        let _ = text.parse::<Strategy>().map(|it| it.to_string().parse::<Strategy>().unwrap());
        let _ = text.parse::<Budget>().map(|it| it.to_string().parse::<Budget>().unwrap());
        let _ = text.parse::<Shapes>().map(|it| it.to_string().parse::<Shapes>().unwrap());
        let _ = text.parse::<Arrange>();
    }
}

/// Message and hint of what must be an error.
fn said<T>(result: Result<T, Error>) -> String {
    let error = result.err().expect("this is refused");
    format!("{error}\n  {}\n", error.hint().expect("every error has a hint"))
}

#[test]
fn bad_strategies_are_refused_with_a_hint() {
    let said: String = [
        "alternted:bins=8",
        "nonsense",
        "",
        "alternated:bins=0",
        "alternated:bins=-3",
        "alternated:bins=99999999999",
        "alternated:bins=",
        "alternated:8",
        "alternated:bins=8,size=3",
        "alternated:bins=8,bins=9",
        "sorted:noise=1",
        "semi-sorted:noise=-1",
        "semi-sorted:noise=NaN",
        "semi-sorted:noise=inf",
        "bucketed:size=0",
        "length-buckets:width=0",
        "length-buckets:edges=300/200",
        "length-buckets:edges=a/b",
        "length-buckets:width=3,edges=3/4",
        "optimal-buckets:count=0",
        "pooled:batches=0.5",
        "blurred:blur=-0.1",
        "blurred:noise=0.1",
        "rotating:epochs=0",
        "rotating:epochs=70000",
    ]
    .iter()
    .map(|given| said(given.parse::<Strategy>()))
    .collect();
    expect![[r#"
        unknown strategy `alternted`
          did you mean `alternated`? `NAMES` lists all
        unknown strategy `nonsense`
          one of `shuffled`, `sorted`, `semi-sorted`, `alternated`, `bucketed`, `length-buckets`, `optimal-buckets`, `neighbours`, `pooled`, `blurred`, `rotating`, `proportional`, `packed`, `paired`
        unknown strategy ``
          one of `shuffled`, `sorted`, `semi-sorted`, `alternated`, `bucketed`, `length-buckets`, `optimal-buckets`, `neighbours`, `pooled`, `blurred`, `rotating`, `proportional`, `packed`, `paired`
        `bins` of strategy `alternated` cannot be `0`
          it must be a whole number from 1 to 4294967295
        `bins` of strategy `alternated` cannot be `-3`
          it must be a whole number from 1 to 4294967295
        `bins` of strategy `alternated` cannot be `99999999999`
          it must be a whole number from 1 to 4294967295
        `bins` of strategy `alternated` cannot be ``
          it must be a whole number from 1 to 4294967295
        unknown parameter `8` of strategy `alternated`
          its parameters are `bins`
        unknown parameter `size` of strategy `alternated`
          its parameters are `bins`
        `bins` of strategy `alternated` cannot be `9`
          it must be given only once
        unknown parameter `noise` of strategy `sorted`
          it takes no parameters
        `noise` of strategy `semi-sorted` cannot be `-1`
          it must be a number from 0 to 1000000000
        `noise` of strategy `semi-sorted` cannot be `NaN`
          it must be a number from 0 to 1000000000
        `noise` of strategy `semi-sorted` cannot be `inf`
          it must be a number from 0 to 1000000000
        `size` of strategy `bucketed` cannot be `0`
          it must be a whole number from 1 to 4294967295
        `width` of strategy `length-buckets` cannot be `0`
          it must be a whole number from 1 to 4294967295
        `edges` of strategy `length-buckets` cannot be `300/200`
          it must be rising lengths as in `edges=100/200/400`
        `edges` of strategy `length-buckets` cannot be `a/b`
          it must be rising lengths as in `edges=100/200/400`
        `edges` of strategy `length-buckets` cannot be `3/4`
          it must be given without `width`
        `count` of strategy `optimal-buckets` cannot be `0`
          it must be a whole number from 1 to 4294967295
        `batches` of strategy `pooled` cannot be `0.5`
          it must be a whole number from 1 to 4294967295
        `blur` of strategy `blurred` cannot be `-0.1`
          it must be a number from 0 to 1000000
        unknown parameter `noise` of strategy `blurred`
          its parameters are `blur`
        `epochs` of strategy `rotating` cannot be `0`
          it must be a whole number from 1 to 65536
        `epochs` of strategy `rotating` cannot be `70000`
          it must be a whole number from 1 to 65536
    "#]].assert_eq(&said);
}

#[test]
fn bad_budgets_shapes_and_arrangements_are_refused_with_a_hint() {
    let budgets = [
        "pading:20000",
        "padded",
        "padded:0",
        "padded:-5",
        "padded:20k",
        "padded:99999999999999999999999",
        "padded:20000,at-most=0",
        "padded:20000,multiple-of=0",
        "padded:20000,most=64",
        "padded:20000,64",
        "padded:20000,rule=over",
        "sequences:0",
        "0",
        "16.5",
        "18446744073709551615",
        "sequences:16,at-most=3",
        "dynamic:16,rule=none",
    ];
    let shapes = [
        "lader:16",
        "multiple:0",
        "multiple",
        "ladder:0",
        "ladder",
        "ladder:4/2",
        "ladder:0/2",
        "exact:3",
    ];
    let arrangements = ["shufled", "sorted", "shuffled:1"];
    let said: String = (budgets.iter().map(|given| said(given.parse::<Budget>())))
        .chain(shapes.iter().map(|given| said(given.parse::<Shapes>())))
        .chain(arrangements.iter().map(|given| said(given.parse::<Arrange>())))
        .chain([said("dropp".parse::<OverLong>()), said("speach".parse::<Example>())])
        .collect();
    expect![[r#"
        unknown budget `pading`
          one of `sequences`, `padded`, `dynamic`, `cost`
        budget `padded` cannot be ``
          it must be a whole number of cells from 1
        budget `padded` cannot be `0`
          it must be a whole number from 1
        budget `padded` cannot be `-5`
          it must be a whole number of cells from 1
        budget `padded` cannot be `20k`
          it must be a whole number of cells from 1
        budget `padded` cannot be `99999999999999999999999`
          it must be a whole number of cells from 1
        `at-most` of budget `padded` cannot be `0`
          it must be a whole number from 1
        `multiple-of` of budget `padded` cannot be `0`
          it must be a whole number from 1
        unknown parameter `most` of budget `padded`
          its parameters are `first`, `second`, `max`, `at-most`, `multiple-of`
        unknown parameter `64` of budget `padded`
          its parameters are `first`, `second`, `max`, `at-most`, `multiple-of`
        unknown parameter `rule` of budget `padded`
          its parameters are `first`, `second`, `max`, `at-most`, `multiple-of`
        budget `sequences` cannot be `0`
          it must be a whole number from 1
        budget `sequences` cannot be `0`
          it must be a whole number from 1
        budget `sequences` cannot be `16.5`
          it must be a whole number of sequences from 1 to 4294967295
        budget `sequences` cannot be `18446744073709551615`
          it must be a whole number of sequences from 1 to 4294967295
        unknown parameter `at-most` of budget `sequences`
          its parameters are `multiple-of`
        `rule` of budget `dynamic` cannot be `none`
          it must be `printed` or `over`
        unknown shapes `lader`
          did you mean `ladder`? `NAMES` lists all
        shapes `multiple` cannot be `0`
          it must be a whole number from 1 to 4294967295
        shapes `multiple` cannot be ``
          it must be a whole number from 1 to 4294967295
        shapes `ladder` cannot be `0`
          it must be a number of rungs from 1 to 4294967295
        shapes `ladder` cannot be ``
          it must be a number of rungs as in `ladder:16`, or rising rungs as in `ladder:100/200/400`
        shapes `ladder` cannot be `4/2`
          it must be rungs that rise from at least 1
        shapes `ladder` cannot be `0/2`
          it must be rungs that rise from at least 1
        unknown parameter `3` of shapes `exact`
          it takes no parameters
        unknown arrangement `shufled`
          did you mean `shuffled`? `NAMES` lists all
        unknown arrangement `sorted`
          one of `as-built`, `shuffled`, `spread`, `short-first`, `long-first`
        unknown parameter `1` of arrangement `shuffled`
          it takes no parameters
        unknown treatment of over-long sequences `dropp`
          did you mean `drop`? `NAMES` lists all
        unknown example `speach`
          did you mean `speech`? `NAMES` lists all
    "#]]
    .assert_eq(&said);
}

/// A strategy that says whatever it was told.
struct Says(Vec<u32>, Vec<u32>);

impl Group for Says {
    fn group(&self, _: &Lengths, _: &ResolvedBudget, _: &Rng) -> Result<Groups, Error> {
        Groups::new(self.0.clone(), self.1.clone())
    }
}

#[test]
fn what_cannot_be_planned_is_refused_with_a_hint() {
    let lengths = Lengths::new([5, 3000, 7, 9000]).unwrap();
    let plan = |budget: Budget, shapes: Shapes| {
        Planner::new(Shuffled, budget).shapes(shapes).plan(&lengths, 0)
    };
    let grouped = |order: &[u32], ends: &[u32]| {
        Planner::new(Says(order.to_vec(), ends.to_vec()), Budget::sequences(2)).plan(&lengths, 0)
    };
    let huge = Lengths::new([u32::MAX]).unwrap();
    let said: String = [
        said(Lengths::new([])),
        said(Lengths::new([3, 0])),
        said(Lengths::try_from_integers([3, -4])),
        said(Lengths::try_from_integers([1_u64 << 33])),
        said(plan(Budget::padded(4000), Shapes::Exact)),
        said(plan(Budget::padded(2000), Shapes::Exact)),
        said(plan(Budget::padded(9005), Shapes::Multiple(64))),
        said(plan(Budget::padded(9005), Shapes::Rungs(vec![10, 9500]))),
        said(plan(Budget::sequences(4), Shapes::Rungs(vec![10, 5000]))),
        said(plan(Budget::sequences(0), Shapes::Exact)),
        said(plan(Budget::sequences(4), Shapes::Multiple(0))),
        said(plan(Budget::sequences(4), Shapes::Ladder(0))),
        said(plan(Budget::sequences(4), Shapes::Rungs(vec![]))),
        said(plan(Budget::sequences(4).multiple_of(0), Shapes::Exact)),
        said(
            Planner::new(Shuffled, Budget::sequences(1)).shapes(Shapes::Multiple(8)).plan(&huge, 0),
        ),
        said(Chunks::new(&lengths, 0)),
        said(Chunks::new(&Lengths::new([u32::MAX, 1]).unwrap(), 1)),
        said(grouped(&[0, 1, 2], &[3])),
        said(grouped(&[0, 1, 2, 2], &[4])),
        said(grouped(&[0, 1, 2, 4], &[4])),
        said(grouped(&[0, 1, 2, 3], &[3])),
        said(grouped(&[0, 1, 2, 3], &[3, 2, 4])),
    ]
    .concat();
    expect![[r#"
        there are no sequences
          give at least one length
        sequence 1 has length 0
          lengths are whole numbers from 1 to 4294967295; leave empty sequences out
        sequence 1 has length -4
          lengths are whole numbers from 1 to 4294967295; leave empty sequences out
        sequence 0 has length 8589934592
          lengths are whole numbers from 1 to 4294967295; leave empty sequences out
        sequence 3 of length 9000 alone costs 9000 cells, over the budget of 4000
          raise the budget to at least 9000 cells, or choose what happens to sequences that are too long with `Planner::over_long`
        sequence 1 of length 3000 alone costs 3000 cells, over the budget of 2000; so does 1 more sequence
          raise the budget to at least 9000 cells, or choose what happens to sequences that are too long with `Planner::over_long`
        sequence 3 of length 9000 alone costs 9024 cells (rounded up by the shapes), over the budget of 9005
          raise the budget to at least 9024 cells, or choose what happens to sequences that are too long with `Planner::over_long`
        sequence 1 of length 3000 alone costs 9500 cells (rounded up by the shapes), over the budget of 9005; so does 1 more sequence
          raise the budget to at least 9500 cells, or choose what happens to sequences that are too long with `Planner::over_long`
        sequence 3 of length 9000 is longer than the top rung 5000
          add a rung of at least 9000, or let `ladder:8` choose the rungs
        budget `sequences` cannot be `0`
          it must be a whole number from 1
        shapes `multiple` cannot be `0`
          it must be a whole number from 1 to 4294967295
        shapes `ladder` cannot be `0`
          it must be a number of rungs from 1 to 4294967295
        shapes `ladder` cannot be ``
          it must be rungs that rise from at least 1
        `multiple-of` of budget `sequences` cannot be `0`
          it must be a whole number from 1
        length 4294967295 rounded up to a multiple of 8 is more than 4294967295
          use a smaller multiple, or shapes `exact`
        the length of chunks cannot be `0`
          it must be a whole number from 1
        4294967296 sequences are more than the 4294967295 that one plan can hold
          split the data: one plan can hold at most 4294967295 sequences
        the strategy's grouping is not valid: it holds 3 sequences of 4
          return an order that is a permutation of all sequences, and ends that rise to their number
        the strategy's grouping is not valid: sequence 2 is in it twice
          return an order that is a permutation of all sequences, and ends that rise to their number
        the strategy's grouping is not valid: sequence 4 is in it, but it holds only 4 sequences
          return an order that is a permutation of all sequences, and ends that rise to their number
        the strategy's grouping is not valid: the last group ends at 3 of 4 sequences
          return an order that is a permutation of all sequences, and ends that rise to their number
        the strategy's grouping is not valid: group 1 ends before group 0
          return an order that is a permutation of all sequences, and ends that rise to their number
    "#]].assert_eq(&said);
}

#[test]
fn over_long_sequences_are_treated_as_asked() {
    let lengths = Lengths::new([50, 3000, 70, 9000, 90]).unwrap();
    let plan = |over_long, shapes| {
        Planner::new(Shuffled, Budget::padded(1000))
            .over_long(over_long)
            .shapes(shapes)
            .plan(&lengths, 0)
            .unwrap()
    };
    for shapes in [Shapes::Exact, Shapes::Multiple(64), Shapes::Ladder(3)] {
        let alone = plan(OverLong::Alone, shapes.clone());
        assert_eq!(alone.indices().len(), 5);
        for batch in alone.iter().filter(|batch| batch.contains(&1) || batch.contains(&3)) {
            assert_eq!(batch.len(), 1);
        }
        // Nothing else exceeds the budget, whatever the shapes.
        let over = alone
            .iter()
            .zip(alone.batch_lengths())
            .filter(|(batch, length)| batch.len() as u32 * **length > 1000);
        assert_eq!((over.count(), alone.over_long().1), (2, &[1, 3][..]));
        let dropped = plan(OverLong::Drop, shapes.clone());
        let mut kept = dropped.indices().to_vec();
        kept.sort_unstable();
        assert_eq!((kept, dropped.left_out()), (vec![0, 2, 4], &[1, 3][..]));
        assert!(dropped.measure(&lengths).largest_batch_cells <= 1000);

        let truncated = plan(OverLong::Truncate, shapes);
        assert_eq!((truncated.indices().len(), truncated.truncated()), (5, &[1, 3][..]));
        let measures = truncated.measure(&lengths);
        assert!(measures.largest_batch_cells <= 1000 && measures.padding_rate >= 0.0);
    }
    // Where every sequence is over-long, all stand alone, and none is left to drop from.
    let alone = Planner::new(Shuffled, Budget::padded(40)).over_long(OverLong::Alone);
    let plan = alone.plan(&lengths, 0).unwrap();
    assert_eq!((plan.len(), plan.over_long().1.len()), (5, 5));
    let everything = Planner::new(Shuffled, Budget::padded(40)).over_long(OverLong::Drop);
    assert!(matches!(everything.plan(&lengths, 0), Err(Error::OverBudget { count: 5, .. })));
}

#[test]
fn a_second_limit_on_sequences_is_the_smaller_one() {
    assert_eq!(Budget::sequences(16).at_most(4), Budget::sequences(4));
    assert_eq!(Budget::sequences(4).at_most(16).to_string(), "sequences:4");
}

/// What keeps the budget is not said to exceed it.
#[test]
fn a_given_ladder_that_is_too_short_says_so() {
    let lengths = Lengths::new([90, 660, 3000]).unwrap();
    let short = Shapes::Rungs(vec![100, 500]);
    let error = Error::LadderTooShort { top: 500, index: 1, length: 660 };
    for budget in [Budget::padded(20_000), Budget::sequences(3)] {
        let planner = Planner::new(Shuffled, budget).shapes(short.clone());
        assert_eq!(planner.plan(&lengths, 0), Err(error.clone()));
    }
    let rows = Planner::new(Packed::default(), Budget::padded(4096)).shapes(short.clone());
    assert_eq!(rows.plan(&lengths, 0), Err(error));
    let planner = Planner::new(Shuffled, Budget::padded(600)).shapes(short);
    assert!(matches!(planner.plan(&lengths, 0), Err(Error::OverBudget { length: 660, .. })));
}
