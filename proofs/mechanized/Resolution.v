(* Global Resolution: of the drafts S the token y is accepted with any share that a solver returned, times a scale by which y
   is accepted no more often than the target has it.  Shares of at most 1 in all make a rule, lossless whatever they are; and in floating point only how
   often y would be accepted, the scale and what is left of the target count.  The standard model of Rounding.v is assumed. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Models Algorithms Verifier Block SubBlocks Precision Rounding BlockRounding ProblemRounding SeveralDrafts TreeRounding SiblingRounding Descent DescentRounding KSeqStep TransportRounding.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section Exact.
Variables (V : vocabulary) (R : realFieldType) (Mb : model V R) (c : seq V).
Notation rb s := (Mb (c ++ s)).
Variables (Q : seq V -> seq V -> V -> R) (spent : seq V -> pred (seq V)).
Hypotheses (Q0 : forall s elders x, 0 <= Q s elders x) (Q1 : forall s elders, ~~ spent s elders -> sumV (Q s elders) = 1).
Variable share : seq V -> nat -> seq V -> V -> R.
Hypothesis share0 : forall s k xs y, 0 <= share s k xs y.
Definition scale_to s k y : R :=
  if moved Q spent share s k y == 0 then 1 else Num.min (rb s y / moved Q spent share s k y) 1.
Definition global_resolution gamma f A : R := transport Mb c Q spent (fun s k xs y => share s k xs y * scale_to s k y) gamma f A.
Theorem resolution_valid gamma f o : size o = gamma.+1 ->
  global_resolution gamma f (fun s y => complete Mb gamma c (fun o' => (o' == o)%:R) (rcons s y)) = joint Mb c o.
Proof.
apply: (transport_valid Q1) => s k y; rewrite /moved.
rewrite (siblings_eq _ _ _ _ (G := fun xs => scale_to s k y * share s k xs y)) => [|xs]; last exact: mulrC.
rewrite siblingsZ -/(moved Q spent share s k y) /scale_to; set m := moved _ _ _ _ _ _.
have m0 : 0 <= m by rewrite -(siblings_const (@Q1 s) k [::] 0); apply: siblings_le => // xs _; apply: share0.
case: eqP => [->|/eqP nz]; first by rewrite mulr0 row_ge0.
by apply: le_trans (_ : rb s y / m * m <= _); [apply: ler_wpmul2r; rewrite ?le_minl ?lexx | rewrite divfK].
Qed.
End Exact.

