(* Finite vocabularies, context-dependent models, and expectations over blocks.
   Everything is a finite sum over an arbitrary real field, so nothing here needs
   analysis, and nothing is an axiom. *)
From mathcomp Require Import all_ssreflect ssralg ssrnum.
From mathcomp.algebra_tactics Require Import ring.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

(* A finite vocabulary together with a list of its tokens.  The list is there only
   so that the definitions compute (MathComp's enumerations do not); every finType
   is one, see vocabulary_of. *)
Record vocabulary := Vocabulary {
  token_of :> finType;
  tokens : seq token_of;
  tokens_ok : perm_eq tokens (enum token_of) }.
Definition vocabulary_of (V : finType) := @Vocabulary V (enum V) (perm_refl _).

Section Models.
Variables (V : vocabulary) (R : realFieldType).
Implicit Types (f g : V -> R) (c s o X : seq V) (F G : seq V -> R).

Definition sumV f : R := foldr (fun x a => f x + a) 0 (tokens V).

Lemma sumVE f : sumV f = \sum_(x : V) f x.
Proof.
by rewrite -big_enum -(perm_big _ (tokens_ok V)) /sumV /= unlock.
Qed.

(* From here on sums over the vocabulary are used through these facts only. *)
Lemma sumV_eq f g : f =1 g -> sumV f = sumV g.
Proof. by move=> e; rewrite !sumVE; apply: eq_bigr => x _; apply: e. Qed.
Lemma sumVD f g : sumV (fun x => f x + g x) = sumV f + sumV g.
Proof. by rewrite !sumVE big_split. Qed.
Lemma sumVB f g : sumV (fun x => f x - g x) = sumV f - sumV g.
Proof. by rewrite !sumVE -sumrB. Qed.
Lemma sumVZ a f : sumV (fun x => a * f x) = a * sumV f.
Proof. by rewrite !sumVE mulr_sumr. Qed.
Lemma sumVZr a f : sumV (fun x => f x * a) = sumV f * a.
Proof. by rewrite !sumVE mulr_suml. Qed.
Lemma sumV0 : sumV (fun=> 0) = 0.
Proof. by rewrite sumVE big1. Qed.
Lemma sumV_le f g : (forall x, f x <= g x) -> sumV f <= sumV g.
Proof. by move=> h; rewrite !sumVE; apply: ler_sum => x _; apply: h. Qed.
Lemma sumV_ge0 f : (forall x, 0 <= f x) -> 0 <= sumV f.
Proof. by move=> h; rewrite sumVE sumr_ge0. Qed.
Lemma sumV_eq0 f : (forall x, 0 <= f x) -> sumV f = 0 -> forall x, f x = 0.
Proof. by rewrite sumVE => h /psumr_eq0P e x; apply: e. Qed.
Lemma sumV_delta a f : sumV (fun x => (x == a)%:R * f x) = f a.
Proof.
rewrite sumVE (bigD1 a) //= eqxx mul1r big1 ?addr0 // => x /negPf ->.
by rewrite mul0r.
Qed.
Lemma sumV_exch (I : Type) (r : seq I) (h : I -> V -> R) :
  sumV (fun x => \sum_(i <- r) h i x) = \sum_(i <- r) sumV (h i).
Proof.
by rewrite sumVE exchange_big /=; apply: eq_bigr => i _; rewrite sumVE.
Qed.
Lemma sumV_sumV (h : V -> V -> R) :
  sumV (fun x => sumV (h x)) = sumV (fun y => sumV (fun x => h x y)).
Proof.
rewrite (sumV_eq (fun x => sumVE (h x))) sumV_exch sumVE.
by apply: eq_bigr => y _.
Qed.

(* A model gives a row for every context; rows may contain zeros. *)
Local Notation rows := (seq V -> V -> R).
Record model := Model {
  row :> rows;
  row_ge0 : forall c x, 0 <= row c x;
  row_sum : forall c, sumV (row c) = 1 }.

(* Autoregressive sampling: the expectation of F over s ~ M^n( . | c). *)
Fixpoint gen (M : rows) n c F : R :=
  if n is n'.+1 then sumV (fun x => M c x * gen M n' (rcons c x) (fun s => F (x :: s)))
  else F [::].

(* M^n(s | c): the probability of the whole block s. *)
Fixpoint joint (M : rows) c s : R :=
  if s is x :: s' then M c x * joint M (rcons c x) s' else 1.

