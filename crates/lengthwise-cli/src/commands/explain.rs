//! `lengthwise explain`

use lengthwise_report::{list_of_pages, page, pages};
use serde::Serialize;

use crate::{args::Explain, failure::Failure, printer};

/// The end of the list.
const LAST: &str = "\n`lengthwise explain NAME` explains a strategy or a setting.\n";

pub(crate) fn run(args: &Explain) -> Result<(), Failure> {
    match &args.name {
        Some(name) => show(name, args.json),
        None if args.json => printer::print(&json(&pages())),
        None => printer::print(&(list_of_pages() + LAST)),
    }
}

fn show(name: &str, as_json: bool) -> Result<(), Failure> {
    let page = page(name)?;
    printer::print(&if as_json { json(&page) } else { page.text })
}

fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}
