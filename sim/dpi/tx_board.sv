// The transmitter with the simulated host in C++ (board.cpp): whole frames pass without a Python step a beat.
// With MacPort packets go through a mac_port, of the core's clock: there the rule of the MAC holds. For simulation only.
module tx_board
  import framelane_pkg::*;
#(
    parameter int unsigned DataW   = 512,
    parameter int unsigned ClockHz = 250_000_000,
    parameter bit          Station = 1'b0,
    parameter bit          Rc      = 1'b0,
    parameter int unsigned RcQps   = 16,
    parameter int unsigned RcDepth = 64,
    parameter int unsigned RcAhead = 384,
    parameter int unsigned MaxSlots = 1024,
    parameter bit          MacPort = 1'b0,

    localparam int unsigned KeepW = DataW / 8
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

    input logic [DataW-1:0] s_axis_rx_tdata,
    input logic [KeepW-1:0] s_axis_rx_tkeep,
    input logic             s_axis_rx_tlast,
    input logic             s_axis_rx_tuser,
    input logic             s_axis_rx_tvalid,
    input logic             link_up_i,

    output logic        interrupt_o,
    output logic        idle_o,
    output logic [63:0] gaps_o   // cycles without tvalid in packets of the core
);

  logic [63:0] araddr;
  logic [7:0] arlen;
  logic [2:0] arsize;
  logic [1:0] arburst;
  logic [3:0] arcache;
  logic [2:0] arprot;
  logic arid;
  logic arvalid, rready;
  bit arready, rvalid, rlast;
  bit [1:0] rresp;
  bit [DataW-1:0] rdata;
  logic [DataW-1:0] tdata;
  logic [KeepW-1:0] tkeep;
  logic tlast, tvalid, tready, core_idle;
  logic [DataW-1:0] line_tdata;
  logic [KeepW-1:0] line_tkeep;
  logic line_tlast, line_tuser, line_tvalid;
  bit line_tready;
  logic [15:0] threshold;
  mac_report_t mac_report;

  store_control_t store;

  tx #(
      .DataW  (DataW),
      .Build  (1),
      .ClockHz(ClockHz),
      .Station(Station),
      .Rc     (Rc),
      .RcQps  (RcQps),
      .RcDepth(RcDepth),
      .RcAhead(RcAhead),
      .MaxSlots(MaxSlots),
      .MacPort(MacPort)
  ) u_tx (
      .store_o      (store),
      .store_i      ('{idle: 1'b1, default: 1'b0}),
      .m_axi_arid   (arid),
      .m_axi_araddr (araddr),
      .m_axi_arlen  (arlen),
      .m_axi_arsize (arsize),
      .m_axi_arburst(arburst),
      .m_axi_arcache(arcache),
      .m_axi_arprot (arprot),
      .m_axi_arvalid(arvalid),
      .m_axi_arready(arready),
      .m_axi_rid    (arid),
      .m_axi_rdata  (rdata),
      .m_axi_rresp  (rresp),
      .m_axi_rlast  (rlast),
      .m_axi_rvalid (rvalid),
      .m_axi_rready (rready),
      .m_axis_tdata (tdata),
      .m_axis_tkeep (tkeep),
      .m_axis_tlast (tlast),
      .m_axis_tvalid(tvalid),
      .m_axis_tready(tready),
      .mac_threshold_o(threshold),
      .mac_i        (mac_report),
      .idle_o       (core_idle),
      .*
  );

  memory_read #(
      .DataW(DataW)
  ) u_memory (
      .clk,
      .rst,
      .s_axi_araddr (araddr),
      .s_axi_arlen  (arlen),
      .s_axi_arsize (arsize),
      .s_axi_arburst(arburst),
      .s_axi_arvalid(arvalid),
      .s_axi_arready(arready),
      .s_axi_rdata  (rdata),
      .s_axi_rresp  (rresp),
      .s_axi_rlast  (rlast),
      .s_axi_rvalid (rvalid),
      .s_axi_rready (rready)
  );

  packet_sink #(
      .DataW(DataW)
  ) u_sink (
      .clk,
      .rst,
      .s_axis_tdata (line_tdata),
      .s_axis_tkeep (line_tkeep),
      .s_axis_tlast (line_tlast),
      .s_axis_tvalid(line_tvalid),
      .s_axis_tready(line_tready)
  );

  if (MacPort) begin : gen_port
    logic [31:0] inside_q;  // packets of which the end is in the port
    logic [DataW-1:0] unused_tdata;
    logic [KeepW-1:0] unused_tkeep;
    logic [2:0] unused_rx;

    mac_port #(
        .DataW   (DataW),
        .MacW    (DataW),
        .MinBytes(0)
    ) u_port (
        .clk,
        .rst,
        .s_axis_tdata    (tdata),
        .s_axis_tkeep    (tkeep),
        .s_axis_tlast    (tlast),
        .s_axis_tvalid   (tvalid),
        .s_axis_tready   (tready),
        .m_axis_rx_tdata (unused_tdata),
        .m_axis_rx_tkeep (unused_tkeep),
        .m_axis_rx_tlast (unused_rx[0]),
        .m_axis_rx_tuser (unused_rx[1]),
        .m_axis_rx_tvalid(unused_rx[2]),
        .m_axis_rx_tready(1'b1),
        .threshold_i     (threshold),
        .tx_underrun_o   (mac_report.tx_underrun),
        .tx_too_long_o   (mac_report.tx_too_long),
        .rx_bad_o        (mac_report.rx_bad),
        .rx_lost_o       (mac_report.rx_lost),
        .tx_clk          (clk),
        .tx_rst          (rst),
        .m_axis_tdata    (line_tdata),
        .m_axis_tkeep    (line_tkeep),
        .m_axis_tlast    (line_tlast),
        .m_axis_tuser    (line_tuser),
        .m_axis_tvalid   (line_tvalid),
        .m_axis_tready   (line_tready),
        .rx_clk          (clk),
        .rx_rst          (rst),
        .s_axis_rx_tdata ('0),
        .s_axis_rx_tkeep ('0),
        .s_axis_rx_tlast (1'b0),
        .s_axis_rx_tuser (1'b0),
        .s_axis_rx_tvalid(1'b0)
    );

    always_ff @(posedge clk) begin
      inside_q <= inside_q + 32'(tvalid && tready && tlast) - 32'(line_tvalid && line_tready && line_tlast);
      if (rst) inside_q <= '0;
    end

    assign idle_o = core_idle && inside_q == '0;

    logic [63:0] unused_gaps;

    mac_rule u_rule (
        .clk,
        .rst,
        .tvalid_i(line_tvalid),
        .tready_i(line_tready),
        .tlast_i (line_tlast),
        .tuser_i (line_tuser),
        .gaps_o  (unused_gaps)
    );
  end else begin : gen_no_port
    assign line_tdata = tdata;
    assign line_tkeep = tkeep;
    assign line_tlast = tlast;
    assign line_tuser = 1'b0;
    assign line_tvalid = tvalid;
    assign tready = line_tready;
    assign mac_report = '0;
    assign idle_o = core_idle;
  end

  mac_rule #(
      .Asserts(1'b0)
  ) u_core_gaps (
      .clk,
      .rst,
      .tvalid_i(tvalid),
      .tready_i(tready),
      .tlast_i (tlast),
      .tuser_i (1'b0),
      .gaps_o
  );

  logic unused;
  assign unused = ^{arcache, arprot, store, threshold, line_tuser};

endmodule
