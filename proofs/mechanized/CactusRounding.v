From mathcomp Require Import all_ssreflect ssralg ssrnum zify.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Algorithms Block Descent Precision Rounding ProblemRounding TreeRounding DescentRounding KSeqRounding StepRounding.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

(* Cactus in floating point, against the same rule in exact numbers: the target's probability of the drafted token is raised
   before it is tested, and the others are scaled to what that leaves.  1 - p may be as small as its error, but no more than
   that is left to the others; what is raised is given, off by tau.  What is assumed is the standard model of Rounding.v, and
   that the computed scale is at most 1, as it is where rounding is monotone. *)

Section Weights.
Variables (V : vocabulary) (R : realFieldType) (u : R).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1).
Lemma rest_near (a b m e : R) : Rounding.rounds u a e -> `|a - b| <= m -> `|Num.max e 0 - Num.max b 0| <= (1 + u) * m + u * Num.max b 0.
Proof.
move=> he near; have n1 := max0_near b a.
have -> : Num.max e 0 - Num.max b 0 = (Num.max e 0 - Num.max a 0) + (Num.max a 0 - Num.max b 0) by ring.
apply: le_trans (ler_norm_add _ _) _; have {}n1 := le_trans n1 near.
have -> : (1 + u) * m + u * Num.max b 0 = u * (Num.max b 0 + m) + m by ring.
apply: ler_add => //; apply: le_trans (max0_rounds u1 he) _; apply: ler_wpmul2l => //.
by have := le_trans (ler_norm _) n1; rewrite ler_subl_addl.
Qed.
Lemma weights_tv (K : R) (w w' r r' : V -> R) : by_weights w r -> by_weights w' r' -> 0 <= K -> K <= sumV w ->
  K * total_variation r r' <= apart w w'.
