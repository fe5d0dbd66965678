"""Texts by speculative decoding, on one draft path or several, or by the target alone."""

from collections.abc import Sequence
from typing import Any

from ...verifiers.chance import Chance
from ...verifiers.registry import Reference
from ...verifiers.trees.registry import TREE_REFERENCES, TreeReference
from .loop import NO_VERIFIER, DecodingLoop, PlainLoop
from .loop_verifiers import LoopVerifier, loop_verifier
from .result import Generated
from .settings import LoopSettings
from .several_paths import SeveralPaths, path_verifier

AnyVerifier = str | Reference | TreeReference | LoopVerifier
"""A verifier of blocks or a rule for trees, or its name in ``verifiers.registry`` or ``verifiers.trees.registry``."""


def verifier_for(
    verifier: AnyVerifier, paths: int, gamma: int, batched: bool = True
) -> tuple[LoopVerifier, type[DecodingLoop]]:
    """Return the verifier as the loop calls it, and the loop that it is for. Raises: InputError.

    paths, gamma, batched: of a rule for trees, as in ``path_verifier``.
    """
    if isinstance(verifier, TreeReference) or verifier in TREE_REFERENCES or paths != 1:
        rule = verifier if isinstance(verifier, TreeReference | str) else verifier.name
        return path_verifier(rule, paths, gamma, batched), SeveralPaths
    return loop_verifier(verifier), DecodingLoop


def generate(
    target: Any, draft: Any, prompts: Sequence[Sequence[int]], verifier: AnyVerifier = "block", *, paths: int = 1,
    chance: Sequence[Chance] | None = None, device: str | None = None, loop: type[DecodingLoop] | None = None,
    **settings: Any,
) -> Generated:  # fmt: skip
    """Continue the prompts by speculative decoding.

    target, draft: causal language models of transformers in evaluation mode, with one tokenizer. Without a draft the
        texts are sampled from the target alone; gamma and the verifier are not used.
    prompts: token ids, of any lengths.
    verifier: "token", "block", "greedy-block", another verifier of blocks, or a rule for trees.
    paths: K, drafted for each text and verified together by a rule for trees.
    chance: one source for each prompt, for the exact law; by default streams seeded by ``seed``.
    device: where the models are moved, by default the target's.
    loop: a subclass of ``DecodingLoop``, or of ``SeveralPaths``.
    settings: see ``LoopSettings``.
    Guarantee: each text follows the target's law under the settings, cut at the first end token or at max_new_tokens,
    up to rounding, for a lossless verifier and any gamma; a seed gives the same text again (on a GPU as far as its
    kernels repeat themselves), and with a fixed gamma a row's text does not depend on the batch's other rows.
    Raises: InputError in one line for what cannot be run.
    Source: Sun et al. 2025, Algorithms 3 and 6; for several paths Sun et al. 2023 (SpecTr), Miao et al. 2024.
    """
    checked = LoopSettings(**settings)
    if draft is None:
        given, usual = NO_VERIFIER, PlainLoop
    else:
        given, usual = verifier_for(verifier, paths, checked.longest_gamma, batched=chance is None)
    return (loop or usual)(target, draft, prompts, given, checked, chance, device).run()
