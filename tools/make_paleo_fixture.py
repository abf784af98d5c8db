#!/usr/bin/env python3
"""Makes tests/cluster/predict/paleo_fixture.json from an oracle of PALEO's numbers and the authors' web demo file.

    make_paleo_fixture.py ORACLE.json WEB_DEMO.json -o FIXTURE.json [--full]

The oracle lists FLOPs and bytes per layer but not filters, strides and padding; these are solved from
the figures. Without --full the demo part is a sample; with it, everything that can be checked is there
(run predict_test with TRAINYARD_PALEO_FIXTURE pointing at it).
"""
import argparse
import json
import math
import random
import re

DEMO_SAMPLE = 24  # demo entries carried into the repository
PPP = {"caffe": (0.21, 0.56), "mxnet": (0.49, 0.72), "tensorflow": (0.62, 0.72)}


def out_size(n, k, s, pad):
    return math.ceil((n - k + 1) / s) if pad == "valid" else math.ceil(n / s)


def dilated(n, k, s, pad):
    out = out_size(n, k, s, pad)
    p = 0 if pad == "valid" else ((out - 1) * s + k - n) // 2
    extent = (out - 1) * s + 1
    before = k - 1 - p
    after = n + k - 1 - extent - before
    if abs(before - after) == 1:
        extent += 1
    return p, extent, min(before, after)


def solve_conv(row, batch, shapes):
    """Filter, stride and padding that explain a convolution's row, given the shapes seen before it."""
    name, _, out, params, flops, fwd, _, bwd, _, filt = row
    cout = out[3]
    taps = (params - cout) // cout  # kh * kw * cin
    hint = re.search(r"(\d+)x(\d+)$", name)
    kernels = [(k, k) for k in range(1, 12)] + [(1, 7), (7, 1), (1, 3), (3, 1)]
    if hint and hint.group(1) != hint.group(2):
        kernels.insert(0, (int(hint.group(1)), int(hint.group(2))))
    for shape in reversed(shapes):
        _, h, w, cin = shape
        for kh, kw in kernels:
            if kh * kw * cin != taps or kh > h or kw > w:
                continue
            for s in (1, 2, 3, 4):
                for pad in ("valid", "same"):
                    if [out_size(h, kh, s, pad), out_size(w, kw, s, pad)] != out[1:3]:
                        continue
                    ph, eh, qh = dilated(h, kh, s, pad)
                    pw, ew, qw = dilated(w, kw, s, pad)
                    if 4 * batch * (h + 2 * ph) * (w + 2 * pw) * cin != fwd[0]:
                        continue
                    if bwd and 4 * batch * (eh + 2 * qh) * (ew + 2 * qw) * cout != bwd[0]:
                        continue
                    fh, fw = (0, 0) if pad == "valid" else (qh, qw)
                    if 4 * cin * (h + 2 * fh) * (w + 2 * fw) * batch != filt[0]:
                        continue
                    return [h, w, cin, kh, kw, cout, s, s, pad]
    raise SystemExit(f"no convolution explains {row}")


