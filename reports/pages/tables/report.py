"""From the cells to what is written: tables.json first, and the page and the text made of it."""

from collections.abc import Mapping
from typing import Any

from ...audits.tables.equalities import equalities
from ...audits.tables.estimates import CONFIDENCE_LEVEL, Totals
from ...audits.tables.orderings import ORDERINGS_ALPHA, orderings
from ...audits.tables.plan import MeasurementCell, TablesPlan
from .figures import acceptance_lengths, improvements
from .layout import paper, tables

SCHEMA_VERSION = "1.0"


def report_of(
    plan: TablesPlan, settings: Mapping[str, Any], cells: Mapping[MeasurementCell, Mapping[str, Any]], of: int
) -> dict[str, Any]:
    """Everything that the page shows. of: how many cells the plan has; fewer if a run was cut short."""
    totals = Totals(cells)
    return {
        "schema_version": SCHEMA_VERSION,
        "settings": dict(settings),
        "cells": {"measured": len(cells), "of": of},
        "level": CONFIDENCE_LEVEL,
        "alpha": ORDERINGS_ALPHA,
        "paper": paper()["source"],
        "tables": tables(plan, totals),
        "figures": {"3": acceptance_lengths(plan, totals), "5": improvements(plan, totals)},
        "orderings": orderings(plan, totals),
        "equalities": equalities(plan, totals),
    }
