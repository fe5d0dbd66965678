// A token verification loop that records its steps; wrong with --wrong: the replacement is drawn from the target.
//
//   g++ -O2 -I "$(dirname "$(python -c 'import draftproof.recording as r; print(r.header())')")" -o record_steps record_steps.cpp
//   ./record_steps FOLDER && draftproof steps FOLDER
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include "draftproof_recording.h"

using Row = std::vector<float>;
static std::mt19937_64 engine(20261129);

static double uniform() { return std::uniform_real_distribution<double>()(engine); }

static int draw(const Row& weights) {
    return std::discrete_distribution<int>(weights.begin(), weights.end())(engine);
}

static void softmax(const Row& logits, float* row) {
    float top = *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (float logit : logits) sum += std::exp(logit - top);
    for (size_t x = 0; x < logits.size(); x++) row[x] = float(std::exp(logits[x] - top) / sum);
}

// Rows of both models: the draft's logits are the target's and some noise.
static void forward(int vocabulary, int gamma, Row& target, Row& draft) {
    std::normal_distribution<float> noise;
    for (int i = 0; i <= gamma; i++) {
        Row logits(vocabulary);
        for (float& logit : logits) logit = 2.5f * noise(engine);
        softmax(logits, &target[i * vocabulary]);
        for (float& logit : logits) logit += 0.7f * noise(engine);
        if (i < gamma) softmax(logits, &draft[i * vocabulary]);
    }
}

int main(int count, char** arguments) {
    if (count < 2) return std::fprintf(stderr, "expected a folder to record in\n"), 2;
    const bool wrong = count > 2 && !std::strcmp(arguments[2], "--wrong");
    const int vocabulary = 500, gamma = 4, steps = 1000;

    draftproof_options options = {};
    options.vocabulary = vocabulary;
    options.rule = "token";
    options.engine = "examples/record_steps.cpp";
    options.device = "cpu";
    draftproof_recorder* recorder = draftproof_begin(arguments[1], &options);

    Row target((gamma + 1) * vocabulary), draft(gamma * vocabulary);
    for (int number = 0; number < steps; number++) {
        forward(vocabulary, gamma, target, draft);
        std::vector<int32_t> drafts, emitted;
        for (int i = 0; i < gamma; i++) {
            Row q(&draft[i * vocabulary], &draft[i * vocabulary] + vocabulary);
            drafts.push_back(draw(q));
        }
        const bool chosen = draftproof_chosen(recorder);
        for (int i = 0; i <= gamma; i++) {
            const float *p = &target[i * vocabulary], *q = draft.data() + i * vocabulary;
            if (i < gamma && uniform() * q[drafts[i]] < p[drafts[i]]) {
                emitted.push_back(drafts[i]);
                continue;
            }
            Row weights(p, p + vocabulary);
            for (int x = 0; x < vocabulary && i < gamma && !wrong; x++) weights[x] = std::max(p[x] - q[x], 0.0f);
            emitted.push_back(draw(weights));
            break;
        }
        if (!chosen) continue;
        draftproof_step step = {};
        step.target = target.data();
        step.draft = draft.data();
        step.drafts = drafts.data();
        step.draft_count = gamma;
        step.emitted = emitted.data();
        step.emitted_count = int32_t(emitted.size());
        step.request = number / 100;
        step.place = number % 100;
        step.slot = -1;
        draftproof_record(recorder, &step);
    }
    if (recorder && recorder->error[0]) std::fprintf(stderr, "recorder: %s\n", recorder->error);
    draftproof_end(recorder);
}
