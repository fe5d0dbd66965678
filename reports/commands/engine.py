"""The command draftproof engine: an inference engine or a server from outside, on checkpoints of known law."""

import json
import os
from typing import TYPE_CHECKING, Any

import click

from ...models.errors import InputError
from ...models.problem import load_problem
from .output import Output, progress_bar, require_writable
from .parameters import Comma, Finite, memory_option, problems_option, report_options, seed_option, timeout_option

if TYPE_CHECKING:
    from ..audits.report import Report

KINDS = ("alone", "together", "streamed", "prompts", "choices", "seeds", "stop")
"""The names of ``servers.kinds.KINDS``."""

OF_SERVERS = ("target", "model", "gamma", "kinds", "at_once", "temperature", "top_k", "top_p",
              "request_timeout", "patience", "without", "words", "reference", "draft")  # fmt: skip

OF_GRIDS = ("without", "words")
"""Options of the grid of a server."""


OF_KINDS = ("kinds", "temperature", "top_k", "top_p", "gamma")
"""Options of a server's audit that its grid decides itself."""

GRID_TEXTS = 4_000
"""Of each row of a server's grid, unless asked otherwise."""


@click.command(name="engine")
@click.argument("engine")
@problems_option
@click.option("--level", "levels", type=Comma(("exact", "statistical")),
              help="Laws, or samples.  [default: laws where they can be followed; samples with --samples]")  # fmt: skip
@click.option("--tokens", type=click.IntRange(1, 8), metavar="N",
              help="Tokens of a text whose law is exact.  [default: 3]")  # fmt: skip
@click.option("--grid", is_flag=True, help="Every setting that the engine has, each with each way of drafting.")
@click.option("--plain", is_flag=True, help="Sample without the draft, as a control.")
@click.option("--samples", type=click.IntRange(min=1), metavar="N", help="Samples of each problem, or kind of request.")
@seed_option
@timeout_option(600.0, 1, "Seconds of wall-clock time for all problems.")
@memory_option(32.0)
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE",
              help="A setting (draftproof list settings), or a field of every request to a URL, in JSON.")  # fmt: skip
@click.option("--target", metavar="DIR", help="URL: what the server serves, as draftproof forge wrote it.")
@click.option("--reference", metavar="DIR", help="URL: real weights that the server serves, in place of --target.")
@click.option("--draft", metavar="DIR", help="URL with --reference: the draft's weights; its share in texts is bet on.")
@click.option("--model", metavar="NAME", help="URL: the model's name in requests.")
@click.option(
    "--gamma", type=click.IntRange(1), metavar="N", help="URL: length of a draft block.  [default: the problem's]"
)
@click.option("--kinds", type=Comma(KINDS), help=f"URL: kinds of requests.  [default: {','.join(KINDS)}]")
@click.option("--at-once", type=click.IntRange(1, 256), metavar="N", help="URL: requests in flight.  [default: 8]")
@click.option(
    "--temperature", type=Finite(min=0), metavar="T", help="URL: the law judged is that of the modified rows."
)
@click.option("--top-k", type=click.IntRange(0), metavar="K", help="URL: likewise.")
@click.option("--top-p", type=Finite(min=0, max=1, min_open=True), metavar="P", help="URL: likewise.")
@click.option("--without", metavar="URL", help="URL with --grid or --reference: the same server without speculation.")
@click.option("--words", metavar="NAME", help="URL with --grid: how it says settings.  [default: by its Server header]")
@click.option("--row", "rows", multiple=True, metavar="NAME", help="With --grid: this row alone.")
@click.option("--checkpoint", metavar="FILE", help="Keep what is counted, or each exact law; the same command goes on.")
@click.option(
    "--request-timeout", type=Finite(min=0.1), metavar="S", help="URL: seconds for one request.  [default: 60]"
)
@click.option("--patience", type=Finite(min=0), metavar="S",
              help="URL: seconds for which a refused request is sent again.  [default: 30]")  # fmt: skip
