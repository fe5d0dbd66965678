"""The papers' algorithms, equations and statements: where each lives in this repository, and under which claim it is proved.

A place is ``file:name``, from the root: a name of a Python module, a theorem or definition of a Coq file. ``paper_mapping``
turns this into proofs/paper_mapping.md; a test fails when a place is gone.
"""

from typing import NamedTuple

PROVABLE_CLAIMS = {
    "lemma-1": "on the paper's example block verification accepts 11/9 tokens, token verification 10/9",
    "lemma-2": "a verifier with Eq. (7) makes the whole loop lossless, for any number of iterations",
    "theorem-1": "block (and token) verification is valid: X^tau, Y, completed by the target, follows M_b^{gamma+1}",
    "acceptance": "0 <= h_i <= 1 wherever a coin is flipped, and an empty residual is never drawn from",
    "lemma-3": "block verification keeps a prefix with Pr(tau >= i | X^i) = p_i(X^i)",
    "lemma-4": "no valid verifier keeps any prefix more often than block verification",
    "theorem-2": "one iteration: no valid verifier accepts more tokens in expectation than block verification",
    "theorem-2-iterations": "block verification decodes at least as many tokens as token verification in any number of iterations; "
    "as any valid verifier for gamma = 1, for gamma = 2 in two, and on models that do not look at the context",
    "theorem-2-fails": "several iterations: some valid verifier decodes more than block verification, against the paper",
    "theorem-2-calls": "block verification needs the fewest expected target calls to finish any text, among all valid verifiers",
    "reaches": "the reaches r(x) = Pr(X^i = x, tau >= i) of valid verifiers are exactly 0 <= r(xy) <= min(r(x) M_b(y | x), M_s(xy)), "
    "which gives the optimum of all strategies in several iterations",
    "lemma-8": "greedy block verification with the modified target is lossless on the next gamma tokens",
    "lemma-9": "greedy block verification has Pr(X^l = x, tau >= l) = min(M_b(x), M_s(x))",
    "lemma-10": "no coupling of draft and target agrees on more tokens than sum_l sum_x min(M_b(x^l), M_s(x^l))",
    "lemma-7": "what dominates in law has the larger mean of every increasing function",
    "theorem-3": "in one iteration greedy block verification accepts at least as many tokens as block verification",
    "remark-c1": "on the example greedy block verification is biased in the plain loop, its modified target after AA is a point mass, "
    "and it decodes more than block verification in one iteration and less in three",
    "several-drafts": "each lossless rule for several drafts keeps the target's law: its output, completed, follows M_b^{gamma+1}",
    "transport": "no valid rule accepts a draft of the first step more often than optimal transport does",
    "composition": "block verification stays lossless with any maps of rows, with drafts that end by a rule that sees the draft alone "
    "(not one that looks at its coins), with sure drafts and the one-hot rule, and in batches",
    "lattice": "uniforms k / N move the law by at most gamma / N + V / (2 N); <= lets a token of probability 0 through once in N, < never",
    "rounding": "block, token and greedy block verification and recursive rejection in floating point are within a bound in u, in "
    "total variation: block verification's in gamma and the depth of the sums, and each one's on a problem, prefix by prefix",
    "same-definitions": "the Coq definitions and the Python code give the same laws, entry by entry, on the problems compared",
    "tokens-per-iteration": "token verification decodes (1 - a^{gamma+1}) / (1 - a) tokens an iteration at acceptance rate a",
    "wall-time": "the wall-time factor, when speculation pays, and the best gamma",
    "lenience": "the bias of accepting with min(1, p / (l q)), as a function of l",
}
"""What can be proved, by the name it has on the command line."""

METHODS = ("enumeration", "certificate", "sympy", "z3", "coq")
"""How: single problems exactly, optimality on single problems, identities, all models of a size, all sizes."""

SUN, LEVIATHAN = "Sun et al. 2025", "Leviathan et al. 2023"


class Statement(NamedTuple):
    """paper: its number there; says: in few words; claim: under which it is proved, if it is a statement; places."""

    paper: str
    number: str
    says: str
    claim: str | None
    places: tuple[str, ...]


