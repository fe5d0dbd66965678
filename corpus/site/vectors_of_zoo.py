"""What the vectors alone catch of the zoo: its entries answer them as programs in other languages would."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any
from unittest.mock import patch

import numpy as np

from draftproof.models.law import prefix_key
from draftproof.models.problem import Problem
from draftproof.proofs.laws.small_measurement import measured
from draftproof.proofs.sandbox import Sandbox
from draftproof.reports.audits.vectors.answers import GREEDY
from draftproof.reports.audits.vectors.judgement import Judgement, judge
from draftproof.reports.audits.vectors.law_vectors import LOSSLESS, PROBLEMS, TREES
from draftproof.reports.audits.vectors.results import FORMAT, Results
from draftproof.reports.audits.vectors.suite import suite
from draftproof.verifiers.adapters.protocol import Row
from draftproof.verifiers.zoo.catalogue import BATCH_MUTANTS, CONTROLS, MUTANTS, TREE_CONTROLS, TREE_MUTANTS, ZooEntry

OWN_WAY = ("C01", "C02", "C03", "C05", "C10", "C11")
"""Right verifiers that use their random numbers in another way than the vectors': only their law can be judged."""

RACES = ("M14", "C06", "C07")
"""Entries that draw the replacement by a race, and so answer ``raced``."""

GLOBAL = ("C12", "C13")
"""Entries that draw from the global generators."""

FOR_TREES = {**TREE_MUTANTS, **TREE_CONTROLS}
"""Entries that verify draft trees: their laws alone are judged."""

ALL_MUTANTS = {**MUTANTS, **TREE_MUTANTS, **BATCH_MUTANTS}


class ScriptedGenerator:
    """Stands in for numpy's Generator: the numbers of a vector, in the order in which the rule asks for them.

    An entry that asks for more uniforms than there are draft tokens gets them from the front again.
    races: whether whole weights are drawn by the vector's noise, and not by its last uniform.
    """

    def __init__(self, vector: Mapping[str, Any], races: bool) -> None:
        numbers = {name: vector["random"][name]["numbers"] for name in ("accept", "last", "noise")}
        self.accept = numbers["accept"][: vector["drafted"]] or [0.0]
        self.last, self.noise = numbers["last"], np.array(numbers["noise"])
        self.forwards, self.asked, self.races = vector["rule"] == "token", 0, races

    def random(self, size: int | None = None) -> Any:
        if size is not None:
            return np.array([self.accept[k % len(self.accept)] for k in range(size)])
        k = self.asked % len(self.accept)
        self.asked += 1
        return self.accept[k if self.forwards else -1 - k]

    def choice(self, count: int, p: Sequence[float]) -> int:
        if self.races:
            return int(np.argmax(np.asarray(p) / self.noise))
        edges = np.cumsum(p)
        return int(min(np.searchsorted(edges, self.last * edges[-1], side="right"), np.flatnonzero(p)[-1]))

    def exponential(self, size: int) -> np.ndarray:
        return self.noise

    def gumbel(self, size: int) -> np.ndarray:
        return -np.log(self.noise)


def answered_in_float64(program: str, rules: tuple[str, ...], gives: tuple[Any, ...], answers: Any) -> Results:
    """Return the results of a program that answered these vectors here."""
    return Results(FORMAT, suite()["digest"], program, "float64", rules, gives, answers)


def rules_of(entry: ZooEntry) -> tuple[str, ...]:
    """Return what an entry claims to be: its rule, if it uses random numbers as the vectors do, and losslessness."""
    if entry.name in OWN_WAY:
        return (LOSSLESS,)
    if entry.name == "M40":
        return ("greedy-block", LOSSLESS)
    return ("block" if entry.name == "C04" or entry.function.startswith("block_rule:") else "token", LOSSLESS)


def answered(entry: ZooEntry, laws: Mapping[str, Mapping[str, float]] | None = None) -> Results:
    """Return the results of an entry. laws: its exact law by the name of a problem; None to leave law vectors out."""
    if entry.name in BATCH_MUTANTS:
        return _in_batches(entry)
    laws_only, field = entry.name in FOR_TREES, "raced" if entry.name in RACES else "emitted"
    rules, known = rules_of(entry), laws or {}
    if laws_only:  # of trees that are drawn in the ways in which its laws are known
        rules = tuple({f"trees-{problem.tree.how}": None for problem in TREES if problem.name in known})
    answers = {v["id"]: _answer(entry, v, field) for v in suite()["vectors"] if v["rule"] in rules}
    for vector in suite()["laws"]:
        if vector["rule"] in rules and vector["problem"]["name"] in known:
            answers[vector["id"]] = {"law": known[vector["problem"]["name"]]}
    gives = (*(() if laws_only else ("accepted", field)), *(("law",) if laws is not None or laws_only else ()))
    return answered_in_float64(f"{entry.name} {entry.title}", rules, gives, answers)


