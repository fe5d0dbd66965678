(* Block and token verification as functions of the rows and of any rounding fl: each operation is rounded, sums are added up in
   a given order.  They meet the hypotheses of AbsoluteRounding.v. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum zify.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Models Algorithms Verifier Block Token SubBlocks Precision Rounding BlockRounding SeveralDrafts ProblemRounding TreeRounding AbsoluteStep AbsoluteRounding.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

(* An order of additions: each token of the vocabulary is added once. *)
Section Order.
Variable V : vocabulary.
Inductive adding := One of V | Both of adding & adding.
Fixpoint added_tokens t : seq V := match t with One y => [:: y] | Both a b => added_tokens a ++ added_tokens b end.
Definition adds_all t : Prop := perm_eq (added_tokens t) (tokens V).
Fixpoint additions_deep t : nat := if t is Both a b then (maxn (additions_deep a) (additions_deep b)).+1 else 0%N.
Fixpoint additions t : nat := if t is Both a b then (additions a + additions b).+1 else 0%N.
Variables (R : realFieldType) (u h : R) (fl : R -> R).
Hypotheses (u0 : 0 <= u) (h0 : 0 <= h) (fl_nearly : forall z, nearly u h z (fl z)) (fl_ge0 : forall z, 0 <= z -> 0 <= fl z).
Fixpoint sum_by t (f : V -> R) : R := match t with One y => f y | Both a b => fl (sum_by a f + sum_by b f) end.
(* What the additions are off by beside the relative error of their depth. *)
Definition additions_off t : R := (additions t)%:R * h * (1 + u) ^+ additions_deep t.
Lemma sum_by_near t (f : V -> R) : (forall y, 0 <= f y) -> 0 <= sum_by t f /\
  `|sum_by t f - \sum_(y <- added_tokens t) f y| <= growth u (additions_deep t) * (\sum_(y <- added_tokens t) f y) + additions_off t.
Proof.
move=> f0; have one : 1 <= 1 + u by rewrite ler_addl.
have p0 : 0 <= 1 + u by apply: le_trans one.
elim: t => [y|a [a0 IHa] b [b0 IHb]] /=.
  by rewrite big_seq1 subrr normr0 f0 /additions_off /= growth0 !mul0r addr0 lexx.
have v0 : 0 <= sum_by a f + sum_by b f by rewrite addr_ge0.
split; first exact: fl_ge0.
rewrite big_cat /=; set A := \sum_(y <- added_tokens a) f y in IHa *; set B := \sum_(y <- added_tokens b) f y in IHb *.
have A0 : 0 <= A by apply: sumr_ge0. have B0 : 0 <= B by apply: sumr_ge0.
set d := maxn _ _; set X := growth u d * (A + B) + (additions a + additions b)%:R * h * (1 + u) ^+ d.
have X0 : `|(sum_by a f + sum_by b f) - (A + B)| <= X.
  have -> : (sum_by a f + sum_by b f) - (A + B) = (sum_by a f - A) + (sum_by b f - B) by ring.
  apply: le_trans (ler_norm_add _ _) _; apply: le_trans (ler_add IHa IHb) _; rewrite /X /additions_off natrD.
  have -> : growth u d * (A + B) + ((additions a)%:R + (additions b)%:R) * h * (1 + u) ^+ d
    = (growth u d * A + (additions a)%:R * h * (1 + u) ^+ d) + (growth u d * B + (additions b)%:R * h * (1 + u) ^+ d) by ring.
  apply: ler_add; apply: ler_add.
  - by apply: ler_wpmul2r => //; apply: growth_mono => //; apply: leq_maxl.
  - by apply: ler_wpmul2l; [rewrite mulr_ge0 ?ler0n | apply: ler_weexpn2l => //; apply: leq_maxl].
  - by apply: ler_wpmul2r => //; apply: growth_mono => //; apply: leq_maxr.
  by apply: ler_wpmul2l; [rewrite mulr_ge0 ?ler0n | apply: ler_weexpn2l => //; apply: leq_maxr].
set v := sum_by a f + sum_by b f in v0 X0 *.
have vX : v <= A + B + X by have := le_trans (ler_norm _) X0; rewrite ler_subl_addr addrC.
have -> : fl v - (A + B) = (fl v - v) + (v - (A + B)) by ring.
apply: le_trans (ler_norm_add _ _) _; apply: le_trans (ler_add (fl_nearly v) X0) _; rewrite (ger0_norm v0).
apply: le_trans (_ : u * (A + B + X) + h + X <= _); first by rewrite !ler_add2r; apply: ler_wpmul2l.
have -> : u * (A + B + X) + h + X = growth u d.+1 * (A + B) + ((additions a + additions b)%:R * h * (1 + u) ^+ d.+1 + h).
  by rewrite /X /growth exprS; ring.
rewrite ler_add2l /additions_off /= -/d [in X in _ <= X]mulrS mulrDl mul1r mulrDl addrC ler_add2r.
by rewrite ler_pemulr // exprn_ege1.
Qed.
Lemma sum_by_all t (f : V -> R) : adds_all t -> (forall y, 0 <= f y) ->
  0 <= sum_by t f /\ `|sum_by t f - sumV f| <= growth u (additions_deep t) * sumV f + additions_off t.
Proof.
move=> all f0; have -> : sumV f = \sum_(y <- added_tokens t) f y by rewrite /sumV (perm_big _ all) /= unlock.
exact: sum_by_near.
Qed.
End Order.
(* In order: y is the first token, and what is left is added one by one. *)
Definition adding_in_order (V : vocabulary) (y : V) (l : seq V) : adding V := foldl (fun t z => Both t (One z)) (One y) l.
Lemma adding_in_order_all (V : vocabulary) (y : V) (l : seq V) : tokens V = y :: l ->
  adds_all (adding_in_order y l) /\ additions_deep (adding_in_order y l) = size l.
Proof.
move=> e; rewrite /adds_all e /adding_in_order.
have step t (r : seq V) : added_tokens (foldl (fun t z => Both t (One z)) t r) = added_tokens t ++ r
    /\ additions_deep (foldl (fun t z => Both t (One z)) t r) = (additions_deep t + size r)%N.
  elim: r t => [|z r IH] t /=; first by rewrite cats0 addn0.
  by have [-> ->] := IH (Both t (One z)); rewrite /= -catA maxn0 addSnnS.
by have [-> ->] := step (One y) l; split=> //=; apply: perm_refl.
Qed.

Section Computed.
Variables (V : vocabulary) (R : realFieldType) (fl : R -> R) (B S free : seq V -> V -> R) (tau : R) (order : adding V).
Implicit Types (x : seq V) (y : V).
(* free: what a quotient gives where it may overflow or divides by 0. *)
Fixpoint survival_from (r : seq V) : R :=
  if r is y :: r' then
    if S (rev r') y <= tau then free (rev r') y else Num.min (fl (survival_from r' * fl (B (rev r') y / S (rev r') y))) 1
  else 1.
Definition survival_fl x : R := survival_from (rev x).
Definition weight_fl x y : R := Num.max (fl (fl (survival_fl x * B x y) - S x y)) 0.
Definition coin_fl x : R :=
  let e := sum_by fl order (weight_fl x) in fl (e / fl (fl (e + 1) - survival_fl x)).
Definition token_coin_fl x y : R := if S x y <= tau then free x y else Num.min (fl (B x y / S x y)) 1.
Definition token_weight_fl x y : R := Num.max (fl (B x y - S x y)) 0.
End Computed.

Section Whole.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma : nat) (c : seq V) (ends : pred (seq V)).
Variables (u h ob os tau eta lambda : R) (fl F : R -> R) (B S free drawn : seq V -> V -> R) (order : adding V).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1) (h0 : 0 <= h) (tau0 : 0 <= tau).
Hypotheses (fl_nearly : forall z, nearly u h z (fl z)) (fl_ge0 : forall z, 0 <= z -> 0 <= fl z).
Hypothesis decided : forall z, 0 <= z <= 1 -> 0 <= F z <= 1 /\ `|F z - z| <= eta.
Hypotheses (B0 : forall x y, 0 <= B x y) (S0 : forall x y, 0 <= S x y) (free01 : forall x y, 0 <= free x y <= 1).
Hypotheses (Bb : forall x, apart (Mb (c ++ x)) (B x) <= ob) (Ss : forall x, apart (Ms (c ++ x)) (S x) <= os).
Hypothesis all : adds_all order.
Notation P := (survival_fl fl B S free tau).
Notation w := (weight_fl fl B S free tau).
Notation H := (coin_fl fl B S free tau order).
Notation d := (additions_deep order).
Lemma survival_fl_range x : 0 <= P x <= 1.
Proof.
rewrite /survival_fl; elim: (rev x) => [|y r /andP[p0 _]] /=; first by rewrite ler01 lexx.
case: ifP => _; first exact: free01.
by rewrite le_minr ler01 le_minl lexx orbT !andbT; apply: fl_ge0; apply: mulr_ge0 => //; apply: fl_ge0; apply: divr_ge0.
Qed.
Theorem block_fl_met : [/\ survivals_absolute u h tau B S P, forall x, weights_absolute u h B S P w x
  & forall x, coin_absolute u h (growth u d) (additions_off u h order) P w H x].
Proof.
split=> [|x y|x].
- split=> // x y; split; first exact: survival_fl_range.
  move=> big; exists (fl (B x y / S x y)), (fl (P x * fl (B x y / S x y))); split; try exact: fl_nearly.
  by rewrite /survival_fl rev_rcons /= revK leNgt big.
- by exists (fl (P x * B x y)), (fl (fl (P x * B x y) - S x y)); split; try exact: fl_nearly.
have w0 y : 0 <= w x y by rewrite le_maxr lexx orbT.
exists (sum_by fl order (w x)), (fl (sum_by fl order (w x) + 1)), (fl (fl (sum_by fl order (w x) + 1) - P x)).
split; try exact: fl_nearly; last by move=> _; apply: fl_nearly.
by apply: sum_by_all.
Qed.
Theorem block_fl_rounding (U : seq V -> V -> R) :
  (forall x y, 0 <= drawn x y) -> (forall x, sumV (drawn x) = 1) ->
  (forall x, exists r : V -> R, [/\ sumV r = 1, forall y, 0 <= r y, total_variation r (drawn x) <= lambda &
     if final gamma ends x then forall y, r y * sumV (B x) = B x y else forall y, r y * sumV (w x) = w x y]) ->
  (forall x y, 0 <= U x y <= 1) ->
  `|draft Ms c ends gamma [::] (fun X => sub_verify (coin_absolutely gamma ends F P H) drawn X U)
    - draft Ms c ends gamma [::] (fun X => block_verify Mb Ms c X U)|
  <= \sum_(i < gamma) (coin_rate u (growth u d) * (i.+1%:R * next_off V u h ob os tau)
        + (coin_base V u h ob os (growth u d) (additions_off u h order) + eta))
    + \sum_(i < gamma.+1) (i%:R * next_off V u h ob os tau + last_off V u h ob os) + lambda.
Proof.
move=> d0 d1 near U01; have [Pc wc Hc] := block_fl_met.
have K0 : 0 <= additions_off u h order by rewrite !mulr_ge0 ?ler0n ?exprn_ge0 ?addr_ge0 ?ler01.
exact: (block_absolute u0 u1 h0 tau0 (growth_ge0 u0 d) K0 decided B0 S0 Bb Ss Pc wc Hc d0 d1 near U01).
Qed.
Theorem token_fl_rounding (A : seq V -> V -> R) :
  (forall x y, 0 <= drawn x y) -> (forall x, sumV (drawn x) = 1) ->
  (forall x, exists r : V -> R, [/\ sumV r = 1, forall y, 0 <= r y, total_variation r (drawn x) <= lambda &
     if size x == gamma then forall y, r y * sumV (B x) = B x y
     else forall y, r y * sumV (token_weight_fl fl B S x) = token_weight_fl fl B S x y]) ->
  (forall x y, 0 <= A x y <= 1) ->
  `|gen Ms gamma c (token_computed F (token_coin_fl fl B S free tau) drawn A [::])
    - gen Ms gamma c (fun X => token_verify Mb Ms c X A)|
  <= gamma%:R * token_step_off V u h ob os tau eta + ob + lambda.
Proof.
move=> d0 d1 near A01.
have Hc x y : token_coin_absolute u h tau B S (token_coin_fl fl B S free tau) x y.
  rewrite /token_coin_absolute /token_coin_fl; have [le|lt] := leP (S x y) tau; first by split.
  split; last by exists (fl (B x y / S x y)).
  by rewrite le_minr ler01 le_minl lexx orbT !andbT; apply: fl_ge0; apply: divr_ge0.
have wc x y : token_weight_absolute u h B S (token_weight_fl fl B S) x y by exists (fl (B x y - S x y)).
exact: (token_absolute u0 u1 h0 tau0 decided B0 S0 Bb Ss Hc wc d0 d1 near A01).
Qed.
End Whole.
