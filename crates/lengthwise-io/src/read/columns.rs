//! Which column holds the lengths. A column that was asked for is taken by its name, and nothing
//! else will do; one that was not asked for is taken only when it has one of the names that
//! lengths usually go by. Everything else is an error that lists what there is.

use crate::error::Error;
use crate::text::quote;

/// The names that lengths go by, with spaces between, the plainest first. `duration` comes last: it is often in
/// seconds, which the reader then refuses with a word about frames. A name with a dot is a field
/// inside a field; `features.num_frames` is what Lhotse writes into a cut.
pub(crate) const LENGTHS: &str = "length lengths len num_frames n_frames frames num_tokens n_tokens tokens \
                                  points words characters chars num_samples samples size \
                                  features.num_frames duration";

/// The names that seconds go by. Where seconds are asked for, `num_frames` will not do.
pub(crate) const DURATIONS: &str = "duration durations dur seconds";

pub(crate) const TEXTS: &str = "text sentence transcript transcription content";

pub(crate) const IDS: &str = "id utt_id utterance_id utt key audio_filepath audio_path path file filename \
                              file_name name";

/// The column or field that names the sequences.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IdColumn {
    /// The first that has one of the usual names: `id`, `utt_id`, `utterance_id`, `utt`, `key`,
    /// `audio_filepath`, `audio_path`, `path`, `file`, `filename`, `file_name`, `name`.
    Usual,
    /// The one of this name. A table also takes its number, from 1, and JSON a path with dots.
    Named(String),
}

/// An id that is empty tells nothing apart.
pub(crate) fn check_id(id: &str, holder: impl Fn() -> String) -> Result<&str, Error> {
    if id.is_empty() {
        return Err(Error::new(format!("{} is empty and should name the sequence", holder()))
            .hint_to("name every sequence, or choose another column with {ids}"));
    }
    Ok(id)
}

/// How many names an error lists.
const LISTED: usize = 12;

/// The column called `wanted`: the very name, or else the name but for upper and lower case.
pub(crate) fn by_name(names: &[&str], wanted: &str) -> Result<Option<usize>, Error> {
    let folded = wanted.to_lowercase();
    match only(names, wanted, |name| name == wanted)? {
        None => only(names, wanted, |name| name.to_lowercase() == folded),
        found => Ok(found),
    }
}

/// The one name that matches. Two columns of one name are not told apart by taking the first.
fn only(
    names: &[&str],
    wanted: &str,
    matches: impl Fn(&str) -> bool,
) -> Result<Option<usize>, Error> {
    let mut found = (0..names.len()).filter(|&index| matches(names[index]));
    match (found.next(), found.next()) {
        (Some(first), Some(second)) => {
            let (first, second) = (first + 1, second + 1);
            let message = format!("columns {first} and {second} are both named {}", quote(wanted));
            let hint = "choose one by its number, such as {column=}";
            Err(Error::new(message).hint_with(hint, &[&second.to_string()]))
        }
        (first, _) => Ok(first),
    }
}

/// The column with the first of the usual names that is there.
pub(crate) fn by_habit(names: &[&str], habit: &str) -> Result<Option<usize>, Error> {
    habit.split(' ').find_map(|known| by_name(names, known).transpose()).transpose()
}

/// The column with this number, counted from 1.
pub(crate) fn by_number(wanted: &str, width: usize) -> Option<usize> {
    wanted.parse().ok().filter(|number| (1..=width).contains(number)).map(|number| number - 1)
}

/// The place of the column that holds the lengths, of a file whose columns all have names. The first
/// `numbered` of them can also be asked for by number; if there is no other, it need not be asked for.
#[cfg(any(feature = "arrow", feature = "parquet"))]
pub(crate) fn choose(
    names: &[&str],
    numbered: usize,
    wanted: Option<&str>,
    (habit, what): (&str, &str),
) -> Result<usize, Error> {
    match wanted {
        Some(wanted) => by_name(names, wanted)?
            .or_else(|| by_number(wanted, numbered))
            .ok_or_else(|| unknown("column", names, wanted)),
        None if numbered == 1 => Ok(0),
        None => by_habit(names, habit)?.ok_or_else(|| undecided("column", names, what)),
    }
}

