"""Measuring a cell: every column on the same prompts, one after the other in an order of its own."""

import hashlib
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import Any, ClassVar

import torch
from torch import Tensor

from draftproof.models.errors import InputError
from draftproof.models.generating.caches import CachedModel
from draftproof.models.generating.generate import generate
from draftproof.models.generating.loop import NO_VERIFIER, DecodingLoop, PlainLoop
from draftproof.models.generating.loop_verifiers import Drafted, LoopVerifier, loop_verifier
from draftproof.models.generating.result import Generated, tokens_and_calls
from draftproof.models.generating.sampling import BatchChance
from draftproof.models.generating.settings import LoopSettings
from draftproof.models.generating.several_paths import SeveralPaths
from draftproof.models.pairs.pair import Pair
from draftproof.models.store import Store
from draftproof.verifiers.batched.emitted import Emitted, EmittedPaths
from draftproof_paper.tables.plan import CELLS, CELLS_HOLD, PATH_VERIFIERS, PLAIN, Column, MeasurementCell, TablesPlan
from draftproof_paper.tables.subjects import PromptGroup


class ReadOnce(CachedModel):
    """Prompts are read once, for all runs of a cell and all rows that begin with them."""

    kept: ClassVar[dict[Any, CachedModel]] = {}

    def prefill(self, texts: Sequence[Sequence[int]]) -> None:
        places = {text: place for place, text in enumerate(dict.fromkeys(map(tuple, texts)))}
        if (key := (self.model, *places)) not in self.kept:
            self.kept[key] = CachedModel(self.model, len(places), self.name)
            self.kept[key].prefill(list(places))
        once = self.kept[key]
        self.cache, self.filled, self.read = deepcopy(once.cache), once.filled, once.read
        if self.filled.shape[1]:
            self.select([places[tuple(text)] for text in texts])


class _ReadingOnce:
    target_cache = draft_cache = ReadOnce


class _Loop(_ReadingOnce, DecodingLoop):
    pass


class _Plain(_ReadingOnce, PlainLoop):
    pass


class _Paths(_ReadingOnce, SeveralPaths):
    pass


class Bench:
    """The models and prompts of a plan. pairs: one for each drafter."""

    def __init__(self, plan: TablesPlan, pairs: Sequence[Pair], groups: Sequence[PromptGroup]):
        self.plan, self.pairs, self.groups = plan, pairs, groups

    def warm_up(self) -> None:
        """Each column on one prompt, unmeasured, so that what is compiled or allocated on first use is not measured."""
        for column in self.plan.columns(max(self.plan.temperatures)):
            self.run(column, self.groups[0], 1.0, 0, column.gamma + 2)

    def cell(self, cell: MeasurementCell) -> dict[str, Any]:
        """Return the measurements of a cell, as ``Record`` saves them.

        data: the source of the prompts
        columns: tokens and calls as in ``efficiency``, seconds and processor seconds after the prefill, tau of each
            call prompt after prompt, and a digest of the texts
        same_blocks: see ``SameBlocks``
        Raises: OutOfMemoryError.
        """
        group = self.groups[cell.group]
        ReadOnce.kept.clear()
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
        models = pair.target, pair.draft, group.prompts
        settings: dict[str, Any] = {
            "temperature": temperature, "max_new_tokens": new_tokens, "eos": pair.end, "seed": seed,
            "vocabulary": pair.vocabulary,
        }  # fmt: skip
        if column.verifier == PLAIN:
            return _Plain(pair.target, None, group.prompts, NO_VERIFIER, LoopSettings(**settings)).run()
        if column.verifier in PATH_VERIFIERS:
            settings |= {"paths": self.plan.paths, "loop": _Paths}
            return generate(*models, column.verifier, gamma=column.gamma, **settings)
        return generate(*models, rule or column.verifier, loop=_Loop, gamma=column.gamma, **settings)

    def _same_blocks(self, cell: MeasurementCell, group: PromptGroup) -> list[dict[str, Any]]:
        """One more run of each drafter, unmeasured, with the longest blocks: they begin with those of every gamma."""
        group = replace(group, prompts=group.prompts * self.plan.block_texts)
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


