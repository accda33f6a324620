//! The fixed grid of lengths that statistics fall back to where there are very many distinct ones.
//!
//! A length on it has zeros after its first eleven binary digits, so a class is at most one part in 1,024
//! wide. It does not depend on data: whoever rounds a length gets the same class.

/// How many binary digits a length on the grid keeps.
const DIGITS: u32 = 11;

/// The lowest length on the grid that is at or above this one.
pub(crate) fn up(length: u32) -> u32 {
    let shift = (u32::BITS - length.leading_zeros()).saturating_sub(DIGITS);
    let steps = u64::from(length).div_ceil(1 << shift);
    // The last class of all ends where lengths do.
    u32::try_from(steps << shift).unwrap_or(u32::MAX)
}

/// The shortest length of the class that ends at `end`, which is on the grid.
pub(crate) fn first_of(end: u32) -> u32 {
    let below = end - 1;
    let shift = (u32::BITS - below.leading_zeros()).saturating_sub(DIGITS);
    (below >> shift << shift) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_narrow_and_leave_no_gap() {
        let some = (1..70_000).chain((70_000..u32::MAX).step_by(7_919_113)).chain([u32::MAX]);
        for length in some {
            let end = up(length);
            assert!(end >= length && up(end) == end, "{length} {end}");
            assert!(f64::from(end) <= f64::from(length) * (1.0 + 1.0 / 1024.0), "{length} {end}");
            let first = first_of(end);
            assert!(first <= length && up(first) == end, "{length}: {first} to {end}");
            assert!(first == 1 || up(first - 1) < end, "{length}: {first} to {end}");
        }
    }
}
