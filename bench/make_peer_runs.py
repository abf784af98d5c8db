#!/usr/bin/env python3
"""Writes the same made-up runs for `trainyard ui`, TensorBoard, MLflow and trackio, as files of each.

bench/make_peer_runs.py FOLDER --runs 1000 --points 1000, in an environment with tensorboard, mlflow and trackio.
"""
import argparse
import json
import math
import os
import pathlib
import time


def losses(run, points):
    rate = 200 + run % 50
    return [2.3 * math.exp(-step / rate) + 0.1 for step in range(1, points + 1)]


def settings(run):
    return {"batch": [16, 32, 64, 128][run % 4], "learning_rate": 0.01 * (1 + run % 5), "seed": run // 20}


def write_ours(folder, name, run, values):
    own = folder / "trainyard" / name
    own.mkdir(parents=True)
    lines = "".join(f"{key}: {value}\n" for key, value in settings(run).items())
    (own / "config.yaml").write_text(f"model: lenet5\ndata: fashion-mnist\n{lines}")
    (own / "metrics.jsonl").write_text("".join(f'{{"step":{i + 1},"loss":{v:.8g}}}\n' for i, v in enumerate(values)))


def write_tensorboard(folder, name, values):
    from tensorboard.compat.proto import event_pb2, summary_pb2
    from tensorboard.summary.writer.event_file_writer import EventFileWriter
    writer = EventFileWriter(str(folder / "tensorboard" / name), max_queue_size=10_000, flush_secs=600)
    now = time.time()
    for i, value in enumerate(values):
        summary = summary_pb2.Summary(value=[summary_pb2.Summary.Value(tag="loss", simple_value=value)])
        writer.add_event(event_pb2.Event(wall_time=now + i, step=i + 1, summary=summary))
    writer.close()


def write_mlflow(client, experiment, name, run, values):
    from mlflow.entities import Metric, Param
    made = client.create_run(experiment, run_name=name).info.run_id
    now = int(1000 * time.time())
    metrics = [Metric("loss", value, now + i, i + 1) for i, value in enumerate(values)]
    params = [Param(key, str(value)) for key, value in settings(run).items()]
    for begin in range(0, len(metrics), 1000):
        client.log_batch(made, metrics=metrics[begin:begin + 1000], params=params if begin == 0 else [])
    client.set_terminated(made)


def write_trackio(name, run, values):
    from trackio.sqlite_storage import SQLiteStorage
    numbers = [{"loss": value} for value in values]
    SQLiteStorage.bulk_log("runs", name, numbers, steps=list(range(1, len(values) + 1)), config=settings(run))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--points", type=int, default=1000)
    parser.add_argument("--programs", default="trainyard,tensorboard,mlflow,trackio")
    given = parser.parse_args()
    folder = given.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    programs = given.programs.split(",")
    os.environ["TRACKIO_DIR"] = str(folder / "trackio")
    if "mlflow" in programs:
        from mlflow import MlflowClient
        client = MlflowClient(tracking_uri=f"sqlite:///{folder / 'mlflow.db'}")
        experiment = client.create_experiment("runs", artifact_location=str(folder / "mlflow"))
    for run in range(given.runs):
        name = f"run-{run:04d}"
        values = losses(run, given.points)
        if "trainyard" in programs:
            write_ours(folder, name, run, values)
        if "tensorboard" in programs:
            write_tensorboard(folder, name, values)
        if "mlflow" in programs:
            write_mlflow(client, experiment, name, run, values)
        if "trackio" in programs:
            write_trackio(name, run, values)
    print(json.dumps({"runs": given.runs, "points": given.points}))


if __name__ == "__main__":
    main()
