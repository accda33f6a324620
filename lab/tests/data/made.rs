//! Sequences that are made: the same for everybody, of the lengths that are promised.

use expect_test::expect;
use lengthwise_lab::data::{
    Inputs, Ragged, Targets, Task, documents, handwriting, speech, tags, voice,
};

/// How lengths are spread: their mean, their standard deviation over it, and the longest over it.
fn spread(lengths: &[usize]) -> (f64, f64, f64) {
    let count = lengths.len() as f64;
    let mean = lengths.iter().sum::<usize>() as f64 / count;
    let variance =
        lengths.iter().map(|&length| (length as f64 - mean).powi(2)).sum::<f64>() / count;
    let longest = lengths.iter().copied().fold(0, usize::max) as f64;
    (mean, variance.sqrt() / mean, longest / mean)
}

fn lengths<T>(values: &Ragged<T>) -> Vec<usize> {
    (0..values.len()).map(|sequence| values.length(sequence)).collect()
}

/// A number that is another one when any length is.
fn digest(lengths: impl IntoIterator<Item = usize>) -> u64 {
    lengths.into_iter().fold(0xCBF2_9CE4_8422_2325, |hash, length| {
        (hash ^ length as u64).wrapping_mul(0x0100_0000_01B3)
    })
}

/// The bits of the first frames, added up: values are the same everywhere, not only lengths.
fn bits(values: &Ragged<f32>) -> u64 {
    digest(values.values().iter().take(2000).map(|value| value.to_bits() as usize))
}

fn frames(task: &Task) -> &Ragged<f32> {
    match &task.training.inputs {
        Inputs::Frames(values) => values,
        Inputs::Symbols { .. } => panic!("symbols"),
    }
}

/// Whether every feature is around 0 and of about the size of 1.
fn assert_scaled(values: &Ragged<f32>) {
    let rows = values.rows() as f64;
    for feature in 0..values.width() {
        let column =
            || values.values().iter().skip(feature).step_by(values.width()).map(|&x| f64::from(x));
        let mean = column().sum::<f64>() / rows;
        let deviation = (column().map(|x| (x - mean).powi(2)).sum::<f64>() / rows).sqrt();
        assert!(mean.abs() < 0.8, "feature {feature} has mean {mean}");
        assert!((0.3..2.0).contains(&deviation), "feature {feature} deviates by {deviation}");
    }
}

#[test]
fn handwriting_is_as_long_as_promised() {
    let task = handwriting::make(&handwriting::Settings::default());
    task.check().unwrap();
    let points = frames(&task);
    assert_eq!(points.width(), handwriting::FEATURES.len());
    let (mean, cv, longest) = spread(&lengths(points));
    assert!((55.0..75.0).contains(&mean), "{mean}");
    assert!((0.6..0.8).contains(&cv), "{cv}");
    assert!((3.0..4.2).contains(&longest), "{longest}");
    let Targets::Transcripts { names, values } = &task.training.targets else { panic!() };
    let a_letter = points.rows() as f64 / values.rows() as f64;
    assert!((6.0..8.0).contains(&a_letter), "{a_letter} points a letter");
    assert_eq!(names.len(), 27);
    let used = |symbol| values.values().contains(&symbol);
    assert!((0..27).all(used), "every letter and the space is written");
    assert_scaled(points);
}

#[test]
fn handwriting_lifts_the_pen_at_the_end_and_between_words() {
    let task = handwriting::make(&handwriting::Settings::default());
    let points = frames(&task);
    let Targets::Transcripts { values, .. } = &task.training.targets else { panic!() };
    for sequence in 0..points.len() {
        let rows = points.get(sequence).as_chunks::<6>().0;
        assert!(rows[rows.len() - 1][2] > 0.0);
        let lifts = rows.iter().filter(|row| row[2] > 0.0).count();
        let spaces = values.get(sequence).iter().filter(|&&symbol| symbol == 0).count();
        assert!(lifts > spaces, "{lifts} lifts, {spaces} spaces");
    }
}

