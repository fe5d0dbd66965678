// A round of onnxruntime-genai's speculative decoding as a program that an audit drives (see onnxruntime_round.py, which
// compiles it): its headers, and the lines of its round that accept and reject, run on numbers that are handed in.
//     round MODE TEMPERATURE TOP_K TOP_P
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace std {
// In place of mt19937: the words of each draw are made of one number u of [0, 1). A draw of a token takes two words, the
// lower first, a test of acceptance one.
class scripted_words {
   public:
    using result_type = mt19937::result_type;
    static constexpr result_type min() { return mt19937::min(); }
    static constexpr result_type max() { return mt19937::max(); }

    struct one_word {
        using result_type = mt19937::result_type;
        static constexpr result_type min() { return mt19937::min(); }
        static constexpr result_type max() { return mt19937::max(); }
        result_type operator()() const { return word; }
        result_type word;
    };

    // first: the number of the first draw of a token; of the first test of acceptance it is 0.
    scripted_words(vector<double> numbers, size_t first) : numbers_{move(numbers)}, next_{first} {}

    result_type operator()() {
        const auto both = static_cast<uint64_t>(ldexp(numbers_.at(next_), 64));
        upper_ = !upper_;
        if (upper_) return both & 0xffffffffu;
        ++next_;
        return both >> 32;
    }

    one_word &test() {
        tested_.word = static_cast<uint64_t>(ldexp(numbers_.at(tests_++), 64)) >> 32;
        return tested_;
    }

   private:
    vector<double> numbers_;
    size_t next_, tests_{};
    bool upper_{};
    one_word tested_{};
};
}  // namespace std

#define mt19937 scripted_words
#include "speculative_sampling.h"

using namespace Generators;
using Numbers = std::vector<double>;
enum class ProposalMode { kGreedyMatch, kDraftSampling, kDeterministic };  // as its Proposal has them

struct Settings {
    ProposalMode mode;
    int top_k;
    float temperature, top_p;
};

struct Proposal {
    ProposalMode mode;
    std::vector<int32_t> tokens;
    std::vector<TargetTokenSelection> distributions;
};

static std::vector<float> logits(const Numbers &rows, size_t row, size_t vocabulary) {
    std::vector<float> made;
    for (size_t x = 0; x < vocabulary; ++x) made.push_back(std::log(static_cast<float>(rows[row * vocabulary + x])));
    return made;
}

static std::vector<int32_t> round_of(const Settings &search, const Numbers &target, const Numbers &draft,
                                     const std::vector<int32_t> &tokens, const Numbers &random) {
    const int K = static_cast<int>(tokens.size());
    const size_t vocabulary = target.size() / (tokens.size() + 1);
    const bool target_uses_greedy = search.mode == ProposalMode::kGreedyMatch;
    LogitsPenaltyProcessor penalties{static_cast<int>(vocabulary), 1.0f, 0, {}};
    SampledCategorical sampled;
    TargetTokenSelection pos0_selection;
    std::vector<TargetTokenSelection> target_selections(tokens.size());
    for (size_t i = 0; i <= tokens.size(); ++i)
        ComputeTargetTokenSelection(logits(target, i, vocabulary), 0, {}, target_uses_greedy, search.top_k, search.top_p,
                                    search.temperature, penalties, sampled,
                                    i ? target_selections[i - 1] : pos0_selection);
    Proposal proposal{search.mode, tokens, {}};
    for (size_t i = 0; search.mode == ProposalMode::kDraftSampling && i < tokens.size(); ++i) {
        TargetTokenSelection row;  // the sparse row that the token was drawn from, after the draft's settings
        for (size_t x = 0; x < vocabulary; ++x) {
            const auto q = static_cast<float>(draft[i * vocabulary + x]);
            if (q > 0) row.indices.push_back(static_cast<int32_t>(x)), row.probs.push_back(q);
        }
        proposal.distributions.push_back(row);
    }
    std::mt19937 round_rng(random, search.mode == ProposalMode::kDraftSampling ? tokens.size() : 0);
    int bonuses_ = 0, corrections_ = 0;
#include "round.inc"
    (void)n_evaluated, (void)bonuses_, (void)corrections_;
    std::vector<int32_t> emitted(tokens.begin(), tokens.begin() + n_direct);
    emitted.push_back(final_token);
    return emitted;
}

// The numbers of the list "key", however it is nested.
static Numbers numbers(const std::string &line, const std::string &key) {
    const auto found = line.find("\"" + key + "\":");
    if (found == std::string::npos) throw std::runtime_error("no " + key + " in the request");
    Numbers all;
    int depth = 0;
    const char *at = line.c_str() + found + key.size() + 3;
    do {
        if (*at == '[' || *at == ']')
            depth += *at++ == '[' ? 1 : -1;
        else if (*at == ',' || *at == ' ')
            ++at;
        else {
            char *end = nullptr;
            all.push_back(std::strtod(at, &end));
            if (end == at) throw std::runtime_error("a number was expected in " + key);
            at = end;
        }
    } while (depth > 0 || all.empty());
    return all;
}

int main(int argc, char **argv) {
    if (argc != 5) return 2;
    const std::string mode = argv[1];
    const Settings search{mode == "greedy"    ? ProposalMode::kGreedyMatch
                          : mode == "sampled" ? ProposalMode::kDraftSampling
                                              : ProposalMode::kDeterministic,
                          std::atoi(argv[3]), static_cast<float>(std::atof(argv[2])), static_cast<float>(std::atof(argv[4]))};
    std::cout << R"({"protocol": "draftproof-1", "name": "onnxruntime-genai", "version": ")" VERSION
              << R"(", "dtype": "float32", "batch": 64, "random": [{"name": "accept", "kind": "uniform",)"
              << R"( "shape": ["gamma"], "bits": 32}, {"name": "last", "kind": "uniform", "shape": [1], "bits": 53}]})"
              << std::endl;
    for (std::string line; std::getline(std::cin, line);) {
        const auto id = static_cast<long long>(numbers(line, "id").at(0));
        std::cout << "{\"id\": " << id << ", ";
        try {
            auto random = numbers(line, "accept");
            random.push_back(numbers(line, "last").at(0));
            const auto drafted = numbers(line, "tokens");
            const auto emitted = round_of(search, numbers(line, "target"), numbers(line, "draft"),
                                          {drafted.begin(), drafted.end()}, random);
            std::cout << "\"emitted\": [";
            for (size_t i = 0; i < emitted.size(); ++i) std::cout << (i ? ", " : "") << emitted[i];
            std::cout << "]}\n";
        } catch (const std::exception &error) {
            std::cout << "\"error\": \"" << error.what() << "\"}\n";
        }
        if (std::cin.rdbuf()->in_avail() == 0) std::cout.flush();  // a batch is done: nothing waits to be read
    }
}
