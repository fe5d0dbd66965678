"""Running audits and judging what was measured: functions, engines, loops end to end, campaigns, nightly, tables."""
