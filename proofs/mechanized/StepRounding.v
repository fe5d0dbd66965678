From mathcomp Require Import all_ssreflect ssralg ssrnum zify.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Algorithms Block Descent Precision Rounding ProblemRounding TreeRounding DescentRounding.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

(* Rules that go down a draft tree token by token, in floating point, against the same rules in exact numbers: lossless or
   not, what each step is off adds up, and no more.  Naive sampling and chosen tokens, which are lossless; and lossy rules:
   verification of another row, by a larger coin, by a judge, by thresholds, with a solver's shares as they are.  What is
   assumed is the standard model of Rounding.v. *)

Section Near.
Variables (V : vocabulary) (R : realFieldType).
Implicit Types (s xs : seq V) (f : seq tree) (A : seq V -> V -> R) (g : seq V -> V -> bool -> R).
Variables (Q : seq V -> seq V -> V -> R) (spent : seq V -> pred (seq V)).
Variables (step step' : seq V -> nat -> seq V -> (V -> bool -> R) -> R) (last last' : seq V -> V -> R).
Variables (top : seq tree) (delta : nat -> R) (o lambda : R).
(* A step over the drawing of its k siblings. *)
Definition over_drafts (step : seq V -> nat -> seq V -> (V -> bool -> R) -> R) s k g : R :=
  siblings (Q s) (spent s) k [::] (fun xs => step s k xs (g xs)).
Definition within_one g : Prop := forall xs y a, 0 <= g xs y a <= 1.
Hypotheses (delta0 : forall i, 0 <= delta i) (o0 : 0 <= o).
Hypotheses (exact : forall s k, expects (over_drafts step s k)) (computed : forall s k, expects (over_drafts step' s k)).
Definition step_near (delta : nat -> R) : Prop := forall s k g, (0 < k <= level (size s) top)%N -> within_one g ->
  `|over_drafts step' s k g - over_drafts step s k g|
  <= delta (size s) + lambda * over_drafts step' s k (fun _ _ accepted => (~~ accepted)%:R).
Hypothesis near : step_near delta.
Hypotheses (last0 : forall s y, 0 <= last s y) (last1 : forall s, sumV (last s) = 1).
Hypothesis lasts : forall s, sumV (last' s) = 1 /\ total_variation (last s) (last' s) <= o + lambda.

Lemma expects_range E g : expects E -> within_one g -> 0 <= E g <= 1.
Proof.
move=> [mono _ scale one] g01; apply/andP; split.
  have -> : 0 = E (fun _ _ _ => 0 * 1) by rewrite scale mul0r.
  by apply: mono => xs y a; rewrite mul0r; have /andP[] := g01 xs y a.
by rewrite -one; apply: mono => xs y a; have /andP[] := g01 xs y a.
Qed.
Lemma descend_range n s f A : (forall s y, 0 <= A s y <= 1) -> 0 <= descend Q spent step last n s f A <= 1.
Proof.
move=> A01; have leaf z : 0 <= draw (last z) (A z) <= 1 by apply: draw_range.
elim: n s f => [|n IH] s f; first exact: leaf.
case: f => [|t f]; first exact: leaf.
rewrite descendS; apply: (expects_range (exact s (size f).+1) (g := fun xs y accepted =>
  if accepted then descend Q spent step last n (rcons s y) (go_on (t :: f) xs y) A else A s y)) => xs y [] //.
Qed.
Theorem descents_near n s f A : (forall s y, 0 <= A s y <= 1) -> (forall j, (level j f <= level (size s + j) top)%N) ->
  `|descend Q spent step' last' n s f A - descend Q spent step last n s f A|
  <= \sum_(i < n) delta (size s + i)%N + (o + lambda).
Proof.
move=> A01; have s0 (m k : nat) : 0 <= \sum_(i < m) delta (k + i)%N by apply: sumr_ge0.
have leaf z : `|draw (last' z) (A z) - draw (last z) (A z)| <= o + lambda.
  by have [l1 ll] := lasts z; apply: le_trans (tv_bounds (last1 z) l1 (A01 z)) ll.
elim: n s f => [|n IH] s f ok; first by rewrite /= big_ord0 add0r.
case: f ok => [|t f] ok; first by rewrite /=; apply: le_trans (leaf s) _; rewrite ler_addr s0.
rewrite big_ord_recl addn0 (eq_bigr (fun i : 'I_n => delta ((size s).+1 + i)%N)) => [|i _]; last by rewrite addSnnS.
set rest := \sum_(i < n) _; pose C := rest + (o + lambda); rewrite !descendS.
pose D' xs y (accepted : bool) := if accepted then descend Q spent step' last' n (rcons s y) (go_on (t :: f) xs y) A else A s y.
pose D xs y (accepted : bool) := if accepted then descend Q spent step last n (rcons s y) (go_on (t :: f) xs y) A else A s y.
set k := (size f).+1; set most := (X in _ <= X); change (`|over_drafts step' s k D' - over_drafts step s k D| <= most).
rewrite /most {most}.
have ex := computed s k; have [mono add scale one] := ex.
pose e a := over_drafts step' s k (fun _ _ accepted => (accepted == a)%:R).
have first : `|over_drafts step' s k D' - over_drafts step' s k D| <= C * e true.
  rewrite /e -scale; apply: expects_off => // xs y [|]; rewrite /D /D' /= ?subrr ?normr0 ?mulr0 // mulr1.
  have ok' j : (level j (go_on (t :: f) xs y) <= level (size (rcons s y) + j) top)%N.
    rewrite size_rcons; apply: leq_trans (level_go_on _ _ _ _) _.
    by apply: leq_trans (ok j.+1) _; rewrite addnS.
  by apply: le_trans (IH _ _ ok') _; rewrite size_rcons.
have eE : over_drafts step' s k (fun _ _ accepted => (~~ accepted)%:R) = e false.
  by apply/eqP; rewrite eq_le !mono // => xs y [].
have whole : e true + e false = 1.
  by rewrite -one /e -add; apply/eqP; rewrite eq_le !mono // => xs y []; rewrite ?addr0 ?add0r.
have e0 : 0 <= e false by have /andP[] // : 0 <= e false <= 1 by apply: expects_range => // xs y []; rewrite /= ?lexx ?ler01.
have okk : (0 < k <= level (size s) top)%N by have := ok 0%N; rewrite addn0.
have D01 : within_one D by move=> xs y [] //=; apply: descend_range.
have second := near okk D01; rewrite eE in second.
have -> : over_drafts step' s k D' - over_drafts step s k D
  = (over_drafts step' s k D' - over_drafts step' s k D) + (over_drafts step' s k D - over_drafts step s k D) by ring.
apply: le_trans (ler_norm_add _ _) _; apply: le_trans (ler_add first second) _.
have -> : delta (size s) + rest + (o + lambda) = C * e true + (delta (size s) + C * e false).
  by rewrite [RHS]addrCA -mulrDr whole mulr1 /C; ring.
rewrite ler_add2l ler_add2l; apply: ler_wpmul2r => //.
by rewrite /C addrA ler_addr addr_ge0 // /rest; apply: sumr_ge0.
Qed.
End Near.

(* Expectations over the token and whether it is accepted, and over the drafts before. *)
Section Chance.
Variables (V : vocabulary) (R : realFieldType).
Implicit Types (T : (V -> bool -> R) -> R) (r : V -> R) (xs : seq V).
Definition chance T : Prop :=
  [/\ forall g g', (forall y a, g y a <= g' y a) -> T g <= T g',
      forall g g', T (fun y a => g y a + g' y a) = T g + T g',
      forall k g, T (fun y a => k * g y a) = k * T g & T (fun _ _ => 1) = 1].
Lemma sure_chance y a : chance (fun g => g y a). Proof. by split=> // *; auto. Qed.
Lemma draw_chance r (b : V -> bool) : (forall y, 0 <= r y) -> sumV r = 1 -> chance (fun g => draw r (fun y => g y (b y))).
Proof.
move=> r0 r1; split=> [g g' le|g g'|k g|]; rewrite /draw.
- by apply: sumV_le => y; apply: ler_wpmul2l.
- by rewrite -sumVD; apply: sumV_eq => y; rewrite mulrDr.
- by rewrite -sumVZ; apply: sumV_eq => y; rewrite mulrCA.
by rewrite -[RHS]r1; apply: sumV_eq => y; rewrite mulr1.
Qed.
Lemma flip_chance h T T' : 0 <= h <= 1 -> chance T -> chance T' ->
  chance (fun g => flip h (fun accepted => if accepted then T g else T' g)).
Proof.
move=> /andP[h0 h1] [m a s o] [m' a' s' o']; have k0 : 0 <= 1 - h by rewrite subr_ge0.
split=> [g g' le|g g'|k g|]; rewrite /flip.
- by apply: ler_add; apply: ler_wpmul2l; rewrite // ?m ?m'.
- by rewrite a a'; ring.
- by rewrite s s'; ring.
by rewrite o o' !mulr1 addrC subrK.
Qed.
Lemma chance_range T (g : V -> bool -> R) : chance T -> (forall y a, 0 <= g y a <= 1) -> 0 <= T g <= 1.
Proof.
move=> [mono _ scale one] g01; apply/andP; split.
  have -> : 0 = T (fun _ _ => 0 * 1) by rewrite scale mul0r.
  by apply: mono => y a; rewrite mul0r; have /andP[] := g01 y a.
by rewrite -one; apply: mono => y a; have /andP[] := g01 y a.
Qed.
Variables (Q : seq V -> V -> R) (spent : pred (seq V)).
Hypotheses (Q0 : forall elders x, 0 <= Q elders x) (Q1 : forall elders, ~~ spent elders -> sumV (Q elders) = 1).
Lemma siblings_off k (F F' h : seq V -> R) : (forall xs, (size xs <= k)%N -> `|F' xs - F xs| <= h xs) ->
  `|siblings Q spent k [::] F' - siblings Q spent k [::] F| <= siblings Q spent k [::] h.
Proof.
move=> off; rewrite ler_norml ler_subr_addr ler_subl_addr [- _ + _]addrC ler_subl_addr -!siblingsD.
apply/andP; split; apply: siblings_le => // xs le; have := off xs le;
  by rewrite ler_norml ler_subr_addr ler_subl_addr [- _ + _]addrC ler_subl_addr => /andP[].
Qed.
Lemma drafts_expect k (step : seq V -> (V -> bool -> R) -> R) : (forall xs, chance (step xs)) ->
  expects (fun g => siblings Q spent k [::] (fun xs => step xs (g xs))).
Proof.
move=> ch; split=> [g g' le|g g'|a g|].
- by apply: siblings_le => // xs _; have [m _ _ _] := ch xs; apply: m.
- by rewrite -siblingsD; apply: siblings_eq => xs; have [_ a _ _] := ch xs; apply: a.
- by rewrite -siblingsZ; apply: siblings_eq => xs; have [_ _ s _] := ch xs; apply: s.
by rewrite -[RHS](siblings_const Q1 k [::]); apply: siblings_eq => xs; have [_ _ _ o] := ch xs; apply: o.
Qed.
End Chance.

(* Naive sampling: y is looked up in the target's row, within lambda of it, whatever the drafts are; and accepted if it is
   among them. *)
Section Naive.
Variables (V : vocabulary) (R : realFieldType) (Mb : model V R) (c : seq V).
Variables (Q : seq V -> seq V -> V -> R) (spent : seq V -> pred (seq V)).
Hypotheses (Q0 : forall s elders x, 0 <= Q s elders x) (Q1 : forall s elders, ~~ spent s elders -> sumV (Q s elders) = 1).
Notation rb s := (Mb (c ++ s)).
Definition naive_step (row : seq V -> V -> R) s (_ : nat) (xs : seq V) (g : V -> bool -> R) : R :=
  draw (row s) (fun y => g y (y \in xs)).
Definition naive row gamma (f : seq tree) A : R := descend Q spent (naive_step row) row gamma [::] f A.
Theorem naive_valid gamma f o : size o = gamma.+1 ->
  naive (fun s => rb s) gamma f (fun s y => complete Mb gamma c (fun o' => (o' == o)%:R) (rcons s y)) = joint Mb c o.
Proof.
apply: descend_valid => [s k xs g g' e|//|s k U]; first by apply: sumV_eq => y; rewrite e.
by rewrite /naive_step (siblings_const (@Q1 s)).
Qed.
Variables (nu lambda : R) (B looked_up : seq V -> V -> R).
Hypotheses (nu0 : 0 <= nu) (nu1 : nu < 1) (lambda0 : 0 <= lambda) (Bb : forall s y, rel nu (rb s y) (B s y)).
Hypothesis rows : forall s, [/\ sumV (looked_up s) = 1, forall y, 0 <= looked_up s y &
  total_variation (share_of (B s)) (looked_up s) <= lambda].
Theorem naive_rounding gamma f (A : seq V -> V -> R) : (forall s y, 0 <= A s y <= 1) ->
  `|naive looked_up gamma f A - naive (fun s => rb s) gamma f A| <= gamma.+1%:R * (nu + lambda).
Proof.
move=> A01; have row_tv s : total_variation (rb s) (looked_up s) <= nu + lambda.
  have [_ _ ll] := rows s; have [_ _ near] := given_share nu1 Bb s.
  by apply: le_trans (tv_triangle _ (share_of (B s)) _) _; apply: ler_add.
have -> : gamma.+1%:R * (nu + lambda) = \sum_(i < gamma) (nu + lambda) + (0 + (nu + lambda)).
  by rewrite sumr_const card_ord add0r mulr_natl mulrSr.
apply: (@descents_near _ _ Q spent _ _ _ _ f (fun=> nu + lambda) 0 (nu + lambda) _ _ _ _ _ _ _ _ gamma [::] f) => //.
- by move=> _; apply: addr_ge0.
- by move=> s k; apply: (drafts_expect (Q0 s) (@Q1 s)) => xs; apply: draw_chance.
- by move=> s k; have [l1 l0 _] := rows s; apply: (drafts_expect (Q0 s) (@Q1 s)) => xs; apply: draw_chance.
- move=> s k g _ g01; have [l1 l0 _] := rows s.
  apply: le_trans (_ : nu + lambda <= _); last first.
    rewrite ler_addl mulr_ge0 ?addr_ge0 // -[X in X <= _](siblings_const (@Q1 s) k [::]).
    by apply: siblings_le => // xs _; apply: sumV_ge0 => y; rewrite mulr_ge0 ?ler0n.
  rewrite /over_drafts -(siblings_const (@Q1 s) k [::] (nu + lambda)); apply: (siblings_off _ (Q0 s)) => xs _.
  by apply: le_trans (tv_bounds (row_sum Mb (c ++ s)) l1 _) (row_tv s) => y; apply: g01.
by move=> s; have [l1 _ _] := rows s; rewrite add0r.
Qed.
End Naive.

(* Chosen tokens (EAGLE-2): sibling by sibling the token x is accepted with the probability that is left of it; else its
   entry becomes 0, and each other one is divided by the computed sum.  It is multi-round rejection by rows that are sure. *)
Section Chosen.
Variables (V : vocabulary) (R : realFieldType) (Mb : model V R) (c : seq V) (u nu eta lambda : R) (d : nat) (Fd : R -> R).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1) (nu0 : 0 <= nu) (nu1 : nu < 1) (d1 : growth u d < 1) (dnu : sum_error u d <= nu).
Hypothesis decided : forall h, 0 <= h <= 1 -> 0 <= Fd h <= 1 /\ `|Fd h - h| <= eta.
Hypothesis lambda0 : 0 <= lambda.
Notation rounds := (Rounding.rounds u).
Notation rb s := (Mb (c ++ s)).
Implicit Types (elders xs : seq V) (b : V -> R) (k : nat) (F : seq V -> (V -> bool -> R) -> R).
Section Siblings.
Variables (chosen : seq V -> V) (spent : pred (seq V)).
Definition one_hot elders x : R := (x == chosen elders)%:R.
Fixpoint chosen_computed k elders b F : Prop :=
  if k is k'.+1 then
    if spent elders then ends lambda b F
    else exists (e : R) (b' : V -> R) (F' : V -> seq V -> (V -> bool -> R) -> R), let x := chosen elders in
      let w y := if y == x then 0 else b y in
      [/\ within u d (sumV w) e, e != 0 -> forall y, rounds (w y / e) (b' y), e = 0 -> sumV b' = 1 /\ forall y, 0 <= b' y
        & forall z, chosen_computed k' (rcons elders z) b' (F' z) /\ forall xs g, F (z :: xs) g =
          flip (Fd (if z == x then Num.min (b x) 1 else 0)) (fun accepted => if accepted then g z true else F' z xs g)]
  else ends lambda b F.
Lemma chosen_multi_round k elders b F : (forall y, 0 <= b y) -> `|sumV b - 1| <= nu -> chosen_computed k elders b F ->
  multi_round_computed u nu lambda d Fd one_hot spent k elders b F.
