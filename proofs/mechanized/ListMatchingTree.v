From mathcomp Require Import all_ssreflect ssralg ssrnum.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Algorithms Block Descent Precision Rounding ProblemRounding TreeRounding DescentRounding ListMatchingRounding.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

(* The law of the target's pick as races over positive numbers; one step of list matching in floating point, and trees. *)

Section Races.
Variables (V : vocabulary) (R : realFieldType) (p q : V -> R) (m : nat) (z : nat -> R) (r : V -> nat).
Hypotheses (p0 : forall v, 0 <= p v) (q0 : forall v, 0 <= q v) (m0 : (0 < m)%N).
Hypothesis breaks : forall v, q v != 0 -> (r v < m)%N /\ q v * z (r v) = p v.
Hypothesis ordered : forall j, (j.+1 < m)%N -> z j <= z j.+1.
Hypothesis first : 0 < slope q r 0.
Implicit Types (x y : V) (xs : seq V) (A t : R) (ds : seq R) (phi psi : R -> R).
Notation pick := (pick p q m z r).
Notation pick_first := (pick_first p q m z r).
Notation picks := (picks p q m z r).
Notation picks_first := (picks_first p q m z r).
Notation inn := (inn q r).
Notation rate := (rate p q z r).
Definition clocks_of j : seq R := if (j.+1 < m)%N then [:: clock q z r j] else [::].
Definition piece_of x j : piece R := (q x / slope q r j, rate j, clocks_of j).
Definition span x : seq (piece R) := [seq piece_of x j | j <- iota 0 m & inn x j].
Definition span_first y x : seq (piece R) :=
  if x == y then (if q x != 0 then [:: (1, rate (r x), [::])] else [::])
  else [seq piece_of x j | j <- iota 0 m & inn x j && ~~ inn y j].
Fixpoint spans_first y xs : seq (seq (seq (piece R))) :=
  if xs is x :: xs' then (span_first y x :: map span xs') :: [seq span x :: S | S <- spans_first y xs'] else [::].
Lemma sum_pieces (P : pred nat) x (F : piece R -> R) :
  \sum_(w <- [seq piece_of x j | j <- iota 0 m & P j]) F w = \sum_(j < m) (P j)%:R * F (piece_of x j).
Proof.
rewrite big_map big_filter; have -> : iota 0 m = index_iota 0 m by rewrite /index_iota subn0.
rewrite big_mkord big_mkcond /=; apply: eq_bigr => j _; case: (P j); rewrite ?mul1r ?mul0r //.
Qed.
Lemma picksB xs phi psi : picks xs (fun t => phi t - psi t) = picks xs phi - picks xs psi.
Proof.
have eq := picks_eq q0 breaks ordered first.
rewrite -[RHS]/(picks xs phi + - picks xs psi) -mulN1r -(picksZ q0 breaks ordered first) -(picksD q0 breaks ordered first); apply: eq => t _; ring.
Qed.
Lemma pick_firstB y x phi psi : pick_first y x (fun t => phi t - psi t) = pick_first y x phi - pick_first y x psi.
Proof.
rewrite /ListMatchingRounding.pick_first opprD addrACA -mulrBr -mulrBr; congr (_ + _).
by rewrite -sumrB; apply: eq_bigr => j _; rewrite -mulrBr /jump; congr (_ * _); case: ifP => _; ring.
Qed.
Lemma pickB x phi psi : pick x (fun t => phi t - psi t) = pick x phi - pick x psi.
Proof. by rewrite /ListMatchingRounding.pick -sumrB; apply: eq_bigr => j _; rewrite -mulrBr /jump; congr (_ * _); case: ifP => _; ring. Qed.
Lemma pick_first_eq y x phi psi : (forall t, 0 <= t -> phi t = psi t) -> pick_first y x phi = pick_first y x psi.
Proof.
move=> e; have r0 j := rate_ge0 q0 breaks ordered first (j := j); rewrite /ListMatchingRounding.pick_first; congr (_ + _).
  have [_|qn] := eqVneq (q x) 0; first by rewrite !mul0r.
  by rewrite e // r0 //; have [] := breaks qn.
apply: eq_bigr => j _; congr (_ * _); rewrite /jump e ?r0 //.
by case: ifP => // lt; rewrite e // addr_ge0 ?r0 //; exact: (clock_ge0 q0 ordered first lt).
Qed.
Lemma picks_first_eq y xs phi psi : (forall t, 0 <= t -> phi t = psi t) -> picks_first y xs phi = picks_first y xs psi.
Proof.
have eq := picks_eq q0 breaks ordered first; have eq1 := pick_eq q0 breaks ordered first.
elim: xs phi psi => [|x xs IH] phi psi e //=; congr (_ + _).
  by apply: pick_first_eq => t t0; apply: eq => t' t'0; apply: e; apply: addr_ge0.
by apply: eq1 => t t0; apply: IH => t' t'0; apply: e; apply: addr_ge0.
Qed.
Lemma picks_firstB y xs phi psi : picks_first y xs (fun t => phi t - psi t) = picks_first y xs phi - picks_first y xs psi.
Proof.
have eq1 := pick_eq q0 breaks ordered first.
elim: xs phi psi => [|x xs IH] phi psi /=; first by rewrite subr0.
rewrite opprD addrACA -pick_firstB -pickB; congr (_ + _).
  by apply: pick_first_eq => t _; exact: (picksB xs (fun t' => phi (t + t')) (fun t' => psi (t + t'))).
