"""Types of parameters, and the options that several commands share."""

import json
import math
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import Any, TypeVar

import click

from ...models.errors import InputError

ARRAYS = ("numpy", "rows", "list", "torch")
DTYPES = ("float64", "float32", "float16", "bfloat16")

Command = TypeVar("Command", bound=Callable[..., object])


def meant(name: str, known: Iterable[str]) -> str:
    """Suggest what an unknown name may have meant, or list the known ones."""
    close = get_close_matches(name, known := [*known], 1)
    return f"did you mean {close[0]}?" if close else f"expected one of {', '.join(known)}"


class Comma(click.ParamType):
    """A list of known words, joined by commas."""

    name = "LIST"

    def __init__(self, known: Iterable[str]) -> None:
        self.known = tuple(known)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        words = tuple(w.strip() for w in value.split(",") if w.strip()) if isinstance(value, str) else value
        if not words:
            self.fail(f"expected one or more of {', '.join(self.known)}", param, ctx)
        for word in words:
            if word not in self.known:
                self.fail(f"{word!r} is not one of {', '.join(self.known)}", param, ctx)
        return words


class Finite(click.FloatRange):
    """A finite number in a range: FloatRange itself accepts nan in any range, and infinity in one without an end."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number", param, ctx)
        return number


class Jobs(click.IntRange):
    """A number of jobs; None, or auto, for as many as there are cores."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return None if value == "auto" else super().convert(value, param, ctx)


def jobs_option(what: str) -> Callable[[Command], Command]:
    """Return the option --jobs: None, its default, stands for as many as there are cores."""
    return click.option("--jobs", type=Jobs(1), metavar="N", show_default="auto: the cores", help=what)


cluster_option = click.option("--cluster", metavar="URL", help="dask://HOST:PORT instead of this machine.")

sarif_option = click.option("--sarif", "sarif_file", metavar="FILE",
                            help="Write refutations that are certain as SARIF 2.1.0.")  # fmt: skip


def json_option(what: str) -> Callable[[Command], Command]:
    return click.option("--json", "json_file", metavar="FILE", help=f"Write {what} as JSON ('-': standard output).")


def file_options(what: str) -> Callable[[Command], Command]:
    """Return the options --json and --html."""
    html = click.option("--html", "html_file", metavar="FILE", help=f"Write {what} as one self-contained page.")
    return lambda command: json_option(what)(html(command))


def report_options(command: Command) -> Command:
    """Add --json, --html, --junit, --require-decision, --verbose and --scope to a command that ends in a report.

    The values of --junit, --verbose and --scope are kept in the context, by name. ``Output`` takes them from there.
    """
    decided = click.option("--require-decision", is_flag=True, help="Exit with 4 if anything is left undecided.")
    kept = [
        click.option("--junit", metavar="FILE", help="Write all claims as JUnit's XML.", **KEPT),
        verbose_option,
        click.option(
            "--scope", is_flag=True, help="Show what the verdict speaks of, and what was not examined.", **KEPT
        ),
    ]
    for option in reversed(kept):
        command = option(command)
    return file_options("the report")(decided(command))


def _keep(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    context.meta[f"draftproof.{parameter.name}"] = value


KEPT: dict[str, Any] = {"expose_value": False, "callback": _keep}
"""Arguments of an option whose value goes to ``Output`` by the context."""


def verbose_option(command: Command) -> Command:
    """Add --verbose, whose value is kept in the context."""
    return click.option("--verbose", is_flag=True, help="Show every claim, finding and command.", **KEPT)(command)


def kept_option(name: str) -> Any:
    """Return the value of an option that is kept in the context; None outside a command, or if it has none such."""
    context = click.get_current_context(silent=True)
    return context.meta.get(f"draftproof.{name}") if context else None


def row_options(dtypes: Sequence[str] = DTYPES, several: bool = False) -> Callable[[Command], Command]:
    """Return --array and --dtype, for the rows that a third-party function is called with."""
    array = click.option("--array", type=click.Choice(ARRAYS), help="Type of the arrays that the function is given.")
    meaning = "Precision of the rows."
    one = click.option("--dtype", type=click.Choice(dtypes), default="float64", show_default=True, help=meaning)
    many = click.option("--dtype", "dtypes", type=Comma(dtypes), help=meaning)
    return lambda command: array((many if several else one)(command))


def problem_option(required: bool = False) -> Callable[[Command], Command]:
    return click.option("--problem", required=required, metavar="FILE", help="The problem (a file, or JSON itself).")


problems_option = click.option("--problem", "problems", multiple=True, metavar="FILE",
                               help="Use this problem (a file, or JSON itself), not the usual ones.")  # fmt: skip

exec_option = click.option(
    "--exec",
    "program",
    metavar="COMMAND",
    help="A program that takes its random numbers as inputs, and speaks JSON lines on its standard input and output.",
)

seed_option = click.option("--seed", type=click.IntRange(0), default=0, show_default=True,
                           help="Seed for every random choice.")  # fmt: skip


def set_option(what: str) -> Callable[[Command], Command]:
    """Return --set NAME=VALUE, which may be repeated; it arrives as a dict named settings."""
    return click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help=what,
                        callback=lambda context, parameter, texts: dict(map(_setting, texts)))  # fmt: skip


def _setting(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    try:
        if not equals:
            raise ValueError
        return name, json.loads(value)
    except ValueError:
        raise InputError(f"--set {text}: expected NAME=VALUE with a value in JSON", "DP402") from None


device_option = click.option("--device", default="cpu", show_default=True, metavar="D", help="cpu, cuda or cuda:N.")


def timeout_option(
    default: float | None, least: float, what: str, most: float | None = None
) -> Callable[[Command], Command]:
    """Return --timeout. default: None if the help text ``what`` says what it depends on."""
    kind, shown = Finite(min=least, max=most), default is not None
    return click.option("--timeout", type=kind, default=default, show_default=shown, metavar="S", help=what)


def memory_option(most: float | None = None, default: float = 8.0) -> Callable[[Command], Command]:
    return click.option("--memory", type=Finite(min=0.5, max=most), default=default, show_default=True, metavar="GIB",
                        help="Address space of the child process.")  # fmt: skip
