// axis_fork is, for each of its sinks, a queue of the items whose mask names that sink. It is shown for one sink, any.
module axis_fork_formal #(
    parameter int unsigned DataW = 8,
    parameter int unsigned Sinks = 2,

    localparam int unsigned SinkW = $clog2(Sinks)
) (
    input logic clk,
    input logic rst,

    input logic [DataW-1:0] s_axis_tdata,
    input logic [Sinks-1:0] s_axis_tuser,
    input logic             s_axis_tvalid,
    input logic             s_axis_tready,

    input logic [DataW-1:0] m_axis_tdata,
    input logic [Sinks-1:0] m_axis_tvalid,
    input logic [Sinks-1:0] m_axis_tready,

    input logic [Sinks-1:0] waits_q,
    input logic [Sinks-1:0] skid_waits_q,
    input logic [DataW-1:0] skid_q,
    input logic             skid_valid_q
);

  logic [SinkW-1:0] any_sink;  // a constant, the solver's choice

  always_ff @(posedge clk) any_sink <= any_sink;
  always_comb assume (32'(any_sink) < Sinks);

  reset_rule u_reset (.*);

  hold_rule #(
      .DataW(DataW)
  ) u_hold (
      .clk,
      .rst,
      .tdata_i (m_axis_tdata),
      .tvalid_i(m_axis_tvalid[any_sink]),
      .tready_i(m_axis_tready[any_sink])
  );

  logic first, second;  // what the register holds is for this sink
  assign first  = waits_q[any_sink];
  assign second = skid_valid_q && skid_waits_q[any_sink];

  logic [1:0] count;

  queue_rule #(
      .DataW(DataW),
      .Depth(2)
  ) u_queue (
      .clk,
      .rst,
      .push_data_i(s_axis_tdata),
      .push_i     (s_axis_tvalid && s_axis_tready && s_axis_tuser[any_sink]),
      .pop_data_i (m_axis_tdata),
      .pop_i      (m_axis_tvalid[any_sink] && m_axis_tready[any_sink]),
      .count_o    (count),
      .held_i     (2'(first) + 2'(second)),
      .items_i    ({skid_q, first ? m_axis_tdata : skid_q})
  );

  always_comb begin
    if (!rst) begin
      a_offers : assert (count == '0 || m_axis_tvalid != '0);
      i_first : assert (m_axis_tvalid[any_sink] == first && (waits_q != '0 || !skid_valid_q));
    end
  end

endmodule

bind axis_fork axis_fork_formal #(
    .DataW(DataW),
    .Sinks(Sinks)
) u_formal (
    .waits_q     (waits_q[0]),
    .skid_waits_q(skid_waits_q[0]),
    .skid_valid_q(skid_valids_q[0]),
    .*
);
