From mathcomp Require Import all_ssreflect ssralg ssrnum zify.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Algorithms Block Optimality Descent Precision Rounding ProblemRounding TreeRounding DescentRounding PathRounding.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

(* Tree Monte Carlo (ASpS) for a single path: its law is block verification's, and how far floating point moves it.
   What is assumed is the standard model of Rounding.v. *)

Section Booked.
Variables (V : vocabulary) (R : realFieldType).
Implicit Types (f g : nat -> V -> R) (n : nat) (a : R).
(* Numbers of the outputs (i, y): the first i tokens and y. *)
Definition booked n f : R := \sum_(i < n) sumV (f i).
Definition book n f (r : V -> R) i y : R := if i == n then r y else f i y.
Lemma booked_eq n f g : (forall i y, (i < n)%N -> f i y = g i y) -> booked n f = booked n g.
Proof. by move=> e; apply: eq_bigr => i _; apply: sumV_eq => y; apply: e. Qed.
Lemma booked_le n f g : (forall i y, (i < n)%N -> f i y <= g i y) -> booked n f <= booked n g.
Proof. by move=> e; apply: ler_sum => i _; apply: sumV_le => y; apply: e. Qed.
Lemma bookedD n f g : booked n (fun i y => f i y + g i y) = booked n f + booked n g.
Proof. by rewrite /booked -big_split; apply: eq_bigr => i _; rewrite sumVD. Qed.
Lemma bookedB n f g : booked n (fun i y => f i y - g i y) = booked n f - booked n g.
Proof. by rewrite /booked -sumrB; apply: eq_bigr => i _; rewrite sumVB. Qed.
Lemma bookedZ n a f : booked n (fun i y => a * f i y) = a * booked n f.
Proof. by rewrite /booked mulr_sumr; apply: eq_bigr => i _; rewrite sumVZ. Qed.
Lemma booked_ge0 n f : (forall i y, (i < n)%N -> 0 <= f i y) -> 0 <= booked n f.
Proof. by move=> f0; apply: sumr_ge0 => i _; apply: sumV_ge0 => y; apply: f0. Qed.
Lemma booked_norm n f : `|booked n f| <= booked n (fun i y => `|f i y|).
Proof. apply: le_trans (ler_norm_sum _ _ _) _; apply: ler_sum => i _; exact: sumV_norm. Qed.
Lemma booked_book n f r : booked n.+1 (book n f r) = booked n f + sumV r.
Proof.
rewrite /booked big_ord_recr /=; congr (_ + _); last by apply: sumV_eq => y; rewrite /book eqxx.
by apply: eq_bigr => i _; apply: sumV_eq => y; rewrite /book ltn_eqF.
Qed.
(* A draw by weights w, of which one more, k, stands for the whole block: their sum T is near that of exact ones, 1. *)
Lemma draw_near n (w w' r U : nat -> V -> R) (k k' rk Uk : R) :
  booked n w + k = 1 -> booked n r + rk = 1 -> (forall i y, 0 <= r i y) -> 0 <= rk ->
  (forall i y, (i < n)%N -> r i y * (booked n w' + k') = w' i y) -> rk * (booked n w' + k') = k' ->
  (forall i y, 0 <= U i y <= 1) -> 0 <= Uk <= 1 ->
  `|booked n (fun i y => r i y * U i y) + rk * Uk - (booked n (fun i y => w i y * U i y) + k * Uk)|
  <= booked n (fun i y => `|w' i y - w i y|) + `|k' - k|.
Proof.
move=> w1 r1 r0 rk0 rw rkw U01 Uk01; set T := booked n w' + k' in rw rkw.
set E := booked n _ + `|k' - k|.
have T1 : `|T - 1| <= E.
  have -> : T - 1 = booked n (fun i y => w' i y - w i y) + (k' - k) by rewrite bookedB -w1 /T; ring.
  by apply: le_trans (ler_norm_add _ _) _; rewrite ler_add2r booked_norm.
have hn : 0 <= 2%:R^-1 :> R by rewrite invr_ge0 ler0n.
have -> : booked n (fun i y => r i y * U i y) + rk * Uk - (booked n (fun i y => w i y * U i y) + k * Uk)
  = booked n (fun i y => (r i y - w i y) * (U i y - 2%:R^-1)) + (rk - k) * (Uk - 2%:R^-1).
  have -> : booked n (fun i y => (r i y - w i y) * (U i y - 2%:R^-1))
      = booked n (fun i y => (r i y * U i y - w i y * U i y) - 2%:R^-1 * (r i y - w i y)).
    by apply: booked_eq => i y _; ring.
  rewrite bookedB bookedZ !bookedB; have -> : booked n r = 1 - rk by rewrite -r1 addrK.
  have -> : booked n w = 1 - k by rewrite -w1 addrK.
  ring.
have term a b c x : 0 <= a -> a * T = b -> 0 <= x <= 1 -> `|(a - c) * (x - 2%:R^-1)| <= 2%:R^-1 * (`|T - 1| * a + `|b - c|).
  move=> a0 aT x01; rewrite normrM mulrC; apply: ler_pmul => //; first exact: half_range.
  have -> : a - c = - ((T - 1) * a) + (b - c) by rewrite -aT; ring.
  by apply: le_trans (ler_norm_add _ _) _; rewrite normrN normrM (ger0_norm a0).
apply: le_trans (ler_norm_add _ _) _.
apply: le_trans (_ : 2%:R^-1 * (`|T - 1| + E) <= _); last first.
  have e2 : 2%:R^-1 * (E + E) = E by field.
  by rewrite -[X in _ <= X]e2; apply: ler_wpmul2l => //; rewrite ler_add2r.
