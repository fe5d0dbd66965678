"""The machine-checked proofs: they compile, rest on nothing, break when the algorithm is changed, and mean the same."""

import fcntl
import os
import pickle
import re
import shutil
import subprocess
from functools import partial

import pytest

from draftproof.corpus import coq
from draftproof.corpus.coq import theorems as by_coq
from draftproof.corpus.coq.agreement import compare
from draftproof.models.battery import KINDS, drawn, drawn_markov, toy
from draftproof.models.digests import MECHANIZED
from draftproof.models.errors import InputError
from draftproof.proofs.field import in_field
from draftproof.proofs.laws.reference_laws import expected_accepted, output_law
from draftproof.tests.proofs.mutants import NO_NORMALISER, SAMPLES_TARGET, UNCAPPED_GREEDY
from draftproof.verifiers.evidence import ERROR, HOLDS, NO_EVIDENCE, REFUTED
from draftproof.verifiers.registry import Reference, reference
from draftproof.verifiers.sub_block import longest_sub_block

pytestmark = pytest.mark.mechanized
MISSING = coq.missing()
needs_coq = pytest.mark.skipif(MISSING is not None, reason=f"{MISSING}; make mechanized installs it on Debian")

STATED = {theorem for theorems in by_coq.THEOREMS.values() for theorem in theorems}
"""Theorems that a claim of ``draftproof prove`` rests on."""

LISTED = 200
"""Number of theorems below which some were lost."""

PROBLEMS = [
    *(drawn(3, 2, kind) for kind in KINDS), drawn(3, 2, "mixed"), drawn(2, 1, "generic"), drawn(2, 3, "mixed"),
    drawn(2, 3, "zeros"), drawn(3, 1, "mixed"), drawn(4, 1, "zeros"), toy(2),
]  # fmt: skip


