From mathcomp Require Import all_ssreflect ssralg ssrnum zify.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Algorithms Block Descent Precision Rounding ProblemRounding TreeRounding.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

(* Rules for draft trees that go down one token at a time, in floating point: what each step is off adds up, and no more.
   Multi-round rejection with equal siblings and without replacement, k-SEQ, transports.  What is assumed is the standard
   model of Rounding.v; errors are those of one step from what it is given, so that none is made larger further on. *)

(* How many nodes stand i levels down. *)
Fixpoint level i (f : seq tree) : nat := if i is i'.+1 then level i' (flatten (map children f)) else size f.
Lemma level_cat i f g : level i (f ++ g) = (level i f + level i g)%N.
Proof. by elim: i f g => [|i IH] f g /=; rewrite ?size_cat // map_cat flatten_cat IH. Qed.
Lemma level_go_on (V : eqType) i f (xs : seq V) x : (level i (go_on f xs x) <= level i.+1 f)%N.
Proof.
have zero j : level j [::] = 0%N by elim: j.
rewrite /go_on; elim: f xs => [|t f IH] [|y xs] /=; rewrite ?zero //.
rewrite level_cat; have := IH xs; case: (y == x) => /= le; last exact: leq_trans le (leq_addl _ _).
by rewrite level_cat leq_add2l.
Qed.

Section Near.
Variables (V : vocabulary) (R : realFieldType) (Mb : model V R) (c : seq V).
Notation rb s := (Mb (c ++ s)).
Implicit Types (s : seq V) (f : seq tree).
(* What a step makes of functions of the siblings, the token and whether it is accepted: an expectation. *)
Definition expects (E : (seq V -> V -> bool -> R) -> R) : Prop :=
  [/\ forall g g', (forall xs y a, g xs y a <= g' xs y a) -> E g <= E g',
      forall g g', E (fun xs y a => g xs y a + g' xs y a) = E g + E g',
      forall k g, E (fun xs y a => k * g xs y a) = k * E g & E (fun _ _ _ => 1) = 1].
Lemma expects_off E g g' h : expects E -> (forall xs y a, `|g xs y a - g' xs y a| <= h xs y a) -> `|E g - E g'| <= E h.
Proof.
move=> [le add _ _] off; rewrite ler_norml ler_subr_addr ler_subl_addr [- _ + _]addrC ler_subl_addr -!add.
apply/andP; split; apply: le => xs y a; have := off xs y a;
  by rewrite ler_norml ler_subr_addr ler_subl_addr [- _ + _]addrC ler_subl_addr => /andP[].
Qed.

Variables (Q : seq V -> seq V -> V -> R) (spent : seq V -> pred (seq V)).
Variables (step : seq V -> nat -> seq V -> (V -> bool -> R) -> R) (last : seq V -> V -> R).
Variables (gamma : nat) (fits : nat -> seq tree -> Prop) (delta : nat -> R) (o lambda : R).
Definition one_step s f (g : seq V -> V -> bool -> R) : R :=
  siblings (Q s) (spent s) (size f) [::] (fun xs => step s (size f) xs (g xs)).
Hypotheses (delta0 : forall i, 0 <= delta i) (o0 : 0 <= o) (lambda0 : 0 <= lambda).
Hypothesis fits_on : forall i f xs (y : V), fits i f -> fits i.+1 (go_on f xs y).
Hypothesis step_expects : forall s t f, fits (size s) (t :: f) -> expects (one_step s (t :: f)).
Hypothesis step_near : forall s t f (U : V -> R), fits (size s) (t :: f) -> (forall y, 0 <= U y <= 1) ->
  `|one_step s (t :: f) (fun _ y _ => U y) - draw (rb s) U|
  <= delta (size s) + lambda * one_step s (t :: f) (fun _ _ accepted => (~~ accepted)%:R).
Hypothesis last_near : forall s (U : V -> R), (forall y, 0 <= U y <= 1) ->
  `|draw (last s) U - draw (rb s) U| <= o + lambda.

Lemma descend_near_from n s f (U : seq V -> R) :
  (forall s, (size s <= gamma)%N -> U s = sumV (fun y => rb s y * U (rcons s y))) -> (forall s, 0 <= U s <= 1) ->
  (size s + n)%N = gamma -> fits (size s) f ->
  `|descend Q spent step last n s f (fun s y => U (rcons s y)) - U s| <= \sum_(i < n) delta (size s + i)%N + (o + lambda).
Proof.
move=> UM U01; elim: n s f => [|n IH] s f hs ok; have le : (size s <= gamma)%N by rewrite -hs leq_addr.
  by rewrite /= big_ord0 add0r (UM s) //; apply: last_near.
have s0 (m k : nat) : 0 <= \sum_(i < m) delta (k + i)%N by apply: sumr_ge0.
case: f ok => [|t f] ok.
  rewrite /= (UM s) //; apply: le_trans (last_near _ _) _ => //; rewrite ler_addr; exact: s0.
