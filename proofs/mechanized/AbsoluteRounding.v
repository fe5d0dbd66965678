(* Block and token verification with the errors of AbsoluteStep.v: gradual underflow, and rows that are off in all. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum zify.
From mathcomp.algebra_tactics Require Import ring.
From Draftproof Require Import Models Algorithms Verifier Block Token SubBlocks Precision Rounding BlockRounding SeveralDrafts ProblemRounding TreeRounding AbsoluteStep.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

(* The whole of block verification. *)
Section Whole.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma : nat) (c : seq V) (ends : pred (seq V)).
Variables (u h ob os tau G K eta lambda : R) (F : R -> R) (B S : seq V -> V -> R).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1) (h0 : 0 <= h) (tau0 : 0 <= tau) (G0 : 0 <= G) (K0 : 0 <= K).
Hypothesis decided : forall z, 0 <= z <= 1 -> 0 <= F z <= 1 /\ `|F z - z| <= eta.
Notation p := (p_of Mb Ms c).
Notation coin := (coin_of Ms gamma c ends p).
Notation row := (row_of Mb Ms gamma c ends p).
Notation stops := (final gamma ends).
Notation b x := (Mb (c ++ x)).
Notation s x := (Ms (c ++ x)).
Hypotheses (B0 : forall x y, 0 <= B x y) (S0 : forall x y, 0 <= S x y).
Hypotheses (Bb : forall x, apart (b x) (B x) <= ob) (Ss : forall x, apart (s x) (S x) <= os).
Lemma given_row_off x (r : V -> R) : sumV r = 1 -> (forall y, 0 <= r y) -> (forall y, r y * sumV (B x) = B x y) ->
  total_variation (b x) r <= ob.
Proof.
move=> r1 r0 rB; rewrite /total_variation ler_pdivr_mulr ?ltr0n // mulrC.
apply: le_trans (_ : 2%:R * apart (b x) (B x) <= _); last by apply: ler_wpmul2l; rewrite ?ler0n.
apply: le_trans (normalised_near (b x) r1 r0 rB); apply: sumV_le => y.
by rewrite row_sum mul1r.
Qed.
Variables (P : seq V -> R) (w drawn : seq V -> V -> R) (H : seq V -> R).
(* At every prefix: the survivals P, the weights w, the coins H. *)
Definition survivals_absolute : Prop :=
  P [::] = 1 /\ forall x y, next_computed u h tau (B x) (S x) (P x) y (P (rcons x y)).
Definition weights_absolute x : Prop := forall y, weight_computed u h (B x) (S x) (P x) y (w x y).
Definition coin_absolute x : Prop := exists e a D,
  [/\ 0 <= e /\ `|e - sumV (w x)| <= G * sumV (w x) + K, nearly u h (e + 1) a, nearly u h (a - P x) D
    & D != 0 -> nearly u h (e / D) (H x)].
Hypotheses (Pc : survivals_absolute) (wc : forall x, weights_absolute x) (Hc : forall x, coin_absolute x).
Hypotheses (drawn0 : forall x y, 0 <= drawn x y) (drawn1 : forall x, sumV (drawn x) = 1).
Hypothesis drawn_near : forall x, exists r : V -> R,
  [/\ sumV r = 1, forall y, 0 <= r y, total_variation r (drawn x) <= lambda &
      if stops x then forall y, r y * sumV (B x) = B x y else forall y, r y * sumV (w x) = w x y].
