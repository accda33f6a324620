"""What a reader of a report can see and do."""

import re
import shutil
import struct
import subprocess
import xml.etree.ElementTree as xml

import pytest
from pages import CLASHES, apart, looks
from playwright.sync_api import expect

SPEECH = "--example speech --world-size 8 --cost-model encoder"
PAPERS = "--example speech --papers"
SECTIONS = ["answer", "strategies", "lengths", "padding", "rungs", "time", "steps", "batches", "words", "references"]
STRATEGIES = 12
FAMILIES = 7
# The page that this one replaced was 9,247 pixels tall at this width.
WIDTH, TALLEST = 1280, 9247 / 2


def test_everything_is_there(make, show):
    page = show(make(SPEECH))
    assert page.title() == "lengthwise: example speech"
    assert "Random batches spend 31.6" in page.inner_text(".verdict")
    assert page.eval_on_selector_all("section", "all => all.map(s => s.id)") == SECTIONS
    assert page.locator("tbody tr").count() == STRATEGIES + 1  # What is recommended has a row too.
    assert page.locator("figure").count() == 6
    for section, pictures in [
        ("lengths", 1),
        ("padding", 1),
        ("rungs", 1),
        ("time", 1),
        ("steps", 2),
        ("batches", STRATEGIES + 1),
    ]:
        assert page.locator(f"#{section} figure").count() == 1
        svg = page.locator(f"#{section} figure svg[role=img]")
        assert svg.count() == pictures, section
        for at in range(pictures):
            box = svg.nth(at).bounding_box()
            assert box["width"] > 150 and box["height"] > 40, (section, box)
    # Axes say what they are, and marks lie inside their figure.
    for svg in page.query_selector_all(":is(#lengths, #rungs) svg[role=img]"):
        assert len(svg.query_selector_all("text.label")) >= 2
        inside = svg.evaluate(
            """svg => [...svg.querySelectorAll('.dot, .bar, text')].every(mark => {
                const box = mark.getBBox(), all = svg.viewBox.baseVal;
                return mark.getAttribute('transform') || (box.x > -1 && box.y > -6
                    && box.x + box.width < all.width + 1 && box.y + box.height < all.height + 1);
            })"""
        )
        assert inside
    assert "lengthwise report --example speech" in page.inner_text("footer pre")
    study = page.evaluate("JSON.parse(document.getElementById('study').textContent)")
    assert study["version"] == 1 and len(study["rows"]) == STRATEGIES + 1


def test_the_answer_comes_first_and_can_be_pasted(make, show):
    page = show(make(SPEECH), permissions=["clipboard-read", "clipboard-write"])
    for place, begin in [("command", "lengthwise plan --example speech "), ("python", "import lengthwise as lw")]:
        text = page.locator(f"#{place} pre").text_content()
        assert text.startswith(begin)
        # Within the first screen.
        box = page.locator(f"#{place}").bounding_box()
        assert box["y"] + box["height"] < page.viewport_size["height"]
        page.locator(f"#{place} button").click()
        # Not `wait_for_function`, which compiles a string in the page when it has to wait; the page's policy forbids that.
        expect(page.locator(f"#{place} button")).to_have_text("Copied")
        assert page.evaluate("navigator.clipboard.readText()") == text


@pytest.mark.parametrize("arguments", [SPEECH, "--example speech", "--example documents", "--example bimodal"])
def test_the_page_is_short_and_in_plain_text(make, show, arguments):
    page = show(make(arguments), viewport={"width": WIDTH, "height": 900})
    assert page.evaluate("document.documentElement.scrollHeight") <= TALLEST
    assert page.locator("figure").count() <= 6
    assert "`" not in page.inner_text("body") and "`" not in page.title()


def test_papers_are_cited_by_name_and_listed(make, show):
    page = show(make(PAPERS))
    assert not re.search(r"\b[Pp]aper \d|\bnote 4", page.inner_text("body"))
    listed = page.inner_text("#references")
    for author, year in [("Doetsch", 2017), ("Ge", 2021), ("Khomenko", 2016), ("Anderson", 2020)]:
        assert re.search(rf"{author}\b.*{year}", listed), author
        assert page.locator("section a", has_text=f"{author}").count() > 0, author
    links = page.eval_on_selector_all("a", "all => all.map(a => a.getAttribute('href'))")
    assert all(page.locator(link).count() == 1 for link in links)


