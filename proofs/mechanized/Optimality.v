(* Lemma 4 and Theorem 2 for one iteration: against every valid kernel. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Models Algorithms Verifier Block Token.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

(* Completing past position i: given the first i tokens, the next is the large model's. *)
Lemma gen_next (V : vocabulary) (R : realFieldType) (M : model V R) n (c x s : seq V) y :
  (size s <= size x)%N -> (size x < size s + n)%N ->
  gen M n (c ++ s) (fun z => (take (size x).+1 (s ++ z) == rcons x y)%:R)
  = M (c ++ x) y * gen M n (c ++ s) (fun z => (take (size x) (s ++ z) == x)%:R) :> R.
Proof.
elim: n s => [|n IH] s le lt; first by rewrite addn0 ltnNge le in lt.
move: le; rewrite leq_eqVlt => /orP[/eqP e|lt']; last first.
  rewrite !genS -sumVZ; apply: sumV_eq => v.
  rewrite rcons_cat mulrCA; congr (_ * _).
  transitivity (gen M n (c ++ rcons s v)
      (fun z => (take (size x).+1 (rcons s v ++ z) == rcons x y)%:R) : R).
    by apply: gen_eq => z _; rewrite cat_rcons.
  rewrite IH ?size_rcons // ?addSnnS //; congr (_ * _).
  by apply: gen_eq => z _; rewrite cat_rcons.
rewrite !genS -[RHS]/(_ * sumV _) -sumVZ.
transitivity (sumV (fun v => (v == y)%:R * (M (c ++ s) v * (s == x)%:R)) : R).
  apply: sumV_eq => v; rewrite mulrCA; congr (_ * _).
  rewrite -[RHS](gen_const M n (rcons (c ++ s) v)); apply: gen_eq => z _.
  rewrite -cat_rcons take_size_cat ?size_rcons ?e // eqseq_rcons andbC -mulnb natrM //.
rewrite (sumV_delta y (fun v => M (c ++ s) v * (s == x)%:R)).
transitivity (M (c ++ x) y * (s == x)%:R : R).
  by case: (s =P x) => [->|]; rewrite ?mulr0.
rewrite -(sumV_eq (f := fun v => M (c ++ s) v * (M (c ++ x) y * (s == x)%:R))).
  by rewrite sumVZr row_sum mul1r.
move=> v; rewrite mulrCA; congr (_ * (_ * _)).
rewrite -[LHS](gen_const M n (rcons (c ++ s) v)); apply: gen_eq => z _.
by rewrite take_size_cat.
Qed.

Section Optimality.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R).
Variables (gamma : nat) (c : seq V) (K : kernel V R gamma).
Implicit Types (o s X : seq V).

(* Equation (7) for every test function. *)
Lemma valid_completed g : valid Mb Ms gamma c (run K) ->
  completed Mb Ms gamma c (run K) g = gen Mb gamma.+1 c g.
Proof.
move=> v; rewrite gen_joint.
transitivity (sumB gamma.+1 (fun o =>
    g o * completed Mb Ms gamma c (run K) (fun o' => (o' == o)%:R))); last first.
  by apply: sumB_eq => o ho; rewrite v // mulrC.
rewrite /completed -/(E Ms c K (fun _ k y => complete Mb gamma c g (rcons k y))).
transitivity (sumB gamma.+1 (fun o => E Ms c K (fun _ k y =>
    g o * complete Mb gamma c (fun o' => (o' == o)%:R) (rcons k y)))); last first.
  by apply: sumB_eq => o _; rewrite EZ.
rewrite -E_sumB; apply: E_eq => X t y hX le.
have lt : (size (rcons (take t X) y) <= gamma.+1)%N by rewrite size_rcons ltnS size_takel ?hX.
rewrite /complete.
transitivity (gen Mb (gamma.+1 - size (rcons (take t X) y)) (c ++ rcons (take t X) y)
  (fun z => sumB gamma.+1 (fun o => g o * (rcons (take t X) y ++ z == o)%:R))).
  apply: gen_eq => z hz; rewrite -(@sumB_delta _ _ gamma.+1 g); last first.
    by rewrite size_cat hz subnKC.
  by apply: sumB_eq => o _; rewrite mulrC eq_sym.
by rewrite gen_sumB; apply: sumB_eq => o _; rewrite genZ.
Qed.

Hypothesis Kvalid : valid Mb Ms gamma c (run K).
Notation a := (reach Ms gamma c (run K)).

