(* Appendix A: block verification as a forward stream.  At each step the outcome so far stays, with weight
   1 - p, or "X^i then y" replaces it, with weight max(p M_b(y) - M_s(y), 0); after the last draft token M_s
   is the zero row.  A step whose weights are all 0 is skipped.  The law is that of Algorithm 2. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum zify.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Models Algorithms Verifier Block.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section Stream.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma : nat) (c : seq V).
Variable A : seq V -> V -> R.
Implicit Types (pre X : seq V) (p a : R).
Notation b pre := (Mb (c ++ pre)).
Notation s pre := (Ms (c ++ pre)).
(* One step; a is what the outcome so far is worth. *)
Definition replaced pre p a : R :=
  let surplus := excess (b pre) (s pre) p in
  if surplus + 1 - p == 0 then a
  else (sumV (fun y => over (b pre) (s pre) p y * A pre y) + (1 - p) * a) / (surplus + 1 - p).
Fixpoint stream pre p a X : R :=
  if X is x :: X' then stream (rcons pre x) (next_p (b pre) (s pre) p x) (replaced pre p a) X'
  else sumV (fun y => p * b pre y * A pre y) + (1 - p) * a.

Fixpoint held_by n pre p : R :=
  if n is n'.+1 then sumV (fun x => s pre x * held_by n' (rcons pre x) (next_p (b pre) (s pre) p x))
                     + (p - share (b pre) (s pre) p) * draw (residual (b pre) (s pre) p) (A pre)
  else p * draw (b pre) (A pre).
Lemma replacedE pre p a : 0 <= p <= 1 -> (1 - share (b pre) (s pre) p) * replaced pre p a
  = (p - share (b pre) (s pre) p) * draw (residual (b pre) (s pre) p) (A pre) + (1 - p) * a.
Proof.
move=> /andP[p0 p1]; rewrite [(p - _) * _]mulrC residualE // /replaced excessE //.
have -> : p - share (b pre) (s pre) p + 1 - p = 1 - share (b pre) (s pre) p by ring.
have [/eqP e|ne] := boolP (1 - share (b pre) (s pre) p == 0); last by rewrite mulrC divfK.
have le : share (b pre) (s pre) p <= p by apply: share_le; rewrite ?row_sum.
have pE : p = 1.
  by apply/eqP; rewrite eq_le p1 /=; apply: le_trans (le); rewrite -subr_le0 (eqP (introT eqP e)).
have z : sumV (over (b pre) (s pre) p) = 0 by rewrite -/(excess _ _ _) excessE // pE; rewrite pE in e.
rewrite e mul0r pE subrr mul0r addr0; symmetry; rewrite -pE -(sumV0 V R); apply: sumV_eq => y.
by rewrite (sumV_eq0 (over_ge0 _ _ p) z) mul0r.
Qed.
Lemma stream_held n pre p a : (size pre + n)%N = gamma -> 0 <= p <= 1 ->
  gen Ms n (c ++ pre) (stream pre p a) = held_by n pre p + (1 - p) * a.
Proof.
elim: n pre p a => [|n IH] pre p a hn p01.
  by rewrite /= /draw -sumVZ; congr (_ + _); apply: sumV_eq => y; rewrite mulrA.
rewrite genS /= -addrA -replacedE // spread ?row_sum //; last by case/andP: p01.
apply: sumV_eq => x; congr (_ * _); rewrite rcons_cat; apply: IH; first by rewrite size_rcons addSnnS.
by apply: next_p_range => //; case/andP: p01.
Qed.
Theorem stream_law a : gen Ms gamma c (stream [::] 1 a) = gen Ms gamma c (fun X => block_verify Mb Ms c X A).
Proof.
have u1 : 0 <= (1 : R) <= 1 by rewrite ler01 lexx.
have := @stream_held gamma [::] 1 a (add0n gamma) u1; rewrite cats0 => ->; rewrite subrr mul0r addr0.
have -> : held_by gamma [::] 1 = held_by (gamma - size ([::] : seq V)) [::] 1 by rewrite subn0.
rewrite -(@block_core _ _ Mb Ms gamma c (finish Mb Ms gamma c A) (fun pre p => held_by (gamma - size pre) pre p)).
- by apply: gen_eq => X hX; rewrite /block_verify hX.
- move=> pre p lt _; rewrite -(subnSK lt) /= /finish (ltn_eqF lt); congr (_ + _).
  by apply: sumV_eq => x; rewrite size_rcons.
- by move=> pre p e _; rewrite e subnn /= /finish e eqxx.
Qed.
End Stream.
