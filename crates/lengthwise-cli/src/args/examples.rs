//! What every help ends with: commands that work when they are pasted. A test runs them all.

use lengthwise_report::{command_lines, filled};

/// Two examples for each command; those of the whole come first.
pub(crate) const ALL: [(&str, [&str; 2]); 16] = [
    (
        "lengthwise",
        [
            "lengthwise inspect --example speech",
            "lengthwise compare --example speech --budget padded:12800 --report report.html",
        ],
    ),
    (
        "inspect",
        [
            "lengthwise inspect --example speech",
            "seq 20 400 | lengthwise inspect - --budget padded:12800",
        ],
    ),
    (
        "compare",
        [
            "lengthwise compare --example speech --budget padded:12800",
            "seq 20 400 | lengthwise compare - --strategy shuffled --strategy blurred",
        ],
    ),
    (
        "report",
        [
            "lengthwise report --example speech --budget padded:12800 -o speech.html",
            "seq 20 400 | lengthwise report - -o lengths.html",
        ],
    ),
    (
        "plan",
        [
            "lengthwise plan --example speech --budget padded:12800 -o plan.json",
            "lengthwise plan --example speech --budget padded:12800 --world-size 8 --rank 0 -o rank-0.jsonl",
        ],
    ),
    (
        "balance",
        [
            "lengthwise balance --example documents --world-size 8 --capacity 32768",
            "seq 20 400 | lengthwise balance - --world-size 4 --capacity 4096 --cost-model attention:hidden=4096,layers=32 --json",
        ],
    ),
    (
        "stream",
        [
            "seq 20 400 | lengthwise stream --budget padded:4000",
            "lengthwise stream --example speech --budget padded:12800 --state state.json --take 100",
        ],
    ),
    (
        "tune",
        [
            "lengthwise tune --example speech --budget padded:12800",
            "lengthwise tune --example documents --like 32 --model recurrent",
        ],
    ),
    (
        "frontier",
        [
            "lengthwise frontier --example speech --budget padded:12800 --steps 3",
            "seq 20 400 | lengthwise frontier - --steps 3 --json",
        ],
    ),
    (
        "ladder",
        [
            "lengthwise ladder --example speech --rungs 8",
            "seq 20 400 | lengthwise ladder - --rungs 4 --json",
        ],
    ),
    (
        "cost",
        [
            "printf '%s\\n' batch_size,batch_length,seconds 8,100,0.011 8,200,0.021 16,100,0.021 16,200,0.041 | lengthwise cost -",
            "printf '%s\\n' batch_size,batch_length,seconds 8,100,0.011 8,200,0.021 16,100,0.021 16,200,0.041 | lengthwise cost - -o model.json --json",
        ],
    ),
    (
        "statistics",
        [
            "seq 20 400 | lengthwise statistics -",
            "seq 20 400 > part-0.txt && lengthwise statistics part-0.txt -o all.lws",
        ],
    ),
    (
        "verify",
        [
            "lengthwise plan --example speech --budget padded:12800 -o plan.json && lengthwise verify plan.json --example speech",
            "lengthwise plan --example bimodal --budget padded:40000 -o plan.npz && lengthwise verify plan.npz --json",
        ],
    ),
    (
        "completions",
        [
            "lengthwise completions bash > lengthwise.bash",
            "lengthwise completions zsh > _lengthwise",
        ],
    ),
    ("man", ["lengthwise man > lengthwise.1", "lengthwise man -o man"]),
    ("explain", ["lengthwise explain blurred", "lengthwise explain glossary"]),
];

/// What the exit codes say.
pub(crate) const EXIT_CODES: [(&str, &str); 4] = [
    ("0", "Success"),
    ("1", "A check failed: `verify` found a fault, or nothing keeps the limits given to `tune`"),
    ("2", "Wrong usage, wrong input, or a file that cannot be read or written"),
    ("128+N", "Ended by signal N, such as 130 for Ctrl-C"),
];

/// The examples of a command.
pub(crate) fn of(command: &str) -> [&'static str; 2] {
    let found = ALL.iter().find(|(name, _)| *name == command);
    found.map_or(ALL[0].1, |(_, examples)| *examples)
}

/// What the help of a command ends with, in lines of at most `width` characters.
pub(crate) fn after_help(command: &str, own: Option<&str>, width: usize) -> String {
    let mut text = own.map_or_else(String::new, |own| filled(own, width, "", "") + "\n");
    if command == ALL[0].0 {
        text += "Exit codes:\n";
        let line = |&(code, meaning): &(&str, &str)| {
            filled(meaning, width, &format!("  {code:5}  "), "         ")
        };
        text.extend(EXIT_CODES.iter().map(line));
        text.push('\n');
    }
    text += "Examples:\n";
    for example in of(command) {
        let lines = command_lines(example, width.saturating_sub(2));
        text.extend(lines.lines().map(|line| format!("  {line}\n")));
    }
    text.truncate(text.trim_end().len());
    text
}
