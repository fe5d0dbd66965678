"""Dumps of steps as JSON lines: bets on the tokens whose rows have a list, and what cannot be judged."""

import numpy as np

from ....models.step_lines import PRECISE, ListedToken, StepLines
from ....stattests.tilts import TEMPERATURES
from ....verifiers.conditional.mutants import tempered
from ....verifiers.conditional.sparse import CLASSES
from ....verifiers.conditional.steps import PairRows
from .acceptance import Accepted
from .bets import ON_TOKENS, LogBets, bets_on_tokens, transforms
from .shard import Found

AT_ONCE = 4096
"""Tokens that are bet on together."""


def with_lists(found: Found, recording: StepLines, seed: int) -> Found:
    """Put bets on tokens and their lists in the place of those on the rows of a shard, which depend on the tokens."""
    generator = np.random.default_rng(seed)
    texts = [] if recording.greedy else list(recording.listed("target"))
    drafts = list(recording.listed("draft")) if recording.drafts == "sampled" else []
    found.texts, found.text_transform = _bets(texts, recording, generator)
    found.drafts, found.draft_transform = _bets(drafts, recording, generator)
    found.chains = Accepted.joined([])  # other rules need whole rows
    return found


def _bets(
    tokens: list[ListedToken], recording: StepLines, generator: np.random.Generator
) -> tuple[LogBets, np.ndarray]:
    bets, found = [], [np.zeros(0)]
    for start in range(0, len(tokens), AT_ONCE):
        part = tokens[start : start + AT_ONCE]
        n, size = len(part), max(len(one.ids) for one in part)
        ids, values = np.full((n, size), -1), np.zeros((n, size))
        for k, one in enumerate(part):
            ids[k, : len(one.ids)], values[k, : len(one.ids)] = one.ids, one.values
        at = np.array([one.ids.index(one.token) for one in part])
        nothing, off = np.zeros((n, CLASSES)), np.full(n, 2 / PRECISE if recording.unit else 0.0)
        natural = np.array([len(one.ids) - 1 for one in part])
        rows = PairRows(
            ids, values, np.zeros_like(values), nothing, nothing, np.zeros(n), np.zeros((n, 2)), natural, off
        )
        unknown = np.full(n, np.nan)
        bets.append(bets_on_tokens(rows, "target", at, unknown, unknown, recording.header.epsilon, recording.size))
        _temper(bets[-1], rows, at, recording)
        found.append(transforms(rows, "target", at, generator.random(n)))
    return LogBets.joined(bets, len(ON_TOKENS)), np.concatenate(found)


def _temper(bets: LogBets, rows: PairRows, at: np.ndarray, recording: StepLines) -> None:
    """Put bets on other temperatures in the place of those that take all other tokens for one."""
    every, others = np.arange(len(at)), rows.natural
    listed = np.where(np.arange(rows.target.shape[1]) < others[:, None], rows.target, 0.0)
    mass, count = rows.target[every, others], np.maximum(recording.size - others, 1)
    least = np.minimum(np.where(listed > 0, listed, 1.0).min(-1, initial=1.0), mass)
    own, slack = rows.target[every, at], np.log1p(4 * recording.header.epsilon + rows.off)
    for k, t in enumerate(TEMPERATURES):
        weights = tempered(listed, mass, count, least, t)
        mine = np.where(at == others, weights.rest, weights.listed[every, at])
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(mine) - np.log(weights.listed.sum(-1) + weights.rest) - np.log(own) - slack
        bets.logs[k] = np.where(bets.possible, logs, 0.0)


def not_examined(recording: StepLines) -> list[str]:
    """Return what a dump leaves open that a recording would not."""
    steps = recording.read(recording.folder)
    cut = sum(len(line.tokens) for line in recording.lines.values()) - len(steps.arrays["draft_tokens"])
    sentences = ["what lists of the most probable tokens leave out: how the rest of a row is split among its tokens"]
    if recording.drafts == "unknown" and recording.rule == "token":
        sentences.append("whether the engine follows its rule: the first line does not say how tokens were drafted")
    if cut:
        sentences.append(f"{cut:,} drafted tokens that are not known well enough, or come after one that is not")
    if recording.rule == "token" and recording.drafts == "sampled":
        sentences.append("replacements, except a rejected token that is emitted: draft probabilities are lists")
    if unseen := sum(not line.next.top for line in recording.lines.values() if line.kept == len(line.tokens)):
        sentences.append(f"{unseen:,} tokens after all drafted ones: no list of the target's row")
    if not recording.greedy and not any(True for _ in recording.listed("target")):
        sentences.append("whether outputs follow the target: no list of its most probable tokens")
    return [*sentences, "what other rules would accept: it depends on whole rows"]
