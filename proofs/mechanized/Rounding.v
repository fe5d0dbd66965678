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
Definition coin_error : R := 2%:R * growth (k + 2 + d) + growth k + u * (2%:R + u) * (2%:R + growth (k + 2 + d)) + u.
Notation g := (growth (k + 2 + d)).
Lemma surplus_near : `|e' - excess b s p| <= g.
Proof.
have p1 : p <= 1 by case/andP: p01.
have g0 : 0 <= growth (k + 2) := growth_ge0 u0 _.
have ex : excess b s p <= p by rewrite excessE // ler_subl_addr ler_addl; apply: share_ge0.
have ww : sumV w <= (1 + growth (k + 2)) * p.
  have := le_trans (ler_norm _) weights_sum; rewrite ler_subl_addr => /le_trans; apply.
  by rewrite mulrDl mul1r addrC ler_add2r.
have -> : e' - excess b s p = (e' - sumV w) + (sumV w - excess b s p) by ring.
apply: le_trans (ler_norm_add _ _) _; rewrite growthD addrC; apply: ler_add.
  by apply: le_trans weights_sum _; rewrite ler_pimulr.
apply: le_trans e'w _; apply: ler_wpmul2l; first exact: growth_ge0.
by apply: le_trans ww _; rewrite ler_pimulr // addr_ge0 ?ler01.
Qed.
Lemma normaliser_near : `|D' - (1 - share b s p)| <= g + growth k + u * (2%:R + u) * (2%:R + g).
Proof.
have p1 : p <= 1 by case/andP: p01.
have D : 1 - share b s p = excess b s p + 1 - p by rewrite excessE //; ring.
have e1 : e' + 1 <= 2%:R + g.
  have := le_trans (ler_norm _) surplus_near; rewrite ler_subl_addr => /le_trans le.
  have -> : 2%:R + g = (g + 1) + 1 by rewrite -[2%:R]/(1 + 1); ring.
  rewrite ler_add2r; apply: le; rewrite ler_add2l excessE // ler_subl_addr.
  by apply: le_trans p1 _; rewrite ler_addl; apply: share_ge0.
have e10 : 0 <= e' + 1 by rewrite addr_ge0 ?ler01.
have a0 := rounds_ge0 u1 e10 ar.
have aw := rounds_within e10 ar.
have ap : `|a' - p'| <= (1 + u) * (2%:R + g).
  apply: le_trans (_ : Num.max a' p' <= _).
    have [le|lt] := leP a' p'; first by rewrite ler0_norm ?subr_le0 // opprB ler_subl_addr ler_addl.
    by rewrite ger0_norm ?subr_ge0 ?(ltW lt) // ler_subl_addr ler_addl.
  rewrite le_maxl; apply/andP; split.
    by have := within_range aw; rewrite growth1 => /le_trans; apply; apply: ler_wpmul2l => //; rewrite addr_ge0 ?ler01.
  case/andP: p'0 => _ /le_trans; apply; rewrite -[X in X <= _]mulr1; apply: ler_pmul; rewrite ?ler01 ?ler_addl //.
  by rewrite -[X in X <= _]addr0; apply: ler_add; rewrite ?ler1n // growth_ge0.
have -> : D' - (1 - share b s p) = (D' - (a' - p')) + (a' - (e' + 1)) + (e' - excess b s p) + (p - p').
  by rewrite D; ring.
apply: le_trans (ler_norm_add _ _) _; apply: le_trans (ler_add (ler_norm_add _ _) (lexx _)) _.
apply: le_trans (ler_add (ler_add (ler_norm_add _ _) (lexx _)) (lexx _)) _.
have -> : g + growth k + u * (2%:R + u) * (2%:R + g)
  = u * ((1 + u) * (2%:R + g)) + u * (2%:R + g) + g + growth k by rewrite -[2%:R]/(1 + 1); ring.
apply: ler_add; last first.
  by rewrite distrC; apply: le_trans pw _; rewrite ler_pimulr // growth_ge0.
apply: ler_add; last exact: surplus_near.
apply: ler_add; first by apply: le_trans Dr _; apply: ler_wpmul2l.
by apply: le_trans ar _; rewrite (ger0_norm e10); apply: ler_wpmul2l.
Qed.

Definition clipped (h : R) : R := Num.min (Num.max h 0) 1.
Lemma clipped_range h : 0 <= clipped h <= 1.
Proof. by rewrite /clipped le_minr le_maxr lexx orbT ler01 /= le_minl lexx orbT. Qed.
(* Where D' is 0 any value will do. *)
Theorem coin_near h : (D' != 0 -> rounds (e' / D') h) ->
  (1 - share b s p) * `|clipped h - h_block b s p| <= coin_error.
