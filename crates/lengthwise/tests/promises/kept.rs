//! Whatever more random settings give, kept as digests. A change breaks the promise of the same plans for ever, or changes a
//! measure of them: see `stability.rs`.

use expect_test::expect_file;

use super::check_all;

#[test]
fn what_random_settings_give_never_changes() {
    expect_file!["../kept/settings.txt"].assert_eq(&kept(30_000..30_700, false));
}

#[test]
fn what_random_groups_and_kinds_give_never_changes() {
    expect_file!["../kept/groups.txt"].assert_eq(&kept(31_000..31_700, true));
}

/// One line for every 25 settings.
fn kept(numbers: std::ops::Range<u64>, grouped: bool) -> String {
    let lines = numbers.step_by(25).map(|first| {
        let tally = check_all(first..first + 25, grouped);
        format!("{first} {:016x}\n", tally.seen.digest())
    });
    lines.collect()
}
