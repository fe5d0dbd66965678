From mathcomp Require Import all_ssreflect ssralg ssrnum.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Algorithms Block.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

(* Lemma 4 and Theorem 2 for one iteration: against every valid kernel. *)

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

(* Lemma 7 (Quirk and Saposnik 1962): what is larger in law is larger under every increasing function. *)

Section Dominance.
Variable R : realFieldType.
(* A law on finitely many numbers: values and their weights. *)
Implicit Types (l : seq (R * R)) (f : R -> R) (a v x : R) (s : seq R) (T : R -> R).
Definition mean f l : R := \sum_(z <- l) z.2 * f z.1.
Definition at_least l x : R := mean (fun v => (x <= v)%R%:R) l.
Definition dominates l l' : Prop := forall x, at_least l' x <= at_least l x.

(* f as the sum of its steps along increasing numbers. *)
Fixpoint steps f a s T : R := if s is b :: s' then (f b - f a) * T b + steps f b s' T else 0.
Lemma steps_below f a s v : path <=%R a s -> v <= a -> steps f a s (fun x => (x <= v)%R%:R) = 0.
Proof.
elim: s a => [|b s IH] a //= /andP[ab ps] va; rewrite IH ?(le_trans va) // addr0.
have [bv|] := boolP (b <= v); last by rewrite mulr0.
by have -> : b = a; [apply/eqP; rewrite eq_le (le_trans bv) | rewrite subrr mul0r].
Qed.
Lemma stepsE f a s v : path <=%R a s -> v \in a :: s -> f v = f a + steps f a s (fun x => (x <= v)%R%:R).
Proof.
elim: s a => [|b s IH] a p; first by rewrite inE => /eqP ->; rewrite addr0.
rewrite inE => /predU1P[->|vs]; first by rewrite steps_below ?addr0.
case/andP: p => ab ps; rewrite /= -addrCA [LHS](IH b) //.
have -> : b <= v.
  by move: vs; rewrite inE => /predU1P[->|vs]; [| have /allP := order_path_min le_trans ps; apply].
rewrite mulr1; ring.
Qed.
Lemma mean_eq f g l : (forall z, z \in l -> f z.1 = g z.1) -> mean f l = mean g l.
Proof. by move=> e; apply: eq_big_seq => z zl; rewrite e. Qed.
Lemma mean_steps f a s l : mean (fun v => f a + steps f a s (fun x => (x <= v)%R%:R)) l
  = f a * mean (fun=> 1) l + steps f a s (at_least l).
Proof.
have -> : mean (fun v => f a + steps f a s (fun x => (x <= v)%R%:R)) l
    = f a * mean (fun=> 1) l + mean (fun v => steps f a s (fun x => (x <= v)%R%:R)) l.
  by rewrite /mean mulr_sumr -big_split; apply: eq_bigr => z _ /=; ring.
congr (_ + _); elim: s a => [|b s IH] a /=; first by rewrite /mean big1 // => z _; rewrite mulr0.
rewrite -IH /at_least /mean mulr_sumr -big_split; apply: eq_bigr => z _ /=; ring.
Qed.
Lemma steps_le f a s T T' : {homo f : x y / x <= y} -> path <=%R a s -> (forall x, T' x <= T x) ->
  steps f a s T' <= steps f a s T.
Proof.
move=> up; elim: s a => [|b s IH] a //= /andP[ab ps] le; apply: ler_add; last exact: IH.
by apply: ler_wpmul2l; rewrite ?subr_ge0 ?up.
Qed.
Theorem lemma_7 f l l' : {homo f : x y / x <= y} -> mean (fun=> 1) l = 1 -> mean (fun=> 1) l' = 1 ->
  dominates l l' -> mean f l' <= mean f l.
