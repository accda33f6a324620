//! Packed rows by their true cost: what a schedule says of waiting ranks is what a simulation finds.

use lengthwise::{
    Budget, CostModel, Error, Example, Lengths, Plan, Planner, Schedule, Steps, Tail,
    custom::{Purpose, Rng},
    measure::mixing,
    strategy::Packed,
};

/// Time in proportion to 24,576·L + L²: a Transformer of hidden size 4,096 with causal attention, up to a factor.
fn seconds(length: u32) -> f64 {
    let length = f64::from(length);
    24_576e-9 * length + 1e-9 * length * length
}

fn model() -> CostModel {
    CostModel::new(0.0, 0.0, 24_576e-9, 1e-9).expect("a cost model")
}

/// Documents of lognormal length.
fn documents(count: usize, longest: u32) -> Lengths {
    let mut random = Rng::new(22, 0).stream(Purpose::Own(0));
    let mut uniform = || (f64::from(random.below(1 << 30)) + 0.5) / f64::from(1 << 30);
    let length = |_| {
        let normal = (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos();
        (1100.0 * (1.3 * normal).exp()).clamp(1.0, f64::from(longest)) as u32
    };
    Lengths::new((0..count).map(length).collect::<Vec<u32>>()).expect("lengths")
}

/// The share of their time that ranks wait, if each row takes what its sequences take.
fn simulated(schedule: &Schedule, lengths: &Lengths) -> f64 {
    let ranks: Vec<Plan> =
        (0..schedule.world_size()).map(|rank| schedule.for_rank(rank).expect("a rank")).collect();
    let row = |row: &[u32]| row.iter().map(|&it| seconds(lengths.as_slice()[it as usize])).sum();
    let each = schedule.accumulate() as usize;
    let [mut busy, mut all] = [0.0; 2];
    for step in 0..schedule.len() {
        let rows = step * each..(step + 1) * each;
        let loads: Vec<f64> = ranks
            .iter()
            .map(|plan| rows.clone().map(|at| -> f64 { row(plan.get(at).expect("a row")) }).sum())
            .collect();
        busy += loads.iter().sum::<f64>();
        all += loads.iter().copied().fold(0.0, f64::max) * loads.len() as f64;
    }
    1.0 - busy / all
}

/// Rows of 32,768 and 131,072 positions on 8 and 64 ranks, with enough documents for about a hundred steps.
const CASES: [(u32, u32, usize); 4] =
    [(32_768, 8, 60_000), (32_768, 64, 60_000), (131_072, 8, 60_000), (131_072, 64, 300_000)];

fn schedule(
    lengths: &Lengths,
    (capacity, ranks): (u32, u32),
    equal_cost: bool,
    (steps, accumulate): (Steps, u32),
) -> Schedule {
    let strategy = Packed { equal_cost, ..Packed::default() };
    let planner = Planner::new(strategy, Budget::padded(capacity.into())).cost_model(model());
    let plan = planner.steps(steps).accumulate(accumulate).plan(lengths, 0).expect("a plan");
    plan.schedule(ranks).expect("enough rows")
}

#[test]
fn idle_time_of_rows_is_that_of_a_simulation() {
    for (capacity, ranks, count) in CASES {
        let lengths = documents(count, capacity);
        for equal_cost in [false, true] {
            for (steps, accumulate, most) in [
                (Steps::InOrder, 1, 1.0),
                (Steps::Aligned, 1, 0.02),
                (Steps::Stratified, 1, 0.03),
                (Steps::Stratified, 8, 0.01),
            ] {
                let case = format!("{capacity} {ranks} {equal_cost} {steps} {accumulate}");
                let schedule =
                    schedule(&lengths, (capacity, ranks), equal_cost, (steps, accumulate));
                let (said, found) = (schedule.idle_share(), simulated(&schedule, &lengths));
                assert!((said - found).abs() < 1e-9, "{case}: {said} {found}");
                assert!(schedule.idle_bound() <= found + 1e-9, "{case}");
                // Rows of equal cost are a few more, of which the costliest are as unequal.
                let most = if equal_cost { f64::max(most, 0.025) } else { most };
                assert!(found <= most, "{case}: {found}");
                assert!(steps != Steps::InOrder || found > 0.2, "{case}: {found}");
            }
        }
    }
}

/// With several rows for each rank, a step is a sample of all rows; with one, and rows of equal cost, nearly.
#[test]
fn steps_of_rows_look_like_the_data() {
    let lengths = documents(60_000, 32_768);
    let mix = |equal_cost, accumulate| {
        let steps = (Steps::Stratified, accumulate);
        schedule(&lengths, (32_768, 8), equal_cost, steps).step_mix(&lengths).log_length
    };
    assert!(mix(false, 8) < 1.0, "{}", mix(false, 8));
    assert!(mix(true, 1) < 1.0, "{}", mix(true, 1));
    assert!(mix(true, 1) < 0.8 * mix(false, 1), "{} {}", mix(true, 1), mix(false, 1));
}

/// Rows cost nearly the same, unless a sequence alone costs more; none is longer than the capacity.
#[test]
fn rows_of_equal_cost_keep_the_capacity() {
    let lengths = documents(20_000, 32_768);
    let strategy = Packed { equal_cost: true, ..Packed::default() };
    let planner = Planner::new(strategy, Budget::padded(32_768)).cost_model(model());
    let best_fit = Planner::new(Packed::default(), Budget::padded(32_768));
    for epoch in 0..3 {
        let plan = planner.plan(&lengths, epoch).unwrap();
        let mut seen = plan.indices().to_vec();
        seen.sort_unstable();
        assert!(seen.into_iter().eq(0..20_000));
        let cost = |row: &[u32]| -> f64 {
            row.iter().map(|&it| seconds(lengths.as_slice()[it as usize])).sum()
        };
        assert!(plan.batch_lengths().iter().all(|&length| length <= 32_768));
        let mut shared: Vec<f64> = plan.iter().filter(|row| row.len() > 1).map(cost).collect();
        shared.sort_by(f64::total_cmp);
        let most = shared[shared.len() - 1];
        assert!(shared[shared.len() / 20] > 0.95 * most, "{} {most}", shared[shared.len() / 20]);
        let rows = best_fit.plan(&lengths, epoch).unwrap().len();
        assert!(plan.len() <= rows + rows / 8, "{} {rows}", plan.len());
    }
    let error = Planner::new(strategy, Budget::padded(32_768)).plan(&lengths, 0).unwrap_err();
    assert!(error.hint().unwrap().contains("a cost model"), "{error}");
}

/// A restored plan of rows must be given its lengths, and then has the same schedule.
#[test]
fn restored_rows_need_their_lengths() {
    let lengths = documents(2000, 8192);
    let planner = Planner::new(Packed::default(), Budget::padded(16_384)).cost_model(model());
    let plan = planner.plan(&lengths, 0).unwrap();
    let restored = Plan::restore(
        plan.provenance().clone(),
        plan.indices().to_vec(),
        plan.ends().to_vec(),
        plan.batch_lengths().to_vec(),
        Vec::new(),
    )
    .unwrap();
    assert_eq!(restored.schedule(4).unwrap_err(), Error::NoPlanLengths);
    assert_eq!(model().epoch_seconds(&restored).unwrap_err(), Error::NoPlanLengths);
    assert!(restored.with_lengths(&documents(2000, 8191)).is_err());
    let restored = restored.with_lengths(&lengths).unwrap();
    let [one, other] = [&plan, &restored].map(|plan| plan.schedule(4).unwrap());
    assert_eq!(one.all_ranks(), other.all_ranks());
    assert_eq!(one.idle_share().to_bits(), other.idle_share().to_bits());
}

/// The last step has every sequence that is left once, in rows of about the same time.
#[test]
fn the_tail_of_rows_is_divided_evenly() {
    for (count, ranks) in [(300, 3), (700, 7), (5000, 16), (5000, 33)] {
        let lengths = documents(count, 8192);
        for (tail, steps) in Tail::ALL.into_iter().flat_map(|tail| Steps::ALL.map(|s| (tail, s))) {
            let planner = Planner::new(Packed::default(), Budget::padded(8192))
                .cost_model(model())
                .tail(tail)
                .steps(steps);
            let schedule = planner.plan(&lengths, 1).unwrap().schedule(ranks).unwrap();
            let mut seen = schedule.all_ranks().indices().to_vec();
            let mut expected: Vec<u32> = (0..count as u32).collect();
            seen.extend(schedule.dropped());
            expected.extend(schedule.repeated());
            seen.sort_unstable();
            expected.sort_unstable();
            assert_eq!(seen, expected, "{count} {ranks} {tail} {steps}");
            assert!(schedule.repeated().is_empty() || tail == Tail::Repeat);
        }
    }
}

/// A budget of seconds limits what the sequences of a row take together, and not one sequence as long as the row.
#[test]
fn a_budget_of_seconds_counts_the_sequences_of_a_row() {
    let lengths = documents(20_000, 16_384);
    for (a, b) in [(0.0, 0.0), (0.01, 1e-6)] {
        let model = CostModel::new(a, b, 24_576e-9, 1e-9).unwrap();
        let limit = model.seconds(1, 32_768);
        for equal_cost in [false, true] {
            let strategy = Packed { equal_cost, ..Packed::default() };
            let plan =
                Planner::new(strategy, Budget::cost(model, limit)).plan(&lengths, 0).unwrap();
            let rows = plan.iter().zip(plan.batch_lengths());
            let seconds: Vec<f64> = rows
                .map(|(row, &length)| {
                    let held: Vec<u32> =
                        row.iter().map(|&it| lengths.as_slice()[it as usize]).collect();
                    assert_eq!(held.iter().sum::<u32>(), length);
                    let [longest, squares] =
                        held.iter().fold([0.0; 2], |[longest, squares], &length| {
                            let length = f64::from(length);
                            [f64::max(longest, length), squares + length * length]
                        });
                    a + b * longest + 24_576e-9 * f64::from(length) + 1e-9 * squares
                })
                .collect();
            assert!(seconds.iter().all(|&seconds| seconds <= limit), "{limit} {seconds:?}");
            let mean = seconds.iter().sum::<f64>() / seconds.len() as f64;
            assert!(mean > 0.9 * limit, "{equal_cost} {mean} {limit}");
            assert!(plan.batch_lengths().iter().any(|&length| length > 40_000));
            let made = plan.provenance();
            assert!(
                plan.iter()
                    .zip(plan.batch_lengths())
                    .all(|(row, &l)| made.admits(row, l, &lengths))
            );
            // A capacity holds besides.
            let strategy = Packed { capacity: Some(20_000), ..strategy };
            let plan =
                Planner::new(strategy, Budget::cost(model, limit)).plan(&lengths, 0).unwrap();
            assert!(plan.batch_lengths().iter().all(|&length| length <= 20_000));
        }
    }
}

/// Rows of equal cost are not many more than others, and new in every epoch, also if they are few.
#[test]
fn few_rows_of_equal_cost_are_new_in_every_epoch() {
    let equal = Lengths::new(vec![512; 2047]).unwrap();
    let cases = [
        (Example::Speech.lengths(), 8192),
        (Lengths::new(&Example::Speech.lengths().as_slice()[..500]).unwrap(), 8192),
        (Lengths::new(&Example::Documents.lengths().as_slice()[..1500]).unwrap(), 32_768),
        (equal, 8192),
    ];
    for (lengths, capacity) in cases {
        let planner = |equal_cost| {
            let strategy = Packed { equal_cost, ..Packed::default() };
            Planner::new(strategy, Budget::padded(capacity)).cost_model(model())
        };
        let plans = |equal_cost| -> Vec<Plan> {
            (0..4).map(|epoch| planner(equal_cost).plan(&lengths, epoch).unwrap()).collect()
        };
        let (best_fit, even) = (plans(false), plans(true));
        assert!(even[0].len() <= best_fit[0].len() + 1 + best_fit[0].len() / 10);
        let mixing = mixing(&even).unwrap().per_pair;
        assert!(mixing > 0.8, "{} sequences: {mixing}", lengths.len());
    }
}
