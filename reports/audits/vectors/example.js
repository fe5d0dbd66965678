// Answers draftproof's test vectors, without draftproof: node example.js vectors.json results.json
// Block verification (Sun et al. 2025, Algorithm 2), one request at a time. Put your own verifier in its place.
const fs = require("fs");

const sum = (row) => row.reduce((a, b) => a + b, 0);

function residual(p, q, survival) {
  return p.map((value, x) => Math.max(survival * value - q[x], 0));
}

// The first token whose running sum exceeds the uniform's share; one without weight never.
function lookUp(weights, uniform) {
  const goal = uniform * sum(weights);
  let done = 0, last = 0;
  for (let x = 0; x < weights.length; x++) {
    if (weights[x] > 0) {
      done += weights[x];
      last = x;
      if (done > goal) break;
    }
  }
  return last;
}

function verify(target, draft, tokens, accept, last) {
  const gamma = tokens.length, survival = [1];
  tokens.forEach((x, i) => {
    const p = target[i][x], q = draft[i][x];
    survival.push(Math.min(survival[i] * (q > 0 ? p / q : Number(p > 0)), 1));
  });
  const thresholds = tokens.map((_, k) => {
    const i = k + 1;
    if (i === gamma) return survival[gamma];
    const surplus = sum(residual(target[i], draft[i], survival[i]));
    return surplus + 1 - survival[i] > 0 ? surplus / (surplus + 1 - survival[i]) : 1;
  });
  let accepted = gamma;
  while (accepted > 0 && !(accept[accepted - 1] < thresholds[accepted - 1])) accepted--;
  const weights = accepted < gamma ? residual(target[accepted], draft[accepted], survival[accepted]) : target[gamma];
  return { thresholds, accepted, weights, emitted: [...tokens.slice(0, accepted), lookUp(weights, last)] };
}

const [vectorsFile, resultsFile] = process.argv.slice(2);
const suite = JSON.parse(fs.readFileSync(vectorsFile, "utf8")), results = {};
for (const vector of suite.vectors.filter((v) => v.rule === "block")) {
  const n = vector.drafted, { accept, last } = vector.random; // behind n a batch is filled up
  const rows = [vector.target.numbers.slice(0, n + 1), vector.draft.numbers.slice(0, n), vector.tokens.slice(0, n)];
  results[vector.id] = verify(...rows, accept.numbers, last.numbers);
}
fs.writeFileSync(resultsFile, JSON.stringify({
  format: "draftproof-results-1", vectors: suite.digest, program: "example.js", dtype: "float64",
  rules: ["block"], gives: ["thresholds", "accepted", "weights", "emitted"], results,
}));
