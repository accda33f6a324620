//! Hints in the words of the command line: settings are flags.

use lengthwise::Remedy;
use lengthwise_io::{Remedy as FileRemedy, Setting};

/// What to do about a file, in flags.
pub(crate) fn of_file(remedy: &FileRemedy) -> String {
    remedy.in_words(flag)
}

/// The same about the second lengths, whose column has a flag of its own.
pub(crate) fn of_second(remedy: &FileRemedy) -> String {
    remedy.in_words(|setting, value| match setting {
        Setting::Column => quoted("--second", value),
        other => flag(other, value),
    })
}

/// The same about a column of ids that is not the one of names, and has this flag.
pub(crate) fn of_ids(own: &str, remedy: &FileRemedy) -> String {
    remedy.in_words(|setting, value| match setting {
        Setting::Ids => quoted(own, value),
        other => flag(other, value),
    })
}

/// What to do about settings and lengths that cannot be planned, in flags.
pub(crate) fn of_plan(remedy: Remedy) -> String {
    const CHOOSE: &str = "choose what happens to over-long sequences: `--over-long alone`, `drop` or \
                          `truncate`";
    match remedy {
        Remedy::Advice(advice) => advice,
        Remedy::RaiseBudget(None) => format!("raise the budget, or {CHOOSE}"),
        Remedy::RaiseBudget(Some(to)) => format!("raise the budget to at least {to}, or {CHOOSE}"),
        Remedy::RaiseSeconds(to) => format!("raise the limit to at least {to}, or {CHOOSE}"),
        Remedy::RaiseCapacity(to) => format!("raise the capacity to at least {to}, or {CHOOSE}"),
        Remedy::DidYouMean(name) => {
            format!("did you mean `{name}`? run `lengthwise explain` to list all")
        }
        Remedy::RaiseMemory(to) => format!(
            "raise `--memory` to {to} or more; `shuffled`, `sorted`, `semi-sorted`, `blurred` and \
             buckets of lengths take least"
        ),
        Remedy::RaiseBatches(_) => "let `--constant-steps` choose the number of batches".to_owned(),
        Remedy::GiveSecondLengths => {
            "give a second length for each sequence with `--second COLUMN`".to_owned()
        }
        Remedy::KeepTail => "use fewer ranks, or `--tail split` or `--tail repeat`".to_owned(),
        Remedy::GatherStatistics => {
            "use statistics of the lengths of all shards, made by `lengthwise statistics`"
                .to_owned()
        }
        Remedy::GiveStatistics => {
            "give the statistics of all shards with `--statistics FILE`".to_owned()
        }
        Remedy::NameShard => {
            "say which shard it is, and of how many, with `--shard` and `--of`".to_owned()
        }
        Remedy::CountNeeds => {
            "plan every shard once with `--needs` in place of `-o`, and merge what that wrote into \
             the statistics with `lengthwise statistics`"
                .to_owned()
        }
        // A remedy that has no words here yet is better than none.
        other => format!("{other:?}"),
    }
}

fn flag(setting: Setting, value: Option<&str>) -> String {
    let flag = match setting {
        Setting::Column => "--column",
        Setting::Ids => "--ids",
        Setting::Format => "--format",
        Setting::Unit => "--unit",
        Setting::FrameShift => "--frame-shift",
        Setting::Rate => "--rate",
        Setting::SkipBlank => "--skip-blank",
        Setting::Feature => "--features",
        Setting::Memory => return "`--memory` on the command line".to_owned(),
        Setting::CostModel => return "`lengthwise cost STEPS.csv -o model.json`".to_owned(),
    };
    quoted(flag, value)
}

fn quoted(flag: &str, value: Option<&str>) -> String {
    value.map_or_else(|| format!("`{flag}`"), |value| format!("`{flag} {value}`"))
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

    #[test]
    fn every_error_of_a_plan_has_a_hint_in_flags() {
        for error in lengthwise::Error::examples() {
            let Some(hint) = error.remedy().map(of_plan) else { continue };
            assert!(!hint.contains("::") && !hint.contains("=\""), "{error}: {hint}");
            // Words of another face, or no words yet.
            assert!(!hint.contains("Python") && !hint.contains("NAMES"), "{error}: {hint}");
            assert!(hint.starts_with(|first: char| first.is_lowercase() || first == '`'), "{hint}");
        }
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
