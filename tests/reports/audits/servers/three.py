"""A problem over three tokens that servers serve."""

from draftproof.models.problem import problem_from

AFTER = {"0": ["1/2", "1/2", "0"], "1": ["1/4", "1/4", "1/2"], "2": ["1/5", "2/5", "2/5"]}
THREE = problem_from({"vocabulary": 3, "gamma": 2, "target": {"start": ["1/2", "1/4", "1/4"], "after": AFTER},
                      "draft": ["1/4", "1/4", "1/2"], "name": "three"})  # fmt: skip
