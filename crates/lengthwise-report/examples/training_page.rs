//! Shows the records of a training again: reads JSON lines and writes the page.
//!
//! `cargo run -p lengthwise-report --example training_page -- records.jsonl page.html`

use std::{env, error::Error, fs};

use lengthwise_report::training::Training;

fn main() -> Result<(), Box<dyn Error>> {
    let given: Vec<String> = env::args().skip(1).collect();
    let [records, page] = given.as_slice() else {
        return Err("give a file of records and the page to write".into());
    };
    let training = Training::from_jsonl(&fs::read_to_string(records)?)
        .map_err(|error| format!("{records}: {error}"))?;
    fs::write(page, training.page())?;
    Ok(())
}
