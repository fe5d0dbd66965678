(* Token verification (Algorithm 1) is a valid verifier. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Models Algorithms Verifier Block.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section Token.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R).
Variables (gamma : nat) (c : seq V).
Implicit Types (pre kept X : seq V).
Notation rb pre := (Mb (c ++ pre)).
Notation rs pre := (Ms (c ++ pre)).

Lemma h_tokenE pre x : h_token (rb pre) (rs pre) x = next_p (rb pre) (rs pre) 1 x.
Proof. by rewrite /h_token /next_p mul1r. Qed.

Lemma token_loop_program X pre todo : pre ++ todo = X ->
  program X (fun A => token_loop Mb Ms c pre todo
    (fun kept => finish Mb Ms (size X) c A kept 1)).
Proof.
elim: todo pre => [|x todo IH] pre eX.
  by apply: finish_program; rewrite -eX cats0 take_size.
have eX' : rcons pre x ++ todo = X by rewrite cat_rcons.
have stop : program X (fun A => finish Mb Ms (size X) c A pre 1).
  by apply: finish_program; rewrite -eX take_size_cat.
refine (@Toss _ _ _ _ _ _ _ _ (IH _ eX') stop (fun A => erefl)).
by rewrite h_tokenE; apply: next_p_range => //; apply: ler01.
Qed.
Lemma token_program X : program X (token_verify Mb Ms c X).
Proof. exact: token_loop_program. Qed.

Theorem token_fair : fair Mb Ms gamma c (token_verify Mb Ms c).
Proof.
move=> U Ufair.
pose A pre := finish Mb Ms gamma c (fun k y => U (rcons k y)) pre 1.
transitivity (gen Ms gamma c (fun X => token_loop Mb Ms c [::] X A)).
  by apply: gen_eq => X hX; rewrite /token_verify hX.
suff H n pre : (size pre + n)%N = gamma ->
    gen Ms n (c ++ pre) (fun X => token_loop Mb Ms c pre X A) = U pre.
  by have := H gamma [::] erefl; rewrite cats0.
elim: n pre => [|n IH] pre hn.
  rewrite addn0 in hn; rewrite /= /A /finish hn eqxx /draw -Ufair ?hn //.
have lt : (size pre < gamma)%N by rewrite -hn addnS ltnS leq_addr.
have ns : (size pre == gamma) = false by rewrite ltn_eqF.
have e : sumV (fun x => rs pre x * (next_p (rb pre) (rs pre) 1 x * U (rcons pre x)))
    + (1 - share (rb pre) (rs pre) 1) * A pre = 1 * draw (rb pre) (fun y => U (rcons pre y)).
  by rewrite /A /finish ns step_law // ler01.
rewrite (Ufair _ (ltnW lt)) -[RHS]mul1r -/(draw (rb pre) (fun y => U (rcons pre y))) -e.
rewrite spread ?ler01 // genS; apply: sumV_eq => x; congr (_ * _).
rewrite rcons_cat -(IH (rcons pre x)) ?size_rcons ?addSnnS //.
rewrite -[in RHS](gen_const Ms n (c ++ rcons pre x) (A pre)) -!genZ -genD.
by apply: gen_eq => s _; rewrite /= /flip h_tokenE.
Qed.
Theorem token_valid : valid Mb Ms gamma c (token_verify Mb Ms c).
Proof. exact: fair_valid token_fair. Qed.
End Token.
