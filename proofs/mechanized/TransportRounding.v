(* Transports of drafts to tokens computed in floating point: the plan is made by augmentations, each of which adds to and
   subtracts from what is moved, supplied and left by one operation a number; a share is what is moved from some drafts
   over all that these have, and the last token is drawn from what is left.  What is assumed is the standard model. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum zify.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Models Algorithms Verifier Block SubBlocks Precision Rounding BlockRounding ProblemRounding SeveralDrafts TreeRounding SiblingRounding Descent DescentRounding KSeqStep.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section Plan.
Variables (V D : vocabulary) (R : realFieldType) (u : R).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1).
Notation rounds := (Rounding.rounds u).
Implicit Types (S : D) (y : V) (L supply : D -> R) (B room : V -> R) (moved flow : D -> V -> R).
(* After m augmentations, from nothing moved: flow is what one of them moves more (or back), in exact numbers of which
   none becomes negative; each number it changes is computed by one operation. *)
Fixpoint plan_after m L B moved supply room : Prop :=
  if m is m'.+1 then exists moved' supply' room' flow,
    [/\ plan_after m' L B moved' supply' room',
        forall S y, 0 <= moved' S y + flow S y /\ rounds (moved' S y + flow S y) (moved S y),
        forall S, 0 <= supply' S - sumV (flow S) /\ rounds (supply' S - sumV (flow S)) (supply S)
      & forall y, 0 <= room' y - sumV (flow^~ y) /\ rounds (room' y - sumV (flow^~ y)) (room y)]
  else [/\ forall S y, moved S y = 0, forall S, supply S = L S & forall y, room y = B y].
Definition supplied supply moved S : R := supply S + sumV (moved S).
Definition given_out room moved y : R := room y + sumV (moved^~ y).

Lemma sum_rounds (W : vocabulary) (a : R) (f : W -> R) a' (f' : W -> R) : 0 <= a -> (forall z, 0 <= f z) -> rounds a a' ->
  (forall z, rounds (f z) (f' z)) -> [/\ 0 <= a' + sumV f' & within u 1 (a + sumV f) (a' + sumV f')].
Proof.
move=> a0 f0 ra rf; split.
  by apply: addr_ge0; [exact: rounds_ge0 ra | apply: sumV_ge0 => z; apply: rounds_ge0 (rf z)].
rewrite /within growth1; have -> : a' + sumV f' - (a + sumV f) = (a' - a) + sumV (fun z => f' z - f z) by rewrite sumVB; ring.
apply: le_trans (ler_norm_add _ _) _; rewrite mulrDr; apply: ler_add; first by rewrite -{2}(ger0_norm a0).
apply: le_trans (sumV_norm _) _; rewrite -sumVZ; apply: sumV_le => z; rewrite -{2}(ger0_norm (f0 z)); exact: rf.
Qed.
(* What tokens and drafts have in all stays what it was, within m operations. *)
Theorem plan_near m L B moved supply room : (forall S, 0 <= L S) -> (forall y, 0 <= B y) ->
  plan_after m L B moved supply room ->
  [/\ forall S y, 0 <= moved S y, forall y, 0 <= room y, forall S, 0 <= supply S,
      forall S, within u m (L S) (supplied supply moved S) & forall y, within u m (B y) (given_out room moved y)].
Proof.
move=> L0 B0; elim: m moved supply room => [|m IH] moved supply room /=.
  move=> [m0 sL rB]; split=> [S y|y|S|S|y]; rewrite ?m0 ?sL ?rB //.
    by rewrite /supplied sL (sumV_eq (m0 S)) sumV0 addr0 /within growth0 subrr normr0 mul0r.
  by rewrite /given_out rB (sumV_eq (m0^~ y)) sumV0 addr0 /within growth0 subrr normr0 mul0r.
move=> [moved' [supply' [room' [flow [/IH[m'0 r'0 s'0 Ls Br] hm hs hr]]]]].
split=> [S y|y|S|S|y].
- by have [f0 hf] := hm S y; apply: rounds_ge0 hf.
- by have [f0 hf] := hr y; apply: rounds_ge0 hf.
- by have [f0 hf] := hs S; apply: rounds_ge0 hf.
- have [f0 hf] := hs S; have [_ one] := sum_rounds f0 (fun y => proj1 (hm S y)) hf (fun y => proj2 (hm S y)).
  rewrite -addn1; apply: (within_trans u0 _ (Ls S)); first by apply: addr_ge0 => //; apply: sumV_ge0.
  have -> : supplied supply' moved' S = supply' S - sumV (flow S) + sumV (fun y => moved' S y + flow S y).
    by rewrite /supplied sumVD; ring.
  exact: one.
