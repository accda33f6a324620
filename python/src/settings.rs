//! Settings as Python has them: the strings of the command line, and numbers and objects where they
//! say it better.

use std::path::PathBuf;

use lengthwise::{
    Budget, Shapes, Steps, Strategy, Update,
    tune::{Kind, Like, Model},
};
use lengthwise_io::{model_file, model_file_of_budget, read_cost_model};
use pyo3::{
    PyTypeInfo,
    exceptions::PyOverflowError,
    inspect::PyStaticExpr,
    prelude::*,
    type_hint_identifier, type_hint_union,
    types::{PyBool, PyString},
};

use crate::cost::CostModel;
use crate::error::{Failure, Result};

/// What an argument can be.
pub(crate) trait Value: Sized {
    /// What the stubs say about it.
    const HINT: PyStaticExpr = type_hint_identifier!("_typeshed", "Incomplete");

    fn read(given: Borrowed<'_, '_, PyAny>) -> Result<Self>;
}

/// An argument that was given.
#[derive(Debug)]
pub(crate) struct Given<T>(pub(crate) T);

impl<'py, T: Value> FromPyObject<'_, 'py> for Given<T> {
    type Error = PyErr;

    const INPUT_TYPE: PyStaticExpr = T::HINT;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(T::read(given)?))
    }
}

/// What an argument is, if it was given.
pub(crate) fn given<T>(argument: Option<Given<T>>) -> Option<T> {
    argument.map(|argument| argument.0)
}

/// Reads an argument as a plain value, for `from_py_with`: its default is then a plain value too, which
/// `help` and the stubs show.
pub(crate) fn plain<T: Value>(given: &Bound<'_, PyAny>) -> PyResult<T> {
    Ok(T::read(given.as_borrowed())?)
}

/// Reads a text, for `from_py_with`: as [`plain`].
pub(crate) fn text<'a>(given: &'a Bound<'_, PyAny>) -> PyResult<&'a str> {
    given.cast::<PyString>().map_err(|_| expected("a str", given.as_borrowed()))?.to_str()
}

/// What is not of the type that an argument takes. `PyO3` tells the exception which argument that is, and
/// `lengthwise.errors` puts its name into the message.
pub(crate) fn expected(what: &str, given: Borrowed<'_, '_, PyAny>) -> Failure {
    let told = |text: PyResult<Bound<'_, PyString>>| {
        text.map_or_else(|_| String::new(), |text| text.to_string())
    };
    let mut shown = told(given.repr());
    if shown.chars().count() > 40 {
        shown = shown.chars().take(39).chain(['…']).collect();
    }
    let kind = told(given.get_type().name());
    let message = format!("expected {what}, got {shown} of type {kind}");
    Failure::own("ArgumentTypeError", message, format!("give {what}"))
}

/// Values of one type of Python, with what is said to be expected of them.
macro_rules! values {
    ($($kind:ty = $what:literal),*) => {$(
        impl Value for $kind {
            const HINT: PyStaticExpr = <$kind as FromPyObject>::INPUT_TYPE;

            fn read(given: Borrowed<'_, '_, PyAny>) -> Result<Self> {
                given.extract().map_err(|_| expected($what, given))
            }
        }
    )*};
}
values!(f64 = "a number", i64 = "a whole number", bool = "True or False", PathBuf = "a path");

/// Whole numbers; one that is too small or too large is a wrong setting.
macro_rules! whole {
    ($($number:ty),*) => {$(
        impl Value for $number {
            const HINT: PyStaticExpr = <$number as FromPyObject>::INPUT_TYPE;

            fn read(given: Borrowed<'_, '_, PyAny>) -> Result<Self> {
                given.extract().map_err(|error: PyErr| {
                    if !error.is_instance_of::<PyOverflowError>(given.py()) {
                        return expected("a whole number", given);
                    }
                    let hint = format!("it must be a whole number from 0 to {}", <$number>::MAX);
                    let given = given.to_owned();
                    Failure::setting(format!("{given} is too small or too large"), hint)
                })
            }
        }
    )*};
}
whole!(u32, u64);