Proof.
move=> [r1 r0 rw] [r'1 r'0 rw'] K0 Kw; have N0 := le_trans K0 Kw.
have tv0 : 0 <= total_variation r r' by rewrite divr_ge0 ?ler0n // sumV_ge0.
apply: le_trans (ler_wpmul2r tv0 Kw) _; rewrite /total_variation mulrA ler_pdivr_mulr ?ltr0n // [apart _ _ * _]mulrC.
rewrite -sumVZ (sumV_eq (g := fun y => `|sumV w * r' y - w y|)) => [|y]; first exact: normalised_near.
by rewrite -[w y in RHS]rw [r y * _]mulrC -mulrBr normrM (ger0_norm N0).
Qed.
End Weights.

Section Raised.
Variables (V : vocabulary) (R : realFieldType) (u o sigma : R) (p q P G : V -> R) (x : V) (h h' tau one share' : R).
Hypotheses (u0 : 0 <= u) (u1 : u < 1) (o0 : 0 <= o) (o1 : o < 1) (sigma0 : 0 <= sigma) (tau0 : 0 <= tau).
Hypotheses (p0 : forall y, 0 <= p y) (p1 : sumV p = 1) (q0 : forall y, 0 <= q y) (q1 : sumV q = 1).
Hypotheses (pP : forall y, rel o (p y) (P y)) (qG : forall y, rel o (q y) (G y)).
Hypotheses (ph : p x <= h) (h1 : h <= 1) (h'0 : 0 <= h') (hh : `|h' - h| <= tau) (ones : `|one - 1| <= sigma).
Notation rounds := (Rounding.rounds u).
Let u1' : u <= 1. Proof. exact: ltW. Qed.
(* h is what p x is raised to; the other tokens of p are scaled to what that leaves. *)
Definition scale_of : R := if p x == 1 then 0 else (1 - h) / (1 - p x).
Definition raised y : R := if y == x then h else p y * scale_of.
Definition left_raised y : R := Num.max (raised y - q y) 0.
(* The computed scale: (one - h') / (one - P x), or 0 where that is 0; one is the computed sum of the row. *)
Definition scale_computed : Prop := exists N D, [/\ rounds (one - h') N, rounds (one - P x) D,
  0 <= share' <= 1 & if one == P x then share' = 0 else rounds (N / D) share'].
Definition left_computed (w : V -> R) : Prop := forall y, exists m e,
  [/\ if y == x then m = h' else rounds (P y * share') m, rounds (m - G y) e & w y = Num.max e 0].
Definition scale_cost : R := (sigma + o + u * (1 + (sigma + o))) + (1 + u) * (sigma + tau + u * (1 + (sigma + tau))) + u.
Definition raised_cost : R := (1 + u) * (scale_cost + both o u + tau + o) + u.
Let px1 : p x <= 1.
Proof. by rewrite -p1 sumVE (bigD1 x) //= ler_addl sumr_ge0. Qed.
Lemma scale_range : 0 <= scale_of /\ scale_of <= 1.
Proof.
rewrite /scale_of; case: eqP => [_|/eqP ne]; first by rewrite lexx ler01.
have d0 : 0 < 1 - p x by rewrite subr_gt0 lt_neqAle ne.
by split; [rewrite divr_ge0 ?subr_ge0 | rewrite ler_pdivr_mulr // mul1r ler_add2l ler_opp2].
Qed.
Lemma scale_left : (1 - p x) * scale_of = 1 - h.
Proof.
rewrite /scale_of; case: eqP => [e|/eqP ne]; last by rewrite mulrCA mulfV ?mulr1 // subr_eq0 eq_sym.
have -> : h = 1 by apply/eqP; rewrite eq_le h1 -[X in X <= _]e ph.
by rewrite mulr0 subrr.
Qed.
Lemma others (f : V -> R) : sumV (fun y => if y == x then 0 else f y) = sumV f - f x.
Proof.
by rewrite !sumVE [in RHS](bigD1 x) //= addrC addKr (bigD1 x) //= eqxx add0r; apply: eq_bigr => y /negPf ->.
Qed.
Lemma raised_sum : sumV raised = 1.
Proof.
have -> : sumV raised = h + sumV (fun y => if y == x then 0 else p y * scale_of).
  by rewrite /raised !sumVE (bigD1 x) //= eqxx [in RHS](bigD1 x) //= eqxx add0r; congr (_ + _); apply: eq_bigr => y /negPf ->.
by rewrite others sumVZr p1 -mulrBl scale_left addrC subrK.
Qed.
Lemma scale_near : scale_computed -> `|(1 - p x) * share' - (1 - h)| <= scale_cost.
Proof.
move=> [N [D [hN hD /andP[s0 s1] hs]]]; set d := 1 - p x; have d0 : 0 <= d by rewrite subr_ge0.
have d1 : d <= 1 by rewrite ler_subl_addr ler_addl.
have n0 : 0 <= 1 - h by rewrite subr_ge0.
have Pp : `|P x - p x| <= o by apply: le_trans (pP x) _; exact: ler_pimulr.
have off a b (t : R) : `|a - b| <= t -> `|(one - a) - (1 - b)| <= sigma + t.
  move=> ab; have -> : one - a - (1 - b) = (one - 1) - (a - b) by ring.
  by apply: le_trans (ler_norm_sub _ _) _; apply: ler_add.
have dn := off _ _ _ Pp; have nn := off _ _ _ hh; rewrite -/d in dn.
have rnd (a b z t : R) : 0 <= b -> b <= 1 -> `|a - b| <= t -> rounds a z -> `|z - b| <= t + u * (1 + t).
  move=> b0 b1 ab hz; have big : `|a| <= 1 + t.
    by rewrite -[a](subrK b); apply: le_trans (ler_norm_add _ _) _; rewrite (ger0_norm b0) addrC ler_add.
  have -> : z - b = (a - b) + (z - a) by ring.
  by apply: le_trans (ler_norm_add _ _) _; apply: ler_add => //; apply: le_trans hz _; apply: ler_wpmul2l.
have eD := rnd _ _ _ _ d0 d1 dn hD.
have n1 : 1 - h <= 1 by rewrite ler_subl_addr ler_addl (le_trans (p0 x)).
have eN := rnd _ _ _ _ n0 n1 nn hN; set ed := _ + u * _ in eD; set en := _ + u * _ in eN.
have c0 : 0 <= ed by apply: le_trans eD.
have c1 : 0 <= en by apply: le_trans eN.
have -> : scale_cost = ed + (u * (1 + en) + en) by rewrite /scale_cost -/ed -/en; ring.
case: eqP hs => [e ->|/eqP ne hs].
  rewrite mulr0 sub0r normrN (ger0_norm n0); apply: le_trans (_ : d <= _); first by rewrite ler_add2l ler_opp2.
  move: dn; rewrite e subrr sub0r normrN (ger0_norm d0) => dn; apply: le_trans dn _.
  apply: le_trans (_ : ed <= _); first by rewrite ler_addl mulr_ge0 // !addr_ge0 ?ler01.
  by rewrite ler_addl addr_ge0 // mulr_ge0 // addr_ge0 ?ler01.
have Dn : D != 0.
  apply: contraNneq ne => z; rewrite -subr_eq0 -normr_le0 -(pmulr_rle0 _ (_ : 0 < 1 - u)) ?subr_gt0 //.
  by move: hD; rewrite /Rounding.rounds z sub0r normrN mulrBl mul1r subr_le0.
have sD : `|share' * D - N| <= u * `|N|.
  have -> : share' * D - N = (share' - N / D) * D by field.
  rewrite normrM; apply: le_trans (ler_wpmul2r (normr_ge0 D) hs) _.
  by rewrite -mulrA -normrM divfK.
have bigN : `|N| <= 1 + en.
  by rewrite -[N](subrK (1 - h)); apply: le_trans (ler_norm_add _ _) _; rewrite (ger0_norm n0) addrC ler_add.
have -> : d * share' - (1 - h) = - (share' * (D - d)) + ((share' * D - N) + (N - (1 - h))) by ring.
apply: le_trans (ler_norm_add _ _) _; rewrite normrN normrM (ger0_norm s0).
apply: ler_add; first by apply: le_trans eD; exact: ler_pimull.
apply: le_trans (ler_norm_add _ _) _; apply: ler_add => //; apply: le_trans sD _; exact: ler_wpmul2l.
Qed.
Lemma left_near w : scale_computed -> left_computed w -> apart left_raised w <= raised_cost.
Proof.
move=> sc wc; have near := scale_near sc; have [N [D [_ _ /andP[s0 s1] _]]] := sc; have [c0 c1] := scale_range.
pose m y := if y == x then tau + o * q y else p y * `|share' - scale_of| + both o u * p y + o * q y.
apply: le_trans (_ : sumV (fun y => (1 + u) * m y + u * left_raised y) <= _).
  apply: sumV_le => y; have [z [e [hz he ->]]] := wc y; apply: (rest_near u0 u1' he).
  have -> : z - G y - (raised y - q y) = (z - raised y) - (G y - q y) by ring.
  apply: le_trans (ler_norm_sub _ _) _; rewrite /m /raised; case: eqP hz => [->|_] hz; first by rewrite hz; apply: ler_add => //; exact: qG.
  apply: ler_add; last exact: qG.
  have P0 : 0 <= P y := given_ge0 o1 (p0 y) (pP y).
  have -> : z - p y * scale_of = (z - P y * share') + ((P y - p y) * share' + p y * (share' - scale_of)) by ring.
  have [_ Ph] := rel_range (pP y).
  apply: le_trans (ler_norm_add _ _) _; rewrite addrC.
  have -> : p y * `|share' - scale_of| + both o u * p y = (o * p y + p y * `|share' - scale_of|) + u * ((1 + o) * p y) by rewrite /both; ring.
  apply: ler_add.
    apply: le_trans (ler_norm_add _ _) _; rewrite !normrM (ger0_norm (p0 y)) (ger0_norm s0) ler_add2r.
    by apply: le_trans (ler_pimulr (normr_ge0 _) s1) _; exact: pP.
  apply: le_trans hz _; apply: ler_wpmul2l => //; rewrite ger0_norm ?mulr_ge0 //.
  by apply: le_trans Ph; exact: ler_pimulr.
rewrite sumVD !sumVZ /raised_cost; apply: ler_add; last first.
  apply: ler_pimulr => //; rewrite -raised_sum; apply: sumV_le => y; rewrite le_maxl ler_subl_addr ler_addl q0 /=.
  by rewrite /raised; case: eqP => _; [exact: le_trans (p0 x) ph | exact: mulr_ge0].
apply: ler_wpmul2l; first by rewrite addr_ge0 ?ler01.
have b0 : 0 <= both o u by apply: both_ge0.
pose k y := p y * `|share' - scale_of| + both o u * p y.
have -> : sumV m = tau + sumV (fun y => if y == x then 0 else k y) + o * sumV q.
  rewrite -sumVZ; have -> : tau = sumV (fun y => (y == x)%:R * tau) by rewrite sumV_delta.
  by rewrite -!sumVD; apply: sumV_eq => y; rewrite /m /k; case: eqP => _; rewrite ?mul1r ?mul0r ?add0r ?addr0.
rewrite others q1 mulr1 /k sumVD sumVZr sumVZ p1 mul1r mulr1 ler_add2r.
have -> : `|share' - scale_of| + both o u - (p x * `|share' - scale_of| + both o u * p x)
  = (1 - p x) * `|share' - scale_of| + both o u * (1 - p x) by ring.
have d0 : 0 <= 1 - p x by rewrite subr_ge0.
rewrite addrC; apply: ler_add => //; apply: ler_add; last by apply: ler_pimulr => //; rewrite ler_subl_addr ler_addl.
by rewrite -[X in X * _](ger0_norm d0) -normrM mulrBr scale_left.
Qed.
Lemma raised_cost_ge0 : 0 <= raised_cost.
Proof.
have grown (e : R) : 0 <= e -> 0 <= e + u * (1 + e) by move=> e0; rewrite addr_ge0 // mulr_ge0 // addr_ge0 ?ler01.
have f0 : 0 <= 1 + u by rewrite addr_ge0 ?ler01.
have s0 : 0 <= scale_cost by rewrite addr_ge0 // addr_ge0 ?grown ?addr_ge0 // mulr_ge0 // grown // addr_ge0.
have b0 : 0 <= both o u by apply: both_ge0.
by rewrite addr_ge0 // mulr_ge0 // addr_ge0 // addr_ge0 // addr_ge0.
Qed.
End Raised.

(* What the probability is raised to: min(p + m / n, 1), m a whole number, of which the computed one is off by k; and a square
   root, off by what its argument is over itself, or by no more than the root of that. *)
Section Peak.
Variables (R : realFieldType) (u o sigma : R).
Hypotheses (u0 : 0 <= u) (o0 : 0 <= o) (os : o <= sigma).
Notation rounds := (Rounding.rounds u).
Definition peak_off : R := both (both sigma u) u.
Hypothesis peak1 : peak_off <= 1.
Lemma peak_near (p P one n m m' k a b : R) : 0 <= p -> rel o p P -> `|one - 1| <= sigma -> 0 < n -> 0 <= m' -> `|m' - m| <= k ->
  rounds (one * m') a -> rounds (P + a / n) b -> `|Num.min b one - Num.min (p + m / n) 1| <= peak_off + k / n.
Proof.
move=> p0 pP ones n0 m0 mm ha hb; have s0 : 0 <= sigma := le_trans o0 os.
have f0 : 0 <= both sigma u by apply: both_ge0. have E0 : 0 <= peak_off by apply: both_ge0.
have up (e e' z z' : R) : e <= e' -> 0 <= z -> rel e z z' -> rel e' z z'.
  by move=> le z0 r; apply: le_trans r _; apply: ler_wpmul2r.
have bu (e : R) : 0 <= e -> e <= both e u.
  by move=> e0; have -> : both e u = e + u * (1 + e) by [rewrite /both; ring]; rewrite ler_addl mulr_ge0 // addr_ge0 ?ler01.
have rm : rel sigma m' (one * m').
  by rewrite /rel -[X in _ - X]mul1r -mulrBl normrM (ger0_norm m0); apply: ler_wpmul2r.
have ra := rel_rounds u0 s0 m0 rm ha; pose B := p + m' / n.
have i0 : 0 <= n^-1 by rewrite invr_ge0 ltW.
have B0 : 0 <= B by rewrite addr_ge0 // mulr_ge0.
have rB : rel (both sigma u) B (P + a / n).
  rewrite /rel; have -> : P + a / n - B = (P - p) + (a - m') / n by rewrite /B; ring.
  apply: le_trans (ler_norm_add _ _) _; rewrite mulrDr; apply: ler_add.
    by apply: up pP => //; apply: le_trans os (bu _ s0).
  by rewrite normrM (ger0_norm i0) mulrA; apply: ler_wpmul2r.
have rb := rel_rounds u0 f0 B0 rB hb; rewrite -/peak_off in rb.
have r1 : rel peak_off 1 one.
  by rewrite /rel mulr1; apply: le_trans ones _; apply: le_trans (bu _ s0) (bu _ f0).
have -> : Num.min b one - Num.min (p + m / n) 1 = (Num.min b one - Num.min B 1) + (Num.min B 1 - Num.min (p + m / n) 1) by ring.
apply: le_trans (ler_norm_add _ _) _; apply: ler_add; last first.
  apply: le_trans (min_near 1 _ _) _; have -> : B - (p + m / n) = (m' - m) / n by rewrite /B; ring.
  by rewrite normrM (ger0_norm i0); apply: ler_wpmul2r.
have [bl bh] := rel_range rb; have [ol oh] := rel_range r1; rewrite mulr1 in ol oh.
have B1 : Num.min B 1 <= 1 by rewrite le_minl lexx orbT.
have g0 : 0 <= 1 + peak_off by rewrite addr_ge0 ?ler01.
apply: le_trans (_ : peak_off * Num.min B 1 <= _); last exact: ler_pimulr.
have lo : (1 - peak_off) * Num.min B 1 <= Num.min b one.
  have c0 : 0 <= 1 - peak_off by rewrite subr_ge0.
  rewrite le_minr; apply/andP; split; [apply: le_trans bl | apply: le_trans ol].
    by apply: ler_wpmul2l => //; rewrite le_minl lexx.
  by rewrite -[X in _ <= X]mulr1; apply: ler_wpmul2l.
have hi : Num.min b one <= (1 + peak_off) * Num.min B 1.
  have [le|lt] := leP B 1; first by rewrite le_minl bh.
  by rewrite le_minl oh orbT.
rewrite ler_norml; apply/andP; split.
  by rewrite ler_subr_addr addrC; move: lo; rewrite mulrBl mul1r.
by rewrite ler_subl_addr addrC; move: hi; rewrite mulrDl mul1r.
Qed.
Lemma root_near (s s' t t' : R) : 0 <= s -> 0 <= s' -> s * s = t -> s' * s' = t' ->
  s * `|s' - s| <= `|t' - t| /\ `|s' - s| * `|s' - s| <= `|t' - t|.
Proof.
move=> s0 s'0 <- <-; have -> : s' * s' - s * s = (s' + s) * (s' - s) by ring.
have a0 : 0 <= s' + s by rewrite addr_ge0.
rewrite normrM (ger0_norm a0); split; apply: ler_wpmul2r => //; first by rewrite ler_addr.
by rewrite ler_norml opprD ler_add2r ler_add2l; apply/andP; split; apply: (@le_trans _ _ 0); rewrite ?oppr_le0.
Qed.
End Peak.

(* The rule on a path. *)
Section Cactus.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (c : seq V) (u o sigma eta lambda : R) (Fd : R -> R).
Hypotheses (u0 : 0 <= u) (u1 : u < 1) (o0 : 0 <= o) (o1 : o < 1) (sigma0 : 0 <= sigma) (lambda0 : 0 <= lambda).
Hypothesis decided : forall h, 0 <= h <= 1 -> 0 <= Fd h <= 1 /\ `|Fd h - h| <= eta.
Notation rounds := (Rounding.rounds u).
Notation rb s := (Mb (c ++ s)).
Notation ms s := (Ms (c ++ s)).
Implicit Types (s : seq V) (x y : V).
Variables (P G h h' H tau share' : seq V -> V -> R) (one : seq V -> R) (row r' row' : seq V -> V -> V -> R) (last' : seq V -> V -> R).
Variable w : seq V -> V -> V -> R.
Hypotheses (pP : forall s y, rel o (rb s y) (P s y)) (qG : forall s y, rel o (ms s y) (G s y)).
(* h: what the drafted token's probability is raised to. *)
Hypotheses (ph : forall s x, rb s x <= h s x) (h1 : forall s x, h s x <= 1) (h'0 : forall s x, 0 <= h' s x) (tau0 : forall s x, 0 <= tau s x).
Hypothesis hh : forall s x, ms s x != 0 -> `|h' s x - h s x| <= tau s x.
Hypothesis ones : forall s, `|one s - 1| <= sigma.
Hypothesis coins : forall s x, if G s x < P s x then H s x = 1 else exists2 z, rounds (h' s x / G s x) z & H s x = Num.min z 1.
Hypothesis scales : forall s x, scale_computed u (P s) x (h' s x) (one s) (share' s x).
Hypothesis lefts : forall s x, left_computed u (P s) (G s) x (h' s x) (share' s x) (w s x).
Hypotheses (rows : forall s x, by_weights (left_raised (rb s) (ms s) x (h s x)) (row s x)) (rows' : forall s x, by_weights (w s x) (r' s x)).
Hypothesis drawn : forall s x, [/\ sumV (row' s x) = 1, forall y, 0 <= row' s x y & total_variation (r' s x) (row' s x) <= lambda].
Hypothesis lasts : forall s, [/\ sumV (last' s) = 1, forall y, 0 <= last' s y & total_variation (rb s) (last' s) <= o + lambda].
Definition cactus_coin s x : R := if ms s x < rb s x then 1 else Num.min (h s x / ms s x) 1.
Definition cactus gamma f A : R := verify_path Ms c cactus_coin row (fun s => rb s) gamma f A.
Definition cactus_computed gamma f A : R := verify_path Ms c (fun s x => Fd (H s x)) row' last' gamma f A.
Let i : R := o / (1 - o).
Let i0 : 0 <= i. Proof. by rewrite divr_ge0 // subr_ge0 ltW. Qed.
Let u1' : u <= 1. Proof. exact: ltW. Qed.
Let eta0 : 0 <= eta.
Proof. by have [_ /(le_trans (normr_ge0 _))] := decided (introT andP (conj (lexx 0) (@ler01 R))). Qed.
Let h0 s x : 0 <= h s x. Proof. exact: le_trans (row_ge0 Mb _ x) (ph s x). Qed.
Lemma cactus_coinE s x : ms s x != 0 -> cactus_coin s x = Num.min (h s x / ms s x) 1.
Proof.
move=> nz; rewrite /cactus_coin; case: ltP => // lt; rewrite min_r //.
by rewrite ler_pdivl_mulr ?lt0r ?nz ?row_ge0 // mul1r (le_trans (ltW lt)).
Qed.
Lemma cactus_coin_range s x : 0 <= cactus_coin s x <= 1.
Proof.
rewrite /cactus_coin; case: ifP => _; first by rewrite ler01 lexx.
by rewrite le_minr divr_ge0 ?row_ge0 // ler01 le_minl lexx orbT.
Qed.
Lemma coins_range s x : 0 <= H s x <= 1.
Proof.
have := coins s x; case: ifP => [_ ->|_ [z hz ->]]; first by rewrite ler01 lexx.
rewrite le_minl lexx orbT andbT le_minr ler01 andbT; apply: rounds_ge0 hz => //.
by rewrite divr_ge0 // (given_ge0 o1 (row_ge0 Ms _ x) (qG s x)).
Qed.
Lemma cactus_coins s x : ms s x * `|H s x - cactus_coin s x| <= ms s x * (u + o + i) + tau s x.
Proof.
have q0 : 0 <= ms s x := row_ge0 Ms _ x; have [z|nz] := eqVneq (ms s x) 0; first by rewrite z !mul0r add0r.
have qp : 0 < ms s x by rewrite lt0r nz.
rewrite cactus_coinE //; set q := ms s x in q0 nz qp *; set a := h s x.
have a0 : 0 <= a := h0 s x; have near := hh nz.
have qa : q * Num.min (a / q) 1 = Num.min a q by rewrite minr_pmulr ?(ltW qp) // mulr1 mulrCA mulfV ?mulr1.
have oi : o <= i by rewrite /i ler_pdivl_mulr ?subr_gt0 // ler_pimulr // ler_subl_addr ler_addl.
have := coins s x; case: ifP => [lt ->|_ [z hz ->]].
  apply: le_trans (_ : q * (o + o) <= _); last first.
    rewrite -[X in X <= _]addr0; apply: ler_add => //; apply: ler_wpmul2l => //.
    by rewrite -addrA; apply: le_trans (_ : o + i <= _); [rewrite ler_add2l | rewrite ler_addr].
  rewrite -[X in X * `|_|](ger0_norm q0) -normrM mulrBr mulr1 qa.
  have [le|la] := leP a q; last by rewrite subrr normr0 mulr_ge0 ?addr_ge0.
  rewrite ger0_norm ?subr_ge0 // mulrDr; have p_q : rb s x <= q := le_trans (ph s x) le.
  have [_ hiP] := rel_range (pP s x); have [loG _] := rel_range (qG s x).
  apply: le_trans (_ : q - rb s x <= _); first by rewrite ler_add2l ler_opp2; exact: ph.
  have : (1 - o) * q <= (1 + o) * rb s x by apply: le_trans loG (le_trans (ltW lt) hiP).
  rewrite mulrBl mulrDl !mul1r => le2; rewrite ler_subl_addr; apply: le_trans (_ : (q - o * q) + o * q <= _); first by rewrite subrK.
  apply: le_trans (ler_add le2 (lexx _)) _; rewrite [q * o]mulrC [X in _ <= X]addrC -!addrA ler_add2l ler_add2r; exact: ler_wpmul2l.
set G' := G s x in hz *; have rG : rel i q^-1 G'^-1 := rel_inv o0 o1 q0 (qG s x).
have G0 : 0 <= G' := given_ge0 o1 q0 (qG s x); set b := h' s x in hz near *; have b0 : 0 <= b := h'0 s x.
have r1 : rel i (b / q) (b / G') by rewrite /rel -mulrBr normrM (ger0_norm b0) mulrCA; apply: ler_wpmul2l.
have bq0 : 0 <= b / q by rewrite divr_ge0.
have bG0 : 0 <= b / G' by rewrite divr_ge0.
have z0 : 0 <= z := rounds_ge0 u1' bG0 hz.
have rz : rel u (b / G') z by move: hz; rewrite /Rounding.rounds (ger0_norm bG0).
have n1 : `|Num.min z 1 - Num.min (b / G') 1| <= u.
  by apply: le_trans (rel_min u0 bG0 z0 rz) _; apply: ler_pimulr => //; rewrite le_minl lexx orbT.
have n2 : `|Num.min (b / G') 1 - Num.min (b / q) 1| <= i.
  by apply: le_trans (rel_min i0 bq0 bG0 r1) _; apply: ler_pimulr => //; rewrite le_minl lexx orbT.
have n3 : q * `|Num.min (b / q) 1 - Num.min (a / q) 1| <= tau s x.
  apply: le_trans near; apply: le_trans (ler_wpmul2l q0 (min_near 1 _ _)) _.
  by rewrite -mulrBl normrM normfV (ger0_norm q0) mulrCA mulfV ?mulr1.
have -> : Num.min z 1 - Num.min (a / q) 1 = (Num.min z 1 - Num.min (b / G') 1) + (Num.min (b / G') 1 - Num.min (b / q) 1)
  + (Num.min (b / q) 1 - Num.min (a / q) 1) by ring.
apply: le_trans (ler_wpmul2l q0 (ler_norm_add _ _)) _; rewrite mulrDr; apply: ler_add => //.
apply: ler_wpmul2l => //; apply: le_trans (ler_norm_add _ _) _; apply: ler_add => //.
by apply: le_trans n1 _; rewrite ler_addl.
Qed.
(* What is rejected is no more than what the raised row has beyond the draft's. *)
Lemma rejected_raised s x : ms s x * (1 - cactus_coin s x) <= (h s x < ms s x)%R%:R * sumV (left_raised (rb s) (ms s) x (h s x)).
Proof.
have q0 : 0 <= ms s x := row_ge0 Ms _ x; have [z|nz] := eqVneq (ms s x) 0.
  by rewrite z mul0r mulr_ge0 ?ler0n // sumV_ge0 // => y; rewrite le_maxr lexx orbT.
have qp : 0 < ms s x by rewrite lt0r nz.
rewrite cactus_coinE // mulrBr mulr1 minr_pmulr // mulr1 mulrCA mulfV // mulr1.
case: ltP => [lt|le]; last by rewrite mul0r subrr.
rewrite mul1r; set g := left_raised _ _ _ _.
have g0 y : 0 <= g y by rewrite le_maxr lexx orbT.
apply: le_trans (_ : sumV (fun y => if y == x then 0 else raised (rb s) x (h s x) y - ms s y) <= _); last first.
  by apply: sumV_le => y; case: eqP => // _; rewrite le_maxr lexx.
rewrite others sumVB raised_sum ?row_sum // /raised eqxx; have -> // : ms s x - h s x = 1 - 1 - (h s x - ms s x) by ring.
Qed.
Definition cactus_cost s : R := eta + (u + o + i) + sumV (fun x => tau s x + (h s x < ms s x)%R%:R * raised_cost u o sigma (tau s x)).
Theorem cactus_rounding gamma f (delta : nat -> R) A : path f -> (forall s y, 0 <= A s y <= 1) ->
  (forall s, cactus_cost s <= delta (size s)) ->
  `|cactus_computed gamma f A - cactus gamma f A| <= \sum_(i < gamma) delta i + (o + lambda).
Proof.
move=> one_path A01 le; have cost0 s : 0 <= cactus_cost s.
  rewrite addr_ge0 // ?sumV_ge0 // => [|x]; first by rewrite !addr_ge0.
  by rewrite addr_ge0 // mulr_ge0 ?ler0n // raised_cost_ge0.
have delta0 k : 0 <= delta k by have [z <-] := some_text Ms k; apply: le_trans (cost0 z) (le z).
apply: (@one_draft_near V R Ms c cactus_coin (fun s x => Fd (H s x)) row r' row' _ _ delta o lambda) => //.
- exact: cactus_coin_range.
- by move=> s x; have [] := decided (coins_range s x).
- by move=> s x y; have [_ r0 _] := rows s x.
- by move=> s x; have [] := rows s x.
- by move=> s x; have [a b d] := drawn s x; have [r1 r0 _] := rows' s x.
move=> s; apply: le_trans (le s); rewrite /cactus_cost /draft_off.
have -> : eta + (u + o + i) = sumV (fun x => ms s x * (eta + (u + o + i))) by rewrite sumVZr row_sum mul1r.
rewrite -sumVD; apply: sumV_le => x; have q0 : 0 <= ms s x := row_ge0 Ms _ x.
rewrite mulrDr addrA; apply: ler_add.
  have [_ hF] := decided (coins_range s x).
  have -> : Fd (H s x) - cactus_coin s x = (Fd (H s x) - H s x) + (H s x - cactus_coin s x) by ring.
  apply: le_trans (ler_wpmul2l q0 (ler_norm_add _ _)) _; rewrite mulrDr [ms s x * (eta + _)]mulrDr -[X in _ <= X]addrA.
  by apply: ler_add; [exact: ler_wpmul2l | exact: cactus_coins].
rewrite mulrA.
have tv0 : 0 <= total_variation (row s x) (r' s x) by rewrite divr_ge0 ?ler0n // sumV_ge0.
apply: le_trans (ler_wpmul2r tv0 (rejected_raised s x)) _.
have [lt|_] := boolP (h s x < ms s x); last by rewrite !mul0r.
rewrite !mul1r; set g := left_raised (rb s) _ _ _; have g0 : 0 <= sumV g by apply: sumV_ge0 => y; rewrite le_maxr lexx orbT.
apply: le_trans (weights_tv (rows s x) (rows' s x) g0 (lexx _)) _.
have nz : ms s x != 0 by rewrite gt_eqF // (le_lt_trans (h0 s x) lt).
exact: (left_near u0 u1 o0 o1 sigma0 (row_ge0 Mb (c ++ s)) (row_sum Mb (c ++ s)) (row_ge0 Ms (c ++ s)) (row_sum Ms (c ++ s)) (pP s) (qG s) (ph s x) (h1 s x) (hh nz) (ones s) (scales s x) (lefts s x)).
Qed.
End Cactus.

(* Rules that take drafts with shares of any kind and draw the rest, in floating point, against the same rule in exact numbers:
   Global Resolution stopped early, whose solver's weights are rounded to a lattice.  The computed shares are given, off by a
   drift; a lemma has it from the steps of the lattice.  What is assumed else is the standard model of Rounding.v. *)

Section Rule.
Variables (V : vocabulary) (R : realFieldType) (Mb : model V R) (c : seq V) (o lambda : R).
Hypotheses (o0 : 0 <= o) (lambda0 : 0 <= lambda).
Notation rb s := (Mb (c ++ s)).
Variables (Q : seq V -> seq V -> V -> R) (spent : seq V -> pred (seq V)).
Hypotheses (Q0 : forall s elders x, 0 <= Q s elders x) (Q1 : forall s elders, ~~ spent s elders -> sumV (Q s elders) = 1).
Variables (a a' : seq V -> nat -> seq V -> V -> R) (row r' row' : seq V -> nat -> V -> R) (w : seq V -> nat -> V -> R) (last' : seq V -> V -> R).
Hypotheses (a0 : forall s k xs y, 0 <= a s k xs y) (a1 : forall s k xs, sumV (a s k xs) <= 1).
Hypotheses (a'0 : forall s k xs y, 0 <= a' s k xs y) (a'1 : forall s k xs, sumV (a' s k xs) <= 1).
(* What the target has beyond the shares, or nothing where they take more: the rule need not be lossless. *)
Definition by_shares s k y : R := siblings (Q s) (spent s) k [::] (fun xs => a s k xs y).
Definition not_taken s k y : R := Num.max (rb s y - by_shares s k y) 0.
Hypotheses (rows : forall s k, by_weights (not_taken s k) (row s k)) (rows' : forall s k, by_weights (w s k) (r' s k)).
Hypothesis drawn : forall s k, [/\ sumV (row' s k) = 1, forall y, 0 <= row' s k y & total_variation (r' s k) (row' s k) <= lambda].
Hypothesis lasts : forall s, [/\ sumV (last' s) = 1, forall y, 0 <= last' s y & total_variation (rb s) (last' s) <= o + lambda].
Let take (a : seq V -> nat -> seq V -> V -> R) (row : seq V -> nat -> V -> R) s k xs (g : V -> bool -> R) : R :=
  sumV (fun y => a s k xs y * g y true) + (1 - sumV (a s k xs)) * draw (row s k) (g^~ false).
Lemma taking_chance (b : seq V -> nat -> seq V -> V -> R) (r : seq V -> nat -> V -> R) s k xs : (forall s k xs y, 0 <= b s k xs y) -> (forall s k xs, sumV (b s k xs) <= 1) ->
  sumV (r s k) = 1 -> (forall y, 0 <= r s k y) -> chance (take b r s k xs).
Proof.
move=> b0 b1 r1 r0; have left : 0 <= 1 - sumV (b s k xs) by rewrite subr_ge0.
split=> [g g' le|g g'|t g|]; rewrite /take /draw.
- apply: ler_add; first by apply: sumV_le => y; apply: ler_wpmul2l.
  by apply: ler_wpmul2l => //; apply: sumV_le => y; apply: ler_wpmul2l.
- by rewrite (sumV_eq (fun y => mulrDr (b s k xs y) _ _)) (sumV_eq (fun y => mulrDr (r s k y) _ _)) !sumVD; ring.
- rewrite (sumV_eq (fun y => mulrCA (b s k xs y) _ _)) (sumV_eq (fun y => mulrCA (r s k y) _ _)) !sumVZ.
  by rewrite [RHS]mulrDr; congr (_ + _); rewrite mulrCA.
by rewrite !sumVZr r1 !mulr1 addrC subrK.
Qed.
Theorem shares_rounding gamma f (drift rest : nat -> R) (A : seq V -> V -> R) : (forall s y, 0 <= A s y <= 1) ->
  (forall i, 0 <= drift i) -> (forall i, 0 <= rest i) ->
  (forall s k, (0 < k <= level (size s) f)%N -> siblings (Q s) (spent s) k [::] (fun xs => apart (a s k xs) (a' s k xs)) <= drift (size s)
     /\ apart (not_taken s k) (w s k) <= rest (size s)) ->
  `|descend Q spent (taking a' row') last' gamma [::] f A - descend Q spent (taking a row) (fun s => rb s) gamma [::] f A|
  <= \sum_(i < gamma) (drift i + rest i) + (o + lambda).
Proof.
move=> A01 d0 t0 near; rewrite distrC -[o + lambda]add0r.
apply: (@descents_near _ _ Q spent _ _ _ _ f (fun i => drift i + rest i) 0 (o + lambda) _ _ _ _ _ _ _ _ gamma [::] f) => //.
- by move=> i; rewrite addr_ge0.
- by move=> s k; apply: (drafts_expect (Q0 s) (@Q1 s)) => xs; have [r1 r0 _] := drawn s k; apply: taking_chance.
- by move=> s k; apply: (drafts_expect (Q0 s) (@Q1 s)) => xs; have [r1 r0 _] := rows s k; apply: taking_chance.
- move=> s k g le g01; have [nd nr] := near s k le; have [r1 r0 _] := rows s k; have [r2 r3 dl] := drawn s k.
  pose tv := total_variation (row s k) (row' s k).
  have tv0 : 0 <= total_variation (row s k) (r' s k) by rewrite divr_ge0 ?ler0n // sumV_ge0.
  have tvl : tv <= total_variation (row s k) (r' s k) + lambda.
    by apply: le_trans (tv_triangle _ (r' s k) _) _; apply: ler_add.
  have left xs : 0 <= 1 - sumV (a s k xs) by rewrite subr_ge0.
  pose E F := siblings (Q s) (spent s) k [::] F.
  have whole : E (fun xs => 1 - sumV (a s k xs)) = 1 - sumV (by_shares s k).
    rewrite /E (siblings_eq _ _ _ _ (G := fun xs => 1 + -1 * sumV (a s k xs))) => [|xs]; last by ring.
    by rewrite siblingsD siblingsZ (siblings_const (@Q1 s)) siblings_sumV mulN1r.
  have R0 : 0 <= 1 - sumV (by_shares s k).
    by rewrite -whole -[X in X <= _](siblings_const (@Q1 s) k [::]); apply: siblings_le.
  have -> : over_drafts Q spent (taking a row) s k (fun _ _ accepted => (~~ accepted)%:R) = 1 - sumV (by_shares s k).
    rewrite -whole; apply: siblings_eq => xs; rewrite /taking /draw /= (sumV_eq (g := fun=> 0)) => [|y]; last by rewrite mulr0.
    by rewrite sumV0 add0r sumVZr r1 !mulr1.
  rewrite distrC; apply: le_trans (_ : E (fun xs => apart (a s k xs) (a' s k xs) + tv * (1 - sumV (a s k xs))) <= _).
    rewrite distrC; apply: (siblings_off _ (Q0 s)) => xs _; set X := draw (row s k) ((g xs)^~ false).
    set X' := draw (row' s k) ((g xs)^~ false); have X'01 : 0 <= X' <= 1 by apply: draw_range.
    have -> : taking a row s k xs (g xs) - taking a' row' s k xs (g xs)
      = - (sumV (fun y => (a' s k xs y - a s k xs y) * (g xs y true - X')) + (1 - sumV (a s k xs)) * (X' - X)).
      rewrite (sumV_eq (f := fun y => (_ - _) * (_ - _)) (g := fun y => a' s k xs y * g xs y true - a s k xs y * g xs y true
        - (a' s k xs y * X' - a s k xs y * X'))) => [|y]; last by ring.
      by rewrite !sumVB !sumVZr /taking -/X -/X'; ring.
    rewrite normrN; apply: le_trans (ler_norm_add _ _) _; apply: ler_add.
      apply: le_trans (sumV_norm _) _; apply: sumV_le => y; rewrite normrM.
      by apply: ler_pimulr => //; apply: mix_gap.
    rewrite normrM (ger0_norm (left xs)) mulrC; apply: ler_wpmul2r => //.
    by apply: tv_bounds => // y; apply: g01.
  have whole' : siblings (Q s) (spent s) k [::] (fun xs => 1 - sumV (a s k xs)) = 1 - sumV (by_shares s k) := whole.
  rewrite /E siblingsD siblingsZ whole' -addrA; apply: ler_add => //.
  apply: le_trans (ler_wpmul2r R0 tvl) _; rewrite mulrDl; apply: ler_add; last by apply: ler_wpmul2r => //; rewrite ler_addr.
  apply: le_trans nr; rewrite mulrC; apply: (weights_tv (rows s k) (rows' s k) R0).
  by rewrite -(row_sum Mb (c ++ s)) -sumVB; apply: sumV_le => y; rewrite le_maxr lexx.
- by move=> s; have [] := lasts s.
- by move=> s; have [] := lasts s.
move=> s; have [_ _ ll] := lasts s; split; first exact: row_sum.
by rewrite add0r /total_variation (sumV_eq (g := fun y => `|last' s y - rb s y|)) // => y; rewrite distrC.
Qed.
End Rule.

(* Shares in proportion to numbers F on a lattice, computed from F', which are off, but for a factor t common to all, by e in
   proportion and by n steps. *)
Lemma lattice_shares (V : vocabulary) (R : realFieldType) (u e n t T : R) (d : nat) (among : V -> bool) (F F' share' : V -> R) :
  0 <= u -> growth u d < 1 -> 0 < t -> 0 < sumV F -> (forall y, 0 <= F' y) -> 0 < sumV F' ->
  (forall y, `|F' y - t * F y| <= e * (t * F y) + n * (among y)%:R) -> within u d (sumV F') T ->
  (forall y, Rounding.rounds u (F' y / T) (share' y)) ->
  apart (fun y => F y / sumV F) share' <= 2%:R * (e + n * sumV (fun y => (among y)%:R) / (t * sumV F)) + sum_error u d.
Proof.
move=> u0 d1 t0 F0 F'0 S0 near Tw hs; set N := sumV F in F0 *; set S := sumV F' in S0 Tw *.
have tN : 0 < t * N by rewrite mulr_gt0.
have r1 : sumV (fun y => F' y / S) = 1 by rewrite sumVZr mulfV // gt_eqF.
have r0 y : 0 <= F' y / S by rewrite divr_ge0 // ltW.
have rF y : F' y / S * sumV F' = F' y by rewrite divfK // gt_eqF.
have := normalised_near (fun y => t * F y) r1 r0 rF; rewrite sumVZ -/N => dir.
have g0 := growth_ge0 u0 d; have i0 : 0 <= growth u d / (1 - growth u d) by rewrite divr_ge0 // subr_ge0 ltW.
apply: le_trans (_ : sumV (fun y => `|F' y / S - F y / N| + sum_error u d * (F' y / S)) <= _).
  apply: sumV_le => y; have -> : share' y - F y / N = (F' y / S - F y / N) + (share' y - F' y / S) by ring.
  apply: le_trans (ler_norm_add _ _) _; rewrite ler_add2l.
  have ri := rel_inv g0 d1 (ltW S0) Tw.
  have q : rel (growth u d / (1 - growth u d)) (F' y / S) (F' y / T).
    by rewrite /rel -mulrBr normrM (ger0_norm (F'0 y)) mulrCA; apply: ler_wpmul2l.
  exact: (rel_rounds u0 i0 (r0 y) q (hs y)).
rewrite sumVD sumVZ r1 mulr1 ler_add2r -(ler_pmul2l tN) -[X in X <= _]sumVZ.
apply: le_trans (_ : sumV (fun y => `|t * N * (F' y / S) - t * F y|) <= _).
  apply: sumV_le => y; rewrite -{1}(gtr0_norm tN) -normrM le_eqVlt; apply/orP; left; apply/eqP; congr `|_|; field.
  by rewrite (gt_eqF F0) (gt_eqF S0).
apply: le_trans dir _; rewrite mulrCA; apply: ler_wpmul2l; first exact: ler0n.
have -> : t * N * (e + n * sumV (fun y => (among y)%:R) / (t * N)) = sumV (fun y => e * (t * F y) + n * (among y)%:R).
  rewrite sumVD !sumVZ -/N; field; by rewrite (gt_eqF F0) (gt_eqF t0).
exact: sumV_le.
Qed.

(* Global Resolution whose shares nothing scales: how often a token would be accepted, from the law of the drafts within e and
   the computed shares; what is left; the choice among the drafts within kappa. *)
Section Truncated.
Variables (V D : vocabulary) (R : realFieldType) (Mb : model V R) (c : seq V) (u o lambda : R).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1) (o0 : 0 <= o) (o1 : o < 1) (lambda0 : 0 <= lambda).
Notation rounds := (Rounding.rounds u).
Notation rb s := (Mb (c ++ s)).
Variables (Q : seq V -> seq V -> V -> R) (spent : seq V -> pred (seq V)) (key : seq V -> D).
Hypotheses (Q0 : forall s elders x, 0 <= Q s elders x) (Q1 : forall s elders, ~~ spent s elders -> sumV (Q s elders) = 1).
Variables (share share' chosen : seq V -> nat -> D -> V -> R) (B : seq V -> V -> R) (row r' row' w : seq V -> nat -> V -> R) (last' : seq V -> V -> R).
Hypotheses (share0 : forall s k S y, 0 <= share s k S y) (share1 : forall s k S, sumV (share s k S) <= 1).
Hypotheses (share'0 : forall s k S y, 0 <= share' s k S y) (chosen0 : forall s k S y, 0 <= chosen s k S y) (chosen1 : forall s k S, sumV (chosen s k S) <= 1).
Hypothesis Bb : forall s y, rel o (rb s y) (B s y).
Notation drafted s k := (KSeqRounding.drafted (Q s) (spent s) key k).
Definition truncated_step (e kappa : R) (d : nat) s k : Prop := exists (L : D -> R) (P : D -> V -> R) (acc : V -> R),
  [/\ forall S, rel e (drafted s k S) (L S), forall S y, rounds (L S * share' s k S y) (P S y), forall y, within u d (sumV (P^~ y)) (acc y),
      forall y, exists2 z, rounds (B s y - acc y) z & w s k y = Num.max z 0
    & forall S, apart (share' s k S) (chosen s k S) <= kappa].
Notation exactly := (fun s k xs => share s k (key xs)).
Hypotheses (rows : forall s k, by_weights (not_taken Mb c Q spent exactly s k) (row s k)) (rows' : forall s k, by_weights (w s k) (r' s k)).
Hypothesis drawn : forall s k, [/\ sumV (row' s k) = 1, forall y, 0 <= row' s k y & total_variation (r' s k) (row' s k) <= lambda].
Hypothesis lasts : forall s, [/\ sumV (last' s) = 1, forall y, 0 <= last' s y & total_variation (rb s) (last' s) <= o + lambda].
Definition truncated_rest (e drift : R) (d : nat) : R := (1 + u) * (o + accepted_near u e d * (1 + drift) + drift) + u.
Theorem truncated_rounding gamma f (e kappa drift : nat -> R) (d : nat -> nat) (A : seq V -> V -> R) : (forall s y, 0 <= A s y <= 1) ->
  (forall i, 0 <= e i < 1) -> (forall i, 0 <= kappa i) -> (forall i, 0 <= drift i) ->
  (forall s k, (0 < k <= level (size s) f)%N -> truncated_step (e (size s)) (kappa (size s)) (d (size s)) s k
     /\ sumV (fun S => drafted s k S * apart (share s k S) (share' s k S)) <= drift (size s)) ->
  `|descend Q spent (taking (fun s k xs => chosen s k (key xs)) row') last' gamma [::] f A
    - descend Q spent (taking exactly row) (fun s => rb s) gamma [::] f A|
  <= \sum_(i < gamma) ((drift i + kappa i) + truncated_rest (e i) (drift i) (d i)) + (o + lambda).
Proof.
move=> A01 e01 kappa0 drift0 made; have b0 s y : 0 <= rb s y := row_ge0 Mb _ y.
have acc0 i : 0 <= accepted_near u (e i) (d i).
  by have /andP[e0 _] := e01 i; apply: both_ge0; [apply: both_ge0 | apply: growth_ge0].
have f0 : 0 <= 1 + u by rewrite addr_ge0 ?ler01.
apply: (@shares_rounding V R Mb c o lambda o0 Q spent Q0 Q1 exactly (fun s k xs => chosen s k (key xs)) row r' row' w last' _ _ _ _
  rows rows' drawn lasts gamma f (fun i => drift i + kappa i) (fun i => truncated_rest (e i) (drift i) (d i))) => // [i|i|s k le].
- exact: addr_ge0.
- by rewrite addr_ge0 // mulr_ge0 // addr_ge0 // addr_ge0 // mulr_ge0 // addr_ge0 ?ler01.
have [[L [P [acc [Ld LP Pa left choice]]]] moved] := made s k le; have /andP[e0 e1] := e01 (size s).
have dr0 S := drafted_ge0 key k (Q0 s) (@Q1 s) S; have dr1 := drafted_sum key k (@Q1 s).
split.
  rewrite (siblings_key (Q s) (spent s) key k (fun S => apart (share s k S) (chosen s k S))).
  apply: le_trans (_ : sumV (fun S => drafted s k S * apart (share s k S) (share' s k S) + drafted s k S * kappa (size s)) <= _).
    apply: sumV_le => S; rewrite -mulrDr; apply: ler_wpmul2l => //; apply: le_trans (ler_add (lexx _) (choice S)).
    rewrite /apart -sumVD; apply: sumV_le => y; have -> : chosen s k S y - share s k S y = (share' s k S y - share s k S y) + (chosen s k S y - share' s k S y) by ring.
    exact: ler_norm_add.
  by rewrite sumVD sumVZr dr1 mul1r ler_add2r.
pose m y := sumV (fun S => drafted s k S * share s k S y); pose m' y := sumV (fun S => drafted s k S * share' s k S y).
have mE y : by_shares Q spent exactly s k y = m y by rewrite /by_shares (siblings_key (Q s) (spent s) key k (fun S => share s k S y)).
have L0 S : 0 <= L S := still_ge0 e1 (dr0 S) (Ld S).
have m'0 y : 0 <= m' y by apply: sumV_ge0 => S; rewrite mulr_ge0.
set E := accepted_near u (e (size s)) (d (size s)); have E0 : 0 <= E := acc0 (size s).
have acc_near y : rel E (m' y) (acc y).
  apply: (rel_trans (growth_ge0 u0 (d (size s))) _ (Pa y)); rewrite /rel -sumVB -sumVZ.
  apply: le_trans (sumV_norm _) _; apply: sumV_le => S; apply: (rel_rounds u0 e0 _ _ (LP S y)); first by rewrite mulr_ge0.
  by rewrite mulrC [L S * _]mulrC; apply: rel_scale.
have gap : sumV (fun y => `|m' y - m y|) <= drift (size s).
  apply: le_trans moved; apply: le_trans (_ : sumV (fun y => sumV (fun S => drafted s k S * `|share' s k S y - share s k S y|)) <= _).
    apply: sumV_le => y; rewrite /m /m' -sumVB; apply: le_trans (sumV_norm _) _; apply: sumV_le => S.
    by rewrite -mulrBr normrM (ger0_norm (dr0 S)).
  by rewrite (sumV_eq (fun y => sumVE _)) sumV_exch sumVE; apply: ler_sum => S _; rewrite sumVZ.
have m1 : sumV m <= 1.
  rewrite /m (sumV_eq (fun y => sumVE _)) sumV_exch -dr1 sumVE; apply: ler_sum => S _; rewrite sumVZ.
  exact: ler_pimulr.
have m'1 : sumV m' <= 1 + drift (size s).
  have -> : sumV m' = sumV m + sumV (fun y => m' y - m y) by rewrite sumVB; ring.
  apply: ler_add => //; apply: le_trans gap; apply: sumV_le => y; exact: ler_norm.
pose n y := o * rb s y + (E * m' y + `|m' y - m y|).
apply: le_trans (_ : sumV (fun y => (1 + u) * n y + u * not_taken Mb c Q spent exactly s k y) <= _).
  apply: sumV_le => y; have [z hz ->] := left y; apply: (CactusRounding.rest_near u0 u1 hz); rewrite mE.
  have -> : B s y - acc y - (rb s y - m y) = (B s y - rb s y) - ((acc y - m' y) + (m' y - m y)) by ring.
  apply: le_trans (ler_norm_sub _ _) _; apply: ler_add; first exact: Bb.
  by apply: le_trans (ler_norm_add _ _) _; rewrite ler_add2r; apply: acc_near.
rewrite sumVD !sumVZ /truncated_rest; apply: ler_add; last first.
  apply: ler_pimulr => //; rewrite -(row_sum Mb (c ++ s)); apply: sumV_le => y.
  rewrite /not_taken le_maxl b0 andbT ler_subl_addr ler_addl mE; apply: sumV_ge0 => S; exact: mulr_ge0.
apply: ler_wpmul2l => //; rewrite /n sumVD sumVZ row_sum mulr1 -addrA ler_add2l sumVD sumVZ.
by apply: ler_add => //; apply: ler_wpmul2l.
Qed.
End Truncated.
