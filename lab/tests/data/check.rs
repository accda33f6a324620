//! What is refused before anything is learnt from it.

use lengthwise_lab::data::{Dataset, Inputs, Ragged, Targets, Task, Words, steps_needed};

fn ragged<T: Copy>(width: usize, sequences: &[&[T]]) -> Ragged<T> {
    let mut values = Ragged::new(width);
    for sequence in sequences {
        values.push(sequence.iter().copied());
    }
    values
}

fn names(count: usize) -> Vec<String> {
    (0..count).map(|name| name.to_string()).collect()
}

fn frames() -> Inputs {
    Inputs::Frames(ragged(2, &[&[0.5; 6], &[-0.5; 4]]))
}

fn labels(values: &[&[u32]], words: Option<Words>) -> Targets {
    Targets::Labels { names: names(3), values: ragged(1, values), words }
}

fn transcripts(values: &[&[u32]]) -> Targets {
    Targets::Transcripts { names: names(3), values: ragged(1, values) }
}

fn classes(values: &[u32]) -> Targets {
    Targets::Classes { names: names(3), values: values.to_vec() }
}

/// What is said about a task of which both parts are this.
fn said(inputs: Inputs, targets: Targets) -> String {
    let training = Dataset { inputs, targets };
    let validation = training.clone();
    let task = Task { name: "test".into(), source: "here".into(), training, validation };
    task.check().map_or_else(|error| error.to_string(), |()| "right".into())
}

#[test]
fn what_can_be_learnt_is_right() {
    assert_eq!(said(frames(), labels(&[&[0, 1, 2], &[2, 2]], None)), "right");
    assert_eq!(said(frames(), transcripts(&[&[0, 0], &[1, 2]])), "right");
    assert_eq!(said(frames(), classes(&[0, 2])), "right");
    assert_eq!(said(frames(), Targets::Frames(ragged(1, &[&[1.0; 9], &[2.0; 7]]))), "right");
    let symbols = Inputs::Symbols { names: names(2), values: ragged(1, &[&[0, 1], &[1]]) };
    assert_eq!(said(symbols, classes(&[0, 2])), "right");
}

#[test]
fn features_must_be_finite() {
    let inputs = Inputs::Frames(ragged(2, &[&[0.0; 6], &[0.0, 1.0, 2.0, f32::NAN]]));
    assert_eq!(
        said(inputs, classes(&[0, 1])),
        "here: training sequence 1 has NaN at position 1, feature 1"
    );
    let targets = Targets::Frames(ragged(1, &[&[1.0; 9], &[2.0, f32::INFINITY]]));
    assert_eq!(
        said(frames(), targets),
        "here: training sequence 1 has inf at position 1, target feature 0"
    );
}

#[test]
fn every_sequence_must_have_positions_and_a_target() {
    let none = Inputs::Frames(Ragged::new(2));
    assert_eq!(said(none, classes(&[])), "here: the training part has no sequences");
    let empty = Inputs::Frames(ragged(1, &[&[1.0][..], &[]]));
    assert_eq!(said(empty, classes(&[0, 1])), "here: training sequence 1 has no positions");
    assert_eq!(
        said(frames(), classes(&[0])),
        "here: the training part has 2 sequences and 1 targets"
    );
    let empty = Targets::Frames(ragged(1, &[&[1.0][..], &[]]));
    assert_eq!(said(frames(), empty), "here: training sequence 1 has no target frames");
}

#[test]
fn numbers_must_have_names() {
    let inputs = Inputs::Symbols { names: names(2), values: ragged(1, &[&[0, 1, 1], &[0, 2]]) };
    assert_eq!(
        said(inputs, classes(&[0, 1])),
        "here: training sequence 1 has symbol 2 at position 1, and there are 2 names"
    );
    assert_eq!(
        said(frames(), labels(&[&[0, 1, 3], &[2, 2]], None)),
        "here: training sequence 0 has label 3 at position 2, and there are 3 names"
    );
    assert_eq!(
        said(frames(), classes(&[0, 3])),
        "here: training sequence 1 has class 3, and there are 3 class names"
    );
}

#[test]
fn there_are_as_many_labels_as_positions() {
    assert_eq!(
        said(frames(), labels(&[&[0, 1, 2], &[2]], None)),
        "here: training sequence 1 has 2 positions and 1 label"
    );
}

#[test]
fn transcripts_must_fit_into_their_steps() {
    assert_eq!((steps_needed(&[1, 1, 1]), steps_needed(&[1, 2, 1]), steps_needed(&[])), (5, 3, 0));
    assert_eq!(
        said(frames(), transcripts(&[&[0, 1, 1], &[1, 2]])),
        "here: training sequence 0 has 3 steps, and its transcript needs 4: 3 symbols and 1 blank \
         between repeated ones"
    );
    assert_eq!(
        said(frames(), transcripts(&[&[0, 1], &[]])),
        "here: training sequence 1 has an empty transcript"
    );
}

#[test]
fn words_must_have_states_and_be_spoken() {
    let right = Words {
        names: names(2),
        states: vec![vec![0], vec![1, 2]],
        spoken: ragged(1, &[&[0, 1], &[1]]),
    };
    let said = |words| said(frames(), labels(&[&[0, 1, 2], &[1, 2]], Some(words)));
    assert_eq!(said(right.clone()), "right");
    let words = Words { states: vec![vec![0]], ..right.clone() };
    assert_eq!(said(words), "here: there are 2 words, and states of 1");
    let words = Words { states: vec![vec![0], vec![]], ..right.clone() };
    assert_eq!(said(words), "here: the word `1` has no states");
    let words = Words { states: vec![vec![0], vec![5]], ..right.clone() };
    assert_eq!(said(words), "here: the word `1` has state 5, and there are 3 labels");
    let words = Words { spoken: ragged(1, &[&[0]]), ..right.clone() };
    assert_eq!(said(words), "here: the training part has 2 sequences, and words of 1");
    let words = Words { spoken: ragged(1, &[&[0], &[7]]), ..right };
    assert_eq!(
        said(words),
        "here: training sequence 1 has word 7 at position 0, and there are 2 names"
    );
}

#[test]
fn both_parts_must_be_alike() {
    let said = |training: Dataset, validation: Dataset| {
        let task = Task { name: "test".into(), source: "here".into(), training, validation };
        task.check().unwrap_err().to_string()
    };
    let plain = Dataset { inputs: frames(), targets: classes(&[0, 1]) };
    let wide = Dataset { inputs: Inputs::Frames(ragged(1, &[&[1.0], &[2.0]])), ..plain.clone() };
    assert_eq!(
        said(plain.clone(), wide),
        "here: the training part has 2 features and the validation part 1 features"
    );
    let renamed =
        Targets::Classes { names: ["0", "2", "1"].map(String::from).to_vec(), values: vec![0, 1] };
    let renamed = Dataset { targets: renamed, ..plain.clone() };
    assert_eq!(
        said(plain.clone(), renamed),
        "here: the names of the two parts differ, or their order"
    );
    let none = Dataset { inputs: Inputs::Frames(Ragged::new(2)), targets: classes(&[]) };
    assert_eq!(said(plain, none), "here: the validation part has no sequences");
}
