use super::*;

const BATCH_SIZE: u32 = 8;

#[test]
fn both_ways_learn_in_as_many_steps() {
    let texts = texts(64, 24);
    let trained = [shuffled(BATCH_SIZE), planned(BATCH_SIZE)].map(|planner| {
        let mut training = Training::new(&VarMap::new()).unwrap();
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
    let (texts, parameters) = (texts(64, 24), VarMap::new());
    let training = Training::new(&parameters).unwrap();
    let lengths = lengths(&texts).unwrap();
    let plan = planned(BATCH_SIZE).plan(&lengths, 0).unwrap();
    for step in steps(&plan, &lengths).unwrap() {
        assert!(step.len() > 1);
        let (loss, gradients) = training.gradients(&texts, &step).unwrap();
        let joined = [MicroBatch::joined(&step)];
        let (large_loss, large) = training.gradients(&texts, &joined).unwrap();
        assert!((loss - large_loss).abs() < 1e-5, "{loss} {large_loss}");
        let size = |gradient: &Tensor| {
            gradient.abs().unwrap().max_all().unwrap().to_scalar::<f32>().unwrap()
        };
        let mut largest = 0.0_f32;
        for parameter in parameters.all_vars() {
            let (one, other) = (gradients.get(&parameter).unwrap(), large.get(&parameter).unwrap());
            let off = size(&(one - other).unwrap());
            assert!(off < 1e-5, "{off}");
            largest = largest.max(size(other));
        }
        assert!(largest > 1e-3);
    }
}
