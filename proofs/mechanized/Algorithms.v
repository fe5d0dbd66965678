From mathcomp Require Import all_ssreflect ssralg ssrnum.
From mathcomp.algebra_tactics Require Import ring.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

(* Finite vocabularies, context-dependent models, and expectations over blocks.
   Everything is a finite sum over an arbitrary real field, so nothing here needs
   analysis, and nothing is an axiom. *)

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

(* The paper's algorithms, written as programs that toss coins.  A program of
   outcome A is given by the expectation it assigns to a test function A -> R. *)

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

(* What a draft verification algorithm is, when it is valid (Equation (7)), and how a
   program that tosses coins is one. *)
#[export] Hint Resolve row_ge0 row_sum : core.

Section Verifier.
Variables (V : vocabulary) (R : realFieldType).
Implicit Types (X kept o s : seq V) (A : seq V -> V -> R).

(* An arbitrary verifier for drafts of length gamma: for every draft X a law of
   (tau, Y).  It may depend on all of X and, being a variable, on both models in
   full; a verifier that sees less is a special case. *)
Record kernel (gamma : nat) := Kernel {
  law :> seq V -> nat -> V -> R;
  law_ge0 : forall X t y, size X = gamma -> 0 <= law X t y;
  law_sum : forall X, size X = gamma -> \sum_(t < gamma.+1) sumV (law X t) = 1 }.

(* The expectation of A(X^tau, Y). *)
Definition run gamma (K : kernel gamma) X A : R :=
  \sum_(t < gamma.+1) sumV (fun y => K X t y * A (take t X) y).

(* What a verifier does in one iteration from context c. *)
Section Iteration.
Variables (Mb Ms : model V R) (gamma : nat) (c : seq V).
Variable W : seq V -> (seq V -> V -> R) -> R.

(* E g(s Z): s is completed to gamma+1 tokens by the large model. *)
Definition complete (g : seq V -> R) s : R :=
  gen Mb (gamma.+1 - size s) (c ++ s) (fun z => g (s ++ z)).
(* The law of O = (X^tau, Y, Z), through a test function. *)
Definition completed (g : seq V -> R) : R :=
  gen Ms gamma c (fun X => W X (fun kept y => complete g (rcons kept y))).
(* Equation (7), block by block. *)
Definition valid : Prop :=
  forall o, size o = gamma.+1 -> completed (fun o' => (o' == o)%:R) = joint Mb c o.
(* Pr(X^i = x, tau >= i) for i = size x. *)
Definition reach (x : seq V) : R := gen Ms gamma c (fun X => W X (fun kept _ =>
  ((size x <= size kept)%N && (take (size x) X == x))%:R)).
(* E[tau]. *)
Definition Etau : R := gen Ms gamma c (fun X => W X (fun kept _ => (size kept)%:R)).

(* Validity in the form in which it is proved: whatever the large model keeps fair
   in expectation, the verifier's output keeps fair. *)
Definition fair : Prop := forall U : seq V -> R,
  (forall s, (size s <= gamma)%N -> U s = sumV (fun y => Mb (c ++ s) y * U (rcons s y))) ->
  gen Ms gamma c (fun X => W X (fun kept y => U (rcons kept y))) = U [::].

Lemma complete_fair g s : (size s <= gamma)%N ->
  complete g s = sumV (fun y => Mb (c ++ s) y * complete g (rcons s y)).
Proof.
move=> le; rewrite {1}/complete subSn // genS; apply: sumV_eq => y.
rewrite /complete size_rcons subSS rcons_cat; congr (_ * _).
by apply: gen_eq => z _; rewrite cat_rcons.
Qed.
Lemma fair_completed g : fair -> completed g = gen Mb gamma.+1 c g.
Proof.
by move=> f; rewrite /completed (f _ (complete_fair g)) /complete subn0 cats0.
Qed.
Lemma fair_valid : fair -> valid.
Proof. by move=> f o ho; rewrite fair_completed // -ho gen_delta. Qed.
End Iteration.

(* Programs: finitely many coins, then a prefix of the draft and one more draw. *)
Inductive program X : ((seq V -> V -> R) -> R) -> Prop :=
| Stop t d P of (t <= size X)%N & (forall y, 0 <= d y) & sumV d = 1 &
    (forall A, P A = draw d (A (take t X))) : program X P
| Toss h P Q S of 0 <= h <= 1 & program X P & program X Q &
    (forall A, S A = flip h (fun a => if a then P A else Q A)) : program X S.

Definition point (t : nat) (y : V) kept (y' : V) : R := ((size kept == t) && (y' == y))%:R.

