(* Several drafts: recursive rejection and traversal verification are valid, for draft trees of every shape,
   whatever rows their tokens are drawn from; one step of k-SEQ keeps the target's row. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Models Algorithms Verifier Block.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

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
