(* Rules that go down a draft tree token by token, in floating point, against the same rules in exact numbers: lossless or
   not, what each step is off adds up, and no more.  Naive sampling and chosen tokens, which are lossless; and lossy rules:
   verification of another row, by a larger coin, by a judge, by thresholds, with a solver's shares as they are.  What is
   assumed is the standard model of Rounding.v. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum zify.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Models Algorithms Verifier Block SubBlocks Precision Rounding BlockRounding ProblemRounding SeveralDrafts TreeRounding SiblingRounding Descent DescentRounding.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

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
  apply: le_trans (min1_near _ _) _; apply: le_trans (max0_near _ _) _.
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
