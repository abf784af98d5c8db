#!/usr/bin/env python3
"""`trainyard serve --grpc-port` asked by gRPC's own Python client, with stubs made from the .proto that the server hands out.

usage: grpc_test.py TRAINYARD FOLDER. Needs python3-grpcio, protoc and grpc_python_plugin; without them it is skipped (77).
"""
import array
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path

PROGRAM, FOLDER = sys.argv[1], Path(sys.argv[2])
PLUGIN = shutil.which("grpc_python_plugin")
try:
    import grpc
except ImportError:
    grpc = None
if grpc is None or PLUGIN is None or shutil.which("protoc") is None:
    print("skipped: python3-grpcio, protobuf-compiler and protobuf-compiler-grpc are needed")
    sys.exit(77)


def check(condition, text):
    if not condition:
        raise SystemExit(f"FAILED: {text}")
    print("ok:", text, flush=True)


class Server:
    def __init__(self, *arguments, token=None):
        environment = {**os.environ, **({"TRAINYARD_TOKEN": token} if token else {})}
        self.process = subprocess.Popen([PROGRAM, "serve", "--port", "0", "--grpc-port", "0", *map(str, arguments)], env=environment,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.lines = []
        while not self.lines or not self.lines[-1].startswith("page"):
            line = self.process.stdout.readline()
            if not line:
                raise SystemExit("FAILED: the server ended: " + "".join(self.lines))
            self.lines.append(line)
        self.url = self.lines[0].split()[-1]
        self.address = re.search(r"grpc://(\S+)", self.lines[1]).group(1)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=60)


def make_stubs(url):
    """The client's code, from the description that the server itself gives."""
    folder = FOLDER / "stubs"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "open_inference.proto").write_bytes(urllib.request.urlopen(url + "/open_inference.proto").read())
    subprocess.run(["protoc", "-I", str(folder), f"--python_out={folder}", f"--grpc_out={folder}", f"--plugin=protoc-gen-grpc={PLUGIN}",
                    str(folder / "open_inference.proto")], check=True)
    sys.path.insert(0, str(folder))
    import open_inference_pb2
    import open_inference_pb2_grpc
    return open_inference_pb2, open_inference_pb2_grpc


def code_of(call):
    try:
        call()
    except grpc.RpcError as error:
        return error.code(), error.details()
    return grpc.StatusCode.OK, ""


def infer_request(pb, values, raw, name="net"):
    request = pb.ModelInferRequest(model_name=name, id="seven")
    tensor = request.inputs.add(name="image", datatype="FP32", shape=[1, 1, 28, 28])
    if raw:
        request.raw_input_contents.append(array.array("f", values).tobytes())
    else:
        tensor.contents.fp32_contents.extend(values)
    return request


def floats(blob):
    values = array.array("f")
    values.frombytes(blob)
    return list(values)


def http_infer(server, values):
    body = json.dumps({"inputs": [{"name": "image", "datatype": "FP32", "shape": [1, 1, 28, 28], "data": values}]}).encode()
    return json.loads(urllib.request.urlopen(server.url + "/v2/models/net/infer", body).read())["outputs"][0]["data"]


def test_metadata(pb, stub):
    check(stub.ServerLive(pb.ServerLiveRequest()).live and stub.ServerReady(pb.ServerReadyRequest()).ready, "live and ready")
    check("statistics" in stub.ServerMetadata(pb.ServerMetadataRequest()).extensions, "the server's extensions")
    check(stub.ModelReady(pb.ModelReadyRequest(name="net")).ready and not stub.ModelReady(pb.ModelReadyRequest(name="no")).ready,
          "a model that is ready, and one that is not there")
    model = stub.ModelMetadata(pb.ModelMetadataRequest(name="net", version="1"))
    check(list(model.inputs[0].shape) == [1, 1, 28, 28] and model.inputs[0].datatype == "FP32" and model.platform, "a model's tensors")
    config = stub.ModelConfig(pb.ModelConfigRequest(name="net")).config
    check(config.max_batch_size == 0 and config.input[0].data_type == pb.TYPE_FP32 and list(config.input[0].dims) == [1, 1, 28, 28] and
          1 <= config.instance_group[0].count <= os.cpu_count(), "a model's configuration")


