//! Lengths of sequences that stay together, or have kinds.

use crate::data::lengths::Lengths;
use crate::data::units::Units;
use crate::error::Error;

impl Lengths {
    /// Keeps sequences with the same id together: preference pairs, the answers to one prompt, the turns of a
    /// dialogue. No plan divides them among several batches. There is an id for each sequence.
    ///
    /// ```
    /// use lengthwise::{Budget, Lengths, Planner, strategy::Shuffled};
    ///
    /// let pairs = Lengths::new([31, 7, 12, 90, 25, 26])?.together(&[0, 0, 1, 1, 2, 2])?;
    /// let plan = Planner::new(Shuffled, Budget::padded(200)).plan(&pairs, 0)?;
    /// for batch in &plan {
    ///     assert!(batch.chunks(2).all(|pair| pair[0] / 2 == pair[1] / 2));
    /// }
    /// # Ok::<(), lengthwise::Error>(())
    /// ```
    pub fn together(self, ids: &[u32]) -> Result<Self, Error> {
        check_ids("the number of ids of groups", ids, &self)?;
        let kinds = self.units().map(|units| units.sequence_kinds()).filter(|all| !all.is_empty());
        let units = Units::new(Some(ids), kinds.as_deref(), self.len())?;
        Ok(self.with_units(units))
    }

    /// Keeps sequences of different kinds apart: aspect ratios, languages, data sets, versions of a policy. No batch
    /// of any plan has two kinds. There is an id of a kind for each sequence, and all sequences that stay
    /// [together](Lengths::together) are of one kind.
    ///
    /// ```
    /// use lengthwise::{Budget, Lengths, Planner, strategy::Shuffled};
    ///
    /// let languages = [0, 1, 1, 0, 0, 1];
    /// let lengths = Lengths::new([31, 7, 12, 90, 25, 26])?.kinds(&languages)?;
    /// let plan = Planner::new(Shuffled, Budget::padded(200)).plan(&lengths, 0)?;
    /// for batch in &plan {
    ///     let kind = languages[batch[0] as usize];
    ///     assert!(batch.iter().all(|&sequence| languages[sequence as usize] == kind));
    /// }
    /// # Ok::<(), lengthwise::Error>(())
    /// ```
    pub fn kinds(self, ids: &[u32]) -> Result<Self, Error> {
        check_ids("the number of ids of kinds", ids, &self)?;
        let groups = self.units().map(|units| units.of.clone());
        let units = Units::new(groups.as_deref(), Some(ids), self.len())?;
        Ok(self.with_units(units))
    }

    /// The group of each sequence, if sequences stay together or have kinds. Groups are numbered from 0 by their
    /// first sequences; a sequence that stays with no other is a group of its own.
    pub fn group_ids(&self) -> Option<&[u32]> {
        self.units().map(|units| &units.of[..])
    }

    /// The kind of each sequence, if sequences have kinds. Kinds are numbered from 0 in the order in which they first
    /// appear.
    pub fn kind_ids(&self) -> Option<Vec<u32>> {
        self.units().map(|units| units.sequence_kinds()).filter(|kinds| !kinds.is_empty())
    }

    /// The groups of a batch of a plan that keeps them in one batch, in its order.
    pub fn groups_in(&self, batch: &[u32]) -> Vec<u32> {
        self.units().map_or_else(|| batch.to_vec(), |units| units.collapsed(batch))
    }
}

/// For recommendations.
impl Lengths {
    /// The most positions that one sequence takes, or one group in a row.
    pub(crate) fn longest_place(&self) -> u32 {
        let Some(units) = self.units() else { return self.max() };
        let sums = (0..units.count()).map(|group| self.sum(units.get(group)));
        u32::try_from(sums.max().unwrap_or(0)).unwrap_or(u32::MAX)
    }

    fn sum(&self, sequences: &[u32]) -> u64 {
        sequences.iter().map(|&sequence| u64::from(self.of(sequence))).sum()
    }
}

fn check_ids(of: &str, ids: &[u32], lengths: &Lengths) -> Result<(), Error> {
    if ids.len() == lengths.len() {
        return Ok(());
    }
    let expected = format!("{}, one for each sequence", lengths.len());
    Err(Error::bad_value(of, &ids.len(), expected))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_cannot_be_are_refused() {
        let lengths = || Lengths::new([5, 9, 7]).unwrap();
        let error = lengths().together(&[0, 1]).unwrap_err();
        assert_eq!(error.to_string(), "the number of ids of groups cannot be `2`");
        let grouped = lengths().together(&[4, 4, 1]).unwrap();
        let error = grouped.kinds(&[8, 6, 6]).unwrap_err().to_string();
        assert_eq!(error, "the kind of sequence 1 cannot be `6`");
        let kinds = lengths().kinds(&[8, 6, 6]).unwrap();
        assert!(kinds.clone().together(&[4, 4, 1]).is_err());
        assert!(kinds.together(&[4, 1, 1]).is_ok());
    }
}
