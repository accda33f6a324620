//! More sequences than memory holds: the command `lengthwise` plans a billion of them with a bound on
//! memory, writes the plan, and reads it back batch by batch.
//!
//! The lengths are made as an array of NumPy, piece by piece. While the command works, its memory is
//! read from the system every few milliseconds: its own, and that of files that are mapped, which the
//! system takes back when it likes.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use lengthwise::Example;

use crate::{
    args::Args,
    data,
    output::Output,
    stats::{grouped, line, short},
};

/// What the command was asked for, how long it took, and the most memory that it had, in bytes.
#[derive(Debug)]
pub(crate) struct Row {
    sequences: u32,
    what: String,
    memory: String,
    time: Duration,
    /// The most that was seen of its own memory, of mapped files, and of both as the system counts.
    own: u64,
    files: u64,
    peak: u64,
    /// The plan, in bytes.
    plan: u64,
    said: String,
}

const EVERY: Duration = Duration::from_millis(5);

/// Plans in two ways, and verifies each plan.
pub(crate) fn run(args: &Args, output: &mut Output) -> io::Result<Vec<Row>> {
    let count = args.sequences.unwrap_or(1_000_000_000);
    let memory = args.memory.clone().unwrap_or_else(|| "8GB".to_owned());
    let command = args.command.clone().unwrap_or_else(|| "../target/release/lengthwise".into());
    let folder = Folder::new()?;
    let lengths = folder.0.join("lengths.npy");
    eprintln!("billion: making {} lengths in {}", grouped(count.into()), folder.0.display());
    let longest = make(&lengths, count)?;
    let budget = format!("padded:{}", 64 * u64::from(longest));
    let mut rows = Vec::new();
    for settings in [&["--shapes", "ladder:16"][..], &["--strategy", "blurred"]] {
        let plan = folder.0.join("plan.npz");
        let mut asked: Vec<&str> = vec!["plan", "--budget", &budget, "--memory", &memory];
        asked.extend(settings);
        let mut of = |verb: &str, command: &mut Command| -> io::Result<()> {
            eprintln!("billion: {verb} {}", settings.join(" "));
            let mut row = watch(command)?;
            row.sequences = count;
            row.what = format!("{verb} {}", settings.join(" "));
            row.memory.clone_from(&memory);
            row.plan = fs::metadata(&plan)?.len();
            eprintln!("  {}", row.said.trim());
            output.raw(&row.raw())?;
            rows.push(row);
            Ok(())
        };
        of("plan", Command::new(&command).args(&asked).arg(&lengths).arg("-o").arg(&plan))?;
        let verify = ["verify", "--memory", &memory];
        of("verify", Command::new(&command).args(verify).arg(&plan).arg(&lengths))?;
        fs::remove_file(&plan)?;
    }
    Ok(rows)
}

/// A folder that is gone in the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> io::Result<Self> {
        let name = format!("lengthwise-billion-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

/// Writes lengths like speech, and tells the longest.
fn make(path: &Path, count: u32) -> io::Result<u32> {
    let about = format!("{{'descr': '<u4', 'fortran_order': False, 'shape': ({count},), }}");
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    file.write_all(b"\x93NUMPY\x01\x00")?;
    let size = (10 + about.len() + 1).next_multiple_of(64) - 10;
    file.write_all(&(size as u16).to_le_bytes())?;
    writeln!(file, "{about:<width$}", width = size - 1)?;
    let mut longest = 0;
    for length in data::drawn(Example::Speech, count) {
        longest = length.max(longest);
        file.write_all(&length.to_le_bytes())?;
    }
    file.flush()?;
    Ok(longest)
}

/// Runs the command to its end and watches its memory.
fn watch(command: &mut Command) -> io::Result<Row> {
    let start = Instant::now();
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let (mut own, mut files, mut peak) = (0, 0, 0);
    while child.try_wait()?.is_none() {
        let status = status(&child);
        let of = |name: &str| kilobytes(&status, name) * 1024;
        own = of("RssAnon:").max(own);
        files = of("RssFile:").max(files);
        peak = of("VmHWM:").max(peak);
        thread::sleep(EVERY);
    }
    let time = start.elapsed();
    let ended = child.wait_with_output()?;
    let said = [&ended.stdout[..], &ended.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    if !ended.status.success() {
        return Err(io::Error::other(format!("the command failed: {said}")));
    }
    let (what, memory) = (String::new(), String::new());
    Ok(Row { sequences: 0, what, memory, time, own, files, peak, plan: 0, said })
}

fn status(child: &Child) -> String {
    fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default()
}

fn kilobytes(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

impl Row {
    fn raw(&self) -> String {
        format!(
            "{{\"kind\":\"billion\",\"sequences\":{},\"what\":\"{}\",\"memory\":\"{}\",\
             \"ns\":{},\"own_bytes\":{},\"file_bytes\":{},\"peak_bytes\":{},\"plan_bytes\":{}}}",
            self.sequences,
            self.what,
            self.memory,
            self.time.as_nanos(),
            self.own,
            self.files,
            self.peak,
            self.plan
        )
    }
}

/// Every row, in Markdown.
pub(crate) fn table(rows: &[Row]) -> String {
    let mut text = "## Beyond memory\n\n\
        | sequences | command | bound | seconds | ns/seq | own GB | mapped GB | both GB | plan GB |\n\
        |--:|---|--:|--:|--:|--:|--:|--:|--:|\n"
        .to_owned();
    for row in rows {
        let [own, files, peak, plan] =
            [row.own, row.files, row.peak, row.plan].map(|bytes| short(bytes as f64 / 1e9));
        let seconds = row.time.as_secs_f64();
        text += &line(&[
            grouped(row.sequences.into()),
            format!("`{}`", row.what),
            row.memory.clone(),
            short(seconds),
            short(seconds * 1e9 / f64::from(row.sequences)),
            own,
            files,
            peak,
            plan,
        ]);
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_from_the_system() {
        let status = "Name:\tx\nVmHWM:\t  2048 kB\nRssAnon:\t 12 kB\n";
        assert_eq!(kilobytes(status, "VmHWM:"), 2048);
        assert_eq!(kilobytes(status, "RssFile:"), 0);
    }
}
