"""Pages made by the command, opened in headless Chromium."""

import os
import shlex
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

COMMAND = os.environ.get("LENGTHWISE", "lengthwise")
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")


@pytest.fixture(scope="session")
def browser():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def make(tmp_path_factory):
    """Runs `lengthwise report` with these arguments, once for each, and gives the file it wrote."""
    folder = tmp_path_factory.mktemp("reports")
    made = {}

    def make(arguments, name=None):
        key = (arguments, name)
        if key not in made:
            path = folder / f"{len(made)}.html"
            command = [COMMAND, "report", *shlex.split(arguments), "-o", str(path)]
            subprocess.run(command, check=True, capture_output=True, timeout=300)
            made[key] = path
        return made[key]

    return make


@pytest.fixture(scope="session")
def train(tmp_path_factory):
    """Makes the page of these records, once for each, and gives its file."""
    folder = tmp_path_factory.mktemp("trainings")
    made = {}
    cargo = ["cargo", "run", "--release", "--locked", "--quiet", "-p", "lengthwise-report"]

    def train(lines):
        if lines not in made:
            records, page = folder / f"{len(made)}.jsonl", folder / f"{len(made)}.html"
            records.write_text(lines)
            command = [*cargo, "--example", "training_page", "--", str(records), str(page)]
            subprocess.run(command, check=True, timeout=600, cwd=Path(__file__).parent)
            made[lines] = page
        return made[lines]

    return train


class Opened:
    """A page with everything that went wrong on it."""

    def __init__(self, page):
        self.page, self.wrong = page, []
        page.on("console", lambda message: self.wrong.append(message.text))
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("dialog", lambda dialog: (self.wrong.append("dialog"), dialog.dismiss()))
        page.on("request", self.request)

    def request(self, request):
        if not request.url.startswith(("file:", "data:", "blob:")):
            self.wrong.append(f"asked for {request.url}")


@pytest.fixture
def show(browser):
    """Opens a file; fails if anything else than what is expected goes wrong before the test ends."""
    contexts, opened = [], []

    def show(path, expected=None, **options):
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        opened.append((Opened(page), expected))
        page.goto(Path(path).as_uri())
        return page

    yield show
    for one, expected in opened:
        assert [text for text in one.wrong if not (expected and expected in text)] == []
    for context in contexts:
        context.close()
