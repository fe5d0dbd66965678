(* The hypotheses of the theorems on rounding and on strategies can be met, whatever the models: no theorem is empty. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum zify.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Algorithms Block Optimality Strategies Loops Descent Precision Rounding ProblemRounding TreeRounding DescentRounding KSeqRounding ScaledTransport ListMatchingRounding StepRounding CactusRounding PathRounding MonteCarloRounding.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

(* Sums in order, every addition rounded. *)
Section Sums.
Variables (V : vocabulary) (R : realFieldType) (u : R) (fl : R -> R).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1) (rounded : forall z, Rounding.rounds u z (fl z)).
Definition sum_fl (f : V -> R) : R := foldl (fun a y => fl (a + f y)) 0 (tokens V).
Lemma sum_fl_within d (f : V -> R) : (size (tokens V) <= d)%N -> (forall y, 0 <= f y) ->
  0 <= sum_fl f /\ within u d (sumV f) (sum_fl f).
Proof.
move=> le f0; pose t := foldl (fun t y => Plus t (Term (f y))) (Term 0) (tokens V).
have [a n dt v] : [/\ added u t (sum_fl f), nonneg t, depth t = size (tokens V) & total t = sumV f].
  have step l t0 a : added u t0 a -> nonneg t0 -> let t1 := foldl (fun t y => Plus t (Term (f y))) t0 l in
      [/\ added u t1 (foldl (fun a y => fl (a + f y)) a l), nonneg t1, depth t1 = (depth t0 + size l)%N
        & total t1 = total t0 + \sum_(y <- l) f y].
    elim: l t0 a => [|y l IH] t0 a h1 h2 /=; first by rewrite addn0 big_nil addr0.
    have h3 : added u (Plus t0 (Term (f y))) (fl (a + f y)) by exists a, (f y); split=> //; apply: rounded.
    have [a1 n1 d1 v1] := IH _ _ h3 (conj h2 (f0 y)).
    by split=> //; [rewrite d1 /= maxn0 addSnnS | rewrite v1 /= big_cons addrA].
  have [a1 n1 d1 v1] := step (tokens V) (Term 0) 0 erefl (lexx 0).
  by split=> //; rewrite v1 /= add0r /sumV unlock.
have [s0 r0 h] := sum_near u0 u1 n a; split=> //; rewrite -v; apply: le_trans h _.
by apply: ler_wpmul2r => //; apply: growth_mono; rewrite ?dt.
Qed.
End Sums.

(* Block verification and its relatives, on any rows B and S within o of the models', with any function fl that rounds; the last
   token is drawn exactly by the computed weights. *)
Section Rounding.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma : nat) (c : seq V) (ends : pred (seq V)).
Variables (u o : R) (d : nat) (fl : R -> R) (B S : seq V -> V -> R).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1) (fl_rounds : forall z, Rounding.rounds u z (fl z)).
Hypotheses (o0 : 0 <= o) (o1 : o < 1) (enough : (size (tokens V) <= d)%N).
Hypotheses (Bb : forall x y, rel o (Mb (c ++ x) y) (B x y)) (Ss : forall x y, rel o (Ms (c ++ x) y) (S x y)).
Implicit Types (x : seq V) (y : V).
Notation b x := (Mb (c ++ x)).
Notation s x := (Ms (c ++ x)).
Notation stops := (final gamma ends).
Fixpoint survived (r : seq V) : R :=
  if r is y :: r' then Num.min (fl (survived r' * fl (B (rev r') y / S (rev r') y))) 1 else 1.
Definition P x : R := survived (rev x).
Definition w x y : R := Num.max (fl (fl (P x * B x y) - S x y)) 0.
Definition surplus x : R := sum_fl fl (w x).
Definition H x : R := fl (surplus x / fl (fl (surplus x + 1) - P x)).
Definition drawn x y : R :=
  if stops x then B x y / sumV (B x) else if sumV (w x) == 0 then b x y else w x y / sumV (w x).
Fixpoint kaps n : R := if n is n'.+1 then survival_error u o (kaps n') else 0.
Definition kap x : R := kaps (size x).
Let fl0 z : 0 <= z -> 0 <= fl z.
Proof. by move=> z0; exact: (Rounding.rounds_ge0 u1 z0 (fl_rounds z)). Qed.
Let B0 x y : 0 <= B x y.
Proof. exact: (given_ge0 o1 (row_ge0 Mb _ _) (Bb x y)). Qed.
Let S0 x y : 0 <= S x y.
Proof. exact: (given_ge0 o1 (row_ge0 Ms _ _) (Ss x y)). Qed.
Lemma given_sum_gt0 x : 0 < sumV (B x).
Proof.
apply: lt_le_trans (_ : 0 < 1 - o) _; first by rewrite subr_gt0.
have -> : 1 - o = sumV (fun y => (1 - o) * b x y) by rewrite sumVZ row_sum mulr1.
by apply: sumV_le => y; have [] := rel_range (Bb x y).
Qed.
Lemma w0 x y : 0 <= w x y. Proof. by rewrite /w le_maxr lexx orbT. Qed.
Lemma kaps0 n : 0 <= kaps n.
Proof. by elim: n => //= n IH; apply: survival_error_ge0. Qed.
Theorem rounding_met : [/\ survivals_given u B S P,
    forall x, weights_given u B S P w x, forall x, coin_computed u d P w H x,
    (forall x y, 0 <= drawn x y) /\ (forall x, sumV (drawn x) = 1) &
    [/\ forall x, exists r : V -> R, [/\ sumV r = 1, forall y, 0 <= r y, total_variation r (drawn x) <= 0 &
        if stops x then forall y, r y * sumV (B x) = B x y else forall y, r y * sumV (w x) = w x y],
      forall x, 0 <= kap x &
      forall x y, next_error u o (kap x) (b x) (s x) (p_of Mb Ms c x) y <= kap (rcons x y)]].
Proof.
have dr0 x y : 0 <= drawn x y.
  rewrite /drawn; case: ifP => _; first by rewrite divr_ge0 // ltW ?given_sum_gt0.
  by case: ifP => // _; rewrite divr_ge0 ?w0 ?sumV_ge0 // => z; apply: w0.
have dr1 x : sumV (drawn x) = 1.
  rewrite /drawn; case: (stops x); first by rewrite sumVZr mulfV // gt_eqF ?given_sum_gt0.
  have [z|ne] := eqVneq (sumV (w x)) 0; first exact: row_sum.
  by rewrite sumVZr mulfV.
split=> [|x|x||].
- split=> // x y; exists (fl (B x y / S x y)), (fl (P x * fl (B x y / S x y))).
  by split; [exact: fl_rounds | exact: fl_rounds | rewrite /P rev_rcons /= revK].
- exists (fun y => fl (P x * B x y)), (fun y => fl (fl (P x * B x y) - S x y)) => y.
  by split=> //; apply: fl_rounds.
- exists (surplus x), (fl (surplus x + 1)), (fl (fl (surplus x + 1) - P x)).
  split=> [|||_]; try exact: fl_rounds.
  exact: (sum_fl_within u0 u1 fl_rounds enough (w0 x)).
- by split.
split=> [x|x|x y].
- exists (drawn x); split=> //; first by rewrite /total_variation (sumV_eq (g := fun=> 0)) ?sumV0 ?mul0r // => y; rewrite subrr normr0.
  rewrite /drawn; case: (stops x) => y; first by rewrite divfK // gt_eqF ?given_sum_gt0.
  have [z|ne] := eqVneq (sumV (w x)) 0; last by rewrite divfK.
  by rewrite (sumV_eq0 (w0 x) z y) z mulr0.
- exact: kaps0.
have -> : kap (rcons x y) = survival_error u o (kap x) by rewrite /kap size_rcons.
rewrite /next_error; case: ifP => // _; apply: survival_error_ge0 => //; exact: kaps0.
Qed.
(* Greedy block verification by the same operations: its ratios are not cut at 1, and its coin is a quotient of two sums. *)
Fixpoint ratio (r : seq V) : R := if r is y :: r' then fl (ratio r' * fl (B (rev r') y / S (rev r') y)) else 1.
Definition greedy_p x : R := ratio (rev x).
Definition greedy_w x y : R := Num.max (fl (fl (greedy_p x * B x y) - S x y)) 0.
Definition greedy_v x y : R := Num.max (fl (S x y - fl (greedy_p x * B x y))) 0.
Definition greedy_H x : R := fl (sum_fl fl (greedy_w x) / sum_fl fl (greedy_v x)).
Theorem greedy_rounding_met : [/\ ratios_given u B S greedy_p, forall x, both_weights_given u B S greedy_p greedy_w greedy_v x
  & forall x, quotient_computed u d greedy_w greedy_v greedy_H x].
