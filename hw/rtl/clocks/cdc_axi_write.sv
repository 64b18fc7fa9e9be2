// Brings an AXI4 write master into another clock, a beat of data each cycle of the slower one. Data may come before their address. Both
// sides are reset together, or while nothing is under way: a write that one of them forgets is never answered.
module cdc_axi_write
  import axi_pkg::*;
#(
    parameter int unsigned DataW = 512,
    parameter bit          Cross = 1'b1, // 0: both clocks are one, and these are wires

    localparam int unsigned KeepW = DataW / 8
) (
    input logic s_clk,
    input logic s_rst,

    // From the master
    input  axi_write_request_t              s_axi_i,
    output axi_write_response_t             s_axi_o,
    input  logic                [DataW-1:0] s_axi_wdata,
    input  logic                [KeepW-1:0] s_axi_wstrb,

    input logic m_clk,
    input logic m_rst,

    // To the memory
    output axi_write_request_t              m_axi_o,
    input  axi_write_response_t             m_axi_i,
    output logic                [DataW-1:0] m_axi_wdata,
    output logic                [KeepW-1:0] m_axi_wstrb
);

  if (Cross) begin : gen_cross
    axi_address_t asked;
    logic [1:0] unused_last;
    logic [2:0] unused_cut;

    cdc_axis #(
        .DataW($bits(axi_address_t))
    ) u_address (
        .s_clk,
        .s_rst,
        .s_axis_tdata ({s_axi_i.awaddr, s_axi_i.awlen, s_axi_i.awsize, s_axi_i.awburst, s_axi_i.awcache,
                      s_axi_i.awprot}),
        .s_axis_tlast (1'b1),
        .s_axis_tvalid(s_axi_i.awvalid),
        .s_axis_tready(s_axi_o.awready),
        .m_clk,
        .m_rst,
        .m_axis_tdata (asked),
        .m_axis_tlast (unused_last[0]),
        .m_axis_tuser (unused_cut[0]),
        .m_axis_tvalid(m_axi_o.awvalid),
        .m_axis_tready(m_axi_i.awready)
    );

    assign m_axi_o.awaddr = asked.addr;
    assign m_axi_o.awlen = asked.len;
    assign m_axi_o.awsize = asked.size;
    assign m_axi_o.awburst = asked.burst;
    assign m_axi_o.awcache = asked.cache;
    assign m_axi_o.awprot = asked.prot;

    cdc_axis #(
        .DataW(KeepW + DataW)
    ) u_data (
        .s_clk,
        .s_rst,
        .s_axis_tdata ({s_axi_wstrb, s_axi_wdata}),
        .s_axis_tlast (s_axi_i.wlast),
        .s_axis_tvalid(s_axi_i.wvalid),
        .s_axis_tready(s_axi_o.wready),
        .m_clk,
        .m_rst,
        .m_axis_tdata ({m_axi_wstrb, m_axi_wdata}),
        .m_axis_tlast (m_axi_o.wlast),
        .m_axis_tuser (unused_cut[1]),
        .m_axis_tvalid(m_axi_o.wvalid),
        .m_axis_tready(m_axi_i.wready)
    );

    cdc_axis #(
        .DataW(2)
    ) u_answer (
        .s_clk        (m_clk),
        .s_rst        (m_rst),
        .s_axis_tdata (m_axi_i.bresp),
        .s_axis_tlast (1'b1),
        .s_axis_tvalid(m_axi_i.bvalid),
        .s_axis_tready(m_axi_o.bready),
        .m_clk        (s_clk),
        .m_rst        (s_rst),
        .m_axis_tdata (s_axi_o.bresp),
        .m_axis_tlast (unused_last[1]),
        .m_axis_tuser (unused_cut[2]),
        .m_axis_tvalid(s_axi_o.bvalid),
        .m_axis_tready(s_axi_i.bready)
    );

    logic unused;
    assign unused = ^{unused_last, unused_cut};
  end else begin : gen_wires
    assign m_axi_o = s_axi_i;
    assign s_axi_o = m_axi_i;
    assign m_axi_wdata = s_axi_wdata;
    assign m_axi_wstrb = s_axi_wstrb;

    logic unused;
    assign unused = ^{s_clk, s_rst, m_clk, m_rst};
  end

endmodule
