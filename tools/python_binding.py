#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""python_binding.py: makes python/orthant/_binding.py of the headers, for ctypes.

    tools/python_binding.py            prints the module
    tools/python_binding.py --write    writes it
    tools/python_binding.py --check    exit 1 if the module in the checkout is another one
    tools/python_binding.py --layout   prints a C program that does not compile where a structure of
                                       the module has another size or offset than that of the compiler

Understood is the C of these two headers: structures of fields, enumerations, handles, functions
marked OA_API, and the table OA_ERRORS. What is not understood ends the program with its text.
"""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HEADERS = ["include/orthant/orthant.h", "src/verify/callable.h", "src/api/commands.h"]
MODULE = os.path.join(ROOT, "python/orthant/_binding.py")
BASIC = {"int": "c_int", "long": "c_long", "double": "c_double", "float": "c_float",
         "size_t": "c_size_t", "uint64_t": "c_uint64", "int32_t": "c_int32", "void": "None",
         "char": "c_char"}


def read_header(name):
    """The text without comments, preprocessor and the braces of extern "C"; and the errors."""
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        text = file.read()
    text = text.replace("\\\n", " ")
    errors = re.findall(r'\bX\((\w+), "([^"]*)"\)', text)
    version = re.findall(r'#define ORTHANT_VERSION "([^"]*)"', text)
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"#ifdef __cplusplus.*?#endif", " ", text, flags=re.S)
    text = re.sub(r"^\s*#.*$", " ", text, flags=re.M)
    return text, errors, version


def split_declarations(text):
    """Pieces that end with a semicolon outside braces."""
    depth, begin, pieces = 0, 0, []
    for i, c in enumerate(text):
        depth += (c == "{") - (c == "}")
        if c == ";" and depth == 0:
            pieces.append(" ".join(text[begin:i].split()))
            begin = i + 1
    if text[begin:].strip():
        raise SystemExit("python_binding: not understood at the end: %r" % text[begin:].strip())
    return pieces


class Binding:
    def __init__(self):
        self.handles, self.callbacks, self.enums = [], {}, {}
        self.structs, self.functions, self.errors, self.version = {}, {}, [], ""

    # ---- types

    def base_type(self, words):
        """The ctypes name of a type without its stars, or None for what has no value of its own."""
        if words[0] == "enum":
            return "c_int"
        if words[0] == "struct":
            return words[1]
        if len(words) != 1 or (words[0] not in BASIC and words[0] not in self.handles
                               and words[0] not in self.callbacks):
            raise SystemExit("python_binding: unknown type %r" % " ".join(words))
        return BASIC.get(words[0], words[0])

    def pointer_type(self, base, stars, in_callback=False):
        """A C type as an expression of ctypes. Text that C gives to a callback is an address: its
        length is another argument, and it may have zeros inside."""
        if stars == 0:
            return base
        if base in self.callbacks:
            return base
        if base in ("None",) or base in self.handles:
            base, stars = "c_void_p", stars - 1
        elif base == "c_char":
            base, stars = "c_void_p" if in_callback else "c_char_p", stars - 1
        for _ in range(stars):
            base = "POINTER(%s)" % base
        return base

    def declaration(self, text, in_callback=False):
        """(name, type) of "const char *name" or "long dim[4]"; the name may be missing."""
        function = re.match(r"(.*)\(\*(\w+)\)\((.*)\)$", text)
        if function:
            result, name, arguments = function.groups()
            return name, self.function_type(result, arguments)
        text, _, length = text.partition("[")
        words = text.replace("*", " * ").split()
        stars = words.count("*")
        words = [w for w in words if w not in ("*", "const", "volatile")]
        of_type = 2 if words[0] in ("struct", "enum") else 1
        words, name = words[:of_type], "".join(words[of_type:])
        type_ = self.pointer_type(self.base_type(words), stars, in_callback)
        if length:
            type_ = "%s * %s" % (type_, self.number(length.rstrip("]")))
        return name, type_

    def number(self, text):
        for members in self.enums.values():
            text = str(dict(members).get(text, text))
        return int(text)

    def function_type(self, result, arguments):
        types = [self.declaration(a.strip(), True)[1] for a in arguments.split(",")]
        return "CFUNCTYPE(%s)" % ", ".join([self.declaration(result.strip(), True)[1]] + types)

    # ---- declarations

    def add_enum(self, name, body):
        if "OA_ERRORS" in body:
            members = [("OA_" + n, i) for i, (n, _) in enumerate(self.errors)]
        else:
            members, value = [], 0
            for part in body.split(","):
                if part.strip():
                    member, _, given = (p.strip() for p in part.partition("="))
                    value = int(given) if given else value
                    members.append((member, value))
                    value += 1
        self.enums[name or "anonymous_%d" % len(self.enums)] = members

    def add_struct(self, name, body):
        fields = []
        for text in filter(None, (f.strip() for f in body.split(";"))):
            if "(" in text:
                fields.append(self.declaration(text))
                continue
            first, *others = [p.strip() for p in text.split(",")]
            # The type of the others is that of the first without its stars, name and length.
            words = re.sub(r"\[.*", "", first).replace("*", " ").split()
            fields.append(self.declaration(first))
            fields += [self.declaration(" ".join(words[:-1]) + " " + o) for o in others]
        self.structs[name] = fields

    def add(self, text):
        enum = re.match(r"enum (\w*) ?{(.*)}$", text)
        struct = re.match(r"struct (\w+) {(.*)}$", text)
        handle = re.match(r"typedef struct (\w+) \1$", text)
        callback = re.match(r"typedef (\w+) (\w+)\((.*)\)$", text)
        function = re.match(r"(OA_API )?(.*?)(\w+)\((.*)\)$", text)
        if enum:
            self.add_enum(enum.group(1), enum.group(2))
        elif struct:
            self.add_struct(struct.group(1), struct.group(2))
        elif handle:
            self.handles.append(handle.group(1))
        elif callback:
            self.callbacks[callback.group(2)] = self.function_type(callback.group(1),
                                                                   callback.group(3))
        elif function and function.group(1):
            self.add_function(*function.groups()[1:])
        elif not function:
            raise SystemExit("python_binding: not understood: %s" % text)

    def add_function(self, result, name, arguments):
        result = self.declaration(result.strip(), True)[1]
        arguments = [] if arguments == "void" else arguments.split(",")
        self.functions[name] = (result, [self.declaration(a.strip())[1] for a in arguments])

    # ---- output

    def module(self):
        out = ['# SPDX-License-Identifier: Apache-2.0',
               '# Made by tools/python_binding.py of %s; not to be edited.' % " and ".join(HEADERS),
               '"""Types and functions of the C library. Text that it gives is an address."""',
               'from ctypes import (CFUNCTYPE, POINTER, Structure, c_char, c_char_p, c_double, '
               'c_float, c_int,', '                    c_int32, c_long, c_size_t, c_uint64, c_void_p)', '',
               'VERSION = "%s"' % self.version,
               "ERRORS = {", *("    %d: (%r, %r)," % (i, n, t)
                               for i, (n, t) in enumerate(self.errors)), "}"]
        for members in self.enums.values():
            out += ["%s = %d" % m for m in members]
        out += ["", *("%s = %s" % c for c in self.callbacks.items())]
        for name, fields in self.structs.items():
            out += ["", "", "class %s(Structure):" % name, "    _fields_ = ["]
            out += ["        (%r, %s)," % f for f in fields] + ["    ]"]
        out += ["", "", "FUNCTIONS = {"]
        for name, (result, arguments) in self.functions.items():
            out.append("    %r: (%s, [" % (name, result))
            out += ["        %s," % a for a in arguments] + ["    ]),"]
        return "\n".join(out + ["}"]) + "\n"

    def layout(self):
        scope = {}
        exec(compile(self.module(), MODULE, "exec"), scope)  # what was printed, not what was parsed
        out = ["#include <stddef.h>"]
        out += ['#include "%s"' % os.path.join(ROOT, h) for h in HEADERS]
        for name in self.structs:
            from ctypes import sizeof
            out.append("_Static_assert(sizeof(struct %s) == %d, \"%s\");"
                       % (name, sizeof(scope[name]), name))
            for field, _ in scope[name]._fields_:
                out.append("_Static_assert(offsetof(struct %s, %s) == %d, \"%s.%s\");"
                           % (name, field, getattr(scope[name], field).offset, name, field))
        return "\n".join(out) + "\n"


def parse_headers():
    binding = Binding()
    for name in HEADERS:
        text, errors, version = read_header(name)
        binding.errors += errors
        binding.version = version[0] if version else binding.version
        for declaration in split_declarations(text):
            binding.add(declaration)
    return binding


def main():
    goal = sys.argv[1] if len(sys.argv) > 1 else ""
    binding = parse_headers()
    if goal == "--write":
        with open(MODULE, "w", encoding="utf-8") as file:
            file.write(binding.module())
    elif goal == "--check":
        with open(MODULE, encoding="utf-8") as file:
            if file.read() != binding.module():
                raise SystemExit("python/orthant/_binding.py is not that of the headers: run "
                                 "tools/python_binding.py --write")
    elif goal == "--layout":
        sys.stdout.write(binding.layout())
    elif goal:
        raise SystemExit(__doc__)
    else:
        sys.stdout.write(binding.module())


if __name__ == "__main__":
    main()
