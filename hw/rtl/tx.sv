// The transmitter: frames that lie in memory in, RoCEv2 packets out, told by registers what to send where. Wiring only.
//
//   registers -> tables, commands
//   frames -> bd_gen -> axis_fork -> mm2s ----.
//                |          |----------------- axis_select -> payload -.
//                '-> trailer ----------------'                        roce_tx -> packets
//                           |----------------------------> messages -'  |
//                           '-> frame_ledger <------ ends of messages --'
//
// With Rc, descriptors and trailers go through rc_requester first, and rc_ledger stands for frame_ledger. With Station there is a
// receive path, which a reset of the core leaves alone:
//
//   frames from the MAC -> rx_path -> roce_rx -> rc_requester, dcqcn -> rates of roce_tx
//                             '-> neighbour -> axis_widen -> packet_merge, behind roce_tx
module tx
  import dcqcn_pkg::*;
  import framelane_pkg::*;
  import neighbour_pkg::*;
  import rc_pkg::*;
  import roce_pkg::*;
  import roce_rx_pkg::*;
#(
    parameter int unsigned DataW        = 512,
    parameter int unsigned AddrW        = 64,
    parameter int unsigned IdW          = 1,
    parameter int unsigned NumQp        = 16,
    parameter int unsigned Flows        = 4,
    parameter int unsigned Destinations = 16,
    parameter int unsigned ReadDepth    = 64,           // transfers that the memory reader runs ahead
    parameter int unsigned ClockHz      = 250_000_000,
    parameter int unsigned Build        = 0,
    parameter bit          FrameStore   = 1'b0,         // frames come from a frame_store: said in the registers
    parameter bit          Correct      = 1'b0,         // which corrects them: likewise
    parameter bit          Station      = 1'b0,         // receive path: ARP, ping, pauses
    parameter bit          Rc           = 1'b0,         // QPs may be of RC; needs Station
    parameter int unsigned RcQps        = 16,           // the first of the table; a power of two, 2 or more
    parameter int unsigned RcDepth      = 64,           // descriptors of each that are kept; a power of two
    parameter int unsigned RcAhead      = 384,          // beats read ahead, if Rc: cycles of the memory's latency

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic rst,

    // AXI4-Lite: the registers (docs/registers.md)
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
    output logic        store_rst_o,
    output logic        store_armed_o,
    output logic        store_abort_o,
    output logic [63:0] store_base_o,
    output logic [31:0] store_slot_bytes_o,
    output logic [15:0] store_slots_o,
    output correction_t store_correction_o,
    input  logic        store_idle_i,        // 1 where there is none
    input  logic        store_lost_i,        // pulse: a frame was lost there
    input  logic        store_bad_i,         // pulse: a frame did not fit there, or its memory refused it
    input  logic        store_ignored_i,     // pulse: a frame passed while not armed
    input  logic        store_mismatch_i,    // pulse: a frame was shorter or longer than its constants
    input  logic        store_constant_error_i,  // pulse: a beat of constants came with an error
    input  logic        store_stall_i,       // pulse: a beat of pixels waits

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

    output logic idle_o  // nothing is under way
);

  // Sinks of every descriptor, in the order of axis_fork's mask
  localparam int unsigned TO_MESSAGE = 0;
  localparam int unsigned TO_SELECT = 1;
  localparam int unsigned TO_LEDGER = 2;
  localparam int unsigned TO_READ = 3;
  localparam int unsigned SINKS = 4;

  // Sources of payload, as axis_select numbers them
  localparam int unsigned FROM_MEMORY = 0;
  localparam int unsigned FROM_TRAILER = 1;
  localparam int unsigned SOURCES = 2;

  logic core_rst, armed, resetting;
  logic [47:0] local_mac;
  logic [31:0] local_ip;
  qp_write_t qp_tdata;
  logic qp_tvalid, qp_tready;
  logic [7:0] flow_index, destination_index, mtu_index;
  flow_t flow;
  destination_t destination;
  logic [3:0] mtu_log2;
  logic [PULSES-1:0] pulses;
  refusal_t refusal;
  logic refusal_valid;
  count_t place_count, ledger_count, count_tdata;
  logic place_count_tvalid, place_count_tready, ledger_count_tvalid, ledger_count_tready, count_tvalid, count_tready;

  neighbour_config_t station;
  resolve_t resolve_tdata;
  resolved_t resolved_tdata;
  rc_limits_t limits;
  rc_command_t command_tdata;
  rc_status_t rc_status;
  dcqcn_t dcqcn_settings;
  logic announce, resolve_tvalid, resolve_tready, resolved_tvalid, hold_data;
  logic [47:0] conflict_mac;
  logic [STATION_PULSES-1:0] station_pulses;
  logic [7:0] cnp_tdata, limits_qp, rc_status_qp;
  logic cnp_tvalid, cnp_tready, limits_write, command_tvalid, command_tready, command_refused;
  logic [23:0] dcqcn_burst;

  registers #(
      .DataW       (DataW),
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
      .RcDepth     (RcDepth)
  ) u_registers (
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
      .core_rst_o         (core_rst),
      .armed_o            (armed),
      .resetting_o        (resetting),
      .idle_i             (idle_o),
      .local_mac_o        (local_mac),
      .local_ip_o         (local_ip),
      .store_base_o,
      .store_slot_bytes_o,
      .store_slots_o,
      .correction_o       (store_correction_o),
      .m_axis_qp_tdata    (qp_tdata),
      .m_axis_qp_tvalid   (qp_tvalid),
      .m_axis_qp_tready   (qp_tready),
      .flow_index_i       (flow_index),
      .flow_o             (flow),
      .destination_index_i(destination_index),
      .destination_o      (destination),
      .pulse_i            (pulses),
      .s_axis_count_tdata (count_tdata),
      .s_axis_count_tvalid(count_tvalid),
      .s_axis_count_tready(count_tready),
      .refusal_valid_i    (refusal_valid),
      .refusal_i          (refusal),
      .neighbour_o           (station),
      .announce_o            (announce),
      .m_axis_resolve_tdata  (resolve_tdata),
      .m_axis_resolve_tvalid (resolve_tvalid),
      .m_axis_resolve_tready (resolve_tready),
      .s_axis_resolved_tdata (resolved_tdata),
      .s_axis_resolved_tvalid(resolved_tvalid),
      .link_up_i,
      .held_i                (hold_data),
      .conflict_mac_i        (conflict_mac),
      .station_pulse_i       (station_pulses),
      .s_axis_cnp_tdata      (cnp_tdata),
      .s_axis_cnp_tvalid     (cnp_tvalid),
      .s_axis_cnp_tready     (cnp_tready),
      .limits_o              (limits),
      .limits_qp_o           (limits_qp),
      .limits_write_o        (limits_write),
      .m_axis_command_tdata  (command_tdata),
      .m_axis_command_tvalid (command_tvalid),
      .m_axis_command_tready (command_tready),
      .command_refused_i     (command_refused),
      .rc_status_qp_o        (rc_status_qp),
      .rc_status_i           (rc_status),
      .dcqcn_o               (dcqcn_settings),
      .dcqcn_burst_o         (dcqcn_burst)
  );

  assign store_abort_o = resetting;
  assign store_rst_o = core_rst;
  assign store_armed_o = armed;

  axis_merge #(
      .DataW($bits(count_t))
  ) u_counts (
      .clk,
      .rst            (core_rst),
      .s_axis_a_tdata (place_count),
      .s_axis_a_tvalid(place_count_tvalid),
      .s_axis_a_tready(place_count_tready),
      .s_axis_b_tdata (ledger_count),
      .s_axis_b_tvalid(ledger_count_tvalid),
      .s_axis_b_tready(ledger_count_tready),
      .m_axis_tdata   (count_tdata),
      .m_axis_tvalid  (count_tvalid),
      .m_axis_tready  (count_tready)
  );

  bd_t bd_tdata;
  logic bd_tvalid, bd_tready, bd_gen_idle, frame, ignored;
  trailer_t placed_tdata;
  logic placed_tvalid, placed_tready;
  logic [7:0] room_qp;
  logic [15:0] room_wanted;
  logic room, admit;
  logic [15:0] over_tdata;
  logic over_tvalid, over_tready;

  bd_gen #(
      .Flows       (Flows),
      .Destinations(Destinations)
  ) u_bd_gen (
      .clk,
      .rst                  (core_rst),
      .armed_i              (armed),
      .flow_index_o         (flow_index),
      .flow_i               (flow),
      .destination_index_o  (destination_index),
      .destination_i        (destination),
      .room_qp_o            (room_qp),
      .room_wanted_o        (room_wanted),
      .room_i               (room),
      .admit_o              (admit),
      .mtu_index_o          (mtu_index),
      .mtu_log2_i           (mtu_log2),
      .s_axis_frame_tdata,
      .s_axis_frame_tvalid,
      .s_axis_frame_tready,
      .m_axis_bd_tdata      (bd_tdata),
      .m_axis_bd_tvalid     (bd_tvalid),
      .m_axis_bd_tready     (bd_tready),
      .m_axis_trailer_tdata (placed_tdata),
      .m_axis_trailer_tvalid(placed_tvalid),
      .m_axis_trailer_tready(placed_tready),
      .m_axis_over_tdata    (over_tdata),
      .m_axis_over_tvalid   (over_tvalid),
      .m_axis_over_tready   (over_tready),
      .m_axis_count_tdata   (place_count),
      .m_axis_count_tvalid  (place_count_tvalid),
      .m_axis_count_tready  (place_count_tready),
      .refusal_o            (refusal),
      .refusal_valid_o      (refusal_valid),
      .frame_o              (frame),
      .ignored_o            (ignored),
      .idle_o               (bd_gen_idle)
  );

  // What is sent, for the first time or again, with its trailer
  rc_item_t issue_tdata, item;
  trailer_t trailer_tdata;
  logic issue_tvalid, issue_tready, trailer_tvalid, trailer_tready;
  logic [SINKS-1:0] mask, item_tvalid, item_tready;

  always_comb begin
    mask = '0;
    mask[TO_MESSAGE] = 1'b1;
    mask[TO_SELECT] = 1'b1;
    mask[TO_LEDGER] = 1'b1;
    mask[TO_READ] = !issue_tdata.bd.last;
  end

  axis_fork #(
      .DataW($bits(rc_item_t)),
      .Sinks(SINKS)
  ) u_fork (
      .clk,
      .rst(core_rst),
      .s_axis_tdata (issue_tdata),
      .s_axis_tuser (mask),
      .s_axis_tvalid(issue_tvalid),
      .s_axis_tready(issue_tready),
      .m_axis_tdata (item),
      .m_axis_tvalid(item_tvalid),
      .m_axis_tready(item_tready)
  );

  logic [SOURCES-1:0][DataW-1:0] source_tdata;
  logic [SOURCES-1:0][KeepW-1:0] source_tkeep;
  logic [SOURCES-1:0] source_tlast, source_tuser, source_tvalid, source_tready;
  logic read_error;

  assign source_tuser[FROM_TRAILER] = 1'b0;

  mm2s #(
      .DataW(DataW),
      .AddrW(AddrW),
      .IdW  (IdW),
      .Depth(ReadDepth)
  ) u_mm2s (
      .clk,
      .rst(core_rst),
      .s_axis_cmd_tdata ('{length: item.bd.length, address: item.bd.source}),
      .s_axis_cmd_tvalid(item_tvalid[TO_READ]),
      .s_axis_cmd_tready(item_tready[TO_READ]),
      .m_axis_tdata     (source_tdata[FROM_MEMORY]),
      .m_axis_tkeep     (source_tkeep[FROM_MEMORY]),
      .m_axis_tlast     (source_tlast[FROM_MEMORY]),
      .m_axis_tuser     (source_tuser[FROM_MEMORY]),
      .m_axis_tvalid    (source_tvalid[FROM_MEMORY]),
      .m_axis_tready    (source_tready[FROM_MEMORY]),
      .m_axi_arid,
      .m_axi_araddr,
      .m_axi_arlen,
      .m_axi_arsize,
      .m_axi_arburst,
      .m_axi_arcache,
      .m_axi_arprot,
      .m_axi_arvalid,
      .m_axi_arready,
      .m_axi_rid,
      .m_axi_rdata,
      .m_axi_rresp,
      .m_axi_rlast,
      .m_axi_rvalid,
      .m_axi_rready,
      .read_error_o     (read_error)
  );

  trailer #(
      .DataW(DataW)
  ) u_trailer (
      .clk,
      .rst(core_rst),
      .s_axis_trailer_tdata (trailer_tdata),
      .s_axis_trailer_tvalid(trailer_tvalid),
      .s_axis_trailer_tready(trailer_tready),
      .m_axis_tdata         (source_tdata[FROM_TRAILER]),
      .m_axis_tkeep         (source_tkeep[FROM_TRAILER]),
      .m_axis_tlast         (source_tlast[FROM_TRAILER]),
      .m_axis_tvalid        (source_tvalid[FROM_TRAILER]),
      .m_axis_tready        (source_tready[FROM_TRAILER])
  );

  logic sel_tdata, sel_tvalid, sel_tready;

  axis_fifo #(
      .DataW(1),
      .Depth(ReadDepth)
  ) u_order (
      .clk,
      .rst(core_rst),
      .s_axis_tdata (item.bd.last),
      .s_axis_tvalid(item_tvalid[TO_SELECT]),
      .s_axis_tready(item_tready[TO_SELECT]),
      .m_axis_tdata (sel_tdata),
      .m_axis_tvalid(sel_tvalid),
      .m_axis_tready(sel_tready)
  );

  logic [DataW-1:0] payload_tdata;
  logic [KeepW-1:0] payload_tkeep;
  logic payload_tlast, payload_tuser, payload_tvalid, payload_tready;

  axis_select #(
      .DataW  (DataW),
      .Sources(SOURCES)
  ) u_select (
      .clk,
      .rst(core_rst),
      .s_axis_sel_tdata (sel_tdata),
      .s_axis_sel_tvalid(sel_tvalid),
      .s_axis_sel_tready(sel_tready),
      .s_axis_tdata     (source_tdata),
      .s_axis_tkeep     (source_tkeep),
      .s_axis_tlast     (source_tlast),
      .s_axis_tuser     (source_tuser),
      .s_axis_tvalid    (source_tvalid),
      .s_axis_tready    (source_tready),
      .m_axis_tdata     (payload_tdata),
      .m_axis_tkeep     (payload_tkeep),
      .m_axis_tlast     (payload_tlast),
      .m_axis_tuser     (payload_tuser),
      .m_axis_tvalid    (payload_tvalid),
      .m_axis_tready    (payload_tready)
  );

  message_t msg_tdata, queued_tdata;
  logic queued_tvalid, queued_tready;

  assign msg_tdata = '{
          replay: item.rc,
          resume: item.resume,
          psn: item.psn,
          imm_valid: item.bd.last,
          imm: item.bd.imm,
          qp: item.bd.qp,
          length: item.bd.length,
          address: item.bd.destination
      };

  // Messages wait here while the payload of earlier ones passes, so that the memory reader can run ahead.
  axis_fifo #(
      .DataW($bits(message_t)),
      .Depth(ReadDepth)
  ) u_messages (
      .clk,
      .rst(core_rst),
      .s_axis_tdata (msg_tdata),
      .s_axis_tvalid(item_tvalid[TO_MESSAGE]),
      .s_axis_tready(item_tready[TO_MESSAGE]),
      .m_axis_tdata (queued_tdata),
      .m_axis_tvalid(queued_tvalid),
      .m_axis_tready(queued_tready)
  );

  logic [DataW-1:0] packet_tdata;
  logic [KeepW-1:0] packet_tkeep;
  logic packet_tlast, packet_tvalid, packet_tready;
  logic status_valid, roce_idle, spend, rate_tvalid, rate_tready;
  logic [7:0] spend_index, rate_index, in_line;
  logic [12:0] spend_bytes;
  logic [23:0] rate_tdata;
  status_e status;
  logic [7:0] status_qp;
  errors_t errors;

  roce_tx #(
      .DataW(DataW),
      .NumQp(NumQp)
  ) u_roce_tx (
      .clk,
      .rst(core_rst),
      .local_mac_i          (local_mac),
      .local_ip_i           (local_ip),
      .s_axis_qp_tdata      (qp_tdata),
      .s_axis_qp_tvalid     (qp_tvalid),
      .s_axis_qp_tready     (qp_tready),
      .spend_o              (spend),
      .spend_index_o        (spend_index),
      .spend_bytes_o        (spend_bytes),
      .s_axis_rate_index    (rate_index),
      .s_axis_rate_tdata    (rate_tdata),
      .s_axis_rate_tvalid   (rate_tvalid),
      .s_axis_rate_tready   (rate_tready),
      .default_burst_i      (Rc ? dcqcn_burst : '0),
      .pace_all_i           (Rc && dcqcn_settings.enabled),
      .mtu_index_i          (mtu_index),
      .mtu_log2_o           (mtu_log2),
      .s_axis_msg_tdata     (queued_tdata),
      .s_axis_msg_tvalid    (queued_tvalid),
      .s_axis_msg_tready    (queued_tready),
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

  logic ledger_idle, requester_idle;
  event_t event_tdata;
  logic event_tvalid, event_tready;
  logic [ROCE_DROPS-1:0] roce_dropped;
  rc_note_e note;
  logic again;

  // What roce_rx is given of frames for this station
  logic [63:0] in_tdata;
  logic [7:0] in_tkeep;
  logic in_tlast, in_tvalid, in_tready, roce_tready;
  rx_user_t in_tuser;

  if (Rc) begin : gen_rc
    // Ticks of 1.024 us; the timers look at all QPs in one
    localparam int unsigned TICK = (ClockHz / 1000 * 1024 + 999_999) / 1_000_000;
    localparam int unsigned TICK_CLOCKS = TICK > 2 * RcQps ? TICK : 2 * RcQps + 1;
    localparam int unsigned TICK_W = $clog2(TICK_CLOCKS + 1);
    localparam int unsigned TAGS = 256;  // frames that are held, more than any frame store has
    localparam int unsigned CNPS = 16;  // that wait for their counter

    logic ready, accepted, unused_accepted_rc, issued, room_asked, qp_written, cnp, cnp_ready, requester_tready;
    logic retired_tvalid, retired_tready, unused_done;
    logic [7:0] tag, issued_tag, cnp_qp, peer_index, unused_note_qp;
    logic bd_taken, peer_enabled, peer_rc;
    logic [31:0] peer_ip;
    logic [15:0] peer_pkey;
    rc_retired_t retired_tdata;
    logic [TICK_W-1:0] tick_q;

    assign qp_written = qp_tvalid && qp_tready;
    assign bd_tready = bd_taken && ready;
    assign room = room_asked;

    rc_requester #(
        .DataW     (DataW),
        .RcQps     (RcQps),
        .Depth     (RcDepth),
        .Ahead     (RcAhead),
        .TickClocks(TICK_CLOCKS)
    ) u_requester (
        .clk,
        .rst(core_rst),
        .s_axis_bd_tdata      (bd_tdata),
        .s_axis_bd_tvalid     (bd_tvalid && ready),
        .s_axis_bd_tready     (bd_taken),
        .tag_i                (tag),
        .s_axis_trailer_tdata (placed_tdata),
        .s_axis_trailer_tvalid(placed_tvalid),
        .s_axis_trailer_tready(placed_tready),
        .m_axis_item_tdata    (issue_tdata),
        .m_axis_item_tvalid   (issue_tvalid),
        .m_axis_item_tready   (issue_tready),
        .m_axis_trailer_tdata (trailer_tdata),
        .m_axis_trailer_tvalid(trailer_tvalid),
        .m_axis_trailer_tready(trailer_tready),
        .beat_i               (payload_tvalid && payload_tready),
        .ended_i              (status_valid),
        .ended_qp_i           (status_qp),
        .in_line_i            (in_line),
        .left_i               (packet_tvalid && packet_tready && packet_tlast),
        .accepted_o           (accepted),
        .accepted_rc_o        (unused_accepted_rc),
        .issued_o             (issued),
        .issued_tag_o         (issued_tag),
        .m_axis_retired_tdata (retired_tdata),
        .m_axis_retired_tvalid(retired_tvalid),
        .m_axis_retired_tready(retired_tready),
        .s_axis_event_tdata   (event_tdata),
        .s_axis_event_tvalid  (event_tvalid && cnp_ready),
        .s_axis_event_tready  (requester_tready),
        .cnp_o                (cnp),
        .cnp_qp_o             (cnp_qp),
        .qp_write_i           (qp_tdata),
        .qp_write_valid_i     (qp_written),
        .limits_i             (limits),
        .limits_qp_i          (limits_qp),
        .limits_write_i       (limits_write),
        .s_axis_command_tdata (command_tdata),
        .s_axis_command_tvalid(command_tvalid),
        .s_axis_command_tready(command_tready),
        .done_o               (unused_done),
        .refused_o            (command_refused),
        .room_qp_i            (room_qp),
        .room_wanted_i        (room_wanted),
        .room_o               (room_asked),
        .admit_i              (admit),
        .status_qp_i          (rc_status_qp),
        .status_o             (rc_status),
        .note_qp_o            (unused_note_qp),
        .note_o               (note),
        .again_o              (again),
        .idle_o               (requester_idle)
    );

    rc_ledger #(
        .Tags(TAGS)
    ) u_ledger (
        .clk,
        .rst(core_rst),
        .tag_o                (tag),
        .ready_o              (ready),
        .accepted_i           (accepted),
        .issued_i             (issued),
        .issued_tag_i         (issued_tag),
        .s_axis_retired_tdata (retired_tdata),
        .s_axis_retired_tvalid(retired_tvalid),
        .s_axis_retired_tready(retired_tready),
        .s_axis_item_tdata    (item),
        .s_axis_item_tvalid   (item_tvalid[TO_LEDGER]),
        .s_axis_item_tready   (item_tready[TO_LEDGER]),
        .ended_i              (status_valid),
        .failed_i             (status != OK),
        .s_axis_over_tdata    (over_tdata),
        .s_axis_over_tvalid   (over_tvalid),
        .s_axis_over_tready   (over_tready),
        .m_axis_count_tdata   (ledger_count),
        .m_axis_count_tvalid  (ledger_count_tvalid),
        .m_axis_count_tready  (ledger_count_tready),
        .release_o,
        .idle_o               (ledger_idle)
    );

    peer_table #(
        .NumQp(NumQp)
    ) u_peers (
        .clk,
        .rst(core_rst),
        .qp_write_i      (qp_tdata),
        .qp_write_valid_i(qp_written),
        .index_i         (peer_index),
        .enabled_o       (peer_enabled),
        .rc_o            (peer_rc),
        .peer_ip_o       (peer_ip),
        .pkey_o          (peer_pkey)
    );

    roce_rx u_roce_rx (
        .clk,
        .rst(core_rst),
        .s_axis_tdata       (in_tdata),
        .s_axis_tkeep       (in_tkeep),
        .s_axis_tlast       (in_tlast),
        .s_axis_tvalid      (in_tvalid && in_tuser.rx_class == CLASS_ROCE),
        .s_axis_tready      (roce_tready),
        .index_o            (peer_index),
        .enabled_i          (peer_enabled),
        .rc_i               (peer_rc),
        .peer_ip_i          (peer_ip),
        .pkey_i             (peer_pkey),
        .m_axis_event_tdata (event_tdata),
        .m_axis_event_tvalid(event_tvalid),
        .m_axis_event_tready(event_tready),
        .dropped_o          (roce_dropped)
    );

    // An event waits until its CNP can be counted.
    assign event_tready = requester_tready && cnp_ready;

    axis_fifo #(
        .DataW(8),
        .Depth(CNPS)
    ) u_cnps (
        .clk,
        .rst(core_rst),
        .s_axis_tdata (cnp_qp),
        .s_axis_tvalid(cnp),
        .s_axis_tready(cnp_ready),
        .m_axis_tdata (cnp_tdata),
        .m_axis_tvalid(cnp_tvalid),
        .m_axis_tready(cnp_tready)
    );

    always_ff @(posedge clk) begin
      tick_q <= tick_q == '0 ? TICK_W'(TICK_CLOCKS - 1) : tick_q - 1'b1;
      if (core_rst) tick_q <= '0;
    end

    dcqcn #(
        .NumQp(NumQp)
    ) u_dcqcn (
        .clk,
        .rst(core_rst),
        .settings_i        (dcqcn_settings),
        .tick_i            (tick_q == '0),
        .write_i           (qp_written),
        .write_index_i     (qp_tdata.index),
        .write_rate_i      (qp_tdata.qp.rate),
        .cnp_i             (cnp),
        .cnp_index_i       (cnp_qp),
        .spend_i           (spend),
        .spend_index_i     (spend_index),
        .spend_bytes_i     (spend_bytes),
        .m_axis_rate_index (rate_index),
        .m_axis_rate_tdata (rate_tdata),
        .m_axis_rate_tvalid(rate_tvalid),
        .m_axis_rate_tready(rate_tready)
    );
  end else begin : gen_no_rc
    assign issue_tdata = '{tag: '0, rc: 1'b0, resume: 1'b0, psn: '0, bd: bd_tdata};
    assign issue_tvalid = bd_tvalid;
    assign bd_tready = issue_tready;
    assign trailer_tdata = placed_tdata;
    assign trailer_tvalid = placed_tvalid;
    assign placed_tready = trailer_tready;
    assign room = 1'b1;
    assign requester_idle = 1'b1;
    assign roce_tready = 1'b1;
    assign event_tdata = '0;
    assign event_tvalid = 1'b0;
    assign event_tready = 1'b1;
    assign roce_dropped = '0;
    assign note = NOTE_NONE;
    assign again = 1'b0;
    assign cnp_tdata = '0;
    assign cnp_tvalid = 1'b0;
    assign command_tready = 1'b1;
    assign command_refused = 1'b0;
    assign rc_status = '0;
    assign rate_index = '0;
    assign rate_tdata = '0;
    assign rate_tvalid = 1'b0;

    frame_ledger u_ledger (
        .clk,
        .rst(core_rst),
        .s_axis_bd_tdata    (item.bd),
        .s_axis_bd_tvalid   (item_tvalid[TO_LEDGER]),
        .s_axis_bd_tready   (item_tready[TO_LEDGER]),
        .s_axis_over_tdata  (over_tdata),
        .s_axis_over_tvalid (over_tvalid),
        .s_axis_over_tready (over_tready),
        .ended_i            (status_valid),
        .failed_i           (status != OK),
        .m_axis_count_tdata (ledger_count),
        .m_axis_count_tvalid(ledger_count_tvalid),
        .m_axis_count_tready(ledger_count_tready),
        .release_o,
        .idle_o             (ledger_idle)
    );

    logic unused_rc;
    assign unused_rc = ^{item, room_qp, room_wanted, admit, limits, limits_qp, limits_write, command_tdata,
                         command_tvalid, rc_status_qp, dcqcn_settings, dcqcn_burst, cnp_tready, rate_tready, spend,
                         spend_index, spend_bytes, status_qp, in_line};
  end

  neighbour_events_t events;
  logic [RX_DROPS-1:0] rx_dropped;
  logic line_busy;  // a packet is on its way from here to the line

  if (Station) begin : gen_station
    logic [63:0] out_tdata;
    logic [7:0] out_tkeep;
    logic out_tlast, out_tvalid, out_tready, neighbour_tready, hold_control, unused_idle;
    logic [DataW-1:0] wide_tdata;
    logic [KeepW-1:0] wide_tkeep;
    logic wide_tlast, wide_tuser, wide_tvalid, wide_tready, unused_tuser;

    rx_path #(
        .DataW(DataW)
    ) u_rx (
        .clk,
        .rst,
        .local_mac_i  (station.mac),
        .local_ip_i   (station.ip),
        .s_axis_tdata (s_axis_rx_tdata),
        .s_axis_tkeep (s_axis_rx_tkeep),
        .s_axis_tlast (s_axis_rx_tlast),
        .s_axis_tuser (s_axis_rx_tuser),
        .s_axis_tvalid(s_axis_rx_tvalid),
        .m_axis_tdata (in_tdata),
        .m_axis_tkeep (in_tkeep),
        .m_axis_tlast (in_tlast),
        .m_axis_tuser (in_tuser),
        .m_axis_tvalid(in_tvalid),
        .m_axis_tready(in_tready),
        .dropped_o    (rx_dropped)
    );

    assign in_tready = in_tuser.rx_class == CLASS_ROCE ? roce_tready : neighbour_tready;

    neighbour u_neighbour (
        .clk,
        .rst,
        .config_i              (station),
        .link_up_i,
        .announce_i            (announce),
        .s_axis_tdata          (in_tdata),
        .s_axis_tkeep          (in_tkeep),
        .s_axis_tlast          (in_tlast),
        .s_axis_tuser          (in_tuser),
        .s_axis_tvalid         (in_tvalid),
        .s_axis_tready         (neighbour_tready),
        .s_axis_resolve_tdata  (resolve_tdata),
        .s_axis_resolve_tvalid (resolve_tvalid),
        .s_axis_resolve_tready (resolve_tready),
        .m_axis_resolved_tdata (resolved_tdata),
        .m_axis_resolved_tvalid(resolved_tvalid),
        .m_axis_resolved_tready(1'b1),
        .m_axis_tdata          (out_tdata),
        .m_axis_tkeep          (out_tkeep),
        .m_axis_tlast          (out_tlast),
        .m_axis_tvalid         (out_tvalid),
        .m_axis_tready         (out_tready),
        .hold_data_o           (hold_data),
        .hold_control_o        (hold_control),
        .events_o              (events),
        .conflict_mac_o        (conflict_mac)
    );

    axis_widen #(
        .OutW(DataW)
    ) u_widen (
        .clk,
        .rst,
        .s_axis_tdata (out_tdata),
        .s_axis_tkeep (out_tkeep),
        .s_axis_tlast (out_tlast),
        .s_axis_tuser (1'b0),
        .s_axis_tvalid(out_tvalid),
        .s_axis_tready(out_tready),
        .m_axis_tdata (wide_tdata),
        .m_axis_tkeep (wide_tkeep),
        .m_axis_tlast (wide_tlast),
        .m_axis_tuser (wide_tuser),
        .m_axis_tvalid(wide_tvalid),
        .m_axis_tready(wide_tready)
    );

    // No pause holds up a reset.
    packet_merge #(
        .DataW(DataW)
    ) u_merge (
        .clk,
        .rst,
        .hold_data_i          (hold_data && !resetting),
        .hold_control_i       (hold_control),
        .s_axis_data_tdata    (packet_tdata),
        .s_axis_data_tkeep    (packet_tkeep),
        .s_axis_data_tlast    (packet_tlast),
        .s_axis_data_tuser    (1'b0),
        .s_axis_data_tvalid   (packet_tvalid),
        .s_axis_data_tready   (packet_tready),
        .s_axis_control_tdata (wide_tdata),
        .s_axis_control_tkeep (wide_tkeep),
        .s_axis_control_tlast (wide_tlast),
        .s_axis_control_tuser (wide_tuser),
        .s_axis_control_tvalid(wide_tvalid),
        .s_axis_control_tready(wide_tready),
        .m_axis_tdata,
        .m_axis_tkeep,
        .m_axis_tlast,
        .m_axis_tuser         (unused_tuser),
        .m_axis_tvalid,
        .m_axis_tready,
        .idle_o               (unused_idle)
    );

    // ARP and ping that wait do not count: a pause may hold them for long.
    assign line_busy = m_axis_tvalid;
  end else begin : gen_no_station
    assign m_axis_tdata = packet_tdata;
    assign m_axis_tkeep = packet_tkeep;
    assign m_axis_tlast = packet_tlast;
    assign m_axis_tvalid = packet_tvalid;
    assign packet_tready = m_axis_tready;
    assign line_busy = 1'b0;
    assign in_tdata = '0;
    assign in_tkeep = '0;
    assign in_tlast = 1'b0;
    assign in_tvalid = 1'b0;
    assign in_tuser = '0;
    assign in_tready = 1'b1;
    assign rx_dropped = '0;
    assign events = '0;
    assign hold_data = 1'b0;
    assign conflict_mac = '0;
    assign resolve_tready = 1'b1;
    assign resolved_tdata = '0;
    assign resolved_tvalid = 1'b0;

    logic unused_station;
    assign unused_station = ^{s_axis_rx_tdata, s_axis_rx_tkeep, s_axis_rx_tlast, s_axis_rx_tuser, s_axis_rx_tvalid,
                              station, announce, resolve_tdata, resolve_tvalid, in_tdata, in_tkeep, in_tlast, in_tuser,
                              in_tvalid, in_tready, roce_tready};
  end

  logic [15:0] messages_q;  // descriptors of which the message has not ended

  always_ff @(posedge clk) begin
    messages_q <= messages_q + 16'(issue_tvalid && issue_tready) - 16'(status_valid);
    if (core_rst) messages_q <= '0;
  end

  assign idle_o = bd_gen_idle && messages_q == '0 && ledger_idle && !count_tvalid && roce_idle && store_idle_i &&
      requester_idle && !line_busy;

  // The same of the receive path
  always_comb begin
    station_pulses = '0;
    station_pulses[15:0] = events;
    station_pulses[26:16] = rx_dropped;
    station_pulses[37:27] = roce_dropped;
    for (int unsigned kind = 0; kind < 7; kind++) begin
      station_pulses[38+kind] = event_tvalid && event_tready && event_tdata.kind == event_kind_e'(kind);
    end
    for (int unsigned k = 1; k <= 10; k++) station_pulses[44+k] = note == rc_note_e'(k);
    station_pulses[55] = again;
  end

  // In the order of the counters' indexes
  assign pulses = {
    store_stall_i,
    store_constant_error_i,
    store_mismatch_i,
    store_bad_i,
    read_error,
    status_valid && status == BAD_PAYLOAD,
    status_valid && status == LONG,
    status_valid && status == SHORT,
    status_valid && status == BAD_LENGTH,
    status_valid && status == BAD_QP,
    status_valid,
    m_axis_tvalid && !m_axis_tready,
    m_axis_tvalid && m_axis_tready,
    m_axis_tvalid && m_axis_tready && m_axis_tlast,
    store_lost_i,
    ignored || store_ignored_i,
    frame,
    1'b0
  };

  // The registers count these themselves.
  logic unused;
  assign unused = ^{status_qp, errors, event_tdata};

endmodule
