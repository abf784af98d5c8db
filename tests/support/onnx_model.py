"""Writes small ONNX files without the onnx package: fields of protocol buffers, nodes, and models of one operator."""
import struct

FLOAT, INT64, BOOL = 1, 7, 9


def varint(number):
    number &= (1 << 64) - 1
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number, content):
    """A field: a whole number, a float, or bytes, or text."""
    if isinstance(content, float):
        return varint(number << 3 | 5) + struct.pack("<f", content)
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    content = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(content)) + content


def attribute(name, value):
    head = field(1, name)
    if isinstance(value, float):
        return head + field(2, value) + field(20, 1)
    if isinstance(value, int):
        return head + field(3, value) + field(20, 2)
    if isinstance(value, str):
        return head + field(4, value) + field(20, 3)
    if isinstance(value, bytes):  # a graph
        return head + field(6, value) + field(20, 5)
    return head + b"".join(field(8, number) for number in value) + field(20, 7)


def node(op, inputs, outputs, domain="", name="", **attributes):
    return (b"".join(field(1, text) for text in inputs) + b"".join(field(2, text) for text in outputs) + field(3, name or op.lower()) +
            field(4, op) + b"".join(field(5, attribute(*given)) for given in attributes.items()) + field(7, domain))


def value(name, kind, dims):
    """A value's name and type; a dimension is a number, or a text that names an open one."""
    shape = b"".join(field(1, field(2 if isinstance(size, str) else 1, size)) for size in dims)
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, shape)))


def ints(name, numbers, dims=None):
    """An initializer of whole numbers."""
    dims = [len(numbers)] if dims is None else dims
    return b"".join(field(1, size) for size in dims) + field(2, INT64) + field(8, name) + field(9, struct.pack(f"<{len(numbers)}q", *numbers))


def graph(nodes, inputs=(), outputs=(), initializers=()):
    return (b"".join(field(1, one) for one in nodes) + field(2, "g") + b"".join(field(5, one) for one in initializers) +
            b"".join(field(11, value(*one)) for one in inputs) + b"".join(field(12, value(*one)) for one in outputs))


def function(name, inputs, outputs, nodes, domain="local", opset=17):
    return (field(1, name) + b"".join(field(4, text) for text in inputs) + b"".join(field(5, text) for text in outputs) +
            b"".join(field(7, one) for one in nodes) + field(9, field(2, opset)) + field(9, field(1, domain) + field(2, 1)) + field(10, domain))


def model(body, opset=17, functions=(), ir=8):
    return (field(1, ir) + field(7, body) + field(8, field(2, opset)) + (field(8, field(1, "local") + field(2, 1)) if functions else b"") +
            b"".join(field(25, one) for one in functions))


def one_operator(op, inputs, outputs, opset=17, initializers=(), **attributes):
    """A model of one node; inputs and outputs are (name, type, dimensions), an absent one is None."""
    names = [given[0] if given else "" for given in inputs]
    given = [one for one in inputs if one]
    body = graph([node(op, names, [one[0] for one in outputs], **attributes)], given, outputs, initializers)
    return model(body, opset)