by apply: eq1 => t _; exact: (IH (fun t' => phi (t + t')) (fun t' => psi (t + t'))).
Qed.
Lemma jump_alt (E : (R -> R) -> R) A ds j : (forall phi psi, (forall t, 0 <= t -> phi t = psi t) -> E phi = E psi) ->
  (forall phi psi, E (fun t => phi t - psi t) = E phi - E psi) ->
  jump p q m z r (fun t => E (fun t' => alt ds (A + (t + t')))) j = E (fun t' => alt (clocks_of j ++ ds) (A + rate j + t')).
Proof.
move=> Eeq EB; rewrite /jump /clocks_of; case: ifP => _ /=.
  by rewrite EB; congr (_ - _); apply: Eeq => t' _; congr (alt ds _); ring.
by rewrite subr0; apply: Eeq => t' _; rewrite addrA.
Qed.
Lemma picks_race xs A ds : picks xs (fun t => alt ds (A + t)) = race (map span xs) A ds.
Proof.
have eq := picks_eq q0 breaks ordered first.
elim: xs A ds => [|x xs IH] A ds /=; first by rewrite addr0.
rewrite sum_pieces; apply: eq_bigr => j _.
by rewrite (jump_alt A ds j (eq xs) (picksB xs)) IH -[LHS]mulrA.
Qed.
Theorem picks_first_race y xs A ds : picks_first y xs (fun t => alt ds (A + t)) = \sum_(S <- spans_first y xs) race S A ds.
Proof.
have eq := picks_eq q0 breaks ordered first.
elim: xs A ds => [|x xs IH] A ds /=; first by rewrite big_nil.
rewrite big_cons; congr (_ + _).
  rewrite /ListMatchingRounding.pick_first /span_first /=; have [->|ne] := eqVneq x y; last first.
    rewrite mul0r add0r sum_pieces; apply: eq_bigr => j _.
    by rewrite (jump_alt A ds j (eq xs) (picksB xs)) picks_race -[LHS]mulrA.
  rewrite [X in _ + X]big1 => [|j _]; last by rewrite andbN !mul0r.
  rewrite addr0 mul1r; have [e|qn] := eqVneq (q y) 0; first by rewrite mul0r big_nil.
  rewrite big_seq1 !mul1r /= -picks_race; apply: eq => t _; congr (alt ds _); ring.
rewrite big_map /= (eq_bigr (fun S => \sum_(j < m) (inn x j)%:R * (q x / slope q r j * race S (A + rate j) (clocks_of j ++ ds)))) => [|S _]; last exact: sum_pieces.
rewrite exchange_big /=; apply: eq_bigr => j _.
rewrite (jump_alt A ds j (@picks_first_eq y xs) (picks_firstB y xs)) IH mulr_sumr; apply: eq_bigr => S _.
by rewrite -[LHS]mulrA.
Qed.
Lemma joint_race K y xs : joint_law p q m z r K xs y = p y * \sum_(S <- spans_first y xs) race S (K%:R * sumV p) [::].
Proof. by rewrite /joint_law -picks_first_race. Qed.
End Races.

(* One step of list matching in floating point, and the rule on trees.  The target's row of which the computed times are the
   exact ones is near the given one; drafts drawn from the model's row are near those from the given one. *)

Section Step.
Variables (V : vocabulary) (R : realFieldType) (u o e a lambda : R) (most K : nat).
Hypotheses (u0 : 0 <= u) (u1 : u < 1) (o0 : 0 <= o) (e0 : 0 <= e) (ea : e <= a) (K0 : (0 < K)%N) (lambda0 : 0 <= lambda).
Notation of_target := (both o u).
Hypotheses (t1 : of_target < 1) (ta : of_target / (1 - of_target) <= a).
Hypothesis small : forall j, (j <= K)%N -> both (after_rates u a K) (growth u j) < 1.
Notation rounds := (Rounding.rounds u).
Implicit Types (b d B G p row : V -> R) (xs : seq V).

Lemma siblings_prod d n (F : seq V -> R) :
  siblings (fun=> d) pred0 n [::] F = sumB n (fun xs => (\prod_(x <- xs) d x) * F xs).
Proof.
suff H elders : siblings (fun=> d) pred0 n elders F = sumB n (fun xs => (\prod_(x <- xs) d x) * F xs) by [].
elim: n F elders => [|n IH] F elders /=; first by rewrite big_nil mul1r.
by apply: sumV_eq => x; rewrite IH -sumBZ; apply: sumB_eq => xs _; rewrite big_cons mulrA.
Qed.
Lemma siblings_two d d' n (F : seq V -> R) : (forall x, 0 <= d x) -> sumV d = 1 -> (forall x, 0 <= d' x) -> sumV d' = 1 ->
  (forall xs, 0 <= F xs <= 1) ->
  `|siblings (fun=> d') pred0 n [::] F - siblings (fun=> d) pred0 n [::] F| <= n%:R * total_variation d d'.
Proof.
move=> d0 d1 d'0 d'1; suff H el el' : (forall xs, 0 <= F xs <= 1) ->
  `|siblings (fun=> d') pred0 n el' F - siblings (fun=> d) pred0 n el F| <= n%:R * total_variation d d' by exact: H.
have range k (H : seq V -> R) (f : V -> R) (elders : seq V) : (forall x, 0 <= f x) -> sumV f = 1 -> (forall xs, 0 <= H xs <= 1) ->
    0 <= siblings (fun=> f) pred0 k elders H <= 1.
  move=> f0 f1 H01; have c (v : R) := siblings_const (spent := pred0) (Q := fun=> f) (fun _ _ => f1) k elders v.
  by apply/andP; split; [rewrite -[X in X <= _](c 0) | rewrite -[X in _ <= X](c 1)]; apply: siblings_le => // xs _; have /andP[] := H01 xs.
elim: n F el el' => [|n IH] F el el' F01; first by rewrite /= subrr normr0 mul0r.
pose G' x := siblings (fun=> d') pred0 n (rcons el' x) (fun xs => F (x :: xs)).
pose G x := siblings (fun=> d) pred0 n (rcons el x) (fun xs => F (x :: xs)).
have G'01 x : 0 <= G' x <= 1 by apply: range.
rewrite /= -[X in `|X - _|]/(sumV (fun x => d' x * G' x)) -[X in `|_ - X|]/(sumV (fun x => d x * G x)).
have -> : sumV (fun x => d' x * G' x) - sumV (fun x => d x * G x) = (draw d' G' - draw d G') + sumV (fun x => d x * (G' x - G x)).
  by rewrite /draw (sumV_eq (fun x => mulrBr (d x) _ _)) sumVB; ring.
