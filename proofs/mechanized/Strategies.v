From mathcomp Require Import all_ssreflect ssralg ssrnum zify.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Algorithms Block Optimality.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

(* What survives of Theorem 2 for several iterations.  If stopping later never hurts in
   expectation (U(s) <= E U(sY)), then no valid verifier ends at a better U than block
   verification does. *)

Section Stopping.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R).
Variables (gamma : nat) (c : seq V) (U : seq V -> R).
Implicit Types (s X : seq V).
(* U after one more token. *)
Definition ahead s : R := sumV (fun y => Mb (c ++ s) y * U (rcons s y)).

Lemma gen_ahead n s i : (size s <= i)%N -> (i < size s + n)%N ->
  gen Mb n (c ++ s) (fun z => U (take i.+1 (s ++ z)))
  = gen Mb n (c ++ s) (fun z => ahead (take i (s ++ z))).
Proof.
move=> le lt; pose j := (i - size s)%N.
have ij : i = (size s + j)%N by rewrite subnKC.
have lj : (j.+1 <= n)%N by rewrite -(ltn_add2l (size s)) -ij.
transitivity (gen Mb j.+1 (c ++ s) (fun z => U (s ++ z))).
  rewrite -(gen_take Mb (c ++ s) (fun z => U (s ++ z)) lj); apply: gen_eq => z _.
  by rewrite take_cat ltnNge (leqW le) /= ij -addnS addKn.
transitivity (gen Mb j (c ++ s) (fun z => ahead (s ++ z))); last first.
  rewrite -(gen_take Mb (c ++ s) (fun z => ahead (s ++ z)) (ltnW lj)); apply: gen_eq => z _.
  by rewrite take_cat ltnNge le /= ij addKn.
rewrite -addn1 gen_cat; apply: gen_eq => z _ /=.
by rewrite /ahead; apply: sumV_eq => y; rewrite -catA rcons_cat -cats1.
Qed.

Variable K : kernel V R gamma.
Hypothesis Kvalid : valid Mb Ms gamma c (run K).
Notation EK := (E Ms c K).