def compiled_in(folder, limit=coq.TIME_LIMIT):
    """What Coq says of every listed theorem; sources that the folder already has are used as they are."""
    with coq.workplace(folder) as place:
        build = coq.Build(place, limit=limit)
        return build.check(build.listed)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """A folder with everything compiled, once for all workers, and what Coq said of each theorem."""
    root = tmp_path_factory.getbasetemp()
    root = root.parent if "PYTEST_XDIST_WORKER" in os.environ else root
    folder, said = root / "mechanized", root / "mechanized.rows"
    with open(root / "mechanized.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not said.exists():
            folder.mkdir()
            said.write_bytes(pickle.dumps(compiled_in(folder)))
    return folder, pickle.loads(said.read_bytes())


@pytest.fixture
def place(compiled, tmp_path):
    """A copy of it: a comparison writes its questions there, and other workers ask theirs at the same time."""
    return shutil.copytree(compiled[0], tmp_path / "place")


def test_nothing_is_assumed_or_left_open_in_the_sources():
    for file in MECHANIZED.glob("*.v"):
        text = re.sub(r"\(\*.*?\*\)", "", file.read_text(), flags=re.DOTALL)
        assert not re.search(r"\b(Admitted|Axiom|Parameter|Conjecture|admit|Abort)\b", text), file.name
    listed = {*coq.listed(MECHANIZED)}
    assert listed >= STATED and len(listed) >= LISTED


@needs_coq
def test_every_theorem_is_proved_and_rests_on_nothing(compiled):
    rows = compiled[1]
    assert {row.theorem for row in rows} >= STATED
    assert {row.verdict for row in rows} == {HOLDS}, [row for row in rows if row.verdict != HOLDS]
    assert all(row.seconds > 0 for row in rows)


@needs_coq
def test_make_in_the_folder_does_what_its_readme_says(place):
    """In a copy, in which every file is compiled but for what no listed theorem needs."""
    done = coq.run_in(place, ["make"], coq.TIME_LIMIT)
    assert done.returncode == 0, coq.first_error(done.stderr)
    assert f"{len(coq.listed(MECHANIZED))} theorems, closed under the global context" in done.stdout


@needs_coq
@pytest.mark.parametrize(
    ("added", "verdict", "says"),
    [
        ("Theorem planted : 1 = 1. Proof. reflexivity. Qed.", HOLDS, None),
        (
            "Axiom cheat : 0 = 1.\nTheorem planted : 0 = 1. Proof. exact cheat. Qed.",
            NO_EVIDENCE,
            "cheat",
        ),
        ("Theorem planted : 0 = 1. Admitted.", NO_EVIDENCE, "planted"),
        ("Theorem planted : 0 = 1. Proof. reflexivity. Qed.", ERROR, "Rationals.v, line 2"),
    ],
    ids=["a proof", "an axiom", "an open proof", "a proof that breaks"],
)
def test_a_theorem_that_is_not_proved_is_not_reported_as_one(tmp_path, added, verdict, says):
    """Asked about together with one that is: which of them is not is said, by the audit and by make."""
    sound = "Theorem sound : True. Proof. exact I. Qed."
    (tmp_path / "Rationals.v").write_text(f"{sound}\n{added}\n")
    asked = "From Draftproof Require Import Rationals.\nDefinition every_theorem :=\n  let _ := @sound in\n"
    asked += "  let _ := @planted in\n  tt.\nPrint Assumptions every_theorem.\n"
    (tmp_path / "Axioms.v").write_text(asked)
    with coq.workplace(tmp_path) as place:
        proved, found, nowhere = coq.Build(place).check([*coq.listed(place), "nowhere"])
    assert (found.theorem, found.verdict) == ("planted", verdict)
    assert says is None or says in found.detail
    assert (proved.theorem, proved.verdict) == ("sound", ERROR if verdict == ERROR else HOLDS)
    assert nowhere.verdict == ERROR
    done = coq.make(tmp_path, "FILES=Rationals", limit=60)
    assert (done.returncode == 0) == (verdict == HOLDS)
    assert ("Print~Assumptions~planted" in done.stdout) == (verdict == NO_EVIDENCE)
    assert "Print~Assumptions~sound" not in done.stdout
    assert not [*tmp_path.glob("*Each*")]


@needs_coq
@pytest.mark.broken_proof
@pytest.mark.parametrize(
    ("right", "wrong", "breaks", "untouched"),
    [
        ("if excess b s p + 1 - p == 0 then 1 else excess b s p / (excess b s p + 1 - p).", "excess b s p.",
         "h_blockE", ("token_verify", "greedy_verify")),
        ("if excess b s p == 0 then b y else over b s p y / excess b s p.",
         "if excess b s 1 == 0 then b y else over b s 1 y / excess b s 1.", "residualE", ("token_verify",)),
    ],
    ids=["h without its normaliser", "residual without p_i"],
)  # fmt: skip
def test_a_change_of_the_algorithm_breaks_its_proof_and_its_tie_to_the_code(
    compiled, tmp_path, right, wrong, breaks, untouched
):
    folder = shutil.copytree(compiled[0], tmp_path / "changed")
    text = (folder / "Algorithms.v").read_text()
    assert text.count(right) == 1
    (folder / "Algorithms.v").write_text(text.replace(right, wrong))
    done = coq.make(folder, "Block.vo", limit=300)
    line = int(re.search(r"Block\.v, line (\d+)", coq.first_error(done.stderr))[1])
    stated = re.findall(
        r"^(?:Lemma|Theorem) (\w+)", "\n".join((folder / "Block.v").read_text().split("\n")[:line]), re.M
    )
    assert stated[-1] == breaks
    rows = compare([drawn(3, 2, "generic")], folder=folder)
    assert {row.definition: row.verdict for row in rows} == {
        name: HOLDS if name in untouched else REFUTED for name in ("token_verify", "block_verify", "greedy_verify")
    }


@needs_coq
@pytest.mark.broken_proof
@pytest.mark.parametrize(
    ("right", "wrong", "file"),
    [
        ("Num.min (excess b s p / under b s p) 1.", "(excess b s p / under b s p).", "Greedy"),
        ("(start <= size text < start + gamma)", "(start <= size text <= start + gamma)", "Loops"),
    ],
    ids=["greedy's h without its minimum", "the modified target reaches one token too far"],
)
def test_a_change_of_greedy_block_verification_breaks_its_proof(compiled, tmp_path, right, wrong, file):
    folder = shutil.copytree(compiled[0], tmp_path / "changed")
    text = (folder / "Algorithms.v").read_text()
    assert text.count(right) == 1
    (folder / "Algorithms.v").write_text(text.replace(right, wrong))
    done = coq.make(folder, f"{file}.vo", limit=300)
    assert done.returncode != 0
    assert re.search(rf"{file}\.v, line \d+", coq.first_error(done.stderr))


CHANGES = {
    "the wrong token dropped": ("Iterations", "A (take n.-1 k) (last y k) else", "A (take n.-1 k) y else"),
    "false for gamma 2 and two iterations": (
        "Counterexample", "(2 < gamma)%N && (1 < n)%N || (1 < gamma)%N && (2 < n)%N ->",
        "(1 < gamma)%N && (1 < n)%N ->",
    ),
    "true for gamma 2 and any number": ("Boundary", "(gamma == 2%N) && (n == 2%N)].", "(gamma == 2%N)]."),
    "a text that only ends with E.O.S. now": (
        "Strategies", r"(~~ ((eos \in s) || (L <= size s)%N))%:R in",
        "(~~ ((last eos s == eos) || (L <= size s)%N))%:R in",
    ),
    "calls of texts that do not stay finished": (
        "Main", "(forall s y, finished s -> finished (rcons s y)) ->",
        "(forall s : seq V, finished s -> finished s) ->",
    ),
    "calls of texts that may be longer": (
        "Main", "(forall s, (L <= size s)%N -> finished s) ->", "(forall s, (L < size s)%N -> finished s) ->",
    ),
    "what is finished does not stay so": (
        "Calls", "Hypothesis stays : forall c y, finished c -> finished (rcons c y).",
        "Hypothesis stays : forall c, finished c -> finished c.",
    ),
    "reaches that their parents do not allow": (
        "Reaches", "0 <= r (rcons x y) <= Num.min (r x * Mb (c ++ x) y) (joint Ms c (rcons x y)).",
        "0 <= r (rcons x y) <= joint Ms c (rcons x y).",
    ),
    "prices that forget what longer prefixes gain": (
        "Reaches", "gain x + sumV (fun y => Mb (c ++ x) y * parent (rcons x y)) <= parent x + drafted x].",
        "gain x <= parent x + drafted x].",
    ),
    "a stream that always takes the bonus token": (
        "Stream", "else sumV (fun y => p * b pre y * A pre y) + (1 - p) * a.",
        "else sumV (fun y => b pre y * A pre y).",
    ),
    "a coin without its normaliser": ("SubBlocks", "else (q x - later x) / (1 - later x).", "else q x - later x."),
    "the target not reduced by a rejected sibling": (
        "SeveralDrafts", "else recursive_rejection s (residual b q 1) (next x) A))",
        "else recursive_rejection s b (next x) A))",
    ),
    "the weight of a node not reduced by a rejected branch": (
        "SeveralDrafts", "(traverse s (residual b q p) (h_block b q p) (next x) A K))",
        "(traverse s (residual b q p) p (next x) A K))",
    ),
    "k-SEQ for every rho from 1 on": (
        "SeveralDrafts", "Theorem k_seq_law A : repeated k <= rho ->", "Theorem k_seq_law A : 1 <= rho ->",
    ),
    "what is left computed from the first sibling's row": (
        "Descent", "if accepted then g x true else multi_round Q (residual b (Q elders) 1)",
        "if accepted then g x true else multi_round Q (residual b (Q [::]) 1)",
    ),
    "without replacement, the row not divided by its sum": (
        "Descent", "remaining s elders x / sumV (remaining s elders).", "remaining s elders x.",
    ),
    "k-SEQ on trees for every rho": (
        "Descent", "0 < rho s k /\\ repeated (rb s) (Ms (c ++ s)) (rho s k) k <= rho s k)",
        "0 < rho s k /\\ 1 <= rho s k)",
    ),
    "a transport of more than the target has": (
        "Descent", "(forall s k y, moved s k y <= rb s y) ->", "(forall s k y, moved s k y <= 1) ->",
    ),
    "a rule off the path that is not valid": (
        "Optimality", "valid Mb Ms gamma c (W Mb Ms c) ->\n  Etau Ms gamma c (W Mb Ms c) <=",
        "valid Mb Ms 0 c (W Mb Ms c) ->\n  Etau Ms gamma c (W Mb Ms c) <=",
    ),
    "a whole text that agrees on no more than block verification keeps": (
        "Remarks", "Etau small 2 [::] (block_verify large small [::]) < overlap pi.",
        "Etau small 2 [::] (greedy_verify large small [::]) < overlap pi.",
    ),
    "rows that are near only where nothing ends": (
        "Precision", "ending x * total_variation (row x) (row' x) <= beta (size x) + ending x * d)",
        "ending x * total_variation (row x) (row' x) <= beta (size x) + d)",
    ),
    "<= counted as <": ("Lattice", "h < lattice_le h <= h + N%:R^-1.", "h <= lattice_le h < h + N%:R^-1."),
    "a leak that does not need to be drafted": ("Lattice", "= Ms c z * F 0.", "= F 0."),
    "half the error of the sum": (
        "Rounding", "2%:R * growth (k + 2 + d) + growth k + u *", "growth (k + 2 + d) + growth k + u *",
    ),
    "a sure draft read from the wrong place": (
        "Composition", "(y == nth y X (size s - size c))%:R else Mb s y.", "(y == nth y X (size s))%:R else Mb s y.",
    ),
    "texts that end before it matters": ("Remarks", "(8 <= size c)%N", "(4 <= size c)%N"),
    "texts that go on after E.O.S.": (
        "EndOfSequence", "x :: (if x == eos then nseq N' eos else padded N' s')", "x :: padded N' s'",
    ),
    "survivals without an error": ("ProblemRounding", "then 0 else survival_error.", "then 0 else 0."),
    "coins without the error of their sums": (
        "ProblemRounding", "most * normaliser_near_here + sum_near_here + u * most * D.",
        "most * normaliser_near_here + u * most * D.",
    ),
    "a quotient without the error of its numerator": (
        "GreedyRounding", "at_most * n + e + u * at_most * D.", "at_most * n + u * at_most * D.",
    ),
    "weights divided by their sum at no cost": (
        "TreeRounding", "(e : R) : R := 2%:R * weights_off b q e /", "(e : R) : R := weights_off b q e /",
    ),
    "siblings whose coins are decided at no cost": (
        "DescentRounding", "Definition sibling_off : R := eta + coin_off u nu + left_all u nu.",
        "Definition sibling_off : R := coin_off u nu + left_all u nu.",
    ),
    "weights of the rest off at half the cost": (
        "DescentRounding", "2%:R * apart (beyond s k) (w s k) <= delta (size s)) ->",
        "apart (beyond s k) (w s k) <= delta (size s)) ->",
    ),
    "steps whose cost is not counted": (
        "DescentRounding", "<= delta (size s) + lambda * one_step", "<= 1 + lambda * one_step",
    ),
    "branches without the error of their weight": (
        "TraversalRounding", "nu + 2%:R * node_off u nu d + left_all u nu.", "nu + left_all u nu.",
    ),
    "k-SEQ with a rho that rounding alone allows, at no cost": (
        "KSeqStep", "u + (1 + u) * (nu + given_up_off) + allowed_off.", "u + (1 + u) * (nu + given_up_off).",
    ),
    "what k-SEQ accepts computed from its sum as if that were exact": (
        "KSeqStep", "Definition one_less_off : R := beta_off + u * (1 + beta_off).",
        "Definition one_less_off : R := u * (1 + beta_off).",
    ),
    "a plan whose augmentations cost the drafts nothing": (
        "TransportRounding", "both nu (growth u m) + both e (growth u m) + kappa.", "both nu (growth u m) + e + kappa.",
    ),
    "a solver's shares that are not scaled": (
        "Resolution", "Num.min (rb s y / moved Q spent share s k y) 1.", "1.",
    ),
    "how often a token would be accepted computed as if that were exact": (
        "Resolution", "(u + E / (1 - E)) * (1 + both u nu).", "u * (1 + both u nu).",
    ),
    "a text accepted on the way up as if nothing had been taken": (
        "ScaledTransport", "flip (sumV (kept_back s P k) / (1 - sumV (taken_of s P k)))",
        "flip (sumV (kept_back s P k))",
    ),
    "the difference a - m computed as if m were exact": (
        "ScaledTransport", "Definition of_moved i : R := of_sum i + u * (1 + of_sum i).",
        "Definition of_moved i : R := of_sum i.",
    ),
    "one path of the two that are equal goes on": (
        "MultiPath", "| X <- Xs & ohead X == Some x].", "| X <- take 1 [seq X <- Xs | ohead X == Some x]].",
    ),
    "a law of the choice without what lies behind": (
        "MultiPath", "(behind [::] x + joint Ms c x) ^+ K - behind [::] x ^+ K.", "joint Ms c x ^+ K.",
    ),
    "a race that does not end where the target's token comes": (
        "ListMatching", "(inn x j && ~~ inn y j)%:R * (q x / slope j) * jump phi j.",
        "(inn x j)%:R * (q x / slope j) * jump phi j.",
    ),
    "clocks that ring one after another without the rate": (
        "ListMatchingRounding", "rings n' A (del i ds)) / (A + total_of ds) else A^-1.",
        "rings n' A (del i ds)) / total_of ds else A^-1.",
    ),
    "drafts from the given row at no cost": (
        "ListMatchingTree", "lambda + 2%:R * both law_off u + K%:R * o + of_target.",
        "lambda + 2%:R * both law_off u + of_target.",
    ),
    "running sums at no cost": (
        "MultiPathRounding", "both (both (both (sums_off i') o) u) (growth u d) else 0.",
        "both (both (sums_off i') o) u else 0.",
    ),
    "a choice among drafts that is decided at no cost": (
        "TransportRounding", "both e (growth u m) + kappa.", "both e (growth u m).",
    ),
    "naive sampling whose tokens are looked up once": (
        "StepRounding", "<= gamma.+1%:R * (nu + lambda).", "<= nu + lambda.",
    ),
    "chosen tokens whose entry stays": (
        "StepRounding", "let w y := if y == x then 0 else b y in", "let w y := b y in",
    ),
    "a judge whose doubts cost nothing": (
        "StepRounding",
        "(eta + (doubt i + coin_off u kap) + weights_all u kap)",
        "(eta + coin_off u kap + weights_all u kap)",
    ),
    "a coin made larger at no cost": (
        "StepRounding",
        "(eta + (coin_off u kap + tau + u) + weights_all u kap)",
        "(eta + coin_off u kap + weights_all u kap)",
    ),
    "drafts decided otherwise at no cost": ("StepRounding", "<= D (fun t => (kept' t != kept t)%:R) + off.", "<= off."),
    "a larger of two sums that costs one of them": (
        "PathRounding", "2%:R * sum_cost k + both u u * (1 + 2%:R * sum_cost k).",
        "both u u * (1 + 2%:R * sum_cost k).",
    ),
    "a largest ratio that costs no operation": (
        "PathRounding", "both (both (survival_error u o (ratio_off n')) u) u else 0.",
        "survival_error u o (ratio_off n') else 0.",
    ),
    "what is left of the draft at no cost": (
        "MonteCarloRounding", "+ scaled_off + 2%:R * booked_cost n' else 0.", "+ scaled_off else 0.",
    ),
    "weights that are not scaled": (
        "MonteCarloRounding", "then 1 else left_of x z / mass x / s x z.", "then 1 else left_of x z / mass x.",
    ),
    "siblings whose threshold is decided otherwise at no cost": (
        "ThresholdRounding", "+ doubt i) + (o + lambda).", ") + (o + lambda).",
    ),
    "a tail that costs nothing behind a sibling": (
        "ThresholdRounding", ": R := off i + off i.+1 + once.", ": R := off i + once.",
    ),
    "a whole draft accepted less often than it is kept": (
        "PublishedRounding", "(own_end : forall x, final gamma ends x -> q x <= own x).",
        "(own_end : forall x, final gamma ends x -> 0 <= own x).",
    ),
    "a joint ratio at no cost": ("PublishedRounding", "else ratio_off u o i) + eta.", "else 0) + eta."),
    "what is left of a raised row at no cost": (
        "CactusRounding", "tau s x + (h s x < ms s x)%R%:R * raised_cost u o sigma (tau s x)).", "tau s x).",
    ),
    "a scale above 1": ("CactusRounding", "0 <= share' <= 1 & if one == P x", "0 <= share' <= 2%:R & if one == P x"),
    "a probability that is not raised": (
        "CactusRounding", "(ph : forall s x, rb s x <= h s x)", "(ph : forall s x, 0 <= h s x)",
    ),
    "shares that drift at no cost": (
        "SharesRounding", "((drift i + kappa i) + truncated_rest", "(kappa i + truncated_rest",
    ),
    "steps of a lattice at no cost": (
        "SharesRounding", "(e + n * sumV (fun y => (among y)%:R) / (t * sumV F)) + sum_error u d.",
        "e + sum_error u d.",
    ),
    "shares that take more than there is": (
        "SharesRounding", "(a1 : forall s k xs, sumV (a s k xs) <= 1).",
        "(a1 : forall s k xs, sumV (a s k xs) <= 2%:R).",
    ),
    "a threshold above 1": ("ThresholdRounding", "(acc10 : acc <= 10%:R)", "(acc10 : acc <= 20%:R)"),
    "a step of a stream that is skipped at no cost": (
        "StreamRounding", "Num.max (both k u) (u / (1 - u)).", "both k u.",
    ),
    "outputs that are scaled at no operation": (
        "Instances", "fun i y => fl (scaling (rev r') z *", "fun i y => 2%:R * (scaling (rev r') z *",
    ),
    "numbers of trees rounded by more than the unit": (
        "Instances", "(lambda0 : 0 <= lambda) (eu : `|e| <= u).", "(lambda0 : 0 <= lambda) (eu : `|e| <= 1).",
    ),
    "token verification's coins without an error": ("TreeRounding", "eta + draw (s x) (token_coin_off x) +", "eta +"),
    "thresholds without an error": (
        "RunningSum", r"<= sumV sum_off / Z + \sum_(k < n) u * (T k / T n) + n%:R / (2 * N)%:R.",
        "<= sumV sum_off / Z + n%:R / (2 * N)%:R.",
    ),
    "an entry that no sum makes larger": ("RunningSum", "Num.min (2%:R * w y / T n)", "Num.min (w y / T n)"),
    "rounding by more than the unit": (
        "Instances", "Hypotheses (u0 : 0 <= u) (e0 : `|e| <= u).", "Hypotheses (u0 : 0 <= u) (e0 : `|e| <= 1).",
    ),
    "a function that does not increase": ("Dominance", "{homo f : x y / x <= y} -> mean", "mean"),
    "greedy already behind after two iterations": (
        "Remarks", "small 2 (block_verify large small) 3 [::] tokens_of.",
        "small 2 (block_verify large small) 2 [::] tokens_of.",
    ),
    "a draft that no coin ends": (
        "Remarks", "flip (h_token (large [::]) (small [::]) x) (fun falls", "flip 0 (fun falls",
    ),
    "a text that was finished before": ("Endings", "~~ done c -> (L <= size c + n)%N ->", "(L <= size c + n)%N ->"),
}  # fmt: skip
"""What is changed in a file -> the file, and what stands there in its place: a proof must break."""


@needs_coq
@pytest.mark.broken_proof
@pytest.mark.parametrize(("file", "right", "wrong"), CHANGES.values(), ids=CHANGES)
def test_a_change_of_a_statement_breaks_its_proof(compiled, tmp_path, file, right, wrong):
    folder = shutil.copytree(compiled[0], tmp_path / "changed")
    text = (folder / f"{file}.v").read_text()
    assert text.count(right) == 1
    (folder / f"{file}.v").write_text(text.replace(right, wrong))
    done = coq.make(folder, f"{file}.vo", limit=300)
    assert done.returncode != 0
    assert re.search(rf"{file}\.v, line \d+", coq.first_error(done.stderr))


@needs_coq
def test_coq_and_python_give_the_same_law_entry_by_entry(place):
    rows = compare(PROBLEMS, folder=place)
    assert [row for row in rows if row.verdict != HOLDS] == []
    assert len(rows) == 3 * len(PROBLEMS)
    compared = {(row.problem, row.compared) for row in rows}
    assert compared == {(p.name, 1 + sum(p.vocabulary**n for n in range(1, p.gamma + 2))) for p in PROBLEMS}


@needs_coq
@pytest.mark.long
def test_so_they_do_for_three_tokens_and_three_drafted(place):
    rows = compare([drawn(3, 3, "mixed")], folder=place)
    assert [(row.verdict, row.compared) for row in rows] == 3 * [(HOLDS, 1 + 3 + 9 + 27 + 81)]


@needs_coq
def test_coq_and_python_give_the_same_text_after_two_iterations(place):
    problems = [toy(2), drawn_markov(2, 2, "mixed"), drawn_markov(3, 1, "mixed")]
    rows = compare(problems, iterations=2, folder=place)
    assert [row for row in rows if row.verdict != HOLDS] == []
    assert len(rows) == 3 * len(problems)
    with pytest.raises(InputError, match="no row for the prefix"):
        compare([drawn(2, 2, "generic")], iterations=2, folder=place)


@needs_coq
def test_a_wrong_verifier_is_not_tied_to_the_definition(place):
    wrong = {
        "token_verify": SAMPLES_TARGET,
        "block_verify": Reference("no-normaliser", partial(longest_sub_block, NO_NORMALISER), "a mutant"),
        "greedy_verify": Reference("uncapped", partial(longest_sub_block, UNCAPPED_GREEDY), "a mutant"),
    }
    rows = compare([drawn(3, 2, "generic")], folder=place, verifiers=wrong)
    assert [(row.definition, row.verdict) for row in rows] == [(name, REFUTED) for name in wrong]
    assert all(re.fullmatch(r"(E\[tau\]|Pr\(.*\)): \S+ in Coq, \S+ in Python", row.detail) for row in rows)


@needs_coq
def test_greedy_block_verification_in_the_wrong_loop_is_not_tied_to_its_own(place):
    plain = reference("greedy-block")._replace(modifies_target=False)
    (row,) = compare([toy(2)], iterations=2, folder=place, verifiers={"greedy_verify": plain})
    assert row.verdict == REFUTED


@needs_coq
def test_a_proof_that_does_not_end_is_ended_and_no_evidence(tmp_path, busy_machine):
    """Its own processor time counts, and neither the other files nor what else the machine does."""
    loop = "Ltac for_ever := idtac; for_ever.\nTheorem endless : True. Proof. for_ever. Qed.\n"
    (tmp_path / "Models.v").write_text(loop)
    (tmp_path / "Rationals.v").write_text("Theorem short : True. Proof. exact I. Qed.\n")
    (tmp_path / "Axioms.v").write_text("  let _ := @endless in\n  let _ := @short in\n")
    endless, short = compiled_in(tmp_path, limit=1)
    assert (endless.verdict, endless.detail) == (
        NO_EVIDENCE,
        "time-out: Models.v not done within 1 s of processor time",
    )
    assert short.verdict == HOLDS
    rows = compare([toy(2)], folder=tmp_path, limit=1)
    assert {(row.verdict, row.detail) for row in rows} == {(NO_EVIDENCE, endless.detail)}


@needs_coq
def test_what_waits_for_ever_is_ended_by_the_clock(tmp_path, monkeypatch):
    monkeypatch.setattr(coq, "CLOCK_FACTOR", 1)
    with pytest.raises(subprocess.TimeoutExpired):
        coq.run_in(tmp_path, ["sleep", "60"], limit=1)


def test_where_coq_is_missing_the_reason_is_one_sentence_with_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert coq.missing().startswith("coqc is not installed; the proofs need Coq 8.16")
    for program in ("coqc", "make"):
        (tmp_path / program).write_text("#!/bin/sh\necho 8.20.1 4.14.1\n")
        (tmp_path / program).chmod(0o755)
    assert re.fullmatch(
        r"the proofs need Coq 8\.16 with MathComp 1\.15 \(Debian: .*\); coqc is 8\.20\.1", coq.missing()
    )
    (tmp_path / "coqc").write_text(f"#!/bin/sh\ncase $1 in -where) echo {tmp_path} ;; *) echo 8.16.1 ;; esac\n")
    assert coq.missing().startswith("Coq is installed without mathcomp/algebra")
    with pytest.raises(RuntimeError, match="without mathcomp"):
        compare([toy(2)], folder=tmp_path / "none")


def test_the_theorems_of_the_example_state_the_numbers_of_the_python_code():
    """Evaluate.v proves by computation what the exact engine counts."""
    text = (MECHANIZED / "Evaluate.v").read_text()
    for name, verifier in (("toy_block", "block"), ("toy_token", "token")):
        found = re.search(rf"Theorem {name} : .* = (\d+)%:R / (\d+)%:R\.", text)
        value = expected_accepted(output_law(in_field(toy(2)), reference(verifier)))
        assert f"{found[1]}/{found[2]}" == str(value)
