"""The state folder, and what an earlier process of this worker left behind."""
import fcntl
import json
import os
import pathlib
import signal
import sys
import time
from settings import SESSION, STATE, WHO, facts, say

MARK = f"INTERLOCK_HOST_OF={STATE}"  # In the environment of every handler's process.


def save(path, value):
    """On disk when it returns True: the file by fsync, its name by a rename and an fsync of the folder."""
    try:
        fresh = path.with_suffix(".new")
        with open(fresh, "w") as file:
            json.dump(value, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, path)
        folder = os.open(path.parent, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)
        facts["disk"] = True
    except OSError as error:
        facts["disk"] = False
        say(f"the disk refuses {path.name}: {error}")
    return facts["disk"]


def read(path):
    """None where it has gone meanwhile."""
    try:
        return path.read_text()
    except FileNotFoundError:
        return None


def open_state():
    """One process works in it; its session is written down, with at most 8 before it (2.2). Earlier ones are ended."""
    for folder in ("attempts", "aside"):
        (STATE / folder).mkdir(mode=0o700, parents=True, exist_ok=True)
    facts["lock"] = open(STATE / "lock", "w")
    try:
        fcntl.flock(facts["lock"], fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        sys.exit(f"Another process works in {STATE}; one folder serves one worker.")
    known = STATE / "sessions.json"
    WHO["earlierSessions"] = (json.loads(known.read_text()) if known.exists() else [])[-8:]
    if not save(known, [*WHO["earlierSessions"], SESSION]):
        sys.exit("The state folder takes nothing; nothing was claimed.")
    end_old_hosts()


def end_old_hosts():
    """5.8: ends handler processes of an earlier session and sees them gone."""
    for _ in range(50):
        left = 0
        for entry in pathlib.Path("/proc").glob("[0-9]*/environ"):
            try:
                if MARK.encode() in entry.read_bytes().split(b"\0"):
                    left += 1
                    os.kill(int(entry.parent.name), signal.SIGKILL)
            except OSError:
                pass
        if not left:
            return
        time.sleep(0.1)
    sys.exit("Handler processes of an earlier session do not go. Nothing was claimed; look at them, then start again.")