(* Once tau >= i, the token at position i+1 is the large model's. *)
Lemma next_is_large i : (i <= gamma)%N ->
  EK (fun X k y => (i <= size k)%:R * (ahead (take i X) - U (take i.+1 (rcons k y)))) = 0.
Proof.
move=> le.
pose g o := U (take i.+1 o); pose f o := ahead (take i o).
have e : completed Mb Ms gamma c (run K) f = completed Mb Ms gamma c (run K) g.
  rewrite !valid_completed //.
  by have := @gen_ahead gamma.+1 [::] i; rewrite cats0 => -> //; rewrite ltnS.
transitivity (EK (fun _ k y => complete Mb gamma c f (rcons k y)
    + -1 * complete Mb gamma c g (rcons k y))); last first.
  by rewrite ED EZ -[EK _]/(completed Mb Ms gamma c (run K) f) e; rewrite mulN1r subrr.
apply: E_eq => X t y hX lt; set k := take t X.
have hk : size k = t by rewrite size_takel ?hX.
rewrite hk mulN1r /complete; have [ge|gt] := leqP i t; last first.
  rewrite mul0r (@gen_ahead _ (rcons k y)) ?subrr // size_rcons hk // addSn subSS.
  by rewrite subnKC // ltnS.
rewrite mul1r; congr (_ - _).
  rewrite -[LHS](gen_const Mb (gamma.+1 - size (rcons k y)) (c ++ rcons k y)).
  by apply: gen_eq => z _; rewrite /f cat_rcons takel_cat ?hk // /k take_take.
rewrite -[LHS](gen_const Mb (gamma.+1 - size (rcons k y)) (c ++ rcons k y)).
by apply: gen_eq => z _; rewrite /g takel_cat // size_rcons hk.
Qed.

(* Where a valid verifier ends, by the prefixes that it accepts. *)
Lemma landing : EK (fun _ k y => U (rcons k y)) = ahead [::]
  + \sum_(i < gamma) sumB i.+1 (fun x => reach Ms gamma c (run K) x * (ahead x - U x)).
Proof.
pose T (i : nat) X (k : seq V) (y : V) : R := (i <= size k)%:R * U (take i.+1 (rcons k y)).
pose H (i : nat) X (k : seq V) (y : V) : R := (i <= size k)%:R * ahead (take i X).
pose D (i : nat) X (k : seq V) (y : V) : R := (i < size k)%:R * U (take i.+1 X).
have TH (i : 'I_gamma.+1) : EK (T i) = EK (H i).
  have le : (i <= gamma)%N by rewrite -ltnS.
  apply/eqP; rewrite eq_sym -subr_eq0 -mulN1r -EZ -ED; apply/eqP; rewrite -[RHS](next_is_large le).
  by apply: E_eq => X t y _ _; rewrite /T /H mulN1r mulrBr.
have tele n t X y : (t <= size X)%N ->
    \sum_(i < n.+1) T i X (take t X) y - \sum_(i < n) D i X (take t X) y
    = U (take n.+1 (rcons (take t X) y)).
  move=> le; have hk : size (take t X) = t by rewrite size_takel.
  elim: n => [|n IH]; first by rewrite big_ord_recl !big_ord0 subr0 addr0 /T leq0n mul1r.
  rewrite big_ord_recr [X in _ - X]big_ord_recr /= opprD addrACA IH /T /D hk.
  have [lt|ge] := ltnP n t.
    rewrite !mul1r addrCA -[RHS]addr0; congr (_ + _); apply/eqP; rewrite subr_eq0; apply/eqP.
    by congr U; rewrite -cats1 takel_cat ?hk // take_take.
  have os m : (n <= m)%N -> take m.+1 (rcons (take t X) y) = rcons (take t X) y.
    by move=> h; rewrite take_oversize // size_rcons hk ltnS (leq_trans ge).
  by rewrite !mul0r subrr addr0 !os.
transitivity (EK (fun X k y => \sum_(i < gamma.+1) T i X k y + -1 * \sum_(i < gamma) D i X k y)).
  apply: E_eq => X t y hX lt; rewrite mulN1r tele ?hX //.
  have le : (size (rcons (take t X) y) <= gamma.+1)%N by rewrite size_rcons ltnS size_takel ?hX.
  by rewrite (take_oversize le).
rewrite ED EZ !E_sum (eq_bigr _ (fun i _ => TH i)) big_ord_recl -addrA; congr (_ + _).
  by rewrite /H -[RHS](E_const Ms c K); apply: E_eq => X t y _ _; rewrite leq0n mul1r take0.
rewrite mulN1r -sumrB; apply: eq_bigr => -[i lt] _.
rewrite -mulN1r -EZ -ED.
transitivity (EK (fun X k y => sumB i.+1 (fun x : seq V => (ahead x - U x) *
    ((size x <= size k)%N && (take (size x) X == x))%:R))); last first.
  by rewrite E_sumB; apply: sumB_eq => x _; rewrite EZ mulrC.
apply: E_eq => X t y hX le; rewrite /H /D [sumB]lock /= -lock mulN1r -mulrBr.
rewrite -(@sumB_delta _ _ i.+1 (fun x => (i < size (take t X))%:R * (ahead x - U x)) (take i.+1 X)).
  apply: sumB_eq => x hx; rewrite hx -mulnb natrM eq_sym; ring.
by rewrite size_takel // hX.
Qed.
End Stopping.

(* Block verification is the best for every such U.  With U = length this is Theorem 2
   for one iteration; with U = what later iterations will bring it is as much of
   Theorem 2 as holds for several. *)
Theorem block_best (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) gamma c
    (U : seq V -> R) (K : kernel V R gamma) :
  valid Mb Ms gamma c (run K) ->
  (forall s, (size s <= gamma)%N -> U s <= ahead Mb c U s) ->
  gen Ms gamma c (fun X => run K X (fun k y => U (rcons k y)))
  <= gen Ms gamma c (fun X => block_verify Mb Ms c X (fun k y => U (rcons k y))).
Proof.
move=> v sub; have [B e] := program_run (fun X (_ : size X = gamma) => block_program Mb Ms c X).
have g A : gen Ms gamma c (fun X => block_verify Mb Ms c X (A X)) = gen Ms gamma c (fun X => run B X (A X)).
  by apply: gen_eq => X hX; apply: e.
have vB : valid Mb Ms gamma c (run B).
  by move=> o ho; rewrite -(theorem_1 Mb Ms c ho) /completed g.
rewrite g; have := landing U vB; rewrite /E => ->; have := landing U v; rewrite /E => ->.
rewrite ler_add2l; apply: ler_sum => i _; apply: sumB_le => x hx.
have le : (size x <= gamma)%N by rewrite hx ltn_ord.
apply: ler_wpmul2r; first by rewrite subr_ge0 sub.
by rewrite {2}/reach -g -/(reach _ _ _ _ _) lemma_3 // lemma_4.
Qed.

(* Token verification does satisfy that condition, so against it block verification wins
   after every number of iterations. *)
Section TokenIterations.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R).
Implicit Types (c pre X : seq V).

Definition grows (F : seq V -> R) : Prop :=
  forall c, F c <= sumV (fun y => Mb c y * F (rcons c y)).
(* One iteration of token verification with k draft tokens; F is what comes after. *)
Definition tv (F : seq V -> R) k c : R := gen Ms k c (fun X =>
  token_verify Mb Ms c X (fun kept y => F (c ++ rcons kept y))).

Lemma token_loop_shift c x pre X (G : seq V -> R) :
  token_loop Mb Ms c (x :: pre) X G = token_loop Mb Ms (rcons c x) pre X (fun k => G (x :: k)).
Proof.
by elim: X pre => [|y X IH] pre //=; rewrite -IH cat_rcons.
Qed.
Lemma token_loop_eq c pre X (G G' : seq V -> R) : G =1 G' ->
  token_loop Mb Ms c pre X G = token_loop Mb Ms c pre X G'.
Proof. by move=> e; elim: X pre => [|y X IH] pre //=; rewrite IH e. Qed.
Lemma tv0 F c : tv F 0 c = sumV (fun y => Mb c y * F (rcons c y)).
Proof.
by rewrite /tv /= /token_verify /= /finish /= /draw cats0; apply: sumV_eq => y; rewrite cats1.
Qed.
Lemma tvS F k c : tv F k.+1 c = sumV (fun x => Num.min (1 * Mb c x) (Ms c x) * tv F k (rcons c x)
  + over (Mb c) (Ms c) 1 x * F (rcons c x)).
Proof.
pose D := draw (residual (Mb c) (Ms c) 1) (fun y => F (rcons c y)).
transitivity (sumV (fun x => Ms c x * (next_p (Mb c) (Ms c) 1 x * tv F k (rcons c x)))
   + (1 - share (Mb c) (Ms c) 1) * D); last first.
  rewrite mulrC /D residualE // sumVD; congr (_ + _); apply: sumV_eq => x.
  by rewrite mulrA next_pE // ler01.
rewrite spread ?ler01 // /tv genS; apply: sumV_eq => x; congr (_ * _).
rewrite -[in RHS](gen_const Ms k (rcons c x) D) -!genZ -genD; apply: gen_eq => X hX.
rewrite /token_verify [LHS]/= /flip cats0 /h_token /next_p mul1r; congr (_ * _ + _ * _).
  rewrite token_loop_shift; apply: token_loop_eq => kept.
  by rewrite /finish /draw; apply: sumV_eq => y; rewrite /= eqSS !cat_rcons.
by rewrite /finish /= cats0 /draw /D; apply: sumV_eq => y; rewrite cats1.
Qed.

Section Growing.
Variable F : seq V -> R.
Hypothesis Fg : grows F.
Lemma min_ge0 c x : 0 <= Num.min (1 * Mb c x) (Ms c x).
Proof. by rewrite mul1r le_minr !row_ge0. Qed.
Lemma split_row c (G : seq V -> R) : sumV (fun x => Mb c x * G (rcons c x))
  = sumV (fun x => Num.min (1 * Mb c x) (Ms c x) * G (rcons c x)
      + over (Mb c) (Ms c) 1 x * G (rcons c x)).
Proof. by apply: sumV_eq => x; rewrite overE mul1r; ring. Qed.
Lemma tv_mono k c : tv F k c <= tv F k.+1 c.
Proof.
elim: k c => [|k IH] c.
  rewrite tv0 tvS split_row; apply: sumV_le => x; apply: ler_add => //.
  by apply: ler_wpmul2l; [apply: min_ge0 | rewrite tv0].
rewrite [X in _ <= X]tvS tvS; apply: sumV_le => x; apply: ler_add => //.
by apply: ler_wpmul2l; [apply: min_ge0 | apply: IH].
Qed.
Lemma tv_ge k c : F c <= tv F k c.
Proof.
elim: k => [|k IH]; first by rewrite tv0.
exact: le_trans IH (tv_mono k c).
Qed.
Lemma tv_grows k : grows (tv F k).
Proof.
move=> c; case: k => [|k].
  rewrite {1}tv0; apply: sumV_le => x; apply: ler_wpmul2l; [exact: row_ge0 | exact: tv_ge].
rewrite {1}tvS split_row; apply: sumV_le => x; apply: ler_add; apply: ler_wpmul2l.
- exact: min_ge0.
- exact: tv_mono.
- exact: over_ge0.
- exact: tv_ge.
Qed.
End Growing.

Lemma specdec_token_grows gamma A n : grows A -> grows (specdec Ms gamma (token_verify Mb Ms) n ^~ A).
Proof. by move=> Ag; elim: n => [|n IH] //; apply: (tv_grows IH). Qed.

(* Theorem 2 against token verification, after every number of iterations; A is the
   number of tokens, or anything that is no less, in expectation, one token later. *)
Theorem token_le_block_grows gamma A n c : grows A ->
  specdec Ms gamma (token_verify Mb Ms) n c A <= specdec Ms gamma (block_verify Mb Ms) n c A.
Proof.
move=> Ag; elim: n c => [|n IH] c //=.
pose U (s : seq V) := specdec Ms gamma (token_verify Mb Ms) n (c ++ s) A.
have [K e] := program_run (fun X (_ : size X = gamma) => token_program Mb Ms c X).
have v : valid Mb Ms gamma c (run K).
  move=> o ho; rewrite -(token_valid Mb Ms c ho); apply: gen_eq => X hX; by rewrite -e.
apply: le_trans (_ : gen Ms gamma c (fun X => block_verify Mb Ms c X (fun k y => U (rcons k y))) <= _).
  apply: le_trans (block_best v _); last first.
    move=> s _; have := specdec_token_grows gamma n Ag (c ++ s).
    by rewrite /ahead /U (sumV_eq (fun y => congr1 (fun t => _ * specdec _ _ _ _ t _) (rcons_cat y c s))).
  by rewrite le_eqVlt; apply/orP; left; apply/eqP; apply: gen_eq => X hX; rewrite -e.
have [B eB] := program_run (fun X (_ : size X = gamma) => block_program Mb Ms c X).
apply: gen_le => X hX; rewrite !eB //; apply: ler_sum => t _; apply: sumV_le => y.
by apply: ler_wpmul2l; [apply: law_ge0 | apply: IH].
Qed.
Corollary token_le_block_iterations gamma n c :
  specdec Ms gamma (token_verify Mb Ms) n c (fun s => (size s)%:R)
  <= specdec Ms gamma (block_verify Mb Ms) n c (fun s => (size s)%:R) :> R.
Proof.
apply: token_le_block_grows => s.
rewrite (sumV_eq (g := fun y => Mb s y * (size s).+1%:R)) => [|y]; last by rewrite size_rcons.
by rewrite sumVZr row_sum mul1r ler_nat.
Qed.
End TokenIterations.

(* The corrected Theorem 2: block verification needs the fewest expected target calls to finish
   any text, among all valid verifiers, also those that change from iteration to iteration and
   remember every draft. *)

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

(* Strategies: a valid verifier for every iteration, chosen by everything that has happened.
   Against all of them block verification needs the fewest expected target calls to finish any
   text; and where it decodes the most tokens, Theorem 2 as published. *)

Section Strategies.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma : nat).
Implicit Types (c s X : seq V) (h : seq (seq V * seq V)) (A F : seq V -> R).

(* Which verifier comes next: a function of the drafts and the emitted tokens of all iterations
   so far, and of the text.  Being a variable, it may see both models in full. *)
Definition strategy := seq (seq V * seq V) -> seq V -> kernel V R gamma.
(* The expectation of A(text) after n iterations. *)
Fixpoint play (P : strategy) n h c A : R :=
  if n is n'.+1 then E Ms c (P h c) (fun X kept y =>
      play P n' (rcons h (X, rcons kept y)) (c ++ rcons kept y) A)
  else A c.
Definition valid_strategy (P : strategy) : Prop := forall h c, valid Mb Ms gamma c (run (P h c)).

Lemma play_eq P n h c A B : (forall s, (n <= size s)%N -> A (c ++ s) = B (c ++ s)) ->
  play P n h c A = play P n h c B.
Proof.
elim: n h c => [|n IH] h c e /=; first by have := e [::] isT; rewrite cats0.
apply: E_eq => X t y hX _; apply: IH => s ls.
by rewrite -catA e // size_cat size_rcons addSn ltnS (leq_trans ls) ?leq_addl.
Qed.
Lemma play_const P n h c a : play P n h c (fun=> a) = a.
Proof.
elim: n h c => [|n IH] h c //=; rewrite -[RHS](E_const Ms c (P h c)).
by apply: E_eq => X t y _ _; apply: IH.
Qed.
Lemma play_ge0 P n h c A : (forall s, 0 <= A s) -> 0 <= play P n h c A.
Proof.
move=> A0; elim: n h c => [|n IH] h c //=; rewrite -(E_const Ms c (P h c) 0).
by apply: E_le => X t y _ _; apply: IH.
Qed.

(* One verifier in every iteration. *)
Definition fixed (W : verifier V R) (prog : forall c X, program X (W c X)) : strategy :=
  fun _ c => kernel_of (fun X (_ : size X = gamma) => prog c X).
Lemma run_fixed W prog h c (B : seq V -> seq V -> V -> R) :
  E Ms c (@fixed W prog h c) B = gen Ms gamma c (fun X => W c X (B X)).
Proof. by apply: gen_eq => X hX; rewrite run_kernel_of. Qed.
Theorem fixed_valid W prog : (forall c, valid Mb Ms gamma c (W c)) -> valid_strategy (@fixed W prog).
Proof. by move=> v h c o ho; rewrite -(v c o ho); apply: run_fixed. Qed.
Theorem fixed_play W prog n h c A : play (@fixed W prog) n h c A = specdec Ms gamma W n c A.
Proof.
elim: n h c => [|n IH] h c //=; rewrite run_fixed; apply: gen_eq => X _.
by apply: (program_ext (prog c X)) => t y _; apply: IH.
Qed.
(* Block verification is among them. *)
Definition block_strategy : strategy := fixed (block_program Mb Ms).
Lemma run_block h c (B : seq V -> seq V -> V -> R) : E Ms c (block_strategy h c) B
  = gen Ms gamma c (fun X => block_verify Mb Ms c X (B X)).
Proof. exact: run_fixed. Qed.
Theorem block_strategy_valid : valid_strategy block_strategy.
Proof. by apply: fixed_valid => c; apply: theorem_1. Qed.
Theorem block_strategy_play n h c A :
  play block_strategy n h c A = specdec Ms gamma (block_verify Mb Ms) n c A.
Proof. exact: fixed_play. Qed.

(* One iteration: no valid kernel ends better than block verification if a free token is no loss. *)
Lemma best_step (K : kernel V R gamma) c F : valid Mb Ms gamma c (run K) ->
  (forall s, F s <= next Mb F s) ->
  E Ms c K (fun _ k y => F (c ++ rcons k y)) <= block_step Mb Ms gamma F c.
Proof.
move=> v free; rewrite -block_stepE; apply: (block_best (U := fun s => F (c ++ s)) v) => s _.
by apply: le_trans (free _) _; rewrite /ahead /next (sumV_eq (fun y => congr1 (fun t => _ * F t) (rcons_cat y c s))).
Qed.

Section Calls.
Variables (finished : pred (seq V)) (L : nat).
Hypothesis stays : forall c y, finished c -> finished (rcons c y).
Hypothesis bounded : forall c, (L <= size c)%N -> finished c.
Notation unfinished := (fun s : seq V => (~~ finished s)%:R : R).

(* Iterations that begin with an unfinished text, of n: E of their number. *)
Definition calls P n h c : R := \sum_(i < n) play P i h c unfinished.

Lemma stays_cat c s : finished c -> finished (c ++ s).
Proof.
by elim/last_ind: s => [|s y IH] f; rewrite ?cats0 // -rcons_cat stays ?IH.
Qed.
Lemma play_done P n h c : finished c -> play P n h c unfinished = 0.
Proof.
move=> f; rewrite -[RHS](play_const P n h c); apply: play_eq => s _.
by rewrite stays_cat.
Qed.
Lemma play_late P n h c : (L <= size c + n)%N -> play P n h c unfinished = 0.
Proof.
move=> le; rewrite -[RHS](play_const P n h c); apply: play_eq => s ls.
by rewrite bounded // size_cat (leq_trans le) // leq_add2l.
Qed.
Lemma calls_done P n h c : finished c -> calls P n h c = 0.
Proof. by move=> f; apply: big1 => i _; apply: play_done. Qed.
Lemma calls_late P n m h c : (L <= size c + n)%N -> calls P (n + m) h c = calls P n h c.
Proof.
move=> le; rewrite /calls big_split_ord /= [X in _ + X]big1 ?addr0 // => i _.
by apply: play_late; rewrite (leq_trans le) // leq_add2l leq_addr.
Qed.
Lemma callsS P n h c : calls P n.+1 h c
  = unfinished c + E Ms c (P h c) (fun X k y => calls P n (rcons h (X, rcons k y)) (c ++ rcons k y)).
Proof.
rewrite /calls big_ord_recl /=; congr (_ + _); by rewrite E_sum.
Qed.
Lemma calls_ge0 P n h c : 0 <= calls P n h c.
Proof. by apply: sumr_ge0 => i _; apply: play_ge0 => s; apply: ler0n. Qed.
Lemma calls_block n h h' c : calls block_strategy n h c = calls block_strategy n h' c.
Proof. by apply: eq_bigr => i _; rewrite !block_strategy_play. Qed.

Notation least := (calls block_strategy L [::]).
Lemma leastS c : ~~ finished c -> least c = 1 + block_step Mb Ms gamma least c.
Proof.
move=> nf; rewrite -(@calls_late _ L 1) ?leq_addl // addn1 callsS nf; congr (_ + _).
rewrite run_block -block_stepE; apply: gen_eq => X _.
apply: (program_ext (block_program Mb Ms c X)) => t y _; exact: calls_block.
Qed.
Lemma least_free c : next Mb least c <= least c.
Proof.
have d f : finished f -> least f = 0 by apply: calls_done.
by have [_ _ free] := cost stays bounded d leastS c.
Qed.
Lemma least_le P n h c : valid_strategy P -> (L <= size c + n)%N -> least c <= calls P n h c.
Proof.
move=> v; elim: n h c => [|n IH] h c le.
  by rewrite calls_done ?calls_ge0 // bounded // -[size c]addn0.
have [f|nf] := boolP (finished c); first by rewrite calls_done ?calls_ge0.
rewrite leastS // callsS nf ler_add2l.
apply: le_trans (_ : E Ms c (P h c) (fun _ k y => least (c ++ rcons k y)) <= _); last first.
  by apply: E_le => X t y _ _; apply: IH; rewrite size_cat size_rcons; lia.
have e : forall (B : seq V -> seq V -> V -> R) (K : kernel V R gamma),
  E Ms c K B = - E Ms c K (fun X k y => -1 * B X k y) by move=> B K; rewrite EZ mulN1r opprK.
rewrite -block_stepE -(run_block [::] c (fun _ k y => least (c ++ rcons k y))).
rewrite e [X in _ <= X]e ler_oppr opprK run_block.
apply: (block_best (U := fun s => -1 * least (c ++ s)) (v h c)) => s _.
rewrite /ahead (sumV_eq (g := fun y => -1 * (Mb (c ++ s) y * least (rcons (c ++ s) y)))).
  by rewrite sumVZ !mulN1r ler_oppl opprK; apply: least_free.
by move=> y; rewrite mulrCA rcons_cat.
Qed.

(* Any n iterations that surely finish the text: of these, block verification needs the fewest. *)
Theorem theorem_2_calls P n h c : valid_strategy P -> (L <= size c + n)%N ->
  \sum_(i < n) specdec Ms gamma (block_verify Mb Ms) i c unfinished
  <= \sum_(i < n) play P i h c unfinished.
Proof.
move=> v le; apply: le_trans (_ : least c <= _); last exact: least_le.
rewrite -(@calls_late _ L n) ?leq_addl // addnC calls_late //.
by apply: ler_sum => i _; rewrite block_strategy_play.
Qed.
End Calls.

(* A text of L tokens: the sum over i of Pr(N(i) < L) is smallest.  Text that ends with E.O.S. or
   at L tokens. *)
Corollary theorem_2_calls_length P L : valid_strategy P ->
  \sum_(i < L) specdec Ms gamma (block_verify Mb Ms) i [::] (fun s => (size s < L)%N%:R)
  <= \sum_(i < L) play P i [::] [::] (fun s => (size s < L)%N%:R).
Proof.
move=> v; have := @theorem_2_calls (fun s => L <= size s)%N L _ _ P L [::] [::] v (leqnn L).
set a := \sum_(i < L) _; set b := \sum_(i < L) _; set a' := \sum_(i < L) _; set b' := \sum_(i < L) _.
have -> : a = a' by apply: eq_bigr => i _; rewrite -!(block_strategy_play _ [::]); apply: play_eq => s _; rewrite -ltnNge.
have -> : b = b' by apply: eq_bigr => i _; apply: play_eq => s _; rewrite -ltnNge.
by apply=> // c y /leq_trans -> //; rewrite size_rcons.
Qed.
Corollary theorem_2_calls_eos P L eos : valid_strategy P ->
  let unfinished s : R := (~~ ((eos \in s) || (L <= size s)%N))%:R in
  \sum_(i < L) specdec Ms gamma (block_verify Mb Ms) i [::] unfinished
  <= \sum_(i < L) play P i [::] [::] unfinished.
Proof.
move=> v; apply: (@theorem_2_calls (fun s => (eos \in s) || (L <= size s)%N) L) => // [c y|c ->].
  by rewrite mem_rcons inE size_rcons => /orP[->|/leq_trans ->]; rewrite ?orbT.
by rewrite orbT.
Qed.

(* Theorem 2 as published holds where a free token never costs tokens later. *)
Theorem theorem_2_grows P n h c A : valid_strategy P ->
  (forall m, (m < n)%N -> grows Mb (specdec Ms gamma (block_verify Mb Ms) m ^~ A)) ->
  play P n h c A <= specdec Ms gamma (block_verify Mb Ms) n c A.
Proof.
move=> v; elim: n h c => [|n IH] h c g //=.
rewrite (block_stepE _ _ _ (specdec Ms gamma (block_verify Mb Ms) n ^~ A)).
apply: le_trans (_ : E Ms c (P h c) (fun _ k y => specdec Ms gamma (block_verify Mb Ms) n (c ++ rcons k y) A) <= _).
  by apply: E_le => X t y _ _; apply: IH => m lt; apply: g; apply: ltnW.
by apply: (best_step (F := specdec Ms gamma (block_verify Mb Ms) n ^~ A)) => // s; apply: g.
Qed.
End Strategies.

(* What acceptance is possible at all: the reaches r(x) = Pr(X^i = x, tau >= i) of valid verifiers are
   exactly the points of 0 <= r(xy) <= min(r(x) M_b(y | x), M_s(xy)), r() = 1.  So the best that valid
   verifiers can do in several iterations is a linear program for each text, and its dual a proof. *)

Section Reaches.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma : nat) (c : seq V).
Implicit Types (x pre X : seq V) (r : seq V -> R).

