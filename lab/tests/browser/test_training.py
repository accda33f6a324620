"""What a reader of the page of a training can see and do."""

import json
import re
import shutil
import subprocess

import pytest
import trainings
from pages import CLASHES, apart, looks

WHOLE = trainings.lines(trainings.whole(), notes=["The data were made by a program."])
NAMES = [name for name, *_ in trainings.ROWS]
SECTIONS = ["strategies", "comparisons", "loss", "equal-time", "seconds", "error", "trade-off", "settings"]
FIGURES = ["loss-epochs", "loss-seconds", "seconds", "error-epochs", "error-seconds", "trade-off"]


def plain(text):
    return " ".join(text.replace("\u00a0", " ").split())


def test_everything_is_there(train, show):
    page = show(train(WHOLE))
    assert page.title() == "lengthwise: an encoder on `speech`"
    verdict = plain(page.inner_text(".verdict"))
    assert verdict.startswith("sorted is the fastest: 6.11 s per epoch, 39.0 % less than shuffled (95 % interval: ")
    assert "than shuffled, beyond chance." in verdict and "is the first to reach the final error of shuffled" in verdict
    assert "What to do: " in verdict
    assert page.eval_on_selector_all("section", "all => all.map(s => s.id)") == SECTIONS
    assert page.eval_on_selector_all("figure", "all => all.map(f => f.dataset.name)") == FIGURES
    assert "5 strategies, 3 seeds, 12 epochs" in plain(page.inner_text("dl >> nth=0"))
    assert page.locator("#strategies tbody tr").count() == len(NAMES)
    # Every other strategy is compared with the first, in time, loss and two errors.
    assert page.locator("#comparisons tbody tr").evaluate_all("all => all.map(tr => tr.dataset.series)") == NAMES[1:]
    cells = page.locator("#comparisons tbody td").all_text_contents()
    assert len(cells) == 4 * len(NAMES[1:])
    assert all(re.search(r"p (=|<) 0\.\d+|p = 1\.00", cell) and "seen from" in cell for cell in cells)
    assert "Holm" in page.inner_text("#comparisons .head")
    assert page.locator("#equal-time tbody tr").count() == len(NAMES)
    assert plain(page.inner_text("#strategies .remarks")) == "The data were made by a program."
    for name in FIGURES:
        svg = page.locator(f"figure[data-name={name}] svg[role=img]")
        box = svg.bounding_box()
        assert box["width"] > 600 and box["height"] > 100, name
        assert svg.evaluate(CLASHES) == [], name
        if name != "seconds":
            assert svg.locator("text.label").count() == 2
        drawn = svg.locator("g.series").evaluate_all("all => [...new Set(all.map(g => g.dataset.series))]")
        assert drawn == NAMES
    # A dot for each epoch, a band for each row, and the marks inside the figure.
    for name in ["loss-epochs", "error-seconds"]:
        svg = page.locator(f"figure[data-name={name}] svg[role=img]")
        assert svg.locator(".dot").count() == 12 * len(NAMES)
        assert svg.locator(".band").count() == svg.locator(".line").count() == len(NAMES)
        assert svg.evaluate(
            """svg => [...svg.querySelectorAll('.dot, .line, .band')].every(mark => {
                const box = mark.getBBox(), all = svg.viewBox.baseVal;
                return box.x > 50 && box.y > 0 && box.x + box.width < all.width && box.y + box.height < all.height - 30;
            })"""
        )
    settings = page.locator("#settings dd").all_text_contents()
    assert settings == [f"{name}, budget padded:6000, shapes exact" for name in NAMES]


