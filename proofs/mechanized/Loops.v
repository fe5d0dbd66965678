From mathcomp Require Import all_ssreflect ssralg ssrnum zify.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Algorithms Block Optimality Strategies.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

(* Whole loops: Lemma 2 (a verifier satisfies Equation (7) exactly if Algorithm 3 with it is
   lossless) and Algorithm 6 (greedy block verification with the modifications nested). *)

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

(* What is built around a verifier: maps of rows (temperature, top-k, top-p, penalties), drafts without
   randomness, the one-hot rule and batches.  Drafts that end early are in Block.v. *)

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

(* Lemma 2 as the paper has it: Algorithm 3 stops behind an iteration that gives out E.O.S., and all tokens after E.O.S.
   are set to E.O.S.  A verifier gives texts with the large model's law exactly if Equation (7) holds up to E.O.S. *)

Section EndOfSequence.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma : nat) (eos : V).
Variable W : verifier V R.
Implicit Types (c s o X z : seq V) (g G : seq V -> R).
(* The first N tokens of s, where E.O.S. repeats for ever once it is there. *)
Fixpoint padded N s : seq V :=
  if N is N'.+1 then if s is x :: s' then x :: (if x == eos then nseq N' eos else padded N' s') else [::] else [::].
(* The large model has nothing but E.O.S. after E.O.S. *)
Hypothesis ends : forall c, eos \in c -> Mb c eos = 1.
Hypothesis Wlaw : lawful gamma W.

(* Algorithm 3, n iterations or until one gives out E.O.S.; g sees what was given out. *)
Fixpoint until_eos n c g : R :=
  if n is n'.+1 then gen Ms gamma c (fun X => W c X (fun kept y => let s := rcons kept y in
    if eos \in s then g s else until_eos n' (c ++ s) (fun t => g (s ++ t))))
  else g [::].
(* Definition 1 with E.O.S.: the first N tokens given out, for every N, in N iterations or more. *)
Definition lossless_eos : Prop := forall n c o, (size o <= n)%N ->
  until_eos n c (fun s => (padded (size o) s == o)%:R) = joint Mb c o.
(* Equation (7), both sides read up to E.O.S. *)
Definition valid_eos c : Prop := forall o, size o = gamma.+1 ->
  completed Mb Ms gamma c (W c) (fun o' => (padded gamma.+1 o' == o)%:R) = joint Mb c o.

