//! Cost models as they are named on the command line: a preset, coefficients, or a file.

use std::{fs, io, path::Path};

use lengthwise::{Budget, CostModel, Fit};
use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// A model file. The fit is there for people; only the coefficients are read back.
#[derive(Serialize)]
pub(crate) struct Document {
    version: u32,
    a: f64,
    b: f64,
    c: f64,
    d: f64,
    rows: usize,
    r2: f64,
    mean_relative_error: f64,
    worst: Worst,
}

/// The measured step that the model is furthest from.
#[derive(Clone, Copy, Serialize)]
pub(crate) struct Worst {
    pub(crate) line: u64,
    pub(crate) batch_size: u32,
    pub(crate) batch_length: u32,
    pub(crate) seconds: f64,
    pub(crate) predicted_seconds: f64,
    pub(crate) relative_error: f64,
}

impl Document {
    pub(crate) fn new(fit: &Fit, worst: Worst) -> Self {
        let [a, b, c, d] = fit.model.coefficients();
        let &Fit { rows, r2, mean_relative_error, .. } = fit;
        Self { version: 1, a, b, c, d, rows, r2, mean_relative_error, worst }
    }

    pub(crate) fn to_json(&self) -> String {
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
}

/// The model that `given` names.
pub(crate) fn named(given: &str) -> Result<CostModel, Failure> {
    if is_file(given) { from_file(Path::new(given.trim())) } else { Ok(given.parse()?) }
}

/// A budget, in which `cost:` may be followed by a model file.
pub(crate) fn budget(given: &str) -> Result<Budget, Failure> {
    match file_of_budget(given) {
        Some(file) => {
            let limits = given.split_once(',').map_or("", |(_, limits)| limits);
            Ok(format!("cost:{},{limits}", named(file)?).parse()?)
        }
        None => Ok(given.parse()?),
    }
}

/// The model file that a budget names.
pub(crate) fn file_of_budget(given: &str) -> Option<&str> {
    let rest = given.trim().strip_prefix("cost:")?;
    let model = rest.split(',').next().unwrap_or(rest).trim();
    is_file(model).then_some(model)
}

/// Coefficients have a `=`, presets are known, and all else must be a file.
fn is_file(model: &str) -> bool {
    let model = model.trim();
    let preset = CostModel::PRESETS.iter().any(|preset| preset.name == model);
    !preset && !model.contains('=') && !model.is_empty()
}

fn from_file(path: &Path) -> Result<CostModel, Failure> {
    let presets: Vec<String> =
        CostModel::PRESETS.iter().map(|preset| format!("`{}`", preset.name)).collect();
    let refused = |what: &str| {
        Failure::new(
            format!("cost model {}: {what}", path.display()),
            format!(
                "name a file that `lengthwise cost STEPS.csv -o model.json` wrote, or a preset: {}",
                presets.join(", ")
            ),
        )
    };
    let text = fs::read_to_string(path).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => refused("is not a model file"),
        io::ErrorKind::NotFound => refused("there is no such file or preset"),
        kind => refused(&kind.to_string()),
    })?;
    let Ok(read) = serde_json::from_str::<Coefficients>(&text) else {
        return Err(refused("is not a model file"));
    };
    if read.version != 1 {
        return Err(refused(&format!(
            "has version {}, which this command does not know",
            read.version
        )));
    }
    CostModel::new(read.a, read.b, read.c, read.d).map_err(|error| refused(&error.to_string()))
}
