// One simulated engine as a C library, its descriptors from the program: what
// framelane.driver.simulated.verilated_pcie_lane loads.

#include <deque>
#include <type_traits>

#include "pcie_host.hpp"

double sc_time_stamp() { return 0; }

namespace {

struct DescriptorFeed {
    std::deque<std::remove_reference_t<decltype(Vtop::s_axis_bd_tdata)>> descriptors;
    std::deque<std::remove_reference_t<decltype(Vtop::s_axis_trailer_tdata)>> trailers;

    void offer(Vtop& top) {
        top.s_axis_bd_tvalid = !descriptors.empty();
        if (!descriptors.empty()) top.s_axis_bd_tdata = descriptors.front();
        top.s_axis_trailer_tvalid = !trailers.empty();
        if (!trailers.empty()) top.s_axis_trailer_tdata = trailers.front();
    }
    bool taken(Vtop& top) {
        if (top.rst) return false;
        const bool descriptor = top.s_axis_bd_tvalid && top.s_axis_bd_tready;
        const bool trailer = top.s_axis_trailer_tvalid && top.s_axis_trailer_tready;
        if (descriptor) descriptors.pop_front();
        if (trailer) trailers.pop_front();
        return descriptor || trailer;
    }
    bool empty() const { return descriptors.empty() && trailers.empty(); }
};

using Host = PcieHost<DescriptorFeed>;

}  // namespace

extern "C" {

PCIE_HOST_FUNCTIONS(pcie_lane, Host)

// Queues a bd_t, with the trailer_t of one that ends a frame, else null.
void pcie_lane_give(Host* s, const uint32_t* descriptor, const uint32_t* trailer) {
    s->feed.descriptors.emplace_back();
    assign(s->feed.descriptors.back(), descriptor);
    if (!trailer) return;
    s->feed.trailers.emplace_back();
    assign(s->feed.trailers.back(), trailer);
}

}  // extern "C"
