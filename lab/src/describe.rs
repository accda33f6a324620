//! A description of an experiment, without training.

use std::fmt::Write as _;

use lengthwise::Chunks;

use crate::{
    collective::Mode, data::Task, error::Error, evaluate, experiment::Experiment, model::Model,
    trial,
};

/// Describes the data, the model and the batches of every run. Nothing is trained.
pub fn describe(experiment: &Experiment, task: &Task) -> Result<String, Error> {
    let Task { name, source, training, validation } = task;
    let lengths = evaluate::lengths(training)?;
    let model = Model::fitting(&experiment.model, training)?;
    let mut text = format!(
        "{}\n\n{name} ({source}): {} sequences for training, {} for validation\n\
         lengths {} to {}, mean {:.1}; {} parameters\n\n",
        experiment.title,
        training.len(),
        validation.len(),
        lengths.min(),
        lengths.max(),
        lengths.mean(),
        model.parameters(),
    );
    let seed = experiment.seeds.first();
    let trainings = experiment.trainings()?;
    for trained in trainings.iter().filter(|trained| Some(&trained.seed) == seed) {
        let within = |error: Error| error.within(&trained.name);
        let chunks = trained.chunk.map(|size| trial::cut(training, &lengths, size));
        let chunks = chunks.transpose().map_err(within)?;
        let lengths = chunks.as_ref().map_or(&lengths, Chunks::lengths);
        let plan = trained.planner.plan(lengths, 0).map_err(|error| within(error.into()))?;
        let schedule = plan.schedule(trained.workers as u32);
        let schedule = schedule.map_err(|error| within(error.into()))?;
        let measures = plan.measure(lengths);
        _ = writeln!(
            text,
            "{:24} {:>5} batches, padding {:>5.1} %, {} shapes  ({})",
            trained.name,
            plan.len(),
            100.0 * measures.padding_rate,
            measures.shapes,
            trained.described(),
        );
        let each = schedule.accumulate();
        if trained.workers > 1 || each > 1 {
            _ = write!(text, "{:24} {:>5} optimizer steps", "", schedule.len());
            if each > 1 {
                _ = write!(text, " of {each} batches");
            }
            if trained.workers > 1 {
                text.push_str(" on each worker");
            }
            if trained.workers > 1 && trained.mode == Mode::Sync {
                let waiting = 100.0 * schedule.idle_share();
                _ = write!(text, "; workers wait for {waiting:.1} % of the time by the plan");
            }
            text.push('\n');
        }
    }
    Ok(text)
}