have -> : 2%:R^-1 * (`|T - 1| + E) = booked n (fun i y => 2%:R^-1 * (`|T - 1| * r i y + `|w' i y - w i y|))
    + 2%:R^-1 * (`|T - 1| * rk + `|k' - k|).
  by rewrite bookedZ bookedD bookedZ /E; have -> : rk = 1 - booked n r; [rewrite -r1 addrC addKr | ring].
apply: ler_add; last exact: term.
apply: le_trans (booked_norm _ _) _; apply: booked_le => i y lt; apply: term => //; exact: rw.
Qed.
End Booked.

Section Expectations.
Variables (V : vocabulary) (R : realFieldType) (M : model V R).
Implicit Types (c X : seq V) (F G : seq V -> R).
(* Of blocks that may be drafted. *)
Lemma gen_le_drafted n c F G : (forall X, size X = n -> joint M c X != 0 -> F X <= G X) -> gen M n c F <= gen M n c G.
Proof.
elim: n c F G => [|n IH] c F G le /=; first by apply: le; rewrite //= oner_eq0.
apply: sumV_le => x; have [e|ne] := eqVneq (M c x) 0; first by rewrite e !mul0r.
by apply: ler_wpmul2l; [exact: row_ge0 | apply: IH => X hX j; apply: le; rewrite /= ?hX // mulf_neq0].
Qed.
Lemma gen_affine n c a e F : gen M n c (fun X => a * F X + e) = a * gen M n c F + e.
Proof. by rewrite genD genZ; congr (_ + _); elim: n c => //= n IH c; rewrite (sumV_eq (g := fun x => M c x * e)) ?sumVZr ?row_sum ?mul1r // => x; rewrite IH. Qed.
Lemma gen_last n c F : gen M n.+1 c F = gen M n c (fun x => sumV (fun z => M (c ++ x) z * F (rcons x z))).
Proof. by rewrite -addn1 gen_cat; apply: gen_eq => x _ /=; apply: sumV_eq => z; rewrite cats1. Qed.
Lemma gen_norm_le n c F G : `|gen M n c F - gen M n c G| <= gen M n c (fun X => `|F X - G X|).
Proof.
rewrite -genB; have near H : `|gen M n c H| <= gen M n c (fun X => `|H X|); last exact: near.
elim: n c H => //= n IH c H; apply: le_trans (sumV_norm _) _; apply: sumV_le => x.
by rewrite normrM (ger0_norm (row_ge0 M c x)); apply: ler_wpmul2l; [exact: row_ge0 | exact: IH].
Qed.
End Expectations.

Section MonteCarlo.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma : nat) (c : seq V).
Implicit Types (x X : seq V) (y z : V) (n : nat).
Notation p := (p_of Mb Ms c).
Notation b x := (Mb (c ++ x)).
Notation s x := (Ms (c ++ x)).
Notation left_of x := (less (b x) (s x) (p x)).
Notation rest x := (over (b x) (s x) (p x)).
Notation mass x := (sumV (left_of x)).
(* C(z) / q(z), where C is what is left of the draft over its sum; and the weights of the outputs behind x. *)
Definition scale x z : R := if mass x == 0 then 1 else left_of x z / mass x / s x z.
Fixpoint weights_from (r : seq V) : nat -> V -> R :=
  if r is z :: r' then fun i y => scale (rev r') z * book (size r') (weights_from r') (rest (rev r')) i y else fun _ _ => 0.
Definition weights x := weights_from (rev x).
Definition monte_carlo X (U : seq V -> V -> R) : R :=
  booked (size X) (fun i y => weights X i y * U (take i X) y) + p X * draw (b X) (U X).

Lemma weights_rcons x z i y : weights (rcons x z) i y = scale x z * book (size x) (weights x) (rest x) i y.
Proof. by rewrite /weights rev_rcons /= revK size_rev. Qed.
Lemma left_ge0 x z : 0 <= left_of x z. Proof. by rewrite le_maxr lexx orbT. Qed.
Lemma massE x : mass x = 1 - share (b x) (s x) (p x). Proof. by rewrite -underE ?row_sum. Qed.
Lemma mass_ge0 x : 0 <= mass x. Proof. by apply: sumV_ge0 => z; apply: left_ge0. Qed.
Lemma mass_le1 x : mass x <= 1.
Proof. by rewrite massE ler_subl_addr ler_addl; apply: sumV_ge0 => y; rewrite le_minr row_ge0 mulr_ge0 ?row_ge0 ?p_of_ge0. Qed.
Lemma left_none x z : s x z = 0 -> left_of x z = 0.
Proof. by move=> e; rewrite /less e max_r // sub0r oppr_le0 mulr_ge0 ?row_ge0 ?p_of_ge0. Qed.
Lemma over_draft x z (t : R) : s x z * (t / s x z) = if s x z == 0 then 0 else t.
Proof. by case: eqVneq => [->|ne]; rewrite ?mul0r // mulrCA mulfV // mulr1. Qed.
Lemma scale_ge0 x z : 0 <= scale x z.
Proof. by rewrite /scale; case: ifP => _; rewrite ?ler01 // !divr_ge0 ?left_ge0 ?mass_ge0 ?row_ge0. Qed.
Lemma scale_sum x : sumV (fun z => s x z * scale x z) = 1.
Proof.
rewrite /scale; have [_|ne] := boolP (mass x == 0); first by rewrite sumVZr row_sum mulr1.
rewrite -[RHS](mulfV ne) -sumVZr; apply: sumV_eq => z; rewrite over_draft.
by case: eqVneq => // e; rewrite left_none ?mul0r.
Qed.
Lemma weights_ge0 x i y : (i < size x)%N -> 0 <= weights x i y.
Proof.
elim/last_ind: x => // x z IH; rewrite size_rcons ltnS => le; rewrite weights_rcons mulr_ge0 ?scale_ge0 // /book.
by case: eqVneq => [e|ne]; [exact: over_ge0 | rewrite IH // ltn_neqAle ne].
Qed.
(* The weights add up to 1 wherever a draft may come. *)
Lemma weights_sum x : joint Ms c x != 0 -> booked (size x) (weights x) + p x = 1.
Proof.
elim/last_ind: x => [|x z IH]; first by rewrite /booked big_ord0 add0r.
rewrite joint_rcons mulf_eq0 negb_or => /andP[/IH e nz].
rewrite size_rcons (booked_eq (fun i y _ => weights_rcons x z i y)) bookedZ booked_book -/(excess _ _ _) excessE ?row_sum //.
have -> : booked (size x) (weights x) + (p x - share (b x) (s x) (p x)) = mass x by rewrite massE -e; ring.
have -> : scale x z * mass x = left_of x z / s x z.
  rewrite /scale; case: eqVneq => [e0|ne]; last by rewrite mulrAC divfK.
  by rewrite e0 mulr0 (sumV_eq0 (left_ge0 x) e0) mul0r.
rewrite p_of_rcons /next_p /less.
have [le|lt] := leP (p x * b x z / s x z) 1; last first.
  by rewrite max_r ?mul0r ?add0r // subr_le0 ltW //; rewrite ltr_pdivl_mulr ?mul1r // lt0r nz row_ge0 in lt.
rewrite ler_pdivr_mulr ?mul1r ?lt0r ?nz ?row_ge0 // in le; rewrite max_l ?subr_ge0 // mulrBl divff //; ring.
Qed.

(* Its law is block verification's. *)
Lemma weights_mean (A : seq V -> V -> R) x : sumV (fun z => s x z * booked (size (rcons x z)) (fun i y => weights (rcons x z) i y * A (take i (rcons x z)) y))
  = booked (size x) (fun i y => weights x i y * A (take i x) y) + (p x - share (b x) (s x) (p x)) * draw (residual (b x) (s x) (p x)) (A x).
Proof.
rewrite [_ * draw _ _]mulrC residualE //.
rewrite -[RHS]mul1r -(scale_sum x) -sumVZr; apply: sumV_eq => z; rewrite -mulrA; congr (_ * _).
rewrite size_rcons -booked_book -bookedZ; apply: booked_eq => i y; rewrite ltnS => le.
rewrite weights_rcons -mulrA; congr (_ * _); rewrite /book -cats1.
case: eqVneq le => [-> _|ne le]; first by rewrite take_size_cat.
by rewrite takel_cat.
Qed.
Lemma monte_carlo_held U n x : (size x + n)%N = gamma ->
  gen Ms n (c ++ x) (fun X => monte_carlo (x ++ X) U)
  = booked (size x) (fun i y => weights x i y * U (take i x) y)
    + held Ms c pred0 p (fun k => draw (row_of Mb Ms gamma c pred0 p k) (U k)) n x.
Proof.
have row k : draw (row_of Mb Ms gamma c pred0 p k) (U k)
    = draw (if final gamma pred0 k then b k else residual (b k) (s k) (p k)) (U k).
  by apply: sumV_eq => y; rewrite row_block; case: ifP.
elim: n x => [|n IH] x hn /=.
  by rewrite cats0 /monte_carlo row /final -hn addn0 leqnn.
rewrite row {1}/final orbF leqNgt -[X in (_ < X)%N]hn addnS ltnS leq_addr /= later_share.
rewrite addrCA -weights_mean -sumVD; apply: sumV_eq => z; rewrite -mulrDr; congr (_ * _).
have hn' : (size (rcons x z) + n)%N = gamma by rewrite size_rcons addSnnS.
by rewrite addrC -(IH _ hn') rcons_cat; apply: gen_eq => X _; rewrite cat_rcons.
Qed.
Theorem monte_carlo_block U : gen Ms gamma c (fun X => monte_carlo X U) = gen Ms gamma c (fun X => block_verify Mb Ms c X U).
Proof.
have := @monte_carlo_held U gamma [::] (add0n gamma); rewrite cats0 /booked big_ord0 add0r => ->.
have ple : forall x, ~~ final gamma pred0 x -> later Ms c p x <= p x := q_later (fun x y _ => p_of_le Mb Ms c x y).
rewrite -(held_worth (erefl : p [::] = 1) (p_of_range Mb Ms c) ple) -sub_verify_worth.
have <- := @block_loop_sub _ _ Mb Ms gamma c pred0 U gamma [::] [::]; [|by []|by left].
by rewrite draft_gen cats0.
Qed.
Corollary monte_carlo_fair : fair Mb Ms gamma c monte_carlo.
Proof. by move=> U h; rewrite -(@theorem_1_fair _ _ Mb Ms gamma c U h); apply: monte_carlo_block. Qed.

Variables (u o lambda kappa : R) (d : nat) (B S : seq V -> V -> R).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1) (o0 : 0 <= o) (o1 : o < 1) (d1 : growth u d < 1).
Hypotheses (Bb : forall x y, rel o (b x y) (B x y)) (Ss : forall x y, rel o (s x y) (S x y)).
Notation rounds := (rounds u).
Variables (P whole : seq V -> R) (w v T last : seq V -> V -> R) (L drawn : seq V -> nat -> V -> R).
(* The standard model: survivals P, what is left of the target and of the draft, what scales the weights, the weights L. *)
Definition scales_given x : Prop := exists D, within u d (sumV (v x)) D /\
  forall z, if D == 0 then T x z = 1 else exists t, rounds (v x z / D) t /\ rounds (t / S x z) (T x z).
Definition weights_computed : Prop := forall x z i y, (i <= size x)%N ->
  rounds (T x z * book (size x) (L x) (w x) i y) (L (rcons x z) i y).
Hypotheses (Pc : survivals_given u B S P) (wc : forall x, both_weights_given u B S P w v x).
Hypotheses (Tc : forall x, scales_given x) (Lc : weights_computed).
Hypotheses (last0 : forall x y, 0 <= last x y) (last1 : forall x, sumV (last x) = 1).
Hypothesis last_near : forall x, exists r : V -> R,
  [/\ sumV r = 1, forall y, 0 <= r y, forall y, r y * sumV (B x) = B x y & total_variation r (last x) <= lambda].
(* The draw among all weights: within kappa of their shares, as a sum of absolute differences. *)
Hypothesis drawn_near : forall x, exists (r : nat -> V -> R) (k : R),
  [/\ booked (size x) r + k = 1, (forall i y, 0 <= r i y) /\ 0 <= k,
      forall i y, (i < size x)%N -> r i y * (booked (size x) (L x) + P x) = L x i y,
      k * (booked (size x) (L x) + P x) = P x &
      booked (size x) (fun i y => `|drawn x i y - r i y|) + `|whole x - k| <= kappa].
Definition monte_carlo_drawn X (U : seq V -> V -> R) : R :=
  booked (size X) (fun i y => drawn X i y * U (take i X) y) + whole X * draw (last X) (U X).

Fixpoint survival_off n : R := if n is n'.+1 then survival_error u o (survival_off n') else 0.
Definition quotient_error (e : R) : R := e / (1 - e).
Definition scale_off : R := both (both (both (quotient_error (growth u d)) u) (quotient_error o)) u.
Definition scaled_off : R := both u scale_off.
Definition booked_cost n : R := weights_cost u o (survival_off n).
Fixpoint weights_off n : R := if n is n'.+1
  then (1 + scaled_off) * (weights_off n' + booked_cost n') + scaled_off + 2%:R * booked_cost n' else 0.

Let io0 : 0 <= quotient_error o. Proof. by rewrite divr_ge0 // subr_ge0 ltW. Qed.
Let ig0 : 0 <= quotient_error (growth u d). Proof. by rewrite divr_ge0 ?growth_ge0 // subr_ge0 ltW. Qed.
Lemma scale_off_ge0 : 0 <= scale_off. Proof. by do 3 apply: both_ge0 => //. Qed.
Lemma survival_off_ge0 n : 0 <= survival_off n. Proof. by elim: n => //= n IH; apply: survival_error_ge0. Qed.
Lemma survival_near_off x : rel (survival_off (size x)) (p x) (P x) /\ 0 <= P x.
Proof.
have [P1 Ps] := Pc; elim/last_ind: x => [|x y [IH P0]]; first by rewrite P1 /p_of /= /rel subrr normr0 mul0r ler01.
have [r [t [hr ht ->]]] := Ps x y; have [h t0] := ratio_here u0 u1 o0 o1 (survival_off_ge0 _) (row_ge0 Mb _) (row_ge0 Ms _) (Bb x) (Ss x) (p_of_ge0 Mb Ms c x) P0 IH hr ht.
rewrite size_rcons p_of_rcons le_minr t0 ler01; split=> //; apply: rel_min => //.
  exact: survival_error_ge0 (survival_off_ge0 _).
by rewrite divr_ge0 ?mulr_ge0 ?row_ge0 ?p_of_ge0.
Qed.
Lemma booked_near x : sumV (fun y => `|w x y - rest x y|) <= booked_cost (size x)
  /\ sumV (fun y => `|v x y - left_of x y|) <= booked_cost (size x).
Proof.
have [Pr P0] := survival_near_off x; have p0 := p_of_ge0 Mb Ms c x; have k0 := survival_off_ge0 (size x).
have [z [e [f we]]] := wc x; split.
  apply: le_trans (weights_cost_ge u0 o0 k0 (row_ge0 Mb _) (row_sum Mb _) (row_ge0 Ms _) (row_sum Ms _) (p_of_range Mb Ms c x)).
  by apply: sumV_le => y; have [hz he -> _ _] := we y;
    exact: (weight_here u0 u1 o0 k0 (row_ge0 Mb _) (row_ge0 Ms _) (Bb x) (Ss x) p0 Pr hz he).
apply: le_trans (lesses_cost_ge u0 o0 k0 (row_ge0 Mb _) (row_sum Mb _) (row_ge0 Ms _) (row_sum Ms _) (p_of_range Mb Ms c x)).
by apply: sumV_le => y; have [hz _ _ hf ->] := we y;
  exact: (less_here u0 u1 o0 k0 (row_ge0 Mb _) (row_ge0 Ms _) (Bb x) (Ss x) p0 Pr hz hf).
Qed.
Lemma booked_cost_ge0 n : 0 <= booked_cost n.
Proof. exact: (weights_cost_ge0 u0 o0 (survival_off_ge0 n)). Qed.
Lemma mass_scale x z : mass x * (s x z * scale x z) = left_of x z.
Proof.
rewrite /scale; case: eqVneq => [e|ne]; first by rewrite e mul0r (sumV_eq0 (left_ge0 x) e).
rewrite over_draft; case: eqVneq => [e|_]; first by rewrite mulr0 left_none.
by rewrite mulrCA mulfV // mulr1.
Qed.
Lemma v_ge0 x z : 0 <= v x z.
Proof. by have [? [? [f we]]] := wc x; have [_ _ _ _ ->] := we z; rewrite le_maxr lexx orbT. Qed.
(* What is left of the draft may be as small as its error: then its direction is wrong, but it is a row. *)
Lemma some_row x : exists r : V -> R, [/\ forall z, 0 <= r z, sumV r = 1,
  forall z, s x z * `|T x z - r z / s x z| <= scale_off * r z, forall z, 0 <= T x z &
  sumV (fun z => `|mass x * r z - left_of x z|) <= 2%:R * booked_cost (size x)].
Proof.
have [_ vn] := booked_near x; have [D [Dw hT]] := Tc x; have V0 : 0 <= sumV (v x) := sumV_ge0 (v_ge0 x).
have Vm : `|sumV (v x) - mass x| <= booked_cost (size x) by apply: le_trans vn; rewrite -sumVB; apply: sumV_norm.
have [D0|nD] := eqVneq D 0.
  have Vz : sumV (v x) = 0.
    apply/eqP; rewrite eq_le V0 andbT; move: Dw; rewrite /within D0 sub0r normrN ger0_norm // => le.
    by rewrite -(ler_pmul2l (_ : 0 < 1 - growth u d)) ?subr_gt0 // mulr0 mulrBl mul1r subr_le0.
  have T1 z : T x z = 1 by have := hT z; rewrite D0 eqxx.
  exists (s x); split=> [z||z|z|]; rewrite ?row_ge0 ?row_sum ?T1 ?ler01 //.
    have [->|ne] := eqVneq (s x z) 0; first by rewrite mul0r mulr0.
    by rewrite divff // subrr normr0 mulr0 mulr_ge0 ?row_ge0 ?scale_off_ge0.
  rewrite Vz sub0r normrN (ger0_norm (mass_ge0 x)) in Vm.
  apply: le_trans (_ : sumV (fun z => mass x * s x z + left_of x z) <= _).
    apply: sumV_le => z; apply: le_trans (ler_norm_sub _ _) _.
    by rewrite (ger0_norm (left_ge0 x z)) ger0_norm // mulr_ge0 ?row_ge0 ?mass_ge0.
  by rewrite sumVD sumVZ row_sum mulr1 mulr_natl mulr2n; apply: ler_add.
have nV : sumV (v x) != 0.
  by apply: contra nD => /eqP e; move: Dw; rewrite /within e mulr0 subr0 normr_le0.
pose r z := v x z / sumV (v x); have r0 z : 0 <= r z by rewrite divr_ge0 ?v_ge0.
have r1 : sumV r = 1 by rewrite sumVZr mulfV.
have Tr z : rel scale_off (r z / s x z) (T x z).
  have := hT z; rewrite (negPf nD) => -[t [ht hTz]].
  have q : rel (quotient_error (growth u d)) (r z) (v x z / D).
    rewrite /rel /r -mulrBr normrM (ger0_norm (v_ge0 x z)) mulrCA; apply: ler_wpmul2l; first exact: v_ge0.
    exact: (rel_inv (growth_ge0 u0 d) d1 V0 Dw).
  have q2 := rel_rounds u0 ig0 (r0 z) q ht.
  have i0 : 0 <= (s x z)^-1 by rewrite invr_ge0 row_ge0.
  have q3 := rel_mul (both_ge0 ig0 u0) (r0 z) i0 q2 (rel_inv o0 o1 (row_ge0 Ms _ z) (Ss x z)).
  have q4 := rel_rounds u0 (both_ge0 (both_ge0 ig0 u0) io0) (mulr_ge0 (r0 z) i0) q3 hTz.
  exact: q4.
exists r; split=> // [z|z|].
- apply: le_trans (ler_wpmul2l (row_ge0 Ms _ z) (Tr z)) _; rewrite mulrCA; apply: ler_wpmul2l; first exact: scale_off_ge0.
  by rewrite over_draft; case: ifP.
- have := hT z; rewrite (negPf nD) => -[t [ht hTz]].
  have S0 : 0 <= S x z := given_ge0 o1 (row_ge0 Ms _ z) (Ss x z).
  have t0 : 0 <= t by apply: rounds_ge0 ht => //; have [_ Vh] := rel_range Dw; rewrite divr_ge0 ?v_ge0 //; have [lo _] := rel_range Dw; apply: le_trans lo; rewrite mulr_ge0 // subr_ge0 ltW.
  by apply: rounds_ge0 hTz => //; rewrite divr_ge0.
apply: le_trans (_ : sumV (fun z => `|v x z - left_of x z| + r z * `|sumV (v x) - mass x|) <= _).
  apply: sumV_le => z; have -> : mass x * r z - left_of x z = (v x z - left_of x z) - r z * (sumV (v x) - mass x).
    by have e : v x z = r z * sumV (v x); [rewrite divfK | rewrite [in RHS]e; ring].
  by apply: le_trans (ler_norm_sub _ _) _; rewrite normrM (ger0_norm (r0 z)).
by rewrite sumVD sumVZr r1 mul1r mulr_natl mulr2n; apply: ler_add.
Qed.
Lemma scale_near x : [/\ forall z, 0 <= T x z, sumV (fun z => s x z * T x z) <= 1 + scale_off &
  mass x * sumV (fun z => s x z * `|T x z - scale x z|) <= scale_off * mass x + 2%:R * booked_cost (size x)].
Proof.
have [r [r0 r1 rT T0 rm]] := some_row x; split=> //.
  apply: le_trans (_ : sumV (fun z => r z + scale_off * r z) <= _); last by rewrite sumVD sumVZ r1 mulr1.
  apply: sumV_le => z.
  have -> : s x z * T x z = s x z * (r z / s x z) + s x z * (T x z - r z / s x z) by ring.
  apply: ler_add; first by rewrite over_draft; case: ifP.
  by apply: le_trans (rT z); apply: ler_wpmul2l; [exact: row_ge0 | exact: ler_norm].
apply: le_trans (_ : sumV (fun z => scale_off * mass x * r z + `|mass x * r z - left_of x z|) <= _); last first.
  by rewrite sumVD sumVZ r1 mulr1 ler_add2l.
rewrite -sumVZ; apply: sumV_le => z.
have m0 := mass_ge0 x; have sz := row_ge0 Ms (c ++ x) z.
have -> : mass x * (s x z * `|T x z - scale x z|) = `|mass x * (s x z * (T x z - r z / s x z)) + (mass x * (s x z * (r z / s x z)) - left_of x z)|.
  by rewrite -{1}(ger0_norm m0) -{1}(ger0_norm sz) -!normrM -(mass_scale x z); congr `|_|; ring.
apply: le_trans (ler_norm_add _ _) _; apply: ler_add.
  by rewrite !normrM (ger0_norm m0) (ger0_norm sz) [scale_off * _]mulrC -[X in _ <= X]mulrA; apply: ler_wpmul2l.
rewrite over_draft; case: eqVneq => // e; by rewrite left_none // mulr0 subrr normr0 normr_ge0.
Qed.

(* The mean of what the weights of all outputs are off, over what is drafted. *)
Definition off x : R := booked (size x) (fun i y => `|L x i y - weights x i y|).
Lemma scaled_near (t t' l l' k : R) : 0 <= t -> 0 <= l -> rounds (t * l') k ->
  `|k - t' * l| <= (1 + u) * t * `|l' - l| + (u * t + `|t - t'|) * l.
Proof.
move=> t0 l0 h; have -> : k - t' * l = (k - t * l') + (t * (l' - l) + (t - t') * l) by ring.
have big : `|l'| <= `|l' - l| + l.
  by rewrite -{1}[l'](subrK l); apply: le_trans (ler_norm_add _ _) _; rewrite (ger0_norm l0).
apply: le_trans (ler_norm_add _ _) _.
have -> : (1 + u) * t * `|l' - l| + (u * t + `|t - t'|) * l = u * (t * (`|l' - l| + l)) + (t * `|l' - l| + `|t - t'| * l) by ring.
apply: ler_add.
  apply: le_trans h _; apply: ler_wpmul2l => //; rewrite normrM (ger0_norm t0); exact: ler_wpmul2l.
by apply: le_trans (ler_norm_add _ _) _; rewrite !normrM (ger0_norm t0) (ger0_norm l0).
Qed.
Lemma off_rcons x z : joint Ms c x != 0 -> off (rcons x z)
  <= (1 + u) * T x z * (off x + booked_cost (size x)) + (u * T x z + `|T x z - scale x z|) * mass x.
Proof.
move=> /weights_sum e; have [T0 _ _] := scale_near x; have [wn _] := booked_near x.
pose near := book (size x) (fun i y => `|L x i y - weights x i y|) (fun y => `|w x y - rest x y|).
apply: le_trans (_ : booked (size x).+1 (fun i y => (1 + u) * T x z * near i y
    + (u * T x z + `|T x z - scale x z|) * book (size x) (weights x) (rest x) i y) <= _).
  rewrite /off size_rcons; apply: booked_le => i y; rewrite ltnS => le; rewrite weights_rcons.
  have -> : near i y = `|book (size x) (L x) (w x) i y - book (size x) (weights x) (rest x) i y|.
    by rewrite /near /book; case: ifP.
  apply: scaled_near => //; last exact: Lc.
  rewrite /book; case: eqVneq => [_|ne]; first exact: over_ge0.
  by rewrite weights_ge0 // ltn_neqAle ne.
rewrite bookedD !bookedZ !booked_book; apply: ler_add.
  apply: ler_wpmul2l; first by rewrite mulr_ge0 // addr_ge0 ?ler01.
  by rewrite ler_add2l.
apply: ler_wpmul2l; first by rewrite addr_ge0 // mulr_ge0.
rewrite -/(excess _ _ _) excessE ?row_sum //; have -> // : booked (size x) (weights x) + (p x - share (b x) (s x) (p x)) = mass x.
by rewrite massE -e; ring.
Qed.
Lemma off_mean x : joint Ms c x != 0 -> sumV (fun z => s x z * off (rcons x z))
  <= (1 + scaled_off) * off x + ((1 + scaled_off) * booked_cost (size x) + scaled_off + 2%:R * booked_cost (size x)).
Proof.
move=> j; have [T0 Ts Tn] := scale_near x; set e := off x + booked_cost (size x); set k := booked_cost (size x) in e Tn *.
have off0 : 0 <= off x by apply: booked_ge0.
have e0 : 0 <= e by rewrite addr_ge0 // booked_cost_ge0.
have m0 := mass_ge0 x; have m1 := mass_le1 x; have f0 : 0 <= 1 + u by rewrite addr_ge0 ?ler01.
apply: le_trans (_ : sumV (fun z => ((1 + u) * e + u * mass x) * (s x z * T x z) + mass x * (s x z * `|T x z - scale x z|)) <= _).
  apply: sumV_le => z; have -> : ((1 + u) * e + u * mass x) * (s x z * T x z) + mass x * (s x z * `|T x z - scale x z|)
    = s x z * ((1 + u) * T x z * e + (u * T x z + `|T x z - scale x z|) * mass x) by ring.
  by apply: ler_wpmul2l; [exact: row_ge0 | exact: off_rcons].
