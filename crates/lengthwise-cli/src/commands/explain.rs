//! `lengthwise explain`

use lengthwise_report::{list_of_pages, page, pages};

use crate::{args::manual::Explain, failure::Failure, printer};

const LAST: &str = "\n`lengthwise explain NAME` explains a strategy or a setting.\n";

pub(crate) fn run(args: &Explain) -> Result<(), Failure> {
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
