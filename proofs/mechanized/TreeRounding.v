From mathcomp Require Import all_ssreflect ssralg ssrnum zify.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Algorithms Block Descent Precision Rounding ProblemRounding.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

(* Recursive rejection computed in floating point, on draft trees of every shape, and token verification: bounds on
   the law's error.  What is assumed is the standard model of Rounding.v. *)

Lemma mix_near (R : realFieldType) (h h' a a' b b' : R) : 0 <= h <= 1 -> 0 <= a' <= 1 -> 0 <= b' <= 1 ->
  `|(h' * a' + (1 - h') * b') - (h * a + (1 - h) * b)| <= `|h' - h| + (h * `|a' - a| + (1 - h) * `|b' - b|).
Proof.
move=> /andP[h0 h1] /andP[a0 a1] /andP[b0 b1].
have -> : (h' * a' + (1 - h') * b') - (h * a + (1 - h) * b)
  = (h' - h) * (a' - b') + (h * (a' - a) + (1 - h) * (b' - b)) by ring.
have k0 : 0 <= 1 - h by rewrite subr_ge0.
apply: le_trans (ler_norm_add _ _) _; apply: ler_add.
  rewrite normrM ler_pimulr // ler_norml; apply/andP; split.
    by rewrite ler_subr_addr; apply: le_trans a0; rewrite addrC subr_le0.
  by rewrite ler_subl_addr; apply: le_trans a1 _; rewrite ler_addl.
by apply: le_trans (ler_norm_add _ _) _; rewrite !normrM (ger0_norm h0) (ger0_norm k0).
Qed.
Lemma mix_range (R : realFieldType) (h a b : R) : 0 <= h <= 1 -> 0 <= a <= 1 -> 0 <= b <= 1 -> 0 <= h * a + (1 - h) * b <= 1.
Proof.
move=> /andP[h0 h1] /andP[a0 a1] /andP[b0 b1]; have k0 : 0 <= 1 - h by rewrite subr_ge0.
rewrite addr_ge0 ?mulr_ge0 //=; have {2}-> : 1 = h + (1 - h) :> R by ring.
by apply: ler_add; rewrite ler_pimulr.
Qed.

Section Normalised.
Variables (V : vocabulary) (R : realFieldType).
Implicit Types (v w r : V -> R).
Definition apart v w : R := sumV (fun y => `|w y - v y|).
Lemma apart_sum v w : `|sumV w - sumV v| <= apart v w.
Proof. by rewrite -sumVB; apply: sumV_norm. Qed.
(* Weights that are off by W in all, each divided by their sum. *)
Lemma normalised_near v w r : sumV r = 1 -> (forall y, 0 <= r y) -> (forall y, r y * sumV w = w y) ->
  sumV (fun y => `|sumV v * r y - v y|) <= 2%:R * apart v w.
Proof.
move=> r1 r0 rw; apply: le_trans (_ : sumV (fun y => `|w y - v y| + r y * `|sumV w - sumV v|) <= _).
  apply: sumV_le => y; have -> : sumV v * r y - v y = (w y - v y) - r y * (sumV w - sumV v) by rewrite -(rw y); ring.
  by apply: le_trans (ler_norm_sub _ _) _; rewrite normrM (ger0_norm (r0 y)).
by rewrite sumVD sumVZr r1 mul1r mulr_natl mulr2n ler_add2l; apply: apart_sum.
Qed.
End Normalised.

