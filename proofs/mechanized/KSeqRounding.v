From mathcomp Require Import all_ssreflect ssralg ssrnum zify.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Algorithms Block Descent Precision Rounding ProblemRounding TreeRounding DescentRounding.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

(* k-SEQ computed in floating point, one step: its shares, their sum, the probability of acceptance, the coins and what is
   left of the target, each by the operations that the code does.  What is assumed is the standard model of Rounding.v. *)

Section Numbers.
Variables (R : realFieldType) (u : R).
Hypothesis u0 : 0 <= u.
Notation rounds := (Rounding.rounds u).
Implicit Types (e f x y z a c k : R).
Lemma rel_le e f z z' : 0 <= z -> e <= f -> rel e z z' -> rel f z z'.
Proof. by move=> z0 le r; apply: le_trans r _; apply: ler_wpmul2r. Qed.
Lemma rel_scale k e z z' : 0 <= k -> rel e z z' -> rel e (k * z) (k * z').
Proof. by move=> k0 r; rewrite /rel -mulrBr normrM (ger0_norm k0) mulrCA; apply: ler_wpmul2l. Qed.
Lemma rel_trans e f z z' z'' : 0 <= f -> rel e z z' -> rel f z' z'' -> rel (both e f) z z''.
Proof.
move=> f0 r s; have [_ hi] := rel_range r; have -> : both e f = f * (1 + e) + e by rewrite /both; ring.
rewrite /rel; have -> : z'' - z = (z'' - z') + (z' - z) by ring.
apply: le_trans (ler_norm_add _ _) _; rewrite mulrDl -mulrA; apply: ler_add => //.
by apply: le_trans s _; apply: ler_wpmul2l.
Qed.
Lemma rel_min_of e a a' c c' : e <= 1 -> rel e a a' -> rel e c c' -> rel e (Num.min a c) (Num.min a' c').
Proof.
move=> e1 /rel_range[la ha] /rel_range[lc hc]; have e1' : 0 <= 1 - e by rewrite subr_ge0.
have lo : (1 - e) * Num.min a c <= Num.min a' c'.
  by rewrite le_minr; apply/andP; split; [apply: le_trans la | apply: le_trans lc];
    apply: ler_wpmul2l => //; rewrite le_minl lexx ?orbT.
have hi : Num.min a' c' <= (1 + e) * Num.min a c.
  by rewrite le_minl; case: (leP a c) => h; [rewrite ha | rewrite hc orbT].
rewrite /rel ler_norml; apply/andP; split.
  by rewrite ler_subr_addr addrC -mulNr -[X in X + _]mul1r -mulrDl.
by rewrite ler_subl_addr -[X in _ + X]mul1r -mulrDl addrC.
Qed.
Lemma bothC e f : both e f = both f e.
Proof. by rewrite /both mulrC. Qed.
Lemma both_le e e' f : 0 <= f -> e <= e' -> both e f <= both e' f.
Proof. by move=> f0 le; rewrite /both ler_add2r ler_wpmul2r ?ler_add2l // addr_ge0 ?ler01. Qed.
(* Two operations on a number of either sign, and powers. *)
Lemma two_operations x y z : rounds x y -> rounds y z -> `|z - x| <= both u u * `|x|.
Proof.
move=> r s; have hy : `|y| <= (1 + u) * `|x|.
  have -> : y = (y - x) + x by ring.
  by apply: le_trans (ler_norm_add _ _) _; rewrite mulrDl mul1r addrC ler_add2l.
have -> : z - x = (z - y) + (y - x) by ring.
apply: le_trans (ler_norm_add _ _) _; have -> : both u u = u * (1 + u) + u by rewrite /both; ring.
by rewrite mulrDl -mulrA; apply: ler_add => //; apply: le_trans s _; apply: ler_wpmul2l.
Qed.
Lemma powers_near e x y n : 0 <= e -> `|y| <= 1 -> `|x - y| <= e -> `|x ^+ n - y ^+ n| <= growth e n.
Proof.
move=> e0 y1 xy; have x1 : `|x| <= 1 + e.
  have -> : x = y + (x - y) by ring.
  by apply: le_trans (ler_norm_add _ _) _; apply: ler_add.
elim: n => [|n IH]; first by rewrite !expr0 subrr normr0 growth0.
have -> : x ^+ n.+1 - y ^+ n.+1 = x ^+ n * (x - y) + (x ^+ n - y ^+ n) * y by rewrite !exprSr; ring.
apply: le_trans (ler_norm_add _ _) _; rewrite !normrM normrX.
have -> : growth e n.+1 = (1 + e) ^+ n * e + growth e n by rewrite /growth exprSr; ring.
apply: ler_add; first by apply: ler_pmul => //; [apply: exprn_ge0 | apply: ler_expn2r; rewrite ?nnegrE ?addr_ge0 ?ler01].
by apply: le_trans IH; rewrite ler_pimulr.
Qed.
(* A product taken in order, from 1 on. *)
Fixpoint product_of c n P : Prop := if n is n'.+1 then exists2 P', product_of c n' P' & rounds (P' * c) P else P = 1.
Lemma product_near c n P : product_of c n P -> `|P - c ^+ n| <= growth u n * `|c ^+ n|.
Proof.
elim: n P => [|n IH] P /=; first by move=> ->; rewrite expr0 subrr normr0 growth0 mul0r.
move=> [P' /IH near r]; have -> : P - c ^+ n.+1 = (P - P' * c) + (P' - c ^+ n) * c by rewrite exprSr; ring.
have hP : `|P'| <= (1 + growth u n) * `|c ^+ n|.
  have -> : P' = (P' - c ^+ n) + c ^+ n by ring.
  by apply: le_trans (ler_norm_add _ _) _; rewrite mulrDl mul1r addrC ler_add2l.
apply: le_trans (ler_norm_add _ _) _; rewrite normrM.
have -> : growth u n.+1 = u * (1 + growth u n) + growth u n by rewrite /growth exprS; ring.
rewrite exprSr normrM mulrDl; apply: ler_add; last by rewrite mulrA; apply: ler_wpmul2r.
apply: le_trans r _; rewrite -mulrA; apply: ler_wpmul2l => //; rewrite normrM mulrA; exact: ler_wpmul2r.
Qed.
End Numbers.

(* The coins of k siblings from one row q, each falling with probability h of its token. *)
Section Tries.
Variables (V : vocabulary) (R : realFieldType) (q : V -> R).
Hypotheses (q0 : forall x, 0 <= q x) (q1 : sumV q = 1).
Implicit Types (h U : V -> R) (g : V -> bool -> R) (last : R) (j : nat).
Fixpoint tries h j U last : R := if j is j'.+1 then sumV (fun x => q x * (h x * U x + (1 - h x) * tries h j' U last)) else last.
Lemma siblings_tries h j elders g last :
  siblings (fun=> q) pred0 j elders (fun xs => first_of h xs g last) = tries h j (g^~ true) last.
Proof.
elim: j elders => [|j IH] elders //=; apply: sumV_eq => x; congr (_ * _).
by rewrite /flip siblingsD !siblingsZ (siblings_const (fun _ _ => q1)) IH.
Qed.
Lemma tries_range h j U last : (forall x, 0 <= h x <= 1) -> (forall x, 0 <= U x <= 1) -> 0 <= last <= 1 -> 0 <= tries h j U last <= 1.
Proof.
by move=> h01 U01 l01; elim: j => [|j IH] //=; apply: (draw_range q1 q0) => x; apply: mix_range.
Qed.
Lemma tries_last h j U l l' : tries h j U l - tries h j U l' = (l - l') * tries h j (fun=> 0) 1.
Proof.
elim: j => [|j IH] /=; first by rewrite mulr1.
rewrite -sumVB -sumVZ; apply: sumV_eq => x.
by rewrite -mulrBr mulrCA; congr (_ * _); rewrite mulr0 add0r mulrCA -IH; ring.
Qed.
Lemma tries_near h h' j U last : (forall x, 0 <= h x <= 1) -> (forall x, 0 <= h' x <= 1) -> (forall x, 0 <= U x <= 1) ->
  0 <= last <= 1 -> `|tries h j U last - tries h' j U last| <= j%:R * sumV (fun x => q x * `|h x - h' x|).
