// bd_reg is a queue of an item or an end, and an end behind it, whose outputs come from registers; the data of an end count for nothing.
module bd_reg_formal #(
    parameter int unsigned DataW = 8
) (
    input logic clk,
    input logic rst,

    input logic [DataW-1:0] s_axis_tdata,
    input logic             s_axis_tuser,
    input logic             s_axis_tvalid,
    input logic             s_axis_tready,

    input logic [DataW-1:0] m_axis_tdata,
    input logic             m_axis_tuser,
    input logic             m_axis_tvalid,
    input logic             m_axis_tready,

    input logic [DataW-1:0] data_q,
    input logic             end_q,
    input logic             behind_q,
    input logic             in_step    // the copies of the control are equal
);

  typedef logic [DataW:0] item_t;

  function automatic item_t item(input logic is_end, input logic [DataW-1:0] data);
    return {is_end, is_end ? DataW'(0) : data};
  endfunction

  localparam item_t END = {1'b1, DataW'(0)};

  reset_rule u_reset (.*);

  hold_rule #(
      .DataW(DataW + 1)
  ) u_hold (
      .clk,
      .rst,
      .tdata_i (item(m_axis_tuser, m_axis_tdata)),
      .tvalid_i(m_axis_tvalid),
      .tready_i(m_axis_tready)
  );

  logic [1:0] count;

  queue_rule #(
      .DataW(DataW + 1),
      .Depth(2)
  ) u_queue (
      .clk,
      .rst,
      .push_data_i(item(s_axis_tuser, s_axis_tdata)),
      .push_i     (s_axis_tvalid && s_axis_tready),
      .pop_data_i (item(m_axis_tuser, m_axis_tdata)),
      .pop_i      (m_axis_tvalid && m_axis_tready),
      .count_o    (count),
      .held_i     (2'(m_axis_tvalid) + 2'(behind_q)),
      .items_i    ({END, item(end_q, data_q)})
  );

  always_comb begin
    if (!rst) begin
      a_offers : assert (m_axis_tvalid == (count != 2'd0));
      i_step : assert (in_step && (m_axis_tvalid || !behind_q));
      a_accepts : assert (s_axis_tready == (count == 2'd0 || (s_axis_tuser && count == 2'd1)));
    end
  end

endmodule

bind bd_reg bd_reg_formal #(
    .DataW(DataW)
) u_formal (
    .in_step(valids_q == {GROUPS{m_axis_tvalid}}),
    .*
);
