#!/usr/bin/python3
"""Exports every model of the zoo, runs the ONNX checker on the file and the file in ONNX Runtime.

Needs Debian's python3-onnx. ONNX Runtime is used through Node's onnxruntime-node if that is installed (NODE_PATH says
where) and the column says so if it is not. Models are exported one at a time and deleted again. Prints a table; exits 1
if a model fails, 2 if the check itself cannot run.

    tools/check_zoo_exports.py [--trainyard build/release/trainyard] [MODEL...]
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time


def give_up(reason):
    print(f"check_zoo_exports: {reason}", file=sys.stderr)
    sys.exit(2)


try:
    import onnx
except ImportError:
    give_up("the onnx module is missing; apt-get install python3-onnx and use /usr/bin/python3")

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Runs the model once on a fixed wave and prints what came out.
RUN_IN_NODE = """
const ort = require('onnxruntime-node');
const [file, shape] = process.argv.slice(1);
(async () => {
  const dims = JSON.parse(shape);
  const image = Float32Array.from({length: dims.reduce((a, b) => a * b)}, (_, i) => Math.sin(0.37 * i));
  const session = await ort.InferenceSession.create(file);
  const start = process.hrtime.bigint();
  const results = await session.run({image: new ort.Tensor('float32', image, dims)});
  const seconds = Number(process.hrtime.bigint() - start) / 1e9;
  const outputs = Object.entries(results).map(([name, t]) => {
    let low = Infinity, high = -Infinity, finite = true;
    for (const v of t.data) { low = Math.min(low, v); high = Math.max(high, v); finite = finite && isFinite(v); }
    return {name, dims: t.dims, low, high, finite};
  });
  console.log(JSON.stringify({seconds, outputs}));
})().catch(error => { console.error(error.message); process.exit(1); });
"""


class Problem(Exception):
    """What is wrong with one model."""


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Problem((done.stderr.strip() or f"exit code {done.returncode}").splitlines()[-1])
    return done.stdout


def have_runtime():
    try:
        run(["node", "-e", "require('onnxruntime-node')"])
        return True
    except (Problem, FileNotFoundError):
        return False


def dims_of(value):
    return [d.dim_value for d in value.type.tensor_type.shape.dim]


def run_in_runtime(path, model):
    """Runs the file; the outputs must have the declared names and shapes, finite, and not all the same."""
    result = json.loads(run(["node", "-e", RUN_IN_NODE, str(path), json.dumps(dims_of(model.graph.input[0]))]))
    declared = {output.name: dims_of(output) for output in model.graph.output}
    computed = {output["name"]: output["dims"] for output in result["outputs"]}
    if declared != computed:
        raise Problem(f"declares {declared} but computes {computed}")
    for output in result["outputs"]:
        if not output["finite"] or output["low"] == output["high"]:
            raise Problem(f"output {output['name']} is not finite or does not vary: {output}")
    shapes = ", ".join(f"{name} {'x'.join(map(str, dims))}" for name, dims in computed.items())
    return f"{shapes} in {result['seconds'] * 1e3:.0f} ms"


def check(trainyard, model, flags, runtime):
    """The rest of the model's row in the table."""
    with tempfile.TemporaryDirectory(prefix="zoo.") as folder:
        path = pathlib.Path(folder) / "model.onnx"
        start = time.monotonic()
        run([trainyard, "export", model, *flags, "-o", str(path)])
        exported = time.monotonic() - start
        try:
            onnx.checker.check_model(str(path), full_check=True)
        except Exception as error:  # the checker's exceptions have no common base
            raise Problem(f"checker: {str(error).splitlines()[0]}") from error
        size = sum(f.stat().st_size for f in pathlib.Path(folder).iterdir())
        ran = "not run"
        if runtime:
            ran = run_in_runtime(path, onnx.load(path, load_external_data=False))
        return f"{size / 2**20:8.1f} MiB  {exported:6.2f} s  accepted  {ran}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trainyard", default=str(ROOT / "build/release/trainyard"), help="the program")
    parser.add_argument("models", nargs="*", metavar="MODEL", help="these alone")
    args = parser.parse_args()
    try:
        zoo = json.loads(run([args.trainyard, "models", "--json"]))["models"]
    except (Problem, OSError) as error:
        give_up(f"{args.trainyard} models: {error}")
    unknown = set(args.models) - {model["name"] for model in zoo}
    if unknown:
        give_up(f"the zoo has no {', '.join(sorted(unknown))}")
    runtime = have_runtime()
    failed = total = 0
    print(f"{'model':37}  {'file':>12}  {'export':>8}  checker   ONNX Runtime")
    for model in zoo:
        if args.models and model["name"] not in args.models:
            continue
        for flags in [[], ["--auxiliary"]] if "auxiliary" in model["options"] else [[]]:
            total += 1
            try:
                row = check(args.trainyard, model["name"], flags, runtime)
            except Problem as problem:
                failed += 1
                row = f"FAILED: {problem}"
            print(f"{' '.join([model['name'], *flags]):37}  {row}", flush=True)
    if not runtime:
        print("ONNX Runtime was not found: npm install onnxruntime-node, and set NODE_PATH")
    print(f"{total - failed} of {total} passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
