/* Record the steps of a file by the C header: record_file FILE FOLDER VOCABULARY LISTED SHARD_STEPS ONE_OF SEED.
   A step: 11 numbers (request, drafts, emitted, history, unknown; whether there are a draft, parents, uniforms, logprobs,
   logits; settings 0, 1 or 2), then its arrays in the order read below. */
#include "draftproof_recording.h"

static const void *part(FILE *file, int given, size_t bytes) {
    void *data = given ? malloc(bytes ? bytes : 1) : NULL;
    if (given && fread(data, 1, bytes, file) != bytes) exit(9);
    return data;
}

int main(int count, char **arguments) {
    const char *settings[] = {NULL, "{\"temperature\": 0.5}", "{\"note\": \"\\u00e9\\\"\", \"temperature\": 0.7}"};
    draftproof_options options = {0};
    if (count < 8) return 9;
    FILE *file = fopen(arguments[1], "rb");
    options.vocabulary = atoi(arguments[3]), options.listed = atoi(arguments[4]), options.shard_steps = atoi(arguments[5]);
    options.one_of = atoi(arguments[6]), options.seed = atoll(arguments[7]);
    options.rule = "token", options.engine = "a \"C\" engine", options.settings = "{\"top_k\": 0}";
    draftproof_recorder *recorder = draftproof_begin(arguments[2], &options);
    int32_t n[11];
    for (int place = 0; fread(n, sizeof n, 1, file) == 1; place++) {
        size_t V = (size_t)options.vocabulary, D = (size_t)n[1], E = (size_t)n[2];
        draftproof_step step = {0};
        step.target = (const float *)part(file, 1, (D + 1) * V * 4);
        step.draft = (const float *)part(file, n[5], D * V * 4);
        step.logits = (const float *)part(file, n[9], (D + 1) * V * 4);
        step.drafts = (const int32_t *)part(file, 1, D * 4);
        step.parents = (const int32_t *)part(file, n[6], D * 4);
        step.emitted = (const int32_t *)part(file, 1, E * 4);
        step.history = (const int32_t *)part(file, n[3] >= 0, (size_t)(n[3] > 0 ? n[3] : 0) * 4);
        step.uniforms = (const double *)part(file, n[7], D * 8);
        step.logprobs = (const double *)part(file, n[8], E * 8);
        step.draft_count = n[1], step.emitted_count = n[2], step.history_count = n[3], step.unknown_draft = n[4];
        step.settings = settings[n[10]], step.request = n[0], step.place = place, step.slot = n[0] % 3 - 1;
        if (draftproof_chosen(recorder)) draftproof_record(recorder, &step);
    }
    draftproof_flush(recorder);
    printf("%lld %lld %lld %s\n", (long long)recorder->seen, (long long)recorder->recorded, (long long)recorder->failed,
           recorder->error);
    draftproof_end(recorder);
    return 0;
}
