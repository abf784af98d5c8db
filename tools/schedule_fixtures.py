#!/usr/bin/env python3
"""Makes tests/cluster/schedule/data/*.json from recorded results of other programs.

Usage: tools/schedule_fixtures.py FOLDER

FOLDER holds what these programs gave: fits of real training curves and of measured speeds (SciPy), the scheduler class
of pengyanghua/optimus@8c43920 and its params_distr.py, the simulators of pengyanghua/DL2@2e54920,
SymbioticLab/Tiresias@959f9b0 and petuum/adaptdl (branch osdi21-artifact), and LPs on the throughputs of
stanford-futuredata/gavel. Only inputs and the figures that tests compare are kept.
"""
import json
import pathlib
import sys

OUT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "schedule" / "data"


def write(name, value):
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / name).write_text(json.dumps(value, separators=(",", ":")).replace("},{", "},\n{") + "\n")


def loss(data):
    keep = ["prefix_points", "outlier_indices", "sse_unweighted", "beta_unweighted", "weighted_sse", "beta_segment_weighted",
            "rest_mape_pct_weighted"]
    runs = [{"name": r["run_id"], "depth": r["depth"], "k": r["epochs_k"], "loss": r["train_loss_raw"], "lr": r["lr"],
             "fits": [{k: f[k] for k in keep if k in f} for f in r["fits"]]} for r in data["runs"]]
    synthetic = [{"beta": s["true_beta"], "k": s["k"], "loss": s["loss_exact"], "noisy": s["loss_noisy_2pct"],
                  "noisy_sse": s["sse_noisy"]} for s in data["synthetic"]]
    write("loss.json", {"runs": runs, "synthetic": synthetic})


def speed(data):
    keep = ["model", "form", "M", "points_p_w_speed", "theta_nnls_time", "theta_nnls_relative", "fit_mape_pct"]
    fits = [{k: f[k] for k in keep if k in f} for f in data["fits"]]
    table = [{"form": s["form"], "M": s["M"], "theta": s["true_theta"], "points_p_w_speed": s["points_p_w_speed"]}
             for s in data["synthetic_table2"]]
    write("speed.json", {"fits": fits, "table2": table})


def dl2(data):
    cases = []
    for case in data["cases"]:
        kept = {k: case[k] for k in ("cluster_nodes", "slots_per_node", "slot_seconds", "max_ps_or_workers_per_job", "jobs")}
        kept["jct_slots"] = {name: r["jct_slots"] for name, r in case["results"].items()}
        cases.append(kept)
    write("dl2.json", {"speeds": data["speed_table"]["table"], "cases": cases})


def tiresias(data):
    cases = []
    for case in data["cases"]:
        results = {}
        for name, result in case["results"].items():
            order = [str(job["id"]) for job in case["jobs"]]
            results[name] = {key: [int(result["jobs"][i][key]) for i in order] for key in ("start", "end", "preempt")}
        jobs = {key: [job[key] for job in case["jobs"]] for key in ("id", "gpus", "submit_s", "duration_s")}
        cases.append({"cluster": case["cluster"], "jobs": jobs, "results": results})
    write("tiresias.json", {"cases": cases})


def gavel(data):
    cases = []
    for case in data["cases"]:
        cases.append({"gpus": case["gpus"],
                      "throughputs": [j["throughput_steps_per_s"] for j in case["jobs"]],
                      "weights": [j["weight"] for j in case["jobs"]],
                      "steps": [j["steps_remaining"] for j in case["jobs"]],
                      "las": case["las_weighted_max_min"]["objective_min_normalised_throughput"],
                      "makespan": case["min_makespan"]["makespan_s"]})
    write("gavel.json", {"source": data["source"], "cases": cases})


def allocation(data):
    write("allocation.json", {"cases": [{k: v for k, v in c.items() if k != "cluster_used"} for c in data["cases"]]})


def paa(data):
    blocks = [{"model": b["model"], "block_sizes": b["block_sizes"]} for b in data["blocks"]]
    results = {servers: [r["paa"] for r in rows] for servers, rows in data["results"].items()}
    write("paa.json", {"blocks": blocks, "results": results})


def pollux(data):
    applications = {}
    for name, app in data["applications"].items():
        # Figures of batches in between are straight lines between recorded ones.
        sizes = sorted(int(b) for b in app["by_batch_size"])
        applications[name] = {k: app[k] for k in ("init_batch_size", "max_batch_size", "min_local_bsz", "max_local_bsz",
                                                  "max_epochs", "progress_after_epoch")}
        kept = needed_batches(app["by_batch_size"], sizes)
        applications[name]["by_batch_size"] = {str(b): app["by_batch_size"][str(b)] for b in kept}
        applications[name]["step_sync_seconds"] = {k: [float(f"{v:.8g}") for v in pair]
                                                   for k, pair in app["step_sync_seconds"].items()}
    cases = []
    for case in data["cases"].values():
        results = {name: {k: r[k] for k in ("avg_jct_s", "makespan_s", "total_restarts", "jct_s")}
                   for name, r in case["results"].items()}
        jobs = {key: [job[key] for job in case["jobs"]]
                for key in ("name", "submit_s", "application", "num_replicas", "batch_size")}
        cases.append({"jobs": jobs, "results": results})
    write("pollux.json", {"cluster": data["cluster"], "applications": applications, "cases": cases})


def needed_batches(table, sizes):
    """The sizes from which the others follow by interpolation."""
    def follows(size, low, high):
        share = (size - low) / (high - low)
        for key in ("iterations_after_epoch", "grad_sqr", "grad_var"):
            for a, b, x in zip(table[str(low)][key], table[str(high)][key], table[str(size)][key]):
                if abs(a + share * (b - a) - x) > 1e-6 * abs(x):
                    return False
        return True

    kept = [sizes[0]]
    first = 0
    while first < len(sizes) - 1:
        last = len(sizes) - 1
        while last > first + 1 and not all(follows(s, sizes[first], sizes[last]) for s in sizes[first + 1:last]):
            last -= 1
        kept.append(sizes[last])
        first = last
    return kept


def main():
    folder = pathlib.Path(sys.argv[1])
    parts = {"loss_fit": loss, "speed_fit": speed, "cluster_sim_dl2": dl2, "tiresias_sim": tiresias, "gavel_policies": gavel,
             "allocation_placement": allocation, "paa": paa, "cluster_sim_pollux": pollux}
    for name, make in parts.items():
        make(json.loads((folder / f"{name}.json").read_text()))


if __name__ == "__main__":
    main()
