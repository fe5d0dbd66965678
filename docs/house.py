"""What Sphinx needs to know of this project: its docstrings, and pages made from what the code says of itself."""

import gzip
import json
import re
from collections.abc import Iterator
from fractions import Fraction
from math import ceil, log
from pathlib import Path

import click
from sphinx.application import Sphinx

from draftproof import stattests
from draftproof.corpus.site import bugs
from draftproof.corpus.site.engines_page import kept_survey
from draftproof.corpus.site.evidence_folder import runs_table
from draftproof.corpus.site.grid import grid_page, kept_grids
from draftproof.corpus.site.kept_orderings import counts_table, decided_table, equalities_table, gains_table
from draftproof.corpus.site.rounding_table import table, worst_table
from draftproof.models.decoders.catalogue import WRONG_DECODERS
from draftproof.models.decoders.reference import Decoder
from draftproof.proofs.laws.known_decoders import law_of_decoder
from draftproof.proofs.laws.text_masses import distance
from draftproof.reports.audits.engines.cells import decoder_problem
from draftproof.reports.audits.report import Report
from draftproof.reports.commands.main import cli
from draftproof.reports.pages import glossary as words
from draftproof.reports.pages.errors import error_pages
from draftproof.reports.pages.page import labelled
from draftproof.reports.pages.page import page as report_page
from draftproof.stattests import min_detectable_goodness, samples_needed
from draftproof.tests.deceivers.reported import reported_table
from draftproof.tests.subjects.right_decoders import RIGHT_DECODERS
from draftproof_paper.pages.page import page as tables_page

FIELD = re.compile(r"(?P<names>[\w.*]+(?:, [\w.*]+)*): (?P<text>\S.*)")
EQUATION = re.compile(r"[\w^{}()\[\].*, |-]{1,40} (=|<=|>=) ")
SPECIAL = re.compile(r"(``.*?``)|([*|\\]|_(?=\W|$)|`)")


def plain(text: str) -> str:
    """The text with what reStructuredText would take for mark-up escaped, except for ``code``."""
    return SPECIAL.sub(lambda match: match[1] or "\\" + match[2], text)


def house_docstring(app: Sphinx, what: str, name: str, subject: object, options: object, lines: list[str]) -> None:
    """Fields that stand one a line as a list, equations line by line, code as it is."""
    paragraphs = [text.strip("\n").split("\n") for text in re.split(r"\n\s*\n", "\n".join(lines)) if text.strip()]
    lines[:] = [line for paragraph in paragraphs for line in (*_paragraph(paragraph), "")]


def _paragraph(lines: list[str]) -> list[str]:
    if lines[0].startswith((" ", "@", "def ")):
        return ["::", "", *("    " + line for line in lines)]
    first = next((k for k, line in enumerate(lines) if FIELD.fullmatch(line)), len(lines))
    before, after = lines[:first], lines[first:]
    made = (
        ["| " + plain(line.strip()) for line in before]
        if before and EQUATION.match(before[0])
        else [*map(plain, before)]
    )
    if after:
        made.append("")
    for line in after:
        field = FIELD.fullmatch(line)
        if field:
            mark = "**" if field["names"][0].isupper() else "``"  # Raises, Source, Guarantee are no names
            made.append(f"* {mark}{field['names']}{mark}: {plain(field['text'])}")
        else:
            made[-1] += " " + plain(line.strip())
    return made


def _helps(command: click.Command, context: click.Context, level: int) -> Iterator[str]:
    """A section for a command, with its ``--help``, and one for each command below it."""
    yield f"{'#' * level} {context.command_path}\n\n```text\n{command.get_help(context)}\n```\n"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None:
                yield from _helps(inner, click.Context(inner, info_name=name, parent=context), level + 1)


def commands(page: str) -> str:
    """The page of commands, with the help of each."""
    _, *sections = _helps(cli, click.Context(cli, info_name="draftproof"), 1)
    return page.replace(MADE_HERE, "\n".join(sections))


def glossary(page: str) -> str:
    """The words of ``reports.pages.glossary``, as a glossary that pages refer to; in reStructuredText."""
    terms = (f"   {term}\n      {plain(meaning)}\n" for term, meaning in words.glossary().items())
    return page.replace(MADE_HERE, "\n".join(terms))


def statistics(page: str) -> str:
    """The index of the statistical tests, which is written as Markdown."""
    return page.replace(MADE_HERE, stattests.__doc__ or "")


SITE = Path(__file__).parents[1] / "corpus" / "site"

