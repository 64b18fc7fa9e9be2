// Lets TLPs pass to a port that may stop for good. Where the link is down, or the port has stood still for too long, the guard has failed: from
// then on it swallows TLPs, so that all before it comes to its end, until it is cleared. What the port was offered stays on offer; a TLP of which
// it has a part only gets the beats that it lacks, and is poisoned. One cycle of latency, full throughput.
module tlp_guard
  import pcie_pkg::*;
#(
    parameter int unsigned DataW = 512,
    parameter int unsigned UnitW = 16,  // the limit is in 2^UnitW cycles

    localparam int unsigned DwordsW = DataW / 32
) (
    input logic clk,
    input logic rst,

    input logic        link_up_i,
    input logic [15:0] limit_i,  // how long a beat may be on offer; 0: for ever
    input logic        drain_i,  // as if it had failed, for so long
    input logic        clear_i,  // while no TLP is under way before it

    input  logic      [  DataW-1:0] s_axis_tlp_tdata,
    input  logic      [DwordsW-1:0] s_axis_tlp_tkeep,
    input  logic                    s_axis_tlp_tlast,
    input  tlp_user_t               s_axis_tlp_tuser,
    input  logic                    s_axis_tlp_tvalid,
    output logic                    s_axis_tlp_tready,

    output logic      [  DataW-1:0] m_axis_tlp_tdata,
    output logic      [DwordsW-1:0] m_axis_tlp_tkeep,
    output logic                    m_axis_tlp_tlast,
    output tlp_user_t               m_axis_tlp_tuser,
    output logic                    m_axis_tlp_tvalid,
    input  logic                    m_axis_tlp_tready,

    output logic failed_o,
    output logic dropped_o  // pulse: a TLP was swallowed, whole or its rest
);

  localparam int unsigned LANES_W = $clog2(DwordsW);
  localparam int unsigned BEAT_W = 8 - LANES_W;

  typedef logic [BEAT_W-1:0] beat_t;

  logic failed_q, swallows_q, swallows, fails, open_q, open, fills_q, passes, valid, ready, moves, last, late, in_tlp_q;
  beat_t left_q, left;  // beats of the open TLP that the port lacks
  request_t request_q, request;  // the open one's
  logic [DwordsW-1:0] keep, rest;

  watchdog #(
      .UnitW(UnitW)
  ) u_watchdog (
      .clk,
      .rst    (rst || clear_i),
      .limit_i,
      .waits_i(m_axis_tlp_tvalid),
      .moves_i(m_axis_tlp_tready),
      .over_i (1'b0),
      .late_o (),
      .fired_o(late)
  );

  assign fails = late || (!link_up_i && (s_axis_tlp_tvalid || m_axis_tlp_tvalid));
  assign swallows = (failed_q && !clear_i) || fails || drain_i;
  assign passes = !swallows_q && !fills_q;
  assign s_axis_tlp_tready = swallows_q || (ready && !fills_q);
  assign valid = fills_q || (s_axis_tlp_tvalid && passes);
  assign moves = valid && ready;

  // What the header says, as the rest may never come.
  assign request = open_q ? request_q : s_axis_tlp_tuser.request;
  assign left = open_q ? left_q : beat_t'((request.dwords - 1'b1) >> LANES_W);
  assign last = left == '0;
  assign open = moves ? !last : open_q;
  assign rest = ~(~DwordsW'(1) << LANES_W'(request.dwords - 1'b1));
  assign keep = !fills_q ? s_axis_tlp_tkeep : last ? rest : '1;

  always_ff @(posedge clk) begin
    open_q <= open;
    if (moves) begin
      left_q <= left - 1'b1;
      request_q <= request;
    end
    failed_q <= (failed_q && !clear_i) || fails;
    swallows_q <= swallows;
    fills_q <= open && (fills_q || swallows_q || swallows);
    if (s_axis_tlp_tvalid && s_axis_tlp_tready) in_tlp_q <= !s_axis_tlp_tlast;
    if (rst) begin
      open_q <= 1'b0;
      failed_q <= 1'b0;
      swallows_q <= 1'b0;
      fills_q <= 1'b0;
      in_tlp_q <= 1'b0;
    end
  end

  axis_reg #(
      .DataW(DataW + DwordsW + 1 + $bits(tlp_user_t))
  ) u_reg (
      .clk,
      .rst,
      .s_axis_tdata ({fills_q || s_axis_tlp_tuser.poisoned, request, last, keep, s_axis_tlp_tdata}),
      .s_axis_tvalid(valid),
      .s_axis_tready(ready),
      .m_axis_tdata ({m_axis_tlp_tuser, m_axis_tlp_tlast, m_axis_tlp_tkeep, m_axis_tlp_tdata}),
      .m_axis_tvalid(m_axis_tlp_tvalid),
      .m_axis_tready(m_axis_tlp_tready)
  );

  assign failed_o = swallows_q;
  assign dropped_o = swallows_q && s_axis_tlp_tvalid && s_axis_tlp_tlast;

`ifndef SYNTHESIS
  always @(posedge clk) begin
    assert (rst || !passes || !s_axis_tlp_tvalid || s_axis_tlp_tlast == last)
    else $error("%m: a TLP is not as long as its header says");
    assert (rst || !clear_i || !in_tlp_q)
    else $error("%m: cleared in the middle of a TLP");
  end
`endif

endmodule
