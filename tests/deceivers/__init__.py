"""Wrong verifiers written to be cleared (deceivers), and right ones that look odd (controls); ``catalogue.py`` lists
them."""
