/* Record verification steps of a C, C++ or Rust engine: docs/recorded-steps.md. C99 or C++11, POSIX; link with -lm.
   SPDX-License-Identifier: Apache-2.0

   draftproof_options options = {0};                          what stays 0 is as in draftproof.recording.Recorder
   draftproof_recorder *recorder = draftproof_begin("FOLDER", &options);
   if (draftproof_chosen(recorder)) {                         at each step, before it is known what comes out
       draftproof_step step = {0}; ...; draftproof_record(recorder, &step); }
   draftproof_end(recorder);
   A step is reduced at once, in the caller's thread: some eight passes over each of its rows. A shard is written every
   shard_steps steps, and no more than these are held. It is not synced: a power cut may cost the last one. One thread
   at a time uses a recorder, and one recorder a folder. Nothing here ends the engine: a step that cannot be recorded is
   counted in recorder->failed, and recorder->error is the first reason.
   Other languages: a C file that defines DRAFTPROOF_API as nothing and includes this exports the functions. */
#ifndef DRAFTPROOF_RECORDING_H
#define DRAFTPROOF_RECORDING_H
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#ifndef DRAFTPROOF_API
#define DRAFTPROOF_API static inline
#endif
/* Options, as those of Recorder. settings: of all requests, the text of a JSON object. dtype: not float64. */
typedef struct {
    int32_t vocabulary, listed, shard_steps;
    int64_t one_of, seed;
    const char *dtype, *rule, *settings, *engine, *engine_version, *device;
} draftproof_options;
/* A step. What may be NULL is marked (?). drafts, parents(?), emitted, request, place, slot: as in Recorder.step.
   target: [drafts + 1][vocabulary], of the context, then behind each drafted token.
   draft(?): [drafts][vocabulary]; NULL: each drafted token was certain, or with unknown_draft nothing is known of it.
   uniforms(?): [drafts]. logprobs(?): [emitted]. logits(?): as target, before any setting. settings(?): as above. */
typedef struct {
    const float *target, *draft, *logits;
    const int32_t *drafts, *parents, *emitted, *history;
    const double *uniforms, *logprobs;
    const char *settings;
    int64_t request, place, slot;
    int32_t draft_count, emitted_count, history_count, unknown_draft;
} draftproof_step;
/* Arrays of a shard: name, type, columns (0: one dimension), optional. The widest come first: so all are aligned. */
#define DPR_ARRAYS(X) X(draft_offsets, I64, 0, 0) X(emitted_offsets, I64, 0, 0) X(row_offsets, I64, 0, 0) \
    X(history_offsets, I64, 0, 1) X(request, I64, 0, 0) X(place, I64, 0, 0) X(slot, I64, 0, 0) X(uniforms, F64, 0, 1) \
    X(logprobs, F64, 0, 1) X(logits_rest, F64, 0, 1) X(settings, I32, 0, 0) X(draft_tokens, I32, 0, 0) \
    X(draft_parents, I32, 0, 0) X(emitted, I32, 0, 0) X(ids, I32, 0, 0) X(natural, I32, 0, 0) X(rest_count, I32, 0, 0) \
    X(history, I32, 0, 1) X(target, F32, 0, 0) X(draft, F32, 0, 0) X(logits, F32, 0, 1) X(rest_target, F32, 34, 0) \
    X(rest_draft, F32, 34, 0) X(highest, F32, 2, 0) X(draft_known, U8, 0, 0)
#define DPR_NUMBER(name, type, columns, optional) DPR_##name,
enum { DPR_ARRAYS(DPR_NUMBER) DPR_COUNT, DPR_texts = DPR_COUNT, DPR_own, DPR_ALL, DPR_EDGES = 33 };
typedef struct { char *data; size_t size, room; } dpr_buffer;
/* seen, recorded, failed: steps. arrays: of the shard; then settings of requests, as a JSON list whose last one begins
   at last_text, and the step's own tokens. weights: of a row, as integers. zeros: for a draft's row. */