Section TreeRounding.
Variables (V : vocabulary) (R : realFieldType) (Mb : model V R) (c : seq V).
Variables (u o eta lambda : R) (d : nat) (Fd : R -> R) (B : seq V -> V -> R).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1) (o0 : 0 <= o) (o1 : o < 1) (d1 : growth u d < 1).
Hypothesis decided : forall h, 0 <= h <= 1 -> 0 <= Fd h <= 1 /\ `|Fd h - h| <= eta.
Implicit Types (s : seq V) (b q Q w r : V -> R) (t : drafts V R) (A : seq V -> V -> R) (F : (seq V -> V -> R) -> R).
Notation rb s := (Mb (c ++ s)).
Notation rounds := (Rounding.rounds u).
Hypothesis Bb : forall s y, rel o (rb s y) (B s y).

(* F is what some computation within the standard model makes of the tree t behind s, where b' is what it has left of
   the target's row: B, the weights w of max(b' - Q, 0), each divided by their computed sum e', and so on.  The last
   token is drawn from a row within lambda of b' divided by its sum. *)
Inductive computes : seq V -> (V -> R) -> drafts V R -> ((seq V -> V -> R) -> R) -> Prop :=
| ComputesDone s b' r r' F :
    [/\ sumV r = 1, forall y, 0 <= r y & forall y, r y * sumV b' = b' y] ->
    [/\ sumV r' = 1, forall y, 0 <= r' y & total_variation r r' <= lambda] ->
    (forall A, F A = draw r' (A s)) -> computes s b' (Done V R) F
| ComputesSibling s b' q below next Q H w e' b'' FA FR F :
    (forall y, rel o (q y) (Q y)) ->
    (forall y, exists2 r, rounds (b' y / Q y) r & H y = Num.min r 1) ->
    (forall y, exists2 e, rounds (b' y - Q y) e & w y = Num.max e 0) ->
    within u d (sumV w) e' ->
    (e' != 0 -> forall y, rounds (w y / e') (b'' y)) -> (e' = 0 -> sumV b'' = 1 /\ forall y, 0 <= b'' y) ->
    (forall x, computes (rcons s x) (B (rcons s x)) (below x) (FA x)) ->
    (forall x, computes s b'' (next x) (FR x)) ->
    (forall A, F A = draw q (fun x => flip (Fd (H x)) (fun accepted => if accepted then FA x A else FR x A))) ->
    computes s b' (Sibling q below next) F.

Definition ratio_error : R := both (o / (1 - o)) u.
Definition sum_error : R := both (growth u d / (1 - growth u d)) u.
Definition weights_off b q (e : R) : R := (1 + u) * (e + o) + u * excess b q 1.
Definition left_off b q (e : R) : R := 2%:R * weights_off b q e / excess b q 1 + sum_error.
(* e is how far b' may be from b in all, the sum of |b' y - b y|. *)
Fixpoint tree_cost s b (e : R) t : R :=
  if t is Sibling q below next then
    e + ratio_error * (1 + e) + eta + draw q (fun x => h_token b q x * tree_cost (rcons s x) (rb (rcons s x)) o (below x)
      + (1 - h_token b q x) * tree_cost s (residual b q 1) (left_off b q e) (next x))
  else e.

Let rerr0 : 0 <= ratio_error.
Proof. by rewrite /ratio_error both_ge0 // divr_ge0 // subr_ge0 ltW. Qed.
Let g0 : 0 <= growth u d. Proof. exact: growth_ge0. Qed.
Let g1 : 0 < 1 - growth u d. Proof. by rewrite subr_gt0. Qed.

Lemma coin_range q Q b' (H : V -> R) : (forall y, 0 <= q y) -> (forall y, 0 <= b' y) -> (forall y, rel o (q y) (Q y)) ->
  (forall y, exists2 r, rounds (b' y / Q y) r & H y = Num.min r 1) -> forall y, 0 <= H y <= 1.
Proof.
move=> q0 b'0 Qq Hr y; have [r hr ->] := Hr y.
have Q0 : 0 <= Q y := given_ge0 o1 (q0 y) (Qq y).
by rewrite le_minr (rounds_ge0 u1 (divr_ge0 (b'0 y) Q0) hr) ler01 le_minl lexx orbT.
Qed.

Section Step.
Variables (b q b' Q : V -> R) (e : R).
Hypotheses (b0 : forall y, 0 <= b y) (b1 : sumV b = 1) (q0 : forall y, 0 <= q y) (q1 : sumV q = 1).
Hypotheses (b'0 : forall y, 0 <= b' y) (be : apart b b' <= e) (Qq : forall y, rel o (q y) (Q y)).
Let Q0 y : 0 <= Q y.
Proof. exact: (given_ge0 o1 (q0 y) (Qq y)). Qed.
Let e0 : 0 <= e. Proof. by apply: le_trans be; apply: sumV_ge0. Qed.

Lemma coins_off (H : V -> R) : (forall y, exists2 r, rounds (b' y / Q y) r & H y = Num.min r 1) ->
  sumV (fun y => q y * `|H y - h_token b q y|) <= e + ratio_error * (1 + e).
