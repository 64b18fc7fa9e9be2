// framelane_top with the simulated host in C++ (board.cpp): one memory for slots and constants, a detector, a MAC. Each side has its own
// clock; whole frames pass without a Python step a beat. For simulation only.
module framelane_top_board
  import framelane_pkg::*;
  import jf_pkg::PLANES;
#(
    parameter int unsigned DataW   = 512,
    parameter int unsigned RcQps   = 16,
    parameter int unsigned RcDepth = 64,
    parameter int unsigned RcAhead = 384,
    parameter bit          Time    = 1'b0,

    localparam int unsigned KeepW = DataW / 8,
    localparam int unsigned MacW = DataW > 512 ? 512 : DataW,
    localparam int unsigned MacKeepW = MacW / 8
) (
    input logic clk,
    input logic rst,

    input logic register_clk,
    input logic register_rst,

    input  logic [15:0] s_axil_awaddr,
    input  logic [ 2:0] s_axil_awprot,
    input  logic        s_axil_awvalid,
    output logic        s_axil_awready,
    input  logic [31:0] s_axil_wdata,
    input  logic [ 3:0] s_axil_wstrb,
    input  logic        s_axil_wvalid,
    output logic        s_axil_wready,
    output logic [ 1:0] s_axil_bresp,
    output logic        s_axil_bvalid,
    input  logic        s_axil_bready,
    input  logic [15:0] s_axil_araddr,
    input  logic [ 2:0] s_axil_arprot,
    input  logic        s_axil_arvalid,
    output logic        s_axil_arready,
    output logic [31:0] s_axil_rdata,
    output logic [ 1:0] s_axil_rresp,
    output logic        s_axil_rvalid,
    input  logic        s_axil_rready,

    input  logic                    pixel_clk,
    input  logic                    pixel_rst,
    input  logic        [DataW-1:0] s_axis_pixel_tdata,
    input  logic        [KeepW-1:0] s_axis_pixel_tkeep,
    input  logic                    s_axis_pixel_tlast,
    input  frame_info_t             s_axis_pixel_tuser,
    input  logic                    s_axis_pixel_tvalid,
    output logic                    s_axis_pixel_tready,

    input logic memory_clk,
    input logic memory_rst,

    input logic tx_clk,
    input logic tx_rst,

    input logic                rx_clk,
    input logic                rx_rst,
    input logic [    MacW-1:0] s_axis_rx_tdata,
    input logic [MacKeepW-1:0] s_axis_rx_tkeep,
    input logic                s_axis_rx_tlast,
    input logic                s_axis_rx_tuser,
    input logic                s_axis_rx_tvalid,
    input logic                link_up_i,

    output logic        interrupt_o,
    output logic        idle_o,
    output logic [31:0] core_ends_o,  // packets that have left the core, in clk
    output logic [31:0] line_ends_o,  // packets that the MAC has taken, in tx_clk
    output logic [63:0] gaps_o        // cycles without tvalid in packets at the MAC
);

  // Reading: frames, then the planes of the constants. Writing: raw images, corrected ones.
  localparam int unsigned READS = 1 + PLANES;
  localparam int unsigned WRITES = 2;

  logic [READS-1:0][63:0] araddr;
  logic [READS-1:0][7:0] arlen;
  logic [READS-1:0][2:0] arsize, arprot;
  logic [READS-1:0][1:0] arburst, rresp;
  logic [READS-1:0][3:0] arcache;
  logic [READS-1:0][DataW-1:0] rdata;
  logic [READS-1:0] arid, arvalid, arready, rvalid, rready, rlast;

  logic [WRITES-1:0][63:0] awaddr;
  logic [WRITES-1:0][7:0] awlen;
  logic [WRITES-1:0][2:0] awsize, awprot;
  logic [WRITES-1:0][1:0] awburst, bresp;
  logic [WRITES-1:0][3:0] awcache;
  logic [WRITES-1:0][DataW-1:0] wdata;
  logic [WRITES-1:0][KeepW-1:0] wstrb;
  logic [WRITES-1:0] awid, awvalid, awready, wvalid, wready, wlast, bvalid, bready;

  logic [MacW-1:0] tdata;
  logic [MacKeepW-1:0] tkeep;
  logic tlast, tuser, tvalid;
  bit tready;
  logic [1:0] unused_frame;
  logic unused_pps;

  framelane_top #(
      .DataW  (DataW),
      .Build  (1),
      .RcQps  (RcQps),
      .RcDepth(RcDepth),
      .RcAhead(RcAhead),
      .Time   (Time),
      .MacW   (MacW)
  ) u_top (
      .s_axis_frame_tdata     ('0),
      .s_axis_frame_tvalid    (1'b0),
      .s_axis_frame_tready    (unused_frame[0]),
      .release_o              (unused_frame[1]),
      .m_axi_awid             (awid[0]),
      .m_axi_awaddr           (awaddr[0]),
      .m_axi_awlen            (awlen[0]),
      .m_axi_awsize           (awsize[0]),
      .m_axi_awburst          (awburst[0]),
      .m_axi_awcache          (awcache[0]),
      .m_axi_awprot           (awprot[0]),
      .m_axi_awvalid          (awvalid[0]),
      .m_axi_awready          (awready[0]),
      .m_axi_wdata            (wdata[0]),
      .m_axi_wstrb            (wstrb[0]),
      .m_axi_wlast            (wlast[0]),
      .m_axi_wvalid           (wvalid[0]),
      .m_axi_wready           (wready[0]),
      .m_axi_bid              (1'b0),
      .m_axi_bresp            (bresp[0]),
      .m_axi_bvalid           (bvalid[0]),
      .m_axi_bready           (bready[0]),
      .m_axi_corrected_awid   (awid[1]),
      .m_axi_corrected_awaddr (awaddr[1]),
      .m_axi_corrected_awlen  (awlen[1]),
      .m_axi_corrected_awsize (awsize[1]),
      .m_axi_corrected_awburst(awburst[1]),
      .m_axi_corrected_awcache(awcache[1]),
      .m_axi_corrected_awprot (awprot[1]),
      .m_axi_corrected_awvalid(awvalid[1]),
      .m_axi_corrected_awready(awready[1]),
      .m_axi_corrected_wdata  (wdata[1]),
      .m_axi_corrected_wstrb  (wstrb[1]),
      .m_axi_corrected_wlast  (wlast[1]),
      .m_axi_corrected_wvalid (wvalid[1]),
      .m_axi_corrected_wready (wready[1]),
      .m_axi_corrected_bid    (1'b0),
      .m_axi_corrected_bresp  (bresp[1]),
      .m_axi_corrected_bvalid (bvalid[1]),
      .m_axi_corrected_bready (bready[1]),
      .m_axi_constant_arid    (arid[READS-1:1]),
      .m_axi_constant_araddr  (araddr[READS-1:1]),
      .m_axi_constant_arlen   (arlen[READS-1:1]),
      .m_axi_constant_arsize  (arsize[READS-1:1]),
      .m_axi_constant_arburst (arburst[READS-1:1]),
      .m_axi_constant_arcache (arcache[READS-1:1]),
      .m_axi_constant_arprot  (arprot[READS-1:1]),
      .m_axi_constant_arvalid (arvalid[READS-1:1]),
      .m_axi_constant_arready (arready[READS-1:1]),
      .m_axi_constant_rid     ('0),
      .m_axi_constant_rdata   (rdata[READS-1:1]),
      .m_axi_constant_rresp   (rresp[READS-1:1]),
      .m_axi_constant_rlast   (rlast[READS-1:1]),
      .m_axi_constant_rvalid  (rvalid[READS-1:1]),
      .m_axi_constant_rready  (rready[READS-1:1]),
      .m_axi_arid             (arid[0]),
      .m_axi_araddr           (araddr[0]),
      .m_axi_arlen            (arlen[0]),
      .m_axi_arsize           (arsize[0]),
      .m_axi_arburst          (arburst[0]),
      .m_axi_arcache          (arcache[0]),
      .m_axi_arprot           (arprot[0]),
      .m_axi_arvalid          (arvalid[0]),
      .m_axi_arready          (arready[0]),
      .m_axi_rid              (1'b0),
      .m_axi_rdata            (rdata[0]),
      .m_axi_rresp            (rresp[0]),
      .m_axi_rlast            (rlast[0]),
      .m_axi_rvalid           (rvalid[0]),
      .m_axi_rready           (rready[0]),
      .m_axis_tdata           (tdata),
      .m_axis_tkeep           (tkeep),
      .m_axis_tlast           (tlast),
      .m_axis_tuser           (tuser),
      .m_axis_tvalid          (tvalid),
      .m_axis_tready          (tready),
      .trigger_i              (1'b0),
      .pps_i                  (1'b0),
      .pps_o                  (unused_pps),
      .*
  );

  for (genvar k = 0; k < READS; k++) begin : gen_read
    memory_read #(
        .DataW(DataW),
        .Port (k)
    ) u_read (
        .clk          (memory_clk),
        .rst          (memory_rst),
        .s_axi_araddr (araddr[k]),
        .s_axi_arlen  (arlen[k]),
        .s_axi_arsize (arsize[k]),
        .s_axi_arburst(arburst[k]),
        .s_axi_arvalid(arvalid[k]),
        .s_axi_arready(arready[k]),
        .s_axi_rdata  (rdata[k]),
        .s_axi_rresp  (rresp[k]),
        .s_axi_rlast  (rlast[k]),
        .s_axi_rvalid (rvalid[k]),
        .s_axi_rready (rready[k])
    );
  end

  for (genvar k = 0; k < WRITES; k++) begin : gen_write
    memory_write #(
        .DataW(DataW),
        .Port (k)
    ) u_write (
        .clk          (memory_clk),
        .rst          (memory_rst),
        .s_axi_awaddr (awaddr[k]),
        .s_axi_awlen  (awlen[k]),
        .s_axi_awsize (awsize[k]),
        .s_axi_awburst(awburst[k]),
        .s_axi_awvalid(awvalid[k]),
        .s_axi_awready(awready[k]),
        .s_axi_wdata  (wdata[k]),
        .s_axi_wstrb  (wstrb[k]),
        .s_axi_wlast  (wlast[k]),
        .s_axi_wvalid (wvalid[k]),
        .s_axi_wready (wready[k]),
        .s_axi_bresp  (bresp[k]),
        .s_axi_bvalid (bvalid[k]),
        .s_axi_bready (bready[k])
    );
  end

  packet_sink #(
      .DataW (MacW),
      .Cycles(1'b0)
  ) u_sink (
      .clk          (tx_clk),
      .rst          (tx_rst),
      .s_axis_tdata (tdata),
      .s_axis_tkeep (tkeep),
      .s_axis_tlast (tlast),
      .s_axis_tvalid(tvalid),
      .s_axis_tready(tready)
  );

  mac_rule #(
      .Asserts(1'b0)
  ) u_rule (
      .clk     (tx_clk),
      .rst     (tx_rst),
      .tvalid_i(tvalid),
      .tready_i(tready),
      .tlast_i (tlast),
      .tuser_i (tuser),
      .gaps_o
  );

  import "DPI-C" function void board_clock();

  always_ff @(posedge clk) begin
    board_clock();
    core_ends_o <= core_ends_o + 32'(u_top.core_tvalid && u_top.core_tready && u_top.core_tlast);
    if (rst) core_ends_o <= '0;
  end

  always_ff @(posedge tx_clk) begin
    line_ends_o <= line_ends_o + 32'(tvalid && tready && tlast);
    if (tx_rst) line_ends_o <= '0;
  end

  logic unused;
  assign unused = ^{arid, arcache, arprot, awid, awcache, awprot, unused_frame, unused_pps};

endmodule
