(* Several iterations.  Theorem 2 says that block verification decodes at least as many
   tokens as any valid verifier after every number of iterations.  For two iterations
   that is false: with draft length 7, block verification that looks at only the first
   6 draft tokens is valid, and decodes 11 tokens in expectation where block
   verification decodes 43/4 (models below).  The gap in Appendix B.2 is the line
   f(eta) = p_{l-eta-1}(...): f conditions on the output O, while Lemma 3 conditions on
   the draft X; conditioned on O it is M_s p / M_b, which need not increase in eta. *)
From mathcomp Require Import all_ssreflect all_algebra.
From Draftproof Require Import Models Algorithms Verifier Block Token Optimality Evaluate.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section Short.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R).
(* Block verification of the first g draft tokens; the rest is thrown away. *)
Definition short_verify g (c X : seq V) := block_verify Mb Ms c (take g X).
Lemma short_program g c X : program X (short_verify g c X).
Proof.
have := block_program Mb Ms c (take g X); rewrite -/(short_verify g c X).
elim=> {}[t d P le d0 d1 e|h P Q S h01 _ IHP _ IHQ e]; last exact: Toss IHP IHQ e.
move: le; rewrite size_take => le.
have lt : (t <= g)%N by move: le; case: ltnP => // h /leq_trans ->.
apply: (@Stop _ _ _ t d P) => //; last by move=> A; rewrite e take_take.
by move: le; case: ltnP => // h /leq_trans -> //; rewrite ltnW.
Qed.
Theorem short_valid g gamma c : (g <= gamma)%N -> valid Mb Ms gamma c (short_verify g c).
Proof.
move=> le; apply: fair_valid => U Uf.
rewrite /short_verify (gen_take Ms c (fun X => block_verify Mb Ms c X _) le).
by apply: theorem_1_fair => s ls; apply: Uf; apply: leq_trans ls le.
Qed.

Lemma specdec_eq gamma (W W' : verifier V R) n c A :
  (forall c X B, W' c X B = W c X B) -> (forall c X, program X (W c X)) ->
  specdec Ms gamma W' n c A = specdec Ms gamma W n c A.
Proof.
move=> e pr; elim: n c => [|n IH] c //=; apply: gen_eq => X _; rewrite e.
by apply: (program_ext (pr c X)) => t y _.
Qed.
Fixpoint specdecF gamma (W : verifier V R) n c A : R :=
  if n is n'.+1 then genF Ms gamma c (fun X => W c X (fun kept y =>
      specdecF gamma W n' (c ++ rcons kept y) A))
  else A c.
Lemma specdecFE gamma (W W' : verifier V R) n c A :
  (forall c X B, W' c X B = W c X B) -> (forall c X, program X (W c X)) ->
  specdecF gamma W' n c A = specdec Ms gamma W n c A.
Proof.
move=> e pr; elim: n c => [|n IH] c //=; rewrite genFE; apply: gen_eq => X _; rewrite e.
by apply: (program_ext (pr c X)) => t y _.
Qed.
End Short.

(* N(n), in expectation from the empty context. *)
Definition tokens_after (V : vocabulary) (R : realFieldType) (Ms : model V R) gamma W n : R :=
  specdec Ms gamma W n [::] (fun s => (size s)%:R).

(* The models agree on the first 7 tokens.  Then the large model tosses a coin; after
   true the models have nothing in common, after false the drafter is wrong half the
   time for one token and right for ever after. *)
Definition ce_b_true (c : seq bool) : rat := if (size c == 7)%N then 1 / 2%:R else 0.
Definition ce_s_true (c : seq bool) : rat :=
  if (size c <= 7)%N then 0 else if nth false c 7 then 1
  else if (size c == 8)%N then 1 / 2%:R else 0.
Definition ce_b : model two Q.
Proof.
by apply: (@model_two ce_b_true) => c; rewrite /ce_b_true; case: ifP => _; vm_compute.
Defined.
Definition ce_s : model two Q.
Proof.
apply: (@model_two ce_s_true) => c; rewrite /ce_s_true.
by case: ifP => _; [|case: ifP => _; [|case: ifP => _]]; vm_compute.
Defined.

Lemma ce_block : tokens_after ce_s 7 (block_verify ce_b ce_s) 2 = 43%:R / 4%:R.
Proof.
rewrite /tokens_after -(@specdecFE _ _ _ _ _ (block_verifyF ce_b ce_s)).
- by apply/eqP; vm_compute.
- by move=> *; rewrite block_verifyFE.
- by move=> *; apply: block_program.
Qed.
Lemma ce_short : tokens_after ce_s 7 (short_verify ce_b ce_s 6) 2 = 11%:R.
Proof.
rewrite /tokens_after -(@specdecFE _ _ _ _ _ (fun c X => block_verifyF ce_b ce_s c (take 6 X))).
- by apply/eqP; vm_compute.
- by move=> *; rewrite block_verifyFE.
- by move=> *; apply: short_program.
Qed.
(* A verifier that is valid for all models and contexts, and one pair of models. *)
Theorem theorem_2_two_iterations_fails :
  (forall V R (Mb Ms : model V R) c, valid Mb Ms 7 c (short_verify Mb Ms 6 c)) /\
  tokens_after ce_s 7 (block_verify ce_b ce_s) 2
    < tokens_after ce_s 7 (short_verify ce_b ce_s 6) 2.
Proof.
split; first by move=> *; apply: short_valid.
by rewrite ce_block ce_short; vm_compute.
Qed.
