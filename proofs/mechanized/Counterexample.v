(* The models on which sure_bonus decodes more than block verification, for every gamma >= 2.
   The first d tokens: nothing in common.  Then gamma tokens of which both are sure; a coin of the
   large model, false with probability t, that the small model does not see; after true nothing in
   common, ever; after false a token of which only the large model is sure, then again tokens of
   which both are, but for one, at d + 2 gamma, where they are sure of different ones.  Block
   verification takes the coin as its bonus and can be unlucky afterwards; sure_bonus stops before
   it, and what is lost on the coin is won back behind it. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum zify.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Models Algorithms Verifier Block Evaluate Recursion Iterations.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

(* N(n), in expectation from the empty context. *)
Definition tokens_after (V : vocabulary) (R : realFieldType) (Ms : model V R) gamma W n : R :=
  specdec Ms gamma W n [::] (fun s => (size s)%:R).

(* A model over two tokens from the probability of true at each context. *)
Definition coin_model (R : realFieldType) (f : seq bool -> R) (f01 : forall c, 0 <= f c <= 1) : model two R.
Proof.
exists (fun c x => if x then f c else 1 - f c) => [c [] | c].
- by case/andP: (f01 c).
- by rewrite subr_ge0; case/andP: (f01 c).
- by rewrite sumV_two addrC subrK.
Defined.

Section Pair.
Variables (R : realFieldType) (t : R) (d g : nat).
Hypothesis t01 : 0 < t < 1.
Hypothesis g2 : (1 < g)%N.
Implicit Types (c : seq bool) (F : seq bool -> R).

Definition pair_b_true c : R :=
  if (size c < d)%N then 1 else if (size c < d + g)%N then 0 else if size c == (d + g)%N then 1 - t
  else if nth false c (d + g) then 1 else (size c == d + g + g)%N%:R.
Definition pair_s_true c : R := if (size c == d + g.+1)%N && ~~ nth false c (d + g) then 1 - t else 0.
Lemma coin01 : 0 <= 1 - t <= 1.
Proof. by case/andP: t01 => t0 t1; rewrite subr_ge0 ltW //= ler_subl_addr ler_addl ltW. Qed.
Lemma pair_b01 c : 0 <= pair_b_true c <= 1.
Proof.
rewrite /pair_b_true; do 3 (case: ifP => _; first by rewrite ?coin01 ?lexx ?ler01).
by case: ifP => _; rewrite ?ler0n ?lern1 ?lexx ?ler01 //; case: eqP.
Qed.
Lemma pair_s01 c : 0 <= pair_s_true c <= 1.
Proof. by rewrite /pair_s_true; case: ifP => _; rewrite ?coin01 ?lexx ?ler01. Qed.
Definition pair_b : model two R := coin_model pair_b01.
Definition pair_s : model two R := coin_model pair_s01.
Notation Phi G F := (phi pair_b pair_s G F).

Lemma t_gt0 : 0 < t. Proof. by case/andP: t01. Qed.
Lemma t_lt1 : t < 1. Proof. by case/andP: t01. Qed.
Hint Resolve t_gt0 t_lt1 : core.

(* What a context is: its length, and the coin's outcome (false before it is tossed). *)
Definition at_ i (coin : bool) c : bool := (size c == i) && (nth false c (d + g) == coin).
Lemma at_size i c : size c = i -> (i <= d + g)%N -> at_ i false c.
Proof. by move=> e le; rewrite /at_ e eqxx nth_default ?e. Qed.
Lemma at_before i c y : at_ i false c -> (i < d + g)%N -> at_ i.+1 false (rcons c y).
Proof. by move=> /andP[/eqP e _] lt; apply: at_size; rewrite ?size_rcons ?e. Qed.
Lemma at_coin c y : at_ (d + g)%N false c -> at_ (d + g.+1)%N y (rcons c y).
Proof. by move=> /andP[/eqP e _]; rewrite /at_ size_rcons nth_rcons e ltnn !eqxx addnS eqxx. Qed.
Lemma at_after i coin c y : at_ i coin c -> (d + g < i)%N -> at_ i.+1 coin (rcons c y).
Proof.
by move=> /andP[/eqP e n] lt; rewrite /at_ size_rcons e eqxx nth_rcons e lt. Qed.

(* One draft token. *)
Lemma phiS G F k c p : Phi G F k.+1 c p =
  pair_s c true * Phi G F k (rcons c true) (next_p (pair_b c) (pair_s c) p true)
    + over (pair_b c) (pair_s c) p true * F (rcons c true)
  + (pair_s c false * Phi G F k (rcons c false) (next_p (pair_b c) (pair_s c) p false)
    + over (pair_b c) (pair_s c) p false * F (rcons c false)).
Proof. by rewrite /= sumV_two. Qed.
Lemma max0 : Num.max (0 : R) 0 = 0. Proof. by rewrite max_l. Qed.
(* Both sure of false. *)
Lemma phi_same G F k c p : 0 <= p <= 1 -> pair_b_true c = 0 -> pair_s_true c = 0 ->
  Phi G F k.+1 c p = Phi G F k (rcons c false) p.
Proof.
move=> /andP[p0 p1] eb es; rewrite phiS /over /next_p /= eb es !(mulr0, subr0, mul0r, mulr1, divr1, mul1r).
by rewrite min_l // max0 [Num.max (p - 1) 0]max_r ?subr_le0 // !mul0r !addr0 add0r.
Qed.
(* Nothing in common: the large model is sure of true, the small one of false. *)
Lemma phi_apart G F k c p : 0 <= p -> pair_b_true c = 1 -> pair_s_true c = 0 ->
  Phi G F k.+1 c p = p * F (rcons c true).
Proof.
move=> p0 eb es; rewrite phiS /over /next_p /= eb es !(subrr, mulr0, subr0, mul0r, mulr1, divr1, mul1r).
by rewrite [Num.min 0 1]min_l ?ler01 // phi0 max_l // sub0r [Num.max (- 1) 0]max_r ?oppr_le0 ?ler01 // mul0r !addr0 add0r.
Qed.
(* The coin, and the token after false. *)
Lemma phi_coin G F k c : pair_b_true c = 1 - t -> pair_s_true c = 0 ->
  Phi G F k.+1 c 1 = Phi G F k (rcons c false) t + (1 - t) * F (rcons c true).
Proof.
move=> eb es; rewrite phiS /over /next_p /= eb es opprB [1 + (t - 1)]addrC subrK.
rewrite !(subr0, mul0r, mul1r, divr1) min_l ?ltW // [Num.max (1 - t) _]max_l ?subr_ge0 ?ltW //.
by rewrite max_r ?subr_le0 ?ltW // mul0r addr0 add0r addrC.
Qed.
Lemma phi_unsure G F k c p : t <= p -> pair_b_true c = 0 -> pair_s_true c = 1 - t ->
  Phi G F k.+1 c p = t * Phi G F k (rcons c false) 1 + (p - t) * F (rcons c false).
Proof.
move=> tp eb es; rewrite phiS /over /next_p /= eb es opprB [1 + (t - 1)]addrC subrK.
rewrite !(subr0, mulr0, mul0r, mulr1, add0r) [Num.min 0 1]min_l ?ler01 // phi0 mulr0.
rewrite [Num.max (t - 1) 0]max_r ?subr_le0 ?ltW // mul0r !add0r.
by rewrite min_r ?ler_pdivl_mulr ?mul1r // max_l ?subr_ge0.
Qed.

(* The rows, by position and coin. *)
Lemma b_apart0 c : (size c < d)%N -> pair_b_true c = 1. Proof. by rewrite /pair_b_true => ->. Qed.
Lemma s_early c : (size c < d + g.+1)%N -> pair_s_true c = 0.
Proof. by rewrite /pair_s_true => lt; rewrite ltn_eqF. Qed.
Lemma b_sure i c : at_ i false c -> (d <= i < d + g)%N || (d + g < i)%N && (i != d + g + g)%N -> pair_b_true c = 0.
Proof.
move=> /andP[/eqP e /eqP n] h; rewrite /pair_b_true n e.
have -> : (i < d)%N = false by lia.
have [//|ge] := ltnP i (d + g); have -> : (i == d + g)%N = false by lia.
by have -> : (i == d + g + g)%N = false by lia.
Qed.
Lemma s_sure i c : at_ i false c -> i != (d + g.+1)%N -> pair_s_true c = 0.
Proof. by move=> /andP[/eqP e _] ne; rewrite /pair_s_true e (negPf ne). Qed.
Lemma b_coin c : at_ (d + g)%N false c -> pair_b_true c = 1 - t.
Proof. by move=> /andP[/eqP e _]; rewrite /pair_b_true e ltnn eqxx ltnNge leq_addr. Qed.
Lemma b_dead i c : at_ i true c -> (d + g < i)%N -> pair_b_true c = 1 /\ pair_s_true c = 0.
Proof.
move=> /andP[/eqP e /eqP n] lt; rewrite /pair_b_true /pair_s_true n e andbF.
have -> : (i < d)%N = false by lia.
by have [/ltn_geF|] := ltnP i (d + g); rewrite ?(ltnW lt) ?(gtn_eqF lt).
Qed.
Lemma b_unsure c : at_ (d + g.+1)%N false c -> pair_b_true c = 0 /\ pair_s_true c = 1 - t.
Proof.
move=> a; split; first by apply: (b_sure a); lia.
by case/andP: a => /eqP e /eqP n; rewrite /pair_s_true e eqxx n.
Qed.
Lemma b_other c : at_ (d + g + g)%N false c -> pair_b_true c = 1 /\ pair_s_true c = 0.
Proof.
move=> a; split; last by apply: (s_sure a); lia.
case/andP: a => /eqP e /eqP n; rewrite /pair_b_true n e eqxx.
have -> : (d + g + g < d)%N = false by lia.
have -> : (d + g + g < d + g)%N = false by lia.
by have -> : (d + g + g == d + g)%N = false by lia.
Qed.

(* A run of k tokens of which both are sure. *)
Lemma run_before G F k m c p v : 0 <= p <= 1 -> (d <= size c)%N -> (size c + k <= d + g)%N ->
  (forall c', size c' = (size c + k)%N -> Phi G F m c' p = v) -> Phi G F (k + m) c p = v.
Proof.
move=> p01; elim: k c => [|k IH] c le1 le2 e; first by rewrite add0n; apply: e; rewrite addn0.
rewrite addSn phi_same // ?(@b_sure (size c)) ?at_size ?s_early //; try lia.
by apply: IH; rewrite ?size_rcons; try lia; move=> c' hc; apply: e; lia.
Qed.
Lemma run_after G F k m i c p v : 0 <= p <= 1 -> at_ i false c -> (d + g.+1 < i)%N ->
  (i + k <= d + g + g)%N || (d + g + g < i)%N ->
  (forall c', at_ (i + k)%N false c' -> Phi G F m c' p = v) -> Phi G F (k + m) c p = v.
Proof.
move=> p01; elim: k i c => [|k IH] i c a lt le e; first by rewrite add0n; apply: e; rewrite addn0.
rewrite addSn phi_same ?(b_sure a) ?(s_sure a) //; try lia.
by apply: (IH i.+1); rewrite ?at_after //; try lia; move=> c' hc; apply: e; rewrite addnS -addSn.
Qed.

(* What block verification and sure_bonus have in common: val is E N(n) from a context on, G what a
   fully accepted draft is worth. *)
Section Value.
Variables (val G : nat -> seq bool -> R).
Hypothesis val0 : forall c, val 0%N c = (size c)%:R.
Hypothesis valS : forall n c, val n.+1 c = Phi (G n) (val n) g c 1.
Hypothesis G_true : forall n c, pair_b_true c = 1 -> G n c = val n (rcons c true).
Hypothesis G_false : forall n c, pair_b_true c = 0 -> G n c = val n (rcons c false).
Let u : 0 <= (1 : R) <= 1. Proof. by rewrite ler01 lexx. Qed.
Let gE : g = g.-2.+2. Proof. by case: (g) g2 => [|[]]. Qed.

Lemma val_apart n c : pair_b_true c = 1 -> pair_s_true c = 0 -> val n.+1 c = val n (rcons c true).
Proof. by move=> eb es; rewrite valS gE phi_apart ?ler01 // mul1r. Qed.
Lemma val_dead n i c : at_ i true c -> (d + g < i)%N -> val n c = (i + n)%:R.
Proof.
elim: n i c => [|n IH] i c a lt; first by rewrite val0 addn0; case/andP: a => /eqP ->.
by have [eb es] := b_dead a lt; rewrite val_apart // (IH i.+1) ?at_after ?(leqW lt) // addnS.
Qed.
Lemma val_before m n c v : (size c + m = d)%N -> (forall c', size c' = d -> val n c' = v) -> val (m + n) c = v.
Proof.
move=> + e; elim: m c => [|m IH] c hc; first by apply: e; rewrite -hc addn0.
rewrite addSn val_apart ?b_apart0 ?s_early //; try lia.
by apply: IH; rewrite size_rcons -hc addSnnS.
Qed.
Lemma val_start n c v : size c = d -> (forall c', size c' = (d + g)%N -> G n c' = v) -> val n.+1 c = v.
Proof.
move=> hc e; rewrite valS -[X in phi _ _ _ _ X]addn0; apply: run_before; rewrite ?hc // => c' hc'.
by rewrite /= mul1r; apply: e.
Qed.
Lemma phi_end k n c x : (k <= 1)%N -> at_ (d + g.+2)%N false c ->
  (forall c', at_ (d + g + g).+1 false c' -> val n c' = x) -> Phi (G n) (val n) (g.-2 + k) c 1 = x.
Proof.
move=> k1 a e; apply: (run_after (i := (d + g.+2)%N)) => //; try lia.
move=> c' a'; have {}a' : at_ (d + g + g)%N false c'.
  by move: a'; rewrite (_ : (d + g.+2 + g.-2 = d + g + g)%N) //; move: gE; lia.
have [eb es] := b_other a'; have e1 : val n (rcons c' true) = x by apply: e; apply: at_after a' _; lia.
by case: k k1 => [|[|]] // _; [rewrite /= mul1r G_true | rewrite phi_apart ?ler01 // mul1r].
Qed.
Lemma val_unsure n c x : at_ (d + g.+1)%N false c -> (forall c', at_ (d + g + g).+1 false c' -> val n c' = x) ->
  val n.+1 c = t * x + (1 - t) * val n (rcons c false).
Proof.
move=> a e; have [eb es] := b_unsure a; rewrite valS [X in phi _ _ _ _ X]gE phi_unsure ?ltW //.
by rewrite -addn1 (phi_end _ _ e) // addnS; apply: at_after a _; lia.
Qed.
Lemma val_coin n c x : at_ (d + g)%N false c -> (forall c', at_ (d + g + g).+1 false c' -> val n c' = x) ->
  val n.+1 c = t * x + (1 - t) * (d + g.+1 + n)%:R.
Proof.
move=> a e; rewrite valS [X in phi _ _ _ _ X]gE phi_coin ?(b_coin a) ?s_early //; last first.
  by case/andP: a => /eqP -> _; lia.
rewrite (@val_dead n (d + g.+1)%N) ?at_coin //; try lia.
have a' : at_ (d + g.+1)%N false (rcons c false) by apply: at_coin.
have [eb es] := b_unsure a'; rewrite phi_unsure // subrr mul0r addr0.
by rewrite -[g.-2]addn0 (phi_end _ _ e) // addnS; apply: at_after a' _; lia.
Qed.
Lemma val_free c : at_ (d + g + g).+1 false c -> val 1%N c = ((d + g + g).+2 + g)%:R.
Proof.
move=> a; rewrite valS -[X in phi _ _ _ _ X]addn0; apply: (run_after u a); try lia.
move=> c' a'; rewrite /= mul1r G_false ?val0 ?size_rcons; first by case/andP: a' => /eqP -> _.
by apply: (b_sure a'); lia.
Qed.
Lemma val0_at i coin c : at_ i coin c -> val 0%N c = i%:R.
Proof. by case/andP => /eqP <- _. Qed.
End Value.

Definition value (W : verifier two R) n c : R := specdec pair_s g W n c (fun s => (size s)%:R).
Notation blk := (value (block_verify pair_b pair_s)).
Notation sb := (value (sure_bonus pair_b pair_s)).
Lemma next_true F c : pair_b_true c = 1 -> next pair_b F c = F (rcons c true).
Proof. by move=> e; rewrite /next sumV_two /= e subrr mul1r mul0r addr0. Qed.
Lemma next_false F c : pair_b_true c = 0 -> next pair_b F c = F (rcons c false).
Proof. by move=> e; rewrite /next sumV_two /= e subr0 mul1r mul0r add0r. Qed.
Lemma sureE c : sure (pair_b c) = (pair_b_true c == 1) || (pair_b_true c == 0).
Proof. by rewrite /sure /= orbF -[1 - _ == 1]subr_eq0 addrAC subrr sub0r oppr_eq0. Qed.
Lemma blkS n c : blk n.+1 c = Phi (next pair_b (blk n)) (blk n) g c 1.
Proof. exact: block_stepE. Qed.
Lemma sbS n c : sb n.+1 c = Phi (bonus pair_b (sb n)) (sb n) g c 1.
Proof. by apply: sure_bonus_stepE; apply: ltnW. Qed.
Lemma bonus_true n c : pair_b_true c = 1 -> bonus pair_b (sb n) c = sb n (rcons c true).
Proof. by move=> e; rewrite /bonus sureE e eqxx next_true. Qed.
Lemma bonus_false n c : pair_b_true c = 0 -> bonus pair_b (sb n) c = sb n (rcons c false).
Proof. by move=> e; rewrite /bonus sureE e eqxx orbT next_false. Qed.
Lemma bonus_coin n c : at_ (d + g)%N false c -> bonus pair_b (sb n) c = sb n c.
Proof.
move=> a; rewrite /bonus sureE (b_coin a) -subr_eq0 addrAC subrr sub0r oppr_eq0 gt_eqF //=.
by rewrite subr_eq0 gt_eqF.
Qed.
Let b0 c : blk 0 c = (size c)%:R. Proof. by []. Qed.
Let s0 c : sb 0 c = (size c)%:R. Proof. by []. Qed.
Let blkT n c : pair_b_true c = 1 -> next pair_b (blk n) c = blk n (rcons c true). Proof. exact: next_true. Qed.
Let blkF n c : pair_b_true c = 0 -> next pair_b (blk n) c = blk n (rcons c false). Proof. exact: next_false. Qed.
Lemma next_coin n c : at_ (d + g)%N false c ->
  next pair_b (blk n) c = (1 - t) * (d + g.+1 + n)%:R + t * blk n (rcons c false).
Proof.
move=> a; rewrite /next sumV_two /= (b_coin a) opprB addrCA subrr addr0.
by rewrite (val_dead b0 blkS n (at_coin true a)) // ltn_add2l.
Qed.

(* d + 2 iterations, and d + 3 where gamma = 2. *)
Lemma block_2 : tokens_after pair_s g (block_verify pair_b pair_s) (d + 2) = (d + g + 2)%:R + g.-1%:R * t ^+ 2.
Proof.
apply: (@val_before blk _ blkS d 2 [::]) => // c hc.
apply: (@val_start blk _ blkS 1 c _ hc) => c' hc'; have a := at_size hc' (leqnn _).
have a' := at_coin false a; have a2 := at_after false a' (_ : d + g < d + g.+1)%N.
rewrite next_coin // (val_unsure blkS blkT a' (fun c e => val0_at b0 e)) (val0_at b0 (a2 _)); last lia.
by move: g2; case: (g) => [|[|m]] // _; rewrite [m.+2.-1]/=; ring.
Qed.
Lemma sure_bonus_2 : tokens_after pair_s g (sure_bonus pair_b pair_s) (d + 2) = (d + g + 1)%:R + g%:R * t.
Proof.
apply: (@val_before sb _ sbS d 2 [::]) => // c hc.
apply: (@val_start sb _ sbS 1 c _ hc) => c' hc'; have a := at_size hc' (leqnn _).
rewrite bonus_coin // (val_coin s0 sbS bonus_true a (fun c e => val0_at s0 e)); ring.
Qed.
Lemma block_3 : g = 2%N -> tokens_after pair_s g (block_verify pair_b pair_s) (d + 3) = (d + 5)%:R + 3%:R * t ^+ 2.
Proof.
move=> e2; apply: (@val_before blk _ blkS d 3 [::]) => // c hc.
apply: (@val_start blk _ blkS 2 c _ hc) => c' hc'; have a := at_size hc' (leqnn _).
have a' := at_coin false a; have a2 := at_after false a' (_ : d + g < d + g.+1)%N.
rewrite next_coin // (val_unsure blkS blkT a' (val_free b0 blkS blkF)).
have a3 : at_ (d + g + g)%N false (rcons (rcons c' false) false).
  by rewrite (_ : (d + g + g = (d + g.+1).+1)%N) ?a2 //; lia.
have [eb es] := b_other a3; rewrite (val_apart blkS) // (val0_at b0 (at_after true a3 _)); last lia.
by rewrite e2; ring.
Qed.
Lemma sure_bonus_3 : g = 2%N -> tokens_after pair_s g (sure_bonus pair_b pair_s) (d + 3) = (d + 4)%:R + 4%:R * t.
Proof.
move=> e2; apply: (@val_before sb _ sbS d 3 [::]) => // c hc.
apply: (@val_start sb _ sbS 2 c _ hc) => c' hc'; have a := at_size hc' (leqnn _).
by rewrite bonus_coin // (val_coin s0 sbS bonus_true a (val_free s0 sbS bonus_false)) e2; ring.
Qed.
End Pair.

(* The example: no token before the coin's models, no more iterations than needed.  For gamma = 2, three
   iterations and t = 1/2 it is 6 tokens against 23/4. *)
Theorem theorem_2_fails_gamma_2 (R : realFieldType) (t : R) (t01 : 0 < t < 1) :
  let b := pair_b 0 2 t01 in let s := pair_s 0 2 t01 in
  [/\ tokens_after s 2 (block_verify b s) 3 = 5%:R + 3%:R * t ^+ 2,
      tokens_after s 2 (sure_bonus b s) 3 = 4%:R + 4%:R * t &
      1 < 3%:R * t -> tokens_after s 2 (block_verify b s) 3 < tokens_after s 2 (sure_bonus b s) 3].
Proof.
rewrite /= (block_3 0 t01) // (sure_bonus_3 0 t01) // !add0n; split=> // lt.
rewrite -subr_gt0; have -> : 4%:R + 4%:R * t - (5%:R + 3%:R * t ^+ 2) = (3%:R * t - 1) * (1 - t) by ring.
by case/andP: t01 => _ t1; rewrite mulr_gt0 // subr_gt0.
Qed.
Theorem theorem_2_fails_gamma_3 (R : realFieldType) (t : R) (t01 : 0 < t < 1) :
  let b := pair_b 0 3 t01 in let s := pair_s 0 3 t01 in
  [/\ tokens_after s 3 (block_verify b s) 2 = 5%:R + 2%:R * t ^+ 2,
      tokens_after s 3 (sure_bonus b s) 2 = 4%:R + 3%:R * t &
      1 < 2%:R * t -> tokens_after s 3 (block_verify b s) 2 < tokens_after s 3 (sure_bonus b s) 2].
Proof.
rewrite /= (@block_2 _ _ 0 3 t01) // (@sure_bonus_2 _ _ 0 3 t01) // !add0n; split=> // lt.
rewrite -subr_gt0; have -> : 4%:R + 3%:R * t - (5%:R + 2%:R * t ^+ 2) = (2%:R * t - 1) * (1 - t) by ring.
by case/andP: t01 => _ t1; rewrite mulr_gt0 // subr_gt0.
Qed.

(* The published statement, for a gamma and a number of iterations: of every algorithm that sees the
   rows along the draft only and is valid for all models and contexts. *)
Definition theorem_2_as_published (R : realFieldType) gamma n : Prop :=
  forall (V : vocabulary) (W : (seq V -> V -> R) -> (seq V -> V -> R) -> verifier V R),
  sees_rows_only W -> (forall (Mb Ms : model V R) c X, program X (W Mb Ms c X)) ->
  (forall (Mb Ms : model V R) c, valid Mb Ms gamma c (W Mb Ms c)) ->
  forall Mb Ms : model V R, tokens_after Ms gamma (W Mb Ms) n <= tokens_after Ms gamma (block_verify Mb Ms) n.
Theorem theorem_2_fails (R : realFieldType) gamma n : (2 < gamma)%N && (1 < n)%N || (1 < gamma)%N && (2 < n)%N ->
  ~ theorem_2_as_published R gamma n.
Proof.
move=> far th; pose t : R := 2%:R / 3%:R.
have n3 : (0 : R) < 3%:R by rewrite ltr0n.
have t01 : 0 < t < 1 by rewrite divr_gt0 ?ltr0n //= ltr_pdivr_mulr // mul1r ltr_nat.
have t3 : 3%:R * t = 2%:R by rewrite mulrC divfK // gt_eqF.
have g2 : (1 < gamma)%N by lia.
have use d m : n = (d + m)%N ->
    tokens_after (pair_s d gamma t01) gamma (sure_bonus (pair_b d gamma t01) (pair_s d gamma t01)) (d + m)
    <= tokens_after (pair_s d gamma t01) gamma (block_verify (pair_b d gamma t01) (pair_s d gamma t01)) (d + m).
  move=> <-; apply: (th two (@sure_bonus two R)) => *;
    [exact: sure_bonus_rows | exact: sure_bonus_program | exact: sure_bonus_valid].
have [e2|ne] := eqVneq gamma 2%N.
  have /use : n = (n - 3 + 3)%N by lia.
  rewrite sure_bonus_3 // block_3 // leNgt -subr_gt0.
  have -> : (n - 3 + 4)%:R + 4%:R * t - ((n - 3 + 5)%:R + 3%:R * t ^+ 2) = (3%:R * t - 1) * (1 - t) by ring.
  by case/andP: (t01) => _ t1; rewrite mulr_gt0 // subr_gt0 // t3 ltr1n.
have /use : n = (n - 2 + 2)%N by lia.
rewrite sure_bonus_2 // block_2 // leNgt -subr_gt0.
have -> : (n - 2 + gamma + 1)%:R + gamma%:R * t - ((n - 2 + gamma + 2)%:R + gamma.-1%:R * t ^+ 2)
    = (gamma.-1%:R * t - 1) * (1 - t).
  by case: (gamma) g2 => [|[|m]] // _; rewrite [m.+2.-1]/=; ring.
case/andP: (t01) => t0 t1; rewrite mulr_gt0 // subr_gt0 //.
have le : 2%:R * t <= gamma.-1%:R * t by rewrite ler_pmul2r // ler_nat; lia.
by apply: lt_le_trans le; rewrite /t mulrA ltr_pdivl_mulr // mul1r -natrM ltr_nat.
Qed.
