//! What a reader of the numbers must know about them: runs that are not done, and runs that diverged.

use super::{
    TrainingRun,
    row::{Row, last_epoch, lost},
};
use crate::text::counted;

/// A sentence for each thing that makes numbers less than they look.
pub(super) fn remarks(rows: &[Row<'_>]) -> Vec<String> {
    let most = rows.iter().map(Row::last_epoch).max().unwrap_or(0);
    let mut remarks = Vec::new();
    for row in rows {
        for run in row.diverged() {
            let epoch = run.epochs.iter().find(|epoch| lost(epoch)).map_or(0, |one| one.epoch);
            remarks.push(format!("{}, seed {}: diverged in epoch {epoch}.", row.name, run.seed));
        }
        remarks.extend(row.behind(most).map(|run| behind(row, run, most)));
    }
    remarks
}

fn behind(row: &Row<'_>, run: &TrainingRun, most: u32) -> String {
    let had = last_epoch(run);
    // What all runs of a row have come to is its result so far.
    let counts = if had == 0 {
        ""
    } else if had < row.last_epoch() {
        "; only its time and padding count"
    } else {
        "; its results are those so far"
    };
    let epochs = counted(most.into(), "epoch").replace('\u{a0}', " ");
    format!("{}, seed {}: has {had} of {epochs}{counts}.", row.name, run.seed)
}
