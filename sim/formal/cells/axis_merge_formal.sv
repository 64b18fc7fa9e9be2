// axis_merge is a queue of the items that it takes, from one stream or the other, in turn where both wait.
module axis_merge_formal #(
    parameter int unsigned DataW = 8
) (
    input logic clk,
    input logic rst,

    input logic [DataW-1:0] s_axis_a_tdata,
    input logic             s_axis_a_tvalid,
    input logic             s_axis_a_tready,

    input logic [DataW-1:0] s_axis_b_tdata,
    input logic             s_axis_b_tvalid,
    input logic             s_axis_b_tready,

    input logic [DataW-1:0] m_axis_tdata,
    input logic             m_axis_tvalid,
    input logic             m_axis_tready,

    input logic [DataW-1:0] data_q,
    input logic [DataW-1:0] skid_q,
    input logic             valid_q,
    input logic             skid_valid_q,
    input logic             was_b_q,
    input logic             in_step  // copies of it
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

  logic takes_a, takes_b, last_b_q;  // last_b_q: the last item came from b
  logic [1:0] count;

  assign takes_a = s_axis_a_tvalid && s_axis_a_tready;
  assign takes_b = s_axis_b_tvalid && s_axis_b_tready;

  always_ff @(posedge clk) begin
    if (takes_a || takes_b) last_b_q <= takes_b;
    if (rst) last_b_q <= 1'b0;
  end

  queue_rule #(
      .DataW(DataW),
      .Depth(2)
  ) u_queue (
      .clk,
      .rst,
      .push_data_i(takes_a ? s_axis_a_tdata : s_axis_b_tdata),
      .push_i     (takes_a || takes_b),
      .pop_data_i (m_axis_tdata),
      .pop_i      (m_axis_tvalid && m_axis_tready),
      .count_o    (count),
      .held_i     (2'(valid_q) + 2'(skid_valid_q)),
      .items_i    ({skid_q, data_q})
  );

  always_comb begin
    if (!rst) begin
      a_one : assert (!takes_a || !takes_b);
      a_turns : assert (!s_axis_a_tvalid || !s_axis_b_tvalid || (last_b_q ? !takes_b : !takes_a));
      a_accepts : assert ((takes_a || takes_b) == ((s_axis_a_tvalid || s_axis_b_tvalid) && count != 2'd2));
      a_offers : assert (m_axis_tvalid == (count != '0));
      i_in_step : assert (in_step && was_b_q == last_b_q);
      i_skid : assert (valid_q || !skid_valid_q);
    end
  end

endmodule

bind axis_merge axis_merge_formal #(
    .DataW(DataW)
) u_formal (
    .data_q(u_reg.data_q),
    .skid_q(u_reg.skid_q),
    .valid_q(u_reg.valid_q),
    .skid_valid_q(u_reg.skid_valid_q),
    .was_b_q(was_b_q[0]),
    .in_step(was_b_q == {GROUPS{was_b_q[0]}}),
    .*
);