REPOSITORY = "https://github.com/draftproof/draftproof/"
"""Address of the repository."""

CHANGELOG = Path(__file__).parents[1] / "CHANGELOG.md"


def versions() -> list[tuple[str, str]]:
    """Return each version in the CHANGELOG with the address of its documentation, and that of the next one."""
    released = re.findall(r"^## (\d\S*)", CHANGELOG.read_text(encoding="utf-8"), re.MULTILINE)
    return [("next", f"{REPOSITORY}tree/main/docs"), *((v, f"{REPOSITORY}tree/v{v}/docs") for v in released)]


def below_title(page: str, sentence: str) -> str:
    """Return a page with a sentence of its own first, below its title."""
    title, _, rest = page.partition("\n")
    return f"{title}\n\n**{sentence}**\n{rest}"


def engines(page: str) -> str:
    """The page of engines, as it stands in ``reports``; its issues and reproductions are files to take."""
    text = (SITE / "survey.md").read_text(encoding="utf-8").replace("](engines/", "](path:../corpus/site/engines/")
    verdicts = [line.split(" | ")[3] for line in text.split("\n## ")[1].splitlines() if line.startswith("| `")]
    wrong = sum(verdict.startswith("Refuted") for verdict in verdicts)
    return below_title(text, f"{wrong} of {len(verdicts)} refuted.")


def gallery(page: str) -> str:
    """The page of bugs."""
    text = bugs.PAGE.read_text(encoding="utf-8")
    found = len(re.findall(r"^\| `", text, re.MULTILINE))
    return below_title(text, f"{found} bugs, each with the smallest input that shows it.")


def literature(page: str) -> str:
    """The page of the literature, its counts first."""
    text = (SITE / "literature.md").read_text(encoding="utf-8")
    counts = re.search(r"^\d+ rows: .*$", text, re.MULTILINE)
    assert counts
    return below_title(text.replace(f"{counts[0]}\n\n", "", 1), counts[0].removesuffix(".") + ".")


def changes(page: str) -> str:
    """The page of changes, a section for each version."""
    return CHANGELOG.read_text(encoding="utf-8").replace("](corpus/", "](path:../corpus/")


def index_survey(page: str) -> str:
    """The page of the index's packages."""
    return (SITE / "index-survey.md").read_text(encoding="utf-8")


