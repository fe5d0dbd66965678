// Token verification (Leviathan et al. 2023) in JavaScript, as a program that draftproof drives:
//     draftproof audit --exec "node examples/driven.js"
// With --wrong the replacement is drawn from the target, not from the residual: refuted.
"use strict";
const wrong = process.argv.includes("--wrong");

// The Gumbel-max trick: each token with its weight's share.
function race(weights, noise) {
  let best = 0;
  for (let x = 1; x < weights.length; x++) {
    if (Math.log(weights[x]) + noise[x] > Math.log(weights[best]) + noise[best]) best = x;
  }
  return best;
}

function verify({ target, draft, tokens, random }) {
  for (let i = 0; i < tokens.length; i++) {
    const x = tokens[i];
    if (random.accept[i] * draft[i][x] >= target[i][x]) {
      const residual = target[i].map((p, y) => Math.max(p - draft[i][y], 0));
      return [...tokens.slice(0, i), race(wrong ? target[i] : residual, random.last)];
    }
  }
  return [...tokens, race(target[tokens.length], random.last)];
}

function parsed(line) {
  try {
    const request = JSON.parse(line);
    if (Number.isInteger(request?.id)) return request;
  } catch {}
  console.error(`no request: '${line.slice(0, 60)}'; expected {"id": .., "target": .., ...}`);
  process.exit(2);
}

function answer(line) {
  const request = parsed(line);
  try {
    return { id: request.id, emitted: verify(request) };
  } catch (error) {
    return { id: request.id, error: String(error) };
  }
}

console.log(JSON.stringify({
  protocol: "draftproof-1", name: "driven.js", version: "1", dtype: "float64", batch: 256,
  random: [
    { name: "accept", kind: "uniform", shape: ["gamma"], bits: 53 },
    { name: "last", kind: "gumbel", shape: ["V"] },
  ],
}));

let unread = "";
process.stdin.setEncoding("utf8");
process.stdin.on("data", (text) => {
  const lines = (unread + text).split("\n");
  unread = lines.pop();
  if (lines.length > 0) process.stdout.write(lines.map((line) => JSON.stringify(answer(line)) + "\n").join(""));
});
