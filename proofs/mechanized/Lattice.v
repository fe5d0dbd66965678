(* Uniforms on a lattice: u = k / N, k = 0 .. N-1, as every generator of floating-point numbers gives
   them.  Coins decided by u < h or by u <= h, a last token looked up in a running sum, and the token of
   probability 0 that u <= h lets through. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum zify.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Models Algorithms Verifier Block Token SubBlocks Precision.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

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