Lemma program_law X P : program X P ->
  [/\ forall t y, 0 <= P (point t y),
      \sum_(t < (size X).+1) sumV (fun y => P (point t y)) = 1 &
      forall A, P A = \sum_(t < (size X).+1) sumV (fun y => P (point t y) * A (take t X) y)].
Proof.
elim=> {P} [t d P le d0 d1 e|h P Q S /andP[h0 h1] _ [P0 P1 PE] _ [Q0 Q1 QE] e].
  have E u y : P (point u y) = (t == u)%:R * d y.
    rewrite e /draw -[RHS]mulrC -(sumV_delta y (fun z => d z * (t == u)%:R)).
    apply: sumV_eq => z; rewrite /point size_takel // -mulnb natrM; ring.
  have tot (F : nat -> V -> R) :
      \sum_(u < (size X).+1) sumV (fun y => (t == u)%:R * d y * F u y)
      = sumV (fun y => d y * F t y).
    rewrite (bigD1 (Ordinal (n := (size X).+1) le)) //= eqxx big1 ?addr0.
      by apply: sumV_eq => y; rewrite mul1r.
    move=> u ne; rewrite -[RHS](sumV0 V); apply: sumV_eq => y.
    case: eqP => [tu|]; last by rewrite !mul0r.
    by case/eqP: ne; apply: val_inj.
  split=> [u y||A]; first by rewrite E mulr_ge0.
    rewrite -d1; transitivity (sumV (fun y => d y * 1)).
      rewrite -(tot (fun _ _ => 1)).
      by apply: eq_bigr => u _; apply: sumV_eq => y; rewrite E mulr1.
    by apply: sumV_eq => y; rewrite mulr1.
  rewrite e /draw -(tot (fun u => A (take u X))); apply: eq_bigr => u _.
  by apply: sumV_eq => y; rewrite E.
split=> [t y||A].
- by rewrite e /flip addr_ge0 // mulr_ge0 // subr_ge0.
- transitivity (h * (\sum_(t < (size X).+1) sumV (fun y => P (point t y)))
    + (1 - h) * (\sum_(t < (size X).+1) sumV (fun y => Q (point t y)))); last first.
    by rewrite P1 Q1; ring.
  rewrite !mulr_sumr -big_split; apply: eq_bigr => t _ /=.
  by rewrite -!sumVZ -sumVD; apply: sumV_eq => y; rewrite e.
rewrite e /flip PE QE !mulr_sumr -big_split; apply: eq_bigr => t _ /=.
rewrite -!sumVZ -sumVD; apply: sumV_eq => y; rewrite e /flip; ring.
Qed.

(* The bridge from an algorithm to a kernel. *)
Definition kernel_of gamma (W : seq V -> (seq V -> V -> R) -> R)
    (prog : forall X, size X = gamma -> program X (W X)) : kernel gamma.
Proof.
exists (fun X t y => W X (point t y)) => X.
- by move=> t y hs; have [p _ _] := program_law (prog X hs); apply: p.
- by move=> hs; have [_ p _] := program_law (prog X hs); rewrite -p hs.
Defined.
Lemma run_kernel_of gamma W (prog : forall X, size X = gamma -> program X (W X)) X A :
  size X = gamma -> run (kernel_of prog) X A = W X A.
Proof.
by move=> hs; have [_ _ ->] := program_law (prog X hs); rewrite hs.
Qed.
Lemma program_run gamma (W : seq V -> (seq V -> V -> R) -> R) :
  (forall X, size X = gamma -> program X (W X)) ->
  exists K : kernel gamma, forall X A, size X = gamma -> W X A = run K X A.