Proof.
move=> h01 h'01 U01 l01; elim: j => [|j IH] /=; first by rewrite subrr normr0 mul0r.
rewrite -sumVB; apply: le_trans (sumV_norm _) _; set D := sumV _ in IH *; set T := tries h' _ _ _ in IH *.
have T01 : 0 <= T <= 1 by apply: tries_range.
apply: le_trans (_ : sumV (fun x => q x * `|h x - h' x| + q x * (j%:R * D)) <= _); last first.
  by rewrite sumVD sumVZr q1 mul1r -addn1 natrD mulrDl mul1r addrC.
apply: sumV_le => x; rewrite -mulrBr normrM (ger0_norm (q0 x)) -mulrDr; apply: ler_wpmul2l => //.
have -> : h x * U x + (1 - h x) * tries h j U last - (h' x * U x + (1 - h' x) * T)
  = (h x - h' x) * (U x - T) + (1 - h x) * (tries h j U last - T) by ring.
apply: le_trans (ler_norm_add _ _) _; rewrite !normrM; have /andP[x0 x1] := h01 x.
have d0 : 0 <= 1 - h x by rewrite subr_ge0.
apply: ler_add; first by rewrite ler_pimulr //; apply: mix_gap.
by rewrite (ger0_norm d0); apply: le_trans IH; rewrite ler_pimull // ler_subl_addr ler_addl.
Qed.
Lemma tries_rounds (b : V -> R) rho j U last : Descent.rounds b q rho j U last = tries (next_p b q rho^-1) j U last.
Proof. by elim: j => [|j IH] //=; apply: sumV_eq => x; rewrite /flip IH. Qed.
End Tries.

Section OneStep.
Variables (V : vocabulary) (R : realFieldType) (u nu : R) (d k : nat) (b q B Q : V -> R) (rho : R).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1) (nu0 : 0 <= nu) (nu1 : nu < 1).
Hypotheses (b0 : forall y, 0 <= b y) (b1 : sumV b = 1) (q0 : forall y, 0 <= q y) (q1 : sumV q = 1).
Hypotheses (Bb : forall y, rel nu (b y) (B y)) (Qq : forall y, rel nu (q y) (Q y)) (rho0 : 0 < rho).
Notation rounds := (Rounding.rounds u).
Notation taken := (Descent.taken b q rho).
Notation beta := (Descent.beta b q rho).
Definition share_off : R := both nu u.
Definition coin_of_share_off : R := both (both nu (share_off / (1 - share_off))) u.
Definition beta_off : R := both share_off (growth u d).
Definition one_less_off : R := beta_off + u * (1 + beta_off).
Definition power_off : R := both (growth one_less_off k) (growth u k).
Definition accepted_off : R := power_off + u * (1 + power_off).
Definition part_off : R := both share_off (beta_off / (1 - beta_off)).
Definition given_up_off : R := (both u u * (1 + accepted_off) + accepted_off) * (1 + part_off) + part_off.
Definition allowed_off : R := both u beta_off + accepted_off.
Definition rest_off : R := u + (1 + u) * (nu + given_up_off) + allowed_off.
Hypothesis beta1 : beta_off < 1.
Let g0 : 0 <= growth u d. Proof. exact: growth_ge0. Qed.
Let s0 : 0 <= share_off. Proof. exact: both_ge0. Qed.
Let e0 : 0 <= beta_off. Proof. exact: both_ge0. Qed.
Let s_e : share_off <= beta_off.
Proof.
have -> : beta_off = share_off + growth u d * (1 + share_off) by rewrite /beta_off /both; ring.
by rewrite ler_addl; apply: mulr_ge0 => //; rewrite addr_ge0 ?ler01.
Qed.
Let s1 : share_off < 1. Proof. exact: le_lt_trans s_e beta1. Qed.
Let B0 y : 0 <= B y. Proof. exact: (given_ge0 nu1 (b0 y) (Bb y)). Qed.
Let Q0 y : 0 <= Q y. Proof. exact: (given_ge0 nu1 (q0 y) (Qq y)). Qed.
Let r0 : 0 <= rho^-1. Proof. by rewrite invr_ge0 ltW. Qed.
Let nu_inv : 0 <= nu / (1 - nu). Proof. by rewrite divr_ge0 // subr_ge0 ltW. Qed.
Let share_inv : 0 <= share_off / (1 - share_off). Proof. by rewrite divr_ge0 // subr_ge0 ltW. Qed.
Let beta_inv : 0 <= beta_off / (1 - beta_off). Proof. by rewrite divr_ge0 // subr_ge0 ltW. Qed.

(* A coin: B / (rho Q), or B / Q / rho. *)
Definition coin_of y H : Prop := exists m z, H = Num.min z 1 /\
  (rounds (rho * Q y) m /\ rounds (B y / m) z \/ rounds (B y / Q y) m /\ rounds (m / rho) z).
Lemma coin_of_share_off_ge0 : 0 <= coin_of_share_off.
Proof. by apply: both_ge0 => //; apply: both_ge0. Qed.
Lemma coin_of_near y H : coin_of y H -> rel coin_of_share_off (next_p b q rho^-1 y) H /\ 0 <= H <= 1.
Proof.
move=> [m [z [-> h]]]; have c0 := coin_of_share_off_ge0; have ratio0 : 0 <= b y / q y by rewrite divr_ge0.
suff [near z0] : rel coin_of_share_off (rho^-1 * b y / q y) z /\ 0 <= z.
  split; last by rewrite le_minr z0 ler01 le_minl lexx orbT.
  by apply: rel_min => //; rewrite -mulrA mulr_ge0.
have two : both (nu / (1 - nu)) u <= share_off / (1 - share_off).
  have d0 : 0 < 1 - nu by rewrite subr_gt0.
  have d1 : 0 < 1 - share_off by rewrite subr_gt0.
  have -> : both (nu / (1 - nu)) u = (u + nu) / (1 - nu) by rewrite /both; field; rewrite lt0r_neq0.
  rewrite ler_pdivr_mulr // mulrAC ler_pdivl_mulr // -subr_ge0.
  have -> : share_off * (1 - nu) - (u + nu) * (1 - share_off) = u * (nu + share_off) by rewrite /share_off /both; ring.
  by apply: mulr_ge0 => //; rewrite addr_ge0.
case: h => [[hm hz]|[hm hz]].
  have rq0 : 0 <= rho * q y by rewrite mulr_ge0 // ltW.
  have m0 : 0 <= m by apply: (rounds_ge0 u1 _ hm); rewrite mulr_ge0 // ltW.
  have rm := rel_rounds u0 nu0 rq0 (rel_scale (ltW rho0) (Qq y)) hm.
  have im := rel_inv s0 s1 rq0 rm.
  have iq0 : 0 <= (rho * q y)^-1 by rewrite invr_ge0.
  have rz := rel_mul nu0 (b0 y) iq0 (Bb y) im.
  have bz0 : 0 <= b y / (rho * q y) by rewrite divr_ge0.
  have -> : rho^-1 * b y / q y = b y / (rho * q y) by rewrite invfM mulrA [rho^-1 * _]mulrC.
  split; last by apply: (rounds_ge0 u1 _ hz); rewrite divr_ge0.
  exact: (rel_rounds u0 (both_ge0 nu0 share_inv) bz0 rz hz).
have BQ0 : 0 <= B y / Q y by rewrite divr_ge0.
have m0 := rounds_ge0 u1 BQ0 hm.
have iq0 : 0 <= (q y)^-1 by rewrite invr_ge0.
have rm := rel_mul nu0 (b0 y) iq0 (Bb y) (rel_inv nu0 nu1 (q0 y) (Qq y)).
have {}rm := rel_rounds u0 (both_ge0 nu0 nu_inv) ratio0 rm hm.
have rz := rel_scale r0 rm; rewrite [rho^-1 * m]mulrC in rz.
have z0 : 0 <= rho^-1 * (b y / q y) by rewrite mulr_ge0.
have m1 : 0 <= both (both nu (nu / (1 - nu))) u by apply: both_ge0 => //; apply: both_ge0.
split; last by apply: (rounds_ge0 u1 _ hz); rewrite divr_ge0 // ltW.
rewrite -mulrA; apply: rel_le z0 _ (rel_rounds u0 m1 z0 rz hz).
have -> : both (both (both nu (nu / (1 - nu))) u) u = both (both nu (both (nu / (1 - nu)) u)) u by rewrite /both; ring.
by apply: both_le => //; rewrite ![both nu _]bothC; apply: both_le.
Qed.
Lemma part_off_ge0 : 0 <= part_off. Proof. exact: both_ge0. Qed.
Lemma one_less_off_ge0 : 0 <= one_less_off.
Proof. by rewrite addr_ge0 // mulr_ge0 // addr_ge0 ?ler01. Qed.
Lemma power_off_ge0 : 0 <= power_off.
Proof. by apply: both_ge0; apply: growth_ge0 => //; apply: one_less_off_ge0. Qed.
Lemma accepted_off_ge0 : 0 <= accepted_off.
Proof. by have p0 := power_off_ge0; rewrite addr_ge0 // mulr_ge0 // addr_ge0 ?ler01. Qed.
Let t0 y : 0 <= taken y.
Proof. by rewrite mulr_ge0 //; have /andP[] := next_p_range b0 q0 y r0. Qed.
Let t_le y : rho * taken y <= b y.
Proof.
rewrite /taken next_pE // -ler_pdivl_mull // le_minl; apply/orP; left; exact: lexx.
Qed.
Let beta_ge0 : 0 <= beta. Proof. exact: sumV_ge0. Qed.
Let beta_le1 : beta <= 1.
Proof. by rewrite -q1; apply: sumV_le => y; rewrite /taken next_pE // le_minl lexx orbT. Qed.

(* The shares, their sum, what is accepted, and what the last token is drawn from. *)
Variables (t w : V -> R) (be c P A : R).
Hypothesis shares : forall y, exists2 z, rounds (B y / rho) z & t y = Num.min (Q y) z.
Hypothesis be_sum : within u d (sumV t) be.
Hypotheses (cr : rounds (1 - be) c) (Pr : `|P - c ^+ k| <= growth u k * `|c ^+ k|) (Ar : rounds (1 - P) A).
Hypothesis rest : if be == 0 then forall y, w y = B y else forall y, exists v v' e,
  [/\ rounds (t y * A) v, rounds (v / be) v', rounds (B y - v') e & w y = Num.max e 0].
(* rho is one of those allowed, or one that the computed numbers allow. *)
Hypothesis allowed : repeated b q rho k <= rho \/ exists2 m, rounds (rho * be) m & A <= m.
Notation acc := (1 - (1 - beta) ^+ k).

Let t_near y : rel share_off (taken y) (t y).
Proof.
have [z hz ->] := shares y; rewrite /taken next_pE // minC; apply: rel_min_of; first exact: ltW.
  by apply: rel_le (q0 y) _ (Qq y); rewrite /share_off bothC; apply: le_trans (_ : both 0 nu <= _);
    [rewrite /both addr0 mul1r addrC addKr | apply: both_le].
have bz : 0 <= rho^-1 * b y by rewrite mulr_ge0.
by rewrite mulrC in hz; apply: rel_rounds (rel_scale r0 (Bb y)) hz.
Qed.
Let be_near : rel beta_off beta be.
Proof.
apply: (rel_trans g0 _ be_sum); rewrite /rel -sumVB -sumVZ.
by apply: le_trans (sumV_norm _) _; apply: sumV_le => y; apply: t_near.
Qed.
Let acc01 : 0 <= acc <= 1.
Proof.
have c0 : 0 <= 1 - beta by rewrite subr_ge0.
rewrite subr_ge0 exprn_ile1 //=; last by rewrite ler_subl_addr ler_addl.
by rewrite ler_subl_addr ler_addl exprn_ge0.
Qed.
Let A_near : `|A - acc| <= accepted_off.
Proof.
have l0 := one_less_off_ge0; have p0 := power_off_ge0; have [lo hi] := rel_range be_near.
have bb : `|be - beta| <= beta_off by apply: le_trans be_near _; rewrite ler_pimulr.
have one : `|1 - beta| <= 1 by rewrite ger0_norm ?subr_ge0 // ler_subl_addr ler_addl.
have cn : `|c - (1 - beta)| <= one_less_off.
  have -> : c - (1 - beta) = (beta - be) + (c - (1 - be)) by ring.
  apply: le_trans (ler_norm_add _ _) _; rewrite distrC; apply: ler_add => //.
  apply: le_trans cr _; apply: ler_wpmul2l => //.
  have -> : 1 - be = (beta - be) + (1 - beta) by ring.
  by apply: le_trans (ler_norm_add _ _) _; rewrite distrC addrC; apply: ler_add.
have ck := powers_near k l0 one cn.
have Pn : `|P - (1 - beta) ^+ k| <= power_off.
  have -> : P - (1 - beta) ^+ k = (P - c ^+ k) + (c ^+ k - (1 - beta) ^+ k) by ring.
  apply: le_trans (ler_norm_add _ _) _.
  have -> : power_off = growth u k * (1 + growth one_less_off k) + growth one_less_off k by rewrite /power_off /both; ring.
  apply: ler_add => //; apply: le_trans Pr _; apply: ler_wpmul2l; first exact: growth_ge0.
  have -> : c ^+ k = (c ^+ k - (1 - beta) ^+ k) + (1 - beta) ^+ k by ring.
  apply: le_trans (ler_norm_add _ _) _; rewrite addrC; apply: ler_add => //.
  by rewrite normrX exprn_ile1.
have -> : A - acc = ((1 - beta) ^+ k - P) + (A - (1 - P)) by ring.
apply: le_trans (ler_norm_add _ _) _; rewrite distrC; apply: ler_add => //.
apply: le_trans Ar _; apply: ler_wpmul2l => //.
have -> : 1 - P = ((1 - beta) ^+ k - P) + acc by ring.
apply: le_trans (ler_norm_add _ _) _; rewrite distrC addrC; apply: ler_add => //.
by have /andP[a0 a1] := acc01; rewrite ger0_norm.
Qed.
Let rho_beta : rho * beta <= 1.
Proof. by rewrite -b1 /beta -sumVZ; apply: sumV_le. Qed.
Let allowed_ge0 : 0 <= allowed_off.
Proof. by apply: addr_ge0; [apply: both_ge0 | apply: accepted_off_ge0]. Qed.
Let allowed_near : acc <= rho * beta + allowed_off.
Proof.
case: allowed => [le|[m hm Am]].
  apply: le_trans (_ : rho * beta <= _); last by rewrite ler_addl.
  by rewrite -repeatedE [rho * _]mulrC; apply: ler_wpmul2l.
have rb0 : 0 <= rho * beta by rewrite mulr_ge0 // ltW.
have [_ hi] := rel_range (rel_rounds u0 e0 rb0 (rel_scale (ltW rho0) be_near) hm).
have aA : acc <= A + accepted_off.
  by rewrite -ler_subl_addl; apply: le_trans (ler_norm _) _; rewrite distrC.
have -> : rho * beta + allowed_off = (rho * beta + both u beta_off) + accepted_off by rewrite /allowed_off; ring.
apply: le_trans aA _; apply: ler_add => //; apply: le_trans Am _; apply: le_trans hi _.
by rewrite mulrDl mul1r ler_add2l bothC ler_pimulr // both_ge0.
Qed.
Notation left_over := (Descent.left_over b q rho k).
Lemma rest_near : (forall y, 0 <= w y) /\ apart left_over w <= rest_off.
Proof.
have a0 := accepted_off_ge0; have p0 := part_off_ge0; have /andP[acc0 acc1] := acc01.
have uu0 : 0 <= both u u by apply: both_ge0.
have factor0 : 0 <= both u u * (1 + accepted_off) + accepted_off.
  exact: addr_ge0 (mulr_ge0 uu0 (addr_ge0 ler01 a0)) a0.
have given0 : 0 <= given_up_off := addr_ge0 (mulr_ge0 factor0 (addr_ge0 ler01 p0)) p0.
have Bn : sumV (fun y => `|B y - b y|) <= nu.
  by rewrite -[X in _ <= X]mulr1 -b1 -sumVZ; apply: sumV_le => y; apply: Bb.
have below : nu <= rest_off.
  rewrite /rest_off; have -> : u + (1 + u) * (nu + given_up_off) + allowed_off
    = nu + (u + given_up_off + u * (nu + given_up_off) + allowed_off) by ring.
  rewrite ler_addl; exact: addr_ge0 (addr_ge0 (addr_ge0 u0 given0) (mulr_ge0 u0 (addr_ge0 nu0 given0))) allowed_ge0.
have [bz|bnz] := eqVneq be 0.
  have z : beta = 0.
    apply/eqP; rewrite eq_le beta_ge0 andbT; have := be_near; rewrite /rel bz sub0r normrN (ger0_norm beta_ge0) => le.
    have : (1 - beta_off) * beta <= 0 by rewrite mulrBl mul1r subr_le0.
    by rewrite pmulr_rle0 // subr_gt0.
  move: rest; rewrite bz eqxx => wB; split=> [y|]; first by rewrite wB.
  apply: le_trans below; apply: le_trans Bn; apply: sumV_le => y.
  by rewrite wB /left_over /= (sumV_eq0 t0 z y) mul0r subr0.
have bn0 : beta != 0.
  by apply/eqP => z; move: bnz; have := be_near; rewrite /rel z mulr0 subr0 normr_le0 => ->.
move: rest; rewrite (negPf bnz) => wr; split=> [y|].
  by have [v [v' [e [_ _ _ ->]]]] := wr y; rewrite le_maxr lexx orbT.
pose s y := taken y / beta; pose s' y := t y / be.
have sp y : 0 <= s y by rewrite divr_ge0.
have s_1 : sumV s = 1 by rewrite /s sumVZr mulfV.
have sn y : rel part_off (s y) (s' y).
  apply: rel_mul => //; first by rewrite invr_ge0.
  exact: rel_inv.
have s's : sumV (fun y => `|s' y - s y|) <= part_off.
  by rewrite -[X in _ <= X]mulr1 -s_1 -sumVZ; apply: sumV_le => y; apply: sn.
have s'1 : sumV (fun y => `|s' y|) <= 1 + part_off.
  have -> : 1 + part_off = sumV (fun y => s y + part_off * s y) by rewrite sumVD sumVZ s_1 mulr1.
  apply: sumV_le => y.
  have -> : s' y = s y + (s' y - s y) by ring.
  by apply: le_trans (ler_norm_add _ _) _; rewrite ger0_norm // ler_add2l; apply: sn.
have A1 : `|A| <= 1 + accepted_off.
  have -> : A = acc + (A - acc) by ring.
  by apply: le_trans (ler_norm_add _ _) _; rewrite ger0_norm //; apply: ler_add.
pose G y := taken y * repeated b q rho k.
have Gs y : G y = s y * acc by rewrite -repeatedE /s /G mulrA divfK.
pose m y := Num.max (G y - b y) 0.
have m_sum : sumV m <= allowed_off.
  rewrite -[X in _ <= X]mulr1 -s_1 -sumVZ; apply: sumV_le => y.
  rewrite le_maxl mulr_ge0 // andbT ler_subl_addr Gs.
  apply: le_trans (ler_wpmul2l (sp y) allowed_near) _; rewrite mulrDr addrC [s y * allowed_off]mulrC ler_add2l.
  by rewrite mulrCA /s divfK.
have {}wr y : exists v', `|v' - s' y * A| <= both u u * `|s' y * A| /\
    exists2 e, rounds (B y - v') e & w y = Num.max e 0.
  have [v [v' [e [hv hv' he we]]]] := wr y; exists v'; split; last by exists e.
  apply: (two_operations u0 _ hv'); rewrite /s' mulrAC /Rounding.rounds -mulrBl !(normrM _ be^-1) mulrA.
  exact: ler_wpmul2r.
have [v' each] := fin_all_exists wr.
have v'_near : sumV (fun y => `|v' y - G y|) <= given_up_off.
  apply: le_trans (_ : sumV (fun y => (both u u * (1 + accepted_off) + accepted_off) * `|s' y| + `|s' y - s y|) <= _).
    apply: sumV_le => y; have [hv _] := each y.
    have -> : v' y - G y = (v' y - s' y * A) + s' y * (A - acc) + (s' y - s y) * acc by rewrite Gs; ring.
    apply: le_trans (ler_norm_add _ _) _; apply: ler_add; last by rewrite normrM (ger0_norm acc0) ler_pimulr.
    apply: le_trans (ler_norm_add _ _) _; rewrite mulrDl; apply: ler_add; last by rewrite normrM mulrC ler_wpmul2r.
    apply: le_trans hv _; rewrite normrM -mulrA [_ * `|A|]mulrC; apply: ler_wpmul2l => //; exact: ler_wpmul2r.
  by rewrite sumVD sumVZ; apply: ler_add => //; apply: ler_wpmul2l.
apply: le_trans (_ : sumV (fun y => u * b y + (1 + u) * (`|B y - b y| + `|v' y - G y|) + m y) <= _); last first.
  rewrite !sumVD !sumVZ sumVD b1 mulr1; apply: ler_add => //; rewrite ler_add2l; apply: ler_wpmul2l.
    by rewrite addr_ge0 ?ler01.
  exact: ler_add.
apply: sumV_le => y; have [_ [e he ->]] := each y; set x := B y - v' y in he.
rewrite -/(G y); set D := _ + `|v' y - G y|.
have xD : `|x - (b y - G y)| <= D.
  have -> : x - (b y - G y) = (B y - b y) - (v' y - G y) by rewrite /x; ring.
  exact: ler_norm_sub.
have G0 : 0 <= G y by rewrite Gs mulr_ge0.
have cut := le_trans (max0_near (b y - G y) x) xD.
have top : Num.max (b y - G y) 0 <= b y by rewrite le_maxl b0 andbT ler_subl_addr ler_addl.
have x_top : Num.max x 0 <= b y + D.
  by rewrite -ler_subl_addl; apply: le_trans cut; apply: le_trans (ler_norm _); rewrite ler_add2l ler_opp2.
have m_is : `|Num.max (b y - G y) 0 - (b y - G y)| <= m y.
  rewrite /m -[G y - b y]opprB; case: (leP (b y - G y) 0) => h.
    by rewrite sub0r normrN ler0_norm // le_maxr lexx.
  by rewrite subrr normr0 le_maxr lexx orbT.
have -> : Num.max e 0 - left_over y = (Num.max e 0 - Num.max x 0) + (Num.max x 0 - Num.max (b y - G y) 0)
  + (Num.max (b y - G y) 0 - (b y - G y)) by rewrite /left_over -/(G y); ring.
apply: le_trans (ler_norm_add _ _) _; apply: ler_add => //.
apply: le_trans (ler_norm_add _ _) _.
have -> : u * b y + (1 + u) * D = u * (b y + D) + D by ring.
apply: ler_add => //; apply: le_trans (max0_rounds u1 he) _; exact: ler_wpmul2l.
Qed.
End OneStep.

(* k-SEQ computed in floating point: the rule, on trees, from what KSeqRounding.v says of its numbers. *)

(* One step of the rule: the coins decided by Fd, the last token drawn by a row within lambda of what is left. *)
Section Rule.
Variables (V : vocabulary) (R : realFieldType) (u nu eta lambda : R) (d : nat) (Fd : R -> R).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1) (nu0 : 0 <= nu) (nu1 : nu < 1) (beta1 : beta_off u nu d < 1).
Hypothesis decided : forall h, 0 <= h <= 1 -> 0 <= Fd h <= 1 /\ `|Fd h - h| <= eta.
Hypothesis lambda0 : 0 <= lambda.
Notation rounds := (Rounding.rounds u).
(* F is what some computation of the rule for k siblings, from the rows B and Q, within the standard model makes of a
   function of the token and of whether it is accepted: rho from wherever, allowed or found to be so (ok); the shares t
   and their sum; what is accepted, 1 - (1 - be)^k; the coins H; the weights w of the last token, B - t A / be or 0. *)
Definition k_seq_computation k (b q B Q : V -> R) (F : seq V -> (V -> bool -> R) -> R) : Prop :=
  exists (rho : R) (t w H row r : V -> R) (be c P A : R),
  [/\ 0 < rho /\ (repeated b q rho k <= rho \/ exists2 m, rounds (rho * be) m & A <= m),
      (forall y, exists2 z, rounds (B y / rho) z & t y = Num.min (Q y) z) /\ within u d (sumV t) be,
      [/\ rounds (1 - be) c, `|P - c ^+ k| <= growth u k * `|c ^+ k| & rounds (1 - P) A],
      if be == 0 then forall y, w y = B y else forall y, exists v v' e,
        [/\ rounds (t y * A) v, rounds (v / be) v', rounds (B y - v') e & w y = Num.max e 0]
    & [/\ forall y, coin_of u B Q rho y (H y),
          [/\ sumV r = 1, forall y, 0 <= r y & forall y, r y * sumV w = w y],
          [/\ sumV row = 1, forall y, 0 <= row y & total_variation r row <= lambda]
        & forall xs g, F xs g = first_of (fun y => Fd (H y)) xs g (draw row (g^~ false))]].
Definition try_off : R := eta + coin_of_share_off u nu.
Definition k_seq_off k : R := k%:R * try_off + 2%:R * rest_off u nu d k.
Hypothesis eta0 : 0 <= eta.
Let c0 : 0 <= coin_of_share_off u nu. Proof. exact: coin_of_share_off_ge0 beta1. Qed.
Lemma k_seq_off_mono m n : (m <= n)%N -> k_seq_off m <= k_seq_off n.
Proof.
move=> le; have one0 : 0 <= one_less_off u nu d by apply: one_less_off_ge0.
have po : power_off u nu d m <= power_off u nu d n.
  apply: le_trans (_ : both (growth (one_less_off u nu d) n) (growth u m) <= _).
    by apply: both_le; [apply: growth_ge0 | apply: growth_mono].
  by rewrite /power_off ![both (growth (one_less_off u nu d) n) _]bothC; apply: both_le; [apply: growth_ge0 | apply: growth_mono].
have u1' : 0 <= 1 + u by rewrite addr_ge0 ?ler01.
have ao : accepted_off u nu d m <= accepted_off u nu d n.
  by apply: ler_add => //; apply: ler_wpmul2l => //; rewrite ler_add2l.
have p1 : 0 <= 1 + part_off u nu d := addr_ge0 ler01 (part_off_ge0 u0 nu0 beta1).
apply: ler_add; first by apply: ler_wpmul2r; [apply: addr_ge0 | rewrite ler_nat].
apply: ler_wpmul2l; first exact: ler0n.
apply: ler_add; last by apply: ler_add.
apply: ler_add => //; apply: ler_wpmul2l => //; apply: ler_add => //; apply: ler_add => //; apply: ler_wpmul2r => //.
by apply: ler_add => //; apply: ler_wpmul2l; [apply: both_ge0 | rewrite ler_add2l].
Qed.
Lemma k_seq_off_ge0 k : 0 <= k_seq_off k.
Proof.
apply: le_trans (k_seq_off_mono (leq0n k)); rewrite /k_seq_off mul0r add0r mulr_ge0 ?ler0n //.
have a0 : 0 <= accepted_off u nu d 0 by apply: accepted_off_ge0.
have p0 : 0 <= part_off u nu d by apply: part_off_ge0.
have uu : 0 <= both u u by apply: both_ge0.
have one0 e : 0 <= e -> 0 <= 1 + e :> R := addr_ge0 ler01.
have b0 : 0 <= beta_off u nu d by apply: both_ge0; [apply: both_ge0 | apply: growth_ge0].
have f0 : 0 <= both u u * (1 + accepted_off u nu d 0) + accepted_off u nu d 0.
  by apply: addr_ge0 => //; apply: mulr_ge0 => //; apply: one0.
have v0 : 0 <= given_up_off u nu d 0 by apply: addr_ge0 => //; apply: mulr_ge0 => //; apply: one0.
apply: addr_ge0; last by apply: addr_ge0 => //; apply: both_ge0.
by apply: addr_ge0 => //; apply: mulr_ge0; [apply: one0 | apply: addr_ge0].
Qed.

Section Linear.
Variables (h : V -> R) (h01 : forall y, 0 <= h y <= 1).
Implicit Types (xs : seq V) (g : V -> bool -> R) (l : R).
Lemma first_of_le xs g g' l l' : (forall y a, g y a <= g' y a) -> l <= l' -> first_of h xs g l <= first_of h xs g' l'.
Proof.
move=> le ll; elim: xs => [|x xs IH] //=; have /andP[h0 h1] := h01 x.
by apply: ler_add; apply: ler_wpmul2l => //; rewrite subr_ge0.
Qed.
Lemma first_ofD xs g g' l l' : first_of h xs (fun y a => g y a + g' y a) (l + l') = first_of h xs g l + first_of h xs g' l'.
Proof. by elim: xs => [|x xs IH] //=; rewrite /flip IH; ring. Qed.
Lemma first_ofZ xs k g l : first_of h xs (fun y a => k * g y a) (k * l) = k * first_of h xs g l.
Proof. by elim: xs => [|x xs IH] //=; rewrite /flip IH; ring. Qed.
Lemma first_of1 xs : first_of h xs (fun _ _ => 1) 1 = 1.
Proof. by elim: xs => [|x xs IH] //=; rewrite /flip IH; ring. Qed.
End Linear.

Lemma k_seq_one k (b q B Q : V -> R) F : (forall y, 0 <= b y) -> sumV b = 1 -> (forall y, 0 <= q y) -> sumV q = 1 ->
  (forall y, rel nu (b y) (B y)) -> (forall y, rel nu (q y) (Q y)) -> k_seq_computation k b q B Q F ->
  expects (fun g => siblings (fun=> q) pred0 k [::] (fun xs => F xs (g xs))) /\
  forall U : V -> R, (forall y, 0 <= U y <= 1) ->
  `|siblings (fun=> q) pred0 k [::] (fun xs => F xs (fun y _ => U y)) - draw b U|
  <= k_seq_off k + lambda * siblings (fun=> q) pred0 k [::] (fun xs => F xs (fun _ accepted => (~~ accepted)%:R)).
Proof.
move=> b0 b1 q0 q1 Bb Qq [rho [t [w [H [row [r [be [c [P [A [[rho0 ok] [ts es] [cr Pr Ar] wr
  [Hc [r1 r0 rw] [row1 row0 rl] FE]]]]]]]]]]]].
have near y := coin_of_near u0 u1 nu0 nu1 b0 q0 Bb Qq rho0 beta1 (Hc y).
have [w0 wn] := rest_near u0 u1 nu0 nu1 b0 b1 q0 q1 Bb Qq rho0 beta1 ts es cr Pr Ar wr ok.
set h := fun y => Fd (H y) in FE; have h01 y : 0 <= h y <= 1 by have [_ /decided[]] := near y.
pose h' y := next_p b q rho^-1 y; have i0 : 0 <= rho^-1 by rewrite invr_ge0 ltW.
have h'01 y : 0 <= h' y <= 1 := next_p_range b0 q0 y i0.
split.
  split=> [g g' le|g g'|a g|].
  - apply: siblings_le => // xs _; rewrite !FE; apply: first_of_le => //; rewrite /draw.
    by apply: sumV_le => y; apply: ler_wpmul2l.
  - rewrite -siblingsD; apply: siblings_eq => xs; rewrite !FE -first_ofD; congr (first_of _ _ _ _).
    by rewrite /draw -sumVD; apply: sumV_eq => y; rewrite mulrDr.
  - rewrite -siblingsZ; apply: siblings_eq => xs; rewrite !FE -first_ofZ; congr (first_of _ _ _ _).
    by rewrite /draw -sumVZ; apply: sumV_eq => y; rewrite mulrCA.
  rewrite -[RHS](@siblings_const V R (fun=> q) pred0 (fun _ _ => q1) k [::]); apply: siblings_eq => xs.
  rewrite FE -[RHS](first_of1 h xs); congr (first_of _ _ _ _).
  by rewrite -[RHS]row1 /draw; apply: sumV_eq => y; rewrite mulr1.
move=> U U01; set X := draw row U; set Xr := draw r U.
have X01 : 0 <= X <= 1 by apply: draw_range.
have Xr01 : 0 <= Xr <= 1 by apply: draw_range.
rewrite (siblings_eq _ _ _ _ (fun xs => FE xs _)) siblings_tries // -/X.
rewrite [X in _ + lambda * X](_ : _ = tries q h k (fun=> 0) 1); last first.
  rewrite (siblings_eq _ _ _ _ (fun xs => FE xs _)) siblings_tries //; congr (tries _ _ _ _ _).
  by rewrite -[RHS]row1 /draw; apply: sumV_eq => y; rewrite mulr1.
set rej := tries _ _ _ _ 1; have rej0 : 0 <= rej.
  by have /andP[] := @tries_range _ _ q q0 q1 h k (fun=> 0) 1 h01 (fun=> introT andP (conj (lexx 0) ler01))
    (introT andP (conj ler01 (lexx 1))).
have -> : tries q h k U X - draw b U = (tries q h k U X - tries q h k U Xr) + (tries q h k U Xr - tries q h' k U Xr)
  + (tries q h' k U Xr - draw b U) by ring.
have -> : k_seq_off k + lambda * rej = lambda * rej + k%:R * try_off + 2%:R * rest_off u nu d k by rewrite /k_seq_off; ring.
apply: le_trans (ler_norm_add _ _) _; apply: ler_add; last first.
  rewrite -tries_rounds rounds_law //.
  pose lo y := left_over b q rho k y.
  have mass : sumV lo = (1 - beta b q rho) ^+ k by rewrite /lo /left_over sumVB sumVZr b1 -/(beta b q rho) repeatedE; ring.
  have -> : repeated b q rho k * sumV (fun x => Descent.taken b q rho x * U x) + (1 - beta b q rho) ^+ k * Xr - draw b U
      = sumV (fun y => (sumV lo * r y - lo y) * U y).
    rewrite [RHS](sumV_eq (g := fun y => (sumV lo * (r y * U y) + repeated b q rho k * (Descent.taken b q rho y * U y)) - b y * U y)).
      by rewrite sumVB sumVD !sumVZ mass /Xr /draw [X in _ = X - _]addrC.
    by move=> y; rewrite /lo /left_over; ring.
  apply: le_trans (ler_wpmul2l _ wn); last exact: ler0n.
  apply: le_trans (normalised_near lo r1 r0 rw); apply: le_trans (sumV_norm _) _; apply: sumV_le => y.
  by have /andP[y0 y1] := U01 y; rewrite normrM (ger0_norm y0) ler_pimulr.
apply: le_trans (ler_norm_add _ _) _; apply: ler_add.
  rewrite tries_last normrM (ger0_norm rej0); apply: ler_wpmul2r => //; exact: le_trans (tv_bounds r1 row1 U01) rl.
apply: le_trans (tries_near q0 q1 k h01 h'01 U01 Xr01) _; apply: ler_wpmul2l; first exact: ler0n.
apply: le_trans (_ : sumV (fun y => q y * eta + coin_of_share_off u nu * (q y * h' y)) <= _).
  apply: sumV_le => y; rewrite mulrCA -mulrDr; apply: ler_wpmul2l => //.
  have [hn /decided[_ he]] := near y; have -> : h y - h' y = (Fd (H y) - H y) + (H y - h' y) by rewrite /h; ring.
  by apply: le_trans (ler_norm_add _ _) _; apply: ler_add.
rewrite sumVD sumVZr q1 mul1r sumVZ ler_add2l ler_pimulr //.
by rewrite -q1; apply: sumV_le => y; rewrite next_pE // le_minl lexx orbT.
Qed.
End Rule.

(* On trees: level i f siblings at most are looked at together at depth i. *)
Theorem k_seq_rounding (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (c : seq V) (u nu eta lambda : R) (d : nat)
    (Fd : R -> R) (B Q : seq V -> V -> R) (step : seq V -> nat -> seq V -> (V -> bool -> R) -> R) (last : seq V -> V -> R)
    gamma f (g : seq V -> R) :
  0 <= u <= 1 -> 0 <= nu < 1 -> beta_off u nu d < 1 ->
  (forall h, 0 <= h <= 1 -> 0 <= Fd h <= 1 /\ `|Fd h - h| <= eta) -> 0 <= lambda ->
  (forall s y, rel nu (Mb (c ++ s) y) (B s y)) -> (forall s y, rel nu (Ms (c ++ s) y) (Q s y)) ->
  (forall s k, k_seq_computation u lambda d Fd k (Mb (c ++ s)) (Ms (c ++ s)) (B s) (Q s) (step s k)) ->
  (forall s, [/\ sumV (last s) = 1, forall y, 0 <= last s y & total_variation (share_of (B s)) (last s) <= lambda]) ->
  (forall o, 0 <= g o <= 1) ->
  `|descend (independent Ms c) (fun _ => pred0) step last gamma [::] f (fun s y => complete Mb gamma c g (rcons s y))
    - gen Mb gamma.+1 c g| <= \sum_(i < gamma) k_seq_off u nu eta d (level i f) + (nu + lambda).
Proof.
move=> /andP[u0 u1] /andP[nu0 nu1] beta1 decided lambda0 Bb Qq steps lasts g01.
have [_ /(le_trans (normr_ge0 _)) eta0] := decided 0 (introT andP (conj (lexx 0) (@ler01 R))).
have one s k := @k_seq_one V R u nu eta lambda d Fd u0 u1 nu0 nu1 beta1 decided k _ _ _ _ _
  (row_ge0 Mb (c ++ s)) (row_sum Mb (c ++ s)) (row_ge0 Ms (c ++ s)) (row_sum Ms (c ++ s)) (Bb s) (Qq s) (steps s k).
pose fits i h := forall j, (level j h <= level (i + j) f)%N.
apply: (@descend_near _ _ _ _ _ _ _ _ _ fits (fun i => k_seq_off u nu eta d (level i f))) => //.
- by move=> i; apply: k_seq_off_ge0.
- move=> i h xs y ok j; apply: leq_trans (level_go_on _ _ _ _) _.
  by apply: leq_trans (ok j.+1) _; rewrite addnS.
- by move=> s t h _; have [] := one s (size (t :: h)).
- move=> s t h U ok U01; have [_ nr] := one s (size (t :: h)); apply: le_trans (nr U U01) _.
  rewrite ler_add2r; apply: k_seq_off_mono => //; have := ok 0%N; by rewrite addn0.
move=> s U U01; have [l1 l0 ll] := lasts s; have [b0 near tv] := given_share nu1 Bb s.
apply: le_trans (tv_bounds (row_sum Mb (c ++ s)) l1 U01) _.
by apply: le_trans (tv_triangle _ (share_of (B s)) _) _; apply: ler_add.
Qed.

(* Transports of drafts to tokens computed in floating point: the plan is made by augmentations, each of which adds to and
   subtracts from what is moved, supplied and left by one operation a number; a share is what is moved from some drafts
   over all that these have, and the last token is drawn from what is left.  What is assumed is the standard model. *)

Section Plan.
Variables (V D : vocabulary) (R : realFieldType) (u : R).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1).
Notation rounds := (Rounding.rounds u).
Implicit Types (S : D) (y : V) (L supply : D -> R) (B room : V -> R) (moved flow : D -> V -> R).
(* After m augmentations, from nothing moved: flow is what one of them moves more (or back), in exact numbers of which
   none becomes negative; each number it changes is computed by one operation. *)
Fixpoint plan_after m L B moved supply room : Prop :=
  if m is m'.+1 then exists moved' supply' room' flow,
    [/\ plan_after m' L B moved' supply' room',
        forall S y, 0 <= moved' S y + flow S y /\ rounds (moved' S y + flow S y) (moved S y),
        forall S, 0 <= supply' S - sumV (flow S) /\ rounds (supply' S - sumV (flow S)) (supply S)
      & forall y, 0 <= room' y - sumV (flow^~ y) /\ rounds (room' y - sumV (flow^~ y)) (room y)]
  else [/\ forall S y, moved S y = 0, forall S, supply S = L S & forall y, room y = B y].
Definition supplied supply moved S : R := supply S + sumV (moved S).
Definition given_out room moved y : R := room y + sumV (moved^~ y).

Lemma sum_rounds (W : vocabulary) (a : R) (f : W -> R) a' (f' : W -> R) : 0 <= a -> (forall z, 0 <= f z) -> rounds a a' ->
  (forall z, rounds (f z) (f' z)) -> [/\ 0 <= a' + sumV f' & within u 1 (a + sumV f) (a' + sumV f')].
Proof.
move=> a0 f0 ra rf; split.
  by apply: addr_ge0; [exact: rounds_ge0 ra | apply: sumV_ge0 => z; apply: rounds_ge0 (rf z)].
rewrite /within growth1; have -> : a' + sumV f' - (a + sumV f) = (a' - a) + sumV (fun z => f' z - f z) by rewrite sumVB; ring.
apply: le_trans (ler_norm_add _ _) _; rewrite mulrDr; apply: ler_add; first by rewrite -{2}(ger0_norm a0).
apply: le_trans (sumV_norm _) _; rewrite -sumVZ; apply: sumV_le => z; rewrite -{2}(ger0_norm (f0 z)); exact: rf.
Qed.
(* What tokens and drafts have in all stays what it was, within m operations. *)
Theorem plan_near m L B moved supply room : (forall S, 0 <= L S) -> (forall y, 0 <= B y) ->
  plan_after m L B moved supply room ->
  [/\ forall S y, 0 <= moved S y, forall y, 0 <= room y, forall S, 0 <= supply S,
      forall S, within u m (L S) (supplied supply moved S) & forall y, within u m (B y) (given_out room moved y)].
Proof.
move=> L0 B0; elim: m moved supply room => [|m IH] moved supply room /=.
  move=> [m0 sL rB]; split=> [S y|y|S|S|y]; rewrite ?m0 ?sL ?rB //.
    by rewrite /supplied sL (sumV_eq (m0 S)) sumV0 addr0 /within growth0 subrr normr0 mul0r.
  by rewrite /given_out rB (sumV_eq (m0^~ y)) sumV0 addr0 /within growth0 subrr normr0 mul0r.
move=> [moved' [supply' [room' [flow [/IH[m'0 r'0 s'0 Ls Br] hm hs hr]]]]].
split=> [S y|y|S|S|y].
- by have [f0 hf] := hm S y; apply: rounds_ge0 hf.
- by have [f0 hf] := hr y; apply: rounds_ge0 hf.
- by have [f0 hf] := hs S; apply: rounds_ge0 hf.
- have [f0 hf] := hs S; have [_ one] := sum_rounds f0 (fun y => proj1 (hm S y)) hf (fun y => proj2 (hm S y)).
  rewrite -addn1; apply: (within_trans u0 _ (Ls S)); first by apply: addr_ge0 => //; apply: sumV_ge0.
  have -> : supplied supply' moved' S = supply' S - sumV (flow S) + sumV (fun y => moved' S y + flow S y).
    by rewrite /supplied sumVD; ring.
  exact: one.
have [f0 hf] := hr y; have [_ one] := sum_rounds f0 (fun S => proj1 (hm S y)) hf (fun S => proj2 (hm S y)).
rewrite -addn1; apply: (within_trans u0 _ (Br y)); first by apply: addr_ge0 => //; apply: sumV_ge0.
have -> : given_out room' moved' y = room' y - sumV (flow^~ y) + sumV (fun S => moved' S y + flow S y).
  by rewrite /given_out sumVD; ring.
exact: one.
Qed.

(* Numbers of sum 1 at most, off by nu relatively, after m operations more. *)
Lemma changed_near (W : vocabulary) (f f1 f2 : W -> R) nu m : 0 <= nu -> sumV f <= 1 -> (forall z, rel nu (f z) (f1 z)) ->
  (forall z, within u m (f1 z) (f2 z)) -> sumV (fun z => `|f2 z - f z|) <= both nu (growth u m).
Proof.
move=> nu0 one near1 near2; have g0 := growth_ge0 u0 m.
have all : apart f f1 <= nu.
  by apply: le_trans (_ : nu * sumV f <= _); [rewrite -sumVZ; apply: sumV_le => z; apply: near1 | rewrite ler_pimulr].
have f1_1 : sumV f1 <= 1 + nu.
  apply: le_trans (_ : sumV f + nu <= _); last by rewrite ler_add2r.
  by rewrite -ler_subl_addl; apply: le_trans (ler_norm _) _; apply: le_trans (apart_sum _ _) all.
apply: le_trans (_ : growth u m * sumV f1 + nu <= _); last first.
  have -> : both nu (growth u m) = growth u m * (1 + nu) + nu by rewrite /both; ring.
  by rewrite ler_add2r ler_wpmul2l.
apply: le_trans (ler_add (lexx _) all); rewrite /apart -sumVZ -sumVD; apply: sumV_le => z.
have -> : f2 z - f z = (f2 z - f1 z) + (f1 z - f z) by ring.
by apply: le_trans (ler_norm_add _ _) _; rewrite ler_add2r; apply: near2.
Qed.

(* The law of the drafts that k siblings are, of which key tells one from another. *)
Variables (Q : seq V -> V -> R) (spent : pred (seq V)) (key : seq V -> D) (k : nat).
Hypotheses (Q0 : forall elders x, 0 <= Q elders x) (Q1 : forall elders, ~~ spent elders -> sumV (Q elders) = 1).
Definition drafted S : R := siblings Q spent k [::] (fun xs => (key xs == S)%:R).
Lemma siblings_over j elders (F : seq V -> D -> R) :
  siblings Q spent j elders (fun xs => sumV (F xs)) = sumV (fun S => siblings Q spent j elders (F^~ S)).
Proof.
elim: j elders F => [|j IH] elders F //=; case: ifP => // _.
rewrite /draw (sumVE (fun S : D => sumV _)) -(big_enum _ predT) -sumV_exch; apply: sumV_eq => x.
by rewrite IH sumVE mulr_sumr -(big_enum _ predT).
Qed.
Lemma drafted_ge0 S : 0 <= drafted S.
Proof.
rewrite /drafted -[X in X <= _](siblings_const Q1 k [::]); apply: siblings_le => // xs _; exact: ler0n.
Qed.
Lemma siblings_key (f : D -> R) : siblings Q spent k [::] (fun xs => f (key xs)) = sumV (fun S => drafted S * f S).
Proof.
rewrite (siblings_eq _ _ _ _ (G := fun xs => sumV (fun S => (key xs == S)%:R * f S))) => [|xs]; last first.
  by rewrite (sumV_eq (g := fun S => (S == key xs)%:R * f S)) ?sumV_delta // => S; rewrite eq_sym.
rewrite siblings_over; apply: sumV_eq => S.
rewrite (siblings_eq _ _ _ _ (G := fun xs => f S * (key xs == S)%:R)) => [|xs]; last exact: mulrC.
by rewrite siblingsZ mulrC.
Qed.
Lemma drafted_sum : sumV drafted = 1.
Proof.
rewrite -[RHS](siblings_const Q1 k [::]) (siblings_key (fun=> 1)); apply: sumV_eq => S; by rewrite mulr1.
Qed.

(* What a transport of these shares leaves of the target, and what the computed plan says is left. *)
Variables (nu e kappa : R) (b B : V -> R) (m : nat).
Hypotheses (nu0 : 0 <= nu) (nu1 : nu < 1) (e0 : 0 <= e) (e1 : e < 1) (b0 : forall y, 0 <= b y) (b1 : sumV b <= 1).
Hypothesis Bb : forall y, rel nu (b y) (B y).
Variables (L supply : D -> R) (moved a : D -> V -> R) (room : V -> R).
Hypotheses (Le : forall S, rel e (drafted S) (L S)) (made : plan_after m L B moved supply room).
(* The choice among some drafts, or none of them, has the weights of the plan, up to kappa. *)
Definition chosen_by_the_plan S : Prop := exists share : V -> R, [/\ forall y, 0 <= share y, sumV share <= 1,
  forall y, share y * supplied supply moved S = moved S y & sumV (fun y => `|a S y - share y|) <= kappa].
Hypothesis choices : forall S, chosen_by_the_plan S.
Definition plan_off : R := both nu (growth u m) + both e (growth u m) + kappa.
Lemma left_near : apart (fun y => b y - siblings Q spent k [::] (fun xs => a (key xs) y)) room <= plan_off.
Proof.
have L0 S : 0 <= L S := given_ge0 e1 (drafted_ge0 S) (Le S).
have B0 y : 0 <= B y := given_ge0 nu1 (b0 y) (Bb y).
have [m0 r0 s0 Ls Br] := plan_near L0 B0 made.
have [share choice] := fin_all_exists choices.
have Bo := changed_near nu0 b1 Bb Br.
have one : sumV drafted <= 1 by rewrite drafted_sum.
have Lo := changed_near e0 one Le Ls.
pose gap y := sumV (fun S => drafted S * `|a S y - share S y| + share S y * `|supplied supply moved S - drafted S|).
apply: le_trans (_ : sumV (fun y => `|given_out room moved y - b y| + gap y) <= _).
  apply: sumV_le => y; rewrite (siblings_key (a^~ y)).
  have -> : room y - (b y - sumV (fun S => drafted S * a S y))
    = (given_out room moved y - b y) + sumV (fun S => drafted S * (a S y - share S y) - share S y * (supplied supply moved S - drafted S)).
    rewrite sumVB (sumV_eq (f := fun S => share S y * _) (g := fun S => moved S y - drafted S * share S y)).
      by rewrite (sumV_eq (fun S => mulrBr (drafted S) _ _)) !sumVB /given_out; ring.
    by move=> S; have [_ _ e' _] := choice S; rewrite mulrBr e' [share S y * _]mulrC.
  apply: le_trans (ler_norm_add _ _) _; rewrite ler_add2l; apply: le_trans (sumV_norm _) _; apply: sumV_le => S.
  have [sh0 _ _ _] := choice S; apply: le_trans (ler_norm_sub _ _) _.
  by rewrite !normrM (ger0_norm (drafted_ge0 S)) (ger0_norm (sh0 y)).
rewrite sumVD /plan_off -addrA; apply: ler_add => //.
have -> : sumV gap = sumV (fun S => drafted S * sumV (fun y => `|a S y - share S y|)
    + sumV (share S) * `|supplied supply moved S - drafted S|).
  rewrite /gap (sumV_eq (fun y => sumVE _)) sumV_exch sumVE; apply: eq_bigr => S _.
  by rewrite sumVD sumVZ sumVZr.
rewrite sumVD addrC; apply: ler_add.
  apply: le_trans Lo; apply: sumV_le => S; have [_ s1 _ _] := choice S; exact: ler_pimull.
rewrite -[X in _ <= X]mul1r -drafted_sum -sumVZr; apply: sumV_le => S; have [_ _ _ near] := choice S.
by apply: ler_wpmul2l => //; apply: drafted_ge0.
Qed.
End Plan.

(* On trees, with m augmentations at most for the siblings at each depth, and laws of drafts off by e relatively: fewer
   augmentations are more of which some move nothing. *)
Theorem transport_plan_rounding (V D : vocabulary) (R : realFieldType) (Mb : model V R) (c : seq V) (u nu kappa lambda : R)
    (m : nat -> nat) (e : nat -> R) (B : seq V -> V -> R) (Q : seq V -> seq V -> V -> R) (spent : seq V -> pred (seq V))
    (key : seq V -> D) (L supply : seq V -> nat -> D -> R) (moved a : seq V -> nat -> D -> V -> R)
    (room row : seq V -> nat -> V -> R) (last : seq V -> V -> R) gamma f (g : seq V -> R) :
  0 <= u <= 1 -> 0 <= nu < 1 -> (forall i, 0 <= e i < 1) -> 0 <= kappa -> 0 <= lambda ->
  (forall s y, rel nu (Mb (c ++ s) y) (B s y)) ->
  (forall s elders x, 0 <= Q s elders x) -> (forall s elders, ~~ spent s elders -> sumV (Q s elders) = 1) ->
  (forall s k, (0 < k <= level (size s) f)%N ->
    [/\ forall S, rel (e (size s)) (drafted (Q s) (spent s) key k S) (L s k S),
        plan_after u (m (size s)) (L s k) (B s) (moved s k) (supply s k) (room s k)
      & forall S, chosen_by_the_plan kappa (supply s k) (moved s k) (a s k) S]) ->
  (forall s k S y, 0 <= a s k S y) -> (forall s k S, sumV (a s k S) <= 1) ->
  (forall s k, [/\ sumV (row s k) = 1, forall y, 0 <= row s k y & exists r : V -> R, [/\ sumV r = 1, forall y, 0 <= r y,
     forall y, r y * sumV (room s k) = room s k y & total_variation r (row s k) <= lambda]]) ->
  (forall s, [/\ sumV (last s) = 1, forall y, 0 <= last s y & total_variation (share_of (B s)) (last s) <= lambda]) ->
  (forall o, 0 <= g o <= 1) ->
  `|descend Q spent (taking (fun s k xs => a s k (key xs)) row) last gamma [::] f
      (fun s y => complete Mb gamma c g (rcons s y)) - gen Mb gamma.+1 c g|
  <= \sum_(i < gamma) 2%:R * plan_off u nu (e i) kappa (m i) + (nu + lambda).
Proof.
move=> /andP[u0 u1] /andP[nu0 nu1] e01 kappa0 lambda0 Bb Q0 Q1 made a0 a1 rows lasts g01.
apply: (@transport_rounding V R Mb c nu lambda nu0 Q spent Q0 Q1 (fun s k xs => a s k (key xs)) room row last
  _ _ rows _ gamma f (fun i => 2%:R * plan_off u nu (e i) kappa (m i))) => //.
- move=> s; have [l1 l0 ll] := lasts s; have [b0 near tv] := given_share nu1 Bb s; split=> //.
  by apply: le_trans (tv_triangle _ (share_of (B s)) _) _; apply: ler_add.
- move=> i; have /andP[e0 _] := e01 i; have n0 := growth_ge0 u0 (m i).
  rewrite mulr_ge0 ?ler0n //; apply: addr_ge0 => //; apply: addr_ge0; exact: both_ge0.
move=> s k le; apply: ler_wpmul2l; first exact: ler0n.
have [Le plan choices] := made s k le; have /andP[e0 e1] := e01 (size s).
have one : sumV (Mb (c ++ s)) <= 1 by rewrite row_sum.
exact: (left_near u0 u1 (Q0 s) (@Q1 s) nu0 nu1 e0 e1 (row_ge0 Mb (c ++ s)) one (Bb s) Le plan choices).
Qed.

(* Global Resolution: of the drafts S the token y is accepted with any share that a solver returned, times a scale by which y
   is accepted no more often than the target has it.  Shares of at most 1 in all make a rule, lossless whatever they are; and in floating point only how
   often y would be accepted, the scale and what is left of the target count.  The standard model of Rounding.v is assumed. *)

Section Exact.
Variables (V : vocabulary) (R : realFieldType) (Mb : model V R) (c : seq V).
Notation rb s := (Mb (c ++ s)).
Variables (Q : seq V -> seq V -> V -> R) (spent : seq V -> pred (seq V)).
Hypotheses (Q0 : forall s elders x, 0 <= Q s elders x) (Q1 : forall s elders, ~~ spent s elders -> sumV (Q s elders) = 1).
Variable share : seq V -> nat -> seq V -> V -> R.
Hypothesis share0 : forall s k xs y, 0 <= share s k xs y.
Definition scale_to s k y : R :=
  if moved Q spent share s k y == 0 then 1 else Num.min (rb s y / moved Q spent share s k y) 1.
Definition global_resolution gamma f A : R := transport Mb c Q spent (fun s k xs y => share s k xs y * scale_to s k y) gamma f A.
Theorem resolution_valid gamma f o : size o = gamma.+1 ->
  global_resolution gamma f (fun s y => complete Mb gamma c (fun o' => (o' == o)%:R) (rcons s y)) = joint Mb c o.
Proof.
apply: (transport_valid Q1) => s k y; rewrite /moved.
rewrite (siblings_eq _ _ _ _ (G := fun xs => scale_to s k y * share s k xs y)) => [|xs]; last exact: mulrC.
rewrite siblingsZ -/(moved Q spent share s k y) /scale_to; set m := moved _ _ _ _ _ _.
have m0 : 0 <= m by rewrite -(siblings_const (@Q1 s) k [::] 0); apply: siblings_le => // xs _; apply: share0.
case: eqP => [->|/eqP nz]; first by rewrite mulr0 row_ge0.
by apply: le_trans (_ : rb s y / m * m <= _); [apply: ler_wpmul2r; rewrite ?le_minl ?lexx | rewrite divfK].
Qed.
End Exact.

(* One token: it would be accepted with probability m, computed as acc; the scale is min(B / acc, 1), or 1 for acc = 0. *)
Section Token.
Variables (R : realFieldType) (u nu E : R).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1) (nu0 : 0 <= nu) (E0 : 0 <= E) (E1 : E < 1).
Notation rounds := (Rounding.rounds u).
Implicit Types b B m acc sc w : R.
Lemma still_ge0 (e z z' : R) : e < 1 -> 0 <= z -> rel e z z' -> 0 <= z'.
Proof. by move=> e1 z0 /rel_range[lo _]; apply: le_trans lo; rewrite mulr_ge0 // subr_ge0 ltW. Qed.
Definition scaled B acc sc : Prop := if acc == 0 then sc = 1 else exists2 z, rounds (B / acc) z & sc = Num.min z 1.
Definition left_of B acc sc w : Prop := exists v e, [/\ rounds (acc * sc) v, rounds (B - v) e & w = Num.max e 0].
Definition resolution_off : R := nu + (u + both u u) * (1 + nu) + (u + E / (1 - E)) * (1 + both u nu).
Lemma resolution_off_ge0 : 0 <= resolution_off.
Proof.
have i0 : 0 <= E / (1 - E) by rewrite divr_ge0 // subr_ge0 ltW.
have uu : 0 <= both u u by apply: both_ge0.
have un : 0 <= both u nu by apply: both_ge0.
by apply: addr_ge0; [apply: addr_ge0 => //|]; apply: mulr_ge0; apply: addr_ge0; rewrite ?ler01.
Qed.
Lemma left_of_near b B m acc sc w : 0 <= b -> 0 <= B -> 0 <= m -> rel nu b B -> rel E m acc ->
  scaled B acc sc -> left_of B acc sc w -> 0 <= sc /\ `|w - (b - m * sc)| <= resolution_off * b.
Proof.
move=> b0 B0 m0 Bb am hs [v [e [hv he ->]]].
have un : 0 <= both u nu by apply: both_ge0.
have acc0 : 0 <= acc := still_ge0 E1 m0 am.
have [_ hB] := rel_range Bb.
have uB : (1 + u) * B <= (1 + both u nu) * b.
  have -> : (1 + both u nu) * b = (1 + u) * ((1 + nu) * b) by rewrite /both; ring.
  by apply: ler_wpmul2l => //; rewrite addr_ge0 ?ler01.
have [sc0 aB] : 0 <= sc /\ acc * sc <= (1 + u) * B.
  move: hs; rewrite /scaled; case: eqP => [-> ->|/eqP nz [z hz ->]].
    by split; rewrite ?ler01 // mul0r mulr_ge0 // addr_ge0 ?ler01.
  have p : 0 < acc by rewrite lt0r nz acc0.
  have z0 : 0 <= B / acc by rewrite divr_ge0.
  split; first by rewrite le_minr (rounds_ge0 u1 z0 hz) ler01.
  have hz' : rel u (B / acc) z by rewrite /rel -{2}(ger0_norm z0).
  have [_ hi] := rel_range hz'; apply: le_trans (_ : acc * z <= _); first by apply: ler_wpmul2l; rewrite ?le_minl ?lexx.
  by apply: le_trans (ler_wpmul2l acc0 hi) _; rewrite mulrCA [acc * _]mulrC divfK.
have as0 : 0 <= acc * sc by rewrite mulr_ge0.
have sm : `|acc * sc - m * sc| <= E / (1 - E) * (acc * sc).
  have d0 : 0 < 1 - E by rewrite subr_gt0.
  rewrite -mulrBl normrM (ger0_norm sc0) mulrA; apply: ler_wpmul2r => //; apply: (le_trans am).
  by rewrite mulrAC ler_pdivl_mulr // -mulrA; apply: ler_wpmul2l => //; have [lo _] := rel_range am; rewrite mulrC.
have vs : `|v - acc * sc| <= u * (acc * sc) by rewrite -{2}(ger0_norm as0).
have v0 : 0 <= v := rounds_ge0 u1 as0 hv.
have vB : v <= (1 + both u u) * B.
  have -> : (1 + both u u) * B = (1 + u) * ((1 + u) * B) by rewrite /both; ring.
  have [_ hi] := rel_range (vs : rel u (acc * sc) v).
  by apply: le_trans hi _; apply: ler_wpmul2l => //; rewrite addr_ge0 ?ler01.
split=> //.
have uu : 0 <= both u u by apply: both_ge0.
have top : Num.max (B - v) 0 <= B by rewrite le_maxl B0 andbT ler_subl_addr ler_addl.
have cut : `|Num.max (B - v) 0 - (B - v)| <= both u u * B.
  case: (leP (B - v) 0) => h; last by rewrite subrr normr0 mulr_ge0.
  by rewrite sub0r normrN ler0_norm // opprB ler_subl_addr -[X in _ + X]mul1r -mulrDl addrC.
have -> : Num.max e 0 - (b - m * sc) = (Num.max e 0 - Num.max (B - v) 0) + (Num.max (B - v) 0 - (B - v)) + (B - b)
  - ((v - acc * sc) + (acc * sc - m * sc)) by ring.
apply: le_trans (ler_norm_sub _ _) _.
have -> : resolution_off * b = ((u + both u u) * ((1 + nu) * b) + nu * b) + (u + E / (1 - E)) * ((1 + both u nu) * b).
  by rewrite /resolution_off; ring.
apply: ler_add.
  apply: le_trans (ler_norm_add _ _) _; apply: ler_add => //.
  apply: le_trans (ler_norm_add _ _) _; apply: le_trans (_ : (u + both u u) * B <= _); last first.
    by apply: ler_wpmul2l => //; apply: addr_ge0.
  by rewrite mulrDl; apply: ler_add => //; apply: le_trans (max0_rounds u1 he) _; apply: ler_wpmul2l.
apply: le_trans (ler_norm_add _ _) _; apply: le_trans (ler_add vs sm) _; rewrite -mulrDl.
apply: le_trans (ler_wpmul2l _ (le_trans aB uB)) _ => //.
by apply: addr_ge0 => //; rewrite divr_ge0 // subr_ge0 ltW.
Qed.
End Token.

(* One step: L is the computed law of the drafts, the shares are any numbers that are not negative. *)
Section Step.
Variables (V D : vocabulary) (R : realFieldType) (u nu e kappa : R) (d : nat).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1) (nu0 : 0 <= nu) (nu1 : nu < 1) (e0 : 0 <= e) (e1 : e < 1).
Notation rounds := (Rounding.rounds u).
(* Of how often a token would be accepted: of the law, of a product, and of the sum. *)
Definition accepted_near : R := both (both e u) (growth u d).
Hypothesis a1 : accepted_near < 1.
Definition resolution_step (B : V -> R) (drafted : D -> R) (share a : D -> V -> R) (w : V -> R) : Prop :=
  exists (L : D -> R) (P : D -> V -> R) (acc sc : V -> R),
  [/\ forall S, rel e (drafted S) (L S),
      forall S y, rounds (L S * share S y) (P S y),
      forall y, within u d (sumV (P^~ y)) (acc y),
      forall y, scaled u (B y) (acc y) (sc y) /\ left_of u (B y) (acc y) (sc y) (w y)
    & forall S, sumV (fun y => `|a S y - share S y * sc y|) <= kappa].
Variables (Q : seq V -> V -> R) (spent : pred (seq V)) (key : seq V -> D) (k : nat).
Hypotheses (Q0 : forall elders x, 0 <= Q elders x) (Q1 : forall elders, ~~ spent elders -> sumV (Q elders) = 1).
Variables (b B : V -> R) (b0 : forall y, 0 <= b y) (b1 : sumV b = 1) (Bb : forall y, rel nu (b y) (B y)).
Notation drafted := (KSeqRounding.drafted Q spent key k).
Lemma resolution_left (share a : D -> V -> R) w : (forall S y, 0 <= share S y) -> resolution_step B drafted share a w ->
  apart (fun y => b y - siblings Q spent k [::] (fun xs => a (key xs) y)) w
  <= resolution_off u nu accepted_near + kappa.
Proof.
move=> s0 [L [P [acc [sc [Ld LP Pa each choice]]]]].
have dr0 S := drafted_ge0 key k Q0 Q1 S.
have L0 S : 0 <= L S := still_ge0 e1 (dr0 S) (Ld S).
have B0 y : 0 <= B y := still_ge0 nu1 (b0 y) (Bb y).
pose m y := sumV (fun S => drafted S * share S y).
have m0 y : 0 <= m y by apply: sumV_ge0 => S; rewrite mulr_ge0.
have acc_near y : rel accepted_near (m y) (acc y).
  apply: (rel_trans (growth_ge0 u0 d) _ (Pa y)); rewrite /rel -sumVB -sumVZ.
  apply: le_trans (sumV_norm _) _; apply: sumV_le => S; apply: (rel_rounds u0 e0 _ _ (LP S y)); first by rewrite mulr_ge0.
  by rewrite mulrC [L S * _]mulrC; apply: rel_scale.
have E0 : 0 <= accepted_near by apply: both_ge0; [apply: both_ge0 | apply: growth_ge0].
have near y := left_of_near u0 u1 nu0 E0 a1 (b0 y) (B0 y) (m0 y) (Bb y) (acc_near y) (proj1 (each y)) (proj2 (each y)).
pose gap y := sumV (fun S => drafted S * `|a S y - share S y * sc y|).
apply: le_trans (_ : sumV (fun y => resolution_off u nu accepted_near * b y + gap y) <= _).
  apply: sumV_le => y; rewrite (siblings_key Q spent key k (a^~ y)).
  have -> : w y - (b y - sumV (fun S => drafted S * a S y))
    = (w y - (b y - m y * sc y)) + sumV (fun S => drafted S * (a S y - share S y * sc y)).
    rewrite (sumV_eq (f := fun S => drafted S * (_ - _)) (g := fun S => drafted S * a S y - drafted S * share S y * sc y)).
      by rewrite sumVB sumVZr -/(m y); ring.
    by move=> S; ring.
  have [_ hy] := near y; apply: le_trans (ler_norm_add _ _) _; apply: ler_add => //.
  apply: le_trans (sumV_norm _) _; apply: sumV_le => S; by rewrite normrM (ger0_norm (dr0 S)).
rewrite sumVD sumVZ b1 mulr1 ler_add2l.
have -> : sumV gap = sumV (fun S => drafted S * sumV (fun y => `|a S y - share S y * sc y|)).
  by rewrite /gap (sumV_eq (fun y => sumVE _)) sumV_exch sumVE; apply: eq_bigr => S _; rewrite sumVZ.
rewrite -[X in _ <= X]mul1r -(drafted_sum key k Q1) -sumVZr; apply: sumV_le => S; exact: ler_wpmul2l.
Qed.
End Step.

(* On trees, d operations at most behind the products of each depth's drafts, whose law is off by e relatively. *)
Theorem resolution_rounding (V D : vocabulary) (R : realFieldType) (Mb : model V R) (c : seq V) (u nu lambda : R)
    (d : nat -> nat) (e kappa : nat -> R) (B : seq V -> V -> R) (Q : seq V -> seq V -> V -> R) (spent : seq V -> pred (seq V))
    (key : seq V -> D) (share a : seq V -> nat -> D -> V -> R) (w row : seq V -> nat -> V -> R) (last : seq V -> V -> R)
    gamma f (g : seq V -> R) :
  0 <= u <= 1 -> 0 <= nu < 1 -> (forall i, 0 <= e i < 1) -> (forall i, accepted_near u (e i) (d i) < 1) ->
  (forall i, 0 <= kappa i) -> 0 <= lambda -> (forall s y, rel nu (Mb (c ++ s) y) (B s y)) ->
  (forall s elders x, 0 <= Q s elders x) -> (forall s elders, ~~ spent s elders -> sumV (Q s elders) = 1) ->
  (forall s k S y, 0 <= share s k S y) -> (forall s k, (0 < k <= level (size s) f)%N ->
    resolution_step u (e (size s)) (kappa (size s)) (d (size s)) (B s) (drafted (Q s) (spent s) key k) (share s k) (a s k) (w s k)) ->
  (forall s k S y, 0 <= a s k S y) -> (forall s k S, sumV (a s k S) <= 1) ->
  (forall s k, [/\ sumV (row s k) = 1, forall y, 0 <= row s k y & exists r : V -> R, [/\ sumV r = 1, forall y, 0 <= r y,
     forall y, r y * sumV (w s k) = w s k y & total_variation r (row s k) <= lambda]]) ->
  (forall s, [/\ sumV (last s) = 1, forall y, 0 <= last s y & total_variation (share_of (B s)) (last s) <= lambda]) ->
  (forall o, 0 <= g o <= 1) ->
  `|descend Q spent (taking (fun s k xs => a s k (key xs)) row) last gamma [::] f
      (fun s y => complete Mb gamma c g (rcons s y)) - gen Mb gamma.+1 c g|
  <= \sum_(i < gamma) 2%:R * (resolution_off u nu (accepted_near u (e i) (d i)) + kappa i) + (nu + lambda).
Proof.
move=> /andP[u0 u1] /andP[nu0 nu1] e01 E1 kappa0 lambda0 Bb Q0 Q1 share0 made a0 a1 rows lasts g01.
apply: (@transport_rounding V R Mb c nu lambda nu0 Q spent Q0 Q1 (fun s k xs => a s k (key xs)) w row last
  _ _ rows _ gamma f (fun i => 2%:R * (resolution_off u nu (accepted_near u (e i) (d i)) + kappa i))) => //.
- move=> s; have [l1 l0 ll] := lasts s; have [b0 near tv] := given_share nu1 Bb s; split=> //.
  by apply: le_trans (tv_triangle _ (share_of (B s)) _) _; apply: ler_add.
- move=> i; have /andP[e0 _] := e01 i; rewrite mulr_ge0 ?ler0n //; apply: addr_ge0 => //; apply: resolution_off_ge0 => //.
  by apply: both_ge0; [apply: both_ge0 | apply: growth_ge0].
move=> s k le; apply: ler_wpmul2l; first exact: ler0n.
have /andP[e0 e1] := e01 (size s).
exact: (resolution_left u0 u1 nu0 nu1 e0 e1 (E1 _) (Q0 s) (@Q1 s) (row_ge0 Mb (c ++ s)) (row_sum Mb (c ++ s)) (Bb s)
  (share0 s k) (made s k le)).
Qed.
