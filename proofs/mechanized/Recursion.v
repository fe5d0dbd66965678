(* One iteration of block verification as a recursion over the draft tokens to come: what the
   draft and the coins make of a function of the text. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Models Algorithms Verifier Block.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section Recursion.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R).
Implicit Types (c s X : seq V) (p : R) (F G : seq V -> R).

(* The large model's next token. *)
Definition next F c : R := sumV (fun y => Mb c y * F (rcons c y)).

(* k draft tokens to come after c, which is in play with probability p; F is what the text is
   worth where the iteration ends with a residual token, G where all draft tokens are accepted. *)
Fixpoint phi G F k c p : R :=
  if k is k'.+1 then sumV (fun y => Ms c y * phi G F k' (rcons c y) (next_p (Mb c) (Ms c) p y)
                                    + over (Mb c) (Ms c) p y * F (rcons c y))
  else p * G c.
(* One iteration from c, its bonus token drawn. *)
Definition block_step gamma F c : R := phi (next F) F gamma c 1.

Lemma phi_verify gamma c G F (A : seq V -> V -> R) :
  (forall k y, (size k < gamma)%N -> A k y = F (c ++ rcons k y)) ->
  (forall k, size k = gamma -> sumV (fun y => Mb (c ++ k) y * A k y) = G (c ++ k)) ->
  gen Ms gamma c (fun X => block_verify Mb Ms c X A) = phi G F gamma c 1.
Proof.
move=> eF eG; pose Phi pre p := phi G F (gamma - size pre) (c ++ pre) p.
transitivity (Phi [::] 1); last by rewrite /Phi subn0 cats0.
rewrite -(@block_core _ _ Mb Ms gamma c (finish Mb Ms gamma c A) Phi).
- by apply: gen_eq => X hX; rewrite /block_verify hX.
- move=> pre p lt p01; rewrite /Phi -(subnSK lt) /finish ltn_eqF // mulrC residualE //.
  by rewrite -sumVD; apply: sumV_eq => y; rewrite size_rcons rcons_cat eF // rcons_cat.
- by move=> pre p e _; rewrite /Phi e subnn /= /finish e eqxx /draw -eG.
Qed.
Lemma block_stepE gamma F c :
  gen Ms gamma c (fun X => block_verify Mb Ms c X (fun k y => F (c ++ rcons k y))) = block_step gamma F c.
Proof.
apply: phi_verify => // k hk; rewrite /next; apply: sumV_eq => y; by rewrite rcons_cat.
Qed.

(* Only what begins with c and is longer matters. *)
Lemma phi_ext G G' F F' k c p : (forall s, G (c ++ s) = G' (c ++ s)) ->
  (forall s y, F (c ++ rcons s y) = F' (c ++ rcons s y)) -> phi G F k c p = phi G' F' k c p.
Proof.
elim: k c p => [|k IH] c p eG eF /=; first by have := eG [::]; rewrite cats0 => ->.
apply: sumV_eq => y; have := eF [::] y; rewrite /= cats1 => ->; congr (_ * _ + _).
by apply: IH => [s|s z]; rewrite cat_rcons ?(eG (y :: s)) ?(eF (y :: s)).
Qed.
Lemma next_ext F F' c : (forall y, F (rcons c y) = F' (rcons c y)) -> next F c = next F' c.
Proof. by move=> e; apply: sumV_eq => y; rewrite e. Qed.
Lemma block_step_ext gamma F F' c : (forall s y, F (c ++ rcons s y) = F' (c ++ rcons s y)) ->
  block_step gamma F c = block_step gamma F' c.
Proof.
move=> e; apply: phi_ext => // s; apply: next_ext => y.
by rewrite rcons_cat e.
Qed.

Lemma overM0 c y : over (Mb c) (Ms c) 0 y = 0.
Proof. by rewrite overE mul0r min_l ?subrr ?row_ge0. Qed.
Lemma next_p0 c y : next_p (Mb c) (Ms c) 0 y = 0.
Proof. by rewrite /next_p !mul0r min_l ?ler01. Qed.
Lemma phi0 G F k c : phi G F k c 0 = 0.
Proof.
elim: k c => [|k IH] c /=; first by rewrite mul0r.
by rewrite -[RHS](sumV0 V); apply: sumV_eq => y; rewrite next_p0 IH overM0 mulr0 mul0r addr0.
Qed.
(* From the probability of token y to that of the next prefix in play, s(y) > 0. *)
Lemma next_p_under (b s : V -> R) p y : 0 < s y :> R -> p * b y <= s y -> next_p b s p y = p * b y / s y :> R.
Proof. by move=> s0 le; rewrite /next_p min_l // ler_pdivr_mulr // mul1r. Qed.
Lemma next_p_over (b s : V -> R) p y : 0 < s y :> R -> s y <= p * b y -> next_p b s p y = 1 :> R.
Proof. by move=> s0 le; rewrite /next_p min_r // ler_pdivl_mulr // mul1r. Qed.
Lemma over_under (b s : V -> R) p y : p * b y <= s y -> over b s p y = 0.
Proof. by move=> le; rewrite overE min_l ?subrr. Qed.
Lemma over_over (b s : V -> R) p y : s y <= p * b y -> over b s p y = p * b y - s y.
Proof. by move=> le; rewrite overE min_r. Qed.
End Recursion.
