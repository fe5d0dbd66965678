(* What acceptance is possible at all: the reaches r(x) = Pr(X^i = x, tau >= i) of valid verifiers are
   exactly the points of 0 <= r(xy) <= min(r(x) M_b(y | x), M_s(xy)), r() = 1.  So the best that valid
   verifiers can do in several iterations is a linear program for each text, and its dual a proof. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum zify.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Models Algorithms Verifier Block Token Optimality Stopping Recursion Strategies SubBlocks.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section Reaches.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma : nat) (c : seq V).
Implicit Types (x pre X : seq V) (r : seq V -> R).

Definition possible r : Prop := r [::] = 1 /\ forall x y, (size x < gamma)%N ->
  0 <= r (rcons x y) <= Num.min (r x * Mb (c ++ x) y) (joint Ms c (rcons x y)).

Theorem reach_possible (K : kernel V R gamma) :
  valid Mb Ms gamma c (run K) -> possible (reach Ms gamma c (run K)).
Proof.
move=> v; split=> [|x y lt].
  by rewrite -[RHS](E_const Ms c K); apply: E_eq => X t y _ _; rewrite take0.
rewrite reach_ge0 le_minr reach_step //=; apply: reach_le_draft.
by rewrite size_rcons.
Qed.


Section Construction.
Variable r : seq V -> R.
Hypothesis rp : possible r.
Definition kept_with x : R := if (size x <= gamma)%N then r x / joint Ms c x else 0.
Notation q := kept_with.
Lemma r_range x : (size x <= gamma)%N -> 0 <= r x <= joint Ms c x.
Proof.
case: rp => r1 rs; case/lastP: x => [|x y]; first by rewrite /= r1 ler01 lexx.
by rewrite size_rcons => /(rs _ y); rewrite le_minr => /and3P[-> _ ->].
Qed.
Lemma joint_kept x : (size x <= gamma)%N -> joint Ms c x * q x = r x.
Proof.
move=> le; rewrite /q le; have [j0|jn] := eqVneq (joint Ms c x) 0; last by rewrite mulrC divfK.
by have /andP[r0 r1] := r_range le; apply/eqP; rewrite j0 mul0r eq_le r0 -j0.
Qed.
Lemma q_root : q [::] = 1. Proof. by case: rp => r1 _; rewrite /q /= r1 divr1. Qed.
Lemma q_range x : 0 <= q x <= 1.
Proof.
rewrite /q; case: leqP => [le|_]; last by rewrite lexx ler01.
have /andP[r0 r1] := r_range le; rewrite divr_ge0 ?joint_ge0 //=.
have [->|jn] := eqVneq (joint Ms c x) 0; first by rewrite invr0 mulr0 ler01.
by rewrite ler_pdivr_mulr ?mul1r // lt0r jn joint_ge0.
Qed.
Lemma q_step x y : ~~ final gamma pred0 x -> Ms (c ++ x) y * q (rcons x y) <= q x * Mb (c ++ x) y.
Proof.
rewrite /final orbF -ltnNge => lt; case: rp => _ /(_ x y lt); rewrite le_minr => /and3P[_ rb _].
rewrite /q size_rcons lt (ltnW lt) joint_rcons.
have [->|jn] := eqVneq (joint Ms c x) 0; first by rewrite mul0r invr0 !mulr0 mul0r.
have [->|sn] := eqVneq (Ms (c ++ x) y) 0.
  rewrite mul0r mulr_ge0 ?row_ge0 // divr_ge0 ?joint_ge0 //.
  by have /andP[] := r_range (ltnW lt).
have -> : Ms (c ++ x) y * (r (rcons x y) / (joint Ms c x * Ms (c ++ x) y)) = r (rcons x y) / joint Ms c x.
  by rewrite invfM mulrCA [_^-1 * _]mulrC mulVKf.
by rewrite mulrAC ler_pmul2r // invr_gt0 lt0r jn joint_ge0.
Qed.
Notation coin := (coin_of Ms gamma c pred0 q).
Notation row := (row_of Mb Ms gamma c pred0 q).
Definition keeping X : (seq V -> V -> R) -> R := sub_verify coin row X.
Lemma keeping_program X : program X (keeping X).
Proof.
apply: sub_program => x; [apply: coin_of_range | move=> y; apply: row_of_ge0 | apply: row_of_sum];
  by [apply: q_range | apply: q_later q_step | apply: q_step].
