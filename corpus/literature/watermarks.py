"""Watermarks: the law of a text averaged over keys, what a key decides, and what repeated contexts do to both.

A watermark draws its tokens from a keyed function of the last tokens. Judged is ``lossless-over-keys``: averaged over
the keys the text follows the target. Key spaces are finite and every key is gone through, or the average is a formula.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import lcm
from typing import Any, NamedTuple

from draftproof.corpus.literature.literature import HOLDS, ONE_STEP, REFUTED, ClaimJudgement, figure
from draftproof.corpus.literature.recent import ROUNDED, rows
from draftproof.models.battery import toy
from draftproof.models.law import ContextFree, Prefix
from draftproof.models.problem import Problem
from draftproof.models.rationals import as_float
from draftproof.proofs.enumeration import ONE, law_of
from draftproof.proofs.field import QQ
from draftproof.proofs.laws.reference_laws import joint_law, total_variation
from draftproof.verifiers.arithmetic import minimum, normalised, quotient, ratio, residual
from draftproof.verifiers.trees.shared_gumbel import coupled

Row = Sequence[Any]
Law = dict[Any, Any]


class OverKeys(NamedTuple):
    """law: averaged over the keys. decided: whether each key leaves one outcome."""

    law: Law
    decided: bool


def over_keys(emitted: Callable[[Any], Mapping[Hashable, Any]], keys: Sequence[Any]) -> OverKeys:
    """Return the law of what is emitted under keys of one probability. emitted: key -> the law given the key."""
    law: Law = {}
    laws = [emitted(key) for key in keys]
    for given in laws:
        for outcome, p in given.items():
            law[outcome] = law.get(outcome, 0) + p / len(keys)
    return OverKeys(law, all(len(given) == 1 for given in laws))


def pick(row: Row, key: int, keys: int) -> int:
    """Return the token of one of ``keys`` equal parts of [0, 1), by the inverse of the row's distribution function."""
    below = QQ(0)
    for token, p in enumerate(row):
        below += p
        if (2 * key + 1) < 2 * keys * below:
            return token
    raise AssertionError("unreachable: a row sums to 1")


def parts(row: Row) -> int:
    """Into how many equal parts the row's probabilities divide."""
    return lcm(*(int(p.denominator) for p in row))


def speculative_token(p: Row, q: Row, keyed_coin: bool) -> tuple[Callable[[Any], Law], list[Any]]:
    """Token verification of one draft: the draft's, the coin's and the replacement's noise have keys of their own.

    keyed_coin: whether the coin is drawn from its key, or fresh. The outcome is (token, accepted).
    Source: He et al. 2026 (2602.01428), pseudorandom acceptance; with a fresh coin vLLM's two keys.
    """
    rates = [ONE * minimum(ratio(a, b), 1) for a, b in zip(p, q, strict=True)]
    left = residual(p, q)
    rest = normalised(left) if sum(left) != 0 else list(p)
    sizes = (parts(q), parts(rates), parts(rest))

    def emitted(key: tuple[int, int, int]) -> Law:
        x = pick(q, key[0], sizes[0])
        rate = QQ(int(2 * key[1] + 1 < 2 * sizes[1] * rates[x])) if keyed_coin else rates[x]
        law: Law = {}
        for outcome, mass in (((x, True), rate), ((pick(rest, key[2], sizes[2]), False), 1 - rate)):
            if mass != 0:
                law[outcome] = law.get(outcome, 0) + mass
        return law

    return emitted, list(product(*map(range, sizes)))


def _of_tokens(law: Law) -> dict[int, Any]:
    tokens: dict[int, Any] = {}
    for (token, _), p in law.items():
        tokens[token] = tokens.get(token, 0) + p
    return tokens


def lossless_over_keys(keyed_coin: bool) -> ClaimJudgement:
    """Averaged over the keys, and over a fresh coin, the token follows the target."""
    for pair in ONE_STEP:
        p, q = rows(pair)
        law = _of_tokens(over_keys(*speculative_token(p, q, keyed_coin)).law)
        if tv := total_variation(law, dict(enumerate(p))):
            return ClaimJudgement(REFUTED, f"TV {figure(tv)}", pair)
    return ClaimJudgement(HOLDS, f"every key of {len(ONE_STEP)} pairs of models")


def decided_by_the_key(keyed_coin: bool) -> ClaimJudgement:
    """Each key leaves one token."""
    for pair in ONE_STEP:
        p, q = rows(pair)
        if not over_keys(*speculative_token(p, q, keyed_coin)).decided:
            return ClaimJudgement(REFUTED, "a key leaves two outcomes", pair)
    return ClaimJudgement(HOLDS, f"every key of {len(ONE_STEP)} pairs of models")


def accepts_as_without_keys() -> ClaimJudgement:
    """Pr(accepted) is 1 - TV(p, q), what token verification accepts."""
    for pair in ONE_STEP:
        p, q = rows(pair)
        law = over_keys(*speculative_token(p, q, True)).law
        taken = sum((w for (_, accepted), w in law.items() if accepted), QQ(0))
        if taken != sum(map(min, p, q)):
            return ClaimJudgement(REFUTED, f"{figure(taken)} against {figure(sum(map(min, p, q)))}", pair)
    return ClaimJudgement(HOLDS, f"every key of {len(ONE_STEP)} pairs of models")


