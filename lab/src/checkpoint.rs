//! Trainings on disk: files in the safetensors format, whole or not there. A checksum tells whether a file is as
//! it was written.

use std::{fs, path::Path};

use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use xxhash_rust::xxh3::Xxh3;

use crate::{
    bytes::{floats, of_floats},
    error::Error,
    files::keep,
    model::Model,
    progress::{Progress, Snapshot, Weights},
};

/// What is said about the numbers, beside them.
#[derive(Serialize, Deserialize)]
struct About {
    /// Of this file's form.
    version: u32,
    /// All settings that a training depends on.
    identity: String,
    #[serde(rename = "place")]
    progress: Progress,
    /// How many workers' numbers there are, where they differ.
    workers: usize,
}

/// The one thing that files of every form say.
#[derive(Deserialize)]
struct Version {
    version: u32,
}

/// The form of the files.
const VERSION: u32 = 3;
/// Under which key it is said.
const KEY: &str = "lengthwise";
/// The key of the checksum of all that a file says.
const CHECKSUM: &str = "lengthwise.checksum";
/// What all workers had in common, where they have not now.
const COMMON: &str = "common";
/// The states of the optimizer.
const STATES: [&str; 2] = ["optimizer.first", "optimizer.second"];

/// Writes a training: parameters under the names of their layers, the states of the optimizer, and how
/// far it is. `identity` holds all settings that it depends on.
pub fn save(path: &Path, model: &Model, identity: &str, snapshot: &Snapshot) -> Result<(), Error> {
    let mut all: Vec<(String, Vec<usize>, Vec<u8>)> = Vec::new();
    for (worker, weights) in snapshot.weights.iter().enumerate() {
        let of = prefix(worker);
        for tensor in model.tensors() {
            let values = &weights.parameters[tensor.at..tensor.at + tensor.count()];
            all.push((format!("{of}{}", tensor.name), tensor.shape.clone(), of_floats(values)));
        }
        for (name, state) in STATES.iter().zip(&weights.state) {
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
        progress: snapshot.progress.clone(),
        workers: snapshot.weights.len(),
    };
    let about = serde_json::to_string(&about).map_err(|error| cannot(error.to_string()))?;
    let checksum = checksum(&about, &views);
    let metadata = [(KEY.to_owned(), about), (CHECKSUM.to_owned(), checksum)];
    let data = safetensors::serialize(views, Some(metadata.into()))
        .map_err(|error| cannot(error.to_string()))?;
    keep(path, &data)
}

/// A checksum of what is said about the numbers, and of all tensors in the order of their names.
fn checksum(about: &str, tensors: &[(String, TensorView<'_>)]) -> String {
    let mut hash = Xxh3::new();
    // The size of each part too, so that nothing can move from one to the next.
    let mut add = |part: &[u8]| {
        hash.update(&(part.len() as u64).to_le_bytes());
        hash.update(part);
    };
    add(about.as_bytes());
    let mut tensors: Vec<_> = tensors.iter().collect();
    tensors.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
    for (name, view) in tensors {
        add(name.as_bytes());
        add(format!("{:?} {:?}", view.dtype(), view.shape()).as_bytes());
        add(view.data());
    }
    format!("{:032x}", hash.digest128())
}

/// The names of what differs between two identities, to be read after what is wrong; nothing if they have no names.
fn differing(one: &str, other: &str) -> String {
    let (Ok(one), Ok(other)) = (serde_json::from_str(one), serde_json::from_str(other)) else {
        return String::new();
    };
    let mut names = Vec::new();
    add_differing("", &one, &other, &mut names);
    if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) }
}

fn add_differing(name: &str, one: &Value, other: &Value, names: &mut Vec<String>) {
    match (one, other) {
        (Value::Object(own), Value::Object(its)) => {
            for key in own.keys().chain(its.keys().filter(|key| !own.contains_key(*key))) {
                let name = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
                add_differing(&name, &one[key], &other[key], names);
            }
        }
        _ if one != other && !name.is_empty() => names.push(format!("`{name}`")),
        _ => {}
    }
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
            "begin anew with `--fresh`, name another folder with `--out`, or delete this file to repeat this training only",
        )
    })
}

fn read(data: &[u8], model: &Model, identity: &str) -> Result<Snapshot, String> {
    let damaged = |why: String| format!("this is no checkpoint of ours, or it is damaged ({why})");
    if data.is_empty() {
        return Err(damaged("the file is empty".to_owned()));
    }
    let (_, metadata) =
        SafeTensors::read_metadata(data).map_err(|error| damaged(error.to_string()))?;
    let said = |key: &str| metadata.metadata().as_ref().and_then(|all| all.get(key));
    let about = said(KEY).ok_or_else(|| damaged("it does not say how far it is".to_owned()))?;
    let Version { version } =
        serde_json::from_str(about).map_err(|error| damaged(error.to_string()))?;
    if version != VERSION {
        return Err(format!("it is of version {version}, and this is {VERSION}"));
    }
    let tensors = SafeTensors::deserialize(data).map_err(|error| damaged(error.to_string()))?;
    let expected = said(CHECKSUM).ok_or_else(|| damaged("it has no checksum".to_owned()))?;
    let found = checksum(about, &tensors.tensors());
    if *expected != found {
        return Err(damaged(format!("expected the checksum {expected}, got {found}")));
    }
    let about: About = serde_json::from_str(about).map_err(|error| damaged(error.to_string()))?;
    if about.identity != identity {
        let differing = differing(&about.identity, identity);
        return Err(format!("it was made with other settings or other data{differing}"));
    }
    let read = |name: &str, count: usize| -> Result<Vec<f32>, String> {
        let view = tensors.tensor(name).map_err(|error| damaged(error.to_string()))?;
        if view.dtype() != Dtype::F32 || view.data().len() != 4 * count {
            return Err(damaged(format!("`{name}` has another size")));
        }
        Ok(floats(view.data()))
    };
    let count = model.parameters();
    let weights = |worker: usize| -> Result<Weights, String> {
        let of = prefix(worker);
        let mut parameters = Vec::with_capacity(count);
        for tensor in model.tensors() {
            parameters.extend(read(&format!("{of}{}", tensor.name), tensor.count())?);
        }
        let [first, second] = STATES.map(|name| read(&format!("{of}{name}"), count));
        Ok(Weights { parameters, state: [first?, second?] })
    };
    let common = tensors.names().contains(&COMMON).then(|| read(COMMON, count)).transpose()?;
    let weights = (0..about.workers).map(weights).collect::<Result<_, _>>()?;
    Ok(Snapshot { progress: about.progress, weights, common })
}
