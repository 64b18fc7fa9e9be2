// Brings a stream into another clock, one beat a cycle of the slower one. Of a stream without packets tlast is always 1.
// A reset of either side empties it; it leaves no piece of a packet: the rest of one that the source is in is swallowed, and one that the
// sink is in ends with a beat that says so.
module cdc_axis #(
    parameter int unsigned DataW = 8,
    parameter int unsigned Depth = 16,   // 16: enough for the round trip of the pointers
    parameter bit          Block = 1'b0
) (
    input logic s_clk,
    input logic s_rst,

    input  logic [DataW-1:0] s_axis_tdata,
    input  logic             s_axis_tlast,
    input  logic             s_axis_tvalid,
    output logic             s_axis_tready,

    input logic m_clk,
    input logic m_rst,

    output logic [DataW-1:0] m_axis_tdata,
    output logic             m_axis_tlast,
    output logic             m_axis_tuser,  // with tlast: the packet is cut here, and this beat is none of its own
    output logic             m_axis_tvalid,
    input  logic             m_axis_tready
);

  logic [DataW-1:0] data;
  logic last, cut, valid, ready;

  cdc_packets #(
      .DataW(DataW),
      .Depth(Depth),
      .Block(Block)
  ) u_packets (
      .s_clk,
      .s_rst,
      .s_axis_tdata,
      .s_axis_tlast,
      .s_axis_tvalid,
      .s_axis_tready,
      .m_clk,
      .m_rst,
      .m_axis_tdata (data),
      .m_axis_tlast (last),
      .m_axis_tuser (cut),
      .m_axis_tvalid(valid),
      .m_axis_tready(ready),
      .whole_o      (),
      .level_o      (),
      .clear_o      ()
  );

  axis_reg #(
      .DataW(DataW + 2)
  ) u_reg (
      .clk          (m_clk),
      .rst          (m_rst),
      .s_axis_tdata ({cut, last, data}),
      .s_axis_tvalid(valid),
      .s_axis_tready(ready),
      .m_axis_tdata ({m_axis_tuser, m_axis_tlast, m_axis_tdata}),
      .m_axis_tvalid,
      .m_axis_tready
  );

endmodule
