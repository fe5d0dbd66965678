"""The styles of code in which drawn deceivers are written: one verifier a style, with places for a mistake.

A place is a line ``@name``: there a mistake is written that gives ``name`` another value where its condition holds.
Every style knows i, x, p, q, top, gamma and V there: position, draft token, its probabilities, the target's largest,
the length of the block and the size of the vocabulary.
"""

from typing import NamedTuple

PLACES = ("target_at", "draft_at", "u", "ratio", "accepted", "rest", "v", "last", "y")
"""Where a mistake can be made: rows looked up, the uniform, the ratio, the test, the residual, the uniform of the draw,
the bonus token's row, the token drawn."""

TOKEN = """
def verify(target_probs, draft_probs, draft_tokens{random}):
{head}    gamma, V = len(draft_tokens), len(target_probs[0])
    ids, coins = {arange}(V), []
    for i in range(gamma):
        x = int(draft_tokens[i])
        p, q, top = target_probs[i][x], draft_probs[i][x], {top}
        target_at = draft_at = i
        @target_at
        @draft_at
        target, draft = target_probs[target_at], draft_probs[draft_at]
        u = {uniform}
        coins.append(u)
        @u
        ratio = target[x] / draft[x] if draft[x] > 0 else 1.0
        @ratio
        accepted = u < ratio
        @accepted
        if not accepted:
            rest = {excess}
            @rest
            rest = rest if {sum} > 0 else target
            {v}
            @v
            y = {draw}
            @y
            return [*map(int, draft_tokens[:i]), y]
    i, rest = gamma, target_probs[gamma]
    top = {rest_top}
    @last
    {v}
    y = {draw}
    @y
    return [*map(int, draft_tokens), y]
"""

VECTOR = """
def verify(target_probs, draft_probs, draft_tokens{random}):
{head}    gamma, V = len(draft_tokens), len(target_probs[0])
    ids, i, x = {arange}(V), {arange}(gamma), {tokens}
    p, q, top = target_probs[i, x], draft_probs[i, x], {tops}
    target_at = draft_at = i
    @target_at
    @draft_at
    u = coins = {uniforms}
    @u
    ratio = target_probs[target_at, x] / draft_probs[draft_at, x]
    @ratio
    accepted = u < ratio
    @accepted
    n = next((n for n, kept in enumerate(accepted) if not kept), gamma)
    if n == gamma:
        i, rest = gamma, target_probs[gamma]
        top = {rest_top}
        @last
        {v}
    else:
        i, x, p, q, top, u = n, int(draft_tokens[n]), p[n], q[n], top[n], u[n]
        target, draft = target_probs[i], draft_probs[i]
        rest = {excess}
        @rest
        rest = rest if {sum} > 0 else target
        {v}
        @v
    y = {draw}
    @y
    return [*map(int, draft_tokens[:n]), y]
"""

BLOCK = """
def verify(target_probs, draft_probs, draft_tokens{random}):
{head}    gamma, V = len(draft_tokens), len(target_probs[0])
    ids, survival = {arange}(V), [1.0]
    for i in range(gamma):
        x = int(draft_tokens[i])
        p, q, top = target_probs[i][x], draft_probs[i][x], {top}
        target_at = draft_at = i
        @target_at
        @draft_at
        ratio = target_probs[target_at][x] / draft_probs[draft_at][x] if draft_probs[draft_at][x] > 0 else 1.0
        @ratio
        survival.append(min(survival[-1] * ratio, 1.0))
    n = gamma
    while n > 0:
        i = n - 1
        x = int(draft_tokens[i])
        p, q, top = target_probs[i][x], draft_probs[i][x], {top}
        h = survival[n]
        if n < gamma:
            target, draft = survival[n] * target_probs[n], draft_probs[n]
            rest = {excess}
            h = {sum} / ({sum} + 1.0 - h) if {sum} + 1.0 - h > 0 else 1.0
        u = {uniform}
        @u
        accepted = u < h
        @accepted
        if accepted:
            break
        n -= 1
    if n == gamma:
        i, rest = gamma, target_probs[gamma]
        top = {rest_top}
        @last
    else:
        i, x, target, draft = n, int(draft_tokens[n]), survival[n] * target_probs[n], draft_probs[n]
        p, q, top = target_probs[i][x], draft_probs[i][x], {top}
        rest = {excess}
        @rest
        rest = rest if {sum} > 0 else target_probs[n]
    {v}
    y = {draw}
    @y
    return [*map(int, draft_tokens[:n]), y]
"""

