"""A forged draft as an EAGLE head, for engines that take no other drafts."""

import json
from math import sqrt
from pathlib import Path

from draftproof.models.forge_llama import EMBEDDING


def save_eagle_head(target: Path, draft: Path, folder: Path) -> None:
    """Write a forged draft's law as an EAGLE head: a layer between the target's embedding and its last layer.

    log q(. | k) = last layer @ x_k - c_k, sum x_k = sqrt(H); x_k = fc @ (embedding of k, the target's hidden state),
    by least squares. The hidden state has no weight. Where the target's rows do not span the draft's, its law is the
    nearest one.
    """
    import torch
    from safetensors.torch import load_file, save_file

    weights = load_file(draft / "model.safetensors")
    heads = [load_file(one / "model.safetensors")["lm_head.weight"].double() for one in (target, draft)]
    vocabulary, size = json.loads((draft / "config.json").read_bytes())["bos_token_id"], heads[0].shape[1]
    rows, asked = (head[:vocabulary, : vocabulary + 1] for head in heads)
    ones = torch.ones(1, vocabulary + 1, dtype=torch.float64)
    known = torch.cat([torch.cat([rows, -ones[:, :vocabulary].T], 1), torch.cat([ones, ones[:, :1] * 0], 1)])
    wanted = torch.cat([asked * sqrt(size), ones * sqrt(size)])
    solved = torch.linalg.lstsq(known, wanted, driver="gelsd").solution[:-1]
    fc = torch.zeros(size, 2 * size)
    fc[: vocabulary + 1, : vocabulary + 1] = solved / EMBEDDING
    layer = {name.removeprefix("model."): tensor for name, tensor in weights.items() if ".layers." in name}
    del layer["layers.0.input_layernorm.weight"]
    folder.mkdir(exist_ok=True)
    save_file({**layer, "fc.weight": fc.to(weights["lm_head.weight"].dtype)}, folder / "model.safetensors")
    (folder / "config.json").write_bytes((draft / "config.json").read_bytes())
