(* The main theorems, each with everything that it assumes in its own statement: every finite vocabulary, every gamma,
   models with zeros that look at the context, any real field.  The proofs are in the files named. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From Draftproof Require Import RealField AbsoluteRounding BinaryFormats MonteCarloRounding Algorithms Block Optimality Counterexample Strategies Loops Descent Precision Rounding ProblemRounding TreeRounding DescentRounding KSeqRounding ScaledTransport ListMatchingRounding StepRounding PathRounding ListMatchingTree.
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

(* Several drafts: a draft tree f of any shape and depth, its nodes of one text going on together; siblings are
   independent draws from the small model's row (SpecInfer), or each from what the elder ones left of it (Sequoia,
   EAGLE).  The accepted path and one token more, completed by the large model to gamma + 1 tokens, have its law.
   Descent.v; the definitions spec_infer and without_replacement are the rules. *)
Theorem spec_infer_is_lossless (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma : nat) (f : seq tree)
    (c o : seq V) : size o = gamma.+1 ->
  spec_infer Mb Ms c gamma f (fun s y => complete Mb gamma c (fun o' => (o' == o)%:R) (rcons s y)) = joint Mb c o.
Proof. exact: spec_infer_valid. Qed.
Theorem rejection_without_replacement_is_lossless (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma : nat)
    (f : seq tree) (c o : seq V) : size o = gamma.+1 ->
  without_replacement Mb Ms c gamma f (fun s y => complete Mb gamma c (fun o' => (o' == o)%:R) (rcons s y))
  = joint Mb c o.
Proof. exact: without_replacement_valid. Qed.

(* One iteration: of all verifiers with Equation (7) block verification accepts the most tokens in expectation, and is
   one of them; greedy block verification, which needs the modified target, accepts no fewer.  Optimality.v, Optimality.v *)
Theorem block_verification_is_optimal (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma : nat) (c : seq V) :
  (forall K : kernel V R gamma, valid Mb Ms gamma c (run K) ->
     Etau Ms gamma c (run K) <= Etau Ms gamma c (block_verify Mb Ms c)) /\
  (exists2 K : kernel V R gamma, valid Mb Ms gamma c (run K) &
     Etau Ms gamma c (run K) = Etau Ms gamma c (block_verify Mb Ms c)).
Proof. by split=> [K|]; [exact: theorem_2_one | have [K [v e]] := block_kernel Mb Ms gamma c; exists K]. Qed.
(* Nor does it help a rule for one path to read rows off the path, or anything else of both models: if it keeps a prefix
   of its draft, emits one token behind it and has Equation (7), it accepts no more.  Remarks.v:emitting_off_the_path: one
   that emits its whole text can. *)
Theorem rows_off_the_path_gain_nothing (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma : nat) (c : seq V)
    (W : (seq V -> V -> R) -> (seq V -> V -> R) -> verifier V R) :
  (forall X, size X = gamma -> program X (W Mb Ms c X)) -> valid Mb Ms gamma c (W Mb Ms c) ->
  Etau Ms gamma c (W Mb Ms c) <= Etau Ms gamma c (block_verify Mb Ms c).
Proof. exact: theorem_2_off_path. Qed.
Theorem greedy_accepts_no_fewer (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma : nat) (c : seq V) :
  Etau Ms gamma c (block_verify Mb Ms c) <= Etau Ms gamma c (greedy_verify Mb Ms c).
Proof. exact: theorem_3. Qed.

