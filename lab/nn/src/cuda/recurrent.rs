//! Recurrent layers.
#![expect(unsafe_code, reason = "kernels are launched on memory whose sizes are checked")]

use std::sync::Arc;

use super::{
    base::Cuda,
    kernels::{Kernel, LayerWords, arguments},
    memory::{CudaBuffer, Memory},
    packing::Packing,
    span::{Matrix, Span},
    split::{Limits, Split},
};
use crate::{
    batch::Frame,
    check,
    engine::{EngineError, Recurrent},
};

/// What the forward pass of a recurrent layer leaves for its backward pass.
#[derive(Debug)]
pub struct CudaTrace {
    /// The gates after their functions, for every place that is computed; one direction after the other.
    gates: Memory,
    /// The cells, likewise.
    cells: Memory,
    /// The output of every place of the batch, directions side by side.
    outputs: Arc<Memory>,
}

/// The layer, its batch and its parameters.
struct Pass<'a> {
    cuda: &'a Cuda,
    layer: Recurrent,
    frame: &'a Frame,
    packing: Arc<Packing>,
    /// The parameters, from where those of the layer begin.
    parameters: Span<'a>,
    split: Option<Split>,
}

impl Pass<'_> {
    /// The parameters of one direction.
    fn apart(&self) -> usize {
        self.layer.parameters() / self.layer.directions()
    }

    /// The weight of the input, for both directions.
    fn input<'b>(&self, of: Span<'b>) -> Matrix<'b> {
        Matrix::new(of, 4 * self.layer.units).every(self.apart())
    }

    /// Where the recurrent weight of the first direction is.
    fn recurrent<'b>(&self, of: Span<'b>) -> Span<'b> {
        of.skip(self.layer.inputs * 4 * self.layer.units)
    }

    /// Where the bias of the first direction is.
    fn bias<'b>(&self, of: Span<'b>) -> Span<'b> {
        self.recurrent(of).skip(self.layer.units * 4 * self.layer.units)
    }

    /// The gates of both directions.
    fn gates<'b>(&self, of: Span<'b>) -> Matrix<'b> {
        Matrix::new(of, 4 * self.layer.units).every(self.packing.len() * 4 * self.layer.units)
    }

    /// The launches of a kernel that goes over the whole sequence: blocks, and what each is about.
    fn launches(&self, split: &Split, tiles: usize) -> Vec<(usize, LayerWords)> {
        let directions = self.layer.directions();
        let words = |direction: usize| {
            [
                self.packing.steps(),
                self.frame.rows(),
                self.layer.units,
                directions,
                direction,
                split.slices,
                split.blocks,
                split.width_log,
                split.group_rows,
                tiles,
                self.packing.len(),
                usize::from(self.packing.is_even()),
            ]
            .map(|word| word as u32)
        };
        let blocks = split.blocks * split.groups;
        if split.together {
            vec![(directions * blocks, words(0))]
        } else {
            (0..directions).map(|direction| (blocks, words(direction))).collect()
        }
    }

    /// The steps of a direction, counted from its beginning: which is the `n`th.
    fn time(&self, direction: usize, n: usize) -> usize {
        if direction == 0 { n } else { self.packing.steps() - 1 - n }
    }
}

