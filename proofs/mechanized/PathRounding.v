From mathcomp Require Import all_ssreflect ssralg ssrnum zify.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Algorithms Block Optimality Precision Rounding ProblemRounding.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

(* Rules for a single path that keep a sub-block, by other formulas than block verification's, in floating point: hierarchical
   speculative decoding, capped at the end too and as published.  What is assumed is the standard model of Rounding.v. *)

Section Relative.
Variables (R : realFieldType).
Implicit Types (e z : R).
Lemma rel_weaken e e' z z' : e <= e' -> 0 <= z -> rel e z z' -> rel e' z z'.
Proof. by move=> le z0 r; apply: le_trans r _; apply: ler_wpmul2r. Qed.
Lemma rel_max e a a' b b' : 0 <= e -> 0 <= a -> 0 <= b -> rel e a a' -> rel e b b' -> rel e (Num.max a b) (Num.max a' b').
Proof.
move=> e0 a0 b0 ra rb; have [al ah] := rel_range ra; have [bl bh] := rel_range rb.
have m0 : 0 <= Num.max a b by rewrite le_maxr a0.
have hi : Num.max a' b' <= (1 + e) * Num.max a b.
  have f0 : 0 <= 1 + e by rewrite addr_ge0 ?ler01.
  rewrite le_maxl; apply/andP; split; [apply: le_trans ah _ | apply: le_trans bh _];
    by apply: ler_wpmul2l => //; rewrite le_maxr lexx ?orbT.
have lo : (1 - e) * Num.max a b <= Num.max a' b' by rewrite le_maxr; case: (leP a b) => _; rewrite ?al ?bl ?orbT.
rewrite /rel ler_norml; apply/andP; split.
  by rewrite ler_subr_addr addrC; move: lo; rewrite mulrBl mul1r.
by rewrite ler_subl_addr addrC; move: hi; rewrite mulrDl mul1r.
Qed.
End Relative.

