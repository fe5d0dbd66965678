(* What survives of Theorem 2 for several iterations.  If stopping later never hurts in
   expectation (U(s) <= E U(sY)), then no valid verifier ends at a better U than block
   verification does. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Models Algorithms Verifier Block Token Optimality.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

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
