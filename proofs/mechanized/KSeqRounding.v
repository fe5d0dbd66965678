(* k-SEQ computed in floating point: the rule, on trees, from what KSeqStep.v says of its numbers. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum zify.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Models Algorithms Verifier Block SubBlocks Precision Rounding BlockRounding ProblemRounding SeveralDrafts TreeRounding SiblingRounding Descent DescentRounding KSeqStep.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

(* One step of the rule: the coins decided by Fd, the last token drawn by a row within lambda of what is left. *)
Section Rule.
Variables (V : vocabulary) (R : realFieldType) (u nu eta lambda : R) (d : nat) (Fd : R -> R).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1) (nu0 : 0 <= nu) (nu1 : nu < 1) (beta1 : beta_off u nu d < 1).
Hypothesis decided : forall h, 0 <= h <= 1 -> 0 <= Fd h <= 1 /\ `|Fd h - h| <= eta.
Hypothesis lambda0 : 0 <= lambda.
Notation rounds := (Rounding.rounds u).
(* F is what some computation of the rule for k siblings, from the rows B and Q, within the standard model makes of a
   function of the token and of whether it is accepted: rho from wherever, allowed or found to be so (ok); the shares t
   and their sum; what is accepted, 1 - (1 - be)^k; the coins H; the weights w of the last token, B - t A / be or 0. *)
Definition k_seq_computation k (b q B Q : V -> R) (F : seq V -> (V -> bool -> R) -> R) : Prop :=
  exists (rho : R) (t w H row r : V -> R) (be c P A : R),
  [/\ 0 < rho /\ (repeated b q rho k <= rho \/ exists2 m, rounds (rho * be) m & A <= m),
      (forall y, exists2 z, rounds (B y / rho) z & t y = Num.min (Q y) z) /\ within u d (sumV t) be,
      [/\ rounds (1 - be) c, `|P - c ^+ k| <= growth u k * `|c ^+ k| & rounds (1 - P) A],
      if be == 0 then forall y, w y = B y else forall y, exists v v' e,
        [/\ rounds (t y * A) v, rounds (v / be) v', rounds (B y - v') e & w y = Num.max e 0]
    & [/\ forall y, coin_of u B Q rho y (H y),
          [/\ sumV r = 1, forall y, 0 <= r y & forall y, r y * sumV w = w y],
          [/\ sumV row = 1, forall y, 0 <= row y & total_variation r row <= lambda]
        & forall xs g, F xs g = first_of (fun y => Fd (H y)) xs g (draw row (g^~ false))]].
Definition try_off : R := eta + coin_of_share_off u nu.
Definition k_seq_off k : R := k%:R * try_off + 2%:R * rest_off u nu d k.
Hypothesis eta0 : 0 <= eta.
Let c0 : 0 <= coin_of_share_off u nu. Proof. exact: coin_of_share_off_ge0 beta1. Qed.
Lemma k_seq_off_mono m n : (m <= n)%N -> k_seq_off m <= k_seq_off n.
Proof.
move=> le; have one0 : 0 <= one_less_off u nu d by apply: one_less_off_ge0.
have po : power_off u nu d m <= power_off u nu d n.
  apply: le_trans (_ : both (growth (one_less_off u nu d) n) (growth u m) <= _).
    by apply: both_le; [apply: growth_ge0 | apply: growth_mono].
  by rewrite /power_off ![both (growth (one_less_off u nu d) n) _]bothC; apply: both_le; [apply: growth_ge0 | apply: growth_mono].
have u1' : 0 <= 1 + u by rewrite addr_ge0 ?ler01.
have ao : accepted_off u nu d m <= accepted_off u nu d n.
  by apply: ler_add => //; apply: ler_wpmul2l => //; rewrite ler_add2l.
have p1 : 0 <= 1 + part_off u nu d := addr_ge0 ler01 (part_off_ge0 u0 nu0 beta1).
apply: ler_add; first by apply: ler_wpmul2r; [apply: addr_ge0 | rewrite ler_nat].
apply: ler_wpmul2l; first exact: ler0n.
apply: ler_add; last by apply: ler_add.
apply: ler_add => //; apply: ler_wpmul2l => //; apply: ler_add => //; apply: ler_add => //; apply: ler_wpmul2r => //.
by apply: ler_add => //; apply: ler_wpmul2l; [apply: both_ge0 | rewrite ler_add2l].
Qed.
Lemma k_seq_off_ge0 k : 0 <= k_seq_off k.
Proof.
apply: le_trans (k_seq_off_mono (leq0n k)); rewrite /k_seq_off mul0r add0r mulr_ge0 ?ler0n //.
have a0 : 0 <= accepted_off u nu d 0 by apply: accepted_off_ge0.
have p0 : 0 <= part_off u nu d by apply: part_off_ge0.
have uu : 0 <= both u u by apply: both_ge0.
have one0 e : 0 <= e -> 0 <= 1 + e :> R := addr_ge0 ler01.
have b0 : 0 <= beta_off u nu d by apply: both_ge0; [apply: both_ge0 | apply: growth_ge0].
have f0 : 0 <= both u u * (1 + accepted_off u nu d 0) + accepted_off u nu d 0.
  by apply: addr_ge0 => //; apply: mulr_ge0 => //; apply: one0.
have v0 : 0 <= given_up_off u nu d 0 by apply: addr_ge0 => //; apply: mulr_ge0 => //; apply: one0.
apply: addr_ge0; last by apply: addr_ge0 => //; apply: both_ge0.
by apply: addr_ge0 => //; apply: mulr_ge0; [apply: one0 | apply: addr_ge0].
Qed.

Section Linear.
Variables (h : V -> R) (h01 : forall y, 0 <= h y <= 1).
Implicit Types (xs : seq V) (g : V -> bool -> R) (l : R).
Lemma first_of_le xs g g' l l' : (forall y a, g y a <= g' y a) -> l <= l' -> first_of h xs g l <= first_of h xs g' l'.
Proof.
move=> le ll; elim: xs => [|x xs IH] //=; have /andP[h0 h1] := h01 x.
by apply: ler_add; apply: ler_wpmul2l => //; rewrite subr_ge0.
Qed.
Lemma first_ofD xs g g' l l' : first_of h xs (fun y a => g y a + g' y a) (l + l') = first_of h xs g l + first_of h xs g' l'.
Proof. by elim: xs => [|x xs IH] //=; rewrite /flip IH; ring. Qed.
Lemma first_ofZ xs k g l : first_of h xs (fun y a => k * g y a) (k * l) = k * first_of h xs g l.
Proof. by elim: xs => [|x xs IH] //=; rewrite /flip IH; ring. Qed.
Lemma first_of1 xs : first_of h xs (fun _ _ => 1) 1 = 1.
Proof. by elim: xs => [|x xs IH] //=; rewrite /flip IH; ring. Qed.
End Linear.

Lemma k_seq_one k (b q B Q : V -> R) F : (forall y, 0 <= b y) -> sumV b = 1 -> (forall y, 0 <= q y) -> sumV q = 1 ->
  (forall y, rel nu (b y) (B y)) -> (forall y, rel nu (q y) (Q y)) -> k_seq_computation k b q B Q F ->
  expects (fun g => siblings (fun=> q) pred0 k [::] (fun xs => F xs (g xs))) /\
  forall U : V -> R, (forall y, 0 <= U y <= 1) ->
  `|siblings (fun=> q) pred0 k [::] (fun xs => F xs (fun y _ => U y)) - draw b U|
  <= k_seq_off k + lambda * siblings (fun=> q) pred0 k [::] (fun xs => F xs (fun _ accepted => (~~ accepted)%:R)).