COQ = "proofs/mechanized/"
TOKEN, BLOCK = "verifiers/token_verification.py:", "verifiers/block_verification.py:"
GREEDY, SUB_BLOCK = "verifiers/greedy_block_verification.py:", "verifiers/sub_block.py:"
WHOLE = "proofs/symbolic/whole_algorithms.py:"
STEPS, CHECKED = "proofs/symbolic/single_steps.py:", "proofs/claims.py:"
TREES = "verifiers/trees/"
DERIVED = "proofs/symbolic/derivations.py:"

STATEMENTS = [
    Statement(SUN, "Algorithm 1", "token verification", "theorem-1",
              (TOKEN + "token_verification", COQ + "Algorithms.v:token_verify")),
    Statement(SUN, "Algorithm 2", "block verification", "theorem-1",
              (BLOCK + "block_verification", SUB_BLOCK + "longest_sub_block", COQ + "Algorithms.v:block_verify")),
    Statement(SUN, "Algorithm 3", "the loop of speculative decoding", "lemma-2",
              ("models/decoding.py:decode", "models/decoding.py:iteration", COQ + "Algorithms.v:specdec", COQ + "Loops.v:block_lossless")),
    Statement(SUN, "Algorithm 4", "greedy block verification", "lemma-9",
              (GREEDY + "greedy_block_verification", COQ + "Algorithms.v:greedy_verify")),
    Statement(SUN, "Algorithm 5, Eq. (31)", "the target modified after an early stop", "lemma-8",
              ("models/modification.py:Modified", COQ + "Algorithms.v:modify")),
    Statement(SUN, "Algorithm 6, footnote 6", "the loop that carries the modified target, nested", "lemma-8",
              ("models/decoding.py:starts_in_force", "models/modification.py:modified",
               COQ + "Algorithms.v:greedydec", COQ + "Loops.v:greedy_lossless")),
    Statement(SUN, "Appendix A", "the sketch in Python, as a stream of tokens", "theorem-1",
              ("verifiers/block_stream.py:block_stream", COQ + "Stream.v:stream_law")),
    Statement(SUN, "Definition 1", "a valid draft verification algorithm", "theorem-1",
              (CHECKED + "lossless", COQ + "Verifier.v:kernel", COQ + "Verifier.v:valid", COQ + "Loops.v:lossless")),
    Statement(SUN, "Eq. (2)", "the paper's example", "lemma-1", ("models/battery.py:toy", COQ + "Evaluate.v:lemma_1")),
    Statement(SUN, "Eq. (3)", "token verification's residual", "theorem-1", ("verifiers/arithmetic.py:residual",)),
    Statement(SUN, "Eq. (4)", "block verification's residual", "theorem-1",
              ("verifiers/arithmetic.py:residual", COQ + "Algorithms.v:residual")),
    Statement(SUN, "Eq. (5), Figure 2", "block verification's acceptance probability h_i", "acceptance",
              (BLOCK + "accept", BLOCK + "accept_all", WHOLE + "bounds", WHOLE + "residual_mass", STEPS + "bounds",
               STEPS + "joint_bounds", COQ + "Algorithms.v:h_block")),
    Statement(SUN, "Eq. (6), Theorem 1", "block verification is valid", "theorem-1",
              (CHECKED + "lossless", WHOLE + "validity", STEPS + "law", STEPS + "extension",
               "proofs/symbolic/validity_identity.py:deviations", COQ + "Block.v:theorem_1")),
    Statement(SUN, "Eq. (7), Lemma 2", "valid in one iteration is valid in the loop", "lemma-2",
              (CHECKED + "lemma_2", "proofs/laws.py:completed", COQ + "Loops.v:lemma_2")),
    Statement(SUN, "Eq. (9)", "p_i, the probability that a prefix survives", "lemma-3",
              (BLOCK + "survive", CHECKED + "survival_bound", COQ + "Algorithms.v:next_p")),
    Statement(SUN, "Eq. (27)", "h_i rewritten by sums of minima", "lemma-3", (COQ + "Block.v:h_blockE",)),
    Statement(SUN, "Eq. (30)", "greedy block verification's residual", "lemma-8",
              (GREEDY + "survive", "verifiers/arithmetic.py:residual", COQ + "Algorithms.v:h_greedy")),
    Statement(SUN, "Eq. (40)-(42), Lemma 10", "the optimal coupling", "lemma-10",
              (CHECKED + "coupling_bound", "proofs/certificates/make_coupling.py:certificate",
               COQ + "Couplings.v:lemma_10", COQ + "Couplings.v:lemma_10_attained")),
    Statement(SUN, "Lemma 1", "11/9 against 10/9 on the example", "lemma-1", (COQ + "Evaluate.v:lemma_1",)),
    Statement(SUN, "Lemma 3", "survival of a prefix", "lemma-3",
              (CHECKED + "lemma_3", STEPS + "lemma_3", COQ + "Block.v:lemma_3")),
    Statement(SUN, "Lemma 4, Lemma 6", "no valid verifier keeps a prefix more often", "lemma-4",
              (CHECKED + "lemma_4", "proofs/certificates/check.py:check", COQ + "Optimality.v:lemma_4",
               COQ + "Couplings.v:lemma_4_attained")),
    Statement(SUN, "Theorem 2, one iteration", "block verification accepts most", "theorem-2",
              (CHECKED + "theorem_2", WHOLE + "expected_acceptance", STEPS + "dominance", "proofs/certificates/make.py:certificate",
               "proofs/certificates/linear_program.py:largest_acceptance", COQ + "Optimality.v:theorem_2_one")),
    Statement(SUN, "Theorem 2, several iterations, against token verification", "block verification decodes most",
              "theorem-2-iterations", (CHECKED + "theorem_2", COQ + "Stopping.v:token_le_block_iterations")),
    Statement(SUN, "Theorem 2, several iterations, against every valid verifier; Lemma 5, Eq. (24)",
              "false: a counterexample", "theorem-2-fails",
              ("proofs/theorem_2_counterexample.py:pair", "proofs/theorem_2_counterexample.py:sure_bonus",
               "proofs/certificates/strategies.py:most_tokens", COQ + "Iterations.v:sure_bonus_valid",
               COQ + "Iterations.v:sure_bonus_rows", COQ + "Counterexample.v:theorem_2_as_published",
               COQ + "Counterexample.v:theorem_2_fails_gamma_2", COQ + "Counterexample.v:theorem_2_fails",
               COQ + "Boundary.v:theorem_2_boundary")),
    Statement(SUN, "Theorem 2, several iterations, where it is true", "gamma = 1; gamma = 2 and two; models without context",
              "theorem-2-iterations", (COQ + "Boundary.v:theorem_2_gamma_1", COQ + "Boundary.v:theorem_2_gamma_2",
                                       COQ + "Boundary.v:theorem_2_context_free", COQ + "Boundary.v:theorem_2_one_iteration")),
    Statement(SUN, "Theorem 2, several iterations, corrected", "block verification needs the fewest target calls to finish any text",
              "theorem-2-calls", ("proofs/theorem_2_calls.py:expected_calls", CHECKED + "theorem_2_calls",
                                  "proofs/certificates/strategies.py:fewest_calls", COQ + "Strategies.v:strategy", COQ + "Strategies.v:play", COQ + "Calls.v:cost",
                                  COQ + "Strategies.v:theorem_2_calls", COQ + "Strategies.v:theorem_2_calls_length",
                                  COQ + "Strategies.v:theorem_2_calls_eos")),
    Statement(SUN, "Lemma 4, its converse", "every reach within the bounds of one step is a valid verifier's", "reaches",
              ("proofs/certificates/make_iterations.py:certificate", "proofs/certificates/check_iterations.py:check",
               COQ + "SubBlocks.v:keeping_fair", COQ + "Reaches.v:reach_polytope", COQ + "Reaches.v:certified_optimum")),
    Statement(SUN, "Lemma 2, Algorithm 3 with E.O.S. and finite length", "the texts given out have the law of the large model's own",
              "lemma-2", (COQ + "Endings.v:stopping", COQ + "Endings.v:lemma_2_endings", COQ + "Endings.v:lemma_2_eos",
                          COQ + "EndOfSequence.v:lemma_2_up_to_eos", COQ + "Remarks.v:after_eos_anything")),
    Statement(SUN, "Section 2, what verifiers are built into", "maps of rows, drafts that end early, sure drafts, batches", "composition",
              (COQ + "SubBlocks.v:adaptive_fair", COQ + "Composition.v:mapped_lossless", COQ + "Composition.v:one_hot_rule",
               COQ + "Composition.v:one_hot_sampled", COQ + "Composition.v:batch_marginal", COQ + "Remarks.v:ends_by_coin_not_valid")),
    Statement(SUN, "Algorithm 2, line 8, in finite precision", "uniforms of m bits, and the token that <= lets through", "lattice",
              (COQ + "Precision.v:near_law", COQ + "Lattice.v:uniforms_on_a_lattice", COQ + "Lattice.v:support_leak")),
    Statement(SUN, "Algorithm 2 in floating point", "rounding, under the standard model", "rounding",
              ("proofs/rounding_theorem.py:rounding_bound", COQ + "BlockRounding.v:block_rounding",
               "proofs/rounding_theorem.py:problem_bound", "proofs/rounding_rule.py:explained_by_rounding", COQ + "ProblemRounding.v:problem_rounding",
               "proofs/wide_rounding.py:wide_bound", "proofs/rounding_rule.py:wide_explained")),
    Statement(SUN, "the last token of Algorithms 1, 2 and 4 looked up in a running sum", "rounding to nearest", "rounding",
              ("proofs/rounding_theorem.py:running_sum_bound", COQ + "RunningSum.v:running_sum_bound",
               "proofs/wide_rounding.py:running_sum_cost", COQ + "RunningSum.v:running_sum_near", COQ + "RunningSum.v:running_sum_tails")),
    Statement(SUN, "Algorithm 1 in floating point", "rounding, under the standard model", "rounding",
              ("proofs/rounding_theorem.py:token_bound", COQ + "TreeRounding.v:token_rounding")),
    Statement(SUN, "Algorithm 4 in floating point", "rounding, under the standard model", "rounding",
              ("proofs/greedy_rounding.py:greedy_bound", COQ + "GreedyRounding.v:greedy_rounding")),
    Statement(SUN, "Lemma 7", "stochastic dominance", "lemma-7", (CHECKED + "lemma_7", COQ + "Dominance.v:lemma_7")),
    Statement(SUN, "Section C, C.1", "greedy block verification on the example: why its target is modified; neither dominates",
              "remark-c1", ("proofs/obligations/by_enumeration.py:remark_c1", COQ + "Remarks.v:greedy_in_plain_loop_biased",
                            COQ + "Remarks.v:modified_point_mass", COQ + "Remarks.v:greedy_more_in_one_fewer_in_three")),
    Statement(SUN, "Lemma 8", "the modified target restores the law", "lemma-8",
              (CHECKED + "lemma_8", WHOLE + "lemma_8", STEPS + "lemma_8", COQ + "Greedy.v:lemma_8")),
    Statement(SUN, "Lemma 9", "greedy block verification is the pointwise best coupling", "lemma-9",
              (CHECKED + "lemma_9", WHOLE + "lemma_9", STEPS + "joint_token", STEPS + "lemma_9", COQ + "Greedy.v:lemma_9")),
    Statement(SUN, "Theorem 3", "greedy block over block, one iteration", "theorem-3",
              (CHECKED + "theorem_3", COQ + "Greedy.v:theorem_3")),
    Statement(SUN, "Figure 3", "Pr(tau >= i) on the example at gamma = 10", "lemma-1",
              ("proofs/laws.py:acceptance_ccdf", "tests/proofs/test_laws.py:test_figure_3_complementary_cdf_at_gamma_10")),
    Statement(LEVIATHAN, "Theorem 3.5, Corollary 3.6", "alpha = sum of min(p, q) = 1 - TV", "tokens-per-iteration",
              ("proofs/closed_forms.py:acceptance_rate", DERIVED + "acceptance_rate_holds")),
    Statement(LEVIATHAN, "Eq. (1)", "tokens an iteration", "tokens-per-iteration",
              ("proofs/closed_forms.py:expected_tokens", DERIVED + "expected_tokens_hold", DERIVED + "every_gamma_holds")),
    Statement(LEVIATHAN, "Theorems 3.8, 3.11", "the factors of wall time and of operations", "wall-time",
              ("proofs/closed_forms.py:wall_time_factor", "proofs/closed_forms.py:operations_factor",
               DERIVED + "costs_hold")),
    Statement(LEVIATHAN, "Corollary 3.9", "when speculation pays, and by how much at least", "wall-time",
              (DERIVED + "least_gain_holds",)),
    Statement(LEVIATHAN, "Section 3.5", "the best gamma", "wall-time",
              ("proofs/closed_forms.py:best_gamma", DERIVED + "stopping_rule_holds", DERIVED + "stationary_gamma")),
    Statement(LEVIATHAN, "Appendix A.5", "lenience, a lossy mode, and its bias", "lenience",
              ("verifiers/lenient_token_verification.py:lenient_token_verification",
               "proofs/closed_forms.py:lenience_bias", "proofs/symbolic/lenience.py:bias_holds",
               "proofs/symbolic/lenience.py:bound_holds", "proofs/symbolic/lenience.py:monotone")),
    Statement("Miao et al. 2024 (SpecInfer)", "Algorithm 2", "multi-round rejection", "several-drafts",
              (TREES + "multi_round.py:step", TREES + "descent.py:descend", "models/drafting.py:draft_tree",
               COQ + "SeveralDrafts.v:recursive_rejection_valid")),
    Statement("Miao et al. 2024 (SpecInfer)", "Section 4.3", "naive sampling", "several-drafts",
              (TREES + "naive_sampling.py:step",)),
    Statement("Chen et al. 2024 (Sequoia)", "Algorithm 2", "rejection without replacement", "several-drafts",
              (TREES + "without_replacement.py:step",)),
    Statement("EAGLE-2", "evaluate_posterior", "verification of chosen tokens", "several-drafts", (TREES + "top_tokens.py:step",)),
    Statement("Sun et al. 2023 (SpecTr)", "Algorithm 3", "k-SEQ, with rho just above rho*", "several-drafts",
              (TREES + "k_seq.py:step", TREES + "k_seq.py:smallest_rho", COQ + "SeveralDrafts.v:k_seq_law")),
    Statement("Sun et al. 2023 (SpecTr)", "Section 3", "optimal transport of drafts to the target", "transport",
              (TREES + "optimal_transport.py:best_plan", TREES + "optimal_transport.py:step",
               "proofs/certificates/make_transport.py:certificate", "proofs/certificates/check_transport.py:check")),
    Statement("Khisti et al. 2025; Hu et al. 2025", "the dual", "a choice of a set of tokens", "transport",
              (TREES + "optimal_transport.py:TransportPlan", "proofs/literature.py:two_drafts_suffice", "proofs/literature.py:choice_of_a_set")),
    Statement("Thomas and Pal 2026", "the linear program", "what any valid rule accepts of a tree", "transport",
              ("proofs/certificates/make_tree_bound.py:certificate", "proofs/certificates/check_tree_bound.py:bound_of")),
    Statement("Thomas and Pal 2026", "greedy multi-path", "block verification of a chosen path", "several-drafts",
              (TREES + "greedy_multi_path.py:greedy_multi_path", TREES + "greedy_multi_path.py:chosen_rows")),
    Statement("Weng et al. 2025", "Algorithms 1 and 2", "traversal verification", "several-drafts",
              (TREES + "traversal.py:traversal", "proofs/tree_laws.py:traversal_law", COQ + "SeveralDrafts.v:traversal_valid")),
    Statement("Hu and Huang 2024", "ASpS", "Tree Monte Carlo", "several-drafts", (TREES + "tree_monte_carlo.py:tree_monte_carlo",)),
    Statement("Zhou et al. 2026", "hierarchical decoding", "with the cap at the end; as published it is not valid", "several-drafts",
              (TREES + "hierarchical.py:hierarchical", TREES + "hierarchical.py:hierarchical_as_published")),
    Statement("Daliri et al. 2024", "shared Gumbel noise", "agreement of draft and target", "several-drafts",
              (TREES + "shared_gumbel.py:agreement", TREES + "shared_gumbel.py:step")),
]  # fmt: skip
