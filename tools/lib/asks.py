# SPDX-License-Identifier: GPL-2.0-or-later
"""Answers a suite's program that asks for commands of QEMU's monitor.

It puts a request into the folder it shares with us, ask-N: {"execute": ...,
"arguments": ...}, and reads answer-N: {"return": ...} or {"error": ...}. A
suite.ini allows it with asks = yes; guest-tests/suites/ask.py is the other
end.
"""

import json
import os
from pathlib import Path

from qmp import QmpError


class Asks:
    """The requests of one run."""

    def __init__(self, guest, share):
        self.guest = guest
        self.share = Path(share)
        self.number = 1

    def poll(self):
        """Answer what has been asked since the last time."""
        while True:
            question = self.share / f"ask-{self.number}"
            if not question.exists():
                return
            part = self.share / f"answer-{self.number}.part"
            part.write_text(json.dumps(self._answer(question.read_text())))
            os.rename(part, self.share / f"answer-{self.number}")
            self.number += 1

    def _answer(self, text):
        try:
            request = json.loads(text)
            return {"return": self.guest.qmp(request["execute"],
                                             **request.get("arguments", {}))}
        except (QmpError, ValueError, KeyError) as error:
            return {"error": str(error)}