class ExpectedAcceptance:
    """E[tau | X^gamma] of draft blocks, for each gamma up to the blocks' length, by their rows in float64.

    Source: Sun et al. 2025, Algorithms 1 and 2; a test compares the mean over all blocks with the exact laws.
    """

    def __init__(self, drafted: Drafted):
        target, draft = (rows.double().softmax(-1) if drafted.logits else rows.double() for rows in drafted[:2])
        chosen = drafted.tokens.long()[..., None]
        self.ratios = (target[:, :-1].gather(-1, chosen) / draft.gather(-1, chosen)).squeeze(-1)
        survival = [torch.ones_like(self.ratios[:, 0])]
        for ratio in self.ratios.unbind(1):
            survival.append((survival[-1] * ratio).clamp(max=1))
        self.survival = torch.stack(survival[1:], 1)
        surplus = (self.survival[:, :-1, None] * target[:, 1:-1] - draft[:, 1:]).clamp(min=0).sum(-1)
        deficit = 1 - self.survival[:, :-1]
        self.accept = torch.where(deficit > 0, surplus / (surplus + deficit), 1.0)

    def by_token(self, gamma: int) -> Tensor:
        """[B]: sum_i prod_{j <= i} min(1, M_b(X_j) / M_s(X_j))."""
        return self.ratios[:, :gamma].clamp(max=1).cumprod(-1).sum(-1)

    def by_block(self, gamma: int) -> Tensor:
        """[B]: sum_i Pr(tau >= i) = sum_i (1 - prod_{j >= i} (1 - h_j)), since tau = max{i : eta_i < h_i}."""
        accept = torch.cat([self.accept[:, : gamma - 1], self.survival[:, gamma - 1 : gamma]], 1)
        if gamma == 1:
            return accept.sum(-1)
        return (1 - (1 - accept).flip(-1).cumprod(-1)).sum(-1)


class SameBlocks:
    """Both expectations for every block of a run. blocks: [gamma] -> (token, block) of each block."""

    def __init__(self, gammas: Sequence[int]):
        self.blocks: dict[int, list[tuple[float, float]]] = {gamma: [] for gamma in gammas}

    def rule(self) -> LoopVerifier:
        """Block verification that adds its blocks before it verifies them."""
        block = loop_verifier("block")

        def verify(drafted: Drafted, chances: BatchChance) -> Emitted | EmittedPaths:
            self.add(drafted)
            return block.verify(drafted, chances)

        return LoopVerifier(block.name, verify)

    def add(self, drafted: Drafted) -> None:
        expected = ExpectedAcceptance(drafted)
        for gamma, expectations in self.blocks.items():
            expectations += zip(expected.by_token(gamma).tolist(), expected.by_block(gamma).tolist(), strict=True)

    def as_json(self) -> list[dict[str, Any]]:
        """token, block: E[tau | block] of each block, in order."""
        return [
            {"gamma": gamma, "token": [token for token, _ in both], "block": [block for _, block in both]}
            for gamma, both in self.blocks.items()
        ]


class Record:
    """DIR/cells.jsonl: the settings, and the cells in the order in which they were measured.

    Raises: InputError for a folder of something else, settings that differ, a damaged file, another run into it.
    """

    def __init__(self, folder: str | Path, settings: dict[str, Any]):
        self.folder, self.file = Path(folder), Path(folder) / CELLS
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if not self.file.exists() and any(self.folder.iterdir()):
                raise InputError(f"{folder}: is not empty; expected a folder that is new, empty, or has {CELLS}")
        except OSError as error:
            raise InputError(f"{folder}: cannot be written ({error.strerror})") from None
        self._store = Store(self.file, CELLS_HOLD, settings)
        self.cells = {MeasurementCell(*key): row for key, row in self._store.rows.items()}

    def add(self, cell: MeasurementCell, measured: Mapping[str, Any]) -> None:
        """Save a cell: once this returns, it outlives a kill. Raises: InputError if it cannot be written."""
        self.cells[cell] = dict(measured)
        self._store.put(tuple(cell), self.cells[cell])

    def close(self) -> None:
        self._store.close()