Notation next_off := (next_off V u h ob os tau).
Notation last_off := (last_off V u h ob os).
(* What a coin is off by, as a function of what its survival is. *)
Definition coin_rate : R := ((1 + u) * (1 + u) + 1) * (1 + G) + (1 + u).
Definition coin_base : R := ((1 + u) * (1 + u) + 1) * ((1 + G) * last_off + G + K) + (1 + u) * (2%:R * u + h) + 2%:R * (u + h).
Definition gap x : R := `|P x - p x|.
Let ple : forall x, ~~ stops x -> later Ms c p x <= p x := q_later (fun x y _ => p_of_le Mb Ms c x y).
Let p01 := p_of_range Mb Ms c.
Let ob0 : 0 <= ob. Proof. by apply: le_trans (Bb [::]); apply: sumV_ge0. Qed.
Let os0 : 0 <= os. Proof. by apply: le_trans (Ss [::]); apply: sumV_ge0. Qed.
Let g0 : 0 <= growth u 2. Proof. exact: growth_ge0. Qed.
Let k0 : 0 <= alone u h. Proof. by rewrite mulr_ge0 // addr_ge0 ?ler0n. Qed.
Lemma last_off_ge0 : 0 <= last_off.
Proof.
rewrite /AbsoluteStep.last_off; apply: addr_ge0 => //; apply: addr_ge0 => //; apply: addr_ge0; apply: mulr_ge0; rewrite ?ler0n //.
by apply: addr_ge0; rewrite ?ler01.
Qed.
Lemma next_off_ge0 : 0 <= next_off.
Proof.
have two : 0 <= 2%:R :> R := ler0n _ _; have size0 : 0 <= (size (tokens V))%:R :> R := ler0n _ _.
rewrite /AbsoluteStep.next_off; apply: addr_ge0; last exact: mulr_ge0.
apply: addr_ge0 => //; apply: addr_ge0; [exact: addr_ge0 | exact: mulr_ge0].
Qed.
Let rate1 : 1 <= coin_rate.
Proof.
rewrite /coin_rate [X in _ <= X]addrC -addrA ler_addl addr_ge0 // mulr_ge0 ?addr_ge0 ?mulr_ge0 ?addr_ge0 ?ler01 //.
Qed.
Let base0 : 0 <= coin_base.
Proof.
have r0 := last_off_ge0; have one : 0 <= 1 + u by rewrite addr_ge0 ?ler01.
have uh : 0 <= u + h by rewrite addr_ge0.
rewrite /coin_base; apply: addr_ge0; last by apply: mulr_ge0; rewrite ?ler0n.
apply: addr_ge0; last by apply: mulr_ge0 => //; apply: addr_ge0 => //; apply: mulr_ge0; rewrite ?ler0n.
apply: mulr_ge0; first by apply: addr_ge0; rewrite ?ler01 // mulr_ge0.
by apply: addr_ge0 => //; apply: addr_ge0 => //; apply: mulr_ge0 => //; apply: addr_ge0; rewrite ?ler01.
Qed.
Lemma survival_range x : 0 <= P x <= 1.
Proof.
by case: Pc => P1 Ps; case/lastP: x => [|x y]; [rewrite P1 ler01 lexx | have [] := Ps x y].
Qed.
Lemma gap_next x : sumV (fun y => s x y * gap (rcons x y)) <= gap x + next_off.
Proof.
case: Pc => _ Ps; rewrite (sumV_eq (g := fun y => s x y * `|P (rcons x y) - next_p (b x) (s x) (p x) y|)) => [|y].
  exact: (next_near u0 h0 tau0 (row_ge0 Mb _) (row_ge0 Ms _) (row_sum Mb _) (row_sum Ms _) (B0 x) (S0 x) (Bb x) (Ss x)
    (p01 x) (survival_range x) (Ps x)).
by rewrite /gap p_of_rcons.
Qed.
Lemma below_gap (r a : R) n x : 0 <= r -> 0 <= a ->
  below Ms c ends (fun z => r * gap z + a) n x <= \sum_(i < n) (r * (gap x + i.+1%:R * next_off) + a).
Proof.
move=> r0 a0; have nx := next_off_ge0; elim: n x => [|n IH] x; first by rewrite big_ord0.
rewrite /=; case: ifP => _.
  apply: sumr_ge0 => i _; apply: addr_ge0 => //; apply: mulr_ge0 => //; apply: addr_ge0; [exact: normr_ge0 | apply: mulr_ge0 => //; exact: ler0n].
