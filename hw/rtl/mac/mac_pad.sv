// What the MAC gets: packets filled up with zeros to a least length, and at least so many cycles between them. It adds one cycle, always,
// and no gap within a packet.
module mac_pad #(
    parameter int unsigned DataW = 64,
    parameter int unsigned MinBytes = 60,  // of a frame without its FCS; 0: as they come
    parameter int unsigned GapCycles = 0,  // between two packets, with tvalid low

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic rst,

    input  logic [DataW-1:0] s_axis_tdata,
    input  logic [KeepW-1:0] s_axis_tkeep,
    input  logic             s_axis_tlast,
    input  logic             s_axis_tuser,
    input  logic             s_axis_tvalid,
    output logic             s_axis_tready,

    output logic [DataW-1:0] m_axis_tdata,
    output logic [KeepW-1:0] m_axis_tkeep,
    output logic             m_axis_tlast,
    output logic             m_axis_tuser,   // with tlast
    output logic             m_axis_tvalid,
    input  logic             m_axis_tready
);

  localparam int unsigned BEATS = MinBytes == 0 ? 1 : (MinBytes + KeepW - 1) / KeepW;  // of the least packet
  localparam int unsigned REST = MinBytes == 0 ? 0 : MinBytes - (BEATS - 1) * KeepW;  // bytes in the last of them
  localparam int unsigned BEAT_W = $clog2(BEATS + 1);
  localparam int unsigned GAP_W = $clog2(GapCycles + 2);
  localparam logic [KeepW-1:0] REST_KEEP = KeepW'({1'b0, {KeepW{1'b1}}} >> (KeepW - REST));

  logic [BEAT_W-1:0] beat_q;  // of the packet; BEATS for all behind the least ones
  logic fills_q, user_q, short, ready, valid, go, last, user;
  logic [KeepW-1:0] keep;
  logic [DataW-1:0] data;
  logic [GAP_W-1:0] gap_q;
  logic out_valid, out_last, out_ready;

  assign short = 32'(beat_q) + 1 < BEATS;
  assign valid = fills_q || s_axis_tvalid;
  assign go = valid && ready;
  assign s_axis_tready = ready && !fills_q;

  always_comb begin
    for (int unsigned k = 0; k < KeepW; k++) data[8*k+:8] = s_axis_tkeep[k] && !fills_q ? s_axis_tdata[8*k+:8] : '0;
    keep = fills_q ? '0 : s_axis_tkeep;
    last = fills_q || s_axis_tlast;
    user = fills_q ? user_q : s_axis_tuser;
    if (last && short) begin
      keep = '1;
      last = 1'b0;
    end else if (last && beat_q == BEAT_W'(BEATS - 1)) begin
      keep |= REST_KEEP;
    end
  end

  always_ff @(posedge clk) begin
    if (go) begin
      fills_q <= !last && (fills_q || s_axis_tlast);
      if (!fills_q) user_q <= s_axis_tuser;
      beat_q <= last ? '0 : beat_q + BEAT_W'(beat_q != BEAT_W'(BEATS));
    end
    if (out_valid && out_ready && out_last) gap_q <= GAP_W'(GapCycles);
    else if (gap_q != '0) gap_q <= gap_q - 1'b1;
    if (rst) begin
      fills_q <= 1'b0;
      beat_q <= '0;
      gap_q <= '0;
    end
  end

  axis_reg #(
      .DataW(2 + KeepW + DataW)
  ) u_reg (
      .clk,
      .rst,
      .s_axis_tdata ({user && last, last, keep, data}),
      .s_axis_tvalid(valid),
      .s_axis_tready(ready),
      .m_axis_tdata ({m_axis_tuser, out_last, m_axis_tkeep, m_axis_tdata}),
      .m_axis_tvalid(out_valid),
      .m_axis_tready(out_ready)
  );

  assign out_ready = m_axis_tready && gap_q == '0;
  assign m_axis_tlast = out_last;
  assign m_axis_tvalid = out_valid && gap_q == '0;

endmodule
