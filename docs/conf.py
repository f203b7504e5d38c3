"""How the site is built: python -m sphinx -W docs build/docs.

Pages are Markdown. The reference is made from the public names, the command line from the program, the
examples from the scripts in examples/, and the results from the files that the benchmarks wrote.
"""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

from reference import list_public_names  # noqa: E402

import subsvms  # noqa: E402

project = "subsvms"
author = "The subsvms developers"
copyright = author
version = release = subsvms.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
    "commands",
    "results",
]
exclude_patterns = ["pictures", "_ext", "_templates"]
templates_path = ["_templates"]
smartquotes = False  # --query must not become a dash
default_role = "py:obj"  # docstrings write code between single backticks; names of ours become links

myst_enable_extensions = ["deflist", "colon_fence"]
myst_heading_anchors = 3

autosummary_context = {"public": list_public_names()}
autodoc_typehints = "none"  # types are in the tables of parameters
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# Examples run one after another with the threads that the machine has; notebooks are made from them.
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 10,
    "abort_on_example_error": True,
}

# Everything a page needs lies in the folder: no fonts, scripts or links that need a network.
html_theme = "pydata_sphinx_theme"
html_title = "subsvms"
html_static_path = ["_static"]
html_sidebars = dict.fromkeys(("start", "cli", "faq"), [])  # they have no pages below them
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_search_summary = False  # it is fetched, which browsers refuse for files
html_theme_options = {
    "logo": {"text": "subsvms"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_context = {"default_mode": "auto"}
