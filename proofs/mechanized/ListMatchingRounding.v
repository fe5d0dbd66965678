(* List matching by shared noise in floating point.  Each number of the law of the target's pick is a sum of products and
   quotients of positive ones, off by a relative error; the times p / q, as they are computed, are exactly those of another
   target's row, near the given one, whose law the rule has.  What is assumed is the standard model of Rounding.v. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum zify.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Models Algorithms Verifier Block SubBlocks Precision Rounding BlockRounding ProblemRounding MultiPathRounding ListMatching.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

(* The integral over t of exp(-A t) times 1 - exp(-d t) for each clock d: all of them ring before a clock A does. *)
Section Rings.
Variable R : realFieldType.
Implicit Types (A d : R) (ds : seq R).
Fixpoint alt ds A : R := if ds is d :: ds' then alt ds' A - alt ds' (A + d) else A^-1.
Definition del i ds : seq R := take i ds ++ drop i.+1 ds.
Definition total_of ds : R := \sum_(d <- ds) d.
Fixpoint rings n A ds : R :=
  if n is n'.+1 then (\sum_(i < size ds) nth 0 ds i * rings n' A (del i ds)) / (A + total_of ds) else A^-1.
Lemma size_del i ds : (i < size ds)%N -> size (del i ds) = (size ds).-1.
Proof. by move=> lt; rewrite size_cat size_take lt size_drop; move: lt; clear; lia. Qed.
Lemma all_del (P : pred R) i ds : all P ds -> all P (del i ds).
Proof.
move=> h; rewrite all_cat; apply/andP; split; apply/allP => d hd; apply: (allP h).
  exact: mem_take hd.
exact: mem_drop hd.
Qed.
Lemma total_ge0 ds : all (fun d => 0 <= d) ds -> 0 <= total_of ds.
Proof. by move=> h; rewrite /total_of big_seq; apply: sumr_ge0 => d din; exact: (allP h d din). Qed.
Lemma alt_step ds A : 0 < A -> all (fun d => 0 <= d) ds ->
  (A + total_of ds) * alt ds A = (ds == [::])%:R + \sum_(i < size ds) nth 0 ds i * alt (del i ds) A.
Proof.
elim: ds A => [|d ds IH] A A0 /=; first by rewrite /total_of big_nil big_ord0 !addr0 mulfV // lt0r_neq0.
move=> /andP[d0 h]; have A'0 : 0 < A + d by rewrite ltr_paddr.
rewrite /total_of big_cons -/(total_of ds) big_ord_recl /= /del take0 drop1 /= add0r.
have -> : (A + (d + total_of ds)) * (alt ds A - alt ds (A + d))
    = (A + total_of ds) * alt ds A + d * alt ds A - (A + d + total_of ds) * alt ds (A + d) by ring.
