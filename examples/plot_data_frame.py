"""
Find wrong labels in a data frame
=================================

A help desk sorts its tickets by team. Some were sorted wrongly. The table has text, numbers, dates,
categories and missing values, and `subsvms.correct_table` takes it as it is.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from subsvms import correct_table

# %%
# A table as people have it
# -------------------------
# The tickets are made up, so that we know which labels are wrong: 12 % of them, in either direction.
# Technical tickets tend to come later in the day and to take longer, and their words differ, but no
# column alone is enough.

rng = np.random.default_rng(0)
n = 1200
clean = rng.choice(["billing", "technical"], n, p=[0.6, 0.4])
technical = clean == "technical"
words = {
    "billing": "account please help today again twice still invoice refund price card paid".split(),
    "technical": "account please help today again twice still error login crash screen update".split(),
}
hours = (
    rng.integers(0, 24 * 300, n) // 24 * 24
    + np.where(technical, rng.normal(18, 4, n), rng.normal(13, 4, n)) % 24
)
tickets = pd.DataFrame(
    {
        "message": [" ".join(rng.choice(words[team], rng.integers(2, 7))) for team in clean],
        "opened": pd.Timestamp("2025-01-01") + pd.to_timedelta(hours.round(2), unit="h"),
        "minutes": rng.gamma(3 + 2 * technical, 10).round(1),
        "channel": np.where(rng.random(n) < 0.1, None, rng.choice(["mail", "phone", "chat"], n)),
        "team": np.where(rng.random(n) < 0.12, np.where(technical, "billing", "technical"), clean),
    }
)
tickets.head()

# %%
# One call
# --------
# The result shows itself in a notebook, and on this page: what was found, the rows to look at
# first, and where to go on.

correction = correct_table(tickets, label="team")
correction

# %%
# The suspicious rows, worst first, beside the tickets themselves. The index is that of the data
# frame, so a join is enough.

issues = correction.to_frame().query("is_label_issue").sort_values("label_quality")
issues.join(tickets[["message", "minutes"]])[
    ["message", "given_label", "suggested_label", "label_quality"]
].head()

# %%
# How good is the list?
# ---------------------
# We know the truth, so we can walk down the list of *all* tickets, the least credible label first,
# and count how many wrong ones we have met. The list stops being worth it where the curve bends,
# and that is about where the rule stops.

wrong = tickets["team"].to_numpy() != clean
order = np.argsort(correction.label_quality)
found = np.cumsum(wrong[order])
n_flagged = correction.flagged.sum()

figure, ax = plt.subplots(figsize=(6, 4.2), layout="constrained")
ax.plot(np.arange(1, n + 1), found, color="#0072B2", linewidth=2, label="worst first")
ax.plot([0, n], [0, wrong.sum()], color="0.5", linestyle=":", label="in random order")
ax.plot(
    n_flagged,
    found[n_flagged - 1],
    "o",
    color="#D55E00",
    markersize=9,
    label=f"the {n_flagged} flagged labels",
)
ax.set(
    xlabel="labels looked at",
    ylabel="wrong labels found",
    xlim=(0, 600),
    ylim=(0, None),
    title=f"{found[n_flagged - 1]} of {wrong.sum()} wrong labels are among the {n_flagged} flagged",
)
ax.legend(loc="lower right")
plt.show()

# %%
# The rule prefers to leave a wrong label rather than to change a right one. What is left, and what
# was harmed:

left = correction.labels != clean
print(
    f"wrong before: {wrong.sum()}, wrong after: {left.sum()}, right labels changed: {(left & ~wrong).sum()}"
)

# %%
# ``correction.report("report.html")`` writes a page to pass on, and ``correction.review()`` opens a
# page on which people decide about these tickets one by one.
