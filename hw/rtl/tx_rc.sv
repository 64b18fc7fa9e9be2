// RC in the transmitter: descriptors on their way to the packetizer, what receivers say of them, the rates that follow. Reset with
// the core. Wiring only.
//
//   descriptors -> rc_requester -> items          items, their ends -> rc_ledger -> counts, release
//                       ^
//   frames -> roce_rx --'-> CNPs -> dcqcn -> rates
module tx_rc
  import framelane_pkg::*;
  import rc_pkg::*;
  import roce_pkg::*;
  import roce_rx_pkg::*;
  import tx_counters_pkg::*;
#(
    parameter int unsigned DataW   = 512,
    parameter int unsigned NumQp   = 16,
    parameter int unsigned RcQps   = 16,          // the first of the table; a power of two, 2 or more
    parameter int unsigned RcDepth = 64,          // descriptors of each that are kept; a power of two
    parameter int unsigned RcAhead = 384,         // beats read ahead
    parameter int unsigned MaxSlots = 1024,        // frames that may be held; a power of two, up to 1,024
    parameter int unsigned ClockHz = 250_000_000
) (
    input logic clk,
    input logic rst,

    // The registers
    input  rc_control_t control_i,  // its dcqcn_burst is roce_tx's
    output rc_report_t  report_o,

    // Writes to the QP table, as roce_tx takes them
    input qp_write_t qp_write_i,
    input logic      qp_write_valid_i,

    // Descriptors and trailers of bd_gen, ends of frames, and room for a frame
    input  bd_t             s_axis_bd_tdata,
    input  logic            s_axis_bd_tvalid,
    output logic            s_axis_bd_tready,
    input  trailer_t        s_axis_trailer_tdata,
    input  logic            s_axis_trailer_tvalid,
    output logic            s_axis_trailer_tready,
    input  logic     [15:0] s_axis_over_tdata,
    input  logic            s_axis_over_tvalid,
    output logic            s_axis_over_tready,
    input  logic     [ 7:0] room_qp_i,
    input  logic     [15:0] room_wanted_i,
    output logic            room_o,                 // three cycles later
    input  logic            admit_i,                // pulse

    // What is sent, for the first time or again, with its trailer
    output rc_item_t m_axis_item_tdata,
    output logic     m_axis_item_tvalid,
    input  logic     m_axis_item_tready,
    output trailer_t m_axis_trailer_tdata,
    output logic     m_axis_trailer_tvalid,
    input  logic     m_axis_trailer_tready,

    // How that goes on: handed out; a beat of payload read; its message ended; a packet left
    input  rc_item_t       s_axis_item_tdata,
    input  logic           s_axis_item_tvalid,
    output logic           s_axis_item_tready,
    input  logic           beat_i,              // pulse
    input  logic           ended_i,             // pulse
    input  logic           failed_i,
    input  logic     [7:0] ended_qp_i,
    input  logic     [7:0] in_line_i,
    input  logic           left_i,              // pulse

    // Counters of destinations, releases of frames' memory
    output count_t m_axis_count_tdata,
    output logic   m_axis_count_tvalid,
    input  logic   m_axis_count_tready,
    output logic   release_o,            // pulse

    // RoCEv2 frames from receivers
    input  logic [63:0] s_axis_roce_tdata,
    input  logic [ 7:0] s_axis_roce_tkeep,
    input  logic        s_axis_roce_tlast,
    input  logic        s_axis_roce_tvalid,
    output logic        s_axis_roce_tready,

    // Rates of QPs, by the packets that start; QPs of CNPs, for their counters
    input  logic        spend_i,
    input  logic [ 7:0] spend_index_i,
    input  logic [12:0] spend_bytes_i,
    output logic [ 7:0] m_axis_rate_index,
    output logic [23:0] m_axis_rate_tdata,
    output logic        m_axis_rate_tvalid,
    input  logic        m_axis_rate_tready,
    output logic [ 7:0] m_axis_cnp_tdata,
    output logic        m_axis_cnp_tvalid,
    input  logic        m_axis_cnp_tready,

    output rc_pulses_t pulses_o,  // for the counters
    output logic       idle_o
);

  // Ticks of 1.024 us; the timers look at all QPs in one
  localparam int unsigned TICK = (ClockHz / 1000 * 1024 + 999_999) / 1_000_000;
  localparam int unsigned TICK_CLOCKS = TICK > 2 * RcQps ? TICK : 2 * RcQps + 1;
  localparam int unsigned TICK_W = $clog2(TICK_CLOCKS + 1);
  localparam int unsigned CNPS = 16;  // that wait for their counter

  logic ready, taken, accepted, unused_accepted_rc, issued, unused_done, again, cnp, cnp_ready, requester_tready;
  logic retired_tvalid, retired_tready, requester_idle, ledger_idle, peer_enabled, peer_rc, event_tvalid, event_tready;
  tag_t tag, issued_tag;
  logic [7:0] cnp_qp, peer_index, unused_note_qp;
  logic [31:0] peer_ip;
  logic [15:0] peer_pkey;
  rc_retired_t retired_tdata;
  rc_note_e note;
  event_t event_tdata;
  logic [ROCE_DROPS-1:0] dropped;
  logic [TICK_W-1:0] tick_q;

  assign s_axis_bd_tready = taken && ready;
  assign idle_o = requester_idle && ledger_idle;

  rc_requester #(
      .DataW     (DataW),
      .RcQps     (RcQps),
      .Depth     (RcDepth),
      .Ahead     (RcAhead),
      .TickClocks(TICK_CLOCKS)
  ) u_requester (
      .clk,
      .rst,
      .s_axis_bd_tdata,
      .s_axis_bd_tvalid     (s_axis_bd_tvalid && ready),
      .s_axis_bd_tready     (taken),
      .tag_i                (tag),
      .s_axis_trailer_tdata,
      .s_axis_trailer_tvalid,
      .s_axis_trailer_tready,
      .m_axis_item_tdata,
      .m_axis_item_tvalid,
      .m_axis_item_tready,
      .m_axis_trailer_tdata,
      .m_axis_trailer_tvalid,
      .m_axis_trailer_tready,
      .beat_i,
      .ended_i,
      .ended_qp_i,
      .in_line_i,
      .left_i,
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
      .qp_write_i,
      .qp_write_valid_i,
      .limits_i             (control_i.limits),
      .limits_qp_i          (control_i.limits_qp),
      .limits_write_i       (control_i.limits_write),
      .s_axis_command_tdata (control_i.command),
      .s_axis_command_tvalid(control_i.command_valid),
      .s_axis_command_tready(report_o.command_ready),
      .done_o               (unused_done),
      .refused_o            (report_o.command_refused),
      .room_qp_i,
      .room_wanted_i,
      .room_o,
      .admit_i,
      .status_qp_i          (control_i.status_qp),
      .status_o             (report_o.status),
      .note_qp_o            (unused_note_qp),
      .note_o               (note),
      .again_o              (again),
      .idle_o               (requester_idle)
  );

  rc_ledger #(
      .Tags(MaxSlots)
  ) u_ledger (
      .clk,
      .rst,
      .tag_o                (tag),
      .ready_o              (ready),
      .accepted_i           (accepted),
      .issued_i             (issued),
      .issued_tag_i         (issued_tag),
      .s_axis_retired_tdata (retired_tdata),
      .s_axis_retired_tvalid(retired_tvalid),
      .s_axis_retired_tready(retired_tready),
      .s_axis_item_tdata,
      .s_axis_item_tvalid,
      .s_axis_item_tready,
      .ended_i,
      .failed_i,
      .s_axis_over_tdata,
      .s_axis_over_tvalid,
      .s_axis_over_tready,
      .m_axis_count_tdata,
      .m_axis_count_tvalid,
      .m_axis_count_tready,
      .release_o,
      .idle_o               (ledger_idle)
  );

  peer_table #(
      .NumQp(NumQp)
  ) u_peers (
      .clk,
      .rst,
      .qp_write_i,
      .qp_write_valid_i,
      .index_i         (peer_index),
      .enabled_o       (peer_enabled),
      .rc_o            (peer_rc),
      .peer_ip_o       (peer_ip),
      .pkey_o          (peer_pkey)
  );

  roce_rx u_roce_rx (
      .clk,
      .rst,
      .s_axis_tdata       (s_axis_roce_tdata),
      .s_axis_tkeep       (s_axis_roce_tkeep),
      .s_axis_tlast       (s_axis_roce_tlast),
      .s_axis_tvalid      (s_axis_roce_tvalid),
      .s_axis_tready      (s_axis_roce_tready),
      .index_o            (peer_index),
      .enabled_i          (peer_enabled),
      .rc_i               (peer_rc),
      .peer_ip_i          (peer_ip),
      .pkey_i             (peer_pkey),
      .m_axis_event_tdata (event_tdata),
      .m_axis_event_tvalid(event_tvalid),
      .m_axis_event_tready(event_tready),
      .dropped_o          (dropped)
  );

  // An event waits until its CNP can be counted.
  assign event_tready = requester_tready && cnp_ready;

  axis_fifo #(
      .DataW(8),
      .Depth(CNPS)
  ) u_cnps (
      .clk,
      .rst,
      .s_axis_tdata (cnp_qp),
      .s_axis_tvalid(cnp),
      .s_axis_tready(cnp_ready),
      .m_axis_tdata (m_axis_cnp_tdata),
      .m_axis_tvalid(m_axis_cnp_tvalid),
      .m_axis_tready(m_axis_cnp_tready)
  );

  always_ff @(posedge clk) begin
    tick_q <= tick_q == '0 ? TICK_W'(TICK_CLOCKS - 1) : tick_q - 1'b1;
    if (rst) tick_q <= '0;
  end

  dcqcn #(
      .NumQp(NumQp)
  ) u_dcqcn (
      .clk,
      .rst,
      .settings_i        (control_i.dcqcn),
      .tick_i            (tick_q == '0),
      .write_i           (qp_write_valid_i),
      .write_index_i     (qp_write_i.index),
      .write_rate_i      (qp_write_i.qp.rate),
      .cnp_i             (cnp),
      .cnp_index_i       (cnp_qp),
      .spend_i,
      .spend_index_i,
      .spend_bytes_i,
      .m_axis_rate_index,
      .m_axis_rate_tdata,
      .m_axis_rate_tvalid,
      .m_axis_rate_tready
  );

  logic heard, unused;
  assign heard = event_tvalid && event_tready;
  assign unused = ^control_i.dcqcn_burst;

  assign pulses_o = '{
          roce_length: dropped[ROCE_LENGTH],
          roce_checksum: dropped[ROCE_CHECKSUM],
          roce_icrc: dropped[ROCE_ICRC],
          roce_version: dropped[ROCE_VERSION],
          roce_opcode: dropped[ROCE_OPCODE],
          roce_size: dropped[ROCE_SIZE],
          roce_qp: dropped[ROCE_QP],
          roce_service: dropped[ROCE_SERVICE],
          roce_source: dropped[ROCE_SOURCE],
          roce_pkey: dropped[ROCE_PKEY],
          roce_syndrome: dropped[ROCE_SYNDROME],
          acks: heard && event_tdata.kind == ACK,
          rnrs: heard && event_tdata.kind == RNR,
          naks_sequence: heard && event_tdata.kind == NAK_SEQUENCE,
          naks_invalid: heard && event_tdata.kind == NAK_INVALID,
          naks_access: heard && event_tdata.kind == NAK_ACCESS,
          naks_operation: heard && event_tdata.kind == NAK_OPERATION,
          cnps: heard && event_tdata.kind == CNP,
          rc_acked: note == NOTE_ACKED,
          rc_stale: note == NOTE_STALE,
          rc_went_back: note == NOTE_WENT_BACK,
          rc_repeated: note == NOTE_REPEATED,
          rc_not_ready: note == NOTE_NOT_READY,
          rc_timed_out: note == NOTE_TIMED_OUT,
          rc_resumed: note == NOTE_RESUMED,
          rc_failed: note == NOTE_FAILED,
          rc_deferred: note == NOTE_DEFERRED,
          rc_armed: note == NOTE_ARMED,
          rc_again: again
      };

endmodule
