//! What each worker did in an epoch: a bar of its work and its waiting, with a mark where waiting begins
//! by the plan.

use std::fmt::Write as _;

use crate::report::{row::Row, workers::Worker};
use lengthwise_report::parts::{
    svg::{self, escaped, mark},
    text::{counted, percent, time},
};

const WIDTH: f64 = 1000.0;
/// The width of the names of workers, and of how long they wait. Both are on the left, which is seen first on a
/// narrow screen.
const NAMES: f64 = 86.0;
const BARS: f64 = 240.0;
const ROW: f64 = 24.0;
/// More bars than this are too many to read.
const MOST: usize = 24;

/// The workers that are drawn: all, or of many those that wait least and those that wait most, as many of
/// each, in the order of their ranks.
pub(in crate::report) fn drawn(workers: &[Worker]) -> Vec<Worker> {
    let mut drawn = workers.to_vec();
    if drawn.len() > MOST {
        drawn.sort_by(|a, b| a.idle.total_cmp(&b.idle));
        drawn.drain(MOST / 2..drawn.len() - MOST / 2);
        drawn.sort_by_key(|one| one.rank);
    }
    drawn
}

/// Those that others wait for have names that stand out. `None` if no worker took any time.
pub(in crate::report) fn workers(
    row: &Row<'_>,
    drawn: &[Worker],
    awaited: &[usize],
) -> Option<String> {
    let whole = |one: &Worker| one.work + one.wait;
    let most = drawn.iter().map(whole).fold(0.0, f64::max);
    if most <= 0.0 {
        return None;
    }
    let across = |seconds: f64| (WIDTH - BARS) * seconds / most;
    let mut body = String::new();
    for (place, one) in drawn.iter().enumerate() {
        let y = place as f64 * ROW;
        let (work, wait) = (across(one.work), across(one.wait));
        let class = if awaited.contains(&one.rank) { "label" } else { "tick" };
        let by_plan = one
            .predicted
            .map(|share| mark(BARS + across(whole(one) * (1.0 - share)), y + 0.5, y + ROW - 0.5));
        _ = write!(
            body,
            r#"<g data-tip="{}"><text class="{class}" x="2" y="{:.1}">worker {}</text><text class="{class}" x="{NAMES}" y="{1:.1}">{}</text><rect class="fillbar" x="{BARS}" y="{:.1}" width="{work:.1}" height="{:.1}"/><rect class="pad" x="{:.1}" y="{4:.1}" width="{wait:.1}" height="{5:.1}"/>{}</g>"#,
            escaped(&tip(row, one)),
            y + 16.0,
            one.rank,
            waits(one),
            y + 3.0,
            ROW - 6.0,
            BARS + work,
            by_plan.unwrap_or_default()
        );
    }
    let title = format!("{}: work and waiting in an epoch", row.name);
    Some(svg::picture(&title, (WIDTH, drawn.len() as f64 * ROW + 4.0), &body))
}

/// How long it waits, as far as that can be written.
fn waits(one: &Worker) -> String {
    match (time(one.wait).as_str(), percent(one.idle)) {
        ("0.000", share) if share.starts_with("0.00") => "does not wait".to_owned(),
        ("0.000", share) => format!("waits {share}"),
        (seconds, share) => format!("waits {seconds}\u{a0}s, {share}"),
    }
}

fn tip(row: &Row<'_>, one: &Worker) -> String {
    let by_plan =
        one.predicted.map_or_else(String::new, |share| format!(", {} by the plan", percent(share)));
    format!(
        "worker {} of {}: works {}\u{a0}s of an epoch and {}{by_plan}. The mean of {}",
        one.rank,
        row.name,
        time(one.work),
        waits(one),
        counted(one.epochs as u64, "epoch")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_workers_the_outermost_are_drawn() {
        let worker = |rank: usize| {
            let idle = 0.001 * ((rank * 37) % 64) as f64;
            Worker { rank, epochs: 1, work: 1.0 - idle, wait: idle, idle, predicted: None }
        };
        let workers: Vec<Worker> = (0..64).map(worker).collect();
        assert_eq!(drawn(&workers[..MOST]), workers[..MOST]);
        let drawn = drawn(&workers);
        assert_eq!(drawn.len(), MOST);
        assert!(drawn.is_sorted_by_key(|one| one.rank));
        assert!(drawn.iter().all(|one| one.idle < 0.0115 || one.idle > 0.0515));
    }
}
