//! Sequences that stay together, kinds that do not mix, and mixes of kinds.

use std::sync::Arc;

use lengthwise::groups::Mix;
use numpy::{PyArray1, PyArrayMethods as _};
use pyo3::{prelude::*, types::PyDict};

use crate::error::{Failure, Result};
use crate::settings::{Value, expected};

/// The number of the group of each sequence, from any ids that can be compared and hashed.
#[derive(Debug)]
pub(crate) struct Groups(pub(crate) Vec<u32>);

impl Value for Groups {
    fn read(given: Borrowed<'_, '_, PyAny>) -> Result<Self> {
        let ids = given.py().import("lengthwise._convert")?.call_method1("groups", (given,))?;
        Ok(Self(numbers(&ids)?))
    }
}

/// The number of the kind of each sequence, and the names of the kinds.
#[derive(Debug)]
pub(crate) struct Kinds {
    pub(crate) numbers: Vec<u32>,
    pub(crate) names: Vec<String>,
}

impl Value for Kinds {
    fn read(given: Borrowed<'_, '_, PyAny>) -> Result<Self> {
        let read = given.py().import("lengthwise._convert")?.call_method1("kinds", (given,))?;
        let (ids, names): (Bound<'_, PyAny>, Vec<String>) = read.extract()?;
        Ok(Self { numbers: numbers(&ids)?, names })
    }
}

fn numbers(ids: &Bound<'_, PyAny>) -> Result<Vec<u32>> {
    Ok(ids.cast::<PyArray1<u32>>().map_err(PyErr::from)?.to_vec().map_err(PyErr::from)?)
}

/// A weight for each kind, by its name.
#[derive(Debug)]
pub(crate) struct Weights(Vec<(String, f64)>);

impl Value for Weights {
    fn read(given: Borrowed<'_, '_, PyAny>) -> Result<Self> {
        let what = "a dict of kinds and weights";
        let weights = given.cast::<PyDict>().map_err(|_| expected(what, given))?.iter();
        let weights = weights.map(|(kind, weight)| {
            let weight =
                weight.extract().map_err(|_| expected("a number", weight.as_borrowed()))?;
            Ok((kind.str()?.to_string(), weight))
        });
        Ok(Self(weights.collect::<Result<_>>()?))
    }
}

impl Weights {
    /// The weights in the order of these kinds, each of which must have one.
    pub(crate) fn of(self, names: Option<&Arc<Vec<String>>>) -> Result<Mix> {
        let Some(names) = names else {
            return Err(Failure::setting("`mix` is given without kinds", "give `kind` as well"));
        };
        let listed = || {
            let some = names.iter().take(8).map(|name| format!("{name:?}")).collect::<Vec<_>>();
            let more = if names.len() > 8 { ", …" } else { "" };
            format!("give one for each kind: {}{more}; 0 leaves a kind out", some.join(", "))
        };
        if let Some((kind, _)) = self.0.iter().find(|(kind, _)| !names.contains(kind)) {
            return Err(Failure::setting(
                format!("`mix` has a weight for {kind:?}, which is no kind"),
                listed(),
            ));
        }
        let weight = |name: &String| {
            let found = self.0.iter().find(|(kind, _)| kind == name);
            let missing =
                || Failure::setting(format!("`mix` has no weight for kind {name:?}"), listed());
            found.map(|(_, weight)| *weight).ok_or_else(missing)
        };
        Ok(Mix::new(names.iter().map(weight).collect::<Result<Vec<f64>>>()?)?)
    }
}