rewrite -[n.+1]addn1 natrD mulrDl mul1r [X in _ <= X]addrC; apply: le_trans (ler_norm_add _ _) _; apply: ler_add.
  exact: tv_bounds.
apply: le_trans (sumV_norm _) _; rewrite -[X in _ <= X]mul1r -[X in _ <= X * _]d1 -sumVZr; apply: sumV_le => x.
rewrite normrM (ger0_norm (d0 x)); apply: ler_wpmul2l => //. exact: (IH (fun xs => F (x :: xs))).
Qed.
(* Rows off by f, relatively, divided by their sum. *)
Lemma share_near f b B : f < 1 -> (forall y, 0 <= b y) -> sumV b = 1 -> (forall y, rel f (b y) (B y)) ->
  [/\ forall y, 0 <= B y, 0 < sumV B, `|sumV B - 1| <= f, sumV (share_of B) = 1 & total_variation b (share_of B) <= f].
Proof.
move=> f1 b0 b1 Bb; have B0 y : 0 <= B y := given_ge0 f1 (b0 y) (Bb y).
have ap : apart b B <= f by rewrite -[X in _ <= X]mulr1 -b1 -sumVZ; apply: sumV_le => y; apply: Bb.
have near : `|sumV B - 1| <= f by apply: le_trans ap; rewrite -b1; apply: apart_sum.
have S0 := whole_sum f1 near; have s1 : sumV (share_of B) = 1 by rewrite /share_of sumVZr mulfV // lt0r_neq0.
split=> //; rewrite /total_variation ler_pdivr_mulr ?ltr0n // mulrC; apply: le_trans (ler_wpmul2l (ler0n _ _) ap).
apply: le_trans (normalised_near b s1 _ (w := B) _) => [|y|y].
- by apply: sumV_le => y; rewrite b1 mul1r.
- by rewrite divr_ge0 // ltW.
by rewrite divfK // lt0r_neq0.
Qed.

(* What some computation within the standard model makes of K siblings: st are the times p / q, z those of them in order, m in
   all; every number of the races is within e of what it is for the target's row p; j is the law, w divided by its sum. *)
Definition pieces_computed B G p m z (r : V -> nat) : Prop :=
  [/\ forall v, 0 <= p v /\ rounds (B v) (p v), (0 < m)%N, forall v, G v != 0 -> (r v < m)%N /\ G v * z (r v) = p v,
      forall j, (j.+1 < m)%N -> z j <= z j.+1 & 0 < slope G r 0].
Definition law_computed B G p m z (r : V -> nat) xs (j : V -> R) : Prop :=
  forall y, if B y == 0 then j y = 0 else exists (spans : nat -> seq (seq (piece R))) (vs : nat -> R) tot,
    [/\ forall i, (i < K)%N -> near_spans e most (nth [::] (spans_first p G m z r y xs) i) (spans i),
        forall i, (i < K)%N -> race_computed u (spans i) K%:R [::] (vs i), within u K (\sum_(i < K) vs i) tot
      & rounds (B y * tot) (j y)].
Definition match_computed B G (row : seq V -> V -> R) : Prop := exists p m z (r : V -> nat),
  pieces_computed B G p m z r /\ forall xs, size xs = K -> exists (j w f : V -> R) tot,
    [/\ law_computed B G p m z r xs j, 0 < tot, forall y, rounds (j y / tot) (w y),
        [/\ sumV f = 1, forall y, 0 <= f y & forall y, f y * sumV w = w y]
      & [/\ sumV (row xs) = 1, forall y, 0 <= row xs y & total_variation f (row xs) <= lambda]].
Definition law_off : R := both (both (u / (1 - u)) (both (race_off u e most a K K) (growth u K))) u.
Definition list_off : R := lambda + 2%:R * both law_off u + K%:R * o + of_target.
Let a0 : 0 <= a := le_trans e0 ea.
Let race0 : 0 <= race_off u e most a K K := race_off_ge0 most u0 e0 a0 small.
Let i0 : 0 <= u / (1 - u). Proof. by rewrite divr_ge0 // subr_ge0 ltW. Qed.
Lemma law_off_ge0 : 0 <= law_off.
Proof. by rewrite !both_ge0 ?growth_ge0. Qed.

Variables (b d B G : V -> R) (row : seq V -> V -> R).
Hypotheses (b0 : forall y, 0 <= b y) (b1 : sumV b = 1) (d0 : forall y, 0 <= d y) (d1 : sumV d = 1) (o1 : o < 1).
Hypotheses (Bb : forall y, rel o (b y) (B y)) (Gd : forall y, rel o (d y) (G y)).
Hypothesis computed : match_computed B G row.
Lemma size_spans_first p m z r y xs : size (spans_first p G m z r y xs) = size xs.
Proof. by elim: xs => //= x xs IH; rewrite size_map IH. Qed.
Lemma size_in_spans_first p m z r y xs i : (i < size xs)%N -> size (nth [::] (spans_first p G m z r y xs) i) = size xs.
Proof.
elim: xs i => //= x xs IH [|i] lt; first by rewrite /= size_map.
by rewrite /= (nth_map [::]) ?size_spans_first //= IH.
Qed.
Theorem list_step_near (U : V -> R) : (forall y, 0 <= U y <= 1) ->
  `|siblings (fun=> d) pred0 K [::] (fun xs => draw (row xs) U) - draw b U| <= list_off.
Proof.
move=> U01; have [p [m [z [r [[pB m0 br ord first] laws]]]]] := computed.
have p0 v : 0 <= p v by have [] := pB v.
have [B0 _ _ _ _] := share_near o1 b0 b1 Bb; have [G0 Gs _ g1 tvG] := share_near o1 d0 d1 Gd.
have Pb y : rel of_target (b y) (p y) by have [_ pr] := pB y; apply: rel_rounds pr.
have [_ T0 Tn s1 tvT] := share_near t1 b0 b1 Pb.
have slopeE : slope G r m.-1 = sumV G.
  apply: sumV_eq => v; rewrite /inn; have [->|gn] := eqVneq (G v) 0; first by rewrite mulr0.
  by have [lt _] := br v gn; rewrite -ltnS prednK // lt mul1r.
pose jl xs y := joint_law p G m z r K xs y; pose N xs := sumV (jl xs).
have NE xs : size xs = K -> N xs = \prod_(x <- xs) share_of G x.
  move=> hs; rewrite /N (joint_law_drafts (p := p) G0 m0 br ord first T0 K0 hs).
  by apply: eq_bigr => x _; rewrite slopeE.
have KT : 0 < K%:R * sumV p by rewrite mulr_gt0 // ltr0n.
have Tlo : 1 - of_target <= sumV p by move: (Tn); rewrite ler_norml ler_subr_addr => /andP[le _]; rewrite addrC.
have hA : rel a (K%:R * sumV p) K%:R.
  rewrite /rel -{1}[K%:R]mulr1 -mulrBr normrM ger0_norm ?ler0n // mulrCA; apply: ler_wpmul2l; first exact: ler0n.
  rewrite distrC; apply: le_trans Tn _; apply: le_trans (ler_wpmul2r (ltW T0) ta).
  by rewrite mulrAC ler_pdivl_mulr ?subr_gt0 // ler_wpmul2l ?both_ge0.
have at_law xs y jy : size xs = K -> law_computed B G p m z r xs jy -> 0 <= jl xs y /\ rel law_off (jl xs y) (jy y).
  move=> hs /(_ y); rewrite /jl (joint_race G0 br ord first); case: eqP => [Bz ->|_ [spans [vs [tot [near comp hsum hj]]]]].
    have -> : p y = 0.
      have [_] := pB y; rewrite Bz /Rounding.rounds normr0 mulr0 normr_le0 subr0 => /eqP -> //.
    by rewrite mul0r /rel subrr normr0 mulr0 lexx.
  pose S i := nth [::] (spans_first p G m z r y xs) i.
  have sE : \sum_(X <- spans_first p G m z r y xs) race X (K%:R * sumV p) [::] = \sum_(i < K) race (S i) (K%:R * sumV p) [::].
    by rewrite (big_nth [::]) big_mkord size_spans_first hs.
  have R0 i : (i < K)%N -> 0 <= race (S i) (K%:R * sumV p) [::] by move=> lt; apply: (race_ge0 (near i lt)).
  have Rn i : (i < K)%N -> rel (race_off u e most a K K) (race (S i) (K%:R * sumV p) [::]) (vs i).
    move=> lt; have sS : size (S i) = K by rewrite size_in_spans_first hs.
    have := race_near u0 e0 (n := K) (near i lt) ea KT (ds := [::]) (ds' := [::]) isT hA I; rewrite -/(S i) sS.
    by apply=> //; exact: comp.
  have S0 : 0 <= \sum_(i < K) race (S i) (K%:R * sumV p) [::] by apply: sumr_ge0 => i _; apply: R0.
  have tot_near := rel_trans (growth_ge0 u0 K) S0 (rel_sum Rn) hsum.
  rewrite sE; split; first by rewrite mulr_ge0.
  have rg0 : 0 <= both (race_off u e most a K K) (growth u K) by rewrite both_ge0 ?growth_ge0.
  apply: rel_rounds hj => //; [by rewrite both_ge0 | by rewrite mulr_ge0 | apply: rel_mul => //].
  have [_ pr] := pB y; rewrite /Rounding.rounds (ger0_norm (B0 y)) in pr; rewrite /rel distrC; apply: le_trans (pr) _.
  rewrite mulrAC ler_pdivl_mulr ?subr_gt0 // -mulrA ler_wpmul2l // mulrBr mulr1 [B y * u]mulrC ler_subl_addr -ler_subl_addl.
  by apply: le_trans (ler_norm _) _; rewrite distrC.
have here xs : size xs = K -> 0 <= N xs /\ `|N xs * draw (row xs) U - sumV (fun y => jl xs y * U y)| <= (lambda + 2%:R * both law_off u) * N xs.
  move=> hs; have [j [w [f [tot [lw tp wr [f1 f0 fw] [r1 r0 rl]]]]]] := laws xs hs.
  have jl0 y : 0 <= jl xs y by have [] := at_law xs y j hs lw.
  have N0 : 0 <= N xs by apply: sumV_ge0.
  split=> //; pose v y := jl xs y / tot; have l0 := law_off_ge0.
  have vw y : rel (both law_off u) (v y) (w y).
    have [_ jn] := at_law xs y j hs lw; apply: rel_rounds (wr y) => //; first by rewrite divr_ge0 // ltW.
    by rewrite /rel /v -mulrBl normrM (ger0_norm (_ : 0 <= tot^-1)) ?invr_ge0 ?(ltW tp) // mulrA ler_wpmul2r // invr_ge0 ltW.
  have vE : tot * sumV v = N xs by rewrite /v sumVZr mulrC divfK // lt0r_neq0.
  have ap : apart v w <= both law_off u * sumV v by rewrite -sumVZ; apply: sumV_le => y; apply: vw.
  have near := le_trans (normalised_near v f1 f0 fw) (ler_wpmul2l (ler0n R 2) ap).
  have jE y : jl xs y = tot * v y by rewrite /v mulrC divfK // lt0r_neq0.
  have -> : N xs * draw (row xs) U - sumV (fun y => jl xs y * U y)
      = N xs * (draw (row xs) U - draw f U) + tot * sumV (fun y => (sumV v * f y - v y) * U y).
    have -> : sumV (fun y => (sumV v * f y - v y) * U y) = sumV v * draw f U - sumV (fun y => v y * U y).
      by rewrite /draw -sumVZ -sumVB; apply: sumV_eq => y; ring.
    have -> : sumV (fun y => jl xs y * U y) = tot * sumV (fun y => v y * U y).
      by rewrite -sumVZ; apply: sumV_eq => y; rewrite jE mulrA.
    by rewrite -vE; ring.
  rewrite mulrDl; apply: le_trans (ler_norm_add _ _) _; apply: ler_add.
    rewrite normrM (ger0_norm N0) mulrC; apply: ler_wpmul2r => //; exact: le_trans (tv_bounds f1 r1 U01) rl.
  rewrite normrM (gtr0_norm tp) -vE mulrCA; apply: ler_wpmul2l; first exact: ltW.
  rewrite -mulrA; apply: le_trans near; apply: le_trans (sumV_norm _) _; apply: sumV_le => y.
  by have /andP[y0 y1] := U01 y; rewrite normrM (ger0_norm y0); apply: ler_pimulr.
pose F xs := if size xs == K then draw (row xs) U else 0.
have F01 xs : 0 <= F xs <= 1.
  rewrite /F; case: eqP => [hs|_]; last by rewrite lexx ler01.
  by have [j [w [f [tot [_ _ _ _ [r1 r0 _]]]]]] := laws xs hs; apply: draw_range.
have FE f : siblings (fun=> f) pred0 K [::] (fun xs => draw (row xs) U) = siblings (fun=> f) pred0 K [::] F.
  by rewrite !siblings_prod; apply: sumB_eq => xs hs; rewrite /F hs eqxx.
have share0 y : 0 <= share_of G y by rewrite divr_ge0 // ltW.
have two := siblings_two K d0 d1 share0 g1 F01.
have sumB_sumV n (H : seq V -> V -> R) : sumB n (fun xs => sumV (H xs)) = sumV (fun y => sumB n (H^~ y)).
  elim: n H => //= n IH H; rewrite sumV_sumV; apply: sumV_eq => x; exact: (IH (fun xs => H (x :: xs))).
have sumB_near n (H1 H2 H3 : seq V -> R) : (forall xs, size xs = n -> `|H1 xs - H2 xs| <= H3 xs) -> `|sumB n H1 - sumB n H2| <= sumB n H3.
  elim: n H1 H2 H3 => [|n IH] H1 H2 H3 h /=; first exact: h.
  rewrite -sumVB; apply: le_trans (sumV_norm _) _; apply: sumV_le => x; apply: IH => xs hs; apply: h; by rewrite /= hs.
have Nsum : sumB K N = 1.
  have := siblings_prod (share_of G) K (fun=> 1); rewrite (siblings_const (spent := pred0) (Q := fun=> share_of G) (fun _ _ => g1)) => e1.
  by rewrite e1; apply: sumB_eq => xs hs; rewrite mulr1 NE.
have targetE : sumB K (fun xs => sumV (fun y => jl xs y * U y)) = draw (share_of p) U.
  rewrite sumB_sumV; apply: sumV_eq => y; rewrite /share_of -(joint_law_target (p := p) G0 m0 br ord first K0 y) mulrC -sumBZ.
  by apply: sumB_eq => xs _; rewrite mulrC.
have near : `|siblings (fun=> share_of G) pred0 K [::] F - draw (share_of p) U| <= lambda + 2%:R * both law_off u.
  rewrite siblings_prod -targetE -[X in _ <= X]mulr1 -[X in _ <= _ * X]Nsum -sumBZ; apply: sumB_near => xs hs.
  by have [_] := here xs hs; rewrite -(NE xs hs) /F hs eqxx.
rewrite FE; set S1 := siblings _ _ _ _ F in two near *; set S2 := siblings (fun=> d) _ _ _ F in two *.
have -> : S2 - draw b U = (S1 - draw (share_of p) U) + (S2 - S1) + (draw (share_of p) U - draw b U) by ring.
apply: le_trans (ler_norm_add _ _) _; apply: ler_add; last exact: le_trans (tv_bounds b1 s1 U01) tvT.
apply: le_trans (ler_norm_add _ _) _; apply: ler_add => //; rewrite distrC; apply: le_trans two _.
by apply: ler_wpmul2l; rewrite ?ler0n.
Qed.
End Step.

(* On trees: siblings are independent draws from the model's row, nodes of one text go on together; the pick is accepted if
   it is one of the drafts. *)
Theorem list_matching_rounding (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (c : seq V) (u o e a lambda : R)
    (most : nat) (delta : nat -> R) (B G : seq V -> V -> R) (row : seq V -> nat -> seq V -> V -> R) (last : seq V -> V -> R)
    gamma f (g : seq V -> R) :
  0 <= u < 1 -> 0 <= o -> o < 1 -> 0 <= e -> e <= a -> 0 <= lambda -> both o u < 1 -> both o u / (1 - both o u) <= a ->
  (forall i, 0 <= delta i) ->
  (forall i k, (0 < k <= level i f)%N -> list_off u o e a lambda most k <= delta i /\
     forall j, (j <= k)%N -> both (after_rates u a k) (growth u j) < 1) ->
  (forall s y, rel o (Mb (c ++ s) y) (B s y)) -> (forall s y, rel o (Ms (c ++ s) y) (G s y)) ->
  (forall s k, (0 < k <= level (size s) f)%N -> match_computed u e lambda most k (B s) (G s) (row s k)) ->
  (forall s k xs, sumV (row s k xs) = 1 /\ forall y, 0 <= row s k xs y) ->
  (forall s, sumV (last s) = 1 /\ total_variation (Mb (c ++ s)) (last s) <= o + lambda) ->
  (forall t, 0 <= g t <= 1) ->
  `|descend (independent Ms c) (fun _ => pred0) (fun s k xs h => draw (row s k xs) (fun y => h y (y \in xs))) last gamma [::] f
      (fun s y => complete Mb gamma c g (rcons s y)) - gen Mb gamma.+1 c g|
  <= \sum_(i < gamma) delta i + (o + lambda).
Proof.
move=> /andP[u0 u1] o0 o1 e0 ea lambda0 t1 ta delta0 offs Bb Gd comp rows lasts g01.
pose fits i h := forall j, (level j h <= level (i + j) f)%N.
have Q1 s elders : ~~ pred0 elders -> sumV (independent Ms c s elders) = 1 by move=> _; apply: row_sum.
apply: (@descend_near _ _ _ _ _ _ _ _ _ fits delta) => //.
- move=> i h xs y ok j; apply: leq_trans (level_go_on _ _ _ _) _.
  by apply: leq_trans (ok j.+1) _; rewrite addnS.
- move=> s t h _; split=> [h1 h2 le|h1 h2|k h1|]; rewrite /one_step.
  + apply: siblings_le => [el x|xs _]; first exact: row_ge0.
    by have [_ r0] := rows s (size (t :: h)) xs; apply: sumV_le => y; apply: ler_wpmul2l.
  + by rewrite -siblingsD; apply: siblings_eq => xs; rewrite /draw -sumVD; apply: sumV_eq => y; rewrite mulrDr.
  + by rewrite -siblingsZ; apply: siblings_eq => xs; rewrite /draw -sumVZ; apply: sumV_eq => y; rewrite mulrCA.
  rewrite -[RHS](siblings_const (@Q1 s) (size (t :: h)) [::]); apply: siblings_eq => xs.
  by have [r1 _] := rows s (size (t :: h)) xs; rewrite /draw sumVZr r1 mulr1.
- move=> s t h U ok U01; have okk : (0 < (size h).+1 <= level (size s) f)%N by have := ok 0%N; rewrite addn0.
  have [le small] := offs _ _ okk; apply: le_trans (_ : delta (size s) <= _); last first.
    rewrite ler_addl mulr_ge0 // /one_step; have zero := siblings_const (@Q1 s) (size (t :: h)) [::] 0.
    rewrite -[X in X <= _]zero; apply: siblings_le => [elders x|xs _]; first exact: row_ge0.
    by apply: sumV_ge0 => y; have [_ r0] := rows s (size (t :: h)) xs; rewrite mulr_ge0 // ler0n.
  apply: le_trans le; have := list_step_near u0 u1 o0 e0 ea (ltn0Sn _) t1 ta small (row_ge0 Mb (c ++ s)) (row_sum Mb (c ++ s))
    (row_ge0 Ms (c ++ s)) (row_sum Ms (c ++ s)) o1 (Bb s) (Gd s) (comp _ _ okk) U01.
  exact.
move=> s U U01; have [l1 ll] := lasts s; exact: le_trans (tv_bounds (row_sum Mb (c ++ s)) l1 U01) ll.
Qed.

(* List matching is lossless: with the target's pick drawn from its law given the drafts' (joint_law), every step has the target's
   law, and so has the rule on every tree.  The breaks that joint_law is made of exist for any two rows. *)

Section Breaks.
Variables (V : vocabulary) (R : realFieldType) (p q : V -> R).
Implicit Types (v x y : V) (xs : seq V).
(* The times p / q in order, and which of them is that of v. *)
Definition times : seq R := sort <=%R [seq p v / q v | v <- tokens V & q v != 0].
Definition time_at j : R := nth 0 times j.
Definition time_of v : nat := index (p v / q v) times.
Hypotheses (p0 : forall v, 0 <= p v) (q0 : forall v, 0 <= q v) (p1 : sumV p = 1) (q1 : sumV q = 1).
Lemma in_times v : q v != 0 -> p v / q v \in times.
Proof.
move=> qn; rewrite mem_sort; apply/mapP; exists v => //.
by rewrite mem_filter qn (perm_mem (tokens_ok V)) mem_enum.
Qed.
Lemma time_breaks v : q v != 0 -> (time_of v < size times)%N /\ q v * time_at (time_of v) = p v.
Proof.
move=> qn; have mem := in_times qn; split; first by rewrite index_mem.
by rewrite /time_at nth_index // mulrC divfK.
Qed.
Lemma times_ordered j : (j.+1 < size times)%N -> time_at j <= time_at j.+1.
Proof.
move=> lt; have := sort_sorted (@le_total _ R) [seq p v / q v | v <- tokens V & q v != 0].
by move/(sorted_leq_nth le_trans lexx 0); apply; rewrite ?inE // ltnW.
Qed.
Lemma times_gt0 : (0 < size times)%N.
Proof.
have [v qn] : exists v, q v != 0.
  apply/existsP; rewrite -[X in is_true X]negbK negb_exists; apply/negP => /forallP z.
  have : sumV q = 0 by rewrite -(@sumV0 V R); apply: sumV_eq => v; apply/eqP; have := z v; rewrite negbK.
  by rewrite q1 => /eqP; rewrite oner_eq0.
by have [lt _] := time_breaks qn; apply: leq_ltn_trans lt.
Qed.
Lemma times_first : 0 < slope q time_of 0.
Proof.
have : nth 0 times 0 \in times by apply: mem_nth times_gt0.
rewrite mem_sort => /mapP[v]; rewrite mem_filter => /andP[qn _] e.
apply: lt_le_trans (_ : 0 < q v) _; first by rewrite lt0r qn q0.
have at0 : time_of v = 0%N by rewrite /time_of -e; case: times times_gt0 => //= t l _; rewrite eqxx.
rewrite /slope sumVE (bigD1 v) //= /inn qn at0 mul1r ler_addl sumr_ge0 // => y _.
by rewrite mulr_ge0 ?ler0n.
Qed.

Variable K : nat.
Hypothesis K0 : (0 < K)%N.
Notation picks := (picks p q (size times) time_at time_of).
Notation picks_first := (picks_first p q (size times) time_at time_of).
(* The law of the target's pick and of the drafts', K of them; and the target's pick given theirs. *)
Definition matched_law xs y : R := joint_law p q (size times) time_at time_of K xs y.
Definition matched_row xs y : R := if sumV (matched_law xs) == 0 then p y else matched_law xs y / sumV (matched_law xs).
Let breaks := time_breaks.
Let T1 : 0 < sumV p. Proof. by rewrite p1 ltr01. Qed.
Lemma last_slope : slope q time_of (size times).-1 = 1.
Proof.
rewrite -q1; apply: sumV_eq => v; rewrite /inn; have [->|qn] := eqVneq (q v) 0; first by rewrite mulr0.
by have [lt _] := breaks qn; rewrite -ltnS prednK ?times_gt0 // lt mul1r.
Qed.
Theorem matched_drafts xs : size xs = K -> sumV (matched_law xs) = \prod_(x <- xs) q x.
Proof.
move=> hs; rewrite (joint_law_drafts q0 times_gt0 breaks times_ordered times_first T1 K0 hs) last_slope.
by apply: eq_bigr => x _; rewrite divr1.
Qed.
Theorem matched_target y : sumB K (matched_law^~ y) = p y.
Proof. by rewrite (joint_law_target q0 times_gt0 breaks times_ordered times_first K0) p1 divr1. Qed.
Theorem matched_ge0 xs y : 0 <= matched_law xs y.
Proof.
rewrite /matched_law (joint_race q0 breaks times_ordered times_first); apply: mulr_ge0 => //; rewrite big_seq.
have piece0 x j : (j < size times)%N -> positive (piece_of p q (size times) time_at time_of x j).
  move=> lt; have s0 : 0 <= slope q time_of j by apply/ltW/(slope_gt0 q0 times_first).
  rewrite /positive /piece_of /= divr_ge0 // (rate_ge0 q0 breaks times_ordered times_first lt) /= /clocks_of.
  by case: ifP => //= lt'; rewrite (clock_ge0 q0 times_ordered times_first lt').
have self (w : piece R) : near_piece 0 w w.
  have r (v : R) : rel 0 v v by rewrite /rel subrr normr0 mul0r.
  by split=> //; elim: w.2.
have span0 x : all (@positive R) (span p q (size times) time_at time_of x).
  by apply/allP => w /mapP[j]; rewrite mem_filter mem_iota => /andP[_ lt] ->; apply: piece0.
have first0 x : all (@positive R) (span_first p q (size times) time_at time_of y x).
  rewrite /span_first; case: eqP => _; last first.
    by apply/allP => w /mapP[j]; rewrite mem_filter mem_iota => /andP[_ lt] ->; apply: piece0.
  have [_|qn] := eqVneq (q x) 0 => //; have [lt _] := breaks qn.
  by rewrite /= /positive /= ler01 (rate_ge0 q0 breaks times_ordered times_first lt).
have near (X : seq (seq (piece R))) : all (all (@positive R)) X -> near_spans 0 (\max_(sp <- X) size sp) X X.
  suff H n : (forall sp, sp \in X -> (size sp <= n)%N) -> all (all (@positive R)) X -> near_spans 0 n X X.
    by apply: H => sp mem; rewrite (big_rem _ mem) leq_maxl.
  elim: X => //= sp X IH le /andP[h hX]; split=> //; first by apply: le; rewrite inE eqxx.
  by apply: IH => // sp' mem; apply: le; rewrite inE mem orbT.
have KT : 0 < K%:R * sumV p by rewrite mulr_gt0 // ltr0n.
apply: sumr_ge0 => X mem; apply: (race_ge0 (near X _) KT) => //.
elim: xs X mem => //= x xs IH X; rewrite inE => /orP[/eqP ->|/mapP[X' mem ->]] /=; last by rewrite span0 IH.
by rewrite first0 /=; apply/allP => sp /mapP[z _ ->].
Qed.
Theorem matched_step (U : V -> R) :
  siblings (fun=> q) pred0 K [::] (fun xs => draw (matched_row xs) U) = draw p U.
Proof.
have sumB_sumV n (H : seq V -> V -> R) : sumB n (fun xs => sumV (H xs)) = sumV (fun y => sumB n (H^~ y)).
  elim: n H => //= n IH H; rewrite sumV_sumV; apply: sumV_eq => x; exact: (IH (fun xs => H (x :: xs))).
transitivity (sumB K (fun xs => sumV (fun y => matched_law xs y * U y))).
  rewrite siblings_prod; apply: sumB_eq => xs hs; rewrite -(matched_drafts hs) /draw -sumVZ; apply: sumV_eq => y.
  rewrite mulrA; congr (_ * _); rewrite /matched_row; have [z|nz] := eqVneq (sumV (matched_law xs)) 0.
    by rewrite z mul0r (sumV_eq0 (matched_ge0 xs) z).
  by rewrite mulrC divfK.
rewrite sumB_sumV; apply: sumV_eq => y; rewrite -(matched_target y) mulrC -sumBZ.
by apply: sumB_eq => xs _; rewrite mulrC.
Qed.
Theorem matched_row_ok xs : sumV (matched_row xs) = 1 /\ forall y, 0 <= matched_row xs y.
Proof.
rewrite /matched_row; have [z|nz] := eqVneq (sumV (matched_law xs)) 0; first by split.
split=> [|y]; first by rewrite sumVZr mulfV.
by rewrite divr_ge0 ?sumV_ge0 ?matched_ge0 // => v; apply: matched_ge0.
Qed.
End Breaks.

(* On every tree: siblings are independent draws from the small model's row, and nodes of one text go on together; the pick is
   accepted if it is one of the drafts. *)
Theorem list_matching_valid (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (c : seq V) (gamma : nat) (f : seq tree)
    (o : seq V) : size o = gamma.+1 ->
  descend (independent Ms c) (fun _ => pred0)
    (fun s k xs h => draw (if k == 0%N then Mb (c ++ s) else matched_row (Mb (c ++ s)) (Ms (c ++ s)) k xs) (fun y => h y (y \in xs)))
    (fun s => Mb (c ++ s)) gamma [::] f (fun s y => complete Mb gamma c (fun o' => (o' == o)%:R) (rcons s y)) = joint Mb c o.
Proof.
apply: descend_valid => // [s k xs g g' e|s [|k] U //].
  by apply: sumV_eq => y; rewrite e.
exact: (matched_step (row_ge0 Mb _) (row_ge0 Ms _) (row_sum Mb _) (row_sum Ms _) (ltn0Sn k)).
Qed.
