(* Rules for draft trees that go down one token at a time: valid if each step is, for trees of every shape whose nodes
   of one text go on together.  So SpecInfer's multi-round rejection with equal siblings, recursive rejection without
   replacement, k-SEQ and every transport of drafts to tokens. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Models Algorithms Verifier Block SeveralDrafts.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

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
