"""The laws of reference verifiers, exactly, and the measured law of other code with the rule that judges it."""
