From mathcomp Require Import all_ssreflect ssralg ssrnum zify.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Algorithms Block Precision.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

(* One step of block verification in floating point; Rounding.v has the whole.  The standard model is
   the one assumption, named where it is used: each operation gives its exact result times 1 + e with
   |e| <= u (rounds), and min, max and comparisons are exact.  No word of overflow and underflow. *)

Section StandardModel.
Variables (R : realFieldType) (u : R).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1).
Implicit Types (x z k d : R).
Definition rounds x x' : Prop := `|x' - x| <= u * `|x|.
(* n operations in a row: a relative error of at most (1 + u)^n - 1. *)
Definition growth n : R := (1 + u) ^+ n - 1.
Definition within n z z' : Prop := `|z' - z| <= growth n * z.

Lemma growth0 : growth 0 = 0. Proof. by rewrite /growth expr0 subrr. Qed.
Lemma growth_ge0 n : 0 <= growth n.
Proof. by rewrite subr_ge0 exprn_ege1 // ler_addl. Qed.
Lemma growthD m n : growth (m + n) = growth m + growth n * (1 + growth m).
Proof. by rewrite /growth exprD; ring. Qed.
Lemma growth1 : growth 1 = u. Proof. by rewrite /growth expr1 addrAC subrr add0r. Qed.
Lemma growth_mono m n : (m <= n)%N -> growth m <= growth n.
Proof. by move=> le; rewrite ler_add2r ler_weexpn2l // ler_addl. Qed.
Lemma within_range n z z' : within n z z' -> z' <= (1 + growth n) * z.
Proof. by move=> w; rewrite mulrDl mul1r -ler_subl_addl; apply: le_trans (ler_norm _) w. Qed.
Lemma within_trans m n z z' z'' : 0 <= z' -> within m z z' -> within n z' z'' -> within (m + n) z z''.
Proof.
move=> z0 w w'; rewrite /within growthD; have -> : z'' - z = (z' - z) + (z'' - z') by ring.
apply: le_trans (ler_norm_add _ _) _; rewrite mulrDl; apply: ler_add => //.
apply: le_trans w' _; rewrite -mulrA; apply: ler_wpmul2l; [exact: growth_ge0 | exact: within_range].
Qed.
Lemma rounds_within x x' : 0 <= x -> rounds x x' -> within 1 x x'.
Proof. by move=> x0; rewrite /rounds /within growth1 (ger0_norm x0). Qed.
Lemma rounds_ge0 x x' : 0 <= x -> rounds x x' -> 0 <= x'.
Proof.
move=> x0; rewrite /rounds (ger0_norm x0) ler_norml => /andP[l _].
have : - (u * x) + x <= x' by rewrite -ler_subr_addr.
by apply: le_trans; rewrite addrC -{1}[x]mul1r -mulrBl mulr_ge0 // subr_ge0.
Qed.
Lemma within_scale n z z' k : 0 <= k -> within n z z' -> within n (z * k) (z' * k).
Proof.
move=> k0 w; rewrite /within -mulrBl normrM (ger0_norm k0) mulrA; exact: ler_wpmul2r.
Qed.
Lemma min1_near x x' : `|Num.min x' 1 - Num.min x 1| <= `|x' - x|.
Proof.
have [a|a] := leP x' 1; have [b|b] := leP x 1; rewrite ?subrr ?normr0 //.
- by rewrite ler0_norm ?subr_le0 // opprB distrC; apply: le_trans (ler_norm _); rewrite ler_add2r ltW.
- by rewrite ger0_norm ?subr_ge0 //; apply: le_trans (ler_norm _); rewrite ler_add2r ltW.
Qed.
Lemma max0_near x x' : `|Num.max x' 0 - Num.max x 0| <= `|x' - x|.
Proof.
have [a|a] := leP x' 0; have [b|b] := leP x 0; rewrite ?subrr ?normr0 ?subr0 //.
- by rewrite sub0r normrN gtr0_norm // distrC; apply: le_trans (ler_norm _); rewrite ler_subr_addr ger_addl.
- by rewrite gtr0_norm //; apply: le_trans (ler_norm _); rewrite ler_subr_addr ger_addl.
Qed.
Lemma within_min n a a' : 0 <= a' -> within n a a' -> within n (Num.min a 1) (Num.min a' 1).
Proof.
move=> a0 w; have [le|gt] := leP a 1.
  by rewrite /within; apply: le_trans w; have := min1_near a a'; rewrite (min_l le).
rewrite /within mulr1; have [ge|lt] := leP 1 a'; first by rewrite subrr normr0 growth_ge0.
rewrite ler0_norm ?subr_le0 ?(ltW lt) // opprB.
have g0 := growth_ge0 n; have [big|small] := leP 1 (growth n).
  by apply: le_trans big; rewrite ler_subl_addr ler_addl.
move: w; rewrite /within ler_norml => /andP[l _].
have h : (1 - growth n) * a <= a' by rewrite mulrBl mul1r addrC -ler_subr_addr.
rewrite ler_subl_addr -ler_subl_addl; apply: le_trans h.
by rewrite ler_pmulr ?subr_gt0 // ltW.
Qed.

Definition clipped (h : R) : R := Num.min (Num.max h 0) 1.
Lemma clipped_range h : 0 <= clipped h <= 1.
Proof. by rewrite /clipped le_minr le_maxr lexx orbT ler01 /= le_minl lexx orbT. Qed.
(* The coin e / (e + 1 - P), for the exact x / (x + 1 - p).  One sum e stands above and below: an error of it counts by
   1 - t, t the coin, one of P by t, and both together no more than the larger.  Where D' is 0 any value will do. *)
Definition shift_rounded e P : R := u * (e + 1) + u * (e + 1 - P + u * (e + 1)).
Lemma coin_shared x p e P a' D' h : 0 <= x + 1 - p -> 0 <= e -> 0 <= P <= 1 ->
  rounds (e + 1) a' -> rounds (a' - P) D' -> (D' != 0 -> rounds (e / D') h) ->
  exists t, [/\ 0 <= t <= 1, 0 < D' -> t = Num.min (e / D') 1, `|D' - (e + 1 - P)| <= shift_rounded e P &
    `|(x + 1 - p) * clipped h - x| <= (1 - t) * `|e - x| + t * `|P - p|
      + (if 0 < D' then t else 1) * shift_rounded e P + u * t * (x + 1 - p)].
Proof.
move=> D0 e0 /andP[P0 P1] ar Dr hr; set D := x + 1 - p; set S := e + 1 - P; set n := shift_rounded e P.
have e1 : 0 <= e + 1 by rewrite addr_ge0 ?ler01.
have S0 : 0 <= S by rewrite /S -addrA addr_ge0 // subr_ge0.
have eS : e <= S by rewrite /S -addrA ler_addl subr_ge0.
have nD : `|D' - S| <= n.
  have aS : `|a' - P - S| <= u * (e + 1).
    have -> : a' - P - S = a' - (e + 1) by rewrite /S; ring.
    by have := ar; rewrite /rounds (ger0_norm e1).
  have -> : D' - S = (a' - P - S) + (D' - (a' - P)) by ring.
  apply: le_trans (ler_norm_add _ _) _; apply: ler_add => //.
  apply: le_trans Dr _; apply: ler_wpmul2l => //; have -> : a' - P = S + (a' - P - S) by ring.
  by apply: le_trans (ler_norm_add _ _) _; rewrite (ger0_norm S0) ler_add2l.
have n0 : 0 <= n := le_trans (normr_ge0 _) nD.
(* For any t: what S t is off e, and the two errors by their shares. *)
have split t : 0 <= t <= 1 -> `|D * t - x| <= `|S * t - e| + ((1 - t) * `|e - x| + t * `|P - p|).
  move=> /andP[t0 t1]; have -> : D * t - x = (S * t - e) + ((1 - t) * (e - x) + t * (P - p)) by rewrite /D /S; ring.
  apply: le_trans (ler_norm_add _ _) _; rewrite ler_add2l; apply: le_trans (ler_norm_add _ _) _.
  by rewrite !normrM (ger0_norm t0) (ger0_norm (_ : 0 <= 1 - t)) ?subr_ge0.
have [Dneg|Dpos] := leP D' 0.
  have /andP[c0 c1] := clipped_range h; exists (clipped h); split=> //; first exact: clipped_range.
  apply: le_trans (split _ (clipped_range h)) _; rewrite mul1r addrC -[X in _ <= X]addrA; apply: ler_add => //.
  apply: ler_paddr; first by rewrite mulr_ge0 // mulr_ge0.
  apply: le_trans (_ : S <= n).
    rewrite ler_norml ler_subr_addr ler_subl_addr; apply/andP; split.
      by rewrite addrC; apply: le_trans (_ : 0 <= _); rewrite ?subr_le0 ?mulr_ge0.
    by apply: le_trans (ler_pimulr S0 c1) _; rewrite ler_addl.
  by apply: le_trans nD; rewrite distrC; apply: le_trans (ler_norm _); rewrite ler_subr_addl addrC ler_naddr.
have e0D : 0 <= e / D' by rewrite divr_ge0 // ltW.
pose t := Num.min (e / D') 1.
have t01 : 0 <= t <= 1 by rewrite /t le_minr e0D ler01 le_minl lexx orbT.
have [t0 t1] := andP t01; exists t; split=> //.
have ht : `|clipped h - t| <= u * t.
  have hw := rounds_within e0D (hr (lt0r_neq0 Dpos)).
  have h0 := rounds_ge0 e0D (hr (lt0r_neq0 Dpos)).
  by rewrite /clipped (max_l h0); have := within_min h0 hw; rewrite /within growth1.
have St : `|S * t - e| <= t * n.
  have [le|gt] := leP (e / D') 1.
    have tE : t = e / D' by rewrite /t min_l.
    have eE : e = t * D' by rewrite tE divfK ?lt0r_neq0.
    have -> : S * t - e = - (t * (D' - S)) by rewrite {1}eE; ring.
    by rewrite normrN normrM (ger0_norm t0); apply: ler_wpmul2l.
  have tE : t = 1 by rewrite /t min_r // ltW.
  rewrite tE mulr1 mul1r ger0_norm ?subr_ge0 //.
  have De : D' <= e by move: gt; rewrite ltr_pdivl_mulr // mul1r => /ltW.
  apply: le_trans (_ : S - D' <= _); first by rewrite ler_add2l ler_opp2.
  by apply: le_trans nD; rewrite distrC; apply: ler_norm.
have -> : D * clipped h - x = (D * t - x) + D * (clipped h - t) by ring.
apply: le_trans (ler_norm_add _ _) _; apply: ler_add.
  by apply: le_trans (split _ t01) _; rewrite addrC ler_add2l.
by rewrite normrM (ger0_norm D0) [u * t * D]mulrC; apply: ler_wpmul2l.
Qed.

(* Sums in any order: n is the depth of the tree of additions.  In order it is the number of terms less
   one, pairwise its logarithm. *)
Inductive sum_tree := Term of R | Plus of sum_tree & sum_tree.
Fixpoint depth t := if t is Plus a b then (maxn (depth a) (depth b)).+1 else 0%N.
Fixpoint total t := match t with Term x => x | Plus a b => total a + total b end.
Fixpoint nonneg t : Prop := match t with Term x => 0 <= x | Plus a b => nonneg a /\ nonneg b end.
Fixpoint added t (v : R) : Prop := match t with
  | Term x => v = x
  | Plus a b => exists va vb, [/\ added a va, added b vb & rounds (va + vb) v]
  end.
Theorem sum_near t v : nonneg t -> added t v -> [/\ 0 <= total t, 0 <= v & within (depth t) (total t) v].
Proof.
elim: t v => [x|a IHa b IHb] v /=.
  by move=> x0 ->; split=> //; rewrite /within subrr normr0 growth0 mul0r.
move=> [na nb] [va [vb [/(IHa _ na) [a0 va0 wa] /(IHb _ nb) [b0 vb0 wb] r]]].
have s0 : 0 <= va + vb by apply: addr_ge0.
split; [exact: addr_ge0 | exact: rounds_ge0 r | ].
rewrite -addn1; apply: within_trans (s0) _ (rounds_within s0 r).
rewrite /within; have -> : va + vb - (total a + total b) = (va - total a) + (vb - total b) by ring.
apply: le_trans (ler_norm_add _ _) _; rewrite mulrDr; apply: ler_add.
  by apply: le_trans wa _; apply: ler_wpmul2r => //; apply: growth_mono; apply: leq_maxl.
by apply: le_trans wb _; apply: ler_wpmul2r => //; apply: growth_mono; apply: leq_maxr.
Qed.
Fixpoint in_order t (s : seq R) := if s is x :: s' then in_order (Plus t (Term x)) s' else t.
Lemma depth_in_order t s : depth (in_order t s) = (depth t + size s)%N.
Proof. by elim: s t => [|x s IH] t /=; rewrite ?addn0 // IH /= maxn0 addSnnS. Qed.
Fixpoint pairwise n (f : nat -> R) := if n is n'.+1
  then Plus (pairwise n' f) (pairwise n' (fun i => f (2 ^ n' + i)%N)) else Term (f 0%N).
Lemma depth_pairwise n f : depth (pairwise n f) = n.
Proof. by elim: n f => //= n IH f; rewrite !IH maxnn. Qed.
End StandardModel.

(* One step: rows b and s, p the exact survival of the prefix and p' the computed one. *)
Section Step.
Variables (V : vocabulary) (R : realFieldType) (u : R) (b s : V -> R) (p p' : R) (k d : nat).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1).
Hypotheses (b0 : forall y, 0 <= b y) (s0 : forall y, 0 <= s y) (b1 : sumV b = 1) (s1 : sumV s = 1).
Hypotheses (p01 : 0 <= p <= 1) (p'0 : 0 <= p' <= 1) (pw : within u k p p').
Notation rounds := (rounds u).
Notation growth := (growth u).
Notation within := (within u).
Let p0 : 0 <= p. Proof. by case/andP: p01. Qed.
Let p'ge0 : 0 <= p'. Proof. by case/andP: p'0. Qed.

Lemma share_ge0 : 0 <= share b s p.
Proof. by apply: sumV_ge0 => y; rewrite le_minr s0 mulr_ge0. Qed.

(* The next survival: the ratio, the product, the minimum. *)
Theorem survival_near y r t : rounds (b y / s y) r -> rounds (p' * r) t -> 
  within (k + 2) (next_p b s p y) (Num.min t 1) /\ 0 <= Num.min t 1 <= 1.
Proof.
move=> hr ht; have ra : 0 <= b y / s y by apply: divr_ge0.
have rr := rounds_ge0 u1 ra hr; have pr : 0 <= p' * r by apply: mulr_ge0.
have t0 := rounds_ge0 u1 pr ht.
split; last by rewrite le_minr t0 ler01 le_minl lexx orbT.
apply: within_min => //; rewrite addn2 -addn1; apply: within_trans (pr) _ (rounds_within pr ht) => //.
rewrite -addn1; apply: (@within_trans _ _ u0 _ _ _ (p' * (b y / s y))); first exact: mulr_ge0.
  by rewrite -mulrA; apply: within_scale.
by rewrite [p' * _]mulrC [p' * r]mulrC; apply: within_scale => //; apply: rounds_within.
Qed.

(* The residual's weights, each two operations more. *)
Variables (w : V -> R) (z e : V -> R).
Hypotheses (zr : forall y, rounds (p' * b y) (z y)) (er : forall y, rounds (z y - s y) (e y)).
Hypothesis wE : forall y, w y = Num.max (e y) 0.
Lemma weight_ge0 y : 0 <= w y. Proof. by rewrite wE le_maxr lexx orbT. Qed.
Lemma weight_near y : `|w y - over b s p y| <= growth (k + 2) * (p * b y).
Proof.
have pb : 0 <= p' * b y by apply: mulr_ge0.
have z0 := rounds_ge0 u1 pb (zr y).
have zw : within (k + 1) (p * b y) (z y).
  by apply: within_trans (pb) _ (rounds_within pb (zr y)) => //; apply: within_scale.
have -> : w y - over b s p y = (w y - Num.max (z y - s y) 0) + (Num.max (z y - s y) 0 - over b s p y) by ring.
apply: le_trans (ler_norm_add _ _) _.
have -> : growth (k + 2) * (p * b y) = u * ((1 + growth (k + 1)) * (p * b y)) + growth (k + 1) * (p * b y).
  by rewrite addn2 -addn1 growthD growth1 [(k + 1)%N]addn1; ring.
apply: ler_add; last first.
  apply: le_trans zw; apply: le_trans (max0_near _ _) _.
  by have -> : z y - s y - (p * b y - s y) = z y - p * b y by ring.
apply: le_trans (_ : u * z y <= _); last by apply: ler_wpmul2l => //; apply: within_range.
rewrite wE; have [neg|pos] := leP (z y - s y) 0.
  have : e y <= 0.
    have := er y; rewrite /rounds (ler0_norm neg) => /(le_trans (ler_norm _)).
    rewrite ler_subl_addr mulrN => /le_trans; apply.
    by rewrite addrC -{1}[z y - s y]mul1r -mulrBl mulr_ge0_le0 // subr_ge0.
  by move=> e0; rewrite (max_r e0) subrr normr0 mulr_ge0.
apply: le_trans (_ : `|e y - (z y - s y)| <= _).
  by have := max0_near (z y - s y) (e y); rewrite (max_l (ltW pos)).
apply: le_trans (er y) _; rewrite (ger0_norm (ltW pos)); apply: ler_wpmul2l => //.
by rewrite ler_subl_addr ler_addl.
Qed.
Lemma weights_near : sumV (fun y => `|w y - over b s p y|) <= growth (k + 2) * p.
Proof.
apply: le_trans (sumV_le weight_near) _.
by rewrite (sumV_eq (fun y => mulrA _ _ _)) sumVZ b1 mulr1.
Qed.
Lemma weights_sum : `|sumV w - excess b s p| <= growth (k + 2) * p.
Proof. by rewrite /excess -sumVB; apply: le_trans (sumV_norm _) weights_near. Qed.

(* What a row drawn exactly by the computed weights costs, times how often it is drawn. *)
Theorem row_near (r : V -> R) : (forall y, r y * sumV w = w y) -> sumV r = 1 -> (forall y, 0 <= r y) ->
  excess b s p * total_variation (residual b s p) r <= growth (k + 2).
Proof.
move=> rw r1 r0; have e0 : 0 <= excess b s p by apply: sumV_ge0 => y; apply: over_ge0.
have g0 : 0 <= growth (k + 2) := growth_ge0 u0 _.
have p1 : p <= 1 by case/andP: p01.
have gp : growth (k + 2) * p <= growth (k + 2) by rewrite ler_pimulr.
have [z0|nz] := eqVneq (excess b s p) 0; first by rewrite z0 mul0r.
rewrite /total_variation mulrA -sumVZ ler_pdivr_mulr ?ltr0n //.
apply: le_trans (_ : sumV (fun y => `|w y - over b s p y| + r y * `|sumV w - excess b s p|) <= _); last first.
  rewrite sumVD sumVZr r1 mul1r mulr_natr mulr2n; apply: ler_add; [exact: le_trans weights_near gp | exact: le_trans weights_sum gp].
apply: sumV_le => y; rewrite -{1}(ger0_norm e0) -normrM.
have -> : excess b s p * (r y - residual b s p y) = (w y - over b s p y) - r y * (sumV w - excess b s p).
  by rewrite /residual (negPf nz) -(rw y) mulrBr [excess b s p * (_ / _)]mulrC divfK //; ring.
by apply: le_trans (ler_norm_sub _ _) _; rewrite normrM (ger0_norm (r0 y)).
Qed.

(* The coin: e' the computed sum of the weights, then (e' + 1) - p' and the quotient. *)
Variables (e' a' D' : R).
Hypotheses (e'w : within d (sumV w) e') (e'0 : 0 <= e').
Hypotheses (ar : rounds (e' + 1) a') (Dr : rounds (a' - p') D').
Definition coin_error : R := growth (k + 2) * (1 + growth d) + u * (2%:R + u) * (2%:R + growth (k + 2 + d)) + u.
Notation g := (growth (k + 2 + d)).
Lemma sum_near_excess : `|e' - excess b s p| <= growth (k + 2) * (1 + growth d) * p + growth d * excess b s p.
Proof.
have -> : e' - excess b s p = (sumV w - excess b s p) + (e' - sumV w) by ring.
apply: le_trans (ler_norm_add _ _) _.
have -> : growth (k + 2) * (1 + growth d) * p + growth d * excess b s p
  = growth (k + 2) * p + growth d * (excess b s p + growth (k + 2) * p) by ring.
apply: ler_add; first exact: weights_sum.
apply: le_trans e'w _; apply: ler_wpmul2l; first exact: growth_ge0.
by have := le_trans (ler_norm _) weights_sum; rewrite ler_subl_addr addrC.
Qed.
(* Where D' is 0 any value will do.  What the sum is off counts with what is summed. *)
Theorem coin_near h : (D' != 0 -> rounds (e' / D') h) ->
  (1 - share b s p) * `|clipped h - h_block b s p| <= coin_error + growth d * excess b s p.
Proof.
move=> hr; set D := 1 - share b s p; set x := excess b s p.
have p1 : p <= 1 by case/andP: p01.
have x0 : 0 <= x by apply: sumV_ge0 => y; apply: over_ge0.
have xp : x <= p by rewrite /x excessE // ler_subl_addr ler_addl; apply: share_ge0.
have D1 : D <= 1 by rewrite ler_subl_addr ler_addl; apply: share_ge0.
have DE : D = x + 1 - p by rewrite /x excessE // /D; ring.
have D0 : 0 <= D by rewrite DE -addrA addr_ge0 // subr_ge0.
have hx : D * h_block b s p = x by rewrite /x excessE //; apply: h_blockE.
have gd0 : 0 <= growth d := growth_ge0 u0 _; have gk0 : 0 <= growth (k + 2) := growth_ge0 u0 _.
have nx := sum_near_excess; rewrite -/x in nx; set N := _ + growth d * x in nx.
have N1 : N <= growth (k + 2) * (1 + growth d) + growth d * x.
  by rewrite ler_add2r ler_pimulr // mulr_ge0 // addr_ge0 ?ler01.
have e1 : e' + 1 <= 2%:R + g.
  have := le_trans (ler_norm _) nx; rewrite ler_subl_addr => /le_trans le.
  have -> : 2%:R + g = growth (k + 2) * (1 + growth d) + growth d + 1 + 1.
    by rewrite growthD -[2%:R]/(1 + 1); ring.
  rewrite ler_add2r; apply: le; apply: ler_add; last exact: le_trans xp _.
  by apply: le_trans N1 _; rewrite ler_add2l ler_pimulr // (le_trans xp).
have Dx : 0 <= x + 1 - p by rewrite -DE.
have [t [/andP[t0 t1] _ nD]] := coin_shared u0 u1 Dx e'0 p'0 ar Dr hr.
rewrite -DE => le; rewrite -{1}(ger0_norm D0) -normrM mulrBr hx; apply: le_trans le _.
have n0 : 0 <= shift_rounded u e' p' := le_trans (normr_ge0 _) nD.
have n1 : shift_rounded u e' p' <= u * (2%:R + u) * (2%:R + g).
  have -> : u * (2%:R + u) * (2%:R + g) = u * (2%:R + g) + u * ((2%:R + g) + u * (2%:R + g)) by rewrite -[2%:R]/(1 + 1); ring.
  have ue : u * (e' + 1) <= u * (2%:R + g) by apply: ler_wpmul2l.
  apply: ler_add => //; apply: ler_wpmul2l => //; apply: ler_add => //.
  by apply: le_trans e1; rewrite ler_subl_addr ler_addl; case/andP: p'0.
have kp : `|p' - p| <= N.
  apply: le_trans pw _; apply: ler_paddr; first exact: mulr_ge0.
  apply: ler_wpmul2r => //; apply: le_trans (_ : growth (k + 2) <= _); last by rewrite ler_pemulr // ler_addl.
  by apply: growth_mono => //; apply: leq_addr.
have -> : coin_error + growth d * x
  = growth (k + 2) * (1 + growth d) + growth d * x + u * (2%:R + u) * (2%:R + g) + u by rewrite /coin_error; ring.
apply: ler_add; first apply: ler_add.
- apply: le_trans N1; have -> : N = (1 - t) * N + t * N by ring.
  by apply: ler_add; apply: ler_wpmul2l => //; rewrite subr_ge0.
- by apply: le_trans n1; rewrite ler_pimull //; case: ifP.
- rewrite -mulrA ler_pimulr //; apply: le_trans t1; apply: ler_pimulr => //.
Qed.
End Step.

(* Block verification computed in floating point, under the standard model of Rounding.v. *)

(* The whole of block verification: survivals, coins and weights computed for every prefix, coins decided
   by F (exactly, or on a lattice), the last token drawn from a row within lambda of the computed weights. *)
Section Whole.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma : nat) (c : seq V) (ends : pred (seq V)).
Variables (u eta lambda : R) (d : nat) (F : R -> R).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1).
Hypothesis decided : forall h, 0 <= h <= 1 -> 0 <= F h <= 1 /\ `|F h - h| <= eta.
Notation p := (p_of Mb Ms c).
Notation coin := (coin_of Ms gamma c ends p).
Notation row := (row_of Mb Ms gamma c ends p).
Notation stops := (final gamma ends).
Notation b x := (Mb (c ++ x)).
Notation s x := (Ms (c ++ x)).
Variables (P : seq V -> R) (w drawn : seq V -> V -> R) (H : seq V -> R).

(* The standard model, at every prefix: the survivals P, the weights w, the coins H. *)
Definition survivals_computed : Prop := P [::] = 1 /\ forall x y, exists r t,
  [/\ rounds u (b x y / s x y) r, rounds u (P x * r) t & P (rcons x y) = Num.min t 1].
Definition weights_computed x : Prop := exists z e : V -> R, forall y,
  [/\ rounds u (P x * b x y) (z y), rounds u (z y - s x y) (e y) & w x y = Num.max (e y) 0].
Definition coin_computed x : Prop := exists e a D,
  [/\ 0 <= e /\ within u d (sumV (w x)) e, rounds u (e + 1) a, rounds u (a - P x) D & D != 0 -> rounds u (e / D) (H x)].
Hypotheses (Pc : survivals_computed) (wc : forall x, weights_computed x) (Hc : forall x, coin_computed x).
Definition coin_used x : R := F (if stops x then P x else clipped (H x)).
Hypotheses (drawn0 : forall x y, 0 <= drawn x y) (drawn1 : forall x, sumV (drawn x) = 1).
(* The last token: from a row within lambda of one that is drawn exactly by the weights; at the end of the
   draft, of the large model's. *)
Hypothesis drawn_near : forall x, exists r : V -> R,
  [/\ sumV r = 1, forall y, 0 <= r y, total_variation r (drawn x) <= lambda &
      if stops x then r =1 b x else forall y, r y * sumV (w x) = w x y].

Lemma survivals_near x : within u (2 * size x) (p x) (P x) /\ 0 <= P x <= 1.
Proof.
case: Pc => P1 Ps; elim/last_ind: x => [|x y [IH P01]].
  by rewrite P1 /p_of /= /within subrr normr0 growth0 mul0r lexx ler01 lexx.
have [r [t [hr ht ->]]] := Ps x y.
have := survival_near u0 u1 (row_ge0 Mb _) (row_ge0 Ms _) P01 IH hr ht.
by rewrite size_rcons mulnS addnC p_of_rcons.
Qed.
Lemma tv_triangle (r r' r'' : V -> R) : total_variation r r'' <= total_variation r r' + total_variation r' r''.
Proof.
rewrite /total_variation -mulrDl ler_pmul2r ?invr_gt0 ?ltr0n // -sumVD; apply: sumV_le => y.
have -> : r'' y - r y = (r'' y - r' y) + (r' y - r y) by ring.
by rewrite addrC; apply: ler_norm_add.
Qed.
Definition coin_bound i : R := (if (i < gamma)%N then coin_error u (2 * i) d else growth u (2 * i)) + eta.
Definition row_bound i : R := growth u (2 * i + 2).
Let ple : forall x, ~~ stops x -> later Ms c p x <= p x := q_later (fun x y _ => p_of_le Mb Ms c x y).
Let p01 := p_of_range Mb Ms c.
Let coin_error_ge k : growth u k <= coin_error u k d.
Proof.
have g0 n : 0 <= growth u n := growth_ge0 u0 n; have t0 : 0 <= 2%:R :> R := ler0n _ _.
apply: ler_paddr u0 _; apply: ler_paddr.
  by apply: mulr_ge0; [apply: mulr_ge0 | apply: addr_ge0]; rewrite // addr_ge0.
apply: le_trans (_ : growth u (k + 2) <= _); first by apply: growth_mono => //; apply: leq_addr.
by rewrite ler_pemulr // ler_addl.
Qed.

Lemma used_near x : (size x <= gamma)%N -> none Ms gamma c ends p x * `|coin_used x - coin x|
  <= coin_bound (size x) + (if stops x then 0 else ending Ms gamma c ends p x * growth u d).
Proof.
move=> le.
have [Pw P01] := survivals_near x; have /andP[n0 n1] := none_range p01 ple x.
have ge := coin_error_ge (2 * size x).
set h := if stops x then P x else clipped (H x); have h01 : 0 <= h <= 1 by rewrite /h; case: ifP => // _; apply: clipped_range.
have [_ hF] := decided h01; rewrite /coin_used -/h.
have -> : F h - coin x = (F h - h) + (h - coin x) by ring.
apply: le_trans (ler_wpmul2l n0 (ler_norm_add _ _)) _; rewrite mulrDr addrC /coin_bound [X in _ <= X]addrAC; apply: ler_add; last first.
  by apply: le_trans hF; rewrite ler_pimull.
rewrite /h coin_block /none /ending; case: ifP => f.
  rewrite mul1r addr0; apply: le_trans Pw _; apply: le_trans (_ : growth u (2 * size x) <= _); last by case: ifP.
  by rewrite ler_pimulr ?growth_ge0 //; case/andP: (p01 x).
rewrite later_share -excessE ?row_sum // [_ * growth u d]mulrC; have [z [e we]] := wc x.
have [e' [a [D [[e'0 e'w] ar Dr Hr]]]] := Hc x.
have -> : (size x < gamma)%N by move/negbT: f; rewrite /final negb_or -ltnNge => /andP[].
have zr y : rounds u (P x * b x y) (z y) by case: (we y).
have er y : rounds u (z y - s x y) (e y) by case: (we y).
have wE y : w x y = Num.max (e y) 0 by case: (we y).
exact: (coin_near u0 u1 (row_ge0 Mb _) (row_ge0 Ms _) (row_sum Mb _) (p01 x) P01 Pw zr er wE e'w e'0 ar Dr Hr).
Qed.
Lemma drawn_row_near x : ending Ms gamma c ends p x * total_variation (row x) (drawn x)
  <= (if (size x < gamma)%N then row_bound (size x) else 0) + ending Ms gamma c ends p x * lambda.
Proof.
have [r [r1 r0 rl re]] := drawn_near x; have e0 := ending_ge0 p01 ple x.
have [Pw P01] := survivals_near x.
apply: le_trans (ler_wpmul2l e0 (tv_triangle (row x) r (drawn x))) _; rewrite mulrDr; apply: ler_add; last exact: ler_wpmul2l.
have nn : 0 <= (if (size x < gamma)%N then row_bound (size x) else 0) by case: ifP => // _; apply: growth_ge0.
move: re; case: (boolP (stops x)) => f re.
  have -> : total_variation (row x) r = 0; last by rewrite mulr0.
  rewrite /total_variation (sumV_eq (g := fun=> 0)) ?sumV0 ?mul0r // => y.
  by rewrite row_block f re subrr normr0.
have lt : (size x < gamma)%N by move: f; rewrite /final negb_or -ltnNge => /andP[].
rewrite lt /ending (negPf f) later_share -excessE ?row_sum //.
have [z [e we]] := wc x.
have -> : total_variation (row x) r = total_variation (residual (b x) (s x) (p x)) r.
  by rewrite /total_variation; congr (_ / _); apply: sumV_eq => y; rewrite row_block (negPf f).
have zr y : rounds u (P x * b x y) (z y) by case: (we y).
have er y : rounds u (z y - s x y) (e y) by case: (we y).
have wE y : w x y = Num.max (e y) 0 by case: (we y).
exact: (row_near u0 u1 (row_ge0 Mb _) (row_ge0 Ms _) (row_sum Mb _) (p01 x) P01 Pw zr er wE re r1 r0).
Qed.

(* The bound in gamma, the depth d of the sums and u; to first order d u if gamma > 1, and 2 gamma^2 u + 9 gamma u.  What sums
   are off counts once, however many there are: one prefix is kept. *)
Theorem block_rounding (U : seq V -> V -> R) : (forall x y, 0 <= U x y <= 1) ->
  `|draft Ms c ends gamma [::] (fun X => sub_verify coin_used drawn X U)
    - draft Ms c ends gamma [::] (fun X => block_verify Mb Ms c X U)|
  <= \sum_(i < gamma) coin_bound i.+1 + (if (1 < gamma)%N then growth u d else 0) + \sum_(i < gamma) row_bound i + lambda.
Proof.
move=> U01; have -> : draft Ms c ends gamma [::] (fun X => block_verify Mb Ms c X U)
    = draft Ms c ends gamma [::] (fun X => sub_verify coin row X U).
  by have := @block_loop_sub _ _ Mb Ms gamma c ends U gamma [::] [::]; apply; [|left].
have -> : \sum_(i < gamma) row_bound i = \sum_(i < gamma.+1) (if (i < gamma)%N then row_bound i else 0).
  by rewrite big_ord_recr /= ltnn addr0; apply: eq_bigr => i _; rewrite ltn_ord.
apply: (@near_law_kept _ _ Mb Ms gamma c ends p _ p01 ple coin_used drawn (fun i => coin_bound i)
  (fun i => if (i < gamma)%N then row_bound i else 0) (growth u d) lambda U) => //.
- move=> x; have [_ P01] := survivals_near x; rewrite /coin_used; set h := if _ then _ else _.
  have h01 : 0 <= h <= 1 by rewrite /h; case: ifP => // _; apply: clipped_range.
  by case: (decided h01).
- move=> i _; have [_ e0] := decided (clipped_range (0 : R)).
  apply: addr_ge0; last exact: le_trans e0.
  by case: ifP => _; [apply: le_trans (coin_error_ge _) |]; apply: growth_ge0.
- by move=> i; case: ifP => // _; apply: growth_ge0.
- exact: growth_ge0.
- exact: used_near.
- by move=> x _; apply: drawn_row_near.
Qed.
End Whole.

(* The last token looked up in a running sum that is computed: u is compared with thresholds h_k, the sums T_k
   divided by the last one.  Each addition rounds to nearest (summed), each threshold by the standard model
   (compared), the uniform is k / N. *)

(* A row that is off by at most a in each entry; no entry loses more than it has. *)
Lemma tv_entries (V : vocabulary) (R : realFieldType) (r r' a : V -> R) :
  (forall y, 0 <= r y) -> (forall y, 0 <= r' y) -> sumV r = sumV r' -> (forall y, `|r' y - r y| <= a y) ->
  total_variation r r' <= sumV (fun y => Num.min (r y) (a y)).
Proof.
move=> r0 r'0 eq le; rewrite /total_variation ler_pdivr_mulr ?ltr0n //.
have -> : sumV (fun y => `|r' y - r y|) = sumV (fun y => Num.max (r y - r' y) 0 * 2%:R).
  transitivity (sumV (fun y => `|r' y - r y| + (r y - r' y))); first by rewrite sumVD sumVB eq subrr addr0.
  apply: sumV_eq => y; have [l|l] := leP (r y - r' y) 0; last by rewrite distrC gtr0_norm //; ring.
  by rewrite ger0_norm; [ring | rewrite -oppr_le0 opprB].
rewrite -sumVZr; apply: sumV_le => y; rewrite ler_pmul2r ?ltr0n // le_minr; apply/andP; split.
  by rewrite le_maxl r0 andbT ger_addl oppr_le0.
by apply: le_trans (le y); rewrite le_maxl normr_ge0 distrC ler_norm.
Qed.

Section RunningSum.
Variables (V : vocabulary) (R : realFieldType) (N : nat) (u : R) (w : V -> R) (T h : nat -> R).
Hypotheses (N0 : (0 < N)%N) (u0 : 0 <= u) (w0 : forall y, 0 <= w y) (Z0 : 0 < sumV w).
Notation n := (size (tokens V)).
Notation at_ y := (index y (tokens V)).
Notation Z := (sumV w).

(* Rounding to nearest: the error of an addition is within u of the exact sum and no more than either addend,
   which are themselves numbers that it could give. *)
Definition sum_off y : R := Num.min (u * (T (at_ y) + w y)) (Num.min (T (at_ y)) (w y)).
Definition summed : Prop := T 0%N = 0 /\ forall y, `|T (at_ y).+1 - (T (at_ y) + w y)| <= sum_off y.
Definition compared : Prop :=
  [/\ h 0%N = 0, h n = 1, forall k, (k < n)%N -> h k <= h k.+1 & forall k, (k < n)%N -> rounds u (T k / T n) (h k)].
Hypotheses (Ts : summed) (hc : compared).
Definition between (G : nat -> R) y : R := G (at_ y).+1 - G (at_ y).
Definition shares y : R := between T y / T n.
Definition taken y : R := lattice_lt N (h (at_ y).+1) - lattice_lt N (h (at_ y)).

Lemma at_lt y : (at_ y < n)%N. Proof. by rewrite index_mem tokens_mem. Qed.
Lemma at_ex k : (k < n)%N -> exists y, at_ y = k.
Proof.
move=> lt; have z : V by case: (tokens V) lt.
by exists (nth z (tokens V) k); rewrite index_uniq ?tokens_uniq.
Qed.
Lemma between_sum G : sumV (between G) = G n - G 0%N.
Proof.
rewrite (sumV_index V (fun k => G k.+1 - G k)) -(big_mkord xpredT (fun k => G k.+1 - G k)).
by rewrite telescope_sumr.
Qed.
Lemma T_step y : [/\ T (at_ y) <= T (at_ y).+1, w y <= T (at_ y).+1 & between T y <= 2%:R * w y].
Proof.
have [_ /(_ y)] := Ts; rewrite /sum_off !le_minr => /and3P[_ eT ew]; split.
- by move: ew; rewrite ler_norml => /andP[+ _]; rewrite ler_subr_addr addrCA addNr addr0.
- by move: eT; rewrite ler_norml => /andP[+ _]; rewrite ler_subr_addr addrA addNr add0r.
- by move: ew; rewrite ler_norml /between => /andP[_]; rewrite opprD addrA ler_subl_addr -mulr2n mulr_natl.
Qed.
Lemma T_ge0 k : (k <= n)%N -> 0 <= T k.
Proof.
have [T0 _] := Ts; elim: k => [|k IH] le; first by rewrite T0.
by have [y e] := at_ex le; have [+ _ _] := T_step y; rewrite e; apply: le_trans; apply: IH; apply: ltnW.
Qed.
Lemma T_mono k m : (k <= m)%N -> (m <= n)%N -> T k <= T m.
Proof.
move=> + mn; elim: m mn => [|m IH] mn; first by rewrite leqn0 => /eqP ->.
rewrite leq_eqVlt => /orP[/eqP -> //|lt]; have [y e] := at_ex mn; have [+ _ _] := T_step y.
by rewrite e; apply: le_trans; apply: IH lt; apply: ltnW.
Qed.
Lemma Tn_gt0 : 0 < T n.
Proof.
rewrite lt_neqAle T_ge0 // andbT eq_sym; apply/eqP => z; suff e : Z = 0 by move: Z0; rewrite e ltxx.
rewrite -[RHS](@sumV0 V R); apply: sumV_eq => y; apply/eqP; rewrite eq_le w0 andbT -z.
by have [_ le _] := T_step y; apply: le_trans le (T_mono (at_lt y) (leqnn _)).
Qed.
Lemma shares_ge0 y : 0 <= shares y.
Proof. by have [le _ _] := T_step y; rewrite divr_ge0 ?subr_ge0 ?(ltW Tn_gt0). Qed.
Lemma shares_sum : sumV shares = 1.
Proof. by have [T0 _] := Ts; rewrite /shares sumVZr between_sum T0 subr0 mulfV ?gt_eqF ?Tn_gt0. Qed.

(* What the additions lose. *)
Lemma shares_near : total_variation (fun y => w y / Z) shares <= sumV sum_off / Z.
Proof.
have T0 := Tn_gt0; have [z Te] := Ts; pose e y := T (at_ y).+1 - (T (at_ y) + w y).
have eS : sumV e = T n - Z.
  by rewrite /e (sumV_eq (g := fun y => between T y - w y)) => [|y]; [rewrite sumVB between_sum z subr0 | rewrite /between; ring].
have eN : `|T n - Z| <= sumV sum_off by rewrite -eS; apply: le_trans (sumV_norm _) _; apply: sumV_le => y; apply: Te.
rewrite /total_variation ler_pdivr_mulr ?ltr0n // mulrAC ler_pdivl_mulr // -sumVZr.
apply: le_trans (_ : sumV (fun y => sum_off y + shares y * sumV sum_off) <= _); last first.
  by rewrite sumVD sumVZr shares_sum mul1r mulr_natr mulr2n.
apply: sumV_le => y; rewrite -{2}(gtr0_norm Z0) -normrM.
have -> : (shares y - w y / Z) * Z = e y - shares y * (T n - Z).
  have sT : shares y * T n = between T y by rewrite /shares divfK ?gt_eqF.
  have wZ : w y / Z * Z = w y by rewrite divfK ?gt_eqF.
  by rewrite mulrBl wZ mulrBr sT /e /between; ring.
apply: le_trans (ler_norm_sub _ _) _; apply: ler_add; first exact: Te.
by rewrite normrM (ger0_norm (shares_ge0 y)); apply: ler_wpmul2l => //; apply: shares_ge0.
Qed.

(* What the thresholds lose. *)
Definition threshold_off k : R := if k == n then 0 else u * (T k / T n).
Lemma threshold_near k : (k <= n)%N -> `|h k - T k / T n| <= threshold_off k.
Proof.
have [_ h1 _ hr] := hc; rewrite /threshold_off; case: eqP => [-> _|/eqP ne le].
  by rewrite h1 mulfV ?gt_eqF ?Tn_gt0 // subrr normr0.
rewrite -{2}[T k / T n]ger0_norm; first by apply: hr; rewrite ltn_neqAle ne.
by rewrite divr_ge0 ?T_ge0.
Qed.
Lemma between_ge0 y : 0 <= between h y.
Proof. by have [_ _ hm _] := hc; rewrite subr_ge0 hm ?at_lt. Qed.
Lemma between_h_sum : sumV (between h) = 1.
Proof. by have [z o _ _] := hc; rewrite between_sum z o subr0. Qed.
Lemma running_between k : (k <= n)%N -> running (between h) k = h k.
Proof.
have [z _ _ _] := hc; elim: k => [|k IH] le; first by rewrite /running take0 big_nil z.
by have [y e] := at_ex le; rewrite -e runningS e IH ?(ltnW le) // /between e addrC subrK.
Qed.
Lemma taken_looked_up : taken =1 looked_up N (between h).
Proof. by move=> y; rewrite /taken /looked_up !running_between // ?(ltnW (at_lt y)) ?at_lt. Qed.
Lemma taken_ge0 y : 0 <= taken y.
Proof. by rewrite taken_looked_up looked_up_ge0 //; apply: between_ge0. Qed.
Lemma taken_sum : sumV taken = 1.
Proof. by rewrite (sumV_eq taken_looked_up) looked_up_sum ?between_h_sum //; apply: between_ge0. Qed.
Lemma between_near y : `|between h y - shares y| <= threshold_off (at_ y).+1 + threshold_off (at_ y).
Proof.
have -> : between h y - shares y = (h (at_ y).+1 - T (at_ y).+1 / T n) - (h (at_ y) - T (at_ y) / T n).
  by rewrite /shares /between mulrBl; ring.
by apply: le_trans (ler_norm_sub _ _) _; apply: ler_add; apply: threshold_near; [apply: at_lt | apply: ltnW; apply: at_lt].
Qed.
Lemma thresholds_sum : sumV (fun y => threshold_off (at_ y).+1 + threshold_off (at_ y))
  = (\sum_(k < n) u * (T k / T n)) * 2%:R.
Proof.
have [T0 _] := Ts; rewrite (sumV_index V (fun k => threshold_off k.+1 + threshold_off k)) big_split /= mulr_natr mulr2n.
have -> : \sum_(k < n) threshold_off k = \sum_(k < n) u * (T k / T n).
  by apply: eq_bigr => k _; rewrite /threshold_off ltn_eqF.
congr (_ + _); have z : threshold_off 0%N = 0 by rewrite /threshold_off T0 mul0r mulr0 if_same.
transitivity (\sum_(k < n.+1) threshold_off k); first by rewrite big_ord_recl z add0r.
rewrite big_ord_recr /= {2}/threshold_off eqxx addr0.
by apply: eq_bigr => k _; rewrite /threshold_off ltn_eqF.
Qed.

(* A row of any kind: each addition, each threshold, and the lattice. *)
Theorem running_sum_near : total_variation (fun y => w y / Z) taken
  <= sumV sum_off / Z + \sum_(k < n) u * (T k / T n) + n%:R / (2 * N)%:R.
Proof.
apply: le_trans (tv_triangle _ (between h) _) _; apply: ler_add; last first.
  have := looked_up_near N0 between_ge0 between_h_sum; rewrite /total_variation.
  by rewrite (sumV_eq (g := fun y => `|taken y - between h y|)) // => y; rewrite taken_looked_up.
apply: le_trans (tv_triangle _ shares _) _; apply: ler_add; first exact: shares_near.
rewrite /total_variation ler_pdivr_mulr ?ltr0n // -thresholds_sum; apply: sumV_le => y; exact: between_near.
Qed.
(* Rows of small entries: none loses more than it has, and none has more than twice its own share. *)
Theorem running_sum_tails : total_variation (fun y => w y / Z) taken
  <= sumV sum_off / Z + sumV (fun y => Num.min (2%:R * w y / T n)
       (threshold_off (at_ y).+1 + threshold_off (at_ y) + N%:R^-1)).
Proof.
have Tn := Tn_gt0; apply: le_trans (tv_triangle _ shares _) _; apply: ler_add; first exact: shares_near.
apply: le_trans (_ : sumV (fun y => Num.min (shares y) (threshold_off (at_ y).+1 + threshold_off (at_ y) + N%:R^-1)) <= _).
  apply: tv_entries => [y|y||y]; [exact: shares_ge0 | exact: taken_ge0 | |].
    by rewrite shares_sum taken_sum.
  have -> : taken y - shares y = (between h y - shares y) + (taken y - between h y) by ring.
  apply: le_trans (ler_norm_add _ _) _; apply: ler_add; first exact: between_near.
  by rewrite taken_looked_up; apply: looked_up_each => //; [apply: between_ge0 | apply: between_h_sum].
apply: sumV_le => y; rewrite le_minr !le_minl lexx orbT andbT; apply/orP; left.
by have [_ _ le] := T_step y; rewrite /shares ler_pdivr_mulr // divfK // gt_eqF.
Qed.

(* All rows of a vocabulary: the first addition and the first and last thresholds are exact. *)
Lemma T_le k : (k <= n)%N -> T k <= (1 + u) ^+ k.-1 * running w k.
Proof.
have [T0 Te] := Ts; have r0 := addr_ge0 ler01 u0.
elim: k => [|k IH] le; first by rewrite T0 /running take0 big_nil mulr0.
have [y e] := at_ex le; have := Te y; rewrite /sum_off e !le_minr => /and3P[eu eT _]; rewrite -e runningS e /=.
case: k le IH e eu eT => [|k] le IH e eu eT.
  by move: eT; rewrite T0 add0r /running take0 big_nil add0r expr0 mul1r normr_le0 subr_eq0 => /eqP ->.
apply: le_trans (_ : (1 + u) * (T k.+1 + w y) <= _).
  by rewrite mulrDl mul1r -ler_subl_addl; apply: le_trans (ler_norm _) eu.
rewrite exprS -mulrA; apply: ler_wpmul2l => //; rewrite mulrDr; apply: ler_add; first exact: IH (ltnW le).
by rewrite ler_pemull // exprn_ege1 // ler_addl.
Qed.
Definition look_up_bound : R := n.-1%:R * (u * (2%:R + growth u n.-1)) + n%:R / (2 * N)%:R.
Theorem running_sum_bound : total_variation (fun y => w y / Z) taken <= look_up_bound.
Proof.
apply: le_trans running_sum_near _; rewrite /look_up_bound ler_add2r.
have Tn := Tn_gt0; have [T0 _] := Ts.
have step y : sum_off y <= (if at_ y == 0%N then 0 else u * (1 + growth u n.-1)) * Z.
  rewrite /sum_off !le_minl; case: eqP => [->|/eqP ne]; first by rewrite T0 mul0r lexx !orbT.
  have -> : 1 + growth u n.-1 = (1 + u) ^+ n.-1 by rewrite addrC subrK.
  apply/orP; left; rewrite -mulrA; apply: ler_wpmul2l => //.
  have lt := at_lt y; have le := ltnW lt.
  have run : running w (at_ y) + w y <= Z.
    rewrite -runningS; have -> : Z = running w n.
      by rewrite /running take_size (perm_big _ (tokens_ok V)) big_enum -sumVE.
    rewrite /running take_size -[X in _ <= \sum_(z <- X) _](cat_take_drop (at_ y).+1) big_cat /=.
    by rewrite ler_addl sumr_ge0.
  apply: le_trans (_ : (1 + u) ^+ n.-1 * (running w (at_ y) + w y) <= _); last first.
    by apply: ler_wpmul2l => //; rewrite exprn_ge0 ?addr_ge0 ?ler01.
  rewrite mulrDr; apply: ler_add; last by rewrite ler_pemull // exprn_ege1 // ler_addl.
  apply: le_trans (T_le le) _; apply: ler_wpmul2r; first exact: sumr_ge0.
  by rewrite ler_weexpn2l ?ler_addl //; lia.
have -> : n.-1%:R * (u * (2%:R + growth u n.-1)) = n.-1%:R * (u * (1 + growth u n.-1)) + n.-1%:R * u by ring.
have but_first (B : R) : \sum_(k < n) (if k == 0%N :> nat then 0 else B) = n.-1%:R * B.
  by case: n => [|m]; rewrite ?big_ord0 ?mul0r // big_ord_recl add0r sumr_const card_ord mulr_natl.
apply: ler_add; last first.
  rewrite -but_first; apply: ler_sum => k _; case: eqP => [->|_]; first by rewrite T0 mul0r mulr0.
  by rewrite ler_pimulr // ler_pdivr_mulr // mul1r T_mono // ltnW.
rewrite ler_pdivr_mulr // -but_first -(sumV_index V (fun k => if k == 0%N then 0 else u * (1 + growth u n.-1))).
by rewrite -sumVZr; apply: sumV_le => y; apply: step.
Qed.
(* What the theorems on rounding ask of the row that is drawn (drawn_near), for lambda := look_up_bound. *)
Theorem looked_up_in_a_running_sum : exists r : V -> R,
  [/\ sumV r = 1, forall y, 0 <= r y, total_variation r taken <= look_up_bound & forall y, r y * Z = w y].
Proof.
exists (fun y => w y / Z); split=> [|y||y]; [by rewrite sumVZr mulfV ?gt_eqF | by rewrite divr_ge0 ?(ltW Z0) | | by rewrite divfK ?gt_eqF].
exact: running_sum_bound.
Qed.
End RunningSum.

(* The hypotheses can be met, for all weights: by exact sums and thresholds. *)
Theorem running_sum_met (V : vocabulary) (R : realFieldType) (u : R) (w : V -> R) : 0 <= u -> (forall y, 0 <= w y) ->
  0 < sumV w -> exists T h : nat -> R, summed u w T /\ compared V u T h.
Proof.
move=> u0 w0 Z0; pose T := running w; have Tn : T (size (tokens V)) = sumV w.
  by rewrite /T /running take_size (perm_big _ (tokens_ok V)) big_enum -sumVE.
have T0 : T 0%N = 0 by rewrite /T /running take0 big_nil.
have Tp k : 0 <= T k by apply: sumr_ge0.
exists T, (fun k => T k / T (size (tokens V))); split.
  split=> // y; rewrite /T runningS subrr normr0 !le_minr w0 Tp mulr_ge0 // addr_ge0 // ?Tp //.
split=> [||k lt|k lt].
- by rewrite T0 mul0r.
- by rewrite Tn mulfV ?gt_eqF.
- have [y <-] := at_ex lt; apply: ler_wpmul2r; first by rewrite invr_ge0.
  by rewrite /T runningS ler_addl.
- by rewrite /rounds subrr normr0 mulr_ge0.
Qed.
