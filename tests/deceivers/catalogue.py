"""The table of deceivers: what each is, on which problem it is wrong and by how much, and what an audit has to say."""

from typing import Any, NamedTuple

from draftproof.benchmarks.choose_wide_battery import many_ids
from draftproof.models.wide import WideProblem, wide, wide_battery
from draftproof.tests.deceivers import problems as at

REFUTED, NOT_CLEARED, ERROR, UNSEEN = ("refuted",), ("refuted", "inconclusive"), ("error",), ("holds",)
"""Verdicts: by an exact law; at least no law; not a verifier; what no audit of this kind can see (documented)."""


class Deceiver(NamedTuple):
    """A wrong verifier.

    function: "module:name" in this package.
    on: the problem on which it is wrong.
    wrong: its total variation there (where it is wrong only sometimes: while it is), computed or sampled.
    says: the verdicts that an audit may give.
    long: whether it is left to ``make deceivers``.
    """

    function: str
    on: Any
    wrong: float
    says: tuple[str, ...] = REFUTED
    long: bool = False


RACES = (
    Deceiver("races:capped_at_2", at.SIX_FOUR, 0.009663, NOT_CLEARED),
    Deceiver("races:uniform_clipped_closely", at.SIX_FOUR, 1.485e-09, NOT_CLEARED),
    Deceiver("races:gumbel_capped", at.SIX_FOUR, 0.001392, NOT_CLEARED),
    Deceiver("races:epsilon_too_large", at.SIX_FOUR, 1e-4, NOT_CLEARED),
    Deceiver("races:epsilon_in_the_weights", at.GENERIC_3_1, 6.46e-7),
    Deceiver("races:slightly_cooler", at.GENERIC_3_1, 0.001813),
    Deceiver("races:noise_of_one_digit", at.SIX_FOUR, 0.01, NOT_CLEARED),
    Deceiver("races:nine_digits_behind_one_id", at.TWO_LEFT, 1e-10, NOT_CLEARED),
    Deceiver("races:half_precision_noise", at.GENERIC_3_1, 8.6e-6, NOT_CLEARED, long=True),
    Deceiver("races:one_noise_for_all_positions", at.GENERIC_3_2, 0.1, NOT_CLEARED),
    Deceiver("races:uniform_of_the_test_in_the_race", at.GENERIC_3_1, 0.05, NOT_CLEARED),
)

FAR_1, FAR_2, FAR_4, FAR_7, FAR_9 = (at.both_sure(far) for far in (0.1, 0.01, 1e-4, 1e-7, 1e-9))
REGIONS = (
    Deceiver("regions:all_but_certain", FAR_7, 2e-7),
    Deceiver("regions:draft_very_rare", at.rare(1e-8, 5e-8), 4e-8),
    Deceiver("regions:target_very_rare", at.rare(1e-8, 1e-6), 1e-8),
    Deceiver("regions:ratio_very_close_to_one", FAR_7, 2e-7),
    Deceiver("regions:never_below_a_millionth", at.rare(1e-8, 0.5), 4.9e-7),
    Deceiver("regions:epsilon_in_the_ratio", at.GENERIC_3_1, 1.75e-9),
    Deceiver("regions:ratio_of_nine_digits", at.GENERIC_3_2, 3.79e-10),
    Deceiver("regions:rows_taken_for_equal_closely", at.NEARLY_EQUAL, 2e-6),
    Deceiver("regions:tie_accepted", at.TIES, 0.3),
    Deceiver("regions:very_small_residual_is_the_target", FAR_9, 2e-9),
    Deceiver("regions:residual_cut_absolutely", at.UNEVEN_FAR, 1e-7),
    Deceiver("regions:residual_plus_epsilon", at.GENERIC_3_1, 2e-10),
    Deceiver("regions:residual_in_half_precision", at.GENERIC_3_2, 3.785e-5),
    Deceiver("regions:survival_very_close_to_nothing", at.rare(1e-6, 0.5), 1e-6),
    Deceiver("regions:survival_of_six_digits", at.GENERIC_2_3, 1.596e-7),
    Deceiver("regions:small_share_taken_for_zero", at.SMALL_SHARE, 0.003),
    Deceiver("regions:epsilon_in_the_share", at.GENERIC_3_2, 4.945e-9),
    Deceiver("regions:bonus_greedy_when_peaked", FAR_4, 3e-4),
    Deceiver("watched:error_hidden", at.UNNORMALISED, 0.6),
)

EIGHT, NINE = at.long(8, (0, 7)), at.long(9, (0, 8))
POSITIONS = (
    Deceiver("positions:ninth_and_later", NINE, 0.21),
    Deceiver("positions:mask_of_8_bits", NINE, 0.21),
    Deceiver("positions:repeated_token", at.GENERIC_3_2, 0.181787),
    Deceiver("positions:three_of_a_kind", at.GENERIC_2_4, 0.083731),
    Deceiver("positions:one_block_only", at.GENERIC_2_3, 0.027535),
    Deceiver("positions:bonus_from_the_row_before", at.GENERIC_2_3, 0.144043),
    Deceiver("positions:eighth_row_overwritten", EIGHT, 0.147),
    Deceiver("positions:block_of_four", at.MIXED_2_5, 0.4635),
)

