(* The same definitions, computed.  MathComp's rationals do compute, slowly; branches
   of weight 0 are skipped, which is proved not to matter. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum ssrint rat.
From Draftproof Require Import Models Algorithms Verifier Block Token Optimality.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section Fast.
Variables (V : vocabulary) (R : realFieldType).
Implicit Types (c pre kept X todo : seq V) (p : R).
Definition scale (w : R) (a : unit -> R) : R := if w == 0 then 0 else w * a tt.
Lemma scaleE w a : scale w a = w * a tt.
Proof. by rewrite /scale; case: eqP => // ->; rewrite mul0r. Qed.
Definition flipF (h : R) (A : bool -> R) : R :=
  scale h (fun=> A true) + scale (1 - h) (fun=> A false).
Definition drawF (d : V -> R) (A : V -> R) : R := sumV (fun y => scale (d y) (fun=> A y)).
Fixpoint genF (M : seq V -> V -> R) n c (F : seq V -> R) : R :=
  if n is n'.+1 then
    sumV (fun x => scale (M c x) (fun=> genF M n' (rcons c x) (fun s => F (x :: s))))
  else F [::].
Lemma genFE M n c F : genF M n c F = gen M n c F.
Proof.
by elim: n c F => [|n IH] c F //=; apply: sumV_eq => x; rewrite scaleE IH.
Qed.
Variables (Mb Ms : seq V -> V -> R).
Fixpoint block_loopF c pre p kept pk todo (A : seq V -> R -> R) : R :=
  if todo is x :: todo' then
    let p' := next_p (Mb (c ++ pre)) (Ms (c ++ pre)) p x in
    let pre' := rcons pre x in
    let h := if nilp todo' then p' else h_block (Mb (c ++ pre')) (Ms (c ++ pre')) p' in
    flipF h (fun accepted => if accepted then block_loopF c pre' p' pre' p' todo' A
                             else block_loopF c pre' p' kept pk todo' A)
  else A kept pk.
Fixpoint token_loopF c pre todo (A : seq V -> R) : R :=
  if todo is x :: todo' then
    flipF (h_token (Mb (c ++ pre)) (Ms (c ++ pre)) x)
      (fun accepted => if accepted then token_loopF c (rcons pre x) todo' A else A pre)
  else A pre.
Definition finishF n c (A : seq V -> V -> R) kept pk : R :=
  drawF (if size kept == n then Mb (c ++ kept)
         else residual (Mb (c ++ kept)) (Ms (c ++ kept)) pk) (A kept).
Definition block_verifyF c X (A : seq V -> V -> R) : R :=
  block_loopF c [::] 1 [::] 1 X (finishF (size X) c A).
Definition token_verifyF c X (A : seq V -> V -> R) : R :=
  token_loopF c [::] X (fun kept => finishF (size X) c A kept 1).
Lemma flipFE h A : flipF h A = flip h A.
Proof. by rewrite /flipF !scaleE. Qed.
Lemma finishFE n c A kept pk : finishF n c A kept pk = finish Mb Ms n c A kept pk.
Proof. by rewrite /finishF /finish /drawF /draw; apply: sumV_eq => y; rewrite scaleE. Qed.
Lemma block_loopFE c n A todo pre p kept pk :
  block_loopF c pre p kept pk todo (finishF n c A)
  = block_loop Mb Ms c pre p kept pk todo (finish Mb Ms n c A).
Proof.
elim: todo pre p kept pk => [|x todo IH] pre p kept pk; first exact: finishFE.
by rewrite /= flipFE /flip !IH.
Qed.
Lemma block_verifyFE c X A : block_verifyF c X A = block_verify Mb Ms c X A.
Proof. exact: block_loopFE. Qed.
Lemma token_loopFE c n A todo pre :
  token_loopF c pre todo (fun kept => finishF n c A kept 1)
  = token_loop Mb Ms c pre todo (fun kept => finish Mb Ms n c A kept 1).
Proof.
elim: todo pre => [|x todo IH] pre; first exact: finishFE.
by rewrite /= flipFE /flip IH finishFE.
Qed.
Lemma token_verifyFE c X A : token_verifyF c X A = token_verify Mb Ms c X A.
Proof. exact: token_loopFE. Qed.
End Fast.

Notation Q := [realFieldType of rat].
(* Two tokens; true is B in the paper's Section 2. *)
Definition two : vocabulary.
Proof. by exists bool_finType [:: true; false]; rewrite enumT unlock. Defined.
Lemma sumV_two (R : realFieldType) (f : two -> R) : sumV f = f true + f false.
Proof. by rewrite /sumV /= addr0. Qed.

(* A model over two tokens from the probability of true at each context. *)
Definition model_two (f : seq bool -> rat) (f01 : forall c, 0 <= f c <= 1) : model two Q.
Proof.
exists (fun c x => if x then f c else 1 - f c) => [c [] | c].
- by case/andP: (f01 c).
- by rewrite subr_ge0; case/andP: (f01 c).
- by rewrite sumV_two addrC subrK.
Defined.
Definition toy_b : model two Q.
Proof. by apply: (@model_two (fun=> 2%:R / 3%:R)) => c; vm_compute. Defined.
Definition toy_s : model two Q.
Proof. by apply: (@model_two (fun=> 1 / 3%:R)) => c; vm_compute. Defined.

Definition EtauF (V : vocabulary) (Ms : model V Q) gamma c
    (W : seq V -> (seq V -> V -> Q) -> Q) : Q :=
  genF Ms gamma c (fun X => W X (fun kept _ => (size kept)%:R)).

(* Section 2: 11/9 for block verification, 10/9 for token verification (Lemma 1). *)
Theorem toy_block : Etau toy_s 2 [::] (block_verify toy_b toy_s [::]) = 11%:R / 9%:R.
Proof.
transitivity (EtauF toy_s 2 [::] (block_verifyF toy_b toy_s [::])).
  by rewrite /EtauF genFE; apply: gen_eq => X _; rewrite block_verifyFE.
apply/eqP; vm_cast_no_check (erefl true).
Qed.
Theorem toy_token : Etau toy_s 2 [::] (token_verify toy_b toy_s [::]) = 10%:R / 9%:R.
Proof.
transitivity (EtauF toy_s 2 [::] (token_verifyF toy_b toy_s [::])).
  by rewrite /EtauF genFE; apply: gen_eq => X _; rewrite token_verifyFE.
apply/eqP; vm_cast_no_check (erefl true).
Qed.
Theorem lemma_1 : Etau toy_s 2 [::] (token_verify toy_b toy_s [::])
  < Etau toy_s 2 [::] (block_verify toy_b toy_s [::]).
Proof. by rewrite toy_block toy_token; vm_compute. Qed.
