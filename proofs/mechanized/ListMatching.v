(* List matching by shared noise: the law of the target's pick, given what K drafts picked, as sums over pieces of time on
   each of which a draft's pick is a difference of exponentials.  The drafts' law is that of K independent picks and the
   target's is its row, whatever the two rows; and every number is a sum of products of positive ones. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum zify.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Models.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

(* Of the target's time t: the token v of a draft is out before z (r v) t, z (r v) = p v / q v, and comes at the rate q v
   after; z are these times in order.  slope: the rate at which a draft picks within piece j; rate: what it is worth until
   piece j begins, in units of t; clock: within it. *)
Section Pieces.
Variables (V : vocabulary) (R : realFieldType) (p q : V -> R) (m : nat) (z : nat -> R) (r : V -> nat).
Implicit Types (v x y : V) (j : nat) (phi psi : R -> R) (xs : seq V) (t : R).
Definition inn v j : bool := (q v != 0) && (r v <= j)%N.
Definition slope j : R := sumV (fun v => (inn v j)%:R * q v).
Definition passed j : R := sumV (fun v => (inn v j)%:R * p v).
Definition rate j : R := sumV (fun v => (inn v j)%:R * (q v * z j - p v)).
Definition clock j : R := slope j * (z j.+1 - z j).
Hypotheses (p0 : forall v, 0 <= p v) (q0 : forall v, 0 <= q v) (m0 : (0 < m)%N).
Hypothesis breaks : forall v, q v != 0 -> (r v < m)%N /\ q v * z (r v) = p v.
Hypothesis ordered : forall j, (j.+1 < m)%N -> z j <= z j.+1.
Hypothesis first : 0 < slope 0.
Notation T := (sumV p).

Lemma slope_gt0 j : 0 < slope j.
Proof.
apply: lt_le_trans first _; apply: sumV_le => v; apply: ler_wpmul2r => //; rewrite ler_nat /inn.
by case: (q v != 0) => //=; case: (leqP (r v) 0) => // le; rewrite (leq_trans le).
Qed.
Lemma rate_next j : rate j.+1 = rate j + clock j.
Proof.
rewrite /rate /clock /slope -sumVZr -sumVD; apply: sumV_eq => v; rewrite /inn.
have [->|qn] /= := eqVneq (q v) 0; first by rewrite !mul0r addr0.
have [le|lt] := leqP (r v) j; first by rewrite (leqW le) !mul1r; ring.
rewrite !mul0r addr0; have [le|] := leqP (r v) j.+1; rewrite ?mul0r //.
have e : r v = j.+1 by apply/eqP; rewrite eqn_leq le lt.
by have [_ <-] := breaks qn; rewrite e subrr mulr0.
Qed.
Lemma rate_passed j : rate j + passed j = slope j * z j.
Proof. by rewrite /rate /passed /slope -sumVD -sumVZr; apply: sumV_eq => v; ring. Qed.
Lemma rate0 : rate 0 = 0.
Proof.
rewrite /rate (sumV_eq (g := fun=> 0)) ?sumV0 // => v; rewrite /inn.
have [->|qn] /= := eqVneq (q v) 0; first by rewrite mul0r.
have [le|] := leqP (r v) 0; last by rewrite mul0r.
by have [_ <-] := breaks qn; move: le; rewrite leqn0 => /eqP ->; rewrite subrr mulr0.
Qed.
Lemma clock_ge0 j : (j.+1 < m)%N -> 0 <= clock j.
Proof. by move=> lt; rewrite mulr_ge0 ?subr_ge0 ?ordered // ltW ?slope_gt0. Qed.
Lemma rate_ge0 j : (j < m)%N -> 0 <= rate j.
Proof. by elim: j => [|j IH] lt; rewrite ?rate0 // rate_next addr_ge0 ?clock_ge0 // IH // ltnW. Qed.

Lemma telescope_from (G : nat -> R) k n : (k <= n)%N -> \sum_(j < n) (k <= j)%N%:R * (G j - G j.+1) = G k - G n.
Proof.
elim: n => [|n IH]; first by rewrite leqn0 => /eqP ->; rewrite big_ord0 subrr.
rewrite leq_eqVlt => /orP[/eqP ->|le].
  by rewrite subrr big1 // => j _; rewrite leqNgt ltn_ord mul0r.
by rewrite big_ord_recr /= IH // -ltnS le mul1r addrA subrK.
Qed.
(* A draft's pick x as a measure on what the time is worth: over the pieces in which x can come. *)
Definition jump phi j : R := phi (rate j) - (if (j.+1 < m)%N then phi (rate j + clock j) else 0).
Lemma jump_tele (g : nat -> R) k : (k < m)%N ->
  \sum_(j < m) (k <= j)%N%:R * (g j - (if (j.+1 < m)%N then g j.+1 else 0)) = g k.
Proof.
move=> lt; pose G j := if (j < m)%N then g j else 0.
rewrite (eq_bigr (fun j : 'I_m => (k <= j)%N%:R * (G j - G j.+1))) => [|j _]; last by rewrite /G ltn_ord.
by rewrite (telescope_from G (ltnW lt)) /G lt ltnn subr0.
Qed.
Lemma jumps phi k : (k < m)%N -> \sum_(j < m) (k <= j)%N%:R * jump phi j = phi (rate k).
Proof.
move=> lt; rewrite -[RHS](jump_tele (fun j => phi (rate j)) lt); apply: eq_bigr => j _.
by rewrite /jump rate_next.
Qed.
Definition pick x phi : R := \sum_(j < m) (inn x j)%:R * (q x / slope j) * jump phi j.
(* The draft whose noise is the least: its race ends where y comes, the token of that noise. *)
Definition pick_first y x phi : R := (x == y)%:R * ((q x != 0)%:R * phi (rate (r x)))
  + \sum_(j < m) (inn x j && ~~ inn y j)%:R * (q x / slope j) * jump phi j.
Lemma inn_sum j : sumV (fun x => (inn x j)%:R * (q x / slope j)) = 1.
Proof.
rewrite (sumV_eq (g := fun x => (inn x j)%:R * q x / slope j)) => [|x]; last by rewrite mulrA.
by rewrite sumVZr -/(slope j) mulfV // lt0r_neq0 // slope_gt0.
Qed.
Lemma inn_jumps x phi : \sum_(j < m) (inn x j)%:R * jump phi j = (q x != 0)%:R * phi (rate (r x)).
Proof.
rewrite /inn; have [e|qn] := eqVneq (q x) 0; first by rewrite mul0r big1 // => j _; rewrite mul0r.
by have [lt _] := breaks qn; rewrite mul1r -(jumps phi lt).
Qed.
Lemma all_jumps phi : \sum_(j < m) jump phi j = phi 0.
Proof. by rewrite -[X in phi X]rate0 -(jumps phi m0); apply: eq_bigr => j _; rewrite mul1r. Qed.
Lemma pick_sum phi : sumV (fun x => pick x phi) = phi 0.
Proof.
rewrite /pick sumV_exch -all_jumps; apply: eq_bigr => j _.
by rewrite sumVZr inn_sum mul1r.
Qed.
Lemma pick_first_sum y phi : sumV (fun x => pick_first y x phi) = phi 0.
Proof.
rewrite sumVD (sumV_delta y (fun x => (q x != 0)%:R * phi (rate (r x)))) -(inn_jumps y phi) sumV_exch -big_split /=.
rewrite -all_jumps; apply: eq_bigr => j _; rewrite sumVZr.
rewrite (sumV_eq (g := fun x => (~~ inn y j)%:R * ((inn x j)%:R * (q x / slope j)))) => [|x]; last first.
  by rewrite -mulnb natrM; ring.
by rewrite sumVZ inn_sum mulr1 -mulrDl; case: (inn y j); rewrite /= ?addr0 ?add0r mul1r.
Qed.
(* The time of the target's noise, by parts. *)
Lemma pick_by_parts x phi : sumV (fun y => p y * pick_first y x phi) = pick x (fun t => (T + t) * phi t).
Proof.
rewrite (sumV_eq (g := fun y => (y == x)%:R * (p y * ((q x != 0)%:R * phi (rate (r x))))
    + \sum_(j < m) p y * ((inn x j && ~~ inn y j)%:R * (q x / slope j) * jump phi j))) => [|y]; last first.
  by rewrite /pick_first mulrDr mulr_sumr eq_sym mulrCA.
rewrite sumVD (sumV_delta x (fun y => p y * _)) sumV_exch.
have -> : p x * ((q x != 0)%:R * phi (rate (r x)))
    = \sum_(j < m) (inn x j)%:R * (q x * z j * phi (rate j) - (if (j.+1 < m)%N then q x * z j.+1 * phi (rate j.+1) else 0)).
  have [e|qn] := eqVneq (q x) 0.
    rewrite mul0r mulr0 big1 // => j _; rewrite /inn e eqxx mul0r //.
  have [lt e] := breaks qn; rewrite mul1r -e -(jump_tele (fun j => q x * z j * phi (rate j)) lt) /inn.
  by apply: eq_bigr => j _; rewrite qn.
rewrite -big_split /=; apply: eq_bigr => j _.
have -> : sumV (fun y => p y * ((inn x j && ~~ inn y j)%:R * (q x / slope j) * jump phi j))
    = (inn x j)%:R * (q x / slope j) * jump phi j * (T - passed j).
  rewrite -sumVB -sumVZ; apply: sumV_eq => y; rewrite -mulnb natrM; case: (inn y j) => /=; ring.
have sn := lt0r_neq0 (slope_gt0 j); have -> : passed j = slope j * z j - rate j by rewrite -rate_passed; ring.
rewrite /jump; case: ifP => _; rewrite ?rate_next; last by field.
by rewrite /clock; field.
Qed.

(* All drafts: independent, given the target's time and what it picks. *)
Fixpoint picks xs phi : R := if xs is x :: xs' then pick x (fun t => picks xs' (fun t' => phi (t + t'))) else phi 0.
Fixpoint picks_first y xs phi : R :=
  if xs is x :: xs' then pick_first y x (fun t => picks xs' (fun t' => phi (t + t')))
    + pick x (fun t => picks_first y xs' (fun t' => phi (t + t')))
  else 0.
Lemma pick_eq x phi psi : (forall t, 0 <= t -> phi t = psi t) -> pick x phi = pick x psi.
Proof.
move=> e; apply: eq_bigr => j _; congr (_ * _); have r0 := rate_ge0 (ltn_ord j); rewrite /jump e //.
by case: ifP => // lt; rewrite e // addr_ge0 // clock_ge0.
Qed.
Lemma jumpD phi psi j : jump (fun t => phi t + psi t) j = jump phi j + jump psi j.
Proof. by rewrite /jump; case: ifP => _; ring. Qed.
Lemma pickD x phi psi : pick x (fun t => phi t + psi t) = pick x phi + pick x psi.
Proof. by rewrite /pick -big_split; apply: eq_bigr => j _; rewrite jumpD mulrDr. Qed.
Lemma pickZ x a phi : pick x (fun t => a * phi t) = a * pick x phi.
Proof. by rewrite /pick mulr_sumr; apply: eq_bigr => j _; rewrite /jump; case: ifP => _; ring. Qed.
Lemma pick_sumV x (F : V -> R -> R) : pick x (fun t => sumV (F^~ t)) = sumV (fun y => pick x (F y)).
Proof.
rewrite /pick sumV_exch; apply: eq_bigr => j _; rewrite sumVZ /jump sumVB; case: ifP => // _.
by rewrite sumV0.
Qed.
Lemma picks_eq xs phi psi : (forall t, 0 <= t -> phi t = psi t) -> picks xs phi = picks xs psi.
Proof.
elim: xs phi psi => [|x xs IH] phi psi e /=; first exact: e.
by apply: pick_eq => t t0; apply: IH => t' t'0; apply: e; apply: addr_ge0.
Qed.
Lemma picksD xs phi psi : picks xs (fun t => phi t + psi t) = picks xs phi + picks xs psi.
Proof.
elim: xs phi psi => [|x xs IH] phi psi //=; rewrite -pickD; apply: pick_eq => t _.
exact: (IH (fun t' => phi (t + t'))).
Qed.
Lemma picksZ xs a phi : picks xs (fun t => a * phi t) = a * picks xs phi.
Proof.
elim: xs phi => [|x xs IH] phi //=; rewrite -pickZ; apply: pick_eq => t _.
exact: (IH (fun t' => phi (t + t'))).
Qed.
Lemma picks_by_parts xs phi :
  sumV (fun y => p y * picks_first y xs phi) = picks xs (fun t => ((size xs)%:R * T + t) * phi t).
Proof.
elim: xs phi => [|x xs IH] phi /=.
  by rewrite (sumV_eq (g := fun=> 0)) ?sumV0 => [|y]; rewrite ?mulr0 // mul0r add0r mul0r.
rewrite (sumV_eq (fun y => mulrDr (p y) _ _)) sumVD pick_by_parts (sumV_eq (fun y => esym (pickZ x (p y) _))).
rewrite -(pick_sumV x (fun y t => p y * picks_first y xs (fun t' => phi (t + t')))) -pickD; apply: pick_eq => t _.
rewrite IH -picksZ -picksD; apply: picks_eq => t' _; rewrite -[(size xs).+1]addn1 natrD; ring.
Qed.
Lemma pick_const x (a : R) : pick x (fun=> a) = q x / slope m.-1 * a.
Proof.
have lt : (m.-1 < m)%N by rewrite prednK.
rewrite /pick (bigD1 (Ordinal lt)) //= big1 => [|j ne]; last first.
  have lt' : (j.+1 < m)%N.
    have ne' : (j : nat) != m.-1 by apply: contra ne => /eqP e; apply/eqP; apply: val_inj.
    by have := ltn_ord j; move: ne' m0; clear; lia.
  by rewrite /jump lt' subrr mulr0.
rewrite addr0 /jump prednK // ltnn subr0 /inn; have [->|qn] := eqVneq (q x) 0; first by rewrite !mul0r.
by have [lr _] := breaks qn; rewrite -ltnS prednK // lr mul1r.
Qed.
Lemma picks_one xs : picks xs (fun=> 1) = \prod_(x <- xs) (q x / slope m.-1).
Proof. by elim: xs => [|x xs IH]; rewrite ?big_nil // big_cons /= IH pick_const. Qed.
Lemma pick_sumB x n (F : seq V -> R -> R) : sumB n (fun xs => pick x (F xs)) = pick x (fun t => sumB n (F^~ t)).
Proof.
elim: n F => //= n IH F; rewrite (sumV_eq (fun y => IH (fun xs => F (y :: xs)))).
by rewrite -(pick_sumV x (fun y t => sumB n (fun xs => F (y :: xs) t))).
Qed.
Lemma picks_sum n phi : sumB n (fun xs => picks xs phi) = phi 0.
Proof.
elim: n phi => [|n IH] phi //=; rewrite -[RHS](pick_sum phi); apply: sumV_eq => x.
rewrite (pick_sumB x n (fun xs t => picks xs (fun t' => phi (t + t')))); apply: pick_eq => t _.
by rewrite IH addr0.
Qed.
Lemma sumBD n (F G : seq V -> R) : sumB n (fun xs => F xs + G xs) = sumB n F + sumB n G.
Proof. by elim: n F G => [|n IH] F G //=; rewrite -sumVD; apply: sumV_eq => x; apply: IH. Qed.
Lemma pick_first_sumB y x n (F : seq V -> R -> R) :
  sumB n (fun xs => pick_first y x (F xs)) = pick_first y x (fun t => sumB n (F^~ t)).
