"""Wrong verifiers that descend from real bugs, and unusual ones that are right: what an audit is tried on."""
