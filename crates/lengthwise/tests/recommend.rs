//! What the recommendation promises.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use lengthwise::{
    Budget, CostModel, Error, Example, Lengths, Planner, Settings, Shapes, Update,
    custom::{Purpose, Rng},
    tune::{Kind, Like, Limits, Model, Offer, Recommendation, Wanted, recommend},
};

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

fn found(lengths: &Lengths, wanted: &Wanted) -> Recommendation {
    recommend(lengths, wanted).unwrap()
}

/// What an offer gives when its plans are made anew, of epochs that were not measured.
fn planned(offer: &Offer, lengths: &Lengths, ranks: u32) -> (f64, f64, u32, usize) {
    let plan = Planner::named(offer.settings.clone()).unwrap().plan(lengths, 7).unwrap();
    let steps = plan.schedule(ranks).unwrap();
    let padding = plan.measure(lengths).padding_rate;
    (padding, steps.step_mix(lengths).log_length, steps.accumulate(), steps.len())
}

/// Whatever the lengths, the budget and the ranks: optimizer steps are as mixed as random ones, no slower than
/// random batches, and the plan has what was said of it.
#[test]
fn steps_are_mixed_and_fast() {
    let sets = [
        Example::Speech.lengths(),
        Example::Documents.lengths(),
        Example::Bimodal.lengths(),
        many(30_000),
    ];
    for (lengths, budget, ranks) in sets.iter().flat_map(|lengths| {
        [("sequences:16", 1), ("dynamic:16", 1), ("dynamic:16", 8)]
            .map(|(budget, ranks)| (lengths, budget.parse::<Budget>().unwrap(), ranks))
    }) {
        let wanted = Wanted { ranks, ..Wanted::new(budget) };
        let found = found(lengths, &wanted);
        let best = found.best();
        assert!(found.within_limits() && best.time < 1.0, "{budget}: {best:?}");
        let (padding, step_mix, micro_batches, steps) = planned(best, lengths, ranks);
        assert!(step_mix < 1.0, "{budget} on {ranks}: {step_mix}");
        assert!((padding - best.padding_rate).abs() < 0.03, "{padding}: {best:?}");
        assert_eq!((micro_batches, steps as u64), (best.micro_batches, best.optimizer_steps));
        assert_eq!(found.random.optimizer_steps, best.optimizer_steps);
    }
}

/// An update has as much data as a full batch of each rank, unless it was said.
#[test]
fn an_update_is_a_full_batch_of_each_rank() {
    let lengths = Example::Speech.lengths();
    let update = |wanted: &Wanted| found(&lengths, wanted).best().settings.update;
    let wanted = |budget: &str, ranks| Wanted { ranks, ..Wanted::new(budget.parse().unwrap()) };
    assert_eq!(update(&wanted("sequences:16", 1)), Some(Update::Sequences(16)));
    assert_eq!(update(&wanted("sequences:16", 4)), Some(Update::Sequences(64)));
    assert_eq!(update(&wanted("padded:12800", 1)), Some(Update::Tokens(12_500)));
    assert_eq!(update(&wanted("padded:12800", 2)), Some(Update::Tokens(25_000)));
    let mut given = wanted("padded:12800", 1);
    given.settings.update = Some(Update::Tokens(40_000));
    assert_eq!(update(&given), Some(Update::Tokens(40_000)));
    // Four micro-batches of the budget at least.
    assert!(found(&lengths, &given).best().micro_batches >= 4);
}

#[test]
fn what_is_like_a_batch_size_keeps_memory_or_steps() {
    let lengths = Example::Speech.lengths();
    let like = |text: &str| {
        let like: Like = text.parse().unwrap();
        let mut wanted = Wanted { like: Some(like), ranks: 2, ..Wanted::new(like.budget()) };
        wanted.settings.update = like.update(2);
        found(&lengths, &wanted)
    };
    let memory = like("32");
    assert_eq!(memory.steps_before, 164);
    assert!((1.3..1.6).contains(&memory.update_growth()), "{}", memory.update_growth());
    let steps = like("32,keep=steps");
    assert_eq!((steps.steps_before, steps.best().optimizer_steps), (164, 164));
    for text in ["", "0", "-1", "x", "32,keep=x", "32,other=1"] {
        assert!(text.parse::<Like>().is_err(), "{text}");
    }
    assert_eq!("32,keep=steps".parse::<Like>().unwrap().to_string(), "32,keep=steps");
}

