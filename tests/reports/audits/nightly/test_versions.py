"""What tells one version of a subject from another: its code, how it is called, and what its owner says."""

import json

import pytest

import draftproof
from draftproof.models.battery import toy
from draftproof.models.errors import InputError, RunFailed
from draftproof.models.problem import as_json
from draftproof.models.store import Store
from draftproof.reports.audits.campaigns.run import ThirdPartySource as CampaignSource
from draftproof.reports.audits.compliance.plan import Collected, Part, Requirement
from draftproof.reports.audits.compliance.requirements import FAILED, judged
from draftproof.reports.audits.nightly import sources
from draftproof.reports.audits.nightly.sources import ReferenceDraws, source_of
from draftproof.reports.audits.subject import subject_from
from draftproof.stattests.campaign.run import WHAT, FinishedChunks, keep, kept
from draftproof.stattests.campaign.tally import Tally
from draftproof.tests.reports.audits.nightly.parts import RIGHT, drawn_by, night_of
from draftproof.verifiers.registry import REFERENCES

pytestmark = pytest.mark.needs("sqlalchemy")

LOCKED = f"""
import threading
{RIGHT}
class Verifier:
    def __init__(self):
        self.lock = threading.Lock()
    def __call__(self, target_probs, draft_probs, draft_tokens, rng):
        return function(target_probs, draft_probs, draft_tokens, rng)
function, verify = verify, Verifier()
"""
PROBLEM = json.dumps(as_json(toy(1)))


def version_of(name, dtype="float64", array=None, stated=None):
    source = source_of(subject_from(name, array, (dtype,)), dtype, 60.0, 8.0, stated)
    source.close()
    return source.version


@pytest.mark.parametrize("place", ["verifiers/a.py", "verifiers/batched/a.py", "models/a.py"])
def test_a_change_of_any_code_below_makes_another_version_of_our_own_verifiers(monkeypatch, tmp_path, place):
    monkeypatch.setattr(sources, "ROOT", tmp_path)
    (tmp_path / place).parent.mkdir(parents=True)
    found = []
    for text in ("x = 1", "x = 2", "x = 1"):
        (tmp_path / place).write_text(text)
        about = {"digest": "of a file alone", "versions": {}, "convention": {"array": "torch"}}
        own = subject_from("batched-block")
        found.append([ReferenceDraws(REFERENCES["block"]).version, sources._version(own, about, "float32", None)])
    first, changed, again = found
    assert first == again and not {*first} & {*changed}
    assert all(version.startswith(f"{draftproof.__version__} sha256:") for version in first)


def test_how_a_function_is_called_is_part_of_its_version(history, file):
    versions = {
        version_of(f"{file}:verify", dtype, array) for dtype in ("float64", "float32") for array in ("numpy", "rows")
    }
    assert len(versions) == 4
    drawn_by(history, file, 1)
    report = drawn_by(history, file, 2, dtype="float32")
    assert [(check["draws"], check["current"]) for check in report["checks"]] == [(3000, True), (3000, True)]


def test_an_alarm_stays_until_the_code_changes_whatever_the_rows_are(file, nightly):
    """It is wrong on float64 alone. A night in float32, or with another array, says nothing of that."""
    wrong = "    if target_probs[0].dtype == np.float64 and rng.random() < 0.3:\n        return [0]\n    for i, x in"
    file.write_text(RIGHT.replace("    for i, x in", wrong))
    options = ("run", f"{file}:verify", "--problem", PROBLEM, "--samples", 2000, "--seed", 1)
    for day, rows in enumerate(((), ("--dtype", "float32"), ("--dtype", "float32", "--array", "rows")), 1):
        done = nightly(*options, *rows, "--night", night_of(day))
        assert done.status == 1 and "nightly   ALARM: 1 of " in done.out and "  Witness " in done.out
        assert nightly("status").status == 1
        history = json.loads(nightly("status", "--json", "-").out)
        part = Collected.of(Part("n", "nightly", {"file": "n.json"}), history=history)
        assert judged(Requirement("R1", "it is lossless", "lossless", ("n",)), [part]).verdict == FAILED
    file.write_text(RIGHT)
    assert (nightly(*options, "--night", night_of(4)).status, nightly("status").status) == (0, 0)


def test_a_function_without_a_digest_is_drawn_from_only_if_its_version_is_stated(tmp_path, file, nightly):
    file.write_text(LOCKED)
    with pytest.raises(RunFailed, match="its versions cannot be distinguished"):
        version_of(f"{file}:verify")
    options = ("run", f"{file}:verify", "--problem", PROBLEM, "--samples", 200)
    done = nightly(*options)
    assert done.status == 3
    assert "--subject-version TEXT" in " ".join(done.out.split())
    for stated in ("7", "7", "8"):
        assert nightly(*options, "--subject-version", stated).status == 0
    checks = json.loads(nightly("status", "--json", "-").out)["checks"]
    assert [(check["version"], check["draws"]) for check in checks] == [
        ("7 float64 numpy", 400),
        ("8 float64 numpy", 200),
    ]


@pytest.mark.parametrize(("text", "goes_on"), [(RIGHT, True), (LOCKED, False)])
def test_a_campaign_goes_on_only_with_a_subject_that_is_known_to_be_the_same(tmp_path, file, text, goes_on):
    file.write_text(text)
    checkpoint = str(tmp_path / "campaign.json")
    sources_ = [CampaignSource(subject_from(f"{file}:verify"), toy(1)) for _ in range(2)]
    with Store(checkpoint, WHAT, sources_[0].identity) as store:
        keep(store, FinishedChunks(1), Tally(sources_[0].outcomes))
    if goes_on:
        with Store(checkpoint, WHAT, sources_[1].identity) as store:
            assert kept(store, sources_[1].outcomes)[0] == FinishedChunks(1)
        file.write_text(text + "#")
    with pytest.raises(InputError, match="was begun with subject"):
        Store(checkpoint, WHAT, CampaignSource(subject_from(f"{file}:verify"), toy(1)).identity)