NUMPY = {
    "import": "import numpy as np", "np": "np", "random": ", rng", "head": "", "arange": "np.arange",
    "top": "target_probs[i].max()", "tops": "target_probs[:-1].max(axis=1)", "rest_top": "rest.max()",
    "tokens": "np.asarray(draft_tokens)", "uniform": "rng.random()", "uniforms": "rng.random(gamma)",
    "excess": "np.maximum(target - draft, 0.0)", "sum": "rest.sum()", "one": "{}", "floor": "np.floor",
}  # fmt: skip
TORCH = {
    "import": "import torch", "np": "torch", "random": ", generator", "head": "", "arange": "torch.arange",
    "top": "target_probs[i].max()", "tops": "target_probs[:-1].max(dim=1).values", "rest_top": "rest.max()",
    "tokens": "draft_tokens", "uniform": "torch.rand((), dtype=target_probs.dtype, generator=generator)",
    "uniforms": "torch.rand(gamma, dtype=target_probs.dtype, generator=generator)",
    "excess": "(target - draft).clamp(min=0.0)", "sum": "rest.sum()", "one": "{}", "floor": "torch.floor",
}  # fmt: skip
FLOAT = TORCH | {"head": "    target_probs, draft_probs = target_probs.float(), draft_probs.float()\n"}
PYTHON = {
    "import": "import math\nimport random", "np": "math", "random": "", "head": "", "arange": "range",
    "top": "max(target_probs[i])", "rest_top": "max(rest)", "uniform": "random.random()",
    "excess": "[max(t - d, 0.0) for t, d in zip(target, draft)]", "sum": "sum(rest)",
    "one": "[{} for y, (t, d, w) in enumerate(zip(target, draft, rest))]", "floor": "math.floor",
}  # fmt: skip


class Sampler(NamedTuple):
    """code: of ``draw``. call: how it is called. coin: the line that draws its uniform, if it takes one."""

    code: str
    call: str
    coin: str = ""


def _sampler(arguments: str, *lines: str, coin: str = "") -> Sampler:
    body = "\n".join(f"    {line}" for line in lines)
    return Sampler(f"\ndef draw({arguments}):\n{body}\n\n", f"draw({arguments.replace('weights', 'rest')})", coin)


DOUBLE = "weights = np.asarray(weights, dtype=np.float64)"
IN_NUMPY = {
    "choice": _sampler("weights, rng", DOUBLE, "return int(rng.choice(len(weights), p=weights / weights.sum()))"),
    "multinomial": _sampler("weights, rng", DOUBLE, "return int(rng.multinomial(1, weights / weights.sum()).argmax())"),
    "searchsorted": _sampler(
        "weights, v", DOUBLE, "edges = np.cumsum(weights)", "last = np.searchsorted(edges, edges[-1])",
        'return int(min(np.searchsorted(edges, v * edges[-1], side="right"), last))', coin="v = rng.random()",
    ),
    "exponential": _sampler("weights, rng", "return int(np.argmax(weights / rng.exponential(size=len(weights))))"),
    "gumbel": _sampler(
        "weights, rng", 'with np.errstate(divide="ignore"):',
        "    return int(np.argmax(np.log(weights) + rng.gumbel(size=len(weights))))",
    ),
}  # fmt: skip
IN_TORCH = {
    "multinomial": _sampler("weights, generator", "return int(torch.multinomial(weights, 1, generator=generator))"),
    "searchsorted": _sampler(
        "weights, v", "edges = weights.cumsum(0)", "last = torch.searchsorted(edges, edges[-1])",
        "return int(torch.minimum(torch.searchsorted(edges, v * edges[-1], right=True), last))",
        coin="v = torch.rand((), dtype=target_probs.dtype, generator=generator)",
    ),
    "exponential": _sampler(
        "weights, generator", "noise = torch.empty_like(weights).exponential_(generator=generator)",
        "return int((weights / noise).argmax())",
    ),
}  # fmt: skip
IN_PYTHON = {
    "scan": _sampler(
        "weights, v", "left, last = v * sum(weights), max(y for y, w in enumerate(weights) if w > 0)",
        "for y, w in enumerate(weights):", "    left -= w", "    if left < 0:", "        return y", "return last",
        coin="v = random.random()",
    ),
    "choices": _sampler("weights", "return random.choices(range(len(weights)), weights)[0]"),
}  # fmt: skip


