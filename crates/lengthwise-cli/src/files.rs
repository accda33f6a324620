//! Which files a command reads and writes. No command writes over a file that it reads.
//!
//! Files are the same if the system says so (by device and inode on Unix), however their paths are
//! spelled and whatever links lead to them. This is decided once for all commands, before any of them
//! begins: a new command must say here what it reads and writes.

use std::path::{Path, PathBuf};

use lengthwise::tune::Model;
use lengthwise_io::{audio_files, model_file, model_file_of_budget};

use crate::args::Command;
use crate::args::comparing::Comparing;
use crate::args::planning::Plan;
use crate::args::shared::{Advice, Source};
use crate::failure::Failure;
use crate::input::quoted;
use crate::system::Identity;

const PAGE: &[&str] = &["html", "htm"];
const INPUT: &str = "the input";
const CURSOR: &str = "the cursor";

#[derive(Default)]
struct Files<'a> {
    /// What each is for the command, as in "the input", and its path; `-` is standard input.
    read: Vec<(&'static str, &'a Path)>,
    written: Vec<Written<'a>>,
}

struct Written<'a> {
    /// What is written, as in "plan".
    role: &'static str,
    option: &'static str,
    path: &'a Path,
    /// What its name may end in; anything, if there are none.
    endings: &'static [&'static str],
}

impl Files<'_> {
    /// The file that is read and would be overwritten. A cursor may replace the one it goes on from.
    fn overwritten(&self, written: &Identity, by: &str) -> Option<String> {
        self.read.iter().find_map(|&(role, path)| {
            let replaced = by == "cursor" && role == CURSOR;
            let name = overwritten_by(path, written).filter(|_| !replaced)?;
            Some(format!("{role} {name}"))
        })
    }
}

/// Refuses a command that would write over a file that it reads, or write two files to one place.
pub(crate) fn check(command: &Command) -> Result<(), Failure> {
    let files = Files::of(command);
    for output in &files.written {
        let there = Identity::of_path(output.path);
        if let Some(what) = there.and_then(|there| files.overwritten(&there, output.role)) {
            return Err(output.refused(&what));
        }
    }
    for (at, output) in files.written.iter().enumerate() {
        let mut earlier = files.written[..at].iter();
        if let Some(other) = earlier.find(|other| same_place(other.path, output.path)) {
            return Err(output.refused(&format!("the {} {}", other.role, other.path.display())));
        }
    }
    // A shell has emptied the file where it can, but not where it appends to it.
    let redirected = Identity::of_output();
    redirected.and_then(|redirected| files.overwritten(&redirected, "output")).map_or(
        Ok(()),
        |what| {
            let what = format!("standard output: it would overwrite {what}");
            Err(Failure::new(what, "redirect it to another file"))
        },
    )
}

impl<'a> Files<'a> {
    fn of(command: &'a Command) -> Self {
        let mut files = Self::default();
        match command {
            Command::Inspect(args) => {
                files.source(&args.input.source).advised(args.budget.as_deref(), &args.advice)
            }
            Command::Compare(args) => {
                let files = files.comparing(&args.comparing);
                files.writes("report", "--report", args.report.as_deref(), PAGE)
            }
            Command::Report(args) => {
                let files = files.comparing(&args.comparing);
                files.writes("report", "-o", (!args.json).then_some(&args.output), PAGE)
            }
            Command::Plan(args) => files.plan(args),
            Command::Balance(args) => {
                let files = files.source(&args.input.source).model(args.cost_model.as_deref());
                files.writes("step", "-o", args.output.as_deref(), &["json"])
            }
            Command::Stream(args) => {
                let piped = args.example.is_none().then_some(Path::new("-"));
                let files = files.reads(INPUT, args.path.as_deref().or(piped));
                // The state is read and replaced by the same option.
                files.budget(&args.budget).writes("state", "--state", args.state.as_deref(), &[])
            }
            Command::Tune(args) => files
                .source(&args.input.source)
                .advised(args.budget.as_deref(), &args.advice)
                .model(args.cost_model.as_deref()),
            Command::Frontier(args) => files.source(&args.input.source).budget(&args.budget),
            Command::Ladder(args) => files.source(&args.input.source),
            Command::Cost(args) => {
                let files = files.reads("the measured steps in", Some(&args.steps));
                files.writes("cost model", "-o", args.output.as_deref(), &["json"])
            }
            Command::Statistics(args) => {
                files.read.extend(args.inputs.iter().map(|path| (INPUT, path.as_path())));
                let files = files.unit(args.unit.as_deref());
                files.writes("statistics", "-o", args.output.as_deref(), &["lws"])
            }
            Command::Verify(args) => files.reads("the plan", Some(&args.plan)).source(&args.source),
            Command::Completions(_) | Command::Man(_) | Command::Explain(_) => &mut files,
        };
        files
    }

