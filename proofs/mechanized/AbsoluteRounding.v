From mathcomp Require Import all_ssreflect ssralg ssrnum zify.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Algorithms Block Descent Precision Rounding ProblemRounding TreeRounding.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

(* Block and token verification where an operation is off by u of its result and by h beside it: gradual underflow.  The rows
   that a verifier is given may be off in all, not entry by entry: a softmax may give 0 where the model does not, and a token
   of the draft's row may never be drawn.  Each error counts as often as its prefix is drafted, so that none is multiplied by
   a quotient of rows. *)

Section Operations.
Variables (R : realFieldType) (u h : R).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1) (h0 : 0 <= h).
Implicit Types (a k x z t v : R).
(* The result x' of an operation that is exactly x. *)
Definition nearly x x' : Prop := `|x' - x| <= u * `|x| + h.
Lemma nearly_itself x : nearly x x.
Proof. by rewrite /nearly subrr normr0 addr_ge0 ?mulr_ge0. Qed.
Lemma rounds_nearly x x' : Rounding.rounds u x x' -> nearly x x'.
Proof. by move=> r; apply: le_trans r _; rewrite ler_addl. Qed.
Lemma min1_off g k a t : 0 <= g -> 0 <= k -> 0 <= a -> `|t - a| <= g * a + k -> 0 <= Num.min t 1 ->
  `|Num.min t 1 - Num.min a 1| <= g + k.
Proof.
move=> g0 k0 a0 le v0; have [a1|a1] := leP a 1.
  apply: le_trans (_ : `|t - a| <= _); first by have := min_near 1 a t; rewrite (min_l a1).
  by apply: le_trans le _; rewrite ler_add2r ler_pimulr.
have [t1|t1] := leP t 1; last by rewrite subrr normr0 addr_ge0.
move: v0; rewrite (min_l t1) => t0; rewrite ler0_norm ?subr_le0 // opprB.
have [g1|g1] := leP 1 g; first by apply: le_trans (_ : 1 <= _); rewrite ?ger_addl ?oppr_le0 // (le_trans g1) // ler_addl.
move: le; rewrite ler_norml => /andP[lo _].
have lo' : (1 - g) * a - k <= t by rewrite -subr_ge0; move: lo; rewrite -subr_ge0; congr (0 <= _); ring.
rewrite ler_subl_addr -ler_subl_addl; apply: le_trans lo'; rewrite opprD addrA ler_add2r.
by rewrite ler_pmulr ?subr_gt0 // ltW.
Qed.
Lemma max0_off x x' : nearly x x' -> `|Num.max x' 0 - Num.max x 0| <= u * Num.max x 0 + h.
Proof.
rewrite /nearly => r; have [le|gt] := leP x 0; last first.
  by apply: le_trans (_ : `|x' - x| <= _); [have := max0_near x x'; rewrite (max_l (ltW gt)) | rewrite -{2}(gtr0_norm gt)].
rewrite mulr0 add0r subr0 ger0_norm ?le_maxr ?lexx ?orbT // le_maxl h0 andbT.
move: r; rewrite ler_norml (ler0_norm le) => /andP[_]; rewrite ler_subl_addr => /le_trans; apply.
by rewrite mulrN addrAC ger_addr addrC -{1}[x]mul1r -mulrBl mulr_ge0_le0 // subr_ge0.
Qed.
(* A draft's probability divided out: what S is off by counts as it is. *)
Lemma quotient_off a s S : 0 < s -> 0 < S -> 0 <= a -> `|s * Num.min (a / S) 1 - Num.min a s| <= `|S - s|.
Proof.
move=> s0 S0 a0; set t := Num.min (a / S) 1.
have t0 : 0 <= t by rewrite le_minr ler01 andbT divr_ge0 // ltW.
have t1 : t <= 1 by rewrite /t le_minl lexx orbT.
have tS : t * S <= a by rewrite -ler_pdivl_mulr // /t le_minl lexx.
have nS : t * `|S - s| <= `|S - s| by rewrite ler_pimull.
rewrite ler_norml; apply/andP; split.
  rewrite ler_subr_addr addrC ler_subl_addr /t; have [le|gt] := leP (a / S) 1.
    apply: le_trans (_ : a <= _); first by rewrite le_minl lexx.
    have ta : t = a / S by rewrite /t min_l.
    have aE : a = t * S by rewrite ta divfK ?gt_eqF.
    have d : a - s * t <= `|S - s|.
      rewrite {1}aE [s * t]mulrC -mulrBr; apply: le_trans nS; apply: ler_wpmul2l => //; exact: ler_norm.
    by move: d; rewrite ler_subl_addr addrC -ta.
  by rewrite mulr1 le_minl ler_addl normr_ge0 orbT.
rewrite ler_subl_addr; have [le|gt] := leP a s; last by apply: le_trans (_ : s <= _); [rewrite ler_pimulr // ltW | rewrite ler_addr].
rewrite -ler_subl_addr; apply: le_trans (_ : s * t - t * S <= _); first by rewrite ler_add2l ler_opp2.
rewrite [s * t]mulrC -mulrBr distrC; apply: le_trans (ler_wpmul2l t0 (ler_norm _)) _.
by rewrite distrC.
Qed.
End Operations.

(* One step: rows b and s, as the code has them B and S, off by ob and os in all; p the exact survival of the prefix and P the
   computed one.  Quotients by an S of at most tau, where they might overflow or divide by 0, may be anything in [0, 1]. *)
Section Step.
Variables (V : vocabulary) (R : realFieldType) (u h ob os tau : R) (b s B S : V -> R) (p P : R).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1) (h0 : 0 <= h) (tau0 : 0 <= tau).
Hypotheses (b0 : forall y, 0 <= b y) (s0 : forall y, 0 <= s y) (b1 : sumV b = 1) (s1 : sumV s = 1).
Hypotheses (B0 : forall y, 0 <= B y) (S0 : forall y, 0 <= S y).
Hypotheses (Bb : apart b B <= ob) (Ss : apart s S <= os).
Hypotheses (p01 : 0 <= p <= 1) (P01 : 0 <= P <= 1).
Notation nearby := (nearly u h).
Notation E := (`|P - p|).
Notation n := (size (tokens V))%:R.
Definition alone : R := (2%:R + u) * h.
Definition last_off : R := growth u 2 * (1 + ob) + n * alone + ob + os.
Definition next_off : R := growth u 2 + alone + n * tau + ob + 2%:R * os.
Let p0 : 0 <= p. Proof. by case/andP: p01. Qed.
Let P0 : 0 <= P. Proof. by case/andP: P01. Qed.
Let P1 : P <= 1. Proof. by case/andP: P01. Qed.
Let g0 : 0 <= growth u 2. Proof. exact: growth_ge0. Qed.
Let g2E : growth u 2 = 2%:R * u + u * u. Proof. by rewrite /growth -[2%:R]/(1 + 1); ring. Qed.
Let k0 : 0 <= alone. Proof. by rewrite mulr_ge0 // addr_ge0 ?ler0n. Qed.
Lemma sumV_const (a : R) : sumV (fun _ : V => a) = n * a.
Proof.
rewrite sumVE sumr_const mulr_natl; congr (_ *+ _).
by rewrite (perm_size (tokens_ok V)) -cardE.
Qed.
Lemma given_sum : sumV B <= 1 + ob.
Proof.
have := le_trans (ler_norm _) (le_trans (apart_sum b B) Bb).
by rewrite b1 ler_subl_addr addrC.
Qed.

Definition next_computed y v : Prop := 0 <= v <= 1 /\
  (tau < S y -> exists r t, [/\ nearby (B y / S y) r, nearby (P * r) t & v = Num.min t 1]).