have [f0 hf] := hr y; have [_ one] := sum_rounds f0 (fun S => proj1 (hm S y)) hf (fun S => proj2 (hm S y)).
rewrite -addn1; apply: (within_trans u0 _ (Br y)); first by apply: addr_ge0 => //; apply: sumV_ge0.
have -> : given_out room' moved' y = room' y - sumV (flow^~ y) + sumV (fun S => moved' S y + flow S y).
  by rewrite /given_out sumVD; ring.
exact: one.
Qed.

(* Numbers of sum 1 at most, off by nu relatively, after m operations more. *)
Lemma changed_near (W : vocabulary) (f f1 f2 : W -> R) nu m : 0 <= nu -> sumV f <= 1 -> (forall z, rel nu (f z) (f1 z)) ->
  (forall z, within u m (f1 z) (f2 z)) -> sumV (fun z => `|f2 z - f z|) <= both nu (growth u m).
Proof.
move=> nu0 one near1 near2; have g0 := growth_ge0 u0 m.
have all : apart f f1 <= nu.
  by apply: le_trans (_ : nu * sumV f <= _); [rewrite -sumVZ; apply: sumV_le => z; apply: near1 | rewrite ler_pimulr].
have f1_1 : sumV f1 <= 1 + nu.
  apply: le_trans (_ : sumV f + nu <= _); last by rewrite ler_add2r.
  by rewrite -ler_subl_addl; apply: le_trans (ler_norm _) _; apply: le_trans (apart_sum _ _) all.
apply: le_trans (_ : growth u m * sumV f1 + nu <= _); last first.
  have -> : both nu (growth u m) = growth u m * (1 + nu) + nu by rewrite /both; ring.
  by rewrite ler_add2r ler_wpmul2l.
apply: le_trans (ler_add (lexx _) all); rewrite /apart -sumVZ -sumVD; apply: sumV_le => z.
have -> : f2 z - f z = (f2 z - f1 z) + (f1 z - f z) by ring.
by apply: le_trans (ler_norm_add _ _) _; rewrite ler_add2r; apply: near2.
Qed.

(* The law of the drafts that k siblings are, of which key tells one from another. *)
Variables (Q : seq V -> V -> R) (spent : pred (seq V)) (key : seq V -> D) (k : nat).
Hypotheses (Q0 : forall elders x, 0 <= Q elders x) (Q1 : forall elders, ~~ spent elders -> sumV (Q elders) = 1).
Definition drafted S : R := siblings Q spent k [::] (fun xs => (key xs == S)%:R).
Lemma siblings_over j elders (F : seq V -> D -> R) :
  siblings Q spent j elders (fun xs => sumV (F xs)) = sumV (fun S => siblings Q spent j elders (F^~ S)).
Proof.
elim: j elders F => [|j IH] elders F //=; case: ifP => // _.
rewrite /draw (sumVE (fun S : D => sumV _)) -(big_enum _ predT) -sumV_exch; apply: sumV_eq => x.
by rewrite IH sumVE mulr_sumr -(big_enum _ predT).
Qed.
Lemma drafted_ge0 S : 0 <= drafted S.
Proof.
rewrite /drafted -[X in X <= _](siblings_const Q1 k [::]); apply: siblings_le => // xs _; exact: ler0n.
Qed.
Lemma siblings_key (f : D -> R) : siblings Q spent k [::] (fun xs => f (key xs)) = sumV (fun S => drafted S * f S).
Proof.
rewrite (siblings_eq _ _ _ _ (G := fun xs => sumV (fun S => (key xs == S)%:R * f S))) => [|xs]; last first.
  by rewrite (sumV_eq (g := fun S => (S == key xs)%:R * f S)) ?sumV_delta // => S; rewrite eq_sym.
rewrite siblings_over; apply: sumV_eq => S.
rewrite (siblings_eq _ _ _ _ (G := fun xs => f S * (key xs == S)%:R)) => [|xs]; last exact: mulrC.
by rewrite siblingsZ mulrC.
Qed.
Lemma drafted_sum : sumV drafted = 1.
Proof.
rewrite -[RHS](siblings_const Q1 k [::]) (siblings_key (fun=> 1)); apply: sumV_eq => S; by rewrite mulr1.
Qed.

(* What a transport of these shares leaves of the target, and what the computed plan says is left. *)
Variables (nu e kappa : R) (b B : V -> R) (m : nat).
Hypotheses (nu0 : 0 <= nu) (nu1 : nu < 1) (e0 : 0 <= e) (e1 : e < 1) (b0 : forall y, 0 <= b y) (b1 : sumV b <= 1).
Hypothesis Bb : forall y, rel nu (b y) (B y).
Variables (L supply : D -> R) (moved a : D -> V -> R) (room : V -> R).
Hypotheses (Le : forall S, rel e (drafted S) (L S)) (made : plan_after m L B moved supply room).
(* The choice among some drafts, or none of them, has the weights of the plan, up to kappa. *)
Definition chosen_by_the_plan S : Prop := exists share : V -> R, [/\ forall y, 0 <= share y, sumV share <= 1,
  forall y, share y * supplied supply moved S = moved S y & sumV (fun y => `|a S y - share y|) <= kappa].
