"""Sphinx configuration."""

from shuffledp import __version__

project = "shuffledp"
version = release = __version__
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_click",
    "sphinx_copybutton",
    "sphinx_design",
]
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
myst_dmath_double_inline = True  # displayed formulas may stand inside a paragraph
myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
html_theme = "furo"
html_static_path = ["generated/static", "site.css"]
html_css_files = ["site.css"]
mathjax_path = "tex-svg-full.js"
html_show_copyright = False
html_title = f"shuffledp {__version__}"
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_mock_imports = ["torch", "dp_accounting", "opacus", "opendp", "flwr", "psycopg", "pyspark"]
suppress_warnings = ["myst.header", "ref.python"]  # two modules may have a class of one name
