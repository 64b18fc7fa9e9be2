// C test bench: makes the starts of a file (scripts/hls/hls_vectors.py writes it) and
// compares with what the file expects.

#include <cstdio>
#include <cstring>
#include <fstream>
#include <vector>

#include "jf_correct_start.hpp"

namespace {

struct Header {
    Registers registers;
    uint32_t mismatches;  // after this start
    uint32_t n_pixels;    // beats given
    uint32_t n_expected;  // beats that must come out
};

template <typename Item>
std::vector<Item> read(std::istream& file, uint64_t count) {
    std::vector<Item> items(count);
    file.read(reinterpret_cast<char*>(items.data()), count * sizeof(Item));
    return items;
}

struct MemoryLine {
    Line line;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: jf_correct_tb VECTORS\n");
        return 2;
    }
    std::ifstream file(argv[1], std::ios::binary);
    unsigned starts = 0;
    for (Header header; file.read(reinterpret_cast<char*>(&header), sizeof header); starts++) {
        const auto planes = read<MemoryLine>(file, uint64_t(jf::PLANES) * header.registers.beats);
        const auto pixels = read<Beat>(file, header.n_pixels);
        const auto expected = read<Beat>(file, header.n_expected);
        uint32_t mismatches = 0;
        const auto corrected = start(header.registers, &planes[0].line, pixels.data(), pixels.size(), mismatches);
        if (!file || corrected.size() != expected.size() || mismatches != header.mismatches) {
            std::fprintf(stderr, "start %u: %zu beats and %u mismatches, expected %zu and %u\n", starts,
                         corrected.size(), mismatches, expected.size(), header.mismatches);
            return 1;
        }
        for (size_t k = 0; k < expected.size(); k++) {
            if (std::memcmp(&corrected[k], &expected[k], sizeof(Beat))) {
                std::fprintf(stderr, "start %u: beat %zu is not what models/jungfrau/jf_correct.py gives\n", starts, k);
                return 1;
            }
        }
    }
    if (!starts) std::fprintf(stderr, "%s holds no start\n", argv[1]);
    return starts == 0;
}
