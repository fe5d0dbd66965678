// Block verification (Sun et al. 2025, Algorithm 2) as a program that draftproof drives. No dependency:
//     g++ -O2 -std=c++17 -o driven examples/driven.cpp
//     draftproof audit --exec ./driven
// With --wrong the replacement is drawn from the target, not from the residual: refuted.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

using Row = std::vector<float>;
using Rows = std::vector<Row>;

static bool wrong = false;

// The text after "key": in a line. Keys of the protocol occur once in a line.
static const char *after(const std::string &line, const char *key) {
    auto at = line.find(std::string("\"") + key + "\":");
    if (at == std::string::npos) throw std::string("no ") + key + " in the request";
    return line.c_str() + at + std::strlen(key) + 3;
}

static const char *skip(const char *at) {
    while (*at == ' ' || *at == ',') ++at;
    return at;
}

static const char *opened(const char *at) {
    at = skip(at);
    if (*at != '[') throw std::string("a list was expected");
    return skip(at + 1);
}

static const char *number(const char *at, const char *end, float &value) {
    double read = 0;
    auto done = std::from_chars(at, end, read);
    if (done.ec != std::errc()) throw std::string("a number was expected at ") + std::string(at, std::min(end, at + 20));
    value = static_cast<float>(read);
    return done.ptr;
}

static const char *row(const char *at, const char *end, Row &values) {
    values.clear();
    for (at = opened(at); *at != ']'; at = skip(at)) {
        values.push_back(0);
        at = number(at, end, values.back());
    }
    return at + 1;
}

static void rows(const char *at, const char *end, Rows &values) {
    size_t n = 0;
    for (at = opened(at); *at != ']'; at = skip(at)) {
        if (n == values.size()) values.emplace_back();
        at = row(at, end, values[n++]);
    }
    values.resize(n);
}

// max(kept * target - draft, 0), and its sum: Eq. (4).
static double residual(const Row &target, const Row &draft, double kept, Row &rest) {
    double total = 0;
    rest.resize(target.size());
    for (size_t x = 0; x < target.size(); ++x) {
        rest[x] = static_cast<float>(std::max(kept * target[x] - double(draft[x]), 0.0));
        total += rest[x];
    }
    return total;
}

// The winner of the race weight / noise: each token with its weight's share.
static size_t race(const Row &weights, const Row &noise) {
    size_t best = 0;
    for (size_t x = 1; x < weights.size(); ++x)
        if (double(weights[x]) * noise[best] > double(weights[best]) * noise[x]) best = x;
    return best;
}

static std::vector<size_t> verify(const Rows &target, const Rows &draft, const Row &tokens, const Row &accept, const Row &noise) {
    size_t gamma = tokens.size(), accepted = 0;
    double kept = 1, kept_at_accepted = 1;
    Row rest;
    for (size_t i = 0; i < gamma; ++i) {
        auto x = static_cast<size_t>(tokens[i]);
        kept = std::min(kept * target[i][x] / draft[i][x], 1.0);
        double h = kept;
        if (i + 1 < gamma) {
            double total = residual(target[i + 1], draft[i + 1], kept, rest);
            h = kept == 1 ? 1 : total / (total + 1 - kept);
        }
        if (accept[i] < h) {
            accepted = i + 1;
            kept_at_accepted = kept;
        }
    }
    if (accepted == gamma || wrong || residual(target[accepted], draft[accepted], kept_at_accepted, rest) == 0) rest = target[accepted];
    std::vector<size_t> emitted;
    for (size_t i = 0; i < accepted; ++i) emitted.push_back(static_cast<size_t>(tokens[i]));
    emitted.push_back(race(rest, noise));
    return emitted;
}

int main(int argc, char **argv) {
    wrong = argc > 1 && std::string(argv[1]) == "--wrong";
    std::ios::sync_with_stdio(false);
    std::cin.tie(nullptr);
    std::cout << R"({"protocol": "draftproof-1", "name": "driven.cpp", "version": "1", "dtype": "float32", "batch": 256,)"
              << R"( "random": [{"name": "accept", "kind": "uniform", "shape": ["gamma"], "bits": 24},)"
              << R"( {"name": "last", "kind": "exponential", "shape": ["V"]}]})" << std::endl;
    std::string line, id;
    Rows target, draft;
    Row tokens, accept, noise;
    while (std::getline(std::cin, line)) {
        const char *end = line.c_str() + line.size();
        if (line.find("\"id\":") == std::string::npos) {
            std::cerr << "no request: '" << line.substr(0, 60) << "'; expected {\"id\": .., \"target\": .., ...}" << std::endl;
            return 2;
        }
        const char *at = skip(after(line, "id"));
        id.assign(at, std::strcspn(at, ",} "));
        try {
            rows(after(line, "target"), end, target);
            rows(after(line, "draft"), end, draft);
            row(after(line, "tokens"), end, tokens);
            row(after(line, "accept"), end, accept);
            row(after(line, "last"), end, noise);
            std::cout << "{\"id\": " << id << ", \"emitted\": [";
            const char *comma = "";
            for (size_t x : verify(target, draft, tokens, accept, noise)) {
                std::cout << comma << x;
                comma = ", ";
            }
            std::cout << "]}\n";
        } catch (const std::string &error) {
            std::cout << "{\"id\": " << id << ", \"error\": \"" << error << "\"}\n";
        }
        if (std::cin.rdbuf()->in_avail() == 0) std::cout.flush();  // a batch is done: nothing waits to be read
    }
}
