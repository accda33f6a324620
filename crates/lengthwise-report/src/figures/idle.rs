//! Waiting against the number of ranks.

use crate::figures::shared::{Styles, WIDE};
use crate::study::Study;
use crate::svg::chart::Chart;
use crate::svg::scale::Scale;
use crate::text::{counted, percent};

/// `None` if there are not batches enough for two ranks.
pub(crate) fn idle(study: &Study, styles: &Styles) -> Option<String> {
    let points = study.idle.iter().flat_map(|idle| &idle.points);
    let ranks = points.clone().map(|point| point.world_size).max().unwrap_or(1);
    let most = points.map(|point| point.idle_share).fold(0.01, f64::max);
    if ranks < 2 {
        return None;
    }
    let mut chart = Chart::new(
        "Waiting against the number of ranks",
        WIDE,
        (Scale::doublings(1.0, f64::from(ranks)), "ranks"),
        (Scale::linear(0.0, 100.0 * most * 1.05), "idle, in % of the ranks’ time"),
    );
    for (number, idle) in study.idle.iter().enumerate() {
        let points = idle.points.iter().map(|point| {
            let text = format!(
                "{} on {}: {} idle, at least {}",
                idle.strategy,
                counted(point.world_size.into(), "rank"),
                percent(point.idle_share),
                percent(point.idle_bound)
            );
            (f64::from(point.world_size), 100.0 * point.idle_share, text)
        });
        chart.line(styles.row(number), &idle.strategy, &points.collect::<Vec<_>>());
    }
    Some(chart.finish())
}
