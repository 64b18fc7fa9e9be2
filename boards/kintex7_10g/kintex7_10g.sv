// A Kintex-7 with an SFP+ cage (STLV7325, XC7K325T): the picture of pattern_memory as frames over 10 Gb/s, 64 bits at 156.25 MHz, with RC
// and the receive path. Registers by the UART. No tool of the vendor has built it: the cells of vendor_cells.v are an IP to be made in
// Vivado, and primitives. README.md.
module kintex7_10g
  import axi_pkg::*;
  import framelane_pkg::*;
  import jf_pkg::PLANES;
#(
    parameter int unsigned Build = 0
) (
    input wire clk50,
    input wire reset_n,  // a button

    input wire sfp_refclk_p,  // 156.25 MHz
    input wire sfp_refclk_n,
    input wire sfp_rx_p,
    input wire sfp_rx_n,
    output wire sfp_tx_p,
    output wire sfp_tx_n,

    input  wire uart_rx,
    output wire uart_tx,

    output wire led_n  // on while the link is up, off for a moment with packets
);

  localparam int unsigned CLOCK_HZ = 156_250_000;
  localparam int unsigned BIT_CYCLES = 1356;  // of 115,200 baud
  localparam int unsigned DATA_W = 64;
  localparam int unsigned ADDR_W = 32;

  // Configuration of the MAC (PG157): enabled, frames of up to 16 KiB; all else as it is after a reset
  localparam logic [79:0] MAC_CONFIGURATION = 80'h12;
  localparam int unsigned BLOCK_LOCK = 0;  // bit of pcspma_status

  logic clk, dclk, datapath_rst, rst, link_up, uart_line;

  BUFG u_dclk (
      .O(dclk),
      .I(clk50)
  );

  cdc_reset u_reset (
      .clk,
      .rst_i(datapath_rst || !reset_n),
      .rst_o(rst)
  );

  // The line
  logic [DATA_W-1:0] tx_tdata, rx_tdata;
  logic [DATA_W/8-1:0] tx_tkeep, rx_tkeep;
  logic tx_tlast, tx_tuser, tx_tvalid, tx_tready, rx_tlast, rx_good, rx_tvalid;
  logic [7:0] status;

  axi_10g_ethernet_0 u_mac (
      .refclk_p                        (sfp_refclk_p),
      .refclk_n                        (sfp_refclk_n),
      .reset                           (!reset_n),
      .dclk                            (dclk),
      .coreclk_out                     (clk),
      .areset_datapathclk_out          (datapath_rst),
      .txp                             (sfp_tx_p),
      .txn                             (sfp_tx_n),
      .rxp                             (sfp_rx_p),
      .rxn                             (sfp_rx_n),
      .signal_detect                   (1'b1),
      .tx_fault                        (1'b0),
      .tx_disable                      (),
      .sim_speedup_control             (1'b0),
      .tx_axis_aresetn                 (!rst),
      .rx_axis_aresetn                 (!rst),
      .tx_ifg_delay                    (8'd0),
      .mac_tx_configuration_vector     (MAC_CONFIGURATION),
      .mac_rx_configuration_vector     (MAC_CONFIGURATION),
      .mac_status_vector               (),
      .pcs_pma_configuration_vector    (536'd0),
      .pcs_pma_status_vector           (),
      .pcspma_status                   (status),
      .s_axis_tx_tdata                 (tx_tdata),
      .s_axis_tx_tkeep                 (tx_tkeep),
      .s_axis_tx_tlast                 (tx_tlast),
      .s_axis_tx_tuser                 (tx_tuser),
      .s_axis_tx_tvalid                (tx_tvalid),
      .s_axis_tx_tready                (tx_tready),
      .s_axis_pause_tdata              (16'd0),
      .s_axis_pause_tvalid             (1'b0),
      .m_axis_rx_tdata                 (rx_tdata),
      .m_axis_rx_tkeep                 (rx_tkeep),
      .m_axis_rx_tlast                 (rx_tlast),
      .m_axis_rx_tuser                 (rx_good),
      .m_axis_rx_tvalid                (rx_tvalid)
  );

  cdc_bits #(
      .Width(2)
  ) u_bits (
      .clk,
      .bits_i({uart_rx, status[BLOCK_LOCK]}),
      .bits_o({uart_line, link_up})
  );

  // Registers
  axil_request_t axil_request;
  axil_response_t axil_response;
  logic heard_tvalid, said_tvalid, said_tready, unused_show;
  logic [7:0] heard_tdata, said_tdata;

  uart_rx #(
      .BitCycles(BIT_CYCLES)
  ) u_uart_rx (
      .clk,
      .rst,
      .line_i       (uart_line),
      .m_axis_tdata (heard_tdata),
      .m_axis_tvalid(heard_tvalid)
  );

  uart_registers u_registers (
      .clk,
      .rst,
      .s_axis_tdata (heard_tdata),
      .s_axis_tvalid(heard_tvalid),
      .m_axis_tdata (said_tdata),
      .m_axis_tvalid(said_tvalid),
      .m_axis_tready(said_tready),
      .show_o       (unused_show),
      .token_i      ('0),  // there are no registers over UDP
      .m_axil_o     (axil_request),
      .m_axil_i     (axil_response)
  );

  uart_tx #(
      .BitCycles(BIT_CYCLES)
  ) u_uart_tx (
      .clk,
      .rst,
      .s_axis_tdata (said_tdata),
      .s_axis_tvalid(said_tvalid),
      .s_axis_tready(said_tready),
      .line_o       (uart_tx)
  );

  // Frames
  frame_t frame_tdata;
  logic frame_tvalid, frame_tready;
  logic [ADDR_W-1:0] araddr;
  logic [DATA_W-1:0] rdata;
  logic [7:0] arlen;
  logic arvalid, arready, rlast, rvalid, rready;

  pattern_frames #(
      .ClockHz(CLOCK_HZ)
  ) u_frames (
      .clk,
      .rst,
      .images_i           ('0),
      .begin_i            (1'b0),
      .m_axis_frame_tdata (frame_tdata),
      .m_axis_frame_tvalid(frame_tvalid),
      .m_axis_frame_tready(frame_tready)
  );

  pattern_memory #(
      .AddrW(ADDR_W)
  ) u_memory (
      .clk,
      .rst,
      .s_axi_araddr (araddr),
      .s_axi_arlen  (arlen),
      .s_axi_arvalid(arvalid),
      .s_axi_arready(arready),
      .s_axi_rdata  (rdata),
      .s_axi_rlast  (rlast),
      .s_axi_rvalid (rvalid),
      .s_axi_rready (rready)
  );

  framelane_top #(
      .DataW        (DATA_W),
      .AddrW        (ADDR_W),
      .NumQp        (4),
      .Flows        (2),
      .Destinations (4),
      .Store        (1'b0),
      .Correct      (1'b0),
      .ReadDepth    (16),
      .ReadBeats    (512),
      .MaxBurst     (256),
      .ClockHz      (CLOCK_HZ),
      .Build        (Build),
      .RcQps        (4),
      .RcAhead      (64),
      .MacW         (DATA_W),
      .PixelClock   (1'b0),
      .MemoryClock  (1'b0),
      .RegisterClock(1'b0),
      .MacClock     (1'b0)
  ) u_framelane (
      .clk,
      .rst,
      .register_clk          (clk),
      .register_rst          (rst),
      .s_axil_awaddr         (axil_request.awaddr),
      .s_axil_awprot         (axil_request.awprot),
      .s_axil_awvalid        (axil_request.awvalid),
      .s_axil_awready        (axil_response.awready),
      .s_axil_wdata          (axil_request.wdata),
      .s_axil_wstrb          (axil_request.wstrb),
      .s_axil_wvalid         (axil_request.wvalid),
      .s_axil_wready         (axil_response.wready),
      .s_axil_bresp          (axil_response.bresp),
      .s_axil_bvalid         (axil_response.bvalid),
      .s_axil_bready         (axil_request.bready),
      .s_axil_araddr         (axil_request.araddr),
      .s_axil_arprot         (axil_request.arprot),
      .s_axil_arvalid        (axil_request.arvalid),
      .s_axil_arready        (axil_response.arready),
      .s_axil_rdata          (axil_response.rdata),
      .s_axil_rresp          (axil_response.rresp),
      .s_axil_rvalid         (axil_response.rvalid),
      .s_axil_rready         (axil_request.rready),
      .pixel_clk             (clk),
      .pixel_rst             (rst),
      .s_axis_pixel_tdata    ('0),
      .s_axis_pixel_tkeep    ('0),
      .s_axis_pixel_tlast    (1'b0),
      .s_axis_pixel_tuser    ('0),
      .s_axis_pixel_tvalid   (1'b0),
      .s_axis_pixel_tready   (),
      .s_axis_frame_tdata    (frame_tdata),
      .s_axis_frame_tvalid   (frame_tvalid),
      .s_axis_frame_tready   (frame_tready),
      .release_o             (),
      .memory_clk            (clk),
      .memory_rst            (rst),
      .m_axi_awid            (),
      .m_axi_awaddr          (),
      .m_axi_awlen           (),
      .m_axi_awsize          (),
      .m_axi_awburst         (),
      .m_axi_awcache         (),
      .m_axi_awprot          (),
      .m_axi_awvalid         (),
      .m_axi_awready         (1'b0),
      .m_axi_wdata           (),
      .m_axi_wstrb           (),
      .m_axi_wlast           (),
      .m_axi_wvalid          (),
      .m_axi_wready          (1'b0),
      .m_axi_bid             ('0),
      .m_axi_bresp           ('0),
      .m_axi_bvalid          (1'b0),
      .m_axi_bready          (),
      .m_axi_corrected_awid  (),
      .m_axi_corrected_awaddr(),
      .m_axi_corrected_awlen (),
      .m_axi_corrected_awsize(),
      .m_axi_corrected_awburst(),
      .m_axi_corrected_awcache(),
      .m_axi_corrected_awprot(),
      .m_axi_corrected_awvalid(),
      .m_axi_corrected_awready(1'b0),
      .m_axi_corrected_wdata (),
      .m_axi_corrected_wstrb (),
      .m_axi_corrected_wlast (),
      .m_axi_corrected_wvalid(),
      .m_axi_corrected_wready(1'b0),
      .m_axi_corrected_bid   ('0),
      .m_axi_corrected_bresp ('0),
      .m_axi_corrected_bvalid(1'b0),
      .m_axi_corrected_bready(),
      .m_axi_constant_arid   (),
      .m_axi_constant_araddr (),
      .m_axi_constant_arlen  (),
      .m_axi_constant_arsize (),
      .m_axi_constant_arburst(),
      .m_axi_constant_arcache(),
      .m_axi_constant_arprot (),
      .m_axi_constant_arvalid(),
      .m_axi_constant_arready({PLANES{1'b0}}),
      .m_axi_constant_rid    ('0),
      .m_axi_constant_rdata  ('0),
      .m_axi_constant_rresp  ('0),
      .m_axi_constant_rlast  ('0),
      .m_axi_constant_rvalid ('0),
      .m_axi_constant_rready (),
      .m_axi_arid            (),
      .m_axi_araddr          (araddr),
      .m_axi_arlen           (arlen),
      .m_axi_arsize          (),
      .m_axi_arburst         (),
      .m_axi_arcache         (),
      .m_axi_arprot          (),
      .m_axi_arvalid         (arvalid),
      .m_axi_arready         (arready),
      .m_axi_rid             ('0),
      .m_axi_rdata           (rdata),
      .m_axi_rresp           ('0),
      .m_axi_rlast           (rlast),
      .m_axi_rvalid          (rvalid),
      .m_axi_rready          (rready),
      .tx_clk                (clk),
      .tx_rst                (rst),
      .m_axis_tdata          (tx_tdata),
      .m_axis_tkeep          (tx_tkeep),
      .m_axis_tlast          (tx_tlast),
      .m_axis_tuser          (tx_tuser),
      .m_axis_tvalid         (tx_tvalid),
      .m_axis_tready         (tx_tready),
      .rx_clk                (clk),
      .rx_rst                (rst),
      .s_axis_rx_tdata       (rx_tdata),
      .s_axis_rx_tkeep       (rx_tkeep),
      .s_axis_rx_tlast       (rx_tlast),
      .s_axis_rx_tuser       (!rx_good),
      .s_axis_rx_tvalid      (rx_tvalid),
      .link_up_i             (link_up),
      .trigger_i             (1'b0),
      .pps_i                 (1'b0),
      .pps_o                 (),
      .interrupt_o           (),
      .idle_o                ()
  );

  logic led;

  board_led #(
      .ClockHz(CLOCK_HZ)
  ) u_led (
      .clk,
      .rst,
      .link_i  (link_up),
      .packet_i(rvalid),
      .led_o   (led)
  );

  assign led_n = !led;

  logic unused;
  assign unused = ^{unused_show, status};

endmodule
