//! The places of a batch that are not padding, one after another.

use std::ops::{Deref, Range};

use rayon::prelude::*;

use crate::{batch::Frame, buffer::Buffer};

/// The places of a batch that are computed: those that are not padding, unless the [`Frame`] says that padding is
/// computed too. They are in the order of the batch: the rows that are still running at
/// the first step, then those at the second. What is computed for these places alone costs nothing for padding.
///
/// Their order is that of the batch, so that sums over places are in one order, however much padding there is.
#[derive(Debug)]
pub(crate) struct Packing {
    frame: Frame,
    places: Vec<usize>,
    /// Where each step begins among the places, and where the last one ends.
    begins: Vec<usize>,
}

/// Values of all places of a packing: those given, where there is no padding, or a copy.
pub(crate) enum Packed<'a> {
    Given(&'a [f32]),
    Copied(Buffer),
}

impl Deref for Packed<'_> {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        match self {
            Self::Given(values) => values,
            Self::Copied(values) => values,
        }
    }
}

impl Packing {
    /// The places of such a batch.
    pub(crate) fn new(frame: &Frame) -> Self {
        let mut places = Vec::with_capacity(frame.positions());
        let mut begins = Vec::with_capacity(frame.steps() + 1);
        for step in 0..frame.steps() {
            begins.push(places.len());
            let first = step * frame.rows();
            let running = (0..frame.rows()).filter(|&row| frame.computes(step, row));
            places.extend(running.map(|row| first + row));
        }
        begins.push(places.len());
        Self { frame: frame.clone(), places, begins }
    }

    /// The batch that it is of.
    pub(crate) fn frame(&self) -> &Frame {
        &self.frame
    }

    /// How many places there are.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether the batch has no padding.
    pub(crate) fn is_full(&self) -> bool {
        self.len() == self.frame.cells()
    }

    /// Where each place is in the batch.
    pub(crate) fn places(&self) -> &[usize] {
        &self.places
    }

    /// Which of the places are those of a step.
    pub(crate) fn step(&self, step: usize) -> Range<usize> {
        self.begins[step]..self.begins[step + 1]
    }

    /// The rows that are running at a step, in order.
    pub(crate) fn rows(&self, step: usize) -> impl Iterator<Item = usize> {
        let first = step * self.frame.rows();
        self.places[self.step(step)].iter().map(move |place| place - first)
    }

    /// The values at all places, out of those of the whole batch.
    ///
    /// # Panics
    ///
    /// When the values are of another batch.
    pub(crate) fn pack<'a>(&self, values: &'a [f32], width: usize) -> Packed<'a> {
        // Places that go to a thread together.
        const TOGETHER: usize = 256;
        assert_eq!(values.len(), self.frame.cells() * width, "values of another batch");
        if self.is_full() || width == 0 {
            return Packed::Given(values);
        }
        let mut out = Buffer::passing(self.len() * width);
        out.par_chunks_mut(TOGETHER * width).zip(self.places.par_chunks(TOGETHER)).for_each(
            |(out, places)| {
                for (out, place) in out.chunks_exact_mut(width).zip(places) {
                    out.copy_from_slice(&values[place * width..(place + 1) * width]);
                }
            },
        );
        Packed::Copied(out)
    }

    /// The values of the whole batch out of those at all places, side by side if there are several; zero
    /// where there is padding.
    pub(crate) fn spread(&self, parts: &[&[f32]], width: usize) -> Buffer {
        // Steps that go to a thread together.
        const TOGETHER: usize = 16;
        let (rows, all) = (self.frame.rows(), parts.len() * width);
        let mut out = Buffer::any(self.frame.cells() * all);
        if all == 0 {
            return out;
        }
        out.par_chunks_mut(rows * all).with_min_len(TOGETHER).enumerate().for_each(
            |(step, out)| {
                let mut running = self.step(step);
                for (place, out) in (step * rows..).zip(out.chunks_exact_mut(all)) {
                    if self.places.get(running.start) != Some(&place) {
                        out.fill(0.0);
                    } else if let Some(at) = running.next() {
                        for (out, part) in out.chunks_exact_mut(width).zip(parts) {
                            out.copy_from_slice(&part[at * width..(at + 1) * width]);
                        }
                    }
                }
            },
        );
        out
    }

    /// The values of the whole batch, of which `write` writes those at all places; zero where there is
    /// padding.
    pub(crate) fn spread_from(&self, width: usize, write: impl FnOnce(&mut [f32])) -> Buffer {
        if self.is_full() {
            let mut out = Buffer::any(self.len() * width);
            write(&mut out);
            return out;
        }
        let mut packed = Buffer::passing(self.len() * width);
        write(&mut packed);
        self.spread(&[&packed], width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_go_out_of_a_batch_and_back() {
        for lengths in [vec![3, 0, 1, 3, 2], vec![3, 3], vec![0, 0], vec![1, 2]] {
            let frame = Frame::new(3, lengths);
            let packing = Packing::new(&frame);
            assert_eq!(packing.len(), frame.positions());
            assert_eq!(packing.is_full(), frame.positions() == frame.cells());
            let values: Vec<f32> = (0..2 * frame.cells()).map(|at| 1.0 + at as f32).collect();
            let packed = packing.pack(&values, 2);
            for step in 0..3 {
                let rows: Vec<usize> = packing.rows(step).collect();
                let expected: Vec<usize> =
                    (0..frame.rows()).filter(|&row| frame.holds(step, row)).collect();
                assert_eq!(rows, expected);
                for (row, at) in rows.into_iter().zip(packing.step(step)) {
                    let place = step * frame.rows() + row;
                    assert_eq!(packed[2 * at..2 * at + 2], values[2 * place..2 * place + 2]);
                }
            }
            let back = packing.spread(&[&packed, &packed], 2);
            let once = packing.spread_from(2, |out| out.copy_from_slice(&packed));
            for place in 0..frame.cells() {
                let at = 2 * place..2 * place + 2;
                let expected = if frame.fills(place) { &values[at.clone()] } else { &[0.0; 2] };
                assert_eq!(&once[at], expected);
                assert_eq!(back[4 * place..4 * place + 4], [expected, expected].concat());
            }
        }
    }
}
