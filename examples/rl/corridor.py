#!/usr/bin/env python3
"""An environment of one's own: a corridor whose exit is at the right end. See docs/adding-an-environment.md.

  trainyard rl train --env "exec:python3 examples/rl/corridor.py" --agent dqn --steps 5000 --train-every 1 --target-every 100
"""
import json
import random
import sys

LENGTH = 8


def main():
    print(json.dumps({"name": "corridor", "shape": [2], "actions": 2, "time_limit": 50}), flush=True)
    place = 0
    for line in sys.stdin:
        request = json.loads(line)
        if "reset" in request:
            place = random.Random(request["reset"]).randrange(LENGTH // 2)
            answer = {}
        else:
            place = max(0, place + (1 if request["step"] == 1 else -1))
            done = place == LENGTH
            answer = {"reward": 1.0 if done else -0.01, "terminated": done, "truncated": False}
        answer["observation"] = [place / LENGTH, 1.0]
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
