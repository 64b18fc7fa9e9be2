// One engine with all that is its own: payload from memory, the ledger of its frames, packets for posted buffers, interrupts, the guard of its port,
// its restart. Mostly wiring.
//
//   descriptors, trailers -> tx_payload -> [pcie_mix] -> pcie_engine -> msix -> tlp_guard -> TLPs
//                                 '-> frame_ledger <---------' ends of descriptors
//               [packets -> posted_buffers -^]
module pcie_lane
  import axi_pkg::*;
  import framelane_pkg::bd_t;
  import framelane_pkg::trailer_t;
  import framelane_pkg::count_t;
  import pcie_counters_pkg::*;
  import pcie_pkg::*;
  import rc_pkg::rc_item_t;
  import roce_pkg::message_t;
#(
    parameter int unsigned DataW       = 512,
    parameter int unsigned Entries     = 8192,
    parameter int unsigned ReadDepth   = 64,
    parameter int unsigned ReadBeats   = 512,
    parameter int unsigned MaxBurst    = 256,
    parameter int unsigned PacketBeats = 0,    // of packets that wait for their buffers; 0: it takes no packets

    localparam int unsigned KeepW = DataW / 8,
    localparam int unsigned DwordsW = DataW / 32,
    localparam int unsigned IndexW = $clog2(Entries)
) (
    input logic clk,
    input logic rst,       // the core's
    input logic port_rst,  // of the port, which a reset of the core leaves alone

    // The registers
    input  pcie_control_t control_i,
    output pcie_report_t  report_o,
    output pcie_pulses_t  pulses_o,
    input  logic          drain_i,    // give up what the port does not take
    input  logic          closed_i,   // take no packets: a reset wants to come to rest

    // Descriptors of this engine, as pcie_route gives them
    input  bd_t             s_axis_bd_tdata,
    input  logic            s_axis_bd_tvalid,
    output logic            s_axis_bd_tready,
    input  trailer_t        s_axis_trailer_tdata,
    input  logic            s_axis_trailer_tvalid,
    output logic            s_axis_trailer_tready,
    input  logic     [15:0] s_axis_over_tdata,
    input  logic            s_axis_over_tvalid,
    output logic            s_axis_over_tready,
    output logic            release_o,              // pulse

    // Packets of a source that knows no ring, which cannot wait; tuser with tlast: it is wrong
    input logic [DataW-1:0] s_axis_packet_tdata,
    input logic [KeepW-1:0] s_axis_packet_tkeep,
    input logic             s_axis_packet_tlast,
    input logic             s_axis_packet_tuser,
    input logic             s_axis_packet_tvalid,
    input logic [     63:0] packet_time_ns_i,

    // Counters of destinations
    output count_t m_axis_count_tdata,
    output logic   m_axis_count_tvalid,
    input  logic   m_axis_count_tready,

    // AXI4 read master: the frame memory
    output axi_read_request_t              m_axi_o,
    input  axi_read_response_t             m_axi_i,
    input  logic               [DataW-1:0] m_axi_rdata,
    output logic                           read_error_o,

    // The endpoint
    input  logic       link_up_i,
    input  mps_e       mps_i,             // of its Device Control register
    input  logic       completion_i,
    input  logic [4:0] completion_tag_i,
    input  logic       completion_bad_i,

    output logic      [  DataW-1:0] m_axis_tlp_tdata,
    output logic      [DwordsW-1:0] m_axis_tlp_tkeep,
    output logic                    m_axis_tlp_tlast,
    output tlp_user_t               m_axis_tlp_tuser,
    output logic                    m_axis_tlp_tvalid,
    input  logic                    m_axis_tlp_tready,

    output logic    status_valid_o,  // pulse: a descriptor of a frame ended
    output status_e status_o,
    output logic    idle_o
);

  localparam int unsigned RESTART_W = 4;  // so many cycles are idle before a restart, and half of them it takes

  rc_item_t item, ledger_item;
  message_t message;
  bd_t bd, engine_bd;
  logic engine_bd_tvalid, engine_bd_tready, engine_payload_tlast, engine_payload_tuser;
  logic engine_payload_tvalid, engine_payload_tready;
  logic [DataW-1:0] engine_payload_tdata;
  logic [KeepW-1:0] engine_payload_tkeep;
  logic packets_idle, packet_taken, packet_lost, packet_unposted, packet_too_long, packet_wrong, ended, of_packet;
  logic message_tvalid, message_tready, ledger_tvalid, ledger_tready;
  logic [DataW-1:0] payload_tdata;
  logic [KeepW-1:0] payload_tkeep;
  logic payload_tlast, payload_tuser, payload_tvalid, payload_tready;
  logic engine_rst_q = 1'b1;  // an FPGA starts in reset
  logic failed, dropped, engine_idle, ledger_idle, quiet;
  logic event_sent, event_written, event_lost, unanswered, refused, unexpected, interrupt, pending;
  mps_e mps;
  logic [15:0] under_way_q;

  // What leaves each stage behind the engine
  typedef struct packed {
    tlp_user_t            user;
    logic                 last;
    logic [DwordsW-1:0]   keep;
    logic [DataW-1:0]     data;
  } beat_t;

  beat_t engine_beat, msix_beat;
  logic engine_tvalid, engine_tready, msix_tvalid, msix_tready;

  // A restart waits until nothing is under way for some cycles; then for some it holds the engine, whose ledger has nothing to lose.
  logic restarting_q;
  logic [RESTART_W-1:0] restart_q;

  assign item = '{tag: '0, rc: 1'b0, resume: 1'b0, psn: '0, bd: s_axis_bd_tdata};
  assign mps = control_i.mps < mps_i ? control_i.mps : mps_i;

  tx_payload #(
      .DataW   (DataW),
      .Depth   (ReadDepth),
      .Beats   (ReadBeats),
      .MaxBurst(MaxBurst)
  ) u_payload (
      .clk,
      .rst,
      .s_axis_item_tdata    (item),
      .s_axis_item_tvalid   (s_axis_bd_tvalid),
      .s_axis_item_tready   (s_axis_bd_tready),
      .s_axis_trailer_tdata,
      .s_axis_trailer_tvalid,
      .s_axis_trailer_tready,
      .m_axi_o,
      .m_axi_i,
      .m_axi_rdata,
      .read_error_o,
      .m_axis_item_tdata    (ledger_item),
      .m_axis_item_tvalid   (ledger_tvalid),
      .m_axis_item_tready   (ledger_tready),
      .m_axis_msg_tdata     (message),
      .m_axis_msg_tvalid    (message_tvalid),
      .m_axis_msg_tready    (message_tready),
      .m_axis_payload_tdata (payload_tdata),
      .m_axis_payload_tkeep (payload_tkeep),
      .m_axis_payload_tlast (payload_tlast),
      .m_axis_payload_tuser (payload_tuser),
      .m_axis_payload_tvalid(payload_tvalid),
      .m_axis_payload_tready(payload_tready)
  );

  frame_ledger u_ledger (
      .clk,
      .rst,
      .s_axis_bd_tdata    (ledger_item.bd),
      .s_axis_bd_tvalid   (ledger_tvalid),
      .s_axis_bd_tready   (ledger_tready),
      .s_axis_over_tdata,
      .s_axis_over_tvalid,
      .s_axis_over_tready,
      .ended_i            (status_valid_o),
      .failed_i           (status_o != OK),
      .m_axis_count_tdata,
      .m_axis_count_tvalid,
      .m_axis_count_tready,
      .release_o,
      .idle_o             (ledger_idle)
  );

  always_comb begin
    bd = '0;
    bd.destination = message.address;
    bd.length = message.length;
    bd.last = message.imm_valid;
  end

  // Packets, in turn with frames.
  if (PacketBeats != 0) begin : gen_packets
    bd_t packet_bd;
    logic packet_bd_tvalid, packet_bd_tready, packet_tlast, packet_tuser, packet_tvalid, packet_tready;
    logic [DataW-1:0] packet_tdata;
    logic [KeepW-1:0] packet_tkeep;
    logic posted_idle, mix_idle, asked_q, open_q;

    assign packets_idle = posted_idle && mix_idle;
    assign report_o.packets = open_q;

    // What begins anew takes no packets until software, which begins anew as well, has asked again.
    always_ff @(posedge clk) begin
      asked_q <= control_i.packets;
      open_q <= open_q || (control_i.packets && !asked_q);
      if (rst || closed_i || restarting_q || control_i.restart || !control_i.packets) open_q <= 1'b0;
    end

    posted_buffers #(
        .DataW(DataW),
        .Depth(PacketBeats)
    ) u_posted (
        .clk,
        .rst                  (engine_rst_q),
        .port_rst,
        .open_i               (open_q),
        .source_i             (control_i.buffers.source),
        .base_i               (64'({control_i.buffers.base, 12'd0})),
        .size_log2_i          (control_i.buffers.size_log2),
        .count_log2_i         (control_i.buffers.count_log2),
        .posted_i             (control_i.buffers.posted),
        .used_o               (report_o.buffers_used),
        .s_axis_packet_tdata,
        .s_axis_packet_tkeep,
        .s_axis_packet_tlast,
        .s_axis_packet_tuser,
        .s_axis_packet_tvalid,
        .timestamp_ns_i       (packet_time_ns_i),
        .m_axis_bd_tdata      (packet_bd),
        .m_axis_bd_tvalid     (packet_bd_tvalid),
        .m_axis_bd_tready     (packet_bd_tready),
        .m_axis_payload_tdata (packet_tdata),
        .m_axis_payload_tkeep (packet_tkeep),
        .m_axis_payload_tlast (packet_tlast),
        .m_axis_payload_tuser (packet_tuser),
        .m_axis_payload_tvalid(packet_tvalid),
        .m_axis_payload_tready(packet_tready),
        .taken_o              (packet_taken),
        .lost_o               (packet_lost),
        .unposted_o           (packet_unposted),
        .too_long_o           (packet_too_long),
        .wrong_o              (packet_wrong),
        .idle_o               (posted_idle)
    );

    pcie_mix #(
        .DataW(DataW)
    ) u_mix (
        .clk,
        .rst                  (engine_rst_q),
        .s_axis_bd_tdata      ({packet_bd, bd}),
        .s_axis_bd_tvalid     ({packet_bd_tvalid, message_tvalid}),
        .s_axis_bd_tready     ({packet_bd_tready, message_tready}),
        .s_axis_payload_tdata ({packet_tdata, payload_tdata}),
        .s_axis_payload_tkeep ({packet_tkeep, payload_tkeep}),
        .s_axis_payload_tlast ({packet_tlast, payload_tlast}),
        .s_axis_payload_tuser ({packet_tuser, payload_tuser}),
        .s_axis_payload_tvalid({packet_tvalid, payload_tvalid}),
        .s_axis_payload_tready({packet_tready, payload_tready}),
        .m_axis_bd_tdata      (engine_bd),
        .m_axis_bd_tvalid     (engine_bd_tvalid),
        .m_axis_bd_tready     (engine_bd_tready),
        .m_axis_payload_tdata (engine_payload_tdata),
        .m_axis_payload_tkeep (engine_payload_tkeep),
        .m_axis_payload_tlast (engine_payload_tlast),
        .m_axis_payload_tuser (engine_payload_tuser),
        .m_axis_payload_tvalid(engine_payload_tvalid),
        .m_axis_payload_tready(engine_payload_tready),
        .idle_o               (mix_idle)
    );
  end else begin : gen_frames_alone
    assign engine_bd = bd;
    assign engine_bd_tvalid = message_tvalid;
    assign message_tready = engine_bd_tready;
    assign engine_payload_tdata = payload_tdata;
    assign engine_payload_tkeep = payload_tkeep;
    assign engine_payload_tlast = payload_tlast;
    assign engine_payload_tuser = payload_tuser;
    assign engine_payload_tvalid = payload_tvalid;
    assign payload_tready = engine_payload_tready;
    assign report_o.packets = 1'b0;
    assign report_o.buffers_used = '0;
    assign packets_idle = 1'b1;
    assign packet_taken = 1'b0;
    assign packet_lost = 1'b0;
    assign packet_unposted = 1'b0;
    assign packet_too_long = 1'b0;
    assign packet_wrong = 1'b0;

    logic unused_packets;
    assign unused_packets = ^{
            s_axis_packet_tdata, s_axis_packet_tkeep, s_axis_packet_tlast, s_axis_packet_tuser, s_axis_packet_tvalid,
            packet_time_ns_i, closed_i, control_i.packets, control_i.buffers
        };
  end

  pcie_engine #(
      .DataW  (DataW),
      .Entries(Entries)
  ) u_engine (
      .clk,
      .rst                  (engine_rst_q),
      .mps_i                (mps),
      .page_log2_i          (control_i.page_log2),
      .pages_i              ((IndexW + 1)'(control_i.pages)),
      .map_write_i          (control_i.map_write && (17)'(control_i.map_index) >> IndexW == '0),
      .map_index_i          (IndexW'(control_i.map_index)),
      .map_entry_i          (control_i.map_entry),
      .event_enabled_i      (control_i.events),
      .event_base_i         (control_i.event_base),
      .event_log2_i         (control_i.event_log2),
      .event_consumed_i     (control_i.event_consumed),
      .event_produced_o     (report_o.event_produced),
      .fence_i              (control_i.fence),
      .fence_limit_i        (control_i.fence_limit),
      .completion_i,
      .completion_tag_i,
      .completion_bad_i,
      .failed_i             (failed),
      .s_axis_bd_tdata      (engine_bd),
      .s_axis_bd_tvalid     (engine_bd_tvalid),
      .s_axis_bd_tready     (engine_bd_tready),
      .s_axis_payload_tdata (engine_payload_tdata),
      .s_axis_payload_tkeep (engine_payload_tkeep),
      .s_axis_payload_tlast (engine_payload_tlast),
      .s_axis_payload_tuser (engine_payload_tuser),
      .s_axis_payload_tvalid(engine_payload_tvalid),
      .s_axis_payload_tready(engine_payload_tready),
      .m_axis_tlp_tdata     (engine_beat.data),
      .m_axis_tlp_tkeep     (engine_beat.keep),
      .m_axis_tlp_tlast     (engine_beat.last),
      .m_axis_tlp_tuser     (engine_beat.user),
      .m_axis_tlp_tvalid    (engine_tvalid),
      .m_axis_tlp_tready    (engine_tready),
      .status_valid_o       (ended),
      .status_o,
      .status_stream_o      (of_packet),
      .event_o              (event_sent),
      .event_written_o      (event_written),
      .event_lost_o         (event_lost),
      .unanswered_o         (unanswered),
      .refused_o            (refused),
      .unexpected_o         (unexpected),
      .idle_o               (engine_idle)
  );

  msix #(
      .DataW(DataW)
  ) u_msix (
      .clk,
      .rst              (engine_rst_q),
      .config_i         (control_i.msix),
      .event_i          (event_written),
      .s_axis_tlp_tdata (engine_beat.data),
      .s_axis_tlp_tkeep (engine_beat.keep),
      .s_axis_tlp_tlast (engine_beat.last),
      .s_axis_tlp_tuser (engine_beat.user),
      .s_axis_tlp_tvalid(engine_tvalid),
      .s_axis_tlp_tready(engine_tready),
      .m_axis_tlp_tdata (msix_beat.data),
      .m_axis_tlp_tkeep (msix_beat.keep),
      .m_axis_tlp_tlast (msix_beat.last),
      .m_axis_tlp_tuser (msix_beat.user),
      .m_axis_tlp_tvalid(msix_tvalid),
      .m_axis_tlp_tready(msix_tready),
      .pending_o        (pending),
      .sent_o           (interrupt)
  );

  tlp_guard #(
      .DataW(DataW)
  ) u_guard (
      .clk,
      .rst              (port_rst),
      .link_up_i,
      .limit_i          (control_i.watchdog),
      .drain_i,
      .clear_i          (engine_rst_q),
      .s_axis_tlp_tdata (msix_beat.data),
      .s_axis_tlp_tkeep (msix_beat.keep),
      .s_axis_tlp_tlast (msix_beat.last),
      .s_axis_tlp_tuser (msix_beat.user),
      .s_axis_tlp_tvalid(msix_tvalid),
      .s_axis_tlp_tready(msix_tready),
      .m_axis_tlp_tdata,
      .m_axis_tlp_tkeep,
      .m_axis_tlp_tlast,
      .m_axis_tlp_tuser,
      .m_axis_tlp_tvalid,
      .m_axis_tlp_tready,
      .failed_o         (failed),
      .dropped_o        (dropped)
  );

  assign status_valid_o = ended && !of_packet;
  assign quiet = under_way_q == '0 && !s_axis_bd_tvalid && packets_idle && engine_idle &&
      !engine_tvalid && !msix_tvalid;

  always_ff @(posedge clk) begin
    under_way_q <= under_way_q + 16'(s_axis_bd_tvalid && s_axis_bd_tready) - 16'(status_valid_o);
    restarting_q <= control_i.restart || (restarting_q && restart_q != '1);
    restart_q <= restarting_q && quiet ? restart_q + 1'b1 : '0;
    engine_rst_q <= rst || restart_q[RESTART_W-1];
    if (rst) begin
      under_way_q <= '0;
      restarting_q <= 1'b0;
      restart_q <= '0;
    end
  end

  assign idle_o = quiet && ledger_idle && !m_axis_count_tvalid && (!m_axis_tlp_tvalid || failed || drain_i);
  assign report_o.link = link_up_i;
  assign report_o.idle = idle_o;
  assign report_o.failed = failed;
  assign report_o.restarting = restarting_q;
  assign report_o.mps = mps;
  assign report_o.msix_pending = pending;

  always_comb begin
    pulses_o = '0;
    pulses_o.beats = m_axis_tlp_tvalid && m_axis_tlp_tready;
    pulses_o.tlps = pulses_o.beats && m_axis_tlp_tlast;
    pulses_o.poisoned = pulses_o.tlps && m_axis_tlp_tuser.poisoned;
    pulses_o.stall_cycles = m_axis_tlp_tvalid && !m_axis_tlp_tready;
    pulses_o.dropped = dropped;
    pulses_o.descriptors = ended;
    pulses_o.bad_length = ended && status_o == BAD_LENGTH;
    pulses_o.outside = ended && status_o == OUTSIDE;
    pulses_o.no_page = ended && status_o == NO_PAGE;
    pulses_o.bad_parity = ended && status_o == BAD_PARITY;
    pulses_o.too_short = ended && status_o == SHORT;
    pulses_o.too_long = ended && status_o == LONG;
    pulses_o.bad_payload = ended && status_o == BAD_PAYLOAD;
    pulses_o.link_down = ended && status_o == LINK_DOWN;
    pulses_o.events = event_sent;
    pulses_o.events_lost = event_lost;
    pulses_o.unanswered = unanswered;
    pulses_o.fences_refused = refused;
    pulses_o.unexpected = unexpected;
    pulses_o.interrupts = interrupt;
    pulses_o.packets = packet_taken;
    pulses_o.packets_lost = packet_lost;
    pulses_o.packets_unposted = packet_unposted;
    pulses_o.packets_too_long = packet_too_long;
    pulses_o.packets_wrong = packet_wrong;
  end

  logic unused;
  assign unused = ^{ledger_item, message, control_i.pages, control_i.map_index};

endmodule