Proof.
move=> hr; set D := 1 - share b s p; set x := excess b s p.
have p1 : p <= 1 by case/andP: p01.
have x0 : 0 <= x by apply: sumV_ge0 => y; apply: over_ge0.
have D1 : D <= 1 by rewrite ler_subl_addr ler_addl; apply: share_ge0.
have xD : x <= D by rewrite /x excessE // ler_add2r.
have D0 : 0 <= D by apply: le_trans xD.
have hx : D * h_block b s p = x by rewrite /x excessE //; apply: h_blockE.
have nD := normaliser_near; have nx := surplus_near; rewrite -/D -/x in nD nx.
set kap := g + growth k + _ in nD.
have k0 : 0 <= kap by apply: le_trans nD.
have g0 : 0 <= g := growth_ge0 u0 _.
have -> : coin_error = kap + g + u by rewrite /coin_error /kap -[2%:R * g]/((1 + 1) * g); ring.
have [c0 c1] := andP (clipped_range h).
rewrite -{1}(ger0_norm D0) -normrM mulrBr hx.
have bounds (t : R) : 0 <= t <= 1 -> `|D * t - x| <= D.
  move=> /andP[t0 t1]; rewrite ler_norml ler_subr_addr ler_subl_addr; apply/andP; split.
    by apply: le_trans (_ : 0 <= _); [rewrite addrC subr_le0 | apply: mulr_ge0].
  by apply: le_trans (ler_pimulr D0 t1) _; rewrite ler_addl.
have [Dneg|Dpos] := leP D' 0.
  apply: le_trans (bounds _ (clipped_range h)) _.
  apply: le_trans (_ : kap <= _); last by rewrite -addrA ler_addl addr_ge0.
  by apply: le_trans nD; rewrite distrC; apply: le_trans (ler_norm _); rewrite ler_subr_addl addrC ler_naddr.
have e0D : 0 <= e' / D' by rewrite divr_ge0 // ltW.
pose t := Num.min (e' / D') 1.
have t01 : 0 <= t <= 1 by rewrite /t le_minr e0D ler01 le_minl lexx orbT.
(* The quotient's rounding moves the coin by at most u. *)
have ht : `|clipped h - t| <= u.
  have hw := rounds_within e0D (hr (lt0r_neq0 Dpos)).
  have h0 := rounds_ge0 u1 e0D (hr (lt0r_neq0 Dpos)).
  rewrite /clipped (max_l h0); apply: le_trans (within_min u0 h0 hw) _.
  by rewrite growth1 ler_pimulr //; case/andP: t01.
(* And the exact quotient of what was computed is right up to the two errors. *)
have Dt : `|D * t - x| <= kap + g.
  have [le|gt] := leP (e' / D') 1.
    have tE : t = e' / D' by rewrite /t min_l.
    have eE : e' = t * D' by rewrite tE divfK ?lt0r_neq0.
    have -> : D * t - x = - (t * (D' - D)) + (e' - x) by rewrite {1}eE; ring.
    apply: le_trans (ler_norm_add _ _) _; apply: ler_add => //; rewrite normrN normrM.
    case/andP: t01 => t0 t1; rewrite (ger0_norm t0); apply: le_trans nD; rewrite ler_pimull //.
  have tE : t = 1 by rewrite /t min_r // ltW.
  rewrite tE mulr1 ger0_norm ?subr_ge0 //.
  have De : D' <= e' by move: gt; rewrite ltr_pdivl_mulr // mul1r => /ltW.
  have -> : D - x = (D - D') + (D' - e') + (e' - x) by ring.
  apply: ler_add; last exact: le_trans (ler_norm _) nx.
  apply: le_trans (_ : D - D' <= _); first by rewrite ger_addl subr_le0.
  by apply: le_trans (ler_norm _) _; rewrite distrC.
have -> : D * clipped h - x = D * (clipped h - t) + (D * t - x) by ring.
apply: le_trans (ler_norm_add _ _) _; rewrite addrC; apply: ler_add => //.
rewrite normrM (ger0_norm D0); apply: le_trans ht.
by rewrite ler_pimull.
Qed.
End Step.
