(* Strategies: a valid verifier for every iteration, chosen by everything that has happened.
   Against all of them block verification needs the fewest expected target calls to finish any
   text; and where it decodes the most tokens, Theorem 2 as published. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum zify.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Models Algorithms Verifier Block Token Optimality Stopping Recursion Calls.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section Strategies.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma : nat).
Implicit Types (c s X : seq V) (h : seq (seq V * seq V)) (A F : seq V -> R).

(* Which verifier comes next: a function of the drafts and the emitted tokens of all iterations
   so far, and of the text.  Being a variable, it may see both models in full. *)
Definition strategy := seq (seq V * seq V) -> seq V -> kernel V R gamma.
(* The expectation of A(text) after n iterations. *)
Fixpoint play (P : strategy) n h c A : R :=
  if n is n'.+1 then E Ms c (P h c) (fun X kept y =>
      play P n' (rcons h (X, rcons kept y)) (c ++ rcons kept y) A)
  else A c.
Definition valid_strategy (P : strategy) : Prop := forall h c, valid Mb Ms gamma c (run (P h c)).

Lemma play_eq P n h c A B : (forall s, (n <= size s)%N -> A (c ++ s) = B (c ++ s)) ->
  play P n h c A = play P n h c B.
Proof.
elim: n h c => [|n IH] h c e /=; first by have := e [::] isT; rewrite cats0.
apply: E_eq => X t y hX _; apply: IH => s ls.
by rewrite -catA e // size_cat size_rcons addSn ltnS (leq_trans ls) ?leq_addl.
Qed.
Lemma play_const P n h c a : play P n h c (fun=> a) = a.
Proof.
elim: n h c => [|n IH] h c //=; rewrite -[RHS](E_const Ms c (P h c)).
by apply: E_eq => X t y _ _; apply: IH.
Qed.
Lemma play_ge0 P n h c A : (forall s, 0 <= A s) -> 0 <= play P n h c A.
Proof.
move=> A0; elim: n h c => [|n IH] h c //=; rewrite -(E_const Ms c (P h c) 0).
by apply: E_le => X t y _ _; apply: IH.
Qed.

(* One verifier in every iteration. *)
Definition fixed (W : verifier V R) (prog : forall c X, program X (W c X)) : strategy :=
  fun _ c => kernel_of (fun X (_ : size X = gamma) => prog c X).
Lemma run_fixed W prog h c (B : seq V -> seq V -> V -> R) :
  E Ms c (@fixed W prog h c) B = gen Ms gamma c (fun X => W c X (B X)).
Proof. by apply: gen_eq => X hX; rewrite run_kernel_of. Qed.
Theorem fixed_valid W prog : (forall c, valid Mb Ms gamma c (W c)) -> valid_strategy (@fixed W prog).
Proof. by move=> v h c o ho; rewrite -(v c o ho); apply: run_fixed. Qed.
Theorem fixed_play W prog n h c A : play (@fixed W prog) n h c A = specdec Ms gamma W n c A.
Proof.
elim: n h c => [|n IH] h c //=; rewrite run_fixed; apply: gen_eq => X _.
by apply: (program_ext (prog c X)) => t y _; apply: IH.
Qed.
(* Block verification is among them. *)
Definition block_strategy : strategy := fixed (block_program Mb Ms).
Lemma run_block h c (B : seq V -> seq V -> V -> R) : E Ms c (block_strategy h c) B
  = gen Ms gamma c (fun X => block_verify Mb Ms c X (B X)).
Proof. exact: run_fixed. Qed.
Theorem block_strategy_valid : valid_strategy block_strategy.
Proof. by apply: fixed_valid => c; apply: theorem_1. Qed.
Theorem block_strategy_play n h c A :
  play block_strategy n h c A = specdec Ms gamma (block_verify Mb Ms) n c A.
Proof. exact: fixed_play. Qed.

(* One iteration: no valid kernel ends better than block verification if a free token is no loss. *)
Lemma best_step (K : kernel V R gamma) c F : valid Mb Ms gamma c (run K) ->
  (forall s, F s <= next Mb F s) ->
  E Ms c K (fun _ k y => F (c ++ rcons k y)) <= block_step Mb Ms gamma F c.
