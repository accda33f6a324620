//! A forward pass that can be gone back over.

use std::fmt;

use crate::{
    batch::Frame,
    engine::{Attention, Embedding, Engine, EngineError, Recurrent},
    linear::Linear,
};

/// One result on a tape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value(usize);

/// The results of a forward pass, in order, with what the way back needs.
///
/// Parameters are one buffer; `at` is where those of a layer begin.
pub struct Tape<'a, E: Engine> {
    engine: &'a E,
    parameters: &'a E::Buffer,
    nodes: Vec<Node<E>>,
}

struct Node<E: Engine> {
    result: E::Buffer,
    origin: Origin<E>,
    /// Whether parameters are behind it, so that its gradient is wanted.
    wanted: bool,
}

enum Origin<E: Engine> {
    Given,
    Recurrent { layer: Recurrent, at: usize, frame: Frame, x: Value, trace: E::Trace },
    Linear { layer: Linear, at: usize, frame: Frame, x: Value },
    Embedded { layer: Embedding, at: usize, frame: Frame, symbols: Vec<u32> },
    Joined { one: Value, other: Value, widths: (usize, usize) },
    Attended { shape: Attention, queries: Value, keys: Value, values: Value, weights: E::Buffer },
    Mean { frame: Frame, width: usize, x: Value },
}

impl<E: Engine> fmt::Debug for Tape<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tape").field("results", &self.nodes.len()).finish_non_exhaustive()
    }
}

impl<'a, E: Engine> Tape<'a, E> {
    /// An empty tape for these parameters.
    pub fn new(engine: &'a E, parameters: &'a E::Buffer) -> Self {
        Self { engine, parameters, nodes: Vec::new() }
    }

