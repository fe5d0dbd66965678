(* Block verification: Lemma 3 and Theorem 1 (Appendix B.1, B.3). *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Models Algorithms Verifier.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

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


(* Algorithm 2 is a program, so the bridge of Verifier.v applies to it. *)
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