def test_curves_against_time_are_as_far_as_they_took(train, show):
    page = show(train(WHOLE))
    ends = page.locator("figure[data-name=error-seconds] g.series:has(.line)").evaluate_all(
        "all => all.map(g => [g.dataset.series, g.querySelector('.line').getBBox()])"
        ".map(([name, box]) => [name, box.x + box.width])"
    )
    order = [name for name, _ in sorted(ends, key=lambda end: end[1])]
    assert order == ["sorted", "semi-sorted:noise=0.1", "bucketed:count=16", "random, ladder of 16 rungs", "shuffled"]
    widths = page.locator("#seconds rect").evaluate_all("all => all.map(bar => bar.width.baseVal.value)")
    assert widths.index(max(widths)) == 0 and abs(widths[3] / widths[0] - 0.61) < 0.01


def test_pointing_at_a_mark_says_what_it_is(train, show):
    page = show(train(WHOLE))
    tip = lambda mark: (mark.hover(), plain(page.inner_text("#tip")))[1]
    dots = page.locator("figure[data-name=error-epochs] g.series[data-series=sorted] .dot")
    assert re.fullmatch(
        r"sorted after 1 epoch and 7\.\d+ s: [\d.]+ %, [\d.]+ % to [\d.]+ % over the seeds", tip(dots.first)
    )
    assert re.match(r"sorted after 12 epochs and 74\.\d s: 13\.\d\d %, ", tip(dots.last))
    assert re.match(r"shuffled: 10\.0 s, the median of 36 epochs; ", tip(page.locator("#seconds rect").first))
    assert re.match(
        r"sorted: 0\.20 % padding, character error rate 13\.\d %, ",
        tip(page.locator("#trade-off g[data-series=sorted] .dot")),
    )
    titles = page.locator("#strategies thead th[title]").evaluate_all("all => all.map(th => th.title)")
    assert len(titles) == 10 and all(titles)


def test_a_click_on_a_strategy_follows_it_everywhere(train, show):
    page = show(train(WHOLE))
    page.click("#strategies tbody tr[data-series='sorted'] th")
    for section in ["strategies", "comparisons", "equal-time", "loss", "seconds", "error", "trade-off"]:
        assert page.locator(f"#{section} .chosen").count() > 0, section
        assert page.locator(f"#{section} .chosen:not([data-series=sorted])").count() == 0
    page.click("#error .legend li[data-series='shuffled'] >> nth=0")
    assert page.locator("#strategies tr.chosen").get_attribute("data-series") == "shuffled"
    page.keyboard.press("Escape")
    assert page.locator(".chosen").count() == 0


def test_the_table_sorts_by_any_column(train, show):
    page = show(train(WHOLE))
    cells = lambda column: page.eval_on_selector_all(
        f"#strategies tbody tr > :nth-child({column})", "all => all.map(cell => cell.dataset.value)"
    )
    for column in range(2, page.locator("#strategies thead th").count() + 1):
        page.click(f"#strategies thead th:nth-child({column})")
        # What was not reached comes last.
        up = [float(value or "inf") for value in cells(column)]
        assert up == sorted(up), column
    assert up.count(float("inf")) > 0 and "not reached" in page.inner_text("#strategies tbody tr:last-child")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_legends_show_what_figures_draw(train, show, scheme):
    page = show(train(WHOLE), color_scheme=scheme)
    for name in FIGURES:
        if name == "seconds":
            continue
        drawn = looks(page, f"figure[data-name={name}] .scroll > svg")
        legend = looks(page, f"figure[data-name={name}] .legend")
        assert list(legend) == list(drawn) and legend == drawn, name
        assert [one for one, _ in legend] == NAMES
        seen = list(legend.items())
        for at, (one, (symbol, colour, _)) in enumerate(seen):
            for other, (symbol_2, colour_2, _) in seen[:at]:
                assert apart(colour, colour_2) > 25 or symbol != symbol_2, (one, other)
    assert looks(page, "#strategies tbody") == looks(page, "figure[data-name=loss-epochs] .legend")


