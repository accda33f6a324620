//! One step divided over ranks and micro-batches.

use std::collections::HashMap;

use lengthwise::{
    CostModel, Error,
    balance::{Balance, Step, balance, partitions},
    custom::{Purpose, Rng},
    groups::Together,
};

fn sum(batch: &[u32], lengths: &[u32]) -> u64 {
    batch.iter().map(|&sequence| u64::from(lengths[sequence as usize])).sum()
}

/// Each sequence is in one micro-batch, and the parts agree.
fn check(step: &Step, lengths: &[u32], capacity: u64) {
    let mut seen = step.order().to_vec();
    seen.sort_unstable();
    assert!(seen.into_iter().eq(0..lengths.len() as u32));
    assert_eq!(step.ends().len(), (step.ranks() * step.micro_batches()) as usize);
    assert_eq!(step.iter().count(), step.ends().len());
    assert!(step.iter().all(|(_, batch)| sum(batch, lengths) <= capacity));
    for (place, &sequence) in step.order().iter().enumerate() {
        assert_eq!(step.restore()[sequence as usize] as usize, place);
    }
    assert!(step.time() >= step.lower_bound() * (1.0 - 1e-9));
    assert!((0.0..=1.0).contains(&step.idle_share()));
    // A micro-batch is empty only if there are too few sequences.
    let empty = step.iter().filter(|(_, batch)| batch.is_empty()).count();
    assert!(empty == 0 || lengths.len() < 4 * step.ends().len(), "{step:?}");
}

/// Lognormal-like lengths.
fn lengths(count: u32, longest: u32, seed: u64) -> Vec<u32> {
    let mut random = Rng::new(seed, 0).stream(Purpose::Own(0));
    let mut draw = || {
        let product =
            (0..4).fold(1.0, |product, _| product * (1.0 + f64::from(random.below(1000)) / 120.0));
        (8.0 * product) as u32
    };
    (0..count).map(|_| draw().min(longest)).collect()
}

#[test]
fn ten_thousand_steps_keep_every_promise() {
    let mut random = Rng::new(5, 0).stream(Purpose::Own(1));
    for trial in 0..10_000_u64 {
        let mut below = |most: u32| random.below(most);
        let (count, ranks, longest) = (1 + below(60), 1 + below(9), 1 + below(300));
        let lengths: Vec<u32> = (0..count).map(|_| below(1 + longest)).collect();
        let most = lengths.iter().copied().max().unwrap_or(0).max(1);
        let mut wanted = Balance::new(ranks);
        let groups: Vec<u32> = (0..count).map(|_| below(1 + count)).collect();
        let kinds: Vec<u32> = match below(2) {
            0 => vec![7; count as usize],
            // A group has one kind.
            _ => groups.iter().map(|group| group % 3).collect(),
        };
        let share = [None, Some(Together::Batch), Some(Together::Rank)][below(3) as usize];
        if let Some(share) = share {
            wanted = wanted.together(groups.clone(), share);
        }
        let mut of_group: HashMap<u32, u64> = HashMap::new();
        for (&group, &length) in groups.iter().zip(&lengths) {
            *of_group.entry(group).or_default() += u64::from(length);
        }
        let largest = match share {
            Some(Together::Batch) => of_group.values().copied().max().unwrap_or(1) as u32,
            _ => most,
        };
        let capacity = (below(3) > 0).then(|| largest.max(1) + below(400));
        if let Some(capacity) = capacity {
            wanted = wanted.capacity(capacity);
        }
        let more = below(4);
        if more < 2 {
            wanted = wanted.kinds(kinds.clone());
        } else if more == 2 {
            wanted = wanted.speeds((0..ranks).map(|_| 0.5 + f64::from(below(4))).collect());
        }
        if below(3) == 0 {
            wanted = wanted
                .cost(CostModel::new(0.0, 0.0, 24.0, 1.0).unwrap())
                .min_micro_batches(1 + below(3));
        }
        let is_of_kinds = format!("{wanted:?}").contains("kinds: Some");
        let step = balance(&lengths, &wanted).unwrap();
        let mut places: HashMap<u32, (u32, usize)> = HashMap::new();
        for (at, (rank, batch)) in step.iter().enumerate() {
            places.extend(batch.iter().map(|&sequence| (sequence, (rank, at))));
            let mut of_batch = batch.iter().map(|&sequence| kinds[sequence as usize]);
            let first = of_batch.next();
            assert!(!is_of_kinds || of_batch.all(|kind| Some(kind) == first), "{trial}");
        }
        assert_eq!(places.len(), lengths.len(), "{trial}");
        for pair in (0..count).flat_map(|a| (0..a).map(move |b| [a, b])) {
            let [a, b] = pair.map(|sequence| places[&sequence]);
            if groups[pair[0] as usize] == groups[pair[1] as usize] {
                assert!(share != Some(Together::Rank) || a.0 == b.0, "{trial}");
                assert!(share != Some(Together::Batch) || a.1 == b.1, "{trial}");
            }
        }
        let most = capacity.map_or(u64::MAX, u64::from);
        assert!(step.iter().all(|(_, batch)| sum(batch, &lengths) <= most), "{trial}");
        if share.is_none() && !is_of_kinds {
            check(&step, &lengths, most);
        }
        assert_eq!(balance(&lengths, &wanted).unwrap(), step);
    }
}

