//! Random lengths, shapes, cost models and budgets.

#![expect(clippy::unwrap_used, reason = "what is drawn here is right")]

use super::Kind;
use lengthwise::{CostModel, Lengths, Rule, Shapes, Sides, custom::Stream};

/// A number that is uniform in its logarithm.
pub(super) fn scaled(random: &mut Stream, most: u32) -> u32 {
    let bits = 1 + random.below(u32::BITS - most.leading_zeros());
    1 + random.below(most.min(u32::MAX >> (u32::BITS - bits)))
}

pub(super) fn one_of<T: Clone>(random: &mut Stream, from: &[T]) -> T {
    from[random.below(from.len() as u32) as usize].clone()
}

pub(super) fn chance(random: &mut Stream, one_in: u32) -> bool {
    random.below(one_in) == 0
}

/// Lengths of hard kinds: few distinct ones, heavy tails, all equal, one giant.
pub(super) fn lengths(random: &mut Stream) -> Lengths {
    let count = match random.below(40) {
        0 => 1500 + random.below(600), // enough for the fast path
        1..=9 => 1 + random.below(12),
        _ => 1 + random.below(300),
    };
    let most = scaled(random, 3000);
    let few: Vec<u32> = (0..=random.below(4)).map(|_| 1 + random.below(most)).collect();
    let kind = random.below(6);
    let mut lengths: Vec<u32> = (0..count)
        .map(|_| match kind {
            0 => few[0],
            1 => one_of(random, &few),
            2 => scaled(random, most),
            3 => most + random.below(3),
            _ => 1 + random.below(most),
        })
        .collect();
    if chance(random, 6) {
        let at = random.below(count) as usize;
        lengths[at] = 10 * most + random.below(1000);
    }
    Lengths::new(lengths).unwrap()
}

/// Rungs up to the longest or beyond it, so that some nearly fit a budget.
pub(super) fn rungs(random: &mut Stream, longest: u32) -> Shapes {
    let mut rungs: Vec<u32> = (0..random.below(5)).map(|_| 1 + random.below(longest)).collect();
    let mut top = longest;
    for _ in 0..=random.below(4) {
        top += random.below(top / 8 + 2);
        rungs.push(top);
    }
    rungs.sort_unstable();
    rungs.dedup();
    Shapes::Rungs(rungs)
}

pub(super) fn shapes_of_one(random: &mut Stream, longest: u32) -> Shapes {
    match random.below(6) {
        0 | 1 => Shapes::Exact,
        2 => Shapes::Multiple(1 + random.below(40)),
        3 => Shapes::Ladder(1 + random.below(12)),
        _ => rungs(random, longest),
    }
}

/// What a length is padded to alone. A ladder that is not given is made of the lengths.
pub(super) fn alone(shapes: &Shapes, length: u32) -> u32 {
    match shapes {
        Shapes::Multiple(multiple) => length.next_multiple_of(*multiple),
        Shapes::Rungs(rungs) => {
            rungs.iter().copied().find(|&rung| rung >= length).unwrap_or(length)
        }
        _ => length,
    }
}

pub(super) fn sides_of(shapes: &Shapes) -> [&Shapes; 2] {
    match shapes {
        Shapes::Each(first, second) => [first, second],
        both => [both, both],
    }
}

pub(super) fn cost_model(random: &mut Stream) -> CostModel {
    if chance(random, 2) {
        return CostModel::preset(one_of(random, &["recurrent", "encoder", "paper-2"])).unwrap();
    }
    let term = |random: &mut Stream, most: f64| {
        if chance(random, 2) { most * f64::from(1 + random.below(100)) / 100.0 } else { 0.0 }
    };
    let [a, b, c, d] = [1e-2, 1e-4, 1e-5, 1e-8].map(|most| term(random, most));
    CostModel::new(a, b, if a + b + d == 0.0 { 1e-6 } else { c }, d).unwrap()
}

/// A limit that the longest sequence just affords, that its next rung nearly affords, or another.
pub(super) fn kind(random: &mut Stream, lengths: &Lengths, shapes: &Shapes) -> Kind {
    let [first, second] = sides_of(shapes);
    let seconds = lengths.second().map(Lengths::max);
    let tops = |shapes: &Shapes, longest: u32| match shapes {
        Shapes::Rungs(rungs) => rungs.clone(),
        shapes => vec![alone(shapes, longest)],
    };
    let a = one_of(random, &tops(first, lengths.max()));
    let b = seconds.map_or(0, |longest| one_of(random, &tops(second, longest)));
    let joint = a + b;
    // Exactly what one affords, a little more or less, or many times as much.
    let factor = match random.below(5) {
        0 => 1.0,
        1 => 1.0 + f64::from(random.below(100)) / 500.0,
        2 => 1.0 + f64::from(random.below(100)) / 50.0,
        3 => 0.3 + f64::from(random.below(70)) / 100.0,
        _ => 1.0 + f64::from(random.below(3000)) / 100.0,
    };
    let times = |length: u32| ((f64::from(length) * factor) as u64).max(1);
    let some = |random: &mut Stream, length: u32| (!chance(random, 3)).then(|| times(length));
    match random.below(6) {
        0 => Kind::Sequences(scaled(random, 40)),
        1 => Kind::Dynamic(scaled(random, 20), one_of(random, &[Rule::Printed, Rule::Over])),
        2 if seconds.is_some() => {
            let [sum, first, second, max] =
                [joint, a, b, a.max(b)].map(|length| some(random, length));
            let none = [sum, first, second, max].iter().all(Option::is_none);
            Kind::Sides(Sides {
                sum: if none { Some(times(joint)) } else { sum },
                first,
                second,
                max,
            })
        }
        2 | 3 => Kind::Padded(times(joint)),
        _ => {
            let model = cost_model(random);
            Kind::Cost(model, model.seconds(1, joint) * factor)
        }
    }
}
