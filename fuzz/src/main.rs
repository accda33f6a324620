//! Fuzz targets for everything that reads what others wrote. `scripts/fuzz` builds and runs them.
//!
//! There is one program for all targets, so that it is linked once: the variable `FUZZ_TARGET` names the target. A target
//! checks more than that nothing panics: what is read is written and read again, two readers of the same bytes agree, and
//! a batch keeps every promise of the guides. Memory is limited by [`limit`], time by libFuzzer's `-timeout`.

#![no_main]

mod arrays;
mod files;
mod limit;
mod panics;
mod planning;
mod settings;
mod source;
mod steps;
mod tables;
mod zip;

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;

type Target = fn(&[u8]);

const TARGETS: [(&str, Target); 6] = [
    ("arrays", arrays::run),
    ("files", files::run),
    ("planning", planning::run),
    ("settings", settings::run),
    ("steps", steps::run),
    ("tables", tables::run),
];

static CHOSEN: OnceLock<Target> = OnceLock::new();

fn chosen() -> Target {
    let given = std::env::var("FUZZ_TARGET").unwrap_or_default();
    match TARGETS.iter().find(|(name, _)| *name == given) {
        Some(&(_, target)) => target,
        None => panic!(
            "expected FUZZ_TARGET to be one of {:?}, got `{given}`",
            TARGETS.map(|(name, _)| name)
        ),
    }
}

fuzz_target!(init: { CHOSEN.get_or_init(chosen); panics::watch() }, |data: &[u8]| {
    panics::named(|| CHOSEN.get_or_init(chosen)(data));
});