/// A loop that updates after every batch gets random batches: nothing else keeps one batch mixed. It is told
/// what accumulation would give.
#[test]
fn one_batch_an_update_is_random() {
    let lengths = Example::Documents.lengths();
    let wanted = Wanted { micro_batches: Some(1), ..Wanted::new(Budget::dynamic(16)) };
    let alone = found(&lengths, &wanted);
    assert_eq!(alone.best().settings.strategy, "shuffled");
    assert_eq!(alone.best().micro_batches, 1);
    assert!(alone.undecided.is_some_and(|other| other.time < 0.3));
}

#[test]
fn a_model_changes_the_choice() {
    let lengths = Example::Speech.lengths();
    let with = |model: &str| {
        let model = model.parse().unwrap();
        found(&lengths, &Wanted { model, ..Wanted::new(Budget::padded(51_200)) })
    };
    let padded = with("attention");
    assert!(padded.packed.as_ref().unwrap().time < padded.best().time);
    let packed = with("packed");
    assert!(packed.best().packed && packed.packed.is_none());
    assert_eq!(packed.best().settings.strategy, "packed:capacity=50538");
    // A recurrent network waits for every micro-batch; it takes no rows.
    let recurrent = with("recurrent");
    assert!(recurrent.best().micro_batches < padded.best().micro_batches);
    assert!(recurrent.packed.is_none());
    // Where micro-batches cost much, there are few; where new shapes do, few shapes.
    let slow = with("a=0.05,c=6e-7");
    assert!(slow.best().micro_batches <= 2, "{:?}", slow.best());
    assert!(slow.best().seconds.is_some() && padded.best().seconds.is_none());
    let compiled = with("a=0.001,c=6e-7,s=30");
    assert!(compiled.best().new_shapes == 0.0, "{:?}", compiled.best());
    assert_eq!(with("recurrent"), recurrent);
    let model = Model::new(Kind::Packed, Some(CostModel::preset("encoder").unwrap()));
    let wanted = Wanted { model, ..Wanted::new(Budget::padded(51_200)) };
    assert!(found(&lengths, &wanted).best().packed);
}

/// Also where shapes are given, times are compared with those of batches as they are without any plan.
#[test]
fn random_batches_are_random_on_a_ladder_too() {
    let lengths = Example::Speech.lengths();
    let free = found(&lengths, &Wanted::new(Budget::dynamic(32)));
    let shapes = Some(Shapes::Ladder(32));
    let given = found(&lengths, &Wanted { shapes, ..Wanted::new(Budget::dynamic(32)) });
    assert_eq!((given.random.padding_rate, given.random.time), (free.random.padding_rate, 1.0));
    assert!(given.best().time < 1.0 && given.best().settings.shapes == Shapes::Ladder(32));
}

/// Small updates of a recurrent network: micro-batches cost more than they save.
#[test]
fn nothing_slower_than_random_is_recommended() {
    for example in Example::ALL {
        let lengths = example.lengths();
        for model in ["attention", "recurrent", "a=0.05,b=1e-4"] {
            for size in [8, 32] {
                let like: Like = format!("{size},keep=steps").parse().unwrap();
                let model = model.parse().unwrap();
                let mut wanted = Wanted { model, like: Some(like), ..Wanted::new(like.budget()) };
                wanted.settings.update = like.update(1);
                let found = found(&lengths, &wanted);
                let best = found.best();
                assert!(!found.random.broken.is_empty() || best.time <= 1.0, "{size}: {best:?}");
            }
        }
    }
}

/// Every limit is kept by what is recommended, and what breaks one says so.
#[test]
fn limits_are_kept_or_said_to_be_broken() {
    let lengths = Example::Documents.lengths();
    let under = |limits: Limits| {
        let model = "a=0.002,c=1e-6".parse().unwrap();
        found(&lengths, &Wanted { limits, model, ..Wanted::new(Budget::dynamic(16)) })
    };
    let none = Limits::default();
    let kept = [
        Limits { max_padding: Some(0.2), ..none },
        Limits { min_mixing: Some(0.3), ..none },
        Limits { min_mates: Some(2000.0), ..none },
        Limits { max_shapes: Some(12), ..none },
        Limits { max_step_mix: Some(0.05), ..none },
        Limits { min_steps: Some(10), max_steps: Some(30), ..none },
        Limits { max_seconds: Some(5.0), ..none },
        Limits { max_padding: Some(0.3), max_shapes: Some(20), ..none },
        Limits { max_step_mix: Some(f64::INFINITY), max_padding: Some(0.15), ..none },
    ];
    for limits in kept {
        let found = under(limits);
        let best = found.best();
        assert!(found.within_limits(), "{limits:?}: {best:?}");
        assert!(limits.max_padding.is_none_or(|most| best.padding_rate <= 1.01 * most));
        assert!(limits.min_mixing.is_none_or(|least| 1.01 * best.mixing >= least));
        assert!(limits.max_shapes.is_none_or(|most| best.shape_count <= f64::from(most)));
        assert!(limits.max_step_mix.is_none_or(|most| best.step_mix <= 1.5 * most), "{best:?}");
    }
    let broken = [
        (Limits { max_padding: Some(0.0001), ..none }, "padding"),
        (Limits { min_mixing: Some(0.9), max_padding: Some(0.5), ..none }, "padding"),
        (Limits { max_shapes: Some(1), max_padding: Some(0.1), ..none }, "padding"),
        (Limits { min_steps: Some(1000), ..none }, "optimizer steps"),
        (Limits { max_seconds: Some(0.001), ..none }, "seconds"),
    ];
    for (limits, name) in broken {
        let found = under(limits);
        assert!(!found.within_limits() && !found.best().broken.is_empty(), "{name}");
    }
    for limits in [
        Limits { max_padding: Some(1.0), ..none },
        Limits { min_mixing: Some(1.1), ..none },
        Limits { min_mates: Some(0.5), ..none },
        Limits { max_step_mix: Some(0.0), ..none },
        Limits { max_seconds: Some(f64::INFINITY), ..none },
    ] {
        assert!(limits.check().is_err(), "{limits:?}");
    }
}

