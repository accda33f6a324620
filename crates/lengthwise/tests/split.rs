//! Sequences that several ranks share, planned for one step.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use lengthwise::{
    CostModel,
    balance::{Balance, Step, balance},
    custom::{Purpose, Rng, Stream},
    groups::Together,
};

/// What a step is made of, told to the simulator.
struct Given<'a> {
    lengths: &'a [u32],
    ranks: u32,
    degrees: &'a [u32],
    /// The terms c and d of the cost c·L + d·L².
    cost: [f64; 2],
    communication: f64,
    capacity: u64,
}

impl Given<'_> {
    fn wanted(&self) -> Balance {
        let model = CostModel::new(0.0, 0.0, self.cost[0], self.cost[1]).unwrap();
        let wanted = Balance::new(self.ranks).cost(model).split(Vec::from(self.degrees));
        let wanted = wanted.communication(self.communication);
        match u32::try_from(self.capacity) {
            Ok(capacity) => wanted.capacity(capacity),
            Err(_) => wanted,
        }
    }

    fn time(&self, sequence: u32, degree: u32) -> f64 {
        let (length, degree) = (f64::from(self.lengths[sequence as usize]), f64::from(degree));
        let cost = self.cost[0] * length + self.cost[1] * length * length;
        cost / degree + self.communication * length * (degree - 1.0) / degree
    }

    /// Executes a step event by event: a rank that is done takes its next micro-batch, and starts it as soon as all
    /// ranks of the group have come to it. Checks everything that a step promises. Returns when the last rank is
    /// done.
    fn simulate(&self, step: &Step) -> f64 {
        let each = step.micro_batches();
        let (mut next, mut free) =
            (vec![0; self.ranks as usize], vec![0.0_f64; self.ranks as usize]);
        let mut seen = vec![0; self.lengths.len()];
        loop {
            let mut moved = false;
            for rank in 0..self.ranks {
                let number = next[rank as usize];
                if number == each {
                    continue;
                }
                let degree = step.degree(rank, number);
                assert!(self.degrees.contains(&degree), "degree {degree}");
                let first = rank - rank % degree;
                let group = first..first + degree;
                if group.clone().any(|other| next[other as usize] != number) {
                    continue;
                }
                let batch = step.micro_batch(rank, number);
                let start = group.clone().map(|other| free[other as usize]).fold(0.0, f64::max);
                let took: f64 = batch.iter().map(|&sequence| self.time(sequence, degree)).sum();
                for other in group {
                    assert_eq!(step.degree(other, number), degree);
                    assert_eq!(step.micro_batch(other, number), batch);
                    let (span, gap) = (step.span(other, number), start - free[other as usize]);
                    let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * (1.0 + a.abs());
                    assert!(near(gap, 0.0), "rank {other} waits {gap} for {number}");
                    assert!(near(span.start, start), "{span:?} {start}");
                    assert!(near(span.end, start + took), "{span:?} {start} {took}");
                    free[other as usize] = start + took;
                    next[other as usize] += 1;
                }
                let positions: u64 = batch
                    .iter()
                    .map(|&sequence| u64::from(self.lengths[sequence as usize].div_ceil(degree)))
                    .sum();
                assert!(positions <= self.capacity, "{positions} of {}", self.capacity);
                for &sequence in batch {
                    seen[sequence as usize] += 1;
                }
                moved = true;
            }
            if !moved {
                break;
            }
        }
        assert!(next.iter().all(|&number| number == each), "ranks wait for ever: {next:?}");
        assert!(seen.iter().all(|&times| times == 1), "{seen:?}");
        for rank in 0..self.ranks {
            let degrees: Vec<u32> = (0..each).map(|number| step.degree(rank, number)).collect();
            assert!(degrees.is_sorted_by(|a, b| a >= b), "{degrees:?}");
        }
        free.iter().copied().fold(0.0, f64::max)
    }

    /// No schedule of any kind is shorter: of every sequence at its best degree, and by binary search on the time.
    fn lower_bound(&self) -> f64 {
        let fits =
            |at: u32, s: u32| u64::from(self.lengths[at as usize].div_ceil(s)) <= self.capacity;
        let can = |longest: f64| {
            let work = (0..self.lengths.len() as u32).map(|at| {
                let fitting = self.degrees.iter().filter(|&&s| fits(at, s));
                let within = fitting.filter(|&&s| self.time(at, s) <= longest);
                within.map(|&s| self.time(at, s) * f64::from(s)).fold(f64::INFINITY, f64::min)
            });
            work.sum::<f64>() <= longest * f64::from(self.ranks)
        };
        let (mut below, mut above) = (0.0, 1.0);
        while !can(above) {
            above *= 2.0;
        }
        for _ in 0..60 {
            let middle = f64::midpoint(below, above);
            if can(middle) { above = middle } else { below = middle }
        }
        above
    }

    fn check(&self, step: &Step) {
        let makespan = self.simulate(step);
        assert!((makespan - step.time()).abs() <= 1e-9 * (1.0 + makespan), "{makespan}");
        let bound = self.lower_bound();
        assert!((bound - step.lower_bound()).abs() <= 1e-6 * bound + 1e-12, "{bound} {step:?}");
        assert!(step.time() >= step.lower_bound());
        let busy: f64 = step.loads().iter().sum();
        let idle = 1.0 - busy / (f64::from(self.ranks) * makespan).max(f64::MIN_POSITIVE);
        assert!(makespan == 0.0 || (idle - step.idle_share()).abs() < 1e-9);
        let mut sorted = step.order().to_vec();
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..self.lengths.len() as u32));
        for (place, &sequence) in step.order().iter().enumerate() {
            assert_eq!(step.restore()[sequence as usize] as usize, place);
        }
    }
}

