"""Reference verifiers run in floating point, their laws, and laws moved by so much."""

import math
from dataclasses import replace
from fractions import Fraction

from sympy import QQ

from draftproof.models.battery import drawn
from draftproof.models.law import Table
from draftproof.models.rationals import as_float
from draftproof.models.tree_battery import drawing
from draftproof.proofs.audit_claims import lossless
from draftproof.proofs.field import in_field, rational
from draftproof.proofs.laws.block_laws import enumerated_law
from draftproof.proofs.laws.reference_laws import output_law
from draftproof.proofs.laws.tree_laws import enumerated_tree_law, law_of, siblings_after
from draftproof.verifiers.draft_block import Block
from draftproof.verifiers.registry import Reference, reference
from draftproof.verifiers.trees.draft_tree import HUB, TOP
from draftproof.verifiers.trees.registry import tree_reference

ANSWER = {"block": (), "law": [], "paths": 1, "exactness": "exact", "resolution": 0.0, "coarsest": 0}
"""An answer of the sandbox without a law: what is measured has the bounds of its problem."""

multi_round = tree_reference("spec-infer").verify


def dyadic(problem, parts=256):
    """The same problem with rows of whole multiples of 1 / parts, which every type of number holds; they sum to 1."""

    def table(model, name, longest):
        rows = {}
        for length in range(longest + 1):
            for x in problem.prefixes(length):
                counts = [int(p * parts) for p in model.row(x)]
                counts[counts.index(max(counts))] += parts - sum(counts)
                rows[x] = tuple(QQ(k, parts) for k in counts)
        return Table(rows, name)

    tables = {"target": table(problem.target, "target", problem.gamma),
              "draft": table(problem.draft, "draft", problem.gamma - 1)}  # fmt: skip
    return replace(problem, **tables)


class Exactly:
    """Chance of exact numbers, from rounded ones; a coin above 1 always falls."""

    def __init__(self, chance):
        self.chance = chance

    def flip(self, probability):
        return self.chance.flip(rational(Fraction(min(max(float(probability), 0.0), 1.0))))

    def draw(self, weights):
        exact = [rational(Fraction(max(float(w), 0.0))) for w in weights]
        return self.chance.draw([w / sum(exact) for w in exact] if any(exact) else exact)


def floats(rows, dtype):
    return [[dtype(float(p)) for p in row] for row in rows]


def biased(rows):
    return [[row[0] * type(row[0])(1.001), *row[1:]] for row in rows]


def distance(law, exact):
    return as_float(sum(abs(law.get(o, 0) - exact.get(o, 0)) for o in {*law, *exact}) / 2)


def block_distance(problem, name, dtype, changed=lambda rows: rows):
    """How far a reference verifier on numbers of a type is from its exact law; its target rows may be changed."""

    def verify(block, chance):
        rows = changed(floats(block.target, dtype)), floats(block.draft, dtype)
        return reference(name).verify(Block(*rows, block.tokens), Exactly(chance))

    return distance(enumerated_law(problem, Reference(name, verify, "in floats")), output_law(problem, reference(name)))


def tree_distance(problem, dtype, changed=lambda rows: rows, verify_tree=multi_round):
    def verify(tree, chance):
        rows = changed(floats(tree.target, dtype)), floats(tree.draft, dtype)
        return verify_tree(tree._replace(target=rows[0], draft=rows[1]), Exactly(chance))

    return distance(enumerated_tree_law(problem, verify), enumerated_tree_law(problem, verify_tree))


def moved(law, size):
    """The law with so much of one outcome on another."""
    least, most = sorted(law, key=lambda o: (len(o), law[o]))[-2:]
    return law | {most: law[most] - rational(Fraction(size)), least: law[least] + rational(Fraction(size))}


def around(found, law):
    """The evidence on a law that is moved by less than both measures of rounding, between them, by more than both."""
    sizes = 0.9 * found.tolerance, (found.tolerance + found.explained) / 2, 1.1 * found.explained
    return [lossless(replace(found, blocks={(): moved(law, size)})) for size in sizes]


class EightBits(float):
    """A number of 8 significant bits, as bfloat16's: each operation is rounded to nearest."""

    bits = 8

    def __new__(cls, value):
        mantissa, exponent = math.frexp(value)
        return super().__new__(cls, math.ldexp(round(mantissa * 2**cls.bits), exponent - cls.bits))


class TwelveBits(EightBits):
    bits = 12


for _name in ("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv"):
    _of_floats = getattr(float, f"__{_name}__")
    setattr(EightBits, f"__{_name}__", lambda x, y, f=_of_floats: type(x)(f(x, float(y))))


def step_in_few_bits(step, rule, problem, short):
    """How far one step on short numbers, its chance exact, is from its exact law; and by how much its rows are off."""

    def law(number):
        found = {}
        for siblings, mass in siblings_after(problem, (), 1):
            target, drafts = map(number, siblings.target), (tuple(map(number, row)) for row in siblings.drafts)
            given = siblings._replace(target=tuple(target), drafts=tuple(drafts))
            chosen = law_of(lambda chance, s=given: step(s, chance if number is rational else Exactly(chance)))
            for choice, p in chosen.items():
                found[choice.token] = found.get(choice.token, 0) + mass * p
        return found

    entries = [float(p) for row in (problem.target.row(()), problem.draft.row(())) for p in row]
    off = max(abs(float(short(p)) / p - 1) for p in entries)
    return distance(law(lambda p: short(float(p))), law(rational)), off


HOW = {"without-replacement": "without-replacement", "spec-hub": HUB, "top-tokens": TOP}


def drafted(rule, problem, *children):
    """As the rule is drafted for: by a tree, or a path of as many tokens."""
    if tree_reference(rule).shape == "path":
        return problem
    children = (2, *children[1:]) if HOW.get(rule) == HUB else children
    return drawing(problem, *children, how=HOW.get(rule, "iid"))


def within_its_theorem(step, rule, bound_of, short):
    """Whether one step is within its bound on four problems, off somewhere, and bounded below 1 somewhere.

    V = 2, or 3 with a hub; two siblings or one draft.
    """
    seen = []
    for seed in range(4):
        problem = dyadic(in_field(drafted(rule, drawn(2 + (rule in HOW), 1, "generic", seed), 2)))
        found, off = step_in_few_bits(step, rule, problem, short)
        seen.append((found, bound_of(rule, problem, 2.0 ** (1 - short.bits), 0.0, off)))
    within = all(deviation <= bound for deviation, bound in seen)
    return within and any(deviation > 0 for deviation, _ in seen) and min(bound for _, bound in seen) < 1