(* Several iterations: the published Theorem 2, that no valid verifier which sees the rows along its draft decodes more
   tokens than block verification, is true in these cases and in no other.  Counterexample.v, Counterexample.v *)
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
   Rounding.v, TreeRounding.v, ProblemRounding.v *)
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
  <= gamma%:R * eta + gamma.-1%:R * (growth u 2 + row_bound u lambda (growth u 2) + coin_bound u d)
    + (if (1 < gamma)%N then coin_kept u d * (1 + growth u 2) else 0)
    + (if (0 < gamma)%N then growth u 2 + row_bound u lambda 0 else 0) + u + lambda.
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
  computes u o lambda d Fd B s b' t F -> Descent.drawn m t ->
  (forall y, 0 <= b y) -> sumV b = 1 -> (forall y, 0 <= b' y) -> apart b b' <= e ->
  `|F A - recursive_rejection Mb c s b t A| <= tree_cost Mb c u o eta d s b e t + lambda.
Proof.
move=> /andP[u0 u1] /andP[o0 o1] d1 dec Bb A01 h drawn b0 b1 b'0 be.
exact: (tree_rounding u0 u1 o0 o1 d1 dec Bb A01 h drawn b0 b1 b'0 be).
Qed.

(* Multi-round rejection on a draft tree f whose nodes of one text go on together, with replacement or without: at depth i
   at most level i f siblings are looked at.  nu bounds what rows divided by their sum are off, o what
   given ones are.  What all entries of a row are off by one factor counts once a depth: where a sibling is accepted. *)
Theorem multi_round_rejection_in_floating_point (V : vocabulary) (R : realFieldType) (Mb : model V R) (c : seq V)
    (u nu o eta lambda : R) (d : nat) (Fd : R -> R) (B : seq V -> V -> R) (Q : seq V -> seq V -> V -> R)
    (spent : seq V -> pred (seq V)) (step : seq V -> nat -> seq V -> (V -> bool -> R) -> R) (last : seq V -> V -> R)
    (gamma : nat) (f : seq tree) (g : seq V -> R) :
  0 <= u <= 1 -> 0 <= o <= nu -> nu < 1 -> growth u d < 1 -> sum_error u d <= nu ->
  (forall h, 0 <= h <= 1 -> 0 <= Fd h <= 1 /\ `|Fd h - h| <= eta) -> 0 <= lambda ->
  (forall s y, rel o (Mb (c ++ s) y) (B s y)) ->
  (forall s elders x, 0 <= Q s elders x) -> (forall s elders, ~~ spent s elders -> sumV (Q s elders) = 1) ->
  (forall s k, multi_round_computed u o lambda d Fd (Q s) (spent s) k [::] (B s) (step s k)) ->
  (forall s, [/\ sumV (last s) = 1, forall y, 0 <= last s y & total_variation (share_of (B s)) (last s) <= lambda]) ->
  (forall x, 0 <= g x <= 1) ->
  `|descend Q spent step last gamma [::] f (fun s y => complete Mb gamma c g (rcons s y)) - gen Mb gamma.+1 c g|
  <= \sum_(i < gamma) ((level i f)%:R * sibling_off u nu o eta + factor_off nu o + o) + (o + lambda).
Proof. by move=> /andP[u0 u1] /andP[o0 ole] *; apply: (multi_round_rounding (d := d) (Fd := Fd)). Qed.
Theorem traversal_verification_in_floating_point (V : vocabulary) (R : realFieldType) (Mb : model V R) (c : seq V)
    (u nu eta lambda : R) (d : nat) (Fd : R -> R) (B : seq V -> V -> R) (gamma n : nat) (t : drafts V R)
    (F : (seq V -> V -> R) -> R -> R) (g : seq V -> R) (K : R) :
  0 <= u <= 1 -> 0 <= nu < 1 -> growth u d < 1 -> sum_error u d <= nu ->
  (forall h, 0 <= h <= 1 -> 0 <= Fd h <= 1 /\ `|Fd h - h| <= eta) -> 0 <= lambda <= 1 ->
  (forall s y, rel nu (Mb (c ++ s) y) (B s y)) ->
  traverses u nu lambda d Fd B true [::] (B [::]) 1 t F -> Descent.drawn gamma t -> sized n t ->
  (forall o, 0 <= g o <= 1) -> 0 <= K <= 1 ->
  `|F (fun s y => complete Mb gamma c g (rcons s y)) K - gen Mb gamma.+1 c g|
  <= n%:R * branch_off u nu d + n.+1%:R * eta + lambda + nu.
Proof. exact: traversal_rounding. Qed.
(* k-SEQ: what k_seq_computation says of a step are its own operations; k_seq_off, of one depth, is closed.  KSeqRounding.v *)
Theorem k_seq_in_floating_point (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (c : seq V) (u nu eta lambda : R) (d : nat)
    (Fd : R -> R) (B Q : seq V -> V -> R) (step : seq V -> nat -> seq V -> (V -> bool -> R) -> R) (last : seq V -> V -> R)
    gamma f (g : seq V -> R) :
  0 <= u <= 1 -> 0 <= nu < 1 -> beta_off u nu d < 1 ->
  (forall h, 0 <= h <= 1 -> 0 <= Fd h <= 1 /\ `|Fd h - h| <= eta) -> 0 <= lambda ->
  (forall s y, rel nu (Mb (c ++ s) y) (B s y)) -> (forall s y, rel nu (Ms (c ++ s) y) (Q s y)) ->
  (forall s k, k_seq_computation u lambda d Fd k (Mb (c ++ s)) (Ms (c ++ s)) (B s) (Q s) (step s k)) ->
  (forall s, [/\ sumV (last s) = 1, forall y, 0 <= last s y & total_variation (share_of (B s)) (last s) <= lambda]) ->
  (forall o, 0 <= g o <= 1) ->
  `|descend (independent Ms c) (fun _ => pred0) step last gamma [::] f (fun s y => complete Mb gamma c g (rcons s y))
    - gen Mb gamma.+1 c g| <= \sum_(i < gamma) k_seq_off u nu eta d (level i f) + (nu + lambda).
Proof. exact: k_seq_rounding. Qed.
(* Transports of drafts to tokens by a plan that is made by augmentations (plan_after), at most m of them for the siblings
   at one depth: plan_off is what the plan, the law of the drafts and the choice among them cost.  KSeqRounding.v *)
Theorem transport_in_floating_point (V D : vocabulary) (R : realFieldType) (Mb : model V R) (c : seq V) (u nu kappa lambda : R)
    (m : nat -> nat) (e : nat -> R) (B : seq V -> V -> R) (Q : seq V -> seq V -> V -> R) (spent : seq V -> pred (seq V))
    (key : seq V -> D) (L supply : seq V -> nat -> D -> R) (moved a : seq V -> nat -> D -> V -> R)
    (room row : seq V -> nat -> V -> R) (last : seq V -> V -> R) gamma f (g : seq V -> R) :
  0 <= u <= 1 -> 0 <= nu < 1 -> (forall i, 0 <= e i < 1) -> 0 <= kappa -> 0 <= lambda ->
  (forall s y, rel nu (Mb (c ++ s) y) (B s y)) ->
  (forall s elders x, 0 <= Q s elders x) -> (forall s elders, ~~ spent s elders -> sumV (Q s elders) = 1) ->
  (forall s k, (0 < k <= level (size s) f)%N ->
    [/\ forall S, rel (e (size s)) (drafted (Q s) (spent s) key k S) (L s k S),
        plan_after u (m (size s)) (L s k) (B s) (moved s k) (supply s k) (room s k)
      & forall S, chosen_by_the_plan kappa (supply s k) (moved s k) (a s k) S]) ->
  (forall s k S y, 0 <= a s k S y) -> (forall s k S, sumV (a s k S) <= 1) ->
  (forall s k, [/\ sumV (row s k) = 1, forall y, 0 <= row s k y & exists r : V -> R, [/\ sumV r = 1, forall y, 0 <= r y,
     forall y, r y * sumV (room s k) = room s k y & total_variation r (row s k) <= lambda]]) ->
  (forall s, [/\ sumV (last s) = 1, forall y, 0 <= last s y & total_variation (share_of (B s)) (last s) <= lambda]) ->
  (forall o, 0 <= g o <= 1) ->
  `|descend Q spent (taking (fun s k xs => a s k (key xs)) row) last gamma [::] f
      (fun s y => complete Mb gamma c g (rcons s y)) - gen Mb gamma.+1 c g|
  <= \sum_(i < gamma) 2%:R * plan_off u nu (e i) kappa (m i) + (nu + lambda).
