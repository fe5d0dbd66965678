(* One step of block verification in floating point; BlockRounding.v has the whole.  The standard model is
   the one assumption, named where it is used: each operation gives its exact result times 1 + e with
   |e| <= u (rounds), and min, max and comparisons are exact.  No word of overflow and underflow. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum zify.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Models Algorithms Verifier Block SubBlocks Precision.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

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