NINE_IDS, SIXTY_SIX_IDS = at.wide(9), at.wide(66)
IDS = (
    Deceiver("ids:half_precision_weights", SIXTY_SIX_IDS, 8.152e-05),
    Deceiver("ids:last_id_never", NINE_IDS, 0.002219),
    Deceiver("ids:padding_id_never", NINE_IDS, 0.001109),
    Deceiver("ids:falsy_zero", at.FALSY, 0.2),
    Deceiver("ids:last_id_accepted", at.GENERIC_3_2, 0.01515),
    Deceiver("ids:set_of_64_bits", SIXTY_SIX_IDS, 0.01263),
)

V129, V257, V1003 = wide(129, 2), wide(257, 2, "tails"), wide(1003, 1)
V2000 = next(p for p in wide_battery() if p.kind == "near")
AGAIN = next(p for p in wide_battery() if p.name == "wide-again-V5003-gamma4")
LITTLE_LEFT = WideProblem(1101, 1, "near", ((0, 600, 1100),))
V32769, V65537, GAMMA33 = wide(32_769, 1), wide(65_537, 1), wide(8, 33)
WIDE = (
    Deceiver("ids:ids_of_16_bits", V32769, 2.516e-07),
    Deceiver("ids:ids_as_half_floats", V32769, 0.017, NOT_CLEARED),
    Deceiver("ids:draft_ids_of_8_bits", V129, 0.5299),
    Deceiver("ids:tile_of_128_dropped", V129, 2.657e-05),
    Deceiver("ids:thirty_two_thousand_ids", V32769, 0.02514),
    Deceiver("ids:sum_in_tiles_without_carry", V257, 0.4138),
    Deceiver("ids:draft_of_100", V2000, 0.0019, long=True),
    Deceiver("ids:little_left_is_the_target", LITTLE_LEFT, 0.001992),
    Deceiver("ids:untested_128001", many_ids(128_256), 0.02457),
    Deceiver("positions:mask_of_32_bits", GAMMA33, 0.04558),
    Deceiver("positions:wide_third", AGAIN, 0.009375),
    Deceiver("positions:wide_thrice", AGAIN, 0.009375),
    Deceiver("positions:wide_fourth_refused", AGAIN, 0.0025),
    Deceiver("positions:wide_bonus_from_the_row_before", AGAIN, 0.0021786),
    Deceiver("positions:wide_stale_draft_row", AGAIN, 0.0015),
    Deceiver("ids:tail_flushed_below_a_trillionth", V257, 5.3957e-12),
    Deceiver("ids:middle_parts_one_too_low", V1003, 0.008, NOT_CLEARED),
    Deceiver("rows:first_of_two_samples", V1003, 0.1159),
    Deceiver("rows:rare_drawn_again", V1003, 0.001, NOT_CLEARED),
    Deceiver("rows:odd_drawn_again", V1003, 0.001, NOT_CLEARED),
    Deceiver("rows:accepted_if_it_is_the_sample", V1003, 0.1304, long=True),
    Deceiver("rows:accepted_if_the_best_is_the_sample", V1003, 0.1739, long=True),
    Deceiver("rows:accepted_if_a_likely_one_is_the_sample", V32769, 0.36, NOT_CLEARED),
    Deceiver("rows:best_drawn_again", V1003, 0.01147, long=True),
    Deceiver("rows:one_id_of_a_thousand", V1003, 8.356e-05),
    *(
        Deceiver(f"rows:scores_{name}", V129, wrong, NOT_CLEARED)
        for name, wrong in (
            ("in_half_precision", 2e-4),
            ("through_half_precision", 2e-4),
            ("of_whole_logarithms", 5e-3),
            ("in_single_precision", 3e-8),
        )
    ),
)

LEVELS = (
    Deceiver("levels:hundred_levels", at.ODD_DIGITS, 0.001722),
    Deceiver("levels:million_levels", at.ODD_DIGITS, 5.645e-07, NOT_CLEARED),
    Deceiver("levels:levels_of_a_uniform", at.ODD_DIGITS, 1.8169e-05, long=True),
    Deceiver("levels:one_value_of_a_hundred", at.ODD_DIGITS, 0.0023456),
    Deceiver("levels:level_as_a_probability", at.ODD_DIGITS, 0.0493883),
    Deceiver("levels:sign_bit_lost", at.ODD_DIGITS, 0.2345568, NOT_CLEARED),
    Deceiver("levels:coin_without_end", at.ODD_DIGITS, 5.726e-05),
    *(
        Deceiver(f"levels:{name}", at.ODD_DIGITS, 0.01, NOT_CLEARED)
        for name in ("product_of_two", "up_and_down", "rounded_to_single", "slow_loop")
    ),
)

