(* The paper's algorithms, written as programs that toss coins.  A program of
   outcome A is given by the expectation it assigns to a test function A -> R. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Draftproof Require Import Models.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section Algorithms.
Variables (V : vocabulary) (R : realFieldType).
Implicit Types (b s : V -> R) (c pre kept X todo : seq V) (p : R).

(* Accept with probability h; draw a token from a row. *)
Definition flip (h : R) (A : bool -> R) : R := h * A true + (1 - h) * A false.
Definition draw (d : V -> R) (A : V -> R) : R := sumV (fun y => d y * A y).

(* b is the large model's row, s the small model's row, at the same context. *)
Definition over b s p y : R := Num.max (p * b y - s y) 0.
Definition excess b s p : R := sumV (over b s p).
(* Equations (3) and (4).  Where the normaliser is 0 the law is never drawn from
   along drafts of positive probability; b keeps it a probability everywhere. *)
Definition residual b s p y : R :=
  if excess b s p == 0 then b y else over b s p y / excess b s p.
(* Equation (9) in one step. *)
Definition next_p b s p x : R := Num.min (p * b x / s x) 1.
(* Equation (5), with 0/0 read as 1. *)
Definition h_block b s p : R :=
  if excess b s p + 1 - p == 0 then 1 else excess b s p / (excess b s p + 1 - p).

Variables (Mb Ms : seq V -> V -> R).

(* Algorithm 2, lines 3-11: pre is the part of the draft already seen, p is p_i,
   kept is the longest accepted sub-block and pk its p. *)
Fixpoint block_loop c pre p kept pk todo (A : seq V -> R -> R) : R :=
  if todo is x :: todo' then
    let p' := next_p (Mb (c ++ pre)) (Ms (c ++ pre)) p x in
    let pre' := rcons pre x in
    let h := if nilp todo' then p' else h_block (Mb (c ++ pre')) (Ms (c ++ pre')) p' in
    flip h (fun accepted => if accepted then block_loop c pre' p' pre' p' todo' A
                            else block_loop c pre' p' kept pk todo' A)
  else A kept pk.

(* Lines 12-17.  A gets X^tau and Y. *)
Definition finish n c (A : seq V -> V -> R) kept pk : R :=
  draw (if size kept == n then Mb (c ++ kept)
        else residual (Mb (c ++ kept)) (Ms (c ++ kept)) pk) (A kept).
Definition block_verify c X (A : seq V -> V -> R) : R :=
  block_loop c [::] 1 [::] 1 X (finish (size X) c A).

(* Algorithm 1: the loop stops at the first rejection. *)
Definition h_token b s x : R := Num.min (b x / s x) 1.
Fixpoint token_loop c pre todo (A : seq V -> R) : R :=
  if todo is x :: todo' then
    flip (h_token (Mb (c ++ pre)) (Ms (c ++ pre)) x)
      (fun accepted => if accepted then token_loop c (rcons pre x) todo' A else A pre)
  else A pre.
Definition token_verify c X (A : seq V -> V -> R) : R :=
  token_loop c [::] X (fun kept => finish (size X) c A kept 1).

(* Algorithm 4: the same loop as Algorithm 2, without the minimum in p and with
   another h.  The clipped coin is min(1, .), for eta is uniform on (0,1). *)
Definition under b s p : R := sumV (fun y => Num.max (s y - p * b y) 0).
Definition h_greedy b s p : R :=
  if under b s p == 0 then 1 else Num.min (excess b s p / under b s p) 1.
Fixpoint greedy_loop c pre p kept pk todo (A : seq V -> R -> R) : R :=
  if todo is x :: todo' then
    let p' := p * Mb (c ++ pre) x / Ms (c ++ pre) x in
    let pre' := rcons pre x in
    let h := if nilp todo' then Num.min p' 1
             else h_greedy (Mb (c ++ pre')) (Ms (c ++ pre')) p' in
    flip h (fun accepted => if accepted then greedy_loop c pre' p' pre' p' todo' A
                            else greedy_loop c pre' p' kept pk todo' A)
  else A kept pk.
Definition greedy_verify c X (A : seq V -> V -> R) : R :=
  greedy_loop c [::] 1 [::] 1 X (finish (size X) c A).

(* Algorithm 5, Equation (31): the large model after an iteration that began behind the first
   "start" tokens, "since" being the tokens since.  Where the normaliser is 0
   any row will do. *)
Definition gap c since y : R :=
  Num.max (joint Mb c (rcons since y) - joint Ms c (rcons since y)) 0.
Definition modified c since y : R :=
  if sumV (gap c since) == 0 then Mb (c ++ since) y else gap c since y / sumV (gap c since).
Definition modify gamma start (text : seq V) : V -> R :=
  if (start <= size text < start + gamma)%N then modified (take start text) (drop start text)
  else Mb text.

(* Algorithm 3, n iterations from context c: the draft, the verifier, the outer
   loop.  There is no end-of-sequence stop: E.O.S. is a token that the models
   repeat for ever, as in the paper's proof of Theorem 2. *)
Definition verifier := seq V -> seq V -> (seq V -> V -> R) -> R.
Fixpoint specdec (gamma : nat) (W : verifier) n c (A : seq V -> R) : R :=
  if n is n'.+1 then
    gen Ms gamma c (fun X => W c X (fun kept y =>
      specdec gamma W n' (c ++ rcons kept y) A))
  else A c.
End Algorithms.

(* Algorithm 6: the loop of greedy block verification.  T is the target in force: the large
   model, with the modification of every iteration nested in the next one's (footnote 6). *)
Fixpoint greedydec (V : vocabulary) (R : realFieldType) (Ms : seq V -> V -> R) (gamma n : nat)
    (T : seq V -> V -> R) (c : seq V) (A : (seq V -> V -> R) -> seq V -> R) : R :=
  if n is n'.+1 then
    gen Ms gamma c (fun X => greedy_verify T Ms c X (fun kept y =>
      greedydec Ms gamma n' (modify T Ms gamma (size c)) (c ++ rcons kept y) A))
  else A T c.