Definition possible r : Prop := r [::] = 1 /\ forall x y, (size x < gamma)%N ->
  0 <= r (rcons x y) <= Num.min (r x * Mb (c ++ x) y) (joint Ms c (rcons x y)).

Theorem reach_possible (K : kernel V R gamma) :
  valid Mb Ms gamma c (run K) -> possible (reach Ms gamma c (run K)).
Proof.
move=> v; split=> [|x y lt].
  by rewrite -[RHS](E_const Ms c K); apply: E_eq => X t y _ _; rewrite take0.
rewrite reach_ge0 le_minr reach_step //=; apply: reach_le_draft.
by rewrite size_rcons.
Qed.


Section Construction.
Variable r : seq V -> R.
Hypothesis rp : possible r.
Definition kept_with x : R := if (size x <= gamma)%N then r x / joint Ms c x else 0.
Notation q := kept_with.
Lemma r_range x : (size x <= gamma)%N -> 0 <= r x <= joint Ms c x.
Proof.
case: rp => r1 rs; case/lastP: x => [|x y]; first by rewrite /= r1 ler01 lexx.
by rewrite size_rcons => /(rs _ y); rewrite le_minr => /and3P[-> _ ->].
Qed.
Lemma joint_kept x : (size x <= gamma)%N -> joint Ms c x * q x = r x.
Proof.
move=> le; rewrite /q le; have [j0|jn] := eqVneq (joint Ms c x) 0; last by rewrite mulrC divfK.
by have /andP[r0 r1] := r_range le; apply/eqP; rewrite j0 mul0r eq_le r0 -j0.
Qed.
Lemma q_root : q [::] = 1. Proof. by case: rp => r1 _; rewrite /q /= r1 divr1. Qed.
Lemma q_range x : 0 <= q x <= 1.
Proof.
rewrite /q; case: leqP => [le|_]; last by rewrite lexx ler01.
have /andP[r0 r1] := r_range le; rewrite divr_ge0 ?joint_ge0 //=.
have [->|jn] := eqVneq (joint Ms c x) 0; first by rewrite invr0 mulr0 ler01.
by rewrite ler_pdivr_mulr ?mul1r // lt0r jn joint_ge0.
Qed.
Lemma q_step x y : ~~ final gamma pred0 x -> Ms (c ++ x) y * q (rcons x y) <= q x * Mb (c ++ x) y.
Proof.
rewrite /final orbF -ltnNge => lt; case: rp => _ /(_ x y lt); rewrite le_minr => /and3P[_ rb _].
rewrite /q size_rcons lt (ltnW lt) joint_rcons.
have [->|jn] := eqVneq (joint Ms c x) 0; first by rewrite mul0r invr0 !mulr0 mul0r.
have [->|sn] := eqVneq (Ms (c ++ x) y) 0.
  rewrite mul0r mulr_ge0 ?row_ge0 // divr_ge0 ?joint_ge0 //.
  by have /andP[] := r_range (ltnW lt).
