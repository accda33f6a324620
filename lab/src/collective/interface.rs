//! What a group of workers can do together.

use super::{cores::Core, lost::Lost};
use crate::bytes::{floats, numbers, of_floats, of_numbers};

/// Workers that train together, as one of them sees it.
///
/// Every worker calls the same methods in the same order. A call returns when all have come to it, or
/// with an error once it is known that one never will.
pub trait Collective {
    /// Which of the workers this is, from 0.
    fn rank(&self) -> usize;

    /// How many there are.
    fn size(&self) -> usize;

    /// The messages of all workers, in the order of their ranks. All must have the same length.
    fn all_gather(&self, mine: &[u8]) -> Result<Vec<u8>, Lost>;

    /// What each worker sends to this one, in the order of their ranks. `mine` has a part for each worker, and
    /// all parts must have the same length.
    fn all_to_all(&self, mine: &[u8]) -> Result<Vec<u8>, Lost>;

    /// Replaces `words` by those of the first worker.
    fn broadcast(&self, words: &mut Vec<u8>) -> Result<(), Lost>;

    /// The first `size` of these workers; `None` for a worker that is not among them.
    fn first(&self, size: usize) -> Result<Option<Box<dyn Collective + '_>>, Lost>;

    /// Waits for a core, where there are fewer of them than workers. It is free again when what this
    /// returns is dropped.
    fn core(&self) -> Core<'_> {
        Core::unlimited()
    }

    /// The numbers of all workers, one worker after another.
    fn share(&self, mine: &[f64]) -> Result<Vec<f64>, Lost> {
        Ok(numbers(&self.all_gather(&of_numbers(mine))?))
    }

    /// Replaces values by the sum of all workers' values. Each worker adds up one part of them, in the
    /// order of ranks, and all receive all parts: every worker has the same sums to the bit, and what
    /// travels does not grow with the number of workers.
    fn sum(&self, values: &mut [f32]) -> Result<(), Lost> {
        let part = values.len().div_ceil(self.size());
        let mut mine = of_floats(values);
        mine.resize(4 * part * self.size(), 0);
        let theirs = floats(&self.all_to_all(&mine)?);
        let mut sum = vec![0.0_f32; part];
        for (rank, values) in theirs.chunks_exact(part.max(1)).enumerate() {
            for (sum, value) in sum.iter_mut().zip(values) {
                // Not added to zero, which would make a negative zero positive.
                *sum = if rank == 0 { *value } else { *sum + value };
            }
        }
        let all = floats(&self.all_gather(&of_floats(&sum))?);
        values.copy_from_slice(&all[..values.len()]);
        Ok(())
    }
}

/// A worker without others.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl Collective for Alone {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        1
    }

    fn all_gather(&self, mine: &[u8]) -> Result<Vec<u8>, Lost> {
        Ok(mine.to_vec())
    }

    fn all_to_all(&self, mine: &[u8]) -> Result<Vec<u8>, Lost> {
        Ok(mine.to_vec())
    }

    fn broadcast(&self, _: &mut Vec<u8>) -> Result<(), Lost> {
        Ok(())
    }

    fn first(&self, _: usize) -> Result<Option<Box<dyn Collective + '_>>, Lost> {
        Ok(Some(Box::new(Alone)))
    }
}
