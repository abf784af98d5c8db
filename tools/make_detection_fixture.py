#!/usr/bin/env python3
"""Figures that pytorch-ssd's code gives, for tests/detect/peer_test.cpp.

    tools/make_detection_fixture.py PYTORCH_SSD_CHECKOUT > tests/detect/peer.json

Needs Debian's python3-torch. Inputs are formulas that the test repeats; only figures are kept.
"""
import json
import math
import sys

import numpy as np
import torch

sys.path.insert(0, sys.argv[1])
from vision.nn.multibox_loss import MultiboxLoss  # noqa: E402
from vision.utils import box_utils, measurements  # noqa: E402

CLASSES = 4
SPECS = [(19, 16, 60, 105), (10, 32, 105, 150), (5, 64, 150, 195), (3, 100, 195, 240), (2, 150, 240, 285), (1, 300, 285, 330)]
# Corners and label of the objects of three pictures.
OBJECTS = [
    [(0.1, 0.1, 0.4, 0.5, 1), (0.12, 0.1, 0.42, 0.52, 2), (0.6, 0.55, 0.98, 0.9, 3), (0.05, 0.74, 0.2, 0.93, 1)],
    [(0.05, 0.02, 0.95, 0.99, 2)],
    [],
]


def waves(shape, pace, phase, size):
    flat = [size * math.sin(pace * i + phase) for i in range(math.prod(shape))]
    return torch.tensor(flat, dtype=torch.float32).reshape(shape)


def digits(values):
    return [float(f"{v:.9g}") for v in np.asarray(values, dtype=np.float64).reshape(-1)]


def main():
    specs = [box_utils.SSDSpec(f, s, box_utils.SSDBoxSizes(a, b), [2, 3]) for f, s, a, b in SPECS]
    priors = box_utils.generate_ssd_priors(specs, 300)
    corners = box_utils.center_form_to_corner_form(priors)
    labels, offsets = [], []
    for objects in OBJECTS:
        if not objects:
            labels.append(torch.zeros(len(priors), dtype=torch.long))
            offsets.append(torch.zeros(len(priors), 4))
            continue
        boxes = torch.tensor([o[:4] for o in objects])
        names = torch.tensor([o[4] for o in objects])
        matched, label = box_utils.assign_priors(boxes, names, corners, 0.5)
        labels.append(label)
        offsets.append(box_utils.convert_boxes_to_locations(
            box_utils.corner_form_to_center_form(matched), priors, 0.1, 0.2))
    labels, offsets = torch.stack(labels), torch.stack(offsets)
    locations = waves((3, 3000, 4), 0.7, 0.0, 1.5)
    scores = waves((3, 3000, CLASSES), 1.1, 1.0, 2.0)
    locations.requires_grad_()
    scores.requires_grad_()
    loss = MultiboxLoss(priors, 0.5, 3, 0.1, 0.2, "cpu")
    place, kind = loss(scores, locations, labels, offsets)
    (place + kind).backward()
    background = -torch.log_softmax(scores.detach(), 2)[:, :, 0]
    mask = box_utils.hard_negative_mining(background.clone(), labels, 3)
    positive = labels > 0
    decoded = box_utils.center_form_to_corner_form(
        box_utils.convert_locations_to_boxes(locations.detach(), priors, 0.1, 0.2))
    candidates = torch.cat([decoded[0], torch.softmax(scores.detach()[0], 1)[:, 1:2]], 1)
    candidates = candidates[candidates[:, 4] > 0.3]
    kept = box_utils.hard_nms(candidates, 0.45)
    hits = np.array([1, 1, 0, 1, 0, 0, 1, 0, 1, 0], dtype=np.float64)
    recall = np.cumsum(hits) / 6
    precision = np.cumsum(hits) / np.arange(1, 11)
    figures = {
        "prior_sums": digits(priors.double().sum(0)),
        "priors": {str(i): digits(priors[i]) for i in (0, 1, 2, 4, 6, 2165, 2166, 2765, 2994, 2999)},
        "positives": [[[int(p), int(labels[i][p])] + digits(offsets[i][p]) for p in positive[i].nonzero()] for i in range(3)],
        "counted": [int(mask[i].sum()) for i in range(3)],
        "counted_places": [int(mask[i].nonzero().sum()) for i in range(3)],
        "location_loss": float(f"{place.item():.8g}"),
        "class_loss": float(f"{kind.item():.8g}"),
        "location_gradient": digits([locations.grad.double().sum(), locations.grad.double().abs().sum()]),
        "score_gradient": digits([scores.grad.double().abs().sum(), scores.grad[0, :, 0].double().sum()]),
        "decoded": {str(i): digits(decoded[1][i]) for i in (0, 7, 1500, 2999)},
        "suppressed": {"candidates": len(candidates), "kept": len(kept), "scores": digits(kept[:5, 4]), "first": digits(kept[0, :4])},
        "eleven_point": float(measurements.compute_voc2007_average_precision(precision, recall)),
        "every_point": float(measurements.compute_average_precision(precision, recall)),
    }
    lines = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in figures.items()]
    print("{\n" + ",\n".join(lines) + "\n}")


if __name__ == "__main__":
    main()
