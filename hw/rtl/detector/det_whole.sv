// Makes whole what a detector's packet lacks: one that ended early, or was wrong, has all its bytes behind this, and no mark. The bytes
// are anything: detector_core fills the packet's place with holes next. For a transport that calls a frame broken whose writes are.
module det_whole #(
    parameter int unsigned DataW       = 512,
    parameter int unsigned PacketBytes = 8192,

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic rst,

    input  logic [DataW-1:0] s_axis_tdata,
    input  logic [KeepW-1:0] s_axis_tkeep,
    input  logic             s_axis_tlast,
    input  logic             s_axis_tuser,   // with tlast: the packet was not whole
    input  logic             s_axis_tvalid,
    output logic             s_axis_tready,

    output logic [DataW-1:0] m_axis_tdata,
    output logic [KeepW-1:0] m_axis_tkeep,
    output logic             m_axis_tlast,
    output logic             m_axis_tvalid,
    input  logic             m_axis_tready
);

  localparam int unsigned BEATS = PacketBytes / KeepW;
  localparam int unsigned COUNT_W = BEATS > 1 ? $clog2(BEATS) : 1;

  localparam int unsigned GROUP_W = 64;
  localparam int unsigned GROUPS = DataW / GROUP_W;

  logic [COUNT_W-1:0] beat_q;
  logic [DataW-1:0] data;
  logic fills_d, fills_q, broken, at_end;
  (* keep, dont_merge *)logic [GROUPS-1:0] fill_q;  // copies, always equal, for some bytes each

  assign broken = fills_q || (s_axis_tlast && s_axis_tuser);
  assign at_end = beat_q == COUNT_W'(BEATS - 1);

  for (genvar g = 0; g < GROUPS; g++) begin : gen_group
    assign data[g*GROUP_W+:GROUP_W] = fill_q[g] ? '0 : s_axis_tdata[g*GROUP_W+:GROUP_W];
  end

  assign m_axis_tdata = data;
  assign m_axis_tkeep = broken ? '1 : s_axis_tkeep;
  assign m_axis_tlast = broken ? at_end : s_axis_tlast;
  assign m_axis_tvalid = fills_q || s_axis_tvalid;
  assign s_axis_tready = !fills_q && m_axis_tready;

  assign fills_d = !rst && (m_axis_tvalid && m_axis_tready ? broken && !at_end : fills_q);

  always_ff @(posedge clk) begin
    if (m_axis_tvalid && m_axis_tready) beat_q <= m_axis_tlast ? '0 : beat_q + 1'b1;
    fills_q <= fills_d;
    // A copy asks whether it changes: tools make one of equal ones.
    for (int unsigned g = 0; g < GROUPS; g++) if (rst || fill_q[g] != fills_d) fill_q[g] <= fills_d;
    if (rst) beat_q <= '0;
  end

endmodule
