(* The main theorems, each with everything that it assumes in its own statement: every finite vocabulary, every gamma,
   models with zeros that look at the context, any real field.  The proofs are in the files named. *)
From mathcomp Require Import all_ssreflect all_algebra.
From Draftproof Require Import Models Algorithms Verifier Block Token Optimality Iterations Counterexample Greedy.
From Draftproof Require Import Strategies Boundary Loops SubBlocks SeveralDrafts Precision Rounding BlockRounding.
From Draftproof Require Import ProblemRounding GreedyRounding TreeRounding.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

(* Speculative decoding gives out the large model's text: Pr(the tokens after c begin with o) = M_b(o | c), for every o
   no longer than the number n of iterations (Algorithm 3; Algorithm 6 with its nested modifications).  Loops.v *)
Theorem token_verification_is_lossless (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma n : nat)
    (c o : seq V) : (size o <= n)%N ->
  specdec Ms gamma (token_verify Mb Ms) n c (fun s => (take (size o) (drop (size c) s) == o)%:R) = joint Mb c o.
Proof. exact: token_lossless. Qed.
Theorem block_verification_is_lossless (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma n : nat)
    (c o : seq V) : (size o <= n)%N ->
  specdec Ms gamma (block_verify Mb Ms) n c (fun s => (take (size o) (drop (size c) s) == o)%:R) = joint Mb c o.
Proof. exact: block_lossless. Qed.
Theorem greedy_block_verification_is_lossless (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma n : nat)
    (c o : seq V) : (size o <= n)%N ->
  greedydec Ms gamma n Mb c (fun _ s => (take (size o) (drop (size c) s) == o)%:R) = joint Mb c o.
Proof. exact: greedy_lossless. Qed.

(* One iteration: of all verifiers with Equation (7) block verification accepts the most tokens in expectation, and is
   one of them; greedy block verification, which needs the modified target, accepts no fewer.  Optimality.v, Greedy.v *)
Theorem block_verification_is_optimal (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma : nat) (c : seq V) :
  (forall K : kernel V R gamma, valid Mb Ms gamma c (run K) ->
     Etau Ms gamma c (run K) <= Etau Ms gamma c (block_verify Mb Ms c)) /\
  (exists2 K : kernel V R gamma, valid Mb Ms gamma c (run K) &
     Etau Ms gamma c (run K) = Etau Ms gamma c (block_verify Mb Ms c)).
Proof. by split=> [K|]; [exact: theorem_2_one | have [K [v e]] := block_kernel Mb Ms gamma c; exists K]. Qed.
Theorem greedy_accepts_no_fewer (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma : nat) (c : seq V) :
  Etau Ms gamma c (block_verify Mb Ms c) <= Etau Ms gamma c (greedy_verify Mb Ms c).
Proof. exact: theorem_3. Qed.

(* Several iterations: the published Theorem 2, that no valid verifier which sees the rows along its draft decodes more
   tokens than block verification, is true in these cases and in no other.  Counterexample.v, Boundary.v *)
Theorem published_theorem_2 (R : realFieldType) (gamma n : nat) : (0 < gamma)%N ->
  (forall (V : vocabulary) (W : (seq V -> V -> R) -> (seq V -> V -> R) -> verifier V R),
     sees_rows_only W -> (forall (Mb Ms : model V R) c X, program X (W Mb Ms c X)) ->
     (forall (Mb Ms : model V R) c, valid Mb Ms gamma c (W Mb Ms c)) ->
     forall Mb Ms : model V R, tokens_after Ms gamma (W Mb Ms) n <= tokens_after Ms gamma (block_verify Mb Ms) n)
  <-> [|| (n <= 1)%N, gamma == 1%N | (gamma == 2%N) && (n == 2%N)].
Proof. exact: theorem_2_boundary. Qed.

(* What is true of it: let what is finished stay so when tokens come, and texts of L tokens be finished.  Then n
   iterations that reach L tokens begin with an unfinished text the fewest times, in expectation, with block
   verification, among all strategies of valid verifiers for this gamma.  Strategies.v *)
