"""CSV files as people write them, and worse; and what the tests of tables share."""

import re

import pytest

from subsvms.exceptions import TableError

NASTY = {
    "codes, spaces, signs": 'id,n,label,z\n007,1.50,yes, x\n08,=1+1,no,"-"\n09,+3,yes,@a\n',
    "quotes": 'a,label\n"say ""hi"", you",a\n"",b\n,b\n"x"y,"a"\n5" pipe,a\n',
    "newlines in cells": 'a,label\n"line\none","b\nb"\r\n"two\r\n",c\n',
    "CRLF": "a,label\r\n1,x\r\n2,y\r\n",
    "CR": "a,label\r1,x\r2,y\r",
    "no end of line": "a,label\n1,x\n2,y",
    "blank lines": "\n\na,label\n\n1,x\r\n\r\n2,y\n\n\n",
    "semicolons": 'a;b,c;label\n1,5;"x;y";ä\n2,25;;ö\n',
    "bars and tabs": "a\tx|label\n1\t2|u\n3\t4|v\n",
    "byte order mark": "\ufefflabel,a\nx,1\ny,2\n",
    "names": 'label,,"a,b",ä ö,"""q"""," "\nx,1,2,3,4,5\ny,1,2,3,4,5\n',
    "one column": 'label\nx\n"y"\n""\n',
    "spaces around": "a ,label\n 1, x\n2 ,y \n",
}
GOOD = "a,label\n1,x\n2,y\n"


def write(folder, text, name="t.csv", encoding="utf-8"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
    return path


def assert_refused(message, function, *args, **options):
    """Check that a call is refused in one sentence that fits a terminal and contains the message."""
    with pytest.raises(TableError) as error:
        function(*args, **options)
    said = str(error.value)
    assert message in said
    assert "\n" not in said and len(said) < 500
    assert said[-1] in ".?" and not re.search(r"[a-z]\. [A-Z]", said)
    return said
