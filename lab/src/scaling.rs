//! How long an epoch would take with more workers, by the plan and the time of measured steps.

use std::iter::successors;

use crate::report::Scaling;
use lengthwise::{CostModel, Lengths, Planner, Strategy};

use crate::{collective::Mode, error::Error};

/// How many sequences there are for each of the most workers: enough for all to have several batches.
const SEQUENCES: usize = 512;

/// An epoch on 1, 2, 4, … up to `most` workers that wait for each other after every step, and on as many that
/// wait only at its end. The given sequences are repeated as often as `most` workers need.
pub(crate) fn scaling(
    planner: &Planner<Strategy>,
    lengths: &Lengths,
    cost: CostModel,
    most: u32,
) -> Result<Vec<Scaling>, Error> {
    let all = (most as usize * SEQUENCES).max(lengths.len());
    let lengths: Vec<u32> = lengths.as_slice().iter().copied().cycle().take(all).collect();
    let plan = planner.plan(&Lengths::new(lengths)?, 0)?;
    let [mut sync, mut average] = [Vec::new(), Vec::new()];
    let doubled = successors(Some(1_u32), |&workers| workers.checked_mul(2));
    for workers in doubled.take_while(|&workers| workers <= most) {
        let schedule = plan.schedule(workers)?;
        let steps = schedule.len() as u64;
        let seconds = schedule.duration_by(&cost);
        let idle = schedule.idle_share_by(&cost);
        let name = |mode: Mode| mode.name().to_owned();
        sync.push(Scaling { name: name(Mode::Sync), workers, steps, seconds, idle });
        let mut loads = vec![0.0; workers as usize];
        let batches = schedule.all_ranks();
        for (at, (batch, &length)) in batches.iter().zip(batches.batch_lengths()).enumerate() {
            loads[at % workers as usize] += cost.seconds(batch.len() as u32, length);
        }
        let work: f64 = loads.iter().sum();
        let seconds = loads.into_iter().fold(0.0, f64::max);
        let idle = if seconds > 0.0 { 1.0 - work / (seconds * f64::from(workers)) } else { 0.0 };
        let idle = idle.max(0.0);
        average.push(Scaling { name: name(Mode::AVERAGE), workers, steps, seconds, idle });
    }
    sync.extend(average);
    Ok(sync)
}
