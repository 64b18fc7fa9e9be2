// Passes whole packets of several streams in the order that a stream of selections gives, one selection a packet.
// No bubble between packets. Every GroupW bits of a beat have their own copy of the selection from a packet's second cycle on, so that
// none drives more; all copies are always equal.
module axis_select #(
    parameter int unsigned DataW   = 512,
    parameter int unsigned Sources = 2,
    parameter int unsigned GroupW  = 128,

    localparam int unsigned KeepW = DataW / 8,
    localparam int unsigned SelW  = $clog2(Sources)
) (
    input logic clk,
    input logic rst,

    input  logic [SelW-1:0] s_axis_sel_tdata,   // the source of the next packet
    input  logic            s_axis_sel_tvalid,
    output logic            s_axis_sel_tready,

    input  logic [Sources-1:0][DataW-1:0] s_axis_tdata,
    input  logic [Sources-1:0][KeepW-1:0] s_axis_tkeep,
    input  logic [Sources-1:0]            s_axis_tlast,
    input  logic [Sources-1:0]            s_axis_tuser,
    input  logic [Sources-1:0]            s_axis_tvalid,
    output logic [Sources-1:0]            s_axis_tready,

    output logic [DataW-1:0] m_axis_tdata,
    output logic [KeepW-1:0] m_axis_tkeep,
    output logic             m_axis_tlast,
    output logic             m_axis_tuser,
    output logic             m_axis_tvalid,
    input  logic             m_axis_tready
);

  localparam int unsigned BEAT_W = DataW + KeepW + 2;
  localparam int unsigned GROUPS = (BEAT_W + GroupW - 1) / GroupW;

  logic [GROUPS-1:0][SelW-1:0] sels;
  (* keep, dont_merge *)logic [GROUPS-1:0][SelW-1:0] sel_q;
  logic waits_q;  // the selection is that of the last cycle
  logic [Sources-1:0][BEAT_W-1:0] beats;
  logic [BEAT_W-1:0] beat;
  logic [SelW-1:0] sel;
  logic valid, ready;

  assign sel = sels[0];
  assign valid = s_axis_sel_tvalid && s_axis_tvalid[sel];
  assign s_axis_sel_tready = valid && ready && s_axis_tlast[sel];

  always_comb begin
    s_axis_tready = '0;
    s_axis_tready[sel] = s_axis_sel_tvalid && ready;
    for (int unsigned s = 0; s < Sources; s++) begin
      beats[s] = {s_axis_tuser[s], s_axis_tlast[s], s_axis_tkeep[s], s_axis_tdata[s]};
    end
  end

  for (genvar g = 0; g < GROUPS; g++) begin : gen_group
    localparam int unsigned AT = g * GroupW;
    localparam int unsigned WIDTH = AT + GroupW > BEAT_W ? BEAT_W - AT : GroupW;

    assign sels[g] = waits_q ? sel_q[g] : s_axis_sel_tdata;
    assign beat[AT+:WIDTH] = beats[sels[g]][AT+:WIDTH];

    always_ff @(posedge clk) sel_q[g] <= sels[g];
  end

  always_ff @(posedge clk) begin
    waits_q <= s_axis_sel_tvalid && !s_axis_sel_tready;
    if (rst) waits_q <= 1'b0;
  end

  axis_reg #(
      .DataW(BEAT_W)
  ) u_reg (
      .clk,
      .rst,
      .s_axis_tdata (beat),
      .s_axis_tvalid(valid),
      .s_axis_tready(ready),
      .m_axis_tdata ({m_axis_tuser, m_axis_tlast, m_axis_tkeep, m_axis_tdata}),
      .m_axis_tvalid,
      .m_axis_tready
  );

endmodule
