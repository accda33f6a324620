"""What mkdocs.yml adds to the pages of docs/ when the site is built: the reference of the command and of the
settings, from the command that LENGTHWISE names; the notebooks; the figures; and links to files of the repository."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(Path(__file__).parent))
import figures  # noqa: E402


def on_config(config):
    """Puts the generated pages at the end of the navigation's reference."""
    program = os.environ.get("LENGTHWISE")
    if not program:
        raise PluginError("LENGTHWISE must name the command `lengthwise`: run scripts/site")
    config.extra["pages"] = commands(program) | settings(program) | notebooks()
    names = list(config.extra["pages"])
    reference = next(entry["Reference"] for entry in config.nav if "Reference" in entry)
    for title, folder in (("Commands", "reference/cli/"), ("Settings", "reference/settings/")):
        reference.append({title: [name for name in names if name.startswith(folder)]})
    return config


def on_files(files, config):
    for path, text in config.extra["pages"].items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown, page, config, files):
    markdown = re.sub(r"^<!-- figure: ([a-z-]+) -->$", figure, markdown, flags=re.MULTILINE)
    markdown = re.sub(r"^\|.*\|$", unbroken, markdown, flags=re.MULTILINE)
    return re.sub(r"\[([^\]]*)\]\(((?:\.\./)+[^)\s]*)\)", lambda link: linked(link, page, config, files), markdown)


def unbroken(row: re.Match) -> str:
    """A row of a table in which a number, its interval and its mark stay on one line, as in 0.39 ± 0.25 *."""
    joined = re.sub(r"(?<=[\d%]) (±|to) (?=[−+\d])", "\u00a0\\1\u00a0", row[0])
    joined = re.sub(r"(?<=\bQ) = (?=\d)", "\u00a0=\u00a0", joined)
    return re.sub(r"(?<=\d) (?=[%*])|(?<=%) (?=\*)", "\u00a0", joined)


def figure(found: re.Match) -> str:
    return f'<figure class="lw">{figures.FIGURES[found[1]]()}</figure>'


def linked(link: re.Match, page, config, files) -> str:
    """A link that leaves docs/: to the repository if its address is known, and otherwise the file's name."""
    text, target = link[1], link[2].split("#")[0]
    place = (Path(config.docs_dir) / page.file.src_uri).parent / target
    name = os.path.relpath(place, ROOT)
    if not os.path.relpath(place, config.docs_dir).startswith(".."):
        return link[0]
    if not place.exists():
        raise PluginError(f"{page.file.src_uri}: {target} does not exist")
    if config.repo_url:
        return f"[{text}]({config.repo_url.rstrip('/')}/blob/main/{name})"
    return f"`{name}`" if text.strip("`") in name else f"{text} (`{name}`)"


def output_of(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def commands(program: str) -> dict[str, str]:
    """A page for every command, from its arguments."""
    with tempfile.TemporaryDirectory() as folder:
        output_of(program, "man", "--markdown", "--output", folder)
        pages = {path.stem: path.read_text() for path in Path(folder).iterdir()}
    overview = pages.pop("lengthwise")
    order = [name for name in re.findall(r"^\s+([a-z]+)  ", output_of(program, "--help"), re.MULTILINE)]
    names = sorted(pages, key=lambda name: order.index(name.removeprefix("lengthwise-")))
    table = "".join(
        f"| [`{name.replace('-', ' ')}`]({name.removeprefix('lengthwise-')}.md) | {pages[name].split(chr(10))[2]} |\n"
        for name in names
    )
    head, usage, rest = re.split(r"(^```text\n.*?^```\n)", overview, maxsplit=1, flags=re.MULTILINE | re.DOTALL)
    found = {"reference/cli/index.md": f"{head}{usage}\n| command | |\n|---|---|\n{table}\n{rest}"}
    for name in names:
        found[f"reference/cli/{name.removeprefix('lengthwise-')}.md"] = pages[name]
    return found


def settings(program: str) -> dict[str, str]:
    """The pages of `lengthwise explain`."""
    found = {}
    for page in json.loads(output_of(program, "explain", "--json")):
        found[f"reference/settings/{page['name']}.md"] = page["text"].replace("```\nuse ", "```rust\nuse ")
    return found


def notebooks() -> dict[str, str]:
    """Notebooks as pages, with the output that they were kept with."""
    found = {}
    for path in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        parts = []
        for cell in json.loads(path.read_text())["cells"]:
            source = "".join(cell["source"])
            if cell["cell_type"] == "markdown":
                parts.append(source)
                continue
            parts.append(f"```python\n{source}\n```")
            parts += [shown(output) for output in cell["outputs"]]
        parts.insert(1, f"*[Download this notebook]({path.name})*")
        found[f"notebooks/{path.stem}.md"] = "\n\n".join(part for part in parts if part)
    return found


def shown(output: dict) -> str:
    data = output.get("data", {})
    for kind in ("image/svg+xml", "text/html"):
        if kind in data:
            return f'<div class="jp-output">\n{"".join(data[kind]).strip()}\n</div>'
    text = "".join(output.get("text", "") or data.get("text/plain", ""))
    return f"```text\n{text.rstrip()}\n```" if text.strip() else ""
