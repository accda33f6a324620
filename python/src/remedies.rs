//! Hints in the words of Python: settings are arguments.

use lengthwise::Remedy;
use lengthwise_io::{Remedy as FileRemedy, Setting};

/// What to do about a file, in arguments of `lengthwise.read_lengths` and names of this package.
pub(crate) fn of_file(remedy: &FileRemedy) -> String {
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
            Setting::CostModel => return "`Fit.save`".to_owned(),
            Setting::SkipBlank | Setting::Feature => return String::new(),
        };
        match value {
            None => format!("`{name}`"),
            Some(value) if is_text => format!("`{name}=\"{value}\"`"),
            Some(value) => format!("`{name}={value}`"),
        }
    })
}

/// What to do about settings and lengths that cannot be planned, in arguments.
pub(crate) fn of_plan(remedy: Remedy) -> String {
    const CHOOSE: &str = "choose what happens to over-long sequences: `over_long=\"alone\"`, \
                          `\"drop\"` or `\"truncate\"`";
    let words = match remedy {
        Remedy::Advice(advice) => return advice,
        Remedy::RaiseBudget(None) => &format!("raise the budget, or {CHOOSE}"),
        Remedy::RaiseBudget(Some(to)) => &format!("raise the budget to at least {to}, or {CHOOSE}"),
        Remedy::RaiseSeconds(to) => &format!("raise the limit to at least {to}, or {CHOOSE}"),
        Remedy::RaiseCapacity(to) => &format!("raise the capacity to at least {to}, or {CHOOSE}"),
        Remedy::DidYouMean(name) => {
            &format!("did you mean `{name}`? `lengthwise.explain()` lists all")
        }
        Remedy::RaiseMemory(to) => &format!("make at least {to} of memory available"),
        Remedy::RaiseBatches(_) => "let `constant_steps=True` choose the number of batches",
        Remedy::GiveSecondLengths => "give a second length for each sequence with `second=`",
        Remedy::KeepTail => "use fewer ranks, or `tail=\"split\"` or `tail=\"repeat\"`",
        Remedy::GatherStatistics => {
            "use statistics of the lengths of all shards, made by `Statistics`"
        }
        Remedy::GiveStatistics => "give the statistics of all shards with `statistics=`",
        Remedy::NameShard => "say which shard it is, and of how many, with `shard=` and `shards=`",
        Remedy::CountNeeds => "merge what `Planner.needs` gives on every shard into the statistics",
        // A remedy that has no words here yet is better than none.
        other => &format!("{other:?}"),
    };
    words.to_owned()
}
