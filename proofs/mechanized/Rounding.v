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
Lemma max0_near x x' : `|Num.max x' 0 - Num.max x 0| <= `|x' - x|.
Proof.
have [a|a] := leP x' 0; have [b|b] := leP x 0; rewrite ?subrr ?normr0 ?subr0 //.
- by rewrite sub0r normrN gtr0_norm // distrC; apply: le_trans (ler_norm _); rewrite ler_subr_addr ger_addl.
- by rewrite gtr0_norm //; apply: le_trans (ler_norm _); rewrite ler_subr_addr ger_addl.
Qed.
Lemma max0_rounds x y : rounds x y -> `|Num.max y 0 - Num.max x 0| <= u * Num.max x 0.
Proof.
rewrite /rounds ler_norml => /andP[l h]; have u1' : 0 <= 1 - u by rewrite subr_ge0.
have [le|gt] := leP x 0.
  have y0 : y <= 0.
    apply: le_trans (_ : (1 - u) * x <= _); last exact: mulr_ge0_le0.
    by move: h; rewrite (ler0_norm le) mulrN ler_subl_addr addrC mulrBl mul1r.
  by rewrite max_r // subrr normr0 mulr0.
rewrite (gtr0_norm gt) in l h; have y0 : 0 <= y.
  apply: le_trans (_ : (1 - u) * x <= _); first by rewrite mulr_ge0 // ltW.
  by move: l; rewrite ler_subr_addr addrC mulrBl mul1r.
by rewrite max_l // ler_norml l h.
Qed.
(* What is cut off and what is left move the same way. *)
Lemma min_split k x x' :
  `|(x' - Num.min x' k) - (x - Num.min x k)| + `|Num.min x' k - Num.min x k| = `|x' - x|.
