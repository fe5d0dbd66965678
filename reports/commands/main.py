"""The command line: the group of all commands, each of which is imported when it is used."""

from __future__ import annotations

import io
import os
import signal
import sys
from importlib import import_module
from importlib.metadata import entry_points

import click

from ... import __version__
from ...models.errors import InputError
from ...models.libraries import must_be_supported
from .exit_status import INTERRUPTED, WRONG_USE, stop
from .parameters import meant

COMMANDS = {
    "audit": "Audit a verifier: a function, an adapter, or one of draftproof's own.",
    "law": "The exact distribution of a reference verifier on one problem.",
    "list": "What there is: verifiers, claims, checks, mutants, adapters, presets.",
    "prove": "Run the proofs of the papers' statements.",
    "certificate": "Make, or check, a certificate of optimality on one problem.",
    "campaign": "Sample a verifier millions of times, in parallel, resumable.",
    "nightly": "A nightly regression test with a lifetime error rate.",
    "engine": "Audit an inference engine end to end, on forged checkpoints.",
    "server": "Audit a server behind a URL, by samples of what it emits.",
    "steps": "Judge the verification steps that an engine recorded as it ran.",
    "engines": "What adapters and engines there are, and a page of their audits.",
    "history": "The verdict of every release of an engine's verifier.",
    "bisect": "The release, or the commit, that changed the verdict of an engine's verifier.",
    "e2e": "Audit a decoding loop on a pair of models, end to end.",
    "compliance": "The document for an auditor: requirements, evidence, attestation, from a plan.",
    "report": "Show a report, compare two.",
    "vectors": "Test vectors for verifiers in any language, and the judge of their answers.",
    "forge": "Write Llama checkpoints with a problem's distribution.",
    "train-pair": "Train a target and two drafters offline.",
    "tables": "Measure the paper's tables and figures on a pair of models.",
    "explain": "What a code such as DP203 at the end of a message means, and what to do.",
    "doctor": "What is installed, and what each command would need.",
    "completion": "The script with which a shell completes draftproof's commands and options.",
}
"""The modules of the commands, each with a ``command``, and the line that --help has of it."""


ELSEWHERE = {
    "history": "draftproof-engines",
    "bisect": "draftproof-engines",
    "tables": "draftproof-paper",
    "train-pair": "draftproof-paper",
}
"""Commands that another distribution of this project brings, as entry points of the group below."""

ENTRY_POINTS = "draftproof.commands"
"""The group of entry points whose values are commands of click, by name."""


class LazyGroup(click.Group):
    """A group that imports a command when it is used: none is imported to list them all."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        if cmd_name in ELSEWHERE:
            found = entry_points(group=ENTRY_POINTS, name=cmd_name)
            if not found:
                package = ELSEWHERE[cmd_name]
                folder = package.replace("draftproof-", "corpus/")
                raise InputError(
                    f"{cmd_name}: needs {package}; in a clone of draftproof: pip install ./{folder}", "DP301"
                )
            return next(iter(found)).load()
        return import_module(f".{cmd_name.replace('-', '_')}", __package__).command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, *others = args
        if not name.startswith("-") and name not in COMMANDS:
            ctx.fail(f"no command {name!r}; {meant(name, COMMANDS)}")
        if name == "engine" and any(word.startswith(("http://", "https://")) for word in others):
            name = "server"  # the older name of draftproof server URL
        return super().resolve_command(ctx, [name, *others])

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="draftproof")
def cli() -> None:
    """Is a speculative decoder lossless, and does it accept as many draft tokens as theory allows?"""


class _UntilNobodyReads(io.FileIO):
    """A standard output whose reader may go: ``draftproof audit ... | head -1`` ends with the status of its verdict.

    click and rich end with 1 where a pipe is closed, which is the status of a refutation.
    """

    def write(self, data, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
            return len(data)


def _keep_status_without_reader() -> None:
    before = sys.stdout
    if isinstance(before, io.TextIOWrapper) and before is sys.__stdout__:
        before.flush()
        output = io.BufferedWriter(_UntilNobodyReads(before.fileno(), "w", closefd=False))
        sys.stdout = io.TextIOWrapper(output, before.encoding, before.errors, line_buffering=before.line_buffering)


def main() -> None:
    """Run the command line. Bad input is one line on standard error and exit status 2.

    SIGTERM interrupts as Ctrl-C does: if a job is cancelled or its time is up, what was measured is kept, and no child
    process goes on alone.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    _keep_status_without_reader()
    try:
        must_be_supported()
        cli(standalone_mode=False)
    except (InputError, click.ClickException) as error:
        usage = isinstance(error, click.ClickException)
        code = "DP100" if usage else error.code
        stop((error.format_message() if usage else str(error)) + (f" ({code})" if code else ""), WRONG_USE)
    except (click.Abort, KeyboardInterrupt):
        stop("interrupted", INTERRUPTED)


if __name__ == "__main__":
    main()
