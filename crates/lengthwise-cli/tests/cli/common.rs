//! The command run in a folder of its own, and all that can be seen of it.

use std::{
    fs,
    path::Path,
    process::{Command, Output, Stdio},
};

use expect_test::Expect;
use tempfile::TempDir;

/// Ten sequences with their ids.
pub(crate) const TEN: &str = "id,frames\na,5\nb,9\nc,4\nd,7\ne,7\nf,1\ng,3\nh,8\ni,2\nj,6\n";

/// A folder for one test, and the command run in it.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    pub(crate) fn with(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        fs::write(self.path(name), content).unwrap();
        self
    }

    pub(crate) fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn folder(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lengthwise"));
        command.args(arguments.split_whitespace()).current_dir(self.0.path());
        command.env_remove("NO_COLOR").env_remove("COLUMNS").stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &str) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs the command and compares all that can be seen of it.
    pub(crate) fn expect(&self, arguments: &str, expected: &Expect) {
        let output = self.run(arguments);
        expected.assert_eq(&format!(
            "exit {}\n--- stdout\n{}--- stderr\n{}",
            output.status.code().unwrap(),
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        ));
    }

    /// Runs the command, which must succeed, and parses its output.
    pub(crate) fn json(&self, arguments: &str) -> serde_json::Value {
        let output = self.run(arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

/// Error and hint of a command that must end with exit code 2 and no output.
pub(crate) fn refusal(folder: &Folder, arguments: &str) -> String {
    let output = folder.run(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments}");
    assert_eq!(output.stdout, b"", "{arguments}");
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.starts_with("error: ") && text.contains("\n\nhint: "), "{arguments}: {text}");
    assert_eq!(text.lines().count(), 3, "one line each: {text}");
    format!("$ lengthwise {arguments}\n{text}\n")
}

/// The same for several commands.
pub(crate) fn refusals(folder: &Folder, all: &[&str]) -> String {
    all.iter().map(|arguments| refusal(folder, arguments)).collect()
}
