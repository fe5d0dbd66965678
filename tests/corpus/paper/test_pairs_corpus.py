"""The text that pairs are trained on: the same every time, no test of Python's in it, nothing held out in it."""

import pytest

from draftproof.models.errors import InputError
from draftproof.models.pairs.prompts import prompts
from draftproof_paper.training import corpus as module
from draftproof_paper.training.corpus import HELD_OUT, LONGEST, SHORTEST, Corpus, Document, corpus, write_prompts
from draftproof_paper.training.recipe import Recipe


@pytest.fixture(scope="module")
def text():
    return corpus()


def leaks(text: Corpus) -> set[str]:
    """Names and whole texts that are on both sides."""
    training = {part for document in text.training for part in document}
    return {document.name for document in text.held_out if training.intersection(document)}


def test_every_held_out_module_is_there_and_none_is_trained_on(text):
    assert {document.name for document in text.held_out} == set(HELD_OUT)
    assert sum(document.name.startswith("topics/") for document in text.training) > 50
    assert not leaks(text)


def test_a_module_on_both_sides_would_be_seen(text):
    planted = Corpus((*text.training, Document("copied.py", text.held_out[0].text)), text.held_out)
    assert leaks(planted) == {text.held_out[0].name}


def test_the_digest_is_of_the_text_and_of_what_is_held_out(text):
    assert text.digest() == corpus().digest()
    first, *others = text.training
    changed = Corpus((first._replace(text=first.text + " "), *others), text.held_out)
    moved = Corpus(tuple(others), (*text.held_out, first))
    assert len({text.digest(), changed.digest(), moved.digest()}) == 3


def test_a_library_without_sources_is_an_error_that_names_its_folder(monkeypatch, tmp_path):
    (tmp_path / "os.py").write_text("pass\n")
    monkeypatch.setattr(module.sysconfig, "get_path", lambda name: str(tmp_path))
    with pytest.raises(InputError, match=f"{tmp_path}: has .* characters of Python sources; expected"):
        corpus()


def test_prompts_are_beginnings_of_held_out_paragraphs_and_the_documents_take_turns(text, tmp_path):
    file = tmp_path / "prompts.jsonl"
    assert write_prompts(text.held_out, 60, file) == 60
    found = prompts(file)
    assert len(set(found)) == 60
    assert all(SHORTEST <= len(prompt) <= LONGEST for prompt in found)
    held_out = "\0".join(document.text for document in text.held_out)
    assert all(prompt in held_out for prompt in found)
    assert sum(prompt in document.text for prompt in found for document in text.training) == 0


def test_a_recipe_s_digest_is_of_all_that_the_weights_depend_on():
    recipe = Recipe()
    others = [recipe.for_minutes(1), Recipe(rate=0.02), Recipe(target=recipe.draft)]
    digests = [recipe.digest(seed=0), recipe.digest(seed=1), *(other.digest(seed=0) for other in others)]
    assert len(set(digests)) == len(digests)
    assert recipe.digest(seed=0) == Recipe().digest(seed=0)


@pytest.mark.parametrize("minutes", [0, -1, 1e9, float("nan")])
def test_minutes_out_of_range_are_an_error(minutes):
    with pytest.raises(InputError, match=r"minutes .*: expected"):
        Recipe().for_minutes(minutes)