rewrite sumVD !sumVZ.
apply: le_trans (_ : ((1 + u) * e + u * mass x) * (1 + scale_off) + (scale_off * mass x + 2%:R * k) <= _).
  by apply: ler_add => //; apply: ler_wpmul2l => //; apply: addr_ge0; apply: mulr_ge0.
have -> : ((1 + u) * e + u * mass x) * (1 + scale_off) + (scale_off * mass x + 2%:R * k)
  = (1 + scaled_off) * e + (scaled_off * mass x + 2%:R * k) by rewrite /scaled_off /both; ring.
have sm : scaled_off * mass x <= scaled_off by apply: ler_pimulr => //; exact: both_ge0 u0 scale_off_ge0.
have -> : (1 + scaled_off) * off x + ((1 + scaled_off) * k + scaled_off + 2%:R * k) = (1 + scaled_off) * e + (scaled_off + 2%:R * k).
  by rewrite /e; ring.
by rewrite ler_add2l ler_add2r.
Qed.
Lemma off_level n : gen Ms n c off <= weights_off n.
Proof.
elim: n => [|n IH]; first by rewrite /= /off /booked big_ord0.
rewrite gen_last; apply: le_trans (_ : gen Ms n c (fun x => (1 + scaled_off) * off x + ((1 + scaled_off) * booked_cost n + scaled_off + 2%:R * booked_cost n)) <= _).
  by apply: gen_le_drafted => x hx j; have := off_mean j; rewrite hx.
