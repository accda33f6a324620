//! Every fast algorithm against a plain one.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use lengthwise::{
    Arrange, Budget, Lengths, Planner,
    custom::{Group, Groups, Purpose, ResolvedBudget, Rng},
    ladder,
    measure::ladder_padding_rate,
    strategy::{Alternated, SemiSorted},
};
use proptest::{collection::vec, prelude::*};

/// Cells when every sequence is padded to the next rung.
fn cells(lengths: &Lengths, rungs: &[u32]) -> u64 {
    let rung = |length: &u32| rungs.iter().copied().filter(|rung| rung >= length).min().unwrap();
    lengths.as_slice().iter().map(|length| u64::from(rung(length))).sum()
}

/// The best of all sets of rungs that include the longest length.
fn by_trying_all(lengths: &Lengths, rungs: usize) -> u64 {
    let distinct: Vec<u32> = lengths.histogram().iter().map(|&(length, _)| length).collect();
    let (&longest, others) = distinct.split_last().unwrap();
    (0_u32..1 << others.len())
        .filter(|chosen| chosen.count_ones() as usize == (rungs - 1).min(others.len()))
        .map(|chosen| {
            let mut set: Vec<u32> =
                (0..others.len()).filter(|i| chosen >> i & 1 == 1).map(|i| others[i]).collect();
            set.push(longest);
            cells(lengths, &set)
        })
        .min()
        .unwrap()
}

/// Paper 3's recurrence over every length from 0 to the longest, in its quadratic form.
fn by_the_papers_recurrence(lengths: &Lengths, rungs: usize) -> u64 {
    const INFINITE: u64 = u64::MAX / 2;
    let longest = lengths.max() as usize;
    let mut f = vec![0_u64; longest + 1];
    for &length in lengths.as_slice() {
        f[length as usize] += 1;
    }
    let mut dp = vec![INFINITE; longest + 1];
    dp[0] = 0;
    for _ in 0..rungs {
        let mut next = dp.clone(); // a bucket may stay empty
        for i in 1..=longest {
            for j in 0..i {
                let sum: u64 = f[j + 1..=i].iter().sum();
                next[i] = next[i].min(dp[j].saturating_add(i as u64 * sum));
            }
        }
        dp = next;
    }
    dp[longest]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn a_ladder_is_the_best_of_all(lengths in vec(1_u32..40, 1..60), rungs in 1_u32..8) {
        let lengths = Lengths::new(lengths).unwrap();
        let found = ladder(&lengths, rungs);
        prop_assert!(found.is_sorted_by(|a, b| a < b));
        prop_assert_eq!(found.len(), lengths.histogram().len().min(rungs as usize));
        prop_assert_eq!(found.last(), Some(&lengths.max()));
        let best = by_the_papers_recurrence(&lengths, rungs as usize);
        prop_assert_eq!(cells(&lengths, &found), best);
        let rate = 1.0 - lengths.total() as f64 / best as f64;
        prop_assert!((ladder_padding_rate(&lengths, &found) - rate).abs() < 1e-12);
        if lengths.histogram().len() <= 14 {
            prop_assert_eq!(by_trying_all(&lengths, rungs as usize), best);
        }
    }

    /// Long and rare next to short and many: the products of the recurrence need 96 bits.
    #[test]
    fn a_ladder_of_huge_lengths_is_the_best_of_all(
        lengths in vec(prop_oneof![1_u32..9, u32::MAX - 5..=u32::MAX, 1_u32..=u32::MAX], 1..14),
        rungs in 1_u32..6,
    ) {
        let lengths = Lengths::new(lengths).unwrap();
        let found = ladder(&lengths, rungs);
        prop_assert_eq!(cells(&lengths, &found), by_trying_all(&lengths, rungs as usize));
    }

    /// No other way of cutting the same order makes fewer batches.
    #[test]
    fn cutting_makes_the_fewest_batches(
        lengths in vec(1_u32..30, 1..40), cells in 30_u64..200, at_most in 1_u32..9,
    ) {
        let lengths = Lengths::new(lengths).unwrap();
        let budget = Budget::padded(cells).at_most(at_most);
        let plan = Planner::new(InOrder, budget).arrange(Arrange::AsBuilt).plan(&lengths, 0).unwrap();
        let all = lengths.as_slice();
        // fewest[i]: the fewest batches for the first i sequences, over all places of the last cut.
        let mut fewest = vec![0_usize];
        for end in 1..=all.len() {
            let fits = |start: &usize| {
                let batch = &all[*start..end];
                let longest = u64::from(*batch.iter().max().unwrap());
                batch.len() <= at_most as usize && batch.len() as u64 * longest <= cells
            };
            let best = (0..end).filter(fits).map(|start| fewest[start] + 1).min();
            fewest.push(best.unwrap());
        }
        prop_assert_eq!(plan.len(), fewest[all.len()]);
        prop_assert_eq!(plan.indices(), (0..all.len() as u32).collect::<Vec<_>>());
        // Wherever the short batch is.
        let planner = Planner::new(ShortAnywhere, budget).arrange(Arrange::AsBuilt);
        for epoch in 0..4 {
            let plan = planner.plan(&lengths, epoch).unwrap();
            prop_assert_eq!(plan.len(), fewest[all.len()]);
            prop_assert_eq!(plan.indices(), (0..all.len() as u32).collect::<Vec<_>>());
            for (batch, &length) in plan.iter().zip(plan.batch_lengths()) {
                prop_assert_eq!(batch.iter().map(|&i| all[i as usize]).max(), Some(length));
                prop_assert!(batch.len() as u64 * u64::from(length) <= cells);
                prop_assert!(batch.len() <= at_most as usize);
            }
        }
    }

    /// With a multiple every batch that was closed by the budget has a multiple, or less than one.
    #[test]
    fn full_batches_have_a_multiple(
        lengths in vec(1_u32..30, 1..80), cells in 30_u64..400, multiple in 2_u32..9,
    ) {
        let lengths = Lengths::new(lengths).unwrap();
        let budget = Budget::padded(cells).multiple_of(multiple);
        let plan = Planner::new(InOrder, budget).arrange(Arrange::AsBuilt).plan(&lengths, 0).unwrap();
        for batch in 0..plan.len() - 1 {
            let size = plan.get(batch).unwrap().len() as u32;
            prop_assert!(size < multiple || size.is_multiple_of(multiple), "{size}");
        }
        // All but the short one, wherever it is, and as many.
        let planner = Planner::new(ShortAnywhere, budget).arrange(Arrange::AsBuilt);
        let other = planner.plan(&lengths, 1).unwrap();
        prop_assert_eq!(other.len(), plan.len());
        let sizes = other.iter().map(|batch| batch.len() as u32);
        let odd = sizes.filter(|&size| size > multiple && !size.is_multiple_of(multiple)).count();
        prop_assert!(odd <= 1, "{odd}");
    }
}

