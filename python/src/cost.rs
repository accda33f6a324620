//! Cost models.

use std::{ffi::CString, io::Write as _, path::PathBuf};

use lengthwise::cost::Step;
use lengthwise_io::{CostModelFile, WorstStep, read_cost_model, save};
use pyo3::{prelude::*, types::PyType};

use crate::error::{Failure, Result};
use crate::pickle::Reduced;
use crate::plan::Plan;
use crate::settings::{Given, plain};

/// How many seconds a training step takes on a batch of B sequences padded to L:
/// a + b·L + c·B·L + d·B·L², and at least h, the time to launch it.
///
/// Args:
///     `model`: The name of a preset ("recurrent", "encoder" or "paper-2"), coefficients such as
///         "a=0.001,c=1e-9", a file that `Fit.save` or `lengthwise cost` wrote, or a `CostModel`.
#[pyclass(frozen, eq, module = "lengthwise")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CostModel(pub(crate) lengthwise::CostModel);

#[pymethods]
impl CostModel {
    #[new]
    fn new(model: Given<lengthwise::CostModel>) -> Self {
        Self(model.0)
    }

    /// Fits a model to measured steps.
    ///
    /// Args:
    ///     `batch_sizes`: The batch size of each step.
    ///     `batch_lengths`: The batch length of each step.
    ///     `seconds`: How long each step took.
    ///     `new_shape`: How many seconds longer a step takes whose shape comes up for the first time. The
    ///         default is 0.
    #[staticmethod]
    #[pyo3(signature = (batch_sizes, batch_lengths, seconds, new_shape: "SupportsFloat" = 0.0))]
    fn fit(
        py: Python<'_>,
        batch_sizes: Given<Vec<u32>>,
        batch_lengths: Given<Vec<u32>>,
        seconds: Given<Vec<f64>>,
        #[pyo3(from_py_with = plain)] new_shape: f64,
    ) -> Result<Fit> {
        let fit = Fit::new(&batch_sizes.0, &batch_lengths.0, &seconds.0, new_shape)?;
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

    /// Reads a model from the file `path`, which `Fit.save` or `lengthwise cost` wrote.
    #[staticmethod]
    fn load(path: Given<PathBuf>) -> Result<Self> {
        Ok(Self(read_cost_model(&path.0)?))
    }

    /// Returns how many seconds a step takes on a batch of `batch_size` sequences padded to `batch_length`.
    fn seconds(&self, batch_size: Given<u32>, batch_length: Given<u32>) -> f64 {
        self.0.seconds(batch_size.0, batch_length.0)
    }

    /// Returns how many seconds the epoch of a `plan` takes, with one batch in each step.
    fn epoch_seconds(&self, plan: &Plan) -> Result<f64> {
        Ok(self.0.epoch_seconds(&plan.plan)?)
    }

    /// The coefficients a, b, c and d.
    #[getter]
    fn coefficients(&self) -> (f64, f64, f64, f64) {
        self.0.coefficients().into()
    }

    /// How many seconds the host takes to launch a batch: no batch takes less.
    #[getter]
    fn launch(&self) -> f64 {
        self.0.launch()
    }

    /// How many seconds longer a step takes whose shape comes up for the first time.
    #[getter]
    fn new_shape(&self) -> f64 {
        self.0.new_shape()
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("CostModel(\"{}\")", self.0)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyType>, (String,)) {
        (py.get_type::<Self>(), (self.0.to_string(),))
    }
}

/// A cost model, and how well it fits the measured steps. `CostModel.fit` makes it.
#[pyclass(frozen, eq, module = "lengthwise")]
#[derive(Debug, PartialEq)]
pub(crate) struct Fit {
    fit: lengthwise::cost::Fit,
    /// What it was fitted to: a pickled one is fitted again.
    steps: Vec<Step>,
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

    /// The mean of the absolute relative errors.
    #[getter]
    fn mean_relative_error(&self) -> f64 {
        self.fit.mean_relative_error
    }

    /// The index of the measured step with the largest relative error.
    #[getter]
    fn worst(&self) -> usize {
        self.fit.worst
    }

    /// The relative error of that step: predicted ÷ measured − 1.
    #[getter]
    fn worst_relative_error(&self) -> f64 {
        self.fit.worst_relative_error
    }

    /// Writes the model to the .json file `path`, which `CostModel.load` and the command line read.
    fn save(&self, py: Python<'_>, path: Given<PathBuf>) -> Result<()> {
        let json = CostModelFile::new(&self.fit, self.worst_step()).to_json();
        Ok(py.detach(|| save(&path.0, |file| file.write_all(json.as_bytes())))?)
    }

    fn __repr__(&self) -> String {
        let lengthwise::cost::Fit { model, mean_relative_error, r2, rows, .. } = self.fit;
        let error = 100.0 * mean_relative_error;
        format!("Fit({model}; mean error {error:.1} %, r2 {r2:.4}, {rows} steps)")
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py, Measured>> {
        let parts = self.steps.iter().map(|step| (step.size, (step.length, step.seconds)));
        let (sizes, (lengths, seconds)) = parts.unzip();
        let new_shape = self.fit.model.new_shape();
        Ok((py.get_type::<CostModel>().getattr("fit")?, (sizes, lengths, seconds, new_shape)))
    }
}

/// Measured steps as `CostModel.fit` takes them: batch sizes, batch lengths and seconds, and a new shape.
type Measured = (Vec<u32>, Vec<u32>, Vec<f64>, f64);

impl Fit {
    fn new(sizes: &[u32], lengths: &[u32], seconds: &[f64], new_shape: f64) -> Result<Self> {
        let counts = [sizes.len(), lengths.len(), seconds.len()];
        if counts != [sizes.len(); 3] {
            let [sizes, lengths, seconds] = counts;
            return Err(Failure::own(
                "CostError",
                format!("{sizes} batch sizes, {lengths} batch lengths and {seconds} times"),
                "give one of each for every measured step",
            ));
        }
        let rows = sizes.iter().zip(lengths).zip(seconds);
        let step = |((&size, &length), &seconds)| Step { size, length, seconds };
        let steps: Vec<Step> = rows.map(step).collect();
        let mut fit = lengthwise::CostModel::fit(&steps)?;
        fit.model = fit.model.with_new_shape(new_shape)?;
        Ok(Self { fit, steps })
    }

    /// The measured step that the model fits worst, as model files have it.
    fn worst_step(&self) -> WorstStep {
        let Step { size, length, seconds } = self.steps[self.fit.worst];
        WorstStep {
            line: self.fit.worst as u64 + 1,
            batch_size: size,
            batch_length: length,
            seconds,
            predicted_seconds: self.fit.model.seconds(size, length),
            relative_error: self.fit.worst_relative_error,
        }
    }
}
