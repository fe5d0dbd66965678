"""The report of the tables in its JSON form, from the cells: the page and the Markdown are made from it."""

from collections.abc import Mapping
from typing import Any

from .equalities import equalities
from .estimates import CONFIDENCE_LEVEL, Totals
from .orderings import ORDERINGS_ALPHA, orderings
from .paper_comparison import acceptance_lengths, improvements, paper, paper_tables
from .plan import MeasurementCell, TablesPlan

SCHEMA_VERSION = "1.0"


def tables_report(
    plan: TablesPlan, settings: Mapping[str, Any], cells: Mapping[MeasurementCell, Mapping[str, Any]], planned: int
) -> dict[str, Any]:
    """Everything that the page shows. planned: how many cells the plan has; fewer are there if a run was cut short."""
    totals = Totals(cells)
    return {
        "schema_version": SCHEMA_VERSION, "settings": dict(settings), "cells": {"measured": len(cells), "of": planned},
        "level": CONFIDENCE_LEVEL, "alpha": ORDERINGS_ALPHA, "paper": paper()["source"],
        "tables": paper_tables(plan, totals),
        "figures": {"3": acceptance_lengths(plan, totals), "5": improvements(plan, totals)},
        "orderings": orderings(plan, totals), "equalities": equalities(plan, totals),
    }  # fmt: skip
