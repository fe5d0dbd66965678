"""The command ``draftproof tables``: the paper's tables and figures on a pair of models."""

import sys
from dataclasses import replace
from pathlib import Path
from time import monotonic

import click

from ...models.errors import InputError, OutOfMemoryError
from ...models.files import write_atomically
from ...models.generating.settings import COLDEST, LONGEST
from ...models.libraries import DTYPES
from ...models.pairs.presets import PRESETS, TRAINED
from ..audits.tables.plan import VERIFIERS, TablesPlan
from .console import INTERRUPTED, NOT_AUDITED, Comma, progress

QUICK = {"gammas": (4, 8), "temperatures": (0.0, 1.0), "seeds": 2, "prompts": 6, "new_tokens": 32}


class Numbers(click.ParamType):
    """Numbers joined by commas, each in a range, no two alike; given back in rising order.

    least_above_zero: 0 itself is in the range, and nothing between the two.
    """

    name = "LIST"

    def __init__(self, kind, least, most, least_above_zero=0):
        self.kind, self.least, self.most, self.least_above_zero = kind, least, most, least_above_zero

    def convert(self, value, param, ctx):
        if not isinstance(value, str):
            return value
        try:
            numbers = sorted({self.kind(word) for word in value.split(",") if word.strip()})
        except ValueError:
            numbers = []
        if not numbers or not all(self.least <= number <= self.most for number in numbers):
            kind = "whole numbers" if self.kind is int else "numbers"
            self.fail(f"expected {kind} from {self.least} to {self.most} joined by commas, got {value!r}", param, ctx)
        for number in numbers:
            if 0 < number < self.least_above_zero:
                self.fail(f"{number}: expected 0 or at least {self.least_above_zero:g}", param, ctx)
        return tuple(numbers)


@click.command()
@click.option("--out", "folder", required=True, metavar="DIR",
              help="Where to write tables.html, tables.md and tables.json; the same command goes on from what is there.")  # fmt: skip
@click.option("--preset", type=click.Choice(tuple(PRESETS)), help="A named pair; trained by default.")
@click.option("--target", metavar="NAME", help="A folder or a name of the Hub instead, with --draft.")
@click.option("--draft", "drafts", multiple=True, metavar="NAME", help="Its drafters, the best first.")
@click.option("--device", default="cpu", show_default=True, help="cpu, cuda or cuda:N.")
@click.option(
    "--dtype", type=click.Choice(DTYPES), default="float32", show_default=True, help="Precision of the models."
)
@click.option("--gamma", "gammas", type=Numbers(int, 1, LONGEST), help="Draft tokens a block.  [default: 4,6,8]")
@click.option("--temperature", "temperatures", type=Numbers(float, 0, 100, COLDEST), help="[default: 0,0.2,0.6,1]")
@click.option("--seeds", type=click.IntRange(1, 1000), help="How many.  [default: 3]")
@click.option("--data", metavar="LIST", help="Data sets, JSON Lines files or folders with a prompts.jsonl; by default what"
              " belongs to the pair.")  # fmt: skip
@click.option("--prompts", type=click.IntRange(min=1), help="How many, of all data together.  [default: 36]")
@click.option("--new-tokens", type=click.IntRange(min=1), help="A text grows by this many at most.  [default: 64]")
@click.option("--verifiers", type=Comma(VERIFIERS), default=",".join(VERIFIERS), show_default=True)
@click.option("--batch", type=click.IntRange(min=1), default=1, show_default=True, help="Prompts decoded at once.")
@click.option("--threads", type=click.IntRange(min=1), help="Of torch on the CPU; one for small models by default.")
@click.option("--quick", is_flag=True, help="Few prompts and settings: what is not given is gamma 4,8, T 0,1, 2 seeds, "
              "6 prompts, 32 new tokens.")  # fmt: skip
