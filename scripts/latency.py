#!/usr/bin/env python3
"""How long a small job of `airlock serve` takes, from sending it to having its answer.

    scripts/latency.py AIRLOCK
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
JOBS = 400


def main():
    airlock = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/socket"
        env = dict(os.environ, XDG_CACHE_HOME=f"{folder}/cache", XDG_STATE_HOME=f"{folder}/state")
        command = [airlock, "serve", "--socket", path, "--jobs", "2", "--pool", "4"]
        server = subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL, cwd=folder)
        try:
            measure(path, f"{folder}/out.fx")
        finally:
            server.terminate()
            server.wait()


def measure(path, out):
    while not os.path.exists(path):
        time.sleep(0.02)
    client = socket.socket(socket.AF_UNIX)
    client.connect(path)
    answers = client.makefile("rb")
    dedup = ROOT / "tests/components/released-0.1.0/dedup.wasm"
    words = [str(ROOT / "tests/hostile/model.fx"), "--pass", str(dedup), "-o", out]

    def job():
        began = time.perf_counter()
        client.sendall(json.dumps({"run": words}).encode() + b"\n")
        answer = json.loads(answers.readline())
        assert answer["exit"] == 0, answer
        return (time.perf_counter() - began) * 1e3

    # Compiled once.
    job()
    for pause in 0.05, 0.02, 0:
        times = []
        for _ in range(JOBS):
            times.append(job())
            time.sleep(pause)
        times.sort()
        p50, p90, p99 = (times[JOBS * part // 100] for part in (50, 90, 99))
        print(f"{pause * 1e3:3.0f} ms between jobs: p50 {p50:.2f} ms, p90 {p90:.2f} ms, p99 {p99:.2f} ms")


main()
