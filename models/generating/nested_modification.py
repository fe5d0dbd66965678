"""Algorithm 6 on tensors: the modifications of the target that are still in force, each nested in the next.

The exact form is models/decoding.py with models/modification.py; here each modification is two numbers a row.
"""

from collections.abc import Sequence

import torch

from ...verifiers.batched.emitted import Emitted
from ...verifiers.batched.greedy_block_verification import Modification, carried, modified
from ...verifiers.batched.rows import BatchRows
from .loop_verifiers import Drafted


class NestedModifications:
    """The modifications in force, oldest first."""

    def __init__(self) -> None:
        self.in_force: list[Modification] = []

    def applied(self, drafted: Drafted) -> tuple[Drafted, list[BatchRows]]:
        """The block with the modified target, and the rows that each modification refers to.

        The last of these rows are the block's own, to which the iteration's new modification will refer.
        """
        now = drafted.probabilities()
        seen = [now.rows()]
        for modification in self.in_force:
            now = now._replace(target=modified(now.target, seen[-1], now.draft, modification))
            seen.append(now.rows())
        return now, seen

    def followed(self, seen: list[BatchRows], given: Emitted) -> None:
        """Carry all modifications over the tokens of one iteration, and begin a new one with it."""
        gamma = torch.full_like(given.accepted, seen[-1].tokens.shape[1])
        new = Modification(gamma, torch.zeros_like(gamma, dtype=torch.float64))
        after = (carried(one, rows, given) for one, rows in zip([*self.in_force, new], seen, strict=True))
        self.in_force = [one for one in after if one.remaining.any()]

    def select(self, rows: Sequence[int]) -> None:
        """Go on with these rows of the batch."""
        for at, one in enumerate(self.in_force):
            chosen = torch.tensor(rows, device=one.remaining.device)
            self.in_force[at] = Modification(one.remaining[chosen], one.log_ratio[chosen])
