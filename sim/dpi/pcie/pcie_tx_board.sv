// The transmitter over PCIe with the simulated host in C++: frame memory (board.cpp), and a root complex at the port of each engine. For
// simulation only.
module pcie_tx_board
  import framelane_pkg::*;
#(
    parameter int unsigned DataW   = 512,
    parameter int unsigned Engines = 2,
    parameter int unsigned Entries = 8192,
    parameter int unsigned ClockHz = 250_000_000,
    parameter int unsigned PacketBeats = 2**18 / DataW,  // 32 KiB

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
    input  frame_t      s_axis_frame_tdata,
    input  logic        s_axis_frame_tvalid,
    output logic        s_axis_frame_tready,
    output logic        release_o,

    // Packets, to the engine whose bit of tvalid is 1
    input logic [  DataW-1:0] s_axis_packet_tdata,
    input logic [  KeepW-1:0] s_axis_packet_tkeep,
    input logic               s_axis_packet_tlast,
    input logic               s_axis_packet_tuser,
    input logic [Engines-1:0] s_axis_packet_tvalid,
    input logic [       63:0] packet_time_ns_i,

    input logic [Engines-1:0] link_up_i,
    input logic [        1:0] mps_i,      // of every endpoint

    output logic interrupt_o,
    output logic idle_o
);

  logic [Engines-1:0][63:0] araddr;
  logic [Engines-1:0][7:0] arlen;
  logic [Engines-1:0][2:0] arsize, arprot;
  logic [Engines-1:0][1:0] arburst;
  logic [Engines-1:0][3:0] arcache;
  logic [Engines-1:0] arvalid, rready;
  bit [Engines-1:0][DataW-1:0] rdata;
  bit [Engines-1:0][1:0] rresp;
  bit [Engines-1:0] arready, rlast, rvalid;
  logic [Engines-1:0][DataW-1:0] tdata;
  logic [Engines-1:0][DwordsW-1:0] tkeep;
  logic [Engines-1:0][UserW-1:0] tuser;
  logic [Engines-1:0] tlast, tvalid;
  bit [Engines-1:0] tready, completion, completion_bad;
  bit [Engines-1:0][4:0] completion_tag;

  store_control_t store;

  pcie_tx #(
      .DataW  (DataW),
      .Engines(Engines),
      .Entries(Entries),
      .ClockHz(ClockHz),
      .Build  (1),
      .PacketBeats(PacketBeats)
  ) u_tx (
      .s_axis_packet_tdata ({Engines{s_axis_packet_tdata}}),
      .s_axis_packet_tkeep ({Engines{s_axis_packet_tkeep}}),
      .s_axis_packet_tlast ({Engines{s_axis_packet_tlast}}),
      .s_axis_packet_tuser ({Engines{s_axis_packet_tuser}}),
      .store_o          (store),
      .store_i          ('{idle: 1'b1, default: 1'b0}),
      .m_axi_araddr     (araddr),
      .m_axi_arlen      (arlen),
      .m_axi_arsize     (arsize),
      .m_axi_arburst    (arburst),
      .m_axi_arcache    (arcache),
      .m_axi_arprot     (arprot),
      .m_axi_arvalid    (arvalid),
      .m_axi_arready    (arready),
      .m_axi_rdata      (rdata),
      .m_axi_rresp      (rresp),
      .m_axi_rlast      (rlast),
      .m_axi_rvalid     (rvalid),
      .m_axi_rready     (rready),
      .mps_i            ({Engines{mps_i}}),
      .completion_i     (completion),
      .completion_tag_i (completion_tag),
      .completion_bad_i (completion_bad),
      .m_axis_tlp_tdata (tdata),
      .m_axis_tlp_tkeep (tkeep),
      .m_axis_tlp_tlast (tlast),
      .m_axis_tlp_tuser (tuser),
      .m_axis_tlp_tvalid(tvalid),
      .m_axis_tlp_tready(tready),
      .*
  );

  for (genvar e = 0; e < Engines; e++) begin : gen_engine
    memory_read #(
        .DataW(DataW),
        .Port (e)
    ) u_memory (
        .clk,
        .rst,
        .s_axi_araddr (araddr[e]),
        .s_axi_arlen  (arlen[e]),
        .s_axi_arsize (arsize[e]),
        .s_axi_arburst(arburst[e]),
        .s_axi_arvalid(arvalid[e]),
        .s_axi_arready(arready[e]),
        .s_axi_rdata  (rdata[e]),
        .s_axi_rresp  (rresp[e]),
        .s_axi_rlast  (rlast[e]),
        .s_axi_rvalid (rvalid[e]),
        .s_axi_rready (rready[e])
    );

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
  assign unused = ^{arcache, arprot, store};

endmodule
