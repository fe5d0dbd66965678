(* The last token looked up in a running sum that is computed: u is compared with thresholds h_k, the sums T_k
   divided by the last one.  Each addition rounds to nearest (summed), each threshold by the standard model
   (compared), the uniform is k / N. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum zify.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Models Precision Lattice Rounding BlockRounding.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

(* A row that is off by at most a in each entry; no entry loses more than it has. *)
Lemma tv_entries (V : vocabulary) (R : realFieldType) (r r' a : V -> R) :
  (forall y, 0 <= r y) -> (forall y, 0 <= r' y) -> sumV r = sumV r' -> (forall y, `|r' y - r y| <= a y) ->
  total_variation r r' <= sumV (fun y => Num.min (r y) (a y)).
Proof.
move=> r0 r'0 eq le; rewrite /total_variation ler_pdivr_mulr ?ltr0n //.
have -> : sumV (fun y => `|r' y - r y|) = sumV (fun y => Num.max (r y - r' y) 0 * 2%:R).
  transitivity (sumV (fun y => `|r' y - r y| + (r y - r' y))); first by rewrite sumVD sumVB eq subrr addr0.
  apply: sumV_eq => y; have [l|l] := leP (r y - r' y) 0; last by rewrite distrC gtr0_norm //; ring.
  by rewrite ger0_norm; [ring | rewrite -oppr_le0 opprB].
rewrite -sumVZr; apply: sumV_le => y; rewrite ler_pmul2r ?ltr0n // le_minr; apply/andP; split.
  by rewrite le_maxl r0 andbT ger_addl oppr_le0.
by apply: le_trans (le y); rewrite le_maxl normr_ge0 distrC ler_norm.
Qed.

Section RunningSum.
Variables (V : vocabulary) (R : realFieldType) (N : nat) (u : R) (w : V -> R) (T h : nat -> R).
Hypotheses (N0 : (0 < N)%N) (u0 : 0 <= u) (w0 : forall y, 0 <= w y) (Z0 : 0 < sumV w).
Notation n := (size (tokens V)).
Notation at_ y := (index y (tokens V)).
Notation Z := (sumV w).

(* Rounding to nearest: the error of an addition is within u of the exact sum and no more than either addend,
   which are themselves numbers that it could give. *)
Definition sum_off y : R := Num.min (u * (T (at_ y) + w y)) (Num.min (T (at_ y)) (w y)).
Definition summed : Prop := T 0%N = 0 /\ forall y, `|T (at_ y).+1 - (T (at_ y) + w y)| <= sum_off y.
Definition compared : Prop :=
  [/\ h 0%N = 0, h n = 1, forall k, (k < n)%N -> h k <= h k.+1 & forall k, (k < n)%N -> rounds u (T k / T n) (h k)].
Hypotheses (Ts : summed) (hc : compared).
Definition between (G : nat -> R) y : R := G (at_ y).+1 - G (at_ y).
Definition shares y : R := between T y / T n.
Definition taken y : R := lattice_lt N (h (at_ y).+1) - lattice_lt N (h (at_ y)).

Lemma at_lt y : (at_ y < n)%N. Proof. by rewrite index_mem tokens_mem. Qed.
Lemma at_ex k : (k < n)%N -> exists y, at_ y = k.
Proof.
move=> lt; have z : V by case: (tokens V) lt.
by exists (nth z (tokens V) k); rewrite index_uniq ?tokens_uniq.
Qed.
Lemma between_sum G : sumV (between G) = G n - G 0%N.
Proof.
rewrite (sumV_index V (fun k => G k.+1 - G k)) -(big_mkord xpredT (fun k => G k.+1 - G k)).
by rewrite telescope_sumr.
Qed.
Lemma T_step y : [/\ T (at_ y) <= T (at_ y).+1, w y <= T (at_ y).+1 & between T y <= 2%:R * w y].
Proof.
have [_ /(_ y)] := Ts; rewrite /sum_off !le_minr => /and3P[_ eT ew]; split.
- by move: ew; rewrite ler_norml => /andP[+ _]; rewrite ler_subr_addr addrCA addNr addr0.
- by move: eT; rewrite ler_norml => /andP[+ _]; rewrite ler_subr_addr addrA addNr add0r.
- by move: ew; rewrite ler_norml /between => /andP[_]; rewrite opprD addrA ler_subl_addr -mulr2n mulr_natl.
Qed.
Lemma T_ge0 k : (k <= n)%N -> 0 <= T k.
Proof.
have [T0 _] := Ts; elim: k => [|k IH] le; first by rewrite T0.
by have [y e] := at_ex le; have [+ _ _] := T_step y; rewrite e; apply: le_trans; apply: IH; apply: ltnW.
Qed.
Lemma T_mono k m : (k <= m)%N -> (m <= n)%N -> T k <= T m.
Proof.
move=> + mn; elim: m mn => [|m IH] mn; first by rewrite leqn0 => /eqP ->.
rewrite leq_eqVlt => /orP[/eqP -> //|lt]; have [y e] := at_ex mn; have [+ _ _] := T_step y.
by rewrite e; apply: le_trans; apply: IH lt; apply: ltnW.
Qed.
Lemma Tn_gt0 : 0 < T n.
Proof.
rewrite lt_neqAle T_ge0 // andbT eq_sym; apply/eqP => z; suff e : Z = 0 by move: Z0; rewrite e ltxx.
rewrite -[RHS](@sumV0 V R); apply: sumV_eq => y; apply/eqP; rewrite eq_le w0 andbT -z.
by have [_ le _] := T_step y; apply: le_trans le (T_mono (at_lt y) (leqnn _)).
Qed.
Lemma shares_ge0 y : 0 <= shares y.
Proof. by have [le _ _] := T_step y; rewrite divr_ge0 ?subr_ge0 ?(ltW Tn_gt0). Qed.
Lemma shares_sum : sumV shares = 1.
Proof. by have [T0 _] := Ts; rewrite /shares sumVZr between_sum T0 subr0 mulfV ?gt_eqF ?Tn_gt0. Qed.

(* What the additions lose. *)
Lemma shares_near : total_variation (fun y => w y / Z) shares <= sumV sum_off / Z.
Proof.
have T0 := Tn_gt0; have [z Te] := Ts; pose e y := T (at_ y).+1 - (T (at_ y) + w y).
have eS : sumV e = T n - Z.
  by rewrite /e (sumV_eq (g := fun y => between T y - w y)) => [|y]; [rewrite sumVB between_sum z subr0 | rewrite /between; ring].
have eN : `|T n - Z| <= sumV sum_off by rewrite -eS; apply: le_trans (sumV_norm _) _; apply: sumV_le => y; apply: Te.
rewrite /total_variation ler_pdivr_mulr ?ltr0n // mulrAC ler_pdivl_mulr // -sumVZr.
apply: le_trans (_ : sumV (fun y => sum_off y + shares y * sumV sum_off) <= _); last first.
  by rewrite sumVD sumVZr shares_sum mul1r mulr_natr mulr2n.
apply: sumV_le => y; rewrite -{2}(gtr0_norm Z0) -normrM.
have -> : (shares y - w y / Z) * Z = e y - shares y * (T n - Z).
  have sT : shares y * T n = between T y by rewrite /shares divfK ?gt_eqF.
  have wZ : w y / Z * Z = w y by rewrite divfK ?gt_eqF.
  by rewrite mulrBl wZ mulrBr sT /e /between; ring.
apply: le_trans (ler_norm_sub _ _) _; apply: ler_add; first exact: Te.
by rewrite normrM (ger0_norm (shares_ge0 y)); apply: ler_wpmul2l => //; apply: shares_ge0.
Qed.

(* What the thresholds lose. *)
Definition threshold_off k : R := if k == n then 0 else u * (T k / T n).
Lemma threshold_near k : (k <= n)%N -> `|h k - T k / T n| <= threshold_off k.
Proof.
have [_ h1 _ hr] := hc; rewrite /threshold_off; case: eqP => [-> _|/eqP ne le].
  by rewrite h1 mulfV ?gt_eqF ?Tn_gt0 // subrr normr0.
rewrite -{2}[T k / T n]ger0_norm; first by apply: hr; rewrite ltn_neqAle ne.
by rewrite divr_ge0 ?T_ge0.
Qed.
Lemma between_ge0 y : 0 <= between h y.
Proof. by have [_ _ hm _] := hc; rewrite subr_ge0 hm ?at_lt. Qed.
Lemma between_h_sum : sumV (between h) = 1.
Proof. by have [z o _ _] := hc; rewrite between_sum z o subr0. Qed.
Lemma running_between k : (k <= n)%N -> running (between h) k = h k.
Proof.
have [z _ _ _] := hc; elim: k => [|k IH] le; first by rewrite /running take0 big_nil z.
by have [y e] := at_ex le; rewrite -e runningS e IH ?(ltnW le) // /between e addrC subrK.
Qed.
Lemma taken_looked_up : taken =1 looked_up N (between h).
Proof. by move=> y; rewrite /taken /looked_up !running_between // ?(ltnW (at_lt y)) ?at_lt. Qed.
Lemma taken_ge0 y : 0 <= taken y.
Proof. by rewrite taken_looked_up looked_up_ge0 //; apply: between_ge0. Qed.
Lemma taken_sum : sumV taken = 1.
Proof. by rewrite (sumV_eq taken_looked_up) looked_up_sum ?between_h_sum //; apply: between_ge0. Qed.
Lemma between_near y : `|between h y - shares y| <= threshold_off (at_ y).+1 + threshold_off (at_ y).
Proof.
have -> : between h y - shares y = (h (at_ y).+1 - T (at_ y).+1 / T n) - (h (at_ y) - T (at_ y) / T n).
  by rewrite /shares /between mulrBl; ring.
by apply: le_trans (ler_norm_sub _ _) _; apply: ler_add; apply: threshold_near; [apply: at_lt | apply: ltnW; apply: at_lt].
Qed.
Lemma thresholds_sum : sumV (fun y => threshold_off (at_ y).+1 + threshold_off (at_ y))
  = (\sum_(k < n) u * (T k / T n)) * 2%:R.
Proof.
have [T0 _] := Ts; rewrite (sumV_index V (fun k => threshold_off k.+1 + threshold_off k)) big_split /= mulr_natr mulr2n.
have -> : \sum_(k < n) threshold_off k = \sum_(k < n) u * (T k / T n).
  by apply: eq_bigr => k _; rewrite /threshold_off ltn_eqF.
congr (_ + _); have z : threshold_off 0%N = 0 by rewrite /threshold_off T0 mul0r mulr0 if_same.
transitivity (\sum_(k < n.+1) threshold_off k); first by rewrite big_ord_recl z add0r.
rewrite big_ord_recr /= {2}/threshold_off eqxx addr0.
by apply: eq_bigr => k _; rewrite /threshold_off ltn_eqF.
Qed.

(* A row of any kind: each addition, each threshold, and the lattice. *)
Theorem running_sum_near : total_variation (fun y => w y / Z) taken
  <= sumV sum_off / Z + \sum_(k < n) u * (T k / T n) + n%:R / (2 * N)%:R.
Proof.
apply: le_trans (tv_triangle _ (between h) _) _; apply: ler_add; last first.
  have := looked_up_near N0 between_ge0 between_h_sum; rewrite /total_variation.
  by rewrite (sumV_eq (g := fun y => `|taken y - between h y|)) // => y; rewrite taken_looked_up.
apply: le_trans (tv_triangle _ shares _) _; apply: ler_add; first exact: shares_near.
rewrite /total_variation ler_pdivr_mulr ?ltr0n // -thresholds_sum; apply: sumV_le => y; exact: between_near.
Qed.
(* Rows of small entries: none loses more than it has, and none has more than twice its own share. *)
Theorem running_sum_tails : total_variation (fun y => w y / Z) taken
  <= sumV sum_off / Z + sumV (fun y => Num.min (2%:R * w y / T n)
       (threshold_off (at_ y).+1 + threshold_off (at_ y) + N%:R^-1)).
Proof.
have Tn := Tn_gt0; apply: le_trans (tv_triangle _ shares _) _; apply: ler_add; first exact: shares_near.
apply: le_trans (_ : sumV (fun y => Num.min (shares y) (threshold_off (at_ y).+1 + threshold_off (at_ y) + N%:R^-1)) <= _).
  apply: tv_entries => [y|y||y]; [exact: shares_ge0 | exact: taken_ge0 | |].
    by rewrite shares_sum taken_sum.
  have -> : taken y - shares y = (between h y - shares y) + (taken y - between h y) by ring.
  apply: le_trans (ler_norm_add _ _) _; apply: ler_add; first exact: between_near.
  by rewrite taken_looked_up; apply: looked_up_each => //; [apply: between_ge0 | apply: between_h_sum].
apply: sumV_le => y; rewrite le_minr !le_minl lexx orbT andbT; apply/orP; left.
by have [_ _ le] := T_step y; rewrite /shares ler_pdivr_mulr // divfK // gt_eqF.
Qed.

(* All rows of a vocabulary: the first addition and the first and last thresholds are exact. *)
Lemma T_le k : (k <= n)%N -> T k <= (1 + u) ^+ k.-1 * running w k.
Proof.
have [T0 Te] := Ts; have r0 := addr_ge0 ler01 u0.
elim: k => [|k IH] le; first by rewrite T0 /running take0 big_nil mulr0.
have [y e] := at_ex le; have := Te y; rewrite /sum_off e !le_minr => /and3P[eu eT _]; rewrite -e runningS e /=.
case: k le IH e eu eT => [|k] le IH e eu eT.
  by move: eT; rewrite T0 add0r /running take0 big_nil add0r expr0 mul1r normr_le0 subr_eq0 => /eqP ->.
apply: le_trans (_ : (1 + u) * (T k.+1 + w y) <= _).
  by rewrite mulrDl mul1r -ler_subl_addl; apply: le_trans (ler_norm _) eu.
rewrite exprS -mulrA; apply: ler_wpmul2l => //; rewrite mulrDr; apply: ler_add; first exact: IH (ltnW le).
by rewrite ler_pemull // exprn_ege1 // ler_addl.
Qed.
Definition look_up_bound : R := n.-1%:R * (u * (2%:R + growth u n.-1)) + n%:R / (2 * N)%:R.
Theorem running_sum_bound : total_variation (fun y => w y / Z) taken <= look_up_bound.
Proof.
apply: le_trans running_sum_near _; rewrite /look_up_bound ler_add2r.
have Tn := Tn_gt0; have [T0 _] := Ts.
have step y : sum_off y <= (if at_ y == 0%N then 0 else u * (1 + growth u n.-1)) * Z.
  rewrite /sum_off !le_minl; case: eqP => [->|/eqP ne]; first by rewrite T0 mul0r lexx !orbT.
  have -> : 1 + growth u n.-1 = (1 + u) ^+ n.-1 by rewrite addrC subrK.
  apply/orP; left; rewrite -mulrA; apply: ler_wpmul2l => //.
  have lt := at_lt y; have le := ltnW lt.
  have run : running w (at_ y) + w y <= Z.
    rewrite -runningS; have -> : Z = running w n.
      by rewrite /running take_size (perm_big _ (tokens_ok V)) big_enum -sumVE.
    rewrite /running take_size -[X in _ <= \sum_(z <- X) _](cat_take_drop (at_ y).+1) big_cat /=.
    by rewrite ler_addl sumr_ge0.
  apply: le_trans (_ : (1 + u) ^+ n.-1 * (running w (at_ y) + w y) <= _); last first.
    by apply: ler_wpmul2l => //; rewrite exprn_ge0 ?addr_ge0 ?ler01.
  rewrite mulrDr; apply: ler_add; last by rewrite ler_pemull // exprn_ege1 // ler_addl.
  apply: le_trans (T_le le) _; apply: ler_wpmul2r; first exact: sumr_ge0.
  by rewrite ler_weexpn2l ?ler_addl //; lia.
have -> : n.-1%:R * (u * (2%:R + growth u n.-1)) = n.-1%:R * (u * (1 + growth u n.-1)) + n.-1%:R * u by ring.
have but_first (B : R) : \sum_(k < n) (if k == 0%N :> nat then 0 else B) = n.-1%:R * B.
  by case: n => [|m]; rewrite ?big_ord0 ?mul0r // big_ord_recl add0r sumr_const card_ord mulr_natl.
apply: ler_add; last first.
  rewrite -but_first; apply: ler_sum => k _; case: eqP => [->|_]; first by rewrite T0 mul0r mulr0.
  by rewrite ler_pimulr // ler_pdivr_mulr // mul1r T_mono // ltnW.
rewrite ler_pdivr_mulr // -but_first -(sumV_index V (fun k => if k == 0%N then 0 else u * (1 + growth u n.-1))).
by rewrite -sumVZr; apply: sumV_le => y; apply: step.
Qed.
(* What the theorems on rounding ask of the row that is drawn (drawn_near), for lambda := look_up_bound. *)
Theorem looked_up_in_a_running_sum : exists r : V -> R,
  [/\ sumV r = 1, forall y, 0 <= r y, total_variation r taken <= look_up_bound & forall y, r y * Z = w y].
Proof.
exists (fun y => w y / Z); split=> [|y||y]; [by rewrite sumVZr mulfV ?gt_eqF | by rewrite divr_ge0 ?(ltW Z0) | | by rewrite divfK ?gt_eqF].
exact: running_sum_bound.
Qed.
End RunningSum.

(* The hypotheses can be met, for all weights: by exact sums and thresholds. *)
Theorem running_sum_met (V : vocabulary) (R : realFieldType) (u : R) (w : V -> R) : 0 <= u -> (forall y, 0 <= w y) ->
  0 < sumV w -> exists T h : nat -> R, summed u w T /\ compared V u T h.
Proof.
move=> u0 w0 Z0; pose T := running w; have Tn : T (size (tokens V)) = sumV w.
  by rewrite /T /running take_size (perm_big _ (tokens_ok V)) big_enum -sumVE.
have T0 : T 0%N = 0 by rewrite /T /running take0 big_nil.
have Tp k : 0 <= T k by apply: sumr_ge0.
exists T, (fun k => T k / T (size (tokens V))); split.
  split=> // y; rewrite /T runningS subrr normr0 !le_minr w0 Tp mulr_ge0 // addr_ge0 // ?Tp //.
split=> [||k lt|k lt].
- by rewrite T0 mul0r.
- by rewrite Tn mulfV ?gt_eqF.
- have [y <-] := at_ex lt; apply: ler_wpmul2r; first by rewrite invr_ge0.
  by rewrite /T runningS ler_addl.
- by rewrite /rounds subrr normr0 mulr_ge0.
Qed.
