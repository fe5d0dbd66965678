(* Where Theorem 2 holds as published, against every strategy of valid verifiers: one iteration, any
   number with gamma = 1, two with gamma = 2, any number with models that do not look at the context. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum zify.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Models Algorithms Verifier Block Token Optimality Stopping Recursion Strategies Iterations Counterexample.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section Boundary.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R).
Implicit Types (c s : seq V) (F : seq V -> R).
Notation size_ := (fun s : seq V => (size s)%:R : R).
Notation block gamma n := (fun c => specdec Ms gamma (block_verify Mb Ms) n c size_).
(* No valid strategy decodes more tokens in n iterations, from any text and after any history. *)
Definition theorem_2_holds gamma n : Prop := forall (P : strategy V R gamma) h c, valid_strategy Mb Ms P ->
  play Ms P n h c size_ <= block gamma n c.

Lemma next_size c : next Mb size_ c = (size c).+1%:R.
Proof.
rewrite /next (sumV_eq (g := fun y => Mb c y * (size c).+1%:R)) => [|y]; last by rewrite size_rcons.
by rewrite sumVZr row_sum mul1r.
Qed.
Lemma size_grows : grows Mb size_.
Proof. by move=> c; rewrite -/(next Mb size_ c) next_size ler_nat leqnSn. Qed.
Theorem theorem_2_one_iteration gamma : theorem_2_holds gamma 1.
Proof. by move=> P h c v; apply: theorem_2_grows => // -[|m] // _; apply: size_grows. Qed.

