"""Kiln's types in gdb: `source kiln_gdb.py`, or by the file that gdb loads with the library (README.md)."""
import os
import sys

import gdb
import gdb.printing

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import kiln_values  # noqa: E402


class Value:
    """A value of gdb, as kiln_values reads it."""

    def __init__(self, value):
        self.value = value

    def __getitem__(self, name):
        return Value(self.value[name])

    def __int__(self):
        return int(self.value)

    def target(self):
        return Value(self.value.dereference())

    def item(self, index):
        return Value(self.value[index])

    @property
    def size(self):
        return self.value.type.sizeof

    @property
    def address(self):
        return int(self.value.address)

    def read(self, at, size):
        try:
            return bytes(gdb.selected_inferior().read_memory(at, size)) if size else b""
        except gdb.MemoryError as error:
            raise kiln_values.Unreadable(str(error)) from error

    def symbol(self, name):
        try:
            return int(gdb.parse_and_eval(f"(unsigned long)&{name}"))
        except gdb.error:
            return None


class Printer:
    def __init__(self, name, value):
        self.name, self.value = name, value

    def to_string(self):
        try:
            return kiln_values.line_of(self.name, Value(self.value))
        except gdb.error as error:
            return f"<{error}>"


class ListPrinter(Printer):
    """Of a type with parts."""

    def children(self):
        try:
            parts = kiln_values.parts_of(self.name, Value(self.value))
        except gdb.error:
            return
        for name, value in parts:
            yield name, value.value


class Printers(gdb.printing.PrettyPrinter):
    """Finds the printer of a value by the name of its type."""

    def __init__(self):
        super().__init__("kiln", [gdb.printing.SubPrettyPrinter(name) for name in kiln_values.TYPES])

    def __call__(self, value):
        if value.type.strip_typedefs().code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
            value = value.referenced_value()
        name = value.type.strip_typedefs().unqualified().name
        if name not in kiln_values.TYPES or not all(p.enabled for p in self.subprinters if p.name == name):
            return None
        return (ListPrinter if kiln_values.TYPES[name][1] else Printer)(name, value)


# Once for a session: libraries share the printers.
gdb.printing.register_pretty_printer(None, Printers(), replace=True)
