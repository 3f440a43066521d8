"""The trace of `kiln bench --trace`: kernels nest in calls.

usage: check_trace.py TRACE KERNELS_OF_A_CALL
"""
import json
import sys

document = json.load(open(sys.argv[1]))
events = [e for e in document["traceEvents"] if e["ph"] == "X"]
assert document["otherData"]["events_left_out"] == 0, document["otherData"]
calls = [e for e in events if e["cat"] == "call"]
kernels = [e for e in events if e["cat"] == "kernel"]
assert len(calls) >= 5 and len(kernels) == int(sys.argv[2]) * len(calls), (len(calls), len(kernels))
end, inside = -1.0, None
for event in events:
    assert event["dur"] >= 0 and event["pid"] == 1 and event["tid"] == 1 and event["name"], event
    if event["cat"] == "call":
        assert event["ts"] >= end - 1e-3, "calls overlap"
        inside = event
    else:
        # Rounding of doubles aside.
        assert event["ts"] >= max(inside["ts"], end if end > inside["ts"] else 0) - 1e-3, event
        assert event["ts"] + event["dur"] <= inside["ts"] + inside["dur"] + 1e-3, (event, inside)
    end = event["ts"] + event["dur"] if event["cat"] == "kernel" else end
