From mathcomp Require Import all_ssreflect ssralg ssrnum ssrint rat zify.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Algorithms Block Optimality Strategies.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

(* The same definitions, computed.  MathComp's rationals do compute, slowly; branches
   of weight 0 are skipped, which is proved not to matter. *)

Section Fast.
Variables (V : vocabulary) (R : realFieldType).
Implicit Types (c pre kept X todo : seq V) (p : R).
Definition scale (w : R) (a : unit -> R) : R := if w == 0 then 0 else w * a tt.
Lemma scaleE w a : scale w a = w * a tt.
Proof. by rewrite /scale; case: eqP => // ->; rewrite mul0r. Qed.
Definition flipF (h : R) (A : bool -> R) : R :=
  scale h (fun=> A true) + scale (1 - h) (fun=> A false).
Definition drawF (d : V -> R) (A : V -> R) : R := sumV (fun y => scale (d y) (fun=> A y)).
Fixpoint genF (M : seq V -> V -> R) n c (F : seq V -> R) : R :=
  if n is n'.+1 then
    sumV (fun x => scale (M c x) (fun=> genF M n' (rcons c x) (fun s => F (x :: s))))
  else F [::].
Lemma genFE M n c F : genF M n c F = gen M n c F.
Proof.
by elim: n c F => [|n IH] c F //=; apply: sumV_eq => x; rewrite scaleE IH.
Qed.
Variables (Mb Ms : seq V -> V -> R).
Fixpoint block_loopF c pre p kept pk todo (A : seq V -> R -> R) : R :=
  if todo is x :: todo' then
    let p' := next_p (Mb (c ++ pre)) (Ms (c ++ pre)) p x in
    let pre' := rcons pre x in
    let h := if nilp todo' then p' else h_block (Mb (c ++ pre')) (Ms (c ++ pre')) p' in
    flipF h (fun accepted => if accepted then block_loopF c pre' p' pre' p' todo' A
                             else block_loopF c pre' p' kept pk todo' A)
  else A kept pk.
Fixpoint token_loopF c pre todo (A : seq V -> R) : R :=
  if todo is x :: todo' then
    flipF (h_token (Mb (c ++ pre)) (Ms (c ++ pre)) x)
      (fun accepted => if accepted then token_loopF c (rcons pre x) todo' A else A pre)
  else A pre.
Definition finishF n c (A : seq V -> V -> R) kept pk : R :=
  drawF (if size kept == n then Mb (c ++ kept)
         else residual (Mb (c ++ kept)) (Ms (c ++ kept)) pk) (A kept).
Definition block_verifyF c X (A : seq V -> V -> R) : R :=
  block_loopF c [::] 1 [::] 1 X (finishF (size X) c A).
Definition token_verifyF c X (A : seq V -> V -> R) : R :=
  token_loopF c [::] X (fun kept => finishF (size X) c A kept 1).
Lemma flipFE h A : flipF h A = flip h A.
Proof. by rewrite /flipF !scaleE. Qed.
Lemma finishFE n c A kept pk : finishF n c A kept pk = finish Mb Ms n c A kept pk.
Proof. by rewrite /finishF /finish /drawF /draw; apply: sumV_eq => y; rewrite scaleE. Qed.
Lemma block_loopFE c n A todo pre p kept pk :
  block_loopF c pre p kept pk todo (finishF n c A)
  = block_loop Mb Ms c pre p kept pk todo (finish Mb Ms n c A).
Proof.
elim: todo pre p kept pk => [|x todo IH] pre p kept pk; first exact: finishFE.
by rewrite /= flipFE /flip !IH.
Qed.
Lemma block_verifyFE c X A : block_verifyF c X A = block_verify Mb Ms c X A.
Proof. exact: block_loopFE. Qed.
Lemma token_loopFE c n A todo pre :
  token_loopF c pre todo (fun kept => finishF n c A kept 1)
  = token_loop Mb Ms c pre todo (fun kept => finish Mb Ms n c A kept 1).
Proof.
elim: todo pre => [|x todo IH] pre; first exact: finishFE.
by rewrite /= flipFE /flip IH finishFE.
Qed.
Lemma token_verifyFE c X A : token_verifyF c X A = token_verify Mb Ms c X A.
Proof. exact: token_loopFE. Qed.
End Fast.

Notation Q := [realFieldType of rat].
(* Two tokens; true is B in the paper's Section 2. *)
Definition two : vocabulary.
Proof. by exists bool_finType [:: true; false]; rewrite enumT unlock. Defined.
Lemma sumV_two (R : realFieldType) (f : two -> R) : sumV f = f true + f false.
Proof. by rewrite /sumV /= addr0. Qed.

(* A model over two tokens from the probability of true at each context. *)
Definition model_two (f : seq bool -> rat) (f01 : forall c, 0 <= f c <= 1) : model two Q.
Proof.
exists (fun c x => if x then f c else 1 - f c) => [c [] | c].
- by case/andP: (f01 c).
- by rewrite subr_ge0; case/andP: (f01 c).
- by rewrite sumV_two addrC subrK.
Defined.
Definition toy_b : model two Q.
Proof. by apply: (@model_two (fun=> 2%:R / 3%:R)) => c; vm_compute. Defined.
Definition toy_s : model two Q.
Proof. by apply: (@model_two (fun=> 1 / 3%:R)) => c; vm_compute. Defined.

Definition EtauF (V : vocabulary) (Ms : model V Q) gamma c
    (W : seq V -> (seq V -> V -> Q) -> Q) : Q :=
  genF Ms gamma c (fun X => W X (fun kept _ => (size kept)%:R)).

(* Section 2: 11/9 for block verification, 10/9 for token verification (Lemma 1). *)
Theorem toy_block : Etau toy_s 2 [::] (block_verify toy_b toy_s [::]) = 11%:R / 9%:R.
Proof.
transitivity (EtauF toy_s 2 [::] (block_verifyF toy_b toy_s [::])).
  by rewrite /EtauF genFE; apply: gen_eq => X _; rewrite block_verifyFE.
apply/eqP; vm_cast_no_check (erefl true).
Qed.
Theorem toy_token : Etau toy_s 2 [::] (token_verify toy_b toy_s [::]) = 10%:R / 9%:R.
Proof.
transitivity (EtauF toy_s 2 [::] (token_verifyF toy_b toy_s [::])).
  by rewrite /EtauF genFE; apply: gen_eq => X _; rewrite token_verifyFE.
apply/eqP; vm_cast_no_check (erefl true).
Qed.
Theorem lemma_1 : Etau toy_s 2 [::] (token_verify toy_b toy_s [::])
  < Etau toy_s 2 [::] (block_verify toy_b toy_s [::]).
Proof. by rewrite toy_block toy_token; vm_compute. Qed.

(* The models on which sure_bonus decodes more than block verification, for every gamma >= 2.
   The first d tokens: nothing in common.  Then gamma tokens of which both are sure; a coin of the
   large model, false with probability t, that the small model does not see; after true nothing in
   common, ever; after false a token of which only the large model is sure, then again tokens of
   which both are, but for one, at d + 2 gamma, where they are sure of different ones.  Block
   verification takes the coin as its bonus and can be unlucky afterwards; sure_bonus stops before
   it, and what is lost on the coin is won back behind it. *)

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

(* Where Theorem 2 holds as published, against every strategy of valid verifiers: one iteration, any
   number with gamma = 1, two with gamma = 2, any number with models that do not look at the context. *)

Section Boundary.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R).
Implicit Types (c s : seq V) (F : seq V -> R).
Notation size_ := (fun s : seq V => (size s)%:R : R).
Notation block gamma n := (fun c => specdec Ms gamma (block_verify Mb Ms) n c size_).
(* No valid strategy decodes more tokens in n iterations, from any text and after any history. *)
Definition theorem_2_holds gamma n : Prop := forall (P : strategy V R gamma) h c, valid_strategy Mb Ms P ->
  play Ms P n h c size_ <= block gamma n c.

Lemma next_size c : next Mb size_ c = (size c).+1%:R.
Proof.
rewrite /next (sumV_eq (g := fun y => Mb c y * (size c).+1%:R)) => [|y]; last by rewrite size_rcons.
by rewrite sumVZr row_sum mul1r.
Qed.
Lemma size_grows : grows Mb size_.
Proof. by move=> c; rewrite -/(next Mb size_ c) next_size ler_nat leqnSn. Qed.
Theorem theorem_2_one_iteration gamma : theorem_2_holds gamma 1.
Proof. by move=> P h c v; apply: theorem_2_grows => // -[|m] // _; apply: size_grows. Qed.

(* gamma = 1: block verification is token verification. *)
Lemma block_step_1 F c : block_step Mb Ms 1 F c = tv Mb Ms F 1 c.
Proof.
rewrite tvS /block_step /=; apply: sumV_eq => y; congr (_ + _).
by rewrite tv0 mulrA next_pE ?ler01.
Qed.
Lemma specdec_1 n c A : specdec Ms 1 (block_verify Mb Ms) n c A = specdec Ms 1 (token_verify Mb Ms) n c A.
Proof.
elim: n c => [|n IH] c //; rewrite [LHS](block_stepE Mb Ms 1 (specdec Ms 1 (block_verify Mb Ms) n ^~ A)).
rewrite (block_step_ext _ _ _ (F' := specdec Ms 1 (token_verify Mb Ms) n ^~ A)) ?block_step_1 //.
Qed.
Theorem theorem_2_gamma_1 n : theorem_2_holds 1 n.
Proof.
move=> P h c v; apply: theorem_2_grows => // m _ s; rewrite specdec_1.
rewrite (sumV_eq (fun y => congr1 _ (specdec_1 m (rcons s y) size_))).
by apply: specdec_token_grows; apply: size_grows.
Qed.

(* gamma = 2 and two iterations. *)
Notation share_ c p := (share (Mb c) (Ms c) p).
Lemma share_split c p : 0 <= p <= 1 -> share_ c p <= 1 - p + p * share_ c 1.
Proof.
move=> /andP[p0 p1]; have -> : 1 - p = sumV (fun y => (1 - p) * Ms c y) by rewrite sumVZ row_sum mulr1.
rewrite /share -sumVZ -sumVD; apply: sumV_le => y.
have [le|ge] := leP (1 * Mb c y) (Ms c y).
  by rewrite le_minl mul1r ler_addr mulr_ge0 ?row_ge0 ?subr_ge0.
by rewrite -mulrDl subrK mul1r le_minl lexx orbT.
Qed.
Lemma block_S gamma n c : block gamma n.+1 c = block_step Mb Ms gamma (block gamma n) c.
Proof. exact: block_stepE. Qed.
Lemma phi_2_end c p : 0 <= p -> phi Mb Ms (next Mb size_) size_ 1 c p = p * (size c).+1%:R + share_ c p.
Proof.
move=> p0; have -> : p * (size c).+1%:R = sumV (fun y => p * Mb c y * (size c).+1%:R).
  by rewrite sumVZr sumVZ row_sum mulr1.
rewrite /= /share -sumVD; apply: sumV_eq => y.
rewrite mulrA next_pE // overE next_size !size_rcons.
by move: (Num.min _ _) => m; ring.
Qed.
Lemma block_1_2 c : block 2 1 c = (size c).+1%:R + share_ c 1
  + sumV (fun y => Ms c y * share_ (rcons c y) (next_p (Mb c) (Ms c) 1 y)).
Proof.
have -> : (size c).+1%:R = sumV (fun y => Mb c y * (size c).+1%:R) by rewrite sumVZr row_sum mul1r.
rewrite block_S /block_step [LHS]/= /share -!sumVD.
apply: sumV_eq => y; have /andP[n0 _] := next_p_range (row_ge0 Mb c) (row_ge0 Ms c) y ler01.
have := phi_2_end (rcons c y) n0; rewrite /share /= => ->.
rewrite mulrDr mulrA next_pE ?ler01 // overE mul1r !size_rcons.
by move: (Num.min _ _) (sumV _) => m S; ring.
Qed.
Lemma grows_1_2 : grows Mb (block 2 1).
Proof.
move=> c; rewrite block_1_2; set rest := sumV _.
have low y : (size c).+2%:R + share_ (rcons c y) 1 <= block 2 1 (rcons c y).
  rewrite block_1_2 size_rcons ler_addl; apply: sumV_ge0 => z; apply: mulr_ge0 => //.
  have /andP[n0 _] := next_p_range (row_ge0 Mb (rcons c y)) (row_ge0 Ms (rcons c y)) z ler01.
  by apply: sumV_ge0 => w; rewrite le_minr mulr_ge0 ?row_ge0.
apply: le_trans (sumV_le (fun y => ler_wpmul2l (row_ge0 Mb c y) (low y))).
rewrite (sumV_eq (g := fun y => Mb c y * (size c).+2%:R + Mb c y * share_ (rcons c y) 1)) => [|y]; last exact: mulrDr.
rewrite sumVD sumVZr row_sum mul1r [(size c).+2%:R]mulrSr -!addrA ler_add2l.
apply: le_trans (_ : sumV (Ms c) + _ <= _); last by rewrite row_sum.
rewrite /rest {1}/share -!sumVD; apply: sumV_le => y; rewrite mul1r.
have sh0 : 0 <= share_ (rcons c y) 1 by apply: sumV_ge0 => z; rewrite mul1r le_minr !row_ge0.
have [s0|sn] := eqVneq (Ms c y) 0.
  by rewrite s0 !mul0r min_r ?row_ge0 // !add0r mulr_ge0.
have sp : 0 < Ms c y by rewrite lt0r sn row_ge0.
have [ge|lt] := leP (Ms c y) (Mb c y).
  by rewrite next_p_over ?mul1r // ler_add2l; apply: ler_wpmul2r.
have n1 := next_p_range (row_ge0 Mb c) (row_ge0 Ms c) y ler01; have := share_split (rcons c y) n1.
have lw := ltW lt; rewrite next_p_under ?mul1r // in n1 *; set p := _ / _ => le.
apply: le_trans (ler_add (lexx _) (ler_wpmul2l (ltW sp) le)) _.
have e : Ms c y * p = Mb c y by rewrite /p mulrC divfK.
by rewrite mulrDr mulrBr mulr1 [_ * (p * _)]mulrA !e addrA [Mb c y + _]addrC subrK.
Qed.
Theorem theorem_2_gamma_2 : theorem_2_holds 2 2.
Proof. by move=> P h c v; apply: theorem_2_grows => // -[|[|m]] // _; [apply: size_grows | apply: grows_1_2]. Qed.

(* Models that do not look at the context. *)
Hypotheses (Mb_free : forall c, Mb c =1 Mb [::]) (Ms_free : forall c, Ms c =1 Ms [::]).
Lemma phi_free G F k c p : 0 <= p -> (forall s, G s = G [::] + (size s)%:R) -> (forall s, F s = F [::] + (size s)%:R) ->
  phi Mb Ms G F k c p = phi Mb Ms G F k [::] p + p * (size c)%:R.
Proof.
move=> + eG eF; elim: k c p => [|k IH] c p p0; first by rewrite /= eG mulrDr.
have np x : next_p (Mb c) (Ms c) p x = next_p (Mb [::]) (Ms [::]) p x by rewrite /next_p Mb_free Ms_free.
have op x : over (Mb c) (Ms c) p x = over (Mb [::]) (Ms [::]) p x by rewrite /over Mb_free Ms_free.
have -> : p * (size c)%:R = sumV (fun y => p * Mb [::] y * (size c)%:R) by rewrite sumVZr sumVZ row_sum mulr1.
rewrite /= -sumVD; apply: sumV_eq => y; rewrite np op Ms_free.
have /andP[n0 _] := next_p_range (row_ge0 Mb [::]) (row_ge0 Ms [::]) y p0.
rewrite IH // [in RHS]IH // eF [F [:: y]]eF size_rcons /= !mulrDr !mulrA next_pE // overE; ring.
Qed.
Lemma block_free gamma n c : block gamma n c = block gamma n [::] + (size c)%:R.
Proof.
elim: n c => [|n IH] c; first by rewrite /= add0r.
rewrite !block_S /block_step phi_free ?ler01 // ?mul1r // => s.
rewrite /next (sumV_eq (g := fun y => Mb [::] y * (block gamma n [::] + 1 + (size s)%:R))) => [|y]; last first.
  by rewrite IH size_rcons Mb_free; ring.
rewrite (sumV_eq (f := fun y => Mb [::] y * block gamma n (rcons [::] y)) (g := fun y => Mb [::] y * (block gamma n [::] + 1))) => [|y].
  by rewrite !sumVZr row_sum !mul1r.
by rewrite IH.
Qed.
Theorem theorem_2_context_free gamma n : theorem_2_holds gamma n.
Proof.
move=> P h c v; apply: theorem_2_grows => // m _ s; rewrite block_free.
rewrite (sumV_eq (g := fun y => Mb s y * (block gamma m [::] + (size s).+1%:R))) => [|y]; last by rewrite block_free size_rcons.
by rewrite sumVZr row_sum mul1r ler_add2l ler_nat.
Qed.
End Boundary.

(* The boundary of the published statement, over every real field. *)
Theorem theorem_2_boundary (R : realFieldType) gamma n : (0 < gamma)%N ->
  theorem_2_as_published R gamma n <-> [|| (n <= 1)%N, gamma == 1%N | (gamma == 2%N) && (n == 2%N)].
Proof.
move=> gp; split=> [th|near V W _ prog v Mb Ms].
  by case: (boolP ((2 < gamma) && (1 < n) || (1 < gamma) && (2 < n))%N) => [/theorem_2_fails /(_ th) //|]; lia.
rewrite /tokens_after -(@fixed_play _ _ Ms gamma _ (prog Mb Ms) n [::]).
have vs := @fixed_valid _ _ Mb Ms gamma _ (prog Mb Ms) (v Mb Ms); move: near; case: n => [|[|n]] near //.
  exact: (theorem_2_one_iteration [::] [::] vs).
move: near => /orP[//|/orP[/eqP e|/andP[/eqP e /eqP [en]]]]; subst.
  exact: (@theorem_2_gamma_1 V R Mb Ms n.+2 _ [::] [::] vs).
exact: (@theorem_2_gamma_2 V R Mb Ms _ [::] [::] vs).
Qed.