Lemma next_near (v : V -> R) : (forall y, next_computed y (v y)) -> sumV (fun y => s y * `|v y - next_p b s p y|) <= E + next_off.
Proof.
move=> hv; apply: le_trans (_ : sumV (fun y => E * b y + `|B y - b y| + 2%:R * `|S y - s y| + tau + s y * (growth u 2 + alone)) <= _);
  last first.
  rewrite !sumVD !sumVZ !sumVZr s1 b1 mulr1 mul1r sumV_const /next_off.
  have -> : E + (growth u 2 + alone + n * tau + ob + 2%:R * os) = E + ob + 2%:R * os + n * tau + (growth u 2 + alone) by ring.
  rewrite !ler_add2r -!addrA ler_add2l; apply: ler_add; first exact: Bb.
  by apply: ler_wpmul2l; rewrite ?ler0n //; apply: Ss.
apply: sumV_le => y; have [v01 hv'] := hv y; have /andP[v0 v1] := v01.
have /andP[q0 q1] := next_p_range b0 s0 y p0.
have nB := normr_ge0 (B y - b y); have nS := normr_ge0 (S y - s y).
have one : `|v y - next_p b s p y| <= 1.
  rewrite ler_norml; apply/andP; split; first by rewrite ler_subr_addr addrC (le_trans _ v0) // subr_le0.
  by rewrite ler_subl_addr (le_trans v1) // ler_addl.
have rest : 0 <= E * b y + `|B y - b y| by rewrite addr_ge0 // mulr_ge0.
have gk : 0 <= s y * (growth u 2 + alone) by rewrite mulr_ge0 // addr_ge0.
have [small|big] := leP (S y) tau.
  apply: le_trans (_ : s y <= _); first by rewrite ler_pimulr.
  apply: le_trans (_ : `|S y - s y| + tau <= _).
    rewrite -ler_subl_addr; apply: le_trans (_ : s y - S y <= _); first by rewrite ler_add2l ler_opp2.
    by rewrite distrC ler_norm.
  rewrite -[X in X <= _]addr0; apply: ler_add gk; rewrite ler_add2r -[X in X <= _]add0r; apply: ler_add rest _.
  by rewrite -[2%:R]/(1 + 1) mulrDl mul1r ler_addl.
have Sp : 0 < S y := le_lt_trans tau0 big.
have [z|nz] := eqVneq (s y) 0.
  by rewrite !z !mul0r addr0; apply: addr_ge0 tau0; rewrite addr_ge0 // mulr_ge0 ?ler0n.
