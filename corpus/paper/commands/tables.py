"""The command ``draftproof tables``: the paper's tables and figures on a pair of models."""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any

import click

from draftproof.models.errors import InputError, OutOfMemoryError
from draftproof.models.generating.settings import MAX_GAMMA, MIN_TEMPERATURE
from draftproof.models.json_files import json_text
from draftproof.models.libraries import DTYPES, require
from draftproof.models.pairs.presets import PRESETS, TRAINED
from draftproof.reports.commands.exit_status import INTERRUPTED, NOT_AUDITED, OK, stop
from draftproof.reports.commands.output import progress_bar, say_what_was_made, write_text
from draftproof.reports.commands.parameters import Comma, device_option
from draftproof_paper.tables.plan import PATH_VERIFIERS, VERIFIERS, TablesPlan

QUICK = {"gammas": (4, 8), "temperatures": (0.0, 1.0), "seeds": 2, "prompts": 6, "new_tokens": 32}


class NumberList(click.ParamType):
    """A list of numbers in a range, joined by commas; sorted, each once.

    least_above_zero: smallest number above 0; 0 itself is in the range.
    """

    name = "LIST"

    def __init__(self, kind: type[int] | type[float], least: float, most: float, least_above_zero: float = 0) -> None:
        self.kind, self.least, self.most, self.least_above_zero = kind, least, most, least_above_zero

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, ...]:
        if not isinstance(value, str):
            return value
        try:
            numbers = sorted({self.kind(word) for word in value.split(",") if word.strip()})
        except ValueError:
            numbers = []
        if not numbers or not all(self.least <= number <= self.most for number in numbers):
            kind = "whole numbers" if self.kind is int else "numbers"
            self.fail(f"expected {kind} from {self.least} to {self.most} joined by commas, got {value!r}", param, ctx)
        if any(0 < number < self.least_above_zero for number in numbers):
            self.fail(f"{value}: expected 0 or at least {self.least_above_zero:g}", param, ctx)
        return tuple(numbers)


@click.command(name="tables")
@click.option("--out", "folder", required=True, metavar="DIR",
              help="Where to write tables.html, .md and .json; the same command resumes from there.")  # fmt: skip
@click.option("--preset", type=click.Choice(tuple(PRESETS)), help="A named pair; trained by default.")
@click.option("--target", metavar="NAME", help="A folder or a name of the Hub instead, with --draft.")
@click.option(
    "--draft", "drafts", multiple=True, metavar="NAME", help="Its drafters, the best first; also of a preset."
)
@device_option
@click.option("--dtype", type=click.Choice(DTYPES), default="float32", show_default=True, help="Of the models.")
@click.option("--gamma", "gammas", type=NumberList(int, 1, MAX_GAMMA), help="Draft tokens a block.  [default: 4,6,8]")
@click.option("--temperature", "temperatures", type=NumberList(float, 0, 100, MIN_TEMPERATURE),
              help="[default: 0,0.2,0.6,1]")  # fmt: skip
@click.option("--seeds", type=click.IntRange(1, 1000), help="How many.  [default: 3]")
@click.option("--data", metavar="LIST", help="Data sets, JSON Lines files or folders with a prompts.jsonl; by default"
              " what belongs to the pair.")  # fmt: skip
@click.option("--prompts", type=click.IntRange(min=1), help="How many, of all data together.  [default: 36]")
@click.option("--new-tokens", type=click.IntRange(min=1), help="A text grows by this many at most.  [default: 64]")
@click.option("--verifiers", type=Comma((*VERIFIERS, *PATH_VERIFIERS)), default=",".join(VERIFIERS), show_default=True,
              help=f"Also {' and '.join(PATH_VERIFIERS)}, which are given several draft paths.")  # fmt: skip
@click.option("--paths", type=click.IntRange(2, 16), default=2, show_default=True,
              help=f"Draft paths of a text, of {' and '.join(PATH_VERIFIERS)}.")  # fmt: skip
@click.option("--batch", type=click.IntRange(min=1), default=1, show_default=True, help="Prompts decoded at once.")
@click.option(
    "--block-texts",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    help="Of each prompt, where both verifiers see the same blocks.",
)
@click.option("--threads", type=click.IntRange(min=1), help="Of torch on the CPU; one for small models by default.")
@click.option("--quick", is_flag=True, help="Few prompts and settings: what is not given is gamma 4,8, T 0,1, 2 seeds, "
              "6 prompts, 32 new tokens.")  # fmt: skip
