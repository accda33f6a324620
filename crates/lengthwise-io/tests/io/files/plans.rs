//! Plans as files: what is written, and that it is read back.

use std::{
    fs,
    io::{self, Write},
};

use crate::files::common::{
    FORMS, TEXTS, kinds, lengths, named, of_groups, of_pairs, said, written,
};
use expect_test::expect;
use lengthwise::{Budget, Chunks, Lengths, OverLong, Planner, Tail, strategy::Sorted};
use lengthwise_io::{Form, PlanFile, Ranks, read_plan, read_plan_from};
use proptest::prelude::*;
use tempfile::TempDir;

/// The keys that other people's programs rely on.
#[test]
fn the_forms_keep_their_contract() {
    let lengths = Lengths::new([5, 9, 4, 7, 7, 1, 3]).unwrap();
    let planner = Planner::new(Sorted, Budget::padded(8))
        .over_long(OverLong::Truncate)
        .tail(Tail::Repeat)
        .seed(u64::MAX);
    let plan = planner.plan(&lengths, 2).unwrap();
    let cursor = plan.schedule(2).unwrap().cursor(1).unwrap();
    let schedule = plan.resume(&cursor, 4).unwrap();
    let mut ranks = Ranks::of(&schedule, None, &lengths);
    ranks.cursor = Some(cursor);
    let file = PlanFile::new(schedule.all_ranks(), &lengths).ranks(ranks);
    let chunks = Chunks::new(&Lengths::new([5, 3]).unwrap(), 4).unwrap();
    let plan = Planner::new(Sorted, Budget::sequences(2)).plan(chunks.lengths(), 0).unwrap();
    let pieces = PlanFile::new(plan, chunks.lengths()).chunks(chunks);
    let with_ids = named(pieces.clone());
    let texts = [&file, &pieces, &with_ids].map(|file| TEXTS.map(|form| written(file, form)));
    expect![[r#"
        {"version":1,"digest":"6e32d8433c06bec1","batches":[[3],[0],[2],[4]],"batch_lengths":[7,5,4,7],"truncated":[1],"positions":[7,5,4,7],"made":{"strategy":"sorted","budget":"padded:8","shapes":"exact","arrange":"spread","over_long":"truncate","steps":"stratified","tail":"repeat","accumulate":1,"seed":18446744073709551615,"epoch":2,"lengths":"b062e4544dd20ad8"},"ranks":{"world_size":4,"accumulate":1,"steps":1,"cursor":{"version":1,"settings":"strategy=sorted budget=padded:8 shapes=exact arrange=spread over-long=truncate batches=none steps=stratified tail=repeat cost-model=none","lengths":"b062e4544dd20ad8","seed":18446744073709551615,"epoch":2,"plan":"b8a5d0e2e4a72d1d","segments":[[2,1]],"checksum":"c3af0c9a0411cd13"},"step_counts":{"sequences":[4],"positions":[23]},"step_mix":0.0},"checksum":"7326938aad271665"}
        {"sequences":[3],"batch_length":7,"positions":7}
        {"sequences":[0],"batch_length":5,"positions":5}
        {"sequences":[2],"batch_length":4,"positions":4}
        {"sequences":[4],"batch_length":7,"positions":7}
        {"over_long":"truncate","sequences":[1]}
        {"version":1,"digest":"6e32d8433c06bec1","made":{"strategy":"sorted","budget":"padded:8","shapes":"exact","arrange":"spread","over_long":"truncate","steps":"stratified","tail":"repeat","accumulate":1,"seed":18446744073709551615,"epoch":2,"lengths":"b062e4544dd20ad8"},"ranks":{"world_size":4,"accumulate":1,"steps":1,"cursor":{"version":1,"settings":"strategy=sorted budget=padded:8 shapes=exact arrange=spread over-long=truncate batches=none steps=stratified tail=repeat cost-model=none","lengths":"b062e4544dd20ad8","seed":18446744073709551615,"epoch":2,"plan":"b8a5d0e2e4a72d1d","segments":[[2,1]],"checksum":"c3af0c9a0411cd13"},"step_counts":{"sequences":[4],"positions":[23]},"step_mix":0.0},"checksum":"4c6929829774ad2e"}
        {"version":1,"digest":"4c1376fade7dcc99","batches":[[1,2],[0]],"batch_lengths":[3,4],"chunks":{"sequences":[0,0,1],"offsets":[0,4,0],"lengths":[4,1,3]},"positions":[4,4],"made":{"strategy":"sorted","budget":"sequences:2","shapes":"exact","arrange":"spread","over_long":"error","steps":"aligned","tail":"split","accumulate":1,"seed":0,"epoch":0,"lengths":"1b955a7eb1dfce8e"},"checksum":"26111cb9d72bc595"}
        {"sequences":[0,1],"offsets":[4,0],"lengths":[1,3],"batch_length":3,"positions":4}
        {"sequences":[0],"offsets":[0],"lengths":[4],"batch_length":4,"positions":4}
        {"version":1,"digest":"4c1376fade7dcc99","made":{"strategy":"sorted","budget":"sequences:2","shapes":"exact","arrange":"spread","over_long":"error","steps":"aligned","tail":"split","accumulate":1,"seed":0,"epoch":0,"lengths":"1b955a7eb1dfce8e"},"chunks":{"sequences":[0,0,1],"offsets":[0,4,0],"lengths":[4,1,3]},"checksum":"5dd6d0980d1bb7f9"}
        {"version":2,"digest":"4c1376fade7dcc99","batches":[[1,2],[0]],"ids":[["utt-1","\"quoted\", and\nlines\r\n"],["utt-1"]],"batch_lengths":[3,4],"chunks":{"sequences":[0,0,1],"offsets":[0,4,0],"lengths":[4,1,3]},"positions":[4,4],"made":{"strategy":"sorted","budget":"sequences:2","shapes":"exact","arrange":"spread","over_long":"error","steps":"aligned","tail":"split","accumulate":1,"seed":0,"epoch":0,"lengths":"1b955a7eb1dfce8e"},"checksum":"a78a522f46e0e43f"}
        {"sequences":[0,1],"ids":["utt-1","\"quoted\", and\nlines\r\n"],"offsets":[4,0],"lengths":[1,3],"batch_length":3,"positions":4}
        {"sequences":[0],"ids":["utt-1"],"offsets":[0],"lengths":[4],"batch_length":4,"positions":4}
        {"version":2,"digest":"4c1376fade7dcc99","made":{"strategy":"sorted","budget":"sequences:2","shapes":"exact","arrange":"spread","over_long":"error","steps":"aligned","tail":"split","accumulate":1,"seed":0,"epoch":0,"lengths":"1b955a7eb1dfce8e"},"chunks":{"sequences":[0,0,1],"offsets":[0,4,0],"lengths":[4,1,3]},"checksum":"2733c400831f660e"}
    "#]].assert_eq(&String::from_utf8(texts.concat().concat()).unwrap());
}

#[test]
fn plans_are_read_back_as_they_were() {
    for file in kinds() {
        for &form in FORMS {
            let read = read_plan_from(&written(&file, form), form).unwrap();
            assert_eq!(read, file, "{form:?}");
            assert_eq!(read.plan.digest(), file.plan.digest());
            assert_eq!(written(&read, form), written(&file, form));
        }
    }
}

/// A plan that was read is assigned and resumed as the plan itself.
#[test]
fn a_plan_that_was_read_goes_on() {
    let lengths = lengths();
    let plan = Planner::new(Sorted, Budget::padded(300)).plan(&lengths, 1).unwrap();
    let schedule = plan.schedule(3).unwrap();
    let cursor = schedule.cursor(2).unwrap();
    for &form in FORMS {
        let bytes = written(&PlanFile::new(plan.clone(), &lengths), form);
        let read = read_plan_from(&bytes, form).unwrap().plan;
        assert_eq!(read.schedule(3).unwrap().all_ranks(), schedule.all_ranks());
        assert_eq!(read.schedule(3).unwrap().cursor(2).unwrap(), cursor);
        let [one, other] = [&read, &plan].map(|plan| plan.resume(&cursor, 5).unwrap().all_ranks());
        assert_eq!(one, other);
    }
}

/// More than the writer passes on at once.
#[test]
fn large_plans_are_sealed_as_well() {
    let lengths = Lengths::new((1..=60_000).collect::<Vec<u32>>()).unwrap();
    let plan = Planner::new(Sorted, Budget::sequences(3)).plan(&lengths, 0).unwrap();
    let file = PlanFile::new(plan, &lengths);
    for &form in FORMS {
        let bytes = written(&file, form);
        assert!(bytes.len() > 5 << 16);
        assert_eq!(read_plan_from(&bytes, form).unwrap(), file);
    }
}

/// An id can be anything, and as long as it likes.
#[test]
fn ids_are_kept_to_the_byte() {
    let lengths = lengths();
    let plan = Planner::new(Sorted, Budget::sequences(7)).plan(&lengths, 0).unwrap();
    let long = "l\u{e4}ng ".repeat(150_000);
    let ids: Vec<String> = (0..lengths.len())
        .map(|index| match index {
            7 => long.clone(),
            _ => format!("{index}\u{0}{}", char::from_u32(index as u32).unwrap()),
        })
        .collect();
    let file = PlanFile::new(plan, &lengths).ids(|index| &ids[index as usize]);
    for &form in FORMS {
        let read = read_plan_from(&written(&file, form), form).unwrap();
        assert_eq!(read, file);
        let found = read.ids.unwrap();
        for (place, &index) in read.plan.indices().iter().enumerate() {
            assert_eq!(found.get(place), Some(ids[index as usize].as_str()), "{form:?}");
        }
    }
}

/// Another number of ids is a mistake of the program, and no file.
#[test]
fn every_index_has_an_id() {
    let mut file = kinds().swap_remove(0);
    file.ids = Some(["only one"].into_iter().collect());
    for &form in FORMS {
        let error = file.write(form, &mut Vec::new()).unwrap_err();
        assert_eq!(error.to_string(), "the plan has 1 ids for 120 sequences");
    }
}

/// Without the feature, the error says so.
#[cfg(not(feature = "parquet"))]
#[test]
fn parquet_is_a_feature() {
    let error = Form::of_path("plan.parquet".as_ref()).unwrap_err();
    expect![[r#"
        plan.parquet: this build neither reads nor writes Parquet files
          name the file .json, .jsonl or .npz, or build with the feature `parquet`
    "#]]
    .assert_eq(&said(&error));
}

/// A disk that is full is the only thing that is said.
#[test]
fn errors_of_the_output_are_handed_on() {
    struct Full(usize);
    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    for &form in FORMS {
        let size = written(&kinds()[0], form).len();
        for room in (0..size).step_by(50) {
            let error = kinds()[0].write(form, &mut Full(room)).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::StorageFull, "{form:?} {room}");
        }
        kinds()[0].write(form, &mut Full(size)).unwrap();
    }
}

#[test]
fn files_are_saved_and_read_by_their_names() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    let file = &kinds()[0];
    let mut names = vec!["plan.json", "plan.jsonl", "PLAN.JSON", "plan.npz"];
    if cfg!(feature = "parquet") {
        names.push("plan.parquet");
    }
    for name in names {
        file.save(&path(name)).unwrap();
        assert_eq!(&read_plan(&path(name)).unwrap(), file);
    }
    assert_eq!(fs::read(path("plan.json")).unwrap(), written(file, Form::Json));
    assert_eq!(fs::read(path("plan.npz")).unwrap(), written(file, Form::Npz));
    fs::create_dir(path("folder.json")).unwrap();
    fs::write(path("empty.jsonl"), "").unwrap();
    let refused = ["folder.json", "empty.jsonl", "missing.json", "plan.txt", "plan"].map(|name| {
        let error = read_plan(&path(name)).unwrap_err();
        assert!(error.to_string().starts_with(&path(name).display().to_string()), "{error}");
        assert_eq!(error.is_damaged(), name == "empty.jsonl");
        said(&error).replace(&format!("{}/", folder.path().display()), "")
    });
    let unwritten = said(&file.save(&path("no/such/plan.json")).unwrap_err());
    let unwritten = unwritten.replace(&format!("{}/", folder.path().display()), "");
    expect![[r#"
        folder.json: cannot be read: is a directory
          name a file in it
        empty.jsonl: is cut off or not a plan: EOF while parsing a value at line 1 column 0
          make the plan again, or copy the file again from where it was made
        missing.json: there is no such file
          check the path
        plan.txt: unknown format of a plan
          name the file .json, .jsonl, .npz or .parquet
        plan: unknown format of a plan
          name the file .json, .jsonl, .npz or .parquet
        no/such/plan.json: there is no such folder
          nothing was written to it; check that the folder exists and can be written to
    "#]]
    .assert_eq(&(refused.concat() + &unwritten));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_plan_is_read_back(
        lengths in prop::collection::vec(1_u32..500, 8..80),
        count in 1_u32..9,
        chunk in prop::option::of(1_u32..100),
        (world_size, rank, take) in (1_u32..5, prop::option::of(0_u32..5), 0_usize..4),
        (seed, epoch) in any::<(u64, u64)>(),
        ids in prop::option::of(prop::collection::vec(any::<String>(), 1..9)),
    ) {
        let lengths = Lengths::new(lengths).unwrap();
        let chunks = chunk.map(|size| Chunks::new(&lengths, size).unwrap());
        let lengths = chunks.as_ref().map_or(&lengths, Chunks::lengths).clone();
        let planner = Planner::new(lengthwise::strategy::Shuffled, Budget::sequences(count)).seed(seed);
        let plan = planner.plan(&lengths, epoch).unwrap();
        let schedule = plan.schedule(world_size).unwrap();
        let taken = schedule.clone().first(take.min(schedule.len())).unwrap();
        let rank = rank.filter(|&rank| rank < world_size);
        let mine = rank.map_or(taken.all_ranks(), |rank| taken.for_rank(rank).unwrap());
        let mut ranks = Ranks::of(&taken, rank, &lengths);
        ranks.steps_left = (schedule.len() - taken.len()) as u64;
        let mut file = PlanFile::new(mine, &lengths).ranks(ranks);
        file.chunks = chunks;
        if let Some(ids) = &ids {
            file = file.ids(|index| ids[index as usize % ids.len()].as_str());
        }
        for &form in FORMS {
            prop_assert_eq!(&read_plan_from(&written(&file, form), form).unwrap(), &file);
        }
    }
}

/// A release that knows no second lengths must not take the file for one of the first.
#[test]
fn files_of_two_lengths_have_versions_of_their_own() {
    let plain = of_pairs().swap_remove(0);
    let with_ids = plain.clone().ids(|_| "a");
    for (file, version) in [(&plain, 3), (&with_ids, 4)] {
        for form in TEXTS {
            let text = String::from_utf8(written(file, form)).unwrap();
            assert!(text.contains(&format!("\"version\":{version},")), "{form:?}");
            // The checksum is of the version too.
            let other = text.replacen(&format!("\"version\":{version},"), "\"version\":1,", 1);
            assert!(read_plan_from(other.as_bytes(), form).is_err(), "{form:?}");
        }
        for &form in FORMS {
            let read = read_plan_from(&written(file, form), form).unwrap();
            let lengths = read.plan.second_batch_lengths().unwrap();
            assert_eq!(Some(lengths), file.plan.second_batch_lengths(), "{form:?}");
            assert_eq!(read.second_positions, file.second_positions, "{form:?}");
        }
    }
}

/// A file says that there are groups, and not which: with its lengths, a plan goes on as if it had not been written.
#[test]
fn plans_of_groups_go_on_with_their_lengths() {
    let (lengths, files) = of_groups();
    for (file, form) in files.iter().flat_map(|file| FORMS.iter().map(move |&form| (file, form))) {
        let read = read_plan_from(&written(file, form)[..], form).unwrap().plan;
        assert_eq!(read.provenance(), file.plan.provenance(), "{form:?}");
        assert!(read.provenance().grouped);
        assert_eq!(read.schedule(2).unwrap_err(), lengthwise::Error::NoPlanLengths);
        let whole = read.with_lengths(&lengths).unwrap();
        let [one, other] = [&whole, &file.plan].map(|plan| plan.schedule(2).unwrap());
        assert_eq!(one.all_ranks(), other.all_ranks(), "{form:?}");
        let cursor = one.cursor(1).unwrap();
        let rest = file.plan.resume(&cursor, 1).unwrap();
        assert_eq!(whole.resume(&cursor, 1).unwrap().all_ranks(), rest.all_ranks(), "{form:?}");
    }
}
