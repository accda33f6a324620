//! Rising positions in a few bits each: Rice codes of the gaps between them, as base64.
//!
//! A gap of `g` positions that are not held is `g >> bits` ones, a zero, and the lowest `bits` bits of
//! `g`, where `bits` follows from how many positions there are between the first and the end.

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// How many bits of a gap are written as they are.
fn bits(count: u64, from: u64, end: u64) -> u32 {
    (end.saturating_sub(from) / count.max(1)).max(1).ilog2()
}

/// The gaps between positions, of which the first is not written. All are below `end`.
pub(super) fn write(positions: &[u64], end: u64) -> String {
    let bits = bits(positions.len() as u64, positions.first().copied().unwrap_or(end), end);
    let mut all = Vec::new();
    for pair in positions.windows(2) {
        let gap = pair[1] - pair[0] - 1;
        all.extend((0..gap >> bits).map(|_| true));
        all.push(false);
        all.extend((0..bits).rev().map(|bit| gap >> bit & 1 == 1));
    }
    let digit = |six: &[bool]| {
        (0..6).fold(0, |digit, at| digit << 1 | usize::from(six.get(at) == Some(&true)))
    };
    all.chunks(6).map(|six| char::from(DIGITS[digit(six)])).collect()
}

/// The `count` positions from `from` on whose gaps were written; none if it is something else.
pub(super) fn read(text: &str, count: u64, from: u64, end: u64) -> Option<Vec<u64>> {
    let bits = bits(count, from, end);
    let digits = text.bytes().map(|byte| DIGITS.iter().position(|&digit| digit == byte));
    let digits = digits.collect::<Option<Vec<usize>>>()?;
    // Every gap has a bit at least.
    if count > 6 * digits.len() as u64 + 1 {
        return None;
    }
    let of_digit = |digit: &usize| [5, 4, 3, 2, 1, 0].map(|bit| digit >> bit & 1 == 1);
    let mut all = digits.iter().flat_map(of_digit);
    let mut positions = Vec::with_capacity(count as usize);
    if count > 0 {
        positions.push(from);
    }
    for _ in 1..count {
        let mut gap = 0_u64;
        while all.next()? {
            gap += 1;
        }
        for _ in 0..bits {
            gap = gap.checked_mul(2)? + u64::from(all.next()?);
        }
        let last = positions[positions.len() - 1];
        positions.push(last.checked_add(gap)?.checked_add(1)?);
    }
    // The one text that these positions have; bits that fill the last digit are no position more.
    let within = positions.last().is_none_or(|&last| last < end);
    (within && write(&positions, end) == text).then_some(positions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_come_back_in_few_bits() {
        let mut positions = vec![5];
        for number in 1_u64..4096 {
            positions.push(positions[number as usize - 1] + 1 + number * number % 4);
        }
        let end = positions[4095] + 1;
        let text = write(&positions, end);
        assert_eq!(read(&text, 4096, 5, end), Some(positions.clone()));
        assert!(text.len() < 2200, "{}", text.len());
        assert_eq!(read(&text, 4097, 5, end), None);
        assert_eq!(read(&text, u64::MAX, 5, end), None);
        assert_eq!(read(&text, 4096, u64::MAX, end), None);
        assert_eq!(read("A?", 3, 0, 9), None);
        for positions in [vec![], vec![7], vec![0, 1 << 40], vec![3, 4, 5]] {
            let (end, count) = (1 << 41, positions.len() as u64);
            let from = positions.first().copied().unwrap_or(end);
            assert_eq!(read(&write(&positions, end), count, from, end), Some(positions));
        }
    }
}
