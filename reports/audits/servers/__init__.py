"""A decoder behind a URL, sampled through the OpenAI completions API: draftproof engine URL.

completions   one request: its answer as texts, or how it failed
kinds         tokens as texts, the kinds of requests (alone, together, streamed, ...) and the law of their texts
settings      how a server is asked, and its rows under temperature, top-k and top-p
journal       what was sent and answered, in a file that a killed run goes on from
sampling      many requests at once; what is refused is asked again, what is lost is not
remarks       what answers show beyond their texts
audit         the examination of a server, and its report

With --grid, every setting, and every token of every text against its row:

requests      the rows of the grid, and settings in the words of each kind of server
next_tokens   contexts of tokens, and their counts against their rows
reported      logprobs, of text and prompt, each against its row
grid          the examination of a server under every setting, and of the same without speculation
"""
