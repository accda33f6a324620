//! Jobs whose instructions are counted. Without arguments it lists them; with a name it does one.
//!
//! Only what happens within [`counted`] counts: lengths are drawn before.

#[expect(dead_code, reason = "of the sets of the benchmarks not all are used")]
#[path = "../../src/data.rs"]
mod data;

use std::{error::Error, hint::black_box};

use lengthwise::{
    Budget, Example, Lengths, Planner, Shapes, Strategy, Workspace, ladder,
    strategy::{Blurred, Packed},
    tune::batches_only,
};

/// A name, and a function that prepares the job and has it counted.
type Job = (String, Box<dyn Fn() -> Result<(), Box<dyn Error>>>);

fn main() -> Result<(), Box<dyn Error>> {
    let jobs = jobs();
    let Some(wanted) = std::env::args().nth(1) else {
        for (name, _) in jobs {
            println!("{name}");
        }
        return Ok(());
    };
    let Some((_, job)) = jobs.into_iter().find(|(name, _)| *name == wanted) else {
        return Err(format!("no job {wanted:?}: without arguments, all are listed").into());
    };
    job()
}

/// The work that counts, as a function of its own that callgrind finds by its name.
#[inline(never)]
fn counted<T>(work: impl FnOnce() -> T) -> T {
    black_box(work())
}

fn jobs() -> Vec<Job> {
    let mut jobs: Vec<Job> = Vec::new();
    let mut add = |name: String, job: Box<dyn Fn() -> Result<(), Box<dyn Error>>>| {
        jobs.push((name, job));
    };
    for count in [100_000, 1_000_000] {
        for example in Example::ALL {
            let name = format!("default/{}/{count}", example.name());
            add(name, Box::new(move || default_plan(&data::lengths(example, count))));
        }
    }
    for strategy in Strategy::all_padded() {
        let name = format!("{}/speech/100000", strategy.to_string().replace(':', ","));
        let job = move || {
            let lengths = data::lengths(Example::Speech, 100_000);
            plan(strategy.clone(), budget(&lengths), &lengths)
        };
        add(name, Box::new(job));
    }
    for example in Example::ALL {
        let job = move || {
            let lengths = data::lengths(example, 100_000);
            let capacity = 4 * lengths.max().next_power_of_two();
            plan(Packed::default().into(), Budget::padded(capacity.into()), &lengths)
        };
        add(format!("packed/{}/100000", example.name()), Box::new(job));
    }
    let rungs = || {
        let lengths = data::distinct(10_000);
        // The ladder alone counts, not the histogram that it starts from.
        black_box(lengths.histogram());
        counted(|| ladder(&lengths, 64));
        Ok(())
    };
    add("ladder/10000/64".into(), Box::new(rungs));
    for example in Example::ALL {
        let job = move || {
            let lengths = data::lengths(example, 100_000);
            let planner = Planner::new(Blurred::default(), budget(&lengths));
            let plan = planner.plan_in(&Workspace::new().threads(1), &lengths, 0)?;
            counted(|| plan.schedule(8))?;
            Ok(())
        };
        add(format!("schedule/8/{}/100000", example.name()), Box::new(job));
    }
    jobs
}

/// What a plan is limited by: 32 sequences of mean length, and one of the longest at least.
fn budget(lengths: &Lengths) -> Budget {
    Budget::padded(((32.0 * lengths.mean()) as u64).max(lengths.max().into()))
}

/// What `lengthwise plan` does by itself where it plans batches, and no optimizer steps.
fn default_plan(lengths: &Lengths) -> Result<(), Box<dyn Error>> {
    let budget = budget(lengths);
    counted(|| {
        let (strategy, shapes): (Strategy, Shapes) = batches_only(lengths, budget, None, None)?;
        Planner::new(strategy, budget).shapes(shapes).plan_in(
            &Workspace::new().threads(1),
            lengths,
            0,
        )
    })?;
    Ok(())
}

fn plan(strategy: Strategy, budget: Budget, lengths: &Lengths) -> Result<(), Box<dyn Error>> {
    let planner = Planner::new(strategy, budget);
    counted(|| planner.plan_in(&Workspace::new().threads(1), lengths, 0))?;
    Ok(())
}