Proof.
move=> v free; rewrite -block_stepE; apply: (block_best (U := fun s => F (c ++ s)) v) => s _.
by apply: le_trans (free _) _; rewrite /ahead /next (sumV_eq (fun y => congr1 (fun t => _ * F t) (rcons_cat y c s))).
Qed.

Section Calls.
Variables (finished : pred (seq V)) (L : nat).
Hypothesis stays : forall c y, finished c -> finished (rcons c y).
Hypothesis bounded : forall c, (L <= size c)%N -> finished c.
Notation unfinished := (fun s : seq V => (~~ finished s)%:R : R).

(* Iterations that begin with an unfinished text, of n: E of their number. *)
Definition calls P n h c : R := \sum_(i < n) play P i h c unfinished.

Lemma stays_cat c s : finished c -> finished (c ++ s).
Proof.
by elim/last_ind: s => [|s y IH] f; rewrite ?cats0 // -rcons_cat stays ?IH.
Qed.
Lemma play_done P n h c : finished c -> play P n h c unfinished = 0.
Proof.
move=> f; rewrite -[RHS](play_const P n h c); apply: play_eq => s _.
by rewrite stays_cat.
Qed.
Lemma play_late P n h c : (L <= size c + n)%N -> play P n h c unfinished = 0.
Proof.
move=> le; rewrite -[RHS](play_const P n h c); apply: play_eq => s ls.
by rewrite bounded // size_cat (leq_trans le) // leq_add2l.
Qed.
Lemma calls_done P n h c : finished c -> calls P n h c = 0.
Proof. by move=> f; apply: big1 => i _; apply: play_done. Qed.
Lemma calls_late P n m h c : (L <= size c + n)%N -> calls P (n + m) h c = calls P n h c.
Proof.
move=> le; rewrite /calls big_split_ord /= [X in _ + X]big1 ?addr0 // => i _.
by apply: play_late; rewrite (leq_trans le) // leq_add2l leq_addr.
Qed.
Lemma callsS P n h c : calls P n.+1 h c
  = unfinished c + E Ms c (P h c) (fun X k y => calls P n (rcons h (X, rcons k y)) (c ++ rcons k y)).
Proof.
rewrite /calls big_ord_recl /=; congr (_ + _); by rewrite E_sum.
Qed.
Lemma calls_ge0 P n h c : 0 <= calls P n h c.
Proof. by apply: sumr_ge0 => i _; apply: play_ge0 => s; apply: ler0n. Qed.
Lemma calls_block n h h' c : calls block_strategy n h c = calls block_strategy n h' c.
Proof. by apply: eq_bigr => i _; rewrite !block_strategy_play. Qed.

Notation least := (calls block_strategy L [::]).
Lemma leastS c : ~~ finished c -> least c = 1 + block_step Mb Ms gamma least c.
Proof.
move=> nf; rewrite -(@calls_late _ L 1) ?leq_addl // addn1 callsS nf; congr (_ + _).
rewrite run_block -block_stepE; apply: gen_eq => X _.
apply: (program_ext (block_program Mb Ms c X)) => t y _; exact: calls_block.
Qed.
Lemma least_free c : next Mb least c <= least c.
Proof.
have d f : finished f -> least f = 0 by apply: calls_done.
by have [_ _ free] := cost stays bounded d leastS c.
Qed.
Lemma least_le P n h c : valid_strategy P -> (L <= size c + n)%N -> least c <= calls P n h c.
Proof.
move=> v; elim: n h c => [|n IH] h c le.
  by rewrite calls_done ?calls_ge0 // bounded // -[size c]addn0.
have [f|nf] := boolP (finished c); first by rewrite calls_done ?calls_ge0.
rewrite leastS // callsS nf ler_add2l.
apply: le_trans (_ : E Ms c (P h c) (fun _ k y => least (c ++ rcons k y)) <= _); last first.
  by apply: E_le => X t y _ _; apply: IH; rewrite size_cat size_rcons; lia.