impl Cuda {
    fn pass<'a>(
        &'a self,
        layer: Recurrent,
        parameters: &'a CudaBuffer,
        at: usize,
        frame: &'a Frame,
        x: &CudaBuffer,
    ) -> Result<Pass<'a>, EngineError> {
        parameters.holds(at, layer.parameters(), "parameters")?;
        x.is(frame.cells() * layer.inputs, "the input of a recurrent layer")?;
        let device = &self.device;
        let limits = Limits { blocks: device.blocks, shared: device.shared };
        let split = device
            .cooperates
            .then(|| Split::new(limits, layer.directions(), frame.rows(), layer.units))
            .flatten();
        let packing = self.packing(frame)?;
        Ok(Pass { cuda: self, layer, frame, packing, parameters: parameters.at().skip(at), split })
    }

    pub(super) fn recurrent_forward(
        &self,
        layer: Recurrent,
        parameters: &CudaBuffer,
        at: usize,
        frame: &Frame,
        x: &CudaBuffer,
    ) -> Result<(CudaBuffer, CudaTrace), EngineError> {
        let pass = self.pass(layer, parameters, at, frame, x)?;
        let (device, places, units) = (&self.device, pass.packing.len(), layer.units);
        let directions = layer.directions();
        let outputs = Memory::new(device, frame.cells() * directions * units)?;
        let gates = Memory::new(device, directions * places * 4 * units)?;
        let cells = Memory::new(device, directions * places * units)?;
        let x = pass.packing.pack(x.at(), layer.inputs)?;
        device.product(
            (places, layer.inputs, 4 * units),
            Matrix::new(x.at(), layer.inputs),
            pass.input(pass.parameters),
            pass.gates(gates.at()),
            0.0,
            directions,
        )?;
        drop(x);
        let trace = CudaTrace { gates, cells, outputs: Arc::new(outputs) };
        // A block that waits for an output waits until not all of its bits are set.
        pass.packing.unset(trace.outputs.at(), directions * units)?;
        if places == 0 {
            return Ok((CudaBuffer(Arc::clone(&trace.outputs)), trace));
        }
        if let Some(split) = &pass.split {
            for (blocks, words) in pass.launches(split, split.forward_tiles) {
                // SAFETY: the trace and the parameters are of this layer and batch, and the split is of their sizes.
                unsafe {
                    device.launch(
                        if split.wide() { Kernel::LstmForwardWide } else { Kernel::LstmForward },
                        [blocks, 1, 1],
                        [split.threads(), 1],
                        split.forward_shared(),
                        arguments![
                            words,
                            trace.gates.at(),
                            trace.cells.at(),
                            trace.outputs.at(),
                            pass.recurrent(pass.parameters),
                            pass.bias(pass.parameters),
                            pass.apart(),
                            pass.packing.lengths().at(),
                            pass.packing.rows(),
                            pass.packing.begins(),
                        ],
                    )
                }?;
            }
        } else {
            pass.forward_steps(&trace)?;
        }
        Ok((CudaBuffer(Arc::clone(&trace.outputs)), trace))
    }

    #[expect(clippy::too_many_arguments, reason = "what the way back needs")]
    pub(super) fn recurrent_back(
        &self,
        layer: Recurrent,
        parameters: &CudaBuffer,
        gradient: &mut CudaBuffer,
        at: usize,
        frame: &Frame,
        x: &CudaBuffer,
        trace: CudaTrace,
        dy: &CudaBuffer,
        wanted: bool,
    ) -> Result<Option<CudaBuffer>, EngineError> {
        let pass = self.pass(layer, parameters, at, frame, x)?;
        gradient.holds(at, layer.parameters(), "gradients")?;
        let (device, places, units) = (&self.device, pass.packing.len(), layer.units);
        let (directions, inputs) = (layer.directions(), layer.inputs);
        let outputs = frame.cells() * directions * units;
        dy.is(outputs, "the gradient of a recurrent layer")?;
        // The kernels trust the trace, which may be another layer's or batch's.
        let cells = directions * places * units;
        check::count(trace.gates.count(), 4 * cells, "the gates of the trace")?;
        check::count(trace.cells.count(), cells, "the cells of the trace")?;
        check::count(trace.outputs.count(), outputs, "the outputs of the trace")?;
        let dgates = pass.gate_gradients(&trace, dy)?;
        let CudaTrace { gates, cells, outputs } = trace;
        drop((gates, cells));
        let gradient = gradient.change(device)?.skip(at);
        let all = pass.gates(dgates.at());
        let x = pass.packing.pack(x.at(), inputs)?;
        let x_of_places = Matrix::new(x.at(), inputs).transposed();
        let sizes = (inputs, places, 4 * units);
        self.add_product(sizes, x_of_places, all, pass.input(gradient), directions)?;
        drop(x);
        pass.recurrent_gradient(gradient, &dgates, &outputs)?;
        self.add_rows(
            (pass.bias(gradient), pass.apart()),
            dgates.at(),
            places,
            4 * units,
            directions,
        )?;
        if !wanted {
            return Ok(None);
        }
        let dx = pass.packing.spread_from(inputs, |dx| {
            for direction in 0..directions {
                let weight = pass.parameters.skip(direction * pass.apart());
                device.product(
                    (places, 4 * units, inputs),
                    Matrix::new(dgates.at().skip(direction * places * 4 * units), 4 * units),
                    Matrix::new(weight, 4 * units).transposed(),
                    Matrix::new(dx, inputs),
                    if direction == 0 { 0.0 } else { 1.0 },
                    1,
                )?;
            }
            Ok(())
        })?;
        Ok(Some(dx))
    }
}

