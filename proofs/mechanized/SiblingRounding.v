(* One sibling of a draft tree in floating point, from the row and the weight that a computation has left: its coin, and
   what it leaves.  What is assumed is the standard model of Rounding.v. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum zify.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Models Algorithms Verifier Block SubBlocks Precision Rounding BlockRounding ProblemRounding SeveralDrafts TreeRounding.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section Local.
Variables (V : vocabulary) (R : realFieldType) (u nu : R) (d : nat).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1) (nu0 : 0 <= nu) (nu1 : nu < 1) (d1 : growth u d < 1) (dnu : sum_error u d <= nu).
Implicit Types (b r q Q w : V -> R).
Notation rounds := (Rounding.rounds u).
(* Rows off by nu, relatively: those given, and those that were divided by their computed sum. *)
Definition share_of b y : R := b y / sumV b.
Lemma whole_sum b : `|sumV b - 1| <= nu -> 0 < sumV b.
Proof.
rewrite ler_norml ler_subr_addl => /andP[lo _]; apply: lt_le_trans lo.
by rewrite subr_gt0.
Qed.
Lemma share_row b : (forall y, 0 <= b y) -> `|sumV b - 1| <= nu ->
  [/\ forall y, 0 <= share_of b y, sumV (share_of b) = 1 & forall y, rel nu (share_of b y) (b y)].
Proof.
move=> b0 near; have m0 := whole_sum near; split=> [y||y].
- by rewrite divr_ge0 // ltW.
- by rewrite /share_of sumVZr mulfV // lt0r_neq0.
rewrite /rel; have -> : b y - share_of b y = (sumV b - 1) * share_of b y.
  by rewrite mulrBl mul1r /share_of [sumV b * _]mulrC divfK // lt0r_neq0.
rewrite normrM (ger0_norm (_ : 0 <= share_of b y)); last by rewrite divr_ge0 // ltW.
by apply: ler_wpmul2r => //; rewrite divr_ge0 // ltW.
Qed.
Definition coin_off : R := survival_error u nu 0.
Definition weights_all : R := (1 + u) * (weight_error u nu 0 + nu) + u.
Definition left_all : R := 2%:R * (weights_all + u * (1 + weights_all)).
Lemma coin_off_ge0 : 0 <= coin_off. Proof. exact: survival_error_ge0. Qed.
Lemma weight_error_ge0 : 0 <= weight_error u nu 0.
Proof. by apply: both_ge0 => //; apply: both_ge0. Qed.
Lemma weights_all_ge0 : 0 <= weights_all.
Proof. by apply: addr_ge0 => //; apply: mulr_ge0; apply: addr_ge0; rewrite ?ler01 ?weight_error_ge0. Qed.

