//! `lengthwise compare` and `lengthwise report`

use std::{env, ffi::OsStr, io::Write as _, path::Path};

use lengthwise::{Settings, Strategy, strategy::Paired};
use lengthwise_io::save;
use lengthwise_report::{Comparison, Request, Study};

use crate::{
    args::comparing::{Compare, Comparing, Report},
    cost_model,
    failure::Failure,
    input::quoted,
    memory,
    printer::{self, Progress},
    signals,
};

pub(crate) fn run(args: &Compare) -> Result<(), Failure> {
    let (comparison, study) = with_request(&args.comparing, args.report.as_deref(), |request| {
        let mut progress = Progress::start();
        if args.report.is_some() {
            let study = studied(request, &mut progress)?;
            return Ok((study.comparison.clone(), Some(study)));
        }
        let (mut done, count) = (0, request.strategies.len());
        let comparison = Comparison::run(request, |strategy| {
            done += 1;
            progress.at(&format!("planning {strategy} ({done} of {count})"));
        })?;
        Ok((comparison, None))
    })?;
    if let (Some(study), Some(path)) = (study, &args.report) {
        write(&study, path)?;
    }
    if args.json {
        printer::print(&(comparison.to_json() + "\n"))
    } else {
        printer::print(&comparison.table(printer::look(), printer::width()))
    }
}

pub(crate) fn report(args: &Report) -> Result<(), Failure> {
    let path = (!args.json).then_some(args.output.as_path());
    let study =
        with_request(&args.comparing, path, |request| studied(request, &mut Progress::start()))?;
    match path {
        None => printer::print(&(study.to_json() + "\n")),
        Some(path) => write(&study, path),
    }
}

/// Reads the settings and the lengths, and does something with them. `report` is checked first: it
/// must be a page, and not the input.
fn with_request<T>(
    args: &Comparing,
    report: Option<&Path>,
    run: impl FnOnce(&Request) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let mut strategies: Vec<Strategy> =
        args.strategies.iter().map(|given| given.parse()).collect::<Result<_, _>>()?;
    let settings = Settings {
        shapes: args.shapes.parse()?,
        arrange: args.settings.arrange.parse()?,
        over_long: args.settings.over_long.parse()?,
        steps: args.ranks.steps.as_deref().map(str::parse).transpose()?,
        tail: args.ranks.tail.parse()?,
        cost_model: args.cost_model.as_deref().map(cost_model::named).transpose()?,
        accumulate: args.ranks.accumulate,
        seed: args.settings.seed,
        ..Settings::new("", cost_model::budget(&args.budget)?)
    };
    if let Some(path) = report {
        let extension = path.extension().map(OsStr::to_ascii_lowercase);
        if extension.is_none_or(|extension| extension != "html" && extension != "htm") {
            return Err(Failure::new(
                format!("{}: a report is an HTML page", path.display()),
                "name the file .html",
            ));
        }
    }
    let input = args.input.read_or_default(memory::COMPARE)?;
    if strategies.is_empty() {
        strategies = Strategy::all_padded();
        strategies.extend(input.lengths().second().map(|_| Paired::default().into()));
    }
    run(&Request {
        source: &input.source,
        unit: input.unit,
        lengths: input.lengths(),
        strategies: &strategies,
        settings,
        epochs: args.epochs,
        world_size: args.ranks.world_size,
    })
    .map_err(|failure| match failure {
        Failure::Plan(error) => input.named(error),
        other => other,
    })
}

fn studied(request: &Request, progress: &mut Progress) -> Result<Study, Failure> {
    let typed: Vec<String> =
        env::args_os().skip(1).map(|argument| quoted(&argument.to_string_lossy())).collect();
    let command = format!("lengthwise {}", typed.join(" "));
    Ok(Study::run(request, &command, |what| progress.at(what))?)
}

fn write(study: &Study, path: &Path) -> Result<(), Failure> {
    signals::writing(path);
    save(path, |file| file.write_all(study.to_html().as_bytes()))?;
    printer::say(&format!("{}: a report on {}", path.display(), study.comparison.input.source));
    Ok(())
}
