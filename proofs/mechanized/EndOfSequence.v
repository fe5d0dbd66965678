(* Lemma 2 as the paper has it: Algorithm 3 stops behind an iteration that gives out E.O.S., and all tokens after E.O.S.
   are set to E.O.S.  A verifier gives texts with the large model's law exactly if Equation (7) holds up to E.O.S. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum zify.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Models Algorithms Verifier Block Token Optimality Loops.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

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
have EE g : completed Mb Ms gamma c (W c) g = Verifier.E Ms c K (fun _ k y => complete Mb gamma c g (rcons k y)).
  by apply: gen_eq => X hX; rewrite E.
transitivity (sumB gamma.+1 (fun o => G o * completed Mb Ms gamma c (W c) (fun o' => (padded gamma.+1 o' == o)%:R))); last first.
  by apply: sumB_eq => o ho; rewrite v // mulrC.
transitivity (sumB gamma.+1 (fun o => Verifier.E Ms c K (fun _ k y =>
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
