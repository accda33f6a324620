//! Trainings on disk: files in the safetensors format, whole or not there.

use std::{fs, io::Write, path::Path};

use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use serde::{Deserialize, Serialize};

use crate::{
    Error,
    bytes::{floats, of_floats},
    model::Model,
    place::{Learnt, Place, Snapshot},
};

/// What is said about the numbers, beside them.
#[derive(Serialize, Deserialize)]
struct About {
    /// Of this file's form.
    version: u32,
    /// All settings that a training depends on.
    identity: String,
    place: Place,
    /// How many workers' numbers there are, where they differ.
    workers: usize,
}

/// The one thing that files of every form say.
#[derive(Deserialize)]
struct Version {
    version: u32,
}

/// The form of the files.
const VERSION: u32 = 2;
/// Under which key it is said.
const KEY: &str = "lengthwise";
/// What all workers had in common, where they have not now.
const COMMON: &str = "common";
/// The states of the optimizer.
const STATES: [&str; 2] = ["optimizer.first", "optimizer.second"];

/// Writes a training: parameters under the names of their layers, the states of the optimizer, and how
/// far it is. `identity` holds all settings that it depends on.
pub fn save(path: &Path, model: &Model, identity: &str, snapshot: &Snapshot) -> Result<(), Error> {
    let mut all: Vec<(String, Vec<usize>, Vec<u8>)> = Vec::new();
    for (worker, learnt) in snapshot.learnt.iter().enumerate() {
        let of = prefix(worker);
        for tensor in model.tensors() {
            let values = &learnt.parameters[tensor.at..tensor.at + tensor.count()];
            all.push((format!("{of}{}", tensor.name), tensor.shape.clone(), of_floats(values)));
        }
        for (name, state) in STATES.iter().zip(&learnt.state) {
            all.push((format!("{of}{name}"), vec![state.len()], of_floats(state)));
        }
    }
    if let Some(common) = &snapshot.common {
        all.push((COMMON.to_owned(), vec![common.len()], of_floats(common)));
    }
    let cannot = |what: String| Error::new(format!("{}: {what}", path.display()), "report this");
    let views = all
        .iter()
        .map(|(name, shape, bytes)| {
            TensorView::new(Dtype::F32, shape.clone(), bytes)
                .map(|view| (name.clone(), view))
                .map_err(|error| cannot(error.to_string()))
        })
        .collect::<Result<Vec<_>, _>>()?;
    let about = About {
        version: VERSION,
        identity: identity.to_owned(),
        place: snapshot.place.clone(),
        workers: snapshot.learnt.len(),
    };
    let about = serde_json::to_string(&about).map_err(|error| cannot(error.to_string()))?;
    let data = safetensors::serialize(views, Some([(KEY.to_owned(), about)].into()))
        .map_err(|error| cannot(error.to_string()))?;
    lengthwise_io::save(path, |file| file.write_all(&data))?;
    Ok(())
}

/// How names of a worker's tensors begin; those of the first have the names that other programs know.
fn prefix(worker: usize) -> String {
    if worker == 0 { String::new() } else { format!("worker{worker}.") }
}

/// Reads a training back. Nothing where there is no such file.
pub fn load(path: &Path, model: &Model, identity: &str) -> Result<Option<Snapshot>, Error> {
    bytes_of(path)?.map(|data| parse(path, &data, model, identity)).transpose()
}

/// The bytes of a kept training. Nothing where there is no such file.
pub(crate) fn bytes_of(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    match fs::read(path) {
        Ok(data) => Ok(Some(data)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::new(
            format!("{}: {error}", path.display()),
            "make it readable, or begin anew with `--fresh`",
        )),
    }
}

/// A training from the bytes of its file.
pub(crate) fn parse(
    path: &Path,
    data: &[u8],
    model: &Model,
    identity: &str,
) -> Result<Snapshot, Error> {
    read(data, model, identity).map_err(|what| {
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
    let Version { version } =
        serde_json::from_str(about).map_err(|error| damaged(error.to_string()))?;
    if version != VERSION {
        return Err(format!("it is of version {version}, and this is {VERSION}"));
    }
    let about: About = serde_json::from_str(about).map_err(|error| damaged(error.to_string()))?;
    if about.identity != identity {
        return Err("it was made with other settings or other data".to_owned());
    }
    let tensors = SafeTensors::deserialize(data).map_err(|error| damaged(error.to_string()))?;
    let read = |name: &str, count: usize| -> Result<Vec<f32>, String> {
        let view = tensors.tensor(name).map_err(|error| damaged(error.to_string()))?;
        if view.dtype() != Dtype::F32 || view.data().len() != 4 * count {
            return Err(damaged(format!("`{name}` has another size")));
        }
        Ok(floats(view.data()))
    };
    let count = model.parameters();
    let learnt = |worker: usize| -> Result<Learnt, String> {
        let of = prefix(worker);
        let mut parameters = Vec::with_capacity(count);
        for tensor in model.tensors() {
            parameters.extend(read(&format!("{of}{}", tensor.name), tensor.count())?);
        }
        let [first, second] = STATES.map(|name| read(&format!("{of}{name}"), count));
        Ok(Learnt { parameters, state: [first?, second?] })
    };
    let common = tensors.names().contains(&COMMON).then(|| read(COMMON, count)).transpose()?;
    let learnt = (0..about.workers).map(learnt).collect::<Result<_, _>>()?;
    Ok(Snapshot { place: about.place, learnt, common })
}
