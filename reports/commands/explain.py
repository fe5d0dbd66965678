"""The command draftproof explain: what a code at the end of a message means."""

import textwrap

import click

from ...models.errors import InputError
from .parameters import meant

DOCUMENTATION = "https://github.com/draftproof/draftproof/blob/main/docs"
"""Address of the documentation's pages."""


@click.command(name="explain")
@click.argument("code", required=False)
def command(code: str | None) -> None:
    """Say what the CODE at the end of a message means, and what to do; without CODE, list all."""
    from ..pages.errors import error_pages

    pages = error_pages()
    if code is None:
        for name, page in pages.items():
            click.echo(f"{name}  {page.title}")
        return
    page = pages.get(code.upper())
    if page is None:
        raise InputError(f"no code {code!r}; {meant(code.upper(), pages)}", "DP401")
    click.echo(f"{code.upper()}: {page.title}\n\n{textwrap.fill(page.wrong, 80)}\n")
    click.echo(textwrap.indent(page.example, "    "))
    click.echo(f"\n{textwrap.fill(page.fix, 80, break_on_hyphens=False)}\n\n{DOCUMENTATION}/{page.page}.md")
