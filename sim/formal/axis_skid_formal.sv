// axis_skid is a queue of one item that an item may also pass by. Its source holds what it offers.
module axis_skid_formal #(
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

    input logic [DataW-1:0] skid_q,
    input logic             skid_valid_q,
    input logic             in_step  // the copies of the control are equal
);

  reset_rule u_reset (.*);

  hold_rule #(
      .DataW (DataW),
      .Assume(1'b1)
  ) u_source (
      .clk,
      .rst,
      .tdata_i (s_axis_tdata),
      .tvalid_i(s_axis_tvalid),
      .tready_i(s_axis_tready)
  );

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
      .Depth(1)
  ) u_queue (
      .clk,
      .rst,
      .push_data_i(s_axis_tdata),
      .push_i     (s_axis_tvalid && s_axis_tready),
      .pop_data_i (m_axis_tdata),
      .pop_i      (m_axis_tvalid && m_axis_tready),
      .count_o    (count),
      .held_i     (2'(skid_valid_q)),
      .items_i    (skid_q)
  );

  always_comb begin
    if (!rst) begin
      a_offers : assert (m_axis_tvalid == (count != '0 || s_axis_tvalid));
      i_step : assert (in_step);
      a_accepts : assert (s_axis_tready == (count == '0));
    end
  end

endmodule

bind axis_skid axis_skid_formal #(
    .DataW(DataW)
) u_formal (
    .in_step(skid_valids_q == {GROUPS{skid_valid_q}}),
    .*
);