have -> : Ms (c ++ x) y * (r (rcons x y) / (joint Ms c x * Ms (c ++ x) y)) = r (rcons x y) / joint Ms c x.
  by rewrite invfM mulrCA [_^-1 * _]mulrC mulVKf.
by rewrite mulrAC ler_pmul2r // invr_gt0 lt0r jn joint_ge0.
Qed.
Notation coin := (coin_of Ms gamma c pred0 q).
Notation row := (row_of Mb Ms gamma c pred0 q).
Definition keeping X : (seq V -> V -> R) -> R := sub_verify coin row X.
Lemma keeping_program X : program X (keeping X).
Proof.
apply: sub_program => x; [apply: coin_of_range | move=> y; apply: row_of_ge0 | apply: row_of_sum];
  by [apply: q_range | apply: q_later q_step | apply: q_step].
Qed.
Lemma keeping_valid : valid Mb Ms gamma c keeping.
Proof.
apply: fair_valid => U Uf; rewrite -[in X in gen _ _ X](cats0 c) -draft_gen.
by apply: keeping_fair; [apply: q_root | apply: q_range | apply: q_step | ].
Qed.
Lemma keeping_test i (F : seq V -> R) : (i <= gamma)%N ->
  gen Ms gamma c (fun X => sub_block coin [::] [::] X (fun k => if (i <= size k)%N then F (take i k) else 0))
  = gen Ms i c (fun x => q x * F x).
