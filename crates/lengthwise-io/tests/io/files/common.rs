//! Plans of all kinds, and their files in memory.

use lengthwise::{
    Budget, Chunks, Lengths, OverLong, Pairs, Planner, Shapes, Strategy, Tail, Update,
    groups::{Mix, OneKind, Together},
    strategy::{Paired, Sorted},
};
use lengthwise_io::{Error, Form, PlanFile, Ranks, read_plan_from};

pub(crate) const FORMS: &[Form] = &[
    Form::Json,
    Form::JsonLines,
    Form::Npz,
    #[cfg(feature = "parquet")]
    Form::Parquet,
];

/// Those that can be read as they are.
pub(crate) const TEXTS: [Form; 2] = [Form::Json, Form::JsonLines];

pub(crate) fn lengths() -> Lengths {
    Lengths::new((0..120).map(|i: u32| 1 + i * i % 97).collect::<Vec<u32>>()).unwrap()
}

pub(crate) fn written(file: &PlanFile, form: Form) -> Vec<u8> {
    let mut bytes = Vec::new();
    file.write(form, &mut bytes).unwrap();
    bytes
}

/// What is said of content that must be refused as damaged.
pub(crate) fn refusal(bytes: &[u8], form: Form) -> String {
    lengthwise_io::guard::quiet_panics();
    let error = read_plan_from(bytes, form).unwrap_err();
    assert!(error.is_damaged(), "{error}");
    said(&error)
}

/// Message and hint.
pub(crate) fn said(error: &Error) -> String {
    let text = format!("{error}\n  {}\n", error.hint().unwrap());
    assert_eq!(text.lines().count(), 2, "one line each: {text}");
    text
}

/// A file with pieces, over-long ones and ranks, small enough to damage it in every place.
pub(crate) fn small() -> PlanFile {
    let lengths = Lengths::new([5, 9, 4, 7, 7, 1, 3]).unwrap();
    let chunks = Chunks::new(&lengths, 6).unwrap();
    let planner = Planner::new(Sorted, Budget::padded(5)).over_long(OverLong::Truncate);
    let plan = planner.plan(chunks.lengths(), 0).unwrap();
    let schedule = plan.schedule(2).unwrap();
    PlanFile::new(schedule.all_ranks(), chunks.lengths())
        .ranks(Ranks::of(&schedule, None, chunks.lengths()))
        .chunks(chunks)
}

/// Ids that are hard to write down: what ends a line or a text, steers a terminal, looks like the end
/// of a file, or takes several bytes.
const IDS: [&str; 9] = [
    "utt-1",
    "\"quoted\", and\nlines\r\n",
    "",
    "\0zeros at the end\0\0",
    "\u{1b}[2J\u{7f}\u{85}\u{2028}",
    "ä😀\u{fffd}",
    "\\\\n\\u0000",
    "{\"version\":1},\"checksum\":\"0000000000000000\"}\n",
    "PK\u{3}\u{4}PAR1",
];

/// The file with ids.
pub(crate) fn named(file: PlanFile) -> PlanFile {
    let chunks = file.chunks.clone();
    let sequence =
        |index| chunks.as_ref().map_or(index, |chunks| chunks.get(index).unwrap().sequence);
    file.ids(|index| IDS[sequence(index) as usize % IDS.len()])
}

/// Plain files, with over-long sequences, with pieces, of one rank, and of all; without ids, and with.
pub(crate) fn kinds() -> Vec<PlanFile> {
    let lengths = lengths();
    let mut files = Vec::new();
    for strategy in Strategy::all_of_one_length() {
        for shapes in ["exact", "multiple:8", "ladder:4", "ladder:50/100"] {
            let shapes: Shapes = shapes.parse().unwrap();
            let planner =
                Planner::new(strategy.clone(), Budget::padded(400)).shapes(shapes).seed(u64::MAX);
            let plan = planner.plan(&lengths, 5).unwrap();
            files.push(PlanFile::new(plan, &lengths));
        }
    }
    for over_long in [OverLong::Alone, OverLong::Drop, OverLong::Truncate] {
        let planner = Planner::new(Sorted, Budget::padded(60).at_most(9)).over_long(over_long);
        files.push(PlanFile::new(planner.plan(&lengths, 0).unwrap(), &lengths));
    }
    let budget = "cost:a=0.1,b=2e-17,c=0.30000000000000004,d=0,limit=33.3,multiple-of=2";
    let planner = Planner::new(Sorted, budget.parse().unwrap()).batches(100);
    files.push(PlanFile::new(planner.plan(&lengths, u64::MAX).unwrap(), &lengths));
    for size in [7, 1000] {
        let chunks = Chunks::new(&lengths, size).unwrap();
        let planner =
            Planner::new(Sorted, Budget::padded(90)).over_long(OverLong::Drop).canonical_ranks(4);
        let plan = planner.plan(chunks.lengths(), 0).unwrap();
        files.push(PlanFile::new(plan, chunks.lengths()).chunks(chunks));
    }
    for strategy in ["proportional", "shuffled"] {
        let planner = Planner::new(strategy.parse::<Strategy>().unwrap(), Budget::padded(300))
            .canonical_ranks(2)
            .update(Update::Tokens(1000));
        let schedule = planner.plan(&lengths, 1).unwrap().schedule(2).unwrap();
        let ranks = Ranks::of(&schedule, None, &lengths);
        files.push(PlanFile::new(schedule.all_ranks(), &lengths).ranks(ranks));
    }
    files.extend(Tail::ALL.into_iter().flat_map(assigned));
    files.extend(of_pairs());
    files.extend(of_groups().1);
    let with_ids: Vec<PlanFile> = files.iter().cloned().map(named).collect();
    files.extend(with_ids);
    files
}

