(* Traversal verification computed in floating point, on draft trees of every shape: a bound on the law's error that
   counts each node once.  What is assumed is the standard model of Rounding.v. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum zify.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Models Algorithms Verifier Block SubBlocks Precision Rounding BlockRounding ProblemRounding SeveralDrafts TreeRounding SiblingRounding DescentRounding.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

(* At most n siblings, whatever is drawn. *)
Inductive sized (V : vocabulary) (R : realFieldType) : nat -> drafts V R -> Prop :=
| SizedDone n : sized n (Done V R)
| SizedSibling i j q below next : (forall x, sized i (below x)) -> (forall x, sized j (next x)) ->
    sized (i + j).+1 (Sibling q below next).

(* The coin of a whole node: the bound of ProblemRounding.v, whatever the rows. *)
Section CoinAll.
Variables (V : vocabulary) (R : realFieldType) (u nu : R) (d : nat) (r q : V -> R) (P : R).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1) (nu0 : 0 <= nu) (nu1 : nu < 1) (d1 : growth u d < 1).
Hypotheses (r0 : forall y, 0 <= r y) (r1 : sumV r = 1) (q0 : forall y, 0 <= q y) (q1 : sumV q = 1) (P01 : 0 <= P <= 1).
Definition sum_all : R := weights_all u nu + growth u d * (1 + weights_all u nu).
Definition shifted_all : R := sum_all + u * (2%:R + sum_all).
Definition normaliser_all : R := shifted_all + u * (1 + shifted_all).
Definition node_off : R := normaliser_all + u.
Let P0 : 0 <= P. Proof. by case/andP: P01. Qed.
Let P1 : P <= 1. Proof. by case/andP: P01. Qed.
Let g0 : 0 <= growth u d. Proof. exact: growth_ge0. Qed.
Let one0 : 0 <= 1 + u. Proof. by rewrite addr_ge0 ?ler01. Qed.
Let W0 := weights_all_ge0 u0 nu0.
Lemma weights_near_ge0 : 0 <= weights_near u nu 0 r q P.
Proof.
apply: sumV_ge0 => y; rewrite /weight_near; case: ifP => // _; have e0 := weight_error_ge0 u0 nu0.
have y0 : 0 <= weight_error u nu 0 * (P * r y) + nu * q y by apply: addr_ge0; apply: mulr_ge0 => //; apply: mulr_ge0.
have z0 : 0 <= over r q P y := over_ge0 _ _ _ _.
by apply: addr_ge0; apply: mulr_ge0.
Qed.
Lemma node_off_ge0 : [/\ 0 <= sum_all, 0 <= shifted_all, 0 <= normaliser_all & 0 <= node_off].
Proof.
have S0 : 0 <= sum_all by apply: addr_ge0 => //; apply: mulr_ge0 => //; rewrite addr_ge0 ?ler01.
have T0 : 0 <= shifted_all by apply: addr_ge0 => //; apply: mulr_ge0 => //; rewrite addr_ge0 ?ler0n.
have N0 : 0 <= normaliser_all by apply: addr_ge0 => //; apply: mulr_ge0 => //; rewrite addr_ge0 ?ler01.
by split=> //; apply: addr_ge0.
Qed.
Lemma coin_all : coin_near_bound u nu 0 d r q P <= node_off.
Proof.
have x1 : excess r q P <= 1 by apply: le_trans (excess_le r0 r1 q0 P01) P1.
have x0 : 0 <= excess r q P by apply: sumV_ge0 => y; apply: over_ge0.
have W := weights_apart_all u0 nu0 r0 r1 q0 q1 P01; have Wh0 := weights_near_ge0.
have s0 : 0 <= share r q P by apply: sumV_ge0 => y; rewrite le_minr q0 mulr_ge0.
have D1 : 1 - share r q P <= 1 by rewrite ler_subl_addr ler_addl.
have D0 : 0 <= 1 - share r q P by rewrite subr_ge0; apply: le_trans (share_le q r1 P) P1.
have [S0 T0 N0 _] := node_off_ge0.
have Sh0 : 0 <= sum_near_here u nu 0 d r q P by apply: addr_ge0 => //; apply: mulr_ge0 => //; apply: addr_ge0.
have S : sum_near_here u nu 0 d r q P <= sum_all.
  by apply: ler_add => //; apply: ler_wpmul2l => //; apply: ler_add.