@report_options
def command(engine: str, problems: tuple[str, ...], settings: tuple[str, ...], json_file: str | None,
            html_file: str | None, require_decision: bool, **options: Any) -> None:  # fmt: skip
    """Audit an ENGINE end to end, as published: transformers, openvino-genai, onnxruntime-genai, or
    package.module:function, path/to/file.py:function that samples from one; or a server of the OpenAI completions API: http://HOST:PORT.

    A target and a draft are forged, and the law of the first tokens is compared with the target's under the settings,
    and with that of the engine's own decoding without the draft: exactly where its random numbers can be followed, else
    by samples, whose pass comes with a detection limit and is inconclusive. A server is sampled, and has to serve the
    forged --target already, or real weights that --reference has too: every token is then bet on under their rows,
    after the drift of the server's arithmetic was measured. Its API key, if it wants one, is read from the environment
    variable OPENAI_API_KEY."""
    named = dict(map(_setting, settings))
    output = Output(json_file, html_file, checkpoint=options["checkpoint"])
    require_writable(options["checkpoint"])
    asked = {name: value for name in OF_SERVERS if (value := options.pop(name)) not in (None, ())}
    if engine.startswith(("http://", "https://")):
        if options["checkpoint"] is not None:
            asked["checkpoint"] = options["checkpoint"]
        for name in ("levels", "tokens", "checkpoint"):
            del options[name]
        if problems or options.pop("plain"):
            raise click.UsageError(
                "--problem and --plain are for engines that are started here; a server serves --target"
            )
        report = _server(engine, named, asked, options)
    else:
        if asked:
            raise click.UsageError(f"--{next(iter(asked)).replace('_', '-')} is for servers, whose ENGINE is a URL")
        from ..audits.engines.audit import audit_engine, engine_from

        loaded = [load_problem(problem) for problem in problems]
        spec = engine_from(engine)
        with progress_bar() as progress:
            report = audit_engine(spec, loaded, settings=named, progress=progress, **options)
    output.finish(report, require_decision)


def _server(url: str, fields: dict[str, Any], asked: dict[str, Any], options: dict[str, Any]) -> "Report":
    target, reference = asked.pop("target", None), asked.pop("reference", None)
    if (target is None) == (reference is None):
        raise click.UsageError("a URL needs --target DIR, what the server serves as draftproof forge wrote it, or "
                               "--reference DIR, real weights")  # fmt: skip
    from ...models.libraries import require

    require("httpx2", extra="servers")
    if "draft" in asked and not reference:
        raise click.UsageError("--draft needs --reference")
    if reference:
        return _by_reference(url, reference, fields, asked, options)
    from ..audits.servers.audit import audit_server
    from ..audits.servers.grid import audit_grid
    from ..audits.servers.settings import ServerSettings

    of_grid = {name: asked.pop(name) for name in OF_GRIDS if name in asked}
    if options["samples"] or options["grid"]:
        asked["samples"] = options["samples"] or GRID_TEXTS
    if of_grid and not options["grid"]:
        also = " or --reference" if "without" in of_grid else ""
        raise click.UsageError(f"--{next(iter(of_grid))} needs --grid{also}")
    if options["rows"] and not options["grid"]:
        raise click.UsageError("--row needs --grid")
    if options["grid"] and (strange := [name for name in OF_KINDS if name in asked]):
        raise click.UsageError(f"--grid has {strange[0].replace('_', '-')} of its own")
    key = os.environ.get("OPENAI_API_KEY")
    settings = ServerSettings(fields=fields, timeout=options["timeout"], key=key, **asked)
    with progress_bar() as progress:
        if options["grid"]:
            return audit_grid(url, target, settings, of_grid.get("without"), options["seed"], of_grid.get("words"),
                              options["rows"], progress)  # fmt: skip
        return audit_server(url, target, settings, options["seed"], progress)


def _by_reference(
    url: str, reference: str, fields: dict[str, Any], asked: dict[str, Any], options: dict[str, Any]
) -> "Report":
    from ...models.libraries import require

    without, draft = asked.pop("without", None), asked.pop("draft", None)
    if strange := {"gamma", "kinds", "checkpoint", "patience", "words"} & set(asked):
        raise click.UsageError(f"--{min(strange)} is for servers of a forged --target")
    if options["grid"] or options["rows"]:
        raise click.UsageError("--grid is for servers of a forged --target")
    require("torch", "transformers")
    from ..audits.servers.reference import TEXTS, audit_reference
    from ..audits.servers.settings import ServerSettings

    samples, key = options["samples"] or TEXTS, os.environ.get("OPENAI_API_KEY")
    settings = ServerSettings(fields=fields, timeout=options["timeout"], key=key, samples=samples, **asked)
    with progress_bar() as progress:
        return audit_reference(url, reference, settings, without, options["seed"], progress, draft)


def _setting(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    try:
        if not equals:
            raise ValueError
        return name, json.loads(value)
    except ValueError:
        raise InputError(f"--set {text}: expected NAME=VALUE with a value in JSON") from None
