"""Keep rows in Parquet files, so that a run that was stopped or killed continues where it was.

A batch of rows is one file, written under another name and renamed when it is complete. When there are many
files, they are merged into one. The folder belongs to one protocol; rows of another are refused.
"""

import json
import os
import uuid
from dataclasses import asdict
from pathlib import Path

import pandas as pd

MANY = 100  # files; once there are this many, they are merged


class StoreError(ValueError):
    """Says in one sentence why a results folder cannot be used."""


class Store:
    """A folder of rows under one protocol.

    Parameters
    ----------
    folder : path-like
    protocol : Protocol, optional
        None to only read what is there.
    """

    def __init__(self, folder, protocol=None):
        self.folder = Path(folder)
        note = self.folder / "protocol.json"
        if protocol is None:
            if not note.exists():
                raise StoreError(f"There are no results in {str(self.folder)!r}: use the command run first.")
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if not note.exists():
                if any(self.folder.iterdir()):
                    raise StoreError(
                        f"The folder {str(self.folder)!r} is not empty: choose another one with --out."
                    )
                text = json.dumps({"signature": protocol.signature(), **asdict(protocol)}, indent=1)
                write_whole(note, text.encode())
            probe = self.folder / f".{uuid.uuid4().hex}"
            probe.touch()
            probe.unlink()
        except OSError as error:
            raise StoreError(
                f"The folder {str(self.folder)!r} cannot be written to ({error.strerror}): choose another."
            ) from None
        found = json.loads(note.read_text()).get("signature")
        if found != protocol.signature():
            raise StoreError(
                f"The results in {str(self.folder)!r} belong to another version or protocol ({found}, not "
                f"{protocol.signature()}): choose another folder with --out."
            )

    def append(self, kind, rows):
        """Add a batch of rows, all of them or none."""
        frame = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(rows)
        (self.folder / kind).mkdir(exist_ok=True)
        path = self.folder / kind / f"{uuid.uuid4().hex}.parquet"
        write_whole(path, frame.to_parquet(index=False))

    def read(self, kind):
        """Return all rows of a kind, each once; an empty frame if there are none."""
        frames = [pd.read_parquet(path) for path in self.parts(kind)]
        if not frames:
            return pd.DataFrame()
        return pd.concat(frames, ignore_index=True).drop_duplicates(ignore_index=True)

    def parts(self, kind):
        """Return the files of a kind."""
        return sorted((self.folder / kind).glob("[!.]*.parquet"))

    def gather(self, kind, least=MANY):
        """Merge many files into one. If killed in between, rows are stored twice, but still read once."""
        paths = self.parts(kind)
        if len(paths) >= least:
            self.append(kind, self.read(kind))
            for path in paths:
                path.unlink()


def write_whole(path, data):
    """Write a file completely or not at all."""
    part = path.with_name(f".{path.name}.part")
    with part.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)
