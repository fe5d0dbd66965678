(* Texts that end: Lemma 2 for Algorithm 3 with its stop, at E.O.S. or at a length; and the long-run rate of
   target calls. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum zify.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Models Algorithms Verifier Block Token Loops Strategies.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

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