def test_the_tuning_curves_of_the_papers_come_when_asked_for(make, show):
    assert show(make(SPEECH)).locator("#tuning, #frontier, #orders").count() == 0
    page = show(make(PAPERS))
    for section, figures in [("frontier", 1), ("tuning", 2 * FAMILIES), ("orders", STRATEGIES)]:
        assert page.locator(f"#{section} figure svg[role=img]").count() == figures, section


def test_every_strategy_has_its_own_colour_and_symbol(make, show):
    page = show(make(SPEECH))
    table = list(looks(page, "#strategies tbody").values())
    assert len({symbol for symbol, _, _ in table}) == len({colour for _, colour, _ in table}) == STRATEGIES + 1
    panels = looks(page, "#batches figure")
    assert {look[:2] for look in panels.values()} == {look[:2] for look in table}


def test_batches_are_cut_from_the_plan_of_the_table(make, show):
    page = show(make("--example speech --budget padded:12928"))
    study = page.evaluate("JSON.parse(document.getElementById('study').textContent)")
    for row, picture in zip(study["rows"], study["pictures"], strict=True):
        batches = picture["batches"]
        for batch in batches:
            if len(batch["lengths"]) == batch["sequences"]:
                assert sum(batch["lengths"]) == batch["data"]
            assert max(batch["lengths"]) <= batch["batch_length"]
            assert batch.get("packed") or batch["cells"] == batch["batch_length"] * batch["sequences"]
        shown = 1 - sum(batch["data"] for batch in batches) / sum(batch["cells"] for batch in batches)
        assert abs(picture["padding_rate"] - row["padding_rate"]) < 4 * row["sd"]["padding_rate"] + 1e-3
        assert abs(shown - picture["padding_rate"]) < 0.01, picture["strategy"]


@pytest.mark.parametrize("width", [360, 390])
def test_padding_is_seen_on_a_phone_without_scrolling(make, show, width):
    page = show(make(SPEECH), viewport={"width": width, "height": 844})
    heading = page.locator("#strategies thead th").nth(1)
    assert heading.text_content().startswith("padding")
    for cell in [heading, *page.locator("#strategies tbody td:nth-child(2)").all()]:
        box = cell.bounding_box()
        assert box["x"] > 0 and box["x"] + box["width"] <= width


def test_pointing_at_a_mark_says_what_it_is(make, show):
    page = show(make(SPEECH))
    assert page.locator("#tip").is_hidden()
    page.locator("#padding g[data-series=shuffled] rect").hover()
    assert "shuffled: 31.6" in page.inner_text("#tip")
    page.locator("#lengths rect.bar").nth(20).hover()
    assert page.inner_text("#tip").startswith("length ")
    box = page.locator("#tip").bounding_box()
    width = page.viewport_size["width"]
    assert box["x"] >= 0 and box["x"] + box["width"] <= width
    page.locator("h1").hover()
    assert page.locator("#tip").is_hidden()


def test_a_click_on_a_strategy_follows_it_everywhere(make, show):
    page = show(make(PAPERS))
    chosen = lambda: page.eval_on_selector_all(
        ".series.chosen", "all => [...new Set(all.map(mark => mark.dataset.series))].sort()"
    )
    page.click("tbody tr[data-series='blurred:blur=0.02'] th")
    assert chosen() == ["blurred", "blurred:blur=0.02"]
    for section in ["strategies", "padding", "time", "steps", "batches", "frontier", "tuning"]:
        assert page.locator(f"#{section} .chosen").count() > 0, section
    faded = page.locator("tbody tr[data-series='sorted']")
    assert float(faded.evaluate("row => getComputedStyle(row).opacity")) < 0.5
    page.click("#frontier .legend li[data-series='pooled']")
    assert chosen() == ["pooled", "pooled:batches=50"]
    page.keyboard.press("Escape")
    assert chosen() == []
    assert float(faded.evaluate("row => getComputedStyle(row).opacity")) == 1


def test_the_table_sorts_by_any_column(make, show):
    page = show(make(SPEECH))
    cells = lambda column: page.eval_on_selector_all(
        f"tbody tr > :nth-child({column})", "all => all.map(cell => cell.dataset.value)"
    )
    headings = page.eval_on_selector_all("thead th", "all => all.map(th => th.textContent)")
    for column, heading in enumerate(headings[1:], start=2):
        page.click(f"thead th:nth-child({column})")
        up = [float(value) for value in cells(column)]
        assert up == sorted(up), heading
        page.click(f"thead th:nth-child({column})")
        assert [float(value) for value in cells(column)] == sorted(up, reverse=True), heading
    page.focus("thead th:first-child")
    page.keyboard.press(" ")
    names = page.eval_on_selector_all("tbody th", "all => all.map(th => th.textContent)")
    assert names == sorted(names)


