"""Right verifiers in the styles that decide how many ways their random numbers can fall in a long block."""

from draftproof.tests.deceivers.long_blocks import Defect, verifier

_styles = {"steps": "steps", "vector": "vector", "forwards": "block", "backwards": "block backwards"}
steps, vector, forwards, backwards = (verifier(Defect("untested", _styles[s], 99, True, 0)) for s in _styles)
