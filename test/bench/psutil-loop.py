"""What a monitor built on psutil spends on the same processes.

psutil-loop.py tick PID...          every second: memory, CPU time, threads and I/O of each, for ever
psutil-loop.py cost ROUNDS PID...   for each line on stdin: ROUNDS times statm and status of each, then the CPU
                                    nanoseconds for one process, as JSON
"""

import json
import sys
import time

import psutil


def tick(pids):
    processes = [psutil.Process(pid) for pid in pids]
    due = time.monotonic()
    while True:
        for process in processes:
            with process.oneshot():
                process.memory_info()
                process.cpu_times()
                process.num_threads()
                process.io_counters()
        due += 1
        time.sleep(max(0, due - time.monotonic()))


def cost(rounds, pids):
    processes = [psutil.Process(pid) for pid in pids]
    for _ in sys.stdin:
        begin = time.process_time_ns()
        for _ in range(rounds):
            for process in processes:
                with process.oneshot():
                    process.memory_info()
                    process.num_threads()
        spent = time.process_time_ns() - begin
        print(json.dumps({"ns": spent / (rounds * len(processes))}), flush=True)


if sys.argv[1] == "tick":
    tick([int(word) for word in sys.argv[2:]])
else:
    cost(int(sys.argv[2]), [int(word) for word in sys.argv[3:]])