/// The fewest micro-batches by trying every one for every sequence.
fn fewest(lengths: &[u32], capacity: u32, ranks: u32) -> u32 {
    fn fits(lengths: &[u32], free: &mut [u32]) -> bool {
        let Some((&length, rest)) = lengths.split_first() else { return true };
        (0..free.len()).any(|bin| {
            if free[bin] < length || free[..bin].contains(&free[bin]) {
                return false;
            }
            free[bin] -= length;
            let found = fits(rest, free);
            free[bin] += length;
            found
        })
    }
    let mut sorted = lengths.to_vec();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    let enough = |each: &u32| fits(&sorted, &mut vec![capacity; (each * ranks) as usize]);
    (1..=lengths.len() as u32).find(enough).unwrap_or(0)
}

#[test]
fn micro_batches_are_the_fewest() {
    let mut random = Rng::new(6, 0).stream(Purpose::Own(2));
    let (mut same, trials) = (0, 2000);
    for _ in 0..trials {
        let (count, ranks, capacity) =
            (1 + random.below(12), 1 + random.below(3), 20 + random.below(80));
        let lengths: Vec<u32> = (0..count).map(|_| 1 + random.below(capacity)).collect();
        let step = balance(&lengths, &Balance::new(ranks).capacity(capacity)).unwrap();
        same += u32::from(step.micro_batches() == fewest(&lengths, capacity, ranks));
    }
    assert_eq!(same, trials, "of so many");
}

#[test]
fn loads_are_within_a_fifth_of_a_percent() {
    for seed in 0..6 {
        let lengths = lengths(4096, 16_384, seed);
        for (ranks, capacity) in
            [(8, None), (64, None), (64, Some(32_768)), (64, Some(16_384)), (7, Some(20_000))]
        {
            for cost in [None, Some(CostModel::new(0.0, 0.0, 24_576.0, 1.0).unwrap())] {
                let mut wanted = Balance::new(ranks);
                wanted = capacity.map_or(wanted.clone(), |most| wanted.capacity(most));
                wanted = cost.map_or(wanted.clone(), |model| wanted.cost(model));
                let step = balance(&lengths, &wanted).unwrap();
                check(&step, &lengths, capacity.map_or(u64::MAX, u64::from));
                let over = step.time() / step.lower_bound() - 1.0;
                assert!(over < 0.002, "{ranks} {capacity:?} {cost:?}: {over}");
            }
        }
    }
}

