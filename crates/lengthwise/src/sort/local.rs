//! Sorting a part that fits in a cache.

/// The most bits of a digit: a table of counts that stays in the first cache.
const DIGIT: u32 = 11;

/// The memory that parts are sorted in.
#[derive(Debug, Default)]
pub(super) struct Local {
    from: Vec<u64>,
    into: Vec<u64>,
    tables: Vec<Table>,
}

/// How often each value of a digit occurs, then where the next such element goes.
type Table = [u32; 1 << DIGIT];

impl Local {
    /// The elements of a part, by the `bits` bits from `shift` on; equal ones in the order given.
    /// Radix sort from the lowest digit.
    pub(super) fn sort<'a>(
        &mut self,
        slices: impl Iterator<Item = &'a [u64]> + Clone,
        count: usize,
        shift: u32,
        bits: u32,
    ) -> &mut [u64] {
        if self.from.len() < count {
            self.from.resize(count, 0);
            self.into.resize(count, 0);
        }
        self.tables.resize(3, [0; 1 << DIGIT]);
        let (mut from, mut into) = (&mut self.from[..count], &mut self.into[..count]);
        let passes = bits.div_ceil(DIGIT).max(1);
        let digit_bits = bits.div_ceil(passes);
        if count <= SMALL || bits == 0 {
            let mut place = 0;
            for slice in slices {
                from[place..place + slice.len()].copy_from_slice(slice);
                place += slice.len();
            }
            if bits > 0 {
                from.sort_by_key(|element| element >> shift & ((1 << bits) - 1));
            }
            return from;
        }
        let tables = &mut self.tables[..];
        // All digits are counted at once.
        match passes {
            1 => count_digits::<1>(slices.clone(), shift, digit_bits, tables),
            2 => count_digits::<2>(slices.clone(), shift, digit_bits, tables),
            _ => count_digits::<3>(slices.clone(), shift, digit_bits, tables),
        }
        place_all(slices.flatten(), from, &mut tables[0], shift, digit_bits);
        for (table, pass) in tables[1..].iter_mut().zip(1..passes) {
            place_all(from.iter(), into, table, shift + pass * digit_bits, digit_bits);
            std::mem::swap(&mut from, &mut into);
        }
        from
    }
}

/// Up to this many a comparison sort is faster than tables of counts.
const SMALL: usize = 64;

/// Counts how often each value of each digit occurs, and gives where it starts.
fn count_digits<'a, const PASSES: usize>(
    slices: impl Iterator<Item = &'a [u64]>,
    shift: u32,
    digit_bits: u32,
    tables: &mut [Table],
) {
    let Some(tables) = tables.first_chunk_mut::<PASSES>() else { return };
    for table in tables.iter_mut() {
        table[..1 << digit_bits].fill(0);
    }
    let mask = (1 << digit_bits) - 1;
    for slice in slices {
        for &element in slice {
            let mut digits = element >> shift;
            for table in tables.iter_mut() {
                table[(digits & mask) as usize % (1 << DIGIT)] += 1;
                digits >>= digit_bits;
            }
        }
    }
    for table in tables.iter_mut() {
        let mut start = 0;
        for place in &mut table[..1 << digit_bits] {
            (*place, start) = (start, start + *place);
        }
    }
}

/// Puts every element where its digit says.
fn place_all<'a>(
    elements: impl Iterator<Item = &'a u64>,
    into: &mut [u64],
    starts: &mut Table,
    shift: u32,
    digit_bits: u32,
) {
    let mask = (1 << digit_bits) - 1;
    elements.for_each(|&element| {
        let place = &mut starts[(element >> shift & mask) as usize % (1 << DIGIT)];
        into[*place as usize] = element;
        *place += 1;
    });
}

/// Puts runs of equal keys, the bits from `shift` on, in the order of `tie`.
pub(super) fn settle<K: Ord>(sorted: &mut [u64], shift: u32, tie: impl Fn(u64) -> K) {
    let equal = |a: u64, b: u64| (a ^ b) >> shift == 0;
    // Most parts have none, and to see this takes no branches.
    let pairs = sorted.iter().zip(sorted.iter().skip(1));
    if pairs.map(|(&a, &b)| u32::from(equal(a, b))).sum::<u32>() == 0 {
        return;
    }
    for run in sorted.chunk_by_mut(|&a, &b| equal(a, b)) {
        if run.len() > 1 {
            run.sort_by_cached_key(|&element| tie(element));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Purpose, Rng};

    #[test]
    fn parts_are_sorted_as_the_standard_stable_sort_does() {
        let rng = Rng::new(4, 0);
        let mut local = Local::default();
        for count in [0_u32, 1, 2, 63, 64, 65, 1000, 30_000] {
            let elements: Vec<u64> = rng
                .words(Purpose::Noise, count)
                .zip(rng.words(Purpose::Shuffle, count))
                .map(|(high, low)| u64::from(high) << 32 | u64::from(low))
                .collect();
            for (shift, bits) in [(32, 32), (43, 21), (32, 11), (40, 12), (60, 4), (63, 1), (5, 0)]
            {
                let mut expected = elements.clone();
                expected.sort_by_key(|element| element >> shift & ((1 << bits) - 1));
                let slices = elements.chunks(128);
                assert_eq!(local.sort(slices, elements.len(), shift, bits), expected);
            }
        }
    }

    #[test]
    fn runs_of_equal_keys_are_settled() {
        let mut sorted = vec![0x01, 0x12, 0x11, 0x10, 0x22, 0x33, 0x31];
        settle(&mut sorted, 4, |element| element);
        assert_eq!(sorted, [0x01, 0x10, 0x11, 0x12, 0x22, 0x31, 0x33]);
    }
}
