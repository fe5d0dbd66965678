"""Answers of right programs, and of programs with a planted bug, to the test vectors."""

import json
from functools import cache

import numpy as np

from draftproof.models.problem import problem_from
from draftproof.proofs.field import in_field
from draftproof.proofs.laws.reference_laws import output_law
from draftproof.reports.audits.vectors.answers import GREEDY
from draftproof.reports.audits.vectors.judgement import judge
from draftproof.reports.audits.vectors.results import results_from
from draftproof.reports.audits.vectors.suite import suite
from draftproof.verifiers.registry import REFERENCES

FIELDS = ["thresholds", "accepted", "weights", "emitted", "raced"]


def results(answers, rules, gives=tuple(FIELDS), dtype="float64", **other):
    about = {"format": "draftproof-results-1", "vectors": suite()["digest"], "program": "test", "dtype": dtype}
    kept = {"error", *gives, *(("counts",) if "law" in gives else ())}
    of_rules = {v["id"] for part in ("vectors", "laws") for v in suite()[part] if v["rule"] in rules}
    promised = {k: {f: x for f, x in given.items() if f in kept} for k, given in answers.items() if k in of_rules}
    return {**about, "rules": list(rules), "gives": list(gives), "results": promised, **other}


def at_temperature_0(vector):
    """What a greedy request is answered: no number of its own counts."""
    n, rows = vector["drafted"], vector["target"]["numbers"][: vector["drafted"] + 1]
    best = [row.index(max(row)) for row in rows]
    kept = [x == y for x, y in zip(vector["tokens"][:n], best)]
    tau = [*kept, False].index(False)
    tokens = [*best[:tau], best[tau]]
    weights = [float(x == best[tau]) for x in range(vector["vocabulary"])]
    return {"thresholds": [*map(float, kept)], "accepted": tau, "weights": weights, "emitted": tokens, "raced": tokens}


THRESHOLDS = {
    "accepts from position 7 on": lambda h: [*h[:6], *(0 * t + 1 for t in h[6:])],
    "no threshold below 1/1000": lambda h: [t if t >= 1e-3 else 0 * t for t in h],
}
"""Planted bugs: from right thresholds to wrong ones."""

WEIGHTS = {
    "the target's token at positions 6 and 7": lambda rest, row, tau, n: row if tau in (5, 6) and tau < n else rest,
    "no weight below 1/10000": lambda rest, row, tau, n: rest * (rest >= 1e-4 * rest.sum()),
    "the bonus token from the top 256": lambda rest, row, tau, n: rest * (rest >= np.sort(rest)[-256:][0] * (tau == n)),
}
"""Planted bugs: from right weights, the target's row, tau and the number of drafted tokens to wrong weights."""


def in_precision(vector, dtype, planted=""):
    """A right verifier in NumPy numbers of a precision, or one with a planted bug."""
    n, rule = vector["drafted"], vector["rule"]
    if rule == GREEDY and planted != "sampled":
        return at_temperature_0(vector)
    rule = "token" if rule == GREEDY else rule
    if planted in ("placeholder", "nothing drafted") and (n or planted == "nothing drafted"):
        n = max(n, 1) if planted == "nothing drafted" else vector["gamma"]
    p, q = (np.array(vector[name]["numbers"], dtype) for name in ("target", "draft"))
    tokens, numbers = vector["tokens"][:n], vector["random"]
    if planted == "bytes":
        tokens = [x % 256 for x in tokens]
    accept = np.array(numbers["accept"]["numbers"], dtype)
    noise, one = np.array(numbers["noise"]["numbers"], dtype), np.array(1, dtype)
    if planted == "float32 uniforms":
        accept = np.float32(accept)
    ratios = [p[i][x] / q[i][x] for i, x in enumerate(tokens)]
    kept = [one]
    for r in ratios:
        kept.append(kept[-1] * r if rule == "greedy-block" else min(kept[-1] * r, one))
    if rule == "token":
        h, kept = [min(r, one) for r in ratios], [one] * (n + 1)
    else:
        surplus = [np.maximum(kept[i] * p[i] - q[i], 0).sum() for i in range(n)]
        shortfall = [surplus[i] + one - kept[i] for i in range(n)]
        if rule == "greedy-block":
            shortfall = [np.maximum(q[i] - kept[i] * p[i], 0).sum() for i in range(n)]
        h = [min(surplus[i] / shortfall[i], one) if shortfall[i] > 0 else one for i in range(1, n)]
        h += [min(kept[n], one)] * bool(n)
    h = THRESHOLDS.get(planted, list)(h)
    passes = [u < t or (planted == "at most" and u <= t) for u, t in zip(accept, h)]
    if rule == "token":
        tau = passes.index(False) if False in passes else n
    else:
        tau = max((i for i in range(1, n + 1) if passes[i - 1]), default=0)
    rest = p[tau] if tau == n else np.maximum(kept[tau] * p[tau] - q[tau], 0)
    if planted in WEIGHTS:
        rest = WEIGHTS[planted](rest, p[tau], tau, n)
    if planted == "drops weights" and len(rest) == 1:
        rest = rest * 0
    edges = np.cumsum(rest / rest.sum())
    last = min(int(np.searchsorted(edges, numbers["last"]["numbers"], side="right")), int(np.flatnonzero(rest)[-1]))
    if planted == "at most":
        last = int(np.searchsorted(edges, numbers["last"]["numbers"]))
    race = int(np.argmax(np.where(rest > 0, rest / noise, -1)))
    head = tokens[:tau]
    given = {"thresholds": h, "accepted": tau, "weights": rest, "emitted": [*head, last], "raced": [*head, race]}
    return json.loads(json.dumps(given, default=lambda number: number.tolist()))


@cache
def answers(dtype="float64", planted=""):
    given = {}
    with np.errstate(all="ignore"):
        for vector in suite()["vectors"]:
            try:
                given[vector["id"]] = in_precision(vector, dtype, planted)
            except IndexError as error:
                given[vector["id"]] = {"error": str(error)}
    if planted == "neighbour":  # the last token of a batch stands in every row
        batches = {v["batch"]: given[v["id"]] for v in suite()["vectors"] if "batch" in v}
        for vector in suite()["vectors"]:
            if "batch" in vector:
                emitted = [*given[vector["id"]]["emitted"][:-1], batches[vector["batch"]]["emitted"][-1]]
                given[vector["id"]] = given[vector["id"]] | {"emitted": emitted}
    return given


def judged_answers(*arguments, **other):
    return judge(results_from(results(*arguments, **other)))


def law_answers(rule, kind, dtype="float64", how=lambda law: law):
    given = {}
    for vector in suite()["laws"]:
        if vector["rule"].startswith("trees-"):
            continue
        problem = in_field(problem_from(vector["problem"]))
        law = how(output_law(problem, REFERENCES[rule]))
        rng = np.random.default_rng(5)
        keys, row = [",".join(map(str, x)) for x in law], np.array([float(p) for p in law.values()])
        values = rng.multinomial(20_000, row / row.sum()).tolist() if kind == "counts" else row.tolist()
        given[vector["id"]] = {kind: dict(zip(keys, values))}
    return given


def of_laws(judgement):
    return {j.vector: j for j in judgement.vectors if j.vector.startswith("law-")}