Qed.
Lemma keeping_valid : valid Mb Ms gamma c keeping.
Proof.
apply: fair_valid => U Uf; rewrite -[in X in gen _ _ X](cats0 c) -draft_gen.
by apply: keeping_fair; [apply: q_root | apply: q_range | apply: q_step | ].
Qed.
Lemma keeping_test i (F : seq V -> R) : (i <= gamma)%N ->
  gen Ms gamma c (fun X => sub_block coin [::] [::] X (fun k => if (i <= size k)%N then F (take i k) else 0))
  = gen Ms i c (fun x => q x * F x).
Proof.
move=> le; pose B k : R := if (i <= size k)%N then F (take i k) else 0.
transitivity (worth Ms c pred0 coin B gamma [::] (B [::])).
  by rewrite -(sub_block_worth _ _ _ _ B) draft_gen cats0.
pose Phi x := gen Ms (i - size x) (c ++ x) (fun z => q (x ++ z) * F (take i (x ++ z))).
rewrite (@keeping_core _ _ Ms gamma c pred0 q q_root q_range (q_later q_step) B Phi) /B => [|x|x].
- rewrite /Phi subn0 cats0; apply: gen_eq => z hz.
  by rewrite /= -hz take_size.
- rewrite /final orbF -ltnNge => lt; rewrite /Phi.
  have [ge|gt] := leqP i (size x).
    have /eqP -> : (i - size x == 0)%N by rewrite subn_eq0.
    rewrite (sumV_eq (g := fun y => Ms (c ++ x) y * q (rcons x y) * F (take i x))) => [|y].
      by rewrite sumVZr /= cats0 -/(later Ms c q x); ring.
    have /eqP -> : (i - size (rcons x y) == 0)%N by rewrite subn_eq0 size_rcons leqW.
    by rewrite /= cats0 -cats1 takel_cat // mulrA.
  rewrite mulr0 addr0 -(subnSK gt) genS; apply: sumV_eq => y.
  rewrite size_rcons rcons_cat; congr (_ * _); apply: gen_eq => z _.
  by rewrite cat_rcons.
rewrite /final orbF => ge; rewrite /Phi (leq_trans le ge).
have /eqP -> : (i - size x == 0)%N by rewrite subn_eq0 (leq_trans le).
by rewrite /= cats0.
Qed.
Lemma keeping_reach x : (size x <= gamma)%N -> reach Ms gamma c keeping x = r x.
Proof.
move=> le; rewrite -joint_kept //.
transitivity (gen Ms (size x) c (fun z => q z * (z == x)%:R)); last first.
  rewrite mulrC -gen_delta -genZ; apply: gen_eq => z _.
  by case: eqP => [->|]; rewrite ?mulr0.
rewrite -keeping_test //; apply: gen_eq => X hX.
transitivity (keeping X (fun kept _ => if (size x <= size kept)%N then (take (size x) kept == x)%:R else 0)).
  apply: (program_ext (keeping_program X)) => t y lt; rewrite size_takel //.
  by case: leqP => // h; rewrite take_take.
rewrite /keeping /sub_verify; elim: X {hX} [::] {2 4}[::] => [|z X IH] pre kept /=.
  by rewrite /draw sumVZr row_of_sum ?mul1r //; apply: q_step.
by rewrite /flip !IH.
Qed.
Definition keeping_kernel : kernel V R gamma := kernel_of (fun X (_ : size X = gamma) => keeping_program X).
Lemma keeping_kernel_valid : valid Mb Ms gamma c (run keeping_kernel).
Proof.
by move=> o ho; rewrite -(keeping_valid ho); apply: gen_eq => X hX; rewrite run_kernel_of.
Qed.
Lemma keeping_kernel_reach x : (size x <= gamma)%N -> reach Ms gamma c (run keeping_kernel) x = r x.
Proof.
by move=> le; rewrite -keeping_reach //; apply: gen_eq => X hX; rewrite run_kernel_of.
Qed.
End Construction.

(* Both directions. *)
Theorem reach_polytope r : possible r <-> exists K : kernel V R gamma, [/\ valid Mb Ms gamma c (run K),
  r [::] = 1 & forall x, (size x <= gamma)%N -> reach Ms gamma c (run K) x = r x].
