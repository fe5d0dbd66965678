(* Whole loops: Lemma 2 (a verifier satisfies Equation (7) exactly if Algorithm 3 with it is
   lossless) and Algorithm 6 (greedy block verification with the modifications nested). *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Models Algorithms Verifier Block Token Optimality Greedy.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

(* E g(the first N tokens), the text so far being s and M going on from it. *)
Definition to_come (V : vocabulary) (R : realFieldType) (M : seq V -> V -> R) N (g : seq V -> R) s : R :=
  gen M (N - size s) s (fun z => g (take N (s ++ z))).
Lemma to_come_done (V : vocabulary) (R : realFieldType) (M : seq V -> V -> R) N (g : seq V -> R) s :
  (N <= size s)%N -> to_come M N g s = g (take N s).
Proof. by rewrite /to_come -subn_eq0 => /eqP ->; rewrite /= cats0. Qed.

Section Martingales.
Variables (V : vocabulary) (R : realFieldType) (M : model V R).
Implicit Types (c s o : seq V) (g H : seq V -> R).
(* Functions of the text that sampling from M keeps fair. *)
Definition lasting H : Prop := forall s, H s = sumV (fun y => M s y * H (rcons s y)).
Lemma to_come_lasting N g : lasting (to_come M N g).
Proof.
move=> s; rewrite /to_come; have [lt|ge] := ltnP (size s) N.
  rewrite -(subnSK lt) genS; apply: sumV_eq => y; rewrite size_rcons; congr (_ * _).
  by apply: gen_eq => z _; rewrite cat_rcons.
rewrite -[LHS]mul1r -(row_sum M s) -sumVZr; apply: sumV_eq => y; congr (_ * _).
have /eqP -> : (N - size s == 0)%N by rewrite subn_eq0.
have /eqP -> : (N - size (rcons s y) == 0)%N by rewrite subn_eq0 size_rcons leqW.
by rewrite /= !cats0 -cats1 takel_cat.
Qed.
Lemma to_come_tokens n g c : to_come M (size c + n) (fun s => g (drop (size c) s)) c = gen M n c g.
Proof.
rewrite /to_come addKn; apply: gen_eq => z <-.
by rewrite -size_cat take_size drop_size_cat.
Qed.
Lemma lasting_gen n c H : lasting H -> gen M n c (fun s => H (c ++ s)) = H c.
Proof.
move=> l; elim: n c => [|n IH] c /=; first by rewrite cats0.
rewrite [RHS]l; apply: sumV_eq => y; rewrite -IH; congr (_ * _).
by apply: gen_eq => s _; rewrite cat_rcons.
Qed.
End Martingales.

Section Loops.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma : nat).
Variable W : verifier V R.
Implicit Types (c s o X : seq V) (g H A B : seq V -> R).
(* W is a draft verification algorithm: at every context a law of (tau, Y) for each draft. *)
Definition lawful : Prop := forall c, exists K : kernel V R gamma,
  forall X D, size X = gamma -> W c X D = run K X D.
(* Definition 1: N tokens of the loop's text, after as many iterations (each gives at least
   one token), have the large model's law. *)
Definition lossless : Prop := forall n c o, (size o <= n)%N ->
  specdec Ms gamma W n c (fun s => (take (size o) (drop (size c) s) == o)%:R) = joint Mb c o.

Hypothesis Wlaw : lawful.
Lemma W_ext c X A B : size X = gamma ->
  (forall t y, (t <= gamma)%N -> A (rcons (take t X) y) = B (rcons (take t X) y)) ->
  W c X (fun k y => A (rcons k y)) = W c X (fun k y => B (rcons k y)).
Proof.
move=> hX e; have [K E] := Wlaw c; rewrite !E // /run; apply: eq_bigr => -[t lt] _.
by apply: sumV_eq => y; rewrite e.
Qed.
Lemma specdec_ext n c A B :
  (forall s, (n <= size s)%N -> A (c ++ s) = B (c ++ s)) -> specdec Ms gamma W n c A = specdec Ms gamma W n c B.
