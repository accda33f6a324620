//! A module imports only from floors below it, by the module that defines a name: this reads the imports
//! of all crates, and fails on one that runs back up, on a circle, and on a name that is taken by way of
//! the root of its crate. `cargo test -p lengthwise-cli --test cli floors -- --nocapture` prints the
//! floors.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// The modules of every crate, from the ground up; those on one line are on one floor.
const HOUSES: [(&str, &[&str]); 4] = [
    (
        "lengthwise",
        &[
            "math",
            "error",
            "base",
            "data",
            "shape",
            "limit",
            "order",
            "strategy",
            "cut",
            "plan",
            "pipeline",
            "planner",
            "ranks",
            "stream",
            "tune example balance",
            "cost custom groups measure shard",
        ],
    ),
    (
        "lengthwise-io",
        &[
            "guard hex ids npy remedy system text",
            "error",
            "cost_model read record save",
            "cursor statistics stream",
            "plan",
        ],
    ),
    (
        "lengthwise-report",
        &[
            "histogram picture text",
            "advice markdown text_table",
            "compare manual tuning",
            "inspect study svg",
            "figures table",
            "html",
            "parts",
        ],
    ),
    (
        "lengthwise-cli",
        &[
            "remedies system",
            "failure signals",
            "cost_model memory printer",
            "args",
            "groups",
            "input",
            "commands files",
        ],
    ),
];

/// The largest share of the lines of a crate that one of its parts may have.
const LARGEST: f64 = 0.12;

/// A crate as far as it is in its files: the imports of each, and its lines.
struct House {
    name: &'static str,
    floors: BTreeMap<String, usize>,
    files: BTreeMap<String, File>,
}

#[derive(Default)]
struct File {
    imports: BTreeSet<String>,
    lines: usize,
}

impl House {
    fn read(name: &'static str, floors: &[&str]) -> Self {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src");
        let mut paths = Vec::new();
        list(&source, &mut paths);
        let modules: BTreeMap<String, PathBuf> =
            paths.into_iter().map(|path| (module(&source, &path), path)).collect();
        let files = modules.iter().map(|(module, path)| {
            let text = code(&fs::read_to_string(path).expect("a source file can be read"));
            let imports = names(&text, module);
            let imports = imports.iter().map(|name| defined_in(name, &modules));
            let imports = imports.filter(|found| found != module).collect();
            (module.clone(), File { imports, lines: text.lines().count() })
        });
        let files = files.collect();
        let floors = floors.iter().enumerate();
        let floors =
            floors.flat_map(|(floor, list)| list.split(' ').map(move |m| (m.into(), floor)));
        Self { name, floors: floors.collect(), files }
    }

    fn floor(&self, module: &str) -> usize {
        let top = module.split("::").next().unwrap_or_default();
        *self.floors.get(top).unwrap_or_else(|| {
            panic!(
                "{}: `{top}` is on no floor; add it to the list in tests/cli/floors.rs",
                self.name
            )
        })
    }

    /// Every import that is not allowed, as a sentence.
    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        for (module, file) in self.files.iter().filter(|(module, _)| !module.is_empty()) {
            for import in &file.imports {
                if import.is_empty() {
                    faults.push(format!("{module} imports by way of the root of the crate"));
                } else if self.floor(import) > self.floor(module) {
                    faults.push(format!("{module} imports from {import}, which is above it"));
                }
            }
        }
        let circles = self.circles();
        faults.extend(circles.iter().map(|circle| format!("a circle: {}", circle.join(" → "))));
        let all: usize = self.files.values().map(|file| file.lines).sum();
        // The core is divided into folders; elsewhere a folder has one file for each format or figure.
        let parts = if self.name == "lengthwise" { self.lines() } else { self.lines_of_files() };
        for (part, lines) in parts {
            if lines as f64 > LARGEST * all as f64 {
                faults.push(format!("{part} has {lines} of {all} lines"));
            }
        }
        faults.iter().map(|fault| format!("{}: {fault}", self.name)).collect()
    }

    /// The lines of every module.
    fn lines(&self) -> BTreeMap<&str, usize> {
        let mut lines = BTreeMap::new();
        for (module, file) in &self.files {
            *lines.entry(module.split("::").next().unwrap_or_default()).or_default() += file.lines;
        }
        lines
    }

    fn lines_of_files(&self) -> BTreeMap<&str, usize> {
        self.files.iter().map(|(module, file)| (module.as_str(), file.lines)).collect()
    }

    /// One circle of files for every file that is on one.
    fn circles(&self) -> Vec<Vec<&str>> {
        let mut known = BTreeSet::new();
        let mut circles = Vec::new();
        for start in self.files.keys() {
            let mut trail = vec![start.as_str()];
            if self.reaches(start, start, &mut BTreeSet::new(), &mut trail)
                && known.insert(trail.iter().copied().collect::<BTreeSet<_>>())
            {
                circles.push(trail);
            }
        }
        circles
    }

    /// Whether imports lead from one file to another; `trail` then has the way.
    fn reaches<'a>(
        &'a self,
        from: &str,
        to: &str,
        seen: &mut BTreeSet<&'a str>,
        trail: &mut Vec<&'a str>,
    ) -> bool {
        let Some(file) = self.files.get(from) else { return false };
        file.imports.iter().any(|import| {
            if import == to {
                return true;
            }
            if !seen.insert(import) {
                return false;
            }
            trail.push(import);
            let found = self.reaches(import, to, seen, trail);
            if !found {
                trail.pop();
            }
            found
        })
    }

    #[expect(clippy::print_stdout, reason = "what the test is asked for with --nocapture")]
    fn print(&self) {
        let arrows: usize = self.files.values().map(|file| file.imports.len()).sum();
        let circles = self.circles().len();
        println!("{}: {} files, {arrows} imports, {circles} circles", self.name, self.files.len());
        let lines = self.lines();
        let mut modules: Vec<_> = self.floors.iter().collect();
        modules.sort_by_key(|&(name, floor)| (std::cmp::Reverse(*floor), name));
        for (name, floor) in modules {
            println!("  floor {floor:2}  {name:12} {:5}", lines.get(name.as_str()).unwrap_or(&0));
        }
    }
}

