//! Trains a small language model with burn, on shuffled batches and on planned ones.

#[cfg(test)]
mod tests;

use std::time::Instant;

use burn::data::dataloader::batcher::Batcher;
use burn::nn::attention::generate_autoregressive_mask;
use burn::nn::loss::CrossEntropyLossConfig;
use burn::nn::transformer::{
    TransformerEncoder, TransformerEncoderConfig, TransformerEncoderInput,
};
use burn::nn::{Embedding, EmbeddingConfig, Linear, LinearConfig};
use burn::optim::{AdamConfig, GradientsAccumulator, GradientsParams, ModuleOptimizer};
use burn::prelude::*;
use lengthwise::{Error, Planner, Strategy};
use shared::{Epoch, MicroBatch, PADDING, SYMBOLS, lengths, planned, shuffled, steps, texts};

/// Texts of a micro-batch: each row shifted by one symbol is what it predicts.
#[derive(Clone, Debug)]
struct Texts {
    inputs: Tensor<2, Int>,
    targets: Tensor<2, Int>,
}

/// burn's place for what makes tensors of sequences. It pads to the planned length.
struct TextBatcher {
    length: usize,
}

impl Batcher<&[u32], Texts> for TextBatcher {
    fn batch(&self, texts: Vec<&[u32]>, device: &Device) -> Texts {
        let shape = [texts.len(), self.length];
        let rows = |from: fn(&[u32]) -> &[u32]| {
            let mut cells = vec![i64::from(PADDING); shape[0] * shape[1]];
            for (row, text) in cells.chunks_mut(self.length).zip(&texts) {
                row.iter_mut().zip(from(text)).for_each(|(cell, &symbol)| *cell = symbol.into());
            }
            Tensor::from_data(TensorData::new(cells, shape), device)
        };
        Texts { inputs: rows(|text| &text[..text.len() - 1]), targets: rows(|text| &text[1..]) }
    }
}

#[derive(Module, Debug)]
struct Model {
    embedding: Embedding,
    layers: TransformerEncoder,
    output: Linear,
}

impl Model {
    fn new(device: &Device) -> Self {
        Self {
            embedding: EmbeddingConfig::new(SYMBOLS, 32).init(device),
            layers: TransformerEncoderConfig::new(32, 64, 2, 1).with_dropout(0.0).init(device),
            output: LinearConfig::new(32, SYMBOLS).init(device),
        }
    }

    /// The mean loss over all positions that are not padding.
    fn loss(&self, Texts { inputs, targets }: Texts) -> Tensor<1> {
        let ([rows, columns], device) = (inputs.dims(), inputs.device());
        // A position sees only those before it, and so no padding.
        let mask = generate_autoregressive_mask(rows, columns, &device);
        let embedded = TransformerEncoderInput::new(self.embedding.forward(inputs)).mask_attn(mask);
        let scores = self.output.forward(self.layers.forward(embedded));
        CrossEntropyLossConfig::new()
            .with_pad_tokens(Some(vec![PADDING as usize]))
            .init(&device)
            .forward(scores.reshape([rows * columns, SYMBOLS]), targets.reshape([rows * columns]))
    }
}

struct Training {
    model: Model,
    optimizer: ModuleOptimizer,
    device: Device,
}

impl Training {
    fn new() -> Self {
        let device = Device::flex().autodiff();
        device.seed(1);
        Self { model: Model::new(&device), optimizer: AdamConfig::new().init(), device }
    }

    /// The loss of an optimizer step and its gradients, which are those of one large batch.
    fn gradients(&self, texts: &[Vec<u32>], step: &[MicroBatch]) -> (f64, GradientsParams) {
        let (mut mean, mut sum) = (0.0, GradientsAccumulator::new());
        for batch in step {
            let rows = batch.sequences.iter().map(|&at| texts[at as usize].as_slice()).collect();
            let rows = TextBatcher { length: batch.length }.batch(rows, &self.device);
            let loss = self.model.loss(rows) * batch.weight;
            mean += loss.clone().into_scalar::<f64>();
            sum.accumulate(&self.model, GradientsParams::from_grads(loss.backward(), &self.model));
        }
        (mean, sum.grads())
    }

    fn epoch(
        &mut self,
        planner: &Planner<Strategy>,
        texts: &[Vec<u32>],
        epoch: u64,
    ) -> Result<Epoch, Error> {
        let (start, lengths) = (Instant::now(), lengths(texts)?);
        let plan = planner.plan(&lengths, epoch)?;
        let (steps, mut losses) = (steps(&plan, &lengths)?, 0.0);
        for step in &steps {
            let (loss, gradients) = self.gradients(texts, step);
            self.model = self.optimizer.step(0.003, self.model.clone(), gradients);
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

fn main() -> Result<(), Error> {
    let texts = texts(1000, 200);
    for (name, planner) in [("shuffled", shuffled(32)), ("planned", planned(32))] {
        let mut training = Training::new();
        for epoch in 0..5 {
            println!("{name:8} epoch {epoch}: {}", training.epoch(&planner, &texts, epoch)?);
        }
    }
    Ok(())
}
