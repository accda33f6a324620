//! The files that lengthwise writes: plans of every form, cursors, states of streams, statistics and cost models.
//!
//! The first byte of an input is the kind of file. A file that is refused for its checksum gets the right one, as anyone
//! can make such a file: what is behind the checksums must hold by itself.

use std::sync::{Arc, OnceLock};

use lengthwise::shard::{Shard, Statistics};
use lengthwise::strategy::Blurred;
use lengthwise::stream::{StreamState, Streamer};
use lengthwise::{Budget, CostModel, Cursor, Example, Lengths, Plan, Planner, Shapes};
use lengthwise_io::{
    Error, Form, PlanFile, PlanStream, from_json, read_cost_model, read_plan_exact_from,
    read_plan_from, statistics_from_bytes, statistics_to_bytes, stream_from_json, stream_to_json,
    to_json,
};

use crate::arrays::written;
use crate::tables::{check_line, check_refusal};
use crate::{settings, zip};

pub(crate) fn run(data: &[u8]) {
    let [kind, file @ ..] = data else { return };
    match kind {
        b'j' => plan(file, Form::Json, "json"),
        b'l' => plan(file, Form::JsonLines, "jsonl"),
        b'z' => plan(file, Form::Npz, "npz"),
        b'p' => plan(file, Form::Parquet, "parquet"),
        b'c' => cursor(file),
        b's' => state(file),
        b't' => statistics(file),
        b'm' => cost_model(file),
        _ => {}
    }
}

/// What `read` makes of a file, and the file, with the checksums that its content has.
fn forged<T>(file: &[u8], read: impl Fn(&[u8]) -> Result<T, Error>) -> (Result<T, Error>, Vec<u8>) {
    let mut file = file.to_vec();
    let mut tries = 0;
    loop {
        zip::repair(&mut file);
        let read = read(&file);
        let message = read.as_ref().err().map(Error::to_string).unwrap_or_default();
        let digits =
            |word: &&str| word.len() == 16 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        let words: Vec<&str> = message.split([' ', ',', ':']).filter(digits).collect();
        match words[..] {
            // A plan has a digest and a checksum of all, and may have a cursor, which has one too.
            [given, right] if tries < 4 => replace(&mut file, given, right),
            _ => return (read, file),
        }
        tries += 1;
    }
}

/// Puts the digits of one checksum where the other is: as text, or as the last eight bytes.
fn replace(file: &mut [u8], given: &str, right: &str) {
    let number = |digits: &str| u64::from_str_radix(digits, 16).unwrap_or_default().to_le_bytes();
    if file.ends_with(&number(given)) {
        let at = file.len() - 8;
        file[at..].copy_from_slice(&number(right));
    }
    for at in 0..=file.len().saturating_sub(16) {
        if file[at..].starts_with(given.as_bytes()) {
            file[at..at + 16].copy_from_slice(right.as_bytes());
        }
    }
}

fn plan(bytes: &[u8], form: Form, extension: &str) {
    let (read, bytes) = forged(bytes, |bytes| read_plan_from(bytes, form));
    let path = written(&bytes, extension);
    let streamed = PlanStream::open(&path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    if let (Ok(file), Ok(batches)) = (&read, &streamed) {
        let whole = file.plan.iter().zip(file.plan.batch_lengths()).zip(&file.positions);
        let same =
            batches.iter().map(|batch| ((&batch.sequences[..], &batch.length), &batch.positions));
        assert!(whole.eq(same));
    }
    if let Err(error) = &streamed {
        check_refusal(error, "lengthwise-fuzz");
    }
    match read {
        Ok(file) => {
            _ = read_plan_exact_from(&bytes, form);
            check_plan(&file);
        }
        Err(error) => check_refusal(&error, ""),
    }
}

fn check_plan(file: &PlanFile) {
    let plan = &file.plan;
    assert_eq!(plan.len(), file.positions.len());
    assert_eq!(plan.iter().map(<[u32]>::len).sum::<usize>(), plan.indices().len());
    assert!(plan.iter().all(|batch| !batch.is_empty()));
    if let Some(ids) = &file.ids {
        assert_eq!(ids.len(), plan.indices().len());
    }
    for form in [Form::Json, Form::JsonLines, Form::Npz, Form::Parquet] {
        let mut bytes = Vec::new();
        file.write(form, &mut bytes).expect("memory takes it");
        let again =
            read_plan_from(&bytes, form).unwrap_or_else(|error| panic!("{form:?}: {error}"));
        assert!(again == *file, "{form:?}: {again:?}\n{file:?}");
    }
    for ranks in [1, 3, 1000] {
        match plan.schedule(ranks) {
            Ok(schedule) => assert!(schedule.len() <= plan.indices().len()),
            Err(error) => settings::check_refusal(&error),
        }
    }
}

fn known() -> &'static (Lengths, Plan) {
    static KNOWN: OnceLock<(Lengths, Plan)> = OnceLock::new();
    KNOWN.get_or_init(|| {
        let lengths = Lengths::new((0..300).map(|i: u32| 1 + i * i % 97).collect::<Vec<u32>>());
        let lengths = lengths.expect("none is 0");
        let planner = Planner::new(Blurred::default(), Budget::padded(400));
        let plan = planner.plan(&lengths, 1).expect("the budget holds the longest");
        (lengths, plan)
    })
}

