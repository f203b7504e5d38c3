"""Say what became of each column of a table: how it was used, or why it was left out."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from subsvms._sentences import Sentence
from subsvms.app.features.coders import Calendar, Categories, Letters
from subsvms.app.features.encoder import ColumnEncoder
from subsvms.app.features.letters import COMPONENTS
from subsvms.app.features.make import Features
from subsvms.app.features.recipes import Recipe
from subsvms.app.features.scalers import ArrayScaler

USES = {
    "number": ("Numbers", "centred at the median, divided by the range of the middle nine tenths, clipped"),
    Categories: ("Categories", "a feature for each category"),
    Letters: ("Text", f"groups of 3 and 4 letters, condensed to at most {COMPONENTS} features"),
    Calendar: ("Dates", "the time as a number, and the parts of the calendar"),
    "sparse": ("Numbers", "divided by the largest absolute value of the column, so that zeros stay zeros"),
    "array": ("Ready-made features", "centred, and all divided by the same number"),
}
LEFT_OUT = {
    "constant": "only one value, or none",
    "identifier": Sentence("never repeats a value, as identifiers do; {keep} would use it"),
    "type": "values other than numbers, text and dates",
    "leak": Sentence("gives the label away; {keep} would use it"),
    "asked": "left out by an option",
    "by": Sentence("groups the rows ({by})"),
    "id": Sentence("names the rows ({id_column})"),
    "even": "nothing in it varies between rows",
}


def describe_columns(
    features: Features, by: Sequence[str] = (), id_column: str | None = None
) -> list[dict[str, Any]]:
    """Return what became of the columns, those with the same use together."""
    counts = Counter(features.sources)
    used: dict[tuple[str, str], list[list[Any]]] = {}
    asked = dict.fromkeys(by, "by") | ({} if id_column is None else {id_column: "id"})
    left_out = {name: asked.get(name, why) for name, why in features.left_out.items()}
    if isinstance(features.transformer, ColumnEncoder):
        for recipe in features.transformer.recipes:
            if counts[recipe.name]:
                used.setdefault(choose_use(recipe), []).append([recipe.name, counts[recipe.name]])
            else:
                left_out[recipe.name] = "even"
    else:
        kind = "array" if isinstance(features.transformer, ArrayScaler) else "sparse"
        used[USES[kind]] = [[name, count] for name, count in counts.items()]
    order = sorted(used, key=list(USES.values()).index)
    found: list[dict[str, Any]] = [{"use": use, "how": how, "columns": used[use, how]} for use, how in order]
    for why in LEFT_OUT:
        names = [[name, 0] for name, reason in left_out.items() if reason == why]
        found += [{"use": None, "why": why, "how": LEFT_OUT[why], "columns": names}] * bool(names)
    return found


def choose_use(recipe: Recipe) -> tuple[str, str]:
    """Return how a column is used, in two or three words and in a phrase."""
    return USES["number"] if recipe.coder is None else USES[type(recipe.coder)]