def test_inference(pb, stub, server):
    values = [i / 784 for i in range(784)]
    wanted = http_infer(server, values)
    for raw in (True, False):
        answer = stub.ModelInfer(infer_request(pb, values, raw))
        got = floats(answer.raw_output_contents[0])
        check(answer.id == "seven" and answer.model_version == "1" and list(answer.outputs[0].shape) == [1, 10] and
              max(abs(a - b) for a, b in zip(got, wanted)) < 1e-6, f"raw={raw}: the numbers of HTTP")
    request = infer_request(pb, values, True)
    request.parameters["note"].string_param = "x"
    request.outputs.add(name=answer.outputs[0].name).parameters["classification"].int64_param = 2
    best = stub.ModelInfer(request)
    check(best.outputs[0].datatype == "BYTES" and list(best.outputs[0].shape) == [2] and best.parameters["note"].string_param == "x" and
          int(best.raw_output_contents[0][4:].split(b":")[1][:1]) == wanted.index(max(wanted)), "classification, and parameters echoed")
    requests = [infer_request(pb, values, True), infer_request(pb, values, True, "no"), infer_request(pb, values, False)]
    answers = list(stub.ModelStreamInfer(iter(requests)))
    check(len(answers) == 3 and "no" in answers[1].error_message and
          answers[0].infer_response.raw_output_contents == answers[2].infer_response.raw_output_contents, "a stream, with one wrong request")


def test_refusals(pb, stub):
    codes = grpc.StatusCode
    short = infer_request(pb, [0.0] * 784, True)
    short.raw_input_contents[0] = short.raw_input_contents[0][:-4]
    kinds = infer_request(pb, [], False)
    kinds.inputs[0].contents.int_contents.extend([1] * 784)
    both = infer_request(pb, [0.0] * 784, False)
    both.raw_input_contents.append(b"")
    half = infer_request(pb, [0.0] * 784, True)
    half.inputs[0].datatype = "FP16"
    shape = infer_request(pb, [0.0] * 784, True)
    shape.inputs[0].shape[0] = 1 << 62
    shared = infer_request(pb, [0.0] * 784, True)
    shared.inputs[0].parameters["shared_memory_region"].string_param = "x"
    cases = [("an unknown model", infer_request(pb, [0.0] * 784, True, "no"), codes.NOT_FOUND, "no"),
             ("too few bytes", short, codes.INVALID_ARGUMENT, "3136 bytes, got 3132"),
             ("another field of contents", kinds, codes.INVALID_ARGUMENT, "int_contents, expected fp32_contents"),
             ("contents and raw", both, codes.INVALID_ARGUMENT, "send one of them"),
             ("another datatype", half, codes.INVALID_ARGUMENT, "1568"),
             ("a shape that overflows", shape, codes.INVALID_ARGUMENT, "exceed maximum size"),
             ("shared memory", shared, codes.UNIMPLEMENTED, "shared memory"),
             ("no inputs", pb.ModelInferRequest(model_name="net"), codes.INVALID_ARGUMENT, "missing")]
    for name, request, code, text in cases:
        got = code_of(lambda: stub.ModelInfer(request))
        check(got[0] == code and text in got[1], f"{name}: {got}")
    check(code_of(lambda: stub.ModelMetadata(pb.ModelMetadataRequest(name="no")))[0] == codes.NOT_FOUND, "metadata of no model")


def test_bytes(server):
    """Bytes that are no message, and a call that is not there."""
    with grpc.insecure_channel(server.address) as channel:
        for method, data in (("ModelInfer", b"\xff" * 40), ("ModelMetadata", b"\x0a\xff"), ("ModelInfer", b"")):
            call = channel.unary_unary("/inference.GRPCInferenceService/" + method)
            check(code_of(lambda: call(data))[0] in (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND), f"{method} of {data[:4]}")
        call = channel.unary_unary("/inference.GRPCInferenceService/LogSettings")
        check(code_of(lambda: call(b""))[0] == grpc.StatusCode.UNIMPLEMENTED, "a call that is not there")