Proof. exact: transport_plan_rounding. Qed.
(* Global Resolution: any shares of a solver, at most 1 of each drafts, scaled by what the target has over how often they accept
   a token; d operations behind each product of the drafts' law and a share.  Lossless with any such shares, in exact numbers
   (the identity needs no sum, but with a larger one it speaks of no rule).  KSeqRounding.v *)
Theorem global_resolution_is_lossless (V : vocabulary) (R : realFieldType) (Mb : model V R) (c : seq V)
    (Q : seq V -> seq V -> V -> R) (spent : seq V -> pred (seq V)) (share : seq V -> nat -> seq V -> V -> R) (gamma : nat)
    (f : seq tree) (o : seq V) :
  (forall s elders x, 0 <= Q s elders x) -> (forall s elders, ~~ spent s elders -> sumV (Q s elders) = 1) ->
  (forall s k xs y, 0 <= share s k xs y) -> (forall s k xs, sumV (share s k xs) <= 1) -> size o = gamma.+1 ->
  global_resolution Mb c Q spent share gamma f (fun s y => complete Mb gamma c (fun o' => (o' == o)%:R) (rcons s y))
  = joint Mb c o.
Proof. by move=> Q0 Q1 share0 _; apply: (resolution_valid Mb c Q0 Q1 share0). Qed.
Theorem global_resolution_in_floating_point (V D : vocabulary) (R : realFieldType) (Mb : model V R) (c : seq V) (u nu lambda : R)
    (d : nat -> nat) (e kappa : nat -> R) (B : seq V -> V -> R) (Q : seq V -> seq V -> V -> R) (spent : seq V -> pred (seq V))
    (key : seq V -> D) (share a : seq V -> nat -> D -> V -> R) (w row : seq V -> nat -> V -> R) (last : seq V -> V -> R)
    gamma f (g : seq V -> R) :
  0 <= u <= 1 -> 0 <= nu < 1 -> (forall i, 0 <= e i < 1) -> (forall i, accepted_near u (e i) (d i) < 1) ->
  (forall i, 0 <= kappa i) -> 0 <= lambda -> (forall s y, rel nu (Mb (c ++ s) y) (B s y)) ->
  (forall s elders x, 0 <= Q s elders x) -> (forall s elders, ~~ spent s elders -> sumV (Q s elders) = 1) ->
  (forall s k S y, 0 <= share s k S y) -> (forall s k, (0 < k <= level (size s) f)%N ->
    resolution_step u (e (size s)) (kappa (size s)) (d (size s)) (B s) (drafted (Q s) (spent s) key k) (share s k) (a s k) (w s k)) ->
  (forall s k S y, 0 <= a s k S y) -> (forall s k S, sumV (a s k S) <= 1) ->
  (forall s k, [/\ sumV (row s k) = 1, forall y, 0 <= row s k y & exists r : V -> R, [/\ sumV r = 1, forall y, 0 <= r y,
     forall y, r y * sumV (w s k) = w s k y & total_variation r (row s k) <= lambda]]) ->
  (forall s, [/\ sumV (last s) = 1, forall y, 0 <= last s y & total_variation (share_of (B s)) (last s) <= lambda]) ->
  (forall o, 0 <= g o <= 1) ->
  `|descend Q spent (taking (fun s k xs => a s k (key xs)) row) last gamma [::] f
      (fun s y => complete Mb gamma c g (rcons s y)) - gen Mb gamma.+1 c g|
  <= \sum_(i < gamma) 2%:R * (resolution_off u nu (accepted_near u (e i) (d i)) + kappa i) + (nu + lambda).
Proof. exact: resolution_rounding. Qed.
(* Transport scaled by the prefix: at a text of weight P any shares of the drafts that take no more of a token than P times
   the target has; W, what some drafts give in all, is the weight of the child.  ScaledTransport.v:scaled_at is the rule,
   climbs its computation, with plans as above. *)
Theorem scaled_transport_is_lossless (V : vocabulary) (R : realFieldType) (Mb : model V R) (c : seq V)
    (Q : seq V -> seq V -> V -> R) (spent : seq V -> pred (seq V)) (share : seq V -> R -> nat -> seq V -> V -> R)
    (gamma : nat) (f : seq tree) (o : seq V) :
  (forall s elders, ~~ spent s elders -> sumV (Q s elders) = 1) ->
  (forall s P k xs y, 0 <= share s P k xs y) -> (forall s P k xs, sumV (share s P k xs) <= 1) ->
  (forall s P k y, 0 <= P <= 1 -> taken_of Q spent share s P k y <= P * Mb (c ++ s) y) -> size o = gamma.+1 ->
  scaled_transport Mb c Q spent share gamma f (fun s y => complete Mb gamma c (fun o' => (o' == o)%:R) (rcons s y))
  = joint Mb c o.
Proof. by move=> Q1 s0 s1 t; apply: scaled_transport_valid. Qed.
Theorem scaled_transport_in_floating_point (V D : vocabulary) (R : realFieldType) (Mb : model V R) (c : seq V)
    (u nu kappa eta lambda : R) (d : nat) (Fd : R -> R) (m : nat -> nat) (e : nat -> R) (B : seq V -> V -> R)
    (Q : seq V -> seq V -> V -> R) (spent : seq V -> pred (seq V)) (key : seq V -> D) gamma f E (g : seq V -> R) (K : R) :
  0 <= u <= 1 -> 0 <= nu -> both nu u < 1 -> (forall i, 0 <= e i < 1) -> 0 <= kappa -> 0 <= lambda ->
  (forall h, 0 <= h <= 1 -> 0 <= Fd h <= 1 /\ `|Fd h - h| <= eta) -> (forall s y, rel nu (Mb (c ++ s) y) (B s y)) ->
  (forall s elders x, 0 <= Q s elders x) -> (forall s elders, ~~ spent s elders -> sumV (Q s elders) = 1) ->
  climbs u kappa lambda d Fd m e B Q spent key gamma true [::] f 1 E -> (forall o, 0 <= g o <= 1) -> 0 <= K <= 1 ->
  `|E (fun s y => complete Mb gamma c g (rcons s y)) K - gen Mb gamma.+1 c g|
  <= \sum_(i < gamma) scaled_off u nu kappa eta lambda d m e i + (nu + lambda + eta).
Proof. exact: scaled_transport_rounding. Qed.
(* Greedy multi-path: of K independent paths the best, by any order of the tokens of a text, is verified as a block of the
   law of the choice (chosen_model).  In floating point, k + 1 paths, the rows of that law are computed from running sums and
   products (sums_computed, row_computed), off by row_off at depth i; the rest is block verification's bound on one problem. *)
Theorem greedy_multi_path_is_lossless (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma K : nat) (c : seq V)
    (rank : seq V -> V -> nat) (rank_inj : forall s, injective (rank s)) (o : seq V) :
  (0 < K)%N -> size o = gamma.+1 ->
  paths Ms c gamma K (fun Xs => block_verify Mb (chosen_model Ms c K rank_inj) c (chosen rank gamma [::] Xs)
    (fun kept y => complete Mb gamma c (fun o' => (o' == o)%:R) (rcons kept y))) = joint Mb c o.
Proof. by move=> K0 ho; exact: (@greedy_multi_path_valid V R Ms c gamma K rank rank_inj K0 Mb o ho). Qed.
Theorem greedy_multi_path_in_floating_point (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma k : nat) (c : seq V)
    (rank : seq V -> V -> nat) (rank_inj : forall s, injective (rank s)) (u o rho eta lambda : R) (d : nat) (F : R -> R)
    (B given S : seq V -> V -> R) (mass back : seq V -> R) (z lo hi : seq V -> V -> R)
    (P H : seq V -> R) (w drawn U : seq V -> V -> R) (kap alpha beta : seq V -> R)
    (law := chosen_model Ms c k.+1 rank_inj) :
  0 <= u <= 1 -> 0 <= o -> o <= rho -> rho < 1 -> (forall h, 0 <= h <= 1 -> 0 <= F h <= 1 /\ `|F h - h| <= eta) ->
  (forall x y, rel o (Mb (c ++ x) y) (B x y)) -> (forall x y, rel o (Ms (c ++ x) y) (given x y)) ->
  sums_computed rank u d given mass back z lo hi ->
  (forall i, (i < gamma)%N -> spread_off u (sums_off u o d i.+1) k < 1 /\ row_off k u o d i <= rho) ->
  (forall x, if (size x < gamma)%N && (joint Ms c x != 0) then row_computed k u given mass back lo hi S x
     else S x = law (c ++ x)) ->
  survivals_given u B S P -> (forall x, weights_given u B S P w x) -> (forall x, coin_computed u d P w H x) ->
  (forall x y, 0 <= drawn x y) -> (forall x, sumV (drawn x) = 1) ->
  (forall x, exists r : V -> R, [/\ sumV r = 1, forall y, 0 <= r y, total_variation r (drawn x) <= lambda &
     if final gamma pred0 x then forall y, r y * sumV (B x) = B x y else forall y, r y * sumV (w x) = w x y]) ->
  (forall x, 0 <= kap x) ->
  (forall x y, next_error u rho (kap x) (Mb (c ++ x)) (law (c ++ x)) (p_of Mb law c x) y <= kap (rcons x y)) ->
  (forall x, coin_cost Mb law gamma c pred0 u rho eta d kap x <= alpha x) ->
  (forall x, row_cost Mb law gamma c pred0 u rho kap x <= beta x) -> (forall x y, 0 <= U x y <= 1) ->
  `|paths Ms c gamma k.+1 (fun Xs => sub_verify (coin_taken gamma pred0 F P H) drawn (chosen rank gamma [::] Xs) U)
    - paths Ms c gamma k.+1 (fun Xs => block_verify Mb law c (chosen rank gamma [::] Xs) U)|
  <= below law c pred0 alpha gamma [::] + (beta [::] + below law c pred0 beta gamma [::]) + lambda.
Proof. exact: greedy_multi_path_rounding. Qed.
(* Naive sampling draws every token from the target, whatever the drafts are; chosen tokens (EAGLE-2) are accepted with what is
   left of each; hierarchical decoding is block verification by other formulas.  StepRounding.v, PathRounding.v *)
Theorem naive_sampling_in_floating_point (V : vocabulary) (R : realFieldType) (Mb : model V R) (c : seq V)
    (Q : seq V -> seq V -> V -> R) (spent : seq V -> pred (seq V)) (nu lambda : R) (B looked_up : seq V -> V -> R)
    (gamma : nat) (f : seq tree) (A : seq V -> V -> R) :
  (forall s elders x, 0 <= Q s elders x) -> (forall s elders, ~~ spent s elders -> sumV (Q s elders) = 1) ->
  0 <= nu < 1 -> 0 <= lambda -> (forall s y, rel nu (Mb (c ++ s) y) (B s y)) ->
  (forall s, [/\ sumV (looked_up s) = 1, forall y, 0 <= looked_up s y & total_variation (share_of (B s)) (looked_up s) <= lambda]) ->
  (forall s y, 0 <= A s y <= 1) ->
  `|naive Q spent looked_up gamma f A - naive Q spent (fun s => Mb (c ++ s)) gamma f A| <= gamma.+1%:R * (nu + lambda).