Proof.
move=> up m m' d; set s := sort <=%R (map fst (l ++ l')).
have ss : sorted <=%R s by apply: sort_sorted; apply: le_total.
have mem z : z \in l ++ l' -> z.1 \in s by move=> zl; rewrite mem_sort map_f.
case e : s ss mem => [|a t] ss mem.
  have nil k : k \in [:: l; l'] -> mean (fun=> 1) k = 0.
    move=> kl; rewrite /mean; case: k kl => [|z k] kl; first by rewrite big_nil.
    have := mem z; rewrite mem_cat; move: kl; rewrite !inE => /orP[] /eqP <-; rewrite inE eqxx ?orbT;
      by move/(_ isT); rewrite in_nil.
  by move: (nil l); rewrite m inE eqxx => /(_ isT) /eqP; rewrite oner_eq0.
have F k : {subset k <= l ++ l'} -> mean f k = f a * mean (fun=> 1) k + steps f a t (at_least k).
  move=> sub; rewrite -mean_steps; apply: mean_eq => z zk; apply: stepsE => //.
  exact/mem/sub.
rewrite !F => [|z zl|z zl]; rewrite ?mem_cat ?zl ?orbT //.
by rewrite m m' ler_add2l; apply: steps_le.
Qed.
End Dominance.

(* Greedy block verification (Algorithm 4): Lemma 9, Lemma 8 and Theorem 3. *)

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

(* Lemma 10: no coupling of the two laws over blocks has a longer common prefix in
   expectation than greedy block verification accepts; and Lemma 4's bound is attained. *)

(* One verifier meets the bound of Lemma 4 at every prefix at once. *)
Theorem lemma_4_attained (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) gamma c :
  exists K : kernel V R gamma, valid Mb Ms gamma c (run K) /\
    forall x : seq V, (size x <= gamma)%N ->
      reach Ms gamma c (run K) x = joint Ms c x * p_of Mb Ms c x.
Proof.
have [K [_ e v]] := Etau_program Mb Ms c (fun X (_ : size X = gamma) => block_program Mb Ms c X).
exists K; split; first exact: v (theorem_1 Mb Ms c).
by move=> x le; rewrite -e lemma_3.
Qed.

Section Coupling.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R).
Variables (gamma : nat) (c : seq V).
Implicit Types (o s X x : seq V).

(* A joint law of a block of the large model and a block of the small one. *)
Record coupling := Coupling {
  pair :> seq V -> seq V -> R;
  pair_ge0 : forall o X, size o = gamma -> size X = gamma -> 0 <= pair o X;
  pair_large : forall o, size o = gamma -> sumB gamma (pair o) = joint Mb c o;
  pair_small : forall X, size X = gamma -> sumB gamma (pair^~ X) = joint Ms c X }.
(* The length of the longest common prefix. *)
Fixpoint common o X : nat :=
  match o, X with
  | y :: o', x :: X' => if y == x then (common o' X').+1 else 0%N
  | _, _ => 0%N
  end.
Definition overlap (pi : coupling) : R :=
  sumB gamma (fun o => sumB gamma (fun X => pi o X * (common o X)%:R)).
Definition shared i : R := sumB i (fun x => Num.min (joint Mb c x) (joint Ms c x)).

Lemma common_le o X : (common o X <= size X)%N.
Proof. by elim: o X => [|y o IH] [|x X] //=; case: ifP => // _; apply: IH. Qed.
Lemma common_ge t o X : (t <= size X)%N -> take t o = take t X -> (t <= common o X)%N.
Proof.
elim: t o X => [|t IH] [|y o] [|x X] //= le [-> e]; rewrite eqxx ltnS; exact: IH.
Qed.
Lemma lt_common i o X : (i < size o)%N -> (i < size X)%N ->
  (i < common o X)%N = (take i.+1 o == take i.+1 X).
Proof.
elim: o X i => [|y o IH] [|x X] // [|i] lo lX; rewrite /= eqseq_cons; case: eqP => //= _.
- by rewrite !take0 eqxx.
- by rewrite ltnS IH.
Qed.
Lemma common_sum o X : size o = gamma -> size X = gamma ->
  (common o X)%:R = \sum_(i < gamma) (take i.+1 o == take i.+1 X)%:R :> R.
Proof.
move=> ho hX; rewrite -[in LHS](minn_idPl (common_le o X)) hX -sum_lt natr_sum.
by apply: eq_bigr => i _; rewrite lt_common ?ho ?hX.
Qed.

Lemma sumB_sum n (I : Type) (r : seq I) (F : I -> seq V -> R) :
  sumB n (fun s => \sum_(i <- r) F i s) = \sum_(i <- r) sumB n (F i).
Proof.
elim: n F => [|n IH] F //=; rewrite -sumV_exch; apply: sumV_eq => x; exact: IH.
Qed.
Lemma sumB_sumV n (F : V -> seq V -> R) :
  sumB n (fun s => sumV (fun y => F y s)) = sumV (fun y => sumB n (F y)).
Proof. elim: n F => [|n IH] F //=; rewrite sumV_sumV; apply: sumV_eq => x; exact: IH. Qed.
Lemma sumB_exch n m (F : seq V -> seq V -> R) :
  sumB n (fun s => sumB m (F s)) = sumB m (fun x => sumB n (F^~ x)).
Proof.
elim: m F => [|m IH] F //=; rewrite sumB_sumV; apply: sumV_eq => y; exact: IH.
Qed.

Section Bound.
Variable pi : coupling.
Lemma agree_le i : (i <= gamma)%N ->
  sumB gamma (fun o => sumB gamma (fun X => pi o X * (take i o == take i X)%:R)) <= shared i.
Proof.
move=> le.
have marginal (M : model V R) x : size x = i ->
    sumB gamma (fun s => joint M c s * (x == take i s)%:R) = joint M c x.
  move=> hx; rewrite -gen_joint -gen_delta hx -(gen_take M c _ le).
  by apply: gen_eq => s _; rewrite eq_sym.
have -> : sumB gamma (fun o => sumB gamma (fun X => pi o X * (take i o == take i X)%:R))
    = sumB i (fun x => sumB gamma (fun o => sumB gamma (fun X =>
        pi o X * ((x == take i o)%:R * (x == take i X)%:R)))).
  rewrite [RHS]sumB_exch; apply: sumB_eq => o ho; rewrite [RHS]sumB_exch; apply: sumB_eq => X hX.
  by rewrite sumBZ (sumB_delta (fun x : seq V => (x == take i X)%:R)) ?size_takel ?ho.
apply: sumB_le => x hx; rewrite le_minr -(marginal Mb) // -(marginal Ms) //; apply/andP; split.
  apply: sumB_le => o ho; rewrite -(pair_large pi) // mulrC -sumBZ; apply: sumB_le => X hX.
  rewrite mulrC; apply: ler_wpmul2r; first exact: pair_ge0.
  by rewrite -natrM mulnb ler_nat; do 2!case: eqP.
rewrite sumB_exch; apply: sumB_le => X hX; rewrite -(pair_small pi) // mulrC -sumBZ.
apply: sumB_le => o ho; rewrite mulrC; apply: ler_wpmul2r; first exact: pair_ge0.
by rewrite -natrM mulnb ler_nat; do 2!case: eqP.
Qed.
Theorem lemma_10 : overlap pi <= \sum_(i < gamma) shared i.+1.
Proof.
have -> : overlap pi = \sum_(i < gamma) sumB gamma (fun o => sumB gamma (fun X =>
    pi o X * (take i.+1 o == take i.+1 X)%:R)).
  rewrite -sumB_sum; apply: sumB_eq => o ho; rewrite -sumB_sum; apply: sumB_eq => X hX.
  by rewrite common_sum // mulr_sumr.
by apply: ler_sum => -[i lt] _; apply: agree_le.
Qed.
End Bound.

(* At one draft. *)
Section Run.
Variables (K : kernel V R gamma) (X : seq V).
Hypothesis hX : size X = gamma.
Lemma run_le A B : (forall t y, (t <= gamma)%N -> A (take t X) y <= B (take t X) y) ->
  run K X A <= run K X B.
Proof.
move=> h; apply: ler_sum => -[t lt] _; apply: sumV_le => y.
by apply: ler_wpmul2l; [apply: law_ge0 | apply: h].
Qed.
Lemma run_eq A B : (forall t y, (t <= gamma)%N -> A (take t X) y = B (take t X) y) ->
  run K X A = run K X B.
Proof. by move=> h; apply/eqP; rewrite eq_le !run_le // => t y lt; rewrite h. Qed.
Lemma run_const a : run K X (fun _ _ => a) = a.
Proof.
rewrite -[RHS]mul1r -(law_sum K hX) mulr_suml; apply: eq_bigr => t _; exact: sumVZr.
Qed.
Lemma run_Zr a A : run K X (fun k y => A k y * a) = run K X A * a.
Proof.
rewrite /run mulr_suml; apply: eq_bigr => t _; rewrite -sumVZr; apply: sumV_eq => y.
by rewrite mulrA.
Qed.
Lemma run_sumB n (A : seq V -> seq V -> V -> R) :
  sumB n (fun o => run K X (A o)) = run K X (fun k y => sumB n (fun o => A o k y)).
Proof.
rewrite /run sumB_sum; apply: eq_bigr => t _; rewrite sumB_sumV; apply: sumV_eq => y; exact: sumBZ.
Qed.
End Run.

(* What greedy block verification makes of a draft X, completed to gamma tokens as in Lemma 8. *)
Definition ending o k (y : V) : R :=
  if size k == gamma then (k == o)%:R
  else gen (modified Mb Ms c) (gamma - size (rcons k y)) (rcons k y) (fun z => (rcons k y ++ z == o)%:R).
Lemma ending_ge0 o k y : 0 <= ending o k y.
Proof.
rewrite /ending; case: ifP => _; first exact: ler0n.
by apply: (gen_ge0 (modified_model Mb Ms c)) => z _; apply: ler0n.
Qed.
(* The law of the ending, through a test function. *)
Lemma ending_test k y (F : seq V -> R) : (size k <= gamma)%N ->
  sumB gamma (fun o => ending o k y * F o) = if size k == gamma then F k
  else gen (modified Mb Ms c) (gamma - size (rcons k y)) (rcons k y) (fun z => F (rcons k y ++ z)).
Proof.
move=> le; rewrite /ending; have [e|ne] := eqVneq (size k) gamma.
  rewrite -[RHS](sumB_delta F e); apply: sumB_eq => o _; by rewrite eq_sym.
have le' : (size (rcons k y) <= gamma)%N by rewrite size_rcons ltn_neqAle ne.
transitivity (gen (modified Mb Ms c) (gamma - size (rcons k y)) (rcons k y) (fun z =>
    sumB gamma (fun o => F o * (rcons k y ++ z == o)%:R))).
  by rewrite gen_sumB; apply: sumB_eq => o _; rewrite genZ mulrC.
apply: gen_eq => z hz; have e : size (rcons k y ++ z) = gamma by rewrite size_cat hz subnKC.
by rewrite -[RHS](sumB_delta F e); apply: sumB_eq => o _; rewrite mulrC eq_sym.
Qed.

(* The bound is what greedy block verification accepts, *)
Theorem Etau_greedy : Etau Ms gamma c (greedy_verify Mb Ms c) = \sum_(i < gamma) shared i.+1.
Proof.
have [K [-> e _]] := Etau_program Mb Ms c (fun X (_ : size X = gamma) => greedy_program Mb Ms c X).
rewrite Etau_reach; apply: eq_bigr => -[i lt] _; apply: sumB_eq => x hx.
by rewrite -e lemma_9 // hx.
Qed.
(* and its output, completed as in Lemma 8, is a coupling that attains it. *)
Theorem lemma_10_attained : exists pi : coupling, overlap pi = \sum_(i < gamma) shared i.+1.
Proof.
have [K E] := program_run (fun X (_ : size X = gamma) => greedy_program Mb Ms c X).
pose pi o X := joint Ms c X * run K X (ending o).
have ge0 o X : size o = gamma -> size X = gamma -> 0 <= pi o X.
  move=> _ hX; rewrite mulr_ge0 ?joint_ge0 // -(run_const K hX 0).
  by apply: run_le => // t y _; apply: ending_ge0.
have large o : size o = gamma -> sumB gamma (pi o) = joint Mb c o.
  move=> ho; rewrite -(lemma_8 Mb Ms c ho) -gen_joint; apply: gen_eq => X hX.
  by rewrite E // ho.
have small X : size X = gamma -> sumB gamma (pi^~ X) = joint Ms c X.
  move=> hX; rewrite sumBZ run_sumB -[RHS]mulr1 -(run_const K hX 1); congr (_ * _).
  apply: run_eq => // t y le.
  transitivity (sumB gamma (fun o => ending o (take t X) y * 1)).
    by apply: sumB_eq => o _; rewrite mulr1.
  rewrite ending_test ?size_takel ?hX //; case: ifP => // _.
  exact: (gen_const (modified_model Mb Ms c)).
exists (Coupling ge0 large small); apply/eqP; rewrite eq_le lemma_10 /=.
rewrite -Etau_greedy /overlap sumB_exch /Etau gen_joint; apply: sumB_le => X hX; rewrite E //.
have -> : sumB gamma (fun o => pi o X * (common o X)%:R)
    = joint Ms c X * run K X (fun k y => sumB gamma (fun o => ending o k y * (common o X)%:R)).
  rewrite -run_sumB -sumBZ; apply: sumB_eq => o _; by rewrite /pi -mulrA run_Zr.
apply: ler_wpmul2l; first exact: joint_ge0.
apply: run_le => // t y le; have hk : size (take t X) = t by rewrite size_takel ?hX.
have far s : (t <= common (take t X ++ s) X)%N.
  by apply: common_ge; rewrite ?hX // take_size_cat.
rewrite ending_test hk //; case: ifP => _; first by rewrite ler_nat -[take t X]cats0.
rewrite -[X in X <= _](gen_const (modified_model Mb Ms c) (gamma - size (rcons (take t X) y)) (rcons (take t X) y)).
by apply: (gen_le (modified_model Mb Ms c)) => z _; rewrite cat_rcons ler_nat.
Qed.
End Coupling.
