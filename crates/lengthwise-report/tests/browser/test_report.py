"""What a reader of a report can see and do."""

import struct
import xml.etree.ElementTree as xml

import pytest

SPEECH = "--example speech --world-size 8 --cost-model encoder"
SECTIONS = ["strategies", "lengths", "frontier", "tuning", "ranks", "seconds", "pictures"]
STRATEGIES = 11
FAMILIES = 7


def test_everything_is_there(make, show):
    page = show(make(SPEECH))
    assert page.title() == "lengthwise: example `speech`"
    assert "Random batches spend 31.6" in page.inner_text(".verdict")
    assert page.eval_on_selector_all("section", "all => all.map(s => s.id)") == SECTIONS
    assert page.locator("tbody tr").count() == STRATEGIES
    for section, figures in [
        ("lengths", 1),
        ("frontier", 1),
        ("tuning", 2 * FAMILIES),
        ("ranks", 1),
        ("seconds", 1),
        ("pictures", 2 * STRATEGIES),
    ]:
        svg = page.locator(f"#{section} figure svg")
        assert svg.count() == figures, section
        for at in range(figures):
            box = svg.nth(at).bounding_box()
            assert box["width"] > 150 and box["height"] > 40, (section, box)
    # Axes say what they are, and marks lie inside their figure.
    for svg in page.query_selector_all("#frontier svg, #ranks svg, #lengths svg, #tuning svg"):
        assert len(svg.query_selector_all("text.label")) == 2
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
    assert study["version"] == 1 and len(study["rows"]) == STRATEGIES


def test_pointing_at_a_mark_says_what_it_is(make, show):
    page = show(make(SPEECH))
    assert page.locator("#tip").is_hidden()
    page.locator("#frontier .own .dot").first.hover()
    assert "shuffled: 31.6" in page.inner_text("#tip")
    page.locator("#lengths rect.bar").nth(20).hover()
    assert page.inner_text("#tip").startswith("length ")
    box = page.locator("#tip").bounding_box()
    width = page.viewport_size["width"]
    assert box["x"] >= 0 and box["x"] + box["width"] <= width
    page.locator("h1").hover()
    assert page.locator("#tip").is_hidden()


def test_a_click_on_a_strategy_follows_it_everywhere(make, show):
    page = show(make(SPEECH))
    chosen = lambda: page.eval_on_selector_all(
        ".series.chosen", "all => [...new Set(all.map(mark => mark.dataset.series))].sort()"
    )
    page.click("tbody tr[data-series='blurred:spread=0.02'] th")
    assert chosen() == ["blurred", "blurred:spread=0.02"]
    for section in ["strategies", "frontier", "tuning", "ranks", "seconds", "pictures"]:
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
        f"tbody tr :nth-child({column})", "all => all.map(cell => cell.dataset.value)"
    )
    headings = page.eval_on_selector_all("thead th", "all => all.map(th => th.textContent)")
    for column, heading in enumerate(headings[1:], start=2):
        page.click(f"thead th:nth-child({column})")
        up = [float(value) for value in cells(column)]
        assert up == sorted(up), heading
        page.click(f"thead th:nth-child({column})")
        assert [float(value) for value in cells(column)] == sorted(up, reverse=True), heading
    page.focus("thead th:first-child")
    page.keyboard.press("Enter")
    names = page.eval_on_selector_all("tbody th", "all => all.map(th => th.textContent)")
    assert names == sorted(names)


@pytest.mark.parametrize("section", ["lengths", "frontier", "ranks", "seconds", "pictures"])
def test_figures_can_be_taken_along(make, show, section):
    page = show(make(SPEECH))
    figure = page.locator(f"#{section} figure").first
    figure.hover()
    with page.expect_download() as taken:
        figure.get_by_text("SVG", exact=True).click()
    assert taken.value.suggested_filename.endswith(".svg")
    root = xml.parse(taken.value.path()).getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert not [mark for mark in root.iter() if "class" in mark.attrib]
    colours = {mark.get("fill") for mark in root.iter()}
    assert len(colours) > 2 and not any(colour and "var(" in colour for colour in colours)
    with page.expect_download() as taken:
        figure.get_by_text("PNG", exact=True).click()
    data = taken.value.path().read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", data[16:24])
    size = figure.locator("svg").evaluate("svg => [svg.viewBox.baseVal.width, svg.viewBox.baseVal.height]")
    assert [width, height] == [int(2 * side) for side in size]


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
    assert page.locator("tbody tr").count() == strategies
    assert page.locator("#pictures article").count() == strategies
    assert page.evaluate("[...document.querySelectorAll('path')].every(p => !/NaN|inf/.test(p.getAttribute('d')))")


def test_a_million_sequences_make_no_large_page(make, show, tmp_path):
    file = tmp_path / "million.txt"
    file.write_text("\n".join(str(5 + i * 2654435761 % 4999) for i in range(1_000_000)) + "\n")
    path = make(f"{file} --budget padded:40000 --strategy sorted --strategy blurred --epochs 2")
    assert path.stat().st_size < 3_000_000
    page = show(path)
    assert "1,000,000" in page.inner_text("dl")
    assert page.locator("#frontier svg").count() == 1


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


def test_without_scripts_all_can_be_read(make, show):
    page = show(make(SPEECH), java_script_enabled=False)
    assert page.locator("figure svg").count() == 3 + 2 * FAMILIES + 1 + 2 * STRATEGIES
    assert page.locator("tbody tr").count() == STRATEGIES
    assert page.locator(".verdict").is_visible()


def test_it_prints(make, show):
    page = show(make(SPEECH))
    pages = page.pdf(format="A4").count(b"/Type /Page\n")
    assert 5 < pages < 40
