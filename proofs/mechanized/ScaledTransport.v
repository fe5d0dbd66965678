(* Transport scaled by the prefix: of the target's row, times the weight of the text, a transport to the drafts takes what
   it likes; a child goes on with the weight that the transport gave its drafts, and on the way back up each text is
   accepted with (a - m) / (1 - m), m what was taken.  It is lossless, whatever the transports, on trees of every shape;
   and its rounding, where the plans are made as in KSeqRounding.v.  The standard model of Rounding.v is assumed. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Algorithms Block Descent Precision Rounding ProblemRounding TreeRounding DescentRounding KSeqRounding.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section Siblings.
Variables (V : vocabulary) (R : realFieldType) (Q : seq V -> V -> R) (spent : pred (seq V)).
Hypotheses (Q0 : forall elders x, 0 <= Q elders x) (Q1 : forall elders, ~~ spent elders -> sumV (Q elders) = 1).
Implicit Types (a : seq V -> V -> R) (f g : V -> R).
Notation E k F := (siblings Q spent k [::] F).
Lemma siblings_draw k a f K : E k (fun xs => sumV (fun y => a xs y * f y) + (1 - sumV (a xs)) * K)
  = sumV (fun y => E k (a^~ y) * f y) + (1 - sumV (fun y => E k (a^~ y))) * K.
Proof.
rewrite siblingsD siblings_sumV; congr (_ + _).
  apply: sumV_eq => y; rewrite (siblings_eq _ _ _ _ (G := fun xs => f y * a xs y)) => [|xs]; last exact: mulrC.
  by rewrite siblingsZ mulrC.
rewrite (siblings_eq _ _ _ _ (G := fun xs => K * 1 + - K * sumV (a xs))) => [|xs]; last by ring.
by rewrite siblingsD !siblingsZ (siblings_const Q1) siblings_sumV; ring.
Qed.
Lemma siblings_off k (F G : seq V -> R) d : (forall xs, `|F xs - G xs| <= d) -> `|E k F - E k G| <= d.
Proof.
move=> off; rewrite ler_norml ler_subr_addr ler_subl_addr [- _ + _]addrC ler_subl_addr.
rewrite -(siblings_const Q1 k [::] d) -!siblingsD; apply/andP; split; apply: siblings_le => // xs _; have := off xs;
  by rewrite ler_norml ler_subr_addr ler_subl_addr [- _ + _]addrC ler_subl_addr => /andP[].
Qed.
Lemma siblings_range k (F : seq V -> R) : (forall xs, 0 <= F xs <= 1) -> 0 <= E k F <= 1.
Proof.
move=> F01; rewrite -(siblings_const Q1 k [::] 0) -(siblings_const Q1 k [::] 1).
by apply/andP; split; apply: siblings_le => // xs _; have /andP[] := F01 xs.
Qed.
End Siblings.

(* The rule: P is the weight of the text s, K what comes if it is rejected; the context (top) is not. *)
Section Exact.
Variables (V : vocabulary) (R : realFieldType) (Mb : model V R) (c : seq V).
Notation rb s := (Mb (c ++ s)).
Variables (Q : seq V -> seq V -> V -> R) (spent : seq V -> pred (seq V)).
Hypotheses (Q0 : forall s elders x, 0 <= Q s elders x) (Q1 : forall s elders, ~~ spent s elders -> sumV (Q s elders) = 1).
Implicit Types (s : seq V) (P K : R) (f : seq tree) (A : seq V -> V -> R).
Variable share : seq V -> R -> nat -> seq V -> V -> R.
Definition taken_of s P k y : R := siblings (Q s) (spent s) k [::] (fun xs => share s P k xs y).
Definition kept_back s P k y : R := P * rb s y - taken_of s P k y.
Definition way_up top s P k A K : R :=
  let left := draw (fun y => kept_back s P k y / sumV (kept_back s P k)) (A s) in
  if top then left
  else flip (sumV (kept_back s P k) / (1 - sumV (taken_of s P k))) (fun accepted => if accepted then left else K).
Fixpoint scaled_at n top s f P A K : R :=
  match n, f with
  | n'.+1, _ :: _ => siblings (Q s) (spent s) (size f) [::] (fun xs =>
      let W := sumV (share s P (size f) xs) in let up := way_up top s P (size f) A K in
      if W == 0 then up else draw (fun y => share s P (size f) xs y / W)
        (fun y => scaled_at n' false (rcons s y) (go_on f xs y) W A up))
  | _, _ => if top then draw (rb s) (A s) else flip P (fun accepted => if accepted then draw (rb s) (A s) else K)
  end.
Definition scaled_transport gamma f A : R := scaled_at gamma true [::] f 1 A 0.
Lemma scaled_atS n top s t f P A K (k := (size f).+1) (up := way_up top s P k A K) : scaled_at n.+1 top s (t :: f) P A K
  = siblings (Q s) (spent s) k [::] (fun xs => let W := sumV (share s P k xs) in
      if W == 0 then up else draw (fun y => share s P k xs y / W)
        (fun y => scaled_at n false (rcons s y) (go_on (t :: f) xs y) W A up)).
Proof. by []. Qed.
Hypotheses (share0 : forall s P k xs y, 0 <= share s P k xs y) (share1 : forall s P k xs, sumV (share s P k xs) <= 1).
Hypothesis taken_le : forall s P k y, 0 <= P <= 1 -> taken_of s P k y <= P * rb s y.

Lemma scaled_law gamma (U : seq V -> R) n (top : bool) s f P K :
  (forall s, (size s <= gamma)%N -> U s = sumV (fun y => rb s y * U (rcons s y))) -> (size s + n)%N = gamma ->
  0 <= P <= 1 -> (top -> P = 1) -> scaled_at n top s f P (fun s y => U (rcons s y)) K = P * U s + (1 - P) * K.
Proof.
move=> UM; have leaf (t : bool) s' P' K' : (size s' <= gamma)%N -> (t -> P' = 1) ->
    (if t then draw (rb s') (fun y => U (rcons s' y)) else flip P' (fun accepted => if accepted then draw (rb s') (fun y => U (rcons s' y)) else K'))
    = P' * U s' + (1 - P') * K'.
  by move=> le; rewrite /draw -UM //; case: t => [->|_] //; rewrite mul1r subrr mul0r addr0.
elim: n top s f P K => [|n IH] top s f P K hs P01 P1; have le : (size s <= gamma)%N by rewrite -hs leq_addr.
  exact: leaf.
case: f => [|t f]; first exact: leaf.
have hs' y : (size (rcons s y) + n)%N = gamma by rewrite size_rcons addSnnS.
rewrite scaled_atS; set k := (size f).+1; set up := way_up _ _ _ _ _ _.
rewrite (siblings_eq _ _ _ _ (G := fun xs => sumV (fun y => share s P k xs y * U (rcons s y)) + (1 - sumV (share s P k xs)) * up)) => [|xs].
  rewrite (siblings_draw (@Q1 s)) -/(taken_of s P k _).
  pose M := sumV (taken_of s P k).
  have kb0 y : 0 <= kept_back s P k y by rewrite subr_ge0; apply: taken_le.
  have kb : sumV (kept_back s P k) = P - M by rewrite /kept_back sumVB sumVZ row_sum mulr1.
  have left : (P - M) * draw (fun y => kept_back s P k y / (P - M)) (fun y => U (rcons s y))
      = sumV (fun y => kept_back s P k y * U (rcons s y)).
    rewrite /draw -sumVZ; apply: sumV_eq => y; have [z|nz] := eqVneq (P - M) 0; last by rewrite mulrA mulrCA mulfV ?mulr1.
    by rewrite (sumV_eq0 kb0 _ y) ?kb // z !mul0r.
  have main : (1 - M) * up = sumV (fun y => kept_back s P k y * U (rcons s y)) + (1 - P) * K.
    rewrite /up /way_up kb -/M; case: (top) P1 => [/(_ isT) P1|_].
      have z : (1 - P) * K = 0 by rewrite P1 subrr mul0r.
      by rewrite -left z addr0; congr (_ * _); rewrite P1.
    rewrite /flip; set X := draw _ _ in left *; have [z|nz] := eqVneq (1 - M) 0.
      have e : P - M = 0.
        apply/eqP; rewrite eq_le -{2}kb sumV_ge0 // andbT -z ler_add2r; by case/andP: P01.
      have z1 : 1 - P = 0 by have -> : 1 - P = (1 - M) - (P - M); [ring | rewrite z e subrr].
      by rewrite z -left e z1 !mul0r addr0.
    rewrite -left; set h := (P - M) / (1 - M).
    have hE : (1 - M) * h = P - M by rewrite /h mulrC divfK.
    have -> : (1 - M) * (h * X + (1 - h) * K) = ((1 - M) * h) * X + ((1 - M) - (1 - M) * h) * K by ring.
    by rewrite hE; ring.
  rewrite -/M main addrA; congr (_ + _); rewrite (UM _ le) -sumVZ -sumVD; apply: sumV_eq => y.
  by rewrite /kept_back -/(taken_of s P k y); ring.
have W0 : 0 <= sumV (share s P k xs) by apply: sumV_ge0.
cbv zeta; set W := sumV (share s P k xs) in W0 *; have [z|nz] := eqVneq W 0.
  rewrite z subr0 mul1r (sumV_eq (g := fun=> 0)) ?sumV0 ?add0r // => y.
  by rewrite (sumV_eq0 (share0 s P k xs) z y) mul0r.
rewrite /draw (sumV_eq (g := fun y => share s P k xs y * U (rcons s y) + share s P k xs y * ((1 - W) / W * up))) => [|y].
  rewrite sumVD sumVZr -/W; congr (_ + _); rewrite mulrA [W * _]mulrC divfK //.
rewrite IH // ?W0 ?share1 //; have -> : share s P k xs y / W * (W * U (rcons s y) + (1 - W) * up)
  = share s P k xs y * (W / W) * U (rcons s y) + share s P k xs y * ((1 - W) / W * up) by ring.
by rewrite mulfV // mulr1.
Qed.
(* Equation (7). *)
Theorem scaled_transport_valid gamma f o : size o = gamma.+1 ->
  scaled_transport gamma f (fun s y => complete Mb gamma c (fun o' => (o' == o)%:R) (rcons s y)) = joint Mb c o.
Proof.
move=> ho; rewrite /scaled_transport (@scaled_law gamma _ gamma _ _ _ _ _ (complete_fair Mb c (fun o' => (o' == o)%:R))) //.
  by rewrite mul1r subrr mul0r addr0 /complete subn0 cats0 -ho gen_delta.
by rewrite ler01 lexx.
Qed.
End Exact.

(* The coin on the way up, (P - m) / (1 - m), where it counts: D = 1 - m is how often no text further down is accepted. *)
Section Coin.
Variables (R : realFieldType) (u t D x N T h : R).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1) (D0 : 0 <= D) (D1 : D <= 1) (xD : x <= D) (xt : - t <= x).
Hypotheses (Nx : `|N - x| <= t) (TD : `|T - D| <= t) (hr : T != 0 -> Rounding.rounds u (N / T) h).
Lemma way_up_near : `|D * clipped h - x| <= 2%:R * t + u.
Proof.
have t0 : 0 <= t := le_trans (normr_ge0 _) Nx; have [c0 c1] := andP (clipped_range h).
have [Tneg|Tpos] := leP T 0.
  have Dt : D <= t.
    apply: le_trans (_ : D - T <= _); first by rewrite ler_addl oppr_ge0.
    by apply: le_trans (ler_norm _) _; rewrite distrC.
  apply: le_trans (_ : t + t <= _); last by rewrite mulr_natl mulr2n ler_addl.
  have Dc : 0 <= D * clipped h <= t by rewrite mulr_ge0 //=; apply: le_trans Dt; rewrite ler_pimulr.
  have /andP[a0 a1] := Dc; apply: le_trans (ler_norm_sub _ _) _; apply: ler_add; first by rewrite ger0_norm.
  by rewrite ler_norml xt; apply: le_trans xD Dt.
pose q := clipped (N / T); have [q0 q1] := andP (clipped_range (N / T)).
have rq := hr (lt0r_neq0 Tpos).
have /andP[Nlo Nhi] : - t <= N - x <= t by rewrite -ler_norml.
have /andP[Tlo Thi] : - t <= T - D <= t by rewrite -ler_norml.
have [cq qx] : `|clipped h - q| <= u /\ `|q * T - x| <= t.
  have [Nneg|Npos] := ltP N 0.
    have r0 : N / T <= 0 by rewrite ler_pdivr_mulr // mul0r ltW.
    have h0 : h <= 0.
      move: rq; rewrite /Rounding.rounds ler_norml => /andP[_]; rewrite (ler0_norm r0) ler_subl_addr mulrN => le.
      by apply: le_trans le _; rewrite addrC -{1}[N / T]mul1r -mulrBl mulr_ge0_le0 // subr_ge0.
    have -> : q = 0 by rewrite /q /clipped max_r // min_l // ler01.
    have -> : clipped h = 0 by rewrite /clipped max_r // min_l // ler01.
    rewrite subrr normr0 mul0r sub0r normrN u0 ler_norml xt; split=> //.
    apply: le_trans (_ : N + t <= _); last by rewrite ger_addr ltW.
    by rewrite -ler_subl_addr addrC -ler_subr_addr.
  have r0 : 0 <= N / T by rewrite divr_ge0 // ltW.
  have h0 := rounds_ge0 u1 r0 rq; split.
    rewrite /q /clipped !max_l //; have := within_min u0 h0 (rounds_within r0 rq); rewrite /within growth1 => le.
    by apply: le_trans le _; rewrite ler_pimulr // le_minl lexx orbT.
  rewrite /q /clipped max_l //; have [le|gt] := leP (N / T) 1.
    by rewrite divfK // lt0r_neq0.
  have TN : T <= N by move: gt; rewrite ltr_pdivl_mulr // mul1r => /ltW.
  rewrite mul1r ler_norml; apply/andP; split.
    by apply: le_trans Tlo _; rewrite ler_add2l ler_opp2.
  by apply: le_trans Nhi; rewrite ler_add2r.
have -> : D * clipped h - x = (q * T - x) + q * (D - T) + D * (clipped h - q) by ring.
apply: le_trans (ler_norm_add _ _) _; apply: ler_add; last first.
  by rewrite normrM (ger0_norm D0); apply: le_trans cq; rewrite ler_pimull.
apply: le_trans (ler_norm_add _ _) _; rewrite mulr_natl mulr2n; apply: ler_add => //.
by rewrite normrM (ger0_norm q0) distrC; apply: le_trans TD; rewrite ler_pimull.
Qed.
End Coin.

Section Rounding.
Variables (V D : vocabulary) (R : realFieldType) (Mb : model V R) (c : seq V) (u nu kappa eta lambda : R) (d : nat) (Fd : R -> R).
Variables (m : nat -> nat) (e : nat -> R) (B : seq V -> V -> R).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1) (nu0 : 0 <= nu) (nu1 : both nu u < 1) (e01 : forall i, 0 <= e i < 1) (kappa0 : 0 <= kappa).
Hypothesis decided : forall h, 0 <= h <= 1 -> 0 <= Fd h <= 1 /\ `|Fd h - h| <= eta.
Hypothesis lambda0 : 0 <= lambda.
Notation rb s := (Mb (c ++ s)).
Notation rounds := (Rounding.rounds u).
Hypothesis Bb : forall s y, rel nu (rb s y) (B s y).
Variables (Q : seq V -> seq V -> V -> R) (spent : seq V -> pred (seq V)) (key : seq V -> D).
Hypotheses (Q0 : forall s elders x, 0 <= Q s elders x) (Q1 : forall s elders, ~~ spent s elders -> sumV (Q s elders) = 1).
Implicit Types (s : seq V) (P K : R) (f : seq tree) (A : seq V -> V -> R).

