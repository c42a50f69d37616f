"""Sphinx configuration."""

project = "shuffledp"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 3
html_theme = "furo"
html_static_path = ["generated/static"]
mathjax_path = "tex-svg-full.js"
html_title = "shuffledp"
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_mock_imports = ["torch", "dp_accounting", "opacus", "opendp", "flwr", "psycopg", "pyspark"]
suppress_warnings = ["myst.header"]
