//! Vectors that stand for symbols.

use super::{
    Cuda,
    kernels::{Kernel, arguments},
    memory::CudaBuffer,
};
use crate::{Embedding, EngineError, Frame};

/// Where each symbol occurs.
#[derive(Debug, PartialEq, Eq)]
struct Occurrences {
    /// The symbols that occur, in order.
    symbols: Vec<u32>,
    /// Where the places of each begin, and after the last, where they end.
    begins: Vec<u32>,
    /// The places of all symbols, in order for each.
    places: Vec<u32>,
}

impl Occurrences {
    fn new(frame: &Frame, symbols: &[u32]) -> Self {
        let mut found: Vec<(u32, u32)> = symbols
            .iter()
            .enumerate()
            .filter(|&(place, _)| frame.fills(place))
            .map(|(place, &symbol)| (symbol, place as u32))
            .collect();
        found.sort_unstable();
        let mut this = Self {
            symbols: Vec::new(),
            begins: Vec::new(),
            places: found.iter().map(|&(_, place)| place).collect(),
        };
        for (at, &(symbol, _)) in found.iter().enumerate() {
            if this.symbols.last() != Some(&symbol) {
                this.symbols.push(symbol);
                this.begins.push(at as u32);
            }
        }
        this.begins.push(found.len() as u32);
        this
    }
}

/// Whether there is a vector for the symbol at every position.
fn check(layer: Embedding, frame: &Frame, symbols: &[u32]) -> Result<(), EngineError> {
    if symbols.len() != frame.cells() {
        let (found, cells) = (symbols.len(), frame.cells());
        return Err(EngineError::new(format!("{found} symbols for a batch of {cells} places")));
    }
    let unknown =
        |&(place, &symbol): &(usize, &u32)| symbol as usize >= layer.symbols && frame.fills(place);
    symbols.iter().enumerate().find(unknown).map_or(Ok(()), |(place, symbol)| {
        let count = layer.symbols;
        Err(EngineError::new(format!("symbol {symbol} at place {place}, where there are {count}")))
    })
}

impl Cuda {
    pub(super) fn embed_forward(
        &self,
        layer: Embedding,
        parameters: &CudaBuffer,
        at: usize,
        frame: &Frame,
        symbols: &[u32],
    ) -> Result<CudaBuffer, EngineError> {
        parameters.holds(at, layer.parameters(), "parameters")?;
        check(layer, frame, symbols)?;
        let (device, count) = (&self.device, frame.cells() * layer.width);
        let (lengths, symbols) = (self.lengths(frame)?, device.upload(symbols)?);
        let out = CudaBuffer::new(device, count)?;
        let table = parameters.at().skip(at);
        device.each(
            Kernel::Embed,
            count,
            arguments![
                count,
                frame.rows(),
                layer.width,
                table,
                symbols.at(),
                lengths.at(),
                out.at()
            ],
        )?;
        Ok(out)
    }

    pub(super) fn embed_back(
        &self,
        layer: Embedding,
        gradient: &mut CudaBuffer,
        at: usize,
        frame: &Frame,
        symbols: &[u32],
        dy: &CudaBuffer,
    ) -> Result<(), EngineError> {
        gradient.holds(at, layer.parameters(), "gradients")?;
        check(layer, frame, symbols)?;
        dy.is(frame.cells() * layer.width, "the gradient of symbols")?;
        let occurrences = Occurrences::new(frame, symbols);
        if occurrences.symbols.is_empty() {
            return Ok(());
        }
        let device = &self.device;
        let symbols = device.upload(&occurrences.symbols)?;
        let begins = device.upload(&occurrences.begins)?;
        let places = device.upload(&occurrences.places)?;
        let gradient = gradient.change(device)?.skip(at);
        device.launch(
            Kernel::EmbedBackward,
            [occurrences.symbols.len(), layer.width.div_ceil(128), 1],
            [128, 1],
            0,
            arguments![layer.width, symbols.at(), begins.at(), places.at(), dy.at(), gradient],
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_in_order_for_every_symbol() {
        let frame = Frame::new(3, vec![3, 1]);
        // The second row has one position, and padding after it.
        let found = Occurrences::new(&frame, &[4, 4, 2, 9, 4, 9]);
        let expected =
            Occurrences { symbols: vec![2, 4], begins: vec![0, 1, 4], places: vec![2, 0, 1, 4] };
        assert_eq!(found, expected);
    }

    #[test]
    fn unknown_symbols_are_named() {
        let frame = Frame::new(2, vec![2, 1]);
        let layer = Embedding { symbols: 3, width: 1 };
        assert_eq!(check(layer, &frame, &[0, 1, 2, 7]), Ok(()));
        let error = check(layer, &frame, &[0, 1, 3, 7]).unwrap_err();
        assert_eq!(error.to_string(), "symbol 3 at place 2, where there are 3");
        assert!(check(layer, &frame, &[0]).is_err());
    }
}
