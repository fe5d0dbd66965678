(* Greedy block verification (Algorithm 4): Lemma 9, Lemma 8 and Theorem 3. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Models Algorithms Verifier Block Token Optimality.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section Rows.
Variables (V : vocabulary) (R : realFieldType) (b s : V -> R).
Hypotheses (b0 : forall x, 0 <= b x) (s0 : forall x, 0 <= s x).
Hypotheses (b1 : sumV b = 1) (s1 : sumV s = 1).
Implicit Types (p a : R) (U : V -> R).
Definition clip p : R := Num.min p 1.

Lemma clip_next p x : 0 <= p -> s x * clip (p * b x / s x) = Num.min (p * b x) (s x).
Proof. by move=> p0; have := next_pE b0 s0 x p0. Qed.
Lemma spread_greedy p U a : 0 <= p ->
  sumV (fun x => s x * U x) + (1 - share b s p) * a
  = sumV (fun x => s x * (U x + (1 - clip (p * b x / s x)) * a)).
Proof. by move=> p0; rewrite (spread b0 s0 s1). Qed.
Lemma underE p : under b s p = 1 - share b s p.
Proof.
rewrite /under -[X in X - _]s1 -sumVB; apply: sumV_eq => y.
case: (leP (p * b y) (s y)) => h; first by rewrite max_l // subr_ge0.
by rewrite max_r ?subrr // subr_le0 ltW.
Qed.
Lemma h_greedyE p : (1 - share b s p) * h_greedy b s p = clip p - share b s p.
Proof.
have u0 : 0 <= under b s p by apply: sumV_ge0 => y; rewrite le_maxr lexx orbT.
have e0 : 0 <= excess b s p by apply: sumV_ge0 => y; apply: over_ge0.
transitivity (Num.min (excess b s p) (under b s p)); last first.
  by rewrite excessE // underE /clip addr_minl.
rewrite -underE /h_greedy; have [/eqP e|ne] := boolP (_ == 0).
  by rewrite e mul0r min_r.
by rewrite minr_pmulr // mulr1 mulrCA mulfV // mulr1.
Qed.
End Rows.

Section Greedy.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R).
Variables (gamma : nat) (c : seq V).
Implicit Types (pre kept X : seq V) (p pk : R).
Notation rb pre := (Mb (c ++ pre)).
Notation rs pre := (Ms (c ++ pre)).
Notation next pre p x := (p * rb pre x / rs pre x).

Lemma next_ge0 pre p x : 0 <= p -> 0 <= next pre p x.
Proof. by move=> p0; rewrite divr_ge0 ?mulr_ge0. Qed.

(* On drafts of positive probability p is M_b / M_s. *)
Definition ratio pre p : Prop :=
  joint Ms c pre != 0 /\ joint Ms c pre * p = joint Mb c pre.
Lemma ratio_next pre p x : ratio pre p -> rs pre x != 0 -> ratio (rcons pre x) (next pre p x).
Proof.
move=> [ne e] nx; split; rewrite !joint_rcons ?mulf_neq0 // -e.
rewrite -!mulrA; congr (_ * _).
by rewrite mulrC mulrA mulfVK.
Qed.
(* The same induction as block_core, with min(p, 1) for p. *)
Section Core.
Variables (A Phi : seq V -> R -> R).
Hypothesis Phi_step : forall pre p, (size pre < gamma)%N -> 0 <= p -> ratio pre p ->
  sumV (fun x => rs pre x * Phi (rcons pre x) (next pre p x))
  + (clip p - share (rb pre) (rs pre) p) * A pre p = Phi pre p.
Hypothesis Phi_end : forall pre p, size pre = gamma -> 0 <= p -> ratio pre p ->
  Phi pre p = clip p * A pre p.

Lemma greedy_core_from n pre p kept pk : (size pre + n.+1)%N = gamma -> 0 <= p -> ratio pre p ->
  gen Ms n.+1 (c ++ pre) (fun X => greedy_loop Mb Ms c pre p kept pk X A)
  = sumV (fun x => rs pre x * Phi (rcons pre x) (next pre p x))
    + (1 - share (rb pre) (rs pre) p) * A kept pk.
Proof.
elim: n pre p kept pk => [|n IH] pre p kept pk hn p0 rp.
  rewrite spread_greedy //; apply: sumV_eq => x /=.
  have [/eqP -> | nx] := boolP (rs pre x == 0); first by rewrite !mul0r.
  have e : size (rcons pre x) = gamma by rewrite size_rcons -addn1.
  by rewrite /flip (Phi_end e) ?next_ge0 //; apply: ratio_next.
