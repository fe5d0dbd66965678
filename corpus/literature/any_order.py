"""Any-subset decoding: drafts in any order of the places, judged by the model's own joint law; its claims judged."""

import random
from collections.abc import Callable, Iterator, Mapping
from itertools import permutations, product
from typing import Any, NamedTuple

from draftproof.corpus.literature.literature import HOLDS, REFUTED, ClaimJudgement, figure
from draftproof.models.law import Prefix, Table
from draftproof.models.problem import Problem
from draftproof.proofs.enumeration import ONE
from draftproof.proofs.field import QQ
from draftproof.proofs.laws.reference_laws import output_law, total_variation
from draftproof.verifiers.arithmetic import normalised
from draftproof.verifiers.registry import reference

Row = tuple[Any, ...]


class InOrder(NamedTuple):
    """A law of texts of L places as a model that goes through the places in an order.

    given: (known tokens by place, a place) -> the row of that place.
    seen: how many places a row may depend on, all of them for None: a parallel draft knows those before its block.
    """

    given: Callable[[Mapping[int, int], int], Row]
    order: tuple[int, ...]
    seen: int | None = None

    def row(self, prefix: Prefix) -> Row:
        return self.given(dict(zip(self.order, prefix[: self.seen])), self.order[len(prefix)])

    def state(self, prefix: Prefix) -> Prefix:
        return prefix


def conditionals(joint: Mapping[Prefix, Any]) -> Callable[[Mapping[int, int], int], Row]:
    """Return the rows of one law of texts, whatever is known."""

    def given(known: Mapping[int, int], place: int) -> Row:
        masses = [QQ(0)] * 2
        for text, mass in joint.items():
            if all(text[i] == t for i, t in known.items()):
                masses[text[place]] += mass
        return tuple(normalised(masses)) if any(masses) else (ONE, QQ(0))  # what follows has no mass

    return given


def apart(known: Mapping[int, int], place: int) -> Row:
    """Return rows of no one law: how sure the row of a place is depends on how many places are known."""
    first = QQ(1, 2 + len(known) + 2 * place + sum(known.values()))
    return (first, 1 - first)


def any_order_law(given: Any, order: tuple[int, ...], k: int) -> tuple[dict[Prefix, Any], int]:
    """The law of the texts, by place, of any-subset decoding with blocks of k; and the most calls that one takes.

    Each iteration drafts k places at once (one call) and verifies them token by token in the order (one more); the last
    place alone is drawn at once.
    """
    states: dict[tuple[Prefix, int], Any] = {((), 0): ONE}
    length = len(order)
    while any(len(text) < length for text, _ in states):
        after: dict[tuple[Prefix, int], Any] = {}
        for (text, calls), mass in states.items():
            n = min(k, length - len(text))
            if n == 0:
                outputs, made = {(): ONE}, 0
            elif len(text) == length - 1:
                outputs, made = {(t,): p for t, p in enumerate(InOrder(given, order).row(text))}, 1
            else:
                outputs, made = _block(given, order, text, n), 2
            for output, p in outputs.items():
                state = (text + output, calls + made)
                after[state] = after.get(state, 0) + mass * p
        states = after
    law: dict[Prefix, Any] = {}
    for (text, _), mass in states.items():
        by_place = tuple(text[order.index(i)] for i in range(length))
        law[by_place] = law.get(by_place, 0) + mass
    return law, max(calls for (_, calls), mass in states.items() if mass)


def _block(given: Any, order: tuple[int, ...], text: Prefix, n: int) -> dict[Prefix, Any]:
    target, draft = InOrder(given, order), InOrder(given, order, seen=len(text))
    asked, drafted = ({x: model.row(text + x) for i in range(n + last) for x in product(range(2), repeat=i)
                       if len(text) + i < len(order)} for model, last in ((target, 1), (draft, 0)))  # fmt: skip
    asked |= {x: (ONE, QQ(0)) for x in product(range(2), repeat=n) if x not in asked}
    law: dict[Prefix, Any] = {}
    for output, p in output_law(Problem(2, n, Table(asked), Table(drafted)), reference("token")).items():
        law[output[:n]] = law.get(output[:n], 0) + p
    return law


