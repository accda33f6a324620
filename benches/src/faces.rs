//! What the same plan takes from Rust, from Python and with the command, on one core: in one run, in turns, beside what
//! NumPy takes to compute the keys and to sort them.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

use lengthwise::Example;

use crate::{
    args::Args,
    data, growth,
    output::Output,
    stats::{grouped, line, short},
};

/// The times of one set of lengths, in nanoseconds: the least of all turns.
#[derive(Debug)]
pub(crate) struct Row {
    example: Example,
    sequences: u32,
    times: Vec<(String, u64)>,
}

/// What each time is, in the order of the table.
const FACES: [(&str, &str); 8] = [
    ("rust_first", "Rust, `Planner::plan_in`, first epoch"),
    ("rust_later", "the same, later epochs"),
    ("command_first", "command, the planning of `lengthwise compare`"),
    ("python_first", "Python, `Planner.plan`, first epoch"),
    ("python_later", "the same, later epochs"),
    ("sampler_later", "Python, `BatchSampler` up to the first batch, later epochs"),
    ("default_first", "Python, `Planner.plan` without a strategy, first epoch"),
    ("default_later", "the same, later epochs"),
];

/// How often each is measured.
const TURNS: u32 = 5;

pub(crate) fn run(args: &Args, output: &mut Output) -> io::Result<Vec<Row>> {
    let python = args.numpy.clone().unwrap_or_else(|| PathBuf::from("python3"));
    let command = args.command.clone().unwrap_or_else(|| PathBuf::from("lengthwise"));
    let sequences = args.sequences.unwrap_or(if args.quick { 1_000_000 } else { 10_000_000 });
    let mut rows = Vec::new();
    for example in Example::ALL {
        let numbers = data::lengths(example, sequences).as_slice().to_vec();
        let path =
            std::env::temp_dir().join(format!("lengthwise-faces-{}.npy", std::process::id()));
        fs::write(&path, npy(&numbers))?;
        let mut row = Row { example, sequences, times: Vec::new() };
        let turns = if args.quick { 1 } else { TURNS };
        let mut measured = Ok(());
        for turn in 0..turns {
            eprintln!("faces: {} like {example}, turn {}", grouped(sequences.into()), turn + 1);
            let [first, later] = growth::one_thread(&numbers, example, 4);
            row.add("rust_first", first);
            row.add("rust_later", later);
            measured = row.others(&python, &command, &path);
            if measured.is_err() {
                break;
            }
        }
        fs::remove_file(&path)?;
        measured?;
        output.raw(&row.raw())?;
        rows.push(row);
    }
    Ok(rows)
}

/// The lengths as a NumPy file.
fn npy(numbers: &[u32]) -> Vec<u8> {
    let about =
        format!("{{'descr': '<u4', 'fortran_order': False, 'shape': ({},), }}", numbers.len());
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    // The header ends with a line feed, and all of it is a multiple of 64 bytes.
    let size = (10 + about.len() + 1).next_multiple_of(64) - 10;
    bytes.extend((size as u16).to_le_bytes());
    bytes.extend(format!("{about:<0$}\n", size - 1).bytes());
    bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    bytes
}

impl Row {
    /// Keeps a time if it is the least.
    fn add(&mut self, name: &str, time: u64) {
        match self.times.iter_mut().find(|(other, _)| other == name) {
            Some((_, least)) => *least = time.min(*least),
            None => self.times.push((name.to_owned(), time)),
        }
    }

    /// Asks `python/faces.py` for the other times.
    fn others(&mut self, python: &Path, command: &Path, lengths: &Path) -> io::Result<()> {
        let program = concat!(env!("CARGO_MANIFEST_DIR"), "/python/faces.py");
        let answer = Command::new(python).arg(program).arg(lengths).arg(command).output()?;
        let text = String::from_utf8_lossy(&answer.stdout);
        if !answer.status.success() {
            return Err(io::Error::other(String::from_utf8_lossy(&answer.stderr).into_owned()));
        }
        for pair in text.trim().trim_matches(['{', '}']).split(", ") {
            let Some((name, time)) = pair.split_once(": ") else { continue };
            self.add(name.trim_matches('"'), time.parse().map_err(io::Error::other)?);
        }
        Ok(())
    }

    fn each(&self, name: &str) -> f64 {
        let time = self.times.iter().find(|(other, _)| other == name).map_or(0, |&(_, time)| time);
        time as f64 / f64::from(self.sequences)
    }

    fn raw(&self) -> String {
        let times: Vec<String> =
            self.times.iter().map(|(name, time)| format!("\"{name}_ns\":{time}")).collect();
        format!(
            "{{\"kind\":\"faces\",\"lengths\":\"{}\",\"sequences\":{},{}}}",
            self.example,
            self.sequences,
            times.join(",")
        )
    }
}

/// A line for each face, with a pair of columns for each set of lengths.
pub(crate) fn table(rows: &[Row]) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let names: Vec<String> =
        rows.iter().map(|row| format!("{0}, ns each | NumPy ÷ {0}", row.example)).collect();
    let mut text = format!(
        "## From Rust, from Python and with the command\n\n{} sequences on one core.\n\n| | {} |\n|---|{}\n",
        grouped(first.sequences.into()),
        names.join(" | "),
        "--:|--:|".repeat(rows.len())
    );
    let mut cells = vec!["NumPy, key and argsort".to_owned()];
    for row in rows {
        cells.extend([short(row.each("numpy")), "1.0".to_owned()]);
    }
    text += &line(&cells);
    for (name, what) in FACES {
        let mut cells = vec![what.to_owned()];
        for row in rows {
            cells.extend([short(row.each(name)), short(row.each("numpy") / row.each(name))]);
        }
        text += &line(&cells);
    }
    text + "\n"
}