Theorem block_verification_needs_the_fewest_calls (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma : nat)
    (finished : pred (seq V)) (L n : nat) (P : strategy V R gamma) (h : seq (seq V * seq V)) (c : seq V) :
  (forall s y, finished s -> finished (rcons s y)) -> (forall s, (L <= size s)%N -> finished s) ->
  (forall h s, valid Mb Ms gamma s (run (P h s))) -> (L <= size c + n)%N ->
  \sum_(i < n) specdec Ms gamma (block_verify Mb Ms) i c (fun s => (~~ finished s)%:R)
  <= \sum_(i < n) play Ms P i h c (fun s => (~~ finished s)%:R).
Proof. by move=> stays bounded v le; apply: (theorem_2_calls stays bounded). Qed.

(* Floating point: every operation is off by at most u of its result (rounds), sums by (1 + u)^d - 1 (within), a coin is
   decided by F, within eta of its probability, and the last token drawn from a row within lambda of the computed one.
   Then no event of the output, and no mean U of one in [0, 1], is further than the bound from the exact rule's.
   BlockRounding.v, TreeRounding.v, GreedyRounding.v *)
Theorem block_verification_in_floating_point (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma : nat)
    (c : seq V) (ends : pred (seq V)) (u eta lambda : R) (d : nat) (F : R -> R)
    (P H : seq V -> R) (w drawn U : seq V -> V -> R) :
  0 <= u <= 1 -> (forall h, 0 <= h <= 1 -> 0 <= F h <= 1 /\ `|F h - h| <= eta) ->
  survivals_computed Mb Ms c u P -> (forall x, weights_computed Mb Ms c u P w x) ->
  (forall x, coin_computed u d P w H x) ->
  (forall x y, 0 <= drawn x y) -> (forall x, sumV (drawn x) = 1) ->
  (forall x, exists r : V -> R, [/\ sumV r = 1, forall y, 0 <= r y, total_variation r (drawn x) <= lambda &
     if final gamma ends x then r =1 Mb (c ++ x) else forall y, r y * sumV (w x) = w x y]) ->
  (forall x y, 0 <= U x y <= 1) ->
  `|draft Ms c ends gamma [::] (fun X => sub_verify (coin_used gamma ends F P H) drawn X U)
    - draft Ms c ends gamma [::] (fun X => block_verify Mb Ms c X U)|
  <= \sum_(i < gamma) coin_bound gamma u eta d i.+1 + \sum_(i < gamma) row_bound u i + lambda.
Proof. by move=> /andP[u0 u1] *; apply: block_rounding. Qed.

(* On one problem, the rows B and S that are given within o of the models'; the bound is summed prefix by prefix. *)
Theorem token_verification_in_floating_point (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma : nat)
    (c : seq V) (u o eta lambda : R) (F : R -> R) (B S H w drawn A : seq V -> V -> R) :
  0 <= u <= 1 -> 0 <= o < 1 -> (forall h, 0 <= h <= 1 -> 0 <= F h <= 1 /\ `|F h - h| <= eta) ->
  (forall x y, rel o (Mb (c ++ x) y) (B x y)) -> (forall x y, rel o (Ms (c ++ x) y) (S x y)) ->
  (forall x y, exists2 r, rounds u (B x y / S x y) r & H x y = Num.min r 1) ->
  (forall x y, exists2 e, rounds u (B x y - S x y) e & w x y = Num.max e 0) ->
  (forall x y, 0 <= drawn x y) -> (forall x, sumV (drawn x) = 1) ->
  (forall x, exists r : V -> R, [/\ sumV r = 1, forall y, 0 <= r y, total_variation r (drawn x) <= lambda &
     if size x == gamma then forall y, r y * sumV (B x) = B x y else forall y, r y * sumV (w x) = w x y]) ->
  (forall x y, 0 <= A x y <= 1) ->
  `|gen Ms gamma c (token_computed F H drawn A [::]) - gen Ms gamma c (fun X => token_verify Mb Ms c X A)|
  <= token_cost Mb Ms c u o eta gamma [::] + lambda.
Proof. by move=> /andP[u0 u1] /andP[o0 o1] *; apply: token_rounding. Qed.
Theorem greedy_block_verification_in_floating_point (V : vocabulary) (R : realFieldType) (Mb Ms : model V R)
    (gamma : nat) (c : seq V) (u o eta lambda : R) (d : nat) (F : R -> R) (B S : seq V -> V -> R)
    (P H kap alpha beta : seq V -> R) (w v drawn U : seq V -> V -> R) :
  0 <= u <= 1 -> 0 <= o < 1 -> (forall h, 0 <= h <= 1 -> 0 <= F h <= 1 /\ `|F h - h| <= eta) ->
  (forall x y, rel o (Mb (c ++ x) y) (B x y)) -> (forall x y, rel o (Ms (c ++ x) y) (S x y)) ->
  ratios_given u B S P -> (forall x, both_weights_given u B S P w v x) -> (forall x, quotient_computed u d w v H x) ->
  (forall x y, 0 <= drawn x y) -> (forall x, sumV (drawn x) = 1) ->
  (forall x, exists r : V -> R, [/\ sumV r = 1, forall y, 0 <= r y, total_variation r (drawn x) <= lambda &
     if final gamma pred0 x then forall y, r y * sumV (B x) = B x y else forall y, r y * sumV (w x) = w x y]) ->
  (forall x, 0 <= kap x) -> (forall x y, survival_error u o (kap x) <= kap (rcons x y)) ->
  (forall x, greedy_coin_cost Mb Ms gamma c u o eta d kap x <= alpha x) ->
  (forall x, greedy_row_cost Mb Ms gamma c u o kap x <= beta x) -> (forall x y, 0 <= U x y <= 1) ->
  `|draft Ms c pred0 gamma [::] (fun X => sub_verify (greedy_coin_taken gamma F P H) drawn X U)
    - gen Ms gamma c (fun X => greedy_verify Mb Ms c X U)|
  <= below Ms c pred0 alpha gamma [::] + (beta [::] + below Ms c pred0 beta gamma [::]) + lambda.
Proof.
move=> /andP[u0 u1] /andP[o0 o1] dec Bb Ss Pc wc Hc d0 d1 near k0 ks ag bg U01.
exact: (greedy_rounding u0 u1 o0 o1 dec Bb Ss Pc wc Hc d0 d1 near k0 ks ag bg U01).
Qed.
Theorem recursive_rejection_in_floating_point (V : vocabulary) (R : realFieldType) (Mb : model V R) (c s : seq V)
    (u o eta lambda e : R) (d m : nat) (Fd : R -> R) (B A : seq V -> V -> R) (b b' : V -> R) (t : drafts V R)
    (F : (seq V -> V -> R) -> R) :
  0 <= u <= 1 -> 0 <= o < 1 -> growth u d < 1 -> (forall h, 0 <= h <= 1 -> 0 <= Fd h <= 1 /\ `|Fd h - h| <= eta) ->
  (forall x y, rel o (Mb (c ++ x) y) (B x y)) -> (forall x y, 0 <= A x y <= 1) ->
  computes u o lambda d Fd B s b' t F -> SeveralDrafts.drawn m t ->
  (forall y, 0 <= b y) -> sumV b = 1 -> (forall y, 0 <= b' y) -> apart b b' <= e ->
  `|F A - recursive_rejection Mb c s b t A| <= tree_cost Mb c u o eta d s b e t + lambda.
Proof.
move=> /andP[u0 u1] /andP[o0 o1] d1 dec Bb A01 h drawn b0 b1 b'0 be.
exact: (tree_rounding u0 u1 o0 o1 d1 dec Bb A01 h drawn b0 b1 b'0 be).
Qed.
