// One engine of a transmitter over PCIe with its registers, its descriptors from the program, the simulated host in C++ around it: frame memory
// (board.cpp), and a root complex. For simulation only.
module pcie_lane_board
  import axi_pkg::*;
  import framelane_pkg::*;
  import pcie_counters_pkg::*;
  import pcie_pkg::*;
#(
    parameter int unsigned DataW   = 512,
    parameter int unsigned Entries = 8192,

    localparam int unsigned DwordsW = DataW / 32
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

    // Descriptors, whose payload is in memory, and the trailers of those that are `last`
    input  bd_t      s_axis_bd_tdata,
    input  logic     s_axis_bd_tvalid,
    output logic     s_axis_bd_tready,
    input  trailer_t s_axis_trailer_tdata,
    input  logic     s_axis_trailer_tvalid,
    output logic     s_axis_trailer_tready,

    input logic [0:0] link_up_i,
    input logic [1:0] mps_i,

    output logic interrupt_o,  // it has none
    output logic idle_o
);

  axil_request_t axil_request;
  axil_response_t axil_response;
  pcie_control_t [0:0] control;
  pcie_report_t [0:0] report;
  pcie_pulses_t [0:0] pulses;
  axi_read_request_t request;
  axi_read_response_t response;
  bit [DataW-1:0] rdata;
  bit [1:0] rresp;
  bit arready, rlast, rvalid;
  logic [DataW-1:0] tdata;
  logic [DwordsW-1:0] tkeep;
  tlp_user_t tuser;
  logic tlast, tvalid;
  bit tready, completion, completion_bad;
  bit [4:0] completion_tag;

  assign axil_request = '{
          awaddr: s_axil_awaddr, awprot: s_axil_awprot, awvalid: s_axil_awvalid,
          wdata: s_axil_wdata, wstrb: s_axil_wstrb, wvalid: s_axil_wvalid, bready: s_axil_bready,
          araddr: s_axil_araddr, arprot: s_axil_arprot, arvalid: s_axil_arvalid, rready: s_axil_rready
      };
  assign s_axil_awready = axil_response.awready;
  assign s_axil_wready = axil_response.wready;
  assign s_axil_bresp = axil_response.bresp;
  assign s_axil_bvalid = axil_response.bvalid;
  assign s_axil_arready = axil_response.arready;
  assign s_axil_rdata = axil_response.rdata;
  assign s_axil_rresp = axil_response.rresp;
  assign s_axil_rvalid = axil_response.rvalid;
  assign response = '{arready: arready, rresp: rresp, rlast: rlast, rvalid: rvalid};

  pcie_registers #(
      .DataW  (DataW),
      .Engines(1),
      .Entries(Entries)
  ) u_registers (
      .clk,
      .rst,
      .s_axil_i (axil_request),
      .s_axil_o (axil_response),
      .control_o(control),
      .report_i (report),
      .pulses_i (pulses),
      .clear_i  (rst)
  );

  pcie_lane #(
      .DataW  (DataW),
      .Entries(Entries)
  ) u_lane (
      .clk,
      .rst,
      .port_rst            (rst),
      .control_i           (control),
      .report_o            (report),
      .pulses_o            (pulses),
      .drain_i             (1'b0),
      .closed_i            (1'b0),
      .s_axis_bd_tdata,
      .s_axis_bd_tvalid,
      .s_axis_bd_tready,
      .s_axis_trailer_tdata,
      .s_axis_trailer_tvalid,
      .s_axis_trailer_tready,
      .s_axis_over_tdata   ('0),
      .s_axis_over_tvalid  (1'b0),
      .s_axis_over_tready  (),
      .release_o           (),
      .s_axis_packet_tdata ('0),
      .s_axis_packet_tkeep ('0),
      .s_axis_packet_tlast ('0),
      .s_axis_packet_tuser ('0),
      .s_axis_packet_tvalid('0),
      .packet_time_ns_i    ('0),
      .m_axis_count_tdata  (),
      .m_axis_count_tvalid (),
      .m_axis_count_tready (1'b1),
      .m_axi_o             (request),
      .m_axi_i             (response),
      .m_axi_rdata         (rdata),
      .read_error_o        (),
      .link_up_i,
      .mps_i               (mps_e'(mps_i)),
      .completion_i        (completion),
      .completion_tag_i    (completion_tag),
      .completion_bad_i    (completion_bad),
      .m_axis_tlp_tdata    (tdata),
      .m_axis_tlp_tkeep    (tkeep),
      .m_axis_tlp_tlast    (tlast),
      .m_axis_tlp_tuser    (tuser),
      .m_axis_tlp_tvalid   (tvalid),
      .m_axis_tlp_tready   (tready),
      .status_valid_o      (),
      .status_o            (),
      .idle_o
  );

  memory_read #(
      .DataW(DataW)
  ) u_memory (
      .clk,
      .rst,
      .s_axi_araddr (request.araddr),
      .s_axi_arlen  (request.arlen),
      .s_axi_arsize (request.arsize),
      .s_axi_arburst(request.arburst),
      .s_axi_arvalid(request.arvalid),
      .s_axi_arready(arready),
      .s_axi_rdata  (rdata),
      .s_axi_rresp  (rresp),
      .s_axi_rlast  (rlast),
      .s_axi_rvalid (rvalid),
      .s_axi_rready (request.rready)
  );

  tlp_sink #(
      .DataW(DataW)
  ) u_sink (
      .clk,
      .rst,
      .s_axis_tlp_tdata (tdata),
      .s_axis_tlp_tkeep (tkeep),
      .s_axis_tlp_tlast (tlast),
      .s_axis_tlp_tuser (tuser),
      .s_axis_tlp_tvalid(tvalid),
      .s_axis_tlp_tready(tready),
      .completion_o     (completion),
      .completion_tag_o (completion_tag),
      .completion_bad_o (completion_bad)
  );

  assign interrupt_o = 1'b0;

  logic unused;
  assign unused = ^{request, axil_response};

  import "DPI-C" function void board_clock();

  always_ff @(posedge clk) board_clock();

endmodule