Proof.
move=> le; pose B k : R := if (i <= size k)%N then F (take i k) else 0.
transitivity (worth Ms c pred0 coin B gamma [::] (B [::])).
  by rewrite -(sub_block_worth _ _ _ _ B) draft_gen cats0.
pose Phi x := gen Ms (i - size x) (c ++ x) (fun z => q (x ++ z) * F (take i (x ++ z))).
rewrite (@keeping_core _ _ Ms gamma c pred0 q q_root q_range (q_later q_step) B Phi) /B => [|x|x].
- rewrite /Phi subn0 cats0; apply: gen_eq => z hz.
  by rewrite /= -hz take_size.
- rewrite /final orbF -ltnNge => lt; rewrite /Phi.
  have [ge|gt] := leqP i (size x).
    have /eqP -> : (i - size x == 0)%N by rewrite subn_eq0.
    rewrite (sumV_eq (g := fun y => Ms (c ++ x) y * q (rcons x y) * F (take i x))) => [|y].
      by rewrite sumVZr /= cats0 -/(later Ms c q x); ring.
    have /eqP -> : (i - size (rcons x y) == 0)%N by rewrite subn_eq0 size_rcons leqW.
    by rewrite /= cats0 -cats1 takel_cat // mulrA.
  rewrite mulr0 addr0 -(subnSK gt) genS; apply: sumV_eq => y.
  rewrite size_rcons rcons_cat; congr (_ * _); apply: gen_eq => z _.
  by rewrite cat_rcons.
