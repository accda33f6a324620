//! Commands as Markdown, for the reference on the site: the same arguments that `--help` shows.

use std::fmt::Write as _;

use clap::{Arg, Command};

/// One page: what the command does, its usage, and every argument under its heading.
pub(crate) fn page(command: &Command) -> String {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    let mut text = format!("# `{name}`\n");
    if let Some(about) = command.get_long_about().or_else(|| command.get_about()) {
        _ = write!(text, "\n{}\n", plain(&about.to_string()));
    }
    let usage = command.clone().render_usage().to_string();
    let usage = usage.strip_prefix("Usage: ").unwrap_or(&usage);
    _ = write!(text, "\n```text\n{usage}\n```\n");
    for heading in headings(command) {
        _ = write!(text, "\n## {heading}\n");
        for arg in shown(command).filter(|arg| heading_of(arg) == heading) {
            text.push_str(&entry(arg));
        }
    }
    if let Some(after) = command.get_after_long_help().or_else(|| command.get_after_help()) {
        for part in after.to_string().split("\n\n") {
            _ = match part.split_once(":\n") {
                Some((title, rest)) => {
                    write!(text, "\n## {title}\n\n```text\n{}\n```\n", rest.trim_matches('\n'))
                }
                None => write!(text, "\n{}\n", plain(part)),
            };
        }
    }
    text
}

fn shown(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|arg| !arg.is_hide_set())
}

/// The headings in the order in which their first arguments come.
fn headings(command: &Command) -> Vec<&str> {
    let mut headings: Vec<&str> = Vec::new();
    for heading in shown(command).map(heading_of) {
        if !headings.contains(&heading) {
            headings.push(heading);
        }
    }
    headings
}

fn heading_of(arg: &Arg) -> &str {
    let other = if arg.is_positional() { "Arguments" } else { "Options" };
    arg.get_help_heading().unwrap_or(other)
}

/// A term and its definition.
fn entry(arg: &Arg) -> String {
    let short = arg.get_short().map(|short| format!("-{short}"));
    let long = arg.get_long().map(|long| format!("--{long}"));
    let mut term: String = short.into_iter().chain(long).collect::<Vec<_>>().join(", ");
    let takes_value = arg.get_action().takes_values();
    for value in arg.get_value_names().unwrap_or_default().iter().filter(|_| takes_value) {
        _ = write!(term, "{}{value}", if term.is_empty() { "" } else { " " });
    }
    let help = arg.get_long_help().or_else(|| arg.get_help());
    let mut text = help.map(|help| plain(&help.to_string())).unwrap_or_default();
    let defaults = arg.get_default_values().iter().map(|value| value.to_string_lossy());
    let defaults: Vec<_> = defaults.filter(|_| takes_value).collect();
    if !defaults.is_empty() {
        _ = write!(text, "\n\nDefault: `{}`", defaults.join(" "));
    }
    format!("\n`{term}`\n:   {}\n", text.replace('\n', "\n    "))
}

/// Text that Markdown shows as it is.
fn plain(text: &str) -> String {
    text.replace('<', "&lt;").replace('*', "\\*")
}
