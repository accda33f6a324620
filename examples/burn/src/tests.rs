use burn::module::{ModuleVisitor, Param};

use super::*;

const BATCH_SIZE: u32 = 8;

#[test]
fn both_ways_learn_in_as_many_steps() {
    let texts = texts(64, 24);
    let trained = [shuffled(BATCH_SIZE), planned(BATCH_SIZE)].map(|planner| {
        let mut training = Training::new();
        let epochs = (0..6).map(|epoch| training.epoch(&planner, &texts, epoch).unwrap());
        let epochs: Vec<Epoch> = epochs.collect();
        assert!(epochs[5].loss < 0.9 * epochs[0].loss, "{epochs:?}");
        epochs[5]
    });
    assert!(trained[0].steps.abs_diff(trained[1].steps) <= 1, "{trained:?}");
    assert!(trained[1].padding_rate < trained[0].padding_rate, "{trained:?}");
}

#[test]
fn gradients_of_a_step_are_those_of_one_large_batch() {
    let (texts, training) = (texts(64, 24), Training::new());
    let lengths = lengths(&texts).unwrap();
    let plan = planned(BATCH_SIZE).plan(&lengths, 0).unwrap();
    for step in steps(&plan, &lengths).unwrap() {
        assert!(step.len() > 1);
        let (loss, gradients) = training.gradients(&texts, &step);
        let (large_loss, large) = training.gradients(&texts, &[MicroBatch::joined(&step)]);
        assert!((loss - large_loss).abs() < 1e-5, "{loss} {large_loss}");
        let mut compared = Compared { gradients, large, largest: 0.0, parameters: 0 };
        training.model.visit(&mut compared);
        assert!(compared.parameters > 10 && compared.largest > 1e-3);
    }
}

/// Compares the gradients of every parameter of a model.
struct Compared {
    gradients: GradientsParams,
    large: GradientsParams,
    largest: f64,
    parameters: usize,
}

impl ModuleVisitor for Compared {
    fn visit_float<const D: usize>(&mut self, parameter: &Param<Tensor<D>>) {
        let one = self.gradients.get::<D>(parameter.id).unwrap();
        let other = self.large.get::<D>(parameter.id).unwrap();
        let off = (one - other.clone()).abs().max().into_scalar::<f64>();
        assert!(off < 1e-5, "{off}");
        self.largest = self.largest.max(other.abs().max().into_scalar());
        self.parameters += 1;
    }
}
