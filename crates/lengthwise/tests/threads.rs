//! The same plan on any number of threads, in a new workspace and in one that was used before.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use lengthwise::{
    Arrange, Budget, Example, Lengths, OverLong, Planner, Shapes, Strategy, Workspace,
};

/// `count` lengths of an example, over and over.
fn lengths(example: Example, count: usize) -> Lengths {
    let own = example.lengths();
    let again = own.as_slice().iter().copied().cycle().take(count);
    Lengths::new(again.collect::<Vec<_>>()).unwrap()
}

#[test]
fn plans_do_not_depend_on_threads() {
    let used = [1, 2, 3, 7].map(|threads| Workspace::new().threads(threads));
    // Most first, so that the others find more memory than they need.
    for count in [30_000, 12_345, 1501, 1500, 1499, 64, 1] {
        let lengths = lengths(Example::Speech, count);
        for strategy in Strategy::all_of_one_length() {
            for (shapes, over_long) in [
                ("exact", OverLong::Error),
                ("ladder:8", OverLong::Drop),
                ("multiple:8", OverLong::Alone),
            ] {
                let planner = Planner::new(strategy.clone(), Budget::padded(7200).at_most(24))
                    .shapes(shapes.parse::<Shapes>().unwrap())
                    .over_long(over_long)
                    .arrange(if count % 2 == 0 { Arrange::Spread } else { Arrange::AsBuilt })
                    .seed(count as u64);
                let plan = planner.plan(&lengths, 3).unwrap();
                for workspace in &used {
                    let other = planner.plan_in(workspace, &lengths, 3).unwrap();
                    assert_eq!(other, plan, "{strategy} {shapes} {count} {workspace:?}");
                    assert_eq!(other.digest(), plan.digest());
                    workspace.reclaim(other);
                }
            }
        }
    }
}

#[test]
fn stages_are_timed_if_asked_for() {
    let lengths = lengths(Example::Speech, 5000);
    let planner = Planner::new(Strategy::all_of_one_length().remove(0), Budget::padded(8000));
    let (plain, timed) = (Workspace::new(), Workspace::new().timed());
    for workspace in [&plain, &timed] {
        planner.plan_in(workspace, &lengths, 0).unwrap();
    }
    assert!(plain.take_times().is_empty());
    let stages: Vec<&str> = timed.take_times().iter().map(|&(stage, _)| stage).collect();
    assert!(stages.contains(&"keys") && stages.contains(&"gather"), "{stages:?}");
    assert!(timed.take_times().is_empty());
}