def test_repository(pb, rpc, repository):
    server = Server("--repository", repository)
    with grpc.insecure_channel(server.address) as channel:
        stub = rpc.GRPCInferenceServiceStub(channel)
        test_metadata(pb, stub)
        test_inference(pb, stub, server)
        test_refusals(pb, stub)
        test_bytes(server)
        statistics = stub.ModelStatistics(pb.ModelStatisticsRequest(name="net")).model_stats[0]
        check(statistics.inference_count == 6 and statistics.inference_stats.success.ns > 0 and statistics.batch_stats[0].batch_size == 1,
              f"statistics: {statistics.inference_count} inferences")
        failures = []

        def ask():
            for _ in range(50):
                code = code_of(lambda: stub.ModelInfer(infer_request(pb, [0.5] * 784, True)))
                if code[0] != grpc.StatusCode.OK:
                    failures.append(code)

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        stub.RepositoryModelLoad(pb.RepositoryModelLoadRequest(model_name="net"))
        for thread in threads:
            thread.join()
        check(not failures, f"200 calls from four threads while the model is loaded anew: {failures[:1]}")
        config = pb.RepositoryModelLoadRequest(model_name="net")
        config.parameters["config"].string_param = json.dumps({"instance_group": [{"count": 2}]})
        stub.RepositoryModelLoad(config)
        check(stub.ModelConfig(pb.ModelConfigRequest(name="net")).config.instance_group[0].count == 2, "loaded with another configuration")
        stub.RepositoryModelUnload(pb.RepositoryModelUnloadRequest(model_name="net"))
        index = stub.RepositoryIndex(pb.RepositoryIndexRequest()).models
        check([(entry.name, entry.state) for entry in index] == [("net", "UNAVAILABLE")] and
              not stub.RepositoryIndex(pb.RepositoryIndexRequest(ready=True)).models, "unloaded, and in the index")
        got = code_of(lambda: stub.ModelInfer(infer_request(pb, [0.5] * 784, True)))
        check(got[0] == grpc.StatusCode.INVALID_ARGUMENT, f"not ready then: {got}")
    check(server.end() == 0, "SIGTERM ends it with 0")


def test_fixed_models(pb, rpc, repository):
    """With the code that clients of Triton expect."""
    server = Server("--repository", repository, "--fixed-models")
    with grpc.insecure_channel(server.address) as channel:
        stub = rpc.GRPCInferenceServiceStub(channel)
        for name, call, message in (("load", stub.RepositoryModelLoad, pb.RepositoryModelLoadRequest),
                                    ("unload", stub.RepositoryModelUnload, pb.RepositoryModelUnloadRequest)):
            code, text = code_of(lambda: call(message(model_name="net")))[:2]
            check(code == grpc.StatusCode.UNAVAILABLE and "is not allowed" in text, f"{name} with fixed models: {code}, {text}")
    check(server.end() == 0, "SIGTERM ends it with 0")


def test_extensions(pb, rpc, repository):
    """Shared memory, traces and a model that comes with the call."""
    server = Server("--repository", repository, "--shared-memory", "--uploads")
    key = f"trainyard_grpc_test_{os.getpid()}"
    memory = Path("/dev/shm") / key
    values = [i / 784 for i in range(784)]
    memory.write_bytes(array.array("f", values).tobytes() + bytes(40))
    with grpc.insecure_channel(server.address) as channel:
        stub = rpc.GRPCInferenceServiceStub(channel)
        try:
            stub.SystemSharedMemoryRegister(pb.SystemSharedMemoryRegisterRequest(name="r", key="/" + key, byte_size=3176))
            regions = stub.SystemSharedMemoryStatus(pb.SystemSharedMemoryStatusRequest()).regions
            check(dict(regions)["r"].byte_size == 3176 and regions["r"].key == "/" + key, "a region is registered")
            request = pb.ModelInferRequest(model_name="net")
            tensor = request.inputs.add(name="image", datatype="FP32", shape=[1, 1, 28, 28])
            tensor.parameters["shared_memory_region"].string_param = "r"
            tensor.parameters["shared_memory_byte_size"].int64_param = 3136
            output = request.outputs.add(name=stub.ModelMetadata(pb.ModelMetadataRequest(name="net")).outputs[0].name)
            output.parameters["shared_memory_region"].string_param = "r"
            output.parameters["shared_memory_offset"].int64_param = 3136
            output.parameters["shared_memory_byte_size"].int64_param = 40
            answer = stub.ModelInfer(request)
            check(floats(memory.read_bytes()[3136:]) == floats(stub.ModelInfer(infer_request(pb, values, True)).raw_output_contents[0]) and
                  answer.raw_output_contents[0] == b"" and answer.outputs[0].parameters["shared_memory_byte_size"].int64_param == 40,
                  "tensors in shared memory")
            stub.SystemSharedMemoryUnregister(pb.SystemSharedMemoryUnregisterRequest())
            check(code_of(lambda: stub.ModelInfer(request))[0] == grpc.StatusCode.INVALID_ARGUMENT and
                  not stub.SystemSharedMemoryStatus(pb.SystemSharedMemoryStatusRequest()).regions and
                  not stub.CudaSharedMemoryStatus(pb.CudaSharedMemoryStatusRequest()).regions, "unregistered")
        finally:
            memory.unlink()
        settings = stub.TraceSetting(pb.TraceSettingRequest(settings={"trace_rate": pb.TraceSettingRequest.SettingValue(value=["7"])})).settings
        check(settings["trace_rate"].value[0] == "7" and settings["trace_level"].value[0] == "OFF", "trace settings")
        load = pb.RepositoryModelLoadRequest(model_name="sent")
        load.parameters["config"].string_param = json.dumps({"max_batch_size": 0})
        load.parameters["file:1/model.onnx"].bytes_param = (repository / "net/1/model.onnx").read_bytes()
        stub.RepositoryModelLoad(load)
        same = [stub.ModelInfer(infer_request(pb, values, True, name)).raw_output_contents[0] for name in ("net", "sent")]
        check(same[0] == same[1] and not (repository / "sent").exists(), "a model that came with the call")
        load.parameters["file:1/model.onnx"].bytes_param = b"no model"
        check(code_of(lambda: stub.RepositoryModelLoad(load))[0] == grpc.StatusCode.INVALID_ARGUMENT and
              stub.ModelReady(pb.ModelReadyRequest(name="sent")).ready, "a broken one leaves the old one")
        load.parameters["file:1/../../x"].bytes_param = b""
        check("file:VERSION/model.onnx" in code_of(lambda: stub.RepositoryModelLoad(load))[1], "a path out of the folder")
    check(server.end() == 0, "the server with extensions ends with 0")