Proof.
elim: n c => [|n IH] c e /=; first by have := e [::] isT; rewrite cats0.
apply: gen_eq => X hX.
apply: (@W_ext c X (fun s => specdec Ms gamma W n (c ++ s) A) (fun s => specdec Ms gamma W n (c ++ s) B)) => // t y _.
apply: IH => s le; rewrite -catA; apply: e; rewrite size_cat size_rcons addSn ltnS.
exact: leq_trans le (leq_addl _ _).
Qed.
Lemma specdec_const n c a : specdec Ms gamma W n c (fun=> a) = a.
Proof.
elim: n c => [|n IH] c //=; have [K E] := Wlaw c.
rewrite -[RHS](E_const Ms c K a); apply: gen_eq => X hX.
rewrite -E //; exact: (@W_ext c X (fun s => specdec Ms gamma W n (c ++ s) (fun=> a)) (fun=> a)).
Qed.
Lemma valid_fair c : valid Mb Ms gamma c (W c) -> fair Mb Ms gamma c (W c).
Proof.
move=> v U Uf; have [K E] := Wlaw c.
have vK : valid Mb Ms gamma c (run K).
  by move=> o ho; rewrite -v // /completed; apply: gen_eq => X hX; rewrite E.
have full n s : (size s + n)%N = gamma.+1 -> gen Mb n (c ++ s) (fun z => U (s ++ z)) = U s.
  elim: n s => [|n IH] s hn; first by rewrite /= cats0.
  rewrite genS Uf; last by move: hn; rewrite addnS => -[<-]; apply: leq_addr.
  apply: sumV_eq => y; rewrite -IH ?size_rcons ?addSnnS // rcons_cat; congr (_ * _).
  by apply: gen_eq => z _; rewrite cat_rcons.
transitivity (completed Mb Ms gamma c (run K) U); last first.
  by rewrite valid_completed //; have := full gamma.+1 [::]; rewrite cats0 => -> //; rewrite add0n.
rewrite /completed; apply: gen_eq => X hX; rewrite E // /run; apply: eq_bigr => -[t lt] _.
apply: sumV_eq => y; rewrite /complete full // subnKC // size_rcons ltnS.
by rewrite size_takel // hX -ltnS.
Qed.

Theorem loop_fair n c H : (forall c, valid Mb Ms gamma c (W c)) -> lasting Mb H ->
  specdec Ms gamma W n c H = H c.
Proof.
move=> v l; elim: n c => [|n IH] c //=.
rewrite -[in RHS](cats0 c) -(valid_fair (v c) (U := fun s => H (c ++ s))) => [|s _].
  by apply: gen_eq => X hX; apply: (@W_ext c X (fun s => specdec Ms gamma W n (c ++ s) H) (fun s => H (c ++ s))).
by rewrite l; apply: sumV_eq => y; rewrite rcons_cat.
Qed.
(* After any number of iterations, the text completed by the large model. *)
Corollary loop_completed n N c g : (forall c, valid Mb Ms gamma c (W c)) ->
  specdec Ms gamma W n c (to_come Mb (size c + N) (fun s => g (drop (size c) s))) = gen Mb N c g.
Proof. by move=> v; rewrite loop_fair ?to_come_tokens //; apply: to_come_lasting. Qed.

Theorem lemma_2 : (forall c, valid Mb Ms gamma c (W c)) <-> lossless.
Proof.
split=> [v n c o le|l c o ho].
  rewrite -gen_delta -(loop_completed n (size o) c _ v); apply: specdec_ext => s ls.
  rewrite to_come_done; last by rewrite size_cat leq_add2l (leq_trans le).
  by rewrite take_drop addnC.
transitivity (specdec Ms gamma W gamma.+2 c (fun s => (take (size o) (drop (size c) s) == o)%:R)); last first.
  by apply: l; rewrite ho.
