//! Words and numbers as people read them, and names that cannot steer what shows them.

use std::fmt::Write as _;

/// Whether a character breaks the line, moves a cursor, turns the direction of the text or hides: a
/// name from a file may have any. Joiners are none of these; some scripts need them.
pub fn is_unsafe_to_print(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{61c}' | '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// Text that is safe on a terminal, on one line: whatever would steer it is written out.
pub fn one_line(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        if is_unsafe_to_print(character) {
            safe.extend(character.escape_default());
        } else {
            safe.push(character);
        }
    }
    safe
}

/// Text that is safe between the tags of HTML and SVG and inside quotes.
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other if other.is_control() => safe.push('\u{fffd}'),
            // Characters that turn the direction of the text show as what they are.
            other if is_unsafe_to_print(other) => _ = write!(safe, "U+{:04X}", other as u32),
            other => safe.push(other),
        }
    }
    safe
}

/// Lines of at most `width` characters, broken between words; lines after a break are indented.
pub fn wrapped(line: &str, width: usize) -> String {
    filled(line, width, "", "  ")
}

/// Text in lines of at most `width` characters, broken between words: the first line begins with
/// `first`, the others with `rest`. A space that does not break becomes a plain one, and a word that is
/// wider than a line stays whole. Colours take no width.
pub fn filled(text: &str, width: usize, first: &str, rest: &str) -> String {
    let mut filled = String::with_capacity(text.len() + first.len() + 1);
    filled.push_str(first);
    let (mut at, mut begun) = (places(first), false);
    for word in text.split(' ') {
        let length = places(word);
        if begun && at + 1 + length > width {
            filled.push('\n');
            filled.push_str(rest);
            at = places(rest);
        } else if begun {
            filled.push(' ');
            at += 1;
        }
        filled.push_str(&word.replace('\u{a0}', " "));
        at += length;
        begun = true;
    }
    filled.push('\n');
    filled
}

/// How many places a line takes on a terminal: colours take none, nor do spaces at its end.
pub fn visible_width(line: &str) -> usize {
    places(line.trim_end())
}

/// How many characters are seen of a text.
fn places(text: &str) -> usize {
    let (mut count, mut characters) = (0, text.chars());
    while let Some(character) = characters.next() {
        if character == '\u{1b}' {
            // A colour is an escape up to its `m`.
            characters.by_ref().find(|&character| character == 'm');
        } else {
            count += 1;
        }
    }
    count
}

/// A shell command in lines of at most `width` characters, which can be pasted as they are: all but the
/// last end in a backslash. An option stays beside its value, and nothing in quotes is broken.
pub fn command_lines(command: &str, width: usize) -> String {
    if visible_width(command) <= width {
        return format!("{command}\n");
    }
    let (mut lines, mut line) = (String::new(), String::new());
    for words in shell_words(command) {
        // A backslash and the space before it follow; two spaces come before.
        let whole = words.join(" ");
        let pieces = if visible_width(&whole) + 4 > width { words } else { vec![&*whole] };
        for piece in pieces {
            if !line.is_empty() && visible_width(&line) + 1 + visible_width(piece) + 2 > width {
                _ = writeln!(lines, "{line} \\");
                line = format!("  {piece}");
            } else {
                line += if line.is_empty() { "" } else { " " };
                line += piece;
            }
        }
    }
    lines + &line + "\n"
}

/// The words of a command, each option with its value.
fn shell_words(command: &str) -> Vec<Vec<&str>> {
    let (mut breaks, mut quote, mut escaped) = (vec![], None, false);
    for (at, character) in command.char_indices() {
        let dollar = command[..at].ends_with('$');
        match (quote, character) {
            _ if escaped => escaped = false,
            (None | Some('"' | '$'), '\\') => escaped = true,
            (None, '\'') => quote = Some(if dollar { '$' } else { '\'' }),
            (None, '"') => quote = Some('"'),
            (Some('\'' | '$'), '\'') | (Some('"'), '"') => quote = None,
            (None, ' ') => breaks.push(at),
            _ => {}
        }
    }
    let mut words: Vec<Vec<&str>> = Vec::new();
    let (mut start, mut after_option) = (0, false);
    for end in breaks.into_iter().chain([command.len()]) {
        let word = &command[start..end];
        let is_option = word.len() > 1 && word.starts_with('-');
        match words.last_mut().filter(|_| after_option && !is_option) {
            Some(last) => last.push(word),
            None => words.push(vec![word]),
        }
        (start, after_option) = (end + 1, is_option);
    }
    words
}

