From mathcomp Require Import all_ssreflect ssralg ssrnum zify.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Algorithms Block Descent Precision Rounding ProblemRounding.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

(* Greedy multi-path block verification in floating point: the rows of the law of the choice, computed as sums of positive
   numbers, are off by a relative error, and block verification's bound on one problem is that of these rows.  What is
   assumed is the standard model of Rounding.v. *)

Section Positive.
Variables (R : realFieldType) (u : R).
Hypothesis u0 : 0 <= u.
Implicit Types (e f x y a b p v : R).
Lemma rel_add e x x' y y' : rel e x x' -> rel e y y' -> rel e (x + y) (x' + y').
Proof.
rewrite /rel => hx hy; have -> : x' + y' - (x + y) = (x' - x) + (y' - y) by ring.
by apply: le_trans (ler_norm_add _ _) _; rewrite mulrDr; apply: ler_add.
Qed.
Lemma rel_le e f x x' : e <= f -> 0 <= x -> rel e x x' -> rel f x x'.
Proof. by move=> ef x0 h; apply: le_trans h _; apply: ler_wpmul2r. Qed.
Lemma rel_self e x : 0 <= e -> 0 <= x -> rel e x x.
Proof. by move=> e0 x0; rewrite /rel subrr normr0 mulr_ge0. Qed.
Lemma both_ge e f : 0 <= e -> 0 <= f -> e <= both e f.
Proof.
move=> e0 f0; have -> : both e f = e + f * (1 + e) by rewrite /both; ring.
by rewrite ler_addl mulr_ge0 // addr_ge0 ?ler01.
Qed.
Lemma rel_trans e f x y z : 0 <= f -> 0 <= x -> rel e x y -> rel f y z -> rel (both e f) x z.
Proof.
move=> f0 x0 xy yz; rewrite /rel; have -> : z - x = (y - x) + (z - y) by ring.
have hy : y <= (1 + e) * x by have [] := rel_range xy.
apply: le_trans (ler_norm_add _ _) _; apply: le_trans (ler_add xy (le_trans yz (ler_wpmul2l f0 hy))) _.
by rewrite le_eqVlt; apply/orP; left; apply/eqP; rewrite /both; ring.
Qed.

(* (a^k+1 - b^k+1) / (a - b), as a sum of products, and as it is computed: p is the power of b. *)
Definition spread k a b : R := \sum_(i < k.+1) a ^+ (k - i) * b ^+ i.
Lemma spreadS k a b : spread k.+1 a b = spread k a b * a + b ^+ k.+1.
Proof.
rewrite /spread big_ord_recr /= subnn expr0 mul1r mulr_suml; congr (_ + _); apply: eq_bigr => i _.
by rewrite subSn; [rewrite exprSr mulrAC | rewrite -ltnS].
Qed.
Lemma spread_diff k a b : a ^+ k.+1 - b ^+ k.+1 = (a - b) * spread k a b.
Proof. by rewrite subrXX. Qed.
Lemma spread_ge0 k a b : 0 <= a -> 0 <= b -> 0 <= spread k a b.
Proof. by move=> a0 b0; apply: sumr_ge0 => i _; rewrite mulr_ge0 ?exprn_ge0. Qed.
Fixpoint spread_computed k a b p v : Prop :=
  if k is k'.+1 then exists p' v' w,
    [/\ spread_computed k' a b p' v', Rounding.rounds u (p' * b) p, Rounding.rounds u (v' * a) w & Rounding.rounds u (w + p) v]
  else p = 1 /\ v = 1.
Fixpoint spread_off e k : R := if k is k'.+1 then both (both (both (spread_off e k') e) u) u else 0.
Lemma spread_off_ge0 e k : 0 <= e -> 0 <= spread_off e k.
Proof. by move=> e0; elim: k => //= k IH; rewrite !both_ge0. Qed.
Lemma spread_near k e a b a' b' p v : 0 <= e -> 0 <= a -> 0 <= b -> rel e a a' -> rel e b b' -> spread_computed k a' b' p v ->
  rel (spread_off e k) (b ^+ k) p /\ rel (spread_off e k) (spread k a b) v.
Proof.
move=> e0 a0 b0 ha hb; elim: k p v => [|k IH] p v /=.
  by move=> [-> ->]; rewrite /spread big_ord_recl big_ord0 /= subn0 !expr0 mul1r addr0; split; apply: rel_self; rewrite ?ler01.
move=> [p' [v' [w [/IH[hp hv] rp rw rv]]]]; set s := spread_off e k in hp hv *.
have s0 : 0 <= s := spread_off_ge0 k e0; have se0 : 0 <= both s e by apply: both_ge0.
have sp0 := spread_ge0 k a0 b0; have bk := exprn_ge0 k b0.
have hp' : rel (both (both s e) u) (b ^+ k.+1) p.
  by rewrite exprSr; apply: rel_rounds rp; rewrite ?mulr_ge0 //; apply: rel_mul.
have hw : rel (both (both s e) u) (spread k a b * a) w.
  by apply: rel_rounds rw; rewrite ?mulr_ge0 //; apply: rel_mul.