def _in_batches(entry: ZooEntry) -> Results:
    """The results of a verifier of batches: requests of one batch in one call, each as long as its draft tokens."""
    function, batches = _function(entry), dict[str, list[Mapping[str, Any]]]()
    for vector in suite()["vectors"]:
        if vector["rule"] in ("token", GREEDY):
            batches.setdefault(vector.get("batch", vector["id"]), []).append(vector)
    answers = {}
    for batch in batches.values():
        vectors = sorted(batch, key=lambda v: v.get("place", 0))
        for vector, tokens in zip(vectors, function.together([*map(_batch_row, vectors)]), strict=True):
            answers[vector["id"]] = {"accepted": len(tokens) - 1, "raced": tokens}
    return answered_in_float64(f"{entry.name} {entry.title}", ("token", GREEDY), ("accepted", "raced"), answers)


def _function(entry: ZooEntry) -> Any:
    module, name = entry.target.split(":")
    return getattr(import_module(module), name)


def _rows(vector: Mapping[str, Any]) -> list[np.ndarray]:
    return [np.array(vector[rows]["numbers"], float) for rows in ("target", "draft")]


def _batch_row(vector: Mapping[str, Any]) -> Row:
    """Return a vector as a row of a batch; a placeholder where nothing was drafted."""
    long = max(vector["drafted"], 1) if vector["gamma"] else 0
    target, draft = _rows(vector)
    accept, noise = (np.array(vector["random"][numbers]["numbers"], float) for numbers in ("accept", "noise"))
    random_numbers = {"accept": accept[:long], "noise": noise}
    tokens = np.array(vector["tokens"][:long], int)
    return Row(target[: long + 1], draft[:long], tokens, random_numbers, vector["rule"] == GREEDY)


def _answer(entry: ZooEntry, vector: Mapping[str, Any], field: str) -> dict[str, Any]:
    drafted, generator = vector["drafted"], ScriptedGenerator(vector, field == "raced")
    target, draft = _rows(vector)
    arguments = target[: drafted + 1], draft[:drafted], vector["tokens"][:drafted]
    try:
        with np.errstate(all="ignore"):
            if entry.name in GLOBAL:
                emitted = _with_global_numbers(_function(entry), generator, *arguments)
            else:
                emitted = _function(entry)(*arguments, generator)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    return {"accepted": len(emitted) - 1, field: [int(x) for x in emitted]}


def _with_global_numbers(function: Callable, generator: ScriptedGenerator, *arguments: Any) -> Any:
    def choices(population: Sequence[int], weights: Sequence[float]) -> list[int]:
        return [population[generator.choice(len(weights), weights)]]

    with (
        patch.object(random, "random", generator.random), patch.object(random, "choices", choices),
        patch.object(np.random, "random_sample", generator.random),
        patch.object(np.random, "choice", generator.choice),
    ):  # fmt: skip
        return function(*arguments)


def laws(entries: Sequence[ZooEntry]) -> Iterator[tuple[ZooEntry, dict[str, dict[str, Any]]]]:
    """Yield the exact law of each entry on the problems of the law vectors, by interception, in one child process."""

    def probes(entry: ZooEntry) -> list[Problem]:
        return [*TREES] if entry.name in FOR_TREES else [PROBLEMS[0]]

    with Sandbox(entries[0].measured) as sandbox:
        sandbox.start(probes(entries[0]))
        for entry in entries:
            about, known = sandbox.load(entry.measured, probes(entry)), {}
            ways = about["convention"].get("trees", ())
            for problem in [p for p in TREES if p.tree.how in ways] if entry.name in FOR_TREES else PROBLEMS:
                measurement = measured(problem, "float64", sandbox.law(problem))
                if measurement.known:
                    outcomes = measurement.outcomes().items()
                    known[problem.name] = {o if isinstance(o, str) else prefix_key(o): str(p) for o, p in outcomes}
            yield entry, known


def judged(with_laws: bool = True) -> list[tuple[ZooEntry, Judgement]]:
    """Return the judgement of each entry of the zoo."""
    if not with_laws:
        entries = {**MUTANTS, **BATCH_MUTANTS, **CONTROLS}.values()
        return [(entry, judge(answered(entry))) for entry in entries if entry.name not in OWN_WAY]
    entries = {**MUTANTS, **TREE_MUTANTS, **CONTROLS, **TREE_CONTROLS}.values()
    batches = [(entry, judge(answered(entry))) for entry in BATCH_MUTANTS.values()]
    return [*((entry, judge(answered(entry, known))) for entry, known in laws([*entries])), *batches]
