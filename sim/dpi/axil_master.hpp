// Accesses to the registers over AXI4-Lite, one at a time. `cycle` runs one cycle of the registers' clock; false where
// the design does not answer.
#pragma once

#include <cstdint>

#include "Vtop.h"

struct AxilMaster {
    // Cycles in which an access must be answered.
    static constexpr int ANSWER = 2000;

    static void reset(Vtop& top) {
        top.s_axil_awvalid = top.s_axil_wvalid = top.s_axil_arvalid = 0;
        top.s_axil_bready = top.s_axil_rready = 1;
        top.s_axil_wstrb = 0xf;
    }

    template <typename Cycle>
    static bool write(Vtop& top, uint32_t offset, uint32_t value, Cycle cycle) {
        top.s_axil_awaddr = offset;
        top.s_axil_wdata = value;
        top.s_axil_wvalid = 1;  // address and data in the same cycle, each until it is taken
        top.s_axil_awvalid = 1;
        for (int k = 0; top.s_axil_awvalid || top.s_axil_wvalid; k++) {
            if (k == ANSWER) return false;
            top.eval();
            const bool address = top.s_axil_awready, data = top.s_axil_wready;
            cycle();
            if (address) top.s_axil_awvalid = 0;
            if (data) top.s_axil_wvalid = 0;
        }
        if (!await(top, top.s_axil_bvalid, cycle)) return false;
        cycle();
        return true;
    }

    template <typename Cycle>
    static bool read(Vtop& top, uint32_t offset, uint32_t* value, Cycle cycle) {
        top.s_axil_araddr = offset;
        top.s_axil_arvalid = 1;
        if (!await(top, top.s_axil_arready, cycle)) return false;
        cycle();
        top.s_axil_arvalid = 0;
        if (!await(top, top.s_axil_rvalid, cycle)) return false;
        *value = top.s_axil_rdata;
        cycle();
        return true;
    }

  private:
    template <typename Signal, typename Cycle>
    static bool await(Vtop& top, const Signal& signal, Cycle cycle) {
        top.eval();
        for (int k = 0; !signal; k++) {
            if (k == ANSWER) return false;
            cycle();
        }
        return true;
    }
};
