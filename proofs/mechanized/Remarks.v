(* What the paper says of single models in Appendix C.1, and a rule that looks at the verifier's coins: by
   computation on the example of Section 2, over the rationals of Law.v.  true is B, false is A. *)
From Coq Require Import ZArith QArith Qcanon.
From mathcomp Require Import all_ssreflect all_algebra.
From Draftproof Require Import Algorithms Block Optimality Counterexample Loops Law.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Close Scope Q_scope. Local Close Scope Qc_scope.
Local Open Scope ring_scope.

Definition example (a : Qc) : seq two -> two -> Qc := fun _ x => if x then a else 1 - a.
Definition large : model two Qc_realFieldType.
Proof. by exists (example (q 2 3)) => [c [] //|c]; apply/eqP; vm_compute. Defined.
Definition small : model two Qc_realFieldType.
Proof. by exists (example (q 1 3)) => [c [] //|c]; apply/eqP; vm_compute. Defined.
Definition tokens_of (s : seq two) : Qc := q (Z.of_nat (size s)) 1.
Definition first_two (o s : seq two) : Qc := if take 2 s == o then 1 else 0.

(* Greedy block verification in Algorithm 3 as it is: BA comes first with probability 1/3 instead of 2/9. *)
Theorem greedy_in_plain_loop_biased :
  specdec small 2 (greedy_verify large small) 2 [::] (first_two [:: true; false]) = q 1 3
  /\ joint large [::] [:: true; false] = q 2 9.
Proof. by split; apply/eqP; vm_compute. Qed.
(* After AA was rejected and B emitted the modified target is sure of B. *)
Theorem modified_point_mass : modified large small [::] [:: true] true = 1.
Proof. by apply/eqP; vm_compute. Qed.
(* Neither dominates: in one iteration greedy block verification decodes more, in three block verification. *)
Theorem greedy_more_in_one_fewer_in_three :
  specdec small 2 (block_verify large small) 1 [::] tokens_of
    < greedydec small 2 1 large [::] (fun _ => tokens_of)
  /\ greedydec small 2 3 large [::] (fun _ => tokens_of)
    < specdec small 2 (block_verify large small) 3 [::] tokens_of.
Proof. split; vm_cast_no_check (erefl true). Qed.

(* A draft that ends after its first token exactly if that token's coin falls, and goes on as if it had not been
   tossed: a draft verification algorithm, and not valid.  Block.v:adaptive_fair is the true form. *)
Definition ends_by_coin X (A : seq two -> two -> Qc) : Qc :=
  if X is x :: _ then flip (h_token (large [::]) (small [::]) x) (fun falls =>
    if falls then draw (large [:: x]) (A [:: x]) else block_verify large small [::] X A)
  else block_verify large small [::] X A.
Lemma ends_by_coin_program X : program X (ends_by_coin X).
Proof.
case: X => [|x X]; first exact: block_program.
refine (@Toss _ _ _ _ (fun A => draw (large [:: x]) (A [:: x])) _ _ _ _ (block_program _ _ _ _) (fun A => erefl)).
  by case: x; vm_compute.
by apply: (@Stop _ _ _ 1 (large [:: x])) => // A; rewrite /= take0.
Qed.
Theorem ends_by_coin_not_valid : ~ valid large small 2 [::] ends_by_coin.
Proof. by move=> v; have /eqP := v [:: true; true; true] erefl; vm_compute. Qed.

(* Lemma 2 with E.O.S.: a verifier that emits anything after E.O.S. gives texts with the right law, but Equation (7),
   not read up to E.O.S., fails.  true is E.O.S.; both models are sure of it. *)
Definition ended : model two Qc_realFieldType.
Proof. by exists (example 1) => [c [] //|c]; apply/eqP; vm_compute. Defined.
Definition babbles (c X : seq two) (A : seq two -> two -> Qc) : Qc := A X false.
Theorem after_eos_anything :
  lossless_eos ended ended 1 (true : two) babbles /\ ~ valid ended ended 1 [::] (babbles [::]).
Proof.
have law : lawful 1 babbles.
  apply: lawful_program => c X hX; apply: (@Stop two Qc_realFieldType X 1%N (fun y : two => (if y then 0 else 1) : Qc)); rewrite ?hX //.
  - by case.
  - by move=> A; rewrite /babbles /draw sumV_two mul0r add0r mul1r -hX take_size.
split; last by move=> v; have /eqP := v [:: true; true] erefl; vm_compute.
have ends (c : seq two) : (true : two) \in c -> ended c true = 1 by [].
by apply/(lemma_2_up_to_eos ended ends law) => c [|[] [|[] [|? ?]]] // _; apply/eqP; vm_compute.
Qed.

(* The counterexample to Theorem 2 (Counterexample.v, gamma = 2, t = 1/2) survives where models end, as the paper's do: both
   give 8 tokens, then E.O.S., the third token here, for ever; tokens are counted up to the first E.O.S. *)
Notation three := (numbered 2).
Definition up_to_eos (s : seq three) : Qc := q (Z.of_nat (minn (index 2%N (map val s)).+1 (size s))) 1.
Definition text_over (c : seq nat) : bool := (2%N \in c) || (8 <= size c)%N.
Definition coin_row (a : Qc) : three -> Qc := fun x => nth 0 [:: 1 - a; a; 0] x.
Definition eos_row : three -> Qc := fun x => nth 0 [:: 0; 0; 1] x.
Definition rows_that_end (a : seq nat -> option bool) (c : seq three) : three -> Qc :=
  if text_over (map val c) then eos_row else coin_row (if a (map val c) is Some b then if b then 1 else 0 else q 1 2).
Definition that_ends (a : seq nat -> option bool) : model three Qc_realFieldType.
Proof.
exists (rows_that_end a) => [c|c]; rewrite /rows_that_end; case: ifP => _.
- by case=> [[|[|[|n]]] lt].
- by case: (a _) => [[]|] [[|[|[|n]]] lt].
- by apply/eqP; vm_compute.
by case: (a _) => [[]|]; apply/eqP; vm_compute.
Defined.
Definition large_ends := that_ends (fun c =>
  if size c == 2%N then None else Some [&& (2 < size c)%N & (nth 0 c 2 == 1)%N || (size c == 4)%N]).
Definition small_ends := that_ends (fun c => if (size c == 3)%N && (nth 0 c 2 == 0)%N then None else Some false).

Section Fast.
Variables (V : vocabulary) (R : realFieldType) (Ms : model V R) (gamma : nat) (W W' : verifier V R).
Fixpoint specdecF n c (A : seq V -> R) : R :=
  if n is n'.+1 then genF Ms gamma c (fun X => W' c X (fun k y => specdecF n' (c ++ rcons k y) A)) else A c.
Lemma specdecFE n c A : (forall c X D, W' c X D = W c X D) -> (forall c X, program X (W c X)) ->
  specdecF n c A = specdec Ms gamma W n c A.
Proof.
move=> e prog; elim: n c => //= n IH c; rewrite genFE; apply: gen_eq => X hX; rewrite e.
by apply: (program_ext (prog c X)) => t y _; apply: IH.
Qed.
End Fast.

Theorem theorem_2_fails_with_eos :
  [/\ forall c : seq three, text_over (map val c) -> large_ends c =1 eos_row /\ small_ends c =1 eos_row,
      specdec small_ends 2 (block_verify large_ends small_ends) 3 [::] up_to_eos = q 23 4
    & specdec small_ends 2 (sure_bonus large_ends small_ends) 3 [::] up_to_eos = q 6 1].
Proof.
split; first by move=> c h; rewrite /= /rows_that_end h.
- rewrite -(@specdecFE _ _ _ _ _ (block_verifyF large_ends small_ends)) => [|c X D|c X].
  + by apply/eqP; vm_cast_no_check (erefl true).
  + exact: block_verifyFE.
  exact: block_program.
- rewrite -(@specdecFE _ _ _ _ _ (fun c X A => block_verifyF large_ends small_ends c X (shorten large_ends (size X) c A))).
  + by apply/eqP; vm_cast_no_check (erefl true).
  + by move=> c X D; exact: block_verifyFE.
  by move=> c X; exact: sure_bonus_program.
Qed.

(* Rows off the path gain nothing for a rule that emits one token behind what it keeps (Optimality.v:theorem_2_off_path).
   A rule that emits all of its text at once, with the target's law, can agree with its draft on more of it. *)
Theorem emitting_off_the_path : exists pi : coupling large small 2 [::],
  Etau small 2 [::] (block_verify large small [::]) < overlap pi.
Proof.
have [pi e] := lemma_10_attained large small 2 [::]; exists pi.
rewrite e -Etau_greedy; vm_cast_no_check (erefl true).
Qed.
