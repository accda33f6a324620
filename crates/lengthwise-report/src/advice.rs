//! The recommendation in words: settings, reason, and the lines that use it.

use std::fmt::Write as _;

use lengthwise::{
    Error, Settings,
    groups::{OneKind, Together},
    tune::{Offer, Recommendation},
};
use serde::{Deserialize, Serialize};

use crate::text::percent;

/// What is recommended, and how to use it.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Recommended {
    /// The strategy in its string form.
    pub strategy: String,
    /// The shapes that go with it.
    pub shapes: String,
    /// The hard limit of a batch.
    pub budget: String,
    /// The order of the batches.
    pub arrange: String,
    /// How much data an optimizer step has, if its micro-batches follow from that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update: Option<String>,
    /// How long batches take, if the plan should know it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_model: Option<String>,
    /// Micro-batches of each rank in an optimizer step: gradients are accumulated over them.
    pub micro_batches: u32,
    /// Optimizer steps of an epoch.
    pub optimizer_steps: u64,
    /// Optimizer steps of an epoch of random batches, with one batch of each rank in a step.
    pub optimizer_steps_before: u64,
    /// Why, in a sentence.
    pub reason: String,
    /// What else there is to know: what changes for the optimizer, and what packed rows would give.
    pub remarks: Vec<String>,
    /// The command that plans with it, if the input is known to the command line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The call that plans with it.
    pub python: String,
}

impl Recommended {
    /// What is recommended, unless nothing keeps the limits. `input` is how the command line names the
    /// lengths, if it does.
    pub fn new(found: &Recommendation, input: Option<&str>, ranks: u32) -> Option<Self> {
        found.within_limits().then(|| {
            let best = found.best();
            let settings = &best.settings;
            Self {
                strategy: settings.strategy.clone(),
                shapes: settings.shapes.to_string(),
                budget: settings.budget.to_string(),
                arrange: settings.arrange.to_string(),
                update: settings.update.map(|update| update.to_string()),
                cost_model: settings.cost_model.map(|model| model.to_string()),
                micro_batches: best.micro_batches,
                optimizer_steps: best.optimizer_steps,
                optimizer_steps_before: found.steps_before,
                reason: found.reason.clone(),
                remarks: remarks(found),
                command: input.map(|input| command(settings, input, ranks)),
                python: python(found, ranks),
            }
        })
    }

    /// The settings of its plans, for as many ranks as it was made for; all that it does not name is as in
    /// others.
    pub(crate) fn settings(&self, others: &Settings) -> Result<Settings, Error> {
        let update = self.update.as_deref().map(str::parse).transpose()?;
        Ok(Settings {
            strategy: self.strategy.clone(),
            shapes: self.shapes.parse()?,
            budget: self.budget.parse()?,
            arrange: self.arrange.parse()?,
            cost_model: self.cost_model.as_deref().map(str::parse).transpose()?,
            accumulate: if update.is_some() { 1 } else { self.micro_batches },
            update,
            ..others.clone()
        })
    }

    /// The recommendation in a few lines, without the lines to paste.
    pub fn lines(&self) -> Vec<String> {
        let Self { strategy, shapes, micro_batches, .. } = self;
        let accumulated = match micro_batches {
            1 => String::new(),
            count => format!(", {count} micro-batches per update"),
        };
        let chosen =
            format!("recommended: {strategy}, shapes {shapes}{accumulated}: {}", self.reason);
        [chosen].into_iter().chain(self.remarks.iter().cloned()).collect()
    }
}

/// What the choice means for the optimizer, and what other choices would give.
fn remarks(found: &Recommendation) -> Vec<String> {
    let (best, growth) = (found.best(), found.update_growth());
    let (before, after) = (found.steps_before, best.optimizer_steps);
    let mut steps = format!("updates per epoch: {after}, with random batches {before}");
    if !(0.95..=1.05).contains(&growth) {
        _ = write!(
            steps,
            "; each has {growth:.2} times the data (rules of thumb: the learning rate times {growth:.2} \
             for SGD, times {:.2} for Adam)",
            growth.sqrt()
        );
    }
    let undecided = found.undecided.as_ref().filter(|other| other.time < 0.95 * best.time);
    let undecided = undecided.map(|other| {
        format!(
            "with {} micro-batches per update (gradient accumulation), {} would take {:.2} of random's time",
            other.micro_batches, other.settings.strategy, other.time
        )
    });
    let packed = found.packed.as_ref().map(|rows| {
        format!(
            "if the model takes packed rows (variable-length attention), {} takes {:.2} of random's time",
            rows.settings.strategy, rows.time
        )
    });
    let few =
        (best.batch_size < 2.5 && found.random.batch_size >= 2.0 * best.batch_size).then(|| {
            format!(
                "batches have {:.1} sequences on average: is the budget right?",
                best.batch_size
            )
        });
    let assumed = best.micro_batches > 1 && best.settings.cost_model.is_none();
    let assumed = assumed.then(|| {
        "the times are assumed: a small model on a large GPU waits for the launch of each micro-batch, and can take \
         longer than with random batches; lengthwise explain cost says how to measure it"
            .to_owned()
    });
    [Some(steps), undecided, packed, few, assumed].into_iter().flatten().collect()
}

