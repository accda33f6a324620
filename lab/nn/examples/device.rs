//! Times training steps of a stack of two BLSTM layers, with Adam, on a CUDA device or the processor:
//! `device cuda` or `device cpu`.
//!
//! Each line of its input is one measurement, `STEPS ROWS UNITS REPEATS LENGTHS`, and gets one line of
//! output. `LENGTHS` is `equal` for rows of one length, `mixed` for lengths from a tenth of the steps to
//! all, and `computed` for these with padding that is computed too. With `parts` as the sixth word it gives
//! the time of each part of a step instead, and waits after each.
#![expect(clippy::print_stdout, reason = "its results")]

use std::{
    env,
    error::Error,
    io::{self, BufRead, Write},
    time::Instant,
};

#[cfg(feature = "cuda")]
use lengthwise_nn::Cuda;
use lengthwise_nn::{Cpu, Engine, EngineError, Frame, Linear, Recurrent, Rule, Tape};

const INPUTS: usize = 16;
const CLASSES: usize = 64;

fn main() -> Result<(), Box<dyn Error>> {
    match env::args().nth(1).as_deref() {
        Some("cpu") => serve(&Cpu, || Ok(())),
        #[cfg(feature = "cuda")]
        Some("cuda") => {
            let cuda = Cuda::new(0)?;
            serve(&cuda, || cuda.wait())
        }
        _ => Err("give `cuda` or `cpu`".into()),
    }
}

fn serve<E: Engine>(
    engine: &E,
    wait: impl Fn() -> Result<(), EngineError>,
) -> Result<(), Box<dyn Error>> {
    println!("{}", engine.name());
    for line in io::stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let ([steps, rows, units, repeats, lengths]
        | [steps, rows, units, repeats, lengths, "parts"]) = words[..]
        else {
            return Err(format!("expected five words, or six with `parts`, got: {line}").into());
        };
        let frame = frame(steps.parse()?, rows.parse()?, lengths)?;
        let mut work = Work::new(engine, &wait, frame, units.parse()?)?;
        let mut times = Vec::new();
        engine.reset_peak();
        for _ in 0..repeats.parse()? {
            wait()?;
            times.push(if words.len() == 6 { work.parts()? } else { vec![work.step()?] });
        }
        let medians: Vec<String> = (0..times[0].len()).map(|part| median(&times, part)).collect();
        let peak = engine.peak_bytes();
        println!("{} peak {peak} loss {:.4}", medians.join(" "), work.loss);
        io::stdout().flush()?;
    }
    Ok(())
}

/// A batch of so many steps and rows, with lengths of a kind.
fn frame(steps: usize, rows: usize, lengths: &str) -> Result<Frame, String> {
    let mixed = |row: usize| steps - steps * 9 / 10 * row / (rows - 1).max(1);
    match lengths {
        "equal" => Ok(Frame::new(steps, vec![steps; rows])),
        "mixed" => Ok(Frame::new(steps, (0..rows).map(mixed).collect())),
        "computed" => Ok(frame(steps, rows, "mixed")?.with_padding()),
        _ => Err(format!("expected `equal`, `mixed` or `computed`, got `{lengths}`")),
    }
}

/// The median and the least of a part, in milliseconds.
fn median(times: &[Vec<f64>], part: usize) -> String {
    let mut times: Vec<f64> = times.iter().map(|times| 1e3 * times[part]).collect();
    times.sort_by(f64::total_cmp);
    format!("{:.3} {:.3}", times[times.len() / 2], times[0])
}

struct Work<'a, E: Engine, W> {
    engine: &'a E,
    wait: W,
    layers: [Recurrent; 2],
    head: Linear,
    frame: Frame,
    x: Vec<f32>,
    labels: Vec<u32>,
    parameters: E::Buffer,
    gradient: E::Buffer,
    state: [E::Buffer; 2],
    updates: u64,
    /// The mean loss of the last step.
    loss: f64,
}