rewrite (IH _ A0 h) (IH _ A'0 h).
have -> : \sum_(i < size ds) nth 0 ds i * (alt (take i ds ++ drop (bump 0 i) ds) A - alt (take i ds ++ drop (bump 0 i) ds) (A + d))
    = \sum_(i < size ds) nth 0 ds i * alt (del i ds) A - \sum_(i < size ds) nth 0 ds i * alt (del i ds) (A + d).
  by rewrite -sumrB; apply: eq_bigr => i _; rewrite -mulrBr.
ring.
Qed.
Lemma alt_rings n ds A : size ds = n -> 0 < A -> all (fun d => 0 <= d) ds -> alt ds A = rings n A ds.
Proof.
elim: n ds => [|n IH] ds hs A0 h; first by move: hs => /size0nil ->.
have S0 : 0 < A + total_of ds by rewrite ltr_paddr // total_ge0.
have -> : alt ds A = (A + total_of ds) * alt ds A / (A + total_of ds) by rewrite mulrC mulKf // lt0r_neq0.
rewrite alt_step //=; congr (_ / _); have -> : (ds == [::]) = false by case: ds hs {h S0}.
rewrite add0r; apply: eq_bigr => i _; rewrite IH ?size_del ?hs //; exact: all_del.
Qed.
Lemma rings_ge0 n A ds : 0 < A -> all (fun d => 0 <= d) ds -> 0 <= rings n A ds.
Proof.
elim: n ds => [|n IH] ds A0 h /=; first by rewrite invr_ge0 ltW.
rewrite divr_ge0 //; last by rewrite addr_ge0 ?total_ge0 // ltW.
apply: sumr_ge0 => i _; rewrite mulr_ge0 ?IH ?all_del //; exact: (allP h _ (mem_nth 0 (ltn_ord i))).
Qed.
End Rings.

(* The same with errors: A within a, the clocks within a. *)
Section RingsNear.
Variables (R : realFieldType) (u : R).
Hypothesis u0 : 0 <= u.
Implicit Types (A d e a : R) (ds : seq R).
Notation rounds := (Rounding.rounds u).
Fixpoint rings_computed n A ds v : Prop :=
  if n is n'.+1 then exists (vs ws : nat -> R) num den,
    [/\ forall i, (i < size ds)%N -> rings_computed n' A (del i ds) (vs i),
        forall i, (i < size ds)%N -> rounds (nth 0 ds i * vs i) (ws i),
        within u (size ds) (\sum_(i < size ds) ws i) num, within u (size ds) (A + total_of ds) den & rounds (num / den) v]
  else rounds A^-1 v.
Fixpoint rings_off a n : R :=
  if n is n'.+1 then
    let of_sum := both a (growth u n) in
    both (both (both (both (both a (rings_off a n')) u) (growth u n)) (of_sum / (1 - of_sum))) u
  else both (a / (1 - a)) u.
Fixpoint near_all e ds ds' : Prop :=
  match ds, ds' with
  | [::], [::] => True
  | d :: s, d' :: s' => rel e d d' /\ near_all e s s'
  | _, _ => False
  end.
Lemma near_size e ds ds' : near_all e ds ds' -> size ds' = size ds.
Proof. by elim: ds ds' => [|d ds IH] [|d' ds'] //= [_ /IH ->]. Qed.
Lemma near_nth e ds ds' i : near_all e ds ds' -> (i < size ds)%N -> rel e (nth 0 ds i) (nth 0 ds' i).
Proof. by elim: ds ds' i => [|d ds IH] [|d' ds'] [|i] //= [h t] lt //; apply: IH. Qed.
Lemma near_del e ds ds' i : near_all e ds ds' -> near_all e (del i ds) (del i ds').
Proof.
rewrite /del; elim: ds ds' i => [|d ds IH] [|d' ds'] [|i] //= [h t]; first by rewrite !drop0.
by split=> //; apply: IH.
Qed.
Lemma near_total e ds ds' : near_all e ds ds' -> rel e (total_of ds) (total_of ds').
Proof.
elim: ds ds' => [|d ds IH] [|d' ds'] //=; first by rewrite /rel /total_of big_nil subrr normr0 mulr0.
by move=> [h /IH t]; rewrite /total_of !big_cons; apply: rel_add.
Qed.
Lemma rel_sum n e (f g : nat -> R) : (forall i, (i < n)%N -> rel e (f i) (g i)) -> rel e (\sum_(i < n) f i) (\sum_(i < n) g i).
Proof.
move=> h; rewrite /rel -sumrB mulr_sumr; apply: le_trans (ler_norm_sum _ _ _) _; apply: ler_sum => i _; exact: h.
Qed.
Lemma rings_off_ge0 a n : 0 <= a -> (forall j, (j <= n)%N -> both a (growth u j) < 1) -> 0 <= rings_off a n.
Proof.
move=> a0; elim: n => [|n IH] ok /=.
  have := ok 0%N isT; rewrite growth0 /both addr0 mulr1 addrAC subrr add0r => a1.
  by rewrite both_ge0 // divr_ge0 // subr_ge0 ltW.
have g0 := growth_ge0 u0 n.+1; have s0 : 0 <= both a (growth u n.+1) by apply: both_ge0.
have r0 : 0 <= rings_off a n by apply: IH => j le; apply: ok; apply: leqW.
by rewrite !both_ge0 // divr_ge0 // subr_ge0 ltW // ok.
Qed.
Lemma rings_near a n A A' ds ds' v : 0 <= a -> (forall j, (j <= n)%N -> both a (growth u j) < 1) -> size ds = n -> 0 < A ->
  all (fun d => 0 <= d) ds -> rel a A A' -> near_all a ds ds' -> rings_computed n A' ds' v -> rel (rings_off a n) (rings n A ds) v.
Proof.
move=> a0; elim: n ds ds' v => [|n IH] ds ds' v ok hs A0 h hA hd /=.
  have := ok 0%N isT; rewrite growth0 /both addr0 mulr1 addrAC subrr add0r => a1 rv.
  apply: rel_rounds rv => //; [by rewrite divr_ge0 // subr_ge0 ltW | by rewrite invr_ge0 ltW | exact: rel_inv (ltW A0) hA].
move=> [vs [ws [num [den [hv hw hn hD rv]]]]]; have sz := near_size hd.
have g0 := growth_ge0 u0 n.+1; have s0 : 0 <= both a (growth u n.+1) by apply: both_ge0.
have ok' j : (j <= n)%N -> both a (growth u j) < 1 by move=> le; apply: ok; apply: leqW.
have r0 := rings_off_ge0 a0 ok'; have d0 i : (i < size ds)%N -> 0 <= nth 0 ds i by move=> lt; exact: (allP h _ (mem_nth 0 lt)).
have ar : 0 <= both a (rings_off a n) by apply: both_ge0.
have i0 : 0 <= both a (growth u n.+1) / (1 - both a (growth u n.+1)) by rewrite divr_ge0 // subr_ge0 ltW // ok.
have R0 i : 0 <= rings n A (del i ds) by apply: rings_ge0 => //; apply: all_del.
have S0 : 0 <= A + total_of ds by rewrite addr_ge0 ?total_ge0 // ltW.
have N0 : 0 <= \sum_(i < size ds) nth 0 ds i * rings n A (del i ds) by apply: sumr_ge0 => i _; rewrite mulr_ge0 // d0.
have terms i : (i < size ds)%N -> rel (both (both a (rings_off a n)) u) (nth 0 ds i * rings n A (del i ds)) (ws i).
  move=> lt; apply: rel_rounds (hw i _) => //; first by rewrite mulr_ge0 // d0.
    apply: rel_mul => //; [exact: d0 | exact: near_nth | apply: (IH (del i ds) (del i ds')) => //].
    - by rewrite size_del // hs.
    - exact: all_del.
    - exact: near_del.
    - by apply: hv; rewrite sz.
  by rewrite sz.
rewrite sz hs in hn; rewrite sz hs in hD; rewrite hs in terms *.
have := rel_trans g0 _ (rel_sum terms) hn; rewrite hs in N0 => /(_ N0) hnum.
have hden := rel_trans g0 S0 (rel_add hA (near_total hd)) hD.
apply: rel_rounds rv => //; first by rewrite !both_ge0.
  by rewrite divr_ge0.
by apply: rel_mul; rewrite ?invr_ge0 //; [rewrite !both_ge0 | apply: rel_inv hden; rewrite // ok].
Qed.
End RingsNear.

(* One draft after another: what its pieces are worth (weight, rate, clock or none), times what follows. *)
Section Race.
Variables (R : realFieldType) (u e : R) (s : nat).
Hypotheses (u0 : 0 <= u) (e0 : 0 <= e).
Definition piece : Type := (R * R * seq R)%type.
Definition nothing : piece := (0, 0, [::]).
Implicit Types (A a : R) (ds : seq R) (w : piece) (sp : seq piece) (spans : seq (seq piece)).
Notation rounds := (Rounding.rounds u).
Fixpoint race spans A ds : R :=
  if spans is sp :: rest then \sum_(w <- sp) w.1.1 * race rest (A + w.1.2) (w.2 ++ ds) else alt ds A.
Fixpoint race_computed spans A ds v : Prop :=
  if spans is sp :: rest then exists As vs ws : nat -> R,
    [/\ forall i, (i < size sp)%N -> rounds (A + (nth nothing sp i).1.2) (As i),
        forall i, (i < size sp)%N -> race_computed rest (As i) ((nth nothing sp i).2 ++ ds) (vs i),
        forall i, (i < size sp)%N -> rounds ((nth nothing sp i).1.1 * vs i) (ws i)
      & within u (size sp) (\sum_(i < size sp) ws i) v]
  else rings_computed u (size ds) A ds v.
Definition positive w : bool := [&& 0 <= w.1.1, 0 <= w.1.2, all (fun d => 0 <= d) w.2 & (size w.2 <= 1)%N].
Definition near_piece w w' : Prop := [/\ rel e w.1.1 w'.1.1, rel e w.1.2 w'.1.2 & near_all e w.2 w'.2].
Fixpoint near_spans spans spans' : Prop :=
  match spans, spans' with
  | [::], [::] => True
  | sp :: r, sp' :: r' => [/\ size sp' = size sp, (size sp <= s)%N, all positive sp,
      forall i, (i < size sp)%N -> near_piece (nth nothing sp i) (nth nothing sp' i) & near_spans r r']
  | _, _ => False
  end.
Fixpoint after_rates a k : R := if k is k'.+1 then after_rates (both a u) k' else a.
Fixpoint race_off a k n : R :=
  if k is k'.+1 then both (both (both e (race_off (both a u) k' n)) u) (growth u s) else rings_off u a n.
Lemma near_all_le (f g : R) ds ds' : f <= g -> all (fun d => 0 <= d) ds -> near_all f ds ds' -> near_all g ds ds'.
Proof.
move=> fg; elim: ds ds' => [|d ds IH] [|d' ds'] //= /andP[d0 h] [hd ht]; split; last exact: IH.
exact: rel_le fg d0 hd.
Qed.
Lemma near_all_cat (f : R) ds1 ds1' ds2 ds2' : near_all f ds1 ds1' -> near_all f ds2 ds2' -> near_all f (ds1 ++ ds2) (ds1' ++ ds2').
Proof. by elim: ds1 ds1' => [|d ds IH] [|d' ds'] //= [hd ht] h2; split=> //; apply: IH. Qed.
Lemma rings_off_mono a j n : 0 <= a -> (forall i, (i <= n)%N -> both a (growth u i) < 1) -> (j <= n)%N ->
  rings_off u a j <= rings_off u a n.
Proof.
move=> a0; elim: n => [|n IH] ok; first by rewrite leqn0 => /eqP ->.
rewrite leq_eqVlt => /orP[/eqP -> //|le].
have ok' i : (i <= n)%N -> both a (growth u i) < 1 by move=> h; apply: ok; apply: leqW.
apply: le_trans (IH ok' le) _ => /=; have r0 := rings_off_ge0 u0 a0 ok'; have g0 := growth_ge0 u0 n.+1.
have s0 : 0 <= both a (growth u n.+1) by apply: both_ge0.
have i0 : 0 <= both a (growth u n.+1) / (1 - both a (growth u n.+1)) by rewrite divr_ge0 // subr_ge0 ltW // ok.
apply: le_trans (_ : both a (rings_off u a n) <= _).
  by have := both_ge r0 a0; rewrite /both mulrC.
have ar := both_ge0 a0 r0.
apply: le_trans (both_ge ar u0) _; apply: le_trans (both_ge (both_ge0 ar u0) g0) _.
apply: le_trans (both_ge (both_ge0 (both_ge0 ar u0) g0) i0) _.
by apply: both_ge => //; rewrite !both_ge0.
Qed.
Lemma race_ge0 spans spans' A ds : near_spans spans spans' -> 0 < A -> all (fun d => 0 <= d) ds -> 0 <= race spans A ds.
Proof.
elim: spans spans' A ds => [|sp r IH] [|sp' r'] A ds //= hS A0 h; first by rewrite (alt_rings erefl) // rings_ge0.
case: hS => _ _ hp _ hr; rewrite big_seq; apply: sumr_ge0 => w win; have /and4P[w0 w1 w2 _] := allP hp w win.
rewrite mulr_ge0 //; apply: IH hr _ _; first by rewrite ltr_paddr.
by rewrite all_cat w2.
Qed.
Lemma race_off_ge0 a k n : 0 <= a -> (forall j, (j <= n)%N -> both (after_rates a k) (growth u j) < 1) -> 0 <= race_off a k n.
Proof.
elim: k a => [|k IH] a a0 ok /=; first exact: rings_off_ge0.
have r0 := IH (both a u) (both_ge0 a0 u0) ok.
by rewrite !both_ge0 ?growth_ge0.
Qed.
Theorem race_near spans spans' A A' ds ds' a n v : near_spans spans spans' -> e <= a -> 0 < A -> all (fun d => 0 <= d) ds ->
  rel a A A' -> near_all e ds ds' -> (size ds + size spans <= n)%N ->
  (forall j, (j <= n)%N -> both (after_rates a (size spans)) (growth u j) < 1) ->
  race_computed spans' A' ds' v -> rel (race_off a (size spans) n) (race spans A ds) v.
Proof.
elim: spans spans' A A' ds ds' a v => [|sp r IH] [|sp' r'] A A' ds ds' a v //= hS ea A0 h hA hd hn ok.
  have a0 := le_trans e0 ea; rewrite (near_size hd) (alt_rings erefl) // => rv; rewrite addn0 in hn.
  apply: (@rel_le _ (rings_off u a (size ds))); [exact: rings_off_mono | exact: rings_ge0 | ].
  apply: (rings_near u0 a0 _ erefl A0 h hA (near_all_le ea h hd) rv) => j le; apply: ok; exact: leq_trans hn.
case: hS => sz les hp near hr [As [vs [ws [hAs hv hw hsum]]]]; have a0 := le_trans e0 ea.
have ea' : e <= both a u by apply: le_trans ea (both_ge a0 u0).
have r0 := race_off_ge0 (both_ge0 a0 u0) ok; have g0 := growth_ge0 u0 s.
pose F i := (nth nothing sp i).1.1 * race r (A + (nth nothing sp i).1.2) ((nth nothing sp i).2 ++ ds).
have FE : \sum_(w <- sp) w.1.1 * race r (A + w.1.2) (w.2 ++ ds) = \sum_(i < size sp) F i.
  by rewrite (big_nth nothing) big_mkord.
have pos i : (i < size sp)%N -> positive (nth nothing sp i) by move=> lt; exact: (allP hp _ (mem_nth nothing lt)).
have A'0 i : (i < size sp)%N -> 0 < A + (nth nothing sp i).1.2.
  by move=> lt; have /and4P[_ w1 _ _] := pos i lt; rewrite ltr_paddr.
have R0 i : (i < size sp)%N -> 0 <= race r (A + (nth nothing sp i).1.2) ((nth nothing sp i).2 ++ ds).
  move=> lt; apply: race_ge0 hr (A'0 i lt) _; have /and4P[_ _ w2 _] := pos i lt.
  by rewrite all_cat w2.
have terms i : (i < size sp)%N -> rel (both (both e (race_off (both a u) (size r) n)) u) (F i) (ws i).
  move=> lt; have /and4P[w0 w1 w2 w3] := pos i lt; have [n1 n2 n3] := near i lt; have lt' : (i < size sp')%N by rewrite sz.
  apply: rel_rounds (hw i lt') => //; first by rewrite both_ge0.
    by rewrite mulr_ge0 // R0.
  apply: rel_mul => //; first exact: R0.
  apply: (IH r' _ (As i) _ ((nth nothing sp' i).2 ++ ds')) => //.
  - exact: A'0.
  - by rewrite all_cat w2.
  - apply: rel_rounds (hAs i lt') => //; first by rewrite addr_ge0 // ltW.
    by apply: rel_add => //; apply: rel_le ea w1 n2.
  - exact: near_all_cat.
  - by rewrite size_cat; move: hn w3; clear; lia.
  exact: hv.
rewrite FE; rewrite sz in hsum.
have S0 : 0 <= \sum_(i < size sp) F i.
  by apply: sumr_ge0 => i _; have /and4P[w0 _ _ _] := pos i (ltn_ord i); rewrite mulr_ge0 // R0.
set x := both (both e _) u in terms *; have x0 : 0 <= x by rewrite !both_ge0.
apply: (@rel_le _ (both x (growth u (size sp)))) => //; last exact: rel_trans (growth_ge0 u0 _) S0 (rel_sum terms) hsum.
rewrite /both ler_add2r; apply: ler_wpmul2l; first by rewrite addr_ge0 ?ler01.
by rewrite ler_add2l; apply: growth_mono.
Qed.
End Race.
