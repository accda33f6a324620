"""Opens pages in headless Chromium, and says what can be seen on them."""

import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

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


LOOKS = """root => [...root.querySelectorAll('.series')].flatMap(series => {
    const dot = series.querySelector('.dot'), line = series.querySelector('.line');
    if (!dot) return [];
    const own = series.closest('.own') || series.querySelector('.own');
    const symbol = dot.getAttribute('class').match(/s\\d+/)[0];
    const dash = line ? getComputedStyle(line).strokeDasharray : null;
    return [[series.dataset.series, symbol, getComputedStyle(dot).fill, dash, own !== null]];
})"""


def looks(page, selector):
    found = page.locator(selector).evaluate(LOOKS)
    return {(name, own): (symbol, colour, dash) for name, symbol, colour, dash, own in found}


# Machado, Oliveira and Fernandes 2009: all colours, then without red, then without green.
EYES = [
    [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
]


def lab(colour, eye):
    light = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    light = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in light]
    red, green, blue = (min(1, max(0, sum(f * p for f, p in zip(row, light)))) for row in eye)
    root = lambda t: t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116
    x = root((0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.95047)
    y = root(0.2126 * red + 0.7152 * green + 0.0722 * blue)
    z = root((0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.08883)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def apart(one, other):
    """How far apart two colours are for the eyes that tell them apart worst."""
    pairs = [(lab(one, eye), lab(other, eye)) for eye in EYES]
    return min(sum((a - b) ** 2 for a, b in zip(*pair)) ** 0.5 for pair in pairs)


CLASHES = """svg => {
    const boxes = [...svg.querySelectorAll('text')].map(t => [t.textContent, t.getBoundingClientRect()]);
    const all = svg.getBoundingClientRect(), found = [];
    boxes.forEach(([text, a], at) => {
        if (a.left < all.left - 1 || a.right > all.right + 1 || a.top < all.top - 1
            || a.bottom > all.bottom + 1) found.push([text, 'outside']);
        for (const [other, b] of boxes.slice(0, at)) {
            if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3)
                found.push([text, other]);
        }
    });
    return found;
}"""