def test_strangers(pb):
    """Messages without the token are not read; names that are not UTF-8 are refused by name."""
    server = Server("lenet5", token="secret")

    def memory():
        status = Path(f"/proc/{server.process.pid}/status").read_text(encoding="utf-8")
        return int(re.search(r"VmHWM:\s*(\d+) kB", status).group(1)) / 1024

    before = memory()
    large = pb.ModelInferRequest(model_name="lenet5", raw_input_contents=[bytes(56 << 20)])
    options = [("grpc.max_send_message_length", 64 << 20)]
    codes = []
    with grpc.insecure_channel(server.address, options=options) as channel:
        ask = channel.unary_unary("/inference.GRPCInferenceService/ModelInfer", request_serializer=lambda given: given)
        content = large.SerializeToString()
        calls = [ask.future(content, timeout=60) for _ in range(12)]
        codes = {call.code() for call in calls}
        check(codes == {grpc.StatusCode.UNAUTHENTICATED} and memory() - before < 64,
              f"12 messages of 56 MiB without the token: {codes}, {memory() - before:.0f} MiB more")
        for name, expected in (("inference.GRPCInferenceService/ServerLive", grpc.StatusCode.OK), ("grpc.health.v1.Health/Check", grpc.StatusCode.OK),
                               ("inference.GRPCInferenceService/ModelReady", grpc.StatusCode.UNAUTHENTICATED)):
            calls = [channel.unary_unary("/" + name).future(content, timeout=60) for _ in range(12)]
            codes = {call.code() for call in calls}
            check(codes == {expected} and memory() - before < 96, f"12 probes of 56 MiB, {name}: {codes}, {memory() - before:.0f} MiB more")
        secret = (("authorization", "Bearer secret"),)
        got = code_of(lambda: ask(b"\x0a\x06lenet5\x1a\x02\xff\xfe", metadata=secret))
        check(got[0] == grpc.StatusCode.INVALID_ARGUMENT and "UTF-8" in got[1], f"an id that is not UTF-8: {got}")
    check(server.end() == 0, "the server ends with 0")


def test_predict(pb, rpc):
    """The call of ONNX Runtime Server: maps of tensors by name (fields 2 and 1), {1: name, 2: TensorProto}."""
    values = [i / 784 for i in range(784)]

    def field(number, content):
        size, head = len(content), bytearray([number << 3 | 2])
        while size > 127:
            head.append(size & 127 | 128)
            size >>= 7
        return bytes(head) + bytes([size]) + content

    tensor = b"\x08\x01\x08\x01\x08\x1c\x08\x1c\x10\x01" + field(9, array.array("f", values).tobytes())
    request = field(2, field(1, b"image") + field(2, tensor))
    call = "/onnxruntime.server.PredictionService/Predict"
    server = Server("lenet5", token="secret")
    secret = (("authorization", "Bearer secret"),)
    with grpc.insecure_channel(server.address) as channel:
        predict = channel.unary_unary(call)
        check(code_of(lambda: predict(request))[0] == grpc.StatusCode.UNAUTHENTICATED, "a prediction without the token")
        stub = rpc.GRPCInferenceServiceStub(channel)
        expected = stub.ModelInfer(infer_request(pb, values, True, "lenet5"), metadata=secret).raw_output_contents[0]
        check(field(9, expected) in predict(request, metadata=secret), "a prediction as ONNX Runtime Server's clients ask for it")
        got = code_of(lambda: predict(field(2, field(1, b"x") + field(2, tensor)), metadata=secret))
        check(got[0] == grpc.StatusCode.INVALID_ARGUMENT and "'x'" in got[1], f"an input that is not there: {got}")
        got = code_of(lambda: predict(b"\xff", metadata=secret))
        check(got[0] == grpc.StatusCode.INVALID_ARGUMENT, f"no message: {got}")
    check(server.end() == 0, "the server of predictions ends with 0")
    server = Server("lenet5", "second=lenet5")
    with grpc.insecure_channel(server.address) as channel:
        got = code_of(lambda: channel.unary_unary(call)(request))
        check(got[0] != grpc.StatusCode.OK, f"which of two models is not known: {got}")
    check(server.end() == 0, "the server of two models ends with 0")


