From mathcomp Require Import all_ssreflect ssralg ssrnum zify.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Algorithms.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

(* Block verification: Lemma 3 and Theorem 1 (Appendix B.1, B.3). *)

Section Rows.
Variables (V : vocabulary) (R : realFieldType) (b s : V -> R).
Hypotheses (b0 : forall x, 0 <= b x) (s0 : forall x, 0 <= s x).
Hypotheses (b1 : sumV b = 1) (s1 : sumV s = 1).
Implicit Types (p : R) (U : V -> R).

(* The mass that the next accepted token takes: sum of min(p b, s). *)
Definition share p := sumV (fun x => Num.min (p * b x) (s x)).

Lemma next_p_range p x : 0 <= p -> 0 <= next_p b s p x <= 1.
Proof.
move=> p0; rewrite /next_p le_minr ler01 andbT divr_ge0 ?mulr_ge0 //=.
by rewrite le_minl lexx orbT.
Qed.
(* With s x = 0 both sides are 0, whatever p/0 is. *)
Lemma next_pE p x : 0 <= p -> s x * next_p b s p x = Num.min (p * b x) (s x).
Proof.
move=> p0; rewrite /next_p minr_pmulr // mulr1.
have [/eqP e|ne] := boolP (s x == 0); last by rewrite mulrCA mulfV // mulr1.
by rewrite e mul0r minxx min_r // mulr_ge0.
Qed.
Lemma share_next p : 0 <= p -> sumV (fun x => s x * next_p b s p x) = share p.
Proof. by move=> p0; apply: sumV_eq => x; apply: next_pE. Qed.
Lemma overE p x : over b s p x = p * b x - Num.min (p * b x) (s x).
Proof. by rewrite /over; case: (leP (p * b x) (s x)) => h; [rewrite max_r ?subr_le0 // subrr | rewrite max_l // subr_ge0 ltW]. Qed.
Lemma over_ge0 p x : 0 <= over b s p x.
Proof. by rewrite /over le_maxr lexx orbT. Qed.
Lemma excessE p : excess b s p = p - share p.
Proof. by rewrite /excess (sumV_eq (overE p)) sumVB sumVZ b1 mulr1. Qed.
Lemma share_le1 p : share p <= 1.
Proof. by rewrite -s1; apply: sumV_le => x; rewrite le_minl lexx orbT. Qed.
Lemma share_le p : share p <= p.
Proof. by rewrite -subr_ge0 -excessE; apply: sumV_ge0 => x; apply: over_ge0. Qed.

(* Spread what does not go to an accepted next token over the next token. *)
Lemma spread p U a : 0 <= p ->
  sumV (fun x => s x * U x) + (1 - share p) * a
  = sumV (fun x => s x * (U x + (1 - next_p b s p x) * a)).
Proof.
move=> p0; rewrite -[X in X - _]s1 -share_next // -sumVB -sumVZr -sumVD.
by apply: sumV_eq => x; ring.
Qed.
(* Equation (27), multiplied out so that 0/0 needs no care. *)
Lemma h_blockE p : p <= 1 -> (1 - share p) * h_block b s p = p - share p.
Proof.
move=> p1; rewrite /h_block excessE.
have -> : p - share p + 1 - p = 1 - share p by ring.
have [/eqP e|ne] := boolP (1 - share p == 0); last by rewrite mulrCA mulfV // mulr1.
rewrite mulr1; congr (_ - _); apply/eqP; rewrite eq_le p1 andbT.
by rewrite -[1](subrK (share p)) e add0r share_le.
Qed.
(* Accepted next token + residual = p times the large model: Equations (13), (14). *)
Lemma residualE p U : draw (residual b s p) U * (p - share p)
  = sumV (fun y => over b s p y * U y).
Proof.
rewrite /draw -sumVZr -excessE; apply: sumV_eq => y; rewrite /residual.
have [/eqP e|ne] := boolP (excess b s p == 0); last by rewrite mulrAC mulfVK.
by rewrite e mulr0 (sumV_eq0 (over_ge0 p) e) mul0r.
Qed.
Lemma step_law p U : 0 <= p ->
  sumV (fun x => s x * (next_p b s p x * U x)) + (p - share p) * draw (residual b s p) U
  = p * draw b U.
Proof.
move=> p0; rewrite [(p - _) * _]mulrC residualE -sumVD /draw -sumVZ.
by apply: sumV_eq => y; rewrite mulrA next_pE // overE; ring.
Qed.
End Rows.

Section Block.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R).
Variables (gamma : nat) (c : seq V).
Implicit Types (pre kept X : seq V) (p pk : R).
Notation rb pre := (Mb (c ++ pre)).
Notation rs pre := (Ms (c ++ pre)).

(* The one induction.  A is what the loop hands its outcome to, Phi what the
   prefix pre is worth once it is in play with probability p. *)
Section Core.
Variables (A Phi : seq V -> R -> R).
Hypothesis Phi_step : forall pre p, (size pre < gamma)%N -> 0 <= p <= 1 ->
  sumV (fun x => rs pre x * Phi (rcons pre x) (next_p (rb pre) (rs pre) p x))
  + (p - share (rb pre) (rs pre) p) * A pre p = Phi pre p.
Hypothesis Phi_end : forall pre p, size pre = gamma -> 0 <= p <= 1 ->
  Phi pre p = p * A pre p.

Lemma block_core_from n pre p kept pk : (size pre + n.+1)%N = gamma -> 0 <= p <= 1 ->
  gen Ms n.+1 (c ++ pre) (fun X => block_loop Mb Ms c pre p kept pk X A)
  = sumV (fun x => rs pre x * Phi (rcons pre x) (next_p (rb pre) (rs pre) p x))
    + (1 - share (rb pre) (rs pre) p) * A kept pk.