/// A line of Python in lines of at most `width` characters: broken between arguments, where Python
/// allows it.
pub(crate) fn python_lines(line: &str, width: usize) -> String {
    let indent = line.len() - line.trim_start().len();
    let (mut lines, mut rest, mut depth) = (String::new(), line.to_owned(), 0);
    while visible_width(&rest) > width {
        let Some((inside, at)) = python_break(&rest, width, depth) else { break };
        lines += rest[..at].trim_end();
        lines.push('\n');
        rest = format!("{:1$}{2}", "", indent + 4, rest[at..].trim_start());
        depth = inside;
    }
    lines + &rest + "\n"
}

/// Where to break a line that begins inside so many brackets, and inside how many it is broken: behind a
/// comma or an opening bracket, outside strings, so that what is before it fits. Of all such places it is
/// the last one inside the fewest brackets.
fn python_break(line: &str, width: usize, mut depth: u32) -> Option<(u32, usize)> {
    let (mut quote, mut places) = (None, Vec::new());
    for (at, character) in line.char_indices() {
        match (quote, character) {
            (Some(open), close) if open == close => quote = None,
            (None, '"' | '\'') => quote = Some(character),
            (None, '#') => break,
            (None, '(' | '[' | '{') => {
                depth += 1;
                places.push((depth, at + 1));
            }
            (None, ')' | ']' | '}') => depth = depth.saturating_sub(1),
            (None, ',') if depth > 0 => places.push((depth, at + 1)),
            _ => {}
        }
    }
    let end = line.trim_end().len();
    let fits = places.into_iter();
    fits.filter(|&(_, at)| at < end && visible_width(&line[..at]) <= width)
        .min_by_key(|&(depth, at)| (depth, usize::MAX - at))
}

/// So many of what this word names: with an s where they are not one.
pub fn counted(count: u64, noun: &str) -> String {
    format!("{}\u{a0}{noun}{}", grouped(count), plural(count as usize))
}

/// The noun behind this number: in the singular, or in the plural.
pub fn noun<'a>(count: u64, one: &'a str, many: &'a str) -> &'a str {
    if count == 1 { one } else { many }
}

/// What a noun ends in behind this number.
pub(crate) fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// A share in percent without the sign, with no more digits than its standard error allows: the last one
/// is at the place of the first of the error, and at most three are shown.
pub fn percent_within(share: f64, error: f64) -> String {
    let (percent, error) = (100.0 * share, 100.0 * error);
    if percent <= 0.0 && error <= 0.0 {
        return "0".to_owned();
    }
    let first_of = |number: f64| if number > 0.0 { number.log10().floor() } else { -300.0 };
    let place = first_of(error).max(first_of(percent) - 2.0).clamp(-9.0, 2.0) as i32;
    if place > 0 {
        let unit = 10_f64.powi(place);
        format!("{:.0}", (percent / unit).round() * unit)
    } else {
        format!("{percent:.*}", place.unsigned_abs() as usize)
    }
}

/// Mixing with its error, as in `12.3 ± 0.4 %`.
pub(crate) fn mixing(share: f64, error: f64) -> String {
    format!("{} ± {}\u{a0}%", percent_within(share, error), percent_within(error, error))
}

/// A share in percent, with three digits.
pub fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    match percent.abs() {
        // The space does not break.
        ..0.995 => format!("{percent:.2}\u{a0}%"),
        ..99.95 => format!("{percent:.1}\u{a0}%"),
        _ => format!("{}\u{a0}%", fixed(percent, 0)),
    }
}

/// A number with so many decimals, and with few digits where it is vast.
pub fn fixed(value: f64, decimals: usize) -> String {
    if value.abs() < 1e6 { format!("{value:.decimals$}") } else { format!("{value:.2e}") }
}

/// A whole number with a comma at every third digit.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(",")
}

