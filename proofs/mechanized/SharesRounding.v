(* Rules that take drafts with shares of any kind and draw the rest, in floating point, against the same rule in exact numbers:
   Global Resolution stopped early, whose solver's weights are rounded to a lattice.  The computed shares are given, off by a
   drift; a lemma has it from the steps of the lattice.  What is assumed else is the standard model of Rounding.v. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum zify.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Models Algorithms Verifier Block SubBlocks Precision Rounding BlockRounding ProblemRounding SeveralDrafts TreeRounding SiblingRounding Descent DescentRounding StepRounding CactusRounding KSeqStep TransportRounding Resolution.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section Rule.
Variables (V : vocabulary) (R : realFieldType) (Mb : model V R) (c : seq V) (o lambda : R).
Hypotheses (o0 : 0 <= o) (lambda0 : 0 <= lambda).
Notation rb s := (Mb (c ++ s)).
Variables (Q : seq V -> seq V -> V -> R) (spent : seq V -> pred (seq V)).
Hypotheses (Q0 : forall s elders x, 0 <= Q s elders x) (Q1 : forall s elders, ~~ spent s elders -> sumV (Q s elders) = 1).
Variables (a a' : seq V -> nat -> seq V -> V -> R) (row r' row' : seq V -> nat -> V -> R) (w : seq V -> nat -> V -> R) (last' : seq V -> V -> R).
Hypotheses (a0 : forall s k xs y, 0 <= a s k xs y) (a1 : forall s k xs, sumV (a s k xs) <= 1).
Hypotheses (a'0 : forall s k xs y, 0 <= a' s k xs y) (a'1 : forall s k xs, sumV (a' s k xs) <= 1).
(* What the target has beyond the shares, or nothing where they take more: the rule need not be lossless. *)
Definition by_shares s k y : R := siblings (Q s) (spent s) k [::] (fun xs => a s k xs y).
Definition not_taken s k y : R := Num.max (rb s y - by_shares s k y) 0.
Hypotheses (rows : forall s k, by_weights (not_taken s k) (row s k)) (rows' : forall s k, by_weights (w s k) (r' s k)).
Hypothesis drawn : forall s k, [/\ sumV (row' s k) = 1, forall y, 0 <= row' s k y & total_variation (r' s k) (row' s k) <= lambda].
Hypothesis lasts : forall s, [/\ sumV (last' s) = 1, forall y, 0 <= last' s y & total_variation (rb s) (last' s) <= o + lambda].
Let take (a : seq V -> nat -> seq V -> V -> R) (row : seq V -> nat -> V -> R) s k xs (g : V -> bool -> R) : R :=
  sumV (fun y => a s k xs y * g y true) + (1 - sumV (a s k xs)) * draw (row s k) (g^~ false).
Lemma taking_chance (b : seq V -> nat -> seq V -> V -> R) (r : seq V -> nat -> V -> R) s k xs : (forall s k xs y, 0 <= b s k xs y) -> (forall s k xs, sumV (b s k xs) <= 1) ->
  sumV (r s k) = 1 -> (forall y, 0 <= r s k y) -> chance (take b r s k xs).
Proof.
move=> b0 b1 r1 r0; have left : 0 <= 1 - sumV (b s k xs) by rewrite subr_ge0.
split=> [g g' le|g g'|t g|]; rewrite /take /draw.
- apply: ler_add; first by apply: sumV_le => y; apply: ler_wpmul2l.
  by apply: ler_wpmul2l => //; apply: sumV_le => y; apply: ler_wpmul2l.
- by rewrite (sumV_eq (fun y => mulrDr (b s k xs y) _ _)) (sumV_eq (fun y => mulrDr (r s k y) _ _)) !sumVD; ring.
- rewrite (sumV_eq (fun y => mulrCA (b s k xs y) _ _)) (sumV_eq (fun y => mulrCA (r s k y) _ _)) !sumVZ.
  by rewrite [RHS]mulrDr; congr (_ + _); rewrite mulrCA.
by rewrite !sumVZr r1 !mulr1 addrC subrK.
Qed.
Theorem shares_rounding gamma f (drift rest : nat -> R) (A : seq V -> V -> R) : (forall s y, 0 <= A s y <= 1) ->
  (forall i, 0 <= drift i) -> (forall i, 0 <= rest i) ->
  (forall s k, (0 < k <= level (size s) f)%N -> siblings (Q s) (spent s) k [::] (fun xs => apart (a s k xs) (a' s k xs)) <= drift (size s)
     /\ apart (not_taken s k) (w s k) <= rest (size s)) ->
  `|descend Q spent (taking a' row') last' gamma [::] f A - descend Q spent (taking a row) (fun s => rb s) gamma [::] f A|
  <= \sum_(i < gamma) (drift i + rest i) + (o + lambda).
Proof.
move=> A01 d0 t0 near; rewrite distrC -[o + lambda]add0r.
apply: (@descents_near _ _ Q spent _ _ _ _ f (fun i => drift i + rest i) 0 (o + lambda) _ _ _ _ _ _ _ _ gamma [::] f) => //.
- by move=> i; rewrite addr_ge0.
- by move=> s k; apply: (drafts_expect (Q0 s) (@Q1 s)) => xs; have [r1 r0 _] := drawn s k; apply: taking_chance.
- by move=> s k; apply: (drafts_expect (Q0 s) (@Q1 s)) => xs; have [r1 r0 _] := rows s k; apply: taking_chance.
- move=> s k g le g01; have [nd nr] := near s k le; have [r1 r0 _] := rows s k; have [r2 r3 dl] := drawn s k.
  pose tv := total_variation (row s k) (row' s k).
  have tv0 : 0 <= total_variation (row s k) (r' s k) by rewrite divr_ge0 ?ler0n // sumV_ge0.
  have tvl : tv <= total_variation (row s k) (r' s k) + lambda.
    by apply: le_trans (tv_triangle _ (r' s k) _) _; apply: ler_add.
  have left xs : 0 <= 1 - sumV (a s k xs) by rewrite subr_ge0.
  pose E F := siblings (Q s) (spent s) k [::] F.
  have whole : E (fun xs => 1 - sumV (a s k xs)) = 1 - sumV (by_shares s k).
    rewrite /E (siblings_eq _ _ _ _ (G := fun xs => 1 + -1 * sumV (a s k xs))) => [|xs]; last by ring.
    by rewrite siblingsD siblingsZ (siblings_const (@Q1 s)) siblings_sumV mulN1r.
  have R0 : 0 <= 1 - sumV (by_shares s k).
    by rewrite -whole -[X in X <= _](siblings_const (@Q1 s) k [::]); apply: siblings_le.
  have -> : over_drafts Q spent (taking a row) s k (fun _ _ accepted => (~~ accepted)%:R) = 1 - sumV (by_shares s k).
    rewrite -whole; apply: siblings_eq => xs; rewrite /taking /draw /= (sumV_eq (g := fun=> 0)) => [|y]; last by rewrite mulr0.
    by rewrite sumV0 add0r sumVZr r1 !mulr1.
  rewrite distrC; apply: le_trans (_ : E (fun xs => apart (a s k xs) (a' s k xs) + tv * (1 - sumV (a s k xs))) <= _).
    rewrite distrC; apply: (siblings_off _ (Q0 s)) => xs _; set X := draw (row s k) ((g xs)^~ false).
    set X' := draw (row' s k) ((g xs)^~ false); have X'01 : 0 <= X' <= 1 by apply: draw_range.
    have -> : taking a row s k xs (g xs) - taking a' row' s k xs (g xs)
      = - (sumV (fun y => (a' s k xs y - a s k xs y) * (g xs y true - X')) + (1 - sumV (a s k xs)) * (X' - X)).
      rewrite (sumV_eq (f := fun y => (_ - _) * (_ - _)) (g := fun y => a' s k xs y * g xs y true - a s k xs y * g xs y true
        - (a' s k xs y * X' - a s k xs y * X'))) => [|y]; last by ring.
      by rewrite !sumVB !sumVZr /taking -/X -/X'; ring.
    rewrite normrN; apply: le_trans (ler_norm_add _ _) _; apply: ler_add.
      apply: le_trans (sumV_norm _) _; apply: sumV_le => y; rewrite normrM.
      by apply: ler_pimulr => //; apply: mix_gap.
    rewrite normrM (ger0_norm (left xs)) mulrC; apply: ler_wpmul2r => //.
    by apply: tv_bounds => // y; apply: g01.
  have whole' : siblings (Q s) (spent s) k [::] (fun xs => 1 - sumV (a s k xs)) = 1 - sumV (by_shares s k) := whole.
  rewrite /E siblingsD siblingsZ whole' -addrA; apply: ler_add => //.
  apply: le_trans (ler_wpmul2r R0 tvl) _; rewrite mulrDl; apply: ler_add; last by apply: ler_wpmul2r => //; rewrite ler_addr.
  apply: le_trans nr; rewrite mulrC; apply: (weights_tv (rows s k) (rows' s k) R0).
  by rewrite -(row_sum Mb (c ++ s)) -sumVB; apply: sumV_le => y; rewrite le_maxr lexx.
- by move=> s; have [] := lasts s.
- by move=> s; have [] := lasts s.
move=> s; have [_ _ ll] := lasts s; split; first exact: row_sum.
by rewrite add0r /total_variation (sumV_eq (g := fun y => `|last' s y - rb s y|)) // => y; rewrite distrC.
Qed.
End Rule.

(* Shares in proportion to numbers F on a lattice, computed from F', which are off, but for a factor t common to all, by e in
   proportion and by n steps. *)
Lemma lattice_shares (V : vocabulary) (R : realFieldType) (u e n t T : R) (d : nat) (among : V -> bool) (F F' share' : V -> R) :
  0 <= u -> growth u d < 1 -> 0 < t -> 0 < sumV F -> (forall y, 0 <= F' y) -> 0 < sumV F' ->
  (forall y, `|F' y - t * F y| <= e * (t * F y) + n * (among y)%:R) -> within u d (sumV F') T ->
  (forall y, Rounding.rounds u (F' y / T) (share' y)) ->
  apart (fun y => F y / sumV F) share' <= 2%:R * (e + n * sumV (fun y => (among y)%:R) / (t * sumV F)) + sum_error u d.
Proof.
move=> u0 d1 t0 F0 F'0 S0 near Tw hs; set N := sumV F in F0 *; set S := sumV F' in S0 Tw *.
have tN : 0 < t * N by rewrite mulr_gt0.
have r1 : sumV (fun y => F' y / S) = 1 by rewrite sumVZr mulfV // gt_eqF.
have r0 y : 0 <= F' y / S by rewrite divr_ge0 // ltW.
have rF y : F' y / S * sumV F' = F' y by rewrite divfK // gt_eqF.
have := normalised_near (fun y => t * F y) r1 r0 rF; rewrite sumVZ -/N => dir.
have g0 := growth_ge0 u0 d; have i0 : 0 <= growth u d / (1 - growth u d) by rewrite divr_ge0 // subr_ge0 ltW.
apply: le_trans (_ : sumV (fun y => `|F' y / S - F y / N| + sum_error u d * (F' y / S)) <= _).
  apply: sumV_le => y; have -> : share' y - F y / N = (F' y / S - F y / N) + (share' y - F' y / S) by ring.
  apply: le_trans (ler_norm_add _ _) _; rewrite ler_add2l.
  have ri := rel_inv g0 d1 (ltW S0) Tw.
  have q : rel (growth u d / (1 - growth u d)) (F' y / S) (F' y / T).
    by rewrite /rel -mulrBr normrM (ger0_norm (F'0 y)) mulrCA; apply: ler_wpmul2l.
  exact: (rel_rounds u0 i0 (r0 y) q (hs y)).
rewrite sumVD sumVZ r1 mulr1 ler_add2r -(ler_pmul2l tN) -[X in X <= _]sumVZ.
apply: le_trans (_ : sumV (fun y => `|t * N * (F' y / S) - t * F y|) <= _).
  apply: sumV_le => y; rewrite -{1}(gtr0_norm tN) -normrM le_eqVlt; apply/orP; left; apply/eqP; congr `|_|; field.
  by rewrite (gt_eqF F0) (gt_eqF S0).
apply: le_trans dir _; rewrite mulrCA; apply: ler_wpmul2l; first exact: ler0n.
have -> : t * N * (e + n * sumV (fun y => (among y)%:R) / (t * N)) = sumV (fun y => e * (t * F y) + n * (among y)%:R).
  rewrite sumVD !sumVZ -/N; field; by rewrite (gt_eqF F0) (gt_eqF t0).
exact: sumV_le.
Qed.

(* Global Resolution whose shares nothing scales: how often a token would be accepted, from the law of the drafts within e and
   the computed shares; what is left; the choice among the drafts within kappa. *)
Section Truncated.
Variables (V D : vocabulary) (R : realFieldType) (Mb : model V R) (c : seq V) (u o lambda : R).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1) (o0 : 0 <= o) (o1 : o < 1) (lambda0 : 0 <= lambda).
Notation rounds := (Rounding.rounds u).
Notation rb s := (Mb (c ++ s)).
Variables (Q : seq V -> seq V -> V -> R) (spent : seq V -> pred (seq V)) (key : seq V -> D).
Hypotheses (Q0 : forall s elders x, 0 <= Q s elders x) (Q1 : forall s elders, ~~ spent s elders -> sumV (Q s elders) = 1).
Variables (share share' chosen : seq V -> nat -> D -> V -> R) (B : seq V -> V -> R) (row r' row' w : seq V -> nat -> V -> R) (last' : seq V -> V -> R).
Hypotheses (share0 : forall s k S y, 0 <= share s k S y) (share1 : forall s k S, sumV (share s k S) <= 1).
Hypotheses (share'0 : forall s k S y, 0 <= share' s k S y) (chosen0 : forall s k S y, 0 <= chosen s k S y) (chosen1 : forall s k S, sumV (chosen s k S) <= 1).
Hypothesis Bb : forall s y, rel o (rb s y) (B s y).
Notation drafted s k := (TransportRounding.drafted (Q s) (spent s) key k).
Definition truncated_step (e kappa : R) (d : nat) s k : Prop := exists (L : D -> R) (P : D -> V -> R) (acc : V -> R),
  [/\ forall S, rel e (drafted s k S) (L S), forall S y, rounds (L S * share' s k S y) (P S y), forall y, within u d (sumV (P^~ y)) (acc y),
      forall y, exists2 z, rounds (B s y - acc y) z & w s k y = Num.max z 0
    & forall S, apart (share' s k S) (chosen s k S) <= kappa].
Notation exactly := (fun s k xs => share s k (key xs)).
Hypotheses (rows : forall s k, by_weights (not_taken Mb c Q spent exactly s k) (row s k)) (rows' : forall s k, by_weights (w s k) (r' s k)).
Hypothesis drawn : forall s k, [/\ sumV (row' s k) = 1, forall y, 0 <= row' s k y & total_variation (r' s k) (row' s k) <= lambda].
Hypothesis lasts : forall s, [/\ sumV (last' s) = 1, forall y, 0 <= last' s y & total_variation (rb s) (last' s) <= o + lambda].
Definition truncated_rest (e drift : R) (d : nat) : R := (1 + u) * (o + accepted_near u e d * (1 + drift) + drift) + u.
Theorem truncated_rounding gamma f (e kappa drift : nat -> R) (d : nat -> nat) (A : seq V -> V -> R) : (forall s y, 0 <= A s y <= 1) ->
  (forall i, 0 <= e i < 1) -> (forall i, 0 <= kappa i) -> (forall i, 0 <= drift i) ->
  (forall s k, (0 < k <= level (size s) f)%N -> truncated_step (e (size s)) (kappa (size s)) (d (size s)) s k
     /\ sumV (fun S => drafted s k S * apart (share s k S) (share' s k S)) <= drift (size s)) ->
  `|descend Q spent (taking (fun s k xs => chosen s k (key xs)) row') last' gamma [::] f A
    - descend Q spent (taking exactly row) (fun s => rb s) gamma [::] f A|
  <= \sum_(i < gamma) ((drift i + kappa i) + truncated_rest (e i) (drift i) (d i)) + (o + lambda).
Proof.
move=> A01 e01 kappa0 drift0 made; have b0 s y : 0 <= rb s y := row_ge0 Mb _ y.
have acc0 i : 0 <= accepted_near u (e i) (d i).
  by have /andP[e0 _] := e01 i; apply: both_ge0; [apply: both_ge0 | apply: growth_ge0].
have f0 : 0 <= 1 + u by rewrite addr_ge0 ?ler01.
apply: (@shares_rounding V R Mb c o lambda o0 Q spent Q0 Q1 exactly (fun s k xs => chosen s k (key xs)) row r' row' w last' _ _ _ _
  rows rows' drawn lasts gamma f (fun i => drift i + kappa i) (fun i => truncated_rest (e i) (drift i) (d i))) => // [i|i|s k le].
- exact: addr_ge0.
- by rewrite addr_ge0 // mulr_ge0 // addr_ge0 // addr_ge0 // mulr_ge0 // addr_ge0 ?ler01.
have [[L [P [acc [Ld LP Pa left choice]]]] moved] := made s k le; have /andP[e0 e1] := e01 (size s).
have dr0 S := drafted_ge0 key k (Q0 s) (@Q1 s) S; have dr1 := drafted_sum key k (@Q1 s).
split.
  rewrite (siblings_key (Q s) (spent s) key k (fun S => apart (share s k S) (chosen s k S))).
  apply: le_trans (_ : sumV (fun S => drafted s k S * apart (share s k S) (share' s k S) + drafted s k S * kappa (size s)) <= _).
    apply: sumV_le => S; rewrite -mulrDr; apply: ler_wpmul2l => //; apply: le_trans (ler_add (lexx _) (choice S)).
    rewrite /apart -sumVD; apply: sumV_le => y; have -> : chosen s k S y - share s k S y = (share' s k S y - share s k S y) + (chosen s k S y - share' s k S y) by ring.
    exact: ler_norm_add.
  by rewrite sumVD sumVZr dr1 mul1r ler_add2r.
pose m y := sumV (fun S => drafted s k S * share s k S y); pose m' y := sumV (fun S => drafted s k S * share' s k S y).
have mE y : by_shares Q spent exactly s k y = m y by rewrite /by_shares (siblings_key (Q s) (spent s) key k (fun S => share s k S y)).
have L0 S : 0 <= L S := still_ge0 e1 (dr0 S) (Ld S).
have m'0 y : 0 <= m' y by apply: sumV_ge0 => S; rewrite mulr_ge0.
set E := accepted_near u (e (size s)) (d (size s)); have E0 : 0 <= E := acc0 (size s).
have acc_near y : rel E (m' y) (acc y).
  apply: (rel_trans (growth_ge0 u0 (d (size s))) _ (Pa y)); rewrite /rel -sumVB -sumVZ.
  apply: le_trans (sumV_norm _) _; apply: sumV_le => S; apply: (rel_rounds u0 e0 _ _ (LP S y)); first by rewrite mulr_ge0.
  by rewrite mulrC [L S * _]mulrC; apply: rel_scale.
have gap : sumV (fun y => `|m' y - m y|) <= drift (size s).
  apply: le_trans moved; apply: le_trans (_ : sumV (fun y => sumV (fun S => drafted s k S * `|share' s k S y - share s k S y|)) <= _).
    apply: sumV_le => y; rewrite /m /m' -sumVB; apply: le_trans (sumV_norm _) _; apply: sumV_le => S.
    by rewrite -mulrBr normrM (ger0_norm (dr0 S)).
  by rewrite (sumV_eq (fun y => sumVE _)) sumV_exch sumVE; apply: ler_sum => S _; rewrite sumVZ.
have m1 : sumV m <= 1.
  rewrite /m (sumV_eq (fun y => sumVE _)) sumV_exch -dr1 sumVE; apply: ler_sum => S _; rewrite sumVZ.
  exact: ler_pimulr.
have m'1 : sumV m' <= 1 + drift (size s).
  have -> : sumV m' = sumV m + sumV (fun y => m' y - m y) by rewrite sumVB; ring.
  apply: ler_add => //; apply: le_trans gap; apply: sumV_le => y; exact: ler_norm.
pose n y := o * rb s y + (E * m' y + `|m' y - m y|).
apply: le_trans (_ : sumV (fun y => (1 + u) * n y + u * not_taken Mb c Q spent exactly s k y) <= _).
  apply: sumV_le => y; have [z hz ->] := left y; apply: (CactusRounding.rest_near u0 u1 hz); rewrite mE.
  have -> : B s y - acc y - (rb s y - m y) = (B s y - rb s y) - ((acc y - m' y) + (m' y - m y)) by ring.
  apply: le_trans (ler_norm_sub _ _) _; apply: ler_add; first exact: Bb.
  by apply: le_trans (ler_norm_add _ _) _; rewrite ler_add2r; apply: acc_near.
rewrite sumVD !sumVZ /truncated_rest; apply: ler_add; last first.
  apply: ler_pimulr => //; rewrite -(row_sum Mb (c ++ s)); apply: sumV_le => y.
  rewrite /not_taken le_maxl b0 andbT ler_subl_addr ler_addl mE; apply: sumV_ge0 => S; exact: mulr_ge0.
apply: ler_wpmul2l => //; rewrite /n sumVD sumVZ row_sum mulr1 -addrA ler_add2l sumVD sumVZ.
by apply: ler_add => //; apply: ler_wpmul2l.
Qed.
End Truncated.
