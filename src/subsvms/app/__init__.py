"""The application: tables, features, runs, report, review and the command line. It needs subsvms[app]."""

from subsvms.exceptions import require_extra

require_extra(
    "This part of subsvms", "app", "filelock", "jinja2", "matplotlib", "msgspec", "pandas", "psutil",
    "pyarrow", "pyreadstat", "python_calamine", "rich", "starlette", "typer", "uvicorn",
)  # fmt: skip
