//! Settings as Python has them: the strings of the command line, and numbers and objects where they
//! say it better.

use std::str::FromStr;

use lengthwise::Budget;
use lengthwise_files::{model_file, model_file_of_budget, read_cost_model};
use pyo3::{
    PyTypeInfo, exceptions::PyOverflowError, inspect::PyStaticExpr, prelude::*, type_hint_union,
    types::PyBool,
};

use crate::{cost::CostModel, error::Failure};

/// A setting that may be left out.
pub(crate) fn parsed<T: FromStr<Err = lengthwise::Error>>(
    given: Option<&str>,
) -> Result<Option<T>, Failure> {
    Ok(given.map(str::parse).transpose()?)
}

/// A budget: `"padded:20000"`, or a number of sequences.
#[derive(Debug)]
pub(crate) struct BudgetArgument(pub(crate) Budget);

impl<'py> FromPyObject<'_, 'py> for BudgetArgument {
    type Error = PyErr;

    const INPUT_TYPE: PyStaticExpr = type_hint_union!(<&str>::INPUT_TYPE, u32::INPUT_TYPE);

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let text = if given.is_instance_of::<PyBool>() {
            "true".to_owned()
        } else if let Ok(number) = given.extract::<i64>() {
            number.to_string()
        } else {
            given.extract::<String>()?
        };
        Ok(Self(budget(&text)?))
    }
}

impl BudgetArgument {
    pub(crate) fn sequences(count: u32) -> Self {
        Self(Budget::sequences(count))
    }
}

/// A budget, in which `cost:` may be followed by a model file.
fn budget(given: &str) -> Result<Budget, Failure> {
    match model_file_of_budget(given) {
        Some(path) => {
            let limits = given.split_once(',').map_or("", |(_, limits)| limits);
            Ok(format!("cost:{},{limits}", read_cost_model(path)?).parse()?)
        }
        None => Ok(given.parse()?),
    }
}

/// A cost model: an object, a preset, coefficients, or a file.
#[derive(Debug)]
pub(crate) struct ModelArgument(pub(crate) lengthwise::CostModel);

impl<'py> FromPyObject<'_, 'py> for ModelArgument {
    type Error = PyErr;

    const INPUT_TYPE: PyStaticExpr =
        type_hint_union!(CostModel::TYPE_HINT, std::path::PathBuf::INPUT_TYPE);

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(model) = given.cast::<CostModel>() {
            return Ok(Self(model.get().0));
        }
        let text = match given.extract::<String>() {
            Ok(text) => text,
            Err(_) => given.extract::<std::path::PathBuf>()?.to_string_lossy().into_owned(),
        };
        Ok(Self(model(&text)?))
    }
}

fn model(given: &str) -> Result<lengthwise::CostModel, Failure> {
    match model_file(given) {
        Some(path) => Ok(read_cost_model(path)?),
        None => Ok(given.parse()?),
    }
}

/// A whole number; one that is too small or too large is a wrong setting.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Whole<T>(pub(crate) T);

macro_rules! whole {
    ($($number:ty),*) => {$(
        impl<'py> FromPyObject<'_, 'py> for Whole<$number> {
            type Error = PyErr;

            const INPUT_TYPE: PyStaticExpr = <$number>::INPUT_TYPE;

            fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
                given.extract().map(Self).map_err(|error| {
                    if !error.is_instance_of::<PyOverflowError>(given.py()) {
                        return error;
                    }
                    Failure::Own(
                        "SettingError",
                        format!("{} is too small or too large", given.to_owned()),
                        format!("it must be a whole number from 0 to {}", <$number>::MAX),
                    )
                    .into()
                })
            }
        }
    )*};
}
whole!(u32, u64);

/// Reads a [`Whole`] number as a plain one, for `from_py_with`: its default is then a plain number too,
/// which `help` and the stubs show.
pub(crate) fn whole<'py, T>(given: &Bound<'py, PyAny>) -> PyResult<T>
where
    for<'a> Whole<T>: FromPyObject<'a, 'py, Error = PyErr>,
{
    Ok(given.extract::<Whole<T>>()?.0)
}
