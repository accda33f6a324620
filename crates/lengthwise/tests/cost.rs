//! Cost models: their string forms, what a fit finds, budgets of seconds, and every error.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use expect_test::expect;
use lengthwise::{
    Budget, CostModel, Error, Lengths, OverLong, Planner, Shapes, Strategy, Tail, cost::Step,
    strategy::Shuffled,
};
use proptest::{collection::vec, prelude::*};

/// Message and hint of what must be an error.
fn said<T>(result: Result<T, Error>) -> String {
    let error = result.err().expect("this is refused");
    format!("{error}\n  {}\n", error.hint().expect("every error has a hint"))
}

fn model(given: &str) -> CostModel {
    given.parse().unwrap()
}

#[test]
fn models_print_as_they_are_parsed() {
    for given in [
        "a=0.001,b=2e-6,c=1e-9,d=0",
        "a=0,b=0,c=0,d=1e-12",
        "a=3,b=0,c=0.5,d=0",
        "a=0,b=0,c=0.5,d=0,h=2",
        "a=0,b=0,c=0.5,d=0,h=2,s=0.25",
    ] {
        assert_eq!(model(given).to_string(), given);
    }
    assert_eq!(model("c=1e-9"), CostModel::new(0.0, 0.0, 1e-9, 0.0).unwrap());
    assert_eq!(model(" d=2 , a=-0.0 ").to_string(), "a=0,b=0,c=0,d=2");
    assert_eq!(model("paper-2").to_string(), "a=0,b=0.002442,c=8.46e-5,d=0");
    for preset in CostModel::PRESETS {
        assert_eq!(CostModel::preset(preset.name), Ok(preset.model));
        assert_eq!(preset.model.to_string().parse(), Ok(preset.model));
        assert!(CostModel::explain().contains(preset.source));
    }
    for given in [
        "cost:a=0.001,b=2e-6,c=1e-9,d=0,limit=0.05",
        "cost:a=0,b=0,c=1e-9,d=0,limit=1e-7,at-most=64,multiple-of=8",
    ] {
        assert_eq!(given.parse::<Budget>().unwrap().to_string(), given);
    }
    assert_eq!("cost:paper-2,limit=3".parse(), Ok(Budget::cost(model("paper-2"), 3.0)));
    assert_eq!("cost:limit=3,c=1".parse(), Ok(Budget::cost(model("c=1"), 3.0)));
}

