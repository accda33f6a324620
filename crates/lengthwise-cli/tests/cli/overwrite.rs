//! No command writes over a file that it reads, whatever it is called.

use std::{fs, path::Path};

use crate::common::Folder;

const STEPS: &str =
    "batch_size,batch_length,seconds\n1,50,0.00405\n8,50,0.0044\n8,400,0.0072\n32,400,0.0168\n";
const MODEL: &str = r#"{"version":1,"a":0.001,"b":0,"c":1e-6,"d":0}"#;

fn lengths() -> String {
    (1..=64_u32).map(|i| (1 + i * 37 % 90).to_string() + "\n").collect()
}

/// A WAV file of 100 samples, 8 bits each.
fn wav() -> Vec<u8> {
    let mut file = b"RIFF\x88\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0".to_vec();
    file.extend(8000_u32.to_le_bytes());
    file.extend(8000_u32.to_le_bytes());
    file.extend(b"\x01\0\x08\0data\x64\0\0\0");
    file.resize(file.len() + 100, 128);
    file
}

fn folder() -> Folder {
    let table = format!("frames\n{}", lengths());
    let folder = Folder::new()
        .with("steps.json", STEPS)
        .with("page.html", &table)
        .with("lengths.txt", lengths())
        .with("table.json", &table)
        .with("model.json", MODEL)
        .with("model.html", MODEL)
        .with("model.lws", MODEL);
    fs::create_dir(folder.path("audio")).unwrap();
    fs::write(folder.path("audio/a.wav"), wav()).unwrap();
    fs::write(folder.path("audio/b.wav"), wav()).unwrap();
    for command in [
        "statistics lengths.txt -o all.lws",
        "plan lengths.txt --budget 4 --take 2 --cursor cursor.json",
        "stream lengths.txt --budget 4 --take 2 --state state.json",
    ] {
        assert!(folder.run(command).status.success(), "{command}");
    }
    folder
}

/// What a folder holds: every file, with its bytes.
fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            all.extend(contents(&path));
        } else if path.is_file() {
            all.push((path.display().to_string(), fs::read(&path).unwrap()));
        }
    }
    all.sort();
    all
}

/// Refused, with exit code 2, both names and a hint, and every file as it was.
fn refused(folder: &Folder, arguments: &str, names: &[&str]) {
    let before = contents(folder.folder());
    let output = folder.run(arguments);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(before == contents(folder.folder()), "{arguments}: a file changed; {said}");
    assert_eq!(output.status.code(), Some(2), "{arguments}: {said}");
    assert!(output.stdout.is_empty(), "{arguments}");
    assert!(said.contains("would overwrite"), "{arguments}: {said}");
    assert!(said.contains("\n\nhint: "), "{arguments}: {said}");
    for name in names {
        assert!(said.contains(name), "{arguments}: {said}");
    }
}

/// Every command that has an option for a file that it writes, and everything that it reads.
const COMMANDS: &[(&str, &[&str])] = &[
    ("cost steps.json -o steps.json", &["steps.json"]),
    ("report page.html --format csv -o page.html", &["page.html"]),
    ("report lengths.txt --budget cost:model.html,limit=0.05 -o model.html", &["model.html"]),
    ("report lengths.txt --cost-model model.html -o model.html", &["model.html"]),
    ("compare page.html --format csv --report page.html", &["page.html"]),
    (
        "compare lengths.txt --budget cost:model.html,limit=0.05 --report model.html",
        &["model.html"],
    ),
    ("compare lengths.txt --cost-model model.html --report model.html", &["model.html"]),
    ("plan table.json --format csv --budget 4 -o table.json", &["table.json"]),
    ("plan lengths.txt --budget cost:model.json,limit=0.05 -o model.json", &["model.json"]),
    ("plan lengths.txt --budget 4 --cost-model model.json -o model.json", &["model.json"]),
    ("plan lengths.txt --budget 4 --resume cursor.json -o cursor.json", &["cursor.json"]),
    ("plan lengths.txt --budget 4 --cursor lengths.txt", &["lengths.txt"]),
    ("plan lengths.txt --budget cost:model.json,limit=0.05 --cursor model.json", &["model.json"]),
    ("plan lengths.txt --budget 4 --statistics all.lws --cursor all.lws", &["all.lws"]),
    ("plan lengths.txt --budget 4 --cursor new.json -o ./new.json", &["new.json"]),
    (
        "plan lengths.txt --budget 4 --statistics all.lws --shard 0 --of 1 --needs all.lws",
        &["all.lws"],
    ),
    ("plan table.json --format csv --budget 4 --memory 1GB -o table.json", &["table.json"]),
    ("plan audio --budget 4 --cursor audio/b.wav", &["audio/b.wav"]),
    ("statistics lengths.txt all.lws -o all.lws", &["all.lws"]),
    ("stream lengths.txt --budget 4 --state lengths.txt", &["lengths.txt"]),
    ("stream lengths.txt --budget cost:model.json,limit=0.05 --state model.json", &["model.json"]),
];

