//! How much a thread has computed, so that tests can tell what padding costs.

use std::cell::Cell;

thread_local! {
    static MULTIPLICATIONS: Cell<usize> = const { Cell::new(0) };
}

/// Counts multiplications.
pub(crate) fn add(multiplications: usize) {
    MULTIPLICATIONS.with(|count| count.set(count.get() + multiplications));
}

/// The multiplications that `job` needs, all of them in one thread.
pub(crate) fn of(job: impl FnOnce() + Send) -> usize {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| {
        job();
        MULTIPLICATIONS.with(Cell::get)
    })
}

mod tests {
    use super::*;
    use crate::{Attention, Cpu, Engine as _, Frame, Linear, Recurrent, Tape};

    /// The multiplications of a step of training: layers, attention and what gives scores.
    fn of_step(frame: &Frame, both: bool) -> usize {
        let layers = [
            Recurrent { inputs: 5, units: 21, both },
            Recurrent { inputs: 21 * (1 + usize::from(both)), units: 21, both },
        ];
        let width = layers[1].outputs();
        let head = Linear { inputs: width, outputs: 6 };
        let count = layers[0].parameters() + layers[1].parameters() + head.parameters();
        of(|| {
            let parameters = Cpu.upload(vec![0.1; count]).unwrap();
            let mut tape = Tape::new(&Cpu, &parameters);
            let x = tape.given(vec![0.5; 5 * frame.cells()]).unwrap();
            let one = tape.recurrent(layers[0], 0, frame, x).unwrap();
            let two = tape.recurrent(layers[1], layers[0].parameters(), frame, one).unwrap();
            let at = count - head.parameters();
            let scores = tape.linear(head, at, frame, two).unwrap();
            let labels = vec![1; frame.cells()];
            let loss = Cpu.cross_entropy(frame, tape.get(scores), 6, &labels).unwrap();
            let mut gradient = Cpu.zeros(count).unwrap();
            tape.backward(scores, loss.gradient, &mut gradient).unwrap();
        })
    }

    #[test]
    fn a_step_costs_what_its_positions_cost() {
        for both in [false, true] {
            let one = of_step(&Frame::new(1, vec![1]), both);
            assert!(one > 0);
            let even: Vec<usize> = (1..=10).map(|row| 4 * row).collect();
            for frame in [
                Frame::new(40, vec![40; 10]),
                Frame::new(40, even.clone()),
                Frame::new(90, even),
                Frame::new(7, vec![0, 7, 3, 3, 1]),
                Frame::new(3, vec![0, 0]),
            ] {
                assert_eq!(of_step(&frame, both), one * frame.positions(), "{frame:?}");
                let (cells, frame) = (frame.cells(), frame.with_padding());
                assert_eq!(of_step(&frame, both), one * cells, "{frame:?}");
            }
        }
    }

    #[test]
    fn attention_costs_what_its_pairs_of_positions_cost() {
        let cost = |asking: Vec<usize>, asked: Vec<usize>| {
            let (queries, keys) = (Frame::new(9, asking), Frame::new(8, asked));
            let shape = Attention { queries, keys, width: 3, value_width: 2 };
            of(|| {
                let ones = |count: usize| Cpu.upload(vec![1.0; count]).unwrap();
                let q = ones(3 * shape.queries.cells());
                let (k, v) = (ones(3 * shape.keys.cells()), ones(2 * shape.keys.cells()));
                let (found, weights) = Cpu.attend(&shape, &q, &k, &v).unwrap();
                Cpu.attend_backward(&shape, &q, &k, &v, &weights, &found).unwrap();
            })
        };
        let one = cost(vec![1], vec![1]);
        assert!(one > 0);
        assert_eq!(cost(vec![9, 2, 0, 5], vec![4, 8, 8, 0]), one * (9 * 4 + 2 * 8));
    }
}
