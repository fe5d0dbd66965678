(* Rounding to nearest, ties to even, in a binary format with gradual underflow, as Flocq defines it.  The largest number of a
   format plays no part here: quotients that might exceed it are those by an S of at most tau, and may be anything. *)
From Coq Require Import Reals Lra Lia ZArith.
From Flocq Require Import Core Relative BinarySingleNaN.
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Draftproof Require Import Algorithms Block Precision Rounding TreeRounding RealField AbsoluteRounding.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Local Open Scope R_scope.

(* A format: digits of its numbers, and the power of 2 that they stay below. *)
Variant format := Binary16 | Bfloat16 | Binary32 | Binary64.
Definition digits f : Z := match f with Binary16 => 11 | Bfloat16 => 8 | Binary32 => 24 | Binary64 => 53 end.
Definition above_all f : Z := match f with Binary16 => 16 | Binary64 => 1024 | _ => 128 end.
(* The exponent of the smallest positive number: -24, -133, -149, -1074. *)
Definition smallest f : Z := (3 - above_all f - digits f)%Z.
Definition exponents f : Z -> Z := FLT_exp (smallest f) (digits f).
Definition in_format f (z : R) : Prop := generic_format radix2 (exponents f) z.
Definition rounded f (z : R) : R := round radix2 (exponents f) ZnearestE z.
(* Half a unit in the last place of 1, and half of the smallest positive number. *)
Definition half_ulp f : R := / 2 * bpow radix2 (- digits f + 1).
Definition half_smallest f : R := / 2 * bpow radix2 (smallest f).
(* Above the smallest normal number a quotient of rows is below the largest number. *)
Definition smallest_normal f : R := bpow radix2 (2 - above_all f).