have hs' y : (size (rcons s y) + n)%N = gamma by rewrite size_rcons addSnnS.
rewrite big_ord_recl addn0 (eq_bigr (fun i : 'I_n => delta ((size s).+1 + i)%N)) => [|i _]; last first.
  by rewrite addSnnS.
set rest := \sum_(i < n) _; pose C := rest + (o + lambda).
pose D xs y (a : bool) := if a then descend Q spent step last n (rcons s y) (go_on (t :: f) xs y) (fun s y => U (rcons s y)) else U (rcons s y).
rewrite -[descend _ _ _ _ _ _ _ _]/(one_step s (t :: f) D).
have ex := step_expects ok; have [mono add scale one] := ex.
pose e a := one_step s (t :: f) (fun _ _ accepted => (accepted == a)%:R).
have near : `|one_step s (t :: f) D - one_step s (t :: f) (fun _ y _ => U (rcons s y))| <= C * e true.
  rewrite /e -scale; apply: expects_off => // xs y [|]; rewrite /D /= ?subrr ?normr0 ?mulr0 // mulr1.
  have ok' := fits_on xs y ok; rewrite -(size_rcons s y) in ok'.
  by apply: le_trans (IH _ _ (hs' y) ok') _; rewrite size_rcons.
have eE : one_step s (t :: f) (fun _ _ accepted => (~~ accepted)%:R) = e false.
  by apply/eqP; rewrite eq_le !mono // => xs y [].
have whole : e true + e false = 1.
  by rewrite -one /e -add; apply/eqP; rewrite eq_le !mono // => xs y []; rewrite ?addr0 ?add0r.
have e0 : 0 <= e false.
  have -> : 0 = one_step s (t :: f) (fun _ _ _ => 0 * 1) by rewrite scale mul0r.
  by apply: mono => xs y a; rewrite mul0r ler0n.
rewrite (UM s) // -/(draw (rb s) (fun y => U (rcons s y))).
have -> : one_step s (t :: f) D - draw (rb s) (fun y => U (rcons s y))
  = (one_step s (t :: f) D - one_step s (t :: f) (fun _ y _ => U (rcons s y)))
    + (one_step s (t :: f) (fun _ y _ => U (rcons s y)) - draw (rb s) (fun y => U (rcons s y))) by ring.
apply: le_trans (ler_norm_add _ _) _.
apply: le_trans (ler_add near (step_near ok (fun y => U01 (rcons s y)))) _; rewrite eE.
have -> : delta (size s) + rest + (o + lambda) = C * e true + (delta (size s) + C * e false).
  by rewrite [RHS]addrCA -mulrDr whole mulr1 /C; ring.
rewrite ler_add2l ler_add2l; apply: ler_wpmul2r => //.
by rewrite /C addrA ler_addr addr_ge0 // /rest; apply: sumr_ge0.
Qed.

(* The law of the text, completed by the target: no event of it, and no mean g of one in [0, 1], is further off. *)
Theorem descend_near f (g : seq V -> R) : fits 0 f -> (forall o, 0 <= g o <= 1) ->
  `|descend Q spent step last gamma [::] f (fun s y => complete Mb gamma c g (rcons s y)) - gen Mb gamma.+1 c g|
  <= \sum_(i < gamma) delta i + (o + lambda).
Proof.
move=> ok g01; have -> : gen Mb gamma.+1 c g = complete Mb gamma c g [::] by rewrite /complete subn0 cats0.
have := @descend_near_from gamma [::] f _ (complete_fair Mb c g); apply=> // s; rewrite /complete.
apply/andP; split; first by apply: gen_ge0 => z _; have /andP[] := g01 (s ++ z).
rewrite -[X in _ <= X](gen_const Mb (gamma.+1 - size s) (c ++ s)); apply: gen_le => z _.
by have /andP[] := g01 (s ++ z).
Qed.
End Near.

Lemma mix_gap (R : realFieldType) (a b : R) : 0 <= a <= 1 -> 0 <= b <= 1 -> `|a - b| <= 1.
Proof.
move=> /andP[a0 a1] /andP[b0 b1]; rewrite ler_norml ler_subr_addr ler_subl_addr; apply/andP; split.
  by apply: le_trans a0; rewrite addrC subr_le0.
by apply: le_trans a1 _; rewrite ler_addl.
Qed.

(* Given rows, divided by what they sum to. *)
Section Given.
Variables (V : vocabulary) (R : realFieldType) (Mb : model V R) (c : seq V) (nu : R).
Hypotheses (nu1 : nu < 1).
Variables (B : seq V -> V -> R).
Notation rb s := (Mb (c ++ s)).
Hypothesis Bb : forall s y, rel nu (rb s y) (B s y).
Lemma given_share s : [/\ forall y, 0 <= B s y, `|sumV (B s) - 1| <= nu & total_variation (rb s) (share_of (B s)) <= nu].
Proof.
have b0 y : 0 <= B s y := given_ge0 nu1 (row_ge0 Mb _ _) (Bb s y).
have ap : apart (rb s) (B s) <= nu.
  by rewrite -[X in _ <= X]mulr1 -(row_sum Mb (c ++ s)) -sumVZ; apply: sumV_le => y; apply: Bb.
have near : `|sumV (B s) - 1| <= nu.
  by apply: le_trans ap; rewrite -[X in _ - X](row_sum Mb (c ++ s)); apply: apart_sum.
have [s0 s1 _] := share_row nu1 b0 near; split=> //.
rewrite /total_variation ler_pdivr_mulr ?ltr0n // mulrC; apply: le_trans (ler_wpmul2l (ler0n _ _) ap).
have m0 := whole_sum nu1 near.
have sE y : share_of (B s) y * sumV (B s) = B s y by rewrite /share_of divfK // lt0r_neq0.
apply: le_trans (normalised_near (rb s) s1 s0 sE); apply: sumV_le => y.
by rewrite row_sum mul1r.
Qed.
End Given.

(* Multi-round rejection: with replacement, where equal siblings go on together, and without. *)
Section MultiRound.
Variables (V : vocabulary) (R : realFieldType) (u nu o eta lambda : R) (d : nat) (Fd : R -> R).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1) (o0 : 0 <= o) (ole : o <= nu) (nu1 : nu < 1).
Hypotheses (d1 : growth u d < 1) (dnu : sum_error u d <= nu).
Hypothesis decided : forall h, 0 <= h <= 1 -> 0 <= Fd h <= 1 /\ `|Fd h - h| <= eta.
Hypothesis lambda0 : 0 <= lambda.
Variables (Q : seq V -> V -> R) (spent : pred (seq V)).
Hypotheses (Q0 : forall elders x, 0 <= Q elders x) (Q1 : forall elders, ~~ spent elders -> sumV (Q elders) = 1).
Implicit Types (elders xs : seq V) (b q w : V -> R) (k : nat) (F : seq V -> (V -> bool -> R) -> R).
Notation rounds := (Rounding.rounds u).
Let nu0 : 0 <= nu. Proof. exact: le_trans ole. Qed.
(* The last token, from a row within lambda of what is left divided by its sum. *)
Definition ends b F : Prop := exists r : V -> R,
  [/\ sumV r = 1, forall y, 0 <= r y, total_variation (share_of b) r <= lambda & forall g, F [::] g = draw r (g^~ false)].
(* F is what some computation within the standard model makes of k siblings, where b is what it has left of the
   target's row: the coin of the sibling x is the computed min(b / q, 1), decided by Fd; if it does not fall, b is the
   computed max(b - q, 0), each entry divided by their computed sum e. *)
Fixpoint multi_round_computed k elders b F : Prop :=
  if k is k'.+1 then
    if spent elders then ends b F
    else exists (q H w : V -> R) (e : R) (b' : V -> R) (F' : V -> seq V -> (V -> bool -> R) -> R),
      [/\ forall y, rel o (Q elders y) (q y),
          forall y, exists2 z, rounds (b y / q y) z & H y = Num.min z 1,
          forall y, exists2 z, rounds (b y - q y) z & w y = Num.max z 0,
          [/\ within u d (sumV w) e, e != 0 -> forall y, rounds (w y / e) (b' y) & e = 0 -> sumV b' = 1 /\ forall y, 0 <= b' y]
        & forall x, multi_round_computed k' (rcons elders x) b' (F' x) /\
            forall xs g, F (x :: xs) g = flip (Fd (H x)) (fun accepted => if accepted then g x true else F' x xs g)]
  else ends b F.
(* What all entries of b are off by one factor counts where a sibling is accepted: that is done once.  The rest of a step
   is a few operations. *)
Definition factor_off : R := both o (nu / (1 - nu)).
Definition sibling_off : R := (1 + factor_off) * (eta + u) + 2%:R * both u u.
Let eta0 : 0 <= eta.
Proof. by have [_ /(le_trans (normr_ge0 _))] := decided (introT andP (conj (lexx 0) (@ler01 R))). Qed.
Lemma factor_off_ge0 : 0 <= factor_off.
Proof. by apply: both_ge0 => //; rewrite divr_ge0 // subr_ge0 ltW. Qed.
Lemma sibling_off_ge0 : 0 <= sibling_off.
Proof.
have f0 := factor_off_ge0; apply: addr_ge0; apply: mulr_ge0; rewrite ?ler0n ?both_ge0 //; apply: addr_ge0 => //.
exact: ler01.
Qed.

(* One sibling: the rule for q / m, m what b sums to, is exact on b / m; from that the computation is little off. *)
Section One.
Variables (b qx q H w b' : V -> R) (e : R).
Hypotheses (b0 : forall y, 0 <= b y) (near : `|sumV b - 1| <= nu).
Hypotheses (qx0 : forall y, 0 <= qx y) (qx1 : sumV qx = 1) (Qq : forall y, rel o (qx y) (q y)).
Hypothesis Hr : forall y, exists2 z, rounds (b y / q y) z & H y = Num.min z 1.
Hypothesis wr : forall y, exists2 z, rounds (b y - q y) z & w y = Num.max z 0.
Hypotheses (ew : within u d (sumV w) e) (br : e != 0 -> forall y, rounds (w y / e) (b' y)).
Hypotheses (b'0 : forall y, 0 <= b' y) (near' : `|sumV b' - 1| <= nu).
Let m := sumV b.
Let r := share_of b.
Let qh y := q y / m.
Let t y := Num.min (r y) (qh y).
Let ov := over r qh 1.
Let a y := qx y * Fd (H y).
Let m0 : 0 < m. Proof. by have := whole_sum nu1 near. Qed.
Let o1 : o < 1. Proof. exact: le_lt_trans nu1. Qed.
Let q0 y : 0 <= q y. Proof. exact: (given_ge0 o1 (qx0 y) (Qq y)). Qed.
Let br_m y : b y = m * r y. Proof. by rewrite /r /share_of mulrC divfK // lt0r_neq0. Qed.
Let q_m y : q y = m * qh y. Proof. by rewrite /qh mulrC divfK // lt0r_neq0. Qed.
Let r1 : sumV r = 1. Proof. by have [] := share_row nu1 b0 near. Qed.
Let H01 y : 0 <= H y <= 1.
Proof.
have [z hz ->] := Hr y.
by rewrite le_minr (rounds_ge0 u1 (divr_ge0 (b0 y) (q0 y)) hz) ler01 le_minl lexx orbT.
Qed.
Lemma taken_near y : `|a y - t y| <= factor_off * a y + (1 + factor_off) * (eta + u) * qx y.
Proof.
have f0 := factor_off_ge0; pose H0 := Num.min (b y / q y) 1.
have H00 : 0 <= H0 by rewrite le_minr ler01 divr_ge0.
have hH : `|Fd (H y) - H0| <= eta + u.
  have -> : Fd (H y) - H0 = (Fd (H y) - H y) + (H y - H0) by ring.
  apply: le_trans (ler_norm_add _ _) _; apply: ler_add; first by have [] := decided (H01 y).
  have [z hz ->] := Hr y; have z0 := rounds_ge0 u1 (divr_ge0 (b0 y) (q0 y)) hz.
  have := within_min u0 z0 (rounds_within (divr_ge0 (b0 y) (q0 y)) hz).
  by rewrite /within growth1 => /le_trans; apply; rewrite ler_pimulr // le_minl lexx orbT.
have tE : t y = qh y * H0.
  have [z|nz] := eqVneq (q y) 0.
    rewrite /t /qh /H0 z !mul0r min_r //; by rewrite /r /share_of divr_ge0 // ltW.
  have qp : 0 < q y by rewrite lt0r nz q0.
  rewrite /H0 minr_pmulr; last by rewrite /qh divr_ge0 // ltW.
  rewrite mulr1 /t; congr (Num.min _ _).
  by rewrite /qh /r /share_of -/m; field; rewrite nz lt0r_neq0.
have qq : `|qh y - qx y| <= factor_off * qx y.
  have one : rel nu 1 m by rewrite /rel mulr1.
  have := rel_mul o0 (qx0 y) (_ : 0 <= 1^-1) (Qq y) (rel_inv nu0 nu1 ler01 one).
  by rewrite invr1 mulr1; apply; apply: ler01.
have aE : a y - t y = qx y * (Fd (H y) - H0) - (qh y - qx y) * H0 by rewrite tE /a; ring.
rewrite aE; apply: le_trans (ler_norm_sub _ _) _; rewrite !normrM (ger0_norm (qx0 y)) (ger0_norm H00).
have HF : H0 <= Fd (H y) + (eta + u) by rewrite -ler_subl_addl; apply: le_trans (ler_norm _) _; rewrite distrC.
apply: le_trans (_ : qx y * (eta + u) + factor_off * qx y * (Fd (H y) + (eta + u)) <= _).
  apply: ler_add; first exact: ler_wpmul2l.
  by apply: ler_pmul.
by rewrite le_eqVlt; apply/orP; left; apply/eqP; rewrite /a; ring.
Qed.
Lemma split_row y : r y = t y + ov y.
Proof.
rewrite /t /ov /over mul1r; have [le|lt] := leP (r y) (qh y); first by rewrite max_r ?addr0 // subr_le0.
by rewrite max_l ?subr_ge0 ?(ltW lt) //; ring.
Qed.
Lemma kept_row : sumV (fun y => `|sumV ov * share_of b' y - ov y|) <= 2%:R * both u u.
Proof.
have ov0 y : 0 <= ov y := over_ge0 _ _ _ _.
have ovm y : Num.max (b y - q y) 0 = m * ov y.
  by rewrite /ov /over mul1r br_m q_m -mulrBr maxr_pmulr ?mulr0 // ltW.
have uu : 0 <= both u u by apply: both_ge0.
have w_ov y : `|w y - m * ov y| <= u * (m * ov y).
  by have [z hz ->] := wr y; rewrite -ovm; apply: max0_rounds.
have w0 y : 0 <= w y by have [z _ ->] := wr y; rewrite le_maxr lexx orbT.
have W0 : 0 <= sumV w by apply: sumV_ge0.
have e0 : 0 <= e.
  have := ew; rewrite /within ler_norml => /andP[l _].
  apply: le_trans (_ : (1 - growth u d) * sumV w <= _); first by rewrite mulr_ge0 // subr_ge0 ltW.
  by rewrite mulrBl mul1r addrC -ler_subr_addr.
have [s0 s1 _] := share_row nu1 b'0 near'.
pose w' y := b' y * (e / m).
have w'E y : share_of b' y * sumV w' = w' y.
  by rewrite /w' sumVZr /share_of mulrA divfK // lt0r_neq0 // (whole_sum nu1 near').
apply: le_trans (normalised_near ov s1 s0 w'E) _; apply: ler_wpmul2l; first exact: ler0n.
apply: le_trans (_ : both u u * sumV ov <= _); last first.
  have le : sumV ov <= sumV r.
    apply: sumV_le => y; have -> : r y = t y + ov y by apply: split_row.
    rewrite ler_addr /t le_minr; apply/andP; split; apply: divr_ge0 => //; exact: ltW.
  by rewrite r1 in le; apply: ler_pimulr.
rewrite /apart -sumVZ; apply: sumV_le => y; have mn : m != 0 by rewrite lt0r_neq0.
have bew : `|b' y * e - w y| <= u * w y.
  have [z|nz] := eqVneq e 0.
    have S0 : sumV w = 0.
      have := ew; rewrite /within z sub0r normrN (ger0_norm W0) => le; apply/eqP; rewrite eq_le W0 andbT.
      have : (1 - growth u d) * sumV w <= 0 by rewrite mulrBl mul1r subr_le0.
      by rewrite pmulr_rle0 // subr_gt0.
    by rewrite z mulr0 (sumV_eq0 w0 S0) subrr normr0 mulr0.
  have ep : 0 < e by rewrite lt0r nz.
  have -> : b' y * e - w y = (b' y - w y / e) * e by rewrite mulrBl divfK.
  rewrite normrM (gtr0_norm ep); apply: le_trans (ler_wpmul2r (ltW ep) (br nz y)) _.
  by rewrite ger0_norm ?divr_ge0 // -mulrA divfK.
have two : rel (both u u) (m * ov y) (b' y * e).
  have mo : 0 <= m * ov y by rewrite mulr_ge0 // ltW.
  have hr : rounds (w y) (b' y * e) by rewrite /Rounding.rounds (ger0_norm (w0 y)).
  exact: (@rel_rounds _ u u0 u (m * ov y) (w y) _ u0 mo (w_ov y) hr).
have -> : w' y - ov y = (b' y * e - m * ov y) / m by rewrite /w'; field.
by rewrite normrM normfV (gtr0_norm m0) ler_pdivr_mulr // -mulrA [ov y * m]mulrC.
Qed.
End One.

Notation E k elders F g := (siblings Q spent k elders (fun xs => F xs (g xs))).
Lemma multi_round_one k elders b F : (forall y, 0 <= b y) -> `|sumV b - 1| <= nu -> multi_round_computed k elders b F ->
  expects (fun g => E k elders F g) /\ forall U : V -> R, (forall y, 0 <= U y <= 1) ->
  `|E k elders F (fun _ y _ => U y) - draw (share_of b) U|
  <= k%:R * sibling_off + factor_off * E k elders F (fun _ _ accepted => accepted%:R)
    + lambda * E k elders F (fun _ _ accepted => (~~ accepted)%:R).
Proof.
have off0 := sibling_off_ge0; have fac0 := factor_off_ge0.
have stop b' F' : (forall y, 0 <= b' y) -> `|sumV b' - 1| <= nu -> ends b' F' ->
    expects (fun g => F' [::] (g [::])) /\ forall U : V -> R, (forall y, 0 <= U y <= 1) ->
    `|F' [::] (fun y _ => U y) - draw (share_of b') U|
    <= factor_off * F' [::] (fun _ accepted => accepted%:R) + lambda * F' [::] (fun _ accepted => (~~ accepted)%:R).
  move=> b0 near [r [r1 r0 rl FE]]; have [s0 s1 _] := share_row nu1 b0 near; split.
    split=> [g g' le|g g'|a g|]; rewrite !FE /draw.
    - by apply: sumV_le => y; apply: ler_wpmul2l.
    - by rewrite -sumVD; apply: sumV_eq => y; rewrite mulrDr.
    - by rewrite -sumVZ; apply: sumV_eq => y; rewrite mulrCA.
    by rewrite -[RHS]r1; apply: sumV_eq => y; rewrite mulr1.
  move=> U U01; rewrite !FE.
  have -> : draw r ((fun (_ : V) (a : bool) => (~~ a)%:R)^~ false) = 1 by rewrite -[RHS]r1; apply: sumV_eq => y; rewrite /= mulr1.
  have -> : draw r ((fun (_ : V) (a : bool) => a%:R)^~ false) = 0.
    by rewrite /draw (sumV_eq (g := fun=> 0)) ?sumV0 // => y; rewrite /= mulr0.
  by rewrite mulr0 add0r mulr1; apply: le_trans (tv_bounds s1 r1 U01) rl.
elim: k elders b F => [|k IH] elders b F b0 near /=.
  by move=> h; have [ex nr] := stop _ _ b0 near h; split=> // U U01; rewrite mul0r add0r; apply: nr.
case: (boolP (spent elders)) => [_|ns] h.
  have [ex nr] := stop _ _ b0 near h; split=> // U U01; apply: le_trans (nr U U01) _.
  by rewrite -addrA ler_addr mulr_ge0 // ler0n.
have {h}[q [H [w [e [b' [F' [Qq Hr wr [ew br ba] h]]]]]]] := h.
have q1 := Q1 ns; have q0 := Q0 elders.
have [r0 r1 rb] := share_row nu1 b0 near; set r := share_of b in r0 r1 rb *.
have self z : rounds (1 * z) z by rewrite mul1r /Rounding.rounds subrr normr0 mulr_ge0.
have P01 : 0 <= (1 : R) <= 1 by rewrite ler01 lexx.
have Qq' y : rel nu (Q elders y) (q y) by apply: le_trans (Qq y) _; apply: ler_wpmul2r.
have Hr' y : exists z t, [/\ rounds (b y / q y) z, rounds (1 * z) t & H y = Num.min t 1].
  by have [z hz ->] := Hr y; exists z, z.
have wr' y : exists z f, [/\ rounds (1 * b y) z, rounds (z - q y) f & w y = Num.max f 0].
  by have [f hf ->] := wr y; exists (b y), f.
have [H01 _] := coins_near u0 u1 nu0 nu1 r0 r1 rb q0 Qq' P01 Hr'.
have [b'0 near' _] := kept_near u0 u1 nu0 nu1 d1 dnu r0 r1 rb q0 q1 Qq' P01 wr' ew br ba.
have one x := IH (rcons elders x) b' (F' x) b'0 near' (proj1 (h x)).
have FE x xs g := proj2 (h x) xs g.
have split_ g x : siblings Q spent k (rcons elders x) (fun xs => F (x :: xs) (g (x :: xs)))
    = Fd (H x) * siblings Q spent k (rcons elders x) (fun xs => g (x :: xs) x true)
      + (1 - Fd (H x)) * E k (rcons elders x) (F' x) (fun xs => g (x :: xs)).
  by rewrite (siblings_eq _ _ _ _ (fun xs => FE x xs _)) /flip siblingsD !siblingsZ.
have const x a : siblings Q spent k (rcons elders x) (fun=> a) = a := siblings_const Q1 k (rcons elders x) a.
have F01 x := proj1 (decided (H01 x)).
split.
  split=> [g g' le|g g'|a g|]; rewrite /draw.
  - apply: sumV_le => x; rewrite !split_; apply: ler_wpmul2l => //; have /andP[f0 f1] := F01 x.
    apply: ler_add; apply: ler_wpmul2l; rewrite ?subr_ge0 //.
      by apply: siblings_le => // xs _; apply: le.
    by have [[le' _ _ _] _] := one x; apply: le'.
  - rewrite -sumVD; apply: sumV_eq => x; rewrite (split_ (fun xs y a => g xs y a + g' xs y a)) (split_ g) (split_ g') siblingsD.
    by have [[_ add _ _] _] := one x; rewrite (add (fun xs => g (x :: xs)) (fun xs => g' (x :: xs))); ring.
  - rewrite -sumVZ; apply: sumV_eq => x; rewrite (split_ (fun xs y z => a * g xs y z)) (split_ g) siblingsZ.
    by have [[_ _ scale _] _] := one x; rewrite (scale a (fun xs => g (x :: xs))); ring.
  rewrite -[RHS]q1; apply: sumV_eq => x; rewrite (split_ (fun _ _ _ => 1)) const.
  by have [[_ _ _ ->] _] := one x; rewrite !mulr1 addrC subrK mulr1.
move=> U U01; rewrite /draw.
pose rest x := E k (rcons elders x) (F' x) (fun _ _ accepted => (~~ accepted)%:R).
pose acc x := E k (rcons elders x) (F' x) (fun _ _ accepted => accepted%:R).
pose Y x := E k (rcons elders x) (F' x) (fun _ y _ => U y).
pose L := k%:R * sibling_off.
have L0 : 0 <= L by rewrite mulr_ge0 // ler0n.
have nr x : `|Y x - draw (share_of b') U| <= L + factor_off * acc x + lambda * rest x by have [_ nr] := one x; apply: nr.
pose a x := Q elders x * Fd (H x); pose n x := Q elders x * (1 - Fd (H x)).
have n0 x : 0 <= n x by rewrite mulr_ge0 // subr_ge0; have /andP[] := F01 x.
have whole : sumV a + sumV n = 1 by rewrite -sumVD -[RHS]q1; apply: sumV_eq => x; rewrite /a /n; ring.
rewrite (sumV_eq (g := fun x => a x * U x + n x * Y x)) => [|x]; last first.
  have -> : a x * U x + n x * Y x = Q elders x * (Fd (H x) * U x + (1 - Fd (H x)) * Y x) by rewrite /a /n; ring.
  by rewrite (split_ (fun _ y _ => U y)) const.
rewrite [X in lambda * X](_ : _ = sumV (fun x => n x * rest x)); last first.
  by apply: sumV_eq => x; rewrite (split_ (fun _ _ a => (~~ a)%:R)) const mulr0 add0r mulrA.
rewrite [X in factor_off * X](_ : _ = sumV a + sumV (fun x => n x * acc x)); last first.
  by rewrite -sumVD; apply: sumV_eq => x; rewrite (split_ (fun _ _ a => a%:R)) const mulr1 mulrDr mulrA.
set X := draw (share_of b') U in nr.
have [s0 s1 _] := share_row nu1 b'0 near'.
have X01 : 0 <= X <= 1 by apply: draw_range.
pose t y := Num.min (r y) (q y / sumV b); pose ov := over r (fun y => q y / sumV b) 1.
have taken y : `|a y - t y| <= factor_off * a y + (1 + factor_off) * (eta + u) * Q elders y.
  exact: (taken_near b0 near q0 Qq Hr).
have kept : sumV (fun y => `|sumV ov * share_of b' y - ov y|) <= 2%:R * both u u.
  exact: (kept_row b0 near q0 Qq wr ew br b'0 near').
have parts y : r y = t y + ov y by exact: split_row.
have -> : sumV (fun x => a x * U x + n x * Y x) - sumV (fun y => r y * U y)
  = sumV (fun x => (a x - t x) * (U x - X)) + sumV (fun x => n x * (Y x - X)) + sumV (fun y => (sumV ov * share_of b' y - ov y) * U y).
  have ovE : sumV ov = 1 - sumV t by rewrite -r1 (sumV_eq (parts : r =1 _)) sumVD; ring.
  have nE : sumV n = 1 - sumV a by rewrite -whole; ring.
  have e1 : sumV (fun x => (a x - t x) * (U x - X)) = (sumV (fun x => a x * U x) - sumV (fun x => t x * U x)) - (sumV a - sumV t) * X.
    by rewrite -!sumVB -sumVZr -sumVB; apply: sumV_eq => x; ring.
  have e2 : sumV (fun x => n x * (Y x - X)) = sumV (fun x => n x * Y x) - sumV n * X.
    by rewrite -sumVZr -sumVB; apply: sumV_eq => x; ring.
  have e3 : sumV (fun y => (sumV ov * share_of b' y - ov y) * U y) = sumV ov * X - sumV (fun y => ov y * U y).
    by rewrite /X /draw -sumVZ -sumVB; apply: sumV_eq => x; ring.
  have e4 : sumV (fun y => r y * U y) = sumV (fun y => t y * U y) + sumV (fun y => ov y * U y).
    by rewrite -sumVD; apply: sumV_eq => x; rewrite parts; ring.
  by rewrite sumVD e1 e2 e3 e4 ovE nE; ring.
apply: le_trans (ler_norm_add _ _) _; apply: le_trans (ler_add (ler_norm_add _ _) (lexx _)) _.
have S1 : `|sumV (fun x => (a x - t x) * (U x - X))| <= factor_off * sumV a + (1 + factor_off) * (eta + u).
  apply: le_trans (sumV_norm _) _.
  apply: le_trans (_ : sumV (fun x => factor_off * a x + (1 + factor_off) * (eta + u) * Q elders x) <= _).
    apply: sumV_le => x; rewrite normrM; apply: le_trans (taken x).
    by rewrite ler_pimulr //; apply: mix_gap.
  by rewrite sumVD !sumVZ q1 mulr1.
have S2 : `|sumV (fun x => n x * (Y x - X))| <= L + factor_off * sumV (fun x => n x * acc x) + lambda * sumV (fun x => n x * rest x).
  apply: le_trans (sumV_norm _) _.
  apply: le_trans (_ : sumV (fun x => n x * L + factor_off * (n x * acc x) + lambda * (n x * rest x)) <= _).
    apply: sumV_le => x; rewrite normrM (ger0_norm (n0 x)); apply: le_trans (ler_wpmul2l (n0 x) (nr x)) _.
    by rewrite le_eqVlt; apply/orP; left; apply/eqP; ring.
  rewrite !sumVD !sumVZ sumVZr !ler_add2r ler_pimull // -whole ler_addr.
  by apply: sumV_ge0 => x; rewrite mulr_ge0 //; have /andP[] := F01 x.
have S3 : `|sumV (fun y => (sumV ov * share_of b' y - ov y) * U y)| <= 2%:R * both u u.
  apply: le_trans kept; apply: le_trans (sumV_norm _) _; apply: sumV_le => y.
  by rewrite normrM ler_pimulr //; have /andP[y0 y1] := U01 y; rewrite ger0_norm.
apply: le_trans (ler_add (ler_add S1 S2) S3) _.
have -> : k.+1%:R * sibling_off = sibling_off + L by rewrite -addn1 natrD mulrDl mul1r addrC.
by rewrite /sibling_off le_eqVlt; apply/orP; left; apply/eqP; ring.
Qed.
End MultiRound.

(* On trees: level i f siblings at most are looked at together at depth i, so every node counts once. *)
Section MultiRoundTree.
Variables (V : vocabulary) (R : realFieldType) (Mb : model V R) (c : seq V) (u nu o eta lambda : R) (d : nat) (Fd : R -> R).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1) (o0 : 0 <= o) (ole : o <= nu) (nu1 : nu < 1).
Hypotheses (d1 : growth u d < 1) (dnu : sum_error u d <= nu).
Hypothesis decided : forall h, 0 <= h <= 1 -> 0 <= Fd h <= 1 /\ `|Fd h - h| <= eta.
Hypothesis lambda0 : 0 <= lambda.
Variables (B : seq V -> V -> R).
Notation rb s := (Mb (c ++ s)).
Hypothesis Bb : forall s y, rel o (rb s y) (B s y).
Variables (Q : seq V -> seq V -> V -> R) (spent : seq V -> pred (seq V)).
Hypotheses (Q0 : forall s elders x, 0 <= Q s elders x) (Q1 : forall s elders, ~~ spent s elders -> sumV (Q s elders) = 1).
Variables (step : seq V -> nat -> seq V -> (V -> bool -> R) -> R) (last : seq V -> V -> R).
Hypothesis steps : forall s k, multi_round_computed u o lambda d Fd (Q s) (spent s) k [::] (B s) (step s k).
Hypothesis lasts : forall s, [/\ sumV (last s) = 1, forall y, 0 <= last s y & total_variation (share_of (B s)) (last s) <= lambda].
Theorem multi_round_rounding gamma f (g : seq V -> R) : (forall o, 0 <= g o <= 1) ->
  `|descend Q spent step last gamma [::] f (fun s y => complete Mb gamma c g (rcons s y)) - gen Mb gamma.+1 c g|
  <= \sum_(i < gamma) ((level i f)%:R * sibling_off u nu o eta + factor_off nu o + o) + (o + lambda).
Proof.
move=> g01; have off0 := sibling_off_ge0 u0 o0 ole nu1 decided; have fac0 := factor_off_ge0 o0 ole nu1.
have o1 : o < 1 := le_lt_trans ole nu1.
pose fits i h := forall j, (level j h <= level (i + j) f)%N.
apply: (@descend_near _ _ _ _ _ _ _ _ _ fits (fun i => (level i f)%:R * sibling_off u nu o eta + factor_off nu o + o)) => //.
- by move=> i; apply: addr_ge0 => //; apply: addr_ge0 => //; apply: mulr_ge0 => //; apply: ler0n.
- move=> i h xs y ok j; apply: leq_trans (level_go_on _ _ _ _) _.
  by apply: leq_trans (ok j.+1) _; rewrite addnS.
- move=> s t h ok; have [b0 near _] := given_share o1 Bb s; have near' := le_trans near ole.
  by have [] := multi_round_one u0 u1 o0 ole nu1 d1 dnu decided (Q0 s) (@Q1 s) b0 near' (steps s (size (t :: h))).
- move=> s t h U ok U01; have [b0 near tv] := given_share o1 Bb s; have near' := le_trans near ole.
  have [[mono _ _ one] nr] := multi_round_one u0 u1 o0 ole nu1 d1 dnu decided (Q0 s) (@Q1 s) b0 near' (steps s (size (t :: h))).
  have [s0 s1 _] := share_row o1 b0 near.
  have -> : one_step Q spent step s (t :: h) (fun _ y _ => U y) - draw (rb s) U
    = (one_step Q spent step s (t :: h) (fun _ y _ => U y) - draw (share_of (B s)) U)
      + (draw (share_of (B s)) U - draw (rb s) U) by ring.
  apply: le_trans (ler_norm_add _ _) _.
  apply: le_trans (ler_add (nr U U01) (le_trans (tv_bounds (row_sum Mb (c ++ s)) s1 U01) tv)) _.
  rewrite [X in X <= _]addrAC /=; apply: ler_add => //; apply: ler_add => //; apply: ler_add.
    by apply: ler_wpmul2r => //; rewrite ler_nat; have := ok 0%N; rewrite addn0.
  have le := mono (fun _ _ accepted => accepted%:R) (fun _ _ _ => 1); rewrite one in le.
  by apply: ler_pimulr => //; apply: le => xs y; case; rewrite ?ler01 ?lexx.
- move=> s U U01; have [l1 l0 ll] := lasts s; have [b0 near tv] := given_share o1 Bb s.
  apply: le_trans (tv_bounds (row_sum Mb (c ++ s)) l1 U01) _.
  by apply: le_trans (tv_triangle _ (share_of (B s)) _) _; apply: ler_add.
Qed.
End MultiRoundTree.

(* Any rule that takes y among the siblings xs with probability a xs y and else draws from a row: k-SEQ and transports,
   whatever made a.  What counts is how far the weights w that the row has are from what the target has beyond a. *)
Section TransportTree.
Variables (V : vocabulary) (R : realFieldType) (Mb : model V R) (c : seq V) (o lambda : R).
Hypotheses (o0 : 0 <= o) (lambda0 : 0 <= lambda).
Notation rb s := (Mb (c ++ s)).
Variables (Q : seq V -> seq V -> V -> R) (spent : seq V -> pred (seq V)).
Hypotheses (Q0 : forall s elders x, 0 <= Q s elders x) (Q1 : forall s elders, ~~ spent s elders -> sumV (Q s elders) = 1).
Variables (a : seq V -> nat -> seq V -> V -> R) (w row : seq V -> nat -> V -> R) (last : seq V -> V -> R).
Hypotheses (a0 : forall s k xs y, 0 <= a s k xs y) (a1 : forall s k xs, sumV (a s k xs) <= 1).
Hypothesis rows : forall s k, [/\ sumV (row s k) = 1, forall y, 0 <= row s k y &
  exists r : V -> R, [/\ sumV r = 1, forall y, 0 <= r y, forall y, r y * sumV (w s k) = w s k y & total_variation r (row s k) <= lambda]].
Hypothesis lasts : forall s, sumV (last s) = 1 /\ total_variation (rb s) (last s) <= o + lambda.
Definition taking s k xs (g : V -> bool -> R) : R :=
  sumV (fun y => a s k xs y * g y true) + (1 - sumV (a s k xs)) * draw (row s k) (g^~ false).
Definition beyond s k y : R := rb s y - siblings (Q s) (spent s) k [::] (fun xs => a s k xs y).
Theorem transport_rounding gamma f (delta : nat -> R) (g : seq V -> R) : (forall o, 0 <= g o <= 1) ->
  (forall i, 0 <= delta i) -> (forall s k, (0 < k <= level (size s) f)%N -> 2%:R * apart (beyond s k) (w s k) <= delta (size s)) ->
  `|descend Q spent taking last gamma [::] f (fun s y => complete Mb gamma c g (rcons s y)) - gen Mb gamma.+1 c g|
  <= \sum_(i < gamma) delta i + (o + lambda).
Proof.
move=> g01 delta0 near; pose fits i h := forall j, (level j h <= level (i + j) f)%N.
have left s k xs : 0 <= 1 - sumV (a s k xs) by rewrite subr_ge0.
apply: (@descend_near _ _ _ _ _ _ _ _ _ fits delta) => //.
- move=> i h xs y ok j; apply: leq_trans (level_go_on _ _ _ _) _.
  by apply: leq_trans (ok j.+1) _; rewrite addnS.
- move=> s t h _; have [r1 r0 _] := rows s (size (t :: h)); split=> [h1 h2 le|h1 h2|k h1|]; rewrite /one_step.
  + apply: siblings_le => // xs _; apply: ler_add.
      by apply: sumV_le => y; apply: ler_wpmul2l.
    by apply: ler_wpmul2l => //; apply: sumV_le => y; apply: ler_wpmul2l.
  + rewrite -siblingsD; apply: siblings_eq => xs; rewrite /taking /draw /=.
    rewrite (sumV_eq (fun y => mulrDr (a s _ xs y) _ _)) (sumV_eq (fun y => mulrDr (row s _ y) _ _)) !sumVD; ring.
  + rewrite -siblingsZ; apply: siblings_eq => xs; rewrite /taking /draw /=.
    rewrite (sumV_eq (fun y => mulrCA (a s _ xs y) _ _)) (sumV_eq (fun y => mulrCA (row s _ y) _ _)) !sumVZ.
    by rewrite [RHS]mulrDr; congr (_ + _); rewrite mulrCA.
  rewrite -[RHS](siblings_const (@Q1 s) (size (t :: h)) [::]); apply: siblings_eq => xs; rewrite /taking /draw.
  by rewrite !sumVZr r1 !mulr1 addrC subrK.
- move=> s t h U ok U01; set k := size (t :: h).
  have [r1 r0 [r [s1 s0 rw rl]]] := rows s k.
  pose m y := siblings (Q s) (spent s) k [::] (fun xs => a s k xs y).
  pose X := draw (row s k) U; pose E F := siblings (Q s) (spent s) k [::] F.
  have rest : E (fun xs => 1 - sumV (a s k xs)) = 1 - sumV m.
    rewrite /E (siblings_eq _ _ _ _ (G := fun xs => 1 + -1 * sumV (a s k xs))) => [|xs]; last by ring.
    by rewrite siblingsD siblingsZ (siblings_const (@Q1 s)) siblings_sumV mulN1r.
  have -> : one_step Q spent taking s (t :: h) (fun _ y _ => U y) = sumV (fun y => m y * U y) + (1 - sumV m) * X.
    rewrite /one_step -/k siblingsD siblings_sumV -rest; congr (_ + _).
      apply: sumV_eq => y; rewrite (siblings_eq _ _ _ _ (G := fun xs => U y * a s k xs y)) => [|xs]; last by rewrite mulrC.
      by rewrite siblingsZ mulrC.
    by rewrite /E -/X mulrC -siblingsZ; apply: siblings_eq => xs; rewrite mulrC.
  have -> : one_step Q spent taking s (t :: h) (fun _ _ accepted => (~~ accepted)%:R) = 1 - sumV m.
    rewrite -rest; apply: siblings_eq => xs; rewrite /taking /draw /= (sumV_eq (g := fun=> 0)) => [|y]; last by rewrite mulr0.
    by rewrite sumV0 add0r sumVZr r1 !mulr1.
  have R0 : 0 <= 1 - sumV m.
    rewrite -rest -[X in X <= _](siblings_const (@Q1 s) k [::]); apply: siblings_le => // xs _; exact: left.
  have bE : sumV (beyond s k) = 1 - sumV m by rewrite /beyond sumVB row_sum.
  have -> : sumV (fun y => m y * U y) + (1 - sumV m) * X - draw (rb s) U
    = sumV (fun y => (sumV (beyond s k) * r y - beyond s k y) * U y) + (1 - sumV m) * (X - draw r U).
    rewrite bE (sumV_eq (f := fun y => (_ - _) * U y) (g := fun y => (1 - sumV m) * (r y * U y) - (rb s y * U y - m y * U y))) => [|y].
      by rewrite sumVB sumVZ sumVB /draw; ring.
    by rewrite /beyond -/(m y); ring.
  apply: le_trans (ler_norm_add _ _) _; apply: ler_add.
    have okk : (0 < k <= level (size s) f)%N by have := ok 0%N; rewrite addn0.
    apply: le_trans (near s k okk); apply: le_trans (normalised_near (beyond s k) s1 s0 rw).
    apply: le_trans (sumV_norm _) _; apply: sumV_le => y; have /andP[y0 y1] := U01 y.
    by rewrite normrM (ger0_norm y0); apply: ler_pimulr.
  rewrite normrM (ger0_norm R0) mulrC; apply: ler_wpmul2r => //; exact: le_trans (tv_bounds s1 r1 U01) rl.
by move=> s U U01; have [l1 ll] := lasts s; apply: le_trans (tv_bounds (row_sum Mb (c ++ s)) l1 U01) ll.
Qed.
End TransportTree.

(* Traversal verification computed in floating point, on draft trees of every shape: a bound on the law's error that
   counts each node once.  What is assumed is the standard model of Rounding.v. *)

(* At most n siblings, whatever is drawn. *)
Inductive sized (V : vocabulary) (R : realFieldType) : nat -> drafts V R -> Prop :=
| SizedDone n : sized n (Done V R)
| SizedSibling i j q below next : (forall x, sized i (below x)) -> (forall x, sized j (next x)) ->
    sized (i + j).+1 (Sibling q below next).

(* The coin of a whole node: the bound of ProblemRounding.v, whatever the rows. *)
Section CoinAll.
Variables (V : vocabulary) (R : realFieldType) (u nu : R) (d : nat) (r q : V -> R) (P : R).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1) (nu0 : 0 <= nu) (nu1 : nu < 1) (d1 : growth u d < 1).
Hypotheses (r0 : forall y, 0 <= r y) (r1 : sumV r = 1) (q0 : forall y, 0 <= q y) (q1 : sumV q = 1) (P01 : 0 <= P <= 1).
Definition sum_all : R := weights_all u nu + growth u d * (1 + weights_all u nu).
Definition shifted_all : R := sum_all + u * (2%:R + sum_all).
Definition normaliser_all : R := shifted_all + u * (1 + shifted_all).
Definition node_off : R := normaliser_all + u.
Let P0 : 0 <= P. Proof. by case/andP: P01. Qed.
Let P1 : P <= 1. Proof. by case/andP: P01. Qed.
Let g0 : 0 <= growth u d. Proof. exact: growth_ge0. Qed.
Let one0 : 0 <= 1 + u. Proof. by rewrite addr_ge0 ?ler01. Qed.
Let W0 := weights_all_ge0 u0 nu0.
Lemma weights_near_ge0 : 0 <= weights_near u nu 0 r q P.
Proof.
apply: sumV_ge0 => y; rewrite /weight_near; case: ifP => // _; have e0 := weight_error_ge0 u0 nu0.
have y0 : 0 <= weight_error u nu 0 * (P * r y) + nu * q y by apply: addr_ge0; apply: mulr_ge0 => //; apply: mulr_ge0.
have z0 : 0 <= over r q P y := over_ge0 _ _ _ _.
by apply: addr_ge0; apply: mulr_ge0.
Qed.
Lemma node_off_ge0 : [/\ 0 <= sum_all, 0 <= shifted_all, 0 <= normaliser_all & 0 <= node_off].
Proof.
have S0 : 0 <= sum_all by apply: addr_ge0 => //; apply: mulr_ge0 => //; rewrite addr_ge0 ?ler01.
have T0 : 0 <= shifted_all by apply: addr_ge0 => //; apply: mulr_ge0 => //; rewrite addr_ge0 ?ler0n.
have N0 : 0 <= normaliser_all by apply: addr_ge0 => //; apply: mulr_ge0 => //; rewrite addr_ge0 ?ler01.
by split=> //; apply: addr_ge0.
Qed.
Lemma coin_all : coin_near_bound u nu 0 d r q P <= node_off.
Proof.
have x1 : excess r q P <= 1 by apply: le_trans (excess_le r0 r1 q0 P01) P1.
have x0 : 0 <= excess r q P by apply: sumV_ge0 => y; apply: over_ge0.
have W := weights_apart_all u0 nu0 r0 r1 q0 q1 P01; have Wh0 := weights_near_ge0.
have s0 : 0 <= share r q P by apply: sumV_ge0 => y; rewrite le_minr q0 mulr_ge0.
have D1 : 1 - share r q P <= 1 by rewrite ler_subl_addr ler_addl.
have D0 : 0 <= 1 - share r q P by rewrite subr_ge0; apply: le_trans (share_le q r1 P) P1.
have [S0 T0 N0 _] := node_off_ge0.
have Sh0 : 0 <= sum_near_here u nu 0 d r q P by apply: addr_ge0 => //; apply: mulr_ge0 => //; apply: addr_ge0.
have S : sum_near_here u nu 0 d r q P <= sum_all.
  by apply: ler_add => //; apply: ler_wpmul2l => //; apply: ler_add.
have Th0 : 0 <= shifted u nu 0 d r q P.
  by rewrite /shifted mul0r addr0; apply: addr_ge0 => //; apply: mulr_ge0 => //; rewrite addr_ge0 ?ler01 // addr_ge0.
have T : shifted u nu 0 d r q P <= shifted_all.
  rewrite /shifted mul0r addr0; apply: ler_add => //; apply: ler_wpmul2l => //.
  by rewrite -[2%:R]/(1 + 1) addrAC; apply: ler_add => //; apply: ler_add.
have Nh0 : 0 <= normaliser_near_here u nu 0 d r q P by apply: addr_ge0 => //; apply: mulr_ge0 => //; apply: addr_ge0.
have N : normaliser_near_here u nu 0 d r q P <= normaliser_all.
  by apply: ler_add => //; apply: ler_wpmul2l => //; apply: ler_add.
have m1 : most u nu 0 d r q P <= 1 by rewrite /most; case: ifP => // _; rewrite le_minl lexx orbT.
have own0 : 0 <= own_near_here u nu 0 d r q P.
  rewrite /own_near_here mul0r subr0 subr_ge0 /normaliser_near_here /shifted mul0r addr0.
  have a0 : 0 <= u * (excess r q P + sum_near_here u nu 0 d r q P + 1) by apply: mulr_ge0 => //; rewrite addr_ge0 ?ler01 // addr_ge0.
  by rewrite -addrA ler_addl addr_ge0 // mulr_ge0 // addr_ge0 // addr_ge0.
have l0 : 0 <= least u nu 0 d r q P by rewrite /least; case: ifP => // _; rewrite le_maxr lexx orbT.
apply: le_trans (_ : sum_near_here u nu 0 d r q P + (own_near_here u nu 0 d r q P + u * (1 - share r q P)) <= _).
  apply: ler_add; first by rewrite ler_pimull // ler_subl_addr ler_addl.
  by rewrite mul0r add0r ler_pimull // addr_ge0 // mulr_ge0.
rewrite /own_near_here mul0r subr0 addrA; apply: ler_add; last by rewrite ler_pimulr.
by rewrite addrCA subrr addr0.
Qed.
End CoinAll.

Section Traversal.
Variables (V : vocabulary) (R : realFieldType) (Mb : model V R) (c : seq V) (u nu eta lambda : R) (d : nat) (Fd : R -> R).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1) (nu0 : 0 <= nu) (nu1 : nu < 1) (d1 : growth u d < 1) (dnu : sum_error u d <= nu).
Hypothesis decided : forall h, 0 <= h <= 1 -> 0 <= Fd h <= 1 /\ `|Fd h - h| <= eta.
Hypotheses (lambda0 : 0 <= lambda) (lambda1 : lambda <= 1).
Variable B : seq V -> V -> R.
Notation rb s := (Mb (c ++ s)).
Notation rounds := (Rounding.rounds u).
Hypothesis Bb : forall s y, rel nu (rb s y) (B s y).
Implicit Types (s : seq V) (b q Q w : V -> R) (P K : R) (t : drafts V R) (A : seq V -> V -> R).

(* F A K is what some computation within the standard model makes of a node of computed weight P, where b is what it has
   left of the target's row, and K what comes if it is rejected: a child's weight is the computed min(P b / q, 1); after
   its branch the row is the computed max(P b - q, 0) divided by its sum e, and the weight e / (e + 1 - P), between 0 and
   1.  The root (top) is not rejected, whatever its weight. *)
Inductive traverses : bool -> seq V -> (V -> R) -> R -> drafts V R -> ((seq V -> V -> R) -> R -> R) -> Prop :=
| TraversesDone top s b P r F :
    [/\ sumV r = 1, forall y, 0 <= r y & total_variation (share_of b) r <= lambda] ->
    (forall A K, F A K = if top then draw r (A s) else flip (Fd P) (fun accepted => if accepted then draw r (A s) else K)) ->
    traverses top s b P (Done V R) F
| TraversesSibling top s b P q below next Q H w e b' a D h FA FR F :
    (forall y, rel nu (q y) (Q y)) ->
    (forall y, exists z v, [/\ rounds (b y / Q y) z, rounds (P * z) v & H y = Num.min v 1]) ->
    (forall y, exists z f, [/\ rounds (P * b y) z, rounds (z - Q y) f & w y = Num.max f 0]) ->
    within u d (sumV w) e -> (e != 0 -> forall y, rounds (w y / e) (b' y)) -> (e = 0 -> sumV b' = 1 /\ forall y, 0 <= b' y) ->
    [/\ rounds (e + 1) a, rounds (a - P) D & D != 0 -> rounds (e / D) h] ->
    (forall x, traverses false (rcons s x) (B (rcons s x)) (H x) (below x) (FA x)) ->
    (forall x, traverses top s b' (clipped h) (next x) (FR x)) ->
    (forall A K, F A K = draw q (fun x => FA x A (FR x A K))) ->
    traverses top s b P (Sibling q below next) F.

Definition branch_off : R := 2%:R * coin_off u nu + nu + 2%:R * node_off u nu d + left_all u nu.
Definition stop_off (top : bool) P : R := if top then lambda + (1 - P) else lambda * P.
Definition traversal_cost n top P : R := n%:R * branch_off + n.+1%:R * eta + stop_off top P.

Lemma traverses_range top s b P t F m A K : traverses top s b P t F -> drawn m t -> (forall s y, 0 <= A s y <= 1) ->
  (forall y, 0 <= b y) -> `|sumV b - 1| <= nu -> 0 <= P <= 1 -> 0 <= K <= 1 -> 0 <= F A K <= 1.
Proof.
move=> h; elim: h m K => {top s b P t F} [top s b P r F [r1 r0 _] FE|
    top s b P q below next Q H w e b' a D h FA FR F Qq Hr wr ew br ba _ _ IHA _ IHR FE] m K hd A01 b0 near P01 K01.
  have d01 : 0 <= draw r (A s) <= 1 by apply: draw_range.
  by rewrite FE; case: (top) => //; apply: mix_range => //; have [] := decided P01.
have [q0 q1 hb hn] := below_drawn hd; have [r0 r1 rb'] := share_row nu1 b0 near.
have [H01 _] := coins_near u0 u1 nu0 nu1 r0 r1 rb' q0 Qq P01 Hr.
have [b'0 near' _] := kept_near u0 u1 nu0 nu1 d1 dnu r0 r1 rb' q0 q1 Qq P01 wr ew br ba.
rewrite FE; apply: draw_range => // x; have [ka da] := hb x; have [kr dr] := hn x.
have [B0 Bn _] := given_share nu1 Bb (rcons s x).
apply: (IHA x _ _ da) => //; apply: (IHR x _ _ dr) => //; exact: clipped_range.
Qed.

Let eta0 : 0 <= eta.
Proof. by have [_ /(le_trans (normr_ge0 _))] := decided (introT andP (conj (lexx 0) (@ler01 R))). Qed.
Lemma sized_sibling n q below next : sized n (Sibling q below next) -> exists i j,
  [/\ n = (i + j).+1, forall x, sized i (below x) & forall x, sized j (next x)].
Proof. by move=> h; inversion h; subst; exists i, j; split. Qed.
Lemma drawn_sibling m q below next : drawn m (Sibling q below next) -> exists k,
  [/\ m = k.+1, forall x, drawn k (below x) & forall x, drawn m (next x)].
Proof. by move=> h; inversion h; subst; eexists; split. Qed.
(* What one node does, in numbers: p, e, q, X, K between 0 and 1; h is within k / D of what makes D h = x. *)
Lemma stop_share top (sh D h x k P : R) : sh + x = P -> sh + D = 1 -> `|D * h - x| <= k -> 0 <= k -> P <= 1 ->
  lambda * sh + D * stop_off top h <= stop_off top P + k.
Proof.
move=> e1 e2; rewrite ler_norml => /andP[lo hi] k0 P1; rewrite /stop_off; case: top.
  have -> : lambda * sh + D * (lambda + (1 - h)) = lambda * (sh + D) + (D - D * h) by ring.
  rewrite e2 mulr1 -addrA ler_add2l.
  have -> : 1 - P + k = D - x + k by rewrite -e1 -e2; ring.
  rewrite -addrA ler_add2l; move: lo; rewrite ler_subr_addr => lo.
  by rewrite ler_oppl opprD opprK addrC.
have -> : lambda * sh + D * (lambda * h) = lambda * (sh + D * h) by ring.
apply: le_trans (_ : lambda * (P + k) <= _).
  apply: ler_wpmul2l => //; rewrite -e1 -addrA ler_add2l.
  by rewrite -ler_subl_addl.
by rewrite mulrDr ler_add2l ler_pimull.
Qed.

Variables (gamma : nat) (U : seq V -> R).
Hypothesis UM : forall s, (size s <= gamma)%N -> U s = sumV (fun y => rb s y * U (rcons s y)).
Hypothesis U01 : forall s, 0 <= U s <= 1.
Notation out := (fun s y => U (rcons s y)).

Lemma traverses_near top s b P t F m n K : traverses top s b P t F -> drawn m t -> sized n t -> (size s + m)%N = gamma ->
  (forall y, 0 <= b y) -> `|sumV b - 1| <= nu -> 0 <= P <= 1 -> 0 <= K <= 1 ->
  `|F out K - (P * draw (share_of b) (out s) + (1 - P) * K)| <= traversal_cost n top P.
Proof.
have c0 := coin_off_ge0 u0 nu0 nu1; have [_ _ _ k0] := node_off_ge0 d u0 nu0.
have W0 := weights_all_ge0 u0 nu0.
have l0 : 0 <= left_all u nu.
  by apply: mulr_ge0; rewrite ?ler0n //; apply: addr_ge0 => //; apply: mulr_ge0 => //; rewrite addr_ge0 ?ler01.
have B0 : 0 <= branch_off by apply: addr_ge0 => //; apply: addr_ge0; [apply: addr_ge0 => //|]; apply: mulr_ge0; rewrite ?ler0n.
move=> h; elim: h m n K => {top s b P t F} [top s b P r F [r1 r0 rl] FE|
    top s b P q below next Q H w e b' a D h FA FR F Qq Hr wr ew br ba coin hA IHA hR IHR FE] m n K hd hz hs b0 near P01 K01.
  have [s0 s1 _] := share_row nu1 b0 near; have /andP[P0 P1] := P01.
  set X := draw (share_of b) (out s); set X' := draw r (out s).
  have X01 : 0 <= X <= 1 by apply: draw_range.
  have X'01 : 0 <= X' <= 1 by apply: draw_range.
  have XX : `|X' - X| <= lambda by apply: le_trans (tv_bounds s1 r1 (fun y => U01 _)) rl.
  have n0 : 0 <= n%:R * branch_off + n.+1%:R * eta by apply: addr_ge0; apply: mulr_ge0; rewrite ?ler0n.
  have ne : eta <= n%:R * branch_off + n.+1%:R * eta.
    apply: le_trans (_ : n.+1%:R * eta <= _); last by rewrite ler_addr mulr_ge0 // ler0n.
    by rewrite ler_pemull // ler1n.
  rewrite FE /traversal_cost /stop_off; case: (top).
    have -> : X' - (P * X + (1 - P) * K) = (X' - X) + (1 - P) * (X - K) by ring.
    apply: le_trans (ler_norm_add _ _) _; rewrite -[X in X <= _]add0r; apply: ler_add => //.
    apply: ler_add => //; rewrite normrM ger0_norm ?subr_ge0 //.
    by rewrite ler_pimulr ?subr_ge0 //; apply: mix_gap.
  have [_ Fe] := decided P01; rewrite /flip.
  have -> : Fd P * X' + (1 - Fd P) * K - (P * X + (1 - P) * K) = (Fd P - P) * (X' - K) + P * (X' - X) by ring.
  apply: le_trans (ler_norm_add _ _) _; rewrite !normrM (ger0_norm P0); apply: ler_add; last first.
    by rewrite mulrC; apply: ler_wpmul2r.
  apply: le_trans ne; apply: le_trans Fe; apply: ler_pimulr => //; exact: mix_gap.
have {hz}[i [j [-> zb zn]]] := sized_sibling hz.
have [q0 q1 hb hn] := below_drawn hd; have [r0 r1 rb'] := share_row nu1 b0 near; have /andP[P0 P1] := P01.
have [H01 coins] := coins_near u0 u1 nu0 nu1 r0 r1 rb' q0 Qq P01 Hr.
have [b'0 near' kept] := kept_near u0 u1 nu0 nu1 d1 dnu r0 r1 rb' q0 q1 Qq P01 wr ew br ba.
have [s0 s1 _] := share_row nu1 b'0 near'.
set r := share_of b in r0 r1 rb' coins kept *.
pose p x := next_p r q P x; pose h' := clipped h; pose G x := FR x out K.
set X := draw (share_of b') (out s); pose E2 := h' * X + (1 - h') * K.
have h'01 : 0 <= h' <= 1 := clipped_range h; have /andP[h'0 h'1] := h'01.
have p01 x : 0 <= p x <= 1 := next_p_range r0 q0 x P0.
have X01 : 0 <= X <= 1 by apply: draw_range.
have E01 : 0 <= E2 <= 1 by apply: mix_range.
have [ar Dr hr] := coin; have same : rel 0 P P by rewrite /rel subrr normr0 mul0r.
have e0 := e'_pos d1 wr ew.
have wn := w_near u0 u1 nu0 r0 rb' q0 Qq P01 wr.
have D_h : `|(1 - share r q P) * h' - excess r q P| <= node_off u nu d.
  have hx : (1 - share r q P) * h_block r q P = excess r q P by rewrite excessE //; apply: h_blockE.
  have D0 : 0 <= 1 - share r q P by rewrite subr_ge0; apply: le_trans (share_le q r1 P) P1.
  rewrite -hx -mulrBr normrM (ger0_norm D0).
  apply: le_trans (coin_here u0 u1 (lexx 0) r1 P0 P0 same P1 wn ew e0 ar Dr P1 hr) _.
  exact: (coin_all d u0 nu0 r0 r1 q0 q1 P01).
pose C := (i + j)%:R * branch_off + (i + j).+2%:R * eta.
pose T := stop_off top h'.
have [k [mk dk dm]] := drawn_sibling hd.
have hs' x : (size (rcons s x) + k)%N = gamma by rewrite size_rcons addSnnS -mk.
have UU s' y : 0 <= U (rcons s' y) <= 1 by [].
have T1 : `|lambda - T| <= 1.
  have l01 : 0 <= lambda <= 1 by rewrite lambda0.
  rewrite /T /stop_off; case: (top); first by rewrite opprD addrA subrr add0r opprB; apply: mix_gap; rewrite // ler01 lexx.
  by apply: mix_gap => //; rewrite mulr_ge0 //=; apply: mulr_ile1.
have step x : `|FA x out (G x) - (p x * U (rcons s x) + (1 - p x) * E2)|
    <= 2%:R * `|H x - p x| + (nu + C) + (lambda * p x + (1 - p x) * T).
  have [Bp Bn tv] := given_share nu1 Bb (rcons s x); have [Bs0 Bs1 _] := share_row nu1 Bp Bn.
  have G01 : 0 <= G x <= 1 by apply: (traverses_range (hR x) (dm x)).
  have A1 := IHA x k i (G x) (dk x) (zb x) (hs' x) Bp Bn (H01 x) G01.
  have R1 := IHR x m j K (dm x) (zn x) hs b'0 near' h'01 K01.
  set dB := draw (share_of (B _)) _ in A1.
  have A2 : `|dB - U (rcons s x)| <= nu.
    have le : (size (rcons s x) <= gamma)%N by rewrite -(hs' x) leq_addr.
    by rewrite (UM le); apply: le_trans (tv_bounds (row_sum Mb _) Bs1 (UU _)) tv.
  have /andP[H0 H1] := H01 x; have H1' : 0 <= 1 - H x by rewrite subr_ge0.
  have -> : FA x out (G x) - (p x * U (rcons s x) + (1 - p x) * E2)
    = (FA x out (G x) - (H x * dB + (1 - H x) * G x)) + H x * (dB - U (rcons s x)) + (1 - H x) * (G x - E2)
      + (H x - p x) * (U (rcons s x) - E2) by ring.
  apply: le_trans (ler_norm_add _ _) _; apply: le_trans (ler_add (ler_norm_add _ _) (lexx _)) _.
  apply: le_trans (ler_add (ler_add (ler_norm_add _ _) (lexx _)) (lexx _)) _.
  have j0 : 0 <= j%:R * branch_off + j.+1%:R * eta by apply: addr_ge0; apply: mulr_ge0; rewrite ?ler0n.
  have t2 : `|H x * (dB - U (rcons s x))| <= nu.
    by rewrite normrM (ger0_norm H0); apply: le_trans A2; rewrite ler_pimull.
  have t3 : `|(1 - H x) * (G x - E2)| <= j%:R * branch_off + j.+1%:R * eta + (1 - H x) * T.
    rewrite normrM (ger0_norm H1'); apply: le_trans (ler_wpmul2l H1' R1) _.
    by rewrite /traversal_cost -/T mulrDr ler_add2r ler_pimull // ler_subl_addr ler_addl.
  have t4 : `|(H x - p x) * (U (rcons s x) - E2)| <= `|H x - p x|.
    by rewrite normrM ler_pimulr //; apply: mix_gap.
  have t5 : lambda * H x + (1 - H x) * T <= `|H x - p x| + (lambda * p x + (1 - p x) * T).
    have -> : lambda * H x + (1 - H x) * T = (H x - p x) * (lambda - T) + (lambda * p x + (1 - p x) * T) by ring.
    rewrite ler_add2r; apply: le_trans (ler_norm _) _; rewrite normrM; exact: ler_pimulr.
  apply: le_trans (ler_add (ler_add (ler_add A1 t2) t3) t4) _.
  rewrite /traversal_cost /stop_off /C natrD.
  have -> : (i + j).+2%:R = i.+1%:R + j.+1%:R :> R by rewrite -natrD addSn addnS.
  have -> : i%:R * branch_off + i.+1%:R * eta + lambda * H x + nu + (j%:R * branch_off + j.+1%:R * eta + (1 - H x) * T) + `|H x - p x|
    = (nu + ((i%:R + j%:R) * branch_off + (i.+1%:R + j.+1%:R) * eta)) + `|H x - p x| + (lambda * H x + (1 - H x) * T) by ring.
  apply: le_trans (ler_add (lexx _) t5) _.
  by rewrite le_eqVlt; apply/orP; left; apply/eqP; rewrite -[2%:R]/(1 + 1); ring.
pose over_U := sumV (fun y => over r q P y * U (rcons s y)).
pose D' := 1 - share r q P; pose ex := excess r q P.
have exE : ex = P - share r q P by rewrite /ex excessE.
have target : P * draw r (out s) + (1 - P) * K = sumV (fun x => q x * (p x * U (rcons s x) + (1 - p x) * E2))
    - ((D' * h' - ex) * (X - K) + (ex * X - over_U)).
  rewrite -spread // -(step_law r0 q0 r1 (out s) P0) [(P - share _ _ _) * draw _ _]mulrC residualE // -/over_U exE /D' /E2.
  by set a1 := sumV _; set a2 := share _ _ _; ring.
have t6 : `|ex * X - over_U| <= left_all u nu.
  apply: le_trans kept; rewrite /X /draw -sumVZ /over_U -sumVB; apply: le_trans (sumV_norm _) _; apply: sumV_le => y.
  have /andP[y0 y1] := U01 (rcons s y); rewrite mulrA -mulrBl normrM (ger0_norm y0); exact: ler_pimulr.
have t7 : `|(D' * h' - ex) * (X - K)| <= node_off u nu d.
  by rewrite normrM; apply: le_trans D_h; apply: ler_pimulr => //; apply: mix_gap.
have t8 : `|sumV (fun x => q x * (FA x out (G x) - (p x * U (rcons s x) + (1 - p x) * E2)))|
    <= 2%:R * coin_off u nu + (nu + C) + (stop_off top P + node_off u nu d).
  apply: le_trans (sumV_norm _) _.
  apply: le_trans (_ : sumV (fun x => 2%:R * (q x * `|H x - p x|) + q x * (nu + C) + (lambda * (q x * p x) + q x * (1 - p x) * T)) <= _).
    apply: sumV_le => x; rewrite normrM (ger0_norm (q0 x)); apply: le_trans (ler_wpmul2l (q0 x) (step x)) _.
    by rewrite le_eqVlt; apply/orP; left; apply/eqP; ring.
  rewrite !sumVD !sumVZ !sumVZr q1 mul1r (share_next r0 q0 P0).
  have -> : sumV (fun x => q x * (1 - p x)) = D'.
    by rewrite /D' -(share_next r0 q0 P0) -[X in _ = X - _]q1 -sumVB; apply: sumV_eq => x; rewrite mulrBr mulr1.
  apply: ler_add; first by rewrite ler_add2r; apply: ler_wpmul2l; rewrite ?ler0n.
  apply: (stop_share top (x := ex)) => //; first by rewrite exE addrC subrK.
  by rewrite /D' addrC subrK.
rewrite FE target /draw -/G.
set S1 := sumV _; set S2 := sumV _.
have -> : S1 - (S2 - ((D' * h' - ex) * (X - K) + (ex * X - over_U)))
  = (S1 - S2) + ((D' * h' - ex) * (X - K) + (ex * X - over_U)) by ring.
apply: le_trans (ler_norm_add _ _) _.
have -> : S1 - S2 = sumV (fun x => q x * (FA x out (G x) - (p x * U (rcons s x) + (1 - p x) * E2))).
  by rewrite /S1 /S2 -sumVB; apply: sumV_eq => x; rewrite mulrBr.
apply: le_trans (ler_add t8 (le_trans (ler_norm_add _ _) (ler_add t7 t6))) _.
rewrite /traversal_cost /C; have -> : (i + j).+1%:R = (i + j)%:R + 1 :> R by rewrite -addn1 natrD.
by rewrite le_eqVlt; apply/orP; left; apply/eqP; rewrite /branch_off -[2%:R]/(1 + 1); ring.
Qed.
End Traversal.

(* The law of the text, completed by the target: no event of it, and no mean g of one in [0, 1], is further off. *)
Theorem traversal_rounding (V : vocabulary) (R : realFieldType) (Mb : model V R) (c : seq V) (u nu eta lambda : R) (d : nat)
    (Fd : R -> R) (B : seq V -> V -> R) gamma n (t : drafts V R) F (g : seq V -> R) (K : R) :
  0 <= u <= 1 -> 0 <= nu < 1 -> growth u d < 1 -> sum_error u d <= nu ->
  (forall h, 0 <= h <= 1 -> 0 <= Fd h <= 1 /\ `|Fd h - h| <= eta) -> 0 <= lambda <= 1 ->
  (forall s y, rel nu (Mb (c ++ s) y) (B s y)) ->
  traverses u nu lambda d Fd B true [::] (B [::]) 1 t F -> drawn gamma t -> sized n t ->
  (forall o, 0 <= g o <= 1) -> 0 <= K <= 1 ->
  `|F (fun s y => complete Mb gamma c g (rcons s y)) K - gen Mb gamma.+1 c g|
  <= n%:R * branch_off u nu d + n.+1%:R * eta + lambda + nu.
Proof.
move=> /andP[u0 u1] /andP[nu0 nu1] d1 dnu dec /andP[l0 l1] Bb h hd hz g01 K01.
have [b0 near tv] := given_share nu1 Bb [::]; have [s0 s1 _] := share_row nu1 b0 near.
pose U := complete Mb gamma c g; have UM := complete_fair Mb c (gamma := gamma) g.
have U01 s : 0 <= U s <= 1.
  apply/andP; split; first by apply: gen_ge0 => z _; have /andP[] := g01 (s ++ z).
  rewrite -[X in _ <= X](gen_const Mb (gamma.+1 - size s) (c ++ s)); apply: gen_le => z _.
  by have /andP[] := g01 (s ++ z).
have P01 : 0 <= (1 : R) <= 1 by rewrite ler01 lexx.
have := traverses_near u0 u1 nu0 nu1 d1 dnu dec l0 l1 Bb UM U01 h hd hz (add0n gamma) b0 near P01 K01.
rewrite subrr mul0r addr0 mul1r /traversal_cost /stop_off subrr addr0 => main.
have -> : gen Mb gamma.+1 c g = U [::] by rewrite /U /complete subn0 cats0.
set X := draw _ _ in main.
have -> : F (fun s y => U (rcons s y)) K - U [::] = (F (fun s y => U (rcons s y)) K - X) + (X - U [::]) by ring.
apply: le_trans (ler_norm_add _ _) _; apply: ler_add => //.
have -> : U [::] = draw (Mb (c ++ [::])) (fun y => U (rcons [::] y)) by exact: UM.
by apply: le_trans (tv_bounds (row_sum Mb _) s1 (fun y => U01 (rcons [::] y))) tv.
Qed.
