(* What a draft verification algorithm is, when it is valid (Equation (7)), and how a
   program that tosses coins is one. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Models Algorithms.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.
#[export] Hint Resolve row_ge0 row_sum : core.

Section Verifier.
Variables (V : vocabulary) (R : realFieldType).
Implicit Types (X kept o s : seq V) (A : seq V -> V -> R).

(* An arbitrary verifier for drafts of length gamma: for every draft X a law of
   (tau, Y).  It may depend on all of X and, being a variable, on both models in
   full; a verifier that sees less is a special case. *)
Record kernel (gamma : nat) := Kernel {
  law :> seq V -> nat -> V -> R;
  law_ge0 : forall X t y, size X = gamma -> 0 <= law X t y;
  law_sum : forall X, size X = gamma -> \sum_(t < gamma.+1) sumV (law X t) = 1 }.

(* The expectation of A(X^tau, Y). *)
Definition run gamma (K : kernel gamma) X A : R :=
  \sum_(t < gamma.+1) sumV (fun y => K X t y * A (take t X) y).

(* What a verifier does in one iteration from context c. *)
Section Iteration.
Variables (Mb Ms : model V R) (gamma : nat) (c : seq V).
Variable W : seq V -> (seq V -> V -> R) -> R.

(* E g(s Z): s is completed to gamma+1 tokens by the large model. *)
Definition complete (g : seq V -> R) s : R :=
  gen Mb (gamma.+1 - size s) (c ++ s) (fun z => g (s ++ z)).
(* The law of O = (X^tau, Y, Z), through a test function. *)
Definition completed (g : seq V -> R) : R :=
  gen Ms gamma c (fun X => W X (fun kept y => complete g (rcons kept y))).
(* Equation (7), block by block. *)
Definition valid : Prop :=
  forall o, size o = gamma.+1 -> completed (fun o' => (o' == o)%:R) = joint Mb c o.
(* Pr(X^i = x, tau >= i) for i = size x. *)
Definition reach (x : seq V) : R := gen Ms gamma c (fun X => W X (fun kept _ =>
  ((size x <= size kept)%N && (take (size x) X == x))%:R)).
(* E[tau]. *)
Definition Etau : R := gen Ms gamma c (fun X => W X (fun kept _ => (size kept)%:R)).

(* Validity in the form in which it is proved: whatever the large model keeps fair
   in expectation, the verifier's output keeps fair. *)
Definition fair : Prop := forall U : seq V -> R,
  (forall s, (size s <= gamma)%N -> U s = sumV (fun y => Mb (c ++ s) y * U (rcons s y))) ->
  gen Ms gamma c (fun X => W X (fun kept y => U (rcons kept y))) = U [::].

Lemma complete_fair g s : (size s <= gamma)%N ->
  complete g s = sumV (fun y => Mb (c ++ s) y * complete g (rcons s y)).
Proof.
move=> le; rewrite {1}/complete subSn // genS; apply: sumV_eq => y.
rewrite /complete size_rcons subSS rcons_cat; congr (_ * _).
by apply: gen_eq => z _; rewrite cat_rcons.
Qed.
Lemma fair_completed g : fair -> completed g = gen Mb gamma.+1 c g.
Proof.
by move=> f; rewrite /completed (f _ (complete_fair g)) /complete subn0 cats0.
Qed.
Lemma fair_valid : fair -> valid.
Proof. by move=> f o ho; rewrite fair_completed // -ho gen_delta. Qed.
End Iteration.

(* Programs: finitely many coins, then a prefix of the draft and one more draw. *)
Inductive program X : ((seq V -> V -> R) -> R) -> Prop :=
| Stop t d P of (t <= size X)%N & (forall y, 0 <= d y) & sumV d = 1 &
    (forall A, P A = draw d (A (take t X))) : program X P
| Toss h P Q S of 0 <= h <= 1 & program X P & program X Q &
    (forall A, S A = flip h (fun a => if a then P A else Q A)) : program X S.

Definition point (t : nat) (y : V) kept (y' : V) : R := ((size kept == t) && (y' == y))%:R.

