"""Token verification in torch that draws the last token by the thresholds of a running sum, or by its weights."""

import torch


def ending(last):
    """... by last(weights, generator)."""

    def verify(target_probs, draft_probs, draft_tokens, generator):
        emitted = []
        for i, x in enumerate(draft_tokens.tolist()):
            u = torch.rand((), generator=generator, dtype=torch.float64)
            if u >= target_probs[i, x] / draft_probs[i, x]:
                return [*emitted, last((target_probs[i] - draft_probs[i]).clamp(min=0), generator)]
            emitted.append(x)
        return [*emitted, last(target_probs[-1], generator)]

    return verify


def drawing(summed):
    """... by the thresholds of summed(weights)."""

    def last(weights, generator):
        sums = summed(weights)
        u = torch.rand(1, generator=generator, dtype=sums.dtype) * sums[-1]
        return int((sums > u).to(torch.uint8).argmax())

    return ending(last)


by_thresholds = drawing(lambda weights: weights.cumsum(0))
without_the_last_tile = drawing(
    lambda weights: weights.index_fill(0, torch.arange(len(weights) // 64 * 64, len(weights)), 0).cumsum(0)
)
by_weights_of_several = ending(
    lambda weights, generator: int(torch.multinomial(weights, 2, replacement=True, generator=generator)[1])
)


def _races(target, draft, tokens, generator, winner):
    for i, x in enumerate(tokens):
        if not torch.rand((), dtype=target.dtype, generator=generator) * draft[i, x] < target[i, x]:
            rest = (target[i] - draft[i]).clamp(min=0)
            return [*tokens[:i].tolist(), winner(rest if rest.sum() > 0 else target[i].clone(), generator)]
    return [*tokens.tolist(), winner(target[-1].clone(), generator)]


def _noise(weights, generator):
    return torch.empty_like(weights).exponential_(generator=generator)


def racing(winner):
    """Make token verification whose last token is winner(weights, generator)."""
    return lambda target_probs, draft_probs, draft_tokens, generator: _races(
        target_probs, draft_probs, draft_tokens, generator, winner
    )


def race_of(change):
    """Make token verification by a race of change(noise)."""
    return racing(lambda w, g: int((w / change(_noise(w, g))).argmax()))


race_in_place = racing(  # as vLLM draws tokens
    lambda w, g: int(w.unsqueeze(0).clone().div_(_noise(w, g)).argmax(dim=-1).view(-1)[0])
)
race_of_logarithms = racing(lambda w, g: int((w.log() - _noise(w, g).log_()).max(dim=-1).indices))
race_to_a_power, race_of_capped_noise = race_of(lambda e: e.pow(1.05)), race_of(lambda e: e.clamp(max=0.01))
race_with_less_of_one = race_of(lambda e: e * torch.where(torch.arange(len(e)) == 1, 1.02, 1.0).to(e.dtype))
race_of_running_sums, race_of_a_softmax = race_of(lambda e: e.cumsum(0)), race_of(lambda e: e.softmax(0))
race_of_stairs, race_of_a_sine = race_of(lambda e: (e * 8).floor()), race_of(lambda e: e.sin() + 2)
race_through_a_matrix = race_of(lambda e: torch.eye(len(e), dtype=e.dtype).roll(1, 0) @ e)


def race_in_rows(target_probs, draft_probs, draft_tokens, generator):
    """All noise is drawn at first, a row for each position."""
    noise = torch.empty_like(target_probs).exponential_(generator=generator)
    rows = iter([*range(len(target_probs))])
    return _races(target_probs, draft_probs, draft_tokens, generator,
                  lambda w, g: int((w / noise[next(rows)]).argmax()))  # fmt: skip


@racing
def race_changed_through_a_view(weights, generator):
    noise = _noise(weights, generator)
    row = noise.view(1, -1)
    noise.pow_(2.0)
    return int((weights / row).argmax())


@racing
def race_run_twice(weights, generator):
    noise = _noise(weights, generator)
    best = int((weights / noise).argmax())
    weights[best] = 0
    return max(best, int((weights / noise).argmax()))


def on_logits(change=lambda logits: None):
    """Token verification on logits, the residual in the memory of the softmax. change: what happens to the logits."""

    def verify(target_probs, draft_probs, draft_tokens, generator):
        logits, q = target_probs.log(), draft_probs.log().softmax(-1)
        p = logits.softmax(-1)
        for i, x in enumerate(draft_tokens.tolist()):
            if torch.rand((), generator=generator, dtype=torch.float64) >= p[i, x] / q[i, x]:
                p[i].sub_(q[i]).clamp_(min=0)
                return [*draft_tokens[:i].tolist(), int(torch.multinomial(p[i], 1, generator=generator))]
        change(logits)
        return [*draft_tokens.tolist(), int(torch.multinomial(logits.softmax(-1)[-1], 1, generator=generator))]

    return verify


def raised_behind_torchs_back(logits):
    logits.numpy()[-1, 777] += 9.0


writes_to_its_softmax, changes_its_logits = on_logits(), on_logits(raised_behind_torchs_back)


def batched(row_of=lambda k: k, normalised=False):
    """All residuals and the bonus row raced at once, as engines do; the residual of equal rows has no mass."""

    def verify(target_probs, draft_probs, draft_tokens, generator):
        gamma, drafted = len(draft_tokens), draft_tokens[:, None]
        rows = torch.cat([(target_probs[:-1] - draft_probs).clamp(min=0), target_probs[-1:]])
        rows = rows / rows.sum(-1, keepdim=True) if normalised else rows
        winners = (rows / torch.empty_like(rows).exponential_(generator=generator)).argmax(-1)
        uniforms = torch.rand(gamma, dtype=target_probs.dtype, generator=generator)
        accepted = uniforms * draft_probs.gather(1, drafted)[:, 0] < target_probs[:-1].gather(1, drafted)[:, 0]
        k = int(accepted.long().cumprod(0).sum())
        return [*draft_tokens[:k].tolist(), int(winners[row_of(k)])]

    return verify


batched_race, batched_race_normalised = batched(), batched(normalised=True)
batched_race_of_the_row_before = batched(lambda k: max(k - 1, 0))