apply: le_trans (_ : sumV (fun y => \sum_(i < n.+1) (r * (s x y * gap (rcons x y)) + s x y * (r * (i%:R * next_off) + a))) <= _).
  apply: sumV_le => y; apply: le_trans (ler_wpmul2l (row_ge0 Ms _ _) (ler_add (lexx _) (IH _))) _.
  rewrite [X in _ <= X](eq_bigr (fun i : 'I_n.+1 => s x y * (r * (gap (rcons x y) + i%:R * next_off) + a))) => [|i _]; last by ring.
  by rewrite -mulr_sumr big_ord_recl mul0r addr0.
rewrite sumV_exch; apply: ler_sum => i _; rewrite sumVD sumVZ sumVZr row_sum mul1r addrA -mulrDr ler_add2r.
apply: ler_wpmul2l => //; rewrite [i.+1%:R]mulrS mulrDl mul1r addrA ler_add2r; exact: gap_next.
Qed.
Lemma coin_off_gap x : coin_off V u h ob os (p x) (P x) G K = coin_rate * gap x + coin_base.
Proof.
rewrite /coin_off /normaliser_off /shift_off /sum_off /coin_rate /coin_base -/(gap x) -[2%:R]/(1 + 1); ring.
Qed.
Definition coin_absolutely x : R := F (if stops x then P x else clipped (H x)).
Lemma coin_near_here x : none Ms gamma c ends p x * `|coin_absolutely x - coin x| <= coin_rate * gap x + (coin_base + eta).
Proof.
have /andP[n0 n1] := none_range p01 ple x; have P01 := survival_range x.
set z := if stops x then P x else clipped (H x).
have z01 : 0 <= z <= 1 by rewrite /z; case: ifP => // _; apply: clipped_range.
have [_ zF] := decided z01; rewrite /coin_absolutely -/z.
have -> : F z - coin x = (z - coin x) + (F z - z) by ring.
apply: le_trans (ler_wpmul2l n0 (ler_norm_add _ _)) _; rewrite mulrDr [X in _ <= X]addrA; apply: ler_add; last first.
  by apply: le_trans zF; rewrite ler_pimull.
move: n0; rewrite /z coin_block /none; case: ifP => f n0.
  rewrite mul1r -/(gap x); apply: le_trans (_ : coin_rate * gap x <= _); last by rewrite ler_addl.
  by rewrite ler_pemull //; exact: normr_ge0.
rewrite later_share; have [e [a [D [[e0 ew] ar Dr Hr]]]] := Hc x; rewrite -coin_off_gap.
exact: (coin_apart u0 u1 h0 (row_ge0 Mb _) (row_ge0 Ms _) (row_sum Mb _) (B0 x) (S0 x) (Bb x) (Ss x) (p01 x) P01
  G0 (wc x) e0 ew ar Dr Hr).
Qed.
Lemma drawn_near_here x : ending Ms gamma c ends p x * total_variation (row x) (drawn x)
  <= (gap x + last_off) + ending Ms gamma c ends p x * lambda.
Proof.
have [r [r1 r0 rl re]] := drawn_near x; have e0 := ending_ge0 p01 ple x.
apply: le_trans (ler_wpmul2l e0 (tv_triangle (row x) r (drawn x))) _; rewrite mulrDr; apply: ler_add; last exact: ler_wpmul2l.
move: re e0; rewrite /ending; case: (boolP (stops x)) => f re e0.
  have /andP[_ p1] := p01 x; have ob_le : ob <= last_off.
    rewrite /AbsoluteStep.last_off addrAC ler_addr; apply: addr_ge0 => //.
    by apply: addr_ge0; apply: mulr_ge0; rewrite ?ler0n //; apply: addr_ge0; rewrite ?ler01.
  have tv := given_row_off r1 r0 re; apply: le_trans (_ : ob <= _); last by apply: le_trans ob_le _; rewrite ler_addr normr_ge0.
  apply: le_trans tv; rewrite /total_variation (sumV_eq (g := fun y => `|r y - b x y|)) => [|y]; last by rewrite row_block f.
  by rewrite ler_pimull // divr_ge0 ?ler0n // sumV_ge0 // => y; exact: normr_ge0.
