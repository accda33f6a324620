//! How fast lengths are read: `cargo run --release --example throughput [FILE]`.
//!
//! Prints megabytes a second, and the ratio to a plain count of newlines over the same bytes in the
//! same run, which says more than the first number on a machine that is busy. Without a file, it
//! reads a table of 2,000,000 lines that it makes up.
#![expect(clippy::print_stdout, reason = "this program is for people")]

use std::fs;
use std::hint::black_box;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use lengthwise_io::{IdColumn, Reader};

const LINES: u64 = 2_000_000;
const ROUNDS: usize = 5;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let path = match std::env::args_os().nth(1) {
        Some(path) => PathBuf::from(path),
        None => table(folder.path())?,
    };
    let megabytes = path.metadata()?.len() as f64 / 1e6;
    let speed = |seconds: f64| megabytes / seconds;
    let scan = speed(fastest(|| scan(&path))?);
    println!("{megabytes:.0} MB; newlines alone {scan:.0} MB/s");
    for (name, reader) in
        [("lengths", Reader::new()), ("lengths and ids", Reader::new().ids(IdColumn::Usual))]
    {
        let speed = speed(fastest(|| Ok(reader.read_path(&path)?.lengths.len()))?);
        println!("{name}: {speed:.0} MB/s, {:.2} of the scan", speed / scan);
    }
    Ok(())
}

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// The seconds of the fastest of a few rounds; the others met a busy machine.
fn fastest(mut round: impl FnMut() -> Outcome<usize>) -> Outcome<f64> {
    let mut least = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        black_box(round()?);
        least = least.min(start.elapsed().as_secs_f64());
    }
    Ok(least)
}

/// Reads the file in pieces and counts its lines.
fn scan(path: &Path) -> Outcome<usize> {
    let mut file = fs::File::open(path)?;
    let mut piece = vec![0; 1 << 16];
    let mut lines = 0;
    loop {
        match io::Read::read(&mut file, &mut piece)? {
            0 => return Ok(lines),
            read => lines += memchr::memchr_iter(b'\n', &piece[..read]).count(),
        }
    }
}

fn table(folder: &Path) -> io::Result<PathBuf> {
    let path = folder.join("table.csv");
    let mut file = io::BufWriter::new(fs::File::create(&path)?);
    writeln!(file, "id,frames,text")?;
    for line in 0..LINES {
        // Lengths from 20 to 3019 without a pattern.
        let frames = 20 + (line.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) % 3000;
        writeln!(file, "utt-{line:08},{frames},some words here {}", line % 97)?;
    }
    file.flush()?;
    Ok(path)
}
