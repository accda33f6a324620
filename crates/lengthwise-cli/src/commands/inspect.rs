//! `lengthwise inspect`

use lengthwise_report::{Duplicates, Inspection};

use crate::args::comparing::Inspect;
use crate::failure::Failure;
use crate::{cost_model, memory, printer};

pub(crate) fn run(args: &Inspect) -> Result<(), Failure> {
    let budget = cost_model::budget(&args.budget)?;
    let input = args.input.read_or_default(memory::INSPECT)?.of_one_length("inspect")?;
    let duplicates = input.ids.as_ref().map(|ids| {
        let found = ids.duplicates();
        let first = found.iter().take(5).filter_map(|&(_, later)| ids.get(later));
        Duplicates { count: found.len() as u64, first: first.map(printer::safe).collect() }
    });
    let id = |index: u32| input.id(index).map(printer::safe);
    let inspection = Inspection::new(&input.source, input.lengths(), budget, id, duplicates)?;
    printer::print(&if args.json {
        inspection.to_json() + "\n"
    } else {
        inspection.to_text(printer::width(), printer::is_plain())
    })
}
