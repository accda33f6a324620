//! A picture of what batching does: every sequence a bar, every batch the rectangle it is padded to.

use std::fmt::Write as _;

use lengthwise::{Arrange, Budget, Error, Lengths, Plan, Planner, Strategy};

const PANEL: (f64, f64) = (296.0, 118.0);
const COLUMNS: usize = 3;
const MARGIN: f64 = 16.0;
const TITLE: f64 = 26.0;

/// An SVG with one panel for each strategy: the sequences in the order of the plan as dark bars of
/// their lengths, on the light rectangles of the batches. What is light is padding.
///
/// Its colours read on light and on dark pages, and it needs neither script nor network.
pub fn padding_picture(
    lengths: &Lengths,
    strategies: &[Strategy],
    budget: Budget,
    seed: u64,
) -> Result<String, Error> {
    let rows = strategies.len().div_ceil(COLUMNS);
    let columns = strategies.len().min(COLUMNS);
    let width = columns as f64 * (PANEL.0 + MARGIN) + MARGIN;
    let height = rows as f64 * (PANEL.1 + TITLE + MARGIN) + MARGIN;
    let mut svg = format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">
<title>What batching does to padding</title>
<style>
text {{ font: 600 12.5px system-ui, sans-serif; fill: #6e7781; }}
.share {{ font-weight: 400; }}
.pad {{ fill: #f0a04b; }}
.fill {{ fill: #3b7dc4; }}
</style>
"##
    );
    for (number, strategy) in strategies.iter().enumerate() {
        let plan = Planner::new(strategy.clone(), budget)
            .arrange(Arrange::AsBuilt)
            .seed(seed)
            .plan(lengths, 0)?;
        let x = MARGIN + (number % COLUMNS) as f64 * (PANEL.0 + MARGIN);
        let y = MARGIN + (number / COLUMNS) as f64 * (PANEL.1 + TITLE + MARGIN);
        let padding = 100.0 * plan.measure(lengths).padding_rate;
        _ = writeln!(
            svg,
            r#"<g transform="translate({x} {y})">
<text y="14">{strategy}<tspan class="share" x="{}" text-anchor="end">{padding:.1} % padding</tspan></text>"#,
            PANEL.0
        );
        panel(&mut svg, &plan, lengths);
        svg += "</g>\n";
    }
    Ok(svg + "</svg>\n")
}

/// The rectangles and bars of one plan, below its title.
fn panel(svg: &mut String, plan: &Plan, lengths: &Lengths) {
    let step = PANEL.0 / plan.indices().len() as f64;
    let scale = PANEL.1 / f64::from(lengths.max());
    let base = TITLE + PANEL.1;
    let (mut pads, mut fills) = (String::new(), String::new());
    let mut place = 0.0;
    for (batch, &length) in plan.iter().zip(plan.batch_lengths()) {
        let (x, width) = (place * step, batch.len() as f64 * step);
        // A hair's breadth between batches.
        _ = write!(
            pads,
            "M{x:.1} {base}h{:.1}v-{:.1}h-{0:.1}z",
            width - 0.6,
            f64::from(length) * scale
        );
        for &sequence in batch {
            let height = f64::from(lengths.as_slice()[sequence as usize]) * scale;
            let x = place * step;
            _ = write!(fills, "M{x:.1} {base}h{:.1}v-{height:.1}h-{0:.1}z", step * 0.82);
            place += 1.0;
        }
    }
    _ = writeln!(svg, r#"<path class="pad" d="{pads}"/><path class="fill" d="{fills}"/>"#);
}
