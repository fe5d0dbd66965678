From mathcomp Require Import all_ssreflect ssralg ssrnum zify.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Algorithms Block.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

(* What coins and rows that are not quite right do to the law: a bound in total variation for every
   verifier of Block.v, hence for block verification; and uniforms on a lattice k / N. *)

Section TotalVariation.
Variables (V : vocabulary) (R : realFieldType).
Implicit Types (r : V -> R).
Definition total_variation r r' : R := sumV (fun y => `|r' y - r y|) / 2%:R.
Lemma sumV_norm (f : V -> R) : `|sumV f| <= sumV (fun y => `|f y|).
Proof. by rewrite !sumVE; apply: ler_norm_sum. Qed.
Lemma half_range (u : R) : 0 <= u <= 1 -> `|u - 2%:R^-1| <= 2%:R^-1.
Proof.
have hh : 2%:R^-1 + 2%:R^-1 = 1 :> R by field.
by move=> /andP[u0 u1]; rewrite ler_norml ler_subr_addr addNr u0 ler_subl_addr hh.
Qed.
(* A change that adds up to nothing moves a mean of values between 0 and 1 by half its sum at most. *)
Lemma balanced (f U : V -> R) : sumV f = 0 -> (forall y, 0 <= U y <= 1) ->
  `|sumV (fun y => f y * U y)| <= sumV (fun y => `|f y|) / 2%:R.
Proof.
move=> f0 u; have -> : sumV (fun y => f y * U y) = sumV (fun y => f y * (U y - 2%:R^-1)).
  by rewrite (sumV_eq (fun y => mulrBr _ _ _)) sumVB sumVZr f0 mul0r subr0.
apply: le_trans (sumV_norm _) _; rewrite -sumVZr; apply: sumV_le => y.
by rewrite normrM; apply: ler_wpmul2l => //; apply: half_range.
Qed.
(* So total variation bounds the change of every expectation of such values. *)
Lemma tv_bounds r r' (U : V -> R) : sumV r = 1 -> sumV r' = 1 -> (forall y, 0 <= U y <= 1) ->
  `|draw r' U - draw r U| <= total_variation r r'.
Proof.
move=> s s' u; have -> : draw r' U - draw r U = sumV (fun y => (r' y - r y) * U y).
  by rewrite /draw -sumVB; apply: sumV_eq => y; ring.
by apply: balanced => //; rewrite sumVB s s' subrr.
Qed.
End TotalVariation.

(* A vocabulary with a model has a token, hence texts of every length. *)
Lemma some_text (V : vocabulary) (R : realFieldType) (M : model V R) n : exists x : seq V, size x = n.
Proof.
have [y _|no] := pickP (fun _ : V => true); first by exists (nseq n y); rewrite size_nseq.
by have := row_sum M [::]; rewrite sumVE big_pred0 // => /eqP; rewrite eq_sym oner_eq0.
Qed.

Section Near.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R).
Variables (gamma : nat) (c : seq V) (ends : pred (seq V)) (q : seq V -> R).
Hypotheses (q1 : q [::] = 1) (q01 : forall x, 0 <= q x <= 1).
Hypothesis later_le : forall x, ~~ final gamma ends x -> later Ms c q x <= q x.
Implicit Types (x : seq V) (a : R).
Notation coin := (coin_of Ms gamma c ends q).
Notation row := (row_of Mb Ms gamma c ends q).
Notation stops := (final gamma ends).
Notation worth := (worth Ms c ends).
(* How often, given x, no longer prefix is kept; and how often x is what is kept. *)
Definition none x : R := if stops x then 1 else 1 - later Ms c q x.
Definition ending x : R := if stops x then q x else q x - later Ms c q x.

Lemma none_range x : 0 <= none x <= 1.
Proof.
rewrite /none; case: (boolP (stops x)) => [_|nf]; first by rewrite ler01 lexx.
by have [l0 _ l1] := later_range q01 later_le nf; rewrite subr_ge0 l1 ler_subl_addr ler_addl.
Qed.
Lemma worth_stops k A n x a : (size x + n)%N = gamma -> stops x -> worth k A n x a = a.
Proof.
case: n => [|n] //= hn; rewrite /final -hn -[X in (_ <= X)%N]addn0 leq_add2l => /= e.
by rewrite e.
Qed.
Lemma worth_linear A n x a : (size x + n)%N = gamma -> worth coin A n x a = worth coin A n x 0 + none x * a.
Proof.
elim: n x a => [|n IH] x a hn.
  by rewrite /= /none /final -hn addn0 leqnn mul1r add0r.
have [f|nf] := boolP (stops x); first by rewrite !worth_stops // /none f mul1r add0r.
rewrite /=; case: ifP => [e|_]; first by rewrite /final e orbT in nf.
have -> : none x * a = sumV (fun y => Ms (c ++ x) y * ((1 - q (rcons x y)) * a)).
  rewrite /none (negPf nf) -[X in X - _](row_sum Ms (c ++ x)) -sumVB -sumVZr; apply: sumV_eq => y; ring.
rewrite -sumVD; apply: sumV_eq => y; rewrite -mulrDr; congr (_ * _).
have hn' : (size (rcons x y) + n)%N = gamma by rewrite size_rcons addSnnS.
have -> : 1 - q (rcons x y) = (1 - coin (rcons x y)) * none (rcons x y).
  rewrite /none; case: (boolP (stops (rcons x y))) => [f|nf']; first by rewrite /coin_of f mulr1.
  by rewrite mulrBl mul1r (coin_ofE q01 later_le nf'); ring.
rewrite /flip [in LHS](IH _ (A _) hn') [in LHS](IH _ a hn') [in RHS](IH _ (A _) hn'); ring.
Qed.

Lemma norm_mix k (u v d : R) : 0 <= k <= 1 -> `|u| <= d -> `|v| <= d -> `|k * u + (1 - k) * v| <= d.
Proof.
move=> /andP[k0 k1] hu hv; apply: le_trans (ler_norm_add _ _) _.
have k0' : 0 <= 1 - k by rewrite subr_ge0.
have -> : d = k * d + (1 - k) * d by ring.
by rewrite !normrM (ger0_norm k0) (ger0_norm k0'); apply: ler_add; apply: ler_wpmul2l.
Qed.

(* What errors at the prefixes behind x come to, in the mean over drafts. *)
Fixpoint below (err : seq V -> R) n x : R :=
  if n is n'.+1 then
    if ends x then 0 else sumV (fun y => Ms (c ++ x) y * (err (rcons x y) + below err n' (rcons x y)))
  else 0.
Lemma belowD e e' n x : below (fun z => e z + e' z) n x = below e n x + below e' n x.
Proof.
elim: n x => [|n IH] x /=; first by rewrite addr0.
by case: ifP => _; rewrite ?addr0 // -sumVD; apply: sumV_eq => y; rewrite IH; ring.
Qed.
Lemma below_le e e' n x : (forall z, e z <= e' z) -> below e n x <= below e' n x.
Proof.
move=> le; elim: n x => [|n IH] x //=; case: ifP => // _.
by apply: sumV_le => y; apply: ler_wpmul2l => //; apply: ler_add.
Qed.
Lemma below_levels (e : seq V -> R) (l : nat -> R) n x : (size x + n)%N = gamma ->
  (forall z, (size z <= gamma)%N -> e z <= l (size z)) -> (forall i, (i <= gamma)%N -> 0 <= l i) ->
  below e n x <= \sum_(i < n) l (size x + i).+1.
Proof.
move=> hn le l0; elim: n x hn => [|n IH] x hn; first by rewrite big_ord0.
rewrite /=; case: ifP => _.
  by apply: sumr_ge0 => i _; apply: l0; rewrite -hn addnS ltnS leq_add2l -ltnS.
rewrite big_ord_recl addn0 -[X in _ <= X]mul1r -(row_sum Ms (c ++ x)) -sumVZr; apply: sumV_le => y.
apply: ler_wpmul2l => //; have hn' : (size (rcons x y) + n)%N = gamma by rewrite size_rcons addSnnS.
apply: ler_add; first by have := le (rcons x y); rewrite size_rcons; apply; rewrite -hn addnS ltnS leq_addr.
have -> : \sum_(i < n) l (size x + bump 0 i).+1 = \sum_(i < n) l (size (rcons x y) + i).+1.
  by apply: eq_bigr => i _; rewrite size_rcons addSnnS.
exact: IH.
Qed.
Lemma below_ending n x d : (size x + n)%N = gamma -> ending x * d + below (fun z => ending z * d) n x = q x * d.
Proof.
elim: n x => [|n IH] x hn; first by rewrite addr0 /ending /final -hn addn0 leqnn.
have [f|nf] := boolP (stops x).
  have e : ends x by move: f; rewrite /final -hn -[X in (_ <= X)%N]addn0 leq_add2l.
  by rewrite /= e addr0 /ending f.
rewrite /=; case: ifP => [e|_]; first by rewrite /final e orbT in nf.
rewrite (sumV_eq (g := fun y => Ms (c ++ x) y * q (rcons x y) * d)) => [|y].
  by rewrite sumVZr -/(later Ms c q x) /ending (negPf nf) -mulrDl subrK.
by rewrite IH ?mulrA // size_rcons addSnnS.
Qed.

Section Coins.
Variables (coin' alpha A : seq V -> R).
Hypothesis coin01 : forall x, 0 <= coin' x <= 1.
Hypothesis A01 : forall x, 0 <= A x <= 1.
Hypothesis near : forall x, (size x <= gamma)%N -> none x * `|coin' x - coin x| <= alpha x.
Lemma coins_near n x a : (size x + n)%N = gamma -> 0 <= a <= 1 ->
  `|worth coin' A n x a - worth coin A n x a| <= below alpha n x.
Proof.
elim: n x a => [|n IH] x a hn a01; first by rewrite /= subrr normr0.
rewrite /=; case: ifP => _; first by rewrite subrr normr0.
rewrite -sumVB; apply: le_trans (sumV_norm _) _; apply: sumV_le => y.
rewrite -mulrBr normrM ger0_norm //; apply: ler_wpmul2l => //.
have hn' : (size (rcons x y) + n)%N = gamma by rewrite size_rcons addSnnS.
have le : (size (rcons x y) <= gamma)%N by rewrite -hn' leq_addr.
set z := rcons x y in hn' le *.
have -> : flip (coin' z) (fun accepted : bool => worth coin' A n z (if accepted then A z else a))
    - flip (coin z) (fun accepted : bool => worth coin A n z (if accepted then A z else a))
  = (coin' z * (worth coin' A n z (A z) - worth coin A n z (A z))
      + (1 - coin' z) * (worth coin' A n z a - worth coin A n z a))
    + none z * (coin' z - coin z) * (A z - a).
  by rewrite /flip [worth coin A n z (A z)](worth_linear _ _ hn') [worth coin A n z a](worth_linear _ _ hn'); ring.
apply: le_trans (ler_norm_add _ _) _; rewrite addrC; apply: ler_add; last by apply: norm_mix; rewrite ?IH.
rewrite !normrM (ger0_norm (_ : 0 <= none z)); last by have /andP[] := none_range z.
apply: le_trans (near le); rewrite -[X in _ <= X]mulr1.
apply: ler_wpmul2l; first by rewrite mulr_ge0 //; have /andP[] := none_range z.
have /andP[z0 z1] := A01 z; have /andP[a0 a1] := a01.
rewrite ler_norml; apply/andP; split; last by rewrite ler_subl_addr (le_trans z1) // ler_addl.
by rewrite ler_subr_addr; apply: le_trans z0; rewrite addrC subr_le0.
Qed.
End Coins.

Section Rows.
Variables (beta A A' : seq V -> R).
Hypothesis near : forall x, (size x <= gamma)%N -> ending x * `|A' x - A x| <= beta x.
(* What x is worth, times its probability q x. *)
Fixpoint held (B : seq V -> R) n x : R :=
  if n is n'.+1 then
    if ends x then q x * B x else sumV (fun y => Ms (c ++ x) y * held B n' (rcons x y)) + (q x - later Ms c q x) * B x
  else q x * B x.
Lemma held_worth B : worth coin B gamma [::] (B [::]) = held B gamma [::].
Proof.
rewrite (@keeping_core _ _ Ms gamma c ends q q1 q01 later_le B (fun x => held B (gamma - size x) x)) ?subn0 // => x.
  rewrite /final negb_or -ltnNge => /andP[lt /negPf ne].
  rewrite -(subnSK lt) /= ne; congr (_ + _); apply: sumV_eq => y.
  by rewrite size_rcons.
rewrite /final => /orP[ge|e]; first by have /eqP -> : (gamma - size x == 0)%N.
by case: (gamma - size x)%N => [|n] //=; rewrite e.
Qed.
Lemma ending_ge0 x : 0 <= ending x.
Proof.
rewrite /ending; case: (boolP (stops x)) => [_|nf]; first by have /andP[] := q01 x.
by have [_ l _] := later_range q01 later_le nf; rewrite subr_ge0.
Qed.
Lemma rows_near n x : (size x + n)%N = gamma -> `|held A' n x - held A n x| <= beta x + below beta n x.
Proof.
have stop m z : (size z + m)%N = gamma -> stops z -> `|q z * A' z - q z * A z| <= beta z.
  move=> hm f; have le : (size z <= gamma)%N by rewrite -hm leq_addr.
  rewrite -mulrBr normrM ger0_norm; last by have /andP[] := q01 z.
  by have := near le; rewrite /ending f.
elim: n x => [|n IH] x hn; first by rewrite addr0; apply: (stop 0%N) => //; rewrite /final -hn addn0 leqnn.
have [f|nf] := boolP (stops x).
  have e : ends x by move: f; rewrite /final -hn -[X in (_ <= X)%N]addn0 leq_add2l.
  by rewrite /= e addr0; apply: (stop _ _ hn).
rewrite /=; case: ifP => [e|_]; first by rewrite /final e orbT in nf.
have le : (size x <= gamma)%N by rewrite -hn leq_addr.
have -> : sumV (fun y => Ms (c ++ x) y * held A' n (rcons x y)) + (q x - later Ms c q x) * A' x
    - (sumV (fun y => Ms (c ++ x) y * held A n (rcons x y)) + (q x - later Ms c q x) * A x)
  = ending x * (A' x - A x) + sumV (fun y => Ms (c ++ x) y * (held A' n (rcons x y) - held A n (rcons x y))).
  rewrite /ending (negPf nf) (sumV_eq (fun y => mulrBr _ _ _)) sumVB; ring.
apply: le_trans (ler_norm_add _ _) _; apply: ler_add.
  by rewrite normrM ger0_norm ?ending_ge0 //; apply: near.
apply: le_trans (sumV_norm _) _; apply: sumV_le => y; rewrite normrM ger0_norm //; apply: ler_wpmul2l => //.
by apply: IH; rewrite size_rcons addSnnS.
Qed.
End Rows.

(* Coins and rows together: the law of what is emitted, for every test between 0 and 1.  Each error counts as
   often as its prefix is drafted. *)
Theorem near_law_rows coin' (last last' : seq V -> V -> R) alpha beta (U : seq V -> V -> R) :
  (forall x, 0 <= coin' x <= 1) -> (forall x, sumV (last x) = 1) -> (forall x y, 0 <= last' x y) -> (forall x, sumV (last' x) = 1) ->
  (forall x, (size x <= gamma)%N -> none x * `|coin' x - coin x| <= alpha x) ->
  (forall x, (size x <= gamma)%N -> ending x * total_variation (last x) (last' x) <= beta x) ->
  (forall x y, 0 <= U x y <= 1) ->
  `|draft Ms c ends gamma [::] (fun X => sub_verify coin' last' X U)
    - draft Ms c ends gamma [::] (fun X => sub_verify coin last X U)|
  <= below alpha gamma [::] + (beta [::] + below beta gamma [::]).
Proof.
move=> c01 l1 r0 r1 ca rb u; rewrite !sub_verify_worth.
pose A' k := draw (last' k) (U k); pose A k := draw (last k) (U k).
rewrite -/(A' [::]) -/(A [::]) (_ : worth coin' _ gamma [::] _ = worth coin' A' gamma [::] (A' [::])) //.
rewrite (_ : worth coin (fun k => _) gamma [::] _ = worth coin A gamma [::] (A [::])) //.
have A01 x : 0 <= A' x <= 1.
  apply/andP; split; first by apply: sumV_ge0 => y; apply: mulr_ge0 => //; have /andP[] := u x y.
  by rewrite -(r1 x); apply: sumV_le => y; rewrite ler_pimulr //; have /andP[] := u x y.
have -> : worth coin' A' gamma [::] (A' [::]) - worth coin A gamma [::] (A [::])
  = (worth coin' A' gamma [::] (A' [::]) - worth coin A' gamma [::] (A' [::]))
    + (worth coin A' gamma [::] (A' [::]) - worth coin A gamma [::] (A [::])) by ring.
apply: le_trans (ler_norm_add _ _) _; apply: ler_add.
  exact: (@coins_near coin' alpha A' c01 A01 ca gamma [::] (A' [::]) (add0n gamma) (A01 [::])).
rewrite !held_worth; apply: (@rows_near beta A A' _ gamma [::]) => // x le.
apply: le_trans (rb x le); apply: ler_wpmul2l; first exact: ending_ge0.
by apply: tv_bounds.
Qed.
Theorem near_law_here coin' (row' : seq V -> V -> R) alpha beta (U : seq V -> V -> R) :
  (forall x, 0 <= coin' x <= 1) -> (forall x y, 0 <= row' x y) -> (forall x, sumV (row' x) = 1) ->
  (forall x, (size x <= gamma)%N -> none x * `|coin' x - coin x| <= alpha x) ->
  (forall x, (size x <= gamma)%N -> ending x * total_variation (row x) (row' x) <= beta x) ->
  (forall x y, 0 <= U x y <= 1) ->
  `|draft Ms c ends gamma [::] (fun X => sub_verify coin' row' X U)
    - draft Ms c ends gamma [::] (fun X => sub_verify coin row X U)|
  <= below alpha gamma [::] + (beta [::] + below beta gamma [::]).
Proof. by move=> c01; apply: near_law_rows => //; apply: row_of_sum. Qed.
(* The same with one bound for all prefixes of a length. *)
Theorem near_law coin' (row' : seq V -> V -> R) alpha beta d (U : seq V -> V -> R) :
  (forall x, 0 <= coin' x <= 1) -> (forall x y, 0 <= row' x y) -> (forall x, sumV (row' x) = 1) -> (forall i, 0 <= beta i) ->
  (forall x, (size x <= gamma)%N -> none x * `|coin' x - coin x| <= alpha (size x)) ->
  (forall x, (size x <= gamma)%N -> ending x * total_variation (row x) (row' x) <= beta (size x) + ending x * d) ->
  (forall x y, 0 <= U x y <= 1) ->
  `|draft Ms c ends gamma [::] (fun X => sub_verify coin' row' X U)
    - draft Ms c ends gamma [::] (fun X => sub_verify coin row X U)|
  <= \sum_(i < gamma) alpha i.+1 + \sum_(i < gamma.+1) beta i + d.
Proof.
move=> c01 r0 r1 b0 ca rb u; apply: le_trans (near_law_here c01 r0 r1 ca rb u) _.
have al i : (i <= gamma)%N -> 0 <= alpha i.
  have [z <-] := some_text Ms i => le; apply: le_trans (ca z le).
  by rewrite mulr_ge0 //; have /andP[] := none_range z.
rewrite -[X in _ <= X]addrA !belowD; apply: ler_add.
  exact: (@below_levels (fun x => alpha (size x)) alpha gamma [::] (add0n gamma) (fun _ _ => lexx _) al).
rewrite addrACA [ending _ * _ + _]below_ending // q1 mul1r big_ord_recl ler_add2r ler_add2l.
exact: (@below_levels (fun x => beta (size x)) beta gamma [::] (add0n gamma) (fun _ _ => lexx _) (fun i _ => b0 i)).
Qed.
(* Where every coin is within a and every row within d: the last draw costs d in all, however long the draft. *)
Theorem near_law_uniform coin' (row' : seq V -> V -> R) a d (U : seq V -> V -> R) :
  (forall x, 0 <= coin' x <= 1) -> (forall x y, 0 <= row' x y) -> (forall x, sumV (row' x) = 1) ->
  (forall x, `|coin' x - coin x| <= a) -> (forall x, total_variation (row x) (row' x) <= d) ->
  (forall x y, 0 <= U x y <= 1) ->
  `|draft Ms c ends gamma [::] (fun X => sub_verify coin' row' X U)
    - draft Ms c ends gamma [::] (fun X => sub_verify coin row X U)| <= gamma%:R * a + d.
Proof.
move=> c01 r0 r1 ca rb u.
apply: le_trans (@near_law coin' row' (fun=> a) (fun=> 0) d U c01 r0 r1 _ _ _ u) _ => // [x _|x _|].
- by apply: le_trans (ca x); rewrite ler_pimull //; have /andP[] := none_range x.
- by rewrite add0r; apply: ler_wpmul2l; first exact: ending_ge0.
by rewrite sumr_const card_ord mulr_natl big1_eq addr0.
Qed.
End Near.

(* Survivals of any kind: they need not be those of a model, as computed ones are not.  The law of any coins and rows is
   what the survivals emit, but for what coins and rows are off from them; and two families emit nearly the same if each
   step moves them little, however many steps there are. *)
Section AnySurvivals.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R).
Variables (gamma : nat) (c : seq V) (ends : pred (seq V)).
Implicit Types (x : seq V) (a : R) (q : seq V -> R) (U F : seq V -> V -> R).
Notation stops := (final gamma ends).
Notation b x := (Mb (c ++ x)).
Notation s x := (Ms (c ++ x)).
Notation none := (none Ms gamma c ends).
Notation ending := (ending Ms gamma c ends).
Notation below := (below Ms c ends).
Notation worth := (worth Ms c ends).

(* How often y is emitted after x, given that x is drafted; it may be negative where the survivals are only computed. *)
Definition emitted q x y : R := q x * b x y - (if stops x then 0 else s x y * q (rcons x y)).
Definition gives q U x : R := sumV (fun y => emitted q x y * U x y).
Definition all_gives q U n x : R := gives q U x + below (gives q U) n x.

Lemma emitted_sum q x : sumV (emitted q x) = ending q x.
Proof.
rewrite /emitted sumVB sumVZ row_sum mulr1 /ending; case: ifP => _ //.
by rewrite sumV0 subr0.
Qed.
Lemma below_eq e e' n x : (forall z, e z = e' z :> R) -> below e n x = below e' n x.
Proof. by move=> h; apply/eqP; rewrite eq_le; apply/andP; split; apply: below_le => z; rewrite h. Qed.
Lemma below_le_here e e' n x : (size x + n)%N = gamma -> (forall z, (size z <= gamma)%N -> e z <= e' z :> R) ->
  below e n x <= below e' n x.
Proof.
move=> hn le; elim: n x hn => [|n IH] x hn //=; case: ifP => // _.
have hn' y : (size (rcons x y) + n)%N = gamma by rewrite size_rcons addSnnS.
by apply: sumV_le => y; apply: ler_wpmul2l => //; apply: ler_add; [apply: le; rewrite -(hn' y) leq_addr | exact: IH].
Qed.
Lemma none_ending q x : none q x = 1 - q x + ending q x.
Proof. by rewrite /none /ending; case: ifP => _; ring. Qed.
Lemma not_final n x : (size x + n.+1)%N = gamma -> ends x = false -> stops x = false.
Proof. by move=> hn e; rewrite /final e orbF -hn; apply/negbTE; rewrite -ltnNge addnS ltnS leq_addr. Qed.
Lemma final_here x : (size x + 0)%N = gamma -> stops x.
Proof. by rewrite addn0 /final => ->; rewrite leqnn. Qed.

Section Worth.
Variables (q coin' A G : seq V -> R).
Hypothesis coin01 : forall x, 0 <= coin' x <= 1.
Hypothesis A01 : forall x, 0 <= A x <= 1.
Definition off x : R := `|none q x * coin' x - ending q x| + `|ending q x * A x - G x|.
Lemma worth_near n x a : (size x + n)%N = gamma -> 0 <= a <= 1 ->
  `|worth coin' A n x a - (none q x * a + below G n x)| <= below off n x.
Proof.
elim: n x a => [|n IH] x a hn a01.
  by rewrite /= none_ending /ending (final_here hn) addr0 subrK mul1r subrr normr0.
rewrite /=; case: ifP => e.
  by rewrite none_ending /ending /final e orbT addr0 subrK mul1r subrr normr0.
have nf := not_final hn e.
have -> : none q x * a = sumV (fun y => s x y * ((1 - q (rcons x y)) * a)).
  rewrite /none nf -[X in X - _](row_sum Ms (c ++ x)) -sumVB -sumVZr; apply: sumV_eq => y; ring.
rewrite -sumVD -sumVB; apply: le_trans (sumV_norm _) _; apply: sumV_le => y.
rewrite -mulrDr -mulrBr normrM ger0_norm //; apply: ler_wpmul2l => //.
have hn' : (size (rcons x y) + n)%N = gamma by rewrite size_rcons addSnnS.
set z := rcons x y in hn' *.
have -> : flip (coin' z) (fun accepted : bool => worth coin' A n z (if accepted then A z else a))
    - ((1 - q z) * a + (G z + below G n z))
  = (coin' z * (worth coin' A n z (A z) - (none q z * A z + below G n z))
      + (1 - coin' z) * (worth coin' A n z a - (none q z * a + below G n z)))
    + ((none q z * coin' z - ending q z) * (A z - a) + (ending q z * A z - G z)).
  by rewrite /flip none_ending; ring.
apply: le_trans (ler_norm_add _ _) _; rewrite addrC; apply: ler_add; last by apply: norm_mix; rewrite ?IH.
apply: le_trans (ler_norm_add _ _) _; rewrite ler_add2r normrM ler_pimulr //.
have /andP[z0 z1] := A01 z; have /andP[a0 a1] := a01.
rewrite ler_norml; apply/andP; split; last by rewrite ler_subl_addr (le_trans z1) // ler_addl.
by rewrite ler_subr_addr; apply: le_trans z0; rewrite addrC subr_le0.
Qed.
End Worth.

Definition drawn_worth (last : seq V -> V -> R) U x : R := draw (last x) (U x).
(* Any survivals, coins and rows: the law is what the survivals emit, but for what coins and rows are off from them. *)
Theorem draft_near q coin' (last : seq V -> V -> R) U : q [::] = 1 -> (forall x, 0 <= coin' x <= 1) ->
  (forall x y, 0 <= last x y) -> (forall x, sumV (last x) = 1) -> (forall x y, 0 <= U x y <= 1) ->
  `|draft Ms c ends gamma [::] (fun X => sub_verify coin' last X U) - all_gives q U gamma [::]|
  <= `|ending q [::] * drawn_worth last U [::] - gives q U [::]|
    + below (off q coin' (drawn_worth last U) (gives q U)) gamma [::].
Proof.
move=> q1 c01 r0 r1 u; rewrite sub_verify_worth; set A := drawn_worth last U.
have A01 x : 0 <= A x <= 1.
  apply/andP; split; first by apply: sumV_ge0 => y; apply: mulr_ge0 => //; have /andP[] := u x y.
  by rewrite -(r1 x); apply: sumV_le => y; rewrite ler_pimulr //; have /andP[] := u x y.
have w := @worth_near q coin' A (gives q U) c01 A01 gamma [::] (A [::]) (add0n gamma) (A01 [::]).
rewrite -/(A [::]) (_ : worth coin' _ gamma [::] _ = worth coin' A gamma [::] (A [::])) //.
have -> : worth coin' A gamma [::] (A [::]) - all_gives q U gamma [::]
  = (ending q [::] * A [::] - gives q U [::])
    + (worth coin' A gamma [::] (A [::]) - (none q [::] * A [::] + below (gives q U) gamma [::])).
  by rewrite none_ending q1 /all_gives; ring.
by apply: le_trans (ler_norm_add _ _) _; rewrite ler_add2l.
Qed.

(* Two families of survivals.  What they differ by is emitted once: where it is, it is gone. *)
Section Two.
Variables (q q' : seq V -> R) (g : R).
Hypotheses (g0 : 0 <= g) (q1 : q [::] = 1) (q'1 : q' [::] = 1).
Hypothesis moved : forall x y, ~~ stops x ->
  `|emitted q' x y - emitted q x y| + s x y * `|q' (rcons x y) - q (rcons x y)|
  <= `|q' x - q x| * b x y + 2%:R * (if ((size x).+1 < gamma)%N then g else 0) * b x y.
Lemma gives_apart F n x : (size x + n)%N = gamma -> (forall x y, `|F x y| <= 2%:R^-1) ->
  `|all_gives q' F n x - all_gives q F n x| <= `|q' x - q x| / 2%:R + n.-1%:R * g.
Proof.
move=> hn F1; have h0 : 0 <= 2%:R^-1 :> R by rewrite invr_ge0 ler0n.
have stop z : stops z -> `|gives q' F z - gives q F z| <= `|q' z - q z| / 2%:R.
  move=> f; rewrite /gives -sumVB; apply: le_trans (sumV_norm _) _.
  have -> : `|q' z - q z| / 2%:R = sumV (fun y => `|q' z - q z| / 2%:R * b z y) by rewrite sumVZ row_sum mulr1.
  apply: sumV_le => y.
  rewrite -mulrBl /emitted f !subr0 -mulrBl !normrM (ger0_norm (row_ge0 Mb _ y)) -mulrA [b z y * _]mulrC mulrA.
  apply: ler_wpmul2r; first exact: row_ge0.
  exact: ler_wpmul2l (F1 z y).
elim: n x hn => [|n IH] x hn.
  by rewrite /all_gives /= !addr0 mul0r addr0; apply: stop; apply: final_here.
rewrite /all_gives /=; case: ifP => e.
  rewrite !addr0; apply: ler_paddr; first by rewrite mulr_ge0 ?ler0n.
  by apply: stop; rewrite /final e orbT.
have nf := not_final hn e.
set t := fun r y => gives r F (rcons x y) + below (gives r F) n (rcons x y).
have -> : gives q' F x + sumV (fun y => s x y * t q' y) - (gives q F x + sumV (fun y => s x y * t q y))
  = sumV (fun y => (emitted q' x y - emitted q x y) * F x y + s x y * (t q' y - t q y)).
  have -> : gives q' F x + sumV (fun y => s x y * t q' y) - (gives q F x + sumV (fun y => s x y * t q y))
    = (gives q' F x - gives q F x) + (sumV (fun y => s x y * t q' y) - sumV (fun y => s x y * t q y)) by ring.
  rewrite /gives -!sumVB -sumVD; apply: sumV_eq => y; ring.
apply: le_trans (sumV_norm _) _.
set h := if ((size x).+1 < gamma)%N then g else 0.
have -> : n.+1.-1%:R * g = n.-1%:R * g + h :> R.
  rewrite /h -hn; case: (n) => [|k]; first by rewrite addn1 ltnn mul0r addr0.
  have -> : ((size x).+1 < size x + k.+2)%N by rewrite !addnS !ltnS leq_addr.
  by rewrite /= -[k.+1]addn1 natrD mulrDl mul1r.
have -> : `|q' x - q x| / 2%:R + (n.-1%:R * g + h) = sumV (fun y => (`|q' x - q x| / 2%:R + (n.-1%:R * g + h)) * b x y).
  by rewrite sumVZ row_sum mulr1.
have -> : sumV (fun y => (`|q' x - q x| / 2%:R + (n.-1%:R * g + h)) * b x y)
  = sumV (fun y => (`|q' x - q x| * b x y + 2%:R * h * b x y) / 2%:R + s x y * (n.-1%:R * g)).
  rewrite sumVD sumVZr row_sum mul1r sumVZr sumVD !sumVZ row_sum !mulr1; by field.
apply: sumV_le => y.
apply: le_trans (ler_norm_add _ _) _; rewrite !normrM (ger0_norm (row_ge0 Ms _ y)).
apply: le_trans (_ : `|emitted q' x y - emitted q x y| / 2%:R
  + s x y * (`|q' (rcons x y) - q (rcons x y)| / 2%:R + n.-1%:R * g) <= _).
  apply: ler_add; first exact: ler_wpmul2l (F1 x y).
  by apply: ler_wpmul2l => //; apply: IH; rewrite size_rcons addSnnS.
rewrite mulrDr addrA ler_add2r mulrA -mulrDl; apply: ler_wpmul2r => //.
by apply: moved; rewrite nf.
Qed.
Lemma gives_centred r U : r [::] = 1 ->
  all_gives r U gamma [::] = all_gives r (fun x y => U x y - 2%:R^-1) gamma [::] + 2%:R^-1.
Proof.
move=> r1; have here x : gives r U x = gives r (fun x y => U x y - 2%:R^-1) x + ending r x * 2%:R^-1.
  rewrite -emitted_sum -sumVZr -sumVD; apply: sumV_eq => y; ring.
rewrite /all_gives (below_eq _ _ here) belowD here addrACA below_ending //.
by rewrite r1 mul1r.
Qed.
Theorem survivals_apart U : (forall x y, 0 <= U x y <= 1) ->
  `|all_gives q' U gamma [::] - all_gives q U gamma [::]| <= gamma.-1%:R * g.
Proof.
move=> u; rewrite (gives_centred U q'1) (gives_centred U q1).
set d := _ - _; have -> : d = all_gives q' (fun x y => U x y - 2%:R^-1) gamma [::]
    - all_gives q (fun x y => U x y - 2%:R^-1) gamma [::] by rewrite /d; ring.
have := @gives_apart (fun x y => U x y - 2%:R^-1) gamma [::] (add0n gamma).
rewrite q1 q'1 subrr normr0 mul0r add0r; apply => x y; exact: half_range.
Qed.
End Two.

(* The exact rule emits what its survivals say. *)
Theorem draft_exact q U : q [::] = 1 -> (forall x, 0 <= q x <= 1) ->
  (forall x y, ~~ stops x -> s x y * q (rcons x y) <= q x * b x y) -> (forall x y, 0 <= U x y <= 1) ->
  draft Ms c ends gamma [::] (fun X => sub_verify (coin_of Ms gamma c ends q) (row_of Mb Ms gamma c ends q) X U)
  = all_gives q U gamma [::].
Proof.
move=> q1 q01 qle u; have c01 := coin_of_range q01 (q_later qle).
have r0 x y := row_of_ge0 qle x y; have r1 x : sumV (row_of Mb Ms gamma c ends q x) = 1 by exact: row_of_sum.
have rows x : ending q x * drawn_worth (row_of Mb Ms gamma c ends q) U x = gives q U x.
  rewrite /drawn_worth /ending /gives /emitted; case: (boolP (stops x)) => [f|nf].
    by rewrite /draw -sumVZ; apply: sumV_eq => y; rewrite /row_of f subr0; ring.
  by rewrite mulrC row_ofE.
have coins x : none q x * coin_of Ms gamma c ends q x = ending q x.
  rewrite /none /ending; case: (boolP (stops x)) => [f|nf]; first by rewrite mul1r /coin_of f.
  by rewrite mulrC (coin_ofE q01 (q_later qle) nf).
have := draft_near q1 c01 r0 r1 u; set m := `|_ - gives _ _ _|; have -> : m = 0 by rewrite /m rows subrr normr0.
rewrite add0r (below_eq _ _ (e' := fun=> 0)); last by move=> z; rewrite /off coins rows !subrr normr0 addr0.
have -> : below (fun=> 0) gamma [::] = 0 :> R.
  elim: gamma [::] => //= n IH x; case: ifP => // _; rewrite (sumV_eq (g := fun=> 0)) ?sumV0 // => y.
  by rewrite IH addr0 mulr0.
by rewrite normr_le0 subr_eq0 => /eqP.
Qed.
End AnySurvivals.

(* Uniforms on a lattice: u = k / N, k = 0 .. N-1, as every generator of floating-point numbers gives
   them.  Coins decided by u < h or by u <= h, a last token looked up in a running sum, and the token of
   probability 0 that u <= h lets through. *)

Section Lattice.
Variables (R : realFieldType) (N : nat).
Hypothesis N0 : (0 < N)%N.
Implicit Types (h a : R).
(* Pr(u < h) and Pr(u <= h). *)
Definition lattice_lt h : R := (\sum_(k < N) (k%:R < h * N%:R)%R%:R) / N%:R.
Definition lattice_le h : R := (\sum_(k < N) (k%:R <= h * N%:R)%R%:R) / N%:R.
Lemma Ngt0 : 0 < N%:R :> R. Proof. by rewrite ltr0n. Qed.

Lemma count_all (P : nat -> bool) n : (forall k, (k < n)%N -> P k) -> \sum_(k < n) (P k)%:R = n%:R :> R.
Proof.
move=> p; rewrite (eq_bigr (fun=> 1)) => [|k _]; first by rewrite sumr_const card_ord.
by rewrite p.
Qed.
Lemma count_lt a n : 0 <= a -> a <= n%:R -> a <= \sum_(k < n) (k%:R < a)%R%:R < a + 1.
Proof.
move=> a0; elim: n => [|n IH] le; first by rewrite big_ord0 le ltr_spaddr ?ltr01.
rewrite big_ord_recr /=; have [h|h] := leP a n%:R; first by rewrite addr0 IH.
rewrite (count_all (P := fun k => (k%:R < a)%R)) => [|k lt]; first by rewrite -mulrSr le mulrSr ltr_add2r.
by apply: le_lt_trans h; rewrite ler_nat ltnW.
Qed.
Lemma count_le a n : 0 <= a -> a < n%:R -> a < \sum_(k < n) (k%:R <= a)%R%:R <= a + 1.
Proof.
move=> a0; elim: n => [|n IH] lt; first by rewrite ltNge a0 in lt.
rewrite big_ord_recr /=; have [h|h] := leP n%:R a; last by rewrite addr0 IH.
rewrite (count_all (P := fun k => (k%:R <= a)%R)) => [|k lk]; first by rewrite -mulrSr lt mulrSr ler_add2r.
by apply: le_trans h; rewrite ler_nat ltnW.
Qed.
Theorem lattice_lt_near h : 0 <= h <= 1 -> h <= lattice_lt h < h + N%:R^-1.
Proof.
move=> /andP[h0 h1]; have n0 := Ngt0; rewrite /lattice_lt ler_pdivl_mulr // ltr_pdivr_mulr //.
rewrite mulrDl mulVf ?gt_eqF //; apply: count_lt; first by rewrite mulr_ge0 // ltW.
by rewrite ler_pimull // ltW.
Qed.
Theorem lattice_le_near h : 0 <= h -> h < 1 -> h < lattice_le h <= h + N%:R^-1.
Proof.
move=> h0 h1; have n0 := Ngt0; rewrite /lattice_le ltr_pdivl_mulr // ler_pdivr_mulr //.
rewrite mulrDl mulVf ?gt_eqF //; apply: count_le; first by rewrite mulr_ge0 // ltW.
by rewrite gtr_pmull.
Qed.
Lemma lattice_le_1 : lattice_le 1 = 1.
Proof.
rewrite /lattice_le (count_all (P := fun k => (k%:R <= 1 * N%:R :> R)%R)) ?mulfV ?gt_eqF ?Ngt0 // => k lt.
by rewrite mul1r ler_nat ltnW.
Qed.
(* What never should be accepted: exactly never with <, once in N with <=. *)
Theorem lattice_lt_0 : lattice_lt 0 = 0.
Proof. by rewrite /lattice_lt big1 => [|k _]; rewrite mul0r // ltNge ler0n. Qed.
Theorem lattice_le_0 : lattice_le 0 = N%:R^-1.
Proof.
rewrite /lattice_le mul0r -[RHS]mul1r; congr (_ / _).
case: N N0 => // n _; rewrite big_ord_recl /= lexx big1 ?addr0 // => k _.
by rewrite lern0.
Qed.
Lemma lattice_lt_range h : 0 <= h <= 1 -> 0 <= lattice_lt h <= 1.
Proof.
move=> h01; have n0 := Ngt0; apply/andP; split.
  by apply: divr_ge0; [apply: sumr_ge0 => k _; apply: ler0n | exact: ltW].
rewrite ler_pdivr_mulr // mul1r -[X in _ <= X%:R]card_ord -sumr_const; apply: ler_sum => k _.
by case: (k%:R < h * N%:R)%R; rewrite ?ler01.
Qed.
Lemma lattice_le_range h : 0 <= lattice_le h <= 1.
Proof.
have n0 := Ngt0; apply/andP; split.
  by apply: divr_ge0; [apply: sumr_ge0 => k _; apply: ler0n | exact: ltW].
rewrite ler_pdivr_mulr // mul1r -[X in _ <= X%:R]card_ord -sumr_const; apply: ler_sum => k _.
by case: (k%:R <= h * N%:R)%R; rewrite ?ler01.
Qed.
Lemma lattice_lt_1 : lattice_lt 1 = 1.
Proof.
have h01 : 0 <= (1 : R) <= 1 by rewrite ler01 lexx.
have /andP[l _] := lattice_lt_near h01; have /andP[_ u] := lattice_lt_range h01.
by apply/eqP; rewrite eq_le u l.
Qed.
Definition on_lattice (F : R -> R) : Prop := forall h, 0 <= h <= 1 -> 0 <= F h <= 1 /\ `|F h - h| <= N%:R^-1.
Lemma lattice_lt_coin : on_lattice lattice_lt.
Proof.
move=> h h01; split; first exact: lattice_lt_range.
have /andP[l u] := lattice_lt_near h01.
by rewrite ger0_norm ?subr_ge0 // ler_subl_addl ltW.
Qed.
Lemma lattice_le_coin : on_lattice lattice_le.
Proof.
move=> h /andP[h0 h1]; split; first exact: lattice_le_range.
move: h1; rewrite le_eqVlt => /orP[/eqP ->|h1]; first by rewrite lattice_le_1 subrr normr0 invr_ge0 ler0n.
have /andP[l u] := lattice_le_near h0 h1.
by rewrite ger0_norm; [rewrite ler_subl_addl | rewrite subr_ge0 ltW].
Qed.
End Lattice.

(* The last token: u is looked up in the running sum of the row. *)
Section LookUp.
Variables (V : vocabulary) (R : realFieldType) (N : nat).
Hypothesis N0 : (0 < N)%N.
Implicit Types (r : V -> R).
Definition running r k : R := \sum_(z <- take k (tokens V)) r z.
Definition looked_up r y : R :=
  lattice_lt N (running r (index y (tokens V)).+1) - lattice_lt N (running r (index y (tokens V))).

Lemma tokens_uniq : uniq (tokens V).
Proof. by rewrite (perm_uniq (tokens_ok V)) enum_uniq. Qed.
Lemma tokens_mem y : y \in tokens V.
Proof. by rewrite (perm_mem (tokens_ok V)) mem_enum. Qed.
Lemma runningS r y : running r (index y (tokens V)).+1 = running r (index y (tokens V)) + r y.
Proof.
have lt : (index y (tokens V) < size (tokens V))%N by rewrite index_mem tokens_mem.
by rewrite /running (take_nth y lt) -cats1 big_cat big_seq1 /= nth_index ?tokens_mem.
Qed.
Lemma sumV_index (G : nat -> R) : sumV (fun y : V => G (index y (tokens V))) = \sum_(k < size (tokens V)) G k.
Proof.
rewrite sumVE -big_enum -(perm_big _ (tokens_ok V)) /=.
case e : (tokens V) => [|z t]; first by rewrite big_nil big_ord0.
rewrite -e (big_nth z) big_mkord; apply: eq_bigr => k _.
by rewrite index_uniq ?tokens_uniq.
Qed.
Section Row.
Variable r : V -> R.
Hypotheses (r0 : forall y, 0 <= r y) (r1 : sumV r = 1).
Lemma running_all : running r (size (tokens V)) = 1.
Proof. by rewrite /running take_size (perm_big _ (tokens_ok V)) big_enum -sumVE. Qed.
Lemma running_range k : 0 <= running r k <= 1.
Proof.
rewrite sumr_ge0 //= -running_all /running take_size -{2}(cat_take_drop k (tokens V)) big_cat /=.
by rewrite ler_addl sumr_ge0.
Qed.
Lemma looked_up_sum : sumV (looked_up r) = 1.
Proof.
have -> : sumV (looked_up r) = \sum_(k < size (tokens V)) (lattice_lt N (running r k.+1) - lattice_lt N (running r k)).
  by rewrite -(sumV_index (fun k => lattice_lt N (running r k.+1) - lattice_lt N (running r k))).
rewrite -(big_mkord xpredT (fun k => lattice_lt N (running r k.+1) - lattice_lt N (running r k))) telescope_sumr //.
by rewrite running_all lattice_lt_1 // /running take0 big_nil lattice_lt_0 subr0.
Qed.
Lemma lattice_lt_mono a a' : a <= a' -> lattice_lt N a <= lattice_lt N a' :> R.
Proof.
move=> le; apply: ler_wpmul2r; first by rewrite invr_ge0 ler0n.
apply: ler_sum => k _; have [lt|//] := boolP (k%:R < a * N%:R); last by rewrite ler0n.
by rewrite (lt_le_trans lt) // ler_wpmul2r ?ler0n.
Qed.
Lemma looked_up_ge0 y : 0 <= looked_up r y.
Proof. by rewrite subr_ge0 lattice_lt_mono // runningS ler_addl. Qed.
(* A token without weight is never looked up. *)
Lemma looked_up_0 y : r y = 0 -> looked_up r y = 0.
Proof. by rewrite /looked_up runningS => ->; rewrite addr0 subrr. Qed.
Lemma looked_up_each y : `|looked_up r y - r y| <= N%:R^-1.
Proof.
have := running_range (index y (tokens V)); have := running_range (index y (tokens V)).+1.
rewrite /looked_up runningS; move: (running r _) => a b01 a01.
have /andP[l u] := lattice_lt_near N0 a01; have /andP[l' u'] := lattice_lt_near N0 b01.
have -> : lattice_lt N (a + r y) - lattice_lt N a - r y = (lattice_lt N (a + r y) - (a + r y)) - (lattice_lt N a - a) by ring.
rewrite ler_norml; apply/andP; split.
  rewrite ler_subr_addr addrC; apply: le_trans (_ : 0 <= _); last by rewrite subr_ge0.
  by rewrite subr_le0 ler_subl_addl ltW.
rewrite ler_subl_addr; apply: le_trans (_ : N%:R^-1 <= _); first by rewrite ler_subl_addl ltW.
by rewrite ler_addl subr_ge0.
Qed.
Theorem looked_up_near : total_variation r (looked_up r) <= (size (tokens V))%:R / (2 * N)%:R.
Proof.
rewrite /total_variation natrM invfM mulrA [X in _ <= X]mulrAC ler_pmul2r ?invr_gt0 ?ltr0n //.
apply: le_trans (_ : sumV (fun _ : V => N%:R^-1) <= _); first by apply: sumV_le => y; apply: looked_up_each.
by rewrite (sumV_index (fun=> N%:R^-1)) sumr_const card_ord mulr_natl.
Qed.
End Row.
End LookUp.

(* Block verification whose coins are decided on lattices: gamma / N and what the last draw costs. *)
Section OnLattice.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma : nat) (c : seq V) (ends : pred (seq V)).
Variables (N : nat) (F : R -> R).
Hypotheses (N0 : (0 < N)%N) (Fl : on_lattice N F).
Notation p := (p_of Mb Ms c).
Notation coin := (coin_of Ms gamma c ends p).
Notation row := (row_of Mb Ms gamma c ends p).
Let p01 := p_of_range Mb Ms c.
Let ple x y (_ : ~~ final gamma ends x) := p_of_le Mb Ms c x y.
Theorem uniforms_on_a_lattice (U : seq V -> V -> R) : (forall x y, 0 <= U x y <= 1) ->
  `|draft Ms c ends gamma [::] (fun X => sub_verify (fun x => F (coin x)) (fun x => looked_up N (row x)) X U)
    - draft Ms c ends gamma [::] (fun X => sub_verify coin row X U)|
  <= gamma%:R / N%:R + (size (tokens V))%:R / (2 * N)%:R.
Proof.
move=> u; have k01 x := coin_of_range p01 (q_later ple) x.
have r0 x y := row_of_ge0 ple x y; have r1 x : sumV (row x) = 1 by exact: row_of_sum.
apply: (near_law_uniform erefl p01 (q_later ple)) => // [x|x y|x|x|x].
- by case: (Fl (k01 x)).
- exact: looked_up_ge0.
- exact: looked_up_sum.
- by case: (Fl (k01 x)).
- exact: looked_up_near.
Qed.
End OnLattice.

(* Token verification with coins F: the probability that its first token is one that the large model
   excludes is that of drafting it, times F 0. *)
Section Leak.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma : nat) (c : seq V) (F : R -> R).
Fixpoint token_loop_with pre todo (A : seq V -> R) : R :=
  if todo is x :: todo' then
    flip (F (h_token (Mb (c ++ pre)) (Ms (c ++ pre)) x))
      (fun accepted => if accepted then token_loop_with (rcons pre x) todo' A else A pre)
  else A pre.
Definition token_verify_with X (A : seq V -> V -> R) : R :=
  token_loop_with [::] X (fun kept => finish Mb Ms (size X) c A kept 1).
Lemma token_loop_const pre todo z (A : seq V -> R) a :
  (forall k, A (rcons pre z ++ k) = a) -> token_loop_with (rcons pre z) todo A = a.
Proof.
move=> e; have : forall s, rcons pre z ++ s = rcons pre z ++ s by [].
rewrite -[rcons pre z in X in X = _]cats0; elim: todo [::] => [|x todo IH] s _ /=; first exact: e.
by rewrite /flip rcons_cat IH // e; ring.
Qed.
Theorem support_leak z : Mb c z = 0 ->
  gen Ms gamma.+1 c (fun X => token_verify_with X (fun kept y => (head y kept == z)%:R)) = Ms c z * F 0.
Proof.
move=> b0; rewrite genS -[RHS](sumV_delta z (fun x => Ms c x * F 0)); apply: sumV_eq => x.
have fin kept n : finish Mb Ms n c (fun k y => (head y k == z)%:R) (x :: kept) 1 = (x == z)%:R.
  rewrite /finish /draw /= sumVZr; case: ifP => _; rewrite ?row_sum ?mul1r //.
  by have [_ ->] := residual_law Mb Ms c (x :: kept) 1; rewrite mul1r.
have rej n : finish Mb Ms n.+1 c (fun k y => (head y k == z)%:R) [::] 1 = 0.
  rewrite /finish /= cats0 /draw; transitivity (sumV (fun y => (y == z)%:R * residual (Mb c) (Ms c) 1 y)).
    by apply: sumV_eq => y; rewrite mulrC.
  rewrite sumV_delta /residual b0; case: ifP => // _.
  by rewrite /over b0 mulr0 sub0r max_r ?mul0r // oppr_le0 row_ge0.
rewrite mulrCA; congr (_ * _); rewrite -(gen_const Ms gamma (rcons c x) ((x == z)%:R * F 0)).
apply: gen_eq => X _; rewrite /token_verify_with /= /flip cats0 rej mulr0 addr0.
rewrite (@token_loop_const [::] X x _ (x == z)%:R) => [|k]; last exact: fin.
rewrite /h_token; case: eqP => [->|]; last by rewrite mulr0 mul0r.
by rewrite b0 mul0r min_l ?ler01 // mulrC.
Qed.
End Leak.
