(* Lemma 10: no coupling of the two laws over blocks has a longer common prefix in
   expectation than greedy block verification accepts; and Lemma 4's bound is attained. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Models Algorithms Verifier Block Token Optimality Greedy.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

(* One verifier meets the bound of Lemma 4 at every prefix at once. *)
Theorem lemma_4_attained (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) gamma c :
  exists K : kernel V R gamma, valid Mb Ms gamma c (run K) /\
    forall x : seq V, (size x <= gamma)%N ->
      reach Ms gamma c (run K) x = joint Ms c x * p_of Mb Ms c x.
Proof.
have [K [_ e v]] := Etau_program Mb Ms c (fun X (_ : size X = gamma) => block_program Mb Ms c X).
exists K; split; first exact: v (theorem_1 Mb Ms c).
by move=> x le; rewrite -e lemma_3.
Qed.

Section Coupling.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R).
Variables (gamma : nat) (c : seq V).
Implicit Types (o s X x : seq V).

(* A joint law of a block of the large model and a block of the small one. *)
Record coupling := Coupling {
  pair :> seq V -> seq V -> R;
  pair_ge0 : forall o X, size o = gamma -> size X = gamma -> 0 <= pair o X;
  pair_large : forall o, size o = gamma -> sumB gamma (pair o) = joint Mb c o;
  pair_small : forall X, size X = gamma -> sumB gamma (pair^~ X) = joint Ms c X }.
(* The length of the longest common prefix. *)
Fixpoint common o X : nat :=
  match o, X with
  | y :: o', x :: X' => if y == x then (common o' X').+1 else 0%N
  | _, _ => 0%N
  end.
Definition overlap (pi : coupling) : R :=
  sumB gamma (fun o => sumB gamma (fun X => pi o X * (common o X)%:R)).
Definition shared i : R := sumB i (fun x => Num.min (joint Mb c x) (joint Ms c x)).

Lemma common_le o X : (common o X <= size X)%N.
Proof. by elim: o X => [|y o IH] [|x X] //=; case: ifP => // _; apply: IH. Qed.
Lemma common_ge t o X : (t <= size X)%N -> take t o = take t X -> (t <= common o X)%N.
Proof.
elim: t o X => [|t IH] [|y o] [|x X] //= le [-> e]; rewrite eqxx ltnS; exact: IH.
Qed.
Lemma lt_common i o X : (i < size o)%N -> (i < size X)%N ->
  (i < common o X)%N = (take i.+1 o == take i.+1 X).
Proof.
elim: o X i => [|y o IH] [|x X] // [|i] lo lX; rewrite /= eqseq_cons; case: eqP => //= _.
- by rewrite !take0 eqxx.
- by rewrite ltnS IH.
Qed.
Lemma common_sum o X : size o = gamma -> size X = gamma ->
  (common o X)%:R = \sum_(i < gamma) (take i.+1 o == take i.+1 X)%:R :> R.
Proof.
move=> ho hX; rewrite -[in LHS](minn_idPl (common_le o X)) hX -sum_lt natr_sum.
by apply: eq_bigr => i _; rewrite lt_common ?ho ?hX.
Qed.

Lemma sumB_sum n (I : Type) (r : seq I) (F : I -> seq V -> R) :
  sumB n (fun s => \sum_(i <- r) F i s) = \sum_(i <- r) sumB n (F i).
Proof.
elim: n F => [|n IH] F //=; rewrite -sumV_exch; apply: sumV_eq => x; exact: IH.
Qed.
Lemma sumB_sumV n (F : V -> seq V -> R) :
  sumB n (fun s => sumV (fun y => F y s)) = sumV (fun y => sumB n (F y)).
Proof. elim: n F => [|n IH] F //=; rewrite sumV_sumV; apply: sumV_eq => x; exact: IH. Qed.
Lemma sumB_exch n m (F : seq V -> seq V -> R) :
  sumB n (fun s => sumB m (F s)) = sumB m (fun x => sumB n (F^~ x)).
Proof.
elim: m F => [|m IH] F //=; rewrite sumB_sumV; apply: sumV_eq => y; exact: IH.
Qed.

Section Bound.
Variable pi : coupling.
Lemma agree_le i : (i <= gamma)%N ->
  sumB gamma (fun o => sumB gamma (fun X => pi o X * (take i o == take i X)%:R)) <= shared i.
