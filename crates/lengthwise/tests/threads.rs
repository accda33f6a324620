//! The same plan on any number of threads, in a new workspace and in one that was used before.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::{Arc, Mutex};

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
fn stages_are_told_if_asked_for() {
    let lengths = lengths(Example::Speech, 5000);
    let planner = Planner::new(Strategy::all_of_one_length().remove(0), Budget::padded(8000));
    let stages = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&stages);
    let workspace =
        Workspace::new().on_stage(move |stage, ended| told.lock().unwrap().push((stage, ended)));
    assert_eq!(planner.plan_in(&workspace, &lengths, 0), planner.plan(&lengths, 0));
    let stages = stages.lock().unwrap();
    for stage in ["resolve", "keys", "cut", "arrange", "gather"] {
        let [begun, ended] =
            [false, true].map(|end| stages.iter().position(|&it| it == (stage, end)));
        assert!(begun < ended && begun.is_some(), "{stage}: {stages:?}");
    }
}
