"""Writes a source file with many small changes in it, each behind a switch.

The changes are those that ``cargo mutants --list`` names: another operator, a function that returns at once, an arm of a
match that is never taken. ``a + b`` becomes ``(if on(7) { a - b } else if on(8) { a * b } else { a + b })``, so that one
program has them all, and a number in its environment says which one it has.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain

import tree_sitter
import tree_sitter_rust

PARSER = tree_sitter.Parser(tree_sitter.Language(tree_sitter_rust.language()))

#: The module that tells which change is on. With `MUTANT=4294967295` it writes down which are reached.
SWITCH = """\
#![allow(unsafe_code, static_mut_refs)]
use std::{env::var, fs::File, io::Write};
static mut ON: u32 = 0;
static mut REACHED: Option<File> = None;
static mut SEEN: [bool; COUNT] = [false; COUNT];
// Before `main`, so that asking is one comparison.
#[used]
#[unsafe(link_section = ".init_array")]
static INIT: extern "C" fn() = init;
extern "C" fn init() {
    unsafe {
        ON = var("MUTANT").ok().and_then(|on| on.parse().ok()).unwrap_or(0);
        REACHED = var("MUTANTS_REACHED").ok().and_then(|path| File::create(path).ok());
    }
}
#[inline(always)]
pub(crate) fn on(number: u32) -> bool {
    let on = unsafe { ON };
    if on == u32::MAX { reach(number) }
    on == number
}
#[cold]
#[inline(never)]
fn reach(number: u32) {
    unsafe {
        if !std::mem::replace(&mut SEEN[number as usize], true) {
            let file = REACHED.as_mut().expect("MUTANTS_REACHED is a file");
            file.write_all(&number.to_le_bytes()).expect("it can be written");
        }
    }
}
"""


@dataclass
class Change:
    """One alternative: what asks whether it is on, and what is there then."""

    number: int
    asks: bytes
    text: bytes


@dataclass
class Edit:
    """What takes the place of a range: text, changes, and `None` for what was there, with the edits inside it."""

    start: int
    end: int
    parts: list[bytes | Change | None]


@dataclass
class Source:
    """A source file and what is changed in it."""

    text: bytes
    edits: list[Edit] = field(default_factory=list)
    #: Changes that are of no node: rustc would not take them either.
    missing: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.starts = [0]
        for line in self.text.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.nodes: dict[str, list[tree_sitter.Node]] = {}
        stack = [PARSER.parse(self.text).root_node]
        while stack:
            node = stack.pop()
            self.nodes.setdefault(node.type, []).append(node)
            stack.extend(node.children)

    def of(self, node: tree_sitter.Node) -> bytes:
        return self.text[node.start_byte : node.end_byte]

    def offset(self, place: dict[str, int]) -> int:
        start, end = self.starts[place["line"] - 1 : place["line"] + 1]
        return start + len(self.text[start:end].decode()[: place["column"] - 1].encode())

    def kinds(self, *kinds: str) -> chain[tree_sitter.Node]:
        return chain.from_iterable(self.nodes.get(kind, []) for kind in kinds)

    def find(self, genre: str, start: int, end: int) -> tree_sitter.Node | None:
        """The node that a change is of."""
        if genre == "BinaryOperator":
            binary = self.kinds("binary_expression", "compound_assignment_expr")
            found = (node for node in binary if node.child_by_field_name("operator").start_byte == start)
        elif genre == "UnaryOperator":
            found = (node for node in self.kinds("unary_expression") if node.start_byte == start)
        elif genre == "MatchArm":
            arms = self.kinds("match_arm")
            found = (node for node in arms if start in (node.start_byte, node.child_by_field_name("pattern").start_byte))
        elif genre == "MatchArmGuard":
            guards = (node.child_by_field_name("condition") for node in self.kinds("match_pattern"))
            found = (node for node in guards if node is not None and node.start_byte == start)
        elif genre == "StructField":
            fields = self.kinds("field_initializer", "shorthand_field_initializer")
            found = (node for node in fields if node.start_byte == start)
        else:
            bodies = (node.child_by_field_name("body") for node in self.kinds("function_item"))
            around = (node for node in bodies if node is not None and node.start_byte < start and end < node.end_byte)
            return max(around, key=lambda node: node.start_byte, default=None)
        return next(found, None)

    def change(self, mutants: list[tuple[int, dict]]) -> None:
        """Adds all these changes."""
        groups: dict[tuple[int, int, str], tuple[tree_sitter.Node, list[tuple[int, str]]]] = {}
        for number, mutant in mutants:
            start, end = (self.offset(mutant["span"][at]) for at in ("start", "end"))
            node = self.find(mutant["genre"], start, end)
            if node is None:
                self.missing.append(number)
                continue
            key = (node.start_byte, node.end_byte, mutant["genre"])
            groups.setdefault(key, (node, []))[1].append((number, mutant["replacement"]))
        for (start, end, genre), (node, members) in groups.items():
            self.change_node(node, genre, members)
        for node in self.kinds("function_item"):
            # What the compiler evaluates cannot ask.
            modifiers = next((child for child in node.children if child.type == "function_modifiers"), None)
            inside = any(node.start_byte <= start and end <= node.end_byte for start, end, _ in groups)
            if modifiers is not None and self.of(modifiers).startswith(b"const") and inside:
                self.edits.append(Edit(modifiers.start_byte, modifiers.start_byte + len(b"const "), []))

    def change_node(self, node: tree_sitter.Node, genre: str, members: list[tuple[int, str]]) -> None:
        number = members[0][0]
        if genre == "FnValue":
            returns = [
                Change(number, b" if " + on(number), b" { return " + value.encode() + b"; } ") for number, value in members
            ]
            self.insert(node.start_byte + 1, *returns)
        elif genre == "MatchArm":
            pattern = node.child_by_field_name("pattern")
            guard = pattern.child_by_field_name("condition")
            if guard is None:
                self.insert(pattern.end_byte, Change(number, b" if !" + on(number), b""))
            else:
                self.insert(guard.start_byte, Change(number, b"!" + on(number) + b" && ", b""), b"(")
                self.insert(guard.end_byte, b")")
        elif genre == "StructField":
            base = next(child for child in node.parent.children if child.type == "base_field_initializer").children[-1]
            short = node.type == "shorthand_field_initializer"
            name = node.children[0] if short else node.child_by_field_name("field")
            value = node if short else node.child_by_field_name("value")
            other = b" { (" + self.of(base) + b")." + self.of(name) + b" }"
            named = [self.of(name) + b": "] if short else []
            self.insert(value.start_byte, *named, Change(number, b"if " + on(number), other), b" else { ")
            self.insert(value.end_byte, b" }")
        else:
            parts: list[bytes | Change | None] = [b"("]
            for number, replacement in members:
                text = b" { " + self.other(node, genre, replacement.encode()) + b" }"
                parts += [Change(number, b"if " + on(number), text), b" else "]
            self.edits.append(Edit(node.start_byte, node.end_byte, [*parts, b"{ ", None, b" })"]))

    def other(self, node: tree_sitter.Node, genre: str, replacement: bytes) -> bytes:
        """An expression, changed."""
        if genre == "MatchArmGuard":
            return replacement
        if genre == "UnaryOperator":
            return self.of(node.children[-1])
        operator = node.child_by_field_name("operator")
        return self.text[node.start_byte : operator.start_byte] + replacement + self.text[operator.end_byte : node.end_byte]

    def insert(self, at: int, *parts: bytes | Change) -> None:
        self.edits.append(Edit(at, at, list(parts)))

    def written(self) -> tuple[bytes, dict[int, tuple[int, int, int]]]:
        """The file with its switches, and where each change begins, where its text begins and where it ends."""
        # The outer before the inner, and insertions before what is replaced from there on.
        self.edits.sort(key=lambda edit: (edit.start, edit.end > edit.start, -edit.end))
        out, places = bytearray(), {}

        def copy(at: int, end: int, edits: list[Edit]) -> None:
            while edits:
                edit, *edits = edits
                inside = [other for other in edits if other.start < edit.end]
                edits = edits[len(inside) :]
                out.extend(self.text[at : edit.start])
                for part in edit.parts:
                    if part is None:
                        copy(edit.start, edit.end, inside)
                    elif isinstance(part, bytes):
                        out.extend(part)
                    else:
                        start = len(out)
                        out.extend(part.asks)
                        places[part.number] = (start, len(out), len(out) + len(part.text))
                        out.extend(part.text)
                at = edit.end
            out.extend(self.text[at:end])

        copy(0, len(self.text), self.edits)
        return bytes(out), places


def on(number: int) -> bytes:
    return f"crate::switch::on({number})".encode()
