"""The engine on NumPy arrays."""
import logging
import threading

import numpy as np
import pytest

import trainyard as ty

pytest.importorskip("trainyard._engine")


@pytest.fixture(scope="module")
def session():
    return ty.Session("lenet5", threads=1)


def image(batch=1):
    return np.random.default_rng(1).random((batch, 1, 28, 28), dtype=np.float32)


def name_of(session):
    return session.get_inputs()[0].name


def test_runs_and_knows_its_ports(session):
    port = session.get_inputs()[0]
    assert port.type == "float32" and list(port.shape) == [1, 1, 28, 28]
    (scores,) = session.run(None, {port.name: image()})
    assert scores.shape == (1, 10) and np.isfinite(scores).all()
    (again,) = session.run([session.get_outputs()[0].name], {port.name: image()})
    assert (scores == again).all()


def field(number, content):
    """A field of protobuf's wire format: bytes, or a small number."""
    if isinstance(content, int):
        return bytes([number << 3, content])
    assert len(content) < 128
    return bytes([number << 3 | 2, len(content)]) + content


def relu_of_any_size(path):
    """An ONNX file: y = Relu(x) of f32[n,3,h,w]."""
    dims = b"".join(field(1, field(2, name)) for name in (b"n",)) + field(1, field(1, 3)) + b"".join(field(1, field(2, name)) for name in (b"h", b"w"))
    kind = field(2, field(1, field(1, 1) + field(2, dims)))
    node = field(1, b"x") + field(2, b"y") + field(4, b"Relu")
    graph = field(1, node) + field(2, b"g") + field(11, field(1, b"x") + kind) + field(12, field(1, b"y") + kind)
    path.write_bytes(field(1, 8) + field(8, field(2, 17)) + field(7, graph))
    return path


def test_open_sizes_need_shapes_to_begin_with(tmp_path):
    file = relu_of_any_size(tmp_path / "relu.onnx")
    with pytest.raises(ty.RequestError, match="give shape x=n,3,h,w") as caught:
        ty.Session(file)
    assert "--" not in str(caught.value)
    session = ty.Session(file, shapes={"x": (1, 3, 4, 5)})
    assert list(session.get_inputs()[0].shape) == [1, 3, 4, 5]
    array = np.full((2, 3, 8, 6), -1, dtype=np.float32)
    (result,) = session.run(None, {"x": array})
    assert result.shape == array.shape and (result == 0).all()


def test_another_batch_is_another_plan(session):
    (scores,) = session.run(None, {name_of(session): image(3)})
    assert scores.shape == (3, 10)


def test_wrong_arrays_name_the_input(session):
    name = name_of(session)
    for feed in ({}, {name: image().astype(np.float64)}, {name: image(), "other": image()}, {name: np.zeros((1, 3, 28, 28), np.float32)}):
        with pytest.raises(ty.RequestError):
            session.run(None, feed)
    with pytest.raises(ty.RequestError, match=f"'{name}' is of float64"):
        session.run(None, {name: image().astype(np.float64)})
    with pytest.raises(ty.RequestError, match="no output 'nothing'"):
        session.run(["nothing"], {name: image()})


def test_arrays_that_are_not_contiguous_are_copied(session, caplog):
    wide = np.zeros((1, 1, 28, 56), np.float32)
    wide[..., ::2] = image()
    with caplog.at_level(logging.DEBUG, logger="trainyard"):
        (scores,) = session.run(None, {name_of(session): wide[..., ::2]})
    assert np.allclose(scores, session.run(None, {name_of(session): image()})[0])


def test_threads_take_turns(session):
    expected = session.run(None, {name_of(session): image()})[0]
    wrong = []

    def work():
        for _ in range(20):
            if not (session.run(None, {name_of(session): image()})[0] == expected).all():
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_training_step_learns():
    step = ty.TrainingStep("lenet5", batch=16, threads=1)
    rng = np.random.default_rng(2)
    images = rng.random((16, 1, 28, 28), dtype=np.float32)
    labels = np.arange(16, dtype=np.int64) % 10
    network_input = step.inputs[0]
    losses = [step.run(0.05, **{network_input: images, "labels": labels}) for _ in range(30)]
    assert losses[-1] < 0.5 * losses[0]
    assert 0 <= step.metric("correct") <= 16
    with pytest.raises(ty.RequestError):
        step.run(0.1, nothing=images)


def test_states_share_memory():
    step = ty.TrainingStep("lenet5", batch=4, threads=1)
    tensor = step.state(step.states[0])
    array = np.asarray(tensor)
    assert np.shares_memory(array, tensor.numpy())
    assert np.shares_memory(np.from_dlpack(tensor), array)


def test_graph_has_costs_and_a_picture():
    graph = ty.Graph("lenet5")
    assert graph.parameters == 61706
    assert "<svg" in graph.svg() and graph.svg("bytes") != graph.svg("macs")
    with pytest.raises(ty.RequestError, match="macs, flops"):
        graph.svg("money")


def test_graph_of_many_nodes_fits_into_a_cell():
    graph = ty.Graph("densenet121")
    assert sum(len(part.encode()) for part in graph._repr_mimebundle_().values()) < 300_000
    assert len(graph.svg(most=3).split("<rect")) == 3 + 2
    graph.nodes = graph.nodes * 4
    shown = graph._repr_mimebundle_()
    assert sum(len(part.encode()) for part in shown.values()) < 300_000 and "costliest" in shown["text/plain"]
    assert 'src="data:image/svg+xml;base64,' in shown["text/html"]


def test_the_engine_says_its_part_of_a_run(session):
    session.run(None, {name_of(session): image()})
    assert 0 < session.engine_seconds < 1