rewrite later_share -excessE ?row_sum //.
have -> : total_variation (row x) r = total_variation (residual (b x) (s x) (p x)) r.
  by rewrite /total_variation; congr (_ / _); apply: sumV_eq => y; rewrite row_block (negPf f).
exact: (row_drawn (p x) u0 u1 h0 (row_ge0 Mb _) (row_sum Mb _) (B0 x) (S0 x) (Bb x) (Ss x) (survival_range x)
  (wc x) re r1 r0).
Qed.
Theorem block_absolute (U : seq V -> V -> R) : (forall x y, 0 <= U x y <= 1) ->
  `|draft Ms c ends gamma [::] (fun X => sub_verify coin_absolutely drawn X U)
    - draft Ms c ends gamma [::] (fun X => block_verify Mb Ms c X U)|
  <= \sum_(i < gamma) (coin_rate * (i.+1%:R * next_off) + (coin_base + eta)) + \sum_(i < gamma.+1) (i%:R * next_off + last_off)
    + lambda.
Proof.
move=> U01; have -> : draft Ms c ends gamma [::] (fun X => block_verify Mb Ms c X U)
    = draft Ms c ends gamma [::] (fun X => sub_verify coin row X U).
  by have := @block_loop_sub _ _ Mb Ms gamma c ends U gamma [::] [::]; apply; [|left].
have c01 x : 0 <= coin_absolutely x <= 1.
  have P01 := survival_range x; rewrite /coin_absolutely; set z := if _ then _ else _.
  by have z01 : 0 <= z <= 1; [rewrite /z; case: ifP => // _; apply: clipped_range | case: (decided z01)].
have eta0 : 0 <= eta by have [|_ le] := decided (z := 0); rewrite ?lexx ?ler01 //; apply: le_trans le.
apply: le_trans (@near_law_here _ _ Mb Ms gamma c ends p _ p01 ple coin_absolutely drawn (fun z => coin_rate * gap z + (coin_base + eta))
  (fun z => (1 * gap z + last_off) + ending Ms gamma c ends p z * lambda) U c01 drawn0 drawn1 _ _ U01) _ => // [x _|x _|].
- exact: coin_near_here.
- by rewrite mul1r; apply: drawn_near_here.
have be := @below_ending V R Ms gamma c ends p gamma [::] lambda (add0n gamma); rewrite {3}/p_of /= mul1r in be.
have gap0 : gap [::] = 0 by case: Pc => P1 _; rewrite /gap P1 /p_of /= subrr normr0.
have rate0 : 0 <= coin_rate := le_trans ler01 rate1.
have A := below_gap gamma [::] rate0 (addr_ge0 base0 eta0); have C := below_gap gamma [::] ler01 last_off_ge0.
rewrite gap0 in A C; rewrite [below _ _ _ (fun z => 1 * gap z + last_off + _) _ _]belowD gap0 mulr0 add0r.
set e := ending _ _ _ _ _ _ * lambda; set l := below _ _ _ (fun z => ending _ _ _ _ _ _ * lambda) _ _ in be *.
have -> : \sum_(i < gamma.+1) (i%:R * next_off + last_off) = last_off + \sum_(i < gamma) (1 * (0 + i.+1%:R * next_off) + last_off).
  by rewrite big_ord_recl mul0r add0r; congr (_ + _); apply: eq_bigr => i _; rewrite mul1r add0r.
have -> : \sum_(i < gamma) (coin_rate * (i.+1%:R * next_off) + (coin_base + eta))
    = \sum_(i < gamma) (coin_rate * (0 + i.+1%:R * next_off) + (coin_base + eta)) by apply: eq_bigr => i _; rewrite add0r.
set X := below _ _ _ _ _ _ in A *; set Y := below _ _ _ _ _ _ in C *.
have -> : X + (last_off + e + (Y + l)) = X + (last_off + Y) + (e + l) by ring.
by rewrite be ler_add2r; apply: ler_add => //; rewrite ler_add2l.
Qed.
End Whole.

(* Token verification: no survival, so that no error is carried on. *)
Section Token.
Variables (V : vocabulary) (R : realFieldType) (Mb Ms : model V R) (gamma : nat) (c : seq V).
Variables (u h ob os tau eta lambda : R) (F : R -> R) (B S H w drawn A : seq V -> V -> R).
Hypotheses (u0 : 0 <= u) (u1 : u <= 1) (h0 : 0 <= h) (tau0 : 0 <= tau).
Hypothesis decided : forall z, 0 <= z <= 1 -> 0 <= F z <= 1 /\ `|F z - z| <= eta.
Implicit Types (x X : seq V).
Notation b x := (Mb (c ++ x)).
Notation s x := (Ms (c ++ x)).
Hypotheses (B0 : forall x y, 0 <= B x y) (S0 : forall x y, 0 <= S x y).
Hypotheses (Bb : forall x, apart (b x) (B x) <= ob) (Ss : forall x, apart (s x) (S x) <= os).
Definition token_coin_absolute x y : Prop :=
  0 <= H x y <= 1 /\ (tau < S x y -> exists2 r, nearly u h (B x y / S x y) r & H x y = Num.min r 1).
