"""Changes the planner in one small place at a time, and tells which changes none of its tests notices.

The changes are compiled into one program (see `switches.py`), so that trying one takes a second instead of half a minute.
They are tried in random order for as long as there is time; run again, this goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import signal
import struct
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from switches import SWITCH, Source

CRATE = Path("crates/lengthwise")
#: The number that stands for none of them: the tests then write down which changes they reach.
ALL = str(2**32 - 1)
#: A function that returns this has one type of result, and cannot return another.
OPAQUE = "impl "
#: Tests of source text, which the switches change.
NOT_RUN = ("api::the_public_interface_is_as_listed",)
#: No test may take so many bytes.
MEMORY = 6 << 30
#: A test that takes so many times as long, and at least so many seconds, has noticed.
SLOWER, LEAST = 8, 8.0


@dataclass(frozen=True)
class Test:
    program: str
    name: str
    seconds: float


@dataclass
class Tried:
    """What happened to a change: the test that noticed it, if one did, and how many reach it."""

    number: int
    name: str
    noticed_by: str | None
    how: str | None
    reached_by: int
    #: Tests that take longer were not tried.
    up_to: float


class Program:
    """The tests with all changes in them."""

    def __init__(self, root: Path, work: Path, mutants: list[dict]) -> None:
        self.root, self.work, self.mutants = root, work, mutants
        self.tree = work / "tree"
        self.not_tried: dict[int, str] = {}

    def write(self) -> dict[str, dict[int, tuple[int, int, int]]]:
        """Writes the sources anew, without the changes that are not tried."""
        by_file: dict[str, list[tuple[int, dict]]] = {}
        for number, mutant in enumerate(self.mutants, 1):
            by_file.setdefault(mutant["file"], [])
            if number not in self.not_tried:
                by_file[mutant["file"]].append((number, mutant))
        places = {}
        for path, mutants in by_file.items():
            source = Source((self.root / path).read_bytes())
            source.change(mutants)
            self.not_tried.update(dict.fromkeys(source.missing, "unviable"))
            text, places[path] = source.written()
            (self.tree / path).write_bytes(text)
        lib = CRATE / "src/lib.rs"
        with open(self.tree / lib, "w") as file:
            file.write((self.root / lib).read_text() + "\nmod switch;\n")
        switch = SWITCH.replace("COUNT", str(len(self.mutants) + 1))
        (self.tree / CRATE / "src/switch.rs").write_text(switch)
        return places

    def compile(self) -> None:
        """Compiles the tests, without the changes that the compiler refuses."""
        subprocess.run(["rm", "-rf", self.tree], check=True)
        subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", self.root, self.tree], check=True)
        for number, mutant in enumerate(self.mutants, 1):
            if mutant["genre"] == "FnValue" and OPAQUE in mutant["function"]["return_type"]:
                self.not_tried[number] = "another type"
        while True:
            places = self.write()
            command = ["cargo", "test", "--package", "lengthwise", "--tests", "--all-features", "--no-run", "--locked"]
            command += ["--profile", "mutants", "--message-format", "json"]
            environment = os.environ | {"RUSTFLAGS": "--cap-lints allow", "CARGO_TARGET_DIR": str(self.work / "target")}
            result = subprocess.run(command, cwd=self.tree, env=environment, stdout=subprocess.PIPE, text=True)
            messages = [json.loads(line) for line in result.stdout.splitlines()]
            if result.returncode == 0:
                artifacts = [message for message in messages if message["reason"] == "compiler-artifact"]
                of_tests = [message for message in artifacts if message["profile"]["test"] and message["executable"]]
                self.programs = [message["executable"] for message in of_tests]
                return
            errors = [message["message"] for message in messages if message["reason"] == "compiler-message"]
            refused: dict[int, str] = {}
            for error in errors:
                if error["level"] == "error":
                    refused |= self.refused(error, places)
            if not refused:
                sys.exit("the changed sources do not compile:\n" + "\n".join(error["rendered"] for error in errors[:5]))
            print(f"{len(refused)} changes do not compile", flush=True)
            self.not_tried |= refused

    def refused(self, error: dict, places: dict[str, dict[int, tuple[int, int, int]]]) -> dict[int, str]:
        """The changes that are to blame for an error of the compiler."""
        spans = sorted(error["spans"], key=lambda span: not span["is_primary"])
        for span in spans + [span["expansion"]["span"] for span in spans if span["expansion"]]:
            at, of_file = span["byte_start"], places.get(span["file_name"], {})
            around = [(end - start, number) for number, (start, _, end) in of_file.items() if start <= at < end]
            if around:
                number = min(around)[1]
                # A constant cannot ask.
                return {number: "unviable" if at >= of_file[number][1] else "constant"}
            if (error["code"] or {}).get("code") == "E0004":
                # Not every value has an arm, if one may not be taken.
                arms = (number for number in of_file if self.mutants[number - 1]["genre"] == "MatchArm")
                return {number: "arms" for number in arms if at < of_file[number][0] < at + 1200}
        return {}

    def run(self, program: str, test: str, limit: float | None = None, **environment: str) -> str | None:
        """Runs one test. Says how it failed."""

        def bounded() -> None:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

        process = subprocess.Popen(
            [program, "--exact", test, "--test-threads", "1"],
            cwd=self.tree / CRATE,
            # The same cases in every run, and the folder that kept files are sought from.
            env=os.environ | {"PROPTEST_RNG_SEED": "1", "CARGO_MANIFEST_DIR": str(self.tree / CRATE)} | environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=bounded,
        )
        try:
            return "failed" if process.wait(limit) else None
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return "took too long"

    def tests(self) -> list[Test]:
        """All tests, the quickest first."""
        named = []
        for program in self.programs:
            listed = subprocess.run([program, "--list"], cwd=self.tree / CRATE, capture_output=True, text=True, check=True)
            names = (line.removesuffix(": test") for line in listed.stdout.splitlines() if line.endswith(": test"))
            named += [(program, name) for name in names if name not in NOT_RUN]

        def timed(test: tuple[str, str]) -> Test:
            start = time.monotonic()
            if self.run(*test, MUTANT="0"):
                sys.exit(f"{test[1]} fails without a change")
            return Test(*test, time.monotonic() - start)

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return sorted(pool.map(timed, named), key=lambda test: test.seconds)

    def reached(self, test: Test) -> list[int]:
        """The changes that a test reaches."""
        path = self.work / "reached" / f"{Path(test.program).name}-{test.name.replace('::', '-')}"
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            new = path.with_name(path.name + ".new")
            self.run(test.program, test.name, MUTANT=ALL, MUTANTS_REACHED=str(new))
            new.rename(path)
        # Threads may have written one twice.
        return sorted({number for (number,) in struct.iter_unpack("<I", path.read_bytes())})


def kept(path: Path, make):
    """What `make` gives, which takes minutes, from a file if it is there."""
    if not path.exists():
        made = make()
        path.with_suffix(".new").write_text(json.dumps(made))
        path.with_suffix(".new").rename(path)
    return json.loads(path.read_text())


def attempt(program: Program, tests: list[Test], tried: dict[int, Tried], path: Path, seconds: float, up_to: float) -> None:
    """Tries changes in random order for so many seconds, with tests of at most `up_to`."""
    reaching: dict[int, list[Test]] = {}
    tests = [test for test in tests if test.seconds <= up_to]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for test, numbers in zip(tests, pool.map(program.reached, tests), strict=True):
            for number in numbers:
                reaching.setdefault(number, []).append(test)
    print(f"{len(tests)} tests of up to {up_to:g} s reach {len(reaching)} changes", flush=True)
    missed = {number for number, one in tried.items() if one.noticed_by is None and one.up_to < up_to}
    left = [n for n in range(1, len(program.mutants) + 1) if n not in program.not_tried and (n not in tried or n in missed)]
    random.Random(1).shuffle(left)
    lock, rest, lately = threading.Lock(), iter(left), {}
    until, stopped = time.monotonic() + seconds, threading.Event()

    def work() -> None:
        while time.monotonic() < until and not stopped.is_set():
            with lock:
                number = next(rest, None)
            if number is None:
                return
            mutant = program.mutants[number - 1]
            mine = reaching.get(number, [])
            # Those first that noticed others in the same file.
            first = [test for test in lately.get(mutant["file"], []) if test in mine]
            how = by = None
            for test in first + [test for test in mine if test not in first]:
                how = program.run(test.program, test.name, max(LEAST, SLOWER * test.seconds), MUTANT=str(number))
                if how is not None:
                    by = test
                    break
            one = Tried(number, mutant["name"], by and by.name, how, len(mine), up_to)
            with lock:
                tried[number] = one
                if by is not None:
                    others = [test for test in lately.get(mutant["file"], []) if test is not by]
                    lately[mutant["file"]] = [by, *others][:4]
                with open(path, "a") as file:
                    file.write(json.dumps(asdict(one)) + "\n")

    threads = [threading.Thread(target=work) for _ in range(os.cpu_count() or 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        try:
            thread.join()
        except KeyboardInterrupt:
            # Those that are being tried come to their ends.
            stopped.set()
            thread.join()


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/mutants", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60, help="how long to try changes, once they are compiled (60)")
    parser.add_argument("--up-to", type=float, default=1, metavar="SECONDS", help="the longest test that is tried (1)")
    parser.add_argument("--work", type=Path, required=True, help="the folder of what is compiled and found")
    parser.add_argument("--list", type=Path, required=True, help="what `cargo mutants --list --json` wrote")
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    program = Program(Path.cwd(), given.work, json.loads(given.list.read_text()))

    def compiled() -> dict:
        program.compile()
        return {"programs": program.programs, "not_tried": program.not_tried}

    made = kept(given.work / "compiled.json", compiled)
    program.programs = made["programs"]
    program.not_tried = {int(number): why for number, why in made["not_tried"].items()}
    found = kept(given.work / "tests.json", lambda: [asdict(test) for test in program.tests()])
    tests = [Test(**test) for test in found]
    path = given.work / "tried.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    tried = {one.number: one for one in (Tried(**json.loads(line)) for line in lines)}
    attempt(program, tests, tried, path, 60 * given.minutes, given.up_to)

    missed = sorted(one.name for one in tried.values() if one.noticed_by is None)
    (given.work / "missed.txt").write_text("".join(f"{name}\n" for name in missed))
    why = ", ".join(f"{count} {reason}" for reason, count in Counter(program.not_tried.values()).most_common())
    print(f"{len(program.mutants)} changes, of which {len(program.not_tried)} cannot be tried ({why})")
    caught = len(tried) - len(missed)
    late = sum(one.how == "took too long" for one in tried.values())
    print(f"{len(tried)} tried: {caught} noticed, {late} of them by the time they took, {len(missed)} missed")
    print(f"{caught / max(1, len(tried)):.1%} noticed; the others are in {given.work / 'missed.txt'}")


main()
