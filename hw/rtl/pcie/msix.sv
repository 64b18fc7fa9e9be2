// Interrupts by MSI-X (PCI Express Base Specification 5.0, 6.1.4): a memory write of one doubleword behind the event that it tells of, on the same
// way, so that it arrives behind it. With moderation: for so many events, or so long behind the first one. TLPs pass in one cycle.
module msix
  import pcie_pkg::*;
#(
    parameter int unsigned DataW = 512,

    localparam int unsigned DwordsW = DataW / 32
) (
    input logic clk,
    input logic rst,

    input msix_t config_i,
    input logic  event_i,   // pulse: an event's last beat is on offer, or has passed

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

    output logic pending_o,  // a message waits while it is masked
    output logic sent_o      // pulse
);

  localparam int unsigned TICK_W = 8;  // a unit of the delay is 2^8 cycles

  // Events since the last message, and how long the first of them waits.
  logic [15:0] events_q, delay_q;
  logic [TICK_W-1:0] tick_q;
  logic due_q, any, many, old;

  assign any = events_q != '0;
  assign many = any && events_q >= config_i.events;
  assign old = any && config_i.delay != '0 && delay_q >= config_i.delay;

  always_ff @(posedge clk) begin
    if (event_i && config_i.enabled && events_q != '1) events_q <= events_q + 1'b1;
    if (!any) {delay_q, tick_q} <= '0;
    else if (delay_q != '1) {delay_q, tick_q} <= {delay_q, tick_q} + 1'b1;
    due_q <= (due_q || many || old) && config_i.enabled;
    if (sent_o) begin  // an event in this very cycle is the next message's
      events_q <= 16'(event_i);
      {delay_q, tick_q} <= '0;
      due_q <= 1'b0;
    end
    if (rst || !config_i.enabled) begin
      events_q <= '0;
      due_q <= 1'b0;
    end
  end

  // Behind the event: its last beat may wait behind one other, then nothing is on offer, or two TLPs have ended.
  logic [1:0] before_q;
  logic in_tlp_q, inserts, valid, ready, passed;
  tlp_user_t user;

  assign passed = s_axis_tlp_tvalid && s_axis_tlp_tready;
  assign inserts = due_q && !config_i.masked && before_q == '0 && !in_tlp_q;
  assign sent_o = inserts && ready;
  assign pending_o = due_q && config_i.masked;
  assign valid = inserts || s_axis_tlp_tvalid;
  assign s_axis_tlp_tready = ready && !inserts;

  always_ff @(posedge clk) begin
    if (event_i) before_q <= 2'd2;
    else if (!s_axis_tlp_tvalid) before_q <= '0;
    else if (passed && s_axis_tlp_tlast && before_q != '0) before_q <= before_q - 1'b1;
    if (passed) in_tlp_q <= !s_axis_tlp_tlast;
    if (rst) begin
      before_q <= '0;
      in_tlp_q <= 1'b0;
    end
  end

  always_comb begin
    user = s_axis_tlp_tuser;
    if (inserts) begin
      user = '0;
      user.request.address = {config_i.address[63:2], 2'b00};
      user.request.dwords = 8'd1;
      user.request.first_be = 4'hF;
    end
  end

  axis_reg #(
      .DataW(DataW + DwordsW + 1 + $bits(tlp_user_t))
  ) u_reg (
      .clk,
      .rst,
      .s_axis_tdata ({
        user,
        inserts || s_axis_tlp_tlast,
        inserts ? DwordsW'(1) : s_axis_tlp_tkeep,
        s_axis_tlp_tdata[DataW-1:32],
        inserts ? config_i.data : s_axis_tlp_tdata[31:0]
      }),
      .s_axis_tvalid(valid),
      .s_axis_tready(ready),
      .m_axis_tdata ({m_axis_tlp_tuser, m_axis_tlp_tlast, m_axis_tlp_tkeep, m_axis_tlp_tdata}),
      .m_axis_tvalid(m_axis_tlp_tvalid),
      .m_axis_tready(m_axis_tlp_tready)
  );

endmodule
