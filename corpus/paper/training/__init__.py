"""A target and two drafters trained offline."""
