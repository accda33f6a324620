//! From the points that a pen passes to points at even steps along its way.

pub(super) type Point = [f64; 2];

/// How many straight pieces a curve between two points is made of.
const PIECES: u32 = 4;

/// Walks along a stroke in nearly even steps of about this size, at least two points. The first and
/// the last point are those of the stroke.
pub(super) fn walk(stroke: &[Point], step: f64) -> Vec<Point> {
    let path = curve(stroke);
    let way: Vec<f64> = path
        .iter()
        .scan((path[0], 0.0), |(last, sum), point| {
            *sum += distance(*last, *point);
            *last = *point;
            Some(*sum)
        })
        .collect();
    let whole = way[way.len() - 1];
    let steps = ((whole / step + 0.5) as usize).max(1);
    let mut piece = 0;
    (0..=steps)
        .map(|index| {
            let at = whole * index as f64 / steps as f64;
            while piece + 2 < path.len() && way[piece + 1] < at {
                piece += 1;
            }
            let size = way[piece + 1] - way[piece];
            let share = if size > 0.0 { ((at - way[piece]) / size).min(1.0) } else { 0.0 };
            [0, 1].map(|axis| {
                let [from, to] = [path[piece][axis], path[piece + 1][axis]];
                from + (to - from) * share
            })
        })
        .collect()
}

pub(super) fn distance(from: Point, to: Point) -> f64 {
    let [dx, dy] = [to[0] - from[0], to[1] - from[1]];
    (dx * dx + dy * dy).sqrt()
}

/// A smooth curve through the points of a stroke (Catmull and Rom's), as short straight pieces.
fn curve(stroke: &[Point]) -> Vec<Point> {
    let last = stroke.len() - 1;
    let mut path = vec![stroke[0]];
    for index in 0..last {
        let [before, from, to, after] =
            [index.saturating_sub(1), index, index + 1, (index + 2).min(last)]
                .map(|place| stroke[place]);
        path.extend((1..=PIECES).map(|piece| {
            let share = f64::from(piece) / f64::from(PIECES);
            [0, 1].map(|axis| {
                let [before, from, to, after] = [before, from, to, after].map(|point| point[axis]);
                let slope = to - before;
                let bend = 2.0 * before - 5.0 * from + 4.0 * to - after;
                let turn = 3.0 * from - before - 3.0 * to + after;
                from + 0.5 * share * (slope + share * (bend + share * turn))
            })
        }));
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_along_a_line_are_even() {
        let walked = walk(&[[0.0, 0.0], [4.0, 0.0], [10.0, 0.0]], 2.6);
        assert_eq!(walked.len(), 5);
        assert_eq!((walked[0], walked[4]), ([0.0, 0.0], [10.0, 0.0]));
        for pair in walked.windows(2) {
            assert!((distance(pair[0], pair[1]) - 2.5).abs() < 1e-9, "{walked:?}");
        }
    }

    #[test]
    fn curves_pass_the_points_and_a_dot_has_two() {
        let corner = [[0.0, 0.0], [3.0, 5.0], [6.0, 0.0]];
        let path = curve(&corner);
        assert!(corner.iter().all(|point| path.contains(point)));
        assert_eq!(walk(&[[1.0, 1.0], [1.0, 1.0]], 5.0), [[1.0, 1.0]; 2]);
    }
}
