"""Audits of verifiers as functions: exact laws by enumeration or interception, samples where there is no law."""
