(* What the theorems rest on: nothing but Coq itself. *)
From Draftproof Require Import Models Algorithms Verifier Block Token Optimality Evaluate Iterations Greedy Stopping.
Print Assumptions lemma_1.
Print Assumptions lemma_3.
Print Assumptions lemma_3_conditional.
Print Assumptions theorem_1_fair.
Print Assumptions theorem_1.
Print Assumptions lemma_4.
Print Assumptions theorem_2_one.
Print Assumptions block_kernel.
Print Assumptions program_law.
Print Assumptions program_run.
Print Assumptions token_valid.
Print Assumptions token_le_block.
Print Assumptions toy_block.
Print Assumptions toy_token.
Print Assumptions short_valid.
Print Assumptions theorem_2_two_iterations_fails.
Print Assumptions greedy_program.
Print Assumptions lemma_9.
Print Assumptions lemma_8.
Print Assumptions theorem_3.
Print Assumptions theorem_3_all.
Print Assumptions landing.
Print Assumptions block_best.
Print Assumptions token_le_block_grows.
Print Assumptions token_le_block_iterations.
