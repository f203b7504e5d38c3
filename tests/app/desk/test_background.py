"""The review page is served beside a program that goes on."""

import socket
import sys
import threading
import urllib.error
import urllib.request

import pytest

from subsvms.app.desk import background, server
from subsvms.app.desk.background import Review, is_interactive
from subsvms.exceptions import TableError


def test_it_answers_until_it_is_closed(folder):
    review = Review(folder, 9500)
    with urllib.request.urlopen(review.address) as answer:
        assert b"review" in answer.read().lower()
    assert repr(review) == f"Review(open at {review.address}, decisions in {str(folder)!r})"
    assert set(review.decided) == {None}
    second = Review(folder, int(review.address.split(":")[2].split("/")[0]))  # a port that is in use
    assert second.address.split("/")[2] != review.address.split("/")[2]
    second.close()
    review.close()
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(review.address, timeout=5)
    assert not any(thread.name == "subsvms review" for thread in threading.enumerate())


def test_a_page_has_a_port_of_its_own_whatever_else_is_open(folder):
    before = Review(folder)
    before.close()
    port = int(before.address.split(":")[2].split("/")[0])
    with server.open_socket(server.FIRST_PORT + (port == server.FIRST_PORT)):  # another page is open
        again = Review(folder)
    again.close()
    assert again.address == before.address
    with socket.socket() as listener:
        listener.bind((server.HOST, port))
        listener.listen()
        later = Review(folder)
    later.close()
    assert later.address != before.address


def test_it_stops_even_if_the_decisions_cannot_be_read(folder, monkeypatch):
    review = Review(folder, 9505)

    def fail():
        raise OSError("gone")

    monkeypatch.setattr(review._desk, "refresh", fail)
    with pytest.raises(OSError, match=r"^gone$"):
        review.close()
    review._thread.join(10)
    assert not review._thread.is_alive()


def test_what_is_wrong_with_a_folder_is_raised_in_the_program(tmp_path):
    with pytest.raises(TableError, match="There is no file"):
        Review(tmp_path)


@pytest.mark.parametrize("block, waits", [(None, True), (None, False), (True, True), (False, False)])
def test_programs_wait_for_ctrl_c_and_consoles_do_not(folder, monkeypatch, capsys, block, waits):
    opened, slept = [], []
    monkeypatch.setattr(background, "is_interactive", lambda: not waits)
    monkeypatch.setattr(background.webbrowser, "open", opened.append)

    def press_ctrl_c(timeout):
        slept.append(timeout)
        raise KeyboardInterrupt

    monkeypatch.setattr(background.time, "sleep", press_ctrl_c)
    review = Review.open(folder, port=9520, block=block)
    assert opened == [review.address] and bool(slept) == waits
    assert ("Press Ctrl-C to stop" in capsys.readouterr().out) == waits
    assert ("closed" in repr(review)) == waits
    review.close()


def test_a_console_is_interactive(monkeypatch):
    monkeypatch.delattr(sys, "ps1", raising=False)
    assert not is_interactive()
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    assert is_interactive()
