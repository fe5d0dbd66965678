"""Each bet on recorded steps and on their tokens has a mean of at most 1 under what it tests, over all outcomes.

The rows have ties, boundaries of nuclei, zeros, one token, and entries of float32 and bfloat16. The judge reads them
from a recording, as it reads an engine's.
"""

import json
import time
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

from draftproof.models.recorded_steps import Recording, parts
from draftproof.models.step_lines import StepLines
from draftproof.proofs.enumeration import law_of
from draftproof.proofs.field import rational
from draftproof.recording import Recorder
from draftproof.reports.audits.steps import bets, lines, purses
from draftproof.reports.audits.steps.purses import IN_FLOAT32
from draftproof.reports.audits.steps.tokens import bet_on_drafts, bet_on_texts
from draftproof.stattests.betting import log_gains
from draftproof.stattests.tilts import ABOVE, NUCLEI, SETS, bets_on_transform
from draftproof.tests.stattests.test_fair_bets import MOST, ROWS
from draftproof.verifiers.conditional import laws, mutants, tilts
from draftproof.verifiers.conditional.form import DRAFT_ROW
from draftproof.verifiers.conditional.rules import RULES, at_most
from draftproof.verifiers.draft_block import Block, Verdict
from draftproof.verifiers.registry import reference

pytestmark = pytest.mark.exact

V, GAMMA = 20, 2
DTYPES = {"float32": "float32", "bfloat16": "bfloat16", "sums of 0.99991": "float32"}
SAMPLED = ("token", "block", "greedy-block", "equality")
"""Rules whose outcomes are drawn."""


class Case(NamedTuple):
    """Rows of a step, as recorded, and its drafted tokens."""

    target: np.ndarray
    draft: np.ndarray
    drafts: tuple[int, ...]


class Bet(NamedTuple):
    """Bets of hypotheses on outcomes of one case. chances: [outcomes]. logs: [hypotheses, outcomes]."""

    chances: np.ndarray
    logs: np.ndarray

    @property
    def mean(self):
        possible = self.chances > 0
        return float((np.exp(self.logs[:, possible]) * self.chances[possible]).sum(1).max(initial=0.0))


def cases(kind, drafted=2):
    """Return steps with rows of a kind, padded with tokens of probability 0, and drafts that their rows can draw."""
    rng = np.random.default_rng(3)
    some = [row for row in ROWS[kind] if len(row) <= V]
    made, padded = [], [np.concatenate([row, np.zeros(V - len(row))]) for row in (*some[:2], *some[-3:])]
    for row, other in zip(padded, [*padded[1:], padded[0]]):
        row, other = (one.astype(np.float32) if kind in DTYPES else one for one in (row, other))
        target, draft = np.stack([row, np.roll(other, 2), row]), np.stack([np.roll(row, 1), np.roll(row, 2)])
        for _ in range(drafted):
            made.append(Case(target, draft, tuple(int(rng.choice(np.flatnonzero(q))) for q in draft)))
    return made


def recorded(folder, kind, steps, listed, place=0):
    """Record steps (a case, its drafted tokens, what came out), and return them as the judge reads them."""
    with Recorder(folder, V, dtype=DTYPES.get(kind, "float64"), rule="token", listed=listed, shard_steps=10**6) as out:
        for k, (case, drafts, emitted) in enumerate(steps):
            while out._queue.full():
                time.sleep(0.001)
            out.step(case.target, list(drafts), list(emitted), case.draft, request=k, place=place)
    assert (out.recorded, out.failed, out.dropped) == (len(steps), 0, 0)
    recording = Recording.open(folder)
    [shard] = recording.shards
    [part] = parts(recording.read(shard), recording.header, at_once=len(steps))
    return part, recording.header


def exact(row):
    """Return a row as rationals, divided by its sum."""
    numbers = [rational(float(p)) for p in row]
    return tuple(p / sum(numbers) for p in numbers)


def equality(block, chance):
    """Keep drafted tokens with their probability under the target, else emit another one."""
    for i, token in enumerate(block.tokens):
        row = block.target[i]
        if not chance.flip(row[token]):
            return Verdict(i, chance.draw([p * (x != token) for x, p in enumerate(row)]))
    return Verdict(block.gamma, chance.draw(block.target[-1]))


