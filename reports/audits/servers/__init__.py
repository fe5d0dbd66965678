"""A decoder behind a URL, sampled through the OpenAI completions API: draftproof engine URL.

completions   one request: its answer as texts, or how it failed
words         token ids <-> the texts of a forged tokenizer
kinds         the kinds of requests (alone, together, streamed, ...) and the law of their texts
rows          rows under temperature, top-k and top-p
settings      how a server is asked
journal       what was sent and answered, in a file that a killed run goes on from
sampling      many requests at once; what is refused is asked again, what is lost is not
seen          what answers show besides their texts
audit         the examination of a server, and its report
"""