Proof.
move=> b0 b1 q0 q1 Bb Qq [rho [t [w [H [row [r [be [c [P [A [[rho0 ok] [ts es] [cr Pr Ar] wr
  [Hc [r1 r0 rw] [row1 row0 rl] FE]]]]]]]]]]]].
have near y := coin_of_near u0 u1 nu0 nu1 b0 q0 Bb Qq rho0 beta1 (Hc y).
have [w0 wn] := rest_near u0 u1 nu0 nu1 b0 b1 q0 q1 Bb Qq rho0 beta1 ts es cr Pr Ar wr ok.
set h := fun y => Fd (H y) in FE; have h01 y : 0 <= h y <= 1 by have [_ /decided[]] := near y.
pose h' y := next_p b q rho^-1 y; have i0 : 0 <= rho^-1 by rewrite invr_ge0 ltW.
have h'01 y : 0 <= h' y <= 1 := next_p_range b0 q0 y i0.
split.
  split=> [g g' le|g g'|a g|].
  - apply: siblings_le => // xs _; rewrite !FE; apply: first_of_le => //; rewrite /draw.
    by apply: sumV_le => y; apply: ler_wpmul2l.
  - rewrite -siblingsD; apply: siblings_eq => xs; rewrite !FE -first_ofD; congr (first_of _ _ _ _).
    by rewrite /draw -sumVD; apply: sumV_eq => y; rewrite mulrDr.
  - rewrite -siblingsZ; apply: siblings_eq => xs; rewrite !FE -first_ofZ; congr (first_of _ _ _ _).
    by rewrite /draw -sumVZ; apply: sumV_eq => y; rewrite mulrCA.
  rewrite -[RHS](@siblings_const V R (fun=> q) pred0 (fun _ _ => q1) k [::]); apply: siblings_eq => xs.
  rewrite FE -[RHS](first_of1 h xs); congr (first_of _ _ _ _).
  by rewrite -[RHS]row1 /draw; apply: sumV_eq => y; rewrite mulr1.
