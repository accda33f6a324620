//! What stays together and what does not mix: columns of ids beside the lengths.

use std::{collections::HashMap, path::Path};

use lengthwise::{Error, Lengths, groups::Mix};
use lengthwise_io::{IdColumn, Ids, Reader};

use crate::args::shared::Source;
use crate::failure::Failure;
use crate::{printer, remedies};

/// The groups and the kinds of all sequences, if columns were named.
#[derive(Default)]
pub(crate) struct Groups {
    pub(crate) together: Option<Column>,
    pub(crate) kinds: Option<Kinds>,
}

/// A column of ids.
pub(crate) struct Column {
    /// How the column is called.
    name: String,
    /// For each sequence the number of its id, in the order in which the ids first appear.
    pub(crate) of: Vec<u32>,
}

impl Column {
    fn new(name: &str, ids: &Ids) -> Self {
        let mut known: HashMap<&str, u32> = HashMap::new();
        let number = |id| {
            let next = known.len() as u32;
            *known.entry(id).or_insert(next)
        };
        let of = ids.iter().map(number).collect();
        Self { name: name.to_owned(), of }
    }
}

/// A column of ids of which there are few.
pub(crate) struct Kinds {
    column: Column,
    /// The ids, in the order in which they first appear.
    names: Vec<String>,
}

impl Kinds {
    fn new(name: &str, ids: &Ids) -> Self {
        let column = Column::new(name, ids);
        let mut names = Vec::new();
        for (&kind, id) in column.of.iter().zip(ids.iter()) {
            if kind as usize == names.len() {
                names.push(id.to_owned());
            }
        }
        Self { column, names }
    }

    /// For each sequence the place of its kind among the names.
    pub(crate) fn of(&self) -> &[u32] {
        &self.column.of
    }

    /// The same for pieces of sequences.
    pub(crate) fn of_pieces(&mut self, sequences: impl Iterator<Item = u32>) {
        let of = &self.column.of;
        self.column.of = sequences.map(|sequence| of[sequence as usize]).collect();
    }

    pub(crate) fn count(&self) -> usize {
        self.names.len()
    }

    /// The name of a kind, safe to print.
    pub(crate) fn name(&self, kind: usize) -> String {
        self.names.get(kind).map(|name| printer::safe(name)).unwrap_or_default()
    }
}

impl Source {
    /// Reads the columns of ids, which are in the same file as the lengths.
    pub(crate) fn read_groups(&self, path: &Path) -> Result<Groups, Failure> {
        let read = |column: Option<_>, option| {
            let ids = |name| self.read_ids(path, name, option).map(|ids| (name, ids));
            column.map(ids).transpose()
        };
        let together = read(self.together.as_deref(), "--together")?;
        let together = together.map(|(name, ids)| Column::new(name, &ids));
        let kinds = read(self.kind.as_deref(), "--kind")?;
        let kinds = kinds.map(|(name, ids)| Kinds::new(name, &ids));
        Ok(Groups { together, kinds })
    }

    fn read_ids(&self, path: &Path, name: &str, option: &str) -> Result<Ids, Failure> {
        let of_lengths = Self { ids: None, ..self.clone() };
        let reader = Reader::new().ids(IdColumn::Named(name.to_owned()));
        let (read, _) = of_lengths.read_side(path, reader).map_err(|failure| match failure {
            // The option that was wrong.
            Failure::File(error) => {
                let hint = error.remedy().map(|remedy| remedies::of_ids(option, remedy));
                Failure::new(error.to_string(), hint.unwrap_or_default())
            }
            other => other,
        })?;
        read.ids.ok_or_else(|| {
            let what = format!("{}: has no column `{}`", path.display(), printer::safe(name));
            Failure::new(what, format!("name a column of the table with `{option} NAME`"))
        })
    }
}

impl Groups {
    pub(crate) fn is_given(&self) -> bool {
        self.together.is_some() || self.kinds.is_some()
    }

    /// The lengths with these groups and kinds.
    pub(crate) fn given_to(&self, mut lengths: Lengths) -> Result<Lengths, Failure> {
        if let (Some(groups), Some(kinds)) = (&self.together, &self.kinds) {
            one_kind_each(groups, kinds)?;
        }
        if let Some(groups) = &self.together {
            lengths = lengths.together(&groups.of)?;
        }
        if let Some(kinds) = &self.kinds {
            lengths = lengths.kinds(kinds.of())?;
        }
        Ok(lengths)
    }

