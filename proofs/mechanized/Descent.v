From mathcomp Require Import all_ssreflect ssralg ssrnum zify.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Algorithms Block.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

(* Several drafts: recursive rejection and traversal verification are valid, for draft trees of every shape,
   whatever rows their tokens are drawn from; one step of k-SEQ keeps the target's row. *)

Section SeveralDrafts.
Variables (V : vocabulary) (R : realFieldType) (Mb : model V R) (c : seq V).
Implicit Types (s o : seq V) (b q : V -> R) (p K : R) (n : nat).
Notation rb s := (Mb (c ++ s)).

(* What is drawn after a text: nothing more, or a sibling from a row.  What is drawn below the sibling, and
   which rows its younger siblings are drawn from, may depend on its token. *)
Inductive drafts := Done | Sibling (q : V -> R) (below next : V -> drafts).

(* At most n levels, and every row is one.  With replacement the younger siblings have the same row, without it
   the row less the elder's token; a token that was chosen has the row that is sure of it. *)
Inductive drawn : nat -> drafts -> Prop :=
| DrawnDone n : drawn n Done
| DrawnSibling n q below next : (forall x, 0 <= q x) -> sumV q = 1 ->
    (forall x, drawn n (below x)) -> (forall x, drawn n.+1 (next x)) -> drawn n.+1 (Sibling q below next).

(* Multi-round (recursive) rejection: b is what the siblings so far have left of the target's row after s. *)
Fixpoint recursive_rejection s b (d : drafts) (A : seq V -> V -> R) : R :=
  if d is Sibling q below next then
    draw q (fun x => flip (h_token b q x) (fun accepted =>
      if accepted then recursive_rejection (rcons s x) (rb (rcons s x)) (below x) A
      else recursive_rejection s (residual b q 1) (next x) A))
  else draw b (A s).

(* Traversal verification of a node of weight p: its branches first, then the node itself; K is the
   expectation if it is rejected too. *)
Fixpoint traverse s b p (d : drafts) (A : seq V -> V -> R) K : R :=
  if d is Sibling q below next then
    draw q (fun x => traverse (rcons s x) (rb (rcons s x)) (next_p b q p x) (below x) A
      (traverse s (residual b q p) (h_block b q p) (next x) A K))
  else flip p (fun accepted => if accepted then draw b (A s) else K).

Lemma residual_row b q p : (forall x, 0 <= b x) -> sumV b = 1 ->
  (forall x, 0 <= residual b q p x) /\ sumV (residual b q p) = 1.
Proof.
move=> b0 b1; rewrite /residual.
have [_|ne] := boolP (excess b q p == 0); first by split.
have e0 : 0 <= excess b q p by apply: sumV_ge0 => x; apply: over_ge0.
split=> [x|]; first by rewrite divr_ge0 // over_ge0.
by rewrite sumVZr -/(excess b q p) mulfV.
Qed.

Lemma h_block_range b q p : 0 <= p <= 1 -> 0 <= h_block b q p <= 1.
Proof.
case/andP=> p0 p1; rewrite /h_block.
have e0 : 0 <= excess b q p by apply: sumV_ge0 => x; apply: over_ge0.
have [_|ne] := boolP (excess b q p + 1 - p == 0); first by rewrite ler01 lexx.
have d0 : 0 < excess b q p + 1 - p by rewrite lt_def ne -addrA addr_ge0 // subr_ge0.
apply/andP; split; first by apply: divr_ge0 => //; apply: ltW.
by rewrite ler_pdivr_mulr // mul1r -addrA ler_addl subr_ge0.
Qed.

Section Law.
Variables (gamma : nat) (U : seq V -> R).
Hypothesis UM : forall s, (size s <= gamma)%N -> U s = sumV (fun y => rb s y * U (rcons s y)).
Notation out := (fun s y => U (rcons s y)).

Lemma recursive_rejection_law n s b d : drawn n d -> (size s + n)%N = gamma ->
  (forall x, 0 <= b x) -> sumV b = 1 -> recursive_rejection s b d out = draw b (out s).
Proof.
move=> hd; elim: hd s b => [//|{}n q below next q0 q1 _ IHb _ IHn] s b hs b0 b1 /=.
have hs' x : (size (rcons s x) + n)%N = gamma by rewrite size_rcons addSnnS.
have le x : (size (rcons s x) <= gamma)%N by rewrite -(hs' x) leq_addr.
have [r0 r1] := residual_row q 1 b0 b1.
transitivity (sumV (fun x => q x * (next_p b q 1 x * U (rcons s x)
    + (1 - next_p b q 1 x) * draw (residual b q 1) (out s)))).
  apply: sumV_eq => x; congr (_ * _).
  rewrite /flip (IHn _ _ _ hs r0 r1) (IHb _ _ _ (hs' x) (row_ge0 _ _) (row_sum _ _)).
  by rewrite (UM (le x)) /h_token /next_p mul1r.
by rewrite -spread ?ler01 // step_law ?ler01 // mul1r.
Qed.

Lemma traverse_law n s b p d K : drawn n d -> (size s + n)%N = gamma ->
  (forall x, 0 <= b x) -> sumV b = 1 -> 0 <= p <= 1 ->
  traverse s b p d out K = p * draw b (out s) + (1 - p) * K.
Proof.
move=> hd; elim: hd s b p K => [//|{}n q below next q0 q1 _ IHb _ IHn] s b p K hs b0 b1 hp /=.
have hs' x : (size (rcons s x) + n)%N = gamma by rewrite size_rcons addSnnS.
have le x : (size (rcons s x) <= gamma)%N by rewrite -(hs' x) leq_addr.
have /andP[p0 p1] := hp; have [r0 r1] := residual_row q p b0 b1.
have hh := h_block_range b q hp; have hn x := next_p_range b0 q0 x p0.
set K' := h_block b q p * draw (residual b q p) (out s) + (1 - h_block b q p) * K.
transitivity (sumV (fun x => q x * (next_p b q p x * U (rcons s x) + (1 - next_p b q p x) * K'))).
  apply: sumV_eq => x; congr (_ * _).
  rewrite (IHn _ _ _ _ _ hs r0 r1 hh) (IHb _ _ _ _ _ (hs' x) (row_ge0 _ _) (row_sum _ _) (hn x)).
  by rewrite (UM (le x)).
rewrite -spread // -(step_law b0 q0 b1) //.
have e := h_blockE q b1 p1.
have -> : (1 - share b q p) * K' = ((1 - share b q p) * h_block b q p) * draw (residual b q p) (out s)
  + ((1 - share b q p) - (1 - share b q p) * h_block b q p) * K by rewrite /K'; ring.
by rewrite e; ring.
Qed.
End Law.

(* Equation (7): the accepted path and one more token, completed by the target, have the target's law. *)
Section Valid.
Variables (gamma : nat) (d : drafts) (o : seq V).
Hypotheses (hd : drawn gamma d) (ho : size o = gamma.+1).
Notation is_o := (complete Mb gamma c (fun o' => (o' == o)%:R)).

Let fair_o := complete_fair Mb c (gamma := gamma) (fun o' => (o' == o)%:R).
Let whole : draw (rb [::]) (fun y => is_o (rcons [::] y)) = joint Mb c o.
Proof. by rewrite /draw -(fair_o (s := [::])) // /complete subn0 cats0 -ho gen_delta. Qed.

Theorem recursive_rejection_valid :
  recursive_rejection [::] (rb [::]) d (fun s y => is_o (rcons s y)) = joint Mb c o.
Proof. by rewrite (recursive_rejection_law fair_o hd). Qed.

Theorem traversal_valid K :
  traverse [::] (rb [::]) 1 d (fun s y => is_o (rcons s y)) K = joint Mb c o.
Proof. by rewrite (traverse_law fair_o _ hd) ?ler01 ?lexx // subrr mul0r addr0 mul1r. Qed.
End Valid.
End SeveralDrafts.

(* SpecTr's k-SEQ, one step: k drafts from the row q, each accepted with probability min(b / (rho q), 1). *)
Section KSeq.
Variables (V : vocabulary) (R : realFieldType) (b q : V -> R) (rho : R) (k : nat).
Hypotheses (b0 : forall x, 0 <= b x) (q0 : forall x, 0 <= q x).
Hypotheses (b1 : sumV b = 1) (q1 : sumV q = 1) (rho0 : 0 < rho).
Implicit Types (A : V -> R) (j : nat).

Definition taken x : R := q x * next_p b q rho^-1 x.
Definition beta : R := sumV taken.
Fixpoint rounds j A (last : R) : R :=
  if j is j'.+1 then
    draw q (fun x => flip (next_p b q rho^-1 x) (fun accepted => if accepted then A x else rounds j' A last))
  else last.
(* 1 + (1 - beta) + .. + (1 - beta)^(j - 1), which is p_acc / beta after j rounds. *)
Fixpoint repeated j : R := if j is j'.+1 then 1 + (1 - beta) * repeated j' else 0.
Definition left_over x : R := b x - taken x * repeated k.
Definition k_seq A : R := rounds k A (draw (fun x => left_over x / sumV left_over) A).

Lemma rounds_law j A last :
  rounds j A last = repeated j * sumV (fun x => taken x * A x) + (1 - beta) ^+ j * last.
Proof.
elim: j => [|j IH] /=; first by rewrite mul0r add0r expr0 mul1r.
transitivity (sumV (fun x => taken x * A x) + (1 - beta) * rounds j A last); last by rewrite IH exprS; ring.
rewrite -[X in X - beta]q1 /beta -sumVB -sumVZr -sumVD; apply: sumV_eq => x.
by rewrite /flip /taken; ring.
Qed.
Lemma repeatedE j : beta * repeated j = 1 - (1 - beta) ^+ j.
Proof.
elim: j => [|j IH] /=; first by rewrite mulr0 expr0 subrr.
by rewrite exprS mulrDr mulr1 mulrCA IH; ring.
Qed.

(* p_acc <= rho beta, in the form p_acc / beta <= rho. *)
Theorem k_seq_law A : repeated k <= rho -> k_seq A = draw b A.
Proof.
move=> ok; have p0 : 0 <= rho^-1 by rewrite invr_ge0 ltW.
have t0 x : 0 <= taken x.
  by rewrite mulr_ge0 //; have /andP[] := next_p_range b0 q0 x p0.
have l0 x : 0 <= left_over x.
  rewrite subr_ge0 (le_trans (ler_wpmul2l (t0 x) ok)) // /taken (next_pE b0 q0 x p0).
  by rewrite -ler_pdivl_mulr // mulrC le_minl lexx.
have mass : sumV left_over = (1 - beta) ^+ k.
  by rewrite /left_over sumVB sumVZr b1 -/beta repeatedE; ring.
rewrite /k_seq rounds_law -mass.
have -> : sumV left_over * draw (fun x => left_over x / sumV left_over) A = sumV (fun x => left_over x * A x).
  rewrite /draw -sumVZ; apply: sumV_eq => x.
  have [e|ne] := eqVneq (sumV left_over) 0; last by rewrite mulrA mulrCA mulfV // mulr1.
  by rewrite e (sumV_eq0 l0 e) !mul0r.
by rewrite -sumVZ -sumVD /draw; apply: sumV_eq => x; rewrite /left_over; ring.
Qed.
End KSeq.

(* Rules for draft trees that go down one token at a time: valid if each step is, for trees of every shape whose nodes
   of one text go on together.  So SpecInfer's multi-round rejection with equal siblings, recursive rejection without
   replacement, k-SEQ and every transport of drafts to tokens. *)

(* The shape of a draft tree: which nodes have which children does not depend on what is drawn. *)
Inductive tree := Node of seq tree.
Definition children t := let: Node f := t in f.
(* What follows the siblings that have the token x, all together. *)
Definition go_on (V : eqType) (f : seq tree) (xs : seq V) (x : V) : seq tree :=
  flatten [seq children p.1 | p <- zip f xs & p.2 == x].

Section Siblings.
Variables (V : vocabulary) (R : realFieldType).
Implicit Types (b : V -> R) (xs elders todo : seq V) (Q : seq V -> V -> R) (spent : pred (seq V)) (k : nat).

(* k siblings in turn, each from a row that may look at its elders; fewer where the row is spent.  F gets the tokens. *)
Fixpoint siblings Q spent k elders (F : seq V -> R) : R :=
  if k is k'.+1 then
    if spent elders then F [::]
    else draw (Q elders) (fun x => siblings Q spent k' (rcons elders x) (fun xs => F (x :: xs)))
  else F [::].
(* Multi-round rejection: each sibling is tested against what its elders have left of b. *)
Fixpoint multi_round Q b elders todo (g : V -> bool -> R) : R :=
  if todo is x :: todo' then
    flip (h_token b (Q elders) x) (fun accepted =>
      if accepted then g x true else multi_round Q (residual b (Q elders) 1) (rcons elders x) todo' g)
  else draw b (fun y => g y false).

Lemma siblings_eq Q spent k elders F G : (forall xs, F xs = G xs) -> siblings Q spent k elders F = siblings Q spent k elders G.
Proof.
elim: k elders F G => [|k IH] elders F G e /=; first exact: e.
by case: ifP => _; [exact: e | apply: sumV_eq => x; congr (_ * _); apply: IH => xs; apply: e].
Qed.
Lemma multi_round_eq Q b elders xs g g' : g =2 g' -> multi_round Q b elders xs g = multi_round Q b elders xs g'.
Proof.
move=> e; elim: xs b elders => [|x xs IH] b elders /=; first by apply: sumV_eq => y; rewrite e.
by rewrite /flip e IH.
Qed.
Lemma siblingsD Q spent k elders F G :
  siblings Q spent k elders (fun xs => F xs + G xs) = siblings Q spent k elders F + siblings Q spent k elders G.
Proof.
elim: k elders F G => [|k IH] elders F G //=; case: ifP => // _.
by rewrite /draw -sumVD; apply: sumV_eq => x; rewrite IH mulrDr.
Qed.
Lemma siblingsZ Q spent k elders a F : siblings Q spent k elders (fun xs => a * F xs) = a * siblings Q spent k elders F.
Proof.
elim: k elders F => [|k IH] elders F //=; case: ifP => // _.
by rewrite /draw -sumVZ; apply: sumV_eq => x; rewrite IH mulrCA.
Qed.

Variables (Q : seq V -> V -> R) (spent : pred (seq V)).
Hypotheses (Q0 : forall elders x, 0 <= Q elders x) (Q1 : forall elders, ~~ spent elders -> sumV (Q elders) = 1).
Lemma siblings_const k elders a : siblings Q spent k elders (fun=> a) = a.
Proof.
elim: k elders => [|k IH] elders //=; case: (boolP (spent elders)) => // ns.
by rewrite /draw (sumV_eq (g := fun x => Q elders x * a)) => [|x]; rewrite ?sumVZr ?Q1 ?mul1r ?IH.
Qed.
Lemma siblings_le k elders F G : (forall xs, (size xs <= k)%N -> F xs <= G xs) ->
  siblings Q spent k elders F <= siblings Q spent k elders G.
Proof.
elim: k elders F G => [|k IH] elders F G le /=; first exact: le.
case: ifP => _; first exact: le.
by apply: sumV_le => x; apply: ler_wpmul2l => //; apply: IH => xs hx; apply: le.
Qed.

(* One step of it gives a token of the law b. *)
Theorem multi_round_step b k elders (U : V -> R) : (forall x, 0 <= b x) -> sumV b = 1 ->
  siblings Q spent k elders (fun xs => multi_round Q b elders xs (fun y _ => U y)) = draw b U.
Proof.
elim: k elders b => [|k IH] elders b b0 b1 //=; case: (boolP (spent elders)) => // ns.
have [r0 r1] := residual_row (Q elders) 1 b0 b1.
transitivity (sumV (fun x => Q elders x * (next_p b (Q elders) 1 x * U x
    + (1 - next_p b (Q elders) 1 x) * draw (residual b (Q elders) 1) U))).
  apply: sumV_eq => x; congr (_ * _); rewrite /flip siblingsD !siblingsZ siblings_const IH //.
  by rewrite /h_token /next_p mul1r.
by rewrite -spread ?Q1 ?ler01 // step_law ?ler01 // mul1r.
Qed.
End Siblings.

Section Descent.
Variables (V : vocabulary) (R : realFieldType) (Mb : model V R) (c : seq V).
Notation rb s := (Mb (c ++ s)).
Implicit Types (s o : seq V) (f : seq tree).
Variables (Q : seq V -> seq V -> V -> R) (spent : seq V -> pred (seq V)).
Variables (step : seq V -> nat -> seq V -> (V -> bool -> R) -> R) (last : seq V -> V -> R).

(* From the text s down a tree of at most n levels: the step takes one of the siblings, or gives another token and ends;
   at a leaf a row gives the last token, the target's. *)
Fixpoint descend n s f (A : seq V -> V -> R) : R :=
  if n is n'.+1 then
    if f is [::] then draw (last s) (A s)
    else siblings (Q s) (spent s) (size f) [::] (fun xs => step s (size f) xs (fun y accepted =>
      if accepted then descend n' (rcons s y) (go_on f xs y) A else A s y))
  else draw (last s) (A s).

Lemma descendS n s t f A : descend n.+1 s (t :: f) A
  = siblings (Q s) (spent s) (size f).+1 [::] (fun xs => step s (size f).+1 xs (fun y accepted =>
      if accepted then descend n (rcons s y) (go_on (t :: f) xs y) A else A s y)).
Proof. by []. Qed.

Hypothesis step_eq : forall s k xs g g', g =2 g' -> step s k xs g = step s k xs g'.
Hypothesis last_valid : forall s (U : V -> R), draw (last s) U = draw (rb s) U.
Hypothesis step_valid : forall s k (U : V -> R),
  siblings (Q s) (spent s) k [::] (fun xs => step s k xs (fun y _ => U y)) = draw (rb s) U.

Lemma descend_law gamma n s f (U : seq V -> R) :
  (forall s, (size s <= gamma)%N -> U s = sumV (fun y => rb s y * U (rcons s y))) -> (size s + n)%N = gamma ->
  descend n s f (fun s y => U (rcons s y)) = U s.
Proof.
move=> UM; elim: n s f => [|n IH] s f hs; have le : (size s <= gamma)%N by rewrite -hs leq_addr.
  by rewrite /= last_valid UM.
case: f => [|t f]; first by rewrite /= last_valid UM.
have hs' y : (size (rcons s y) + n)%N = gamma by rewrite size_rcons addSnnS.
rewrite [RHS]UM // -/(draw (rb s) (fun y => U (rcons s y))) -(step_valid s (size f).+1) descendS.
by apply: siblings_eq => xs; apply: step_eq => y [] //; apply: IH.
Qed.
(* Equation (7): the accepted path and one more token, completed by the target, have the target's law. *)
Theorem descend_valid gamma f o : size o = gamma.+1 ->
  descend gamma [::] f (fun s y => complete Mb gamma c (fun o' => (o' == o)%:R) (rcons s y)) = joint Mb c o.
Proof.
move=> ho; rewrite (@descend_law gamma gamma [::] f _ (complete_fair Mb c (fun o' => (o' == o)%:R))) //.
by rewrite /complete subn0 cats0 -ho gen_delta.
Qed.
End Descent.

(* SpecInfer: siblings are independent draws from the small model's row, equal ones among them. *)
Section Rules.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (c : seq V).
Notation rb s := (Mb (c ++ s)).
Implicit Types (s o elders xs : seq V) (f : seq tree).
Definition independent s elders : V -> R := Ms (c ++ s).
Definition spec_infer gamma f A : R :=
  descend independent (fun _ => pred0) (fun s _ xs => multi_round (independent s) (rb s) [::] xs) (fun s => rb s) gamma [::] f A.
Theorem spec_infer_valid gamma f o : size o = gamma.+1 ->
  spec_infer gamma f (fun s y => complete Mb gamma c (fun o' => (o' == o)%:R) (rcons s y)) = joint Mb c o.
Proof.
apply: descend_valid => [s k xs g g' e|//|s k U]; first exact: multi_round_eq.
by apply: multi_round_step => // *; rewrite /independent.
Qed.

(* Recursive rejection without replacement (Sequoia, EAGLE): a row loses the tokens of the elders, and what is left of it
   is divided by its sum, until nothing is left. *)
Definition remaining s elders x : R := (x \notin elders)%:R * Ms (c ++ s) x.
Definition used_up s elders : bool := sumV (remaining s elders) == 0.
Definition without s elders x : R := remaining s elders x / sumV (remaining s elders).
Definition without_replacement gamma f A : R :=
  descend without used_up (fun s _ xs => multi_round (without s) (rb s) [::] xs) (fun s => rb s) gamma [::] f A.
Lemma remaining_ge0 s elders x : 0 <= remaining s elders x.
Proof. by rewrite mulr_ge0 ?ler0n. Qed.
Theorem without_replacement_valid gamma f o : size o = gamma.+1 ->
  without_replacement gamma f (fun s y => complete Mb gamma c (fun o' => (o' == o)%:R) (rcons s y)) = joint Mb c o.
Proof.
apply: descend_valid => [s k xs g g' e|//|s k U]; first exact: multi_round_eq.
apply: multi_round_step => // [elders x|elders nu].
  by rewrite divr_ge0 ?remaining_ge0 // sumV_ge0 // => z; apply: remaining_ge0.
by rewrite /without sumVZr mulfV.
Qed.
(* No two siblings of one node are equal: an elder's token has probability 0. *)
Lemma without_replacement_distinct s elders x : x \in elders -> without s elders x = 0.
Proof. by move=> xe; rewrite /without /remaining xe !mul0r. Qed.

(* k-SEQ at every step, rho as it likes as long as a step is valid. *)
Section KSeq.
Variable rho : seq V -> nat -> R.
Fixpoint first_of (h : V -> R) xs (g : V -> bool -> R) (rest : R) : R :=
  if xs is x :: xs' then flip (h x) (fun accepted => if accepted then g x true else first_of h xs' g rest) else rest.
Definition k_seq_step s k xs g : R :=
  first_of (next_p (rb s) (Ms (c ++ s)) (rho s k)^-1) xs g
    (draw (fun y => left_over (rb s) (Ms (c ++ s)) (rho s k) k y / sumV (left_over (rb s) (Ms (c ++ s)) (rho s k) k)) (g^~ false)).
Definition k_seq_tree gamma f A : R :=
  descend independent (fun _ => pred0) k_seq_step (fun s => rb s) gamma [::] f A.
Lemma first_of_eq h xs g g' rest rest' : g =2 g' -> rest = rest' -> first_of h xs g rest = first_of h xs g' rest'.
Proof. by move=> e er; elim: xs => [|x xs IH] //=; rewrite /flip IH e. Qed.
Lemma first_of_rounds s r j elders (U : V -> R) rest :
  siblings (independent s) pred0 j elders (fun xs => first_of (next_p (rb s) (Ms (c ++ s)) r^-1) xs (fun y _ => U y) rest)
  = rounds (rb s) (Ms (c ++ s)) r j U rest.
Proof.
elim: j elders => [|j IH] elders //=; apply: sumV_eq => x; congr (_ * _).
have i1 e : ~~ pred0 e -> sumV (independent s e) = 1 by move=> _; rewrite /independent.
by rewrite /flip siblingsD !siblingsZ (siblings_const i1) IH.
Qed.
Theorem k_seq_tree_valid gamma f o :
  (forall s k, 0 < rho s k /\ repeated (rb s) (Ms (c ++ s)) (rho s k) k <= rho s k) -> size o = gamma.+1 ->
  k_seq_tree gamma f (fun s y => complete Mb gamma c (fun o' => (o' == o)%:R) (rcons s y)) = joint Mb c o.
Proof.
move=> ok; apply: descend_valid => [s k xs g g' e|//|s k U].
  by apply: first_of_eq => //; apply: sumV_eq => y; rewrite e.
have [r0 le] := ok s k; rewrite /k_seq_step first_of_rounds //.
exact: (k_seq_law (row_ge0 _ _) (row_ge0 _ _) (row_sum _ _) (row_sum _ _) r0).
Qed.
End KSeq.

(* Any transport of drafts to tokens, the optimal ones among them: after the siblings xs the token y is accepted with
   probability share xs y, and what the target has beyond that gives the token where none is. *)
Section Transport.
Variables (Q : seq V -> seq V -> V -> R) (spent : seq V -> pred (seq V)).
Hypotheses (Q0 : forall s elders x, 0 <= Q s elders x) (Q1 : forall s elders, ~~ spent s elders -> sumV (Q s elders) = 1).
Variable share : seq V -> nat -> seq V -> V -> R.
Definition moved s k y : R := siblings (Q s) (spent s) k [::] (fun xs => share s k xs y).
Definition unmoved s k y : R := rb s y - moved s k y.
Definition transport_step s k xs (g : V -> bool -> R) : R :=
  sumV (fun y => share s k xs y * g y true)
  + (1 - sumV (share s k xs)) * draw (fun y => unmoved s k y / sumV (unmoved s k)) (g^~ false).
Definition transport gamma f A : R := descend Q spent transport_step (fun s => rb s) gamma [::] f A.
Lemma siblings_sumV P used k elders (F : seq V -> V -> R) :
  siblings P used k elders (fun xs => sumV (F xs)) = sumV (fun y => siblings P used k elders (F^~ y)).
Proof.
elim: k elders F => [|k IH] elders F //=; case: ifP => // _.
rewrite /draw sumV_sumV; apply: sumV_eq => x; rewrite IH sumVZ //.
Qed.
Theorem transport_valid gamma f o :
  (forall s k y, moved s k y <= rb s y) -> size o = gamma.+1 ->
  transport gamma f (fun s y => complete Mb gamma c (fun o' => (o' == o)%:R) (rcons s y)) = joint Mb c o.
Proof.
move=> le; apply: descend_valid => [s k xs g g' e|//|s k U].
  by rewrite /transport_step; congr (_ + _ * _); apply: sumV_eq => y; rewrite e.
rewrite /transport_step siblingsD siblings_sumV; set last := draw _ _.
have u0 y : 0 <= unmoved s k y by rewrite subr_ge0.
have -> : siblings (Q s) (spent s) k [::] (fun xs => (1 - sumV (share s k xs)) * last) = sumV (unmoved s k) * last.
  rewrite (siblings_eq _ _ _ _ (G := fun xs => last * 1 + - last * sumV (share s k xs))) => [|xs]; last by ring.
  rewrite siblingsD !siblingsZ (siblings_const (@Q1 s)) siblings_sumV /unmoved sumVB row_sum /moved; ring.
have -> : sumV (unmoved s k) * last = sumV (fun y => unmoved s k y * U y).
  rewrite /last /draw -sumVZ; apply: sumV_eq => y; have [z|nz] := eqVneq (sumV (unmoved s k)) 0.
    by rewrite (sumV_eq0 u0 z y) z !mul0r.
  by rewrite mulrA mulrCA mulfV // mulr1.
rewrite -sumVD; apply: sumV_eq => y; rewrite (siblings_eq _ _ _ _ (G := fun xs => U y * share s k xs y)) => [|xs]; last by rewrite mulrC.
by rewrite siblingsZ -/(moved s k y) /unmoved; ring.
Qed.
End Transport.
End Rules.

(* Greedy multi-path block verification: of K independent paths the best is chosen, token by token and by any order, and
   verified as a block of the law of the choice.  That law has the rows of the rule, and the rule is lossless. *)

(* The order of the tokens of a text: the least rank is preferred. *)
Section Choice.
Variables (V : vocabulary) (rank : seq V -> V -> nat).
Hypothesis rank_inj : forall s, injective (rank s).
Implicit Types (s X Y Z : seq V) (Xs : seq (seq V)).
Fixpoint ahead s X Y : bool :=
  match X, Y with
  | x :: X', y :: Y' => if x == y then ahead (rcons s x) X' Y' else (rank s x < rank s y)%N
  | _, _ => false
  end.
Definition front s x xs : V := foldr (fun y z => if (rank s y < rank s z)%N then y else z) x xs.
Definition after x Xs : seq (seq V) := [seq behead X | X <- Xs & ohead X == Some x].
Fixpoint chosen n s Xs : seq V :=
  if n is n'.+1 then
    if pmap ohead Xs is x :: xs then let y := front s x xs in y :: chosen n' (rcons s y) (after y Xs) else [::]
  else [::].
Lemma front_least s x xs : front s x xs \in x :: xs /\ forall y, y \in x :: xs -> (rank s (front s x xs) <= rank s y)%N.
Proof.
elim: xs => [|z xs [IHin IHle]] /=; first by rewrite mem_head; split=> // y; rewrite inE => /eqP ->.
case: ltnP => lt; split.
- by rewrite !inE eqxx orbT.
- move=> y; rewrite !inE => /or3P[/eqP ->|/eqP ->|yx] //.
    by apply: leq_trans (IHle x (mem_head _ _)); apply: ltnW.
  by apply: leq_trans (ltnW lt) (IHle y _); rewrite inE yx orbT.
- by move: IHin; rewrite !inE => /orP[->|->]; rewrite ?orbT.
move=> y; rewrite !inE => /or3P[/eqP ->|/eqP ->|yx] //; first exact: IHle (mem_head _ _).
by apply: IHle; rewrite inE yx orbT.
Qed.
Lemma chosen_behind n s Xs Z : all (fun X => size X == n) Xs -> Xs != [::] -> size Z = n ->
  [/\ size (chosen n s Xs) = n, all (ahead s Z) Xs = ahead s Z (chosen n s Xs)
    & all (fun X => ~~ ahead s X Z) Xs = ~~ ahead s (chosen n s Xs) Z].
Proof.
elim: n s Xs Z => [|n IH] s Xs Z hX ne hZ.
  case: Z hZ => // _; case: Xs hX ne => [//|X Xs] /= /andP[/eqP/size0nil -> hX] _; split=> //.
  by apply/allP => Y /(allP hX)/eqP/size0nil ->.
case: Z hZ => [//|z Z] [hZ].
have heads X : X \in Xs -> exists h X', [/\ X = h :: X', h \in pmap ohead Xs & size X' = n].
  move=> XXs; have /eqP := allP hX X XXs; case: X XXs => [//|h X'] XXs [hs]; exists h, X'; split=> //.
  by rewrite mem_pmap; apply/mapP; exists (h :: X').
rewrite /=; case eh : (pmap ohead Xs) => [|x xs].
  by case: Xs ne {hX} heads eh => [//|X Xs] _ heads eh; have [h [X' [_]]] := heads X (mem_head _ _); rewrite eh.
cbv zeta; set y := front s x xs; have [yin yle] := front_least s x xs; rewrite -/y in yin yle.
have least X h X' : X \in Xs -> X = h :: X' -> (rank s y <= rank s h)%N.
  by move=> XXs e; have [h' [X'' [e' hin _]]] := heads X XXs; apply: yle; rewrite -eh; move: e'; rewrite e => -[->].
have [X0 X0in [X1 X0e]] : exists2 X, X \in Xs & exists X', X = y :: X'.
  move: yin; rewrite -eh mem_pmap => /mapP[[|h X'] // XXs [->]]; exists (h :: X') => //; by exists X'.
have hA : all (fun X => size X == n) (after y Xs).
  rewrite all_map all_filter; apply/allP => X XXs /=; apply/implyP => _.
  by have /eqP := allP hX X XXs; case: X XXs => //= h X' _ [->].
have neA : after y Xs != [::].
  have : X1 \in after y Xs by apply/mapP; exists X0; rewrite ?mem_filter X0e //= eqxx -X0e.
  by case: (after y Xs).
have [szA lA gA] := IH (rcons s y) (after y Xs) Z hA neA hZ; split; first by rewrite /= szA.
  rewrite [RHS]/=; have [zy|zy] := eqVneq z y.
    rewrite zy -lA all_map all_filter; apply: eq_in_all => X XXs; have [h [X' [e _ _]]] := heads X XXs.
    rewrite e /=; have [->|ne'] := eqVneq y h; first by rewrite eqxx.
    have -> : (Some h == Some y) = false by apply/eqP => -[] e'; rewrite e' eqxx in ne'.
    have := least X h X' XXs e; rewrite leq_eqVlt => /orP[/eqP/rank_inj e'|->] //.
    by rewrite e' eqxx in ne'.
  have [lt|ge] := ltnP (rank s z) (rank s y).
    apply/allP => X XXs; have [h [X' [e _ _]]] := heads X XXs; have := least X h X' XXs e; rewrite e /=.
    by move=> le; have lt' := leq_trans lt le; case: eqVneq => [e'|//]; rewrite e' ltnn in lt'.
  by apply/allP => /(_ X0 X0in); rewrite X0e /= (negPf zy) ltnNge ge.
rewrite [RHS]/=; have [zy|zy] := eqVneq y z.
  rewrite -zy -gA all_map all_filter; apply: eq_in_all => X XXs; have [h [X' [e _ _]]] := heads X XXs.
  rewrite e /=; have [->|ne'] := eqVneq h y; first by rewrite eqxx.
  have -> : (Some h == Some y) = false by apply/eqP => -[] e'; rewrite e' eqxx in ne'.
  by have := least X h X' XXs e; rewrite leqNgt => ->.
have [lt|ge] := ltnP (rank s y) (rank s z).
  by apply/negbTE/allP => /(_ X0 X0in); rewrite X0e /= (negPf zy) lt.
apply/allP => X XXs; have [h [X' [e _ _]]] := heads X XXs; have := least X h X' XXs e; rewrite e /= => le.
have le' := leq_trans ge le; case: eqVneq => [e'|_]; last by rewrite -leqNgt.
by move: zy; rewrite (_ : y = z) ?eqxx //; apply: (@rank_inj s); apply/eqP; rewrite eqn_leq ge -{1}e' le.
Qed.
Lemma same_path (R : realFieldType) s X Z : size X = size Z -> (X == Z)%:R = (~~ ahead s X Z)%:R - (ahead s Z X)%:R :> R.
Proof.
elim: X s Z => [|x X IH] s [|z Z] //= => [_|[hs]]; first by rewrite subr0.
rewrite eqseq_cons [z == x]eq_sym; have [<-|ne] := eqVneq x z; first by rewrite /= (IH (rcons s x)).
rewrite /=; have : (rank s x != rank s z)%N by apply: contra ne => /eqP/rank_inj ->.
by case: ltngtP => //= _ _; rewrite subrr.
Qed.
End Choice.

Section Law.
Variables (V : vocabulary) (R : realFieldType) (Ms : model V R) (c : seq V) (gamma K : nat) (rank : seq V -> V -> nat).
Hypotheses (rank_inj : forall s, injective (rank s)) (K0 : (0 < K)%N).
Implicit Types (s x X Z : seq V) (y t : V) (Xs : seq (seq V)).
Fixpoint paths k (F : seq (seq V) -> R) : R :=
  if k is k'.+1 then gen Ms gamma c (fun X => paths k' (fun Xs => F (X :: Xs))) else F [::].
Lemma paths_eq k F G : (forall Xs, size Xs = k -> all (fun X => size X == gamma) Xs -> F Xs = G Xs) -> paths k F = paths k G.
Proof.
elim: k F G => [|k IH] F G e /=; first exact: e.
by apply: gen_eq => X hX; apply: IH => Xs hs ha; apply: e; rewrite /= ?hs // hX eqxx.
Qed.
Lemma pathsB k F G : paths k (fun Xs => F Xs - G Xs) = paths k F - paths k G.
Proof. by elim: k F G => [|k IH] F G //=; rewrite -genB; apply: gen_eq => X _; rewrite IH. Qed.
Lemma pathsZ k a F : paths k (fun Xs => a * F Xs) = a * paths k F.
Proof. by elim: k F => [|k IH] F //=; rewrite -genZ; apply: gen_eq => X _; rewrite IH. Qed.
Lemma paths_sumB k m (F : seq (seq V) -> seq V -> R) :
  paths k (fun Xs => sumB m (F Xs)) = sumB m (fun Z => paths k (F^~ Z)).
Proof. by elim: k F => [|k IH] F //=; rewrite -gen_sumB; apply: gen_eq => X _; rewrite IH. Qed.
Lemma paths_all k (P : pred (seq V)) : paths k (fun Xs => (all P Xs)%:R) = gen Ms gamma c (fun X => (P X)%:R) ^+ k.
Proof.
elim: k => [|k IH] /=; first by rewrite expr0.
rewrite exprS -IH mulrC -genZ; apply: gen_eq => X _; rewrite mulrC -pathsZ.
by apply: paths_eq => Xs _ _; rewrite -mulnb natrM.
Qed.

(* Behind a text: the draft's probability of those of its length that are less preferred. *)
Definition worse s y : R := sumV (fun t => (rank s y < rank s t)%:R * Ms (c ++ s) t).
Fixpoint behind s x : R := if x is y :: x' then worse s y + Ms (c ++ s) y * behind (rcons s y) x' else 0.
Lemma behind_rcons s x y : behind s (rcons x y) = behind s x + joint Ms (c ++ s) x * worse (s ++ x) y.
Proof.
elim: x s => [|z x IH] s /=; first by rewrite cats0 mulr0 addr0 add0r mul1r.
by rewrite IH -!cats1 -!catA /=; ring.
Qed.
Lemma gen_ahead s Z : gen Ms (size Z) (c ++ s) (fun X => (ahead rank s Z X)%:R) = behind s Z.
Proof.
elim: Z s => [|z Z IH] s //=; rewrite -IH /worse -(sumV_delta z (fun t => Ms (c ++ s) t * gen Ms (size Z) (c ++ rcons s t) _)).
rewrite -sumVD; apply: sumV_eq => t; rewrite rcons_cat eq_sym; have [->|ne] := eqVneq t z.
  by rewrite ltnn mul0r add0r mul1r.
by rewrite gen_const mul0r addr0 mulrC.
Qed.
Lemma gen_not_ahead s Z : gen Ms (size Z) (c ++ s) (fun X => (~~ ahead rank s X Z)%:R) = behind s Z + joint Ms (c ++ s) Z.
Proof.
rewrite -gen_ahead -gen_delta addrC -genD; apply: gen_eq => X hX.
by rewrite (same_path rank_inj R s hX) subrK.
Qed.
Definition begins x : R := (behind [::] x + joint Ms c x) ^+ K - behind [::] x ^+ K.
Lemma chosen_is Z : size Z = gamma -> paths K (fun Xs => (chosen rank gamma [::] Xs == Z)%:R) = begins Z.
Proof.
move=> hZ; have ahead_ := gen_ahead [::] Z; have not_ahead := gen_not_ahead [::] Z.
rewrite cats0 hZ in ahead_ not_ahead; rewrite /begins -not_ahead -ahead_ -!paths_all -pathsB; apply: paths_eq => Xs hs ha.
have ne : Xs != [::] by rewrite -size_eq0 hs -lt0n.
have [sz -> ->] := chosen_behind rank_inj [::] ha ne hZ.
by rewrite (same_path rank_inj R [::]) // sz.
Qed.

Lemma telescope (f : R -> R) (r : V -> nat) (q : V -> R) w : injective r ->
  sumV (fun y => f (w + sumV (fun t => (r y < r t)%:R * q t) + q y) - f (w + sumV (fun t => (r y < r t)%:R * q t)))
  = f (w + sumV q) - f w.
Proof.
move=> inj; pose l := sort (fun a b : V => (r b <= r a)%N) (enum V).
have perm : perm_eq (enum V) l by rewrite perm_sym perm_sort.
have over (g : V -> R) : sumV g = \sum_(y <- l) g y by rewrite sumVE -big_enum; apply: perm_big.
have sorted_l : sorted (fun a b : V => (r b <= r a)%N) l by apply: sort_sorted => a b; apply: leq_total.
have uniq_l : uniq l by rewrite sort_uniq enum_uniq.
rewrite over (eq_bigr (fun y => f (w + \sum_(t <- l) (r y < r t)%:R * q t + q y) - f (w + \sum_(t <- l) (r y < r t)%:R * q t))) => [|y _]; last by rewrite over.
rewrite over; elim: l w sorted_l uniq_l {perm over} => [|x l IH] w; first by rewrite !big_nil addr0 subrr.
rewrite /= => pl /andP[nx ul].
have lt t : t \in l -> (r t < r x)%N.
  move=> tl; have tr : transitive (fun a b : V => (r b <= r a)%N) by move=> b a d /= ba ad; apply: leq_trans ad ba.
  have := allP (order_path_min tr pl) t tl; rewrite leq_eqVlt => /orP[/eqP/inj e|//].
  by move: nx; rewrite -e tl.
have gone : \sum_(t <- l) (r x < r t)%:R * q t = 0.
  by rewrite big_seq big1 // => t /lt lt'; rewrite ltnNge (ltnW lt') mul0r.
rewrite !big_cons ltnn mul0r add0r gone addr0.
rewrite big_seq (eq_bigr (fun y => f (w + q x + \sum_(t <- l) (r y < r t)%:R * q t + q y) - f (w + q x + \sum_(t <- l) (r y < r t)%:R * q t))) => [|y /lt lt'].
  by rewrite -big_seq (IH _ (path_sorted pl) ul) [w + (_ + _)]addrA [LHS]addrC addrA subrK.
by rewrite big_cons lt' mul1r !addrA.
Qed.
Lemma begins_rcons x y : begins (rcons x y)
  = (behind [::] x + sumV (fun t => (rank x y < rank x t)%:R * (joint Ms c x * Ms (c ++ x) t)) + joint Ms c x * Ms (c ++ x) y) ^+ K
    - (behind [::] x + sumV (fun t => (rank x y < rank x t)%:R * (joint Ms c x * Ms (c ++ x) t))) ^+ K.
Proof.
rewrite /begins behind_rcons cats0 joint_rcons /= /worse -sumVZ.
by rewrite (sumV_eq (g := fun t => (rank x y < rank x t)%:R * (joint Ms c x * Ms (c ++ x) t))) // => t; rewrite mulrCA.
Qed.
Lemma begins_sum x : sumV (fun y => begins (rcons x y)) = begins x.
Proof.
rewrite (sumV_eq (begins_rcons x)) (telescope (fun z => z ^+ K) (fun t => joint Ms c x * Ms (c ++ x) t) (behind [::] x) (@rank_inj x)).
by rewrite sumVZ row_sum mulr1.
Qed.
Lemma behind_ge0 s x : 0 <= behind s x.
Proof.
elim: x s => [|y x IH] s //=; apply: addr_ge0; last exact: mulr_ge0.
by apply: sumV_ge0 => t; rewrite mulr_ge0 ?ler0n.
Qed.
Lemma begins_ge0 x : 0 <= begins x.
Proof.
by rewrite subr_ge0 ler_expn2r // ?nnegrE ?addr_ge0 ?behind_ge0 ?joint_ge0 // ler_addl joint_ge0.
Qed.

(* The law of the chosen path, row by row. *)
Definition chosen_row (t : seq V) y : R := let s := drop (size c) t in
  if begins s == 0 then Ms (c ++ s) y else begins (rcons s y) / begins s.
Lemma chosen_row_ge0 (t : seq V) y : 0 <= chosen_row t y.
Proof. by rewrite /chosen_row; case: ifP => // _; rewrite divr_ge0 ?begins_ge0. Qed.
Lemma chosen_row_sum (t : seq V) : sumV (chosen_row t) = 1.
Proof.
rewrite /chosen_row; have [_|nz] := boolP (begins (drop (size c) t) == 0); first exact: row_sum.
by rewrite sumVZr begins_sum mulfV.
Qed.
Definition chosen_model : model V R := Model chosen_row_ge0 chosen_row_sum.
Lemma begins_row x y : begins (rcons x y) = begins x * chosen_model (c ++ x) y.
Proof.
rewrite /= /chosen_row drop_size_cat //; have [z|nz] := eqVneq (begins x) 0; last by rewrite mulrC divfK.
by rewrite z mul0r; apply: (sumV_eq0 (fun y => begins_ge0 (rcons x y))); rewrite begins_sum.
Qed.
Theorem chosen_law F : paths K (fun Xs => F (chosen rank gamma [::] Xs)) = gen chosen_model gamma c F.
Proof.
have chain n x G : sumB n (fun Z => begins (x ++ Z) * G Z) = begins x * gen chosen_model n (c ++ x) G.
  elim: n x G => [|n IH] x G; first by rewrite /= cats0.
  rewrite genS -sumVZ; apply: sumV_eq => y; rewrite mulrA -begins_row rcons_cat -IH.
  by apply: sumB_eq => Z _; rewrite cat_rcons.
have := chain gamma [::] F; rewrite cats0 {2}/begins /= add0r expr1n expr0n (gtn_eqF K0) subr0 mul1r => <-.
transitivity (paths K (fun Xs => sumB gamma (fun Z => (chosen rank gamma [::] Xs == Z)%:R * F Z))).
  apply: paths_eq => Xs hs ha; have ne : Xs != [::] by rewrite -size_eq0 hs -lt0n.
  have [X Xin] : exists X, X \in Xs by case: Xs ne {hs ha} => [//|X Xs] _; exists X; rewrite mem_head.
  have [sz _ _] := chosen_behind rank_inj [::] ha ne (eqP (allP ha X Xin)).
  by rewrite -[LHS](sumB_delta F sz); apply: sumB_eq => Z _; rewrite eq_sym.
rewrite paths_sumB; apply: sumB_eq => Z hZ.
by rewrite -(chosen_is hZ) mulrC -pathsZ; apply: paths_eq => Xs _ _; rewrite mulrC.
Qed.
(* Equation (7). *)
Theorem greedy_multi_path_valid (Mb : model V R) o : size o = gamma.+1 ->
  paths K (fun Xs => block_verify Mb chosen_model c (chosen rank gamma [::] Xs)
    (fun kept y => complete Mb gamma c (fun o' => (o' == o)%:R) (rcons kept y))) = joint Mb c o.
Proof. by move=> ho; rewrite (chosen_law (fun X => block_verify Mb chosen_model c X _)); apply: theorem_1. Qed.
End Law.