Section Format.
Variable f : format.
Lemma digits_gt0 : (0 < digits f)%Z. Proof. by case: f. Qed.
Instance digits_ok : Prec_gt_0 (digits f) := digits_gt0.
Lemma half_ulp_range : 0 <= half_ulp f <= 1.
Proof.
rewrite /half_ulp; have p := bpow_ge_0 radix2 (- digits f + 1).
have le : bpow radix2 (- digits f + 1) <= bpow radix2 0 by apply: bpow_le; have := digits_gt0; lia.
by rewrite /= in le; split; lra.
Qed.
Lemma half_smallest_ge0 : 0 <= half_smallest f.
Proof. by rewrite /half_smallest; have := bpow_ge_0 radix2 (smallest f); lra. Qed.
Theorem rounded_nearly (z : R) : nearly (half_ulp f) (half_smallest f) z (rounded f z).
Proof.
have [eps [eta [he [ht [_ e]]]]] := error_N_FLT radix2 (smallest f) (digits f) digits_gt0 (fun x => negb (Z.even x)) z.
apply/RleP; change (Rabs (rounded f z - z) <= half_ulp f * Rabs z + half_smallest f).
rewrite /rounded /exponents e (_ : z * (1 + eps) + eta - z = eps * z + eta); last by lra.
apply: Rle_trans (Rabs_triang _ _) _; rewrite Rabs_mult; apply: Rplus_le_compat => //.
by apply: Rmult_le_compat_r => //; apply: Rabs_pos.
Qed.
Lemma rounded_ge0 (z : R) : 0 <= z -> 0 <= rounded f z.
Proof. by move=> z0; apply: round_ge_generic => //; apply: generic_format_0. Qed.
Lemma rounded_in_format (z : R) : in_format f (rounded f z).
Proof. exact: generic_format_round. Qed.
Lemma rounded_itself (z : R) : in_format f z -> rounded f z = z.
Proof. exact: round_generic. Qed.
Lemma one_in_format : in_format f 1.
Proof.
rewrite -[1]/(bpow radix2 0); apply: generic_format_bpow; rewrite /exponents /FLT_exp /smallest.
by case: f => /=; lia.
Qed.
(* Flocq's IEEE 754 operations are this rounding, as long as they do not overflow. *)
Instance digits_below : Prec_lt_emax (digits f) (above_all f). Proof. by rewrite /Prec_lt_emax; case: f. Qed.
Notation number := (binary_float (digits f) (above_all f)).
Definition no_overflow (z : R) : Prop := Rabs (rounded f z) < bpow radix2 (above_all f).
Theorem ieee_operations (x y : number) : is_finite x = true -> is_finite y = true ->
  [/\ no_overflow (B2R x + B2R y) -> B2R (Bplus mode_NE x y) = rounded f (B2R x + B2R y),
      no_overflow (B2R x - B2R y) -> B2R (Bminus mode_NE x y) = rounded f (B2R x - B2R y),
      no_overflow (B2R x * B2R y) -> B2R (Bmult mode_NE x y) = rounded f (B2R x * B2R y) &
      B2R y <> 0 -> no_overflow (B2R x / B2R y) -> B2R (Bdiv mode_NE x y) = rounded f (B2R x / B2R y)].
Proof.
move=> hx hy; split=> [n|n|n|nz n].
- by have := Bplus_correct _ _ _ _ mode_NE x y hx hy; rewrite Rlt_bool_true // => -[].
- by have := Bminus_correct _ _ _ _ mode_NE x y hx hy; rewrite Rlt_bool_true // => -[].
- by have := Bmult_correct _ _ _ _ mode_NE x y; rewrite Rlt_bool_true // => -[].
by have := Bdiv_correct _ _ _ _ mode_NE x y nz; rewrite Rlt_bool_true // => -[].
Qed.
(* Nor does a quotient of rows' entries, by more than the smallest normal number. *)
Theorem quotient_no_overflow (a s : R) : 0 <= a <= 1 -> smallest_normal f < s -> no_overflow (a / s).
Proof.
move=> [a0 a1] big; have tp := bpow_gt_0 radix2 (2 - above_all f).
have sp : 0 < s by apply: Rlt_trans big.
have q0 : 0 <= a / s by apply: Rmult_le_pos => //; apply/Rlt_le/Rinv_0_lt_compat.
have le : a / s <= bpow radix2 (above_all f - 2).
  have -> : (above_all f - 2 = - (2 - above_all f))%Z by lia.
  rewrite bpow_opp; apply: Rle_trans (_ : 1 * / s <= _); first by apply: Rmult_le_compat_r => //; apply/Rlt_le/Rinv_0_lt_compat.
  by rewrite Rmult_1_l; apply: Rinv_le => //; apply: Rlt_le.
have top : in_format f (bpow radix2 (above_all f - 2)).
  by apply: generic_format_bpow; rewrite /exponents /FLT_exp /smallest; case: f => /=; lia.
have r0 := rounded_ge0 q0.
have r1 : rounded f (a / s) <= bpow radix2 (above_all f - 2) by apply: round_le_generic.
rewrite /no_overflow Rabs_pos_eq //; apply: Rle_lt_trans r1 _; apply: bpow_lt; lia.
Qed.
End Format.

(* What is computed from numbers of the format is in the format. *)
Section InFormat.
Variables (f : format) (V : vocabulary) (B S free : seq V -> V -> R) (tau : R) (order : adding V).
Hypotheses (Bf : forall x y, in_format f (B x y)) (Sf : forall x y, in_format f (S x y)) (freef : forall x y, in_format f (free x y)).
Lemma in_format_min (a b : R) : in_format f a -> in_format f b -> in_format f (Order.min a b).
Proof. by rewrite /Order.min; case: ifP. Qed.
Lemma in_format_max (a b : R) : in_format f a -> in_format f b -> in_format f (Order.max a b).
Proof. by rewrite /Order.max; case: ifP. Qed.
Theorem computed_in_format x y : [/\ in_format f (survival_fl (rounded f) B S free tau x),
  in_format f (weight_fl (rounded f) B S free tau x y), in_format f (coin_fl (rounded f) B S free tau order x),
  in_format f (token_coin_fl (rounded f) B S free tau x y) & in_format f (token_weight_fl (rounded f) B S x y)].
Proof.
have one := one_in_format f; have zero : in_format f 0 by apply: generic_format_0.
split; [|by apply: in_format_max => //; apply: rounded_in_format|exact: rounded_in_format| |by apply: in_format_max => //; apply: rounded_in_format].
  rewrite /survival_fl; case: (rev x) => [//|z r] /=; case: ifP => // _.
  by apply: in_format_min => //; apply: rounded_in_format.
rewrite /token_coin_fl; case: ifP => // _; apply: in_format_min => //; exact: rounded_in_format.
Qed.
End InFormat.

(* Verification in the arithmetic of a format. *)
Section Verified.
Import GRing.Theory Num.Theory.
Local Open Scope ring_scope.
Variables (f : format) (V : vocabulary) (Mb Ms : model V R_realFieldType) (gamma : nat) (c : seq V).
Variables (ob os eta lambda : R) (F : R -> R) (B S free drawn : seq V -> V -> R).
Hypothesis decided : forall z : R, 0 <= z <= 1 -> 0 <= F z <= 1 /\ `|F z - z| <= eta.
Hypotheses (B0 : forall x y, 0 <= B x y) (S0 : forall x y, 0 <= S x y) (free01 : forall x y, 0 <= free x y <= 1).
Hypotheses (Bb : forall x, apart (Mb (c ++ x)) (B x) <= ob) (Ss : forall x, apart (Ms (c ++ x)) (S x) <= os).
Notation u := (half_ulp f : R_realFieldType).
Notation h := (half_smallest f : R_realFieldType).
Notation tau := (smallest_normal f : R_realFieldType).
Notation fl := (rounded f : R_realFieldType -> R_realFieldType).
Let u0 : 0 <= u. Proof. by apply/RleP; have [] := half_ulp_range f. Qed.
Let u1 : u <= 1. Proof. by apply/RleP; have [] := half_ulp_range f. Qed.
Let h0 : 0 <= h. Proof. by apply/RleP; apply: half_smallest_ge0. Qed.
Let tau0 : 0 <= tau. Proof. by apply/RleP; apply: bpow_ge_0. Qed.
Let fl0 (z : R_realFieldType) : 0 <= z -> 0 <= fl z. Proof. by move=> /RleP z0; apply/RleP; apply: rounded_ge0. Qed.
Let near := rounded_nearly f.
Theorem block_in_format (ends : pred (seq V)) (order : adding V) (U : seq V -> V -> R) (w := weight_fl fl B S free tau) :
  adds_all order -> (forall x y, 0 <= drawn x y) -> (forall x, sumV (drawn x) = 1) ->
  (forall x, exists r : V -> R_realFieldType, [/\ sumV r = 1, forall y, 0 <= r y, total_variation r (drawn x) <= lambda &
     if final gamma ends x then forall y, r y * sumV (B x) = B x y else forall y, r y * sumV (w x) = w x y]) ->
  (forall x y, 0 <= U x y <= 1) ->
  `|draft Ms c ends gamma [::] (fun X => sub_verify (coin_absolutely gamma ends F (survival_fl fl B S free tau)
        (coin_fl fl B S free tau order)) drawn X U)
    - draft Ms c ends gamma [::] (fun X => block_verify Mb Ms c X U)|
  <= \sum_(i < gamma) (coin_rate u (growth u (additions_deep order)) * (i.+1%:R * next_off V u h ob os tau)
        + (coin_base V u h ob os (growth u (additions_deep order)) (additions_off u h order) + eta))
    + \sum_(i < gamma.+1) (i%:R * next_off V u h ob os tau + last_off V u h ob os) + lambda.
Proof. by move=> all d0 d1 dn U01; apply: (block_fl_rounding u0 u1 h0 tau0 near fl0 decided B0 S0 free01 Bb Ss all d0 d1 dn U01). Qed.
Theorem token_in_format (A : seq V -> V -> R) :
  (forall x y, 0 <= drawn x y) -> (forall x, sumV (drawn x) = 1) ->
  (forall x, exists r : V -> R_realFieldType, [/\ sumV r = 1, forall y, 0 <= r y, total_variation r (drawn x) <= lambda &
     if size x == gamma then forall y, r y * sumV (B x) = B x y
     else forall y, r y * sumV (token_weight_fl fl B S x) = token_weight_fl fl B S x y]) ->
  (forall x y, 0 <= A x y <= 1) ->
  `|gen Ms gamma c (token_computed F (token_coin_fl fl B S free tau) drawn A [::])
    - gen Ms gamma c (fun X => token_verify Mb Ms c X A)|
  <= gamma%:R * token_step_off V u h ob os tau eta + ob + lambda.
Proof. by move=> d0 d1 dn A01; apply: (token_fl_rounding u0 u1 h0 tau0 near fl0 decided B0 S0 free01 Bb Ss d0 d1 dn A01). Qed.
End Verified.