def _drawn(places: int, seed: int) -> tuple[int, ...]:
    """Weights of the texts of that length, 0 among them."""
    draw = random.Random(f"any-order/{places}/{seed}")
    return tuple(draw.choice((0, 1, 1, 2, 3, 7, 40)) for _ in range(2**places))


WEIGHTS = [(1, 2, 3, 4, 5, 6, 7, 8), (8, 1, 1, 5, 1, 7, 3, 1), (1, 9, 9, 1, 9, 1, 1, 9),
           *(_drawn(3, seed) for seed in range(20)), *(_drawn(4, seed) for seed in range(8))]  # fmt: skip
JOINTS = [
    {x: QQ(w, sum(weights)) for x, w in zip(product(range(2), repeat=len(weights).bit_length() - 1), weights)}
    for weights in WEIGHTS
]
"""Laws of texts of three and of four places over two tokens, with texts that have no mass."""


def _orders(joint: Mapping[Prefix, Any]) -> Iterator[tuple[int, ...]]:
    return permutations(range(len(next(iter(joint)))))


def any_order_is_the_joint_law() -> ClaimJudgement:
    """Every order of the places, blocks of 2 and 3."""
    for joint, k in product(JOINTS, (2, 3)):
        for order in _orders(joint):
            law = any_order_law(conditionals(joint), order, k)[0]
            if tv := total_variation(law, joint):
                return ClaimJudgement(REFUTED, f"TV {figure(tv)} in the order {order}")
    return ClaimJudgement(HOLDS, f"{len(JOINTS)} laws of 3 and 4 places, every order, blocks of 2 and 3")


def any_order_needs_few_calls(k: int) -> ClaimJudgement:
    """At most as many calls as tokens, whatever comes out."""
    for joint in JOINTS:
        for order in _orders(joint):
            _, calls = any_order_law(conditionals(joint), order, k)
            if calls > len(order):
                return ClaimJudgement(REFUTED, f"{calls} calls for {len(order)} tokens, blocks of {k}")
    return ClaimJudgement(HOLDS, f"{len(JOINTS)} laws of 3 and 4 places, every order, blocks of {k}")


def every_order_has_one_law() -> ClaimJudgement:
    """The same for rows that no one law of texts has, such as a network's."""
    laws = {order: any_order_law(apart, order, 2)[0] for order in permutations(range(3))}
    first, *others = laws
    for order in others:
        if tv := total_variation(laws[first], laws[order]):
            return ClaimJudgement(
                REFUTED, f"TV {figure(tv)} between the orders {first} and {order}, rows of no one law"
            )
    return ClaimJudgement(HOLDS, "6 orders")


def mask_taken_out(renormalised: bool) -> ClaimJudgement:
    """Rows whose mask token has less than 1/100 and is set to 0: token verification with the rows as they are then."""
    target, draft = (QQ(1, 2), QQ(99, 200), QQ(1, 200)), (QQ(1, 4), QQ(3, 4), QQ(0))
    p, q = ((*row[:2], QQ(0)) for row in (target, draft))
    p, q = (normalised(p), normalised(q)) if renormalised else (p, q)
    kept = [w * min(a / b, 1) if b else 0 for w, a, b in zip(normalised(q), p, q)]
    rest = normalised([max(a - b, 0) for a, b in zip(p, q)])
    law = [a + (1 - sum(kept)) * b for a, b in zip(kept, rest)]
    tv = total_variation(dict(enumerate(law)), dict(enumerate(normalised((*target[:2], QQ(0))))))
    if tv == 0:
        return ClaimJudgement(HOLDS, "target (1/2 99/200 1/200), draft (1/4 3/4 0), the mask last")
    return ClaimJudgement(REFUTED, f"TV {tv} on target (1/2 99/200 1/200), draft (1/4 3/4 0), the mask last")