Proof.
elim: n pre p kept pk => [|n IH] pre p kept pk hn /andP[p0 p1].
  rewrite spread //.
  apply: sumV_eq => x /=; have x01 : 0 <= next_p (rb pre) (rs pre) p x <= 1.
    by apply: next_p_range .
  have e : size (rcons pre x) = gamma by rewrite size_rcons -addn1.
  by rewrite /flip (Phi_end e x01); ring.
rewrite spread //.
rewrite [LHS]genS; apply: sumV_eq => x.
set p' := next_p _ _ p x; have p'01 : 0 <= p' <= 1.
  by apply: next_p_range .
set pre' := rcons pre x.
have hn' : (size pre' + n.+1)%N = gamma by rewrite size_rcons -hn addSnnS.
have lt' : (size pre' < gamma)%N by rewrite -hn' addnS ltnS leq_addr.
rewrite [rcons (c ++ pre) x]rcons_cat -/pre'.
transitivity (rs pre x * (
  h_block (rb pre') (rs pre') p' *
     gen Ms n.+1 (c ++ pre') (fun X => block_loop Mb Ms c pre' p' pre' p' X A)
  + (1 - h_block (rb pre') (rs pre') p') *
     gen Ms n.+1 (c ++ pre') (fun X => block_loop Mb Ms c pre' p' kept pk X A))).
  congr (_ * _); rewrite -!genZ -genD.
  by apply: gen_eq => -[|y X].
rewrite !IH // -(Phi_step lt' p'01) /=.
have e : (1 - share (rb pre') (rs pre') p') * h_block (rb pre') (rs pre') p'
         = p' - share (rb pre') (rs pre') p'.
  by case/andP: p'01 => _ p'1; apply: h_blockE.
have e2 : 1 - p' = (1 - share (rb pre') (rs pre') p') * (1 - h_block (rb pre') (rs pre') p').
  by rewrite mulrBr e; ring.
by rewrite -/p' -/pre' -e e2; ring.
Qed.

Lemma block_core :
  gen Ms gamma c (fun X => block_loop Mb Ms c [::] 1 [::] 1 X A) = Phi [::] 1.
Proof.
have u1 : ((0 : R) <= 1) && ((1 : R) <= 1) by rewrite lexx ler01.
have [hg|hg] := posnP gamma; first by rewrite {1}hg /= Phi_end ?mul1r.
have := @block_core_from gamma.-1 [::] 1 [::] 1; rewrite cats0 prednK // => -> //.
by rewrite -[RHS]Phi_step // cats0.
Qed.
End Core.

(* Equation (9): p_i along a block, started from p. *)
Fixpoint p_from p pre (x : seq V) : R :=
  if x is y :: x' then p_from (next_p (rb pre) (rs pre) p y) (rcons pre y) x' else p.
Definition p_of x := p_from 1 [::] x.

Lemma p_from_rcons p pre x y :
  p_from p pre (rcons x y) = next_p (rb (pre ++ x)) (rs (pre ++ x)) (p_from p pre x) y.
Proof.
elim: x p pre => [|z x IH] p pre /=; first by rewrite cats0.
by rewrite IH -cats1 -catA.
Qed.
Lemma p_of_range x : 0 <= p_of x <= 1.
Proof.
elim/last_ind: x => [|x y /andP[IH _]]; first by rewrite /p_of /= ler01 /= lexx.
by rewrite /p_of p_from_rcons; apply: next_p_range .
Qed.
(* The step of Lemmas 3 and 4, multiplied by M_s. *)
Lemma joint_p_rcons x y : joint Ms c (rcons x y) * p_of (rcons x y)
  = joint Ms c x * Num.min (p_of x * rb x y) (rs x y).
Proof.
rewrite joint_rcons /p_of p_from_rcons /= -mulrA next_pE //.
by case/andP: (p_of_range x).
Qed.

(* Lemma 3 for any test function of the first i tokens. *)
Lemma lemma_3_test i (F : seq V -> R) : (i <= gamma)%N ->
  gen Ms gamma c (fun X => block_loop Mb Ms c [::] 1 [::] 1 X
     (fun kept _ => if (i <= size kept)%N then F (take i kept) else 0))
  = gen Ms i c (fun x => p_of x * F x).
Proof.
move=> le.
pose Phi pre p := gen Ms (i - size pre) (c ++ pre)
  (fun z => p_from p pre z * F (take i (pre ++ z))).
rewrite (@block_core _ Phi); first last.
- move=> pre p hs _; rewrite /Phi hs.
  have /eqP -> : (i - gamma == 0)%N by rewrite subn_eq0.
  by rewrite /= cats0 le.
- move=> pre p lt p01; rewrite /Phi.
  rewrite (sumV_eq (g := fun x => rs pre x *
     gen Ms (i - (size pre).+1) (rcons (c ++ pre) x) (fun z =>
       p_from (next_p (rb pre) (rs pre) p x) (rcons pre x) z
       * F (take i (pre ++ x :: z))))); last first.
    move=> x; rewrite size_rcons rcons_cat; congr (_ * _).
    by apply: gen_eq => z _; rewrite cat_rcons.
  have [ge|gt] := leqP i (size pre).
    have /eqP -> : (i - (size pre).+1 == 0)%N by rewrite subn_eq0 leqW.
    have /eqP -> : (i - size pre == 0)%N by rewrite subn_eq0.
    rewrite /= cats0.
    rewrite (sumV_eq (g := fun x => rs pre x * next_p (rb pre) (rs pre) p x * F (take i pre))).
      by rewrite sumVZr share_next //; [ring | case/andP: p01].
    by move=> x; rewrite takel_cat // mulrA.
  rewrite mulr0 addr0.
  have -> : (i - size pre = (i - (size pre).+1).+1)%N by rewrite subnS prednK // subn_gt0.
  by rewrite genS; apply: sumV_eq.
rewrite /Phi subn0 cats0; apply: gen_eq => z hz.
by rewrite /= -hz take_size.
Qed.


(* Algorithm 2 is a program, so the bridge of Algorithms.v applies to it. *)
Lemma residual_law pre p : (forall y, 0 <= residual (rb pre) (rs pre) p y)
  /\ sumV (residual (rb pre) (rs pre) p) = 1.
Proof.
have e0 : 0 <= excess (rb pre) (rs pre) p by apply: sumV_ge0 => y; apply: over_ge0.
rewrite /residual; have [|ne] := boolP (_ == 0) => //.
split=> [y|]; first by rewrite divr_ge0 // over_ge0.
by rewrite sumVZr mulfV.
Qed.
Lemma h_block_range pre p : 0 <= p <= 1 -> 0 <= h_block (rb pre) (rs pre) p <= 1.
Proof.
move=> /andP[p0 p1]; have e0 : 0 <= excess (rb pre) (rs pre) p.
  by apply: sumV_ge0 => y; apply: over_ge0.
have d0 : 0 <= excess (rb pre) (rs pre) p + 1 - p by rewrite -addrA addr_ge0 // subr_ge0.
rewrite /h_block; have [_|ne] := boolP (_ == 0); first by rewrite ler01 /= lexx.
rewrite divr_ge0 //= ler_pdivr_mulr ?mul1r -?addrA ?ler_addl ?subr_ge0 //.
by rewrite lt_neqAle eq_sym addrA ne.
Qed.
Lemma finish_program X kept pk : kept = take (size kept) X ->
  program X (fun A => finish Mb Ms (size X) c A kept pk).
Proof.
move=> e; have [r0 r1] := residual_law kept pk.
have le : (size kept <= size X)%N by rewrite e size_take; case: ltnP => // /ltnW.
apply: (@Stop _ _ _ (size kept) (if size kept == size X then rb kept
  else residual (rb kept) (rs kept) pk)) => //; try by case: ifP.
by move=> A; rewrite -e.
Qed.
Lemma block_loop_program X pre p kept pk todo : pre ++ todo = X -> 0 <= p <= 1 ->
  kept = take (size kept) X ->
  program X (fun A => block_loop Mb Ms c pre p kept pk todo (finish Mb Ms (size X) c A)).
Proof.
elim: todo pre p kept pk => [|x todo IH] pre p kept pk eX p01 ek.
  exact: finish_program.
have q01 : 0 <= next_p (rb pre) (rs pre) p x <= 1.
  by case/andP: p01 => p0 _; apply: next_p_range.
have eX' : rcons pre x ++ todo = X by rewrite cat_rcons.
have eK : rcons pre x = take (size (rcons pre x)) X by rewrite -eX' take_size_cat.
refine (@Toss _ _ _ _ _ _ _ _ (IH _ _ _ _ eX' q01 eK) (IH _ _ _ _ eX' q01 ek)
  (fun A => erefl)).
by case: ifP => // _; apply: h_block_range.
Qed.
Lemma block_program X : program X (block_verify Mb Ms c X).
Proof. by apply: block_loop_program; rewrite ?take0 //= ler01 /= lexx. Qed.


Lemma block_loop_eq pre p kept pk todo A A' : (forall k q, A k q = A' k q) ->
  block_loop Mb Ms c pre p kept pk todo A = block_loop Mb Ms c pre p kept pk todo A'.
Proof. by move=> e; elim: todo pre p kept pk => [|x todo IH] pre p kept pk //=; rewrite /flip !IH. Qed.
Lemma finish_const n (F : seq V -> R) kept pk :
  finish Mb Ms n c (fun k _ => F k) kept pk = F kept.
Proof.
rewrite /finish /draw sumVZr; case: ifP => _; rewrite ?row_sum ?mul1r //.
by have [_ ->] := residual_law kept pk; rewrite mul1r.
Qed.

(* Lemma 3, multiplied by Pr(X^i = x), so that it also speaks of drafts that never come. *)
Theorem lemma_3 (x : seq V) : (size x <= gamma)%N ->
  reach Ms gamma c (block_verify Mb Ms c) x = joint Ms c x * p_of x.
Proof.
move=> le; transitivity (gen Ms (size x) c (fun z => p_of z * (z == x)%:R)).
  rewrite -lemma_3_test //; apply: gen_eq => X hX.
  transitivity (block_verify Mb Ms c X (fun kept _ =>
      if (size x <= size kept)%N then (take (size x) kept == x)%:R else 0)).
    apply: (program_ext (block_program X)) => t y lt; rewrite size_takel //.
    by case: leqP => // h; rewrite take_take.
  rewrite /block_verify; apply: block_loop_eq => k q.
  by rewrite (finish_const _ (fun k => if (size x <= size k)%N then _ else 0)).
rewrite mulrC -gen_delta -genZ; apply: gen_eq => z _.
by case: eqP => [->|]; rewrite ?mulr0.
Qed.
(* The form with a conditional probability. *)
Corollary lemma_3_conditional (x : seq V) : (size x <= gamma)%N -> joint Ms c x != 0 ->
  reach Ms gamma c (block_verify Mb Ms c) x / joint Ms c x = p_of x.
Proof. by move=> le ne; rewrite lemma_3 // mulrC mulKf. Qed.

(* Theorem 1. *)
Theorem theorem_1_fair : fair Mb Ms gamma c (block_verify Mb Ms c).
Proof.
move=> U Ufair; rewrite -[RHS]mul1r.
rewrite -(@block_core (finish Mb Ms gamma c (fun k y => U (rcons k y))) (fun s p => p * U s)).
- by apply: gen_eq => X hX; rewrite /block_verify hX.
- move=> pre p lt /andP[p0 p1]; rewrite /finish ltn_eqF // step_law //.
  by rewrite /draw -Ufair // ltnW.
- by move=> pre p e _; rewrite /finish e eqxx /draw -Ufair ?e.
Qed.
Theorem theorem_1 : valid Mb Ms gamma c (block_verify Mb Ms c).
Proof. exact: fair_valid theorem_1_fair. Qed.
End Block.

(* Token verification (Algorithm 1) is a valid verifier. *)

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

(* Appendix A: block verification as a forward stream.  At each step the outcome so far stays, with weight
   1 - p, or "X^i then y" replaces it, with weight max(p M_b(y) - M_s(y), 0); after the last draft token M_s
   is the zero row.  A step whose weights are all 0 is skipped.  The law is that of Algorithm 2. *)

Section Stream.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma : nat) (c : seq V).
Variable A : seq V -> V -> R.
Implicit Types (pre X : seq V) (p a : R).
Notation b pre := (Mb (c ++ pre)).
Notation s pre := (Ms (c ++ pre)).
(* One step; a is what the outcome so far is worth. *)
Definition replaced pre p a : R :=
  let surplus := excess (b pre) (s pre) p in
  if surplus + 1 - p == 0 then a
  else (sumV (fun y => over (b pre) (s pre) p y * A pre y) + (1 - p) * a) / (surplus + 1 - p).
Fixpoint stream pre p a X : R :=
  if X is x :: X' then stream (rcons pre x) (next_p (b pre) (s pre) p x) (replaced pre p a) X'
  else sumV (fun y => p * b pre y * A pre y) + (1 - p) * a.

Fixpoint held_by n pre p : R :=
  if n is n'.+1 then sumV (fun x => s pre x * held_by n' (rcons pre x) (next_p (b pre) (s pre) p x))
                     + (p - share (b pre) (s pre) p) * draw (residual (b pre) (s pre) p) (A pre)
  else p * draw (b pre) (A pre).
Lemma replacedE pre p a : 0 <= p <= 1 -> (1 - share (b pre) (s pre) p) * replaced pre p a
  = (p - share (b pre) (s pre) p) * draw (residual (b pre) (s pre) p) (A pre) + (1 - p) * a.
Proof.
move=> /andP[p0 p1]; rewrite [(p - _) * _]mulrC residualE // /replaced excessE //.
have -> : p - share (b pre) (s pre) p + 1 - p = 1 - share (b pre) (s pre) p by ring.
have [/eqP e|ne] := boolP (1 - share (b pre) (s pre) p == 0); last by rewrite mulrC divfK.
have le : share (b pre) (s pre) p <= p by apply: share_le; rewrite ?row_sum.
have pE : p = 1.
  by apply/eqP; rewrite eq_le p1 /=; apply: le_trans (le); rewrite -subr_le0 (eqP (introT eqP e)).
have z : sumV (over (b pre) (s pre) p) = 0 by rewrite -/(excess _ _ _) excessE // pE; rewrite pE in e.
rewrite e mul0r pE subrr mul0r addr0; symmetry; rewrite -pE -(sumV0 V R); apply: sumV_eq => y.
by rewrite (sumV_eq0 (over_ge0 _ _ p) z) mul0r.
Qed.
Lemma stream_held n pre p a : (size pre + n)%N = gamma -> 0 <= p <= 1 ->
  gen Ms n (c ++ pre) (stream pre p a) = held_by n pre p + (1 - p) * a.
Proof.
elim: n pre p a => [|n IH] pre p a hn p01.
  by rewrite /= /draw -sumVZ; congr (_ + _); apply: sumV_eq => y; rewrite mulrA.
rewrite genS /= -addrA -replacedE // spread ?row_sum //; last by case/andP: p01.
apply: sumV_eq => x; congr (_ * _); rewrite rcons_cat; apply: IH; first by rewrite size_rcons addSnnS.
by apply: next_p_range => //; case/andP: p01.
Qed.
Theorem stream_law a : gen Ms gamma c (stream [::] 1 a) = gen Ms gamma c (fun X => block_verify Mb Ms c X A).
Proof.
have u1 : 0 <= (1 : R) <= 1 by rewrite ler01 lexx.
have := @stream_held gamma [::] 1 a (add0n gamma) u1; rewrite cats0 => ->; rewrite subrr mul0r addr0.
have -> : held_by gamma [::] 1 = held_by (gamma - size ([::] : seq V)) [::] 1 by rewrite subn0.
rewrite -(@block_core _ _ Mb Ms gamma c (finish Mb Ms gamma c A) (fun pre p => held_by (gamma - size pre) pre p)).
- by apply: gen_eq => X hX; rewrite /block_verify hX.
- move=> pre p lt _; rewrite -(subnSK lt) /= /finish (ltn_eqF lt); congr (_ + _).
  by apply: sumV_eq => x; rewrite size_rcons.
- by move=> pre p e _; rewrite e subnn /= /finish e eqxx.
Qed.
End Stream.

(* Verifiers that keep the longest accepted sub-block, with any coins and any rows for the last
   token; and those that keep a prefix x with a given probability q(x).  Block verification is
   the one with q = p of Equation (9).  Drafting may stop early, by a rule that sees the draft. *)

Section SubBlocks.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R).
Variables (gamma : nat) (c : seq V) (ends : pred (seq V)).
Implicit Types (x pre kept X todo : seq V) (A Phi : seq V -> R) (a : R).
Notation b x := (Mb (c ++ x)).
Notation s x := (Ms (c ++ x)).

(* The draft: n tokens behind pre, or fewer where the rule says that it ends. *)
Fixpoint draft n pre (F : seq V -> R) : R :=
  if n is n'.+1 then
    if ends pre then F [::] else sumV (fun y => s pre y * draft n' (rcons pre y) (fun X => F (y :: X)))
  else F [::].
Definition final x : bool := (gamma <= size x)%N || ends x.

Section Coins.
Variables (coin : seq V -> R) (last : seq V -> V -> R).
(* A coin for every prefix of the draft; the longest prefix whose coin falls is kept. *)
Fixpoint sub_block pre kept todo A : R :=
  if todo is x :: todo' then
    flip (coin (rcons pre x)) (fun accepted =>
      sub_block (rcons pre x) (if accepted then rcons pre x else kept) todo' A)
  else A kept.
Definition sub_verify X (A : seq V -> V -> R) : R :=
  sub_block [::] [::] X (fun k => draw (last k) (A k)).
(* The same, drafting included: a is what the prefix kept so far is worth. *)
Fixpoint worth A n pre a : R :=
  if n is n'.+1 then
    if ends pre then a else sumV (fun y => s pre y * flip (coin (rcons pre y)) (fun accepted =>
      worth A n' (rcons pre y) (if accepted then A (rcons pre y) else a)))
  else a.

Lemma draft_eq n pre F G : F =1 G -> draft n pre F = draft n pre G.
Proof.
elim: n pre F G => [|n IH] pre F G e /=; first exact: e.
by case: ifP => _; [apply: e | apply: sumV_eq => y; congr (_ * _); apply: IH => X; apply: e].
Qed.
Lemma draftD n pre F G : draft n pre (fun X => F X + G X) = draft n pre F + draft n pre G.
Proof.
elim: n pre F G => [|n IH] pre F G //=; case: ifP => // _.
by rewrite -sumVD; apply: sumV_eq => y; rewrite IH mulrDr.
Qed.
Lemma draftZ n pre k F : draft n pre (fun X => k * F X) = k * draft n pre F.
Proof.
elim: n pre F => [|n IH] pre F //=; case: ifP => // _.
by rewrite -sumVZ; apply: sumV_eq => y; rewrite IH mulrCA.
Qed.
Lemma sub_block_worth A n pre kept :
  draft n pre (fun X => sub_block pre kept X A) = worth A n pre (A kept).
Proof.
elim: n pre kept => [|n IH] pre kept //=; case: ifP => // _.
by apply: sumV_eq => y; rewrite /= /flip draftD !draftZ !IH.
Qed.
Lemma sub_verify_worth (A : seq V -> V -> R) : draft gamma [::] (fun X => sub_verify X A)
  = worth (fun k => draw (last k) (A k)) gamma [::] (draw (last [::]) (A [::])).
Proof. exact: sub_block_worth. Qed.

Hypothesis coin01 : forall x, 0 <= coin x <= 1.
Hypotheses (last0 : forall x y, 0 <= last x y) (last1 : forall x, sumV (last x) = 1).
Lemma sub_block_program X pre kept todo : pre ++ todo = X -> kept = take (size kept) X ->
  program X (fun D => sub_block pre kept todo (fun k => draw (last k) (D k))).
Proof.
elim: todo pre kept => [|x todo IH] pre kept eX ek.
  apply: (@Stop _ _ _ (size kept) (last kept)) => // [|D]; last by rewrite -ek.
  by rewrite ek size_take; case: ltnP => // /ltnW.
have eX' : rcons pre x ++ todo = X by rewrite cat_rcons.
have eK : rcons pre x = take (size (rcons pre x)) X by rewrite -eX' take_size_cat.
by refine (@Toss _ _ _ _ _ _ _ (coin01 _) (IH _ _ eX' eK) (IH _ _ eX' ek) (fun D => erefl)).
Qed.
Lemma sub_program X : program X (sub_verify X).
Proof. by apply: sub_block_program; rewrite ?take0. Qed.
End Coins.

(* Coins and rows that keep x with probability q x, given that x is drafted. *)
Section Keeping.
Variable q : seq V -> R.
Hypotheses (q1 : q [::] = 1) (q01 : forall x, 0 <= q x <= 1).
Definition later x : R := sumV (fun y => s x y * q (rcons x y)).
Definition coin_of x : R :=
  if final x then q x else if 1 - later x == 0 then 1 else (q x - later x) / (1 - later x).
Definition row_of x y : R :=
  if final x then b x y else if q x - later x == 0 then b x y
  else (q x * b x y - s x y * q (rcons x y)) / (q x - later x).

(* For the coins it is enough that no prefix is kept less often than some longer one. *)
Section OnTheWhole.
Hypothesis later_le : forall x, ~~ final x -> later x <= q x.
Lemma later_range x : ~~ final x -> [/\ 0 <= later x, later x <= q x & later x <= 1].
Proof.
move=> nf; have lq := later_le nf; have /andP[q0 l1] := q01 x; split=> //; last exact: le_trans lq l1.
by apply: sumV_ge0 => y; apply: mulr_ge0; rewrite ?row_ge0 //; have /andP[] := q01 (rcons x y).
Qed.
Lemma coin_ofE x : ~~ final x -> coin_of x * (1 - later x) = q x - later x.
Proof.
move=> nf; rewrite /coin_of (negPf nf); have [l0 lq l1] := later_range nf.
have [/eqP e|ne] := boolP (1 - later x == 0); last by rewrite mulfVK.
rewrite e mulr0; apply/eqP; rewrite eq_sym subr_eq0 eq_le lq andbT.
by have /andP[_ le] := q01 x; move/eqP: e; rewrite subr_eq0 => /eqP <-.
Qed.
Lemma coin_of_range x : 0 <= coin_of x <= 1.
Proof.
rewrite /coin_of; case: (boolP (final x)) => [_|nf]; first exact: q01.
have [l0 lq l1] := later_range nf; case: eqP => [_|/eqP ne]; first by rewrite ler01 lexx.
have d0 : 0 < 1 - later x by rewrite lt0r ne subr_ge0.
rewrite divr_ge0 ?subr_ge0 // ler_pdivr_mulr // mul1r ler_add2r.
by have /andP[] := q01 x.
Qed.
(* The one induction: Phi x is what the prefix x is worth, times its probability q x. *)
Section Core.
Variables (A Phi : seq V -> R).
Hypothesis Phi_step : forall x, ~~ final x ->
  sumV (fun y => s x y * Phi (rcons x y)) + (q x - later x) * A x = Phi x.
Hypothesis Phi_end : forall x, final x -> Phi x = q x * A x.
Lemma keeping_core_from n x a : (size x + n)%N = gamma -> ~~ final x ->
  worth coin_of A n x a = sumV (fun y => s x y * Phi (rcons x y)) + (1 - later x) * a.
Proof.
elim: n x a => [|n IH] x a; first by rewrite addn0 /final => ->; rewrite leqnn.
move=> hn nf; rewrite /=; case: ifP => [e|_]; first by rewrite /final e orbT in nf.
have -> : (1 - later x) * a = sumV (fun y => s x y * ((1 - q (rcons x y)) * a)).
  rewrite -[X in X - _](row_sum Ms (c ++ x)) -sumVB -sumVZr; apply: sumV_eq => y; ring.
rewrite -sumVD; apply: sumV_eq => y; rewrite -mulrDr; congr (_ * _).
have hn' : (size (rcons x y) + n)%N = gamma by rewrite size_rcons addSnnS.
have [f|nf'] := boolP (final (rcons x y)).
  have w a' : worth coin_of A n (rcons x y) a' = a'.
    case: n hn' {IH hn} => [|n] hn' //=; case: ifP => // /negbT ne; move: f.
    by rewrite /final (negPf ne) orbF -hn' -[X in (_ <= X)%N]addn0 leq_add2l.
  by rewrite /flip !w Phi_end // /coin_of f; ring.
rewrite /flip !IH // -(Phi_step nf') -(coin_ofE nf') /=.
have -> : 1 - q (rcons x y) = (1 - later (rcons x y)) * (1 - coin_of (rcons x y)).
  by rewrite mulrBr mulr1 [X in _ = _ - X]mulrC coin_ofE //; ring.
ring.
Qed.
Lemma keeping_core : worth coin_of A gamma [::] (A [::]) = Phi [::].
Proof.
have [f|nf] := boolP (final [::]).
  have w n a : (n <= 0)%N || ends [::] -> worth coin_of A n [::] a = a by case: n => //= n ->.
  by rewrite Phi_end // q1 mul1r w.
by rewrite keeping_core_from // -Phi_step // q1.
Qed.
End Core.
End OnTheWhole.
Lemma row_of_sum x : sumV (row_of x) = 1.
Proof.
rewrite /row_of; case: (boolP (final x)) => [_|nf]; first exact: row_sum.
have [_|ne] := boolP (q x - later x == 0); first exact: row_sum.
by rewrite sumVZr sumVB sumVZ row_sum mulr1 mulfV.
Qed.

Hypothesis q_le : forall x y, ~~ final x -> s x y * q (rcons x y) <= q x * b x y.
Lemma q_later x : ~~ final x -> later x <= q x.
Proof. by move=> nf; rewrite -[q x]mulr1 -(row_sum Mb (c ++ x)) -sumVZ; apply: sumV_le => y; apply: q_le. Qed.
Lemma row_ofE x U : ~~ final x -> draw (row_of x) U * (q x - later x)
  = sumV (fun y => (q x * b x y - s x y * q (rcons x y)) * U y).
Proof.
move=> nf; rewrite /draw -sumVZr; apply: sumV_eq => y; rewrite /row_of (negPf nf).
have [/eqP e|ne] := boolP (q x - later x == 0); last by rewrite mulrAC mulfVK.
have z : q x * b x y - s x y * q (rcons x y) = 0.
  apply: (sumV_eq0 (f := fun y => q x * b x y - s x y * q (rcons x y))) => [z|].
    by rewrite subr_ge0 q_le.
  by rewrite sumVB sumVZ row_sum mulr1.
by rewrite e z mulr0 mul0r.
Qed.
Lemma row_of_ge0 x y : 0 <= row_of x y.
Proof.
rewrite /row_of; case: (boolP (final x)) => [_|nf]; first exact: row_ge0.
have lq := q_later nf; case: ifP => _; first exact: row_ge0.
by rewrite divr_ge0 // subr_ge0 // q_le.
Qed.
Theorem keeping_fair (U : seq V -> R) : (forall x, (size x <= gamma)%N -> U x = sumV (fun y => b x y * U (rcons x y))) ->
  draft gamma [::] (fun X => sub_verify coin_of row_of X (fun k y => U (rcons k y))) = U [::].
Proof.
move=> Uf; rewrite sub_verify_worth -[RHS]mul1r -q1.
rewrite (@keeping_core q_later _ (fun x => q x * sumV (fun y => b x y * U (rcons x y)))) => [|x nf|x f].
- by rewrite -Uf.
- rewrite [(q x - _) * _]mulrC row_ofE // -sumVD -sumVZ; apply: sumV_eq => y.
  have le : (size (rcons x y) <= gamma)%N.
    by move: nf; rewrite /final negb_or -ltnNge size_rcons => /andP[].
  by rewrite -Uf //; ring.
by rewrite /row_of f.
Qed.
End Keeping.
End SubBlocks.
(* A draft that nothing ends. *)
Lemma draft_gen (V : vocabulary) (R : realFieldType) (Ms : model V R) (c : seq V) n pre F :
  draft Ms c pred0 n pre F = gen Ms n (c ++ pre) F.
Proof. by elim: n pre F => [|n IH] pre F //=; apply: sumV_eq => y; rewrite IH rcons_cat. Qed.

(* Block verification keeps x with p(x) of Equation (9), wherever drafting ends. *)
Section BlockVerification.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma : nat) (c : seq V).
Implicit Types (x pre kept X : seq V).
Notation p := (p_of Mb Ms c).
Lemma p_of_rcons x y : p (rcons x y) = next_p (Mb (c ++ x)) (Ms (c ++ x)) (p x) y.
Proof. by rewrite /p_of p_from_rcons. Qed.
Lemma p_of_ge0 x : 0 <= p x.
Proof. by have /andP[] := p_of_range Mb Ms c x. Qed.
Lemma p_of_min x y : Ms (c ++ x) y * p (rcons x y) = Num.min (p x * Mb (c ++ x) y) (Ms (c ++ x) y).
Proof. by rewrite p_of_rcons next_pE // p_of_ge0. Qed.
Lemma p_of_le x y : Ms (c ++ x) y * p (rcons x y) <= p x * Mb (c ++ x) y.
Proof. by rewrite p_of_min le_minl lexx. Qed.

Section Stopping.
Variable ends : pred (seq V).
Notation coin := (coin_of Ms gamma c ends p).
Notation row := (row_of Mb Ms gamma c ends p).
Notation stops := (final gamma ends).
Lemma later_share x : later Ms c p x = share (Mb (c ++ x)) (Ms (c ++ x)) (p x).
Proof. by apply: sumV_eq => y; rewrite p_of_min. Qed.
Lemma coin_block x : coin x = if stops x then p x else h_block (Mb (c ++ x)) (Ms (c ++ x)) (p x).
Proof.
rewrite /coin_of /h_block excessE ?row_sum // -later_share; case: ifP => // _.
by have -> : p x - later Ms c p x + 1 - p x = 1 - later Ms c p x by ring.
Qed.
Lemma row_block x y : row x y = if stops x then Mb (c ++ x) y else residual (Mb (c ++ x)) (Ms (c ++ x)) (p x) y.
Proof. by rewrite /row_of /residual excessE ?row_sum // -later_share overE p_of_min. Qed.

Lemma draft_final n x F : (size x + n)%N = gamma -> stops x -> draft Ms c ends n x F = F [::].
Proof.
case: n => [|n] //= hn; rewrite /final -hn -[X in (_ <= X)%N]addn0 leq_add2l => /= e.
by rewrite e.
Qed.
Lemma draft_step n x F G : (size x + n)%N = gamma -> ~~ stops x ->
  (forall y X, F (y :: X) = G (y :: X)) -> draft Ms c ends n x F = draft Ms c ends n x G.
Proof.
case: n => [|n] /= hn; first by rewrite /final -hn addn0 leqnn.
rewrite /final negb_or => /andP[_ /negPf ->] e; apply: sumV_eq => y; congr (_ * _).
by apply: draft_eq => X; apply: e.
Qed.
Lemma block_loop_sub A n pre kept : (size pre + n)%N = gamma ->
  kept = pre \/ ~~ stops kept /\ (size kept < size pre)%N ->
  draft Ms c ends n pre (fun X => block_loop Mb Ms c pre (p pre) kept (p kept) X
    (finish Mb Ms (size pre + size X)%N c A))
  = draft Ms c ends n pre (fun X => sub_block coin pre kept X (fun k => draw (row k) (A k))).
Proof.
elim: n pre kept => [|n IH] pre kept hn hk.
  have f : stops pre by rewrite /final -hn addn0 leqnn.
  rewrite /= /finish addn0 /draw; case: hk => [->|[nf lt]].
    by rewrite eqxx; apply: sumV_eq => y; rewrite row_block f.
  by rewrite (ltn_eqF lt); apply: sumV_eq => y; rewrite row_block (negPf nf).
have [f|nf] := boolP (stops pre).
  rewrite !draft_final // /= /finish addn0 /draw; case: hk => [->|[nf lt]].
    by rewrite eqxx; apply: sumV_eq => y; rewrite row_block f.
  by rewrite (ltn_eqF lt); apply: sumV_eq => y; rewrite row_block (negPf nf).
rewrite /=; case: ifP => [e|_]; first by rewrite /final e orbT in nf.
apply: sumV_eq => y; congr (_ * _); set pre' := rcons pre y.
have hn' : (size pre' + n)%N = gamma by rewrite size_rcons addSnnS.
have ep : next_p (Mb (c ++ pre)) (Ms (c ++ pre)) (p pre) y = p pre' by rewrite /pre' p_of_rcons.
have kept' : ~~ stops kept /\ (size kept < size pre')%N.
  by rewrite size_rcons ltnS; case: hk => [->|[nk /ltnW lt]].
have e X : (size pre + (size X).+1)%N = (size pre' + size X)%N by rewrite size_rcons addSnnS.
transitivity (draft Ms c ends n pre' (fun X => flip (coin pre') (fun accepted =>
    block_loop Mb Ms c pre' (p pre') (if accepted then pre' else kept) (p (if accepted then pre' else kept)) X
      (finish Mb Ms (size pre' + size X)%N c A)))).
  have [f'|nf'] := boolP (stops pre').
    by rewrite !draft_final // ep coin_block f' /flip -e.
  by apply: draft_step => // z X; rewrite ep coin_block (negPf nf') /flip e.
by rewrite /flip !draftD !draftZ !IH; auto.
Qed.

(* A rule that ends drafting, and sees only the draft, changes nothing. *)
Theorem adaptive_fair (U : seq V -> R) :
  (forall x, (size x <= gamma)%N -> U x = sumV (fun y => Mb (c ++ x) y * U (rcons x y))) ->
  draft Ms c ends gamma [::] (fun X => block_verify Mb Ms c X (fun k y => U (rcons k y))) = U [::].
Proof.
move=> Uf; rewrite -(@keeping_fair _ _ Mb Ms gamma c ends p _ _ _ U Uf) //.
- by have := @block_loop_sub (fun k y => U (rcons k y)) gamma [::] [::]; apply; [|left].
- exact: p_of_range.
- by move=> x y _; apply: p_of_le.
Qed.
End Stopping.
End BlockVerification.

(* One iteration of block verification as a recursion over the draft tokens to come: what the
   draft and the coins make of a function of the text. *)

Section Recursion.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R).
Implicit Types (c s X : seq V) (p : R) (F G : seq V -> R).

(* The large model's next token. *)
Definition next F c : R := sumV (fun y => Mb c y * F (rcons c y)).

(* k draft tokens to come after c, which is in play with probability p; F is what the text is
   worth where the iteration ends with a residual token, G where all draft tokens are accepted. *)
Fixpoint phi G F k c p : R :=
  if k is k'.+1 then sumV (fun y => Ms c y * phi G F k' (rcons c y) (next_p (Mb c) (Ms c) p y)
                                    + over (Mb c) (Ms c) p y * F (rcons c y))
  else p * G c.
(* One iteration from c, its bonus token drawn. *)
Definition block_step gamma F c : R := phi (next F) F gamma c 1.

Lemma phi_verify gamma c G F (A : seq V -> V -> R) :
  (forall k y, (size k < gamma)%N -> A k y = F (c ++ rcons k y)) ->
  (forall k, size k = gamma -> sumV (fun y => Mb (c ++ k) y * A k y) = G (c ++ k)) ->
  gen Ms gamma c (fun X => block_verify Mb Ms c X A) = phi G F gamma c 1.
Proof.
move=> eF eG; pose Phi pre p := phi G F (gamma - size pre) (c ++ pre) p.
transitivity (Phi [::] 1); last by rewrite /Phi subn0 cats0.
rewrite -(@block_core _ _ Mb Ms gamma c (finish Mb Ms gamma c A) Phi).
- by apply: gen_eq => X hX; rewrite /block_verify hX.
- move=> pre p lt p01; rewrite /Phi -(subnSK lt) /finish ltn_eqF // mulrC residualE //.
  by rewrite -sumVD; apply: sumV_eq => y; rewrite size_rcons rcons_cat eF // rcons_cat.
- by move=> pre p e _; rewrite /Phi e subnn /= /finish e eqxx /draw -eG.
Qed.
Lemma block_stepE gamma F c :
  gen Ms gamma c (fun X => block_verify Mb Ms c X (fun k y => F (c ++ rcons k y))) = block_step gamma F c.
Proof.
apply: phi_verify => // k hk; rewrite /next; apply: sumV_eq => y; by rewrite rcons_cat.
Qed.

(* Only what begins with c and is longer matters. *)
Lemma phi_ext G G' F F' k c p : (forall s, G (c ++ s) = G' (c ++ s)) ->
  (forall s y, F (c ++ rcons s y) = F' (c ++ rcons s y)) -> phi G F k c p = phi G' F' k c p.
Proof.
elim: k c p => [|k IH] c p eG eF /=; first by have := eG [::]; rewrite cats0 => ->.
apply: sumV_eq => y; have := eF [::] y; rewrite /= cats1 => ->; congr (_ * _ + _).
by apply: IH => [s|s z]; rewrite cat_rcons ?(eG (y :: s)) ?(eF (y :: s)).
Qed.
Lemma next_ext F F' c : (forall y, F (rcons c y) = F' (rcons c y)) -> next F c = next F' c.
Proof. by move=> e; apply: sumV_eq => y; rewrite e. Qed.
Lemma block_step_ext gamma F F' c : (forall s y, F (c ++ rcons s y) = F' (c ++ rcons s y)) ->
  block_step gamma F c = block_step gamma F' c.
Proof.
move=> e; apply: phi_ext => // s; apply: next_ext => y.
by rewrite rcons_cat e.
Qed.

Lemma overM0 c y : over (Mb c) (Ms c) 0 y = 0.
Proof. by rewrite overE mul0r min_l ?subrr ?row_ge0. Qed.
Lemma next_p0 c y : next_p (Mb c) (Ms c) 0 y = 0.
Proof. by rewrite /next_p !mul0r min_l ?ler01. Qed.
Lemma phi0 G F k c : phi G F k c 0 = 0.
Proof.
elim: k c => [|k IH] c /=; first by rewrite mul0r.
by rewrite -[RHS](sumV0 V); apply: sumV_eq => y; rewrite next_p0 IH overM0 mulr0 mul0r addr0.
Qed.
(* From the probability of token y to that of the next prefix in play, s(y) > 0. *)
Lemma next_p_under (b s : V -> R) p y : 0 < s y :> R -> p * b y <= s y -> next_p b s p y = p * b y / s y :> R.
Proof. by move=> s0 le; rewrite /next_p min_l // ler_pdivr_mulr // mul1r. Qed.
Lemma next_p_over (b s : V -> R) p y : 0 < s y :> R -> s y <= p * b y -> next_p b s p y = 1 :> R.
Proof. by move=> s0 le; rewrite /next_p min_r // ler_pdivl_mulr // mul1r. Qed.
Lemma over_under (b s : V -> R) p y : p * b y <= s y -> over b s p y = 0.
Proof. by move=> le; rewrite overE min_l ?subrr. Qed.
Lemma over_over (b s : V -> R) p y : s y <= p * b y -> over b s p y = p * b y - s y.
Proof. by move=> le; rewrite overE min_r. Qed.
End Recursion.

(* Several iterations.  Theorem 2 as published says that after every number of iterations block
   verification decodes at least as many tokens as any valid verifier.  That is false for gamma = 2
   from three iterations on and for every gamma > 2 from two on, against one verifier that is valid
   for all models and sees only the rows along the draft.  The gap in Appendix B.2 is the line
   f(eta) = p_{l-eta-1}(...): f conditions on the output O, Lemma 3 on the draft X; conditioned on
   O it is M_s p / M_b, which need not increase in eta. *)

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