Proof.
split=> [rp|[K [v r1 e]]].
  exists (keeping_kernel rp); split; [exact: keeping_kernel_valid | by case: rp | exact: keeping_kernel_reach].
have [_ rs] := reach_possible v; split=> // x y lt.
by rewrite -!e ?rs // ?size_rcons // ltnW.
Qed.

(* What an iteration is worth, by its reaches; and a bound for all valid verifiers: prices for
   keeping a prefix no more often than its parent allows, and than it is drafted. *)
Section Prices.
Variables (U : seq V -> R).
Notation gain x := (ahead Mb c U x - U x).
Definition worth_of r : R := ahead Mb c U [::] + \sum_(i < gamma) sumB i.+1 (fun x => r x * gain x).
Variables (parent drafted : seq V -> R).
Definition priced : Prop := [/\ forall x, 0 <= parent x, forall x, 0 <= drafted x,
  forall x, (gamma < size x)%N -> parent x = 0 &
  forall x, (0 < size x <= gamma)%N ->
    gain x + sumV (fun y => Mb (c ++ x) y * parent (rcons x y)) <= parent x + drafted x].
Definition price : R := ahead Mb c U [::] + sumV (fun y => Mb c y * parent [:: y])
  + \sum_(i < gamma) sumB i.+1 (fun x => joint Ms c x * drafted x).

Lemma sumB_rcons n (F : seq V -> R) : sumB n.+1 F = sumB n (fun x => sumV (fun y => F (rcons x y))).
Proof.
elim: n F => [|n IH] F //.
apply: (@sumV_eq V R (fun z => sumB n.+1 (fun s => F (z :: s)))
  (fun z => sumB n (fun s => sumV (fun y => F (rcons (z :: s) y))))) => z.
exact: (IH (fun s => F (z :: s))).
Qed.
Lemma sumBD n (F G : seq V -> R) : sumB n (fun x => F x + G x) = sumB n F + sumB n G.
Proof. by elim: n F G => [|n IH] F G //=; rewrite -sumVD; apply: sumV_eq => x; rewrite IH. Qed.
Theorem price_bounds r : possible r -> priced -> worth_of r <= price.
Proof.
move=> rp [l0 m0 lz feas]; rewrite /worth_of /price -addrA ler_add2l.
pose N x := r x * sumV (fun y => Mb (c ++ x) y * parent (rcons x y)).
pose D x := joint Ms c x * drafted x.
have [r1 rs] := rp.
have step i : (i < gamma)%N -> sumB i.+1 (fun x => r x * gain x) + sumB i.+1 N <= sumB i N + sumB i.+1 D.
  move=> lt; apply: le_trans (_ : sumB i.+1 (fun x => r x * parent x) + sumB i.+1 D <= _).
    rewrite -!sumBD; apply: sumB_le => x hx.
    have le : (size x <= gamma)%N by rewrite hx.
    have /andP[r0 rj] := r_range rp le.
    rewrite /N -mulrDr; apply: le_trans (ler_wpmul2l r0 (feas x _)) _; first by rewrite hx.
    by rewrite mulrDr ler_add2l; apply: ler_wpmul2r.
  rewrite ler_add2r sumB_rcons; apply: sumB_le => x hx; rewrite /N -sumVZ; apply: sumV_le => y.
  rewrite mulrA; apply: ler_wpmul2r => //.
  have := rs x y; rewrite hx => /(_ lt); by rewrite le_minr => /and3P[].
have tele n : (n <= gamma)%N -> \sum_(i < n) sumB i.+1 (fun x => r x * gain x) + sumB n N
    <= sumB 0 N + \sum_(i < n) sumB i.+1 D.
  elim: n => [|n IH] le; first by rewrite !big_ord0 add0r addr0.
  rewrite !big_ord_recr /= -addrA; apply: le_trans (ler_add (lexx _) (step n le)) _.
  by rewrite !addrA ler_add2r; apply: IH; apply: ltnW.
have := tele gamma (leqnn gamma).
have -> : sumB gamma N = 0.
  transitivity (sumB gamma (fun _ : seq V => 0 * (0 : R))); last by rewrite sumBZ mul0r.
  apply: sumB_eq => x hx; rewrite mul0r /N -[RHS](mulr0 (r x)) -(sumV0 V R); congr (_ * _).
  by apply: sumV_eq => y; rewrite lz ?mulr0 // size_rcons hx.