#[test]
fn speeds_decide_how_much_a_rank_does() {
    let lengths = lengths(1000, 4000, 3);
    let step = balance(&lengths, &Balance::new(3).speeds(vec![1.0, 2.0, 4.0])).unwrap();
    let total: f64 = step.loads().iter().sum();
    for (load, share) in step.loads().iter().zip([1.0, 2.0, 4.0]) {
        assert!((load / total - share / 7.0).abs() < 0.001, "{:?}", step.loads());
    }
}

#[test]
fn few_and_empty_sequences_have_an_answer() {
    let none = balance(&[], &Balance::new(4)).unwrap();
    assert_eq!((none.ranks(), none.micro_batches(), none.order().len()), (4, 1, 0));
    assert_eq!((none.time(), none.idle_share()), (0.0, 0.0));
    let few = balance(&[5, 3], &Balance::new(4).capacity(8)).unwrap();
    assert_eq!(few.micro_batches(), 1);
    assert_eq!(few.iter().filter(|(_, batch)| batch.is_empty()).count(), 2);
    assert!(few.micro_batch(9, 0).is_empty() && few.micro_batch(0, 9).is_empty());
    // What costs nothing goes where there is nothing else.
    let filler = balance(&[100, 0, 0, 0], &Balance::new(4)).unwrap();
    assert!(filler.iter().all(|(_, batch)| batch.len() == 1), "{filler:?}");
    // One sequence is longer than all others together.
    let giant = balance(&[10_000, 1, 2, 3, 4, 5, 6, 7], &Balance::new(2).capacity(10_000)).unwrap();
    assert_eq!((giant.micro_batches(), giant.time(), giant.lower_bound()), (1, 10_000.0, 10_000.0));
}

#[test]
fn parts_have_equal_sums_or_also_equal_numbers() {
    for seed in 0..20 {
        let costs: Vec<f64> =
            lengths(1 + 37 * seed as u32, 4000, seed).into_iter().map(f64::from).collect();
        for (parts, equal) in [(1, true), (4, true), (7, true), (4, false), (64, true), (64, false)]
        {
            let found = partitions(&costs, parts, equal).unwrap();
            let mut all = found.concat();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..costs.len() as u32));
            assert!(found.iter().all(|part| part.is_sorted()));
            let sizes = found.iter().map(Vec::len);
            let (least, most) = (sizes.clone().min().unwrap(), sizes.max().unwrap());
            assert!(!equal || most - least <= 1, "{least} {most}");
            assert!(costs.len() < parts as usize || least > 0);
        }
    }
    let lengths: Vec<f64> = lengths(4096, 16_384, 1).into_iter().map(f64::from).collect();
    let total: f64 = lengths.iter().sum();
    for part in partitions(&lengths, 64, true).unwrap() {
        let sum: f64 = part.iter().map(|&at| lengths[at as usize]).sum();
        assert_eq!(part.len(), 64);
        assert!(sum / (total / 64.0) < 1.002, "{sum}");
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |lengths: &[u32], wanted: Balance| balance(lengths, &wanted).unwrap_err();
    let over = refused(&[3, 9, 12], Balance::new(2).capacity(8));
    assert_eq!(over.index(), Some(1));
    assert_eq!(
        over.to_string(),
        "sequence 1 of length 9 alone takes 9 positions, over the capacity of 8; so does 1 more sequence"
    );
    for (wanted, says) in [
        (Balance::new(0), "number of ranks"),
        (Balance::new(2).capacity(0), "the capacity"),
        (Balance::new(2).min_micro_batches(0), "number of micro-batches"),
        (Balance::new(2).capacity(12).max_micro_batches(0), "largest number of micro-batches"),
        (Balance::new(1).capacity(12).max_micro_batches(1), "at least 2"),
        (Balance::new(2).speeds(vec![1.0]), "number of speeds"),
        (Balance::new(2).min_micro_batches(4).max_micro_batches(3), "at least 4, the smallest"),
        (Balance::new(2).speeds(vec![1.0, 0.0]), "speed of rank 1"),
        (Balance::new(2).speeds(vec![1.0, 1e-300]), "from 1e-9 to 1e9"),
        (Balance::new(2).speeds(vec![f64::NAN, 1.0]), "speed of rank 0"),
        (Balance::new(2).kinds(vec![1]), "number of ids of kinds"),
        (Balance::new(2).together(vec![1], Together::Rank), "number of ids of groups"),
        (Balance::new(2).capacity(20).together(vec![1; 3], Together::Batch), "group of sequence 0"),
        (
            Balance::new(2).kinds(vec![1, 1, 2]).together(vec![1; 3], Together::Batch),
            "kind of sequence 2",
        ),
    ] {
        let error = refused(&[3, 9, 12], wanted);
        let said = format!("{error}; {}", error.hint().unwrap_or_default());
        assert!(matches!(error, Error::BadValue { .. }) && said.contains(says), "{said}");
    }
    assert!(partitions(&[1.0, f64::NAN], 2, false).unwrap_err().to_string().contains("cost 1"));
    assert!(partitions(&[1.0], 0, false).is_err());
}

