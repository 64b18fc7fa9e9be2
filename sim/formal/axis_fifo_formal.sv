// axis_fifo is a queue of Depth items. It is shown for items of two groups of bits.
module axis_fifo_formal #(
    parameter int unsigned DataW = 8,
    parameter int unsigned Depth = 4,
    parameter int unsigned GroupW = 4,

    localparam int unsigned PtrW = $clog2(Depth)
) (
    input logic clk,
    input logic rst,

    input logic [DataW-1:0] s_axis_tdata,
    input logic             s_axis_tvalid,
    input logic             s_axis_tready,

    input logic [DataW-1:0] m_axis_tdata,
    input logic             m_axis_tvalid,
    input logic             m_axis_tready,

    input logic [      GroupW-1:0] low  [Depth],
    input logic [DataW-GroupW-1:0] high [Depth],
    input logic [        PtrW-1:0] index,  // of the second group
    input logic [          PtrW:0] write_q,
    input logic [          PtrW:0] read_q
);

  reset_rule u_reset (.*);

  hold_rule #(
      .DataW(DataW)
  ) u_hold (
      .clk,
      .rst,
      .tdata_i (m_axis_tdata),
      .tvalid_i(m_axis_tvalid),
      .tready_i(m_axis_tready)
  );

  logic [PtrW:0] count;
  logic [Depth-1:0][DataW-1:0] items;

  always_comb begin
    for (int unsigned k = 0; k < Depth; k++) begin
      items[k] = {high[PtrW'(read_q+(PtrW+1)'(k))], low[PtrW'(read_q+(PtrW+1)'(k))]};
    end
  end

  queue_rule #(
      .DataW(DataW),
      .Depth(Depth)
  ) u_queue (
      .clk,
      .rst,
      .push_data_i(s_axis_tdata),
      .push_i     (s_axis_tvalid && s_axis_tready),
      .pop_data_i (m_axis_tdata),
      .pop_i      (m_axis_tvalid && m_axis_tready),
      .count_o    (count),
      .held_i     (write_q - read_q),
      .items_i    (items)
  );

  always_comb begin
    if (!rst) begin
      a_offers : assert (m_axis_tvalid == (count != '0));
      i_in_step : assert (index == read_q[PtrW-1:0]);
      a_accepts : assert (s_axis_tready == (count != (PtrW + 1)'(Depth)));
    end
  end

endmodule

bind axis_fifo axis_fifo_formal #(
    .DataW (DataW),
    .Depth (Depth),
    .GroupW(GroupW)
) u_formal (
    .low  (gen_group[0].memory),
    .high (gen_group[1].memory),
    .index(gen_group[1].index),
    .*
);
