//! What more workers would take: their waiting, and the time of an epoch, against their number.

use crate::report::{
    records::Scaling,
    workers::{is_share, is_time},
};
use lengthwise_report::parts::{
    svg::{Chart, Scale, SeriesStyle, WIDE},
    text::{counted, percent, time},
};

/// Less is no time.
const SHORTEST: f64 = 1e-9;

/// The epochs of one name, by the number of workers.
pub(in crate::report) struct Curve<'a> {
    pub(in crate::report) name: &'a str,
    pub(in crate::report) style: SeriesStyle,
    pub(in crate::report) points: Vec<&'a Scaling>,
}

/// The share of time that workers wait. `None` if it is nowhere a number.
pub(in crate::report) fn scaling_idle(curves: &[Curve<'_>]) -> Option<String> {
    let known = |one: &Scaling| is_share(one.idle);
    let most = values(curves, known).map(|one| one.idle).reduce(f64::max)?;
    let mut chart = Chart::new(
        "Waiting against the number of workers",
        WIDE,
        (workers(curves, known)?, "workers"),
        (Scale::linear(0.0, 100.0 * most.max(0.01) * 1.05), "waiting, in % of the workers’ time"),
    );
    for curve in curves {
        draw(&mut chart, curve, known, |one| {
            let tip = format!("they wait {} of their time", percent(one.idle));
            (100.0 * one.idle, tip)
        });
    }
    Some(chart.finish())
}

/// The time of an epoch, and a thin line that would be as many times as fast as there are workers. `None`
/// if it is nowhere a number that has a logarithm.
pub(in crate::report) fn scaling_seconds(curves: &[Curve<'_>]) -> Option<String> {
    let x = workers(curves, timed)?;
    let farthest = values(curves, timed).map(|one| one.workers).max()?;
    let ideal =
        |from: &Scaling, workers: u32| from.seconds * f64::from(from.workers) / f64::from(workers);
    let all = values(curves, timed).map(|one| one.seconds);
    let ends = curves.iter().filter_map(first).map(|from| ideal(from, farthest));
    let least = all.clone().chain(ends).fold(f64::INFINITY, f64::min);
    let most = all.fold(0.0, f64::max);
    let mut chart = Chart::new(
        "Time of an epoch against the number of workers",
        WIDE,
        (x, "workers"),
        (Scale::logarithmic(least.max(1e-9 * most) * 0.9, most * 1.1), "seconds, logarithmic"),
    );
    for from in curves.iter().filter_map(first) {
        let end = (f64::from(farthest), ideal(from, farthest));
        chart.thin("ideal", (f64::from(from.workers), from.seconds), end);
    }
    for curve in curves {
        let Some(from) = first(curve) else { continue };
        draw(&mut chart, curve, timed, |one| {
            let times = if one.workers > from.workers {
                format!(
                    ", {:.1} times as fast as with {}",
                    from.seconds / one.seconds,
                    from.workers
                )
            } else {
                String::new()
            };
            let steps = counted(one.steps, "step");
            (one.seconds, format!("an epoch takes {}\u{a0}s, {steps}{times}", time(one.seconds)))
        });
    }
    Some(chart.finish())
}

/// Whether the time has a logarithm.
fn timed(one: &Scaling) -> bool {
    is_time(one.seconds) && one.seconds > SHORTEST
}

/// The fewest workers of a curve, whose time is known.
fn first<'a>(curve: &Curve<'a>) -> Option<&'a Scaling> {
    curve.points.iter().copied().find(|one| timed(one))
}

fn draw(
    chart: &mut Chart,
    curve: &Curve<'_>,
    known: impl Fn(&Scaling) -> bool,
    of: impl Fn(&Scaling) -> (f64, String),
) {
    let points: Vec<(f64, f64, String)> = curve
        .points
        .iter()
        .filter(|one| known(one))
        .map(|one| {
            let (value, text) = of(one);
            let workers = counted(one.workers.into(), "worker");
            (f64::from(one.workers), value, format!("{} with {workers}: {text}", curve.name))
        })
        .collect();
    if !points.is_empty() {
        chart.line(curve.style, curve.name, &points);
    }
}

/// What is known of all curves.
fn values<'a>(
    curves: &'a [Curve<'a>],
    known: impl Fn(&Scaling) -> bool + Clone,
) -> impl Iterator<Item = &'a Scaling> + Clone {
    curves.iter().flat_map(|curve| curve.points.iter().copied()).filter(move |one| known(one))
}

/// The axis of the number of workers; `None` if nothing is known.
fn workers(curves: &[Curve<'_>], known: impl Fn(&Scaling) -> bool + Clone) -> Option<Scale> {
    let numbers = values(curves, known).map(|one| one.workers);
    let (least, most) = (numbers.clone().min()?, numbers.max()?);
    Some(Scale::doublings(f64::from(least), f64::from(most)))
}
