//! Settings as Python has them: the strings of the command line, and numbers and objects where they
//! say it better.

use std::{path::PathBuf, str::FromStr};

use lengthwise::Budget;
use lengthwise_io::{model_file, model_file_of_budget, read_cost_model};
use pyo3::{
    PyTypeInfo,
    exceptions::PyOverflowError,
    inspect::PyStaticExpr,
    prelude::*,
    type_hint_union,
    types::{PyBool, PyString},
};

use crate::{
    cost::CostModel,
    error::{Failure, Result},
};

/// What is not of the type that an argument takes. `PyO3` tells the exception which argument that is, and
/// `lengthwise.errors` puts its name into the message.
pub(crate) fn expected(what: &str, given: Borrowed<'_, '_, PyAny>) -> PyErr {
    let told = |text: PyResult<Bound<'_, PyString>>| {
        text.map_or_else(|_| String::new(), |text| text.to_string())
    };
    let mut shown = told(given.repr());
    if shown.chars().count() > 40 {
        shown = shown.chars().take(39).chain(['…']).collect();
    }
    let what_came =
        format!("expected {what}, got {shown} of type {}", told(given.get_type().name()));
    Failure::own("ArgumentTypeError", what_came, format!("give {what}")).into()
}

/// A text.
#[derive(Clone, Debug)]
pub(crate) struct Text(pub(crate) String);

impl<'py> FromPyObject<'_, 'py> for Text {
    type Error = PyErr;

    const INPUT_TYPE: PyStaticExpr = <String as FromPyObject>::INPUT_TYPE;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        text(&given).map(|text| Self(text.to_owned()))
    }
}

/// A setting in its string form.
#[derive(Clone, Debug)]
pub(crate) struct Parsed<T>(pub(crate) T);

impl<'py, T: FromStr<Err = lengthwise::Error>> FromPyObject<'_, 'py> for Parsed<T> {
    type Error = PyErr;

    const INPUT_TYPE: PyStaticExpr = Text::INPUT_TYPE;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let text: Text = given.extract()?;
        Ok(Self(text.0.parse().map_err(Failure::Plan)?))
    }
}

/// What a setting is that was given, if it was.
pub(crate) fn given<T>(setting: Option<Parsed<T>>) -> Option<T> {
    setting.map(|setting| setting.0)
}

/// Arguments of one type, with what is said to be expected of them.
macro_rules! argument {
    ($($(#[$about:meta])* $name:ident($kind:ty) = $what:literal;)*) => {$(
        $(#[$about])*
        #[derive(Clone, Debug)]
        pub(crate) struct $name(pub(crate) $kind);

        impl<'py> FromPyObject<'_, 'py> for $name {
            type Error = PyErr;

            const INPUT_TYPE: PyStaticExpr = <$kind as FromPyObject>::INPUT_TYPE;

            fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
                given.extract().map(Self).map_err(|_| expected($what, given))
            }
        }
    )*};
}

argument! {
    /// A number.
    Number(f64) = "a number";
    /// A whole number that may be below 0.
    Signed(i64) = "a whole number";
    /// Yes or no.
    Flag(bool) = "True or False";
    /// The path of a file.
    FilePath(PathBuf) = "a path";
}

/// Several of something.
#[derive(Clone, Debug)]
pub(crate) struct Several<T>(pub(crate) Vec<T>);

impl<'py, T: FromPyObjectOwned<'py, Error = PyErr>> FromPyObject<'_, 'py> for Several<T> {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let items = given.try_iter().map_err(|_| expected("a list", given))?;
        items.map(|item| item?.extract()).collect::<PyResult<_>>().map(Self)
    }
}

/// A budget: `"padded:20000"`, or a number of sequences.
#[derive(Debug)]
pub(crate) struct BudgetArgument(pub(crate) Budget);

impl<'py> FromPyObject<'_, 'py> for BudgetArgument {
    type Error = PyErr;

    const INPUT_TYPE: PyStaticExpr = type_hint_union!(<&str>::INPUT_TYPE, u32::INPUT_TYPE);

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let text = if given.is_instance_of::<PyBool>() {
            None
        } else if let Ok(number) = given.extract::<i64>() {
            Some(number.to_string())
        } else {
            given.extract::<String>().ok()
        };
        let text = text.ok_or_else(|| {
            expected("a budget such as \"padded:20000\", or a whole number of sequences", given)
        })?;
        Ok(Self(budget(&text)?))
    }
}

impl BudgetArgument {
    pub(crate) fn sequences(count: u32) -> Self {
        Self(Budget::sequences(count))
    }
}

/// A budget, in which `cost:` may be followed by a model file.
fn budget(given: &str) -> Result<Budget> {
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
        let path = || given.extract::<PathBuf>().map(|path| path.to_string_lossy().into_owned());
        let text = given.extract::<String>().or_else(|_| path()).map_err(|_| {
            expected("a CostModel, or the name, the coefficients or the file of one", given)
        })?;
        Ok(Self(match model_file(&text) {
            Some(path) => read_cost_model(path).map_err(Failure::from)?,
            None => text.parse().map_err(Failure::Plan)?,
        }))
    }
}

/// A whole number; one that is too small or too large is a wrong setting.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Whole<T>(pub(crate) T);

macro_rules! whole {
    ($($number:ty),*) => {$(
        impl<'py> FromPyObject<'_, 'py> for Whole<$number> {
            type Error = PyErr;

            const INPUT_TYPE: PyStaticExpr = <$number as FromPyObject>::INPUT_TYPE;

            fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
                given.extract().map(Self).map_err(|error: PyErr| {
                    if !error.is_instance_of::<PyOverflowError>(given.py()) {
                        return expected("a whole number", given);
                    }
                    let hint = format!("it must be a whole number from 0 to {}", <$number>::MAX);
                    let given = given.to_owned();
                    Failure::setting(format!("{given} is too small or too large"), hint).into()
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

/// Reads a text, for `from_py_with`: as [`whole()`].
pub(crate) fn text<'a>(given: &'a Bound<'_, PyAny>) -> PyResult<&'a str> {
    given.cast::<PyString>().map_err(|_| expected("a str", given.as_borrowed()))?.to_str()
}

/// Reads a [`Flag`], for `from_py_with`: as [`whole()`].
pub(crate) fn flag(given: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(given.extract::<Flag>()?.0)
}

/// Refuses an argument that is 0.
pub(crate) fn at_least_one(name: &str, value: u32) -> Result<()> {
    let zero = || Failure::setting(format!("`{name}` is 0"), "it must be a whole number from 1");
    if value > 0 { Ok(()) } else { Err(zero()) }
}
