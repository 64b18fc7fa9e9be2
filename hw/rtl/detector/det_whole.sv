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

  logic [COUNT_W-1:0] beat_q;
  logic fills_q, broken, at_end;

  assign broken = fills_q || (s_axis_tlast && s_axis_tuser);
  assign at_end = beat_q == COUNT_W'(BEATS - 1);

  assign m_axis_tdata = fills_q ? '0 : s_axis_tdata;
  assign m_axis_tkeep = broken ? '1 : s_axis_tkeep;
  assign m_axis_tlast = broken ? at_end : s_axis_tlast;
  assign m_axis_tvalid = fills_q || s_axis_tvalid;
  assign s_axis_tready = !fills_q && m_axis_tready;

  always_ff @(posedge clk) begin
    if (m_axis_tvalid && m_axis_tready) begin
      beat_q  <= m_axis_tlast ? '0 : beat_q + 1'b1;
      fills_q <= broken && !at_end;
    end
    if (rst) begin
      beat_q  <= '0;
      fills_q <= 1'b0;
    end
  end

endmodule
