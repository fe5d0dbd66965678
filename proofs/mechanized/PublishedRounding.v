(* Hierarchical speculative decoding as published, against itself in floating point: the whole draft is accepted by its joint
   ratio, more often than what is lossless, and everything else as by the capped rule.  What is assumed is the standard model
   of Rounding.v. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum zify.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Models Algorithms Verifier Block Greedy SubBlocks Precision Rounding BlockRounding ProblemRounding GreedyRounding PathRounding.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

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
