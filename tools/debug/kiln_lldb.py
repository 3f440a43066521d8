"""Kiln's types in lldb: `command script import kiln_lldb.py` (README.md)."""
import os
import sys

import lldb

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import kiln_values  # noqa: E402


class Value:
    """A value of lldb, as kiln_values reads it: its members, not the parts that lldb shows of it."""

    def __init__(self, value):
        self.value = value.GetNonSyntheticValue()
        if not self.value.IsValid():
            raise kiln_values.Unreadable("not in this process")

    def __getitem__(self, name):
        return Value(self.value.GetChildMemberWithName(name))

    def __int__(self):
        error = lldb.SBError()
        number = self.value.GetValueAsSigned(error)
        if error.Fail():
            raise kiln_values.Unreadable(error.GetCString())
        return number

    def target(self):
        return Value(self.value.Dereference())

    def item(self, index):
        kind = self.value.GetType()
        if not kind.IsPointerType():
            return Value(self.value.GetChildAtIndex(index))
        kind = kind.GetPointeeType()
        at = self.value.GetValueAsUnsigned() + index * kind.GetByteSize()
        return Value(self.value.CreateValueFromAddress(f"[{index}]", at, kind))

    @property
    def size(self):
        return self.value.GetType().GetByteSize()

    @property
    def address(self):
        return self.value.GetLoadAddress()

    def read(self, at, size):
        error = lldb.SBError()
        memory = self.value.GetProcess().ReadMemory(at, size, error) if size else b""
        if error.Fail():
            raise kiln_values.Unreadable(error.GetCString())
        return memory

    def symbol(self, name):
        target = self.value.GetTarget()
        for context in target.FindSymbols(name):
            at = context.symbol.GetStartAddress().GetLoadAddress(target)
            if at != lldb.LLDB_INVALID_ADDRESS:
                return at
        return None


def shown(value):
    """(name of the type, value) of a value or a reference."""
    value = value.GetNonSyntheticValue()
    if value.GetType().IsReferenceType():
        value = value.Dereference()
    return value.GetType().GetCanonicalType().GetUnqualifiedType().GetName(), value


def summary(value, _):
    """lldb's text of a value."""
    name, value = shown(value)
    try:
        return kiln_values.line_of(name, Value(value))
    except kiln_values.Unreadable as error:
        return f"<{error}>"


class Parts:
    """lldb's children of a value with parts."""

    def __init__(self, value, _):
        self.of, self.parts = value, []

    def update(self):
        name, value = shown(self.of)
        try:
            self.parts = kiln_values.parts_of(name, Value(value))
        except kiln_values.Unreadable:
            self.parts = []
        return False

    def has_children(self):
        return bool(self.parts)

    def num_children(self):
        return len(self.parts)

    def get_child_index(self, name):
        return next((i for i, (part, _) in enumerate(self.parts) if part == name), -1)

    def get_child_at_index(self, index):
        name, part = self.parts[index]
        return part.value.CreateValueFromAddress(name, part.address, part.value.GetType())


def __lldb_init_module(debugger, _):
    for name, (_, parts) in kiln_values.TYPES.items():
        expand = "-e " if parts else ""
        debugger.HandleCommand(f'type summary add -p -v {expand}-w kiln -F {__name__}.summary "{name}"')
        if parts:
            debugger.HandleCommand(f'type synthetic add -p -w kiln -l {__name__}.Parts "{name}"')
    debugger.HandleCommand("type category enable kiln")
