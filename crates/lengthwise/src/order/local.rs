//! Sorting a part that fits in a cache.

/// The most bits of a digit: a table of counts that stays in the first cache.
const DIGIT: u32 = 12;

/// 32 bits are so many digits at most: of seven bits each.
const MOST_DIGITS: usize = 5;

/// The memory that parts are sorted in.
#[derive(Debug, Default)]
pub(crate) struct Local {
    from: Vec<u64>,
    into: Vec<u64>,
    tables: Vec<Table>,
}

/// How often each value of a digit occurs, then where the next such element goes.
type Table = [u32; 1 << DIGIT];

/// What sorting on a thread takes, and what it takes for each element of the largest part: both lists,
/// which may have grown to twice of it, and the keys of a run of equals.
pub(crate) const TABLES: u64 = (MOST_DIGITS * size_of::<Table>()) as u64;
pub(crate) const PER_ELEMENT: u64 = 2 * 16 + 24;

impl Local {
    /// The elements of a part, by the `bits` bits from `shift` on; equal ones in the order given. Any
    /// bits above are the same in all elements. Radix sort from the lowest digit.
    pub(crate) fn sort<'a>(
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
        self.tables.resize(MOST_DIGITS, [0; 1 << DIGIT]);
        let (mut from, mut into) = (&mut self.from[..count], &mut self.into[..count]);
        // Few elements are not worth large tables.
        let digit = if count < FEW { 7 } else { DIGIT };
        let passes = bits.div_ceil(digit).max(1);
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
        // All of the part is asked for at once; counting would wait for it line by line.
        let mut asked = 0;
        for slice in slices.clone() {
            for line in slice.chunks(8) {
                asked |= line[0];
            }
        }
        std::hint::black_box(asked);
        // All digits are counted at once.
        match passes {
            1 => count_digits::<1>(slices.clone(), shift, digit_bits, tables),
            2 => count_digits::<2>(slices.clone(), shift, digit_bits, tables),
            3 => count_digits::<3>(slices.clone(), shift, digit_bits, tables),
            _ => count_digits::<MOST_DIGITS>(slices.clone(), shift, digit_bits, tables),
        }
        for slice in slices {
            place_all(slice, from, &mut tables[0], shift, digit_bits);
        }
        for (table, pass) in tables[1..].iter_mut().zip(1..passes) {
            place_all(from, into, table, shift + pass * digit_bits, digit_bits);
            std::mem::swap(&mut from, &mut into);
        }
        from
    }
}

/// Fewer than this are sorted by more digits of fewer bits.
const FEW: usize = 1024;

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
#[inline(always)]
fn place_all(elements: &[u64], into: &mut [u64], starts: &mut Table, shift: u32, digit_bits: u32) {
    let mask = (1 << digit_bits) - 1;
    for &element in elements {
        let place = &mut starts[(element >> shift & mask) as usize % (1 << DIGIT)];
        into[*place as usize] = element;
        *place += 1;
    }
}

/// How many neighbours are settled together.
pub(crate) const NEAR: usize = 64;

/// Puts runs of equal keys, the bits from `shift` on, in the order of `tie`, where they have a part in
/// the stretches of [`NEAR`] places that begin at `starts`, rising; says which places may have changed.
/// Every run is settled once, however long it is.
pub(crate) fn settle<K: Ord>(
    sorted: &mut [u64],
    starts: impl IntoIterator<Item = usize>,
    shift: u32,
    tie: impl Fn(u64) -> K,
    mut changed: impl FnMut(usize, &[u64]),
) {
    let same = |sorted: &[u64], at: usize| (sorted[at] ^ sorted[at + 1]) >> shift == 0;
    // No run that is yet to be settled begins before this.
    let mut at = 0;
    for start in starts {
        if at < start {
            at = start;
            while at > 0 && same(sorted, at - 1) {
                at -= 1;
            }
        }
        while at + 1 < sorted.len() && at < start + NEAR {
            let mut end = at + 1;
            while end < sorted.len() && same(sorted, end - 1) {
                end += 1;
            }
            if end - at > 1 {
                sorted[at..end].sort_by_cached_key(|&element| tie(element));
                changed(at, &sorted[at..end]);
            }
            at = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::{Purpose, Rng};

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
                let above = 64 - shift - bits;
                let elements: Vec<u64> =
                    elements.iter().map(|element| element << above >> above).collect();
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
        let mut changed = Vec::new();
        settle(&mut sorted, [0], 4, |element| element, |at, run| changed.push((at, run.len())));
        assert_eq!(sorted, [0x01, 0x10, 0x11, 0x12, 0x22, 0x31, 0x33]);
        assert_eq!(changed, [(1, 3), (5, 2)]);
        // Runs that reach over both ends of a stretch.
        let mut sorted: Vec<u64> = (0..300).map(|at| ((at / 100) << 32) | (299 - at)).collect();
        let expected: Vec<u64> = (0..3_u64)
            .flat_map(|run| (0..100).map(move |at| (run << 32) | (200 - 100 * run + at)))
            .collect();
        let mut settled = sorted.clone();
        settle(&mut settled, [128], 32, |element| element, |at, _| assert_eq!(at, 100));
        assert_eq!(settled[100..200], expected[100..200]);
        assert_eq!(settled[..100], sorted[..100]);
        let mut runs = 0;
        settle(&mut sorted, (0..300).step_by(NEAR), 32, |element| element, |_, _| runs += 1);
        assert_eq!((sorted, runs), (expected, 3));
    }
}
