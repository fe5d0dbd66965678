"""How long commands take to start, next to what they cannot do without: Python itself, and sympy with python-flint.

python benchmarks/startup.py [ROUNDS]. Limit: ``draftproof law`` takes at most 1.2 times the import of sympy and
python-flint.
"""

import statistics
import subprocess
import sys
import time

COMMAND = "from draftproof.reports.commands.main import main; main()"
RUNS = {
    "python -c pass": ["pass"],
    "import sympy, flint": ["import sympy, flint"],
    "draftproof law": [COMMAND, "law", "block", "--target", "1/3,2/3", "--draft", "2/3,1/3", "--gamma", "2"],
    "draftproof --help": [COMMAND, "--help"],
    "draftproof list verifiers": [COMMAND, "list", "verifiers"],
}
LIMIT = 1.2


def seconds(arguments: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", *arguments], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main(rounds: int) -> int:
    """Interleaved, so that what else the machine does falls on all alike; the first round warms the disk's cache."""
    taken = [{name: seconds(arguments) for name, arguments in RUNS.items()} for _ in range(rounds + 1)][1:]
    medians = {name: statistics.median(one[name] for one in taken) for name in RUNS}
    imports = medians["import sympy, flint"]
    for name, median in medians.items():
        print(f"{name:<26}{median:7.3f} s   {median / imports:5.2f} x import sympy, flint")
    ratio = medians["draftproof law"] / imports
    print(f"draftproof law: {ratio:.2f} times the imports (limit {LIMIT})")
    return int(ratio > LIMIT)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 9))