@pytest.mark.parametrize("name", ["loss-seconds", "trade-off"])
def test_figures_can_be_taken_along(train, show, name):
    page = show(train(WHOLE), color_scheme="dark")
    figure = page.locator(f"figure[data-name={name}]")
    figure.hover()
    with page.expect_download() as taken:
        figure.get_by_text("SVG", exact=True).click()
    assert taken.value.suggested_filename == f"{name}.svg"
    svg = taken.value.path().read_text()
    assert "var(" not in svg and "class=" not in svg
    for series in NAMES:
        assert f">{series}<" in svg
    # Bands stay thin.
    if name == "loss-seconds":
        assert svg.count('opacity="0.15"') == len(NAMES)


@pytest.mark.parametrize("width", [360, 800, 1100, 1920])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_narrow_and_wide_light_and_dark(train, show, width, scheme):
    page = show(train(WHOLE), viewport={"width": width, "height": 900}, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    light = sum(int(part) for part in ground[4:-1].split(",")) > 380
    assert light == (scheme == "light")
    table = page.locator("#strategies .scroll")
    assert table.evaluate("box => box.scrollWidth <= box.clientWidth") == (width > 1000)
    sizes = page.eval_on_selector_all(
        "figure svg[role=img]",
        """all => all.map(svg => svg.getBoundingClientRect().width / svg.viewBox.baseVal.width
            * Math.min(...[...svg.querySelectorAll('text')].map(t => parseFloat(getComputedStyle(t).fontSize))))""",
    )
    assert all(size > 8 for size in sizes), sizes


def test_it_prints(train, show, tmp_path):
    page = show(train(WHOLE), color_scheme="dark")
    file = tmp_path / "training.pdf"
    assert 2 < page.pdf(format="A4", path=file).count(b"/Type /Page\n") < 8
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 700, "height": 900})
    assert page.locator("#strategies .scroll").evaluate("box => box.scrollWidth <= box.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth") <= 700
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(29, 35, 41)"
    if shutil.which("pdftotext") is None:
        return
    text = subprocess.run(["pdftotext", "-layout", file, "-"], capture_output=True, text=True, check=True).stdout
    heads = page.eval_on_selector_all(".head h2, .head p", "all => all.map(head => head.innerText)")
    heads = {" ".join(head.split()) for head in heads}
    for sheet in text.split("\f"):
        lines = [line.strip() for line in sheet.splitlines() if line.strip()]
        assert not lines or not any(head.endswith(" ".join(lines[-1].split())) for head in heads), lines[-1]


def test_data_with_little_to_show_says_so(train, show):
    one = show(train(trainings.lines(trainings.whole(epochs=1, seeds=1, rows=trainings.ROWS[:1]))))
    assert "There is no other strategy to compare it with." in one.inner_text(".verdict")
    assert one.locator("figure").count() == 1
    for section in ["loss", "error", "trade-off"]:
        assert one.inner_text(f"#{section} .nothing").startswith("Nothing to show: no "), section

    runs = trainings.whole(epochs=3, seeds=2, rows=trainings.ROWS[:2])
    for _, _, epochs in runs:
        for epoch in epochs:
            del epoch["validation"]
    silent = show(train(trainings.lines(runs)))
    assert silent.inner_text("#error .nothing") == "Nothing to show: no epoch was validated."
    assert silent.inner_text(".verdict").endswith("No errors were measured.")
    assert "loss" not in silent.inner_text("#strategies thead")

    single = show(train(trainings.lines(trainings.whole(seeds=1))))
    assert "One seed cannot show whether that is chance." in single.inner_text(".verdict")
    assert single.inner_text("#comparisons li").startswith("One seed cannot show whether differences are chance")
    assert single.locator(".band, .sd").count() == 0 and "bands" not in single.inner_text("main")

    waiting = show(train(trainings.lines([("shuffled", 0, [])])))
    assert waiting.inner_text(".verdict") == "No epoch is over yet."
    assert waiting.locator("figure").count() == 0 and waiting.locator(".nothing").count() == 4

    nothing = show(train(trainings.lines([])))
    assert nothing.inner_text(".verdict") == "Nothing was trained."
    assert nothing.inner_text("#strategies .nothing") == "Nothing to show: there are no runs."


