//! Hints in the words of the command line: settings are flags.

use lengthwise_io::{Remedy, Setting};

/// What to do about a file, in flags.
pub(crate) fn of_file(remedy: &Remedy) -> String {
    remedy.in_words(flag)
}

/// The same about the second lengths, whose column has a flag of its own.
pub(crate) fn of_second(remedy: &Remedy) -> String {
    remedy.in_words(|setting, value| match setting {
        Setting::Column => quoted("--second", value),
        other => flag(other, value),
    })
}

fn flag(setting: Setting, value: Option<&str>) -> String {
    match setting {
        Setting::Column => quoted("--column", value),
        Setting::Ids => quoted("--ids", value),
        Setting::Format => quoted("--format", value),
        Setting::Unit => quoted("--unit", value),
        Setting::FrameShift => quoted("--frame-shift", value),
        Setting::Rate => quoted("--rate", value),
        Setting::SkipBlank => quoted("--skip-blank", value),
        Setting::Feature => quoted("--features", value),
        Setting::Memory => "`--memory` on the command line".to_owned(),
        Setting::CostModel => "`lengthwise cost STEPS.csv -o model.json`".to_owned(),
    }
}

fn quoted(flag: &str, value: Option<&str>) -> String {
    match value {
        Some(value) => format!("`{flag} {value}`"),
        None => format!("`{flag}`"),
    }
}

#[cfg(test)]
mod tests {
    use lengthwise_io::{Format, Options, read_from};

    use super::*;

    #[test]
    fn every_setting_is_a_flag_or_a_command() {
        for setting in Setting::ALL {
            for value in [None, Some("16000")] {
                let words = flag(setting, value);
                let known = words.starts_with("`--") || words.starts_with("`lengthwise ");
                assert!(known && !words.contains("::") && !words.contains('='), "{words}");
            }
        }
        assert_eq!(flag(Setting::Column, Some("NAME")), "`--column NAME`");
    }

    /// Files that are wrong in ways that a setting helps with.
    const WRONG: [(Format, Option<&str>, &str, &str); 12] = [
        (Format::Csv, None, "id,name\na,b\n", "`--column NAME`"),
        (Format::Csv, Some("frame"), "id,frames\na,1\n", "`--column`"),
        (Format::Csv, None, "1,2\n3,4\n", "`--column 2`"),
        (Format::Csv, None, "id,frames\na,4.7\n", "`--frame-shift 0.01`"),
        (Format::Csv, Some("a"), "a,a\n1,2\n", "`--column 2`"),
        (Format::Jsonl, Some("text"), "{\"text\": \"12\"}", "`--unit characters`"),
        (Format::Jsonl, None, "{\"tokens\": [1]}", "`--column`"),
        (Format::Jsonl, Some("a"), "12\n", "`--column`"),
        (Format::Text, None, "twelve\n", "`--unit words`"),
        (Format::Text, Some("a"), "12\n", "`--format csv`"),
        (Format::Utt2Dur, None, "a 1.5\n", "`--rate 100`"),
        (Format::Npy, Some("a"), "", "`--format csv`"),
    ];

    #[test]
    fn hints_are_in_flags() {
        for (format, column, text, expected) in WRONG {
            let options = Options { column: column.map(str::to_owned), format: None };
            let error = read_from(text.as_bytes(), "f", format, &options).unwrap_err();
            let hint = of_file(error.remedy().expect("a hint"));
            assert!(hint.contains(expected), "{error}: {hint}");
            assert!(!hint.contains("Reader") && !hint.contains("=\""), "{hint}");
            let second = of_second(error.remedy().expect("a hint"));
            assert_eq!(second, hint.replace("`--column", "`--second"));
        }
    }
}
