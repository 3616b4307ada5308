# SPDX-License-Identifier: Apache-2.0
"""The shared library: where it is, contexts, calls, errors, messages, stops."""
import ctypes
import ctypes.util
import json
import logging
import os
import re
import signal
import sys
import threading
from typing import Any, Mapping, Sequence, Union

import numpy as np

from . import _binding as binding

logger = logging.getLogger("orthant")

# Of the hints: a path, one or several files, what train and compare take as data.
Path = Union[str, "os.PathLike[str]"]
Files = Union[Path, Sequence[Path]]
Data = Union[Path, Sequence[Path], Mapping[str, Any], None]


class Error(Exception):
    """An error of the library, with its message.

    code: number of enum oa_error; kind: its name, such as "ARGUMENT", "SHAPE", "IO".
    """

    def __init__(self, sentence, code=binding.OA_ARGUMENT):
        super().__init__(sentence)
        self.code = code
        self.kind = binding.ERRORS[code][0]


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, after the library has saved its work, with its message."""


# ---- loading


def _candidates():
    """Paths of the library, with what each of them is."""
    chosen = os.environ.get("ORTHANT_LIBRARY")
    if chosen:
        return [chosen]
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib")
    inside = [os.path.join(here, name) for name in ("liborthant.so.0", "liborthant.so")]
    inside = [path for path in inside if os.path.exists(path)]
    return inside or [ctypes.util.find_library("orthant") or "liborthant.so.0"]


def _load():
    path = _candidates()[0]
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError("liborthant.so was not found (%s): install Orthant, or name the library "
                          "in $ORTHANT_LIBRARY" % error) from None
    for name, (result, arguments) in binding.FUNCTIONS.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise ImportError("%s has no function %s: it is not the library that this package was "
                              "made for" % (path, name)) from None
        function.restype, function.argtypes = result, arguments
    version = ctypes.string_at(library.oa_version()).decode()
    if version != binding.VERSION:
        raise ImportError("%s is version %s, and this package is of version %s"
                          % (path, version, binding.VERSION))
    return library


library = _load()
library_path = library._name


def text_bytes(text, what="text"):
    """A string of C."""
    if not isinstance(text, (str, bytes, os.PathLike)):
        raise TypeError("%s is %r; give a text" % (what, text))
    data = os.fspath(text)
    data = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data
    if b"\0" in data:
        raise Error("%s has a zero byte at %d: remove it" % (what, data.index(b"\0")))
    return data


def optional_bytes(text, what="text"):
    """The same, or NULL for None."""
    return None if text is None else text_bytes(text, what)


def text_array(texts, what="text"):
    """(array, count) of strings for const char *const *."""
    items = [text_bytes(t, what) for t in texts]
    return (ctypes.c_char_p * max(len(items), 1))(*items), len(items)


def content_bytes(text, what="text"):
    """A text that is data, and its length: bytes of any value."""
    if not isinstance(text, (str, bytes)):
        raise TypeError("%s is %r; give a text" % (what, text))
    return text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text


def int32_array(numbers, what):
    """An array of C; ctypes would cut larger numbers off, NumPy fractions."""
    numbers = np.asarray(numbers)
    if numbers.size and numbers.dtype.kind not in "iu":
        raise TypeError("%s: %s; give whole numbers" % (what, numbers.dtype))
    if numbers.size and not -2**31 <= int(numbers.min()) <= int(numbers.max()) < 2**31:
        raise Error("%s: %d to %d; give numbers of 32 bits"
                    % (what, numbers.min(), numbers.max()))
    return np.ascontiguousarray(numbers, np.int32)


def as_array(x, name):
    """What NumPy can read, also by DLPack (tensors of PyTorch, JAX, …), without a copy."""
    if isinstance(x, np.ndarray) or not hasattr(x, "__dlpack__"):
        return np.asarray(x)
    device = int(x.__dlpack_device__()[0])
    if device != 1:  # kDLCPU
        raise Error("%s is on a device of the DLPack type %d: this computes on arrays of the "
                    "processor, type 1" % (name, device), binding.OA_UNSUPPORTED)
    try:
        return np.from_dlpack(x)
    except (BufferError, RuntimeError, TypeError) as exception:  # a gradient, bfloat16
        try:
            array = np.asarray(x)  # bfloat16 of JAX
        except (RuntimeError, TypeError):
            array = np.empty(0, object)
        if array.dtype != object:
            return array
        reason = str(exception).rstrip(".")
        advice = "Detach it" if "grad" in reason else "Convert it to float32"
        raise Error("%s is not given to NumPy: %s. %s" % (name, reason, advice),
                    binding.OA_UNSUPPORTED) from None


def fill_request(type_, fields):
    """A structure of the library from keywords: texts, numbers, booleans."""
    known, request = dict(type_._fields_), type_()
    for name, value in fields.items():
        if name not in known or name == "reserved":
            raise Error("there is no argument %r; choose from %s"
                        % (name, ", ".join(n for n in known if n != "reserved")))
        kind = known[name]
        if value is None:
            continue
        if kind is ctypes.c_char_p:
            value = text_bytes(value, name)
        elif kind in _NUMBERS:
            try:
                fits = kind(value).value == value  # ctypes cuts off what does not fit
            except TypeError:
                raise TypeError("%s is %r; give a %snumber" % (
                    name, value, "" if kind is ctypes.c_double else "whole ")) from None
            if not fits:
                raise Error("%s is %s, which is out of range" % (name, value))
        setattr(request, name, value)
    return request


_NUMBERS = {ctypes.c_int, ctypes.c_long, ctypes.c_longlong, ctypes.c_size_t, ctypes.c_uint64,
            ctypes.c_int64, ctypes.c_uint, ctypes.c_double}


def read_json(path):
    """The object in a file of the library."""
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    except ValueError as error:
        raise Error("%s: %s" % (path, error), binding.OA_IO) from None
    if not isinstance(found, dict):
        raise Error("%s has no JSON object" % path, binding.OA_IO)
    return found


# ---- messages


class Progress:
    """Takes the log of a context: notices go to logging, progress to a callable or to tqdm."""

    def __init__(self, progress):
        self.bar = self.call = None
        if callable(progress):
            self.call = progress
        elif progress or (progress is None and _is_interactive()):
            self.bar = _open_bar()
            self.call = self._show if self.bar else self._print if progress else None

    def _print(self, line, share):
        print(line, file=sys.stderr)

    def _show(self, line, share):
        self.bar.set_description_str(line, refresh=share is None)
        if share is not None:
            self.bar.n = round(share, 3)
            self.bar.refresh()

    def take(self, level, line):
        if level == 0:
            logger.warning("%s", line)
        elif level == 2:
            logger.info("%s", line)
        elif self.call:
            self.call(line, _share(line))

    def close(self):
        if self.bar:
            self.bar.close()


def _share(line):
    """How much is done, of 1, where a line of progress tells it."""
    step = re.search(r"step (\d+)/(\d+)", line)
    percent = re.search(r"(\d+) %", line)
    if step and int(step.group(2)):
        return min(1.0, int(step.group(1)) / int(step.group(2)))
    return int(percent.group(1)) / 100 if percent else None


def _is_interactive():
    return "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())


def _open_bar():
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm(total=1.0, leave=False, bar_format="{desc} {bar}")


_KEYWORDS = {"lower": 'better="lower"', "higher": 'better="higher"', "resume": "resume=True"}


def _as_keywords(sentence):
    """With the options that a sentence for the command line advises as keywords: --train.lr is
    train__lr=. Commands that it quotes stay."""
    if "'orthant " in sentence:
        return sentence
    def keyword(match):
        name = match.group(1)
        return _KEYWORDS.get(name) or name.replace(".", "__").replace("-", "_") + "="
    sentence = re.sub(r"(?<![\w-])--([a-z][a-z_.-]*[a-z])", keyword, sentence)
    return sentence.replace("form.cross", "cross=True")


# ---- contexts and calls


class Context:
    """An open context of the library with one configuration, for one command.

    threads: 0 = all cores; isa, device: as struct oa_settings has them; progress: None (a bar of
    tqdm on a terminal and in notebooks), True, False, or a callable of a line and of the share
    done (0 to 1, None where a line does not tell).
    """

    def __init__(self, threads=0, isa=None, device=None, progress=False):
        self.stop = ctypes.c_int(0)
        self.failure = None  # an exception of a callback
        self.progress = Progress(progress)
        self._log = binding.oa_settings._fields_[2][1](self._take_log)
        settings = binding.oa_settings(threads=threads, isa=optional_bytes(isa, "isa"),
                                       device=optional_bytes(device, "device"), log=self._log,
                                       stop=ctypes.pointer(self.stop))
        self.handle = library.oa_open(ctypes.byref(settings))
        if not self.handle:
            raise MemoryError("orthant: out of memory")
        self.config = None
        try:
            self.check(library.oa_last_error(self.handle, None))
            self.config = library.oa_config_new(self.handle)
            if not self.config:
                self.check(binding.OA_NO_MEMORY)
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def close(self):
        self.progress.close()
        if self.handle:
            library.oa_config_free(self.config)
            library.oa_close(self.handle)
        self.handle = self.config = None

    def guard(self, function, *arguments):
        """What a callback does; its exception stops the work and is raised after the call."""
        try:
            return function(*arguments)
        except BaseException as exception:
            self.failure = self.failure or exception
            self.stop.value = signal.SIGINT
            return None

    def _take_log(self, argument, level, line):
        self.guard(self.progress.take, level, ctypes.string_at(line).decode("utf-8", "replace"))

    def sentence(self, code):
        address = ctypes.c_char_p()
        library.oa_last_error(self.handle, ctypes.byref(address))
        text = (address.value or b"").decode("utf-8", "replace")
        library.oa_clear_error(self.handle)
        return _as_keywords(text) or binding.ERRORS[code][1]

    def check(self, code, accept=()):
        """Raises what a call returned; codes of `accept` are no failures."""
        failure, self.failure = self.failure, None
        if failure:
            library.oa_clear_error(self.handle)
            raise failure
        if code == binding.OA_OK:
            return
        sentence = self.sentence(code)
        if code in accept:
            return
        if code == binding.OA_INTERRUPTED:
            raise Interrupted(sentence)
        if code == binding.OA_NO_MEMORY:
            raise MemoryError(sentence)
        raise Error(sentence, code)

    # ---- options

    def set(self, options):
        """Options as keywords (train__steps=3), nested ({"train": {"steps": 3}}) or by key."""
        for key, value in flat_options(options):
            self.check(library.oa_config_set(self.config, text_bytes(key), value))

    # ---- long calls

    def call(self, name, *arguments, accept=()):
        """Runs a function of the library outside the main thread, which so can receive Ctrl-C: it
        then sets the stop flag, and waits until the library has saved."""
        interrupted, result = False, []
        function = getattr(library, name)
        if threading.current_thread() is not threading.main_thread():
            return self.check(function(*arguments), accept)
        done = threading.Event()

        def run():
            try:
                result.append(function(*arguments))
            except BaseException as exception:  # of ctypes: a wrong argument
                result.append(exception)
            done.set()

        worker = threading.Thread(target=run, name="orthant")
        worker.start()
        while not done.is_set():
            try:
                done.wait()
            except KeyboardInterrupt:
                interrupted, self.stop.value = True, signal.SIGINT
        worker.join()
        if isinstance(result[0], BaseException):
            raise result[0]
        self.check(result[0], accept)
        if interrupted:
            raise KeyboardInterrupt
        return None

    def text_of(self, name, *arguments, accept=(), as_json=True):
        """Runs a function that ends with struct oa_output *, and returns what it writes."""
        pieces = []

        def add(argument, address, length):
            self.guard(pieces.append, ctypes.string_at(address, length))

        sink = binding.oa_sink(add)
        out = binding.oa_output(sink=sink, json=int(as_json))
        self.call(name, *arguments, ctypes.byref(out), accept=accept)
        return b"".join(pieces).decode("utf-8", "replace")

    def json_of(self, name, *arguments, accept=()):
        text = self.text_of(name, *arguments, accept=accept)
        return json.loads(text) if text.strip() else None


def flat_options(options, before=""):
    """Pairs (key, value) of text as oa_config_set takes them."""
    pairs = []
    for name, value in options.items():
        if not isinstance(name, str):
            raise TypeError("an option has the name %r; give a text" % (name,))
        key = before + name.replace("__", ".")
        if isinstance(value, dict):
            pairs += flat_options(value, key + ".")
        elif value is not None:
            pairs.append((key, option_text(value, key)))
    return pairs


def option_text(value, key):
    if isinstance(value, (bool, np.bool_)):
        return b"true" if value else b"false"
    if isinstance(value, (list, tuple)):
        return b",".join(option_text(v, key) for v in value)
    if isinstance(value, (str, bytes, os.PathLike)):
        return text_bytes(value, key)
    return str(value).encode()


def split_settings(options):
    """Takes the settings of a context out of the keywords of a command."""
    return {name: options.pop(name) for name in ("threads", "isa", "device", "progress")
            if name in options}


def rename_short(options, short):
    """Keywords that the commands of the program have too, as keys of options."""
    return {short.get(name, name): value for name, value in options.items()}
