// Ports of a Verilated design, which are integers or arrays of 32-bit words, as their bytes.
#pragma once

#include <cstdint>
#include <cstring>

// Copies words of 32 bits, least significant first, into a port of any width.
template <typename Port>
void assign(Port& port, const uint32_t* words) {
    std::memcpy(&port, words, sizeof port);
}