/// The settings of plans, by name: those that a plan has anyway are left out.
fn named(settings: &Settings) -> Vec<(&'static str, String)> {
    let mut all = vec![
        ("strategy", settings.strategy.clone()),
        ("budget", settings.budget.to_string()),
        ("shapes", settings.shapes.to_string()),
        ("arrange", settings.arrange.to_string()),
    ];
    all.extend(settings.update.map(|update| ("update", update.to_string())));
    all.extend(settings.cost_model.map(|model| ("cost-model", model.to_string())));
    let over_long = settings.over_long.to_string();
    all.extend((over_long != "error").then_some(("over-long", over_long)));
    all
}

/// The command that plans these lengths with these settings.
fn command(settings: &Settings, input: &str, ranks: u32) -> String {
    let mut command = format!("lengthwise plan {input}");
    for (name, value) in named(settings) {
        _ = write!(command, " --{name} {value}");
    }
    if settings.accumulate > 1 {
        _ = write!(command, " --accumulate {}", settings.accumulate);
    }
    if ranks > 1 {
        _ = write!(command, " --world-size {ranks}");
    }
    _ = write!(command, " --seed {}", settings.seed);
    command
}

fn python(found: &Recommendation, ranks: u32) -> String {
    let offer = found.best();
    let lengths = if found.two_lengths { "lw.Lengths(first, second)" } else { "lengths" };
    let mut call = format!("lw.plan({lengths}");
    for (name, value) in named(&offer.settings) {
        _ = match name {
            "strategy" => write!(call, ", \"{value}\""),
            name => write!(call, ", {}=\"{value}\"", name.replace('-', "_")),
        };
    }
    let Settings { share, one_kind, .. } = offer.settings;
    if share != Together::default() {
        _ = write!(call, ", share=\"{share}\"");
    }
    if one_kind != OneKind::default() {
        _ = write!(call, ", one_kind=\"{one_kind}\"");
    }
    if offer.settings.accumulate > 1 {
        _ = write!(call, ", accumulate={}", offer.settings.accumulate);
    }
    if ranks > 1 && offer.settings.canonical_ranks.is_some() {
        _ = write!(call, ", canonical_ranks={ranks}");
    }
    _ = write!(call, ", seed={})", offer.settings.seed);
    call
}

/// What an offer was measured to give.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[expect(missing_docs, reason = "the fields are those of `lengthwise::tune::Offer`")]
pub struct OfferFigures {
    pub strategy: String,
    pub shapes: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update: Option<String>,
    pub micro_batches: u32,
    pub optimizer_steps: u64,
    pub padding_rate: f64,
    pub mean_batch_size: f64,
    pub shape_count: f64,
    pub new_shapes: f64,
    pub mixing: f64,
    pub mixing_error: f64,
    pub effective_mates: f64,
    pub step_mix: f64,
    pub idle_share: f64,
    /// The time of an epoch, compared with random batches.
    pub time: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicted_seconds: Option<f64>,
    /// Which limits it breaks.
    pub broken_limits: Vec<String>,
}

impl From<&Offer> for OfferFigures {
    fn from(offer: &Offer) -> Self {
        Self {
            strategy: offer.settings.strategy.clone(),
            shapes: offer.settings.shapes.to_string(),
            update: offer.settings.update.map(|update| update.to_string()),
            micro_batches: offer.micro_batches,
            optimizer_steps: offer.optimizer_steps,
            padding_rate: offer.padding_rate,
            mean_batch_size: offer.batch_size,
            shape_count: offer.shape_count,
            new_shapes: offer.new_shapes,
            mixing: offer.mixing,
            mixing_error: offer.mixing_error,
            effective_mates: offer.effective_mates,
            step_mix: offer.step_mix,
            idle_share: offer.idle_share,
            time: offer.time,
            predicted_seconds: offer.seconds,
            broken_limits: offer.broken.iter().map(|&name| name.to_owned()).collect(),
        }
    }
}

impl OfferFigures {
    /// The offer in a few words.
    pub(crate) fn brief(&self) -> String {
        format!(
            "{} with shapes {} and {} micro-batches per update ({} padding, step mix {:.2}, mixing {}, {:.0} \
             shapes)",
            self.strategy,
            self.shapes,
            self.micro_batches,
            percent(self.padding_rate).replace('\u{a0}', " "),
            self.step_mix,
            percent(self.mixing).replace('\u{a0}', " "),
            self.shape_count
        )
    }
}
