//! Cost models as they are named on the command line: a preset, coefficients, or a file.

use lengthwise::{
    Budget, CostModel,
    tune::{Kind, Model},
};
use lengthwise_io::{model_file, model_file_of_budget, read_cost_model};

use crate::failure::Failure;

pub(crate) fn named(given: &str) -> Result<CostModel, Failure> {
    match model_file(given) {
        Some(path) => Ok(read_cost_model(path)?),
        None => Ok(given.parse()?),
    }
}

/// The model that is trained: its kind, or how long its steps take.
pub(crate) fn model(given: &str) -> Result<Model, Failure> {
    if Model::NAMES.contains(&given.trim()) {
        return Ok(given.parse()?);
    }
    Ok(Model::new(Kind::Attention, Some(named(given)?)))
}

/// A budget, in which `cost:` may be followed by a model file.
pub(crate) fn budget(given: &str) -> Result<Budget, Failure> {
    match model_file_of_budget(given) {
        Some(path) => {
            let limits = given.split_once(',').map_or("", |(_, limits)| limits);
            Ok(format!("cost:{},{limits}", read_cost_model(path)?).parse()?)
        }
        None => Ok(given.parse()?),
    }
}
