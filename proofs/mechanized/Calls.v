(* The corrected Theorem 2: block verification needs the fewest expected target calls to finish
   any text, among all valid verifiers, also those that change from iteration to iteration and
   remember every draft. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Models Algorithms Verifier Block Token Optimality Stopping Recursion.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section Cost.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma : nat).
Implicit Types (c s X : seq V) (t r : R).
(* The texts that are finished, and the calls that block verification needs from a text on. *)
Variables (finished : pred (seq V)) (L : nat) (calls : seq V -> R).
Hypothesis stays : forall c y, finished c -> finished (rcons c y).
Hypothesis bounded : forall c, (L <= size c)%N -> finished c.
Hypothesis calls0 : forall c, finished c -> calls c = 0.
Hypothesis callsS : forall c, ~~ finished c -> calls c = 1 + block_step Mb Ms gamma calls c.
Notation Phi := (phi Mb Ms (next Mb calls) calls).

Lemma next_finished c : finished c -> next Mb calls c = 0.
Proof.
move=> f; rewrite -[RHS](sumV0 V); apply: sumV_eq => y.
by rewrite calls0 ?mulr0 // stays.
Qed.
Lemma Phi_finished k c p : finished c -> Phi k c p = 0.
Proof.
elim: k c p => [|k IH] c p f /=; first by rewrite next_finished // mulr0.
rewrite -[RHS](sumV0 V); apply: sumV_eq => y.
by rewrite IH ?calls0 ?stays // !mulr0 addr0.
Qed.

(* (Mon), (K) and (E) of one text, (Q) for two draft lengths. *)
Definition shorter_costs c := forall k p, 0 <= p <= 1 -> Phi k.+1 c p <= Phi k c p.
Definition scales c := forall j k t r, (k <= j <= gamma)%N -> 0 <= t <= 1 -> 0 <= r <= 1 ->
  t * Phi j c r - Phi k c (t * r) <= 1 - t.
Definition one_call c := forall j, (j <= gamma)%N -> calls c <= 1 + Phi j c 1.
Definition free_token c := next Mb calls c <= calls c.

Lemma mono_le c k j p : shorter_costs c -> 0 <= p <= 1 -> (k <= j)%N -> Phi j c p <= Phi k c p.
Proof.
move=> m p01 /subnKC <-; elim: (j - k)%N => [|i IH]; first by rewrite addn0.
by rewrite addnS; apply: le_trans (m _ _ p01) IH.
Qed.
Lemma one_call_of c : shorter_costs c -> one_call c.
Proof.
move=> m j le; have [f|nf] := boolP (finished c).
  by rewrite calls0 // Phi_finished // addr0 ler01.
by rewrite callsS // ler_add2l; apply: mono_le => //; rewrite ler01 lexx.
Qed.

Section Step.
Variable c : seq V.
Hypothesis IH : forall y, [/\ shorter_costs (rcons c y), scales (rcons c y) & free_token (rcons c y)].
Notation b := (Mb c).
Notation s := (Ms c).

Lemma shorter_costs_step : shorter_costs c.
Proof.
move=> k p p01; case/andP: (p01) => p0 p1; case: k => [|k].
  rewrite /= /next -sumVZ; apply: sumV_le => y; have [_ _ free] := IH y.
  rewrite mulrA next_pE // overE -ler_subr_addr.
  have m0 : 0 <= Num.min (p * b y) (s y) by rewrite le_minr mulr_ge0 ?row_ge0.
  apply: le_trans (ler_wpmul2l m0 free) _; move: (Num.min _ _) (calls _) => m a.
  by rewrite mulrBl opprB mulrA addrC subrK.
apply: sumV_le => y; rewrite ler_add2r; apply: ler_wpmul2l => //; have [m _ _] := IH y.
by apply: m; apply: next_p_range.
Qed.

Lemma scales_step : scales c.
Proof.
move=> j k t r /andP[kj jg] t01 r01; case/andP: (t01) => t0 t1; case/andP: (r01) => r0 r1.
case: k kj => [|k] kj.
  apply: le_trans (_ : 0 <= _); last by rewrite subr_ge0.
  rewrite subr_le0 [Phi 0 c _]/= -mulrA; apply: ler_wpmul2l => //.
  exact: (mono_le shorter_costs_step r01 (leq0n j)).
case: j jg kj => [|j] jg //; rewrite ltnS => kj.
have -> : 1 - t = sumV (fun y => (1 - t) * s y) by rewrite sumVZ row_sum mulr1.
rewrite /= -sumVZ -sumVB; apply: sumV_le => y.
have [m q _] := IH y; have := one_call_of m; move: (rcons c y) (m) q => cy my q one.
have [s0|sn] := eqVneq (s y) 0.
  have rb : 0 <= r * b y by rewrite mulr_ge0.
  have trb : 0 <= t * r * b y by rewrite mulr_ge0 // mulr_ge0.
  rewrite !over_over ?s0 // !mul0r !add0r !subr0 mulr0 le_eqVlt; apply/orP; left; apply/eqP; ring.
have sp : 0 < s y by rewrite lt0r sn row_ge0.
have [rho rhoE] : exists rho, r * b y = rho * s y by exists (r * b y / s y); rewrite divfK.
have rho0 : 0 <= rho by rewrite -(pmulr_lge0 _ sp) -rhoE mulr_ge0.
have tr : t * r * b y = t * rho * s y by rewrite -mulrA rhoE mulrA.
have u1 : 0 <= (1 : R) <= 1 by rewrite ler01 lexx.
have jg' : (k <= j <= gamma)%N by rewrite kj ltnW.
have T j' : (j' <= gamma)%N -> calls cy - Phi j' cy 1 <= 1 by move=> /one; rewrite ler_subl_addr.
have [rle|rgt] := leP rho 1.
  have tle : t * rho <= 1 by apply: mulr_ile1.
  rewrite !next_p_under ?over_under // ?tr ?rhoE ?ler_pimull //; rewrite ?mulfK //.
  rewrite !mul0r !addr0 mulrCA -mulrBr [X in _ <= X]mulrC; apply: ler_wpmul2l; first exact: ltW.
  by apply: q => //; rewrite rho0.
