"""Workbooks as people have them, and worse: .xlsx files by openpyxl or by hand, .ods files by hand."""

import io
import zipfile

import openpyxl

SPREADSHEET = "application/vnd.oasis.opendocument.spreadsheet"
SPACES = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "table", "text")
)

MANIFEST = (
    '<m:manifest xmlns:m="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
    f'<m:file-entry m:full-path="/" m:media-type="{SPREADSHEET}"/></m:manifest>'
)


def make_xlsx(path, *sheets, **more):
    """Write a workbook; each sheet is a list of rows, or a pair of its name and rows."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for number, rows in enumerate((*sheets, *more.items()), start=1):
        title, rows = rows if isinstance(rows, tuple) else (f"Sheet{number}", rows)
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def load(path, **options):
    """Return the rows of the first sheet of a workbook, as openpyxl reads them."""
    return [list(row) for row in openpyxl.load_workbook(path, **options).worksheets[0].values]


def unzip(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zip_again(path, files):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


def change_part(path, name, change):
    files = unzip(path)
    files[name] = change(files[name].decode()).encode()
    return zip_again(path, files)


def make_ods(path, rows, repeat=""):
    """Write an OpenDocument file with one table; `repeat` goes into its last row."""
    lines = []
    for row in rows:
        cells = [
            "<table:table-cell/>" if cell is None
            else f'<table:table-cell office:value-type="float" office:value="{cell}"/>'
            if isinstance(cell, float | int)
            else f'<table:table-cell office:value-type="string"><text:p>{cell}</text:p></table:table-cell>'
            for cell in row
        ]  # fmt: skip
        lines.append(f"<table:table-row>{''.join(cells)}</table:table-row>")
    body = f'<table:table table:name="One">{"".join(lines)}{repeat}</table:table>'
    content = (
        f"<office:document-content {SPACES}><office:body><office:spreadsheet>{body}</office:spreadsheet>"
        "</office:body></office:document-content>"
    )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("mimetype", SPREADSHEET)
        archive.writestr("content.xml", content)
        archive.writestr("META-INF/manifest.xml", MANIFEST)
    path.write_bytes(buffer.getvalue())
    return path