def test_series_can_be_followed_by_keyboard(make, show):
    page = show(make(SPEECH))
    for place in ["#strategies tbody tr[data-series='neighbours']", "#steps li[data-series='shuffled']"]:
        button = page.locator(f"{place} button")
        button.focus()
        for key in ["Enter", " "]:
            page.keyboard.press(key)
            assert button.get_attribute("aria-pressed") == ("true" if key == "Enter" else "false")
            assert (page.locator(f"{place}.chosen").count() == 1) == (key == "Enter")


# What a legend and a figure must agree in: the symbol, its colour, and the dash of the line.
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_legends_show_what_figures_draw(make, show, scheme):
    page = show(make(PAPERS), color_scheme=scheme)
    for section, picture in [("frontier", ".scroll > svg"), ("steps", ".panels div > svg")]:
        drawn = looks(page, f"#{section} figure {picture}")
        legend = looks(page, f"#{section} .legend")
        for (name, own), look in legend.items():
            assert drawn[name, own] == look, (section, name)
        # The strategies of the table that belong to a curve look like it; all else has an entry.
        families = {name: look[:2] for (name, own), look in legend.items() if not own}
        for (name, own), look in drawn.items():
            assert (name, own) in legend or families[name.split(":")[0]] == look[:2], name
        # Colours that are alike come with different symbols.
        seen = list(legend.items())
        for at, (name, (symbol, colour, dash)) in enumerate(seen):
            for other, (symbol_2, colour_2, dash_2) in seen[:at]:
                distance = apart(colour, colour_2)
                assert distance > 25 or symbol != symbol_2, (name, other, distance)
    table = looks(page, "#strategies tbody")
    legend = looks(page, "#steps .legend")
    assert len(legend) == 3 and all(table[name] == look for name, look in legend.items())