Proof. by move=> prog; exists (kernel_of prog) => X A hs; rewrite run_kernel_of. Qed.

Lemma program_ext X P A B : program X P ->
  (forall t y, (t <= size X)%N -> A (take t X) y = B (take t X) y) -> P A = P B.
Proof.
move=> /program_law[_ _ e] h; rewrite !e; apply: eq_bigr => t _.
by apply: sumV_eq => y; rewrite h // -ltnS.
Qed.

(* Expectations over the draft and an arbitrary verifier's coins. *)
Section Kernel.
Variables (Ms : model V R) (gamma : nat) (c : seq V) (K : kernel gamma).
Implicit Types (B : seq V -> seq V -> V -> R).
Definition E B : R := gen Ms gamma c (fun X => run K X (B X)).

Lemma E_le B B' :
  (forall X t y, size X = gamma -> (t <= gamma)%N -> B X (take t X) y <= B' X (take t X) y) ->
  E B <= E B'.
Proof.
move=> h; apply: gen_le => X hs; rewrite /run; apply: ler_sum => -[t lt] _.
by apply: sumV_le => y; apply: ler_wpmul2l; [apply: law_ge0 | apply: h].
Qed.
Lemma E_eq B B' :
  (forall X t y, size X = gamma -> (t <= gamma)%N -> B X (take t X) y = B' X (take t X) y) ->
  E B = E B'.
Proof. by move=> h; apply/eqP; rewrite eq_le !E_le // => X t y hs lt; rewrite h. Qed.
Lemma E_draft F : E (fun X _ _ => F X) = gen Ms gamma c F.
Proof.
apply: gen_eq => X hs.
rewrite -[RHS]mul1r -(law_sum K hs) /run mulr_suml; apply: eq_bigr => t _.
by rewrite -sumVZr.
Qed.
Lemma E_const a : E (fun _ _ _ => a) = a.
Proof. by rewrite E_draft gen_const. Qed.
Lemma ED B B' : E (fun X k y => B X k y + B' X k y) = E B + E B'.
Proof.
rewrite -genD; apply: gen_eq => X _; rewrite /run -big_split; apply: eq_bigr => t _ /=.
by rewrite -sumVD; apply: sumV_eq => y; rewrite mulrDr.
Qed.
Lemma EZ a B : E (fun X k y => a * B X k y) = a * E B.
Proof.
rewrite -genZ; apply: gen_eq => X _; rewrite /run mulr_sumr; apply: eq_bigr => t _.
by rewrite -sumVZ; apply: sumV_eq => y; rewrite mulrCA.
Qed.
Lemma E0 : E (fun _ _ _ => 0) = 0.
Proof. exact: E_const. Qed.
Lemma E_sumV (B : V -> seq V -> seq V -> V -> R) :
  E (fun X k y => sumV (fun x => B x X k y)) = sumV (fun x => E (B x)).
Proof.
rewrite -gen_sumV; apply: gen_eq => X _.
rewrite /run sumV_exch; apply: eq_bigr => t _; rewrite sumV_sumV; apply: sumV_eq => y.
by rewrite -sumVZ.
Qed.
Lemma E_sumB n (B : seq V -> seq V -> seq V -> V -> R) :
  E (fun X k y => sumB n (fun o => B o X k y)) = sumB n (fun o => E (B o)).
Proof. by elim: n B => [|n IH] B //=; rewrite E_sumV; apply: sumV_eq => x; apply: IH. Qed.
Lemma E_sum (I : Type) (r : seq I) (B : I -> seq V -> seq V -> V -> R) :
  E (fun X k y => \sum_(i <- r) B i X k y) = \sum_(i <- r) E (B i).
Proof.
elim: r => [|i r IH].
  by rewrite big_nil -[RHS]E0; apply: E_eq => *; rewrite big_nil.
by rewrite big_cons -IH -ED; apply: E_eq => *; rewrite big_cons.
Qed.
End Kernel.
End Verifier.
