// axis_whole is a queue of Depth beats, out of which a packet comes when its end is inside, or when it can never be. It is shown
// for beats of two groups of bits.
module axis_whole_formal #(
    parameter int unsigned DataW = 64,
    parameter int unsigned UserW = 1,
    parameter int unsigned Depth = 32,
    parameter int unsigned GroupW = 64,

    localparam int unsigned KeepW = DataW / 8,
    localparam int unsigned BeatW = UserW + 1 + KeepW + DataW,
    localparam int unsigned PtrW  = $clog2(Depth)
) (
    input logic clk,
    input logic rst,

    input logic [DataW-1:0] s_axis_tdata,
    input logic [KeepW-1:0] s_axis_tkeep,
    input logic             s_axis_tlast,
    input logic [UserW-1:0] s_axis_tuser,
    input logic             s_axis_tvalid,
    input logic             s_axis_tready,

    input logic [DataW-1:0] m_axis_tdata,
    input logic [KeepW-1:0] m_axis_tkeep,
    input logic             m_axis_tlast,
    input logic [UserW-1:0] m_axis_tuser,
    input logic             m_axis_tvalid,
    input logic             m_axis_tready,

    input logic [      GroupW-1:0] low  [Depth],
    input logic [BeatW-GroupW-1:0] high [Depth],
    input logic [        PtrW-1:0] index,  // of the second group
    input logic [   PtrW:0] write_q,
    input logic [   PtrW:0] read_q,
    input logic [   PtrW:0] whole_q,
    input logic             too_long_q,
    input logic             empty_o
);

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

  logic push, pop;
  logic [PtrW:0] count, ends;  // ends: last beats inside
  logic [Depth-1:0][BeatW-1:0] items;

  assign push = s_axis_tvalid && s_axis_tready;
  assign pop  = m_axis_tvalid && m_axis_tready;

  always_comb begin
    ends = '0;
    for (int unsigned k = 0; k < Depth; k++) begin
      items[k] = {high[PtrW'(read_q+(PtrW+1)'(k))], low[PtrW'(read_q+(PtrW+1)'(k))]};
      if ((PtrW + 1)'(k) < count && items[k][DataW+KeepW]) ends += 1'b1;
    end
  end

  queue_rule #(
      .DataW(BeatW),
      .Depth(Depth)
  ) u_queue (
      .clk,
      .rst,
      .push_data_i({s_axis_tuser, s_axis_tlast, s_axis_tkeep, s_axis_tdata}),
      .push_i     (push),
      .pop_data_i ({m_axis_tuser, m_axis_tlast, m_axis_tkeep, m_axis_tdata}),
      .pop_i      (pop),
      .count_o    (count),
      .held_i     (write_q - read_q),
      .items_i    (items)
  );

  logic inside_q, whole_began_q;  // a packet is coming out; all of it was inside as it began
  logic full_q;

  always_ff @(posedge clk) begin
    if (pop) begin
      inside_q <= !m_axis_tlast;
      if (!inside_q) whole_began_q <= ends != '0;
    end
    full_q <= count == (PtrW + 1)'(Depth);
    if (rst) begin
      inside_q <= 1'b0;
      full_q   <= 1'b0;
    end
  end

  logic was_full_q;  // since the last packet began to come out

  always_ff @(posedge clk) begin
    if (count == (PtrW + 1)'(Depth)) was_full_q <= 1'b1;
    if (pop && m_axis_tlast) was_full_q <= 1'b0;
    if (rst) was_full_q <= 1'b0;
  end

  always_comb begin
    if (!rst) begin
      a_accepts : assert (s_axis_tready == (count != (PtrW + 1)'(Depth)));
      a_empty : assert (empty_o == (count == '0));
      if (ends != '0) a_offers : assert (m_axis_tvalid);
      if (m_axis_tvalid && !inside_q && ends == '0) a_only_too_long : assert (was_full_q);
      if (inside_q && whole_began_q) a_without_gap : assert (m_axis_tvalid);
      if (full_q && count == (PtrW + 1)'(Depth)) a_never_stuck : assert (m_axis_tvalid);
      i_in_step : assert (index == read_q[PtrW-1:0]);
      i_ends : assert (whole_q == ends);
      if (inside_q && whole_began_q) i_end_inside : assert (ends != '0);
      if (too_long_q) i_too_long : assert (was_full_q);
    end
  end

endmodule

bind axis_whole axis_whole_formal #(
    .DataW (DataW),
    .UserW (UserW),
    .Depth (Depth),
    .GroupW(GroupW)
) u_formal (
    .low  (gen_group[0].memory),
    .high (gen_group[1].memory),
    .index(gen_group[1].index),
    .*
);