Proof.
move=> Hr; apply: le_trans (_ : sumV (fun y => `|b' y - b y| + ratio_error * b' y) <= _); last first.
  rewrite sumVD sumVZ; apply: ler_add => //; apply: ler_wpmul2l => //.
  by rewrite -ler_subl_addl -{1}b1; apply: le_trans (ler_norm _) _; apply: le_trans (apart_sum _ _) be.
apply: sumV_le => y; have [r hr ->] := Hr y.
have [z|nz] := eqVneq (q y) 0; first by rewrite z mul0r addr_ge0 // mulr_ge0.
have qp : 0 < q y by rewrite lt0r nz q0.
apply: le_trans (_ : q y * `|r - b y / q y| <= _); first by apply: ler_wpmul2l => //; apply: min_near.
rewrite -{1}(ger0_norm (q0 y)) -normrM mulrBr mulrCA mulfV // mulr1.
have i0 : 0 <= o / (1 - o) by rewrite divr_ge0 // subr_ge0 ltW.
have rq : rel (both 0 (o / (1 - o))) (b' y / q y) (b' y / Q y).
  apply: rel_mul => //; [by rewrite invr_ge0 | by rewrite /rel subrr normr0 mul0r | exact: rel_inv].
have rr := rel_rounds u0 (both_ge0 (lexx 0) i0) (divr_ge0 (b'0 y) (q0 y)) rq hr.
have {}rr : rel ratio_error (b' y / q y) r by move: rr; rewrite /rel /ratio_error /both addr0 mul1r addrAC subrr add0r.
have -> : q y * r - b y = (b' y - b y) + q y * (r - b' y / q y) by rewrite mulrBr [q y * (_ / _)]mulrC divfK //; ring.
apply: le_trans (ler_norm_add _ _) _; rewrite ler_add2l normrM (ger0_norm (q0 y)).
apply: le_trans (ler_wpmul2l (q0 y) rr) _.
by rewrite mulrCA [q y * _]mulrC divfK.
Qed.

Variables (w b'' : V -> R) (e' : R).
Hypothesis wr : forall y, exists2 z, rounds (b' y - Q y) z & w y = Num.max z 0.
Hypothesis e'w : within u d (sumV w) e'.
Hypotheses (b''r : e' != 0 -> forall y, rounds (w y / e') (b'' y)) (b''any : e' = 0 -> sumV b'' = 1 /\ forall y, 0 <= b'' y).
Lemma w_ge0 y : 0 <= w y. Proof. by have [z _ ->] := wr y; rewrite le_maxr lexx orbT. Qed.
Lemma weights_apart : apart (over b q 1) w <= weights_off b q e.
Proof.
apply: le_trans (_ : sumV (fun y => (1 + u) * (`|b' y - b y| + o * q y) + u * over b q 1 y) <= _); last first.
  rewrite sumVD !sumVZ sumVD sumVZ q1 mulr1 ler_add2r; apply: ler_wpmul2l; first by rewrite addr_ge0 ?ler01.
  by rewrite ler_add2r.
apply: sumV_le => y; have [z hz ->] := wr y.
have m : `|Num.max (b' y - Q y) 0 - over b q 1 y| <= `|b' y - b y| + o * q y.
  rewrite /over mul1r; apply: le_trans (max0_near _ _) _.
  have -> : b' y - Q y - (b y - q y) = (b' y - b y) - (Q y - q y) by ring.
  by apply: le_trans (ler_norm_sub _ _) _; apply: ler_add => //; apply: Qq.
have -> : Num.max z 0 - over b q 1 y = (Num.max z 0 - Num.max (b' y - Q y) 0) + (Num.max (b' y - Q y) 0 - over b q 1 y) by ring.
apply: le_trans (ler_norm_add _ _) _; move: m; set m := `|b' y - b y| + _ => hm.
have -> : (1 + u) * m + u * over b q 1 y = u * (over b q 1 y + m) + m by ring.
apply: ler_add => //; apply: le_trans (max0_rounds u1 hz) _; apply: ler_wpmul2l => //.
by have := le_trans (ler_norm _) hm; rewrite ler_subl_addr [m + _]addrC.
Qed.
Lemma e'_ge0 : 0 <= e'.
Proof.
have W0 : 0 <= sumV w by apply: sumV_ge0 => y; apply: w_ge0.
have := e'w; rewrite /within ler_norml => /andP[l _].
apply: le_trans (_ : (1 - growth u d) * sumV w <= _); first by rewrite mulr_ge0 // ltW.
by rewrite mulrBl mul1r addrC -ler_subr_addr.
Qed.
Lemma left_ge0 y : 0 <= b'' y.
Proof.
have [z|nz] := eqVneq e' 0; first by have [_ ->] := b''any z.
by apply: rounds_ge0 (b''r nz y) => //; rewrite divr_ge0 ?w_ge0 ?e'_ge0.
Qed.
Lemma left_apart : excess b q 1 != 0 -> apart (residual b q 1) b'' <= left_off b q e.
Proof.
move=> nz; have x0 : 0 <= excess b q 1 by apply: sumV_ge0 => y; apply: over_ge0.
have xp : 0 < excess b q 1 by rewrite lt0r nz.
have s0 : 0 <= sum_error by rewrite /sum_error both_ge0 // divr_ge0 // ltW.
have W0 : 0 <= sumV w by apply: sumV_ge0 => y; apply: w_ge0.
have resE y : residual b q 1 y = over b q 1 y / excess b q 1 by rewrite /residual (negPf nz).
have scaled r : sumV (fun y => `|excess b q 1 * r y - over b q 1 y|) = excess b q 1 * apart (residual b q 1) r.
  rewrite /apart -sumVZ; apply: sumV_eq => y; rewrite -{2}(ger0_norm x0) -normrM mulrBr resE.
  by rewrite [excess b q 1 * (_ / _)]mulrC divfK.
have near r : sumV r = 1 -> (forall y, 0 <= r y) -> (forall y, r y * sumV w = w y) ->
    apart (residual b q 1) r <= 2%:R * weights_off b q e / excess b q 1.
  move=> r1 r0 rw; rewrite ler_pdivl_mulr // mulrC -scaled.
  by apply: le_trans (normalised_near _ r1 r0 rw) _; apply: ler_wpmul2l; [apply: ler0n | apply: weights_apart].
have [z|nz'] := eqVneq e' 0.
  have [r1 r0] := b''any z.
  have S0 : sumV w = 0.
    have := e'w; rewrite /within z sub0r normrN (ger0_norm W0) => le.
    have : (1 - growth u d) * sumV w <= 0 by rewrite mulrBl mul1r subr_le0.
    by rewrite pmulr_rle0 // => le'; apply/eqP; rewrite eq_le le' W0.
  apply: le_trans (near b'' r1 r0 _) _; last by rewrite ler_addl.
  by move=> y; rewrite S0 mulr0 (sumV_eq0 w_ge0 S0).
have Sp : sumV w != 0.
  by apply/eqP => S0; move: nz'; have := e'w; rewrite /within S0 subr0 mulr0 normr_le0 => ->.
pose r y := w y / sumV w.
have r1 : sumV r = 1 by rewrite /r sumVZr mulfV.
have r0 y : 0 <= r y by rewrite divr_ge0 ?w_ge0.
have rb y : `|b'' y - r y| <= sum_error * r y.
  have i0 : 0 <= growth u d / (1 - growth u d) by rewrite divr_ge0 // ltW.
  have ri := rel_inv g0 d1 W0 e'w.
  have rw : rel (both 0 (growth u d / (1 - growth u d))) (w y / sumV w) (w y / e').
    by apply: rel_mul => //; [exact: w_ge0 | rewrite invr_ge0 | rewrite /rel subrr normr0 mul0r].
  have := rel_rounds u0 (both_ge0 (lexx 0) i0) (r0 y) rw (b''r nz' y).
  by rewrite /rel /sum_error /both addr0 mul1r addrAC subrr add0r.
apply: le_trans (_ : sumV (fun y => `|r y - residual b q 1 y| + sum_error * r y) <= _).
  apply: sumV_le => y; have -> : b'' y - residual b q 1 y = (r y - residual b q 1 y) + (b'' y - r y) by ring.
  by apply: le_trans (ler_norm_add _ _) _; rewrite ler_add2l.
rewrite sumVD sumVZ r1 mulr1 ler_add2r; apply: near => // y.
by rewrite /r divfK.
Qed.
End Step.

Lemma row_apart s : apart (rb s) (B s) <= o.
Proof.
by rewrite -[X in _ <= X]mulr1 -(row_sum Mb (c ++ s)) -sumVZ; apply: sumV_le => y; apply: Bb.
Qed.
Lemma B_ge0 s y : 0 <= B s y. Proof. exact: (given_ge0 o1 (row_ge0 Mb _ _) (Bb s y)). Qed.
Lemma h_token_range b q x : (forall y, 0 <= b y) -> (forall y, 0 <= q y) -> 0 <= h_token b q x <= 1.
Proof. by move=> b0 q0; rewrite /h_token le_minr ler01 andbT divr_ge0 //= le_minl lexx orbT. Qed.

Variables (n : nat) (A : seq V -> V -> R).
Hypothesis A01 : forall s y, 0 <= A s y <= 1.
Lemma draw_range r (U : V -> R) : sumV r = 1 -> (forall y, 0 <= r y) -> (forall y, 0 <= U y <= 1) -> 0 <= draw r U <= 1.
Proof.
move=> r1 r0 U01; rewrite sumV_ge0 => [|y]; last by have /andP[? _] := U01 y; apply: mulr_ge0.
by rewrite -r1; apply: sumV_le => y; have /andP[_ ?] := U01 y; rewrite ler_pimulr.
Qed.
Lemma below_drawn m q (below next : V -> drafts V R) : drawn m (Sibling q below next) ->
  [/\ forall x, 0 <= q x, sumV q = 1, forall x, exists k, drawn k (below x) & forall x, exists k, drawn k (next x)].
Proof. by move=> h; inversion h; split=> // x; eexists; eauto. Qed.
Lemma computes_range s b' t F m : computes s b' t F -> drawn m t -> (forall y, 0 <= b' y) -> 0 <= F A <= 1.
Proof.
move=> h; elim: h m => {s b' t F} [s b' r r' F _ [r1 r0 _] FE|s b' q below next Q H w e' b'' FA FR F Qq Hr wr ew br ba _ IHA _ IHR FE] m hd b'0.
  by rewrite FE; apply: draw_range.
have [q0 q1 hb hn] := below_drawn hd.
rewrite FE; apply: draw_range => // x; have [ka da] := hb x; have [kr dr] := hn x.
have [F01 _] := decided (coin_range q0 b'0 Qq Hr x).
apply: mix_range => //; first exact: IHA da (B_ge0 _).
by apply: IHR dr _; apply: left_ge0 wr ew br ba.
Qed.

(* The bound: computed from the tree that is drawn, with the exact rows. *)
Theorem tree_rounding s b b' t e F m : computes s b' t F -> drawn m t ->
  (forall y, 0 <= b y) -> sumV b = 1 -> (forall y, 0 <= b' y) -> apart b b' <= e ->
  `|F A - recursive_rejection Mb c s b t A| <= tree_cost s b e t + lambda.
Proof.
move=> h; elim: h m b e => {s b' t F} [s b' r r' F [r1 r0 rb'] [r'1 r'0 rr'] FE|
    s b' q below next Q H w e' b'' FA FR F Qq Hr wr ew br ba cA IHA cR IHR FE] m b e hd b0 b1 b'0 be.
  rewrite FE /=; apply: le_trans (tv_bounds b1 r'1 (A01 s)) _.
  apply: le_trans (tv_triangle b r r') _; apply: ler_add => //.
  rewrite /total_variation ler_pdivr_mulr ?ltr0n //.
  have := normalised_near b r1 r0 rb'; rewrite b1 (sumV_eq (g := fun y => `|r y - b y|)) => [|y]; last by rewrite mul1r.
  by move=> le; apply: le_trans le _; rewrite mulrC; apply: ler_wpmul2r; rewrite ?ler0n.
have [q0 q1 hb hn] := below_drawn hd.
have H01 := coin_range q0 b'0 Qq Hr; have Hoff := coins_off b1 q0 b'0 be Qq Hr.
have [res0 res1] := residual_row q 1 b0 b1.
set x0 := excess b q 1.
rewrite FE /=; set costs := fun x => h_token b q x * _ + _.
have k01 x := h_token_range x b0 q0.
have step x : `|flip (Fd (H x)) (fun accepted : bool => if accepted then FA x A else FR x A)
    - flip (h_token b q x) (fun accepted : bool => if accepted then recursive_rejection Mb c (rcons s x) (rb (rcons s x)) (below x) A
      else recursive_rejection Mb c s (residual b q 1) (next x) A)| * q x
  <= (`|H x - h_token b q x| + eta + costs x + lambda) * q x.
  have [qz|qn] := eqVneq (q x) 0; first by rewrite qz !mulr0.
  have [ka da] := hb x; have [kr dr] := hn x.
  have [/andP[F0 F1] Fe] := decided (H01 x); have /andP[h0 h1] := k01 x.
  have A1 := computes_range (cA x) da (B_ge0 _).
  have b''0 : forall y, 0 <= b'' y := left_ge0 wr ew br ba.
  have R1 := computes_range (cR x) dr b''0.
  rewrite /flip /=; set ra := recursive_rejection _ _ _ _ (below x) _; set rr := recursive_rejection _ _ _ _ (next x) _.
  apply: ler_wpmul2r => //; apply: le_trans (mix_near _ _ _ (k01 x) A1 R1) _.
  have -> : `|H x - h_token b q x| + eta + costs x + lambda
    = (eta + `|H x - h_token b q x|) + (costs x + lambda) by ring.
  apply: ler_add.
    have -> : Fd (H x) - h_token b q x = (Fd (H x) - H x) + (H x - h_token b q x) by ring.
    by apply: le_trans (ler_norm_add _ _) _; rewrite ler_add2r.
  have -> : costs x + lambda = h_token b q x * (tree_cost (rcons s x) (rb (rcons s x)) o (below x) + lambda)
    + (1 - h_token b q x) * (tree_cost s (residual b q 1) (left_off b q e) (next x) + lambda) by rewrite /costs; ring.
  apply: ler_add; first by apply: ler_wpmul2l => //; apply: IHA da (row_ge0 _ _) (row_sum _ _) (B_ge0 _) (row_apart _).
  have [hz|hn'] := eqVneq (1 - h_token b q x) 0; first by rewrite hz !mul0r.
  apply: ler_wpmul2l; first by rewrite subr_ge0.
  apply: IHR dr res0 res1 b''0 _; apply: (left_apart q1 be Qq wr ew br ba).
  apply/eqP => xz; move: (over_ge0 b q 1) => ov0.
  have tot : sumV (fun y => q y * (1 - h_token b q y)) = 0.
    rewrite -[RHS]xz excessE // -(share_next b0 q0 ler01) -[X in _ = X - _]q1 -sumVB; apply: sumV_eq => y.
    by rewrite /h_token /next_p mul1r; ring.
  have nn y : 0 <= q y * (1 - h_token b q y) by rewrite mulr_ge0 // subr_ge0; have /andP[] := k01 y.
  by have /eqP := sumV_eq0 nn tot x; rewrite mulf_eq0 (negPf qn) (negPf hn').
rewrite -sumVB; apply: le_trans (sumV_norm _) _.
apply: le_trans (_ : sumV (fun x => q x * `|H x - h_token b q x| + q x * (eta + lambda) + q x * costs x) <= _).
  apply: sumV_le => x; rewrite -mulrBr normrM (ger0_norm (q0 x)) mulrC; apply: le_trans (step x) _.
  by rewrite le_eqVlt; apply/orP; left; apply/eqP; ring.
rewrite !sumVD sumVZr q1 mul1r /draw.
have -> : e + ratio_error * (1 + e) + eta + sumV (fun y => q y * costs y) + lambda
  = (e + ratio_error * (1 + e)) + (eta + lambda) + sumV (fun y => q y * costs y) by ring.
by rewrite !ler_add2r.
Qed.
End TreeRounding.

(* Token verification on one problem, prefix by prefix, as ProblemRounding.v has block verification: a coin's error is
   relative, and gone where the ratio is cut at 1. *)
Section TokenRounding.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma : nat) (c : seq V).
Variables (u o eta lambda : R) (F : R -> R) (B S H w drawn : seq V -> V -> R).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1) (o0 : 0 <= o) (o1 : o < 1).
Hypothesis decided : forall h, 0 <= h <= 1 -> 0 <= F h <= 1 /\ `|F h - h| <= eta.
Implicit Types (x X : seq V).
Notation b x := (Mb (c ++ x)).
Notation s x := (Ms (c ++ x)).
Notation rounds := (Rounding.rounds u).
Hypotheses (Bb : forall x y, rel o (b x y) (B x y)) (Ss : forall x y, rel o (s x y) (S x y)).
Hypothesis Hc : forall x y, exists2 r, rounds (B x y / S x y) r & H x y = Num.min r 1.
Hypothesis wc : forall x y, exists2 e, rounds (B x y - S x y) e & w x y = Num.max e 0.
Hypotheses (drawn0 : forall x y, 0 <= drawn x y) (drawn1 : forall x, sumV (drawn x) = 1).
Hypothesis drawn_near : forall x, exists r : V -> R, [/\ sumV r = 1, forall y, 0 <= r y, total_variation r (drawn x) <= lambda &
  if size x == gamma then forall y, r y * sumV (B x) = B x y else forall y, r y * sumV (w x) = w x y].
Variable A : seq V -> V -> R.
Hypothesis A01 : forall x y, 0 <= A x y <= 1.

Fixpoint token_computed x todo : R :=
  if todo is y :: todo' then flip (F (H x y)) (fun accepted =>
    if accepted then token_computed (rcons x y) todo' else draw (drawn x) (A x))
  else draw (drawn x) (A x).
Definition token_coin_off x y : R := next_error u o 0 (b x) (s x) 1 y * h_token (b x) (s x) y.
Fixpoint token_cost n x : R :=
  if n is n'.+1 then eta + draw (s x) (token_coin_off x) + weights_near u o 0 (b x) (s x) 1
    + draw (s x) (fun y => h_token (b x) (s x) y * token_cost n' (rcons x y))
  else o.

Let one : rel 0 1 (1 : R). Proof. by rewrite /rel subrr normr0 mul0r. Qed.
Lemma rounds_itself z : rounds z z.
Proof. by rewrite /Rounding.rounds subrr normr0 mulr_ge0. Qed.
Lemma token_coin_here x y : 0 <= H x y <= 1 /\ `|H x y - h_token (b x) (s x) y| <= token_coin_off x y.
Proof.
have [r hr ->] := Hc x y.
have t1 : rounds (1 * r) r by rewrite mul1r; apply: rounds_itself.
have [h h01] := survival_here u0 u1 o0 o1 (lexx 0) (row_ge0 Mb _) (row_ge0 Ms _) (Bb x) (Ss x) ler01 ler01 one hr t1.
by split=> //; move: h; rewrite /rel /token_coin_off h_tokenE.
Qed.
Lemma token_weights_here x y : `|w x y - over (b x) (s x) 1 y| <= weight_near u o 0 (b x) (s x) 1 y.
Proof.
have [e he ->] := wc x y.
have z1 : rounds (1 * B x y) (B x y) by rewrite mul1r; apply: rounds_itself.
exact: (weight_here u0 u1 o0 (lexx 0) (row_ge0 Mb _) (row_ge0 Ms _) (Bb x) (Ss x) ler01 one z1 he).
Qed.
Lemma token_draw_range x : 0 <= draw (drawn x) (A x) <= 1.
Proof. exact: draw_range. Qed.
Lemma token_computed_range x X : 0 <= token_computed x X <= 1.
Proof.
elim: X x => [|y X IH] x /=; first exact: token_draw_range.
have [H01 _] := token_coin_here x y; have [F01 _] := decided H01.
by apply: mix_range => //; apply: token_draw_range.
Qed.
Lemma token_rounding_from n x : (size x + n)%N = gamma ->
  `|gen Ms n (c ++ x) (token_computed x)
    - gen Ms n (c ++ x) (fun X => token_loop Mb Ms c x X (fun kept => finish Mb Ms gamma c A kept 1))|
  <= token_cost n x + lambda.
Proof.
elim: n x => [|n IH] x hn; have [r [r1 r0 rl re]] := drawn_near x.
  move: hn re; rewrite addn0 => hn; rewrite /= /finish hn eqxx => re.
  apply: le_trans (tv_bounds (row_sum Mb _) (drawn1 x) (A01 x)) _.
  apply: le_trans (tv_triangle _ r _) _; apply: ler_add => //.
  exact: (given_row_near Bb r1 r0 re).
have ne : (size x == gamma) = false by rewrite -hn -[X in X == _]addn0 eqn_add2l.
have hn' y : (size (rcons x y) + n)%N = gamma by rewrite size_rcons addSnnS.
rewrite ne in re; have h01 y := h_token_range y (row_ge0 Mb (c ++ x)) (row_ge0 Ms (c ++ x)).
set h := h_token _ _ in h01 *.
pose comp y := gen Ms n (c ++ rcons x y) (token_computed (rcons x y)).
pose exact y := gen Ms n (c ++ rcons x y) (fun X => token_loop Mb Ms c (rcons x y) X (fun kept => finish Mb Ms gamma c A kept 1)).
pose last' := draw (drawn x) (A x); pose last := draw (residual (b x) (s x) 1) (A x).
have split' y : gen Ms n (rcons (c ++ x) y) (fun X => token_computed x (y :: X)) = F (H x y) * comp y + (1 - F (H x y)) * last'.
  by rewrite rcons_cat /= /flip genD !genZ gen_const.
have split y : gen Ms n (rcons (c ++ x) y) (fun X => token_loop Mb Ms c x (y :: X) (fun kept => finish Mb Ms gamma c A kept 1))
    = h y * exact y + (1 - h y) * last.
  by rewrite rcons_cat /= /flip genD !genZ gen_const /finish ne.
have rows : excess (b x) (s x) 1 * `|last' - last| <= weights_near u o 0 (b x) (s x) 1 + excess (b x) (s x) 1 * lambda.
  have x0 : 0 <= excess (b x) (s x) 1 by apply: sumV_ge0 => y; apply: over_ge0.
  have [res0 res1] := residual_row (s x) 1 (row_ge0 Mb (c ++ x)) (row_sum Mb (c ++ x)).
  apply: le_trans (ler_wpmul2l x0 (tv_bounds res1 (drawn1 x) (A01 x))) _.
  apply: le_trans (ler_wpmul2l x0 (tv_triangle _ r _)) _; rewrite mulrDr; apply: ler_add; last exact: ler_wpmul2l.
  exact: (row_here (token_weights_here x) re r1 r0).
rewrite !genS (sumV_eq (fun y => congr1 _ (split' y))) (sumV_eq (fun y => congr1 _ (split y))) -sumVB.
apply: le_trans (sumV_norm _) _.
apply: le_trans (_ : sumV (fun y => s x y * (eta + token_coin_off x y) + s x y * (h y * (token_cost n (rcons x y) + lambda))
    + s x y * (1 - h y) * `|last' - last|) <= _).
  apply: sumV_le => y; rewrite -mulrBr normrM (ger0_norm (row_ge0 Ms _ _)) -mulrA -!mulrDr; apply: ler_wpmul2l => //.
  have [H01 Hh] := token_coin_here x y; have [F01 Fh] := decided H01; have /andP[h0 h1] := h01 y.
  have c01 : 0 <= comp y <= 1.
    apply/andP; split; first by apply: gen_ge0 => X _; have /andP[] := token_computed_range (rcons x y) X.
    rewrite -[X in _ <= X](gen_const Ms n (c ++ rcons x y)); apply: gen_le => X _.
    by have /andP[] := token_computed_range (rcons x y) X.
  apply: le_trans (mix_near _ _ _ (h01 y) c01 (token_draw_range x)) _.
  rewrite -[X in _ <= X]addrA; apply: ler_add.
    have -> : F (H x y) - h y = (F (H x y) - H x y) + (H x y - h y) by ring.
    by apply: le_trans (ler_norm_add _ _) _; apply: ler_add.
  by rewrite ler_add2r; apply: ler_wpmul2l => //; apply: IH.
have rest : sumV (fun y => s x y * (1 - h y)) = excess (b x) (s x) 1.
  rewrite excessE ?row_sum // -(share_next (row_ge0 Mb _) (row_ge0 Ms _) ler01) -[X in _ = X - _](row_sum Ms (c ++ x)) -sumVB.
  by apply: sumV_eq => y; rewrite /h /h_token /next_p mul1r; ring.
have kept : sumV (fun y => s x y * h y) = 1 - excess (b x) (s x) 1.
  by rewrite -rest -[X in X - _](row_sum Ms (c ++ x)) -sumVB; apply: sumV_eq => y; ring.
rewrite !sumVD sumVZr rest (sumV_eq (g := fun y => s x y * eta + s x y * token_coin_off x y)) => [|y]; last by rewrite mulrDr.
rewrite sumVD sumVZr row_sum mul1r.
rewrite (sumV_eq (f := fun y => s x y * (h y * (_ + lambda))) (g := fun y => s x y * (h y * token_cost n (rcons x y)) + s x y * h y * lambda)) => [|y]; last by ring.
rewrite sumVD sumVZr kept /=.
set a := draw (s x) (token_coin_off x); rewrite -/(draw (s x) (token_coin_off x)) -/a.
set k := draw (s x) _; rewrite -/k.
have -> : eta + a + weights_near u o 0 (b x) (s x) 1 + k + lambda = eta + a + (k + (1 - excess (b x) (s x) 1) * lambda)
  + (weights_near u o 0 (b x) (s x) 1 + excess (b x) (s x) 1 * lambda) by ring.
by rewrite ler_add2l.
Qed.

Theorem token_rounding :
  `|gen Ms gamma c (token_computed [::]) - gen Ms gamma c (fun X => token_verify Mb Ms c X A)| <= token_cost gamma [::] + lambda.
Proof.
have := @token_rounding_from gamma [::] (add0n gamma); rewrite cats0.
rewrite (_ : gen Ms gamma c (fun X => token_loop _ _ _ _ X _) = gen Ms gamma c (fun X => token_verify Mb Ms c X A)) //.
by apply: gen_eq => X hX; rewrite /token_verify hX.
Qed.
End TokenRounding.

(* One sibling of a draft tree in floating point, from the row and the weight that a computation has left: its coin, and
   what it leaves.  What is assumed is the standard model of Rounding.v. *)

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