    /// A mix as it is typed, as in `en=0.7,de=0.3`: every kind has a weight.
    pub(crate) fn mix(&self, given: Option<&str>) -> Result<Option<Mix>, Failure> {
        let Some((kinds, given)) = self.kinds.as_ref().zip(given) else { return Ok(None) };
        let mut weights: Vec<Option<f64>> = vec![None; kinds.names.len()];
        for part in given.split(',') {
            let (name, weight) = part.rsplit_once('=').unwrap_or((part, ""));
            let shown = printer::safe(name);
            let Ok(weight) = weight.trim().parse::<f64>() else {
                let what = format!("`--mix` cannot be `{}`", printer::safe(given));
                let hint = format!("give every kind a number: `--mix {}`", kinds.example());
                return Err(Failure::new(what, hint));
            };
            let Some(kind) = kinds.names.iter().position(|known| known == name.trim()) else {
                let what = format!("`--mix` names `{shown}`, and there is no such kind");
                return Err(Failure::new(what, kinds.listed()));
            };
            if weights[kind].replace(weight).is_some() {
                let what = format!("`--mix` names `{shown}` twice");
                return Err(Failure::new(what, "give every kind one number"));
            }
        }
        if let Some(missing) = weights.iter().position(Option::is_none) {
            let what = format!("`--mix` does not name `{}`", kinds.name(missing));
            let hint = format!("{}; 0 leaves a kind out", kinds.listed());
            return Err(Failure::new(what, hint));
        }
        Ok(Some(Mix::new(weights.into_iter().flatten().collect::<Vec<_>>())?))
    }

    /// An error that names a kind by its number, with its name.
    pub(crate) fn named(&self, error: Error) -> Failure {
        let numbered = |of: &str| of.strip_prefix("the weight of kind ")?.parse::<usize>().ok();
        let Error::BadValue { of, .. } = &error else { return error.into() };
        let Some(kind) = numbered(of) else { return error.into() };
        let name = self.kinds.as_ref().map(|kinds| kinds.name(kind)).unwrap_or_default();
        let what = error.to_string().replacen(of, &format!("the weight of kind `{name}`"), 1);
        Failure::of_plan(what, &error)
    }
}

/// So many kinds are listed.
const LISTED: usize = 8;

impl Kinds {
    /// The first kinds, in a hint.
    fn listed(&self) -> String {
        let named = (0..self.count().min(LISTED)).map(|kind| format!("`{}`", self.name(kind)));
        let named = named.collect::<Vec<_>>().join(", ");
        match self.count() {
            1 => format!("the only kind is {named}"),
            ..=LISTED => format!("the kinds are {named}"),
            count => format!("the {count} kinds are {named}, …"),
        }
    }

    /// A mix of the first two kinds.
    fn example(&self) -> String {
        let weights = (0..self.count()).zip([0.7, 0.3]);
        let named = weights.map(|(kind, weight)| format!("{}={weight}", self.name(kind)));
        named.collect::<Vec<_>>().join(",")
    }
}

/// Refuses a group of two kinds, by the names that the columns give them.
fn one_kind_each(groups: &Column, kinds: &Kinds) -> Result<(), Failure> {
    let of = kinds.of();
    let mut first = Vec::new();
    for (sequence, &group) in groups.of.iter().enumerate().take(of.len()) {
        // Groups are numbered as they appear.
        if group as usize == first.len() {
            first.push(sequence);
        }
        let before = first[group as usize];
        if of[before] != of[sequence] {
            let [one, other] = [before, sequence].map(|at| kinds.name(of[at] as usize));
            let what = format!(
                "sequences {before} and {sequence} stay together, and are of the kinds `{one}` and `{other}`"
            );
            let [groups, kinds] = [groups, &kinds.column].map(|column| printer::safe(&column.name));
            let hint = format!("give all sequences with the same `{groups}` the same `{kinds}`");
            return Err(Failure::new(what, hint));
        }
    }
    Ok(())
}