/// Files of sequences with two lengths: whole, of all ranks, and of one.
pub(crate) fn of_pairs() -> Vec<PlanFile> {
    let second = (0..120).map(|i: u32| 1 + i * 7 % 31).collect::<Vec<u32>>();
    let pairs = Pairs::new(lengths(), Lengths::new(second).unwrap()).unwrap();
    let budget = "padded:300,first=260,max=240".parse().unwrap();
    let shapes = "multiple:4+ladder:3".parse().unwrap();
    let planner = Planner::new(Paired::default(), budget).shapes(shapes).over_long(OverLong::Drop);
    let plan = planner.plan(&pairs, 2).unwrap();
    let schedule = plan.schedule(3).unwrap();
    let file = |plan| PlanFile::new(plan, &pairs);
    vec![
        file(plan.clone()),
        file(schedule.all_ranks()).ranks(Ranks::of(&schedule, None, &pairs)),
        file(schedule.for_rank(1).unwrap()).ranks(Ranks::of(&schedule, Some(1), &pairs)),
    ]
}

/// Lengths of sequences that stay together in threes and have kinds, and their files: groups that share a batch, a mix,
/// and groups that share a rank.
pub(crate) fn of_groups() -> (Lengths, Vec<PlanFile>) {
    let ids = |each| (0..120).map(|i: u32| i / each).collect::<Vec<u32>>();
    let lengths = lengths().together(&ids(3)).unwrap().kinds(&ids(60)).unwrap();
    let planner =
        |strategy: &str| Planner::new(strategy.parse::<Strategy>().unwrap(), Budget::padded(400));
    let plain = planner("blurred");
    let mixed = planner("packed").mix(Mix::new([0.25, 2.0]).unwrap());
    let by_rank = planner("proportional").share(Together::Rank).one_kind(OneKind::Step);
    let mut files: Vec<PlanFile> = [plain, mixed]
        .map(|planner| PlanFile::new(planner.plan(&lengths, 3).unwrap(), &lengths))
        .into();
    let schedule = by_rank.for_ranks(2).plan(&lengths, 3).unwrap().schedule(2).unwrap();
    let ranks = Ranks::of(&schedule, None, &lengths);
    files.push(PlanFile::new(schedule.all_ranks(), &lengths).ranks(ranks));
    (lengths, files)
}

/// Files of all ranks, of one, of the beginning of an epoch, and of its rest.
fn assigned(tail: Tail) -> Vec<PlanFile> {
    let lengths = lengths();
    let planner = Planner::new(Sorted, Budget::sequences(7)).tail(tail).accumulate(2);
    let plan = planner.plan(&lengths, 1).unwrap();
    let whole = plan.schedule(4).unwrap();
    let begun = whole.clone().first(1).unwrap();
    let cursor = whole.cursor(1).unwrap();
    let rest = plan.resume(&cursor, 3).unwrap();
    let file = |plan| PlanFile::new(plan, &lengths);
    let mut more = Ranks::of(&begun, None, &lengths);
    more.steps_left = whole.len() as u64 - 1;
    let mut continued = Ranks::of(&rest, Some(0), &lengths);
    continued.cursor = Some(cursor);
    vec![
        file(whole.all_ranks()).ranks(Ranks::of(&whole, None, &lengths)),
        file(whole.for_rank(3).unwrap()).ranks(Ranks::of(&whole, Some(3), &lengths)),
        file(begun.all_ranks()).ranks(more),
        file(rest.for_rank(0).unwrap()).ranks(continued),
    ]
}
