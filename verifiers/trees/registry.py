"""The rules for trees by name."""

from typing import NamedTuple

from . import (
    global_resolution,
    k_seq,
    list_gumbel,
    one_by_one,
    optimal_transport,
    shared_gumbel,
    spec_hub,
)
from .descent import Step, descend
from .draft_tree import EVERY_WAY, HUB, IID, TOP, WAYS, WITHOUT_REPLACEMENT, Drafting, VerifyTree
from .greedy_multi_path import greedy_multi_path
from .hierarchical import hierarchical, hierarchical_as_published
from .lossy_steps import (
    cactus_step,
    ensemble_step,
    entropy_adaptive_step,
    judge_step,
    thresholds_step,
    top_n_step,
)
from .scaled_transport import scaled_transport
from .traversal import traversal
from .tree_monte_carlo import tree_monte_carlo
from .typical import typical


class TreeReference(NamedTuple):
    """A rule for trees.

    drafts: how siblings must have been drawn.
    shape: "tree", "paths" (independent paths) or "path" (a single one): which trees it is for.
    step: one step, if it goes down token by token (formulas of its law use it where there are too many trees).
    lossless: False for a rule that is known to change the law.
    modifies_target: as in ``verifiers.registry.Reference``; no rule for trees does.
    """

    name: str
    verify: VerifyTree
    source: str
    drafts: tuple[str, ...] = WAYS
    shape: str = "tree"
    step: Step | None = None
    lossless: bool = True
    modifies_target: bool = False

    def with_step(self, step: Step) -> "TreeReference":
        """Return a rule that goes down token by token with another step."""
        return self._replace(verify=descend(step), step=step)

    def is_for(self, drafting: Drafting) -> bool:
        """Return whether the rule is meant for trees that are drawn so; a single path is one however it is drawn."""
        if drafting.block:
            return self.drafts != (TOP,)
        fits = {"tree": True, "paths": drafting.paths is not None, "path": drafting.chain}[self.shape]
        return fits and drafting.how in self.drafts

    @property
    def meant_for(self) -> str:
        """Return the trees it is meant for, in words."""
        shapes = {"tree": "trees", "paths": "independent paths", "path": "a single path"}
        return f"{shapes[self.shape]} drawn {' or '.join(self.drafts)}"


def _by_steps(
    name: str, step: Step, source: str, drafts: tuple[str, ...] = WAYS, shape: str = "tree", lossless: bool = True
) -> TreeReference:
    return TreeReference(name, descend(step), source, drafts, shape, step, lossless)


TREE_REFERENCES = {
    r.name: r
    for r in (
        _by_steps("naive", one_by_one.naive_sampling, "Miao et al. 2024 (SpecInfer), naive sampling"),
        _by_steps("spec-infer", one_by_one.multi_round, "Miao et al. 2024 (SpecInfer), Algorithm 2"),
        _by_steps("without-replacement", one_by_one.without_replacement,
                  "Chen et al. 2024 (Sequoia), Algorithm 2; Li et al. 2024 (EAGLE)", (WITHOUT_REPLACEMENT,)),
        _by_steps("top-tokens", one_by_one.top_tokens, "EAGLE-2, evaluate_posterior", (TOP,)),
        _by_steps("k-seq", k_seq.step, "Sun et al. 2023 (SpecTr), Algorithm 3", (IID,)),
        _by_steps("optimal-transport", optimal_transport.step,
                  "Sun et al. 2023 (SpecTr); Khisti et al. 2025; Hu et al. 2025", EVERY_WAY),
        _by_steps("global-resolution", global_resolution.step, "Thomas and Pal 2025, its shares capped by the target",
                  (IID,)),
        _by_steps("spec-hub", spec_hub.step, "Sun et al. 2024 (SpecHub), the code at b67e1213", (HUB,)),
        TreeReference("scaled-transport", scaled_transport, "derived here, after the abstract of Weng et al. 2026"),
        TreeReference("traversal", traversal, "Weng et al. 2025, Algorithms 1 and 2"),
        TreeReference("greedy-multi-path", greedy_multi_path, "Thomas and Pal 2026", (IID,), "paths"),
        TreeReference("tree-monte-carlo", tree_monte_carlo, "Hu and Huang 2024 (ASpS)", (IID,), "path"),
        TreeReference("hierarchical", hierarchical, "Zhou et al. 2026 (HSD), capped at the end too", (IID,), "path"),
        TreeReference("hierarchical-as-published", hierarchical_as_published, "Zhou et al. 2026 (HSD), the code",
                      (IID,), "path", lossless=False),
        _by_steps("shared-gumbel", shared_gumbel.step, "Daliri et al. 2024", (IID,), "path"),
        _by_steps("list-gumbel", list_gumbel.step, "Rowan et al. 2025 (Gumbel-max list sampling)", (IID,)),
        TreeReference("typical", typical, "Cai et al. 2024 (Medusa), Section 2.3.1; lossy", lossless=False),
        _by_steps("ensemble", ensemble_step(), "DIVERSED; transformers, assistant_ensemble_weight 1/2; lossy",
                  shape="path", lossless=False),
        _by_steps("top-n", top_n_step(), "TensorRT-LLM, relaxed acceptance; lossy", lossless=False),
        _by_steps("thresholds", thresholds_step(5, 5),
                  "SGLang, threshold_single and threshold_acc 1/2; lossy", lossless=False),
        _by_steps("entropy-adaptive", entropy_adaptive_step(),
                  "vllm#31483 (EARS), tolerance 0.3; lossy", shape="path", lossless=False),
        _by_steps("judge", judge_step(), "Bachmann et al. 2025 (Judge Decoding), a judge of the row; lossy",
                  shape="path", lossless=False),
        _by_steps("cactus", cactus_step(), "Hao and Mou 2026, delta 0.1; lossy", shape="path", lossless=False),
        _by_steps("global-resolution-truncated",
                  global_resolution.global_resolution_step(global_resolution.FEW_SWEEPS, capped=False),
                  "Thomas and Pal 2025, stopped after 3 sweeps; lossy", (IID,), lossless=False),
    )
}  # fmt: skip

IN_FLOATS = ("spec-infer", "without-replacement", "traversal", "k-seq", "optimal-transport", "global-resolution",
             "spec-hub", "scaled-transport", "greedy-multi-path", "naive", "top-tokens", "hierarchical",
             "list-gumbel", "shared-gumbel", "tree-monte-carlo")  # fmt: skip
"""Rules of whose rounding, as functions of ``in_floats``, a theorem speaks."""


def tree_reference(name: str) -> TreeReference:
    """Return the rule of that name. Raises: KeyError with the known names."""
    try:
        return TREE_REFERENCES[name]
    except KeyError:
        raise KeyError(f"no rule for trees {name!r}; known: {', '.join(TREE_REFERENCES)}") from None
