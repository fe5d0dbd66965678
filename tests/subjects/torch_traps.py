"""Torch functions at which an interception could be fooled. ``TRUE``: the probability of token 1."""

import threading

import torch
from torch import Generator as ImportedGenerator

MADE = torch.Generator()
DOUBLE = torch.float64


def one(emits):
    """Make a function that emits 1 where emits() is true."""
    return lambda target_probs, draft_probs, draft_tokens: [int(emits())]


def below(cut, change, size=()):
    """Return a function that emits 1 if change(uniforms) is below the cut."""
    return one(lambda: change(torch.rand(size, dtype=DOUBLE)) < cut)


python_scalar_threshold_a = one(lambda: torch.rand(()) < 0.25)
python_scalar_threshold_b = one(lambda: torch.rand(()) < 0.5)
python_scalar_factor = one(lambda: int(torch.rand(()) * 0.75 < 0.1875) + int(torch.rand(()) * 0.25 < 0.0))
option_of_clamp = one(lambda: torch.rand(()).clamp(min=0.5) < 0.75)
several_elements_as_float = one(lambda: all(bool(u < 0.5) for u in torch.rand(2, dtype=DOUBLE).float()))
out_argument = one(lambda: torch.rand(2, out=torch.zeros(2))[0] < 0.5)
generator_seeded_in_the_call = one(lambda: torch.rand(1, generator=MADE.manual_seed(42)) < 0.5)
imported_generator_made_in_the_call = one(lambda: torch.rand(1, generator=ImportedGenerator().manual_seed(3)) < 0.5)
generator_made_in_the_call = one(lambda: torch.rand(1, generator=torch.Generator()) < 0.5)
whole_number_compared = one(lambda: (torch.randint(0, 12, (2,)) / 12)[1] < 0.25)
whole_number_looked_up = one(lambda: (torch.arange(100) < 25).long()[torch.randint(0, 100, (1,))])
values_of_a_maximum = one(lambda: (torch.tensor([0.5, 0.5]) / torch.empty(2).exponential_()).max(-1)[0] > 1)
even_power = one(lambda: (0.9 - torch.rand((), dtype=DOUBLE)) ** 2 > 0.01)
half_precision_against_a_wider_number = one(
    # 0-d against 0-d: torch compares in float64, where 0.3345 lies above what bfloat16 makes of it
    lambda: torch.rand((), dtype=torch.bfloat16) < torch.tensor(0.3345, dtype=DOUBLE)
)


def torch_seeded_in_the_call(target_probs, draft_probs, draft_tokens):
    torch.manual_seed(0)
    return torch.multinomial(target_probs[0], 1)


@one
def a_view_is_filled():
    w = torch.zeros(3)
    w[0:1].uniform_()
    return w[0] < 0.5


@one
def a_view_was_taken_before():
    b = torch.zeros(4)
    v = b[:2]
    b.uniform_()
    return v[0] < 0.5


@one
def a_view_is_changed():
    u = torch.rand(4)
    u[:1].mul_(0.5)
    return u[0] < 0.25


@one
def rows_are_filled_one_by_one():
    """The pattern of one generator a request: each row of noise is filled in place."""
    noise = torch.empty(2, 2, dtype=DOUBLE)
    for k in range(2):
        noise[k].exponential_()
    winners = (torch.full((2, 2), 0.5, dtype=DOUBLE) / noise).argmax(-1)
    return bool(winners[0] == 1) and bool(winners[1] == 1)


@one
def constant_changed_later():
    q = torch.tensor([0.5, 0.5])
    x = torch.rand(2) * q
    q.zero_()
    return x[0] < 0.25


@one
def state_is_taken_and_set():
    state = torch.get_rng_state()
    first = torch.rand(1) < 0.5
    torch.set_rng_state(state)
    return first == (torch.rand(1) < 0.5)


def _set_back(generator):
    state = generator.get_state()
    first = torch.rand(1) < 0.5
    generator.set_state(state)
    return first == (torch.rand(1) < 0.5)


@one
def default_generator_is_named_and_set_back():
    state = torch.default_generator.get_state()
    first = torch.rand(1, generator=torch.default_generator) < 0.5
    torch.default_generator.set_state(state)
    return first == (torch.rand(1, generator=torch.default_generator) < 0.5)


@one
def drawn_past_the_hooks_by_the_default_generator():
    return torch.ops.aten.rand.generator([1], generator=torch.default_generator)[0] < 0.25


default_generator_is_set_back = one(lambda: _set_back(torch.default_generator))
default_generator_of_torch_random_is_set_back = one(lambda: _set_back(torch.random.default_generator))
drawn_by_the_default_generator = one(lambda: torch.rand((), generator=torch.default_generator) < 0.25)


@one
def default_generator_seeded_in_the_call():
    torch.default_generator.manual_seed(42)
    return torch.rand(1) < 0.5


@one
def another_thread():
    found = []
    thread = threading.Thread(target=lambda: found.append(bool(torch.rand(1, generator=MADE) < 0.5)))
    thread.start()
    thread.join()
    return found[0]


@one
def masked_to_minus_infinity():
    scores = torch.zeros(3, dtype=DOUBLE) - torch.log(-torch.log(torch.rand(3, dtype=DOUBLE)))
    return scores.masked_fill(torch.tensor([False, False, True]), float("-inf")).argmax() == 1