/// Settings in their string forms.
macro_rules! parsed {
    ($($kind:ty),*) => {$(
        impl Value for $kind {
            const HINT: PyStaticExpr = <String as FromPyObject>::INPUT_TYPE;

            fn read(given: Borrowed<'_, '_, PyAny>) -> Result<Self> {
                Ok(text(&given)?.parse()?)
            }
        }
    )*};
}
parsed!(Shapes, Steps, Strategy, Update);

impl Value for String {
    const HINT: PyStaticExpr = <String as FromPyObject>::INPUT_TYPE;

    fn read(given: Borrowed<'_, '_, PyAny>) -> Result<Self> {
        Ok(text(&given)?.to_owned())
    }
}

impl<T: Value> Value for Vec<T> {
    fn read(given: Borrowed<'_, '_, PyAny>) -> Result<Self> {
        let items = given.try_iter().map_err(|_| expected("a list", given))?;
        items.map(|item| T::read(item?.as_borrowed())).collect()
    }
}

/// `"padded:20000"`, or a number of sequences; `cost:` may be followed by a model file.
impl Value for Budget {
    const HINT: PyStaticExpr = type_hint_union!(<&str>::INPUT_TYPE, u32::INPUT_TYPE);

    fn read(given: Borrowed<'_, '_, PyAny>) -> Result<Self> {
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
        let Some(path) = model_file_of_budget(&text) else { return Ok(text.parse()?) };
        let limits = text.split_once(',').map_or("", |(_, limits)| limits);
        Ok(format!("cost:{},{limits}", read_cost_model(path)?).parse()?)
    }
}

/// An object, a preset, coefficients, or a file.
impl Value for lengthwise::CostModel {
    const HINT: PyStaticExpr = type_hint_union!(CostModel::TYPE_HINT, PathBuf::INPUT_TYPE);

    fn read(given: Borrowed<'_, '_, PyAny>) -> Result<Self> {
        if let Ok(model) = given.cast::<CostModel>() {
            return Ok(model.get().0);
        }
        let path = || given.extract::<PathBuf>().map(|path| path.to_string_lossy().into_owned());
        let text = given.extract::<String>().or_else(|_| path()).map_err(|_| {
            expected("a CostModel, or the name, the coefficients or the file of one", given)
        })?;
        match model_file(&text) {
            Some(path) => Ok(read_cost_model(path)?),
            None => Ok(text.parse()?),
        }
    }
}

/// A kind of model, or a cost model.
impl Value for Model {
    const HINT: PyStaticExpr = <lengthwise::CostModel as Value>::HINT;

    fn read(given: Borrowed<'_, '_, PyAny>) -> Result<Self> {
        match given.extract::<String>() {
            Ok(text) if Model::NAMES.contains(&text.trim()) => Ok(text.parse()?),
            _ => Ok(Model::new(Kind::Attention, Some(lengthwise::CostModel::read(given)?))),
        }
    }
}

/// A batch size, or a string such as "32,keep=steps".
impl Value for Like {
    const HINT: PyStaticExpr = type_hint_union!(<&str>::INPUT_TYPE, u32::INPUT_TYPE);

    fn read(given: Borrowed<'_, '_, PyAny>) -> Result<Self> {
        match given.extract::<String>() {
            Ok(text) => Ok(text.parse()?),
            Err(_) => Ok(u32::read(given)?.to_string().parse()?),
        }
    }
}

/// The budget of equal memory, or the one that was given, or the default.
pub(crate) fn budget_like(
    budget: Option<Given<Budget>>,
    like: Option<Like>,
) -> Result<Option<Budget>> {
    match (given(budget), like) {
        (Some(budget), Some(like)) => Err(Failure::setting(
            format!("both `budget` ({budget}) and `like` ({like}) are given"),
            "give one of them",
        )),
        (budget, like) => Ok(budget.or(like.map(Like::budget))),
    }
}

/// Refuses an argument that is 0.
pub(crate) fn at_least_one(name: &str, value: u32) -> Result<()> {
    let zero = || Failure::setting(format!("`{name}` is 0"), "it must be a whole number from 1");
    if value > 0 { Ok(()) } else { Err(zero()) }
}
