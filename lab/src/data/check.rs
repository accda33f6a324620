//! Checks of the data before training. A mistake is named by part and sequence, so that it does not show up an
//! hour later as a loss that is not a number.

use super::error::{Error, count, quote};
use super::{Dataset, Inputs, Ragged, Targets, Task, Words};

impl Task {
    /// Whether it can be learnt from.
    ///
    /// Both parts have sequences, and are of one kind; every sequence has a position; all features
    /// are finite; all symbols, labels and classes have a name; there are as many labels as
    /// positions; and no transcript is longer than its sequence can spell.
    pub fn check(&self) -> Result<(), Error> {
        let parts = [("training", &self.training), ("validation", &self.validation)];
        for (part, data) in parts {
            data.check(part).map_err(|error| error.within(&self.source))?;
        }
        self.training.like(&self.validation).map_err(|error| error.within(&self.source))
    }
}

impl Inputs {
    /// The number of sequences.
    pub fn len(&self) -> usize {
        match self {
            Self::Frames(values) => values.len(),
            Self::Symbols { values, .. } => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many positions a sequence has.
    pub fn length(&self, sequence: usize) -> usize {
        match self {
            Self::Frames(values) => values.length(sequence),
            Self::Symbols { values, .. } => values.length(sequence),
        }
    }

    /// How many positions each sequence has.
    pub fn lengths(&self) -> impl Iterator<Item = usize> {
        (0..self.len()).map(|sequence| self.length(sequence))
    }

    fn kind(&self) -> (&'static str, usize) {
        match self {
            Self::Frames(values) => ("features", values.width()),
            Self::Symbols { names, .. } => ("symbols", names.len()),
        }
    }
}

impl Targets {
    /// What all targets of a kind have in common: what they are called, and of how many kinds or
    /// how wide they are.
    fn kind(&self) -> (&'static str, usize) {
        match self {
            Self::Labels { names, .. } => ("labels", names.len()),
            Self::Transcripts { names, .. } => ("symbols of transcripts", names.len()),
            Self::Classes { names, .. } => ("classes", names.len()),
            Self::Frames(values) => ("features of target frames", values.width()),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Labels { values, .. } | Self::Transcripts { values, .. } => values.len(),
            Self::Classes { values, .. } => values.len(),
            Self::Frames(values) => values.len(),
        }
    }
}

/// How many steps a transcript needs: one for each symbol, and a blank between two that are the same.
pub fn steps_needed(transcript: &[u32]) -> usize {
    transcript.len() + transcript.windows(2).filter(|pair| pair[0] == pair[1]).count()
}

impl Dataset {
    fn check(&self, part: &str) -> Result<(), Error> {
        if self.inputs.is_empty() {
            return Err(Error::new(
                format!("the {part} part has no sequences"),
                "choose a split that puts sequences into both parts",
            ));
        }
        let (inputs, targets) = (self.inputs.len(), self.targets.len());
        if inputs != targets {
            return Err(Error::new(
                format!("the {part} part has {} and {targets} targets", count(inputs, "sequence")),
                "give every sequence one target",
            ));
        }
        match &self.inputs {
            Inputs::Frames(values) => finite(values, part, "feature")?,
            Inputs::Symbols { names, values } => named(values, names.len(), part, "symbol")?,
        }
        if let Some(sequence) = self.inputs.lengths().position(|length| length == 0) {
            return Err(Error::new(
                format!("{part} sequence {sequence} has no positions"),
                "leave it out: nothing can be learnt from it",
            ));
        }
        self.check_targets(part)
    }

    fn check_targets(&self, part: &str) -> Result<(), Error> {
        match &self.targets {
            Targets::Labels { names, values, words } => {
                named(values, names.len(), part, "label")?;
                self.each(values, |length, labels| {
                    (length != labels.len()).then(|| {
                        Error::new(
                            format!(
                                "{} and {}",
                                count(length, "position"),
                                count(labels.len(), "label")
                            ),
                            "give every position one label",
                        )
                    })
                })
                .map_err(|(sequence, error)| error.of(part, sequence))?;
                words.as_ref().map_or(Ok(()), |words| words.check(names, self.inputs.len(), part))
            }
            Targets::Transcripts { names, values } => {
                named(values, names.len(), part, "symbol")?;
                self.each(values, unspeakable).map_err(|(sequence, error)| error.of(part, sequence))
            }
            Targets::Classes { names, values } => {
                let beyond = values.iter().position(|&class| class as usize >= names.len());
                beyond.map_or(Ok(()), |sequence| {
                    Err(Error::new(
                        format!(
                            "{part} sequence {sequence} has class {}, and there are {}",
                            values[sequence],
                            count(names.len(), "class name"),
                        ),
                        "name every class, or correct this one",
                    ))
                })
            }
            Targets::Frames(values) => {
                finite(values, part, "target feature")?;
                self.each(values, |_, frames| {
                    frames.is_empty().then(|| {
                        Error::new(
                            "no target frames",
                            "leave it out: nothing can be learnt from it",
                        )
                    })
                })
                .map_err(|(sequence, error)| error.of(part, sequence))
            }
        }
    }

    /// The first sequence of which something is wrong.
    fn each<T>(
        &self,
        values: &Ragged<T>,
        wrong: impl Fn(usize, &[T]) -> Option<Error>,
    ) -> Result<(), (usize, Error)> {
        (0..values.len())
            .find_map(|at| wrong(self.inputs.length(at), values.get(at)).map(|error| (at, error)))
            .map_or(Ok(()), Err)
    }

    /// Whether a model of the one can be examined on the other.
    fn like(&self, other: &Self) -> Result<(), Error> {
        let kinds = |data: &Self| [data.inputs.kind(), data.targets.kind()];
        for (training, validation) in kinds(self).into_iter().zip(kinds(other)) {
            if training != validation {
                let [(one, n), (two, m)] = [training, validation];
                return Err(Error::new(
                    format!("the training part has {n} {one} and the validation part {m} {two}"),
                    "read both parts in the same way",
                ));
            }
        }
        if self.names() == other.names() {
            Ok(())
        } else {
            Err(Error::new(
                "the names of the two parts differ, or their order",
                "use the names of the training part for both",
            ))
        }
    }

    fn names(&self) -> [Option<&[String]>; 2] {
        let inputs = match &self.inputs {
            Inputs::Frames(_) => None,
            Inputs::Symbols { names, .. } => Some(names.as_slice()),
        };
        let targets = match &self.targets {
            Targets::Labels { names, .. }
            | Targets::Transcripts { names, .. }
            | Targets::Classes { names, .. } => Some(names.as_slice()),
            Targets::Frames(_) => None,
        };
        [inputs, targets]
    }
}

impl Words {
    fn check(&self, labels: &[String], sequences: usize, part: &str) -> Result<(), Error> {
        let hint = "give every word its states, and every sequence its words";
        if self.names.len() != self.states.len() {
            let states = self.states.len();
            let words = count(self.names.len(), "word");
            return Err(Error::new(format!("there are {words}, and states of {states}"), hint));
        }
        for (name, states) in self.names.iter().zip(&self.states) {
            if states.is_empty() {
                return Err(Error::new(format!("the word {} has no states", quote(name)), hint));
            }
            if let Some(state) = states.iter().find(|&&state| state as usize >= labels.len()) {
                let labels = count(labels.len(), "label");
                let name = quote(name);
                return Err(Error::new(
                    format!("the word {name} has state {state}, and there are {labels}"),
                    hint,
                ));
            }
        }
        if self.spoken.len() != sequences {
            let spoken = self.spoken.len();
            let sequences = count(sequences, "sequence");
            return Err(Error::new(
                format!("the {part} part has {sequences}, and words of {spoken}"),
                hint,
            ));
        }
        named(&self.spoken, self.names.len(), part, "word")
    }
}

impl Error {
    /// The same about one sequence.
    fn of(self, part: &str, sequence: usize) -> Self {
        let message = format!("{part} sequence {sequence} has {}", self.said());
        Error::new(message, self.hint())
    }
}

/// What keeps a transcript from being learnt by CTC.
fn unspeakable(length: usize, transcript: &[u32]) -> Option<Error> {
    let needed = steps_needed(transcript);
    if transcript.is_empty() {
        return Some(Error::new("an empty transcript", "leave it out, or give it one"));
    }
    (needed > length).then(|| {
        let repeats = needed - transcript.len();
        Error::new(
            format!(
                "{}, and its transcript needs {needed}: {} and {} between repeated ones",
                count(length, "step"),
                count(transcript.len(), "symbol"),
                count(repeats, "blank"),
            ),
            "leave it out, keep more of its points, or shorten its transcript",
        )
    })
}

/// Whether every value has a name.
fn named(values: &Ragged<u32>, names: usize, part: &str, what: &str) -> Result<(), Error> {
    let Some(at) = values.values().iter().position(|&value| value as usize >= names) else {
        return Ok(());
    };
    let (sequence, position) = values.place(at);
    let value = values.values()[at];
    Err(Error::new(
        format!(
            "{part} sequence {sequence} has {what} {value} at position {position}, and there are {}",
            count(names, "name"),
        ),
        format!("name every {what}, or correct this one"),
    ))
}

/// Whether every value is a finite number.
fn finite(values: &Ragged<f32>, part: &str, what: &str) -> Result<(), Error> {
    let Some(at) = values.values().iter().position(|value| !value.is_finite()) else {
        return Ok(());
    };
    let (sequence, row) = values.place(at);
    let (value, column) = (values.values()[at], at % values.width());
    Err(Error::new(
        format!("{part} sequence {sequence} has {value} at position {row}, {what} {column}"),
        "compute the features again without it, or leave the sequence out",
    ))
}
