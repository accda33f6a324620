//! Which place of its step a batch takes.
//!
//! Rank r of W takes the places that leave r by W. The places are given so that ranks have equal
//! loads when they take several: for the whole step, for half as many ranks, and so on, as long as
//! the number of ranks can be divided.

use crate::{Purpose, Rng};

/// The steps in the given order, each with its batches in their places.
pub(super) fn seated(
    slots: &[u32],
    order: &[u32],
    per_step: usize,
    rng: &Rng,
    time: impl Fn(u32) -> f64,
) -> Vec<u32> {
    let places = places(per_step);
    let mut random = rng.stream(Purpose::Seat);
    let mut seated = vec![0; slots.len()];
    let mut by_time: Vec<(f64, u32)> = Vec::with_capacity(per_step);
    for (&step, seats) in order.iter().zip(seated.chunks_mut(per_step)) {
        by_time.clear();
        let step = &slots[step as usize * per_step..][..per_step];
        by_time.extend(step.iter().map(|&slot| (time(slot), slot)));
        by_time.sort_by(|a, b| b.0.total_cmp(&a.0));
        // No rank has the slowest batch of every step.
        let first = random.below(per_step as u32) as usize;
        for (&(_, slot), &place) in by_time.iter().zip(&places) {
            seats[(place + first) % per_step] = slot;
        }
    }
    seated
}

/// The places of the slowest batch, the second slowest, and so on: dealt to classes to and fro, as
/// many as the first prime factor, then in each class again by the next factor.
fn places(per_step: usize) -> Vec<usize> {
    let mut classes: Vec<Vec<usize>> = vec![(0..per_step).collect()];
    for prime in prime_factors(per_step) {
        // Class c of this level and class k before it are the places c·(classes before) + k.
        let parts = (0..prime).flat_map(|class| {
            classes.iter().map(move |members| {
                let mine = members.chunks(prime).enumerate().map(move |(round, dealt)| {
                    dealt[if round % 2 == 0 { class } else { prime - 1 - class }]
                });
                mine.collect()
            })
        });
        classes = parts.collect();
    }
    let mut places = vec![0; per_step];
    for (place, class) in classes.iter().enumerate() {
        places[class[0]] = place;
    }
    places
}

fn prime_factors(mut number: usize) -> Vec<usize> {
    let mut factors = Vec::new();
    let mut prime = 2;
    while prime * prime <= number {
        while number.is_multiple_of(prime) {
            factors.push(prime);
            number /= prime;
        }
        prime += 1;
    }
    if number > 1 {
        factors.push(number);
    }
    factors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_taken_and_halves_have_equal_loads() {
        for per_step in 1..200 {
            let mut places = places(per_step);
            places.sort_unstable();
            assert!(places.into_iter().eq(0..per_step), "{per_step}");
        }
        // Times 1, 2, … 16: any world size of 2, 4, 8 has loads that differ by little.
        let places = places(16);
        for world_size in [2, 4, 8] {
            let mut loads = vec![0; world_size];
            for (time, place) in (1..=16).rev().zip(&places) {
                loads[place % world_size] += time;
            }
            let (least, most) = (loads.iter().min().unwrap(), loads.iter().max().unwrap());
            assert!(most - least <= 1, "{world_size}: {loads:?}");
        }
    }
}
