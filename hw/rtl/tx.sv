// The transmitter: frames that lie in memory in, RoCEv2 packets out, told by registers what to send where. Wiring only.
//
//   registers -> tables, commands       counts, events -> registers
//   frames -> tx_core -> packets -> [tx_station] -> Ethernet
//                ^-- frames of RoCEv2 <-- '<- Ethernet
//
// Rc: what is lost is sent again, by tx_core. Station: there is a receive path, which a reset of the core leaves alone.
module tx
  import axi_pkg::*;
  import framelane_pkg::*;
  import neighbour_pkg::*;
  import rc_pkg::*;
  import roce_pkg::*;
  import tx_counters_pkg::*;
#(
    parameter int unsigned DataW        = 512,
    parameter int unsigned AddrW        = 64,
    parameter int unsigned IdW          = 1,
    parameter int unsigned NumQp        = 16,
    parameter int unsigned Flows        = 4,
    parameter int unsigned Destinations = 16,
    parameter int unsigned ReadDepth    = 64,           // transfers that the memory reader runs ahead
    parameter int unsigned ReadBeats    = 512,          // for which it has room: of the memory's latency, and a burst
    parameter int unsigned MaxBurst     = 256,          // beats of its longest burst: 16 for HBM and AXI3
    parameter int unsigned ClockHz      = 250_000_000,
    parameter int unsigned Build        = 0,
    parameter bit          FrameStore   = 1'b0,         // frames come from a frame_store: said in the registers
    parameter bit          Correct      = 1'b0,         // which corrects them: likewise
    parameter bit          Station      = 1'b0,         // receive path: ARP, ping, pauses
    parameter bit          Rc           = 1'b0,         // QPs may be of RC; needs Station
    parameter int unsigned RcQps        = 16,           // the first of the table; a power of two, 2 or more
    parameter int unsigned RcDepth      = 64,           // descriptors of each that are kept; a power of two
    parameter int unsigned RcAhead      = 384,          // beats read ahead, if Rc: cycles of the memory's latency
    parameter int unsigned MaxSlots     = 1024,         // frames in memory at a time, if Rc: all that a frame store has
    parameter bit          TimeFlags    = 1'b0,         // frames may bring time_flags; 0: those of all are 0
    parameter bit          MacPort      = 1'b0,         // packets go through a mac_port: said in the registers

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic rst,

    // AXI4-Lite: the registers (docs/reference/registers.md)
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

    // Frames that lie complete in memory, with rising numbers. Each is released once, in order: its memory is free again
    input  frame_t s_axis_frame_tdata,
    input  logic   s_axis_frame_tvalid,
    output logic   s_axis_frame_tready,
    output logic   release_o,            // pulse

    // The frame store, where there is one
    output store_control_t store_o,
    input  store_report_t  store_i,

    // AXI4 read master: the frame memory
    output logic [  IdW-1:0] m_axi_arid,
    output logic [AddrW-1:0] m_axi_araddr,
    output logic [      7:0] m_axi_arlen,
    output logic [      2:0] m_axi_arsize,
    output logic [      1:0] m_axi_arburst,
    output logic [      3:0] m_axi_arcache,
    output logic [      2:0] m_axi_arprot,
    output logic             m_axi_arvalid,
    input  logic             m_axi_arready,
    input  logic [  IdW-1:0] m_axi_rid,
    input  logic [DataW-1:0] m_axi_rdata,
    input  logic [      1:0] m_axi_rresp,
    input  logic             m_axi_rlast,
    input  logic             m_axi_rvalid,
    output logic             m_axi_rready,

    // Ethernet frames without FCS
    output logic [DataW-1:0] m_axis_tdata,
    output logic [KeepW-1:0] m_axis_tkeep,
    output logic             m_axis_tlast,
    output logic             m_axis_tvalid,
    input  logic             m_axis_tready,

    // Ethernet frames without FCS from the MAC, which cannot wait, and its link; all 0 without Station
    input logic [DataW-1:0] s_axis_rx_tdata,
    input logic [KeepW-1:0] s_axis_rx_tkeep,
    input logic             s_axis_rx_tlast,
    input logic             s_axis_rx_tuser,   // with tlast: wrong FCS, or cut
    input logic             s_axis_rx_tvalid,
    input logic             link_up_i,

    // The mac_port, where there is one
    output logic [15:0] mac_threshold_o,
    input mac_report_t  mac_i,

    output logic interrupt_o,  // a bit of errors is set that interrupt_mask asks for
    output logic idle_o        // nothing is under way, and memory owes nothing
);

  logic armed, resetting, core_idle, quiet, aborting;
  logic [CORE_RESETS-1:0] core_rst;

  // The reset a cycle later: copies, always equal, for registers and bus, for counters, for the station, for the rest. One asks whether
  // it changes: tools make one of equal ones.
  localparam int unsigned RESETS = STATION_RESETS + 3;
  (* keep, dont_merge *)logic [RESETS-1:0] rst_q = '1;
  logic [1:0] registers_rst;
  logic rest_rst;
  logic [STATION_RESETS-1:0] station_rst;

  assign {station_rst, rest_rst, registers_rst} = rst_q;

  always_ff @(posedge clk) for (int unsigned c = 0; c < RESETS; c++) if (rst_q[c] != rst) rst_q[c] <= rst;

  logic mac_late, mac_left_q, mac_fired, mac_dropped, memory_late, memory_owes, memory_left, memory_fired;
  logic [15:0] mac_limit, memory_limit;
  logic [47:0] local_mac;
  logic [31:0] local_ip;
  qp_write_t qp_tdata;
  logic [1:0][7:0] flow_index;
  logic [7:0] destination_index, cnp_tdata;
  flow_t flow;
  destination_t destination;
  count_t count_tdata;
  refusal_t refusal;
  logic qp_tvalid, qp_tready, count_tvalid, count_tready, cnp_tvalid, cnp_tready, refusal_valid;
  logic frame, ignored, read_error, status_valid;
  status_e status;
  pulses_t pulses;
  station_pulses_t station_pulses;
  rc_control_t rc_control;
  rc_report_t rc_report;

  neighbour_config_t neighbour_config;
  resolve_t resolve_tdata;
  resolved_t resolved_tdata;
  logic announce, resolve_tvalid, resolve_tready, resolved_tvalid, held;
  logic [47:0] conflict_mac;

  logic [DataW-1:0] packet_tdata;
  logic [KeepW-1:0] packet_tkeep;
  logic packet_tlast, packet_tvalid, packet_tready;
  logic [63:0] roce_tdata;
  logic [7:0] roce_tkeep;
  logic roce_tlast, roce_tvalid, roce_tready;

  axil_request_t axil_request;
  axil_response_t axil_response;
  axi_read_request_t core_request, read_request;
  axi_read_response_t core_response, read_response;
  logic [DataW-1:0] core_rdata;
  logic [DataW-1:0] line_tdata;
  logic [KeepW-1:0] line_tkeep;
  logic line_tlast, line_tvalid, line_tready;

  // The tops' ports are flat
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

  assign read_response = '{arready: m_axi_arready, rresp: m_axi_rresp, rlast: m_axi_rlast, rvalid: m_axi_rvalid};
  assign m_axi_arid = '0;  // data return in order
  assign m_axi_araddr = AddrW'(read_request.araddr);
  assign m_axi_arlen = read_request.arlen;
  assign m_axi_arsize = read_request.arsize;
  assign m_axi_arburst = read_request.arburst;
  assign m_axi_arcache = read_request.arcache;
  assign m_axi_arprot = read_request.arprot;
  assign m_axi_arvalid = read_request.arvalid;
  assign m_axi_rready = read_request.rready;

  if (AddrW < 32 || AddrW > 64) begin : gen_check_address
    $error("%m: AddrW = %0d must be 32 to 64", AddrW);
  end

  registers #(
      .DataW       (DataW),
      .AddrW       (AddrW),
      .NumQp       (NumQp),
      .Flows       (Flows),
      .Destinations(Destinations),
      .ClockHz     (ClockHz),
      .Build       (Build),
      .FrameStore  (FrameStore),
      .Correct     (Correct),
      .Station     (Station),
      .Rc          (Rc),
      .RcQps       (RcQps),
      .RcDepth     (RcDepth),
      .MacPort     (MacPort)
  ) u_registers (
      .clk,
      .rst                (registers_rst),
      .s_axil_i           (axil_request),
      .s_axil_o           (axil_response),
      .core_rst_o         (core_rst),
      .armed_o            (armed),
      .resetting_o        (resetting),
      .idle_i             (quiet),
      .mac_limit_o        (mac_limit),
      .memory_limit_o     (memory_limit),
      .aborting_o         (aborting),
      .mac_stuck_i        (mac_late || mac_left_q),
      .memory_stuck_i     (memory_late || memory_left || store_i.stuck || store_i.left),
      .bad_address_i      (read_request.arvalid && 65'(read_request.araddr) >> AddrW != '0),
      .interrupt_o,
      .local_mac_o        (local_mac),
      .local_ip_o         (local_ip),
      .store_base_o       (store_o.base),
      .store_slot_bytes_o (store_o.slot_bytes),
      .store_slots_o      (store_o.slots),
      .correction_o       (store_o.correction),
      .mac_threshold_o,
      .m_axis_qp_tdata    (qp_tdata),
      .m_axis_qp_tvalid   (qp_tvalid),
      .m_axis_qp_tready   (qp_tready),
      .flow_index_i       (flow_index),
      .flow_o             (flow),
      .destination_index_i(destination_index),
      .destination_o      (destination),
      .pulses_i           (pulses),
      .s_axis_count_tdata (count_tdata),
      .s_axis_count_tvalid(count_tvalid),
      .s_axis_count_tready(count_tready),
      .refusal_valid_i    (refusal_valid),
      .refusal_i          (refusal),
      .neighbour_o           (neighbour_config),
      .announce_o            (announce),
      .m_axis_resolve_tdata  (resolve_tdata),
      .m_axis_resolve_tvalid (resolve_tvalid),
      .m_axis_resolve_tready (resolve_tready),
      .s_axis_resolved_tdata (resolved_tdata),
      .s_axis_resolved_tvalid(resolved_tvalid),
      .link_up_i,
      .held_i                (held),
      .conflict_mac_i        (conflict_mac),
      .station_pulses_i      (station_pulses),
      .s_axis_cnp_tdata      (cnp_tdata),
      .s_axis_cnp_tvalid     (cnp_tvalid),
      .s_axis_cnp_tready     (cnp_tready),
      .limits_o              (rc_control.limits),
      .limits_qp_o           (rc_control.limits_qp),
      .limits_write_o        (rc_control.limits_write),
      .m_axis_command_tdata  (rc_control.command),
      .m_axis_command_tvalid (rc_control.command_valid),
      .m_axis_command_tready (rc_report.command_ready),
      .command_refused_i     (rc_report.command_refused),
      .rc_status_qp_o        (rc_control.status_qp),
      .rc_status_i           (rc_report.status),
      .dcqcn_o               (rc_control.dcqcn),
      .dcqcn_burst_o         (rc_control.dcqcn_burst)
  );

  assign store_o.rst = core_rst[0];
  assign store_o.armed = armed;
  assign store_o.aborting = resetting;
  assign store_o.drain = aborting;
  assign store_o.memory_limit = memory_limit;

  // Memory that stands still: no reset ends that.
  read_guard #(
      .DataW(DataW)
  ) u_read_guard (
      .clk,
      .rst        (rest_rst),
      .limit_i    (memory_limit),
      .drain_i    (aborting),
      .s_axi_i    (core_request),
      .s_axi_o    (core_response),
      .s_axi_rdata(core_rdata),
      .m_axi_o    (read_request),
      .m_axi_i    (read_response),
      .m_axi_rdata,
      .late_o     (memory_late),
      .owes_o     (memory_owes),
      .left_o     (memory_left),
      .fired_o    (memory_fired)
  );

  tx_core #(
      .DataW       (DataW),
      .NumQp       (NumQp),
      .Flows       (Flows),
      .Destinations(Destinations),
      .ReadDepth   (ReadDepth),
      .ReadBeats   (ReadBeats),
      .MaxBurst    (MaxBurst),
      .ClockHz     (ClockHz),
      .Rc          (Rc),
      .RcQps       (RcQps),
      .RcDepth     (RcDepth),
      .RcAhead     (RcAhead),
      .MaxSlots    (MaxSlots),
      .TimeFlags   (TimeFlags)
  ) u_core (
      .clk,
      .rst                (core_rst),
      .armed_i            (armed),
      .local_mac_i        (local_mac),
      .local_ip_i         (local_ip),
      .rc_control_i       (rc_control),
      .rc_report_o        (rc_report),
      .s_axis_qp_tdata    (qp_tdata),
      .s_axis_qp_tvalid   (qp_tvalid),
      .s_axis_qp_tready   (qp_tready),
      .flow_index_o       (flow_index),
      .flow_i             (flow),
      .destination_index_o(destination_index),
      .destination_i      (destination),
      .s_axis_frame_tdata,
      .s_axis_frame_tvalid,
      .s_axis_frame_tready,
      .release_o,
      .m_axi_o            (core_request),
      .m_axi_i            (core_response),
      .m_axi_rdata        (core_rdata),
      .m_axis_tdata       (packet_tdata),
      .m_axis_tkeep       (packet_tkeep),
      .m_axis_tlast       (packet_tlast),
      .m_axis_tvalid      (packet_tvalid),
      .m_axis_tready      (packet_tready),
      .s_axis_roce_tdata  (roce_tdata),
      .s_axis_roce_tkeep  (roce_tkeep),
      .s_axis_roce_tlast  (roce_tlast),
      .s_axis_roce_tvalid (roce_tvalid),
      .s_axis_roce_tready (roce_tready),
      .m_axis_count_tdata (count_tdata),
      .m_axis_count_tvalid(count_tvalid),
      .m_axis_count_tready(count_tready),
      .m_axis_cnp_tdata   (cnp_tdata),
      .m_axis_cnp_tvalid  (cnp_tvalid),
      .m_axis_cnp_tready  (cnp_tready),
      .refusal_o          (refusal),
      .refusal_valid_o    (refusal_valid),
      .frame_o            (frame),
      .ignored_o          (ignored),
      .read_error_o       (read_error),
      .status_valid_o     (status_valid),
      .status_o           (status),
      .rc_pulses_o        (station_pulses.rc),
      .idle_o             (core_idle)
  );

  if (Station) begin : gen_station
    tx_station #(
        .DataW(DataW)
    ) u_station (
        .clk,
        .rst                   (station_rst),
        .config_i              (neighbour_config),
        .link_up_i,
        .announce_i            (announce),
        .resetting_i           (resetting),
        .s_axis_resolve_tdata  (resolve_tdata),
        .s_axis_resolve_tvalid (resolve_tvalid),
        .s_axis_resolve_tready (resolve_tready),
        .m_axis_resolved_tdata (resolved_tdata),
        .m_axis_resolved_tvalid(resolved_tvalid),
        .s_axis_rx_tdata,
        .s_axis_rx_tkeep,
        .s_axis_rx_tlast,
        .s_axis_rx_tuser,
        .s_axis_rx_tvalid,
        .m_axis_roce_tdata     (roce_tdata),
        .m_axis_roce_tkeep     (roce_tkeep),
        .m_axis_roce_tlast     (roce_tlast),
        .m_axis_roce_tvalid    (roce_tvalid),
        .m_axis_roce_tready    (roce_tready),
        .s_axis_packet_tdata   (packet_tdata),
        .s_axis_packet_tkeep   (packet_tkeep),
        .s_axis_packet_tlast   (packet_tlast),
        .s_axis_packet_tvalid  (packet_tvalid),
        .s_axis_packet_tready  (packet_tready),
        .m_axis_tdata          (line_tdata),
        .m_axis_tkeep          (line_tkeep),
        .m_axis_tlast          (line_tlast),
        .m_axis_tvalid         (line_tvalid),
        .m_axis_tready         (line_tready),
        .held_o                (held),
        .conflict_mac_o        (conflict_mac),
        .pulses_o              (station_pulses.neighbour)
    );
  end else begin : gen_no_station
    assign line_tdata = packet_tdata;
    assign line_tkeep = packet_tkeep;
    assign line_tlast = packet_tlast;
    assign line_tvalid = packet_tvalid;
    assign packet_tready = line_tready;
    assign {roce_tdata, roce_tkeep, roce_tlast, roce_tvalid} = '0;
    assign held = 1'b0;
    assign conflict_mac = '0;
    assign resolve_tready = 1'b1;
    assign {resolved_tdata, resolved_tvalid} = '0;
    assign station_pulses.neighbour = '0;

    logic unused;
    assign unused = ^{s_axis_rx_tdata, s_axis_rx_tkeep, s_axis_rx_tlast, s_axis_rx_tuser, s_axis_rx_tvalid,
                      neighbour_config, announce, resolve_tdata, resolve_tvalid, roce_tready, station_rst};
  end

  // An Ethernet core that stands still: what it was offered stays on offer, what comes behind is dropped.
  axis_drain #(
      .DataW(DataW)
  ) u_drain (
      .clk,
      .rst          (rest_rst),
      .drain_i      (mac_late || mac_left_q || aborting),
      .s_axis_tdata (line_tdata),
      .s_axis_tkeep (line_tkeep),
      .s_axis_tlast (line_tlast),
      .s_axis_tvalid(line_tvalid),
      .s_axis_tready(line_tready),
      .m_axis_tdata,
      .m_axis_tkeep,
      .m_axis_tlast,
      .m_axis_tvalid,
      .m_axis_tready,
      .dropped_o    (mac_dropped)
  );

  watchdog u_watchdog (
      .clk,
      .rst    (rest_rst),
      .limit_i(mac_limit),
      .waits_i(m_axis_tvalid),
      .moves_i(m_axis_tready),
      .over_i (m_axis_tready),
      .late_o (mac_late),
      .fired_o(mac_fired)
  );

  // What an abort has left on offer counts as late at once.
  always_ff @(posedge clk) begin
    mac_left_q <= m_axis_tvalid && !m_axis_tready && (aborting || mac_left_q);
    if (rest_rst) mac_left_q <= 1'b0;
  end

  // Also while a packet is on its way to the line, if that moves. ARP and ping that wait do not count: a pause may hold them for long.
  assign quiet = core_idle && store_i.idle && !line_tvalid && (!m_axis_tvalid || mac_late || mac_left_q || aborting);

  // For a reset from outside, which would forget what memory owes; one by register does not. What is at the end of paths through the
  // whole core is of the cycle before, when no frame was there.
  logic owes_q, idle_q;

  always_ff @(posedge clk) begin
    owes_q <= memory_owes;  // its reader is not idle yet as it begins to owe
    idle_q <= quiet && !owes_q && !s_axis_frame_tvalid && !rest_rst;
  end

  assign idle_o = idle_q && store_i.idle && !store_i.owes;

  assign pulses = '{
          cycles: 1'b0,  // the registers' own
          frames: frame,
          frames_ignored: ignored || store_i.ignored,
          frames_lost: store_i.lost,
          packets: m_axis_tvalid && m_axis_tready && m_axis_tlast,
          beats: m_axis_tvalid && m_axis_tready,
          stall_cycles: m_axis_tvalid && !m_axis_tready,
          messages: status_valid,
          bad_qp: status_valid && status == BAD_QP,
          bad_length: status_valid && status == BAD_LENGTH,
          too_short: status_valid && status == SHORT,
          too_long: status_valid && status == LONG,
          bad_payload: status_valid && status == BAD_PAYLOAD,
          read_errors: read_error,
          frames_bad: store_i.bad,
          mismatches: store_i.mismatch,
          constant_errors: store_i.constant_error,
          pixel_stalls: store_i.stall,
          mac_underruns: mac_i.tx_underrun,
          mac_too_long: mac_i.tx_too_long,
          mac_bad: mac_i.rx_bad,
          mac_lost: mac_i.rx_lost,
          mac_timeouts: mac_fired,
          mac_dropped: mac_dropped,
          memory_timeouts: memory_fired || store_i.timeout
      };

  logic unused_id;
  assign unused_id = ^m_axi_rid;

endmodule
