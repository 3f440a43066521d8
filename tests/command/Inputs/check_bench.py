"""The form of `kiln bench --json`."""
import json
import sys

results = json.load(open(sys.argv[1]))["results"]
assert [r["mode"] for r in results] == ["eager", "compiled"], results
for r in results:
    memory = {"saved_bytes", "recomputed_bytes"} if "saved_bytes" in r else {"arena_bytes", "arena_lower_bound"}
    assert set(r) == {"mode", "device", "threads", "median_us", "min_us", "compile_ms", "kernels", "peak_bytes"} | memory, r
    assert r["device"] == "cpu(0)" and r["threads"] == 1 and 0 < r["min_us"] <= r["median_us"] and r["kernels"] >= 1 and r["peak_bytes"] > 0, r
