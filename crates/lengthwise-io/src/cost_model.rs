//! Cost models as files: the coefficients, and how well they fit what was measured.

use std::io::{self, Read};
use std::{fs::File, path::Path};

use lengthwise::{CostModel, cost::Fit};
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// The version of model files that this release writes and reads.
const VERSION: u32 = 1;

/// No model file has more bytes; a device may have no end.
const MOST_BYTES: u64 = 1 << 20;

/// A model file. The fit is there for people; only the coefficients are read back.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct CostModelFile {
    version: u32,
    a: f64,
    b: f64,
    c: f64,
    d: f64,
    #[serde(skip_serializing_if = "is_zero")]
    h: f64,
    #[serde(skip_serializing_if = "is_zero")]
    s: f64,
    rows: usize,
    r2: f64,
    mean_relative_error: f64,
    worst: WorstStep,
}

/// The measured step that a model is furthest from.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct WorstStep {
    /// The line of the file that it was read from, or its number from 1.
    pub line: u64,
    /// How many sequences its batch had.
    pub batch_size: u32,
    /// What they were padded to.
    pub batch_length: u32,
    /// How long it took.
    pub seconds: f64,
    /// How long the model says.
    pub predicted_seconds: f64,
    /// Predicted ÷ measured − 1.
    pub relative_error: f64,
}

impl CostModelFile {
    /// The file of a fitted model.
    pub fn new(fit: &Fit, worst: WorstStep) -> Self {
        let [a, b, c, d] = fit.model.coefficients();
        let &Fit { rows, r2, mean_relative_error, .. } = fit;
        let (launch, new_shape) = (fit.model.launch(), fit.model.new_shape());
        Self {
            version: VERSION,
            a,
            b,
            c,
            d,
            h: launch,
            s: new_shape,
            rows,
            r2,
            mean_relative_error,
            worst,
        }
    }

    /// What is in the file.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}

#[derive(Deserialize)]
struct Coefficients {
    version: u32,
    a: f64,
    b: f64,
    c: f64,
    d: f64,
    #[serde(default)]
    h: f64,
    #[serde(default)]
    s: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn is_zero(seconds: &f64) -> bool {
    *seconds == 0.0
}

/// Reads the model in a file.
pub fn read_cost_model(path: &Path) -> Result<CostModel, Error> {
    let presets: Vec<String> =
        CostModel::PRESETS.iter().map(|preset| format!("`{}`", preset.name)).collect();
    let refused = |what: &str| {
        let hint = "name a file that {cost-model} wrote, or a preset: {}";
        Error::of_subject("cost model", what).hint_with(hint, &[&presets.join(", ")]).of(path)
    };
    let mut bytes = Vec::new();
    let read = File::open(path)
        .and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => refused("there is no such file or preset"),
            kind => refused(&kind.to_string()),
        })?;
    if read as u64 > MOST_BYTES {
        return Err(refused(&format!("has more than the {MOST_BYTES} bytes of a model file")));
    }
    let Ok(read) = serde_json::from_slice::<Coefficients>(&bytes) else {
        return Err(refused("is not a model file"));
    };
    if read.version != VERSION {
        let what = format!("has version {}, which this release cannot read", read.version);
        return Err(refused(&what));
    }
    let model = CostModel::new(read.a, read.b, read.c, read.d);
    let model = model.and_then(|model| model.with_launch(read.h)?.with_new_shape(read.s));
    model.map_err(|error| refused(&error.to_string()))
}

/// The file that is meant where a cost model is named: coefficients have a `=`, presets are known,
/// and all else is a file.
pub fn model_file(given: &str) -> Option<&Path> {
    let given = given.trim();
    let preset = CostModel::PRESETS.iter().any(|preset| preset.name == given)
        // It needs a size, and is refused without one.
        || given == "attention";
    (!preset && !given.contains('=') && !given.is_empty()).then(|| Path::new(given))
}

/// The model file that a budget names, as in `cost:model.json,limit=0.05`.
pub fn model_file_of_budget(given: &str) -> Option<&Path> {
    let rest = given.trim().strip_prefix("cost:")?;
    model_file(rest.split(',').next().unwrap_or(rest))
}