LOOPS = (
    Deceiver("loops:slightly_less_of_token_2", at.FOUR, 1.3333338e-07, NOT_CLEARED, long=True),
    Deceiver("loops:ratio_squared", at.FOUR, 0.0306122, NOT_CLEARED, long=True),
    *(
        Deceiver(f"loops:{name}", at.FOUR, wrong, NOT_CLEARED, long=True)
        for name, wrong in (
            ("any_after_thirty", 1e-10), ("seven_tries", 1e-3), ("not_twice_the_same", 0.01),
        )
    ),
)  # fmt: skip


def not_cleared(module: str, names: str, on: Any = at.GENERIC_3_1, says: tuple[str, ...] = NOT_CLEARED):
    """Entries of several functions of a module, of which no audit may say another thing; how wrong is not compared."""
    return tuple(Deceiver(f"{module}:{name}", on, 0.0, says) for name in names.split())


ONE = at.GENERIC_3_2
MEMORY = (
    *not_cleared(
        "memory",
        "residuals_by_rounded_rows residuals_by_target residuals_by_first_entry ratios_by_draft_tokens "
        "rows_of_the_call_before every_thousandth_call first_call uniforms_from_a_pool uniform_kept_for_the_next_call",
        ONE,
    ),
    *not_cleared("hidden", "slots suspended in_a_thread_local in_a_context_variable hits_of_a_cache", ONE),
    Deceiver("hidden:scanner", ONE, 0.4, UNSEEN),
)
SURROUNDINGS = not_cleared("surroundings", "with_a_variable after_2030_by_local_time with_threads")
ELSEWHERE = not_cleared(
    "elsewhere",
    "system secret identifier own_generator own_numpy_generator another_thread device identifier_by_time "
    "entropy_of_a_seed state_of_the_generator raw_bits c_library_often",
)
WATCHED = not_cleared(
    "watched",
    "type_of_the_number comparison_of_another_type same_row_twice middle_of_the_interval swallows_everything "
    "plain_array_of_numbers",
)
FORGING = (
    Deceiver("forging:inputs_changed", ONE, 0.3976),
    Deceiver("forging:draft_tokens_changed", ONE, 0.7327),
    *not_cleared("forging", "result_of_another_mind", ONE),
)

ARGUMENTS = (
    Deceiver("arguments:greedy_by_itself", at.GENERIC_3_1, 0.45305),
    Deceiver("arguments:seeded_by_itself", at.GENERIC_3_1, 0.58941),
    *not_cleared("arguments", "layout_mistaken without_gradients with_cuda"),
)

RESULTS = (
    *not_cleared("results", "in_text", ONE, ERROR),
    *(
        Deceiver(f"results:{name}", ONE, wrong)
        for name, wrong in (
            ("padded_with_zeros", 0.2749), ("without_the_last_token", 0.1375),
            ("with_one_token_more", 0.7529), ("as_truth_values", 0.5738), ("last_token_first", 0.2554),
            ("draft_always_whole", 0.4077), ("one_hot", 0.9458),
        )
    ),
)  # fmt: skip

BY_LAW = (*RACES, *REGIONS, *POSITIONS, *IDS, *WIDE, *LEVELS, *LOOPS)
"""Those that show in the law of one problem: the law alone is measured, all in one process."""

SETTINGS = (Deceiver("surroundings:with_a_setting", at.GENERIC_3_1, 0.3, UNSEEN),)

BETWEEN = (
    Deceiver("ids:draft_of_1024", V2000, 0.0, UNSEEN, long=True),
    Deceiver("positions:wide_probable", V1003, 0.0, UNSEEN, long=True),
    Deceiver("positions:gamma_of_twenty", GAMMA33, 0.0, UNSEEN, long=True),
)
"""Right on the problem, and wrong on none that an audit has; ``docs/blind-spots.md`` says so."""

BY_AUDIT = (*BETWEEN, *MEMORY, *SETTINGS, *SURROUNDINGS, *ELSEWHERE, *WATCHED, *ARGUMENTS, *FORGING, *RESULTS)
"""Those that need a whole audit, in a process of its own."""

ODD = (
    "rejection_loop", "gumbel_with_epsilon", "log_space", "thinning", "cache_by_content", "uniforms_in_advance",
    "one_uniform_for_the_block", "block_in_ratios", "tournament", "logs_by_environment", "counts_its_calls",
    "stops_before_the_bonus", "target_alone", "bits_of_a_double",
)  # fmt: skip
"""Controls of ``odd.py``: right in float64."""

DRAWN = {
    "float64": (
        0, 3, 1, 4, 5, 8, 10, 14, 15, 19, 20, 21, 22, 26, 27, 28, 33, 35, 36, 37, 38, 39, 40, 43, 44, 46, 49, 50, 52,
        55, 57, 63, 74, 77, 78, 83, 87, 89, 90, 91, 94, 95, 120, 165,
    ),
    "float32": (4, 2, 61, 8, 24, 26, 52, 79, 96, 121, 173, 181, 190),
    "bfloat16": (6, 0, 1, 7, 9, 10, 11, 146, 231, 527),
}  # fmt: skip
"""Precision of the rows -> numbers of ``benchmarks/drawn_deceivers``, each of which an audit refutes."""
