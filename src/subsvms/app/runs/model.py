"""A classifier together with what made its features from a file: saved as one, and used to label new files.

One safetensors file holds the SVMs, how columns become features, and the name of the label. `_states` says
how it is written, and why nothing in it is trusted.
"""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from subsvms._atomic import explaining, replace_when_done
from subsvms._effort import announce
from subsvms._states import distrust, encode_state, join_states, read_state, require
from subsvms.app.features.encoder import ColumnEncoder
from subsvms.app.features.scalers import ArrayScaler, SparseScaler, load_array
from subsvms.app.quoting import suggest_file
from subsvms.app.runs.run import Run
from subsvms.app.tables.files import check_target, find_output_format
from subsvms.app.tables.table import LabelledTable, number_name, place_beside, read_table, write_table
from subsvms.ensemble._classifier import SubSVMClassifier
from subsvms.ensemble._device import check_device
from subsvms.ensemble._persistence import MODELS, WHOLE, build_classifier, classifier_to_state
from subsvms.exceptions import TableError, format_percent, join_sentences

DIGITS = 4  # of vote shares; a thousand SVMs need three
Transformer = ColumnEncoder | SparseScaler | ArrayScaler
KINDS: dict[str, type[Transformer]] = {
    "columns": ColumnEncoder, "svmlight": SparseScaler, "embeddings": ArrayScaler,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Model:
    """A classifier, and what turns files into its features."""

    classifier: SubSVMClassifier  # fitted
    transformer: Transformer  # that of the `Features` on which it was fitted
    label: str  # name of the column that held its labels
    digest: str = ""  # SHA-256 of the file it was trained on, as in `LabelledTable`; empty if it is not known

    @classmethod
    def of(cls, run: Run) -> "Model":
        """Return the classifier that judged the labels of a file."""
        assert run.model is not None  # `do_job` refuses to save what others judged
        return cls(run.model, run.features.transformer, run.options.label, run.table.digest)

    @property
    def kind(self) -> str:
        """What the model was trained on: "columns", "svmlight" or "embeddings"."""
        return next(kind for kind, made in KINDS.items() if isinstance(self.transformer, made))


@contextmanager
def saving_model(model: Model, path: str | os.PathLike) -> Iterator[None]:
    """Write a model beside its place; it is moved there if the block raises no error."""
    # The same model gives the same bytes.
    path = Path(path).resolve()  # a link remains a link to the file
    check_is_fitted(model.classifier)
    _check_together(model)
    header = {"model": WHOLE, "kind": model.kind, "label": model.label, "digest": model.digest}
    parts = {"classifier": classifier_to_state(model.classifier), "transformer": model.transformer.to_state()}
    with ExitStack() as place:
        with explaining(path, path.parent):
            file = place.enter_context(replace_when_done(path))
            file.write(encode_state(join_states(header, **parts)))
            file.flush()
            os.fsync(file.fileno())  # a full disk is noticed here, before the block
        yield
        with explaining(path, path.parent):
            place.close()


def _check_together(model):
    """Raise an error unless the classifier takes what the transformer gives."""
    wanted, given = model.classifier.n_features_in_, len(model.transformer.kept)
    if model.classifier.kernel == "precomputed" or wanted != given:
        raise ValueError(
            f"the classifier takes {wanted} features with the kernel {model.classifier.kernel!r}, but the "
            f"transformer makes {given}"
        )


def load_model(path: str | os.PathLike) -> Model:
    """Read a model that `saving_model` wrote."""
    path = Path(path)
    if path.is_dir():
        raise TableError(
            "{path!r} is a folder: give a file that subsvms correct {save_model} wrote.", path=str(path)
        )
    if not path.is_file():
        raise TableError(f"There is no model file {str(path)!r}{suggest_file(path)}")
    try:
        state = read_state(path)
    except OSError as error:
        raise TableError(f"{str(path)!r} cannot be read ({error.strerror}): check its permissions.") from None
    header = state.header
    if header.get("model") in tuple(MODELS):  # it may be anything, a list as well
        raise TableError(
            "{path!r} is a classifier without the preprocessing that a file needs: load it with "
            "subsvms.load and give it features, or save the model of a run{save_model:aside}.",
            path=str(path),
        )
    with distrust(path):
        require(header["model"] == WHOLE, "kind of model")
        require(isinstance(header["label"], str) and isinstance(header["digest"], str), "label")
        classifier = build_classifier(state.part("classifier"))
        transformer = KINDS[header["kind"]].from_state(state.part("transformer"))
        model = Model(classifier, transformer, header["label"], header["digest"])
        _check_together(model)
        return model


@dataclass(frozen=True, eq=False)
class Predictions:
    """What a model predicts for each row of a file."""

    model: Model
    table: LabelledTable
    path: Path  # the copy with the predictions
    labels: np.ndarray  # (n_rows,): the label that most SVMs vote for
    vote_share: np.ndarray  # (n_rows,): the share of the SVMs that vote for it
    notes: tuple[str, ...]  # sentences about what does not fit the model

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def counts(self) -> dict[Any, int]:
        """How many rows were given each class that the model knows."""
        found = Counter(self.labels.tolist())
        return {label: found[label] for label in self.model.classifier.classes_.tolist()}

    def __str__(self) -> str:
        rows = "1 row" if len(self) == 1 else f"{len(self)} rows"
        lines = [f"{self.model.label!r} was predicted for {rows}, in {self.path}."]
        for label, count in self.counts.items():
            lines.append(f"  {label}: {count} ({format_percent(count / len(self))})")
        return join_sentences([*lines, *self.notes], "\n")


def predict_file(
    model_path: str | os.PathLike, where: str | os.PathLike | Sequence[str | os.PathLike], *,
    output: str | os.PathLike | None = None, features: str | os.PathLike | None = None, force: bool = False,
    reading: dict[str, Any] | None = None, n_jobs: int | None = None, device: str = "cpu",
) -> Predictions:  # fmt: skip
    """Label the rows of a file, and write a copy of it with two more columns."""
    # The columns are the predicted label and the share of the SVMs that vote for it. LIBSVM text has no room
    # for columns: there the copy is a table of its own, with the number of each row, from 1, and the two.
    check_device(device)
    model = load_model(model_path)
    announce("reading the table")
    table = read_table(where, None, **(reading or {}))
    ending = ".csv" if table.format == "svmlight" else None
    path = Path(output) if output is not None else place_beside(table, "predicted", ending)
    if find_output_format(path) == "svmlight":  # before the votes, which may take minutes
        raise TableError(
            f"{str(path)!r} asks for LIBSVM text, which has no place for predictions beside the labels: give "
            "a name that ends in .csv."
        )
    check_target(path, table.paths, force=force)
    announce("making features")
    X, notes = _make_features(model, table, features)
    announce("voting on rows")
    votes = model.classifier.set_params(n_jobs=n_jobs, device=device).count_votes(X)
    winners = votes.winners(model.classifier.class_sizes_)
    labels = model.classifier.classes_.astype(object)[winners]
    share = votes.share[np.arange(len(table)), winners]
    announce("writing")
    copy = _number_rows(table) if table.format == "svmlight" else table
    taken = copy.columns.column_names
    columns = {number_name(f"predicted_{model.label}", taken): labels}
    columns[number_name("vote_share", taken)] = np.round(share, DIGITS)
    write_table(copy, path, extra_columns=columns, force=force)
    return Predictions(model, table, path, labels, share, (*table.notes, *notes))


def _number_rows(table):
    import pyarrow as pa

    numbers = pa.table({"row": np.arange(1, len(table) + 1)})
    return replace(table, columns=numbers, format="feather", text=None)  # typed, so any format can hold it


def _make_features(model, table, features):
    """Return the features of a table's rows, and sentences about what does not fit."""
    if isinstance(model.transformer, ArrayScaler):
        if features is None:
            raise TableError(
                "The model was trained on embeddings: give those of the rows in {name} ({features}).",
                name=table.name,
            )
        return model.transformer.transform(load_array(features, len(table))), ()
    if features is not None:
        made = "columns" if model.kind == "columns" else "LIBSVM text"
        raise TableError(f"The model was trained on {made}, not on embeddings: leave {str(features)!r} out.")
    if isinstance(model.transformer, SparseScaler):
        return model.transformer.transform(table), ()
    columns = model.transformer.read(table)
    faults = (recipe.find_fault(columns[recipe.name]) for recipe in model.transformer.recipes)
    return model.transformer.encode(columns), tuple(fault for fault in faults if fault)
