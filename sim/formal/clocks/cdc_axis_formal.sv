// cdc_axis is a queue of packets, which is proved of cdc_packets, with a register behind it: what goes in goes into that queue, and what
// that queue gives comes out, cuts as well, in order, also across a restart.
module cdc_axis_formal #(
    parameter int unsigned DataW = 8
) (
    input logic [DataW-1:0] s_axis_tdata,
    input logic             s_axis_tlast,
    input logic             s_axis_tvalid,
    input logic             s_axis_tready,

    input logic m_clk,
    input logic m_rst,
    input logic any_rst,  // not connected: the solver's choice

    input logic [DataW-1:0] m_axis_tdata,
    input logic             m_axis_tlast,
    input logic             m_axis_tuser,
    input logic             m_axis_tvalid,
    input logic             m_axis_tready,

    // The queue of packets
    input logic [DataW-1:0] in_data,
    input logic             in_last,
    input logic             in_valid,
    input logic             in_ready,
    input logic [DataW-1:0] out_data,
    input logic             out_last,
    input logic             out_cut,
    input logic             out_valid,
    input logic             out_ready,

    input logic [DataW+1:0] data_q,
    input logic [DataW+1:0] skid_q,
    input logic             valid_q,
    input logic             skid_valid_q
);

  hold_rule #(
      .DataW(DataW + 2)
  ) u_hold (
      .clk     (m_clk),
      .rst     (m_rst),
      .tdata_i ({m_axis_tuser, m_axis_tlast, m_axis_tdata}),
      .tvalid_i(m_axis_tvalid),
      .tready_i(m_axis_tready)
  );

  logic [1:0] count;

  queue_rule #(
      .DataW(DataW + 2),
      .Depth(2)
  ) u_queue (
      .clk        (m_clk),
      .rst        (m_rst),
      .push_data_i({out_cut, out_last, out_data}),
      .push_i     (out_valid && out_ready),
      .pop_data_i ({m_axis_tuser, m_axis_tlast, m_axis_tdata}),
      .pop_i      (m_axis_tvalid && m_axis_tready),
      .count_o    (count),
      .held_i     (2'(valid_q) + 2'(skid_valid_q)),
      .items_i    ({skid_q, data_q})
  );

  logic rst_q = 1'b0;  // a reset begins and ends with an edge of its clock
  logic begun_q = 1'b0;

  always_ff @(posedge m_clk) {begun_q, rst_q} <= {1'b1, any_rst};

  always_comb begin
    assume (m_rst == rst_q);
    if (!begun_q) assume (!valid_q && !skid_valid_q && count == '0);
    a_in :
    assert ({in_valid, in_last, in_data, s_axis_tready} == {s_axis_tvalid, s_axis_tlast, s_axis_tdata, in_ready});
    if (!m_rst) begin
      a_offers : assert (m_axis_tvalid == (count != '0));
      a_takes : assert (out_ready == (count != 2'd2));
      i_skid : assert (valid_q || !skid_valid_q);
    end
  end

endmodule

bind cdc_axis cdc_axis_formal #(
    .DataW(DataW)
) u_formal (
    .any_rst     (),
    .in_data     (u_packets.s_axis_tdata),
    .in_last     (u_packets.s_axis_tlast),
    .in_valid    (u_packets.s_axis_tvalid),
    .in_ready    (u_packets.s_axis_tready),
    .out_data    (u_packets.m_axis_tdata),
    .out_last    (u_packets.m_axis_tlast),
    .out_cut     (u_packets.m_axis_tuser),
    .out_valid   (u_packets.m_axis_tvalid),
    .out_ready   (u_packets.m_axis_tready),
    .data_q      (u_reg.data_q),
    .skid_q      (u_reg.skid_q),
    .valid_q     (u_reg.valid_q),
    .skid_valid_q(u_reg.skid_valid_q),
    .*
);