#[test]
fn speech_is_as_long_as_promised() {
    let task = speech::make(&speech::Settings::default());
    task.check().unwrap();
    let (mean, cv, longest) = spread(&lengths(frames(&task)));
    assert!((100.0..150.0).contains(&mean), "{mean}");
    assert!((0.6..0.85).contains(&cv), "{cv}");
    assert!((4.0..5.5).contains(&longest), "{longest}");
    assert_scaled(frames(&task));
}

#[test]
fn speech_passes_the_states_of_its_words_in_order() {
    let task = speech::make(&speech::Settings::default());
    let Targets::Labels { values, words: Some(words), names } = &task.validation.targets else {
        panic!()
    };
    assert_eq!(names.len(), words.states.iter().map(Vec::len).sum::<usize>());
    for sequence in 0..values.len() {
        let spoken = words.spoken.get(sequence);
        let passed: Vec<u32> =
            spoken.iter().flat_map(|&word| words.states[word as usize].iter().copied()).collect();
        let mut heard = values.get(sequence).to_vec();
        heard.dedup();
        assert_eq!(heard, passed);
        assert!((1..=20).contains(&spoken.len()));
    }
}

fn symbols(task: &Task) -> &Ragged<u32> {
    match &task.training.inputs {
        Inputs::Symbols { values, .. } => values,
        Inputs::Frames(_) => panic!("frames"),
    }
}

#[test]
fn voice_is_as_long_as_promised() {
    let task = voice::make(&voice::Settings::default());
    task.check().unwrap();
    let Targets::Frames(frames) = &task.training.targets else { panic!() };
    assert_eq!(frames.width(), voice::FEATURES);
    let (mean, cv, longest) = spread(&lengths(frames));
    assert!((110.0..135.0).contains(&mean), "{mean}");
    assert!((0.3..0.4).contains(&cv), "{cv}");
    assert!(mean * longest <= 200.0, "{longest}");
    assert_scaled(frames);
    let texts = lengths(symbols(&task));
    assert!(texts.iter().zip(lengths(frames)).all(|(&text, frames)| text < frames));
}

#[test]
fn documents_have_a_heavy_tail_and_every_topic() {
    let task = documents::make(&documents::Settings::default());
    task.check().unwrap();
    let (mean, cv, longest) = spread(&lengths(symbols(&task)));
    assert!((50.0..75.0).contains(&mean), "{mean}");
    assert!((1.0..2.0).contains(&cv), "{cv}");
    assert!((10.0..20.0).contains(&longest), "{longest}");
    let Targets::Classes { names, values } = &task.training.targets else { panic!() };
    for (topic, name) in names.iter().enumerate() {
        let count = values.iter().filter(|&&class| class as usize == topic).count();
        assert!((150..=250).contains(&count), "{count} about {name}");
    }
}

/// Knowing how often each word is which part of speech must not be enough, and must help.
#[test]
fn tags_are_ambiguous_and_sentences_end() {
    let task = tags::make(&tags::Settings::default());
    task.check().unwrap();
    let (mean, cv, longest) = spread(&lengths(symbols(&task)));
    assert!((13.0..17.0).contains(&mean), "{mean}");
    assert!((0.7..0.9).contains(&cv), "{cv}");
    assert!((4.0..8.0).contains(&longest), "{longest}");
    let Targets::Labels { names, values, words: None } = &task.training.targets else { panic!() };
    let words = symbols(&task);
    let mut counts = vec![vec![0; names.len()]; 2000];
    for (&word, &tag) in words.values().iter().zip(values.values()) {
        counts[word as usize][tag as usize] += 1;
    }
    let likeliest: u32 = counts.iter().map(|tags| tags.iter().max().unwrap()).sum();
    let share = f64::from(likeliest) / words.rows() as f64;
    assert!((0.7..0.88).contains(&share), "{share}");
    let stop = names.len() as u32 - 1;
    for sequence in 0..values.len() {
        let tags = values.get(sequence);
        assert_eq!(
            tags.iter().position(|&tag| tag == stop),
            match tags.len() {
                1 => None,
                length => Some(length - 1),
            }
        );
    }
}

