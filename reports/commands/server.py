"""The command draftproof server: a server of the OpenAI completions API, by samples of what it emits."""

import os
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import click

from ...models.libraries import require
from .output import Output, progress_bar, require_writable
from .parameters import Comma, Finite, report_options, seed_option, set_option, timeout_option

if TYPE_CHECKING:
    from ..audits.report import Report

KINDS = ("alone", "together", "streamed", "prompts", "choices", "seeds", "stop")
"""The names of ``servers.requests.KINDS``."""


@click.command(name="server")
@click.argument("url")
@click.option("--target", metavar="DIR", help="Forged checkpoint that the server serves (draftproof forge).")
@click.option("--grid", is_flag=True, help="With --target: examine every setting that the server has.")
@click.option("--sweep", is_flag=True, help="With --target: ask with 1, 2, 4, 6, 8, ... requests in flight.")
@click.option("--reference", metavar="DIR", help="Real weights that the server serves, in place of --target.")
@click.option("--without", metavar="URL", help="With --grid or --reference: the same server without speculation.")
@click.option(
    "--draft", metavar="DIR", help="With --reference: the draft's weights; its share in the output is tested."
)
@click.option("--device", metavar="NAME",
              help="With --reference: where its rows are computed, cpu or cuda.  [default: cpu]")  # fmt: skip
@click.option("--model", metavar="NAME", help="The model's name in requests.")
@click.option("--samples", type=click.IntRange(min=1), metavar="N",
              help="Outputs of each kind of request.  [default: 1000; with --grid 4000; --reference 64]")  # fmt: skip
@click.option("--kinds", type=Comma(KINDS), help=f"Kinds of requests.  [default: {','.join(KINDS)}]")
@click.option("--gamma", type=click.IntRange(1), metavar="N",
              help="Length of a draft block.  [default: the problem's]")  # fmt: skip
@click.option("--temperature", type=Finite(min=0), metavar="T", help="Judge the rows at this temperature.")
@click.option("--top-k", type=click.IntRange(0), metavar="K", help="Judge the rows cut to the K most probable tokens.")
@click.option("--top-p", type=Finite(min=0, max=1, min_open=True), metavar="P", help="Judge the rows cut to a nucleus.")
@set_option("A field of every request, its value in JSON; null leaves one out.")
@click.option("--words", metavar="NAME",
              help="Parameter names the server understands: llama.cpp, mlx-lm, vllm, openai, draftproof.")  # fmt: skip
@click.option("--row", "rows", multiple=True, metavar="NAME", help="Examine only this row of the grid.")
@click.option(
    "--at-once",
    type=click.IntRange(1, 256),
    metavar="N",
    help="Requests in flight.  [default: 8; with --sweep up to 64]",
)
@click.option("--request-timeout", type=Finite(min=0.1), metavar="S", help="Seconds for one request.  [default: 60]")
@click.option("--patience", type=Finite(min=0), metavar="S",
              help="Seconds for which a refused request is sent again.  [default: 30]")  # fmt: skip
@click.option("--checkpoint", metavar="FILE", help="Keep what is counted here; the same command resumes from it.")
@seed_option
@timeout_option(600.0, 1, "Seconds of wall-clock time for all requests.")
@report_options
def command(url: str, target: str | None, reference: str | None, grid: bool, sweep: bool, settings: dict[str, Any],
            json_file: str | None, html_file: str | None, require_decision: bool, **options: Any) -> None:  # fmt: skip
    """Audit a server of the OpenAI completions API at URL: http://HOST:PORT, started with whatever speculation.

    Where URL ends in /v1/chat/completions, chats are asked for.

    It serves a forged --target, whose law is known, or real weights that --reference has too: every token is then bet
    on under their rows, after the drift of the server's arithmetic was measured. A pass comes with a detection limit
    and is inconclusive. An API key, if the server wants one, is read from the environment variable OPENAI_API_KEY."""
    if (target is None) == (reference is None):
        raise click.UsageError("needs --target DIR, a forged checkpoint that the server serves, or --reference DIR, "
                               "real weights")  # fmt: skip
    require("httpx2", extra="servers")
    output = Output(json_file, html_file, checkpoint=options["checkpoint"])
    require_writable(options["checkpoint"])
    seed, given = options.pop("seed"), {name: value for name, value in options.items() if value not in (None, ())}
    given |= {"fields": settings, "key": os.environ.get("OPENAI_API_KEY")}
    with progress_bar() as progress:
        report = _audited(
            url, target, reference, {"--sweep": sweep, "--grid": grid or bool(options["rows"])}, given, seed, progress
        )
    output.finish(report, require_decision)


def _audited(
    url: str,
    target: str | None,
    reference: str | None,
    ways: dict[str, bool],
    given: dict[str, Any],
    seed: int,
    progress: Any,
) -> "Report":
    """Audit by the settings that the options say. Raises: UsageError for an option that those settings do not have."""
    from ..audits.servers.settings import GridSettings, ReferenceSettings, ServerSettings, SweepSettings

    def settings(kind: type, option: str) -> Any:
        if strange := sorted(given.keys() - {field.name for field in fields(kind)}):
            flag = next(parameter.opts[0] for parameter in command.params if parameter.name == strange[0])
            raise click.UsageError(f"{flag} does not go with {option}")
        return kind(**given)

    if ways["--sweep"] and (ways["--grid"] or target is None):
        raise click.UsageError(f"--sweep does not go with {'--grid' if target else '--reference'}")
    if target is None:
        require("torch", "transformers")
        given |= {"grid": True} if ways["--grid"] and not given.get("rows") else {}
        asked = settings(ReferenceSettings, "--reference")
        from ..audits.servers.reference import audit_reference

        return audit_reference(url, str(reference), asked, seed, progress)
    if ways["--sweep"]:
        asked = settings(SweepSettings, "--sweep")
        from ..audits.servers.sweep import audit_sweep

        return audit_sweep(url, target, asked, seed, progress)
    if ways["--grid"]:
        asked = settings(GridSettings, "--grid")
        from ..audits.servers.grid_audit import audit_grid

        return audit_grid(url, target, asked, seed, progress)
    asked = settings(ServerSettings, "--target without --grid")
    from ..audits.servers.audit import audit_server

    return audit_server(url, target, asked, seed, progress)