Section Hierarchical.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma : nat) (c : seq V).
Variables (u o eta lambda : R) (d : nat) (F : R -> R) (B S : seq V -> V -> R).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1) (o0 : 0 <= o) (o1 : o < 1).
Hypothesis decided : forall h, 0 <= h <= 1 -> 0 <= F h <= 1 /\ `|F h - h| <= eta.
Notation p := (p_of Mb Ms c).
Notation g := (g_of Mb Ms c).
Notation coin := (coin_of Ms gamma c pred0 p).
Notation row := (row_of Mb Ms gamma c pred0 p).
Notation stops := (final gamma pred0).
Notation b x := (Mb (c ++ x)).
Notation s x := (Ms (c ++ x)).
Notation rounds := (Rounding.rounds u).
Implicit Types (x : seq V) (y : V) (i n : nat).

(* The joint ratio of a prefix over the largest of its own and those before, 1 among them, is p. *)
Fixpoint largest_from (r : seq V) : R := if r is y :: r' then Num.max (largest_from r') (g (rev r)) else 1.
Definition largest x : R := largest_from (rev x).
Lemma largest_rcons x y : largest (rcons x y) = Num.max (largest x) (g (rcons x y)).
Proof. by rewrite /largest rev_rcons /= -[in g _](rev_rcons x y) revK. Qed.
Lemma largest_ge1 x : 1 <= largest x.
Proof. by elim/last_ind: x => [|x y IH]; rewrite ?largest_rcons ?le_maxr ?IH. Qed.
Lemma ratio_p x : g x / largest x = p x.
Proof.
elim/last_ind: x => [|x y IH]; first by rewrite /largest /= /p_of /g_of /= divr1.
have L0 : 0 < largest x := lt_le_trans ltr01 (largest_ge1 x).
rewrite p_of_rcons /next_p -IH largest_rcons.
have -> : g x / largest x * b x y / s x y = g (rcons x y) / largest x by rewrite g_of_rcons; ring.
have [le|gt] := leP (g (rcons x y)) (largest x); first by rewrite min_l // ler_pdivr_mulr // mul1r.
rewrite divff ?gt_eqF // ?(lt_trans L0) // min_r // ler_pdivl_mulr // mul1r; exact: ltW.
Qed.

Variables (J L P : seq V -> R) (w v drawn : seq V -> V -> R) (H : seq V -> R).
(* The standard model: the joint ratio J, the largest L, their quotient P; the weights above and below, and the coin. *)
Definition ratios_computed : Prop := [/\ J [::] = 1, L [::] = 1, forall x, rounds (J x / L x) (P x) &
  forall x y, exists r e, [/\ rounds (B x y / S x y) r, rounds (J x * r) (J (rcons x y)),
    rounds (J (rcons x y) - L x) e & rounds (L x + Num.max e 0) (L (rcons x y))]].
Definition capped_quotient x : Prop := exists e D t N, [/\ 0 <= e /\ within u d (sumV (w x)) e,
  0 <= D /\ within u d (sumV (v x)) D, rounds (e - D) t, rounds (D + Num.max t 0) N & N != 0 -> rounds (e / N) (H x)].
Hypotheses (Bb : forall x y, rel o (b x y) (B x y)) (Ss : forall x y, rel o (s x y) (S x y)).
Hypotheses (Jc : ratios_computed) (wc : forall x, both_weights_given u B S P w v x) (Hc : forall x, capped_quotient x).
Hypotheses (drawn0 : forall x y, 0 <= drawn x y) (drawn1 : forall x, sumV (drawn x) = 1).
Hypothesis drawn_near : forall x, exists r : V -> R,
  [/\ sumV r = 1, forall y, 0 <= r y, total_variation r (drawn x) <= lambda &
      if stops x then forall y, r y * sumV (B x) = B x y else forall y, r y * sumV (w x) = w x y].
Fixpoint ratio_off n : R := if n is n'.+1 then both (both (survival_error u o (ratio_off n')) u) u else 0.
Definition path_off n : R := both (both (ratio_off n) (ratio_off n / (1 - ratio_off n))) u.
Hypothesis ratio1 : forall i, (i <= gamma)%N -> ratio_off i < 1.
Lemma ratio_off_ge0 n : 0 <= ratio_off n.
Proof. by elim: n => //= n IH; do 2 apply: both_ge0 => //; apply: survival_error_ge0. Qed.
Lemma both_more (e f : R) : 0 <= e -> 0 <= f -> e <= both e f /\ f <= both e f.
Proof.
move=> e0 f0; have ef : 0 <= e * f by apply: mulr_ge0.
have -> : both e f = e + f + e * f by rewrite /both; ring.
by split; [rewrite -addrA ler_addl addr_ge0 | rewrite [e + f]addrC -addrA ler_addl addr_ge0].
Qed.
Lemma ratios_near x : [/\ rel (ratio_off (size x)) (g x) (J x), rel (ratio_off (size x)) (largest x) (L x), 0 <= J x & 0 <= L x].
Proof.
have [J1 L1 _ step] := Jc; elim/last_ind: x => [|x y [Jr Lr Jx Lx]].
  by rewrite J1 L1 /= /rel !subrr !normr0 !mul0r ler01.
have [r [e [hr hJ he hL]]] := step x y; rewrite size_rcons /=; set k := ratio_off (size x) in Jr Lr *.
have k0 : 0 <= k := ratio_off_ge0 _; have S0 : 0 <= survival_error u o k by apply: survival_error_ge0.
have [rJ J0] := ratio_here u0 u1 o0 o1 k0 (row_ge0 Mb (c ++ x)) (row_ge0 Ms (c ++ x)) (Bb x) (Ss x) (g_of_ge0 Mb Ms c x) Jx Jr hr hJ.
have gE : g (rcons x y) = g x * b x y / s x y by rewrite g_of_rcons.
rewrite -gE in rJ; have g0 : 0 <= g (rcons x y) := g_of_ge0 Mb Ms c _.
have l0 : 0 <= largest x := le_trans ler01 (largest_ge1 x).
have kS : k <= survival_error u o k.
  have i0 : 0 <= o / (1 - o) by rewrite divr_ge0 // subr_ge0 ltW.
  have f0 : 0 <= both (both o (o / (1 - o))) u by do 2 apply: both_ge0 => //.
  have [a _] := both_more k0 f0; have [e1 _] := both_more (both_ge0 k0 f0) u0.
  exact: le_trans a e1.
have m0 : 0 <= Num.max (largest x) (g (rcons x y)) by rewrite le_maxr l0.
have rm := rel_max S0 l0 g0 (rel_weaken kS l0 Lr) rJ.
have m'0 : 0 <= Num.max (L x) (J (rcons x y)) by rewrite le_maxr Lx.
have m'E : Num.max (L x) (J (rcons x y)) = L x + Num.max (J (rcons x y) - L x) 0.
  have [le|lt] := leP (L x) (J (rcons x y)); first by rewrite max_l ?subr_ge0 // addrC subrK.
  by rewrite max_r ?addr0 // subr_le0 ltW.
have hm : rounds (Num.max (L x) (J (rcons x y))) (L x + Num.max e 0).
  rewrite /Rounding.rounds (ger0_norm m'0) m'E.
  have -> : L x + Num.max e 0 - (L x + Num.max (J (rcons x y) - L x) 0) = Num.max e 0 - Num.max (J (rcons x y) - L x) 0 by ring.
  apply: le_trans (max0_rounds u1 he) _; apply: ler_wpmul2l => //; by rewrite ler_addr.
have r1 := rel_rounds u0 S0 m0 rm hm; have S1 := both_ge0 S0 u0; have r2 := rel_rounds u0 S1 m0 r1 hL.
have [s1 _] := both_more S0 u0; have [s2 _] := both_more S1 u0.
split=> //; [exact: rel_weaken (le_trans s1 s2) g0 rJ | by rewrite largest_rcons | ].
have h0 : 0 <= L x + Num.max e 0 by rewrite addr_ge0 // le_maxr lexx orbT.
exact: rounds_ge0 hL.
Qed.
Lemma path_off_ge0 n : (n <= gamma)%N -> 0 <= path_off n.
Proof.
move=> le; have r0 := ratio_off_ge0 n; do 2 apply: both_ge0 => //.
by apply: divr_ge0 => //; rewrite subr_ge0 ltW // ratio1.
Qed.
Lemma path_near x : (size x <= gamma)%N -> rel (path_off (size x)) (p x) (P x) /\ 0 <= P x.
Proof.
move=> le; have [_ _ hP _] := Jc; have [Jr Lr Jx Lx] := ratios_near x; set k := ratio_off (size x) in Jr Lr *.
have k0 : 0 <= k := ratio_off_ge0 _; have k1 : k < 1 := ratio1 le.
have l0 : 0 <= largest x := le_trans ler01 (largest_ge1 x).
have i0 : 0 <= k / (1 - k) by rewrite divr_ge0 // subr_ge0 ltW.
have g0 := g_of_ge0 Mb Ms c x.
have q := rel_mul k0 g0 (_ : 0 <= (largest x)^-1) Jr (rel_inv k0 k1 l0 Lr).
have {}q : rel (both k (k / (1 - k))) (g x / largest x) (J x / L x) by apply: q; rewrite invr_ge0.
split; last by apply: rounds_ge0 (hP x) => //; apply: divr_ge0.
rewrite -ratio_p; exact: (rel_rounds u0 (both_ge0 k0 i0) (divr_ge0 g0 l0) q (hP x)).
Qed.

(* What a coin costs, however the rows are, if the survival is off by k: weights, their sums, and the larger of both. *)
Definition weights_cost (k : R) : R := (1 + u) * (weight_error u o k + o) + u.
Definition sum_cost (k : R) : R := weights_cost k + growth u d * (1 + weights_cost k).
Definition larger_cost (k : R) : R := 2%:R * sum_cost k + both u u * (1 + 2%:R * sum_cost k).
Definition path_coin (k : R) : R := larger_cost k + sum_cost k + u.
Section Costs.
Variables (k : R) (bb ss : V -> R) (q : R).
Hypotheses (k0 : 0 <= k) (b0 : forall y, 0 <= bb y) (b1 : sumV bb = 1) (s0 : forall y, 0 <= ss y) (s1 : sumV ss = 1).
Hypothesis q01 : 0 <= q <= 1.
Let q0 : 0 <= q. Proof. by case/andP: q01. Qed.
Let q1 : q <= 1. Proof. by case/andP: q01. Qed.
Let e0 : 0 <= weight_error u o k. Proof. by do 2 apply: both_ge0 => //. Qed.
Let near_cost (x : V -> R) (near : V -> R) : (forall y, 0 <= x y) -> sumV x <= 1 ->
  (forall y, near y <= (1 + u) * (weight_error u o k * (q * bb y) + o * ss y) + u * x y) -> sumV near <= weights_cost k.
Proof.
move=> x0 x1 le; apply: le_trans (sumV_le le) _; rewrite sumVD !sumVZ sumVD !sumVZ b1 s1 !mulr1; apply: ler_add.
  by apply: ler_wpmul2l; [rewrite addr_ge0 ?ler01 | rewrite ler_add2r ler_pimulr].
by apply: ler_pimulr.
Qed.
Let some (x near : R) y : 0 <= x -> near = 0 \/ near = (1 + u) * (weight_error u o k * (q * bb y) + o * ss y) + u * x ->
  near <= (1 + u) * (weight_error u o k * (q * bb y) + o * ss y) + u * x.
Proof.
move=> x0 [->|->] //; apply: addr_ge0; last exact: mulr_ge0.
by apply: mulr_ge0; apply: addr_ge0; rewrite ?ler01 //; apply: mulr_ge0 => //; apply: mulr_ge0.
Qed.
Lemma weights_cost_ge : weights_near u o k bb ss q <= weights_cost k.
Proof.
apply: (near_cost (x := over bb ss q)) => [y||y]; first exact: over_ge0.
  rewrite -/(excess bb ss q) excessE //; apply: le_trans q1; rewrite ler_subl_addr ler_addl.
  by apply: sumV_ge0 => y; rewrite le_minr s0 mulr_ge0.
by apply: some; [exact: over_ge0 | rewrite /weight_near; case: ifP => _; [left | right]].
Qed.
Lemma lesses_cost_ge : lesses_near u o k bb ss q <= weights_cost k.
Proof.
have l0 y : 0 <= less bb ss q y by rewrite le_maxr lexx orbT.
apply: (near_cost (x := less bb ss q)) => [//||y].
  rewrite -s1; apply: sumV_le => y; rewrite /less le_maxl s0 andbT ler_subl_addr ler_addl; exact: mulr_ge0.
by apply: some => //; rewrite /less_near; case: ifP => _; [left | right].
Qed.
Lemma weights_cost_ge0 : 0 <= weights_cost k.
Proof. by apply: addr_ge0 => //; apply: mulr_ge0; apply: addr_ge0; rewrite ?ler01. Qed.
Lemma sum_cost_ge (W x : R) : 0 <= W -> W <= weights_cost k -> x <= 1 -> total_off u d W x <= sum_cost k.
Proof.
move=> W0 le x1; apply: ler_add => //; apply: ler_wpmul2l; [exact: growth_ge0 | exact: ler_add].
Qed.
End Costs.

Lemma weights_path x : (size x <= gamma)%N -> [/\ forall y, `|w x y - over (b x) (s x) (p x) y| <= weight_near u o (path_off (size x)) (b x) (s x) (p x) y,
  forall y, `|v x y - less (b x) (s x) (p x) y| <= less_near u o (path_off (size x)) (b x) (s x) (p x) y & 0 <= path_off (size x)].
Proof.
move=> le; have [Pr P0] := path_near le; have /andP[p0 _] := p_of_range Mb Ms c x.
have k0 := path_off_ge0 le.
have [z [e [f we]]] := wc x; split=> // y; have [hz he wE hf vE] := we y; rewrite ?wE ?vE.
  exact: (weight_here u0 u1 o0 k0 (row_ge0 Mb _) (row_ge0 Ms _) (Bb x) (Ss x) p0 Pr hz he).
exact: (less_here u0 u1 o0 k0 (row_ge0 Mb _) (row_ge0 Ms _) (Bb x) (Ss x) p0 Pr hz hf).
Qed.
Definition path_taken x : R := F (if stops x then Num.min (P x) 1 else clipped (H x)).
Definition path_coins i : R := (if (i < gamma)%N then path_coin (path_off i) else path_off i) + eta.
Definition path_rows i : R := if (i < gamma)%N then weights_cost (path_off i) else o.
Let ple : forall x, ~~ stops x -> later Ms c p x <= p x := q_later (fun x y _ => p_of_le Mb Ms c x y).
Let p01 := p_of_range Mb Ms c.
Lemma P_ge0 x : 0 <= P x.
Proof. by have [_ _ hP _] := Jc; have [_ _ Jx Lx] := ratios_near x; apply: rounds_ge0 (hP x) => //; apply: divr_ge0. Qed.
Lemma taken_range x : 0 <= (if stops x then Num.min (P x) 1 else clipped (H x)) <= 1.
Proof.
case: ifP => _; last exact: clipped_range.
by rewrite le_minr P_ge0 ler01 le_minl lexx orbT.
Qed.
Lemma path_taken_near x : (size x <= gamma)%N ->
  none Ms gamma c pred0 p x * `|path_taken x - coin x| <= path_coins (size x).
