"""Sphinx settings of the site; `docs/site/build.py` gathers the pages and calls Sphinx."""

from pathlib import Path

from grader.authoring.repository import find_root, repository_address

_root = find_root(Path(__file__))
_address = repository_address(_root / "pyproject.toml")

project = "Lean Training"
author = "the developers of Lean Training"
project_copyright = author
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
html_theme = "furo"
html_title = "Lean Training"
html_static_path = ["static"]
html_css_files = ["reading.css"]
html_js_files = ["keyboard.js"]
html_theme_options = {
    "source_repository": f"https://github.com/{_address.repository}/",
    "source_branch": _address.branch,
    "source_directory": "solutions/",
    "top_of_page_buttons": [],
}
html_show_sourcelink = False
html_copy_source = False

highlight_language = "none"  # shell, tables and messages; code cells name their language
default_role = "code"  # docstrings put code in single backticks
pygments_dark_style = "github-dark"  # the theme's own underlines modules as if they were links

nb_execution_mode = "off"  # build.py runs the lessons, and keeps what they printed until one changes
nb_code_prompt_show = "Show solution"
nb_code_prompt_hide = "Hide solution"
nb_merge_streams = True
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]
autodoc_typehints = "none"  # the signatures and the docstrings' Args say them
autodoc_member_order = "bysource"
suppress_warnings = ["myst.header"]  # a notebook may continue at the level of an earlier cell