Proof.
move=> le.
have marginal (M : model V R) x : size x = i ->
    sumB gamma (fun s => joint M c s * (x == take i s)%:R) = joint M c x.
  move=> hx; rewrite -gen_joint -gen_delta hx -(gen_take M c _ le).
  by apply: gen_eq => s _; rewrite eq_sym.
have -> : sumB gamma (fun o => sumB gamma (fun X => pi o X * (take i o == take i X)%:R))
    = sumB i (fun x => sumB gamma (fun o => sumB gamma (fun X =>
        pi o X * ((x == take i o)%:R * (x == take i X)%:R)))).
  rewrite [RHS]sumB_exch; apply: sumB_eq => o ho; rewrite [RHS]sumB_exch; apply: sumB_eq => X hX.
  by rewrite sumBZ (sumB_delta (fun x : seq V => (x == take i X)%:R)) ?size_takel ?ho.
apply: sumB_le => x hx; rewrite le_minr -(marginal Mb) // -(marginal Ms) //; apply/andP; split.
  apply: sumB_le => o ho; rewrite -(pair_large pi) // mulrC -sumBZ; apply: sumB_le => X hX.
  rewrite mulrC; apply: ler_wpmul2r; first exact: pair_ge0.
  by rewrite -natrM mulnb ler_nat; do 2!case: eqP.
rewrite sumB_exch; apply: sumB_le => X hX; rewrite -(pair_small pi) // mulrC -sumBZ.
apply: sumB_le => o ho; rewrite mulrC; apply: ler_wpmul2r; first exact: pair_ge0.
by rewrite -natrM mulnb ler_nat; do 2!case: eqP.
Qed.
Theorem lemma_10 : overlap pi <= \sum_(i < gamma) shared i.+1.
Proof.
have -> : overlap pi = \sum_(i < gamma) sumB gamma (fun o => sumB gamma (fun X =>
    pi o X * (take i.+1 o == take i.+1 X)%:R)).
  rewrite -sumB_sum; apply: sumB_eq => o ho; rewrite -sumB_sum; apply: sumB_eq => X hX.
  by rewrite common_sum // mulr_sumr.
by apply: ler_sum => -[i lt] _; apply: agree_le.
Qed.
End Bound.

(* At one draft. *)
Section Run.
Variables (K : kernel V R gamma) (X : seq V).
Hypothesis hX : size X = gamma.
Lemma run_le A B : (forall t y, (t <= gamma)%N -> A (take t X) y <= B (take t X) y) ->
  run K X A <= run K X B.
Proof.
move=> h; apply: ler_sum => -[t lt] _; apply: sumV_le => y.
by apply: ler_wpmul2l; [apply: law_ge0 | apply: h].
Qed.
Lemma run_eq A B : (forall t y, (t <= gamma)%N -> A (take t X) y = B (take t X) y) ->
  run K X A = run K X B.
Proof. by move=> h; apply/eqP; rewrite eq_le !run_le // => t y lt; rewrite h. Qed.
Lemma run_const a : run K X (fun _ _ => a) = a.
Proof.
rewrite -[RHS]mul1r -(law_sum K hX) mulr_suml; apply: eq_bigr => t _; exact: sumVZr.
Qed.
Lemma run_Zr a A : run K X (fun k y => A k y * a) = run K X A * a.
Proof.
rewrite /run mulr_suml; apply: eq_bigr => t _; rewrite -sumVZr; apply: sumV_eq => y.
by rewrite mulrA.
Qed.
Lemma run_sumB n (A : seq V -> seq V -> V -> R) :
  sumB n (fun o => run K X (A o)) = run K X (fun k y => sumB n (fun o => A o k y)).
Proof.
rewrite /run sumB_sum; apply: eq_bigr => t _; rewrite sumB_sumV; apply: sumV_eq => y; exact: sumBZ.
Qed.
End Run.

(* What greedy block verification makes of a draft X, completed to gamma tokens as in Lemma 8. *)
Definition ending o k (y : V) : R :=
  if size k == gamma then (k == o)%:R
  else gen (modified Mb Ms c) (gamma - size (rcons k y)) (rcons k y) (fun z => (rcons k y ++ z == o)%:R).