Proof.
move=> le; have /andP[n0 n1] := none_range p01 ple x; have [wn vn k0] := weights_path le.
have t01 := taken_range x; have [_ hF] := decided t01; rewrite /path_taken; set h := if stops x then _ else _ in t01 hF *.
have -> : F h - coin x = (h - coin x) + (F h - h) by ring.
apply: le_trans (ler_wpmul2l n0 (ler_norm_add _ _)) _; rewrite mulrDr /path_coins; apply: ler_add; last first.
  by apply: le_trans hF; rewrite ler_pimull.
rewrite /h coin_block /none; move: (p01 x) => /andP[p0 p1]; case: (boolP (stops x)) => f.
  have [Pr P0] := path_near le; rewrite mul1r; have -> : (size x < gamma)%N = false.
    by move: f; rewrite /final orbF leqNgt => /negPf.
  have r := rel_min k0 p0 P0 Pr; rewrite (min_l p1) in r; apply: le_trans r _; exact: ler_pimulr.
have -> : (size x < gamma)%N by move: f; rewrite /final orbF -ltnNge.
rewrite later_share; set b' := b x; set s' := s x; set q := p x.
have b0 y : 0 <= b' y := row_ge0 Mb _ y; have s0 y : 0 <= s' y := row_ge0 Ms _ y.
have [b1 s1] : sumV b' = 1 /\ sumV s' = 1 by split; apply: row_sum.
have x0 : 0 <= excess b' s' q by apply: sumV_ge0 => y; apply: over_ge0.
have D0 : 0 <= 1 - share b' s' q by rewrite subr_ge0 share_le1 //; apply: row_sum.
have D1 : 1 - share b' s' q <= 1.
  by rewrite ler_subl_addr ler_addl; apply: sumV_ge0 => y; rewrite le_minr s0 mulr_ge0.
