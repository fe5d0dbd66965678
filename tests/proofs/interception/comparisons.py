"""What code makes of a tensor of comparisons, each function's law found twice: with answers put off, and at once.

``python -m`` prints name -> [paths, paths at once, whether the laws are equal, why there is none]; with an argument it
does so with a planted bug: no answer counts.
"""

import json
import sys

import torch

from draftproof.proofs.interception import explore, undecided
from draftproof.proofs.interception.exploration import Exploration

BELOW = torch.tensor([0.3, 0.5, 0.9, 0.2], dtype=torch.float64)
NEVER = torch.tensor([0.3, -1.0, 0.9, 2.0], dtype=torch.float64)
IN_ROWS = torch.tensor([[0.3, 0.5], [0.2, 0.75]], dtype=torch.float64)


def mask(below=BELOW):
    return torch.rand_like(below) < below


def of_transformers():
    return int(((~mask()).cumsum(dim=-1) < 1).sum())


def of_products():
    return mask().long().cumprod(-1).sum().item()


def of_float_products():
    return mask().float().cumprod(-1).sum().item()


def of_complements():
    return ((1 - mask().int()).cumsum(0) == 0).sum().tolist()


def of_a_loop():
    for k, kept in enumerate(mask()):
        if not kept:
            return k
    return 4


def of_indices():
    kept, k = mask(), 0
    while k < 4 and kept[k]:
        k += 1
    return k


def of_a_slice():
    n = mask().long().cumprod(-1).sum()
    return [*range(4)[:n], *torch.arange(4)[:n].tolist(), n.item()]


def of_certain_answers():
    return mask(NEVER).long().cumprod(-1).sum().item()


def of_the_first_lost():
    lost = ~mask()
    return lost.long().argmax().item() if lost.any() else 4


def of_the_last_kept():
    kept = mask()
    return int((kept * torch.arange(1, 5)).max())


def of_rows():
    return mask(IN_ROWS).long().cumprod(-1).sum(-1).tolist()


def of_one_row_of_two():
    return mask(IN_ROWS).long().cumprod(-1).sum(-1)[1].item()


def of_all():
    return bool(mask().all())


def of_neighbours():
    kept = mask()
    return bool((kept[:-1] & ~kept[1:]).any())


def of_parity():
    return int(mask().sum() % 2)


def of_a_choice():
    return torch.where(mask(), torch.arange(4), torch.arange(4) + 7).sum().item()


def of_places():
    return (~mask()).nonzero().flatten().tolist()


def of_places_alike():
    kept = mask()
    return torch.arange(4)[kept ^ torch.tensor([True, False, False, False])].tolist()


def of_lists():
    return mask().tolist()


def of_arrays():
    return mask().numpy().tolist()


def of_change_in_place():
    kept = mask()
    kept[1] = True
    kept &= torch.tensor([True, True, False, True])
    return kept.long().cumprod(-1).sum().item()


def of_a_changed_copy():
    kept = mask()
    other = kept.clone()
    other[0] = True
    return [kept.all().item(), other.all().item()]


def of_rows_kept():
    out = torch.zeros(4, dtype=torch.float64)
    out[mask()] = 1.0
    return out.tolist()


def of_weights():
    return float((mask() * BELOW).sum())


def of_one_number_for_all():
    return (torch.rand(1, dtype=torch.float64) < BELOW).long().cumprod(-1).sum().item()


def of_a_number_asked_again():
    number = torch.rand(4, dtype=torch.float64)
    first = number < BELOW
    second = number < BELOW / 2
    return [first.long().cumprod(-1).sum().item(), second.any().item()]


def of_two_masks():
    return int((mask() & mask()).long().cumprod(-1).sum())


def of_further_draws():
    n = mask().long().cumprod(-1).sum()
    return [n.item(), torch.multinomial(BELOW[n:] if n < 4 else BELOW, 1).item()]


def of_bits():
    return int((mask().long() << torch.arange(4)).sum() & 5)


def of_wrapping_bytes():
    return (mask().to(torch.uint8) * 200).sum(dtype=torch.uint8).item()


def of_negative_numbers():
    return (mask().long() - 1).prod().item()


def of_a_size():
    kept = mask()
    return [len(kept), kept.shape[0], kept.any().item()]


def of_words():
    return str(mask().dtype)


def changed_in_place_under_a_view():
    kept = mask()
    view = kept.view(-1)
    kept[0] = True
    return view.all().item()


FUNCTIONS = {name: function for name, function in globals().items() if name.startswith(("of_", "changed_"))}


def law_of(function):
    plain = lambda x: tuple(map(plain, x)) if isinstance(x, list) else x  # noqa: E731
    return explore.explore(lambda: plain([function()]), Exploration())


if __name__ == "__main__":
    explore.install()
    if sys.argv[1:]:
        undecided._telling = lambda form, answers: None
    usual, table = undecided.MOST_DECISIONS, {}
    for name, function in FUNCTIONS.items():
        undecided.MOST_DECISIONS = usual
        late = law_of(function)
        undecided.MOST_DECISIONS = 0
        early = law_of(function)
        table[name] = late.paths, early.paths, late.law == early.law, late.reason or early.reason
    print(json.dumps(table))
