//! `lengthwise explain`, `lengthwise completions` and `lengthwise man`.

use std::{fs, io::Write as _};

use clap_mangen::Man;
use lengthwise_io::save;
use lengthwise_report::{command_lines, filled, list_of_pages, page, pages};

use crate::args::{self, Completions, Explain, examples};
use crate::commands::reference;
use crate::failure::Failure;
use crate::{printer, signals};

const LAST: &str = "Run 'lengthwise explain NAME' to read a page.";

pub(crate) fn explain(args: &Explain) -> Result<(), Failure> {
    match args.name.join(" ").as_str() {
        "" | "strategy" | "strategies" if args.json => printer::print_pretty_json(&pages()),
        "" | "strategy" | "strategies" => {
            let width = printer::page_width();
            printer::print(&(list_of_pages(width) + "\n" + &filled(LAST, width, "", "")))
        }
        name => show(name, args.json),
    }
}

fn show(name: &str, as_json: bool) -> Result<(), Failure> {
    let page = page(name).map_err(|error| {
        // A slip of a strategy's name is known there.
        if let Some(lengthwise::Remedy::DidYouMean(_)) = error.remedy() {
            return Failure::from(error);
        }
        let names: Vec<String> = pages().iter().map(|page| format!("`{}`", page.name)).collect();
        Failure::new(
            format!("there is no page `{}`", printer::safe(name)),
            format!("choose one of {}, or a value of a setting such as `padded`", names.join(", ")),
        )
    })?;
    if as_json {
        printer::print_pretty_json(&page)
    } else {
        printer::print(&page.on(printer::screen()))
    }
}

pub(crate) fn completions(args: &Completions) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(
        args.shell,
        &mut args::command(printer::page_width()),
        "lengthwise",
        &mut script,
    );
    printer::print(&String::from_utf8_lossy(&script))
}

pub(crate) fn man(args: &args::Man) -> Result<(), Failure> {
    let mut command = args::command(MAN);
    // So that each part knows what comes before its name.
    command.build();
    let Some(folder) = &args.output else {
        return printer::print(&String::from_utf8_lossy(&man_page(command, "lengthwise")?));
    };
    fs::create_dir_all(folder).map_err(|error| {
        Failure::new(format!("{}: {}", folder.display(), error.kind()), "name another folder")
    })?;
    signals::writing(&folder.join("page"));
    let whole = [("lengthwise".to_owned(), command.clone())];
    let parts = command.get_subcommands().filter(|part| part.get_name() != "help");
    let parts = parts.map(|part| {
        let name = format!("lengthwise-{}", part.get_name());
        (name.clone(), part.clone().display_name(name))
    });
    for (name, command) in whole.into_iter().chain(parts) {
        if args.markdown {
            let page = reference::page(&command);
            save(&folder.join(format!("{name}.md")), |file| file.write_all(page.as_bytes()))?;
            continue;
        }
        let page = man_page(command, name.strip_prefix("lengthwise-").unwrap_or(&name))?;
        save(&folder.join(format!("{name}.1")), |file| file.write_all(&page))?;
    }
    printer::say(&format!("{}: manual pages written", folder.display()));
    Ok(())
}

/// How wide examples are in manual pages.
const MAN: usize = 76;

/// The manual page of the command of this name, with its examples and exit codes.
fn man_page(command: clap::Command, name: &str) -> Result<Vec<u8>, Failure> {
    let (has_commands, has_version) = (command.has_subcommands(), command.get_version().is_some());
    let man = Man::new(command);
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if has_commands {
        man.render_subcommands_section(&mut page)?;
    }
    // A backslash begins a command of the formatter, and a hyphen becomes a dash.
    let literal = |text: &str| text.replace('\\', "\\e").replace('-', "\\-");
    writeln!(page, ".SH EXAMPLES")?;
    for example in examples::of(name) {
        writeln!(page, ".PP\n.nf\n{}.fi", literal(&command_lines(example, MAN)))?;
    }
    writeln!(page, ".SH \"EXIT STATUS\"")?;
    for (code, meaning) in examples::EXIT_CODES {
        writeln!(page, ".TP\n{code}\n{}", literal(&meaning.replace('`', "")))?;
    }
    if has_version {
        man.render_version_section(&mut page)?;
    }
    Ok(page)
}
