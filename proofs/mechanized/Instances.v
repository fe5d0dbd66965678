(* The hypotheses of the theorems on rounding and on strategies can be met, whatever the models: no theorem is empty. *)
From mathcomp Require Import all_ssreflect all_algebra zify.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Models Algorithms Verifier Block SubBlocks SeveralDrafts Greedy Precision Rounding BlockRounding ProblemRounding GreedyRounding TreeRounding Strategies Endings.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section Rounding.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma : nat) (c : seq V) (ends : pred (seq V)).
Variables (u e : R) (d : nat).
Hypotheses (u0 : 0 <= u) (e0 : `|e| <= u).
Implicit Types (x : seq V) (y : V).
Notation b x := (Mb (c ++ x)).
Notation s x := (Ms (c ++ x)).
Notation stops := (final gamma ends).
(* Every operation is off by the same factor. *)
Definition fl (z : R) : R := (1 + e) * z.
Lemma fl_rounds z : rounds u z (fl z).
Proof.
rewrite /rounds /fl; have -> : (1 + e) * z - z = e * z by ring.
by rewrite normrM ler_wpmul2r.
Qed.
Fixpoint survived (r : seq V) : R :=
  if r is y :: r' then Num.min (fl (survived r' * fl (b (rev r') y / s (rev r') y))) 1 else 1.
Definition P x : R := survived (rev x).
Definition w x y : R := Num.max (fl (fl (P x * b x y) - s x y)) 0.
Definition H x : R := fl (sumV (w x) / fl (fl (sumV (w x) + 1) - P x)).
Definition drawn x y : R := if stops x then b x y else if sumV (w x) == 0 then b x y else w x y / sumV (w x).
Fixpoint kaps n : R := if n is n'.+1 then survival_error u 0 (kaps n') else 0.
Definition kap x : R := kaps (size x).
Lemma w0 x y : 0 <= w x y. Proof. by rewrite /w le_maxr lexx orbT. Qed.
Lemma kaps0 n : 0 <= kaps n.
Proof. by elim: n => //= n IH; apply: survival_error_ge0 => //; apply: ltr01. Qed.
Theorem rounding_met : [/\ survivals_given u (fun x => b x) (fun x => s x) P,
    forall x, weights_given u (fun x => b x) (fun x => s x) P w x, forall x, coin_computed u d P w H x,
    (forall x y, 0 <= drawn x y) /\ (forall x, sumV (drawn x) = 1) &
    [/\ forall x, exists r : V -> R, [/\ sumV r = 1, forall y, 0 <= r y, total_variation r (drawn x) <= 0 &
        if stops x then forall y, r y * sumV (b x) = b x y else forall y, r y * sumV (w x) = w x y],
      forall x, 0 <= kap x &
      forall x y, next_error u 0 (kap x) (b x) (s x) (p_of Mb Ms c x) y <= kap (rcons x y)]].
Proof.
have S0 x : 0 <= sumV (w x) by apply: sumV_ge0 => y; apply: w0.
have dr0 x y : 0 <= drawn x y by rewrite /drawn; case: ifP => // _; case: ifP => // _; rewrite divr_ge0 ?w0.
have dr1 x : sumV (drawn x) = 1.
  rewrite /drawn; case: (stops x); first exact: row_sum.
  have [z|ne] := eqVneq (sumV (w x)) 0; first exact: row_sum.
  by rewrite sumVZr mulfV.
split=> [|x|x||].
- split=> // x y; exists (fl (b x y / s x y)), (fl (P x * fl (b x y / s x y))).
  by split; [exact: fl_rounds | exact: fl_rounds | rewrite /P rev_rcons /= revK].
- exists (fun y => fl (P x * b x y)), (fun y => fl (fl (P x * b x y) - s x y)) => y.
  by split=> //; apply: fl_rounds.
- exists (sumV (w x)), (fl (sumV (w x) + 1)), (fl (fl (sumV (w x) + 1) - P x)).
  split=> [|||_]; try exact: fl_rounds.
  by split=> //; rewrite /within subrr normr0 mulr_ge0 ?growth_ge0.
- by split.
split=> [x|x|x y].
- exists (drawn x); split=> //; first by rewrite /total_variation (sumV_eq (g := fun=> 0)) ?sumV0 ?mul0r // => y; rewrite subrr normr0.
  rewrite /drawn; case: (stops x) => y; first by rewrite row_sum mulr1.
  have [z|ne] := eqVneq (sumV (w x)) 0; last by rewrite divfK.
  by rewrite (sumV_eq0 (w0 x) z y) z mulr0.
- exact: kaps0.
have -> : kap (rcons x y) = survival_error u 0 (kap x) by rewrite /kap size_rcons.
rewrite /next_error; case: ifP => // _; apply: survival_error_ge0 => //; [exact: ltr01 | exact: kaps0].
Qed.
End Rounding.

(* For the other verifiers: exact numbers are a computation within the standard model. *)
Section ExactNumbers.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (c : seq V) (u : R) (d : nat).
Hypothesis u0 : 0 <= u.
Notation b x := (Mb (c ++ x)).
Notation s x := (Ms (c ++ x)).
Notation g := (g_of Mb Ms c).
Let exactly (z : R) : Rounding.rounds u z z. Proof. exact: rounds_itself. Qed.
Let no_error (z : R) : rel 0 z z. Proof. by rewrite /rel subrr normr0 mul0r. Qed.
Let whole (z : R) : 0 <= z -> within u d z z.
Proof. by move=> z0; rewrite /within subrr normr0 mulr_ge0 ?growth_ge0. Qed.
Theorem greedy_rounding_met : [/\ ratios_given u (fun x => b x) (fun x => s x) g,
    forall x, both_weights_given u (fun x => b x) (fun x => s x) g
      (fun x => over (b x) (s x) (g x)) (fun x => less (b x) (s x) (g x)) x &
    forall x, quotient_computed u d (fun x => over (b x) (s x) (g x)) (fun x => less (b x) (s x) (g x))
      (fun x => sumV (over (b x) (s x) (g x)) / sumV (less (b x) (s x) (g x))) x].
Proof.
split=> [|x|x].
- split=> // x y; exists (b x y / s x y), (g x * (b x y / s x y)); split=> //.
  by rewrite g_of_rcons mulrA.
- exists (fun y => g x * b x y), (fun y => g x * b x y - s x y), (fun y => s x y - g x * b x y) => y.
  by split.
have w0 : 0 <= sumV (over (b x) (s x) (g x)) by apply: sumV_ge0 => y; apply: over_ge0.
have v0 : 0 <= sumV (less (b x) (s x) (g x)) by apply: sumV_ge0 => y; rewrite /less le_maxr lexx orbT.
by exists (sumV (over (b x) (s x) (g x))), (sumV (less (b x) (s x) (g x))); split=> //; split=> //; apply: whole.
Qed.
Theorem tree_rounding_met n x r t : SeveralDrafts.drawn n t -> (forall y, 0 <= r y) -> sumV r = 1 ->
  computes u 0 0 d id (fun x => b x) x r t (recursive_rejection Mb c x r t).
Proof.
move=> h; elim: h x r => {n t} [n|n q below next q0 q1 _ IHb _ IHn] x r r0 r1.
  apply: (@ComputesDone _ _ _ _ _ _ _ _ _ _ r r) => //; first by split=> // y; rewrite r1 mulr1.
  by split=> //; rewrite /total_variation (sumV_eq (g := fun=> 0)) ?sumV0 ?mul0r // => y; rewrite subrr normr0.
have [res0 res1] := residual_row q 1 r0 r1.
apply: (@ComputesSibling _ _ _ _ _ _ _ _ _ _ q below next q (h_token r q) (over r q 1) (excess r q 1) (residual r q 1)
  (fun y => recursive_rejection Mb c (rcons x y) (b (rcons x y)) (below y))
  (fun y => recursive_rejection Mb c x (residual r q 1) (next y))) => // [y|y||nz y|y|y].
- by exists (r y / q y).
- by exists (r y - q y) => //; rewrite /over mul1r.
- by apply: whole; apply: sumV_ge0 => y; apply: over_ge0.
- by rewrite /residual (negPf nz).
- by apply: IHb; [apply: row_ge0 | apply: row_sum].
- exact: IHn.
Qed.
End ExactNumbers.

(* Limits of calls per token: with gamma = 0 every call gives one token, and both limits are 1. *)
Theorem long_run_met (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) :
  valid_strategy Mb Ms (block_strategy Mb Ms 0) /\
  tends_to (calls_per_token Ms (block_strategy Mb Ms 0)) 1.
Proof.
split=> [|a a0]; first exact: block_strategy_valid.
exists 1%N => L L1; rewrite /calls_per_token.
have one i h s : play Ms (block_strategy Mb Ms 0) i h s (fun s' => (size s' < L)%N%:R)
    = (size s + i < L)%N%:R :> R.
  elim: i h s => [|i IH] h s /=; first by rewrite addn0.
  rewrite -[RHS](E_const Ms s (block_strategy Mb Ms 0 h s)); apply: E_eq => X t y hX; rewrite leqn0 => /eqP ->.
  by rewrite IH size_cat size_rcons take0 /= addn1 addSnnS.
rewrite (eq_bigr (fun=> 1)) => [|i _]; last by rewrite one add0n ltn_ord.
by rewrite sumr_const card_ord divff ?subrr ?normr0 // pnatr_eq0 -lt0n.
Qed.