/// Degrees that divide each other.
const DEGREES: [&[u32]; 8] =
    [&[1], &[1, 2], &[1, 2, 4], &[1, 2, 4, 8], &[1, 4], &[2, 4], &[1, 3, 6], &[8]];

fn lognormal(count: usize, median: f64, random: &mut Stream) -> Vec<u32> {
    let normal = |random: &mut Stream| {
        (0..12).map(|_| f64::from(random.below(1 << 20)) / f64::from(1 << 20)).sum::<f64>() - 6.0
    };
    (0..count).map(|_| (median * normal(random).exp()).max(1.0) as u32).collect()
}

#[test]
fn two_thousand_schedules_are_executed() {
    let mut random = Rng::new(7, 0).stream(Purpose::Own(3));
    let (mut splits, mut shorter) = (0, 0);
    for trial in 0..2000 {
        let degrees = DEGREES[random.below(8) as usize];
        let widest = degrees[degrees.len() - 1];
        let ranks = widest * (1 + random.below(4));
        let count = random.below(80) as usize;
        let median = f64::from(1 + random.below(400));
        let lengths = lognormal(count, median, &mut random);
        let longest = lengths.iter().copied().max().unwrap_or(1);
        let least = longest.div_ceil(widest);
        let capacity = match random.below(3) {
            0 => u64::MAX,
            1 => u64::from(least + random.below(1 + longest)),
            _ => u64::from(least + random.below(1 + least)),
        };
        let cost = [[1.0, 0.0], [24.0, 1.0], [0.1, 0.003]][random.below(3) as usize];
        let communication = cost[0] * [0.0, 0.1, 1.0, 30.0][random.below(4) as usize];
        let given = Given { lengths: &lengths, ranks, degrees, cost, communication, capacity };
        let mut wanted = given.wanted();
        let kinds: Vec<u32> = (0..count).map(|_| random.below(3)).collect();
        let with_kinds = random.below(4) == 0;
        if with_kinds {
            wanted = wanted.kinds(kinds.clone());
        }
        let least = 1 + random.below(4);
        wanted = wanted.min_micro_batches(least);
        let step = balance(&lengths, &wanted).unwrap();
        given.check(&step);
        assert!(step.micro_batches() >= least);
        assert_eq!(step, balance(&lengths, &wanted).unwrap(), "{trial}");
        let one_kind =
            |batch: &[u32]| batch.iter().all(|&at| kinds[at as usize] == kinds[batch[0] as usize]);
        assert!(!with_kinds || step.iter().all(|(_, batch)| one_kind(batch)), "{trial}");
        splits += u32::from((0..ranks).any(|rank| step.degree(rank, 0) > degrees[0]));
        // Without a split, if that is possible, it takes no less.
        if degrees[0] == 1 && u64::from(longest) <= capacity {
            let model = CostModel::new(0.0, 0.0, cost[0], cost[1]).unwrap();
            let mut whole = Balance::new(ranks).cost(model).min_micro_batches(least);
            whole = u32::try_from(capacity).map_or(whole.clone(), |most| whole.capacity(most));
            whole = if with_kinds { whole.kinds(kinds) } else { whole };
            let whole = balance(&lengths, &whole).unwrap();
            assert!(step.time() <= whole.time() * (1.0 + 1e-9), "{trial}: {step:?} {whole:?}");
            shorter += u32::from(step.time() < 0.9 * whole.time());
        }
    }
    assert!(splits > 500 && shorter > 300, "{splits} {shorter}");
}

