//! Hints in the words of Python: settings are arguments.

use lengthwise_io::{Remedy, Setting};

/// What to do about a file, in arguments of `lengthwise.read_lengths` and names of this package.
pub(crate) fn of_file(remedy: &Remedy) -> String {
    // What `read_lengths` has no argument for.
    if remedy.settings().any(|setting| setting == Setting::SkipBlank) {
        return "take the empty lines out of the file".to_owned();
    }
    if remedy.settings().any(|setting| setting == Setting::Feature) {
        return "read the column with pyarrow, pandas or polars, and pass the lengths".to_owned();
    }
    remedy.in_words(|setting, value| {
        let (name, is_text) = match setting {
            Setting::Column => ("column", true),
            Setting::Ids => ("ids", true),
            Setting::Format => ("format", true),
            Setting::Unit => ("unit", true),
            Setting::FrameShift => ("frame_shift", false),
            Setting::Rate => ("rate", false),
            Setting::Memory => return "reading it batch by batch".to_owned(),
            Setting::CostModel => return "`CostModel.save`".to_owned(),
            Setting::SkipBlank | Setting::Feature => return String::new(),
        };
        match value {
            None => format!("`{name}`"),
            Some(value) if is_text => format!("`{name}=\"{value}\"`"),
            Some(value) => format!("`{name}={value}`"),
        }
    })
}