Variables (r q b Q : V -> R) (P : R).
Hypotheses (r0 : forall y, 0 <= r y) (r1 : sumV r = 1) (rb : forall y, rel nu (r y) (b y)).
Hypotheses (q0 : forall y, 0 <= q y) (q1 : sumV q = 1) (qQ : forall y, rel nu (q y) (Q y)) (P01 : 0 <= P <= 1).
Let P0 : 0 <= P. Proof. by case/andP: P01. Qed.
Let P1 : P <= 1. Proof. by case/andP: P01. Qed.
Let same : rel 0 P P. Proof. by rewrite /rel subrr normr0 mul0r. Qed.
Lemma excess_le : excess r q P <= P.
Proof. by rewrite excessE // ler_subl_addr ler_addl; apply: sumV_ge0 => y; rewrite le_minr q0 mulr_ge0. Qed.
Lemma coins_near (H : V -> R) :
  (forall y, exists z t, [/\ rounds (b y / Q y) z, rounds (P * z) t & H y = Num.min t 1]) ->
  (forall y, 0 <= H y <= 1) /\ sumV (fun y => q y * `|H y - next_p r q P y|) <= coin_off.
Proof.
move=> Hr; have here y : rel (next_error u nu 0 r q P y) (next_p r q P y) (H y) /\ 0 <= H y <= 1.
  by have [z [t [hz ht ->]]] := Hr y; apply: survival_here hz ht.
split=> [y|]; first by have [] := here y.
apply: le_trans (_ : sumV (fun y => coin_off * (q y * next_p r q P y)) <= _).
  apply: sumV_le => y; rewrite mulrCA; apply: ler_wpmul2l => //; have [h _] := here y.
  have [n0 _] := andP (next_p_range r0 q0 y P0).
  apply: le_trans h _; apply: ler_wpmul2r => //.
  by rewrite /next_error; case: ifP => // _; apply: coin_off_ge0.
rewrite sumVZ (share_next r0 q0 P0) ler_pimulr ?coin_off_ge0 //.
exact: le_trans (share_le q r1 P) P1.
Qed.
Variables (w : V -> R).
Hypothesis wr : forall y, exists z e, [/\ rounds (P * b y) z, rounds (z - Q y) e & w y = Num.max e 0].
Lemma w_pos y : 0 <= w y. Proof. by have [z [e [_ _ ->]]] := wr y; rewrite le_maxr lexx orbT. Qed.
Lemma w_near y : `|w y - over r q P y| <= weight_near u nu 0 r q P y.
Proof. by have [z [e [hz he ->]]] := wr y; apply: (weight_here u0 u1 nu0 (lexx 0) r0 q0 rb qQ P0 same hz he). Qed.
Lemma weights_apart_all : weights_near u nu 0 r q P <= weights_all.
Proof.
have e0 := weight_error_ge0.
apply: le_trans (_ : sumV (fun y => (1 + u) * (weight_error u nu 0 * (P * r y) + nu * q y) + u * over r q P y) <= _).
  apply: sumV_le => y; rewrite /weight_near; case: ifP => // _.
  have y0 : 0 <= weight_error u nu 0 * (P * r y) + nu * q y by apply: addr_ge0; apply: mulr_ge0 => //; apply: mulr_ge0.
  have z0 : 0 <= over r q P y := over_ge0 _ _ _ _.
  have v0 : 0 <= 1 + u by rewrite addr_ge0 ?ler01.
  by apply: addr_ge0; apply: mulr_ge0.
rewrite sumVD !sumVZ sumVD !sumVZ r1 q1 !mulr1 -/(excess r q P); apply: ler_add.
  by apply: ler_wpmul2l; [rewrite addr_ge0 ?ler01 | rewrite ler_add2r ler_pimulr].
by apply: ler_pimulr => //; apply: le_trans excess_le P1.
Qed.
Lemma w_apart : apart (over r q P) w <= weights_all.
Proof. by apply: le_trans weights_apart_all; apply: sumV_le => y; apply: w_near. Qed.

Variables (e' : R) (b' : V -> R).
Hypothesis e'w : within u d (sumV w) e'.
Hypotheses (b'r : e' != 0 -> forall y, rounds (w y / e') (b' y)) (b'any : e' = 0 -> sumV b' = 1 /\ forall y, 0 <= b' y).
Let g0 : 0 <= growth u d. Proof. exact: growth_ge0. Qed.
Let W0 : 0 <= sumV w. Proof. by apply: sumV_ge0 => y; apply: w_pos. Qed.
Lemma e'_pos : 0 <= e'.
Proof.
have := e'w; rewrite /within ler_norml => /andP[l _].
apply: le_trans (_ : (1 - growth u d) * sumV w <= _); first by rewrite mulr_ge0 // subr_ge0 ltW.
by rewrite mulrBl mul1r addrC -ler_subr_addr.
Qed.
Lemma kept_near : [/\ forall y, 0 <= b' y, `|sumV b' - 1| <= nu
  & sumV (fun y => `|excess r q P * share_of b' y - over r q P y|) <= left_all].
Proof.
have ge0 y : 0 <= b' y.
  have [z|nz] := eqVneq e' 0; first by have [_ ->] := b'any z.
  by apply: rounds_ge0 (b'r nz y) => //; rewrite divr_ge0 ?w_pos ?e'_pos.
have [z|nz] := eqVneq e' 0.
  have [b'1 _] := b'any z; have near : `|sumV b' - 1| <= nu by rewrite b'1 subrr normr0.
  have S0 : sumV w = 0.
    have := e'w; rewrite /within z sub0r normrN (ger0_norm W0) => le; apply/eqP; rewrite eq_le W0 andbT.
    have : (1 - growth u d) * sumV w <= 0 by rewrite mulrBl mul1r subr_le0.
    by rewrite pmulr_rle0 // subr_gt0.
  have [s0 s1 _] := share_row ge0 near; split=> //.
  apply: le_trans (normalised_near (over r q P) s1 s0 (w := w) _) _.
    by move=> y; rewrite S0 mulr0 (sumV_eq0 w_pos S0).
  rewrite /left_all; apply: ler_wpmul2l; first exact: ler0n.
  apply: le_trans w_apart _; rewrite ler_addl; apply: mulr_ge0 => //.
  by rewrite addr_ge0 ?ler01 ?weights_all_ge0.
have ep : 0 < e' by rewrite lt0r nz e'_pos.
have Sp : 0 < sumV w.
  rewrite lt0r W0 andbT; apply/eqP => S0; move: nz; have := e'w.
  by rewrite /within S0 subr0 mulr0 normr_le0 => ->.
have near : `|sumV b' - 1| <= nu.
  apply: le_trans dnu; rewrite -(_ : sumV (fun y => w y / sumV w) = 1); last by rewrite sumVZr mulfV // lt0r_neq0.
  rewrite -sumVB; apply: le_trans (sumV_norm _) _.
  apply: le_trans (_ : sumV (fun y => sum_error u d * (w y / sumV w)) <= _); last first.
    by rewrite sumVZ sumVZr mulfV ?mulr1 // lt0r_neq0.
  have i0 : 0 <= growth u d / (1 - growth u d) by rewrite divr_ge0 // subr_ge0 ltW.
  apply: sumV_le => y; have ri := rel_inv g0 d1 W0 e'w.
  have rw : rel (both 0 (growth u d / (1 - growth u d))) (w y / sumV w) (w y / e').
    by apply: rel_mul => //; [exact: w_pos | rewrite invr_ge0 | rewrite /rel subrr normr0 mul0r].
  have y0 : 0 <= w y / sumV w by rewrite divr_ge0 ?w_pos.
  have := rel_rounds u0 (both_ge0 (lexx 0) i0) y0 rw (b'r nz y).
  by rewrite /rel /sum_error /both addr0 mul1r addrAC subrr add0r.
have [s0 s1 _] := share_row ge0 near; split=> //.
pose w' y := b' y * e'.
have w'E y : share_of b' y * sumV w' = w' y.
  by rewrite /w' sumVZr /share_of mulrA divfK // lt0r_neq0 // (whole_sum near).
apply: le_trans (normalised_near (over r q P) s1 s0 w'E) _.
rewrite /left_all; apply: ler_wpmul2l; first exact: ler0n.
have ww : sumV w <= 1 + weights_all.
  have := le_trans (ler_norm _) (le_trans (weights_sum_here w_near) weights_apart_all).
  by rewrite ler_subl_addr => /le_trans; apply; rewrite addrC ler_add2r; apply: le_trans excess_le P1.
apply: le_trans (_ : apart (over r q P) w + u * sumV w <= _); last first.
  by apply: ler_add; [exact: w_apart | apply: ler_wpmul2l].
rewrite /apart -sumVZ -sumVD; apply: sumV_le => y.
have -> : w' y - over r q P y = (w y - over r q P y) + (w' y - w y) by ring.
apply: le_trans (ler_norm_add _ _) _; rewrite ler_add2l.
have -> : w' y - w y = (b' y - w y / e') * e' by rewrite mulrBl divfK.
rewrite normrM (gtr0_norm ep); apply: le_trans (ler_wpmul2r (ltW ep) (b'r nz y)) _.
by rewrite ger0_norm ?divr_ge0 ?w_pos ?(ltW ep) // -mulrA divfK.
Qed.
End Local.

