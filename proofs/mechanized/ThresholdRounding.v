(* Verification by thresholds in floating point, against the same rule in exact numbers: one coin for all siblings, of whose
   tail each next one is a share, so that the shares telescope.  What is assumed is the standard model of Rounding.v, and that
   a running sum of numbers that are not negative does not decrease, nor what is computed from it by rounding. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum zify.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Models Algorithms Verifier Block SubBlocks Precision Rounding BlockRounding ProblemRounding SeveralDrafts TreeRounding SiblingRounding Descent DescentRounding StepRounding.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

(* One sibling: a of the coin's tail is left before it, b after it; computed a' and b'.  r: how often it is rejected. *)
Section Share.
Variables (R : realFieldType) (u eta : R) (Fd : R -> R).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1).
Hypothesis decided : forall h, 0 <= h <= 1 -> 0 <= Fd h <= 1 /\ `|Fd h - h| <= eta.
Notation rounds := (Rounding.rounds u).
Lemma share_near (a b a' b' al be z h : R) : 0 <= a <= 1 -> 0 <= b <= 1 -> 0 <= b' -> b' <= a' -> a' <= 1 ->
  `|a' - a| <= al -> `|b' - b| <= be -> 0 < a' -> rounds (b' / a') z -> rounds (1 - z) h ->
  `|b - a * (1 - Fd (clipped h))| <= al + be + (both u u + eta).
Proof.
move=> /andP[a0 a1] /andP[b0 b1] b'0 b'a a'1 na nb a'p hz hh.
have [/andP[F0 F1] FE] := decided (clipped_range h).
pose q := b' / a'; have q0 : 0 <= q by rewrite divr_ge0 // ltW.
have q1 : q <= 1 by rewrite ler_pdivr_mulr // mul1r.
have zq : `|z - q| <= u * q by move: hz; rewrite /Rounding.rounds -/q (ger0_norm q0).
have hq : `|h - (1 - q)| <= both u u.
  have -> : h - (1 - q) = (h - (1 - z)) - (z - q) by ring.
  apply: le_trans (ler_norm_sub _ _) _; have big : `|1 - z| <= 1 - q + u * q.
    have -> : 1 - z = (1 - q) - (z - q) by ring.
    apply: le_trans (ler_norm_sub _ _) _; rewrite ger0_norm ?subr_ge0 // ler_add2l; exact: zq.
  apply: le_trans (ler_add (le_trans hh (ler_wpmul2l u0 big)) zq) _.
  have -> : u * (1 - q + u * q) + u * q = u + u * (u * q) by ring.
  have -> : both u u = u + (u + u * u) by rewrite /both; ring.
  by rewrite ler_add2l; apply: le_trans (_ : u * u <= _); [apply: ler_wpmul2l => //; rewrite ler_pimulr | rewrite ler_addr].
have cq : `|clipped h - (1 - q)| <= both u u.
  have -> : 1 - q = clipped (1 - q).
    by rewrite /clipped max_l ?subr_ge0 // min_l // ler_subl_addr ler_addl.
  by apply: le_trans (min1_near _ _) _; apply: le_trans (max0_near _ _) _.
have a'q : a' * q = b' by rewrite /q mulrCA mulfV ?mulr1 // gt_eqF.
set r := 1 - Fd (clipped h); have r01 : 0 <= r <= 1 by rewrite subr_ge0 F1 ler_subl_addr ler_addl.
have rq : `|q - r| <= both u u + eta.
  have -> : q - r = (Fd (clipped h) - clipped h) + (clipped h - (1 - q)) by rewrite /r; ring.
  by apply: le_trans (ler_norm_add _ _) _; rewrite addrC; apply: ler_add.
have -> : b - a * r = - (b' - b) + (a' - a) * r + a' * (q - r) by rewrite mulrBr a'q; ring.
have /andP[r0 r1] := r01; apply: le_trans (ler_norm_add _ _) _; apply: ler_add.
  apply: le_trans (ler_norm_add _ _) _; rewrite normrN addrC; apply: ler_add => //.
  rewrite normrM (ger0_norm r0); apply: le_trans na; exact: ler_pimulr.
by rewrite normrM (gtr0_norm a'p); apply: le_trans rq; apply: ler_pimull.
Qed.
End Share.

(* The siblings one after the other.  S: which are accepted without a coin; T es: what is left of the coin's tail behind the
   siblings es, at 0 the next one is accepted; H es x: how often x is, if it comes to its coin; E: what a rejection of all is
   worth. *)
Section Walk.
Variables (V : vocabulary) (R : realFieldType).
Implicit Types (S : V -> bool) (es xs : seq V) (g : V -> bool -> R) (x : V).
Fixpoint walk S (T : seq V -> R) (H : seq V -> V -> R) es xs g (E : R) : R :=
  if xs is x :: xs' then
    if S x || (T es == 0) then g x true
    else flip (H es x) (fun accepted => if accepted then g x true else walk S T H (rcons es x) xs' g E)
  else E.
Definition rejection S (T : seq V -> R) (H : seq V -> V -> R) es xs : R := walk S T H es xs (fun _ accepted => (~~ accepted)%:R) 1.
Lemma walk_end S (T : seq V -> R) (H : seq V -> V -> R) es xs g (E : R) : walk S T H es xs g E = walk S T H es xs g 0 + rejection S T H es xs * E.
Proof.
rewrite /rejection; elim: xs es => [|x xs IH] es /=; first by rewrite mul1r add0r.
by case: ifP => _; rewrite ?mul0r ?addr0 // /flip IH; ring.
Qed.
Lemma walk_chance S (T : seq V -> R) (H : seq V -> V -> R) es xs (r : V -> R) : (forall es x, 0 <= H es x <= 1) -> (forall y, 0 <= r y) -> sumV r = 1 ->
  chance (fun g => walk S T H es xs g (draw r (g^~ false))).
Proof.
move=> H01 r0 r1; elim: xs es => [|x xs IH] es /=; first exact: (draw_chance (fun=> false)).
by case: (S x || _); [apply: sure_chance | apply: (flip_chance (H01 es x) (sure_chance R x true) (IH _))].
Qed.
Lemma walk_range S (T : seq V -> R) (H : seq V -> V -> R) es xs g (E : R) : (forall es x, 0 <= H es x <= 1) -> (forall y a, 0 <= g y a <= 1) -> 0 <= E <= 1 ->
  0 <= walk S T H es xs g E <= 1.
Proof.
move=> H01 g01 E01; elim: xs es => //= x xs IH es; case: ifP => // _; rewrite /flip.
have /andP[h0 h1] := H01 es x; have /andP[a0 a1] := g01 x true; have /andP[b0 b1] := IH (rcons es x).
have k0 : 0 <= 1 - H es x by rewrite subr_ge0.
apply/andP; split; first by rewrite addr_ge0 // mulr_ge0.
rewrite -[X in _ <= X](subrK (H es x)) addrC; apply: ler_add; exact: ler_pimulr.
Qed.

Variables (T T' : seq V -> R) (H' : seq V -> V -> R) (S S' : V -> bool) (off : nat -> R) (once : R).
Definition share_of_tail es x : R := 1 - T (rcons es x) / T es.
Hypotheses (T01 : forall es, 0 <= T es <= 1) (TT : forall es x, T (rcons es x) <= T es).
Hypotheses (H'01 : forall es x, 0 <= H' es x <= 1) (off0 : forall i, 0 <= off i) (once0 : 0 <= once).
Hypothesis tails : forall es, `|T' es - T es| <= off (size es).
Hypothesis shares : forall es x, T' es != 0 -> `|T (rcons es x) - T es * (1 - H' es x)| <= off (size es) + off (size es).+1 + once.
Definition sibling_cost i : R := off i + off i.+1 + once.
Definition doubted x : R := (S x != S' x)%:R.
Lemma sibling_cost_ge0 i : 0 <= sibling_cost i. Proof. by rewrite !addr_ge0. Qed.
Lemma share_of_tail_range es x : 0 <= share_of_tail es x <= 1.
Proof.
have /andP[a0 _] := T01 es; have /andP[b0 _] := T01 (rcons es x); rewrite subr_ge0 ler_subl_addr ler_addl divr_ge0 // andbT.
have [z|nz] := eqVneq (T es) 0; first by rewrite z invr0 mulr0 ler01.
by rewrite ler_pdivr_mulr ?lt0r ?nz // mul1r.
Qed.
Lemma walk_near es xs g (E : R) : (forall y a, 0 <= g y a <= 1) -> 0 <= E <= 1 ->
  T es * `|walk S' T' H' es xs g E - walk S T share_of_tail es xs g E|
  <= \sum_(i < size xs) sibling_cost (size es + i)%N + \sum_(x <- xs) doubted x.
Proof.
move=> g01 E01; elim: xs es => [|x xs IH] es; first by rewrite /= subrr normr0 mulr0 big_ord0 big_nil addr0.
have /andP[a0 a1] := T01 es; have /andP[b0 _] := T01 (rcons es x).
rewrite big_cons [\sum_(i < size (x :: xs)) _]big_ord_recl addn0 (eq_bigr (fun i : 'I_(size xs) => sibling_cost (size (rcons es x) + i)%N)) => [|i _]; last first.
  by rewrite size_rcons addSnnS.
have IHx := IH (rcons es x); set rest := \sum_(i < _) _ in IHx *; set more := \sum_(z <- xs) _ in IHx *.
have rest0 : 0 <= rest by apply: sumr_ge0 => i _; apply: sibling_cost_ge0.
have more0 : 0 <= more by apply: sumr_ge0 => z _; apply: ler0n.
have here := sibling_cost_ge0 (size es); have nonneg : 0 <= sibling_cost (size es) + rest + (doubted x + more).
  by rewrite !addr_ge0 // ler0n.
have W01 := walk_range S T es (x :: xs) share_of_tail_range g01 E01.
have W'01 := walk_range S' T' es (x :: xs) H'01 g01 E01.
have [e|ne] := eqVneq (S x) (S' x); last first.
  apply: le_trans (ler_pimull (normr_ge0 _) a1) _; apply: le_trans (mix_gap W'01 W01) _.
  by rewrite /doubted ne addrCA ler_addl !addr_ge0.
move: {W01 W'01} nonneg; rewrite /doubted /= e eqxx add0r => nonneg; case: (S' x) => /=; first by rewrite subrr normr0 mulr0.
have [z|nz] := eqVneq (T es) 0; first by rewrite z mul0r.
set W := walk S T _ _ _ _ _ in IHx *; set W' := walk S' T' _ _ _ _ _ in IHx *; set G := g x true.
have exact : T es * flip (share_of_tail es x) (fun accepted => if accepted then G else W) = (T es - T (rcons es x)) * G + T (rcons es x) * W.
  by rewrite /flip /share_of_tail; field.
have G01 : 0 <= G <= 1 by apply: g01.
have W01 : 0 <= W <= 1 := walk_range S T (rcons es x) xs share_of_tail_range g01 E01.
have W'01 : 0 <= W' <= 1 := walk_range S' T' (rcons es x) xs H'01 g01 E01.
rewrite -[X in X * `|_|](ger0_norm a0) -normrM mulrBr exact; have [z'|nz'] := eqVneq (T' es) 0.
  have -> : T es * G - ((T es - T (rcons es x)) * G + T (rcons es x) * W) = T (rcons es x) * (G - W) by ring.
  rewrite normrM (ger0_norm b0); apply: le_trans (ler_pimulr b0 (mix_gap G01 W01)) _; apply: le_trans (TT es x) _.
  have := tails es; rewrite z' sub0r normrN (ger0_norm a0) => /le_trans; apply.
  by rewrite /sibling_cost -!addrA ler_addl !addr_ge0.
have -> : T es * flip (H' es x) (fun accepted => if accepted then G else W') - ((T es - T (rcons es x)) * G + T (rcons es x) * W)
  = (T (rcons es x) - T es * (1 - H' es x)) * (G - W') + T (rcons es x) * (W' - W) by rewrite /flip; ring.
apply: le_trans (ler_norm_add _ _) _; rewrite -addrA; apply: ler_add.
  rewrite normrM; apply: le_trans (ler_pimulr (normr_ge0 _) (mix_gap G01 W'01)) _; exact: shares.
by rewrite normrM (ger0_norm b0).
Qed.
Lemma rejection_tail es xs : T es * rejection S T share_of_tail es xs <= T (es ++ xs).
Proof.
rewrite /rejection; elim: xs es => [|x xs IH] es; first by rewrite /= cats0 mulr1.
have /andP[a0 _] := T01 es; rewrite /=; case: ifP => [_|]; first by rewrite mulr0; have /andP[] := T01 (es ++ x :: xs).
move=> /norP[_ nz]; rewrite -cat_rcons; apply: le_trans (IH (rcons es x)); rewrite /flip mulr0 add0r mulrA.
by have -> : T es * (1 - share_of_tail es x) = T (rcons es x) by rewrite /share_of_tail; field.
Qed.
Lemma rejection_ge0 es xs : 0 <= rejection S T share_of_tail es xs.
Proof.
have one : 0 <= (1 : R) <= 1 by rewrite ler01 lexx.
by have /andP[] := walk_range S T es xs (g := fun _ a => (~~ a)%:R) share_of_tail_range (fun _ a => ltac:(by case: a; rewrite /= ?ler01 ?lexx)) one.
Qed.
End Walk.

(* The tail itself: 1 - min(10 m / acc, 1), m a running sum of the target's row. *)
Section Tails.
Variables (V : vocabulary) (R : realFieldType) (u o eta acc : R) (Fd : R -> R) (p P : V -> R).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1) (o0 : 0 <= o) (o1 : o < 1) (acc0 : 0 < acc).
Hypotheses (p0 : forall y, 0 <= p y) (pP : forall y, rel o (p y) (P y)).
Hypothesis decided : forall h, 0 <= h <= 1 -> 0 <= Fd h <= 1 /\ `|Fd h - h| <= eta.
Notation rounds := (Rounding.rounds u).
Implicit Types (es : seq V) (x : V).
Definition mass es : R := \sum_(x <- es) p x.
Definition tail es : R := 1 - Num.min (10%:R * mass es / acc) 1.
Definition tails_computed (M T : seq V -> R) : Prop := [/\ M [::] = 0, T [::] = 1 & forall es x, exists t q,
  [/\ rounds (M es + P x) (M (rcons es x)), rounds (10%:R * M (rcons es x)) t, rounds (t / acc) q,
      rounds (1 - Num.min q 1) (T (rcons es x)) & T (rcons es x) <= T es]].
Definition shares_computed (T : seq V -> R) (H : seq V -> V -> R) : Prop := forall es x, exists z h,
  [/\ rounds (T (rcons es x) / T es) z, rounds (1 - z) h & H es x = Fd (clipped h)].
Fixpoint mass_off i : R := if i is i'.+1 then both (mass_off i') u else o.
Definition tail_off i : R := if i is i'.+1 then both (both (mass_off i) u) u + u else 0.
Lemma mass_off_ge i : o <= mass_off i /\ 0 <= mass_off i.
Proof.
elim: i => [|i [IH IH0]] /=; first by split.
split; last exact: both_ge0.
apply: le_trans IH _; have -> : both (mass_off i) u = mass_off i + u * (1 + mass_off i) by rewrite /both; ring.
by rewrite ler_addl mulr_ge0 // addr_ge0 ?ler01.
Qed.
Lemma tail_off_ge0 i : 0 <= tail_off i.
Proof. by case: i => [|i]; rewrite /tail_off ?lexx //; have [_ e0] := mass_off_ge i.+1; rewrite addr_ge0 // both_ge0 // both_ge0. Qed.
Lemma mass_rcons es x : mass (rcons es x) = mass es + p x.
Proof. by rewrite /mass -cats1 big_cat big_seq1. Qed.
Lemma mass_ge0 es : 0 <= mass es. Proof. by apply: sumr_ge0. Qed.
Lemma ten_ge0 es : 0 <= 10%:R * mass es / acc.
Proof. by rewrite divr_ge0 ?(ltW acc0) // mulr_ge0 ?ler0n ?mass_ge0. Qed.
Lemma tail_range es : 0 <= tail es <= 1.
Proof. by rewrite subr_ge0 le_minl lexx orbT ler_subl_addr ler_addl le_minr ten_ge0 ler01. Qed.
Lemma tail_rcons es x : tail (rcons es x) <= tail es.
Proof.
rewrite ler_add2l ler_opp2 le_minr le_minl [X in _ && X]le_minl lexx orbT andbT mass_rcons.
by rewrite ler_pmul2r ?invr_gt0 // ler_wpmul2l ?ler0n // ler_addl p0.
Qed.
Variables (M T : seq V -> R) (H : seq V -> V -> R).
Hypotheses (Tc : tails_computed M T) (Hc : shares_computed T H).
Lemma mass_near es : rel (mass_off (size es)) (mass es) (M es) /\ 0 <= M es.
Proof.
have [M0 _ step] := Tc; elim/last_ind: es => [|es x [IH Mp]]; first by rewrite M0 /mass big_nil /rel subrr normr0 mulr0 lexx.
have [t [q [hm _ _ _ _]]] := step es x; have [oe e0] := mass_off_ge (size es); rewrite size_rcons mass_rcons.
have near : rel (mass_off (size es)) (mass es + p x) (M es + P x).
  rewrite /rel; have -> : M es + P x - (mass es + p x) = (M es - mass es) + (P x - p x) by ring.
  apply: le_trans (ler_norm_add _ _) _; rewrite mulrDr; apply: ler_add => //.
  by apply: le_trans (pP x) _; apply: ler_wpmul2r.
have s0 : 0 <= mass es + p x by rewrite addr_ge0 ?mass_ge0.
split; first exact: (rel_rounds u0 e0 s0 near hm).
by apply: rounds_ge0 hm => //; rewrite addr_ge0 // (given_ge0 o1 (p0 x) (pP x)).
Qed.
Let rel_scale e (k z z' : R) : 0 <= k -> rel e z z' -> rel e (k * z) (k * z').
Proof. by move=> k0 r; rewrite /rel -mulrBr normrM (ger0_norm k0) mulrCA; apply: ler_wpmul2l. Qed.
Lemma tail_near es : [/\ `|T es - tail es| <= tail_off (size es), 0 <= T es & T es <= 1].
Proof.
have [_ T1 step] := Tc; elim/last_ind: es => [|es x [_ _ le1]].
  by rewrite T1 /tail /mass big_nil mulr0 mul0r min_l ?ler01 // subr0 subrr normr0; split; rewrite ?lexx ?ler01.
have [t [q [_ ht hq hT le]]] := step es x; have [near M0] := mass_near (rcons es x).
have [_ e0] := mass_off_ge (size (rcons es x)); rewrite size_rcons /= -/(mass_off (size es).+1) -(size_rcons es x).
set e := mass_off _ in near e0 *; have ten : 0 <= 10%:R :> R by rewrite ler0n.
have z0 : 0 <= 10%:R * mass (rcons es x) by rewrite mulr_ge0 ?mass_ge0.
have rt := rel_rounds u0 e0 z0 (rel_scale ten near) ht; have e1 := both_ge0 e0 u0.
have t0 : 0 <= t by apply: rounds_ge0 ht => //; exact: mulr_ge0.
have i0 : 0 <= acc^-1 by rewrite invr_ge0 ltW.
have rt' : rel (both e u) (10%:R * mass (rcons es x) / acc) (t / acc) by rewrite ![_ / acc]mulrC; apply: rel_scale.
have rq := rel_rounds u0 e1 (ten_ge0 _) rt' hq; have e2 := both_ge0 e1 u0.
have q0 : 0 <= q by apply: rounds_ge0 hq => //; rewrite mulr_ge0.
have m01 : 0 <= 1 - Num.min q 1 <= 1 by rewrite subr_ge0 le_minl lexx orbT ler_subl_addr ler_addl le_minr q0 ler01.
have /andP[m0 m1] := m01; split; [|exact: rounds_ge0 hT|exact: le_trans le1].
rewrite /tail; set z := _ / acc in rq *; have zp : 0 <= z := ten_ge0 _.
have -> : T (rcons es x) - (1 - Num.min z 1) = (T (rcons es x) - (1 - Num.min q 1)) - (Num.min q 1 - Num.min z 1) by ring.
apply: le_trans (ler_norm_sub _ _) _; rewrite addrC; apply: ler_add.
  apply: le_trans (rel_min e2 zp q0 rq) _; apply: ler_pimulr => //; by rewrite le_minl lexx orbT.
by apply: le_trans hT _; rewrite ger0_norm // ler_pimulr.
Qed.
Lemma tail_share es x : T es != 0 ->
  `|tail (rcons es x) - tail es * (1 - H es x)| <= tail_off (size es) + tail_off (size es).+1 + (both u u + eta).
Proof.
move=> nz; have [z [h [hz hh ->]]] := Hc es x; have [n1 a0 a1] := tail_near es; have [n2 b0 _] := tail_near (rcons es x).
have [_ _ step] := Tc; have [t [q [_ _ _ _ le]]] := step es x; rewrite size_rcons in n2.
by apply: (share_near u0 decided (tail_range es) (tail_range (rcons es x)) b0 le a1 n1 n2 _ hz hh); rewrite lt0r nz.
Qed.
Lemma share_range es x : 0 <= H es x <= 1.
Proof. by have [z [h [_ _ ->]]] := Hc es x; have [] := decided (clipped_range h). Qed.
(* What is left of the row when no sibling is accepted: each entry as it is given. *)
Definition beside (r : V -> R) es y : R := if y \in es then 0 else r y.
Lemma beside_near es (r r' : V -> R) : by_weights (beside p es) r -> by_weights (beside P es) r' -> 0 < sumV (beside p es) ->
  total_variation r r' <= o.
Proof.
move=> [r1 r0 rw] [r'1 r'0 r'w] m0; rewrite /total_variation ler_pdivr_mulr ?ltr0n // -(ler_pmul2l m0).
rewrite -sumVZ (sumV_eq (g := fun y => `|sumV (beside p es) * r' y - beside p es y|)) => [|y]; last first.
  by rewrite -[X in _ = `|_ - X|]rw [r y * _]mulrC -mulrBr normrM (gtr0_norm m0).
apply: le_trans (normalised_near (beside p es) r'1 r'0 r'w) _; rewrite [o * _]mulrC mulrCA; apply: ler_wpmul2l; first exact: ler0n.
rewrite mulrC -sumVZ; apply: sumV_le => y; rewrite /beside; case: ifP => _; last exact: pP.
by rewrite subrr normr0 mulr0.
Qed.
(* All of it among the siblings: the tail is spent. *)
Lemma tail_spent es : acc <= 10%:R -> sumV p = 1 -> sumV (beside p es) = 0 -> tail es = 0.
Proof.
move=> acc10 p1 none; have one : 1 <= mass es.
  rewrite -p1 -[sumV p]subr0 -none -sumVB sumVE.
  apply: le_trans (_ : \sum_(y <- undup es) p y <= _).
    have -> : \sum_(y <- undup es) p y = \sum_y (if y \in es then p y else 0).
      by rewrite big_uniq ?undup_uniq //= big_mkcond; apply: eq_bigr => y _; rewrite mem_undup.
    by apply: ler_sum => y _; rewrite /beside; case: ifP => _; rewrite ?subr0 // subrr.
  rewrite /mass; elim: es {none} => [|x es IH] //=; rewrite big_cons; case: ifP => _.
    by apply: le_trans IH _; rewrite ler_addr.
  by rewrite big_cons ler_add2l.
rewrite /tail min_r ?subrr // ler_pdivl_mulr // mul1r; apply: le_trans acc10 _.
by rewrite -[X in X <= _]mulr1; apply: ler_wpmul2l => //; rewrite ler0n.
Qed.
End Tails.

(* The rule on a tree: which siblings are accepted without a coin is decided by S, computed by S'; where these differ, all of
   the sibling counts.  Rejected, the token is drawn from the row beside the siblings. *)
Section Rule.
Variables (V : vocabulary) (R : realFieldType) (Mb : model V R) (c : seq V) (u o eta lambda acc : R) (Fd : R -> R).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1) (o0 : 0 <= o) (o1 : o < 1) (lambda0 : 0 <= lambda) (acc0 : 0 < acc) (acc10 : acc <= 10%:R).
Hypothesis decided : forall h, 0 <= h <= 1 -> 0 <= Fd h <= 1 /\ `|Fd h - h| <= eta.
Notation rb s := (Mb (c ++ s)).
Variables (Q : seq V -> seq V -> V -> R) (spent : seq V -> pred (seq V)).
Hypotheses (Q0 : forall s elders x, 0 <= Q s elders x) (Q1 : forall s elders, ~~ spent s elders -> sumV (Q s elders) = 1).
Variables (P : seq V -> V -> R) (M T : seq V -> seq V -> R) (H : seq V -> seq V -> V -> R) (S S' : seq V -> V -> bool).
Variables (row r' row' : seq V -> seq V -> V -> R) (last' : seq V -> V -> R).
Hypotheses (pP : forall s y, rel o (rb s y) (P s y)) (Tc : forall s, tails_computed u acc (P s) (M s) (T s)).
Hypothesis Hc : forall s, shares_computed u Fd (T s) (H s).
Hypotheses (rows : forall s xs, by_weights (beside (rb s) xs) (row s xs)) (rows' : forall s xs, by_weights (beside (P s) xs) (r' s xs)).
Hypothesis drawn : forall s xs, [/\ sumV (row' s xs) = 1, forall y, 0 <= row' s xs y & total_variation (r' s xs) (row' s xs) <= lambda].
Hypothesis lasts : forall s, [/\ sumV (last' s) = 1, forall y, 0 <= last' s y & total_variation (rb s) (last' s) <= o + lambda].
Definition thresholds_step s (_ : nat) xs g : R :=
  walk (S s) (tail acc (rb s)) (share_of_tail (tail acc (rb s))) [::] xs g (draw (row s xs) (g^~ false)).
Definition thresholds_computed s (_ : nat) xs g : R := walk (S' s) (T s) (H s) [::] xs g (draw (row' s xs) (g^~ false)).
Let eta0 : 0 <= eta.
Proof. by have [_ /(le_trans (normr_ge0 _))] := decided (introT andP (conj (lexx 0) (@ler01 R))). Qed.
Definition once : R := both u u + eta.
Let once0 : 0 <= once. Proof. by rewrite addr_ge0 // both_ge0. Qed.
Definition threshold_cost i : R := sibling_cost (tail_off u o) once i.
Lemma sums_le m n (F : nat -> R) : (m <= n)%N -> (forall i, 0 <= F i) -> \sum_(i < m) F i <= \sum_(i < n) F i.
Proof. by move=> le F0; rewrite -(subnKC le) big_split_ord /= ler_addl sumr_ge0. Qed.
Theorem thresholds_rounding gamma f (doubt : nat -> R) A : (forall s y, 0 <= A s y <= 1) -> (forall i, 0 <= doubt i) ->
  (forall s k, (0 < k <= level (size s) f)%N ->
     siblings (Q s) (spent s) k [::] (fun xs => \sum_(x <- xs) doubted R (S s) (S' s) x) <= doubt (size s)) ->
  `|descend Q spent thresholds_computed last' gamma [::] f A - descend Q spent thresholds_step (fun s => rb s) gamma [::] f A|
  <= \sum_(i < gamma) (\sum_(j < level i f) threshold_cost j + doubt i) + (o + lambda).
Proof.
move=> A01 doubt0 few; rewrite distrC; have b0 s y : 0 <= rb s y := row_ge0 Mb _ y.
have cost0 j : 0 <= threshold_cost j by apply: sibling_cost_ge0 => //; exact: tail_off_ge0.
have T01 s := tail_range acc0 (b0 s); have TT s es x : tail acc (rb s) (rcons es x) <= tail acc (rb s) es := tail_rcons acc0 (b0 s) es x.
have hx s es x := share_of_tail_range (T01 s) (TT s) es x.
have Hx s es x : 0 <= H s es x <= 1 := share_range decided (Hc s) es x.
have end1 s xs : draw (row s xs) (fun=> 1) = 1 by have [r1 _ _] := rows s xs; rewrite /draw sumVZr r1 mul1r.
rewrite -[o + lambda]add0r.
apply: (@descents_near _ _ Q spent _ _ _ _ f (fun i => \sum_(j < level i f) threshold_cost j + doubt i) 0 (o + lambda) _ _ _ _ _ _ _ _ gamma [::] f) => //.
- by move=> i; rewrite addr_ge0 // sumr_ge0.
- move=> s k; apply: (drafts_expect (Q0 s) (@Q1 s)) => xs; have [r1 r0 _] := drawn s xs; exact: walk_chance.
- move=> s k; apply: (drafts_expect (Q0 s) (@Q1 s)) => xs; have [r1 r0 _] := rows s xs; apply: walk_chance => // es x; exact: hx.
- move=> s k g le g01; rewrite /over_drafts -siblingsZ.
  pose rej xs := rejection (S s) (tail acc (rb s)) (share_of_tail (tail acc (rb s))) [::] xs.
  have rej0 xs : 0 <= rej xs := rejection_ge0 (S s) (T01 s) (TT s) [::] xs.
  have t0 : tail acc (rb s) [::] = 1 by rewrite /tail /mass big_nil mulr0 mul0r min_l ?ler01 // subr0.
  apply: le_trans (_ : siblings (Q s) (spent s) k [::] (fun xs => (\sum_(j < level (size s) f) threshold_cost j
      + \sum_(x <- xs) doubted R (S s) (S' s) x) + (o + lambda) * rej xs) <= _).
    apply: (siblings_off _ (Q0 s)) => xs hxs; set E := draw (row s xs) ((g xs)^~ false).
    set E' := draw (row' s xs) ((g xs)^~ false); have [r1 r0 rw] := rows s xs; have [r'1 r'0 dl] := drawn s xs.
    have E01 : 0 <= E <= 1 by apply: draw_range.
    have E'01 : 0 <= E' <= 1 by apply: draw_range.
    rewrite /thresholds_step /thresholds_computed -/E -/E'.
    have := walk_near (S s) (S' s) (T01 s) (TT s) (Hx s) (@tail_off_ge0 _ u o u0 o0) once0
      (fun es => let: And3 h _ _ := tail_near u0 u1 o0 o1 acc0 (b0 s) (pP s) (Tc s) es in h)
      (fun es x => @tail_share _ _ u o eta acc Fd _ _ u0 u1 o0 o1 acc0 (b0 s) (pP s) decided _ _ _ (Tc s) (Hc s) es x) [::] xs (g01 xs) E'01.
    rewrite t0 mul1r => near; set X := walk (S s) _ _ _ _ _ E; set Y := walk (S' s) _ _ _ _ _ E' in near *.
    set Z := walk (S s) _ _ _ _ _ E' in near.
    have -> : X - Y = - (Y - Z) + rej xs * (E - E') by rewrite /X /Z walk_end [in RHS]walk_end /rej; ring.
    apply: le_trans (ler_norm_add _ _) _; rewrite normrN; apply: ler_add.
      apply: le_trans near _; rewrite ler_add2r; apply: sums_le => //; apply: leq_trans hxs _; by have /andP[] := le.
    rewrite normrM (ger0_norm (rej0 xs)) [X in _ <= X]mulrC.
    have m0 : 0 <= sumV (beside (rb s) xs) by apply: sumV_ge0 => y; rewrite /beside; case: ifP.
    have [z|nz] := eqVneq (sumV (beside (rb s) xs)) 0.
      have := rejection_tail (S s) (T01 s) [::] xs; rewrite t0 mul1r /= (tail_spent acc0 (b0 s) acc10 (row_sum Mb (c ++ s)) z) -/(rej xs) => r0'.
      by have -> : rej xs = 0; [apply/eqP; rewrite eq_le r0' rej0 | rewrite !mul0r].
    apply: ler_wpmul2l => //; rewrite distrC; apply: le_trans (tv_bounds r1 r'1 (fun y => g01 xs y false)) _.
    apply: le_trans (tv_triangle _ (r' s xs) _) _; apply: ler_add => //.
    by apply: (beside_near (pP s) (rows s xs) (rows' s xs)); rewrite lt0r nz.
  rewrite siblingsD siblingsD (siblings_const (@Q1 s)) -addrA [X in _ <= X]addrAC -[X in _ <= X]addrA ler_add2l addrC; apply: ler_add; last exact: few.
  apply: siblings_le => // xs _; apply: ler_wpmul2l; first exact: addr_ge0.
  by rewrite /rej /rejection /thresholds_step /= end1.
- by move=> s; have [] := lasts s.
- by move=> s; have [] := lasts s.
move=> s; have [_ _ ll] := lasts s; split; first exact: row_sum.
by rewrite add0r /total_variation (sumV_eq (g := fun y => `|last' s y - rb s y|)) // => y; rewrite distrC.
Qed.
End Rule.
