"""Pictures and sounds: what lies in the folder of the table is shown, and nothing else is read."""

import os
import struct
from contextlib import closing

import numpy as np
import pyarrow as pa
import pytest
from browsers import ask, get
from loans import call, make_rows, write
from PIL import Image

from subsvms.app.desk.audit import AuditDesk
from subsvms.app.desk.guard import HEADERS, make_headers
from subsvms.app.desk.media import BYTES, PIXELS, NotShown, check_hosts, find_media, measure, read_media
from subsvms.app.desk.review import ReviewDesk
from subsvms.exceptions import InputError

SVG = b"<svg xmlns='http://www.w3.org/2000/svg'><script>ran = 1</script></svg>"
WAV = b"RIFF\x24\0\0\0WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, 8000, 8000, 1, 8) + b"data\0\0\0\0"


def claim(width, height):
    """Return a PNG that says it has this size."""
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height) + b"\x08\x02\0\0\0"


@pytest.fixture
def place(tmp_path):
    """A folder of a table with files of every kind, beside a secret."""
    folder = tmp_path / "tables"
    (folder / "inner").mkdir(parents=True)
    (folder / "linked").symlink_to(tmp_path)
    for path in (folder / "a.png", folder / "inner" / "b.jpg", folder / "c.gif", folder / "d.WEBP"):
        Image.new("RGB", (37, 21), "red").save(path)
    Image.new("RGB", (3, 4)).save(folder / "e.webp", lossless=True)
    Image.new("RGB", (5, 6)).save(tmp_path / "secret.png")
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    (folder / "circle.png").symlink_to(folder / "circle.png")
    (folder / "inside.png").symlink_to(folder / "a.png")
    (folder / "sound.wav").write_bytes(WAV)
    for name in ("script.svg", "script.png", "script.wav", "page.html"):
        (folder / name).write_bytes(SVG)
    (folder / "huge.png").write_bytes(claim(60_000, 60_000))
    (folder / "none.png").write_bytes(claim(0, 7))
    (folder / "short.png").write_bytes(claim(1, 1)[:18])
    with (folder / "heavy.png").open("wb") as file:
        file.write(claim(1, 1))
        file.truncate(BYTES["image"] + 1)
    os.mkfifo(folder / "pipe.png")
    (folder / "folder.png").mkdir()
    return folder


@pytest.mark.parametrize("name, kind, size", [
    ("a.png", "image/png", (37, 21)), ("inner/b.jpg", "image/jpeg", (37, 21)),
    ("c.gif", "image/gif", (37, 21)), (" d.WEBP ", "image/webp", (37, 21)),
    ("e.webp", "image/webp", (3, 4)), ("inside.png", "image/png", (37, 21)),
    ("./inner/../a.png", None, None), ("sound.wav", "audio/wav", None),
])  # fmt: skip
def test_files_in_the_folder_are_read(place, name, kind, size):
    if kind is None:
        with pytest.raises(NotShown, match="does not lie in the folder"):
            read_media(place, name)
        return
    data, found = read_media(place, name)
    assert found == kind and data == (place / name.strip()).read_bytes()
    assert size is None or measure(data, kind) == size
    assert read_media(place, str(place / name.strip())) == (data, kind)  # a whole path into the folder


OUTSIDE = [
    "../secret.png", "inner/../../secret.png", "..\\secret.png", "inner\\..\\..\\secret.png", "/etc/x.png",
    "//host/share/x.png", "link.png", "linked/secret.png", "linked/tables/../secret.png",
]  # fmt: skip
MISSING = [
    "%2e%2e/secret.png", "..%2fsecret.png", "%2e%2e%2fsecret.png", "a.png\0.png", "\0.png", "circle.png",
    "x" * 5000 + ".png", "C:\\secret.png", "\\\\host\\share\\x.png", "file:///etc/x.png",
    "\ud800.png", "no.png", "a.png/b.png",
]  # fmt: skip


@pytest.mark.parametrize("name", OUTSIDE + MISSING, ids=range(len(OUTSIDE + MISSING)))
def test_no_name_leaves_the_folder(place, name):
    why = "does not lie in the folder" if name in OUTSIDE else "There is no such file"
    with pytest.raises(NotShown, match=why):
        read_media(place, name)


@pytest.mark.parametrize("name, why", [
    ("script.svg", "Only png"), ("page.html", "Only png"), ("", "Only png"), ("a", "Only png"),
    ("png", "no such file"), ("script.png", "does not begin as image/png"),
    ("script.wav", "does not begin as audio/wav"),
    ("huge.png", "60,000 x 60,000 pixels"), ("none.png", "0 x 7"), ("short.png", "does not begin|pixels"),
    ("heavy.png", "at most 20,971,520"), ("pipe.png", "not a file"), ("folder.png", "not a|no such file"),
])  # fmt: skip
def test_what_a_browser_should_not_get_is_not_shown(place, name, why):
    with pytest.raises(NotShown, match=why):
        read_media(place, name)


