(* What is built around a verifier: maps of rows (temperature, top-k, top-p, penalties), drafts without
   randomness, the one-hot rule and batches.  Drafts that end early are in SubBlocks.v. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum zify.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Models Algorithms Verifier Block Token Loops.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section RowMaps.
Variables (V : vocabulary) (R : realFieldType).
(* Weights made of the text so far and its row; not all of them 0. *)
Record row_map := RowMap {
  weigh :> seq V -> (V -> R) -> V -> R;
  weigh_ge0 : forall c r y, 0 <= weigh c r y;
  weigh_gt0 : forall c r, 0 < sumV (weigh c r) }.
Variable g : row_map.
Definition mapped_row (M : model V R) c y : R := g c (M c) y / sumV (g c (M c)).
Lemma mapped_ge0 M c y : 0 <= mapped_row M c y.
Proof. by rewrite divr_ge0 ?weigh_ge0 // ltW ?weigh_gt0. Qed.
Lemma mapped_sum M c : sumV (mapped_row M c) = 1.
Proof. by rewrite sumVZr mulfV // gt_eqF ?weigh_gt0. Qed.
Definition mapped M : model V R := Model (mapped_ge0 M) (mapped_sum M).
End RowMaps.
(* The text follows the mapped large model, whatever map the small model goes through. *)
Theorem mapped_lossless (V : vocabulary) (R : realFieldType) (g g' : row_map V R) (Mb Ms : model V R) gamma :
  lossless (mapped g Mb) (mapped g' Ms) gamma (block_verify (mapped g Mb) (mapped g' Ms)).
Proof. exact: block_lossless. Qed.

(* A draft X as a model that is sure of it; behind X any row will do. *)
Section Sure.
Variables (V : vocabulary) (R : realFieldType) (Mb : model V R) (c X : seq V).
Definition sure_row s y : R :=
  if (size s - size c < size X)%N then (y == nth y X (size s - size c))%:R else Mb s y.
Lemma sure_ge0 s y : 0 <= sure_row s y.
Proof. by rewrite /sure_row; case: ifP => _; rewrite ?ler0n ?row_ge0. Qed.
Lemma sure_sum s : sumV (sure_row s) = 1.
Proof.
rewrite /sure_row; have [lt|_] := boolP (size s - size c < size X)%N; last exact: row_sum.
case e : X lt => [|x0 X'] // lt; rewrite -e in lt *.
rewrite -[RHS](sumV_delta (nth x0 X (size s - size c)) (fun=> 1)); apply: sumV_eq => y.
by rewrite mulr1 (set_nth_default x0).
Qed.
Definition sure_model : model V R := Model sure_ge0 sure_sum.
Lemma gen_sure F : gen sure_model (size X) c F = F X.
Proof.
suff H todo pre G : pre ++ todo = X -> gen sure_model (size todo) (c ++ pre) G = G todo.
  by have := H X [::] F erefl; rewrite cats0.
elim: todo pre G => [|x todo IH] pre G // eX; rewrite genS.
rewrite -[RHS](sumV_delta x (fun y => G (y :: todo))); apply: sumV_eq => y.
have -> : row sure_model (c ++ pre) y = (y == x)%:R.
  by rewrite /= /sure_row size_cat addKn -eX size_cat addnS ltnS leq_addr nth_cat ltnn subnn.
case: eqP => [->|_]; last by rewrite !mul0r.
by rewrite !mul1r rcons_cat IH // cat_rcons.
Qed.
End Sure.
(* The one-hot rule reads every draft as if it were sure: accept x with M_b(x), else draw from what is
   left.  It is fair on each draft, hence lossless for any law of drafts, sampled ones included. *)
Theorem one_hot_rule (V : vocabulary) (R : realFieldType) (Mb : model V R) (c X : seq V) (U : seq V -> R) :
  (forall s, (size s <= size X)%N -> U s = sumV (fun y => Mb (c ++ s) y * U (rcons s y))) ->
  block_verify Mb (sure_model Mb c X) c X (fun k y => U (rcons k y)) = U [::]
  /\ token_verify Mb (sure_model Mb c X) c X (fun k y => U (rcons k y)) = U [::].
Proof.
move=> Uf; split.
  by rewrite -(@theorem_1_fair _ _ Mb (sure_model Mb c X) (size X) c U Uf) gen_sure.
by rewrite -(@token_fair _ _ Mb (sure_model Mb c X) (size X) c U Uf) gen_sure.
Qed.
Corollary one_hot_sampled (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) gamma c :
  fair Mb Ms gamma c (fun X => token_verify Mb (sure_model Mb c X) c X).
Proof.
move=> U Uf; rewrite -[RHS](gen_const Ms gamma c (U [::])); apply: gen_eq => X hX.
by have [|_ ->] := @one_hot_rule V R Mb c X U => // s; rewrite hX; apply: Uf.
Qed.

(* A batch: each request with its own context, verifier and coins. *)
Section Batch.
Variables (V : vocabulary) (R : realFieldType) (Ms : model V R) (gamma : nat).
Implicit Types (rs : seq (seq V * kernel V R gamma)).
Fixpoint batch rs (F : seq (seq V) -> R) : R :=
  if rs is (c, K) :: rs' then E Ms c K (fun _ k y => batch rs' (fun outs => F (rcons k y :: outs))) else F [::].
Lemma batch_const rs a : batch rs (fun=> a) = a.
Proof.
elim: rs => [|[c K] rs IH] //=; rewrite -[RHS](E_const Ms c K).
by apply: E_eq => X t y _ _; apply: IH.
Qed.
(* What a request gets does not depend on what else is in the batch, nor on where it stands in it. *)
Theorem batch_marginal rs i c0 K0 (A : seq V -> R) : (i < size rs)%N ->
  batch rs (fun outs => A (nth [::] outs i))
  = E Ms (nth (c0, K0) rs i).1 (nth (c0, K0) rs i).2 (fun _ k y => A (rcons k y)).
Proof.
elim: rs i => [|[c K] rs IH] [|i] //= lt.
  by apply: E_eq => X t y _ _; apply: batch_const.
rewrite -[RHS](E_const Ms c K); apply: E_eq => X t y _ _; exact: IH.
Qed.
End Batch.
