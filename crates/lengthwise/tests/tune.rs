//! What `tune` and `frontier` promise.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use lengthwise::{
    Budget, CostModel, Example, Lengths, Shapes, Strategy,
    custom::{Purpose, Rng},
    measure::Per,
    tune::{Conditions, Curve, Family, Limits, frontier, recommended_shapes, tune},
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

/// Lognormal-like lengths: a product of uniform ones, from 16 to 4000.
fn many(count: u32) -> Lengths {
    let words = Rng::new(4, 4).words(Purpose::Own(4), 3 * count).collect::<Vec<_>>();
    let lengths = words.chunks(3).map(|word| {
        let product: f64 =
            word.iter().map(|&word| 0.2 + f64::from(word) / 2_f64.powi(32)).product();
        (1500.0 * product) as u32 + 16
    });
    Lengths::new(lengths.collect::<Vec<_>>()).unwrap()
}

/// A limit on padding is met, to two parts in a thousand of all cells, on epochs that the search has
/// not seen, and no family has more company within it.
#[test]
fn a_limit_on_padding_is_met_with_the_most_company() {
    for (lengths, budget) in [
        (Example::Speech.lengths(), Budget::sequences(16)),
        (Example::Speech.lengths(), Budget::dynamic(16)),
        (Example::Bimodal.lengths(), Budget::dynamic(16)),
        (many(30_000), Budget::padded(40_000)),
    ] {
        let limits = Limits { max_padding: Some(0.05), ..Limits::default() };
        let choice = tune(&lengths, &conditions(budget), limits).unwrap();
        assert!(choice.within_limits);
        assert!((choice.best.padding_rate - 0.05).abs() <= 0.002, "{budget}: {:?}", choice.best);
        assert!(matches!(choice.best.strategy, Strategy::Blurred(_)), "{:?}", choice.best);
        for other in choice.candidates.iter().filter(|other| other.padding_rate <= 0.0505) {
            assert!(other.effective_mates <= 1.1 * choice.best.effective_mates, "{other:?}");
        }
    }
}

#[test]
fn a_limit_on_company_is_met_with_the_least_padding() {
    let lengths = Example::Bimodal.lengths();
    let limits = Limits { min_mates: Some(800.0), ..Limits::default() };
    let choice = tune(&lengths, &conditions(Budget::sequences(16)), limits).unwrap();
    assert!(choice.within_limits);
    assert!((760.0..900.0).contains(&choice.best.effective_mates), "{:?}", choice.best);
    for other in choice.candidates.iter().filter(|other| other.effective_mates >= 800.0) {
        assert!(other.padding_rate >= 0.98 * choice.best.padding_rate, "{other:?}");
    }
}

#[test]
fn a_limit_on_shapes_is_kept_by_a_ladder() {
    let lengths = Example::Documents.lengths();
    for most in [1, 6, 20, 50] {
        let limits = Limits { max_shapes: Some(most), ..Limits::default() };
        let choice = tune(&lengths, &conditions(Budget::dynamic(16)), limits).unwrap();
        assert!(matches!(choice.shapes, Shapes::Ladder(_)));
        assert!(choice.best.shapes <= f64::from(most) || most == 1, "{most}: {:?}", choice.best);
    }
}

#[test]
fn a_limit_on_time_is_met_by_the_cost_model() {
    let lengths = Example::Speech.lengths();
    let model = CostModel::preset("recurrent").unwrap();
    let conditions = Conditions { cost_model: Some(model), ..conditions(Budget::padded(51_200)) };
    // Sorted batches take 14 seconds by this model, random ones 26.
    let limits = Limits { max_seconds: Some(16.0), ..Limits::default() };
    let choice = tune(&lengths, &conditions, limits).unwrap();
    assert!(choice.within_limits, "{:?}", choice.best);
    let seconds = choice.best.seconds.unwrap();
    assert!((15.5..=16.2).contains(&seconds), "{seconds}");
}

/// On the recommended shapes random order is freshest; limits that contradict each other are said to,
/// and those that do not are met together.
#[test]
fn no_limits_and_several_limits() {
    let lengths = Example::Speech.lengths();
    let budget = Budget::dynamic(16);
    let recommended =
        Conditions { shapes: recommended_shapes(&lengths, budget).unwrap(), ..conditions(budget) };
    let choice = tune(&lengths, &recommended, Limits::default()).unwrap();
    assert_eq!((choice.best.strategy.name(), &choice.shapes), ("shuffled", &Shapes::Ladder(16)));

    let limits = Limits { max_padding: Some(0.001), min_mates: Some(5000.0), ..Limits::default() };
    let choice = tune(&lengths, &conditions(budget), limits).unwrap();
    assert!(!choice.within_limits);

    let limits = Limits { max_shapes: Some(40), min_mates: Some(2000.0), ..Limits::default() };
    let choice = tune(&lengths, &conditions(budget), limits).unwrap();
    assert!(choice.within_limits && choice.best.shapes <= 40.0, "{:?}", choice.best);

    let limits = Limits { max_shapes: Some(40), max_padding: Some(0.08), ..Limits::default() };
    let choice = tune(&lengths, &conditions(budget), limits).unwrap();
    assert!(choice.within_limits && choice.best.effective_mates > 1000.0, "{:?}", choice.best);

    let model = CostModel::preset("recurrent").unwrap();
    let timed = Conditions { cost_model: Some(model), ..conditions(Budget::sequences(16)) };
    let limits = Limits { max_padding: Some(0.3), max_seconds: Some(70.0), ..Limits::default() };
    let choice = tune(&lengths, &timed, limits).unwrap();
    assert!(choice.within_limits, "{:?}", choice.best);
    assert!((69.0..=70.7).contains(&choice.best.seconds.unwrap()), "{:?}", choice.best);

    // A cost model alone: hardly slower than sorted batches, and much fresher.
    let choice = tune(&lengths, &timed, Limits::default()).unwrap();
    assert!(choice.within_limits && choice.best.effective_mates > 300.0, "{:?}", choice.best);
}

/// The same search on the same lengths finds the same, and a single sequence is no trouble.
#[test]
fn tuning_is_deterministic_and_bounded() {
    let limits = Limits { max_padding: Some(0.1), ..Limits::default() };
    let lengths = Example::Documents.lengths();
    let conditions = conditions(Budget::sequences(8));
    assert_eq!(tune(&lengths, &conditions, limits), tune(&lengths, &conditions, limits));
    for lengths in [vec![5], vec![5, 5], vec![1, 1000], vec![7; 100]] {
        let lengths = Lengths::new(lengths).unwrap();
        for limits in
            [limits, Limits::default(), Limits { min_mates: Some(3.0), ..Limits::default() }]
        {
            tune(&lengths, &conditions, limits).unwrap();
        }
        frontier(&lengths, &conditions, 5, 2, |_| ()).unwrap();
    }
}
