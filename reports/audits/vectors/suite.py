"""All vectors as one JSON file (vectors.schema.json), and the folder exported for programs elsewhere."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from ....models.errors import InputError
from ....models.files import write_atomically
from ....models.json_files import plain, read_file
from ....models.law import prefix_key
from ....models.problem import as_json
from ....models.rationals import as_fraction
from .answers import GREEDY, answer, forms, tolerances
from .cases import Case, cases
from .law_vectors import LawCase, law_cases


class Flag(Struct, frozen=True):
    """A class of bug.

    bug: what a program that fails such a vector is likely to do.
    link: to a verifier that did so.
    needs: the answers of which one at least must be given for the bug to show.
    """

    bug: str
    link: str
    needs: list[str]


FLAGS = read_file(dict[str, Flag], Path(__file__).with_name("flags.json"))


CONVENTIONS = {
    "strict": "a sub-block passes if u < h: a uniform stands at its threshold, where u <= h gives another answer",
    "half-open": "uniforms are of [0, 1): one of them is 0",
    "bonus": "the whole block passes, and the verifier draws the token after it",
    "padding": "after a request's last draft token come -1 and rows of 0",
    "batch": "requests are verified in one call, by their place in the batch",
    "greedy": "a request at temperature 0: the target's argmax, which no row has twice",
}
"""Conventions that answers rest on in addition to the rule."""


def conventions_of(vector: Mapping[str, Any]) -> list[str]:
    """Return the conventions that the answer of a block's vector rests on."""
    n, random, expected = vector["drafted"], vector["random"], vector["expected"]
    accept, greedy = random["accept"]["exact"][:n], vector["rule"] == GREEDY
    rests = {
        "strict": not greedy and any(u == h for u, h in zip(accept, expected["thresholds"]["exact"])),
        "half-open": not greedy and "0" in (*accept, random["last"]["exact"]),
        "bonus": expected["accepted"] == n,
        "padding": n < vector["gamma"],
        "batch": "batch" in vector,
        "greedy": greedy,
    }  # fmt: skip
    return [name for name in CONVENTIONS if rests[name]]


FORMAT = "draftproof-vectors-1"
SHIPPED = ("vectors.schema.json", "results.schema.json", "example.py", "example.js")
"""Files exported with the vectors: the two formats, and a program for each of two languages."""


@cache
def suite() -> dict[str, Any]:
    """Return the content of vectors.json."""
    content = {"vectors": list(_numbered(cases())), "laws": [_law_vector(case) for case in law_cases()]}
    rests = {vector["id"]: conventions_of(vector) for vector in content["vectors"]}
    conventions = {
        name: {"says": says, "vectors": [vector for vector, names in rests.items() if name in names]}
        for name, says in CONVENTIONS.items()
    }
    about = {"format": FORMAT, "digest": digest_of(content), "flags": plain(FLAGS), "conventions": conventions}
    return about | content


def digest_of(content: Mapping[str, Any]) -> str:
    """Return the digest by which results name the vectors that they answer. content: "vectors" and "laws"."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def export(folder: str) -> list[Path]:
    """Write vectors.json, the schemas and the examples into a folder, which is made if it is not there.

    Raises: InputError if that cannot be done.
    """
    place = Path(folder)
    texts = {name: (Path(__file__).parent / name).read_text(encoding="utf-8") for name in SHIPPED}
    texts["vectors.json"] = json.dumps(suite(), indent=None, separators=(",", ":"), ensure_ascii=False) + "\n"
    try:
        place.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            write_atomically(place / name, text)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror}); expected a folder") from None
    return [place / name for name in texts]


def _numbered(made: Iterable[Case]) -> Iterator[dict[str, Any]]:
    numbers: Counter[str] = Counter()
    for case in made:
        numbers[case.rule] += 1
        yield _vector(f"{case.rule}-{numbers[case.rule]}", case)


def _vector(name: str, case: Case) -> dict[str, Any]:
    block, numbers = case.block, case.numbers
    given = answer(case.rule, block, numbers)
    gamma, vocabulary = case.batch[2] if case.batch else block.gamma, len(block.target[0])
    nothing = [Fraction(0)] * vocabulary
    vector = {
        "id": name, "rule": case.rule, "comment": case.comment, "flags": case.flags, "vocabulary": vocabulary,
        "gamma": gamma, "drafted": block.gamma,
        "target": forms(_filled(block.target, gamma + 1, nothing)),
        "draft": forms(_filled(block.draft, gamma, nothing)),
        "tokens": _filled(block.tokens, gamma, -1),
        "random": {
            "bits": case.bits, "accept": forms(_filled(numbers.accept, gamma, Fraction(0))),
            "last": forms(numbers.last), "noise": forms(numbers.noise),
        },
        "expected": {
            "thresholds": forms(given.thresholds), "accepted": given.accepted, "weights": forms(given.weights),
            "emitted": list(given.emitted), "raced": list(given.raced),
        },
        "tolerance": tolerances(case.rule, block, given.accepted),
    }  # fmt: skip
    return vector | ({"batch": case.batch[0], "place": case.batch[1]} if case.batch else {})


def _filled(values: Sequence[Any], length: int, filling: Any) -> list[Any]:
    return [*values, *[filling] * (length - len(values))]


def _law_vector(case: LawCase) -> dict[str, Any]:
    law = {tokens: as_fraction(p) for tokens, p in sorted(case.expected().items())}
    return {
        "id": f"law-{case.rule}-{case.problem.name}", "rule": case.rule, "flags": list(case.flags),
        "problem": as_json(case.problem),
        "expected": {"sequences": [prefix_key(x) for x in law], "law": forms(list(law.values()))},
        "tolerance": {"law": case.tolerances()},
    }  # fmt: skip
