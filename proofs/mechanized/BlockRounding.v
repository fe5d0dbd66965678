(* Block verification computed in floating point, under the standard model of Rounding.v. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum zify.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Models Algorithms Verifier Block SubBlocks Precision Rounding.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

(* The whole of block verification: survivals, coins and weights computed for every prefix, coins decided
   by F (exactly, or on a lattice), the last token drawn from a row within lambda of the computed weights. *)
Section Whole.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma : nat) (c : seq V) (ends : pred (seq V)).
Variables (u eta lambda : R) (d : nat) (F : R -> R).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1).
Hypothesis decided : forall h, 0 <= h <= 1 -> 0 <= F h <= 1 /\ `|F h - h| <= eta.
Notation p := (p_of Mb Ms c).
Notation coin := (coin_of Ms gamma c ends p).
Notation row := (row_of Mb Ms gamma c ends p).
Notation stops := (final gamma ends).
Notation b x := (Mb (c ++ x)).
Notation s x := (Ms (c ++ x)).
Variables (P : seq V -> R) (w drawn : seq V -> V -> R) (H : seq V -> R).

(* The standard model, at every prefix: the survivals P, the weights w, the coins H. *)
Definition survivals_computed : Prop := P [::] = 1 /\ forall x y, exists r t,
  [/\ rounds u (b x y / s x y) r, rounds u (P x * r) t & P (rcons x y) = Num.min t 1].
Definition weights_computed x : Prop := exists z e : V -> R, forall y,
  [/\ rounds u (P x * b x y) (z y), rounds u (z y - s x y) (e y) & w x y = Num.max (e y) 0].
Definition coin_computed x : Prop := exists e a D,
  [/\ 0 <= e /\ within u d (sumV (w x)) e, rounds u (e + 1) a, rounds u (a - P x) D & D != 0 -> rounds u (e / D) (H x)].
Hypotheses (Pc : survivals_computed) (wc : forall x, weights_computed x) (Hc : forall x, coin_computed x).
Definition coin_used x : R := F (if stops x then P x else clipped (H x)).
Hypotheses (drawn0 : forall x y, 0 <= drawn x y) (drawn1 : forall x, sumV (drawn x) = 1).
(* The last token: from a row within lambda of one that is drawn exactly by the weights; at the end of the
   draft, of the large model's. *)
Hypothesis drawn_near : forall x, exists r : V -> R,
  [/\ sumV r = 1, forall y, 0 <= r y, total_variation r (drawn x) <= lambda &
      if stops x then r =1 b x else forall y, r y * sumV (w x) = w x y].

Lemma survivals_near x : within u (2 * size x) (p x) (P x) /\ 0 <= P x <= 1.
Proof.
case: Pc => P1 Ps; elim/last_ind: x => [|x y [IH P01]].
  by rewrite P1 /p_of /= /within subrr normr0 growth0 mul0r lexx ler01 lexx.
have [r [t [hr ht ->]]] := Ps x y.
have := survival_near u0 u1 (row_ge0 Mb _) (row_ge0 Ms _) P01 IH hr ht.
by rewrite size_rcons mulnS addnC p_of_rcons.
Qed.
Lemma tv_triangle (r r' r'' : V -> R) : total_variation r r'' <= total_variation r r' + total_variation r' r''.
Proof.
rewrite /total_variation -mulrDl ler_pmul2r ?invr_gt0 ?ltr0n // -sumVD; apply: sumV_le => y.
have -> : r'' y - r y = (r'' y - r' y) + (r' y - r y) by ring.
by rewrite addrC; apply: ler_norm_add.
Qed.
Definition coin_bound i : R := (if (i < gamma)%N then coin_error u (2 * i) d else growth u (2 * i)) + eta.
Definition row_bound i : R := growth u (2 * i + 2).
Let ple : forall x, ~~ stops x -> later Ms c p x <= p x := q_later (fun x y _ => p_of_le Mb Ms c x y).
Let p01 := p_of_range Mb Ms c.
Let coin_error_ge k : growth u k <= coin_error u k d.
Proof.
have g0 n : 0 <= growth u n := growth_ge0 u0 n; have t0 : 0 <= 2%:R :> R := ler0n _ _.
apply: ler_paddr u0 _; apply: ler_paddr.
  by apply: mulr_ge0; [apply: mulr_ge0 | apply: addr_ge0]; rewrite // addr_ge0.
apply: le_trans (_ : growth u (k + 2) <= _); first by apply: growth_mono => //; apply: leq_addr.
by rewrite ler_pemulr // ler_addl.
Qed.

Lemma used_near x : (size x <= gamma)%N -> none Ms gamma c ends p x * `|coin_used x - coin x|
  <= coin_bound (size x) + (if stops x then 0 else ending Ms gamma c ends p x * growth u d).
Proof.
move=> le.
have [Pw P01] := survivals_near x; have /andP[n0 n1] := none_range p01 ple x.
have ge := coin_error_ge (2 * size x).
set h := if stops x then P x else clipped (H x); have h01 : 0 <= h <= 1 by rewrite /h; case: ifP => // _; apply: clipped_range.
have [_ hF] := decided h01; rewrite /coin_used -/h.
have -> : F h - coin x = (F h - h) + (h - coin x) by ring.
apply: le_trans (ler_wpmul2l n0 (ler_norm_add _ _)) _; rewrite mulrDr addrC /coin_bound [X in _ <= X]addrAC; apply: ler_add; last first.
  by apply: le_trans hF; rewrite ler_pimull.