impl<'a, E: Engine, W: Fn() -> Result<(), EngineError>> Work<'a, E, W> {
    fn new(engine: &'a E, wait: W, frame: Frame, units: usize) -> Result<Self, EngineError> {
        let layers = [
            Recurrent { inputs: INPUTS, units, both: true },
            Recurrent { inputs: 2 * units, units, both: true },
        ];
        let head = Linear { inputs: 2 * units, outputs: CLASSES };
        let count = layers[0].parameters() + layers[1].parameters() + head.parameters();
        Ok(Self {
            engine,
            wait,
            layers,
            head,
            x: (0..frame.cells() * INPUTS).map(|i| (i as f32 * 0.7).sin()).collect(),
            labels: (0..frame.cells()).map(|i| (i % CLASSES) as u32).collect(),
            frame,
            parameters: engine
                .upload((0..count).map(|i| 0.08 * (i as f32 * 0.37).sin()).collect())?,
            gradient: engine.zeros(count)?,
            state: [engine.zeros(count)?, engine.zeros(count)?],
            updates: 0,
            loss: 0.0,
        })
    }

    /// One step, in seconds. The loss is read, and nothing else is waited for until the end.
    fn step(&mut self) -> Result<f64, EngineError> {
        let (x, begin) = (self.x.clone(), Instant::now());
        let [one, two] = self.layers;
        let (second, third) = (one.parameters(), one.parameters() + two.parameters());
        let engine = self.engine;
        let mut tape = Tape::new(engine, &self.parameters);
        let value = tape.given(x)?;
        let value = tape.recurrent(one, 0, &self.frame, value)?;
        let value = tape.recurrent(two, second, &self.frame, value)?;
        let scores = tape.linear(self.head, third, &self.frame, value)?;
        let loss = engine.cross_entropy(&self.frame, tape.get(scores), CLASSES, &self.labels)?;
        self.loss = loss.total / loss.count as f64;
        engine.clear(&mut self.gradient)?;
        tape.backward(scores, loss.gradient, &mut self.gradient)?;
        self.update()?;
        (self.wait)()?;
        Ok(begin.elapsed().as_secs_f64())
    }

    fn update(&mut self) -> Result<(), EngineError> {
        self.updates += 1;
        let rule = Rule::Adam { betas: (0.9, 0.999), epsilon: 1e-8 };
        let (parameters, state) = (&mut self.parameters, &mut self.state);
        self.engine.update(rule, 1e-3, self.updates, parameters, &self.gradient, state)
    }

    /// One step, in seconds for each part: the input, both layers, the head, the loss, the way back of
    /// the head and both layers, and the update.
    fn parts(&mut self) -> Result<Vec<f64>, EngineError> {
        let mut times = Vec::new();
        let mut last = Instant::now();
        let mut part = |wait: &W| -> Result<(), EngineError> {
            wait()?;
            times.push(last.elapsed().as_secs_f64());
            last = Instant::now();
            Ok(())
        };
        let (engine, frame) = (self.engine, &self.frame);
        let [one, two] = self.layers;
        let (second, third) = (one.parameters(), one.parameters() + two.parameters());
        let (parameters, gradient) = (&self.parameters, &mut self.gradient);
        let x = engine.upload(self.x.clone())?;
        part(&self.wait)?;
        let (first, one_trace) = engine.recurrent(one, parameters, 0, frame, &x)?;
        part(&self.wait)?;
        let (next, two_trace) = engine.recurrent(two, parameters, second, frame, &first)?;
        part(&self.wait)?;
        let scores = engine.linear_batch(self.head, parameters, third, frame, &next)?;
        part(&self.wait)?;
        let loss = engine.cross_entropy(frame, &scores, CLASSES, &self.labels)?;
        self.loss = loss.total / loss.count as f64;
        part(&self.wait)?;
        engine.clear(gradient)?;
        let head = self.head;
        let dy = engine.linear_batch_backward(
            head,
            parameters,
            gradient,
            third,
            frame,
            &next,
            &loss.gradient,
        )?;
        part(&self.wait)?;
        let dy = engine.recurrent_backward(
            two, parameters, gradient, second, frame, &first, two_trace, &dy, true,
        )?;
        part(&self.wait)?;
        if let Some(dy) = dy {
            engine.recurrent_backward(
                one, parameters, gradient, 0, frame, &x, one_trace, &dy, false,
            )?;
        }
        part(&self.wait)?;
        self.updates += 1;
        let rule = Rule::Adam { betas: (0.9, 0.999), epsilon: 1e-8 };
        let (parameters, state) = (&mut self.parameters, &mut self.state);
        engine.update(rule, 1e-3, self.updates, parameters, gradient, state)?;
        part(&self.wait)?;
        Ok(times)
    }
}
