"""What code makes of a tensor of comparisons, each function's law found twice: with answers put off, and at once.

``python -m`` prints name -> [paths, paths at once, whether the laws are equal, why there is none], and the same with a
planted bug: no answer counts.
"""

import json
import pickle
import threading

import torch

from draftproof.proofs.interception import explore, undecided
from draftproof.proofs.interception.exploration import Exploration

BELOW = torch.tensor([0.3, 0.5, 0.9, 0.2], dtype=torch.float64)
NEVER = torch.tensor([0.3, -1.0, 0.9, 2.0], dtype=torch.float64)
IN_ROWS = torch.tensor([[0.3, 0.5], [0.2, 0.75]], dtype=torch.float64)

IMPOSSIBLE = torch.tensor([0.3, 0.0, 0.9, 0.0], dtype=torch.float64)
"""Chances of coins that keep what has none where a uniform is exactly 0."""


def mask(below=BELOW):
    return torch.rand_like(below) < below


def of_transformers():
    return int(((~mask()).cumsum(dim=-1) < 1).sum())


def of_tokens_without_probability():
    return int(((~(torch.rand(4, dtype=torch.float64) <= IMPOSSIBLE)).cumsum(-1) < 1).sum())


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
    return int((mask(BELOW[:2]) & mask(BELOW[2:])).long().cumprod(-1).sum())


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


def of_joined_either_way():
    kept, lost = mask(), torch.tensor([False])
    ends = torch.cat([kept, lost])
    starts = torch.cat([lost, kept])
    return [(ends.long() * torch.arange(5)).sum().item(), bool(starts[1] & ~starts[2] & starts[3])]


def of_a_choice_either_way():
    kept, other = mask(), torch.tensor([True, False, True, False])
    return [torch.where(kept, other, True).tolist(), torch.where(other, kept, True).tolist()]


def of_a_slice_of_unknown_ends():
    row, kept = mask(), mask(BELOW[:2])
    start = row[:2].sum()
    return len(kept[start : torch.cat([row[2:].long(), torch.ones(2, dtype=torch.long)]).sum()])


def of_new_data():
    kept, other = mask(BELOW[:2]), mask(BELOW[2:])
    low = kept.long()
    kept.data = torch.zeros(2, dtype=torch.bool)
    return bool(other[0] & ~other[1] & (low.sum() > 1))


def of_the_same_bytes():
    kept = mask()
    return torch.stack([kept.long(), torch.ones(4, dtype=torch.long)]).sum(0).float().view(torch.bool)[2::4].tolist()


def of_memory_that_nobody_wrote():
    kept = mask()
    out = torch.empty_like(kept, dtype=torch.long)
    out[:] = 7
    return [out.sum().item(), kept.long().cumprod(0).sum().item()]


def of_no_entries():
    kept = mask()
    return [bool(kept[4:].any()), [bool(kept[j:].all()) for j in range(5)]]


def of_a_part_changed_in_place():
    kept = mask()
    kept[:2] &= False
    view = kept.view(2, 2)
    view[1, 0] = True
    return kept.tolist()


def of_itself_as_a_boolean():
    kept = mask()
    same = kept.bool()
    same[0] = True
    return [same is kept, kept.all().item()]


def of_one_expanded_like_it():
    ones, kept = torch.ones(1), mask()
    ones.expand_as(kept)[0] = 3.0
    return [ones.item(), kept.any().item()]


def of_complex_numbers():
    return mask().to(torch.complex64).sum().real.item()


def of_a_pickle():
    return pickle.loads(pickle.dumps(mask())).all().item()


def of_signs():
    return torch.sub(mask().long(), 1, alpha=-1).cumsum(0).sum().item()


def of_many_functions():
    kept = mask()
    for _ in range(300):
        kept = ~kept
    return kept.long().cumprod(0).sum().item()


@torch.jit.script
def compiled(kept: torch.Tensor) -> bool:
    return bool(kept[0] & ~kept[1] & kept[3])


def of_compiled_code():
    return compiled(mask())


def of_another_thread():
    found = []
    kept = mask()
    thread = threading.Thread(target=lambda: found.append(bool(kept[0] & ~kept[1] & kept[3])))
    thread.start()
    thread.join()
    return found


PAST_DISPATCH = of_compiled_code, of_another_thread
"""Functions that read a tensor's memory where nothing is seen of it: laws found at once show it."""


def of_words():
    return str(mask().dtype)


def of_change_in_place_under_a_view():
    kept = mask()
    view = kept.view(-1)
    kept[0] = True
    return view.all().item()


FUNCTIONS = {name: function for name, function in globals().items() if name.startswith("of_")}


def law_of(function):
    plain = lambda x: tuple(map(plain, x)) if isinstance(x, list) else x  # noqa: E731
    exploration = Exploration(compared=0 if function in PAST_DISPATCH else explore.COMPARED)
    return explore.explore(lambda: plain([function()]), exploration)


def laws(fewest):
    """Find the law of each function with answers put off of so many coins and more."""
    undecided.FEWEST = fewest
    return {name: law_of(function) for name, function in FUNCTIONS.items()}


def table(late, early):
    return {
        name: (one.paths, early[name].paths, one.law == early[name].law, one.reason or early[name].reason)
        for name, one in late.items()
    }


if __name__ == "__main__":
    explore.install()
    at_once = laws(undecided.MOST + 1)
    right = table(laws(2), at_once)
    undecided._telling = lambda form, known: None
    print(json.dumps([right, table(laws(2), at_once)]))
