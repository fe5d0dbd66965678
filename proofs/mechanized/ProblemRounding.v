From mathcomp Require Import all_ssreflect ssralg ssrnum zify.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Algorithms Block Optimality Precision Rounding.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

(* The bound on rounding of one problem: each error counts as often as its prefix is drafted and its coin decides.
   Rows may be off by a relative error o; where a survival is cut at 1 its error is gone.  What is assumed is the
   standard model of Rounding.v. *)

Section Relative.
Variables (R : realFieldType) (u : R).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1).
Implicit Types (e f z w : R).
Definition rel e z z' : Prop := `|z' - z| <= e * z.
(* The relative error of a product, and of an operation after an error e. *)
Definition both e f : R := (1 + e) * (1 + f) - 1.
Lemma rel_range e z z' : rel e z z' -> (1 - e) * z <= z' /\ z' <= (1 + e) * z.
Proof.
rewrite /rel ler_norml => /andP[l h]; rewrite mulrBl mulrDl mul1r; split.
  by rewrite addrC -ler_subr_addr.
by rewrite addrC -ler_subl_addr.
Qed.
Lemma rel_mul e f z z' w w' : 0 <= e -> 0 <= z -> 0 <= w -> rel e z z' -> rel f w w' -> rel (both e f) (z * w) (z' * w').
Proof.
move=> e0 z0 w0 r s; have [_ hi] := rel_range r.
have hz : `|z'| <= (1 + e) * z.
  have -> : z' = (z' - z) + z by ring.
  by apply: le_trans (ler_norm_add _ _) _; rewrite (ger0_norm z0) mulrDl mul1r addrC ler_add2l.
rewrite /rel; have -> : z' * w' - z * w = z' * (w' - w) + (z' - z) * w by ring.
apply: le_trans (ler_norm_add _ _) _; rewrite !normrM (ger0_norm w0).
have -> : both e f * (z * w) = ((1 + e) * z) * (f * w) + (e * z) * w by rewrite /both; ring.
by apply: ler_add; [apply: ler_pmul | apply: ler_wpmul2r].
Qed.
Lemma rel_rounds e z z' z'' : 0 <= e -> 0 <= z -> rel e z z' -> rounds u z' z'' -> rel (both e u) z z''.
Proof.
move=> e0 z0 r h; have hz : `|z'| <= (1 + e) * z.
  have -> : z' = (z' - z) + z by ring.
  by apply: le_trans (ler_norm_add _ _) _; rewrite (ger0_norm z0) mulrDl mul1r addrC ler_add2l.
rewrite /rel; have -> : z'' - z = (z'' - z') + (z' - z) by ring.
apply: le_trans (ler_norm_add _ _) _; have -> : both e u * z = u * ((1 + e) * z) + e * z by rewrite /both; ring.
by apply: ler_add => //; apply: le_trans h _; apply: ler_wpmul2l.
Qed.
Lemma rel_inv o s s' : 0 <= o -> o < 1 -> 0 <= s -> rel o s s' -> rel (o / (1 - o)) s^-1 s'^-1.
Proof.
move=> o0 o1 s0 r; have d0 : 0 < 1 - o by rewrite subr_gt0.
have [lo _] := rel_range r.
have [e|ne] := eqVneq s 0.
  have -> : s' = 0 by apply/eqP; rewrite -normr_le0 -[s']subr0 -e; apply: le_trans r _; rewrite e mulr0.
  by rewrite /rel e subrr normr0 invr0 mulr0.
