// A detector with several links to the FPGA, each with a MAC of its own, in front of one detector_tx: 10G by ten of a module's two ports,
// or 25G, or 100G. Its packets may come by any of them, and by the line to the receiver, too. ARP and ping are answered on the link on
// which they come; all have the same addresses. Wiring only.
//
//   MAC of a link <-> mac_station -> axis_frame_fifo -> packet_turns -> detector_tx -> mac_port -> MAC of the line
//                         ... more                            ^                           |
//                                          axis_frame_fifo ---'<------ frames ------------'
//
// clk is the core's clock; each reset is of its own clock. A frame has its turn when all of it has come to the core's clock: so the clock of a
// link that stops holds up no other.
module detector_links
  import jf_pkg::PLANES;
  import neighbour_pkg::*;
#(
    parameter int unsigned Links     = 2,
    parameter int unsigned LinkW     = 64,    // width of a link's MAC
    parameter int unsigned LineW     = 512,   // width of the line's
    parameter int unsigned LinkHz    = 0,     // of a link's receive clock; 0: as the core's
    parameter int unsigned LinkBytes = 9018,  // largest frame of a link
    parameter int unsigned LineBytes = 9018,  // largest frame of the line
    parameter int unsigned MinBytes  = 60,    // what is sent on the line is filled up to
    parameter int unsigned GapCycles = 0,     // between two frames that are sent on the line

    // As of detector_tx
    parameter int unsigned DataW       = 512,
    parameter int unsigned HeaderBytes = 48,
    parameter int unsigned PacketBytes = 8192,  // of pixels
    parameter int unsigned Packets     = 128,   // of a module's frame
    parameter int unsigned Modules     = 8,     // at most
    parameter int unsigned Depth       = 0,     // beats that wait; 0: four packets

    // The detector's description, as of det_header
    parameter logic [31:0]      FrameField    = {16'd0, 8'd8, 8'd0},
    parameter logic [31:0]      PacketField   = {16'd12, 8'd4, 8'd0},
    parameter int unsigned      FirstPacket   = 0,
    parameter logic [31:0]      ModuleField   = '0,
    parameter int unsigned      FirstModule   = 0,
    parameter logic [31:0]      BunchField    = {16'd16, 8'd8, 8'd0},
    parameter logic [31:0]      TimeField     = {16'd24, 8'd8, 8'd0},
    parameter int unsigned      TimeUnit      = 100,                  // ns
    parameter logic [3:0][31:0] ConstantField = {64'd0, {16'd46, 8'd1, 8'd0}, {16'd47, 8'd1, 8'd0}},
    parameter logic [3:0][31:0] ConstantValue = {64'd0, 32'd3, 32'd2},
    parameter logic [3:0][31:0] IdentityField = {32'd0, {16'd36, 16'h200}, {16'd34, 16'h200}, {16'd32, 16'h200}},
    parameter bit               Swapped       = 1'b0,
    parameter bit               GainCode      = 1'b1,

    parameter int unsigned ClockHz = 0,
    parameter int unsigned Build   = 0,

    parameter bit          Correct       = 1'b0,  // JUNGFRAU correction, where the registers switch it on
    parameter int unsigned ConstantDepth = 0,     // beats of its constants read ahead; 0: two packets
    parameter int unsigned MaxBurst      = 256,   // beats of their longest burst
    parameter int unsigned AddrW         = 64,
    parameter int unsigned IdW           = 1,

    localparam int unsigned LinkKeepW = LinkW / 8,
    localparam int unsigned LineKeepW = LineW / 8
) (
    input logic clk,
    input logic rst,

    // AXI4-Lite: the registers
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

    // The links' MACs: their clocks, from each, which cannot wait, and to it; frames without FCS
    input logic [Links-1:0] link_rx_clk,
    input logic [Links-1:0] link_rx_rst,
    input logic [Links-1:0] link_tx_clk,
    input logic [Links-1:0] link_tx_rst,
    input logic [Links-1:0] link_up_i,    // of any clock

    input logic [Links-1:0][    LinkW-1:0] s_axis_link_tdata,
    input logic [Links-1:0][LinkKeepW-1:0] s_axis_link_tkeep,
    input logic [Links-1:0]                s_axis_link_tlast,
    input logic [Links-1:0]                s_axis_link_tuser,   // with tlast: wrong FCS, or cut
    input logic [Links-1:0]                s_axis_link_tvalid,

    output logic [Links-1:0][    LinkW-1:0] m_axis_link_tdata,
    output logic [Links-1:0][LinkKeepW-1:0] m_axis_link_tkeep,
    output logic [Links-1:0]                m_axis_link_tlast,
    output logic [Links-1:0]                m_axis_link_tuser,   // with tlast: its FCS is to be wrong
    output logic [Links-1:0]                m_axis_link_tvalid,
    input  logic [Links-1:0]                m_axis_link_tready,

    // The line's MAC
    input logic line_up_i,  // of any clock

    input logic line_rx_clk,
    input logic line_rx_rst,

    input logic [    LineW-1:0] s_axis_line_tdata,
    input logic [LineKeepW-1:0] s_axis_line_tkeep,
    input logic                 s_axis_line_tlast,
    input logic                 s_axis_line_tuser,   // with tlast: wrong FCS, or cut
    input logic                 s_axis_line_tvalid,

    input logic line_tx_clk,
    input logic line_tx_rst,

    output logic [    LineW-1:0] m_axis_line_tdata,
    output logic [LineKeepW-1:0] m_axis_line_tkeep,
    output logic                 m_axis_line_tlast,
    output logic                 m_axis_line_tuser,   // with tlast: its FCS is to be wrong
    output logic                 m_axis_line_tvalid,
    input  logic                 m_axis_line_tready,

    // AXI4 read masters: the planes of the constants; without Correct nothing is read
    output logic [PLANES-1:0][  IdW-1:0] m_axi_constant_arid,
    output logic [PLANES-1:0][AddrW-1:0] m_axi_constant_araddr,
    output logic [PLANES-1:0][      7:0] m_axi_constant_arlen,
    output logic [PLANES-1:0][      2:0] m_axi_constant_arsize,
    output logic [PLANES-1:0][      1:0] m_axi_constant_arburst,
    output logic [PLANES-1:0][      3:0] m_axi_constant_arcache,
    output logic [PLANES-1:0][      2:0] m_axi_constant_arprot,
    output logic [PLANES-1:0]            m_axi_constant_arvalid,
    input  logic [PLANES-1:0]            m_axi_constant_arready,
    input  logic [PLANES-1:0][  IdW-1:0] m_axi_constant_rid,
    input  logic [PLANES-1:0][DataW-1:0] m_axi_constant_rdata,
    input  logic [PLANES-1:0][      1:0] m_axi_constant_rresp,
    input  logic [PLANES-1:0]            m_axi_constant_rlast,
    input  logic [PLANES-1:0]            m_axi_constant_rvalid,
    output logic [PLANES-1:0]            m_axi_constant_rready,

    output logic idle_o  // as of detector_tx: what waits in front of it or behind it is not looked at
);

  localparam int unsigned KEEP_W = DataW / 8;
  localparam int unsigned STREAMS = Links + 1;
  localparam int unsigned LONGEST = LinkBytes > LineBytes ? LinkBytes : LineBytes;
  localparam int unsigned DEPTH = 1 << $clog2(2 * ((LONGEST + KEEP_W - 1) / KEEP_W) + 2);
  localparam int unsigned FRAMES = DEPTH < 128 ? DEPTH : 128;

  if (Links < 1 || Links > 8) begin : gen_check
    $error("%m: Links = %0d must be 1 to 8", Links);
  end

  // Frames for the core: those of the links, and the line's
  logic [STREAMS-1:0][DataW-1:0] in_tdata, whole_tdata;
  logic [STREAMS-1:0][KEEP_W-1:0] in_tkeep, whole_tkeep;
  logic [STREAMS-1:0] in_tlast, in_tuser, in_tvalid, whole_tlast, whole_tuser, whole_tvalid, whole_tready;
  logic [STREAMS-1:0] frame, line_bad, line_lost, bad, lost;

  neighbour_config_t station;
  logic announce;

  // The reset a cycle later: copies, always equal, for each stream, for what joins them.
  localparam int unsigned RESETS = STREAMS + 1;
  (* keep, dont_merge *)logic [RESETS-1:0] rst_q = '1;

  always_ff @(posedge clk) for (int unsigned c = 0; c < RESETS; c++) if (rst_q[c] != rst) rst_q[c] <= rst;

  for (genvar k = 0; k < Links; k++) begin : gen_link
    mac_station #(
        .DataW   (DataW),
        .MacW    (LinkW),
        .ClockHz (LinkHz),
        .MaxBytes(LinkBytes)
    ) u_link (
        .clk,
        .rst               (rst_q[k]),
        .config_i          (station),
        .announce_i        (announce),
        .link_up_i         (link_up_i[k]),
        .m_axis_core_tdata (in_tdata[k]),
        .m_axis_core_tkeep (in_tkeep[k]),
        .m_axis_core_tlast (in_tlast[k]),
        .m_axis_core_tuser (in_tuser[k]),
        .m_axis_core_tvalid(in_tvalid[k]),
        .m_axis_core_tready(1'b1),
        .bad_o             (line_bad[k]),
        .lost_o            (line_lost[k]),
        .rx_clk            (link_rx_clk[k]),
        .rx_rst            (link_rx_rst[k]),
        .s_axis_tdata      (s_axis_link_tdata[k]),
        .s_axis_tkeep      (s_axis_link_tkeep[k]),
        .s_axis_tlast      (s_axis_link_tlast[k]),
        .s_axis_tuser      (s_axis_link_tuser[k]),
        .s_axis_tvalid     (s_axis_link_tvalid[k]),
        .tx_clk            (link_tx_clk[k]),
        .tx_rst            (link_tx_rst[k]),
        .m_axis_tdata      (m_axis_link_tdata[k]),
        .m_axis_tkeep      (m_axis_link_tkeep[k]),
        .m_axis_tlast      (m_axis_link_tlast[k]),
        .m_axis_tuser      (m_axis_link_tuser[k]),
        .m_axis_tvalid     (m_axis_link_tvalid[k]),
        .m_axis_tready     (m_axis_link_tready[k])
    );
  end

  logic [DataW-1:0] out_tdata, packet_tdata;
  logic [KEEP_W-1:0] out_tkeep, packet_tkeep;
  logic out_tlast, out_tvalid, out_tready, packet_tlast, packet_tuser, packet_tvalid;
  logic line_up, underrun, too_long;
  logic [STREAMS-1:0] packet_tdest;

  mac_port #(
      .DataW    (DataW),
      .MacW     (LineW),
      .MaxBytes (LineBytes),
      .MinBytes (MinBytes),
      .GapCycles(GapCycles)
  ) u_line (
      .clk,
      .rst             (rst_q[Links]),
      .s_axis_tdata    (out_tdata),
      .s_axis_tkeep    (out_tkeep),
      .s_axis_tlast    (out_tlast),
      .s_axis_tvalid   (out_tvalid),
      .s_axis_tready   (out_tready),
      .m_axis_rx_tdata (in_tdata[Links]),
      .m_axis_rx_tkeep (in_tkeep[Links]),
      .m_axis_rx_tlast (in_tlast[Links]),
      .m_axis_rx_tuser (in_tuser[Links]),
      .m_axis_rx_tvalid(in_tvalid[Links]),
      .m_axis_rx_tready(1'b1),
      .threshold_i     ('0),
      .tx_underrun_o   (underrun),
      .tx_too_long_o   (too_long),
      .rx_bad_o        (line_bad[Links]),
      .rx_lost_o       (line_lost[Links]),
      .tx_clk          (line_tx_clk),
      .tx_rst          (line_tx_rst),
      .m_axis_tdata    (m_axis_line_tdata),
      .m_axis_tkeep    (m_axis_line_tkeep),
      .m_axis_tlast    (m_axis_line_tlast),
      .m_axis_tuser    (m_axis_line_tuser),
      .m_axis_tvalid   (m_axis_line_tvalid),
      .m_axis_tready   (m_axis_line_tready),
      .rx_clk          (line_rx_clk),
      .rx_rst          (line_rx_rst),
      .s_axis_rx_tdata (s_axis_line_tdata),
      .s_axis_rx_tkeep (s_axis_line_tkeep),
      .s_axis_rx_tlast (s_axis_line_tlast),
      .s_axis_rx_tuser (s_axis_line_tuser),
      .s_axis_rx_tvalid(s_axis_line_tvalid)
  );

  cdc_bits u_line_up (
      .clk,
      .bits_i(line_up_i),
      .bits_o(line_up)
  );

  // Whole frames. One that was cut is as bad as one that its MAC marked; both counters count one event a cycle.
  for (genvar s = 0; s < STREAMS; s++) begin : gen_whole
    logic cut, no_room;
    logic [3:0] bad_q, lost_q;  // events that have not been counted

    assign cut = in_tvalid[s] && in_tlast[s] && in_tuser[s];

    axis_frame_fifo #(
        .DataW (DataW),
        .Depth (DEPTH),
        .Frames(FRAMES)
    ) u_whole (
        .clk,
        .rst          (rst_q[s]),
        .s_axis_tdata (in_tdata[s]),
        .s_axis_tkeep (in_tkeep[s]),
        .s_axis_tlast (in_tlast[s]),
        .s_axis_tuser (1'b0),
        .s_axis_tvalid(in_tvalid[s]),
        .drop_i       (in_tuser[s]),
        .m_axis_tdata (whole_tdata[s]),
        .m_axis_tkeep (whole_tkeep[s]),
        .m_axis_tlast (whole_tlast[s]),
        .m_axis_tuser (whole_tuser[s]),
        .m_axis_tvalid(whole_tvalid[s]),
        .m_axis_tready(whole_tready[s]),
        .lost_o       (no_room)
    );

    assign bad[s]  = bad_q != '0;
    assign lost[s] = lost_q != '0;

    always_ff @(posedge clk) begin
      bad_q  <= bad_q + 4'(line_bad[s]) + 4'(cut) - 4'(bad[s]);
      lost_q <= lost_q + 4'(line_lost[s]) + 4'(no_room) - 4'(lost[s]);
      if (rst_q[s]) begin
        bad_q  <= '0;
        lost_q <= '0;
      end
    end
  end

  packet_turns #(
      .Streams(STREAMS),
      .DataW  (DataW)
  ) u_turns (
      .clk,
      .rst          (rst_q[STREAMS]),
      .s_axis_tdata (whole_tdata),
      .s_axis_tkeep (whole_tkeep),
      .s_axis_tlast (whole_tlast),
      .s_axis_tuser (whole_tuser),
      .s_axis_tvalid(whole_tvalid),
      .s_axis_tready(whole_tready),
      .m_axis_tdata (packet_tdata),
      .m_axis_tkeep (packet_tkeep),
      .m_axis_tlast (packet_tlast),
      .m_axis_tuser (packet_tuser),
      .m_axis_tdest (packet_tdest),
      .m_axis_tvalid(packet_tvalid),
      .m_axis_tready(1'b1)
  );

  assign frame = packet_tdest & {STREAMS{packet_tvalid && packet_tlast}};

  logic [Links-1:0] links_up;

  cdc_bits #(
      .Width(Links)
  ) u_links_up (
      .clk,
      .bits_i(link_up_i),
      .bits_o(links_up)
  );

  detector_tx #(
      .DataW        (DataW),
      .HeaderBytes  (HeaderBytes),
      .PacketBytes  (PacketBytes),
      .Packets      (Packets),
      .Modules      (Modules),
      .Depth        (Depth),
      .FrameField   (FrameField),
      .PacketField  (PacketField),
      .FirstPacket  (FirstPacket),
      .ModuleField  (ModuleField),
      .FirstModule  (FirstModule),
      .BunchField   (BunchField),
      .TimeField    (TimeField),
      .TimeUnit     (TimeUnit),
      .ConstantField(ConstantField),
      .ConstantValue(ConstantValue),
      .IdentityField(IdentityField),
      .Swapped      (Swapped),
      .GainCode     (GainCode),
      .ClockHz      (ClockHz),
      .Build        (Build),
      .Correct      (Correct),
      .ConstantDepth(ConstantDepth),
      .MaxBurst     (MaxBurst),
      .AddrW        (AddrW),
      .IdW          (IdW),
      .Links        (Links)
  ) u_tx (
      .clk,
      .rst,
      .s_axil_awaddr,
      .s_axil_awprot,
      .s_axil_awvalid,
      .s_axil_awready,
      .s_axil_wdata,
      .s_axil_wstrb,
      .s_axil_wvalid,
      .s_axil_wready,
      .s_axil_bresp,
      .s_axil_bvalid,
      .s_axil_bready,
      .s_axil_araddr,
      .s_axil_arprot,
      .s_axil_arvalid,
      .s_axil_arready,
      .s_axil_rdata,
      .s_axil_rresp,
      .s_axil_rvalid,
      .s_axil_rready,
      .link_up_i    (line_up),
      .links_up_i   (8'(links_up)),
      .link_frame_i (frame),
      .link_bad_i   (bad),
      .link_lost_i  (lost),
      .station_o    (station),
      .announce_o   (announce),
      .s_axis_tdata (packet_tdata),
      .s_axis_tkeep (packet_tkeep),
      .s_axis_tlast (packet_tlast),
      .s_axis_tuser (packet_tuser),
      .s_axis_tdest (!packet_tdest[Links]),
      .s_axis_tvalid(packet_tvalid),
      .m_axis_tdata (out_tdata),
      .m_axis_tkeep (out_tkeep),
      .m_axis_tlast (out_tlast),
      .m_axis_tvalid(out_tvalid),
      .m_axis_tready(out_tready),
      .m_axi_constant_arid,
      .m_axi_constant_araddr,
      .m_axi_constant_arlen,
      .m_axi_constant_arsize,
      .m_axi_constant_arburst,
      .m_axi_constant_arcache,
      .m_axi_constant_arprot,
      .m_axi_constant_arvalid,
      .m_axi_constant_arready,
      .m_axi_constant_rid,
      .m_axi_constant_rdata,
      .m_axi_constant_rresp,
      .m_axi_constant_rlast,
      .m_axi_constant_rvalid,
      .m_axi_constant_rready,
      .idle_o
  );

  logic unused;
  assign unused = ^{underrun, too_long};

endmodule