Proof.
elim: k elders b F => [|k IH] elders b F b0 near //=; case: ifP => // _ [e [b' [F' [ew br ba h]]]].
set x := chosen elders in ew br h *; pose q y : R := if y == x then Num.max (b x) 1 else 0.
have le1 y : b y <= 1 + nu.
  apply: le_trans (_ : sumV b <= _); last by rewrite -ler_subl_addl; apply: le_trans (ler_norm _) near.
  by rewrite sumVE (bigD1 y) //= ler_addl sumr_ge0.
have mx : 0 < Num.max (b x) 1 by rewrite lt_maxr ltr01 orbT.
have wE y : (if y == x then 0 else b y) = Num.max (b y - q y) 0.
  rewrite /q; case: eqP => [->|_]; last by rewrite subr0 max_l.
  by rewrite max_r // subr_le0 le_maxr lexx.
pose H y : R := if y == x then Num.min (b x) 1 else 0.
have ones : sumV (one_hot elders) = 1.
  by rewrite (sumV_eq (g := fun y => (y == x)%:R * 1)) ?sumV_delta // => y; rewrite mulr1.
have [r0 r1 rb'] := share_row nu1 b0 near.
have P01 : 0 <= (1 : R) <= 1 by rewrite ler01 lexx.
have Qq y : rel nu (one_hot elders y) (q y).
  rewrite /rel /q /one_hot -/x; case: eqP => _; last by rewrite subrr normr0 mulr0.
  by rewrite mulr1 ger0_norm ?subr_ge0 ?le_maxr ?lexx ?orbT // ler_subl_addr le_maxl addrC le1 ler_addl.
have wr y : exists z e0, [/\ rounds (1 * b y) z, rounds (z - q y) e0 & (if y == x then 0 else b y) = Num.max e0 0].
  by exists (b y), (b y - q y); rewrite mul1r; split; rewrite ?wE //; apply: rounds_itself.
have q0 y : 0 <= one_hot elders y by rewrite ler0n.
have [b'0 near' _] := kept_near u0 u1 nu0 nu1 d1 dnu r0 r1 rb' q0 ones Qq P01 wr ew br ba.
exists q, H, (fun y => if y == x then 0 else b y), e, b', F'; split=> //.
- move=> y; exists (b y / q y); first exact: rounds_itself.
  rewrite /H /q; case: eqP => [->|_]; last by rewrite invr0 mulr0 min_l ?ler01.
  have [le|gt] := leP (b x) 1; first by rewrite divr1 min_l.
  by rewrite divff ?minxx // gt_eqF // (lt_trans ltr01).
- by move=> y; exists (b y - q y); [exact: rounds_itself | exact: wE].
by move=> z; have [hz FE] := h z; split=> //; apply: IH.
Qed.
End Siblings.
Variables (B : seq V -> V -> R) (chosen : seq V -> seq V -> V) (spent : seq V -> pred (seq V)).
Hypothesis Bb : forall s y, rel nu (rb s y) (B s y).
Variables (step : seq V -> nat -> seq V -> (V -> bool -> R) -> R) (last : seq V -> V -> R).
Hypothesis steps : forall s k, chosen_computed (chosen s) (spent s) k [::] (B s) (step s k).
Hypothesis lasts : forall s, [/\ sumV (last s) = 1, forall y, 0 <= last s y & total_variation (share_of (B s)) (last s) <= lambda].
Theorem chosen_rounding gamma f (g : seq V -> R) : (forall o, 0 <= g o <= 1) ->
  `|descend (fun s => one_hot (chosen s)) spent step last gamma [::] f (fun s y => complete Mb gamma c g (rcons s y))
    - gen Mb gamma.+1 c g|
  <= \sum_(i < gamma) ((level i f)%:R * sibling_off u nu nu eta + factor_off nu nu + nu) + (nu + lambda).
Proof.
move=> g01; apply: (multi_round_rounding u0 u1 nu0 (lexx nu) nu1 d1 dnu decided Bb (Q := fun s => one_hot (chosen s)) (spent := spent)) => // [s elders x|s elders _|s k].
- exact: ler0n.
- by rewrite /one_hot (sumV_eq (g := fun y => (y == chosen s elders)%:R * 1)) ?sumV_delta // => y; rewrite mulr1.
by have [b0 near _] := given_share nu1 Bb s; apply: chosen_multi_round.
Qed.
End Chosen.

(* Rules for a single path: the drafted x is accepted with probability h x, else the token is drawn from a row, which may
   depend on x; computed, the coin is h' x, and the row is within lambda of r'. *)
Section OneDraft.
Variables (V : vocabulary) (R : realFieldType) (Ms : model V R) (c : seq V).
Notation ms s := (Ms (c ++ s)).
Notation text := (seq V).
Implicit Types (s : text) (f : seq tree).
Definition path f : Prop := forall i, (level i f <= 1)%N.
Definition one_draft (h : text -> V -> R) (row : text -> V -> V -> R) (last : text -> V -> R) s (_ : nat) (xs : text) g : R :=
  if xs is x :: _ then flip (h s x) (fun accepted => if accepted then g x true else draw (row s x) (g^~ false))
  else draw (last s) (g^~ false).
Definition verify_path h row last gamma f (A : text -> V -> R) : R :=
  descend (independent Ms c) (fun _ => pred0) (one_draft h row last) last gamma [::] f A.
Variables (h h' : text -> V -> R) (row r' row' : text -> V -> V -> R) (last last' : text -> V -> R).
Variables (delta : nat -> R) (o lambda : R).
Hypotheses (delta0 : forall i, 0 <= delta i) (o0 : 0 <= o).
Hypotheses (h01 : forall s x, 0 <= h s x <= 1) (h'01 : forall s x, 0 <= h' s x <= 1).
Hypotheses (row0 : forall s x y, 0 <= row s x y) (row1 : forall s x, sumV (row s x) = 1).
Definition rows_near : Prop := forall s x, [/\ sumV (row' s x) = 1, forall y, 0 <= row' s x y,
  sumV (r' s x) = 1 /\ forall y, 0 <= r' s x y & total_variation (r' s x) (row' s x) <= lambda].
Hypothesis rows : rows_near.
Hypotheses (last0 : forall s y, 0 <= last s y) (last1 : forall s, sumV (last s) = 1).
Hypothesis lasts : forall s, [/\ sumV (last' s) = 1, forall y, 0 <= last' s y & total_variation (last s) (last' s) <= o + lambda].
Definition draft_off s : R :=
  sumV (fun x => ms s x * (`|h' s x - h s x| + (1 - h s x) * total_variation (row s x) (r' s x))).