impl Pass<'_> {
    /// The gradient of what goes into the gates, for every place that is computed.
    fn gate_gradients(&self, trace: &CudaTrace, dy: &CudaBuffer) -> Result<Memory, EngineError> {
        let (device, directions) = (&self.cuda.device, self.layer.directions());
        let dgates = Memory::new(device, directions * self.packing.len() * 4 * self.layer.units)?;
        if self.packing.len() == 0 {
            return Ok(dgates);
        }
        if let Some(split) = &self.split {
            device.fill(dgates.at(), 0xff)?;
            let kernel = match (split.width_log, split.wide()) {
                (3, false) => Kernel::LstmBackward8,
                (3, true) => Kernel::LstmBackward8Wide,
                (4, false) => Kernel::LstmBackward16,
                (4, true) => Kernel::LstmBackward16Wide,
                (_, false) => Kernel::LstmBackward32,
                (_, true) => Kernel::LstmBackward32Wide,
            };
            for (blocks, words) in self.launches(split, split.backward_tiles) {
                // SAFETY: the trace, the gradients and the parameters are of this layer and batch, and the split is
                // of their sizes.
                unsafe {
                    device.launch(
                        kernel,
                        [blocks, 1, 1],
                        [split.threads(), 1],
                        split.backward_shared(),
                        arguments![
                            words,
                            trace.gates.at(),
                            trace.cells.at(),
                            dy.at(),
                            dgates.at(),
                            self.recurrent(self.parameters),
                            self.apart(),
                            self.packing.lengths().at(),
                            self.packing.rows(),
                            self.packing.begins(),
                        ],
                    )
                }?;
            }
        } else {
            self.backward_steps(trace, dy, &dgates)?;
        }
        Ok(dgates)
    }

    /// Adds the gradient of the recurrent weights: the output of the step before every place, times the
    /// gradient of its gates. Before the first step of a direction there is no output.
    fn recurrent_gradient(
        &self,
        gradient: Span<'_>,
        dgates: &Memory,
        outputs: &Memory,
    ) -> Result<(), EngineError> {
        let Recurrent { units, .. } = self.layer;
        let (directions, rows) = (self.layer.directions(), self.frame.rows());
        let (places, wide) = (self.packing.len(), directions * units);
        let out = Matrix::new(self.recurrent(gradient), 4 * units).every(self.apart());
        if !self.packing.is_even() {
            let before = self.packing.pack_previous(outputs.at(), units, directions)?;
            let outputs = Matrix::new(before.at(), units).every(places * units).transposed();
            let gates = self.gates(dgates.at());
            let sizes = (units, places, 4 * units);
            return self.cuda.add_product(sizes, outputs, gates, out, directions);
        }
        // There is no step before the first.
        let Some(later) = places.checked_sub(rows) else { return Ok(()) };
        // Forward, outputs from the first step on and gates from the second; backward, the other way.
        let outputs = Matrix::new(outputs.at(), wide).every(rows * wide + units).transposed();
        let gates =
            Matrix::new(dgates.at().skip(rows * 4 * units), 4 * units).every(later * 4 * units);
        self.cuda.add_product((units, later, 4 * units), outputs, gates, out, directions)
    }

    /// The rows that run both at a step of a direction, counted from its beginning, and at the one before.
    fn going(&self, direction: usize, n: usize) -> usize {
        let [here, before] = [n, n - 1].map(|n| self.packing.running(self.time(direction, n)));
        here.min(before)
    }

    /// The gates of a step of a direction.
    fn gates_at<'b>(&self, of: &'b Memory, direction: usize, time: usize) -> Matrix<'b> {
        let place = direction * self.packing.len() + self.packing.begin(time);
        Matrix::new(of.at().skip(place * 4 * self.layer.units), 4 * self.layer.units)
    }

    /// The way there, one step at a time.
    fn forward_steps(&self, trace: &CudaTrace) -> Result<(), EngineError> {
        let Recurrent { units, .. } = self.layer;
        let (directions, rows, device) =
            (self.layer.directions(), self.frame.rows(), &self.cuda.device);
        let states = Memory::new(device, directions * rows * units)?;
        for n in 0..self.packing.steps() {
            for direction in (0..directions).filter(|_| n > 0) {
                let weights = self.recurrent(self.parameters).skip(direction * self.apart());
                device.product(
                    (self.going(direction, n), units, 4 * units),
                    Matrix::new(states.at().skip(direction * rows * units), units),
                    Matrix::new(weights, 4 * units),
                    self.gates_at(&trace.gates, direction, self.time(direction, n)),
                    1.0,
                    1,
                )?;
            }
            // SAFETY: the trace and the parameters are of this layer and batch, and every row has its states.
            unsafe {
                device.each(
                    Kernel::CellForward,
                    directions * rows * units,
                    arguments![
                        n,
                        self.packing.steps(),
                        rows,
                        units,
                        directions,
                        self.packing.len(),
                        trace.gates.at(),
                        trace.cells.at(),
                        trace.outputs.at(),
                        states.at(),
                        self.bias(self.parameters),
                        self.apart(),
                        self.packing.lengths().at(),
                        self.packing.rows(),
                        self.packing.begins(),
                    ],
                )
            }?;
        }
        Ok(())
    }

    /// The way back, one step at a time.
    fn backward_steps(
        &self,
        trace: &CudaTrace,
        dy: &CudaBuffer,
        dgates: &Memory,
    ) -> Result<(), EngineError> {
        let Recurrent { units, .. } = self.layer;
        let (directions, rows, steps) =
            (self.layer.directions(), self.frame.rows(), self.packing.steps());
        let device = &self.cuda.device;
        let [dh, dcells] = [0, 1].map(|_| Memory::new(device, directions * rows * units));
        let (dh, dcells) = (dh?, dcells?);
        // Rows begin with none, whenever they end.
        device.fill(dh.at(), 0)?;
        device.fill(dcells.at(), 0)?;
        for n in 0..steps {
            // SAFETY: the trace and the gradients are of this layer and batch.
            unsafe {
                device.each(
                    Kernel::CellBackward,
                    directions * rows * units,
                    arguments![
                        n,
                        steps,
                        rows,
                        units,
                        directions,
                        self.packing.len(),
                        trace.gates.at(),
                        trace.cells.at(),
                        dy.at(),
                        dgates.at(),
                        dh.at(),
                        dcells.at(),
                        self.packing.lengths().at(),
                        self.packing.rows(),
                        self.packing.begins(),
                    ],
                )
            }?;
            for direction in (0..directions).filter(|_| n + 1 < steps) {
                let weights = self.recurrent(self.parameters).skip(direction * self.apart());
                let at = steps - 1 - n;
                device.product(
                    (self.going(direction, at), 4 * units, units),
                    self.gates_at(dgates, direction, self.time(direction, at)),
                    Matrix::new(weights, 4 * units).transposed(),
                    Matrix::new(dh.at().skip(direction * rows * units), units),
                    0.0,
                    1,
                )?;
            }
        }
        Ok(())
    }
}
