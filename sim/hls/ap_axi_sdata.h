// A beat of AXI4-Stream for C simulation without Vitis; no TID, no TDEST.
#pragma once

#include <ap_int.h>

template <int Data, int User, int Id, int Dest>
struct ap_axiu {
    static_assert(User > 0 && Id == 0 && Dest == 0, "not simulated");
    ap_uint<Data> data;
    ap_uint<Data / 8> keep, strb;
    ap_uint<User> user;
    ap_uint<1> last;
};
