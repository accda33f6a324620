//! What `frontier` promises.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use lengthwise::{
    Budget, Example, Lengths, Shapes,
    tune::{Conditions, Curve, Family, frontier},
};

fn conditions(budget: Budget) -> Conditions {
    Conditions { budget, shapes: Shapes::Exact, seed: 0, cost_model: None }
}

/// At equal company `blurred` pads at most three quarters of what the best other family does, as a
/// geometric mean over three sets of lengths, two budgets and three levels of company, and is never
/// worse by more than 2 %.
#[test]
fn blurred_pads_least_for_its_company() {
    let mut ratios = Vec::new();
    for (example, cells) in
        [(Example::Speech, 12_800), (Example::Documents, 24_000), (Example::Bimodal, 24_000)]
    {
        let lengths = example.lengths();
        for budget in [Budget::sequences(16), Budget::padded(cells)] {
            let curves = frontier(&lengths, &conditions(budget), 13, 4, |_| ()).unwrap();
            for share in [0.05, 0.1, 0.2] {
                let mates = share * lengths.len() as f64;
                let padding = |curve: &Curve| curve.padding_at(mates);
                let (ours, others): (Vec<&Curve>, Vec<&Curve>) =
                    curves.iter().partition(|curve| curve.family == Family::Blurred);
                let best = others.into_iter().filter_map(padding).reduce(f64::min).unwrap();
                let ratio = padding(ours[0]).unwrap() / best;
                assert!(ratio <= 1.02, "{example} {budget} {share}: {ratio}");
                ratios.push(ratio);
            }
        }
    }
    let mean = (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
    assert!(mean <= 0.75, "{mean}: {ratios:?}");
}

/// A single sequence is no trouble.
#[test]
fn few_sequences_have_curves() {
    for lengths in [vec![5], vec![5, 5], vec![1, 1000], vec![7; 100]] {
        let lengths = Lengths::new(lengths).unwrap();
        frontier(&lengths, &conditions(Budget::sequences(8)), 5, 2, |_| ()).unwrap();
    }
}