/// The shortest time by trying every degree and every group for every sequence.
fn shortest(given: &Given) -> f64 {
    fn place(given: &Given, at: u32, loads: &mut [f64], best: &mut f64) {
        let longest = loads.iter().copied().fold(0.0, f64::max);
        if longest >= *best {
            return;
        }
        if at as usize == given.lengths.len() {
            *best = longest;
            return;
        }
        for &degree in given.degrees {
            if u64::from(given.lengths[at as usize].div_ceil(degree)) > given.capacity {
                continue;
            }
            let time = given.time(at, degree);
            for first in (0..given.ranks).step_by(degree as usize) {
                let group = first as usize..(first + degree) as usize;
                let before = loads[group.clone()].to_vec();
                loads[group.clone()].iter_mut().for_each(|load| *load += time);
                place(given, at + 1, loads, best);
                loads[group].copy_from_slice(&before);
            }
        }
    }
    let mut best = f64::INFINITY;
    place(given, 0, &mut vec![0.0; given.ranks as usize], &mut best);
    best
}

#[test]
fn small_steps_are_near_the_shortest() {
    let mut random = Rng::new(8, 0).stream(Purpose::Own(4));
    let (mut sum, mut worst, mut exact, trials) = (0.0, 1.0_f64, 0, 600);
    for _ in 0..trials {
        let degrees = [&[1, 2][..], &[1, 2, 4], &[1, 4]][random.below(3) as usize];
        let count = 1 + random.below(6) as usize;
        let lengths = lognormal(count, 100.0, &mut random);
        let longest = lengths.iter().copied().max().unwrap();
        let capacity = [u64::MAX, u64::from(longest.div_ceil(2))][random.below(2) as usize];
        let cost = [[1.0, 0.0], [24.0, 1.0]][random.below(2) as usize];
        let communication = cost[0] * [0.0, 0.2, 2.0][random.below(3) as usize];
        let given = Given { lengths: &lengths, ranks: 4, degrees, cost, communication, capacity };
        let step = balance(&lengths, &given.wanted()).unwrap();
        given.check(&step);
        let best = shortest(&given);
        let ratio = step.time() / best;
        assert!(step.lower_bound() <= best * (1.0 + 1e-9) && ratio >= 1.0 - 1e-9);
        sum += ratio;
        worst = worst.max(ratio);
        exact += u32::from(ratio < 1.001);
    }
    let mean = sum / f64::from(trials);
    // 555 are the shortest; the mean is 1.0014, and the worst 1.081.
    assert!(exact > 540 && mean < 1.003 && worst < 1.12, "{exact} {mean} {worst}");
}

