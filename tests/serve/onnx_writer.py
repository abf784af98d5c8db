"""Small ONNX files for tests of the server, written field by field: Python's onnx is not needed."""

FLOAT, INT32, INT64, TEXT, BOOL = 1, 6, 7, 8, 9


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


def number(field, value):
    return varint(field << 3) + varint(value)


def message(field, *parts):
    content = b"".join(part.encode() if isinstance(part, str) else part for part in parts)
    return varint(field << 3 | 2) + varint(len(content)) + content


def value_info(field, name, dtype, dims):
    """Dimensions are numbers, names, or None for one that is open; no dims at all: not even the rank is known."""
    sizes = b""
    for size in dims or []:
        sizes += message(1, b"" if size is None else message(2, size) if isinstance(size, str) else number(1, size))
    shape = b"" if dims is None else message(2, sizes)
    return message(field, message(1, name), message(2, message(1, number(1, dtype), shape)))


def node(op, inputs, outputs, **attributes):
    parts = [message(1, name) for name in inputs] + [message(2, name) for name in outputs] + [message(4, op)]
    for name, value in attributes.items():
        if isinstance(value, int):
            content = number(3, value) + number(20, 2)
        else:
            content = b"".join(number(8, item) for item in value) + number(20, 7)
        parts.append(message(5, message(1, name), content))
    return message(1, *parts)


def int64_tensor(name, values):
    return message(5, number(1, len(values)), number(2, INT64), message(7, *map(varint, values)), message(8, name))


def write_model(path, inputs, outputs, nodes, initializers=()):
    """inputs and outputs: (name, dtype, dims)."""
    graph = b"".join(nodes) + message(2, "net") + b"".join(initializers)
    graph += b"".join(value_info(11, *given) for given in inputs) + b"".join(value_info(12, *given) for given in outputs)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(number(1, 8) + message(7, graph) + message(8, number(2, 17)))


def write_identity(path, dtype, dims, names=("INPUT0",), outputs=("OUTPUT0",)):
    write_model(path, [(name, dtype, dims) for name in names], [(name, dtype, dims) for name in outputs],
                [node("Identity", [given], [made]) for given, made in zip(names, outputs)])
