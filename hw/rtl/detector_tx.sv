// A detector on one side of the line, an RDMA device on the other: its UDP packets in, RoCEv2 WRITEs out, and a station that answers
// ARP and ping between them. Registers say where (docs/integrating/detector_registers.md). Wiring only.
//
//   frames from the MAC -> detector_core -> roce_tx -> packets -> tx_station -> frames to the MAC
//            |                   ^--- with Correct: read_guard, one for each plane of the constants <- memory
//            '----------------------------------------------------^
module detector_tx
  import axi_pkg::*;
  import det_counters_pkg::*;
  import det_pkg::*;
  import framelane_pkg::correction_t;
  import framelane_pkg::STATION_RESETS;
  import jf_pkg::PLANES;
  import neighbour_pkg::*;
  import roce_pkg::*;
#(
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

    parameter int unsigned Links = 0,  // with counters: see detector_links

    localparam int unsigned KeepW = DataW / 8
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

    input logic link_up_i,

    // Without Links not looked at: which links are up, and pulses, of which the uppermost are those of this MAC
    input logic [    7:0] links_up_i,
    input logic [Links:0] link_frame_i,
    input logic [Links:0] link_bad_i,
    input logic [Links:0] link_lost_i,

    // The station's settings, for those of links
    output neighbour_config_t station_o,
    output logic              announce_o,  // pulse

    // Frames without FCS from the MAC, which cannot wait
    input logic [DataW-1:0] s_axis_tdata,
    input logic [KeepW-1:0] s_axis_tkeep,
    input logic             s_axis_tlast,
    input logic             s_axis_tuser,   // with tlast: wrong FCS, or cut
    input logic             s_axis_tdest,   // 1: by a link with a station of its own; without Links always 0
    input logic             s_axis_tvalid,

    // Frames without FCS to the MAC
    output logic [DataW-1:0] m_axis_tdata,
    output logic [KeepW-1:0] m_axis_tkeep,
    output logic             m_axis_tlast,
    output logic             m_axis_tvalid,
    input  logic             m_axis_tready,

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

    output logic idle_o  // no frame is under way, and no packet
);

  axil_request_t axil_request;
  axil_response_t axil_response;
  target_t target;
  neighbour_config_t station;
  qp_write_t qp_tdata;
  det_pulses_t counted;
  // The reset a cycle later: copies, always equal, for registers, for the memories' guards, for the station.
  localparam int unsigned RESETS = 2 + STATION_RESETS;
  (* keep, dont_merge *)logic [RESETS-1:0] rst_q = '1;

  always_ff @(posedge clk) for (int unsigned c = 0; c < RESETS; c++) if (rst_q[c] != rst) rst_q[c] <= rst;

  logic [1:0] core_rst;
  logic armed, two_ports, tick, announce, qp_tvalid, qp_tready;
  logic [15:0] first_port, timeout;
  logic [7:0] modules;
  logic [63:0] window_end;
  correction_t correction;
  logic [15:0] memory_limit;
  logic constant_error;

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

  det_registers #(
      .DataW      (DataW),
      .Modules    (Modules),
      .Packets    (Packets),
      .PacketBytes(PacketBytes),
      .ClockHz    (ClockHz),
      .Build      (Build),
      .Correct    (Correct),
      .Links      (Links)
  ) u_registers (
      .clk,
      .rst             (rst_q[0]),
      .s_axil_i        (axil_request),
      .s_axil_o        (axil_response),
      .core_rst_o      (core_rst),
      .armed_o         (armed),
      .idle_i          (idle_o),
      .target_o        (target),
      .first_port_o    (first_port),
      .two_ports_o     (two_ports),
      .modules_o       (modules),
      .window_end_o    (window_end),
      .timeout_o       (timeout),
      .tick_o          (tick),
      .pulses_i        (counted),
      .correction_o    (correction),
      .memory_limit_o  (memory_limit),
      .constant_error_i(constant_error),
      .station_o       (station),
      .announce_o      (announce),
      .link_up_i,
      .links_up_i,
      .link_frame_i,
      .link_bad_i,
      .link_lost_i,
      .m_axis_qp_tdata (qp_tdata),
      .m_axis_qp_tvalid(qp_tvalid),
      .m_axis_qp_tready(qp_tready)
  );

  logic [FATES-1:0] fates;
  message_t msg_tdata;
  logic msg_tvalid, msg_tready, core_idle, roce_idle;
  logic [DataW-1:0] payload_tdata, packet_tdata;
  logic [KeepW-1:0] payload_tkeep, packet_tkeep;
  logic payload_tlast, payload_tuser, payload_tvalid, payload_tready;
  logic packet_tlast, packet_tvalid, packet_tready;

  axi_read_request_t [PLANES-1:0] core_request, constant_request;
  axi_read_response_t [PLANES-1:0] core_response, constant_response;
  logic [PLANES-1:0][DataW-1:0] core_rdata;

  detector_core #(
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
      .Correct      (Correct),
      .ConstantDepth(ConstantDepth),
      .MaxBurst     (MaxBurst)
  ) u_core (
      .clk,
      .rst                  (core_rst[0]),
      .target_i             (target),
      .local_mac_i          (station.mac),
      .local_ip_i           (station.ip),
      .first_port_i         (first_port),
      .two_ports_i          (two_ports),
      .modules_i            (modules),
      .armed_i              (armed),
      .window_end_i         (window_end),
      .timeout_i            (timeout),
      .tick_i               (tick),
      .flush_i              (!armed),
      .s_axis_tdata,
      .s_axis_tkeep,
      .s_axis_tlast,
      .s_axis_tuser,
      .s_axis_tvalid,
      .m_axis_msg_tdata     (msg_tdata),
      .m_axis_msg_tvalid    (msg_tvalid),
      .m_axis_msg_tready    (msg_tready),
      .m_axis_payload_tdata (payload_tdata),
      .m_axis_payload_tkeep (payload_tkeep),
      .m_axis_payload_tlast (payload_tlast),
      .m_axis_payload_tuser (payload_tuser),
      .m_axis_payload_tvalid(payload_tvalid),
      .m_axis_payload_tready(payload_tready),
      .correction_i         (correction),
      .m_axi_constant_o     (core_request),
      .m_axi_constant_i     (core_response),
      .m_axi_constant_rdata (core_rdata),
      .constant_error_o     (constant_error),
      .fates_o              (fates),
      .idle_o               (core_idle)
  );

  // The constants: memory that stands still holds up no packet for good, and no reset. Data return in order.
  for (genvar k = 0; k < PLANES; k++) begin : gen_plane
    assign constant_response[k] = '{
            arready: m_axi_constant_arready[k], rresp: m_axi_constant_rresp[k],
            rlast: m_axi_constant_rlast[k], rvalid: m_axi_constant_rvalid[k]
        };
    assign m_axi_constant_arid[k] = '0;
    assign m_axi_constant_araddr[k] = AddrW'(constant_request[k].araddr);
    assign m_axi_constant_arlen[k] = constant_request[k].arlen;
    assign m_axi_constant_arsize[k] = constant_request[k].arsize;
    assign m_axi_constant_arburst[k] = constant_request[k].arburst;
    assign m_axi_constant_arcache[k] = constant_request[k].arcache;
    assign m_axi_constant_arprot[k] = constant_request[k].arprot;
    assign m_axi_constant_arvalid[k] = constant_request[k].arvalid;
    assign m_axi_constant_rready[k] = constant_request[k].rready;
  end

  if (Correct) begin : gen_guards
    for (genvar k = 0; k < PLANES; k++) begin : gen_guard
      logic late, owes, left, fired;

      read_guard #(
          .DataW(DataW)
      ) u_guard (
          .clk,
          .rst             (rst_q[1]),
          .limit_i    (memory_limit),
          .drain_i    (1'b0),
          .s_axi_i    (core_request[k]),
          .s_axi_o    (core_response[k]),
          .s_axi_rdata(core_rdata[k]),
          .m_axi_o    (constant_request[k]),
          .m_axi_i    (constant_response[k]),
          .m_axi_rdata(m_axi_constant_rdata[k]),
          .late_o     (late),
          .owes_o     (owes),
          .left_o     (left),
          .fired_o    (fired)
      );

      logic unused;
      assign unused = ^{late, owes, left, fired};
    end
  end else begin : gen_no_guards
    assign {constant_request, core_response, core_rdata} = '0;

    logic unused;
    assign unused = ^{memory_limit, core_request, constant_response, m_axi_constant_rdata};
  end

  logic spend, rate_tready, status_valid;
  logic [7:0] spend_index, status_qp, in_line;
  logic [12:0] spend_bytes;
  logic [3:0] mtu_log2;
  status_e status;
  errors_t errors;

  roce_tx #(
      .DataW(DataW),
      .NumQp(16)
  ) u_roce_tx (
      .clk,
      .rst                  (core_rst[1]),
      .local_mac_i          (station.mac),
      .local_ip_i           (station.ip),
      .s_axis_qp_tdata      (qp_tdata),
      .s_axis_qp_tvalid     (qp_tvalid),
      .s_axis_qp_tready     (qp_tready),
      .spend_o              (spend),
      .spend_index_o        (spend_index),
      .spend_bytes_o        (spend_bytes),
      .s_axis_rate_index    ('0),
      .s_axis_rate_tdata    ('0),
      .s_axis_rate_tvalid   (1'b0),
      .s_axis_rate_tready   (rate_tready),
      .default_burst_i      ('0),
      .pace_all_i           (1'b0),
      .mtu_index_i          ('0),
      .mtu_log2_o           (mtu_log2),
      .s_axis_msg_tdata     (msg_tdata),
      .s_axis_msg_tvalid    (msg_tvalid),
      .s_axis_msg_tready    (msg_tready),
      .s_axis_payload_tdata (payload_tdata),
      .s_axis_payload_tkeep (payload_tkeep),
      .s_axis_payload_tlast (payload_tlast),
      .s_axis_payload_tuser (payload_tuser),
      .s_axis_payload_tvalid(payload_tvalid),
      .s_axis_payload_tready(payload_tready),
      .m_axis_tdata         (packet_tdata),
      .m_axis_tkeep         (packet_tkeep),
      .m_axis_tlast         (packet_tlast),
      .m_axis_tvalid        (packet_tvalid),
      .m_axis_tready        (packet_tready),
      .status_valid_o       (status_valid),
      .status_o             (status),
      .status_qp_o          (status_qp),
      .errors_o             (errors),
      .in_line_o            (in_line),
      .idle_o               (roce_idle)
  );

  logic [63:0] roce_tdata;
  logic [7:0] roce_tkeep;
  logic roce_tlast, roce_tvalid, resolve_tready, resolved_tvalid, held;
  resolved_t resolved_tdata;
  logic [47:0] conflict_mac;
  tx_counters_pkg::neighbour_pulses_t pulses;

  tx_station #(
      .DataW(DataW)
  ) u_station (
      .clk,
      .rst                   (rst_q[RESETS-1:2]),
      .config_i              (station),
      .link_up_i,
      .announce_i            (announce),
      .resetting_i           (1'b0),
      .s_axis_resolve_tdata  ('0),
      .s_axis_resolve_tvalid (1'b0),
      .s_axis_resolve_tready (resolve_tready),
      .m_axis_resolved_tdata (resolved_tdata),
      .m_axis_resolved_tvalid(resolved_tvalid),
      .s_axis_rx_tdata       (s_axis_tdata),
      .s_axis_rx_tkeep       (s_axis_tkeep),
      .s_axis_rx_tlast       (s_axis_tlast),
      .s_axis_rx_tuser       (s_axis_tuser),
      .s_axis_rx_tvalid      (s_axis_tvalid && !s_axis_tdest),
      .m_axis_roce_tdata     (roce_tdata),
      .m_axis_roce_tkeep     (roce_tkeep),
      .m_axis_roce_tlast     (roce_tlast),
      .m_axis_roce_tvalid    (roce_tvalid),
      .m_axis_roce_tready    (1'b1),
      .s_axis_packet_tdata   (packet_tdata),
      .s_axis_packet_tkeep   (packet_tkeep),
      .s_axis_packet_tlast   (packet_tlast),
      .s_axis_packet_tvalid  (packet_tvalid),
      .s_axis_packet_tready  (packet_tready),
      .m_axis_tdata,
      .m_axis_tkeep,
      .m_axis_tlast,
      .m_axis_tvalid,
      .m_axis_tready,
      .held_o                (held),
      .conflict_mac_o        (conflict_mac),
      .pulses_o              (pulses)
  );

  assign idle_o = core_idle && roce_idle;
  assign station_o = station;
  assign announce_o = announce;

  always_comb begin
    counted = '0;
    counted[FATES-1:0] = fates;  // in the same order
    counted.messages = msg_tvalid && msg_tready;
    counted.frames = msg_tvalid && msg_tready && msg_tdata.imm_valid;
    counted.bad_qp = status_valid && status == BAD_QP;
  end

  logic unused;
  assign unused = ^{
          spend, rate_tready, errors, spend_index, status_qp, in_line, spend_bytes, mtu_log2,
          roce_tdata, roce_tkeep, roce_tlast, roce_tvalid, resolve_tready, resolved_tvalid, held, resolved_tdata,
          conflict_mac, pulses, m_axi_constant_rid
      };

endmodule