/// A few sequences are sixteen times as long as the mean.
#[test]
fn a_long_tail_is_worth_splitting() {
    let mut random = Rng::new(9, 0).stream(Purpose::Own(5));
    let mut lengths = lognormal(512, 1000.0, &mut random);
    let mean = lengths.iter().sum::<u32>() / 512;
    lengths.extend([16 * mean; 3]);
    let given = |degrees, communication| Given {
        lengths: &lengths,
        ranks: 64,
        degrees,
        cost: [24_576.0, 1.0],
        communication,
        capacity: 32_768,
    };
    let time = |degrees, communication| {
        let given = given(degrees, communication);
        let step = balance(&lengths, &given.wanted()).unwrap();
        given.check(&step);
        (step.time(), step.time() / step.lower_bound())
    };
    let (whole, split, costly) =
        (time(&[1], 0.0), time(&[1, 2, 4, 8], 0.0), time(&[1, 2, 4, 8], 4096.0));
    assert!(split.0 < 0.6 * whole.0, "{split:?} {whole:?}");
    assert!(split.1 < 1.01, "{split:?}");
    assert!(split.0 < costly.0 && costly.0 < 0.8 * whole.0, "{costly:?}");
    // If it costs more to exchange a position than to compute it, a split only makes it longer.
    let given = given(&[1, 2, 4, 8], 1e6);
    let step = balance(&lengths, &given.wanted()).unwrap();
    assert!((0..64).all(|rank| step.degree(rank, 0) == 1));
}

#[test]
fn what_no_rank_can_hold_is_split() {
    let lengths = [100_000, 900, 1_000, 800, 40_000];
    let wanted = Balance::new(4).capacity(32_768);
    assert_eq!(balance(&lengths, &wanted).unwrap_err().index(), Some(0));
    let given = Given {
        lengths: &lengths,
        ranks: 4,
        degrees: &[1, 2, 4],
        cost: [1.0, 0.0],
        // A split takes longer, but there is no other way.
        communication: 10.0,
        capacity: 32_768,
    };
    let step = balance(&lengths, &given.wanted()).unwrap();
    given.check(&step);
    let degree = |sequence: u32| {
        let slots = (0..4).flat_map(|rank| (0..step.micro_batches()).map(move |at| (rank, at)));
        let mut own = slots.filter(|&(rank, at)| step.micro_batch(rank, at).contains(&sequence));
        own.next().map(|(rank, at)| step.degree(rank, at))
    };
    assert_eq!([0, 1, 4].map(degree), [Some(4), Some(1), Some(2)]);
    let error =
        balance(&lengths, &Balance::new(4).capacity(24_000).split(vec![1, 2, 4])).unwrap_err();
    assert_eq!(
        format!("{error}; {}", error.hint().unwrap_or_default()),
        "the capacity cannot be `24000`; it must be at least 25000: sequence 0 of length 100000 takes 25000 positions on each of 4 ranks"
    );
}

#[test]
fn degrees_that_cannot_be_are_refused() {
    let split = |degrees: &[u32]| Balance::new(8).split(Vec::from(degrees));
    for (wanted, says) in [
        (split(&[]), "the degrees of a split cannot be ``; it must be at least one"),
        (split(&[0, 1]), "the degrees of a split cannot be `0,1`"),
        (split(&[2, 1]), "the degrees of a split cannot be `2,1`"),
        (split(&[1, 1]), "the degrees of a split cannot be `1,1`"),
        (split(&[2, 3]), "the degrees of a split cannot be `2,3`"),
        (split(&[1, 16]), "the number of ranks cannot be `8`; it must be a multiple of 16"),
        (split(&[1, 2]).communication(-1.0), "the cost of communication cannot be `-1`"),
        (split(&[1, 2]).communication(f64::NAN), "the cost of communication cannot be `NaN`"),
        (Balance::new(8).communication(1.0), "the cost of communication cannot be `1`"),
        (split(&[1, 2]).speeds(vec![1.0; 8]), "the degrees of a split cannot be `1,2`"),
        (split(&[1, 2]).together(vec![1, 1, 1], Together::Rank), "the degrees of a split"),
        (
            Balance::new(2).split(vec![1, 2]).max_micro_batches(1),
            "the largest number of micro-batches",
        ),
    ] {
        let error = balance(&[30, 18, 9], &wanted.clone().capacity(15)).unwrap_err();
        let said = format!("{error}; {}", error.hint().unwrap_or_default());
        assert!(said.starts_with(says), "{wanted:?}: {said}");
    }
}
