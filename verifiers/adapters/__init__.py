"""Third-party functions and engines, adapted to the calls that audits make."""
