//! What `frontier` promises.

use lengthwise::{
    Arrange, Budget, CostModel, Example, Lengths, Planner, Shapes, Strategy,
    measure::Per,
    tune::{Conditions, Curve, Family, frontier},
};

fn conditions(budget: Budget) -> Conditions {
    Conditions { budget, shapes: Shapes::Exact, seed: 0, cost_model: None }
}

/// At equal mixing `blurred` pads at most four fifths of what the best other family does if every sequence
/// counts the same, and nine tenths if every pair does, as geometric means over three sets of lengths, three
/// budgets and three levels of mixing, and is nowhere worse by more than 15 %.
#[test]
fn blurred_pads_least_for_its_mixing() {
    let mut ratios = [Vec::new(), Vec::new()];
    for (example, cells) in
        [(Example::Speech, 12_800), (Example::Documents, 24_000), (Example::Bimodal, 24_000)]
    {
        let lengths = example.lengths();
        for budget in
            [Budget::sequences(16), Budget::padded(cells), Budget::padded(2 * cells).at_most(64)]
        {
            let curves = frontier(&lengths, &conditions(budget), 17, 4, |_| ()).unwrap();
            for (per, ratios) in Per::ALL.into_iter().zip(&mut ratios) {
                for level in [0.05, 0.1, 0.2] {
                    let padding = |curve: &Curve| curve.padding_at(level, per);
                    let (ours, others): (Vec<&Curve>, Vec<&Curve>) =
                        curves.iter().partition(|curve| curve.family == Family::Blurred);
                    let best = others.into_iter().filter_map(padding).reduce(f64::min).unwrap();
                    let ratio = padding(ours[0]).unwrap() / best;
                    assert!(ratio <= 1.15, "{example} {budget} {per:?} {level}: {ratio}");
                    ratios.push(ratio);
                }
            }
        }
    }
    let means = ratios.each_ref().map(|ratios| {
        (ratios.iter().map(|ratio: &f64| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp()
    });
    assert!(means[0] <= 0.9 && means[1] <= 0.8, "{means:?}: {ratios:?}");
}

/// Each number of a point is the mean over the epochs that were planned for it.
#[test]
fn a_point_is_the_mean_of_its_epochs() {
    let lengths = Example::Speech.lengths();
    let budget = Budget::padded(12_800);
    let model = CostModel::new(0.002, 0.0, 1e-6, 0.0).unwrap();
    let strategy: Strategy = "blurred:blur=0.1".parse().unwrap();
    let conditions = Conditions { cost_model: Some(model), seed: 3, ..conditions(budget) };
    let point = conditions.measure(strategy.clone(), &lengths, 2, 3).unwrap();
    let planner = Planner::new(strategy, budget).arrange(Arrange::AsBuilt).seed(3);
    let plans = [2, 3, 4].map(|epoch| planner.plan(&lengths, epoch).unwrap());
    let mean = |values: [f64; 3]| values.iter().sum::<f64>() / 3.0;
    let measures = plans.each_ref().map(|plan| plan.measure(&lengths));
    let close = |found: f64, expected: f64| {
        assert!((found / expected - 1.0).abs() < 1e-12, "{found}, not {expected}");
    };
    close(point.padding_rate, mean(measures.each_ref().map(|m| m.padding_rate)));
    close(point.mean_batch_length, mean(measures.each_ref().map(|m| m.mean_batch_length)));
    close(point.batches, mean(measures.each_ref().map(|m| m.batches as f64)));
    close(point.shapes, mean(measures.each_ref().map(|m| m.shapes as f64)));
    let seconds = plans.each_ref().map(|plan| model.epoch_seconds(plan).unwrap());
    close(point.seconds.unwrap(), mean(seconds));
}

/// A single sequence is no trouble.
#[test]
fn few_sequences_have_curves() {
    for lengths in [vec![5], vec![5, 5], vec![1, 1000], vec![7; 100]] {
        let lengths = Lengths::new(lengths).unwrap();
        frontier(&lengths, &conditions(Budget::sequences(8)), 5, 2, |_| ()).unwrap();
    }
}
