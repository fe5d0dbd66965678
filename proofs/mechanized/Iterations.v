(* Several iterations.  Theorem 2 as published says that after every number of iterations block
   verification decodes at least as many tokens as any valid verifier.  That is false for gamma = 2
   from three iterations on and for every gamma > 2 from two on, against one verifier that is valid
   for all models and sees only the rows along the draft.  The gap in Appendix B.2 is the line
   f(eta) = p_{l-eta-1}(...): f conditions on the output O, Lemma 3 on the draft X; conditioned on
   O it is M_s p / M_b, which need not increase in eta. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum zify.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Models Algorithms Verifier Block Recursion.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section SureBonus.
Variables (V : vocabulary) (R : realFieldType).
Implicit Types (c k X : seq V) (b : V -> R).
Definition sure b : bool := has (fun x => b x == 1) (tokens V).
(* Block verification; but where all draft tokens are accepted, the bonus token is dropped unless the
   large model is sure of it.  The output is then the draft: X^{gamma-1}, and Y = X_gamma. *)
Definition shorten (Mb : seq V -> V -> R) n c (A : seq V -> V -> R) k y : R :=
  if (size k == n) && ~~ sure (Mb (c ++ k)) then A (take n.-1 k) (last y k) else A k y.
Definition sure_bonus (Mb Ms : seq V -> V -> R) c X (A : seq V -> V -> R) : R :=
  block_verify Mb Ms c X (shorten Mb (size X) c A).

Lemma take_last (x : V) X : rcons (take (size X) (x :: X)) (last x X) = x :: X.
Proof. by elim: X x => [|z X IH] x //; congr cons; apply: IH. Qed.

(* Partial information: a verifier sees the draft and the rows along it, nothing else, neither the
   context nor other rows of the models. *)
Definition along (M M' : seq V -> V -> R) c c' X n : Prop :=
  forall i, (i < n)%N -> M (c ++ take i X) =1 M' (c' ++ take i X).
Definition sees_rows_only (W : (seq V -> V -> R) -> (seq V -> V -> R) -> verifier V R) : Prop :=
  forall Mb Mb' Ms Ms' c c' X A, along Mb Mb' c c' X (size X).+1 -> along Ms Ms' c c' X (size X) ->
  W Mb Ms c X A = W Mb' Ms' c' X A.

Lemma rows_eq (b b' s s' : V -> R) p : b =1 b' -> s =1 s' ->
  [/\ forall x, next_p b s p x = next_p b' s' p x, h_block b s p = h_block b' s' p
    & residual b s p =1 residual b' s' p].
Proof.
move=> eb es; have o x : over b s p x = over b' s' p x by rewrite /over eb es.
have e : excess b s p = excess b' s' p by apply: sumV_eq.
by split=> [x||x]; rewrite /next_p /h_block /residual ?e ?o ?eb ?es.
Qed.
Section Rows.
Variables (Mb Mb' Ms Ms' : seq V -> V -> R) (c c' X : seq V).
Hypotheses (eb : along Mb Mb' c c' X (size X).+1) (es : along Ms Ms' c c' X (size X)).
Lemma finish_rows k pk A A' : (size k <= size X)%N -> k = take (size k) X -> A k =1 A' k ->
  finish Mb Ms (size X) c A k pk = finish Mb' Ms' (size X) c' A' k pk.
Proof.
move=> le ek eA; rewrite /finish /draw; have [e|ne] := eqVneq (size k) (size X).
  by apply: sumV_eq => y; rewrite eA [in LHS]ek eb // -ek.
have lt : (size k < size X)%N by rewrite ltn_neqAle ne.
have eb' := eb (leqW lt); have es' := es lt; rewrite -ek in eb' es'.
by have [_ _ r] := rows_eq pk eb' es'; apply: sumV_eq => y; rewrite r eA.
Qed.
Lemma block_loop_rows pre p k pk todo A A' : pre ++ todo = X -> k = take (size k) X ->
  (size k <= size X)%N ->
  (forall i, (i <= size X)%N -> A (take i X) =1 A' (take i X)) ->
  block_loop Mb Ms c pre p k pk todo (finish Mb Ms (size X) c A)
  = block_loop Mb' Ms' c' pre p k pk todo (finish Mb' Ms' (size X) c' A').
Proof.
move=> eX ek lk eA; elim: todo pre p k pk eX ek lk => [|x todo IH] pre p k pk eX ek lk.
  by apply: finish_rows => //; rewrite ek; apply: eA.
have lt : (size pre < size X)%N by rewrite -eX size_cat /= addnS ltnS leq_addr.
have ep : pre = take (size pre) X by rewrite -eX take_size_cat.
have eX' : rcons pre x ++ todo = X by rewrite cat_rcons.
have ep' : rcons pre x = take (size (rcons pre x)) X by rewrite -eX' take_size_cat.
have eb' := eb (leqW lt); have es' := es lt; rewrite -ep in eb' es'.
have [n _ _] := rows_eq p eb' es'; rewrite /= n; set p' := next_p _ _ p x.
set h := if _ then _ else _; set h' := if _ then _ else _.
have -> : h = h'.
  rewrite /h /h'; case: ifP => // /negbT ne.
  have lt' : (size (rcons pre x) < size X)%N.
    by rewrite -eX' size_cat; case: (todo) ne => // z u _; rewrite addnS ltnS leq_addr.
  have eb2 := eb (leqW lt'); have es2 := es lt'; rewrite -ep' in eb2 es2.
  by have [_ -> _] := rows_eq p' eb2 es2.
by rewrite /flip !IH // size_rcons.
Qed.
End Rows.
Theorem sure_bonus_rows : sees_rows_only sure_bonus.
Proof.
move=> Mb Mb' Ms Ms' c c' X A eb es; apply: block_loop_rows => //=; [by rewrite take0 | move=> i le y].
rewrite /shorten size_takel //; case: eqP => //= ei.
have e := eb i (leq_ltn_trans le (ltnSn _)).
by rewrite /sure (eq_has (a2 := fun x => Mb' (c' ++ take i X) x == 1)) // => x; rewrite /= e.
Qed.
Theorem block_rows : sees_rows_only (@block_verify V R).
Proof. by move=> Mb Mb' Ms Ms' c c' X A eb es; apply: block_loop_rows; rewrite //= take0. Qed.

Variables (Mb Ms : model V R).
Lemma sure_bonus_program c X : program X (sure_bonus Mb Ms c X).
Proof.
rewrite /sure_bonus; elim: (block_program Mb Ms c X) => {}[t d P le d0 d1 e|h P Q S h01 _ IHP _ IHQ e].
  have [short|full] := boolP ((t == size X) && ~~ sure (Mb (c ++ take t X))); last first.
    apply: (@Stop _ _ _ t d) => // A; rewrite e /draw; apply: sumV_eq => y.
    by rewrite /shorten size_takel // (negPf full).
  case/andP: (short) => /eqP et _; case: X => [|x X] in le e et short *.
    by apply: (@Stop _ _ _ 0%N d) => // A; rewrite e et /draw /shorten; apply: sumV_eq => y; case: ifP.
  apply: (@Stop _ _ _ (size X) (fun y => (y == last x X)%:R)) => //=.
  - by rewrite -[RHS](sumV_delta (last x X) (fun=> 1 : R)); apply: sumV_eq => y; rewrite mulr1.
  move=> A; rewrite e /draw sumV_delta -[RHS]mul1r -d1 -sumVZr; apply: sumV_eq => y.
  by rewrite /shorten size_takel // short et /= take_size; congr (_ * _).
by apply: Toss h01 IHP IHQ _ => A; rewrite e.
Qed.
(* Valid for all models, contexts and every gamma. *)
Theorem sure_bonus_fair gamma c : fair Mb Ms gamma c (sure_bonus Mb Ms c).
Proof.
move=> U Uf; have [g0|gp] := posnP gamma.
  rewrite -(@theorem_1_fair _ _ Mb Ms gamma c U Uf); apply: gen_eq => X hX.
  apply: (program_ext (block_program Mb Ms c X)) => t y le.
  have -> : X = [::] by apply: size0nil; rewrite hX.
  by rewrite /shorten /=; case: ifP.
pose short k := (size k == gamma.+1) && ~~ sure (Mb (c ++ take gamma k)).
pose U' s := if short s then U (take gamma s) else U s.
have U's s : (size s <= gamma)%N -> U' s = U s.
  by move=> le; rewrite /U' /short ltn_eqF.
transitivity (U' [::]); last exact: U's.
rewrite -(@theorem_1_fair _ _ Mb Ms gamma c U') => [|s le].
  apply: gen_eq => X hX; apply: (program_ext (block_program Mb Ms c X)) => t y; rewrite hX => le.
  have st : size (take t X) = t by rewrite size_takel ?hX.
  rewrite /shorten /U' /short size_rcons eqSS st; have [et|//] := eqVneq t gamma.
  have -> : take t X = X by rewrite take_oversize // hX et.
  have -> : take gamma (rcons X y) = X by rewrite -hX -cats1 take_size_cat.
  case: ifP => // _; congr U.
  by case: (X) hX gp => [<-|x Z] //= <- _; apply: take_last.
rewrite U's // (Uf _ le); move: le; rewrite leq_eqVlt => /orP[/eqP e|lt]; last first.
  by apply: sumV_eq => y; rewrite U's // size_rcons.
have E y : U' (rcons s y) = if sure (Mb (c ++ s)) then U (rcons s y) else U s.
  have ts : take gamma (rcons s y) = s by rewrite -e -cats1 take_size_cat.
  by rewrite /U' /short size_rcons e eqxx ts /=; case: sure.
rewrite -(Uf s) ?e // (sumV_eq (fun y => congr1 _ (E y))); case: sure; first by rewrite -Uf ?e.
by rewrite sumVZr row_sum mul1r.
Qed.
Theorem sure_bonus_valid gamma c : valid Mb Ms gamma c (sure_bonus Mb Ms c).
Proof. exact: fair_valid (@sure_bonus_fair gamma c). Qed.

(* One iteration as a recursion, for gamma > 0. *)
Definition bonus (F : seq V -> R) c : R := if sure (Mb c) then next Mb F c else F c.
Lemma sure_bonus_stepE gamma F c : (0 < gamma)%N ->
  gen Ms gamma c (fun X => sure_bonus Mb Ms c X (fun k y => F (c ++ rcons k y)))
  = phi Mb Ms (bonus F) F gamma c 1.
Proof.
move=> gp; pose A := shorten Mb gamma c (fun k y => F (c ++ rcons k y)).
rewrite -(@phi_verify _ _ Mb Ms gamma c (bonus F) F A) => [|k y lt|k hk].
- by apply: gen_eq => X hX; rewrite /sure_bonus hX.
- by rewrite /A /shorten ltn_eqF.
rewrite /bonus /A /shorten hk eqxx /=; case: sure => /=; first by rewrite /next; apply: sumV_eq => y; rewrite rcons_cat.
rewrite -[RHS]mul1r -(row_sum Mb (c ++ k)) -sumVZr; apply: sumV_eq => y; congr (_ * F (c ++ _)).
by case: (k) hk gp => [<-|x Z] //= <- _; rewrite take_last.
Qed.
End SureBonus.
