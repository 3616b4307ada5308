# SPDX-License-Identifier: Apache-2.0
"""Tables, pages and pictures as notebooks show them."""
import atexit
import builtins
import html
import os
import shutil
import tempfile


def table(rows):
    """A DataFrame, without pandas the list of dicts itself."""
    try:
        import pandas
    except ImportError:
        return rows
    return pandas.DataFrame(rows)


def temporary_folder():
    """A folder that is removed when the interpreter ends."""
    folder = tempfile.mkdtemp(prefix="orthant-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


class Page(os.PathLike):
    """An HTML file that a notebook shows in a frame."""

    def __init__(self, path):
        self.path = os.fspath(path)

    def __fspath__(self):
        return self.path

    def __repr__(self):
        return "orthant.Page(%r)" % self.path

    def _repr_html_(self):
        with open(self.path, encoding="utf-8") as file:
            text = file.read()
        return ('<iframe srcdoc="%s" width="100%%" height="800" style="border:0"></iframe>'
                % html.escape(text))


class Picture(os.PathLike):
    """An SVG file that a notebook shows."""

    def __init__(self, path):
        self.path = os.fspath(path)

    def __fspath__(self):
        return self.path

    def __repr__(self):
        return "orthant.Picture(%r)" % self.path

    def _repr_svg_(self):
        with open(self.path, encoding="utf-8") as file:
            text = file.read()
        return text[text.index("<svg"):]


class Inspection(builtins.dict):
    """The dict of 'orthant inspect --json', with its page."""

    def __init__(self, found, page):
        super().__init__(found)
        self.page = page

    def _repr_html_(self):
        return self.page._repr_html_()
