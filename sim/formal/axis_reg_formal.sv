// axis_reg is a queue of two items whose outputs come from registers.
module axis_reg_formal #(
    parameter int unsigned DataW = 8
) (
    input logic clk,
    input logic rst,

    input logic [DataW-1:0] s_axis_tdata,
    input logic             s_axis_tvalid,
    input logic             s_axis_tready,

    input logic [DataW-1:0] m_axis_tdata,
    input logic             m_axis_tvalid,
    input logic             m_axis_tready,

    input logic [DataW-1:0] data_q,
    input logic [DataW-1:0] skid_q,
    input logic             valid_q,
    input logic             skid_valid_q,
    input logic             in_step  // the copies of the control are equal
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

  logic [1:0] count;

  queue_rule #(
      .DataW(DataW),
      .Depth(2)
  ) u_queue (
      .clk,
      .rst,
      .push_data_i(s_axis_tdata),
      .push_i     (s_axis_tvalid && s_axis_tready),
      .pop_data_i (m_axis_tdata),
      .pop_i      (m_axis_tvalid && m_axis_tready),
      .count_o    (count),
      .held_i     (2'(valid_q) + 2'(skid_valid_q)),
      .items_i    ({skid_q, data_q})
  );

  always_comb begin
    if (!rst) begin
      a_offers : assert (m_axis_tvalid == (count != 2'd0));
      i_step : assert (in_step);
      a_accepts : assert (s_axis_tready == (count != 2'd2));
    end
  end

endmodule

bind axis_reg axis_reg_formal #(
    .DataW(DataW)
) u_formal (
    .in_step(valids_q == {GROUPS{valid_q}} && skid_valids_q == {GROUPS{skid_valid_q}}),
    .*
);
