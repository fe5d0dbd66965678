From Coq Require Import ZArith QArith Qcanon.
From mathcomp Require Import all_ssreflect all_algebra.
From Draftproof Require Import Algorithms.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Close Scope Q_scope. Local Close Scope Qc_scope.
Local Open Scope ring_scope.

(* The rationals of Coq's standard library (pairs of binary numbers in lowest terms) as a
   real field.  MathComp's own are made of unary numbers; on these the definitions of
   Algorithms.v compute fast, and every theorem holds of them as of any real field. *)

Definition Qc_eqb (x y : Qc) : bool := Z.eqb (Qnum x) (Qnum y) && Pos.eqb (Qden x) (Qden y).
Lemma Qc_eqP : Equality.axiom Qc_eqb.
Proof.
move=> x y; apply: (iffP andP) => [[/Z.eqb_spec n /Pos.eqb_spec d]|->]; last first.
  by rewrite Z.eqb_refl Pos.eqb_refl.
by apply: Qc_decomp; case: x y n d => [[a b] /= _] [[a' b'] /= _] -> ->.
Qed.
Canonical Qc_eqType := EqType Qc (EqMixin Qc_eqP).

Definition Qc_code (x : Qc) : bool * nat * nat :=
  (Z.ltb (Qnum x) 0, Z.abs_nat (Qnum x), Pos.to_nat (Qden x)).
Definition Qc_decode (t : bool * nat * nat) : Qc :=
  let: (s, a, b) := t in
  Q2Qc (Qmake (if s then Z.opp (Z.of_nat a) else Z.of_nat a) (Pos.of_nat b)).
