//! `lengthwise explain`, `lengthwise completions` and `lengthwise man`.

use std::{fs, io::Write as _};

use clap::CommandFactory as _;
use clap_mangen::Man;
use lengthwise_io::save;
use lengthwise_report::{list_of_pages, page, pages};

use crate::args::{self, Args, Completions, Explain};
use crate::commands::reference;
use crate::failure::Failure;
use crate::{printer, signals};

const LAST: &str = "\n`lengthwise explain NAME` explains a strategy or a setting.\n";

pub(crate) fn explain(args: &Explain) -> Result<(), Failure> {
    match args.name.join(" ").as_str() {
        "" | "strategy" | "strategies" if args.json => printer::print_pretty_json(&pages()),
        "" | "strategy" | "strategies" => printer::print(&(list_of_pages() + LAST)),
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
            format!("nothing is called `{}` that could be explained", printer::safe(name)),
            format!("one of {}, or a setting by its name, as in `padded`", names.join(", ")),
        )
    })?;
    if as_json { printer::print_pretty_json(&page) } else { printer::print(&page.text) }
}

pub(crate) fn completions(args: &Completions) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "lengthwise", &mut script);
    printer::print(&String::from_utf8_lossy(&script))
}

pub(crate) fn man(args: &args::Man) -> Result<(), Failure> {
    let mut command = Args::command();
    // So that each part knows what comes before its name.
    command.build();
    let Some(folder) = &args.output else {
        let mut page = Vec::new();
        Man::new(command).render(&mut page)?;
        return printer::print(&String::from_utf8_lossy(&page));
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
        let mut page = Vec::new();
        Man::new(command).render(&mut page)?;
        save(&folder.join(format!("{name}.1")), |file| file.write_all(&page))?;
    }
    printer::say(&format!("{}: manual pages written", folder.display()));
    Ok(())
}