Lemma program_law X P : program X P ->
  [/\ forall t y, 0 <= P (point t y),
      \sum_(t < (size X).+1) sumV (fun y => P (point t y)) = 1 &
      forall A, P A = \sum_(t < (size X).+1) sumV (fun y => P (point t y) * A (take t X) y)].
Proof.
elim=> {P} [t d P le d0 d1 e|h P Q S /andP[h0 h1] _ [P0 P1 PE] _ [Q0 Q1 QE] e].
  have E u y : P (point u y) = (t == u)%:R * d y.
    rewrite e /draw -[RHS]mulrC -(sumV_delta y (fun z => d z * (t == u)%:R)).
    apply: sumV_eq => z; rewrite /point size_takel // -mulnb natrM; ring.
  have tot (F : nat -> V -> R) :
      \sum_(u < (size X).+1) sumV (fun y => (t == u)%:R * d y * F u y)
      = sumV (fun y => d y * F t y).
    rewrite (bigD1 (Ordinal (n := (size X).+1) le)) //= eqxx big1 ?addr0.
      by apply: sumV_eq => y; rewrite mul1r.
    move=> u ne; rewrite -[RHS](sumV0 V); apply: sumV_eq => y.
    case: eqP => [tu|]; last by rewrite !mul0r.
    by case/eqP: ne; apply: val_inj.
  split=> [u y||A]; first by rewrite E mulr_ge0.
    rewrite -d1; transitivity (sumV (fun y => d y * 1)).
      rewrite -(tot (fun _ _ => 1)).
      by apply: eq_bigr => u _; apply: sumV_eq => y; rewrite E mulr1.
    by apply: sumV_eq => y; rewrite mulr1.
  rewrite e /draw -(tot (fun u => A (take u X))); apply: eq_bigr => u _.
  by apply: sumV_eq => y; rewrite E.
split=> [t y||A].
- by rewrite e /flip addr_ge0 // mulr_ge0 // subr_ge0.
- transitivity (h * (\sum_(t < (size X).+1) sumV (fun y => P (point t y)))
    + (1 - h) * (\sum_(t < (size X).+1) sumV (fun y => Q (point t y)))); last first.
    by rewrite P1 Q1; ring.
  rewrite !mulr_sumr -big_split; apply: eq_bigr => t _ /=.
  by rewrite -!sumVZ -sumVD; apply: sumV_eq => y; rewrite e.
rewrite e /flip PE QE !mulr_sumr -big_split; apply: eq_bigr => t _ /=.
rewrite -!sumVZ -sumVD; apply: sumV_eq => y; rewrite e /flip; ring.
Qed.

(* The bridge from an algorithm to a kernel. *)
Definition kernel_of gamma (W : seq V -> (seq V -> V -> R) -> R)
    (prog : forall X, size X = gamma -> program X (W X)) : kernel gamma.
Proof.
exists (fun X t y => W X (point t y)) => X.
- by move=> t y hs; have [p _ _] := program_law (prog X hs); apply: p.
- by move=> hs; have [_ p _] := program_law (prog X hs); rewrite -p hs.
Defined.
Lemma run_kernel_of gamma W (prog : forall X, size X = gamma -> program X (W X)) X A :
  size X = gamma -> run (kernel_of prog) X A = W X A.
Proof.
by move=> hs; have [_ _ ->] := program_law (prog X hs); rewrite hs.
Qed.
Lemma program_run gamma (W : seq V -> (seq V -> V -> R) -> R) :
  (forall X, size X = gamma -> program X (W X)) ->
  exists K : kernel gamma, forall X A, size X = gamma -> W X A = run K X A.
Proof. by move=> prog; exists (kernel_of prog) => X A hs; rewrite run_kernel_of. Qed.