Proof.
elim: n F => //= n IH F; rewrite (sumV_eq (fun v => IH (fun xs => F (v :: xs)))) /pick_first sumVD sumVZ sumVZ sumV_exch.
congr (_ + _); apply: eq_bigr => j _; rewrite sumVZ /jump sumVB; congr (_ * (_ - _)); case: ifP => // _; exact: sumV0.
Qed.
Lemma picks_first_sum y n phi : sumB n (fun xs => picks_first y xs phi) = n%:R * phi 0.
Proof.
elim: n phi => [|n IH] phi /=; first by rewrite mul0r.
rewrite (sumV_eq (fun x => sumBD n _ _)) sumVD.
rewrite (sumV_eq (g := fun x => pick_first y x phi)) => [|x]; last first.
  rewrite (pick_first_sumB y x n (fun xs t => picks xs (fun t' => phi (t + t')))) /pick_first.
  by rewrite picks_sum addr0; congr (_ + _); apply: eq_bigr => j _; rewrite /jump !picks_sum !addr0.
rewrite pick_first_sum (sumV_eq (g := fun x => pick x (fun t => n%:R * phi t))) => [|x]; last first.
  rewrite (pick_sumB x n (fun xs t => picks_first y xs (fun t' => phi (t + t')))); apply: pick_eq => t _.
  by rewrite IH addr0.
by rewrite pick_sum -[n.+1]addn1 natrD; ring.
Qed.

(* The law of the target's pick y, given the picks xs of K drafts: of the joint law. *)
Hypothesis T0 : 0 < T.
Variable K : nat.
Hypothesis K0 : (0 < K)%N.
Definition joint_law xs y : R := p y * picks_first y xs (fun t => (K%:R * T + t)^-1).
Theorem joint_law_drafts xs : size xs = K -> sumV (joint_law xs) = \prod_(x <- xs) (q x / slope m.-1).
Proof.
move=> hs; rewrite /joint_law picks_by_parts hs -picks_one; apply: picks_eq => t t0.
by rewrite mulfV // lt0r_neq0 // ltr_paddr // mulr_gt0 // ltr0n.
Qed.
Theorem joint_law_target y : sumB K (joint_law^~ y) = p y / T.
Proof.
rewrite /joint_law sumBZ picks_first_sum addr0; congr (_ * _).
by rewrite invfM mulrA mulfV ?mul1r // pnatr_eq0 -lt0n.
Qed.
End Pieces.