have sp : 0 < s y by rewrite lt0r nz s0.
have [r [t [hr ht vE]]] := hv' big; set q := B y / S y in hr.
have q0' : 0 <= q by rewrite divr_ge0.
have tn : `|t - P * q| <= growth u 2 * (P * q) + alone.
  have rr : `|P * r - P * q| <= P * (u * q + h).
    rewrite -mulrBr normrM (ger0_norm P0); apply: ler_wpmul2l => //.
    by move: hr; rewrite /nearly (ger0_norm q0').
  have Pr : `|P * r| <= P * q + P * (u * q + h).
    have -> : P * r = P * q + (P * r - P * q) by ring.
    by apply: le_trans (ler_norm_add _ _) _; rewrite (ger0_norm (mulr_ge0 P0 q0')) ler_add2l.
  have -> : t - P * q = (t - P * r) + (P * r - P * q) by ring.
  apply: le_trans (ler_norm_add _ _) _; apply: le_trans (ler_add (le_trans ht _) rr) (_ : u * (P * q + P * (u * q + h)) + h + P * (u * q + h) <= _).
    by rewrite ler_add2r; apply: ler_wpmul2l.
  have -> : u * (P * q + P * (u * q + h)) + h + P * (u * q + h) = growth u 2 * (P * q) + (P * ((1 + u) * h) + h).
    by rewrite g2E -[2%:R]/(1 + 1); ring.
  rewrite ler_add2l /alone; have -> : (2%:R + u) * h = (1 + u) * h + h by rewrite -[2%:R]/(1 + 1); ring.
  by rewrite ler_add2r ler_pimull // mulr_ge0 // addr_ge0 ?ler01.
have PB0 : 0 <= P * B y by rewrite mulr_ge0.
have v0' : 0 <= Num.min t 1 by rewrite -vE.
have d1 : `|v y - Num.min (P * q) 1| <= growth u 2 + alone by rewrite vE; apply: min1_off tn v0' => //; apply: mulr_ge0.
have d2 := quotient_off sp Sp PB0; rewrite -mulrA -/q in d2.
have d3 : `|Num.min (P * B y) (s y) - Num.min (p * b y) (s y)| <= E * b y + `|B y - b y|.
  apply: le_trans (_ : `|P * B y - p * b y| <= _).
    have mn (a c d : R) : `|Num.min a d - Num.min c d| <= `|a - c|.
      have [l|l] := leP a d; have [l'|l'] := leP c d; rewrite ?subrr ?normr0 //.
      - by rewrite ler0_norm ?subr_le0 // distrC opprB; apply: le_trans (ler_norm _); rewrite ler_add2r ltW.
      - by rewrite ger0_norm ?subr_ge0 //; apply: le_trans (ler_norm _); rewrite ler_add2r ltW.
    exact: mn.
  have -> : P * B y - p * b y = (P - p) * b y + P * (B y - b y) by ring.
  apply: le_trans (ler_norm_add _ _) _; rewrite !normrM (ger0_norm (b0 y)) (ger0_norm P0) ler_add2l.
  by rewrite ler_pimull.
have -> : s y * `|v y - next_p b s p y| = `|s y * (v y - next_p b s p y)| by rewrite normrM (ger0_norm (s0 y)).
have -> : s y * (v y - next_p b s p y) = s y * (v y - Num.min (P * q) 1) + ((s y * Num.min (P * q) 1 - Num.min (P * B y) (s y))
    + (Num.min (P * B y) (s y) - Num.min (p * b y) (s y))).
  by rewrite -(next_pE b0 s0 y p0); ring.
apply: le_trans (ler_norm_add _ _) _; rewrite addrC; apply: ler_add.
  apply: le_trans (ler_norm_add _ _) _; rewrite addrC -[X in X <= _]addr0; apply: ler_add tau0; apply: ler_add d3 _.
  by apply: le_trans d2 _; rewrite -[2%:R]/(1 + 1) mulrDl mul1r ler_addl.
by rewrite normrM (ger0_norm (s0 y)); apply: ler_wpmul2l.
Qed.

(* The weights of the last token. *)
Definition weight_computed y w : Prop := exists z e, [/\ nearby (P * B y) z, nearby (z - S y) e & w = Num.max e 0].
Lemma last_apart (w : V -> R) : (forall y, weight_computed y (w y)) -> apart (over b s p) w <= E + last_off.
Proof.
move=> hw; apply: le_trans (_ : sumV (fun y => E * b y + `|B y - b y| + `|S y - s y| + alone + growth u 2 * B y) <= _); last first.
  rewrite !sumVD sumV_const !sumVZ b1 mulr1 /last_off.
  have -> : E + (growth u 2 * (1 + ob) + n * alone + ob + os) = E + ob + os + n * alone + growth u 2 * (1 + ob) by ring.
  apply: ler_add; last by apply: ler_wpmul2l => //; apply: given_sum.
  by rewrite ler_add2r -!addrA ler_add2l; apply: ler_add; [apply: Bb | apply: Ss].
apply: sumV_le => y; have [z [e [hz he ->]]] := hw y.
have PB0 : 0 <= P * B y by rewrite mulr_ge0.
have PB : P * B y <= B y by rewrite ler_pimull.
have hz' : `|z - P * B y| <= u * B y + h.
  by apply: le_trans hz _; rewrite (ger0_norm PB0) ler_add2r; apply: ler_wpmul2l.
have zS : Num.max (z - S y) 0 <= (1 + u) * B y + h.
  have c0 : 0 <= (1 + u) * B y + h by apply: addr_ge0 => //; apply: mulr_ge0 => //; apply: addr_ge0; rewrite ?ler01.
  rewrite le_maxl c0 andbT ler_subl_addr -[X in X <= _]addr0; apply: ler_add => //.
  have := le_trans (ler_norm _) hz'; rewrite ler_subl_addr => /le_trans; apply.
  have -> : (1 + u) * B y + h = u * B y + h + B y by ring.
  by rewrite ler_add2l.
have d1 : `|Num.max e 0 - Num.max (z - S y) 0| <= u * ((1 + u) * B y + h) + h.
  by apply: le_trans (max0_off u1 h0 he) _; rewrite ler_add2r; apply: ler_wpmul2l.
have d2 : `|Num.max (z - S y) 0 - over b s p y| <= u * B y + h + `|B y - b y| + E * b y + `|S y - s y|.
  apply: le_trans (max0_near _ _) _.
  have -> : z - S y - (p * b y - s y) = (z - P * B y) + P * (B y - b y) + (P - p) * b y - (S y - s y) by ring.
  apply: le_trans (ler_norm_sub _ _) _; rewrite ler_add2r.
  apply: le_trans (ler_norm_add _ _) _; rewrite normrM (ger0_norm (b0 y)) ler_add2r.
  apply: le_trans (ler_norm_add _ _) _; rewrite normrM (ger0_norm P0); apply: ler_add hz' _.
  by rewrite ler_pimull.
have -> : Num.max e 0 - over b s p y = (Num.max e 0 - Num.max (z - S y) 0) + (Num.max (z - S y) 0 - over b s p y) by ring.
apply: le_trans (ler_norm_add _ _) _; apply: le_trans (ler_add d1 d2) _.
have -> : E * b y + `|B y - b y| + `|S y - s y| + alone + growth u 2 * B y
  = u * ((1 + u) * B y + h) + h + (u * B y + h + `|B y - b y| + E * b y + `|S y - s y|).
  by rewrite g2E /alone -[2%:R]/(1 + 1); ring.
exact: lexx.
Qed.
Lemma row_drawn (w r : V -> R) : (forall y, weight_computed y (w y)) -> (forall y, r y * sumV w = w y) -> sumV r = 1 -> (forall y, 0 <= r y) ->
  excess b s p * total_variation (residual b s p) r <= E + last_off.
Proof.
move=> hw rw r1 r0; have x0 : 0 <= excess b s p by apply: sumV_ge0 => y; apply: over_ge0.
have wa := last_apart hw; have [z|nz] := eqVneq (excess b s p) 0.
  by rewrite z mul0r; apply: le_trans wa; apply: sumV_ge0.
rewrite /total_variation mulrA ler_pdivr_mulr ?ltr0n // -sumVZ [X in _ <= X]mulrC.
apply: le_trans (_ : 2%:R * apart (over b s p) w <= _); last by apply: ler_wpmul2l; rewrite ?ler0n.
apply: le_trans (normalised_near (over b s p) r1 r0 rw); apply: sumV_le => y.
rewrite -{1}(ger0_norm x0) -normrM mulrBr /residual (negPf nz) [excess b s p * (_ / _)]mulrC divfK //.
Qed.

(* The coin: e' the computed sum of the weights, off by G of the sum and by K beside it. *)
Variables (w : V -> R) (G K e' a' D' : R).
Hypotheses (G0 : 0 <= G) (K0 : 0 <= K) (hw : forall y, weight_computed y (w y)).
Hypotheses (e'0 : 0 <= e') (e'w : `|e' - sumV w| <= G * sumV w + K).
Hypotheses (ar : nearby (e' + 1) a') (Dr : nearby (a' - P) D').
Notation x := (excess b s p).
Notation D := (1 - share b s p).
Definition sum_off : R := (1 + G) * (E + last_off) + G + K.
Definition shift_off : R := (1 + u) * sum_off + E + 2%:R * u + h.
Definition normaliser_off : R := (1 + u) * shift_off + u + h.
Definition coin_off : R := normaliser_off + sum_off + (u + h).
Let x0 : 0 <= x. Proof. by apply: sumV_ge0 => y; apply: over_ge0. Qed.
Let xp : x <= p. Proof. by rewrite excessE // ler_subl_addr ler_addl sumV_ge0 // => y; rewrite le_minr s0 mulr_ge0. Qed.
Let x1 : x <= 1. Proof. by apply: le_trans xp _; case/andP: p01. Qed.
Let sum_near : `|e' - x| <= sum_off.
Proof.
have wa := last_apart hw; have ws : `|sumV w - x| <= E + last_off by apply: le_trans (apart_sum (over b s p) w) wa.
have wx : sumV w <= 1 + (E + last_off).
  by have := le_trans (ler_norm _) ws; rewrite ler_subl_addr addrC => /le_trans; apply; rewrite ler_add2r.
have -> : e' - x = (e' - sumV w) + (sumV w - x) by ring.
apply: le_trans (ler_norm_add _ _) _; apply: le_trans (ler_add e'w ws) _.
rewrite /sum_off; have -> : (1 + G) * (E + last_off) + G + K = G * (1 + (E + last_off)) + K + (E + last_off) by ring.
by rewrite !ler_add2r; apply: ler_wpmul2l.
Qed.
Let D_x : D = x + 1 - p. Proof. by rewrite excessE //; ring. Qed.
Let D0 : 0 <= D. Proof. by rewrite D_x -addrA addr_ge0 // subr_ge0; case/andP: p01. Qed.
Let D1 : D <= 1. Proof. by rewrite D_x -addrA addrCA ger_addl subr_le0. Qed.
Let shift_near : `|a' - P - D| <= shift_off.
Proof.
rewrite D_x; have -> : a' - P - (x + 1 - p) = (a' - (e' + 1)) + ((e' - x) - (P - p)) by ring.
have e1 : e' <= sum_off + 1.
  by have := le_trans (ler_norm _) sum_near; rewrite ler_subl_addr => /le_trans; apply; rewrite ler_add2l.
apply: le_trans (ler_norm_add _ _) _; apply: le_trans (ler_add ar (ler_norm_sub _ _)) _.
rewrite (ger0_norm (addr_ge0 e'0 ler01)) /shift_off.
have -> : (1 + u) * sum_off + E + 2%:R * u + h = u * (sum_off + 1 + 1) + h + (sum_off + E) by rewrite -[2%:R]/(1 + 1); ring.
apply: ler_add; last by rewrite ler_add2r.
by rewrite ler_add2r; apply: ler_wpmul2l => //; rewrite ler_add2r.
Qed.
Let normaliser_near : `|D' - D| <= normaliser_off.
Proof.
have -> : D' - D = (D' - (a' - P)) + (a' - P - D) by ring.
apply: le_trans (ler_norm_add _ _) _; apply: le_trans (ler_add Dr shift_near) _; rewrite /normaliser_off.
have -> : (1 + u) * shift_off + u + h = u * (shift_off + 1) + h + shift_off by ring.
rewrite !ler_add2r; apply: ler_wpmul2l => //; have -> : a' - P = (a' - P - D) + D by ring.
by apply: le_trans (ler_norm_add _ _) _; apply: ler_add; rewrite ?shift_near // (ger0_norm D0).
Qed.
Theorem coin_apart c : (D' != 0 -> nearby (e' / D') c) -> D * `|clipped c - h_block b s p| <= coin_off.
Proof.
move=> hr; have hx : D * h_block b s p = x by rewrite excessE //; apply: h_blockE; case/andP: p01.
have xD : x <= D by rewrite D_x -addrA ler_addl subr_ge0; case/andP: p01.
have nD := normaliser_near; have nx := sum_near.
have s0' : 0 <= sum_off by apply: le_trans nx.
have uh : 0 <= u + h by apply: addr_ge0.
have /andP[c0 c1] := clipped_range c.
rewrite -{1}(ger0_norm D0) -normrM mulrBr hx.
have [Dneg|Dpos] := leP D' 0.
  apply: le_trans (_ : D <= _).
    rewrite ler_norml ler_subr_addr ler_subl_addr; apply/andP; split.
      by apply: le_trans (_ : 0 <= _); [rewrite addrC subr_le0 | apply: mulr_ge0].
    by apply: le_trans (ler_pimulr D0 c1) _; rewrite ler_addl.
  apply: le_trans (_ : normaliser_off <= _); last by rewrite /coin_off -addrA ler_addl addr_ge0.
  by apply: le_trans nD; rewrite distrC; apply: le_trans (ler_norm _); rewrite ler_subr_addl addrC ler_naddr.
have e0D : 0 <= e' / D' by rewrite divr_ge0 // ltW.
pose t := Num.min (e' / D') 1.
have t01 : 0 <= t <= 1 by rewrite /t le_minr e0D ler01 le_minl lexx orbT.
have [t0 t1] := andP t01.
have ct : `|clipped c - t| <= u + h.
  have := hr (lt0r_neq0 Dpos); rewrite /nearly (ger0_norm e0D) => cn.
  rewrite /clipped; apply: (min1_off (t := Num.max c 0) u0 h0 e0D); last by move: c0; rewrite /clipped.
  by apply: le_trans cn; have := max0_near (e' / D') c; rewrite (max_l e0D).
have Dt : `|D * t - x| <= normaliser_off + sum_off.
  have [le|gt] := leP (e' / D') 1.
    have tE : t = e' / D' by rewrite /t min_l.
    have eE : e' = t * D' by rewrite tE divfK ?lt0r_neq0.
    have -> : D * t - x = - (t * (D' - D)) + (e' - x) by rewrite {1}eE; ring.
    apply: le_trans (ler_norm_add _ _) _; apply: ler_add => //; rewrite normrN normrM (ger0_norm t0).
    by apply: le_trans nD; rewrite ler_pimull.
  have tE : t = 1 by rewrite /t min_r // ltW.
  rewrite tE mulr1 ger0_norm ?subr_ge0 //.
  have De : D' <= e' by move: gt; rewrite ltr_pdivl_mulr // mul1r => /ltW.
  have -> : D - x = (D - D') + (D' - e') + (e' - x) by ring.
  apply: ler_add; last exact: le_trans (ler_norm _) nx.
  apply: le_trans (_ : D - D' <= _); first by rewrite ger_addl subr_le0.
  by apply: le_trans (ler_norm _) _; rewrite distrC.
have -> : D * clipped c - x = (D * t - x) + D * (clipped c - t) by ring.
apply: le_trans (ler_norm_add _ _) _; apply: ler_add => //.
by rewrite normrM (ger0_norm D0); apply: le_trans ct; rewrite ler_pimull.
Qed.
End Step.

(* Block and token verification with the errors of AbsoluteRounding.v: gradual underflow, and rows that are off in all. *)

(* The whole of block verification. *)
Section Whole.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma : nat) (c : seq V) (ends : pred (seq V)).
Variables (u h ob os tau G K eta lambda : R) (F : R -> R) (B S : seq V -> V -> R).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1) (h0 : 0 <= h) (tau0 : 0 <= tau) (G0 : 0 <= G) (K0 : 0 <= K).
Hypothesis decided : forall z, 0 <= z <= 1 -> 0 <= F z <= 1 /\ `|F z - z| <= eta.
Notation p := (p_of Mb Ms c).
Notation coin := (coin_of Ms gamma c ends p).
Notation row := (row_of Mb Ms gamma c ends p).
Notation stops := (final gamma ends).
Notation b x := (Mb (c ++ x)).
Notation s x := (Ms (c ++ x)).
Hypotheses (B0 : forall x y, 0 <= B x y) (S0 : forall x y, 0 <= S x y).
Hypotheses (Bb : forall x, apart (b x) (B x) <= ob) (Ss : forall x, apart (s x) (S x) <= os).
Lemma given_row_off x (r : V -> R) : sumV r = 1 -> (forall y, 0 <= r y) -> (forall y, r y * sumV (B x) = B x y) ->
  total_variation (b x) r <= ob.
Proof.
move=> r1 r0 rB; rewrite /total_variation ler_pdivr_mulr ?ltr0n // mulrC.
apply: le_trans (_ : 2%:R * apart (b x) (B x) <= _); last by apply: ler_wpmul2l; rewrite ?ler0n.
apply: le_trans (normalised_near (b x) r1 r0 rB); apply: sumV_le => y.
by rewrite row_sum mul1r.
Qed.
Variables (P : seq V -> R) (w drawn : seq V -> V -> R) (H : seq V -> R).
(* At every prefix: the survivals P, the weights w, the coins H. *)
Definition survivals_absolute : Prop :=
  P [::] = 1 /\ forall x y, next_computed u h tau (B x) (S x) (P x) y (P (rcons x y)).
Definition weights_absolute x : Prop := forall y, weight_computed u h (B x) (S x) (P x) y (w x y).
Definition coin_absolute x : Prop := exists e a D,
  [/\ 0 <= e /\ `|e - sumV (w x)| <= G * sumV (w x) + K, nearly u h (e + 1) a, nearly u h (a - P x) D
    & D != 0 -> nearly u h (e / D) (H x)].
Hypotheses (Pc : survivals_absolute) (wc : forall x, weights_absolute x) (Hc : forall x, coin_absolute x).
Hypotheses (drawn0 : forall x y, 0 <= drawn x y) (drawn1 : forall x, sumV (drawn x) = 1).
Hypothesis drawn_near : forall x, exists r : V -> R,
  [/\ sumV r = 1, forall y, 0 <= r y, total_variation r (drawn x) <= lambda &
      if stops x then forall y, r y * sumV (B x) = B x y else forall y, r y * sumV (w x) = w x y].
Notation next_off := (next_off V u h ob os tau).
Notation last_off := (last_off V u h ob os).
(* What a coin is off by, as a function of what its survival is. *)
Definition coin_rate : R := ((1 + u) * (1 + u) + 1) * (1 + G) + (1 + u).
Definition coin_base : R := ((1 + u) * (1 + u) + 1) * ((1 + G) * last_off + G + K) + (1 + u) * (2%:R * u + h) + 2%:R * (u + h).
Definition gap x : R := `|P x - p x|.
Let ple : forall x, ~~ stops x -> later Ms c p x <= p x := q_later (fun x y _ => p_of_le Mb Ms c x y).
Let p01 := p_of_range Mb Ms c.
Let ob0 : 0 <= ob. Proof. by apply: le_trans (Bb [::]); apply: sumV_ge0. Qed.
Let os0 : 0 <= os. Proof. by apply: le_trans (Ss [::]); apply: sumV_ge0. Qed.
Let g0 : 0 <= growth u 2. Proof. exact: growth_ge0. Qed.
Let k0 : 0 <= alone u h. Proof. by rewrite mulr_ge0 // addr_ge0 ?ler0n. Qed.
Lemma last_off_ge0 : 0 <= last_off.
Proof.
rewrite /AbsoluteRounding.last_off; apply: addr_ge0 => //; apply: addr_ge0 => //; apply: addr_ge0; apply: mulr_ge0; rewrite ?ler0n //.
by apply: addr_ge0; rewrite ?ler01.
Qed.
Lemma next_off_ge0 : 0 <= next_off.
Proof.
have two : 0 <= 2%:R :> R := ler0n _ _; have size0 : 0 <= (size (tokens V))%:R :> R := ler0n _ _.
rewrite /AbsoluteRounding.next_off; apply: addr_ge0; last exact: mulr_ge0.
apply: addr_ge0 => //; apply: addr_ge0; [exact: addr_ge0 | exact: mulr_ge0].
Qed.
Let rate1 : 1 <= coin_rate.
Proof.
rewrite /coin_rate [X in _ <= X]addrC -addrA ler_addl addr_ge0 // mulr_ge0 ?addr_ge0 ?mulr_ge0 ?addr_ge0 ?ler01 //.
Qed.
Let base0 : 0 <= coin_base.
Proof.
have r0 := last_off_ge0; have one : 0 <= 1 + u by rewrite addr_ge0 ?ler01.
have uh : 0 <= u + h by rewrite addr_ge0.
rewrite /coin_base; apply: addr_ge0; last by apply: mulr_ge0; rewrite ?ler0n.
apply: addr_ge0; last by apply: mulr_ge0 => //; apply: addr_ge0 => //; apply: mulr_ge0; rewrite ?ler0n.
apply: mulr_ge0; first by apply: addr_ge0; rewrite ?ler01 // mulr_ge0.
by apply: addr_ge0 => //; apply: addr_ge0 => //; apply: mulr_ge0 => //; apply: addr_ge0; rewrite ?ler01.
Qed.
Lemma survival_range x : 0 <= P x <= 1.
Proof.
by case: Pc => P1 Ps; case/lastP: x => [|x y]; [rewrite P1 ler01 lexx | have [] := Ps x y].
Qed.
Lemma gap_next x : sumV (fun y => s x y * gap (rcons x y)) <= gap x + next_off.
Proof.
case: Pc => _ Ps; rewrite (sumV_eq (g := fun y => s x y * `|P (rcons x y) - next_p (b x) (s x) (p x) y|)) => [|y].
  exact: (next_near u0 h0 tau0 (row_ge0 Mb _) (row_ge0 Ms _) (row_sum Mb _) (row_sum Ms _) (B0 x) (S0 x) (Bb x) (Ss x)
    (p01 x) (survival_range x) (Ps x)).
by rewrite /gap p_of_rcons.
Qed.
Lemma below_gap (r a : R) n x : 0 <= r -> 0 <= a ->
  below Ms c ends (fun z => r * gap z + a) n x <= \sum_(i < n) (r * (gap x + i.+1%:R * next_off) + a).
Proof.
move=> r0 a0; have nx := next_off_ge0; elim: n x => [|n IH] x; first by rewrite big_ord0.
rewrite /=; case: ifP => _.
  apply: sumr_ge0 => i _; apply: addr_ge0 => //; apply: mulr_ge0 => //; apply: addr_ge0; [exact: normr_ge0 | apply: mulr_ge0 => //; exact: ler0n].
apply: le_trans (_ : sumV (fun y => \sum_(i < n.+1) (r * (s x y * gap (rcons x y)) + s x y * (r * (i%:R * next_off) + a))) <= _).
  apply: sumV_le => y; apply: le_trans (ler_wpmul2l (row_ge0 Ms _ _) (ler_add (lexx _) (IH _))) _.
  rewrite [X in _ <= X](eq_bigr (fun i : 'I_n.+1 => s x y * (r * (gap (rcons x y) + i%:R * next_off) + a))) => [|i _]; last by ring.
  by rewrite -mulr_sumr big_ord_recl mul0r addr0.
rewrite sumV_exch; apply: ler_sum => i _; rewrite sumVD sumVZ sumVZr row_sum mul1r addrA -mulrDr ler_add2r.
apply: ler_wpmul2l => //; rewrite [i.+1%:R]mulrS mulrDl mul1r addrA ler_add2r; exact: gap_next.
Qed.
Lemma coin_off_gap x : coin_off V u h ob os (p x) (P x) G K = coin_rate * gap x + coin_base.
Proof.
rewrite /coin_off /normaliser_off /shift_off /sum_off /coin_rate /coin_base -/(gap x) -[2%:R]/(1 + 1); ring.
Qed.
Definition coin_absolutely x : R := F (if stops x then P x else clipped (H x)).
Lemma coin_near_here x : none Ms gamma c ends p x * `|coin_absolutely x - coin x| <= coin_rate * gap x + (coin_base + eta).
Proof.
have /andP[n0 n1] := none_range p01 ple x; have P01 := survival_range x.
set z := if stops x then P x else clipped (H x).
have z01 : 0 <= z <= 1 by rewrite /z; case: ifP => // _; apply: clipped_range.
have [_ zF] := decided z01; rewrite /coin_absolutely -/z.
have -> : F z - coin x = (z - coin x) + (F z - z) by ring.
apply: le_trans (ler_wpmul2l n0 (ler_norm_add _ _)) _; rewrite mulrDr [X in _ <= X]addrA; apply: ler_add; last first.
  by apply: le_trans zF; rewrite ler_pimull.
move: n0; rewrite /z coin_block /none; case: ifP => f n0.
  rewrite mul1r -/(gap x); apply: le_trans (_ : coin_rate * gap x <= _); last by rewrite ler_addl.
  by rewrite ler_pemull //; exact: normr_ge0.
rewrite later_share; have [e [a [D [[e0 ew] ar Dr Hr]]]] := Hc x; rewrite -coin_off_gap.
exact: (coin_apart u0 u1 h0 (row_ge0 Mb _) (row_ge0 Ms _) (row_sum Mb _) (B0 x) (S0 x) (Bb x) (Ss x) (p01 x) P01
  G0 (wc x) e0 ew ar Dr Hr).
Qed.
Lemma drawn_near_here x : ending Ms gamma c ends p x * total_variation (row x) (drawn x)
  <= (gap x + last_off) + ending Ms gamma c ends p x * lambda.
Proof.
have [r [r1 r0 rl re]] := drawn_near x; have e0 := ending_ge0 p01 ple x.
apply: le_trans (ler_wpmul2l e0 (tv_triangle (row x) r (drawn x))) _; rewrite mulrDr; apply: ler_add; last exact: ler_wpmul2l.
move: re e0; rewrite /ending; case: (boolP (stops x)) => f re e0.
  have /andP[_ p1] := p01 x; have ob_le : ob <= last_off.
    rewrite /AbsoluteRounding.last_off addrAC ler_addr; apply: addr_ge0 => //.
    by apply: addr_ge0; apply: mulr_ge0; rewrite ?ler0n //; apply: addr_ge0; rewrite ?ler01.
  have tv := given_row_off r1 r0 re; apply: le_trans (_ : ob <= _); last by apply: le_trans ob_le _; rewrite ler_addr normr_ge0.
  apply: le_trans tv; rewrite /total_variation (sumV_eq (g := fun y => `|r y - b x y|)) => [|y]; last by rewrite row_block f.
  by rewrite ler_pimull // divr_ge0 ?ler0n // sumV_ge0 // => y; exact: normr_ge0.
rewrite later_share -excessE ?row_sum //.
have -> : total_variation (row x) r = total_variation (residual (b x) (s x) (p x)) r.
  by rewrite /total_variation; congr (_ / _); apply: sumV_eq => y; rewrite row_block (negPf f).
exact: (row_drawn (p x) u0 u1 h0 (row_ge0 Mb _) (row_sum Mb _) (B0 x) (S0 x) (Bb x) (Ss x) (survival_range x)
  (wc x) re r1 r0).
Qed.
Theorem block_absolute (U : seq V -> V -> R) : (forall x y, 0 <= U x y <= 1) ->
  `|draft Ms c ends gamma [::] (fun X => sub_verify coin_absolutely drawn X U)
    - draft Ms c ends gamma [::] (fun X => block_verify Mb Ms c X U)|
  <= \sum_(i < gamma) (coin_rate * (i.+1%:R * next_off) + (coin_base + eta)) + \sum_(i < gamma.+1) (i%:R * next_off + last_off)
    + lambda.
Proof.
move=> U01; have -> : draft Ms c ends gamma [::] (fun X => block_verify Mb Ms c X U)
    = draft Ms c ends gamma [::] (fun X => sub_verify coin row X U).
  by have := @block_loop_sub _ _ Mb Ms gamma c ends U gamma [::] [::]; apply; [|left].
have c01 x : 0 <= coin_absolutely x <= 1.
  have P01 := survival_range x; rewrite /coin_absolutely; set z := if _ then _ else _.
  by have z01 : 0 <= z <= 1; [rewrite /z; case: ifP => // _; apply: clipped_range | case: (decided z01)].
have eta0 : 0 <= eta by have [|_ le] := decided (z := 0); rewrite ?lexx ?ler01 //; apply: le_trans le.
apply: le_trans (@near_law_here _ _ Mb Ms gamma c ends p _ p01 ple coin_absolutely drawn (fun z => coin_rate * gap z + (coin_base + eta))
  (fun z => (1 * gap z + last_off) + ending Ms gamma c ends p z * lambda) U c01 drawn0 drawn1 _ _ U01) _ => // [x _|x _|].
- exact: coin_near_here.
- by rewrite mul1r; apply: drawn_near_here.
have be := @below_ending V R Ms gamma c ends p gamma [::] lambda (add0n gamma); rewrite {3}/p_of /= mul1r in be.
have gap0 : gap [::] = 0 by case: Pc => P1 _; rewrite /gap P1 /p_of /= subrr normr0.
have rate0 : 0 <= coin_rate := le_trans ler01 rate1.
have A := below_gap gamma [::] rate0 (addr_ge0 base0 eta0); have C := below_gap gamma [::] ler01 last_off_ge0.
rewrite gap0 in A C; rewrite [below _ _ _ (fun z => 1 * gap z + last_off + _) _ _]belowD gap0 mulr0 add0r.
set e := ending _ _ _ _ _ _ * lambda; set l := below _ _ _ (fun z => ending _ _ _ _ _ _ * lambda) _ _ in be *.
have -> : \sum_(i < gamma.+1) (i%:R * next_off + last_off) = last_off + \sum_(i < gamma) (1 * (0 + i.+1%:R * next_off) + last_off).
  by rewrite big_ord_recl mul0r add0r; congr (_ + _); apply: eq_bigr => i _; rewrite mul1r add0r.
have -> : \sum_(i < gamma) (coin_rate * (i.+1%:R * next_off) + (coin_base + eta))
    = \sum_(i < gamma) (coin_rate * (0 + i.+1%:R * next_off) + (coin_base + eta)) by apply: eq_bigr => i _; rewrite add0r.
set X := below _ _ _ _ _ _ in A *; set Y := below _ _ _ _ _ _ in C *.
have -> : X + (last_off + e + (Y + l)) = X + (last_off + Y) + (e + l) by ring.
by rewrite be ler_add2r; apply: ler_add => //; rewrite ler_add2l.
Qed.
End Whole.

(* Token verification: no survival, so that no error is carried on. *)
Section Token.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma : nat) (c : seq V).
Variables (u h ob os tau eta lambda : R) (F : R -> R) (B S H w drawn A : seq V -> V -> R).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1) (h0 : 0 <= h) (tau0 : 0 <= tau).
Hypothesis decided : forall z, 0 <= z <= 1 -> 0 <= F z <= 1 /\ `|F z - z| <= eta.
Implicit Types (x X : seq V).
Notation b x := (Mb (c ++ x)).
Notation s x := (Ms (c ++ x)).
Hypotheses (B0 : forall x y, 0 <= B x y) (S0 : forall x y, 0 <= S x y).
Hypotheses (Bb : forall x, apart (b x) (B x) <= ob) (Ss : forall x, apart (s x) (S x) <= os).
Definition token_coin_absolute x y : Prop :=
  0 <= H x y <= 1 /\ (tau < S x y -> exists2 r, nearly u h (B x y / S x y) r & H x y = Num.min r 1).
Definition token_weight_absolute x y : Prop := exists2 e, nearly u h (B x y - S x y) e & w x y = Num.max e 0.
Hypotheses (Hc : forall x y, token_coin_absolute x y) (wc : forall x y, token_weight_absolute x y).
Hypotheses (drawn0 : forall x y, 0 <= drawn x y) (drawn1 : forall x, sumV (drawn x) = 1).
Hypothesis drawn_near : forall x, exists r : V -> R, [/\ sumV r = 1, forall y, 0 <= r y, total_variation r (drawn x) <= lambda &
  if size x == gamma then forall y, r y * sumV (B x) = B x y else forall y, r y * sumV (w x) = w x y].
Hypothesis A01 : forall x y, 0 <= A x y <= 1.
Notation next_off := (next_off V u h ob os tau).
Notation last_off := (last_off V u h ob os).
Let ob0 : 0 <= ob. Proof. by apply: le_trans (Bb [::]); apply: sumV_ge0. Qed.
Let one01 : 0 <= (1 : R) <= 1. Proof. by rewrite ler01 lexx. Qed.
Let eta0 : 0 <= eta.
Proof. by have [|_ le] := decided (z := 0); rewrite ?lexx ?ler01 //; apply: le_trans le. Qed.
Definition token_step_off : R := next_off + eta + last_off.
Lemma token_coins_here x : sumV (fun y => s x y * `|H x y - h_token (b x) (s x) y|) <= next_off.
Proof.
have hv y : next_computed u h tau (B x) (S x) 1 y (H x y).
  have [H01 hr] := Hc x y; split=> // big; have [r rr ->] := hr big; exists r, r; split=> //.
  by rewrite mul1r; apply: nearly_itself.
have := next_near u0 h0 tau0 (row_ge0 Mb _) (row_ge0 Ms _) (row_sum Mb _) (row_sum Ms _) (B0 x) (S0 x) (Bb x) (Ss x) one01 one01 hv.
rewrite subrr normr0 add0r; apply: le_trans; rewrite le_eqVlt; apply/orP; left; apply/eqP.
by apply: sumV_eq => y; rewrite h_tokenE.
Qed.
Lemma token_row_here x r : (forall y, r y * sumV (w x) = w x y) -> sumV r = 1 -> (forall y, 0 <= r y) ->
  excess (b x) (s x) 1 * total_variation (residual (b x) (s x) 1) r <= last_off.
Proof.
have hw y : weight_computed u h (B x) (S x) 1 y (w x y).
  have [e he ->] := wc x y; exists (B x y), e; split=> //.
  by rewrite mul1r; apply: nearly_itself.
move=> rw r1 r0.
have := row_drawn (s := s x) 1 u0 u1 h0 (row_ge0 Mb _) (row_sum Mb _) (B0 x) (S0 x) (Bb x) (Ss x) one01 hw rw r1 r0.
by rewrite subrr normr0 add0r.
Qed.
Lemma token_absolute_range x X : 0 <= token_computed F H drawn A x X <= 1.
Proof.
have last z : 0 <= draw (drawn z) (A z) <= 1 by apply: draw_range.
elim: X x => [|y X IH] x /=; first exact: last.
have [H01 _] := Hc x y; have [F01 _] := decided H01.
by apply: mix_range => //; apply: last.
Qed.
Let step0 : 0 <= token_step_off.
Proof.
have e0 : 0 <= next_off by apply: le_trans (token_coins_here [::]); apply: sumV_ge0 => y; rewrite mulr_ge0.
have r0 : 0 <= last_off.
  have os0 : 0 <= os by apply: le_trans (Ss [::]); apply: sumV_ge0.
  by apply: last_off_ge0.
by rewrite /token_step_off; apply: addr_ge0 => //; apply: addr_ge0.
Qed.
Lemma token_absolute_from n x : (size x + n)%N = gamma ->
  `|gen Ms n (c ++ x) (token_computed F H drawn A x)
    - gen Ms n (c ++ x) (fun X => token_loop Mb Ms c x X (fun kept => finish Mb Ms gamma c A kept 1))|
  <= n%:R * token_step_off + ob + lambda.
Proof.
elim: n x => [|n IH] x hn; have [r [r1 r0 rl re]] := drawn_near x.
  move: hn re; rewrite addn0 mul0r add0r => hn; rewrite /= /finish hn eqxx => re.
  apply: le_trans (tv_bounds (row_sum Mb _) (drawn1 x) (A01 x)) _.
  apply: le_trans (tv_triangle _ r _) _; apply: ler_add => //.
  exact: (given_row_off Bb r1 r0 re).
have ne : (size x == gamma) = false by rewrite -hn -[X in X == _]addn0 eqn_add2l.
have hn' y : (size (rcons x y) + n)%N = gamma by rewrite size_rcons addSnnS.
rewrite ne in re; have h01 y := h_token_range y (row_ge0 Mb (c ++ x)) (row_ge0 Ms (c ++ x)).
set k := h_token _ _ in h01 *.
pose comp y := gen Ms n (c ++ rcons x y) (token_computed F H drawn A (rcons x y)).
pose exact y := gen Ms n (c ++ rcons x y) (fun X => token_loop Mb Ms c (rcons x y) X (fun kept => finish Mb Ms gamma c A kept 1)).
pose last' := draw (drawn x) (A x); pose last := draw (residual (b x) (s x) 1) (A x).
have split' y : gen Ms n (rcons (c ++ x) y) (fun X => token_computed F H drawn A x (y :: X)) = F (H x y) * comp y + (1 - F (H x y)) * last'.
  by rewrite rcons_cat /= /flip genD !genZ gen_const.
have split y : gen Ms n (rcons (c ++ x) y) (fun X => token_loop Mb Ms c x (y :: X) (fun kept => finish Mb Ms gamma c A kept 1))
    = k y * exact y + (1 - k y) * last.
  by rewrite rcons_cat /= /flip genD !genZ gen_const /finish ne.
have x0 : 0 <= excess (b x) (s x) 1 by apply: sumV_ge0 => y; apply: over_ge0.
have rows : excess (b x) (s x) 1 * `|last' - last| <= last_off + excess (b x) (s x) 1 * lambda.
  have [res0 res1] := residual_row (s x) 1 (row_ge0 Mb (c ++ x)) (row_sum Mb (c ++ x)).
  apply: le_trans (ler_wpmul2l x0 (tv_bounds res1 (drawn1 x) (A01 x))) _.
  apply: le_trans (ler_wpmul2l x0 (tv_triangle _ r _)) _; rewrite mulrDr; apply: ler_add; last exact: ler_wpmul2l.
  exact: token_row_here.
set cost := n%:R * token_step_off + ob in IH *; have cost0 : 0 <= cost by rewrite addr_ge0 // mulr_ge0 ?ler0n.
rewrite !genS (sumV_eq (fun y => congr1 _ (split' y))) (sumV_eq (fun y => congr1 _ (split y))) -sumVB.
apply: le_trans (sumV_norm _) _.
apply: le_trans (_ : sumV (fun y => s x y * eta + s x y * `|H x y - k y| + s x y * k y * (cost + lambda)
    + s x y * (1 - k y) * `|last' - last|) <= _).
  apply: sumV_le => y; rewrite -mulrBr normrM (ger0_norm (row_ge0 Ms _ _)) -!mulrA -!mulrDr; apply: ler_wpmul2l => //.
  have [H01 _] := Hc x y; have [F01 Fh] := decided H01; have /andP[k0 k1] := h01 y.
  have c01 : 0 <= comp y <= 1.
    apply/andP; split; first by apply: gen_ge0 => X _; have /andP[] := token_absolute_range (rcons x y) X.
    rewrite -[X in _ <= X](gen_const Ms n (c ++ rcons x y)); apply: gen_le => X _.
    by have /andP[] := token_absolute_range (rcons x y) X.
  apply: le_trans (mix_near _ _ _ (h01 y) c01 (draw_range (drawn1 x) (drawn0 x) (A01 x))) _.
  rewrite -[X in _ <= X]addrA; apply: ler_add.
    have -> : F (H x y) - k y = (F (H x y) - H x y) + (H x y - k y) by ring.
    by apply: le_trans (ler_norm_add _ _) _; apply: ler_add.
  by rewrite ler_add2r; apply: ler_wpmul2l => //; apply: IH.
have rest : sumV (fun y => s x y * (1 - k y)) = excess (b x) (s x) 1.
  rewrite excessE ?row_sum // -(share_next (row_ge0 Mb _) (row_ge0 Ms _) ler01) -[X in _ = X - _](row_sum Ms (c ++ x)) -sumVB.
  by apply: sumV_eq => y; rewrite /k /h_token /next_p mul1r; ring.
have kept : sumV (fun y => s x y * k y) = 1 - excess (b x) (s x) 1.
  by rewrite -rest -[X in X - _](row_sum Ms (c ++ x)) -sumVB; apply: sumV_eq => y; ring.
have coins := token_coins_here x; rewrite -/k in coins.
rewrite !sumVD !sumVZr rest kept row_sum mul1r.
have left : (1 - excess (b x) (s x) 1) * cost <= cost by rewrite ler_pimull // ger_addl oppr_le0.
apply: le_trans (ler_add (ler_add (ler_add (lexx eta) coins) (lexx _)) rows) _.
have -> : n.+1%:R * token_step_off + ob = token_step_off + cost by rewrite [n.+1%:R]mulrS /cost; ring.
have -> : eta + next_off + (1 - excess (b x) (s x) 1) * (cost + lambda) + (last_off + excess (b x) (s x) 1 * lambda)
  = token_step_off + (1 - excess (b x) (s x) 1) * cost + lambda by rewrite /token_step_off; ring.
by rewrite ler_add2r ler_add2l.
Qed.
Theorem token_absolute :
  `|gen Ms gamma c (token_computed F H drawn A [::]) - gen Ms gamma c (fun X => token_verify Mb Ms c X A)|
  <= gamma%:R * token_step_off + ob + lambda.
Proof.
have := @token_absolute_from gamma [::] (add0n gamma); rewrite cats0.
rewrite (_ : gen Ms gamma c (fun X => token_loop _ _ _ _ X _) = gen Ms gamma c (fun X => token_verify Mb Ms c X A)) //.
by apply: gen_eq => X hX; rewrite /token_verify hX.
Qed.
End Token.

(* Block and token verification as functions of the rows and of any rounding fl: each operation is rounded, sums are added up in
   a given order.  They meet the hypotheses of AbsoluteRounding.v. *)

(* An order of additions: each token of the vocabulary is added once. *)
Section Order.
Variable V : vocabulary.
Inductive adding := One of V | Both of adding & adding.
Fixpoint added_tokens t : seq V := match t with One y => [:: y] | Both a b => added_tokens a ++ added_tokens b end.
Definition adds_all t : Prop := perm_eq (added_tokens t) (tokens V).
Fixpoint additions_deep t : nat := if t is Both a b then (maxn (additions_deep a) (additions_deep b)).+1 else 0%N.
Fixpoint additions t : nat := if t is Both a b then (additions a + additions b).+1 else 0%N.
Variables (R : realFieldType) (u h : R) (fl : R -> R).
Hypotheses (u0 : 0 <= u) (h0 : 0 <= h) (fl_nearly : forall z, nearly u h z (fl z)) (fl_ge0 : forall z, 0 <= z -> 0 <= fl z).
Fixpoint sum_by t (f : V -> R) : R := match t with One y => f y | Both a b => fl (sum_by a f + sum_by b f) end.
(* What the additions are off by beside the relative error of their depth. *)
Definition additions_off t : R := (additions t)%:R * h * (1 + u) ^+ additions_deep t.
Lemma sum_by_near t (f : V -> R) : (forall y, 0 <= f y) -> 0 <= sum_by t f /\
  `|sum_by t f - \sum_(y <- added_tokens t) f y| <= growth u (additions_deep t) * (\sum_(y <- added_tokens t) f y) + additions_off t.
Proof.
move=> f0; have one : 1 <= 1 + u by rewrite ler_addl.
have p0 : 0 <= 1 + u by apply: le_trans one.
elim: t => [y|a [a0 IHa] b [b0 IHb]] /=.
  by rewrite big_seq1 subrr normr0 f0 /additions_off /= growth0 !mul0r addr0 lexx.
have v0 : 0 <= sum_by a f + sum_by b f by rewrite addr_ge0.
split; first exact: fl_ge0.
rewrite big_cat /=; set A := \sum_(y <- added_tokens a) f y in IHa *; set B := \sum_(y <- added_tokens b) f y in IHb *.
have A0 : 0 <= A by apply: sumr_ge0. have B0 : 0 <= B by apply: sumr_ge0.
set d := maxn _ _; set X := growth u d * (A + B) + (additions a + additions b)%:R * h * (1 + u) ^+ d.
have X0 : `|(sum_by a f + sum_by b f) - (A + B)| <= X.
  have -> : (sum_by a f + sum_by b f) - (A + B) = (sum_by a f - A) + (sum_by b f - B) by ring.
  apply: le_trans (ler_norm_add _ _) _; apply: le_trans (ler_add IHa IHb) _; rewrite /X /additions_off natrD.
  have -> : growth u d * (A + B) + ((additions a)%:R + (additions b)%:R) * h * (1 + u) ^+ d
    = (growth u d * A + (additions a)%:R * h * (1 + u) ^+ d) + (growth u d * B + (additions b)%:R * h * (1 + u) ^+ d) by ring.
  apply: ler_add; apply: ler_add.
  - by apply: ler_wpmul2r => //; apply: growth_mono => //; apply: leq_maxl.
  - by apply: ler_wpmul2l; [rewrite mulr_ge0 ?ler0n | apply: ler_weexpn2l => //; apply: leq_maxl].
  - by apply: ler_wpmul2r => //; apply: growth_mono => //; apply: leq_maxr.
  by apply: ler_wpmul2l; [rewrite mulr_ge0 ?ler0n | apply: ler_weexpn2l => //; apply: leq_maxr].
set v := sum_by a f + sum_by b f in v0 X0 *.
have vX : v <= A + B + X by have := le_trans (ler_norm _) X0; rewrite ler_subl_addr addrC.
have -> : fl v - (A + B) = (fl v - v) + (v - (A + B)) by ring.
apply: le_trans (ler_norm_add _ _) _; apply: le_trans (ler_add (fl_nearly v) X0) _; rewrite (ger0_norm v0).
apply: le_trans (_ : u * (A + B + X) + h + X <= _); first by rewrite !ler_add2r; apply: ler_wpmul2l.
have -> : u * (A + B + X) + h + X = growth u d.+1 * (A + B) + ((additions a + additions b)%:R * h * (1 + u) ^+ d.+1 + h).
  by rewrite /X /growth exprS; ring.
rewrite ler_add2l /additions_off /= -/d [in X in _ <= X]mulrS mulrDl mul1r mulrDl addrC ler_add2r.
by rewrite ler_pemulr // exprn_ege1.
Qed.
Lemma sum_by_all t (f : V -> R) : adds_all t -> (forall y, 0 <= f y) ->
  0 <= sum_by t f /\ `|sum_by t f - sumV f| <= growth u (additions_deep t) * sumV f + additions_off t.
Proof.
move=> all f0; have -> : sumV f = \sum_(y <- added_tokens t) f y by rewrite /sumV (perm_big _ all) /= unlock.
exact: sum_by_near.
Qed.
End Order.
(* In order: y is the first token, and what is left is added one by one. *)
Definition adding_in_order (V : vocabulary) (y : V) (l : seq V) : adding V := foldl (fun t z => Both t (One z)) (One y) l.
Lemma adding_in_order_all (V : vocabulary) (y : V) (l : seq V) : tokens V = y :: l ->
  adds_all (adding_in_order y l) /\ additions_deep (adding_in_order y l) = size l.
Proof.
move=> e; rewrite /adds_all e /adding_in_order.
have step t (r : seq V) : added_tokens (foldl (fun t z => Both t (One z)) t r) = added_tokens t ++ r
    /\ additions_deep (foldl (fun t z => Both t (One z)) t r) = (additions_deep t + size r)%N.
  elim: r t => [|z r IH] t /=; first by rewrite cats0 addn0.
  by have [-> ->] := IH (Both t (One z)); rewrite /= -catA maxn0 addSnnS.
by have [-> ->] := step (One y) l; split=> //=; apply: perm_refl.
Qed.

Section Computed.
Variables (V : vocabulary) (R : realFieldType) (fl : R -> R) (B S free : seq V -> V -> R) (tau : R) (order : adding V).
Implicit Types (x : seq V) (y : V).
(* free: what a quotient gives where it may overflow or divides by 0. *)
Fixpoint survival_from (r : seq V) : R :=
  if r is y :: r' then
    if S (rev r') y <= tau then free (rev r') y else Num.min (fl (survival_from r' * fl (B (rev r') y / S (rev r') y))) 1
  else 1.
Definition survival_fl x : R := survival_from (rev x).
Definition weight_fl x y : R := Num.max (fl (fl (survival_fl x * B x y) - S x y)) 0.
Definition coin_fl x : R :=
  let e := sum_by fl order (weight_fl x) in fl (e / fl (fl (e + 1) - survival_fl x)).
Definition token_coin_fl x y : R := if S x y <= tau then free x y else Num.min (fl (B x y / S x y)) 1.
Definition token_weight_fl x y : R := Num.max (fl (B x y - S x y)) 0.
End Computed.

Section Whole.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma : nat) (c : seq V) (ends : pred (seq V)).
Variables (u h ob os tau eta lambda : R) (fl F : R -> R) (B S free drawn : seq V -> V -> R) (order : adding V).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1) (h0 : 0 <= h) (tau0 : 0 <= tau).
Hypotheses (fl_nearly : forall z, nearly u h z (fl z)) (fl_ge0 : forall z, 0 <= z -> 0 <= fl z).
Hypothesis decided : forall z, 0 <= z <= 1 -> 0 <= F z <= 1 /\ `|F z - z| <= eta.
Hypotheses (B0 : forall x y, 0 <= B x y) (S0 : forall x y, 0 <= S x y) (free01 : forall x y, 0 <= free x y <= 1).
Hypotheses (Bb : forall x, apart (Mb (c ++ x)) (B x) <= ob) (Ss : forall x, apart (Ms (c ++ x)) (S x) <= os).
Hypothesis all : adds_all order.
Notation P := (survival_fl fl B S free tau).
Notation w := (weight_fl fl B S free tau).
Notation H := (coin_fl fl B S free tau order).
Notation d := (additions_deep order).
Lemma survival_fl_range x : 0 <= P x <= 1.
Proof.
rewrite /survival_fl; elim: (rev x) => [|y r /andP[p0 _]] /=; first by rewrite ler01 lexx.
case: ifP => _; first exact: free01.
by rewrite le_minr ler01 le_minl lexx orbT !andbT; apply: fl_ge0; apply: mulr_ge0 => //; apply: fl_ge0; apply: divr_ge0.
Qed.
Theorem block_fl_met : [/\ survivals_absolute u h tau B S P, forall x, weights_absolute u h B S P w x
  & forall x, coin_absolute u h (growth u d) (additions_off u h order) P w H x].
Proof.
split=> [|x y|x].
- split=> // x y; split; first exact: survival_fl_range.
  move=> big; exists (fl (B x y / S x y)), (fl (P x * fl (B x y / S x y))); split; try exact: fl_nearly.
  by rewrite /survival_fl rev_rcons /= revK leNgt big.
- by exists (fl (P x * B x y)), (fl (fl (P x * B x y) - S x y)); split; try exact: fl_nearly.
have w0 y : 0 <= w x y by rewrite le_maxr lexx orbT.
exists (sum_by fl order (w x)), (fl (sum_by fl order (w x) + 1)), (fl (fl (sum_by fl order (w x) + 1) - P x)).
split; try exact: fl_nearly; last by move=> _; apply: fl_nearly.
by apply: sum_by_all.
Qed.
Theorem block_fl_rounding (U : seq V -> V -> R) :
  (forall x y, 0 <= drawn x y) -> (forall x, sumV (drawn x) = 1) ->
  (forall x, exists r : V -> R, [/\ sumV r = 1, forall y, 0 <= r y, total_variation r (drawn x) <= lambda &
     if final gamma ends x then forall y, r y * sumV (B x) = B x y else forall y, r y * sumV (w x) = w x y]) ->
  (forall x y, 0 <= U x y <= 1) ->
  `|draft Ms c ends gamma [::] (fun X => sub_verify (coin_absolutely gamma ends F P H) drawn X U)
    - draft Ms c ends gamma [::] (fun X => block_verify Mb Ms c X U)|
  <= \sum_(i < gamma) (coin_rate u (growth u d) * (i.+1%:R * next_off V u h ob os tau)
        + (coin_base V u h ob os (growth u d) (additions_off u h order) + eta))
    + \sum_(i < gamma.+1) (i%:R * next_off V u h ob os tau + last_off V u h ob os) + lambda.
Proof.
move=> d0 d1 near U01; have [Pc wc Hc] := block_fl_met.
have K0 : 0 <= additions_off u h order by rewrite !mulr_ge0 ?ler0n ?exprn_ge0 ?addr_ge0 ?ler01.
exact: (block_absolute u0 u1 h0 tau0 (growth_ge0 u0 d) K0 decided B0 S0 Bb Ss Pc wc Hc d0 d1 near U01).
Qed.
Theorem token_fl_rounding (A : seq V -> V -> R) :
  (forall x y, 0 <= drawn x y) -> (forall x, sumV (drawn x) = 1) ->
  (forall x, exists r : V -> R, [/\ sumV r = 1, forall y, 0 <= r y, total_variation r (drawn x) <= lambda &
     if size x == gamma then forall y, r y * sumV (B x) = B x y
     else forall y, r y * sumV (token_weight_fl fl B S x) = token_weight_fl fl B S x y]) ->
  (forall x y, 0 <= A x y <= 1) ->
  `|gen Ms gamma c (token_computed F (token_coin_fl fl B S free tau) drawn A [::])
    - gen Ms gamma c (fun X => token_verify Mb Ms c X A)|
  <= gamma%:R * token_step_off V u h ob os tau eta + ob + lambda.
Proof.
move=> d0 d1 near A01.
have Hc x y : token_coin_absolute u h tau B S (token_coin_fl fl B S free tau) x y.
  rewrite /token_coin_absolute /token_coin_fl; have [le|lt] := leP (S x y) tau; first by split.
  split; last by exists (fl (B x y / S x y)).
  by rewrite le_minr ler01 le_minl lexx orbT !andbT; apply: fl_ge0; apply: divr_ge0.
have wc x y : token_weight_absolute u h B S (token_weight_fl fl B S) x y by exists (fl (B x y - S x y)).
exact: (token_absolute u0 u1 h0 tau0 decided B0 S0 Bb Ss Hc wc d0 d1 near A01).
Qed.
End Whole.
