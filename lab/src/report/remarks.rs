//! What a reader of the numbers must know about them: runs that are not done, runs that diverged, and
//! workers that shared cores.

use std::collections::BTreeMap;

use super::{
    row::{Row, last_epoch, lost},
    verdict::listed,
};
use lengthwise_report::parts::text::{counted, time};

/// From how many times as long by the clock it is worth a remark.
const SHARED: f64 = 1.2;

/// A sentence for each thing that makes numbers less than they look.
pub(super) fn remarks(rows: &[Row<'_>]) -> Vec<String> {
    let most = rows.iter().map(Row::last_epoch).max().unwrap_or(0);
    let mut remarks = Vec::new();
    for row in rows {
        for run in row.diverged() {
            let Some(epoch) = run.epochs.iter().find(|epoch| lost(epoch)) else { continue };
            let what = if epoch.loss.is_finite() {
                "its validation gave no number after"
            } else {
                "diverged in"
            };
            remarks.push(format!("{}, seed {}: {what} epoch {}.", row.name, run.seed, epoch.epoch));
        }
        remarks.extend(behind(row, most));
        remarks.extend(shared_cores(row));
        remarks.extend(rows.first().and_then(|first| other_data(row, first)));
    }
    remarks
}

/// Times and errors of rows that train on more data or on less are no comparison of ways to batch.
fn other_data(row: &Row<'_>, first: &Row<'_>) -> Option<String> {
    if row.has_the_data_of(first) {
        return None;
    }
    Some(format!(
        "{}: an epoch has {:.0} frames, and one of {} {:.0}.",
        row.name,
        row.frames()?,
        first.name,
        first.frames()?
    ))
}

/// The runs that are not done: one sentence for all that have the same number of epochs.
fn behind(row: &Row<'_>, most: u32) -> Vec<String> {
    let mut seeds: BTreeMap<(u32, u32), Vec<String>> = BTreeMap::new();
    for run in row.behind(most) {
        let epochs = (last_epoch(run), run.planned_epochs.unwrap_or(most));
        seeds.entry(epochs).or_default().push(run.seed.to_string());
    }
    let told = |((had, all), seeds): ((u32, u32), Vec<String>)| {
        // What all runs of a row have come to is its result so far.
        let (each, its) = if seeds.len() > 1 { ("have", "their") } else { ("has", "its") };
        let counts = if had == 0 {
            String::new()
        } else if had < row.last_epoch() {
            format!("; only {its} time and padding count")
        } else {
            format!("; {its} results are those so far")
        };
        let whose = match seeds.len() {
            1 => format!("seed {}", seeds[0]),
            2..=4 => format!("seeds {}", listed(&seeds)),
            many => format!("{many} seeds"),
        };
        let epochs = counted(all.into(), "epoch").replace('\u{a0}', " ");
        format!("{}, {whose}: {each} {had} of {epochs}{counts}.", row.name)
    };
    seeds.into_iter().map(told).collect()
}

fn shared_cores(row: &Row<'_>) -> Option<String> {
    let (wall, seconds) = row.clock();
    (wall > SHARED * seconds).then(|| {
        format!(
            "{}: its workers shared cores; times are those with a core for each. By the clock its \
             epochs took {} s in all, and not {} s.",
            row.name,
            time(wall),
            time(seconds)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{
        Training,
        testing::{epoch, run, shared, training},
    };

    #[test]
    fn runs_are_behind_their_own_epochs() {
        let of = |planned: [Option<u32>; 2]| {
            let epochs = |count: u32| (1..=count).map(|at| epoch(at, 1.0, 0.5)).collect();
            let mut runs = vec![run("a", 1, epochs(2)), run("b", 1, epochs(3))];
            for (run, planned) in runs.iter_mut().zip(planned) {
                run.planned_epochs = planned;
            }
            let training = Training { runs, ..training() };
            let all = training.verdict().concat().contains("Not all runs are done");
            (remarks(&training.rows()), all)
        };
        assert_eq!(of([Some(2), Some(3)]), (Vec::new(), false));
        let short = "a, seed 1: has 2 of 3 epochs; its results are those so far.".to_owned();
        assert_eq!(of([None, None]), (vec![short], true));
        let short = "b, seed 1: has 3 of 5 epochs; its results are those so far.".to_owned();
        assert_eq!(of([Some(2), Some(5)]), (vec![short], false));
    }

    #[test]
    fn seeds_with_as_many_epochs_share_a_sentence() {
        let of = |seeds: u64| {
            let epochs = |count: u32| (1..=count).map(|at| epoch(at, 1.0, 0.5)).collect();
            let mut runs = vec![run("a", 0, epochs(2)), run("a", 100, epochs(1))];
            runs.extend((1..=seeds).map(|seed| run("a", seed, Vec::new())));
            remarks(&Training { runs, ..training() }.rows())
        };
        let one = "a, seed 100: has 1 of 2 epochs; only its time and padding count.";
        assert_eq!(of(0), [one]);
        assert_eq!(of(1), ["a, seed 1: has 0 of 2 epochs.", one]);
        assert_eq!(of(3), ["a, seeds 1, 2 and 3: have 0 of 2 epochs.", one]);
        assert_eq!(of(60), ["a, 60 seeds: have 0 of 2 epochs.", one]);
    }

    #[test]
    fn rows_with_other_data_are_named() {
        let of = |frames: u64| {
            let mut one = run("b", 1, vec![epoch(1, 1.0, 0.5)]);
            one.epochs[0].frames = frames;
            let runs = vec![run("a", 1, vec![epoch(1, 1.0, 0.5)]), one];
            remarks(&Training { runs, ..training() }.rows())
        };
        // The last places of a plan can be repeated or left out.
        assert_eq!(of(5_450_000), [""; 0]);
        let half = "b: an epoch has 2752048 frames, and one of a 5504096.";
        assert_eq!(of(5_504_096 / 2), [half]);
    }

    #[test]
    fn workers_that_shared_cores_are_named() {
        let of = |walls: [f64; 2]| {
            let epochs = (1..).zip(walls).map(|(number, wall)| {
                let mut one = shared(number, &[(4.0, 1.0, 0.1), (5.0, 0.0, 0.0)]);
                one.together.as_mut().unwrap().wall = wall;
                one
            });
            let runs = vec![
                run("a", 0, epochs.collect()),
                run("b", 0, vec![epoch(1, 9.0, 0.5), epoch(2, 9.0, 0.5)]),
            ];
            remarks(&Training { runs, ..training() }.rows())
        };
        assert_eq!(
            of([5.0, 20.0]),
            [
                "a: its workers shared cores; times are those with a core for each. By the clock its \
              epochs took 25.0 s in all, and not 10.0 s."
            ]
        );
        // The whole counts, and what is no number does not.
        assert_eq!(of([5.0, 7.0]), [""; 0]);
        assert_eq!(of([f64::NAN, 5.5]), [""; 0]);
        assert_eq!(of([f64::INFINITY, 15.0]).len(), 1);
    }
}
