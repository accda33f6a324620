//! Cost models as they are named on the command line: a preset, coefficients, or a file.

use std::path::Path;

use lengthwise::{Budget, CostModel};
use lengthwise_files::read_cost_model;

use crate::failure::Failure;

/// The model that `given` names.
pub(crate) fn named(given: &str) -> Result<CostModel, Failure> {
    if is_file(given) { Ok(read_cost_model(Path::new(given.trim()))?) } else { Ok(given.parse()?) }
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