def law_on(rule, case):
    """Return the law of what comes out of a step."""
    block = Block([*map(exact, case.target)], [*map(exact, case.draft)], case.drafts)
    verify = equality if rule == "equality" else reference(rule).verify
    return {out: float(p) for out, p in law_of(lambda chance: verify(block, chance).tokens(block)).items()}


def ended_after(law, case, cap):
    """Return the law of what comes out of a request that ends with so many tokens of this step."""
    cut = {}
    for out, chance in law.items():
        cut[out[:cap]] = cut.get(out[:cap], 0.0) + chance
    return cut


def bets_on_outcomes(folder, kind, rule, listed=256, cap=None):
    """Return the bets on a step of each case, with the chance of each of its outcomes under the rule."""
    laws = [(case, law_on(rule, case)) for case in cases(kind)]
    laws = [(case, ended_after(law, case, cap) if cap else law) for case, law in laws]
    steps = [(case, case.drafts, out) for case, law in laws for out in law]
    part, header = recorded(folder, kind, steps, listed, place=0 if cap is None else 1)
    assert cap is None or (part.steps.cut is not None and part.steps.cut.any())
    found = bets.bets_on_steps(RULES[rule], bets.hypotheses(rule), part.steps, header.epsilon)
    logs, start = np.where(found.possible, found.logs, np.inf), 0
    for _, law in laws:
        yield Bet(np.array([*law.values()]), logs[:, start : start + len(law)])
        start += len(law)


def bets_on_all_tokens(folder, kind, mine, listed=256):
    """Return the bets on the token behind the first drafted one, or on the second drafted one, as it follows its row.

    Bets on hypotheses, and on sets of the transform; the auditor's own number counts by the share that is in a set.
    """
    steps, rows = [], []
    for case in cases(kind, 1):
        row = (case.target if mine == "target" else case.draft)[1]
        rows.append(np.array([*map(float, exact(row))]))
        for x in np.flatnonzero(row):
            drafts, emitted = (case.drafts, (case.drafts[0], x)) if mine == "target" else ((case.drafts[0], x), (0,))
            steps.append((case, drafts, emitted))
    part, header = recorded(folder, kind, steps, listed)
    all_of = np.ones((len(steps), GAMMA + 1), dtype=bool)
    bet_on = bet_on_texts if mine == "target" else bet_on_drafts

    def bet(generator):
        found = bet_on(part, all_of[:, 0], all_of, np.full(all_of.shape, DRAFT_ROW), header, generator)
        return found, np.flatnonzero(np.diff(np.append(found.step, len(steps))))  # the last token of each step

    (found, last), (other, _) = bet(numbers(0.0)), bet(numbers(1.0))
    logs = np.concatenate([found.bets.logs, on_sets(found.transform, other.transform, IN_FLOAT32)])[:, last]
    start = 0
    for row in rows:
        chances = row[row > 0]
        yield Bet(chances, logs[:, start : start + len(chances)])
        start += len(chances)


def on_sets(low, high, off):
    """Return the bets on sets of the transform, which lies between these ends by the auditor's own numbers."""
    share = np.clip((high - np.array(ABOVE)[:, None]) / np.maximum(high - low, 1e-300), 0.0, 1.0)
    sets = bets_on_transform(np.zeros(1))
    won, lost = (np.stack([log_gains(sets[name].probability[None], np.array([[hit]]), off)[0, :, 0] for name in SETS])
                 for hit in (True, False))  # fmt: skip
    fortune = share[:, None] * np.exp(won)[..., None] + (1 - share[:, None]) * np.exp(lost)[..., None]
    return np.log(fortune).reshape(-1, len(low))


def bets_on_lists(file, kind, digits):
    """Return the bets on tokens of which a dump has lists of the four most probable, with so many decimal digits."""
    for case in cases(kind, 1):
        row = np.array([*map(float, exact(case.target[0]))])
        top = [[int(x), round(float(row[x]), digits)] for x in np.argsort(-row)[:4]]
        file.write_text("".join(json.dumps({"tokens": [], "next": {"token": x, "top": top}}) + "\n" for x in range(V)))
        recording = StepLines.open(file)
        tokens = [*recording.listed("target")]
        (found, low), (_, high) = (lines._bets(tokens, recording, numbers(u)) for u in (0.0, 1.0))
        yield Bet(row, np.concatenate([found.logs, on_sets(low, high, purses.set_off(recording))]))


