"""The files that hostile requests name: bombs, torn and oversized files, pipes, names with escapes."""
import io
import json
import os
import pathlib
import struct
import sys
import zipfile
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import onnx_model as onnx


def png(width, height, color=2, depth=8, data=b""):
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b"")


def alias_bomb(head=""):
    text = head + "a: &a [x, x, x, x, x, x, x, x, x]\n"
    for name, before in zip("bcdefghi", "abcdefgh"):
        text += f"{name}: &{name} [{', '.join(['*' + before] * 9)}]\n"
    return text


def lab(run="models", name="one", settings="", each="", report='- text: "{{ 1 }}"'):
    return (f"title: t\nquestion: q\nsettings: {{{settings}}}\nsteps:\n  - name: {name}\n    run: \"{run}\"\n"
            + (f"    each: {each}\n" if each else "") + f"report:\n  {report}\n")


def safetensors(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def pth(body, method=zipfile.ZIP_STORED, **records):
    """A zip file of torch.save around the opcodes of a pickle."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        archive.writestr("a/data.pkl", b"\x80\x02" + body + b".")
        for name, content in records.items():
            archive.writestr("a/" + name, content)
    return out.getvalue()


def npy(header, data=b""):
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


def field(number, content):
    """A field of a protocol buffer: a small number, or bytes, or text."""
    if isinstance(content, int):
        return bytes([number << 3, content])
    content = content.encode() if isinstance(content, str) else content
    return bytes([number << 3 | 2, len(content)]) + content


def relu_onnx():
    """A network of one node on a matrix of any size."""
    shape = b"".join(field(1, field(2, name)) for name in ("rows", "columns"))
    kind = field(2, field(1, field(1, 1) + field(2, shape)))
    node = field(1, "x") + field(2, "y") + field(3, "relu") + field(4, "Relu")
    graph = field(1, node) + field(2, "g") + field(11, field(1, "x") + kind) + field(12, field(1, "y") + kind)
    return field(1, 8) + field(7, graph) + field(8, field(2, 17))


def run_folder(root, name, config="model: lenet5\ndata: fashion-mnist\nbatch: 128\n", metrics='{"step":1,"loss":2}\n'):
    folder = root / name
    (folder / "checkpoints").mkdir(parents=True)
    for file, text in (("config.yaml", config), ("metrics.jsonl", metrics)):
        if text == "pipe":
            os.mkfifo(folder / file)
        elif text == "device":
            (folder / file).symlink_to("/dev/zero")
        elif text is not None:
            (folder / file).write_text(text)
    return folder


def text_files(root):
    files = {
        "bomb.yaml": alias_bomb(), "bomb_lab.yaml": alias_bomb("title: t\nquestion: q\n"),
        "cycle.yaml": "a: &a [*a, *a]\n", "deep.yaml": "[" * 5000, "empty.yaml": "", "blank.yaml": " \n\n",
        "wide.yaml": "".join(f"k{i}: 1\n" for i in range(150000)), "long.yaml": "a: " + "x" * (5 << 20),
        "list.yaml": "[1, 2]\n", "scalar.yaml": "just text\n", "tabs.yaml": "a:\n\t- b\n", "twice.yaml": "a: 1\na: 2\n",
        "unknown.yaml": "nonsense: 1\n", "epochs.yaml": "epochs: many\n", "minus.yaml": "batch: -1\n",
        "nan.yaml": "learning_rate: .nan\n", "huge.yaml": "batch: 99999999999999999999999\n",
        "grid_huge.yaml": "models: [lenet5]\ndevices: [k80]\nworkers: [1000000000000000000]\n",
        "grid_minus.yaml": "models: [lenet5]\ndevices: [k80]\nbatch: [-5]\n",
        "grid_none.yaml": "models: []\ndevices: [k80]\n", "grid_model.yaml": "models: [nope]\ndevices: [k80]\n",
        "grid_device.yaml": "models: [lenet5]\ndevices: [nope]\n", "grid_comm.yaml": "models: [lenet5]\ndevices: [k80]\ncomm: [nope]\n",
        "grid_many.yaml": "models: [lenet5]\ndevices: [k80]\nworkers: &w [" + ",".join(["1"] * 3000) + "]\nbatch: *w\n",
        "catalog.yaml": "devices:\n  bad:\n    memory_gb: -1\n", "plain.yaml": "models: [lenet5]\ndevices: [k80]\n",
        "measurements.csv": "a,b\n1\n", "quoted.csv": '"a,b\n', "none.csv": "",
        "two.txt": "cat\ndog\n", "labels.txt": "\x1b[2J\x1b]0;owned\x07\n" * 10,
        "lab_debug.yaml": lab(report='- text: "{{ input }}"'), "lab_loop.yaml": lab(settings='a: "=def f: f; f"'),
        "lab_deep.yaml": lab(settings='a: "=def f: 1 + f; f"'), "lab_indices.yaml": lab(settings="a: '=\"a\" | indices(\"\")'"),
        "lab_many.yaml": lab(run="models {n}", settings='l: "=[range(10000000)]"', each='{n: "{l}"}'),
        "lab_cells.yaml": lab(run="models {n} {m}", settings='l: "=[range(5000)]"', each='{n: "{l}", m: "{l}"}'),
        "lab_self.yaml": lab(run="lab run lab_self.yaml"), "lab_out.yaml": lab(name="../../../evil"),
        "lab_settings.yaml": lab(name="settings"), "lab_format.yaml": lab(report='- table: {rows: "[{a: 1}]", columns: [{key: a, format: fixed -}]}'),
        "lab_word.yaml": lab(run="models {nothing}"), "lab_quote.yaml": lab(run="models 'open"),
        "lab_block.yaml": lab(report='- nonsense: 1'), "lab_picture.yaml": lab(report='- picture: {file: /etc/passwd, caption: c}'),
        "lab_pipe.yaml": lab(report=f'- picture: {{file: "{root}/pipe", caption: c}}'), "lab_memory.yaml": lab(settings="a: '=[range(1e9)]'"),
        "lab_query.yaml": lab(settings="a: '=.a |'"), "...yaml": lab(), "lab_grow.yaml": lab(settings="a: '=reduce range(60) as $i (\"x\"; . + .)'"),
    }
    for name, text in files.items():
        (root / name).write_text(text)


def binary_files(root):
    shape = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
    files = {
        "relu.onnx": relu_onnx(), "empty.onnx": b"", "text.onnx": b"hello", "zeros.onnx": bytes(4096), "ones.onnx": b"\xff" * 4096,
        "code.pth": pth(b"cposix\nsystem\n(X\x0a\0\0\0touch ownedtR"), "bomb.pth": pth(bytes(1 << 28), zipfile.ZIP_DEFLATED),
        "script.pth": pth(b"}", **{"constants.pkl": b""}), "cut.pth": pth(b"}")[:60], "flipped.pth": pth(b"}").replace(b"}", b"]", 1),
        "itself.pth": pth(b"]q\1h\1a"), "legacy.pth": b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe9\x03.",
        "offsets.tflite": b"\xff\xff\xff\x7fTFL3" + bytes(64), "zeros.tflite": b"\0\0\0\0TFL3" + bytes(64),
        "ones.tflite": b"\x10\0\0\0TFL3" + b"\xff" * 64, "names.pth": pth(b"}(X\4\0\0\0\x1b[2JK\1u"),
        "empty.safetensors": b"", "short.safetensors": b"\x08\0\0\0", "text.safetensors": b"hello world, this is text",
        "length.safetensors": struct.pack("<Q", 1 << 62) + b"{}", "deep.safetensors": safetensors(b"[" * 100000),
        "offsets.safetensors": safetensors({"a": {**shape, "data_offsets": [0, 1 << 60]}}, bytes(8)),
        "overlap.safetensors": safetensors({"a": shape, "b": shape}, bytes(8)),
        "shape.safetensors": safetensors({"a": {**shape, "shape": [1 << 62, 1 << 62]}}, bytes(8)),
        "minus.safetensors": safetensors({"a": {**shape, "shape": [-2]}}, bytes(8)),
        "other.safetensors": safetensors({"nothing": shape}, bytes(8)),
        "escape.safetensors": safetensors({"\x1b[2J": shape}, bytes(8)),
        "empty.npy": b"", "magic.npy": b"\x93NUMPY", "text.npy": b"not an array at all",
        "object.npy": npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }"),
        "shape.npy": npy("{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 9), }"),
        "short.npy": npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 28, 28), }", bytes(16)),
        "header.npy": npy("{'descr': '<f4'"), "minus.npy": npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-4,), }"),
        "small.npy": npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", bytes(8)),
        "good.png": png(28, 28, data=bytes(28 * 85)), "empty.png": b"", "signature.png": b"\x89PNG\r\n\x1a\n", "bomb.png": png(1 << 30, 1 << 30), "zero.png": png(0, 0),
        "torn.png": png(28, 28, data=bytes(28 * 85))[:60], "missing.png": png(28, 28, data=bytes(10)), "text.png": b"hello",
        "empty.jpg": b"", "text.jpg": b"hello", "start.jpg": b"\xff\xd8\xff\xe0\x00\x10JFIF", "ones.jpg": b"\xff\xd8" + b"\xff" * 500,
    }
    for name, content in files.items():
        (root / name).write_bytes(content)


def operator_files(root):
    """Models whose attributes or shapes do not fit, or ask for more than anybody waits for."""
    huge = 1 << 62

    def tensor(name, *dims):
        return name, onnx.FLOAT, dims

    def one(name, op, shapes, rank, opset=17, initializers=(), **attributes):
        inputs = [tensor(f"x{i}", *dims) if dims is not None else None for i, dims in enumerate(shapes)] + [(known[0],) for known in initializers]
        body = onnx.graph([onnx.node(op, [given[0] if given else "" for given in inputs], ["y"], **attributes)],
                          [given for given in inputs[:len(shapes)] if given], [tensor("y", *("abcdef"[:rank]))],
                          [onnx.ints(*known) for known in initializers])
        (root / f"op_{name}.onnx").write_bytes(onnx.model(body, opset))

    one("depth", "DepthToSpace", [(1, 4, 2, 2)], 4, blocksize=huge)
    one("space", "SpaceToDepth", [(1, 4, 2, 2)], 4, blocksize=huge)
    one("split", "Split", [(5,)], 1, opset=18, axis=[0], num_outputs=1)
    one("lppool", "LpPool", [(1, 1, 8)], 3, kernel_shape=[1 << 31], pads=[1 << 30, 1 << 30])
    one("unpool", "MaxUnpool", [(1, 1, 2)], 3, initializers=[("i", [0, 1], [1, 1, 2])], kernel_shape=[huge], strides=[huge])
    one("attention", "Attention", [(64, 1, 1, 4), (64, 1, 1, 4), (1, 1, 1, 4)], 4, opset=23)
    one("scatter", "TensorScatter", [(2, 1, 4, 3), (1, 1, 1, 3)], 4, opset=24)
    one("reduce", "ReduceSum", [(1000, 3)], 0, initializers=[("axes", [1, 1])], keepdims=0)
    one("gather", "GatherND", [(8, 3)], 1, initializers=[("i", [0, 0], [2, 1])], batch_dims=1)
    one("resize", "Resize", [(1, 1, 0, 2), None, None], 4, initializers=[("sizes", [1, 1, 3, 3])])
    one("roi", "RoiAlign", [(1, 1, 4, 4), (1, 4)], 4, initializers=[("i", [0])], sampling_ratio=65535)
    one("transposed", "ConvTranspose", [(1, 1, 2), (1, 1, 2)], 3, output_shape=[-huge], strides=[2])
    one("col2im", "Col2Im", [(1, 4, 4)], 4, opset=18, initializers=[("image", [huge, huge]), ("block", [2, 2])])

    def rounds(depth):
        """The body of a loop: another loop of a hundred thousand rounds, down to depth 0."""
        at, inner = str(depth), str(depth - 1)
        work = onnx.node("Identity", ["v0"], ["o0"])
        if depth > 0:
            work = onnx.node("Loop", ["n", "", "v" + at], ["o" + at], body=rounds(depth - 1), name="loop" + inner)
        return onnx.graph([work, onnx.node("Identity", ["c" + at], ["d" + at])],
                          [("i" + at, onnx.INT64, ()), ("c" + at, onnx.BOOL, ()), tensor("v" + at)],
                          [("d" + at, onnx.BOOL, ()), tensor("o" + at)])

    body = onnx.graph([onnx.node("Loop", ["n", "", "x"], ["y"], body=rounds(2))], [tensor("x")], [tensor("y")],
                      [onnx.ints("n", [100000], [])])
    (root / "op_loops.onnx").write_bytes(onnx.model(body))

    def double(level):
        called = "Neg" if level == 0 else f"F{level - 1}"
        domain = "" if level == 0 else "local"
        return onnx.function(f"F{level}", ["x"], ["y"], [onnx.node(called, ["x"], ["t"], domain), onnx.node(called, ["t"], ["y"], domain)])

    body = onnx.graph([onnx.node("F17", ["x"], ["y"], "local")], [tensor("x", 1)], [tensor("y", 1)])
    (root / "op_functions.onnx").write_bytes(onnx.model(body, functions=[double(level) for level in range(18)]))


def data_folders(root):
    def folder(name, **files):
        (root / name).mkdir()
        for file, content in files.items():
            path = root / name / file.replace("__", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    names = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
    folder("idx_empty", **{name: b"" for name in names})
    folder("idx_magic", **{name: b"\1\2\3\4" * 8 for name in names})
    folder("idx_huge", **{name: struct.pack(">IIII", 0x803, 1 << 31, 1 << 30, 1 << 30) for name in names})
    folder("idx_short", **{name: struct.pack(">IIII", 0x803, 10, 28, 28) + bytes(7) for name in names})
    folder("cifar_short", **{f"data_batch_{i}.bin": bytes(3072) for i in range(1, 6)}, **{"test_batch.bin": bytes(1)})
    folder("cifar_label", **{f"data_batch_{i}.bin": b"\xff" + bytes(3072) for i in range(1, 6)}, **{"test_batch.bin": b"\xff" + bytes(3072)})
    folder("pictures_bad", train__a__x__png=b"no", train__b__y__png=b"no")
    folder("nothing")
    (root / "pictures_text" / "a").mkdir(parents=True)
    (root / "pictures_text" / "a" / "x.png").write_bytes(b"no")


def box_folders(root):
    """Pascal VOC and COCO with one thing wrong each."""
    def voc(name, xml, picture=png(28, 28, data=bytes(28 * 85))):
        for folder in ("Annotations", "JPEGImages"):
            (root / name / folder).mkdir(parents=True)
        for i in range(6):
            (root / name / "Annotations" / f"{i}.xml").write_text(xml)
            (root / name / "JPEGImages" / f"{i}.png").write_bytes(picture)

    def annotation(box="<xmin>1</xmin><ymin>1</ymin><xmax>9</xmax><ymax>9</ymax>", name="dog"):
        return f"<annotation><object><name>{name}</name><bndbox>{box}</bndbox></object></annotation>"

    entities = '<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa">' + "".join(
        f'<!ENTITY {b} "{("&" + a + ";") * 10}">' for a, b in zip("abcdefghi", "bcdefghij")) + "]>"
    voc("voc_good", annotation())
    voc("voc_bomb", entities + annotation("<xmin>&j;</xmin>"))
    voc("voc_deep", "<a>" * 200000)
    voc("voc_words", annotation("<xmin>one</xmin><ymin>1</ymin><xmax>9</xmax><ymax>9</ymax>"))
    voc("voc_huge", annotation("<xmin>1e300</xmin><ymin>1</ymin><xmax>9</xmax><ymax>9</ymax>"))
    voc("voc_torn", annotation()[:40])
    voc("voc_none", "<annotation/>")
    voc("voc_picture", annotation(), picture=png(28, 28, data=bytes(28 * 85))[:60])
    voc("voc_zero", annotation(), picture=png(0, 0))
    voc("voc_many", "<annotation>" + annotation()[12:-13] * 30000 + "</annotation>")
    boxes = {"images": [{"id": 1, "file_name": "0.png", "width": 28, "height": 28}], "categories": [{"id": 1, "name": "dog"}],
             "annotations": [{"image_id": 1, "category_id": 1, "bbox": [1, 1, 5, 5]}]}
    files = {"coco.json": boxes, "coco_ids.json": {**boxes, "annotations": [{"image_id": 9, "category_id": 1, "bbox": [1, 1, 5, 5]}]},
             "coco_box.json": {**boxes, "annotations": [{"image_id": 1, "category_id": 1, "bbox": ["a"]}]},
             "coco_path.json": {**boxes, "images": [{"id": 1, "file_name": "../../../../etc/passwd"}]}, "coco_list.json": [1],
             "results.json": [{"image_id": 1, "category_id": 1, "bbox": [1, 1, 5, 5], "score": 0.5}],
             "results_ids.json": [{"image_id": 5, "category_id": 1, "bbox": [1, 1, 5, 5], "score": 0.5}],
             "results_score.json": [{"image_id": 1, "category_id": 1, "bbox": [1, 1, 5, 5]}],
             "results_nan.json": "[{\"image_id\": 1, \"category_id\": 1, \"bbox\": [1, 1, 5, NaN], \"score\": 0.5}]"}
    for name, content in files.items():
        (root / name).write_text(content if isinstance(content, str) else json.dumps(content))
    for name, text in (("found_words", "dog half 1 2 3 4"), ("found_few", "dog 0.5 1 2"), ("found_class", "dgo 0.5 1 2 3 4")):
        (root / name).mkdir()
        (root / name / "0.txt").write_text(text + "\n")
    (root / "boxes.csv").write_text("filename,class,xmin,ymin,xmax,ymax\n0.png,dog,1,x,3,4\n")


def workload_files(root):
    """Clusters and jobs with one thing wrong each."""
    def workload(cluster="{nodes: 2, gpu: 2}", job="{id: a, arrival_s: 0, gpus: 1, duration_s: 60}", more=""):
        return f"cluster: {cluster}\njobs:\n  - {job}\n{more}"

    def gang(**fields):
        return "{" + ", ".join(f"{k}: {v}" for k, v in {"id": "a", "arrival_s": 0, "gpus": 1, "duration_s": 60, **fields}.items()) + "}"

    def elastic(theta, workers=4):
        return f"{{id: a, form: sync, theta: {theta}, batch: 128, steps: 9000, worker: {{gpu: 1}}, workers: {workers}}}"

    def live(id="a", train="--model mlp --data synthetic:1x28x28,size=64 --epochs 1", **fields):
        return "jobs:\n  - {" + ", ".join(f"{k}: {v}" for k, v in {"id": id, "train": json.dumps(train), **fields}.items()) + "}\n"

    files = {
        "w_nodes_0.yaml": workload("{nodes: 0, gpu: 2}"), "w_nodes_minus.yaml": workload("{nodes: -3, gpu: 2}"),
        "w_nodes_huge.yaml": workload("{nodes: 99999999999, gpu: 2}"), "w_nodes_none.yaml": workload("[]"),
        "w_gpu_minus.yaml": workload("{nodes: 2, gpu: -2}"), "w_gpu_nan.yaml": workload("{nodes: 2, gpu: .nan}"),
        "w_gpu_inf.yaml": workload("{nodes: 2, gpu: .inf}"), "w_cluster.yaml": workload("{nodes: 2, gpu: 2, color: red}"),
        "w_interval.yaml": workload(more="interval_s: 1e-300\n"), "w_interval_nan.yaml": workload(more="interval_s: .nan\n"),
        "w_interval_long.yaml": workload(more="interval_s: 1e300\n"), "w_restart_long.yaml": workload(more="restart_s: 1e300\n"),
        "w_restart.yaml": workload(more="restart_s: -1\n"), "w_failure.yaml": workload(more="failures: [{node: 9, at_s: 1, until_s: 2}]\n"),
        "w_failure_back.yaml": workload(more="failures: [{node: 0, at_s: 5, until_s: 2}]\n"),
        "w_arrival.yaml": workload(job=gang(arrival_s=-1)), "w_arrival_nan.yaml": workload(job=gang(arrival_s=".nan")),
        "w_arrival_inf.yaml": workload(job=gang(arrival_s=".inf")), "w_gpus.yaml": workload(job=gang(gpus=99)),
        "w_gpus_minus.yaml": workload(job=gang(gpus=-1)), "w_gpus_huge.yaml": workload(job=gang(gpus=99999999999)),
        "w_duration.yaml": workload(job=gang(duration_s=-1)), "w_duration_nan.yaml": workload(job=gang(duration_s=".nan")),
        "w_duration_inf.yaml": workload(job=gang(duration_s=".inf")), "w_twice.yaml": workload(more="  - " + gang() + "\n"),
        "w_jobs_none.yaml": "cluster: {nodes: 2, gpu: 2}\njobs: []\n", "w_theta.yaml": workload(job=elastic("[1]")),
        "w_theta_minus.yaml": workload(job=elastic("[-1, 0, 0, 0, 0]")), "w_theta_nan.yaml": workload(job=elastic("[.nan, 0, 0, 0, 0]")),
        "w_workers.yaml": workload(job=elastic("[0, 1, 0, 0, 0]", "1e300")), "w_both.yaml": workload(job=gang(theta="[1]")),
        "w_words.csv": "num_gpu,submit_time,duration\none,two,three\n", "w_minus.csv": "num_gpu,submit_time,duration\n1,0,-5\n",
        "w_nan.csv": "num_gpu,submit_time,duration\n1,nan,5\n", "w_gpu.csv": "num_gpu,submit_time,duration\n99999999999,0,5\n",
        "l_id.yaml": live(id="../../evil"), "l_id_none.yaml": live(id='""'), "l_id_escape.yaml": live(id='"\\e[2J"'), "l_none.yaml": "jobs: []\n", "l_good.yaml": live(),
        "l_epochs.yaml": live(train="--epochs 0"), "l_epochs_word.yaml": live(train="--epochs x"), "l_epochs_none.yaml": live(train="--model mlp"), "l_quote.yaml": live(train="--model 'mlp"), "l_workers.yaml": live(most_workers=0),
        "l_arrival.yaml": live(arrival_s=-1), "l_interval.yaml": "interval_s: 0\n" + live(), "l_twice.yaml": live() + live()[6:],
        "l_runs.yaml": live(train="--model mlp --data synthetic:1x28x28,size=64 --epochs 1 --runs-dir /tmp --name evil"),
    }
    for name, text in files.items():
        (root / name).write_text(text)


def job_files(root):
    """Jobs for platforms with one thing wrong each, and files of platforms that are none."""
    def job(**fields):
        good = {"name": "a", "image": "i", "command": "trainyard version", "machine": {"cpus": 1}, "nodes": 1}
        return json.dumps({**good, **fields})

    files = {
        "j_good.yaml": job(), "j_name.yaml": job(name="\x1b[2J"), "j_name_none.yaml": job(name=""), "j_path.yaml": job(name="../../evil"),
        "j_nodes.yaml": job(nodes=0), "j_nodes_huge.yaml": job(nodes=99999999999), "j_command.yaml": job(command=""), "j_quote.yaml": job(command="a 'b"),
        "j_place.yaml": job(command="a {inputs.nowhere}"), "j_limit.yaml": job(time_limit="-2h"), "j_limit_huge.yaml": job(time_limit="99999999999999d"),
        "j_environment.yaml": job(environment={"A B;rm -rf": "1"}), "j_input.yaml": job(inputs={"a": {"uri": "nowhere", "mode": "throw"}}),
        "j_machine.yaml": job(machine={"accelerator": "abacus"}), "j_count.yaml": job(machine={"accelerator": "v100", "count": -1}),
        "j_retries.yaml": job(retries=-1), "j_field.yaml": job(color="red"), "j_launcher.yaml": job(launcher="rocket"),
        "j_list.json": "[1, 2]", "j_deep.json": "[" * 100000, "j_slurm.sh": "#!/bin/bash\n#SBATCH --nodes=many\nsrun x\n",
        "j_slurm_escape.sh": "#!/bin/bash\n#SBATCH --job-name=\x1b[2J --nonsense\n", "j_k8s.yaml": "apiVersion: v1\nkind: Pod\n",
    }
    for name, text in files.items():
        (root / name).write_text(text)


def tokenizer_files(root):
    """Tokenizers with one thing wrong each, and files that are no text."""
    def tokenizer(model=None, **parts):
        base = {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}
        return json.dumps({"pre_tokenizer": {"type": "ByteLevel"}, "model": {**base, **(model or {})}, **parts})

    def regex(pattern):
        return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated"}

    files = {
        "t_good.json": tokenizer(), "t_twice.json": tokenizer({"vocab": {"a": 0, "b": 0}}), "t_huge.json": tokenizer({"vocab": {"a": 10**18}}),
        "t_minus.json": tokenizer({"vocab": {"a": -1}}), "t_float.json": tokenizer({"vocab": {"a": 1e300}}), "t_empty_merge.json": tokenizer({"merges": [["", "a"]]}),
        "t_merge.json": tokenizer({"merges": ["a \x1b[2J"]}), "t_merges.json": tokenizer({"merges": [["a", "b"]] * 100000}), "t_model.json": tokenizer({"type": "Unigram"}),
        "t_regex.json": tokenizer(pre_tokenizer=regex("(a+)+$")), "t_long.json": tokenizer(pre_tokenizer=regex("\x1b[2J" + "(a*)*" * 100000)),
        "t_steps.json": tokenizer(pre_tokenizer={"type": "Sequence", "pretokenizers": [{"type": "Whitespace"}] * 100000}),
        "t_deep.json": '{"model":{},"normalizer":' + '{"type":"Sequence","normalizers":[' * 50000, "t_added.json": tokenizer(added_tokens=[{"id": 7, "content": "a" * 10**6}]),
        "t_many.json": tokenizer(added_tokens=[{"id": 9, "content": ""}]), "t_frame.json": tokenizer(post_processor={"type": "BertProcessing", "cls": ["a", 10**18], "sep": ["b", 1]}),
        "t_list.json": "[1]", "t_open.json": "{", "t_empty.json": "", "t_ranks.tiktoken": "YQ== 0\nYQ== 99999999999999999999\n", "t_word.tiktoken": "!!!! 3\n",
        "t_lines.jsonl": '{"text": "a"}\n{"text": 7}\n', "t_empty.txt": "", "t_short.txt": "ab",
    }
    for name, text in files.items():
        (root / name).write_text(text)
    (root / "t_zeros.txt").write_bytes(bytes(4096))
    (root / "t_latin.txt").write_bytes(b"caf\xe9")
    (root / "t_bomb.txt.gz").write_bytes(zlib.compress(bytes(1 << 20), wbits=31)[:500])


def make(root):
    root = pathlib.Path(root)
    box_folders(root)
    workload_files(root)
    job_files(root)
    tokenizer_files(root)
    text_files(root)
    binary_files(root)
    operator_files(root)
    data_folders(root)
    os.mkfifo(root / "pipe")
    for ending in ("onnx", "npy", "yaml", "safetensors", "png", "csv"):
        os.mkfifo(root / f"pipe.{ending}")
        (root / f"device.{ending}").symlink_to("/dev/zero")
        (root / f"folder.{ending}").mkdir()
    run_folder(root, "run_pipe", metrics="pipe")
    run_folder(root, "run_device", metrics="device")
    run_folder(root, "run_config_pipe", config="pipe")
    run_folder(root, "run_config_device", config="device")
    run_folder(root, "run_config_bomb", config=alias_bomb())
    run_folder(root, "run_config_empty", config="")
    run_folder(root, "run_config_list", config="[1]\n")
    run_folder(root, "run_config_other", config="color: red\n")
    run_folder(root, "run_no_metrics", metrics=None)
    run_folder(root, "run_no_steps", metrics="")
    run_folder(root, "run_bad_json", metrics="{\n")
    run_folder(root, "run_no_step", metrics='{"loss":1}\n')
    run_folder(root, "run_deep", metrics="[" * 100000 + "\n")
    synthetic = "model: lenet5\ndata: synthetic:1x28x28,classes=4,size=64\nbatch: 16\n"
    os.mkfifo(run_folder(root, "run_checkpoint_pipe", config=synthetic) / "checkpoints" / "latest.safetensors")
