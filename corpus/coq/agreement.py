"""The Coq definitions and the Python code compared: both evaluated on the same rational problems.

What is proved in ``mechanized/`` is proved of ``token_verify``, ``block_verify``, ``greedy_verify`` and their loops as
Algorithms.v writes them. Here Coq evaluates these on a problem, and every number is compared with the exact laws of the
code that runs.
"""

import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import NamedTuple

from draftproof.corpus.coq import (
    CLOCK_FACTOR,
    NOT_ENDING,
    TIME_LIMIT,
    first_error,
    make,
    missing,
    out_of_time,
    workplace,
)
from draftproof.models.law import Model, Prefix
from draftproof.models.problem import Problem
from draftproof.models.rationals import as_fraction
from draftproof.proofs.field import in_field
from draftproof.proofs.laws.reference_laws import expected_accepted, expected_tokens, iterated_law, output_law
from draftproof.verifiers.evidence import ERROR, HOLDS, NO_EVIDENCE, REFUTED
from draftproof.verifiers.registry import Reference, reference

DEFINITIONS = {"token_verify": "token", "block_verify": "block", "greedy_verify": "greedy-block"}
"""Names of the reference verifiers in Algorithms.v."""

HEAD = """From Coq Require Import ZArith QArith Qcanon.
From mathcomp Require Import all_ssreflect all_algebra.
From Draftproof Require Import Algorithms Law.
Set Printing Width 200. Set Printing Depth 100000000.
"""

Numbers = dict[Prefix | str, Fraction]


class Comparison(NamedTuple):
    """One algorithm on one problem: its Coq definition beside the Python code.

    what: "one iteration" (E[tau] and the probability of every sequence that may be emitted) or "N iterations".
    compared: how many numbers.
    detail: the first number that differs, or why there is none.
    """

    problem: str
    definition: str
    what: str
    compared: int
    verdict: str
    detail: str | None = None


def compare(
    problems: Sequence[Problem],
    iterations: int = 1,
    folder: Path | None = None,
    verifiers: Mapping[str, Reference] | None = None,
    limit: int = TIME_LIMIT,
) -> list[Comparison]:
    """Compare the Coq definitions, evaluated on the problems, with the laws of the Python code, exactly.

    One iteration: Pr((X^tau, Y) = o) for every sequence o of 1 to gamma + 1 tokens, and E[tau]. With ``iterations`` N
    above 1, of the loop's text (Algorithm 3; 6 for greedy block verification) instead: E[N(N)] and the expectation of
    the text read as a number in base V + 1.

    verifiers: for each definition of Algorithms.v the verifier that it should equal; the reference verifiers if None.
    folder: where to compile (sources it already has are used as they are); a temporary folder if none is given.
    limit: seconds of processor time for each file.
    Guarantee: holds is an equality of rationals, entry by entry. V = 3, gamma = 3 takes about 5 s for the three
    definitions, V = 4, gamma = 3 about 22 s, and V = 2, gamma = 2 with 2 iterations about 1 s.
    Raises: RuntimeError with ``missing()``'s sentence if Coq cannot be run; InputError if a table of rows stops short
    of the prefixes that the iterations reach.
    """
    if reason := missing():
        raise RuntimeError(reason)
    named = verifiers or {name: reference(verifier) for name, verifier in DEFINITIONS.items()}
    # Without their rules, whose one-pass law would not run the verifiers themselves.
    chosen = {name: verifier.as_run() for name, verifier in named.items()}
    pairs = [(problem, name) for problem in problems for name in chosen]
    expected = [_expected(in_field(problem), chosen[name], iterations) for problem, name in pairs]
    text = HEAD + "".join(_models(k, problem, iterations) for k, problem in enumerate(problems))
    text += "".join(_question(k, problem, name, iterations) for k, problem in enumerate(problems) for name in chosen)

    def rows(outcomes: Iterable[tuple[int, str, str | None]]) -> list[Comparison]:
        what = "one iteration" if iterations == 1 else f"{iterations} iterations"
        return [Comparison(problem.name, name, what, *each) for (problem, name), each in zip(pairs, outcomes)]

    with workplace(folder) as place:
        (place / "Tie.v").write_text(text)
        (place / "Tie.log").unlink(missing_ok=True)
        try:
            done = make(place, "Law.vo", limit=limit)
            if done.returncode == 0:
                done = make(place, "Tie.log", limit=limit)
        except subprocess.TimeoutExpired:
            return rows([(0, NO_EVIDENCE, NOT_ENDING.format(CLOCK_FACTOR * limit))] * len(pairs))
        if done.returncode != 0:
            late = out_of_time(done.stderr, limit)
            return rows([(0, NO_EVIDENCE, late) if late else (0, ERROR, first_error(done.stderr))] * len(pairs))
        answers = _numbers((place / "Tie.log").read_text(), iterations)
    return rows(_compared(*both) for both in zip(expected, answers, strict=True))


