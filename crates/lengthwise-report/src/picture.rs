//! A picture of what planning changes: the updates of random batches, and those that are recommended.

use std::fmt::Write as _;

use lengthwise::strategy::Shuffled;
use lengthwise::tune::{Like, Wanted, recommend};
use lengthwise::{Budget, CostModel, Error, Lengths, Planner, Schedule, Strategy};

/// The drawing area of a panel.
const PANEL: (f64, f64) = (928.0, 150.0);
const MARGIN: f64 = 16.0;
/// Above a panel: its title.
const TITLE: f64 = 30.0;
/// Below a panel: the names of its updates.
const FOOT: f64 = 24.0;
/// Between two updates.
const GAP: f64 = 14.0;

/// An SVG of the first updates of an epoch, before and after: random batches of `batch_size` sequences, one
/// for each update, and what is recommended instead for as many updates in the same memory.
///
/// A sequence is a dark bar of its length, a batch the light rectangle that it is padded to: what is light is
/// padding. Padding and seconds are those of the whole epoch; the cost model predicts the seconds. The colours read
/// on light and on dark pages, and the picture needs neither script nor network.
pub fn before_and_after(
    lengths: &Lengths,
    batch_size: u32,
    cost: CostModel,
    updates: usize,
) -> Result<String, Error> {
    let like: Like = format!("{batch_size},keep=steps").parse()?;
    let mut wanted = Wanted::new(like.budget());
    wanted.settings.update = like.update(1);
    wanted.model.cost = Some(cost);
    let offer = recommend(lengths, &wanted)?.best().clone();
    let planners = [
        Planner::new(Strategy::from(Shuffled), Budget::sequences(batch_size)),
        Planner::with(offer.settings.strategy.parse::<Strategy>()?, offer.settings.clone()),
    ];

    let panel = TITLE + PANEL.1 + FOOT;
    let (width, height) = (PANEL.0 + 2.0 * MARGIN, 2.0 * (panel + MARGIN) + MARGIN);
    let mut svg = format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">
<title>Batches before and after, with the padding and the time of an epoch</title>
<style>
text {{ font: 15px system-ui, sans-serif; fill: #6e7781; }}
.title {{ font-size: 17px; font-weight: 600; }}
.pad {{ fill: #f0a04b; }}
.fill {{ fill: #3b7dc4; }}
</style>
"##
    );
    let titles =
        [format!("Before: shuffle, batch_size={batch_size}"), "After: lengthwise".to_owned()];
    for (number, (title, planner)) in titles.iter().zip(planners).enumerate() {
        let schedule = planner.for_ranks(1).plan(lengths, 0)?.schedule(1)?;
        _ = writeln!(
            svg,
            r#"<g transform="translate({MARGIN} {})">
<text class="title" y="16">{title}<tspan x="{}" text-anchor="end">{:.0} % padding · {:.1} s per epoch</tspan></text>"#,
            MARGIN + number as f64 * (panel + MARGIN),
            PANEL.0,
            100.0 * schedule.all_ranks().measure(lengths).padding_rate,
            schedule.seconds(&cost)
        );
        draw(&mut svg, &schedule, lengths, updates);
        svg += "</g>\n";
    }
    Ok(svg + "</svg>\n")
}

/// The first updates of an epoch.
fn draw(svg: &mut String, schedule: &Schedule, lengths: &Lengths, updates: usize) {
    let micro_batches = schedule.accumulate() as usize;
    let plan = schedule.all_ranks();
    let batches: Vec<_> =
        plan.iter().zip(plan.batch_lengths()).take(updates * micro_batches).collect();
    let sequences: usize = batches.iter().map(|(batch, _)| batch.len()).sum();
    let step = (PANEL.0 - GAP * (updates - 1) as f64) / sequences as f64;
    let scale = PANEL.1 / f64::from(lengths.max());
    let base = TITLE + PANEL.1;
    let (mut pads, mut fills) = (String::new(), String::new());
    let mut x = 0.0;
    for (number, update) in batches.chunks(micro_batches).enumerate() {
        let start = x;
        for &(batch, &length) in update {
            // A hair's breadth between batches.
            let width = batch.len() as f64 * step - 1.0;
            _ = write!(
                pads,
                "M{x:.1} {base}h{width:.1}v-{:.1}h-{width:.1}z",
                f64::from(length) * scale
            );
            for &sequence in batch {
                let height = f64::from(lengths.as_slice()[sequence as usize]) * scale;
                let width = step * 0.8;
                _ = write!(fills, "M{x:.1} {base}h{width:.1}v-{height:.1}h-{width:.1}z");
                x += step;
            }
        }
        let batches = match micro_batches {
            1 => "one batch".to_owned(),
            several => format!("{several} micro-batches"),
        };
        _ = writeln!(
            svg,
            r#"<text x="{:.1}" y="{}" text-anchor="middle">update {}: {batches}</text>"#,
            f64::midpoint(start, x),
            base + 18.0,
            number + 1
        );
        x += GAP;
    }
    _ = writeln!(svg, r#"<path class="pad" d="{pads}"/><path class="fill" d="{fills}"/>"#);
}