Proof.
have [a|a] := leP x' k; have [b|b] := leP x k.
- by rewrite !subrr normr0 add0r.
- have l : x' <= x := le_trans a (ltW b).
  rewrite subrr sub0r normrN (ger0_norm (_ : 0 <= x - k)) ?subr_ge0 ?(ltW b) // (ler0_norm (_ : x' - k <= 0)) ?subr_le0 //.
  by rewrite (ler0_norm (_ : x' - x <= 0)) ?subr_le0 //; ring.
- have l : x <= x' := le_trans b (ltW a).
  rewrite subrr subr0 (ger0_norm (_ : 0 <= x' - k)) ?subr_ge0 ?(ltW a) // (ger0_norm (_ : 0 <= k - x)) ?subr_ge0 //.
  by rewrite (ger0_norm (_ : 0 <= x' - x)) ?subr_ge0 //; ring.
- by rewrite subrr normr0 addr0; congr `|_|; ring.
Qed.
Lemma min_near k x x' : `|Num.min x' k - Num.min x k| <= `|x' - x|.
Proof. by rewrite -(min_split k x x') ler_addr. Qed.
Lemma within_min n a a' : 0 <= a' -> within n a a' -> within n (Num.min a 1) (Num.min a' 1).
Proof.
move=> a0 w; have [le|gt] := leP a 1.
  by rewrite /within; apply: le_trans w; have := min_near 1 a a'; rewrite (min_l le).
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

(* One step: rows b and s, p the survival as it was computed. *)
Section Step.
Variables (V : vocabulary) (R : realFieldType) (u : R) (b s : V -> R) (p : R) (d : nat).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1).
Hypotheses (b0 : forall y, 0 <= b y) (s0 : forall y, 0 <= s y) (b1 : sumV b = 1).
Hypotheses (p01 : 0 <= p <= 1).
Notation rounds := (rounds u).
Notation growth := (growth u).
Notation within := (within u).
Notation x := (excess b s p).
Let up : 0 <= 1 + u. Proof. by rewrite addr_ge0 ?ler01. Qed.
Let uu : 0 <= u * (1 + u). Proof. exact: mulr_ge0. Qed.
Let p0 : 0 <= p. Proof. by case/andP: p01. Qed.
Let p1 : p <= 1. Proof. by case/andP: p01. Qed.
Let x0 : 0 <= x. Proof. by apply: sumV_ge0 => y; apply: over_ge0. Qed.
Let share0 : 0 <= share b s p. Proof. by apply: sumV_ge0 => y; rewrite le_minr s0 mulr_ge0. Qed.
Let xp : x <= p. Proof. by rewrite excessE // ler_subl_addr ler_addl. Qed.
Let x1 : x <= 1. Proof. exact: le_trans p1. Qed.

Lemma ratio_near y r t : rounds (b y / s y) r -> rounds (p * r) t -> within 2 (p * (b y / s y)) t.
Proof.
move=> hr ht; have ra : 0 <= b y / s y by apply: divr_ge0.
have pr : 0 <= p * r by apply: mulr_ge0 => //; apply: rounds_ge0 hr.
apply: (@within_trans _ _ u0 1 1 _ (p * r)) => //; last exact: rounds_within pr ht.
by rewrite [p * (b y / _)]mulrC [p * r]mulrC; apply: within_scale => //; apply: rounds_within.
Qed.
Lemma next_near y r t : rounds (b y / s y) r -> rounds (p * r) t ->
  `|s y * Num.min t 1 - Num.min (p * b y) (s y)| <= growth 2 * (p * b y) /\ 0 <= Num.min t 1 <= 1.
Proof.
move=> hr ht; have ra : 0 <= b y / s y by apply: divr_ge0.
have rr := rounds_ge0 u1 ra hr; have pr : 0 <= p * r by apply: mulr_ge0.
have t0 := rounds_ge0 u1 pr ht.
split; last by rewrite le_minr t0 ler01 le_minl lexx orbT.
have pb : 0 <= p * b y by apply: mulr_ge0.
have [z|nz] := eqVneq (s y) 0.
  by rewrite z mul0r min_r // subrr normr0 mulr_ge0 // growth_ge0.
rewrite minr_pmulr // mulr1; apply: le_trans (min_near _ _ _) _.
have w := ratio_near hr ht.
have -> : s y * t - p * b y = s y * (t - p * (b y / s y)) by rewrite mulrBr; congr (_ - _); rewrite mulrCA [s y * _]mulrC divfK.
rewrite normrM (ger0_norm (s0 y)); apply: le_trans (ler_wpmul2l (s0 y) w) _.
by rewrite mulrCA [s y * _]mulrCA [s y * (b y / s y)]mulrC divfK.
Qed.

Lemma final_near y r t : rounds (b y / s y) r -> rounds (p * r) t -> `|Num.min t 1 - next_p b s p y| <= growth 2.
Proof.
move=> hr ht; have ra : 0 <= b y / s y by apply: divr_ge0.
have rr := rounds_ge0 u1 ra hr; have pr : 0 <= p * r by apply: mulr_ge0.
have w := within_min u0 (rounds_ge0 u1 pr ht) (ratio_near hr ht).
rewrite /next_p -mulrA; apply: le_trans w _; apply: ler_pimulr; first exact: growth_ge0.
by rewrite le_minl lexx orbT.
Qed.

Variables (w : V -> R) (z e : V -> R).
Hypotheses (zr : forall y, rounds (p * b y) (z y)) (er : forall y, rounds (z y - s y) (e y)).
Hypothesis wE : forall y, w y = Num.max (e y) 0.
Lemma weight_ge0 y : 0 <= w y. Proof. by rewrite wE le_maxr lexx orbT. Qed.
Lemma weight_near y : `|w y - over b s p y| <= u * (1 + u) * (p * b y) + u * over b s p y.
Proof.
have pb : 0 <= p * b y by apply: mulr_ge0.
have zn : `|Num.max (z y - s y) 0 - over b s p y| <= u * (p * b y).
  apply: le_trans (max0_near _ _) _; have -> : z y - s y - (p * b y - s y) = z y - p * b y by ring.
  by have := zr y; rewrite /rounds (ger0_norm pb).
have -> : w y - over b s p y = (w y - Num.max (z y - s y) 0) + (Num.max (z y - s y) 0 - over b s p y) by ring.
apply: le_trans (ler_norm_add _ _) _.
have -> : u * (1 + u) * (p * b y) + u * over b s p y = u * (over b s p y + u * (p * b y)) + u * (p * b y) by ring.
apply: ler_add => //; rewrite wE; apply: le_trans (max0_rounds u1 (er y)) _; apply: ler_wpmul2l => //.
by have := le_trans (ler_norm _) zn; rewrite ler_subl_addl.
Qed.
Lemma weights_near : sumV (fun y => `|w y - over b s p y|) <= u * (1 + u) + u * x.
Proof.
apply: le_trans (sumV_le weight_near) _; rewrite sumVD !sumVZ b1 mulr1.
by rewrite ler_add2r ler_pimulr.
Qed.
Lemma weights_sum : `|sumV w - x| <= u * (1 + u) + u * x.
Proof. by rewrite /excess -sumVB; apply: le_trans (sumV_norm _) weights_near. Qed.
(* What a row drawn exactly by the computed weights costs, times how often it is drawn. *)
Lemma row_near (r : V -> R) : (forall y, r y * sumV w = w y) -> sumV r = 1 -> (forall y, 0 <= r y) ->
  sumV (fun y => `|x * r y - over b s p y|) / 2%:R <= u * (1 + u) + u * x.
Proof.
move=> rw r1 r0; rewrite ler_pdivr_mulr ?ltr0n //.
apply: le_trans (_ : sumV (fun y => `|w y - over b s p y| + r y * `|sumV w - x|) <= _); last first.
  by rewrite sumVD sumVZr r1 mul1r mulr_natr mulr2n; apply: ler_add; [exact: weights_near | exact: weights_sum].
apply: sumV_le => y.
have -> : x * r y - over b s p y = (w y - over b s p y) - r y * (sumV w - x) by rewrite -{1}(rw y); ring.
by apply: le_trans (ler_norm_sub _ _) _; rewrite normrM (ger0_norm (r0 y)).
Qed.

(* The coin: e' the computed sum of the weights, then (e' + 1) - p and the quotient. *)
Variables (e' a' D' : R).
Hypotheses (e'w : within d (sumV w) e') (e'0 : 0 <= e').
Hypotheses (ar : rounds (e' + 1) a') (Dr : rounds (a' - p) D').
Definition sum_apart : R := u * (1 + u) * (1 + growth d).
Definition twice : R := u * (2%:R + u) * (2%:R + sum_apart + growth d.+1).
Definition coin_apart : R := sum_apart * (1 + u * (4%:R + u)) + u * (1 + u) + 2%:R * u * twice.
Definition coin_kept : R := growth d.+1 * (1 + u * (4%:R + u)) + u * (3%:R + u).
Let g0 n : 0 <= growth n := growth_ge0 u0 n.
Let a0 : 0 <= sum_apart. Proof. by apply: mulr_ge0 => //; apply: addr_ge0; rewrite ?ler01. Qed.
Lemma sum_near_excess : `|e' - x| <= sum_apart + growth d.+1 * x.
Proof.
have -> : e' - x = (sumV w - x) + (e' - sumV w) by ring.
apply: le_trans (ler_norm_add _ _) _.
have -> : sum_apart + growth d.+1 * x
  = (u * (1 + u) + u * x) + growth d * (x + (u * (1 + u) + u * x)).
  by rewrite /sum_apart -addn1 growthD growth1; ring.
apply: ler_add; first exact: weights_sum.
apply: le_trans e'w _; apply: ler_wpmul2l => //.
by have := le_trans (ler_norm _) weights_sum; rewrite ler_subl_addl.
Qed.
Theorem coin_near h : (D' != 0 -> rounds (e' / D') h) ->
  `|(1 - share b s p) * clipped h - x| <= coin_apart + coin_kept * x.
Proof.
move=> hr; have DE : 1 - share b s p = x + 1 - p by rewrite excessE //; ring.
have Dx : 0 <= x + 1 - p by rewrite -addrA addr_ge0 // subr_ge0.
have nx := sum_near_excess; set N := _ + _ * x in nx.
have ex : e' <= x + N by have := le_trans (ler_norm _) nx; rewrite ler_subl_addl.
have N1 : N <= sum_apart + growth d.+1 by rewrite ler_add2l ler_pimulr.
have [t [/andP[t0 t1] tE nD]] := coin_shared u0 u1 Dx e'0 p01 ar Dr hr.
rewrite DE subrr normr0 mulr0 addr0 => le; apply: le_trans le _.
set n := shift_rounded u e' p in nD *; set S := e' + 1 - p in nD.
have S0 : 0 <= S by rewrite /S -addrA addr_ge0 // subr_ge0.
have n0 : 0 <= n := le_trans (normr_ge0 _) nD.
have eone : 0 <= e' + 1 by rewrite addr_ge0 ?ler01.
have nE : n = u * (1 + u) * (e' + 1) + u * S by rewrite /n /shift_rounded -/S; ring.
have nt : n <= twice.
  have e1 : e' + 1 <= 2%:R + sum_apart + growth d.+1.
    have -> : 2%:R + sum_apart + growth d.+1 = (1 + (sum_apart + growth d.+1)) + 1 :> R by rewrite -[2%:R]/(1 + 1); ring.
    by rewrite ler_add2r; apply: le_trans ex _; apply: ler_add.
  apply: le_trans (_ : u * (2%:R + u) * (e' + 1) <= _).
    have -> : u * (2%:R + u) * (e' + 1) = u * (1 + u) * (e' + 1) + u * (e' + 1) by rewrite -[2%:R]/(1 + 1); ring.
    by rewrite nE ler_add2l; apply: ler_wpmul2l => //; rewrite ler_subl_addr ler_addl.
  by apply: ler_wpmul2l e1; rewrite mulr_ge0 // addr_ge0 ?ler0n.
set T := (if 0 < D' then t else 1).
have [T0 T1 tT] : [/\ 0 <= T, T <= 1 & t <= T] by rewrite /T; case: ifP.
have TS : T * S <= e' + n.
  rewrite /T; case: (boolP (0 < D')) => [pos|npos]; last first.
    rewrite mul1r; apply: ler_paddl e'0 _.
    have := le_trans (ler_norm (S - D')) (_ : _ <= n); rewrite distrC => /(_ nD).
    by apply: le_trans; rewrite ler_addl oppr_ge0 leNgt.
  have tD : t * D' <= e'.
    by rewrite (tE pos) -ler_pdivl_mulr // le_minl lexx.
  have -> : t * S = t * D' + t * (S - D') by ring.
  apply: ler_add => //; apply: le_trans (_ : 1 * n <= _); last by rewrite mul1r.
  apply: le_trans (_ : t * n <= _); last exact: ler_wpmul2r.
  by apply: ler_wpmul2l => //; apply: le_trans nD; rewrite distrC; apply: ler_norm.
have own : T * n <= u * (1 + u) * (e' + 1) + u * (e' + n).
  have -> : T * n = T * (u * (1 + u) * (e' + 1)) + u * (T * S) by rewrite {1}nE; ring.
  apply: ler_add; last exact: ler_wpmul2l.
  by rewrite ler_pimull // mulr_ge0.
have tD : t * (x + 1 - p) <= e' + n + N.
  have -> : t * (x + 1 - p) = t * S + t * (x - e') by rewrite /S; ring.
  apply: ler_add.
    by apply: le_trans TS; apply: ler_wpmul2r.
  apply: le_trans (_ : t * `|x - e'| <= _); first by apply: ler_wpmul2l => //; apply: ler_norm.
  by rewrite distrC; apply: le_trans nx; rewrite ler_pimull.
have N0 : 0 <= N by apply: le_trans nx.
apply: le_trans (_ : N + (u * (1 + u) * (e' + 1) + u * (e' + n)) + u * (e' + n + N) <= _).
  apply: ler_add; last by rewrite -mulrA; apply: ler_wpmul2l.
  apply: ler_add => //; apply: le_trans nx; rewrite ler_pimull // ler_subl_addr ler_addl //.
apply: le_trans (_ : N + (u * (1 + u) * (x + N + 1) + u * (x + N + twice)) + u * (x + N + twice + N) <= _).
  have en : e' + n <= x + N + twice by apply: ler_add.
  apply: ler_add; last by apply: ler_wpmul2l => //; rewrite ler_add2r.
  rewrite ler_add2l; apply: ler_add; last exact: ler_wpmul2l.
  by apply: ler_wpmul2l => //; rewrite ler_add2r.
have -> : coin_apart + coin_kept * x
  = N + (u * (1 + u) * (x + N + 1) + u * (x + N + twice)) + u * (x + N + twice + N).
  by rewrite /coin_apart /coin_kept /N; ring.
exact: lexx.
Qed.
End Step.

Lemma tv_triangle (V : vocabulary) (R : realFieldType) (r r' r'' : V -> R) :
  total_variation r r'' <= total_variation r r' + total_variation r' r''.
Proof.
rewrite /total_variation -mulrDl ler_pmul2r ?invr_gt0 ?ltr0n // -sumVD; apply: sumV_le => y.
have -> : r'' y - r y = (r'' y - r' y) + (r' y - r y) by ring.
by rewrite addrC; apply: ler_norm_add.
Qed.
(* Block verification computed in floating point, under the standard model. *)

(* The whole of block verification: survivals, coins and weights computed for every prefix, coins decided
   by F (exactly, or on a lattice), the last token drawn from a row within lambda of the computed weights. *)
Section Whole.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma : nat) (c : seq V) (ends : pred (seq V)).
Variables (u eta lambda : R) (d : nat) (F : R -> R).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1).
Hypothesis decided : forall h, 0 <= h <= 1 -> 0 <= F h <= 1 /\ `|F h - h| <= eta.
Notation p := (p_of Mb Ms c).
Notation stops := (final gamma ends).
Notation b x := (Mb (c ++ x)).
Notation s x := (Ms (c ++ x)).
Variables (P : seq V -> R) (w drawn : seq V -> V -> R) (H : seq V -> R).
Definition survivals_computed : Prop := P [::] = 1 /\ forall x y, exists r t,
  [/\ rounds u (b x y / s x y) r, rounds u (P x * r) t & P (rcons x y) = Num.min t 1].
Definition weights_computed x : Prop := exists z e : V -> R, forall y,
  [/\ rounds u (P x * b x y) (z y), rounds u (z y - s x y) (e y) & w x y = Num.max (e y) 0].
Definition coin_computed x : Prop := exists e a D,
  [/\ 0 <= e /\ within u d (sumV (w x)) e, rounds u (e + 1) a, rounds u (a - P x) D & D != 0 -> rounds u (e / D) (H x)].
Hypotheses (Pc : survivals_computed) (wc : forall x, weights_computed x) (Hc : forall x, coin_computed x).
Definition coin_used x : R := F (if stops x then P x else clipped (H x)).
Hypotheses (drawn0 : forall x y, 0 <= drawn x y) (drawn1 : forall x, sumV (drawn x) = 1).
Hypothesis drawn_near : forall x, exists r : V -> R,
  [/\ sumV r = 1, forall y, 0 <= r y, total_variation r (drawn x) <= lambda &
      if stops x then r =1 b x else forall y, r y * sumV (w x) = w x y].
Notation g := (growth u 2).
Notation x_of x := (excess (b x) (s x) (P x)).
Let g0 : 0 <= g := growth_ge0 u0 2.
Let b0 x y := row_ge0 Mb (c ++ x) y.
Let s0 x y := row_ge0 Ms (c ++ x) y.
Let b1 x := row_sum Mb (c ++ x).
Let s1 x := row_sum Ms (c ++ x).

Lemma survivals_range x : 0 <= P x <= 1.
Proof.
case: Pc => P1 Ps; elim/last_ind: x => [|x y IH]; first by rewrite P1 lexx ler01.
have [r [t [hr ht ->]]] := Ps x y.
by have [_] := next_near u0 u1 (b0 x) (s0 x) IH hr ht.
Qed.
Let P0 x : 0 <= P x. Proof. by case/andP: (survivals_range x). Qed.
Let P1 x : P x <= 1. Proof. by case/andP: (survivals_range x). Qed.
(* The survivals that the law is compared with: as computed, but where the draft ends exact after the one before. *)
Definition Q x : R := if rev x is y :: r
  then (if stops x then next_p (b (rev r)) (s (rev r)) (P (rev r)) y else P x) else 1.
Lemma Q_rcons x y : Q (rcons x y) = if stops (rcons x y) then next_p (b x) (s x) (P x) y else P (rcons x y).
Proof. by rewrite /Q rev_rcons revK. Qed.
Lemma Q_here x : ~~ stops x -> Q x = P x.
Proof.
case: Pc => Pone _; case/lastP: x => [|x y] nf; first by rewrite Pone.
by rewrite Q_rcons (negPf nf).
Qed.
Lemma Q_range x : 0 <= Q x <= 1.
Proof.
case/lastP: x => [|x y]; first by rewrite /Q lexx ler01.
rewrite Q_rcons; case: ifP => _; last exact: survivals_range.
exact: (next_p_range (b0 x) (s0 x)).
Qed.
Lemma Q_near x : `|P x - Q x| <= g.
Proof.
case: Pc => Pone Ps; case/lastP: x => [|x y]; first by rewrite Pone subrr normr0.
rewrite Q_rcons; case: ifP => _; last by rewrite subrr normr0.
have [r [t [hr ht ->]]] := Ps x y.
exact: (final_near u0 u1 (b0 x) (s0 x) (survivals_range x) hr ht).
Qed.
Notation none := (none Ms gamma c ends Q).
Notation ending := (ending Ms gamma c ends Q).
(* What the next one is off from the exact one after it. *)
Definition drift_most (x : seq V) : R := if ((size x).+1 < gamma)%N then g else 0.
Notation G := drift_most.
Let G0 x : 0 <= G x. Proof. by rewrite /G; case: ifP. Qed.
Let Gg x : G x <= g. Proof. by rewrite /G; case: ifP. Qed.
Definition drift x y : R := s x y * Q (rcons x y) - Num.min (P x * b x y) (s x y).
Lemma drift_near x y : `|drift x y| <= G x * (P x * b x y).
Proof.
rewrite /drift Q_rcons; case: (boolP (stops (rcons x y))) => [f|].
  by rewrite (next_pE (b0 x) (s0 x)) // subrr normr0 mulr_ge0 // mulr_ge0.
rewrite /G /final negb_or -ltnNge size_rcons => /andP[-> _].
have [_ Ps] := Pc; have [r [t [hr ht ->]]] := Ps x y.
by have [] := next_near u0 u1 (b0 x) (s0 x) (survivals_range x) hr ht.
Qed.
Lemma drifts_near x : sumV (fun y => `|drift x y|) <= G x.
Proof.
apply: le_trans (sumV_le (drift_near x)) _; rewrite !sumVZ b1 mulr1.
by rewrite ler_pimulr.
Qed.
Lemma drift_sum x : `|sumV (drift x)| <= G x.
Proof. exact: le_trans (sumV_norm _) (drifts_near x). Qed.
Lemma laterE x : later Ms c Q x = share (b x) (s x) (P x) + sumV (drift x).
Proof. rewrite /later /share -sumVD; apply: sumV_eq => y; rewrite /drift; ring. Qed.
Lemma endingE x : ~~ stops x -> ending x = x_of x - sumV (drift x).
Proof. by move=> nf; rewrite /Precision.ending (negPf nf) laterE Q_here // excessE //; ring. Qed.
Lemma emittedE x y : ~~ stops x -> emitted Mb Ms gamma c ends Q x y = over (b x) (s x) (P x) y - drift x y.
Proof. move=> nf; rewrite /emitted (negPf nf) Q_here // overE /drift; ring. Qed.
Lemma excess_le x : ~~ stops x -> x_of x <= ending x + G x.
Proof.
move=> nf; rewrite endingE //; have := le_trans (ler_norm _) (drift_sum x) => le.
by rewrite -addrA ler_addl addrC subr_ge0.
Qed.
Let x0 x : 0 <= x_of x. Proof. by apply: sumV_ge0 => y; apply: over_ge0. Qed.
Lemma ending_norm x : ~~ stops x -> `|ending x| <= ending x + 2%:R * G x.
Proof.
move=> nf; apply: le_trans (_ : x_of x + G x <= _).
  rewrite endingE //; apply: le_trans (ler_norm_sub _ _) _; rewrite (ger0_norm (x0 x)) ler_add2l.
  exact: drift_sum.
have -> : ending x + 2%:R * G x = (ending x + G x) + G x by rewrite -[2%:R]/(1 + 1); ring.
by rewrite ler_add2r; apply: excess_le.
Qed.

(* The survivals as computed, in place of the exact ones. *)
Lemma survivals_moved x y : ~~ stops x ->
  `|emitted Mb Ms gamma c ends Q x y - emitted Mb Ms gamma c ends p x y| + s x y * `|Q (rcons x y) - p (rcons x y)|
  <= `|Q x - p x| * b x y + 2%:R * G x * b x y.
Proof.
move=> nf; rewrite /emitted (negPf nf) Q_here //.
have -> : s x y * `|Q (rcons x y) - p (rcons x y)| = `|s x y * Q (rcons x y) - s x y * p (rcons x y)|.
  by rewrite -mulrBr normrM ger0_norm.
rewrite p_of_min; set m := Num.min (p x * b x y) (s x y); set m' := Num.min (P x * b x y) (s x y).
have -> : s x y * Q (rcons x y) = m' + drift x y by rewrite /drift /m'; ring.
have dn : `|drift x y| <= G x * b x y.
  by apply: le_trans (drift_near x y) _; apply: ler_wpmul2l => //; rewrite ler_pimull.
have -> : `|P x - p x| * b x y = `|P x * b x y - p x * b x y| by rewrite -mulrBl normrM (ger0_norm (b0 x y)).
rewrite -(min_split (s x y) (p x * b x y) (P x * b x y)) -/m -/m'.
have -> : 2%:R * G x * b x y = G x * b x y + G x * b x y by rewrite -[2%:R]/(1 + 1); ring.
have -> : P x * b x y - (m' + drift x y) - (p x * b x y - m)
  = ((P x * b x y - m') - (p x * b x y - m)) - drift x y by ring.
have -> : m' + drift x y - m = (m' - m) + drift x y by ring.
rewrite [X in _ <= X]addrACA; apply: ler_add.
  by apply: le_trans (ler_norm_sub _ _) _; rewrite ler_add2l.
by apply: le_trans (ler_norm_add _ _) _; rewrite ler_add2l.
Qed.

Definition coin_bound : R := coin_apart u d + g * (1 + coin_kept u d).
Definition row_bound h : R := u * (1 + u) + h * (1 + u + 2%:R * lambda).
Let n0 k : 0 <= k%:R :> R. Proof. exact: ler0n. Qed.
Let up : 0 <= 1 + u. Proof. by rewrite addr_ge0 ?ler01. Qed.
Let un k : 0 <= u * (k%:R + u). Proof. by rewrite mulr_ge0 // addr_ge0. Qed.
Let grown k : 0 <= growth u k := growth_ge0 u0 k.
Let own k : 0 <= 1 + u * (k%:R + u). Proof. by rewrite addr_ge0 ?ler01. Qed.
Let kept0 : 0 <= coin_kept u d.
Proof. by rewrite addr_ge0 // mulr_ge0. Qed.
Let apart0 : 0 <= coin_apart u d.
Proof.
have a0 : 0 <= sum_apart u d by apply: mulr_ge0; [exact: mulr_ge0 | rewrite addr_ge0 ?ler01].
have t0 : 0 <= twice u d by apply: mulr_ge0; [exact: un | do 2!apply: addr_ge0 => //].
apply: addr_ge0; last by rewrite mulr_ge0 // mulr_ge0.
by apply: addr_ge0; rewrite mulr_ge0.
Qed.
Let coin0 : 0 <= coin_bound.
Proof. by rewrite addr_ge0 // mulr_ge0 // addr_ge0 ?ler01. Qed.
Let eta0 : 0 <= eta.
Proof. by have [_] := decided (clipped_range (0 : R)); apply: le_trans. Qed.
Let lambda0 : 0 <= lambda.
Proof.
have [r [_ _ le _]] := drawn_near [::]; apply: le_trans le.
by rewrite /total_variation divr_ge0 ?ler0n // sumV_ge0.
Qed.
Let row0 h : 0 <= h -> 0 <= row_bound h.
Proof.
by move=> h0; apply: addr_ge0; apply: mulr_ge0 => //; apply: addr_ge0 => //; apply: mulr_ge0.
Qed.

Lemma coin_here x : (size x <= gamma)%N -> `|none x * coin_used x - ending x|
  <= (eta + (if (size x < gamma)%N then coin_bound else g)) + (if stops x then 0 else ending x * coin_kept u d).
Proof.
move=> le; rewrite /coin_used; case: (boolP (stops x)) => [f|nf].
  rewrite addr0 /Precision.none /Precision.ending f mul1r; have [_ hF] := decided (survivals_range x).
  have -> : F (P x) - Q x = (F (P x) - P x) + (P x - Q x) by ring.
  apply: le_trans (ler_norm_add _ _) _; apply: ler_add => //; apply: le_trans (Q_near x) _.
  case: ifP => // _; apply: ler_paddl => //; apply: ler_pemulr => //; rewrite ler_addl //.
have lt : (size x < gamma)%N by move: nf; rewrite /final negb_or -ltnNge => /andP[].
rewrite lt; set h := clipped (H x); have h01 : 0 <= h <= 1 := clipped_range _; have [h0 h1] := andP h01.
have [_ hF] := decided h01.
have later0 : 0 <= later Ms c Q x by apply: sumV_ge0 => y; apply: mulr_ge0 => //; case/andP: (Q_range (rcons x y)).
have later1 : later Ms c Q x <= 1.
  by rewrite -(s1 x); apply: sumV_le => y; rewrite ler_pimulr //; case/andP: (Q_range (rcons x y)).
have -> : none x * F h - ending x = none x * (F h - h) + (none x * h - ending x) by ring.
apply: le_trans (ler_norm_add _ _) _; rewrite -addrA; apply: ler_add.
  rewrite normrM; apply: le_trans hF; rewrite ler_pimull //.
  by rewrite /Precision.none (negPf nf) ger0_norm ?subr_ge0 // ler_subl_addr ler_addl.
have -> : none x * h - ending x = ((1 - share (b x) (s x) (P x)) * h - x_of x) + sumV (drift x) * (1 - h).
  by rewrite endingE // /Precision.none (negPf nf) laterE; ring.
have [z [e we]] := wc x; have [e' [a [D [[e'0 e'w] ar Dr Hr]]]] := Hc x.
have zr y : rounds u (P x * b x y) (z y) by case: (we y).
have er y : rounds u (z y - s x y) (e y) by case: (we y).
have wE y : w x y = Num.max (e y) 0 by case: (we y).
have cn := coin_near u0 u1 (b0 x) (s0 x) (b1 x) (survivals_range x) zr er wE e'w e'0 ar Dr Hr.
apply: le_trans (ler_norm_add _ _) _.
apply: le_trans (_ : coin_apart u d + coin_kept u d * x_of x + g <= _).
  apply: ler_add; first exact: cn.
  rewrite normrM; apply: le_trans (Gg x); apply: le_trans (drift_sum x); rewrite ler_pimulr //.
  by rewrite ger0_norm ?subr_ge0 // ler_subl_addr ler_addl.
have -> : coin_bound + ending x * coin_kept u d = coin_apart u d + coin_kept u d * (ending x + g) + g.
  by rewrite /coin_bound; ring.
rewrite ler_add2r ler_add2l; apply: ler_wpmul2l => //; apply: le_trans (excess_le nf) _.
by rewrite ler_add2l.
Qed.
Lemma row_here x (U : seq V -> V -> R) : (size x <= gamma)%N -> (forall x y, 0 <= U x y <= 1) ->
  `|ending x * drawn_worth drawn U x - gives Mb Ms gamma c ends Q U x|
  <= (if (size x < gamma)%N then row_bound (G x) else 0) + ending x * (u + lambda).
Proof.
move=> le U01; have [r [r1 r0 rl re]] := drawn_near x; have h2 : 0 <= 2%:R^-1 :> R by rewrite invr_ge0 ler0n.
have -> : ending x * drawn_worth drawn U x - gives Mb Ms gamma c ends Q U x
  = sumV (fun y => (ending x * drawn x y - emitted Mb Ms gamma c ends Q x y) * U x y).
  by rewrite /drawn_worth /draw /gives -sumVZ -sumVB; apply: sumV_eq => y; ring.
apply: le_trans (balanced _ (U01 x)) _; first by rewrite sumVB sumVZ drawn1 mulr1 emitted_sum subrr.
move: re; case: (boolP (stops x)) => [f re|nf re].
  have /andP[q0 _] := Q_range x.
  rewrite /Precision.ending /emitted f; apply: ler_paddl; first by case: ifP => // _; apply: row0.
  have -> : sumV (fun y => `|Q x * drawn x y - (Q x * b x y - 0)|) / 2%:R = Q x * total_variation r (drawn x).
    rewrite /total_variation mulrA -sumVZ; congr (_ / _); apply: sumV_eq => y.
    by rewrite subr0 -mulrBr normrM (ger0_norm q0) re.
  by apply: ler_wpmul2l => //; apply: le_trans rl _; rewrite ler_addr.
have lt : (size x < gamma)%N by move: nf; rewrite /final negb_or -ltnNge => /andP[].
rewrite lt; have [z [e we]] := wc x.
have zr y : rounds u (P x * b x y) (z y) by case: (we y).
have er y : rounds u (z y - s x y) (e y) by case: (we y).
have wE y : w x y = Num.max (e y) 0 by case: (we y).
have rn := row_near u0 u1 (b0 x) (b1 x) (survivals_range x) zr er wE re r1 r0.
apply: le_trans (_ : `|ending x| * total_variation r (drawn x)
   + sumV (fun y => `|x_of x * r y - over (b x) (s x) (P x) y|) / 2%:R
   + (sumV (fun y => `|sumV (drift x)| * r y) + sumV (fun y => `|drift x y|)) / 2%:R <= _).
  rewrite /total_variation mulrA -!mulrDl; apply: ler_wpmul2r => //; rewrite -sumVZ -!sumVD; apply: sumV_le => y.
  rewrite emittedE //.
  have -> : ending x * drawn x y - (over (b x) (s x) (P x) y - drift x y)
    = ending x * (drawn x y - r y) + (x_of x * r y - over (b x) (s x) (P x) y)
      + (- (sumV (drift x) * r y) + drift x y).
    by rewrite (endingE nf); ring.
  apply: le_trans (ler_norm_add _ _) _; apply: ler_add.
    by apply: le_trans (ler_norm_add _ _) _; rewrite normrM.
  by apply: le_trans (ler_norm_add _ _) _; rewrite normrN normrM (ger0_norm (r0 y)).
have -> : row_bound (G x) + ending x * (u + lambda)
  = (ending x + 2%:R * G x) * lambda + (u * (1 + u) + u * (ending x + G x)) + G x by rewrite /row_bound; ring.
apply: ler_add; first apply: ler_add.
- apply: le_trans (_ : `|ending x| * lambda <= _); first exact: ler_wpmul2l.
  by apply: ler_wpmul2r => //; apply: ending_norm.
- apply: le_trans rn _; rewrite ler_add2l; apply: ler_wpmul2l => //; exact: excess_le.
- rewrite sumVZ r1 mulr1 ler_pdivr_mulr ?ltr0n // mulr_natr mulr2n.
  by apply: ler_add; [exact: drift_sum | exact: drifts_near].
Qed.

(* To first order in u: (9 gamma + d - 1) u if gamma > 1, and 4 u if it is 1. *)
Theorem block_rounding (U : seq V -> V -> R) : (forall x y, 0 <= U x y <= 1) ->
  `|draft Ms c ends gamma [::] (fun X => sub_verify coin_used drawn X U)
    - draft Ms c ends gamma [::] (fun X => block_verify Mb Ms c X U)|
  <= gamma%:R * eta + gamma.-1%:R * (growth u 2 + row_bound (growth u 2) + coin_bound)
    + (if (1 < gamma)%N then coin_kept u d * (1 + growth u 2) else 0)
    + (if (0 < gamma)%N then growth u 2 + row_bound 0 else 0) + u + lambda.
Proof.
move=> U01.
have c01 x : 0 <= coin_used x <= 1.
  rewrite /coin_used; set h := if _ then _ else _.
  have h01 : 0 <= h <= 1 by rewrite /h; case: ifP => // _; [exact: survivals_range | exact: clipped_range].
  by case: (decided h01).
have -> : draft Ms c ends gamma [::] (fun X => block_verify Mb Ms c X U)
    = draft Ms c ends gamma [::] (fun X => sub_verify (coin_of Ms gamma c ends p) (row_of Mb Ms gamma c ends p) X U).
  by have := @block_loop_sub _ _ Mb Ms gamma c ends U gamma [::] [::]; apply; [|left].
have p1 : p [::] = 1 by [].
rewrite (draft_exact p1 (p_of_range Mb Ms c) (fun x y _ => p_of_le Mb Ms c x y) U01).
have Qone : Q [::] = 1 by [].
have near := @draft_near _ _ Mb Ms gamma c ends Q coin_used drawn U Qone c01 drawn0 drawn1 U01.
have moved := survivals_apart g0 p1 Qone survivals_moved U01.
set v := draft _ _ _ _ _ _ in near *; set v' := all_gives _ _ _ _ _ Q _ _ _ in near moved.
set v'' := all_gives _ _ _ _ _ p _ _ _ in moved *.
have -> : v - v'' = (v' - v'') + (v - v') by ring.
apply: le_trans (ler_norm_add _ _) _.
have -> : gamma%:R * eta + gamma.-1%:R * (g + row_bound g + coin_bound)
    + (if (1 < gamma)%N then coin_kept u d * (1 + g) else 0) + (if (0 < gamma)%N then g + row_bound 0 else 0) + u + lambda
  = gamma.-1%:R * g + (gamma%:R * eta + gamma.-1%:R * (row_bound g + coin_bound)
    + (if (0 < gamma)%N then g + row_bound 0 else 0)
    + (if (1 < gamma)%N then coin_kept u d * (1 + g) else 0) + (u + lambda)) by ring.
apply: ler_add; first exact: moved.
apply: le_trans near _.
pose row i := if (i.+1 < gamma)%N then row_bound g else if (i < gamma)%N then row_bound 0 else 0.
pose level i := eta + (if (i < gamma)%N then coin_bound else g) + row i.
pose kept x := if stops x then 0 else ending x * coin_kept u d.
pose last x := ending x * (u + lambda).
have rowE x : (if (size x < gamma)%N then row_bound (G x) else 0) = row (size x).
  rewrite /row /G; case: ifP => lt; case: ifP => // lt'.
  by rewrite (ltn_trans (ltnSn _) lt') in lt.
have row_ge0 i : 0 <= row i by rewrite /row; case: ifP => _; [|case: ifP => // _]; apply: row0.
have level0 i : (i <= gamma)%N -> 0 <= level i.
  by move=> _; rewrite addr_ge0 // addr_ge0 //; case: ifP.
have off_le x : (size x <= gamma)%N ->
  off Ms gamma c ends Q coin_used (drawn_worth drawn U) (gives Mb Ms gamma c ends Q U) x <= (level (size x) + kept x) + last x.
  move=> le; have -> : level (size x) + kept x + last x
    = ((eta + (if (size x < gamma)%N then coin_bound else g)) + kept x) + (row (size x) + last x) by rewrite /level; ring.
  by rewrite -rowE; apply: ler_add; [exact: coin_here | exact: row_here].
have root : - ending [::] <= g.
  case: (boolP (stops [::])) => [f|nf]; first by rewrite /Precision.ending f Qone; apply: le_trans g0; rewrite oppr_le0 ler01.
  rewrite endingE // opprB; apply: le_trans (Gg [::]); apply: le_trans (drift_sum [::]); apply: le_trans (ler_norm _).
  by rewrite ler_subl_addr ler_addl.
have keeping : below Ms c ends kept gamma [::] <= (if (1 < gamma)%N then coin_kept u d * (1 + g) else 0).
  case: ifP => [_|le]; last first.
    have stop (y : V) : stops [:: y] = true by rewrite /final; move: le; case: (gamma) => [|[|n]].
    move: le stop; rewrite /kept; case: (gamma) => [|[|n]] //= _ stop; case: ifP => _ //.
    by rewrite (sumV_eq (g := fun=> 0)) ?sumV0 // => y; rewrite ?stop /= addr0 mulr0.
  have all := @below_ending _ _ Ms gamma c ends Q gamma [::] (coin_kept u d) (add0n gamma); rewrite Qone mul1r in all.
  apply: le_trans (_ : below Ms c ends (fun x => ending x * coin_kept u d) gamma [::] <= _).
    apply: below_le => x; rewrite /kept; case: ifP => // f; apply: mulr_ge0 => //.
    by rewrite /Precision.ending f; case/andP: (Q_range x).
  have -> : below Ms c ends (fun x => ending x * coin_kept u d) gamma [::] = coin_kept u d * (1 - ending [::]).
    set B := below _ _ _ _ _ _ in all *; have -> : B = (ending [::] * coin_kept u d + B) - ending [::] * coin_kept u d by ring.
    by rewrite all; ring.
  by apply: ler_wpmul2l => //; rewrite ler_add2l.
have lasts := @below_ending _ _ Ms gamma c ends Q gamma [::] (u + lambda) (add0n gamma); rewrite Qone mul1r in lasts.
have levels := @below_levels _ _ Ms gamma c ends (fun x => level (size x)) level gamma [::] (add0n gamma)
  (fun _ _ => lexx _) level0.
apply: le_trans (_ : (row 0%N + ending [::] * (u + lambda))
  + below Ms c ends (fun x => (level (size x) + kept x) + last x) gamma [::] <= _).
  by rewrite -[row 0%N](rowE [::]); apply: ler_add; [apply: row_here | apply: below_le_here].
rewrite (@belowD _ _ Ms c ends (fun x => level (size x) + kept x) last) (@belowD _ _ Ms c ends (fun x => level (size x)) kept).
have count : row 0%N + \sum_(i < gamma) level i.+1
  = gamma%:R * eta + gamma.-1%:R * (row_bound g + coin_bound) + (if (0 < gamma)%N then g + row_bound 0 else 0).
  rewrite /level /row; case: (gamma) => [|n]; first by rewrite big_ord0 !mul0r !addr0.
  have -> : n.+1.-1 = n by [].
  have -> : n.+1%:R = n%:R + 1 :> R by rewrite -[n.+1]addn1 natrD.
  case: n => [|n]; first by rewrite mulr0n big_ord_recr big_ord0 /=; ring.
  rewrite 2!big_ord_recr /= !ltnn ltnSn (ltnNge n.+3) (leqW (leqnn _)) /= (eq_bigr (fun=> eta + coin_bound + row_bound g)); last first.
    by move=> i _; rewrite !ltnS ltn_ord ltnW.
  by rewrite sumr_const card_ord -mulr_natl -[n.+1]addn1 natrD; ring.
have -> : gamma%:R * eta + gamma.-1%:R * (row_bound g + coin_bound)
    + (if (0 < gamma)%N then g + row_bound 0 else 0)
    + (if (1 < gamma)%N then coin_kept u d * (1 + g) else 0) + (u + lambda)
  = (row 0%N + \sum_(i < gamma) level i.+1) + (if (1 < gamma)%N then coin_kept u d * (1 + g) else 0) + (u + lambda).
  by rewrite count.
set k := below Ms c ends kept gamma [::] in keeping *.
set l := below Ms c ends (fun x => level (size x)) gamma [::] in levels *.
set m := below Ms c ends last gamma [::].
have -> : row 0%N + ending [::] * (u + lambda) + (l + k + m) = (row 0%N + l) + k + (ending [::] * (u + lambda) + m) by ring.
by rewrite lasts ler_add2r; apply: ler_add => //; rewrite ler_add2l.
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