rewrite ![in RHS]/=; apply: gen_eq => X hX.
apply: (@W_ext c X (fun s => complete Mb gamma c (fun o' => (o' == o)%:R) s)
  (fun s => specdec Ms gamma W gamma.+1 (c ++ s) (fun s => (take (size o) (drop (size c) s) == o)%:R))) => // t y lt.
set k := rcons _ _; have hk : (size k <= size o)%N by rewrite size_rcons size_takel ?hX ?ho.
have e s : take (size o) (drop (size c) (c ++ k ++ s)) = k ++ take (size o - size k) s.
  by rewrite drop_size_cat // take_cat ltnNge hk.
rewrite /complete -ho; have [ok|no] := eqVneq (take (size k) o) k; last first.
  have zero w : ((k ++ w == o)%:R : R) = 0.
    by case: eqP => // eo; rewrite -eo take_size_cat ?eqxx in no.
  transitivity (gen Mb (size o - size k) (c ++ k) (fun=> 0) : R).
    by apply: gen_eq => w _; apply: zero.
  rewrite gen0 -[LHS](specdec_const (size o) (c ++ k)); apply: specdec_ext => s _.
  by rewrite -catA e zero.
have same w : (k ++ w == o) = (w == drop (size k) o).
  by rewrite -{1}(cat_take_drop (size k) o) ok eqseq_cat // eqxx.
transitivity (gen Mb (size o - size k) (c ++ k) (fun w => (w == drop (size k) o)%:R) : R).
  by apply: gen_eq => w _; rewrite same.
rewrite -size_drop gen_delta -(l (size o)); last by rewrite size_drop leq_subr.
by apply: specdec_ext => s _; rewrite -[in RHS]catA e same size_drop drop_size_cat // -catA.
Qed.
End Loops.

Section Instances.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma : nat).
Lemma lawful_program (W : verifier V R) :
  (forall c X, size X = gamma -> program X (W c X)) -> lawful gamma W.
Proof. by move=> prog c; apply: program_run; apply: prog. Qed.
Theorem block_lossless : lossless Mb Ms gamma (block_verify Mb Ms).
Proof.
apply/lemma_2 => [|c]; last exact: theorem_1.
by apply: lawful_program => c X _; apply: block_program.
Qed.
Theorem token_lossless : lossless Mb Ms gamma (token_verify Mb Ms).
Proof.
apply/lemma_2 => [|c]; last exact: token_valid.
by apply: lawful_program => c X _; apply: token_program.
Qed.
End Instances.

Section GreedyLoop.
Variables (V : vocabulary) (R : realFieldType) (Ms : model V R) (gamma : nat).
Implicit Types (T : model V R) (c s o X : seq V) (g : seq V -> R).

Lemma modify_ge0 T start u y : 0 <= modify T Ms gamma start u y.
Proof. by rewrite /modify; case: ifP => _; [apply: modified_ge0 | apply: row_ge0]. Qed.
Lemma modify_sum T start u : sumV (modify T Ms gamma start u) = 1.
Proof. by rewrite /modify; case: ifP => _; [apply: modified_sum | apply: row_sum]. Qed.
(* The target of the next iteration is a model again, so the next iteration may modify it. *)
Definition modify_model T start : model V R := Model (modify_ge0 T start) (modify_sum T start).

Section Step.
Variables (T : model V R) (c : seq V) (N : nat) (g : seq V -> R).
Let T' := modify_model T (size c).
Let H := to_come T N g.
Let H' := to_come T' N g.
(* Behind c and gamma more tokens nothing is modified. *)
Lemma late n s F : (gamma <= size s)%N -> gen T' n (c ++ s) F = gen T n (c ++ s) F.
Proof.
elim: n s F => [|n IH] s F le //; rewrite !genS; apply: sumV_eq => y.
rewrite rcons_cat IH; last by rewrite size_rcons leqW.
by rewrite /= /modify size_cat ltn_add2l ltnNge le andbF.
Qed.
Lemma early n s F : (size s + n <= gamma)%N ->
  gen T' n (c ++ s) F = gen (modified T Ms c) n s F.
