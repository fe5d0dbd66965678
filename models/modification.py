"""Algorithm 5: the target that greedy block verification must be followed by, nested across iterations."""

from typing import Any, NamedTuple

from ..verifiers.arithmetic import Row, positive_part
from .law import Model, Prefix


class Modified(NamedTuple):
    """M_new after an iteration that began behind ``start`` tokens and stopped early.

    For prefixes shorter than start + gamma: M_new(x | prefix) is proportional to max(M_b(y, x | c) - M_s(y, x | c), 0),
    c = the first ``start`` tokens, y = the tokens since, both probabilities joint over y and x; M_b from there on.
    target: may itself be a Modified model, the nesting of footnote 6. Where no token has positive weight the prefix
    cannot occur after the iteration; the target's own row stands there, so that the loop can go on from any prefix.
    Source: Sun et al. 2025, Appendix C, Algorithm 5, Eq. (31), and footnote 6.
    """

    target: Model
    draft: Model
    start: int
    gamma: int

    def row(self, prefix: Prefix) -> Row:
        row = self.target.row(prefix)
        if not self.start <= len(prefix) < self.start + self.gamma:
            return row
        target = draft = 1
        for n in range(self.start, len(prefix)):
            target = target * self.target.row(prefix[:n])[prefix[n]]
            draft = draft * self.draft.row(prefix[:n])[prefix[n]]
        weights = [positive_part(target * p - draft * q) for p, q in zip(row, self.draft.row(prefix), strict=True)]
        total = sum(weights)
        return [w / total for w in weights] if total != 0 else row

    def state(self, prefix: Prefix) -> Any:
        if len(prefix) >= self.start + self.gamma:
            return self.target.state(prefix)
        return (prefix, self.start)


def modified(target: Model, draft: Model, starts: tuple[int, ...], gamma: int) -> Model:
    """The target with the modifications of the given iterations, oldest first, each nested in the next."""
    for start in starts:
        target = Modified(target, draft, start, gamma)
    return target
