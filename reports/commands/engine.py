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
              "request_timeout", "patience")  # fmt: skip


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
    forged --target already. Its API key, if it wants one, is read from the environment variable OPENAI_API_KEY."""
    named = dict(map(_setting, settings))
    output = Output(json_file, html_file, checkpoint=options["checkpoint"])
    require_writable(options["checkpoint"])
    asked = {name: value for name in OF_SERVERS if (value := options.pop(name)) is not None}
    if engine.startswith(("http://", "https://")):
        if options["checkpoint"] is not None:
            asked["checkpoint"] = options["checkpoint"]
        for name in ("levels", "tokens", "checkpoint", "grid"):
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
    target = asked.pop("target", None)
    if target is None:
        raise click.UsageError("a URL needs --target DIR: what the server serves, as draftproof forge wrote it")
    from ...models.libraries import require

    require("httpx2", extra="servers")
    from ..audits.servers.audit import audit_server
    from ..audits.servers.settings import ServerSettings

    if options["samples"]:
        asked["samples"] = options["samples"]
    key = os.environ.get("OPENAI_API_KEY")
    settings = ServerSettings(fields=fields, timeout=options["timeout"], key=key, **asked)
    with progress_bar() as progress:
        return audit_server(url, target, settings, options["seed"], progress)


def _setting(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    try:
        if not equals:
            raise ValueError
        return name, json.loads(value)
    except ValueError:
        raise InputError(f"--set {text}: expected NAME=VALUE with a value in JSON") from None
