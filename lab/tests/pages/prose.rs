//! Numbers that no comment names a source of.

/// Marks of numbers that are not ours.
const MARKS: [&str; 4] = ["<!-- result ", "<!-- paper -->", "<!-- setting -->", "<!-- not kept"];

/// Every number with a decimal point or a percent sign outside of marks, and every table without a comment: the
/// line and what is there. Code is not looked at.
pub(crate) fn unmarked(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    let (mut code, mut comment, mut marked, mut source) = (false, false, false, false);
    let mut within_table = false;
    for (number, line) in (1..).zip(page.lines()) {
        if line.starts_with("```") {
            code = !code;
        }
        if line.starts_with("<!-- results") || line == "<!-- paper -->" {
            (comment, source) = (line.starts_with("<!-- results"), true);
        }
        if comment || code {
            comment &= !line.ends_with("-->");
            continue;
        }
        if line.starts_with('|') {
            if !within_table && !source {
                found.push(format!(
                    "line {number}: a table without a comment that says what it shows"
                ));
            }
            within_table = true;
            continue;
        }
        within_table = false;
        source &= line.is_empty() || line.starts_with("<!--");
        let text = line.trim_start();
        let mark = ["<!-- setting -->", "<!-- paper -->"];
        if mark.into_iter().any(|mark| text.starts_with(mark) && text != mark) {
            found.push(format!("line {number}: a line that begins with a comment is no Markdown"));
        }
        let rest = without_marks(line, &mut marked);
        found.extend(numbers(&rest).map(|text| format!("line {number}: {text}")));
    }
    found
}

/// The line without code and without what stands between marks, which may begin on the line before.
fn without_marks(line: &str, marked: &mut bool) -> String {
    let mut kept = String::new();
    let mut rest = line;
    while !rest.is_empty() {
        if *marked {
            let Some((_, after)) = rest.split_once("<!-- end -->") else { break };
            (*marked, rest) = (false, after);
            continue;
        }
        let next = MARKS.iter().filter_map(|mark| rest.find(mark)).min();
        let (before, after) = rest.split_at(next.unwrap_or(rest.len()));
        kept += before;
        kept.push(' ');
        *marked = next.is_some();
        rest = after;
    }
    // Every second part is code.
    kept.split('`').step_by(2).collect::<Vec<_>>().join(" ")
}

/// Decimal numbers and percentages.
fn numbers(text: &str) -> impl Iterator<Item = String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let of = |at: usize, word: &&str| {
        let digits = word.trim_matches(|c: char| !c.is_ascii_digit() && c != '%');
        // Also `.5`, and not `1.` at the end of a sentence or `a.5`.
        let inner = word.as_bytes().windows(2).enumerate().any(|(at, part)| {
            let before = at.checked_sub(1).map(|at| word.as_bytes()[at]);
            part[0] == b'.'
                && part[1].is_ascii_digit()
                && before.is_none_or(|before| !before.is_ascii_alphabetic())
        });
        let percent = digits.ends_with('%')
            || words.get(at + 1).is_some_and(|next| next.starts_with('%') && !digits.is_empty());
        (inner || (percent && digits.contains(|c: char| c.is_ascii_digit())))
            .then(|| (*word).to_owned())
    };
    words.iter().enumerate().filter_map(|(at, word)| of(at, word)).collect::<Vec<_>>().into_iter()
}

#[test]
fn numbers_without_a_source_are_found() {
    let page = "A size of 48 units, 0.44 s, and `0.5`, (.45).\n\
                Takes <!-- result x -->0.3<!-- end --> or <!-- paper -->9.9\n8.1 %<!-- end --> of 12 %, (1.5).\n\
                ```\n0.9\n```\n<!-- results\nfiles = { a = \"0.1\" }\n-->\n\n| 1.5 |\n|---|\n| 2.5 |\n\nAnd then\n\n| 3 |\n\
                <!-- setting -->5 %<!-- end --> of them\n";
    let found = unmarked(page);
    let expected = [
        "line 1: 0.44",
        "line 1: (.45).",
        "line 3: 12",
        "line 3: (1.5).",
        "line 17: a table without a comment that says what it shows",
        "line 18: a line that begins with a comment is no Markdown",
    ];
    assert_eq!(found, expected);
}