have Th0 : 0 <= shifted u nu 0 d r q P.
  by rewrite /shifted mul0r addr0; apply: addr_ge0 => //; apply: mulr_ge0 => //; rewrite addr_ge0 ?ler01 // addr_ge0.
have T : shifted u nu 0 d r q P <= shifted_all.
  rewrite /shifted mul0r addr0; apply: ler_add => //; apply: ler_wpmul2l => //.
  by rewrite -[2%:R]/(1 + 1) addrAC; apply: ler_add => //; apply: ler_add.
have Nh0 : 0 <= normaliser_near_here u nu 0 d r q P by apply: addr_ge0 => //; apply: mulr_ge0 => //; apply: addr_ge0.
have N : normaliser_near_here u nu 0 d r q P <= normaliser_all.
  by apply: ler_add => //; apply: ler_wpmul2l => //; apply: ler_add.
have m1 : most u nu 0 d r q P <= 1 by rewrite /most; case: ifP => // _; rewrite le_minl lexx orbT.
have own0 : 0 <= own_near_here u nu 0 d r q P.
  rewrite /own_near_here mul0r subr0 subr_ge0 /normaliser_near_here /shifted mul0r addr0.
  have a0 : 0 <= u * (excess r q P + sum_near_here u nu 0 d r q P + 1) by apply: mulr_ge0 => //; rewrite addr_ge0 ?ler01 // addr_ge0.
  by rewrite -addrA ler_addl addr_ge0 // mulr_ge0 // addr_ge0 // addr_ge0.
have l0 : 0 <= least u nu 0 d r q P by rewrite /least; case: ifP => // _; rewrite le_maxr lexx orbT.
apply: le_trans (_ : sum_near_here u nu 0 d r q P + (own_near_here u nu 0 d r q P + u * (1 - share r q P)) <= _).
  apply: ler_add; first by rewrite ler_pimull // ler_subl_addr ler_addl.
  by rewrite mul0r add0r ler_pimull // addr_ge0 // mulr_ge0.
rewrite /own_near_here mul0r subr0 addrA; apply: ler_add; last by rewrite ler_pimulr.
by rewrite addrCA subrr addr0.
Qed.
End CoinAll.

Section Traversal.
Variables (V : vocabulary) (R : realFieldType) (Mb : model V R) (c : seq V) (u nu eta lambda : R) (d : nat) (Fd : R -> R).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1) (nu0 : 0 <= nu) (nu1 : nu < 1) (d1 : growth u d < 1) (dnu : sum_error u d <= nu).
Hypothesis decided : forall h, 0 <= h <= 1 -> 0 <= Fd h <= 1 /\ `|Fd h - h| <= eta.
Hypotheses (lambda0 : 0 <= lambda) (lambda1 : lambda <= 1).
Variable B : seq V -> V -> R.
Notation rb s := (Mb (c ++ s)).
Notation rounds := (Rounding.rounds u).
Hypothesis Bb : forall s y, rel nu (rb s y) (B s y).
Implicit Types (s : seq V) (b q Q w : V -> R) (P K : R) (t : drafts V R) (A : seq V -> V -> R).

(* F A K is what some computation within the standard model makes of a node of computed weight P, where b is what it has
   left of the target's row, and K what comes if it is rejected: a child's weight is the computed min(P b / q, 1); after
   its branch the row is the computed max(P b - q, 0) divided by its sum e, and the weight e / (e + 1 - P), between 0 and
   1.  The root (top) is not rejected, whatever its weight. *)
Inductive traverses : bool -> seq V -> (V -> R) -> R -> drafts V R -> ((seq V -> V -> R) -> R -> R) -> Prop :=
| TraversesDone top s b P r F :
    [/\ sumV r = 1, forall y, 0 <= r y & total_variation (share_of b) r <= lambda] ->
    (forall A K, F A K = if top then draw r (A s) else flip (Fd P) (fun accepted => if accepted then draw r (A s) else K)) ->
    traverses top s b P (Done V R) F
| TraversesSibling top s b P q below next Q H w e b' a D h FA FR F :
    (forall y, rel nu (q y) (Q y)) ->
    (forall y, exists z v, [/\ rounds (b y / Q y) z, rounds (P * z) v & H y = Num.min v 1]) ->
    (forall y, exists z f, [/\ rounds (P * b y) z, rounds (z - Q y) f & w y = Num.max f 0]) ->
    within u d (sumV w) e -> (e != 0 -> forall y, rounds (w y / e) (b' y)) -> (e = 0 -> sumV b' = 1 /\ forall y, 0 <= b' y) ->
    [/\ rounds (e + 1) a, rounds (a - P) D & D != 0 -> rounds (e / D) h] ->
    (forall x, traverses false (rcons s x) (B (rcons s x)) (H x) (below x) (FA x)) ->
    (forall x, traverses top s b' (clipped h) (next x) (FR x)) ->
    (forall A K, F A K = draw q (fun x => FA x A (FR x A K))) ->
    traverses top s b P (Sibling q below next) F.

Definition branch_off : R := 2%:R * coin_off u nu + nu + 2%:R * node_off u nu d + left_all u nu.
Definition stop_off (top : bool) P : R := if top then lambda + (1 - P) else lambda * P.
Definition traversal_cost n top P : R := n%:R * branch_off + n.+1%:R * eta + stop_off top P.

Lemma traverses_range top s b P t F m A K : traverses top s b P t F -> drawn m t -> (forall s y, 0 <= A s y <= 1) ->
  (forall y, 0 <= b y) -> `|sumV b - 1| <= nu -> 0 <= P <= 1 -> 0 <= K <= 1 -> 0 <= F A K <= 1.