/// The order of the data, as a strategy of one's own.
struct InOrder;

impl Group for InOrder {
    fn group(
        &self,
        lengths: &Lengths,
        _: &ResolvedBudget,
        _: &Rng,
    ) -> Result<Groups, lengthwise::Error> {
        Groups::new((0..lengths.len() as u32).collect(), vec![lengths.len() as u32])
    }
}

/// The same, with the short batch anywhere.
struct ShortAnywhere;

impl Group for ShortAnywhere {
    fn group(
        &self,
        lengths: &Lengths,
        limit: &ResolvedBudget,
        rng: &Rng,
    ) -> Result<Groups, lengthwise::Error> {
        Ok(InOrder.group(lengths, limit, rng)?.short_anywhere(rng))
    }
}

/// Lengths with many ties, more than the radix sort's threshold.
fn mixed() -> Lengths {
    let words = Rng::new(9, 9).words(Purpose::Own(9), 5003);
    Lengths::new(words.map(|word| 1 + word % 700).collect::<Vec<_>>()).unwrap()
}

#[test]
fn alternated_is_as_the_paper_writes_it() {
    let lengths = mixed();
    let bins = 7;
    let planner =
        Planner::new(Alternated { bins }, Budget::sequences(16)).arrange(Arrange::AsBuilt);
    let order = planner.plan(&lengths, 4).unwrap().indices().to_vec();
    let of = |&i: &u32| lengths.as_slice()[i as usize];
    let start = |bin: usize| bin * order.len() / bins as usize;
    for bin in 0..bins as usize {
        let lengths: Vec<u32> = order[start(bin)..start(bin + 1)].iter().map(of).collect();
        assert!((714..=715).contains(&lengths.len()));
        if bin % 2 == 0 {
            assert!(lengths.is_sorted(), "bin {} ascends", bin + 1);
        } else {
            assert!(lengths.is_sorted_by(|a, b| a >= b), "bin {} descends", bin + 1);
        }
    }
}

/// The keys are rounded to 32 bits; sorting by the unrounded ones gives the same order but where
/// two keys are closer than that.
#[test]
fn semi_sorted_is_a_sort_by_length_plus_uniform_noise() {
    let lengths = mixed();
    let (seed, epoch, noise) = (3, 8, 0.25);
    let planner = Planner::new(SemiSorted { noise }, Budget::sequences(16))
        .arrange(Arrange::AsBuilt)
        .seed(seed);
    let order = planner.plan(&lengths, epoch).unwrap().indices().to_vec();
    let width = noise * f64::from(lengths.max() - lengths.min());
    let keys: Vec<f64> = Rng::new(seed, epoch)
        .words(Purpose::Noise, lengths.len() as u32)
        .zip(lengths.as_slice())
        .map(|(word, &length)| f64::from(length) + width * (f64::from(word) / 2_f64.powi(32) - 0.5))
        .collect();
    let resolution = f64::from(lengths.max()) / 2_f64.powi(31);
    for pair in order.windows(2) {
        assert!(keys[pair[0] as usize] <= keys[pair[1] as usize] + resolution);
    }
}