have -> : sumB 0 N = sumV (fun y => Mb c y * parent [:: y]) by rewrite /= /N r1 mul1r cats0.
by rewrite addr0.
Qed.
End Prices.
End Reaches.

(* Several iterations: W n t is what n more iterations from the text t are worth.  Prices for each
   text bound all strategies; reaches for each text give a strategy. *)
Section SeveralIterations.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma : nat).
Variables (A : seq V -> R) (W : nat -> seq V -> R) (covered : nat -> seq V -> Prop).
Hypothesis covers : forall n t k y, (size k <= gamma)%N -> covered n.+1 t -> covered n (t ++ rcons k y).
Hypothesis W0 : forall t, covered 0 t -> W 0 t = A t.
Notation then_ n t := (fun s => W n (t ++ s)).

Theorem prices_bound_strategies (parent drafted : nat -> seq V -> seq V -> R) :
  (forall n t, covered n.+1 t -> priced Mb gamma t (then_ n t) (parent n t) (drafted n t)) ->
  (forall n t, covered n.+1 t -> price Mb Ms gamma t (then_ n t) (parent n t) (drafted n t) <= W n.+1 t) ->
  forall (P : strategy V R gamma) n h t, valid_strategy Mb Ms P -> covered n t -> play Ms P n h t A <= W n t.
Proof.
move=> pr le P n h t v; elim: n h t => [|n IH] h t cov; first by rewrite W0.
apply: le_trans (le n t cov).
apply: le_trans (price_bounds (reach_possible (v h t)) (pr n t cov)).
rewrite /worth_of -(landing (then_ n t) (v h t)) /=; apply: E_le => X i y hX li.
by apply: IH; apply: covers => //; rewrite size_takel ?hX.
Qed.

Theorem reaches_give_strategy (r : nat -> seq V -> seq V -> R) :
  (forall n t, possible Mb Ms gamma t (r n t)) ->
  (forall n t, covered n.+1 t -> worth_of Mb gamma t (then_ n t) (r n t) = W n.+1 t) ->
  forall n t, covered n t -> exists P : strategy V R gamma, valid_strategy Mb Ms P /\ play Ms P n [::] t A = W n t.
Proof.
move=> rp e N t0 cov0; pose P : strategy V R gamma := fun h t => keeping_kernel (rp (N - (size h).+1)%N t).
suff H n h t : covered n t -> (n + size h)%N = N -> play Ms P n h t A = W n t.
  exists P; split=> [h t|]; first exact: keeping_kernel_valid.
  by apply: H; rewrite ?addn0.
elim: n h t => [|n IH] h t cov hs; first by rewrite W0.
have en : (N - (size h).+1)%N = n by lia.
transitivity (E Ms t (P h t) (fun _ k y => W n (t ++ rcons k y))).
  apply: E_eq => X i y hX li; apply: IH; first by apply: covers => //; rewrite size_takel ?hX.
  by rewrite size_rcons addnS -addSn.
rewrite (landing (then_ n t) (keeping_kernel_valid (rp _ t))) -(e n t cov) /worth_of.
congr (_ + _); apply: eq_bigr => i _; apply: sumB_eq => x hx.
by rewrite keeping_kernel_reach ?en // hx.
Qed.

(* What a certificate of the optimum shows. *)
Theorem certified_optimum parent drafted r :
  (forall n t, covered n.+1 t -> priced Mb gamma t (then_ n t) (parent n t) (drafted n t)) ->
  (forall n t, covered n.+1 t -> price Mb Ms gamma t (then_ n t) (parent n t) (drafted n t) = W n.+1 t) ->
  (forall n t, possible Mb Ms gamma t (r n t)) ->
  (forall n t, covered n.+1 t -> worth_of Mb gamma t (then_ n t) (r n t) = W n.+1 t) ->
  forall n t, covered n t ->
    (forall P : strategy V R gamma, valid_strategy Mb Ms P -> play Ms P n [::] t A <= W n t) /\
    exists P : strategy V R gamma, valid_strategy Mb Ms P /\ play Ms P n [::] t A = W n t.
Proof.
move=> pr pe rp re n t cov; split; last exact: reaches_give_strategy rp re n t cov.
move=> P v; apply: (prices_bound_strategies pr) => // m s cs.
by rewrite pe.
Qed.
End SeveralIterations.
