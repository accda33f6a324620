//! `lengthwise inspect`

use lengthwise_report::Inspection;

use crate::{args::Inspect, cost_model, failure::Failure, printer};

pub(crate) fn run(args: &Inspect) -> Result<(), Failure> {
    let budget = cost_model::budget(&args.budget)?;
    let input = args.input.read_or_default()?;
    let inspection = Inspection::new(&input.source, input.lengths(), budget, |_| None, None)?;
    printer::print(&if args.json {
        inspection.to_json() + "\n"
    } else {
        inspection.to_text(printer::width(), printer::is_plain())
    })
}