def health(channel, service=b""):
    """grpc.health.v1's Check as bytes: {1: service} to {1: status}, of which 1 is SERVING."""
    check_health = channel.unary_unary("/grpc.health.v1.Health/Check")
    return check_health(b"" if not service else b"\x0a" + bytes([len(service)]) + service)


def test_health():
    """As orchestrators ask: without a token."""
    server = Server("lenet5", token="secret")
    with grpc.insecure_channel(server.address) as channel:
        check(health(channel) == b"\x08\x01", "the server as a whole is SERVING")
        check(health(channel, b"inference.GRPCInferenceService") == b"\x08\x01", "its service is SERVING")
        check(health(channel, b"another.Service") == b"\x08\x01", "what strangers send is not read")
        watch = channel.unary_stream("/grpc.health.v1.Health/Watch")
        check(code_of(lambda: list(watch(b"")))[0] == grpc.StatusCode.UNIMPLEMENTED, "Watch is UNIMPLEMENTED")
    check(server.end() == 0, "the server that was asked for its health ends with 0")
    server = Server("lenet5")
    with grpc.insecure_channel(server.address) as channel:
        check(code_of(lambda: health(channel, b"another.Service"))[0] == grpc.StatusCode.NOT_FOUND, "another service is NOT_FOUND")
        check(code_of(lambda: channel.unary_unary("/grpc.health.v1.Health/Check")(b"\xff"))[0] == grpc.StatusCode.INVALID_ARGUMENT, "no message")
    check(server.end() == 0, "the server without a token ends with 0")


def test_token(pb, rpc):
    server = Server("lenet5", token="secret")
    with grpc.insecure_channel(server.address) as channel:
        stub = rpc.GRPCInferenceServiceStub(channel)
        check(code_of(lambda: stub.ServerMetadata(pb.ServerMetadataRequest()))[0] == grpc.StatusCode.UNAUTHENTICATED and
              code_of(lambda: stub.ModelInfer(pb.ModelInferRequest(model_name="lenet5")))[0] == grpc.StatusCode.UNAUTHENTICATED,
              "without a token")
        secret = (("authorization", "Bearer secret"),)
        check(stub.ServerMetadata(pb.ServerMetadataRequest(), metadata=secret).name == "trainyard", "with the token")
        config = stub.ModelConfig(pb.ModelConfigRequest(name="lenet5"), metadata=secret).config
        check(config.max_batch_size == 8 and list(config.input[0].dims) == [1, 28, 28] and
              list(config.dynamic_batching.preferred_batch_size) == [1, 2, 4, 8], "the batches of a network of the zoo")
        refused = subprocess.run([PROGRAM, "serve", "lenet5", "--port", "0", "--grpc-port", server.address.split(":")[1]],
                                 capture_output=True, text=True)
        check(refused.returncode == 1 and "--grpc-port" in refused.stderr, "a port that is taken")
    check(server.end() == 0, "the server with a token ends with 0")


FOLDER.mkdir(parents=True, exist_ok=True)
REPOSITORY = FOLDER / "repository"
shutil.rmtree(REPOSITORY, ignore_errors=True)
(REPOSITORY / "net/1").mkdir(parents=True)
subprocess.run([PROGRAM, "export", "lenet5", "-o", str(REPOSITORY / "net/1/model.onnx")], check=True, capture_output=True)
first = Server("lenet5")
PB, RPC = make_stubs(first.url)
first.end()
test_repository(PB, RPC, REPOSITORY)
test_fixed_models(PB, RPC, REPOSITORY)
test_extensions(PB, RPC, REPOSITORY)
test_token(PB, RPC)
test_predict(PB, RPC)
test_health()
test_strangers(PB)
print("all is well")
