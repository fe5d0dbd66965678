(* Eq. (7) computed for one context-dependent problem with zeros, V = 3, gamma = 2: how many of the
   27 output blocks get the large model's probability.  Not part of the build: it needs only
   Algorithms.v, so it still runs when a changed definition breaks the proofs. *)
From mathcomp Require Import all_ssreflect all_algebra.
From Draftproof Require Import Models Algorithms.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.
Notation Q := [realFieldType of rat].
Definition three : vocabulary. Proof. exists (option_finType bool_finType) [:: None; Some true; Some false]. by apply: uniq_perm; rewrite ?enum_uniq // => -[[]|]; rewrite mem_enum. Defined.
Definition r3 (a b c : Q) (x : three) : Q := if x is Some y then (if y then b else c) else a.
Definition b (c : seq three) : three -> Q := if c is [::] then r3 (1/3%:R) (2%:R/3%:R) 0 else r3 (3%:R/5%:R) (2%:R/5%:R) 0.
Definition s (c : seq three) : three -> Q := if c is [::] then r3 (2%:R/3%:R) (1/3%:R) 0 else r3 (1/10%:R) (1/10%:R) (4%:R/5%:R).
Definition law (o : seq three) : Q := gen s 2 [::] (fun X => block_verify b s [::] X (fun k y =>
  gen b (3 - (size k).+1) (rcons k y) (fun z => (rcons k y ++ z == o)%:R))).
Definition all3' := flatten [seq flatten [seq [seq [:: x; y; z] | z <- tokens three] | y <- tokens three] | x <- tokens three].
Eval vm_compute in (size [seq o <- all3' | law o == joint b [::] o]).