def test_runs_that_diverge_or_are_not_done(train, show):
    runs = trainings.whole(epochs=6)
    lost = next(epochs for name, seed, epochs in runs if (name, seed) == ("sorted", 1))
    for epoch in lost[3:]:
        epoch.update(loss="nan", validation={"loss": "inf", "error": 1.0})
    runs = [(n, s, e[:2] if (n, s) == ("bucketed:count=16", 2) else e) for n, s, e in runs]
    page = show(train(trainings.lines(runs)))
    assert "sorted (1 of 3 runs) diverged." in plain(page.inner_text(".verdict"))
    remarks = page.locator("#strategies .remarks li").all_text_contents()
    assert remarks == [
        "bucketed:count=16, seed 2: has 2 of 6 epochs; only its time and padding count.",
        "sorted, seed 1: diverged in epoch 4.",
    ]
    assert "1 of 3 diverged" in plain(page.inner_text("#strategies tr[data-series=sorted]"))
    assert "2 to 6" in plain(page.inner_text("#strategies tr[data-series='bucketed:count=16']"))
    for name in ["loss-epochs", "error-epochs"]:
        assert page.locator(f"figure[data-name={name}] g[data-series=sorted] .dot").count() == 3
    assert page.locator("#trade-off g[data-series=sorted]").count() == 0
    assert "since runs diverged: sorted." in page.inner_text("#trade-off .head")
    assert page.locator("#strategies .scroll").evaluate("box => box.scrollWidth <= box.clientWidth")


def test_names_cannot_bring_markup_or_scripts(train, show):
    name = "</script><script>window.hacked = 1</script><img src=x onerror=alert(2)>'\"&\u202e\u001b[31m"
    long = "a-name-without-any-end-" * 12
    runs = trainings.whole(epochs=3, seeds=2, rows=[(name, 3.0, 0.2, 0.1), (long, 2.0, 0.1, 0.2)])
    for width in [360, 1100]:
        page = show(
            train(trainings.lines(runs, title=name, error=name, notes=[name])),
            viewport={"width": width, "height": 900},
        )
        assert page.evaluate("window.hacked") is None
        assert "<img src=x" in page.inner_text("h1") and page.locator("img").count() == 0
        assert "\u202e" not in page.inner_text("body") and "\u001b" not in page.inner_text("body")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        # The records are in the page as they were given.
        data = page.locator("#training").text_content()
        head, *epochs = map(json.loads, data.splitlines())
        assert head["title"] == name and len(epochs) == 12 and epochs[0]["name"] == name


def test_many_strategies_and_epochs(train, show):
    rows = [(f"pooled:batches={at + 1}", 5 + at, 0.01 * at, 0.05 + 0.002 * at) for at in range(20)]
    path = train(trainings.lines(trainings.whole(epochs=300, seeds=2, rows=rows)))
    assert path.stat().st_size < 6_000_000
    page = show(path)
    assert page.locator("#strategies tbody tr").count() == 20
    # Some of the points have a dot, and the last one has.
    dots = page.locator("figure[data-name=loss-epochs] g.series:has(.line)").first.locator(".dot")
    assert 20 < dots.count() <= 40
    dots.last.hover()
    assert "after 300 epochs" in plain(page.inner_text("#tip"))
    for name in FIGURES:
        assert page.locator(f"figure[data-name={name}] svg[role=img]").evaluate(CLASHES) == [], name


def test_without_scripts_all_can_be_read(train, show):
    page = show(train(WHOLE), java_script_enabled=False)
    assert page.locator("figure svg[role=img]").count() == len(FIGURES)
    assert page.locator("#strategies tbody tr").count() == len(NAMES) and page.locator(".verdict").is_visible()
