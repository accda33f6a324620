//! Plans that are written and read batch by batch.

use std::{fs, path::PathBuf};

use lengthwise::{
    Budget, Lengths, OverLong, Pairs, Planner, Shapes, Strategy, Workspace, strategy::Paired,
};
use lengthwise_io::{Error, Form, PlanFile, PlanStream, SpanPlanFile, StreamedBatch};

use crate::files::common::{FORMS, kinds, lengths, written};

fn extension(form: Form) -> &'static str {
    match form {
        Form::Json => "json",
        Form::JsonLines => "jsonl",
        Form::Npz => "npz",
        _ => "parquet",
    }
}

/// A file of its own for every test, gone at its end.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, form: Form, bytes: &[u8]) -> PathBuf {
        let path = self.0.path().join(format!("plan.{}", extension(form)));
        fs::write(&path, bytes).unwrap();
        path
    }
}

fn streamed(path: &std::path::Path) -> Result<Vec<StreamedBatch>, Error> {
    PlanStream::open(path)?.collect()
}

#[test]
fn loose_plans_are_the_same_bytes() {
    let own = lengths();
    let many = Lengths::new(own.as_slice().repeat(40)).unwrap();
    for lengths in [&own, &many] {
        for strategy in Strategy::all_of_one_length() {
            for over_long in [OverLong::Alone, OverLong::Drop, OverLong::Truncate] {
                let planner = Planner::new(strategy.clone(), Budget::padded(90))
                    .shapes(Shapes::Multiple(8))
                    .over_long(over_long);
                let workspace = Workspace::new().threads(2).memory(1 << 30);
                let loose = planner.spans_in(&workspace, lengths, 1).unwrap();
                let positions = loose.positions(&workspace, lengths);
                let plain = PlanFile::new(planner.plan(lengths, 1).unwrap(), lengths);
                for &form in FORMS {
                    let mut bytes = Vec::new();
                    let file = SpanPlanFile { plan: &loose, positions: &positions };
                    file.write(form, &mut bytes).unwrap();
                    assert!(bytes == written(&plain, form), "{strategy} {over_long} {form:?}");
                }
            }
        }
    }
}

#[test]
fn positions_of_other_batches_are_refused() {
    let (lengths, workspace) = (lengths(), Workspace::new());
    let planner = Planner::new(lengthwise::strategy::Sorted, Budget::padded(400));
    let loose = planner.spans_in(&workspace, &lengths, 1).unwrap();
    let file = SpanPlanFile { plan: &loose, positions: &[1] };
    let error = file.write(Form::Npz, &mut Vec::new()).unwrap_err().to_string();
    assert!(error.contains("positions of 1 batches"), "{error}");
}

#[test]
fn loose_plans_of_two_lengths_are_refused() {
    let (lengths, workspace) = (lengths(), Workspace::new());
    let pairs = Pairs::new(lengths.clone(), lengths).unwrap();
    let planner = Planner::new(Paired::default(), Budget::padded(800));
    let loose = planner.spans_in(&workspace, &pairs, 1).unwrap();
    let positions = loose.positions(&workspace, &pairs);
    let file = SpanPlanFile { plan: &loose, positions: &positions };
    let error = file.write(Form::Npz, &mut Vec::new()).unwrap_err().to_string();
    assert!(error.contains("two lengths"), "{error}");
}

#[test]
fn batches_come_as_they_were_written() {
    let place = Place::new();
    for file in kinds() {
        for &form in FORMS {
            let path = place.file(form, &written(&file, form));
            let whole = file.ids.is_some() || file.chunks.is_some() || file.ranks.is_some();
            let whole = whole || file.plan.second_batch_lengths().is_some();
            if whole || form == Form::Json {
                let error = streamed(&path).unwrap_err();
                assert!(!error.is_damaged(), "{error}");
                assert!(error.to_string().contains("batch"), "{error}");
                continue;
            }
            let mut stream = PlanStream::open(&path).unwrap();
            let batches: Vec<_> = stream.by_ref().map(Result::unwrap).collect();
            assert_eq!(stream.provenance(), file.plan.provenance());
            assert_eq!(stream.digest(), file.plan.digest());
            assert_eq!(stream.over_long(), file.plan.over_long().1);
            let sequences = batches.iter().map(|batch| &batch.sequences[..]);
            assert!(sequences.eq(&file.plan));
            let lengths = batches.iter().map(|batch| batch.length);
            assert!(lengths.eq(file.plan.batch_lengths().iter().copied()));
            assert!(batches.iter().map(|batch| batch.positions).eq(file.positions.clone()));
        }
    }
}

/// Every byte that is wrong is found, or changes nothing of what is said; every cut is found.
#[test]
fn damage_is_found_at_the_end() {
    let place = Place::new();
    let lengths = Lengths::new([5, 9, 4, 7, 7, 1, 3]).unwrap();
    let planner =
        Planner::new(lengthwise::strategy::Sorted, Budget::padded(8)).over_long(OverLong::Drop);
    let file = PlanFile::new(planner.plan(&lengths, 0).unwrap(), &lengths);
    for &form in FORMS.iter().filter(|&&form| form != Form::Json) {
        let right = written(&file, form);
        let expected = streamed(&place.file(form, &right)).unwrap();
        for at in 0..right.len() {
            let mut wrong = right.clone();
            wrong[at] ^= 0x10;
            // What the checksum is not of, such as a date in a zip, may be anything.
            if let Ok(found) = streamed(&place.file(form, &wrong)) {
                assert_eq!(found, expected, "{form:?} at {at}");
            }
            assert!(streamed(&place.file(form, &right[..at])).is_err(), "{form:?} cut at {at}");
        }
    }
}

#[test]
fn what_is_not_there_is_said() {
    let place = Place::new();
    let error = PlanStream::open(&place.0.path().join("none.npz")).unwrap_err();
    assert!(error.to_string().ends_with("none.npz: there is no such file"), "{error}");
    fs::create_dir(place.0.path().join("folder.npz")).unwrap();
    let error = PlanStream::open(&place.0.path().join("folder.npz")).unwrap_err();
    assert_eq!(error.hint().unwrap(), "name a file in it");
}