fn cursor(bytes: &[u8]) {
    let (read, _) = forged(bytes, |bytes| from_json(&String::from_utf8_lossy(bytes)));
    let cursor = match read {
        Ok(cursor) => cursor,
        Err(error) => return check_refusal(&error, ""),
    };
    assert_eq!(from_json(&to_json(&cursor)).as_ref().ok(), Some(&cursor));
    let (lengths, plan) = known();
    // The cursor of this plan, but for the steps that were taken.
    let own =
        plan.schedule(1).and_then(|schedule| schedule.cursor(0)).expect("a plan has a beginning");
    let own = Cursor { segments: cursor.segments, ..own };
    for ranks in [1, 2, 7] {
        match plan.resume(&own, ranks) {
            Ok(rest) => {
                let mut seen = rest.all_ranks().indices().to_vec();
                let (all, repeated) = (seen.len(), rest.repeated().len());
                seen.sort_unstable();
                seen.dedup();
                assert!(seen.len() <= lengths.len() && all - seen.len() <= repeated);
                let here = rest.cursor(0).expect("it stands somewhere");
                assert_eq!(here.steps(), own.steps());
            }
            Err(error) => settings::check_refusal(&error),
        }
    }
}

fn state(bytes: &[u8]) {
    let (read, _) = forged(bytes, |bytes| stream_from_json(&String::from_utf8_lossy(bytes)));
    let state = match read {
        Ok(state) => state,
        Err(error) => return check_refusal(&error, ""),
    };
    assert_eq!(stream_from_json(&stream_to_json(&state)).as_ref().ok(), Some(&state));
    assert!(
        state.held.is_sorted_by(|a, b| a < b)
            && state.held.last().is_none_or(|&last| last < state.read)
    );
    for shapes in [Shapes::Exact, Shapes::Ladder(4)] {
        let streamer = Streamer::new(Budget::padded(300)).shapes(shapes).window(40);
        let own = streamer.feed().expect("the settings are right").state();
        let own = StreamState {
            settings: own.settings,
            seed: own.seed,
            epoch: own.epoch,
            ..state.clone()
        };
        let resumed =
            streamer.resume_over(&own, (0..200).map(|i: u32| 1 + i * i % 97), |&length| length);
        match resumed {
            Ok(batches) => {
                for batch in batches.take(1000) {
                    match batch {
                        Ok(batch) => {
                            assert!(batch.items.iter().all(|&length| length <= batch.length));
                        }
                        Err(error) => settings::check_refusal(&error),
                    }
                }
            }
            Err(error) => settings::check_refusal(&error),
        }
    }
}

fn statistics(bytes: &[u8]) {
    let statistics = match forged(bytes, statistics_from_bytes).0 {
        Ok(statistics) => statistics,
        Err(error) => return check_refusal(&error, ""),
    };
    let again = statistics_from_bytes(&statistics_to_bytes(&statistics));
    assert_eq!(again.as_ref().ok(), Some(&statistics));
    let (lengths, _) = known();
    let planner =
        Planner::new(Blurred::default(), Budget::padded(400)).shard(Shard { number: 0, of: 3 });
    let other = Statistics::of(&Example::Speech.lengths());
    for merged in [Ok(statistics.clone()), statistics.merge(&statistics), statistics.merge(&other)]
    {
        let parts = merged.and_then(|merged| lengths.clone().part_of(Arc::new(merged)));
        let outcome = parts.and_then(|part| {
            planner.needs(&part)?;
            planner.plan(&part, 0)
        });
        match outcome {
            Ok(plan) => assert_eq!(plan.indices().len() + plan.left_out().len(), lengths.len()),
            Err(error) => settings::check_refusal(&error),
        }
    }
}

fn cost_model(bytes: &[u8]) {
    match read_cost_model(&written(bytes, "json")) {
        Ok(model) => {
            let printed = model.to_string();
            assert_eq!(printed.parse::<CostModel>().as_ref(), Ok(&model), "{printed}");
            check_line(&printed);
        }
        Err(error) => check_refusal(&error, "lengthwise-fuzz"),
    }
}
