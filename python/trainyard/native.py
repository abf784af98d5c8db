"""The engine itself: networks on NumPy arrays, layer by layer, and a training step to drive by hand."""
import base64
import html
import math
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

import numpy as np

try:
    from . import _engine
except ImportError as missing:
    raise ImportError(f"the engine's module was not built ({missing}): install the package with pip, not from the source folder") from None

from .errors import RequestError
from .show import MOST_BYTES


class Tensor:
    """Memory of the engine: np.asarray() and DLPack see it without a copy."""

    def __init__(self, shared: Any) -> None:
        self._array: Any = np.asarray(shared)

    def __array__(self, dtype: Any = None) -> "np.ndarray[Any, Any]":
        array: "np.ndarray[Any, Any]" = self._array if dtype is None else self._array.astype(dtype)
        return array

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> Tuple[int, int]:
        device: Tuple[int, int] = self._array.__dlpack_device__()
        return device

    @property
    def shape(self) -> Tuple[int, ...]:
        return tuple(self._array.shape)

    @property
    def dtype(self) -> Any:
        return self._array.dtype

    def numpy(self) -> "np.ndarray[Any, Any]":
        return self.__array__()

    def __repr__(self) -> str:
        return f"Tensor({self.dtype}, {list(self.shape)})"


class Session:
    """A network to run: a name of the zoo, an .onnx file or a run directory. `run` is onnxruntime's.

    A file that leaves dimensions open besides the batch needs shapes to begin with, as
    `shapes={"x": (1, 3, 224, 224)}`; `run` takes arrays of others afterwards.
    """

    def __init__(self, model: Any, weights: str = "", batch: Optional[int] = None, threads: int = 0,
                 shapes: Optional[Mapping[str, Sequence[int]]] = None) -> None:
        given = {name: [int(size) for size in shape] for name, shape in (shapes or {}).items()}
        self._session = _engine.Session(str(model), weights, batch, threads, given)

    def get_inputs(self) -> List[Any]:
        return list(self._session.get_inputs())

    def get_outputs(self) -> List[Any]:
        return list(self._session.get_outputs())

    def run(self, output_names: Optional[Sequence[str]], input_feed: Dict[str, Any]) -> List["np.ndarray[Any, Any]"]:
        """Arrays of the outputs named, or of all for None. Throws RequestError naming the input that does not fit."""
        return self._session.run(output_names, input_feed)

    @property
    def engine_seconds(self) -> float:
        """Of the last run: the network alone, without arrays going in and out."""
        return self._session.engine_seconds