have sp : 0 < s by rewrite lt0r ne.
have s'p : 0 < s' by apply: lt_le_trans lo; apply: mulr_gt0.
rewrite /rel; have -> : s'^-1 - s^-1 = (s - s') / (s' * s) by field; rewrite ne lt0r_neq0.
rewrite normrM normfV (ger0_norm (_ : 0 <= s' * s)); last by rewrite mulr_ge0 // ltW.
rewrite ler_pdivr_mulr ?mulr_gt0 // distrC; apply: le_trans r _.
have -> : o / (1 - o) / s * (s' * s) = o * (s' / (1 - o)) by field; rewrite ne lt0r_neq0.
by apply: ler_wpmul2l => //; rewrite ler_pdivl_mulr // mulrC.
Qed.
Lemma rel_min e z z' : 0 <= e -> 0 <= z -> 0 <= z' -> rel e z z' -> rel e (Num.min z 1) (Num.min z' 1).
Proof.
move=> e0 z0 z'0 r; have [lo hi] := rel_range r.
have [le|gt] := leP z 1.
  by rewrite /rel; apply: le_trans r; have := min_near 1 z z'; rewrite (min_l le).
rewrite /rel mulr1; have [ge|lt] := leP 1 z'; first by rewrite subrr normr0.
rewrite ler0_norm ?subr_le0 ?(ltW lt) // opprB; have [big|small] := leP 1 e.
  by apply: le_trans big; rewrite ler_subl_addr ler_addl.
rewrite ler_subl_addr -ler_subl_addl; apply: le_trans lo.
by rewrite ler_pmulr ?subr_gt0 // ltW.
Qed.
(* What is beyond 1 by more than its error is cut to 1. *)
Lemma rel_cut e z z' : 0 <= e -> 0 <= z -> rel e z z' -> 1 <= (1 - e) * z -> Num.min z 1 = 1 /\ Num.min z' 1 = 1.
Proof.
move=> e0 z0 r big; have [lo _] := rel_range r; rewrite !min_r //; first exact: le_trans lo.
by apply: le_trans big _; rewrite ler_pimull // ler_subl_addr ler_addl.
Qed.
End Relative.

(* One step: rows b and s, as the code has them B and S; p the exact survival of the prefix and P the computed one. *)
Section Step.
Variables (V : vocabulary) (R : realFieldType) (u o k : R) (d : nat) (b s B S : V -> R) (p P : R).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1) (o0 : 0 <= o) (o1 : o < 1) (k0 : 0 <= k).
Hypotheses (b0 : forall y, 0 <= b y) (s0 : forall y, 0 <= s y) (b1 : sumV b = 1) (s1 : sumV s = 1).
Hypotheses (Bb : forall y, rel o (b y) (B y)) (Ss : forall y, rel o (s y) (S y)).
Hypotheses (p0 : 0 <= p) (P0 : 0 <= P) (Pp : rel k p P).
Notation rounds := (rounds u).
Let o1' : 0 <= 1 - o. Proof. by rewrite subr_ge0 ltW. Qed.
Lemma given_ge0 (r r' : V -> R) y : 0 <= r y -> rel o (r y) (r' y) -> 0 <= r' y.
Proof. by move=> r0 /rel_range[le _]; apply: le_trans le; apply: mulr_ge0. Qed.
Lemma both_ge0 e f : 0 <= e -> 0 <= f -> 0 <= both e f :> R.
Proof. move=> e0 f0; rewrite /both; have -> : (1 + e) * (1 + f) - 1 = e + f + e * f by ring.
by apply: addr_ge0; [apply: addr_ge0 | apply: mulr_ge0]. Qed.

Definition survival_error : R := both (both k (both (both o (o / (1 - o))) u)) u.
Definition next_error y : R := if 1 <= (1 - survival_error) * (p * b y / s y) then 0 else survival_error.
Lemma survival_error_ge0 : 0 <= survival_error.
Proof. by rewrite !both_ge0 // divr_ge0. Qed.
Lemma ratio_here y r t : rounds (B y / S y) r -> rounds (P * r) t -> rel survival_error (p * b y / s y) t /\ 0 <= t.
Proof.
move=> hr ht; have B0 := given_ge0 (b0 y) (Bb y); have S0 := given_ge0 (s0 y) (Ss y).
have i0 : 0 <= o / (1 - o) by apply: divr_ge0.
have r0 : 0 <= r := rounds_ge0 u1 (divr_ge0 B0 S0) hr.
have q : rel (both o (o / (1 - o))) (b y / s y) (B y / S y).
  by apply: rel_mul => //; [rewrite invr_ge0 | apply: rel_inv].
have hr' := rel_rounds u0 (both_ge0 o0 i0) (divr_ge0 (b0 y) (s0 y)) q hr.
have f0 : 0 <= both (both o (o / (1 - o))) u by rewrite !both_ge0.
have hp := rel_mul k0 p0 (divr_ge0 (b0 y) (s0 y)) Pp hr'.
have z0 : 0 <= p * (b y / s y) by rewrite mulr_ge0 // divr_ge0.
split; first by have := rel_rounds u0 (both_ge0 k0 f0) z0 hp ht; rewrite mulrA.
exact: (rounds_ge0 u1 (mulr_ge0 P0 r0) ht).
Qed.
Lemma survival_here y r t : rounds (B y / S y) r -> rounds (P * r) t ->
  rel (next_error y) (next_p b s p y) (Num.min t 1) /\ 0 <= Num.min t 1 <= 1.
Proof.
move=> hr ht; have [h t0] := ratio_here hr ht.
have z0 : 0 <= p * b y / s y by rewrite divr_ge0 ?mulr_ge0.
split; last by rewrite le_minr t0 ler01 le_minl lexx orbT.
rewrite /next_error /next_p; case: ifP => [big|_]; last exact: rel_min survival_error_ge0 z0 t0 h.
by have [-> ->] := rel_cut survival_error_ge0 z0 h big; rewrite /rel subrr normr0 mul0r.
Qed.

Definition weight_error : R := both (both k o) u.
Definition weight_near y : R :=
  if (1 + weight_error) * (p * b y) <= (1 - o) * s y then 0
  else (1 + u) * (weight_error * (p * b y) + o * s y) + u * over b s p y.
Definition weights_near : R := sumV weight_near.
Lemma weight_here y z e : rounds (P * B y) z -> rounds (z - S y) e -> `|Num.max e 0 - over b s p y| <= weight_near y.
Proof.
move=> hz he; have pb0 : 0 <= p * b y by apply: mulr_ge0.
have w0 : 0 <= weight_error by rewrite !both_ge0.
have zr := rel_rounds u0 (both_ge0 k0 o0) pb0 (rel_mul k0 p0 (b0 y) Pp (Bb y)) hz; rewrite -/weight_error in zr.
have [zlo zhi] := rel_range zr; have [slo _] := rel_range (Ss y).
rewrite /weight_near; case: ifP => [none|_].
  have le : z - S y <= 0 by rewrite subr_le0; apply: le_trans zhi _; apply: le_trans none slo.
  have := max0_rounds u1 he; rewrite (max_r le) mulr0 normr_le0 subr_eq0 => /eqP ->.
  have -> : over b s p y = 0; last by rewrite subrr normr0.
  rewrite /over max_r // subr_le0; apply: le_trans (_ : (1 + weight_error) * (p * b y) <= _).
    by rewrite ler_pemull // ler_addl.
  by apply: le_trans none _; rewrite ler_pimull // ler_subl_addr ler_addl.
set m := weight_error * (p * b y) + o * s y.
have hx : `|Num.max (z - S y) 0 - over b s p y| <= m.
  apply: le_trans (max0_near _ _) _; have -> : z - S y - (p * b y - s y) = (z - p * b y) - (S y - s y) by ring.
  by apply: le_trans (ler_norm_sub _ _) _; apply: ler_add => //; apply: Ss.
have -> : Num.max e 0 - over b s p y
  = (Num.max e 0 - Num.max (z - S y) 0) + (Num.max (z - S y) 0 - over b s p y) by ring.
apply: le_trans (ler_norm_add _ _) _; have -> : (1 + u) * m + u * over b s p y = u * (over b s p y + m) + m by ring.
apply: ler_add => //; apply: le_trans (max0_rounds u1 he) _; apply: ler_wpmul2l => //.
by have := le_trans (ler_norm _) hx; rewrite ler_subl_addr [m + _]addrC.
Qed.

(* All weights w, their sum e', and the coin. *)
Hypothesis p1 : p <= 1.
Variables (w : V -> R) (e' a' D' : R).
Hypothesis wn : forall y, `|w y - over b s p y| <= weight_near y.
Hypotheses (w0 : forall y, 0 <= w y) (e'w : within u d (sumV w) e') (e'0 : 0 <= e').
Hypotheses (ar : rounds (e' + 1) a') (Dr : rounds (a' - P) D').
Notation x := (excess b s p).
Notation D := (1 - share b s p).
Notation W := weights_near.
Definition sum_near_here : R := W + growth u d * (x + W).
Definition shifted : R := sum_near_here + k * p + u * (x + sum_near_here + 1).
Definition normaliser_near_here : R := shifted + u * (D + shifted).
Definition most : R := if normaliser_near_here < D
  then Num.min ((x + sum_near_here) / (D - normaliser_near_here)) 1 else 1.
Definition least : R := if normaliser_near_here < D
  then Num.max ((x - sum_near_here) / (D + normaliser_near_here)) 0 else 0.
(* What the coin's own two operations add: shift_rounded at most. *)
Definition own_near_here : R := normaliser_near_here - sum_near_here - k * p.
Definition coin_near_bound : R :=
  (1 - least) * sum_near_here + most * (k * p + own_near_here + u * D).
Lemma weights_sum_here : `|sumV w - x| <= W.
Proof. by rewrite /excess -sumVB; apply: le_trans (sumV_norm _) _; apply: sumV_le. Qed.
Lemma W0 : 0 <= W. Proof. exact: le_trans weights_sum_here. Qed.
Lemma x0 : 0 <= x. Proof. by apply: sumV_ge0 => y; apply: over_ge0. Qed.
Lemma sum_here : `|e' - x| <= sum_near_here.
Proof.
have -> : e' - x = (sumV w - x) + (e' - sumV w) by ring.
apply: le_trans (ler_norm_add _ _) _; apply: ler_add; first exact: weights_sum_here.
apply: le_trans e'w _; apply: ler_wpmul2l; first exact: growth_ge0.
by have := le_trans (ler_norm _) weights_sum_here; rewrite ler_subl_addr addrC.
Qed.
Lemma sum_near_here_ge0 : 0 <= sum_near_here. Proof. exact: le_trans sum_here. Qed.
Lemma D_x : D = x + 1 - p. Proof. by rewrite excessE //; ring. Qed.
Lemma D0 : 0 <= D. Proof. by rewrite D_x -addrA addr_ge0 ?x0 // subr_ge0. Qed.
Lemma shifted_here : `|a' - P - D| <= shifted.
Proof.
rewrite D_x; have -> : a' - P - (x + 1 - p) = (e' - x) + (p - P) + (a' - (e' + 1)) by ring.
apply: le_trans (ler_norm_add _ _) _; apply: ler_add.
  by apply: le_trans (ler_norm_add _ _) _; apply: ler_add; [apply: sum_here | rewrite distrC].
apply: le_trans ar _; apply: ler_wpmul2l => //; rewrite (ger0_norm (addr_ge0 e'0 ler01)); apply: ler_add => //.
by have := le_trans (ler_norm _) sum_here; rewrite ler_subl_addr addrC.
Qed.
Lemma normaliser_here : `|D' - D| <= normaliser_near_here.
Proof.
have -> : D' - D = (a' - P - D) + (D' - (a' - P)) by ring.
apply: le_trans (ler_norm_add _ _) _; apply: ler_add; first exact: shifted_here.
apply: le_trans Dr _; apply: ler_wpmul2l => //; have -> : a' - P = D + (a' - P - D) by ring.
by apply: le_trans (ler_norm_add _ _) _; rewrite (ger0_norm D0) ler_add2l; apply: shifted_here.
Qed.
Hypothesis P1 : P <= 1.
Lemma own_here : shift_rounded u e' P <= own_near_here.
Proof.
have e1 : e' <= x + sum_near_here by have := le_trans (ler_norm _) sum_here; rewrite ler_subl_addr addrC.
have le : u * (e' + 1) <= u * (x + sum_near_here + 1) by apply: ler_wpmul2l => //; rewrite ler_add2r.
have -> : own_near_here = u * (x + sum_near_here + 1) + u * (D + shifted).
  by rewrite /own_near_here /normaliser_near_here /shifted; ring.
apply: ler_add => //; apply: ler_wpmul2l => //; rewrite /shifted addrA; apply: ler_add => //.
have -> : e' + 1 - P = D + ((e' - x) + (p - P)) by rewrite D_x; ring.
rewrite ler_add2l; apply: ler_add; first exact: le_trans (ler_norm _) sum_here.
by apply: le_trans (ler_norm _) _; rewrite distrC.
Qed.
Theorem coin_here h : (D' != 0 -> rounds (e' / D') h) -> D * `|clipped h - h_block b s p| <= coin_near_bound.
Proof.
move=> hr; have hx : D * h_block b s p = x by rewrite excessE //; apply: h_blockE.
have D0' := D0; have x0' := x0; have ee0 := sum_near_here_ge0; have nD := normaliser_here; have nx := sum_here.
have n0 : 0 <= normaliser_near_here := le_trans (normr_ge0 _) nD.
have xD : x <= D by rewrite excessE // ler_add2r.
have Dx : 0 <= x + 1 - p by rewrite -D_x.
have P01 : 0 <= P <= 1 by rewrite P0.
have [t [/andP[t0 t1] tE nS]] := coin_shared u0 u1 Dx e'0 P01 ar Dr hr.
rewrite -D_x => le; rewrite -{1}(ger0_norm D0') -normrM mulrBr hx; apply: le_trans le _.
have own := own_here; have own0 : 0 <= own_near_here by apply: le_trans own; apply: le_trans nS.
have kp0 : 0 <= k * p by apply: mulr_ge0.
have tight : normaliser_near_here < D -> 0 < D'.
  move=> lt; rewrite ltNge; apply/negP => Dneg; move: lt; rewrite ltNge => /negP; apply.
  by apply: le_trans nD; rewrite distrC; apply: le_trans (ler_norm _); rewrite ler_subr_addl addrC ler_naddr.
have tT : (if 0 < D' then t else 1) <= most.
  rewrite /most; have [lt|_] := boolP (normaliser_near_here < D); last by case: ifP.
  have Dpos := tight lt; rewrite Dpos le_minr t1 andbT (tE Dpos) le_minl; apply/orP; left.
  have d0 : 0 < D - normaliser_near_here by rewrite subr_gt0.
  have dD : D - normaliser_near_here <= D'.
    by rewrite ler_subl_addr -ler_subl_addl; apply: le_trans (ler_norm _) _; rewrite distrC.
  apply: ler_pmul => //; first by rewrite invr_ge0 ltW.
    by have := le_trans (ler_norm _) nx; rewrite ler_subl_addr addrC.
  by rewrite lef_pinv // posrE.
have tt : t <= most by apply: le_trans tT; case: ifP.
have Lt : least <= t.
  rewrite /least; case: ifP => // lt; have Dpos := tight lt.
  rewrite le_maxl t0 andbT (tE Dpos) le_minr.
  have d0 : 0 < D + normaliser_near_here by apply: ltr_paddr => //; apply: le_lt_trans lt.
  have xe : x - sum_near_here <= e'.
    by rewrite ler_subl_addr -ler_subl_addl; apply: le_trans (ler_norm _) _; rewrite distrC.
  have DD : D' <= D + normaliser_near_here by rewrite -ler_subl_addl; apply: le_trans nD; apply: ler_norm.
  apply/andP; split; last first.
    rewrite ler_pdivr_mulr // mul1r; apply: le_trans (_ : x <= _); first by rewrite ler_subl_addr ler_addl.
    by apply: ler_paddr.
  apply: le_trans (_ : e' / (D + normaliser_near_here) <= _); first by apply: ler_wpmul2r; rewrite // invr_ge0 ltW.
  by apply: ler_wpmul2l => //; rewrite lef_pinv // posrE.
have -> : coin_near_bound = (1 - least) * sum_near_here + most * (k * p) + most * own_near_here + u * most * D.
  by rewrite /coin_near_bound; ring.
apply: ler_add; last by apply: ler_wpmul2r => //; apply: ler_wpmul2l.
apply: ler_add; first apply: ler_add.
- by apply: ler_pmul => //; [rewrite subr_ge0 | rewrite ler_add2l ler_opp2].
- by apply: ler_pmul.
- by apply: ler_pmul; rewrite ?(le_trans _ nS) //; case: ifP.
Qed.
(* The last token's row, drawn by the weights. *)
Theorem row_here (r : V -> R) : (forall y, r y * sumV w = w y) -> sumV r = 1 -> (forall y, 0 <= r y) ->
  x * total_variation (residual b s p) r <= W.
Proof.
move=> rw r1 r0; have x0' := x0; have W0' := W0.
have [/eqP z|nz] := boolP (x == 0); first by rewrite z mul0r.
rewrite /total_variation mulrA ler_pdivr_mulr ?ltr0n // -sumVZ.
apply: le_trans (_ : sumV (fun y => `|w y - over b s p y| + r y * `|sumV w - x|) <= _); last first.
  rewrite sumVD sumVZr r1 mul1r mulr_natr mulr2n; apply: ler_add; [exact: sumV_le | exact: weights_sum_here].
apply: sumV_le => y; rewrite -{1}(ger0_norm x0') -normrM.
have -> : x * (r y - residual b s p y) = (w y - over b s p y) - r y * (sumV w - x).
  by rewrite /residual (negPf nz) -(rw y) mulrBr [x * (_ / _)]mulrC divfK //; ring.
by apply: le_trans (ler_norm_sub _ _) _; rewrite normrM (ger0_norm (r0 y)).
Qed.
End Step.

(* The whole of block verification on one problem, on rows B and S within o of the models'.  kap, alpha and beta are
   any bounds: of the survivals' relative errors, of the coins and of the last rows, prefix by prefix. *)
Section Whole.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma : nat) (c : seq V) (ends : pred (seq V)).
Variables (u o eta lambda : R) (d : nat) (F : R -> R) (B S : seq V -> V -> R).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1) (o0 : 0 <= o) (o1 : o < 1).
Hypothesis decided : forall h, 0 <= h <= 1 -> 0 <= F h <= 1 /\ `|F h - h| <= eta.
Notation p := (p_of Mb Ms c).
Notation coin := (coin_of Ms gamma c ends p).
Notation row := (row_of Mb Ms gamma c ends p).
Notation stops := (final gamma ends).
Notation b x := (Mb (c ++ x)).
Notation s x := (Ms (c ++ x)).
Hypotheses (Bb : forall x y, rel o (b x y) (B x y)) (Ss : forall x y, rel o (s x y) (S x y)).
Variables (P : seq V -> R) (w drawn : seq V -> V -> R) (H : seq V -> R) (kap alpha beta : seq V -> R).

(* The standard model, at every prefix: the survivals P, the weights w, the coins H (coin_computed). *)
Definition survivals_given : Prop := P [::] = 1 /\ forall x y, exists r t,
  [/\ rounds u (B x y / S x y) r, rounds u (P x * r) t & P (rcons x y) = Num.min t 1].
Definition weights_given x : Prop := exists z e : V -> R, forall y,
  [/\ rounds u (P x * B x y) (z y), rounds u (z y - S x y) (e y) & w x y = Num.max (e y) 0].
Hypotheses (Pc : survivals_given) (wc : forall x, weights_given x) (Hc : forall x, coin_computed u d P w H x).
Definition coin_taken x : R := F (if stops x then P x else clipped (H x)).
Hypotheses (drawn0 : forall x y, 0 <= drawn x y) (drawn1 : forall x, sumV (drawn x) = 1).
Hypothesis drawn_near : forall x, exists r : V -> R,
  [/\ sumV r = 1, forall y, 0 <= r y, total_variation r (drawn x) <= lambda &
      if stops x then forall y, r y * sumV (B x) = B x y else forall y, r y * sumV (w x) = w x y].
(* The recursion that is computed for a problem. *)
Hypotheses (kap0 : forall x, 0 <= kap x)
  (kap_step : forall x y, next_error u o (kap x) (b x) (s x) (p x) y <= kap (rcons x y)).
Definition coin_cost x : R := if stops x then kap x * p x + eta
  else coin_near_bound u o (kap x) d (b x) (s x) (p x) + (1 - share (b x) (s x) (p x)) * eta.
Definition row_cost x : R := if stops x then p x * o else weights_near u o (kap x) (b x) (s x) (p x).
Hypotheses (alpha_ge : forall x, coin_cost x <= alpha x) (beta_ge : forall x, row_cost x <= beta x).
Let ple : forall x, ~~ stops x -> later Ms c p x <= p x := q_later (fun x y _ => p_of_le Mb Ms c x y).
Let p01 := p_of_range Mb Ms c.

Lemma survivals_here x : rel (kap x) (p x) (P x) /\ 0 <= P x <= 1.
Proof.
case: Pc => P1 Ps; elim/last_ind: x => [|x y [IH P01]].
  by rewrite P1 /p_of /= /rel subrr normr0 mulr1 kap0 lexx ler01.
have [r [t [hr ht ->]]] := Ps x y; have /andP[q0 _] := p01 x; have /andP[P0 _] := P01.
have [h h01] := survival_here u0 u1 o0 o1 (kap0 x) (row_ge0 Mb _) (row_ge0 Ms _) (Bb x) (Ss x) q0 P0 IH hr ht.
rewrite p_of_rcons; split=> //; apply: le_trans h _; apply: ler_wpmul2r (kap_step x y).
have /andP[] // : 0 <= next_p (b x) (s x) (p x) y <= 1 by apply: next_p_range.
Qed.
Lemma weights_here x : (forall y, `|w x y - over (b x) (s x) (p x) y| <= weight_near u o (kap x) (b x) (s x) (p x) y)
  /\ forall y, 0 <= w x y.
Proof.
have [Px _] := survivals_here x; have /andP[q0 _] := p01 x; have [z [e we]] := wc x; split=> y; have [hz he ->] := we y.
  exact: (weight_here u0 u1 o0 (kap0 x) (row_ge0 Mb _) (row_ge0 Ms _) (Bb x) (Ss x) q0 Px hz he).
by rewrite le_maxr lexx orbT.
Qed.
Lemma taken_near x : none Ms gamma c ends p x * `|coin_taken x - coin x| <= alpha x.
Proof.
apply: le_trans (alpha_ge x).
have [Px P01] := survivals_here x; have [wn w0] := weights_here x; have /andP[n0 n1] := none_range p01 ple x.
set h := if stops x then P x else clipped (H x).
have h01 : 0 <= h <= 1 by rewrite /h; case: ifP => // _; apply: clipped_range.
have [_ hF] := decided h01; rewrite /coin_taken -/h.
have -> : F h - coin x = (h - coin x) + (F h - h) by ring.
apply: le_trans (ler_wpmul2l n0 (ler_norm_add _ _)) _; rewrite mulrDr /coin_cost.
move: n0 hF; rewrite /h coin_block /none; case: ifP => f n0 hF; first by rewrite !mul1r; apply: ler_add; [apply: Px|].
rewrite later_share in n0 *; have [e' [a [D [[e'0 e'w] ar Dr Hr]]]] := Hc x.
apply: ler_add; last exact: ler_wpmul2l.
have /andP[q0 q1] := p01 x; have /andP[P0 P1] := P01.
exact: (coin_here u0 u1 (kap0 x) (row_sum Mb _) q0 P0 Px q1 wn e'w e'0 ar Dr P1 Hr).
Qed.
Lemma given_row_near (r : V -> R) x : sumV r = 1 -> (forall y, 0 <= r y) -> (forall y, r y * sumV (B x) = B x y) ->
  total_variation (b x) r <= o.
Proof.
move=> r1 r0 rB; rewrite /total_variation ler_pdivr_mulr ?ltr0n //.
have off : sumV (fun y => `|B x y - b x y|) <= o.
  by rewrite -[X in _ <= X]mulr1 -(row_sum Mb (c ++ x)) -sumVZ; apply: sumV_le => y; apply: Bb.
have Z : `|1 - sumV (B x)| <= o.
  by rewrite -(row_sum Mb (c ++ x)) -sumVB; apply: le_trans (sumV_norm _) _; apply: le_trans off; apply: sumV_le => y; rewrite distrC.
apply: le_trans (_ : sumV (fun y => `|B x y - b x y| + r y * `|1 - sumV (B x)|) <= _); last first.
  by rewrite sumVD sumVZr r1 mul1r mulr_natr mulr2n; apply: ler_add.
apply: sumV_le => y; have -> : r y - b x y = (B x y - b x y) + r y * (1 - sumV (B x)) by rewrite -[in RHS]rB; ring.
by apply: le_trans (ler_norm_add _ _) _; rewrite normrM (ger0_norm (r0 y)).
Qed.
Lemma drawn_row_here x : ending Ms gamma c ends p x * total_variation (row x) (drawn x)
  <= beta x + ending Ms gamma c ends p x * lambda.
Proof.
have [r [r1 r0 rl re]] := drawn_near x; have e0 := ending_ge0 p01 ple x; have [wn w0] := weights_here x.
apply: le_trans (ler_wpmul2l e0 (tv_triangle (row x) r (drawn x))) _; rewrite mulrDr; apply: ler_add; last exact: ler_wpmul2l.
apply: le_trans (beta_ge x); move: re e0; rewrite /row_cost /ending; case: (boolP (stops x)) => f re e0.
  apply: ler_wpmul2l => //; have := given_row_near r1 r0 re; rewrite /total_variation.
  by rewrite (sumV_eq (g := fun y => `|r y - row x y|)) // => y; rewrite row_block f.
rewrite later_share -excessE ?row_sum //.
have -> : total_variation (row x) r = total_variation (residual (b x) (s x) (p x)) r.
  by rewrite /total_variation; congr (_ / _); apply: sumV_eq => y; rewrite row_block (negPf f).
exact: (row_here wn re r1 r0).
Qed.

Theorem problem_rounding (U : seq V -> V -> R) : (forall x y, 0 <= U x y <= 1) ->
  `|draft Ms c ends gamma [::] (fun X => sub_verify coin_taken drawn X U)
    - draft Ms c ends gamma [::] (fun X => block_verify Mb Ms c X U)|
  <= below Ms c ends alpha gamma [::] + (beta [::] + below Ms c ends beta gamma [::]) + lambda.
Proof.
move=> U01; have -> : draft Ms c ends gamma [::] (fun X => block_verify Mb Ms c X U)
    = draft Ms c ends gamma [::] (fun X => sub_verify coin row X U).
  by have := @block_loop_sub _ _ Mb Ms gamma c ends U gamma [::] [::]; apply; [|left].
have c01 x : 0 <= coin_taken x <= 1.
  have [_ P01] := survivals_here x; rewrite /coin_taken; set h := if _ then _ else _.
  by have h01 : 0 <= h <= 1; [rewrite /h; case: ifP => // _; apply: clipped_range | case: (decided h01)].
apply: le_trans (@near_law_here _ _ Mb Ms gamma c ends p _ p01 ple coin_taken drawn alpha
  (fun x => beta x + ending Ms gamma c ends p x * lambda) U c01 drawn0 drawn1 _ _ U01) _ => // [x _|x _|].
- exact: taken_near.
- exact: drawn_row_here.
have be := @below_ending V R Ms gamma c ends p gamma [::] lambda (add0n gamma); rewrite {3}/p_of /= mul1r in be.
by rewrite belowD [in X in _ <= X]addrAC -[X in _ <= X]addrA ler_add2l addrACA be addrC.
Qed.
End Whole.

(* Greedy block verification computed in floating point: a bound on one problem, as in ProblemRounding.v.  Survivals have
   no minimum here, and the coin is the quotient of two sums of weights. *)

(* Greedy block verification keeps x with probability min(p, 1), p without the minimum. *)
Section Keeping.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma : nat) (c : seq V).
Implicit Types (x pre kept X : seq V).
Notation b x := (Mb (c ++ x)).
Notation s x := (Ms (c ++ x)).
Notation stops := (final gamma pred0).
Definition g_of x : R := r_from Mb Ms c 1 [::] x.
Definition kept_of x : R := clip (g_of x).
Notation coin := (coin_of Ms gamma c pred0 kept_of).
Definition greedy_row x : V -> R := if stops x then b x else residual (b x) (s x) (g_of x).
Lemma g_of_rcons x y : g_of (rcons x y) = g_of x * b x y / s x y.
Proof.
suff H p pre z : r_from Mb Ms c p pre (rcons z y) = r_from Mb Ms c p pre z * b (pre ++ z) y / s (pre ++ z) y by exact: H.
by elim: z p pre => [|w z IH] p pre /=; rewrite ?cats0 // IH -cats1 -catA.
Qed.
Lemma g_of_ge0 x : 0 <= g_of x. Proof. by apply: r_from_ge0; apply: ler01. Qed.
Lemma kept_range x : 0 <= kept_of x <= 1.
Proof. by rewrite /kept_of /clip le_minr g_of_ge0 ler01 le_minl lexx orbT. Qed.
Lemma kept_nil : kept_of [::] = 1. Proof. by rewrite /kept_of /g_of /clip /= minxx. Qed.
Lemma kept_later x : later Ms c kept_of x = share (b x) (s x) (g_of x).
Proof. by apply: sumV_eq => y; rewrite /kept_of g_of_rcons clip_next // g_of_ge0. Qed.
Lemma kept_later_le x : ~~ stops x -> later Ms c kept_of x <= kept_of x.
Proof. by move=> _; rewrite kept_later /kept_of /clip le_minr share_le ?share_le1 //; apply: row_sum. Qed.
Lemma coin_greedy x : coin x = if stops x then kept_of x else h_greedy (b x) (s x) (g_of x).
Proof.
rewrite /coin_of; case: ifP => // _; rewrite kept_later.
have e := h_greedyE (row_sum Mb (c ++ x)) (row_sum Ms (c ++ x)) (g_of x).
have [z|nz] := eqVneq (1 - share (b x) (s x) (g_of x)) 0.
  by rewrite /h_greedy underE ?row_sum // z eqxx.
by rewrite /kept_of -e mulrC mulKf.
Qed.
Lemma greedy_row_sum x : sumV (greedy_row x) = 1.
Proof.
rewrite /greedy_row; case: ifP => _; first exact: row_sum.
rewrite /residual; have [_|ne] := boolP (excess (b x) (s x) (g_of x) == 0); first exact: row_sum.
by rewrite sumVZr mulfV.
Qed.
Lemma greedy_loop_sub A n pre kept : (size pre + n)%N = gamma -> kept = pre \/ (size kept < size pre)%N ->
  draft Ms c pred0 n pre (fun X => greedy_loop Mb Ms c pre (g_of pre) kept (g_of kept) X (finish Mb Ms gamma c A))
  = draft Ms c pred0 n pre (fun X => sub_block coin pre kept X (fun k => draw (greedy_row k) (A k))).
Proof.
elim: n pre kept => [|n IH] pre kept hn hk.
  rewrite /= /finish /greedy_row /final orbF; move: hn; rewrite addn0 => hn.
  case: hk => [->|lt]; first by rewrite hn eqxx leqnn.
  by rewrite -hn (ltn_eqF lt) leqNgt lt.
rewrite /=; apply: sumV_eq => y; congr (_ * _); set pre' := rcons pre y.
have hn' : (size pre' + n)%N = gamma by rewrite size_rcons addSnnS.
have kept' : (size kept < size pre')%N by rewrite size_rcons ltnS; case: hk => [->|/ltnW].
have ep : g_of pre * b pre y / s pre y = g_of pre' by rewrite /pre' g_of_rcons.
transitivity (draft Ms c pred0 n pre' (fun X => flip (coin pre') (fun accepted =>
    greedy_loop Mb Ms c pre' (g_of pre') (if accepted then pre' else kept) (g_of (if accepted then pre' else kept)) X
      (finish Mb Ms gamma c A)))).
  have [f'|nf'] := boolP (stops pre').
    by rewrite !(@draft_final _ _ Ms gamma) // ep coin_greedy f' /flip.
  by apply: (@draft_step _ _ Ms gamma) => // z X; rewrite ep coin_greedy (negPf nf') /flip.
by rewrite /flip !draftD !draftZ !IH; auto.
Qed.
Lemma greedy_sub (U : seq V -> V -> R) : draft Ms c pred0 gamma [::] (fun X => greedy_loop Mb Ms c [::] 1 [::] 1 X (finish Mb Ms gamma c U))
  = draft Ms c pred0 gamma [::] (fun X => sub_verify coin greedy_row X U).
Proof. by have := @greedy_loop_sub U gamma [::] [::]; apply; [|left]. Qed.
End Keeping.

(* A quotient of sums that are off, weighed by its denominator. *)
Section Quotient.
Variables (R : realFieldType) (u x D e n e' D' h : R).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1) (x0 : 0 <= x) (D0 : 0 <= D) (e'0 : 0 <= e') (D'0 : 0 <= D').
Hypotheses (nx : `|e' - x| <= e) (nD : `|D' - D| <= n).
Definition at_most : R := if n < D then Num.min ((x + e) / (D - n)) 1 else 1.
Definition quotient_off : R := at_most * n + e + u * at_most * D.
Lemma quotient_near : (D' != 0 -> rounds u (e' / D') h) -> `|D * clipped h - Num.min x D| <= quotient_off.
Proof.
move=> hr; have n0 : 0 <= n := le_trans (normr_ge0 _) nD; have e0 : 0 <= e := le_trans (normr_ge0 _) nx.
have [c0 c1] := andP (clipped_range h).
have T0 : 0 <= at_most.
  by rewrite /at_most; case: ifP => // lt; rewrite le_minr ler01 andbT; apply: divr_ge0; [apply: addr_ge0 | rewrite subr_ge0 ltW].
have m0 : 0 <= Num.min x D by rewrite le_minr x0.
have mD : Num.min x D <= D by rewrite le_minl lexx orbT.
have [Dz|Dnz] := eqVneq D' 0.
  have big : D <= n by move: nD; rewrite Dz sub0r normrN (ger0_norm D0).
  have T1 : at_most = 1 by rewrite /at_most ltNge big.
  apply: le_trans (_ : D <= _); last first.
    by apply: le_trans big _; rewrite /quotient_off T1 mul1r mulr1 -addrA ler_addl addr_ge0 // mulr_ge0.
  rewrite ler_norml ler_subr_addr ler_subl_addr; apply/andP; split.
    by apply: le_trans (_ : 0 <= _); [rewrite addrC subr_le0 | apply: mulr_ge0].
  by apply: le_trans (ler_pimulr D0 c1) _; rewrite ler_addl.
have Dpos : 0 < D' by rewrite lt0r Dnz.
have e0D : 0 <= e' / D' by rewrite divr_ge0.
pose t := Num.min (e' / D') 1.
have t01 : 0 <= t <= 1 by rewrite /t le_minr e0D ler01 le_minl lexx orbT.
have [t0 t1] := andP t01.
have tT : t <= at_most.
  rewrite /at_most; case: ifP => // lt; rewrite le_minr t1 andbT /t le_minl; apply/orP; left.
  have d0 : 0 < D - n by rewrite subr_gt0.
  have dD : D - n <= D'.
    by rewrite ler_subl_addr -ler_subl_addl; apply: le_trans (ler_norm _) _; rewrite distrC.
  apply: ler_pmul => //; first by rewrite invr_ge0 ltW.
    by have := le_trans (ler_norm _) nx; rewrite ler_subl_addr addrC.
  by rewrite lef_pinv // posrE.
have ht : `|clipped h - t| <= u * t.
  have hw := rounds_within e0D (hr Dnz); have h0 := rounds_ge0 u1 e0D (hr Dnz).
  by rewrite /clipped (max_l h0); have := within_min u0 h0 hw; rewrite /within growth1.
have tn : t * `|D' - D| <= at_most * n by apply: ler_pmul.
have Dt : `|D * t - Num.min x D| <= at_most * n + e.
  have tD : `|t * (D' - D)| <= at_most * n by rewrite normrM (ger0_norm t0).
  have [le|gt] := leP (e' / D') 1.
    have eE : e' = t * D' by rewrite /t min_l // divfK.
    have Dx : D * t - x = - (t * (D' - D)) + (e' - x) by rewrite eE; ring.
    have [xD|Dx'] := leP x D.
      by rewrite Dx; apply: le_trans (ler_norm_add _ _) _; apply: ler_add => //; rewrite normrN.
    have neg : D * t - D <= 0 by rewrite subr_le0 ler_pimulr.
    rewrite ler0_norm // opprB; apply: le_trans (_ : x - D * t <= _); first by rewrite ler_add2r ltW.
    rewrite -opprB Dx opprD opprK; apply: ler_add; first exact: le_trans (ler_norm _) tD.
    by apply: le_trans nx; rewrite -normrN; apply: ler_norm.
  have tE : t = 1 by rewrite /t min_r // ltW.
  rewrite tE mulr1 ger0_norm ?subr_ge0 //.
  have [xD|Dx'] := leP x D; last by rewrite subrr addr_ge0 // mulr_ge0.
  have De : D' <= e' by move: gt; rewrite ltr_pdivl_mulr // mul1r => /ltW.
  have -> : D - x = (D - D') + (D' - e') + (e' - x) by ring.
  apply: ler_add; last exact: le_trans (ler_norm _) nx.
  apply: le_trans (_ : D - D' <= _); first by rewrite ger_addl subr_le0.
  by apply: le_trans (ler_norm _) _; rewrite distrC; move: tn; rewrite tE mul1r.
have -> : D * clipped h - Num.min x D = (D * t - Num.min x D) + D * (clipped h - t) by ring.
apply: le_trans (ler_norm_add _ _) _; apply: ler_add => //.
rewrite normrM (ger0_norm D0) [u * at_most * D]mulrC; apply: ler_wpmul2l => //.
by apply: le_trans ht _; apply: ler_wpmul2l.
Qed.
End Quotient.

(* One step: rows b and s, as the code has them B and S; p the exact survival of the prefix and P the computed one. *)
Section Step.
Variables (V : vocabulary) (R : realFieldType) (u o k : R) (d : nat) (b s B S : V -> R) (p P : R).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1) (o0 : 0 <= o) (k0 : 0 <= k).
Hypotheses (b0 : forall y, 0 <= b y) (s0 : forall y, 0 <= s y) (b1 : sumV b = 1) (s1 : sumV s = 1).
Hypotheses (Bb : forall y, rel o (b y) (B y)) (Ss : forall y, rel o (s y) (S y)).
Hypotheses (p0 : 0 <= p) (Pp : rel k p P).
Notation rounds := (rounds u).
Definition less y : R := Num.max (s y - p * b y) 0.
(* The weights of the denominator, below which p b y is left. *)
Definition less_near y : R :=
  if (1 + o) * s y <= (1 - weight_error u o k) * (p * b y) then 0
  else (1 + u) * (weight_error u o k * (p * b y) + o * s y) + u * less y.
Definition lesses_near : R := sumV less_near.
Lemma less_here y z e : rounds (P * B y) z -> rounds (S y - z) e -> `|Num.max e 0 - less y| <= less_near y.
Proof.
move=> hz he; have pb0 : 0 <= p * b y by apply: mulr_ge0.
have w0 : 0 <= weight_error u o k by rewrite !both_ge0.
have zr : rel (weight_error u o k) (p * b y) z.
  exact: (rel_rounds u0 (both_ge0 k0 o0) pb0 (rel_mul k0 p0 (b0 y) Pp (Bb y)) hz).
have [zlo zhi] := rel_range zr; have [_ shi] := rel_range (Ss y).
rewrite /less_near; case: ifP => [none|_].
  have le : S y - z <= 0 by rewrite subr_le0; apply: le_trans shi _; apply: le_trans none zlo.
  have := max0_rounds u1 he; rewrite (max_r le) mulr0 normr_le0 subr_eq0 => /eqP ->.
  have -> : less y = 0; last by rewrite subrr normr0.
  rewrite /less max_r // subr_le0; apply: le_trans (_ : (1 + o) * s y <= _); first by rewrite ler_pemull // ler_addl.
  by apply: le_trans none _; rewrite ler_pimull // ler_subl_addr ler_addl.
set m := weight_error u o k * (p * b y) + o * s y.
have hx : `|Num.max (S y - z) 0 - less y| <= m.
  apply: le_trans (max0_near _ _) _; have -> : S y - z - (s y - p * b y) = (S y - s y) - (z - p * b y) by ring.
  by rewrite /m [X in _ <= X]addrC; apply: le_trans (ler_norm_sub _ _) _; apply: ler_add => //; apply: Ss.
have -> : Num.max e 0 - less y = (Num.max e 0 - Num.max (S y - z) 0) + (Num.max (S y - z) 0 - less y) by ring.
apply: le_trans (ler_norm_add _ _) _; have -> : (1 + u) * m + u * less y = u * (less y + m) + m by ring.
apply: ler_add => //; apply: le_trans (max0_rounds u1 he) _; apply: ler_wpmul2l => //.
by have := le_trans (ler_norm _) hx; rewrite ler_subl_addr [m + _]addrC.
Qed.
(* A computed sum of weights that are off by W in all. *)
Definition total_off (W x : R) : R := W + growth u d * (x + W).
Lemma total_here (v w : V -> R) W e' : sumV (fun y => `|w y - v y|) <= W -> within u d (sumV w) e' ->
  `|e' - sumV v| <= total_off W (sumV v).
Proof.
move=> wv we; have sv : `|sumV w - sumV v| <= W by apply: le_trans wv; rewrite -sumVB; apply: sumV_norm.
have -> : e' - sumV v = (sumV w - sumV v) + (e' - sumV w) by ring.
apply: le_trans (ler_norm_add _ _) _; apply: ler_add => //.
apply: le_trans we _; apply: ler_wpmul2l; first exact: growth_ge0.
by have := le_trans (ler_norm _) sv; rewrite ler_subl_addr addrC.
Qed.
Definition greedy_coin_near : R :=
  quotient_off u (excess b s p) (1 - share b s p) (total_off (weights_near u o k b s p) (excess b s p))
    (total_off lesses_near (1 - share b s p)).
Variables (w v : V -> R) (e' D' h : R).
Hypotheses (wn : forall y, `|w y - over b s p y| <= weight_near u o k b s p y) (vn : forall y, `|v y - less y| <= less_near y).
Hypotheses (e'w : within u d (sumV w) e') (D'v : within u d (sumV v) D') (e'0 : 0 <= e') (D'0 : 0 <= D').
Theorem greedy_coin_here : (D' != 0 -> rounds (e' / D') h) ->
  (1 - share b s p) * `|clipped h - h_greedy b s p| <= greedy_coin_near.
Proof.
move=> hr; have D0 : 0 <= 1 - share b s p by rewrite subr_ge0 share_le1.
have uE : sumV less = 1 - share b s p by rewrite -underE.
have x0 : 0 <= excess b s p by apply: sumV_ge0 => y; apply: over_ge0.
have hh : (1 - share b s p) * h_greedy b s p = Num.min (excess b s p) (1 - share b s p).
  by rewrite (h_greedyE b1 s1) excessE // /clip addr_minl.
rewrite -{1}(ger0_norm D0) -normrM mulrBr hh; apply: quotient_near hr => //.
  exact: total_here (sumV_le wn) e'w.
by rewrite -uE; apply: total_here (sumV_le vn) D'v.
Qed.
End Step.

(* The whole of greedy block verification on one problem, as in ProblemRounding.v. *)
Section Whole.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma : nat) (c : seq V).
Variables (u o eta lambda : R) (d : nat) (F : R -> R) (B S : seq V -> V -> R).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1) (o0 : 0 <= o) (o1 : o < 1).
Hypothesis decided : forall h, 0 <= h <= 1 -> 0 <= F h <= 1 /\ `|F h - h| <= eta.
Notation g := (g_of Mb Ms c).
Notation kept := (kept_of Mb Ms c).
Notation coin := (coin_of Ms gamma c pred0 kept).
Notation row := (greedy_row Mb Ms gamma c).
Notation stops := (final gamma pred0).
Notation b x := (Mb (c ++ x)).
Notation s x := (Ms (c ++ x)).
Hypotheses (Bb : forall x y, rel o (b x y) (B x y)) (Ss : forall x y, rel o (s x y) (S x y)).
Variables (P : seq V -> R) (w v drawn : seq V -> V -> R) (H : seq V -> R) (kap alpha beta : seq V -> R).
Definition ratios_given : Prop := P [::] = 1 /\ forall x y, exists r t,
  [/\ rounds u (B x y / S x y) r, rounds u (P x * r) t & P (rcons x y) = t].
Definition both_weights_given x : Prop := exists z e f : V -> R, forall y,
  [/\ rounds u (P x * B x y) (z y), rounds u (z y - S x y) (e y), w x y = Num.max (e y) 0,
      rounds u (S x y - z y) (f y) & v x y = Num.max (f y) 0].
Definition quotient_computed x : Prop := exists e D,
  [/\ 0 <= e /\ within u d (sumV (w x)) e, 0 <= D /\ within u d (sumV (v x)) D & D != 0 -> rounds u (e / D) (H x)].
Hypotheses (Pc : ratios_given) (wc : forall x, both_weights_given x) (Hc : forall x, quotient_computed x).
Definition greedy_coin_taken x : R := F (if stops x then Num.min (P x) 1 else clipped (H x)).
Hypotheses (drawn0 : forall x y, 0 <= drawn x y) (drawn1 : forall x, sumV (drawn x) = 1).
Hypothesis drawn_near : forall x, exists r : V -> R,
  [/\ sumV r = 1, forall y, 0 <= r y, total_variation r (drawn x) <= lambda &
      if stops x then forall y, r y * sumV (B x) = B x y else forall y, r y * sumV (w x) = w x y].
Hypotheses (kap0 : forall x, 0 <= kap x) (kap_step : forall x y, survival_error u o (kap x) <= kap (rcons x y)).
Definition greedy_coin_cost x : R := if stops x then kap x * kept x + eta
  else greedy_coin_near u o (kap x) d (b x) (s x) (g x) + (1 - share (b x) (s x) (g x)) * eta.
Definition greedy_row_cost x : R := if stops x then kept x * o else weights_near u o (kap x) (b x) (s x) (g x).
Hypotheses (alpha_ge : forall x, greedy_coin_cost x <= alpha x) (beta_ge : forall x, greedy_row_cost x <= beta x).
Let k01 := kept_range Mb Ms c.
Let kle := @kept_later_le _ _ Mb Ms gamma c.

Lemma ratios_here x : rel (kap x) (g x) (P x) /\ 0 <= P x.
Proof.
case: Pc => P1 Ps; elim/last_ind: x => [|x y [IH P0]].
  by rewrite P1 /g_of /= /rel subrr normr0 mulr1 kap0 ler01.
have [r [t [hr ht ->]]] := Ps x y; have g0 := g_of_ge0 Mb Ms c x.
have [h h0] := ratio_here u0 u1 o0 o1 (kap0 x) (row_ge0 Mb _) (row_ge0 Ms _) (Bb x) (Ss x) g0 P0 IH hr ht.
rewrite g_of_rcons; split=> //; apply: le_trans h _; apply: ler_wpmul2r (kap_step x y).
by rewrite divr_ge0 ?mulr_ge0.
Qed.
Lemma both_here x : [/\ forall y, `|w x y - over (b x) (s x) (g x) y| <= weight_near u o (kap x) (b x) (s x) (g x) y,
  forall y, `|v x y - less (b x) (s x) (g x) y| <= less_near u o (kap x) (b x) (s x) (g x) y & forall y, 0 <= w x y].
Proof.
have [Px _] := ratios_here x; have g0 := g_of_ge0 Mb Ms c x; have [z [e [f we]]] := wc x.
split=> y; have [hz he wE hf vE] := we y; rewrite ?wE ?vE.
- exact: (weight_here u0 u1 o0 (kap0 x) (row_ge0 Mb _) (row_ge0 Ms _) (Bb x) (Ss x) g0 Px hz he).
- exact: (less_here u0 u1 o0 (kap0 x) (row_ge0 Mb _) (row_ge0 Ms _) (Bb x) (Ss x) g0 Px hz hf).
by rewrite le_maxr lexx orbT.
Qed.
Lemma greedy_taken_near x : none Ms gamma c pred0 kept x * `|greedy_coin_taken x - coin x| <= alpha x.
Proof.
apply: le_trans (alpha_ge x).
have [Px P0] := ratios_here x; have [wn vn w0] := both_here x; have /andP[n0 n1] := none_range k01 kle x.
set h := if stops x then Num.min (P x) 1 else clipped (H x).
have h01 : 0 <= h <= 1.
  by rewrite /h; case: ifP => // _; [rewrite le_minr P0 ler01 le_minl lexx orbT | apply: clipped_range].
have [_ hF] := decided h01; rewrite /greedy_coin_taken -/h.
have -> : F h - coin x = (h - coin x) + (F h - h) by ring.
apply: le_trans (ler_wpmul2l n0 (ler_norm_add _ _)) _; rewrite mulrDr /greedy_coin_cost.
move: n0 hF; rewrite /h coin_greedy /none; case: ifP => f n0 hF.
  by rewrite !mul1r; apply: ler_add => //; apply: rel_min (kap0 x) (g_of_ge0 Mb Ms c x) P0 Px.
rewrite kept_later in n0 *; have [e' [D [[e'0 e'w] [D0 Dv] Hr]]] := Hc x.
apply: ler_add; last exact: ler_wpmul2l.
exact: (greedy_coin_here u0 u1 (row_sum Mb _) (row_sum Ms _) wn vn e'w Dv e'0 D0 Hr).
Qed.
Lemma greedy_drawn_here x : ending Ms gamma c pred0 kept x * total_variation (row x) (drawn x)
  <= beta x + ending Ms gamma c pred0 kept x * lambda.
Proof.
have [r [r1 r0 rl re]] := drawn_near x; have e0 := ending_ge0 k01 kle x; have [wn _ w0] := both_here x.
apply: le_trans (ler_wpmul2l e0 (tv_triangle (row x) r (drawn x))) _; rewrite mulrDr; apply: ler_add; last exact: ler_wpmul2l.
apply: le_trans (beta_ge x); move: re e0; rewrite /greedy_row_cost /ending /greedy_row; case: (boolP (stops x)) => f re e0.
  by apply: ler_wpmul2l => //; apply: (given_row_near Bb r1 r0 re).
rewrite kept_later in e0 *; apply: le_trans (row_here wn re r1 r0); apply: ler_wpmul2r.
  by rewrite /total_variation divr_ge0 ?ler0n // sumV_ge0.
by rewrite excessE ?row_sum // ler_add2r /kept_of /clip le_minl lexx.
Qed.

Theorem greedy_rounding (U : seq V -> V -> R) : (forall x y, 0 <= U x y <= 1) ->
  `|draft Ms c pred0 gamma [::] (fun X => sub_verify greedy_coin_taken drawn X U)
    - gen Ms gamma c (fun X => greedy_verify Mb Ms c X U)|
  <= below Ms c pred0 alpha gamma [::] + (beta [::] + below Ms c pred0 beta gamma [::]) + lambda.
Proof.
move=> U01; have -> : gen Ms gamma c (fun X => greedy_verify Mb Ms c X U)
    = draft Ms c pred0 gamma [::] (fun X => sub_verify coin row X U).
  by rewrite -greedy_sub draft_gen cats0; apply: gen_eq => X hX; rewrite /greedy_verify hX.
have c01 x : 0 <= greedy_coin_taken x <= 1.
  have [_ P0] := ratios_here x; rewrite /greedy_coin_taken; set h := if _ then _ else _.
  have h01 : 0 <= h <= 1; last by case: (decided h01).
  by rewrite /h; case: ifP => // _; [rewrite le_minr P0 ler01 le_minl lexx orbT | apply: clipped_range].
apply: le_trans (@near_law_rows _ _ Ms gamma c pred0 kept (kept_nil Mb Ms c) k01 kle greedy_coin_taken row drawn alpha
  (fun x => beta x + ending Ms gamma c pred0 kept x * lambda) U c01 _ drawn0 drawn1 _ _ U01) _ => // [x|x _|x _|].
- exact: greedy_row_sum.
- exact: greedy_taken_near.
- exact: greedy_drawn_here.
have be := @below_ending V R Ms gamma c pred0 kept gamma [::] lambda (add0n gamma); rewrite [kept [::] in RHS]kept_nil mul1r in be.
by rewrite belowD [in X in _ <= X]addrAC -[X in _ <= X]addrA ler_add2l addrACA be addrC.
Qed.
End Whole.