Lemma padded_cat N s t : eos \in s -> padded N (s ++ t) = padded N s.
Proof.
elim: N s => [|N IH] [|x s] //=; rewrite inE; case: (x =P eos) => [->|ne] //= h.
by rewrite IH //; move: h; rewrite eq_sym; case: eqP.
Qed.
Lemma padded_none N s : eos \notin s -> padded N s = take N s.
Proof.
elim: N s => [|N IH] [|x s] //=; rewrite inE negb_or => /andP[ne h].
by rewrite eq_sym (negPf ne) IH.
Qed.
Lemma padded_rest N s t : eos \notin s -> padded N (s ++ t) = take N s ++ padded (N - size s) t.
Proof.
elim: s N => [|x s IH] [|N] //=; rewrite ?subn0 // inE negb_or => /andP[ne h].
by rewrite eq_sym (negPf ne) IH // subSS.
Qed.
Lemma padded_eos N n : (N <= n)%N -> padded N (nseq n eos) = nseq N eos.
Proof. by elim: N n => [|N IH] [|n] //= le; rewrite eqxx. Qed.
Lemma padded_twice N s : eos \in s -> padded N (padded (size s) s) = padded N s.
Proof.
elim: N s => [|N IH] [|x s] //=; rewrite inE; case: (x =P eos) => [->|ne] //= h; congr (_ :: _).
by rewrite IH //; move: h; rewrite eq_sym; case: eqP.
Qed.
Lemma padded_mem n s : (size s <= n)%N -> eos \in s -> eos \in padded n s.
Proof.
elim: n s => [|n IH] [|x s] //=; rewrite ltnS !inE => le; case: (x =P eos) => [->|ne]; first by rewrite eqxx.
by move=> /orP[/eqP e|h]; [rewrite e eqxx | rewrite IH ?orbT].
Qed.
(* The large model's own texts are padded already. *)
Lemma after_eos n c g : eos \in c -> gen Mb n c g = g (nseq n eos).
Proof.
elim: n c g => [|n IH] c g h //=.
rewrite (sumV_eq (g := fun y => (y == eos)%:R * g (y :: nseq n eos))) => [|y].
  by rewrite (sumV_delta eos (fun y => g (y :: nseq n eos))).
rewrite IH ?mem_rcons ?inE ?h ?orbT //; congr (_ * _); case: eqP => [->|/eqP ne]; first exact: ends.
have z : sumV (fun x => Mb c x * (x != eos)%:R) = 0.
  transitivity (sumV (Mb c) - sumV (fun x => (x == eos)%:R * Mb c x)); last first.
    by rewrite row_sum sumV_delta ends // subrr.
  by rewrite -sumVB; apply: sumV_eq => x; case: eqP => _ /=; rewrite ?mulr1 ?mulr0 ?mul1r ?mul0r ?subrr ?subr0.
have := sumV_eq0 (f := fun x => Mb c x * (x != eos)%:R) (fun x => mulr_ge0 (row_ge0 Mb c x) (ler0n _ _)) z y.
by rewrite ne mulr1.
Qed.
Lemma gen_padded n c g : gen Mb n c (fun z => g (padded n z)) = gen Mb n c g.
Proof.
elim: n c g => [|n IH] c g //; rewrite !genS; apply: sumV_eq => y; congr (_ * _) => /=.
case: eqP => [->|_]; last exact: (IH _ (fun z => g (y :: z))).
by rewrite !after_eos ?mem_rcons ?inE ?eqxx.
Qed.

Lemma until_eq n c g G : g =1 G -> until_eos n c g = until_eos n c G.
Proof.
elim: n c g G => [|n IH] c g G e /=; first exact: e.
apply: gen_eq => X hX; apply: (@W_ext _ _ _ _ Wlaw c X
  (fun s => if eos \in s then g s else until_eos n (c ++ s) (fun t => g (s ++ t)))
  (fun s => if eos \in s then G s else until_eos n (c ++ s) (fun t => G (s ++ t)))) => // t y _.
by case: ifP => _; [apply: e | apply: IH => z; apply: e].
Qed.
Lemma until_const n c a : until_eos n c (fun=> a) = a.
Proof.
elim: n c => [|n IH] c //=; have [K E] := Wlaw c.
rewrite -[RHS](E_const Ms c K a); apply: gen_eq => X hX; rewrite -E //.
apply: (@W_ext _ _ _ _ Wlaw c X (fun s => if eos \in s then a else until_eos n (c ++ s) (fun=> a)) (fun=> a)) => // t y _.
by case: ifP.
Qed.

Section Prefix.
Variables (c o : seq V).
Notation N := (size o).
Definition hit s : R := (padded N s == o)%:R.
(* Pr(the text begins with o), s being there and the large model going on alone. *)
Definition chance s : R := gen Mb (N - size s) (c ++ s) (fun z => hit (s ++ z)).
Lemma chance_step s : chance s = sumV (fun y => Mb (c ++ s) y * chance (rcons s y)).
Proof.
rewrite /chance; have [lt|ge] := ltnP (size s) N.
  rewrite -(subnSK lt) genS; apply: sumV_eq => y; rewrite size_rcons rcons_cat; congr (_ * _).
  by apply: gen_eq => z _; rewrite cat_rcons.
have /eqP e : (N - size s == 0)%N by rewrite subn_eq0.
rewrite e /= cats0 -[LHS]mul1r -(row_sum Mb (c ++ s)) -sumVZr; apply: sumV_eq => y; congr (_ * _).
have /eqP -> : (N - size (rcons s y) == 0)%N by rewrite subn_eq0 size_rcons leqW.
rewrite /= cats0 -cats1 /hit; have [h|h] := boolP (eos \in s); first by rewrite padded_cat.
by rewrite padded_rest // e /= cats0 padded_none.
Qed.
Lemma chance_done n s : gen Mb n (c ++ s) (fun z => chance (s ++ z)) = chance s.
Proof.
elim: n s => [|n IH] s; first by rewrite /= cats0.
rewrite genS chance_step; apply: sumV_eq => y; rewrite -IH rcons_cat; congr (_ * _).
by apply: gen_eq => z _; rewrite cat_rcons.
Qed.
Lemma chance0 : chance [::] = joint Mb c o.
Proof.
rewrite /chance subn0 cats0 -gen_delta -(gen_padded _ _ (fun z => (z == o)%:R)).
by apply: gen_eq => z _.
Qed.
Lemma chance_padded s : chance (padded (size s) s) = chance s.
Proof.
have [h|h] := boolP (eos \in s); last by rewrite padded_none // take_size.
have value t : eos \in t -> chance t = hit t.
  move=> ht; rewrite /chance -[RHS](gen_const Mb (N - size t) (c ++ t)); apply: gen_eq => z _.
  by rewrite /hit padded_cat.
by rewrite !value ?padded_mem // /hit padded_twice.
Qed.
(* What comes after s in the loop is what the large model would give, if the loop is lossless for shorter texts. *)
Lemma loop_chance n s : (0 < size s)%N -> (N <= n.+1)%N ->
  (forall c' o', (size o' <= n)%N -> until_eos n c' (fun s => (padded (size o') s == o')%:R) = joint Mb c' o') ->
  (if eos \in s then hit s else until_eos n (c ++ s) (fun t => hit (s ++ t))) = chance s.
Proof.
move=> s0 le IH; case: ifP => h.
  by rewrite /chance -[LHS](gen_const Mb (N - size s) (c ++ s)); apply: gen_eq => z _; rewrite /hit padded_cat.
move/negbT: h => h; pose m := (N - size s)%N; pose k := take N s.
have hitE t : hit (s ++ t) = (k ++ padded m t == o)%:R by rewrite /hit padded_rest.
have km : (size k + m)%N = N by rewrite /k /m size_take; case: ltnP; lia.
have [ok|no] := eqVneq (take (size k) o) k; last first.
  have zero w : ((k ++ w == o)%:R : R) = 0.
    by case: eqP => // eo; rewrite -eo take_size_cat ?eqxx in no.
  transitivity (0 : R); last first.
    by rewrite /chance -[LHS](gen0 Mb m (c ++ s)); apply: gen_eq => z _; rewrite hitE zero.
  by rewrite -[RHS](until_const n (c ++ s)); apply: until_eq => t; rewrite hitE zero.
pose o' := drop (size k) o; have o'm : size o' = m by rewrite size_drop; lia.
have same w : (k ++ w == o) = (w == o') by rewrite -{1}(cat_take_drop (size k) o) ok eqseq_cat // eqxx.
transitivity (joint Mb (c ++ s) o').
  rewrite -(IH (c ++ s) o') o'm; last by rewrite /m; lia.
  by apply: until_eq => t; rewrite hitE same.
rewrite -gen_delta o'm -(gen_padded m (c ++ s) (fun z => (z == o')%:R)).
by apply: gen_eq => z _; rewrite hitE same.
Qed.
(* One iteration more, as a completed one. *)
Lemma loop_completed_eos n : (N <= n.+1)%N ->
  (forall c' o', (size o' <= n)%N -> until_eos n c' (fun s => (padded (size o') s == o')%:R) = joint Mb c' o') ->
  until_eos n.+1 c hit = completed Mb Ms gamma c (W c) chance.
Proof.
move=> le IH; rewrite /= /completed; apply: gen_eq => X hX.
apply: (@W_ext _ _ _ _ Wlaw c X
  (fun s => if eos \in s then hit s else until_eos n (c ++ s) (fun t => hit (s ++ t)))
  (complete Mb gamma c chance)) => // t y lt.
by rewrite loop_chance ?size_rcons // /complete chance_done.
Qed.
End Prefix.
(* Equation (7) up to E.O.S., for every function of the padded text. *)
Lemma valid_eos_completed c G : valid_eos c ->
  completed Mb Ms gamma c (W c) (fun o => G (padded gamma.+1 o)) = gen Mb gamma.+1 c G.
Proof.
move=> v; rewrite gen_joint; have [K E] := Wlaw c.
have EE g : completed Mb Ms gamma c (W c) g = Algorithms.E Ms c K (fun _ k y => complete Mb gamma c g (rcons k y)).
  by apply: gen_eq => X hX; rewrite E.
transitivity (sumB gamma.+1 (fun o => G o * completed Mb Ms gamma c (W c) (fun o' => (padded gamma.+1 o' == o)%:R))); last first.
  by apply: sumB_eq => o ho; rewrite v // mulrC.
transitivity (sumB gamma.+1 (fun o => Algorithms.E Ms c K (fun _ k y =>
    G o * complete Mb gamma c (fun o' => (padded gamma.+1 o' == o)%:R) (rcons k y)))); last first.
  by apply: sumB_eq => o _; rewrite EZ EE.
rewrite EE -E_sumB; apply: E_eq => X t y hX le.
have lt : (size (rcons (take t X) y) <= gamma.+1)%N by rewrite size_rcons ltnS size_takel ?hX.
transitivity (gen Mb (gamma.+1 - size (rcons (take t X) y)) (c ++ rcons (take t X) y)
  (fun z => sumB gamma.+1 (fun o => G o * (padded gamma.+1 (rcons (take t X) y ++ z) == o)%:R))).
  apply: gen_eq => z hz; rewrite -(@sumB_delta _ _ gamma.+1 G (padded _ _)).
    by apply: sumB_eq => o _; rewrite mulrC eq_sym.
  have sz : size (rcons (take t X) y ++ z) = gamma.+1 by rewrite size_cat hz subnKC.
  elim: (gamma.+1) (rcons (take t X) y ++ z) sz => [|n IH] [|x s] //= [e].
  by case: eqP => _; rewrite ?size_nseq ?IH.
by rewrite gen_sumB; apply: sumB_eq => o _; rewrite genZ.
Qed.
Theorem lemma_2_up_to_eos : (forall c, valid_eos c) <-> lossless_eos.
Proof.
split=> [v|l c o ho].
  elim=> [|n IH] c o le; first by move: le; rewrite leqn0 => /nilP ->.
  rewrite (loop_completed_eos c le IH).
  transitivity (completed Mb Ms gamma c (W c) (fun o' => chance c o (padded gamma.+1 o'))).
    have [K E] := Wlaw c; rewrite /completed; apply: gen_eq => X hX; rewrite !E // /run.
    apply: eq_bigr => -[t lt] _; apply: sumV_eq => y; congr (_ * _); apply: gen_eq => z hz.
    have sz : size (rcons (take t X) y ++ z) = gamma.+1.
      by rewrite size_cat hz subnKC // size_rcons ltnS size_takel ?hX // -ltnS.
    by have := chance_padded c o (rcons (take t X) y ++ z); rewrite sz => ->.
  rewrite valid_eos_completed // -(chance0 c o) -[RHS](chance_done c o gamma.+1 [::]) cats0.
  by apply: gen_eq.
transitivity (until_eos gamma.+2 c (hit o)); last by apply: l; rewrite ho.
rewrite (@loop_completed_eos c o gamma.+1) ?ho // => [|c' o' le]; last exact: l.
have [K E] := Wlaw c; rewrite /completed; apply: gen_eq => X hX; rewrite !E // /run.
apply: eq_bigr => -[t lt] _; apply: sumV_eq => y; congr (_ * _); apply: gen_eq => z hz.
have sz : size (rcons (take t X) y ++ z) = gamma.+1.
  by rewrite size_cat hz subnKC // size_rcons ltnS size_takel ?hX // -ltnS.
by rewrite /chance ho sz subnn /= cats0 /hit ho.
Qed.
(* Equation (7) read to its end is enough; it is not necessary (Remarks.v:after_eos_anything). *)
Lemma valid_valid_eos c : valid Mb Ms gamma c (W c) -> valid_eos c.
Proof.
have [K E] := Wlaw c; have e g : completed Mb Ms gamma c (W c) g = completed Mb Ms gamma c (run K) g.
  by apply: gen_eq => X hX; rewrite E.
move=> v o ho; rewrite e valid_completed => [|o' ho']; last by rewrite -e v.
by rewrite (gen_padded gamma.+1 c (fun z => (z == o)%:R)) -ho gen_delta.
Qed.
End EndOfSequence.
Corollary block_lossless_eos (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) gamma (eos : V) :
  (forall c, eos \in c -> Mb c eos = 1) -> lossless_eos Mb Ms gamma eos (block_verify Mb Ms).
Proof.
move=> ends; have law : lawful gamma (block_verify Mb Ms) by apply: lawful_program => c X _; apply: block_program.
by apply/(lemma_2_up_to_eos Ms ends law) => c; apply: valid_valid_eos => //; apply: theorem_1.
Qed.

(* Texts that end: Lemma 2 for Algorithm 3 with its stop, at E.O.S. or at a length; and the long-run rate of
   target calls. *)

Section Endings.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma : nat).
Variables (W : verifier V R) (finished : pred (seq V)) (L : nat).
Hypothesis bounded : forall c, (L <= size c)%N -> finished c.
Implicit Types (c s o : seq V) (g : seq V -> R).
(* The text up to where it first was finished: what is behind is not given out. *)
Definition cut s : seq V := take (find (fun i => finished (take i s)) (iota 0 (size s).+1)) s.
(* The large model alone, token by token, and Algorithm 3; both stop when the text is finished. *)
Fixpoint alone n c g : R :=
  if n is n'.+1 then if finished c then g (cut c) else sumV (fun y => Mb c y * alone n' (rcons c y) g)
  else g (cut c).