Hypothesis choices : forall S, chosen_by_the_plan S.
Definition plan_off : R := both nu (growth u m) + both e (growth u m) + kappa.
Lemma left_near : apart (fun y => b y - siblings Q spent k [::] (fun xs => a (key xs) y)) room <= plan_off.
Proof.
have L0 S : 0 <= L S := given_ge0 e1 (drafted_ge0 S) (Le S).
have B0 y : 0 <= B y := given_ge0 nu1 (b0 y) (Bb y).
have [m0 r0 s0 Ls Br] := plan_near L0 B0 made.
have [share choice] := fin_all_exists choices.
have Bo := changed_near nu0 b1 Bb Br.
have one : sumV drafted <= 1 by rewrite drafted_sum.
have Lo := changed_near e0 one Le Ls.
pose gap y := sumV (fun S => drafted S * `|a S y - share S y| + share S y * `|supplied supply moved S - drafted S|).
apply: le_trans (_ : sumV (fun y => `|given_out room moved y - b y| + gap y) <= _).
  apply: sumV_le => y; rewrite (siblings_key (a^~ y)).
  have -> : room y - (b y - sumV (fun S => drafted S * a S y))
    = (given_out room moved y - b y) + sumV (fun S => drafted S * (a S y - share S y) - share S y * (supplied supply moved S - drafted S)).
    rewrite sumVB (sumV_eq (f := fun S => share S y * _) (g := fun S => moved S y - drafted S * share S y)).
      by rewrite (sumV_eq (fun S => mulrBr (drafted S) _ _)) !sumVB /given_out; ring.
    by move=> S; have [_ _ e' _] := choice S; rewrite mulrBr e' [share S y * _]mulrC.
  apply: le_trans (ler_norm_add _ _) _; rewrite ler_add2l; apply: le_trans (sumV_norm _) _; apply: sumV_le => S.
  have [sh0 _ _ _] := choice S; apply: le_trans (ler_norm_sub _ _) _.
  by rewrite !normrM (ger0_norm (drafted_ge0 S)) (ger0_norm (sh0 y)).
rewrite sumVD /plan_off -addrA; apply: ler_add => //.
have -> : sumV gap = sumV (fun S => drafted S * sumV (fun y => `|a S y - share S y|)
    + sumV (share S) * `|supplied supply moved S - drafted S|).
  rewrite /gap (sumV_eq (fun y => sumVE _)) sumV_exch sumVE; apply: eq_bigr => S _.
  by rewrite sumVD sumVZ sumVZr.
rewrite sumVD addrC; apply: ler_add.
  apply: le_trans Lo; apply: sumV_le => S; have [_ s1 _ _] := choice S; exact: ler_pimull.
rewrite -[X in _ <= X]mul1r -drafted_sum -sumVZr; apply: sumV_le => S; have [_ _ _ near] := choice S.
by apply: ler_wpmul2l => //; apply: drafted_ge0.
Qed.
End Plan.

(* On trees, with m augmentations at most for the siblings at each depth, and laws of drafts off by e relatively: fewer
   augmentations are more of which some move nothing. *)
Theorem transport_plan_rounding (V D : vocabulary) (R : realFieldType) (Mb : model V R) (c : seq V) (u nu kappa lambda : R)
    (m : nat -> nat) (e : nat -> R) (B : seq V -> V -> R) (Q : seq V -> seq V -> V -> R) (spent : seq V -> pred (seq V))
    (key : seq V -> D) (L supply : seq V -> nat -> D -> R) (moved a : seq V -> nat -> D -> V -> R)
    (room row : seq V -> nat -> V -> R) (last : seq V -> V -> R) gamma f (g : seq V -> R) :
  0 <= u <= 1 -> 0 <= nu < 1 -> (forall i, 0 <= e i < 1) -> 0 <= kappa -> 0 <= lambda ->
  (forall s y, rel nu (Mb (c ++ s) y) (B s y)) ->
  (forall s elders x, 0 <= Q s elders x) -> (forall s elders, ~~ spent s elders -> sumV (Q s elders) = 1) ->
  (forall s k, (0 < k <= level (size s) f)%N ->
    [/\ forall S, rel (e (size s)) (drafted (Q s) (spent s) key k S) (L s k S),
        plan_after u (m (size s)) (L s k) (B s) (moved s k) (supply s k) (room s k)
      & forall S, chosen_by_the_plan kappa (supply s k) (moved s k) (a s k) S]) ->
  (forall s k S y, 0 <= a s k S y) -> (forall s k S, sumV (a s k S) <= 1) ->
  (forall s k, [/\ sumV (row s k) = 1, forall y, 0 <= row s k y & exists r : V -> R, [/\ sumV r = 1, forall y, 0 <= r y,
     forall y, r y * sumV (room s k) = room s k y & total_variation r (row s k) <= lambda]]) ->
  (forall s, [/\ sumV (last s) = 1, forall y, 0 <= last s y & total_variation (share_of (B s)) (last s) <= lambda]) ->
  (forall o, 0 <= g o <= 1) ->
  `|descend Q spent (taking (fun s k xs => a s k (key xs)) row) last gamma [::] f
      (fun s y => complete Mb gamma c g (rcons s y)) - gen Mb gamma.+1 c g|
  <= \sum_(i < gamma) 2%:R * plan_off u nu (e i) kappa (m i) + (nu + lambda).
Proof.
move=> /andP[u0 u1] /andP[nu0 nu1] e01 kappa0 lambda0 Bb Q0 Q1 made a0 a1 rows lasts g01.
apply: (@transport_rounding V R Mb c nu lambda nu0 Q spent Q0 Q1 (fun s k xs => a s k (key xs)) room row last
  _ _ rows _ gamma f (fun i => 2%:R * plan_off u nu (e i) kappa (m i))) => //.
- move=> s; have [l1 l0 ll] := lasts s; have [b0 near tv] := given_share nu1 Bb s; split=> //.
  by apply: le_trans (tv_triangle _ (share_of (B s)) _) _; apply: ler_add.
- move=> i; have /andP[e0 _] := e01 i; have n0 := growth_ge0 u0 (m i).
  rewrite mulr_ge0 ?ler0n //; apply: addr_ge0 => //; apply: addr_ge0; exact: both_ge0.
move=> s k le; apply: ler_wpmul2l; first exact: ler0n.
have [Le plan choices] := made s k le; have /andP[e0 e1] := e01 (size s).
have one : sumV (Mb (c ++ s)) <= 1 by rewrite row_sum.
exact: (left_near u0 u1 (Q0 s) (@Q1 s) nu0 nu1 e0 e1 (row_ge0 Mb (c ++ s)) one (Bb s) Le plan choices).
Qed.