rewrite /final orbF => ge; rewrite /Phi (leq_trans le ge).
have /eqP -> : (i - size x == 0)%N by rewrite subn_eq0 (leq_trans le).
by rewrite /= cats0.
Qed.
Lemma keeping_reach x : (size x <= gamma)%N -> reach Ms gamma c keeping x = r x.
Proof.
move=> le; rewrite -joint_kept //.
transitivity (gen Ms (size x) c (fun z => q z * (z == x)%:R)); last first.
  rewrite mulrC -gen_delta -genZ; apply: gen_eq => z _.
  by case: eqP => [->|]; rewrite ?mulr0.
rewrite -keeping_test //; apply: gen_eq => X hX.
transitivity (keeping X (fun kept _ => if (size x <= size kept)%N then (take (size x) kept == x)%:R else 0)).
  apply: (program_ext (keeping_program X)) => t y lt; rewrite size_takel //.
  by case: leqP => // h; rewrite take_take.
rewrite /keeping /sub_verify; elim: X {hX} [::] {2 4}[::] => [|z X IH] pre kept /=.
  by rewrite /draw sumVZr row_of_sum ?mul1r //; apply: q_step.
by rewrite /flip !IH.
Qed.
Definition keeping_kernel : kernel V R gamma := kernel_of (fun X (_ : size X = gamma) => keeping_program X).
Lemma keeping_kernel_valid : valid Mb Ms gamma c (run keeping_kernel).
Proof.
by move=> o ho; rewrite -(keeping_valid ho); apply: gen_eq => X hX; rewrite run_kernel_of.
Qed.
Lemma keeping_kernel_reach x : (size x <= gamma)%N -> reach Ms gamma c (run keeping_kernel) x = r x.
Proof.
by move=> le; rewrite -keeping_reach //; apply: gen_eq => X hX; rewrite run_kernel_of.
Qed.
End Construction.

