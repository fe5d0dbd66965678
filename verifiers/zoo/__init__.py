"""Verifiers with a known bug (mutants), and unusual ones that are right (controls): what audits are tested on."""
