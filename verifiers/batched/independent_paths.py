"""Rules for K independent draft paths on batches of tensors: multi-round rejection (SpecInfer), k-SEQ (SpecTr)."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from .emitted import EmittedPaths, emitted_paths
from .sampling import Uniforms, pick, running_sums

HALVINGS = 20
"""Halvings of the interval of rho, as in ``verifiers.trees.k_seq``: rho is at most k / 2^20 above rho*."""


class DraftPaths(NamedTuple):
    """A batch of K paths for each of B texts, with the rows of both models as probabilities in float64.

    target: [B, K, gamma + 1, V].
    draft: [B, K, gamma, V].
    tokens: [B, K, gamma].
    """

    target: Tensor
    draft: Tensor
    tokens: Tensor


class PathSiblings(NamedTuple):
    """A batch of siblings: what may follow the accepted text of each of B texts.

    target, draft: the rows of both models there, [B, V].
    tokens: of every path, [B, K].
    alive: which paths begin with the accepted text, [B, K].
    coins: [B, K].
    """

    target: Tensor
    draft: Tensor
    tokens: Tensor
    alive: Tensor
    coins: Tensor

    def ratios(self) -> Tensor:
        """Return M_b / M_s of each path's token, [B, K]."""
        return self.target.gather(1, self.tokens) / self.draft.gather(1, self.tokens)


Step = Callable[[PathSiblings], tuple[Tensor, Tensor]]
"""One step of a rule: the accepted path of each text, K where there is none, [B]; the weights of Y then."""


def multi_round(siblings: PathSiblings) -> tuple[Tensor, Tensor]:
    """Verify as ``verifiers.trees.one_by_one.multi_round`` does, for siblings drawn from one row."""
    p, q, tokens, alive, coins = siblings
    paths = tokens.shape[1]
    chosen = torch.full_like(tokens[:, 0], paths)
    for k in range(paths):
        tested = alive[:, k] & (chosen == paths)
        passed = tested & (coins[:, k] < siblings._replace(target=p).ratios()[:, k])
        chosen = torch.where(passed, k, chosen)
        rest = (p - q).clamp(min=0)
        total = rest.sum(-1, keepdim=True)
        p = torch.where((tested & ~passed)[:, None] & (total > 0), rest / total, p)
    return chosen, p


def k_seq(siblings: PathSiblings) -> tuple[Tensor, Tensor]:
    """Verify as ``verifiers.trees.k_seq.step`` does."""
    p, q, tokens, alive, coins = siblings
    k = alive.sum(1, keepdim=True).to(p.dtype)
    rho = smallest_rho(p, q, k)
    passed = alive & (coins < siblings.ratios() / rho)
    chosen = torch.where(passed.any(1), passed.long().argmax(1), tokens.shape[1])
    taken = torch.minimum(q, p / rho)
    beta = taken.sum(-1, keepdim=True)
    rest = (p - taken * (1 - (1 - beta) ** k) / beta).clamp(min=0)
    return chosen, torch.where(rest.sum(-1, keepdim=True) > 0, rest, p)


def smallest_rho(p: Tensor, q: Tensor, k: Tensor) -> Tensor:
    """Return [B, 1] as ``verifiers.trees.k_seq.smallest_rho``, by the same bisection. k: [B, 1]."""

    def is_valid(rho: Tensor) -> Tensor:
        beta = torch.minimum(q, p / rho).sum(-1, keepdim=True)
        return 1 - (1 - beta) ** k <= rho * beta

    low, high = torch.ones_like(k), k
    high = torch.where(is_valid(low), low, high)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        valid = is_valid(middle)
        low, high = torch.where(valid, low, middle), torch.where(valid, middle, high)
    return high


def by_descent(paths: DraftPaths, chance: Uniforms, step: Step) -> EmittedPaths:
    """Walk down from the context, one token at a time, while a path is accepted; equal tokens go on together.

    chance: of B * K rows, a text's one below the other; Y is drawn by the number of its first row.
    Guarantee: the law of ``verifiers.trees.descent.descend`` of the rule, to the rounding of float64; a token to which
    the target gives probability 0 is never emitted.
    """
    batch, many, gamma = paths.tokens.shape
    texts, coins = torch.arange(batch, device=paths.tokens.device), chance.acceptance.reshape(batch, many, gamma)
    alive = torch.ones_like(paths.tokens[:, :, 0], dtype=torch.bool)
    open_ = torch.ones_like(texts, dtype=torch.bool)
    accepted, rest = torch.zeros_like(texts), paths.target[:, 0, 0]
    for i in range(gamma):
        first, tokens = alive.long().argmax(1), paths.tokens[:, :, i]
        rows = paths.target[texts, first, i], paths.draft[texts, first, i]
        chosen, left = step(PathSiblings(*rows, tokens, alive, coins[:, :, i]))
        goes_on = open_ & (chosen < many)
        rest = torch.where((open_ & ~goes_on)[:, None], left, rest)
        taken = tokens.gather(1, chosen.clamp(max=many - 1)[:, None])
        alive = torch.where(goes_on[:, None], alive & (tokens == taken), alive)
        accepted, open_ = accepted + goes_on, goes_on
        if not open_.any():
            break
    path = alive.long().argmax(1)
    rest = torch.where(open_[:, None], paths.target[texts, path, gamma], rest)
    last = pick(running_sums(rest), chance.residual[::many, :1])
    return emitted_paths(paths.tokens.flatten(0, 1), accepted, path, last)


STEPS: dict[str, Step] = {"spec-infer": multi_round, "k-seq": k_seq}
"""The rules by their names in ``verifiers.trees.registry``."""