have e : forall (B : seq V -> seq V -> V -> R) (K : kernel V R gamma),
  E Ms c K B = - E Ms c K (fun X k y => -1 * B X k y) by move=> B K; rewrite EZ mulN1r opprK.
rewrite -block_stepE -(run_block [::] c (fun _ k y => least (c ++ rcons k y))).
rewrite e [X in _ <= X]e ler_oppr opprK run_block.
apply: (block_best (U := fun s => -1 * least (c ++ s)) (v h c)) => s _.
rewrite /ahead (sumV_eq (g := fun y => -1 * (Mb (c ++ s) y * least (rcons (c ++ s) y)))).
  by rewrite sumVZ !mulN1r ler_oppl opprK; apply: least_free.
by move=> y; rewrite mulrCA rcons_cat.
Qed.

(* Any n iterations that surely finish the text: of these, block verification needs the fewest. *)
Theorem theorem_2_calls P n h c : valid_strategy P -> (L <= size c + n)%N ->
  \sum_(i < n) specdec Ms gamma (block_verify Mb Ms) i c unfinished
  <= \sum_(i < n) play P i h c unfinished.
Proof.
move=> v le; apply: le_trans (_ : least c <= _); last exact: least_le.
rewrite -(@calls_late _ L n) ?leq_addl // addnC calls_late //.
by apply: ler_sum => i _; rewrite block_strategy_play.
Qed.
End Calls.

(* A text of L tokens: the sum over i of Pr(N(i) < L) is smallest.  Text that ends with E.O.S. or
   at L tokens. *)
Corollary theorem_2_calls_length P L : valid_strategy P ->
  \sum_(i < L) specdec Ms gamma (block_verify Mb Ms) i [::] (fun s => (size s < L)%N%:R)
  <= \sum_(i < L) play P i [::] [::] (fun s => (size s < L)%N%:R).
Proof.
move=> v; have := @theorem_2_calls (fun s => L <= size s)%N L _ _ P L [::] [::] v (leqnn L).
set a := \sum_(i < L) _; set b := \sum_(i < L) _; set a' := \sum_(i < L) _; set b' := \sum_(i < L) _.
have -> : a = a' by apply: eq_bigr => i _; rewrite -!(block_strategy_play _ [::]); apply: play_eq => s _; rewrite -ltnNge.
have -> : b = b' by apply: eq_bigr => i _; apply: play_eq => s _; rewrite -ltnNge.
by apply=> // c y /leq_trans -> //; rewrite size_rcons.
Qed.
Corollary theorem_2_calls_eos P L eos : valid_strategy P ->
  let unfinished s : R := (~~ ((eos \in s) || (L <= size s)%N))%:R in
  \sum_(i < L) specdec Ms gamma (block_verify Mb Ms) i [::] unfinished
  <= \sum_(i < L) play P i [::] [::] unfinished.
Proof.
move=> v; apply: (@theorem_2_calls (fun s => (eos \in s) || (L <= size s)%N) L) => // [c y|c ->].
  by rewrite mem_rcons inE size_rcons => /orP[->|/leq_trans ->]; rewrite ?orbT.
by rewrite orbT.
Qed.

(* Theorem 2 as published holds where a free token never costs tokens later. *)
Theorem theorem_2_grows P n h c A : valid_strategy P ->
  (forall m, (m < n)%N -> grows Mb (specdec Ms gamma (block_verify Mb Ms) m ^~ A)) ->
  play P n h c A <= specdec Ms gamma (block_verify Mb Ms) n c A.
Proof.
move=> v; elim: n h c => [|n IH] h c g //=.
rewrite (block_stepE _ _ _ (specdec Ms gamma (block_verify Mb Ms) n ^~ A)).
apply: le_trans (_ : E Ms c (P h c) (fun _ k y => specdec Ms gamma (block_verify Mb Ms) n (c ++ rcons k y) A) <= _).
  by apply: E_le => X t y _ _; apply: IH => m lt; apply: g; apply: ltnW.
by apply: (best_step (F := specdec Ms gamma (block_verify Mb Ms) n ^~ A)) => // s; apply: g.
Qed.
End Strategies.
