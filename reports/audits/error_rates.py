"""The error rates of all statistical evidence in reports."""

ALPHA = 1e-6
"""Rate of false alarms: that a run refutes what is right, all its tests together."""

BETA = 1e-3
"""Rate of misses: that a deviation at a detection limit is not refuted."""

REFERENCE_ALPHA = 1e-3
"""Rate of false alarms of a server that is judged by the rows of a reference: their drift is measured, not known."""