def _expected(problem: Problem, verifier: Reference, iterations: int) -> Numbers:
    """Return the same numbers from the Python code, zeros included."""
    if iterations > 1:
        law = iterated_law(problem, verifier, iterations)
        number = sum((_as_number(d.tokens, problem.vocabulary) * p for d, p in law.items()), start=0)
        return {"E[length]": as_fraction(expected_tokens(law)), "E[number]": as_fraction(number)}
    law = output_law(problem, verifier)
    numbers: Numbers = {"E[tau]": as_fraction(expected_accepted(law))}
    for length in range(1, problem.gamma + 2):
        for tokens in product(range(problem.vocabulary), repeat=length):
            numbers[tokens] = as_fraction(law.get(tokens, 0))
    return numbers


def _as_number(tokens: Prefix, vocabulary: int) -> int:
    value = 0
    for token in tokens:
        value = (vocabulary + 1) * value + token + 1
    return value


def _models(k: int, problem: Problem, iterations: int) -> str:
    """Return the problem's rows as two trees, as deep as the iterations can reach."""
    longest = (iterations - 1) * (problem.gamma + 1) + problem.gamma
    target = _tree(problem.target, problem.vocabulary, longest)
    draft = _tree(problem.draft, problem.vocabulary, longest - 1)
    return f"Definition b{k} := {target}.\nDefinition s{k} := {draft}.\n"


def _tree(model: Model, vocabulary: int, depth: int, prefix: Prefix = ()) -> str:
    row = "; ".join(f"q {int(p.numerator)} {int(p.denominator)}" for p in model.row(prefix))
    if depth == len(prefix):
        return f"Node [:: {row}] [::]"
    following = "; ".join(_tree(model, vocabulary, depth, (*prefix, token)) for token in range(vocabulary))
    return f"Node [:: {row}] [:: {following}]"


def _question(k: int, problem: Problem, name: str, iterations: int) -> str:
    last = problem.vocabulary - 1
    target, draft = f"(@rows {last} b{k})", f"(@rows {last} s{k})"
    if iterations == 1:
        return f"Eval vm_compute in @law_of {last} {problem.gamma} s{k} ({name} {target} {draft} [::]).\n"
    if reference(DEFINITIONS[name]).modifies_target:
        loop = f"fun A => greedydec {draft} {problem.gamma} {iterations} {target} [::] (fun _ => A)"
    else:
        loop = f"specdec {draft} {problem.gamma} ({name} {target} {draft}) {iterations} [::]"
    return f"Eval vm_compute in @texts_of {last} ({loop}).\n"


def _numbers(log: str, iterations: int) -> list[Numbers]:
    """Return the answers to the questions, in order: lines of tokens, a numerator and a denominator."""
    answers = []
    for answer in re.findall(r"^ +=(.*?)^ +: ", log, re.MULTILINE | re.DOTALL):
        lines = [tuple(map(int, re.findall(r"-?\d+", line))) for line in re.findall(r"\[::([^\[\]]+)\]", answer)]
        first = ["E[tau]"] if iterations == 1 else ["E[length]", "E[number]"]
        keys = first + [line[:-2] for line in lines[len(first) :]]
        answers.append({key: Fraction(*line[-2:]) for key, line in zip(keys, lines, strict=True)})
    return answers


def _compared(expected: Numbers, computed: Numbers) -> tuple[int, str, str | None]:
    """Return what Coq computed beside Python's numbers: ``compared``, ``verdict`` and ``detail`` of a Comparison."""
    if computed.keys() != expected.keys():
        return 0, ERROR, "Coq's answer is not a law of this problem's size"
    for key, value in expected.items():
        if computed[key] != value:
            of = key if isinstance(key, str) else f"Pr{key}"
            return len(expected), REFUTED, f"{of}: {computed[key]} in Coq, {value} in Python"
    return len(expected), HOLDS, None
