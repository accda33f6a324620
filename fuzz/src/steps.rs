//! Batches of streams, and one step divided over ranks by `balance`.

use std::collections::BTreeMap;

use lengthwise::balance::{Balance, balance, partitions};
use lengthwise::groups::Together;
use lengthwise::stream::{Pivot, StreamBatch, Streamer};
use lengthwise::{CostModel, Error, OverLong, Tail};
use lengthwise_io::{stream_from_json, stream_to_json};

use crate::planning::{budget, shapes};
use crate::settings::check_refusal;
use crate::source::Source;

pub(crate) fn run(data: &[u8]) {
    let mut source = Source(data);
    let done = match source.below(4) {
        0 | 1 => streamed(&mut source),
        2 => balanced(&mut source),
        _ => parted(&mut source),
    };
    if let Err(error) = done {
        check_refusal(&error);
    }
}

fn streamed(source: &mut Source) -> Result<(), Error> {
    let (ranks, pivot) = (1 + source.below(5), *source.one_of(&Pivot::ALL));
    let tail = *source.one_of(&Tail::ALL);
    let over_long: OverLong = source.one_of(&OverLong::NAMES).parse()?;
    let streamer = Streamer::new(budget(source)?)
        .shapes(shapes(source)?)
        .window(1 + source.below(80))
        .pivot(pivot)
        .over_long(over_long)
        .tail(tail)
        .seed(source.byte().into());
    let stop = source.below(30) as usize;
    let lengths = source.lengths(250);
    let of_rank = |rank: u32| -> Result<Vec<StreamBatch<u32>>, Error> {
        streamer
            .clone()
            .rank(rank, ranks)
            .over(lengths.iter().copied(), |&length| length)?
            .collect()
    };
    let all = (0..ranks).map(of_rank).collect::<Result<Vec<_>, _>>()?;
    let mut times = BTreeMap::new();
    for batch in all.iter().flatten() {
        assert!(!batch.items.is_empty() && batch.items.len() == batch.positions.len());
        for (&position, &item) in batch.positions.iter().zip(&batch.items) {
            assert_eq!(lengths[position as usize], item);
            assert!(item <= batch.length || over_long == OverLong::Truncate);
            *times.entry(position).or_insert(0) += 1;
        }
    }
    assert!(all.iter().all(|batches| batches.len() == all[0].len()), "ranks have as many batches");
    if tail != Tail::Drop && over_long != OverLong::Drop {
        assert_eq!(times.len(), lengths.len());
    }
    assert!(ranks > 1 || times.values().all(|&times| times == 1));

    let last = streamer.clone().rank(ranks - 1, ranks);
    let mut running = last.over(lengths.iter().copied(), |&length| length)?;
    let before = running.by_ref().take(stop).count();
    let state = running.state();
    let read = stream_from_json(&stream_to_json(&state)).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(read, state);
    let rest = lengths.iter().copied().skip(state.from() as usize);
    let rest: Vec<_> =
        last.resume_over(&state, rest, |&length| length)?.collect::<Result<_, _>>()?;
    let expected = &all[ranks as usize - 1][before..];
    assert!(rest.len() == expected.len());
    assert!(
        rest.iter()
            .zip(expected)
            .all(|(one, other)| (&one.positions, one.length) == (&other.positions, other.length))
    );
    Ok(())
}

fn balanced(source: &mut Source) -> Result<(), Error> {
    let mut wanted =
        Balance::new(if source.chance(16) { source.number() } else { 1 + source.below(9) });
    let asked = source.byte();
    let share = *source.one_of(&Together::ALL);
    if asked & 1 > 0 {
        wanted = wanted.capacity(source.number());
    }
    if asked & 2 > 0 {
        wanted = wanted.cost(CostModel::new(
            0.0,
            0.0,
            f64::from(source.byte()),
            f64::from(source.byte()) / 1000.0,
        )?);
    }
    if asked & 4 > 0 {
        wanted = wanted.min_micro_batches(if source.chance(4) {
            source.number()
        } else {
            source.below(5)
        });
    }
    if asked & 8 > 0 {
        wanted = wanted.max_micro_batches(source.number());
    }
    if asked & 16 > 0 {
        wanted = wanted.split((0..=source.below(4)).map(|power| 1 << power).collect());
    }
    if asked & 32 > 0 {
        let count = 1 + source.below(9);
        wanted = wanted.speeds((0..count).map(|_| f64::from(source.byte()) / 16.0).collect());
    }
    let mut lengths = source.lengths(80);
    if source.chance(4) {
        lengths[0] = 0;
    }
    if asked & 64 > 0 {
        wanted = wanted.together(lengths.iter().map(|_| source.below(20)).collect(), share);
    }
    if asked & 128 > 0 {
        wanted = wanted.kinds(lengths.iter().map(|_| source.below(3)).collect());
    }
    let step = balance(&lengths, &wanted)?;
    assert_eq!(balance(&lengths, &wanted).as_ref(), Ok(&step));
    let mut seen = step.order().to_vec();
    if asked & 16 == 0 {
        for (place, &sequence) in step.order().iter().enumerate() {
            assert_eq!(step.restore()[sequence as usize] as usize, place);
        }
    }
    seen.sort_unstable();
    seen.dedup();
    assert!(seen.into_iter().eq(0..lengths.len() as u32));
    let micro_batches = step.iter().count();
    assert_eq!(micro_batches as u32, step.ranks() * step.micro_batches());
    // One that several ranks share has one end.
    assert!(
        step.ends().len() == micro_batches || asked & 16 > 0 && step.ends().len() < micro_batches
    );
    assert!(
        step.time().is_finite() && step.time() >= step.lower_bound() * (1.0 - 1e-9),
        "{step:?}"
    );
    assert!((0.0..=1.0).contains(&step.idle_share()), "{step:?}");
    Ok(())
}

fn parted(source: &mut Source) -> Result<(), Error> {
    let (parts, equal) = (source.number(), source.chance(2));
    let mut costs = Vec::new();
    while !source.is_empty() && costs.len() < 100 {
        costs.push(match source.byte() {
            250 => f64::MAX / (1.0 + f64::from(source.byte())),
            251 => f64::MIN_POSITIVE,
            252 => f64::INFINITY,
            253 => -1.0,
            small => f64::from(small) / 7.0,
        });
    }
    let found = partitions(&costs, parts, equal)?;
    assert_eq!(found.len(), parts as usize);
    let mut all: Vec<u32> = found.concat();
    all.sort_unstable();
    assert!(all.into_iter().eq(0..costs.len() as u32));
    let sizes = || found.iter().map(Vec::len);
    assert!(!equal || sizes().max().unwrap_or(0) - sizes().min().unwrap_or(0) <= 1);
    Ok(())
}
