// hls::stream for C simulation without Vitis: a queue without bound.
#pragma once

#include <deque>
#include <stdexcept>

namespace hls {

template <typename T>
class stream {
  public:
    void write(const T& item) { items.push_back(item); }

    // Hardware would wait for ever where this throws.
    T read() {
        if (items.empty()) throw std::runtime_error("read of an empty hls::stream");
        T item = items.front();
        items.pop_front();
        return item;
    }

    bool empty() const { return items.empty(); }

  private:
    std::deque<T> items;
};

}  // namespace hls
