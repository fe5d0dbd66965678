"""transformers 5.23, a draft with a tokenizer of its own: logits are put to other tokens than those they are of."""
import torch
from tokenizers import Tokenizer, models
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from transformers.generation.candidate_generator import AssistantToTargetTranslator


def tokenizer(*words):
    ids = {word: k for k, word in words}
    return PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel(ids, unk_token="a")))


target, draft = tokenizer((0, "a"), (1, "b"), (2, "c")), tokenizer((3, "a"), (2, "b"), (1, "c"), (0, "unused"))
size = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
model = LlamaForCausalLM(LlamaConfig(vocab_size=4, **size))
translate = AssistantToTargetTranslator(target, draft, 3, model, assistant_prune_lm_head=True)
for k in range(3):  # the draft draws its k-th token, whose logit is 0 and the others' -9
    drawn = translate.get_target_ids(torch.zeros(1, 0), torch.zeros(1, 0, dtype=int), torch.tensor([[k]]))[0, -1]
    logits = translate.get_target_logits(torch.full((1, 1, 3), -9.0).index_fill(-1, torch.tensor(k), 0.0))
    print("proposed token", int(drawn), "- most probable by the logits it is verified with", int(logits.argmax()))