@pytest.mark.parametrize("section", ["lengths", "padding", "rungs", "time", "steps", "batches"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_figures_can_be_taken_along(make, show, section, scheme):
    page = show(make(SPEECH), color_scheme=scheme)
    figure = page.locator(f"#{section} figure").first
    figure.hover()
    with page.expect_download() as taken:
        figure.get_by_text("SVG", exact=True).click()
    assert taken.value.suggested_filename.endswith(".svg")
    root = xml.parse(taken.value.path()).getroot()
    svg = "{http://www.w3.org/2000/svg}"
    assert root.tag == svg + "svg"
    assert not [mark for mark in root.iter() if "class" in mark.attrib]
    colours = {mark.get("fill") for mark in root.iter()}
    assert len(colours) > 2 and not any(colour and "var(" in colour for colour in colours)
    # Also from a dark page it is light, and it says what it shows.
    assert root.find(svg + "rect").get("fill") == "#ffffff"
    texts = ["".join(text.itertext()) for text in root.iter(svg + "text")]
    title = figure.locator("svg[role=img] > title").first.text_content()
    title = figure.get_attribute("data-title") or title
    assert title in [texts[0], " ".join(texts[:2])]
    for entry in figure.locator(".legend li").all():
        assert entry.text_content() in texts
    inks = {text.get("fill") for text in root.iter(svg + "text")}
    assert all(sum(map(int, re.findall(r"\d+", ink))) < 380 for ink in inks if ink.startswith("rgb"))
    assert page.evaluate("document.documentElement.className") == ""
    with page.expect_download() as taken:
        figure.get_by_text("PNG", exact=True).click()
    data = taken.value.path().read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", data[16:24])
    assert [width, height] == [2 * int(root.get(side)) for side in ["width", "height"]]


def test_names_cannot_bring_markup_or_scripts(make, show, tmp_path):
    column = "</script><script>window.hacked = 1</script><img src=x onerror=alert(2)>"
    file = tmp_path / "<svg onload=alert(1)>'\"&.csv"
    file.write_text('"' + column + '"\n' + "\n".join(str(9 + i % 40) for i in range(300)) + "\n")
    page = show(make(f"{shlex_quote(str(file))} --column {shlex_quote(column)}"))
    assert page.evaluate("window.hacked") is None
    assert column in page.inner_text("h1") and "<svg onload" in page.inner_text("h1")
    assert page.locator("h1 *, title *, img").count() == 0
    assert column in page.evaluate("JSON.parse(document.getElementById('study').textContent).input.source")


def test_the_page_may_run_and_load_nothing_else(make, show):
    page = show(make(SPEECH), expected="violates the following Content Security Policy")
    policy = page.get_attribute("meta[http-equiv='Content-Security-Policy']", "content")
    assert policy.startswith("default-src 'none'; ") and "unsafe" not in policy
    # A script that gets in does not run.
    page.evaluate(
        """() => { const script = document.createElement('script');
                   script.textContent = 'window.hacked = 1'; document.body.append(script); }"""
    )
    assert page.evaluate("window.hacked") is None


def shlex_quote(text):
    return "'" + text.replace("'", "'\"'\"'") + "'"


@pytest.mark.parametrize("strategies", [1, 40])
@pytest.mark.parametrize("sequences", [1, 10, 3000])
def test_few_and_many_strategies_on_few_and_many_sequences(make, show, tmp_path_factory, strategies, sequences):
    file = tmp_path_factory.mktemp("lengths") / "lengths.txt"
    file.write_text("\n".join(str(5 + (i * 7919) % 700) for i in range(sequences)) + "\n")
    chosen = " ".join(f"--strategy alternated:bins={bins + 1}" for bins in range(strategies))
    path = make(f"{file} --budget sequences:4 {chosen}")
    assert path.stat().st_size < 3_000_000
    page = show(path)
    assert page.locator("tbody tr").count() == strategies + 1
    assert page.locator("#batches svg[role=img]").count() == strategies + 1
    assert page.evaluate("[...document.querySelectorAll('path')].every(p => !/NaN|inf/.test(p.getAttribute('d')))")


def test_a_million_sequences_make_no_large_page(make, show, tmp_path):
    file = tmp_path / "million.txt"
    file.write_text("\n".join(str(5 + i * 2654435761 % 4999) for i in range(1_000_000)) + "\n")
    path = make(f"{file} --budget padded:40000 --strategy sorted --strategy blurred --epochs 2")
    assert path.stat().st_size < 3_000_000
    page = show(path)
    assert "1,000,000" in page.inner_text("dl.facts")
    assert page.locator("#padding svg[role=img]").count() == 1


@pytest.mark.parametrize("width", [360, 800, 1920])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_narrow_and_wide_light_and_dark(make, show, width, scheme):
    page = show(make(SPEECH), viewport={"width": width, "height": 900}, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    light = sum(int(part) for part in ground[4:-1].split(",")) > 380
    assert light == (scheme == "light")
    ink = page.evaluate("getComputedStyle(document.querySelector('h1')).color")
    assert ink != ground


def test_the_table_fits_a_wide_window_and_says_that_it_scrolls_in_a_narrow_one(make, show):
    for width in [1400, 1100, 400]:
        page = show(make(SPEECH), viewport={"width": width, "height": 900})
        box = page.locator("#strategies .scroll")
        fits = box.evaluate("box => box.scrollWidth <= box.clientWidth")
        assert fits == (width > 1000)
        last = page.locator("#strategies thead th").last
        assert last.text_content().replace("\u00a0", " ") == "sequential steps"
        right = last.bounding_box()["x"] + last.bounding_box()["width"]
        assert (right <= width) == fits
        assert page.locator("#strategies .narrow").is_visible() == (not fits)
        # No name is cut off.
        assert box.evaluate(
            "box => [...box.querySelectorAll('tbody th')].every(th => th.scrollWidth <= th.clientWidth)"
        )


@pytest.mark.parametrize("width", [360, 400, 800, 1400])
def test_figures_can_be_read_on_any_screen(make, show, width):
    page = show(make(SPEECH), viewport={"width": width, "height": 900})
    sizes = page.eval_on_selector_all(
        "figure svg[role=img]",
        """all => all.map(svg => {
            const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
            const sizes = [...svg.querySelectorAll('text')].map(t => parseFloat(getComputedStyle(t).fontSize));
            return [svg.closest('figure').dataset.name, scale * Math.min(...sizes)];
        })""",
    )
    assert all(size > 8 for _, size in sizes), sizes


# No text of a figure lies over another, or outside.
@pytest.mark.parametrize("longest", [9, 999, 1379, 24829, 319400, 1424829, 4_000_000_000])
def test_long_lengths_have_room_on_their_axes(make, show, tmp_path_factory, longest):
    file = tmp_path_factory.mktemp("lengths") / "frames.csv"
    lengths = [max(1, longest * (i + 1) // 60) for i in range(60)]
    file.write_text("frames\n" + "\n".join(map(str, lengths)) + "\n")
    page = show(make(f"{file} --budget sequences:4 --strategy sorted --strategy blurred --papers"))
    for figure in page.locator("figure").all():
        name = figure.get_attribute("data-name")
        for svg in figure.locator("svg[role=img]").all():
            assert svg.evaluate(CLASHES) == [], name
    labels = page.locator("#tuning text.label").all_text_contents()
    assert "mean padding of a batch (ZPR), %" in labels
    assert "mean batch length (ABL), in frames" in labels
    assert page.locator("#lengths text.label", has_text="length, in frames").count() == 1


def test_data_with_little_to_show_says_so(make, show, tmp_path_factory):
    folder = tmp_path_factory.mktemp("lengths")
    ticks = lambda page, section: page.locator(f"#{section} text.tick").all_text_contents()

    def report(name, lengths, more=""):
        file = folder / f"{name}.txt"
        file.write_text("\n".join(map(str, lengths)) + "\n")
        return show(make(f"{file} {more}"))

    one = report("one", [5])
    assert one.inner_text(".verdict").startswith("There is only one sequence")
    assert sorted(ticks(one, "lengths")) == ["0", "1", "5"]
    bar, rung = one.locator("#lengths .bar"), one.locator("#lengths circle.rung").first
    middle = bar.evaluate("bar => bar.x.baseVal.value + bar.width.baseVal.value / 2")
    assert abs(middle - rung.evaluate("dot => dot.cx.baseVal.value")) < 1
    legend = one.locator("#lengths .legend").inner_text().replace("\u00a0", " ")
    assert "1 batch length of" in legend
    for section in ["padding", "rungs", "steps"]:
        assert one.inner_text(f"#{section} .nothing").startswith("Nothing to show: ")

    two = report("two", [5, 9])
    assert "Recommended: shuffled, shapes exact" in two.inner_text(".verdict")

    same = report("same", [7] * 300)
    assert same.inner_text(".verdict").startswith("All sequences have length 7:")
    assert same.locator("#padding .nothing").is_visible() and same.locator("#steps svg[role=img]").count() == 2

    sorted_only = report("single", range(3, 300), "--strategy sorted")
    verdict = sorted_only.inner_text(".verdict").replace("\u00a0", " ")
    assert re.fullmatch(r"Recommended: \S+, shapes \S+, \d+ micro-batches per update: an epoch takes .*\.", verdict)


def test_without_scripts_all_can_be_read(make, show):
    page = show(make(SPEECH), java_script_enabled=False)
    assert page.locator("figure svg[role=img]").count() == 6 + STRATEGIES + 1
    assert page.locator("tbody tr").count() == STRATEGIES + 1  # What is recommended has a row too.
    assert page.locator(".verdict").is_visible()


def test_it_prints(make, show, tmp_path):
    page = show(make(SPEECH), color_scheme="dark")
    file = tmp_path / "report.pdf"
    pages = page.pdf(format="A4", path=file).count(b"/Type /Page\n")
    assert 2 < pages < 8
    # As wide as the paper without its margins, all columns are there, and colours are printed.
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 700, "height": 900})
    box = page.locator("#strategies .scroll")
    assert box.evaluate("box => box.scrollWidth <= box.clientWidth")
    assert page.evaluate("getComputedStyle(document.querySelector('tbody .key')).printColorAdjust") == "exact"
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(29, 35, 41)"
    if shutil.which("pdftotext") is None:
        return
    text = subprocess.run(["pdftotext", "-layout", file, "-"], capture_output=True, text=True, check=True).stdout
    sheets = [[line.strip() for line in sheet.splitlines() if line.strip()] for sheet in text.split("\f")]
    assert "Recommended:" in " ".join(sheets[0]) and "lengthwise plan" in " ".join(sheets[0])
    # No page ends with a heading, or with what is said about a figure on the next one.
    heads = page.eval_on_selector_all(".head h2, .head p", "all => all.map(head => head.innerText)")
    heads = {" ".join(head.split()) for head in heads}
    for sheet in filter(None, sheets):
        assert not any(head.endswith(" ".join(sheet[-1].split())) for head in heads), sheet[-1]