/// Refused before there is memory for them: each of these would take gigabytes.
#[test]
fn absurd_numbers_are_refused() {
    let lengths = [3, 9, 12];
    for (wanted, says) in [
        (
            Balance::new(u32::MAX),
            "the number of ranks cannot be `4294967295`; it must be at most 1048576",
        ),
        (
            Balance::new(2).min_micro_batches(u32::MAX),
            "the number of micro-batches of a rank cannot be `4294967295`; it must be at most 524288",
        ),
        (
            Balance::new(1 << 16).min_micro_batches(1 << 16),
            "the number of micro-batches of a rank cannot be `65536`; it must be at most 16",
        ),
    ] {
        let error = balance(&lengths, &wanted).unwrap_err();
        let said = format!("{error}; {}", error.hint().unwrap_or_default());
        assert!(said.starts_with(says), "{said}");
    }
    // One group on one rank, whose micro-batches all other ranks would have to have as well.
    let wanted = Balance::new(2000).capacity(12).together(vec![1; 1000], Together::Rank);
    let error = balance(&[12; 1000], &wanted).unwrap_err().to_string();
    assert!(error.starts_with("the number of micro-batches of a rank cannot be"), "{error}");
    assert!(partitions(&[1.0], u32::MAX, false).unwrap_err().to_string().contains("4294967295"));
    // The most that there can be.
    let step = balance(&lengths, &Balance::new(1 << 10).min_micro_batches(1 << 10)).unwrap();
    assert_eq!(step.iter().filter(|(_, batch)| !batch.is_empty()).count(), 3);
    assert_eq!(balance(&lengths, &Balance::new(1 << 20)).unwrap().ranks(), 1 << 20);
}

#[test]
fn loads_are_the_sums_of_their_sequences() {
    let model = CostModel::new(0.0, 0.0, 0.1, 1e-7).unwrap();
    for seed in 0..20 {
        let lengths = lengths(700, 16_384, seed);
        let wanted =
            Balance::new(5).capacity(20_000).cost(model).speeds(vec![1.0, 0.7, 1.1, 1.3, 3.0]);
        let step = balance(&lengths, &wanted).unwrap();
        for (rank, &load) in (0..).zip(step.loads()) {
            let own = step.iter().filter(|&(of, _)| of == rank).flat_map(|(_, batch)| batch);
            let cost = |&at: &u32| {
                let length = f64::from(lengths[at as usize]);
                0.1 * length + 1e-7 * length * length
            };
            let sum: f64 = own.map(cost).sum();
            assert_eq!(sum.to_bits(), load.to_bits(), "{sum} {load}");
        }
        assert!(step.time() >= step.lower_bound());
    }
}