def no_key_space_has_both(vocabulary: int) -> ClaimJudgement:
    """No picks by a key agree with probability 1 - TV for every two rows.

    Three rows, each even on two of three tokens: two picks agree on the one token they share, so of the three
    agreements a key has one at most, and 1 - TV of the three pairs adds up to 3/2. Over two tokens ``pick`` has both.
    """
    if vocabulary == 3:
        supports = ((0, 1), (1, 2), (0, 2))
        most = max(sum(a == b for a, b in ((x, y), (y, z), (x, z))) for x, y, z in product(*supports))
        if 2 * most < 3:
            on = f"three even rows over two tokens each: agreements of at most {most} in all, 3/2 needed, for any keys"
            return ClaimJudgement(HOLDS, on)
    pairs = [pair for pair in ONE_STEP if pair.vocabulary == vocabulary]
    for pair in pairs:
        p, q = rows(pair)
        keys = lcm(parts(p), parts(q))
        agree = QQ(sum(pick(p, k, keys) == pick(q, k, keys) for k in range(keys)), keys)
        if agree != sum(map(min, p, q)):
            return ClaimJudgement(HOLDS, f"picks agree with {agree}", pair)
    on = f"picks by the inverse distribution function agree with probability 1 - TV on {len(pairs)} pairs"
    return ClaimJudgement(REFUTED, on)


def one_key_for_both(pairs: Sequence[Problem] = ONE_STEP) -> ClaimJudgement:
    """Gumbel noise of one key for the draft and for its replacement; in closed form.

    law(y) = min(p, q)(y) + sum over x of Pr(x is rejected | x) Pr(the noise picks x from q and y from the residual).
    """
    for pair in pairs:
        p, q = rows(pair)
        left = residual(p, q)
        if sum(left) == 0:
            continue
        rest, law = normalised(left), [min(a, b) for a, b in zip(p, q)]
        for x, y in product(range(len(p)), repeat=2):
            if q[x] > p[x]:
                law[y] += (1 - p[x] / q[x]) * coupled(tuple(rest), tuple(q))[x][y]
        if tv := total_variation(dict(enumerate(law)), dict(enumerate(p))):
            return ClaimJudgement(REFUTED, f"TV {figure(tv)}", pair)
    return ClaimJudgement(HOLDS, f"{len(pairs)} pairs of models")


SECOND = 1
"""The token whose noise is the coin: numpy's generator makes its first 64 bits the second number of 32, too."""


def one_generator_for_coin_and_replacement(pairs: Sequence[Problem] = ONE_STEP) -> ClaimJudgement:
    """Gumbel noise of the replacement from a generator seeded as the coin's is; in closed form, in floats.

    With a the rate and r the residual at that token, it wins where U > a with probability r (1 - a^(1/r)) / (1 - a).
    Source: He et al. 2026, the code at 81bc45a3, mc_sample_synthid with psedo_r and get_gumbel_variables.
    """
    for pair in pairs:
        p, q = ([as_float(w) for w in row] for row in rows(pair))
        left = residual(p, q)
        if pair.vocabulary <= SECOND or sum(left) == 0:
            continue
        rest, law = normalised(left), [min(a, b) for a, b in zip(p, q)]
        r = rest[SECOND]
        for a, b in ((a, b) for a, b in zip(p, q) if b > a):
            wins = r * (1 - (a / b) ** (1 / r)) / (1 - a / b) if r else 0
            for y, w in enumerate(rest):
                law[y] += (b - a) * (wins if y == SECOND else (1 - wins) * quotient(w, 1 - r, 0))
        if (tv := sum(abs(a - b) for a, b in zip(law, p)) / 2) > ROUNDED:
            return ClaimJudgement(REFUTED, f"TV {tv:.6g}", pair)
    return ClaimJudgement(HOLDS, f"{len(pairs)} pairs of models")


def text_over_keys(row: Row, length: int, fresh_where_repeated: bool) -> dict[Prefix, Any]:
    """Return the law, over keys, of a text whose tokens are decided by the key and the token before.

    A context that comes again decides the same token again, or is drawn without the watermark.
    """

    def program(chance: Any) -> Prefix:
        text: list[int] = []
        decided: dict[int, int] = {}
        for _ in range(length):
            context = text[-1] if text else -1
            if context not in decided or fresh_where_repeated:
                token = chance.draw(row)
                decided.setdefault(context, token)
            else:
                token = decided[context]
            text.append(token)
        return tuple(text)

    return law_of(program)


LENGTHS = (2, 3, 4, 6, 8)


def texts_are_the_targets(fresh_where_repeated: bool) -> ClaimJudgement:
    """The law of texts of 2 to 8 tokens over keys, contexts of one token, even rows over two tokens and the example."""
    even = next(pair for pair in ONE_STEP if set(pair.target.row(())) == {Fraction(1, 2)})
    for pair in (even, toy(1)):
        p, _ = rows(pair)
        off = []
        for n in LENGTHS:
            expected = joint_law(ContextFree(p), n)
            off.append(total_variation(text_over_keys(p, n, fresh_where_repeated), expected))
        if any(off):
            on = ", ".join(f"TV {figure(tv)} for {n} tokens" for n, tv in zip(LENGTHS, off))
            return ClaimJudgement(REFUTED, on, pair)
    return ClaimJudgement(HOLDS, f"texts of {LENGTHS} tokens, two rows")


def two_answers_are_independent() -> ClaimJudgement:
    """The law over keys of the first tokens of two answers to one prompt, whose contexts are the same."""
    for pair in ONE_STEP:
        p, _ = rows(pair)
        pairs = {(x, x): w for x, w in enumerate(p) if w}
        alone = {(x, y): a * b for x, a in enumerate(p) for y, b in enumerate(p)}
        if tv := total_variation(pairs, alone):
            return ClaimJudgement(REFUTED, f"TV {figure(tv)}: both begin with the same token", pair)
    return ClaimJudgement(HOLDS, f"{len(ONE_STEP)} rows")