class Graph:
    """What a network is made of: `nodes` with shapes and costs; shows itself with the costly layers in color."""

    def __init__(self, model: Any, batch: Optional[int] = None) -> None:
        self.model = str(model)
        self.nodes: List[Dict[str, Any]] = list(_engine.layers(self.model, batch))
        self.edges: List[Tuple[str, str]] = list(_engine.edges(self.model, batch))

    @property
    def parameters(self) -> int:
        return sum(node["parameters"] for node in self.nodes)

    @property
    def macs(self) -> int:
        return sum(node["macs"] for node in self.nodes)

    def __repr__(self) -> str:
        return f"Graph({self.model}: {len(self.nodes)} nodes, {self.parameters:,} parameters, {self.macs:,} MACs)"

    def svg(self, cost: str = "macs", most: Optional[int] = None) -> str:
        """A box per node from top to bottom, the darker the larger its share of the cost ("macs", "flops", "bytes", "parameters").

        `most`: at most so many nodes, the costliest, in the order in which they run.
        """
        if self.nodes and cost not in self.nodes[0]:
            raise RequestError(f"there is no cost '{cost}'; there are macs, flops, bytes, parameters")
        row, width = 24, 620
        chosen = sorted(range(len(self.nodes)), key=lambda i: -float(self.nodes[i][cost]))[:most]
        nodes = [self.nodes[i] for i in sorted(chosen)]
        place = {node["name"]: i for i, node in enumerate(nodes)}
        highest = max((node[cost] for node in self.nodes), default=0) or 1
        total = sum(node[cost] for node in self.nodes) or 1
        parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {row * len(nodes) + 12}" width="{width}" '
                 f'font-family="sans-serif" font-size="11" role="img" aria-label="{html.escape(self.model)} by {cost}">',
                 '<rect width="100%" height="100%" fill="#fff"/>']
        for i, node in enumerate(nodes):
            y = 6 + row * i
            share = node[cost] / total
            label = f"{node['name']}  {node['op']}  {'x'.join(str(d) for d in node['shape'])}"
            parts.append(f'<rect x="10" y="{y}" width="470" height="{row - 5}" rx="3" fill="#e0752d" '
                         f'fill-opacity="{0.06 + 0.84 * node[cost] / highest:.3f}" stroke="#c9ced6"/>'
                         f'<text x="18" y="{y + 13}" fill="#22262c">{html.escape(label[:76])}</text>'
                         f'<text x="472" y="{y + 13}" text-anchor="end" fill="#22262c">{100 * share:.1f} %</text>')
        # Ways around other nodes (residuals, branches) as arcs at the side.
        for source, target in self.edges:
            if source in place and target in place and place[target] - place[source] > 1:
                y0, y1 = 6 + row * place[source] + 10, 6 + row * place[target] + 10
                bend = 486 + min(120, 8 * math.sqrt(place[target] - place[source]) * 3)
                parts.append(f'<path d="M480 {y0}C{bend:.0f} {y0} {bend:.0f} {y1} 480 {y1}" fill="none" stroke="#8a8f98"/>')
        return "\n".join(parts) + "\n</svg>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Dict[str, str]:
        picture, note = self.svg(), ""
        if 3 * len(picture.encode()) > MOST_BYTES:
            # Of a network of many nodes, those that a cell has room for.
            most = len(self.nodes) * MOST_BYTES // (4 * len(picture))
            picture, note = self.svg(most=most), f"\nThe {most} costliest nodes; svg() draws all."
        # As an image too: converters and hosts of notebooks take inline <svg> apart.
        image = base64.b64encode(picture.encode()).decode()
        return {"text/plain": repr(self) + note, "text/html": f'<img alt="{html.escape(repr(self))}" src="data:image/svg+xml;base64,{image}">',
                "image/svg+xml": picture}


class TrainingStep:
    """Forward, loss, backward and update of a network, compiled once; batches are NumPy arrays."""

    def __init__(self, model: Any, weights: str = "", batch: Optional[int] = None, objective: str = "cross-entropy",
                 optimizer: str = "sgd", momentum: float = 0.9, weight_decay: float = 0.0, threads: int = 0, seed: int = 1) -> None:
        self._step = _engine.TrainingStep(str(model), weights, batch, objective, optimizer, momentum, weight_decay, threads, seed)

    @property
    def inputs(self) -> List[str]:
        return list(self._step.input_names())

    def run(self, learning_rate: float, **inputs: Any) -> float:
        """One step; keyword arguments fill inputs (others keep what they had). Returns the loss."""
        for name, value in inputs.items():
            self._step.set_input(name, value)
        self._step.run(learning_rate)
        return float(self._step.loss)

    def metric(self, name: str) -> float:
        return float(self._step.metric(name))

    @property
    def metrics(self) -> Dict[str, float]:
        return {name: self.metric(name) for name in self._step.metric_names()}

    def state(self, name: str) -> Tensor:
        """A parameter or statistic by its name: a copy of its present numbers."""
        names = self._step.state_names()
        if name not in names:
            raise RequestError(f"there is no state '{name}'")
        return Tensor(self._step.state(names.index(name)))

    @property
    def states(self) -> List[str]:
        return list(self._step.state_names())