have -> : weights_off n.+1 = (1 + scaled_off) * weights_off n + ((1 + scaled_off) * booked_cost n + scaled_off + 2%:R * booked_cost n).
  by rewrite /=; ring.
rewrite gen_affine ler_add2r; apply: ler_wpmul2l => //; apply: addr_ge0; first exact: ler01.
exact: both_ge0 u0 scale_off_ge0.
Qed.

(* The bound: weights, the last survival, the draw among them, the last token. *)
Theorem tree_monte_carlo_rounding (U : seq V -> V -> R) : (forall x y, 0 <= U x y <= 1) ->
  `|gen Ms gamma c (fun X => monte_carlo_drawn X U) - gen Ms gamma c (fun X => block_verify Mb Ms c X U)|
  <= weights_off gamma + survival_off gamma + kappa + o + lambda.
Proof.
move=> U01; rewrite -monte_carlo_block; apply: le_trans (gen_norm_le _ _ _ _ _) _.
pose rest' := survival_off gamma + kappa + o + lambda.
apply: le_trans (_ : gen Ms gamma c (fun x => 1 * off x + rest') <= _); last first.
  by rewrite gen_affine mul1r /rest' !addrA !ler_add2r off_level.
apply: gen_le_drafted => X hX j; have e := weights_sum j.
have [r [k [r1 [r0 k0] rw kw near]]] := drawn_near X; have [g [g1 g0 gB tv]] := last_near X.
set l := draw (last X) (U X); have l01 : 0 <= l <= 1.
  apply/andP; split; first by apply: sumV_ge0 => y; rewrite mulr_ge0 //; have /andP[] := U01 X y.
  by rewrite -(last1 X); apply: sumV_le => y; rewrite ler_pimulr //; have /andP[] := U01 X y.
pose A (f : nat -> V -> R) := booked (size X) (fun i y => f i y * U (take i X) y).
have -> : monte_carlo_drawn X U - monte_carlo X U
  = ((A (drawn X) - A r) + (whole X - k) * l) + ((A r + k * l - (A (weights X) + p X * l)) + p X * (l - draw (b X) (U X))).
  rewrite /monte_carlo_drawn /monte_carlo /A -/l; ring.
have a1 : `|(A (drawn X) - A r) + (whole X - k) * l| <= kappa.
  apply: le_trans near; apply: le_trans (ler_norm_add _ _) _; apply: ler_add; last first.
    by rewrite normrM; have /andP[l0 l1] := l01; rewrite (ger0_norm l0) ler_pimulr.
  rewrite /A -bookedB; apply: le_trans (booked_norm _ _) _; apply: booked_le => i y _.
  by rewrite -mulrBl normrM; have /andP[v0 v1] := U01 (take i X) y; rewrite (ger0_norm v0) ler_pimulr.
