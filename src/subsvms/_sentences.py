"""Sentences are in `exceptions`; this name goes."""

from subsvms.exceptions import (  # noqa: F401
    ASIDE,
    CHARACTERS_SHOWN,
    NOTHING,
    UNKNOWN,
    WHOLE,
    WIDE,
    Note,
    Sentence,
    Setting,
    cut,
    find_closest,
    format_interval,
    format_percent,
    format_rate,
    format_value,
    is_rate_known,
    is_text,
    join_sentences,
    quote_spaces,
    tell,
)
