"""Keep rows in Parquet files, so that a run that was stopped, or killed, goes on where it was.

A batch of rows is one file, written beside its place and moved there when it is whole. Files of many batches
are gathered into one now and then. The folder belongs to one protocol: rows of another are refused, not
mixed.
"""

import json
import os
import uuid
from dataclasses import asdict
from pathlib import Path

import pandas as pd

MANY = 100  # files from which on they are gathered


class StoreError(ValueError):
    """A results folder that cannot be used, in one sentence."""


class Store:
    """A folder of rows under one protocol.

    Parameters
    ----------
    folder : path-like
    protocol : Protocol, optional
        None to read what is there.
    """

    def __init__(self, folder, protocol=None):
        self.folder = Path(folder)
        note = self.folder / "protocol.json"
        if protocol is None:
            if not note.exists():
                raise StoreError(
                    f"There are no results in {str(self.folder)!r}: make some with the command run."
                )
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if not note.exists():
                if any(self.folder.iterdir()):
                    raise StoreError(
                        f"The folder {str(self.folder)!r} holds other files: choose an empty one with --out."
                    )
                write_whole(
                    note,
                    json.dumps({"signature": protocol.signature(), **asdict(protocol)}, indent=1).encode(),
                )
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
                f"The results in {str(self.folder)!r} are of another version or protocol ({found}, not "
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
        return (
            pd.concat(frames, ignore_index=True).drop_duplicates(ignore_index=True)
            if frames
            else pd.DataFrame()
        )

    def parts(self, kind):
        """Return the files of a kind."""
        return sorted((self.folder / kind).glob("[!.]*.parquet"))

    def gather(self, kind, least=MANY):
        """Put the rows of many files into one. Killed in between, rows are there twice, and read once."""
        paths = self.parts(kind)
        if len(paths) >= least:
            self.append(kind, self.read(kind))
            for path in paths:
                path.unlink()


def write_whole(path, data):
    """Write a file whole or not at all."""
    part = path.with_name(f".{path.name}.part")
    with part.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)
