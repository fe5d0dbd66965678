"""The content of a compliance document: numbered requirements whose verdicts are derived from evidence.

plan.py: the plan, compliance.toml, read and checked, and what its parts gave.
collecting.py: each part of the plan, run or read once, and kept; running.py: how each kind is run; declared.py: the
files that it is valid for, and what it needs.
evidence_rows.py: which evidence of a part speaks of a requirement, and how much its kind can show; requirements.py: the
verdict that it gives.
document.py: report.json and its form; contradictions.py: what a report states that its evidence does not give.

``pages.compliance`` writes the folder of a run, and verifies it by making its files again.
"""