move=> U U01; set X := draw row U; set Xr := draw r U.
have X01 : 0 <= X <= 1 by apply: draw_range.
have Xr01 : 0 <= Xr <= 1 by apply: draw_range.
rewrite (siblings_eq _ _ _ _ (fun xs => FE xs _)) siblings_tries // -/X.
rewrite [X in _ + lambda * X](_ : _ = tries q h k (fun=> 0) 1); last first.
  rewrite (siblings_eq _ _ _ _ (fun xs => FE xs _)) siblings_tries //; congr (tries _ _ _ _ _).
  by rewrite -[RHS]row1 /draw; apply: sumV_eq => y; rewrite mulr1.
set rej := tries _ _ _ _ 1; have rej0 : 0 <= rej.
  by have /andP[] := @tries_range _ _ q q0 q1 h k (fun=> 0) 1 h01 (fun=> introT andP (conj (lexx 0) ler01))
    (introT andP (conj ler01 (lexx 1))).
have -> : tries q h k U X - draw b U = (tries q h k U X - tries q h k U Xr) + (tries q h k U Xr - tries q h' k U Xr)
  + (tries q h' k U Xr - draw b U) by ring.
have -> : k_seq_off k + lambda * rej = lambda * rej + k%:R * try_off + 2%:R * rest_off u nu d k by rewrite /k_seq_off; ring.
apply: le_trans (ler_norm_add _ _) _; apply: ler_add; last first.
  rewrite -tries_rounds rounds_law //.
  pose lo y := left_over b q rho k y.
  have mass : sumV lo = (1 - beta b q rho) ^+ k by rewrite /lo /left_over sumVB sumVZr b1 -/(beta b q rho) repeatedE; ring.
  have -> : repeated b q rho k * sumV (fun x => SeveralDrafts.taken b q rho x * U x) + (1 - beta b q rho) ^+ k * Xr - draw b U
      = sumV (fun y => (sumV lo * r y - lo y) * U y).
    rewrite [RHS](sumV_eq (g := fun y => (sumV lo * (r y * U y) + repeated b q rho k * (SeveralDrafts.taken b q rho y * U y)) - b y * U y)).
      by rewrite sumVB sumVD !sumVZ mass /Xr /draw [X in _ = X - _]addrC.
    by move=> y; rewrite /lo /left_over; ring.
  apply: le_trans (ler_wpmul2l _ wn); last exact: ler0n.
  apply: le_trans (normalised_near lo r1 r0 rw); apply: le_trans (sumV_norm _) _; apply: sumV_le => y.
  by have /andP[y0 y1] := U01 y; rewrite normrM (ger0_norm y0) ler_pimulr.
apply: le_trans (ler_norm_add _ _) _; apply: ler_add.
  rewrite tries_last normrM (ger0_norm rej0); apply: ler_wpmul2r => //; exact: le_trans (tv_bounds r1 row1 U01) rl.
apply: le_trans (tries_near q0 q1 k h01 h'01 U01 Xr01) _; apply: ler_wpmul2l; first exact: ler0n.
apply: le_trans (_ : sumV (fun y => q y * eta + coin_of_share_off u nu * (q y * h' y)) <= _).
  apply: sumV_le => y; rewrite mulrCA -mulrDr; apply: ler_wpmul2l => //.
  have [hn /decided[_ he]] := near y; have -> : h y - h' y = (Fd (H y) - H y) + (H y - h' y) by rewrite /h; ring.
  by apply: le_trans (ler_norm_add _ _) _; apply: ler_add.
rewrite sumVD sumVZr q1 mul1r sumVZ ler_add2l ler_pimulr //.
by rewrite -q1; apply: sumV_le => y; rewrite next_pE // le_minl lexx orbT.
Qed.
End Rule.

(* On trees: level i f siblings at most are looked at together at depth i. *)
Theorem k_seq_rounding (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (c : seq V) (u nu eta lambda : R) (d : nat)
    (Fd : R -> R) (B Q : seq V -> V -> R) (step : seq V -> nat -> seq V -> (V -> bool -> R) -> R) (last : seq V -> V -> R)
    gamma f (g : seq V -> R) :
  0 <= u <= 1 -> 0 <= nu < 1 -> beta_off u nu d < 1 ->
  (forall h, 0 <= h <= 1 -> 0 <= Fd h <= 1 /\ `|Fd h - h| <= eta) -> 0 <= lambda ->
  (forall s y, rel nu (Mb (c ++ s) y) (B s y)) -> (forall s y, rel nu (Ms (c ++ s) y) (Q s y)) ->
  (forall s k, k_seq_computation u lambda d Fd k (Mb (c ++ s)) (Ms (c ++ s)) (B s) (Q s) (step s k)) ->
  (forall s, [/\ sumV (last s) = 1, forall y, 0 <= last s y & total_variation (share_of (B s)) (last s) <= lambda]) ->
  (forall o, 0 <= g o <= 1) ->
  `|descend (independent Ms c) (fun _ => pred0) step last gamma [::] f (fun s y => complete Mb gamma c g (rcons s y))
    - gen Mb gamma.+1 c g| <= \sum_(i < gamma) k_seq_off u nu eta d (level i f) + (nu + lambda).
Proof.
move=> /andP[u0 u1] /andP[nu0 nu1] beta1 decided lambda0 Bb Qq steps lasts g01.
have [_ /(le_trans (normr_ge0 _)) eta0] := decided 0 (introT andP (conj (lexx 0) (@ler01 R))).
have one s k := @k_seq_one V R u nu eta lambda d Fd u0 u1 nu0 nu1 beta1 decided k _ _ _ _ _
  (row_ge0 Mb (c ++ s)) (row_sum Mb (c ++ s)) (row_ge0 Ms (c ++ s)) (row_sum Ms (c ++ s)) (Bb s) (Qq s) (steps s k).
pose fits i h := forall j, (level j h <= level (i + j) f)%N.
apply: (@descend_near _ _ _ _ _ _ _ _ _ fits (fun i => k_seq_off u nu eta d (level i f))) => //.
- by move=> i; apply: k_seq_off_ge0.
- move=> i h xs y ok j; apply: leq_trans (level_go_on _ _ _ _) _.
  by apply: leq_trans (ok j.+1) _; rewrite addnS.
- by move=> s t h _; have [] := one s (size (t :: h)).
- move=> s t h U ok U01; have [_ nr] := one s (size (t :: h)); apply: le_trans (nr U U01) _.
  rewrite ler_add2r; apply: k_seq_off_mono => //; have := ok 0%N; by rewrite addn0.
move=> s U U01; have [l1 l0 ll] := lasts s; have [b0 near tv] := given_share nu1 Bb s.
apply: le_trans (tv_bounds (row_sum Mb (c ++ s)) l1 U01) _.
by apply: le_trans (tv_triangle _ (share_of (B s)) _) _; apply: ler_add.
Qed.