Proof.
move=> h; elim: h m K => {top s b P t F} [top s b P r F [r1 r0 _] FE|
    top s b P q below next Q H w e b' a D h FA FR F Qq Hr wr ew br ba _ _ IHA _ IHR FE] m K hd A01 b0 near P01 K01.
  have d01 : 0 <= draw r (A s) <= 1 by apply: draw_range.
  by rewrite FE; case: (top) => //; apply: mix_range => //; have [] := decided P01.
have [q0 q1 hb hn] := below_drawn hd; have [r0 r1 rb'] := share_row nu1 b0 near.
have [H01 _] := coins_near u0 u1 nu0 nu1 r0 r1 rb' q0 Qq P01 Hr.
have [b'0 near' _] := kept_near u0 u1 nu0 nu1 d1 dnu r0 r1 rb' q0 q1 Qq P01 wr ew br ba.
rewrite FE; apply: draw_range => // x; have [ka da] := hb x; have [kr dr] := hn x.
have [B0 Bn _] := given_share nu1 Bb (rcons s x).
apply: (IHA x _ _ da) => //; apply: (IHR x _ _ dr) => //; exact: clipped_range.
Qed.

Let eta0 : 0 <= eta.
Proof. by have [_ /(le_trans (normr_ge0 _))] := decided (introT andP (conj (lexx 0) (@ler01 R))). Qed.
Lemma sized_sibling n q below next : sized n (Sibling q below next) -> exists i j,
  [/\ n = (i + j).+1, forall x, sized i (below x) & forall x, sized j (next x)].
Proof. by move=> h; inversion h; subst; exists i, j; split. Qed.
Lemma drawn_sibling m q below next : drawn m (Sibling q below next) -> exists k,
  [/\ m = k.+1, forall x, drawn k (below x) & forall x, drawn m (next x)].
Proof. by move=> h; inversion h; subst; eexists; split. Qed.
(* What one node does, in numbers: p, e, q, X, K between 0 and 1; h is within k / D of what makes D h = x. *)
Lemma stop_share top (sh D h x k P : R) : sh + x = P -> sh + D = 1 -> `|D * h - x| <= k -> 0 <= k -> P <= 1 ->
  lambda * sh + D * stop_off top h <= stop_off top P + k.
Proof.
move=> e1 e2; rewrite ler_norml => /andP[lo hi] k0 P1; rewrite /stop_off; case: top.
  have -> : lambda * sh + D * (lambda + (1 - h)) = lambda * (sh + D) + (D - D * h) by ring.
  rewrite e2 mulr1 -addrA ler_add2l.
  have -> : 1 - P + k = D - x + k by rewrite -e1 -e2; ring.
  rewrite -addrA ler_add2l; move: lo; rewrite ler_subr_addr => lo.
  by rewrite ler_oppl opprD opprK addrC.
have -> : lambda * sh + D * (lambda * h) = lambda * (sh + D * h) by ring.
apply: le_trans (_ : lambda * (P + k) <= _).
  apply: ler_wpmul2l => //; rewrite -e1 -addrA ler_add2l.
  by rewrite -ler_subl_addl.
by rewrite mulrDr ler_add2l ler_pimull.
Qed.

Variables (gamma : nat) (U : seq V -> R).
Hypothesis UM : forall s, (size s <= gamma)%N -> U s = sumV (fun y => rb s y * U (rcons s y)).
Hypothesis U01 : forall s, 0 <= U s <= 1.
Notation out := (fun s y => U (rcons s y)).

Lemma traverses_near top s b P t F m n K : traverses top s b P t F -> drawn m t -> sized n t -> (size s + m)%N = gamma ->
  (forall y, 0 <= b y) -> `|sumV b - 1| <= nu -> 0 <= P <= 1 -> 0 <= K <= 1 ->
  `|F out K - (P * draw (share_of b) (out s) + (1 - P) * K)| <= traversal_cost n top P.
Proof.
have c0 := coin_off_ge0 u0 nu0 nu1; have [_ _ _ k0] := node_off_ge0 d u0 nu0.
have W0 := weights_all_ge0 u0 nu0.
have l0 : 0 <= left_all u nu.
  by apply: mulr_ge0; rewrite ?ler0n //; apply: addr_ge0 => //; apply: mulr_ge0 => //; rewrite addr_ge0 ?ler01.
have B0 : 0 <= branch_off by apply: addr_ge0 => //; apply: addr_ge0; [apply: addr_ge0 => //|]; apply: mulr_ge0; rewrite ?ler0n.
move=> h; elim: h m n K => {top s b P t F} [top s b P r F [r1 r0 rl] FE|
    top s b P q below next Q H w e b' a D h FA FR F Qq Hr wr ew br ba coin hA IHA hR IHR FE] m n K hd hz hs b0 near P01 K01.
  have [s0 s1 _] := share_row nu1 b0 near; have /andP[P0 P1] := P01.
  set X := draw (share_of b) (out s); set X' := draw r (out s).
  have X01 : 0 <= X <= 1 by apply: draw_range.
  have X'01 : 0 <= X' <= 1 by apply: draw_range.
  have XX : `|X' - X| <= lambda by apply: le_trans (tv_bounds s1 r1 (fun y => U01 _)) rl.
  have n0 : 0 <= n%:R * branch_off + n.+1%:R * eta by apply: addr_ge0; apply: mulr_ge0; rewrite ?ler0n.
  have ne : eta <= n%:R * branch_off + n.+1%:R * eta.
    apply: le_trans (_ : n.+1%:R * eta <= _); last by rewrite ler_addr mulr_ge0 // ler0n.
    by rewrite ler_pemull // ler1n.
  rewrite FE /traversal_cost /stop_off; case: (top).
    have -> : X' - (P * X + (1 - P) * K) = (X' - X) + (1 - P) * (X - K) by ring.
    apply: le_trans (ler_norm_add _ _) _; rewrite -[X in X <= _]add0r; apply: ler_add => //.
    apply: ler_add => //; rewrite normrM ger0_norm ?subr_ge0 //.
    by rewrite ler_pimulr ?subr_ge0 //; apply: mix_gap.
  have [_ Fe] := decided P01; rewrite /flip.
  have -> : Fd P * X' + (1 - Fd P) * K - (P * X + (1 - P) * K) = (Fd P - P) * (X' - K) + P * (X' - X) by ring.
  apply: le_trans (ler_norm_add _ _) _; rewrite !normrM (ger0_norm P0); apply: ler_add; last first.
    by rewrite mulrC; apply: ler_wpmul2r.
  apply: le_trans ne; apply: le_trans Fe; apply: ler_pimulr => //; exact: mix_gap.
have {hz}[i [j [-> zb zn]]] := sized_sibling hz.
have [q0 q1 hb hn] := below_drawn hd; have [r0 r1 rb'] := share_row nu1 b0 near; have /andP[P0 P1] := P01.
have [H01 coins] := coins_near u0 u1 nu0 nu1 r0 r1 rb' q0 Qq P01 Hr.
have [b'0 near' kept] := kept_near u0 u1 nu0 nu1 d1 dnu r0 r1 rb' q0 q1 Qq P01 wr ew br ba.
have [s0 s1 _] := share_row nu1 b'0 near'.
set r := share_of b in r0 r1 rb' coins kept *.
pose p x := next_p r q P x; pose h' := clipped h; pose G x := FR x out K.
set X := draw (share_of b') (out s); pose E2 := h' * X + (1 - h') * K.
have h'01 : 0 <= h' <= 1 := clipped_range h; have /andP[h'0 h'1] := h'01.
have p01 x : 0 <= p x <= 1 := next_p_range r0 q0 x P0.
have X01 : 0 <= X <= 1 by apply: draw_range.
have E01 : 0 <= E2 <= 1 by apply: mix_range.
have [ar Dr hr] := coin; have same : rel 0 P P by rewrite /rel subrr normr0 mul0r.
have e0 := e'_pos d1 wr ew.
have wn := w_near u0 u1 nu0 r0 rb' q0 Qq P01 wr.
have D_h : `|(1 - share r q P) * h' - excess r q P| <= node_off u nu d.
  have hx : (1 - share r q P) * h_block r q P = excess r q P by rewrite excessE //; apply: h_blockE.
  have D0 : 0 <= 1 - share r q P by rewrite subr_ge0; apply: le_trans (share_le q r1 P) P1.
  rewrite -hx -mulrBr normrM (ger0_norm D0).
  apply: le_trans (coin_here u0 u1 (lexx 0) r1 P0 P0 same P1 wn ew e0 ar Dr P1 hr) _.
  exact: (coin_all d u0 nu0 r0 r1 q0 q1 P01).
pose C := (i + j)%:R * branch_off + (i + j).+2%:R * eta.
pose T := stop_off top h'.
have [k [mk dk dm]] := drawn_sibling hd.
have hs' x : (size (rcons s x) + k)%N = gamma by rewrite size_rcons addSnnS -mk.
have UU s' y : 0 <= U (rcons s' y) <= 1 by [].
have T1 : `|lambda - T| <= 1.
  have l01 : 0 <= lambda <= 1 by rewrite lambda0.
  rewrite /T /stop_off; case: (top); first by rewrite opprD addrA subrr add0r opprB; apply: mix_gap; rewrite // ler01 lexx.
  by apply: mix_gap => //; rewrite mulr_ge0 //=; apply: mulr_ile1.
have step x : `|FA x out (G x) - (p x * U (rcons s x) + (1 - p x) * E2)|
    <= 2%:R * `|H x - p x| + (nu + C) + (lambda * p x + (1 - p x) * T).
  have [Bp Bn tv] := given_share nu1 Bb (rcons s x); have [Bs0 Bs1 _] := share_row nu1 Bp Bn.
  have G01 : 0 <= G x <= 1 by apply: (traverses_range (hR x) (dm x)).
  have A1 := IHA x k i (G x) (dk x) (zb x) (hs' x) Bp Bn (H01 x) G01.
  have R1 := IHR x m j K (dm x) (zn x) hs b'0 near' h'01 K01.
  set dB := draw (share_of (B _)) _ in A1.
  have A2 : `|dB - U (rcons s x)| <= nu.
    have le : (size (rcons s x) <= gamma)%N by rewrite -(hs' x) leq_addr.
    by rewrite (UM le); apply: le_trans (tv_bounds (row_sum Mb _) Bs1 (UU _)) tv.
  have /andP[H0 H1] := H01 x; have H1' : 0 <= 1 - H x by rewrite subr_ge0.
  have -> : FA x out (G x) - (p x * U (rcons s x) + (1 - p x) * E2)
    = (FA x out (G x) - (H x * dB + (1 - H x) * G x)) + H x * (dB - U (rcons s x)) + (1 - H x) * (G x - E2)
      + (H x - p x) * (U (rcons s x) - E2) by ring.
  apply: le_trans (ler_norm_add _ _) _; apply: le_trans (ler_add (ler_norm_add _ _) (lexx _)) _.
  apply: le_trans (ler_add (ler_add (ler_norm_add _ _) (lexx _)) (lexx _)) _.
  have j0 : 0 <= j%:R * branch_off + j.+1%:R * eta by apply: addr_ge0; apply: mulr_ge0; rewrite ?ler0n.
  have t2 : `|H x * (dB - U (rcons s x))| <= nu.
    by rewrite normrM (ger0_norm H0); apply: le_trans A2; rewrite ler_pimull.
  have t3 : `|(1 - H x) * (G x - E2)| <= j%:R * branch_off + j.+1%:R * eta + (1 - H x) * T.
    rewrite normrM (ger0_norm H1'); apply: le_trans (ler_wpmul2l H1' R1) _.
    by rewrite /traversal_cost -/T mulrDr ler_add2r ler_pimull // ler_subl_addr ler_addl.
  have t4 : `|(H x - p x) * (U (rcons s x) - E2)| <= `|H x - p x|.
    by rewrite normrM ler_pimulr //; apply: mix_gap.
  have t5 : lambda * H x + (1 - H x) * T <= `|H x - p x| + (lambda * p x + (1 - p x) * T).
    have -> : lambda * H x + (1 - H x) * T = (H x - p x) * (lambda - T) + (lambda * p x + (1 - p x) * T) by ring.
    rewrite ler_add2r; apply: le_trans (ler_norm _) _; rewrite normrM; exact: ler_pimulr.
  apply: le_trans (ler_add (ler_add (ler_add A1 t2) t3) t4) _.
  rewrite /traversal_cost /stop_off /C natrD.
  have -> : (i + j).+2%:R = i.+1%:R + j.+1%:R :> R by rewrite -natrD addSn addnS.
  have -> : i%:R * branch_off + i.+1%:R * eta + lambda * H x + nu + (j%:R * branch_off + j.+1%:R * eta + (1 - H x) * T) + `|H x - p x|
    = (nu + ((i%:R + j%:R) * branch_off + (i.+1%:R + j.+1%:R) * eta)) + `|H x - p x| + (lambda * H x + (1 - H x) * T) by ring.
  apply: le_trans (ler_add (lexx _) t5) _.
  by rewrite le_eqVlt; apply/orP; left; apply/eqP; rewrite -[2%:R]/(1 + 1); ring.
pose over_U := sumV (fun y => over r q P y * U (rcons s y)).
pose D' := 1 - share r q P; pose ex := excess r q P.
have exE : ex = P - share r q P by rewrite /ex excessE.
have target : P * draw r (out s) + (1 - P) * K = sumV (fun x => q x * (p x * U (rcons s x) + (1 - p x) * E2))
    - ((D' * h' - ex) * (X - K) + (ex * X - over_U)).
  rewrite -spread // -(step_law r0 q0 r1 (out s) P0) [(P - share _ _ _) * draw _ _]mulrC residualE // -/over_U exE /D' /E2.
  by set a1 := sumV _; set a2 := share _ _ _; ring.
have t6 : `|ex * X - over_U| <= left_all u nu.
  apply: le_trans kept; rewrite /X /draw -sumVZ /over_U -sumVB; apply: le_trans (sumV_norm _) _; apply: sumV_le => y.
  have /andP[y0 y1] := U01 (rcons s y); rewrite mulrA -mulrBl normrM (ger0_norm y0); exact: ler_pimulr.
have t7 : `|(D' * h' - ex) * (X - K)| <= node_off u nu d.
  by rewrite normrM; apply: le_trans D_h; apply: ler_pimulr => //; apply: mix_gap.
have t8 : `|sumV (fun x => q x * (FA x out (G x) - (p x * U (rcons s x) + (1 - p x) * E2)))|
    <= 2%:R * coin_off u nu + (nu + C) + (stop_off top P + node_off u nu d).
  apply: le_trans (sumV_norm _) _.
  apply: le_trans (_ : sumV (fun x => 2%:R * (q x * `|H x - p x|) + q x * (nu + C) + (lambda * (q x * p x) + q x * (1 - p x) * T)) <= _).
    apply: sumV_le => x; rewrite normrM (ger0_norm (q0 x)); apply: le_trans (ler_wpmul2l (q0 x) (step x)) _.
    by rewrite le_eqVlt; apply/orP; left; apply/eqP; ring.
  rewrite !sumVD !sumVZ !sumVZr q1 mul1r (share_next r0 q0 P0).
  have -> : sumV (fun x => q x * (1 - p x)) = D'.
    by rewrite /D' -(share_next r0 q0 P0) -[X in _ = X - _]q1 -sumVB; apply: sumV_eq => x; rewrite mulrBr mulr1.
  apply: ler_add; first by rewrite ler_add2r; apply: ler_wpmul2l; rewrite ?ler0n.
  apply: (stop_share top (x := ex)) => //; first by rewrite exE addrC subrK.
  by rewrite /D' addrC subrK.
rewrite FE target /draw -/G.
set S1 := sumV _; set S2 := sumV _.
have -> : S1 - (S2 - ((D' * h' - ex) * (X - K) + (ex * X - over_U)))
  = (S1 - S2) + ((D' * h' - ex) * (X - K) + (ex * X - over_U)) by ring.
apply: le_trans (ler_norm_add _ _) _.
have -> : S1 - S2 = sumV (fun x => q x * (FA x out (G x) - (p x * U (rcons s x) + (1 - p x) * E2))).
  by rewrite /S1 /S2 -sumVB; apply: sumV_eq => x; rewrite mulrBr.
apply: le_trans (ler_add t8 (le_trans (ler_norm_add _ _) (ler_add t7 t6))) _.
rewrite /traversal_cost /C; have -> : (i + j).+1%:R = (i + j)%:R + 1 :> R by rewrite -addn1 natrD.
by rewrite le_eqVlt; apply/orP; left; apply/eqP; rewrite /branch_off -[2%:R]/(1 + 1); ring.
Qed.
End Traversal.

(* The law of the text, completed by the target: no event of it, and no mean g of one in [0, 1], is further off. *)
Theorem traversal_rounding (V : vocabulary) (R : realFieldType) (Mb : model V R) (c : seq V) (u nu eta lambda : R) (d : nat)
    (Fd : R -> R) (B : seq V -> V -> R) gamma n (t : drafts V R) F (g : seq V -> R) (K : R) :
  0 <= u <= 1 -> 0 <= nu < 1 -> growth u d < 1 -> sum_error u d <= nu ->
  (forall h, 0 <= h <= 1 -> 0 <= Fd h <= 1 /\ `|Fd h - h| <= eta) -> 0 <= lambda <= 1 ->
  (forall s y, rel nu (Mb (c ++ s) y) (B s y)) ->
  traverses u nu lambda d Fd B true [::] (B [::]) 1 t F -> drawn gamma t -> sized n t ->
  (forall o, 0 <= g o <= 1) -> 0 <= K <= 1 ->
  `|F (fun s y => complete Mb gamma c g (rcons s y)) K - gen Mb gamma.+1 c g|
  <= n%:R * branch_off u nu d + n.+1%:R * eta + lambda + nu.
Proof.
move=> /andP[u0 u1] /andP[nu0 nu1] d1 dnu dec /andP[l0 l1] Bb h hd hz g01 K01.
have [b0 near tv] := given_share nu1 Bb [::]; have [s0 s1 _] := share_row nu1 b0 near.
pose U := complete Mb gamma c g; have UM := complete_fair Mb c (gamma := gamma) g.
have U01 s : 0 <= U s <= 1.
  apply/andP; split; first by apply: gen_ge0 => z _; have /andP[] := g01 (s ++ z).
  rewrite -[X in _ <= X](gen_const Mb (gamma.+1 - size s) (c ++ s)); apply: gen_le => z _.
  by have /andP[] := g01 (s ++ z).
have P01 : 0 <= (1 : R) <= 1 by rewrite ler01 lexx.
have := traverses_near u0 u1 nu0 nu1 d1 dnu dec l0 l1 Bb UM U01 h hd hz (add0n gamma) b0 near P01 K01.
rewrite subrr mul0r addr0 mul1r /traversal_cost /stop_off subrr addr0 => main.
have -> : gen Mb gamma.+1 c g = U [::] by rewrite /U /complete subn0 cats0.
set X := draw _ _ in main.
have -> : F (fun s y => U (rcons s y)) K - U [::] = (F (fun s y => U (rcons s y)) K - X) + (X - U [::]) by ring.
apply: le_trans (ler_norm_add _ _) _; apply: ler_add => //.
have -> : U [::] = draw (Mb (c ++ [::])) (fun y => U (rcons [::] y)) by exact: UM.
by apply: le_trans (tv_bounds (row_sum Mb _) s1 (fun y => U01 (rcons [::] y))) tv.
Qed.
