// packet_turns with three streams, each with ports of its own. For simulation only.
module packet_turns_bench #(
    parameter int unsigned DataW = 512,

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic rst,

    input  logic [DataW-1:0] s_axis_a_tdata,
    input  logic [KeepW-1:0] s_axis_a_tkeep,
    input  logic             s_axis_a_tlast,
    input  logic [      1:0] s_axis_a_tuser,
    input  logic             s_axis_a_tvalid,
    output logic             s_axis_a_tready,

    input  logic [DataW-1:0] s_axis_b_tdata,
    input  logic [KeepW-1:0] s_axis_b_tkeep,
    input  logic             s_axis_b_tlast,
    input  logic [      1:0] s_axis_b_tuser,
    input  logic             s_axis_b_tvalid,
    output logic             s_axis_b_tready,

    input  logic [DataW-1:0] s_axis_c_tdata,
    input  logic [KeepW-1:0] s_axis_c_tkeep,
    input  logic             s_axis_c_tlast,
    input  logic [      1:0] s_axis_c_tuser,
    input  logic             s_axis_c_tvalid,
    output logic             s_axis_c_tready,

    output logic [DataW-1:0] m_axis_tdata,
    output logic [KeepW-1:0] m_axis_tkeep,
    output logic             m_axis_tlast,
    output logic [      1:0] m_axis_tuser,
    output logic [      2:0] m_axis_tdest,
    output logic             m_axis_tvalid,
    input  logic             m_axis_tready
);

  packet_turns #(
      .Streams(3),
      .DataW  (DataW),
      .UserW  (2)
  ) u_turns (
      .clk,
      .rst,
      .s_axis_tdata({s_axis_c_tdata, s_axis_b_tdata, s_axis_a_tdata}),
      .s_axis_tkeep({s_axis_c_tkeep, s_axis_b_tkeep, s_axis_a_tkeep}),
      .s_axis_tlast({s_axis_c_tlast, s_axis_b_tlast, s_axis_a_tlast}),
      .s_axis_tuser({s_axis_c_tuser, s_axis_b_tuser, s_axis_a_tuser}),
      .s_axis_tvalid({s_axis_c_tvalid, s_axis_b_tvalid, s_axis_a_tvalid}),
      .s_axis_tready({s_axis_c_tready, s_axis_b_tready, s_axis_a_tready}),
      .m_axis_tdata,
      .m_axis_tkeep,
      .m_axis_tlast,
      .m_axis_tuser,
      .m_axis_tdest,
      .m_axis_tvalid,
      .m_axis_tready
  );

endmodule
