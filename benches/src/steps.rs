//! The ways to assign batches to steps: waiting, useful work, and how alike the steps are.

use std::io;

use lengthwise::{
    Budget, CostModel, Example, Lengths, Planner, Schedule, Steps,
    strategy::{Blurred, Shuffled},
};

use crate::{
    args::Args,
    data,
    output::Output,
    stats::{grouped, line},
};

/// One line of the table.
#[derive(Debug)]
pub(crate) struct Row {
    set: String,
    sequences: u32,
    world_size: u32,
    steps: Steps,
    /// How many steps a rank takes.
    count: usize,
    idle: f64,
    bound: f64,
    /// The share of the ranks' time that is neither waiting nor padding.
    useful: f64,
    /// The variance over steps of the mean logarithm of lengths, over that of random batches in
    /// order: means over positions, over batches and over sequences.
    variance: [f64; 3],
}

/// Time by attention: half as much again at 3,072 positions as cells alone.
const MODEL: &str = "c=1e-6,d=1.6276e-10";

/// Measures every set on every number of ranks. Quick: on 8 ranks only.
pub(crate) fn run(args: &Args, output: &mut Output) -> io::Result<Vec<Row>> {
    let sizes = [(8, 100_000), (64, 400_000), (1024, 2_000_000)];
    let sizes = if args.quick { &sizes[..1] } else { &sizes[..] };
    let mut rows = Vec::new();
    for &(world_size, sequences) in sizes {
        let examples = Example::ALL.map(|set| (set.to_string(), data::lengths(set, sequences)));
        let lognormal = ("lognormal".to_owned(), data::lognormal(sequences));
        for (set, lengths) in examples.into_iter().chain([lognormal]) {
            eprintln!("{world_size} ranks, {} sequences of {set}", grouped(u64::from(sequences)));
            for row in measure(&set, &lengths, world_size) {
                output.raw(&row.raw())?;
                rows.push(row);
            }
        }
    }
    Ok(rows)
}

/// Both ways under a budget of seconds, by attention.
fn measure(set: &str, lengths: &Lengths, world_size: u32) -> [Row; 2] {
    let model: CostModel = MODEL.parse().expect("a cost model");
    // 16,384 positions, or one of the longest sequences.
    let limit = model.seconds(1, lengths.max()).max(0.02);
    let budget = Budget::cost(model, limit);
    let schedule = |plan: Result<lengthwise::Plan, _>| -> Schedule {
        let plan = plan.expect("the budget has room for the longest");
        plan.schedule(world_size).expect("there are enough sequences")
    };
    let random = Planner::new(Shuffled, budget).steps(Steps::InOrder).plan(lengths, 0);
    let random = variances(&schedule(random), lengths);
    let work: f64 = lengths.as_slice().iter().map(|&length| model.seconds(1, length)).sum();
    [Steps::Stratified, Steps::Aligned].map(|steps| {
        let planner = Planner::new(Blurred { blur: 0.005 }, budget).steps(steps);
        let schedule = schedule(planner.plan(lengths, 0));
        let duration = schedule.duration_by(&model);
        let variance = variances(&schedule, lengths);
        Row {
            set: set.to_owned(),
            sequences: lengths.len() as u32,
            world_size,
            steps,
            count: schedule.len(),
            idle: schedule.idle_share(),
            bound: schedule.idle_bound(),
            useful: work / (f64::from(world_size) * duration),
            variance: [0, 1, 2].map(|mean| variance[mean] / random[mean]),
        }
    })
}

/// The variance over steps of three means of the logarithm of lengths.
fn variances(schedule: &Schedule, lengths: &Lengths) -> [f64; 3] {
    let all = schedule.all_ranks();
    let batches: Vec<&[u32]> = all.iter().collect();
    let means: Vec<[f64; 3]> = batches
        .chunks(schedule.world_size() as usize)
        .map(|step| {
            // Sums of weights, and of weighted logarithms.
            let (mut weights, mut sums) = ([0.0; 3], [0.0; 3]);
            for batch in step {
                for &sequence in *batch {
                    let length = f64::from(lengths.as_slice()[sequence as usize]);
                    for (mean, weight) in
                        [length, 1.0 / batch.len() as f64, 1.0].into_iter().enumerate()
                    {
                        weights[mean] += weight;
                        sums[mean] += weight * length.ln();
                    }
                }
            }
            [0, 1, 2].map(|mean| sums[mean] / weights[mean])
        })
        .collect();
    [0, 1, 2].map(|mean| {
        let values = means.iter().map(|values| values[mean]);
        let centre = values.clone().sum::<f64>() / means.len() as f64;
        values.map(|value| (value - centre).powi(2)).sum::<f64>() / (means.len() as f64 - 1.0)
    })
}

impl Row {
    fn raw(&self) -> String {
        format!(
            "{{\"kind\":\"steps\",\"lengths\":\"{}\",\"sequences\":{},\"world_size\":{},\
             \"steps\":\"{}\",\"count\":{},\"idle\":{},\"bound\":{},\"useful\":{},\"variance\":{:?}}}",
            self.set,
            self.sequences,
            self.world_size,
            self.steps,
            self.count,
            self.idle,
            self.bound,
            self.useful,
            self.variance
        )
    }
}

/// Every row, in Markdown.
pub(crate) fn table(rows: &[Row]) -> String {
    let mut text = "## Steps\n\n\
        | ranks | sequences | lengths | steps | steps a rank | idle % | at least | useful % | \
        variance/random, over positions | batches | sequences |\n\
        |--:|--:|---|---|--:|--:|--:|--:|--:|--:|--:|\n"
        .to_owned();
    for row in rows {
        let mut cells = vec![
            row.world_size.to_string(),
            grouped(u64::from(row.sequences)),
            row.set.clone(),
            row.steps.to_string(),
            row.count.to_string(),
        ];
        let percent =
            [row.idle, row.bound, row.useful].map(|share| format!("{:.2}", 100.0 * share));
        cells.extend(percent);
        cells.extend(row.variance.map(|ratio| match ratio {
            ..10.0 => format!("{ratio:.3}"),
            _ => grouped(ratio.round() as u64),
        }));
        text += &line(&cells);
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stratified_steps_are_more_alike_than_random_ones() {
        let [stratified, aligned] = measure("lognormal", &data::lognormal(20_000), 8);
        assert!(stratified.variance[0] < 1.0 && aligned.variance[0] > 10.0);
        assert!((aligned.idle - aligned.bound).abs() < 1e-9);
        assert!(stratified.useful > 0.9);
    }
}
