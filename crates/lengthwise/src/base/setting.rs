//! The string form shared by strategies, budgets, shapes and arrangements:
//! `name:value,key=value,key=value`. A cost model has the part after the colon only.

use std::{collections::BTreeSet, str::FromStr};

use crate::error::{Error, remedy::shortened};

/// A setting in parts; each is taken once, then [`Setting::finish`] refuses the parts that were not
/// taken.
pub(crate) struct Setting<'a> {
    /// How messages name it, as in "budget `padded`".
    what: String,
    pub(crate) name: &'static str,
    /// The part that has no key, as in `padded:20000`.
    pub(crate) value: Option<&'a str>,
    pairs: Vec<(&'a str, &'a str)>,
    known: Vec<&'static str>,
}

impl<'a> Setting<'a> {
    /// Splits `given` and looks its name up among `names`.
    pub(crate) fn parse(
        kind: &'static str,
        names: &[&'static str],
        given: &'a str,
    ) -> Result<Self, Error> {
        let (name, rest) = match given.trim().split_once(':') {
            Some((name, rest)) => (name.trim(), rest),
            None => (given.trim(), ""),
        };
        let Some(&name) = names.iter().find(|known| **known == name) else {
            return Err(unknown_name(kind, name, names));
        };
        Self::split(format!("{kind} `{name}`"), name, rest)
    }

    /// Splits what comes after a name, or all of a setting that has none; messages call it `what`.
    pub(crate) fn split(what: String, name: &'static str, rest: &'a str) -> Result<Self, Error> {
        let mut setting = Self { what, name, value: None, pairs: Vec::new(), known: Vec::new() };
        let parts = rest.split(',').map(str::trim).filter(|part| !part.is_empty());
        for (position, part) in parts.enumerate() {
            match part.split_once('=') {
                Some((key, value)) => setting.pairs.push((key.trim(), value.trim())),
                None if position == 0 => setting.value = Some(part),
                None => setting.pairs.push((part, "")),
            }
        }
        if let Some(plain) = setting.without_commas() {
            let (given, expected) =
                (rest.trim(), format!("written without commas: `{name}:{plain}`"));
            return Err(Error::bad_value(setting.what, given, &expected));
        }
        let mut before = BTreeSet::new();
        if let Some((key, value)) = setting.pairs.iter().find(|(key, _)| !before.insert(*key)) {
            return Err(Error::bad_value(setting.of(key), *value, "given only once"));
        }
        Ok(setting)
    }

    /// The number that is meant by one with commas at every third digit, as in `padded:20,000`.
    fn without_commas(&self) -> Option<String> {
        let digits =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let first = self.value.filter(|first| digits(first) && first.len() <= 3)?;
        let groups = self.pairs.iter().map(|&(key, _)| key);
        let groups: Vec<&str> = groups.take_while(|key| key.len() == 3 && digits(key)).collect();
        // No setting has more digits.
        let is_number = !groups.is_empty() && first.len() + 3 * groups.len() <= 20;
        is_number.then(|| first.to_owned() + &groups.concat())
    }

    /// The part that has no key, as a number.
    pub(crate) fn required_number<T: FromStr>(&mut self, expected: &str) -> Result<T, Error> {
        let given = self.value.take().unwrap_or_default();
        number(self.what.clone(), given, expected)
    }

    /// Takes what is given under an old name of a key as if it were under the new one.
    pub(crate) fn renamed(&mut self, old: &str, new: &'static str) {
        for (key, _) in self.pairs.iter_mut().filter(|(key, _)| *key == old) {
            *key = new;
        }
    }

    /// The part under `key`, if it is there.
    pub(crate) fn text(&mut self, key: &'static str) -> Option<&'a str> {
        self.known.push(key);
        let at = self.pairs.iter().position(|(given, _)| *given == key)?;
        Some(self.pairs.remove(at).1)
    }

    /// The part under `key` as a number, if it is there.
    pub(crate) fn number<T: FromStr>(
        &mut self,
        key: &'static str,
        expected: &str,
    ) -> Result<Option<T>, Error> {
        let of = self.of(key);
        self.text(key).map(|given| number(of, given, expected)).transpose()
    }

    /// Refuses whatever was not taken.
    pub(crate) fn finish(self) -> Result<(), Error> {
        match self.value.or(self.pairs.first().map(|&(key, _)| key)) {
            Some(given) => {
                Err(Error::UnknownKey { of: self.what, given: given.to_owned(), known: self.known })
            }
            None => Ok(()),
        }
    }

    /// How messages name one of its parts.
    pub(crate) fn of(&self, key: &str) -> String {
        // A key that was given twice is any text.
        format!("`{}` of {}", shortened(key), self.what)
    }
}

fn number<T: FromStr>(of: String, given: &str, expected: &str) -> Result<T, Error> {
    given.parse().map_err(|_| Error::bad_value(of, given, expected))
}

/// What differs: its name, and both values.
pub(crate) type Difference = (String, [String; 2]);

/// The first difference between two lists of `name=value` with spaces between.
pub(crate) fn difference(one: &str, other: &str) -> Option<Difference> {
    let mut both = one.split(' ').zip(other.split(' '));
    let Some((one, other)) = both.find(|(one, other)| one != other) else {
        return differ("settings", [one, other]);
    };
    let value = |text: &str| text.split_once('=').map_or(text, |(_, value)| value).to_owned();
    Some((other.split('=').next().unwrap_or_default().to_owned(), [one, other].map(value)))
}

/// Two values of a name, if they differ.
pub(crate) fn differ<T: PartialEq + ToString>(name: &str, both: [T; 2]) -> Option<Difference> {
    (both[0] != both[1]).then(|| (name.to_owned(), both.map(|value| value.to_string())))
}

/// The error for a name that is in no list, with the nearest name of the list.
pub(crate) fn unknown_name(kind: &'static str, given: &str, names: &[&'static str]) -> Error {
    let begun = names.iter().filter(|name| given.len() > 2 && name.starts_with(given));
    let near = names
        .iter()
        .filter(|name| given.len() < 2 * name.len())
        .map(|name| (edits(given, name), name))
        .filter(|(distance, name)| *distance <= (name.len() / 4).max(1))
        .min()
        .map(|(_, name)| name);
    let nearest = begun.chain(near).next().copied();
    Error::UnknownName { kind, given: given.to_owned(), nearest, known: names.to_vec() }
}

/// How many letters must be inserted, removed or replaced to turn one word into the other.
fn edits(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

/// Gives an enum without data its string forms: `name`, [`FromStr`] and [`Display`](std::fmt::Display),
/// from its lists `NAMES` and `ALL`. Messages call it `kind`.
macro_rules! names {
    ($type:ty, $kind:literal) => {
        impl $type {
            /// Its name.
            pub const fn name(self) -> &'static str {
                Self::NAMES[self as usize]
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::error::Error;

            fn from_str(given: &str) -> Result<Self, Self::Err> {
                let setting = $crate::base::setting::Setting::parse($kind, &Self::NAMES, given)?;
                let at = Self::NAMES.iter().position(|&name| name == setting.name);
                setting.finish()?;
                Ok(Self::ALL[at.unwrap_or_default()])
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }
    };
}
pub(crate) use names;

/// Writes the methods of a builder that set something and give it back.
macro_rules! setters {
    (impl $(<$generic:ident: $bound:path>)? $builder:ident $(<$of:ident>)? { $(
        $(#[$about:meta])*
        pub fn $name:ident(mut $self:ident $(, $value:ident: $type:ty)* $(,)?) -> Self { $set:expr }
    )* }) => {
        impl $(<$generic: $bound>)? $builder $(<$of>)? { $(
            $(#[$about])*
            #[must_use]
            pub fn $name(mut $self $(, $value: $type)*) -> Self {
                $set;
                $self
            }
        )* }
    };
}
pub(crate) use setters;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_count_letters() {
        assert_eq!(edits("alternted", "alternated"), 1);
        assert_eq!(edits("sort", "sorted"), 2);
        assert_eq!(edits("", "abc"), 3);
        assert_eq!(edits("kitten", "sitting"), 3);
    }

    #[test]
    fn parts_are_taken_once() {
        let mut setting =
            Setting::parse("budget", &["padded"], " padded: 5 , at-most = 3").unwrap();
        assert_eq!(setting.required_number::<u64>("a number"), Ok(5));
        assert_eq!(setting.number::<u32>("at-most", "a number"), Ok(Some(3)));
        assert_eq!(setting.number::<u32>("at-most", "a number"), Ok(None));
        assert_eq!(setting.finish(), Ok(()));
    }

    #[test]
    fn a_key_given_twice_is_refused() {
        let setting = Setting::parse("budget", &["padded"], "padded:5,x=1,x=2");
        assert!(matches!(setting.err(), Some(Error::BadValue { given, .. }) if given == "2"));
    }
}