have xD : excess b' s' q <= 1 - share b' s' q by rewrite excessE // ler_add2r.
have hx : (1 - share b' s' q) * h_block b' s' q = excess b' s' q by rewrite excessE //; apply: h_blockE.
have uE : sumV (less b' s' q) = 1 - share b' s' q by rewrite -underE.
have [e [D [t [N [[e0 ew] [Dz Dw] ht hN hH]]]]] := Hc x.
have w1 := total_here u0 (sumV_le wn) ew; have v1 := total_here u0 (sumV_le vn) Dw.
rewrite uE in v1; have W0 := weights_cost_ge0 k0; have T0 : 0 <= sum_cost (path_off (size x)).
  by apply: addr_ge0 => //; apply: mulr_ge0; [exact: growth_ge0 | rewrite addr_ge0 ?ler01].
have nw : 0 <= weights_near u o (path_off (size x)) b' s' q by apply: le_trans (sumV_le wn); apply: sumV_ge0.
have nv : 0 <= lesses_near u o (path_off (size x)) b' s' q by apply: le_trans (sumV_le vn); apply: sumV_ge0.
have cw := weights_cost_ge k0 (row_ge0 Mb (c ++ x)) (row_sum Mb (c ++ x)) (row_ge0 Ms (c ++ x)) (row_sum Ms (c ++ x)) (p01 x).
have cv := lesses_cost_ge k0 (row_ge0 Mb (c ++ x)) (row_sum Mb (c ++ x)) (row_ge0 Ms (c ++ x)) (row_sum Ms (c ++ x)) (p01 x).
have {}w1 := le_trans w1 (sum_cost_ge nw cw (le_trans xD D1)).
have {}v1 := le_trans v1 (sum_cost_ge nv cv D1); rewrite -/b' -/s' -/q in w1 v1.
set T := sum_cost _ in w1 v1 T0 *; set U := 1 - share b' s' q in D0 D1 xD hx uE v1 *; set X := excess b' s' q in x0 xD hx w1 *.
have m0 : 0 <= Num.max D e by rewrite le_maxr Dz.
have mE : Num.max D e = D + Num.max (e - D) 0.
  have [l|g'] := leP D e; first by rewrite max_l ?subr_ge0 // addrC subrK.
  by rewrite max_r ?addr0 // subr_le0 ltW.
have big : Num.max D e <= U + T.
  have lD : D <= U + T by rewrite -ler_subl_addl; apply: le_trans (ler_norm _) v1.
  rewrite le_maxl lD /=; apply: le_trans (_ : X + T <= _); last by rewrite ler_add2r.
  by rewrite -ler_subl_addl; apply: le_trans (ler_norm _) w1.
have mU : `|Num.max D e - U| <= T.
  rewrite ler_norml; apply/andP; split; last by rewrite ler_subl_addr addrC.
  rewrite ler_subr_addr; apply: le_trans (_ : D <= _); last by rewrite le_maxr lexx.
  by rewrite addrC ler_subl_addr -ler_subl_addl; apply: le_trans (ler_norm _) _; rewrite distrC.
have mr : rounds (Num.max D e) (D + Num.max t 0).
  rewrite /Rounding.rounds (ger0_norm m0) mE.
  have -> : D + Num.max t 0 - (D + Num.max (e - D) 0) = Num.max t 0 - Num.max (e - D) 0 by ring.
  by apply: le_trans (max0_rounds u1 ht) _; apply: ler_wpmul2l => //; rewrite ler_addr.
have same : rel 0 (Num.max D e) (Num.max D e) by rewrite /rel subrr normr0 mul0r.
have rN := rel_rounds u0 (both_ge0 (lexx 0) u0) m0 (rel_rounds u0 (lexx 0) m0 same mr) hN.
have {}rN : `|N - Num.max D e| <= both u u * Num.max D e by move: rN; rewrite /rel /both addr0 mul1r [1 + u - 1]addrAC subrr add0r.
have N0 : 0 <= N by apply: rounds_ge0 hN => //; rewrite addr_ge0 // le_maxr lexx orbT.
have uu := both_ge0 u0 u0.
have nN : `|N - U| <= T + both u u * (1 + T).
  have -> : N - U = (Num.max D e - U) + (N - Num.max D e) by ring.
  apply: le_trans (ler_norm_add _ _) _; apply: ler_add => //; apply: le_trans rN _; apply: ler_wpmul2l => //.
  by apply: le_trans big _; rewrite ler_add2r.
have := quotient_near u0 u1 x0 D0 e0 N0 w1 nN hH; rewrite (min_l xD) -hx -mulrBr normrM (ger0_norm D0) => /le_trans; apply.
rewrite /quotient_off /path_coin /larger_cost; set a := at_most _ _ _ _.
have n'0 : 0 <= T + both u u * (1 + T) := le_trans (normr_ge0 _) nN.
have a1 : a <= 1 by rewrite /a /at_most; case: ifP => // _; rewrite le_minl lexx orbT.
have a0 : 0 <= a.
  rewrite /a /at_most; case: ifP => // lt; rewrite le_minr ler01 andbT; apply: divr_ge0; last by rewrite subr_ge0 ltW.
  by rewrite hx; apply: addr_ge0.
apply: ler_add; last by rewrite -mulrA ler_pimulr //; apply: mulr_ile1.
rewrite ler_add2r; apply: le_trans (ler_pimull n'0 a1) _; rewrite -/T.
have TT : T <= 2%:R * T by rewrite mulr_natl mulr2n ler_addl.
by apply: ler_add => //; apply: ler_wpmul2l => //; rewrite ler_add2l.
Qed.
Lemma path_drawn_near x : (size x <= gamma)%N ->
  ending Ms gamma c pred0 p x * total_variation (row x) (drawn x) <= path_rows (size x) + ending Ms gamma c pred0 p x * lambda.
Proof.
move=> le; have [r [r1 r0 rl re]] := drawn_near x; have e0 := ending_ge0 p01 ple x; have [wn _ k0] := weights_path le.
apply: le_trans (ler_wpmul2l e0 (tv_triangle (row x) r (drawn x))) _; rewrite mulrDr; apply: ler_add; last exact: ler_wpmul2l.
move: re e0; rewrite /path_rows /ending; case: (boolP (stops x)) => f re e0.
  have -> : (size x < gamma)%N = false by move: f; rewrite /final orbF leqNgt => /negPf.
  have tv := given_row_near Bb r1 r0 re; have /andP[_ q1] := p01 x.
  apply: le_trans (ler_pimull _ q1) _; first by rewrite divr_ge0 ?ler0n // sumV_ge0.
  by apply: le_trans tv; rewrite /total_variation (sumV_eq (g := fun y => `|r y - b x y|)) // => y; rewrite row_block f.
