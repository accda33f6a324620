"""What becomes of each kind of change."""

import unittest

from switches import Source


def switched(text: str, *changes: tuple[str, str, str]) -> str:
    """The text with these changes in it: the genre, what is changed, and what takes its place."""
    mutants = []
    for number, (genre, found, replacement) in enumerate(changes, 1):
        assert text.count(found) == 1, found
        before = text[: text.index(found)]

        def place(text: str) -> dict[str, int]:
            return {"line": text.count("\n") + 1, "column": len(text.rpartition("\n")[2]) + 1}

        span = {"start": place(before), "end": place(before + found)}
        mutants.append((number, {"genre": genre, "span": span, "replacement": replacement}))
    source = Source(text.encode())
    source.change(mutants)
    written, places = source.written()
    for number, (start, middle, end) in places.items():
        assert f"on({number})" in written[start:middle].decode()
        assert written[middle:end].count(b"on(") == 0
    return written.decode().replace("crate::switch::", "")


class Switches(unittest.TestCase):
    def test_an_operator_has_others_beside_it(self) -> None:
        changed = switched("fn f() { a + b }", ("BinaryOperator", "+", "-"), ("BinaryOperator", "+", "*"))
        self.assertEqual(changed, "fn f() { (if on(1) { a - b } else if on(2) { a * b } else { a + b }) }")

    def test_changes_inside_others_are_in_what_is_not_changed(self) -> None:
        changed = switched("fn f() { a + b * c }", ("BinaryOperator", "+", "-"), ("BinaryOperator", "*", "/"))
        inner = "(if on(2) { b / c } else { b * c })"
        self.assertEqual(changed, f"fn f() {{ (if on(1) {{ a - b * c }} else {{ a + {inner} }}) }}")

    def test_letters_of_several_bytes(self) -> None:
        changed = switched('fn f() { "ä€"; é += 1; }', ("BinaryOperator", "+=", "-="))
        self.assertEqual(changed, 'fn f() { "ä€"; (if on(1) { é -= 1 } else { é += 1 }); }')

    def test_a_function_returns_at_once_and_is_not_constant(self) -> None:
        changed = switched("pub const fn f() -> u32 { 7 }", ("FnValue", "7", "0"), ("FnValue", "7", "1"))
        self.assertEqual(
            changed, "pub fn f() -> u32 { if on(1) { return 0; }  if on(2) { return 1; }  7 }"
        )

    def test_an_arm_is_never_taken(self) -> None:
        text = "fn f() { match x { 1 => a, 2 if b => c, _ => d } }"
        changed = switched(text, ("MatchArm", "1 => a,", ""), ("MatchArm", "2 if b => c,", ""))
        self.assertEqual(changed, "fn f() { match x { 1 if !on(1) => a, 2 if !on(2) && (b) => c, _ => d } }")

    def test_a_guard_is_true_or_false(self) -> None:
        changed = switched("fn f() { match x { y if y > 2 => a, _ => b } }", ("MatchArmGuard", "y > 2", "true"))
        self.assertEqual(changed, "fn f() { match x { y if (if on(1) { true } else { y > 2 }) => a, _ => b } }")

    def test_a_field_is_that_of_the_base(self) -> None:
        text = "fn f() { S { a: 1 + 2, b, ..base() } }"
        changed = switched(text, ("StructField", "a: 1 + 2", ""), ("StructField", "b,", ""))
        first, second = ("if on({}) {{ (base()).{} }} else {{ {} }}".format(*of) for of in [(1, "a", "1 + 2"), (2, "b", "b")])
        self.assertEqual(changed, f"fn f() {{ S {{ a: {first}, b: {second}, ..base() }} }}")

    def test_a_negation_is_left_out(self) -> None:
        changed = switched("fn f() { if !x { y } }", ("UnaryOperator", "!", ""))
        self.assertEqual(changed, "fn f() { if (if on(1) { x } else { !x }) { y } }")

    def test_conditions_that_bind_names_are_left_alone(self) -> None:
        text = "fn f() { if let Some(x) = y && z { } }"
        source = Source(text.encode())
        place = {"line": 1, "column": text.index("&&") + 1}
        source.change([(1, {"genre": "BinaryOperator", "span": {"start": place, "end": place}, "replacement": "||"})])
        self.assertEqual((source.missing, source.written()), ([1], (text.encode(), {})))


if __name__ == "__main__":
    unittest.main()