Proof. by move=> Q0 Q1 /andP[nu0 nu1] lambda0 Bb rows A01; apply: (naive_rounding Q0 Q1 nu0 nu1 lambda0 Bb rows). Qed.
Theorem chosen_tokens_in_floating_point (V : vocabulary) (R : realFieldType) (Mb : model V R) (c : seq V)
    (u nu eta lambda : R) (d : nat) (Fd : R -> R) (B : seq V -> V -> R) (chosen : seq V -> seq V -> V)
    (spent : seq V -> pred (seq V)) (step : seq V -> nat -> seq V -> (V -> bool -> R) -> R) (last : seq V -> V -> R)
    (gamma : nat) (f : seq tree) (g : seq V -> R) :
  0 <= u <= 1 -> 0 <= nu < 1 -> growth u d < 1 -> sum_error u d <= nu ->
  (forall h, 0 <= h <= 1 -> 0 <= Fd h <= 1 /\ `|Fd h - h| <= eta) -> (forall s y, rel nu (Mb (c ++ s) y) (B s y)) ->
  (forall s k, chosen_computed u lambda d Fd (chosen s) (spent s) k [::] (B s) (step s k)) ->
  (forall s, [/\ sumV (last s) = 1, forall y, 0 <= last s y & total_variation (share_of (B s)) (last s) <= lambda]) ->
  (forall o, 0 <= g o <= 1) ->
  `|descend (fun s => one_hot R (chosen s)) spent step last gamma [::] f (fun s y => complete Mb gamma c g (rcons s y))
    - gen Mb gamma.+1 c g|
  <= \sum_(i < gamma) ((level i f)%:R * sibling_off u nu nu eta + factor_off nu nu + nu) + (nu + lambda).
Proof.
move=> /andP[u0 u1] /andP[nu0 nu1] d1 dnu dec Bb steps lasts g01.
exact: (chosen_rounding u0 u1 nu0 nu1 d1 dnu dec Bb steps lasts).
Qed.
Theorem hierarchical_decoding_in_floating_point (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma : nat)
    (c : seq V) (u o eta lambda : R) (d : nat) (F : R -> R) (B S : seq V -> V -> R) (J L P H : seq V -> R)
    (w v drawn U : seq V -> V -> R) :
  0 <= u <= 1 -> 0 <= o < 1 -> (forall h, 0 <= h <= 1 -> 0 <= F h <= 1 /\ `|F h - h| <= eta) ->
  (forall x y, rel o (Mb (c ++ x) y) (B x y)) -> (forall x y, rel o (Ms (c ++ x) y) (S x y)) ->
  ratios_computed u B S J L P -> (forall x, both_weights_given u B S P w v x) -> (forall x, capped_quotient u d w v H x) ->
  (forall x y, 0 <= drawn x y) -> (forall x, sumV (drawn x) = 1) ->
  (forall x, exists r : V -> R, [/\ sumV r = 1, forall y, 0 <= r y, total_variation r (drawn x) <= lambda &
     if final gamma pred0 x then forall y, r y * sumV (B x) = B x y else forall y, r y * sumV (w x) = w x y]) ->
  (forall i, (i <= gamma)%N -> ratio_off u o i < 1) -> (forall x y, 0 <= U x y <= 1) ->
  `|draft Ms c pred0 gamma [::] (fun X => sub_verify (path_taken gamma F P H) drawn X U)
    - draft Ms c pred0 gamma [::] (fun X => block_verify Mb Ms c X U)|
  <= \sum_(i < gamma) path_coins gamma u o eta d i.+1 + \sum_(i < gamma.+1) path_rows gamma u o i + lambda.
Proof.
move=> /andP[u0 u1] /andP[o0 o1] dec Bb Ss Jc wc Hc dr0 dr1 near r1 U01.
exact: (hierarchical_rounding u0 u1 o0 o1 dec Bb Ss Jc wc Hc dr0 dr1 near r1 U01).
Qed.
(* Tree Monte Carlo keeps the weights of all outputs of a block: exact, its law is block verification's.  Computed, the weights L
   are scaled by T whenever a token is drafted (scales_given, weights_computed); one of them or the whole block is drawn, within
   kappa as a sum of absolute differences.  MonteCarloRounding.v *)
Theorem tree_monte_carlo_in_floating_point (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma : nat) (c : seq V)
    (u o lambda kappa : R) (d : nat) (B S : seq V -> V -> R) (P whole : seq V -> R) (w v T last : seq V -> V -> R)
    (L drawn : seq V -> nat -> V -> R) (U : seq V -> V -> R) :
  0 <= u <= 1 -> 0 <= o < 1 -> growth u d < 1 ->
  (forall x y, rel o (Mb (c ++ x) y) (B x y)) -> (forall x y, rel o (Ms (c ++ x) y) (S x y)) ->
  survivals_given u B S P -> (forall x, both_weights_given u B S P w v x) -> (forall x, scales_given u d S v T x) ->
  MonteCarloRounding.weights_computed u w T L -> (forall x y, 0 <= last x y) -> (forall x, sumV (last x) = 1) ->
  (forall x, exists r : V -> R, [/\ sumV r = 1, forall y, 0 <= r y, forall y, r y * sumV (B x) = B x y & total_variation r (last x) <= lambda]) ->
  (forall x, exists (r : nat -> V -> R) (k : R),
     [/\ booked (size x) r + k = 1, (forall i y, 0 <= r i y) /\ 0 <= k,
         forall i y, (i < size x)%N -> r i y * (booked (size x) (L x) + P x) = L x i y,
         k * (booked (size x) (L x) + P x) = P x &
         booked (size x) (fun i y => `|drawn x i y - r i y|) + `|whole x - k| <= kappa]) ->
  (forall x y, 0 <= U x y <= 1) ->
  `|gen Ms gamma c (fun X => monte_carlo_drawn whole last drawn X U) - gen Ms gamma c (fun X => block_verify Mb Ms c X U)|
  <= MonteCarloRounding.weights_off u o d gamma + survival_off u o gamma + kappa + o + lambda.
Proof.
move=> /andP[u0 u1] /andP[o0 o1] d1 Bb Ss Pc wc Tc Lc l0 l1 ln dn U01.
exact: (tree_monte_carlo_rounding gamma u0 u1 o0 o1 d1 Bb Ss Pc wc Tc Lc l0 l1 ln dn U01).
Qed.
(* Block verification as a stream: at each step what follows replaces the outcome so far, or does not (step_computed); the last
   token is one of what may replace it.  a: what the outcome is worth that the stream begins with.  MonteCarloRounding.v *)
Theorem block_stream_in_floating_point (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma : nat) (c : seq V)
    (u o kappa : R) (d : nat) (B S : seq V -> V -> R) (P stays : seq V -> R) (w drawn A : seq V -> V -> R) (a : R) :
  0 <= u < 1 -> 0 <= o < 1 -> 0 <= kappa ->
  (forall x y, rel o (Mb (c ++ x) y) (B x y)) -> (forall x y, rel o (Ms (c ++ x) y) (S x y)) ->
  survivals_given u B S P -> (forall x, MonteCarloRounding.weights_here gamma u B S P w x) -> (forall x, step_computed u kappa d P stays w drawn x) ->
  (forall x y, 0 <= drawn x y) -> (forall x, 0 <= stays x) -> (forall x, sumV (drawn x) + stays x = 1) ->
  (forall x y, 0 <= A x y <= 1) -> 0 <= a <= 1 ->
  `|gen Ms gamma c (stream_computed stays drawn A [::] a) - gen Ms gamma c (fun X => block_verify Mb Ms c X A)|
  <= \sum_(i < gamma.+1) (stream_cost u o d (survival_off u o i) + kappa).
Proof.
move=> /andP[u0 u1] /andP[o0 o1] k0 Bb Ss Pc wc Sc d0 s0 d1 A01 a01.
exact: (stream_rounding u0 u1 o0 o1 k0 Bb Ss Pc wc Sc d0 s0 d1 A01 a01).
Qed.
(* List matching on every tree, the target's pick drawn from its law given the drafts' (matched_row).  That law is a race of
   memoryless clocks, whose rates are products and differences of the rows (ListMatchingTree.v:joint_race); it is a law, the
   drafts' part of it is that of independent draws, and the target's is its row (ListMatchingTree.v:matched_ge0, matched_drafts,
   matched_target).  That the integral over exponential noise gives this race is not formalised. *)
Theorem list_matching_is_lossless (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (c : seq V) (gamma : nat)
    (f : seq tree) (o : seq V) : size o = gamma.+1 ->
  descend (independent Ms c) (fun _ => pred0)
    (fun s k xs h => draw (if k == 0%N then Mb (c ++ s) else matched_row (Mb (c ++ s)) (Ms (c ++ s)) k xs)
      (fun y => h y (y \in xs)))
    (fun s => Mb (c ++ s)) gamma [::] f (fun s y => complete Mb gamma c (fun o' => (o' == o)%:R) (rcons s y)) = joint Mb c o.
Proof. exact: list_matching_valid. Qed.
(* List matching by shared noise: the law of the target's pick, given the drafts', is a sum of products of positive numbers
   (race), each off by e at most for a target's row whose p / q are exactly those computed; match_computed is one step.
   ListMatchingRounding.v: in exact numbers the drafts' law is that of independent draws, and the target's is its row. *)
Theorem list_matching_in_floating_point (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (c : seq V) (u o e a lambda : R)
    (most : nat) (delta : nat -> R) (B G : seq V -> V -> R) (row : seq V -> nat -> seq V -> V -> R) (last : seq V -> V -> R)
    gamma f (g : seq V -> R) :
  0 <= u < 1 -> 0 <= o -> o < 1 -> 0 <= e -> e <= a -> 0 <= lambda -> both o u < 1 -> both o u / (1 - both o u) <= a ->
  (forall i, 0 <= delta i) ->
  (forall i k, (0 < k <= level i f)%N -> list_off u o e a lambda most k <= delta i /\
     forall j, (j <= k)%N -> both (after_rates u a k) (growth u j) < 1) ->
  (forall s y, rel o (Mb (c ++ s) y) (B s y)) -> (forall s y, rel o (Ms (c ++ s) y) (G s y)) ->
  (forall s k, (0 < k <= level (size s) f)%N -> match_computed u e lambda most k (B s) (G s) (row s k)) ->
  (forall s k xs, sumV (row s k xs) = 1 /\ forall y, 0 <= row s k xs y) ->
  (forall s, sumV (last s) = 1 /\ total_variation (Mb (c ++ s)) (last s) <= o + lambda) ->
  (forall t, 0 <= g t <= 1) ->
  `|descend (independent Ms c) (fun _ => pred0) (fun s k xs h => draw (row s k xs) (fun y => h y (y \in xs))) last gamma [::] f
      (fun s y => complete Mb gamma c g (rcons s y)) - gen Mb gamma.+1 c g|
  <= \sum_(i < gamma) delta i + (o + lambda).
Proof. exact: list_matching_rounding. Qed.

(* Gradual underflow: an operation is off by u of its result and by h beside it.  fl is any such rounding; every operation is
   one of fl, the weights are added up in any order.  The rows B and S that the verifier is given are off by ob and os in all
   (the sum of |B - M_b|), where M_s is the law that the drafts are really drawn from: zeros of a softmax that underflowed, and
   tokens that a look-up in a running sum never draws, are inside.  A quotient by an S of at most tau may be anything in [0, 1]
   (free), as one that overflows or divides by 0.  NaN, and rows with a negative entry, are outside.  AbsoluteRounding.v *)
Theorem block_verification_with_gradual_underflow (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma : nat)
    (c : seq V) (ends : pred (seq V)) (u h ob os tau eta lambda : R) (fl F : R -> R) (B S free drawn : seq V -> V -> R)
    (order : adding V) (U : seq V -> V -> R) (w := weight_fl fl B S free tau) (d := additions_deep order) :
  0 <= u <= 1 -> 0 <= h -> 0 <= tau -> (forall z, `|fl z - z| <= u * `|z| + h) -> (forall z, 0 <= z -> 0 <= fl z) ->
  (forall z, 0 <= z <= 1 -> 0 <= F z <= 1 /\ `|F z - z| <= eta) ->
  (forall x y, 0 <= B x y) -> (forall x y, 0 <= S x y) -> (forall x y, 0 <= free x y <= 1) ->
  (forall x, sumV (fun y => `|B x y - Mb (c ++ x) y|) <= ob) -> (forall x, sumV (fun y => `|S x y - Ms (c ++ x) y|) <= os) ->
  adds_all order -> (forall x y, 0 <= drawn x y) -> (forall x, sumV (drawn x) = 1) ->
  (forall x, exists r : V -> R, [/\ sumV r = 1, forall y, 0 <= r y, total_variation r (drawn x) <= lambda &
     if final gamma ends x then forall y, r y * sumV (B x) = B x y else forall y, r y * sumV (w x) = w x y]) ->
  (forall x y, 0 <= U x y <= 1) ->
  `|draft Ms c ends gamma [::] (fun X => sub_verify (coin_absolutely gamma ends F (survival_fl fl B S free tau)
        (coin_fl fl B S free tau order)) drawn X U)
    - draft Ms c ends gamma [::] (fun X => block_verify Mb Ms c X U)|
  <= \sum_(i < gamma) (coin_rate u (growth u d) * (i.+1%:R * next_off V u h ob os tau)
        + (coin_base V u h ob os (growth u d) (additions_off u h order) + eta))
    + \sum_(i < gamma.+1) (i%:R * next_off V u h ob os tau + last_off V u h ob os) + lambda.
Proof.
move=> /andP[u0 u1] h0 t0 near fl0 dec B0 S0 f01 Bb Ss all d0 d1 dn U01.
exact: (block_fl_rounding u0 u1 h0 t0 near fl0 dec B0 S0 f01 Bb Ss all d0 d1 dn U01).
Qed.
Theorem token_verification_with_gradual_underflow (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma : nat)
    (c : seq V) (u h ob os tau eta lambda : R) (fl F : R -> R) (B S free drawn A : seq V -> V -> R)
    (w := token_weight_fl fl B S) :
  0 <= u <= 1 -> 0 <= h -> 0 <= tau -> (forall z, `|fl z - z| <= u * `|z| + h) -> (forall z, 0 <= z -> 0 <= fl z) ->
  (forall z, 0 <= z <= 1 -> 0 <= F z <= 1 /\ `|F z - z| <= eta) ->
  (forall x y, 0 <= B x y) -> (forall x y, 0 <= S x y) -> (forall x y, 0 <= free x y <= 1) ->
  (forall x, sumV (fun y => `|B x y - Mb (c ++ x) y|) <= ob) -> (forall x, sumV (fun y => `|S x y - Ms (c ++ x) y|) <= os) ->
  (forall x y, 0 <= drawn x y) -> (forall x, sumV (drawn x) = 1) ->
  (forall x, exists r : V -> R, [/\ sumV r = 1, forall y, 0 <= r y, total_variation r (drawn x) <= lambda &
     if size x == gamma then forall y, r y * sumV (B x) = B x y else forall y, r y * sumV (w x) = w x y]) ->
  (forall x y, 0 <= A x y <= 1) ->
  `|gen Ms gamma c (token_computed F (token_coin_fl fl B S free tau) drawn A [::])
    - gen Ms gamma c (fun X => token_verify Mb Ms c X A)|
  <= gamma%:R * token_step_off V u h ob os tau eta + ob + lambda.
Proof.
move=> /andP[u0 u1] h0 t0 near fl0 dec B0 S0 f01 Bb Ss d0 d1 dn A01.
exact: (token_fl_rounding u0 u1 h0 t0 near fl0 dec B0 S0 f01 Bb Ss d0 d1 dn A01).
Qed.
(* The same in binary16, bfloat16, binary32 and binary64, over the reals of Coq's library: rounded f is Flocq's rounding to
   nearest, ties to even, with gradual underflow (BinaryFormats.v:ieee_operations: what IEEE's operations give as long as they do
   not overflow; quotient_no_overflow: quotients of entries do not, above tau).  B, S, drafts and draws as above; if B and S are
   numbers of the format, so is all that is computed (computed_in_format).  u is 2^-11, 2^-8, 2^-24, 2^-53; h half of the smallest
   positive number, 2^-150 for binary32; tau the smallest normal number. *)
Theorem block_verification_in_binary_arithmetic (f : format) (V : vocabulary) (Mb Ms : model V R_realFieldType) (gamma : nat)
    (c : seq V) (ends : pred (seq V)) (ob os eta lambda : R_realFieldType) (F : R_realFieldType -> R_realFieldType)
    (B S free drawn : seq V -> V -> R_realFieldType) (order : adding V) (U : seq V -> V -> R_realFieldType)
    (fl : R_realFieldType -> R_realFieldType := rounded f) (u : R_realFieldType := half_ulp f)
    (h : R_realFieldType := half_smallest f) (tau : R_realFieldType := smallest_normal f)
    (w := weight_fl fl B S free tau) (d := additions_deep order) :
  (forall z, 0 <= z <= 1 -> 0 <= F z <= 1 /\ `|F z - z| <= eta) ->
  (forall x y, 0 <= B x y) -> (forall x y, 0 <= S x y) -> (forall x y, 0 <= free x y <= 1) ->
  (forall x, sumV (fun y => `|B x y - Mb (c ++ x) y|) <= ob) -> (forall x, sumV (fun y => `|S x y - Ms (c ++ x) y|) <= os) ->
  adds_all order -> (forall x y, 0 <= drawn x y) -> (forall x, sumV (drawn x) = 1) ->
  (forall x, exists r : V -> R_realFieldType, [/\ sumV r = 1, forall y, 0 <= r y, total_variation r (drawn x) <= lambda &
     if final gamma ends x then forall y, r y * sumV (B x) = B x y else forall y, r y * sumV (w x) = w x y]) ->
  (forall x y, 0 <= U x y <= 1) ->
  `|draft Ms c ends gamma [::] (fun X => sub_verify (coin_absolutely gamma ends F (survival_fl fl B S free tau)
        (coin_fl fl B S free tau order)) drawn X U)
    - draft Ms c ends gamma [::] (fun X => block_verify Mb Ms c X U)|
  <= \sum_(i < gamma) (coin_rate u (growth u d) * (i.+1%:R * next_off V u h ob os tau)
        + (coin_base V u h ob os (growth u d) (additions_off u h order) + eta))
    + \sum_(i < gamma.+1) (i%:R * next_off V u h ob os tau + last_off V u h ob os) + lambda.
Proof. by move=> dec B0 S0 f01 Bb Ss all d0 d1 dn U01; apply: (block_in_format dec B0 S0 f01 Bb Ss all d0 d1 dn U01). Qed.
Theorem token_verification_in_binary_arithmetic (f : format) (V : vocabulary) (Mb Ms : model V R_realFieldType) (gamma : nat)
    (c : seq V) (ob os eta lambda : R_realFieldType) (F : R_realFieldType -> R_realFieldType)
    (B S free drawn A : seq V -> V -> R_realFieldType)
    (fl : R_realFieldType -> R_realFieldType := rounded f) (u : R_realFieldType := half_ulp f)
    (h : R_realFieldType := half_smallest f) (tau : R_realFieldType := smallest_normal f) (w := token_weight_fl fl B S) :
  (forall z, 0 <= z <= 1 -> 0 <= F z <= 1 /\ `|F z - z| <= eta) ->
  (forall x y, 0 <= B x y) -> (forall x y, 0 <= S x y) -> (forall x y, 0 <= free x y <= 1) ->
  (forall x, sumV (fun y => `|B x y - Mb (c ++ x) y|) <= ob) -> (forall x, sumV (fun y => `|S x y - Ms (c ++ x) y|) <= os) ->
  (forall x y, 0 <= drawn x y) -> (forall x, sumV (drawn x) = 1) ->
  (forall x, exists r : V -> R_realFieldType, [/\ sumV r = 1, forall y, 0 <= r y, total_variation r (drawn x) <= lambda &
     if size x == gamma then forall y, r y * sumV (B x) = B x y else forall y, r y * sumV (w x) = w x y]) ->
  (forall x y, 0 <= A x y <= 1) ->
  `|gen Ms gamma c (token_computed F (token_coin_fl fl B S free tau) drawn A [::])
    - gen Ms gamma c (fun X => token_verify Mb Ms c X A)|
  <= gamma%:R * token_step_off V u h ob os tau eta + ob + lambda.
Proof. by move=> dec B0 S0 f01 Bb Ss d0 d1 dn A01; apply: (token_in_format dec B0 S0 f01 Bb Ss d0 d1 dn A01). Qed.
