"""The exact law of block verification: processor time in microseconds an entry, over QQ and sympy.Rational in one run.

Limit: 5 microseconds per entry of the law over QQ, and linear in their number. Then rules for trees, two siblings or
paths, three tokens deep, V = 3, in each way of drawing that they are for: 5 microseconds per entry (a draft tree and
what is emitted) of laws of 1,000 entries at least, every plan and every solution found anew; and the same law computed
tree by tree.
"""

import platform
import time
from functools import partial

from sympy import Rational

from draftproof.models.battery import drawn
from draftproof.models.problem import with_numbers
from draftproof.models.tree_battery import drawing
from draftproof.proofs.enumeration import law_of
from draftproof.proofs.field import in_field
from draftproof.proofs.laws.reference_laws import enumerated_law, sub_block_law
from draftproof.proofs.laws.tree_laws import drawn_trees, enumerated_tree_law, formulas_of
from draftproof.verifiers.registry import reference
from draftproof.verifiers.trees import (
    global_resolution,
    k_seq,
    list_gumbel,
    optimal_transport,
    scaled_transport,
    shared_gumbel,
)
from draftproof.verifiers.trees.registry import TREE_REFERENCES

ENUMERATED = "typical", "tree-monte-carlo"
"""Rules whose law is computed tree by tree: no limit is for them."""

SIZES = [(2, 4), (2, 6), (2, 8), (3, 4), (3, 5), (4, 4), (4, 5), (4, 6), (4, 7)]
LIMIT = 5.0
COUNTED = 1000
"""Entries of a law from which on its time is more than that of a call."""

KEPT = (k_seq.smallest_rho, global_resolution.solved, list_gumbel.given_drafts, shared_gumbel.coupled,
        optimal_transport.best_plan, scaled_transport.plan_for_the_tree)  # fmt: skip


def seconds(work, at_least=0.2):
    """The best of repeated runs, for at least ``at_least`` seconds."""
    best, spent, result = float("inf"), 0.0, None
    while spent < at_least:
        start = time.process_time()
        result = work()
        took = time.process_time() - start
        best, spent = min(best, took), spent + took
    return best, result


def main():
    rule = reference("block").rule
    print(
        f"exact law of block verification on {platform.node() or 'this machine'} "
        f"({platform.processor() or platform.machine()})"
    )
    print(
        f"{'V':>2} {'gamma':>5} {'entries':>8} {'QQ us/entry':>12} {'Rational us/entry':>18} {'ratio':>6} "
        f"{'replayed us/entry':>18}"
    )
    over = []
    for vocabulary, gamma in SIZES:
        problem = drawn(vocabulary, gamma, "generic")
        exact = in_field(problem)
        fast, law = seconds(lambda exact=exact: sub_block_law(exact, rule))
        per_entry = 1e6 * fast / len(law)
        over += [per_entry] if per_entry > LIMIT else []
        slow_problem = with_numbers(problem, Rational)
        rational = 1e6 * seconds(lambda p=slow_problem: sub_block_law(p, rule, one=Rational(1)))[0] / len(law)
        replayed = float("nan")
        if len(law) <= 20_000:
            replayed = 1e6 * seconds(lambda exact=exact: enumerated_law(exact, reference("block")))[0] / len(law)
        ratio = rational / per_entry
        print(
            f"{vocabulary:>2} {gamma:>5} {len(law):>8} {per_entry:>12.2f} {rational:>18.1f} {ratio:>6.1f} "
            f"{replayed:>18.1f}"
        )
    print(f"limit {LIMIT} us/entry over QQ: {'exceeded' if over else 'held'}; linear if the column stays flat")
    trees()


def tree_kernel(problem, verify):
    """The law of what is emitted given each tree."""
    return {tree: law_of(lambda chance, t=tree: verify(t, chance).tokens(t)) for tree in drawn_trees(problem)}


def forget():
    """Plans and solutions that rules keep."""
    for kept in KEPT:
        kept.cache_clear()


def trees():
    """Rules for trees, in each way of drawing; of a single path where they are for nothing else."""
    print(f"{'rule':<28} {'drawn':<22} {'entries':>8} {'us/entry':>9} {'tree by tree us/entry':>22}")
    over = []
    for name, rule in TREE_REFERENCES.items():
        children = (1,) * 6 if rule.shape == "path" else (2, 1, 1)
        for how in rule.drafts:
            problem = in_field(drawing(drawn(3, len(children), "generic"), *children, how=how))
            law = formulas_of(rule) or partial(enumerated_tree_law, verify=rule.verify)
            taken, _ = seconds(lambda law=law, problem=problem: (forget(), law(problem)))
            replayed, kernel = seconds(lambda rule=rule, problem=problem: tree_kernel(problem, rule.verify))
            entries = sum(map(len, kernel.values()))
            per_entry = 1e6 * taken / entries
            over += [f"{name} {how}"] if per_entry > LIMIT and entries >= COUNTED and name not in ENUMERATED else []
            print(f"{name:<28} {how:<22} {entries:>8} {per_entry:>9.2f} {1e6 * replayed / entries:>22.1f}")
    print(f"limit {LIMIT} us/entry: {'exceeded by ' + ', '.join(over) if over else 'held'}")


if __name__ == "__main__":
    main()
