//! Vectors that stand for symbols.
#![expect(unsafe_code, reason = "kernels are launched on memory whose sizes are checked")]

use super::{
    base::Cuda,
    kernels::{Kernel, arguments},
    memory::{CudaBuffer, Memory},
};
use crate::{
    batch::Frame,
    check,
    engine::{Embedding, EngineError},
};

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
        check::symbols(layer, frame, symbols)?;
        let (device, count) = (&self.device, frame.cells() * layer.width);
        let (lengths, symbols) = (self.lengths(frame)?, Memory::upload(device, symbols)?);
        let out = CudaBuffer::new(device, count)?;
        let table = parameters.at().skip(at);
        // SAFETY: every symbol at a position has its row of the table, and `out` a row for every cell.
        unsafe {
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
            )
        }?;
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
        check::symbols(layer, frame, symbols)?;
        dy.is(frame.cells() * layer.width, "the gradient of symbols")?;
        let occurrences = Occurrences::new(frame, symbols);
        if occurrences.symbols.is_empty() {
            return Ok(());
        }
        let device = &self.device;
        let symbols = Memory::upload(device, &occurrences.symbols)?;
        let begins = Memory::upload(device, &occurrences.begins)?;
        let places = Memory::upload(device, &occurrences.places)?;
        let gradient = gradient.change(device)?.skip(at);
        // SAFETY: every symbol has its row of the gradient, and every place its row of `dy`.
        unsafe {
            device.launch(
                Kernel::EmbedBackward,
                [occurrences.symbols.len(), layer.width.div_ceil(128), 1],
                [128, 1],
                0,
                arguments![layer.width, symbols.at(), begins.at(), places.at(), dy.at(), gradient],
            )
        }
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
}