(* gamma = 1: block verification is token verification. *)
Lemma block_step_1 F c : block_step Mb Ms 1 F c = tv Mb Ms F 1 c.
Proof.
rewrite tvS /block_step /=; apply: sumV_eq => y; congr (_ + _).
by rewrite tv0 mulrA next_pE ?ler01.
Qed.
Lemma specdec_1 n c A : specdec Ms 1 (block_verify Mb Ms) n c A = specdec Ms 1 (token_verify Mb Ms) n c A.
Proof.
elim: n c => [|n IH] c //; rewrite [LHS](block_stepE Mb Ms 1 (specdec Ms 1 (block_verify Mb Ms) n ^~ A)).
rewrite (block_step_ext _ _ _ (F' := specdec Ms 1 (token_verify Mb Ms) n ^~ A)) ?block_step_1 //.
Qed.
Theorem theorem_2_gamma_1 n : theorem_2_holds 1 n.
Proof.
move=> P h c v; apply: theorem_2_grows => // m _ s; rewrite specdec_1.
rewrite (sumV_eq (fun y => congr1 _ (specdec_1 m (rcons s y) size_))).
by apply: specdec_token_grows; apply: size_grows.
Qed.

(* gamma = 2 and two iterations. *)
Notation share_ c p := (share (Mb c) (Ms c) p).
Lemma share_split c p : 0 <= p <= 1 -> share_ c p <= 1 - p + p * share_ c 1.
Proof.
move=> /andP[p0 p1]; have -> : 1 - p = sumV (fun y => (1 - p) * Ms c y) by rewrite sumVZ row_sum mulr1.
rewrite /share -sumVZ -sumVD; apply: sumV_le => y.
have [le|ge] := leP (1 * Mb c y) (Ms c y).
  by rewrite le_minl mul1r ler_addr mulr_ge0 ?row_ge0 ?subr_ge0.
by rewrite -mulrDl subrK mul1r le_minl lexx orbT.
Qed.
Lemma block_S gamma n c : block gamma n.+1 c = block_step Mb Ms gamma (block gamma n) c.
Proof. exact: block_stepE. Qed.
Lemma phi_2_end c p : 0 <= p -> phi Mb Ms (next Mb size_) size_ 1 c p = p * (size c).+1%:R + share_ c p.
Proof.
move=> p0; have -> : p * (size c).+1%:R = sumV (fun y => p * Mb c y * (size c).+1%:R).
  by rewrite sumVZr sumVZ row_sum mulr1.
rewrite /= /share -sumVD; apply: sumV_eq => y.
rewrite mulrA next_pE // overE next_size !size_rcons.
by move: (Num.min _ _) => m; ring.
Qed.
Lemma block_1_2 c : block 2 1 c = (size c).+1%:R + share_ c 1
  + sumV (fun y => Ms c y * share_ (rcons c y) (next_p (Mb c) (Ms c) 1 y)).
Proof.
have -> : (size c).+1%:R = sumV (fun y => Mb c y * (size c).+1%:R) by rewrite sumVZr row_sum mul1r.
rewrite block_S /block_step [LHS]/= /share -!sumVD.
apply: sumV_eq => y; have /andP[n0 _] := next_p_range (row_ge0 Mb c) (row_ge0 Ms c) y ler01.
have := phi_2_end (rcons c y) n0; rewrite /share /= => ->.
rewrite mulrDr mulrA next_pE ?ler01 // overE mul1r !size_rcons.
by move: (Num.min _ _) (sumV _) => m S; ring.
Qed.
Lemma grows_1_2 : grows Mb (block 2 1).
Proof.
move=> c; rewrite block_1_2; set rest := sumV _.
have low y : (size c).+2%:R + share_ (rcons c y) 1 <= block 2 1 (rcons c y).
  rewrite block_1_2 size_rcons ler_addl; apply: sumV_ge0 => z; apply: mulr_ge0 => //.
  have /andP[n0 _] := next_p_range (row_ge0 Mb (rcons c y)) (row_ge0 Ms (rcons c y)) z ler01.
  by apply: sumV_ge0 => w; rewrite le_minr mulr_ge0 ?row_ge0.
apply: le_trans (sumV_le (fun y => ler_wpmul2l (row_ge0 Mb c y) (low y))).
rewrite (sumV_eq (g := fun y => Mb c y * (size c).+2%:R + Mb c y * share_ (rcons c y) 1)) => [|y]; last exact: mulrDr.
rewrite sumVD sumVZr row_sum mul1r [(size c).+2%:R]mulrSr -!addrA ler_add2l.
apply: le_trans (_ : sumV (Ms c) + _ <= _); last by rewrite row_sum.
rewrite /rest {1}/share -!sumVD; apply: sumV_le => y; rewrite mul1r.
have sh0 : 0 <= share_ (rcons c y) 1 by apply: sumV_ge0 => z; rewrite mul1r le_minr !row_ge0.
have [s0|sn] := eqVneq (Ms c y) 0.
  by rewrite s0 !mul0r min_r ?row_ge0 // !add0r mulr_ge0.
have sp : 0 < Ms c y by rewrite lt0r sn row_ge0.
have [ge|lt] := leP (Ms c y) (Mb c y).
  by rewrite next_p_over ?mul1r // ler_add2l; apply: ler_wpmul2r.
have n1 := next_p_range (row_ge0 Mb c) (row_ge0 Ms c) y ler01; have := share_split (rcons c y) n1.
have lw := ltW lt; rewrite next_p_under ?mul1r // in n1 *; set p := _ / _ => le.
apply: le_trans (ler_add (lexx _) (ler_wpmul2l (ltW sp) le)) _.
have e : Ms c y * p = Mb c y by rewrite /p mulrC divfK.
by rewrite mulrDr mulrBr mulr1 [_ * (p * _)]mulrA !e addrA [Mb c y + _]addrC subrK.
Qed.
Theorem theorem_2_gamma_2 : theorem_2_holds 2 2.
Proof. by move=> P h c v; apply: theorem_2_grows => // -[|[|m]] // _; [apply: size_grows | apply: grows_1_2]. Qed.

(* Models that do not look at the context. *)
Hypotheses (Mb_free : forall c, Mb c =1 Mb [::]) (Ms_free : forall c, Ms c =1 Ms [::]).
Lemma phi_free G F k c p : 0 <= p -> (forall s, G s = G [::] + (size s)%:R) -> (forall s, F s = F [::] + (size s)%:R) ->
  phi Mb Ms G F k c p = phi Mb Ms G F k [::] p + p * (size c)%:R.
Proof.
move=> + eG eF; elim: k c p => [|k IH] c p p0; first by rewrite /= eG mulrDr.
have np x : next_p (Mb c) (Ms c) p x = next_p (Mb [::]) (Ms [::]) p x by rewrite /next_p Mb_free Ms_free.
have op x : over (Mb c) (Ms c) p x = over (Mb [::]) (Ms [::]) p x by rewrite /over Mb_free Ms_free.
have -> : p * (size c)%:R = sumV (fun y => p * Mb [::] y * (size c)%:R) by rewrite sumVZr sumVZ row_sum mulr1.
rewrite /= -sumVD; apply: sumV_eq => y; rewrite np op Ms_free.
have /andP[n0 _] := next_p_range (row_ge0 Mb [::]) (row_ge0 Ms [::]) y p0.
rewrite IH // [in RHS]IH // eF [F [:: y]]eF size_rcons /= !mulrDr !mulrA next_pE // overE; ring.
Qed.
Lemma block_free gamma n c : block gamma n c = block gamma n [::] + (size c)%:R.
Proof.
elim: n c => [|n IH] c; first by rewrite /= add0r.
rewrite !block_S /block_step phi_free ?ler01 // ?mul1r // => s.
rewrite /next (sumV_eq (g := fun y => Mb [::] y * (block gamma n [::] + 1 + (size s)%:R))) => [|y]; last first.
  by rewrite IH size_rcons Mb_free; ring.
rewrite (sumV_eq (f := fun y => Mb [::] y * block gamma n (rcons [::] y)) (g := fun y => Mb [::] y * (block gamma n [::] + 1))) => [|y].
  by rewrite !sumVZr row_sum !mul1r.
by rewrite IH.
Qed.
Theorem theorem_2_context_free gamma n : theorem_2_holds gamma n.
Proof.
move=> P h c v; apply: theorem_2_grows => // m _ s; rewrite block_free.
rewrite (sumV_eq (g := fun y => Mb s y * (block gamma m [::] + (size s).+1%:R))) => [|y]; last by rewrite block_free size_rcons.
by rewrite sumVZr row_sum mul1r ler_add2l ler_nat.
Qed.
End Boundary.

(* The boundary of the published statement, over every real field. *)
Theorem theorem_2_boundary (R : realFieldType) gamma n : (0 < gamma)%N ->
  theorem_2_as_published R gamma n <-> [|| (n <= 1)%N, gamma == 1%N | (gamma == 2%N) && (n == 2%N)].
Proof.
move=> gp; split=> [th|near V W _ prog v Mb Ms].
  by case: (boolP ((2 < gamma) && (1 < n) || (1 < gamma) && (2 < n))%N) => [/theorem_2_fails /(_ th) //|]; lia.
rewrite /tokens_after -(@fixed_play _ _ Ms gamma _ (prog Mb Ms) n [::]).
have vs := @fixed_valid _ _ Mb Ms gamma _ (prog Mb Ms) (v Mb Ms); move: near; case: n => [|[|n]] near //.
  exact: (theorem_2_one_iteration [::] [::] vs).
move: near => /orP[//|/orP[/eqP e|/andP[/eqP e /eqP [en]]]]; subst.
  exact: (@theorem_2_gamma_1 V R Mb Ms n.+2 _ [::] [::] vs).
exact: (@theorem_2_gamma_2 V R Mb Ms _ [::] [::] vs).
Qed.
