// axis_buffer is a queue of Depth + 1 items: one in front of block memory, the others in it.
module axis_buffer_formal #(
    parameter int unsigned DataW = 8,
    parameter int unsigned Depth = 4,

    localparam int unsigned PtrW = $clog2(Depth),
    localparam int unsigned CountW = $clog2(Depth + 3)
) (
    input logic clk,
    input logic rst,

    input logic [DataW-1:0] s_axis_tdata,
    input logic             s_axis_tvalid,
    input logic             s_axis_tready,

    input logic [DataW-1:0] m_axis_tdata,
    input logic             m_axis_tvalid,
    input logic             m_axis_tready,

    input logic [DataW-1:0] memory [Depth],
    input logic [   PtrW:0] write_q,
    input logic [   PtrW:0] read_q
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

  logic [PtrW:0] behind;  // items in memory
  logic [CountW-1:0] count;
  logic [Depth:0][DataW-1:0] items;
  logic waited_q;  // an item was inside, and none on offer

  assign behind = write_q - read_q;

  always_comb begin
    items[0] = m_axis_tvalid ? m_axis_tdata : memory[read_q[PtrW-1:0]];
    for (int unsigned k = 1; k <= Depth; k++) begin
      items[k] = memory[PtrW'(read_q + (PtrW + 1)'(k) - (PtrW + 1)'(m_axis_tvalid))];
    end
  end

  always_ff @(posedge clk) waited_q <= !rst && count != '0 && !m_axis_tvalid;

  queue_rule #(
      .DataW(DataW),
      .Depth(Depth + 1)
  ) u_queue (
      .clk,
      .rst,
      .push_data_i(s_axis_tdata),
      .push_i     (s_axis_tvalid && s_axis_tready),
      .pop_data_i (m_axis_tdata),
      .pop_i      (m_axis_tvalid && m_axis_tready),
      .count_o    (count),
      .held_i     (CountW'(behind) + CountW'(m_axis_tvalid)),
      .items_i    (items)
  );

  always_comb begin
    if (!rst) begin
      a_offers : assert (!m_axis_tvalid || count != '0);
      if (waited_q) a_soon : assert (m_axis_tvalid);
      a_accepts : assert (s_axis_tready == (count - CountW'(m_axis_tvalid) != CountW'(Depth)));
      i_memory : assert (behind <= (PtrW + 1)'(Depth));
    end
  end

endmodule

bind axis_buffer axis_buffer_formal #(
    .DataW(DataW),
    .Depth(Depth)
) u_formal (
    .*
);
