//! `lengthwise compare` and `lengthwise report`

use std::{env, ffi::OsStr, io::Write as _, path::Path};

use lengthwise::{Settings, Shapes, Strategy, groups::Together};
use lengthwise_io::save;
use lengthwise_report::{Comparison, Request, Study};

use crate::args::comparing::{Compare, Comparing, Report};
use crate::failure::Failure;
use crate::input::quoted;
use crate::printer::{self, Progress};
use crate::{cost_model, memory, signals};

pub(crate) fn run(args: &Compare) -> Result<(), Failure> {
    let comparison = if let Some(path) = &args.report {
        let study = with_request(&args.comparing, Some(path), args.papers, studied)?;
        write(&study, path)?;
        study.comparison
    } else {
        with_request(&args.comparing, None, false, |request| {
            let mut progress = Progress::start();
            let (mut done, count) = (0, request.strategies.len());
            Ok(Comparison::run(request, |strategy| {
                done += 1;
                progress.at(&format!("planning {strategy} ({done} of {count})"));
            })?)
        })?
    };
    printer::print(&if args.json {
        comparison.to_json() + "\n"
    } else {
        comparison.table(printer::look(), printer::width())
    })
}

pub(crate) fn report(args: &Report) -> Result<(), Failure> {
    let path = (!args.json).then_some(args.output.as_path());
    let study = with_request(&args.comparing, path, args.papers, studied)?;
    match path {
        None => printer::print(&(study.to_json() + "\n")),
        Some(path) => write(&study, path),
    }
}

/// The strategies that plan groups that share a rank.
const BY_RANK: [&str; 2] = ["proportional", "packed"];

/// Reads the settings and the lengths, and does something with them; a `report` must be a page.
fn with_request<T>(
    args: &Comparing,
    report: Option<&Path>,
    papers: bool,
    run: impl FnOnce(&Request) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let mut strategies: Vec<Strategy> =
        args.strategies.iter().map(|given| given.parse()).collect::<Result<_, _>>()?;
    let given: Option<Shapes> = args.shapes.as_deref().map(str::parse).transpose()?;
    let mut settings = Settings {
        shapes: given.clone().unwrap_or(Shapes::Exact),
        arrange: args.settings.arrange.parse()?,
        over_long: args.settings.over_long.parse()?,
        steps: args.ranks.steps.as_deref().map(str::parse).transpose()?,
        tail: args.ranks.tail.parse()?,
        cost_model: args.cost_model.as_deref().map(cost_model::named).transpose()?,
        accumulate: args.ranks.accumulate.unwrap_or(1),
        update: args.ranks.update()?,
        share: args.settings.share.parse()?,
        one_kind: args.settings.one_kind.parse()?,
        seed: args.settings.seed,
        ..Settings::new("", args.advice.budget(args.budget.as_deref())?)
    };
    let world_size = args.ranks.world_size;
    let mut wanted =
        args.advice.wanted(Settings { accumulate: 1, ..settings.clone() }, world_size)?;
    (wanted.shapes, wanted.micro_batches) = (given, args.ranks.accumulate);
    settings.update = wanted.settings.update;
    let typed = args.input.as_typed() + &args.settings.as_typed();
    if let Some(path) = report {
        let extension = path.extension().map(OsStr::to_ascii_lowercase);
        if extension.is_none_or(|extension| extension != "html" && extension != "htm") {
            let what = format!("{}: a report is an HTML page", path.display());
            return Err(Failure::new(what, "name the file .html"));
        }
    }
    let input = args.input.read_or_default(memory::COMPARE)?;
    settings.mix = input.groups.mix(args.settings.mix.as_deref())?;
    wanted.settings.mix.clone_from(&settings.mix);
    if strategies.is_empty() && settings.share == Together::Rank {
        strategies = BY_RANK.map(str::parse).into_iter().collect::<Result<_, _>>()?;
    } else if strategies.is_empty() {
        strategies = Strategy::all_for(input.lengths());
    }
    run(&Request {
        source: &input.source,
        unit: input.unit,
        lengths: input.lengths(),
        strategies: &strategies,
        settings,
        epochs: args.epochs,
        world_size,
        wanted,
        typed: Some(&typed),
        papers,
    })
    .map_err(|failure| match failure {
        Failure::Plan(error) => input.named(error),
        other => other,
    })
}

fn studied(request: &Request) -> Result<Study, Failure> {
    let mut progress = Progress::start();
    let typed = env::args_os().skip(1).map(|argument| quoted(&argument.to_string_lossy()));
    let command = format!("lengthwise {}", typed.collect::<Vec<_>>().join(" "));
    Ok(Study::run(request, &command, |what| progress.at(what))?)
}

fn write(study: &Study, path: &Path) -> Result<(), Failure> {
    signals::writing(path);
    save(path, |file| file.write_all(study.to_html().as_bytes()))?;
    printer::say(&format!("{}: a report on {}", path.display(), study.comparison.input.source));
    Ok(())
}