rewrite /h coin_block /none /ending; case: ifP => f.
  rewrite mul1r addr0; apply: le_trans Pw _; apply: le_trans (_ : growth u (2 * size x) <= _); last by case: ifP.
  by rewrite ler_pimulr ?growth_ge0 //; case/andP: (p01 x).
rewrite later_share -excessE ?row_sum // [_ * growth u d]mulrC; have [z [e we]] := wc x.
have [e' [a [D [[e'0 e'w] ar Dr Hr]]]] := Hc x.
have -> : (size x < gamma)%N by move/negbT: f; rewrite /final negb_or -ltnNge => /andP[].
have zr y : rounds u (P x * b x y) (z y) by case: (we y).
have er y : rounds u (z y - s x y) (e y) by case: (we y).
have wE y : w x y = Num.max (e y) 0 by case: (we y).
exact: (coin_near u0 u1 (row_ge0 Mb _) (row_ge0 Ms _) (row_sum Mb _) (p01 x) P01 Pw zr er wE e'w e'0 ar Dr Hr).
Qed.
Lemma drawn_row_near x : ending Ms gamma c ends p x * total_variation (row x) (drawn x)
  <= (if (size x < gamma)%N then row_bound (size x) else 0) + ending Ms gamma c ends p x * lambda.
Proof.
have [r [r1 r0 rl re]] := drawn_near x; have e0 := ending_ge0 p01 ple x.
have [Pw P01] := survivals_near x.
apply: le_trans (ler_wpmul2l e0 (tv_triangle (row x) r (drawn x))) _; rewrite mulrDr; apply: ler_add; last exact: ler_wpmul2l.
have nn : 0 <= (if (size x < gamma)%N then row_bound (size x) else 0) by case: ifP => // _; apply: growth_ge0.
move: re; case: (boolP (stops x)) => f re.
  have -> : total_variation (row x) r = 0; last by rewrite mulr0.
  rewrite /total_variation (sumV_eq (g := fun=> 0)) ?sumV0 ?mul0r // => y.
  by rewrite row_block f re subrr normr0.
have lt : (size x < gamma)%N by move: f; rewrite /final negb_or -ltnNge => /andP[].
rewrite lt /ending (negPf f) later_share -excessE ?row_sum //.
have [z [e we]] := wc x.
have -> : total_variation (row x) r = total_variation (residual (b x) (s x) (p x)) r.
  by rewrite /total_variation; congr (_ / _); apply: sumV_eq => y; rewrite row_block (negPf f).
have zr y : rounds u (P x * b x y) (z y) by case: (we y).
have er y : rounds u (z y - s x y) (e y) by case: (we y).
have wE y : w x y = Num.max (e y) 0 by case: (we y).
exact: (row_near u0 u1 (row_ge0 Mb _) (row_ge0 Ms _) (row_sum Mb _) (p01 x) P01 Pw zr er wE re r1 r0).
Qed.

(* The bound in gamma, the depth d of the sums and u; to first order d u if gamma > 1, and 2 gamma^2 u + 9 gamma u.  What sums
   are off counts once, however many there are: one prefix is kept. *)
Theorem block_rounding (U : seq V -> V -> R) : (forall x y, 0 <= U x y <= 1) ->
  `|draft Ms c ends gamma [::] (fun X => sub_verify coin_used drawn X U)
    - draft Ms c ends gamma [::] (fun X => block_verify Mb Ms c X U)|
  <= \sum_(i < gamma) coin_bound i.+1 + (if (1 < gamma)%N then growth u d else 0) + \sum_(i < gamma) row_bound i + lambda.
Proof.
move=> U01; have -> : draft Ms c ends gamma [::] (fun X => block_verify Mb Ms c X U)
    = draft Ms c ends gamma [::] (fun X => sub_verify coin row X U).
  by have := @block_loop_sub _ _ Mb Ms gamma c ends U gamma [::] [::]; apply; [|left].
have -> : \sum_(i < gamma) row_bound i = \sum_(i < gamma.+1) (if (i < gamma)%N then row_bound i else 0).
  by rewrite big_ord_recr /= ltnn addr0; apply: eq_bigr => i _; rewrite ltn_ord.
apply: (@near_law_kept _ _ Mb Ms gamma c ends p _ p01 ple coin_used drawn (fun i => coin_bound i)
  (fun i => if (i < gamma)%N then row_bound i else 0) (growth u d) lambda U) => //.
- move=> x; have [_ P01] := survivals_near x; rewrite /coin_used; set h := if _ then _ else _.
  have h01 : 0 <= h <= 1 by rewrite /h; case: ifP => // _; apply: clipped_range.
  by case: (decided h01).
- move=> i _; have [_ e0] := decided (clipped_range (0 : R)).
  apply: addr_ge0; last exact: le_trans e0.
  by case: ifP => _; [apply: le_trans (coin_error_ge _) |]; apply: growth_ge0.
- by move=> i; case: ifP => // _; apply: growth_ge0.
- exact: growth_ge0.
- exact: used_near.
- by move=> x _; apply: drawn_row_near.
Qed.
End Whole.
