// mac_gate behind cdc_packets: a packet that begins has no gap, with or without a threshold; one that begins whole ends whole.
module mac_gate_formal #(
    parameter int unsigned DataW = 512,

    localparam int unsigned KeepW = DataW / 8,
    localparam int unsigned BeatW = 2 + KeepW + DataW
) (
    input logic clk,
    input logic rst,
    input logic restart_i,

    input logic [15:0] threshold_i,

    input logic [DataW-1:0] s_axis_tdata,
    input logic [KeepW-1:0] s_axis_tkeep,
    input logic             s_axis_tlast,
    input logic             s_axis_tuser,
    input logic             s_axis_tvalid,
    input logic             s_axis_tready,
    input logic             whole_i,

    input logic [DataW-1:0] m_axis_tdata,
    input logic [KeepW-1:0] m_axis_tkeep,
    input logic             m_axis_tlast,
    input logic             m_axis_tuser,
    input logic             m_axis_tvalid,
    input logic             m_axis_tready,

    input logic waits,
    input logic sends,
    input logic leaves,
    input logic take,
    input logic runs_dry,
    input logic ample_q,

    input logic [BeatW-1:0] data_q,
    input logic [BeatW-1:0] skid_q,
    input logic             valid_q,
    input logic             skid_valid_q
);

  localparam int unsigned LAST = DataW + KeepW;  // where tlast is in the register

  reset_rule u_reset (.*);

  hold_rule #(
      .DataW(BeatW)
  ) u_hold (
      .clk,
      .rst,
      .tdata_i ({m_axis_tuser, m_axis_tlast, m_axis_tkeep, m_axis_tdata}),
      .tvalid_i(m_axis_tvalid),
      .tready_i(m_axis_tready)
  );

  // What cdc_packets promises of a packet that is whole, until its last beat is taken
  logic whole_q, out_q, began_whole_q, threshold_q;

  always_ff @(posedge clk) begin
    whole_q <= whole_i && !(s_axis_tready && s_axis_tlast);
    threshold_q <= threshold_i != '0;
    if (m_axis_tvalid && m_axis_tready) out_q <= !m_axis_tlast;
    if (take && waits) began_whole_q <= whole_i;
    if (rst) begin
      whole_q <= 1'b0;
      out_q <= 1'b0;
      threshold_q <= 1'b0;
      began_whole_q <= 1'b0;
    end
  end

  logic front_last, back_last;

  assign front_last = valid_q && data_q[LAST];
  assign back_last = skid_valid_q ? skid_q[LAST] : front_last;

  always_comb begin
    assume (!restart_i);
    if (whole_i) assume (s_axis_tvalid);
    if (whole_q) assume (whole_i);
    if (!rst) begin
      if (out_q) a_without_gap : assert (m_axis_tvalid);
      if (take && waits) a_starts : assert (whole_i || threshold_q);
      if (runs_dry) a_spoils : assert (!began_whole_q);
      i_skid : assert (valid_q || !skid_valid_q);
      i_state : assert (waits || sends || leaves);
      if (sends && !waits) i_refilled : assert (valid_q && !back_last);
      if ((waits || leaves) && valid_q) i_ends : assert (back_last);
      if ((waits || leaves) && !valid_q) i_between : assert (!out_q);
      if (ample_q) i_ample : assert (threshold_q);
      if (sends && !waits && began_whole_q) i_whole : assert (whole_i);
    end
  end

endmodule

bind mac_gate mac_gate_formal #(
    .DataW(DataW)
) u_formal (
    .waits(state_q == WAIT),
    .leaves(state_q == LEAVE),
    .data_q(u_reg.data_q),
    .skid_q(u_reg.skid_q),
    .valid_q(u_reg.valid_q),
    .skid_valid_q(u_reg.skid_valid_q),
    .*
);