/// No column was asked for and none has a usual name. `noun` is "column" or "field", `what` is
/// what it should hold.
pub(crate) fn undecided(noun: &str, names: &[&str], what: &str) -> Error {
    let message = match names {
        [] => all(noun, names),
        [name] => format!("the only {noun}, {}, is not known to hold {what}", quote(name)),
        _ => format!("no {noun} is known to hold {what}; {}", all(noun, names)),
    };
    Error::new(message).hint_to("choose one with {column=NAME}")
}

/// The place of the column that names the sequences.
pub(crate) fn ids(noun: &str, names: &[&str], wanted: &IdColumn) -> Result<usize, Error> {
    match wanted {
        IdColumn::Usual => by_habit(names, IDS)?
            .ok_or_else(|| undecided(noun, names, "ids").hint_to("choose one with {ids=NAME}")),
        IdColumn::Named(name) => by_name(names, name)?
            .or_else(|| by_number(name, names.len()))
            .ok_or_else(|| unknown(noun, names, name).hint_to("choose one with {ids=NAME}")),
    }
}

/// A column was asked for and is not there.
pub(crate) fn unknown(noun: &str, names: &[&str], wanted: &str) -> Error {
    let error = Error::new(format!("there is no {noun} {}; {}", quote(wanted), all(noun, names)));
    match nearest(names, wanted) {
        Some(name) => error.hint_with("did you mean {}? choose it with {column}", &[&quote(name)]),
        None => error.hint_to("choose one with {column=NAME}"),
    }
}

/// Which columns there are.
fn all(noun: &str, names: &[&str]) -> String {
    let shown: Vec<String> = names.iter().take(LISTED).map(|name| quote(name)).collect();
    let shown = shown.join(", ");
    match names.len() {
        0 => format!("there are no {noun}s"),
        1 => format!("the only {noun} is {shown}"),
        2..=LISTED => format!("the {noun}s are {shown}"),
        more => format!("the {noun}s are {shown} and {} more", more - LISTED),
    }
}

/// The name that `wanted` is most likely a slip of: at most a third of its letters away.
fn nearest<'a>(names: &[&'a str], wanted: &str) -> Option<&'a str> {
    let folded = |name: &str| name.to_lowercase().chars().take(64).collect::<String>();
    let wanted = folded(wanted);
    let length = wanted.chars().count();
    let near = names.iter().filter(|name| !name.is_empty());
    let near = near.map(|&name| (strsim::levenshtein(&folded(name), &wanted), name));
    let (away, name) = near.min_by_key(|&(away, _)| away)?;
    (away <= (length / 3).max(1) && away < length).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_before_any_case() {
        let names = ["Frames", "frames", "WORDS"];
        assert_eq!(by_name(&names, "frames").unwrap(), Some(1));
        assert_eq!(by_name(&names, "words").unwrap(), Some(2));
        assert_eq!(by_name(&names, "phones").unwrap(), None);
        assert!(by_name(&names, "FRAMES").is_err());
    }

    #[test]
    fn habit_goes_by_the_list_not_by_the_table() {
        assert_eq!(by_habit(&["duration", "words", "frames"], LENGTHS).unwrap(), Some(2));
        assert_eq!(by_habit(&["id", "Duration"], LENGTHS).unwrap(), Some(1));
        assert_eq!(by_habit(&["id", "text"], LENGTHS).unwrap(), None);
    }

    #[test]
    fn numbers_count_from_one() {
        let numbers = ["0", "1", "3", "4", "x", "-1"].map(|wanted| by_number(wanted, 3));
        assert_eq!(numbers, [None, Some(0), Some(2), None, None, None]);
    }

    #[test]
    fn slips_are_found_and_strangers_are_not() {
        let names = ["id", "frames", "num_tokens"];
        assert_eq!(nearest(&names, "frame"), Some("frames"));
        assert_eq!(nearest(&names, "numtokens"), Some("num_tokens"));
        assert_eq!(nearest(&names, "phones"), None);
        assert_eq!(nearest(&names, "x"), None);
        assert_eq!(nearest(&[""], "x"), None);
    }

    #[test]
    fn long_tables_are_listed_in_part() {
        let names: Vec<String> = (0..15).map(|i| format!("c{i}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let text = undecided("column", &names, "lengths").to_string();
        assert!(text.ends_with("`c10`, `c11` and 3 more"), "{text}");
    }
}