/// There are ladders with few enough rungs, also where updates are small.
#[test]
fn few_shapes_can_be_had() {
    for example in Example::ALL {
        let lengths = example.lengths();
        for (budget, most) in [
            (Budget::sequences(16), 8),
            (Budget::sequences(16), 4),
            (Budget::sequences(64), 6),
            (Budget::dynamic(16), 12),
        ] {
            let limits = Limits { max_shapes: Some(most), ..Limits::default() };
            let found = found(&lengths, &Wanted { limits, ..Wanted::new(budget) });
            let best = found.best();
            assert!(found.within_limits(), "{example} {budget} {most}: {best:?}");
            assert!(best.shape_count <= f64::from(most) && best.step_mix <= 1.5, "{best:?}");
        }
    }
}

/// Shapes that are decided stay.
#[test]
fn given_shapes_are_kept() {
    let lengths = Example::Speech.lengths();
    for shapes in [Shapes::Exact, Shapes::Multiple(64), Shapes::Ladder(6)] {
        let wanted = Wanted { shapes: Some(shapes.clone()), ..Wanted::new(Budget::dynamic(16)) };
        let found = found(&lengths, &wanted);
        assert!(found.offers.iter().all(|offer| offer.settings.shapes == shapes));
    }
}

/// A sample of many lengths says what all of them would: the same choice, and nearly the same figures.
#[test]
fn many_lengths_are_sampled() {
    let lengths = many(200_000);
    let found = found(&lengths, &Wanted::new(Budget::padded(40_000)));
    let (padding, step_mix, micro_batches, steps) = planned(found.best(), &lengths, 1);
    assert!((padding - found.best().padding_rate).abs() < 0.02, "{padding}: {:?}", found.best());
    assert!(step_mix < 1.0);
    let best = found.best();
    assert_eq!((micro_batches, steps as u64), (best.micro_batches, best.optimizer_steps));
}

/// The same lengths have the same recommendation; few sequences are no trouble, and what no plan holds is
/// refused as plans refuse it.
#[test]
fn it_is_deterministic_and_refuses_what_plans_refuse() {
    let lengths = Example::Bimodal.lengths();
    let wanted = Wanted::new(Budget::dynamic(16));
    assert_eq!(found(&lengths, &wanted), found(&lengths, &wanted));
    for lengths in [vec![5], vec![5, 5], vec![1, 1000], vec![7; 100], vec![1, 2, 3, 1_000_000]] {
        let lengths = Lengths::new(lengths).unwrap();
        for ranks in [1, 3] {
            if lengths.len() < ranks as usize {
                let refused = recommend(&lengths, &Wanted { ranks, ..wanted.clone() });
                assert!(matches!(refused, Err(Error::TooFewForRanks { .. })));
                continue;
            }
            for budget in ["sequences:8", "dynamic:4", "padded:1000000"] {
                let wanted = Wanted { ranks, ..Wanted::new(budget.parse().unwrap()) };
                let found = found(&lengths, &wanted);
                assert!(found.within_limits(), "{lengths:?} {budget}: {:?}", found.best());
                planned(found.best(), &lengths, ranks);
            }
        }
    }
    let small = Wanted::new(Budget::padded(100));
    let plan = Planner::named(Settings::new("sorted", Budget::padded(100))).unwrap();
    let refused = plan.plan(&lengths, 0).unwrap_err();
    assert!(matches!(refused, Error::OverBudget { .. }));
    assert_eq!(recommend(&lengths, &small).unwrap_err(), refused);
}
