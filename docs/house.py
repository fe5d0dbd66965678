"""What Sphinx needs to know of this project: its docstrings, and pages made from what the code says of itself."""

import re
from importlib import import_module
from pathlib import Path

import click
from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
from sphinx.application import Sphinx

from draftproof.reports.commands.main import cli
from draftproof.reports.pages.glossary import GLOSSARY

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


class Commands(Directive):
    """Every command with its ``--help``."""

    def run(self) -> list[nodes.Node]:
        found: list[nodes.Node] = []
        context = click.Context(cli, info_name="draftproof")
        for name in cli.list_commands(context):
            command = cli.get_command(context, name)
            if command is not None:
                found += _described(command, click.Context(command, info_name=name, parent=context))
        return found


def _described(command: click.Command, context: click.Context) -> list[nodes.Node]:
    title = context.command_path
    section = nodes.section(ids=[nodes.make_id(title)], names=[title])
    section += nodes.title("", title)
    section += nodes.literal_block("", command.get_help(context), language="text")
    for name in command.list_commands(context) if isinstance(command, click.Group) else ():
        inner = command.get_command(context, name)
        if inner is not None:
            section += _described(inner, click.Context(inner, info_name=name, parent=context))
    return [section]


class Docstring(Directive):
    """A module's docstring that is written as Markdown."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        holder = nodes.Element()
        lines = (import_module(self.arguments[0]).__doc__ or "").splitlines()
        self.state.nested_parse(StringList(lines, self.arguments[0]), self.content_offset, holder)
        return holder.children


class Glossary(Directive):
    """The words of ``reports.pages.glossary``, as a glossary that pages refer to; in reStructuredText."""

    def run(self) -> list[nodes.Node]:
        lines = [".. glossary::", "   :sorted:", ""]
        for term, meaning in GLOSSARY.items():
            lines += [f"   {term}", f"      {plain(meaning)}", ""]
        holder = nodes.Element()
        self.state.nested_parse(StringList(lines, "glossary"), self.content_offset, holder)
        return holder.children


def engines_page(app: Sphinx, docname: str, source: list[str]) -> None:
    """The page of engines, as it stands in ``reports``; its issues and reproductions are files to take."""
    if docname == "engines":
        page = (Path(app.srcdir).parent / "reports" / "engines.md").read_text(encoding="utf-8")
        source[0] = page.replace("](engines/", "](path:../reports/engines/")


FOR_ALL_READERS = (
    (re.compile(r"<pre>"), '<pre tabindex="0">'),
    (re.compile(r'<div class="table-wrapper'), '<div tabindex="0" class="table-wrapper'),
    (re.compile(r'<p class="caption" role="heading">'), '<p class="caption" role="heading" aria-level="2">'),
)
"""What is wider than its place scrolls by keys too; a heading says its level."""


def reachable(app: Sphinx, error: Exception | None) -> None:
    """Mend what the theme leaves out of the pages: places that keys scroll, levels of headings."""
    if error is None and app.builder.format == "html":
        for file in Path(app.outdir).rglob("*.html"):
            text = file.read_text(encoding="utf-8")
            for wrong, right in FOR_ALL_READERS:
                text = wrong.sub(right, text)
            file.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", house_docstring)
    app.connect("build-finished", reachable)
    app.connect("source-read", engines_page)
    app.add_directive("draftproof-commands", Commands)
    app.add_directive("draftproof-docstring", Docstring)
    app.add_directive("draftproof-glossary", Glossary)
    return {"parallel_read_safe": True}