Hypothesis near : forall s, draft_off s <= delta (size s).
Theorem one_draft_near gamma f A : path f -> (forall s y, 0 <= A s y <= 1) ->
  `|verify_path h' row' last' gamma f A - verify_path h row last gamma f A| <= \sum_(i < gamma) delta i + (o + lambda).
Proof.
move=> one A01; have q0 s elders x : 0 <= independent Ms c s elders x by apply: row_ge0.
have q1 s elders : ~~ pred0 elders -> sumV (independent Ms c s elders) = 1 by move=> _; apply: row_sum.
have ch H rw l s k xs : (forall s x, 0 <= H s x <= 1) -> (forall s x y, 0 <= rw s x y) -> (forall s x, sumV (rw s x) = 1) ->
    (forall s y, 0 <= l s y) -> (forall s, sumV (l s) = 1) -> chance (one_draft H rw l s k xs).
  move=> H01 rw0 rw1 l0 l1; case: xs => [|x xs]; first exact: (draw_chance (fun=> false)).
  exact: (flip_chance (H01 s x) (sure_chance R x true) (draw_chance (fun=> false) (rw0 s x) (rw1 s x))).
apply: (@descents_near _ _ (independent Ms c) (fun _ => pred0) _ _ _ _ f delta o lambda _ _ _ _ _ _ _ _ gamma [::] f) => //.
- by move=> s k; apply: (drafts_expect (q0 s) (q1 s)) => xs; apply: ch.
- move=> s k; apply: (drafts_expect (q0 s) (q1 s)) => xs; apply: ch => // [s' x y|s' x|s' y|s'].
  + by have [] := rows s' x.
  + by have [] := rows s' x.
  + by have [] := lasts s'.
  by have [] := lasts s'.
- move=> s k g /andP[k0 k1] g01; have -> : k = 1%N by apply/eqP; rewrite eqn_leq k0 andbT (leq_trans k1).
  rewrite /over_drafts /= /draw -sumVB -sumVZ.
  apply: le_trans (_ : sumV (fun x => ms s x * (`|h' s x - h s x| + (1 - h s x) * total_variation (row s x) (r' s x))
      + lambda * (ms s x * (1 - h' s x))) <= _); last first.
    rewrite sumVD; apply: ler_add; first exact: near.
    apply: sumV_le => x; have [r'1 _ _ _] := rows s x; rewrite /independent /flip /= mulr0 add0r /draw.
    by rewrite (sumV_eq (f := fun y => _ * _) (g := row' s x)) ?r'1 ?mulr1 // => y; rewrite mulr1.
  apply: le_trans (sumV_norm _) _; apply: sumV_le => x; rewrite -mulrBr normrM (ger0_norm (row_ge0 _ _ _)).
  rewrite [lambda * _]mulrCA -mulrDr; apply: ler_wpmul2l => //; rewrite /flip.
  have [r1 r0 [r2 r3] rl] := rows s x; have /andP[a0 a1] := h01 s x; have /andP[b0 b1] := h'01 s x.
  set G := g [:: x] x true; set U := (g [:: x])^~ false.
  have U01 y : 0 <= U y <= 1 by apply: g01.
  have X01 : 0 <= draw (r' s x) U <= 1 by apply: draw_range.
  have -> : h' s x * G + (1 - h' s x) * draw (row' s x) U - (h s x * G + (1 - h s x) * draw (row s x) U)
    = (h' s x - h s x) * (G - draw (r' s x) U) + (1 - h s x) * (draw (r' s x) U - draw (row s x) U)
      + (1 - h' s x) * (draw (row' s x) U - draw (r' s x) U) by ring.
  apply: le_trans (ler_norm_add _ _) _; apply: ler_add.
    apply: le_trans (ler_norm_add _ _) _; rewrite !normrM; apply: ler_add.
      by rewrite ler_pimulr //; exact: (mix_gap (g01 _ _ _) X01).
    by rewrite ger0_norm ?subr_ge0 //; apply: ler_wpmul2l; rewrite ?subr_ge0 //; apply: tv_bounds.
  have n0 : 0 <= 1 - h' s x by rewrite subr_ge0.
  rewrite normrM (ger0_norm n0) [lambda * _]mulrC; apply: ler_wpmul2l => //.
  exact: le_trans (tv_bounds r2 r1 U01) rl.
by move=> s; have [l1 _ ll] := lasts s.
Qed.
End OneDraft.

(* Verification of any row m, given as B within nu, by a draft's row q, given as G: its coins, and what is left of it. *)
Section AnyRow.
Variables (V : vocabulary) (R : realFieldType) (u nu : R) (m q B G : V -> R).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1) (nu0 : 0 <= nu) (nu1 : nu < 1).
Hypotheses (m0 : forall y, 0 <= m y) (m1 : sumV m = 1) (q0 : forall y, 0 <= q y) (q1 : sumV q = 1).
Hypotheses (Bm : forall y, rel nu (m y) (B y)) (Gq : forall y, rel nu (q y) (G y)).
Notation rounds := (Rounding.rounds u).
Definition coin_of_row (H : V -> R) : Prop := forall y, exists2 z, rounds (B y / G y) z & H y = Num.min z 1.
Definition left_of_row (w : V -> R) : Prop := forall y, exists2 e, rounds (B y - G y) e & w y = Num.max e 0.
(* A row by the weights w. *)
Definition by_weights (w r : V -> R) : Prop := [/\ sumV r = 1, forall y, 0 <= r y & forall y, r y * sumV w = w y].
Lemma h_token_next : h_token m q =1 next_p m q 1.
Proof. by move=> x; rewrite /h_token /next_p mul1r. Qed.
Lemma row_coins H : coin_of_row H ->
  (forall y, 0 <= H y <= 1) /\ sumV (fun y => q y * `|H y - h_token m q y|) <= coin_off u nu.
Proof.
move=> Hr; have P01 : 0 <= (1 : R) <= 1 by rewrite ler01 lexx.
have Hr' y : exists z t, [/\ rounds (B y / G y) z, rounds (1 * z) t & H y = Num.min t 1].
  by have [z hz ->] := Hr y; exists z, z; rewrite mul1r; split=> //; apply: rounds_itself.
have [H01 near] := coins_near u0 u1 nu0 nu1 m0 m1 Bm q0 Gq P01 Hr'; split=> //.
by apply: le_trans near; apply: sumV_le => y; rewrite h_token_next.
Qed.
Lemma rejected_sum : sumV (fun y => q y * (1 - h_token m q y)) = excess m q 1.
Proof.
rewrite excessE // (sumV_eq (g := fun y => q y - q y * next_p m q 1 y)) => [|y]; last by rewrite h_token_next; ring.
by rewrite sumVB q1 share_next ?ler01.
Qed.
Lemma row_rest (h w r : V -> R) : (forall y, h_token m q y <= h y) -> left_of_row w -> by_weights w r ->
  sumV (fun y => q y * (1 - h y)) * total_variation (residual m q 1) r <= weights_all u nu.
Proof.
move=> hh wr [r1 r0 rw]; have P01 : 0 <= (1 : R) <= 1 by rewrite ler01 lexx.
have tv0 : 0 <= total_variation (residual m q 1) r by rewrite divr_ge0 ?ler0n // sumV_ge0.
apply: le_trans (ler_wpmul2r tv0 (_ : _ <= excess m q 1)) _.
  by rewrite -rejected_sum; apply: sumV_le => y; apply: ler_wpmul2l => //; rewrite ler_add2l ler_opp2.
have wr' y : exists z e, [/\ rounds (1 * B y) z, rounds (z - G y) e & w y = Num.max e 0].
  by have [e he ->] := wr y; exists (B y), e; rewrite mul1r; split=> //; apply: rounds_itself.
apply: le_trans (weights_apart_all u0 nu0 m0 m1 q0 q1 P01).
exact: (row_here (w_near u0 u1 nu0 m0 Bm q0 Gq P01 wr') rw r1 r0).
Qed.
End AnyRow.

(* What these rules are on a path.  The row that a draft is verified by is given as B, the draft's as G, both within nu; the
   coins are decided by Fd, and what is left is drawn from a row within lambda of the computed weights. *)
Section PathRules.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (c : seq V) (u nu kap eta lambda : R) (Fd : R -> R).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1) (nu0 : 0 <= nu) (kap0 : nu <= kap) (kap1 : kap < 1) (lambda0 : 0 <= lambda).
Hypothesis decided : forall h, 0 <= h <= 1 -> 0 <= Fd h <= 1 /\ `|Fd h - h| <= eta.
Notation rounds := (Rounding.rounds u).
Notation rb s := (Mb (c ++ s)).
Notation ms s := (Ms (c ++ s)).
Implicit Types (s : seq V) (f : seq tree).
Variables (m B G : seq V -> V -> R) (w r' row' : seq V -> V -> R) (last' : seq V -> V -> R).
Hypotheses (m0 : forall s y, 0 <= m s y) (m1 : forall s, sumV (m s) = 1).
Hypotheses (Bm : forall s y, rel kap (m s y) (B s y)) (Gq : forall s y, rel kap (ms s y) (G s y)).
Hypothesis weights : forall s, left_of_row u (B s) (G s) (w s).
Hypothesis drawn : forall s, [/\ by_weights (w s) (r' s), sumV (row' s) = 1, forall y, 0 <= row' s y &
  total_variation (r' s) (row' s) <= lambda].
Hypothesis lasts : forall s, [/\ sumV (last' s) = 1, forall y, 0 <= last' s y & total_variation (rb s) (last' s) <= nu + lambda].
Let eta0 : 0 <= eta.
Proof. by have [_ /(le_trans (normr_ge0 _))] := decided (introT andP (conj (lexx 0) (@ler01 R))). Qed.
Let kap_ge0 : 0 <= kap. Proof. exact: le_trans kap0. Qed.
(* The rule: x is accepted with probability h x, no less than min(m x / q x, 1), else the token is what is left of m. *)
Definition rule (h : seq V -> V -> R) gamma f A : R :=
  verify_path Ms c h (fun s _ => residual (m s) (ms s) 1) (fun s => rb s) gamma f A.
Definition computed (H : seq V -> V -> R) gamma f A : R :=
  verify_path Ms c (fun s x => Fd (H s x)) (fun s _ => row' s) last' gamma f A.
Lemma path_rule h H (coins : nat -> R) gamma f A : path f -> (forall s y, 0 <= A s y <= 1) -> (forall i, 0 <= coins i) ->
  (forall s x, h_token (m s) (ms s) x <= h s x) -> (forall s x, h s x <= 1) -> (forall s x, 0 <= H s x <= 1) ->
  (forall s, sumV (fun x => ms s x * `|H s x - h s x|) <= coins (size s)) ->
  `|computed H gamma f A - rule h gamma f A| <= \sum_(i < gamma) (eta + coins i + weights_all u kap) + (nu + lambda).
Proof.
move=> one A01 coins0 hh h1 H01 near; have h0 s x : 0 <= h s x.
  by apply: le_trans (hh s x); have /andP[] := h_token_range x (m0 s) (row_ge0 Ms (c ++ s)).
have wa0 : 0 <= weights_all u kap := weights_all_ge0 u0 kap_ge0.
apply: (@one_draft_near V R Ms c h _ _ (fun s _ => r' s) _ _ _ (fun i => eta + coins i + weights_all u kap)) => //.
- by move=> i; apply: addr_ge0 => //; apply: addr_ge0.
- by move=> s x; rewrite h0 h1.
- by move=> s x; have [] := decided (H01 s x).
- by move=> s x y; have [] := residual_row (ms s) 1 (m0 s) (m1 s).
- by move=> s x; have [] := residual_row (ms s) 1 (m0 s) (m1 s).
- by move=> s x; have [[r1 r0 _] w1 w0 tv] := drawn s.
move=> s; have [rw _ _ _] := drawn s.
have rest := row_rest u0 u1 kap_ge0 (m0 s) (m1 s) (row_ge0 Ms (c ++ s)) (row_sum Ms (c ++ s)) (Bm s) (Gq s) (hh s) (weights s) rw.
apply: le_trans (ler_add (ler_add (lexx eta) (near s)) rest).
have eE : eta = sumV (fun x => ms s x * eta) by rewrite sumVZr row_sum mul1r.
rewrite [X in X + _ + _]eE -sumVZr -!sumVD; apply: sumV_le => x.
have [_ hF] := decided (H01 s x); rewrite -mulrA -!mulrDr; apply: ler_wpmul2l => //; rewrite ler_add2r.
have -> : Fd (H s x) - h s x = (Fd (H s x) - H s x) + (H s x - h s x) by ring.
by apply: le_trans (ler_norm_add _ _) _; rewrite ler_add2r.
Qed.

(* Token verification of m: an ensemble, m a mixture of both models. *)
Theorem row_rounding H gamma f A : path f -> (forall s y, 0 <= A s y <= 1) -> (forall s, coin_of_row u (B s) (G s) (H s)) ->
  `|computed H gamma f A - rule (fun s => h_token (m s) (ms s)) gamma f A|
  <= \sum_(i < gamma) (eta + coin_off u kap + weights_all u kap) + (nu + lambda).
Proof.
move=> one A01 Hr; have coins s := row_coins u0 u1 kap_ge0 kap1 (m0 s) (m1 s) (row_ge0 Ms (c ++ s)) (Bm s) (Gq s) (Hr s).
apply: (path_rule (coins := fun=> coin_off u kap)) => // [i|s x|s x|s].
- exact: coin_off_ge0.
- by rewrite le_minl lexx orbT.
- by have [] := coins s.
by have [] := coins s.
Qed.

(* A judge keeps some drafts without a coin; where its decision in floating point is another one, all of the draft counts. *)
Definition judged (keeps : seq V -> V -> bool) (h : seq V -> V -> R) s x : R := if keeps s x then 1 else h s x.
Theorem judged_rounding (keeps keeps' : seq V -> V -> bool) (doubt : nat -> R) H gamma f A :
  path f -> (forall s y, 0 <= A s y <= 1) -> (forall s, coin_of_row u (B s) (G s) (H s)) -> (forall i, 0 <= doubt i) ->
  (forall s, sumV (fun x => ms s x * (keeps s x != keeps' s x)%:R) <= doubt (size s)) ->
  `|computed (judged keeps' H) gamma f A - rule (judged keeps (fun s => h_token (m s) (ms s))) gamma f A|
  <= \sum_(i < gamma) (eta + (doubt i + coin_off u kap) + weights_all u kap) + (nu + lambda).
Proof.
move=> one A01 Hr doubt0 few; have coins s := row_coins u0 u1 kap_ge0 kap1 (m0 s) (m1 s) (row_ge0 Ms (c ++ s)) (Bm s) (Gq s) (Hr s).
have h01 s x : 0 <= h_token (m s) (ms s) x <= 1 by apply: h_token_range => y.
have H01 s x : 0 <= H s x <= 1 by have [] := coins s.
apply: (path_rule (coins := fun i => doubt i + coin_off u kap)) => // [i|s x|s x|s x|s].
- by rewrite addr_ge0 // coin_off_ge0.
- by rewrite /judged; case: ifP => // _; have /andP[] := h01 s x.
- by rewrite /judged; case: ifP => // _; have /andP[] := h01 s x.
- by rewrite /judged; case: ifP => // _; rewrite ler01 lexx.
have [_ near] := coins s; apply: le_trans (ler_add (few s) near); rewrite -sumVD; apply: sumV_le => x.
rewrite -mulrDr; apply: ler_wpmul2l => //; rewrite /judged; case: (keeps s x); case: (keeps' s x) => /=.
- by rewrite subrr normr0 add0r.
- by apply: le_trans (_ : 1 <= _); [apply: mix_gap; rewrite ?ler01 ?lexx | rewrite ler_addl].
- by apply: le_trans (_ : 1 <= _); [apply: mix_gap; rewrite ?ler01 ?lexx | rewrite ler_addl].
by rewrite add0r.
Qed.

(* A coin that is made larger by t, as EARS makes it: t is computed within tau. *)
Definition larger (t : seq V -> R) s x : R := Num.min (m s x / ms s x + t s) 1.
Theorem larger_coin_rounding (t t' : seq V -> R) tau H gamma f A : path f -> (forall s y, 0 <= A s y <= 1) ->
  (forall s, 0 <= t s) -> (forall s, `|t' s - t s| <= tau) ->
  (forall s x, exists z e, [/\ rounds (B s x / G s x) z, rounds (z + t' s) e & H s x = clipped e]) ->
  `|computed H gamma f A - rule (larger t) gamma f A|
  <= \sum_(i < gamma) (eta + (coin_off u kap + tau + u) + weights_all u kap) + (nu + lambda).
Proof.
move=> one A01 t0 tt Hr.
have off0 := coin_off_ge0 u0 kap_ge0 kap1.
have tau0 : 0 <= tau by apply: le_trans (tt [::]).
apply: (path_rule (coins := fun=> coin_off u kap + tau + u)) => // [_|s x|s x|s x|s].
- by apply: addr_ge0 => //; apply: addr_ge0.
- rewrite le_minr [X in _ && X]le_minl lexx orbT andbT; apply: le_trans (_ : m s x / ms s x <= _).
    by rewrite le_minl lexx.
  by rewrite ler_addl.
- by rewrite le_minl lexx orbT.
- by have [z [e [_ _ ->]]] := Hr s x; apply: clipped_range.
rewrite -[X in _ <= X]mul1r -(row_sum Ms (c ++ s)) -sumVZr; apply: sumV_le => x; apply: ler_wpmul2l => //.
have [z [e [hz he ->]]] := Hr s x.
have P0 : 0 <= (1 : R) by apply: ler01.
have same : rel 0 (1 : R) 1 by rewrite /rel subrr normr0 mul0r.
have hz1 : rounds (1 * z) z by rewrite mul1r; apply: rounds_itself.
have [zr z0] := ratio_here u0 u1 kap_ge0 kap1 (lexx 0) (m0 s) (row_ge0 Ms (c ++ s)) (Bm s) (Gq s) P0 P0 same hz hz1.
rewrite mul1r -/(coin_off u kap) in zr.
set a := m s x / ms s x in zr *; have a0 : 0 <= a by rewrite divr_ge0.
have first : `|Num.min (z + t s) 1 - Num.min (a + t s) 1| <= coin_off u kap.
  have s0 : 0 <= a + t s by rewrite addr_ge0.
  have rs : rel (coin_off u kap) (a + t s) (z + t s).
    rewrite /rel; have -> : z + t s - (a + t s) = z - a by ring.
    by apply: le_trans zr _; apply: ler_wpmul2l => //; rewrite ler_addl.
  apply: le_trans (rel_min off0 s0 (addr_ge0 z0 (t0 s)) rs) _.
  by rewrite ler_pimulr // le_minl lexx orbT.
have second : `|Num.min (Num.max (z + t' s) 0) 1 - Num.min (z + t s) 1| <= tau.
  have -> : Num.min (z + t s) 1 = Num.min (Num.max (z + t s) 0) 1 by rewrite [Num.max (z + t s) 0]max_l // addr_ge0.
  apply: le_trans (min_near 1 _ _) _; apply: le_trans (max0_near _ _) _.
  by have -> : z + t' s - (z + t s) = t' s - t s by ring.
have third : `|clipped e - Num.min (Num.max (z + t' s) 0) 1| <= u.
  have mx := max0_rounds u1 he; rewrite /clipped.
  have mx0 : 0 <= Num.max (z + t' s) 0 by rewrite le_maxr lexx orbT.
  have e0 : 0 <= Num.max e 0 by rewrite le_maxr lexx orbT.
  apply: le_trans (rel_min u0 mx0 e0 mx) _.
  by rewrite ler_pimulr // le_minl lexx orbT.
have -> : clipped e - larger t s x = (Num.min (z + t s) 1 - Num.min (a + t s) 1)
    + (Num.min (Num.max (z + t' s) 0) 1 - Num.min (z + t s) 1) + (clipped e - Num.min (Num.max (z + t' s) 0) 1).
  by rewrite /larger -/a; ring.
apply: le_trans (ler_norm_add _ _) _; apply: ler_add => //.
by apply: le_trans (ler_norm_add _ _) _; apply: ler_add.
Qed.
End PathRules.

(* Rules that decide without a coin which text is kept, and draw one token behind it: typical acceptance, the best n tokens.
   Where a draft is decided otherwise in floating point all of it counts.  D: the mean over what is drafted. *)
Section Decided.
Variables (V : vocabulary) (R : realFieldType) (Mb : model V R) (c : seq V) (T : Type) (D : (T -> R) -> R).
Hypotheses (D_le : forall F G, (forall t, F t <= G t) -> D F <= D G) (DD : forall F G, D (fun t => F t + G t) = D F + D G).
Hypotheses (DZ : forall a F, D (fun t => a * F t) = a * D F) (D1 : D (fun=> 1) = 1).
Variables (kept kept' : T -> seq V) (last' : seq V -> V -> R) (off : R).
Hypothesis lasts : forall s, [/\ sumV (last' s) = 1, forall y, 0 <= last' s y & total_variation (Mb (c ++ s)) (last' s) <= off].
Theorem decided_rounding (A : seq V -> V -> R) : (forall s y, 0 <= A s y <= 1) ->
  `|D (fun t => draw (last' (kept' t)) (A (kept' t))) - D (fun t => draw (Mb (c ++ kept t)) (A (kept t)))|
  <= D (fun t => (kept' t != kept t)%:R) + off.
Proof.
move=> A01; have -> : off = D (fun=> off * 1) by rewrite DZ D1 mulr1.
rewrite -DD ler_norml ler_subr_addr ler_subl_addr [- _ + _]addrC ler_subl_addr -!DD.
have near t : `|draw (last' (kept' t)) (A (kept' t)) - draw (Mb (c ++ kept t)) (A (kept t))| <= (kept' t != kept t)%:R + off * 1.
  have [l1 l0 ll] := lasts (kept' t); have off0 : 0 <= off.
    by apply: le_trans ll; rewrite divr_ge0 ?ler0n // sumV_ge0.
  rewrite mulr1; case: eqP => [e|_] /=.
    by rewrite add0r -e; apply: le_trans (tv_bounds (row_sum Mb (c ++ kept' t)) l1 (A01 (kept' t))) ll.
  apply: le_trans (_ : 1 <= _); last by rewrite ler_addl.
  by apply: mix_gap; apply: draw_range.
apply/andP; split; apply: D_le => t; have := near t;
  by rewrite ler_norml ler_subr_addr ler_subl_addr [- _ + _]addrC ler_subl_addr => /andP[].
Qed.
End Decided.
(* Two numbers within e of a and b compare as these do, unless these are within the factor (1 + e) / (1 - e). *)
Lemma compared_alike (R : realFieldType) (e a b a' b' : R) : 0 <= e -> 0 <= a -> 0 <= b -> rel e a a' -> rel e b b' ->
  (a' <= b') != (a <= b) -> (1 - e) * a <= (1 + e) * b /\ (1 - e) * b <= (1 + e) * a.
Proof.
move=> e0 a0 b0 ra rb; have [al ah] := rel_range ra; have [bl bh] := rel_range rb.
have shrink z : 0 <= z -> (1 - e) * z <= z by move=> z0; rewrite ler_pimull // ler_subl_addr ler_addl.
have grow z : 0 <= z -> z <= (1 + e) * z by move=> z0; rewrite ler_pemull // ler_addl.
case: (leP a b) => ab; case: (leP a' b') => ab' //= _.
  by split; [exact: le_trans (le_trans (shrink _ a0) ab) (grow _ b0) | exact: le_trans (le_trans bl (ltW ab')) ah].
by split; [exact: le_trans (le_trans al ab') bh | exact: le_trans (le_trans (shrink _ b0) (ltW ab)) (grow _ a0)].
Qed.

(* Verification by thresholds in floating point, against the same rule in exact numbers: one coin for all siblings, of whose
   tail each next one is a share, so that the shares telescope.  What is assumed is the standard model of Rounding.v, and that
   a running sum of numbers that are not negative does not decrease, nor what is computed from it by rounding. *)

(* One sibling: a of the coin's tail is left before it, b after it; computed a' and b'.  r: how often it is rejected. *)
Section Share.
Variables (R : realFieldType) (u eta : R) (Fd : R -> R).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1).
Hypothesis decided : forall h, 0 <= h <= 1 -> 0 <= Fd h <= 1 /\ `|Fd h - h| <= eta.
Notation rounds := (Rounding.rounds u).
Lemma share_near (a b a' b' al be z h : R) : 0 <= a <= 1 -> 0 <= b <= 1 -> 0 <= b' -> b' <= a' -> a' <= 1 ->
  `|a' - a| <= al -> `|b' - b| <= be -> 0 < a' -> rounds (b' / a') z -> rounds (1 - z) h ->
  `|b - a * (1 - Fd (clipped h))| <= al + be + (both u u + eta).
Proof.
move=> /andP[a0 a1] /andP[b0 b1] b'0 b'a a'1 na nb a'p hz hh.
have [/andP[F0 F1] FE] := decided (clipped_range h).
pose q := b' / a'; have q0 : 0 <= q by rewrite divr_ge0 // ltW.
have q1 : q <= 1 by rewrite ler_pdivr_mulr // mul1r.
have zq : `|z - q| <= u * q by move: hz; rewrite /Rounding.rounds -/q (ger0_norm q0).
have hq : `|h - (1 - q)| <= both u u.
  have -> : h - (1 - q) = (h - (1 - z)) - (z - q) by ring.
  apply: le_trans (ler_norm_sub _ _) _; have big : `|1 - z| <= 1 - q + u * q.
    have -> : 1 - z = (1 - q) - (z - q) by ring.
    apply: le_trans (ler_norm_sub _ _) _; rewrite ger0_norm ?subr_ge0 // ler_add2l; exact: zq.
  apply: le_trans (ler_add (le_trans hh (ler_wpmul2l u0 big)) zq) _.
  have -> : u * (1 - q + u * q) + u * q = u + u * (u * q) by ring.
  have -> : both u u = u + (u + u * u) by rewrite /both; ring.
  by rewrite ler_add2l; apply: le_trans (_ : u * u <= _); [apply: ler_wpmul2l => //; rewrite ler_pimulr | rewrite ler_addr].
have cq : `|clipped h - (1 - q)| <= both u u.
  have -> : 1 - q = clipped (1 - q).
    by rewrite /clipped max_l ?subr_ge0 // min_l // ler_subl_addr ler_addl.
  by apply: le_trans (min_near 1 _ _) _; apply: le_trans (max0_near _ _) _.
have a'q : a' * q = b' by rewrite /q mulrCA mulfV ?mulr1 // gt_eqF.
set r := 1 - Fd (clipped h); have r01 : 0 <= r <= 1 by rewrite subr_ge0 F1 ler_subl_addr ler_addl.
have rq : `|q - r| <= both u u + eta.
  have -> : q - r = (Fd (clipped h) - clipped h) + (clipped h - (1 - q)) by rewrite /r; ring.
  by apply: le_trans (ler_norm_add _ _) _; rewrite addrC; apply: ler_add.
have -> : b - a * r = - (b' - b) + (a' - a) * r + a' * (q - r) by rewrite mulrBr a'q; ring.
have /andP[r0 r1] := r01; apply: le_trans (ler_norm_add _ _) _; apply: ler_add.
  apply: le_trans (ler_norm_add _ _) _; rewrite normrN addrC; apply: ler_add => //.
  rewrite normrM (ger0_norm r0); apply: le_trans na; exact: ler_pimulr.
by rewrite normrM (gtr0_norm a'p); apply: le_trans rq; apply: ler_pimull.
Qed.
End Share.

(* The siblings one after the other.  S: which are accepted without a coin; T es: what is left of the coin's tail behind the
   siblings es, at 0 the next one is accepted; H es x: how often x is, if it comes to its coin; E: what a rejection of all is
   worth. *)
Section Walk.
Variables (V : vocabulary) (R : realFieldType).
Implicit Types (S : V -> bool) (es xs : seq V) (g : V -> bool -> R) (x : V).
Fixpoint walk S (T : seq V -> R) (H : seq V -> V -> R) es xs g (E : R) : R :=
  if xs is x :: xs' then
    if S x || (T es == 0) then g x true
    else flip (H es x) (fun accepted => if accepted then g x true else walk S T H (rcons es x) xs' g E)
  else E.
Definition rejection S (T : seq V -> R) (H : seq V -> V -> R) es xs : R := walk S T H es xs (fun _ accepted => (~~ accepted)%:R) 1.
Lemma walk_end S (T : seq V -> R) (H : seq V -> V -> R) es xs g (E : R) : walk S T H es xs g E = walk S T H es xs g 0 + rejection S T H es xs * E.
Proof.
rewrite /rejection; elim: xs es => [|x xs IH] es /=; first by rewrite mul1r add0r.
by case: ifP => _; rewrite ?mul0r ?addr0 // /flip IH; ring.
Qed.
Lemma walk_chance S (T : seq V -> R) (H : seq V -> V -> R) es xs (r : V -> R) : (forall es x, 0 <= H es x <= 1) -> (forall y, 0 <= r y) -> sumV r = 1 ->
  chance (fun g => walk S T H es xs g (draw r (g^~ false))).
Proof.
move=> H01 r0 r1; elim: xs es => [|x xs IH] es /=; first exact: (draw_chance (fun=> false)).
by case: (S x || _); [apply: sure_chance | apply: (flip_chance (H01 es x) (sure_chance R x true) (IH _))].
Qed.
Lemma walk_range S (T : seq V -> R) (H : seq V -> V -> R) es xs g (E : R) : (forall es x, 0 <= H es x <= 1) -> (forall y a, 0 <= g y a <= 1) -> 0 <= E <= 1 ->
  0 <= walk S T H es xs g E <= 1.
Proof.
move=> H01 g01 E01; elim: xs es => //= x xs IH es; case: ifP => // _; rewrite /flip.
have /andP[h0 h1] := H01 es x; have /andP[a0 a1] := g01 x true; have /andP[b0 b1] := IH (rcons es x).
have k0 : 0 <= 1 - H es x by rewrite subr_ge0.
apply/andP; split; first by rewrite addr_ge0 // mulr_ge0.
rewrite -[X in _ <= X](subrK (H es x)) addrC; apply: ler_add; exact: ler_pimulr.
Qed.

Variables (T T' : seq V -> R) (H' : seq V -> V -> R) (S S' : V -> bool) (off : nat -> R) (once : R).
Definition share_of_tail es x : R := 1 - T (rcons es x) / T es.
Hypotheses (T01 : forall es, 0 <= T es <= 1) (TT : forall es x, T (rcons es x) <= T es).
Hypotheses (H'01 : forall es x, 0 <= H' es x <= 1) (off0 : forall i, 0 <= off i) (once0 : 0 <= once).
Hypothesis tails : forall es, `|T' es - T es| <= off (size es).
Hypothesis shares : forall es x, T' es != 0 -> `|T (rcons es x) - T es * (1 - H' es x)| <= off (size es) + off (size es).+1 + once.
Definition sibling_cost i : R := off i + off i.+1 + once.
Definition doubted x : R := (S x != S' x)%:R.
Lemma sibling_cost_ge0 i : 0 <= sibling_cost i. Proof. by rewrite !addr_ge0. Qed.
Lemma share_of_tail_range es x : 0 <= share_of_tail es x <= 1.
Proof.
have /andP[a0 _] := T01 es; have /andP[b0 _] := T01 (rcons es x); rewrite subr_ge0 ler_subl_addr ler_addl divr_ge0 // andbT.
have [z|nz] := eqVneq (T es) 0; first by rewrite z invr0 mulr0 ler01.
by rewrite ler_pdivr_mulr ?lt0r ?nz // mul1r.
Qed.
Lemma walk_near es xs g (E : R) : (forall y a, 0 <= g y a <= 1) -> 0 <= E <= 1 ->
  T es * `|walk S' T' H' es xs g E - walk S T share_of_tail es xs g E|
  <= \sum_(i < size xs) sibling_cost (size es + i)%N + \sum_(x <- xs) doubted x.
Proof.
move=> g01 E01; elim: xs es => [|x xs IH] es; first by rewrite /= subrr normr0 mulr0 big_ord0 big_nil addr0.
have /andP[a0 a1] := T01 es; have /andP[b0 _] := T01 (rcons es x).
rewrite big_cons [\sum_(i < size (x :: xs)) _]big_ord_recl addn0 (eq_bigr (fun i : 'I_(size xs) => sibling_cost (size (rcons es x) + i)%N)) => [|i _]; last first.
  by rewrite size_rcons addSnnS.
have IHx := IH (rcons es x); set rest := \sum_(i < _) _ in IHx *; set more := \sum_(z <- xs) _ in IHx *.
have rest0 : 0 <= rest by apply: sumr_ge0 => i _; apply: sibling_cost_ge0.
have more0 : 0 <= more by apply: sumr_ge0 => z _; apply: ler0n.
have here := sibling_cost_ge0 (size es); have nonneg : 0 <= sibling_cost (size es) + rest + (doubted x + more).
  by rewrite !addr_ge0 // ler0n.
have W01 := walk_range S T es (x :: xs) share_of_tail_range g01 E01.
have W'01 := walk_range S' T' es (x :: xs) H'01 g01 E01.
have [e|ne] := eqVneq (S x) (S' x); last first.
  apply: le_trans (ler_pimull (normr_ge0 _) a1) _; apply: le_trans (mix_gap W'01 W01) _.
  by rewrite /doubted ne addrCA ler_addl !addr_ge0.
move: {W01 W'01} nonneg; rewrite /doubted /= e eqxx add0r => nonneg; case: (S' x) => /=; first by rewrite subrr normr0 mulr0.
have [z|nz] := eqVneq (T es) 0; first by rewrite z mul0r.
set W := walk S T _ _ _ _ _ in IHx *; set W' := walk S' T' _ _ _ _ _ in IHx *; set G := g x true.
have exact : T es * flip (share_of_tail es x) (fun accepted => if accepted then G else W) = (T es - T (rcons es x)) * G + T (rcons es x) * W.
  by rewrite /flip /share_of_tail; field.
have G01 : 0 <= G <= 1 by apply: g01.
have W01 : 0 <= W <= 1 := walk_range S T (rcons es x) xs share_of_tail_range g01 E01.
have W'01 : 0 <= W' <= 1 := walk_range S' T' (rcons es x) xs H'01 g01 E01.
rewrite -[X in X * `|_|](ger0_norm a0) -normrM mulrBr exact; have [z'|nz'] := eqVneq (T' es) 0.
  have -> : T es * G - ((T es - T (rcons es x)) * G + T (rcons es x) * W) = T (rcons es x) * (G - W) by ring.
  rewrite normrM (ger0_norm b0); apply: le_trans (ler_pimulr b0 (mix_gap G01 W01)) _; apply: le_trans (TT es x) _.
  have := tails es; rewrite z' sub0r normrN (ger0_norm a0) => /le_trans; apply.
  by rewrite /sibling_cost -!addrA ler_addl !addr_ge0.
have -> : T es * flip (H' es x) (fun accepted => if accepted then G else W') - ((T es - T (rcons es x)) * G + T (rcons es x) * W)
  = (T (rcons es x) - T es * (1 - H' es x)) * (G - W') + T (rcons es x) * (W' - W) by rewrite /flip; ring.
apply: le_trans (ler_norm_add _ _) _; rewrite -addrA; apply: ler_add.
  rewrite normrM; apply: le_trans (ler_pimulr (normr_ge0 _) (mix_gap G01 W'01)) _; exact: shares.
by rewrite normrM (ger0_norm b0).
Qed.
Lemma rejection_tail es xs : T es * rejection S T share_of_tail es xs <= T (es ++ xs).
Proof.
rewrite /rejection; elim: xs es => [|x xs IH] es; first by rewrite /= cats0 mulr1.
have /andP[a0 _] := T01 es; rewrite /=; case: ifP => [_|]; first by rewrite mulr0; have /andP[] := T01 (es ++ x :: xs).
move=> /norP[_ nz]; rewrite -cat_rcons; apply: le_trans (IH (rcons es x)); rewrite /flip mulr0 add0r mulrA.
by have -> : T es * (1 - share_of_tail es x) = T (rcons es x) by rewrite /share_of_tail; field.
Qed.
Lemma rejection_ge0 es xs : 0 <= rejection S T share_of_tail es xs.
Proof.
have one : 0 <= (1 : R) <= 1 by rewrite ler01 lexx.
by have /andP[] := walk_range S T es xs (g := fun _ a => (~~ a)%:R) share_of_tail_range (fun _ a => ltac:(by case: a; rewrite /= ?ler01 ?lexx)) one.
Qed.
End Walk.

(* The tail itself: 1 - min(10 m / acc, 1), m a running sum of the target's row. *)
Section Tails.
Variables (V : vocabulary) (R : realFieldType) (u o eta acc : R) (Fd : R -> R) (p P : V -> R).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1) (o0 : 0 <= o) (o1 : o < 1) (acc0 : 0 < acc).
Hypotheses (p0 : forall y, 0 <= p y) (pP : forall y, rel o (p y) (P y)).
Hypothesis decided : forall h, 0 <= h <= 1 -> 0 <= Fd h <= 1 /\ `|Fd h - h| <= eta.
Notation rounds := (Rounding.rounds u).
Implicit Types (es : seq V) (x : V).
Definition mass es : R := \sum_(x <- es) p x.
Definition tail es : R := 1 - Num.min (10%:R * mass es / acc) 1.
Definition tails_computed (M T : seq V -> R) : Prop := [/\ M [::] = 0, T [::] = 1 & forall es x, exists t q,
  [/\ rounds (M es + P x) (M (rcons es x)), rounds (10%:R * M (rcons es x)) t, rounds (t / acc) q,
      rounds (1 - Num.min q 1) (T (rcons es x)) & T (rcons es x) <= T es]].
Definition shares_computed (T : seq V -> R) (H : seq V -> V -> R) : Prop := forall es x, exists z h,
  [/\ rounds (T (rcons es x) / T es) z, rounds (1 - z) h & H es x = Fd (clipped h)].
Fixpoint mass_off i : R := if i is i'.+1 then both (mass_off i') u else o.
Definition tail_off i : R := if i is i'.+1 then both (both (mass_off i) u) u + u else 0.
Lemma mass_off_ge i : o <= mass_off i /\ 0 <= mass_off i.
Proof.
elim: i => [|i [IH IH0]] /=; first by split.
split; last exact: both_ge0.
apply: le_trans IH _; have -> : both (mass_off i) u = mass_off i + u * (1 + mass_off i) by rewrite /both; ring.
by rewrite ler_addl mulr_ge0 // addr_ge0 ?ler01.
Qed.
Lemma tail_off_ge0 i : 0 <= tail_off i.
Proof. by case: i => [|i]; rewrite /tail_off ?lexx //; have [_ e0] := mass_off_ge i.+1; rewrite addr_ge0 // both_ge0 // both_ge0. Qed.
Lemma mass_rcons es x : mass (rcons es x) = mass es + p x.
Proof. by rewrite /mass -cats1 big_cat big_seq1. Qed.
Lemma mass_ge0 es : 0 <= mass es. Proof. by apply: sumr_ge0. Qed.
Lemma ten_ge0 es : 0 <= 10%:R * mass es / acc.
Proof. by rewrite divr_ge0 ?(ltW acc0) // mulr_ge0 ?ler0n ?mass_ge0. Qed.
Lemma tail_range es : 0 <= tail es <= 1.
Proof. by rewrite subr_ge0 le_minl lexx orbT ler_subl_addr ler_addl le_minr ten_ge0 ler01. Qed.
Lemma tail_rcons es x : tail (rcons es x) <= tail es.
Proof.
rewrite ler_add2l ler_opp2 le_minr le_minl [X in _ && X]le_minl lexx orbT andbT mass_rcons.
by rewrite ler_pmul2r ?invr_gt0 // ler_wpmul2l ?ler0n // ler_addl p0.
Qed.
Variables (M T : seq V -> R) (H : seq V -> V -> R).
Hypotheses (Tc : tails_computed M T) (Hc : shares_computed T H).
Lemma mass_near es : rel (mass_off (size es)) (mass es) (M es) /\ 0 <= M es.
Proof.
have [M0 _ step] := Tc; elim/last_ind: es => [|es x [IH Mp]]; first by rewrite M0 /mass big_nil /rel subrr normr0 mulr0 lexx.
have [t [q [hm _ _ _ _]]] := step es x; have [oe e0] := mass_off_ge (size es); rewrite size_rcons mass_rcons.
have near : rel (mass_off (size es)) (mass es + p x) (M es + P x).
  rewrite /rel; have -> : M es + P x - (mass es + p x) = (M es - mass es) + (P x - p x) by ring.
  apply: le_trans (ler_norm_add _ _) _; rewrite mulrDr; apply: ler_add => //.
  by apply: le_trans (pP x) _; apply: ler_wpmul2r.
have s0 : 0 <= mass es + p x by rewrite addr_ge0 ?mass_ge0.
split; first exact: (rel_rounds u0 e0 s0 near hm).
by apply: rounds_ge0 hm => //; rewrite addr_ge0 // (given_ge0 o1 (p0 x) (pP x)).
Qed.
Let rel_scale e (k z z' : R) : 0 <= k -> rel e z z' -> rel e (k * z) (k * z').
Proof. by move=> k0 r; rewrite /rel -mulrBr normrM (ger0_norm k0) mulrCA; apply: ler_wpmul2l. Qed.
Lemma tail_near es : [/\ `|T es - tail es| <= tail_off (size es), 0 <= T es & T es <= 1].
Proof.
have [_ T1 step] := Tc; elim/last_ind: es => [|es x [_ _ le1]].
  by rewrite T1 /tail /mass big_nil mulr0 mul0r min_l ?ler01 // subr0 subrr normr0; split; rewrite ?lexx ?ler01.
have [t [q [_ ht hq hT le]]] := step es x; have [near M0] := mass_near (rcons es x).
have [_ e0] := mass_off_ge (size (rcons es x)); rewrite size_rcons /= -/(mass_off (size es).+1) -(size_rcons es x).
set e := mass_off _ in near e0 *; have ten : 0 <= 10%:R :> R by rewrite ler0n.
have z0 : 0 <= 10%:R * mass (rcons es x) by rewrite mulr_ge0 ?mass_ge0.
have rt := rel_rounds u0 e0 z0 (rel_scale ten near) ht; have e1 := both_ge0 e0 u0.
have t0 : 0 <= t by apply: rounds_ge0 ht => //; exact: mulr_ge0.
have i0 : 0 <= acc^-1 by rewrite invr_ge0 ltW.
have rt' : rel (both e u) (10%:R * mass (rcons es x) / acc) (t / acc) by rewrite ![_ / acc]mulrC; apply: rel_scale.
have rq := rel_rounds u0 e1 (ten_ge0 _) rt' hq; have e2 := both_ge0 e1 u0.
have q0 : 0 <= q by apply: rounds_ge0 hq => //; rewrite mulr_ge0.
have m01 : 0 <= 1 - Num.min q 1 <= 1 by rewrite subr_ge0 le_minl lexx orbT ler_subl_addr ler_addl le_minr q0 ler01.
have /andP[m0 m1] := m01; split; [|exact: rounds_ge0 hT|exact: le_trans le1].
rewrite /tail; set z := _ / acc in rq *; have zp : 0 <= z := ten_ge0 _.
have -> : T (rcons es x) - (1 - Num.min z 1) = (T (rcons es x) - (1 - Num.min q 1)) - (Num.min q 1 - Num.min z 1) by ring.
apply: le_trans (ler_norm_sub _ _) _; rewrite addrC; apply: ler_add.
  apply: le_trans (rel_min e2 zp q0 rq) _; apply: ler_pimulr => //; by rewrite le_minl lexx orbT.
by apply: le_trans hT _; rewrite ger0_norm // ler_pimulr.
Qed.
Lemma tail_share es x : T es != 0 ->
  `|tail (rcons es x) - tail es * (1 - H es x)| <= tail_off (size es) + tail_off (size es).+1 + (both u u + eta).
Proof.
move=> nz; have [z [h [hz hh ->]]] := Hc es x; have [n1 a0 a1] := tail_near es; have [n2 b0 _] := tail_near (rcons es x).
have [_ _ step] := Tc; have [t [q [_ _ _ _ le]]] := step es x; rewrite size_rcons in n2.
by apply: (share_near u0 decided (tail_range es) (tail_range (rcons es x)) b0 le a1 n1 n2 _ hz hh); rewrite lt0r nz.
Qed.
Lemma share_range es x : 0 <= H es x <= 1.
Proof. by have [z [h [_ _ ->]]] := Hc es x; have [] := decided (clipped_range h). Qed.
(* What is left of the row when no sibling is accepted: each entry as it is given. *)
Definition beside (r : V -> R) es y : R := if y \in es then 0 else r y.
Lemma beside_near es (r r' : V -> R) : by_weights (beside p es) r -> by_weights (beside P es) r' -> 0 < sumV (beside p es) ->
  total_variation r r' <= o.
Proof.
move=> [r1 r0 rw] [r'1 r'0 r'w] m0; rewrite /total_variation ler_pdivr_mulr ?ltr0n // -(ler_pmul2l m0).
rewrite -sumVZ (sumV_eq (g := fun y => `|sumV (beside p es) * r' y - beside p es y|)) => [|y]; last first.
  by rewrite -[X in _ = `|_ - X|]rw [r y * _]mulrC -mulrBr normrM (gtr0_norm m0).
apply: le_trans (normalised_near (beside p es) r'1 r'0 r'w) _; rewrite [o * _]mulrC mulrCA; apply: ler_wpmul2l; first exact: ler0n.
rewrite mulrC -sumVZ; apply: sumV_le => y; rewrite /beside; case: ifP => _; last exact: pP.
by rewrite subrr normr0 mulr0.
Qed.
(* All of it among the siblings: the tail is spent. *)
Lemma tail_spent es : acc <= 10%:R -> sumV p = 1 -> sumV (beside p es) = 0 -> tail es = 0.
Proof.
move=> acc10 p1 none; have one : 1 <= mass es.
  rewrite -p1 -[sumV p]subr0 -none -sumVB sumVE.
  apply: le_trans (_ : \sum_(y <- undup es) p y <= _).
    have -> : \sum_(y <- undup es) p y = \sum_y (if y \in es then p y else 0).
      by rewrite big_uniq ?undup_uniq //= big_mkcond; apply: eq_bigr => y _; rewrite mem_undup.
    by apply: ler_sum => y _; rewrite /beside; case: ifP => _; rewrite ?subr0 // subrr.
  rewrite /mass; elim: es {none} => [|x es IH] //=; rewrite big_cons; case: ifP => _.
    by apply: le_trans IH _; rewrite ler_addr.
  by rewrite big_cons ler_add2l.
rewrite /tail min_r ?subrr // ler_pdivl_mulr // mul1r; apply: le_trans acc10 _.
by rewrite -[X in X <= _]mulr1; apply: ler_wpmul2l => //; rewrite ler0n.
Qed.
End Tails.

(* The rule on a tree: which siblings are accepted without a coin is decided by S, computed by S'; where these differ, all of
   the sibling counts.  Rejected, the token is drawn from the row beside the siblings. *)
Section Rule.
Variables (V : vocabulary) (R : realFieldType) (Mb : model V R) (c : seq V) (u o eta lambda acc : R) (Fd : R -> R).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1) (o0 : 0 <= o) (o1 : o < 1) (lambda0 : 0 <= lambda) (acc0 : 0 < acc) (acc10 : acc <= 10%:R).
Hypothesis decided : forall h, 0 <= h <= 1 -> 0 <= Fd h <= 1 /\ `|Fd h - h| <= eta.
Notation rb s := (Mb (c ++ s)).
Variables (Q : seq V -> seq V -> V -> R) (spent : seq V -> pred (seq V)).
Hypotheses (Q0 : forall s elders x, 0 <= Q s elders x) (Q1 : forall s elders, ~~ spent s elders -> sumV (Q s elders) = 1).
Variables (P : seq V -> V -> R) (M T : seq V -> seq V -> R) (H : seq V -> seq V -> V -> R) (S S' : seq V -> V -> bool).
Variables (row r' row' : seq V -> seq V -> V -> R) (last' : seq V -> V -> R).
Hypotheses (pP : forall s y, rel o (rb s y) (P s y)) (Tc : forall s, tails_computed u acc (P s) (M s) (T s)).
Hypothesis Hc : forall s, shares_computed u Fd (T s) (H s).
Hypotheses (rows : forall s xs, by_weights (beside (rb s) xs) (row s xs)) (rows' : forall s xs, by_weights (beside (P s) xs) (r' s xs)).
Hypothesis drawn : forall s xs, [/\ sumV (row' s xs) = 1, forall y, 0 <= row' s xs y & total_variation (r' s xs) (row' s xs) <= lambda].
Hypothesis lasts : forall s, [/\ sumV (last' s) = 1, forall y, 0 <= last' s y & total_variation (rb s) (last' s) <= o + lambda].
Definition thresholds_step s (_ : nat) xs g : R :=
  walk (S s) (tail acc (rb s)) (share_of_tail (tail acc (rb s))) [::] xs g (draw (row s xs) (g^~ false)).
Definition thresholds_computed s (_ : nat) xs g : R := walk (S' s) (T s) (H s) [::] xs g (draw (row' s xs) (g^~ false)).
Let eta0 : 0 <= eta.
Proof. by have [_ /(le_trans (normr_ge0 _))] := decided (introT andP (conj (lexx 0) (@ler01 R))). Qed.
Definition once : R := both u u + eta.
Let once0 : 0 <= once. Proof. by rewrite addr_ge0 // both_ge0. Qed.
Definition threshold_cost i : R := sibling_cost (tail_off u o) once i.
Lemma sums_le m n (F : nat -> R) : (m <= n)%N -> (forall i, 0 <= F i) -> \sum_(i < m) F i <= \sum_(i < n) F i.
Proof. by move=> le F0; rewrite -(subnKC le) big_split_ord /= ler_addl sumr_ge0. Qed.
Theorem thresholds_rounding gamma f (doubt : nat -> R) A : (forall s y, 0 <= A s y <= 1) -> (forall i, 0 <= doubt i) ->
  (forall s k, (0 < k <= level (size s) f)%N ->
     siblings (Q s) (spent s) k [::] (fun xs => \sum_(x <- xs) doubted R (S s) (S' s) x) <= doubt (size s)) ->
  `|descend Q spent thresholds_computed last' gamma [::] f A - descend Q spent thresholds_step (fun s => rb s) gamma [::] f A|
  <= \sum_(i < gamma) (\sum_(j < level i f) threshold_cost j + doubt i) + (o + lambda).
Proof.
move=> A01 doubt0 few; rewrite distrC; have b0 s y : 0 <= rb s y := row_ge0 Mb _ y.
have cost0 j : 0 <= threshold_cost j by apply: sibling_cost_ge0 => //; exact: tail_off_ge0.
have T01 s := tail_range acc0 (b0 s); have TT s es x : tail acc (rb s) (rcons es x) <= tail acc (rb s) es := tail_rcons acc0 (b0 s) es x.
have hx s es x := share_of_tail_range (T01 s) (TT s) es x.
have Hx s es x : 0 <= H s es x <= 1 := share_range decided (Hc s) es x.
have end1 s xs : draw (row s xs) (fun=> 1) = 1 by have [r1 _ _] := rows s xs; rewrite /draw sumVZr r1 mul1r.
rewrite -[o + lambda]add0r.
apply: (@descents_near _ _ Q spent _ _ _ _ f (fun i => \sum_(j < level i f) threshold_cost j + doubt i) 0 (o + lambda) _ _ _ _ _ _ _ _ gamma [::] f) => //.
- by move=> i; rewrite addr_ge0 // sumr_ge0.
- move=> s k; apply: (drafts_expect (Q0 s) (@Q1 s)) => xs; have [r1 r0 _] := drawn s xs; exact: walk_chance.
- move=> s k; apply: (drafts_expect (Q0 s) (@Q1 s)) => xs; have [r1 r0 _] := rows s xs; apply: walk_chance => // es x; exact: hx.
- move=> s k g le g01; rewrite /over_drafts -siblingsZ.
  pose rej xs := rejection (S s) (tail acc (rb s)) (share_of_tail (tail acc (rb s))) [::] xs.
  have rej0 xs : 0 <= rej xs := rejection_ge0 (S s) (T01 s) (TT s) [::] xs.
  have t0 : tail acc (rb s) [::] = 1 by rewrite /tail /mass big_nil mulr0 mul0r min_l ?ler01 // subr0.
  apply: le_trans (_ : siblings (Q s) (spent s) k [::] (fun xs => (\sum_(j < level (size s) f) threshold_cost j
      + \sum_(x <- xs) doubted R (S s) (S' s) x) + (o + lambda) * rej xs) <= _).
    apply: (siblings_off _ (Q0 s)) => xs hxs; set E := draw (row s xs) ((g xs)^~ false).
    set E' := draw (row' s xs) ((g xs)^~ false); have [r1 r0 rw] := rows s xs; have [r'1 r'0 dl] := drawn s xs.
    have E01 : 0 <= E <= 1 by apply: draw_range.
    have E'01 : 0 <= E' <= 1 by apply: draw_range.
    rewrite /thresholds_step /thresholds_computed -/E -/E'.
    have := walk_near (S s) (S' s) (T01 s) (TT s) (Hx s) (@tail_off_ge0 _ u o u0 o0) once0
      (fun es => let: And3 h _ _ := tail_near u0 u1 o0 o1 acc0 (b0 s) (pP s) (Tc s) es in h)
      (fun es x => @tail_share _ _ u o eta acc Fd _ _ u0 u1 o0 o1 acc0 (b0 s) (pP s) decided _ _ _ (Tc s) (Hc s) es x) [::] xs (g01 xs) E'01.
    rewrite t0 mul1r => near; set X := walk (S s) _ _ _ _ _ E; set Y := walk (S' s) _ _ _ _ _ E' in near *.
    set Z := walk (S s) _ _ _ _ _ E' in near.
    have -> : X - Y = - (Y - Z) + rej xs * (E - E') by rewrite /X /Z walk_end [in RHS]walk_end /rej; ring.
    apply: le_trans (ler_norm_add _ _) _; rewrite normrN; apply: ler_add.
      apply: le_trans near _; rewrite ler_add2r; apply: sums_le => //; apply: leq_trans hxs _; by have /andP[] := le.
    rewrite normrM (ger0_norm (rej0 xs)) [X in _ <= X]mulrC.
    have m0 : 0 <= sumV (beside (rb s) xs) by apply: sumV_ge0 => y; rewrite /beside; case: ifP.
    have [z|nz] := eqVneq (sumV (beside (rb s) xs)) 0.
      have := rejection_tail (S s) (T01 s) [::] xs; rewrite t0 mul1r /= (tail_spent acc0 (b0 s) acc10 (row_sum Mb (c ++ s)) z) -/(rej xs) => r0'.
      by have -> : rej xs = 0; [apply/eqP; rewrite eq_le r0' rej0 | rewrite !mul0r].
    apply: ler_wpmul2l => //; rewrite distrC; apply: le_trans (tv_bounds r1 r'1 (fun y => g01 xs y false)) _.
    apply: le_trans (tv_triangle _ (r' s xs) _) _; apply: ler_add => //.
    by apply: (beside_near (pP s) (rows s xs) (rows' s xs)); rewrite lt0r nz.
  rewrite siblingsD siblingsD (siblings_const (@Q1 s)) -addrA [X in _ <= X]addrAC -[X in _ <= X]addrA ler_add2l addrC; apply: ler_add; last exact: few.
  apply: siblings_le => // xs _; apply: ler_wpmul2l; first exact: addr_ge0.
  by rewrite /rej /rejection /thresholds_step /= end1.
- by move=> s; have [] := lasts s.
- by move=> s; have [] := lasts s.
move=> s; have [_ _ ll] := lasts s; split; first exact: row_sum.
by rewrite add0r /total_variation (sumV_eq (g := fun y => `|last' s y - rb s y|)) // => y; rewrite distrC.
Qed.
End Rule.
