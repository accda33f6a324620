//! A bound on memory changes no plan: either it is kept, or it is refused with what it takes.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use lengthwise::{
    Arrange, Budget, Error, Example, Lengths, OverLong, Planner, Shapes, Strategy, Workspace,
    custom::Group as _, strategy::Sorted,
};

/// `count` lengths of an example, over and over.
fn lengths(example: Example, count: usize) -> Lengths {
    let own = example.lengths();
    let again = own.as_slice().iter().copied().cycle().take(count);
    Lengths::new(again.collect::<Vec<_>>()).unwrap()
}

fn planner(strategy: &Strategy, shapes: &str, over_long: OverLong) -> Planner<Strategy> {
    Planner::new(strategy.clone(), Budget::padded(7200).at_most(24))
        .shapes(shapes.parse::<Shapes>().unwrap())
        .over_long(over_long)
        .arrange(Arrange::Spread)
        .seed(11)
}

/// The least bound that is not refused, found by doing what errors say.
fn least(planner: &Planner<Strategy>, threads: usize, lengths: &Lengths) -> u64 {
    let mut bound = 1;
    for _ in 0..10 {
        match planner.spans_in(&Workspace::new().threads(threads).memory(bound), lengths, 3) {
            Ok(_) => return bound,
            Err(Error::OverMemory { needed, bound: given, .. }) => {
                assert_eq!(given, bound);
                assert!(needed > bound);
                bound = needed;
            }
            Err(other) => panic!("{other}"),
        }
    }
    panic!("errors do not say what it takes");
}

#[test]
fn plans_do_not_depend_on_the_bound() {
    let mut several = 0;
    for count in [12_345, 1499] {
        let lengths = lengths(Example::Speech, count);
        for strategy in Strategy::all_of_one_length() {
            for (shapes, over_long) in [
                ("exact", OverLong::Error),
                ("ladder:8", OverLong::Drop),
                ("multiple:8", OverLong::Alone),
                ("ladder:3", OverLong::Truncate),
            ] {
                let planner = planner(&strategy, shapes, over_long);
                let plan = planner.plan(&lengths, 3).unwrap();
                for threads in [1, 2, 3, 7] {
                    let least = least(&planner, threads, &lengths);
                    for bound in [least, least + least / 4] {
                        let passes = Arc::new(AtomicUsize::new(0));
                        let counted = Arc::clone(&passes);
                        let told = move |stage, ended: bool| {
                            counted.fetch_add(usize::from(stage == "keys" && ended), Relaxed);
                        };
                        let workspace =
                            Workspace::new().threads(threads).memory(bound).on_stage(told);
                        let spans = planner.spans_in(&workspace, &lengths, 3).unwrap();
                        several += usize::from(passes.load(Relaxed) > 1);
                        let what = format!("{strategy} {shapes} {count} {threads} {bound}");
                        assert_eq!(spans.len(), plan.len(), "{what}");
                        assert_eq!(spans.digest(), plan.digest(), "{what}");
                        let both = plan.iter().zip(plan.batch_lengths().iter().copied());
                        assert!(spans.iter().eq(both), "{what}");
                        let positions = spans.positions(&workspace, &lengths);
                        assert_eq!(spans.measure(&positions), plan.measure(&lengths), "{what}");
                        assert_eq!(spans.over_long(), plan.over_long());
                    }
                }
            }
        }
    }
    assert!(several > 50, "{several}");
}

#[test]
fn one_byte_less_is_refused() {
    let lengths = lengths(Example::Documents, 20_000);
    for strategy in Strategy::all_of_one_length() {
        let planner = planner(&strategy, "exact", OverLong::Drop);
        let least = least(&planner, 2, &lengths);
        let less = Workspace::new().threads(2).memory(least - 1);
        let error = planner.spans_in(&less, &lengths, 3).unwrap_err();
        assert!(matches!(error, Error::OverMemory { needed, .. } if needed == least), "{error}");
        if !strategy.in_passes() {
            assert!(error.to_string().contains(&format!("`{strategy}`")), "{error}");
        }
    }
}

/// Keys that are all equal cannot be told apart by passes, and are refused.
/// Of lengths that are equal a part is large, but only one is: a second thread has little to sort.
#[test]
fn equal_lengths_are_counted_once() {
    let many: Vec<u32> =
        (0..200_000).map(|at| if at % 2 == 0 { 400 } else { 1 + at % 300 }).collect();
    let lengths = Lengths::new(many).unwrap();
    let planner = planner(&Sorted.into(), "exact", OverLong::Error);
    let [one, four] = [1, 4].map(|threads| least(&planner, threads, &lengths));
    assert!(four < one + one / 4, "{four} against {one}");
}

#[test]
fn what_cannot_be_divided_is_refused() {
    let same = Lengths::new(vec![100; 100_000]).unwrap();
    let planner = Planner::new("semi-sorted".parse::<Strategy>().unwrap(), Budget::sequences(16));
    let bound = Workspace::new().threads(1).memory(3_000_000);
    let error = planner.plan_in(&bound, &same, 0).unwrap_err().to_string();
    assert!(error.starts_with("sorting 100000 sequences takes about"), "{error}");
    let enough = Workspace::new().threads(1).memory(12_000_000);
    assert_eq!(planner.plan_in(&enough, &same, 0).unwrap(), planner.plan(&same, 0).unwrap());
}

/// A plan in one piece takes more than one that is not.
#[test]
fn gathering_keeps_the_bound_too() {
    let lengths = lengths(Example::Speech, 100_000);
    let planner = Planner::new("shuffled".parse::<Strategy>().unwrap(), Budget::padded(200_000))
        .shapes(Shapes::Ladder(4));
    let bound = least(&planner, 1, &lengths).max(700_000);
    let workspace = Workspace::new().threads(1).memory(bound);
    assert!(planner.spans_in(&workspace, &lengths, 0).is_ok());
    let error = planner.plan_in(&workspace, &lengths, 0).unwrap_err();
    assert!(error.to_string().contains("in one piece"), "{error}");
    assert!(error.hint().unwrap().contains("raise the bound of"));
}