def tables(folder, preset, target, drafts, data, threads, quick, **options):
    """Measure plain decoding, token, block and greedy block verification on a pair of models, and write the tables and
    figures of Sun et al. 2025 with these numbers beside the paper's, and the orderings that the paper states with the
    evidence for each.

    On the trained pair the default takes about half an hour on 2 cores. Every cell is kept as soon as it is measured."""
    from ...models.libraries import require
    from ..audits.tables.subjects import data_for, preset_models

    require("torch", "transformers")
    if (target is None) != (not drafts) or (preset and target):
        raise click.UsageError("expected either --preset, or --target and one --draft or more")
    given = {name: value for name, value in options.items() if value is not None}
    defaults = QUICK if quick else {}
    template = "{prompt}"
    if target is None:
        preset = preset or TRAINED
        target, drafts, template = preset_models(preset)
    sources = data_for(preset, target) if data is None else _names(data)
    if len(set(drafts)) < len(drafts):
        raise click.UsageError("the same --draft twice")
    plan = TablesPlan(target, tuple(drafts), template, data=sources, threads=threads, **{**defaults, **given})
    sys.exit(_measure_and_write(folder, plan))


def _names(data: str) -> tuple[str, ...]:
    found = tuple(word.strip() for word in data.split(",") if word.strip())
    if not found:
        raise click.UsageError(f"--data {data!r}: expected a list of names, joined by commas")
    return found


def _measure_and_write(folder: str, plan: TablesPlan) -> int:
    from ...models.threads import torch_threads
    from ..audits.tables.measure import Bench
    from ..audits.tables.record import Record, exclusive_run
    from ..audits.tables.subjects import load_pairs, one_thread_is_faster, prompt_groups, run_settings

    if Path(folder).exists() and not Path(folder).is_dir():
        raise InputError(f"{folder}: is a file; expected a folder, or a new name")
    with progress() as bar:
        bar("loading the models", 0, None)
        pairs = load_pairs(plan)
        groups = prompt_groups(plan, pairs[0])
        if plan.threads is None and plan.device == "cpu" and one_thread_is_faster(pairs[0]):
            plan = replace(plan, threads=1)
        settings = run_settings(plan, pairs, groups)
        record = Record(folder, settings)
        planned = list(plan.cells(len(groups)))
        left = [cell for cell in planned if cell not in record.cells]
        status, why = 0, ""
        with exclusive_run(record.folder), torch_threads(plan.threads):
            try:
                if left:
                    bar("warming up", len(planned) - len(left), len(planned))
                    bench = Bench(plan, pairs, groups)
                    bench.warm_up()
                began = monotonic()
                for done, cell in enumerate(left):
                    rest = _told((monotonic() - began) / done * (len(left) - done)) if done else "some time"
                    bar(
                        f"T = {cell.temperature:g}, seed {cell.seed}; {rest} left",
                        len(planned) - len(left) + done,
                        len(planned),
                    )
                    record.add(cell, bench.cell(cell))
            except OutOfMemoryError as error:
                status, why = NOT_AUDITED, str(error)
            except KeyboardInterrupt:
                status, why = INTERRUPTED, "interrupted"
    if record.cells:
        _write(record, plan, settings, len(planned))
    if why:
        click.echo(f"draftproof: {why}; {len(record.cells)} of {len(planned)} cells are in {record.file}, and the same "
                   "command goes on from there", err=True)  # fmt: skip
    return status


def _write(record, plan, settings, planned) -> None:
    import json

    from ..audits.tables.report import tables_report
    from ..pages.tables import formatting
    from ..pages.tables.page import markdown, page

    report = tables_report(plan, settings, record.cells, planned)
    try:
        for name, text in (
            ("tables.json", json.dumps(report, indent=1) + "\n"),
            ("tables.md", markdown(report)),
            ("tables.html", page(report)),
        ):
            write_atomically(record.folder / name, text)
    except OSError as error:
        raise InputError(f"{record.folder}: cannot be written ({error.strerror})") from None
    for row in report["equalities"]:
        click.echo(
            f"{row['verdict']:<11} {row['statement']} ({row['compared']:,} {row['unit']}, {row['differing']} differ)"
        )
    for statement, measure, found in formatting.by_statement(report["orderings"]):
        click.echo(f"{statement + ', by ' + measure:<58} {found}")
    click.echo(
        f"{'written':<11} {record.folder}: tables.html, tables.md, tables.json ({len(record.cells)} of {planned} cells)"
    )


def _told(seconds: float) -> str:
    return f"about {seconds / 60:.0f} min" if seconds >= 90 else f"about {seconds:.0f} s"