have -> : (size x < gamma)%N by move: f; rewrite /final orbF -ltnNge.
rewrite later_share -excessE ?row_sum //.
have -> : total_variation (row x) r = total_variation (residual (b x) (s x) (p x)) r.
  by rewrite /total_variation; congr (_ / _); apply: sumV_eq => y; rewrite row_block (negPf f).
apply: le_trans (row_here wn re r1 r0) _.
exact: (weights_cost_ge k0 (row_ge0 Mb (c ++ x)) (row_sum Mb (c ++ x)) (row_ge0 Ms (c ++ x)) (row_sum Ms (c ++ x)) (p01 x)).
Qed.
Theorem hierarchical_rounding (U : seq V -> V -> R) : (forall x y, 0 <= U x y <= 1) ->
  `|draft Ms c pred0 gamma [::] (fun X => sub_verify path_taken drawn X U)
    - draft Ms c pred0 gamma [::] (fun X => block_verify Mb Ms c X U)|
  <= \sum_(i < gamma) path_coins i.+1 + \sum_(i < gamma.+1) path_rows i + lambda.
Proof.
move=> U01; have -> : draft Ms c pred0 gamma [::] (fun X => block_verify Mb Ms c X U)
    = draft Ms c pred0 gamma [::] (fun X => sub_verify coin row X U).
  by have := @block_loop_sub _ _ Mb Ms gamma c pred0 U gamma [::] [::]; apply; [|left].
apply: (@near_law _ _ Mb Ms gamma c pred0 p _ p01 ple path_taken drawn path_coins path_rows lambda U) => //.
- by move=> x; have [] := decided (taken_range x).
- move=> i; rewrite /path_rows; case: ifP => // lt; exact: weights_cost_ge0 (path_off_ge0 (ltnW lt)).
- exact: path_taken_near.
by move=> x le; apply: path_drawn_near.
Qed.
End Hierarchical.

(* Hierarchical speculative decoding as published, against itself in floating point: the whole draft is accepted by its joint
   ratio, more often than what is lossless, and everything else as by the capped rule.  What is assumed is the standard model
   of Rounding.v. *)

(* Coins that are those which keep x with probability q x, but for whole drafts, where they may be larger: what is off at a
   shorter prefix counts no more often than by the smaller ones. *)
Section Larger.
Variables (V : vocabulary) (R : realFieldType) (Ms : model V R).
Variables (gamma : nat) (c : seq V) (ends : pred (seq V)) (q own : seq V -> R).
Hypotheses (q1 : q [::] = 1) (q01 : forall x, 0 <= q x <= 1).
Hypothesis later_le : forall x, ~~ final gamma ends x -> later Ms c q x <= q x.
Hypotheses (own01 : forall x, 0 <= own x <= 1) (own_end : forall x, final gamma ends x -> q x <= own x).
Hypothesis own_coin : forall x, ~~ final gamma ends x -> own x = coin_of Ms gamma c ends q x.
Implicit Types (x z : seq V) (a : R).
Notation stops := (final gamma ends).
Notation worth := (worth Ms c ends).
Notation none := (none Ms gamma c ends q).
Notation ending := (ending Ms gamma c ends q).
Notation below := (below Ms c ends).
(* How often, given x, no longer prefix is kept; and how often x is. *)
Fixpoint alone n x : R := if n is n'.+1 then
  if ends x then 1 else sumV (fun y => Ms (c ++ x) y * ((1 - own (rcons x y)) * alone n' (rcons x y))) else 1.
Definition kept x : R := own x * alone (gamma - size x) x.
Lemma alone_range n x : (size x + n)%N = gamma -> 0 <= alone n x <= none x.
Proof.
elim: n x => [|n IH] x hn; first by rewrite /none /final -hn addn0 leqnn ler01 lexx.
rewrite /=; case: ifP => [e|ne]; first by rewrite /none /final e orbT ler01 lexx.
have nf : ~~ stops x by rewrite /final ne orbF -ltnNge -hn addnS ltnS leq_addr.
have -> : none x = sumV (fun y => Ms (c ++ x) y * (1 - q (rcons x y))).
  rewrite /none (negPf nf) (sumV_eq (g := fun y => Ms (c ++ x) y - Ms (c ++ x) y * q (rcons x y))) => [|y]; last by ring.
  by rewrite sumVB row_sum.
have hn' y : (size (rcons x y) + n)%N = gamma by rewrite size_rcons addSnnS.
have k0 y : 0 <= 1 - own (rcons x y) by rewrite subr_ge0; have /andP[] := own01 (rcons x y).
apply/andP; split; first by apply: sumV_ge0 => y; rewrite mulr_ge0 // mulr_ge0 //; have /andP[] := IH _ (hn' y).
apply: sumV_le => y; apply: ler_wpmul2l => //; set z := rcons x y; have /andP[a0 a1] := IH z (hn' y).
have [f|nf'] := boolP (stops z).
  by apply: le_trans (ler_pimulr (k0 y) _) _; [apply: le_trans a1 _; rewrite /none f | rewrite ler_add2l ler_opp2 own_end].
apply: le_trans (ler_wpmul2l (k0 y) a1) _; rewrite /none (negPf nf') mulrBl mul1r own_coin // (coin_ofE q01 later_le nf').
by rewrite opprB addrA subrK.
Qed.
Lemma alone_linear A n x a : worth own A n x a = worth own A n x 0 + alone n x * a.
Proof.
elim: n x a => [|n IH] x a /=; first by rewrite mul1r add0r.
case: ifP => _; first by rewrite mul1r add0r.
by rewrite -sumVZr -sumVD; apply: sumV_eq => y; rewrite /flip [in LHS]IH [in RHS]IH [worth own A n _ a]IH; ring.
Qed.
Lemma larger_coins coin' alpha A n x a : (forall x, 0 <= coin' x <= 1) -> (forall x, 0 <= A x <= 1) ->
  (forall x, (size x <= gamma)%N -> none x * `|coin' x - own x| <= alpha x) -> (size x + n)%N = gamma -> 0 <= a <= 1 ->
  `|worth coin' A n x a - worth own A n x a| <= below alpha n x.
Proof.
move=> coin01 A01 near; elim: n x a => [|n IH] x a hn a01; first by rewrite /= subrr normr0.
rewrite /=; case: ifP => _; first by rewrite subrr normr0.
rewrite -sumVB; apply: le_trans (sumV_norm _) _; apply: sumV_le => y.
rewrite -mulrBr normrM ger0_norm //; apply: ler_wpmul2l => //.
have hn' : (size (rcons x y) + n)%N = gamma by rewrite size_rcons addSnnS.
have le : (size (rcons x y) <= gamma)%N by rewrite -hn' leq_addr.
set z := rcons x y in hn' le *; have /andP[al0 al1] := alone_range hn'.
have -> : flip (coin' z) (fun accepted : bool => worth coin' A n z (if accepted then A z else a))
    - flip (own z) (fun accepted : bool => worth own A n z (if accepted then A z else a))
  = (coin' z * (worth coin' A n z (A z) - worth own A n z (A z))
      + (1 - coin' z) * (worth coin' A n z a - worth own A n z a)) + alone n z * (coin' z - own z) * (A z - a).
  by rewrite /flip [worth own A n z (A z)]alone_linear [worth own A n z a]alone_linear; ring.
apply: le_trans (ler_norm_add _ _) _; rewrite addrC; apply: ler_add; last by apply: norm_mix; rewrite ?IH.
rewrite !normrM (ger0_norm al0); apply: le_trans (near z le).
apply: le_trans (_ : alone n z * `|coin' z - own z| <= _); last exact: ler_wpmul2r.
apply: ler_pimulr; first by rewrite mulr_ge0.
have /andP[z0 z1] := A01 z; have /andP[a0 a1] := a01.
rewrite ler_norml; apply/andP; split; last by rewrite ler_subl_addr (le_trans z1) // ler_addl.
by rewrite ler_subr_addr; apply: le_trans z0; rewrite addrC subr_le0.
Qed.
Lemma larger_rows err A A' n x a a' : (forall x, (size x <= gamma)%N -> kept x * `|A' x - A x| <= err x) ->
  (size x + n)%N = gamma -> `|worth own A' n x a' - worth own A n x a| <= below err n x + alone n x * `|a' - a|.
Proof.
move=> near; elim: n x a a' => [|n IH] x a a' hn; first by rewrite /= add0r mul1r.
rewrite /=; case: ifP => _; first by rewrite add0r mul1r.
rewrite -sumVB -sumVZr -sumVD; apply: le_trans (sumV_norm _) _; apply: sumV_le => y.
rewrite -mulrBr normrM ger0_norm // -mulrA -mulrDr; apply: ler_wpmul2l => //.
have hn' : (size (rcons x y) + n)%N = gamma by rewrite size_rcons addSnnS.
have le : (size (rcons x y) <= gamma)%N by rewrite -hn' leq_addr.
set z := rcons x y in hn' le *; have /andP[o0 o1] := own01 z; have k0 : 0 <= 1 - own z by rewrite subr_ge0.
have zE : kept z = own z * alone n z by rewrite /kept -hn' addKn.
have first := IH z (A z) (A' z) hn'; have second := IH z a a' hn'; have := near z le; rewrite zE => here.
rewrite /flip; set W1 := worth own A' n z (A' z) in first *; set W2 := worth own A n z (A z) in first *.
set W3 := worth own A' n z a' in second *; set W4 := worth own A n z a in second *; set B := below err n z in first second *.
have -> : own z * W1 + (1 - own z) * W3 - (own z * W2 + (1 - own z) * W4) = own z * (W1 - W2) + (1 - own z) * (W3 - W4) by ring.
apply: le_trans (ler_norm_add _ _) _; rewrite !normrM (ger0_norm o0) (ger0_norm k0).
apply: le_trans (ler_add (ler_wpmul2l o0 first) (ler_wpmul2l k0 second)) _.
have -> : own z * (B + alone n z * `|A' z - A z|) + (1 - own z) * (B + alone n z * `|a' - a|)
  = own z * alone n z * `|A' z - A z| + B + (1 - own z) * alone n z * `|a' - a| by ring.
