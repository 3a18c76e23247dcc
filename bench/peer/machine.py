"""This machine, and programs run on it."""

import json
import os
import pathlib
import platform
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build" / "release"
WORK = ROOT / "build" / "peers"


class Failed(Exception):
    """What went wrong, in one line."""


def say(message):
    print(message, file=sys.stderr, flush=True)


def run_logged(command, log):
    """Runs a long command with its output at the end of a file."""
    with open(log, "ab") as output:
        try:
            subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=output,
                           stderr=subprocess.STDOUT)
        except (OSError, subprocess.CalledProcessError) as error:
            raise Failed(f"{error}; see {log}") from error


def run_json(command, given=""):
    """Standard output of a command, as JSON; `given` is its standard input."""
    command = [str(part) for part in command]
    try:
        done = subprocess.run(command, check=True, input=given, capture_output=True, text=True)
        return json.loads(done.stdout)
    except subprocess.CalledProcessError as error:
        last = error.stderr.strip().splitlines()[-1:] or ["no message"]
        raise Failed(f"{' '.join(command)}: {last[0]}") from error
    except (OSError, json.JSONDecodeError) as error:
        raise Failed(f"{' '.join(command)}: {error}") from error


def newer(target, *sources):
    """Whether a file is there and was made after all that it is made from."""
    return target.exists() and all(
        target.stat().st_mtime >= source.stat().st_mtime for source in sources)


def cpuinfo(field):
    """The first value of a field of /proc/cpuinfo; empty where there is none."""
    text = pathlib.Path("/proc/cpuinfo").read_text()
    found = re.search(rf"^{field}\s*:\s*(.*)$", text, re.MULTILINE)
    return found.group(1) if found else ""


def processor():
    return cpuinfo("model name") or platform.machine()


def physical_cores():
    """Cores this process may run on, hyper-threads counted once."""
    cores = set()
    for cpu in os.sched_getaffinity(0):
        path = pathlib.Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        cores.add(path.read_text() if path.exists() else str(cpu))
    return len(cores)
