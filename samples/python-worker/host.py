"""The process that a handler runs in, from the worker's side: a process group of its own and a channel to it."""
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from spool import MARK

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "handlers.py")


class Host:
    def __init__(self):
        self.channel, theirs = socket.socketpair()
        self.lock, self.killed = threading.Lock(), False
        name, value = MARK.split("=", 1)
        with theirs:
            command = [sys.executable, PROGRAM, str(theirs.fileno())]
            self.process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=2,
                                            start_new_session=True, env={**os.environ, name: value})

    def say(self, message):
        try:
            self.channel.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            pass  # It has gone; hear() ends.

    def hear(self):
        """What it says, as (what, value), until it is silent for ever."""
        try:
            for line in self.channel.makefile():
                yield from json.loads(line).items()
        except (OSError, ValueError):
            pass

    def signal(self, number):
        """To its whole group, as long as the number is still its own."""
        with self.lock:
            if self.process.returncode is None:
                self.killed = self.killed or number == signal.SIGKILL
                os.killpg(self.process.pid, number)

    def stop(self, grace):
        """SIGTERM, and SIGKILL when the grace is over."""
        self.signal(signal.SIGTERM)
        timer = threading.Timer(grace, self.signal, [signal.SIGKILL])
        timer.daemon = True
        timer.start()

    def wait(self):
        os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOWAIT)

    def sweep(self):
        """What it left in its group goes too, while its number is still ours; then it is let go. Its exit code."""
        self.wait()
        with self.lock:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.channel.close()
            return self.process.wait()
