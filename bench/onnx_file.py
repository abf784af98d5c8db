"""Writes small ONNX files, without the onnx package: just enough of the protobuf format."""
import random
import struct

FLOAT, INT64 = 1, 7


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while True:
        byte = value & 0x7F
        value >>= 7
        out.append(byte | (0x80 if value else 0))
        if not value:
            return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def content(field, data):
    data = data.encode() if isinstance(data, str) else data
    return varint(field << 3 | 2) + varint(len(data)) + data


def attribute(name, value):
    out = content(1, name)
    if isinstance(value, int):
        return out + number(3, value) + number(20, 2)
    if isinstance(value, float):
        return out + varint(2 << 3 | 5) + struct.pack("<f", value) + number(20, 1)
    if isinstance(value, str):
        return out + content(4, value) + number(20, 3)
    return out + b"".join(number(8, item) for item in value) + number(20, 7)


def tensor(name, shape, seed, scale=0.1):
    generator = random.Random(seed)
    count = 1
    for dim in shape:
        count *= dim
    # Drawn once for a block and repeated: the numbers matter little, the time to draw them does.
    block = [generator.uniform(-scale, scale) for _ in range(min(count, 4096))]
    data = (struct.pack(f"<{len(block)}f", *block) * (count // len(block) + 1))[:4 * count]
    return (b"".join(number(1, dim) for dim in shape) + number(2, FLOAT) + content(8, name) +
            content(9, data))


def value_info(name, shape, kind=FLOAT):
    dims = b"".join(content(1, number(1, dim)) for dim in shape)
    return content(1, name) + content(2, content(1, number(1, kind) + content(2, dims)))


def node(op, name, inputs, outputs, attributes=None):
    out = b"".join(content(1, given) for given in inputs) + b"".join(content(2, made) for made in outputs)
    out += content(3, name) + content(4, op)
    return content(1, out + b"".join(content(5, attribute(k, v)) for k, v in (attributes or {}).items()))


def write_graph(path, graph, opset):
    """`graph`: all fields of one but its name."""
    model = number(1, 8 if opset < 21 else 10) + content(7, graph + content(2, "graph"))
    model += content(8, content(1, "") + number(2, opset))
    path.write_bytes(model)


def write_node(path, op, inputs, outputs, attributes=None, opset=17):
    """`inputs`: (name, shape, 'input' or 'weight'), None for an absent one; `outputs`: name, shape."""
    graph = node(op, op, [given[0] if given else "" for given in inputs], [name for name, _ in outputs],
                 attributes)
    for index, given in enumerate(inputs):
        if given and given[2] == "weight":
            graph += content(5, tensor(given[0], given[1], index))
        elif given:
            graph += content(11, value_info(given[0], given[1]))
    graph += b"".join(content(12, value_info(name, shape)) for name, shape in outputs)
    write_graph(path, graph, opset)


def write_chain(path, layers, rows, width):
    """`layers` times a product with one matrix for all of them, and Relu: two nodes each."""
    graph = content(5, tensor("w", (width, width), 1)) + content(11, value_info("x0", (rows, width)))
    for i in range(layers):
        graph += node("MatMul", f"product{i}", [f"x{i}", "w"], [f"y{i}"])
        graph += node("Relu", f"relu{i}", [f"y{i}"], [f"x{i + 1}"])
    write_graph(path, graph + content(12, value_info(f"x{layers}", (rows, width))), 17)
