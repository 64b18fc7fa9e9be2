// Brings an AXI4 read master into another clock, a beat of data each cycle of the slower one. Both sides are reset together, or while
// nothing is under way: a read that one of them forgets is never answered.
module cdc_axi_read
  import axi_pkg::*;
#(
    parameter int unsigned DataW = 512,
    parameter bit          Cross = 1'b1  // 0: both clocks are one, and these are wires
) (
    input logic s_clk,
    input logic s_rst,

    // From the master
    input  axi_read_request_t              s_axi_i,
    output axi_read_response_t             s_axi_o,
    output logic               [DataW-1:0] s_axi_rdata,

    input logic m_clk,
    input logic m_rst,

    // To the memory
    output axi_read_request_t              m_axi_o,
    input  axi_read_response_t             m_axi_i,
    input  logic               [DataW-1:0] m_axi_rdata
);

  if (Cross) begin : gen_cross
    axi_address_t asked;
    logic [1:0] unused_last, unused_cut;

    cdc_axis #(
        .DataW($bits(axi_address_t))
    ) u_address (
        .s_clk,
        .s_rst,
        .s_axis_tdata ({s_axi_i.araddr, s_axi_i.arlen, s_axi_i.arsize, s_axi_i.arburst, s_axi_i.arcache,
                      s_axi_i.arprot}),
        .s_axis_tlast (1'b1),
        .s_axis_tvalid(s_axi_i.arvalid),
        .s_axis_tready(s_axi_o.arready),
        .m_clk,
        .m_rst,
        .m_axis_tdata (asked),
        .m_axis_tlast (unused_last[0]),
        .m_axis_tuser (unused_cut[0]),
        .m_axis_tvalid(m_axi_o.arvalid),
        .m_axis_tready(m_axi_i.arready)
    );

    assign m_axi_o.araddr = asked.addr;
    assign m_axi_o.arlen = asked.len;
    assign m_axi_o.arsize = asked.size;
    assign m_axi_o.arburst = asked.burst;
    assign m_axi_o.arcache = asked.cache;
    assign m_axi_o.arprot = asked.prot;

    cdc_axis #(
        .DataW(DataW + 3)
    ) u_data (
        .s_clk        (m_clk),
        .s_rst        (m_rst),
        .s_axis_tdata ({m_axi_i.rlast, m_axi_i.rresp, m_axi_rdata}),
        .s_axis_tlast (1'b1),
        .s_axis_tvalid(m_axi_i.rvalid),
        .s_axis_tready(m_axi_o.rready),
        .m_clk        (s_clk),
        .m_rst        (s_rst),
        .m_axis_tdata ({s_axi_o.rlast, s_axi_o.rresp, s_axi_rdata}),
        .m_axis_tlast (unused_last[1]),
        .m_axis_tuser (unused_cut[1]),
        .m_axis_tvalid(s_axi_o.rvalid),
        .m_axis_tready(s_axi_i.rready)
    );

    logic unused;
    assign unused = ^{unused_last, unused_cut};
  end else begin : gen_wires
    assign m_axi_o = s_axi_i;
    assign s_axi_o = m_axi_i;
    assign s_axi_rdata = m_axi_rdata;

    logic unused;
    assign unused = ^{s_clk, s_rst, m_clk, m_rst};
  end

endmodule
