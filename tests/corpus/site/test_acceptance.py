"""The published curves of acceptance are those of the kept cells; other cells have others; intervals cover the mean."""

from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.needs("matplotlib")

ROOT = Path(__file__).parents[3]
IN_A_CLONE = pytest.mark.skipif(
    not (ROOT / "corpus" / "site" / "evidence").is_dir(), reason="corpus/site/evidence is in a clone alone"
)


@IN_A_CLONE
def test_page_and_pictures_are_those_of_the_kept_cells():
    from draftproof.corpus.site.acceptance import PAGE, PICTURES, pages
    from draftproof.corpus.site.kept_orderings import RUNS

    made = pages()
    assert PAGE.read_text(encoding="utf-8") == made[PAGE]
    assert {*PICTURES.glob("*")} == made.keys() - {PAGE} and len(made) == len(RUNS) + 1
    for file, content in made.items():
        kept = file.read_text(encoding="utf-8")
        assert kept.split("xmlns", 1)[0] == content.split("xmlns", 1)[0], f"{file}: its description has every point"


@IN_A_CLONE
def test_other_cells_have_another_curve_and_the_curve_adds_up_to_the_tokens_a_call():
    from draftproof.corpus.site.acceptance import PICTURES, Setting, blocks_of, mean_of, picture

    run = "smollm2-gamma-4"
    found = blocks_of(run)
    setting = Setting(0.6, 0, 4, "block")
    curve = [mean_of(found[setting], i).value for i in range(1, 5)]
    assert sum(curve) == pytest.approx(mean_of(found[setting]).value) and curve == sorted(curve, reverse=True)
    spoiled = found | {setting: {prompt: [0, *kept[1:]] for prompt, kept in found[setting].items()}}
    label = picture(run, spoiled).split("xmlns", 1)[0]
    assert label not in (PICTURES / f"{run}.svg").read_text(encoding="utf-8")


def test_intervals_over_prompts_cover_the_mean_and_those_over_single_blocks_would_not():
    """Prompts differ: of 400 runs of 30 prompts some 95 % cover the mean of all, and blocks taken alone cover fewer."""
    from draftproof.corpus.site.acceptance import mean_of

    rng, covered, alone = np.random.default_rng(1), 0, 0
    for _ in range(400):
        rates = rng.beta(1, 1, size=30)
        blocks = {(0, k): rng.binomial(1, rate, size=20).tolist() for k, rate in enumerate(rates)}
        mean = mean_of(blocks, 1)
        covered += abs(mean.value - 0.5) <= mean.radius
        single = mean_of({(k, place): [n] for (_, k), kept in blocks.items() for place, n in enumerate(kept)}, 1)
        alone += abs(single.value - 0.5) <= single.radius
    assert 0.91 <= covered / 400 <= 0.985 and alone / 400 < 0.75
    assert mean_of({(0, 0): [1, 3]}) == (2.0, 0.0), "a single prompt has no interval"
