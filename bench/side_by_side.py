"""What the comparisons with other programs share: running them, machine facts, means."""
import json
import math
import os
import platform
import subprocess
import sys
from pathlib import Path


def run_json(command, environment=None):
    """The JSON that a command prints; the whole comparison ends if the command fails."""
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stderr}")
    return json.loads(done.stdout)


def machine_facts(trainyard, threads, load_before):
    model = "unknown"
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
    peak = run_json([trainyard, "bench", "--machine", "--threads", str(threads), "--json"])
    return {"processor": model, "cores": os.cpu_count(), "system": platform.platform(),
            "load_average_before": load_before, "load_average_after": os.getloadavg()[0], **peak}


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def write_results(output, text, rows, facts):
    """OUTPUT.md for people, OUTPUT.json for programs."""
    Path(output + ".md").write_text(text)
    Path(output + ".json").write_text(json.dumps({"machine": facts, "rows": rows}, indent=2) + "\n")