by rewrite ler_add2r ler_add2r.
Qed.
Lemma kept_all n x (d : R) : (size x + n)%N = gamma -> below (fun z => kept z * d) n x + alone n x * d = d.
Proof.
elim: n x => [|n IH] x hn /=; first by rewrite add0r mul1r.
case: ifP => _; first by rewrite add0r mul1r.
transitivity (sumV (fun y => Ms (c ++ x) y * d)); last by rewrite sumVZr row_sum mul1r.
rewrite -sumVZr -sumVD; apply: sumV_eq => y.
have hn' : (size (rcons x y) + n)%N = gamma by rewrite size_rcons addSnnS.
have zE : kept (rcons x y) = own (rcons x y) * alone n (rcons x y) by rewrite /kept -[gamma in LHS]hn' addKn.
by rewrite -[in RHS](IH _ hn') zE; ring.
Qed.
Theorem larger_near coin' (last last' : seq V -> V -> R) alpha beta lambda (U : seq V -> V -> R) :
  (forall x, 0 <= coin' x <= 1) -> (forall x, sumV (last x) = 1) -> (forall x y, 0 <= last' x y) -> (forall x, sumV (last' x) = 1) ->
  0 <= lambda -> (forall i, 0 <= beta i) ->
  (forall x, (size x <= gamma)%N -> none x * `|coin' x - own x| <= alpha (size x)) ->
  (forall x, (size x <= gamma)%N -> let weight := if stops x then 1 else ending x in
     weight * total_variation (last x) (last' x) <= beta (size x) + weight * lambda) ->
  (forall x y, 0 <= U x y <= 1) ->
  `|draft Ms c ends gamma [::] (fun X => sub_verify coin' last' X U)
    - draft Ms c ends gamma [::] (fun X => sub_verify own last X U)|
  <= \sum_(i < gamma) alpha i.+1 + \sum_(i < gamma.+1) beta i + lambda.
Proof.
move=> c01 l1 r0 r1 lambda0 b0 ca rb u; rewrite !sub_verify_worth.
pose A' k := draw (last' k) (U k); pose A k := draw (last k) (U k).
rewrite -/(A' [::]) -/(A [::]) (_ : worth coin' _ gamma [::] _ = worth coin' A' gamma [::] (A' [::])) //.
rewrite (_ : worth own (fun k => _) gamma [::] _ = worth own A gamma [::] (A [::])) //.
have A01 x : 0 <= A' x <= 1.
  apply/andP; split; first by apply: sumV_ge0 => y; apply: mulr_ge0 => //; have /andP[] := u x y.
  by rewrite -(r1 x); apply: sumV_le => y; rewrite ler_pimulr //; have /andP[] := u x y.
have al i : (i <= gamma)%N -> 0 <= alpha i.
  have [z <-] := some_text Ms i => le; apply: le_trans (ca z le).
  by rewrite mulr_ge0 //; have /andP[] := none_range q01 later_le z.
(* What is kept no more often than the weight costs no more than it. *)
have less x t : (size x <= gamma)%N -> 0 <= t -> t <= (if stops x then 1 else ending x) ->
    t * `|A' x - A x| <= beta (size x) + t * lambda.
  move=> le t0 tw; have tv := tv_bounds (l1 x) (r1 x) (u x); have := rb x le => /=.
  set w := if stops x then _ else _ in tw *; set v := total_variation _ _ in tv * => h.
  apply: le_trans (ler_wpmul2l t0 tv) _; rewrite -ler_subl_addr -mulrBr.
  have [vl|/ltW lv] := leP v lambda; first by apply: le_trans (b0 (size x)); rewrite mulr_ge0_le0 // subr_le0.
  apply: le_trans (_ : w * (v - lambda) <= _); first by apply: ler_wpmul2r; rewrite ?subr_ge0.
  by rewrite mulrBr ler_subl_addr.
have kept_range x : (size x <= gamma)%N -> 0 <= kept x /\ kept x <= (if stops x then 1 else ending x).
  move=> le; have /andP[a0 a1] := alone_range (subnKC le); have /andP[o0 o1] := own01 x.
  have /andP[_ n1] := none_range q01 later_le x; split; first exact: mulr_ge0.
  case: (boolP (stops x)) => [_|nf]; first by apply: mulr_ile1 => //; apply: le_trans n1.
  rewrite /kept own_coin // /ending (negPf nf) -(coin_ofE q01 later_le nf); rewrite own_coin // in o0.
  by apply: le_trans (ler_wpmul2l o0 a1) _; rewrite /none (negPf nf).
have -> : worth coin' A' gamma [::] (A' [::]) - worth own A gamma [::] (A [::])
  = (worth coin' A' gamma [::] (A' [::]) - worth own A' gamma [::] (A' [::]))
    + (worth own A' gamma [::] (A' [::]) - worth own A gamma [::] (A [::])) by ring.
apply: le_trans (ler_norm_add _ _) _; rewrite -[X in _ <= X]addrA; apply: ler_add.
  apply: le_trans (@larger_coins coin' (fun x => alpha (size x)) A' gamma [::] (A' [::]) c01 A01 ca (add0n gamma) (A01 [::])) _.
  exact: (@below_levels _ _ Ms gamma c ends (fun x => alpha (size x)) alpha gamma [::] (add0n gamma) (fun _ _ => lexx _) al).
have near x : (size x <= gamma)%N -> kept x * `|A' x - A x| <= beta (size x) + kept x * lambda.
  by move=> le; have [k0 k1] := kept_range x le; apply: less.
apply: le_trans (@larger_rows (fun x => beta (size x) + kept x * lambda) A A' gamma [::] (A [::]) (A' [::]) near (add0n gamma)) _; rewrite belowD.
have /andP[a0 a1] := alone_range (add0n gamma : (size ([::] : seq V) + gamma)%N = gamma).
have root : alone gamma [::] * `|A' [::] - A [::]| <= beta 0%N + alone gamma [::] * lambda.
  apply: (less [::]) => //; apply: le_trans a1 _; rewrite /none /ending q1.
  by case: ifP.
apply: le_trans (ler_add (lexx _) root) _; rewrite addrACA kept_all // ler_add2r big_ord_recl addrC ler_add2l.
exact: (@below_levels _ _ Ms gamma c ends (fun x => beta (size x)) beta gamma [::] (add0n gamma) (fun _ _ => lexx _) (fun i _ => b0 i)).
Qed.
End Larger.

Section Published.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma : nat) (c : seq V).
Variables (u o eta lambda : R) (d : nat) (F : R -> R) (B S : seq V -> V -> R).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1) (o0 : 0 <= o) (o1 : o < 1).
Hypothesis decided : forall h, 0 <= h <= 1 -> 0 <= F h <= 1 /\ `|F h - h| <= eta.
Notation p := (p_of Mb Ms c).
Notation g := (g_of Mb Ms c).
Notation stops := (final gamma pred0).
Implicit Types (x : seq V).
(* The rule's coins: the joint ratio for the whole draft, else the capped rule's; and its rows, which are block
   verification's. *)
Definition published_coin x : R := if stops x then Num.min (g x) 1 else coin_of Ms gamma c pred0 p x.
Definition published (X : seq V) (U : seq V -> V -> R) : R := sub_verify published_coin (row_of Mb Ms gamma c pred0 p) X U.
Variables (J L P : seq V -> R) (w v drawn : seq V -> V -> R) (H : seq V -> R).
Hypotheses (Bb : forall x y, rel o (Mb (c ++ x) y) (B x y)) (Ss : forall x y, rel o (Ms (c ++ x) y) (S x y)).
Hypotheses (Jc : ratios_computed u B S J L P) (wc : forall x, both_weights_given u B S P w v x) (Hc : forall x, capped_quotient u d w v H x).
Hypotheses (drawn0 : forall x y, 0 <= drawn x y) (drawn1 : forall x, sumV (drawn x) = 1).
Hypothesis drawn_near : forall x, exists r : V -> R,
  [/\ sumV r = 1, forall y, 0 <= r y, total_variation r (drawn x) <= lambda &
      if stops x then forall y, r y * sumV (B x) = B x y else forall y, r y * sumV (w x) = w x y].
Hypothesis ratio1 : forall i, (i <= gamma)%N -> ratio_off u o i < 1.
Definition published_taken x : R := F (if stops x then Num.min (J x) 1 else clipped (H x)).
Definition published_coins i : R := (if (i < gamma)%N then path_coin u o d (path_off u o i) else ratio_off u o i) + eta.
Let ple : forall x, ~~ stops x -> later Ms c p x <= p x := q_later (fun x y _ => p_of_le Mb Ms c x y).
Let p01 := p_of_range Mb Ms c.
Lemma whole x : stops x -> (size x < gamma)%N = false.
Proof. by rewrite /final orbF leqNgt => /negPf. Qed.
Lemma published_coin_range x : 0 <= published_coin x <= 1.
Proof.
rewrite /published_coin; case: ifP => _; last exact: coin_of_range.
by rewrite le_minr g_of_ge0 ler01 le_minl lexx orbT.
Qed.
Theorem published_rounding (U : seq V -> V -> R) : (forall x y, 0 <= U x y <= 1) ->
  `|draft Ms c pred0 gamma [::] (fun X => sub_verify published_taken drawn X U)
    - draft Ms c pred0 gamma [::] (fun X => published X U)|
  <= \sum_(i < gamma) published_coins i.+1 + \sum_(i < gamma.+1) path_rows gamma u o i + lambda.
Proof.
move=> U01; have lambda0 : 0 <= lambda.
  by have [r [_ _ rl _]] := drawn_near [::]; apply: le_trans rl; rewrite divr_ge0 ?ler0n // sumV_ge0.
have J0 x : 0 <= J x by have [] := ratios_near u0 u1 o0 o1 Bb Ss Jc x.
have taken01 x : 0 <= (if stops x then Num.min (J x) 1 else clipped (H x)) <= 1.
  by case: ifP => _; [rewrite le_minr J0 ler01 le_minl lexx orbT | exact: clipped_range].
rewrite /published; apply: (@larger_near _ _ Ms gamma c pred0 p published_coin (erefl : p [::] = 1) p01 ple published_coin_range _ _
  published_taken (row_of Mb Ms gamma c pred0 p) drawn published_coins (path_rows gamma u o) lambda U) => //.
- move=> x f; rewrite /published_coin f le_minr -(ratio_p Mb Ms c) ratio_p; have /andP[_ ->] := p01 x; rewrite andbT.
  rewrite -ratio_p ler_pdivr_mulr ?(lt_le_trans ltr01 (largest_ge1 _ _ _ _)) // ler_pemulr ?g_of_ge0 //; exact: largest_ge1.
- by move=> x nf; rewrite /published_coin (negPf nf).
- by move=> x; have [] := decided (taken01 x).
- exact: row_of_sum.
- move=> i; rewrite /path_rows; case: ifP => // lt; apply: weights_cost_ge0 => //; exact: (path_off_ge0 u0 o0 o1 ratio1 (ltnW lt)).
- move=> x le; have := path_taken_near u0 u1 o0 o1 decided Bb Ss Jc wc Hc ratio1 le.
  rewrite /published_coin /published_taken /path_taken /published_coins /path_coins; case: (boolP (stops x)) => [f _|nf]; last first.
    by have -> : (size x < gamma)%N by move: nf; rewrite /final orbF -ltnNge.
  rewrite (whole f) /none f mul1r; have [Jr _ _ _] := ratios_near u0 u1 o0 o1 Bb Ss Jc x.
  have h01 := taken01 x; rewrite f in h01; have [_ hF] := decided h01.
  have -> : F (Num.min (J x) 1) - Num.min (g x) 1 = (Num.min (J x) 1 - Num.min (g x) 1) + (F (Num.min (J x) 1) - Num.min (J x) 1) by ring.
  apply: le_trans (ler_norm_add _ _) _; apply: ler_add => //.
  have k0 : 0 <= ratio_off u o (size x) by exact: ratio_off_ge0.
  apply: le_trans (rel_min k0 (g_of_ge0 Mb Ms c x) (J0 x) Jr) _; apply: ler_pimulr => //; by rewrite le_minl lexx orbT.
move=> x le; case: (boolP (stops x)) => f /=; last first.
  have := path_drawn_near u0 u1 o0 o1 Bb Ss Jc wc drawn_near ratio1 le; exact.
rewrite !mul1r /path_rows (whole f); have [r [r1 r0 rl re]] := drawn_near x; rewrite f in re.
apply: le_trans (tv_triangle _ r _) _; apply: ler_add => //; have tv := given_row_near Bb r1 r0 re.
by apply: le_trans tv; rewrite /total_variation (sumV_eq (g := fun y => `|r y - Mb (c ++ x) y|)) // => y; rewrite row_block f.
Qed.
End Published.
