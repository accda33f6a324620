//! What `frontier` promises.

use lengthwise::{
    Budget, Example, Lengths, Shapes,
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

/// A single sequence is no trouble.
#[test]
fn few_sequences_have_curves() {
    for lengths in [vec![5], vec![5, 5], vec![1, 1000], vec![7; 100]] {
        let lengths = Lengths::new(lengths).unwrap();
        frontier(&lengths, &conditions(Budget::sequences(8)), 5, 2, |_| ()).unwrap();
    }
}