Proof.
have w0' x y : 0 <= greedy_w x y by rewrite le_maxr lexx orbT.
have v0' x y : 0 <= greedy_v x y by rewrite le_maxr lexx orbT.
split=> [|x|x].
- split=> // x y; exists (fl (B x y / S x y)), (fl (greedy_p x * fl (B x y / S x y))).
  by split; [exact: fl_rounds | exact: fl_rounds | rewrite /greedy_p rev_rcons /= revK].
- exists (fun y => fl (greedy_p x * B x y)), (fun y => fl (fl (greedy_p x * B x y) - S x y)),
    (fun y => fl (S x y - fl (greedy_p x * B x y))) => y.
  by split=> //; apply: fl_rounds.
exists (sum_fl fl (greedy_w x)), (sum_fl fl (greedy_v x)).
split; [exact: (sum_fl_within u0 u1 fl_rounds enough (w0' x)) | exact: (sum_fl_within u0 u1 fl_rounds enough (v0' x)) | by move=> _; apply: fl_rounds].
Qed.
(* The stream by the same numbers: at most one outcome replaces the one so far, by the computed weights' shares. *)
Definition of_step x y : R := if (size x < gamma)%N then w x y else fl (P x * B x y).
Definition kept_of x : R := fl (1 - P x).
Definition of_all x : R := sumV (of_step x) + kept_of x.
Definition is_skipped x : bool := fl (fl (sum_fl fl (of_step x) + 1) - P x) == 0.
Definition replaces x y : R := if is_skipped x then 0 else if of_all x == 0 then b x y else of_step x y / of_all x.
Definition stays x : R := if is_skipped x then 1 else if of_all x == 0 then 0 else kept_of x / of_all x.
Theorem stream_rounding_met : [/\ survivals_given u B S P,
  forall x, weights_here gamma u B S P of_step x,
  forall x, step_computed u 0 d P stays of_step replaces x,
  (forall x y, 0 <= replaces x y) /\ (forall x, 0 <= stays x) & forall x, sumV (replaces x) + stays x = 1].
Proof.
have [Pg Wg _ _ _] := rounding_met.
have P01 x : 0 <= P x <= 1.
  rewrite /P; elim: (rev x) => [|y r /andP[p0 _]] /=; first by rewrite ler01 lexx.
  by rewrite le_minl lexx orbT andbT le_minr ler01 andbT fl0 // mulr_ge0 // fl0 // divr_ge0.
have k0 x : 0 <= kept_of x by rewrite fl0 // subr_ge0; have /andP[] := P01 x.
have w0' x y : 0 <= of_step x y.
  rewrite /of_step; case: ifP => _; first exact: w0.
  by rewrite fl0 // mulr_ge0 //; have /andP[] := P01 x.
have s0 x : 0 <= sumV (of_step x) by apply: sumV_ge0.
have A0 x : 0 <= of_all x by rewrite addr_ge0.
have zero x : of_all x == 0 -> sumV (of_step x) = 0 /\ kept_of x = 0 by rewrite paddr_eq0 // => /andP[/eqP-> /eqP->].
split=> // [x|x||x].
- rewrite /weights_here; case: ifP => lt; last by move=> y; rewrite /of_step lt; apply: fl_rounds.
  by have [z [f h]] := Wg x; exists z, f => y; rewrite /of_step lt; apply: h.
- exists (kept_of x), (sum_fl fl (of_step x)), (fl (sum_fl fl (of_step x) + 1)), (fl (fl (sum_fl fl (of_step x) + 1) - P x)).
  split; try exact: fl_rounds; first exact: (sum_fl_within u0 u1 fl_rounds enough (w0' x)).
  rewrite -/(is_skipped x); case: ifP => sk; first by rewrite /replaces /stays sk.
  exists (replaces x), (stays x); rewrite /replaces /stays sk; have [/zero[z z']|nz] := boolP (of_all x == 0).
    split; first by rewrite row_sum addr0.
    + by split=> // y; apply: row_ge0.
    + by move=> y; rewrite z z' addr0 mulr0 (sumV_eq0 (w0' x) z).
    + by rewrite mul0r z'.
    by rewrite subrr normr0 addr0 mulr0 (sumV_eq (g := fun=> 0)) ?sumV0 // => y; rewrite subrr normr0.
  split; first by rewrite sumVZr -mulrDl -/(of_all x) mulfV.
  + by split=> [y|]; rewrite divr_ge0.
  + by move=> y; rewrite divfK.
  + by rewrite divfK.
  by rewrite subrr normr0 addr0 mulr0 (sumV_eq (g := fun=> 0)) ?sumV0 // => y; rewrite subrr normr0.
- split=> [x y|x]; rewrite /replaces /stays; case: (is_skipped x); rewrite ?ler01 //; case: ifP; rewrite ?row_ge0 // => _; exact: divr_ge0.
rewrite /replaces /stays; case: (is_skipped x); first by rewrite sumV0 add0r.
by have [_|nz] := boolP (of_all x == 0); [rewrite row_sum addr0 | rewrite sumVZr -mulrDl -/(of_all x) mulfV].
Qed.
(* Tree Monte Carlo by the same numbers: what is left of the draft, what scales the weights, and the weights of all outputs. *)
Definition of_draft x y : R := Num.max (fl (S x y - fl (P x * B x y))) 0.
Definition scaling x y : R :=
  if sum_fl fl (of_draft x) == 0 then 1 else fl (fl (of_draft x y / sum_fl fl (of_draft x)) / S x y).
Fixpoint outputs_from (r : seq V) : nat -> V -> R :=
  if r is z :: r' then fun i y => fl (scaling (rev r') z * book (size r') (outputs_from r') (w (rev r')) i y) else fun _ _ => 0.
Definition outputs x : nat -> V -> R := outputs_from (rev x).
Theorem tree_monte_carlo_met : [/\ survivals_given u B S P,
  forall x, both_weights_given u B S P w of_draft x,
  forall x, scales_given u d S of_draft scaling x, MonteCarloRounding.weights_computed u w scaling outputs &
  exists (whole : seq V -> R) (drawn : seq V -> nat -> V -> R), forall x, exists (r : nat -> V -> R) (k : R),
    [/\ booked (size x) r + k = 1, (forall i y, 0 <= r i y) /\ 0 <= k,
        forall i y, (i < size x)%N -> r i y * (booked (size x) (outputs x) + P x) = outputs x i y,
        k * (booked (size x) (outputs x) + P x) = P x &
        booked (size x) (fun i y => `|drawn x i y - r i y|) + `|whole x - k| <= 0]].
Proof.
have [Pg _ _ _ _] := rounding_met.
have P0 x : 0 <= P x.
  rewrite /P; elim: (rev x) => [|y r p0] /=; first exact: ler01.
  by rewrite le_minr ler01 andbT fl0 // mulr_ge0 // fl0 // divr_ge0.
have d0 x y : 0 <= of_draft x y by rewrite /of_draft le_maxr lexx orbT.
have D0 x := sum_fl_within u0 u1 fl_rounds enough (d0 x).
have t0 x y : 0 <= scaling x y.
  by rewrite /scaling; case: ifP => _; rewrite ?ler01 // fl0 // divr_ge0 // fl0 // divr_ge0 //; have [] := D0 x.
have l0 x i y : 0 <= outputs x i y.
  rewrite /outputs; elim: (rev x) i y => //= z r IH i y; rewrite fl0 // mulr_ge0 // /book.
  by case: ifP => _; rewrite ?w0 ?IH.
split=> // [x|x|x z i y _|].
- exists (fun y => fl (P x * B x y)), (fun y => fl (fl (P x * B x y) - S x y)), (fun y => fl (S x y - fl (P x * B x y))) => y.
  by split=> //; apply: fl_rounds.
- exists (sum_fl fl (of_draft x)); split; first by have [] := D0 x.
  move=> z; rewrite /scaling; case: (sum_fl fl (of_draft x) == 0) => //; exists (fl (of_draft x z / sum_fl fl (of_draft x))).
  by split; apply: fl_rounds.
- by rewrite /outputs rev_rcons /= revK size_rev; apply: fl_rounds.
pose T x := booked (size x) (outputs x) + P x; have T0 x : 0 <= T x by rewrite addr_ge0 // booked_ge0.
pose r x i y : R := if T x == 0 then 0 else outputs x i y / T x; pose k x : R := if T x == 0 then 1 else P x / T x.
exists k, r => x; exists (r x), (k x); have e1 : booked (size x) (fun i y => `|r x i y - r x i y|) + `|k x - k x| <= 0.
  rewrite subrr normr0 addr0 /booked big1 // => i _; rewrite (sumV_eq (g := fun=> 0)) ?sumV0 // => y; by rewrite subrr normr0.
rewrite -/(T x); split=> //; rewrite /r /k; have [z|nz] := eqVneq (T x) 0.
- by rewrite /booked big1 ?add0r // => i _; rewrite sumV0.
- rewrite (_ : booked _ _ = (T x)^-1 * booked (size x) (outputs x)); first by rewrite mulrC -mulrDl mulfV.
  by rewrite -bookedZ; apply: booked_eq => i y _; rewrite mulrC.
- by split=> [i y|]; rewrite ?lexx ?ler01.
- by split=> [i y|]; rewrite divr_ge0.
- move=> i y lt; rewrite mul0r; apply/eqP; rewrite eq_sym eq_le l0 andbT.
  apply: le_trans (_ : booked (size x) (outputs x) <= _); last by rewrite -[X in _ <= X]z ler_addl.
  rewrite /booked (bigD1 (Ordinal lt)) //= sumVE (bigD1 y) //= -addrA ler_addl addr_ge0 ?sumr_ge0 // => k' _.
  by apply: sumV_ge0.
- by move=> i y _; rewrite divfK.
- rewrite mul1r z; apply/eqP; rewrite eq_le P0 /= -[X in _ <= X]z ler_addr; exact: booked_ge0.
- by rewrite divfK.
Qed.
End Rounding.

(* Rules for draft trees: here too every product, quotient and difference is rounded by fl, at every node; their sums are exact
   but for those of recursive rejection. *)
Section RoundedTrees.
Variables (V : vocabulary) (R : realFieldType) (u nu lambda : R) (d : nat) (Fd fl : R -> R).
Hypotheses (u0 : 0 <= u) (u1 : u < 1) (nu0 : 0 <= nu) (lambda0 : 0 <= lambda).
Hypothesis rounded : forall z, Rounding.rounds u z (fl z).
Implicit Types (b q w : V -> R).
Let none q y : (forall y, 0 <= q y) -> rel nu (q y) (q y).
Proof. by move=> q0; rewrite /rel subrr normr0 mulr_ge0. Qed.
Let whole w : (forall y, 0 <= w y) -> within u d (sumV w) (sumV w).
Proof. by move=> w0; rewrite /within subrr normr0 mulr_ge0 ?growth_ge0 ?sumV_ge0. Qed.
Let fl0 z : 0 <= z -> 0 <= fl z.
Proof. by move=> z0; exact: (Rounding.rounds_ge0 (ltW u1) z0 (rounded z)). Qed.
Let fl_lo z : 0 <= z -> (1 - u) * z <= fl z.
Proof.
move=> z0; have := rounded z; rewrite /Rounding.rounds (ger0_norm z0) ler_norml => /andP[lo _].
by rewrite mulrBl mul1r addrC -ler_subr_addr.
Qed.
Let fl_gt0 z : 0 < z -> 0 < fl z.
Proof. by move=> z0; apply: lt_le_trans (fl_lo (ltW z0)); rewrite mulr_gt0 // subr_gt0. Qed.
Let same (r : V -> R) : total_variation r r <= lambda.
Proof. by rewrite /total_variation (sumV_eq (g := fun=> 0)) ?sumV0 ?mul0r // => y; rewrite subrr normr0. Qed.
Lemma share_of_row b : (forall y, 0 <= b y) -> 0 < sumV b -> sumV (share_of b) = 1 /\ forall y, 0 <= share_of b y.
Proof.
move=> b0 bp; split=> [|y]; last by rewrite divr_ge0 // ltW.
by rewrite /share_of sumVZr mulfV // gt_eqF.
Qed.
Definition divided b w y : R := if sumV w == 0 then share_of b y else fl (w y / sumV w).
Lemma divided_ok b w : (forall y, 0 <= b y) -> 0 < sumV b -> (forall y, 0 <= w y) ->
  [/\ forall y, 0 <= divided b w y, 0 < sumV (divided b w),
      sumV w != 0 -> forall y, Rounding.rounds u (w y / sumV w) (divided b w y)
    & sumV w = 0 -> sumV (divided b w) = 1 /\ forall y, 0 <= divided b w y].
Proof.
move=> b0 bp w0; have [s1 s0] := share_of_row b0 bp; rewrite /divided.
have [z|nz] := eqVneq (sumV w) 0; first by split=> //; rewrite s1 ltr01.
split=> // [y||z]; [by rewrite fl0 ?divr_ge0 ?sumV_ge0 | | by rewrite z eqxx in nz].
apply: lt_le_trans (_ : 0 < 1 - u) _; first by rewrite subr_gt0.
have -> : 1 - u = sumV (fun y => (1 - u) * (w y / sumV w)) by rewrite sumVZ sumVZr mulfV // mulr1.
apply: sumV_le => y; have q0 : 0 <= w y / sumV w by rewrite divr_ge0 ?sumV_ge0.
exact: fl_lo.
Qed.

(* Recursive rejection, sums in order and rounded as well; the siblings' rows are what they are drawn from. *)
Theorem tree_rounding_met (B : seq V -> V -> R) (n : nat) x b t : (forall s y, 0 <= B s y) -> (forall s, 0 < sumV (B s)) ->
  (size (tokens V) <= d)%N -> Descent.drawn n t -> (forall y, 0 <= b y) -> 0 < sumV b ->
  exists F, computes u nu lambda d Fd B x b t F.
Proof.
move=> B0 Bp enough h; elim: h x b => {n t} [n|n q below next q0 q1 _ IHb _ IHn] x b b0 bp.
  have [s1 s0] := share_of_row b0 bp; exists (fun A => draw (share_of b) (A x)).
  apply: (@ComputesDone _ _ _ _ _ _ _ _ _ _ (share_of b) (share_of b)) => //.
  by split=> // y; rewrite /share_of divfK // gt_eqF.
pose H y := Num.min (fl (b y / q y)) 1; pose w y := Num.max (fl (b y - q y)) 0.
have w0 y : 0 <= w y by rewrite le_maxr lexx orbT.
have [e0 ew] := sum_fl_within u0 (ltW u1) rounded enough w0; set e := sum_fl fl w in e0 ew *.
pose left y := if e == 0 then share_of b y else fl (w y / e).
have [l0 lp] : (forall y, 0 <= left y) /\ 0 < sumV left.
  have [s1 s0] := share_of_row b0 bp; rewrite /left; have [z|nz] := eqVneq e 0; first by rewrite s1 ltr01.
  have ep : 0 < e by rewrite lt0r nz.
  have wp : 0 < sumV w.
    rewrite lt_neqAle sumV_ge0 // andbT eq_sym; apply: contra nz => /eqP z.
    by move: ew; rewrite /within z subr0 mulr0 normr_le0.
  split=> [y|]; first by rewrite fl0 // divr_ge0.
  apply: lt_le_trans (_ : 0 < (1 - u) * (sumV w / e)) _; first by rewrite mulr_gt0 ?divr_gt0 ?subr_gt0.
  rewrite -sumVZr -sumVZ; apply: sumV_le => y; have q0' : 0 <= w y / e by rewrite divr_ge0.
  exact: fl_lo.
have [FA hA] := fin_all_exists (fun y => IHb y (rcons x y) (B (rcons x y)) (B0 _) (Bp _)).
have [FR hR] := fin_all_exists (fun y => IHn y x left l0 lp).
exists (fun A => draw q (fun y => flip (Fd (H y)) (fun accepted => if accepted then FA y A else FR y A))).
apply: (@ComputesSibling _ _ _ _ _ _ _ _ _ _ q below next q H w e left FA FR) => //.
- by move=> y; apply: none.
- by move=> y; exists (fl (b y / q y)).
- by move=> y; exists (fl (b y - q y)).
- by move=> nz y; rewrite /left (negPf nz); apply: rounded.
by move=> z; have [s1 s0] := share_of_row b0 bp; rewrite /left z eqxx.
Qed.

Section MultiRound.
Variables (Q : seq V -> V -> R) (spent : pred (seq V)).
Hypothesis Q0 : forall elders x, 0 <= Q elders x.
Definition rest_of b q y : R := Num.max (fl (b y - q y)) 0.
Fixpoint rounded_multi_round k elders b xs (g : V -> bool -> R) : R :=
  if k is k'.+1 then
    if spent elders then draw (share_of b) (g^~ false)
    else if xs is x :: xs' then flip (Fd (Num.min (fl (b x / Q elders x)) 1)) (fun accepted => if accepted then g x true
      else rounded_multi_round k' (rcons elders x) (divided b (rest_of b (Q elders))) xs' g) else 0
  else draw (share_of b) (g^~ false).
Theorem multi_round_rounding_met k elders b : (forall y, 0 <= b y) -> 0 < sumV b ->
  multi_round_computed u nu lambda d Fd Q spent k elders b (rounded_multi_round k elders b).
Proof.
elim: k elders b => [|k IH] elders b b0 bp /=; have [s1 s0] := share_of_row b0 bp; first by exists (share_of b); split.
case: ifP => sp; first by exists (share_of b); split=> //= g; rewrite ?sp.
have w0 y : 0 <= rest_of b (Q elders) y by rewrite le_maxr lexx orbT.
have [d0 dp dr dz] := divided_ok b0 bp w0.
exists (Q elders), (fun y => Num.min (fl (b y / Q elders y)) 1), (rest_of b (Q elders)), (sumV (rest_of b (Q elders))),
  (divided b (rest_of b (Q elders))), (fun x => rounded_multi_round k (rcons elders x) (divided b (rest_of b (Q elders)))).
split=> [y|y|y||x]; [exact: none | exists (fl (b y / Q elders y)) => //; exact: rounded | exists (fl (b y - Q elders y)) => //; exact: rounded | | ].
  by split=> //; apply: whole.
by split=> [|xs g]; [exact: IH | rewrite /= sp].
Qed.
End MultiRound.

Theorem traversal_rounding_met (B : seq V -> V -> R) n t top s b P : (forall s y, 0 <= B s y) -> (forall s, 0 < sumV (B s)) ->
  Descent.drawn n t -> (forall y, 0 <= b y) -> 0 < sumV b -> exists F, traverses u nu lambda d Fd B top s b P t F.
Proof.
move=> B0 Bp h; elim: h top s b P => {n t} [n|n q below next q0 q1 _ IHb _ IHn] top s b P b0 bp.
  have [s1 s0] := share_of_row b0 bp; exists (fun A K => if top then draw (share_of b) (A s)
    else flip (Fd P) (fun accepted => if accepted then draw (share_of b) (A s) else K)).
  by apply: (@TraversesDone _ _ _ _ _ _ _ _ _ _ _ _ (share_of b)) => //.
pose H y := Num.min (fl (P * fl (b y / q y))) 1; pose w y := Num.max (fl (fl (P * b y) - q y)) 0.
have w0 y : 0 <= w y by rewrite le_maxr lexx orbT.
have [d0 dp dr dz] := divided_ok b0 bp w0.
have [FA hA] := fin_all_exists (fun x => IHb x false (rcons s x) (B (rcons s x)) (H x) (B0 _) (Bp _)).
pose h := fl (sumV w / fl (fl (sumV w + 1) - P)).
have [FR hR] := fin_all_exists (fun x => IHn x top s (divided b w) (clipped h) d0 dp).
exists (fun A K => draw q (fun x => FA x A (FR x A K))).
apply: (@TraversesSibling _ _ _ _ _ _ _ _ _ _ _ _ q below next q H w (sumV w) (divided b w)
  (fl (sumV w + 1)) (fl (fl (sumV w + 1) - P)) h FA FR) => //.
- by move=> y; apply: none.
- by move=> y; exists (fl (b y / q y)), (fl (P * fl (b y / q y))).
- by move=> y; exists (fl (P * b y)), (fl (fl (P * b y) - q y)).
- exact: whole.
by split=> [||_]; apply: rounded.
Qed.

Lemma repeated_le b q rho j : 0 <= beta b q rho -> beta b q rho <= 1 -> repeated b q rho j <= j%:R.
Proof.
move=> beta0 beta1; have c0 : 0 <= 1 - beta b q rho by rewrite subr_ge0.
elim: j => [|j IH] //=; rewrite -addn1 natrD addrC; apply: ler_add => //; apply: le_trans IH.
rewrite ler_pimull ?ler_subl_addr ?ler_addl //; elim: j => [|j IH] //=; exact: addr_ge0 ler01 (mulr_ge0 c0 IH).
Qed.
Theorem k_seq_rounding_met k b q : (forall y, 0 <= b y) -> sumV b = 1 -> (forall y, 0 <= q y) -> sumV q = 1 ->
  exists F, k_seq_computation u lambda d Fd k b q b q F.
Proof.
move=> b0 b1 q0 q1; pose rho : R := k.+1%:R; have rho0 : 0 < rho by rewrite ltr0Sn.
have i0 : 0 <= rho^-1 by rewrite invr_ge0 ltW.
have bt y := next_p_range b0 q0 y i0.
have beta0 : 0 <= beta b q rho by apply: sumV_ge0 => y; rewrite mulr_ge0 //; have /andP[] := bt y.
have beta1 : beta b q rho <= 1.
  by rewrite -q1; apply: sumV_le => y; rewrite /Descent.taken next_pE // le_minl lexx orbT.
have allowed : repeated b q rho k <= rho by apply: le_trans (repeated_le k beta0 beta1) _; rewrite ler_nat.
pose t y := Num.min (q y) (fl (b y / rho)); pose be := sumV t; pose c := fl (1 - be).
have t0 y : 0 <= t y by rewrite le_minr q0 fl0 // divr_ge0 // ltW.
have [P hP] : exists P, product_of u c k P.
  elim: k {rho rho0 i0 bt beta0 beta1 allowed t be t0} c => [|j IH] c; first by exists 1.
  by have [P hP] := IH c; exists (fl (P * c)), P.
pose A := fl (1 - P).
pose w y := if be == 0 then b y else Num.max (fl (b y - fl (fl (t y * A) / be))) 0.
have w0 y : 0 <= w y by rewrite /w; case: ifP => // _; rewrite le_maxr lexx orbT.
pose r y := if sumV w == 0 then b y else w y / sumV w.
have [r1 r0 rw] : [/\ sumV r = 1, forall y, 0 <= r y & forall y, r y * sumV w = w y].
  rewrite /r; have [z|nz] := eqVneq (sumV w) 0.
    by split=> // y; rewrite z mulr0 (sumV_eq0 w0 z).
  by split=> [|y|y]; [rewrite sumVZr mulfV | rewrite divr_ge0 // sumV_ge0 | rewrite divfK].
exists (fun xs g => first_of (fun y => Fd (Num.min (fl (b y / fl (rho * q y))) 1)) xs g (draw r (g^~ false))).
exists rho, t, w, (fun y => Num.min (fl (b y / fl (rho * q y))) 1), r, r, be, c, P, A; split.
- by split=> //; left.
- by split; [move=> y; exists (fl (b y / rho)) | apply: whole].
- by split; [exact: rounded | exact: (product_near u0 hP) | exact: rounded].
- rewrite /w; case: eqP => // _ y.
  by exists (fl (t y * A)), (fl (fl (t y * A) / be)), (fl (b y - fl (fl (t y * A) / be))).
by split=> // y; exists (fl (rho * q y)), (fl (b y / fl (rho * q y))); split=> //; left.
Qed.

(* One augmentation more, whatever it moves: no number becomes negative. *)
Theorem plan_met (D : vocabulary) m (L supply : D -> R) (B room : V -> R) (moved flow : D -> V -> R) :
  plan_after u m L B moved supply room -> (forall S y, 0 <= moved S y + flow S y) ->
  (forall S, sumV (flow S) <= supply S) -> (forall y, sumV (flow^~ y) <= room y) ->
  plan_after u m.+1 L B (fun S y => fl (moved S y + flow S y)) (fun S => fl (supply S - sumV (flow S)))
    (fun y => fl (room y - sumV (flow^~ y))).
Proof.
move=> made fm fs fr; exists moved, supply, room, flow.
by split=> // *; split; rewrite ?subr_ge0.
Qed.
Theorem choices_met (D : vocabulary) (supply : D -> R) (moved : D -> V -> R) kappa : 0 <= kappa ->
  (forall S, 0 <= supply S) -> (forall S y, 0 <= moved S y) -> exists a : D -> V -> R,
  [/\ forall S y, 0 <= a S y, forall S, sumV (a S) <= 1 & forall S, chosen_by_the_plan kappa supply moved a S].
Proof.
move=> kappa0 s0 m0; pose a S y := moved S y / supplied supply moved S.
have p0 S : 0 <= supplied supply moved S by apply: addr_ge0 => //; apply: sumV_ge0.
have a1 S : sumV (a S) <= 1.
  rewrite /a sumVZr; have [z|nz] := eqVneq (supplied supply moved S) 0; first by rewrite z invr0 mulr0 ler01.
  have pp : 0 < supplied supply moved S by rewrite lt0r nz p0.
  by rewrite ler_pdivr_mulr // mul1r /supplied ler_addr.
have aE S y : a S y * supplied supply moved S = moved S y.
  rewrite /a; have [z|nz] := eqVneq (supplied supply moved S) 0; last by rewrite divfK.
  have : sumV (moved S) <= supplied supply moved S by rewrite /supplied ler_addr.
  rewrite z mulr0 => le; have e0 : sumV (moved S) = 0 by apply/eqP; rewrite eq_le le sumV_ge0.
  by rewrite (sumV_eq0 (m0 S) e0).
exists a; split=> // [S y|S]; first by rewrite divr_ge0.
exists (a S); split=> // [y|]; first by rewrite divr_ge0.
by rewrite (sumV_eq (g := fun=> 0)) ?sumV0 // => y; rewrite subrr normr0.
Qed.
(* Global Resolution, stopped early: its solver's shares as they are; and scaled. *)
Theorem truncated_met (D : vocabulary) (Q : seq V -> seq V -> V -> R) (spent : seq V -> pred (seq V)) (key : seq V -> D)
    (share : seq V -> nat -> D -> V -> R) (B : seq V -> V -> R) (kappa : R) : 0 <= kappa ->
  (forall s k S, 0 <= KSeqRounding.drafted (Q s) (spent s) key k S) -> (forall s k S y, 0 <= share s k S y) ->
  exists left : seq V -> nat -> V -> R, forall s k, truncated_step u Q spent key share share B left u kappa d s k.
Proof.
move=> kappa0 dr0 s0; pose L s k S := fl (KSeqRounding.drafted (Q s) (spent s) key k S); pose P s k S y := fl (L s k S * share s k S y).
exists (fun s k y => Num.max (fl (B s y - sumV ((P s k)^~ y))) 0) => s k; exists (L s k), (P s k), (fun y => sumV ((P s k)^~ y)).
split=> [S|S y|y|y|S].
- by rewrite /rel -{2}(ger0_norm (dr0 s k S)); apply: rounded.
- exact: rounded.
- rewrite /within subrr normr0 mulr_ge0 ?growth_ge0 // sumV_ge0 // => S.
  by rewrite fl0 // mulr_ge0 // fl0.
- by exists (fl (B s y - sumV ((P s k)^~ y))).
by rewrite /apart (sumV_eq (g := fun=> 0)) ?sumV0 // => y; rewrite subrr normr0.
Qed.
Theorem resolution_met (D : vocabulary) (B : V -> R) (drafted : D -> R) (share : D -> V -> R) kappa : 0 <= kappa ->
  (forall S, 0 <= drafted S) -> (forall y, 0 <= B y) -> (forall S y, 0 <= share S y) -> (forall S, sumV (share S) <= 1) ->
  exists (a : D -> V -> R) (w : V -> R),
  [/\ forall S y, 0 <= a S y, forall S, sumV (a S) <= 1 & resolution_step u u kappa d B drafted share a w].
Proof.
move=> kappa0 dr0 B0 s0 s1; pose P S y := fl (fl (drafted S) * share S y); pose acc y := sumV (P^~ y).
have P0 S y : 0 <= P S y by rewrite !(fl0, mulr_ge0).
have acc0 y : 0 <= acc y by apply: sumV_ge0.
pose sc y := if acc y == 0 then 1 else Num.min (fl (B y / acc y)) 1.
have sc01 y : 0 <= sc y <= 1.
  rewrite /sc; case: ifP => _; first by rewrite ler01 lexx.
  by rewrite le_minr ler01 fl0 ?divr_ge0 //= le_minl lexx orbT.
have [sc0 sc1] : (forall y, 0 <= sc y) /\ forall y, sc y <= 1 by split=> y; have /andP[] := sc01 y.
exists (fun S y => share S y * sc y), (fun y => Num.max (fl (B y - fl (acc y * sc y))) 0).
split=> [S y|S|]; first exact: mulr_ge0.
  by apply: le_trans (s1 S); apply: sumV_le => y; rewrite ler_pimulr.
exists (fun S => fl (drafted S)), P, acc, sc; split=> [S|S y|y|y|S]; [ | exact: rounded | by rewrite /within subrr normr0 mulr_ge0 ?growth_ge0 ?acc0 | | ].
- by have := rounded (drafted S); rewrite /Rounding.rounds (ger0_norm (dr0 S)).
- split; last by exists (fl (acc y * sc y)), (fl (B y - fl (acc y * sc y))).
  by rewrite /scaled /sc; case: eqP => // _; exists (fl (B y / acc y)).
by rewrite (sumV_eq (g := fun=> 0)) ?sumV0 // => y; rewrite subrr normr0.
Qed.
(* Scaled transport: at each text one augmentation, which moves L S B' y / (1 + sum B') from the drafts S to the token y. *)
Section Climb.
Variables (D : vocabulary) (B : seq V -> V -> R) (Q : seq V -> seq V -> V -> R) (spent : seq V -> pred (seq V)) (key : seq V -> D).
Hypotheses (B0 : forall s y, 0 <= B s y) (B1 : forall s, sumV (B s) = 1).
Hypotheses (Q0 : forall s elders x, 0 <= Q s elders x) (Q1 : forall s elders, ~~ spent s elders -> sumV (Q s elders) = 1).
Section Node.
Variables (s : seq V) (P : R) (k : nat).
Definition weighted y : R := fl (P * B s y).
Definition of_drafts : D -> R := drafted (Q s) (spent s) key k.
Definition flows X y : R := of_drafts X * (weighted y / (1 + sumV weighted)).
Definition moves X y : R := fl (0 + flows X y).
Definition unused X : R := fl (of_drafts X - sumV (flows X)).
Definition room_left y : R := fl (weighted y - sumV (flows^~ y)).
Definition child_weight X : R := sumV (moves X) / supplied unused moves X.
Definition child X y : R := moves X y / sumV (moves X).
Definition last_of (w : V -> R) y : R := if sumV w == 0 then B s y else w y / sumV w.
Definition taken_m : R := fl (P - sumV room_left).
Definition way_up_h : R := fl (fl (P - taken_m) / fl (1 - taken_m)).
End Node.
Fixpoint climb n (top : bool) s f P A K : R :=
  let row := draw (share_of (B s)) (A s) in
  match n, f with
  | n'.+1, _ :: _ =>
      let up := up_computed Fd top s (last_of s (room_left s P (size f))) (way_up_h s P (size f)) A K in
      siblings (Q s) (spent s) (size f) [::] (fun xs => let X := key xs in
        if child_weight s P (size f) X == 0 then up
        else draw (child s P (size f) X) (fun y => climb n' false (rcons s y) (go_on f xs y) (child_weight s P (size f) X) A up))
  | _, _ => if top then row else flip (Fd P) (fun accepted => if accepted then row else K)
  end.
Theorem scaled_transport_met n top s f P kappa : 0 <= kappa -> 0 <= P <= 1 ->
  climbs u kappa lambda d Fd (fun=> 1%N) (fun=> 0) B Q spent key n top s f P (climb n top s f P).
Proof.
move=> kappa0; have s1 s' : sumV (share_of (B s')) = 1 by rewrite /share_of sumVZr B1 divr1.
have s0 s' y : 0 <= share_of (B s') y by rewrite /share_of B1 divr1.
elim: n top s f P => [|n IH] top s f P /andP[P0 P1].
  by exists (share_of (B s)).
case: f => [|t f]; first by exists (share_of (B s)).
set k := (size f).+1; have L0 X : 0 <= of_drafts s k X := drafted_ge0 _ _ (Q0 s) (@Q1 s) X.
have w0 y : 0 <= weighted s P y := fl0 (mulr_ge0 P0 (B0 s y)).
have S0 : 0 <= sumV (weighted s P) by apply: sumV_ge0.
have Sp : 0 < 1 + sumV (weighted s P) by rewrite ltr_paddr // ltr01.
have fw0 X y : 0 <= flows s P k X y by rewrite mulr_ge0 // divr_ge0 // ltW.
have mv0 X y : 0 <= moves s P k X y by apply: fl0; rewrite add0r.
have fs X : sumV (flows s P k X) <= of_drafts s k X.
  by rewrite sumVZ sumVZr ler_pimulr // ler_pdivr_mulr // mul1r ler_addr ler01.
have fr y : sumV ((flows s P k)^~ y) <= weighted s P y.
  rewrite sumVZr (drafted_sum key k (@Q1 s)) mul1r ler_pdivr_mulr // mulrDr mulr1 ler_addl.
  exact: mulr_ge0.
have us0 X : 0 <= unused s P k X by apply: fl0; rewrite subr_ge0.
have rm0 y : 0 <= room_left s P k y by apply: fl0; rewrite subr_ge0.
have [a [a0 a1 ch]] := @choices_met D (unused s P k) (moves s P k) kappa kappa0 us0 mv0.
have sp0 X : 0 <= supplied (unused s P k) (moves s P k) X by apply: addr_ge0 => //; apply: sumV_ge0.
have cw X : 0 <= child_weight s P k X <= 1.
  rewrite divr_ge0 ?sumV_ge0 //=; have [z|nz] := eqVneq (supplied (unused s P k) (moves s P k) X) 0.
    by rewrite /child_weight z invr0 mulr0 ler01.
  by rewrite ler_pdivr_mulr ?lt0r ?nz ?sp0 // mul1r /supplied ler_addr.
have last1 w : (forall y, 0 <= w y) -> [/\ sumV (last_of s w) = 1, forall y, 0 <= last_of s w y & forall y, last_of s w y * sumV w = w y].
  move=> w'0; rewrite /last_of; have [z|nz] := eqVneq (sumV w) 0.
    by split=> // y; rewrite z mulr0 (sumV_eq0 w'0 z).
  by split=> [|y|y]; [rewrite sumVZr mulfV | rewrite divr_ge0 // sumV_ge0 | rewrite divfK].
have [l1 l0 lr] := last1 _ rm0.
exists (weighted s P), (of_drafts s k), (unused s P k), (moves s P k), (child s P k), (room_left s P k), (last_of s (room_left s P k)).
exists (child_weight s P k), (sumV (room_left s P k)), (taken_m s P k), (fl (P - taken_m s P k)), (fl (1 - taken_m s P k)), (way_up_h s P k).
exists (fun xs y => climb n false (rcons s y) (go_on (t :: f) xs y) (child_weight s P k (key xs))); split.
- split=> [y|X|]; [exact: rounded | by rewrite /rel subrr normr0 mul0r | ].
  exists (fun _ _ => 0), (of_drafts s k), (weighted s P), (flows s P k); split=> [//|X y|X|y].
  + by split; [rewrite add0r | exact: rounded].
  + by split; [rewrite subr_ge0 | exact: rounded].
  by split; [rewrite subr_ge0 | exact: rounded].
- move=> X; split=> // [y|nz|]; first by rewrite divr_ge0 ?sumV_ge0.
    rewrite sumVZr mulfV //; apply: contra nz => /eqP z.
    by rewrite /child_weight z mul0r.
  exists (fun y => child_weight s P k X * child s P k X y); split=> [y|||].
  + by rewrite mulr_ge0 ?divr_ge0 ?sumV_ge0 //; have /andP[] := cw X.
  + rewrite sumVZ /child sumVZr; have [z|nz] := eqVneq (sumV (moves s P k X)) 0; first by rewrite z mul0r mulr0 ler01.
    by rewrite mulfV // mulr1; have /andP[] := cw X.
  + move=> y; rewrite /child_weight /child; have [z|nz] := eqVneq (sumV (moves s P k X)) 0.
      by rewrite z !mul0r (sumV_eq0 (mv0 X) z).
    have spn : supplied (unused s P k) (moves s P k) X != 0.
      apply: lt0r_neq0; apply: ltr_paddl => //; rewrite lt0r nz; exact: sumV_ge0.
    by field; rewrite nz spn.
  by rewrite (sumV_eq (g := fun=> 0)) ?sumV0 // => y; rewrite subrr normr0.
- by split=> //; exists (last_of s (room_left s P k)).
- by split=> [||||_]; try exact: rounded; apply: whole.
by split=> [xs y _|//]; apply: IH; apply: cw.
Qed.
End Climb.

(* The rows of the law of the choice among k + 1 paths. *)
Section Paths.
Variables (rank : seq V -> V -> nat) (given : seq V -> V -> R) (k : nat).
Hypothesis given0 : forall x y, 0 <= given x y.
Fixpoint state (x : seq V) : R * R :=
  if x is y :: x' then
    let: (mass, back) := state x' in let z t := fl (mass * given (rev x') t) in
    (z y, back + sumV (fun t => (rank (rev x') y < rank (rev x') t)%:R * z t))
  else (1, 0).
Definition mass_fl x : R := (state (rev x)).1.
Definition back_fl x : R := (state (rev x)).2.
Definition z_fl x y : R := fl (mass_fl x * given x y).
Definition lo_fl x y : R := back_fl x + sumV (fun t => (rank x y < rank x t)%:R * z_fl x t).
Fixpoint spread_fl j (a b : R) : R * R :=
  if j is j'.+1 then let: (p, v) := spread_fl j' a b in (fl (p * b), fl (fl (v * a) + fl (p * b))) else (1, 1).
Definition rows_fl x y : R :=
  fl (fl (given x y * (spread_fl k (lo_fl x y + z_fl x y) (lo_fl x y)).2)
    / (spread_fl k (fl (back_fl x + mass_fl x)) (back_fl x)).2).
Theorem multi_path_rows_met : sums_computed rank u d given mass_fl back_fl z_fl lo_fl (fun x y => lo_fl x y + z_fl x y)
  /\ forall x, row_computed k u given mass_fl back_fl lo_fl (fun x y => lo_fl x y + z_fl x y) rows_fl x.
Proof.
have st x : 0 <= (state x).1 /\ 0 <= (state x).2.
  elim: x => [|y x /=]; first by rewrite /= ler01 lexx.
  case: (state x) => [ma ba] /= [m0 b0]; have z0 t : 0 <= fl (ma * given (rev x) t) by rewrite fl0 // mulr_ge0.
  by split=> //; rewrite addr_ge0 // sumV_ge0 // => t; rewrite mulr_ge0 ?ler0n.
have z0 x y : 0 <= z_fl x y by rewrite fl0 // mulr_ge0 //; have [] := st (rev x).
have l0 x y : 0 <= lo_fl x y.
  by rewrite addr_ge0 ?sumV_ge0 //; [have [] := st (rev x) | move=> t; rewrite mulr_ge0 ?ler0n].
split; first split=> [//|x y|x y|x y|x y]; first exact: rounded.
- by rewrite /within subrr normr0 mulr_ge0 ?growth_ge0 // -/(lo_fl x y).
- by rewrite /within subrr normr0 mulr_ge0 ?growth_ge0 // addr_ge0 // -/(lo_fl x y).
- rewrite /lo_fl /z_fl /mass_fl /back_fl rev_rcons /= revK.
  by case: (state (rev x)).
have sp j (a b : R) : spread_computed u j a b (spread_fl j a b).1 (spread_fl j a b).2.
  elim: j => //= j; case: (spread_fl j a b) => [p v] /= IH; exists p, v, (fl (v * a)).
  by split=> //; apply: rounded.
move=> x; exists (fl (back_fl x + mass_fl x)), (spread_fl k (fl (back_fl x + mass_fl x)) (back_fl x)).1.
exists (spread_fl k (fl (back_fl x + mass_fl x)) (back_fl x)).2; split=> [||y]; [exact: rounded | exact: sp | ].
exists (spread_fl k (lo_fl x y + z_fl x y) (lo_fl x y)).1, (spread_fl k (lo_fl x y + z_fl x y) (lo_fl x y)).2.
by exists (fl (given x y * (spread_fl k (lo_fl x y + z_fl x y) (lo_fl x y)).2)); split; [exact: sp | exact: rounded | exact: rounded].
Qed.
End Paths.
(* Chosen tokens, and a single path's coins and weights by any row. *)
Theorem chosen_rounding_met (chosen : seq V -> V) (spent : pred (seq V)) k elders b : (forall y, 0 <= b y) -> 0 < sumV b ->
  exists F, chosen_computed u lambda d Fd chosen spent k elders b F.
Proof.
elim: k elders b => [|k IH] elders b b0 bp /=; have [s1 s0] := share_of_row b0 bp.
  by exists (fun _ g => draw (share_of b) (g^~ false)), (share_of b); split.
case: (spent elders); first by exists (fun _ g => draw (share_of b) (g^~ false)), (share_of b); split.
pose w y := if y == chosen elders then 0 else b y; have w0 y : 0 <= w y by rewrite /w; case: ifP.
have [d0 dp dr dz] := divided_ok b0 bp w0.
have [F' hF] := fin_all_exists (fun x => IH (rcons elders x) (divided b w) d0 dp).
exists (fun xs g => if xs is z :: xs' then flip (Fd (if z == chosen elders then Num.min (b (chosen elders)) 1 else 0))
  (fun accepted => if accepted then g z true else F' z xs' g) else 0).
by exists (sumV w), (divided b w), F'; split=> //; apply: whole.
Qed.
Theorem any_row_met (B G : V -> R) (t : R) : 0 <= lambda -> (forall y, 0 <= B y) -> 0 < sumV B ->
  exists H w r : V -> R, [/\ coin_of_row u B G H, left_of_row u B G w, by_weights w r &
    forall x, exists z a, [/\ Rounding.rounds u (B x / G x) z, Rounding.rounds u (z + t) a & clipped (fl (fl (B x / G x) + t)) = clipped a]].
Proof.
move=> l0 B0 Bp; have [s1 s0] := share_of_row B0 Bp; pose w y := Num.max (fl (B y - G y)) 0.
have w0 y : 0 <= w y by rewrite le_maxr lexx orbT.
exists (fun y => Num.min (fl (B y / G y)) 1), w, (fun y => if sumV w == 0 then share_of B y else w y / sumV w); split.
- by move=> y; exists (fl (B y / G y)).
- by move=> y; exists (fl (B y - G y)).
- have [z|nz] := eqVneq (sumV w) 0; split=> [|y|y] //; first by rewrite z mulr0 (sumV_eq0 w0 z).
  + by rewrite sumVZr mulfV.
  + by rewrite divr_ge0 // sumV_ge0.
  by rewrite divfK.
by move=> x; exists (fl (B x / G x)), (fl (fl (B x / G x) + t)).
Qed.
(* The races of list matching, over any positive pieces. *)
Section Races.
Fixpoint rings_fl n (A : R) (ds : seq R) : R :=
  if n is n'.+1 then fl ((\sum_(i < size ds) fl (nth 0 ds i * rings_fl n' A (del i ds))) / (A + total_of ds)) else fl A^-1.
Fixpoint race_fl (spans : seq (seq (piece R))) (A : R) (ds : seq R) : R :=
  if spans is sp :: rest then \sum_(i < size sp) fl ((nth (nothing R) sp i).1.1
    * race_fl rest (fl (A + (nth (nothing R) sp i).1.2)) ((nth (nothing R) sp i).2 ++ ds))
  else rings_fl (size ds) A ds.
Theorem races_met spans A ds : all (all (@positive R)) spans -> 0 < A -> all (fun x => 0 <= x) ds ->
  0 <= race_fl spans A ds /\ race_computed u spans A ds (race_fl spans A ds).
Proof.
have self n (x : R) : 0 <= x -> within u n x x.
  by move=> x0; rewrite /within subrr normr0 mulr_ge0 ?growth_ge0.
have ring n A' ds' : 0 < A' -> all (fun x => 0 <= x) ds' -> 0 <= rings_fl n A' ds' /\ rings_computed u n A' ds' (rings_fl n A' ds').
  elim: n ds' => [|n IH] ds' A0 h; first by split; [rewrite fl0 // invr_ge0 ltW | exact: rounded].
  have nn i : (i < size ds')%N -> 0 <= nth 0 ds' i by move=> lt; exact: (allP h _ (mem_nth 0 lt)).
  have ih i := IH (del i ds') A0 (all_del i h); have t0 := total_ge0 h.
  have S0 : 0 <= \sum_(i < size ds') fl (nth 0 ds' i * rings_fl n A' (del i ds')).
    by apply: sumr_ge0 => i _; rewrite fl0 // mulr_ge0 ?nn //; have [] := ih i.
  have D0 : 0 <= A' + total_of ds' by rewrite addr_ge0 // ltW.
  split; first by rewrite fl0 // divr_ge0.
  exists (fun i => rings_fl n A' (del i ds')), (fun i => fl (nth 0 ds' i * rings_fl n A' (del i ds'))).
  exists (\sum_(i < size ds') fl (nth 0 ds' i * rings_fl n A' (del i ds'))), (A' + total_of ds').
  by split=> [i _|i _|||]; [have [] := ih i | exact: rounded | exact: self | exact: self | exact: rounded].
elim: spans A ds => [|sp rest IH] A ds /=; first by move=> _ A0 h; apply: ring.
move=> /andP[hp hr] A0 h; pose W i := nth (nothing R) sp i.
have here i : (i < size sp)%N -> 0 <= (W i).1.1 /\ 0 <= race_fl rest (fl (A + (W i).1.2)) ((W i).2 ++ ds)
    /\ race_computed u rest (fl (A + (W i).1.2)) ((W i).2 ++ ds) (race_fl rest (fl (A + (W i).1.2)) ((W i).2 ++ ds)).
  move=> lt; have /and4P[w0 w1 w2 _] : positive (W i) by exact: (allP hp _ (mem_nth _ lt)).
  by split=> //; apply: IH; rewrite ?all_cat ?w2 // fl_gt0 // ltr_paddr.
have S0 : 0 <= \sum_(i < size sp) fl ((W i).1.1 * race_fl rest (fl (A + (W i).1.2)) ((W i).2 ++ ds)).
  by apply: sumr_ge0 => i _; have [w0 [r0 _]] := here i (ltn_ord i); rewrite fl0 // mulr_ge0.
split=> //; exists (fun i => fl (A + (W i).1.2)), (fun i => race_fl rest (fl (A + (W i).1.2)) ((W i).2 ++ ds)).
exists (fun i => fl ((W i).1.1 * race_fl rest (fl (A + (W i).1.2)) ((W i).2 ++ ds))).
by split=> [i _|i lt|i _|]; [exact: rounded | have [_ []] := here i lt | exact: rounded | exact: self].
Qed.
End Races.
End RoundedTrees.

(* Hierarchical verification, every operation but its sums rounded. *)
Section RoundedPath.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (c : seq V) (u : R) (d : nat) (fl : R -> R).
Hypotheses (u0 : 0 <= u) (rounded : forall z, Rounding.rounds u z (fl z)).
Notation b x := (Mb (c ++ x)).
Notation s x := (Ms (c ++ x)).
Fixpoint joint_from (r : seq V) : R :=
  if r is y :: r' then fl (joint_from r' * fl (b (rev r') y / s (rev r') y)) else 1.
Fixpoint most_from (r : seq V) : R :=
  if r is y :: r' then fl (most_from r' + Num.max (fl (joint_from r - most_from r')) 0) else 1.
Definition share_at x : R := fl (joint_from (rev x) / most_from (rev x)).
Definition above x y : R := Num.max (fl (fl (share_at x * b x y) - s x y)) 0.
Definition beneath x y : R := Num.max (fl (s x y - fl (share_at x * b x y))) 0.
Definition capped x : R := fl (sumV (above x) / fl (sumV (beneath x) + Num.max (fl (sumV (above x) - sumV (beneath x))) 0)).
Theorem hierarchical_rounding_met : [/\
  ratios_computed u (fun x => b x) (fun x => s x) (fun x => joint_from (rev x)) (fun x => most_from (rev x)) share_at,
  forall x, both_weights_given u (fun x => b x) (fun x => s x) share_at above beneath x
  & forall x, capped_quotient u d above beneath capped x].
Proof.
split=> [|x|x].
- split=> // [x|x y]; first exact: rounded.
  exists (fl (b x y / s x y)), (fl (joint_from (rev (rcons x y)) - most_from (rev x))).
  by rewrite rev_rcons /= revK; split.
- exists (fun y => fl (share_at x * b x y)), (fun y => fl (fl (share_at x * b x y) - s x y)),
    (fun y => fl (s x y - fl (share_at x * b x y))) => y.
  by split.
have w0 : 0 <= sumV (above x) by apply: sumV_ge0 => y; rewrite le_maxr lexx orbT.
have v0 : 0 <= sumV (beneath x) by apply: sumV_ge0 => y; rewrite le_maxr lexx orbT.
have whole z : 0 <= z -> within u d z z by move=> z0; rewrite /within subrr normr0 mulr_ge0 ?growth_ge0.
exists (sumV (above x)), (sumV (beneath x)), (fl (sumV (above x) - sumV (beneath x))),
  (fl (sumV (beneath x) + Num.max (fl (sumV (above x) - sumV (beneath x))) 0)).
split; [by split=> //; apply: whole | by split=> //; apply: whole | exact: rounded | exact: rounded | ].
by move=> _; apply: rounded.
Qed.
End RoundedPath.

(* Where a theorem asks for tails or scales on one side, every operation is off by the same factor. *)
Definition off (R : realFieldType) (e z : R) : R := (1 + e) * z.
Lemma off_rounds (R : realFieldType) (u e z : R) : `|e| <= u -> Rounding.rounds u z (off e z).
Proof.
move=> eu; rewrite /Rounding.rounds /off; have -> : (1 + e) * z - z = e * z by ring.
by rewrite normrM ler_wpmul2r.
Qed.
(* Thresholds: sums and quotients that are e too large, tails that are e too small; so that no tail grows. *)
Section RoundedTails.
Variables (V : vocabulary) (R : realFieldType) (u e acc : R) (Fd : R -> R) (row : V -> R).
Hypotheses (e0 : 0 <= e) (eu : e <= u) (e1 : e <= 1) (acc0 : 0 < acc) (row0 : forall y, 0 <= row y).
Implicit Types (es : seq V) (x : V).
Definition heap_fl es : R := foldl (fun m x => off e (m + row x)) 0 es.
Definition over_fl es : R := Num.min (off e (off e (10%:R * heap_fl es) / acc)) 1.
Definition tail_fl es : R := if nilp es then 1 else (1 - e) * (1 - over_fl es).
Definition share_fl es x : R := Fd (clipped (off e (1 - off e (tail_fl (rcons es x) / tail_fl es)))).
Theorem thresholds_rounding_met : tails_computed u acc row heap_fl tail_fl /\ shares_computed u Fd tail_fl share_fl.
Proof.
have up z : Rounding.rounds u z (off e z) by apply: off_rounds; rewrite ger0_norm.
have f0 : 0 <= 1 + e by rewrite addr_ge0 ?ler01.
have m1 es x : heap_fl (rcons es x) = off e (heap_fl es + row x) by rewrite /heap_fl foldl_rcons.
have m0 es : 0 <= heap_fl es by elim/last_ind: es => [|es x IH]; rewrite ?lexx // m1 mulr_ge0 // addr_ge0.
have grow z : 0 <= z -> z <= off e z by move=> z0; rewrite /off mulrDl mul1r ler_addl mulr_ge0.
have k0 : 0 <= 1 - e by rewrite subr_ge0.
have le z z' : z <= z' -> Num.min z 1 <= Num.min z' 1 :> R.
  by move=> le; rewrite le_minr [X in _ && X]le_minl lexx orbT andbT le_minl le.
have mono es x : over_fl es <= over_fl (rcons es x).
  apply: le; rewrite /off; apply: ler_wpmul2l => //; rewrite ler_pmul2r ?invr_gt0 //.
  apply: ler_wpmul2l => //; apply: ler_wpmul2l; first exact: ler0n.
  by rewrite m1; apply: le_trans (grow _ _); [rewrite ler_addl | rewrite addr_ge0].
split; last by move=> es x; exists (off e (tail_fl (rcons es x) / tail_fl es)), (off e (1 - off e (tail_fl (rcons es x) / tail_fl es))).
split=> // es x; exists (off e (10%:R * heap_fl (rcons es x))), (off e (off e (10%:R * heap_fl (rcons es x)) / acc)).
have tE : tail_fl (rcons es x) = (1 - e) * (1 - over_fl (rcons es x)) by rewrite /tail_fl /nilp size_rcons.
split=> //; first by rewrite m1.
  rewrite tE /Rounding.rounds -/(over_fl _); have -> (z : R) : (1 - e) * z - z = - e * z by ring.
  by rewrite normrM normrN (ger0_norm e0); apply: ler_wpmul2r.
rewrite tE /tail_fl; case: nilP => _; last by apply: ler_wpmul2l => //; rewrite ler_add2l ler_opp2.
have o0 : 0 <= over_fl (rcons es x) by rewrite le_minr ler01 andbT mulr_ge0 // divr_ge0 ?(ltW acc0) // mulr_ge0 // mulr_ge0 ?ler0n.
apply: le_trans (ler_pimull _ _) _; rewrite ?ler_subl_addr ?ler_addl // subr_ge0 le_minl lexx orbT //.
Qed.
End RoundedTails.

(* Cactus: differences, products and coins that are e too large, the scale e too small; so that it is at most 1. *)
Section RoundedRaise.
Variables (V : vocabulary) (R : realFieldType) (u e : R) (P G : V -> R) (x : V) (one h : R).
Hypotheses (e0 : 0 <= e) (eu : e <= u) (e1 : e <= 1) (Ph : P x <= h) (h1 : h <= one).
Definition scale_fl : R := if one == P x then 0 else (1 - e) * (off e (one - h) / off e (one - P x)).
Definition raised_left_fl y : R := Num.max (off e ((if y == x then h else off e (P y * scale_fl)) - G y)) 0.
Theorem cactus_rounding_met : [/\ scale_computed u P x h one scale_fl, left_computed u P G x h scale_fl raised_left_fl &
  exists2 z, Rounding.rounds u (h / G x) z & Num.min (off e (h / G x)) 1 = Num.min z 1].
Proof.
have up z : Rounding.rounds u z (off e z) by apply: off_rounds; rewrite ger0_norm.
split; [|move=> y|by exists (off e (h / G x))].
- exists (off e (one - h)), (off e (one - P x)); split=> //; rewrite /scale_fl; case: eqP => [_|/eqP ne]; rewrite ?lexx ?ler01 //.
    have d0 : 0 < one - P x by rewrite subr_gt0 lt_neqAle eq_sym ne (le_trans Ph).
    have f0 : 0 < 1 + e by rewrite (lt_le_trans ltr01) // ler_addl.
    have q0 : 0 <= off e (one - h) / off e (one - P x) by rewrite divr_ge0 // mulr_ge0 ?(ltW f0) ?(ltW d0) // subr_ge0.
    have q1 : off e (one - h) / off e (one - P x) <= 1.
      by rewrite ler_pdivr_mulr ?mulr_gt0 // mul1r ler_wpmul2l ?(ltW f0) // ler_add2l ler_opp2.
    by rewrite mulr_ge0 ?subr_ge0 //; apply: mulr_ile1; rewrite ?subr_ge0 // ler_subl_addr ler_addl.
  rewrite /Rounding.rounds; set q := _ / _; have -> : (1 - e) * q - q = - e * q by ring.
  by rewrite normrM normrN (ger0_norm e0); apply: ler_wpmul2r.
exists (if y == x then h else off e (P y * scale_fl)), (off e ((if y == x then h else off e (P y * scale_fl)) - G y)).
by split=> //; case: (y == x).
Qed.
End RoundedRaise.

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