def solve_net(rows, batch):
    layers, shapes = [], []
    for row in rows:
        name, kind, out, _, flops, fwd = row[:6]
        if kind == "conv2d":
            fed = not row[7]
            layers.append([name, "conv"] + solve_conv(row, batch, shapes[:1] if fed else shapes) + [fed])
        elif kind == "innerproduct":
            layers.append([name, "linear", fwd[0] // 4 // batch, out[1]])
        elif kind == "pool2d":
            elements = fwd[1] // 4
            layers.append([name, "pool", flops // 2 // elements, fwd[0] // 4 // batch, elements // batch])
        elif kind == "dropout":
            layers.append([name, "dropout", fwd[0] // 4 // batch])
        shapes.append(out if len(out) == 4 else [out[0], 1, 1, out[1]])
    return layers


def parse(cmd):
    net = re.search(r"nets/(\w+)\.json", cmd).group(1)
    return net, dict(re.findall(r"--(\w+)=(\S+)", cmd))


def case_rows(oracle):
    """Whole simulations with platform percent of peak: compute and communication rows."""
    compute, comm = [], []
    for case in oracle["cases"]:
        net, flags = parse(case["cmd"])
        gbps = oracle["networks"][flags["network_name"]]["gbps"]
        for row in case["rows"]:
            batch = int(flags["batch_size"])
            if flags["scaling"] == "strong":
                batch = math.ceil(batch / row[0])
            compute.append([net, flags["device_name"], batch, float(flags["ppp_comp"]), False, "head"] + row[3:6])
            comm.append([net, gbps, float(flags["ppp_comm"]), row[0], row[7:11]])
    return compute, comm


def sweep_rows(oracle, full):
    simulate = oracle["simulate_b128_ppp1"]
    compute, comm = [], []
    for net, devices in simulate["compute"].items():
        for device, times in devices.items():
            compute.append([net, device, 128, 1.0, False, "head"] + times["weak"])
            if full or device in ("K80", "TITAN_X"):
                for workers, row in zip(simulate["_workers"], times["strong"]):
                    compute.append([net, device, math.ceil(128 / workers), 1.0, False, "head"] + row)
    for net, devices in oracle["simulate_pipeline"]["vals"].items():
        for device, row in devices.items():
            compute.append([net, device, 128, 1.0, True, "head"] + row)
    for net, networks in simulate["comm"].items():
        for network, schemes in networks.items():
            for i, workers in enumerate(simulate["_workers"]):
                values = [schemes[s][i] for s in simulate["_schemes"]]
                comm.append([net, oracle["networks"][network]["gbps"], 1.0, workers, values])
    return compute, comm


def demo_rows(demo, oracle, full):
    """Entries of the authors' demo that can be recomputed: matrix products, or algorithms known per batch."""
    rows = []
    for key in sorted(demo):
        net, device, network, software, batch, scaling, cudnn = key.split(",")
        algorithms = {}
        if cudnn == "true":
            known = oracle["inferred_cudnn_v4_algos"].get(net, {})
            batches = {batch} if scaling == "weak" else {str(math.ceil(int(batch) / 2**i)) for i in range(8)}
            if not batches <= set(known):
                continue
            algorithms = {b: known[b] for b in batches}
        rows.append([net, device, oracle["networks"][network]["gbps"], *PPP[software], int(batch), scaling,
                     algorithms, demo[key]["times"]])
    if full:
        return rows
    return random.Random(1).sample(rows, DEMO_SAMPLE)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("oracle")
    parser.add_argument("demo")
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--full", action="store_true")
    args = parser.parse_args()
    oracle = json.load(open(args.oracle))
    demo = json.load(open(args.demo))
    batch = oracle["layers"]["_batch"]
    nets = {name: solve_net(net["layers"], batch) for name, net in oracle["layers"]["nets"].items()}
    layers = {name: [[r[0]] + r[3:] for r in net["layers"] if r[4]] for name, net in oracle["layers"]["nets"].items()}
    cases, case_comm = case_rows(oracle)
    sweeps, sweep_comm = sweep_rows(oracle, args.full)
    v0 = []
    for key, device, ppp in (("alex_v2_128_TITAN_X", "TITAN_X", 0.62), ("vgg16_64_TITAN_X", "TITAN_X", 0.62),
                             ("inception_v3_32_K80", "K80", 0.49), ("inception_v3_256_K40", "K40", 0.62)):
        net, size = re.match(r"(\w+)_(\d+)_", key).groups()
        row = oracle["paper_tables_reproduced_v0"]["raw"][key][0]
        v0.append([net, device, int(size), ppp, False, "v0"] + row[3:6])
    hybrid = []
    for item in oracle["hybrid"]:
        flags = parse(item["cmd"])[1]
        hybrid.append([flags["device_name"], oracle["networks"][flags["network_name"]]["gbps"],
                       float(flags["ppp_comp"]), float(flags["ppp_comm"]), int(flags["hybrid_workers"]),
                       item["data_parallel_row"][2:], item["model_parallel_row"][2:]])
    model = [[int(re.search(r"_(\d)gpu", m["cmd"]).group(1)), m["rows"][0][1:], m["rows"][1][1:]]
             for m in oracle["model_parallel"] if "rows" in m]
    fixture = {
        "source": "TalwalkarLab/paleo@984bbf5 (PALEO, Qi et al., ICLR 2017) run for these figures; demo: the authors' "
                  "precomputed web demo (first release, December 2016)",
        "devices": {k: [d["clock_mhz"], d["peak_gflops"], d["mem_bw_GBps"]] for k, d in oracle["devices"].items()},
        "batch": batch, "nets": nets, "layers": layers, "compute": sweeps + cases + v0,
        "comm": sweep_comm[:: 1 if args.full else 7] + case_comm, "demo": demo_rows(demo, oracle, args.full),
        "hybrid": hybrid, "model_parallel": model,
        "units": {k: v for k, v in oracle["unit_vectors"].items() if k != "_note"},
    }
    lines = []
    for key, value in fixture.items():
        if isinstance(value, list):
            body = ",\n".join("  " + json.dumps(v, separators=(",", ":")) for v in value)
            lines.append(f'"{key}": [\n{body}\n]')
        elif isinstance(value, dict):
            body = ",\n".join(f"  {json.dumps(k)}: " + json.dumps(v, separators=(",", ":")) for k, v in value.items())
            lines.append(f'"{key}": {{\n{body}\n}}')
        else:
            lines.append(f'"{key}": {json.dumps(value)}')
    with open(args.output, "w") as out:
        out.write("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