(* What some computation within the standard model makes of a text of computed weight P: B' is the target's row times P, of
   which a plan is made; the weight of some drafts, W, times the choice among them, a, is what the plan moves, up to kappa;
   S is the sum of what is left, and M, N, T are m, a - m and 1 - m. *)
Definition up_computed (top : bool) s (row : V -> R) h A K : R :=
  if top then draw row (A s) else flip (Fd (clipped h)) (fun accepted => if accepted then draw row (A s) else K).
Fixpoint climbs n (top : bool) s f P (E : (seq V -> V -> R) -> R -> R) : Prop :=
  match n, f with
  | n'.+1, _ :: _ =>
      exists (B' : V -> R) (L supply : D -> R) (moved a : D -> V -> R) (room row : V -> R) (W : D -> R) (S M N T h : R)
        (F : seq V -> V -> (seq V -> V -> R) -> R -> R),
      [/\ [/\ forall y, rounds (P * B s y) (B' y), forall X, rel (e (size s)) (drafted (Q s) (spent s) key (size f) X) (L X)
            & plan_after u (m (size s)) L B' moved supply room],
          forall X, [/\ 0 <= W X <= 1, forall y, 0 <= a X y, W X != 0 -> sumV (a X) = 1
            & chosen_by_the_plan kappa supply moved (fun X y => W X * a X y) X],
          [/\ sumV row = 1, forall y, 0 <= row y & exists r : V -> R, [/\ sumV r = 1, forall y, 0 <= r y,
            forall y, r y * sumV room = room y & total_variation r row <= lambda]],
          [/\ within u d (sumV room) S, rounds (P - S) M, rounds (P - M) N, rounds (1 - M) T & T != 0 -> rounds (N / T) h]
        & (forall xs y, W (key xs) != 0 -> climbs n' false (rcons s y) (go_on f xs y) (W (key xs)) (F xs y)) /\
          forall A K, E A K = siblings (Q s) (spent s) (size f) [::] (fun xs =>
            if W (key xs) == 0 then up_computed top s row h A K
            else draw (a (key xs)) (fun y => F xs y A (up_computed top s row h A K)))]
  | _, _ => exists r : V -> R, [/\ sumV r = 1, forall y, 0 <= r y, total_variation (share_of (B s)) r <= lambda
      & forall A K, E A K = if top then draw r (A s) else flip (Fd P) (fun accepted => if accepted then draw r (A s) else K)]
  end.

Definition left_off i : R := plan_off u (both nu u) (e i) kappa (m i).
Definition of_sum i : R := left_off i + growth u d * (1 + left_off i).
Definition of_moved i : R := of_sum i + u * (1 + of_sum i).
Definition of_coin i : R := of_moved i + u * (1 + of_moved i).
Definition scaled_off i : R := 2%:R * of_coin i + u + eta + 2%:R * left_off i + lambda.

Let eta0 : 0 <= eta.
Proof. by have [_ /(le_trans (normr_ge0 _))] := decided (introT andP (conj (lexx 0) (@ler01 R))). Qed.
Let nu'0 : 0 <= both nu u. Proof. exact: both_ge0. Qed.
Let nu_lt1 : nu < 1.
Proof.
apply: le_lt_trans nu1; rewrite /both; have -> : (1 + nu) * (1 + u) - 1 = nu + (u + nu * u) by ring.
by rewrite ler_addl addr_ge0 // mulr_ge0.
Qed.
Lemma left_off_ge0 i : 0 <= left_off i.
Proof.
have g := growth_ge0 u0 (m i); have /andP[ei _] := e01 i.
by apply: addr_ge0 => //; apply: addr_ge0; apply: both_ge0.
Qed.
Lemma of_coin_ge i : [/\ left_off i <= of_sum i, of_sum i <= of_moved i, of_moved i <= of_coin i & 0 <= of_coin i].
Proof.
have l0 := left_off_ge0 i; have g := growth_ge0 u0 d.
have s1 : left_off i <= of_sum i by rewrite ler_addl mulr_ge0 // addr_ge0 ?ler01.
have s0 := le_trans l0 s1.
have s2 : of_sum i <= of_moved i by rewrite ler_addl mulr_ge0 // addr_ge0 ?ler01.
have s3 : of_moved i <= of_coin i by rewrite ler_addl mulr_ge0 // addr_ge0 ?ler01 // (le_trans s0).
by split=> //; apply: le_trans s3; apply: le_trans s2.
Qed.
Lemma scaled_off_ge0 i : 0 <= scaled_off i.
Proof.
have l0 := left_off_ge0 i; have [_ _ _ c0] := of_coin_ge i.
by repeat (apply: addr_ge0 => //); rewrite mulr_ge0 // ler0n.
Qed.

Variables (gamma : nat) (U : seq V -> R).
Hypothesis UM : forall s, (size s <= gamma)%N -> U s = sumV (fun y => rb s y * U (rcons s y)).
Hypothesis U01 : forall s, 0 <= U s <= 1.
Notation out := (fun s y => U (rcons s y)).

Lemma climbs_near n (top : bool) s f P E K : climbs n top s f P E -> (size s + n)%N = gamma -> 0 <= P <= 1 -> (top -> P = 1) ->
  0 <= K <= 1 ->
  0 <= E out K <= 1 /\ `|E out K - (P * U s + (1 - P) * K)| <= \sum_(i < n) scaled_off (size s + i)%N + (nu + lambda + eta).
Proof.
have leaf (top' : bool) s' P' (E' : (seq V -> V -> R) -> R -> R) K' r : (size s' <= gamma)%N -> 0 <= P' <= 1 -> (top' -> P' = 1) -> 0 <= K' <= 1 ->
    sumV r = 1 -> (forall y, 0 <= r y) -> total_variation (share_of (B s')) r <= lambda ->
    (forall A k, E' A k = if top' then draw r (A s') else flip (Fd P') (fun accepted => if accepted then draw r (A s') else k)) ->
    0 <= E' out K' <= 1 /\ `|E' out K' - (P' * U s' + (1 - P') * K')| <= nu + lambda + eta.
  move=> le P01 P1 K01 r1 r0 rl FE; have [b0 near tv] := given_share nu_lt1 Bb s'; have [s0 s1 _] := share_row nu_lt1 b0 near.
  set X := draw r (out s'); have X01 : 0 <= X <= 1 by apply: draw_range.
  have XU : `|X - U s'| <= nu + lambda.
    rewrite (UM le) -/(draw (rb s') (out s')).
    have -> : X - draw (rb s') (out s') = (draw (share_of (B s')) (out s') - draw (rb s') (out s')) + (X - draw (share_of (B s')) (out s')) by ring.
    apply: le_trans (ler_norm_add _ _) _; apply: ler_add; first exact: le_trans (tv_bounds (row_sum Mb _) s1 (fun y => U01 _)) tv.
    exact: le_trans (tv_bounds s1 r1 (fun y => U01 _)) rl.
  have /andP[P0 P_le] := P01; have [F01 Fe] := decided P01; rewrite FE -/X; case: (top') P1 => [->//|_].
    by rewrite X01 mul1r subrr mul0r addr0; split=> //; apply: le_trans XU _; rewrite ler_addl.
  split; first exact: mix_range.
  have -> : flip (Fd P') (fun accepted => if accepted then X else K') - (P' * U s' + (1 - P') * K') = P' * (X - U s') + (Fd P' - P') * (X - K').
    by rewrite /flip; ring.
  apply: le_trans (ler_norm_add _ _) _; rewrite !normrM (ger0_norm P0); apply: ler_add.
    by apply: le_trans XU; rewrite ler_pimull.
  by apply: le_trans Fe; rewrite ler_pimulr //; apply: mix_gap.
elim: n top s f P E K => [|n IH] top s f P E K h hs P01 P1 K01; have le : (size s <= gamma)%N by rewrite -hs leq_addr.
  move: h => /= [r [r1 r0 rl FE]]; rewrite big_ord0 add0r; exact: (leaf _ _ _ _ _ r le P01 P1 K01 r1 r0 rl FE).
have s_ge0 (i j : nat) : 0 <= \sum_(l < i) scaled_off (j + l)%N by apply: sumr_ge0 => l _; apply: scaled_off_ge0.
case: f h => [|t f] h.
  move: h => /= [r [r1 r0 rl FE]]; have [g01 near] := leaf _ _ _ _ _ _ le P01 P1 K01 r1 r0 rl FE.
  by split=> //; apply: le_trans near _; rewrite ler_addr; apply: s_ge0.
move: h => [B' [L [supply [moved [a [room [row [W [S [M [N [T [h [F]]]]]]]]]]]]]].
move=> [[B'r Le plan] choices [row1 row0 [r [r1 r0 rr rl]]] [Sw SM MN MT hr] [below EE]].
have hs' y : (size (rcons s y) + n)%N = gamma by rewrite size_rcons addSnnS.
rewrite big_ord_recl addn0 (eq_bigr (fun i : 'I_n => scaled_off ((size s).+1 + i)%N)) => [|i _]; last by rewrite addSnnS.
set rest := \sum_(i < n) _; pose C := rest + (nu + lambda + eta).
set up := up_computed top s row h out K; set X := draw row (out s).
have X01 : 0 <= X <= 1 by apply: draw_range.
have [F01 Fe] := decided (clipped_range h); have /andP[P0 P_le] := P01.
have up01 : 0 <= up <= 1 by rewrite /up /up_computed; case: (top) => //; apply: mix_range.
pose a' Y y := W Y * a Y y.
have a'sum Y : sumV (a' Y) = W Y.
  have [_ _ one _] := choices Y; rewrite /a' sumVZ; have [->|nz] := eqVneq (W Y) 0; first by rewrite mul0r.
  by rewrite one ?mulr1.
have a'0 Y y : 0 <= a' Y y by have [/andP[w0 _] a0 _ _] := choices Y; apply: mulr_ge0.
pose mm y := siblings (Q s) (spent s) (size f).+1 [::] (fun xs => a' (key xs) y).
pose G xs := sumV (fun y => a' (key xs) y * U (rcons s y)) + (1 - sumV (a' (key xs))) * up.
pose Z xs := if W (key xs) == 0 then up else draw (a (key xs)) (fun y => F xs y out up).
have node xs : 0 <= Z xs <= 1 /\ `|Z xs - G xs| <= C.
  have [w01 a0 one _] := choices (key xs); rewrite /Z /G a'sum; case: eqP => [z|/eqP nz].
    split=> //; rewrite z subr0 mul1r (sumV_eq (g := fun=> 0)) => [|y]; last by rewrite /a' z !mul0r.
    rewrite sumV0 add0r subrr normr0; apply: addr_ge0; first exact: s_ge0.
    by rewrite addr_ge0 // addr_ge0.
  have nt : false -> W (key xs) = 1 by [].
  have here y := IH false _ _ _ _ up (below xs y nz) (hs' y) w01 nt up01.
  have a1 := one nz; split; first by apply: draw_range => // y; have [] := here y.
  have -> : sumV (fun y => a' (key xs) y * U (rcons s y)) + (1 - W (key xs)) * up
      = sumV (fun y => a (key xs) y * (W (key xs) * U (rcons s y) + (1 - W (key xs)) * up)).
    rewrite -[X in _ + X]mul1r -a1 -sumVZr -sumVD; apply: sumV_eq => y; rewrite /a'; ring.
  rewrite /draw -sumVB; apply: le_trans (sumV_norm _) _; rewrite -[X in _ <= X]mul1r -[X in _ <= X * _]a1 -sumVZr.
  apply: sumV_le => y; rewrite -mulrBr normrM (ger0_norm (a0 y)); apply: ler_wpmul2l => //.
  by have [_] := here y; rewrite size_rcons.
have EZ : E out K = siblings (Q s) (spent s) (size f).+1 [::] (fun xs => Z xs) by exact: EE.
rewrite EZ; split; first by apply: siblings_range => // [|xs]; [exact: Q1 | have [] := node xs].
have near := siblings_off (Q0 s) (@Q1 s) (size f).+1 (fun xs => proj2 (node xs)).
have GE := siblings_draw (@Q1 s) (size f).+1 (fun xs => a' (key xs)) (fun y => U (rcons s y)) up.
rewrite -/mm in GE; rewrite [X in _ - X]GE {GE} in near.
clear IH leaf s_ge0 below EE EZ node hs'.
set Mm := sumV mm in near.
have Mm01 : 0 <= Mm <= 1.
  rewrite /Mm /mm -siblings_sumV; apply: siblings_range => // [|xs]; first exact: Q1.
  by rewrite a'sum; have [] := choices (key xs).
have /andP[M0 M1] := Mm01.
pose be y := P * rb s y - mm y; pose x := P - Mm.
have xE : sumV be = x by rewrite /be sumVB sumVZ row_sum mulr1.
have b0 y : 0 <= P * rb s y by apply: mulr_ge0.
have b1 : sumV (fun y => P * rb s y) <= 1 by rewrite sumVZ row_sum mulr1.
have Bb' y : rel (both nu u) (P * rb s y) (B' y).
  apply: (rel_rounds u0 nu0 (b0 y) _ (B'r y)); rewrite /rel -mulrBr normrM (ger0_norm P0) mulrCA.
  by apply: ler_wpmul2l => //; apply: Bb.
have /andP[e0 e1] := e01 (size s).
have := left_near u0 u1 (Q0 s) (@Q1 s) nu'0 nu1 e0 e1 b0 b1 Bb' Le plan (fun Y => let: And4 _ _ _ ch := choices Y in ch).
rewrite -/(left_off _) -[fun y => _]/be; set de := left_off _ => ap.
have [l_s l_m l_c c0] := of_coin_ge (size s); rewrite -/de in l_s.
have de0 : 0 <= de := left_off_ge0 _.
have room0 : 0 <= sumV room.
  have L0 Y : 0 <= L Y := given_ge0 e1 (drafted_ge0 _ _ (Q0 s) (@Q1 s) Y) (Le Y).
  have B'0 y : 0 <= B' y := @given_ge0 _ _ _ nu1 (fun y => P * rb s y) B' y (b0 y) (Bb' y).
  by have [_ ro _ _ _] := plan_near u0 u1 L0 B'0 plan; apply: sumV_ge0.
have rx : `|sumV room - x| <= de by rewrite -xE; apply: le_trans (apart_sum _ _) ap.
have /andP[rlo rhi] : - de <= sumV room - x <= de by rewrite -ler_norml.
have x1 : x <= 1 by rewrite ler_subl_addr (le_trans P_le) // ler_addl.
have x_ge : -1 <= x by rewrite ler_subr_addr; apply: le_trans P0; rewrite addrC subr_le0.
have x_abs : `|x| <= 1 by rewrite ler_norml x_ge.
have xde : - de <= x by rewrite ler_oppl; apply: le_trans rhi; rewrite ler_addr.
have room1 : sumV room <= 1 + de by rewrite -ler_subl_addl (le_trans _ rhi) // ler_add2l ler_oppl opprK.
have Sx : `|S - x| <= of_sum (size s).
  have -> : S - x = (sumV room - x) + (S - sumV room) by ring.
  apply: le_trans (ler_norm_add _ _) _; apply: ler_add => //; apply: le_trans Sw _.
  by apply: ler_wpmul2l => //; apply: growth_ge0.
have Mx : `|M - Mm| <= of_moved (size s).
  have -> : M - Mm = (x - S) + (M - (P - S)) by rewrite /x; ring.
  apply: le_trans (ler_norm_add _ _) _; apply: ler_add; first by rewrite distrC.
  apply: le_trans SM _; apply: ler_wpmul2l => //; have -> : P - S = Mm + (x - S) by rewrite /x; ring.
  by apply: le_trans (ler_norm_add _ _) _; apply: ler_add; [rewrite ger0_norm | rewrite distrC].
have close z z' (w : R) : `|z| <= 1 -> rounds (z + (Mm - M)) z' -> z' - z = w -> `|w| <= of_coin (size s).
  move=> z1 hz <-; have -> : z' - z = (Mm - M) + (z' - (z + (Mm - M))) by ring.
  apply: le_trans (ler_norm_add _ _) _; apply: ler_add; first by rewrite distrC.
  apply: le_trans hz _; apply: ler_wpmul2l => //.
  by apply: le_trans (ler_norm_add _ _) _; apply: ler_add => //; rewrite distrC.
have Nx : `|N - x| <= of_coin (size s).
  by apply: (close x N) => //; have -> : x + (Mm - M) = P - M by rewrite /x; ring.
have D0 : 0 <= 1 - Mm by rewrite subr_ge0.
have D1 : 1 - Mm <= 1 by rewrite ler_subl_addr ler_addl.
have TD : `|T - (1 - Mm)| <= of_coin (size s).
  by apply: (close (1 - Mm) T) => //; [rewrite ger0_norm | have -> : 1 - Mm + (Mm - M) = 1 - M by ring].
have xt : - of_coin (size s) <= x.
  by apply: le_trans xde; rewrite ler_opp2 (le_trans l_s) // (le_trans l_m).
have xD : x <= 1 - Mm by rewrite ler_add2r.
have coin := way_up_near u0 u1 D0 D1 xD xt Nx TD hr.
pose over_U := sumV (fun y => be y * U (rcons s y)).
have kept : `|x * X - over_U| <= 2%:R * de + lambda.
  have -> : x * X - over_U = (x * draw r (out s) - over_U) + x * (X - draw r (out s)) by ring.
  apply: le_trans (ler_norm_add _ _) _; apply: ler_add; last first.
    rewrite normrM; apply: le_trans (_ : 1 * `|X - draw r (out s)| <= _); first exact: ler_wpmul2r.
    by rewrite mul1r; apply: le_trans (tv_bounds r1 row1 (fun y => U01 _)) rl.
  apply: le_trans (_ : 2%:R * apart be room <= _); last by apply: ler_wpmul2l; rewrite ?ler0n.
  apply: le_trans (normalised_near be r1 r0 rr); rewrite xE /draw -sumVZ /over_U -sumVB.
  apply: le_trans (sumV_norm _) _; apply: sumV_le => y; have /andP[y0 y1] := U01 (rcons s y).
  by rewrite mulrA -mulrBl normrM (ger0_norm y0); apply: ler_pimulr.
have upE : `|(1 - Mm) * up - (over_U + (1 - P) * K)| <= 2%:R * of_coin (size s) + u + eta + 2%:R * de + lambda.
  rewrite -[X in _ <= X]addrA; rewrite /up /up_computed -/X; case: (top) P1 => [P1|_].
    have xDE : 1 - Mm = x by rewrite /x P1.
    rewrite P1 // subrr mul0r addr0 xDE; apply: le_trans kept _; rewrite ler_addr addr_ge0 // addr_ge0 //.
    by rewrite mulr_ge0 // ler0n.
  rewrite /flip; set Fh := Fd (clipped h).
  have -> : (1 - Mm) * (Fh * X + (1 - Fh) * K) - (over_U + (1 - P) * K)
    = ((1 - Mm) * clipped h - x + (1 - Mm) * (Fh - clipped h)) * (X - K) + (x * X - over_U) by rewrite /x; ring.
  apply: le_trans (ler_norm_add _ _) _; apply: ler_add => //; rewrite normrM.
  apply: le_trans (_ : `|(1 - Mm) * clipped h - x + (1 - Mm) * (Fh - clipped h)| <= _).
    by rewrite ler_pimulr //; apply: mix_gap.
  apply: le_trans (ler_norm_add _ _) _; apply: ler_add => //.
  by rewrite normrM (ger0_norm D0); apply: le_trans Fe; rewrite ler_pimull.
have target : P * U s = sumV (fun y => mm y * U (rcons s y)) + over_U.
  by rewrite (UM le) -sumVZ /over_U -sumVD; apply: sumV_eq => y; rewrite /be; ring.
set EZ' := siblings _ _ _ _ _ in near *; set kU := sumV _ in near target.
have -> : EZ' - (P * U s + (1 - P) * K) = (EZ' - (kU + (1 - Mm) * up)) + ((1 - Mm) * up - (over_U + (1 - P) * K)).
  by rewrite target; ring.
apply: le_trans (ler_norm_add _ _) _; apply: le_trans (ler_add near upE) _.
by rewrite le_eqVlt; apply/orP; left; apply/eqP; rewrite /C /scaled_off -/de; ring.
Qed.

End Rounding.

(* The law of the text, completed by the target: no event of it, and no mean g of one in [0, 1], is further off. *)
Theorem scaled_transport_rounding (V D : vocabulary) (R : realFieldType) (Mb : model V R) (c : seq V) (u nu kappa eta lambda : R)
    (d : nat) (Fd : R -> R) (m : nat -> nat) (e : nat -> R) (B : seq V -> V -> R) (Q : seq V -> seq V -> V -> R)
    (spent : seq V -> pred (seq V)) (key : seq V -> D) gamma f E (g : seq V -> R) (K : R) :
  0 <= u <= 1 -> 0 <= nu -> both nu u < 1 -> (forall i, 0 <= e i < 1) -> 0 <= kappa -> 0 <= lambda ->
  (forall h, 0 <= h <= 1 -> 0 <= Fd h <= 1 /\ `|Fd h - h| <= eta) ->
  (forall s y, rel nu (Mb (c ++ s) y) (B s y)) ->
  (forall s elders x, 0 <= Q s elders x) -> (forall s elders, ~~ spent s elders -> sumV (Q s elders) = 1) ->
  climbs u kappa lambda d Fd m e B Q spent key gamma true [::] f 1 E ->
  (forall o, 0 <= g o <= 1) -> 0 <= K <= 1 ->
  `|E (fun s y => complete Mb gamma c g (rcons s y)) K - gen Mb gamma.+1 c g|
  <= \sum_(i < gamma) scaled_off u nu kappa eta lambda d m e i + (nu + lambda + eta).
Proof.
move=> /andP[u0 u1] nu0 nu1 e01 kappa0 lambda0 dec Bb Q0 Q1 h g01 K01.
pose U := complete Mb gamma c g; have UM := complete_fair Mb c (gamma := gamma) g.
have U01 s : 0 <= U s <= 1.
  apply/andP; split; first by apply: gen_ge0 => z _; have /andP[] := g01 (s ++ z).
  rewrite -[X in _ <= X](gen_const Mb (gamma.+1 - size s) (c ++ s)); apply: gen_le => z _.
  by have /andP[] := g01 (s ++ z).
have P01 : 0 <= (1 : R) <= 1 by rewrite ler01 lexx.
have [_] := climbs_near u0 u1 nu0 nu1 e01 kappa0 dec lambda0 Bb Q0 Q1 UM U01 h (add0n gamma) P01 (fun _ => erefl) K01.
by rewrite subrr mul0r addr0 mul1r /U {2}/complete subn0 cats0.
Qed.
