(* Block verification as a stream (Appendix A) in floating point.  An outcome so far that is replaced otherwise counts as
   often as it would be kept by what follows: that is the sum of the weights of its step, so that none of them is divided by
   what may be small.  What is assumed is the standard model of Rounding.v. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum zify.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Models Algorithms Verifier Block Greedy SubBlocks Precision Rounding BlockRounding ProblemRounding GreedyRounding SeveralDrafts TreeRounding SiblingRounding Descent DescentRounding PathRounding MonteCarloRounding Stream.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

(* Numbers of the tokens, and of one thing more. *)
Section OneMore.
Variables (V : vocabulary) (R : realFieldType).
Lemma half_near (f A : V -> R) (f0 A0 : R) : sumV f + f0 = 0 -> (forall y, 0 <= A y <= 1) -> 0 <= A0 <= 1 ->
  2%:R * `|sumV (fun y => f y * A y) + f0 * A0| <= sumV (fun y => `|f y|) + `|f0|.
Proof.
move=> f1 A01 A01'; have hh : 2%:R * 2%:R^-1 = 1 :> R by rewrite mulfV // pnatr_eq0.
have -> : sumV (fun y => f y * A y) + f0 * A0 = sumV (fun y => f y * (A y - 2%:R^-1)) + f0 * (A0 - 2%:R^-1).
  rewrite (sumV_eq (f := fun y => f y * (A y - _)) (g := fun y => f y * A y - f y * 2%:R^-1)) => [|y]; last by ring.
  by rewrite sumVB sumVZr -[sumV f](addrK f0) f1; ring.
have term (x t : R) : 0 <= t <= 1 -> `|x * (t - 2%:R^-1)| <= `|x| * 2%:R^-1.
  by move=> t01; rewrite normrM; apply: ler_wpmul2l => //; exact: (half_range t01).
apply: le_trans (_ : 2%:R * ((sumV (fun y => `|f y|) + `|f0|) * 2%:R^-1) <= _); last by rewrite mulrCA hh mulr1.
apply: ler_wpmul2l; first exact: ler0n.
apply: le_trans (ler_norm_add _ _) _; rewrite mulrDl; apply: ler_add; last exact: term.
by apply: le_trans (sumV_norm _) _; rewrite -sumVZr; apply: sumV_le => y; apply: term.
Qed.
(* A draw by the weights w and w0, times the sum of the exact ones. *)
Lemma shares_near (a w r A : V -> R) (a0 w0 r0 A0 : R) : 0 <= sumV a + a0 -> sumV r + r0 = 1 -> (forall y, 0 <= r y) -> 0 <= r0 ->
  (forall y, r y * (sumV w + w0) = w y) -> r0 * (sumV w + w0) = w0 -> (forall y, 0 <= A y <= 1) -> 0 <= A0 <= 1 ->
  `|(sumV a + a0) * (sumV (fun y => r y * A y) + r0 * A0) - (sumV (fun y => a y * A y) + a0 * A0)|
  <= sumV (fun y => `|w y - a y|) + `|w0 - a0|.
Proof.
move=> D0 r1 rp r0p rw rw0 A01 A01'; set D := sumV a + a0 in D0 *; set T := sumV w + w0 in rw rw0.
set E := sumV (fun y => `|w y - a y|) + _; have TD : `|D - T| <= E.
  have -> : D - T = - (sumV (fun y => w y - a y) + (w0 - a0)) by rewrite /D /T sumVB; ring.
  by rewrite normrN; apply: le_trans (ler_norm_add _ _) _; rewrite ler_add2r; apply: sumV_norm.
have -> : D * (sumV (fun y => r y * A y) + r0 * A0) - (sumV (fun y => a y * A y) + a0 * A0)
  = sumV (fun y => (D * r y - a y) * A y) + (D * r0 - a0) * A0.
  rewrite (sumV_eq (f := fun y => (_ - _) * A y) (g := fun y => D * (r y * A y) - a y * A y)) => [|y]; last by ring.
  by rewrite sumVB sumVZ; ring.
have two : 0 < 2%:R :> R by rewrite ltr0n.
rewrite -(ler_pmul2l two); apply: le_trans (half_near _ A01 A01') _.
  by rewrite sumVB sumVZ -/D -[sumV r](addrK r0) r1 /D; ring.
have gap (t b x : R) : 0 <= t -> t * T = b -> `|D * t - x| <= `|D - T| * t + `|b - x|.
  move=> t0 tT; have -> : D * t - x = (D - T) * t + (b - x) by rewrite -tT; ring.
  by apply: le_trans (ler_norm_add _ _) _; rewrite normrM (ger0_norm t0).
apply: le_trans (_ : sumV (fun y => `|D - T| * r y + `|w y - a y|) + (`|D - T| * r0 + `|w0 - a0|) <= _).
  by apply: ler_add; [apply: sumV_le => y|]; apply: gap.
rewrite sumVD sumVZ addrACA -mulrDr r1 mulr1 mulr_natl mulr2n; exact: ler_add.
Qed.
End OneMore.

Section StreamRounding.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma : nat) (c : seq V).
Variables (u o kappa : R) (d : nat) (B S : seq V -> V -> R).
Hypotheses (u0 : 0 <= u) (u1 : u < 1) (o0 : 0 <= o) (o1 : o < 1) (kappa0 : 0 <= kappa).
Notation p := (p_of Mb Ms c).
Notation b x := (Mb (c ++ x)).
Notation s x := (Ms (c ++ x)).
Notation rounds := (Rounding.rounds u).
Hypotheses (Bb : forall x y, rel o (b x y) (B x y)) (Ss : forall x y, rel o (s x y) (S x y)).
Implicit Types (x : seq V) (a : R).
Variables (P stays : seq V -> R) (w drawn : seq V -> V -> R).
Let u1' : u <= 1. Proof. exact: ltW. Qed.
(* What follows x, with weights w, replaces the outcome so far, with weight v = 1 - p, or does not; computed, the step is
   skipped where ((sum of w) + 1) - p is 0.  The draw is within kappa of the weights. *)
Definition step_computed x : Prop := exists v e a n,
  [/\ rounds (1 - P x) v, 0 <= e /\ within u d (sumV (w x)) e, rounds (e + 1) a, rounds (a - P x) n &
      if n == 0 then (forall y, drawn x y = 0) /\ stays x = 1
      else exists (r : V -> R) r0, [/\ sumV r + r0 = 1, (forall y, 0 <= r y) /\ 0 <= r0,
        forall y, r y * (sumV (w x) + v) = w x y, r0 * (sumV (w x) + v) = v &
        sumV (fun y => `|drawn x y - r y|) + `|stays x - r0| <= 2%:R * kappa]].
Definition weights_here x : Prop :=
  if (size x < gamma)%N then weights_given u B S P w x else forall y, rounds (P x * B x y) (w x y).
Hypotheses (Pc : survivals_given u B S P) (wc : forall x, weights_here x) (Sc : forall x, step_computed x).
Hypotheses (drawn0 : forall x y, 0 <= drawn x y) (stays0 : forall x, 0 <= stays x).
Hypothesis drawn1 : forall x, sumV (drawn x) + stays x = 1.
Variable A : seq V -> V -> R.
Hypothesis A01 : forall x y, 0 <= A x y <= 1.
Definition outcome x a : R := sumV (fun y => drawn x y * A x y) + stays x * a.
Fixpoint stream_computed x a (X : seq V) : R :=
  if X is y :: X' then stream_computed (rcons x y) (outcome x a) X' else outcome x a.
(* The weights of a step, exact; what a step costs. *)
Definition weight x y : R := if (size x < gamma)%N then over (b x) (s x) (p x) y else p x * b x y.
Definition stream_cost (k : R) : R := sum_cost u o d k + Num.max (both k u) (u / (1 - u)).
Notation k x := (survival_off u o (size x)).

Lemma outcome_range x a : 0 <= a <= 1 -> 0 <= outcome x a <= 1.
Proof.
move=> /andP[a0 a1]; rewrite /outcome; apply/andP; split.
  by apply: addr_ge0; [apply: sumV_ge0 => y; have /andP[] := A01 x y => *; apply: mulr_ge0 | apply: mulr_ge0].
rewrite -(drawn1 x); apply: ler_add; last exact: ler_pimulr.
by apply: sumV_le => y; apply: ler_pimulr => //; have /andP[] := A01 x y.
Qed.
Lemma weight_ge0 x y : 0 <= weight x y.
Proof. by rewrite /weight; case: ifP => _; [apply: over_ge0 | rewrite mulr_ge0 ?row_ge0 ?p_of_ge0]. Qed.
Lemma weight_all x : sumV (weight x) <= p x.
Proof.
rewrite /weight; case: (size x < gamma)%N; last by rewrite sumVZ row_sum mulr1.
rewrite -/(excess _ _ _) excessE ?row_sum // ler_subl_addr ler_addl.
by apply: sumV_ge0 => y; rewrite le_minr row_ge0 mulr_ge0 ?row_ge0 ?p_of_ge0.
Qed.
Lemma k_ge0 x : 0 <= k x. Proof. exact: survival_off_ge0. Qed.
Lemma P_near x : rel (k x) (p x) (P x) /\ 0 <= P x <= 1.
Proof.
have [Pr P0] := survival_near_off u0 u1' o0 o1 Bb Ss Pc x; split=> //; rewrite P0 /=.
have [P1 Ps] := Pc; case/lastP: {Pr P0} x => [|x y]; first by rewrite P1.
by have [r [t [_ _ ->]]] := Ps x y; rewrite le_minl lexx orbT.
Qed.
Lemma w_near x : sumV (fun y => `|w x y - weight x y|) <= weights_cost u o (k x).
Proof.
have [Pr /andP[P0 _]] := P_near x; have p01 := p_of_range Mb Ms c x; have /andP[p0 p1] := p01.
have := wc x; rewrite /weights_here /weight; case: ifP => _ we.
  have [z [e {}we]] := we.
  apply: le_trans (weights_cost_ge u0 o0 (k_ge0 x) (row_ge0 Mb _) (row_sum Mb _) (row_ge0 Ms _) (row_sum Ms _) p01).
  by apply: sumV_le => y; have [hz he ->] := we y;
    exact: (weight_here u0 u1' o0 (k_ge0 x) (row_ge0 Mb _) (row_ge0 Ms _) (Bb x) (Ss x) p0 Pr hz he).
set W := weight_error u o (k x).
have W0 : 0 <= W by rewrite !both_ge0 // k_ge0.
apply: le_trans (_ : sumV (fun y => W * (p x * b x y)) <= _).
  apply: sumV_le => y; have pb0 : 0 <= p x * b x y by rewrite mulr_ge0 ?row_ge0.
  exact: (rel_rounds u0 (both_ge0 (k_ge0 x) o0) pb0 (rel_mul (k_ge0 x) p0 (row_ge0 Mb _ y) Pr (Bb x y)) (we y)).
rewrite !sumVZ row_sum mulr1; apply: le_trans (ler_pimulr W0 p1) _.
rewrite /weights_cost -/W mulrDl mul1r -[X in _ <= X]addrA; apply: le_trans (_ : W + o <= _); first by rewrite ler_addl.
by rewrite ler_addl addr_ge0 // mulr_ge0 // addr_ge0.
Qed.
Lemma step_near x a : 0 <= a <= 1 -> `|(sumV (weight x) + (1 - p x)) * outcome x a
    - (sumV (fun y => weight x y * A x y) + (1 - p x) * a)| <= stream_cost (k x) + kappa.
Proof.
move=> a01; have [Pr /andP[P0 P1]] := P_near x; have /andP[p0 p1] := p_of_range Mb Ms c x.
have [v [e [a' [n [hv [e0 ew] ha hn he]]]]] := Sc x; have wn := w_near x; have k0 := k_ge0 x.
have le1 := le_trans (weight_all x) p1; have W0 : 0 <= sumV (weight x) by apply: sumV_ge0 => y; apply: weight_ge0.
set W := sumV (fun y => `|w x y - weight x y|) in wn.
have Wp : 0 <= W by apply: sumV_ge0.
have eT : `|e - sumV (weight x)| <= sum_cost u o d (k x).
  by apply: le_trans (total_here u0 (lexx W) ew) _; exact: sum_cost_ge.
set T := sum_cost u o d (k x) in eT *; have WT : W <= T.
  rewrite /T /sum_cost; apply: (le_trans wn); rewrite ler_addl mulr_ge0 ?growth_ge0 //.
  by rewrite addr_ge0 ?ler01 // (le_trans Wp wn).
set D := sumV (weight x) + (1 - p x); have D0 : 0 <= D by rewrite addr_ge0 // subr_ge0.
have D1 : D <= 1 by rewrite /D addrCA ger_addl subr_le0 weight_all.
case: eqP he => [n0 [hd hs]|_ [r [r0 [r1 [rp r0p] rw rw0 near]]]].
  have -> : outcome x a = a by rewrite /outcome hs mul1r (sumV_eq (g := fun=> 0)) ?sumV0 ?add0r // => y; rewrite hd mul0r.
  have aP : a' = P x.
    apply/eqP; rewrite -subr_eq0 -normr_le0 -(pmulr_rle0 _ (_ : 0 < 1 - u)) ?subr_gt0 //.
    by move: hn; rewrite /Rounding.rounds n0 sub0r normrN mulrBl mul1r subr_le0.
  have eu : e <= u / (1 - u).
    rewrite ler_pdivl_mulr ?subr_gt0 //; have e1 : 0 <= e + 1 by rewrite addr_ge0 ?ler01.
    move: ha; rewrite aP /Rounding.rounds (ger0_norm e1) ler_norml => /andP[lo _].
    have : (1 - u) * (e + 1) <= 1 by rewrite mulrBl mul1r; apply: le_trans P1; move: lo; rewrite ler_subr_addr addrC.
    by rewrite mulrDr mulr1 [(1 - u) * e]mulrC -ler_subr_addr opprB addrCA subrr addr0.
  have -> : D * a - (sumV (fun y => weight x y * A x y) + (1 - p x) * a) = sumV (fun y => weight x y * (a - A x y)).
    rewrite [RHS](sumV_eq (g := fun y => weight x y * a - weight x y * A x y)) => [|y]; last by ring.
    by rewrite sumVB sumVZr /D; ring.
  apply: le_trans (_ : sumV (weight x) <= _).
    apply: le_trans (sumV_norm _) _; apply: sumV_le => y; rewrite normrM (ger0_norm (weight_ge0 x y)).
    by apply: ler_pimulr; [exact: weight_ge0 | exact: mix_gap].
  apply: le_trans (_ : T + u / (1 - u) <= _); last by rewrite -[X in X <= _]addr0 ler_add // ler_add2l le_maxr lexx orbT.
  by rewrite -[sumV _](subrK e) ler_add //; apply: le_trans (ler_norm _) _; rewrite distrC.
have vn : `|v - (1 - p x)| <= both (k x) u.
  have -> : v - (1 - p x) = (v - (1 - P x)) - (P x - p x) by ring.
  apply: le_trans (ler_norm_sub _ _) _; have Pk : `|P x - p x| <= k x by apply: le_trans Pr _; exact: ler_pimulr.
  have -> : both (k x) u = u * (1 + k x) + k x by rewrite /both; ring.
  apply: ler_add => //; apply: le_trans hv _; apply: ler_wpmul2l => //; rewrite ger0_norm ?subr_ge0 //.
  by apply: le_trans (_ : 1 <= _); [rewrite ler_subl_addr ler_addl | rewrite ler_addl].
set X := sumV (fun y => r y * A x y) + r0 * a.
have -> : D * outcome x a - (sumV (fun y => weight x y * A x y) + (1 - p x) * a)
  = (D * X - (sumV (fun y => weight x y * A x y) + (1 - p x) * a)) + D * (outcome x a - X) by ring.
apply: le_trans (ler_norm_add _ _) _; apply: ler_add.
  apply: le_trans (shares_near D0 r1 rp r0p rw rw0 (A01 x) a01) _; apply: ler_add => //.
  by apply: le_trans vn _; rewrite le_maxr lexx.
rewrite normrM (ger0_norm D0); apply: le_trans (ler_pimull (normr_ge0 _) D1) _.
have two : 0 < 2%:R :> R by rewrite ltr0n.
rewrite -(ler_pmul2l two); apply: le_trans near.
have -> : outcome x a - X = sumV (fun y => (drawn x y - r y) * A x y) + (stays x - r0) * a.
  by rewrite (sumV_eq (fun y => mulrBl _ _ _)) sumVB /outcome /X; ring.
apply: half_near => //; rewrite sumVB -[sumV (drawn x)](addrK (stays x)) drawn1 -[sumV r](addrK r0) r1; ring.
Qed.

Lemma stream_near n x a : (size x + n)%N = gamma -> 0 <= a <= 1 ->
  `|gen Ms n (c ++ x) (stream_computed x a) - gen Ms n (c ++ x) (stream Mb Ms c A x (p x) a)|
  <= \sum_(i < n.+1) (stream_cost (survival_off u o (size x + i)) + kappa).
Proof.
elim: n x a => [|n IH] x a hn a01; have p01 := p_of_range Mb Ms c x; have near := step_near x a01.
  have last : (size x < gamma)%N = false by rewrite -hn addn0 ltnn.
  rewrite big_ord_recl big_ord0 addr0 addn0 /=; move: near; rewrite /weight last sumVZ row_sum mulr1 addrCA subrr addr0 mul1r.
  exact.
have lt : (size x < gamma)%N by rewrite -hn addnS ltnS leq_addr.
have hn' y : (size (rcons x y) + n)%N = gamma by rewrite size_rcons addSnnS.
rewrite big_ord_recl addn0 (eq_bigr (fun i : 'I_n.+1 => stream_cost (survival_off u o ((size x).+1 + i)%N) + kappa)) => [|i _]; last first.
  by rewrite addSnnS.
set rest := \sum_(i < n.+1) _; set a' := outcome x a in near.
have a'01 : 0 <= a' <= 1 := outcome_range x a01.
pose f y := gen Ms n (c ++ rcons x y) (stream_computed (rcons x y) a').
pose g y := gen Ms n (c ++ rcons x y) (stream Mb Ms c A (rcons x y) (p (rcons x y)) a').
have gE y : g y = held_by Mb Ms c A n (rcons x y) (p (rcons x y)) + (1 - p (rcons x y)) * a'.
  by rewrite -(@stream_held _ _ Mb Ms gamma c A _ _ _ a' (hn' y) (p_of_range _ _ _ _)).
have both_steps : sumV (fun y => s x y * g y) - (held_by Mb Ms c A n.+1 x (p x) + (1 - p x) * a)
    = (sumV (weight x) + (1 - p x)) * a' - (sumV (fun y => weight x y * A x y) + (1 - p x) * a).
  rewrite (sumV_eq (g := fun y => s x y * (held_by Mb Ms c A n (rcons x y) (p (rcons x y)) + (1 - next_p (b x) (s x) (p x) y) * a'))) => [|y]; last first.
    by rewrite gE p_of_rcons.
  rewrite -spread ?row_sum ?p_of_ge0 //= [(p x - _) * _]mulrC residualE ?row_sum // /weight lt -/(excess _ _ _) excessE ?row_sum //.
  rewrite (sumV_eq (f := fun y => s x y * held_by Mb Ms c A n (rcons x y) (next_p _ _ _ y)) (g := fun y => s x y * held_by Mb Ms c A n (rcons x y) (p (rcons x y)))) => [|y]; last by rewrite p_of_rcons.
  ring.
rewrite (@stream_held _ _ Mb Ms gamma c A _ _ _ a hn p01); set h := held_by _ _ _ _ _ _ _ + _ in both_steps *.
have -> : gen Ms n.+1 (c ++ x) (stream_computed x a) - h = (sumV (fun y => s x y * g y) - h) + sumV (fun y => s x y * (f y - g y)).
  rewrite genS (sumV_eq (f := fun y => s x y * (f y - g y)) (g := fun y => s x y * f y - s x y * g y)) => [|y]; last by rewrite mulrBr.
  rewrite sumVB (sumV_eq (g := fun y => s x y * f y)) => [|y]; last by rewrite /f rcons_cat.
  ring.
apply: le_trans (ler_norm_add _ _) _; apply: ler_add; first by rewrite both_steps.
apply: le_trans (sumV_norm _) _; rewrite -[rest]mul1r -(row_sum Ms (c ++ x)) -sumVZr; apply: sumV_le => y.
rewrite normrM (ger0_norm (row_ge0 _ _ _)); apply: ler_wpmul2l; first exact: row_ge0.
by have := IH (rcons x y) a' (hn' y) a'01; rewrite size_rcons.
Qed.
(* a: what the outcome is worth that the stream begins with; it is surely replaced. *)
Theorem stream_rounding a : 0 <= a <= 1 ->
  `|gen Ms gamma c (stream_computed [::] a) - gen Ms gamma c (fun X => block_verify Mb Ms c X A)|
  <= \sum_(i < gamma.+1) (stream_cost (survival_off u o i) + kappa).
Proof. by move=> a01; rewrite -(@stream_law _ _ Mb Ms gamma c A a); have := @stream_near gamma [::] a (add0n gamma) a01; rewrite cats0. Qed.
End StreamRounding.
