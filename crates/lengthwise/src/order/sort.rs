//! Orders of sequences: the shuffled order, and stable sorting of an order by an integer key.
//!
//! Every strategy that is "an order, cut into batches" is a stable sort of a shuffled order, so that
//! equal keys come in a random order that is new in each epoch.

use crate::base::rng::{Purpose, Rng};

/// All sequences in a random order: sorted by word `i` of the stream, then by index.
///
/// Sorting by random keys, rather than exchanging places one after another, makes the order a
/// function of each sequence alone, which any number of threads can compute in any way. Two of
/// `count` sequences have the same key with a chance of 2⁻³²; then the lower index comes first.
pub(crate) fn shuffled(count: u32, rng: &Rng, purpose: Purpose) -> Vec<u32> {
    let packed = rng.words(purpose, count).zip(0..count).map(|(word, index)| pack(word, index));
    unpack(&by_high_half(packed.collect()))
}

/// Sorts `order` by `key`, keeping the order of equal keys.
pub(crate) fn by_key(order: &mut [u32], key: impl Fn(u32) -> u32) {
    let packed = order.iter().map(|&sequence| pack(key(sequence), sequence)).collect();
    for (place, packed) in order.iter_mut().zip(by_high_half(packed)) {
        *place = packed as u32;
    }
}

pub(crate) fn pack(key: u32, sequence: u32) -> u64 {
    u64::from(key) << 32 | u64::from(sequence)
}

pub(crate) fn unpack(packed: &[u64]) -> Vec<u32> {
    packed.iter().map(|&packed| packed as u32).collect()
}

/// Below this a comparison sort is faster than several passes with tables of counts.
const SMALL: usize = 1500;

/// Stable sort by the upper 32 bits: radix sort from the lowest digit, with one buffer.
pub(crate) fn by_high_half(mut values: Vec<u64>) -> Vec<u64> {
    if values.len() < SMALL {
        values.sort_by_key(|value| value >> 32);
        return values;
    }
    // Bits that are the same everywhere need no pass.
    let varying = values.iter().fold(0, |bits, value| bits | (value ^ values[0])) >> 32;
    let bits = u64::BITS - varying.leading_zeros();
    // One pass of up to 11 bits if that is enough; more of 8, whose tables stay in the first cache.
    let digit_bits = if bits <= 11 { 11 } else { 8 };
    let mut other = vec![0; if bits > 0 { values.len() } else { 0 }];
    for shift in (0..bits).step_by(digit_bits) {
        let digit = |value: u64| (value >> (32 + shift)) as usize & ((1 << digit_bits) - 1);
        let mut starts = [0_u32; 1 << 11];
        for &value in &values {
            starts[digit(value)] += 1;
        }
        let mut start = 0;
        for place in &mut starts {
            (*place, start) = (start, start + *place);
        }
        for &value in &values {
            let place = &mut starts[digit(value)];
            other[*place as usize] = value;
            *place += 1;
        }
        std::mem::swap(&mut values, &mut other);
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn radix_sort_equals_the_standard_stable_sort() {
        let rng = Rng::new(1, 0);
        for count in [0, 1, 2, 1499, 1500, 20_000] {
            for mask in [0, 1, 0xFF, 0x3FF_F800, 0xFFC0_0000, u32::MAX] {
                let keys: Vec<u32> = rng.words(Purpose::Noise, count).map(|w| w & mask).collect();
                let mut expected = shuffled(count, &rng, Purpose::Shuffle);
                let mut order = expected.clone();
                expected.sort_by_key(|&sequence| keys[sequence as usize]);
                by_key(&mut order, |sequence| keys[sequence as usize]);
                assert_eq!(order, expected, "{count} keys under {mask:x}");
            }
        }
    }

    #[test]
    fn shuffled_orders_of_three_are_equally_likely() {
        let mut seen = [0_u32; 27];
        for epoch in 0..60_000 {
            let order = shuffled(3, &Rng::new(5, epoch), Purpose::Shuffle);
            seen[(9 * order[0] + 3 * order[1] + order[2]) as usize] += 1;
        }
        let orders: Vec<u32> = seen.into_iter().filter(|&n| n > 0).collect();
        assert_eq!(orders.len(), 6);
        let chi_square: f64 =
            orders.iter().map(|&n| (f64::from(n) - 10_000.0).powi(2) / 10_000.0).sum();
        // Five degrees of freedom: 1 in 10,000 generators would exceed this.
        assert!(chi_square < 25.7, "{orders:?}");
    }
}
