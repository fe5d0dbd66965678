"""How Sphinx builds this documentation: ``make docs``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import house

from draftproof import __version__

project = "draftproof"
version = release = __version__
copyright = "Apache-2.0"
extensions = ["myst_parser", "sphinx.ext.autodoc", "house"]
html_theme = "furo"
html_static_path, html_css_files, html_js_files = ["_static"], ["house.css"], [("tables.js", {"defer": "defer"})]
templates_path, html_logo, html_favicon = ["_templates"], "_static/mark.svg", "_static/mark.svg"
html_context = {"repository": house.REPOSITORY, "versions": house.versions()}
html_theme_options = {"source_repository": house.REPOSITORY, "source_branch": "main", "source_directory": "docs/"}
SIDEBAR = ("brand", "search", "versions", "scroll-start", "navigation", "scroll-end")
html_sidebars = {"**": [f"sidebar/{part}.html" for part in SIDEBAR]}
html_title = f"draftproof {__version__}"
html_show_copyright = html_show_sourcelink = False
exclude_patterns = ["_build"]
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3
nitpicky = True
"""Every reference leads somewhere; ``make docs`` makes an error of each warning."""
nitpick_ignore_regex = [("py:class", r"(collections|typing)\..*")]
"""Base classes of Python's own, whose documentation would have to be fetched."""

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_preserve_defaults = True
