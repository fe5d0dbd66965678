"""The zoo's verifiers of draft trees by name; as in ``catalogue`` the functions are not imported here."""

from .catalogue import ZooEntry, by_name

BY_READING = "a slip of the pen in code for trees; no public report found"
SPECINFER, SEQUOIA = "https://arxiv.org/abs/2305.09781", "https://arxiv.org/abs/2402.12374"
SPECTR, TRAVERSAL = "https://arxiv.org/abs/2310.15141", "https://arxiv.org/abs/2505.12398"

TREE_MUTANTS = by_name(
    ZooEntry("T01", "wrong_trees:only_the_rejected_entry", "target adjusted at the rejected token alone",
        "EAGLE: after a rejection the target was adjusted at the rejected entry only",
        "https://github.com/SafeAILab/EAGLE/issues/20"),
    ZooEntry("T02", "wrong_trees:row_of_the_parent", "a node verified by the draft row of its parent", BY_READING, SPECINFER),
    ZooEntry("T03", "wrong_trees:row_before_the_elder_was_removed", "a sibling verified by the row of its elder",
        "siblings drawn without replacement, of which only the first row is used", SEQUOIA),
    ZooEntry("T04", "wrong_trees:parents_mixed_up", "two nodes have each other's parents", BY_READING, SPECINFER),
    ZooEntry("T05", "wrong_trees:target_rows_by_depth", "target rows by depth, not by node",
        "TensorRT-LLM: verification of the dynamic tree sliced the wrong rows of logits",
        "https://github.com/NVIDIA/TensorRT-LLM/issues/15098"),
    ZooEntry("T06", "wrong_trees:bonus_from_the_root", "last token from the row after the context", BY_READING, SPECINFER),
    ZooEntry("T07", "wrong_trees:replacement_from_the_target", "token after all rejections from the target, not the residual",
        "Spec-RL: at the first rejection the token is drawn from p, here with several siblings",
        "https://github.com/ShopeeLLM/Spec-RL/issues/14"),
    ZooEntry("T08", "wrong_trees:each_as_if_alone", "each sibling tested as if it were the only one",
        "k-SEQ with rho = 1, and the residual of a single draft", SPECTR),
    ZooEntry("T09", "wrong_trees:sampled_again_for_each", "a sample of the target for each sibling", BY_READING, SPECINFER),
    ZooEntry("T10", "wrong_trees:equal_siblings_counted_twice", "equal siblings counted twice",
        "sglang's coin against the siblings' accumulated mass is made for different siblings; here they are drawn independently",
        "https://github.com/sgl-project/sglang/issues/35771"),
    ZooEntry("T11", "wrong_trees:weight_not_updated", "weight of a node unchanged after its children failed", BY_READING, TRAVERSAL),
    ZooEntry("T12", "wrong_trees:children_shared_out_evenly", "parents of a ragged tree taken for those of an even one",
        BY_READING, SPECINFER),
)  # fmt: skip

TREE_CONTROLS = by_name(
    ZooEntry("D01", "controls_trees:multi_round", "recursive rejection", "SpecInfer, Algorithm 2", SPECINFER, ()),
    ZooEntry("D02", "controls_trees:without_replacement", "recursive rejection by the eldest sibling's row",
        "Sequoia, Algorithm 2: the rejected token is removed from the row by the verifier", SEQUOIA, ()),
    ZooEntry("D03", "controls_trees:chosen_tokens", "no draft probability", "EAGLE-2's evaluate_posterior: q = 1",
        "https://github.com/SafeAILab/EAGLE/issues/183", ()),
    ZooEntry("D04", "controls_trees:sampled_child", "goes where the target's own sample goes",
        "naive sampling of SpecInfer's evaluation", SPECINFER, ()),
    ZooEntry("D05", "controls_trees:k_sequential", "k-SEQ", "SpecTr, Algorithm 3", SPECTR, ()),
    ZooEntry("D06", "controls_trees:traversal", "traversal verification", "Weng et al. 2025, Algorithms 1 and 2", TRAVERSAL, ()),
    ZooEntry("D07", "controls_trees_torch:recursive_rejection", "recursive rejection in torch",
        "the shape of EAGLE's evaluate_posterior, with q", "https://github.com/SafeAILab/EAGLE/issues/183", ()),
)  # fmt: skip