(* The sum over all blocks of length n. *)
Fixpoint sumB n F : R :=
  if n is n'.+1 then sumV (fun x => sumB n' (fun s => F (x :: s))) else F [::].

Section Gen.
Variable M : rows.

Lemma genS n c F :
  gen M n.+1 c F = sumV (fun x => M c x * gen M n (rcons c x) (fun s => F (x :: s))).
Proof. by []. Qed.
(* Only blocks of length n matter. *)
Lemma gen_eq n c F G :
  (forall s, size s = n -> F s = G s) -> gen M n c F = gen M n c G.
Proof.
elim: n c F G => [|n IH] c F G e /=; first exact: e.
by apply: sumV_eq => x; congr (_ * _); apply: IH => s hs; apply: e; rewrite /= hs.
Qed.
Lemma genD n c F G : gen M n c (fun s => F s + G s) = gen M n c F + gen M n c G.
Proof.
elim: n c F G => [|n IH] c F G //=.
by rewrite -sumVD; apply: sumV_eq => x; rewrite IH mulrDr.
Qed.
Lemma genZ n c a F : gen M n c (fun s => a * F s) = a * gen M n c F.
Proof.
elim: n c F => [|n IH] c F //=.
by rewrite -sumVZ; apply: sumV_eq => x; rewrite IH mulrCA.
Qed.
Lemma gen0 n c : gen M n c (fun=> 0) = 0.
Proof. by rewrite -[RHS](mul0r (gen M n c (fun=> 0))) -genZ; apply: gen_eq => s _; rewrite mul0r. Qed.
Lemma genB n c F G : gen M n c (fun s => F s - G s) = gen M n c F - gen M n c G.
Proof.
rewrite -mulN1r -genZ -genD; apply: gen_eq => s _; ring.
Qed.
Lemma gen_sumV n c (F : seq V -> V -> R) :
  gen M n c (fun s => sumV (F s)) = sumV (fun y => gen M n c (fun s => F s y)).
Proof.
elim: n c F => [|n IH] c F //=.
rewrite sumV_sumV; apply: sumV_eq => x; rewrite IH sumVZ //.
Qed.
Lemma gen_sum n c (I : Type) (r : seq I) (F : seq V -> I -> R) :
  gen M n c (fun s => \sum_(i <- r) F s i) = \sum_(i <- r) gen M n c (fun s => F s i).
Proof.
elim: n c F => [|n IH] c F //=.
rewrite -sumV_exch; apply: sumV_eq => x; rewrite IH mulr_sumr //.
Qed.
Lemma gen_sumB n m c (F : seq V -> seq V -> R) :
  gen M n c (fun s => sumB m (F s)) = sumB m (fun o => gen M n c (fun s => F s o)).
Proof.
elim: m F => [|m IH] F //=.
by rewrite gen_sumV; apply: sumV_eq => x; rewrite IH.
Qed.
(* Sampling n + m tokens is sampling n and then m more. *)
Lemma gen_cat n m c F :
  gen M (n + m) c F = gen M n c (fun s => gen M m (c ++ s) (fun z => F (s ++ z))).
Proof.
elim: n c F => [|n IH] c F /=; first by rewrite cats0.
apply: sumV_eq => x; rewrite IH; congr (_ * _); apply: gen_eq => s _.
by rewrite -cats1 -catA.
Qed.
End Gen.

Section Sums.
Lemma sumB_eq n F G : (forall s, size s = n -> F s = G s) -> sumB n F = sumB n G.
Proof.
elim: n F G => [|n IH] F G e /=; first exact: e.
by apply: sumV_eq => x; apply: IH => s hs; apply: e; rewrite /= hs.
Qed.
Lemma sumB_le n F G : (forall s, size s = n -> F s <= G s) -> sumB n F <= sumB n G.
Proof.
elim: n F G => [|n IH] F G e /=; first exact: e.
by apply: sumV_le => x; apply: IH => s hs; apply: e; rewrite /= hs.
Qed.
Lemma sumBZ n a F : sumB n (fun s => a * F s) = a * sumB n F.
Proof.
elim: n F => [|n IH] F //=; rewrite -sumVZ; apply: sumV_eq => x; exact: IH.
Qed.
(* Every function of blocks is a combination of indicators. *)
Lemma sumB_delta n F s : size s = n -> sumB n (fun o => (o == s)%:R * F o) = F s.
Proof.
elim: n F s => [|n IH] F [|y s] //=; first by rewrite mul1r.
case=> hs; rewrite -[RHS](sumV_delta y (fun x => F (x :: s))); apply: sumV_eq => x.
rewrite -(IH (fun o => F (x :: o)) s hs) -sumBZ; apply: sumB_eq => o _.
by rewrite eqseq_cons -mulnb natrM mulrA.
Qed.
(* The recursion is the sum over tuples of length n. *)
Lemma sumB_tuple n F : sumB n F = \sum_(t : n.-tuple V) F t.
Proof.
elim: n F => [|n IH] F /=.
  by rewrite (big_pred1 [tuple]) // => t; apply/esym/eqP; apply: val_inj; rewrite (tuple0 t).
