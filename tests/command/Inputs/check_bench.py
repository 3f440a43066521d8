"""The form of `kiln bench --json`."""
import datetime
import json
import re
import sys

document = json.load(open(sys.argv[1]))
assert set(document) == {"version", "llvm", "cpu", "isa", "date", "results"}, document.keys()
assert re.fullmatch(r"\d+\.\d+\.\d+", document["version"]) and document["llvm"].startswith("22.1."), document
assert document["cpu"] and document["isa"].startswith("x86_64 "), document
age = datetime.datetime.now(datetime.timezone.utc) - datetime.datetime.fromisoformat(document["date"].replace("Z", "+00:00"))
assert abs(age.total_seconds()) < 3600, age
results = document["results"]
assert [r["mode"] for r in results] == ["eager", "compiled"], results
for r in results:
    memory = {"saved_bytes", "recomputed_bytes"} if "saved_bytes" in r else {"arena_bytes", "arena_lower_bound"}
    assert set(r) == {"mode", "device", "threads", "samples", "median_us", "deviation_us", "min_us", "compile_ms", "kernels", "peak_bytes"} | memory | (
        {"speed_up"} if r["mode"] == "compiled" else set()), r
    assert r["samples"] >= 5 and r["deviation_us"] >= 0, r
    assert r["device"] == "cpu(0)" and r["threads"] == 1 and 0 < r["min_us"] <= r["median_us"] and r["kernels"] >= 1 and r["peak_bytes"] > 0, r
eager, compiled = results
assert abs(compiled["speed_up"] - eager["median_us"] / compiled["median_us"]) < 1e-9 * compiled["speed_up"], results
