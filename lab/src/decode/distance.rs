//! How many symbols were taken for others, left out or added.

/// The least number of changes, additions and omissions that turn one sequence into the other
/// (Levenshtein, 1966).
pub fn distance<T: PartialEq>(one: &[T], other: &[T]) -> usize {
    let mut before: Vec<usize> = (0..=other.len()).collect();
    let mut now = vec![0; other.len() + 1];
    for (row, a) in one.iter().enumerate() {
        now[0] = row + 1;
        for (column, b) in other.iter().enumerate() {
            let changed = before[column] + usize::from(a != b);
            now[column + 1] = changed.min(before[column + 1] + 1).min(now[column] + 1);
        }
        std::mem::swap(&mut before, &mut now);
    }
    before[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_of_the_definition() {
        let of = |one: &str, other: &str| distance(one.as_bytes(), other.as_bytes());
        assert_eq!(of("kitten", "sitting"), 3);
        assert_eq!(of("", "abc"), 3);
        assert_eq!(of("abc", ""), 3);
        assert_eq!(of("abc", "abc"), 0);
        assert_eq!(of("ab", "ba"), 2);
    }
}