(* Both directions. *)
Theorem reach_polytope r : possible r <-> exists K : kernel V R gamma, [/\ valid Mb Ms gamma c (run K),
  r [::] = 1 & forall x, (size x <= gamma)%N -> reach Ms gamma c (run K) x = r x].
Proof.
split=> [rp|[K [v r1 e]]].
  exists (keeping_kernel rp); split; [exact: keeping_kernel_valid | by case: rp | exact: keeping_kernel_reach].
have [_ rs] := reach_possible v; split=> // x y lt.
by rewrite -!e ?rs // ?size_rcons // ltnW.
Qed.

(* What an iteration is worth, by its reaches; and a bound for all valid verifiers: prices for
   keeping a prefix no more often than its parent allows, and than it is drafted. *)
Section Prices.
Variables (U : seq V -> R).
Notation gain x := (ahead Mb c U x - U x).
Definition worth_of r : R := ahead Mb c U [::] + \sum_(i < gamma) sumB i.+1 (fun x => r x * gain x).
Variables (parent drafted : seq V -> R).
Definition priced : Prop := [/\ forall x, 0 <= parent x, forall x, 0 <= drafted x,
  forall x, (gamma < size x)%N -> parent x = 0 &
  forall x, (0 < size x <= gamma)%N ->
    gain x + sumV (fun y => Mb (c ++ x) y * parent (rcons x y)) <= parent x + drafted x].
Definition price : R := ahead Mb c U [::] + sumV (fun y => Mb c y * parent [:: y])
  + \sum_(i < gamma) sumB i.+1 (fun x => joint Ms c x * drafted x).

Lemma sumB_rcons n (F : seq V -> R) : sumB n.+1 F = sumB n (fun x => sumV (fun y => F (rcons x y))).
Proof.
elim: n F => [|n IH] F //.
apply: (@sumV_eq V R (fun z => sumB n.+1 (fun s => F (z :: s)))
  (fun z => sumB n (fun s => sumV (fun y => F (rcons (z :: s) y))))) => z.
exact: (IH (fun s => F (z :: s))).
Qed.
Lemma sumBD n (F G : seq V -> R) : sumB n (fun x => F x + G x) = sumB n F + sumB n G.
Proof. by elim: n F G => [|n IH] F G //=; rewrite -sumVD; apply: sumV_eq => x; rewrite IH. Qed.
Theorem price_bounds r : possible r -> priced -> worth_of r <= price.
Proof.
move=> rp [l0 m0 lz feas]; rewrite /worth_of /price -addrA ler_add2l.
pose N x := r x * sumV (fun y => Mb (c ++ x) y * parent (rcons x y)).
pose D x := joint Ms c x * drafted x.
have [r1 rs] := rp.
have step i : (i < gamma)%N -> sumB i.+1 (fun x => r x * gain x) + sumB i.+1 N <= sumB i N + sumB i.+1 D.
  move=> lt; apply: le_trans (_ : sumB i.+1 (fun x => r x * parent x) + sumB i.+1 D <= _).
    rewrite -!sumBD; apply: sumB_le => x hx.
    have le : (size x <= gamma)%N by rewrite hx.
    have /andP[r0 rj] := r_range rp le.
    rewrite /N -mulrDr; apply: le_trans (ler_wpmul2l r0 (feas x _)) _; first by rewrite hx.
    by rewrite mulrDr ler_add2l; apply: ler_wpmul2r.
  rewrite ler_add2r sumB_rcons; apply: sumB_le => x hx; rewrite /N -sumVZ; apply: sumV_le => y.
  rewrite mulrA; apply: ler_wpmul2r => //.
  have := rs x y; rewrite hx => /(_ lt); by rewrite le_minr => /and3P[].