rewrite spread_greedy // [LHS]genS; apply: sumV_eq => x.
have [/eqP -> | nx] := boolP (rs pre x == 0); first by rewrite !mul0r.
have rp' := ratio_next rp nx.
set p' := next pre p x; have p'0 : 0 <= p' by apply: next_ge0.
set pre' := rcons pre x.
have hn' : (size pre' + n.+1)%N = gamma by rewrite size_rcons -hn addSnnS.
have lt' : (size pre' < gamma)%N by rewrite -hn' addnS ltnS leq_addr.
rewrite [rcons (c ++ pre) x]rcons_cat -/pre'.
transitivity (rs pre x * (
  h_greedy (rb pre') (rs pre') p' *
     gen Ms n.+1 (c ++ pre') (fun X => greedy_loop Mb Ms c pre' p' pre' p' X A)
  + (1 - h_greedy (rb pre') (rs pre') p') *
     gen Ms n.+1 (c ++ pre') (fun X => greedy_loop Mb Ms c pre' p' kept pk X A))).
  congr (_ * _); rewrite -!genZ -genD.
  by apply: gen_eq => -[|y X].
rewrite !IH // -(Phi_step lt' p'0 rp') /=.
have e : (1 - share (rb pre') (rs pre') p') * h_greedy (rb pre') (rs pre') p'
         = clip p' - share (rb pre') (rs pre') p' by apply: h_greedyE.
have e2 : 1 - clip p' = (1 - share (rb pre') (rs pre') p') * (1 - h_greedy (rb pre') (rs pre') p').
  by rewrite mulrBr e; ring.
by rewrite -/p' -/pre' -e e2; ring.
Qed.
Lemma greedy_core :
  gen Ms gamma c (fun X => greedy_loop Mb Ms c [::] 1 [::] 1 X A) = Phi [::] 1.
Proof.
have c1 : clip (1 : R) = 1 by rewrite /clip minxx.
have r1 : ratio [::] 1 by split; rewrite /= ?mulr1 ?oner_neq0.
have [hg|hg] := posnP gamma; first by rewrite {1}hg /= Phi_end ?ler01 // c1 mul1r.
have := @greedy_core_from gamma.-1 [::] 1 [::] 1; rewrite cats0 prednK // => -> //; try exact: ler01.
by rewrite -[RHS]Phi_step ?ler01 // cats0 c1.
Qed.
End Core.

(* p_i of Algorithm 4, without the minimum. *)
Fixpoint r_from p pre (x : seq V) : R :=
  if x is y :: x' then r_from (next pre p y) (rcons pre y) x' else p.
Lemma r_from_ge0 p pre x : 0 <= p -> 0 <= r_from p pre x.
Proof. by elim: x p pre => [|y x IH] p pre p0 //=; apply: IH; apply: next_ge0. Qed.
(* M_s(x) p(x) = M_b(x) wherever M_s(x) > 0. *)
Lemma joint_r p pre x : joint Ms (c ++ pre) x != 0 ->
  joint Ms (c ++ pre) x * r_from p pre x = p * joint Mb (c ++ pre) x.
Proof.
elim: x p pre => [|y x IH] p pre /=; first by rewrite mul1r mulr1.
rewrite mulf_eq0 negb_or => /andP[ne ne']; rewrite rcons_cat in ne' *.
rewrite -mulrA IH // !mulrA; congr (_ * _).
by rewrite -[rs pre y * p * _]mulrA mulrAC mulfV // mul1r.
Qed.
Lemma joint_clip x :
  joint Ms c x * clip (r_from 1 [::] x) = Num.min (joint Mb c x) (joint Ms c x).
Proof.
have [/eqP e|ne] := boolP (joint Ms c x == 0).
  by rewrite e mul0r min_r // joint_ge0.
have := @joint_r 1 [::] x; rewrite cats0 mul1r => <- //.
by rewrite /clip minr_pmulr ?joint_ge0 // mulr1.
Qed.

Lemma lemma_9_test i (F : seq V -> R) : (i <= gamma)%N ->
  gen Ms gamma c (fun X => greedy_loop Mb Ms c [::] 1 [::] 1 X
     (fun kept _ => if (i <= size kept)%N then F (take i kept) else 0))
  = gen Ms i c (fun x => clip (r_from 1 [::] x) * F x).
Proof.
move=> le.
pose Phi pre p := gen Ms (i - size pre) (c ++ pre)
  (fun z => clip (r_from p pre z) * F (take i (pre ++ z))).
rewrite (@greedy_core _ Phi); first last.
- move=> pre p hs _ _; rewrite /Phi hs.
  have /eqP -> : (i - gamma == 0)%N by rewrite subn_eq0.
  by rewrite /= cats0 le.
- move=> pre p lt p0 _; rewrite /Phi.
  rewrite (sumV_eq (g := fun x => rs pre x *
     gen Ms (i - (size pre).+1) (rcons (c ++ pre) x) (fun z =>
       clip (r_from (next pre p x) (rcons pre x) z) * F (take i (pre ++ x :: z))))); last first.
    move=> x; rewrite size_rcons rcons_cat; congr (_ * _).
    by apply: gen_eq => z _; rewrite cat_rcons.
  have [ge|gt] := leqP i (size pre).
    have /eqP -> : (i - (size pre).+1 == 0)%N by rewrite subn_eq0 leqW.
    have /eqP -> : (i - size pre == 0)%N by rewrite subn_eq0.
    rewrite /= cats0.
    rewrite (sumV_eq (g := fun x => Num.min (p * rb pre x) (rs pre x) * F (take i pre))).
      by rewrite sumVZr -/(share _ _ _); ring.
    by move=> x; rewrite takel_cat // mulrA clip_next.
  rewrite mulr0 addr0.
  have -> : (i - size pre = (i - (size pre).+1).+1)%N by rewrite subnS prednK // subn_gt0.
  by rewrite genS; apply: sumV_eq.
rewrite /Phi subn0 cats0; apply: gen_eq => z hz.
by rewrite /= -hz take_size.
Qed.

Lemma greedy_loop_program X pre p kept pk todo : pre ++ todo = X -> 0 <= p ->
  kept = take (size kept) X ->
  program X (fun A => greedy_loop Mb Ms c pre p kept pk todo (finish Mb Ms (size X) c A)).
Proof.
elim: todo pre p kept pk => [|x todo IH] pre p kept pk eX p0 ek.
  exact: finish_program.
have q0 : 0 <= next pre p x by apply: next_ge0.
have eX' : rcons pre x ++ todo = X by rewrite cat_rcons.
have eK : rcons pre x = take (size (rcons pre x)) X by rewrite -eX' take_size_cat.
refine (@Toss _ _ _ _ _ _ _ _ (IH _ _ _ _ eX' q0 eK) (IH _ _ _ _ eX' q0 ek)
  (fun A => erefl)).
have cl (a : R) : 0 <= a -> 0 <= Num.min a 1 <= 1.
  by move=> a0; rewrite le_minr a0 ler01 /= le_minl lexx orbT.
case: ifP => _; first exact: cl.
rewrite /h_greedy; case: ifP => _; first by rewrite ler01 /= lexx.
apply: cl; apply: divr_ge0; apply: sumV_ge0 => y; first exact: over_ge0.
by rewrite le_maxr lexx orbT.
Qed.
Lemma greedy_program X : program X (greedy_verify Mb Ms c X).
Proof. by apply: greedy_loop_program; rewrite ?take0 ?ler01. Qed.
Lemma greedy_loop_eq pre p kept pk todo A A' : (forall k q, A k q = A' k q) ->
  greedy_loop Mb Ms c pre p kept pk todo A = greedy_loop Mb Ms c pre p kept pk todo A'.
Proof. by move=> e; elim: todo pre p kept pk => [|x todo IH] pre p kept pk //=; rewrite /flip !IH. Qed.

Theorem lemma_9 (x : seq V) : (size x <= gamma)%N ->
  reach Ms gamma c (greedy_verify Mb Ms c) x = Num.min (joint Mb c x) (joint Ms c x).
Proof.
move=> le; transitivity (gen Ms (size x) c (fun z => clip (r_from 1 [::] z) * (z == x)%:R)).
  rewrite -lemma_9_test //; apply: gen_eq => X hX.
  transitivity (greedy_verify Mb Ms c X (fun kept _ =>
      if (size x <= size kept)%N then (take (size x) kept == x)%:R else 0)).
    apply: (program_ext (greedy_program X)) => t y lt; rewrite size_takel //.
    by case: leqP => // h; rewrite take_take.
  rewrite /greedy_verify; apply: greedy_loop_eq => k q.
  by rewrite (finish_const _ _ _ _ (fun k => if (size x <= size k)%N then _ else 0)).
rewrite -joint_clip mulrC -gen_delta -genZ; apply: gen_eq => z _.
by case: eqP => [->|]; rewrite ?mulr0.
Qed.

(* Equation (31): the law from which Y and the tokens after it are drawn, s being all
   that was generated since c. *)
Notation gap := (gap Mb Ms c).
Notation modified := (modified Mb Ms c).
Lemma gap_ge0 s y : 0 <= gap s y. Proof. by rewrite /Algorithms.gap le_maxr lexx orbT. Qed.
Lemma modified_ge0 s y : 0 <= modified s y.
Proof.
rewrite /Algorithms.modified; case: eqP => // _.
by rewrite divr_ge0 ?gap_ge0 // sumV_ge0 // => x; apply: gap_ge0.
Qed.
Lemma modified_sum s : sumV (modified s) = 1.
Proof. by rewrite /Algorithms.modified; case: eqP => [_|/eqP ne]; rewrite ?sumVZr ?mulfV. Qed.
Definition modified_model : model V R := Model modified_ge0 modified_sum.

Section Lemma8.
Variable g : seq V -> R.
Let Vn s := gen modified (gamma - size s) s (fun z => g (s ++ z)).
Let B s := gen Mb (gamma - size s) (c ++ s) (fun z => g (s ++ z)).
Let A := finish Mb Ms gamma c (fun k y => if size k == gamma then g k else Vn (rcons k y)).

Lemma Vn_step s : (size s < gamma)%N -> Vn s = draw (modified s) (fun y => Vn (rcons s y)).
Proof.
move=> lt; rewrite /Vn -(subnSK lt) genS /draw.
by apply: sumV_eq => y; rewrite size_rcons; congr (_ * _); apply: gen_eq => z _; rewrite cat_rcons.
Qed.
Lemma B_step s : (size s < gamma)%N -> B s = draw (rb s) (fun y => B (rcons s y)).
Proof.
move=> lt; rewrite /B -(subnSK lt) genS /draw.
apply: sumV_eq => y; rewrite size_rcons rcons_cat; congr (_ * _).
by apply: gen_eq => z _; rewrite cat_rcons.
Qed.
(* Off the drafter's support the modified law is the large model. *)
Lemma modified_off s : joint Ms c s = 0 -> modified s =1 rb s.
Proof.
move=> z y; have e x : gap s x = joint Mb c s * rb s x.
  by rewrite /Algorithms.gap !joint_rcons z mul0r subr0 max_l // mulr_ge0 // joint_ge0.
rewrite /Algorithms.modified (sumV_eq e) sumVZ row_sum mulr1 e; case: eqP => // /eqP ne.
by rewrite mulrC mulKf.
Qed.
Lemma Vn_off s : joint Ms c s = 0 -> Vn s = B s.
Proof.
rewrite /Vn /B; move: (gamma - size s)%N => n; elim: n s => [|n IH] u z //.
rewrite !genS; apply: sumV_eq => y; rewrite modified_off //; congr (_ * _).
have := IH (rcons u y); rewrite joint_rcons z mul0r rcons_cat => /(_ erefl) h.
transitivity (gen modified n (rcons u y) (fun v => g (rcons u y ++ v))).
  by apply: gen_eq => v _; rewrite cat_rcons.
by rewrite h; apply: gen_eq => v _; rewrite cat_rcons.
Qed.
(* On it, it is the algorithm's residual. *)
Lemma modified_on s p : ratio s p -> modified s =1 residual (rb s) (rs s) p.
Proof.
move=> [ne r] y; have e x : gap s x = joint Ms c s * over (rb s) (rs s) p x.
  rewrite /Algorithms.gap /over !joint_rcons -r maxr_pmulr ?joint_ge0 // mulr0.
  by congr (Num.max _ _); ring.
rewrite /Algorithms.modified /residual (sumV_eq e) sumVZ -/(excess _ _ _) mulf_eq0 (negPf ne) /=.
by case: eqP => // _; rewrite e -mulf_div mulfV // mul1r.
Qed.
Lemma A_on s p : (size s <= gamma)%N -> ratio s p -> A s p = Vn s.
Proof.
move=> le r; rewrite /A /finish /draw; have [e|ne] := eqVneq (size s) gamma.
  by rewrite sumVZr row_sum mul1r /Vn e subnn /= cats0.
rewrite Vn_step; last by rewrite ltn_neqAle ne.
by apply: sumV_eq => y; rewrite (modified_on r).
Qed.

Lemma lemma_8_test : gen Ms gamma c (fun X => greedy_verify Mb Ms c X
    (fun k y => if size k == gamma then g k else Vn (rcons k y))) = gen Mb gamma c g.
Proof.
pose Phi s p := p * B s - (p - clip p) * Vn s.
transitivity (gen Ms gamma c (fun X => greedy_loop Mb Ms c [::] 1 [::] 1 X A)).
  by apply: gen_eq => X hX; rewrite /greedy_verify hX.
rewrite (@greedy_core A Phi).
- by rewrite /Phi /clip minxx subrr mul0r subr0 mul1r /B subn0 cats0.
- move=> s p lt p0 r; rewrite A_on ?(ltnW lt) // /Phi.
  transitivity (sumV (fun x => p * (rb s x * B (rcons s x))
      - over (rb s) (rs s) p x * Vn (rcons s x)) + (clip p - share (rb s) (rs s) p) * Vn s).
    congr (_ + _); apply: sumV_eq => x; rewrite overE.
    have [/eqP z|nx] := boolP (rs s x == 0).
      rewrite z mul0r min_r ?mulr_ge0 // subr0 Vn_off; last by rewrite joint_rcons z mulr0.
      by ring.
    rewrite mulrBr mulrA [_ * (next s p x)]mulrC mulfVK // -mulrA; congr (_ - _).
    rewrite mulrA mulrBr clip_next //; congr ((_ - _) * _).
    by rewrite mulrC mulfVK.
  rewrite sumVB sumVZ -/(draw (rb s) (fun x => B (rcons s x))) -B_step //.
  have h : draw (residual (rb s) (rs s) p) (fun y => Vn (rcons s y)) = Vn s.
    by rewrite [RHS]Vn_step //; apply: sumV_eq => y; rewrite (modified_on r).
  by rewrite -residualE // h; ring.
move=> s p e p0 r; rewrite A_on ?e // /Phi /Vn /B e subnn /=; ring.
Qed.
End Lemma8.

(* Lemma 8: (X^tau, Y, Z) has the large model's law on the first gamma tokens. *)
Theorem lemma_8 o : size o = gamma ->
  gen Ms gamma c (fun X => greedy_verify Mb Ms c X (fun k y =>
    if size k == gamma then (k == o)%:R
    else gen modified (gamma - size (rcons k y)) (rcons k y) (fun z => (rcons k y ++ z == o)%:R)))
  = joint Mb c o.
Proof. by move=> e; rewrite -[RHS]gen_delta e -(lemma_8_test (fun s => (s == o)%:R)). Qed.

(* What limits every verifier with Equation (7): Lemma 10 for verifiers. *)
Lemma reach_le_large (K : kernel V R gamma) (x : seq V) : valid Mb Ms gamma c (run K) ->
  (size x <= gamma)%N -> reach Ms gamma c (run K) x <= joint Mb c x.
Proof.
move=> v le; apply: le_trans (lemma_4 v le) _.
elim/last_ind: x le => [|x y IH] le; first by rewrite mulr1.
rewrite size_rcons in le.
rewrite joint_p_rcons joint_rcons minr_pmulr ?joint_ge0 // le_minl mulrA.
by apply/orP; left; apply: ler_wpmul2r; [apply: row_ge0 | apply: IH; apply: ltnW].
Qed.
(* Theorem 3, and more: in one iteration greedy block verification accepts at least as
   many tokens as block verification, and as every other valid verifier. *)
Theorem theorem_3_all (K : kernel V R gamma) : valid Mb Ms gamma c (run K) ->
  Etau Ms gamma c (run K) <= Etau Ms gamma c (greedy_verify Mb Ms c).
Proof.
move=> v; have [G [-> e _]] := Etau_program Mb Ms c (fun X (_ : size X = gamma) => greedy_program X).
rewrite !Etau_reach; apply: ler_sum => i _; apply: sumB_le => x hx.
have le : (size x <= gamma)%N by rewrite hx ltn_ord.
by rewrite -e lemma_9 // le_minr reach_le_large //= reach_le_draft.
Qed.
Theorem theorem_3 :
  Etau Ms gamma c (block_verify Mb Ms c) <= Etau Ms gamma c (greedy_verify Mb Ms c).
Proof. by have [K [v <-]] := block_kernel Mb Ms gamma c; apply: theorem_3_all. Qed.
End Greedy.
