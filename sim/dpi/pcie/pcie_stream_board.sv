// pcie_stream with the simulated host in C++: one memory for slots and constants (board.cpp), a detector, and a root complex at the port of each
// engine. For simulation only.
module pcie_stream_board
  import framelane_pkg::*;
  import jf_pkg::PLANES;
#(
    parameter int unsigned DataW   = 512,
    parameter int unsigned Engines = 2,
    parameter int unsigned Entries = 8192,
    parameter int unsigned ClockHz = 250_000_000,

    localparam int unsigned KeepW = DataW / 8,
    localparam int unsigned DwordsW = DataW / 32,
    localparam int unsigned UserW = $bits(pcie_pkg::tlp_user_t)
) (
    input logic clk,
    input logic rst,

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

    input  logic        [DataW-1:0] s_axis_pixel_tdata,
    input  logic        [KeepW-1:0] s_axis_pixel_tkeep,
    input  logic                    s_axis_pixel_tlast,
    input  frame_info_t             s_axis_pixel_tuser,
    input  logic                    s_axis_pixel_tvalid,
    output logic                    s_axis_pixel_tready,

    input logic [Engines-1:0] link_up_i,
    input logic [        1:0] mps_i,      // of every endpoint

    output logic interrupt_o,
    output logic idle_o
);

  // Reading: frames, by each engine, then the planes of the constants. Writing: raw images, corrected ones.
  localparam int unsigned READS = Engines + PLANES;
  localparam int unsigned WRITES = 2;

  logic [READS-1:0][63:0] araddr;
  logic [READS-1:0][7:0] arlen;
  logic [READS-1:0][2:0] arsize, arprot;
  logic [READS-1:0][1:0] arburst;
  logic [READS-1:0][3:0] arcache;
  logic [READS-1:0] arvalid, rready;
  bit [READS-1:0][DataW-1:0] rdata;
  bit [READS-1:0][1:0] rresp;
  bit [READS-1:0] arready, rlast, rvalid;
  logic [PLANES-1:0] arid;

  logic [WRITES-1:0][63:0] awaddr;
  logic [WRITES-1:0][7:0] awlen;
  logic [WRITES-1:0][2:0] awsize, awprot;
  logic [WRITES-1:0][1:0] awburst;
  logic [WRITES-1:0][3:0] awcache;
  logic [WRITES-1:0][DataW-1:0] wdata;
  logic [WRITES-1:0][KeepW-1:0] wstrb;
  logic [WRITES-1:0] awid, awvalid, wvalid, wlast, bready;
  bit [WRITES-1:0] awready, wready, bvalid;
  bit [WRITES-1:0][1:0] bresp;

  logic [Engines-1:0][DataW-1:0] tdata;
  logic [Engines-1:0][DwordsW-1:0] tkeep;
  logic [Engines-1:0][UserW-1:0] tuser;
  logic [Engines-1:0] tlast, tvalid;
  bit [Engines-1:0] tready, completion, completion_bad;
  bit [Engines-1:0][4:0] completion_tag;

  pcie_stream #(
      .DataW  (DataW),
      .Engines(Engines),
      .Entries(Entries),
      .ClockHz(ClockHz),
      .Build  (1)
  ) u_stream (
      .pixel_cut_i            (1'b0),
      .pixel_restart_i        (1'b0),
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
      .m_axi_constant_arid    (arid),
      .m_axi_constant_araddr  (araddr[READS-1:Engines]),
      .m_axi_constant_arlen   (arlen[READS-1:Engines]),
      .m_axi_constant_arsize  (arsize[READS-1:Engines]),
      .m_axi_constant_arburst (arburst[READS-1:Engines]),
      .m_axi_constant_arcache (arcache[READS-1:Engines]),
      .m_axi_constant_arprot  (arprot[READS-1:Engines]),
      .m_axi_constant_arvalid (arvalid[READS-1:Engines]),
      .m_axi_constant_arready (arready[READS-1:Engines]),
      .m_axi_constant_rid     ('0),
      .m_axi_constant_rdata   (rdata[READS-1:Engines]),
      .m_axi_constant_rresp   (rresp[READS-1:Engines]),
      .m_axi_constant_rlast   (rlast[READS-1:Engines]),
      .m_axi_constant_rvalid  (rvalid[READS-1:Engines]),
      .m_axi_constant_rready  (rready[READS-1:Engines]),
      .m_axi_araddr           (araddr[Engines-1:0]),
      .m_axi_arlen            (arlen[Engines-1:0]),
      .m_axi_arsize           (arsize[Engines-1:0]),
      .m_axi_arburst          (arburst[Engines-1:0]),
      .m_axi_arcache          (arcache[Engines-1:0]),
      .m_axi_arprot           (arprot[Engines-1:0]),
      .m_axi_arvalid          (arvalid[Engines-1:0]),
      .m_axi_arready          (arready[Engines-1:0]),
      .m_axi_rdata            (rdata[Engines-1:0]),
      .m_axi_rresp            (rresp[Engines-1:0]),
      .m_axi_rlast            (rlast[Engines-1:0]),
      .m_axi_rvalid           (rvalid[Engines-1:0]),
      .m_axi_rready           (rready[Engines-1:0]),
      .mps_i                  ({Engines{mps_i}}),
      .completion_i           (completion),
      .completion_tag_i       (completion_tag),
      .completion_bad_i       (completion_bad),
      .m_axis_tlp_tdata       (tdata),
      .m_axis_tlp_tkeep       (tkeep),
      .m_axis_tlp_tlast       (tlast),
      .m_axis_tlp_tuser       (tuser),
      .m_axis_tlp_tvalid      (tvalid),
      .m_axis_tlp_tready      (tready),
      .*
  );

  for (genvar k = 0; k < READS; k++) begin : gen_read
    memory_read #(
        .DataW(DataW),
        .Port (k)
    ) u_read (
        .clk,
        .rst,
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
        .clk,
        .rst,
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

  for (genvar e = 0; e < Engines; e++) begin : gen_engine
    tlp_sink #(
        .DataW(DataW),
        .Port (e)
    ) u_sink (
        .clk,
        .rst,
        .s_axis_tlp_tdata (tdata[e]),
        .s_axis_tlp_tkeep (tkeep[e]),
        .s_axis_tlp_tlast (tlast[e]),
        .s_axis_tlp_tuser (tuser[e]),
        .s_axis_tlp_tvalid(tvalid[e]),
        .s_axis_tlp_tready(tready[e]),
        .completion_o     (completion[e]),
        .completion_tag_o (completion_tag[e]),
        .completion_bad_o (completion_bad[e])
    );
  end

  import "DPI-C" function void board_clock();

  always_ff @(posedge clk) board_clock();

  logic unused;
  assign unused = ^{arid, arcache, arprot, awid, awcache, awprot};

endmodule
