//! `lengthwise inspect`

use lengthwise::Settings;
use lengthwise_report::{Duplicates, Inspection};

use crate::args::comparing::Inspect;
use crate::failure::Failure;
use crate::{memory, printer};

pub(crate) fn run(args: &Inspect) -> Result<(), Failure> {
    let budget = args.advice.budget(args.budget.as_deref())?;
    let wanted = args.advice.wanted(Settings::new("", budget), 1)?;
    let input = args.input.read_or_default(memory::INSPECT)?.of_one_length("inspect")?;
    let duplicates = input.ids.as_ref().map(|ids| {
        let found = ids.duplicates();
        let first = found.iter().take(5).filter_map(|&(_, later)| ids.get(later));
        Duplicates { count: found.len() as u64, first: first.map(printer::safe).collect() }
    });
    let id = |index: u32| input.id(index).map(printer::safe);
    let typed = args.input.as_typed();
    let inspection =
        Inspection::new(&input.source, input.lengths(), &wanted, Some(&typed), id, duplicates);
    let inspection = inspection.map_err(|error| input.named(error))?;
    printer::print(&if args.json {
        inspection.to_json() + "\n"
    } else {
        inspection.to_text(printer::width(), printer::is_plain())
    })
}
