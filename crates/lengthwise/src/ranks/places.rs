//! Which place of its step a batch takes.
//!
//! Rank r of W takes the places that leave r by W. Where ranks take several batches, they get them
//! round by round: in each, the slowest batch goes to the rank that has worked least so far.

use crate::base::rng::{Purpose, Rng};

/// The steps in the given order, each with its batches in their places.
pub(crate) fn placed(
    slots: &[u32],
    order: &[u32],
    per_step: usize,
    world_size: usize,
    rng: &Rng,
    time: impl Fn(u32) -> f64,
) -> Vec<u32> {
    let mut random = rng.stream(Purpose::Assign);
    let mut placed = vec![0; slots.len()];
    let mut by_time: Vec<(f64, u32)> = Vec::with_capacity(per_step);
    let mut ranks: Vec<(f64, usize)> = Vec::with_capacity(world_size);
    for (&step, places) in order.iter().zip(placed.chunks_mut(per_step)) {
        by_time.clear();
        let step = &slots[step as usize * per_step..][..per_step];
        by_time.extend(step.iter().map(|&slot| (time(slot), slot)));
        by_time.sort_by(|a, b| b.0.total_cmp(&a.0));
        // No rank has the slowest batch of every step.
        let first = random.below(world_size as u32) as usize;
        ranks.clear();
        ranks.extend((0..world_size).map(|rank| (0.0, (rank + first) % world_size)));
        for (round, batches) in by_time.chunks(world_size).enumerate() {
            ranks.sort_by(|a, b| a.0.total_cmp(&b.0));
            for (&(time, slot), (load, rank)) in batches.iter().zip(&mut ranks) {
                places[round * world_size + *rank] = slot;
                *load += time;
            }
        }
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_taken_and_loads_are_nearly_equal() {
        for (per_step, world_size) in [(1, 1), (5, 5), (12, 12), (12, 3), (12, 6), (12, 4), (60, 5)]
        {
            let slots: Vec<u32> = (0..2 * per_step as u32).collect();
            let time = |slot: u32| f64::from(100 + slot % 17);
            let rng = Rng::new(1, 0);
            let placed = placed(&slots, &[1, 0], per_step, world_size, &rng, time);
            for (step, places) in [1, 0].into_iter().zip(placed.chunks(per_step)) {
                let mut members = places.to_vec();
                members.sort_unstable();
                assert_eq!(members, slots[step * per_step..][..per_step]);
                let loads: Vec<f64> = (0..world_size)
                    .map(|rank| places[rank..].iter().step_by(world_size).map(|&s| time(s)).sum())
                    .collect();
                let (most, least) =
                    loads.iter().fold((0.0_f64, f64::INFINITY), |(m, l), &x| (m.max(x), l.min(x)));
                // In the worst case they differ by what two batches differ.
                assert!(most - least <= 16.0, "{per_step} {world_size}: {loads:?}");
            }
        }
    }
}
