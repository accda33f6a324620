//! `lengthwise explain`, `--help`, and how the command ends.

use std::{fs, io::Read, path::Path, process::Stdio};

use expect_test::expect;

use crate::common::{Folder, refusal};

#[test]
fn explain_lists_and_explains() {
    let folder = Folder::new();
    folder.expect(
        "explain",
        &expect![[r#"
            exit 0
            --- stdout
            Strategies
              shuffled                    random order
              sorted                      by length, equal lengths shuffled
              semi-sorted:noise=0.1       by length plus uniform noise
              alternated:bins=64          shuffled, in bins sorted up and down in turn
              bucketed:size=1024          sorted, in buckets of equal count, random inside
              length-buckets:width=250    length intervals, random inside
              optimal-buckets:count=6     the length intervals of least padding, random inside
              neighbours                  grown from a random sequence toward its neighbours
              pooled:batches=50           shuffled, in pools of a few batches sorted
              blurred:blur=0.02           by length plus one-sided noise on a scale that fits the lengths
              rotating:epochs=16          no two sequences share a batch twice in a cycle of epochs
              proportional                every step has its share of each stratum of lengths
              packed                      several sequences in a row, for models that keep them apart
              paired:blur=0.1             for two lengths: stripes of the first, each by the second, with noise
                                          on both

            Settings
              budget                      the limit of every batch: sequences, padded, dynamic, cost
              cost                        how long a training step takes: recurrent, encoder, paper-2
              shapes                      which batch lengths may occur: exact, multiple, ladder
              arrange                     the order of the batches: as-built, shuffled, spread, short-first,
                                          long-first
              steps                       which ranks process which batches: stratified, aligned, in-order

            More
              groups                      sequences that stay together, and kinds that do not mix
              balance                     divide one step over ranks and micro-batches
              stream                      batches from data that arrives one by one
              shards                      plan a dataset whose lengths are on several nodes
              mixing                      how freely batch-mates change between epochs
              tune                        how settings are recommended
              glossary                    the words that lengthwise uses

            Built-in lengths (--example)
              speech                      10,480 read sentences in frames, like LJSpeech
              documents                   6,000 web documents in tokens, with a heavy tail
              bimodal                     8,000 recordings in frames: short commands and long dictation

            Run 'lengthwise explain NAME' to read a page.
            --- stderr
        "#]],
    );
    folder.expect("explain alternated", &expect![[r#"
        exit 0
        --- stdout
        alternated

        What it does

          Shuffles all sequences, divides them into 'bins' bins of equal count, sorts odd bins from short to
          long and even bins from long to short, and cuts batches from the resulting order, across the ends
          of bins. Because the direction alternates, neighbours across the end of a bin have similar
          lengths.

        When to use it

          When batch-mates should come from a random part of the data. One bin is the same as 'sorted'; as
          many bins as batches is nearly 'shuffled'. In this order, the batch length rises and falls once
          every two bins.

        Cost

          O(N) time (two radix sorts), at most 20 bytes of memory per sequence.

        Parameters

          - bins (default 64): the paper's N.

        Examples

          On the command line:

            lengthwise plan --example speech --strategy alternated:bins=64 --budget sequences:16 \
              -o plan.json

          In Python:

            import lengthwise as lw

            lengths = lw.example("speech")
            plan = lw.plan(lengths, "alternated:bins=64", budget=16)
            print(len(plan), plan.measure().padding_rate)

        Reference

          Paper 1, section 4.
        --- stderr
    "#]]);
    let text = |arguments: &str| String::from_utf8(folder.run(arguments).stdout).unwrap();
    assert_eq!(text("explain padded"), text("explain budget"));
    assert_eq!(text("explain alternated:bins=3"), text("explain alternated"));
    assert!(text("explain steps").starts_with("Steps over ranks"));
    for name in ["stratified", "aligned", "in-order", "split", "repeat", "drop", "tail", "cursor"] {
        assert_eq!(text(&format!("explain {name}")), text("explain steps"), "{name}");
    }
    assert!(text("explain shuffled").starts_with("shuffled\n"));
    for name in ["glossary", "words"] {
        assert!(text(&format!("explain {name}")).contains("batch-mates"), "{name}");
    }
    let all = folder.json("explain --json");
    // Twelve pages are about something else.
    assert_eq!(all.as_array().unwrap().len(), lengthwise::Strategy::all().len() + 12);
    expect![[r#"
        $ lengthwise explain neighbors
        error: unknown strategy `neighbors`

        hint: did you mean `neighbours`? run `lengthwise explain` to list all

    "#]]
    .assert_eq(&refusal(&folder, "explain neighbors"));
}

#[test]
fn help_has_one_line_for_every_command() {
    let folder = Folder::new();
    folder.expect(
        "-h",
        &expect![[r#"
            exit 0
            --- stdout
            Plan the batches of variable-length sequences: little padding, few shapes, new batch-mates in every
            epoch

            Usage: lengthwise [OPTIONS] <COMMAND>

            Commands:
              inspect      Show the distribution of the lengths and what padding costs
              compare      Compare strategies: padding, batches, shapes and mixing
              report       Write a comparison with figures to one HTML page
              plan         Plan the batches of one epoch
              balance      Divide the sequences of one step over ranks and micro-batches of equal work
              stream       Plan batches from a stream of lengths as they arrive
              tune         Recommend settings within limits on padding, mixing and shapes
              frontier     Measure padding against mixing for every family of strategies
              ladder       Find the batch lengths with the least padding
              cost         Fit a cost model to measured training steps
              statistics   Compute summary statistics of shards, so that each node can plan its own shard
              verify       Check that a plan file is complete and matches its lengths
              completions  Print a completion script for a shell
              man          Print the manual page, or write the pages of all commands
              explain      Explain a strategy, a setting or a word, with examples
              help         Print this message or the help of the given subcommand(s)

            Options:
              -h, --help     Print help
              -V, --version  Print version

            Output:
              -q, --quiet         Suppress everything on stderr except errors
                  --color <WHEN>  Colours: auto, always or never [default: auto] [possible values: auto, always,
                                  never]

            Exit codes:
              0      Success
              1      A check failed: `verify` found a fault, or nothing keeps the limits given to `tune`
              2      Wrong usage, wrong input, or a file that cannot be read or written
              128+N  Ended by signal N, such as 130 for Ctrl-C

            Examples:
              lengthwise inspect --example speech
              lengthwise compare --example speech --budget padded:12800 --report report.html
            --- stderr
        "#]],
    );
}

/// All that help and documentation call a setting by.
#[test]
fn settings_are_explained_under_every_name() {
    let folder = Folder::new();
    let first = |name: &str| {
        let output = folder.run(&format!("explain {name}"));
        assert!(output.status.success(), "{name}");
        String::from_utf8(output.stdout).unwrap()
    };
    for (name, others) in [
        ("budget", &["budgets"][..]),
        ("cost", &["cost-models", "cost-model", "cost models"]),
        ("shapes", &["shape"]),
        ("arrange", &["arrangements", "arrangement"]),
        ("stream", &["streams"]),
        ("shards", &["shard"]),
        ("steps", &["step"]),
        ("groups", &["together", "kinds", "mix"]),
    ] {
        for other in others {
            assert_eq!(first(name), first(other), "{other}");
        }
    }
    assert_eq!(first("strategies"), first(""));
    let said = refusal(&folder, "explain steams");
    assert!(said.contains("there is no page `steams`"), "{said}");
    for name in ["blurred", "paired", "budget", "cost", "stream", "tune"] {
        assert!(said.contains(&format!("`{name}`")), "{name}: {said}");
    }
}

/// What the argument parser itself refuses.
#[test]
fn bad_usage_ends_with_code_2() {
    let folder = Folder::new();
    for arguments in [
        "",
        "comparr",
        "compare --epochs 0",
        "compare --world-size 0",
        "ladder --rungs 0",
        "plan x.txt",
        "compare x.txt --example speech",
        "compare --column frames",
        "compare --format csv",
        "compare --seed -1",
    ] {
        let output = folder.run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments}");
        assert_eq!(output.stdout, b"", "{arguments}");
        assert!(!output.stderr.is_empty(), "{arguments}");
    }
}

#[test]
fn a_reader_that_stops_early_is_no_error() {
    let folder = Folder::new();
    for arguments in
        ["plan --example speech --budget sequences:1", "explain bucketed", "compare --json"]
    {
        let mut child = folder
            .command(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = child.stdout.take().unwrap();
        output.read_exact(&mut [0; 4]).unwrap();
        drop(output);
        let rest = child.wait_with_output().unwrap();
        assert_eq!(rest.status.code(), Some(0), "{arguments}");
        assert!(!String::from_utf8_lossy(&rest.stderr).contains("panicked"), "{arguments}");
    }
}

#[test]
fn a_full_disk_is_an_error() {
    if !Path::new("/dev/full").exists() {
        return;
    }
    let folder = Folder::new();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = folder.command("compare --epochs 1").stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("error: standard output: "));
}

/// The commands of a text, one a line; those that a backslash continues are joined.
fn commands(text: &str) -> Vec<String> {
    let joined = text.replace("\\\n", " ");
    let lines = joined.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    lines.filter(|line| line.contains("lengthwise ")).collect()
}

/// Runs commands in a shell, one after the other in one folder; all must succeed.
#[cfg(unix)]
fn run_in_shell(folder: &Folder, commands: &[String]) {
    let here = Path::new(env!("CARGO_BIN_EXE_lengthwise")).parent().unwrap();
    let path = format!("{}:{}", here.display(), std::env::var("PATH").unwrap());
    for command in commands {
        let mut shell = std::process::Command::new("sh");
        shell.args(["-ec", command]).current_dir(folder.folder()).env("PATH", &path);
        let output = shell.output().unwrap();
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[cfg(unix)]
#[test]
fn every_help_ends_with_two_examples_that_work() {
    let folder = Folder::new();
    let help = |arguments: &str, columns: &str| {
        let output = folder.command(arguments).env("COLUMNS", columns).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let whole = help("--help", "100");
    assert!(whole.contains("Exit codes:") && whole.contains("128+N"), "{whole}");
    let list = whole.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names = list.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names: Vec<&str> = names.filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.len() >= 14, "{names:?}");
    let arguments =
        names.iter().filter(|&&name| name != "help").map(|name| format!("{name} --help"));
    for arguments in arguments.chain(["--help".to_owned()]) {
        // The same commands, however narrow the terminal is.
        let [wide, narrow] = ["100", "40"].map(|columns| {
            let text = help(&arguments, columns);
            let examples = text.split("Examples:\n").nth(1).unwrap_or_default();
            commands(examples)
        });
        assert_eq!(wide, narrow, "{arguments}");
        assert_eq!(wide.len(), 2, "{arguments}: {wide:?}");
        run_in_shell(&folder, &wide);
    }
}

#[cfg(unix)]
#[test]
fn the_commands_of_every_page_work() {
    let folder = Folder::new();
    let pages = folder.json("explain --json");
    for page in pages.as_array().unwrap() {
        let (name, text) = (&page["name"], page["text"].as_str().unwrap());
        let block = text.split("```sh\n").nth(1).and_then(|rest| rest.split("\n```").next());
        let lines: Vec<String> = block.expect("commands").lines().map(str::to_owned).collect();
        assert!(lines.iter().any(|line| line.contains("lengthwise ")), "{name}");
        run_in_shell(&folder, &lines);
    }
}

#[test]
fn manual_pages_have_examples_and_exit_codes() {
    let folder = Folder::new();
    let page = String::from_utf8(folder.run("man").stdout).unwrap();
    for section in [".SH EXAMPLES", ".SH \"EXIT STATUS\""] {
        assert!(page.contains(section), "{page}");
    }
    assert!(folder.run("man -o man").status.success());
    let page = fs::read_to_string(folder.path("man/lengthwise-tune.1")).unwrap();
    assert!(page.contains("lengthwise tune \\-\\-example speech"), "{page}");
}
