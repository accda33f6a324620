//! Whether an engine was given what it needs, before anything is done. All engines refuse the same.

use crate::{
    batch::Frame,
    engine::{Attention, Embedding, EngineError},
    loss::BadTarget,
};

/// Whether there are so many numbers.
pub(crate) fn count(found: usize, needed: usize, what: &str) -> Result<(), EngineError> {
    if found == needed {
        return Ok(());
    }
    Err(EngineError::new(format!("{what}: {found} numbers, where {needed} are needed")))
}

/// Whether there are so many numbers from a place on.
pub(crate) fn holds(found: usize, at: usize, count: usize, what: &str) -> Result<(), EngineError> {
    let needed = at.checked_add(count);
    if needed.is_some_and(|needed| needed <= found) {
        return Ok(());
    }
    Err(EngineError::new(format!(
        "{what}: {found} numbers, where {count} are needed from number {at} on"
    )))
}

/// How many rows of a width there are.
pub(crate) fn rows(found: usize, width: usize, what: &str) -> Result<usize, EngineError> {
    if width > 0 && found.is_multiple_of(width) {
        return Ok(found / width);
    }
    Err(EngineError::new(format!("{what}: {found} numbers are not rows of {width}")))
}

/// Whether there is a vector for the symbol at every position.
pub(crate) fn symbols(layer: Embedding, frame: &Frame, symbols: &[u32]) -> Result<(), EngineError> {
    let count = layer.symbols;
    match first_beyond(frame, symbols, count, "symbols")? {
        None => Ok(()),
        Some((place, symbol)) => Err(EngineError::new(format!(
            "symbol {symbol} at place {place}, where there are {count}"
        ))),
    }
}

/// Whether there is a class for the label at every position.
pub(crate) fn labels(frame: &Frame, classes: usize, labels: &[u32]) -> Result<(), EngineError> {
    match first_beyond(frame, labels, classes, "labels")? {
        None => Ok(()),
        Some((place, label)) => Err(EngineError::new(format!(
            "label {label} at place {place}, where there are {classes} classes"
        ))),
    }
}

/// The first position with a number that is not below `most`.
fn first_beyond(
    frame: &Frame,
    numbers: &[u32],
    most: usize,
    what: &str,
) -> Result<Option<(usize, u32)>, EngineError> {
    if numbers.len() != frame.cells() {
        let (found, cells) = (numbers.len(), frame.cells());
        return Err(EngineError::new(format!("{found} {what} for a batch of {cells} places")));
    }
    let places = numbers.iter().copied().enumerate();
    Ok(places.into_iter().find(|&(place, number)| number as usize >= most && frame.fills(place)))
}

/// Whether the labels of every row are classes other than the blank, and fit into its steps.
pub(crate) fn targets(
    frame: &Frame,
    classes: usize,
    targets: &[Vec<u32>],
) -> Result<(), EngineError> {
    if targets.len() != frame.rows() {
        let (found, rows) = (targets.len(), frame.rows());
        return Err(EngineError::new(format!("labels of {found} rows for a batch of {rows}")));
    }
    for (row, (target, &length)) in targets.iter().zip(frame.lengths()).enumerate() {
        BadTarget::check(row, target, length)
            .map_err(|error| EngineError::new(error.to_string()))?;
        let beyond = |&label: &u32| label == 0 || label as usize >= classes;
        if let Some(label) = target.iter().copied().find(beyond) {
            return Err(EngineError::new(format!(
                "label {label} of row {row}, where labels are from 1 to {}",
                classes.saturating_sub(1)
            )));
        }
    }
    Ok(())
}

/// Whether queries, keys and values have so many numbers as a shape says.
pub(crate) fn attention(
    shape: &Attention,
    [queries, keys, values]: [usize; 3],
) -> Result<(), EngineError> {
    let Attention { queries: asking, keys: asked, width, value_width } = shape;
    if asking.rows() != asked.rows() {
        return Err(EngineError::new(format!(
            "attention from {} rows to {}: they must be as many",
            asking.rows(),
            asked.rows()
        )));
    }
    count(queries, asking.cells() * width, "queries")?;
    count(keys, asked.cells() * width, "keys")?;
    count(values, asked.cells() * value_width, "values")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_counted_without_wrapping_around() {
        assert!(holds(10, 4, 6, "").is_ok() && holds(10, 10, 0, "").is_ok());
        assert!(holds(10, 5, 6, "").is_err() && holds(10, usize::MAX, 6, "").is_err());
        let error = rows(7, 2, "what is joined").unwrap_err().to_string();
        assert_eq!(error, "what is joined: 7 numbers are not rows of 2");
        assert_eq!(rows(6, 2, ""), Ok(3));
        assert!(rows(0, 0, "").is_err());
    }

    #[test]
    fn unknown_symbols_are_named() {
        let frame = Frame::new(2, vec![2, 1]);
        let layer = Embedding { symbols: 3, width: 1 };
        assert_eq!(symbols(layer, &frame, &[0, 1, 2, 7]), Ok(()));
        let error = symbols(layer, &frame, &[0, 1, 3, 7]).unwrap_err();
        assert_eq!(error.to_string(), "symbol 3 at place 2, where there are 3");
        assert!(symbols(layer, &frame, &[0]).is_err());
    }

    #[test]
    fn labels_that_do_not_fit_are_named() {
        let frame = Frame::new(3, vec![3, 2]);
        let error = |of: [Vec<u32>; 2]| targets(&frame, 4, &of).unwrap_err().to_string();
        assert_eq!(error([vec![1], vec![1, 1]]), "the labels of row 1 need 3 steps, and it has 2");
        assert_eq!(error([vec![4], vec![1]]), "label 4 of row 0, where labels are from 1 to 3");
        assert_eq!(error([vec![1], vec![0]]), "label 0 of row 1, where labels are from 1 to 3");
        assert!(targets(&frame, 4, &[vec![1]]).is_err());
    }
}
