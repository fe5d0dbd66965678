(* The law of the target's pick as races over positive numbers; one step of list matching in floating point, and trees. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Models Algorithms Verifier Block SubBlocks Precision Rounding BlockRounding ProblemRounding SeveralDrafts TreeRounding SiblingRounding Descent DescentRounding MultiPathRounding ListMatching ListMatchingRounding.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section Races.
Variables (V : vocabulary) (R : realFieldType) (p q : V -> R) (m : nat) (z : nat -> R) (r : V -> nat).
Hypotheses (p0 : forall v, 0 <= p v) (q0 : forall v, 0 <= q v) (m0 : (0 < m)%N).
Hypothesis breaks : forall v, q v != 0 -> (r v < m)%N /\ q v * z (r v) = p v.
Hypothesis ordered : forall j, (j.+1 < m)%N -> z j <= z j.+1.
Hypothesis first : 0 < slope q r 0.
Implicit Types (x y : V) (xs : seq V) (A t : R) (ds : seq R) (phi psi : R -> R).
Notation pick := (pick p q m z r).
Notation pick_first := (pick_first p q m z r).
Notation picks := (picks p q m z r).
Notation picks_first := (picks_first p q m z r).
Notation inn := (inn q r).
Notation rate := (rate p q z r).
Definition clocks_of j : seq R := if (j.+1 < m)%N then [:: clock q z r j] else [::].
Definition piece_of x j : piece R := (q x / slope q r j, rate j, clocks_of j).
Definition span x : seq (piece R) := [seq piece_of x j | j <- iota 0 m & inn x j].
Definition span_first y x : seq (piece R) :=
  if x == y then (if q x != 0 then [:: (1, rate (r x), [::])] else [::])
  else [seq piece_of x j | j <- iota 0 m & inn x j && ~~ inn y j].
Fixpoint spans_first y xs : seq (seq (seq (piece R))) :=
  if xs is x :: xs' then (span_first y x :: map span xs') :: [seq span x :: S | S <- spans_first y xs'] else [::].
Lemma sum_pieces (P : pred nat) x (F : piece R -> R) :
  \sum_(w <- [seq piece_of x j | j <- iota 0 m & P j]) F w = \sum_(j < m) (P j)%:R * F (piece_of x j).
Proof.
rewrite big_map big_filter; have -> : iota 0 m = index_iota 0 m by rewrite /index_iota subn0.
rewrite big_mkord big_mkcond /=; apply: eq_bigr => j _; case: (P j); rewrite ?mul1r ?mul0r //.
Qed.
Lemma picksB xs phi psi : picks xs (fun t => phi t - psi t) = picks xs phi - picks xs psi.
Proof.
have eq := picks_eq q0 breaks ordered first.
rewrite -[RHS]/(picks xs phi + - picks xs psi) -mulN1r -(picksZ q0 breaks ordered first) -(picksD q0 breaks ordered first); apply: eq => t _; ring.
Qed.
Lemma pick_firstB y x phi psi : pick_first y x (fun t => phi t - psi t) = pick_first y x phi - pick_first y x psi.
Proof.
rewrite /ListMatching.pick_first opprD addrACA -mulrBr -mulrBr; congr (_ + _).
by rewrite -sumrB; apply: eq_bigr => j _; rewrite -mulrBr /jump; congr (_ * _); case: ifP => _; ring.
Qed.
Lemma pickB x phi psi : pick x (fun t => phi t - psi t) = pick x phi - pick x psi.
Proof. by rewrite /ListMatching.pick -sumrB; apply: eq_bigr => j _; rewrite -mulrBr /jump; congr (_ * _); case: ifP => _; ring. Qed.
Lemma pick_first_eq y x phi psi : (forall t, 0 <= t -> phi t = psi t) -> pick_first y x phi = pick_first y x psi.
Proof.
move=> e; have r0 j := rate_ge0 q0 breaks ordered first (j := j); rewrite /ListMatching.pick_first; congr (_ + _).
  have [_|qn] := eqVneq (q x) 0; first by rewrite !mul0r.
  by rewrite e // r0 //; have [] := breaks qn.
apply: eq_bigr => j _; congr (_ * _); rewrite /jump e ?r0 //.
by case: ifP => // lt; rewrite e // addr_ge0 ?r0 //; exact: (clock_ge0 q0 ordered first lt).
Qed.
Lemma picks_first_eq y xs phi psi : (forall t, 0 <= t -> phi t = psi t) -> picks_first y xs phi = picks_first y xs psi.
Proof.
have eq := picks_eq q0 breaks ordered first; have eq1 := pick_eq q0 breaks ordered first.
elim: xs phi psi => [|x xs IH] phi psi e //=; congr (_ + _).
  by apply: pick_first_eq => t t0; apply: eq => t' t'0; apply: e; apply: addr_ge0.
by apply: eq1 => t t0; apply: IH => t' t'0; apply: e; apply: addr_ge0.
Qed.
Lemma picks_firstB y xs phi psi : picks_first y xs (fun t => phi t - psi t) = picks_first y xs phi - picks_first y xs psi.
Proof.
have eq1 := pick_eq q0 breaks ordered first.
elim: xs phi psi => [|x xs IH] phi psi /=; first by rewrite subr0.
rewrite opprD addrACA -pick_firstB -pickB; congr (_ + _).
  by apply: pick_first_eq => t _; exact: (picksB xs (fun t' => phi (t + t')) (fun t' => psi (t + t'))).
