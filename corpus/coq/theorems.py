"""Proofs for every vocabulary and every gamma, checked by Coq; and that its definitions are the Python code's."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

from draftproof.corpus import coq
from draftproof.corpus.coq.agreement import compare
from draftproof.models.battery import drawn, drawn_markov, toy
from draftproof.models.problem import Problem
from draftproof.proofs.proving import Proof, ProofResult, size_of
from draftproof.verifiers.evidence import HOLDS, NO_EVIDENCE

_THEOREMS = {
    "lemma-1": "lemma_1 toy_block toy_token",
    "lemma-2": "lemma_2 loop_completed block_lossless token_lossless lemma_2_endings lemma_2_eos lemma_2_up_to_eos "
    "block_lossless_eos after_eos_anything",
    "theorem-1": "theorem_1 theorem_1_fair stream_law token_valid program_law program_run",
    "lemma-3": "lemma_3 lemma_3_conditional",
    "lemma-4": "lemma_4 lemma_4_attained",
    "theorem-2": "theorem_2_one theorem_2_off_path emitting_off_the_path block_kernel token_le_block",
    "theorem-2-iterations": "token_le_block_iterations token_le_block_grows landing block_best theorem_2_one_iteration "
    "theorem_2_gamma_1 theorem_2_gamma_2 theorem_2_context_free",
    "theorem-2-fails": "theorem_2_fails theorem_2_boundary theorem_2_fails_gamma_2 theorem_2_fails_gamma_3 "
    "theorem_2_fails_with_eos sure_bonus_valid sure_bonus_program sure_bonus_rows block_rows",
    "theorem-2-calls": "theorem_2_calls theorem_2_calls_length theorem_2_calls_eos long_run_rate long_run_met cost "
    "block_strategy_valid block_strategy_play",
    "lemma-8": "lemma_8 greedy_completed greedy_lossless",
    "lemma-9": "lemma_9 greedy_program",
    "lemma-10": "lemma_10 Etau_greedy lemma_10_attained",
    "lemma-7": "lemma_7",
    "remark-c1": "greedy_in_plain_loop_biased modified_point_mass greedy_more_in_one_fewer_in_three",
    "theorem-3": "theorem_3 theorem_3_all",
    "reaches": "reach_polytope keeping_fair certified_optimum",
    "composition": "adaptive_fair mapped_lossless one_hot_rule one_hot_sampled batch_marginal ends_by_coin_not_valid",
    "lattice": "near_law near_law_uniform lattice_lt_near lattice_le_near looked_up_near uniforms_on_a_lattice "
    "lattice_lt_0 lattice_le_0 support_leak",
    "rounding": "sum_near coin_near row_near block_rounding near_law_here coin_here problem_rounding token_rounding "
    "near_law_rows greedy_rounding tree_rounding running_sum_near running_sum_tails running_sum_bound "
    "looked_up_in_a_running_sum stream_rounding rounding_met greedy_rounding_met tree_rounding_met running_sum_met "
    "stream_rounding_met",
    "rounding-trees": "descend_near multi_round_rounding transport_rounding traversal_rounding k_seq_rounding "
    "plan_near transport_plan_rounding multi_round_rounding_met traversal_rounding_met k_seq_rounding_met plan_met "
    "choices_met resolution_rounding resolution_met scaled_transport_rounding scaled_transport_met "
    "greedy_multi_path_rounding multi_path_rows_met descents_near naive_rounding chosen_rounding one_draft_near "
    "row_rounding judged_rounding larger_coin_rounding decided_rounding thresholds_rounding cactus_rounding "
    "published_rounding shares_rounding truncated_rounding hierarchical_rounding tree_monte_carlo_rounding "
    "chosen_rounding_met any_row_met hierarchical_rounding_met thresholds_rounding_met cactus_rounding_met "
    "truncated_met tree_monte_carlo_met picks_first_race race_near list_matching_rounding races_met",
    "several-drafts": "recursive_rejection_valid traversal_valid k_seq_law descend_valid multi_round_step "
    "spec_infer_valid without_replacement_valid without_replacement_distinct k_seq_tree_valid chosen_law "
    "greedy_multi_path_valid naive_valid monte_carlo_block joint_law_drafts joint_law_target",
    "transport": "transport_valid resolution_valid scaled_transport_valid",
    "same-definitions": "Qc_realFieldType emitted_fastE",
}
THEOREMS = {claim: tuple(names.split()) for claim, names in _THEOREMS.items()}
"""The theorems of proofs/mechanized that a claim rests on."""

EVERY = "every V, gamma, models with zeros, real field"
SINGLE = {
    "theorem-2-iterations": f"{EVERY}; against every valid verifier in the cases named",
    "lemma-1": "V 2, gamma 2",
    "lemma-7": "any finitely many real values",
    "remark-c1": "V 2, gamma 2, the example of Section 2",
    "theorem-2-fails": "gamma 2 from 3 iterations on, every greater gamma from 2 on; models with V 2 (or 3, ending), "
    "verifier valid for every V",
    "rounding": f"{EVERY}; the standard model of rounding assumed of each operation, without overflow and underflow",
    "rounding-trees": "every V, depth and shape of tree, real field; the standard model assumed of each operation; of "
    "transports how many augmentations make the plan, and what the law of the drafts is off, are given",
    "several-drafts": "every V, depth and shape of tree, rows that siblings are drawn from, real field; every rho "
    "that k-SEQ allows",
    "transport": "every V, depth and shape of tree, real field: that transports are lossless, not which accepts most",
    "same-definitions": "what the comparison rests on, not the comparison",
}


class Compiling:
    """The folder in which everything is compiled when it is first needed, kept as long as there are proofs that use it.

    kept, progress: as of ``coq.Build``.
    """

    def __init__(self, kept: Path | None, progress: coq.Progress):
        self._kept, self._progress = kept, progress
        self._folder: TemporaryDirectory[str] | None = None

    @cached_property
    def build(self) -> coq.Build:
        self._folder = TemporaryDirectory(prefix="draftproof-coq-")
        with coq.workplace(Path(self._folder.name)) as place:
            return coq.Build(place, self._kept, progress=self._progress)

    def closed(self, theorems: tuple[str, ...]) -> ProofResult:
        """Return whether the theorems are proved and rest on nothing."""
        if reason := coq.missing():
            return ProofResult(NO_EVIDENCE, reason)
        rows = self.build.check(theorems)
        wrong = next((row for row in rows if row.verdict != HOLDS), None)
        seconds = sum(row.seconds for row in rows)
        if wrong:
            return ProofResult(wrong.verdict, f"{wrong.theorem}: {wrong.detail}", seconds)
        return ProofResult(HOLDS, seconds=seconds)

    def tied(self, problems: Sequence[Problem], iterations: int) -> ProofResult:
        """Return whether Coq's definitions give the same numbers as the Python code."""
        if reason := coq.missing():
            return ProofResult(NO_EVIDENCE, reason)
        self.build.compile(["Law"])
        rows = compare(problems, iterations, self.build.place)
        wrong = next((row for row in rows if row.verdict != HOLDS), None)
        if wrong:
            return ProofResult(wrong.verdict, f"{wrong.definition} on {wrong.problem}: {wrong.detail}")
        return ProofResult(HOLDS, f"{sum(row.compared for row in rows)} numbers compared")


def proofs(kept: Path | None = None, progress: coq.Progress = lambda *_: None) -> Iterator[Proof]:
    """Yield one proof for each claim; if Coq is missing, each says so. kept, progress: as in ``coq.Build``."""
    compiling = Compiling(kept, progress)
    for claim, theorems in THEOREMS.items():
        size = SINGLE.get(claim, EVERY)
        yield Proof(claim, "coq", ", ".join(theorems), size, lambda theorems=theorems: compiling.closed(theorems))
    kinds = ("generic", "zeros", "one-hot-draft", "equal")
    single = [toy(2), *(drawn(3, 2, kind) for kind in kinds), drawn(2, 3, "mixed")]
    for problems, iterations in ((single, 1), ([drawn_markov(2, 1, "mixed"), drawn_markov(2, 2), toy(2)], 2)):
        size = size_of(problems) + (f", {iterations} iterations" if iterations > 1 else "")
        yield Proof("same-definitions", "coq", "token, block, greedy-block against the Python code", size,
                    lambda problems=problems, i=iterations: compiling.tied(problems, i))  # fmt: skip
