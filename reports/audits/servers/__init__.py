"""A decoder behind a URL, sampled through the OpenAI completions API: draftproof server URL.

What all three audits use:

completions    one request: its answer as texts, or how it failed
words          tokens as texts
requests       kinds of requests (alone, together, streamed, ...) and the law of their texts
settings       how a server is asked, and its rows under temperature, top-k and top-p
journal        what was sent and answered, in a file that a killed run goes on from
sampling       many requests at once; refused ones are sent again, lost ones are not
remarks        what answers show beyond their texts
examination    what the three audits share: connections, the journal, the report's part on the server

audit          --target: each kind of request, its texts against the forged law

grid_audit     --target --grid: every setting, every token of every text against its row
dialects       settings in the parameter names of each kind of server
row_requests   the requests of one row of the grid
next_tokens    contexts of tokens, and their counts against their rows
reported       logprobs, of text and prompt, each against its row

sweep          --target --sweep: the same requests with more and more of them in flight

reference      --reference: real weights, every token bet on under their rows
"""
