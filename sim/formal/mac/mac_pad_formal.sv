// mac_pad behind a source that has no gap within a packet: it makes none, and no packet is too short or too near.
module mac_pad_formal #(
    parameter int unsigned DataW = 64,
    parameter int unsigned MinBytes = 60,
    parameter int unsigned GapCycles = 0,

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic rst,

    input logic [DataW-1:0] s_axis_tdata,
    input logic [KeepW-1:0] s_axis_tkeep,
    input logic             s_axis_tlast,
    input logic             s_axis_tuser,
    input logic             s_axis_tvalid,
    input logic             s_axis_tready,

    input logic [DataW-1:0] m_axis_tdata,
    input logic [KeepW-1:0] m_axis_tkeep,
    input logic             m_axis_tlast,
    input logic             m_axis_tuser,
    input logic             m_axis_tvalid,
    input logic             m_axis_tready,

    input logic fills_q,
    input logic [$clog2((MinBytes+KeepW-1)/KeepW+1)-1:0] beat_q,
    input logic [$clog2(GapCycles+2)-1:0] gap_q,

    input logic [2+KeepW+DataW-1:0] data_q,
    input logic [2+KeepW+DataW-1:0] skid_q,
    input logic                     valid_q,
    input logic                     skid_valid_q
);

  localparam int unsigned BEATS = (MinBytes + KeepW - 1) / KeepW;
  localparam int unsigned LAST = DataW + KeepW;  // where tlast is in the register
  localparam int unsigned CountW = $clog2(2 * BEATS + 4);

  typedef logic [CountW-1:0] count_t;

  reset_rule u_reset (.*);

  hold_rule #(
      .DataW (2 + KeepW + DataW),
      .Assume(1'b1)
  ) u_source (
      .clk,
      .rst,
      .tdata_i ({s_axis_tuser, s_axis_tlast, s_axis_tkeep, s_axis_tdata}),
      .tvalid_i(s_axis_tvalid),
      .tready_i(s_axis_tready)
  );

  hold_rule #(
      .DataW(2 + KeepW + DataW)
  ) u_hold (
      .clk,
      .rst,
      .tdata_i ({m_axis_tuser, m_axis_tlast, m_axis_tkeep, m_axis_tdata}),
      .tvalid_i(m_axis_tvalid),
      .tready_i(m_axis_tready)
  );

  logic take, give, in_q, out_q;  // inside a packet: the source's, the sink's
  count_t beats_q;                // of the packet that have left; BEATS stands for all from there on
  logic [$clog2(GapCycles+2)-1:0] idle_q;  // since the last packet, at most GapCycles
  count_t held;                   // beats in the register

  assign take = s_axis_tvalid && s_axis_tready;
  assign give = m_axis_tvalid && m_axis_tready;
  assign held = count_t'(valid_q) + count_t'(skid_valid_q);

  always_ff @(posedge clk) begin
    if (take) in_q <= !s_axis_tlast;
    if (give) out_q <= !m_axis_tlast;
    if (give) beats_q <= m_axis_tlast ? '0 : beats_q + count_t'(beats_q != count_t'(BEATS));
    if (give && m_axis_tlast) idle_q <= '0;
    else if (32'(idle_q) != GapCycles) idle_q <= idle_q + 1'b1;
    if (rst) begin
      in_q <= 1'b0;
      out_q <= 1'b0;
      beats_q <= '0;
      idle_q <= ($bits(idle_q))'(GapCycles);
    end
  end

  logic middle, front_last, back_last;
  count_t sum;

  assign middle = in_q || fills_q;  // what goes in next is no first beat
  assign front_last = valid_q && data_q[LAST];
  assign back_last = skid_valid_q ? skid_q[LAST] : front_last;
  assign sum = beats_q + held;

  always_comb begin
    if (in_q) assume (s_axis_tvalid);
    assume (!s_axis_tvalid || s_axis_tkeep[0]);
    if (!rst) begin
      if (out_q) a_without_gap : assert (m_axis_tvalid);
      if (m_axis_tvalid && m_axis_tlast) a_least : assert (32'(beats_q) + 1 >= BEATS);
      if (m_axis_tvalid && !out_q) a_apart : assert (32'(idle_q) == GapCycles);
      i_skid : assert (valid_q || !skid_valid_q);
      i_most : assert (32'(beats_q) <= BEATS && 32'(beat_q) <= BEATS);
      i_most_idle : assert (32'(idle_q) <= GapCycles && 32'(gap_q) <= GapCycles);
      i_idle : assert (32'(idle_q) + 32'(gap_q) == GapCycles);
      if (out_q) i_no_wait : assert (gap_q == '0);
      if (fills_q) i_fills : assert (!in_q);
      if (middle) i_refilled : assert (valid_q && !back_last);
      if (!middle && valid_q) i_ends : assert (back_last);
      if (!middle && !valid_q) i_between : assert (!out_q);
      i_middle : assert ((beat_q != '0) == middle);
      i_out : assert ((beats_q != '0) == out_q);
      // Of the packet that goes in, what has left and what is held is what has gone in
      if (middle && !front_last) i_beats : assert (count_t'(beat_q) == (sum > count_t'(BEATS) ? count_t'(BEATS) : sum));
      if (middle && front_last) i_next_beats : assert (skid_valid_q && 32'(beat_q) == 1 % (BEATS + 1));
      if (front_last) i_least : assert (32'(beats_q) + 1 >= BEATS);
      if (skid_valid_q && skid_q[LAST]) i_least_behind : assert ((front_last ? 32'd1 : 32'(beats_q) + 2) >= BEATS);
    end
  end

endmodule

bind mac_pad mac_pad_formal #(
    .DataW    (DataW),
    .MinBytes (MinBytes),
    .GapCycles(GapCycles)
) u_formal (
    .data_q(u_reg.data_q),
    .skid_q(u_reg.skid_q),
    .valid_q(u_reg.valid_q),
    .skid_valid_q(u_reg.skid_valid_q),
    .*
);
