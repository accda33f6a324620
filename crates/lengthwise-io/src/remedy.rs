//! What to do about an error, with placeholders for settings: the command line names a flag where
//! Python names an argument and Rust a method.

use std::fmt;

/// A setting that a [`Remedy`] mentions. The command line, Python and Rust each have their own name for
/// it.
///
/// The list is exhaustive on purpose: code that has no name for a new setting does not compile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// The column or field that holds the lengths.
    Column,
    /// The column or field that holds the ids.
    Ids,
    /// The format of the file.
    Format,
    /// What is counted in texts.
    Unit,
    /// Seconds per frame.
    FrameShift,
    /// Frames or samples per second.
    Rate,
    /// Leaves out blank lines of a file of texts.
    SkipBlank,
    /// The bound on memory under which a plan is read batch by batch.
    Memory,
    /// A feature that the program is built with.
    Feature,
    /// What writes files of cost models.
    CostModel,
}

impl Setting {
    /// All settings.
    pub const ALL: [Self; 10] = [
        Setting::Column,
        Setting::Ids,
        Setting::Format,
        Setting::Unit,
        Setting::FrameShift,
        Setting::Rate,
        Setting::SkipBlank,
        Setting::Memory,
        Setting::Feature,
        Setting::CostModel,
    ];

    /// The name that templates have for it; and what it is called in Rust, and how it is given a value: a
    /// method of a [`Reader`](crate::Reader), or what stands in its place.
    fn words(self) -> (&'static str, &'static str, Option<[&'static str; 2]>) {
        let ids = ["`Reader::ids(IdColumn::Named(\"", "\".to_owned()))`"];
        let shift = ["`Reader::time(Time::FrameShift(", "))`"];
        match self {
            Setting::Column => ("column", "`Reader::column`", Some(["`Reader::column(\"", "\")`"])),
            Setting::Ids => ("ids", "`Reader::ids`", Some(ids)),
            Setting::Format => {
                ("format", "`Reader::format`", Some(["`Reader::format(\"", "\".parse()?)`"]))
            }
            Setting::Unit => {
                ("unit", "`Reader::unit`", Some(["`Reader::unit(\"", "\".parse()?)`"]))
            }
            Setting::FrameShift => ("frame-shift", "`Time::FrameShift`", Some(shift)),
            Setting::Rate => ("rate", "`Time::Rate`", Some(["`Reader::time(Time::Rate(", ".0))`"])),
            Setting::SkipBlank => ("skip-blank", "`Reader::blank_lines(BlankLines::Skip)`", None),
            Setting::Memory => ("memory", "`PlanStream`", None),
            Setting::Feature => ("feature", "the feature `…`", Some(["the feature `", "`"])),
            Setting::CostModel => ("cost-model", "`CostModelFile::to_json`", None),
        }
    }

    fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|setting| setting.words().0 == name)
    }

    fn in_rust(self, value: Option<&str>) -> String {
        match (self.words(), value) {
            ((.., Some([before, after])), Some(value)) => format!("{before}{value}{after}"),
            ((_, name, _), _) => name.to_owned(),
        }
    }
}

/// What to do about an error. [`Display`](fmt::Display) gives it in the words of Rust.
///
/// ```
/// use lengthwise_io::{Format, Options, Setting, read_from};
///
/// let table = "id,name\na,b\n";
/// let error = read_from(table.as_bytes(), "stdin", Format::Csv, &Options::default()).unwrap_err();
/// let remedy = error.remedy().unwrap();
/// assert!(remedy.settings().eq([Setting::Column]));
/// let flag = |setting, value: Option<&str>| format!("--{setting:?} {}", value.unwrap_or_default());
/// assert_eq!(remedy.in_words(flag), "choose one with --Column NAME");
/// assert_eq!(remedy.to_string(), "choose one with `Reader::column(\"NAME\")`");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remedy(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Setting(Setting, Option<String>),
}

impl Remedy {
    /// From a template: `{column}` names a setting, `{column=NAME}` gives it a value. `{}` and `{column=}`
    /// take the next of the values, which are never searched for braces: they may come from a file.
    pub(crate) fn filled(template: &'static str, values: &[&str]) -> Self {
        debug_assert!(!template.contains("--"), "a flag of the command line: {template}");
        let mut values = values.iter().map(|&value| value.to_owned());
        let mut parts = Vec::new();
        let mut rest = template;
        while let Some((before, (inside, after))) =
            rest.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
        {
            let (name, value) = match inside.split_once('=') {
                Some((name, "")) => (name, values.next()),
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (inside, None),
            };
            let setting = Setting::of_name(name).map(|setting| Part::Setting(setting, value));
            debug_assert!(name.is_empty() || setting.is_some(), "no setting: {template}");
            parts.push(Part::Text(before.to_owned()));
            parts.extend(setting.or_else(|| values.next().map(Part::Text)));
            rest = after;
        }
        parts.push(Part::Text(rest.to_owned()));
        Self(parts)
    }

    pub(crate) fn also(mut self, other: Self) -> Self {
        if !self.0.is_empty() {
            self.0.push(Part::Text("; ".to_owned()));
        }
        self.0.extend(other.0);
        self
    }

    /// The settings that it mentions.
    pub fn settings(&self) -> impl Iterator<Item = Setting> {
        self.0.iter().filter_map(|part| match part {
            Part::Text(_) => None,
            Part::Setting(setting, _) => Some(*setting),
        })
    }

    /// The remedy as one line. `name` gives the words for a setting, and for one with a value.
    pub fn in_words(&self, name: impl Fn(Setting, Option<&str>) -> String) -> String {
        let words = self.0.iter().map(|part| match part {
            Part::Text(text) => text.clone(),
            Part::Setting(setting, value) => name(*setting, value.as_deref()),
        });
        words.collect()
    }
}

impl From<&'static str> for Remedy {
    fn from(template: &'static str) -> Self {
        Self::filled(template, &[])
    }
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.in_words(Setting::in_rust))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_filled_once() {
        let remedy = Remedy::filled(
            "perhaps {} is meant: {column}, {rate=}, {unit=words}",
            &["{column}", "8000"],
        );
        let words = remedy.in_words(|setting, value| format!("<{} {value:?}>", setting.words().0));
        let expected = "perhaps {column} is meant: <column None>, <rate Some(\"8000\")>, \
                        <unit Some(\"words\")>";
        assert_eq!(words, expected);
        let both = Remedy::from("one").also("leave out {unit}".into());
        assert_eq!(both.to_string(), "one; leave out `Reader::unit`");
        assert!(both.settings().eq([Setting::Unit]));
    }

    #[test]
    fn every_setting_has_a_name_in_rust() {
        for setting in Setting::ALL {
            assert_eq!(Setting::of_name(setting.words().0), Some(setting));
            for value in [None, Some("16000")] {
                let words = setting.in_rust(value);
                assert!(words.contains('`') && !words.contains("--"), "{words}");
            }
        }
    }
}