by apply: eq1 => t _; exact: (IH (fun t' => phi (t + t')) (fun t' => psi (t + t'))).
Qed.
Lemma jump_alt (E : (R -> R) -> R) A ds j : (forall phi psi, (forall t, 0 <= t -> phi t = psi t) -> E phi = E psi) ->
  (forall phi psi, E (fun t => phi t - psi t) = E phi - E psi) ->
  jump p q m z r (fun t => E (fun t' => alt ds (A + (t + t')))) j = E (fun t' => alt (clocks_of j ++ ds) (A + rate j + t')).
Proof.
move=> Eeq EB; rewrite /jump /clocks_of; case: ifP => _ /=.
  by rewrite EB; congr (_ - _); apply: Eeq => t' _; congr (alt ds _); ring.
by rewrite subr0; apply: Eeq => t' _; rewrite addrA.
Qed.
Lemma picks_race xs A ds : picks xs (fun t => alt ds (A + t)) = race (map span xs) A ds.
Proof.
have eq := picks_eq q0 breaks ordered first.
elim: xs A ds => [|x xs IH] A ds /=; first by rewrite addr0.
rewrite sum_pieces; apply: eq_bigr => j _.
by rewrite (jump_alt A ds j (eq xs) (picksB xs)) IH -[LHS]mulrA.
Qed.
Theorem picks_first_race y xs A ds : picks_first y xs (fun t => alt ds (A + t)) = \sum_(S <- spans_first y xs) race S A ds.
Proof.
have eq := picks_eq q0 breaks ordered first.
elim: xs A ds => [|x xs IH] A ds /=; first by rewrite big_nil.
rewrite big_cons; congr (_ + _).
  rewrite /ListMatching.pick_first /span_first /=; have [->|ne] := eqVneq x y; last first.
    rewrite mul0r add0r sum_pieces; apply: eq_bigr => j _.
    by rewrite (jump_alt A ds j (eq xs) (picksB xs)) picks_race -[LHS]mulrA.
  rewrite [X in _ + X]big1 => [|j _]; last by rewrite andbN !mul0r.
  rewrite addr0 mul1r; have [e|qn] := eqVneq (q y) 0; first by rewrite mul0r big_nil.
  rewrite big_seq1 !mul1r /= -picks_race; apply: eq => t _; congr (alt ds _); ring.
rewrite big_map /= (eq_bigr (fun S => \sum_(j < m) (inn x j)%:R * (q x / slope q r j * race S (A + rate j) (clocks_of j ++ ds)))) => [|S _]; last exact: sum_pieces.
rewrite exchange_big /=; apply: eq_bigr => j _.
rewrite (jump_alt A ds j (@picks_first_eq y xs) (picks_firstB y xs)) IH mulr_sumr; apply: eq_bigr => S _.
by rewrite -[LHS]mulrA.
Qed.
Lemma joint_race K y xs : joint_law p q m z r K xs y = p y * \sum_(S <- spans_first y xs) race S (K%:R * sumV p) [::].
Proof. by rewrite /joint_law -picks_first_race. Qed.
End Races.
