//! How long an epoch takes by the cost model: a bar for each strategy.

use crate::{
    compare::Row,
    figures::{
        bars::{Bar, bars},
        shared::Styles,
    },
    study::Study,
};

/// `None` without a cost model.
pub(crate) fn seconds(study: &Study, styles: &Styles) -> Option<String> {
    let rows = study.comparison.rows.iter().enumerate();
    let bar = |(number, row): (usize, &Row)| {
        let seconds = row.mean.predicted_seconds?;
        let sd = time(row.sd.predicted_seconds.unwrap_or_default());
        Some(Bar {
            name: row.strategy.clone(),
            style: styles.row(number),
            value: seconds,
            text: format!("{} s", time(seconds)),
            tip: format!("{}: {} s ± {sd} over the epochs", row.strategy, time(seconds)),
        })
    };
    bars("How long an epoch takes by the cost model", &rows.filter_map(bar).collect::<Vec<_>>())
}

/// Seconds with about three digits.
pub fn time(seconds: f64) -> String {
    match seconds {
        ..1.0 => format!("{seconds:.3}"),
        1.0..10.0 => format!("{seconds:.2}"),
        10.0..100.0 => format!("{seconds:.1}"),
        _ => format!("{seconds:.0}"),
    }
}