typedef struct {
    int64_t seen, recorded, failed;
    char folder[900], error[200];
    draftproof_options o;
    dpr_buffer header, arrays[DPR_ALL];
    uint32_t *weights; float *zeros; size_t last_text; double edges[DPR_EDGES];
    int32_t steps, number, closed, lacking, text_count, given[DPR_COUNT];
} draftproof_recorder;
/* Count failed steps, and keep the first reason. */
static inline void dpr_fails(draftproof_recorder *r, int64_t steps, const char *where, const char *reason) {
    if (!r->error[0]) snprintf(r->error, sizeof r->error, "%.60s%.120s", where, reason);
    r->failed += steps;
}
/* Add bytes to a buffer; behind its last one there is always a 0. */
static inline void dpr_add(draftproof_recorder *r, dpr_buffer *to, const void *data, size_t size) {
    size_t room = to->size + size < to->room ? to->room : 2 * (to->size + size) + 64;
    char *larger = room == to->room ? to->data : (char *)realloc(to->data, room);
    r->lacking |= !larger;
    if (!larger) return;
    to->data = larger, to->room = room;
    if (size) memcpy(to->data + to->size, data, size);
    to->data[to->size += size] = 0;
}
#define DPR_ADD(name, type, value) \
    do { type dpr_value = (type)(value); dpr_add(r, &r->arrays[DPR_##name], &dpr_value, sizeof dpr_value); } while (0)
/* Add a text of at most 400 characters. */
static inline void dpr_text(draftproof_recorder *r, dpr_buffer *to, const char *form, ...) {
    char text[400]; va_list values;
    va_start(values, form), vsnprintf(text, sizeof text, form, values), va_end(values);
    dpr_add(r, to, text, strlen(text));
}
/* Add a text, and behind it another one as a JSON string. */
static inline void dpr_quote(draftproof_recorder *r, dpr_buffer *to, const char *before, const char *text) {
    dpr_text(r, to, "%s\"", before);
    for (const unsigned char *c = (const unsigned char *)text; c && *c; c++)
        dpr_text(r, to, *c < 32 ? "\\u%04x" : *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
    dpr_text(r, to, "\"");
}
/* Write a file of the folder whole, or not at all. Return whether it was written; if not, errno says why. */
static inline int dpr_write(draftproof_recorder *r, const char *name, const dpr_buffer *content) {
    char path[1000], part[1000];
    snprintf(path, sizeof path, "%s/%s", r->folder, name), snprintf(part, sizeof part, "%s/.%s.part", r->folder, name);
    FILE *file = fopen(part, "wb");
    int good = file && fwrite(content->data, 1, content->size, file) == content->size, reason;
    if (file && fclose(file)) good = 0;
    if (good && !rename(part, path)) return 1;
    return reason = errno, remove(part), errno = reason, 0;
}
/* Empty all arrays, and begin those of offsets. */
static inline void dpr_clear(draftproof_recorder *r) {
    for (int i = 0; i < DPR_ALL; i++) r->arrays[i].size = 0;
    for (int i = 0; i < 4; i++) dpr_add(r, &r->arrays[i], "\0\0\0\0\0\0\0", 8);
    memset(r->given, 0, sizeof r->given), r->text_count = 0, r->steps = 0;
}
/* Write the steps that are held as a shard, as is done every shard_steps steps and at the end. */
DRAFTPROOF_API void draftproof_flush(draftproof_recorder *r) {
#define DPR_KIND(name, type, columns, optional) {#name, #type, columns, optional},
    static const struct { const char *name, *type; int columns, optional; } kinds[] = {DPR_ARRAYS(DPR_KIND)};
    dpr_buffer file = {0, 0, 0};
    long long at = 0;
    char path[1000]; struct stat there;
    if (!r || r->closed || (!r->steps && r->number && !r->failed)) return;
    r->lacking = 0, dpr_add(r, &file, "        ", 8); /* of the header that follows, its length */
    dpr_text(r, &file, "{\"__metadata__\":{\"seen\":\"%lld\",\"recorded\":\"%lld\",\"failed\":\"%lld\"",
             (long long)r->seen, (long long)r->recorded + r->steps, (long long)r->failed);
    dpr_quote(r, &file, ",\"recording\":", r->header.data), dpr_quote(r, &file, ",\"error\":", r->error);
    dpr_text(r, &r->arrays[DPR_texts], r->text_count ? "]" : "[]");
    dpr_quote(r, &file, ",\"settings\":", r->arrays[DPR_texts].data);
    for (int i = 0; i < DPR_COUNT; i++) {
        if (kinds[i].optional && !r->given[i]) { r->arrays[i].size = 0; continue; }
        long long size = (long long)r->arrays[i].size, width = atoi(kinds[i].type + 1) / 8, columns = kinds[i].columns;
        dpr_text(r, &file, "%s,\"%s\":{\"dtype\":\"%s\",\"shape\":[%lld", i ? "" : "}", kinds[i].name, kinds[i].type,
                 size / width / (columns ? columns : 1));
        dpr_text(r, &file, columns ? ",%d],\"data_offsets\":[" : "],\"data_offsets\":[", (int)columns);
        dpr_text(r, &file, "%lld,%lld]}", at, at + size), at += size;
    }
    dpr_text(r, &file, "}%*s", (int)(7 - file.size % 8), "");
    for (int i = 0; i < 8 && !r->lacking; i++) file.data[i] = (char)((uint64_t)(file.size - 8) >> 8 * i);
    for (int i = 0; i < DPR_COUNT; i++) dpr_add(r, &file, r->arrays[i].data, r->arrays[i].size);
    do snprintf(path, sizeof path, "%s/steps-%06d.safetensors", r->folder, (int)r->number);
    while (!stat(path, &there) && ++r->number); /* no shard is written over, not even another recorder's */
    if (!r->lacking && dpr_write(r, path + strlen(r->folder) + 1, &file)) r->recorded += r->steps, r->number++;
    else dpr_fails(r, r->steps, "a shard: ", r->lacking ? "no memory left" : strerror(errno));
    free(file.data), dpr_clear(r);
}
/* Begin a recording in a folder, or go on with one of the same header. Return NULL only where there is no memory. */
DRAFTPROOF_API draftproof_recorder *draftproof_begin(const char *folder, const draftproof_options *options) {
    static const double octave[] = {1.0, 1.189207115002721, 1.4142135623730951, 1.681792830507429};
    draftproof_recorder *r = (draftproof_recorder *)calloc(1, sizeof *r);
    if (!r) return NULL;
    draftproof_options *o = &r->o;
    *o = *options, o->listed = o->listed ? o->listed : 256, o->shard_steps = o->shard_steps ? o->shard_steps : 512;
    o->one_of = o->one_of ? o->one_of : 1, o->settings = o->settings ? o->settings : "{}";
    o->dtype = o->dtype ? o->dtype : "float32", o->rule = o->rule ? o->rule : "unknown";
    int good = o->vocabulary > 0 && o->one_of > 0 && o->listed > 0 && o->shard_steps > 0;
    good &= !strcmp(o->dtype, "float32") || !strcmp(o->dtype, "float16") || !strcmp(o->dtype, "bfloat16");
    for (int i = 0; i < DPR_EDGES; i++) r->edges[i] = ldexp(octave[i % 4], i / 4 - 4);
    int length = snprintf(r->folder, sizeof r->folder, "%s", folder ? folder : "");
    good = good && length > 0 && length < (int)sizeof r->folder, dpr_clear(r);
    dpr_text(r, &r->header, "{\"form\": \"draftproof-recorded-steps\", \"version\": 1, \"vocabulary\": %d, \"chosen\": "
             "{\"one_of\": %lld, \"seed\": %lld, \"by\": \"splitmix64 of a counter and the seed\"}, \"listed\": %d, ",
             (int)o->vocabulary, (long long)o->one_of, (long long)o->seed, (int)o->listed);
    const char *named[][2] = {{"\"engine\": ", o->engine}, {", \"engine_version\": ", o->engine_version},
                              {", \"device\": ", o->device}, {", \"dtype\": ", o->dtype}, {", \"rule\": ", o->rule}};
    for (int i = 0; i < 5; i++) dpr_quote(r, &r->header, named[i][0], named[i][1]);
    dpr_text(r, &r->header, ", \"settings\": "), dpr_add(r, &r->header, o->settings, strlen(o->settings));
    dpr_text(r, &r->header, "}\n");
    r->weights = good ? (uint32_t *)malloc(sizeof *r->weights * (size_t)o->vocabulary) : NULL;
    r->zeros = good ? (float *)calloc((size_t)o->vocabulary, sizeof *r->zeros) : NULL;
    char path[1000], *there = (char *)malloc(r->header.size + 1);
    snprintf(path, sizeof path, "%s/header.json", r->folder);
    FILE *file = good && (mkdir(folder, 0777), 1) ? fopen(path, "rb") : NULL;
    size_t size = file && there ? fread(there, 1, r->header.size + 1, file) : 0;
    if (!good) dpr_fails(r, 0, "expected a folder, a vocabulary, numbers above 0, ", "float32 or half precision");
    else if (r->lacking || !r->weights || !r->zeros || !there) dpr_fails(r, 0, "no memory left", "");
    else if (file && (size != r->header.size || memcmp(there, r->header.data, size)))
        dpr_fails(r, 0, "header.json: ", "of another recording");
    else if (!file && !dpr_write(r, "header.json", &r->header)) dpr_fails(r, 0, "header.json: ", strerror(errno));
    r->closed = r->error[0] != 0, free(there);
    if (file) r->number = 1, fclose(file);
    return r;
}
/* Count a step, and return whether it is to be recorded: by a counter and the seed, never by what is in the step. */
DRAFTPROOF_API int draftproof_chosen(draftproof_recorder *r) {
    if (!r) return 0;
    uint64_t z = ((uint64_t)++r->seen ^ (uint64_t)r->o.seed << 32) + 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u; /* SplitMix64. Source: Steele, Lea and Flood 2014 */
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return !r->closed && (z ^ z >> 31) % (uint64_t)r->o.one_of == 0;
}
/* List a token of a row, once. */
static inline void dpr_list(draftproof_recorder *r, int32_t x, const float *p, const float *q, const float *l) {
    if (r->weights[x] == UINT32_MAX) return;
    DPR_ADD(ids, int32_t, x); DPR_ADD(target, float, p[x]); DPR_ADD(draft, float, q[x]);
    DPR_ADD(logits, float, l ? l[x] : NAN); r->weights[x] = UINT32_MAX;
}
/* Add a row: its largest entries and the step's own tokens one by one, the masses of all others by class of p / q. */
static inline void dpr_row(draftproof_recorder *r, const float *p, const float *q, const float *l) {
    int32_t V = r->o.vocabulary, left = r->o.listed < V ? r->o.listed : V, rest = 0;
    uint32_t least = 0, mask = 0;
    size_t before = r->arrays[DPR_ids].size;
    double mass[2][DPR_EDGES + 1] = {{0}}, highest[2] = {0, 0}, sum = 0, top = -HUGE_VAL;
    for (int32_t x = 0; l && x < V; x++) top = l[x] > top ? l[x] : top;
    for (int32_t x = 0; x < V; x++) {
        float weight = p[x] > q[x] ? p[x] : q[x], third = l ? expf(l[x] - (float)top) : 0;
        weight = third > weight ? third : weight > 0 ? weight : 0;
        memcpy(&r->weights[x], &weight, sizeof weight);
    }
    for (int shift = 24; shift >= 0; shift -= 8) { /* the weight of the last one listed, digit by digit */
        int32_t counts[256] = {0}, digit = 255;
        for (int32_t x = 0; x < V; x++) counts[r->weights[x] >> shift & 255] += (r->weights[x] & mask) == least;
        for (; digit && counts[digit] < left; digit--) left -= counts[digit];
        least |= (uint32_t)digit << shift, mask |= 255u << shift;
    }
    for (int32_t x = 0; x < V; x++)
        if (r->weights[x] && (r->weights[x] == least ? left-- > 0 : r->weights[x] > least)) dpr_list(r, x, p, q, l);
    DPR_ADD(natural, int32_t, (r->arrays[DPR_ids].size - before) / 4);
    const int32_t *own = (const int32_t *)(void *)r->arrays[DPR_own].data;
    for (size_t i = 0; i < r->arrays[DPR_own].size / 4; i++) dpr_list(r, own[i], p, q, l);
    top = -HUGE_VAL;
    for (int32_t x = 0; l && x < V; x++) top = r->weights[x] != UINT32_MAX && l[x] > top ? l[x] : top;
    for (int32_t x = 0; x < V; x++) {
        if (r->weights[x] == UINT32_MAX) continue;
        double ratio = q[x] > 0 ? (double)p[x] / q[x] : 1e300;
        int place = 0;
        if (l && top > -HUGE_VAL) sum += exp(l[x] - top);
        if (rest++, p[x] == 0 && q[x] == 0) continue; /* NaN stays: the row is none */
        for (int step = 32; step; step /= 2)
            if (place + step <= DPR_EDGES && r->edges[place + step - 1] <= ratio) place += step;
        mass[0][place] += p[x], mass[1][place] += q[x];
        highest[0] = fmax(p[x], highest[0]), highest[1] = fmax(q[x], highest[1]);
    }
    DPR_ADD(row_offsets, int64_t, r->arrays[DPR_ids].size / 4); DPR_ADD(rest_count, int32_t, rest);
    DPR_ADD(logits_rest, double, !l ? NAN : sum > 0 ? top + log(sum) : -HUGE_VAL);
    DPR_ADD(highest, float, highest[0]); DPR_ADD(highest, float, highest[1]);
    for (int i = 0; i <= DPR_EDGES; i++) DPR_ADD(rest_target, float, mass[0][i]);
    for (int i = 0; i <= DPR_EDGES; i++) DPR_ADD(rest_draft, float, mass[1][i]);
}
/* Add a token to the step's own, in their order. */
static inline void dpr_own(draftproof_recorder *r, int32_t token) {
    DPR_ADD(own, int32_t, token);
    int32_t *own = (int32_t *)(void *)r->arrays[DPR_own].data, i = (int32_t)(r->arrays[DPR_own].size / 4) - 1;
    for (; i > 0 && own[i - 1] > token; i--) own[i] = own[i - 1], own[i - 1] = token;
}
/* Record a step. Call it where draftproof_chosen returned 1. */
DRAFTPROOF_API void draftproof_record(draftproof_recorder *r, const draftproof_step *s) {
    if (!r || r->closed) return;
    size_t V = (size_t)r->o.vocabulary, before[DPR_ALL], text = r->arrays[DPR_texts].size;
    int32_t wrong = !s->target || s->draft_count < 0 || (s->draft_count && !s->drafts);
    wrong |= s->emitted_count > 0 && !s->emitted;
    int fresh = s->settings && (!text || strcmp(r->arrays[DPR_texts].data + r->last_text, s->settings));
    r->arrays[DPR_own].size = 0, r->lacking = 0;
    for (int i = 0; i < DPR_ALL; i++) before[i] = r->arrays[i].size;
    for (int32_t i = 0; !wrong && i < s->draft_count; i++) {
        int32_t token = s->drafts[i], parent = s->parents ? s->parents[i] : i - 1;
        wrong |= token < 0 || token >= (int32_t)V || parent < -1 || parent >= s->draft_count;
        dpr_own(r, token);
        DPR_ADD(draft_tokens, int32_t, token); DPR_ADD(draft_parents, int32_t, parent);
        DPR_ADD(uniforms, double, s->uniforms ? s->uniforms[i] : NAN);
    }
    for (int32_t i = 0; !wrong && i < s->emitted_count; i++) {
        if (s->emitted[i] < 0) continue;
        if (s->emitted[i] < (int32_t)V) dpr_own(r, s->emitted[i]);
        DPR_ADD(logprobs, double, s->logprobs ? s->logprobs[i] : NAN); DPR_ADD(emitted, int32_t, s->emitted[i]);
    }
    for (int32_t row = 0; !wrong && row <= s->draft_count; row++) {
        const float *q = r->zeros;
        int known = 0;
        for (int32_t i = s->draft_count - 1; i >= 0; i--) { /* of siblings the eldest's row counts */
            if ((s->parents ? s->parents[i] : i - 1) != row - 1) continue;
            known = s->unknown_draft ? 3 : s->draft ? 1 : 2;
            if (known == 1) q = s->draft + (size_t)i * V; else if (known == 2) r->zeros[s->drafts[i]] = 1;
        }
        dpr_row(r, s->target + (size_t)row * V, q, s->logits ? s->logits + (size_t)row * V : NULL);
        DPR_ADD(draft_known, uint8_t, known);
        for (int32_t i = 0; i < s->draft_count; i++) r->zeros[s->drafts[i]] = 0;
    }
    for (int32_t i = 0; s->history && i < s->history_count; i++) DPR_ADD(history, int32_t, s->history[i]);
    dpr_buffer *texts = &r->arrays[DPR_texts];
    if (fresh) dpr_text(r, texts, text ? ", " : "["), dpr_add(r, texts, s->settings, strlen(s->settings));
    DPR_ADD(draft_offsets, int64_t, r->arrays[DPR_draft_tokens].size / 4);
    DPR_ADD(emitted_offsets, int64_t, r->arrays[DPR_emitted].size / 4);
    DPR_ADD(history_offsets, int64_t, r->arrays[DPR_history].size / 4);
    DPR_ADD(settings, int32_t, s->settings ? r->text_count + fresh - 1 : -1);
    DPR_ADD(request, int64_t, s->request); DPR_ADD(place, int64_t, s->place); DPR_ADD(slot, int64_t, s->slot);
    if (wrong || r->lacking) {
        for (int i = 0; i < DPR_ALL; i++) r->arrays[i].size = before[i];
        if (text) texts->data[text] = 0;
        dpr_fails(r, 1, r->lacking ? "no memory left" : "no target, or drafts, emitted or parents out of range", "");
        return;
    }
    if (fresh) r->text_count++, r->last_text = text + (text ? 2 : 1);
    r->given[DPR_uniforms] |= s->uniforms != NULL, r->given[DPR_logprobs] |= s->logprobs != NULL;
    r->given[DPR_logits] = r->given[DPR_logits_rest] |= s->logits != NULL;
    r->given[DPR_history] = r->given[DPR_history_offsets] |= s->history != NULL;
    if (++r->steps >= r->o.shard_steps) draftproof_flush(r);
}
/* Write what is held, and free the recorder. */
DRAFTPROOF_API void draftproof_end(draftproof_recorder *r) {
    draftproof_flush(r);
    for (int i = 0; r && i < DPR_ALL; i++) free(r->arrays[i].data);
    if (r) free(r->header.data), free(r->weights), free(r->zeros), free(r);
}
#endif
