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
}