@torch.library.custom_op("draftproof_traps::bump", mutates_args=())
def bump(x: torch.Tensor) -> torch.Tensor:
    """Return x, but 0.9 between 0.4 and 0.41: between any points at which it is looked at."""
    return torch.where((x > 0.4) & (x < 0.41), 0.9, x)


def put(u):
    row = torch.zeros(3, dtype=torch.float64)
    row[1] = u
    return row.flip(0)[1]


normal = below(0.5, lambda u: 0.0 if torch.randn(1) < 0 else 1.0)
product = below(0.5, lambda u: u.cumprod(0)[1], 2)
plain_float = below(0.5, float)
bump_of_another_library = below(0.7, bump)
bump_by_its_packet = below(0.7, torch.ops.draftproof_traps.bump)
by_a_sorter = below(
    1.5,
    lambda u: torch.searchsorted(torch.tensor([0.75, 0.25], dtype=u.dtype), u, sorter=torch.tensor([1, 0])).double(),
)
sine = below(0.0, lambda u: torch.sin(20 * u))
fraction = below(0.5, lambda u: (4 * u).frac())
remainder_near_the_end = below(1e-5, lambda u: torch.remainder(u, 0.9999))
distance = below(0.1, lambda u: (u - 0.3).abs())
reciprocal_around_zero = below(4.0, lambda u: 1 / (u - 0.5))
soft_maximum = below(0.5, lambda u: u.softmax(0)[0], 2)
smallest_of_two = below(0.5, lambda u: u.sort().values[0], 2)
sum_of_two = below(0.5, lambda u: u.sum(), 2)
matrix = below(0.5, lambda u: (torch.tensor([[1.0, 0.0], [0.5, 0.5]], dtype=torch.float64) @ u)[1], 2)
equal_to_itself = below(0.5, lambda u: int(torch.equal(u, u + 0)))
no_largest_of_a_huge = below(2000.0, lambda u: (1 / u).clamp(max=2000.0))
rectified = below(1e-9, lambda u: (u - 0.5).relu())
interpolated = below(0.5, lambda u: torch.lerp(torch.zeros((), dtype=u.dtype), torch.full((), 2.0, dtype=u.dtype), u))
error_function = below(0.5204998778130465, torch.erf)
put_at_an_index = below(0.25, put)
chosen_by_a_mask = below(0.25, lambda u: torch.where(torch.tensor([True, False]), u, 2.0)[0])
lower_triangle = below(0.25, lambda u: u.tril()[1, 0], (2, 2))

TRUE = {
    "python_scalar_threshold_a": 0.25, "python_scalar_threshold_b": 0.5, "python_scalar_factor": 0.25,
    "option_of_clamp": 0.75, "several_elements_as_float": 0.25, "out_argument": 0.5,
    "generator_seeded_in_the_call": None, "imported_generator_made_in_the_call": None, "a_view_is_filled": 0.5,
    "a_view_was_taken_before": 0.5, "a_view_is_changed": 0.5, "rows_are_filled_one_by_one": 0.25,
    "constant_changed_later": 0.5, "values_of_a_maximum": 1 - 0.36787944117144233**1.0, "even_power": 0.8,
    "state_is_taken_and_set": 1.0, "default_generator_is_set_back": 1.0, "default_generator_is_named_and_set_back": 1.0,
    "drawn_past_the_hooks_by_the_default_generator": 0.25, "default_generator_seeded_in_the_call": None,
    "default_generator_of_torch_random_is_set_back": 1.0, "drawn_by_the_default_generator": 0.25,
    "another_thread": 0.5, "masked_to_minus_infinity": 0.5,
    "half_precision_against_a_wider_number": 0.3369140625, "bump_of_another_library": 0.69,
    "generator_made_in_the_call": None, "torch_seeded_in_the_call": None, "whole_number_compared": 0.25,
    "whole_number_looked_up": 0.25, "normal": 0.5, "product": 0.8465735902799727, "plain_float": 0.5,
    "bump_by_its_packet": 0.69, "by_a_sorter": 0.75,
    "sine": 0.47123889803846897, "fraction": 0.5, "remainder_near_the_end": 2e-5,
    "distance": 0.2, "reciprocal_around_zero": 0.75, "soft_maximum": 0.5, "smallest_of_two": 0.75, "sum_of_two": 0.125,
    "matrix": 0.5, "equal_to_itself": 0.0, "no_largest_of_a_huge": 0.9995, "rectified": 0.5, "interpolated": 0.25,
    "error_function": 0.5, "put_at_an_index": 0.25, "chosen_by_a_mask": 0.25, "lower_triangle": 0.25,
}  # fmt: skip
FOLLOWED = (
    "python_scalar_threshold_a", "python_scalar_threshold_b", "python_scalar_factor", "option_of_clamp",
    "several_elements_as_float", "a_view_is_filled", "a_view_is_changed", "rows_are_filled_one_by_one",
    "constant_changed_later", "masked_to_minus_infinity", "half_precision_against_a_wider_number",
    "whole_number_compared", "whole_number_looked_up", "no_largest_of_a_huge", "rectified", "interpolated",
    "error_function", "put_at_an_index", "chosen_by_a_mask", "lower_triangle", "drawn_by_the_default_generator",
)  # fmt: skip