Lemma Qc_codeK : cancel Qc_code Qc_decode.
Proof.
move=> [[a b] /= e]; apply: Qc_decomp; rewrite /Qc_decode /Qc_code /= Pos2Nat.id Zabs2Nat.id_abs.
have -> : (if Z.ltb a 0 then Z.opp (Z.abs a) else Z.abs a) = a :> Z; last by [].
by case: Z.ltb_spec => h; [rewrite Z.abs_neq ?Z.opp_involutive //; apply: Z.lt_le_incl | rewrite Z.abs_eq].
Qed.
Canonical Qc_choiceType := ChoiceType Qc (CanChoiceMixin Qc_codeK).

Lemma Qc_addN : left_inverse (Q2Qc 0) Qcopp Qcplus.
Proof. by move=> x; rewrite Qcplus_comm; apply: Qcplus_opp_r. Qed.
Definition Qc_zmodMixin := ZmodMixin Qcplus_assoc Qcplus_comm Qcplus_0_l Qc_addN.
Canonical Qc_zmodType := ZmodType Qc Qc_zmodMixin.
Lemma Qc_mulD : left_distributive Qcmult Qcplus.
Proof. by move=> x y z; apply: Qcmult_plus_distr_l. Qed.
Definition Qc_ringMixin := ComRingMixin Qcmult_assoc Qcmult_comm Qcmult_1_l Qc_mulD (erefl : Q2Qc 1 != Q2Qc 0).
Canonical Qc_ringType := RingType Qc Qc_ringMixin.
Canonical Qc_comRingType := ComRingType Qc Qcmult_comm.
Lemma Qc_mulV : GRing.Field.axiom Qcinv.
Proof. by move=> x /eqP ne; apply: Qcmult_inv_l. Qed.
Lemma Qc_inv0 : Qcinv 0%R = 0%R. Proof. exact: Qc_decomp. Qed.
Canonical Qc_unitRingType := UnitRingType Qc (FieldUnitMixin Qc_mulV Qc_inv0).
Canonical Qc_comUnitRingType := [comUnitRingType of Qc].
Lemma Qc_field : GRing.Field.mixin_of Qc_unitRingType. Proof. by []. Qed.
Canonical Qc_idomainType := IdomainType Qc (FieldIdomainMixin Qc_field).
Canonical Qc_fieldType := FieldType Qc Qc_field.

Definition Qc_le (x y : Qc) : bool := Qle_bool x y.
Definition Qc_lt (x y : Qc) : bool := ~~ Qc_le y x.
Definition Qc_norm (x : Qc) : Qc := if Qc_le 0%R x then x else Qcopp x.
Lemma Qc_leP x y : reflect (Qcle x y) (Qc_le x y).
Proof. by apply: (iffP idP) => h; [apply/Qle_bool_iff | apply/Qle_bool_iff]. Qed.
Lemma Qc_le0D x y : Qc_le 0%R x -> Qc_le 0%R y -> Qc_le 0%R (x + y)%R.
Proof. by move=> /Qc_leP h /Qc_leP k; apply/Qc_leP; have := Qcplus_le_compat _ _ _ _ h k; rewrite Qcplus_0_l. Qed.
Lemma Qc_le0M x y : Qc_le 0%R x -> Qc_le 0%R y -> Qc_le 0%R (x * y)%R.
Proof. by move=> /Qc_leP h /Qc_leP k; apply/Qc_leP; have := Qcmult_le_compat_r _ _ _ h k; rewrite Qcmult_0_l. Qed.
Lemma Qc_le0_anti x : Qc_le 0%R x -> Qc_le x 0%R -> x = 0%R.
Proof. by move=> /Qc_leP h /Qc_leP k; apply: Qcle_antisym. Qed.
Lemma Qc_sub_ge0 x y : Qc_le 0%R (y - x)%R = Qc_le x y.
Proof. by apply/Qc_leP/Qc_leP => h; [apply/Qcle_minus_iff | move/Qcle_minus_iff: h]. Qed.
Lemma Qc_le_total x y : Qc_le x y || Qc_le y x.
Proof.
case: (Qclt_le_dec x y) => h; apply/orP; [left|right]; apply/Qc_leP => //.
exact: Qclt_le_weak.
Qed.
Lemma Qc_normN x : Qc_norm (- x)%R = Qc_norm x.
Proof.
have n : Qc_le 0%R (- x)%R = Qc_le x 0%R
  by have := Qc_sub_ge0 x 0%R; rewrite sub0r.
rewrite /Qc_norm n; have [h|h] := boolP (Qc_le x 0%R); have [k|k] := boolP (Qc_le 0%R x) => //.
- by rewrite (Qc_le0_anti k h) oppr0.
- exact: opprK.
- by have := Qc_le_total 0%R x; rewrite (negPf h) (negPf k).
Qed.
Lemma Qc_ge0_norm x : Qc_le 0%R x -> Qc_norm x = x.
Proof. by rewrite /Qc_norm => ->. Qed.
Lemma Qc_lt_def x y : Qc_lt x y = (y != x) && Qc_le x y.
Proof.
rewrite /Qc_lt; have [h|h] := boolP (Qc_le y x) => /=; last first.
  have := Qc_le_total y x; rewrite (negPf h) /= => ->; rewrite andbT; symmetry.
  by apply/eqP => e; case/negP: h; rewrite e; have := Qc_le_total x x; rewrite orbb.
by symmetry; apply/negP => /andP[/eqP ne /Qc_leP k]; case: ne; apply: Qcle_antisym => //; apply/Qc_leP.
Qed.
Definition Qc_leMixin : realLeMixin Qc_idomainType :=
  RealLeMixin Qc_le0D Qc_le0M Qc_le0_anti Qc_sub_ge0 (Qc_le_total 0%R) Qc_normN Qc_ge0_norm Qc_lt_def.
Canonical Qc_porderType := POrderType ring_display Qc Qc_leMixin.
Canonical Qc_latticeType := LatticeType Qc Qc_leMixin.
Canonical Qc_distrLatticeType := DistrLatticeType Qc Qc_leMixin.
Canonical Qc_orderType := OrderType Qc Qc_le_total.
Canonical Qc_numDomainType := NumDomainType Qc Qc_leMixin.
Canonical Qc_normedZmodType := NormedZmodType Qc Qc Qc_leMixin.
Canonical Qc_numFieldType := [numFieldType of Qc].
Canonical Qc_realDomainType := [realDomainType of Qc].
Canonical Qc_realFieldType := [realFieldType of Qc].

(* What the Python code is compared with: the definitions of Algorithms.v evaluated on one
   problem.  This file needs no proof about the algorithms, so it also compiles when a changed
   definition has broken the proofs. *)

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
