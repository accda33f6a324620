//! Cost models.

use std::{ffi::CString, io::Write as _};

use lengthwise::Step;
use lengthwise_files::{CostModelFile, WorstStep, read_cost_model, save};
use pyo3::prelude::*;

use crate::{
    error::{Failure, Result},
    plan::Plan,
    settings::{FilePath, ModelArgument, Number, Several, Whole},
};

/// How many seconds a training step takes on a batch of B sequences padded to L:
/// a + b·L + c·B·L + d·B·L².
#[pyclass(frozen, eq, module = "lengthwise")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CostModel(pub(crate) lengthwise::CostModel);

#[pymethods]
impl CostModel {
    /// The model that a preset, coefficients as in "a=0.001,c=1e-9", or a file names.
    #[new]
    fn new(model: ModelArgument) -> Self {
        Self(model.0)
    }

    /// Fits a model to measured steps.
    #[staticmethod]
    fn fit(
        py: Python<'_>,
        batch_sizes: Several<Whole<u32>>,
        batch_lengths: Several<Whole<u32>>,
        seconds: Several<Number>,
    ) -> PyResult<Fit> {
        let whole = |several: Several<Whole<u32>>| several.0.into_iter().map(|one| one.0).collect();
        let (sizes, lengths): (Vec<u32>, Vec<u32>) = (whole(batch_sizes), whole(batch_lengths));
        let seconds: Vec<f64> = seconds.0.into_iter().map(|one| one.0).collect();
        let fit = fit(&sizes, &lengths, &seconds)?;
        if fit.fit.is_flat() {
            let category = py.import("lengthwise.errors")?.getattr("LengthwiseWarning")?;
            let message = format!(
                "the measured times hardly depend on batch size and batch length (r2 {:.4}): a budget of \
                 this cost model limits nothing",
                fit.fit.r2
            );
            PyErr::warn(py, &category, &CString::new(message).unwrap_or_default(), 1)?;
        }
        Ok(fit)
    }

    /// Reads a model from a file.
    #[staticmethod]
    fn load(path: FilePath) -> PyResult<Self> {
        Ok(Self(read_cost_model(&path.0).map_err(Failure::from)?))
    }

    /// How many seconds a step takes.
    fn seconds(&self, batch_size: Whole<u32>, batch_length: Whole<u32>) -> f64 {
        self.0.seconds(batch_size.0, batch_length.0)
    }

    /// How many seconds the steps of a plan take, one batch a step.
    fn epoch_seconds(&self, plan: &Plan) -> f64 {
        self.0.epoch_seconds(&plan.plan)
    }

    /// The coefficients a, b, c and d.
    #[getter]
    fn coefficients(&self) -> (f64, f64, f64, f64) {
        self.0.coefficients().into()
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("CostModel(\"{}\")", self.0)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, pyo3::types::PyType>, (String,)) {
        (py.get_type::<Self>(), (self.0.to_string(),))
    }
}

/// A cost model, and how well it says what was measured.
#[pyclass(frozen, module = "lengthwise")]
#[derive(Debug)]
pub(crate) struct Fit {
    fit: lengthwise::Fit,
    worst: WorstStep,
}

#[pymethods]
impl Fit {
    /// The model.
    #[getter]
    fn model(&self) -> CostModel {
        CostModel(self.fit.model)
    }

    /// How much better the model is than the best constant time, from 0 to 1.
    #[getter]
    fn r2(&self) -> f64 {
        self.fit.r2
    }

    /// The mean of the relative errors without their signs.
    #[getter]
    fn mean_relative_error(&self) -> f64 {
        self.fit.mean_relative_error
    }

    /// The measured step that the model is furthest from, by index.
    #[getter]
    fn worst(&self) -> usize {
        self.fit.worst
    }

    /// The relative error of that step: predicted ÷ measured − 1.
    #[getter]
    fn worst_relative_error(&self) -> f64 {
        self.fit.worst_relative_error
    }

    /// Writes the model to a file that `CostModel.load` and the command line read.
    fn save(&self, py: Python<'_>, path: FilePath) -> PyResult<()> {
        let json = CostModelFile::new(&self.fit, self.worst).to_json();
        let write = || save(&path.0, |file| file.write_all(json.as_bytes()));
        Ok(py.detach(write).map_err(Failure::from)?)
    }

    fn __repr__(&self) -> String {
        format!(
            "Fit({}; mean error {:.1} %, r2 {:.4}, {} steps)",
            self.fit.model,
            100.0 * self.fit.mean_relative_error,
            self.fit.r2,
            self.fit.rows
        )
    }
}

fn fit(sizes: &[u32], lengths: &[u32], seconds: &[f64]) -> Result<Fit> {
    if sizes.len() != lengths.len() || sizes.len() != seconds.len() {
        let (sizes, lengths, seconds) = (sizes.len(), lengths.len(), seconds.len());
        return Err(Failure::Own(
            "CostError",
            format!("{sizes} batch sizes, {lengths} batch lengths and {seconds} times"),
            "give one of each for every measured step".to_owned(),
        ));
    }
    let steps: Vec<Step> = sizes
        .iter()
        .zip(lengths)
        .zip(seconds)
        .map(|((&size, &length), &seconds)| Step { size, length, seconds })
        .collect();
    let fit = lengthwise::CostModel::fit(&steps)?;
    let Step { size, length, seconds } = steps[fit.worst];
    let worst = WorstStep {
        line: fit.worst as u64 + 1,
        batch_size: size,
        batch_length: length,
        seconds,
        predicted_seconds: fit.model.seconds(size, length),
        relative_error: fit.worst_relative_error,
    };
    Ok(Fit { fit, worst })
}
