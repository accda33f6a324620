//! What tuning found: the recommendation, and what else there is to choose from.

use std::fmt::Write as _;

use lengthwise::tune::{Point, Recommendation};
use serde::{Deserialize, Serialize};

use crate::advice::{OfferFigures, Recommended};
use crate::text::{command_lines, python_lines, wrapped};
use crate::text_table::{Look, TextColumn, TextTable};

/// What tuning found.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Tuning {
    /// The version of the JSON form.
    pub version: u32,
    /// Whether the choice keeps all limits; if not, it comes nearest, and nothing is recommended.
    pub within_limits: bool,
    /// What is recommended.
    pub recommended: Option<Recommended>,
    /// The strategy of the choice in its string form.
    pub strategy: String,
    /// The shapes that go with it.
    pub shapes: String,
    /// The budget it was chosen for.
    pub budget: String,
    /// What the choice was measured to give.
    pub best: OfferFigures,
    /// Random batches with the same size of an update, which times are compared with.
    pub random: OfferFigures,
    /// Packed rows, if the model was not said to take them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packed: Option<OfferFigures>,
    /// Every way that was measured, the best first; those that break a limit come last.
    pub candidates: Vec<OfferFigures>,
}

/// So many ways are shown as text.
const SHOWN: usize = 12;

impl Tuning {
    /// What was found for so many ranks. `input` is how the command line names the lengths, if it does.
    pub fn new(found: &Recommendation, input: Option<&str>, ranks: u32) -> Self {
        let best = found.best();
        Self {
            version: 1,
            within_limits: found.within_limits(),
            recommended: Recommended::new(found, input, ranks),
            strategy: best.settings.strategy.clone(),
            shapes: best.settings.shapes.to_string(),
            budget: best.settings.budget.to_string(),
            best: best.into(),
            random: (&found.random).into(),
            packed: found.packed.as_ref().map(OfferFigures::from),
            candidates: found.offers.iter().map(OfferFigures::from).collect(),
        }
    }

    /// What was found as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// What was found as a table, a few sentences and the lines that use it.
    pub fn to_text(&self, look: Look, width: usize) -> String {
        let mut shown: Vec<&OfferFigures> = self.candidates.iter().take(SHOWN).collect();
        if !shown.iter().any(|offer| is_same(offer, &self.random)) {
            shown.push(&self.random);
        }
        let mut text = table(&shown).text(look, width);
        let hidden = self.candidates.len().saturating_sub(SHOWN);
        if hidden > 0 {
            _ = writeln!(text, "({hidden} more with --json)");
        }
        text.push('\n');
        let Some(recommended) = &self.recommended else { return text };
        for line in recommended.lines() {
            text += &wrapped(&line, width);
        }
        text.push('\n');
        if let Some(command) = &recommended.command {
            text += &command_lines(command, width);
        }
        text += &python_lines(&recommended.python, width);
        text
    }

    /// What is wrong if nothing keeps all limits.
    pub fn nearest(&self) -> String {
        let broken = self.best.broken_limits.join(" and ");
        format!("nothing keeps the limits on {broken}; the nearest is {}", self.best.brief())
    }
}

fn is_same(one: &OfferFigures, other: &OfferFigures) -> bool {
    (&one.strategy, &one.shapes, one.micro_batches)
        == (&other.strategy, &other.shapes, other.micro_batches)
}

/// One row for every way to batch.
fn table(offers: &[&OfferFigures]) -> TextTable {
    let column = |heading: [&str; 2], dispensable, text: &dyn Fn(&OfferFigures) -> String| {
        TextColumn::plain(dispensable, heading, offers.iter().map(|offer| text(offer)).collect())
    };
    let mut columns = vec![
        column(["", "shapes"], 0, &|offer| offer.shapes.clone()),
        column(["micro-", "batches"], 0, &|offer| offer.micro_batches.to_string()),
        column(["padding", "%"], 0, &|offer| format!("{:.1}", 100.0 * offer.padding_rate)),
        column(["number", "of shapes"], 2, &|offer| format!("{:.0}", offer.shape_count)),
        column(["mixing", "%"], 1, &|offer| format!("{:.0}", 100.0 * offer.mixing)),
        column(["step", "mix"], 3, &|offer| format!("{:.2}", offer.step_mix)),
        column(["updates", "/ epoch"], 2, &|offer| offer.optimizer_steps.to_string()),
        column(["idle", "%"], 4, &|offer| format!("{:.1}", 100.0 * offer.idle_share)),
        column(["time", "ratio"], 0, &|offer| format!("{:.2}", offer.time)),
    ];
    if offers.iter().any(|offer| offer.predicted_seconds.is_some()) {
        columns.push(column(["epoch", "s"], 1, &|offer| {
            offer.predicted_seconds.map_or("-".to_owned(), |seconds| format!("{seconds:.2}"))
        }));
    }
    if offers.iter().any(|offer| !offer.broken_limits.is_empty()) {
        columns.push(column(["breaks", "limits on"], 1, &|offer| offer.broken_limits.join(", ")));
    }
    let names = offers.iter().map(|offer| offer.strategy.clone()).collect();
    TextTable { corner: "strategy", names, columns, star: "" }
}

/// A measured point of a family.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[expect(missing_docs, reason = "the fields are those of `lengthwise::tune::Point`")]
pub struct PointFigures {
    pub strategy: String,
    pub padding_rate: f64,
    pub mean_batch_padding_rate: f64,
    pub mean_batch_length: f64,
    pub batches: f64,
    pub shapes: f64,
    /// Per pair of batch-mates; see [`Figures`](crate::Figures).
    pub mixing: f64,
    pub mixing_error: f64,
    pub mixing_per_sequence: f64,
    pub mixing_per_sequence_error: f64,
    pub repeat_rate: f64,
    pub effective_mates: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted_seconds: Option<f64>,
}

impl From<&Point> for PointFigures {
    fn from(point: &Point) -> Self {
        Self {
            strategy: point.strategy.to_string(),
            padding_rate: point.padding_rate,
            mean_batch_padding_rate: point.mean_batch_padding_rate,
            mean_batch_length: point.mean_batch_length,
            batches: point.batches,
            shapes: point.shapes,
            mixing: point.mixing.per_pair,
            mixing_error: point.mixing.per_pair_error,
            mixing_per_sequence: point.mixing.per_sequence,
            mixing_per_sequence_error: point.mixing.per_sequence_error,
            repeat_rate: point.mixing.repeat_rate,
            effective_mates: point.effective_mates,
            predicted_seconds: point.seconds,
        }
    }
}
