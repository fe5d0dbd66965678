(* Greedy multi-path block verification in floating point: the rows of the law of the choice, computed as sums of positive
   numbers, are off by a relative error, and block verification's bound on one problem is that of these rows.  What is
   assumed is the standard model of Rounding.v. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Models Algorithms Verifier Block SubBlocks Precision Rounding BlockRounding ProblemRounding MultiPath.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

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