def numbers(number: float) -> Any:
    """Return an auditor's generator whose numbers are all the same."""
    return SimpleNamespace(random=lambda count: np.full(count, number))


def largest(found):
    return max(bet.mean for bet in found)


@pytest.mark.parametrize("listed", [256, 3])
@pytest.mark.parametrize("kind", ROWS)
def test_no_bet_on_a_step_gains_on_average_under_its_rule(kind, listed, tmp_path):
    for rule in SAMPLED:
        assert largest(bets_on_outcomes(tmp_path / rule, kind, rule, listed)) <= MOST, rule


@pytest.mark.parametrize("kind", ROWS)
def test_no_bet_on_a_step_gains_where_its_request_may_have_ended_inside_the_draft(kind, tmp_path):
    for rule in SAMPLED:
        for cap in range(1, GAMMA + 1):
            assert largest(bets_on_outcomes(tmp_path / f"{rule} {cap}", kind, rule, cap=cap)) <= MOST, rule


@pytest.mark.parametrize("listed", [256, 3])
@pytest.mark.parametrize("kind", ROWS)
def test_no_bet_on_a_token_gains_while_it_follows_its_row(kind, listed, tmp_path):
    for mine in ("target", "draft"):
        assert largest(bets_on_all_tokens(tmp_path / mine, kind, mine, listed)) <= MOST, mine


def test_no_bet_on_a_token_gains_in_a_dump_that_names_no_vocabulary_and_no_other_token(tmp_path):
    row, logs = np.array([0.3, 0.3] + [0.05] * 8), list[np.ndarray]()
    for x in range(10):
        file = tmp_path / f"{x}.jsonl"
        file.write_text(json.dumps({"tokens": [], "next": {"token": x, "top": [[0, 0.3], [1, 0.3]]}}) + "\n")
        recording = StepLines.open(file)
        found, _ = lines._bets([*recording.listed("target")], recording, numbers(0.5))
        logs.append(found.logs[:, 0])
    assert Bet(row, np.stack(logs, 1)).mean <= MOST


@pytest.mark.parametrize("digits", [4, 17])
@pytest.mark.parametrize("kind", ROWS)
def test_no_bet_on_a_token_gains_where_lists_of_its_row_are_rounded(kind, digits, tmp_path):
    assert largest(bets_on_lists(tmp_path / "steps.jsonl", kind, digits)) <= MOST


def test_no_bet_on_a_sibling_gains_if_siblings_are_drawn_independently(tmp_path):
    elder, unknown = 1, np.full(V, np.nan)
    for case in cases("small denominators", 1):
        part, _ = recorded(tmp_path / str(id(case)), "", [(case, case.drafts, (x,)) for x in range(V)], 256)
        rows, row = part.steps.rows_at(np.zeros(V, dtype=int)), case.target[0]
        elders = np.where(np.arange(V) == elder, np.inf, row[elder])
        found = bets.bets_on_tokens(rows, "target", part.steps.at_last[:, 0], unknown, unknown, 0.0, V, elders)
        assert Bet(row, found.logs).mean <= MOST


def classes_over_outcomes(folder, dtype):
    """Return which classes the first drafted token is in, of 30 steps and every Y: [classes, steps, Y].

    Its probability is at the threshold of a class, and so is its coin, and Y is listed only where it came out.
    """
    rng, steps = np.random.default_rng(0), []
    for _ in range(30):
        target, draft = (np.append(p, (1 - p) * rng.dirichlet(np.full(V - 1, 0.5))) for p in (0.1, 0.2))
        case = Case(*(np.stack([row] * n).astype(dtype or float) for row, n in ((target, 3), (draft, 2))), (0, 0))
        steps += [(case, case.drafts, (y,)) for y in range(V)]
    part, _ = recorded(folder, dtype, steps, 3)
    coins = RULES["token"].coins(part.steps)
    found = [inside(part.steps, coins)[:, 0] for inside in tilts.CLASSES.values()]
    [in_hundredths] = [law for law in mutants.TOKEN_MUTANTS if law.name == "M04"]
    found.append(in_hundredths.coins(part.steps)[:, 0])
    return np.stack(found).reshape(-1, 30, V)