#[test]
fn no_command_writes_over_what_it_reads() {
    let folder = folder();
    for (arguments, names) in COMMANDS {
        refused(&folder, arguments, names);
    }
}

/// What a hint proposes works.
#[test]
fn hints_name_a_file_that_can_be_written() {
    let folder = folder();
    for (arguments, _) in COMMANDS {
        let said = String::from_utf8(folder.run(arguments).stderr).unwrap();
        let hint = said.split('`').nth(1).unwrap_or_else(|| panic!("{arguments}: {said}"));
        let option = hint.split(' ').next().unwrap();
        let place = arguments.rfind(&format!("{option} ")).unwrap();
        let rest =
            arguments[place + option.len() + 1..].split_once(' ').map_or("", |(_, rest)| rest);
        let command = format!("{} {hint} {rest}", &arguments[..place]);
        let output = folder.run(&command);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{command}: {said}");
        fs::remove_file(folder.path(hint.split(' ').nth(1).unwrap())).unwrap();
    }
}

#[cfg(unix)]
#[test]
fn other_names_of_a_file_are_the_same_file() {
    use std::os::unix::fs::symlink;
    let folder = folder();
    symlink(folder.path("steps.json"), folder.path("linked.json")).unwrap();
    fs::hard_link(folder.path("steps.json"), folder.path("hard.json")).unwrap();
    symlink(folder.folder(), folder.path("again")).unwrap();
    symlink(folder.path("audio/a.wav"), folder.path("plan.json")).unwrap();
    let whole = folder.path("steps.json").display().to_string();
    for output in [
        "./steps.json",
        "linked.json",
        "hard.json",
        "again/steps.json",
        "audio/../steps.json",
        &whole,
    ] {
        refused(&folder, &format!("cost steps.json -o {output}"), &["steps.json", output]);
        refused(&folder, &format!("cost {output} -o steps.json"), &["steps.json", output]);
    }
    refused(&folder, "plan audio --budget 4 -o plan.json", &["plan.json", "audio/a.wav"]);
}

/// A file that is redirected is read and written too.
#[cfg(unix)]
#[test]
fn redirected_files_are_spared() {
    use std::fs::{File, OpenOptions};
    let folder = folder();
    let before = contents(folder.folder());
    let mut command = folder.command("cost - -o steps.json");
    let output = command.stdin(File::open(folder.path("steps.json")).unwrap()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("steps.json: the cost model would overwrite"), "{said}");
    assert!(said.contains("standard input"), "{said}");
    let end = OpenOptions::new().append(true).open(folder.path("lengths.txt")).unwrap();
    let output = folder.command("ladder lengths.txt").stdout(end).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("standard output: it would overwrite the input lengths.txt"), "{said}");
    assert!(before == contents(folder.folder()));
}

/// What goes on from a file may replace it, and what was written before may be written again.
#[test]
fn files_that_are_meant_to_be_replaced_are() {
    let folder = folder();
    for arguments in [
        "plan lengths.txt --budget 4 --take 2 --resume cursor.json --cursor cursor.json",
        "stream lengths.txt --budget 4 --take 2 --state state.json",
        "cost steps.json -o model.json",
        "cost steps.json -o model.json",
        "plan audio --budget 4 -o audio/plan.json",
        "plan audio --budget 4 -o audio/plan.json",
    ] {
        let output = folder.run(arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{arguments}: {said}");
    }
}