have sler : s y <= r * b y by rewrite rhoE ler_pmull // ltW.
have [tle|tgt] := leP (t * rho) 1.
  rewrite [next_p _ _ r y]next_p_over // [next_p _ _ (t * r) y]next_p_under // ?tr ?ler_pimull //.
  rewrite [over _ _ r y]over_over // [over _ _ (t * r) y]over_under ?tr ?ler_pimull // mulfK // rhoE.
  have := q j k (t * rho) 1 jg'; rewrite mulr1 => /(_ _ u1); rewrite tle mulr_ge0 // => /(_ isT) Q.
  rewrite -subr_ge0; have -> : (1 - t) * s y - (t * (s y * Phi j cy 1 + (rho * s y - s y) * calls cy)
      - (s y * Phi k cy (t * rho) + 0 * calls cy))
    = s y * ((1 - t * rho - (t * rho * Phi j cy 1 - Phi k cy (t * rho)))
       + t * (rho - 1) * (1 - (calls cy - Phi j cy 1))) by ring.
  apply: mulr_ge0; first exact: ltW.
  apply: addr_ge0; first by rewrite subr_ge0.
  apply: mulr_ge0; last by rewrite subr_ge0 T // ltnW.
  by rewrite mulr_ge0 // subr_ge0 ltW.
have slet : s y <= t * r * b y by rewrite tr ler_pmull // ltW.
rewrite !next_p_over // !over_over // tr rhoE.
rewrite -subr_ge0; have -> : (1 - t) * s y - (t * (s y * Phi j cy 1 + (rho * s y - s y) * calls cy)
      - (s y * Phi k cy 1 + (t * rho * s y - s y) * calls cy))
    = s y * ((Phi k cy 1 - Phi j cy 1) + (1 - t) * (1 - (calls cy - Phi j cy 1))) by ring.
apply: mulr_ge0; first exact: ltW.
apply: addr_ge0; first by rewrite subr_ge0; apply: mono_le.
by apply: mulr_ge0; rewrite subr_ge0 // T // ltnW.
Qed.

Lemma free_token_step : free_token c.
Proof.
have [f|nf] := boolP (finished c); first by rewrite /free_token next_finished // calls0.
rewrite /free_token callsS // /block_step.
have [g0|gp] := posnP gamma; first by rewrite g0 /= mul1r ler_addr ler01.
rewrite -(prednK gp) /= -[X in X + _](row_sum Ms c) -sumVD; apply: sumV_le => y.
have [m q _] := IH y; have := one_call_of m; move: (rcons c y) (m) q => cy my q one.
rewrite overE mul1r mulrBl !addrA [X in _ <= X]addrAC ler_addr subr_ge0.
have [s0|sn] := eqVneq (s y) 0.
  by rewrite s0 !mul0r addr0 min_r ?mul0r ?row_ge0.
have sp : 0 < s y by rewrite lt0r sn row_ge0.
have u1 : 0 <= (1 : R) <= 1 by rewrite ler01 lexx.
have [rho rhoE] : exists rho, b y = rho * s y by exists (b y / s y); rewrite divfK.
have rho0 : 0 <= rho by rewrite -(pmulr_lge0 _ sp) -rhoE.
have [rle|rgt] := leP rho 1.
  have le : 1 * b y <= s y by rewrite mul1r rhoE ler_pimull // ltW.
  rewrite next_p_under // mul1r min_l; last by rewrite -[X in X <= _]mul1r.
  rewrite rhoE mulfK // -{2}[s y]mulr1 -mulrDr [rho * _]mulrC -mulrA; apply: ler_wpmul2l; first exact: ltW.
  have := q gamma gamma.-1 rho 1; rewrite mulr1 rho0 rle leq_pred leqnn => /(_ isT isT u1) Q.
  have := ler_wpmul2l rho0 (one gamma (leqnn gamma)); move: Q.
  rewrite mulrDr mulr1 ler_subl_addr => Q C; apply: le_trans C _.
  by apply: le_trans (ler_add (lexx rho) Q) _; rewrite addrA [rho + _]addrC subrK.
have le : s y <= 1 * b y by rewrite mul1r rhoE ler_pmull // ltW.
rewrite next_p_over // min_r; last by rewrite -[X in _ <= X]mul1r.
rewrite -{2}[s y]mulr1 -mulrDr; apply: ler_wpmul2l; first exact: ltW.
by apply: one; apply: leq_pred.
Qed.
End Step.

Theorem cost c : [/\ shorter_costs c, scales c & free_token c].
Proof.
have [n] := ubnP (L - size c)%N; elim: n c => // n IH c; rewrite ltnS => le.
have [f|nf] := boolP (finished c).
  split=> [k p _|j k t r _ /andP[_ t1] _|]; rewrite ?Phi_finished //.
    by rewrite mulr0 subr0 subr_ge0.
  by rewrite /free_token next_finished ?calls0.
have lt : (size c < L)%N by rewrite ltnNge; apply: contra nf; apply: bounded.
have H y : [/\ shorter_costs (rcons c y), scales (rcons c y) & free_token (rcons c y)].
  by apply: IH; rewrite size_rcons subnS prednK ?subn_gt0 //.
by split; [apply: shorter_costs_step | apply: scales_step | apply: free_token_step].
Qed.
End Cost.
