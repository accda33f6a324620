"""What a reader of the page of a training with several workers can see and do."""

import json
import re

import pytest
import trainings
from pages import CLASHES, looks
from test_training import plain

NAMES = [name for name, *_ in trainings.TEAMS]
SEVERAL = NAMES[1:]
MODES = ["sync", "average"]
SECTIONS = ["strategies", "comparisons", "loss", "equal-time", "seconds", "workers", "scaling", "error", "trade-off", "settings"]
TEAMS = trainings.lines(trainings.teams(), scaling=trainings.scaling())


def test_everything_is_there(train, show):
    page = show(train(TEAMS))
    assert page.eval_on_selector_all("section", "all => all.map(s => s.id)") == SECTIONS
    verdict = plain(page.inner_text(".verdict"))
    assert "With 6 workers an epoch takes 16.9 % of the time of 1 worker; they wait for 3.0 % of it (3.0 % by the plan)." in verdict
    headings = [plain(text) for text in page.locator("#strategies thead th").all_inner_texts()]
    assert headings[1:5] == ["workers", "seconds per epoch", "waiting, %", "by plan, %"]
    cells = lambda name: [plain(one) for one in page.locator(f"#strategies tr[data-series='{name}'] td").all_inner_texts()]
    assert cells("1 worker")[:4] == ["1", "60.0", "–", "–"]
    assert cells("6 workers, one slow")[:4] == ["6", "12.2", "16.7", "3.0"]
    # Words and dashes stand below their headings, as numbers do.
    edges = "all => all.map(tr => [...tr.children].map(cell => Math.round(cell.getBoundingClientRect().right)).join())"
    assert len(set(page.locator("#strategies tr").evaluate_all(edges))) == 1
    assert page.locator("#strategies .remarks li").all_text_contents() == [
        "6 workers: its workers shared cores; times are those with a core for each. "
        "By the clock its epochs took 364 s in all, and not 121 s."
    ]
    assert "(paper 3, Fig. 3; with several workers, Fig. 5)" in plain(page.inner_text("#loss .head"))
    assert page.locator("#workers article h3").all_inner_texts() == SEVERAL
    for svg in page.locator(":is(#workers, #scaling) svg[role=img]").all():
        assert svg.bounding_box()["width"] > 600 and svg.evaluate(CLASHES) == []


def test_without_workers_nothing_is_said_of_them(train, show):
    page = show(train(trainings.lines(trainings.whole(epochs=3))))
    assert page.locator("#workers, #scaling").count() == 0
    assert "worker" not in page.inner_text("main")


def test_bars_are_as_long_as_work_and_waiting(train, show):
    page = show(train(TEAMS))
    for name, workers in zip(SEVERAL, [3, 6, 6]):
        article = page.locator(f"#workers article[data-series='{name}']")
        bars = article.locator("svg[role=img] g").evaluate_all(
            """all => all.map(bar => ['.fillbar', '.pad', '.mark'].map(part => {
                const box = bar.querySelector(part).getBBox();
                return [box.x, box.x + box.width];
            }))"""
        )
        assert len(bars) == workers
        for work, wait, _ in bars:
            assert abs(work[1] - wait[0]) < 0.2 and abs(wait[1] - 1000) < 2
        slow = [work[1] - work[0] for work, *_ in bars]
        if name == "6 workers, one slow":
            # The last works all the time, and the others 80 % of it.
            assert all(abs(one / slow[-1] - 0.8) < 0.01 for one in slow[:-1])
            assert "The others wait for worker 5: 20.0 % of their time, and 3.0 % by the plan." in plain(article.inner_text())
            assert article.locator("text.label").all_text_contents() == ["worker 5", "does not wait"]
        else:
            assert "for worker" not in article.inner_text() and article.locator("text.label").count() == 0
            # Where waiting begins by the plan, it begins.
            assert all(abs(mark[0] - wait[0]) < 5 for _, wait, mark in bars)


def test_pointing_at_a_mark_says_what_it_is(train, show):
    page = show(train(TEAMS))
    tip = lambda mark: (mark.hover(), plain(page.inner_text("#tip")))[1]
    bar = page.locator("#workers article[data-series='6 workers, one slow'] rect.pad >> nth=1")
    assert tip(bar) == (
        "worker 1 of 6 workers, one slow: works 9.70 s of an epoch and waits 2.43 s, 20.0 %, "
        "3.0 % by the plan. The mean of 12 epochs"
    )
    dots = lambda name: page.locator(f"figure[data-name={name}] g[data-series=sync] .dot")
    assert tip(dots("scaling-waiting").nth(6)) == "sync with 64 workers: they wait 19.4 % of their time"
    assert re.fullmatch(
        r"sync with 1,024 workers: an epoch takes 0\.134 s, 64 steps, 449\.\d times as fast as with 1",
        tip(dots("scaling-seconds").last),
    )


