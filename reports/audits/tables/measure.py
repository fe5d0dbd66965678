"""Measuring a cell: every column on the same prompts, one after the other in an order of its own."""

import hashlib
from collections.abc import Sequence
from time import process_time
from typing import Any

from ....models.generating.efficiency import tokens_and_calls
from ....models.generating.loop import generate
from ....models.generating.loop_verifiers import LoopVerifier
from ....models.generating.plain import decode_plainly
from ....models.generating.result import Generated
from ....models.generating.several_paths import generate_by_paths
from ....models.pairs.pair import Pair
from .plan import PATH_VERIFIERS, PLAIN, Column, MeasurementCell, TablesPlan
from .same_blocks import SameBlocks
from .subjects import PromptGroup


class Bench:
    """The models and prompts of a plan. pairs: one for each drafter."""

    def __init__(self, plan: TablesPlan, pairs: Sequence[Pair], groups: Sequence[PromptGroup]):
        self.plan, self.pairs, self.groups = plan, pairs, groups

    def warm_up(self) -> None:
        """Each column on one prompt, unmeasured, so that what is compiled or allocated on first use is not measured."""
        for column in self.plan.columns(max(self.plan.temperatures)):
            self.run(column, self.groups[0], 1.0, 0, 3 * column.gamma + 3)

    def cell(self, cell: MeasurementCell) -> dict[str, Any]:
        """The measurements of a cell, as ``Record`` saves them.

        data: the source of the prompts
        columns: tokens and calls as in ``efficiency``, seconds after the prefill, processor seconds of the whole run,
            tau of each call prompt after prompt, and a digest of the texts
        same_blocks: see ``SameBlocks``
        Raises: OutOfMemoryError.
        """
        group = self.groups[cell.group]
        columns = []
        for column in self.plan.order(cell):
            began = process_time()
            run = self.run(column, group, cell.temperature, run_seed(cell, column), self.plan.new_tokens)
            tokens, calls = tokens_and_calls([run])
            columns.append({
                **column._asdict(), "tokens": tokens, "calls": calls, "seconds": run.seconds,
                "processor_seconds": process_time() - began,
                "accepted": [run.accepted(row) for row in range(len(group.prompts))] if column.gamma else [],
                "texts": hashlib.sha256(repr(run.tokens).encode()).hexdigest()[:16],
            })  # fmt: skip
        return {"data": group.data, "columns": columns, "same_blocks": self._same_blocks(cell, group)}

    def run(self, column: Column, group: PromptGroup, temperature: float, seed: int, new_tokens: int,
            rule: LoopVerifier | None = None) -> Generated:  # fmt: skip
        """Decode a group's prompts as a column does; rule: in place of its verifier."""
        pair = self.pairs[column.drafter]
        settings = {
            "temperature": temperature, "max_new_tokens": new_tokens, "eos": pair.end, "seed": seed,
            "vocabulary": pair.vocabulary,
        }  # fmt: skip
        if column.verifier == PLAIN:
            return decode_plainly(pair.target, group.prompts, **settings)
        if column.verifier in PATH_VERIFIERS:
            of_paths = column.verifier, self.plan.paths
            return generate_by_paths(pair.target, pair.draft, group.prompts, *of_paths, gamma=column.gamma, **settings)
        return generate(pair.target, pair.draft, group.prompts, rule or column.verifier, gamma=column.gamma, **settings)

    def _same_blocks(self, cell: MeasurementCell, group: PromptGroup) -> list[dict[str, Any]]:
        """One more run of each drafter, unmeasured, with the longest blocks: they begin with those of every gamma."""
        rows = []
        gammas = self.plan.block_gammas
        for drafter in self.plan.drafters():
            blocks = SameBlocks(gammas)
            column = Column(drafter, "block", max(gammas))
            self.run(column, group, cell.temperature, run_seed(cell, column), self.plan.new_tokens, blocks.rule())
            rows += [{"drafter": drafter, **row} for row in blocks.as_json()]
        return rows


def run_seed(cell: MeasurementCell, column: Column) -> int:
    """The seed of all randomness of a run: shared by the verifiers of one drafter and gamma, independent otherwise."""
    text = f"({cell.key()}, {column.drafter}, {column.gamma})"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
