//! Every error says what is wrong, where, and what to do.

use std::collections::BTreeSet;

use lengthwise::{Error, Remedy};

/// The name of a variant, as `Debug` prints it.
fn variant(error: &Error) -> String {
    format!("{error:?}").chars().take_while(|letter| letter.is_alphanumeric()).collect()
}

#[test]
fn there_is_an_example_of_every_error() {
    let source = include_str!("../src/error/mod.rs");
    let list = source.split("pub enum Error {").nth(1).unwrap();
    let list = list.split("\n}").next().unwrap();
    let names = list.lines().filter_map(|line| line.strip_prefix("    "));
    let names = names.filter(|line| line.starts_with(|letter: char| letter.is_uppercase()));
    let names: BTreeSet<String> =
        names.map(|line| line.trim_end_matches([',', '{', ' ']).to_owned()).collect();
    let examples: BTreeSet<String> = Error::examples().iter().map(variant).collect();
    assert_eq!(examples, names);
}

#[test]
fn every_error_has_a_message_and_a_hint_in_the_words_of_this_crate() {
    for error in Error::examples() {
        let message = error.to_string();
        let lower = |c: char| c.is_lowercase() || c.is_numeric() || c == '`';
        assert!(message.starts_with(lower), "{error:?}");
        assert!(!message.contains("--") && !message.ends_with('.'), "{message}");
        let Some(hint) = error.hint() else {
            assert_eq!(error, Error::Stopped);
            continue;
        };
        assert!(!hint.contains("--") && !hint.contains("command line"), "{hint}");
        assert!(!hint.contains("=\"") && !hint.contains("Python"), "{hint}");
        let says_index = error.index().is_none_or(|index| message.contains(&index.to_string()));
        assert!(says_index, "{message}");
    }
}

#[test]
fn advice_names_no_flag_keyword_or_method() {
    for error in Error::examples() {
        if let Some(Remedy::Advice(advice)) = error.remedy() {
            assert!(!advice.contains("--") && !advice.contains("::"), "{advice}");
            assert!(!advice.contains("`lengthwise "), "{advice}");
        }
    }
}
