"""FastDeploy 39d329f, verify_strategy topp: a drafted token is kept where it is one of the likeliest, whatever its row.

Given: verify_draft_tokens.cpp of custom_ops/xpu_ops/src/plugin/src/wrapper/mtp_wrapper, whose form for CPUs is compiled
here; needs g++. Drafts are 0 and 1 in turn, the target's row is 1/3 2/3. Expected: token 0 in a third of the runs.
"""

import subprocess
import sys

MAIN = """int main() {
  int64_t likeliest[] = {1, 0, 1, 0}, input[] = {9, 0}, out[2], end = -9, most = 99, step = 0;
  float scores[] = {2 / 3.f, 1 / 3.f, 2 / 3.f, 1 / 3.f}, u, top_p = 1;
  int lens[] = {2, 2}, len, zero = 0, two = 2, count = 0, runs = 3000;
  bool no = false;
  for (int k = 0; k < runs; k++) {
    input[1] = k % 2, u = (k + .5f) / runs;
    cpu_wrapper(nullptr, out, &len, input, nullptr, likeliest, scores, lens, &u, &top_p, &no, &zero, &two, &end, &no,
                &zero, &zero, &most, &step, 1, 1, 2, 1, 99, 2, 2, 0, false, false);
    count += out[0] == 0;
  }
  printf("token 0: expected .3333, seen %.4f\\n", count / (double)runs);
}"""
with open(sys.argv[1], encoding="utf-8") as file:
    rule = file.read().split("// Phase 1 helpers")[1].partition("\n")[2].split("static int xpu3_wrapper(")[0]
given = "#include <cstdint>\n#include <cstdio>\nnamespace api { struct Context; enum { SUCCESS }; }\n"
subprocess.run(["g++", "-x", "c++", "-", "-o", "topp"], input=given + rule + MAIN, text=True, check=True)
subprocess.run(["./topp"], check=True)  # .5