have su0 : 0 <= both (both s e) u by apply: both_ge0.
split; first by apply: rel_le hp'; rewrite ?exprn_ge0 // both_ge.
rewrite spreadS; apply: rel_rounds (rel_add hw hp') rv => //.
by rewrite addr_ge0 ?mulr_ge0 ?exprn_ge0.
Qed.
End Positive.

Section Rows.
Variables (V : vocabulary) (R : realFieldType) (Ms : model V R) (c : seq V) (gamma k : nat) (rank : seq V -> V -> nat).
Hypothesis rank_inj : forall s, injective (rank s).
Variables (u o : R) (d : nat).
Hypotheses (u0 : 0 <= u) (o0 : 0 <= o).
Implicit Types (x : seq V) (y t : V).
Notation rounds := (Rounding.rounds u).
Notation s x := (Ms (c ++ x)).
(* k + 1 paths.  On the rows given, within o of the draft's: the probability of the text and of those less preferred, mass
   and back; the token's products z, and their running sums from the least preferred on, without it (lo) and with it (hi). *)
Variables (given : seq V -> V -> R) (mass back : seq V -> R) (z lo hi rows : seq V -> V -> R).
Hypothesis givens : forall x y, rel o (s x y) (given x y).
Definition sums_computed : Prop :=
  [/\ mass [::] = 1 /\ back [::] = 0, forall x y, rounds (mass x * given x y) (z x y),
      forall x y, within u d (back x + sumV (fun t => (rank x y < rank x t)%:R * z x t)) (lo x y),
      forall x y, within u d (back x + sumV (fun t => (rank x y < rank x t)%:R * z x t) + z x y) (hi x y)
    & forall x y, mass (rcons x y) = z x y /\ back (rcons x y) = lo x y].
Definition row_computed x : Prop := exists tot p dn, [/\ rounds (back x + mass x) tot, spread_computed u k tot (back x) p dn
  & forall y, exists p' v w, [/\ spread_computed u k (hi x y) (lo x y) p' v, rounds (given x y * v) w & rounds (w / dn) (rows x y)]].
Fixpoint sums_off i : R := if i is i'.+1 then both (both (both (sums_off i') o) u) (growth u d) else 0.
Definition row_off i : R := let e := spread_off u (sums_off i.+1) k in both (both (both (both o e) u) (e / (1 - e))) u.
Lemma sums_off_ge0 i : 0 <= sums_off i.
Proof. by elim: i => //= i IH; rewrite !both_ge0 // growth_ge0. Qed.
Hypothesis sums : sums_computed.
Notation b x := (behind Ms c rank [::] x).
Notation j x := (joint Ms c x).
Lemma rel_sumV e (f g : V -> R) : (forall t, rel e (f t) (g t)) -> rel e (sumV f) (sumV g).
Proof. by move=> h; rewrite /rel -sumVB -sumVZ; apply: le_trans (sumV_norm _) _; apply: sumV_le. Qed.
(* What the sums of a text are, but for errors. *)
Definition below_of x y : R := b x + sumV (fun t => (rank x y < rank x t)%:R * (j x * s x t)).
Lemma below_ge0 x y : 0 <= below_of x y.
Proof.
by apply: addr_ge0; [apply: behind_ge0 | apply: sumV_ge0 => t; rewrite mulr_ge0 ?ler0n // mulr_ge0 // joint_ge0].
Qed.
Lemma step_near x y (a := sums_off (size x)) : rel a (b x) (back x) -> rel a (j x) (mass x) ->
  [/\ rel (sums_off (size x).+1) (j x * s x y) (z x y), rel (sums_off (size x).+1) (below_of x y) (lo x y)
    & rel (sums_off (size x).+1) (below_of x y + j x * s x y) (hi x y)].
Proof.
case: sums => [_ zr lor hir _] hb hm; have a0 : 0 <= a := sums_off_ge0 _; have g0 := growth_ge0 u0 d.
have ao0 : 0 <= both a o by apply: both_ge0.
have e0 : 0 <= both (both a o) u by apply: both_ge0.
have j0 : 0 <= j x := joint_ge0 _ _ _.
have hz t : rel (both (both a o) u) (j x * s x t) (z x t).
  by apply: rel_rounds (zr x t) => //; [apply: mulr_ge0 | apply: rel_mul].
have hb' : rel (both (both a o) u) (b x) (back x).
  by apply: rel_le hb; rewrite ?behind_ge0 //; apply: le_trans (both_ge a0 o0) (both_ge ao0 u0).
have hs : rel (both (both a o) u) (below_of x y) (back x + sumV (fun t => (rank x y < rank x t)%:R * z x t)).
  apply: rel_add => //; apply: rel_sumV => t; rewrite /rel -mulrBr normrM (ger0_norm (ler0n _ _)) mulrCA.
  by apply: ler_wpmul2l; [apply: ler0n | apply: hz].
split.
- by apply: rel_le (hz y); rewrite ?mulr_ge0 // both_ge.
- by apply: (rel_trans g0 (below_ge0 x y) hs); apply: lor.
by apply: (rel_trans g0 _ (rel_add hs (hz y))); [rewrite addr_ge0 ?below_ge0 ?mulr_ge0 | apply: hir].
Qed.
Lemma sums_near x : rel (sums_off (size x)) (b x) (back x) /\ rel (sums_off (size x)) (j x) (mass x).
Proof.
case: (sums) => [[m1 b0] _ _ _ on]; elim/last_ind: x => [|x y [IHb IHm]].
  by rewrite m1 b0; split; apply: rel_self; rewrite /= ?ler01.
have [hz hl _] := step_near y IHb IHm; have [-> ->] := on x y; rewrite size_rcons joint_rcons behind_rcons cats0; split=> //.
move: hl; rewrite /below_of /worse -sumVZ (sumV_eq (g := fun t => j x * ((rank x y < rank x t)%:R * s x t))) // => t.
exact: mulrCA.
Qed.
Lemma begins_spread x : begins Ms c k.+1 rank x = j x * spread k (b x + j x) (b x).
Proof. by rewrite /begins spread_diff addrC addKr. Qed.
Lemma begins_spread_rcons x y : begins Ms c k.+1 rank (rcons x y)
  = j x * s x y * spread k (below_of x y + j x * s x y) (below_of x y).
Proof. by rewrite begins_rcons spread_diff -/(below_of x y) addrC addKr. Qed.
Notation chosen_ := (chosen_model Ms c k.+1 rank_inj).
Lemma row_near x y : j x != 0 -> spread_off u (sums_off (size x).+1) k < 1 -> row_computed x ->
  rel (row_off (size x)) (chosen_ (c ++ x) y) (rows x y).
Proof.
move=> jn e1 [tot [p [dn [rt sd ry]]]]; have [p' [v [w [sv rw rr]]]] := ry y.
have j0 : 0 <= j x := joint_ge0 _ _ _; have b0 := behind_ge0 Ms c rank [::] x.
have jp : 0 < j x by rewrite lt0r jn.
have [hb hm] := sums_near x; have [_ hl hh] := step_near y hb hm.
have a0 := sums_off_ge0 (size x); have s0 := sums_off_ge0 (size x).+1.
have l0 := below_ge0 x y; have z0 : 0 <= j x * s x y by apply: mulr_ge0.
set e := spread_off _ _ _ in e1; have e0 : 0 <= e := spread_off_ge0 u0 k s0.
have ao : 0 <= both (sums_off (size x)) o by apply: both_ge0.
have g0 := growth_ge0 u0 d.
have up (f f' : R) : 0 <= f -> rel (sums_off (size x)) f f' -> rel (both (sums_off (size x)) u) f f'.
  by move=> f0 h; apply: rel_le h; rewrite // both_ge.
have lift (f f' : R) : 0 <= f -> rel (both (sums_off (size x)) u) f f' -> rel (sums_off (size x).+1) f f'.
  move=> f0 h; apply: rel_le h => //=; apply: le_trans (_ : both (both (sums_off (size x)) o) u <= _).
    rewrite {1 2}/both ler_add2r; apply: ler_wpmul2r; first by rewrite addr_ge0 ?ler01.
    by rewrite ler_add2l both_ge.
  by rewrite both_ge // both_ge0.
have ht : rel (sums_off (size x).+1) (b x + j x) tot.
  by apply: lift; rewrite ?addr_ge0 //; apply: rel_rounds rt; rewrite ?addr_ge0 //; apply: rel_add.
have hb' : rel (sums_off (size x).+1) (b x) (back x) by apply: lift => //; apply: up.
have [_ hd] := spread_near u0 s0 (addr_ge0 b0 j0) b0 ht hb' sd.
have [_ hn] := spread_near u0 s0 (addr_ge0 l0 z0) l0 hh hl sv.
set N := spread k (below_of x y + _) _ in hn; set Dn := spread k (b x + j x) _ in hd.
have N0 : 0 <= N by apply: spread_ge0 => //; apply: addr_ge0.
have D0 : 0 <= Dn by apply: spread_ge0 => //; apply: addr_ge0.
have Dp : 0 < Dn.
  rewrite lt0r D0 andbT /Dn /spread big_ord_recl /= subn0 expr0 mulr1.
  apply: lt0r_neq0; apply: ltr_paddr; last by rewrite exprn_gt0 // ltr_paddl.
  by apply: sumr_ge0 => i _; rewrite mulr_ge0 ?exprn_ge0 ?addr_ge0.
have -> : chosen_ (c ++ x) y = s x y * N * Dn^-1.
  have bn : begins Ms c k.+1 rank x != 0 by rewrite begins_spread -/Dn mulf_neq0 // lt0r_neq0.
  rewrite /= /chosen_row drop_size_cat // (negPf bn) begins_spread_rcons begins_spread -/N -/Dn.
  by field; rewrite jn lt0r_neq0.
have oe : 0 <= both o e by apply: both_ge0.
have oeu : 0 <= both (both o e) u by apply: both_ge0.
have i0 : 0 <= e / (1 - e) by rewrite divr_ge0 // subr_ge0 ltW.
apply: rel_rounds rr => //; first by rewrite both_ge0.
  by rewrite mulr_ge0 ?invr_ge0 // mulr_ge0.
apply: rel_mul => //; rewrite ?mulr_ge0 ?invr_ge0 //; last exact: rel_inv.
by apply: rel_rounds rw => //; [rewrite mulr_ge0 | apply: rel_mul].
Qed.
End Rows.

(* The whole rule on one problem: as ProblemRounding.v has it, for the rows of the law of the choice. *)
Theorem greedy_multi_path_rounding (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma k : nat) (c : seq V)
    (rank : seq V -> V -> nat) (rank_inj : forall s, injective (rank s)) (u o rho eta lambda : R) (d : nat) (F : R -> R)
    (B given S : seq V -> V -> R) (mass back : seq V -> R) (z lo hi : seq V -> V -> R)
    (P H : seq V -> R) (w drawn U : seq V -> V -> R) (kap alpha beta : seq V -> R)
    (law := chosen_model Ms c k.+1 rank_inj) :
  0 <= u <= 1 -> 0 <= o -> o <= rho -> rho < 1 ->
  (forall h, 0 <= h <= 1 -> 0 <= F h <= 1 /\ `|F h - h| <= eta) ->
  (forall x y, rel o (Mb (c ++ x) y) (B x y)) -> (forall x y, rel o (Ms (c ++ x) y) (given x y)) ->
  sums_computed rank u d given mass back z lo hi ->
  (forall i, (i < gamma)%N -> spread_off u (sums_off u o d i.+1) k < 1 /\ row_off k u o d i <= rho) ->
  (forall x, if (size x < gamma)%N && (joint Ms c x != 0) then row_computed k u given mass back lo hi S x
     else S x = law (c ++ x)) ->
  survivals_given u B S P -> (forall x, weights_given u B S P w x) -> (forall x, coin_computed u d P w H x) ->
  (forall x y, 0 <= drawn x y) -> (forall x, sumV (drawn x) = 1) ->
  (forall x, exists r : V -> R, [/\ sumV r = 1, forall y, 0 <= r y, total_variation r (drawn x) <= lambda &
     if final gamma pred0 x then forall y, r y * sumV (B x) = B x y else forall y, r y * sumV (w x) = w x y]) ->
  (forall x, 0 <= kap x) ->
  (forall x y, next_error u rho (kap x) (Mb (c ++ x)) (law (c ++ x)) (p_of Mb law c x) y <= kap (rcons x y)) ->
  (forall x, coin_cost Mb law gamma c pred0 u rho eta d kap x <= alpha x) ->
  (forall x, row_cost Mb law gamma c pred0 u rho kap x <= beta x) -> (forall x y, 0 <= U x y <= 1) ->
  `|paths Ms c gamma k.+1 (fun Xs => sub_verify (coin_taken gamma pred0 F P H) drawn (chosen rank gamma [::] Xs) U)
    - paths Ms c gamma k.+1 (fun Xs => block_verify Mb law c (chosen rank gamma [::] Xs) U)|
  <= below law c pred0 alpha gamma [::] + (beta [::] + below law c pred0 beta gamma [::]) + lambda.
Proof.
move=> /andP[u0 u1] o0 oh h1 dec Bb given_near sums offs rows Pc wc Hc d0 d1 dn kap0 kapS al be U01.
have h0 : 0 <= rho := le_trans o0 oh.
have Bb' x y : rel rho (Mb (c ++ x) y) (B x y) by apply: rel_le (Bb x y).
have Ss x y : rel rho (law (c ++ x) y) (S x y).
  have := rows x; case: ifP => [/andP[lt nz] row|_ ->]; last exact: rel_self.
  have [e1 le] := offs _ lt; apply: rel_le le _ _; first exact: row_ge0.
  exact: (row_near rank_inj u0 o0 given_near sums y nz e1 row).
rewrite (@chosen_law V R Ms c gamma k.+1 rank rank_inj isT (fun X => sub_verify _ drawn X U)) (@chosen_law V R Ms c gamma k.+1 rank rank_inj isT (fun X => block_verify Mb law c X U)).
have as_draft G : gen law gamma c G = draft law c pred0 gamma [::] G by rewrite draft_gen cats0.
rewrite !as_draft.
exact: (problem_rounding u0 u1 h0 h1 dec Bb' Ss Pc wc Hc d0 d1 dn kap0 kapS al be U01).
Qed.

(* List matching by shared noise: the law of the target's pick, given what K drafts picked, as sums over pieces of time on
   each of which a draft's pick is a difference of exponentials.  The drafts' law is that of K independent picks and the
   target's is its row, whatever the two rows; and every number is a sum of products of positive ones. *)

(* Of the target's time t: the token v of a draft is out before z (r v) t, z (r v) = p v / q v, and comes at the rate q v
   after; z are these times in order.  slope: the rate at which a draft picks within piece j; rate: what it is worth until
   piece j begins, in units of t; clock: within it. *)
Section Pieces.
Variables (V : vocabulary) (R : realFieldType) (p q : V -> R) (m : nat) (z : nat -> R) (r : V -> nat).
Implicit Types (v x y : V) (j : nat) (phi psi : R -> R) (xs : seq V) (t : R).
Definition inn v j : bool := (q v != 0) && (r v <= j)%N.
Definition slope j : R := sumV (fun v => (inn v j)%:R * q v).
Definition passed j : R := sumV (fun v => (inn v j)%:R * p v).
Definition rate j : R := sumV (fun v => (inn v j)%:R * (q v * z j - p v)).
Definition clock j : R := slope j * (z j.+1 - z j).
Hypotheses (p0 : forall v, 0 <= p v) (q0 : forall v, 0 <= q v) (m0 : (0 < m)%N).
Hypothesis breaks : forall v, q v != 0 -> (r v < m)%N /\ q v * z (r v) = p v.
Hypothesis ordered : forall j, (j.+1 < m)%N -> z j <= z j.+1.
Hypothesis first : 0 < slope 0.
Notation T := (sumV p).

Lemma slope_gt0 j : 0 < slope j.
Proof.
apply: lt_le_trans first _; apply: sumV_le => v; apply: ler_wpmul2r => //; rewrite ler_nat /inn.
by case: (q v != 0) => //=; case: (leqP (r v) 0) => // le; rewrite (leq_trans le).
Qed.
Lemma rate_next j : rate j.+1 = rate j + clock j.
Proof.
rewrite /rate /clock /slope -sumVZr -sumVD; apply: sumV_eq => v; rewrite /inn.
have [->|qn] /= := eqVneq (q v) 0; first by rewrite !mul0r addr0.
have [le|lt] := leqP (r v) j; first by rewrite (leqW le) !mul1r; ring.
rewrite !mul0r addr0; have [le|] := leqP (r v) j.+1; rewrite ?mul0r //.
have e : r v = j.+1 by apply/eqP; rewrite eqn_leq le lt.
by have [_ <-] := breaks qn; rewrite e subrr mulr0.
Qed.
Lemma rate_passed j : rate j + passed j = slope j * z j.
Proof. by rewrite /rate /passed /slope -sumVD -sumVZr; apply: sumV_eq => v; ring. Qed.
Lemma rate0 : rate 0 = 0.
Proof.
rewrite /rate (sumV_eq (g := fun=> 0)) ?sumV0 // => v; rewrite /inn.
have [->|qn] /= := eqVneq (q v) 0; first by rewrite mul0r.
have [le|] := leqP (r v) 0; last by rewrite mul0r.
by have [_ <-] := breaks qn; move: le; rewrite leqn0 => /eqP ->; rewrite subrr mulr0.
Qed.
Lemma clock_ge0 j : (j.+1 < m)%N -> 0 <= clock j.
Proof. by move=> lt; rewrite mulr_ge0 ?subr_ge0 ?ordered // ltW ?slope_gt0. Qed.
Lemma rate_ge0 j : (j < m)%N -> 0 <= rate j.
Proof. by elim: j => [|j IH] lt; rewrite ?rate0 // rate_next addr_ge0 ?clock_ge0 // IH // ltnW. Qed.

Lemma telescope_from (G : nat -> R) k n : (k <= n)%N -> \sum_(j < n) (k <= j)%N%:R * (G j - G j.+1) = G k - G n.
Proof.
elim: n => [|n IH]; first by rewrite leqn0 => /eqP ->; rewrite big_ord0 subrr.
rewrite leq_eqVlt => /orP[/eqP ->|le].
  by rewrite subrr big1 // => j _; rewrite leqNgt ltn_ord mul0r.
by rewrite big_ord_recr /= IH // -ltnS le mul1r addrA subrK.
Qed.
(* A draft's pick x as a measure on what the time is worth: over the pieces in which x can come. *)
Definition jump phi j : R := phi (rate j) - (if (j.+1 < m)%N then phi (rate j + clock j) else 0).
Lemma jump_tele (g : nat -> R) k : (k < m)%N ->
  \sum_(j < m) (k <= j)%N%:R * (g j - (if (j.+1 < m)%N then g j.+1 else 0)) = g k.
Proof.
move=> lt; pose G j := if (j < m)%N then g j else 0.
rewrite (eq_bigr (fun j : 'I_m => (k <= j)%N%:R * (G j - G j.+1))) => [|j _]; last by rewrite /G ltn_ord.
by rewrite (telescope_from G (ltnW lt)) /G lt ltnn subr0.
Qed.
Lemma jumps phi k : (k < m)%N -> \sum_(j < m) (k <= j)%N%:R * jump phi j = phi (rate k).
Proof.
move=> lt; rewrite -[RHS](jump_tele (fun j => phi (rate j)) lt); apply: eq_bigr => j _.
by rewrite /jump rate_next.
Qed.
Definition pick x phi : R := \sum_(j < m) (inn x j)%:R * (q x / slope j) * jump phi j.
(* The draft whose noise is the least: its race ends where y comes, the token of that noise. *)
Definition pick_first y x phi : R := (x == y)%:R * ((q x != 0)%:R * phi (rate (r x)))
  + \sum_(j < m) (inn x j && ~~ inn y j)%:R * (q x / slope j) * jump phi j.
Lemma inn_sum j : sumV (fun x => (inn x j)%:R * (q x / slope j)) = 1.
Proof.
rewrite (sumV_eq (g := fun x => (inn x j)%:R * q x / slope j)) => [|x]; last by rewrite mulrA.
by rewrite sumVZr -/(slope j) mulfV // lt0r_neq0 // slope_gt0.
Qed.
Lemma inn_jumps x phi : \sum_(j < m) (inn x j)%:R * jump phi j = (q x != 0)%:R * phi (rate (r x)).
Proof.
rewrite /inn; have [e|qn] := eqVneq (q x) 0; first by rewrite mul0r big1 // => j _; rewrite mul0r.
by have [lt _] := breaks qn; rewrite mul1r -(jumps phi lt).
Qed.
Lemma all_jumps phi : \sum_(j < m) jump phi j = phi 0.
Proof. by rewrite -[X in phi X]rate0 -(jumps phi m0); apply: eq_bigr => j _; rewrite mul1r. Qed.
Lemma pick_sum phi : sumV (fun x => pick x phi) = phi 0.
Proof.
rewrite /pick sumV_exch -all_jumps; apply: eq_bigr => j _.
by rewrite sumVZr inn_sum mul1r.
Qed.
Lemma pick_first_sum y phi : sumV (fun x => pick_first y x phi) = phi 0.
Proof.
rewrite sumVD (sumV_delta y (fun x => (q x != 0)%:R * phi (rate (r x)))) -(inn_jumps y phi) sumV_exch -big_split /=.
rewrite -all_jumps; apply: eq_bigr => j _; rewrite sumVZr.
rewrite (sumV_eq (g := fun x => (~~ inn y j)%:R * ((inn x j)%:R * (q x / slope j)))) => [|x]; last first.
  by rewrite -mulnb natrM; ring.
by rewrite sumVZ inn_sum mulr1 -mulrDl; case: (inn y j); rewrite /= ?addr0 ?add0r mul1r.
Qed.
(* The time of the target's noise, by parts. *)
Lemma pick_by_parts x phi : sumV (fun y => p y * pick_first y x phi) = pick x (fun t => (T + t) * phi t).
Proof.
rewrite (sumV_eq (g := fun y => (y == x)%:R * (p y * ((q x != 0)%:R * phi (rate (r x))))
    + \sum_(j < m) p y * ((inn x j && ~~ inn y j)%:R * (q x / slope j) * jump phi j))) => [|y]; last first.
  by rewrite /pick_first mulrDr mulr_sumr eq_sym mulrCA.
rewrite sumVD (sumV_delta x (fun y => p y * _)) sumV_exch.
have -> : p x * ((q x != 0)%:R * phi (rate (r x)))
    = \sum_(j < m) (inn x j)%:R * (q x * z j * phi (rate j) - (if (j.+1 < m)%N then q x * z j.+1 * phi (rate j.+1) else 0)).
  have [e|qn] := eqVneq (q x) 0.
    rewrite mul0r mulr0 big1 // => j _; rewrite /inn e eqxx mul0r //.
  have [lt e] := breaks qn; rewrite mul1r -e -(jump_tele (fun j => q x * z j * phi (rate j)) lt) /inn.
  by apply: eq_bigr => j _; rewrite qn.
rewrite -big_split /=; apply: eq_bigr => j _.
have -> : sumV (fun y => p y * ((inn x j && ~~ inn y j)%:R * (q x / slope j) * jump phi j))
    = (inn x j)%:R * (q x / slope j) * jump phi j * (T - passed j).
  rewrite -sumVB -sumVZ; apply: sumV_eq => y; rewrite -mulnb natrM; case: (inn y j) => /=; ring.
have sn := lt0r_neq0 (slope_gt0 j); have -> : passed j = slope j * z j - rate j by rewrite -rate_passed; ring.
rewrite /jump; case: ifP => _; rewrite ?rate_next; last by field.
by rewrite /clock; field.
Qed.

(* All drafts: independent, given the target's time and what it picks. *)
Fixpoint picks xs phi : R := if xs is x :: xs' then pick x (fun t => picks xs' (fun t' => phi (t + t'))) else phi 0.
Fixpoint picks_first y xs phi : R :=
  if xs is x :: xs' then pick_first y x (fun t => picks xs' (fun t' => phi (t + t')))
    + pick x (fun t => picks_first y xs' (fun t' => phi (t + t')))
  else 0.
Lemma pick_eq x phi psi : (forall t, 0 <= t -> phi t = psi t) -> pick x phi = pick x psi.
Proof.
move=> e; apply: eq_bigr => j _; congr (_ * _); have r0 := rate_ge0 (ltn_ord j); rewrite /jump e //.
by case: ifP => // lt; rewrite e // addr_ge0 // clock_ge0.
Qed.
Lemma jumpD phi psi j : jump (fun t => phi t + psi t) j = jump phi j + jump psi j.
Proof. by rewrite /jump; case: ifP => _; ring. Qed.
Lemma pickD x phi psi : pick x (fun t => phi t + psi t) = pick x phi + pick x psi.
Proof. by rewrite /pick -big_split; apply: eq_bigr => j _; rewrite jumpD mulrDr. Qed.
Lemma pickZ x a phi : pick x (fun t => a * phi t) = a * pick x phi.
Proof. by rewrite /pick mulr_sumr; apply: eq_bigr => j _; rewrite /jump; case: ifP => _; ring. Qed.
Lemma pick_sumV x (F : V -> R -> R) : pick x (fun t => sumV (F^~ t)) = sumV (fun y => pick x (F y)).
Proof.
rewrite /pick sumV_exch; apply: eq_bigr => j _; rewrite sumVZ /jump sumVB; case: ifP => // _.
by rewrite sumV0.
Qed.
Lemma picks_eq xs phi psi : (forall t, 0 <= t -> phi t = psi t) -> picks xs phi = picks xs psi.
Proof.
elim: xs phi psi => [|x xs IH] phi psi e /=; first exact: e.
by apply: pick_eq => t t0; apply: IH => t' t'0; apply: e; apply: addr_ge0.
Qed.
Lemma picksD xs phi psi : picks xs (fun t => phi t + psi t) = picks xs phi + picks xs psi.
Proof.
elim: xs phi psi => [|x xs IH] phi psi //=; rewrite -pickD; apply: pick_eq => t _.
exact: (IH (fun t' => phi (t + t'))).
Qed.
Lemma picksZ xs a phi : picks xs (fun t => a * phi t) = a * picks xs phi.
Proof.
elim: xs phi => [|x xs IH] phi //=; rewrite -pickZ; apply: pick_eq => t _.
exact: (IH (fun t' => phi (t + t'))).
Qed.
Lemma picks_by_parts xs phi :
  sumV (fun y => p y * picks_first y xs phi) = picks xs (fun t => ((size xs)%:R * T + t) * phi t).
Proof.
elim: xs phi => [|x xs IH] phi /=.
  by rewrite (sumV_eq (g := fun=> 0)) ?sumV0 => [|y]; rewrite ?mulr0 // mul0r add0r mul0r.
rewrite (sumV_eq (fun y => mulrDr (p y) _ _)) sumVD pick_by_parts (sumV_eq (fun y => esym (pickZ x (p y) _))).
rewrite -(pick_sumV x (fun y t => p y * picks_first y xs (fun t' => phi (t + t')))) -pickD; apply: pick_eq => t _.
rewrite IH -picksZ -picksD; apply: picks_eq => t' _; rewrite -[(size xs).+1]addn1 natrD; ring.
Qed.
Lemma pick_const x (a : R) : pick x (fun=> a) = q x / slope m.-1 * a.
Proof.
have lt : (m.-1 < m)%N by rewrite prednK.
rewrite /pick (bigD1 (Ordinal lt)) //= big1 => [|j ne]; last first.
  have lt' : (j.+1 < m)%N.
    have ne' : (j : nat) != m.-1 by apply: contra ne => /eqP e; apply/eqP; apply: val_inj.
    by have := ltn_ord j; move: ne' m0; clear; lia.
  by rewrite /jump lt' subrr mulr0.
rewrite addr0 /jump prednK // ltnn subr0 /inn; have [->|qn] := eqVneq (q x) 0; first by rewrite !mul0r.
by have [lr _] := breaks qn; rewrite -ltnS prednK // lr mul1r.
Qed.
Lemma picks_one xs : picks xs (fun=> 1) = \prod_(x <- xs) (q x / slope m.-1).
Proof. by elim: xs => [|x xs IH]; rewrite ?big_nil // big_cons /= IH pick_const. Qed.
Lemma pick_sumB x n (F : seq V -> R -> R) : sumB n (fun xs => pick x (F xs)) = pick x (fun t => sumB n (F^~ t)).
Proof.
elim: n F => //= n IH F; rewrite (sumV_eq (fun y => IH (fun xs => F (y :: xs)))).
by rewrite -(pick_sumV x (fun y t => sumB n (fun xs => F (y :: xs) t))).
Qed.
Lemma picks_sum n phi : sumB n (fun xs => picks xs phi) = phi 0.
Proof.
elim: n phi => [|n IH] phi //=; rewrite -[RHS](pick_sum phi); apply: sumV_eq => x.
rewrite (pick_sumB x n (fun xs t => picks xs (fun t' => phi (t + t')))); apply: pick_eq => t _.
by rewrite IH addr0.
Qed.
Lemma sumBD n (F G : seq V -> R) : sumB n (fun xs => F xs + G xs) = sumB n F + sumB n G.
Proof. by elim: n F G => [|n IH] F G //=; rewrite -sumVD; apply: sumV_eq => x; apply: IH. Qed.
Lemma pick_first_sumB y x n (F : seq V -> R -> R) :
  sumB n (fun xs => pick_first y x (F xs)) = pick_first y x (fun t => sumB n (F^~ t)).
Proof.
elim: n F => //= n IH F; rewrite (sumV_eq (fun v => IH (fun xs => F (v :: xs)))) /pick_first sumVD sumVZ sumVZ sumV_exch.
congr (_ + _); apply: eq_bigr => j _; rewrite sumVZ /jump sumVB; congr (_ * (_ - _)); case: ifP => // _; exact: sumV0.
Qed.
Lemma picks_first_sum y n phi : sumB n (fun xs => picks_first y xs phi) = n%:R * phi 0.
Proof.
elim: n phi => [|n IH] phi /=; first by rewrite mul0r.
rewrite (sumV_eq (fun x => sumBD n _ _)) sumVD.
rewrite (sumV_eq (g := fun x => pick_first y x phi)) => [|x]; last first.
  rewrite (pick_first_sumB y x n (fun xs t => picks xs (fun t' => phi (t + t')))) /pick_first.
  by rewrite picks_sum addr0; congr (_ + _); apply: eq_bigr => j _; rewrite /jump !picks_sum !addr0.
rewrite pick_first_sum (sumV_eq (g := fun x => pick x (fun t => n%:R * phi t))) => [|x]; last first.
  rewrite (pick_sumB x n (fun xs t => picks_first y xs (fun t' => phi (t + t')))); apply: pick_eq => t _.
  by rewrite IH addr0.
by rewrite pick_sum -[n.+1]addn1 natrD; ring.
Qed.

(* The law of the target's pick y, given the picks xs of K drafts: of the joint law. *)
Hypothesis T0 : 0 < T.
Variable K : nat.
Hypothesis K0 : (0 < K)%N.
Definition joint_law xs y : R := p y * picks_first y xs (fun t => (K%:R * T + t)^-1).
Theorem joint_law_drafts xs : size xs = K -> sumV (joint_law xs) = \prod_(x <- xs) (q x / slope m.-1).
Proof.
move=> hs; rewrite /joint_law picks_by_parts hs -picks_one; apply: picks_eq => t t0.
by rewrite mulfV // lt0r_neq0 // ltr_paddr // mulr_gt0 // ltr0n.
Qed.
Theorem joint_law_target y : sumB K (joint_law^~ y) = p y / T.
Proof.
rewrite /joint_law sumBZ picks_first_sum addr0; congr (_ * _).
by rewrite invfM mulrA mulfV ?mul1r // pnatr_eq0 -lt0n.
Qed.
End Pieces.

(* List matching by shared noise in floating point.  Each number of the law of the target's pick is a sum of products and
   quotients of positive ones, off by a relative error; the times p / q, as they are computed, are exactly those of another
   target's row, near the given one, whose law the rule has.  What is assumed is the standard model of Rounding.v. *)

(* The integral over t of exp(-A t) times 1 - exp(-d t) for each clock d: all of them ring before a clock A does. *)
Section Rings.
Variable R : realFieldType.
Implicit Types (A d : R) (ds : seq R).
Fixpoint alt ds A : R := if ds is d :: ds' then alt ds' A - alt ds' (A + d) else A^-1.
Definition del i ds : seq R := take i ds ++ drop i.+1 ds.
Definition total_of ds : R := \sum_(d <- ds) d.
Fixpoint rings n A ds : R :=
  if n is n'.+1 then (\sum_(i < size ds) nth 0 ds i * rings n' A (del i ds)) / (A + total_of ds) else A^-1.
Lemma size_del i ds : (i < size ds)%N -> size (del i ds) = (size ds).-1.
Proof. by move=> lt; rewrite size_cat size_take lt size_drop; move: lt; clear; lia. Qed.
Lemma all_del (P : pred R) i ds : all P ds -> all P (del i ds).
Proof.
move=> h; rewrite all_cat; apply/andP; split; apply/allP => d hd; apply: (allP h).
  exact: mem_take hd.
exact: mem_drop hd.
Qed.
Lemma total_ge0 ds : all (fun d => 0 <= d) ds -> 0 <= total_of ds.
Proof. by move=> h; rewrite /total_of big_seq; apply: sumr_ge0 => d din; exact: (allP h d din). Qed.
Lemma alt_step ds A : 0 < A -> all (fun d => 0 <= d) ds ->
  (A + total_of ds) * alt ds A = (ds == [::])%:R + \sum_(i < size ds) nth 0 ds i * alt (del i ds) A.
Proof.
elim: ds A => [|d ds IH] A A0 /=; first by rewrite /total_of big_nil big_ord0 !addr0 mulfV // lt0r_neq0.
move=> /andP[d0 h]; have A'0 : 0 < A + d by rewrite ltr_paddr.
rewrite /total_of big_cons -/(total_of ds) big_ord_recl /= /del take0 drop1 /= add0r.
have -> : (A + (d + total_of ds)) * (alt ds A - alt ds (A + d))
    = (A + total_of ds) * alt ds A + d * alt ds A - (A + d + total_of ds) * alt ds (A + d) by ring.
rewrite (IH _ A0 h) (IH _ A'0 h).
have -> : \sum_(i < size ds) nth 0 ds i * (alt (take i ds ++ drop (bump 0 i) ds) A - alt (take i ds ++ drop (bump 0 i) ds) (A + d))
    = \sum_(i < size ds) nth 0 ds i * alt (del i ds) A - \sum_(i < size ds) nth 0 ds i * alt (del i ds) (A + d).
  by rewrite -sumrB; apply: eq_bigr => i _; rewrite -mulrBr.
ring.
Qed.
Lemma alt_rings n ds A : size ds = n -> 0 < A -> all (fun d => 0 <= d) ds -> alt ds A = rings n A ds.
Proof.
elim: n ds => [|n IH] ds hs A0 h; first by move: hs => /size0nil ->.
have S0 : 0 < A + total_of ds by rewrite ltr_paddr // total_ge0.
have -> : alt ds A = (A + total_of ds) * alt ds A / (A + total_of ds) by rewrite mulrC mulKf // lt0r_neq0.
rewrite alt_step //=; congr (_ / _); have -> : (ds == [::]) = false by case: ds hs {h S0}.
rewrite add0r; apply: eq_bigr => i _; rewrite IH ?size_del ?hs //; exact: all_del.
Qed.
Lemma rings_ge0 n A ds : 0 < A -> all (fun d => 0 <= d) ds -> 0 <= rings n A ds.
Proof.
elim: n ds => [|n IH] ds A0 h /=; first by rewrite invr_ge0 ltW.
rewrite divr_ge0 //; last by rewrite addr_ge0 ?total_ge0 // ltW.
apply: sumr_ge0 => i _; rewrite mulr_ge0 ?IH ?all_del //; exact: (allP h _ (mem_nth 0 (ltn_ord i))).
Qed.
End Rings.

(* The same with errors: A within a, the clocks within a. *)
Section RingsNear.
Variables (R : realFieldType) (u : R).
Hypothesis u0 : 0 <= u.
Implicit Types (A d e a : R) (ds : seq R).
Notation rounds := (Rounding.rounds u).
Fixpoint rings_computed n A ds v : Prop :=
  if n is n'.+1 then exists (vs ws : nat -> R) num den,
    [/\ forall i, (i < size ds)%N -> rings_computed n' A (del i ds) (vs i),
        forall i, (i < size ds)%N -> rounds (nth 0 ds i * vs i) (ws i),
        within u (size ds) (\sum_(i < size ds) ws i) num, within u (size ds) (A + total_of ds) den & rounds (num / den) v]
  else rounds A^-1 v.
Fixpoint rings_off a n : R :=
  if n is n'.+1 then
    let of_sum := both a (growth u n) in
    both (both (both (both (both a (rings_off a n')) u) (growth u n)) (of_sum / (1 - of_sum))) u
  else both (a / (1 - a)) u.
Fixpoint near_all e ds ds' : Prop :=
  match ds, ds' with
  | [::], [::] => True
  | d :: s, d' :: s' => rel e d d' /\ near_all e s s'
  | _, _ => False
  end.
Lemma near_size e ds ds' : near_all e ds ds' -> size ds' = size ds.
Proof. by elim: ds ds' => [|d ds IH] [|d' ds'] //= [_ /IH ->]. Qed.
Lemma near_nth e ds ds' i : near_all e ds ds' -> (i < size ds)%N -> rel e (nth 0 ds i) (nth 0 ds' i).
Proof. by elim: ds ds' i => [|d ds IH] [|d' ds'] [|i] //= [h t] lt //; apply: IH. Qed.
Lemma near_del e ds ds' i : near_all e ds ds' -> near_all e (del i ds) (del i ds').
Proof.
rewrite /del; elim: ds ds' i => [|d ds IH] [|d' ds'] [|i] //= [h t]; first by rewrite !drop0.
by split=> //; apply: IH.
Qed.
Lemma near_total e ds ds' : near_all e ds ds' -> rel e (total_of ds) (total_of ds').
Proof.
elim: ds ds' => [|d ds IH] [|d' ds'] //=; first by rewrite /rel /total_of big_nil subrr normr0 mulr0.
by move=> [h /IH t]; rewrite /total_of !big_cons; apply: rel_add.
Qed.
Lemma rel_sum n e (f g : nat -> R) : (forall i, (i < n)%N -> rel e (f i) (g i)) -> rel e (\sum_(i < n) f i) (\sum_(i < n) g i).
Proof.
move=> h; rewrite /rel -sumrB mulr_sumr; apply: le_trans (ler_norm_sum _ _ _) _; apply: ler_sum => i _; exact: h.
Qed.
Lemma rings_off_ge0 a n : 0 <= a -> (forall j, (j <= n)%N -> both a (growth u j) < 1) -> 0 <= rings_off a n.
Proof.
move=> a0; elim: n => [|n IH] ok /=.
  have := ok 0%N isT; rewrite growth0 /both addr0 mulr1 addrAC subrr add0r => a1.
  by rewrite both_ge0 // divr_ge0 // subr_ge0 ltW.
have g0 := growth_ge0 u0 n.+1; have s0 : 0 <= both a (growth u n.+1) by apply: both_ge0.
have r0 : 0 <= rings_off a n by apply: IH => j le; apply: ok; apply: leqW.
by rewrite !both_ge0 // divr_ge0 // subr_ge0 ltW // ok.
Qed.
Lemma rings_near a n A A' ds ds' v : 0 <= a -> (forall j, (j <= n)%N -> both a (growth u j) < 1) -> size ds = n -> 0 < A ->
  all (fun d => 0 <= d) ds -> rel a A A' -> near_all a ds ds' -> rings_computed n A' ds' v -> rel (rings_off a n) (rings n A ds) v.
Proof.
move=> a0; elim: n ds ds' v => [|n IH] ds ds' v ok hs A0 h hA hd /=.
  have := ok 0%N isT; rewrite growth0 /both addr0 mulr1 addrAC subrr add0r => a1 rv.
  apply: rel_rounds rv => //; [by rewrite divr_ge0 // subr_ge0 ltW | by rewrite invr_ge0 ltW | exact: rel_inv (ltW A0) hA].
move=> [vs [ws [num [den [hv hw hn hD rv]]]]]; have sz := near_size hd.
have g0 := growth_ge0 u0 n.+1; have s0 : 0 <= both a (growth u n.+1) by apply: both_ge0.
have ok' j : (j <= n)%N -> both a (growth u j) < 1 by move=> le; apply: ok; apply: leqW.
have r0 := rings_off_ge0 a0 ok'; have d0 i : (i < size ds)%N -> 0 <= nth 0 ds i by move=> lt; exact: (allP h _ (mem_nth 0 lt)).
have ar : 0 <= both a (rings_off a n) by apply: both_ge0.
have i0 : 0 <= both a (growth u n.+1) / (1 - both a (growth u n.+1)) by rewrite divr_ge0 // subr_ge0 ltW // ok.
have R0 i : 0 <= rings n A (del i ds) by apply: rings_ge0 => //; apply: all_del.
have S0 : 0 <= A + total_of ds by rewrite addr_ge0 ?total_ge0 // ltW.
have N0 : 0 <= \sum_(i < size ds) nth 0 ds i * rings n A (del i ds) by apply: sumr_ge0 => i _; rewrite mulr_ge0 // d0.
have terms i : (i < size ds)%N -> rel (both (both a (rings_off a n)) u) (nth 0 ds i * rings n A (del i ds)) (ws i).
  move=> lt; apply: rel_rounds (hw i _) => //; first by rewrite mulr_ge0 // d0.
    apply: rel_mul => //; [exact: d0 | exact: near_nth | apply: (IH (del i ds) (del i ds')) => //].
    - by rewrite size_del // hs.
    - exact: all_del.
    - exact: near_del.
    - by apply: hv; rewrite sz.
  by rewrite sz.
rewrite sz hs in hn; rewrite sz hs in hD; rewrite hs in terms *.
have := rel_trans g0 _ (rel_sum terms) hn; rewrite hs in N0 => /(_ N0) hnum.
have hden := rel_trans g0 S0 (rel_add hA (near_total hd)) hD.
apply: rel_rounds rv => //; first by rewrite !both_ge0.
  by rewrite divr_ge0.
by apply: rel_mul; rewrite ?invr_ge0 //; [rewrite !both_ge0 | apply: rel_inv hden; rewrite // ok].
Qed.
End RingsNear.

(* One draft after another: what its pieces are worth (weight, rate, clock or none), times what follows. *)
Section Race.
Variables (R : realFieldType) (u e : R) (s : nat).
Hypotheses (u0 : 0 <= u) (e0 : 0 <= e).
Definition piece : Type := (R * R * seq R)%type.
Definition nothing : piece := (0, 0, [::]).
Implicit Types (A a : R) (ds : seq R) (w : piece) (sp : seq piece) (spans : seq (seq piece)).
Notation rounds := (Rounding.rounds u).
Fixpoint race spans A ds : R :=
  if spans is sp :: rest then \sum_(w <- sp) w.1.1 * race rest (A + w.1.2) (w.2 ++ ds) else alt ds A.
Fixpoint race_computed spans A ds v : Prop :=
  if spans is sp :: rest then exists As vs ws : nat -> R,
    [/\ forall i, (i < size sp)%N -> rounds (A + (nth nothing sp i).1.2) (As i),
        forall i, (i < size sp)%N -> race_computed rest (As i) ((nth nothing sp i).2 ++ ds) (vs i),
        forall i, (i < size sp)%N -> rounds ((nth nothing sp i).1.1 * vs i) (ws i)
      & within u (size sp) (\sum_(i < size sp) ws i) v]
  else rings_computed u (size ds) A ds v.
Definition positive w : bool := [&& 0 <= w.1.1, 0 <= w.1.2, all (fun d => 0 <= d) w.2 & (size w.2 <= 1)%N].
Definition near_piece w w' : Prop := [/\ rel e w.1.1 w'.1.1, rel e w.1.2 w'.1.2 & near_all e w.2 w'.2].
Fixpoint near_spans spans spans' : Prop :=
  match spans, spans' with
  | [::], [::] => True
  | sp :: r, sp' :: r' => [/\ size sp' = size sp, (size sp <= s)%N, all positive sp,
      forall i, (i < size sp)%N -> near_piece (nth nothing sp i) (nth nothing sp' i) & near_spans r r']
  | _, _ => False
  end.
Fixpoint after_rates a k : R := if k is k'.+1 then after_rates (both a u) k' else a.
Fixpoint race_off a k n : R :=
  if k is k'.+1 then both (both (both e (race_off (both a u) k' n)) u) (growth u s) else rings_off u a n.
Lemma near_all_le (f g : R) ds ds' : f <= g -> all (fun d => 0 <= d) ds -> near_all f ds ds' -> near_all g ds ds'.
Proof.
move=> fg; elim: ds ds' => [|d ds IH] [|d' ds'] //= /andP[d0 h] [hd ht]; split; last exact: IH.
exact: rel_le fg d0 hd.
Qed.
Lemma near_all_cat (f : R) ds1 ds1' ds2 ds2' : near_all f ds1 ds1' -> near_all f ds2 ds2' -> near_all f (ds1 ++ ds2) (ds1' ++ ds2').
Proof. by elim: ds1 ds1' => [|d ds IH] [|d' ds'] //= [hd ht] h2; split=> //; apply: IH. Qed.
Lemma rings_off_mono a j n : 0 <= a -> (forall i, (i <= n)%N -> both a (growth u i) < 1) -> (j <= n)%N ->
  rings_off u a j <= rings_off u a n.
Proof.
move=> a0; elim: n => [|n IH] ok; first by rewrite leqn0 => /eqP ->.
rewrite leq_eqVlt => /orP[/eqP -> //|le].
have ok' i : (i <= n)%N -> both a (growth u i) < 1 by move=> h; apply: ok; apply: leqW.
apply: le_trans (IH ok' le) _ => /=; have r0 := rings_off_ge0 u0 a0 ok'; have g0 := growth_ge0 u0 n.+1.
have s0 : 0 <= both a (growth u n.+1) by apply: both_ge0.
have i0 : 0 <= both a (growth u n.+1) / (1 - both a (growth u n.+1)) by rewrite divr_ge0 // subr_ge0 ltW // ok.
apply: le_trans (_ : both a (rings_off u a n) <= _).
  by have := both_ge r0 a0; rewrite /both mulrC.
have ar := both_ge0 a0 r0.
apply: le_trans (both_ge ar u0) _; apply: le_trans (both_ge (both_ge0 ar u0) g0) _.
apply: le_trans (both_ge (both_ge0 (both_ge0 ar u0) g0) i0) _.
by apply: both_ge => //; rewrite !both_ge0.
Qed.
Lemma race_ge0 spans spans' A ds : near_spans spans spans' -> 0 < A -> all (fun d => 0 <= d) ds -> 0 <= race spans A ds.
Proof.
elim: spans spans' A ds => [|sp r IH] [|sp' r'] A ds //= hS A0 h; first by rewrite (alt_rings erefl) // rings_ge0.
case: hS => _ _ hp _ hr; rewrite big_seq; apply: sumr_ge0 => w win; have /and4P[w0 w1 w2 _] := allP hp w win.
rewrite mulr_ge0 //; apply: IH hr _ _; first by rewrite ltr_paddr.
by rewrite all_cat w2.
Qed.
Lemma race_off_ge0 a k n : 0 <= a -> (forall j, (j <= n)%N -> both (after_rates a k) (growth u j) < 1) -> 0 <= race_off a k n.
Proof.
elim: k a => [|k IH] a a0 ok /=; first exact: rings_off_ge0.
have r0 := IH (both a u) (both_ge0 a0 u0) ok.
by rewrite !both_ge0 ?growth_ge0.
Qed.
Theorem race_near spans spans' A A' ds ds' a n v : near_spans spans spans' -> e <= a -> 0 < A -> all (fun d => 0 <= d) ds ->
  rel a A A' -> near_all e ds ds' -> (size ds + size spans <= n)%N ->
  (forall j, (j <= n)%N -> both (after_rates a (size spans)) (growth u j) < 1) ->
  race_computed spans' A' ds' v -> rel (race_off a (size spans) n) (race spans A ds) v.
Proof.
elim: spans spans' A A' ds ds' a v => [|sp r IH] [|sp' r'] A A' ds ds' a v //= hS ea A0 h hA hd hn ok.
  have a0 := le_trans e0 ea; rewrite (near_size hd) (alt_rings erefl) // => rv; rewrite addn0 in hn.
  apply: (@rel_le _ (rings_off u a (size ds))); [exact: rings_off_mono | exact: rings_ge0 | ].
  apply: (rings_near u0 a0 _ erefl A0 h hA (near_all_le ea h hd) rv) => j le; apply: ok; exact: leq_trans hn.
case: hS => sz les hp near hr [As [vs [ws [hAs hv hw hsum]]]]; have a0 := le_trans e0 ea.
have ea' : e <= both a u by apply: le_trans ea (both_ge a0 u0).
have r0 := race_off_ge0 (both_ge0 a0 u0) ok; have g0 := growth_ge0 u0 s.
pose F i := (nth nothing sp i).1.1 * race r (A + (nth nothing sp i).1.2) ((nth nothing sp i).2 ++ ds).
have FE : \sum_(w <- sp) w.1.1 * race r (A + w.1.2) (w.2 ++ ds) = \sum_(i < size sp) F i.
  by rewrite (big_nth nothing) big_mkord.
have pos i : (i < size sp)%N -> positive (nth nothing sp i) by move=> lt; exact: (allP hp _ (mem_nth nothing lt)).
have A'0 i : (i < size sp)%N -> 0 < A + (nth nothing sp i).1.2.
  by move=> lt; have /and4P[_ w1 _ _] := pos i lt; rewrite ltr_paddr.
have R0 i : (i < size sp)%N -> 0 <= race r (A + (nth nothing sp i).1.2) ((nth nothing sp i).2 ++ ds).
  move=> lt; apply: race_ge0 hr (A'0 i lt) _; have /and4P[_ _ w2 _] := pos i lt.
  by rewrite all_cat w2.
have terms i : (i < size sp)%N -> rel (both (both e (race_off (both a u) (size r) n)) u) (F i) (ws i).
  move=> lt; have /and4P[w0 w1 w2 w3] := pos i lt; have [n1 n2 n3] := near i lt; have lt' : (i < size sp')%N by rewrite sz.
  apply: rel_rounds (hw i lt') => //; first by rewrite both_ge0.
    by rewrite mulr_ge0 // R0.
  apply: rel_mul => //; first exact: R0.
  apply: (IH r' _ (As i) _ ((nth nothing sp' i).2 ++ ds')) => //.
  - exact: A'0.
  - by rewrite all_cat w2.
  - apply: rel_rounds (hAs i lt') => //; first by rewrite addr_ge0 // ltW.
    by apply: rel_add => //; apply: rel_le ea w1 n2.
  - exact: near_all_cat.
  - by rewrite size_cat; move: hn w3; clear; lia.
  exact: hv.
rewrite FE; rewrite sz in hsum.
have S0 : 0 <= \sum_(i < size sp) F i.
  by apply: sumr_ge0 => i _; have /and4P[w0 _ _ _] := pos i (ltn_ord i); rewrite mulr_ge0 // R0.
set x := both (both e _) u in terms *; have x0 : 0 <= x by rewrite !both_ge0.
apply: (@rel_le _ (both x (growth u (size sp)))) => //; last exact: rel_trans (growth_ge0 u0 _) S0 (rel_sum terms) hsum.
rewrite /both ler_add2r; apply: ler_wpmul2l; first by rewrite addr_ge0 ?ler01.
by rewrite ler_add2l; apply: growth_mono.
Qed.
End Race.