Lemma reach_ge0 (x : seq V) : 0 <= a x.
Proof.
by rewrite /reach -(E0 Ms c K); apply: E_le => X t y _ _; rewrite ler0n.
Qed.
(* An accepted block was drafted. *)
Lemma reach_le_draft (x : seq V) : (size x <= gamma)%N -> a x <= joint Ms c x.
Proof.
move=> le; rewrite -gen_delta -(gen_take Ms c (fun s => (s == x)%:R) le).
rewrite -(E_draft Ms c K); apply: E_le => X t y _ _.
by rewrite ler_nat; case: (size x <= _)%N; case: (_ == _).
Qed.
(* The heart of Lemma 4, without a case split: Equation (7) at lengths i and i+1 gives
   Pr(O^{i+1} = xy, tau >= i) = Pr(X^i = x, tau >= i) M_b(y | x). *)
Lemma reach_step (x : seq V) y : (size x < gamma)%N ->
  a (rcons x y) <= a x * Mb (c ++ x) y.
Proof.
move=> lt.
pose g o : R := (take (size x) o == x)%:R.
pose g' o : R := (take (size x).+1 o == rcons x y)%:R.
have e : completed Mb Ms gamma c (run K) g' = Mb (c ++ x) y * completed Mb Ms gamma c (run K) g.
  rewrite !valid_completed //.
  by have := @gen_next _ _ Mb gamma.+1 c x [::] y; rewrite cats0 => -> //; rewrite ltnW.
