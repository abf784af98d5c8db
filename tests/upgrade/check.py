#!/usr/bin/env python3
"""What version 0.1.0 wrote is still read: check.py PROGRAM WORK.

The folder 0.1.0 holds a run's small files as that version wrote them, a catalog and a lab; checkpoints are made here, in its format. A
new version adds a folder of its own and leaves this one as it is.
"""
import json
import pathlib
import shutil
import struct
import subprocess
import sys

program = sys.argv[1]
work = pathlib.Path(sys.argv[2])
OLD = pathlib.Path(__file__).resolve().parent / "0.1.0"
# The network "mlp" for 16 numbers and 3 classes; stochastic gradient descent keeps a momentum of each.
PARAMETERS = {"fc1.weight": (300, 16), "fc1.bias": (300,), "fc2.weight": (100, 300), "fc2.bias": (100,), "fc3.weight": (3, 100), "fc3.bias": (3,)}
STATE = {"config_hash": "68890da6fcae6de9", "epoch": "2", "epoch_step": "0", "kind": "trainyard checkpoint 1", "model": "mlp", "samples": "96",
         "seed": "1", "step": "12", "value.averaged": "0", "value.best_top1": "0.5555555555555556", "value.epoch_correct": "0",
         "value.epoch_images": "0", "value.epoch_loss": "0", "value.epoch_of_best": "2", "value.seconds": "0.4", "value.updates": "12"}


def output(*arguments, code=0):
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, check=False, cwd=work)
    assert done.returncode == code, f"{arguments}: {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done.stdout


def write_safetensors(path, tensors, metadata):
    header, data = {"__metadata__": metadata} if metadata else {}, bytearray()
    for at, (name, shape) in enumerate(tensors.items()):
        count = 1
        for size in shape:
            count *= size
        begin = len(data)
        data += struct.pack(f"<{count}f", *(0.05 * ((7 * i + 3 * at) % 11 - 5) / 5 for i in range(count)))
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def old_run():
    run = work / "runs/old"
    (run / "checkpoints").mkdir(parents=True)
    for name in ("config.yaml", "metrics.jsonl", "machine.json"):
        shutil.copy(OLD / name, run / name)
    (run / "classes.txt").write_text("0\n1\n2\n")
    momenta = {f"optimizer.momentum.{name}": shape for name, shape in PARAMETERS.items()}
    write_safetensors(run / "checkpoints/step-000012.safetensors", {**PARAMETERS, **momenta}, STATE)
    (run / "checkpoints/latest.safetensors").symlink_to("step-000012.safetensors")
    return run


shutil.rmtree(work, ignore_errors=True)
work.mkdir(parents=True)
run = old_run()
shown = output("report", run, "--format", "text")
assert "55.56 %" in shown, shown[:1500]
print("run directory: read")

last = json.loads((run / "metrics.jsonl").read_text().splitlines()[-1])
output("train", "--resume", run, "--epochs", "3", "--quiet")
lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
assert last in lines and lines[-1]["step"] == 18 and lines[-1]["epoch"] == 3, lines[-1]
print("checkpoint: resumed, and its configuration has the hash that it had")

output("train", "--config", OLD / "config.yaml", "--epochs", "1", "--runs-dir", "runs", "--name", "again", "--quiet")
assert (work / "runs/again/model.onnx").is_file()
print("configuration: read")

write_safetensors(work / "weights.safetensors", PARAMETERS, None)
scored = json.loads(output("evaluate", "mlp", "--weights", work / "weights.safetensors", "--data", "synthetic:1x4x4,classes=3,size=48", "--json"))
assert scored, scored
print("weights: read")

predicted = output("predict", "lenet5", "--device", "gpu-of-mine", "--link", "link-of-mine", "--catalog", OLD / "catalog.yaml", "--workers", "1,2")
assert "GPU of mine" in predicted or "gpu-of-mine" in predicted, predicted
print("catalog: read")

assert "1 batches were analyzed" in output("lab", "run", OLD / "lab.yaml", "--quick", "--runs-dir", "labs", "--format", "text")
print("lab: read")
