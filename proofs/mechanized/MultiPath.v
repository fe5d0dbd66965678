(* Greedy multi-path block verification: of K independent paths the best is chosen, token by token and by any order, and
   verified as a block of the law of the choice.  That law has the rows of the rule, and the rule is lossless. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum zify.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Models Algorithms Verifier Block.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

(* The order of the tokens of a text: the least rank is preferred. *)
Section Choice.
Variables (V : vocabulary) (rank : seq V -> V -> nat).
Hypothesis rank_inj : forall s, injective (rank s).
Implicit Types (s X Y Z : seq V) (Xs : seq (seq V)).
Fixpoint ahead s X Y : bool :=
  match X, Y with
  | x :: X', y :: Y' => if x == y then ahead (rcons s x) X' Y' else (rank s x < rank s y)%N
  | _, _ => false
  end.
Definition front s x xs : V := foldr (fun y z => if (rank s y < rank s z)%N then y else z) x xs.
Definition after x Xs : seq (seq V) := [seq behead X | X <- Xs & ohead X == Some x].
Fixpoint chosen n s Xs : seq V :=
  if n is n'.+1 then
    if pmap ohead Xs is x :: xs then let y := front s x xs in y :: chosen n' (rcons s y) (after y Xs) else [::]
  else [::].
Lemma front_least s x xs : front s x xs \in x :: xs /\ forall y, y \in x :: xs -> (rank s (front s x xs) <= rank s y)%N.
Proof.
elim: xs => [|z xs [IHin IHle]] /=; first by rewrite mem_head; split=> // y; rewrite inE => /eqP ->.
case: ltnP => lt; split.
- by rewrite !inE eqxx orbT.
- move=> y; rewrite !inE => /or3P[/eqP ->|/eqP ->|yx] //.
    by apply: leq_trans (IHle x (mem_head _ _)); apply: ltnW.
  by apply: leq_trans (ltnW lt) (IHle y _); rewrite inE yx orbT.
- by move: IHin; rewrite !inE => /orP[->|->]; rewrite ?orbT.
move=> y; rewrite !inE => /or3P[/eqP ->|/eqP ->|yx] //; first exact: IHle (mem_head _ _).
by apply: IHle; rewrite inE yx orbT.
Qed.
Lemma chosen_behind n s Xs Z : all (fun X => size X == n) Xs -> Xs != [::] -> size Z = n ->
  [/\ size (chosen n s Xs) = n, all (ahead s Z) Xs = ahead s Z (chosen n s Xs)
    & all (fun X => ~~ ahead s X Z) Xs = ~~ ahead s (chosen n s Xs) Z].
Proof.
elim: n s Xs Z => [|n IH] s Xs Z hX ne hZ.
  case: Z hZ => // _; case: Xs hX ne => [//|X Xs] /= /andP[/eqP/size0nil -> hX] _; split=> //.
  by apply/allP => Y /(allP hX)/eqP/size0nil ->.
case: Z hZ => [//|z Z] [hZ].
have heads X : X \in Xs -> exists h X', [/\ X = h :: X', h \in pmap ohead Xs & size X' = n].
  move=> XXs; have /eqP := allP hX X XXs; case: X XXs => [//|h X'] XXs [hs]; exists h, X'; split=> //.
  by rewrite mem_pmap; apply/mapP; exists (h :: X').
rewrite /=; case eh : (pmap ohead Xs) => [|x xs].
  by case: Xs ne {hX} heads eh => [//|X Xs] _ heads eh; have [h [X' [_]]] := heads X (mem_head _ _); rewrite eh.
cbv zeta; set y := front s x xs; have [yin yle] := front_least s x xs; rewrite -/y in yin yle.
have least X h X' : X \in Xs -> X = h :: X' -> (rank s y <= rank s h)%N.
  by move=> XXs e; have [h' [X'' [e' hin _]]] := heads X XXs; apply: yle; rewrite -eh; move: e'; rewrite e => -[->].
have [X0 X0in [X1 X0e]] : exists2 X, X \in Xs & exists X', X = y :: X'.
  move: yin; rewrite -eh mem_pmap => /mapP[[|h X'] // XXs [->]]; exists (h :: X') => //; by exists X'.
have hA : all (fun X => size X == n) (after y Xs).
  rewrite all_map all_filter; apply/allP => X XXs /=; apply/implyP => _.
  by have /eqP := allP hX X XXs; case: X XXs => //= h X' _ [->].
have neA : after y Xs != [::].
  have : X1 \in after y Xs by apply/mapP; exists X0; rewrite ?mem_filter X0e //= eqxx -X0e.
  by case: (after y Xs).
have [szA lA gA] := IH (rcons s y) (after y Xs) Z hA neA hZ; split; first by rewrite /= szA.
  rewrite [RHS]/=; have [zy|zy] := eqVneq z y.
    rewrite zy -lA all_map all_filter; apply: eq_in_all => X XXs; have [h [X' [e _ _]]] := heads X XXs.
    rewrite e /=; have [->|ne'] := eqVneq y h; first by rewrite eqxx.
    have -> : (Some h == Some y) = false by apply/eqP => -[] e'; rewrite e' eqxx in ne'.
    have := least X h X' XXs e; rewrite leq_eqVlt => /orP[/eqP/rank_inj e'|->] //.
    by rewrite e' eqxx in ne'.
  have [lt|ge] := ltnP (rank s z) (rank s y).
    apply/allP => X XXs; have [h [X' [e _ _]]] := heads X XXs; have := least X h X' XXs e; rewrite e /=.
    by move=> le; have lt' := leq_trans lt le; case: eqVneq => [e'|//]; rewrite e' ltnn in lt'.
  by apply/allP => /(_ X0 X0in); rewrite X0e /= (negPf zy) ltnNge ge.
rewrite [RHS]/=; have [zy|zy] := eqVneq y z.
  rewrite -zy -gA all_map all_filter; apply: eq_in_all => X XXs; have [h [X' [e _ _]]] := heads X XXs.
  rewrite e /=; have [->|ne'] := eqVneq h y; first by rewrite eqxx.
  have -> : (Some h == Some y) = false by apply/eqP => -[] e'; rewrite e' eqxx in ne'.
  by have := least X h X' XXs e; rewrite leqNgt => ->.
have [lt|ge] := ltnP (rank s y) (rank s z).
  by apply/negbTE/allP => /(_ X0 X0in); rewrite X0e /= (negPf zy) lt.
apply/allP => X XXs; have [h [X' [e _ _]]] := heads X XXs; have := least X h X' XXs e; rewrite e /= => le.
have le' := leq_trans ge le; case: eqVneq => [e'|_]; last by rewrite -leqNgt.
by move: zy; rewrite (_ : y = z) ?eqxx //; apply: (@rank_inj s); apply/eqP; rewrite eqn_leq ge -{1}e' le.
Qed.
Lemma same_path (R : realFieldType) s X Z : size X = size Z -> (X == Z)%:R = (~~ ahead s X Z)%:R - (ahead s Z X)%:R :> R.
Proof.
elim: X s Z => [|x X IH] s [|z Z] //= => [_|[hs]]; first by rewrite subr0.
rewrite eqseq_cons [z == x]eq_sym; have [<-|ne] := eqVneq x z; first by rewrite /= (IH (rcons s x)).
rewrite /=; have : (rank s x != rank s z)%N by apply: contra ne => /eqP/rank_inj ->.
by case: ltngtP => //= _ _; rewrite subrr.
Qed.
End Choice.

Section Law.
Variables (V : vocabulary) (R : realFieldType) (Ms : model V R) (c : seq V) (gamma K : nat) (rank : seq V -> V -> nat).
Hypotheses (rank_inj : forall s, injective (rank s)) (K0 : (0 < K)%N).
Implicit Types (s x X Z : seq V) (y t : V) (Xs : seq (seq V)).
Fixpoint paths k (F : seq (seq V) -> R) : R :=
  if k is k'.+1 then gen Ms gamma c (fun X => paths k' (fun Xs => F (X :: Xs))) else F [::].
Lemma paths_eq k F G : (forall Xs, size Xs = k -> all (fun X => size X == gamma) Xs -> F Xs = G Xs) -> paths k F = paths k G.
Proof.
elim: k F G => [|k IH] F G e /=; first exact: e.
by apply: gen_eq => X hX; apply: IH => Xs hs ha; apply: e; rewrite /= ?hs // hX eqxx.
Qed.
Lemma pathsB k F G : paths k (fun Xs => F Xs - G Xs) = paths k F - paths k G.
Proof. by elim: k F G => [|k IH] F G //=; rewrite -genB; apply: gen_eq => X _; rewrite IH. Qed.
Lemma pathsZ k a F : paths k (fun Xs => a * F Xs) = a * paths k F.
Proof. by elim: k F => [|k IH] F //=; rewrite -genZ; apply: gen_eq => X _; rewrite IH. Qed.
Lemma paths_sumB k m (F : seq (seq V) -> seq V -> R) :
  paths k (fun Xs => sumB m (F Xs)) = sumB m (fun Z => paths k (F^~ Z)).
Proof. by elim: k F => [|k IH] F //=; rewrite -gen_sumB; apply: gen_eq => X _; rewrite IH. Qed.
Lemma paths_all k (P : pred (seq V)) : paths k (fun Xs => (all P Xs)%:R) = gen Ms gamma c (fun X => (P X)%:R) ^+ k.
Proof.
elim: k => [|k IH] /=; first by rewrite expr0.
rewrite exprS -IH mulrC -genZ; apply: gen_eq => X _; rewrite mulrC -pathsZ.
by apply: paths_eq => Xs _ _; rewrite -mulnb natrM.
Qed.

(* Behind a text: the draft's probability of those of its length that are less preferred. *)
Definition worse s y : R := sumV (fun t => (rank s y < rank s t)%:R * Ms (c ++ s) t).
Fixpoint behind s x : R := if x is y :: x' then worse s y + Ms (c ++ s) y * behind (rcons s y) x' else 0.
Lemma behind_rcons s x y : behind s (rcons x y) = behind s x + joint Ms (c ++ s) x * worse (s ++ x) y.
Proof.
elim: x s => [|z x IH] s /=; first by rewrite cats0 mulr0 addr0 add0r mul1r.
by rewrite IH -!cats1 -!catA /=; ring.
Qed.
Lemma gen_ahead s Z : gen Ms (size Z) (c ++ s) (fun X => (ahead rank s Z X)%:R) = behind s Z.
Proof.
elim: Z s => [|z Z IH] s //=; rewrite -IH /worse -(sumV_delta z (fun t => Ms (c ++ s) t * gen Ms (size Z) (c ++ rcons s t) _)).
rewrite -sumVD; apply: sumV_eq => t; rewrite rcons_cat eq_sym; have [->|ne] := eqVneq t z.
  by rewrite ltnn mul0r add0r mul1r.
by rewrite gen_const mul0r addr0 mulrC.
Qed.
Lemma gen_not_ahead s Z : gen Ms (size Z) (c ++ s) (fun X => (~~ ahead rank s X Z)%:R) = behind s Z + joint Ms (c ++ s) Z.
Proof.
rewrite -gen_ahead -gen_delta addrC -genD; apply: gen_eq => X hX.
by rewrite (same_path rank_inj R s hX) subrK.
Qed.
Definition begins x : R := (behind [::] x + joint Ms c x) ^+ K - behind [::] x ^+ K.
Lemma chosen_is Z : size Z = gamma -> paths K (fun Xs => (chosen rank gamma [::] Xs == Z)%:R) = begins Z.
Proof.
move=> hZ; have ahead_ := gen_ahead [::] Z; have not_ahead := gen_not_ahead [::] Z.
rewrite cats0 hZ in ahead_ not_ahead; rewrite /begins -not_ahead -ahead_ -!paths_all -pathsB; apply: paths_eq => Xs hs ha.
have ne : Xs != [::] by rewrite -size_eq0 hs -lt0n.
have [sz -> ->] := chosen_behind rank_inj [::] ha ne hZ.
by rewrite (same_path rank_inj R [::]) // sz.
Qed.

Lemma telescope (f : R -> R) (r : V -> nat) (q : V -> R) w : injective r ->
  sumV (fun y => f (w + sumV (fun t => (r y < r t)%:R * q t) + q y) - f (w + sumV (fun t => (r y < r t)%:R * q t)))
  = f (w + sumV q) - f w.
Proof.
move=> inj; pose l := sort (fun a b : V => (r b <= r a)%N) (enum V).
have perm : perm_eq (enum V) l by rewrite perm_sym perm_sort.
have over (g : V -> R) : sumV g = \sum_(y <- l) g y by rewrite sumVE -big_enum; apply: perm_big.
have sorted_l : sorted (fun a b : V => (r b <= r a)%N) l by apply: sort_sorted => a b; apply: leq_total.
have uniq_l : uniq l by rewrite sort_uniq enum_uniq.
rewrite over (eq_bigr (fun y => f (w + \sum_(t <- l) (r y < r t)%:R * q t + q y) - f (w + \sum_(t <- l) (r y < r t)%:R * q t))) => [|y _]; last by rewrite over.
rewrite over; elim: l w sorted_l uniq_l {perm over} => [|x l IH] w; first by rewrite !big_nil addr0 subrr.
rewrite /= => pl /andP[nx ul].
have lt t : t \in l -> (r t < r x)%N.
  move=> tl; have tr : transitive (fun a b : V => (r b <= r a)%N) by move=> b a d /= ba ad; apply: leq_trans ad ba.
  have := allP (order_path_min tr pl) t tl; rewrite leq_eqVlt => /orP[/eqP/inj e|//].
  by move: nx; rewrite -e tl.
have gone : \sum_(t <- l) (r x < r t)%:R * q t = 0.
  by rewrite big_seq big1 // => t /lt lt'; rewrite ltnNge (ltnW lt') mul0r.
rewrite !big_cons ltnn mul0r add0r gone addr0.
rewrite big_seq (eq_bigr (fun y => f (w + q x + \sum_(t <- l) (r y < r t)%:R * q t + q y) - f (w + q x + \sum_(t <- l) (r y < r t)%:R * q t))) => [|y /lt lt'].
  by rewrite -big_seq (IH _ (path_sorted pl) ul) [w + (_ + _)]addrA [LHS]addrC addrA subrK.
by rewrite big_cons lt' mul1r !addrA.
Qed.
Lemma begins_rcons x y : begins (rcons x y)
  = (behind [::] x + sumV (fun t => (rank x y < rank x t)%:R * (joint Ms c x * Ms (c ++ x) t)) + joint Ms c x * Ms (c ++ x) y) ^+ K
    - (behind [::] x + sumV (fun t => (rank x y < rank x t)%:R * (joint Ms c x * Ms (c ++ x) t))) ^+ K.
Proof.
rewrite /begins behind_rcons cats0 joint_rcons /= /worse -sumVZ.
by rewrite (sumV_eq (g := fun t => (rank x y < rank x t)%:R * (joint Ms c x * Ms (c ++ x) t))) // => t; rewrite mulrCA.
Qed.
Lemma begins_sum x : sumV (fun y => begins (rcons x y)) = begins x.
Proof.
rewrite (sumV_eq (begins_rcons x)) (telescope (fun z => z ^+ K) (fun t => joint Ms c x * Ms (c ++ x) t) (behind [::] x) (@rank_inj x)).
by rewrite sumVZ row_sum mulr1.
Qed.
Lemma behind_ge0 s x : 0 <= behind s x.
Proof.
elim: x s => [|y x IH] s //=; apply: addr_ge0; last exact: mulr_ge0.
by apply: sumV_ge0 => t; rewrite mulr_ge0 ?ler0n.
Qed.
Lemma begins_ge0 x : 0 <= begins x.
Proof.
by rewrite subr_ge0 ler_expn2r // ?nnegrE ?addr_ge0 ?behind_ge0 ?joint_ge0 // ler_addl joint_ge0.
Qed.

(* The law of the chosen path, row by row. *)
Definition chosen_row (t : seq V) y : R := let s := drop (size c) t in
  if begins s == 0 then Ms (c ++ s) y else begins (rcons s y) / begins s.
Lemma chosen_row_ge0 (t : seq V) y : 0 <= chosen_row t y.
Proof. by rewrite /chosen_row; case: ifP => // _; rewrite divr_ge0 ?begins_ge0. Qed.
Lemma chosen_row_sum (t : seq V) : sumV (chosen_row t) = 1.
Proof.
rewrite /chosen_row; have [_|nz] := boolP (begins (drop (size c) t) == 0); first exact: row_sum.
by rewrite sumVZr begins_sum mulfV.
Qed.
Definition chosen_model : model V R := Model chosen_row_ge0 chosen_row_sum.
Lemma begins_row x y : begins (rcons x y) = begins x * chosen_model (c ++ x) y.
Proof.
rewrite /= /chosen_row drop_size_cat //; have [z|nz] := eqVneq (begins x) 0; last by rewrite mulrC divfK.
by rewrite z mul0r; apply: (sumV_eq0 (fun y => begins_ge0 (rcons x y))); rewrite begins_sum.
Qed.
Theorem chosen_law F : paths K (fun Xs => F (chosen rank gamma [::] Xs)) = gen chosen_model gamma c F.
Proof.
have chain n x G : sumB n (fun Z => begins (x ++ Z) * G Z) = begins x * gen chosen_model n (c ++ x) G.
  elim: n x G => [|n IH] x G; first by rewrite /= cats0.
  rewrite genS -sumVZ; apply: sumV_eq => y; rewrite mulrA -begins_row rcons_cat -IH.
  by apply: sumB_eq => Z _; rewrite cat_rcons.
have := chain gamma [::] F; rewrite cats0 {2}/begins /= add0r expr1n expr0n (gtn_eqF K0) subr0 mul1r => <-.
transitivity (paths K (fun Xs => sumB gamma (fun Z => (chosen rank gamma [::] Xs == Z)%:R * F Z))).
  apply: paths_eq => Xs hs ha; have ne : Xs != [::] by rewrite -size_eq0 hs -lt0n.
  have [X Xin] : exists X, X \in Xs by case: Xs ne {hs ha} => [//|X Xs] _; exists X; rewrite mem_head.
  have [sz _ _] := chosen_behind rank_inj [::] ha ne (eqP (allP ha X Xin)).
  by rewrite -[LHS](sumB_delta F sz); apply: sumB_eq => Z _; rewrite eq_sym.
rewrite paths_sumB; apply: sumB_eq => Z hZ.
by rewrite -(chosen_is hZ) mulrC -pathsZ; apply: paths_eq => Xs _ _; rewrite mulrC.
Qed.
(* Equation (7). *)
Theorem greedy_multi_path_valid (Mb : model V R) o : size o = gamma.+1 ->
  paths K (fun Xs => block_verify Mb chosen_model c (chosen rank gamma [::] Xs)
    (fun kept y => complete Mb gamma c (fun o' => (o' == o)%:R) (rcons kept y))) = joint Mb c o.
Proof. by move=> ho; rewrite (chosen_law (fun X => block_verify Mb chosen_model c X _)); apply: theorem_1. Qed.
End Law.
