(* List matching is lossless: with the target's pick drawn from its law given the drafts' (joint_law), every step has the target's
   law, and so has the rule on every tree.  The breaks that joint_law is made of exist for any two rows. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Models Algorithms Verifier Block SeveralDrafts ProblemRounding Descent ListMatching ListMatchingRounding ListMatchingStep ListMatchingTree.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section Breaks.
Variables (V : vocabulary) (R : realFieldType) (p q : V -> R).
Implicit Types (v x y : V) (xs : seq V).
(* The times p / q in order, and which of them is that of v. *)
Definition times : seq R := sort <=%R [seq p v / q v | v <- tokens V & q v != 0].
Definition time_at j : R := nth 0 times j.
Definition time_of v : nat := index (p v / q v) times.
Hypotheses (p0 : forall v, 0 <= p v) (q0 : forall v, 0 <= q v) (p1 : sumV p = 1) (q1 : sumV q = 1).
Lemma in_times v : q v != 0 -> p v / q v \in times.
Proof.
move=> qn; rewrite mem_sort; apply/mapP; exists v => //.
by rewrite mem_filter qn (perm_mem (tokens_ok V)) mem_enum.
Qed.
Lemma time_breaks v : q v != 0 -> (time_of v < size times)%N /\ q v * time_at (time_of v) = p v.
Proof.
move=> qn; have mem := in_times qn; split; first by rewrite index_mem.
by rewrite /time_at nth_index // mulrC divfK.
Qed.
Lemma times_ordered j : (j.+1 < size times)%N -> time_at j <= time_at j.+1.
Proof.
move=> lt; have := sort_sorted (@le_total _ R) [seq p v / q v | v <- tokens V & q v != 0].
by move/(sorted_leq_nth le_trans lexx 0); apply; rewrite ?inE // ltnW.
Qed.
Lemma times_gt0 : (0 < size times)%N.
Proof.
have [v qn] : exists v, q v != 0.
  apply/existsP; rewrite -[X in is_true X]negbK negb_exists; apply/negP => /forallP z.
  have : sumV q = 0 by rewrite -(@sumV0 V R); apply: sumV_eq => v; apply/eqP; have := z v; rewrite negbK.
  by rewrite q1 => /eqP; rewrite oner_eq0.
by have [lt _] := time_breaks qn; apply: leq_ltn_trans lt.
Qed.
Lemma times_first : 0 < slope q time_of 0.
Proof.
have : nth 0 times 0 \in times by apply: mem_nth times_gt0.
rewrite mem_sort => /mapP[v]; rewrite mem_filter => /andP[qn _] e.
apply: lt_le_trans (_ : 0 < q v) _; first by rewrite lt0r qn q0.
have at0 : time_of v = 0%N by rewrite /time_of -e; case: times times_gt0 => //= t l _; rewrite eqxx.
rewrite /slope sumVE (bigD1 v) //= /inn qn at0 mul1r ler_addl sumr_ge0 // => y _.
by rewrite mulr_ge0 ?ler0n.
Qed.

Variable K : nat.
Hypothesis K0 : (0 < K)%N.
Notation picks := (picks p q (size times) time_at time_of).
Notation picks_first := (picks_first p q (size times) time_at time_of).
(* The law of the target's pick and of the drafts', K of them; and the target's pick given theirs. *)
Definition matched_law xs y : R := joint_law p q (size times) time_at time_of K xs y.
Definition matched_row xs y : R := if sumV (matched_law xs) == 0 then p y else matched_law xs y / sumV (matched_law xs).
Let breaks := time_breaks.
Let T1 : 0 < sumV p. Proof. by rewrite p1 ltr01. Qed.
Lemma last_slope : slope q time_of (size times).-1 = 1.
Proof.
rewrite -q1; apply: sumV_eq => v; rewrite /inn; have [->|qn] := eqVneq (q v) 0; first by rewrite mulr0.
by have [lt _] := breaks qn; rewrite -ltnS prednK ?times_gt0 // lt mul1r.
Qed.
Theorem matched_drafts xs : size xs = K -> sumV (matched_law xs) = \prod_(x <- xs) q x.
Proof.
move=> hs; rewrite (joint_law_drafts q0 times_gt0 breaks times_ordered times_first T1 K0 hs) last_slope.
by apply: eq_bigr => x _; rewrite divr1.
Qed.
Theorem matched_target y : sumB K (matched_law^~ y) = p y.
Proof. by rewrite (joint_law_target q0 times_gt0 breaks times_ordered times_first K0) p1 divr1. Qed.
Theorem matched_ge0 xs y : 0 <= matched_law xs y.
Proof.
rewrite /matched_law (joint_race q0 breaks times_ordered times_first); apply: mulr_ge0 => //; rewrite big_seq.
have piece0 x j : (j < size times)%N -> positive (piece_of p q (size times) time_at time_of x j).
  move=> lt; have s0 : 0 <= slope q time_of j by apply/ltW/(slope_gt0 q0 times_first).
  rewrite /positive /piece_of /= divr_ge0 // (rate_ge0 q0 breaks times_ordered times_first lt) /= /clocks_of.
  by case: ifP => //= lt'; rewrite (clock_ge0 q0 times_ordered times_first lt').
have self (w : piece R) : near_piece 0 w w.
  have r (v : R) : rel 0 v v by rewrite /rel subrr normr0 mul0r.
  by split=> //; elim: w.2.
have span0 x : all (@positive R) (span p q (size times) time_at time_of x).
  by apply/allP => w /mapP[j]; rewrite mem_filter mem_iota => /andP[_ lt] ->; apply: piece0.
have first0 x : all (@positive R) (span_first p q (size times) time_at time_of y x).
  rewrite /span_first; case: eqP => _; last first.
    by apply/allP => w /mapP[j]; rewrite mem_filter mem_iota => /andP[_ lt] ->; apply: piece0.
  have [_|qn] := eqVneq (q x) 0 => //; have [lt _] := breaks qn.
  by rewrite /= /positive /= ler01 (rate_ge0 q0 breaks times_ordered times_first lt).
have near (X : seq (seq (piece R))) : all (all (@positive R)) X -> near_spans 0 (\max_(sp <- X) size sp) X X.
  suff H n : (forall sp, sp \in X -> (size sp <= n)%N) -> all (all (@positive R)) X -> near_spans 0 n X X.
    by apply: H => sp mem; rewrite (big_rem _ mem) leq_maxl.
  elim: X => //= sp X IH le /andP[h hX]; split=> //; first by apply: le; rewrite inE eqxx.
  by apply: IH => // sp' mem; apply: le; rewrite inE mem orbT.
have KT : 0 < K%:R * sumV p by rewrite mulr_gt0 // ltr0n.
apply: sumr_ge0 => X mem; apply: (race_ge0 (near X _) KT) => //.
elim: xs X mem => //= x xs IH X; rewrite inE => /orP[/eqP ->|/mapP[X' mem ->]] /=; last by rewrite span0 IH.
by rewrite first0 /=; apply/allP => sp /mapP[z _ ->].
Qed.
Theorem matched_step (U : V -> R) :
  siblings (fun=> q) pred0 K [::] (fun xs => draw (matched_row xs) U) = draw p U.
Proof.
have sumB_sumV n (H : seq V -> V -> R) : sumB n (fun xs => sumV (H xs)) = sumV (fun y => sumB n (H^~ y)).
  elim: n H => //= n IH H; rewrite sumV_sumV; apply: sumV_eq => x; exact: (IH (fun xs => H (x :: xs))).
transitivity (sumB K (fun xs => sumV (fun y => matched_law xs y * U y))).
  rewrite siblings_prod; apply: sumB_eq => xs hs; rewrite -(matched_drafts hs) /draw -sumVZ; apply: sumV_eq => y.
  rewrite mulrA; congr (_ * _); rewrite /matched_row; have [z|nz] := eqVneq (sumV (matched_law xs)) 0.
    by rewrite z mul0r (sumV_eq0 (matched_ge0 xs) z).
  by rewrite mulrC divfK.
rewrite sumB_sumV; apply: sumV_eq => y; rewrite -(matched_target y) mulrC -sumBZ.
by apply: sumB_eq => xs _; rewrite mulrC.
Qed.
Theorem matched_row_ok xs : sumV (matched_row xs) = 1 /\ forall y, 0 <= matched_row xs y.
Proof.
rewrite /matched_row; have [z|nz] := eqVneq (sumV (matched_law xs)) 0; first by split.
split=> [|y]; first by rewrite sumVZr mulfV.
by rewrite divr_ge0 ?sumV_ge0 ?matched_ge0 // => v; apply: matched_ge0.
Qed.
End Breaks.

(* On every tree: siblings are independent draws from the small model's row, and nodes of one text go on together; the pick is
   accepted if it is one of the drafts. *)
Theorem list_matching_valid (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (c : seq V) (gamma : nat) (f : seq tree)
    (o : seq V) : size o = gamma.+1 ->
  descend (independent Ms c) (fun _ => pred0)
    (fun s k xs h => draw (if k == 0%N then Mb (c ++ s) else matched_row (Mb (c ++ s)) (Ms (c ++ s)) k xs) (fun y => h y (y \in xs)))
    (fun s => Mb (c ++ s)) gamma [::] f (fun s y => complete Mb gamma c (fun o' => (o' == o)%:R) (rcons s y)) = joint Mb c o.
Proof.
apply: descend_valid => // [s k xs g g' e|s [|k] U //].
  by apply: sumV_eq => y; rewrite e.
exact: (matched_step (row_ge0 Mb _) (row_ge0 Ms _) (row_sum Mb _) (row_sum Ms _) (ltn0Sn k)).
Qed.
