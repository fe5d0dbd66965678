(* Verifiers that keep the longest accepted sub-block, with any coins and any rows for the last
   token; and those that keep a prefix x with a given probability q(x).  Block verification is
   the one with q = p of Equation (9).  Drafting may stop early, by a rule that sees the draft. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum zify.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Models Algorithms Verifier Block.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

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