Lemma ending_ge0 o k y : 0 <= ending o k y.
Proof.
rewrite /ending; case: ifP => _; first exact: ler0n.
by apply: (gen_ge0 (modified_model Mb Ms c)) => z _; apply: ler0n.
Qed.
(* The law of the ending, through a test function. *)
Lemma ending_test k y (F : seq V -> R) : (size k <= gamma)%N ->
  sumB gamma (fun o => ending o k y * F o) = if size k == gamma then F k
  else gen (modified Mb Ms c) (gamma - size (rcons k y)) (rcons k y) (fun z => F (rcons k y ++ z)).
Proof.
move=> le; rewrite /ending; have [e|ne] := eqVneq (size k) gamma.
  rewrite -[RHS](sumB_delta F e); apply: sumB_eq => o _; by rewrite eq_sym.
have le' : (size (rcons k y) <= gamma)%N by rewrite size_rcons ltn_neqAle ne.
transitivity (gen (modified Mb Ms c) (gamma - size (rcons k y)) (rcons k y) (fun z =>
    sumB gamma (fun o => F o * (rcons k y ++ z == o)%:R))).
  by rewrite gen_sumB; apply: sumB_eq => o _; rewrite genZ mulrC.
apply: gen_eq => z hz; have e : size (rcons k y ++ z) = gamma by rewrite size_cat hz subnKC.
by rewrite -[RHS](sumB_delta F e); apply: sumB_eq => o _; rewrite mulrC eq_sym.
Qed.

(* The bound is what greedy block verification accepts, *)
Theorem Etau_greedy : Etau Ms gamma c (greedy_verify Mb Ms c) = \sum_(i < gamma) shared i.+1.
Proof.
have [K [-> e _]] := Etau_program Mb Ms c (fun X (_ : size X = gamma) => greedy_program Mb Ms c X).
rewrite Etau_reach; apply: eq_bigr => -[i lt] _; apply: sumB_eq => x hx.
by rewrite -e lemma_9 // hx.
Qed.
(* and its output, completed as in Lemma 8, is a coupling that attains it. *)
Theorem lemma_10_attained : exists pi : coupling, overlap pi = \sum_(i < gamma) shared i.+1.
Proof.
have [K E] := program_run (fun X (_ : size X = gamma) => greedy_program Mb Ms c X).
pose pi o X := joint Ms c X * run K X (ending o).
have ge0 o X : size o = gamma -> size X = gamma -> 0 <= pi o X.
  move=> _ hX; rewrite mulr_ge0 ?joint_ge0 // -(run_const K hX 0).
  by apply: run_le => // t y _; apply: ending_ge0.
have large o : size o = gamma -> sumB gamma (pi o) = joint Mb c o.
  move=> ho; rewrite -(lemma_8 Mb Ms c ho) -gen_joint; apply: gen_eq => X hX.
  by rewrite E // ho.
have small X : size X = gamma -> sumB gamma (pi^~ X) = joint Ms c X.
  move=> hX; rewrite sumBZ run_sumB -[RHS]mulr1 -(run_const K hX 1); congr (_ * _).
  apply: run_eq => // t y le.
  transitivity (sumB gamma (fun o => ending o (take t X) y * 1)).
    by apply: sumB_eq => o _; rewrite mulr1.
  rewrite ending_test ?size_takel ?hX //; case: ifP => // _.
  exact: (gen_const (modified_model Mb Ms c)).
exists (Coupling ge0 large small); apply/eqP; rewrite eq_le lemma_10 /=.
rewrite -Etau_greedy /overlap sumB_exch /Etau gen_joint; apply: sumB_le => X hX; rewrite E //.
have -> : sumB gamma (fun o => pi o X * (common o X)%:R)
    = joint Ms c X * run K X (fun k y => sumB gamma (fun o => ending o k y * (common o X)%:R)).
  rewrite -run_sumB -sumBZ; apply: sumB_eq => o _; by rewrite /pi -mulrA run_Zr.
apply: ler_wpmul2l; first exact: joint_ge0.
apply: run_le => // t y le; have hk : size (take t X) = t by rewrite size_takel ?hX.
have far s : (t <= common (take t X ++ s) X)%N.
  by apply: common_ge; rewrite ?hX // take_size_cat.
rewrite ending_test hk //; case: ifP => _; first by rewrite ler_nat -[take t X]cats0.
rewrite -[X in X <= _](gen_const (modified_model Mb Ms c) (gamma - size (rcons (take t X) y)) (rcons (take t X) y)).
by apply: (gen_le (modified_model Mb Ms c)) => z _; rewrite cat_rcons ler_nat.
Qed.
End Coupling.