def contributing(page: str) -> str:
    """Return the page for contributors, as it stands at the root of the repository."""
    return (SITE.parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8").replace("](docs/", "](")


def mechanisms(page: str) -> str:
    """Return the page of mechanisms, with the table of what an exact law rests on."""
    return page.replace(MADE_HERE, (SITE / "assumptions.md").read_text(encoding="utf-8"))


def measurements(page: str) -> str:
    """Return the page of measured figures, with the kept runs and their orderings."""
    page = (SITE / "measurements.md").read_text(encoding="utf-8")
    tables = {
        "gains": gains_table, "decided": decided_table, "counts": counts_table, "equalities": equalities_table,
        "runs": runs_table,
    }  # fmt: skip
    for name, made in tables.items():
        page = page.replace(f"<!-- made by house.py: {name} -->", made())
    return page


def acceptance(page: str) -> str:
    """Return the page of acceptance, as it stands in ``corpus``."""
    return (SITE / "acceptance.md").read_text(encoding="utf-8").replace("](acceptance/", "](../corpus/site/acceptance/")


def history(page: str) -> str:
    """The page of histories, as it stands in ``reports``."""
    return (SITE / "history.md").read_text(encoding="utf-8")


COMPARED = ("vllm-ascend-block-lossless", "hsd-lossless", "M04", "M44", "M45", "hsd-support", "transformers-support")
"""Findings of the page of engines and mutants of the gallery, for which samples are counted."""

MISSED = 1e-3
"""Probability of a miss of the tests they are compared with, as in ``stattests``."""


def samples() -> Iterator[tuple[str, str, int]]:
    """(Bug, how far it is from right, samples) of ``COMPARED``: of a chi-square test, of an impossible token until it
    is seen."""
    findings = {finding.key: finding for finding in kept_survey().findings}
    gallery = bugs.PAGE.read_text(encoding="utf-8")
    for key in COMPARED:
        if key not in findings:  # two outcomes: their distance is the total variation
            row = re.search(rf"^\| `{key}` \| (.*?) \|.*`0` with (\S+), not (\S+) \|$", gallery, re.MULTILINE)
            assert row, key
            distance = float(abs(Fraction(row[2]) - Fraction(row[3])))
            yield f"`{key}`: {row[1]}", f"TV {distance:.2g}", samples_needed(min_detectable_goodness, distance, cells=2)
            continue
        one = findings[key]
        if one.total_variation is None:
            chance = float(one.witness.rpartition(" ")[2])
            yield f"`{one.name}`: an impossible token", f"Pr {chance:.3g}", ceil(-log(MISSED) / chance)
            continue
        problem = json.loads(re.findall(r"'({.*?})'", one.replay or "")[0])
        cells = problem["vocabulary"] ** (problem["gamma"] + 1)
        needed = samples_needed(min_detectable_goodness, one.total_variation, cells=cells)
        yield f"`{one.name}`: wrong text", f"TV {one.total_variation:.2g}", needed


def index(page: str) -> str:
    """The first page, with the samples that a statistical test would need."""
    lines = [f"| {bug} | {size} | {_rounded(needed)} |" for bug, size, needed in samples()]
    return page.replace(MADE_HERE, "\n".join(["| bug | deviation | samples |", "|---|---|---|", *lines]))


def _rounded(number: int) -> str:
    """Two digits, and thousands apart: nobody takes the third."""
    if number >= 10**12:
        return f"{number:.1e}"
    size = 10 ** max(len(str(number)) - 2, 0)
    return f"{-(-number // size) * size:,}"


LIVE = Path(__file__).parent / "live"
"""Reports that ``draftproof audit --json`` wrote; the documentation has their pages."""

EVIDENCE = Path(__file__).parents[1] / "corpus" / "site" / "evidence"
"""Kept runs, a folder each; the documentation has their pages too."""


def kept_pages(most: int | None = None) -> Iterator[tuple[str, str]]:
    """Yield the place and the page of each kept report, made by this version. most: of each kind."""
    for file in sorted(LIVE.glob("*.json.gz"))[:most]:
        report = Report.from_json(json.loads(gzip.decompress(file.read_bytes())))
        yield f"live/{file.name.partition('.')[0]}.html", report_page(report)
    for folder in sorted(EVIDENCE.glob("*/"))[:most]:
        tables = folder / "tables.json"
        content = json.loads((tables if tables.is_file() else folder / "report.json").read_text(encoding="utf-8"))
        page = tables_page(content) if tables.is_file() else report_page(Report.from_json(content))
        yield f"evidence/{folder.name}.html", page


def live_reports(app: Sphinx, error: Exception | None) -> None:
    """Write the pages of kept reports beside the documentation: all, unless the option kept_pages limits them."""
    if error is None and app.builder.format == "html":
        for place, page in kept_pages(app.config.kept_pages or None):
            file = Path(app.outdir) / place
            file.parent.mkdir(exist_ok=True)
            file.write_text(page, encoding="utf-8")


def rounding(page: str) -> str:
    """The page of rounding, with its table as the bounds come out."""
    return page.replace("<!-- made by house.py: worst -->", worst_table()).replace(MADE_HERE, table())


def decoders(page: str) -> str:
    """The page of decoders, with the grids that are kept."""
    return page.replace(MADE_HERE, grid_page(kept_grids()))


def wrong_decoders(page: str) -> str:
    """The mutants of decoders, and the right ones in odd styles."""
    problem = decoder_problem()
    lines = ["| name | wrong | request | off | refutes | descends from |", "|---|---|---|---|---|---|"]
    for entry in WRONG_DECODERS.values():
        off = ""
        if not entry.followed:
            asked = problem, entry.settings, entry.tokens, entry.sampling
            off = f"{distance(*(law_of_decoder(kind, *asked) for kind in (entry.kind, Decoder))):.2g}"
        request = ", ".join(f"{name} {json.dumps(value)}" for name, value in entry.settings.items()) or "none"
        ancestor = f"[{entry.ancestor}]({entry.link})" if entry.link else ""
        refutes = ", ".join(entry.refutes)
        lines.append(f"| {entry.name} | {entry.title} | `{request}` | {off} | {refutes} | {ancestor} |")
    lines += ["", "Right ones in odd styles, which are cleared:", "", "| name | style |", "|---|---|"]
    lines += [f"| {entry.name} | {entry.title} |" for entry in RIGHT_DECODERS.values()]
    return page.replace(MADE_HERE, "\n".join(lines))


def deceivers(page: str) -> str:
    """Return the page of drawn deceivers, with the faults that users reported."""
    return page.replace(MADE_HERE, reported_table())


def errors(page: str) -> str:
    """Return the page of errors, with an entry for each code."""
    entries = []
    for code, entry in error_pages().items():
        example = f"```text\n{entry.example}\n```"
        entries.append(
            f"## {code}: {entry.title}\n\n{entry.wrong}\n\n{example}\n\n{entry.fix} [More]({entry.page}.md)."
        )
    return page.replace(MADE_HERE, "\n\n".join(entries))


MADE_HERE = "<!-- made by house.py -->"
MADE_PAGES = {
    "acceptance": acceptance, "commands": commands, "contributing": contributing, "deceivers": deceivers,
    "decoders": decoders, "wrong-decoders": wrong_decoders, "engines": engines, "errors": errors, "glossary": glossary,
    "history": history, "index": index, "index-survey": index_survey,
    "measurements": measurements, "mechanisms": mechanisms, "python": statistics, "rounding": rounding,
    "bugs": gallery, "changelog": changes, "literature": literature,
}  # fmt: skip


def made_pages(app: Sphinx, docname: str, source: list[str]) -> None:
    """Pages, or parts of them, that are made of what the code says of itself."""
    if docname in MADE_PAGES:
        source[0] = MADE_PAGES[docname](source[0])


FOR_ALL_READERS = (
    (re.compile(r"<pre>"), '<pre tabindex="0">'),
    (re.compile(r'<div class="table-wrapper'), '<div tabindex="0" class="table-wrapper'),
    (re.compile(r'<p class="caption" role="heading">'), '<p class="caption" role="heading" aria-level="2">'),
)
"""What is wider than its place scrolls by keys too; a heading says its level."""


CELL = re.compile(r"<td\b[^>]*>.*?</td>", re.DOTALL)
SIGNS = re.compile(r"(?<=\w)([_./:=,-]+|[\[\]()]+)(?=[A-Za-z])|(?<=[A-Za-z])([_/:=]+)(?=\d)")
"""Places in a word at which a line may end: after a sign, but never within a number."""
LONG_WORD, HUMP = re.compile(r"\w{17,}"), re.compile(r"(?<=[a-z])(?=[A-Z][a-z])")
"""A word that may end a line at its inner capitals too, and such a place."""
VERDICTS = {
    "refuted": "refuted", "does not hold": "refuted", "error": "refuted",
    "holds": "right", "not refuted": "right", "confirmed": "right",
    "inconclusive": "open", "undecided": "open", "no-evidence": "open",
}  # fmt: skip
"""Words that a cell with a verdict begins with, and its class."""


def readable_cell(cell: re.Match[str]) -> str:
    """Return a cell whose words may end a line at their inner signs, with the class of its verdict."""
    parts = re.split(r"(<[^>]*>|&[^;\s]+;)", cell[0])
    for k, text in enumerate(parts[::2]):
        humped = LONG_WORD.sub(lambda m: HUMP.sub("<wbr>", m[0]), text)
        parts[2 * k] = SIGNS.sub(lambda m: f"{m[0]}<wbr>", humped)
    text = re.sub(r"<[^>]*>", "", cell[0]).strip().lower()
    word = next((word for word in VERDICTS if re.match(rf"{word}\b", text)), "")
    kind, first = VERDICTS.get(word), parts[1]
    if kind:
        k = next(k for k in range(0, len(parts), 2) if parts[k].strip())
        parts[k] = re.sub(rf"^(\s*)({word})", r"\1<b>\2</b>", parts[k], flags=re.IGNORECASE)
    if kind and 'class="' not in first:
        parts[1] = first.replace("<td", f'<td class="{kind}"', 1)
    elif kind:
        parts[1] = first.replace('class="', f'class="{kind} ', 1)
    return "".join(parts)


def reachable(app: Sphinx, error: Exception | None) -> None:
    """Mend what the theme leaves out of the pages: places that keys scroll, levels of headings, headings in tables."""
    if error is None and app.builder.format == "html":
        for file in Path(app.outdir).rglob("*.html"):
            text = labelled(file.read_text(encoding="utf-8"))
            for wrong, right in FOR_ALL_READERS:
                text = wrong.sub(right, text)
            text = CELL.sub(readable_cell, text)
            file.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_config_value("kept_pages", 0, "html")
    app.connect("autodoc-process-docstring", house_docstring)
    app.connect("build-finished", reachable)
    app.connect("build-finished", live_reports)
    app.connect("source-read", made_pages)
    return {"parallel_read_safe": True}
