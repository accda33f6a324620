//! `lengthwise statistics`

use std::path::Path;

use lengthwise::{
    Error,
    shard::{Needs, Statistics},
};
use lengthwise_io::{is_statistics, read_statistics, save_statistics};
use lengthwise_report::{noun, wrapped};
use serde::Serialize;

use crate::args::planning;
use crate::args::shared::{Input, Source};
use crate::failure::Failure;
use crate::input::quoted;
use crate::{memory, printer, signals};

pub(crate) fn run(args: &planning::Statistics) -> Result<(), Failure> {
    args.output.as_deref().map_or(Ok(()), check_name)?;
    let Some((first, others)) = args.inputs.split_first() else {
        return Err(Failure::new("no input", "name files of lengths, or of statistics"));
    };
    let mut all = read(args, first)?;
    for path in others {
        let merged = all.merge(&read(args, path)?);
        let named = |error: Error| Failure::of_plan(format!("{}: {error}", path.display()), &error);
        all = merged.map_err(named)?;
    }
    if let Some(needs) = all.needs().filter(|_| all.count() > 0)
        && needs.statistics != all.digest()
    {
        return Err(Failure::new(
            "what the shards need was counted with statistics of other lengths than these",
            "count it anew, with `lengthwise plan --statistics … --needs` on every shard, or merge it with \
             the statistics that it was counted with",
        ));
    }
    if let Some(path) = &args.output {
        signals::writing(path);
        save_statistics(path, &all)?;
    }
    if args.json {
        printer::print_json(&Answer::new(&all))
    } else {
        printer::print(&readable(&all, printer::width()))
    }
}

/// Refuses names that say nothing of statistics.
pub(crate) fn check_name(path: &Path) -> Result<(), Failure> {
    if path.extension().is_some_and(|extension| extension == "lws") {
        return Ok(());
    }
    let better = quoted(&path.with_extension("lws").display().to_string());
    Err(Failure::new(
        format!("{}: statistics have another name", path.display()),
        format!("name the file .lws, as in {better}"),
    ))
}

fn read(args: &planning::Statistics, path: &Path) -> Result<Statistics, Failure> {
    // What is named so must be so.
    if is_statistics(path) || path.extension().is_some_and(|extension| extension == "lws") {
        return Ok(read_statistics(path)?);
    }
    let source = Source {
        path: Some(path.to_owned()),
        column: args.column.clone(),
        format: args.format.clone(),
        frame_shift: args.frame_shift,
        rate: args.rate,
        unit: args.unit.clone(),
        skip_blank: args.skip_blank,
        ..Source::default()
    };
    let input = Input { source, chunk: args.chunk };
    Ok(Statistics::of(input.read_or_default(memory::LADDER)?.lengths()))
}

#[derive(Serialize)]
struct Answer<'a> {
    version: u32,
    sequences: u64,
    total: u128,
    min: u32,
    max: u32,
    mean: f64,
    classes: usize,
    exact: bool,
    digest: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    needs: Option<NeedsAnswer<'a>>,
}

#[derive(Serialize)]
struct NeedsAnswer<'a> {
    settings: &'a str,
    shards: u32,
    counted: u32,
    batches: u32,
    least: u32,
    added_share: f64,
}

impl<'a> Answer<'a> {
    fn new(all: &'a Statistics) -> Self {
        Self {
            version: 1,
            sequences: all.count(),
            total: all.total(),
            min: all.min(),
            max: all.max(),
            mean: all.mean(),
            classes: all.histogram().len(),
            exact: all.is_exact(),
            digest: format!("{:016x}", all.digest()),
            needs: all.needs().map(|needs| NeedsAnswer {
                settings: &needs.settings,
                shards: needs.of,
                counted: needs.counted(),
                batches: needs.most,
                least: needs.least,
                added_share: needs.added_share(),
            }),
        }
    }
}

fn readable(all: &Statistics, width: usize) -> String {
    let mut lines = Vec::new();
    if all.count() > 0 {
        let classes = all.histogram().len() as u64;
        let kept = if all.is_exact() {
            format!("{classes} distinct {}, each counted", noun(classes, "length", "lengths"))
        } else {
            format!("{classes} classes of lengths, each at most 0.1 % wide")
        };
        let (count, min, max) = (all.count(), all.min(), all.max());
        let (mean, total, digest) = (all.mean(), all.total(), all.digest());
        lines.push(format!(
            "{count} {} from {min} to {max}, mean {mean:.1}, {total} in all",
            noun(count, "sequence", "sequences")
        ));
        lines.push(format!("{kept}; digest {digest:016x}"));
    }
    match all.needs() {
        Some(needs) => lines.extend(needed(needs)),
        None => lines.push("how many batches the shards need was not counted yet".to_owned()),
    }
    lines.iter().map(|line| wrapped(line, width)).collect()
}

fn needed(needs: &Needs) -> [String; 3] {
    let &Needs { ref settings, of, most, least, .. } = needs;
    let batches = noun(u64::from(most), "batch", "batches");
    let counted = match needs.first_missing() {
        Some(first) => format!(
            "{} of {of} shards were counted; shard {first} is the first that is missing",
            needs.counted()
        ),
        None if of == 1 => {
            format!("the only shard was counted: it takes {most} {batches} an epoch")
        }
        None => format!("all {of} shards were counted: each takes {most} {batches} an epoch"),
    };
    let added = format!(
        "they need {least} to {most}; {:.1} % of all batches are extra, to match the largest shard",
        100.0 * needs.added_share()
    );
    [format!("with {settings}"), counted, added]
}