#[test]
fn bad_models_and_budgets_of_seconds_are_refused_with_a_hint() {
    let models =
        ["", "paper2", "fast", "a=-1", "a=NaN", "b=1e10", "c=x", "a=0", "a=1,a=2", "a=1,e=2", "a"];
    let budgets = [
        "cost",
        "cost:paper-2",
        "cost:paper-3,limit=1",
        "cost:limit=1",
        "cost:c=-1,limit=1",
        "cost:c=1,limit=0",
        "cost:c=1,limit=inf",
        "cost:c=1,limit=soon",
        "cost:paper-2,c=1,limit=1",
        "cost:c=1,limit=1,rule=over",
        "cost:c=1,limit=1,at-most=0",
    ];
    let said: String = (models.iter().map(|given| said(given.parse::<CostModel>())))
        .chain([said(CostModel::new(0.0, f64::INFINITY, 0.0, 0.0))])
        .chain(budgets.iter().map(|given| said(given.parse::<Budget>())))
        .collect();
    expect![[r#"
        the cost model cannot be `a=0,b=0,c=0,d=0`
          it must be one with a coefficient above 0, as in `a=0.001,c=1e-9`
        unknown cost model `paper2`
          did you mean `paper-2`? `NAMES` lists all
        unknown cost model `fast`
          one of `recurrent`, `encoder`, `paper-2`
        `a` of the cost model cannot be `-1`
          it must be a number from 0 to 1000000000
        `a` of the cost model cannot be `NaN`
          it must be a number from 0 to 1000000000
        `b` of the cost model cannot be `10000000000`
          it must be a number from 0 to 1000000000
        `c` of the cost model cannot be `x`
          it must be a number from 0 to 1000000000
        the cost model cannot be `a=0,b=0,c=0,d=0`
          it must be one with a coefficient above 0, as in `a=0.001,c=1e-9`
        `a` of the cost model cannot be `2`
          it must be given only once
        unknown parameter `e` of the cost model
          its parameters are `attention:hidden`, `a`, `b`, `c`, `d`, `h`, `s`
        unknown cost model `a`
          one of `recurrent`, `encoder`, `paper-2`
        `b` of the cost model cannot be `inf`
          it must be a number from 0 to 1000000000
        the cost model cannot be `a=0,b=0,c=0,d=0`
          it must be one with a coefficient above 0, as in `a=0.001,c=1e-9`
        `limit` of budget `cost` cannot be ``
          it must be a number of seconds above 0
        unknown cost model `paper-3`
          did you mean `paper-2`? `NAMES` lists all
        the cost model cannot be `a=0,b=0,c=0,d=0`
          it must be one with a coefficient above 0, as in `a=0.001,c=1e-9`
        `c` of budget `cost` cannot be `-1`
          it must be a number from 0 to 1000000000
        `limit` of budget `cost` cannot be `0`
          it must be a number of seconds above 0
        `limit` of budget `cost` cannot be `inf`
          it must be a number of seconds above 0
        `limit` of budget `cost` cannot be `soon`
          it must be a number of seconds above 0
        unknown parameter `c` of budget `cost`
          its parameters are `limit`, `at-most`, `multiple-of`
        unknown parameter `rule` of budget `cost`
          its parameters are `attention:hidden`, `a`, `b`, `c`, `d`, `h`, `s`, `limit`, `at-most`, `multiple-of`
        `at-most` of budget `cost` cannot be `0`
          it must be a whole number from 1
    "#]]
    .assert_eq(&said);
}

#[test]
fn what_takes_too_long_is_refused_in_seconds() {
    let lengths = Lengths::new([5, 3000, 7, 9000]).unwrap();
    let plan = |limit, shapes| {
        Planner::new(Shuffled, Budget::cost(model("a=0.01,c=1e-5"), limit))
            .shapes(shapes)
            .plan(&lengths, 0)
    };
    let said: String = [
        said(plan(0.09, Shapes::Exact)),
        said(plan(0.02, Shapes::Multiple(64))),
        said(plan(0.001, Shapes::Exact)),
        said(plan(f64::NAN, Shapes::Exact)),
    ]
    .concat();
    expect![[r#"
        sequence 3 of length 9000 alone takes 0.1 seconds, over the budget of 0.09
          raise the limit to at least 0.1, or choose what happens to sequences that are too long with `Planner::over_long`
        sequence 1 of length 3000 alone takes 0.04008 seconds (rounded up to 3008 by the shapes), over the budget of 0.02; so does 1 more sequence
          raise the limit to at least 0.101, or choose what happens to sequences that are too long with `Planner::over_long`
        sequence 0 of length 5 alone takes 0.01005 seconds, over the budget of 0.001; so do 3 more sequences
          raise the limit to at least 0.1, or choose what happens to sequences that are too long with `Planner::over_long`
        `limit` of budget `cost` cannot be `NaN`
          it must be a number of seconds above 0
    "#]].assert_eq(&said);
    // What the hint says is enough.
    assert!(plan(0.1, Shapes::Exact).is_ok());
}

#[test]
fn over_long_sequences_are_treated_as_asked() {
    let lengths = Lengths::new([50, 3000, 70, 9000, 90]).unwrap();
    let model = model("a=0.1,b=1e-4,c=2e-4,d=5e-7");
    let limit = model.seconds(1, 1000);
    for shapes in [Shapes::Exact, Shapes::Multiple(64), Shapes::Ladder(3)] {
        let plan = |over_long| {
            Planner::new(Shuffled, Budget::cost(model, limit))
                .over_long(over_long)
                .shapes(shapes.clone())
                .plan(&lengths, 0)
                .unwrap()
        };
        let alone = plan(OverLong::Alone);
        for batch in alone.iter().filter(|batch| batch.contains(&1) || batch.contains(&3)) {
            assert_eq!(batch.len(), 1);
        }
        assert_eq!(plan(OverLong::Drop).left_out(), [1, 3]);
        let truncated = plan(OverLong::Truncate);
        assert_eq!(truncated.truncated(), [1, 3]);
        // One position more would take too long.
        let longest = *truncated.batch_lengths().iter().max().unwrap();
        assert_eq!(longest, if shapes == Shapes::Multiple(64) { 960 } else { 1000 });
        for (batch, &length) in truncated.iter().zip(truncated.batch_lengths()) {
            assert!(model.seconds(batch.len() as u32, length) <= limit);
        }
    }
}

#[test]
fn seconds_of_an_epoch_and_idle_time_are_sums_over_batches() {
    let lengths = Lengths::new([4, 4, 2, 2, 6]).unwrap();
    let planner = Planner::new("sorted".parse::<Strategy>().unwrap(), Budget::padded(8))
        .arrange(lengthwise::Arrange::AsBuilt);
    let plan = planner.plan(&lengths, 0).unwrap(); // 2 × 2, 2 × 4, 1 × 6
    let model = model("a=1,b=10,c=100,d=1000");
    let seconds =
        [1 + 20 + 400 + 8000, 1 + 40 + 800 + 32_000, 1 + 60 + 600 + 36_000].map(f64::from);
    let all: f64 = seconds.iter().sum();
    assert!((model.epoch_seconds(&plan).unwrap() - all).abs() < 1e-9 * all);
    // Two ranks: the first batch fills the second step.
    let planner = planner.tail(Tail::Repeat).cost_model(model);
    let schedule = planner.plan(&lengths, 0).unwrap().schedule(2).unwrap();
    let expected = 1.0 - (all + seconds[0]) / (2.0 * (seconds[1] + seconds[2]));
    assert!((schedule.idle_share() - expected).abs() < 1e-12);
}

const SHAPES: [(u32, u32); 12] = [
    (1, 50),
    (1, 400),
    (1, 1600),
    (8, 50),
    (8, 200),
    (8, 800),
    (32, 100),
    (32, 400),
    (32, 1600),
    (128, 50),
    (128, 200),
    (128, 800),
];

fn measured(seconds: impl Fn(u32, u32) -> f64) -> Vec<Step> {
    let step = |(size, length)| Step { size, length, seconds: seconds(size, length) };
    SHAPES.map(step).to_vec()
}

#[test]
fn a_fit_recovers_what_made_the_times() {
    for given in [
        "a=0.003,b=2e-6,c=1e-6,d=3e-10",
        "a=0.003",
        "b=2e-5",
        "c=1e-6",
        "d=3e-10",
        "a=0.01,c=1e-6",
        "b=1e-4,c=1e-7",
        "a=5e-4,b=1e-4,d=1e-11",
        "paper-2",
    ] {
        let model = model(given);
        let fit = CostModel::fit(&measured(|size, length| model.seconds(size, length))).unwrap();
        assert_eq!(fit.model, model);
        assert!(fit.mean_relative_error < 1e-10 && (fit.r2 - 1.0).abs() < 1e-10, "{fit:?}");
    }
}

#[test]
fn a_fit_of_noisy_times_is_near_and_names_the_worst() {
    let made = model("a=0.003,b=2e-5,c=1e-6,d=3e-10");
    // Up and down by 2 % in turn, and one step that took twice its time.
    let mut steps = measured(|size, length| made.seconds(size, length));
    for (index, step) in steps.iter_mut().enumerate() {
        step.seconds *= if index % 2 == 0 { 1.02 } else { 0.98 };
    }
    let fit = CostModel::fit(&steps).unwrap();
    for (found, made) in fit.model.coefficients().into_iter().zip(made.coefficients()) {
        assert!((found / made - 1.0).abs() < 0.2, "{}", fit.model);
    }
    assert!(fit.mean_relative_error < 0.025 && fit.r2 > 0.999, "{fit:?}");
    steps[5].seconds *= 2.0;
    let fit = CostModel::fit(&steps).unwrap();
    assert_eq!((fit.worst, fit.rows), (5, 12));
    assert!((-0.55..-0.3).contains(&fit.worst_relative_error), "{fit:?}");
}

/// Times that vary, but not with the shape: the best model is a constant, which explains nothing.
#[test]
fn a_model_that_explains_nothing_is_refused() {
    // The larger the batch, the less time it takes.
    let steps = |power: f64| {
        measured(|size, length| 0.01 * (f64::from(size) * f64::from(length)).powf(-power))
    };
    match CostModel::fit(&steps(0.1)) {
        Err(error @ Error::PoorFit { r2, mean_relative_error }) => {
            assert!(r2 < 1e-9 && (0.05..0.5).contains(&mean_relative_error), "{error}");
            let said = error.to_string();
            assert!(said.contains("explains 0 % of the differences"), "{said}");
            assert!(said.contains("(r2 0.0000)"), "{said}");
        }
        other => panic!("{other:?}"),
    }
    // A machine on which every step takes the same, but for noise, is described by a constant.
    let flat = CostModel::fit(&steps(0.005)).unwrap();
    assert!(flat.is_flat() && flat.mean_relative_error < 0.05, "{flat:?}");
    let steep = CostModel::fit(&measured(|size, length| model("a=1,c=1").seconds(size, length)));
    assert!(!steep.unwrap().is_flat());
}

#[test]
fn bad_measurements_are_refused_with_a_hint() {
    let good = measured(|size, length| model("a=1,c=1").seconds(size, length));
    let with = |change: fn(&mut Step)| {
        let mut steps = good.clone();
        change(&mut steps[2]);
        CostModel::fit(&steps)
    };
    let same = |seconds| Step { size: 2, length: 3, seconds };
    let mut wild = vec![same(1e-3); 3];
    wild.extend([same(1.0); 9]);
    wild.push(Step { size: 1, length: 1, seconds: 1.0 });
    let said: String = [
        said(with(|step| step.size = 0)),
        said(with(|step| step.length = 0)),
        said(with(|step| step.seconds = f64::NAN)),
        said(with(|step| step.seconds = f64::INFINITY)),
        said(with(|step| step.seconds = 0.0)),
        said(with(|step| step.seconds = -1.0)),
        said(CostModel::fit(&[])),
        said(CostModel::fit(&good[..3])),
        said(CostModel::fit(&[same(1.0), same(2.0), same(3.0), same(4.0)])),
        said(CostModel::fit(&good.iter().map(|s| Step { size: 8, ..*s }).collect::<Vec<_>>())),
        said(CostModel::fit(&wild)),
    ]
    .concat();
    expect![[r#"
        measured step 2 has batch size 0
          batch sizes and batch lengths are whole numbers from 1 to 4294967295, and times are seconds from 1e-12 to 1e9
        measured step 2 has batch length 0
          batch sizes and batch lengths are whole numbers from 1 to 4294967295, and times are seconds from 1e-12 to 1e9
        measured step 2 has seconds NaN
          batch sizes and batch lengths are whole numbers from 1 to 4294967295, and times are seconds from 1e-12 to 1e9
        measured step 2 has seconds inf
          batch sizes and batch lengths are whole numbers from 1 to 4294967295, and times are seconds from 1e-12 to 1e9
        measured step 2 has seconds 0
          batch sizes and batch lengths are whole numbers from 1 to 4294967295, and times are seconds from 1e-12 to 1e9
        measured step 2 has seconds -1
          batch sizes and batch lengths are whole numbers from 1 to 4294967295, and times are seconds from 1e-12 to 1e9
        0 measured steps do not make a cost model
          measure at least 4 steps, with 2 or more batch sizes and 2 or more batch lengths
        3 measured steps do not make a cost model
          measure at least 4 steps, with 2 or more batch sizes and 2 or more batch lengths
        all measured steps have batch length 3
          measure at least 4 steps, with 2 or more batch sizes and 2 or more batch lengths
        all measured steps have batch size 8
          measure at least 4 steps, with 2 or more batch sizes and 2 or more batch lengths
        the best cost model is wrong by 77 % on average, and explains 0 % of the differences between the measured times (r2 0.0000)
          check that each time belongs to its batch size and batch length; measure after a warm-up of each shape, take the median of several steps, and measure more shapes
    "#]].assert_eq(&said);
}

proptest! {
    #[test]
    fn any_model_prints_as_it_is_parsed(given in proptest::array::uniform4(0.0..1e9_f64)) {
        let [a, b, c, d] = given;
        let model = CostModel::new(a, b, c, d).unwrap();
        prop_assert_eq!(model.to_string().parse(), Ok(model));
        let budget = Budget::cost(model, d / 1e20 + 1e-300);
        prop_assert_eq!(budget.to_string().parse(), Ok(budget));
    }

    #[test]
    fn no_text_makes_a_parser_panic(text in "(cost:)?[a-dlimt=,:0-9e.-]{0,24}") {
        let _ = text.parse::<CostModel>().map(|it| it.to_string().parse::<CostModel>().unwrap());
        let _ = text.parse::<Budget>().map(|it| it.to_string().parse::<Budget>().unwrap());
    }

    #[test]
    fn time_never_falls_when_a_batch_grows(
        given in proptest::array::uniform4(prop_oneof![Just(0.0), 1e-12..1.0]),
        launch in prop_oneof![Just(0.0), 1e-12..1e9],
        size in 1..u32::MAX, length in 1..u32::MAX,
    ) {
        let [a, b, c, d] = given;
        // Four zeros are no model.
        let Ok(model) = CostModel::new(a, b, c, d) else { return Ok(()) };
        let model = model.with_launch(launch).unwrap();
        let seconds = model.seconds(size, length);
        prop_assert!(seconds > 0.0);
        prop_assert!(seconds <= model.seconds(size + 1, length));
        prop_assert!(seconds <= model.seconds(size, length + 1));
    }

    /// The conditions of Karush, Kuhn and Tucker, which only the best model without negative
    /// coefficients meets: no coefficient above 0 can be changed for the better, and none at 0 can
    /// be raised for the better.
    #[test]
    fn no_model_without_negative_coefficients_fits_better(
        steps in vec((1_u32..300, 1_u32..2000, 0.5..2.0_f64), 4..40),
        made in proptest::array::uniform4(prop_oneof![Just(0.0), 0.01..1.0]),
    ) {
        let term = |size: u32, length: u32| {
            let (size, length) = (f64::from(size), f64::from(length));
            [1.0, length, size * length, size * length * length]
        };
        let scales = [1.0, 1e-3, 1e-5, 1e-8];
        let steps: Vec<Step> = steps
            .into_iter()
            .map(|(size, length, noise)| {
                let terms = term(size, length).into_iter().zip(scales).zip(made);
                let exact: f64 = terms.map(|((term, scale), made)| term * scale * made).sum();
                Step { size, length, seconds: (exact + 0.01) * noise }
            })
            .collect();
        let fit = match CostModel::fit(&steps) {
            Err(Error::TooFewSteps { .. } | Error::PoorFit { .. }) => return Ok(()),
            fit => fit.unwrap(),
        };
        // With a launch, only some of the steps decide the other coefficients.
        prop_assume!(fit.model.launch() == 0.0);
        let errors: Vec<f64> = steps
            .iter()
            .map(|step| fit.model.seconds(step.size, step.length) / step.seconds - 1.0)
            .collect();
        for (column, coefficient) in fit.model.coefficients().into_iter().enumerate() {
            let terms: Vec<f64> = steps
                .iter()
                .map(|step| term(step.size, step.length)[column] / step.seconds)
                .collect();
            let norm = terms.iter().map(|term| term * term).sum::<f64>().sqrt();
            let slope: f64 = terms.iter().zip(&errors).map(|(t, e)| t * e).sum::<f64>() / norm;
            prop_assert!(coefficient >= 0.0);
            // Rounding changes predictions by 5e-6 of themselves, and there are up to 40.
            prop_assert!(slope > -1e-4, "raising {column} of {} is better: {slope}", fit.model);
            prop_assert!(coefficient == 0.0 || slope < 1e-4, "{column} of {}: {slope}", fit.model);
        }
        let worst = errors.iter().map(|error| error.abs()).fold(0.0, f64::max);
        prop_assert!((worst - fit.worst_relative_error.abs()).abs() < 1e-12);
        prop_assert!((0.0..=1.0).contains(&fit.r2));
    }
}

/// Short steps that all take the same are bound by their launch, which is not a time that larger ones take more.
#[test]
fn a_launch_is_found_where_there_is_one() {
    let shapes =
        [1, 64, 128, 256].into_iter().flat_map(|size| [50, 200, 800].map(|length| (size, length)));
    let measured = |model: CostModel| -> Vec<Step> {
        let step = |(size, length)| Step { size, length, seconds: model.seconds(size, length) };
        shapes.clone().map(step).collect()
    };
    for given in ["a=0.004,b=0,c=1e-6,d=0,h=0.02", "a=0.002,b=0,c=1e-6,d=2e-10,h=0.03"] {
        let fit = CostModel::fit(&measured(model(given))).unwrap();
        assert_eq!(fit.model.to_string(), given);
        assert!(fit.mean_relative_error < 1e-5);
    }
    let without = CostModel::fit(&measured(model("a=0.02,c=1e-6"))).unwrap();
    assert_eq!(without.model, model("a=0.02,c=1e-6"));
}

/// Launches overlap with what is computed: the longer of the two is what an optimizer step takes.
#[test]
fn a_step_takes_its_launches_or_its_work() {
    let lengths = Lengths::new(vec![10; 64]).unwrap();
    let planner = Planner::new(Shuffled, Budget::sequences(4)).accumulate(4);
    let schedule = planner.plan(&lengths, 0).unwrap().schedule(1).unwrap();
    let seconds = |given: &str| schedule.seconds(&model(given));
    // Four steps of four batches of 40 cells.
    for (given, expected) in [
        ("a=1,c=0.1", 80.0),
        ("a=1,c=0.1,h=4", 80.0),
        ("a=1,c=0.1,h=5", 80.0),
        ("a=1,c=0.1,h=7", 112.0),
    ] {
        assert!((seconds(given) - expected).abs() < 1e-9, "{given}: {}", seconds(given));
    }
    assert!((model("c=0.1,h=7").seconds(4, 10) - 7.0).abs() < 1e-12);
}

/// In a packed row each sequence attends to itself, and the row is as long as it is.
#[test]
fn a_row_takes_the_squares_of_its_sequences() {
    let lengths = Lengths::new([60, 20, 10, 90]).unwrap();
    let packed: Strategy = "packed:capacity=100".parse().unwrap();
    let planner = Planner::new(packed, Budget::sequences(16)).shapes(Shapes::Ladder(1));
    let schedule = planner.plan(&lengths, 0).unwrap().schedule(1).unwrap();
    assert_eq!(schedule.len(), 2);
    let seconds = |given: &str| schedule.seconds(&model(given));
    let cells: f64 = schedule.all_ranks().shapes().map(|(_, row)| f64::from(row)).sum();
    assert!((seconds("c=1") - cells).abs() < 1e-9);
    let squares = f64::from(60 * 60 + 20 * 20 + 10 * 10 + 90 * 90);
    assert!((seconds("d=1") - squares).abs() < 1e-9);
    assert!(seconds("b=1") <= 150.0);
}

/// A preset whose source is a file of measured steps is what fits that file, but for rounding.
#[test]
fn presets_follow_from_their_measurements() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for preset in CostModel::PRESETS {
        let Some(file) =
            preset.source.split([' ', ',', ';']).find(|word| word.starts_with("benches/"))
        else {
            continue;
        };
        let text = std::fs::read_to_string(root.join(file)).expect(file);
        let mut rows = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let header = rows.next().unwrap();
        let at = |name: &str| header.iter().position(|column| *column == name).expect(name);
        let columns = ["batch_size", "batch_length", "seconds"].map(at);
        let steps: Vec<Step> = rows
            .map(|row| {
                let [size, length, seconds] = columns.map(|column| row[column]);
                Step {
                    size: size.parse().unwrap(),
                    length: length.parse().unwrap(),
                    seconds: seconds.parse().unwrap(),
                }
            })
            .collect();
        let fit = CostModel::fit(&steps).unwrap();
        for step in &steps {
            let [rounded, fitted] =
                [preset.model, fit.model].map(|model| model.seconds(step.size, step.length));
            assert!(
                (rounded / fitted - 1.0).abs() < 0.005,
                "{}: {} does not follow from {file}, but {}",
                preset.name,
                preset.model,
                fit.model
            );
        }
    }
}

/// A pair of positions of a Transformer costs as much as a position does by its hidden size.
#[test]
fn models_by_architecture() {
    let ratio = |text: &str| {
        let [a, b, c, d] = text.parse::<CostModel>().unwrap().coefficients();
        assert!(a + b == 0.0);
        c / d
    };
    assert!((ratio("attention:hidden=4096,layers=32,causal=no") - 24_576.0).abs() < 1e-6);
    assert!((ratio("attention:hidden=2048,layers=8") - 24_576.0).abs() < 1e-6);
    // 6 operations for each of 12·512² weights and each position, and as many for the attention of 512 positions.
    let model: CostModel = "attention:hidden=512,layers=1,causal=no".parse().unwrap();
    let operations = 512.0 * (72.0 * 512.0 * 512.0 + 12.0 * 512.0 * 512.0);
    assert!((model.seconds(1, 512) / (operations / 1e15) - 1.0).abs() < 1e-12);
    assert!("cost:attention:hidden=512,layers=12,limit=0.05".parse::<Budget>().is_ok());
    for wrong in [
        "attention",
        "attention:hidden=0,layers=1",
        "attention:hidden=8",
        "attention:hidden=8,layers=1,causal=2",
    ] {
        assert!(wrong.parse::<CostModel>().is_err(), "{wrong}");
    }
}
