import re
import shutil
import sys
from importlib.util import cache_from_source
from pathlib import Path
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from subsvms.app.report import text
from subsvms.app.report.text import format_key, format_percent


@given(share=st.floats(0, 1))
def test_a_share_is_never_rounded_to_all_or_nothing(share):
    written = format_percent(share)
    assert (written == "0\xa0%") == (share == 0)
    assert (written == "100\xa0%") == (share == 1)
    number = float(re.sub(r"[^\d.]", "", written))
    assert abs(number - 100 * share) <= 0.5


@given(number=st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**12), 10**12))
def test_a_key_is_the_number_but_for_its_last_digits(number):
    assert abs(float(format_key(number)) - number) <= 1e-5 * abs(number)


def test_templates_are_compiled_once_and_kept_beside_modules(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    folder = Path(cache_from_source(text.__file__)).parent
    folder.mkdir(parents=True)

    def compile_again():
        """Return whether a template had to be compiled, as in a new process."""
        pages = text.open_templates.__wrapped__()
        with patch.object(pages, "compile", side_effect=pages.compile) as compiled:
            pages.get_template("parts.html")
        return compiled.called

    assert compile_again()
    assert not compile_again()
    (kept,) = folder.glob("*.template")
    kept.write_bytes(kept.read_bytes()[:100])
    assert compile_again()
    assert not compile_again()
    shutil.rmtree(folder)  # nothing can be kept there
    assert compile_again()
    assert compile_again()