    fn reads(
        &mut self,
        role: &'static str,
        path: Option<&'a (impl AsRef<Path> + ?Sized)>,
    ) -> &mut Self {
        self.read.extend(path.map(|path| (role, path.as_ref())));
        self
    }

    fn writes(
        &mut self,
        role: &'static str,
        option: &'static str,
        path: Option<&'a (impl AsRef<Path> + ?Sized)>,
        endings: &'static [&'static str],
    ) -> &mut Self {
        let path = path.map(AsRef::as_ref);
        self.written.extend(path.map(|path| Written { role, option, path, endings }));
        self
    }

    fn source(&mut self, source: &'a Source) -> &mut Self {
        self.reads(INPUT, source.path.as_deref()).unit(source.unit.as_deref())
    }

    /// A unit may name the file of a tokenizer.
    fn unit(&mut self, unit: Option<&'a str>) -> &mut Self {
        self.reads("the tokenizer", unit.and_then(|unit| unit.trim().strip_prefix("tokens:")))
    }

    fn budget(&mut self, budget: &'a str) -> &mut Self {
        self.reads("the cost model of the budget,", model_file_of_budget(budget))
    }

    /// What a recommendation is made from.
    fn advised(&mut self, budget: Option<&'a str>, advice: &'a Advice) -> &mut Self {
        let model = advice.model.as_deref().filter(|model| !Model::NAMES.contains(model));
        self.budget(budget.unwrap_or_default()).model(model)
    }

    fn model(&mut self, model: Option<&'a str>) -> &mut Self {
        self.reads("the cost model", model.and_then(model_file))
    }

    fn comparing(&mut self, args: &'a Comparing) -> &mut Self {
        self.source(&args.input.source)
            .advised(args.budget.as_deref(), &args.advice)
            .model(args.cost_model.as_deref())
    }

    fn plan(&mut self, args: &'a Plan) -> &mut Self {
        self.source(&args.input.source)
            .model(args.part.cost_model.as_deref())
            .advised(args.budget.as_deref(), &args.advice)
            .reads("the statistics", args.shards.statistics.as_deref());
        self.read.extend(args.part.resume.iter().map(|path| (CURSOR, path.as_path())));
        self.writes("plan", "-o", args.output.as_deref(), &["json", "jsonl", "npz", "parquet"])
            .writes("cursor", "--cursor", args.part.cursor.as_deref(), &[])
            .writes("needs of the shard", "--needs", args.shards.needs.as_deref(), &["lws"])
    }
}

impl Written<'_> {
    fn refused(&self, what: &str) -> Failure {
        let Self { role, option, path, endings, .. } = self;
        let other = quoted(&another(path, endings).display().to_string());
        Failure::new(
            format!("{}: the {role} would overwrite {what}", path.display()),
            format!("write the {role} to another file, as in `{option} {other}`"),
        )
    }
}

/// A name beside a file that no file has, with one of these endings.
fn another(path: &Path, endings: &[&str]) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let own = path.extension().map(|own| own.to_string_lossy().into_owned());
    let own = own.filter(|own| endings.is_empty() || endings.contains(&own.as_str()));
    let ending = own.or_else(|| endings.first().map(|&ending| ending.to_owned()));
    let ending = ending.map_or_else(String::new, |ending| format!(".{ending}"));
    let mut names = (2_u32..).map(|number| path.with_file_name(format!("{stem}-{number}{ending}")));
    names.find(|name| name.symlink_metadata().is_err()).unwrap_or_default()
}

/// The name of what is read, if it is the file that is written. A folder of audio is read file by file.
fn overwritten_by(read: &Path, written: &Identity) -> Option<String> {
    if read == Path::new("-") {
        let same = Identity::of_input().as_ref() == Some(written);
        return same.then(|| "standard input".to_owned());
    }
    // A folder that cannot be read is refused with its reason where it is read.
    let files =
        if read.is_dir() { audio_files(read).unwrap_or_default() } else { vec![read.into()] };
    let found = files.iter().find(|file| Identity::of_path(file).as_ref() == Some(written));
    found.map(|file| file.display().to_string())
}

/// Whether two paths are the same file, or will be once it is written.
fn same_place(one: &Path, other: &Path) -> bool {
    match (Identity::of_path(one), Identity::of_path(other)) {
        (Some(one), Some(other)) => one == other,
        (None, None) => place(one) == place(other),
        _ => false,
    }
}

/// Where a file will be that does not exist: through a link that leads nowhere, too.
fn place(path: &Path) -> PathBuf {
    // A path without a parent is no link.
    let target = path.read_link().ok().and_then(|target| Some(path.parent()?.join(target)));
    let path = target.unwrap_or_else(|| path.to_owned());
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    let folder = folder.unwrap_or(Path::new(".")).canonicalize();
    match (folder, path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path,
    }
}
