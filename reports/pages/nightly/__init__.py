"""The history of the nightly regression, for the terminal and as a page."""