move: e; rewrite /completed.
rewrite -/(E Ms c K (fun _ k v => complete Mb gamma c g' (rcons k v))).
rewrite -/(E Ms c K (fun _ k v => complete Mb gamma c g (rcons k v))) => e.
rewrite -subr_ge0.
have -> : a x * Mb (c ++ x) y - a (rcons x y)
  = E Ms c K (fun X k v => Mb (c ++ x) y * ((size x <= size k)%N && (take (size x) X == x))%:R
      + -1 * (((size x).+1 <= size k)%N && (take (size x).+1 X == rcons x y))%:R).
  by rewrite ED !EZ mulN1r mulrC /reach size_rcons.
have {1}-> : (0 : R) = E Ms c K (fun _ k v => Mb (c ++ x) y * complete Mb gamma c g (rcons k v)
      + -1 * complete Mb gamma c g' (rcons k v)).
  by rewrite ED !EZ -e mulN1r subrr.
apply: E_le => X t v hX le; set k := take t X.
have hk : size k = t by rewrite size_takel ?hX.
rewrite hk !mulN1r.
have [ge|gt] := leqP (size x) t; last first.
  rewrite ltnNge (ltnW gt) /= /complete size_rcons hk subSS.
  rewrite (@gen_next _ _ Mb _ c x (rcons k v) y) ?size_rcons ?hk //; last first.
    by rewrite addSn subnKC // ltnW // ltnS.
  by rewrite mulr0 subrr subr0.
have -> : complete Mb gamma c g (rcons k v) = (take (size x) X == x)%:R.
  rewrite /complete -[RHS](gen_const Mb (gamma.+1 - size (rcons k v)) (c ++ rcons k v)).
  by apply: gen_eq => z _; rewrite /g cat_rcons takel_cat ?hk // /k take_take.
apply: ler_sub => //.
have [gt|le'] := ltnP (size x) t; last first.
  by rewrite /complete; apply: gen_ge0 => z _; rewrite ler0n.
rewrite andTb /complete -[X in X <= _](gen_const Mb (gamma.+1 - size (rcons k v)) (c ++ rcons k v)).
by apply: gen_le => z _; rewrite /g' cat_rcons takel_cat ?hk // /k take_take.
Qed.

(* Lemma 4 for an arbitrary valid verifier. *)
Theorem lemma_4 (x : seq V) : (size x <= gamma)%N ->
  a x <= joint Ms c x * p_of Mb Ms c x.
Proof.
elim/last_ind: x => [|x y IH] le; first by rewrite mulr1; apply: reach_le_draft.
rewrite size_rcons in le.
rewrite joint_p_rcons minr_pmulr ?joint_ge0 // le_minr; apply/andP; split.
  apply: le_trans (reach_step y le) _; rewrite mulrA.
  by apply: ler_wpmul2r => //; apply: IH; apply: ltnW.
by rewrite -joint_rcons; apply: reach_le_draft; rewrite size_rcons.
Qed.
End Optimality.

Lemma sum_lt t n : (\sum_(i < n) (i < t) = minn t n)%N.
Proof.
elim: n => [|n IH]; first by rewrite big_ord0 minn0.
rewrite big_ord_recr /= IH; have [h|] := boolP (n < t)%N.
  by rewrite (minn_idPr (ltnW h)) (minn_idPr h) addn1.
by rewrite -leqNgt => h; rewrite (minn_idPl h) (minn_idPl (leqW h)) addn0.
Qed.

Section Theorem2.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R).
Variables (gamma : nat) (c : seq V).

(* E[tau] = sum over i of Pr(tau >= i), and Pr(tau >= i) by what the first i tokens are. *)
Lemma Etau_reach (K : kernel V R gamma) :
  Etau Ms gamma c (run K) = \sum_(i < gamma) sumB i.+1 (reach Ms gamma c (run K)).
Proof.
transitivity (E Ms c K (fun X k _ => \sum_(i < gamma) sumB i.+1 (fun x : seq V =>
    ((size x <= size k)%N && (take (size x) X == x))%:R))); last first.
  by rewrite E_sum; apply: eq_bigr => i _; rewrite E_sumB.
apply: E_eq => X t y hX le; rewrite size_takel ?hX //.
transitivity (\sum_(i < gamma) (i < t)%:R : R).
  by rewrite -natr_sum sum_lt (minn_idPl le).
apply: eq_bigr => -[i lt] _ /=.
rewrite -[sumV _]/(sumB i.+1 (fun x : seq V => ((size x <= t)%N && (take (size x) X == x))%:R)).
transitivity (sumB i.+1 (fun x : seq V => (x == take i.+1 X)%:R * (i < t)%:R) : R).
  by rewrite (sumB_delta (fun _ => _)) // size_takel // hX.
by apply: sumB_eq => x hx; rewrite hx andbC -mulnb natrM eq_sym.
Qed.

Lemma Etau_program W : (forall X, size X = gamma -> program X (W X)) ->
  exists K : kernel V R gamma, [/\ Etau Ms gamma c W = Etau Ms gamma c (run K),
    forall x : seq V, reach Ms gamma c W x = reach Ms gamma c (run K) x
    & valid Mb Ms gamma c W -> valid Mb Ms gamma c (run K)].
Proof.
move=> prog; have [K e] := program_run prog; exists K.
have g A : gen Ms gamma c (fun X => W X (A X)) = gen Ms gamma c (fun X => run K X (A X)).
  by apply: gen_eq => X hX; apply: e.
split; [exact: g | by move=> x; exact: g |].
by move=> v o ho; rewrite -v // /completed g.
Qed.

Lemma Etau_block : Etau Ms gamma c (block_verify Mb Ms c)
  = \sum_(i < gamma) sumB i.+1 (fun x => joint Ms c x * p_of Mb Ms c x).
Proof.
have [K [-> e _]] := Etau_program (fun X _ => block_program Mb Ms c X).
rewrite Etau_reach; apply: eq_bigr => i _; apply: sumB_eq => x hx.
by rewrite -e lemma_3 // hx ltn_ord.
Qed.

(* Theorem 2 for one iteration. *)
Theorem theorem_2_one (K : kernel V R gamma) : valid Mb Ms gamma c (run K) ->
  Etau Ms gamma c (run K) <= Etau Ms gamma c (block_verify Mb Ms c).
Proof.
move=> v; rewrite Etau_reach Etau_block; apply: ler_sum => i _; apply: sumB_le => x hx.
by apply: lemma_4; rewrite // hx ltn_ord.
Qed.
(* A rule for one path that reads every row of both models, those off the path too: each draft, and whatever coins. *)
Theorem theorem_2_off_path (W : (seq V -> V -> R) -> (seq V -> V -> R) -> verifier V R) :
  (forall X, size X = gamma -> program X (W Mb Ms c X)) -> valid Mb Ms gamma c (W Mb Ms c) ->
  Etau Ms gamma c (W Mb Ms c) <= Etau Ms gamma c (block_verify Mb Ms c).
Proof.
by move=> prog v; have [K [-> _ vK]] := Etau_program prog; apply: theorem_2_one; apply: vK.
Qed.
(* Block verification attains the bound: it is one of the valid kernels. *)
Theorem block_kernel : exists K : kernel V R gamma, valid Mb Ms gamma c (run K) /\
  Etau Ms gamma c (run K) = Etau Ms gamma c (block_verify Mb Ms c).
Proof.
have [K [e _ v]] := Etau_program (fun X _ => block_program Mb Ms c X).
by exists K; split; [apply: v; apply: theorem_1 | rewrite e].
Qed.
Theorem token_le_block :
  Etau Ms gamma c (token_verify Mb Ms c) <= Etau Ms gamma c (block_verify Mb Ms c).
Proof.
have [K [-> _ v]] := Etau_program (fun X _ => token_program Mb Ms c X).
by apply: theorem_2_one; apply: v; apply: token_valid.
Qed.
End Theorem2.