Fixpoint stopping n c g : R :=
  if n is n'.+1 then
    if finished c then g (cut c) else gen Ms gamma c (fun X => W c X (fun kept y => stopping n' (c ++ rcons kept y) g))
  else g (cut c).

Lemma cut_rcons s y : has (fun i => finished (take i s)) (iota 0 (size s).+1) -> cut (rcons s y) = cut s.
Proof.
move=> h; rewrite /cut size_rcons -[in iota 0 (size s).+2]addn1 iotaD find_cat.
have e : find (fun i => finished (take i (rcons s y))) (iota 0 (size s).+1) = find (fun i => finished (take i s)) (iota 0 (size s).+1).
  apply: eq_in_find => i; rewrite mem_iota add0n ltnS => /andP[_ le].
  by rewrite -cats1 takel_cat.
have -> : has (fun i => finished (take i (rcons s y))) (iota 0 (size s).+1).
  by rewrite has_find e -has_find.
have tk j : (j <= size s)%N -> take j (rcons s y) = take j s by move=> le; rewrite -cats1 takel_cat.
by rewrite e; move: h; rewrite has_find size_iota ltnS; apply: tk.
Qed.
Definition done s : bool := has (fun i => finished (take i s)) (iota 0 (size s).+1).
Lemma finished_done s : finished s -> done s.
Proof.
by move=> f; apply/hasP; exists (size s); rewrite ?take_size // mem_iota add0n ltnS leqnn.
Qed.
Lemma done_rcons s y : done s -> done (rcons s y).
Proof.
case/hasP => i; rewrite mem_iota add0n ltnS => /andP[_ le] f; apply/hasP; exists i.
  by rewrite mem_iota add0n size_rcons ltnS leqW.
by rewrite -cats1 takel_cat.
Qed.

(* What the text will be worth, the large model going on alone until it is finished. *)
Fixpoint rest n c g : R :=
  if n is n'.+1 then if done c then g (cut c) else sumV (fun y => Mb c y * rest n' (rcons c y) g)
  else g (cut c).
Lemma rest_done n c g : done c -> rest n c g = g (cut c).
Proof. by case: n => //= n ->. Qed.
Lemma rest_late n m c g : (L <= size c + n)%N -> rest (n + m) c g = rest n c g.
Proof.
elim: n c => [|n IH] c le; first by rewrite rest_done // finished_done // bounded // -[size c]addn0.
by rewrite /=; case: ifP => // _; apply: sumV_eq => y; rewrite IH // size_rcons addSnnS.
Qed.
Lemma rest_lasting g : lasting Mb (fun c => rest L c g).
Proof.
move=> c; have [d|nd] := boolP (done c).
  rewrite rest_done // -[LHS]mul1r -(row_sum Mb c) -sumVZr; apply: sumV_eq => y.
  by rewrite rest_done ?done_rcons // cut_rcons.
rewrite -(@rest_late L 1) ?leq_addl // addn1 /= (negPf nd).
by [].
Qed.
Lemma stopping_rest n c g : (forall c, valid Mb Ms gamma c (W c)) -> lawful gamma W -> (L <= size c + n)%N ->
  stopping n c g = rest L c g.
Proof.
move=> v law; elim: n c => [|n IH] c le.
  by rewrite rest_done // finished_done // bounded // -[size c]addn0.
rewrite /=; case: ifP => f; first by rewrite rest_done ?finished_done.
rewrite -[in RHS](cats0 c) -(valid_fair law (v c) (U := fun s => rest L (c ++ s) g)) => [|s _].
  apply: gen_eq => X hX; have [K Ke] := law c; rewrite !Ke // /run; apply: eq_bigr => -[t lt] _.
  by apply: sumV_eq => y; rewrite IH // size_cat size_rcons; lia.
by rewrite rest_lasting; apply: sumV_eq => y; rewrite rcons_cat.
Qed.
Lemma alone_rest n c g : ~~ done c \/ finished c -> (L <= size c + n)%N -> alone n c g = rest n c g.
Proof.
elim: n c => [|n IH] c // nd le; rewrite /=; case: ifP => f; first by rewrite finished_done.
case: nd => [nd|]; last by rewrite f.
rewrite (negPf nd); apply: sumV_eq => y; congr (_ * _).
apply: IH; last by rewrite size_rcons addSnnS.
have [dy|] := boolP (done (rcons c y)); last by left.
right; case/hasP: dy => i; rewrite mem_iota add0n size_rcons ltnS => /andP[_ le'] fi.
move: le'; rewrite leq_eqVlt => /orP[/eqP ei|lt]; first by rewrite ei -(size_rcons c y) take_size in fi.
case/hasP: nd; exists i; first by rewrite mem_iota add0n.
by move: fi; rewrite -cats1 takel_cat // -ltnS.
Qed.

(* Lemma 2 with E.O.S. and finite length: from a text that was not finished before, Algorithm 3 with a valid
   verifier gives out the texts of the large model alone, with the same law. *)
Theorem lemma_2_endings n m c o : (forall c, valid Mb Ms gamma c (W c)) -> lawful gamma W ->
  ~~ done c -> (L <= size c + n)%N -> (L <= size c + m)%N ->
  stopping n c (fun s => (s == o)%:R) = alone m c (fun s => (s == o)%:R).
Proof.
move=> v law nd ln lm; rewrite stopping_rest // alone_rest //; last by left.
have [le|lt] := leqP L m; first by rewrite -(subnKC le) rest_late // leq_addl.
by rewrite -(subnKC (ltnW lt)) rest_late.
Qed.
End Endings.
Corollary lemma_2_eos (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) gamma (eos : V) L (prompt o : seq V) :
  let finished s := (eos \in drop (size prompt) s) || (size prompt + L <= size s)%N in
  (0 < L)%N ->
  stopping Ms gamma (block_verify Mb Ms) finished L prompt (fun s => (s == o)%:R)
  = alone Mb finished L prompt (fun s => (s == o)%:R).
Proof.
move=> finished Lp; apply: (@lemma_2_endings V R Mb Ms gamma (block_verify Mb Ms) finished (size prompt + L)) => //.
- by move=> c le; rewrite /finished le orbT.
- exact: theorem_1.
- by apply: lawful_program => c X _; apply: block_program.
apply/hasPn => i; rewrite mem_iota add0n ltnS => /andP[_ le]; rewrite /finished drop_oversize; last first.
  by rewrite size_takel.
rewrite in_nil /= -ltnNge size_takel //; lia.
Qed.

(* Target calls per token in the long run: a limit, where there is one. *)
Section Rate.
Variables (R : realFieldType).
Implicit Types (f g : nat -> R) (a b : R).
Definition tends_to f a : Prop := forall e, 0 < e -> exists N, forall n, (N <= n)%N -> `|f n - a| < e.
Lemma limit_le f g a b : (forall n, f n <= g n) -> tends_to f a -> tends_to g b -> a <= b.
Proof.
move=> le fa gb; rewrite leNgt; apply/negP => lt.
have e0 : 0 < (a - b) / 2%:R by rewrite divr_gt0 ?subr_gt0 ?ltr0n.
have [N hN] := fa _ e0; have [M hM] := gb _ e0; pose n := maxn N M.
have := hN n (leq_maxl _ _); have := hM n (leq_maxr _ _).
rewrite !ltr_norml => /andP[_ u] /andP[l _].
have mid : b + (a - b) / 2%:R = a - (a - b) / 2%:R by field.
have up : g n < b + (a - b) / 2%:R by rewrite -ltr_subl_addl.
have low : a - (a - b) / 2%:R < f n by rewrite -ltr_subr_addl.
by rewrite mid in up; have := lt_trans up low; rewrite ltNge le.
Qed.
End Rate.

(* Expected target calls to reach L tokens, for each of them: where both limits exist, block verification's is
   no larger than any strategy's; its tokens per call in the long run are the most. *)
Definition calls_per_token (V : vocabulary) (R : realFieldType) (Ms : model V R) gamma (P : strategy V R gamma) L : R :=
  (\sum_(i < L) play Ms P i [::] [::] (fun s => (size s < L)%N%:R)) / L%:R.
Theorem long_run_rate (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) gamma (P : strategy V R gamma) a b :
  valid_strategy Mb Ms P -> tends_to (calls_per_token Ms (block_strategy Mb Ms gamma)) a ->
  tends_to (calls_per_token Ms P) b -> a <= b.
Proof.
move=> v; apply: limit_le => L; apply: ler_wpmul2r; first by rewrite invr_ge0 ler0n.
apply: le_trans (theorem_2_calls_length L v); rewrite le_eqVlt; apply/orP; left; apply/eqP.
by apply: eq_bigr => i _; apply: block_strategy_play.
Qed.
