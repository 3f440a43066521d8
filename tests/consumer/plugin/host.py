"""Loads the shared object given as its argument as Python programs do, calls it, and unloads it."""
import _ctypes
import ctypes
import sys

for n in (1, 2, 3):
    plugin = ctypes.CDLL(sys.argv[1])
    result = plugin.five_times(n)
    assert result == 5 * n, (n, result)
    _ctypes.dlclose(plugin._handle)
