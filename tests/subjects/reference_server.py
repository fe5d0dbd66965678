"""A server of the OpenAI completions API around a small checkpoint: it emits, and reports, rows of an arithmetic of its
own, and has faults to order."""

from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from threading import Lock, Thread

import numpy as np
import torch

from draftproof.tests.subjects.answering import AnsweringHandler

HOT, NUCLEUS, DRAFT_IN_TEN, OTHER, SILENT, NO_IDS, BEYOND, TEMPLATE, CUT_SHORT, ONE_SEED = (
    "hot", "nucleus", "draft in one block of ten", "another model", "no logprobs", "no ids", "an id beyond",
    "another template", "cut short", "one seed",
)  # fmt: skip
BLOCK = 4


class Server(ThreadingHTTPServer):
    """drift: standard deviation of what its arithmetic adds to each logit, the same for the same context."""

    daemon_threads = True

    def __init__(self, model, draft, fault="", drift=0.02, tokenizer=None):
        super().__init__(("127.0.0.1", 0), Handler)
        self.model, self.draft, self.fault, self.drift, self.lock = model, draft, fault, drift, Lock()
        self.tokenizer = tokenizer
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def row(self, model, text):
        """The law after a text, in this server's arithmetic."""
        with self.lock, torch.inference_mode():
            logits = model(torch.tensor([text]), use_cache=False).logits[0, -1].double().numpy()
        noise = np.random.default_rng((len(text), *text[-4:])).normal(size=len(logits))
        return softmax(logits + self.drift * noise)

    def text(self, body):
        rng = np.random.default_rng(7 if self.fault == ONE_SEED else body["seed"])
        text, tokens, tops, block = list(body["prompt"]), [], [], False
        while len(tokens) < (min(body["max_tokens"], 3) if self.fault == CUT_SHORT else body["max_tokens"]):
            if len(tokens) % BLOCK == 0:
                block = self.fault == DRAFT_IN_TEN and rng.random() < 0.1
            row = self.row(self.draft if block or self.fault == OTHER else self.model, text)
            law = row
            if self.fault == HOT:
                law = softmax(np.log(row) / 1.25)
            if self.fault == NUCLEUS:
                order = np.argsort(-row)
                kept = order[: np.searchsorted(np.cumsum(row[order]), 0.9) + 1]
                law = np.where(np.isin(np.arange(len(row)), kept), row, 0)
            token = int(rng.choice(len(law), p=law / law.sum()))
            if token == 1:  # the end of the text is not among its tokens, as with llama.cpp
                return tokens, tops, "stop"
            tokens.append(token)
            tops.append([{"id": int(k), "logprob": float(np.log(row[k]))} for k in np.argsort(-row)[:20]])
            text.append(token)
        return tokens, tops, "length"


class Handler(AnsweringHandler):
    server: Server

    def do_POST(self):
        body, fault = self.body(), self.server.fault
        if "messages" in body:
            return self.chat(body)
        tokens, tops, ended = self.server.text(body)
        shown = [token + 10_000 * (fault == BEYOND) for token in tokens]
        content = [{"id": token, "top_logprobs": [] if fault == SILENT else top} for token, top in zip(shown, tops)]
        said = {"content": content} if fault != NO_IDS else {"content": [{"token": "a"} for _ in content]}
        self.reply({"choices": [{"text": "a" * len(tokens), "index": 0, "finish_reason": ended, "logprobs": said}]})
        return None

    def chat(self, body):
        """Answer as vLLM's chats do: tokens are named by their ids, and the prompt's are shown."""
        server, tokenizer = self.server, self.server.tokenizer
        text = tokenizer.apply_chat_template(body["messages"], tokenize=False, add_generation_prompt=True)
        text += " " * (server.fault == TEMPLATE)
        prompt = tokenizer(text, add_special_tokens=False)["input_ids"]
        tokens, tops, ended = server.text(body | {"prompt": prompt, "max_tokens": body["max_tokens"]})
        content = [
            {"token": f"token_id:{token}", "top_logprobs":
             [{"token": f"token_id:{one['id']}", "logprob": one["logprob"]} for one in top[: body["top_logprobs"]]]}
            for token, top in zip(tokens, tops)
        ]  # fmt: skip
        message = {"role": "assistant", "content": "a" * len(tokens)}
        choice = {"message": message, "index": 0, "finish_reason": ended, "logprobs": {"content": content}}
        self.reply({"choices": [choice | {"token_ids": tokens}], "prompt_token_ids": prompt})


def softmax(logits):
    law = np.exp(logits - logits.max())
    return law / law.sum()


@contextmanager
def serving(*arguments, kind=Server, **options):
    """The URL of such a server, or of one made from it."""
    with kind(*arguments, **options) as server:
        Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield server.url
        finally:
            server.shutdown()
