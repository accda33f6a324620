//! Trainings on disk: files in the safetensors format, whole or not there.

use std::{fs, io::Write, path::Path};

use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use serde::{Deserialize, Serialize};

use crate::{
    Error,
    model::Model,
    trial::{Place, Snapshot},
};

/// What is said about the numbers, beside them.
#[derive(Serialize, Deserialize)]
struct About {
    /// Of this file's form.
    version: u32,
    /// All settings that a training depends on.
    identity: String,
    place: Place,
}

/// The form of the files.
const VERSION: u32 = 1;
/// Under which key it is said.
const KEY: &str = "lengthwise";
/// The states of the optimizer.
const STATES: [&str; 2] = ["optimizer.first", "optimizer.second"];

/// Writes a training: parameters under the names of their layers, the states of the optimizer, and how
/// far it is. `identity` holds all settings that it depends on.
pub fn save(path: &Path, model: &Model, identity: &str, snapshot: &Snapshot) -> Result<(), Error> {
    let bytes = |values: &[f32]| -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    };
    let parts = model.tensors().iter().map(|tensor| {
        let values = &snapshot.parameters[tensor.at..tensor.at + tensor.count()];
        (tensor.name.clone(), tensor.shape.clone(), bytes(values))
    });
    let states = STATES
        .iter()
        .zip(&snapshot.state)
        .map(|(name, state)| ((*name).to_owned(), vec![state.len()], bytes(state)));
    let all: Vec<(String, Vec<usize>, Vec<u8>)> = parts.chain(states).collect();
    let cannot = |what: String| Error::new(format!("{}: {what}", path.display()), "report this");
    let views = all
        .iter()
        .map(|(name, shape, bytes)| {
            TensorView::new(Dtype::F32, shape.clone(), bytes)
                .map(|view| (name.clone(), view))
                .map_err(|error| cannot(error.to_string()))
        })
        .collect::<Result<Vec<_>, _>>()?;
    let about =
        About { version: VERSION, identity: identity.to_owned(), place: snapshot.place.clone() };
    let about = serde_json::to_string(&about).map_err(|error| cannot(error.to_string()))?;
    let data = safetensors::serialize(views, Some([(KEY.to_owned(), about)].into()))
        .map_err(|error| cannot(error.to_string()))?;
    lengthwise_files::save(path, |file| file.write_all(&data))?;
    Ok(())
}

/// Reads a training back. Nothing where there is no such file.
pub fn load(path: &Path, model: &Model, identity: &str) -> Result<Option<Snapshot>, Error> {
    let data = match fs::read(path) {
        Ok(data) => data,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(Error::new(
                format!("{}: {error}", path.display()),
                "make it readable, or begin anew with `--fresh`",
            ));
        }
    };
    read(&data, model, identity).map(Some).map_err(|what| {
        Error::new(
            format!("{}: {what}", path.display()),
            "name another folder with `--out`, or begin anew with `--fresh`",
        )
    })
}

fn read(data: &[u8], model: &Model, identity: &str) -> Result<Snapshot, String> {
    let damaged = |why: String| format!("this is no checkpoint of ours, or it is damaged ({why})");
    let (_, metadata) =
        SafeTensors::read_metadata(data).map_err(|error| damaged(error.to_string()))?;
    let about = metadata.metadata().as_ref().and_then(|all| all.get(KEY));
    let about = about.ok_or_else(|| damaged("it does not say how far it is".to_owned()))?;
    let about: About = serde_json::from_str(about).map_err(|error| damaged(error.to_string()))?;
    if about.version != VERSION {
        return Err(format!("it is of version {}, and this is {VERSION}", about.version));
    }
    if about.identity != identity {
        return Err("it was made with other settings or other data".to_owned());
    }
    let tensors = SafeTensors::deserialize(data).map_err(|error| damaged(error.to_string()))?;
    let read = |name: &str, count: usize| -> Result<Vec<f32>, String> {
        let view = tensors.tensor(name).map_err(|error| damaged(error.to_string()))?;
        if view.dtype() != Dtype::F32 || view.data().len() != 4 * count {
            return Err(damaged(format!("`{name}` has another size")));
        }
        let float = |bytes: &[u8]| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        Ok(view.data().chunks_exact(4).map(float).collect())
    };
    let mut parameters = Vec::with_capacity(model.parameters());
    for tensor in model.tensors() {
        parameters.extend(read(&tensor.name, tensor.count())?);
    }
    let [first, second] = STATES.map(|name| read(name, model.parameters()));
    Ok(Snapshot { place: about.place, parameters, state: [first?, second?] })
}