have [Pr _] := survival_near_off X; have /andP[p0 p1] := p_of_range Mb Ms c X.
have a2 : `|A r + k * l - (A (weights X) + p X * l)| <= off X + survival_off gamma.
  apply: le_trans (draw_near (w' := L X) (k' := P X) e r1 r0 k0 rw kw (fun i => U01 (take i X)) l01) _.
  rewrite ler_add2l; apply: le_trans Pr _; rewrite hX; apply: ler_pimulr => //; exact: survival_off_ge0.
have a3 : `|p X * (l - draw (b X) (U X))| <= o + lambda.
  rewrite normrM (ger0_norm p0); apply: le_trans (ler_pimull (normr_ge0 _) p1) _.
  apply: le_trans (tv_bounds (row_sum Mb _) (last1 X) (U01 X)) _; apply: le_trans (tv_triangle _ g _) _.
  by apply: ler_add => //; apply: (given_row_near Bb g1 g0 gB).
apply: le_trans (ler_norm_add _ _) _; apply: le_trans (ler_add a1 (le_trans (ler_norm_add _ _) (ler_add a2 a3))) _.
have -> : 1 * off X + rest' = kappa + (off X + survival_off gamma + (o + lambda)) by rewrite /rest'; ring.
exact: lexx.
Qed.
End MonteCarlo.

