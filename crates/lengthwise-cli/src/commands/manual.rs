//! `lengthwise completions` and `lengthwise man`: what packagers need.

use std::{fs, io::Write as _};

use clap::CommandFactory as _;
use clap_mangen::Man;
use lengthwise_io::save;

use crate::{
    args::{
        Args,
        manual::{self, Completions},
    },
    failure::Failure,
    printer, signals,
};

pub(crate) fn completions(args: &Completions) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "lengthwise", &mut script);
    printer::print(&String::from_utf8_lossy(&script))
}

pub(crate) fn pages(args: &manual::Man) -> Result<(), Failure> {
    let mut command = Args::command();
    // So that each part knows what comes before its name.
    command.build();
    let Some(folder) = &args.output else {
        let mut page = Vec::new();
        Man::new(command).render(&mut page)?;
        return printer::print(&String::from_utf8_lossy(&page));
    };
    fs::create_dir_all(folder).map_err(|error| {
        Failure::new(format!("{}: {}", folder.display(), error.kind()), "name another folder")
    })?;
    signals::writing(&folder.join("page"));
    let whole = [("lengthwise".to_owned(), command.clone())];
    let parts = command.get_subcommands().filter(|part| part.get_name() != "help");
    let parts = parts.map(|part| {
        let name = format!("lengthwise-{}", part.get_name());
        (name.clone(), part.clone().display_name(name))
    });
    for (name, command) in whole.into_iter().chain(parts) {
        let mut page = Vec::new();
        Man::new(command).render(&mut page)?;
        save(&folder.join(format!("{name}.1")), |file| file.write_all(&page))?;
    }
    printer::say(&format!("{}: manual pages written", folder.display()));
    Ok(())
}