rewrite sumVE.
rewrite (partition_big (fun t : n.+1.-tuple V => thead t) xpredT) //=.
apply: eq_bigr => x _; rewrite IH.
rewrite (reindex (fun t : n.-tuple V => [tuple of x :: t])) /=.
  by apply: eq_big => t; rewrite ?theadE ?eqxx.
exists (fun t : n.+1.-tuple V => [tuple of behead t]) => t.
  by move=> _; apply: val_inj.
rewrite inE => /eqP <-; apply: val_inj => /=.
by case/tupleP: t => a u /=; rewrite theadE.
Qed.
End Sums.

Section GenModel.
Variable M : model.
Lemma gen_const n c a : gen M n c (fun=> a) = a.
Proof.
elim: n c => [|n IH] c //=.
by rewrite (sumV_eq (fun x => congr1 _ (IH _))) sumVZr row_sum mul1r.
Qed.
Lemma gen_le n c F G :
  (forall s, size s = n -> F s <= G s) -> gen M n c F <= gen M n c G.
Proof.
elim: n c F G => [|n IH] c F G e /=; first exact: e.
apply: sumV_le => x; apply: ler_wpmul2l; first exact: row_ge0.
by apply: IH => s hs; apply: e; rewrite /= hs.
Qed.
Lemma gen_ge0 n c F : (forall s, size s = n -> 0 <= F s) -> 0 <= gen M n c F.
Proof. by move=> h; rewrite -(gen_const n c 0); apply: gen_le. Qed.
Lemma joint_ge0 c s : 0 <= joint M c s.
Proof. by elim: s c => [|x s IH] c /=; [exact: ler01 | apply: mulr_ge0; [exact: row_ge0 | exact: IH]]. Qed.
(* Functions of the first i tokens need only the first i tokens. *)
Lemma gen_take n i c F : (i <= n)%N ->
  gen M n c (fun s => F (take i s)) = gen M i c F.
Proof.
move=> le; rewrite -(subnKC le) gen_cat; apply: gen_eq => s hs.
rewrite -[RHS](gen_const (n - i) (c ++ s)); apply: gen_eq => z _.
by rewrite take_cat hs ltnn subnn take0 cats0.
Qed.
End GenModel.

Lemma gen_delta (M : rows) c o : gen M (size o) c (fun s => (s == o)%:R) = joint M c o.
Proof.
elim: o c => [|x o IH] c //=.
rewrite -[RHS](sumV_delta x (fun y => M c y * joint M (rcons c y) o)).
apply: sumV_eq => y; rewrite -IH mulrCA; congr (_ * _).
by rewrite -genZ; apply: gen_eq => s _; rewrite eqseq_cons -mulnb natrM.
Qed.
Lemma joint_rcons (M : rows) c s x :
  joint M c (rcons s x) = joint M c s * M (c ++ s) x.
Proof.
elim: s c => [|y s IH] c /=; first by rewrite cats0 mulr1 mul1r.
by rewrite IH mulrA -cats1 -catA.
Qed.
Lemma gen_joint (M : rows) n c F : gen M n c F = sumB n (fun s => joint M c s * F s).
Proof.
transitivity (gen M n c (fun s => sumB n (fun o => (o == s)%:R * F o))).
  by apply: gen_eq => s hs; rewrite sumB_delta.
rewrite gen_sumB; apply: sumB_eq => s hs; rewrite -gen_delta hs mulrC -genZ.
by apply: gen_eq => o _; rewrite mulrC eq_sym.
Qed.
End Models.
