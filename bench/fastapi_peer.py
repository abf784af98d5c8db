"""What one writes with FastAPI and PyTorch to serve a network: python3 fastapi_peer.py NETWORK PORT THREADS

POST /infer takes the input's float32 numbers as bytes and answers with JSON. One worker process, since PyTorch uses
all cores for one image already; the network runs in FastAPI's thread pool, so that the loop keeps accepting.
"""
import sys

import fastapi
import numpy
import torch
import uvicorn

network, port, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
torch.set_num_threads(threads)
torch.manual_seed(0)


def build(name):
    if name == "lenet5":
        return torch.nn.Sequential(
            torch.nn.Conv2d(1, 6, 5, padding=2), torch.nn.Tanh(), torch.nn.AvgPool2d(2), torch.nn.Conv2d(6, 16, 5),
            torch.nn.Tanh(), torch.nn.AvgPool2d(2), torch.nn.Flatten(), torch.nn.Linear(400, 120), torch.nn.Tanh(),
            torch.nn.Linear(120, 84), torch.nn.Tanh(), torch.nn.Linear(84, 10)), (1, 1, 28, 28)
    import torchvision
    return getattr(torchvision.models, name)(), (1, 3, 224, 224)


model, shape = build(network)
model.eval()
app = fastapi.FastAPI()


def compute(body):
    with torch.inference_mode():
        image = torch.from_numpy(numpy.frombuffer(body, dtype=numpy.float32).reshape(shape).copy())
        return model(image)[0].tolist()


@app.post("/infer")
async def infer(request: fastapi.Request):
    body = await request.body()
    return {"outputs": await fastapi.concurrency.run_in_threadpool(compute, body)}


uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning")