Definition token_weight_absolute x y : Prop := exists2 e, nearly u h (B x y - S x y) e & w x y = Num.max e 0.
Hypotheses (Hc : forall x y, token_coin_absolute x y) (wc : forall x y, token_weight_absolute x y).
Hypotheses (drawn0 : forall x y, 0 <= drawn x y) (drawn1 : forall x, sumV (drawn x) = 1).
Hypothesis drawn_near : forall x, exists r : V -> R, [/\ sumV r = 1, forall y, 0 <= r y, total_variation r (drawn x) <= lambda &
  if size x == gamma then forall y, r y * sumV (B x) = B x y else forall y, r y * sumV (w x) = w x y].
Hypothesis A01 : forall x y, 0 <= A x y <= 1.
Notation next_off := (next_off V u h ob os tau).
Notation last_off := (last_off V u h ob os).
Let ob0 : 0 <= ob. Proof. by apply: le_trans (Bb [::]); apply: sumV_ge0. Qed.
Let one01 : 0 <= (1 : R) <= 1. Proof. by rewrite ler01 lexx. Qed.
Let eta0 : 0 <= eta.
Proof. by have [|_ le] := decided (z := 0); rewrite ?lexx ?ler01 //; apply: le_trans le. Qed.
Definition token_step_off : R := next_off + eta + last_off.
Lemma token_coins_here x : sumV (fun y => s x y * `|H x y - h_token (b x) (s x) y|) <= next_off.
Proof.
have hv y : next_computed u h tau (B x) (S x) 1 y (H x y).
  have [H01 hr] := Hc x y; split=> // big; have [r rr ->] := hr big; exists r, r; split=> //.
  by rewrite mul1r; apply: nearly_itself.
have := next_near u0 h0 tau0 (row_ge0 Mb _) (row_ge0 Ms _) (row_sum Mb _) (row_sum Ms _) (B0 x) (S0 x) (Bb x) (Ss x) one01 one01 hv.
rewrite subrr normr0 add0r; apply: le_trans; rewrite le_eqVlt; apply/orP; left; apply/eqP.
by apply: sumV_eq => y; rewrite h_tokenE.
Qed.
Lemma token_row_here x r : (forall y, r y * sumV (w x) = w x y) -> sumV r = 1 -> (forall y, 0 <= r y) ->
  excess (b x) (s x) 1 * total_variation (residual (b x) (s x) 1) r <= last_off.
Proof.
have hw y : weight_computed u h (B x) (S x) 1 y (w x y).
  have [e he ->] := wc x y; exists (B x y), e; split=> //.
  by rewrite mul1r; apply: nearly_itself.
move=> rw r1 r0.
have := row_drawn (s := s x) 1 u0 u1 h0 (row_ge0 Mb _) (row_sum Mb _) (B0 x) (S0 x) (Bb x) (Ss x) one01 hw rw r1 r0.
by rewrite subrr normr0 add0r.
Qed.
Lemma token_absolute_range x X : 0 <= token_computed F H drawn A x X <= 1.
Proof.
have last z : 0 <= draw (drawn z) (A z) <= 1 by apply: draw_range.
elim: X x => [|y X IH] x /=; first exact: last.
have [H01 _] := Hc x y; have [F01 _] := decided H01.
by apply: mix_range => //; apply: last.
Qed.
Let step0 : 0 <= token_step_off.
Proof.
have e0 : 0 <= next_off by apply: le_trans (token_coins_here [::]); apply: sumV_ge0 => y; rewrite mulr_ge0.
have r0 : 0 <= last_off.
  have os0 : 0 <= os by apply: le_trans (Ss [::]); apply: sumV_ge0.
  by apply: last_off_ge0.
by rewrite /token_step_off; apply: addr_ge0 => //; apply: addr_ge0.
Qed.
Lemma token_absolute_from n x : (size x + n)%N = gamma ->
  `|gen Ms n (c ++ x) (token_computed F H drawn A x)
    - gen Ms n (c ++ x) (fun X => token_loop Mb Ms c x X (fun kept => finish Mb Ms gamma c A kept 1))|
  <= n%:R * token_step_off + ob + lambda.
Proof.
elim: n x => [|n IH] x hn; have [r [r1 r0 rl re]] := drawn_near x.
  move: hn re; rewrite addn0 mul0r add0r => hn; rewrite /= /finish hn eqxx => re.
  apply: le_trans (tv_bounds (row_sum Mb _) (drawn1 x) (A01 x)) _.
  apply: le_trans (tv_triangle _ r _) _; apply: ler_add => //.
  exact: (given_row_off Bb r1 r0 re).
have ne : (size x == gamma) = false by rewrite -hn -[X in X == _]addn0 eqn_add2l.
have hn' y : (size (rcons x y) + n)%N = gamma by rewrite size_rcons addSnnS.
rewrite ne in re; have h01 y := h_token_range y (row_ge0 Mb (c ++ x)) (row_ge0 Ms (c ++ x)).
set k := h_token _ _ in h01 *.
pose comp y := gen Ms n (c ++ rcons x y) (token_computed F H drawn A (rcons x y)).
pose exact y := gen Ms n (c ++ rcons x y) (fun X => token_loop Mb Ms c (rcons x y) X (fun kept => finish Mb Ms gamma c A kept 1)).
pose last' := draw (drawn x) (A x); pose last := draw (residual (b x) (s x) 1) (A x).
have split' y : gen Ms n (rcons (c ++ x) y) (fun X => token_computed F H drawn A x (y :: X)) = F (H x y) * comp y + (1 - F (H x y)) * last'.
  by rewrite rcons_cat /= /flip genD !genZ gen_const.
have split y : gen Ms n (rcons (c ++ x) y) (fun X => token_loop Mb Ms c x (y :: X) (fun kept => finish Mb Ms gamma c A kept 1))
    = k y * exact y + (1 - k y) * last.
  by rewrite rcons_cat /= /flip genD !genZ gen_const /finish ne.
have x0 : 0 <= excess (b x) (s x) 1 by apply: sumV_ge0 => y; apply: over_ge0.
have rows : excess (b x) (s x) 1 * `|last' - last| <= last_off + excess (b x) (s x) 1 * lambda.
  have [res0 res1] := residual_row (s x) 1 (row_ge0 Mb (c ++ x)) (row_sum Mb (c ++ x)).
  apply: le_trans (ler_wpmul2l x0 (tv_bounds res1 (drawn1 x) (A01 x))) _.
  apply: le_trans (ler_wpmul2l x0 (tv_triangle _ r _)) _; rewrite mulrDr; apply: ler_add; last exact: ler_wpmul2l.
  exact: token_row_here.
set cost := n%:R * token_step_off + ob in IH *; have cost0 : 0 <= cost by rewrite addr_ge0 // mulr_ge0 ?ler0n.
rewrite !genS (sumV_eq (fun y => congr1 _ (split' y))) (sumV_eq (fun y => congr1 _ (split y))) -sumVB.
apply: le_trans (sumV_norm _) _.
apply: le_trans (_ : sumV (fun y => s x y * eta + s x y * `|H x y - k y| + s x y * k y * (cost + lambda)
    + s x y * (1 - k y) * `|last' - last|) <= _).
  apply: sumV_le => y; rewrite -mulrBr normrM (ger0_norm (row_ge0 Ms _ _)) -!mulrA -!mulrDr; apply: ler_wpmul2l => //.
  have [H01 _] := Hc x y; have [F01 Fh] := decided H01; have /andP[k0 k1] := h01 y.
  have c01 : 0 <= comp y <= 1.
    apply/andP; split; first by apply: gen_ge0 => X _; have /andP[] := token_absolute_range (rcons x y) X.
    rewrite -[X in _ <= X](gen_const Ms n (c ++ rcons x y)); apply: gen_le => X _.
    by have /andP[] := token_absolute_range (rcons x y) X.
  apply: le_trans (mix_near _ _ _ (h01 y) c01 (draw_range (drawn1 x) (drawn0 x) (A01 x))) _.
  rewrite -[X in _ <= X]addrA; apply: ler_add.
    have -> : F (H x y) - k y = (F (H x y) - H x y) + (H x y - k y) by ring.
    by apply: le_trans (ler_norm_add _ _) _; apply: ler_add.
  by rewrite ler_add2r; apply: ler_wpmul2l => //; apply: IH.
have rest : sumV (fun y => s x y * (1 - k y)) = excess (b x) (s x) 1.
  rewrite excessE ?row_sum // -(share_next (row_ge0 Mb _) (row_ge0 Ms _) ler01) -[X in _ = X - _](row_sum Ms (c ++ x)) -sumVB.
  by apply: sumV_eq => y; rewrite /k /h_token /next_p mul1r; ring.
have kept : sumV (fun y => s x y * k y) = 1 - excess (b x) (s x) 1.
  by rewrite -rest -[X in X - _](row_sum Ms (c ++ x)) -sumVB; apply: sumV_eq => y; ring.
have coins := token_coins_here x; rewrite -/k in coins.
rewrite !sumVD !sumVZr rest kept row_sum mul1r.
have left : (1 - excess (b x) (s x) 1) * cost <= cost by rewrite ler_pimull // ger_addl oppr_le0.
apply: le_trans (ler_add (ler_add (ler_add (lexx eta) coins) (lexx _)) rows) _.
have -> : n.+1%:R * token_step_off + ob = token_step_off + cost by rewrite [n.+1%:R]mulrS /cost; ring.
have -> : eta + next_off + (1 - excess (b x) (s x) 1) * (cost + lambda) + (last_off + excess (b x) (s x) 1 * lambda)
  = token_step_off + (1 - excess (b x) (s x) 1) * cost + lambda by rewrite /token_step_off; ring.
by rewrite ler_add2r ler_add2l.
Qed.
Theorem token_absolute :
  `|gen Ms gamma c (token_computed F H drawn A [::]) - gen Ms gamma c (fun X => token_verify Mb Ms c X A)|
  <= gamma%:R * token_step_off + ob + lambda.
Proof.
have := @token_absolute_from gamma [::] (add0n gamma); rewrite cats0.
rewrite (_ : gen Ms gamma c (fun X => token_loop _ _ _ _ X _) = gen Ms gamma c (fun X => token_verify Mb Ms c X A)) //.
by apply: gen_eq => X hX; rewrite /token_verify hX.
Qed.
End Token.