def test_more_workers_are_drawn_and_listed(train, show):
    page = show(train(TEAMS))
    text = plain(page.inner_text("#scaling .head"))
    assert "computed from the plan and the times of measured steps" in text and "exchange is not counted" in text
    for name in ["scaling-waiting", "scaling-seconds"]:
        svg = page.locator(f"figure[data-name={name}] svg[role=img]")
        assert svg.locator(".dot").count() == 11 * len(MODES)
        # Even steps from each number to its double.
        places = svg.locator("g[data-series=sync] .dot").evaluate_all("all => all.map(dot => dot.getBBox().x)")
        steps = [b - a for a, b in zip(places, places[1:])]
        assert max(steps) - min(steps) < 0.3
        assert [one for one, _ in looks(page, f"figure[data-name={name}] .legend")] == MODES
        assert looks(page, f"figure[data-name={name}] .scroll > svg") == looks(page, f"figure[data-name={name}] .legend")
    # The ideal is a line below all others, in the legend too.
    below = page.locator("figure[data-name=scaling-seconds] svg[role=img]").evaluate(
        """svg => { const end = one => { const box = svg.querySelector(one).getBBox(); return box.y + box.height; };
            return end('.ideal') - end('g[data-series=sync] .line'); }"""
    )
    assert below > 20
    assert "ideal: twice as fast with twice as many" in page.inner_text("figure[data-name=scaling-seconds] .legend")
    assert page.locator("#scaling tbody tr").count() == 22
    cells = lambda column: page.eval_on_selector_all(
        f"#scaling tbody tr > :nth-child({column})", "all => all.map(cell => Number(cell.dataset.value))"
    )
    for column in range(2, 6):
        page.click(f"#scaling thead th:nth-child({column})")
        assert cells(column) == sorted(cells(column))
        page.click(f"#scaling thead th:nth-child({column})")
        assert cells(column) == sorted(cells(column), reverse=True)


def test_a_click_follows_a_row_and_a_mode(train, show):
    page = show(train(TEAMS))
    page.click("#workers article[data-series='3 workers'] h3")
    for section in ["strategies", "loss", "seconds", "workers", "error"]:
        assert page.locator(f"#{section} .chosen").count() > 0, section
    assert page.locator("#scaling .chosen").count() == 0
    page.click("#scaling .legend li[data-series=sync] >> nth=0")
    assert page.locator("#scaling .chosen").count() > 0
    assert page.locator("#scaling .chosen:not([data-series=sync])").count() == 0


@pytest.mark.parametrize("name", ["workers-6-workers", "scaling-seconds"])
def test_figures_can_be_taken_along(train, show, name):
    page = show(train(TEAMS), color_scheme="dark")
    figure = page.locator(f"figure[data-name={name}]")
    figure.hover()
    with page.expect_download() as taken:
        figure.get_by_text("SVG", exact=True).click()
    assert taken.value.suggested_filename == f"{name}.svg"
    svg = taken.value.path().read_text()
    assert "var(" not in svg and "class=" not in svg and "currentcolor" not in svg.lower()
    for text in ["work", "waiting", "where waiting begins by the plan"] if "workers" in name else MODES:
        assert f">{text}<" in svg


@pytest.mark.parametrize("width", [360, 1100])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_narrow_and_wide_light_and_dark(train, show, width, scheme):
    page = show(train(TEAMS), viewport={"width": width, "height": 900}, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    fits = "box => box.scrollWidth <= box.clientWidth"
    assert page.locator("#strategies .scroll").evaluate(fits) == (width > 1000)
    assert page.locator("#scaling .scroll:has(table)").evaluate(fits)
    # Text is in the colour of text, whatever the colour of the row.
    ink = page.evaluate("getComputedStyle(document.body).color")
    texts = page.eval_on_selector_all(
        "#workers :is(p, h3, .legend li)", "all => all.map(one => getComputedStyle(one).color)"
    )
    assert set(texts) == {ink}


def test_it_prints(train, show):
    page = show(train(TEAMS))
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 700, "height": 900})
    assert page.locator("#strategies .scroll").evaluate("box => box.scrollWidth <= box.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth") <= 700


def test_many_workers_and_hostile_names(train, show):
    name = "</script><img src=x onerror=alert(2)>'\"&\u202e\u001b[31m" + "x" * 90
    teams = [("1 worker", 1, 60.0, 0.0, 1.0, 1), (name, 64, 60.0, 0.03, 1.3, 64), ("vast", 1024, 60.0, 0.03, 1.0, 1024)]
    lines = trainings.lines(trainings.teams(2, 1, teams), scaling=trainings.scaling([(name, 0.02)]))
    for width in [360, 1100]:
        page = show(train(lines), viewport={"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator("img").count() == 0
        many, vast = page.locator("#workers article").all()
        text = plain(many.inner_text())
        assert "The others wait for worker 63: " in text
        assert "Drawn are the 12 that wait least and the 12 that wait most; 40 workers are left out." in text
        assert "1,000 workers are left out." in plain(vast.inner_text())
        for article in [many, vast]:
            svg = article.locator("svg[role=img]")
            assert svg.locator("g").count() == 24 and svg.evaluate(CLASHES) == []
            assert svg.bounding_box()["height"] < 640


def test_a_training_that_went_on_with_fewer(train, show):
    runs = trainings.teams(epochs=4, seeds=1, teams=trainings.TEAMS[1:3])
    seconds, did = trainings.together(4, 60.0, 0.03, 1.0, 4)
    runs[1][2][2].update(seconds=seconds, together=did)
    page = show(train(trainings.lines(runs)))
    assert plain(page.locator("#strategies tr[data-series='6 workers'] td >> nth=0").inner_text()) == "4 to 6"
    text = plain(page.inner_text("#workers article[data-series='6 workers']"))
    assert text.startswith("6 workers 4 to 6 workers, ") and "the mean over the epochs that its worker was in" in text
    bars = page.locator("#workers article[data-series='6 workers'] rect.pad[x]").all()
    bars[5].hover()
    assert plain(page.inner_text("#tip")).endswith("The mean of 3 epochs")


def test_without_scripts_all_can_be_read(train, show):
    page = show(train(TEAMS), java_script_enabled=False)
    assert page.locator(":is(#workers, #scaling) figure svg[role=img]").count() == len(SEVERAL) + 2
    assert page.locator("#scaling tbody tr").count() == 22


def test_records_are_in_the_page(train, show):
    page = show(train(TEAMS))
    head, *epochs = map(json.loads, page.locator("#training").text_content().splitlines())
    assert len(head["scaling"]) == 22 and len(epochs[-1]["together"]["workers"]) == 6