(* One token: it would be accepted with probability m, computed as acc; the scale is min(B / acc, 1), or 1 for acc = 0. *)
Section Token.
Variables (R : realFieldType) (u nu E : R).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1) (nu0 : 0 <= nu) (E0 : 0 <= E) (E1 : E < 1).
Notation rounds := (Rounding.rounds u).
Implicit Types b B m acc sc w : R.
Lemma still_ge0 (e z z' : R) : e < 1 -> 0 <= z -> rel e z z' -> 0 <= z'.
Proof. by move=> e1 z0 /rel_range[lo _]; apply: le_trans lo; rewrite mulr_ge0 // subr_ge0 ltW. Qed.
Definition scaled B acc sc : Prop := if acc == 0 then sc = 1 else exists2 z, rounds (B / acc) z & sc = Num.min z 1.
Definition left_of B acc sc w : Prop := exists v e, [/\ rounds (acc * sc) v, rounds (B - v) e & w = Num.max e 0].
Definition resolution_off : R := nu + (u + both u u) * (1 + nu) + (u + E / (1 - E)) * (1 + both u nu).
Lemma resolution_off_ge0 : 0 <= resolution_off.
Proof.
have i0 : 0 <= E / (1 - E) by rewrite divr_ge0 // subr_ge0 ltW.
have uu : 0 <= both u u by apply: both_ge0.
have un : 0 <= both u nu by apply: both_ge0.
by apply: addr_ge0; [apply: addr_ge0 => //|]; apply: mulr_ge0; apply: addr_ge0; rewrite ?ler01.
Qed.
Lemma left_of_near b B m acc sc w : 0 <= b -> 0 <= B -> 0 <= m -> rel nu b B -> rel E m acc ->
  scaled B acc sc -> left_of B acc sc w -> 0 <= sc /\ `|w - (b - m * sc)| <= resolution_off * b.
Proof.
move=> b0 B0 m0 Bb am hs [v [e [hv he ->]]].
have un : 0 <= both u nu by apply: both_ge0.
have acc0 : 0 <= acc := still_ge0 E1 m0 am.
have [_ hB] := rel_range Bb.
have uB : (1 + u) * B <= (1 + both u nu) * b.
  have -> : (1 + both u nu) * b = (1 + u) * ((1 + nu) * b) by rewrite /both; ring.
  by apply: ler_wpmul2l => //; rewrite addr_ge0 ?ler01.
have [sc0 aB] : 0 <= sc /\ acc * sc <= (1 + u) * B.
  move: hs; rewrite /scaled; case: eqP => [-> ->|/eqP nz [z hz ->]].
    by split; rewrite ?ler01 // mul0r mulr_ge0 // addr_ge0 ?ler01.
  have p : 0 < acc by rewrite lt0r nz acc0.
  have z0 : 0 <= B / acc by rewrite divr_ge0.
  split; first by rewrite le_minr (rounds_ge0 u1 z0 hz) ler01.
  have hz' : rel u (B / acc) z by rewrite /rel -{2}(ger0_norm z0).
  have [_ hi] := rel_range hz'; apply: le_trans (_ : acc * z <= _); first by apply: ler_wpmul2l; rewrite ?le_minl ?lexx.
  by apply: le_trans (ler_wpmul2l acc0 hi) _; rewrite mulrCA [acc * _]mulrC divfK.
have as0 : 0 <= acc * sc by rewrite mulr_ge0.
have sm : `|acc * sc - m * sc| <= E / (1 - E) * (acc * sc).
  have d0 : 0 < 1 - E by rewrite subr_gt0.
  rewrite -mulrBl normrM (ger0_norm sc0) mulrA; apply: ler_wpmul2r => //; apply: (le_trans am).
  by rewrite mulrAC ler_pdivl_mulr // -mulrA; apply: ler_wpmul2l => //; have [lo _] := rel_range am; rewrite mulrC.
have vs : `|v - acc * sc| <= u * (acc * sc) by rewrite -{2}(ger0_norm as0).
have v0 : 0 <= v := rounds_ge0 u1 as0 hv.
have vB : v <= (1 + both u u) * B.
  have -> : (1 + both u u) * B = (1 + u) * ((1 + u) * B) by rewrite /both; ring.
  have [_ hi] := rel_range (vs : rel u (acc * sc) v).
  by apply: le_trans hi _; apply: ler_wpmul2l => //; rewrite addr_ge0 ?ler01.
split=> //.
have uu : 0 <= both u u by apply: both_ge0.
have top : Num.max (B - v) 0 <= B by rewrite le_maxl B0 andbT ler_subl_addr ler_addl.
have cut : `|Num.max (B - v) 0 - (B - v)| <= both u u * B.
  case: (leP (B - v) 0) => h; last by rewrite subrr normr0 mulr_ge0.
  by rewrite sub0r normrN ler0_norm // opprB ler_subl_addr -[X in _ + X]mul1r -mulrDl addrC.
have -> : Num.max e 0 - (b - m * sc) = (Num.max e 0 - Num.max (B - v) 0) + (Num.max (B - v) 0 - (B - v)) + (B - b)
  - ((v - acc * sc) + (acc * sc - m * sc)) by ring.
apply: le_trans (ler_norm_sub _ _) _.
have -> : resolution_off * b = ((u + both u u) * ((1 + nu) * b) + nu * b) + (u + E / (1 - E)) * ((1 + both u nu) * b).
  by rewrite /resolution_off; ring.
apply: ler_add.
  apply: le_trans (ler_norm_add _ _) _; apply: ler_add => //.
  apply: le_trans (ler_norm_add _ _) _; apply: le_trans (_ : (u + both u u) * B <= _); last first.
    by apply: ler_wpmul2l => //; apply: addr_ge0.
  by rewrite mulrDl; apply: ler_add => //; apply: le_trans (max0_rounds u1 he) _; apply: ler_wpmul2l.
apply: le_trans (ler_norm_add _ _) _; apply: le_trans (ler_add vs sm) _; rewrite -mulrDl.
apply: le_trans (ler_wpmul2l _ (le_trans aB uB)) _ => //.
by apply: addr_ge0 => //; rewrite divr_ge0 // subr_ge0 ltW.
Qed.
End Token.

(* One step: L is the computed law of the drafts, the shares are any numbers that are not negative. *)
Section Step.
Variables (V D : vocabulary) (R : realFieldType) (u nu e kappa : R) (d : nat).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1) (nu0 : 0 <= nu) (nu1 : nu < 1) (e0 : 0 <= e) (e1 : e < 1).
Notation rounds := (Rounding.rounds u).
(* Of how often a token would be accepted: of the law, of a product, and of the sum. *)
Definition accepted_near : R := both (both e u) (growth u d).
Hypothesis a1 : accepted_near < 1.
Definition resolution_step (B : V -> R) (drafted : D -> R) (share a : D -> V -> R) (w : V -> R) : Prop :=
  exists (L : D -> R) (P : D -> V -> R) (acc sc : V -> R),
  [/\ forall S, rel e (drafted S) (L S),
      forall S y, rounds (L S * share S y) (P S y),
      forall y, within u d (sumV (P^~ y)) (acc y),
      forall y, scaled u (B y) (acc y) (sc y) /\ left_of u (B y) (acc y) (sc y) (w y)
    & forall S, sumV (fun y => `|a S y - share S y * sc y|) <= kappa].
Variables (Q : seq V -> V -> R) (spent : pred (seq V)) (key : seq V -> D) (k : nat).
Hypotheses (Q0 : forall elders x, 0 <= Q elders x) (Q1 : forall elders, ~~ spent elders -> sumV (Q elders) = 1).
Variables (b B : V -> R) (b0 : forall y, 0 <= b y) (b1 : sumV b = 1) (Bb : forall y, rel nu (b y) (B y)).
Notation drafted := (TransportRounding.drafted Q spent key k).
Lemma resolution_left (share a : D -> V -> R) w : (forall S y, 0 <= share S y) -> resolution_step B drafted share a w ->
  apart (fun y => b y - siblings Q spent k [::] (fun xs => a (key xs) y)) w
  <= resolution_off u nu accepted_near + kappa.
Proof.
move=> s0 [L [P [acc [sc [Ld LP Pa each choice]]]]].
have dr0 S := drafted_ge0 key k Q0 Q1 S.
have L0 S : 0 <= L S := still_ge0 e1 (dr0 S) (Ld S).
have B0 y : 0 <= B y := still_ge0 nu1 (b0 y) (Bb y).
pose m y := sumV (fun S => drafted S * share S y).
have m0 y : 0 <= m y by apply: sumV_ge0 => S; rewrite mulr_ge0.
have acc_near y : rel accepted_near (m y) (acc y).
  apply: (rel_trans (growth_ge0 u0 d) _ (Pa y)); rewrite /rel -sumVB -sumVZ.
  apply: le_trans (sumV_norm _) _; apply: sumV_le => S; apply: (rel_rounds u0 e0 _ _ (LP S y)); first by rewrite mulr_ge0.
  by rewrite mulrC [L S * _]mulrC; apply: rel_scale.
have E0 : 0 <= accepted_near by apply: both_ge0; [apply: both_ge0 | apply: growth_ge0].
have near y := left_of_near u0 u1 nu0 E0 a1 (b0 y) (B0 y) (m0 y) (Bb y) (acc_near y) (proj1 (each y)) (proj2 (each y)).
pose gap y := sumV (fun S => drafted S * `|a S y - share S y * sc y|).
apply: le_trans (_ : sumV (fun y => resolution_off u nu accepted_near * b y + gap y) <= _).
  apply: sumV_le => y; rewrite (siblings_key Q spent key k (a^~ y)).
  have -> : w y - (b y - sumV (fun S => drafted S * a S y))
    = (w y - (b y - m y * sc y)) + sumV (fun S => drafted S * (a S y - share S y * sc y)).
    rewrite (sumV_eq (f := fun S => drafted S * (_ - _)) (g := fun S => drafted S * a S y - drafted S * share S y * sc y)).
      by rewrite sumVB sumVZr -/(m y); ring.
    by move=> S; ring.
  have [_ hy] := near y; apply: le_trans (ler_norm_add _ _) _; apply: ler_add => //.
  apply: le_trans (sumV_norm _) _; apply: sumV_le => S; by rewrite normrM (ger0_norm (dr0 S)).
rewrite sumVD sumVZ b1 mulr1 ler_add2l.
have -> : sumV gap = sumV (fun S => drafted S * sumV (fun y => `|a S y - share S y * sc y|)).
  by rewrite /gap (sumV_eq (fun y => sumVE _)) sumV_exch sumVE; apply: eq_bigr => S _; rewrite sumVZ.
rewrite -[X in _ <= X]mul1r -(drafted_sum key k Q1) -sumVZr; apply: sumV_le => S; exact: ler_wpmul2l.
Qed.
End Step.

(* On trees, d operations at most behind the products of each depth's drafts, whose law is off by e relatively. *)
Theorem resolution_rounding (V D : vocabulary) (R : realFieldType) (Mb : model V R) (c : seq V) (u nu lambda : R)
    (d : nat -> nat) (e kappa : nat -> R) (B : seq V -> V -> R) (Q : seq V -> seq V -> V -> R) (spent : seq V -> pred (seq V))
    (key : seq V -> D) (share a : seq V -> nat -> D -> V -> R) (w row : seq V -> nat -> V -> R) (last : seq V -> V -> R)
    gamma f (g : seq V -> R) :
  0 <= u <= 1 -> 0 <= nu < 1 -> (forall i, 0 <= e i < 1) -> (forall i, accepted_near u (e i) (d i) < 1) ->
  (forall i, 0 <= kappa i) -> 0 <= lambda -> (forall s y, rel nu (Mb (c ++ s) y) (B s y)) ->
  (forall s elders x, 0 <= Q s elders x) -> (forall s elders, ~~ spent s elders -> sumV (Q s elders) = 1) ->
  (forall s k S y, 0 <= share s k S y) -> (forall s k, (0 < k <= level (size s) f)%N ->
    resolution_step u (e (size s)) (kappa (size s)) (d (size s)) (B s) (drafted (Q s) (spent s) key k) (share s k) (a s k) (w s k)) ->
  (forall s k S y, 0 <= a s k S y) -> (forall s k S, sumV (a s k S) <= 1) ->
  (forall s k, [/\ sumV (row s k) = 1, forall y, 0 <= row s k y & exists r : V -> R, [/\ sumV r = 1, forall y, 0 <= r y,
     forall y, r y * sumV (w s k) = w s k y & total_variation r (row s k) <= lambda]]) ->
  (forall s, [/\ sumV (last s) = 1, forall y, 0 <= last s y & total_variation (share_of (B s)) (last s) <= lambda]) ->
  (forall o, 0 <= g o <= 1) ->
  `|descend Q spent (taking (fun s k xs => a s k (key xs)) row) last gamma [::] f
      (fun s y => complete Mb gamma c g (rcons s y)) - gen Mb gamma.+1 c g|
  <= \sum_(i < gamma) 2%:R * (resolution_off u nu (accepted_near u (e i) (d i)) + kappa i) + (nu + lambda).
Proof.
move=> /andP[u0 u1] /andP[nu0 nu1] e01 E1 kappa0 lambda0 Bb Q0 Q1 share0 made a0 a1 rows lasts g01.
apply: (@transport_rounding V R Mb c nu lambda nu0 Q spent Q0 Q1 (fun s k xs => a s k (key xs)) w row last
  _ _ rows _ gamma f (fun i => 2%:R * (resolution_off u nu (accepted_near u (e i) (d i)) + kappa i))) => //.
- move=> s; have [l1 l0 ll] := lasts s; have [b0 near tv] := given_share nu1 Bb s; split=> //.
  by apply: le_trans (tv_triangle _ (share_of (B s)) _) _; apply: ler_add.
- move=> i; have /andP[e0 _] := e01 i; rewrite mulr_ge0 ?ler0n //; apply: addr_ge0 => //; apply: resolution_off_ge0 => //.
  by apply: both_ge0; [apply: both_ge0 | apply: growth_ge0].
move=> s k le; apply: ler_wpmul2l; first exact: ler0n.
have /andP[e0 e1] := e01 (size s).
exact: (resolution_left u0 u1 nu0 nu1 e0 e1 (E1 _) (Q0 s) (@Q1 s) (row_ge0 Mb (c ++ s)) (row_sum Mb (c ++ s)) (Bb s)
  (share0 s k) (made s k le)).
Qed.
