(* Block and token verification where an operation is off by u of its result and by h beside it: gradual underflow.  The rows
   that a verifier is given may be off in all, not entry by entry: a softmax may give 0 where the model does not, and a token
   of the draft's row may never be drawn.  Each error counts as often as its prefix is drafted, so that none is multiplied by
   a quotient of rows. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum zify.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Models Algorithms Verifier Block Token SubBlocks Precision Rounding BlockRounding SeveralDrafts ProblemRounding TreeRounding.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

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
  apply: le_trans (_ : `|t - a| <= _); first by have := min1_near a t; rewrite (min_l a1).
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
