//! What the workers of each row did.

use std::fmt::Write as _;

use crate::report::{
    figures::{drawn, workers},
    row::Row,
    table::range,
    verdict::listed,
    workers::{Count, Late, Worker, any_together, late},
};
use lengthwise_report::parts::{
    html::{Width, figure, nothing, plain_legend, section},
    svg::{SeriesStyle, bar_key, escaped, mark_key},
    text::{counted, percent, time},
};

/// Nothing if no row has several workers.
pub(super) fn workers_section(page: &mut String, rows: &[Row<'_>]) {
    if !any_together(rows) {
        return;
    }
    let mut content = String::new();
    for (number, row) in rows.iter().enumerate() {
        if let Some(count) = row.workers().filter(|count| count.most > 1) {
            article(&mut content, SeriesStyle(number), row, count);
        }
    }
    section(
        page,
        "workers",
        "Workers",
        "How long each worker computes in an epoch, and how long it waits for slower ones, with a core or \
         a device for each: means over epochs and seeds. The others wait for the worker that waits least.",
        &content,
    );
}

fn article(content: &mut String, style: SeriesStyle, row: &Row<'_>, count: Count) {
    let each = row.each_worker();
    let drawn = drawn(&each);
    let late = late(&each);
    let awaited = late.as_ref().map(|late| late.ranks.as_slice()).unwrap_or_default();
    let legend = plain_legend([
        (bar_key("fillbar"), "work"),
        (bar_key("pad"), "waiting"),
        (mark_key(), "where waiting begins by the plan"),
    ]);
    let name = escaped(row.name);
    _ = writeln!(
        content,
        "<article class=\"series {} workers\" data-series=\"{name}\"><h3>{}{name}</h3><p>{}</p>{}\
         </article>",
        style.classes(),
        style.key(),
        sentences(row, count, &each, drawn.len()),
        workers(row, &drawn, awaited).map_or_else(
            || nothing(if each.is_empty() {
                "the times of its workers are no numbers"
            } else {
                "no epoch took any time"
            }),
            |svg| figure(&format!("workers-{}", row.name), Width::Wide, &svg, &legend),
        )
    );
}

/// What the bars say, in words.
fn sentences(row: &Row<'_>, count: Count, each: &[Worker], drawn: usize) -> String {
    let mut text = format!("{}\u{a0}workers", range(count.least, count.most));
    if let Some(seconds) = row.seconds() {
        _ = write!(text, ", {}\u{a0}s an epoch", time(seconds));
        if let Some(exchange) = row.exchange().filter(|exchange| *exchange > 0.0) {
            _ = write!(text, ", of which the exchange takes {}\u{a0}s", time(exchange));
        }
    }
    if let Some(idle) = row.idle() {
        _ = write!(text, ". They wait {} of their time", percent(idle));
        if let Some(predicted) = row.predicted() {
            _ = write!(text, ", {} by the plan", percent(predicted));
        }
    }
    text.push('.');
    if let Some(late) = late(each) {
        _ = write!(text, " {}", awaited(&late, each.len()));
    }
    if count.least < count.most {
        text.push_str(" A bar is the mean over the epochs that its worker was in.");
    }
    if drawn < each.len() {
        _ = write!(
            text,
            " Drawn are the {0} that wait least and the {0} that wait most; {1} are left out.",
            drawn / 2,
            counted((each.len() - drawn) as u64, "worker")
        );
    }
    text
}

/// Whom workers wait for.
fn awaited(late: &Late, workers: usize) -> String {
    let (idle, predicted) = (percent(late.idle), percent(late.predicted));
    let names: Vec<String> = late.ranks.iter().map(usize::to_string).collect();
    let whom = match names.as_slice() {
        [] => {
            return format!(
                "Now one is late and now another: they wait {idle} of their time, and {predicted} by \
                 the plan."
            );
        }
        [one] => format!("worker\u{a0}{one}"),
        many if many.len() > 4 => format!("{} of them", many.len()),
        several => format!("workers {}", listed(several)),
    };
    let (wait, their) = match workers - names.len() {
        1 => ("The other waits", "its"),
        _ => ("The others wait", "their"),
    };
    format!("{wait} for {whom}: {idle} of {their} time, and {predicted} by the plan.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whom_workers_wait_for() {
        let told = |ranks: &[usize], workers: usize| {
            let late = Late { ranks: ranks.to_vec(), idle: 0.2, predicted: 0.03 };
            awaited(&late, workers).replace('\u{a0}', " ")
        };
        let mut text = String::new();
        for (ranks, workers) in
            [(&[][..], 4), (&[3], 4), (&[1], 2), (&[0, 2, 3], 6), (&[0, 1, 2, 3, 4], 9)]
        {
            text += &told(ranks, workers);
            text.push('\n');
        }
        let expected = expect_test::expect![[r#"
            Now one is late and now another: they wait 20.0 % of their time, and 3.0 % by the plan.
            The others wait for worker 3: 20.0 % of their time, and 3.0 % by the plan.
            The other waits for worker 1: 20.0 % of its time, and 3.0 % by the plan.
            The others wait for workers 0, 2 and 3: 20.0 % of their time, and 3.0 % by the plan.
            The others wait for 5 of them: 20.0 % of their time, and 3.0 % by the plan.
        "#]];
        expected.assert_eq(&text);
    }
}
