(* What the Python code is compared with: the definitions of Algorithms.v evaluated on one
   problem.  This file needs no proof about the algorithms, so it also compiles when a changed
   definition has broken the proofs. *)
From Coq Require Import ZArith QArith Qcanon.
From mathcomp Require Import all_ssreflect all_algebra.
From Draftproof Require Import Models Algorithms Verifier Rationals.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Close Scope Q_scope. Local Close Scope Qc_scope.
Local Open Scope ring_scope.

Section Law.
Variables (V : vocabulary) (R : realFieldType) (Ms : seq V -> V -> R) (gamma : nat).
Variable W : seq V -> (seq V -> V -> R) -> R.
(* Pr((X^tau, Y) = o), and E[tau]. *)
Definition emitted (o : seq V) : R :=
  gen Ms gamma [::] (fun X => W X (fun kept y => (rcons kept y == o)%:R)).
Definition accepted : R := gen Ms gamma [::] (fun X => W X (fun kept _ => (size kept)%:R)).

(* What is computed for emitted: only drafts that begin as o does are verified. *)
Definition emitted_fast (o : seq V) : R :=
  let k := take (size o).-1 o in
  gen Ms gamma [::] (fun X =>
    if take (size o).-1 X == k then W X (fun kept y => (rcons kept y == o)%:R) else 0).
Lemma emitted_fastE o : (forall X, size X = gamma -> program X (W X)) -> emitted_fast o = emitted o.
Proof.
move=> prog; apply: gen_eq => X hX; case: eqP => // ne.
have [_ _ ->] := program_law (prog X hX); symmetry; apply: big1 => -[t lt] _.
rewrite -[RHS](sumV0 V); apply: sumV_eq => y; case: eqP => [e|_]; last by rewrite mulr0.
case: ne; rewrite -e size_rcons /= -cats1 [RHS]take_size_cat // size_takel // -ltnS.
Qed.

(* All sequences of n tokens, and all that one iteration may emit. *)
Fixpoint sequences n : seq (seq V) :=
  if n is n'.+1 then flatten [seq [seq x :: o | o <- sequences n'] | x <- tokens V]
  else [:: [::]].
Definition emissions : seq (seq V) := flatten [seq sequences n.+1 | n <- iota 0 gamma.+1].
End Law.
Lemma acceptedE (V : vocabulary) (R : realFieldType) (Ms : model V R) gamma W :
  accepted Ms gamma W = Etau Ms gamma [::] W.
Proof. by []. Qed.

(* The tokens 0..n, so listed that the list computes. *)
Definition numbered (n : nat) : vocabulary.
Proof.
exists (ordinal_finType n.+1) (map inZp (iota 0 n.+1)); apply: uniq_perm => [||x].
- rewrite map_inj_in_uniq ?iota_uniq // => a b; rewrite !mem_iota /= !add0n => la lb e.
  by have := congr1 val e; rewrite /= !modn_small.
- exact: enum_uniq.
- rewrite mem_enum; apply/mapP; exists (x : nat); first by rewrite mem_iota add0n ltn_ord.
  exact/esym/valZpK.
Defined.

(* A model written out as a tree: the row here, and what follows each token. *)
Inductive tree := Node of seq Qc & seq tree.
Fixpoint row_after (t : tree) (c : seq nat) : seq Qc :=
  let: Node row next := t in
  if c is x :: c' then row_after (nth t next x) c' else row.
Definition rows n (t : tree) (c : seq (numbered n)) (x : numbered n) : Qc :=
  nth 0 (row_after t (map val c)) (val x).
Definition q (a : Z) (b : positive) : Qc := Q2Qc (Qmake a b).


(* A line of the answer: the tokens, then the numerator and the denominator. *)
Definition line (o : seq nat) (p : Qc) : seq Z :=
  rcons (rcons (map Z.of_nat o) (Qnum p)) (Zpos (Qden p)).
(* E[tau], and the probability of every sequence that one iteration may emit. *)
Definition law_of n gamma (Ms : tree)
    (W : seq (numbered n) -> (seq (numbered n) -> numbered n -> Qc) -> Qc) : seq (seq Z) :=
  line [::] (accepted (@rows n Ms) gamma W)
  :: [seq line (map val o) (emitted_fast (@rows n Ms) gamma W o) | o <- emissions (numbered n) gamma].

(* Of the text after several iterations: the expected length, and the expectation of the text
   read as a number in base V + 1 with digits 1 to V, which no two texts share. *)
Definition as_length n (text : seq (numbered n)) : Qc := q (Z.of_nat (size text)) 1.
Definition as_number n (text : seq (numbered n)) : Qc :=
  foldl (fun a x => q (Z.of_nat n.+2) 1 * a + q (Z.of_nat (val x).+1) 1) 0 text.
Definition texts_of n (loop : (seq (numbered n) -> Qc) -> Qc) : seq (seq Z) :=
  [:: line [::] (loop (@as_length n)); line [::] (loop (@as_number n))].
