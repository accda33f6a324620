//! Statistics as bytes: small, the same for equal ones, and refused where anything was altered.

use std::{fs, sync::Arc};

use lengthwise::{
    Budget, Example, Lengths, Planner,
    shard::{Shard, Statistics},
    strategy::Shuffled,
};
use lengthwise_io::{
    Form, PlanFile, is_statistics, read_plan_from, read_statistics, save_statistics,
    statistics_from_bytes, statistics_to_bytes,
};
use proptest::{collection::vec, prelude::*};
use tempfile::TempDir;

/// Statistics of two shards, and what each needs.
fn counted() -> (Vec<Lengths>, Statistics) {
    let all = Example::Bimodal.lengths();
    let (one, other) = all.as_slice().split_at(3000);
    let shards: Vec<Lengths> = [one, other].map(|part| Lengths::new(part).unwrap()).into();
    let all = Arc::new(Statistics::of(&shards[0]).merge(&Statistics::of(&shards[1])).unwrap());
    let mut both = (*all).clone();
    for (number, shard) in (0..).zip(&shards) {
        let part = shard.clone().part_of(Arc::clone(&all)).unwrap();
        let planner = Planner::new(Shuffled, Budget::padded(20_000)).shard(Shard { number, of: 2 });
        both = both.merge(&planner.needs(&part).unwrap()).unwrap();
    }
    (shards, both)
}

#[test]
fn what_was_written_is_read() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("all.lws");
    let many: Vec<u32> = (1..200_000).collect();
    let (_, counted) = counted();
    for statistics in [
        Statistics::of(&Lengths::new([7]).unwrap()),
        Statistics::of(&Lengths::new([1, u32::MAX]).unwrap()),
        Statistics::of(&Lengths::new(many).unwrap()),
        counted,
    ] {
        save_statistics(&path, &statistics).unwrap();
        assert!(is_statistics(&path));
        assert_eq!(read_statistics(&path).unwrap(), statistics);
        assert!(fs::metadata(&path).unwrap().len() < 100_000);
    }
    assert!(!is_statistics(folder.path()) && !is_statistics(&folder.path().join("none")));
}

/// No byte can be altered, cut off or added without being noticed.
#[test]
fn damage_is_refused() {
    let bytes = statistics_to_bytes(&counted().1);
    for at in 0..bytes.len() {
        assert!(statistics_from_bytes(&bytes[..at]).is_err(), "{at}");
        let mut altered = bytes.clone();
        altered[at] ^= 0x11;
        assert!(statistics_from_bytes(&altered).is_err(), "{at}");
    }
    assert!(statistics_from_bytes(&[&bytes[..], &[0]].concat()).is_err());
    let error = statistics_from_bytes(b"12\n30\n").unwrap_err();
    assert_eq!(
        error.to_string(),
        "the file of statistics is cut off or not a file of statistics: it does not begin with their mark"
    );
}

proptest! {
    /// Whatever stands behind the mark, with a checksum that is right.
    #[test]
    fn anything_else_is_refused_or_makes_sense(content in vec(any::<u8>(), 0..60)) {
        let mut bytes = b"\x93lwstats\x01".to_vec();
        bytes.extend(content);
        let checksum = xxhash_rust::xxh3::xxh3_64(&bytes);
        bytes.extend(checksum.to_le_bytes());
        if let Ok(statistics) = statistics_from_bytes(&bytes) {
            let again = statistics_from_bytes(&statistics_to_bytes(&statistics));
            prop_assert_eq!(again.unwrap(), statistics);
        }
    }
}

#[test]
fn plans_of_shards_say_so_in_every_form() {
    let (shards, all) = counted();
    let part = shards[1].clone().part_of(Arc::new(all)).unwrap();
    let shard = Shard { number: 1, of: 2 };
    let plan = Planner::new(Shuffled, Budget::padded(20_000)).shard(shard).plan(&part, 4).unwrap();
    assert_eq!(plan.provenance().shard, Some(shard));
    let file = PlanFile::new(plan, &part);
    for form in [Form::Json, Form::JsonLines, Form::Npz] {
        let mut bytes = Vec::new();
        file.write(form, &mut bytes).unwrap();
        assert_eq!(read_plan_from(&bytes, form).unwrap(), file);
    }
}
