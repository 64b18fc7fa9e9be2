// All of a board with a PHY of 1 Gb/s, but its pins and clocks: a picture is sent as frames, and registers are driven over the same
// line. Wiring only.
//
//   board_memory: frames, pixels   -> framelane_top --> packet_turns -> gmii_line -> PHY
//                                       ^                    ^              |
//                                       '-- udp_registers <-.'              |
//                                           arp_ping      <-+-- all frames -'
//
// board_memory has the picture and, with Sdram, images of the user's; its registers are before framelane_top's.
//
// Without Station, framelane_top has no receive path, for which an FPGA of 24,000 LUTs has no room: arp_ping answers for it. With it
// all frames of the line go there as well, and first_writes tells its station who it is before anybody else can. Packets are 32 bits
// wide at the core's clock, twice the line's rate.
//
// With Uart the registers may be driven over a serial line too, by uart_registers. Without, uart_tx_o is 1.
module gmii_board
  import axi_pkg::*;
  import framelane_pkg::*;
  import jf_pkg::PLANES;
  import sdram_pkg::*;
#(
    parameter logic        [47:0] Mac          = 48'h02_00_00_00_00_01,
    parameter logic        [31:0] Ip           = {8'd192, 8'd168, 8'd1, 8'd50},
    parameter logic        [15:0] Port         = 16'd4792,                       // of UDP, for registers
    parameter int unsigned        ClockHz      = 62_500_000,
    parameter int unsigned        NumQp        = 4,
    parameter int unsigned        Flows        = 1,
    parameter int unsigned        Destinations = 4,
    parameter bit                 Station      = 1'b0,                           // framelane_top's receive path
    parameter bit                 Rc           = 1'b0,                           // and queue pairs of RC: all may be
    parameter int unsigned        Build        = 0,
    parameter bit                 Uart         = 1'b0,
    parameter int unsigned        Baud         = 115_200,
    parameter bit                 Sdram        = 1'b0,
    parameter int unsigned        SdramBankW   = 1
) (
    input logic clk,  // the core's
    input logic rst,

    // To the PHY
    input logic tx_clk,  // 125 MHz
    input logic tx_rst,

    output logic [7:0] gmii_txd_o,
    output logic       gmii_tx_en_o,
    output logic       gmii_tx_er_o,

    // From the PHY
    input logic rx_clk,  // its own
    input logic rx_rst,

    input logic [7:0] gmii_rxd_i,
    input logic       gmii_rx_dv_i,
    input logic       gmii_rx_er_i,

    // A serial line, in a clock of its own
    input  logic uart_rx_i,
    output logic uart_tx_o,

    // The pins of an SDRAM, by the cells at them
    output sdram_pins_t               sdram_o,
    input  logic        [DATA_W-1:0] sdram_dq_i,

    output logic led_o
);

  localparam int unsigned BUS_W = 64;  // of framelane_top
  localparam int unsigned ADDR_W = 32;
  localparam int unsigned LINE_W = 32;
  localparam int unsigned ANSWER_BEATS = 512;  // of frames that wait to be answered, and of answers: 2 KiB each

  // The line
  logic [LINE_W-1:0] packet_tdata, answer_tdata, tx_tdata;
  logic [LINE_W/8-1:0] packet_tkeep, answer_tkeep, tx_tkeep;
  logic packet_tlast, packet_tuser, packet_tvalid, packet_tready;
  logic answer_tlast, answer_tuser, answer_tvalid, answer_tready;
  logic tx_tlast, tx_tuser, tx_tvalid, tx_tready;
  logic [LINE_W-1:0] all_tdata;
  logic [LINE_W/8-1:0] all_tkeep;
  logic all_tlast, all_tuser, all_tvalid;
  logic [7:0] request_tdata;
  logic request_tlast, request_tvalid, request_tready, link_up, stir;
  logic [1:0] unused_whose;

  packet_turns #(
      .Streams(2),
      .DataW  (LINE_W)
  ) u_turns (
      .clk,
      .rst,
      .s_axis_tdata ({answer_tdata, packet_tdata}),
      .s_axis_tkeep ({answer_tkeep, packet_tkeep}),
      .s_axis_tlast ({answer_tlast, packet_tlast}),
      .s_axis_tuser ({answer_tuser, packet_tuser}),
      .s_axis_tvalid({answer_tvalid, packet_tvalid}),
      .s_axis_tready({answer_tready, packet_tready}),
      .m_axis_tdata (tx_tdata),
      .m_axis_tkeep (tx_tkeep),
      .m_axis_tlast (tx_tlast),
      .m_axis_tuser (tx_tuser),
      .m_axis_tdest (unused_whose),
      .m_axis_tvalid(tx_tvalid),
      .m_axis_tready(tx_tready)
  );

  gmii_line #(
      .DataW(LINE_W),
      .Depth(ANSWER_BEATS)
  ) u_line (
      .clk,
      .rst,
      .s_axis_tdata (tx_tdata),
      .s_axis_tkeep (tx_tkeep),
      .s_axis_tlast (tx_tlast),
      .s_axis_tuser (tx_tuser),
      .s_axis_tvalid(tx_tvalid),
      .s_axis_tready(tx_tready),
      .m_axis_all_tdata (all_tdata),
      .m_axis_all_tkeep (all_tkeep),
      .m_axis_all_tlast (all_tlast),
      .m_axis_all_tuser (all_tuser),
      .m_axis_all_tvalid(all_tvalid),
      .m_axis_tdata (request_tdata),
      .m_axis_tlast (request_tlast),
      .m_axis_tvalid(request_tvalid),
      .m_axis_tready(request_tready),
      .link_up_o    (link_up),
      .stir_o       (stir),
      .tx_clk,
      .tx_rst,
      .gmii_txd_o,
      .gmii_tx_en_o,
      .gmii_tx_er_o,
      .rx_clk,
      .rx_rst,
      .gmii_rxd_i,
      .gmii_rx_dv_i,
      .gmii_rx_er_i
  );

  // What is answered: registers over UDP, ARP, ping. Both see all frames, and take them together
  axil_request_t axil_request, all_request, master_request, remote_request;
  axil_response_t axil_response, all_response, master_response, remote_response;
  logic show_token;
  logic [63:0] token;
  logic [7:0] done_tdata, echo_tdata, reply_tdata;
  logic done_tlast, done_tvalid, done_tready, echo_tlast, echo_tvalid, echo_tready;
  logic reply_tlast, reply_tvalid, reply_tready, unused_reply_tkeep, unused_reply_tuser;
  logic registers_ready, station_ready;
  logic [LINE_W-1:0] wide_tdata;
  logic [LINE_W/8-1:0] wide_tkeep;
  logic wide_tlast, wide_tuser, wide_tvalid, unused_lost;
  logic [1:0] unused_pulses, unused_reply_whose;

  assign request_tready = registers_ready && station_ready;

  udp_registers u_remote (
      .clk,
      .rst,
      .mac_i        (Mac),
      .port_i       (Port),
      .stir_i       (stir),
      .show_i       (show_token),
      .token_o      (token),
      .s_axis_tdata (request_tdata),
      .s_axis_tlast (request_tlast),
      .s_axis_tuser (1'b0),
      .s_axis_tvalid(request_tvalid && station_ready),
      .s_axis_tready(registers_ready),
      .m_axis_tdata (done_tdata),
      .m_axis_tlast (done_tlast),
      .m_axis_tvalid(done_tvalid),
      .m_axis_tready(done_tready),
      .m_axil_o     (remote_request),
      .m_axil_i     (remote_response),
      .answered_o   (unused_pulses[0]),
      .refused_o    (unused_pulses[1])
  );

  if (Uart) begin : gen_uart
    localparam int unsigned BIT_CYCLES = (ClockHz + Baud / 2) / Baud;

    axil_request_t uart_request;
    axil_response_t uart_response;
    logic uart_line, heard_tvalid, said_tvalid, said_tready;
    logic [7:0] heard_tdata, said_tdata;

    cdc_bits #(
        .Width(1)
    ) u_uart_line (
        .clk,
        .bits_i(uart_rx_i),
        .bits_o(uart_line)
    );

    uart_rx #(
        .BitCycles(BIT_CYCLES)
    ) u_uart_rx (
        .clk,
        .rst,
        .line_i       (uart_line),
        .m_axis_tdata (heard_tdata),
        .m_axis_tvalid(heard_tvalid)
    );

    uart_registers u_uart (
        .clk,
        .rst,
        .s_axis_tdata (heard_tdata),
        .s_axis_tvalid(heard_tvalid),
        .m_axis_tdata (said_tdata),
        .m_axis_tvalid(said_tvalid),
        .m_axis_tready(said_tready),
        .show_o       (show_token),
        .token_i      (token),
        .m_axil_o     (uart_request),
        .m_axil_i     (uart_response)
    );

    uart_tx #(
        .BitCycles(BIT_CYCLES)
    ) u_uart_tx (
        .clk,
        .rst,
        .s_axis_tdata (said_tdata),
        .s_axis_tvalid(said_tvalid),
        .s_axis_tready(said_tready),
        .line_o       (uart_tx_o)
    );

    axil_turns u_masters (
        .clk,
        .rst,
        .s_axil_i({uart_request, remote_request}),
        .s_axil_o({uart_response, remote_response}),
        .m_axil_o(master_request),
        .m_axil_i(master_response)
    );
  end else begin : gen_no_uart
    logic unused;
    assign unused = ^{uart_rx_i, token};
    assign uart_tx_o = 1'b1;
    assign show_token = 1'b0;
    assign master_request = remote_request;
    assign remote_response = master_response;
  end

  if (Station) begin : gen_station
    // Registers (docs/reference/registers.md): local_mac, of which the high word is in force with the low one; local_ip; station,
    // which answers ARP and ping
    first_writes #(
        .Writes(4),
        .List  ({{16'h0080, 32'd3}, {16'h0030, Ip}, {16'h002c, 16'd0, Mac[47:32]}, {16'h0028, Mac[31:0]}})
    ) u_first (
        .clk,
        .rst,
        .s_axil_i(master_request),
        .s_axil_o(master_response),
        .m_axil_o(all_request),
        .m_axil_i(all_response)
    );

    assign station_ready = 1'b1;
    assign {echo_tdata, echo_tlast, echo_tvalid} = '0;

    logic unused;
    assign unused = echo_tready;
  end else begin : gen_arp_ping
    assign all_request = master_request;
    assign master_response = all_response;

    arp_ping u_station (
        .clk,
        .rst,
        .mac_i        (Mac),
        .ip_i         (Ip),
        .s_axis_tdata (request_tdata),
        .s_axis_tlast (request_tlast),
        .s_axis_tuser (1'b0),
        .s_axis_tvalid(request_tvalid && registers_ready),
        .s_axis_tready(station_ready),
        .m_axis_tdata (echo_tdata),
        .m_axis_tlast (echo_tlast),
        .m_axis_tvalid(echo_tvalid),
        .m_axis_tready(echo_tready)
    );
  end

  packet_turns #(
      .Streams(2),
      .DataW  (8)
  ) u_replies (
      .clk,
      .rst,
      .s_axis_tdata ({echo_tdata, done_tdata}),
      .s_axis_tkeep (2'b11),
      .s_axis_tlast ({echo_tlast, done_tlast}),
      .s_axis_tuser (2'b00),
      .s_axis_tvalid({echo_tvalid, done_tvalid}),
      .s_axis_tready({echo_tready, done_tready}),
      .m_axis_tdata (reply_tdata),
      .m_axis_tkeep (unused_reply_tkeep),
      .m_axis_tlast (reply_tlast),
      .m_axis_tuser (unused_reply_tuser),
      .m_axis_tdest (unused_reply_whose),
      .m_axis_tvalid(reply_tvalid),
      .m_axis_tready(reply_tready)
  );

  axis_widen #(
      .InW (8),
      .OutW(LINE_W)
  ) u_widen (
      .clk,
      .rst,
      .s_axis_tdata (reply_tdata),
      .s_axis_tkeep (1'b1),
      .s_axis_tlast (reply_tlast),
      .s_axis_tuser (1'b0),
      .s_axis_tvalid(reply_tvalid),
      .s_axis_tready(reply_tready),
      .m_axis_tdata (wide_tdata),
      .m_axis_tkeep (wide_tkeep),
      .m_axis_tlast (wide_tlast),
      .m_axis_tuser (wide_tuser),
      .m_axis_tvalid(wide_tvalid),
      .m_axis_tready(1'b1)
  );

  // An answer goes to the line when all of it is there
  axis_frame_fifo #(
      .DataW (LINE_W),
      .Depth (ANSWER_BEATS),
      .Frames(16)
  ) u_answers (
      .clk,
      .rst,
      .s_axis_tdata (wide_tdata),
      .s_axis_tkeep (wide_tkeep),
      .s_axis_tlast (wide_tlast),
      .s_axis_tuser (wide_tuser),
      .s_axis_tvalid(wide_tvalid),
      .drop_i       (1'b0),
      .m_axis_tdata (answer_tdata),
      .m_axis_tkeep (answer_tkeep),
      .m_axis_tlast (answer_tlast),
      .m_axis_tuser (answer_tuser),
      .m_axis_tvalid(answer_tvalid),
      .m_axis_tready(answer_tready),
      .lost_o       (unused_lost)
  );

  // Frames
  frame_t frame_tdata;
  logic frame_tvalid, frame_tready;
  logic [ADDR_W-1:0] araddr;
  logic [BUS_W-1:0] rdata;
  logic [7:0] arlen;
  logic arvalid, arready, rlast, rvalid, rready;

  board_memory #(
      .AddrW     (ADDR_W),
      .ClockHz   (ClockHz),
      .Sdram     (Sdram),
      .SdramBankW(SdramBankW)
  ) u_memory (
      .clk,
      .rst,
      .s_axil_i           (all_request),
      .s_axil_o           (all_response),
      .m_axil_o           (axil_request),
      .m_axil_i           (axil_response),
      .m_axis_frame_tdata (frame_tdata),
      .m_axis_frame_tvalid(frame_tvalid),
      .m_axis_frame_tready(frame_tready),
      .s_axi_araddr       (araddr),
      .s_axi_arlen        (arlen),
      .s_axi_arvalid      (arvalid),
      .s_axi_arready      (arready),
      .s_axi_rdata        (rdata),
      .s_axi_rlast        (rlast),
      .s_axi_rvalid       (rvalid),
      .s_axi_rready       (rready),
      .sdram_o,
      .sdram_dq_i
  );

  framelane_top #(
      .DataW        (BUS_W),
      .AddrW        (ADDR_W),
      .NumQp        (NumQp),
      .Flows        (Flows),
      .Destinations (Destinations),
      .Store        (1'b0),
      .Correct      (1'b0),
      .ReadDepth    (16),
      .ReadBeats    (64),
      .MaxBurst     (16),
      .ClockHz      (ClockHz),
      .Build        (Build),
      .Station      (Station),
      .Rc           (Rc),
      .RcQps        (NumQp),
      .RcDepth      (32),
      .RcAhead      (64),
      .MaxSlots     (64),
      .MacPort      (1'b1),
      .MacW         (LINE_W),
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
      .m_axis_tdata          (packet_tdata),
      .m_axis_tkeep          (packet_tkeep),
      .m_axis_tlast          (packet_tlast),
      .m_axis_tuser          (packet_tuser),
      .m_axis_tvalid         (packet_tvalid),
      .m_axis_tready         (packet_tready),
      .rx_clk                (clk),
      .rx_rst                (rst),
      .s_axis_rx_tdata       (all_tdata),
      .s_axis_rx_tkeep       (all_tkeep),
      .s_axis_rx_tlast       (all_tlast),
      .s_axis_rx_tuser       (all_tuser),
      .s_axis_rx_tvalid      (all_tvalid && Station),
      .link_up_i             (link_up),
      .trigger_i             (1'b0),
      .pps_i                 (1'b0),
      .pps_o                 (),
      .interrupt_o           (),
      .idle_o                ()
  );

  board_led #(
      .ClockHz(ClockHz)
  ) u_led (
      .clk,
      .rst,
      .link_i  (link_up),
      .packet_i(rvalid || reply_tvalid),
      .led_o
  );

  logic unused;
  assign unused = ^{
          unused_pulses, unused_lost, unused_whose, unused_reply_tkeep, unused_reply_tuser, unused_reply_whose
      };

endmodule