/// All Rust files in a folder, but for those of tests.
fn list(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a source folder can be read") {
        let path = entry.expect("a source folder can be read").path();
        if path.is_dir() {
            list(&path, paths);
        } else if path.extension().is_some_and(|kind| kind == "rs") && !path.ends_with("tests.rs") {
            paths.push(path);
        }
    }
}

/// The module of a file: `a::b` for `a/b.rs` and for `a/b/mod.rs`, nothing for the root.
fn module(source: &Path, path: &Path) -> String {
    let inside = path.strip_prefix(source).expect("it was listed there").with_extension("");
    let parts = inside.iter().map(|part| part.to_string_lossy().into_owned());
    let parts: Vec<String> = parts.filter(|part| part != "mod").collect();
    match parts.join("::").as_str() {
        "lib" | "main" => String::new(),
        module => module.to_owned(),
    }
}

/// The code of a file without its tests and comments.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

/// All paths that a file names, from the root of the crate: in imports, and in the code itself.
fn names(text: &str, module: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (at, _) in text.match_indices("crate::") {
        let path = &text[at + "crate::".len()..];
        // `$crate` is in a macro, and whoever uses it imports nothing.
        if !text[..at].ends_with('$') {
            let end = path.find([';', '(', ')', '<', '>', '=', '"']).unwrap_or(path.len());
            unfold("", &path[..end], &mut names);
        }
    }
    for (at, _) in text.match_indices("super::") {
        let parent = module.rsplit_once("::").map_or("", |(parent, _)| parent);
        let path = &text[at + "super::".len()..];
        let end = path.find([';', '(', ')', '<', '>', '=', ' ']).unwrap_or(path.len());
        // A module inside of a file has the file above it.
        if !text[..at].contains("\n    use super::") && !path.starts_with("super") {
            unfold(parent, &path[..end], &mut names);
        }
    }
    // `pub use child::Name` of a folder.
    for line in text.lines().filter(|line| line.starts_with("pub use ")) {
        let path = line.trim_start_matches("pub use ");
        let child = path.split("::").next().unwrap_or_default();
        if text.contains(&format!("mod {child};")) && !module.is_empty() {
            names.insert(format!("{module}::{child}"));
        }
    }
    names
}

/// Adds all paths of `a::{b, c::{d, e}}`.
fn unfold(before: &str, path: &str, names: &mut BTreeSet<String>) {
    let path = path.trim();
    let join = |one: &str, other: &str| match (one, other.trim()) {
        ("", other) => other.to_owned(),
        (one, other) => format!("{one}::{other}"),
    };
    let group = path.split_once('{');
    let group = group.filter(|(head, _)| head.is_empty() || head.trim_end().ends_with("::"));
    let Some((head, rest)) = group else {
        let name = path.split([' ', '\n', ',', '}', '.', '&', '!']).next().unwrap_or_default();
        if !name.is_empty() {
            names.insert(join(before, name));
        }
        return;
    };
    let head = join(before, head.trim().trim_end_matches("::"));
    let (mut depth, mut start) = (0, 0);
    for (at, letter) in rest.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth == 0 => {
                unfold(&head, &rest[start..at], names);
                return;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                unfold(&head, &rest[start..at], names);
                start = at + 1;
            }
            _ => {}
        }
    }
}

/// The file that a path leads to.
fn defined_in(path: &str, modules: &BTreeMap<String, PathBuf>) -> String {
    let mut path = path;
    while !modules.contains_key(path) {
        let Some((parent, _)) = path.rsplit_once("::") else { return String::new() };
        path = parent;
    }
    path.to_owned()
}

#[test]
fn imports_run_down() {
    let mut faults = Vec::new();
    for (name, floors) in HOUSES {
        let house = House::read(name, floors);
        house.print();
        faults.extend(house.faults());
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_circle_and_a_way_up_are_found() {
    let text = "use crate::{a::B, c::{d::E, f}};\nfn g() -> crate::h::I {}\n";
    let found = names(text, "x::y");
    assert_eq!(found, ["a::B", "c::d::E", "c::f", "h::I"].map(str::to_owned).into());
    let file = |imports: &[&str]| File {
        imports: imports.iter().map(|&import| import.to_owned()).collect(),
        lines: 1,
    };
    let files =
        [("a", file(&["b"])), ("b", file(&["c"])), ("c", file(&["a"])), ("d", file(&["a"]))];
    let house = House {
        name: "test",
        floors: [("a", 0), ("b", 0), ("c", 0), ("d", 0)].map(|(m, f)| (m.to_owned(), f)).into(),
        files: files.into_iter().map(|(name, file)| (name.to_owned(), file)).collect(),
    };
    assert_eq!(house.circles(), [["a", "b", "c"]]);
    let floors = [("a", 0), ("b", 1), ("c", 1), ("d", 1)].map(|(m, f)| (m.to_owned(), f)).into();
    let up = House { floors, ..house }.faults();
    assert!(up.contains(&"test: a imports from b, which is above it".to_owned()), "{up:?}");
}