have tele n : (n <= gamma)%N -> \sum_(i < n) sumB i.+1 (fun x => r x * gain x) + sumB n N
    <= sumB 0 N + \sum_(i < n) sumB i.+1 D.
  elim: n => [|n IH] le; first by rewrite !big_ord0 add0r addr0.
  rewrite !big_ord_recr /= -addrA; apply: le_trans (ler_add (lexx _) (step n le)) _.
  by rewrite !addrA ler_add2r; apply: IH; apply: ltnW.
have := tele gamma (leqnn gamma).
have -> : sumB gamma N = 0.
  transitivity (sumB gamma (fun _ : seq V => 0 * (0 : R))); last by rewrite sumBZ mul0r.
  apply: sumB_eq => x hx; rewrite mul0r /N -[RHS](mulr0 (r x)) -(sumV0 V R); congr (_ * _).
  by apply: sumV_eq => y; rewrite lz ?mulr0 // size_rcons hx.
have -> : sumB 0 N = sumV (fun y => Mb c y * parent [:: y]) by rewrite /= /N r1 mul1r cats0.
by rewrite addr0.
Qed.
End Prices.
End Reaches.

(* Several iterations: W n t is what n more iterations from the text t are worth.  Prices for each
   text bound all strategies; reaches for each text give a strategy. *)
Section SeveralIterations.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma : nat).
Variables (A : seq V -> R) (W : nat -> seq V -> R) (covered : nat -> seq V -> Prop).
Hypothesis covers : forall n t k y, (size k <= gamma)%N -> covered n.+1 t -> covered n (t ++ rcons k y).
Hypothesis W0 : forall t, covered 0 t -> W 0 t = A t.
Notation then_ n t := (fun s => W n (t ++ s)).

Theorem prices_bound_strategies (parent drafted : nat -> seq V -> seq V -> R) :
  (forall n t, covered n.+1 t -> priced Mb gamma t (then_ n t) (parent n t) (drafted n t)) ->
  (forall n t, covered n.+1 t -> price Mb Ms gamma t (then_ n t) (parent n t) (drafted n t) <= W n.+1 t) ->
  forall (P : strategy V R gamma) n h t, valid_strategy Mb Ms P -> covered n t -> play Ms P n h t A <= W n t.
Proof.
move=> pr le P n h t v; elim: n h t => [|n IH] h t cov; first by rewrite W0.
apply: le_trans (le n t cov).
apply: le_trans (price_bounds (reach_possible (v h t)) (pr n t cov)).
rewrite /worth_of -(landing (then_ n t) (v h t)) /=; apply: E_le => X i y hX li.
by apply: IH; apply: covers => //; rewrite size_takel ?hX.
Qed.

Theorem reaches_give_strategy (r : nat -> seq V -> seq V -> R) :
  (forall n t, possible Mb Ms gamma t (r n t)) ->
  (forall n t, covered n.+1 t -> worth_of Mb gamma t (then_ n t) (r n t) = W n.+1 t) ->
  forall n t, covered n t -> exists P : strategy V R gamma, valid_strategy Mb Ms P /\ play Ms P n [::] t A = W n t.
Proof.
move=> rp e N t0 cov0; pose P : strategy V R gamma := fun h t => keeping_kernel (rp (N - (size h).+1)%N t).
suff H n h t : covered n t -> (n + size h)%N = N -> play Ms P n h t A = W n t.
  exists P; split=> [h t|]; first exact: keeping_kernel_valid.
  by apply: H; rewrite ?addn0.
elim: n h t => [|n IH] h t cov hs; first by rewrite W0.
have en : (N - (size h).+1)%N = n by lia.
transitivity (E Ms t (P h t) (fun _ k y => W n (t ++ rcons k y))).
  apply: E_eq => X i y hX li; apply: IH; first by apply: covers => //; rewrite size_takel ?hX.
  by rewrite size_rcons addnS -addSn.
rewrite (landing (then_ n t) (keeping_kernel_valid (rp _ t))) -(e n t cov) /worth_of.
congr (_ + _); apply: eq_bigr => i _; apply: sumB_eq => x hx.
by rewrite keeping_kernel_reach ?en // hx.
Qed.

(* What a certificate of the optimum shows. *)
Theorem certified_optimum parent drafted r :
  (forall n t, covered n.+1 t -> priced Mb gamma t (then_ n t) (parent n t) (drafted n t)) ->
  (forall n t, covered n.+1 t -> price Mb Ms gamma t (then_ n t) (parent n t) (drafted n t) = W n.+1 t) ->
  (forall n t, possible Mb Ms gamma t (r n t)) ->
  (forall n t, covered n.+1 t -> worth_of Mb gamma t (then_ n t) (r n t) = W n.+1 t) ->
  forall n t, covered n t ->
    (forall P : strategy V R gamma, valid_strategy Mb Ms P -> play Ms P n [::] t A <= W n t) /\
    exists P : strategy V R gamma, valid_strategy Mb Ms P /\ play Ms P n [::] t A = W n t.
Proof.
move=> pr pe rp re n t cov; split; last exact: reaches_give_strategy rp re n t cov.
move=> P v; apply: (prices_bound_strategies pr) => // m s cs.
by rewrite pe.
Qed.
End SeveralIterations.