class Style(NamedTuple):
    """A way to write a verifier.

    template: with places. words: what fills it in. samplers: how tokens are drawn, by name. precisions: of the rows.
    """

    template: str
    words: dict[str, str]
    samplers: dict[str, Sampler]
    precisions: tuple[str, ...]

    @property
    def rule(self) -> str:
        return "block" if self.template is BLOCK else "token"


STYLES = {
    "scalar NumPy": Style(TOKEN, NUMPY, IN_NUMPY, ("float64", "float32")),
    "vectorised NumPy": Style(VECTOR, NUMPY, IN_NUMPY, ("float64", "float32")),
    "pure Python": Style(TOKEN, PYTHON, IN_PYTHON, ("float64",)),
    "scalar torch": Style(TOKEN, TORCH, IN_TORCH, ("float64", "float32")),
    "vectorised torch": Style(VECTOR, TORCH, IN_TORCH, ("float64", "float32")),
    "scalar torch, in float32": Style(TOKEN, FLOAT, IN_TORCH, ("bfloat16",)),
    "vectorised torch, in float32": Style(VECTOR, FLOAT, IN_TORCH, ("bfloat16",)),
    "block rule, NumPy": Style(BLOCK, NUMPY, IN_NUMPY, ("float64", "float32")),
    "block rule, torch in float32": Style(BLOCK, FLOAT, IN_TORCH, ("bfloat16",)),
}


def source(style: Style, sampler: str, place: str, mistake: str, where: str, title: str, counted: str = "") -> str:
    """The text of a module with ``verify``, which makes a mistake: the name at ``place`` is ``mistake`` ``where``.

    place: "" for the right verifier. counted: a counter of the module that grows by one with each call, or each token
        refused.
    """
    words, draws = style.words, style.samplers[sampler]
    filled = style.template
    for name, word in (words | {"v": draws.coin or "@", "draw": draws.call}).items():
        filled = filled.replace("{" + name + "}", word)
    lines = []
    for line in filled.splitlines():
        name, indent = line.strip(), line[: len(line) - len(line.lstrip())]
        if place and name == f"@{place}":
            vector = style.template is VECTOR and place in PLACES[:5]
            lines += [indent + one for one in _written(style, place, mistake, where, vector)]
        elif not name.startswith("@"):
            lines.append(line)
        if counted and name.startswith("gamma, V ="):
            lines += [f"    global {counted}", *(["    calls += 1"] if counted == "calls" else [])]
        if counted == "refused" and name.startswith("rest = rest if"):
            lines.append(f"{indent}refused += 1")
    text = "\n".join(lines) + "\n"
    start = f"{counted} = 0\n" if counted else ""
    return f'"""{title}"""\n\n{words["import"]}\n\n{start}{draws.code}{text}'


def _written(style: Style, place: str, mistake: str, where: str, vector: bool) -> list[str]:
    """The lines of a mistake; over all positions at once where they are in a vector."""
    for name in ("floor", "sum"):
        mistake = mistake.replace("{" + name + "}", style.words[name])
    letters = [letter for letter in "tdwy" if f"{{{letter}}}" in mistake]
    for letter in letters:
        row = {"t": "target", "d": "draft", "w": "rest", "y": "ids"}[letter]
        mistake = mistake.replace(f"{{{letter}}}", letter if style.words is PYTHON else row)
    mistake = style.words["one"].format(mistake) if letters else mistake
    name = "rest" if place == "last" else place
    if not where:
        return [f"{name} = {mistake}"]
    if vector and any(name in _names(where) for name in ("i", "x", "p", "q", "top")):
        return [f"{name} = {style.words['np']}.where({where}, {mistake}, {name})"]
    return [f"if {where}:", f"    {name} = {mistake}"]


def _names(text: str) -> set[str]:
    return set(compile(text, "", "eval").co_names)
