"""Whether a nightly history, in its JSON form, is one."""

from datetime import datetime
from typing import Any

from ..nightly.verdicts import ALARM, STATE_MEANINGS, worst_state


def is_history(data: Any) -> bool:
    """Whether everything is there that is shown of a history, and its states are those of its numbers."""
    try:
        texts = [data["state"], *(f[name] for f in data["failures"] for name in ("subject", "message"))]
        numbers, nights = [data["lifetime_alpha"]], []
        for check in data["checks"]:
            texts += [check[name] for name in ("subject", "version", "check", "state")]
            numbers += [check[name] for name in ("log_e", "largest_log_e", "alarm_at", "watch_at", "draws")]
            nights += check["nights"]
            for limit in check["detects"]["within"] if check["detects"] else ():
                numbers += [limit["nights"], limit["total_variation"]]
            witness, impossible = check["witness"], check["impossible"]
            texts += [witness[name] for name in ("sequence", "expected", "observed", "replay") if witness]
            texts += [impossible["sequence"]] if impossible else []
            numbers += [impossible["count"]] if impossible else []
            if check["state"] not in STATE_MEANINGS or not isinstance(check["current"], bool):
                return False
            if check["state"] != ALARM and float(check["largest_log_e"]) > float(check["alarm_at"]):
                return False
        numbers += [night["log_e"] for night in nights]
        [datetime.fromisoformat(night["night"]) for night in nights]
        [float(number) for number in numbers]
        own = worst_state([check["state"] for check in data["checks"] if check["current"]])
        return data["state"] == own and all(isinstance(text, str) for text in texts)
    except (KeyError, TypeError, ValueError, AttributeError):
        return False
