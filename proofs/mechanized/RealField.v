(* The real numbers of Coq's standard library as a real field of MathComp, so that the theorems speak of Flocq's formats.
   What they rest on are the library's own axioms: those of its reals, classical logic, extensionality of functions and, for
   MathComp's choice, the description of what exists (ClassicalEpsilon). *)
From Coq Require Import Reals ClassicalEpsilon FunctionalExtensionality Lra.
From mathcomp Require Import all_ssreflect ssralg ssrnum.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope R_scope.

Definition equal_reals (x y : R) : bool := if Req_EM_T x y is left _ then true else false.
Lemma equal_realsP : Equality.axiom equal_reals.
Proof. by move=> x y; rewrite /equal_reals; case: Req_EM_T => h; constructor. Qed.
Canonical R_eqType := Eval hnf in EqType R (EqMixin equal_realsP).

Definition picked (P : pred R) (n : nat) : option R :=
  let x := epsilon (inhabits 0) (fun x => P x = true) in if P x then Some x else None.
Fact picked_some P n x : picked P n = Some x -> P x.
Proof. by rewrite /picked; case: (boolP (P _)) => // h [<-]. Qed.
Fact picked_ex (P : pred R) : (exists x, P x) -> exists n, picked P n.
Proof. by move=> ex; exists 0%N; rewrite /picked (epsilon_spec (inhabits 0) _ ex). Qed.
Fact picked_ext (P Q : pred R) : P =1 Q -> picked P =1 picked Q.
Proof. by move=> /functional_extensionality ->. Qed.
Canonical R_choiceType := Eval hnf in ChoiceType R (Choice.Mixin picked_some picked_ex picked_ext).

Fact RplusA : associative Rplus. Proof. by move=> *; rewrite Rplus_assoc. Qed.
Canonical R_zmodType := Eval hnf in ZmodType R (ZmodMixin RplusA Rplus_comm Rplus_0_l Rplus_opp_l).
Fact RmultA : associative Rmult. Proof. by move=> *; rewrite Rmult_assoc. Qed.
Fact R1_neq_0 : R1 != R0. Proof. by apply/eqP/R1_neq_R0. Qed.
Canonical R_ringType := Eval hnf in RingType R
  (RingMixin RmultA Rmult_1_l Rmult_1_r Rmult_plus_distr_r Rmult_plus_distr_l R1_neq_0).
Canonical R_comRingType := Eval hnf in ComRingType R Rmult_comm.

Definition inverse x : R := if x != 0 then / x else x.
Fact inverseV : {in [pred x | x != 0], left_inverse 1 inverse Rmult}.
Proof. by move=> x nz; rewrite /inverse ifT ?inE //; apply/Rinv_l/eqP. Qed.
Fact inverse_unit x y : y * x = 1 -> x != 0.
Proof. by move=> h; apply/eqP => z; move: h; rewrite z Rmult_0_r; apply/eqP; rewrite eq_sym R1_neq_0. Qed.
Fact inverse_out : {in [predC [pred x | x != 0]], inverse =1 id}.
Proof. by move=> x; rewrite inE /= negbK /inverse => /eqP ->; rewrite eqxx. Qed.
Canonical R_unitRingType := Eval hnf in UnitRingType R (ComUnitRingMixin inverseV inverse_unit inverse_out).
Canonical R_comUnitRingType := Eval hnf in [comUnitRingType of R].
Lemma R_idomainMixin x y : x * y = 0 -> (x == 0) || (y == 0).
Proof. by move=> /Rmult_integral[->|->]; rewrite eqxx ?orbT. Qed.
Canonical R_idomainType := Eval hnf in IdomainType R R_idomainMixin.
Lemma R_fieldMixin : GRing.Field.mixin_of [unitRingType of R]. Proof. by []. Qed.
Canonical R_fieldType := FieldType R R_fieldMixin.

Definition at_most (x y : R) : bool := if Rle_dec x y is left _ then true else false.
Definition less_than (x y : R) : bool := if Rlt_dec x y is left _ then true else false.
Lemma at_mostP x y : reflect (x <= y) (at_most x y).
Proof. by rewrite /at_most; case: Rle_dec => h; constructor. Qed.
Lemma less_thanP x y : reflect (x < y) (less_than x y).
Proof. by rewrite /less_than; case: Rlt_dec => h; constructor. Qed.
Fact abs_add x y : at_most (Rabs (x + y)) (Rabs x + Rabs y). Proof. by apply/at_mostP/Rabs_triang. Qed.
Fact add_gt0 x y : less_than 0 x -> less_than 0 y -> less_than 0 (x + y).
Proof. by move=> /less_thanP a /less_thanP b; apply/less_thanP/Rplus_lt_0_compat. Qed.
Fact abs_eq0 x : Rabs x = 0 -> x = 0. Proof. by move=> h; case: (Req_dec x 0) => // /Rabs_no_R0. Qed.
Fact at_most_total x y : at_most 0 x -> at_most 0 y -> at_most x y || at_most y x.
Proof. by move=> _ _; case: (Rle_lt_dec x y) => [/at_mostP ->|/Rlt_le/at_mostP ->]; rewrite ?orbT. Qed.
Fact abs_mul : {morph Rabs : x y / x * y}. Proof. exact: Rabs_mult. Qed.
Fact at_most_def x y : at_most x y = (Rabs (y - x) == y - x).
Proof.
apply/idP/eqP => [/at_mostP le|e]; first by rewrite Rabs_right //; lra.
by apply/at_mostP; have := Rabs_pos (y - x); rewrite e; lra.
Qed.
Fact less_than_def x y : less_than x y = (y != x) && at_most x y.
Proof.
apply/less_thanP/andP => [lt|[/eqP ne /at_mostP le]]; last lra.
by split; [apply/eqP; lra | apply/at_mostP; lra].
Qed.
Definition R_numMixin := NumMixin abs_add add_gt0 abs_eq0 at_most_total abs_mul at_most_def less_than_def.
Canonical R_porderType := POrderType ring_display R R_numMixin.
Canonical R_numDomainType := NumDomainType R R_numMixin.
Canonical R_normedZmodType := NormedZmodType R R R_numMixin.
Lemma RleP x y : reflect (x <= y) (x <= y :> R)%O. Proof. exact: at_mostP. Qed.
Lemma RltP x y : reflect (x < y) (x < y :> R)%O. Proof. exact: less_thanP. Qed.
Fact R_total : totalPOrderMixin R_porderType.
Proof. by move=> x y; case: (Rle_lt_dec x y) => [/RleP ->|/Rlt_le/RleP ->]; rewrite ?orbT. Qed.
Canonical R_latticeType := LatticeType R R_total.
Canonical R_distrLatticeType := DistrLatticeType R R_total.
Canonical R_orderType := OrderType R R_total.
Canonical R_numFieldType := [numFieldType of R].
Canonical R_realDomainType := [realDomainType of R].
Canonical R_realFieldType := [realFieldType of R].
