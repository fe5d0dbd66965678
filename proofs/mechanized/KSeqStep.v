(* k-SEQ computed in floating point, one step: its shares, their sum, the probability of acceptance, the coins and what is
   left of the target, each by the operations that the code does.  What is assumed is the standard model of Rounding.v. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum zify.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Models Algorithms Verifier Block SubBlocks Precision Rounding BlockRounding ProblemRounding SeveralDrafts TreeRounding SiblingRounding Descent DescentRounding.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

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
Lemma tries_rounds (b : V -> R) rho j U last : SeveralDrafts.rounds b q rho j U last = tries (next_p b q rho^-1) j U last.
Proof. by elim: j => [|j IH] //=; apply: sumV_eq => x; rewrite /flip IH. Qed.
End Tries.

Section OneStep.
Variables (V : vocabulary) (R : realFieldType) (u nu : R) (d k : nat) (b q B Q : V -> R) (rho : R).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1) (nu0 : 0 <= nu) (nu1 : nu < 1).
Hypotheses (b0 : forall y, 0 <= b y) (b1 : sumV b = 1) (q0 : forall y, 0 <= q y) (q1 : sumV q = 1).
Hypotheses (Bb : forall y, rel nu (b y) (B y)) (Qq : forall y, rel nu (q y) (Q y)) (rho0 : 0 < rho).
Notation rounds := (Rounding.rounds u).
Notation taken := (SeveralDrafts.taken b q rho).
Notation beta := (SeveralDrafts.beta b q rho).
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
Notation left_over := (SeveralDrafts.left_over b q rho k).
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