def command(folder: str, preset: str | None, target: str | None, drafts: tuple[str, ...], data: str | None,
            threads: int | None, quick: bool, **options: Any) -> None:  # fmt: skip
    """Measure plain decoding, token, block and greedy block verification on a pair of models, and write the tables and
    figures of Sun et al. 2025 with these numbers beside the paper's, and the orderings that the paper states with the
    evidence for each. Table 5: --verifiers token,block,k-seq,spec-infer --gamma 8 --temperature 1 --batch 8.

    On the trained pair the default takes about half an hour on 2 cores, on smollm2 many hours. Every cell is saved when
    it is measured."""
    from draftproof_paper.tables.subjects import default_data, preset_models

    require("torch", "transformers")
    if (preset and target) or (target is None and drafts and not preset) or (target and not drafts):
        raise click.UsageError("expected either --preset, or --target and one --draft or more")
    sources = tuple(name.strip() for name in (data or "").split(",") if name.strip())
    if data is not None and not sources:
        raise click.UsageError(f"--data {data!r}: expected a list of names, joined by commas")
    settings = (QUICK if quick else {}) | {name: value for name, value in options.items() if value is not None}
    template = "{prompt}"
    if target is None:
        preset = preset or TRAINED
        say_what_was_made(preset)
        target, of_preset, template = preset_models(preset)
        drafts = drafts or of_preset
    sources = sources or default_data(preset, target)
    if len(set(drafts)) < len(drafts):
        raise click.UsageError("the same --draft twice")
    plan = TablesPlan(target, tuple(drafts), template, data=sources, threads=threads, **settings)
    _measure_and_write(folder, plan)


def _measure_and_write(folder: str, plan: TablesPlan) -> None:
    from draftproof.models.libraries import torch_threads
    from draftproof_paper.tables.measure import Bench, Record
    from draftproof_paper.tables.subjects import load_pairs, one_thread_is_faster, prompt_groups, run_settings

    if Path(folder).exists() and not Path(folder).is_dir():
        raise InputError(f"{folder}: is a file; expected a folder, or a new name")
    status, why = OK, ""
    with progress_bar() as progress:
        progress("loading the models", 0, None)
        pairs = load_pairs(plan)
        groups = prompt_groups(plan, pairs[0])
        if plan.threads is None and plan.device == "cpu" and one_thread_is_faster(pairs[0]):
            plan = replace(plan, threads=1)
        settings = run_settings(plan, pairs, groups)
        record = Record(folder, settings)
        planned = list(plan.cells(len(groups)))
        left = [cell for cell in planned if cell not in record.cells]
        resumed = len(planned) - len(left)
        with closing(record), torch_threads(plan.threads):
            try:
                bench = Bench(plan, pairs, groups)
                if left:
                    progress("warming up", resumed, len(planned))
                    bench.warm_up()
                began = monotonic()
                for done, cell in enumerate(left):
                    rest = _duration((monotonic() - began) / done * (len(left) - done)) if done else "some time"
                    progress(f"T = {cell.temperature:g}, seed {cell.seed}; {rest} left", resumed + done, len(planned))
                    record.add(cell, bench.cell(cell))
            except OutOfMemoryError as error:
                status, why = NOT_AUDITED, str(error)
            except KeyboardInterrupt:
                status, why = INTERRUPTED, "interrupted"
    if record.cells:
        _write(record, plan, settings, len(planned))
    if why:
        stop(f"{why}; {len(record.cells)} of {len(planned)} cells are in {record.file}, and the same command resumes "
             "from there", status)  # fmt: skip


def _write(record: Any, plan: TablesPlan, settings: Mapping[str, Any], planned: int) -> None:
    from draftproof_paper.pages import formatting
    from draftproof_paper.pages.page import markdown, page
    from draftproof_paper.tables.report import tables_report

    report = tables_report(plan, settings, record.cells, planned)
    for kind, text in (("json", json_text(report)), ("md", markdown(report)), ("html", page(report))):
        write_text(record.folder / f"tables.{kind}", text)
    for row in report["equalities"]:
        compared = f"{row['compared']:,} {row['unit']}, {row['differing']} differ"
        click.echo(f"{row['verdict']:<11} {row['statement']} ({compared})")
    for statement, measure, verdicts in formatting.verdict_counts(report["orderings"]):
        click.echo(f"{statement + ', by ' + measure:<58} {verdicts}")
    written = f"{record.folder}: tables.html, tables.md, tables.json"
    click.echo(f"{'written':<11} {written} ({len(record.cells)} of {planned} cells)")


def _duration(seconds: float) -> str:
    return f"about {seconds / 60:.0f} min" if seconds >= 90 else f"about {seconds:.0f} s"