Lemma program_ext X P A B : program X P ->
  (forall t y, (t <= size X)%N -> A (take t X) y = B (take t X) y) -> P A = P B.
Proof.
move=> /program_law[_ _ e] h; rewrite !e; apply: eq_bigr => t _.
by apply: sumV_eq => y; rewrite h // -ltnS.
Qed.

(* Expectations over the draft and an arbitrary verifier's coins. *)
Section Kernel.
Variables (Ms : model V R) (gamma : nat) (c : seq V) (K : kernel gamma).
Implicit Types (B : seq V -> seq V -> V -> R).
Definition E B : R := gen Ms gamma c (fun X => run K X (B X)).

Lemma E_le B B' :
  (forall X t y, size X = gamma -> (t <= gamma)%N -> B X (take t X) y <= B' X (take t X) y) ->
  E B <= E B'.
Proof.
move=> h; apply: gen_le => X hs; rewrite /run; apply: ler_sum => -[t lt] _.
by apply: sumV_le => y; apply: ler_wpmul2l; [apply: law_ge0 | apply: h].
Qed.
Lemma E_eq B B' :
  (forall X t y, size X = gamma -> (t <= gamma)%N -> B X (take t X) y = B' X (take t X) y) ->
  E B = E B'.
Proof. by move=> h; apply/eqP; rewrite eq_le !E_le // => X t y hs lt; rewrite h. Qed.
Lemma E_draft F : E (fun X _ _ => F X) = gen Ms gamma c F.
Proof.
apply: gen_eq => X hs.
rewrite -[RHS]mul1r -(law_sum K hs) /run mulr_suml; apply: eq_bigr => t _.
by rewrite -sumVZr.
Qed.
Lemma E_const a : E (fun _ _ _ => a) = a.
Proof. by rewrite E_draft gen_const. Qed.
Lemma ED B B' : E (fun X k y => B X k y + B' X k y) = E B + E B'.
Proof.
rewrite -genD; apply: gen_eq => X _; rewrite /run -big_split; apply: eq_bigr => t _ /=.
by rewrite -sumVD; apply: sumV_eq => y; rewrite mulrDr.
Qed.
Lemma EZ a B : E (fun X k y => a * B X k y) = a * E B.
Proof.
rewrite -genZ; apply: gen_eq => X _; rewrite /run mulr_sumr; apply: eq_bigr => t _.
by rewrite -sumVZ; apply: sumV_eq => y; rewrite mulrCA.
Qed.
Lemma E0 : E (fun _ _ _ => 0) = 0.
Proof. exact: E_const. Qed.
Lemma E_sumV (B : V -> seq V -> seq V -> V -> R) :
  E (fun X k y => sumV (fun x => B x X k y)) = sumV (fun x => E (B x)).
Proof.
rewrite -gen_sumV; apply: gen_eq => X _.
rewrite /run sumV_exch; apply: eq_bigr => t _; rewrite sumV_sumV; apply: sumV_eq => y.
by rewrite -sumVZ.
Qed.
Lemma E_sumB n (B : seq V -> seq V -> seq V -> V -> R) :
  E (fun X k y => sumB n (fun o => B o X k y)) = sumB n (fun o => E (B o)).
Proof. by elim: n B => [|n IH] B //=; rewrite E_sumV; apply: sumV_eq => x; apply: IH. Qed.
Lemma E_sum (I : Type) (r : seq I) (B : I -> seq V -> seq V -> V -> R) :
  E (fun X k y => \sum_(i <- r) B i X k y) = \sum_(i <- r) E (B i).
Proof.
elim: r => [|i r IH].
  by rewrite big_nil -[RHS]E0; apply: E_eq => *; rewrite big_nil.
by rewrite big_cons -IH -ED; apply: E_eq => *; rewrite big_cons.
Qed.
End Kernel.
End Verifier.