def test_the_size_of_a_jpeg_is_the_largest_that_it_names():
    def frame(width, height):
        return b"\xff\xc0" + struct.pack(">HBHHB", 17, 8, height, width, 3) + b"\0" * 9

    data = b"\xff\xd8" + frame(9, 8) + frame(60_000, 50_000) + b"\xff\xda"
    assert measure(data, "image/jpeg") == (60_000, 50_000)
    assert measure(b"\xff\xd8\xff\xe0\0\0", "image/jpeg") == (0, 0)
    assert 60_000 * 50_000 > PIXELS


def test_a_gif_is_as_large_as_its_first_frame_if_that_is_larger():
    def make(screen, frame, flags, before=b""):
        return (
            b"GIF89a"
            + struct.pack("<HHBBB", *screen, flags, 0, 0)
            + before
            + struct.pack("<cHHHH", b",", *frame)
        )

    colours, remark = b"\0" * 12, b"!\xfe\x03abc\x02de\0!\xf9\x01a\0"
    assert measure(make((9, 8), (0, 0, 4, 4), 0), "image/gif") == (9, 8)
    assert measure(make((1, 1), (5, 6, 60_000, 7), 0x81, colours + remark), "image/gif") == (60_005, 13)


def test_columns_that_mostly_name_files_are_found():
    table = pa.table({
        "picture": ["a.PNG", " b.jpg", "", None, "?"], "sound": ["https://a.b/c.mp3"] * 5,
        "text": ["a.png", "b", "c", "d", "e"],
        "number": [1, 2, 3, 4, 5], "empty": pa.nulls(5, pa.string()), "vector": ["a.svg"] * 5,
    })  # fmt: skip
    assert find_media(table) == {"picture": "image", "sound": "audio"}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run on a table whose columns name pictures, sounds and files that must not be read."""
    folder = tmp_path_factory.mktemp("media")
    rows, _ = make_rows(300)
    secret = folder.with_name("secret.png")
    Image.new("RGB", (8, 8)).save(secret)
    Image.new("RGB", (20, 10), "blue").save(folder / "good.png")
    (folder / "beep.wav").write_bytes(WAV)
    for number, row in enumerate(rows):
        row["picture"] = ["good.png", "../secret.png", str(secret)][number % 3]
        row["sound"], row["other"] = "beep.wav", ["good.png", "text", "words"][number % 3]
    call("correct", write(folder / "t.csv", rows), "--label", "default", "--svms", 50, "--quiet")
    return folder / "t.subsvms"


@pytest.mark.parametrize("open_desk", [ReviewDesk, AuditDesk])
def test_the_server_shows_them_by_row_and_column_alone(run, open_desk):
    with closing(open_desk(run)) as desk:
        assert desk.media == {"picture": "image", "sound": "audio"}
        asked = [
            "1?column=picture", "2?column=picture", "3?column=picture", "1?column=sound", "1?column=other",
            "1?column=default", "1", "0?column=picture", "99999?column=picture", "1?column=../picture",
            "..%2f1?column=picture", "-1?column=picture",
        ]  # fmt: skip
        good, up, whole, sound, *others = ask(desk, *(get(f"api/media/{words}") for words in asked))
    assert good.content == (run.parent / "good.png").read_bytes() and sound.content == WAV
    assert (good.headers["content-type"], sound.headers["content-type"]) == ("image/png", "audio/wav")
    assert good.headers["x-content-type-options"] == "nosniff"
    policies = good.headers.get_list("content-security-policy")
    assert "sandbox; default-src 'none'" in policies and len(policies) == 2
    assert good.headers["cross-origin-resource-policy"] == "same-origin"
    for answer in (up, whole):
        assert answer.status_code == 404 and "does not lie in the folder of the table" in answer.text
    assert {answer.status_code for answer in others} == {404}
    ((refused),) = ask(desk, ("GET", "/wrong/api/media/1?column=picture", {}))
    assert refused.status_code == 403


def test_without_pictures_and_sounds_the_policy_is_as_strict_as_before_and_opens_for_named_hosts_alone():
    assert make_headers([], ()) == HEADERS == make_headers(["image"], ())
    assert check_hosts(["a.example:443", "http://b.example:80"]) == ("https://a.example", "http://b.example")
    policy = make_headers(["image", "audio"], check_hosts(["a.example:8443", "HTTP://b.example"]))
    policy = dict(part.strip().split(" ", 1) for part in policy["content-security-policy"].split(";"))
    assert policy["img-src"] == "'self' data: https://a.example:8443 http://b.example"
    assert policy["media-src"] == "'self' https://a.example:8443 http://b.example"
    assert policy["default-src"] == "'none'" and policy["script-src"] == "'self'" == policy["connect-src"]
    odd = "*", "a b", "a;script-src *", "'unsafe-inline'", "https://*", "ftp://a.b", "a.b/c", "https://"
    for host in (*odd, "-a", "a.b\n"):
        with pytest.raises(InputError, match="A host is a name such as"):
            check_hosts([host])


def test_random_bytes_never_break_the_measure():
    rng = np.random.default_rng(0)
    for kind, begin in (("image/png", claim(1, 1)), ("image/jpeg", b"\xff\xd8\xff"), ("image/gif", b"GIF89a"),
                        ("image/webp", b"RIFF0000WEBPVP8X")):  # fmt: skip
        for _ in range(200):
            width, height = measure(begin + rng.bytes(int(rng.integers(0, 60))), kind)
            assert width >= 0 and height >= 0