/// A number in few characters: thousands as k, millions as M, thousands of these as G.
pub fn compact(number: f64) -> String {
    let (value, unit) = unit(number);
    let decimals = match value.abs() {
        _ if unit.is_empty() => 0,
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    without_zeros(value, decimals) + unit
}

/// A number with at most so many decimals, and none that say nothing.
pub(crate) fn without_zeros(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let short = text.trim_end_matches('0').trim_end_matches('.');
    if text.contains('.') { short.to_owned() } else { text }
}

/// A number in the unit that it is written in.
pub(crate) fn unit(number: f64) -> (f64, &'static str) {
    match number.abs() {
        ..10_000.0 => (number, ""),
        ..1e6 => (number / 1e3, "k"),
        ..1e9 => (number / 1e6, "M"),
        _ => (number / 1e9, "G"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_steer_a_terminal() {
        assert_eq!(
            one_line("a\u{202e}b\n\u{1b}[31m\u{61c}é"),
            "a\\u{202e}b\\n\\u{1b}[31m\\u{61c}é"
        );
    }

    #[test]
    fn names_stay_names() {
        let hostile = "</text><script>alert('x')</script>&\"\u{202e}\u{1b}[31m";
        assert_eq!(
            escaped(hostile),
            "&lt;/text&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;&quot;U+202E\u{fffd}[31m"
        );
    }

    #[test]
    fn vast_numbers_take_few_characters() {
        assert_eq!((fixed(2.0 / 3.0, 3), fixed(-1.5e300, 3)), ("0.667".into(), "-1.50e300".into()));
        assert_eq!(
            (percent(0.125), percent(1e300)),
            ("12.5\u{a0}%".into(), "1.00e302\u{a0}%".into())
        );
    }

    #[test]
    fn errors_decide_how_many_digits_there_are() {
        let shown = |share, error| percent_within(share, error);
        assert_eq!(shown(0.123_456, 0.004), "12.3");
        assert_eq!(shown(0.123_456, 0.04), "12");
        assert_eq!(shown(0.123_456, 0.4), "10");
        assert_eq!(shown(0.123_456, 1e-9), "12.3");
        assert_eq!(shown(0.002_843, 2e-5), "0.284");
        assert_eq!(shown(1.0, 0.003), "100");
        assert_eq!(shown(1.0, 0.79), "100");
        assert_eq!((shown(0.0, 0.0), shown(0.0, 0.02)), ("0".into(), "0".into()));
        assert_eq!(mixing(0.0963, 0.0021), "9.6 ± 0.2\u{a0}%");
    }

    #[test]
    fn large_numbers_take_few_characters() {
        let numbers = [0.0, 800.0, 9999.0, 24_829.0, 319_400.0, 1_424_829.0, 4_294_967_295.0];
        assert_eq!(numbers.map(compact), ["0", "800", "9999", "24.8k", "319k", "1.42M", "4.29G"]);
        assert_eq!(
            (counted(1, "rung"), counted(1200, "rung")),
            ("1\u{a0}rung".into(), "1,200\u{a0}rungs".into())
        );
    }

    #[test]
    fn long_lines_are_broken_between_words() {
        assert_eq!(wrapped("one two three four", 9), "one two\n  three\n  four\n");
        assert_eq!(wrapped("one two", usize::MAX), "one two\n");
        assert_eq!(wrapped("one two\u{a0}three", 8), "one\n  two three\n");
        assert_eq!(filled("one two three", 9, "- ", "  "), "- one two\n  three\n");
        assert_eq!(filled("uncuttable word", 4, "", ""), "uncuttable\nword\n");
        // Colours take no width.
        assert_eq!(wrapped("\u{1b}[1mone\u{1b}[0m two", 7), "\u{1b}[1mone\u{1b}[0m two\n");
    }

    #[test]
    fn commands_can_be_pasted_at_any_width() {
        let command =
            r"lengthwise plan 'a b.csv' --column $'it\'s x' --budget padded:20000 -o plan.json";
        assert_eq!(command_lines(command, 100), format!("{command}\n"));
        let narrow = command_lines(command, 32);
        let expected = "lengthwise plan 'a b.csv' \\\n  --column $'it\\'s x' \\\n  --budget padded:20000 \\\n  -o \
                        plan.json\n";
        assert_eq!(narrow, expected);
        assert!(narrow.lines().all(|line| visible_width(line) <= 32));
        // What a shell makes of it is the command.
        for width in 1..100 {
            let lines = command_lines(command, width);
            assert_eq!(lines.replace(" \\\n  ", " ").trim_end(), command, "{width}");
        }
    }

    #[test]
    fn calls_are_broken_between_arguments() {
        let call = "plan = lw.plan(lengths, \"blurred, or not\", budget=\"padded:20000\")";
        assert_eq!(python_lines(call, 80), format!("{call}\n"));
        let expected =
            "plan = lw.plan(lengths,\n    \"blurred, or not\",\n    budget=\"padded:20000\")\n";
        assert_eq!(python_lines(call, 30), expected);
        // Nothing outside brackets is broken.
        assert_eq!(python_lines("a, b = some_function", 8), "a, b = some_function\n");
    }
}
