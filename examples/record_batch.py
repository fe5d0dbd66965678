"""A batched verification loop in torch that records its steps: ``draftproof steps batched`` judges them."""

from zlib import crc32

import torch

from draftproof.recording import Recorder

recorder = Recorder("batched", vocabulary=20, rule="token", engine="my loop")


def verify_batch(target, draft, drafts):
    """Token verification. target: [B, G + 1, V]. Return [B, G + 1], -1 behind the last token."""
    p, q = (rows.gather(2, drafts[..., None])[..., 0] for rows in (target[:, :-1], draft))
    accepted = (torch.rand_like(q) * q < p).int().cumprod(1).sum(1)
    residual = torch.cat([(target[:, :-1] - draft).clamp(min=0), target[:, -1:]], 1)
    last = torch.multinomial(residual[torch.arange(len(drafts)), accepted], 1)
    place = torch.arange(drafts.shape[1] + 1)
    out = torch.cat([drafts, last], 1).where(place < accepted[:, None], last)
    return out.where(place <= accepted[:, None], -1)


names, lengths = ["request-a", "request-b", "request-c"], torch.zeros(3, dtype=torch.int64)
for _ in range(50):
    target, draft = torch.rand(3, 3, 20).softmax(-1), torch.rand(3, 2, 20).mul(3).softmax(-1)
    drafts = torch.stack([torch.multinomial(rows, 1)[:, 0] for rows in draft])
    emitted = verify_batch(target, draft, drafts)
    for k, name in enumerate(names):
        if recorder.chosen():
            recorder.step(
                target[k], drafts[k], emitted[k], draft[k], request=crc32(name.encode()), place=int(lengths[k]), slot=k
            )
    lengths += (emitted >= 0).sum(1)
recorder.close()
assert recorder.failed == 0
