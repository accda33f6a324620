//! Every sequence is in one step of every epoch, however it is batched.

use shared::{MicroBatch, lengths, planned, shuffled, steps, texts};

#[test]
fn an_epoch_has_every_sequence_once_in_as_many_steps() {
    let texts = texts(1000, 200);
    let lengths = lengths(&texts).unwrap();
    for epoch in 0..3 {
        let [before, after] = [shuffled(32), planned(32)].map(|planner| {
            let steps = steps(&planner.plan(&lengths, epoch).unwrap(), &lengths).unwrap();
            let mut seen: Vec<u32> =
                steps.iter().flatten().flat_map(|batch| batch.sequences.clone()).collect();
            seen.sort_unstable();
            assert!(seen.into_iter().eq(0..1000));
            steps
        });
        assert!(before.len().abs_diff(after.len()) <= 1, "{} {}", before.len(), after.len());
        assert!(before.iter().all(|step| step.len() == 1));
        assert!(after.iter().all(|step| step.len() > 1));
    }
}

#[test]
fn weights_are_shares_of_the_positions_of_a_step() {
    let texts = texts(1000, 200);
    let lengths = lengths(&texts).unwrap();
    let positions = |batch: &MicroBatch| -> usize {
        batch.sequences.iter().map(|&at| texts[at as usize].len() - 1).sum()
    };
    for step in steps(&planned(32).plan(&lengths, 0).unwrap(), &lengths).unwrap() {
        let all = positions(&MicroBatch::joined(&step));
        for batch in &step {
            let longest = batch.sequences.iter().map(|&at| texts[at as usize].len() - 1).max();
            assert_eq!(Some(batch.length), longest);
            assert!((batch.weight - positions(batch) as f64 / all as f64).abs() < 1e-12);
        }
    }
}