#[test]
fn a_sequence_depends_on_no_other() {
    let few = speech::make(&speech::Settings { training: 3, validation: 2, ..Default::default() });
    let many = speech::make(&speech::Settings { training: 9, validation: 5, ..Default::default() });
    assert_eq!(frames(&few).get(2), frames(&many).get(2));
    assert_ne!(frames(&few).get(2), frames(&many).get(3));
    let few = handwriting::Settings { training: 3, validation: 2, ..Default::default() };
    let (one, same) = (handwriting::make(&few), handwriting::make(&few));
    assert_eq!(one, same);
    let other = handwriting::make(&handwriting::Settings { seed: 2, ..few });
    assert_ne!(one.training, other.training);
    assert_ne!(
        frames(&one).get(0),
        match &one.validation.inputs {
            Inputs::Frames(values) => values.get(0),
            Inputs::Symbols { .. } => panic!(),
        }
    );
}

#[test]
fn limits_are_kept() {
    let short = handwriting::Settings { training: 50, longest: 2, ..Default::default() };
    let task = handwriting::make(&short);
    task.check().unwrap();
    let Targets::Transcripts { values, .. } = &task.training.targets else { panic!() };
    assert_eq!(lengths(values).into_iter().max(), Some(2));
    let one = speech::Settings { training: 50, longest: 1, ..Default::default() };
    let Targets::Labels { words: Some(words), .. } = speech::make(&one).training.targets else {
        panic!()
    };
    assert_eq!(lengths(&words.spoken).into_iter().max(), Some(1));
    let narrow = documents::Settings { shortest: 7, longest: 9, ..Default::default() };
    let documents = lengths(symbols(&documents::make(&narrow)));
    assert_eq!((documents.iter().min(), documents.iter().max()), (Some(&7), Some(&9)));
    let short = tags::Settings { longest: 5, ..Default::default() };
    assert_eq!(lengths(symbols(&tags::make(&short))).into_iter().max(), Some(5));
    let short = voice::Settings { longest: 60, training: 300, ..Default::default() };
    let Targets::Frames(frames) = voice::make(&short).training.targets else { panic!() };
    assert!(lengths(&frames).into_iter().max() <= Some(60));
}

/// A change here is a change of everybody's experiments, and belongs into the changelog.
#[test]
fn everything_is_the_same_on_every_machine() {
    let tasks = [
        handwriting::make(&handwriting::Settings::default()),
        speech::make(&speech::Settings::default()),
        voice::make(&voice::Settings::default()),
        documents::make(&documents::Settings::default()),
        tags::make(&tags::Settings::default()),
    ];
    let lines = tasks.iter().map(|task| {
        let frames = match &task.training.targets {
            Targets::Frames(values) => lengths(values),
            _ => Vec::new(),
        };
        let lengths = digest(task.training.inputs.lengths().chain(frames));
        let values = match (&task.training.inputs, &task.training.targets) {
            (Inputs::Frames(values), _) | (_, Targets::Frames(values)) => bits(values),
            (Inputs::Symbols { values, .. }, _) => {
                digest(values.values().iter().map(|&value| value as usize))
            }
        };
        format!("{:11} lengths {lengths:016x} values {values:016x}\n", task.name)
    });
    expect![[r#"
        handwriting lengths 29000f89920921ed values df875969fb73e871
        speech      lengths e9fbb1c6815f0713 values ff5018dfd8f86d1f
        voice       lengths 41524630fbbaca57 values 17f85d074d60117c
        documents   lengths 118d746c16359e18 values 2d58dbe09c742b23
        tags        lengths 694797d392839999 values 62936d838adeaf03
    "#]]
    .assert_eq(&lines.collect::<String>());
}
