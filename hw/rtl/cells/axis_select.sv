// Passes whole packets of several streams in the order that a stream of selections gives, one selection a packet.
// No bubble between packets.
module axis_select #(
    parameter int unsigned DataW   = 512,
    parameter int unsigned Sources = 2,

    localparam int unsigned KeepW = DataW / 8,
    localparam int unsigned SelW  = $clog2(Sources)
) (
    input logic clk,
    input logic rst,

    input  logic [SelW-1:0] s_axis_sel_tdata,   // the source of the next packet
    input  logic            s_axis_sel_tvalid,
    output logic            s_axis_sel_tready,

    input  logic [Sources-1:0][DataW-1:0] s_axis_tdata,
    input  logic [Sources-1:0][KeepW-1:0] s_axis_tkeep,
    input  logic [Sources-1:0]            s_axis_tlast,
    input  logic [Sources-1:0]            s_axis_tuser,
    input  logic [Sources-1:0]            s_axis_tvalid,
    output logic [Sources-1:0]            s_axis_tready,

    output logic [DataW-1:0] m_axis_tdata,
    output logic [KeepW-1:0] m_axis_tkeep,
    output logic             m_axis_tlast,
    output logic             m_axis_tuser,
    output logic             m_axis_tvalid,
    input  logic             m_axis_tready
);

  logic [SelW-1:0] sel;
  logic valid, ready;

  assign sel = s_axis_sel_tdata;
  assign valid = s_axis_sel_tvalid && s_axis_tvalid[sel];
  assign s_axis_sel_tready = valid && ready && s_axis_tlast[sel];

  always_comb begin
    s_axis_tready = '0;
    s_axis_tready[sel] = s_axis_sel_tvalid && ready;
  end

  axis_reg #(
      .DataW(DataW + KeepW + 2)
  ) u_reg (
      .clk,
      .rst,
      .s_axis_tdata ({s_axis_tuser[sel], s_axis_tlast[sel], s_axis_tkeep[sel], s_axis_tdata[sel]}),
      .s_axis_tvalid(valid),
      .s_axis_tready(ready),
      .m_axis_tdata ({m_axis_tuser, m_axis_tlast, m_axis_tkeep, m_axis_tdata}),
      .m_axis_tvalid,
      .m_axis_tready
  );

endmodule