Proof.
elim: n s F => [|n IH] s F le //; rewrite !genS; apply: sumV_eq => y.
rewrite rcons_cat IH; last by rewrite size_rcons addSnnS.
rewrite /= /modify size_cat leq_addr ltn_add2l (leq_trans _ le) ?take_size_cat ?drop_size_cat //.
by rewrite -addSnnS leq_addr.
Qed.
Lemma H'_late s : (gamma <= size s)%N -> H' (c ++ s) = H (c ++ s).
Proof. by move=> le; rewrite /H' /H /to_come late. Qed.
Lemma H'_early s : (size s <= gamma)%N ->
  H' (c ++ s) = gen (modified T Ms c) (gamma - size s) s (fun z => H (c ++ (s ++ z))).
Proof.
move=> le; rewrite -early ?subnKC // /H' -(lasting_gen (gamma - size s) (c ++ s) (to_come_lasting T' N g)).
apply: gen_eq => z hz; rewrite -catA -/H' H'_late //.
by rewrite size_cat hz subnKC.
Qed.
(* One iteration keeps the expectation, the target being replaced. *)
Lemma greedy_step :
  gen Ms gamma c (fun X => greedy_verify T Ms c X (fun k y => H' (c ++ rcons k y))) = H c.
Proof.
rewrite -[RHS](lasting_gen gamma c (to_come_lasting T N g)) -(lemma_8_test T Ms gamma c).
apply: gen_eq => X hX; rewrite /greedy_verify hX; apply: greedy_loop_eq => k q.
rewrite /finish /draw; have [hk|nk] := eqVneq (size k) gamma.
  rewrite sumVZr row_sum mul1r -/H [RHS](to_come_lasting T N g) -/H.
  by apply: sumV_eq => y; rewrite rcons_cat H'_late // size_rcons hk leqW.
apply: sumV_eq => y; congr (_ * _); have [lt|ge] := leqP (size (rcons k y)) gamma.
  exact: H'_early.
rewrite H'_late ?(ltnW ge) //; have /eqP -> : (gamma - size (rcons k y) == 0)%N.
  by rewrite subn_eq0 ltnW.
by rewrite /= cats0.
Qed.
End Step.

Lemma greedydec_ext n T c (A B : (seq V -> V -> R) -> seq V -> R) : (forall M s, (n <= size s)%N -> A M (c ++ s) = B M (c ++ s)) ->
  greedydec Ms gamma n T c A = greedydec Ms gamma n T c B.
Proof.
elim: n T c => [|n IH] T c e /=; first by have := e T [::] isT; rewrite cats0.
apply: gen_eq => X _; apply: (program_ext (greedy_program T Ms c X)) => t y _.
apply: (IH (modify_model T (size c))) => M s le; rewrite -catA; apply: e.
by rewrite size_cat size_rcons addSn ltnS (leq_trans le) ?leq_addl.
Qed.
(* After any number of iterations, the text completed by the target then in force. *)
Theorem greedy_completed n N T c g :
  greedydec Ms gamma n T c (fun M => to_come M (size c + N) (fun s => g (drop (size c) s)))
  = gen T N c g.
Proof.
rewrite -to_come_tokens; move: (size c + N)%N (fun s => g _) => L f.
elim: n T c => [|n IH] T c //=; rewrite -[RHS]greedy_step.
apply: gen_eq => X _; apply: (program_ext (greedy_program T Ms c X)) => t y _.
exact: (IH (modify_model T (size c))).
Qed.
(* Algorithm 6 is lossless, as Definition 1 has it. *)
Theorem greedy_lossless n T c o : (size o <= n)%N ->
  greedydec Ms gamma n T c (fun _ s => (take (size o) (drop (size c) s) == o)%:R) = joint T c o.
Proof.
move=> le; rewrite -gen_delta -(greedy_completed n); apply: greedydec_ext => M s ls.
by rewrite to_come_done ?size_cat ?leq_add2l ?(leq_trans le) // take_drop addnC.
Qed.
End GreedyLoop.