@pytest.mark.parametrize("dtype", ["", "float32"])
def test_no_class_of_drafted_tokens_depends_on_what_came_out(dtype, tmp_path, monkeypatch):
    def dependent(folder):
        found = classes_over_outcomes(tmp_path / folder, dtype)
        return int((np.abs(found - found[..., :1]) > 1e-4).any(2).any(1).sum())

    assert dependent("right") == 0
    for module in (tilts, mutants):
        monkeypatch.setattr(module, "LAST_BITS", 0.0)
    assert dependent("wrong") == 3, "the last bits of a row, of two classes and a coin in hundredths"


# ---------------------------------------------------------------- planted


def nuclei_by_two_summations(rows, values, at):
    """Return who is inside by the mass above, and the nucleus' mass by another sum."""
    every, ends = np.arange(len(at)), np.cumsum(-np.sort(-values, axis=-1), axis=-1)
    own, place = values[every, at][:, None], np.arange(values.shape[-1])
    above = np.array([p[p > one].sum() + p[:k][p[:k] == one].sum() for p, one, k in zip(values, own[:, 0], at)])
    found = []
    for mass in NUCLEI:
        kept = np.minimum((ends < mass).sum(-1), len(place) - 1)
        found.append((above < mass, ends[every, kept]))
    return found


def bounds_of_token_verification(law, steps, epsilon):
    """Return the bounds of another rule than the one that is claimed."""
    return at_most(RULES["token"], steps, epsilon)


def by_what_came_out(steps, coins):
    """Return whether the last token that came out has an odd id, of each drafted token."""
    return np.broadcast_to(steps.last[:, None] % 2 == 1, coins.shape)


def more_of_all_odd_ids(draw, inside, share, others=False):
    """Return a draw in which odd ids have more weight, and those that are not listed have what they had."""

    def changed(steps, rows):
        weights = draw(steps, rows)
        return laws.Weights(np.where(rows.ids % 2 == 1, 4 * weights.listed, weights.listed), weights.rest)

    return changed


def classes_of_what_came_out(rows, values, at, vocabulary):
    """Return the bets on odd ids, to which a token belongs that is listed only because it came out."""
    odd = rows.ids % 2 == 1
    mass = np.where(odd & (np.arange(values.shape[-1]) < rows.natural[:, None]), values, 0.0).sum(-1)
    return (np.where(odd[np.arange(len(at)), at], np.log(2), 0.0) - np.log1p(mass))[None]


def test_a_bet_by_classes_that_gains_on_average_is_found_out(tmp_path, monkeypatch):
    with monkeypatch.context() as wrong:
        wrong.setitem(tilts.CLASSES, "odd ids", by_what_came_out)
        assert largest(bets_on_outcomes(tmp_path / "coins", "boundaries", "token")) > 1.01
    with monkeypatch.context() as wrong:
        wrong.setattr(tilts, "_less_of", more_of_all_odd_ids)
        assert largest(bets_on_outcomes(tmp_path / "draws", "float32", "token", listed=3)) > 1.01
    with monkeypatch.context() as wrong:
        wrong.setattr(bets, "_on_ids", classes_of_what_came_out)
        assert largest(bets_on_all_tokens(tmp_path / "tokens", "float32", "target", listed=3)) > 1.01


def test_a_bet_that_gains_on_average_is_found_out(tmp_path, monkeypatch):
    with monkeypatch.context() as wrong:
        wrong.setattr(bets, "_nuclei", nuclei_by_two_summations)
        assert largest(bets_on_all_tokens(tmp_path / "nuclei", "uniform", "target")) > 1.05
    with monkeypatch.context() as wrong:
        wrong.setattr(bets, "at_most", bounds_of_token_verification)
        assert largest(bets_on_outcomes(tmp_path / "bounds", "boundaries", "block")) > 1.01
    with monkeypatch.context() as wrong:
        wrong.setattr(purses, "set_off", lambda recording: 0.0)
        assert largest(bets_on_lists(tmp_path / "steps.jsonl", "float32", 4)) > 1 + 1e-6
    with monkeypatch.context() as wrong:
        wrong.setattr(bets, "_bets_on_kept", lambda law, against, *_: np.full((len(against), 1), np.inf))
        assert largest(bets_on_outcomes(tmp_path / "ended", "boundaries", "token", cap=1)) == np.inf