(* Block verification as a stream (Appendix A) in floating point.  An outcome so far that is replaced otherwise counts as
   often as it would be kept by what follows: that is the sum of the weights of its step, so that none of them is divided by
   what may be small.  What is assumed is the standard model of Rounding.v. *)

(* Numbers of the tokens, and of one thing more. *)
Section OneMore.
Variables (V : vocabulary) (R : realFieldType).
Lemma half_near (f A : V -> R) (f0 A0 : R) : sumV f + f0 = 0 -> (forall y, 0 <= A y <= 1) -> 0 <= A0 <= 1 ->
  2%:R * `|sumV (fun y => f y * A y) + f0 * A0| <= sumV (fun y => `|f y|) + `|f0|.
Proof.
move=> f1 A01 A01'; have hh : 2%:R * 2%:R^-1 = 1 :> R by rewrite mulfV // pnatr_eq0.
have -> : sumV (fun y => f y * A y) + f0 * A0 = sumV (fun y => f y * (A y - 2%:R^-1)) + f0 * (A0 - 2%:R^-1).
  rewrite (sumV_eq (f := fun y => f y * (A y - _)) (g := fun y => f y * A y - f y * 2%:R^-1)) => [|y]; last by ring.
  by rewrite sumVB sumVZr -[sumV f](addrK f0) f1; ring.
have term (x t : R) : 0 <= t <= 1 -> `|x * (t - 2%:R^-1)| <= `|x| * 2%:R^-1.
  by move=> t01; rewrite normrM; apply: ler_wpmul2l => //; exact: (half_range t01).
apply: le_trans (_ : 2%:R * ((sumV (fun y => `|f y|) + `|f0|) * 2%:R^-1) <= _); last by rewrite mulrCA hh mulr1.
apply: ler_wpmul2l; first exact: ler0n.
apply: le_trans (ler_norm_add _ _) _; rewrite mulrDl; apply: ler_add; last exact: term.
by apply: le_trans (sumV_norm _) _; rewrite -sumVZr; apply: sumV_le => y; apply: term.
Qed.
(* A draw by the weights w and w0, times the sum of the exact ones. *)
Lemma shares_near (a w r A : V -> R) (a0 w0 r0 A0 : R) : 0 <= sumV a + a0 -> sumV r + r0 = 1 -> (forall y, 0 <= r y) -> 0 <= r0 ->
  (forall y, r y * (sumV w + w0) = w y) -> r0 * (sumV w + w0) = w0 -> (forall y, 0 <= A y <= 1) -> 0 <= A0 <= 1 ->
  `|(sumV a + a0) * (sumV (fun y => r y * A y) + r0 * A0) - (sumV (fun y => a y * A y) + a0 * A0)|
  <= sumV (fun y => `|w y - a y|) + `|w0 - a0|.
Proof.
move=> D0 r1 rp r0p rw rw0 A01 A01'; set D := sumV a + a0 in D0 *; set T := sumV w + w0 in rw rw0.
set E := sumV (fun y => `|w y - a y|) + _; have TD : `|D - T| <= E.
  have -> : D - T = - (sumV (fun y => w y - a y) + (w0 - a0)) by rewrite /D /T sumVB; ring.
  by rewrite normrN; apply: le_trans (ler_norm_add _ _) _; rewrite ler_add2r; apply: sumV_norm.
have -> : D * (sumV (fun y => r y * A y) + r0 * A0) - (sumV (fun y => a y * A y) + a0 * A0)
  = sumV (fun y => (D * r y - a y) * A y) + (D * r0 - a0) * A0.
  rewrite (sumV_eq (f := fun y => (_ - _) * A y) (g := fun y => D * (r y * A y) - a y * A y)) => [|y]; last by ring.
  by rewrite sumVB sumVZ; ring.
have two : 0 < 2%:R :> R by rewrite ltr0n.
rewrite -(ler_pmul2l two); apply: le_trans (half_near _ A01 A01') _.
  by rewrite sumVB sumVZ -/D -[sumV r](addrK r0) r1 /D; ring.
have gap (t b x : R) : 0 <= t -> t * T = b -> `|D * t - x| <= `|D - T| * t + `|b - x|.
  move=> t0 tT; have -> : D * t - x = (D - T) * t + (b - x) by rewrite -tT; ring.
  by apply: le_trans (ler_norm_add _ _) _; rewrite normrM (ger0_norm t0).
apply: le_trans (_ : sumV (fun y => `|D - T| * r y + `|w y - a y|) + (`|D - T| * r0 + `|w0 - a0|) <= _).
  by apply: ler_add; [apply: sumV_le => y|]; apply: gap.
rewrite sumVD sumVZ addrACA -mulrDr r1 mulr1 mulr_natl mulr2n; exact: ler_add.
Qed.
End OneMore.

Section StreamRounding.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma : nat) (c : seq V).
Variables (u o kappa : R) (d : nat) (B S : seq V -> V -> R).
Hypotheses (u0 : 0 <= u) (u1 : u < 1) (o0 : 0 <= o) (o1 : o < 1) (kappa0 : 0 <= kappa).
Notation p := (p_of Mb Ms c).
Notation b x := (Mb (c ++ x)).
Notation s x := (Ms (c ++ x)).
Notation rounds := (Rounding.rounds u).
Hypotheses (Bb : forall x y, rel o (b x y) (B x y)) (Ss : forall x y, rel o (s x y) (S x y)).
Implicit Types (x : seq V) (a : R).
Variables (P stays : seq V -> R) (w drawn : seq V -> V -> R).
Let u1' : u <= 1. Proof. exact: ltW. Qed.
(* What follows x, with weights w, replaces the outcome so far, with weight v = 1 - p, or does not; computed, the step is
   skipped where ((sum of w) + 1) - p is 0.  The draw is within kappa of the weights. *)
Definition step_computed x : Prop := exists v e a n,
  [/\ rounds (1 - P x) v, 0 <= e /\ within u d (sumV (w x)) e, rounds (e + 1) a, rounds (a - P x) n &
      if n == 0 then (forall y, drawn x y = 0) /\ stays x = 1
      else exists (r : V -> R) r0, [/\ sumV r + r0 = 1, (forall y, 0 <= r y) /\ 0 <= r0,
        forall y, r y * (sumV (w x) + v) = w x y, r0 * (sumV (w x) + v) = v &
        sumV (fun y => `|drawn x y - r y|) + `|stays x - r0| <= 2%:R * kappa]].
Definition weights_here x : Prop :=
  if (size x < gamma)%N then weights_given u B S P w x else forall y, rounds (P x * B x y) (w x y).
Hypotheses (Pc : survivals_given u B S P) (wc : forall x, weights_here x) (Sc : forall x, step_computed x).
Hypotheses (drawn0 : forall x y, 0 <= drawn x y) (stays0 : forall x, 0 <= stays x).
Hypothesis drawn1 : forall x, sumV (drawn x) + stays x = 1.
Variable A : seq V -> V -> R.
Hypothesis A01 : forall x y, 0 <= A x y <= 1.
Definition outcome x a : R := sumV (fun y => drawn x y * A x y) + stays x * a.
Fixpoint stream_computed x a (X : seq V) : R :=
  if X is y :: X' then stream_computed (rcons x y) (outcome x a) X' else outcome x a.
(* The weights of a step, exact; what a step costs. *)
Definition weight x y : R := if (size x < gamma)%N then over (b x) (s x) (p x) y else p x * b x y.
Definition stream_cost (k : R) : R := sum_cost u o d k + Num.max (both k u) (u / (1 - u)).
Notation k x := (survival_off u o (size x)).

Lemma outcome_range x a : 0 <= a <= 1 -> 0 <= outcome x a <= 1.
Proof.
move=> /andP[a0 a1]; rewrite /outcome; apply/andP; split.
  by apply: addr_ge0; [apply: sumV_ge0 => y; have /andP[] := A01 x y => *; apply: mulr_ge0 | apply: mulr_ge0].
rewrite -(drawn1 x); apply: ler_add; last exact: ler_pimulr.
by apply: sumV_le => y; apply: ler_pimulr => //; have /andP[] := A01 x y.
Qed.
Lemma weight_ge0 x y : 0 <= weight x y.
Proof. by rewrite /weight; case: ifP => _; [apply: over_ge0 | rewrite mulr_ge0 ?row_ge0 ?p_of_ge0]. Qed.
Lemma weight_all x : sumV (weight x) <= p x.
Proof.
rewrite /weight; case: (size x < gamma)%N; last by rewrite sumVZ row_sum mulr1.
rewrite -/(excess _ _ _) excessE ?row_sum // ler_subl_addr ler_addl.
by apply: sumV_ge0 => y; rewrite le_minr row_ge0 mulr_ge0 ?row_ge0 ?p_of_ge0.
Qed.
Lemma k_ge0 x : 0 <= k x. Proof. exact: survival_off_ge0. Qed.
Lemma P_near x : rel (k x) (p x) (P x) /\ 0 <= P x <= 1.
Proof.
have [Pr P0] := survival_near_off u0 u1' o0 o1 Bb Ss Pc x; split=> //; rewrite P0 /=.
have [P1 Ps] := Pc; case/lastP: {Pr P0} x => [|x y]; first by rewrite P1.
by have [r [t [_ _ ->]]] := Ps x y; rewrite le_minl lexx orbT.
Qed.
Lemma w_near x : sumV (fun y => `|w x y - weight x y|) <= weights_cost u o (k x).
Proof.
have [Pr /andP[P0 _]] := P_near x; have p01 := p_of_range Mb Ms c x; have /andP[p0 p1] := p01.
have := wc x; rewrite /weights_here /weight; case: ifP => _ we.
  have [z [e {}we]] := we.
  apply: le_trans (weights_cost_ge u0 o0 (k_ge0 x) (row_ge0 Mb _) (row_sum Mb _) (row_ge0 Ms _) (row_sum Ms _) p01).
  by apply: sumV_le => y; have [hz he ->] := we y;
    exact: (weight_here u0 u1' o0 (k_ge0 x) (row_ge0 Mb _) (row_ge0 Ms _) (Bb x) (Ss x) p0 Pr hz he).
set W := weight_error u o (k x).
have W0 : 0 <= W by rewrite !both_ge0 // k_ge0.
apply: le_trans (_ : sumV (fun y => W * (p x * b x y)) <= _).
  apply: sumV_le => y; have pb0 : 0 <= p x * b x y by rewrite mulr_ge0 ?row_ge0.
  exact: (rel_rounds u0 (both_ge0 (k_ge0 x) o0) pb0 (rel_mul (k_ge0 x) p0 (row_ge0 Mb _ y) Pr (Bb x y)) (we y)).
rewrite !sumVZ row_sum mulr1; apply: le_trans (ler_pimulr W0 p1) _.
rewrite /weights_cost -/W mulrDl mul1r -[X in _ <= X]addrA; apply: le_trans (_ : W + o <= _); first by rewrite ler_addl.
by rewrite ler_addl addr_ge0 // mulr_ge0 // addr_ge0.
Qed.
Lemma step_near x a : 0 <= a <= 1 -> `|(sumV (weight x) + (1 - p x)) * outcome x a
    - (sumV (fun y => weight x y * A x y) + (1 - p x) * a)| <= stream_cost (k x) + kappa.
Proof.
move=> a01; have [Pr /andP[P0 P1]] := P_near x; have /andP[p0 p1] := p_of_range Mb Ms c x.
have [v [e [a' [n [hv [e0 ew] ha hn he]]]]] := Sc x; have wn := w_near x; have k0 := k_ge0 x.
have le1 := le_trans (weight_all x) p1; have W0 : 0 <= sumV (weight x) by apply: sumV_ge0 => y; apply: weight_ge0.
set W := sumV (fun y => `|w x y - weight x y|) in wn.
have Wp : 0 <= W by apply: sumV_ge0.
have eT : `|e - sumV (weight x)| <= sum_cost u o d (k x).
  by apply: le_trans (total_here u0 (lexx W) ew) _; exact: sum_cost_ge.
set T := sum_cost u o d (k x) in eT *; have WT : W <= T.
  rewrite /T /sum_cost; apply: (le_trans wn); rewrite ler_addl mulr_ge0 ?growth_ge0 //.
  by rewrite addr_ge0 ?ler01 // (le_trans Wp wn).
set D := sumV (weight x) + (1 - p x); have D0 : 0 <= D by rewrite addr_ge0 // subr_ge0.
have D1 : D <= 1 by rewrite /D addrCA ger_addl subr_le0 weight_all.
case: eqP he => [n0 [hd hs]|_ [r [r0 [r1 [rp r0p] rw rw0 near]]]].
  have -> : outcome x a = a by rewrite /outcome hs mul1r (sumV_eq (g := fun=> 0)) ?sumV0 ?add0r // => y; rewrite hd mul0r.
  have aP : a' = P x.
    apply/eqP; rewrite -subr_eq0 -normr_le0 -(pmulr_rle0 _ (_ : 0 < 1 - u)) ?subr_gt0 //.
    by move: hn; rewrite /Rounding.rounds n0 sub0r normrN mulrBl mul1r subr_le0.
  have eu : e <= u / (1 - u).
    rewrite ler_pdivl_mulr ?subr_gt0 //; have e1 : 0 <= e + 1 by rewrite addr_ge0 ?ler01.
    move: ha; rewrite aP /Rounding.rounds (ger0_norm e1) ler_norml => /andP[lo _].
    have : (1 - u) * (e + 1) <= 1 by rewrite mulrBl mul1r; apply: le_trans P1; move: lo; rewrite ler_subr_addr addrC.
    by rewrite mulrDr mulr1 [(1 - u) * e]mulrC -ler_subr_addr opprB addrCA subrr addr0.
  have -> : D * a - (sumV (fun y => weight x y * A x y) + (1 - p x) * a) = sumV (fun y => weight x y * (a - A x y)).
    rewrite [RHS](sumV_eq (g := fun y => weight x y * a - weight x y * A x y)) => [|y]; last by ring.
    by rewrite sumVB sumVZr /D; ring.
  apply: le_trans (_ : sumV (weight x) <= _).
    apply: le_trans (sumV_norm _) _; apply: sumV_le => y; rewrite normrM (ger0_norm (weight_ge0 x y)).
    by apply: ler_pimulr; [exact: weight_ge0 | exact: mix_gap].
  apply: le_trans (_ : T + u / (1 - u) <= _); last by rewrite -[X in X <= _]addr0 ler_add // ler_add2l le_maxr lexx orbT.
  by rewrite -[sumV _](subrK e) ler_add //; apply: le_trans (ler_norm _) _; rewrite distrC.
have vn : `|v - (1 - p x)| <= both (k x) u.
  have -> : v - (1 - p x) = (v - (1 - P x)) - (P x - p x) by ring.
  apply: le_trans (ler_norm_sub _ _) _; have Pk : `|P x - p x| <= k x by apply: le_trans Pr _; exact: ler_pimulr.
  have -> : both (k x) u = u * (1 + k x) + k x by rewrite /both; ring.
  apply: ler_add => //; apply: le_trans hv _; apply: ler_wpmul2l => //; rewrite ger0_norm ?subr_ge0 //.
  by apply: le_trans (_ : 1 <= _); [rewrite ler_subl_addr ler_addl | rewrite ler_addl].
set X := sumV (fun y => r y * A x y) + r0 * a.
have -> : D * outcome x a - (sumV (fun y => weight x y * A x y) + (1 - p x) * a)
  = (D * X - (sumV (fun y => weight x y * A x y) + (1 - p x) * a)) + D * (outcome x a - X) by ring.
apply: le_trans (ler_norm_add _ _) _; apply: ler_add.
  apply: le_trans (shares_near D0 r1 rp r0p rw rw0 (A01 x) a01) _; apply: ler_add => //.
  by apply: le_trans vn _; rewrite le_maxr lexx.
rewrite normrM (ger0_norm D0); apply: le_trans (ler_pimull (normr_ge0 _) D1) _.
have two : 0 < 2%:R :> R by rewrite ltr0n.
rewrite -(ler_pmul2l two); apply: le_trans near.
have -> : outcome x a - X = sumV (fun y => (drawn x y - r y) * A x y) + (stays x - r0) * a.
  by rewrite (sumV_eq (fun y => mulrBl _ _ _)) sumVB /outcome /X; ring.
apply: half_near => //; rewrite sumVB -[sumV (drawn x)](addrK (stays x)) drawn1 -[sumV r](addrK r0) r1; ring.
Qed.

Lemma stream_near n x a : (size x + n)%N = gamma -> 0 <= a <= 1 ->
  `|gen Ms n (c ++ x) (stream_computed x a) - gen Ms n (c ++ x) (stream Mb Ms c A x (p x) a)|
  <= \sum_(i < n.+1) (stream_cost (survival_off u o (size x + i)) + kappa).
Proof.
elim: n x a => [|n IH] x a hn a01; have p01 := p_of_range Mb Ms c x; have near := step_near x a01.
  have last : (size x < gamma)%N = false by rewrite -hn addn0 ltnn.
  rewrite big_ord_recl big_ord0 addr0 addn0 /=; move: near; rewrite /weight last sumVZ row_sum mulr1 addrCA subrr addr0 mul1r.
  exact.
have lt : (size x < gamma)%N by rewrite -hn addnS ltnS leq_addr.
have hn' y : (size (rcons x y) + n)%N = gamma by rewrite size_rcons addSnnS.
rewrite big_ord_recl addn0 (eq_bigr (fun i : 'I_n.+1 => stream_cost (survival_off u o ((size x).+1 + i)%N) + kappa)) => [|i _]; last first.
  by rewrite addSnnS.
set rest := \sum_(i < n.+1) _; set a' := outcome x a in near.
have a'01 : 0 <= a' <= 1 := outcome_range x a01.
pose f y := gen Ms n (c ++ rcons x y) (stream_computed (rcons x y) a').
pose g y := gen Ms n (c ++ rcons x y) (stream Mb Ms c A (rcons x y) (p (rcons x y)) a').
have gE y : g y = held_by Mb Ms c A n (rcons x y) (p (rcons x y)) + (1 - p (rcons x y)) * a'.
  by rewrite -(@stream_held _ _ Mb Ms gamma c A _ _ _ a' (hn' y) (p_of_range _ _ _ _)).
have both_steps : sumV (fun y => s x y * g y) - (held_by Mb Ms c A n.+1 x (p x) + (1 - p x) * a)
    = (sumV (weight x) + (1 - p x)) * a' - (sumV (fun y => weight x y * A x y) + (1 - p x) * a).
  rewrite (sumV_eq (g := fun y => s x y * (held_by Mb Ms c A n (rcons x y) (p (rcons x y)) + (1 - next_p (b x) (s x) (p x) y) * a'))) => [|y]; last first.
    by rewrite gE p_of_rcons.
  rewrite -spread ?row_sum ?p_of_ge0 //= [(p x - _) * _]mulrC residualE ?row_sum // /weight lt -/(excess _ _ _) excessE ?row_sum //.
  rewrite (sumV_eq (f := fun y => s x y * held_by Mb Ms c A n (rcons x y) (next_p _ _ _ y)) (g := fun y => s x y * held_by Mb Ms c A n (rcons x y) (p (rcons x y)))) => [|y]; last by rewrite p_of_rcons.
  ring.
rewrite (@stream_held _ _ Mb Ms gamma c A _ _ _ a hn p01); set h := held_by _ _ _ _ _ _ _ + _ in both_steps *.
have -> : gen Ms n.+1 (c ++ x) (stream_computed x a) - h = (sumV (fun y => s x y * g y) - h) + sumV (fun y => s x y * (f y - g y)).
  rewrite genS (sumV_eq (f := fun y => s x y * (f y - g y)) (g := fun y => s x y * f y - s x y * g y)) => [|y]; last by rewrite mulrBr.
  rewrite sumVB (sumV_eq (g := fun y => s x y * f y)) => [|y]; last by rewrite /f rcons_cat.
  ring.
apply: le_trans (ler_norm_add _ _) _; apply: ler_add; first by rewrite both_steps.
apply: le_trans (sumV_norm _) _; rewrite -[rest]mul1r -(row_sum Ms (c ++ x)) -sumVZr; apply: sumV_le => y.
rewrite normrM (ger0_norm (row_ge0 _ _ _)); apply: ler_wpmul2l; first exact: row_ge0.
by have := IH (rcons x y) a' (hn' y) a'01; rewrite size_rcons.
Qed.
(* a: what the outcome is worth that the stream begins with; it is surely replaced. *)
Theorem stream_rounding a : 0 <= a <= 1 ->
  `|gen Ms gamma c (stream_computed [::] a) - gen Ms gamma c (fun X => block_verify Mb Ms c X A)|
  <= \sum_(i < gamma.+1) (stream_cost (survival_off u o i) + kappa).
Proof. by move=> a01; rewrite -(@stream_law _ _ Mb Ms gamma c A a); have := @stream_near gamma [::] a (add0n gamma) a01; rewrite cats0. Qed.
End StreamRounding.
