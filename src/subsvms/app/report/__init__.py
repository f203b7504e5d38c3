"""The report of a run: one page for people, with three charts."""

from subsvms.app.report.charts import draw_charts
from subsvms.app.report.page import place_audit, place_final, render_report

__all__ = ["draw_charts", "place_audit", "place_final", "render_report"]
