(* Lemma 7 (Quirk and Saposnik 1962): what is larger in law is larger under every increasing function. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Models.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

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