    /// The engine that it computes on.
    pub fn engine(&self) -> &'a E {
        self.engine
    }

    fn push(&mut self, result: E::Buffer, origin: Origin<E>, wanted: bool) -> Value {
        self.nodes.push(Node { result, origin, wanted });
        Value(self.nodes.len() - 1)
    }

    /// The numbers of a result.
    pub fn get(&self, value: Value) -> &E::Buffer {
        &self.nodes[value.0].result
    }

    /// Puts numbers on the tape that need no gradient.
    pub fn given(&mut self, values: Vec<f32>) -> Result<Value, EngineError> {
        let result = self.engine.upload(values)?;
        Ok(self.push(result, Origin::Given, false))
    }

    /// A recurrent layer.
    pub fn recurrent(
        &mut self,
        layer: Recurrent,
        at: usize,
        frame: &Frame,
        x: Value,
    ) -> Result<Value, EngineError> {
        let (result, trace) =
            self.engine.recurrent(layer, self.parameters, at, frame, self.get(x))?;
        let origin = Origin::Recurrent { layer, at, frame: frame.clone(), x, trace };
        Ok(self.push(result, origin, true))
    }

    /// A linear layer.
    pub fn linear(
        &mut self,
        layer: Linear,
        at: usize,
        frame: &Frame,
        x: Value,
    ) -> Result<Value, EngineError> {
        let result = self.engine.linear_batch(layer, self.parameters, at, frame, self.get(x))?;
        let origin = Origin::Linear { layer, at, frame: frame.clone(), x };
        Ok(self.push(result, origin, true))
    }

    /// The vectors of symbols.
    pub fn embed(
        &mut self,
        layer: Embedding,
        at: usize,
        frame: &Frame,
        symbols: Vec<u32>,
    ) -> Result<Value, EngineError> {
        let result = self.engine.embed(layer, self.parameters, at, frame, &symbols)?;
        let origin = Origin::Embedded { layer, at, frame: frame.clone(), symbols };
        Ok(self.push(result, origin, true))
    }

    /// Rows side by side.
    pub fn join(
        &mut self,
        one: Value,
        other: Value,
        widths: (usize, usize),
    ) -> Result<Value, EngineError> {
        let result = self.engine.join(self.get(one), self.get(other), widths)?;
        let wanted = self.nodes[one.0].wanted || self.nodes[other.0].wanted;
        Ok(self.push(result, Origin::Joined { one, other, widths }, wanted))
    }

    /// Attention from queries over keys to values.
    pub fn attend(
        &mut self,
        shape: Attention,
        queries: Value,
        keys: Value,
        values: Value,
    ) -> Result<Value, EngineError> {
        let (result, weights) =
            self.engine.attend(&shape, self.get(queries), self.get(keys), self.get(values))?;
        Ok(self.push(result, Origin::Attended { shape, queries, keys, values, weights }, true))
    }

    /// The mean of each row.
    pub fn mean(&mut self, frame: &Frame, width: usize, x: Value) -> Result<Value, EngineError> {
        let result = self.engine.mean(frame, width, self.get(x))?;
        let wanted = self.nodes[x.0].wanted;
        Ok(self.push(result, Origin::Mean { frame: frame.clone(), width, x }, wanted))
    }

    /// Goes back from the gradient of a result, and adds that of the parameters to `gradient`.
    pub fn backward(
        mut self,
        from: Value,
        dy: E::Buffer,
        gradient: &mut E::Buffer,
    ) -> Result<(), EngineError> {
        let engine = self.engine;
        let mut gradients: Vec<Option<E::Buffer>> = self.nodes.iter().map(|_| None).collect();
        gradients[from.0] = Some(dy);
        // Results after the one it begins at have no part in it.
        self.nodes.truncate(from.0 + 1);
        while let Some(node) = self.nodes.pop() {
            let Some(dy) = gradients[self.nodes.len()].take() else { continue };
            let found = self.through(node.origin, &dy, gradient)?;
            for (value, dx) in found {
                if !self.nodes[value.0].wanted {
                    continue;
                }
                match &mut gradients[value.0] {
                    Some(sum) => engine.add(sum, &dx)?,
                    empty => *empty = Some(dx),
                }
            }
        }
        Ok(())
    }

    /// Goes back through one operation: adds to the gradient of its parameters, and gives those of its inputs.
    fn through(
        &self,
        origin: Origin<E>,
        dy: &E::Buffer,
        gradient: &mut E::Buffer,
    ) -> Result<Vec<(Value, E::Buffer)>, EngineError> {
        let (engine, parameters) = (self.engine, self.parameters);
        Ok(match origin {
            Origin::Given => Vec::new(),
            Origin::Recurrent { layer, at, frame, x, trace } => {
                let (input, wanted) = (self.get(x), self.nodes[x.0].wanted);
                let dx = engine.recurrent_backward(
                    layer, parameters, gradient, at, &frame, input, trace, dy, wanted,
                )?;
                dx.map(|dx| (x, dx)).into_iter().collect()
            }
            Origin::Linear { layer, at, frame, x } => {
                let input = self.get(x);
                let dx = engine
                    .linear_batch_backward(layer, parameters, gradient, at, &frame, input, dy)?;
                vec![(x, dx)]
            }
            Origin::Embedded { layer, at, frame, symbols } => {
                engine.embed_backward(layer, gradient, at, &frame, &symbols, dy)?;
                Vec::new()
            }
            Origin::Joined { one, other, widths } => {
                let (first, second) = engine.split(dy, widths)?;
                vec![(one, first), (other, second)]
            }
            Origin::Attended { shape, queries, keys, values, weights } => {
                let [q, k, v] = [queries, keys, values].map(|value| self.get(value));
                let [dq, dk, dv] = engine.attend_backward(&shape, q, k, v, &weights, dy)?;
                vec![(queries, dq), (keys, dk), (values, dv)]
            }
            Origin::Mean { frame, width, x } => {
                vec![(x, engine.mean_backward(&frame, width, dy)?)]
            }
        })
    }
}
