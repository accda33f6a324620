//! Trains a small language model with candle, on shuffled batches and on planned ones.

#[cfg(test)]
mod tests;

use std::error::Error;
use std::time::Instant;

use candle_core::backprop::GradStore;
use candle_core::{D, DType, Device, Result, Tensor};
use candle_nn::{
    AdamW, Embedding, Linear, Module, Optimizer, ParamsAdamW, VarBuilder, VarMap, embedding,
    linear, loss, ops,
};
use lengthwise::{Planner, Strategy};
use shared::{Epoch, MicroBatch, PADDING, SYMBOLS, lengths, planned, shuffled, steps, texts};

const SIZE: usize = 32;

/// A language model of one layer of attention.
struct Model {
    embedding: Embedding,
    queries: Linear,
    keys: Linear,
    values: Linear,
    hidden: Linear,
    output: Linear,
}

impl Model {
    fn new(vars: &VarBuilder) -> Result<Self> {
        Ok(Self {
            embedding: embedding(SYMBOLS, SIZE, vars.pp("embedding"))?,
            queries: linear(SIZE, SIZE, vars.pp("queries"))?,
            keys: linear(SIZE, SIZE, vars.pp("keys"))?,
            values: linear(SIZE, SIZE, vars.pp("values"))?,
            hidden: linear(SIZE, 2 * SIZE, vars.pp("hidden"))?,
            output: linear(2 * SIZE, SYMBOLS, vars.pp("output"))?,
        })
    }

    /// Scores of the symbol that follows each cell.
    fn forward(&self, inputs: &Tensor) -> Result<Tensor> {
        let columns = inputs.dim(1)?;
        // A position sees only those before it, and so no padding.
        let unseen = |at| if at % columns > at / columns { f32::NEG_INFINITY } else { 0.0 };
        let mask = Tensor::from_iter((0..columns * columns).map(unseen), inputs.device())?;
        let embedded = self.embedding.forward(inputs)?;
        let keys = self.keys.forward(&embedded)?.transpose(1, 2)?;
        let scores = (self.queries.forward(&embedded)?.matmul(&keys)? / (SIZE as f64).sqrt())?;
        let shares =
            ops::softmax(&scores.broadcast_add(&mask.reshape((columns, columns))?)?, D::Minus1)?;
        let states = (shares.matmul(&self.values.forward(&embedded)?)? + embedded)?;
        self.output.forward(&self.hidden.forward(&states)?.gelu()?)
    }

    /// The mean loss over all positions that are not padding.
    fn loss(&self, texts: &[&[u32]], length: usize, device: &Device) -> Result<Tensor> {
        let mut inputs = vec![PADDING; texts.len() * length];
        let (mut places, mut targets) = (Vec::new(), Vec::new());
        for (row, text) in texts.iter().enumerate() {
            for (column, pair) in text.windows(2).enumerate() {
                inputs[row * length + column] = pair[0];
                places.push((row * length + column) as u32);
                targets.push(pair[1]);
            }
        }
        let scores = self.forward(&Tensor::from_vec(inputs, (texts.len(), length), device)?)?;
        let scores = scores.flatten_to(1)?.index_select(&Tensor::new(places, device)?, 0)?;
        loss::cross_entropy(&scores, &Tensor::new(targets, device)?)
    }
}

struct Training {
    model: Model,
    optimizer: AdamW,
    device: Device,
}

impl Training {
    fn new(parameters: &VarMap) -> Result<Self> {
        let device = Device::Cpu;
        let model = Model::new(&VarBuilder::from_varmap(parameters, DType::F32, &device))?;
        let settings = ParamsAdamW { lr: 0.003, weight_decay: 0.0, ..ParamsAdamW::default() };
        let optimizer = AdamW::new(parameters.all_vars(), settings)?;
        Ok(Self { model, optimizer, device })
    }

    /// The loss of an optimizer step and its gradients, which are those of one large batch.
    fn gradients(&self, texts: &[Vec<u32>], step: &[MicroBatch]) -> Result<(f64, GradStore)> {
        let (mut mean, mut sum) = (0.0, GradStore::default());
        for batch in step {
            let rows = batch.sequences.iter().map(|&at| texts[at as usize].as_slice());
            let rows: Vec<&[u32]> = rows.collect();
            let loss = (self.model.loss(&rows, batch.length, &self.device)? * batch.weight)?;
            mean += f64::from(loss.to_scalar::<f32>()?);
            sum.extend(loss.backward()?)?; // adds to the gradients that are there
        }
        Ok((mean, sum))
    }

    fn epoch(
        &mut self,
        planner: &Planner<Strategy>,
        texts: &[Vec<u32>],
        epoch: u64,
    ) -> std::result::Result<Epoch, Box<dyn Error>> {
        let (start, lengths) = (Instant::now(), lengths(texts)?);
        let plan = planner.plan(&lengths, epoch)?;
        let (steps, mut losses) = (steps(&plan, &lengths)?, 0.0);
        for step in &steps {
            let (loss, gradients) = self.gradients(texts, step)?;
            self.optimizer.step(&gradients)?;
            losses += loss;
        }
        Ok(Epoch {
            steps: steps.len(),
            padding_rate: plan.measure(&lengths).padding_rate,
            loss: losses / steps.len() as f64,
            seconds: start.elapsed().as_secs_f64(),
        })
    }
}

fn main() -> std::result::Result<(), Box<dyn Error>> {
    let texts = texts(1000, 200);
    for (name, planner) in [("shuffled", shuffled(32)), ("planned", planned(32))] {
        let mut training = Training::new(&VarMap::new())?;
        for epoch in 0..5 {
            println!("{name:8} epoch {epoch}: {}", training.epoch(&planner, &texts, epoch)?);
        }
    }
    Ok(())
}
